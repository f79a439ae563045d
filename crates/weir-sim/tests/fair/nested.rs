// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A model of the kernel's nested queues on one CPU, which shares nothing with the components: two groups of equal weight, each with a queue
//! of its own, both levels by the rules of EEVDF with slices of 0.7 ms. It shows what the kernel does that flat weights do not: members of
//! a group run one after the other in the group's slice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::common::{MS, US};

/// Slices, ns; and the most that a lag may be: a slice and a tick.
const SLICE: f64 = 700e3;
const LAG: f64 = SLICE + 4e6;

/// A task or a group, in a queue of its own kind. All have the weight of nice 0, so virtual time is time.
#[derive(Clone, Default)]
struct Entity {
    at: f64,
    deadline: f64,
    lag: f64,
    queued: bool,
    /// It has been in a queue before.
    known: bool,
}

/// One queue: indices of entities.
#[derive(Default)]
struct Queue {
    members: Vec<usize>,
    runs: Option<usize>,
    /// The virtual time up to which the one that runs is protected.
    protected: f64,
    /// The virtual time when it became empty.
    time: f64,
}

impl Queue {
    fn time(&self, of: &[Entity]) -> f64 {
        let n = self.members.len() as f64;
        if n == 0.0 { self.time } else { self.members.iter().map(|m| of[*m].at).sum::<f64>() / n }
    }

    fn enter(&mut self, of: &mut [Entity], who: usize) {
        let (now, n) = (self.time(of), self.members.len() as f64);
        let e = &mut of[who];
        // Where it is alone nothing is owed; beside others its coming moves the time.
        let lag = if n == 0.0 { 0.0 } else { e.lag * (n + 1.0) / n };
        e.at = now - lag;
        e.deadline = e.at + if e.known { SLICE } else { SLICE / 2.0 };
        (e.queued, e.known) = (true, true);
        self.members.push(who);
    }

    fn leave(&mut self, of: &mut [Entity], who: usize) {
        self.time = self.time(of);
        of[who].lag = (self.time - of[who].at).clamp(-LAG, LAG);
        of[who].queued = false;
        self.members.retain(|m| *m != who);
        self.runs = self.runs.filter(|r| *r != who);
    }

    fn pick(&mut self, of: &[Entity]) -> Option<usize> {
        let now = self.time(of);
        let eligible = |m: &usize| of[*m].at <= now + 1e-3;
        if let Some(r) = self.runs.filter(|r| of[*r].at < self.protected && eligible(r)) {
            return Some(r);
        }
        let best = self.members.iter().copied().filter(eligible);
        let best = best.min_by(|a, b| of[*a].deadline.total_cmp(&of[*b].deadline))?;
        if self.runs != Some(best) {
            self.protected = of[best].deadline.min(of[best].at + SLICE);
        }
        self.runs = Some(best);
        Some(best)
    }

    /// It has run for `ns`. When its slice is over it has a new deadline, and others may be chosen.
    fn charge(&mut self, e: &mut Entity, ns: f64) {
        e.at += ns;
        if e.at >= e.deadline - 1e-3 {
            e.deadline = e.at + SLICE;
            self.runs = self.runs.filter(|_| self.members.len() == 1);
        }
    }
}

/// Of a second: what a hog in one group has, what the members of the other have who compute for `run` and sleep for `sleep`, and for how much
/// of it at least one of those could run, ns.
pub fn hog_and_members(members: usize, run: u64, sleep: u64) -> [f64; 3] {
    // Entities: the groups, the hog, the members.
    let (one, many, hog) = (0, 1, 2);
    let mut of = vec![Entity::default(); 3 + members];
    let [mut root, mut queue_one, mut queue_many] = [(); 3].map(|()| Queue::default());
    root.enter(&mut of, one);
    root.enter(&mut of, many);
    queue_one.enter(&mut of, hog);
    (3..3 + members).for_each(|m| queue_many.enter(&mut of, m));
    let mut left = vec![run as f64; 3 + members];
    left[hog] = f64::INFINITY;
    let mut wakes: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let (mut now, end, mut had) = (0.0, 1000.0 * MS as f64, [0.0; 3]);
    while now < end {
        let group = root.pick(&of).expect("the hog is always there");
        let queue = if group == one { &mut queue_one } else { &mut queue_many };
        let task = queue.pick(&of).expect("a group with nobody is in no queue");
        let slice = (of[task].deadline - of[task].at).min(of[group].deadline - of[group].at);
        let wake = wakes.peek().map_or(f64::INFINITY, |w| w.0.0 as f64 - now);
        let ns = slice.min(left[task]).min(wake).min(end - now).max(0.0);
        had[usize::from(task != hog)] += ns;
        had[2] += if of[many].queued { ns } else { 0.0 };
        now += ns;
        left[task] -= ns;
        queue.charge(&mut of[task], ns);
        root.charge(&mut of[group], ns);
        if left[task] <= 1e-3 {
            left[task] = run as f64;
            queue.leave(&mut of, task);
            if queue.members.is_empty() {
                root.leave(&mut of, group);
            }
            wakes.push(Reverse(((now as u64) + sleep, task)));
        }
        while wakes.peek().is_some_and(|w| w.0.0 as f64 <= now + 1.0) {
            let Reverse((_, task)) = wakes.pop().expect("it was there");
            queue_many.enter(&mut of, task);
            if !of[many].queued {
                root.enter(&mut of, many);
            }
        }
    }
    had
}

/// Members who compute a little more than a slice run the rests of all of them in one slice of the group, and then all sleep: the group, which
/// is there for a part of the time only, has half of that part.
#[test]
fn nested_queues_bunch_the_members_of_a_group() {
    let share = |ns: f64| ns / (1000 * MS) as f64 * 100.0;
    let [hog, many, there] = hog_and_members(6, 728 * US, 2100 * US);
    println!("hog {:.1} %, members {:.1} %, there for {:.1} %", share(hog), share(many), share(there));
    assert!((share(many) - share(there) / 2.0).abs() < 1.0 && share(there) < 90.0);
    // Within a slice they do not bunch, and each group has half.
    let [hog, many, there] = hog_and_members(6, 700 * US, 2100 * US);
    assert!((share(hog) - 50.0).abs() < 1.0 && (share(many) - 50.0).abs() < 1.0 && share(there) > 99.0);
}

/// The loads by which `groups` is measured (`accounts.rs`) are not of that kind: by the kernel's rules, too, each group has half.
#[test]
fn nested_queues_give_each_group_half_of_most_loads() {
    for (members, run, sleep) in [(20, 700 * US, 7 * MS), (30, 2 * MS, 20 * MS), (8, MS, 5 * MS)] {
        let hog = hog_and_members(members, run, sleep)[0] / (1000 * MS) as f64;
        assert!((hog - 0.5).abs() < 0.005, "{members} x {run}/{sleep}: {hog}");
    }
}
