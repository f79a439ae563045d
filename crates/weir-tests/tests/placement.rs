// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where distributors put a task, beyond what the law demands: balance, capacity, nearness, and that an
//! idle CPU leaves nothing waiting that it could run.

use std::collections::BTreeSet;

use proptest::prelude::*;
use weir_core::{CpuSet, Plan, PlanInstance, PlanPipe, TaskId, catalog};
use weir_tests::history::config;
use weir_tests::{Lab, machine};

fn lab(text: &str, words: &str) -> Lab {
    let shape = machine::parse(words).expect("a machine");
    Lab::from_text(text, shape).unwrap_or_else(|e| panic!("{e}"))
}

/// Every CPU runs a task, and `waiting[cpu]` more wait for each.
fn loaded(text: &str, words: &str, waiting: &[usize]) -> Lab {
    let mut lab = lab(text, words);
    for cpu in 0..waiting.len() as u32 {
        let t = bound(&mut lab, cpu);
        let picked = lab.pick(cpu).expect("the CPU is free").expect("there is work");
        assert_eq!(picked.task, t);
    }
    for (cpu, n) in waiting.iter().enumerate() {
        for _ in 0..*n {
            bound(&mut lab, cpu as u32);
        }
    }
    lab
}

/// A new task that may run on one CPU only.
fn bound(lab: &mut Lab, cpu: u32) -> TaskId {
    let t = lab.create(0).expect("memory");
    lab.affinity(t, [cpu].into_iter().collect()).expect("the message is delivered");
    lab.admit(0, t).expect("the task is new");
    t
}

/// A new task that may run anywhere in the set, empty: everywhere; gives the CPU whose exit holds it.
fn arrive(lab: &mut Lab, mask: &CpuSet) -> Option<u32> {
    let t = lab.create(0).expect("memory");
    lab.affinity(t, mask.clone()).expect("the message is delivered");
    lab.admit(0, t).expect("the task is new");
    let exits = lab.plan.exits.clone();
    exits.iter().position(|e| lab.tasks(e.expect("an exit")).contains(&t)).map(|c| c as u32)
}

const CPUS: usize = 6;

proptest! {
    #![proptest_config(config(200))]

    /// The shortest of the allowed pipes, the lowest among equals.
    #[test]
    fn load_balancer_takes_the_least_loaded(
        waiting in prop::collection::vec(0..5usize, CPUS),
        masks in prop::collection::vec(0..64u8, 1..8),
        quick: bool,
    ) {
        let text = format!("annotate affinity; entry -> load_balancer(quick = {quick}) -> each cpu {{ -> cpu }};");
        let mut lab = loaded(&text, "smp-6 llc=3", &waiting);
        let mut waiting = waiting;
        for bits in masks {
            let mask: CpuSet = (0..CPUS as u32).filter(|c| bits >> c & 1 == 1).collect();
            let may = |c: &usize| mask.is_empty() || mask.contains(*c as u32);
            let want = (0..CPUS).filter(may).min_by_key(|c| (waiting[*c], *c)).expect("some CPU is allowed");
            prop_assert_eq!(arrive(&mut lab, &mask), Some(want as u32));
            waiting[want] += 1;
        }
    }

    /// The smallest load per capacity, with the newcomer counted in.
    #[test]
    fn advanced_balancer_counts_per_capacity(
        waiting in prop::collection::vec(0..5usize, CPUS),
        arrivals in 1..8usize,
    ) {
        const CAPACITY: [u64; CPUS] = [1024, 1024, 1024, 300, 300, 700];
        let text = "annotate affinity; entry -> advanced_balancer -> each cpu { -> cpu };";
        let mut lab = loaded(text, "smp-6 capacity=3-4:300 capacity=5:700", &waiting);
        let mut waiting = waiting;
        for _ in 0..arrivals {
            let cost = |c: &usize| ((waiting[*c] as u64 + 2) * 1_000_000_007 / CAPACITY[*c], *c);
            let want = (0..CPUS).min_by_key(cost).expect("there are CPUs");
            prop_assert_eq!(arrive(&mut lab, &CpuSet::new()), Some(want as u32));
            waiting[want] += 1;
        }
    }

    /// A CPU that gets no task could not have run any task that waits behind a running one.
    #[test]
    fn work_stealing_leaves_nothing(
        waiting in prop::collection::vec(0..4usize, CPUS),
        masks in prop::collection::vec(0..64u8, 0..12),
        picks in prop::collection::vec(0..CPUS as u32, 1..40),
    ) {
        let text = "annotate affinity; entry each cpu -> work_stealing(reach = 4096) -> each cpu { q :: head_queue -> cpu };";
        let mut lab = loaded(text, "smp-6 core=1 llc=2 node=4", &waiting);
        for bits in masks {
            arrive(&mut lab, &(0..CPUS as u32).filter(|c| bits >> c & 1 == 1).collect());
        }
        for cpu in picks {
            if let Some(t) = lab.running[cpu as usize] {
                lab.exit(t).expect("it runs");
            }
            if lab.pick(cpu).expect("the CPU is free").is_some() {
                continue;
            }
            for other in 0..CPUS {
                let queue = lab.tasks(lab.plan.exits[other].expect("an exit"));
                for t in queue.iter().skip(usize::from(lab.running[other].is_none())) {
                    let mask = lab.sched.request(0, weir_core::Topic::Affinity, &weir_core::Msg { task: Some(*t), ..Default::default() });
                    let may = mask.and_then(|m| m.mask).is_none_or(|m| m.contains(cpu));
                    prop_assert!(!may, "CPU {} went idle, task {} waits for CPU {}", cpu, t.0, other);
                }
            }
        }
    }
}

