// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What scheduler code costs: the core's log of micro-operations, walked with a table of prices.
//!
//! Each pipe's lock is a resource in virtual time. A call is walked from its local start; at a lock it
//! waits for the first gap in which its whole critical section fits between those of the calls that
//! were made before it, so that short sections pass where a long one begins later only.

use std::collections::VecDeque;

use weir_core::event::CpuNo;
use weir_core::{OpKind, OpRecord, Plan, catalog};

use weir_model::costs::{ByDistance, Costs, Prices};
use weir_model::machine::Machine;

/// One pipe's lock.
#[derive(Debug, Default)]
struct PipeLock {
    /// CPU that held it last.
    holder: Option<CpuNo>,
    /// Critical sections that end after the present instant, ascending, not touching each other.
    taken: VecDeque<(u64, u64)>,
    held_ns: u64,
    wait_ns: u64,
    acquired: u64,
}

impl PipeLock {
    /// Begin of the first gap of at least `ns` at or after `from`.
    fn gap(&self, from: u64, ns: u64) -> u64 {
        let mut at = from;
        for &(begin, end) in &self.taken {
            if begin >= at.saturating_add(ns) {
                break;
            }
            at = at.max(end);
        }
        at
    }

    /// Note a critical section. Waiting inside it for another lock may have made it longer than the
    /// gap it was put into; then it merges with its successor.
    fn take(&mut self, begin: u64, end: u64) {
        if self.taken.back().is_none_or(|&(_, e)| e < begin) {
            return self.taken.push_back((begin, end));
        }
        let i = self.taken.partition_point(|&(_, e)| e < begin);
        if i == self.taken.len() || self.taken[i].0 > end {
            self.taken.insert(i, (begin, end));
            return;
        }
        self.taken[i].0 = self.taken[i].0.min(begin);
        self.taken[i].1 = self.taken[i].1.max(end);
        while i + 1 < self.taken.len() && self.taken[i + 1].0 <= self.taken[i].1 {
            let next = self.taken.remove(i + 1).expect("the index was checked");
            self.taken[i].1 = self.taken[i].1.max(next.1);
        }
    }

    fn forget_before(&mut self, now: u64) {
        while self.taken.front().is_some_and(|&(_, end)| end <= now) {
            self.taken.pop_front();
        }
    }
}

/// Time of one instance's code.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceTime {
    pub ns: u64,
    pub updates: u32,
}

/// Result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// When the call is over.
    pub end: u64,
    /// How long of it was waiting for locks.
    pub wait_ns: u64,
}

