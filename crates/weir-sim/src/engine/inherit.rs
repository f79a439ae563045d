// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Mutexes with a protocol against priority inversion: inheritance, immediate and original ceiling.
//!
//! Sha, Rajkumar, Lehoczky: Priority Inheritance Protocols, IEEE Transactions on Computers 39(9), 1990.
//!
//! The engine does not know how a topology orders its tasks, so a holder inherits every attribute that may matter:
//! priority, absolute deadline, period and relative deadline, each from the task with the most urgent one. They are
//! published by the usual topics, so that any order component obeys them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use weir_core::event::{CpuNo, TaskNo};
use weir_core::{Msg, Topic};

use super::Result;
use super::line::Lines;
use super::sim::Sim;
use super::sync::Pass;
use super::task::{NEVER, Task, Wait};
use weir_model::Workload;
use weir_model::workload::{Op, Protocol};

/// Attributes by which tasks may be ordered. Times are ns, [`NEVER`] if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urgency {
    pub priority: i32,
    pub deadline_ns: u64,
    pub period_ns: u64,
    pub relative_ns: u64,
}

/// Order of waiting tasks: priority, then the earlier deadline; the greatest gets the mutex.
pub type Rank = (i32, Reverse<u64>);
/// Order of tasks for the test of the original ceiling.
pub type Level = (i32, Reverse<u64>);

impl Urgency {
    pub const LEAST: Self =
        Self { priority: i32::MIN, deadline_ns: NEVER, period_ns: NEVER, relative_ns: NEVER };

    /// The more urgent in each respect.
    pub fn with(self, other: Self) -> Self {
        Self {
            priority: self.priority.max(other.priority),
            deadline_ns: self.deadline_ns.min(other.deadline_ns),
            period_ns: self.period_ns.min(other.period_ns),
            relative_ns: self.relative_ns.min(other.relative_ns),
        }
    }

    pub fn rank(&self) -> Rank {
        (self.priority, Reverse(self.deadline_ns))
    }

    /// Fixed order of tasks for the test of the original ceiling: priority, and among equals the preemption
    /// level of Baker (1991), the shorter relative deadline.
    pub fn level(&self) -> Level {
        (self.priority, Reverse(self.relative_ns))
    }
}

/// Protocols of the mutexes, and what they need to remember.
#[derive(Debug, Default)]
pub struct Locking {
    protocols: Vec<Protocol>,
    /// The most urgent in each respect of the tasks that use the mutex; the deadline is a relative one.
    ceilings: Vec<Urgency>,
    /// When the holder got it, ns.
    since: Vec<u64>,
    /// Tasks that wait for mutexes with a protocol.
    lines: Lines,
    /// Held mutexes of the original ceiling, the highest ceiling first.
    locked: BTreeSet<(Reverse<Level>, u32)>,
    any: bool,
}

impl Locking {
    pub fn new(w: &Workload) -> Self {
        let mut protocols = w.protocols.clone();
        protocols.resize(w.mutexes.len(), Protocol::None);
        let any = protocols.iter().any(|p| !matches!(p, Protocol::None | Protocol::Spin));
        let mut ceilings = vec![Urgency::LEAST; if any { protocols.len() } else { 0 }];
        for spec in w.tasks.iter().filter(|_| any) {
            let sets = spec.program.iter().filter_map(|op| match op {
                Op::SetPriority { priority } => Some(*priority),
                _ => None,
            });
            let released = spec.program.iter().find_map(|op| match op {
                Op::Release { period_ns, deadline_ns, .. } | Op::Arrive { period_ns, deadline_ns, .. } => {
                    Some((*period_ns, *deadline_ns))
                }
                _ => None,
            });
            let timing = released.or(spec.timing.map(|t| (t.period_ns, t.deadline_ns)));
            let (period_ns, relative_ns) = timing.unwrap_or((NEVER, NEVER));
            let user = Urgency {
                priority: sets.fold(spec.priority, i32::max),
                deadline_ns: relative_ns,
                period_ns: if relative_ns == NEVER || period_ns == 0 { NEVER } else { period_ns },
                relative_ns,
            };
            for op in spec.program.iter() {
                if let Op::Lock { mutex } | Op::Wait { mutex, .. } | Op::Sync { mutex, .. } = op
                    && let Some(ceiling) = ceilings.get_mut(*mutex as usize)
                {
                    *ceiling = ceiling.with(user);
                }
            }
        }
        let since = vec![0; ceilings.len()];
        let lines = Lines::new(ceilings.len());
        Self { protocols, ceilings, since, lines, locked: BTreeSet::new(), any }
    }

