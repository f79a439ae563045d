// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Jobs that are late: they go on, are thrown away, or make others be skipped.

use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, OnMiss, Op, RunConfig, TaskSpec};

use crate::common::*;

const EDF: &str = "annotate affinity, deadline; entry -> edf -> cpus;";

/// Jobs thrown away, beside what [`Gantt`] sees.
#[derive(Default)]
struct Dropped(Vec<(u64, u32, u32)>);

impl Observer for Dropped {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        if let Event::JobDropped { task, job } = *event {
            self.0.push((t / MS, task, job));
        }
    }
}

fn run(cpus: u32, tasks: Vec<TaskSpec>, end: u64) -> (Gantt, Vec<(u64, u32, u32)>) {
    let mut both = (Gantt::default(), Dropped::default());
    let cfg = RunConfig { duration_ns: Some(end * MS), ..RunConfig::default() };
    let out =
        run_on(&Machine::smp(cpus), EDF, &workload(tasks), &Costs::zero(), cfg, &mut both).expect("runs");
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    (both.0, both.1.0)
}

fn late(on_miss: OnMiss, task: TaskSpec) -> TaskSpec {
    TaskSpec { on_miss, ..task }
}

/// A task with a program of its own in each job.
fn jobs_of(name: &str, period: u64, deadline: u64, body: Vec<Op>) -> TaskSpec {
    let mut ops = vec![Op::Release {
        offset_ns: 0,
        period_ns: period,
        deadline_ns: deadline,
        jitter_ns: 0,
        extra_ns: 0,
    }];
    ops.extend(body);
    task(name, repeat(None, ops))
}

#[test]
fn late_jobs_go_on_unless_configured_otherwise() {
    let (g, dropped) = run(1, vec![periodic("a", 6 * MS, 4 * MS, 0)], 17);
    assert_eq!(g.cpu(0), "a 0-17");
    assert_eq!(
        g.missed.iter().map(|m| (m.1, m.2 / MS)).collect::<Vec<_>>(),
        [(0, 4), (1, 8), (2, 12), (3, 16)]
    );
    assert_eq!(g.done, [("a".into(), 0, 6 * MS), ("a".into(), 1, 8 * MS)]);
    assert!(dropped.is_empty());
}

#[test]
fn a_running_job_is_aborted_at_its_deadline() {
    let (g, dropped) = run(1, vec![late(OnMiss::Abort, periodic("a", 6 * MS, 4 * MS, 0))], 10);
    assert_eq!(dropped, [(4, 0, 0), (8, 0, 1)]);
    assert!(g.done.is_empty() && g.missed.len() == 2);
}

/// `b` misses its deadline while it waits for the CPU; `a` is not disturbed, and `b` goes on with its next job.
#[test]
fn a_waiting_job_is_aborted_without_the_running_one_noticing() {
    let a = jobs_of("a", 20 * MS, 4 * MS, vec![Op::Run { ns: 6 * MS }]);
    let b = late(OnMiss::Abort, jobs_of("b", 10 * MS, 5 * MS, vec![Op::Run { ns: 2 * MS }]));
    let (g, dropped) = run(1, vec![a, b], 19);
    assert_eq!(dropped, [(5, 1, 0)]);
    assert_eq!(g.cpu(0), "a 0-6, b 10-12");
    assert_eq!(g.preemptions, 0);
}

#[test]
fn a_blocked_job_is_aborted_and_its_wait_called_off() {
    let sleepy = vec![Op::Run { ns: MS }, Op::Sleep { ns: 5 * MS }, Op::Run { ns: MS }];
    let (g, dropped) = run(1, vec![late(OnMiss::Abort, jobs_of("a", 6 * MS, 4 * MS, sleepy))], 14);
    assert_eq!(dropped, [(4, 0, 0), (10, 0, 1)]);
    assert_eq!(g.cpu(0), "a 0-1, a 6-7, a 12-13");
}

