// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the engine decides, tick by tick: a model after the rules of Mancuso et al. and docs/hardware.md.
//!
//! A tick first lets time pass and jobs come and end, then decides. Between ticks programs report jobs complete and set tasks.

pub use weir_sim::device::{Policy, Task};

/// A limit of a task's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Ticks of work until it is replenished.
    pub budget: u32,
    /// Ticks from one replenishment to the next.
    pub replenish: u32,
}

/// What a task of high criticality has beside its parameters, which are those of the low mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct High {
    /// Execution time in the high mode.
    pub wcet: u32,
    /// Relative deadline in the low mode.
    pub deadline: u32,
}

/// What a task may have and most have not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    pub server: Option<Server>,
    pub high: Option<High>,
}

/// A task and its present job.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    task: Option<Task>,
    terms: Terms,
    /// Ticks of work until the replenishment at the tick behind it; none before the first job.
    budget: Option<(u32, i64)>,
    /// The job is of a low task and has lost its claim in the high mode.
    aside: bool,
    ready: bool,
    job: u8,
    /// Tick of the deadline, and of the earliest next release.
    deadline: i64,
    next: i64,
    /// Of a high task, in the high mode.
    left: u32,
    /// A release was asked for.
    asked: bool,
    missed: bool,
}

impl Row {
    fn withheld(&self) -> bool {
        self.budget.is_some_and(|(left, _)| left == 0)
    }

    /// Ticks that a high task may work in the high mode only.
    fn extra(&self) -> u32 {
        self.terms.high.zip(self.task).map_or(0, |(high, task)| high.wcet - task.wcet)
    }

    /// It has a job that may run.
    fn able(&self) -> bool {
        self.ready && !self.withheld()
    }

