// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The interpreter of task programs.
//!
//! A task on a CPU executes ops until one takes time or removes the task from the CPU. The program counter
//! advances before an op blocks, because the waker completes the op.

use weir_core::event::{CpuNo, Event, Stop, TaskNo};
use weir_core::{Msg, Topic};

use super::Result;
use super::cpu::{FULL_SPEED, Mode};
use super::program::LoopFrame;
use super::sim::{Sim, find_isa};
use super::sync::Pass;
use super::task::{NEVER, NONE, SPIN_LOCK, Wait};
use weir_model::Error;
use weir_model::workload::{BarrierCounter, BarrierWait, Op, Protocol};

/// Ops that a task may execute at one instant before it is taken to hang.
const MAX_STEPS: u32 = 20_000_000;

/// What the interpreter does after an op.
pub enum Next {
    /// The op is done; continue unless scheduler code has made the CPU busy.
    Op,
    /// The op takes time on the CPU.
    Work,
    /// The task has left the CPU.
    Left,
    /// The CPU runs a guest.
    Inside,
}

/// A task that offers its CPU while it waits looks at most so many times at once: that long another task may wait for it, if it does not
/// preempt it.
const MOST_LOOKS: u32 = 64;

impl Sim<'_> {
    /// Let the task on `c` execute ops from now on. Leaves the CPU with its next event set.
    pub fn step(&mut self, c: CpuNo) -> Result<()> {
        let no = self.cpus[c as usize].cur;
        for _ in 0..MAX_STEPS {
            match self.execute(c, no)? {
                Next::Left => return Ok(()),
                Next::Inside => {
                    self.rekey(c);
                    return Ok(());
                }
                Next::Work => {
                    let task = &self.tasks[no as usize];
                    if task.spins.is_none() && task.left == 0 {
                        continue;
                    }
                    self.expect_work(c);
                    let cpu = &mut self.cpus[c as usize];
                    self.tasks[no as usize].chill(cpu.speed);
                    cpu.rekey(c, &mut self.changed);
                    return Ok(());
                }
                // Scheduler code was run for this op: the next one follows when it is paid for.
                Next::Op if self.cpus[c as usize].mode != Mode::Run => return Ok(()),
                Next::Op => {}
            }
        }
        Err(self.hanging(no).into())
    }

    fn execute(&mut self, c: CpuNo, no: TaskNo) -> Result<Next> {
        let task = &mut self.tasks[no as usize];
        if task.at_barrier != NONE {
            if task.looks > 0 {
                return self.look_again(c, no);
            }
            let barrier = std::mem::replace(&mut task.at_barrier, NONE);
            return self.wait(c, no, Wait::Barrier(barrier));
        }
        let program = &self.programs[task.program as usize];
        let ops = program.ops;
        let pc = task.pc as usize;
        let Some(op) = ops.get(pc) else {
            self.job_done(no);
            self.node_done(no, c)?;
            self.exit(c)?;
            return Ok(Next::Left);
        };
        task.pc += 1;
        match *op {
            Op::Run { ns } => self.work(no, ns, false),
            Op::RunBetween { min_ns, max_ns } => {
                let ns = task.rng.between(min_ns, max_ns);
                self.work(no, ns, false)
            }
            Op::RunDrawn { ref dist } => {
                let ns = dist.draw(&mut task.rng);
                self.work(no, ns, false)
            }
            Op::Runtime { ns } => self.work(no, ns, true),
            Op::Memory { bytes } => {
                let ns = self.costs.memory(bytes);
                self.work(no, ns, true)
            }
            Op::Sleep { ns: 0 } => Ok(Next::Op),
            Op::Sleep { ns } => self.sleep(c, no, self.now.saturating_add(ns), Wait::Time),
            Op::Until { ns } => self.sleep(c, no, ns, Wait::Time),
            Op::Io { bytes } => {
                let ns = self.costs.io(bytes);
                self.sleep(c, no, self.now.saturating_add(ns), Wait::Device)
            }
            Op::Timer { timer, period_ns, relative, shared } => {
                match self.timer_expiry(no, timer, period_ns, relative, shared) {
                    Ok(at) => self.sleep(c, no, at, Wait::Time),
                    Err(nominal) => {
                        self.job_done(no);
                        self.wakeup_job(no, nominal, c)?;
                        Ok(Next::Op)
                    }
                }
            }
            Op::Release { .. } | Op::Arrive { .. } => self.release_op(c, no, op),
            Op::Join { .. } => match self.may_join(no) {
                true => Ok(Next::Op),
                false => self.wait(c, no, Wait::Join),
            },
            Op::Lock { mutex } => match self.take(no, mutex) {
                Pass::Go => {
                    self.refresh(no, c)?;
                    Ok(Next::Op)
                }
                Pass::Wait if self.locking.protocol(mutex) == Protocol::Spin => {
                    self.tasks[no as usize].spins = Some(SPIN_LOCK | mutex);
                    self.census.spinning += 1;
                    Ok(Next::Work)
                }
                Pass::Wait => {
                    let next = self.wait(c, no, Wait::Mutex(mutex))?;
                    self.refresh_obstacle(no, c)?;
                    Ok(next)
                }
            },
            Op::Unlock { mutex } => {
                self.unlock(c, no, mutex)?;
                Ok(Next::Op)
            }
            Op::Wait { condition, mutex } => self.wait_for(c, no, condition, mutex),
            Op::Signal { condition } => {
                self.signal(c, condition)?;
                Ok(Next::Op)
            }
            Op::Broadcast { condition } => {
                while self.signal(c, condition)? {}
                Ok(Next::Op)
            }
            Op::Sync { condition, mutex } => {
                self.signal(c, condition)?;
                self.wait_for(c, no, condition, mutex)
            }
            Op::Barrier { barrier } => {
                let counted = std::mem::replace(&mut task.counted, NONE) == barrier;
                let ns = if counted { 0 } else { self.count_at_barrier(c, barrier) };
                if ns > 0 {
                    let task = &mut self.tasks[no as usize];
                    task.counted = barrier;
                    task.pc -= 1;
                    return self.work(no, ns, true);
                }
                let (pass, others) = self.objects.barriers[barrier as usize].arrive(no);
                let spins = |t: &TaskNo| self.tasks[*t as usize].at_barrier != NONE;
                let (spinning, blocked): (Vec<_>, _) = others.into_iter().partition(spins);
                for other in spinning {
                    self.end_looks(other)?;
                    let ns = self.hear_of_barrier(c, other, barrier);
                    self.let_go(other, ns);
                }
                self.wake_all(blocked, c)?;
                match (pass, self.workload.barrier_wait.get(&barrier)) {
                    (Pass::Go, _) => Ok(Next::Op),
                    (Pass::Wait, Some(&BarrierWait::Spin { ns })) if ns > 0 => {
                        self.tasks[no as usize].at_barrier = barrier;
                        self.work(no, ns, true)
                    }
                    (Pass::Wait, Some(&BarrierWait::Yield { ns })) => {
                        self.tasks[no as usize].at_barrier = barrier;
                        self.tasks[no as usize].looks = 1;
                        self.census.spinning += 1;
                        self.work(no, ns, true)
                    }
                    (Pass::Wait, _) => self.wait(c, no, Wait::Barrier(barrier)),
                }
            }
            Op::Suspend { event } => {
                self.objects.events[event as usize].waiters.push_back(no);
                self.wait(c, no, Wait::Event(event))
            }
            Op::Resume { event } => {
                let others = Vec::from(std::mem::take(&mut self.objects.events[event as usize].waiters));
                for other in &others {
                    self.wakeup_job(*other, self.now, c)?;
                }
                self.wake_all(others, c)?;
                Ok(Next::Op)
            }
            Op::Await { event } => {
                self.job_done(no);
                let Some(at) = self.objects.events[event as usize].pending.pop_front() else {
                    self.objects.events[event as usize].waiters.push_back(no);
                    return self.wait(c, no, Wait::Event(event));
                };
                self.wakeup_job(no, at, c)?;
                self.part(c, Stop::Yield, false)?;
                Ok(Next::Left)
            }
            Op::Take { event } => {
                self.job_done(no);
                let Some(at) = self.objects.events[event as usize].pending.pop_front() else {
                    self.objects.events[event as usize].waiters.push_back(no);
                    return self.wait(c, no, Wait::Event(event));
                };
                self.wakeup_job(no, at, c)?;
                Ok(Next::Op)
            }
            Op::Activate { event } => {
                let now = self.now;
                let object = &mut self.objects.events[event as usize];
                let Some(other) = object.waiters.pop_front() else {
                    object.pending.push_back(now);
                    return Ok(Next::Op);
                };
                self.wakeup_job(other, now, c)?;
                self.wake(other, c)?;
                Ok(Next::Op)
            }
            Op::Yield => {
                self.part(c, Stop::Yield, true)?;
                Ok(Next::Left)
            }
            Op::Write { channel, bytes } => {
                let mut wakes = std::mem::take(&mut self.wakes);
                let pass = self.objects.channels[channel as usize].write(no, bytes, &mut wakes);
                self.transfer(c, no, pass, wakes, Wait::Write(channel))
            }
            Op::Read { channel, bytes } => {
                let mut wakes = std::mem::take(&mut self.wakes);
                let pass = self.objects.channels[channel as usize].read(no, bytes, &mut wakes);
                self.transfer(c, no, pass, wakes, Wait::Read(channel))
            }
            Op::Raise { flag, by } => {
                self.raise(flag, by);
                Ok(Next::Op)
            }
            Op::SpinUntil { flag, value, per_iteration } => {
                let round = match task.level {
                    0 => 0,
                    l => task.frames[l as usize - 1].done,
                };
                let want = if per_iteration { value.saturating_mul(round + 1) } else { value };
                match self.objects.flags[flag as usize].spin(no, want) {
                    Pass::Go => Ok(Next::Op),
                    Pass::Wait => {
                        task.spins = Some(flag);
                        self.census.spinning += 1;
                        Ok(Next::Work)
                    }
                }
            }
            Op::Fork { template } => {
                self.create(template, c, false)?;
                Ok(Next::Op)
            }
            Op::SetIsa { ref isa } => {
                let name = &self.workload.tasks[task.spec as usize].name;
                let isa = find_isa(self.machine, isa.as_deref(), name)?;
                self.set_isa(no, isa, c)?;
                if isa == self.cpus[c as usize].isa {
                    return Ok(Next::Op);
                }
                self.part(c, Stop::Yield, false)?;
                Ok(Next::Left)
            }
            Op::SetPriority { priority } => {
                if priority == task.priority {
                    return Ok(Next::Op);
                }
                self.set_priority(no, priority, c)?;
                self.part(c, Stop::Yield, true)?;
                Ok(Next::Left)
            }
            Op::SetAffinity { ref cpus } => {
                task.cpus = cpus.as_ref();
                self.publish_affinity(no, c)?;
                if self.tasks[no as usize].may_run_on(c) {
                    return Ok(Next::Op);
                }
                self.part(c, Stop::Yield, false)?;
                Ok(Next::Left)
            }
            Op::Loop { count } => {
                if count == Some(0) {
                    task.pc = program.jump[pc] + 1;
                } else {
                    let left = count.unwrap_or(u64::MAX);
                    task.frames[task.level as usize] = LoopFrame { left, done: 0 };
                    task.level += 1;
                }
                Ok(Next::Op)
            }
            Op::LoopEnd => {
                let frame = &mut task.frames[task.level as usize - 1];
                frame.done += 1;
                if frame.left != u64::MAX {
                    frame.left -= 1;
                }
                if frame.left > 0 {
                    task.pc = program.jump[pc] + 1;
                } else {
                    task.level -= 1;
                }
                Ok(Next::Op)
            }
            Op::Gang { change } => {
                self.request_change(c, no, change)?;
                Ok(Next::Op)
            }
            Op::Group { group } => {
                self.join_group(no, group)?;
                Ok(Next::Op)
            }
            Op::Marker { ref text, number } => {
                self.obs.event(self.now, &Event::Marker { text });
                let msg = Msg { cpu: Some(c), task: Some(task.id), value: number, ..Msg::default() };
                self.announce(c, Topic::Marker, &msg, no)?;
                Ok(Next::Op)
            }
            Op::Publish { ref what } => {
                let about = what.is_about_its_task().then_some(no);
                self.publish_for(c, what, about)?;
                Ok(Next::Op)
            }
            Op::Request { topic } => {
                self.request_for(c, topic, no)?;
                Ok(Next::Op)
            }
            Op::Vcpu { guest, vcpu } => self.be_vcpu(c, no, guest, vcpu),
        }
    }

    fn work(&mut self, no: TaskNo, ns: u64, by_time: bool) -> Result<Next> {
        let task = &mut self.tasks[no as usize];
        task.left = ns.saturating_mul(FULL_SPEED);
        task.by_time = by_time;
        Ok(Next::Work)
    }

    /// Block until `at`.
    pub fn sleep(&mut self, c: CpuNo, no: TaskNo, at: u64, wait: Wait) -> Result<Next> {
        if at <= self.now {
            return Ok(Next::Op);
        }
        self.tasks[no as usize].wake_at = at;
        self.queue_wake(at, no);
        self.wait(c, no, wait)
    }

    pub fn wait(&mut self, c: CpuNo, no: TaskNo, wait: Wait) -> Result<Next> {
        if self.ends_job(no, wait) {
            self.job_done(no);
        }
        self.block(c, wait)?;
        Ok(Next::Left)
    }

    /// Release a mutex on behalf of `no`; its next owner is woken.
    pub fn unlock(&mut self, c: CpuNo, no: TaskNo, mutex: u32) -> Result<()> {
        if self.locking.has_line(mutex) && self.objects.mutexes[mutex as usize].owner == Some(no) {
            return self.unlock_by_protocol(c, no, mutex);
        }
        let done = self.objects.mutexes[mutex as usize].unlock(no);
        if done.is_ok() {
            let held = &mut self.tasks[no as usize].held;
            if let Some(at) = held.iter().rposition(|&m| m == mutex) {
                held.remove(at);
            }
        }
        match done {
            Ok(Some(next)) => {
                let task = &mut self.tasks[next as usize];
                task.held.push(mutex);
                if task.spins.is_some() {
                    self.census.spinning -= 1;
                    self.let_go(next, 0);
                    return Ok(());
                }
                self.wake(next, c)
            }
            Ok(None) => Ok(()),
            Err(()) => {
                let task = &self.workload.tasks[self.tasks[no as usize].spec as usize].name;
                let text = format!(
                    "task `{task}` unlocks `{}`, which it does not hold",
                    self.workload.mutexes[mutex as usize]
                );
                self.warn(text);
                Ok(())
            }
        }
    }

    /// Condition variable: give up the mutex (if held), wait.
    fn wait_for(&mut self, c: CpuNo, no: TaskNo, condition: u32, mutex: u32) -> Result<Next> {
        if self.objects.mutexes[mutex as usize].owner == Some(no) {
            self.unlock(c, no, mutex)?;
        }
        self.objects.conditions[condition as usize].waiters.push_back((no, mutex));
        self.wait(c, no, Wait::Condition(condition, mutex))
    }

    /// Let the longest waiter of a condition continue, which first needs its mutex. `false`: no task waits.
    fn signal(&mut self, c: CpuNo, condition: u32) -> Result<bool> {
        let Some((other, mutex)) = self.objects.conditions[condition as usize].waiters.pop_front() else {
            return Ok(false);
        };
        self.wakeup_job(other, self.now, c)?;
        match self.take(other, mutex) {
            Pass::Go => {
                self.refresh(other, c)?;
                self.wake(other, c)?;
            }
            Pass::Wait => {
                self.tasks[other as usize].wait = Wait::Mutex(mutex);
                if self.cfg.causes {
                    self.report_wait(other, Wait::Mutex(mutex));
                }
                self.refresh_obstacle(other, c)?;
            }
        }
        Ok(true)
    }

    fn transfer(
        &mut self,
        c: CpuNo,
        no: TaskNo,
        pass: Pass,
        mut wakes: Vec<TaskNo>,
        wait: Wait,
    ) -> Result<Next> {
        // As of Linux's pipes and sockets: who writes or reads is about to wait for the other side.
        let h = self.caller(c);
        if !wakes.is_empty() {
            self.sched_on(h).wakes_and_leaves(h, true);
            for other in wakes.drain(..) {
                self.wake(other, c)?;
            }
            self.sched_on(h).wakes_and_leaves(h, false);
        }
        self.wakes = wakes;
        match pass {
            Pass::Go => Ok(Next::Op),
            Pass::Wait => self.wait(c, no, wait),
        }
    }

    /// Raise a flag; running spinners continue at once, the others when they run again.
    pub fn raise(&mut self, flag: u32, by: u64) {
        let mut done = std::mem::take(&mut self.wakes);
        self.objects.flags[flag as usize].raise(by, &mut done);
        for no in done.drain(..) {
            self.census.spinning -= 1;
            self.let_go(no, 0);
        }
        self.wakes = done;
    }

    /// The task on `c` has looked at its barrier, which is still closed: it offers its CPU to others, and looks again once it has one.
    /// Where nobody took the CPU to work, the next look stands for twice as many.
    fn look_again(&mut self, c: CpuNo, no: TaskNo) -> Result<Next> {
        let task = &mut self.tasks[no as usize];
        let offered = std::mem::replace(&mut task.offered, NEVER);
        if offered == NEVER {
            task.offered = self.now;
            self.part(c, Stop::Yield, true)?;
            return Ok(Next::Left);
        }
        task.looks =
            if self.cpus[c as usize].worked < offered { (2 * task.looks).min(MOST_LOOKS) } else { 1 };
        let ns = u64::from(task.looks) * self.look_ns(no);
        self.work(no, ns, true)
    }

    /// How long a task that waits by offering its CPU looks at its barrier each time.
    pub fn look_ns(&self, no: TaskNo) -> u64 {
        match self.workload.barrier_wait.get(&self.tasks[no as usize].at_barrier) {
            Some(BarrierWait::Yield { ns }) => *ns,
            _ => 0,
        }
    }

    /// The barrier at which `no` looks is about to open: what it counted so far was in passes that are over.
    fn end_looks(&mut self, no: TaskNo) -> Result<()> {
        let on = self.running_on(no);
        if on == NONE || self.tasks[no as usize].looks <= 1 || self.cpus[on as usize].mode != Mode::Run {
            return Ok(());
        }
        self.progress(on);
        let counts = self.end_stint(on, no);
        self.publish_counters(on, no, counts)?;
        self.begin_stint(on);
        Ok(())
    }

    /// How many times the task on `c` would have passed through the scheduler in the stint of so many cycles that ends now. (One with more
    /// than a single look has nothing but looks.)
    pub fn passes(&self, c: CpuNo, no: TaskNo, cycles: u64) -> u64 {
        if self.tasks[no as usize].looks <= 1 {
            return 1;
        }
        let ns = u128::from(cycles) * 1_000_000_000 / u128::from(self.cpus[c as usize].hz);
        ((ns as u64).saturating_add(self.look_ns(no) / 2))
            .checked_div(self.look_ns(no))
            .map_or(1, |n| n.max(1))
    }

    /// How long a task on `c` takes to count itself at a barrier.
    fn count_at_barrier(&mut self, c: CpuNo, barrier: u32) -> u64 {
        let Some(how) = self.workload.barrier_counter.get(&barrier) else { return 0 };
        let object = &mut self.objects.barriers[barrier as usize];
        let (last, free_at) = object.line;
        let line_ns = last.map_or(0, |last| self.charger.line_ns(last, c));
        match how {
            BarrierCounter::Central => {
                let done = free_at.max(self.now) + line_ns;
                object.line = (Some(c), done);
                done - self.now
            }
            BarrierCounter::Tree => {
                object.line = (Some(c), self.now);
                line_ns * u64::from(object.need.next_power_of_two().trailing_zeros())
            }
        }
    }

    /// How long a task that spins takes to see that the one on `c` has opened the barrier.
    fn hear_of_barrier(&mut self, c: CpuNo, no: TaskNo, barrier: u32) -> u64 {
        let Some(how) = self.workload.barrier_counter.get(&barrier) else { return 0 };
        let on = self.tasks[no as usize].cpu;
        let line_ns = if on == NONE { 0 } else { self.charger.line_ns(c, on) };
        let object = &mut self.objects.barriers[barrier as usize];
        match how {
            BarrierCounter::Central => {
                object.line.1 = object.line.1.max(self.now) + line_ns;
                object.line.1 - self.now
            }
            BarrierCounter::Tree => line_ns * u64::from(object.need.next_power_of_two().trailing_zeros()),
        }
    }

    /// The event for which a task spins has come: if it runs, it continues at once, after `ns` to see it.
    fn let_go(&mut self, no: TaskNo, ns: u64) {
        // Its time so far was spinning: account for it before it becomes work.
        let on = self.running_on(no);
        if on != NONE {
            self.progress(on);
        }
        let task = &mut self.tasks[no as usize];
        task.spins = None;
        task.at_barrier = NONE;
        if task.stop_looking() {
            self.census.spinning -= 1;
        }
        task.left = ns.saturating_mul(FULL_SPEED);
        task.by_time = true;
        if on != NONE && self.cpus[on as usize].mode == Mode::Run {
            self.rekey(on);
        }
    }

    /// The CPU that has this task, or [`NONE`].
    pub fn running_on(&self, no: TaskNo) -> CpuNo {
        let cpu = self.tasks[no as usize].cpu;
        if cpu != NONE && self.cpus[cpu as usize].cur == no { cpu } else { NONE }
    }

    pub fn set_isa(&mut self, no: TaskNo, isa: u16, by: CpuNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        task.isa = isa;
        let msg = Msg { task: Some(task.id), value: isa.into(), ..Msg::default() };
        self.announce(by, Topic::Isa, &msg, no)
    }

    pub fn set_priority(&mut self, no: TaskNo, priority: i32, by: CpuNo) -> Result<()> {
        self.tasks[no as usize].priority = priority;
        if self.within.is_some() && self.running_on(no) != NONE {
            self.note_urgent(self.running_on(no), no);
        }
        let known = self.note_urgency(no).priority;
        let id = self.tasks[no as usize].id;
        let msg = Msg { task: Some(id), value: known as i64 as u64, ..Msg::default() };
        self.announce(by, Topic::Priority, &msg, no)
    }

    pub fn publish_affinity(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        let msg = Msg { task: Some(task.id), mask: task.cpus.cloned(), ..Msg::default() };
        self.report_allowed(no);
        self.announce(by, Topic::Affinity, &msg, no)
    }

    /// Publish a message of the runtime that observers see too.
    pub fn announce(&mut self, by: CpuNo, topic: Topic, msg: &Msg, no: TaskNo) -> Result<()> {
        let h = self.caller(by);
        self.notify_scheduler(h, topic, msg)?;
        let task = (no != NONE).then_some(no);
        let cpu = msg.cpu.unwrap_or(by);
        self.obs.event(self.now, &Event::Message { topic: topic.name(), cpu, task, value: msg.value });
        self.account(h, weir_core::event::Call::Notify);
        Ok(())
    }

    /// The task executed ops without end at one instant.
    fn hanging(&self, no: TaskNo) -> Error {
        let task = &self.tasks[no as usize];
        let name = &self.workload.tasks[task.spec as usize].name;
        Error::run(format!("task `{name}` loops without time passing, at step {} of its program", task.pc))
            .help("put a step that takes time (run, sleep, timer) into the loop, or bound the loop")
    }
}
