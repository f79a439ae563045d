// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! RBED: hard tasks meet every deadline whatever soft and best-effort ones do; best effort divides the
//! rest by weight.

use proptest::prelude::*;
use weir_sim::{Criticality, Op, TaskSpec, Workload};

use crate::common::*;

const ONE: &str = "annotate affinity, criticality, deadline, executed, job, priority;
    entry -> rbed -> urgent -> cpus;";

/// A hard task of 80 ms in 160 and best effort: one gets 40 ms in 80, two get 40 ms in 160 each.
#[test]
fn the_worked_example() {
    let hard = || real_time("h", 80 * MS, 80 * MS, 160 * MS, 160 * MS);
    let (g, out) = gantt(1, ONE, &workload(vec![hard(), hog("x")]), 480 * MS);
    assert_eq!(
        g.cpu(0),
        "x 0-40, h 40-120, x 120-200, h 200-280, x 280-360, h 360-440, x 440-480",
        "turns of 40 ms every 80"
    );
    assert_eq!((out.deadline_misses, g.ran("x")), (0, 240 * MS));
    let (g, out) = gantt(1, ONE, &workload(vec![hard(), hog("x"), hog("y")]), 1600 * MS);
    assert_eq!((out.deadline_misses, g.ran("x"), g.ran("y")), (0, 400 * MS, 400 * MS));
    let turns = g.bars.iter().filter(|b| b.0 != "h").all(|b| (b.3 - b.2) % (40 * MS) == 0);
    assert!(turns, "turns of 40 ms: {}", g.cpu(0));
}

/// Were a best-effort turn that is used up followed by one that is released at once, its deadlines would
/// always be 80 ms away, and the hard task would get the CPU at 720 ms.
#[test]
fn best_effort_does_not_keep_long_periods_waiting() {
    let hard = real_time("h", 400 * MS, 400 * MS, 800 * MS, 800 * MS);
    let (_, out) = gantt(1, ONE, &workload(vec![hard, hog("x")]), 8000 * MS);
    assert_eq!(out.deadline_misses, 0);
}

/// A hard task that overruns gets no idle time either: it waits for its next period.
#[test]
fn an_overrun_waits_for_its_next_period() {
    let hard = real_time("h", 2 * MS, 3 * MS, 10 * MS, 10 * MS);
    let (g, _) = gantt(1, ONE, &workload(vec![hard]), 40 * MS);
    assert_eq!(g.cpu(0), "h 0-2, h 10-12, h 20-22, h 30-32");
    let without = ONE.replace("-> urgent ", "");
    let hard = real_time("h", 2 * MS, 3 * MS, 10 * MS, 10 * MS);
    let (g, out) = gantt(1, &without, &workload(vec![hard]), 40 * MS);
    assert_eq!((out.deadline_misses, g.ran("h")), (0, 12 * MS), "without the filter it uses idle time");
}

/// Shares are (1 - hard) w / W, with the weight 21 + priority.
#[test]
fn best_effort_shares_are_as_the_formula() {
    let tasks = vec![
        real_time("h", 12 * MS, 12 * MS, 40 * MS, 40 * MS),
        TaskSpec { priority: 21, ..hog("two") },
        hog("one"),
        TaskSpec { priority: -14, ..hog("third") },
    ];
    let seconds = 40u64;
    let (g, out) = gantt(1, ONE, &workload(tasks), seconds * 1000 * MS);
    assert_eq!((out.deadline_misses, out.idle_ns), (0, 0));
    for (name, weight) in [("two", 42), ("one", 21), ("third", 7)] {
        let share = seconds as f64 * 0.7 * f64::from(weight) / 70.0;
        let have = g.ran(name) as f64 / 1e9;
        assert!((have - share).abs() < 0.25, "{name}: {have} s of {share} s");
    }
}

/// With hard tasks at 90 % best effort keeps its floor, and one more hard task is not admitted.
#[test]
fn the_floor_is_kept() {
    let tasks = vec![
        real_time("a", 5 * MS, 5 * MS, 10 * MS, 10 * MS),
        real_time("b", 8 * MS, 8 * MS, 20 * MS, 20 * MS),
        real_time("refused", MS, MS, 20 * MS, 20 * MS),
        hog("x"),
    ];
    let (g, _) = gantt(1, ONE, &workload(tasks), 4000 * MS);
    assert!(g.missed.iter().all(|m| m.0 == "refused"), "{:?}", g.missed);
    assert!(g.ran("x") + g.ran("refused") >= 395 * MS, "{}", g.ran("x"));
}

/// Times in steps of 100 us.
fn periodic_task() -> impl Strategy<Value = (u64, u64, u64)> {
    (20..400u64, 1..100u64, 50..=100u64).prop_map(|(period, share, deadline)| {
        let deadline = (period * deadline / 100).max(1);
        ((deadline * share / 100).max(1), period, deadline)
    })
}

