// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Long-run shares, and that nobody starves.

use proptest::prelude::*;
use weir_core::{Config, MachineShape, Msg, Sched, Topic};
use weir_sim::Op;

use crate::common::*;
use crate::{EXACT, gantt_unchecked, nice, weight};

/// Weights are Linux's to the digit, and what is multiplied with instead of dividing by them is 2^32 over each, within one.
#[test]
fn weights_and_their_inverses_are_linux_s() {
    let core = Config { nr_cpus: 1, arena_bytes: 16 << 20, checks: false, oplog: false, seed: 1 };
    let mut sched = Sched::new(&core).expect("a scheduler");
    let topology = plan("annotate weight; entry -> head_queue -> cpus;", &MachineShape::flat(1));
    sched.load(&topology).expect("it loads");
    let task = sched.task_new(0, 0).expect("a task");
    for n in -20..=19 {
        let about = Msg { task: Some(task), value: -i64::from(n) as u64, ..Msg::default() };
        sched.notify(0, Topic::Priority, &about).expect("somebody listens");
        let answer = sched.request(0, Topic::Weight, &about).expect("it answers");
        assert_eq!(answer.value, weight(n), "nice {n}");
        let exact = (1u64 << 32) as f64 / answer.value as f64;
        assert!((answer.value2 as f64 - exact).abs() <= 1.0, "nice {n}: {} for {exact}", answer.value2);
    }
}

/// Share of each of some tasks that always compute, on one CPU, once they have settled: new tasks begin behind.
fn shares(topology: &str, mix: &[i32], span: u64) -> Vec<f64> {
    let from = 20_000 * MS;
    let tasks = mix.iter().enumerate().map(|(i, n)| nice(*n, hog(&format!("t{i}")))).collect();
    let (g, out) = gantt_unchecked(1, &catalogue(topology), &workload(tasks), from + span);
    assert_eq!(out.idle_ns, 0, "the CPU always has something to do");
    (0..mix.len()).map(|i| g.ran_in(&format!("t{i}"), from, from + span) as f64 / span as f64).collect()
}

fn close_to_weights(topology: &str, mix: &[i32], span: u64) -> Result<(), TestCaseError> {
    let all: u64 = mix.iter().map(|n| weight(*n)).sum();
    for (have, n) in shares(topology, mix, span).into_iter().zip(mix) {
        let want = weight(*n) as f64 / all as f64;
        // A turn more or less at both ends of the span is no unfairness.
        let turn = 1.5 * MS as f64 / span as f64;
        prop_assert!(
            (have - want).abs() < 0.01 * want + turn,
            "{topology}, nice {mix:?}: nice {n} has {have:.6}, should have {want:.6}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(16))]

    /// Within 1 % of each task's own share, also of the smallest, for any mix of nice values.
    #[test]
    fn long_run_shares_follow_the_weights(mix in prop::collection::vec(-20..=19i32, 1..8)) {
        for topology in EXACT {
            close_to_weights(topology, &mix, 100_000 * MS)?;
        }
    }
}

#[test]
fn equal_tasks_share_equally() {
    for topology in EXACT {
        for share in shares(topology, &[0; 5], 3000 * MS) {
            assert!((share - 0.2).abs() < 0.002, "{topology}: {share}");
        }
    }
}

/// A step of nice is worth about ten percent of a CPU.
#[test]
fn a_step_of_nice_is_a_tenth_of_a_cpu() {
    for topology in EXACT {
        let s = shares(topology, &[0, 1], 10_000 * MS);
        assert!((s[0] - s[1] - 0.11).abs() < 0.005, "{topology}: {s:?}");
    }
}

/// The lightest task beside ordinary ones that compute, or wake all the time.
#[test]
fn nobody_starves() {
    for topology in EXACT {
        let naps = [Op::Run { ns: 900 * US }, Op::Sleep { ns: 100 * US }];
        let wakes = |name: &str| task(name, repeat(None, naps.to_vec()));
        let tasks = vec![nice(19, hog("light")), hog("heavy"), wakes("w0"), wakes("w1"), wakes("w2")];
        let (g, _) = gantt_unchecked(1, &catalogue(topology), &workload(tasks), 10_000 * MS);
        let mut last = 0;
        for (_, _, from, to) in g.bars.iter().filter(|b| b.0 == "light") {
            // A turn of 0.75 ms each 0.2 s.
            assert!(from - last < 500 * MS, "{topology}: it waited from {last} to {from}");
            last = *to;
        }
        assert!(last > 9500 * MS, "{topology}: it ran last at {last}");
    }
}
