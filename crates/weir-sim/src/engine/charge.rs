// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The cost of scheduler code: the core's log of micro-operations, evaluated with a cost table.
//!
//! Each pipe's lock is a resource in virtual time. A call is walked from its local start; at a lock it
//! waits for the first gap in which its whole critical section fits between those of the calls that
//! were made before it, so that short sections pass where a long one begins later only.

use std::collections::VecDeque;

use weir_core::event::CpuNo;
use weir_core::{OpKind, OpRecord, Plan, catalog};

use super::calls::{Log, Part};
use super::chain::Chain;
use super::task::{NEVER, NONE};
use weir_model::costs::{ByDistance, Costs, Prices};
use weir_model::machine::Machine;

/// Sections of one lock that end after the present instant: ascending, not touching each other.
type Sections = VecDeque<(u64, u64)>;

/// One pipe's lock: one line of a cache.
#[derive(Debug)]
#[repr(align(64))]
struct PipeLock {
    /// The last critical section.
    last: (u64, u64),
    held_ns: u64,
    wait_ns: u64,
    acquired: u64,
    /// CPU that held it last, or [`NONE`].
    holder: CpuNo,
    /// Where those before the last one are, or [`NONE`]: there never were any.
    earlier: u32,
    /// Since when the call that is walked holds it, or [`NEVER`].
    since: u64,
}

impl Default for PipeLock {
    fn default() -> Self {
        Self { last: (0, 0), held_ns: 0, wait_ns: 0, acquired: 0, holder: NONE, earlier: NONE, since: NEVER }
    }
}

impl PipeLock {
    /// It is free at `t` and later.
    #[inline]
    fn is_free(&self, t: u64) -> bool {
        self.last.1 <= t
    }

    /// `cpu` held it last, and all sections are over.
    #[inline(always)]
    fn is_at_hand(&self, cpu: CpuNo, now: u64) -> bool {
        self.holder == cpu && self.last.1 <= now
    }

    /// Begin of the first gap of at least `ns` at or after `from`.
    fn gap(&self, all: &[Sections], from: u64, ns: u64) -> u64 {
        let mut at = from;
        let earlier = all.get(self.earlier as usize).into_iter().flatten();
        for &(begin, end) in earlier.chain([&self.last]) {
            if begin >= at.saturating_add(ns) {
                break;
            }
            at = at.max(end);
        }
        at
    }

    /// Note a critical section of a call that is made at `now`.
    #[inline(always)]
    fn take(&mut self, all: &mut Vec<Sections>, begin: u64, end: u64, now: u64) {
        self.held_ns += end - begin;
        if self.last.1 <= now {
            // All others are over, too.
            self.last = (begin, end);
        } else {
            self.insert(all, begin, end, now);
        }
    }

    /// The same, among others. Waiting inside it for another lock may have made it longer than the gap it was put into; then it
    /// merges with its successor.
    #[inline(never)]
    fn insert(&mut self, all: &mut Vec<Sections>, begin: u64, end: u64, now: u64) {
        if begin == self.last.1 {
            self.last.1 = end;
            return;
        }
        if self.earlier == NONE {
            self.earlier = all.len() as u32;
            all.push(Sections::new());
        }
        let earlier = &mut all[self.earlier as usize];
        while earlier.front().is_some_and(|&(_, e)| e <= now) {
            earlier.pop_front();
        }
        earlier.push_back(self.last);
        if begin > self.last.1 {
            self.last = (begin, end);
            return;
        }
        merge(earlier, begin, end);
        self.last = earlier.pop_back().expect("it was just added");
    }
}

fn merge(taken: &mut Sections, begin: u64, end: u64) {
    if taken.back().is_none_or(|&(_, e)| e < begin) {
        return taken.push_back((begin, end));
    }
    let i = taken.partition_point(|&(_, e)| e < begin);
    if i == taken.len() || taken[i].0 > end {
        taken.insert(i, (begin, end));
        return;
    }
    taken[i].0 = taken[i].0.min(begin);
    taken[i].1 = taken[i].1.max(end);
    while i + 1 < taken.len() && taken[i + 1].0 <= taken[i].1 {
        let next = taken.remove(i + 1).expect("the index was checked");
        taken[i].1 = taken[i].1.max(next.1);
    }
}

