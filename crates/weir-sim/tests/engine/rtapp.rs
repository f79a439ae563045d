// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Steps as rt-app defines them.

use weir_sim::{Op, Workload};

use crate::common::*;

const FIFO: &str = "entry -> head_queue -> cpus;";

fn starts(g: &Gantt, name: &str) -> Vec<u64> {
    g.bars.iter().filter(|b| b.0 == name).map(|b| b.2 / MS).collect()
}

#[test]
fn timers_count_from_the_start_of_the_task() {
    let timer = Op::Timer { timer: 0, period_ns: 100 * MS, relative: true, shared: false };
    let w = workload(vec![task("t", repeat(Some(4), vec![Op::Run { ns: 10 * MS }, timer]))]);
    let (g, out) = gantt(1, FIFO, &w, 0);
    assert_eq!(starts(&g, "t")[..4], [0, 100, 200, 300]);
    assert_eq!(out.end_ns, 400 * MS);
    // A job lasts from a wake-up to the next timer.
    assert!(g.done[..4].iter().all(|d| d.2 == 10 * MS), "{:?}", g.done);
}

#[test]
fn an_absolute_timer_catches_up_and_a_relative_one_does_not() {
    // The second run takes 250 of its 100.
    let program = |relative| {
        let timer = Op::Timer { timer: 0, period_ns: 100 * MS, relative, shared: false };
        let mut ops = vec![Op::Run { ns: 10 * MS }, timer.clone(), Op::Run { ns: 250 * MS }, timer.clone()];
        ops.extend(repeat(Some(3), vec![Op::Run { ns: 10 * MS }, timer]));
        ops
    };
    let ends = |relative| {
        let (g, _) = gantt(1, FIFO, &workload(vec![task("t", program(relative))]), 0);
        g.bars.iter().map(|b| (b.2 / MS, b.3 / MS)).collect::<Vec<_>>()
    };
    // Absolute: expiries at 100, 200 (missed), 300 (missed at 360), 400, 500.
    assert_eq!(ends(false), [(0, 10), (100, 370), (400, 410), (500, 500)]);
    // Relative: the overrun at 350 makes 350 the new reference.
    assert_eq!(ends(true), [(0, 10), (100, 360), (450, 460), (550, 560), (650, 650)]);
}

#[test]
fn shared_timers_have_one_expiry_for_all() {
    let timer = Op::Timer { timer: 0, period_ns: 50 * MS, relative: false, shared: true };
    let w = Workload {
        timers: vec!["tick".into()],
        ..workload(vec![
            task("a", repeat(Some(2), vec![Op::Run { ns: MS }, timer.clone()])),
            task("b", repeat(Some(2), vec![Op::Run { ns: MS }, timer])),
        ])
    };
    let (g, out) = gantt(2, FIFO, &w, 0);
    // Each use moves the expiry on: a waits for 50, b for 100, a for 150, b for 200.
    assert_eq!(starts(&g, "a"), [0, 50, 150]);
    assert_eq!(starts(&g, "b"), [0, 100, 200]);
    assert_eq!(out.end_ns, 200 * MS);
}

#[test]
fn a_resume_wakes_the_suspended_and_is_lost_otherwise() {
    let sleeper = repeat(Some(2), vec![Op::Suspend { event: 0 }, Op::Run { ns: 5 * MS }]);
    let waker = vec![
        Op::Resume { event: 0 },
        Op::Sleep { ns: 10 * MS },
        Op::Resume { event: 0 },
        Op::Sleep { ns: 2 * MS },
        Op::Resume { event: 0 },
        Op::Sleep { ns: 20 * MS },
        Op::Resume { event: 0 },
    ];
    let w = Workload {
        events: vec!["e".into()],
        ..workload(vec![task("waker", waker), task("s", sleeper.clone()), task("s2", sleeper)])
    };
    let (g, out) = gantt(3, FIFO, &w, 0);
    // The first resume comes before anyone sleeps, the third while both run.
    assert_eq!(starts(&g, "s"), [0, 10, 32]);
    assert_eq!(starts(&g, "s2"), [0, 10, 32]);
    assert_eq!(out.end_ns, 37 * MS);
    let responses: Vec<u64> = g.done.iter().filter(|d| d.0 == "s").map(|d| d.2 / MS).collect();
    assert_eq!(responses, [0, 5, 5]);
}

#[test]
fn sync_signals_and_waits() {
    let program = |n| {
        repeat(
            Some(n),
            vec![
                Op::Lock { mutex: 0 },
                Op::Run { ns: MS },
                Op::Sync { condition: 0, mutex: 0 },
                Op::Unlock { mutex: 0 },
            ],
        )
    };
    let mut last = program(3);
    last.push(Op::Signal { condition: 0 });
    let w = Workload {
        mutexes: vec!["m".into()],
        conditions: vec!["c".into()],
        ..workload(vec![task("a", last), task("b", program(2))])
    };
    let (g, out) = gantt(1, FIFO, &w, 0);
    assert_eq!(g.cpu(0).matches("a ").count(), 3, "{}", g.cpu(0));
    assert!(out.end_ns >= 4 * MS);
}

#[test]
fn runtime_ignores_the_speed_of_the_cpu_and_run_does_not() {
    let mut machine = weir_sim::Machine::smp(2);
    machine.shape.cpus[1].capacity = 512;
    let on = |name: &str, op: Op| {
        let mut t = task(name, vec![op]);
        t.cpus = Some([1].into_iter().collect());
        t
    };
    let topology = "annotate affinity; entry -> load_balancer -> each cpu { head_queue -> cpu };";
    let end = |op| {
        let mut g = Gantt::default();
        let w = workload(vec![on("t", op)]);
        run_on(&machine, topology, &w, &weir_sim::Costs::zero(), Default::default(), &mut g).unwrap().end_ns
    };
    assert_eq!(end(Op::Run { ns: 10 * MS }), 20 * MS);
    assert_eq!(end(Op::Runtime { ns: 10 * MS }), 10 * MS);
    let costs = weir_sim::Costs::zero();
    assert_eq!(end(Op::Io { bytes: 1 << 20 }), costs.io(1 << 20));
    assert_eq!(end(Op::Memory { bytes: 1 << 20 }), costs.memory(1 << 20));
}
