// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Utilisation clamps under `mobile`: which CPUs tasks run on, and at which clocks, against values worked out by hand.
//!
//! The machine has small CPUs of capacity 400 with clocks of 600, 1200 and 1800 MHz, and large ones of 1024 with 700, 1500 and 2400 MHz.

use weir_sim::{Costs, Machine, RunConfig};

use crate::common::*;

struct Result {
    jobs: Vec<u64>,
    late: usize,
    /// CPU time on large CPUs, of all of it, ns.
    large: (u64, u64),
    energy_uj: u64,
}

fn run(load: &str) -> Result {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/big-little.toml");
    let machine = Machine::resolve(file, &|path| std::fs::read(path), &[]).expect("a machine");
    let plan = plan(&catalogue("mobile"), &machine.shape);
    let mut g = Gantt::default();
    let cfg = RunConfig { duration_ns: Some(4000 * MS), ..RunConfig::default() };
    let out = weir_sim::run(&machine, &plan, &toml(load), &Costs::zero(), &cfg, &mut g).expect("it runs");
    let on = |large: bool| {
        let is = |cpu: u32| machine.shape.cpus[cpu as usize].capacity == 1024;
        g.bars.iter().filter(|b| is(b.1) == large).map(|b| b.3 - b.2).sum::<u64>()
    };
    Result {
        jobs: g.done.iter().map(|d| d.2).collect(),
        late: g.missed.len(),
        large: (on(true), on(true) + on(false)),
        energy_uj: out.energy_uj,
    }
}

/// The middle one of the responses, ns. The first ones are at the clocks at which the machine begins.
fn usual(r: &Result) -> u64 {
    let mut jobs = r.jobs.clone();
    jobs.sort_unstable();
    jobs[jobs.len() / 2]
}

fn frames(clamps: &str) -> Result {
    run(&format!(
        "[[task]]\nname = \"frame\"\nperiod = \"33ms\"\nrun = \"3ms\"\ndeadline = \"33ms\"\n{clamps}"
    ))
}

/// A frame of 3 ms fits a small CPU, where it takes 3 ms * 1024 / 400 at the top clock.
#[test]
fn a_least_utilisation_is_a_large_cpu_and_its_clock() {
    let free = frames("");
    assert!(usual(&free) >= 7_680_000, "{} ns", usual(&free));
    assert!(free.large.0 * 20 < free.large.1, "{:?}", free.large);
    // Half of a large CPU: 1200 MHz, of which the machine makes 1500.
    let half = frames("util_min = 512");
    assert_eq!(half.large.0, half.large.1);
    assert_eq!(usual(&half) / 10_000, 480, "{} ns", usual(&half));
    // All of it: the top clock, from the first instant of each frame.
    let whole = frames("util_min = 1024");
    assert_eq!(usual(&whole), 3_000_000);
    assert!(whole.jobs.iter().all(|ns| *ns == 3_000_000), "{:?}", whole.jobs);
    // What fits a small CPU: 380 of 400 are 1710 MHz, of which the machine makes 1800.
    let small = frames("util_min = 380");
    assert!(small.large.0 * 20 < small.large.1, "{:?}", small.large);
    assert_eq!(usual(&small) / 10_000, 768, "{} ns", usual(&small));
    assert!(half.energy_uj > small.energy_uj && whole.energy_uj > half.energy_uj);
}

/// A group's clamps are its members'.
#[test]
fn a_group_clamps_its_members() {
    let text = |group: &str, task: &str| {
        frames(&format!("group = \"ui\"\n{task}\n[[group]]\nname = \"ui\"\n{group}"))
    };
    assert_eq!(usual(&text("util_min = 1024", "")), 3_000_000);
    // No more than the group has.
    assert_eq!(usual(&text("util_max = 380", "util_min = 1024")) / 10_000, 768);
}

/// Rounds of 10 ms and a sleep of 1 ms, in which it may change its CPU.
#[test]
fn a_most_utilisation_is_a_small_cpu_and_a_low_clock() {
    let hog = |clamps: &str| {
        run(&format!(
            "[[task]]\nname = \"hog\"\nprogram = [\"run 10ms\", \"sleep 1ms\"]\nloop = \"forever\"\n{clamps}"
        ))
    };
    let free = hog("");
    assert!(free.large.0 * 10 > free.large.1 * 9, "{:?}", free.large);
    // 260 of 400 are 1170 MHz, of which the machine makes 1200: 10 ms take 38.4 ms.
    let kept = hog("util_max = 260");
    assert!(kept.large.0 * 50 < kept.large.1, "{:?}", kept.large);
    assert!(kept.energy_uj * 2 < free.energy_uj, "{} and {} uJ", kept.energy_uj, free.energy_uj);
    assert_eq!(kept.late + free.late, 0);
}

/// Frames keep their speed beside work that is kept small, and the energy of both is less than without clamps.
#[test]
fn clamps_of_both_kinds_go_together() {
    let load = |least: &str, most: &str| {
        run(&format!(
            "[[task]]\nname = \"frame\"\nperiod = \"16ms\"\nrun = \"3ms\"\ndeadline = \"5ms\"\n{least}\n\
             [[task]]\nname = \"hog\"\ncount = 3\nprogram = [\"run 20ms\", \"sleep 1ms\"]\nloop = \"forever\"\n{most}"
        ))
    };
    let (free, clamped) = (load("", ""), load("util_min = 800", "util_max = 260"));
    assert_eq!(clamped.late, 0);
    assert!(clamped.energy_uj * 2 < free.energy_uj, "{} and {} uJ", clamped.energy_uj, free.energy_uj);
}
