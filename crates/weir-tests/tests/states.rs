// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The life of a task, call by call, and the order in which subscribers hear.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use weir_core::{Error, MachineShape, TaskId};
use weir_tests::Lab;
use weir_tests::history::{Op, World, op};

/// `WEIR_ESTATE`
const ESTATE: i32 = 4;
const TEXT: &str = "annotate affinity, priority; entry -> policy :: priority_order -> cpus;";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Schedulable,
    Running,
    Blocked,
}

/// A scheduler with a task in this state, and another one that waits.
fn lab_with(state: State) -> (Lab, TaskId) {
    let mut lab = Lab::from_text(TEXT, MachineShape::flat(1)).expect("sound");
    let t = lab.create(0).expect("memory");
    if state != State::New {
        lab.admit(0, t).expect("new");
    }
    if state == State::Running {
        assert_eq!(lab.pick(0).expect("a CPU").expect("a task").task, t);
    }
    if state == State::Blocked {
        lab.block(t).expect("schedulable");
    }
    let other = lab.create(0).expect("memory");
    lab.admit(0, other).expect("new");
    (lab, t)
}

/// Source 0, 5.1.1: what is legal happens, everything else is refused with WEIR_ESTATE and changes nothing.
#[test]
fn every_transition_is_legal_or_refused() {
    type Call = fn(&mut Lab, TaskId) -> Result<(), Error>;
    let calls: [(&str, Call); 5] = [
        ("admit", |lab, t| lab.sched.admit(0, t)),
        ("unblock", |lab, t| lab.sched.unblock(0, t)),
        ("relinquish", |lab, t| lab.sched.relinquish(0, t)),
        ("block", |lab, t| lab.sched.block(0, t)),
        ("exit", |lab, t| lab.sched.exit(0, t)),
    ];
    use State::{Blocked, New, Running, Schedulable};
    let mut refused = 0;
    for state in [New, Schedulable, Running, Blocked] {
        for (name, call) in calls {
            let (mut lab, t) = lab_with(state);
            let (number, before) = (lab.sched.state(t), lab.dump());
            let result = call(&mut lab, t);
            let legal = match name {
                // A task that waits for nothing yet and one that blocked are alike to the framework: unconsidered.
                "admit" | "unblock" => matches!(state, New | Blocked),
                "relinquish" => state == Running,
                "block" => matches!(state, Schedulable | Running),
                _ => true,
            };
            if legal {
                result.unwrap_or_else(|e| panic!("{name} of a task that is {state:?}: {e}"));
            } else {
                refused += 1;
                assert_eq!(result.expect_err("illegal").code, ESTATE, "{name} of a task that is {state:?}");
                assert_eq!(
                    (lab.sched.state(t), lab.dump()),
                    (number, before),
                    "{name}, {state:?}: nothing changes"
                );
            }
            lab.sched.check().unwrap_or_else(|e| panic!("{name}, {state:?}: {e}"));
        }
    }
    assert_eq!(refused, 9);
}

/// Subscribers of a topic hear in the order of the instances, on which nobody may rely: with annotators and services declared in
/// another order, the same history leads to the same pipes after every step.
#[test]
fn the_order_of_subscribers_does_not_matter() {
    let orders = [
        "annotate affinity, priority, deadline, job, isa, lamport, executed, tenant;",
        "annotate tenant, executed, lamport, isa, job, deadline, priority, affinity;",
        "annotate isa, tenant, priority, executed, affinity, lamport, deadline, job;",
    ];
    for graph in [
        "entry -> lb :: load_balancer -> each cpu { q :: edf -> cpu };",
        "entry -> s :: tenant_split -> each part of 2 { lb :: load_balancer -> each cpu { q :: priority_order -> cpu } };",
        "entry -> q :: fcfs -> p :: edf -> cpus;",
    ] {
        let mut worlds: Vec<World> = orders
            .iter()
            .map(|o| {
                Lab::from_text(&format!("{o} {graph}"), MachineShape::flat(4))
                    .unwrap_or_else(|e| panic!("{e}"))
            })
            .map(|lab| World::new(lab, Vec::new()))
            .collect();
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
        let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
        for step in 0..600 {
            let op = op(1).new_tree(&mut runner).expect("any").current();
            // By number, and the numbers of instances differ.
            if matches!(op, Op::Exchange { .. } | Op::Replace { .. }) {
                continue;
            }
            let mut dumps = worlds.iter_mut().map(|w| {
                w.step(&op).unwrap_or_else(|e| panic!("{graph} step {step}: {e}"));
                w.lab.dump()
            });
            let first = dumps.next().expect("the first order");
            for (other, order) in dumps.zip(&orders[1..]) {
                assert_eq!(first, other, "{graph}\n{order}\nstep {step}, {op:?}");
            }
        }
        assert!(worlds[0].nr_tasks() > 5, "something happened");
    }
}