/// What shares the CPU with them: hogs, sleepers, and those that give up the CPU all the time.
fn best_effort() -> impl Strategy<Value = (Vec<Op>, i32, u64)> {
    let program = prop_oneof![
        Just(vec![Op::Run { ns: 100 * MS }]),
        (1..30 * MS, 1..30 * MS).prop_map(|(run, ns)| vec![Op::Run { ns: run }, Op::Sleep { ns }]),
        (1..9 * MS).prop_map(|ns| vec![Op::Run { ns }, Op::Yield]),
    ];
    (program, -20..20i32, 0..300u64).prop_map(|(p, priority, start)| (p, priority, start * MS))
}

fn mixed() -> impl Strategy<Value = Workload> {
    let hard = prop::collection::vec((periodic_task(), 0..200u64), 1..6);
    let soft = prop::collection::vec((periodic_task(), 1..4u64), 0..3);
    let rest = prop::collection::vec(best_effort(), 0..4);
    (hard, soft, rest).prop_map(|(hard, soft, rest)| {
        let unit = MS / 10;
        let mut w = Workload::default();
        let mut load = 0;
        for (i, ((wcet, period, deadline), start)) in hard.into_iter().enumerate() {
            load += (wcet * 1_000_000).div_ceil(deadline);
            if load > 900_000 {
                break;
            }
            let t = real_time(&format!("hard{i}"), wcet * unit, wcet * unit, period * unit, deadline * unit);
            w.tasks.push(TaskSpec { start_ns: Some(start * MS), ..t });
        }
        for (i, ((wcet, period, deadline), times)) in soft.into_iter().enumerate() {
            w.criticality.insert(w.tasks.len() as u32, Criticality::Lo);
            let run = times * wcet * unit;
            w.tasks.push(real_time(&format!("soft{i}"), wcet * unit, run, period * unit, deadline * unit));
        }
        for (i, (program, priority, start)) in rest.into_iter().enumerate() {
            let t = task(&format!("rest{i}"), repeat(None, program));
            w.tasks.push(TaskSpec { priority, start_ns: Some(start), ..t });
        }
        w.name = "mixed".into();
        w
    })
}

proptest! {
    #![proptest_config(config(400))]

    /// No hard deadline is missed for any admitted set.
    #[test]
    fn admitted_hard_tasks_never_miss(w in mixed()) {
        let (g, out) = gantt(1, ONE, &w, 600 * MS);
        let missed: Vec<_> = g.missed.iter().filter(|m| m.0.starts_with("hard")).collect();
        prop_assert!(missed.is_empty(), "{:?}", missed);
        prop_assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    }

    /// The same under the catalogue's topology on two CPUs, twice as much of everything.
    #[test]
    fn nor_do_partitioned_ones(a in mixed(), b in mixed()) {
        let mut w = a.clone();
        let base = a.tasks.len() as u32;
        w.criticality.extend(b.criticality.iter().map(|(i, c)| (i + base, *c)));
        w.tasks.extend(b.tasks.iter().map(|t| TaskSpec { name: format!("{}b", t.name), ..t.clone() }));
        // Half of it on each, so that all of it fits wherever partitioning puts it.
        for t in w.tasks.iter_mut().filter(|t| t.name.starts_with("hard")) {
            let timing = t.timing.expect("they are periodic");
            *t = TaskSpec { start_ns: t.start_ns, ..real_time(&t.name, timing.wcet_ns / 2, timing.wcet_ns / 2, timing.period_ns, timing.deadline_ns) };
        }
        let (g, _) = gantt(2, &catalogue("rbed"), &w, 600 * MS);
        let missed: Vec<_> = g.missed.iter().filter(|m| m.0.starts_with("hard")).collect();
        prop_assert!(missed.is_empty(), "{:?}", missed);
    }
}

/// A best-effort task sleeps with most of a turn left while a hard one is admitted: what was promised to
/// it before does not count any more when it comes back.
#[test]
fn a_sleeper_does_not_bring_old_promises() {
    let hard = real_time("h", 8 * MS / 10, 8 * MS / 10, 2 * MS, 19 * MS / 10);
    let sleeper = task("x", repeat(None, vec![Op::Run { ns: 20_375_196 }, Op::Sleep { ns: 6_124_804 }]));
    let tasks =
        vec![TaskSpec { start_ns: Some(87 * MS), ..hard }, TaskSpec { start_ns: Some(34 * MS), ..sleeper }];
    let (_, out) = gantt(1, ONE, &workload(tasks), 1000 * MS);
    assert_eq!(out.deadline_misses, 0);
}
