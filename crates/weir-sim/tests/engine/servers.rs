// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Servers: bounded service, isolation, admission; and the classes of Linux above one another.

use proptest::prelude::*;
use weir_sim::{Op, Policy, TaskSpec, Workload};

use crate::common::*;

const SOFT: &str = "annotate affinity, cbs, job; entry -> edf -> cpus;";
const HARD: &str = "annotate affinity, cbs(hard = true), job; entry -> throttle -> edf -> cpus;";
const SPORADIC: &str = "annotate affinity, priority, sporadic; entry -> throttle -> priority_order -> cpus;";

/// Most that `name` ran in any interval of the given length that begins with a piece of its running.
fn most_in(g: &Gantt, name: &str, length: u64) -> u64 {
    let bars: Vec<_> = g.bars.iter().filter(|b| b.0 == name).collect();
    let within =
        |from: u64| bars.iter().map(|b| b.3.min(from + length).saturating_sub(b.2.max(from))).sum::<u64>();
    bars.iter().map(|b| within(b.2)).max().unwrap_or(0)
}

fn linux(policy: Policy, priority: i32, spec: TaskSpec) -> TaskSpec {
    TaskSpec { policy, priority, ..spec }
}

/// Both tasks together would overload the CPU; the one that keeps to its declared time is not affected.
#[test]
fn a_server_isolates() {
    let tasks = || {
        vec![
            real_time("good", 5 * MS, 5 * MS, 10 * MS, 10 * MS),
            real_time("bad", 4 * MS, 9 * MS, 10 * MS, 10 * MS),
        ]
    };
    for topology in [SOFT, HARD] {
        let (g, _) = gantt(1, topology, &workload(tasks()), 1000 * MS);
        assert!(g.missed.iter().all(|m| m.0 == "bad"), "{:?}", g.missed);
        assert_eq!(g.ran("good"), 500 * MS);
    }
    let plain = "annotate affinity, deadline; entry -> edf -> cpus;";
    let (g, _) = gantt(1, plain, &workload(tasks()), 1000 * MS);
    assert!(g.missed.iter().any(|m| m.0 == "good"), "without servers it does");
}

/// A soft server goes on where nobody else wants the CPU, a hard one does not.
#[test]
fn hard_servers_do_not_use_idle_time() {
    let greedy = || workload(vec![real_time("x", 2 * MS, 500 * MS, 10 * MS, 10 * MS)]);
    let (_, out) = gantt(1, SOFT, &greedy(), 100 * MS);
    assert_eq!(out.idle_ns, 0);
    let (g, _) = gantt(1, HARD, &greedy(), 40 * MS);
    assert_eq!(g.cpu(0), "x 0-2, x 10-12, x 20-22, x 30-32");
}

/// Linux admits up to 95 %: the third of three tasks of 40 % runs below, and the first two meet all.
#[test]
fn admission_refuses_what_is_too_much() {
    let tasks = ["a", "b", "c"].map(|n| real_time(n, 4 * MS, 4 * MS, 10 * MS, 10 * MS));
    let (g, out) = gantt(1, &catalogue("sched-deadline"), &workload(tasks.to_vec()), 200 * MS);
    assert!(g.missed.iter().all(|m| m.0 == "c") && !g.missed.is_empty(), "{:?}", g.missed);
    assert_eq!((g.ran("a"), g.ran("b"), out.idle_ns), (80 * MS, 80 * MS, 0));
}

/// Deadline above FIFO above round robin above the rest, on one CPU.
#[test]
fn classes_stand_above_one_another() {
    let policy = Policy::Deadline { runtime_ns: 2 * MS, deadline_ns: 10 * MS, period_ns: 10 * MS };
    let job = |name: &str, ms: u64| task(name, vec![Op::Run { ns: ms * MS }]);
    let tasks = vec![
        job("fair", 3),
        linux(Policy::RoundRobin, 110, job("rr", 3)),
        linux(Policy::Fifo, 150, job("fifo", 13)),
        linux(policy, 300, real_time("deadline", 2 * MS, 2 * MS, 10 * MS, 10 * MS)),
    ];
    let (g, out) = gantt(1, &catalogue("classes"), &workload(tasks), 40 * MS);
    assert_eq!(
        g.cpu(0),
        "deadline 0-2, fifo 2-10, deadline 10-12, fifo 12-17, rr 17-20, deadline 20-22, fair 22-25, deadline 30-32"
    );
    assert_eq!(out.deadline_misses, 0);
}

/// FIFO runs until it blocks, round robin takes turns of 100 ms; one that is preempted has the rest of
/// its slice when it comes back, at the head of its level.
#[test]
fn fifo_and_round_robin_as_posix_has_them() {
    let rr = |name: &str| linux(Policy::RoundRobin, 120, task(name, vec![Op::Run { ns: 150 * MS }]));
    let urgent = task("urgent", vec![Op::Sleep { ns: 130 * MS }, Op::Run { ns: 20 * MS }]);
    let tasks = vec![rr("a"), rr("b"), linux(Policy::Fifo, 199, urgent)];
    let topology = "annotate affinity, executed, policy, priority; entry -> rt -> cpus;";
    let (g, _) = gantt(1, topology, &workload(tasks), 0);
    assert_eq!(g.cpu(0), "urgent 0-0, a 0-100, b 100-130, urgent 130-150, b 150-220, a 220-270, b 270-320");
    let fifo = |name: &str| linux(Policy::Fifo, 120, task(name, vec![Op::Run { ns: 150 * MS }]));
    let urgent = task("urgent", vec![Op::Sleep { ns: 130 * MS }, Op::Run { ns: 20 * MS }]);
    let tasks = vec![fifo("a"), fifo("b"), linux(Policy::Fifo, 199, urgent)];
    let (g, _) = gantt(1, &catalogue("rt-fifo"), &workload(tasks), 0);
    assert_eq!(g.cpu(0), "urgent 0-0, a 0-130, urgent 130-150, a 150-170, b 170-320");
    // A yield goes to the tail of the level.
    let polite = task("a", vec![Op::Run { ns: MS }, Op::Yield, Op::Run { ns: MS }]);
    let tasks = vec![
        linux(Policy::Fifo, 120, polite),
        linux(Policy::Fifo, 120, task("b", vec![Op::Run { ns: 2 * MS }])),
    ];
    let (g, _) = gantt(1, &catalogue("rt-fifo"), &workload(tasks), 0);
    assert_eq!(g.cpu(0), "a 0-1, b 1-3, a 3-4");
}

