// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A task that is alone under `eevdf` has a long turn, and one that arrives brings its end back (docs/decisions/0199). Each turn of a lone
//! task used to end with its slice: a choice in each 0.7 ms.

use weir_sim::{Costs, Machine, Op, Outcome, RunConfig, TaskSpec, Workload};

use crate::common::*;
use crate::{gantt_unchecked, nice};

const SLICE: u64 = 700 * US;

/// One CPU under `linux`, with a change of its text, without costs.
fn run(old: &str, new: &str, w: &Workload, end: u64) -> (Gantt, Outcome) {
    let topology = catalogue("linux");
    assert!(topology.contains(old), "linux has changed");
    gantt_unchecked(1, &topology.replace(old, new), w, end)
}

fn linux(w: &Workload, end: u64) -> (Gantt, Outcome) {
    run("eevdf(", "eevdf(", w, end)
}

/// It computes for so long, and ends.
fn once(name: &str, ns: u64) -> TaskSpec {
    task(name, vec![Op::Run { ns }])
}

fn from(at: u64, spec: TaskSpec) -> TaskSpec {
    TaskSpec { start_ns: Some(at), ..spec }
}

/// When `first` loses its CPU to a task that comes at `at`.
fn lost(first: TaskSpec, at: u64) -> u64 {
    let w = workload(vec![first, from(at, hog("second"))]);
    let (g, _) = linux(&w, at + 20 * MS);
    let bar = g.bars.iter().find(|b| b.0 == "second").expect("it runs");
    bar.2
}

#[test]
fn a_lone_task_is_not_asked_for_a_choice() {
    let w = workload(vec![hog("first")]);
    let (_, out) = linux(&w, 1000 * MS);
    assert!(out.decisions <= 11, "{} choices in ten turns", out.decisions);
    // By ticks slices end as before: each choice is at one.
    let (_, out) = run("eevdf(", "eevdf(tick = 4ms, ", &w, 1000 * MS);
    assert!(out.decisions > 200, "{} choices", out.decisions);
}

/// Its deadline is that of the last tick, or, if that has passed, a slice after the arrival.
#[test]
fn a_lone_turn_ends_with_its_slice() {
    for (at, over) in [
        (4300 * US, 4000 * US + SLICE),
        (5000 * US, 5000 * US + SLICE),
        (50_100 * US, 50_100 * US + SLICE),
        (52_400 * US, 52_000 * US + SLICE),
        // The slice goes on where the long turn would have ended, at 101 ms.
        (100_900 * US, 100_900 * US + SLICE),
        // In the second long turn.
        (130_000 * US, 130_000 * US + SLICE),
    ] {
        let lost = lost(from(MS, hog("first")), at);
        assert!(lost.abs_diff(over) <= 3 * US, "arrival at {at}: {lost}, not {over}");
    }
}

/// So it does for other weights: the virtual time of a slice is shorter, the time is the same.
#[test]
fn the_slice_of_a_light_task_is_as_long() {
    let lost = lost(nice(10, hog("first")), 50_100 * US);
    // The heavy one preempts it as soon as its protection is over, which is at once.
    assert!(lost <= 50_100 * US + SLICE + 3 * US, "{lost}");
    let w = workload(vec![nice(-10, hog("first")), from(50_100 * US, nice(-10, hog("second")))]);
    let (g, _) = linux(&w, 80 * MS);
    let second = g.bars.iter().find(|b| b.0 == "second").expect("it runs").2;
    assert!(second.abs_diff(50_100 * US + SLICE) <= 3 * US, "{second}");
}

/// A task that was alone, and is again when the other one has gone, has long turns again.
#[test]
fn it_is_alone_again_when_the_other_has_gone() {
    let w = workload(vec![hog("first"), from(10 * MS, once("second", 2 * MS))]);
    let (_, out) = linux(&w, 1000 * MS);
    assert!(out.decisions <= 25, "{} choices", out.decisions);
}

/// The load of the benchmark: jobs of 8 ms on average, and hardly ever two on one CPU. A job is a choice when it begins and one when it ends; a slice
/// was one more.
#[test]
fn a_job_costs_two_choices() {
    let w = Workload::resolve("bench:cpus=16,load=80%,per_cpu=5,pmin=10ms,pmax=100ms", 1, &none, &[]);
    let w = w.expect("a generator");
    let machine = Machine::smp(16);
    let cfg = RunConfig { duration_ns: Some(500 * MS), ..RunConfig::default() };
    let plan = plan(&catalogue("linux"), &machine.shape);
    let out = weir_sim::run(&machine, &plan, &w, &Costs::default(), &cfg, &mut Gantt::default());
    let out = out.expect("a run");
    assert!(out.decisions * 10 < out.jobs * 25, "{} choices, {} jobs", out.decisions, out.jobs);
}

fn none(name: &str) -> std::io::Result<Vec<u8>> {
    Err(std::io::Error::new(std::io::ErrorKind::NotFound, name.to_owned()))
}
