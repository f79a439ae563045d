// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The loop: which event is first, and what follows it.

use std::sync::atomic::Ordering;

use weir_core::event::{CpuNo, TaskNo};

use super::Result;
use super::guest::goes_first;
use super::queue::{Entry, Key, Kind};
use super::sim::Sim;
use super::task::NEVER;

/// What is first of all.
#[derive(Clone, Copy)]
enum First {
    Cpu(CpuNo, Entry),
    Timer(Key),
    Guest(usize, Key),
}

/// How a run ends.
enum End {
    At(u64),
    /// It was stopped from outside.
    Outside,
}

impl First {
    #[inline(always)]
    fn time(self) -> u64 {
        match self {
            First::Cpu(_, entry) => entry.time(),
            First::Timer(key) | First::Guest(_, key) => key.time(),
        }
    }

    /// There is no event any more.
    #[inline(always)]
    fn is_none(self) -> bool {
        matches!(self, First::Timer(Key::NEVER))
    }
}

impl Sim<'_> {
    /// When it ended, and whether from outside.
    pub fn events(&mut self) -> Result<(u64, bool)> {
        let horizon = match (self.cfg.duration_ns, self.workload.duration_ns) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(NEVER),
        };
        let attended = self.nested || self.watch.is_some() || self.cfg.checks;
        let ended = if attended { self.handle_attended(horizon) } else { self.handle(horizon) };
        Ok(match ended? {
            End::At(ns) => (ns, false),
            End::Outside => (self.now, true),
        })
    }

    /// Handle events until the end.
    fn handle(&mut self, horizon: u64) -> Result<End> {
        loop {
            let timer = self.timers.peek();
            let next = if self.queue.comes_before(timer) {
                let first = self.queue.pop();
                if self.large {
                    self.fetch_further(first.0);
                }
                self.look_ahead();
                Some(first)
            } else {
                self.look_ahead();
                if let Some(end) = self.move_on(First::Timer(timer), horizon)? {
                    return Ok(end);
                }
                self.timers.pop();
                self.timer(timer)?;
                self.next_or_queue()
            };
            if let Some(first) = next
                && let Some(end) = self.go_through(first, horizon)?
            {
                return Ok(end);
            }
        }
    }

    /// Handle an event of a CPU, which is not in the queue any more, and those that follow it and come before all others.
    #[inline(always)]
    fn go_through(&mut self, first: (CpuNo, Entry), horizon: u64) -> Result<Option<End>> {
        let (c, mut entry) = first;
        loop {
            if let Some(end) = self.move_on(First::Cpu(c, entry), horizon)? {
                return Ok(Some(end));
            }
            // Its next event is worked out below, whatever happens.
            self.cpus[c as usize].changed = true;
            if entry.is_finish() {
                self.finish(c)?;
            } else {
                self.choose(c)?;
            }
            if !self.changed.is_empty() {
                self.queue_changes();
            }
            entry = self.next_of(c);
            if !self.queue.goes_first(entry, self.timers.peek()) {
                self.queue.put(c, entry);
                return Ok(None);
            }
        }
    }

    /// The same where there are guests, or somebody looks at the run after each event.
    fn handle_attended(&mut self, horizon: u64) -> Result<End> {
        loop {
            let timer = self.timers.peek();
            let of_cpu = self.queue.comes_before(timer);
            let own = if of_cpu { self.queue.peek() } else { timer };
            let guest = self.first_guest().filter(|(_, key)| goes_first(*key, own));
            let first = match guest {
                Some((g, key)) => First::Guest(g, key),
                None if of_cpu => {
                    let (c, entry) = self.queue.pop();
                    self.rekey(c);
                    First::Cpu(c, entry)
                }
                None => First::Timer(timer),
            };
            if let Some(end) = self.move_on(first, horizon)? {
                return Ok(end);
            }
            match first {
                First::Cpu(c, entry) if entry.is_finish() => self.finish(c)?,
                First::Cpu(c, _) => self.choose(c)?,
                First::Timer(key) => {
                    self.timers.pop();
                    self.timer(key)?;
                }
                First::Guest(g, _) => self.guest_event(g)?,
            }
            self.settle_event()?;
        }
    }

    /// An event is about to be handled, and time moves on to it; or the run ends before it.
    #[inline(always)]
    fn move_on(&mut self, first: First, horizon: u64) -> Result<Option<End>> {
        let time = first.time();
        // A task that runs and does not only spin is one that can make something happen.
        if (time >= horizon || self.census.running <= self.census.spinning || first.is_none())
            && let Some(end) = self.end_before(first, horizon)
        {
            return Ok(Some(End::At(end)));
        }
        if time > self.now {
            self.advance(time);
            if time >= self.contention_ns {
                self.contention_ns = time + self.cfg.contention_every_ns;
                self.report_contention();
            }
        }
        self.totals.events += 1;
        // Often: an observer may be what ends the run, at its first miss for example.
        if self.totals.events & 0xf == 0 && self.look_up()? {
            return Ok(Some(End::Outside));
        }
        Ok(None)
    }

    /// When the run ends, if it does before its next event.
    #[inline(never)]
    fn end_before(&mut self, first: First, horizon: u64) -> Option<u64> {
        if self.census.alive | self.census.starts == 0 {
            return Some(self.now);
        }
        let (time, finish) = match first {
            First::Cpu(_, entry) => (entry.time(), entry.is_finish()),
            First::Timer(key) | First::Guest(_, key) => (key.time(), key.is_finish()),
        };
        if time >= horizon && (time > horizon || !finish) && !first.is_none() {
            return Some(horizon);
        }
        let stuck = match first {
            First::Cpu(..) => self.census.alive > 0 && self.movers() == 0,
            First::Timer(key) => self.is_stuck(key),
            First::Guest(..) => false,
        };
        if stuck {
            self.explain_standstill();
            return Some(self.now);
        }
        None
    }

    /// On a large machine what the next event needs is in no cache: let it be fetched while this one is handled.
    #[inline(always)]
    fn look_ahead(&self) {
        if self.large {
            self.fetch_next();
        }
    }

    #[inline(never)]
    fn fetch_next(&self) {
        if let Some(c) = self.queue.first_cpu() {
            let (no, id) = self.on[c as usize];
            let cpu = &self.cpus[c as usize];
            weir_core::soon(cpu);
            weir_core::soon(&cpu.slice_ns);
            weir_core::soon(&cpu.calls);
            weir_core::soon(&cpu.threads);
            self.sched.soon(c, id);
            self.fetch_task(c, no);
            let exit = self.plan.exits.get(c as usize).copied().flatten();
            for pipe in exit.into_iter().chain(self.plan.entries.get(c as usize).copied()) {
                self.charger.soon(pipe);
            }
        }
        let timer = self.timers.second();
        if let Some(task) = self.tasks.get(timer.index() as usize).filter(|_| timer.kind() == Kind::Wake) {
            weir_core::soon(task);
            weir_core::soon(&task.penalty_ns);
            weir_core::soon(&task.frames);
            weir_core::soon(&task.upcoming);
        }
    }

    /// What is kept of a task that runs on `c`, or will.
    pub fn fetch_task(&self, c: CpuNo, no: TaskNo) {
        if let Some(task) = self.tasks.get(no as usize) {
            weir_core::soon(task);
            weir_core::soon(&task.penalty_ns);
            weir_core::soon(&task.frames);
            self.obs.soon(c, no);
        }
    }

    /// The event of `c` is handled now: what the records refer to that were fetched while the one before was handled.
    #[inline(never)]
    fn fetch_further(&self, c: CpuNo) {
        let (no, _) = self.on[c as usize];
        self.sched.now_due(c);
        if let Some(task) = self.tasks.get(no as usize) {
            let program = &self.programs[task.program as usize];
            weir_core::soon(program);
            weir_core::soon(&task.upcoming);
        }
    }

    /// Now and then: whether the run goes on, for whoever waits for it. True if it is to end.
    fn look_up(&mut self) -> Result<bool> {
        if self.stands_still() {
            return Err(self.standing_clock().into());
        }
        if self.totals.events & 0xfff == 0
            && let Some(progress) = self.cfg.progress
        {
            progress(self.now, self.totals.events);
        }
        Ok(self.cfg.stop.is_some_and(|s| s.load(Ordering::Relaxed)))
    }

    /// The first event that is not a guest's, and whether it is a CPU's.
    #[inline]
    pub fn first_own(&mut self) -> (Key, bool) {
        let timer = self.timers.peek();
        if self.queue.comes_before(timer) { (self.queue.peek(), true) } else { (timer, false) }
    }

    /// Advance the clock to the time of an event.
    #[inline(always)]
    pub fn advance(&mut self, time: u64) {
        self.now = time;
        self.queue.advance(time);
        self.moved_at = self.totals.events;
        self.sched.set_now(time);
    }

    /// An event of a guest's own.
    fn own_event(&mut self, key: Key, of_cpu: bool) -> Result<()> {
        if of_cpu {
            return if key.is_choose() { self.choose(key.index()) } else { self.finish(key.index()) };
        }
        self.timers.pop();
        self.timer(key)
    }

    /// What follows every event.
    #[inline]
    fn settle_event(&mut self) -> Result<()> {
        if self.watch.is_some() {
            self.heed()?;
        }
        if self.nested && !self.lost.is_empty() {
            self.report_lost()?;
        }
        self.queue_changes();
        if self.cfg.checks {
            self.check();
        }
        Ok(())
    }

    /// One event of a guest: `key`, its next one.
    pub fn turn(&mut self, key: Key) -> Result<()> {
        let (own, of_cpu) = self.first_own();
        let inner = self.first_guest().filter(|(_, first)| goes_first(*first, own));
        if key.time() > self.now {
            self.advance(key.time());
        }
        self.totals.events += 1;
        if self.stands_still() {
            return Err(self.standing_clock().into());
        }
        match inner {
            Some((g, _)) => self.guest_event(g)?,
            None => self.own_event(own, of_cpu)?,
        }
        self.settle_event()
    }

    /// A timer or an interrupt.
    pub fn timer(&mut self, key: Key) -> Result<()> {
        let index = key.index();
        if self.within.is_some() && self.put_off(key) {
            return Ok(());
        }
        self.idle_timers = if key.kind().is_routine() { self.idle_timers + 1 } else { 0 };
        match key.kind() {
            Kind::Machine => self.machine_event(index),
            Kind::Command => self.command(index),
            Kind::Step => self.scenario_step(index),
            Kind::Sample => self.sample(),
            Kind::Deadline => self.deadline_passed(index),
            Kind::Start => {
                self.census.starts -= 1;
                let home = self.home(index);
                self.create(index, home, self.now == 0)
            }
            Kind::Wake => self.timed_wake(index),
            Kind::Component => self.component_timer(),
            Kind::Kick => self.interrupt(index, false),
            Kind::Remote => self.remote_arrives(index),
            Kind::Preempt => self.interrupt(index, true),
            Kind::Message => self.message_arrives(index),
            Kind::Heat => self.look_at_heat(),
            Kind::Clock => self.set_clock(index),
            Kind::Slot => {
                self.slot_begins(index);
                Ok(())
            }
            Kind::Cpu => unreachable!("events of CPUs are in the other queue"),
        }
    }
}
