// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How far EEVDF lets a task be from its due share at any instant: by a turn at most (Stoica and Abdel-Wahab, 1995).

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::common::*;
use crate::{gantt_unchecked, nice, weight};

const TURN: u64 = 3 * MS;

/// Largest distance between what a task had and what it was due, once all are there, over a schedule of tasks
/// that always compute.
fn worst_lag(mix: &[i32], turns: &str) -> f64 {
    let topology = format!(
        "annotate affinity, weight, fair, latency; entry -> eevdf(slice = 3ms, scale = false{turns}) -> cpus;"
    );
    let names: Vec<String> = (0..mix.len()).map(|i| format!("t{i}")).collect();
    let tasks = names.iter().zip(mix).map(|(name, n)| nice(*n, hog(name))).collect();
    let (g, _) = gantt_unchecked(1, &topology, &workload(tasks), 4000 * MS);
    let all: u64 = mix.iter().map(|n| weight(*n)).sum();
    let due: BTreeMap<&str, f64> =
        names.iter().zip(mix).map(|(name, n)| (name.as_str(), weight(*n) as f64 / all as f64)).collect();
    let mut had: BTreeMap<&str, u64> = names.iter().map(|n| (n.as_str(), 0)).collect();
    let mut worst = 0f64;
    for (name, _, from, to) in &g.bars {
        *had.get_mut(name.as_str()).expect("a task of ours") += to - from;
        for (name, share) in &due {
            worst = worst.max((had[name] as f64 - share * *to as f64).abs());
        }
    }
    worst
}

proptest! {
    #![proptest_config(config(24))]

    /// The bound is the longest turn; timers round up to 10 us at most.
    #[test]
    fn nobody_is_further_from_its_share_than_a_turn(mix in prop::collection::vec(-20..=19i32, 2..8)) {
        let worst = worst_lag(&mix, "");
        prop_assert!(worst <= (TURN + 20 * US) as f64, "nice {mix:?}: {worst} ns");
    }
}

/// What `parity` and the other refinements of Linux do is within the bound too.
#[test]
fn preemption_by_deadline_alone_keeps_the_bound() {
    for mix in [vec![0, 0, 0], vec![-5, 0, 5], vec![-20, 19]] {
        let worst = worst_lag(&mix, ", parity = false");
        assert!(worst <= (TURN + 20 * US) as f64, "nice {mix:?}: {worst} ns");
    }
}

/// A task that asks for short turns gets no more than its share, but is served much sooner when it wakes.
#[test]
fn short_turns_mean_low_latency_and_no_more_time() {
    // Share of the CPU, and the mean time from waking to the CPU.
    let served = |slice: &str| {
        let text = format!(
            "[[task]]\nname = \"hog\"\ncount = 3\nprogram = [\"run 50ms\"]\nloop = \"forever\"\n\
             [[task]]\nname = \"ui\"\n{slice}program = [\"run 2ms\", \"sleep 7ms\"]\nloop = \"forever\"\n"
        );
        let (g, _) = gantt_unchecked(1, &catalogue("eevdf"), &toml(&text), 4000 * MS);
        let (mut waited, mut rounds, mut woke, mut ran) = (0, 0, 0, 0);
        for (_, _, from, to) in g.bars.iter().filter(|b| b.0 == "ui") {
            if ran == 0 {
                waited += from - woke;
                rounds += 1;
            }
            ran += to - from;
            if ran == 2 * MS {
                (woke, ran) = (to + 7 * MS, 0);
            }
        }
        (g.ran("ui") as f64 / (4000 * MS) as f64, waited / rounds)
    };
    let (plain, late) = served("");
    let (short, soon) = served("slice = \"100us\"\n");
    assert!(short >= plain - 0.005 && short < 0.26, "{short} against {plain}");
    assert!(soon * 2 < late, "{soon} ns against {late} ns");
}
