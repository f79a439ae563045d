// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The composition `pmc_fair` with `cfs`, in simulation (source 4, sections 6 and 7).

use std::fmt::Write as _;

use runweir_lab::reproduce::pmc::experiment::baseline;
use runweir_lab::reproduce::pmc::matrix::{Config, LEVELS, MODELS, POLICIES, Scale, policies};
use runweir_lab::reproduce::pmc::penalty::{Level, Model, Policy};
use runweir_lab::reproduce::pmc::run::{Setting, WORKLOADS, run};
use weir_core::event::{Event, Observer};
use weir_core::{MachineShape, Plan};
use weir_lang::{NoIncludes, Set, Source};
use weir_sim::{Costs, Machine, RunConfig, Workload};

const MS: u64 = 1_000_000;

fn topology(name: &str, shape: &MachineShape, sets: &[(&str, &str)]) -> Plan {
    let path = format!("{}/../topologies/{name}.weir", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the catalogue has it");
    let set = |&(param, value): &(&str, &str)| Set {
        component: "pmc_fair".into(),
        param: param.into(),
        value: value.into(),
    };
    let sets: Vec<Set> = sets.iter().map(set).collect();
    let source = Source { name: format!("{name}.weir"), text };
    weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), shape, &sets).expect("it compiles").plan
}

fn workload(text: &str) -> Workload {
    let text = text.to_string();
    let read = move |_: &str| Ok(text.clone().into_bytes());
    Workload::resolve("test.toml", 1, &read, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// Time on CPUs and last stint of each task, and what happened in words, without the counters.
#[derive(Default)]
struct Seen {
    ran: Vec<u64>,
    /// Length of the last stint, ns, by its cycles at 2 GHz.
    last: Vec<u64>,
    since: Vec<u64>,
    penalties: Vec<i64>,
    story: String,
}

impl Observer for Seen {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::Counters { task, penalty, counts, .. } => {
                self.last[task as usize] = counts.cycles / 2;
                self.penalties[task as usize] = penalty.map_or(0, |p| p.0);
                return;
            }
            // The same decisions need a message more.
            Event::Sched { .. } => return,
            Event::TaskNew { .. } => {
                self.ran.push(0);
                self.last.push(0);
                self.since.push(0);
                self.penalties.push(0);
            }
            Event::Run { task, .. } => self.since[task as usize] = t,
            Event::Off { task, .. } => {
                self.ran[task as usize] += t - self.since[task as usize];
            }
            _ => {}
        }
        let _ = writeln!(self.story, "{t} {event:?}");
    }
}

fn simulate(cpus: u32, plan: &Plan, text: &str, end: u64) -> Seen {
    let mut seen = Seen::default();
    let cfg = RunConfig { seed: 3, duration_ns: Some(end), checks: true, ..RunConfig::default() };
    let out = weir_sim::run(&Machine::smp(cpus), plan, &workload(text), &Costs::zero(), &cfg, &mut seen)
        .expect("it runs");
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    seen
}

const MIXED: &str = r#"
profile = [{ name = "bad", rates = "l1=90% l2=80% l3=70% branch=9%", spread = "10%" },
           { name = "good", rates = "l1=2% l2=10% l3=20% branch=1%", spread = "10%" }]
task = [
    { name = "a", count = 3, profile = "bad", loop = "forever", program = "run 1ms..9ms; sleep 2ms" },
    { name = "b", count = 3, profile = "good", loop = "forever", program = "run 1ms..20ms; sleep 1ms" },
    { name = "c", count = 2, loop = "forever", program = "run 5ms; yield" },
]
"#;

/// With `log_only` the counters are read and penalties computed, but nothing is decided otherwise than by `cfs` alone.
#[test]
fn log_only_is_plain_cfs() {
    let shape = Machine::smp(2).shape;
    let plain = simulate(2, &topology("cfs", &shape, &[]), MIXED, 300 * MS);
    let logged = simulate(2, &topology("pmc-fair", &shape, &[("log_only", "true")]), MIXED, 300 * MS);
    assert!(plain.story.lines().count() > 300);
    assert!(plain.story == logged.story, "{}", first_difference(&plain.story, &logged.story));
    let steered = simulate(2, &topology("pmc-fair", &shape, &[]), MIXED, 300 * MS);
    assert!(plain.story != steered.story);
}