/// Time of one instance's code.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceTime {
    pub ns: u64,
    pub updates: u32,
}

/// The lock of a pipe is held since `begin`.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub pipe: u32,
    pub begin: u64,
}

/// The code of an instance runs: which lock was taken for it ([`NONE`]: none) and when, since when it runs, and what had been waited until then.
#[derive(Clone, Copy, Debug)]
struct Running {
    locked: u32,
    begin: u64,
    began: u64,
    waited: u64,
}

/// Result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// When the call is over.
    pub end: u64,
    /// How long of it was waiting for locks.
    pub wait_ns: u64,
}

/// An instance with slots of gangs, or with reservations, acts by the clock of the one CPU that it serves.
fn timer_home(plan: &Plan, instance: u32) -> Option<CpuNo> {
    let class = catalog().class(plan.instances.get(instance as usize)?.class)?;
    if !class.listens.iter().any(|t| t == "GANG_SLOT") && !reserves(plan, instance) {
        return None;
    }
    let mut at = instance;
    for _ in 0..plan.instances.len() {
        let mut out = (0..).zip(&plan.pipes).filter(|(_, p)| p.from.is_some_and(|f| f.0 == at));
        let (pipe, next) = out.next()?;
        if out.next().is_some() {
            return None;
        }
        let mut exits = (0..).zip(&plan.exits).filter(|(_, e)| **e == Some(pipe)).map(|(cpu, _)| cpu);
        if let Some(cpu) = exits.next() {
            return exits.next().is_none().then_some(cpu);
        }
        at = next.to.0;
    }
    None
}

/// The instance gives a task its execution time in each period, from a release on, without being asked again: a slot, if the execution time
/// is the deadline.
pub fn reserves(plan: &Plan, instance: u32) -> bool {
    let class = plan.instances.get(instance as usize).and_then(|i| catalog().class(i.class));
    class.is_some_and(|c| c.name == "rbed")
}

/// Prices and locks of a run.
#[derive(Debug)]
pub struct Charger<'a> {
    machine: &'a Machine,
    costs: &'a Costs,
    locks: Vec<PipeLock>,
    /// Of the locks that several calls wait for.
    sections: Vec<Sections>,
    instances: Vec<InstanceTime>,
    /// Instances whose code runs, the innermost last.
    running: Vec<Running>,
    /// By pipe: what a task costs besides that is taken out there, for the pipes that it has passed, ns.
    ways: Vec<u64>,
    /// By instance: the CPU whose own timer it has.
    homes: Vec<Option<CpuNo>>,
    prices: Prices,
    call_ns: u64,
    /// Where stages are charged from end to end.
    chain: Option<Chain>,
}

impl<'a> Charger<'a> {
    pub fn new(machine: &'a Machine, costs: &'a Costs, plan: &Plan) -> Self {
        let prices = costs.prices();
        let mut c = Self {
            machine,
            costs,
            chain: prices.is_chained().then(Chain::default),
            locks: Vec::new(),
            sections: Vec::new(),
            instances: Vec::new(),
            running: Vec::new(),
            ways: Vec::new(),
            homes: Vec::new(),
            prices,
            call_ns: costs.core.call,
        };
        c.reset(plan);
        c
    }

    /// Restart with the pipes and instances of another topology.
    pub fn reset(&mut self, plan: &Plan) {
        self.locks = (0..plan.pipes.len()).map(|_| PipeLock::default()).collect();
        self.sections.clear();
        self.instances = vec![InstanceTime::default(); plan.instances.len()];
        self.ways = plan.pipes.iter().map(|p| self.prices.leaving(p.depth)).collect();
        if let Some(chain) = &mut self.chain {
            chain.reset(plan);
        }
        self.homes = (0..plan.instances.len() as u32).map(|i| timer_home(plan, i)).collect();
    }

    /// The CPU whose own timer an instance has; others' are served by the boot CPU.
    pub fn timer_home(&self, instance: u32) -> Option<CpuNo> {
        self.homes.get(instance as usize).copied().flatten()
    }

    /// The lock of a pipe will be needed soon.
    pub fn soon(&self, pipe: u32) {
        if let Some(lock) = self.locks.get(pipe as usize) {
            weir_core::soon(lock);
        }
    }