/// Thieves go to their LLC before their node, and there before anywhere else; to the longest pipe of
/// each; they take the last task.
#[test]
fn work_stealing_goes_to_the_nearest() {
    let text = "annotate affinity; entry -> work_stealing -> each cpu { -> cpu };";
    // Numbers as on machines whose threads of one core are half the machine apart.
    let mut shape = machine::parse("smp-8 llc=1 node=1").expect("a machine");
    for (c, cpu) in shape.cpus.iter_mut().enumerate() {
        cpu.core = c as u32 % 4;
        cpu.llc = c as u32 % 4 / 2;
        cpu.node = 0;
    }
    shape.cpus[3].node = 1;
    shape.cpus[7].node = 1;
    let mut lab = Lab::from_text(text, shape).expect("a legal topology");
    let mut victims = Vec::new();
    for cpu in 0..8 {
        let t = bound(&mut lab, cpu);
        assert_eq!(lab.pick(cpu).expect("free").expect("work").task, t);
    }
    // Of CPU 0's LLC are 1, 4, 5; of its node also 2 and 6; 3 and 7 are far.
    for (cpu, n) in [(5, 1), (1, 2), (6, 3), (3, 9)] {
        let tasks: Vec<TaskId> = (0..n).map(|_| bound(&mut lab, cpu)).collect();
        for t in &tasks {
            lab.affinity(*t, CpuSet::new()).expect("the message is delivered");
        }
        victims.push(tasks);
    }
    let mut next = || {
        let t = lab.running[0].expect("it runs something");
        lab.exit(t).expect("it runs");
        lab.pick(0).expect("free").map(|p| p.task)
    };
    assert_eq!(next(), Some(victims[1][1]), "the longest of the LLC, its last");
    let second = next();
    assert!(second == Some(victims[0][0]) || second == Some(victims[1][0]));
    let third = next();
    assert!(third != second && (third == Some(victims[0][0]) || third == Some(victims[1][0])));
    assert_eq!(next(), Some(victims[2][2]), "the LLC is empty, the node is not");
    assert_eq!(next(), Some(victims[2][1]));
    assert_eq!(next(), Some(victims[2][0]));
    assert_eq!(next(), Some(victims[3][8]), "only far ones are left");
}