fn first_difference(a: &str, b: &str) -> String {
    let at = a.lines().zip(b.lines()).position(|(x, y)| x != y).unwrap_or(0);
    format!("{:?}\n{:?}", a.lines().nth(at), b.lines().nth(at))
}

const EXTREMES: &str = r#"
profile = [{ name = "worst", rates = "l1=100%" }, { name = "best", rates = "l1=0%" }]
task = [
    { name = "a", profile = "worst", loop = "forever", program = "run 1s" },
    { name = "b", profile = "best", loop = "forever", program = "run 1s" },
]
"#;

/// Shares are as weight over (1 + penalty): at -0.5 and +0.5 they are 3 to 1. Slices alone change no share.
#[test]
fn shares_at_the_extremes_are_three_to_one() {
    let shape = Machine::smp(1).shape;
    let share = |sets: &[(&str, &str)]| {
        let seen = simulate(1, &topology("pmc-fair", &shape, sets), EXTREMES, 20_000 * MS);
        (seen.ran[0] as f64 / (seen.ran[0] + seen.ran[1]) as f64, seen)
    };
    for (sets, want) in [
        (&[][..], 0.25),
        (&[("reward", "true")], 0.75),
        (&[("scale", "2")], 0.25),
        (&[("scale", "1")], 0.5),
        (&[("log_only", "true")], 0.5),
    ] {
        let (have, _) = share(sets);
        assert!((have - want).abs() < 0.005, "{sets:?}: {have}");
    }
    let (_, seen) = share(&[]);
    assert_eq!(seen.penalties, [511, -512], "the average stays a step below one half");
}

/// Slices are between half and one and a half of what they were: 3 ms for two tasks with 6 ms of latency on one CPU, but
/// for the few nanoseconds that Linux's inverse weights lose.
#[test]
fn slices_are_scaled() {
    let shape = Machine::smp(1).shape;
    let last = |sets: &[(&str, &str)]| -> Vec<u64> {
        let seen = simulate(1, &topology("pmc-fair", &shape, sets), EXTREMES, 2_000 * MS);
        seen.last.iter().map(|ns| ns.div_ceil(10) * 10).collect()
    };
    assert_eq!(last(&[("log_only", "true")]), [3 * MS, 3 * MS]);
    // 3 ms less 511/1024 and more 512/1024 of it.
    assert_eq!(last(&[("scale", "1")]), [1_502_930, 4_500_000]);
    // By what L1 serves: nothing, or all.
    assert_eq!(last(&[("scale", "1"), ("slice_rule", "1")])[0], 3 * MS);
    assert!((1_500_000..1_503_000).contains(&last(&[("scale", "1"), ("slice_rule", "1")])[1]));
    assert_eq!(last(&[("scale", "1"), ("slice_rule", "2")]), [1_649_420, 1_649_420]);
}

/// Every configuration runs to its end on both workloads, counts, and keeps its penalties within the bounds; only what
/// has a policy shows any.
#[test]
fn every_configuration_runs() {
    for workload in WORKLOADS {
        let setting = Setting::of(workload).expect("ours are right");
        for config in policies().into_iter().step_by(5) {
            let log =
                run(&setting, &setting.plan(&config).expect("it compiles"), config, 1).expect("it runs");
            assert_eq!(log.roots.len(), 3);
            let base = baseline(&config);
            assert_eq!((base.level, base.policy, base.scale), (config.level, None, Scale::Both));
        }
    }
    assert_eq!(LEVELS.len() * MODELS.len() * POLICIES.len(), policies().len());
    let c = Config::new(Level::L1, Model::CacheOnly, Some(Policy::Reward));
    assert_eq!(policies().iter().filter(|p| **p == c).count(), 1);
}

/// The same run twice leaves the same log.
#[test]
fn runs_repeat() {
    let setting = Setting::of("wl1").expect("ours are right");
    let config = Config::new(Level::L2, Model::Branch, Some(Policy::Penalty));
    let plan = setting.plan(&config).expect("it compiles");
    let log = |seed| run(&setting, &plan, config, seed).expect("it runs");
    assert!(log(7) == log(7));
    assert!(log(7).lines != log(8).lines);
}