    /// What each pipe's lock cost since the last time that this was asked: pipe, time held, time waited for.
    pub fn locks(&mut self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        self.locks.iter_mut().enumerate().filter(|(_, l)| l.acquired > 0).map(|(i, l)| {
            l.acquired = 0;
            (i as u32, std::mem::take(&mut l.held_ns), std::mem::take(&mut l.wait_ns))
        })
    }

    /// What each instance's code took since the last time that this was asked, waiting for locks not included.
    pub fn instances(&mut self) -> impl Iterator<Item = (u32, InstanceTime)> + '_ {
        let used = self.instances.iter_mut().enumerate().filter(|(_, i)| i.updates > 0);
        used.map(|(i, t)| (i as u32, std::mem::take(t)))
    }

    fn by_distance(&self, table: &ByDistance, a: CpuNo, b: CpuNo) -> u64 {
        if a == b { 0 } else { table.at(self.machine.distance(a, b)) }
    }

    /// From sending an interrupt until the target reacts.
    pub fn interrupt_ns(&self, from: CpuNo, to: CpuNo) -> u64 {
        self.by_distance(&self.costs.wakeup_ipi, from, to)
    }

    /// From writing a message until its receiver has it.
    pub fn message_ns(&self, from: CpuNo, to: CpuNo) -> u64 {
        self.by_distance(&self.costs.message, from, to)
    }

    /// What a message costs its sender and its receiver, each.
    pub fn message_send_ns(&self, from: CpuNo, to: CpuNo) -> u64 {
        self.by_distance(&self.costs.message_send, from, to)
    }

    /// To fetch a line that another CPU has written.
    pub fn line_ns(&self, from: CpuNo, to: CpuNo) -> u64 {
        self.by_distance(&self.costs.lock_handover, from, to)
    }

    /// The loss of a task that resumes on another CPU than its last one.
    pub fn migration_ns(&self, from: CpuNo, to: CpuNo) -> u64 {
        self.by_distance(&self.costs.migration, from, to)
    }

    /// Walk the operations of `calls` calls of `cpu`, made at `now`, that it begins to execute at `start`. `log` hears of what takes time.
    #[inline(always)]
    pub fn walk(
        &mut self,
        ops: &[OpRecord],
        calls: u64,
        cpu: CpuNo,
        now: u64,
        start: u64,
        log: &mut impl Log,
    ) -> Walk {
        let t = start + calls * self.call_ns;
        if self.chain.is_some() {
            return self.walk_as::<true>(ops, cpu, now, t, log);
        }
        self.walk_as::<false>(ops, cpu, now, t, log)
    }

    /// The same from `t` on: `CHAINED` keeps the locks of stages until the way that they are part of has ended, and walks the way back.
    #[inline(never)]
    fn walk_as<const CHAINED: bool>(
        &mut self,
        ops: &[OpRecord],
        cpu: CpuNo,
        now: u64,
        t: u64,
        log: &mut impl Log,
    ) -> Walk {
        let mut walk = Walk { end: t, wait_ns: 0 };
        let mut nr_held = 0u32;
        let mut left = ops;
        while let [op, after @ ..] = left {
            let these = std::mem::replace(&mut left, after);
            match op.kind {
                OpKind::Lock => {
                    if CHAINED {
                        let ends = |o: &&OpRecord| o.kind == OpKind::Unlock && o.object == op.object;
                        for gone in these.iter().take_while(|o| !ends(o)).filter(|o| o.leaves()) {
                            self.go_back(gone.task(), these, cpu, now, &mut walk, log);
                        }
                    }
                    let from = walk.end;
                    let begin = self.enter(op.object, these, 0, cpu, now, &mut walk);
                    slot(&mut self.locks, op.object).since = begin;
                    nr_held += 1;
                    walk.end += self.prices.lock();
                    log.locked(from, begin, walk.end);
                }
                OpKind::Unlock => {
                    nr_held -= u32::from(self.unlock(op.object, walk.end, now));
                    if CHAINED {
                        self.let_go(walk.end, now);
                    }
                }
                OpKind::Step => {
                    let lock = self.prices.lock_of(op);
                    let from = walk.end;
                    let inside = self.prices.inside(op);
                    let before = self.prices.step(op) - inside;
                    let (mut locked, mut begin) = (NONE, 0);
                    if let Some(pipe) = lock {
                        begin = self.enter(pipe, these, 0, cpu, now, &mut walk);
                        match &mut self.chain {
                            Some(chain) if CHAINED => chain.pass(Held { pipe, begin }, op.object),
                            _ => locked = pipe,
                        }
                        log.locked(from, begin, walk.end + before);
                    }
                    walk.end += before;
                    self.running.push(Running { locked, begin, began: walk.end, waited: walk.wait_ns });
                    log.enter(Part::Instance(op.object), walk.end);
                    walk.end += inside;
                }
                OpKind::StepEnd => {
                    if let Some(step) = self.running.pop() {
                        log.leave(walk.end);
                        self.ran(op.object, (walk.end - step.began) - (walk.wait_ns - step.waited));
                        if step.locked != NONE {
                            let lock = slot(&mut self.locks, step.locked);
                            lock.take(&mut self.sections, step.begin, walk.end, now);
                        }
                    }
                }
                OpKind::Unlink if !CHAINED => {
                    let from = walk.end;
                    let more = self.ways.get(op.object as usize).copied().unwrap_or(0);
                    walk.end += self.prices.link(op) + more;
                    log.spent(Part::Unlink, from, walk.end);
                }
                OpKind::Link | OpKind::Unlink | OpKind::Burn if CHAINED => {
                    self.chained(op, these, cpu, now, &mut walk, log);
                }
                _ => walk.end = self.simple(op, walk.end, log),
            }
        }
        if CHAINED {
            self.let_go(walk.end, now);
        }
        // What a call leaves open another one does not end.
        self.running.clear();
        if nr_held > 0 {
            self.locks.iter_mut().for_each(|lock| lock.since = NEVER);
        }
        walk
    }

    /// What a task's way consists of: where it ends, where it is gone back, and what is burnt on it.
    fn chained(
        &mut self,
        op: &OpRecord,
        these: &[OpRecord],
        cpu: CpuNo,
        now: u64,
        walk: &mut Walk,
        log: &mut impl Log,
    ) {
        if op.leaves() {
            self.go_back(op.task(), these, cpu, now, walk, log);
        }
        let from = walk.end;
        walk.end = self.simple(op, from, log);
        let Some(chain) = &mut self.chain else { return };
        if op.kind == OpKind::Burn {
            return chain.burn(walk.end - from);
        }
        if chain.is_end(op.object) {
            let from = walk.end;
            walk.end += self.prices.ending();
            log.spent(Part::End, from, walk.end);
        }
        if op.joins() {
            chain.arrive(op.task());
            self.let_go(walk.end, now);
        }
    }

    /// When an operation is over that begins at `t` and waits for nothing.
    #[inline(always)]
    fn simple(&self, op: &OpRecord, t: u64, log: &mut impl Log) -> u64 {
        let end = t + self.prices.of(op);
        let part = match op.kind {
            OpKind::Link => Part::Link,
            OpKind::Unlink => Part::Unlink,
            OpKind::Request => Part::Request(op.object),
            OpKind::Notify => Part::Notify(op.object),
            OpKind::Remote => Part::Remote,
            OpKind::Post => Part::Post,
            // The component's own.
            _ => return end,
        };
        log.spent(part, t, end);
        end
    }

    /// `task`, if it has not done so, is taken out of the pipes that it has come through, whose locks are held until the end of the section
    /// that begins with the first of these operations.
    fn go_back(
        &mut self,
        task: u32,
        ops: &[OpRecord],
        cpu: CpuNo,
        now: u64,
        walk: &mut Walk,
        log: &mut impl Log,
    ) {
        let way = self.chain.as_mut().map_or_else(Vec::new, |chain| chain.leave(task));
        let (undoing, lock) = (self.prices.undoing(), self.costs.lock_uncontended);
        let mut more: u64 = way.iter().map(|p| undoing + p.burnt_ns).sum();
        for passed in &way {
            let from = walk.end;
            let begin = self.enter(passed.pipe, ops, more, cpu, now, walk);
            if let Some(chain) = &mut self.chain {
                chain.hold(Held { pipe: passed.pipe, begin });
            }
            log.locked(from, begin, walk.end + lock);
            let ns = undoing + passed.burnt_ns;
            log.spent(Part::Instance(passed.instance), walk.end + lock, walk.end + ns);
            walk.end += ns;
            more -= ns;
            self.ran(passed.instance, ns - lock);
        }
    }

    /// The locks of a way that has ended are released at `t`.
    fn let_go(&mut self, t: u64, now: u64) {
        for lock in self.chain.iter_mut().flat_map(Chain::let_go) {
            slot(&mut self.locks, lock.pipe).take(&mut self.sections, lock.begin, t, now);
        }
    }

    /// `cpu` takes the lock of `pipe` where the walk is, or as soon as it can, for a section of `more` and what begins with the first of
    /// these operations: since when it has it.
    #[inline(always)]
    fn enter(
        &mut self,
        pipe: u32,
        ops: &[OpRecord],
        more: u64,
        cpu: CpuNo,
        now: u64,
        walk: &mut Walk,
    ) -> u64 {
        let lock = slot(&mut self.locks, pipe);
        lock.acquired += 1;
        if lock.is_at_hand(cpu, now) {
            return walk.end;
        }
        let (begin, hand_over) = self.acquire(pipe, ops, more, cpu, walk.end);
        walk.wait_ns += begin - walk.end;
        walk.end = begin + hand_over;
        begin
    }

    /// The code of an instance took `ns`, without waiting.
    #[inline(always)]
    fn ran(&mut self, instance: u32, ns: u64) {
        let time = slot(&mut self.instances, instance);
        time.updates += 1;
        time.ns += ns;
    }

    /// The lock of `pipe` is released at `t`; false: it is not held.
    #[inline(always)]
    fn unlock(&mut self, pipe: u32, t: u64, now: u64) -> bool {
        let lock = slot(&mut self.locks, pipe);
        let begin = std::mem::replace(&mut lock.since, NEVER);
        if begin != NEVER {
            lock.take(&mut self.sections, begin, t, now);
        }
        begin != NEVER
    }

    /// `cpu` wants the lock of `pipe`, for such a section, at `t`: from when on it has it, and what the hand-over takes.
    #[inline(never)]
    fn acquire(&mut self, pipe: u32, ops: &[OpRecord], more: u64, cpu: CpuNo, t: u64) -> (u64, u64) {
        let lock = slot(&mut self.locks, pipe);
        let holder = std::mem::replace(&mut lock.holder, cpu);
        let is_free = lock.is_free(t);
        if is_free && (holder == cpu || holder == NONE) {
            return (t, 0);
        }
        let hand_over =
            if holder == NONE { 0 } else { self.by_distance(&self.costs.lock_handover, holder, cpu) };
        let begin =
            if is_free { t } else { self.wait_for_lock(pipe, more + self.section_ns(ops), t, hand_over) };
        (begin, hand_over)
    }

    /// From when on the lock can be had for all of its section.
    fn wait_for_lock(&mut self, pipe: u32, hold: u64, t: u64, hand_over: u64) -> u64 {
        let lock = &mut self.locks[pipe as usize];
        let begin = lock.gap(&self.sections, t, hold + hand_over);
        lock.wait_ns += begin - t;
        begin
    }

    /// Length of the critical section that begins with the first of these operations, if nothing is
    /// waited for inside it.
    fn section_ns(&self, ops: &[OpRecord]) -> u64 {
        let first = &ops[0];
        let mut ns = 0;
        for op in ops {
            ns += self.prices.of(op);
            let over = match first.kind {
                OpKind::Lock => op.kind == OpKind::Unlock && op.object == first.object,
                OpKind::Step if self.prices.is_chained() => op.kind == OpKind::Link,
                OpKind::Step => op.kind == OpKind::StepEnd && op.object == first.object,
                _ => true,
            };
            if over {
                break;
            }
        }
        ns
    }
}

