// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Composability (source 0, 5.8.1), by brute force: goals are value functions over schedules, and what a
//! composition of components makes is compared with the best of all schedules.
//!
//! The source's tasks 0 to n are created in this order, so `fcfs` puts task i at position i and `lcfs`
//! at position n - i. Where the source's text and the sense of its value functions disagree about
//! which end is "next", we take the functions at their word: a greater position of a greater index is
//! worth more.

use weir_core::{TaskId, Topic};
use weir_tests::lab::compile;
use weir_tests::{Lab, machine};

/// Position of task i, if it is scheduled at all, and its CPU.
type Schedule = Vec<Option<(usize, usize)>>;

/// Goal X: i · 2p; everything must be scheduled.
fn goal_x(s: &Schedule) -> i64 {
    linear(s, |i| 2 * i)
}

/// Goal Y: -i · p, the opposite.
fn goal_y(s: &Schedule) -> i64 {
    linear(s, |i| -i)
}

/// Goal Z: i · p, the same as X except for a factor.
fn goal_z(s: &Schedule) -> i64 {
    linear(s, |i| i)
}

/// Stands for minus infinity, and still adds up.
const NEVER: i64 = -1_000_000;

fn linear(s: &Schedule, weight: impl Fn(i64) -> i64) -> i64 {
    s.iter().enumerate().map(|(i, at)| at.map_or(NEVER, |(p, _)| weight(i as i64) * p as i64)).sum()
}

/// Goal A: tasks from k on never run.
fn goal_a(s: &Schedule, k: usize) -> i64 {
    s.iter().enumerate().map(|(i, at)| if at.is_some() == (i < k) { 0 } else { NEVER }).sum()
}

/// Goal M: even tasks on CPU 0, odd ones on CPU 1.
fn goal_m(s: &Schedule) -> i64 {
    s.iter().enumerate().map(|(i, at)| at.map_or(0, |(_, c)| i64::from(c == i % 2))).sum()
}

/// Goal P: groups of i modulo 3, in this order of importance; within a group positions do not matter.
fn goal_p(s: &Schedule) -> i64 {
    s.iter().enumerate().map(|(i, at)| at.map_or(NEVER, |(p, _)| (i % 3) as i64 * p as i64)).sum()
}

/// Goal J: -i · p; the order within groups.
fn goal_j(s: &Schedule) -> i64 {
    goal_y(s)
}

/// Every schedule of `n` tasks on `cpus` CPUs, with any subset left out if `drop`.
fn all(n: usize, cpus: usize, drop: bool) -> Vec<Schedule> {
    let mut out = Vec::new();
    let mut now = vec![None; n];
    place(0, n, cpus, drop, &mut now, &mut out);
    out
}

/// Positions are given CPU by CPU, without gaps: task lists, each task appended to one of them.
fn place(used: u32, n: usize, cpus: usize, drop: bool, now: &mut Schedule, out: &mut Vec<Schedule>) {
    if used.count_ones() as usize == n || drop {
        out.push(now.clone());
    }
    for i in (0..n).filter(|i| used >> i & 1 == 0) {
        for c in 0..cpus {
            // Fill CPU 0 first, so that each schedule comes up once.
            if now.iter().flatten().any(|(_, cpu)| *cpu > c) {
                continue;
            }
            now[i] = Some((now.iter().flatten().filter(|(_, cpu)| *cpu == c).count(), c));
            place(used | 1 << i, n, cpus, drop, now, out);
            now[i] = None;
        }
    }
}

fn best(n: usize, cpus: usize, drop: bool, goal: impl Fn(&Schedule) -> i64) -> i64 {
    all(n, cpus, drop).iter().map(goal).max().expect("there are schedules")
}

/// What a topology makes of `n` tasks that came in an order of their own. The first `setup` calls set
/// properties of each task.
fn schedule(text: &str, cpus: u32, n: usize, setup: impl Fn(&mut Lab, usize, TaskId)) -> Schedule {
    let shape = machine::parse(&format!("smp-{cpus}")).expect("a machine");
    let mut lab = Lab::from_text(text, shape).unwrap_or_else(|e| panic!("{e}"));
    let tasks: Vec<TaskId> = (0..n).map(|_| lab.create(0).expect("memory")).collect();
    for (i, t) in tasks.iter().enumerate() {
        setup(&mut lab, i, *t);
    }
    // Neither ascending nor descending.
    for i in [3, 1, 5, 0, 4, 2].into_iter().filter(|i| *i < n) {
        lab.admit(0, tasks[i]).expect("the task is new");
    }
    let mut out = vec![None; n];
    for cpu in 0..cpus {
        let exit = lab.plan.exits[cpu as usize].expect("every CPU has an exit");
        for (p, t) in lab.tasks(exit).iter().enumerate() {
            let i = tasks.iter().position(|x| x == t).expect("a known task");
            out[i] = Some((p, cpu as usize));
        }
    }
    out
}

fn nothing(_: &mut Lab, _: usize, _: TaskId) {}

fn even_odd(lab: &mut Lab, i: usize, t: TaskId) {
    lab.affinity(t, [i as u32 % 2].into_iter().collect()).expect("the message is delivered");
}

const N: usize = 5;
const FCFS: &str = "annotate lamport; entry -> fcfs -> cpus;";
const LCFS: &str = "annotate lamport; entry -> lcfs -> cpus;";

