// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The thread schedulers against components, call by call: with a list a priority `priority_order`, with keys `edf`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_hw::map::lists::*;
use weir_hw::regs::lists_call;
use weir_hw::verilated::{CallIn, CallKind, Calls, LISTS_256, ORDERED_16};

use crate::number;
use crate::queue::{EDF, Op, Order, PRIORITY, World};

/// Clocks within which a call must be answered.
const LATEST: u64 = 8;

fn ask(lists: &mut Calls, command: u32, thread: u8, argument: u8) -> u32 {
    lists.call(CallIn { addr: lists_call(command, thread, argument), ..CallIn::default() }, LATEST, |_| ()).0
}

fn store(lists: &mut Calls, command: u32, thread: u8, value: u32) {
    let call = CallIn { addr: lists_call(command, thread, 0), wdata: value, we: 1, ..CallIn::default() };
    assert_eq!(lists.call(call, LATEST, |_| ()).0, 0);
}

/// What the component picks, the lists give; a task that waits there is queued here; the interrupt says when to ask.
#[test]
fn lists_are_priority_order() {
    follow(PRIORITY, &LISTS_256);
}

/// The same with deadlines as keys of threads of one priority.
#[test]
fn keys_are_edf() {
    follow(EDF, &ORDERED_16);
}

fn follow(order: Order, built: &'static CallKind) {
    let keys = built.full;
    let decisions = number("WEIR_HW_DECISIONS", 20_000);
    let first = number("WEIR_HW_SEED", 1);
    let (mut made, mut seed) = (0, 0);
    while made < decisions {
        let mut world = World::new(order, first + seed);
        world.settled = true;
        let mut lists = Calls::new(built);
        ask(&mut lists, PREEMPTION, 0, 1);
        ask(&mut lists, SET_IDLE, 15, 0);
        for id in 0..16 {
            ask(&mut lists, SET_PRIORITY, id, 7);
        }
        for step in 0..2000 {
            let at = format!("seed {}, step {step}", first + seed);
            for op in world.step() {
                match op {
                    Op::Push { id, .. } => {
                        let value = world.value(id.into());
                        if keys {
                            store(&mut lists, SET_KEY, id, value);
                        } else {
                            assert_eq!(ask(&mut lists, SET_PRIORITY, id, value as u8), 0, "{at}");
                        }
                        assert_eq!(ask(&mut lists, ENQUEUE, id, 0), 0, "{at}");
                        assert_eq!(ask(&mut lists, ENQUEUE, id, 0), 1, "{at}: twice");
                    }
                    Op::Remove { id } => {
                        assert_eq!(ask(&mut lists, DEQUEUE, id, 0), 0, "{at}");
                        assert_eq!(ask(&mut lists, DEQUEUE, id, 0), 1, "{at}: twice");
                    }
                    Op::Pop => {
                        let n = world.running.expect("a task was picked");
                        let next = ((if keys { 7 } else { world.value(n) }) << 8) | n as u32;
                        assert_eq!(ask(&mut lists, NEXT, 0, 0), next, "{at}");
                        assert_eq!(ask(&mut lists, CURRENT, 0, 0), next, "{at}");
                    }
                }
                made += 1;
            }
            let order = world.order();
            for id in 0..16 {
                assert_eq!(ask(&mut lists, IS_QUEUED, id, 0) == 1, order.contains(&id), "{at}, task {id}");
            }
            assert_eq!(ask(&mut lists, IS_EMPTY, 0, 0) == 1, order.is_empty(), "{at}");
            // Neighbours in the pipe that are of one priority are neighbours in its list.
            for pair in order.windows(2).filter(|_| !keys) {
                if world.value(pair[0].into()) == world.value(pair[1].into()) {
                    let entry = ask(&mut lists, GET_ENTRY, pair[0], 0);
                    assert_eq!((entry >> 31, (entry >> 8) as u8), (1, pair[1]), "{at}");
                }
            }
        }
        seed += 1;
    }
    println!("{}: {made} operations in {seed} histories, no difference", built.name);
}

/// All 256 threads and priorities: the order in which they leave, the interrupt before and after, what changes of priority do.
#[test]
fn all_threads_and_levels() {
    let mut lists = Calls::new(&LISTS_256);
    let mut rng = ChaCha8Rng::seed_from_u64(number("WEIR_HW_SEED", 1));
    ask(&mut lists, SET_IDLE, 7, 0);
    assert_eq!((ask(&mut lists, GET_IDLE, 0, 0), ask(&mut lists, NEXT, 0, 0)), (7, 1 << 31 | 7));
    let mut want: Vec<(u8, u8)> = Vec::new();
    for thread in 0..=255 {
        let level = rng.random();
        ask(&mut lists, SET_PRIORITY, thread, level);
        assert_eq!(ask(&mut lists, GET_PRIORITY, thread, 0), u32::from(level));
        ask(&mut lists, ENQUEUE, thread, 0);
        want.push((level, thread));
    }
    // Some change while they are queued: to the tail of their new list.
    for _ in 0..100 {
        let (thread, level): (u8, u8) = (rng.random(), rng.random());
        ask(&mut lists, SET_PRIORITY, thread, level);
        want.retain(|(_, t)| *t != thread);
        want.push((level, thread));
    }
    want.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
    let irq = |lists: &mut Calls| {
        let mut irq = 0;
        for _ in 0..4 {
            irq = lists.clock(Default::default()).irq;
        }
        irq == 1
    };
    assert!(!irq(&mut lists), "preemption is off");
    assert_eq!(ask(&mut lists, PREEMPTION, 0, 1), 0);
    assert!(irq(&mut lists), "the idle thread runs, and others wait");
    for (level, thread) in want {
        assert_eq!(ask(&mut lists, NEXT, 0, 0), u32::from(level) << 8 | u32::from(thread));
        assert!(!irq(&mut lists), "what runs is as urgent as all that waits");
    }
    assert_eq!(ask(&mut lists, NEXT, 0, 0), 1 << 31 | 7);
    // Equal to what runs: no interrupt. Above it: one.
    ask(&mut lists, SET_PRIORITY, 1, 5);
    ask(&mut lists, ENQUEUE, 1, 0);
    ask(&mut lists, NEXT, 0, 0);
    for (thread, level, interrupts) in [(2, 5, false), (3, 6, true)] {
        ask(&mut lists, SET_PRIORITY, thread, level);
        ask(&mut lists, ENQUEUE, thread, 0);
        assert_eq!(irq(&mut lists), interrupts, "thread {thread}");
    }
}
