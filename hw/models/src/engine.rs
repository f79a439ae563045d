// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the engine decides, tick by tick: a model after the rules of Mancuso et al. and docs/hardware.md.
//!
//! A tick first lets time pass and jobs come and end, then decides. Between ticks programs report jobs complete and set tasks.

pub use weir_sim::device::{Policy, Task};

/// A task and its present job.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    task: Option<Task>,
    ready: bool,
    job: u8,
    /// Tick of the deadline, and of the earliest next release.
    deadline: i64,
    next: i64,
    left: u32,
    /// A release was asked for.
    asked: bool,
    missed: bool,
}

/// A job that came or ended in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its execution time is used up.
    Spent(usize),
    /// It was still there when the next one of its task came.
    Dropped(usize),
    /// Absolute deadline, in ticks.
    Released(usize, i64),
}

/// The engine.
#[derive(Clone, Debug)]
pub struct Engine {
    rows: Vec<Row>,
    cpus: Vec<Option<usize>>,
    policy: Policy,
    /// R2: among equals prefer the task chosen before.
    pub keep: bool,
    /// R5: a task that is chosen again stays on its CPU.
    pub stay: bool,
    /// By CPU: the task whose context it holds in a section that is not preempted.
    pub held: Vec<Option<usize>>,
    now: i64,
    misses: u32,
    /// MLLF: the next decision unless something happens, and whether it did.
    due: i64,
    happened: bool,
}

/// The time to a deadline stops at the least number of 17 bits, as the counter does.
const LATEST: i64 = -65536;

impl Engine {
    pub fn new(tasks: usize, cpus: usize, policy: Policy) -> Engine {
        Engine {
            rows: vec![Row::default(); tasks],
            cpus: vec![None; cpus],
            policy,
            keep: true,
            stay: true,
            held: vec![None; cpus],
            now: 0,
            misses: 0,
            due: 0,
            happened: false,
        }
    }

    /// The task is there from now on; its first job comes at the next tick, or `phase` ticks later.
    pub fn set(&mut self, n: usize, task: Task) {
        let row = &mut self.rows[n];
        self.happened |= row.ready;
        row.task = Some(task);
        row.ready = false;
        row.asked = false;
        row.next = if task.sporadic { self.now } else { self.now + 1 + i64::from(task.phase) };
    }

    pub fn delete(&mut self, n: usize) {
        let row = &mut self.rows[n];
        self.happened |= row.ready;
        row.task = None;
        row.ready = false;
        row.asked = false;
    }

    /// Ask for a release of a sporadic task.
    pub fn release(&mut self, n: usize) {
        let row = &mut self.rows[n];
        row.asked |= row.task.is_some_and(|t| t.sporadic);
    }

    /// The job is complete, if it is the present one. True if that counts.
    pub fn done(&mut self, n: usize, job: u8) -> bool {
        let row = &mut self.rows[n];
        let counts = row.ready && row.job == job;
        row.ready &= !counts;
        self.happened |= counts;
        counts
    }

    pub fn job(&self, n: usize) -> u8 {
        self.rows[n].job
    }
    pub fn ready(&self, n: usize) -> bool {
        self.rows[n].ready
    }
    pub fn missed(&self, n: usize) -> bool {
        self.rows[n].missed
    }
    pub fn misses(&self) -> u32 {
        self.misses
    }
    pub fn left(&self, n: usize) -> u32 {
        self.rows[n].left
    }
    /// Ticks to the deadline, below 0 once it has passed.
    pub fn time_left(&self, n: usize) -> i64 {
        (self.rows[n].deadline - self.now).max(LATEST)
    }
    pub fn laxity(&self, n: usize) -> i64 {
        self.time_left(n) - i64::from(self.rows[n].left)
    }
    /// What each CPU is to run.
    pub fn cpus(&self) -> &[Option<usize>] {
        &self.cpus
    }
    pub fn chosen(&self, n: usize) -> bool {
        self.cpus.contains(&Some(n))
    }

    /// How urgent a ready task is, equals aside: smaller first.
    pub fn urgency(&self, n: usize) -> (bool, i64) {
        match self.policy {
            Policy::Llf | Policy::Mllf => (false, self.laxity(n)),
            Policy::Edf => (false, self.time_left(n)),
            Policy::Edzl if self.laxity(n) <= 0 => (false, 0),
            Policy::Edzl => (true, self.time_left(n)),
        }
    }

    /// Time passes, jobs come and end, and unless MLLF puts it off there is a decision.
    pub fn tick(&mut self) -> (Vec<Event>, bool) {
        let events = self.pass();
        let decides = self.policy != Policy::Mllf || self.happened || self.now >= self.due;
        if decides {
            self.decide();
        }
        (events, decides)
    }

