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

/// Under all classes, too, the first of a level runs until it blocks, beside fair tasks that wake and while the fair server serves them.
#[test]
fn the_fair_class_does_not_reorder_real_time_tasks() {
    let fifo = |name: &str| linux(Policy::Fifo, 130, hog(name));
    let nap = task("nap", repeat(None, vec![Op::Run { ns: MS / 10 }, Op::Sleep { ns: 3 * MS }]));
    for topology in ["classes", "push-pull"] {
        let tasks = vec![fifo("first"), fifo("second"), hog("fair"), nap.clone()];
        let (g, _) = gantt(1, &catalogue(topology), &workload(tasks), 4000 * MS);
        assert_eq!((g.ran("first"), g.ran("second")), (3800 * MS, 0), "{topology}");
    }
}

/// Linux's admission goes by periods: together 90 % of a CPU, though 160 % until the deadlines.
#[test]
fn admission_goes_by_periods() {
    let policy = Policy::Deadline { runtime_ns: 3 * MS, deadline_ns: 5 * MS, period_ns: 10 * MS };
    let one = |name: &str| linux(policy, 300, real_time(name, 3 * MS, 3 * MS, 10 * MS, 5 * MS));
    let tasks = ["a", "b", "c", "d"].map(one);
    let (g, _) = gantt(1, &catalogue("classes"), &workload(tasks.to_vec()), 100 * MS);
    assert_eq!(["a", "b", "c", "d"].map(|n| g.ran(n)), [30 * MS, 30 * MS, 30 * MS, 10 * MS]);
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

/// A task that holds a mutex runs in the class of the most urgent task that waits for it, and leaves that class with the mutex.
const INHERITED: &str = r#"
mutexes = { m = "PROTOCOL" }
[[task]]
name = "holder"
program = ["run 1ms; lock m; run 6ms; unlock m; run 4ms"]
[[task]]
name = "middle"
policy = "fifo"
priority = 30
start = "3ms"
program = ["run 20ms"]
[[task]]
name = "waiter"
WAITER
start = "4ms"
program = ["run 1ms; lock m; run 1ms; unlock m"]
"#;

fn inherited(topology: &str, protocol: &str, waiter: &str) -> String {
    let text = INHERITED.replace("PROTOCOL", protocol).replace("WAITER", waiter);
    let (g, _) = gantt(1, &catalogue(topology), &toml(&text), 0);
    g.cpu(0)
}

#[test]
fn a_holder_runs_in_the_class_of_the_task_that_waits() {
    let fifo = "policy = \"fifo\"\npriority = 50";
    let with = "holder 0-3, middle 3-4, waiter 4-5, holder 5-9, waiter 9-10, middle 10-29, holder 29-33";
    assert_eq!(inherited("classes", "inherit", fifo), with);
    let without = "holder 0-3, middle 3-4, waiter 4-5, middle 5-24, holder 24-28, waiter 28-29, holder 29-33";
    assert_eq!(inherited("classes", "none", fifo), without);
    // A deadline task's waiting puts the holder above all of FIFO.
    let deadline = "policy = \"deadline\"\nperiod = \"40ms\"\nwcet = \"3ms\"\njobs = 1";
    assert_eq!(inherited("classes", "inherit", deadline), with);
    assert_eq!(inherited("classes", "none", deadline), without);
}

/// The fair server serves whatever stands behind the real-time classes: Linux has one for sched_ext, too.
#[test]
fn any_order_behind_real_time_gets_its_part() {
    for order in [
        "round_robin(slice = 3ms)",
        "stride(quantum = 3ms)",
        "bvt",
        "cfs",
        "eevdf",
        "lottery",
        "fifo",
        "fcfs",
    ] {
        let topology = format!(
            "annotate affinity, executed, lamport, latency, policy, priority, weight, fair;
            entry -> load_balancer -> each cpu {{ {order} -> rt -> fair_server -> cpu }};"
        );
        let mut tasks = vec![linux(Policy::Fifo, 150, hog("fifo"))];
        tasks.extend(["a", "b"].map(hog));
        let (g, out) = gantt(1, &topology, &workload(tasks), 10_000 * MS);
        let served = g.ran("a") + g.ran("b");
        assert_eq!((served, g.ran("fifo"), out.idle_ns), (500 * MS, 9500 * MS, 0), "{order}");
        for second in 1..10 {
            let from = second * 1000 * MS;
            let part = g.ran_in("a", from, from + 1000 * MS) + g.ran_in("b", from, from + 1000 * MS);
            assert_eq!(part, 50 * MS, "{order} in second {second}");
        }
    }
}

/// Longest time from waking to running of a task that runs for 1 ms and sleeps for 99, on the CPU of a FIFO task that never blocks.
fn longest_waits(rules: u32) -> Vec<u64> {
    let sleeper = task("sleeper", repeat(None, vec![Op::Run { ns: MS }, Op::Sleep { ns: 99 * MS }]));
    let tasks = vec![linux(Policy::Fifo, 150, hog("fifo")), sleeper];
    let topology = catalogue("classes").replace("fair_server", &format!("fair_server(rules = {rules})"));
    let (g, _) = gantt(1, &topology, &workload(tasks), 5000 * MS);
    let bars: Vec<_> = g.bars.iter().filter(|b| b.0 == "sleeper" && b.3 > b.2).collect();
    let mut waits = vec![bars[0].2 / MS];
    waits.extend(bars.windows(2).map(|w| (w[1].2 - w[0].3) / MS - 99));
    waits
}

/// After the first wait for the rest of the budget to be due, Linux 6.12 serves a sleeper at once, as the server is known to be needed;
/// 7.x begins anew when the deadline has passed meanwhile.
#[test]
fn a_sleeper_is_served_by_the_rules_of_the_version() {
    let waits = longest_waits(6);
    assert_eq!(waits[0], 950);
    assert!(waits.len() > 30 && waits[1..].iter().all(|w| *w == 0), "{waits:?}");
    assert_eq!(longest_waits(7)[..4], [950; 4]);
}
