// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! CPUs that share no memory (docs/decisions/0160): tasks and messages cross by value. With the feature `strict` a call can access only
//! the memory of its own coherence domain, so that each of these histories would end with a fault otherwise.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_core::{Config, CpuSet, Msg, Plan, Sched, TaskId, Topic};
use weir_tests::history::{Op, World, config, op};
use weir_tests::lab::compile;
use weir_tests::{Lab, machine};

const MACHINES: [&str; 3] = ["smp-4 domain=2", "smp-6 domain=2", "smp-3 domain=1"];

/// What crosses: by load, by a property that the core knows, by one that it does not, and to several CPUs at once.
const TOPOLOGIES: [(&str, &str); 5] = [
    (
        "by load",
        "annotate affinity, priority, deadline, isa, tenant, counters, executed;
         each cpu { entry -> balancer :: load_balancer }
             ~> all each cpu { inbox :: task_mux -> round_robin -> cpu };",
    ),
    (
        "by urgency",
        "annotate affinity, priority, deadline, isa, tenant, counters, executed;
         each cpu { entry -> balancer :: load_balancer }
             ~> all each cpu { inbox :: task_mux -> edf -> cpu };",
    ),
    (
        "first allowed",
        "annotate affinity, priority, deadline, isa, tenant, counters, executed;
         each cpu { entry -> balancer :: task_distributor }
             ~> all each cpu { inbox :: task_mux -> priority_order -> cpu };",
    ),
    (
        "a queue more",
        "annotate affinity, priority, deadline, isa, tenant, counters, executed;
         each cpu { entry -> fifo -> balancer :: load_balancer }
             ~> all each cpu { inbox :: task_mux -> fifo -> priority_order -> cpu };",
    ),
    (
        "counted",
        "annotate affinity, priority, deadline, isa, tenant, counters, executed;
         each cpu { entry -> watermark(high = 2) -> balancer :: load_balancer }
             ~> all each cpu { inbox :: task_mux -> watermark -> cpu };",
    ),
];

fn plans(shape: &weir_core::MachineShape) -> Vec<Plan> {
    TOPOLOGIES
        .iter()
        .map(|(name, text)| compile(name, text, shape).unwrap_or_else(|e| panic!("{name}: {e}")))
        .collect()
}

fn lab(plan: usize, of: &str) -> Lab {
    let shape = machine::parse(of).expect("a machine");
    Lab::new(plans(&shape).swap_remove(plan), shape).expect("it fits")
}

