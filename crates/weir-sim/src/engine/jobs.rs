// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Creation of tasks; release, completion and lateness of jobs.
//!
//! A program with `Release` ops has one job per release. Any other program has a job from each wake-up
//! by time or event (sleep, timer, suspend, condition) to the next such wait, the first from its
//! start; waits for mutexes, barriers, channels and devices are part of the job.

use weir_core::event::{Call, CpuNo, Event, Stop, TaskNo};
use weir_core::{Msg, Topic};

use super::Result;
use super::cpu::Mode;
use super::inherit::Urgency;
use super::interpret::Next;
use super::program::LoopFrame;
use super::queue::{Key, Kind, Phase};
use super::sim::{Sim, refused};
use super::task::{Backlog, NEVER, NONE, State, Task, Wait};
use weir_model::workload::{OnMiss, Op};

impl Sim<'_> {
    /// The CPU where a task comes into being that nobody forks: in turn each of those that it may use,
    /// so that schedulers without a balancer have something to do everywhere.
    pub fn home(&self, template: u32) -> CpuNo {
        if let Some(c) = self.gang_home(template) {
            return c;
        }
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
        let charging = self.charging;
        self.charging &= !free;
        let done = self.create_task(template, by);
        self.charging = charging;
        done
    }

    fn create_task(&mut self, template: u32, by: CpuNo) -> Result<()> {
        let workload = self.workload;
        let spec = &workload.tasks[template as usize];
        let no = self.tasks.len() as TaskNo;
        let h = self.caller(by);
        let id = self.sched_on(h).task_new(h, u64::from(no)).map_err(|e| refused("create a task", &e))?;
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
        self.pmu.add(template, no);
        if !self.guests.is_empty() {
            self.note_vcpu(no);
        }
        self.census.alive += 1;
        self.enter_graph(no);
        let instance = &mut self.instances_of[template as usize];
        *instance += 1;
        if *instance == 1 {
            self.obs.event(self.now, &Event::TaskNew { task: no, name: &spec.name, group: &spec.group });
        } else {
            let name = format!("{}-{instance}", spec.name);
            self.obs.event(self.now, &Event::TaskNew { task: no, name: &name, group: &spec.group });
        }
        self.report_allowed(no);
        self.join_gang(template, no);
        let value = spec.priority as i64 as u64;
        self.notify_scheduler(h, Topic::Priority, &Msg { task: Some(id), value, ..Msg::default() })?;
        if self.tasks[no as usize].cpus.is_some() {
            let mask = self.tasks[no as usize].cpus.cloned();
            self.notify_scheduler(h, Topic::Affinity, &Msg { task: Some(id), mask, ..Msg::default() })?;
        }
        if isa != 0 {
            self.notify_scheduler(
                h,
                Topic::Isa,
                &Msg { task: Some(id), value: isa.into(), ..Msg::default() },
            )?;
        }
        self.publish_context(h, no)?;
        if no == 0 {
            self.publish_groups(h)?;
        }
        self.publish_classes(h, template, id)?;
        self.publish_gang(h, no)?;
        if self.programs[program as usize].has_release {
            if let Some(release) = self.first_release(no) {
                if release > self.now {
                    let task = &mut self.tasks[no as usize];
                    task.state = State::Blocked;
                    task.wait = Wait::Release;
                    task.home = by;
                    self.census.timed += 1;
                    self.account(h, Call::Notify);
                    return Ok(());
                }
                self.begin_upcoming(no, by)?;
            }
        } else if let Some(event) = self.first_await(no) {
            // Activated before it came into being.
            if let Some(at) = self.objects.events[event as usize].pending.pop_front() {
                self.wakeup_job(no, at, by)?;
            } else {
                let task = &mut self.tasks[no as usize];
                task.state = State::Blocked;
                task.wait = Wait::Event(event);
                self.objects.events[event as usize].waiters.push_back(no);
                self.account(h, Call::Notify);
                return Ok(());
            }
        } else {
            self.wakeup_job(no, self.now, by)?;
        }
        self.wake_job(no, by)
    }

    /// If the program begins by awaiting an activation, the task waits for that from the beginning.
    fn first_await(&mut self, no: TaskNo) -> Option<u32> {
        let task = &mut self.tasks[no as usize];
        let ops = self.programs[task.program as usize].ops;
        let depth = ops.iter().position(|op| !matches!(op, Op::Loop { count } if *count != Some(0)))?;
        let (Op::Await { event } | Op::Take { event }) = ops[depth] else { return None };
        for (frame, op) in task.frames.iter_mut().zip(ops) {
            if let Op::Loop { count } = op {
                *frame = LoopFrame { left: count.unwrap_or(u64::MAX), done: 0 };
            }
        }
        task.level = depth as u32;
        task.pc = depth as u32 + 1;
        Some(event)
    }

    /// If the program begins with a release (loops around it do not matter), execute that much of it
    /// without a CPU: the task then comes into being with its first job.
    fn first_release(&mut self, no: TaskNo) -> Option<u64> {
        let task = &self.tasks[no as usize];
        let ops = self.programs[task.program as usize].ops;
        let depth = ops.iter().position(|op| !matches!(op, Op::Loop { count } if *count != Some(0)))?;
        let op = &ops[depth];
        if !op.is_release() {
            return None;
        }
        let task = &mut self.tasks[no as usize];
        for (frame, op) in task.frames.iter_mut().zip(ops) {
            if let Op::Loop { count } = op {
                *frame = LoopFrame { left: count.unwrap_or(u64::MAX), done: 0 };
            }
        }
        task.level = depth as u32;
        task.pc = depth as u32 + 1;
        let release = self.draw_release(no, op);
        self.arm_upcoming(no);
        Some(release)
    }

    /// Work out the next release of a task and keep it as its upcoming one.
    fn draw_release(&mut self, no: TaskNo, op: &Op) -> u64 {
        let task = &mut self.tasks[no as usize];
        let rng = task.release_rng.as_mut().unwrap_or(&mut task.rng);
        let (nominal, period_ns, deadline_ns, jitter_ns) = match *op {
            Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns, extra_ns } => {
                if task.releases > 0 && extra_ns > 0 {
                    task.release_shift_ns += rng.between(0, extra_ns);
                }
                let since = (task.releases as u64).saturating_mul(period_ns);
                let nominal = offset_ns.saturating_add(since).saturating_add(task.release_shift_ns);
                (nominal, period_ns, deadline_ns, jitter_ns)
            }
            Op::Arrive { ref arrivals, offset_ns, period_ns, deadline_ns, jitter_ns } => {
                let arrival = task.flow.get_or_insert_default().next(rng, arrivals);
                (offset_ns.saturating_add(arrival), period_ns, deadline_ns, jitter_ns)
            }
            _ => unreachable!("called for releases only"),
        };
        let late = if jitter_ns > 0 { rng.between(0, jitter_ns) } else { 0 };
        let release = task.start_ns.saturating_add(nominal).saturating_add(late);
        task.releases += 1;
        task.period_ns = period_ns;
        task.upcoming = (release.max(self.now), release, release.saturating_add(deadline_ns));
        self.refile(no);
        release
    }

    /// Queue the timer that wakes a task.
    pub fn queue_wake(&mut self, at: u64, no: TaskNo) {
        let place = self.tasks[no as usize].spec;
        self.timers.push(Key::of_task(at, Kind::Wake, place, no));
    }

    /// Queue the timer of the upcoming release if it lies ahead.
    fn arm_upcoming(&mut self, no: TaskNo) {
        let at = self.tasks[no as usize].upcoming.0;
        if at > self.now {
            self.queue_wake(at, no);
        }
    }

    /// The upcoming release becomes the task's job; where releases can be foreseen, the next one is
    /// upcoming from now on.
    fn begin_upcoming(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        let (_, release, deadline) = std::mem::replace(&mut task.upcoming, (NEVER, 0, 0));
        task.job_release_ns = release;
        task.job_deadline_ns = deadline;
        self.foresee(no);
        self.release_job(no, by)
    }

    /// Draw the next release if it can be foreseen, and queue its timer.
    fn foresee(&mut self, no: TaskNo) {
        let task = &self.tasks[no as usize];
        let program = &self.programs[task.program as usize];
        if program.releases.is_some_and(|n| u64::from(task.releases) < n) {
            let ops = program.ops;
            self.draw_release(no, &ops[program.release as usize]);
            let at = self.tasks[no as usize].upcoming.0;
            self.queue_wake(at, no);
        }
    }

    /// A task on `c` executes a release: the job before is done, and it waits for the next one or, late,
    /// begins it.
    pub fn release_op(&mut self, c: CpuNo, no: TaskNo, op: &Op) -> Result<Next> {
        self.job_done(no);
        self.node_done(no, c)?;
        let task = &mut self.tasks[no as usize];
        let program = &self.programs[task.program as usize];
        if program.releases.is_some() && task.releases > 0 {
            let Some(next) = task.backlog.as_mut().and_then(|b| b.pop()) else {
                return self.wait(c, no, Wait::Release);
            };
            task.take(next);
            self.publish_deadline(no, c)?;
            if !self.may_join(no) {
                self.tasks[no as usize].pc += 1;
                return self.wait(c, no, Wait::Join);
            }
        } else {
            if self.draw_release(no, op) > self.now {
                self.arm_upcoming(no);
                return self.wait(c, no, Wait::Release);
            }
            self.begin_upcoming(no, c)?;
        }
        // The task is late for its own next job: the scheduler weighs it against the others again.
        self.part(c, Stop::Yield, false)?;
        Ok(Next::Left)
    }

    /// The upcoming release is due. A task that waits for it is woken, one that still has another job
    /// gets it later.
    fn release_due(&mut self, no: TaskNo) -> Result<()> {
        self.deadline_passed(no)?;
        let task = &self.tasks[no as usize];
        if task.state == State::Gone {
            return Ok(());
        }
        if task.wait == Wait::Release {
            let h = self.caller(if task.cpu == NONE { task.home } else { task.cpu });
            self.charge_flat(h, self.costs.timer_interrupt);
            self.begin_upcoming(no, h)?;
            return self.wake_job(no, h);
        }
        let now = self.now;
        let task = &mut self.tasks[no as usize];
        let (_, release_ns, deadline) = std::mem::replace(&mut task.upcoming, (NEVER, 0, 0));
        let late = task.job_open && (task.job_missed || task.job_deadline_ns <= now);
        let on_miss = self.workload.tasks[task.spec as usize].on_miss;
        let job = self.announce_job(no, release_ns, deadline);
        if on_miss == OnMiss::Skip && late {
            self.report_miss(no, job, deadline);
            self.report_dropped(no, job);
            self.foresee(no);
            return Ok(());
        }
        let waiting = Backlog { job, release_ns, deadline_ns: deadline, missed: deadline <= now };
        self.tasks[no as usize].backlog.get_or_insert_default().push(waiting);
        self.foresee(no);
        if deadline <= now {
            self.report_miss(no, job, deadline);
        } else {
            self.arm_deadline(no, deadline);
        }
        Ok(())
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

    /// A release is due, or the time for which a task waited.
    pub fn timed_wake(&mut self, no: TaskNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        // A virtual CPU may come to it later than it was due.
        if task.upcoming.0 <= self.now {
            return self.release_due(no);
        }
        if task.wake_at > self.now {
            // The wait was called off.
            return Ok(());
        }
        let due = std::mem::replace(&mut self.tasks[no as usize].wake_at, NEVER);
        let task = &self.tasks[no as usize];
        let wait = task.wait;
        let h = self.caller(task.cpu);
        if wait == Wait::Sent {
            return self.admit_woken(no, h);
        }
        self.charge_flat(h, self.costs.timer_interrupt);
        if wait == Wait::Time {
            self.wakeup_job(no, due, h)?;
        }
        self.admit_woken(no, h)
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

    /// At the end: activations that their task has not come to are jobs, too, and late ones among them are misses.
    pub fn announce_pending(&mut self) {
        for no in 0..self.tasks.len() as TaskNo {
            let task = &self.tasks[no as usize];
            let spec = &self.workload.tasks[task.spec as usize];
            let Some(timing) = spec.timing.filter(|_| task.state != State::Gone) else { continue };
            let awaited = spec.program.iter().find_map(|op| match op {
                Op::Await { event } => Some(*event as usize),
                _ => None,
            });
            let Some(event) = awaited else { continue };
            while let Some(due_ns) = self.objects.events[event].pending.pop_front() {
                let deadline = due_ns.saturating_add(timing.deadline_ns);
                let job = self.announce_job(no, due_ns, deadline);
                if deadline <= self.now {
                    self.report_miss(no, job, deadline);
                }
            }
        }
    }

    /// The task's next job is released: its number.
    fn announce_job(&mut self, no: TaskNo, due_ns: u64, deadline: u64) -> u32 {
        let task = &mut self.tasks[no as usize];
        let job = task.next_job;
        task.next_job += 1;
        self.totals.jobs += 1;
        let deadline_ns = (deadline != NEVER).then_some(deadline);
        self.obs.event(self.now, &Event::JobRelease { task: no, job, due_ns, deadline_ns });
        job
    }

    /// The job noted in the task begins; its deadline is published.
    pub fn release_job(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let now = self.now;
        let task = &self.tasks[no as usize];
        let deadline = task.job_deadline_ns;
        let job = self.announce_job(no, task.job_release_ns, deadline);
        let task = &mut self.tasks[no as usize];
        task.job = job;
        task.job_open = true;
        task.job_missed = false;
        if deadline != NEVER {
            self.publish_deadline(no, by)?;
            if deadline > now {
                self.arm_deadline(no, deadline);
            } else {
                self.miss(no);
            }
        }
        Ok(())
    }

    /// Look at the job again at its deadline. Where that is the time of the next release, as with most
    /// periodic tasks, the release does it.
    fn arm_deadline(&mut self, no: TaskNo, deadline: u64) {
        // A release in a guest may come late, a deadline does not.
        let apart = deadline != self.tasks[no as usize].upcoming.0 || self.within.is_some();
        if deadline != NEVER && apart {
            self.timers.push(Key::new(deadline, Phase::Timer, Kind::Deadline, no));
        }
    }

    /// Report to the scheduler what the job that begins may need (JOB, if a component wants to know and the
    /// task's parameters are known), then until when (DEADLINE).
    pub fn publish_deadline(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        if task.job_deadline_ns == NEVER && task.boost.is_none() {
            return Ok(());
        }
        let urgency = self.note_urgency(no);
        self.publish_timing(no, &urgency, by)
    }

    /// Report to the scheduler relative deadline and deadline, as they are or as a mutex has made them.
    pub fn publish_timing(&mut self, no: TaskNo, urgency: &Urgency, by: CpuNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        let h = self.caller(by);
        // Where there is none, 0 is published.
        let known = |ns: u64| if ns == NEVER { 0 } else { ns };
        if self.job_wanted {
            let timing = self.workload.tasks[task.spec as usize].timing;
            // A task without parameters of its own is known by the relative deadline that it inherits, as long as it does.
            if timing.is_some() || self.locking.any() {
                let value = timing.map_or(0, |t| t.wcet_ns);
                let value2 = known(urgency.relative_ns);
                let msg = Msg { task: Some(task.id), value, value2, ..Msg::default() };
                self.notify_scheduler(h, Topic::Job, &msg)?;
            }
        }
        let task = &self.tasks[no as usize];
        let msg = Msg {
            task: Some(task.id),
            value: known(urgency.deadline_ns),
            value2: known(urgency.period_ns),
            ..Msg::default()
        };
        self.notify_scheduler(h, Topic::Deadline, &msg)
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
        let response_ns = now - task.job_release_ns.min(now);
        self.totals.jobs_completed += 1;
        self.obs.event(now, &Event::JobDone { task: no, job, response_ns, missed });
    }

    /// The deadline of a job that may long be complete.
    pub fn deadline_passed(&mut self, no: TaskNo) -> Result<()> {
        let now = self.now;
        let task = &self.tasks[no as usize];
        let due = task.job_open && !task.job_missed && task.job_deadline_ns == now;
        if !due && task.backlog.is_none() {
            return Ok(());
        }
        let abort = self.workload.tasks[task.spec as usize].on_miss == OnMiss::Abort;
        if due {
            self.miss(no);
            if abort {
                self.abort_job(no)?;
            }
        }
        while let Some(job) = self.tasks[no as usize].backlog.as_mut().and_then(|b| b.late(now, abort)) {
            self.report_miss(no, job, now);
            if abort {
                self.report_dropped(no, job);
            }
        }
        Ok(())
    }

    fn miss(&mut self, no: TaskNo) {
        let task = &mut self.tasks[no as usize];
        task.job_missed = true;
        let (job, deadline_ns) = (task.job, task.job_deadline_ns);
        self.report_miss(no, job, deadline_ns);
    }

    fn report_miss(&mut self, no: TaskNo, job: u32, deadline_ns: u64) {
        self.totals.misses += 1;
        self.obs.event(self.now, &Event::DeadlineMiss { task: no, job, deadline_ns });
    }
}
