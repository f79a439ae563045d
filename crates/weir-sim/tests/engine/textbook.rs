// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedules that can be worked out by hand.

use weir_sim::{Machine, Op, RunConfig};

use crate::common::*;

const RR: &str = "entry -> round_robin(slice = 2ms) -> cpus;";
const EDF: &str = "annotate deadline; entry -> edf -> cpus;";
const FP: &str = "annotate priority; entry -> priority_order -> cpus;";

#[test]
fn round_robin_shares_a_cpu() {
    let run = |n: &str, ms| task(n, vec![Op::Run { ns: ms * MS }]);
    let (g, out) = gantt(1, RR, &workload(vec![run("a", 5), run("b", 3), run("c", 4)]), 0);
    assert_eq!(g.cpu(0), "a 0-2, b 2-4, c 4-6, a 6-8, b 8-9, c 9-11, a 11-12");
    assert_eq!(out.end_ns, 12 * MS);
    assert_eq!((g.preemptions, out.preemptions), (4, 4));
    assert_eq!((out.busy_ns, out.idle_ns, out.alive), (12 * MS, 0, 0));
}

#[test]
fn a_task_alone_is_not_preempted_by_its_own_slice() {
    let (g, out) = gantt(1, RR, &workload(vec![task("a", vec![Op::Run { ns: 9 * MS }])]), 0);
    assert_eq!(g.cpu(0), "a 0-9");
    assert_eq!((g.preemptions, out.context_switches, out.runs), (0, 1, 1));
    assert!(out.decisions >= 5);
}

/// Liu and Layland's model: 2/5 + 4/7 of the CPU, beyond the bound for fixed priorities.
fn two() -> weir_sim::Workload {
    workload(vec![periodic("a", 2 * MS, 5 * MS, 2), periodic("b", 4 * MS, 7 * MS, 1)])
}

#[test]
fn edf_meets_all_deadlines_up_to_full_load() {
    let (g, out) = gantt(1, EDF, &two(), 35 * MS);
    assert_eq!(
        g.cpu(0),
        "a 0-2, b 2-6, a 6-8, b 8-12, a 12-14, b 14-15, a 15-17, b 17-20, a 20-22, b 22-26, a 26-28, b 28-32, a 32-34"
    );
    assert!(g.missed.is_empty(), "{:?}", g.missed);
    assert_eq!(out.idle_ns, MS);
    assert_eq!((out.jobs, out.jobs_completed), (12, 12));
    assert_eq!(g.done[..3], [("a".into(), 0, 2 * MS), ("b".into(), 0, 6 * MS), ("a".into(), 1, 3 * MS)]);
}

#[test]
fn fixed_priorities_miss_beyond_their_bound() {
    let (g, _) = gantt(1, FP, &two(), 35 * MS);
    assert!(
        g.cpu(0).starts_with("a 0-2, b 2-5, a 5-7, b 7-10, a 10-12, b 12-14, b 14-15, a 15-17"),
        "{}",
        g.cpu(0)
    );
    assert_eq!(g.missed[0], ("b".into(), 0, 7 * MS));
    assert!(g.missed.iter().all(|m| m.0 == "b"));
    assert_eq!(g.done[2], ("b".into(), 0, 8 * MS));
}

#[test]
fn an_overrun_job_delays_the_next_one_of_its_task() {
    // 6 ms of work every 4 ms: job k is released at 4k and done at 6(k+1).
    let (g, out) = gantt(1, EDF, &workload(vec![periodic("a", 6 * MS, 4 * MS, 0)]), 24 * MS);
    let responses: Vec<u64> = g.done.iter().map(|d| d.2 / MS).collect();
    assert_eq!(responses, [6, 8, 10, 12]);
    assert_eq!(g.missed.iter().map(|m| m.2 / MS).collect::<Vec<_>>(), [4, 8, 12, 16, 20]);
    assert_eq!((out.deadline_misses, out.jobs, out.jobs_completed), (5, 6, 4));
}

#[test]
fn global_edf_uses_all_cpus() {
    // Dhall's effect: two light tasks make a heavy one miss on two CPUs.
    let w = workload(vec![
        periodic("l1", 2 * MS, 10 * MS, 0),
        periodic("l2", 2 * MS, 10 * MS, 0),
        periodic("heavy", 10 * MS, 11 * MS, 0),
    ]);
    let (g, _) = gantt(2, EDF, &w, 13 * MS);
    assert_eq!(g.missed, [("heavy".to_string(), 0, 11 * MS)]);
    assert_eq!(g.cpu(0), "l1 0-2, heavy 2-12, l2 12-13");
    assert_eq!(g.cpu(1), "l2 0-2, l1 10-12, heavy 12-13");
}

#[test]
fn deadlines_and_releases_at_one_instant() {
    // A job that ends exactly at its deadline is in time, and the next release follows at once.
    let (g, _) = gantt(1, EDF, &workload(vec![periodic("a", 5 * MS, 5 * MS, 0)]), 20 * MS);
    assert!(g.missed.is_empty());
    assert_eq!(g.done.len(), 4);
}

#[test]
fn sporadic_and_jittered_releases_keep_their_distance() {
    let release = Op::Release {
        offset_ns: MS,
        period_ns: 10 * MS,
        deadline_ns: 10 * MS,
        jitter_ns: 0,
        extra_ns: 5 * MS,
    };
    let w = workload(vec![task("s", repeat(Some(50), vec![release, Op::Run { ns: MS }]))]);
    let (g, _) = gantt(1, EDF, &w, 0);
    assert_eq!(g.bars.len(), 50);
    let gaps: Vec<u64> = g.bars.windows(2).map(|b| b[1].2 - b[0].2).collect();
    assert_eq!(g.bars[0].2, MS);
    assert!(gaps.iter().all(|d| (10 * MS..=15 * MS).contains(d)));
    assert!(gaps.windows(2).any(|d| d[0] != d[1]));
}

#[test]
fn same_seed_same_events() {
    let mut tasks: Vec<_> =
        (0..6).map(|i| periodic(&format!("p{i}"), (1 + i) * MS, (9 + 3 * i) * MS, 0)).collect();
    tasks.push(task(
        "r",
        repeat(Some(40), vec![Op::RunBetween { min_ns: 1, max_ns: 3 * MS }, Op::Sleep { ns: 3_333_333 }]),
    ));
    let w = workload(tasks);
    let once = |seed| {
        let mut t = Transcript::default();
        let cfg = RunConfig { seed, duration_ns: Some(300 * MS), trace_pipes: true, ..RunConfig::default() };
        run_on(&Machine::smp(3), EDF, &w, &weir_sim::Costs::default(), cfg, &mut t).unwrap();
        t.0
    };
    let first = once(1);
    assert!(first.lines().count() > 1000);
    assert_eq!(first, once(1));
    assert_ne!(first, once(2));
}
