// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tasks come into being; jobs: when they are released, done, late.
//!
//! A program with `Release` ops has one job a release. Any other program has a job from each wake-up
//! by time or event (sleep, timer, suspend, condition) to the next such wait, the first from its
//! start; waits for mutexes, barriers, channels and devices are part of the job.

use weir_core::event::{Call, CpuNo, Event, Observer, TaskNo};
use weir_core::{Msg, Topic};

use super::cpu::Mode;
use super::program::LoopFrame;
use super::queue::{Key, Kind, Phase};
use super::sim::{Sim, refused};
use super::task::{NEVER, NONE, State, Task, Wait};
use crate::Result;
use crate::workload::Op;

impl<O: Observer> Sim<'_, O> {
    /// The CPU where a task comes into being that nobody forks: in turn each of those that it may use,
    /// so that schedulers without a balancer have something to do everywhere.
    pub fn home(&self, template: u32) -> CpuNo {
        let isa = self.isa_of[template as usize];
        let fits = |c: CpuNo| {
            self.cpus.get(c as usize).is_some_and(|cpu| cpu.mode != Mode::Offline && cpu.isa == isa)
        };
        let turn = self.tasks.len() as u32;
        let found = match &self.workload.tasks[template as usize].cpus {
            Some(set) => {
                let start = (turn % set.len().max(1)) as usize;
                set.iter().skip(start).chain(set.iter().take(start)).find(|&c| fits(c))
            }
            None => {
                let n = self.cpus.len() as u32;
                let start = turn % n;
                (start..n).chain(0..start).find(|&c| fits(c))
            }
        };
        found.unwrap_or(self.boot_cpu)
    }

    /// Create a task from a template, on CPU `by`; `free`: before the clock starts, at no cost.
    pub fn create(&mut self, template: u32, by: CpuNo, free: bool) -> Result<()> {
        let workload = self.workload;
        let spec = &workload.tasks[template as usize];
        let no = self.tasks.len() as TaskNo;
        let h = self.caller(by);
        let id = self.sched.task_new(h, u64::from(no)).map_err(|e| refused("create a task", &e))?;
        let program = self.program_of[template as usize];
        let isa = self.isa_of[template as usize];
        let task = Task::new(
            no,
            id,
            template,
            spec,
            program,
            &self.programs[program as usize],
            isa,
            self.cfg.seed,
            self.now,
        );
        self.tasks.push(task);
        self.census.alive += 1;
        let instance = &mut self.instances_of[template as usize];
        *instance += 1;
        if *instance == 1 {
            self.obs.event(self.now, &Event::TaskNew { task: no, name: &spec.name, group: &spec.group });
        } else {
            let name = format!("{}-{instance}", spec.name);
            self.obs.event(self.now, &Event::TaskNew { task: no, name: &name, group: &spec.group });
        }
        let value = spec.priority as i64 as u64;
        self.tell_scheduler(h, Topic::Priority, &Msg { task: Some(id), value, ..Msg::default() })?;
        if spec.cpus.is_some() {
            let mask = spec.cpus.clone();
            self.tell_scheduler(h, Topic::Affinity, &Msg { task: Some(id), mask, ..Msg::default() })?;
        }
        if isa != 0 {
            self.tell_scheduler(h, Topic::Isa, &Msg { task: Some(id), value: isa.into(), ..Msg::default() })?;
        }
        if free {
            self.sched.clear_ops();
            self.notices = 0;
        }
        if self.programs[program as usize].has_release {
            if let Some(release) = self.first_release(no)
                && release > self.now
            {
                let task = &mut self.tasks[no as usize];
                task.state = State::Blocked;
                task.wait = Wait::Time;
                task.home = by;
                self.census.timed += 1;
                self.timers.push(Key::new(release, Phase::Timer, Kind::Wake, no));
                self.account(h, Call::Notify);
                return Ok(());
            } else if self.tasks[no as usize].releases > 0 {
                self.release_job(no, by)?;
            }
        } else {
            self.wakeup_job(no, self.now, by)?;
        }
        if free { self.wake_free(no, by) } else { self.wake(no, by) }
    }

    /// A wake-up before the clock starts: nobody pays for it.
    fn wake_free(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let charging = std::mem::replace(&mut self.charging, false);
        let done = self.wake(no, by);
        self.charging = charging;
        done
    }

    /// If the program begins with a release (loops around it do not matter), execute that much of it
    /// without a CPU: the task then comes into being with its first job.
    fn first_release(&mut self, no: TaskNo) -> Option<u64> {
        let task = &self.tasks[no as usize];
        let ops = self.programs[task.program as usize].ops;
        let depth = ops.iter().position(|op| !matches!(op, Op::Loop { count } if *count != Some(0)))?;
        let Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns, extra_ns } = ops[depth] else {
            return None;
        };
        let task = &mut self.tasks[no as usize];
        for (frame, op) in task.frames.iter_mut().zip(ops) {
            if let Op::Loop { count } = op {
                *frame = LoopFrame { left: count.unwrap_or(u64::MAX), done: 0 };
            }
        }
        task.level = depth as u32;
        task.pc = depth as u32 + 1;
        Some(self.next_release(no, offset_ns, period_ns, deadline_ns, jitter_ns, extra_ns))
    }

    /// Time of the next release; the job's release and deadline are noted in the task.
    pub fn next_release(
        &mut self,
        no: TaskNo,
        offset: u64,
        period: u64,
        deadline: u64,
        jitter: u64,
        extra: u64,
    ) -> u64 {
        let task = &mut self.tasks[no as usize];
        if task.releases > 0 && extra > 0 {
            task.release_shift_ns += task.rng.between(0, extra);
        }
        let nominal = task
            .start_ns
            .saturating_add(offset)
            .saturating_add((task.releases as u64).saturating_mul(period))
            .saturating_add(task.release_shift_ns);
        task.releases += 1;
        let release = nominal.saturating_add(if jitter > 0 { task.rng.between(0, jitter) } else { 0 });
        task.job_release_ns = release;
        task.job_deadline_ns = release.saturating_add(deadline);
        task.period_ns = period;
        release
    }

    /// Next expiry of a timer, or, if that is already past, when it was.
    pub fn timer_expiry(
        &mut self,
        no: TaskNo,
        timer: u32,
        period: u64,
        relative: bool,
        shared: bool,
    ) -> std::result::Result<u64, u64> {
        let now = self.now;
        let task = &mut self.tasks[no as usize];
        let next = if shared {
            self.objects.timers[timer as usize].get_or_insert(task.start_ns)
        } else {
            let t = &mut task.timers[timer as usize];
            if *t == NEVER {
                *t = task.start_ns;
            }
            t
        };
        *next = next.saturating_add(period);
        let at = *next;
        if at > now {
            return Ok(at);
        }
        if relative {
            *next = now;
        }
        Err(at)
    }

    /// A wait of this kind ends a job of this task.
    pub fn ends_job(&self, no: TaskNo, wait: Wait) -> bool {
        let task = &self.tasks[no as usize];
        !self.programs[task.program as usize].has_release
            && matches!(wait, Wait::Time | Wait::Event(_) | Wait::Condition(..))
    }

    /// The time that a task waited for has come.
    pub fn timed_wake(&mut self, no: TaskNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        debug_assert!(task.wait.is_timed(), "only tasks that wait for a time have such an event");
        let (cpu, wait) = (if task.cpu == NONE { task.home } else { task.cpu }, task.wait);
        let h = self.caller(cpu);
        self.charge_flat(h, self.costs.timer_interrupt);
        if self.programs[self.tasks[no as usize].program as usize].has_release {
            let task = &self.tasks[no as usize];
            if wait == Wait::Time && !task.job_open && task.releases > 0 {
                self.release_job(no, h)?;
            }
        } else if wait == Wait::Time {
            self.wakeup_job(no, self.now, h)?;
        }
        self.wake(no, h)
    }

    /// A job of a program without releases begins.
    pub fn wakeup_job(&mut self, no: TaskNo, release_ns: u64, by: CpuNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        if self.programs[task.program as usize].has_release || task.job_open {
            return Ok(());
        }
        let timing = self.workload.tasks[task.spec as usize].timing;
        task.job_release_ns = release_ns;
        task.job_deadline_ns = timing.map_or(NEVER, |t| release_ns.saturating_add(t.deadline_ns));
        task.period_ns = timing.map_or(0, |t| t.period_ns);
        self.release_job(no, by)
    }

    /// The job noted in the task begins; the scheduler is told its deadline.
    pub fn release_job(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let now = self.now;
        let task = &mut self.tasks[no as usize];
        task.job_open = true;
        task.job_missed = false;
        let (job, deadline, id, period) = (task.job, task.job_deadline_ns, task.id, task.period_ns);
        let deadline_ns = (deadline != NEVER).then_some(deadline);
        self.totals.jobs += 1;
        self.obs.event(now, &Event::JobRelease { task: no, job, deadline_ns });
        if deadline != NEVER {
            let h = self.caller(by);
            let msg = Msg { task: Some(id), value: deadline, value2: period, ..Msg::default() };
            self.tell_scheduler(h, Topic::Deadline, &msg)?;
            if deadline > now {
                self.timers.push(Key::new(deadline, Phase::Timer, Kind::Deadline, no));
            } else {
                self.miss(no);
            }
        }
        Ok(())
    }

    /// The open job, if any, is complete.
    pub fn job_done(&mut self, no: TaskNo) {
        let now = self.now;
        let task = &mut self.tasks[no as usize];
        if !std::mem::replace(&mut task.job_open, false) {
            return;
        }
        let late = now > task.job_deadline_ns;
        if late && !task.job_missed {
            self.miss(no);
        }
        let task = &mut self.tasks[no as usize];
        let (job, missed) = (task.job, task.job_missed);
        task.job += 1;
        let response_ns = now - task.job_release_ns.min(now);
        self.totals.jobs_completed += 1;
        self.obs.event(now, &Event::JobDone { task: no, job, response_ns, missed });
    }

    /// The deadline of a job that may long be complete.
    pub fn deadline_passed(&mut self, no: TaskNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        if task.job_open && !task.job_missed && task.job_deadline_ns == self.now {
            self.miss(no);
        }
        Ok(())
    }

    fn miss(&mut self, no: TaskNo) {
        let task = &mut self.tasks[no as usize];
        task.job_missed = true;
        self.totals.misses += 1;
        let (job, deadline_ns) = (task.job, task.job_deadline_ns);
        self.obs.event(self.now, &Event::DeadlineMiss { task: no, job, deadline_ns });
    }
}
