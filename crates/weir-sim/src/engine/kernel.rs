// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The kernel around the scheduler: every call of it, the call's cost and the CPUs that it notifies; choosing,
//! switching out, blocking, waking.
//!
//! A call changes the scheduler's state at the instant of its event; its cost then keeps the calling
//! CPU busy, and its effects elsewhere (interrupts) occur when the cost is paid.

use std::collections::VecDeque;

use weir_core::event::{Call, CpuNo, Event, Stop, TaskNo};
use weir_core::{Msg, Sched, TaskId, Topic, catalog, error_name};

use super::Faulted;
use super::Result;
use super::calls::Unseen;
use super::cpu::Mode;
use super::queue::{Key, Kind, Phase};
use super::sim::{Sim, refused};
use super::task::{NEVER, NONE, State, Wait};
use weir_model::Error;
use weir_model::costs::Wakeups;

/// More pipes than this are sorted when all are known.
const MANY_PIPES: usize = 16;

impl Sim<'_> {
    /// The CPU that runs the scheduler for `c`; the boot CPU where `c` is unknown or away.
    #[inline]
    pub fn caller(&self, c: CpuNo) -> CpuNo {
        match self.cpus.get(c as usize) {
            Some(cpu) if cpu.mode != Mode::Offline => cpu.host,
            _ => self.boot_cpu,
        }
    }

    /// After one or more calls of the core by `h`: charge their operations, notify observers, pass on the
    /// messages. Returns when `h` is through.
    #[inline(never)]
    pub fn account(&mut self, h: CpuNo, call: Call) -> u64 {
        if self.cfg.causes {
            self.report_moves(call);
        }
        let end = if self.charging { self.charge(h, call) } else { self.record(h, call) };
        if self.sched.has_messages() {
            self.sched.drain_messages(&mut self.messages);
            self.pass_on(h, end);
        }
        if !self.remote_sent.is_empty() {
            self.interrupt_remote(h, end);
        }
        if self.sched.has_timers() {
            self.arm_component_timer();
        }
        end
    }

    /// Charge the operations in the log; observers are notified of the call when it is over.
    #[inline(always)]
    fn charge(&mut self, h: CpuNo, call: Call) -> u64 {
        if self.cfg.trace_pipes {
            self.report_depths();
        }
        let start = self.now.max(self.cpus[h as usize].busy_until).max(self.frozen_until);
        let calls = 1 + std::mem::take(&mut self.notices);
        let ops = self.sched.ops();
        let walk = match &mut self.paths {
            None => self.charger.walk(ops, calls, h, self.now, start, &mut Unseen),
            Some(paths) => {
                paths.begin(call, start);
                let walk = self.charger.walk(ops, calls, h, self.now, start, paths.as_mut());
                paths.end(walk.end);
                walk
            }
        };
        self.sched.clear_ops();
        let ns = walk.end - start;
        self.totals.scheduler_ns += ns;
        self.totals.lock_wait_ns += walk.wait_ns;
        if walk.end > self.now {
            self.enter_kernel(h, walk.end);
            self.cpus[h as usize].calls.push((call, ns, walk.wait_ns));
        } else {
            self.obs.event(self.now, &Event::Sched { cpu: h, call, ns: 0, lock_wait_ns: 0 });
        }
        walk.end
    }

    /// A call that takes no time.
    fn record(&mut self, h: CpuNo, call: Call) -> u64 {
        self.notices = 0;
        if self.oplog {
            if self.cfg.trace_pipes {
                self.report_depths();
            }
            self.sched.clear_ops();
        } else if !self.depths.is_empty() {
            self.poll_depths();
        }
        self.obs.event(self.now, &Event::Sched { cpu: h, call, ns: 0, lock_wait_ns: 0 });
        self.now
    }

    /// Depth of each pipe that the operations just made changed.
    fn report_depths(&mut self) {
        self.touched.clear();
        for op in self.sched.ops() {
            if !op.joins() && !op.leaves() {
                continue;
            }
            // In ascending order, each once; most calls touch one to three.
            let at = self.touched.iter().rposition(|&p| p <= op.object).map_or(0, |i| i + 1);
            if at == 0 || self.touched[at - 1] != op.object {
                self.touched.insert(at, op.object);
            }
            if self.touched.len() > MANY_PIPES {
                return self.report_many_depths();
            }
        }
        for &pipe in &self.touched {
            let depth = self.sched.pipe_len(pipe);
            self.obs.event(self.now, &Event::PipeDepth { pipe, depth });
        }
    }

    /// The same of a call that changed many, a swap for example.
    #[cold]
    fn report_many_depths(&mut self) {
        self.touched.clear();
        let ops = self.sched.ops().iter().filter(|op| op.joins() || op.leaves());
        self.touched.extend(ops.map(|op| op.object));
        self.touched.sort_unstable();
        self.touched.dedup();
        for &pipe in &self.touched {
            let depth = self.sched.pipe_len(pipe);
            self.obs.event(self.now, &Event::PipeDepth { pipe, depth });
        }
    }

    /// Depth of each pipe that has another one than at the last call: cheaper than recording operations where
    /// there are few pipes.
    fn poll_depths(&mut self) {
        let mut from = 0;
        while let Some((pipe, depth)) = self.sched.other_len(&mut self.depths, from) {
            self.obs.event(self.now, &Event::PipeDepth { pipe, depth });
            from = pipe + 1;
        }
    }

    /// Report to observers what locks and instances have cost since the last time.
    pub fn report_contention(&mut self) {
        for (pipe, held_ns, wait_ns) in self.charger.locks() {
            self.obs.event(self.now, &Event::PipeLock { pipe, held_ns, wait_ns });
        }
        for (instance, time) in self.charger.instances() {
            self.obs.event(self.now, &Event::InstanceTime { instance, ns: time.ns, updates: time.updates });
        }
    }

    /// Kernel work of a known price that is not scheduler code (an interrupt, a timer).
    #[inline(always)]
    pub fn charge_flat(&mut self, h: CpuNo, ns: u64) {
        if ns > 0 {
            let end = self.now.max(self.cpus[h as usize].busy_until) + ns;
            self.enter_kernel(h, end);
        }
    }

    /// Do what the components asked for in the call of `h` that is over at `end`.
    fn pass_on(&mut self, h: CpuNo, end: u64) {
        let mut wishes = Vec::new();
        let mut messages = std::mem::take(&mut self.messages);
        for m in messages.drain(..) {
            match (m.topic, m.cpu) {
                (Topic::Kick, Some(c)) if (c as usize) < self.cpus.len() => self.send_kick(h, c, end),
                (Topic::Preempt, Some(c)) if (c as usize) < self.cpus.len() => {
                    self.cpus[c as usize].preempted_by = m.value2 as u32;
                    self.send_preempt(h, c, end);
                }
                (Topic::Slice, Some(c)) if (c as usize) < self.cpus.len() => {
                    self.set_turn(c, m.task, m.value);
                }
                _ => {
                    if let (Topic::Frequency, Some(c)) = (m.topic, m.cpu) {
                        // What the machine itself says of its clocks is not a request.
                        if self.heat.announcing == Some((c, m.value)) {
                            self.heat.announcing = None;
                        } else {
                            wishes.push((c, m.value));
                        }
                        continue;
                    }
                    // A postponed pipe may hear of a task, and speak of it, when it has ended.
                    let there = m.task.filter(|t| self.sched.state(*t) != 0);
                    let task = there.map(|t| self.sched.cookie(t) as TaskNo);
                    let cpu = m.cpu.unwrap_or(h);
                    self.obs.event(
                        self.now,
                        &Event::Message { topic: m.topic.name(), cpu, task, value: m.value },
                    );
                    if m.topic == Topic::Fault {
                        self.count_fault(m.value2 as usize, m.value);
                    }
                }
            }
        }
        self.messages = messages;
        for (c, hz) in wishes {
            self.wish(c, hz, end);
        }
    }

    /// The slice of a task for which no component grants one, on a CPU that it has from `ready` on.
    fn default_slice(&self, c: CpuNo, ready: u64) -> u64 {
        match self.costs.slice_tick {
            0 => self.costs.slice_default,
            // The CPUs' ticks are evenly apart, unless their phases are drawn.
            tick => {
                let phase = match self.costs.tick_spread {
                    0 => tick * u64::from(c) / self.cpus.len() as u64,
                    _ => self.cpus[c as usize].tick_phase % tick,
                };
                tick - (ready + tick - phase) % tick
            }
        }
    }

    /// The component of an instance returned an error.
    fn count_fault(&mut self, instance: usize, code: u64) {
        let Some(i) = self.plan.instances.get(instance) else { return };
        let (name, error) = (i.name.clone(), error_name(code).to_owned());
        let component = catalog().class(i.class).map_or_else(String::new, |c| c.name.clone());
        match self.faults.iter_mut().find(|f| f.instance == name && f.error == error) {
            Some(f) => f.count += 1,
            None => {
                self.faults.push(Faulted { instance: name, component, error, first_ns: self.now, count: 1 });
            }
        }
    }

    /// There is work for `c`. A CPU that has a task, or is about to choose, will find it by itself.
    fn send_kick(&mut self, h: CpuNo, c: CpuNo, end: u64) {
        let cpu = &mut self.cpus[c as usize];
        if cpu.mode == Mode::Offline || cpu.cur != NONE || cpu.choosing || cpu.kick_sent {
            return;
        }
        if c == h || cpu.host == h || !self.charging {
            // The caller chooses (also for a CPU it serves) as soon as it is through.
            cpu.choosing = true;
            cpu.busy_until = cpu.busy_until.max(end);
            self.rekey(c);
            return;
        }
        cpu.kick_sent = true;
        self.obs.event(self.now, &Event::Kick { cpu: c });
        let at = end + self.charger.interrupt_ns(h, c);
        self.timers.push(Key::new(at, Phase::Interrupt, Kind::Kick, c));
    }

    /// `c` is to give up its task.
    fn send_preempt(&mut self, h: CpuNo, c: CpuNo, end: u64) {
        let cpu = &mut self.cpus[c as usize];
        if cpu.cur == NONE && self.picking != c {
            return self.send_kick(h, c, end);
        }
        if cpu.preempt_sent {
            return;
        }
        cpu.preempt_sent = true;
        self.obs.event(self.now, &Event::Kick { cpu: c });
        let at = if c == h { end } else { end + self.charger.interrupt_ns(h, c) };
        self.timers.push(Key::new(at, Phase::Interrupt, Kind::Preempt, c));
    }

    /// The turn of `task` on `c` is over in `ns`, if it is still there.
    fn set_turn(&mut self, c: CpuNo, task: Option<TaskId>, ns: u64) {
        let cpu = &mut self.cpus[c as usize];
        if cpu.cur == NONE || Some(self.tasks[cpu.cur as usize].id) != task {
            return;
        }
        if cpu.starting {
            cpu.slice_ns = ns;
            return;
        }
        cpu.slice_end = self.now.saturating_add(ns);
        self.rekey(c);
    }

    /// The CPU that is interrupted for the remote messages of a coherence domain: the first one that is online.
    fn reader(&self, domain: u32) -> Option<CpuNo> {
        let reads = |c: &CpuNo| {
            let cpu = &self.cpus[*c as usize];
            cpu.host == *c && cpu.mode != Mode::Offline && self.plan.cpus[*c as usize].domain == domain
        };
        // The boot CPU is the first of all, so no search where all share memory.
        Some(self.boot_cpu).filter(reads).or_else(|| (0..self.cpus.len() as CpuNo).find(reads))
    }

    /// Interrupt the domains to which the call of `h` that is over at `end` sent remote messages.
    fn interrupt_remote(&mut self, h: CpuNo, end: u64) {
        for domain in 0..self.remote_sent.len() as u32 {
            let posted = self.sched.remote_sent(domain);
            if std::mem::replace(&mut self.remote_sent[domain as usize], posted) == posted {
                continue;
            }
            // A domain that is all offline reads them when it is back.
            if let Some(c) = self.reader(domain) {
                let at = end + self.charger.interrupt_ns(h, c);
                self.timers.push(Key::new(at, Phase::Interrupt, Kind::Remote, domain));
            }
        }
    }

    /// A coherence domain is notified of remote messages, which it may have read meanwhile.
    pub fn remote_arrives(&mut self, domain: u32) -> Result<()> {
        if let Some(c) = self.reader(domain) {
            self.sched.poll_remote(c);
            self.account(c, Call::Notify);
        }
        Ok(())
    }

    /// An interrupt arrives at `c`.
    pub fn interrupt(&mut self, c: CpuNo, preempt: bool) -> Result<()> {
        let cpu = &mut self.cpus[c as usize];
        // A choice that came in between has seen what the interrupt is about.
        let sent = if preempt { &mut cpu.preempt_sent } else { &mut cpu.kick_sent };
        if !std::mem::take(sent) {
            return Ok(());
        }
        if cpu.mode == Mode::Offline {
            return Ok(());
        }
        if cpu.held && preempt && cpu.cur != NONE {
            cpu.preempt_due = true;
            self.note_waiting(c, self.most_urgent());
            self.rekey(c);
            return Ok(());
        }
        if cpu.cur != NONE {
            return if preempt { self.part(c, Stop::Preempted, true) } else { Ok(()) };
        }
        if !cpu.choosing {
            self.ask(c);
        }
        Ok(())
    }

    /// Let `c`, which has no task, choose as soon as its scheduler CPU can. One that gave a task back and may get it again
    /// is not idle while it waits for the answer.
    #[inline(always)]
    pub fn ask(&mut self, c: CpuNo) {
        let host = self.cpus[c as usize].host;
        if host != c {
            self.wait_for_host(c, host);
        }
        self.cpus[c as usize].choosing = true;
        self.rekey(c);
    }

    /// The question goes to the CPU that chooses for `c`.
    #[inline(never)]
    fn wait_for_host(&mut self, c: CpuNo, host: CpuNo) {
        let at = (self.now + self.charger.interrupt_ns(c, host)).max(self.cpus[host as usize].busy_until);
        self.set_mode(c, if self.cpus[c as usize].prev == NONE { Mode::Idle } else { Mode::Kernel });
        self.cpus[c as usize].busy_until = at;
    }

    /// `c` gives its task back to the scheduler, still runnable, and will choose again. Observers hear of
    /// it when the choice falls on another task, and of a preemption too if `forced`.
    pub fn part(&mut self, c: CpuNo, why: Stop, forced: bool) -> Result<()> {
        self.progress(c);
        self.set_mode(c, Mode::Kernel);
        self.weigh_decision(c, why)?;
        self.census.running -= 1;
        self.census.ready += 1;
        let cpu = &mut self.cpus[c as usize];
        let no = cpu.cur;
        cpu.cur = NONE;
        cpu.busy_until = cpu.busy_until.max(self.now);
        let task = &mut self.tasks[no as usize];
        let id = task.id;
        task.state = State::Ready;
        if cpu.starting {
            cpu.starting = false;
        } else {
            task.parted = Some((c, why, forced));
            task.ready_ns = self.now;
            task.woken = false;
            cpu.prev = no;
        }
        let h = self.caller(c);
        let counts = self.end_stint(c, no);
        self.sched_on(h).relinquish(h, id).map_err(|e| refused("take a task back", &e))?;
        self.account(h, Call::Relinquish);
        // The stint is charged for already: what it counted matters from the next choice on.
        self.publish_counters(c, no, counts)?;
        self.ask(c);
        Ok(())
    }

    /// Report to observers that a task has really left its CPU.
    #[inline(always)]
    pub fn report_parted(&mut self, no: TaskNo, displaced: bool) {
        if self.tasks[no as usize].parted.is_some() {
            self.report_left(no, displaced);
        }
    }

    #[inline(never)]
    fn report_left(&mut self, no: TaskNo, displaced: bool) {
        let task = &mut self.tasks[no as usize];
        let Some((cpu, why, forced)) = task.parted.take() else { return };
        let ran_ns = task.ran_ns;
        task.entered = false;
        if task.guest != NONE {
            self.lost.push(no);
        }
        self.obs.event(self.now, &Event::Off { task: no, cpu, why, ran_ns });
        self.obs.event(self.now, &Event::Ready { task: no, wakeup: false });
        self.report_place(no);
        if why == Stop::Preempted {
            self.totals.preemptions += 1;
        } else if displaced && forced {
            self.totals.preemptions += 1;
            self.obs.event(self.now, &Event::Preempted { task: no, cpu });
        }
        self.cpus[cpu as usize].prev = NONE;
    }

    /// `c` chooses its next task.
    pub fn choose(&mut self, c: CpuNo) -> Result<()> {
        let cpu = &mut self.cpus[c as usize];
        if !cpu.to_wake.is_empty() {
            return self.wake_one_more(c);
        }
        cpu.report_calls(c, self.now, self.obs);
        cpu.choosing = false;
        cpu.kick_sent = false;
        cpu.preempt_sent = false;
        cpu.busy_until = cpu.busy_until.max(self.now);
        let host = cpu.host;
        self.totals.decisions += 1;
        let picked = self.sched_on(host).pick(host, c);
        let chosen = match &picked {
            Some(picked) if host == c => Some(picked.cookie as TaskNo),
            Some(picked) => Some(self.context_for(host, c, picked)?),
            None => None,
        };
        if self.large
            && let Some(no) = chosen
        {
            self.fetch_task(c, no);
        }
        self.picking = c;
        let end = self.account(host, Call::Pick);
        self.picking = NONE;
        let cpu = &mut self.cpus[c as usize];
        let prev = cpu.prev;
        let Some(no) = chosen else {
            if prev != NONE {
                self.report_parted(prev, false);
            }
            self.occupy(c, 0);
            if host != c || end <= self.now {
                self.set_mode(c, Mode::Idle);
                self.report_idle(c, true);
            }
            self.rekey(c);
            return Ok(());
        };
        self.census.ready -= 1;
        self.census.running += 1;
        let task = &mut self.tasks[no as usize];
        task.state = State::Running;
        if self.looking && task.looks == 0 {
            cpu.worked = self.now;
        }
        let id = task.id;
        if task.isa != cpu.isa {
            return Err(self.wrong_isa(no, c).into());
        }
        let mut ready = if host == c { end } else { end + self.charger.interrupt_ns(host, c) };
        let same = prev == no && matches!(task.parted, Some((p, ..)) if p == c);
        if same {
            task.parted = None;
            cpu.prev = NONE;
            cpu.slice_since = ready;
        } else {
            if prev != NONE {
                self.report_parted(prev, true);
            }
            self.report_parted(no, false);
            let (cpu, task) = (&mut self.cpus[c as usize], &mut self.tasks[no as usize]);
            if self.charging {
                if cpu.last != no {
                    ready += self.costs.context_switch;
                }
                if task.cpu != NONE && task.cpu != c && !self.pmu.is_modelled(no) {
                    task.penalty_ns = self.charger.migration_ns(task.cpu, c);
                }
            }
            cpu.starting = true;
        }
        if self.large {
            self.on[c as usize] = (no, id);
        }
        let slice_ns = match picked.and_then(|p| p.slice_ns) {
            Some(ns) => ns,
            None => self.default_slice(c, ready),
        };
        let cpu = &mut self.cpus[c as usize];
        cpu.cur = no;
        cpu.choosing = false;
        cpu.slice_ns = slice_ns;
        if same {
            cpu.slice_end = ready.saturating_add(slice_ns);
            self.begin_stint(c);
        }
        if ready > self.now {
            self.set_mode(c, Mode::Kernel);
            let cpu = &mut self.cpus[c as usize];
            cpu.busy_until = ready;
            cpu.rekey(c, &mut self.changed);
            return Ok(());
        }
        self.go_on(c)
    }

    /// The task on `c` waits from now on.
    pub fn block(&mut self, c: CpuNo, wait: Wait) -> Result<()> {
        if self.cfg.causes {
            self.report_wait(self.cpus[c as usize].cur, wait);
        }
        let no = self.leave(c, Stop::Block);
        let task = &mut self.tasks[no as usize];
        task.state = State::Blocked;
        task.wait = wait;
        if wait.is_timed() {
            self.census.timed += 1;
        }
        let h = self.caller(c);
        let counts = self.end_stint(c, no);
        let id = self.tasks[no as usize].id;
        self.sched_on(h).block(h, id).map_err(|e| refused("block a task", &e))?;
        self.account(h, Call::Block);
        self.publish_counters(c, no, counts)?;
        self.ask(c);
        Ok(())
    }

    /// The task on `c` has ended.
    pub fn exit(&mut self, c: CpuNo) -> Result<()> {
        let no = self.leave(c, Stop::Exit);
        let task = &mut self.tasks[no as usize];
        task.state = State::Gone;
        task.frames = Box::default();
        task.timers = Box::default();
        self.census.alive -= 1;
        let counts = self.end_stint(c, no);
        self.publish_counters(c, no, counts)?;
        self.obs.event(self.now, &Event::TaskExit { task: no });
        self.cpus[c as usize].last = NONE;
        let h = self.caller(c);
        let id = self.tasks[no as usize].id;
        self.sched_on(h).exit(h, id).map_err(|e| refused("end a task", &e))?;
        self.account(h, Call::Exit);
        self.ask(c);
        Ok(())
    }

    /// Take the task off `c` because it is no longer runnable.
    fn leave(&mut self, c: CpuNo, why: Stop) -> TaskNo {
        self.progress(c);
        self.set_mode(c, Mode::Kernel);
        let cpu = &mut self.cpus[c as usize];
        let no = cpu.cur;
        cpu.cur = NONE;
        cpu.fruitless = 0;
        cpu.busy_until = cpu.busy_until.max(self.now);
        self.census.running -= 1;
        self.tasks[no as usize].entered = false;
        let ran_ns = self.tasks[no as usize].ran_ns;
        self.obs.event(self.now, &Event::Off { task: no, cpu: c, why, ran_ns });
        no
    }

    /// What `no` waited for has happened, on `by`.
    #[inline]
    pub fn wake(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        if self.costs.wakeups == Wakeups::Last && self.send_wake(no, by) {
            return Ok(());
        }
        self.admit_woken(no, by)
    }

    /// Send an interrupt to the CPU where `no` ran last, which makes the call for it; false: `by` makes it itself.
    fn send_wake(&mut self, no: TaskNo, by: CpuNo) -> bool {
        let task = &self.tasks[no as usize];
        let (last, wait) = (task.cpu, task.wait);
        if wait == Wait::Sent {
            return true;
        }
        let there = self.cpus.get(last as usize).is_some_and(|cpu| cpu.mode != Mode::Offline);
        if last == by || !there || !task.admitted || !self.charging {
            return false;
        }
        if !wait.is_timed() {
            self.census.timed += 1;
        }
        let at = self.now + self.charger.interrupt_ns(by, last);
        let task = &mut self.tasks[no as usize];
        task.wait = Wait::Sent;
        task.wake_at = at;
        self.queue_wake(at, no);
        let h = self.caller(by);
        self.charge_flat(h, self.costs.ipi_send);
        true
    }

    /// `no` is ready again: `by` runs the scheduler.
    pub fn admit_woken(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &mut self.tasks[no as usize];
        debug_assert_eq!(task.state, State::Blocked);
        let timed = task.wait.is_timed();
        if timed {
            self.census.timed -= 1;
        }
        task.wait = Wait::No;
        task.state = State::Ready;
        task.woken = true;
        task.ready_ns = self.now;
        self.census.ready += 1;
        let (id, first) = (task.id, !std::mem::replace(&mut task.admitted, true));
        if self.cfg.causes {
            self.report_waker(no, by, timed);
        }
        self.obs.event(self.now, &Event::Ready { task: no, wakeup: true });
        let h = self.caller(by);
        let (done, call) = if first {
            (self.sched_on(h).admit(h, id), Call::Admit)
        } else {
            (self.sched_on(h).unblock(h, id), Call::Unblock)
        };
        done.map_err(|e| refused("take in a task", &e))?;
        self.account(h, call);
        self.report_place(no);
        Ok(())
    }

    /// Wake tasks that `by` has let go all at once: one after the other, each when the call for the one before is paid, so
    /// that other CPUs come in between. Without costs all are woken now.
    pub fn wake_all(&mut self, others: Vec<TaskNo>, by: CpuNo) -> Result<()> {
        let mut others = VecDeque::from(others);
        let by_itself = self.charging && self.caller(by) == by;
        while let Some(next) = others.pop_front() {
            self.wake(next, by)?;
            if by_itself && self.cpus[by as usize].mode != Mode::Run {
                self.cpus[by as usize].to_wake.append(&mut others);
            }
        }
        Ok(())
    }

    /// `c` has finished a call: wake the next task that it has released.
    #[inline(never)]
    pub fn wake_one_more(&mut self, c: CpuNo) -> Result<()> {
        let Some(next) = self.cpus[c as usize].to_wake.pop_front() else { return Ok(()) };
        self.flush_calls(c);
        self.wake(next, c)?;
        self.rekey(c);
        Ok(())
    }

    /// Publish a message about a task; the caller accounts for it with what follows.
    pub fn notify_scheduler(&mut self, h: CpuNo, topic: Topic, msg: &Msg) -> Result<()> {
        self.notices += 1;
        self.sched_on(h).notify(h, topic, msg).map_err(|e| refused("take a message", &e))
    }

    /// Queue an event for the earliest timer that a component armed.
    pub fn arm_component_timer(&mut self) {
        if let Some((at, _)) = self.next_component_timer() {
            let at = at.max(self.now);
            if at < self.component_at {
                self.component_at = at;
                self.timers.push(Key::new(at, Phase::Timer, Kind::Component, 0));
            }
        }
    }

    /// A component's timer is due.
    pub fn component_timer(&mut self) -> Result<()> {
        if self.component_at <= self.now {
            self.component_at = NEVER;
        }
        let mut fired = 0;
        while let Some((at, handle)) = self.next_component_timer() {
            if at > self.now {
                break;
            }
            fired += 1;
            if fired > 1_000_000 {
                return Err(Error::policy(format!(
                    "instance `{}` arms its timer for now again and again, at {} ns",
                    self.plan.instances[handle as usize].name, self.now
                ))
                .help("let the component's period be at least a microsecond")
                .into());
            }
            self.weigh_timer(handle)?;
            let domain = self.plan.instances[handle as usize].domain;
            let h = self.timer_home(handle).or_else(|| self.reader(domain)).unwrap_or(self.boot_cpu);
            self.sched_on(h).timer_expired(h, handle);
            self.account(h, Call::Timer);
        }
        self.arm_component_timer();
        Ok(())
    }

    /// The component timer that is due first: by the clock of its CPU, where CPUs have clocks of their own.
    fn next_component_timer(&self) -> Option<(u64, u32)> {
        let Some(clocks) = &self.gangs.clocks else { return self.sched.next_timer() };
        let due = |(at, handle)| (clocks.when(self.timer_home(handle).unwrap_or(self.boot_cpu), at), handle);
        self.sched.timers().map(due).min()
    }

    /// The scheduler, as it is called by `h`: with the clock of that CPU.
    #[inline]
    pub fn sched_on(&mut self, h: CpuNo) -> &mut Sched {
        if let Some(clocks) = &self.gangs.clocks {
            self.sched.set_now(clocks.local(h, self.now));
        }
        &mut self.sched
    }

    /// The CPU whose own timer an instance has, if that is there.
    fn timer_home(&self, instance: u32) -> Option<CpuNo> {
        let there = |c: &CpuNo| {
            self.cpus.get(*c as usize).is_some_and(|cpu| cpu.mode != Mode::Offline && cpu.host == *c)
        };
        self.charger.timer_home(instance).filter(there)
    }

    fn wrong_isa(&self, no: TaskNo, c: CpuNo) -> Error {
        let isas = &self.machine.shape.isas;
        let name = |i: u16| isas.get(i as usize).map_or("?", String::as_str);
        let task = &self.tasks[no as usize];
        Error::run(format!(
            "topology `{}` gave task `{}` (instruction set `{}`) to CPU {c} (`{}`)",
            self.plan.name,
            self.workload.tasks[task.spec as usize].name,
            name(task.isa),
            name(self.cpus[c as usize].isa),
        ))
        .help("tell instruction sets apart with `isa_demux`, and add `annotate isa`")
    }
}