    /// The server after a tick, in which the task had a CPU for its job or not, and a job came or not.
    fn serve(&mut self, now: i64, worked: bool, came: bool) {
        let Some(server) = self.terms.server else { return };
        let full = (server.budget, now + i64::from(server.replenish));
        self.budget = match self.budget {
            None => came.then_some(full),
            Some((_, next)) if next == now => Some(full),
            Some((left, next)) => Some((left.saturating_sub(u32::from(worked)), next)),
        };
    }
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
    /// The high mode, whether a program asked for it, and how often it began.
    mode: bool,
    raised: bool,
    switches: u16,
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
            mode: false,
            raised: false,
            switches: 0,
            due: 0,
            happened: false,
        }
    }

    /// The task is there from now on; its first job comes at the next tick, or `phase` ticks later.
    pub fn set(&mut self, n: usize, task: Task) {
        self.set_on(n, task, Terms::default());
    }

    /// Likewise, with a server or a high task's times.
    pub fn set_on(&mut self, n: usize, task: Task, terms: Terms) {
        let row = &mut self.rows[n];
        self.happened |= row.ready;
        row.task = Some(task);
        row.terms = terms;
        row.budget = None;
        row.ready = false;
        row.asked = false;
        row.next = if task.sporadic { self.now } else { self.now + 1 + i64::from(task.phase) };
    }

    pub fn delete(&mut self, n: usize) {
        let row = &mut self.rows[n];
        self.happened |= row.ready;
        row.task = None;
        row.terms = Terms::default();
        row.budget = None;
        row.ready = false;
        row.asked = false;
    }

    /// The high mode begins at the next tick.
    pub fn raise(&mut self) {
        self.raised = true;
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
    /// Likewise, of the deadline that counts in this mode.
    pub fn time_left_now(&self, n: usize) -> i64 {
        let row = &self.rows[n];
        let sooner = match (row.terms.high, row.task) {
            (Some(high), Some(task)) if !self.mode => i64::from(task.deadline - high.deadline),
            _ => 0,
        };
        (self.time_left(n) - sooner).max(LATEST)
    }
    /// Work left in this mode.
    pub fn left_now(&self, n: usize) -> u32 {
        let row = &self.rows[n];
        row.left - if self.mode { 0 } else { row.extra() }
    }
    pub fn laxity(&self, n: usize) -> i64 {
        self.time_left_now(n) - i64::from(self.left_now(n))
    }
    /// Its budget is used up.
    pub fn withheld(&self, n: usize) -> bool {
        self.rows[n].withheld()
    }
    /// A job of a low task has lost its claim.
    pub fn aside(&self, n: usize) -> bool {
        self.rows[n].aside
    }
    pub fn high(&self, n: usize) -> bool {
        self.rows[n].terms.high.is_some()
    }
    /// The high mode, and how often it began.
    pub fn mode(&self) -> (bool, u16) {
        (self.mode, self.switches)
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
            Policy::Edf => (false, self.time_left_now(n)),
            Policy::Edzl if self.laxity(n) <= 0 => (false, 0),
            Policy::Edzl => (true, self.time_left_now(n)),
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
        let (mut stays, mut over) = (false, false);
        for n in 0..self.rows.len() {
            let runs = self.chosen(n);
            let row = &mut self.rows[n];
            let Some(task) = row.task else { continue };
            let worked = runs && row.ready;
            row.left -= u32::from(worked);
            if row.ready && row.left == 0 {
                row.ready = false;
                events.push(Event::Spent(n));
            }
            if row.ready && row.deadline == self.now {
                row.missed = true;
                self.misses += 1;
            }
            let comes = row.next <= self.now && (!task.sporadic || row.asked);
            if row.ready && !comes && row.terms.high.is_some() {
                stays = true;
                over |= worked && row.left == row.extra();
            }
            let withheld = row.withheld();
            row.serve(self.now, worked, comes);
            self.happened |= row.ready && row.withheld() != withheld;
            row.aside &= !comes;
            if comes {
                if row.ready {
                    events.push(Event::Dropped(n));
                }
                row.ready = true;
                row.asked = false;
                row.job = row.job.wrapping_add(1);
                row.left = task.wcet + row.extra();
                row.deadline = self.now + i64::from(task.deadline);
                row.next = self.now + i64::from(task.period);
                events.push(Event::Released(n, row.deadline));
            }
        }
        self.change_mode(stays, over);
        self.happened |= !events.is_empty();
        events
    }

    /// `stays`: a high job is unfinished; `over`: one has worked for its time in the low mode.
    fn change_mode(&mut self, stays: bool, over: bool) {
        let mode = self.raised || if self.mode { stays } else { over };
        self.happened |= mode != self.mode;
        self.switches = self.switches.wrapping_add(u16::from(mode && !self.mode));
        (self.mode, self.raised) = (mode, false);
        for row in &mut self.rows {
            row.aside = row.terms.high.is_none() && (row.aside || mode);
        }
    }

    fn decide(&mut self) {
        let mut order: Vec<usize> = (0..self.rows.len()).filter(|n| self.rows[*n].able()).collect();
        let held = |n: usize| self.held.contains(&Some(n));
        order.sort_by_key(|n| {
            (!held(*n), self.aside(*n), self.urgency(*n), !(self.keep && self.chosen(*n)), *n)
        });
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
        let able = || (0..self.rows.len()).filter(|n| self.rows[*n].able());
        let first = able().map(|n| self.time_left_now(n)).min();
        let least = able().map(|n| self.laxity(n)).min();
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

    /// A server of 2 ticks in 5 interrupts a job of 3, whose deadline passes meanwhile; the next replenishment lets it go on.
    #[test]
    fn a_budget_withholds_until_it_is_replenished() {
        let mut e = Engine::new(1, 1, Policy::Edf);
        let server = Some(Server { budget: 2, replenish: 5 });
        let task = Task { deadline: 4, ..implicit(3, 20) };
        e.set_on(0, task, Terms { server, high: None });
        let runs: Vec<bool> = (0..8)
            .map(|_| {
                e.tick();
                e.cpus()[0].is_some()
            })
            .collect();
        assert_eq!(runs, [true, true, false, false, false, true, false, false]);
        assert_eq!((e.misses(), e.ready(0)), (1, false));
    }

    /// A high job that needs more than expected begins the high mode, its own deadline counts, and the low job waits; its successor
    /// is served as ever once the high job is complete.
    #[test]
    fn an_overrun_sets_low_jobs_aside() {
        let mut e = Engine::new(2, 1, Policy::Edf);
        e.set(0, implicit(4, 8));
        let high = Some(High { wcet: 6, deadline: 5 });
        e.set_on(1, implicit(2, 16), Terms { server: None, high });
        let mut seen = Vec::new();
        for tick in 0..10 {
            e.tick();
            seen.push((e.cpus()[0].expect("there is work"), e.mode().0, e.aside(0)));
            if tick == 4 {
                assert!(e.done(1, 1));
            }
        }
        let low = [(1, false, false); 2];
        let high = [(1, true, true); 3];
        // The low mode is back a tick after the job is complete; what was set aside remains so until the next job, at tick 8.
        assert_eq!(seen[..2], low);
        assert_eq!(seen[2..5], high);
        assert_eq!(seen[5..8], [(0, false, true); 3]);
        assert_eq!(seen[8..], [(0, false, false); 2]);
        assert_eq!(e.mode(), (false, 1));
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