    /// Some mutex has a protocol.
    pub fn any(&self) -> bool {
        self.any
    }

    pub fn protocol(&self, mutex: u32) -> Protocol {
        self.protocols[mutex as usize]
    }

    /// Its waiting tasks stand in a line of [`Lines`].
    pub fn has_line(&self, mutex: u32) -> bool {
        !matches!(self.protocol(mutex), Protocol::None | Protocol::Spin)
    }

    /// The original ceiling keeps some task waiting.
    pub fn holds_up(&self) -> bool {
        !self.lines.held_up().is_empty()
    }

    fn is_classic(&self, mutex: u32) -> bool {
        self.protocol(mutex) == Protocol::Classic
    }

    /// A task stops waiting in its line.
    fn leave(&mut self, no: TaskNo) {
        if let Some(filed) = self.lines.get(no) {
            self.lines.leave(no, self.is_classic(filed.mutex));
        }
    }
}

impl Sim<'_> {
    /// The urgency that a task has by itself.
    fn own_urgency(&self, no: TaskNo) -> Urgency {
        let task = &self.tasks[no as usize];
        let timed = task.job_deadline_ns != NEVER;
        Urgency {
            priority: task.priority,
            deadline_ns: task.job_deadline_ns,
            period_ns: if timed && task.period_ns > 0 { task.period_ns } else { NEVER },
            relative_ns: if timed {
                task.job_deadline_ns - task.job_release_ns.min(task.job_deadline_ns)
            } else {
                NEVER
            },
        }
    }

    /// The urgency that was published.
    fn known_urgency(&self, no: TaskNo) -> Urgency {
        match &self.tasks[no as usize].boost {
            Some(boost) => **boost,
            None => self.own_urgency(no),
        }
    }

    /// What its mutexes make of the urgency of a task. Looks at what it holds and which tasks wait for that.
    fn inherited_urgency(&self, no: TaskNo) -> Urgency {
        let mut urgency = self.own_urgency(no);
        let mut classic = false;
        for &mutex in &self.tasks[no as usize].held {
            let m = mutex as usize;
            match self.locking.protocol(mutex) {
                Protocol::None | Protocol::Spin => {}
                Protocol::Inherit => urgency = urgency.with(self.locking.lines.of(mutex).most()),
                Protocol::Ceiling => {
                    let mut ceiling = self.locking.ceilings[m];
                    ceiling.deadline_ns = ceiling.deadline_ns.saturating_add(self.locking.since[m]);
                    urgency = urgency.with(ceiling);
                }
                Protocol::Classic => classic = true,
            }
        }
        if classic { urgency.with(self.held_up_by(no)) } else { urgency }
    }

    /// The most urgent in each respect of the tasks that the original ceiling keeps waiting because of `no`.
    fn held_up_by(&self, no: TaskNo) -> Urgency {
        let line = self.locking.lines.held_up();
        let Some((top, owner)) = self.highest_locked() else { return Urgency::LEAST };
        if owner != no {
            // The holder of the highest ceiling is in the way of all others, and itself of none but the next holder.
            let waits = self.locking.lines.get(owner).filter(|_| self.in_the_way_of(owner) == Some(no));
            return waits.map_or(Urgency::LEAST, |filed| filed.urgency);
        }
        if line.highest().is_none_or(|level| level <= top) && self.locking.lines.get(no).is_none() {
            return line.most();
        }
        let waits = line.up_to(top).filter(|&w| w != no);
        waits.fold(Urgency::LEAST, |sum, w| sum.with(self.known_urgency(w)))
    }

    /// The held mutex of the original ceiling whose ceiling is highest, the first of equals: ceiling and holder.
    fn highest_locked(&self) -> Option<(Level, TaskNo)> {
        let &(Reverse(level), mutex) = self.locking.locked.first()?;
        Some((level, self.objects.mutexes[mutex as usize].owner?))
    }

    /// Work out and note what is about to be published of a task.
    pub fn note_urgency(&mut self, no: TaskNo) -> Urgency {
        let own = self.own_urgency(no);
        if !self.locking.any {
            return own;
        }
        let inherited = self.inherited_urgency(no);
        self.tasks[no as usize].boost = (inherited != own).then(|| Box::new(inherited));
        self.refile(no);
        inherited
    }

    /// A task's urgency may have changed, by which it waits.
    #[inline(always)]
    pub fn refile(&mut self, no: TaskNo) {
        if self.locking.any {
            self.refile_by_urgency(no);
        }
    }

    fn refile_by_urgency(&mut self, no: TaskNo) {
        if let Some(filed) = self.locking.lines.get(no) {
            let (urgency, classic) = (self.known_urgency(no), self.locking.is_classic(filed.mutex));
            self.locking.lines.refile(no, urgency, classic);
        }
    }

    /// Whose mutex keeps a task from taking any of the original ceiling: the one with the highest ceiling that
    /// others hold, if the task is not more urgent than that.
    pub fn in_the_way_of(&self, no: TaskNo) -> Option<TaskNo> {
        let mut held = self.locking.locked.iter().filter_map(|&(Reverse(level), mutex)| {
            Some((level, self.objects.mutexes[mutex as usize].owner.filter(|&owner| owner != no)?))
        });
        let (level, owner) = held.next()?;
        (self.known_urgency(no).level() <= level).then_some(owner)
    }

    /// Take a mutex or queue up for it. The caller lets the task wait, and calls [`Sim::refresh`] (if it got
    /// the mutex) or [`Sim::refresh_obstacle`].
    pub fn take(&mut self, no: TaskNo, mutex: u32) -> Pass {
        if self.locking.has_line(mutex) {
            let classic = self.locking.is_classic(mutex);
            let free = self.objects.mutexes[mutex as usize].owner.is_none();
            if !free || (classic && self.in_the_way_of(no).is_some()) {
                let urgency = self.known_urgency(no);
                self.locking.lines.join(no, mutex, urgency, classic);
                return Pass::Wait;
            }
        }
        let pass = self.objects.mutexes[mutex as usize].lock(no);
        if pass == Pass::Go {
            self.now_holds(no, mutex);
        }
        pass
    }

    fn now_holds(&mut self, no: TaskNo, mutex: u32) {
        self.tasks[no as usize].held.push(mutex);
        if self.locking.any {
            self.locking.since[mutex as usize] = self.now;
        }
        if self.locking.is_classic(mutex) {
            let level = self.locking.ceilings[mutex as usize].level();
            self.locking.locked.insert((Reverse(level), mutex));
        }
    }

    /// The task that holds up `no`, if protocols care.
    fn obstacle(&self, no: TaskNo) -> Option<TaskNo> {
        let Wait::Mutex(mutex) = self.tasks[no as usize].wait else { return None };
        match self.locking.protocol(mutex) {
            Protocol::None | Protocol::Ceiling | Protocol::Spin => None,
            Protocol::Inherit => self.objects.mutexes[mutex as usize].owner,
            Protocol::Classic => self.in_the_way_of(no),
        }
    }

    /// Report the urgency of a task to the scheduler if it has changed, and that of the tasks that hold it up in turn.
    pub fn refresh(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        if !self.locking.any {
            return Ok(());
        }
        let mut next = Some(no);
        // A chain of tasks that hold each other up; in a circle of them, which is a deadlock, it ends as well.
        for _ in 0..self.tasks.len() {
            let Some(no) = next else { return Ok(()) };
            let known = self.known_urgency(no);
            let wanted = self.note_urgency(no);
            if wanted == known {
                return Ok(());
            }
            self.publish_urgency(no, &known, &wanted, by)?;
            next = self.obstacle(no).filter(|&o| o != no);
        }
        Ok(())
    }

    /// A task has begun to wait for a mutex: the task in its way may inherit.
    pub fn refresh_obstacle(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        match self.obstacle(no) {
            Some(other) => self.refresh(other, by),
            None => Ok(()),
        }
    }

    fn publish_urgency(&mut self, no: TaskNo, known: &Urgency, wanted: &Urgency, by: CpuNo) -> Result<()> {
        if known.priority != wanted.priority {
            let id = self.tasks[no as usize].id;
            let msg = Msg { task: Some(id), value: wanted.priority as i64 as u64, ..Msg::default() };
            self.announce(by, Topic::Priority, &msg, no)?;
        }
        if (known.deadline_ns, known.period_ns, known.relative_ns)
            != (wanted.deadline_ns, wanted.period_ns, wanted.relative_ns)
        {
            self.publish_timing(no, wanted, by)?;
            self.account(self.caller(by), weir_core::event::Call::Notify);
        }
        Ok(())
    }

    /// Release a mutex that has a protocol and is held by `no`: the most urgent waiter gets it.
    pub fn unlock_by_protocol(&mut self, c: CpuNo, no: TaskNo, mutex: u32) -> Result<()> {
        let held = &mut self.tasks[no as usize].held;
        if let Some(at) = held.iter().rposition(|&m| m == mutex) {
            held.remove(at);
        }
        self.objects.mutexes[mutex as usize].owner = None;
        if self.locking.is_classic(mutex) {
            let level = self.locking.ceilings[mutex as usize].level();
            self.locking.locked.remove(&(Reverse(level), mutex));
            return self.release_held_up(c, no);
        }
        let next = self.locking.lines.of(mutex).by_rank().next();
        if let Some(other) = next {
            self.grant(other, mutex);
        }
        self.refresh(no, c)?;
        match next {
            None => Ok(()),
            Some(other) => {
                self.refresh(other, c)?;
                self.wake(other, c)
            }
        }
    }

    /// `no` has released a mutex of the original ceiling. Of the tasks that wait for a free mutex, the first one that is not
    /// held up any longer becomes ready and asks for it again when it runs: it does not hold what it cannot use yet. First is
    /// that with the earliest deadline, and that of the highest level if it is another: which of the two is more urgent the
    /// topology decides, and the other finds the mutex taken, as all others would. They wait for the next release. A task that
    /// comes from a condition, which asks only once, gets its mutex.
    pub fn release_held_up(&mut self, c: CpuNo, no: TaskNo) -> Result<()> {
        self.refresh(no, c)?;
        let lines = &self.locking.lines;
        let top = self.highest_locked();
        let mut next: Vec<(TaskNo, u32)> = Vec::new();
        for m in lines.wanted() {
            // Nobody is above the highest ceiling, as a rule: no need to ask each.
            let held_up = |(level, owner): (Level, TaskNo)| {
                lines.of(m).highest().is_none_or(|l| l <= level)
                    && lines.get(owner).is_none_or(|filed| filed.mutex != m)
            };
            if self.objects.mutexes[m as usize].owner.is_some() || top.is_some_and(held_up) {
                continue;
            }
            let free = |w: &TaskNo| self.in_the_way_of(*w).is_none();
            let first = lines.of(m).by_rank().find(free);
            let highest = first.and_then(|_| lines.of(m).by_level().find(free));
            next.extend(first.iter().chain(highest.iter().filter(|h| Some(**h) != first)).map(|w| (*w, m)));
        }
        next.sort_by_key(|w| (Reverse(self.known_urgency(w.0).rank()), lines.get(w.0).map(|f| f.arrival)));
        for (other, mutex) in next {
            let task = &self.tasks[other as usize];
            let ops = self.programs[task.program as usize].ops;
            if matches!(ops.get(task.pc as usize - 1), Some(Op::Lock { .. })) {
                self.locking.leave(other);
                self.tasks[other as usize].pc -= 1;
            } else if self.objects.mutexes[mutex as usize].owner.is_none() {
                self.grant(other, mutex);
            } else {
                continue;
            }
            self.refresh(other, c)?;
            self.wake(other, c)?;
        }
        // Whoever holds up others from now on: the holder of the highest ceiling, and of that one the next.
        for _ in 0..2 {
            let Some((_, owner)) = self.highest_locked() else { break };
            self.refresh(owner, c)?;
            if self.locking.lines.get(owner).is_some() {
                self.refresh_obstacle(owner, c)?;
            }
        }
        Ok(())
    }

    fn grant(&mut self, no: TaskNo, mutex: u32) {
        self.locking.leave(no);
        self.objects.mutexes[mutex as usize].owner = Some(no);
        self.now_holds(no, mutex);
    }

    /// The lines are what a search among all tasks would find.
    pub fn check_lines(&self) {
        let waits = |t: &Task<'_>| matches!(t.wait, Wait::Mutex(m) if self.locking.has_line(m));
        let waiting = self.tasks.iter().filter(|t| waits(t)).count();
        assert_eq!(self.locking.lines.all().count(), waiting, "invariant line-length");
        for (no, filed) in self.locking.lines.all() {
            assert_eq!(filed.urgency, self.known_urgency(no), "invariant filed-urgency of task {no}");
            assert_eq!(
                self.tasks[no as usize].wait,
                Wait::Mutex(filed.mutex),
                "invariant filed-mutex of task {no}"
            );
        }
        for &(_, mutex) in &self.locking.locked {
            assert!(
                self.objects.mutexes[mutex as usize].owner.is_some(),
                "invariant locked of mutex {mutex}"
            );
        }
    }

    /// A task stopped waiting for a mutex without getting it: no task inherits from it any longer.
    pub fn leave_queue(&mut self, no: TaskNo, mutex: u32, by: CpuNo) -> Result<()> {
        if !self.locking.any {
            return Ok(());
        }
        let obstacle = self.obstacle(no);
        debug_assert!(!self.objects.mutexes[mutex as usize].waiters.contains(&no));
        self.locking.leave(no);
        match obstacle {
            Some(other) => self.refresh(other, by),
            None => Ok(()),
        }
    }
}
