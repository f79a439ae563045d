// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `groups` and `classes` in the simulator beside what Linux 7.2 did under the same loads (experiments/sim-vs-kernel/decisions): shares,
//! and waits of the threads above the fair class. README.md there has the bounds that were set before the first recording, and which of them
//! are missed; here stands how near the topologies come, so that a drift is noticed.

use std::collections::HashMap;

use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, RunConfig};

use crate::common::*;
use crate::recording::*;

/// Threads by name.
#[derive(Default)]
struct Threads(Vec<(String, Had)>);

impl Observer for Threads {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { name, .. } => self.0.push((name.into(), Had::default())),
            Event::Run { task, wakeup, waited_ns, .. } => {
                self.0[task as usize].1.waits.extend(wakeup.then_some(waited_ns));
            }
            Event::Off { task, ran_ns, .. } => self.0[task as usize].1.ran += ran_ns,
            _ => {}
        }
    }
}

/// By name: in the simulator, in the kernel; and the length of the load, ms. `recorded`: threads wake when they did in the kernel.
fn both(load: &str, topology: &str, recorded: bool) -> (Vec<(String, Had, Had)>, u64) {
    let mut theirs: HashMap<String, Had> = recording(load).had();
    let (workload, ms) = workload_of(load, recorded.then_some(&theirs));
    let machine = Machine::smp(1);
    let plan = plan(&catalogue(topology), &machine.shape);
    let mut ours = Threads::default();
    let cfg = RunConfig { duration_ns: Some(ms * MS), ..RunConfig::default() };
    weir_sim::run(&machine, &plan, &workload, &Costs::zero(), &cfg, &mut ours).expect("it runs");
    let pair = |(name, had): (String, Had)| {
        let kernel = theirs.remove(&name).unwrap_or_else(|| panic!("{name} is not in the recording"));
        (name, had, kernel)
    };
    (ours.0.into_iter().map(pair).collect(), ms)
}

/// Percent of the CPU.
fn share(had: &Had, ms: u64) -> f64 {
    had.ran as f64 / (ms * MS) as f64 * 100.0
}

/// Two groups of equal weight, in one of which all members block. Here each has half of the CPU, as in nested queues. The kernel gave the hog
/// 58 %: the bound of 2 points is missed.
#[test]
fn groups_share_by_weight_more_exactly_than_in_the_kernel() {
    let (all, ms) = both("groups", "groups", false);
    let sum = |of: fn(&(String, Had, Had)) -> &Had, name: &str| -> f64 {
        all.iter().filter(|t| t.0.starts_with(name)).map(|t| share(of(t), ms)).sum()
    };
    for name in ["hog", "member"] {
        let (ours, theirs) = (sum(|t| &t.1, name), sum(|t| &t.2, name));
        println!("groups: {name} {ours:.2} % of the CPU, in the kernel {theirs:.2}");
        assert!((ours - 50.0).abs() <= 1.0, "{name}: {ours}");
        assert!((ours - theirs).abs() <= 10.0, "{name}: {ours} against {theirs}");
    }
}

/// Shares are within 2 points, where each thread does what the load says.
fn compare_shares(load: &str) {
    let (all, ms) = both(load, "classes", false);
    let mut fine = true;
    for (name, ours, theirs) in &all {
        let (a, b) = (share(ours, ms), share(theirs, ms));
        println!("{load}: {name} {a:.2} % of the CPU, in the kernel {b:.2}");
        fine &= (a - b).abs() <= 2.0;
    }
    assert!(fine, "{load}: the figures are above");
}

/// Of the waits of the threads `above` the fair class, `least` percent are within 100 us, where they wake when they did in the kernel.
fn compare_waits(load: &str, above: &[&str], least: f64) {
    let (all, _) = both(load, "classes", true);
    let mut fine = true;
    for (name, ours, theirs) in all.iter().filter(|t| above.iter().any(|p| t.0.starts_with(p))) {
        let n = ours.waits.len().min(theirs.waits.len());
        let near = (0..n).filter(|i| ours.waits[*i].abs_diff(theirs.waits[*i]) <= 100 * US).count();
        let part = near as f64 * 100.0 / n as f64;
        println!("{load}: {name}: {part:.1} % of {n} waits within 100 us");
        fine &= part >= least && n > 50;
    }
    assert!(fine, "{load}: the figures are above");
}

#[test]
fn real_time_is_that_of_the_kernel() {
    compare_shares("realtime");
    // One thread has 94.6 %: where the fair server serves, round robin waits, and the two servers do not begin at the same instant.
    compare_waits("realtime", &["loop", "turn"], 94.0);
}

#[test]
fn deadlines_are_those_of_the_kernel() {
    // Not the waits: camera and greedy task begin in another phase in the kernel.
    compare_shares("deadline");
}