    fn pass(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.now += 1;
        for n in 0..self.rows.len() {
            let runs = self.chosen(n);
            let row = &mut self.rows[n];
            let Some(task) = row.task else { continue };
            row.left -= u32::from(runs && row.ready);
            if row.ready && row.left == 0 {
                row.ready = false;
                events.push(Event::Spent(n));
            }
            if row.ready && row.deadline == self.now {
                row.missed = true;
                self.misses += 1;
            }
            if row.next <= self.now && (!task.sporadic || row.asked) {
                if row.ready {
                    events.push(Event::Dropped(n));
                }
                row.ready = true;
                row.asked = false;
                row.job = row.job.wrapping_add(1);
                row.left = task.wcet;
                row.deadline = self.now + i64::from(task.deadline);
                row.next = self.now + i64::from(task.period);
                events.push(Event::Released(n, row.deadline));
            }
        }
        self.happened |= !events.is_empty();
        events
    }

    fn decide(&mut self) {
        let mut order: Vec<usize> = (0..self.rows.len()).filter(|n| self.rows[*n].ready).collect();
        let held = |n: usize| self.held.contains(&Some(n));
        order.sort_by_key(|n| (!held(*n), self.urgency(*n), !(self.keep && self.chosen(*n)), *n));
        order.truncate(self.cpus.len());
        let mut next: Vec<Option<usize>> =
            self.held.iter().map(|held| held.filter(|n| order.contains(n))).collect();
        if self.stay {
            for (cpu, had) in self.cpus.iter().enumerate() {
                let stays = had.filter(|n| order.contains(n) && !next.contains(&Some(*n)));
                next[cpu] = next[cpu].or(stays);
            }
        }
        for n in order {
            if !next.contains(&Some(n))
                && let Some(free) = next.iter_mut().find(|c| c.is_none())
            {
                *free = Some(n);
            }
        }
        self.cpus = next;
        self.happened = false;
        self.due = self.now + self.alpha().max(1);
    }

    /// Ticks for which MLLF puts off its next decision.
    fn alpha(&self) -> i64 {
        let ready = || (0..self.rows.len()).filter(|n| self.rows[*n].ready);
        let first = ready().map(|n| self.time_left(n)).min();
        let least = ready().map(|n| self.laxity(n)).min();
        first.zip(least).map_or(1, |(first, least)| first - least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn implicit(wcet: u32, period: u32) -> Task {
        Task { period, wcet, deadline: period, phase: 0, sporadic: false }
    }

    fn start(policy: Policy, cpus: usize, tasks: &[(u32, u32)]) -> Engine {
        let mut e = Engine::new(tasks.len(), cpus, policy);
        for (n, (wcet, period)) in tasks.iter().enumerate() {
            e.set(n, implicit(*wcet, *period));
        }
        e
    }

    /// A sporadic task is released no sooner than a period after the release before, and a request is not lost.
    #[test]
    fn sporadic_releases_keep_their_distance() {
        let mut e = Engine::new(1, 1, Policy::Llf);
        e.set(0, Task { period: 5, wcet: 1, deadline: 3, phase: 0, sporadic: true });
        let mut came = Vec::new();
        for t in 0..20 {
            if [2, 4, 15].contains(&t) {
                e.release(0);
            }
            let (events, _) = e.tick();
            if events.iter().any(|e| matches!(e, Event::Released(..))) {
                came.push(t);
            }
        }
        assert_eq!(came, [2, 7, 15]);
        assert_eq!(e.misses(), 0);
    }

    /// MLLF lets the one of two equals that has less work run to its end; LLF changes every other tick.
    #[test]
    fn mllf_puts_decisions_off() {
        let switches = |policy| {
            let mut e = start(policy, 1, &[(5, 10), (5, 10)]);
            let mut runs = Vec::new();
            for _ in 0..10 {
                e.tick();
                runs.push(e.cpus()[0]);
            }
            assert_eq!(e.misses(), 0);
            1 + runs.windows(2).filter(|w| w[0] != w[1]).count()
        };
        assert_eq!((switches(Policy::Llf), switches(Policy::Mllf)), (6, 2));
    }

    /// A task in a section keeps its CPU from a more urgent one, even where R5 is off; without its job the section counts for nothing.
    #[test]
    fn a_section_is_not_preempted() {
        let mut e = start(Policy::Edf, 2, &[(5, 20), (5, 19), (5, 18)]);
        e.tick();
        assert_eq!(e.cpus(), [Some(2), Some(1)]);
        e.set(0, implicit(1, 4));
        (e.held[1], e.stay) = (Some(1), false);
        e.tick();
        assert_eq!(e.cpus(), [Some(0), Some(1)]);
        e.done(1, e.job(1));
        e.tick();
        assert_eq!(e.cpus(), [Some(2), None]);
    }

    /// A DONE of an earlier job does not end a later one.
    #[test]
    fn a_late_done_is_without_effect() {
        let mut e = start(Policy::Llf, 1, &[(1, 2)]);
        e.tick();
        let job = e.job(0);
        e.tick();
        e.tick();
        assert!(!e.done(0, job) && e.ready(0) && e.done(0, job + 1));
    }
}
