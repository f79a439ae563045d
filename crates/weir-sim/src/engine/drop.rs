// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Jobs that end before their work is done: aborted at their deadline, skipped, or shed.
//!
//! A task whose job is dropped continues at its next release, whatever it was doing: it leaves its CPU,
//! the scheduler's pipes, or the object that it waits for, and releases the mutexes that it holds.

use weir_core::event::{Call, CpuNo, Event, TaskNo};

use super::Result;
use super::cpu::Mode;
use super::program::LoopFrame;
use super::sim::{Sim, refused};
use super::task::{NEVER, NONE, SPIN_LOCK, State, Wait};
use weir_model::workload::Op;

impl Sim<'_> {
    /// Notify observers of a dropped job.
    pub fn report_dropped(&mut self, no: TaskNo, job: u32) {
        self.obs.event(self.now, &Event::JobDropped { task: no, job });
    }

    /// Throw the open job of `no` away. Its program has a single release, at the beginning of its loops
    /// ([`super::program::Program::can_abort`]).
    pub fn abort_job(&mut self, no: TaskNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        task.job_open = false;
        let (job, cpu) = (task.job, task.cpu);
        let by = self.caller(cpu);
        self.report_dropped(no, job);
        self.node_done(no, by)?;
        let on = self.running_on_or_starting(no);
        if on != NONE {
            self.progress(on);
        }
        self.give_up(no, by)?;
        let goes_on = self.rewind(no);
        if on != NONE {
            // The task executes its release, or its end, by itself.
            let task = &mut self.tasks[no as usize];
            task.left = 0;
            task.penalty_ns = 0;
            if self.cpus[on as usize].mode == Mode::Run {
                return self.step(on);
            }
            return Ok(());
        }
        if !goes_on {
            return self.exit_off_cpu(no, by);
        }
        let task = &mut self.tasks[no as usize];
        task.pc += 1;
        task.left = 0;
        match task.backlog.as_mut().and_then(|b| b.pop()) {
            Some(next) => {
                task.take(next);
                self.publish_deadline(no, by)?;
                if self.tasks[no as usize].state == State::Blocked {
                    return self.wake_job(no, by);
                }
                self.account(by, Call::Notify);
                Ok(())
            }
            None => self.withdraw(no, by),
        }
    }

    /// The CPU that has this task or is about to begin it, or [`NONE`].
    fn running_on_or_starting(&self, no: TaskNo) -> CpuNo {
        if self.tasks[no as usize].state != State::Running {
            return NONE;
        }
        let on = self.running_on(no);
        if on != NONE {
            return on;
        }
        self.cpus.iter().position(|c| c.cur == no).map_or(NONE, |c| c as CpuNo)
    }

    /// Give back mutexes and places in queues; spinning ends.
    fn give_up(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        if let Some(what) = task.spins.take() {
            self.census.spinning -= 1;
            if what & SPIN_LOCK != 0 {
                self.objects.mutexes[(what & !SPIN_LOCK) as usize].waiters.retain(|&w| w != no);
            }
            self.objects.flags.iter_mut().for_each(|f| f.spinners.retain(|s| s.0 != no));
        }
        if task.stop_looking() {
            self.census.spinning -= 1;
        }
        let at = std::mem::replace(&mut task.at_barrier, NONE);
        if at != NONE {
            self.objects.barriers[at as usize].waiters.retain(|&w| w != no);
        }
        match self.tasks[no as usize].wait {
            Wait::No | Wait::Release | Wait::Time | Wait::Device => {}
            // It waits for nothing, but is not ready either.
            Wait::Sent => self.tasks[no as usize].wait = Wait::Time,
            Wait::Join | Wait::Vcpu(_) => {}
            Wait::Mutex(m) => {
                if !self.locking.has_line(m) {
                    self.objects.mutexes[m as usize].waiters.retain(|&w| w != no);
                }
                self.leave_queue(no, m, by)?;
            }
            Wait::Condition(c, _) => self.objects.conditions[c as usize].waiters.retain(|w| w.0 != no),
            Wait::Event(e) => self.objects.events[e as usize].waiters.retain(|&w| w != no),
            Wait::Barrier(b) => self.objects.barriers[b as usize].waiters.retain(|&w| w != no),
            Wait::Read(c) => self.objects.channels[c as usize].readers.retain(|r| r.0 != no),
            Wait::Write(c) => self.objects.channels[c as usize].writers.retain(|w| w.0 != no),
        }
        self.tasks[no as usize].wake_at = NEVER;
        while let Some(&mutex) = self.tasks[no as usize].held.last() {
            self.unlock(by, no, mutex)?;
        }
        // It may have been the one that was to ask for a mutex again, with others behind it.
        if self.locking.holds_up() {
            self.release_held_up(by, no)?;
        }
        Ok(())
    }

    /// Set the program back to its release, through the ends of the loops around it. `false`: the loops
    /// are done, and so is the task.
    fn rewind(&mut self, no: TaskNo) -> bool {
        let task = &mut self.tasks[no as usize];
        let program = &self.programs[task.program as usize];
        let depth = program.ops.iter().take_while(|op| matches!(op, Op::Loop { .. })).count();
        task.level = depth as u32;
        while task.level > 0 {
            let frame = &mut task.frames[task.level as usize - 1];
            frame.done += 1;
            if frame.left != u64::MAX {
                frame.left -= 1;
            }
            if frame.left == 0 {
                task.level -= 1;
                continue;
            }
            // Back into this loop, and into those within it from their beginning.
            for (level, op) in program.ops.iter().enumerate().take(depth).skip(task.level as usize) {
                if let Op::Loop { count } = op {
                    task.frames[level] = LoopFrame { left: count.unwrap_or(u64::MAX), done: 0 };
                }
            }
            task.level = depth as u32;
            task.pc = depth as u32;
            return true;
        }
        task.pc = program.ops.len() as u32;
        false
    }

    /// A task that is not on a CPU waits for its next release.
    fn withdraw(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        match task.state {
            State::Ready => {
                self.report_parted(no, false);
                let task = &mut self.tasks[no as usize];
                task.state = State::Blocked;
                task.wait = Wait::Release;
                self.census.ready -= 1;
                self.census.timed += 1;
                let id = self.tasks[no as usize].id;
                self.sched_on(by).block(by, id).map_err(|e| refused("block a task", &e))?;
                self.account(by, Call::Block);
            }
            State::Blocked => {
                if !task.wait.is_timed() {
                    self.census.timed += 1;
                }
                task.wait = Wait::Release;
            }
            State::Running | State::Gone => unreachable!("the task has no CPU and is alive"),
        }
        Ok(())
    }

    /// The end of a task that is not on a CPU.
    fn exit_off_cpu(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        if task.state == State::Ready {
            self.report_parted(no, false);
            self.census.ready -= 1;
        } else if task.wait.is_timed() {
            self.census.timed -= 1;
        }
        let task = &mut self.tasks[no as usize];
        task.state = State::Gone;
        task.wait = Wait::No;
        self.census.alive -= 1;
        self.obs.event(self.now, &Event::TaskExit { task: no });
        let id = self.tasks[no as usize].id;
        self.sched_on(by).exit(by, id).map_err(|e| refused("end a task", &e))?;
        self.account(by, Call::Exit);
        Ok(())
    }
}
