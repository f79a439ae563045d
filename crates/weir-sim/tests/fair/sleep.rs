// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Sleeping, waking and migrating.

use weir_sim::{Op, TaskSpec};

use crate::common::*;
use crate::{EXACT, gantt_unchecked, nice};

fn sleeps_then_computes(name: &str, ns: u64) -> TaskSpec {
    let mut program = vec![Op::Run { ns: MS }, Op::Sleep { ns }];
    program.extend(repeat(None, vec![Op::Run { ns: 100 * MS }]));
    task(name, program)
}

/// A task that slept for a second is ahead by some milliseconds, not by a second.
#[test]
fn a_sleeper_gets_no_windfall() {
    for topology in EXACT {
        let tasks = vec![hog("a"), sleeps_then_computes("b", 1000 * MS)];
        let (g, _) = gantt_unchecked(1, &catalogue(topology), &workload(tasks), 1500 * MS);
        let woke =
            g.bars.iter().filter(|b| b.0 == "b" && b.2 > 900 * MS).map(|b| b.2).min().expect("it wakes");
        let ran = g.ran_in("b", woke, woke + 200 * MS);
        assert!(ran > 95 * MS && ran < 110 * MS, "{topology}: {ran}");
    }
}

/// One that sleeps most of the time hardly waits, though the CPU is always busy.
#[test]
fn one_that_sleeps_a_lot_is_served_at_once() {
    for topology in EXACT {
        let short = task("short", repeat(None, vec![Op::Run { ns: 200 * US }, Op::Sleep { ns: 10 * MS }]));
        let tasks = vec![hog("a"), hog("b"), short];
        let (g, _) = gantt_unchecked(1, &catalogue(topology), &workload(tasks), 2000 * MS);
        let ran = g.ran("short");
        // 10.2 ms a round without waiting: 196 rounds.
        assert!(ran > 180 * 200 * US, "{topology}: {ran}");
    }
}

/// Short sleeps do not add up to more than a fair share.
#[test]
fn sleeping_shortly_does_not_pay() {
    for topology in EXACT {
        let napper = task("n", repeat(None, vec![Op::Run { ns: 3 * MS }, Op::Sleep { ns: 10 * US }]));
        let tasks = vec![hog("a"), napper];
        let (g, _) = gantt_unchecked(1, &catalogue(topology), &workload(tasks), 4000 * MS);
        let share = g.ran("n") as f64 / (4000 * MS) as f64;
        assert!(share < 0.52 && share > 0.4, "{topology}: {share}");
    }
}

/// Three equal tasks on two CPUs: the balancer moves one about, and nobody gains by it.
#[test]
fn moving_to_another_cpu_keeps_the_distance() {
    for topology in EXACT {
        let hop = |name: &str, a: u32, b: u32| {
            let on = |c: u32| Op::SetAffinity { cpus: Some([c].into_iter().collect()) };
            task(name, repeat(None, vec![on(a), Op::Run { ns: 20 * MS }, on(b), Op::Run { ns: 20 * MS }]))
        };
        let pinned = |name: &str, c: u32| TaskSpec { cpus: Some([c].into_iter().collect()), ..hog(name) };
        let tasks = vec![pinned("a", 0), pinned("b", 1), hop("h", 0, 1)];
        let (g, _) = gantt_unchecked(2, &catalogue(topology), &workload(tasks), 8000 * MS);
        let share = g.ran("h") as f64 / (8000 * MS) as f64;
        assert!((share - 0.5).abs() < 0.03, "{topology}: {share}");
    }
}

/// A task of SCHED_IDLE gets next to nothing beside others, and all when there are none.
#[test]
fn idle_tasks_have_what_is_left() {
    for topology in EXACT {
        let (g, _) = gantt_unchecked(
            1,
            &catalogue(topology),
            &workload(vec![hog("a"), nice(20, hog("idle"))]),
            4000 * MS,
        );
        assert!(g.ran("idle") < 20 * MS && g.ran("idle") > 5 * MS, "{topology}: {}", g.ran("idle"));
        let once = task("a", vec![Op::Run { ns: 100 * MS }]);
        let (g, _) =
            gantt_unchecked(1, &catalogue(topology), &workload(vec![once, nice(20, hog("idle"))]), 400 * MS);
        assert_eq!(g.ran("idle"), 300 * MS, "{topology}");
    }
}
