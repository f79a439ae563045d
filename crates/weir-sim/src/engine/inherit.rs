// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Mutexes with a protocol against priority inversion: inheritance, immediate and original ceiling.
//!
//! Sha, Rajkumar, Lehoczky: Priority Inheritance Protocols, IEEE Transactions on Computers 39(9), 1990.
//!
//! The engine does not know how a topology orders its tasks, so a holder inherits every attribute that may matter:
//! priority, absolute deadline, period and relative deadline, each from the task with the most urgent one. They are
//! published by the usual topics, so that any order component obeys them.

use weir_core::event::{CpuNo, TaskNo};
use weir_core::{Msg, Topic};

use super::sim::Sim;
use super::sync::Pass;
use super::task::{NEVER, Wait};
use weir_model::workload::{Op, Protocol};
use weir_model::{Result, Workload};

/// Attributes by which tasks may be ordered. Times are ns, [`NEVER`] if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urgency {
    pub priority: i32,
    pub deadline_ns: u64,
    pub period_ns: u64,
    pub relative_ns: u64,
}

impl Urgency {
    const LEAST: Self = Self { priority: i32::MIN, deadline_ns: NEVER, period_ns: NEVER, relative_ns: NEVER };

    /// The more urgent in each respect.
    fn with(self, other: Self) -> Self {
        Self {
            priority: self.priority.max(other.priority),
            deadline_ns: self.deadline_ns.min(other.deadline_ns),
            period_ns: self.period_ns.min(other.period_ns),
            relative_ns: self.relative_ns.min(other.relative_ns),
        }
    }

    /// Order of waiting tasks; the greatest gets the mutex.
    fn rank(&self) -> (i32, std::cmp::Reverse<u64>) {
        (self.priority, std::cmp::Reverse(self.deadline_ns))
    }

    /// Fixed order of tasks for the test of the original ceiling: priority, and among equals the preemption
    /// level of Baker (1991), the shorter relative deadline.
    fn level(&self) -> (i32, std::cmp::Reverse<u64>) {
        (self.priority, std::cmp::Reverse(self.relative_ns))
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
    /// Tasks that the original ceiling keeps waiting, in the order in which they came, with their mutex.
    held_up: Vec<(TaskNo, u32)>,
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
        Self { protocols, ceilings, since, held_up: Vec::new(), any }
    }

    pub fn protocol(&self, mutex: u32) -> Protocol {
        self.protocols[mutex as usize]
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
        for &mutex in &self.tasks[no as usize].held {
            let m = mutex as usize;
            match self.locking.protocol(mutex) {
                Protocol::None | Protocol::Spin => {}
                Protocol::Inherit => {
                    for &waiter in &self.objects.mutexes[m].waiters {
                        urgency = urgency.with(self.known_urgency(waiter));
                    }
                }
                Protocol::Ceiling => {
                    let mut ceiling = self.locking.ceilings[m];
                    ceiling.deadline_ns = ceiling.deadline_ns.saturating_add(self.locking.since[m]);
                    urgency = urgency.with(ceiling);
                }
                Protocol::Classic => {
                    for &(waiter, _) in &self.locking.held_up {
                        if self.in_the_way_of(waiter) == Some(no) {
                            urgency = urgency.with(self.known_urgency(waiter));
                        }
                    }
                }
            }
        }
        urgency
    }

    /// Work out and note what is about to be published of a task.
    pub fn note_urgency(&mut self, no: TaskNo) -> Urgency {
        let own = self.own_urgency(no);
        let inherited = if self.locking.any { self.inherited_urgency(no) } else { own };
        self.tasks[no as usize].boost = (inherited != own).then(|| Box::new(inherited));
        inherited
    }