/// Element `index`, which is made if need be: during a swap the log names pipes of both topologies.
#[inline(always)]
fn slot<T: Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if index < list.len() { &mut list[index] } else { lengthened(list, index) }
}

#[cold]
fn lengthened<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    list.resize_with(index + 1, T::default);
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::super::calls::Unseen;
    use super::*;
    use proptest::prelude::*;
    use weir_core::PlanPipe;

    fn record(kind: OpKind, object: u32, n: u32) -> OpRecord {
        OpRecord { kind, object, n }
    }

    #[test]
    fn a_call_waits_for_the_locks_of_the_calls_before() {
        let machine = Machine::smp(2);
        let mut costs = Costs::zero();
        costs.lock_uncontended = 10;
        costs.lock_handover.llc = 50;
        costs.core.call = 100;
        costs.core.pipe_add = 30;
        costs.core.step = 5;
        costs.stages = weir_model::costs::Stages::Carried;
        let mut c = Charger::new(&machine, &costs, &Plan::default());
        // Lock 0, a step under it, with lock 1 inside, a link, unlock.
        let ops = [
            record(OpKind::Lock, 0, 0),
            record(OpKind::Step, 7, 0),
            record(OpKind::Lock, 1, 0),
            record(OpKind::Unlock, 1, 0),
            record(OpKind::StepEnd, 7, 0),
            record(OpKind::Link, 0, 0),
            record(OpKind::Unlock, 0, 0),
        ];
        let alone = 100 + 10 + 5 + 10 + 30;
        assert_eq!(c.walk(&ops, 1, 0, 1000, 1000, &mut Unseen), Walk { end: 1000 + alone, wait_ns: 0 });
        // CPU 1 comes 20 ns later: it waits for the end of the first section, then for nothing, and pays
        // for two hand-overs.
        let first_end = 1000 + alone;
        let walk = c.walk(&ops, 1, 1, 1020, 1020, &mut Unseen);
        assert_eq!(walk, Walk { end: first_end + alone - 100 + 100, wait_ns: first_end - 1120 });
        let (instance, time) = c.instances().next().unwrap();
        assert_eq!((instance, time.updates, time.ns), (7, 2, 15 + 65));
    }

    /// CPUs that make calls, and when: some wait for others.
    const CALLS: [(u32, u64); 7] = [(0, 0), (1, 20), (2, 30), (0, 40), (3, 900), (1, 901), (2, 5_000)];

    /// As source 0 has a stage: a lock, an addition, an update of one change, and another lock; and calls wait for its in-pipe. Where stages
    /// are charged as the core works, they wait for homes alone.
    #[test]
    fn a_step_is_charged_like_what_it_stands_for() {
        // The task comes through pipe 3 and is linked in pipe 4.
        let ops = [
            record(OpKind::Step, 1, 4 << 8),
            record(OpKind::Request, 9, 0),
            record(OpKind::StepEnd, 1, 0),
            record(OpKind::Link, 4, 0),
        ];
        let machine = Machine::smp(4);
        let costs = Costs::default();
        let core = &costs.core;
        let stage = 2 * costs.lock_uncontended + core.pipe_add + core.update + core.change;
        let mut c = Charger::new(&machine, &costs, &Plan::default());
        let alone = core.call + stage + core.request + core.pipe_add;
        assert_eq!(c.walk(&ops, 1, 0, 0, 0, &mut Unseen), Walk { end: alone, wait_ns: 0 });
        assert!(c.walk(&ops, 1, 1, 20, 20, &mut Unseen).wait_ns > 0);
        assert_eq!(c.locks().map(|l| l.0).collect::<Vec<_>>(), [3]);

        let costs = Costs { stages: weir_model::costs::Stages::Carried, ..costs };
        let mut c = Charger::new(&machine, &costs, &Plan::default());
        let alone = core.call + core.step + core.request + core.pipe_add;
        for (cpu, now) in CALLS {
            assert_eq!(c.walk(&ops, 1, cpu, now, now, &mut Unseen), Walk { end: now + alone, wait_ns: 0 });
        }
        assert_eq!(c.locks().count(), 0);
    }

    /// A task that is taken out leaves all pipes on its way.
    #[test]
    fn a_task_leaves_the_pipes_that_it_has_passed() {
        let machine = Machine::smp(4);
        let costs = Costs::default();
        let mut c = Charger::new(&machine, &costs, &Plan::default());
        c.ways = vec![0, c.prices.leaving(2)];
        let out = |c: &mut Charger<'_>, pipe| {
            c.walk(&[record(OpKind::Unlink, pipe, 0)], 0, 0, 0, 0, &mut Unseen).end
        };
        assert_eq!(out(&mut c, 0), costs.core.pipe_remove);
        assert_eq!(out(&mut c, 1), 3 * costs.core.pipe_remove + 2 * costs.lock_uncontended);
    }

    /// Source 0's own figures of an admission and a dispatch without contention: `docs/costs.md`.
    #[test]
    fn a_chain_is_walked_both_ways() {
        let machine = Machine::smp(4);
        let costs = Costs::source();
        let pipe = PlanPipe {
            name: String::new(),
            keyed: false,
            postponed: false,
            from: None,
            to: (0, 0),
            label: 0,
            depth: 0,
        };
        let plan = Plan { pipes: vec![pipe; 4], exits: vec![Some(3)], ..Plan::default() };
        let mut c = Charger::new(&machine, &costs, &plan);
        // A task passes entry 1 and its burn, then pipe 2 and the balancer, and waits in pipe 3.
        let link = |kind, task: u32| record(kind, 3, task << 8);
        let come = [
            record(OpKind::Step, 1, 2 << 8),
            record(OpKind::Burn, 1, 2_000),
            record(OpKind::StepEnd, 1, 0),
            record(OpKind::Step, 2, 3 << 8),
            record(OpKind::Request, 9, 0),
            record(OpKind::Scan, 2, 16),
            record(OpKind::StepEnd, 2, 0),
            record(OpKind::Lock, 3, 0),
            link(OpKind::Link, 7),
            record(OpKind::Unlock, 3, 0),
        ];
        let go = [record(OpKind::Lock, 3, 0), link(OpKind::Unlink, 7), record(OpKind::Unlock, 3, 0)];
        // 2.276 us with 16 CPUs, and 5 us of burning.
        assert_eq!(c.walk(&come, 1, 0, 0, 0, &mut Unseen), Walk { end: 2_302 + 5_000, wait_ns: 0 });
        // Its place is taken by others' updates: who comes next waits for the whole chain at entry 1.
        let next = c.walk(&come, 1, 1, 0, 0, &mut Unseen);
        assert_eq!(next.wait_ns, 7_302 - 146);
        // 0.724 us, and 5 us of burning once more.
        let t = 1_000_000;
        assert_eq!(c.walk(&go, 1, 0, t, t, &mut Unseen).end, t + 768 + 5_000 + 3 * costs.lock_handover.llc);
        // It has gone: nothing is left of its way.
        assert_eq!(c.walk(&go, 1, 0, 2 * t, 2 * t, &mut Unseen).end, 2 * t + 146 + 20 + 90 + 84);
    }

    #[test]
    fn short_sections_pass_before_later_ones() {
        let (mut lock, mut all) = (PipeLock::default(), Vec::new());
        lock.take(&mut all, 30, 40, 0);
        assert_eq!(lock.gap(&all, 2, 3), 2);
        assert_eq!(lock.gap(&all, 28, 3), 40);
        assert_eq!(lock.gap(&all, 27, 3), 27);
        lock.take(&mut all, 27, 30, 0);
        let earlier = |all: &[Sections]| all.iter().flatten().copied().collect::<Vec<_>>();
        assert_eq!((earlier(&all), lock.last), (vec![], (27, 40)));
        lock.take(&mut all, 50, 60, 0);
        assert_eq!(earlier(&all), [(27, 40)]);
        assert_eq!(lock.last, (50, 60));
        lock.take(&mut all, 35, 55, 0);
        assert_eq!((earlier(&all), lock.last), (vec![], (27, 60)));
        assert!(lock.is_free(60) && !lock.is_free(59));
        lock.take(&mut all, 70, 80, 65);
        lock.take(&mut all, 90, 95, 65);
        lock.take(&mut all, 100, 110, 85);
        assert_eq!(earlier(&all), [(90, 95)]);
        assert_eq!(lock.last, (100, 110));
    }

    proptest! {
        /// Sections that fit into the gap they were given never overlap.
        #[test]
        fn sections_exclude_each_other(calls in proptest::collection::vec((0u64..200, 1u64..20), 1..60)) {
            let (mut lock, mut all) = (PipeLock::default(), Vec::new());
            let mut given: Vec<(u64, u64)> = Vec::new();
            for (from, ns) in calls {
                let begin = lock.gap(&all, from, ns);
                prop_assert!(begin >= from);
                prop_assert!(given.iter().all(|&(b, e)| begin >= e || begin + ns <= b));
                given.push((begin, begin + ns));
                lock.take(&mut all, begin, begin + ns, 0);
                let taken: Vec<_> = all.iter().flatten().chain([&lock.last]).collect();
                prop_assert!(taken.iter().all(|(b, e)| b < e));
                prop_assert!(taken.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
