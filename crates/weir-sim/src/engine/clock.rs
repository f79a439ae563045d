// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Time on CPUs: modes, progress of work, speeds that change meanwhile, the next event of each CPU.

use weir_core::event::{Call, CpuNo, Event, Stop};
use weir_core::{Msg, Topic};

use super::cpu::{FULL_SPEED, Mode, work_in};
use super::queue::{Entry, HORIZON};
use super::sim::Sim;
use super::task::{NEVER, NONE};
use weir_model::counters::table::times;
use weir_model::machine::LOCAL_DISTANCE;

/// A task's time in the node of its memory, in units of percent times distance.
const NEAR: u64 = 100 * LOCAL_DISTANCE as u64;

impl Sim<'_> {
    /// Account for what the task on `c` did up to now.
    #[inline(always)]
    pub fn progress(&mut self, c: CpuNo) {
        let cpu = &self.cpus[c as usize];
        if cpu.mode == Mode::Run && !cpu.held && cpu.since != self.now {
            self.progress_by(c, self.now - cpu.since);
        }
    }

    #[inline(never)]
    fn progress_by(&mut self, c: CpuNo, ns: u64) {
        if self.pmu.on {
            self.count(c, ns);
        }
        let cpu = &mut self.cpus[c as usize];
        let task = &mut self.tasks[cpu.cur as usize];
        task.ran_ns += ns;
        if task.spins.is_some() || task.at_barrier != NONE {
            self.totals.spin_ns += ns;
        }
        if task.spins.is_none() {
            let speed = if task.by_time { FULL_SPEED } else { cpu.speed };
            task.left = task.left.saturating_sub(work_in(ns, speed));
        }
        cpu.settle(self.now);
    }

    /// Change what `c` does; the speed of its SMT siblings follows.
    #[inline(always)]
    pub fn set_mode(&mut self, c: CpuNo, mode: Mode) {
        if self.cpus[c as usize].mode != mode {
            self.change_mode(c, mode);
        }
    }

    #[inline(always)]
    fn change_mode(&mut self, c: CpuNo, mode: Mode) {
        if self.nested && self.cpus[c as usize].mode == Mode::Run {
            self.leave_guest(c);
        }
        let cpu = &mut self.cpus[c as usize];
        let was_busy = cpu.is_busy();
        cpu.settle(self.now);
        cpu.since = self.now;
        cpu.mode = mode;
        if cpu.threads > 1 && was_busy != cpu.is_busy() {
            self.share_core(c);
        }
    }

    /// `c` has become busy or idle: what its core does for the other threads changes.
    #[inline(never)]
    fn share_core(&mut self, c: CpuNo) {
        let cpu = &self.cpus[c as usize];
        let core = cpu.core;
        let busy = &mut self.cores.busy[core as usize];
        *busy = if cpu.is_busy() { *busy + 1 } else { *busy - 1 };
        for i in 0..cpu.threads as usize {
            let sibling = self.cores.threads(core)[i];
            self.update_speed(sibling);
        }
    }

    /// Set the speed of `c` by its clock and by what its siblings do.
    pub fn update_speed(&mut self, c: CpuNo) {
        let cpu = &self.cpus[c as usize];
        let others = self.cores.busy[cpu.core as usize] - u32::from(cpu.threads > 1 && cpu.is_busy());
        self.refresh_rates(c, others > 0);
        let cpu = &self.cpus[c as usize];
        let mut speed = cpu.alone_speed;
        if others > 0 {
            speed = (speed * self.machine.smt_pct as u64 / 100).max(1);
        }
        if self.pmu.on {
            speed = times(speed, self.pmu.slow(c)).max(1);
        }
        if self.far_memory {
            speed = (speed * NEAR / self.memory_time(c)).max(1);
        }
        if speed != cpu.speed {
            self.progress(c);
            self.cpus[c as usize].speed = speed;
            if self.cpus[c as usize].mode == Mode::Run {
                self.rekey(c);
                if !self.guests.is_empty() {
                    self.pace_guest(c);
                }
            }
        }
    }

    /// What the task of `c` takes where it is, of [`NEAR`] in the node of its memory: the time that it waits for memory grows with the
    /// distance.
    fn memory_time(&self, c: CpuNo) -> u64 {
        let no = self.cpus[c as usize].cur;
        if no == NONE {
            return NEAR;
        }
        let fair = self.workload.fairness.tasks.get(&self.tasks[no as usize].spec);
        let Some(memory) = fair.and_then(|f| f.memory) else { return NEAR };
        let here = self.machine.shape.cpus[c as usize].node;
        let far = self.machine.distances[here as usize][memory.node as usize].saturating_sub(LOCAL_DISTANCE);
        NEAR + u64::from(memory.bound_pct) * u64::from(far)
    }

    /// The next event of `c` is to be computed again. To be called after every change of its state; done
    /// once, when the present event has been handled.
    #[inline(always)]
    pub fn rekey(&mut self, c: CpuNo) {
        self.cpus[c as usize].rekey(c, &mut self.changed);
    }

    /// Queue the next events of all CPUs that have changed after a timer. Where only one has, and is the first of all, it
    /// goes on without the queue: its event.
    #[inline(always)]
    pub fn next_or_queue(&mut self) -> Option<(CpuNo, Entry)> {
        let [c] = self.changed[..] else {
            self.queue_changes();
            return None;
        };
        self.changed.clear();
        let entry = self.next_of(c);
        if self.queue.goes_first(entry, self.timers.peek()) {
            self.queue.take_out(c);
            return Some((c, entry));
        }
        self.queue.put(c, entry);
        None
    }

    /// Queue the next events of all CPUs that have changed.
    #[inline(never)]
    pub fn queue_changes(&mut self) {
        while let Some(c) = self.changed.pop() {
            let entry = self.next_of(c);
            self.queue.put(c, entry);
            if self.within.is_some() {
                self.note_change(c);
            }
        }
    }

    /// The next event of `c` by its state, which is up to date from now on.
    #[inline(always)]
    pub fn next_of(&mut self, c: CpuNo) -> Entry {
        let cpu = &mut self.cpus[c as usize];
        cpu.changed = false;
        if cpu.held {
            return Entry::IDLE;
        }
        match cpu.mode {
            Mode::Run => {
                let at = self.tasks[cpu.cur as usize].done_at(cpu.since, cpu.speed);
                let at = at.min(cpu.slice_end).min(cpu.tick_at).max(self.now);
                if at >= HORIZON { Entry::IDLE } else { Entry::finish(at) }
            }
            Mode::Idle | Mode::Kernel if cpu.choosing && cpu.cur == NONE => {
                Entry::choose(cpu.busy_until.max(self.now))
            }
            Mode::Kernel => Entry::finish(cpu.busy_until.max(self.now)),
            Mode::Idle | Mode::Offline => Entry::IDLE,
        }
    }

    /// Kernel work keeps `c` busy until `end`; its task pauses.
    #[inline(always)]
    pub fn enter_kernel(&mut self, c: CpuNo, end: u64) {
        let cpu = &mut self.cpus[c as usize];
        if cpu.mode != Mode::Kernel || cpu.held {
            return self.pause_for_kernel(c, end);
        }
        cpu.busy_until = cpu.busy_until.max(end);
        cpu.rekey(c, &mut self.changed);
    }

    #[inline(never)]
    fn pause_for_kernel(&mut self, c: CpuNo, end: u64) {
        if self.cpus[c as usize].mode == Mode::Offline {
            return;
        }
        self.progress(c);
        self.set_mode(c, Mode::Kernel);
        let cpu = &mut self.cpus[c as usize];
        if cpu.held {
            // It is done when the host runs it again.
            cpu.left_ns += end.saturating_sub(self.now.max(cpu.busy_until));
        } else {
            cpu.busy_until = cpu.busy_until.max(end);
        }
        cpu.rekey(c, &mut self.changed);
    }

    /// Notify observers once that `c` has nothing to do, or has work again.
    #[inline]
    pub fn report_idle(&mut self, c: CpuNo, idle: bool) {
        let cpu = &mut self.cpus[c as usize];
        if cpu.reported_idle != idle {
            cpu.reported_idle = idle;
            self.obs.event(self.now, &Event::Idle { cpu: c, idle });
        }
    }

    /// Report to observers the kernel work that `c` has done up to now.
    #[inline(always)]
    pub fn flush_calls(&mut self, c: CpuNo) {
        self.cpus[c as usize].report_calls(c, self.now, self.obs);
    }

    /// The event of `c` that is not a choice: work done, slice over, or kernel work done.
    pub fn finish(&mut self, c: CpuNo) -> super::Result<()> {
        let cpu = &mut self.cpus[c as usize];
        if cpu.mode == Mode::Kernel {
            cpu.report_calls(c, self.now, self.obs);
            if !cpu.to_wake.is_empty() {
                return self.wake_one_more(c);
            }
            if cpu.cur != NONE {
                return self.go_on(c);
            }
            self.set_mode(c, Mode::Idle);
            self.report_idle(c, true);
            self.rekey(c);
            return Ok(());
        }
        let task = cpu.cur;
        self.progress(c);
        let t = &self.tasks[task as usize];
        if t.spins.is_none() && !t.inside && t.left == 0 {
            self.step(c)?;
        }
        let cpu = &self.cpus[c as usize];
        if cpu.mode == Mode::Run && cpu.cur == task {
            if self.now >= cpu.slice_end {
                self.charge_flat(self.caller(c), self.costs.timer_interrupt);
                return self.part(c, Stop::SliceEnd, true);
            }
            if self.now >= cpu.tick_at {
                self.tick(c)?;
            }
            self.rekey(c);
        }
        Ok(())
    }

    /// The tick of a CPU that runs a task; idle ones have none.
    fn tick(&mut self, c: CpuNo) -> super::Result<()> {
        self.cpus[c as usize].tick_at = self.next_tick(c);
        let h = self.caller(c);
        let msg = Msg { cpu: Some(c), ..Msg::default() };
        self.notify_scheduler(h, Topic::Tick, &msg)?;
        self.account(h, Call::Notify);
        Ok(())
    }

    #[inline]
    fn next_tick(&self, c: CpuNo) -> u64 {
        if self.ticking { self.tick_after(c) } else { NEVER }
    }

    fn tick_after(&self, c: CpuNo) -> u64 {
        let (period, phase) = (self.costs.tick_period, self.cpus[c as usize].tick_phase);
        match self.now.checked_sub(phase) {
            Some(ns) => phase + (ns / period + 1) * period,
            // The first one.
            None => phase - (phase - self.now - 1) / period * period,
        }
    }

    /// Begin or resume the task of `c`.
    pub fn go_on(&mut self, c: CpuNo) -> super::Result<()> {
        if self.cpus[c as usize].starting {
            self.begin(c);
        }
        self.set_mode(c, Mode::Run);
        let tick_at = self.next_tick(c);
        let cpu = &mut self.cpus[c as usize];
        cpu.since = self.now;
        cpu.tick_at = tick_at;
        let t = &mut self.tasks[cpu.cur as usize];
        if t.spins.is_none() && t.left == 0 {
            return self.step(c);
        }
        t.chill(cpu.speed);
        cpu.rekey(c, &mut self.changed);
        Ok(())
    }

    /// The chosen task starts to run on `c`.
    #[inline(always)]
    fn begin(&mut self, c: CpuNo) {
        let cpu = &mut self.cpus[c as usize];
        if std::mem::take(&mut cpu.reported_idle) {
            self.obs.event(self.now, &Event::Idle { cpu: c, idle: false });
        }
        self.idle_timers = 0;
        let no = cpu.cur;
        let task = &mut self.tasks[no as usize];
        let migrated = task.cpu != NONE && task.cpu != c;
        let switched = cpu.last != no;
        let waited_ns = self.now - task.ready_ns;
        let wakeup = task.woken;
        task.cpu = c;
        task.ran_ns = 0;
        task.woken = false;
        let cold_ns = task.penalty_ns;
        cpu.starting = false;
        cpu.last = no;
        cpu.slice_end = self.now.saturating_add(cpu.slice_ns);
        cpu.slice_since = self.now;
        cpu.switches += u64::from(switched);
        self.totals.runs += 1;
        self.totals.switches += u64::from(switched);
        self.totals.migrations += u64::from(migrated);
        if task.gang != NONE {
            self.note_start(no);
        }
        if self.within.is_some() {
            self.note_urgent(c, no);
        }
        self.obs.event(self.now, &Event::Run { task: no, cpu: c, migrated, switched, wakeup, waited_ns });
        if self.cfg.causes && cold_ns > 0 {
            self.obs.event(self.now, &Event::Refill { task: no, ns: cold_ns });
        }
        self.begin_stint(c);
    }
}