/// An aborted job gives its mutex to the one that waits for it; one that waits for it leaves the queue.
#[test]
fn aborted_jobs_give_up_mutexes() {
    let hold = |ns| vec![Op::Lock { mutex: 0 }, Op::Run { ns }, Op::Unlock { mutex: 0 }];
    let owner = late(OnMiss::Abort, jobs_of("owner", 20 * MS, 5 * MS, hold(9 * MS)));
    let waiter = late(OnMiss::Abort, jobs_of("waiter", 20 * MS, 7 * MS, hold(9 * MS)));
    let third = jobs_of("third", 20 * MS, 20 * MS, hold(2 * MS));
    let mut w = workload(vec![owner, waiter, third]);
    w.mutexes.push("m".into());
    let mut both = (Gantt::default(), Dropped::default());
    let cfg = RunConfig { duration_ns: Some(15 * MS), ..RunConfig::default() };
    run_on(&Machine::smp(3), EDF, &w, &Costs::zero(), cfg, &mut both).expect("runs");
    assert_eq!(both.1.0, [(5, 0, 0), (7, 1, 0)]);
    assert_eq!(both.0.done, [("third".into(), 0, 9 * MS)]);
}

#[test]
fn a_finite_task_ends_with_its_aborted_job() {
    let release =
        Op::Release { offset_ns: 0, period_ns: 5 * MS, deadline_ns: 3 * MS, jitter_ns: 0, extra_ns: 0 };
    let ops = repeat(Some(2), vec![release, Op::Run { ns: 9 * MS }]);
    let (g, dropped) = run(1, vec![late(OnMiss::Abort, task("a", ops))], 40);
    assert_eq!(dropped, [(3, 0, 0), (8, 0, 1)]);
    assert_eq!(g.exits, [("a".into(), 8 * MS)]);
}

#[test]
fn releases_are_skipped_while_a_late_job_goes_on() {
    let a = late(OnMiss::Skip, jobs_of("a", 4 * MS, 4 * MS, vec![Op::Run { ns: 6 * MS }]));
    let (g, dropped) = run(1, vec![a], 21);
    assert_eq!(dropped, [(4, 0, 1), (12, 0, 3), (20, 0, 5)]);
    assert_eq!(g.done.iter().map(|d| (d.1, d.2 / MS)).collect::<Vec<_>>(), [(0, 6), (2, 6)]);
    assert_eq!(g.cpu(0), "a 0-6, a 8-14, a 16-21");
}

/// Overload on several CPUs with jobs that sleep and lock: the engine's invariants hold after every event,
/// and no job runs after its deadline.
#[test]
fn aborting_keeps_the_invariants() {
    let (mut thrown, mut completed) = (0, 0);
    for seed in 1..30u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        let tasks = (0..8)
            .map(|i| {
                let period = (3 + draw(12)) * MS;
                let mut body = vec![Op::Run { ns: draw(5 * MS) + 1 }];
                if draw(2) == 0 {
                    body.push(Op::Lock { mutex: 0 });
                    body.push(Op::Run { ns: draw(2 * MS) + 1 });
                    body.push(Op::Unlock { mutex: 0 });
                }
                if draw(2) == 0 {
                    body.push(Op::Sleep { ns: draw(3 * MS) + 1 });
                    body.push(Op::Run { ns: draw(2 * MS) + 1 });
                }
                let deadline = 1 + draw(2 * period);
                late(OnMiss::Abort, jobs_of(&format!("t{i}"), period, deadline, body))
            })
            .collect();
        let mut w = workload(tasks);
        w.mutexes.push("m".into());
        for costs in [Costs::zero(), Costs::default()] {
            let mut both = (Gantt::default(), Dropped::default());
            let cfg = RunConfig { duration_ns: Some(200 * MS), ..RunConfig::default() };
            let out = run_on(&Machine::smp(2), EDF, &w, &costs, cfg, &mut both).expect("runs");
            assert_eq!(out.deadline_misses as usize, both.1.0.len(), "every late job is thrown away");
            thrown += both.1.0.len() as u64;
            completed += out.jobs_completed;
        }
    }
    assert!(thrown > 1000 && completed > 1000, "{thrown} thrown away, {completed} completed");
}

