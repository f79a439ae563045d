// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Groups: shares by their weights, whatever their number of tasks, and limits.

use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, RunConfig, Workload};

use crate::common::*;

/// CPU time by group.
#[derive(Default)]
pub struct ByGroup {
    group: Vec<String>,
    since: Vec<u64>,
    pub ran: std::collections::BTreeMap<String, u64>,
}

impl Observer for ByGroup {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { group, .. } => {
                self.group.push(group.into());
                self.since.push(0);
            }
            Event::Run { task, .. } => self.since[task as usize] = t,
            Event::Off { task, .. } => {
                let ran = t - self.since[task as usize];
                *self.ran.entry(self.group[task as usize].clone()).or_default() += ran;
            }
            _ => {}
        }
    }
}

pub fn run(topology: &str, machine: &Machine, w: &Workload, ms: u64) -> ByGroup {
    run_by(topology, machine, w, ms, 1)
}

pub fn run_by(topology: &str, machine: &Machine, w: &Workload, ms: u64, seed: u64) -> ByGroup {
    let mut seen = ByGroup::default();
    let cfg = RunConfig { duration_ns: Some(ms * MS), seed, ..RunConfig::default() };
    let plan = plan(topology, &machine.shape);
    weir_sim::run(machine, &plan, w, &Costs::zero(), &cfg, &mut seen).expect("it runs");
    seen
}

const HOG: &str = "program = [\"run 10ms\"]\nloop = \"forever\"\n";

/// One policy after the other: the annotator takes the place of `weight`.
const POLICIES: [&str; 3] = ["cfs", "eevdf", "stride"];

fn one_cpu(policy: &str, more: &str) -> String {
    format!("annotate affinity, group_weight, executed, fair{more}; entry -> {policy} -> cpus;")
}

/// Eight tasks of one group have together what the one task of the other has.
#[test]
fn groups_share_by_weight_not_by_number() {
    let text = format!(
        "[[group]]\nname = \"many\"\n[[group]]\nname = \"one\"\nweight = 3072\n\
         [[task]]\nname = \"a\"\ngroup = \"many\"\ncount = 8\n{HOG}[[task]]\nname = \"b\"\ngroup = \"one\"\n{HOG}"
    );
    for policy in POLICIES {
        let seen = run(&one_cpu(policy, ""), &Machine::smp(1), &toml(&text), 8000);
        let share = seen.ran["many"] as f64 / (8000 * MS) as f64;
        assert!((share - 0.25).abs() < 0.01, "{policy}: {share}");
    }
}

/// A group within a group divides what that gets; nice values count within their group.
#[test]
fn groups_within_groups() {
    let text = format!(
        "[[group]]\nname = \"g\"\n[[group]]\nname = \"in\"\nparent = \"g\"\n\
         [[task]]\nname = \"x\"\ngroup = \"in\"\ncount = 3\n{HOG}\
         [[task]]\nname = \"y\"\ngroup = \"g\"\n{HOG}[[task]]\nname = \"z\"\nnice = 0\n{HOG}"
    );
    for policy in POLICIES {
        let seen = run(&one_cpu(policy, ""), &Machine::smp(1), &toml(&text), 8000);
        let share = |g: &str| seen.ran[g] as f64 / (8000 * MS) as f64;
        // A quarter, a quarter, and a half for tasks in no group.
        for (group, want) in [("in", 0.25), ("g", 0.25), ("z", 0.5)] {
            assert!((share(group) - want).abs() < 0.015, "{policy}, {group}: {}", share(group));
        }
    }
}

/// Two groups of equal weight with a task each that differ in their penalties only: these count within a group, so both
/// have half, where without groups one has three times what the other has.
#[test]
fn penalties_leave_groups_alone() {
    let of = |rates: &str| format!("[[profile]]\nname = \"{rates}\"\nrates = \"l1={rates}\"\n");
    let task = |name: &str, rates: &str, group: &str| {
        format!("[[task]]\nname = \"{name}\"\nprofile = \"{rates}\"\n{group}{HOG}")
    };
    let all = format!("{}{}", of("0%"), of("100%"));
    let alone = format!("{all}{}{}", task("good", "0%", ""), task("bad", "100%", ""));
    let groups = format!(
        "[[group]]\nname = \"good\"\n[[group]]\nname = \"bad\"\n{all}{}{}",
        task("g", "0%", "group = \"good\"\n"),
        task("b", "100%", "group = \"bad\"\n")
    );
    // The bad one's two equals within its group divide its half among themselves, as their penalties say.
    let within = format!("{groups}{}", task("c", "0%", "group = \"bad\"\n"));
    for policy in ["cfs", "eevdf"] {
        let share = |weight: &str, text: &str, group: &str| {
            let topology = format!("annotate affinity, {weight}, fair, pmc_fair; entry -> {policy} -> cpus;");
            let seen = run(&topology, &Machine::smp(1), &toml(text), 8000);
            seen.ran[group] as f64 / (8000 * MS) as f64
        };
        let bad = share("weight", &alone, "bad");
        assert!((bad - 0.25).abs() < 0.01, "{policy}, alone: {bad}");
        for text in [&groups, &within] {
            let bad = share("group_weight", text, "bad");
            assert!((bad - 0.5).abs() < 0.01, "{policy}: {bad}");
        }
    }
}