#[test]
fn contradicting_goals_cannot_both_be_met() {
    let x = schedule(FCFS, 1, N, nothing);
    let y = schedule(LCFS, 1, N, nothing);
    assert_eq!(goal_x(&x), best(N, 1, false, goal_x));
    assert_eq!(goal_y(&y), best(N, 1, false, goal_y));
    // X dominates: the best for both together is the best for X, and the worst for Y.
    let both = |s: &Schedule| goal_x(s) + goal_y(s);
    assert_eq!(both(&x), best(N, 1, false, both));
    assert!(both(&y) < both(&x));
    assert_eq!(goal_y(&x), all(N, 1, false).iter().map(goal_y).min().expect("there are schedules"));
}

/// Two total orders on one path: the later one wins, the earlier one is wasted; the language says so.
#[test]
fn two_total_orders_on_one_path_are_refused() {
    let shape = machine::parse("smp-1").expect("a machine");
    for text in [
        "annotate lamport; entry -> fcfs -> lcfs -> cpus;",
        "annotate lamport; entry -> lcfs -> fcfs -> cpus;",
    ] {
        assert!(compile("both", text, &shape).is_err(), "{text}");
    }
    // On different CPUs the same two make sense.
    let text = "annotate affinity, lamport; entry -> lb :: load_balancer; lb[cpu 0] -> fcfs -> cpu 0; lb[cpu 1] -> lcfs -> cpu 1;";
    let s = schedule(text, 2, 6, even_odd);
    assert_eq!(s, [Some((0, 0)), Some((2, 1)), Some((1, 0)), Some((1, 1)), Some((2, 0)), Some((0, 1))]);
}

#[test]
fn goals_that_are_multiples_share_their_best_schedule() {
    let s = schedule(FCFS, 1, N, nothing);
    for schedule in all(N, 1, false) {
        assert_eq!(goal_x(&schedule), 2 * goal_z(&schedule));
    }
    let both = |s: &Schedule| goal_x(s) + goal_z(s);
    assert_eq!(both(&s), best(N, 1, false, both));
}

/// A filter composes with any order, before or after it.
#[test]
fn absolute_decisions_compose_with_everything() {
    const K: usize = 3;
    // Tasks from K on may run on no CPU that is there.
    let bind = |lab: &mut Lab, i: usize, t: TaskId| {
        if i >= K {
            lab.affinity(t, [1].into_iter().collect()).expect("the message is delivered");
        }
        lab.cpu_status(1, false).expect("the message is delivered");
    };
    // X over what is scheduled; what is dropped counts under A alone.
    let x = |s: &Schedule| {
        s.iter().enumerate().map(|(i, at)| at.map_or(0, |(p, _)| 2 * i as i64 * p as i64)).sum::<i64>()
    };
    let both = |s: &Schedule| goal_a(s, K) + x(s);
    let want = best(N, 1, true, both);
    for text in [
        "annotate affinity, lamport; entry -> affinity_filter -> fcfs -> cpus;",
        "annotate affinity, lamport; entry -> fcfs -> affinity_filter -> cpus;",
    ] {
        let mut s = schedule(text, 2, N, bind);
        // Both CPUs share the exit; count positions once.
        s.iter_mut().flatten().for_each(|at| at.1 = 0);
        assert_eq!(both(&s), want, "{text}: {s:?}");
        assert_eq!(goal_a(&s, K), 0, "{text}");
    }
    // Dropping by position: of the ordered tasks only the first may pass.
    let s = schedule("annotate lamport; entry -> fcfs -> top(limit = 3) -> cpus;", 1, N, nothing);
    assert_eq!(both(&s), want, "{s:?}");
}

/// Assignment to CPUs and order are different degrees of freedom: either may come first.
#[test]
fn order_and_assignment_compose_either_way() {
    let both = |s: &Schedule| 1000 * goal_m(s) + goal_x(s);
    let want = best(N, 2, false, both);
    for text in [
        "annotate affinity, lamport; entry -> fcfs -> load_balancer -> each cpu { -> cpu };",
        "annotate affinity, lamport; entry -> fcfs -> task_distributor -> each cpu { head_queue -> cpu };",
        "annotate affinity, lamport; entry -> load_balancer -> each cpu { fcfs -> cpu };",
        "annotate affinity, lamport; entry -> work_stealing -> each cpu { fcfs -> cpu };",
    ] {
        let s = schedule(text, 2, N, even_odd);
        assert_eq!(goal_m(&s), N as i64, "{text}: {s:?}");
        assert_eq!(both(&s), want, "{text}: {s:?}");
    }
}

/// A coarse order refines a finer one that came before it: groups first, within them the other goal. Written coarse first, it is the same.
#[test]
fn a_coarse_and_a_fine_order_refine_each_other() {
    const N: usize = 6;
    // Group g = i mod 3 stands at the end if g is large: it is the least urgent.
    let group = |lab: &mut Lab, i: usize, t: TaskId| {
        lab.notify_value(Topic::Priority, t, (2 - i as i64 % 3) as u64).expect("the message is delivered");
    };
    let both = |s: &Schedule| 1000 * goal_p(s) + goal_j(s);
    let text = "annotate lamport, priority; entry -> lcfs -> priority_order -> cpus;";
    let s = schedule(text, 1, N, group);
    assert_eq!(goal_p(&s), best(N, 1, false, goal_p), "{s:?}");
    assert_eq!(both(&s), best(N, 1, false, both), "{s:?}");
    // The source's own order, coarse and then fine: the language lets the two change places.
    let text = "annotate lamport, priority; entry -> priority_order -> lcfs -> cpus;";
    assert_eq!(schedule(text, 1, N, group), s);
    // Of two orders that leave no equals, one is lost.
    let shape = machine::parse("smp-1").expect("a machine");
    let text = "annotate lamport, priority; entry -> fcfs -> priority_order -> lcfs -> cpus;";
    assert!(compile("wrong", text, &shape).is_err());
}