/// A job that is released when its predecessor ends keeps its CPU. Another task was preempted for it, and the two
/// exchanged their CPUs.
#[test]
fn a_job_that_follows_at_once_keeps_its_cpu() {
    let once = |name: &str, ns: u64, priority: i32| TaskSpec { priority, ..task(name, vec![Op::Run { ns }]) };
    let fp = "annotate affinity, priority; entry -> priority_order -> cpus;";
    let tasks = vec![once("first", MS, 9), periodic("high", 2 * MS, 2 * MS, 5), once("low", 20 * MS, 1)];
    let (g, out) = gantt(2, fp, &workload(tasks), 10 * MS);
    let want = "high 0-2, high 2-4, high 4-6, high 6-8, high 8-10";
    let merged = |text: String| text.replace(", high", " high");
    assert_eq!(merged(g.cpu(1)), merged(want.into()), "{}", g.cpu(0));
    assert_eq!(g.cpu(0), "first 0-1, low 1-10");
    assert_eq!((out.preemptions, out.migrations), (0, 0));
}

/// Two tasks come while two CPUs are about to choose: each gets one, and nobody is preempted. A third that is more urgent
/// than what runs elsewhere still preempts.
#[test]
fn each_cpu_that_chooses_counts_for_one_task() {
    let fp = "annotate affinity, priority; entry -> priority_order -> cpus;";
    let tasks = vec![
        periodic("a", MS, 2 * MS, 9),
        periodic("b", MS, 2 * MS, 8),
        TaskSpec { priority: 1, ..task("low", vec![Op::Run { ns: 20 * MS }]) },
        periodic("c", MS, 2 * MS, 7),
    ];
    let (_, out) = gantt(3, fp, &workload(tasks.clone()), 10 * MS);
    assert_eq!(out.preemptions, 4, "c displaces `low` each time but the first, when that waits");
    let (_, out) = gantt(4, fp, &workload(tasks), 10 * MS);
    assert_eq!(out.preemptions, 0);
}

/// A CPU that went offline while it ran a task is not about to choose: an arriving task preempts elsewhere.
#[test]
fn a_cpu_that_left_is_not_waited_for() {
    let once = |name: &str, start: u64, priority: i32| TaskSpec {
        priority,
        start_ns: Some(start * MS),
        ..task(name, vec![Op::Run { ns: 10 * MS }])
    };
    let fp = "annotate affinity, priority; entry -> priority_order -> cpus;";
    let mut w = workload(vec![once("a", 0, 1), once("b", 0, 1), once("high", 4, 9)]);
    w.machine_events = vec![(2 * MS, weir_sim::MachineEvent::Offline(1))];
    let (g, _) = gantt(2, fp, &w, 20 * MS);
    assert_eq!(g.cpu(0), "a 0-4, high 4-14, b 14-20");
    assert_eq!(g.cpu(1), "b 0-2");
}

/// What the workload lists first is served first, also where it came into being later. A task that starts at that instant
/// was served before all others, and others by when they had started.
#[test]
fn simultaneous_releases_go_in_the_order_of_the_workload() {
    let from = |start: u64, t: TaskSpec| TaskSpec { start_ns: Some(start * MS), ..t };
    let tasks = vec![
        from(4, periodic("a", MS, 4 * MS, 0)),
        periodic("b", MS, 4 * MS, 0),
        from(8, periodic("c", MS, 4 * MS, 0)),
        from(2, periodic("d", MS, 2 * MS, 0)),
    ];
    let fp = "annotate affinity, priority; entry -> priority_order -> cpus;";
    let (g, _) = gantt(1, fp, &workload(tasks), 12 * MS);
    assert_eq!(g.cpu(0), "b 0-1, d 2-3, a 4-5, b 5-6, d 6-8, a 8-9, b 9-10, c 10-11, d 11-12");
}

/// 100,000 jobs that wait: the cost of each grew with their number.
#[test]
fn a_long_backlog_costs_no_more_a_job() {
    for deadline in [u64::MAX, 1_000 * MS] {
        let release =
            Op::Release { offset_ns: 0, period_ns: US, deadline_ns: deadline, jitter_ns: 0, extra_ns: 0 };
        let tasks = vec![task("a", repeat(None, vec![release, Op::Run { ns: 2 * US }]))];
        let cfg = RunConfig { duration_ns: Some(150 * MS), ..RunConfig::default() };
        let plan = plan(EDF, &Machine::smp(1).shape);
        let began = std::time::Instant::now();
        let out = weir_sim::run(&Machine::smp(1), &plan, &workload(tasks), &Costs::zero(), &cfg, &mut ())
            .expect("runs");
        assert_eq!((out.jobs, out.jobs_completed), (150_000, 75_000));
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }
}
