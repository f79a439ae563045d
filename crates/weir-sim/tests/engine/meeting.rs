// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tasks that wait for each other.

use weir_sim::{Op, Workload};

use crate::common::*;

const FIFO: &str = "entry -> head_queue -> cpus;";

#[test]
fn a_mutex_goes_from_hand_to_hand() {
    let program = |n: u64| {
        vec![Op::Run { ns: n * MS }, Op::Lock { mutex: 0 }, Op::Run { ns: 5 * MS }, Op::Unlock { mutex: 0 }]
    };
    let w = Workload {
        mutexes: vec!["m".into()],
        ..workload(vec![task("a", program(1)), task("b", program(2)), task("c", program(3))])
    };
    let (g, _) = gantt(3, FIFO, &w, 0);
    assert_eq!(g.exits, [("a".to_string(), 6 * MS), ("b".into(), 11 * MS), ("c".into(), 16 * MS)]);
}

#[test]
fn conditions_hand_over_through_the_mutex() {
    // The consumer holds the mutex again when it goes on, although the producer signals while holding it.
    let consumer = vec![
        Op::Lock { mutex: 0 },
        Op::Wait { condition: 0, mutex: 0 },
        Op::Marker { text: "woken".into(), number: 0 },
        Op::Run { ns: MS },
        Op::Unlock { mutex: 0 },
    ];
    let producer = vec![
        Op::Run { ns: 2 * MS },
        Op::Lock { mutex: 0 },
        Op::Signal { condition: 0 },
        Op::Run { ns: 3 * MS },
        Op::Unlock { mutex: 0 },
    ];
    let w = Workload {
        mutexes: vec!["m".into()],
        conditions: vec!["c".into()],
        ..workload(vec![task("consumer", consumer), task("producer", producer)])
    };
    let (g, _) = gantt(2, FIFO, &w, 0);
    assert_eq!(g.markers, [(5 * MS, "woken".to_string())]);
    assert_eq!(g.exits.last().unwrap(), &("consumer".to_string(), 6 * MS));
}

#[test]
fn barriers_hold_all_until_the_last() {
    let program = |n: u64| repeat(Some(10), vec![Op::Run { ns: n * MS }, Op::Barrier { barrier: 0 }]);
    let tasks = (1..=4).map(|n| task(&format!("t{n}"), program(n))).collect();
    let w = Workload { barriers: vec![("b".into(), 4)], ..workload(tasks) };
    let (_, out) = gantt(4, FIFO, &w, 0);
    assert_eq!(out.end_ns, 40 * MS);
    assert_eq!((out.busy_ns, out.idle_ns), (100 * MS, 60 * MS));
}

#[test]
fn messages_arrive_complete() {
    // hackbench in small: every sender writes to every receiver; nobody may be left waiting.
    let (senders, receivers, loops, bytes) = (5u32, 4u32, 20, 100);
    let mut tasks = Vec::new();
    for s in 0..senders {
        let writes = (0..receivers).map(|channel| Op::Write { channel, bytes }).collect();
        tasks.push(task(&format!("s{s}"), repeat(Some(loops), writes)));
    }
    for channel in 0..receivers {
        let read = vec![Op::Read { channel, bytes }, Op::Run { ns: US }];
        tasks.push(task(&format!("r{channel}"), repeat(Some(loops * senders as u64), read)));
    }
    let channels = (0..receivers).map(|r| (format!("c{r}"), 250)).collect();
    let (g, out) = gantt(2, FIFO, &Workload { channels, ..workload(tasks) }, 0);
    assert_eq!((out.alive, out.warnings.len()), (0, 0), "{:?}", out.warnings);
    assert_eq!(g.exits.len() as u32, senders + receivers);
    // Each message costs a microsecond of reading.
    assert_eq!(out.busy_ns, u64::from(senders * receivers) * loops * US);
}

#[test]
fn spinners_keep_their_cpu_until_the_flag_is_raised() {
    // A pipeline: stage k spins until stage k-1 is through, in each of ten rounds.
    let n = 4u32;
    let stage = |k: u32| {
        let before = (k + n - 1) % n;
        let spin = if k == 0 {
            Op::SpinUntil { flag: n, value: 1, per_iteration: true }
        } else {
            Op::SpinUntil { flag: before, value: 1, per_iteration: true }
        };
        let mut ops = vec![spin, Op::Run { ns: MS }, Op::Raise { flag: k, by: 1 }];
        if k == n - 1 {
            ops.push(Op::Raise { flag: n, by: 1 });
        }
        repeat(Some(10), ops)
    };
    let mut tasks: Vec<_> = (0..n).map(|k| task(&format!("s{k}"), stage(k))).collect();
    tasks.push(task("start", vec![Op::Raise { flag: n, by: 1 }]));
    let w = Workload { flags: (0..=n).map(|f| format!("f{f}")).collect(), ..workload(tasks) };
    // With a CPU each the stages follow each other; all that wait spin.
    let (_, out) = gantt(5, FIFO, &w, 0);
    assert_eq!(out.end_ns, 40 * MS);
    assert_eq!(out.busy_ns, (37 + 38 + 39 + 40) * MS);
    // On one CPU a spinner uses up its slice.
    let (_, alone) = gantt(1, "entry -> round_robin(slice = 2ms) -> cpus;", &w, 0);
    assert!(alone.end_ns > 60 * MS, "{}", alone.end_ns);
    assert_eq!(alone.alive, 0);
}

#[test]
fn forks_run_the_template() {
    let mut child = task("child", vec![Op::Run { ns: 2 * MS }]);
    child.start_ns = None;
    let parent = task("parent", repeat(Some(3), vec![Op::Fork { template: 1 }, Op::Run { ns: MS }]));
    let (g, out) = gantt(1, FIFO, &workload(vec![parent, child]), 0);
    assert_eq!(out.tasks, 4);
    assert_eq!(out.end_ns, 9 * MS);
    let names: Vec<&str> = g.exits.iter().map(|e| e.0.as_str()).collect();
    assert_eq!(names, ["parent", "child", "child-2", "child-3"]);
}

#[test]
fn yielding_lets_the_next_one_run() {
    let program = repeat(Some(3), vec![Op::Run { ns: MS }, Op::Yield]);
    let w = workload(vec![task("a", program.clone()), task("b", program)]);
    let (g, _) = gantt(1, FIFO, &w, 0);
    assert_eq!(g.cpu(0), "a 0-1, b 1-2, a 2-3, b 3-4, a 4-5, b 5-6, a 6-6, b 6-6");
}

#[test]
fn a_task_may_change_its_priority() {
    let w = workload(vec![
        task("a", vec![Op::Run { ns: 2 * MS }, Op::SetPriority { priority: -5 }, Op::Run { ns: 2 * MS }]),
        task("b", vec![Op::Run { ns: 3 * MS }]),
    ]);
    let (g, _) = gantt(1, "annotate priority; entry -> priority_order -> cpus;", &w, 0);
    assert_eq!(g.cpu(0), "a 0-2, b 2-5, a 5-7");
}
