// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `groups` and `classes` in the simulator beside what Linux 7.2 did under the same loads (experiments/sim-vs-kernel/decisions): shares,
//! and waits of the threads above the fair class. README.md there has the bounds that were set before the first recording, and which of them
//! are missed; here stands how near the topologies come, so that a drift is noticed.

use std::collections::HashMap;

use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, RunConfig};

use crate::common::*;
use crate::nested::hog_and_members;
use crate::recording::*;

/// Threads by name.
#[derive(Default)]
struct Threads(Vec<(String, Had)>);

impl Observer for Threads {
    fn event(&mut self, now: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { name, .. } => self.0.push((name.into(), Had::default())),
            Event::Run { task, wakeup, waited_ns, .. } => {
                self.0[task as usize].1.waits.extend(wakeup.then(|| (now - waited_ns, waited_ns)));
            }
            Event::Off { task, ran_ns, .. } => self.0[task as usize].1.ran += ran_ns,
            _ => {}
        }
    }
}

/// By name: in the simulator, in the kernel; and the length of the load, ms.
fn both(load: &str, topology: &str, times: Times) -> (Vec<(String, Had, Had)>, u64) {
    let mut theirs: HashMap<String, Had> = recording(load).had();
    let (workload, ms) = workload_of(load, times, &theirs);
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

/// Percent of the CPU that the hog and the members have of `groups`: in the simulator, in the kernel.
fn of_groups(times: Times) -> [(f64, f64); 2] {
    let (all, ms) = both("groups", "groups", times);
    ["hog", "member"].map(|name| {
        let sum = |of: fn(&(String, Had, Had)) -> &Had| -> f64 {
            all.iter().filter(|t| t.0.starts_with(name)).map(|t| share(of(t), ms)).sum()
        };
        let (ours, theirs) = (sum(|t| &t.1), sum(|t| &t.2));
        println!("groups: {name} {ours:.2} % of the CPU, in the kernel {theirs:.2}");
        (ours, theirs)
    })
}

/// Two groups of equal weight, in one of which all members block. Where they wake when they did in the kernel, shares are within the bound of
/// 2 points.
#[test]
fn groups_share_as_in_the_kernel_where_members_wake_as_there() {
    for (ours, theirs) in of_groups(Times::Recorded) {
        assert!((ours - theirs).abs() <= 2.0, "{ours} against {theirs}");
    }
}

/// In the kernel the members wake at the same time, and all sleep for a sixth of the time: there nested queues run them one after the other in
/// the slice of their group (`nested.rs`). Flat weights do not. Here each group has half of the CPU; the kernel gave the hog 58 %, so the
/// bound of 2 points is missed. While both groups can run, each has half there, too.
#[test]
fn flat_weights_do_not_bunch_members() {
    for (ours, theirs) in of_groups(Times::Computing) {
        assert!((ours - 50.0).abs() <= 1.0, "{ours}");
        assert!((ours - theirs).abs() <= 10.0, "{ours} against {theirs}");
    }
    let [hog, members] = recording("groups").while_both_can_run("hog", "member");
    println!("while both can run: the hog {} us, the members {} us", hog / US, members / US);
    assert!(hog.abs_diff(members) * 100 <= hog + members);
    let [hog, members, _] = hog_and_members(6, 728 * US, 2100 * US);
    for (model, (_, theirs)) in [hog, members].into_iter().zip(of_groups(Times::Computing)) {
        let model = model / (1000 * MS) as f64 * 100.0;
        assert!((model - theirs).abs() <= 2.0, "{model} in nested queues, {theirs} in the kernel");
    }
}

/// Shares are within 2 points, where each thread does what the load says.
fn compare_shares(load: &str) {
    let (all, ms) = both(load, "classes", Times::OfFile);
    let mut fine = true;
    for (name, ours, theirs) in &all {
        let (a, b) = (share(ours, ms), share(theirs, ms));
        println!("{load}: {name} {a:.2} % of the CPU, in the kernel {b:.2}");
        fine &= (a - b).abs() <= 2.0;
    }
    assert!(fine, "{load}: the figures are above");
}

/// Of the waits of the threads `above` the fair class, `least` percent are within 100 us, where they wake when they did in the kernel. One
/// that does not sleep when the kernel wakes it has no such wait.
fn compare_waits(load: &str, above: &[&str], least: f64) {
    let (all, _) = both(load, "classes", Times::Recorded);
    let mut fine = true;
    for (name, ours, theirs) in all.iter().filter(|t| above.iter().any(|p| t.0.starts_with(p))) {
        let near = |a: u64, b: u64| a.abs_diff(b) <= 100 * US;
        let agrees = |(at, wait): &&(u64, u64)| ours.waits.iter().any(|w| near(w.0, *at) && near(w.1, *wait));
        let n = theirs.waits.len();
        let near = theirs.waits.iter().filter(agrees).count();
        let part = near as f64 * 100.0 / n as f64;
        println!("{load}: {name}: {part:.1} % of {n} waits within 100 us");
        fine &= part >= least && n > 50;
    }
    assert!(fine, "{load}: the figures are above");
}

#[test]
fn real_time_is_that_of_the_kernel() {
    compare_shares("realtime");
    compare_waits("realtime", &["loop", "turn"], 95.0);
}

#[test]
fn deadlines_are_those_of_the_kernel() {
    compare_shares("deadline");
    compare_waits("deadline", &["camera", "sensor"], 95.0);
}