/// Random histories with changes of topology at any time, also while tasks are on their way: nothing is lost or doubled, what is known
/// of a task moves with it, and each part of the graph is what it would be if it were built anew.
#[test]
fn tasks_and_messages_cross_by_value() {
    for of in MACHINES {
        let shape = machine::parse(of).expect("a machine");
        let plans = plans(&shape);
        for first in 0..plans.len() {
            let run = |history: Vec<Op>| {
                let lab = Lab::new(plans[first].clone(), shape.clone())?;
                let mut world = World::new(lab, plans.clone());
                for (i, op) in history.iter().enumerate() {
                    world
                        .step(op)
                        .map_err(|e| format!("{of}, {}: step {i}, {op:?}: {e}", TOPOLOGIES[first].0))?;
                }
                world.drain().map_err(|e| format!("{of}, {}: at the end: {e}", TOPOLOGIES[first].0))
            };
            let mut runner = TestRunner::new(config(20));
            runner
                .run(&prop::collection::vec(op(3), 1..90), |h| run(h).map_err(TestCaseError::fail))
                .unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// CPU 0 is of the first domain, CPU 2 of the second.
fn bound(lab: &mut Lab, t: TaskId, cpu: u32) {
    lab.affinity(t, [cpu].into_iter().collect::<CpuSet>()).expect("published");
}

/// A component with `on_idle` before a crossing was called in the domain behind it, where it does not exist, and an instance between two
/// postponed pipes was always the first domain's, also where the second one's tasks entered: both ended with SIGSEGV, after the checker
/// had said "ok". So each component stands in each place once.
#[test]
fn every_component_stands_before_between_and_behind_crossings() {
    const PLACES: [&str; 4] = [
        "each cpu { entry -> X } ~> all each cpu { inbox :: task_mux -> fifo -> cpu };",
        "each cpu { entry ~> X ~> fifo -> cpu };",
        "each cpu { entry -> load_balancer } ~> all each cpu { inbox :: task_mux ~> X ~> task_mux -> cpu };",
        "each cpu { entry -> load_balancer } ~> all each cpu { inbox :: task_mux -> X -> cpu };",
    ];
    let mut tried = std::collections::BTreeSet::new();
    let components = &weir_core::catalog().components;
    // Two CPUs in each of two domains.
    let of = "smp-4 domain=2";
    for component in components {
        let shape = machine::parse(of).expect("a machine");
        // Who answers what the components ask.
        let asked: Vec<&String> = component.asks.iter().chain(&component.needs).collect();
        let mut all = "annotate affinity".to_string();
        for c in components.iter().filter(|c| c.ins.1 == 0 && c.outs.1 == 0 && c.name != "affinity") {
            if c.answers.iter().any(|t| asked.contains(&t)) && c.needs.is_empty() {
                all = format!("{all}, {}", c.name);
            }
        }
        for place in PLACES {
            let text = format!("{all}; {}", place.replace('X', &component.name));
            let Ok(plan) = compile(&component.name, &text, &shape) else { continue };
            tried.insert((component.name.clone(), place));
            let run = |history: Vec<Op>| {
                let mut world = World::new(Lab::new(plan.clone(), shape.clone())?, vec![plan.clone()]);
                for (i, op) in history.iter().enumerate() {
                    world.step(op).map_err(|e| format!("{of}, {text}: step {i}, {op:?}: {e}"))?;
                }
                world.drain().map_err(|e| format!("{of}, {text}: at the end: {e}"))
            };
            TestRunner::new(config(2))
                .run(&prop::collection::vec(op(1), 20..60), |h| run(h).map_err(TestCaseError::fail))
                .unwrap_or_else(|e| panic!("{e}"));
        }
    }
    // One that fetches, at least.
    assert!(PLACES.iter().all(|p| tried.contains(&("work_stealing".to_string(), *p))), "{tried:?}");
    assert!(tried.len() > 60, "{}: {tried:?}", tried.len());
}

#[test]
fn a_task_keeps_its_number_its_cookie_and_what_is_known_of_it() {
    let mut lab = lab(0, "smp-4 domain=2");
    let t = lab.sched.task_new(0, 4711).expect("room");
    lab.notify_value(Topic::Priority, t, 7).expect("published");
    lab.notify_value(Topic::Deadline, t, 5_000).expect("published");
    bound(&mut lab, t, 2);
    lab.admit(0, t).expect("admitted");
    // It is on its way: neither domain has it.
    assert_eq!((lab.sched.state(t), lab.sched.cookie(t)), (2, 4711));
    assert!(lab.sched.remote_sent(1) >= 1, "the second domain is interrupted");
    let picked = lab.pick(2).expect("a pick").expect("the next call there finds it");
    assert_eq!((picked.task, lab.sched.cookie(t)), (t, 4711));
    let value = |lab: &mut Lab, topic| lab.ask(topic, t).expect("an annotator").value;
    assert_eq!((value(&mut lab, Topic::Priority), value(&mut lab, Topic::Deadline)), (7, 5_000));
    lab.poll_remote();
    // Its own domain has freed the record, and it returns there.
    bound(&mut lab, t, 0);
    lab.relinquish(t).expect("given up");
    assert_eq!(lab.pick(0).expect("a pick").map(|p| p.task), Some(t));
    assert_eq!(value(&mut lab, Topic::Priority), 7);
}

/// Numbers belong to the domain that created them: it has one back when the task has ended, wherever that was.
#[test]
fn numbers_return_when_a_task_ends_elsewhere() {
    let mut lab = lab(0, "smp-4 domain=2");
    let mut seen = Vec::new();
    for _ in 0..3_000 {
        let t = lab.create(0).expect("numbers are used again");
        seen.push(t.0);
        bound(&mut lab, t, 2);
        lab.admit(0, t).expect("admitted");
        assert_eq!(lab.pick(2).expect("a pick").map(|p| p.task), Some(t));
        lab.exit(t).expect("ended");
        lab.poll_remote();
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() < 1_024, "{} numbers for one task at a time", seen.len());
    assert_eq!(lab.sched.nr_tasks(), 0);
}

/// The topology changes while tasks, calls and messages are under way.
#[test]
fn a_change_of_topology_loses_nothing_that_is_on_its_way() {
    for of in MACHINES {
        let shape = machine::parse(of).expect("a machine");
        let (plans, last) = (plans(&shape), shape.nr_cpus() - 1);
        let mut lab = Lab::new(plans[0].clone(), shape).expect("it fits");
        let tasks: Vec<TaskId> = (0..50).map(|_| lab.create(0).expect("room")).collect();
        for (i, t) in tasks.iter().enumerate() {
            bound(&mut lab, *t, last);
            lab.notify_value(Topic::Priority, *t, i as u64).expect("published");
            lab.admit(0, *t).expect("admitted");
            if i % 10 == 9 {
                lab.swap(plans[1 + i / 10 % 3].clone()).expect("swapped");
            }
        }
        // Of these, some are blocked by a CPU of another domain, and woken by it.
        for t in tasks.iter().step_by(3) {
            lab.block(*t).expect("blocked");
            lab.swap(plans[2].clone()).expect("swapped");
            lab.unblock(0, *t).expect("woken");
        }
        lab.swap(plans[1].clone()).expect("swapped");
        let mut ran = Vec::new();
        while let Some(p) = lab.pick(last).expect("a pick") {
            let priority = lab.ask(Topic::Priority, p.task).expect("an annotator").value;
            assert_eq!(tasks[priority as usize], p.task, "{of}");
            ran.push(p.task);
            lab.exit(p.task).expect("ended");
        }
        ran.sort();
        assert_eq!(ran, tasks, "{of}");
        lab.poll_remote();
        assert_eq!(lab.sched.nr_tasks(), 0, "{of}");
    }
}

/// A task whose CPU is not allowed any more when it arrives, or while it waits, goes elsewhere.
#[test]
fn a_decision_that_is_out_of_date_is_taken_again() {
    let mut lab = lab(0, "smp-4 domain=2");
    let t = lab.create(0).expect("room");
    bound(&mut lab, t, 2);
    lab.admit(0, t).expect("admitted");
    // On its way to CPU 2.
    bound(&mut lab, t, 1);
    assert_eq!(lab.pick(2).expect("a pick"), None);
    lab.poll_remote();
    assert_eq!(lab.pick(1).expect("a pick").map(|p| p.task), Some(t));
    // It waits at CPU 3, which goes.
    lab.affinity(t, [2, 3].into_iter().collect()).expect("published");
    lab.relinquish(t).expect("given up");
    lab.poll_remote();
    lab.cpu_status(2, false).expect("published");
    lab.poll_remote();
    assert_eq!(lab.pick(3).expect("a pick").map(|p| p.task), Some(t), "the other one takes it");
}

/// A domain without memory for more tasks takes them later; until then they are on their way.
#[test]
fn a_full_arena_takes_tasks_later() {
    let shape = machine::parse("smp-2 domain=1").expect("a machine");
    let plan = plans(&shape).swap_remove(0);
    let config = Config { nr_cpus: 2, arena_bytes: 6 << 20, checks: false, oplog: false, seed: 1 };
    let mut sched = Sched::new(&config).expect("it fits");
    sched.load(&plan).expect("it fits");
    // The second domain fills its own arena; the first one still sends tasks there.
    let mut own = Vec::new();
    while let Ok(t) = sched.task_new(1, 0) {
        own.push(t);
    }
    let t = sched.task_new(0, 0).expect("room");
    let to = Msg { task: Some(t), mask: Some([1].into_iter().collect()), ..Msg::default() };
    sched.notify(0, Topic::Affinity, &to).expect("published");
    sched.admit(0, t).expect("admitted");
    assert_eq!(sched.pick(1, 1), None);
    assert_eq!(sched.state(t), 2, "it is still there");
    sched.check().expect("nothing is lost");
    assert!(sched.remote_waiting());
    assert_eq!(sched.nr_tasks() as usize, own.len() + 1);
}

/// Any access to another domain's memory is a fault of the processor, also one that the core would make. (In a process of its own.)
#[test]
#[cfg(feature = "strict")]
fn an_access_to_another_domains_memory_is_a_fault() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const CHILD: &str = "WEIR_TEST_ACCESS";
    if std::env::var_os(CHILD).is_some() {
        let mut lab = lab(0, "smp-4 domain=2");
        let first = lab.sched.address() as *const u64;
        lab.sched.poll_remote(0);
        // SAFETY: the first domain's arena, which the last call was for.
        let bytes = unsafe { first.read_volatile() };
        assert!(bytes > 0);
        println!("in its own domain: read");
        lab.sched.poll_remote(2);
        // SAFETY: mapped memory of this process; that the processor refuses the access is what is tested.
        let bytes = unsafe { first.read_volatile() };
        println!("in another domain: read {bytes}");
        return;
    }
    let me = std::env::current_exe().expect("a path");
    let name = "domains::an_access_to_another_domains_memory_is_a_fault";
    let out =
        Command::new(me).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().expect("it starts");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("in its own domain: read"), "{text}");
    assert!(!text.contains("in another domain"), "{text}");
    assert_eq!(out.status.signal(), Some(11), "{:?}", out.status);
}