/// A task that wakes with its budget there is served at once; the one below it meets its deadlines as if
/// the server were a periodic task (rate monotonic: 2/10 and 3/5 are within the bound).
#[test]
fn a_sporadic_server_looks_like_a_periodic_task() {
    let bursts = Op::Release {
        offset_ns: 3 * MS,
        period_ns: 7 * MS,
        deadline_ns: 10 * MS,
        jitter_ns: 9 * MS,
        extra_ns: 0,
    };
    let timing = weir_sim::Timing { period_ns: 10 * MS, deadline_ns: 10 * MS, wcet_ns: 2 * MS };
    let greedy = TaskSpec {
        priority: 1,
        timing: Some(timing),
        ..task("server", repeat(None, vec![bursts, Op::Run { ns: 5 * MS }]))
    };
    let below = TaskSpec { priority: 2, ..real_time("below", 3 * MS, 3 * MS, 5 * MS, 5 * MS) };
    let (g, _) = gantt(1, SPORADIC, &workload(vec![greedy, below]), 2000 * MS);
    assert!(g.missed.iter().all(|m| m.0 == "server"), "{:?}", g.missed);
    assert!(most_in(&g, "server", 10 * MS) <= 4 * MS);
    assert!(g.ran("server") >= 390 * MS, "{}", g.ran("server"));
}

/// A task that does as it likes.
fn wild() -> impl Strategy<Value = Vec<Op>> {
    let step = prop_oneof![
        (MS / 5..8 * MS).prop_map(|ns| Op::Run { ns }),
        (MS / 5..8 * MS).prop_map(|ns| Op::Sleep { ns }),
        Just(Op::Yield),
    ];
    (MS / 5..5 * MS, prop::collection::vec(step, 1..6)).prop_map(|(ns, mut steps)| {
        steps.push(Op::Run { ns });
        repeat(None, steps)
    })
}

/// Budget and period of its server, and what it does.
fn served() -> impl Strategy<Value = (u64, u64, Vec<Op>)> {
    (20..200u64, 5..60u64, wild()).prop_map(|(period, share, program)| {
        let period = period * MS / 10;
        (period * share / 100, period, program)
    })
}

fn wild_tasks(all: &[(u64, u64, Vec<Op>)], limit: u64) -> Workload {
    let mut w = workload(Vec::new());
    let mut load = 0;
    for (i, (budget, period, program)) in all.iter().enumerate() {
        load += budget * 1000 / period + 1;
        if load > limit {
            break;
        }
        let timing = weir_sim::Timing { period_ns: *period, deadline_ns: *period, wcet_ns: *budget };
        // One release declares budget and period; all that follows is one endless job.
        let mut ops = vec![Op::Release {
            offset_ns: 0,
            period_ns: *period,
            deadline_ns: *period,
            jitter_ns: 0,
            extra_ns: 0,
        }];
        ops.extend(program.iter().cloned());
        w.tasks.push(TaskSpec { timing: Some(timing), priority: i as i32, ..task(&format!("w{i}"), ops) });
    }
    w
}

proptest! {
    #![proptest_config(config(200))]

    /// In n periods a sporadic server gets no more than n + 1 budgets. A hard server that sleeps and wakes
    /// begins a new period only when it has used no more than its rate since the last one began: up to
    /// there that is less than a budget before the interval and n budgets in it, and then a whole one can
    /// follow: n + 2. Rates are rounded to 2^-19.
    #[test]
    fn servers_are_bounded(all in prop::collection::vec(served(), 1..4), cpus in 1..3u32) {
        let w = wild_tasks(&all, u64::MAX);
        for (topology, more) in [(HARD, 2), (SPORADIC, 1)] {
            let (g, _) = gantt(cpus, topology, &w, 300 * MS);
            for (i, (budget, period, _)) in all.iter().enumerate() {
                for n in [1, 2, 5] {
                    let most = most_in(&g, &format!("w{i}"), n * period);
                    prop_assert!(most <= (n + more) * budget + n * period / 100_000, "{topology}: w{i} {most} in {n} periods of {period}, budget {budget}");
                }
            }
        }
    }

    /// Whatever served tasks do, periodic tasks that keep to their declared times meet all deadlines under EDF if
    /// all budgets together fit.
    #[test]
    fn nobody_disturbs_the_others(
        all in prop::collection::vec(served(), 1..5),
        good in (10..100u64, 5..40u64),
        hard in any::<bool>(),
    ) {
        let (period, wcet) = (good.0 * MS / 10, good.0 * MS / 10 * good.1 / 100);
        let mut w = wild_tasks(&all, 990 - good.1 * 10);
        w.tasks.push(real_time("good", wcet, wcet, period, period));
        let (g, _) = gantt(1, if hard { HARD } else { SOFT }, &w, 300 * MS);
        let missed: Vec<_> = g.missed.iter().filter(|m| m.0 == "good").collect();
        prop_assert!(missed.is_empty(), "{:?}", missed);
    }
}
