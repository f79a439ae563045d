// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Runs that cannot go on, or should not begin: their diagnostics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weir_sim::{Costs, Error, Machine, Op, RunConfig, Workload};

use crate::common::*;

const FIFO: &str = "entry -> head_queue -> cpus;";

fn fails(n: u32, w: &Workload) -> Error {
    run_on(&Machine::smp(n), FIFO, w, &Costs::zero(), RunConfig::default(), &mut ()).unwrap_err()
}

#[test]
fn a_deadlock_is_explained() {
    let program = |first: u32, second: u32| {
        vec![Op::Lock { mutex: first }, Op::Run { ns: MS }, Op::Lock { mutex: second }, Op::Run { ns: MS }]
    };
    let w = Workload {
        mutexes: vec!["left".into(), "right".into()],
        ..workload(vec![task("a", program(0, 1)), task("b", program(1, 0))])
    };
    let (_, out) = gantt(2, FIFO, &w, 0);
    assert_eq!((out.end_ns, out.alive), (MS, 2));
    assert_eq!(
        out.warnings,
        [
            "deadlock at 1000000 ns: `a` waits for `right`, which `b` holds; `b` waits for `left`, which `a` holds"
        ]
    );
}

#[test]
fn each_kind_of_endless_wait_is_named() {
    let w = Workload {
        mutexes: vec!["m".into()],
        conditions: vec!["c".into()],
        events: vec!["e".into()],
        barriers: vec![("bar".into(), 3)],
        channels: vec![("pipe".into(), 10)],
        flags: vec!["go".into()],
        ..workload(vec![
            task("t1", vec![Op::Wait { condition: 0, mutex: 0 }]),
            task("t2", vec![Op::Suspend { event: 0 }]),
            task("t3", vec![Op::Barrier { barrier: 0 }]),
            task("t4", vec![Op::Write { channel: 0, bytes: 11 }]),
            task("t5", vec![Op::SpinUntil { flag: 0, value: 2, per_iteration: false }]),
            task("t6", vec![Op::Lock { mutex: 0 }, Op::Lock { mutex: 0 }]),
        ])
    };
    let (_, out) = gantt(2, FIFO, &w, 0);
    let text = &out.warnings[0];
    for part in [
        "`t1` waits for a signal of `c`",
        "`t2` is suspended until someone resumes `e`",
        "`t3` waits at `bar`, where 1 of 3 have arrived",
        "`t4` waits for room in `pipe`",
        "`t5` spins until `go` is 2 (it is 0)",
        "`t6` waits for `m`, which it holds itself",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn tasks_that_no_cpu_takes_are_named() {
    let mut machine = Machine::smp(2);
    machine.shape.cpus[1].online = false;
    let mut t = task("bound", vec![Op::Run { ns: MS }]);
    t.cpus = Some([1].into_iter().collect());
    let topology = "annotate affinity; entry -> load_balancer -> each cpu { head_queue -> cpu };";
    let out = run_on(&machine, topology, &workload(vec![t]), &Costs::zero(), RunConfig::default(), &mut ())
        .unwrap();
    assert_eq!(
        out.warnings,
        [
            "no CPU takes the tasks that are ready at 0 ns: `bound` is ready, but the topology offers it to no CPU (it may run on CPUs 1 only)"
        ]
    );
}

#[test]
fn an_endless_workload_needs_a_duration() {
    let e = fails(1, &workload(vec![periodic("p", MS, 2 * MS, 0)]));
    assert_eq!(e.message, "workload `test` never ends: task `p` loops for ever");
    assert!(e.help.unwrap().contains("--duration"));
    let w = Workload { duration_ns: Some(10 * MS), ..workload(vec![periodic("p", MS, 2 * MS, 0)]) };
    let (_, out) = gantt(1, FIFO, &w, 0);
    assert_eq!((out.end_ns, out.jobs_completed), (10 * MS, 5));
}

#[test]
fn a_loop_without_time_is_found_out() {
    let w = Workload {
        duration_ns: Some(MS),
        flags: vec!["f".into()],
        ..workload(vec![task("mad", repeat(None, vec![Op::Raise { flag: 0, by: 1 }]))])
    };
    let e = fails(1, &w);
    assert!(e.message.starts_with("task `mad` loops without time passing"), "{}", e.message);
}

#[test]
fn machine_and_topology_must_fit() {
    let plan = plan(FIFO, &Machine::smp(4).shape);
    let w = workload(vec![task("t", vec![])]);
    let e = weir_sim::run(&Machine::smp(8), &plan, &w, &Costs::zero(), &RunConfig::default(), &mut ())
        .unwrap_err();
    assert_eq!(e.message, "topology `test` was compiled for 4 CPUs, machine `smp-8` has 8");
    let mut t = task("t", vec![]);
    t.isa = Some("gpu".into());
    assert!(fails(1, &workload(vec![t])).message.contains("needs the instruction set `gpu`"));
}

#[test]
fn unlocking_what_one_does_not_hold_is_warned_about() {
    let w =
        Workload { mutexes: vec!["m".into()], ..workload(vec![task("t", vec![Op::Unlock { mutex: 0 }])]) };
    let (_, out) = gantt(1, FIFO, &w, 0);
    assert_eq!(out.warnings, ["task `t` unlocks `m`, which it does not hold"]);
}

#[test]
fn a_run_can_be_stopped() {
    let stop = AtomicBool::new(false);
    let calls = std::cell::Cell::new(0);
    let progress = |t: u64, _: u64| {
        calls.set(calls.get() + 1);
        if t > 100 * MS {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let cfg = RunConfig {
        duration_ns: Some(u64::MAX / 2),
        stop: Some(&stop),
        progress: Some(&progress),
        ..RunConfig::default()
    };
    let w = workload(vec![periodic("p", 10 * US, 20 * US, 0)]);
    let out = run_on(&Machine::smp(1), FIFO, &w, &Costs::zero(), cfg, &mut ()).unwrap();
    assert!(out.interrupted && out.end_ns > 100 * MS && out.end_ns < 1_000 * MS);
    assert!(calls.get() > 1);
}

#[test]
fn an_empty_workload_ends_at_once() {
    let (_, out) = gantt(1, FIFO, &workload(vec![]), 0);
    assert_eq!((out.end_ns, out.tasks), (0, 0));
}

/// LLREF computed when a share would be used up from its decision on. Where the way to the CPU took longer than the share, the
/// task was never there by then: the timer came at once again, and its handling kept the CPU from ever taking the task.
#[test]
fn shares_smaller_than_a_switch_do_not_keep_the_timer_busy() {
    let text = r#"
        duration = "1s"
        task = [
            { name = "a", period = "10ms", run = "1ms" },
            { name = "b", period = "7001us", run = "1ms" },
            { name = "c", arrivals = "poisson 5ms", run = "1ms", deadline = "7ms" },
        ]
    "#;
    for lazy in [false, true] {
        let topology = format!(
            "annotate affinity, job, deadline; entry -> llref(lazy = {lazy}) -> each cpu {{ -> cpu }};"
        );
        let out = run_on(
            &Machine::smp(1),
            &topology,
            &toml(text),
            &Costs::default(),
            RunConfig::default(),
            &mut (),
        )
        .expect("runs");
        assert_eq!(out.end_ns, 1000 * MS, "{:?}", out.warnings);
        assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    }
}

/// A server of a nanosecond decides once a nanosecond. The run ended when the user lost patience.
#[test]
fn decisions_without_progress_end_the_run() {
    let w = workload(vec![task("busy", repeat(None, vec![Op::Run { ns: MS }]))]);
    let text = "annotate affinity, job, cbs(budget = 1ns, period = 1ms); entry -> edf -> cpus;";
    let cfg = RunConfig { duration_ns: Some(1000 * MS), ..RunConfig::default() };
    let e = run_on(&Machine::smp(1), text, &w, &Costs::zero(), cfg, &mut ()).unwrap_err();
    assert_eq!(e.kind, weir_sim::ErrorKind::Policy);
    assert!(
        e.message.contains("`cbs`") && e.message.contains("`busy`") && e.message.contains("CPU 0"),
        "{e}"
    );
    assert!(e.help.is_some());
}

/// Without a throttle a hard server decided once a nanosecond as soon as its budget was used up.
#[test]
fn a_hard_server_without_throttle_runs_on() {
    let w = workload(vec![real_time("long", MS, 5 * MS, 20 * MS, 20 * MS)]);
    let text = "annotate affinity, job, cbs(hard = true); entry -> edf -> cpus;";
    let (g, out) = gantt(1, text, &w, 40 * MS);
    assert_eq!(g.ran("long"), 10 * MS);
    assert!(out.decisions < 20, "{} decisions", out.decisions);
}

/// Two tasks that yield to each other for ever at no cost went unnoticed for 20 million events, which took ten seconds.
#[test]
fn a_standing_clock_is_noticed_after_a_million_events() {
    let seen = AtomicU64::new(0);
    let progress = |_: u64, events: u64| seen.store(events, Ordering::Relaxed);
    let cfg = RunConfig { duration_ns: Some(MS), progress: Some(&progress), ..RunConfig::default() };
    let w =
        workload(vec![task("a", repeat(None, vec![Op::Yield])), task("b", repeat(None, vec![Op::Yield]))]);
    let plan = plan(FIFO, &Machine::smp(1).shape);
    let e = weir_sim::run(&Machine::smp(1), &plan, &w, &Costs::zero(), &cfg, &mut ()).unwrap_err();
    assert!(e.to_string().contains("simulated time makes no progress at 0 ns"), "{e}");
    let seen = seen.into_inner();
    assert!((900_000..1_100_000).contains(&seen), "{seen} events");
}

/// A job with a deadline of a nanosecond is late at once. Planners gave it a new window of its relative deadline each time
/// that one was over: an event for each nanosecond of its execution time.
#[test]
fn jobs_longer_than_their_deadlines_are_planned_as_a_whole() {
    let machine = Machine::smp(2);
    for policy in ["u-edf", "llref", "lre-tl", "dp-wrap", "run", "pd2"] {
        let plan = plan(&catalogue(policy), &machine.shape);
        for deadline in [1, 100, 10 * US, MS / 2] {
            let tasks = vec![
                real_time("late", MS, MS, 2 * MS, deadline),
                real_time("late too", 700 * US, 700 * US, 3 * MS, deadline),
                real_time("calm", MS, MS, 10 * MS, 10 * MS),
            ];
            let seen = AtomicU64::new(0);
            let progress = |_: u64, events: u64| seen.store(events, Ordering::Relaxed);
            let end = Some(100 * MS);
            let cfg = RunConfig { duration_ns: end, progress: Some(&progress), ..RunConfig::default() };
            let out = weir_sim::run(&machine, &plan, &workload(tasks), &Costs::zero(), &cfg, &mut ());
            let out = out.unwrap_or_else(|e| panic!("{policy}: {e}"));
            assert!(out.events < 20_000, "{policy}, deadline {deadline} ns: {} events", out.events);
            assert!(out.jobs_completed >= 40, "{policy}: {} jobs", out.jobs_completed);
            // Only what cannot be done in time is late: those with a short deadline.
            assert!(out.deadline_misses >= 50, "{policy}: {} misses", out.deadline_misses);
        }
    }
}

/// The same with an execution time of a nanosecond on paper and a millisecond in fact: the policy would decide each nanosecond.
#[test]
fn a_planner_that_decides_each_nanosecond_is_named() {
    let machine = Machine::smp(1);
    for policy in ["u-edf", "llref", "lre-tl", "dp-wrap", "run"] {
        let plan = plan(&catalogue(policy), &machine.shape);
        let w = workload(vec![real_time("late", 1, MS, 2 * MS, 1)]);
        let cfg = RunConfig { duration_ns: Some(100 * MS), ..RunConfig::default() };
        match weir_sim::run(&machine, &plan, &w, &Costs::zero(), &cfg, &mut ()) {
            Ok(out) => assert!(out.events < 20_000, "{policy}: {} events", out.events),
            Err(e) => {
                assert!(e.to_string().contains("has armed its timer 100000 times in a row"), "{policy}: {e}")
            }
        }
    }
}