/// Half a CPU and one and a half, on four CPUs that are otherwise idle.
#[test]
fn a_group_has_no_more_than_its_quota() {
    let text = format!(
        "[[group]]\nname = \"half\"\nquota = \"20ms\"\nperiod = \"40ms\"\n\
         [[group]]\nname = \"more\"\nquota = \"150ms\"\nperiod = \"100ms\"\n\
         [[task]]\nname = \"a\"\ngroup = \"half\"\ncount = 3\n{HOG}[[task]]\nname = \"b\"\ngroup = \"more\"\ncount = 4\n{HOG}"
    );
    for order in ["fifo", "cfs", "eevdf", "edf"] {
        let topology = format!(
            "annotate affinity, weight, fair, deadline, bandwidth; entry -> throttle -> load_balancer -> each cpu {{ {order} -> cpu }};"
        );
        let seen = run(&topology, &Machine::smp(4), &toml(&text), 4000);
        for (group, want) in [("half", 0.5), ("more", 1.5)] {
            let cpus = seen.ran[group] as f64 / (4000 * MS) as f64;
            assert!(cpus < want * 1.01 && cpus > want * 0.93, "{order}, {group}: {cpus}");
        }
    }
}

/// A limit around two groups of which one has a lower limit of its own, on four CPUs that are otherwise idle.
#[test]
fn limits_of_groups_within_groups() {
    let text = format!(
        "[[group]]\nname = \"pod\"\nquota = \"50ms\"\nperiod = \"50ms\"\n\
         [[group]]\nname = \"low\"\nparent = \"pod\"\nquota = \"10ms\"\nperiod = \"40ms\"\n\
         [[group]]\nname = \"free\"\nparent = \"pod\"\n\
         [[task]]\nname = \"a\"\ngroup = \"low\"\ncount = 2\n{HOG}[[task]]\nname = \"b\"\ngroup = \"free\"\ncount = 2\n{HOG}"
    );
    for order in ["fifo", "cfs", "eevdf"] {
        let topology = format!(
            "annotate affinity, weight, fair, bandwidth; entry -> throttle -> load_balancer -> each cpu {{ {order} -> cpu }};"
        );
        let seen = run(&topology, &Machine::smp(4), &toml(&text), 4000);
        let cpus = |g: &str| seen.ran[g] as f64 / (4000 * MS) as f64;
        let (low, free) = (cpus("low"), cpus("free"));
        assert!(low < 0.255, "{order}: {low} in the group with a limit of its own");
        assert!(low + free < 1.01 && low + free > 0.93, "{order}: {low} and {free} of one CPU");
        assert!(free > 0.7, "{order}: {free} left for the other group");
    }
}

/// A group that waits for its budget does not compete: what its sibling gets more stays in their parent, which has its half.
#[test]
fn a_group_without_budget_leaves_its_weight_to_its_siblings() {
    let text = format!(
        "[[group]]\nname = \"pod\"\n\
         [[group]]\nname = \"low\"\nparent = \"pod\"\nquota = \"4ms\"\nperiod = \"40ms\"\n\
         [[group]]\nname = \"free\"\nparent = \"pod\"\n\
         [[group]]\nname = \"other\"\n\
         [[task]]\nname = \"a\"\ngroup = \"low\"\n{HOG}[[task]]\nname = \"b\"\ngroup = \"free\"\n{HOG}\
         [[task]]\nname = \"c\"\ngroup = \"other\"\n{HOG}"
    );
    for policy in POLICIES {
        let topology = one_cpu(policy, ", bandwidth").replace("entry ->", "entry -> throttle ->");
        let seen = run(&topology, &Machine::smp(1), &toml(&text), 4000);
        let share = |g: &str| seen.ran[g] as f64 / (4000 * MS) as f64;
        assert!((share("low") - 0.1).abs() < 0.005, "{policy}: {}", share("low"));
        assert!((share("other") - 0.5).abs() < 0.005, "{policy}: {} beside the pod", share("other"));
    }
}

/// The topology of the catalogue does both.
#[test]
fn the_catalogue_serves_groups() {
    let w = Workload::resolve(
        "groups.toml",
        1,
        &|_| std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/groups.toml")),
        &[],
    )
    .expect("it is a workload");
    let seen = run(&catalogue("groups"), &Machine::smp(4), &w, 2000);
    let cpus = |g: &str| seen.ran[g] as f64 / (2000 * MS) as f64;
    assert!(cpus("batch") < 2.02, "{}", cpus("batch"));
    let gold = cpus("gold-web") + cpus("gold-db");
    assert!(gold > cpus("silver"), "{gold} against {}", cpus("silver"));
}