/// An instance with slots of gangs acts by the clock of the one CPU that it serves.
fn timer_home(plan: &Plan, instance: u32) -> Option<CpuNo> {
    let class = catalog().class(plan.instances.get(instance as usize)?.class)?;
    if !class.listens.iter().any(|t| t == "GANG_SLOT") {
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

/// Prices and locks of a run.
#[derive(Debug)]
pub struct Charger<'a> {
    machine: &'a Machine,
    costs: &'a Costs,
    locks: Vec<PipeLock>,
    instances: Vec<InstanceTime>,
    held: Vec<(u32, u64)>,
    running: Vec<(u32, u64, u64)>,
    /// By instance: the CPU whose own timer it has.
    homes: Vec<Option<CpuNo>>,
    prices: Prices,
    call_ns: u64,
}

impl<'a> Charger<'a> {
    pub fn new(machine: &'a Machine, costs: &'a Costs, plan: &Plan) -> Self {
        let mut c = Self {
            machine,
            costs,
            locks: Vec::new(),
            instances: Vec::new(),
            held: Vec::new(),
            running: Vec::new(),
            homes: Vec::new(),
            prices: costs.prices(),
            call_ns: costs.core.call,
        };
        c.reset(plan);
        c
    }

    /// Begin anew with the pipes and instances of another topology.
    pub fn reset(&mut self, plan: &Plan) {
        self.locks = (0..plan.pipes.len()).map(|_| PipeLock::default()).collect();
        self.instances = vec![InstanceTime::default(); plan.instances.len()];
        self.homes = (0..plan.instances.len() as u32).map(|i| timer_home(plan, i)).collect();
    }

    /// The CPU whose own timer an instance has; others' are served by the boot CPU.
    pub fn timer_home(&self, instance: u32) -> Option<CpuNo> {
        self.homes.get(instance as usize).copied().flatten()
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

    /// What a task loses that resumes on another CPU than it last ran on.
    pub fn migration_ns(&self, from: CpuNo, to: CpuNo) -> u64 {
        self.by_distance(&self.costs.migration, from, to)
    }

    /// Walk the operations of `calls` calls of `cpu`, made at `now`, that it begins to execute at `start`.
    pub fn walk(&mut self, ops: &[OpRecord], calls: u64, cpu: CpuNo, now: u64, start: u64) -> Walk {
        let mut t = start + calls * self.call_ns;
        let mut wait_ns = 0;
        self.held.clear();
        self.running.clear();
        for (i, op) in ops.iter().enumerate() {
            match op.kind {
                OpKind::Lock => {
                    let hand_over = match slot(&mut self.locks, op.object).holder {
                        Some(holder) => self.by_distance(&self.costs.lock_handover, holder, cpu),
                        None => 0,
                    };
                    let lock = slot(&mut self.locks, op.object);
                    lock.forget_before(now);
                    let free = lock.taken.back().is_none_or(|&(_, end)| end <= t);
                    let begin = if free {
                        t
                    } else {
                        let hold = self.section_ns(&ops[i..]);
                        self.locks[op.object as usize].gap(t, hold + hand_over)
                    };
                    let lock = &mut self.locks[op.object as usize];
                    lock.holder = Some(cpu);
                    lock.acquired += 1;
                    lock.wait_ns += begin - t;
                    wait_ns += begin - t;
                    self.held.push((op.object, begin));
                    t = begin + hand_over + self.prices.of(op);
                }
                OpKind::Unlock => {
                    t += self.prices.of(op);
                    if let Some(at) = self.held.iter().rposition(|h| h.0 == op.object) {
                        let (_, begin) = self.held.remove(at);
                        let lock = slot(&mut self.locks, op.object);
                        lock.held_ns += t - begin;
                        lock.take(begin, t);
                    }
                }
                OpKind::Update => {
                    self.running.push((op.object, t, wait_ns));
                    t += self.prices.of(op);
                }
                OpKind::UpdateEnd => {
                    if let Some((instance, began, waited)) = self.running.pop() {
                        let time = slot(&mut self.instances, instance);
                        time.updates += 1;
                        time.ns += (t - began) - (wait_ns - waited);
                    }
                }
                _ => t += self.prices.of(op),
            }
        }
        Walk { end: t, wait_ns }
    }

    /// Length of the critical section that begins with the first of these operations, if nothing is
    /// waited for inside it.
    fn section_ns(&self, ops: &[OpRecord]) -> u64 {
        let mut ns = 0;
        for op in ops {
            ns += self.prices.of(op);
            if op.kind == OpKind::Unlock && op.object == ops[0].object {
                break;
            }
        }
        ns
    }
}

/// Element `index`, which is made if need be: during a swap the log names pipes of both topologies.
fn slot<T: Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    while list.len() <= index {
        list.push(T::default());
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        costs.core.update = 5;
        let mut c = Charger::new(&machine, &costs, &Plan::default());
        // Lock 0, an update that adds under lock 1, unlock both.
        let ops = [
            record(OpKind::Lock, 0, 0),
            record(OpKind::Update, 7, 1),
            record(OpKind::Lock, 1, 0),
            record(OpKind::Add, 1, 0),
            record(OpKind::Unlock, 1, 0),
            record(OpKind::UpdateEnd, 7, 0),
            record(OpKind::Unlock, 0, 0),
        ];
        let alone = 100 + 10 + 5 + 10 + 30;
        assert_eq!(c.walk(&ops, 1, 0, 1000, 1000), Walk { end: 1000 + alone, wait_ns: 0 });
        // CPU 1 comes 20 ns later: it waits for the end of the first section, then for nothing, and pays
        // for two hand-overs.
        let first_end = 1000 + alone;
        let walk = c.walk(&ops, 1, 1, 1020, 1020);
        assert_eq!(walk, Walk { end: first_end + 55 + alone - 100 + 45, wait_ns: first_end - 1120 });
        let locks: Vec<_> = c.locks().collect();
        assert_eq!(locks[0], (0, 55 + 155, first_end - 1120));
        assert_eq!(locks[1], (1, 40 + 90, 0));
        let (instance, time) = c.instances().next().unwrap();
        assert_eq!((instance, time.updates, time.ns), (7, 2, 45 + 95));
    }

    #[test]
    fn short_sections_pass_before_later_ones() {
        let mut lock = PipeLock::default();
        lock.take(30, 40);
        assert_eq!(lock.gap(2, 3), 2);
        assert_eq!(lock.gap(28, 3), 40);
        assert_eq!(lock.gap(27, 3), 27);
        lock.take(27, 30);
        assert_eq!(lock.taken, [(27, 40)]);
        lock.take(50, 60);
        lock.take(35, 55);
        assert_eq!(lock.taken, [(27, 60)]);
        lock.forget_before(60);
        assert!(lock.taken.is_empty());
    }

    proptest! {
        /// Sections that fit into the gap they were given never overlap.
        #[test]
        fn sections_exclude_each_other(calls in proptest::collection::vec((0u64..200, 1u64..20), 1..60)) {
            let mut lock = PipeLock::default();
            let mut given: Vec<(u64, u64)> = Vec::new();
            for (from, ns) in calls {
                let begin = lock.gap(from, ns);
                prop_assert!(begin >= from);
                prop_assert!(given.iter().all(|&(b, e)| begin >= e || begin + ns <= b));
                given.push((begin, begin + ns));
                lock.take(begin, begin + ns);
                prop_assert!(lock.taken.iter().all(|&(b, e)| b < e));
                prop_assert!(lock.taken.iter().zip(lock.taken.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
        }
    }
}