/// The annotator for runtime data: a shallow answer leads to the original, a deep one is a copy.
#[test]
fn tcb_copies_are_independent() {
    use weir_core::{Msg, Topic};
    let mut lab = lab("annotate tcb; entry -> head_queue -> cpus;", "smp-1");
    let t = lab.create(0).expect("memory");
    let mut data: Box<[u64; 4]> = Box::new([1, 2, 3, 4]);
    let copy: Box<[std::cell::UnsafeCell<u64>; 4]> = Box::new([const { std::cell::UnsafeCell::new(0) }; 4]);
    let address = data.as_ptr().expose_provenance() as u64;
    let msg = Msg { task: Some(t), value: address, value2: 32, ..Msg::default() };
    lab.notify(Topic::Tcb, &msg).expect("the message is delivered");
    let shallow = lab.ask(Topic::Tcb, t).expect("there is a responder");
    assert_eq!((shallow.value, shallow.value2), (address, 32));
    let buffer = copy.as_ptr().expose_provenance() as u64;
    let deep = Msg { task: Some(t), value2: buffer, ..Msg::default() };
    let reply = lab.sched.request(0, Topic::Tcb, &deep).expect("there is a responder");
    assert_eq!(reply.value2, 32);
    data[0] = 9;
    assert_eq!(copy.map(|c| c.into_inner()), [1, 2, 3, 4], "as it was when it was asked for");
    // More than may be copied is refused: the old entry stays.
    let huge = Msg { task: Some(t), value: address, value2: 1 << 20, ..Msg::default() };
    lab.notify(Topic::Tcb, &huge).expect("a message that a component refuses harms nobody");
    assert_eq!(lab.ask(Topic::Tcb, t).expect("there is a responder").value2, 32);
}

/// A graph of instances in order, of which each feeds later ones: for each its domain, and its out-pipes, as steps ahead and whether changes
/// wait there.
fn graph(all: &[(u32, Vec<(usize, bool)>)]) -> Plan {
    let class = |name: &str| catalog().get(name).expect("in the catalogue").id;
    let mut plan = Plan::default();
    for (i, (domain, outs)) in all.iter().enumerate() {
        let last = i + 1 == all.len() || outs.is_empty();
        plan.instances.push(PlanInstance {
            name: format!("i{i}"),
            class: class(if last { "termination" } else { "head_queue" }),
            params: vec![],
            domain: *domain,
            ins: vec![],
            outs: vec![],
        });
    }
    let mut pipe = |from: Option<usize>, to: usize, postponed| {
        let idx = plan.pipes.len() as u32;
        let from = from.map(|f| {
            plan.instances[f].outs.push(idx);
            (f as u32, plan.instances[f].outs.len() as u32 - 1)
        });
        plan.instances[to].ins.push(idx);
        let to = (to as u32, plan.instances[to].ins.len() as u32 - 1);
        plan.pipes.push(PlanPipe {
            name: format!("p{idx}"),
            keyed: false,
            postponed,
            from,
            to,
            label: 0,
            depth: 0,
        });
    };
    for (i, (_, outs)) in all.iter().enumerate() {
        pipe(None, i, false);
        for (ahead, postponed) in outs.iter().filter(|_| i + 1 < all.len()) {
            pipe(Some(i), (i + 1 + ahead).min(all.len() - 1), *postponed);
        }
    }
    plan
}

/// The exits that lie ahead in a pipe; `None` among them: changes wait somewhere on the way.
fn ahead(plan: &Plan, pipe: u32, seen: &mut BTreeSet<Option<u32>>) {
    let p = &plan.pipes[pipe as usize];
    let to = &plan.instances[p.to.0 as usize];
    let crosses = p.from.is_some_and(|f| plan.instances[f.0 as usize].domain != to.domain);
    if to.outs.is_empty() {
        seen.insert(Some(pipe));
    } else if p.postponed {
        seen.insert(None);
    } else if crosses {
        seen.insert(Some(pipe));
    } else {
        to.outs.iter().for_each(|o| ahead(plan, *o, seen));
    }
}

proptest! {
    /// The home of a pipe is the only exit that can be reached through it.
    #[test]
    fn a_home_is_the_only_exit_ahead(
        all in prop::collection::vec((0..2u32, prop::collection::vec((0..4usize, prop::bool::weighted(0.2)), 0..4)), 1..12),
    ) {
        let plan = graph(&all);
        let homes = plan.homes();
        for pipe in 0..plan.pipes.len() as u32 {
            let mut exits = BTreeSet::new();
            ahead(&plan, pipe, &mut exits);
            let only = exits.iter().next().copied().flatten().filter(|_| exits.len() == 1);
            prop_assert_eq!(homes[pipe as usize], only, "pipe {}: {:?}", pipe, exits);
        }
        for i in 0..plan.instances.len() as u32 {
            let outs: BTreeSet<_> = plan.instances[i as usize].outs.iter().map(|o| homes[*o as usize]).collect();
            let one = outs.iter().next().copied().flatten().filter(|_| outs.len() == 1);
            prop_assert_eq!(plan.home_of(i, &homes), one);
        }
    }
}