    /// Whose mutex keeps a task from taking any of the original ceiling: the one with the highest ceiling that
    /// others hold, if the task is not more urgent than that.
    pub fn in_the_way_of(&self, no: TaskNo) -> Option<TaskNo> {
        let level = self.known_urgency(no).level();
        let held =
            (0..self.locking.ceilings.len()).filter(|&m| self.locking.protocols[m] == Protocol::Classic);
        let others = held.filter_map(|m| match self.objects.mutexes[m].owner {
            Some(owner) if owner != no => Some((self.locking.ceilings[m].level(), owner)),
            _ => None,
        });
        // The first of equals, so that the answer does not hang on how the search goes.
        let highest = others.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        (level <= highest.0).then_some(highest.1)
    }

    /// Take a mutex or queue up for it. The caller lets the task wait, and calls [`Sim::refresh`] (if it got
    /// the mutex) or [`Sim::refresh_obstacle`].
    pub fn take(&mut self, no: TaskNo, mutex: u32) -> Pass {
        let protocol = self.locking.protocol(mutex);
        if protocol == Protocol::Classic {
            let free = self.objects.mutexes[mutex as usize].owner.is_none();
            if !free || self.in_the_way_of(no).is_some() {
                self.objects.mutexes[mutex as usize].waiters.push_back(no);
                self.locking.held_up.push((no, mutex));
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
        if self.locking.protocol(mutex) == Protocol::Classic {
            return self.release_held_up(c, no);
        }
        let waiters = &self.objects.mutexes[mutex as usize].waiters;
        let rank = |t: &TaskNo| self.known_urgency(*t).rank();
        // The last of the greatest, searched from behind, is the one that came first.
        let next = waiters.iter().rev().copied().max_by_key(rank);
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

    /// `no` has released a mutex of the original ceiling. A task that is not held up any longer becomes ready and asks
    /// for its mutex again when it runs, most urgent first: it does not hold what it cannot use yet. One that
    /// comes from a condition, which asks only once, gets its mutex.
    fn release_held_up(&mut self, c: CpuNo, no: TaskNo) -> Result<()> {
        let mut free: Vec<(TaskNo, u32)> = self.locking.held_up.clone();
        free.retain(|&(other, mutex)| {
            self.objects.mutexes[mutex as usize].owner.is_none() && self.in_the_way_of(other).is_none()
        });
        self.refresh(no, c)?;
        free.sort_by_key(|w| std::cmp::Reverse(self.known_urgency(w.0).rank()));
        for (other, mutex) in free {
            let task = &self.tasks[other as usize];
            let ops = self.programs[task.program as usize].ops;
            if matches!(ops.get(task.pc as usize - 1), Some(Op::Lock { .. })) {
                self.objects.mutexes[mutex as usize].waiters.retain(|&w| w != other);
                self.locking.held_up.retain(|w| w.0 != other);
                self.tasks[other as usize].pc -= 1;
            } else if self.objects.mutexes[mutex as usize].owner.is_none() {
                self.grant(other, mutex);
            } else {
                continue;
            }
            self.refresh(other, c)?;
            self.wake(other, c)?;
        }
        for i in 0..self.locking.held_up.len() {
            self.refresh_obstacle(self.locking.held_up[i].0, c)?;
        }
        Ok(())
    }

    fn grant(&mut self, no: TaskNo, mutex: u32) {
        let object = &mut self.objects.mutexes[mutex as usize];
        object.waiters.retain(|&w| w != no);
        object.owner = Some(no);
        self.locking.held_up.retain(|w| w.0 != no);
        self.now_holds(no, mutex);
    }

    /// A task stopped waiting for a mutex without getting it: no task inherits from it any longer.
    pub fn leave_queue(&mut self, no: TaskNo, mutex: u32, by: CpuNo) -> Result<()> {
        if !self.locking.any {
            return Ok(());
        }
        let obstacle = self.obstacle(no);
        debug_assert!(!self.objects.mutexes[mutex as usize].waiters.contains(&no));
        self.locking.held_up.retain(|w| w.0 != no);
        match obstacle {
            Some(other) => self.refresh(other, by),
            None => Ok(()),
        }
    }
}
