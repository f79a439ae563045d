// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where the time of scheduler code goes: the sums by path agree with the run's totals, whatever is charged and whatever happens.

use std::collections::BTreeMap;

use weir_core::event::{Event, Observer};
use weir_sim::{CallPath, Command, Costs, Machine, Outcome, RunConfig, Workload};

use crate::common::*;

/// Calls of the runtime: how many, and how long; and each instance's time.
#[derive(Default)]
struct Heard {
    calls: BTreeMap<String, (u64, u64)>,
    instances: BTreeMap<u32, u64>,
}

impl Observer for Heard {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match *event {
            // Tasks that are there from the start are admitted for nothing.
            Event::Sched { call, ns, .. } if ns > 0 => {
                let sum = self.calls.entry(format!("{call:?}").to_lowercase()).or_default();
                *sum = (sum.0 + 1, sum.1 + ns);
            }
            Event::InstanceTime { instance, ns, .. } => *self.instances.entry(instance).or_default() += ns,
            _ => {}
        }
    }
}

/// Tasks that move between CPUs, with priorities that are published.
fn busy() -> Workload {
    toml(
        r#"
        task = [
            { name = "a", count = 6, nice = 3, loop = 20, program = "run 300us; sleep 100us" },
            { name = "b", count = 5, loop = 10, program = "run 1ms; yield; run 200us" },
            { name = "c", start = "2ms", program = "run 5ms" },
        ]
        "#,
    )
}

fn run_with(topology: &str, costs: &Costs, scripted: Vec<(u64, Command)>) -> (Outcome, Heard) {
    let cfg = RunConfig { calls: true, scripted, ..RunConfig::default() };
    let mut heard = Heard::default();
    let out = run_on(&Machine::smp(4), topology, &busy(), costs, cfg, &mut heard).expect("it runs");
    (out, heard)
}

/// Calls and times of the paths that end in a part, or in any below it.
fn of(paths: &[CallPath], part: &str) -> (u64, u64) {
    let last = paths.iter().filter(|p| p.path.last().is_some_and(|l| l == part)).map(|p| p.calls).sum();
    (last, paths.iter().filter(|p| p.path.iter().any(|n| n == part)).map(|p| p.ns).sum())
}

fn agree(out: &Outcome, heard: &Heard) {
    assert!(out.scheduler_ns > 0);
    assert_eq!(out.calls.iter().map(|p| p.ns).sum::<u64>(), out.scheduler_ns);
    assert_eq!(of(&out.calls, "wait for lock").1, out.lock_wait_ns);
    for (call, (count, ns)) in &heard.calls {
        let mine: Vec<&CallPath> = out.calls.iter().filter(|p| &p.path[0] == call).collect();
        assert_eq!(mine.iter().map(|p| p.ns).sum::<u64>(), *ns, "{call}");
        assert_eq!(mine.iter().filter(|p| p.path.len() == 1).map(|p| p.calls).sum::<u64>(), *count, "{call}");
    }
}

const BALANCED: &str =
    "annotate affinity, priority; entry -> load_balancer -> each cpu { round_robin -> cpu; }";
const CENTRAL: &str = "annotate priority; entry -> burn(iterations = 300) -> priority_order -> cpus;";

#[test]
fn sums_by_path_are_the_totals_of_the_run() {
    for costs in [Costs::default(), Costs::source(), Costs::native()] {
        for topology in [BALANCED, CENTRAL] {
            let (out, heard) = run_with(topology, &costs, Vec::new());
            agree(&out, &heard);
            if topology == CENTRAL {
                assert!(out.lock_wait_ns > 0, "a run with contention");
            }
            let plan = plan(topology, &Machine::smp(4).shape);
            for (i, instance) in (0..).zip(&plan.instances) {
                // Without the locks of others that were waited for inside it.
                let waits = |p: &&CallPath| {
                    p.path.contains(&instance.name) && p.path.last().is_none_or(|l| l != "wait for lock")
                };
                let ns: u64 = out.calls.iter().filter(waits).map(|p| p.ns).sum();
                assert_eq!(ns, heard.instances.get(&i).copied().unwrap_or(0), "{}", instance.name);
            }
        }
    }
}

#[test]
fn a_balancer_asks_for_affinities_and_a_queue_does_not() {
    let (out, _) = run_with(BALANCED, &Costs::default(), Vec::new());
    let path = |names: &[&str]| out.calls.iter().find(|p| p.path == names);
    let asked = path(&["unblock", "load_balancer", "request AFFINITY"]).expect("it asks");
    let passed = path(&["unblock", "load_balancer"]).expect("it is on the way");
    assert_eq!((asked.calls, asked.ns), (passed.calls, passed.calls * Costs::default().core.request));
    assert!(path(&["unblock", "link task"]).is_some() && path(&["pick", "unlink task"]).is_some());
    let (out, _) = run_with(CENTRAL, &Costs::default(), Vec::new());
    assert_eq!(of(&out.calls, "request AFFINITY"), (0, 0));
    assert!(of(&out.calls, "request PRIORITY").0 > 0);
}

/// Instances of both topologies are there, by name, and nothing is lost on the way from one to the other.
#[test]
fn a_swap_loses_no_time() {
    let central = plan(CENTRAL, &Machine::smp(4).shape);
    let swap = vec![(3 * MS, Command::Swap(Box::new(central)))];
    let (out, heard) = run_with(BALANCED, &Costs::default(), swap);
    agree(&out, &heard);
    assert!(of(&out.calls, "swap").0 == 1 && of(&out.calls, "load_balancer").0 > 0);
    assert!(of(&out.calls, "priority_order").0 > 0 && of(&out.calls, "request PRIORITY").0 > 0);
}

#[test]
fn nothing_is_kept_that_nobody_asked_for() {
    let mut heard = Heard::default();
    let run = |costs: &Costs, calls, heard: &mut Heard| {
        let cfg = RunConfig { calls, ..RunConfig::default() };
        run_on(&Machine::smp(4), BALANCED, &busy(), costs, cfg, heard).expect("it runs")
    };
    let without = run(&Costs::default(), false, &mut heard);
    let with = run(&Costs::default(), true, &mut heard);
    assert_eq!(without, Outcome { calls: Vec::new(), ..with });
    assert_eq!(run(&Costs::zero(), true, &mut heard).calls, []);
}
