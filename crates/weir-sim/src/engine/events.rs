// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The loop: which event is first, and what follows it.

use std::sync::atomic::Ordering;

use weir_core::event::CpuNo;

use super::guest::goes_first;
use super::queue::{Entry, Key, Kind};
use super::sim::Sim;
use super::task::{NEVER, NONE};
use weir_model::Result;

/// What is first of all.
#[derive(Clone, Copy)]
enum First {
    Cpu(CpuNo, Entry),
    Timer(Key),
    Guest(usize, Key),
}

impl Sim<'_> {
    /// When it ended, and whether from outside.
    pub fn events(&mut self) -> Result<(u64, bool)> {
        let horizon = match (self.cfg.duration_ns, self.workload.duration_ns) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(NEVER),
        };
        let attended = self.nested || self.watch.is_some() || self.cfg.checks;
        if attended { self.handle::<true>(horizon) } else { self.handle::<false>(horizon) }
    }

    /// Handle events until the horizon or another end. `ATTENDED`: there are guests, or somebody looks at the run after each event.
    fn handle<const ATTENDED: bool>(&mut self, horizon: u64) -> Result<(u64, bool)> {
        loop {
            let first = self.first::<ATTENDED>();
            let (time, finish) = match first {
                First::Cpu(_, entry) => (entry.time(), entry.is_finish()),
                First::Timer(key) | First::Guest(_, key) => (key.time(), key.is_finish()),
            };
            if self.census.alive | self.census.starts == 0 {
                return Ok((self.now, false));
            }
            if time >= horizon && (time > horizon || !finish) && !matches!(first, First::Timer(Key::NEVER)) {
                return Ok((horizon, false));
            }
            let stuck = match first {
                First::Cpu(..) => self.census.alive > 0 && self.movers() == 0,
                First::Timer(key) => self.is_stuck(key),
                First::Guest(..) => false,
            };
            if stuck {
                self.explain_standstill();
                return Ok((self.now, false));
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
                return Ok((self.now, true));
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
            if ATTENDED {
                self.settle_event()?;
            } else {
                self.queue_changes();
            }
        }
    }

    /// The first event of all. A CPU's is not in the queue until its next one is known.
    #[inline(always)]
    fn first<const ATTENDED: bool>(&mut self) -> First {
        let (c, entry) = self.goes_on;
        if c != NONE {
            self.goes_on.0 = NONE;
            return First::Cpu(c, entry);
        }
        let timer = self.timers.peek();
        let of_cpu = self.queue.comes_before(timer);
        if ATTENDED && self.nested {
            let own = if of_cpu { self.queue.peek() } else { timer };
            if let Some((g, key)) = self.first_guest()
                && goes_first(key, own)
            {
                return First::Guest(g, key);
            }
        }
        if !of_cpu {
            if self.large {
                self.look_ahead();
            }
            return First::Timer(timer);
        }
        let (c, entry) = self.queue.pop();
        self.rekey(c);
        if self.large {
            self.look_ahead();
        }
        First::Cpu(c, entry)
    }

    /// On a large machine what the next event needs is in no cache: let it be fetched while this one is handled.
    fn look_ahead(&self) {
        if let Some(c) = self.queue.first_cpu() {
            let (no, id) = self.on[c as usize];
            let cpu = &self.cpus[c as usize];
            weir_core::soon(cpu);
            weir_core::soon(&cpu.slice_ns);
            weir_core::soon(&cpu.calls);
            if let Some(task) = self.tasks.get(no as usize) {
                weir_core::soon(task);
                weir_core::soon(&task.penalty_ns);
                weir_core::soon(&task.frames);
                self.sched.soon(id);
                self.obs.soon(c, no);
            }
            if let Some(Some(pipe)) = self.plan.exits.get(c as usize) {
                self.charger.soon(*pipe);
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

    /// Now and then: whether the run goes on, for whoever waits for it. True if it is to end.
    fn look_up(&mut self) -> Result<bool> {
        if self.stands_still() {
            return Err(self.standing_clock());
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
            return Err(self.standing_clock());
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
        self.idle_timers = if matches!(key.kind(), Kind::Component | Kind::Slot | Kind::Message | Kind::Heat)
        {
            self.idle_timers + 1
        } else {
            0
        };
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
