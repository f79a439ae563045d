// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How long less urgent tasks that hold mutexes block a job on one CPU.
//!
//! L. Sha, R. Rajkumar and J. Lehoczky 1990: under priority inheritance each less urgent task blocks a job for at most one
//! of its critical sections, under the priority ceiling all together for one. T. Baker 1991 and A. Burns et al. 2015 have the
//! same for ceilings of preemption levels and of deadlines. A section blocks if a task at least as urgent as the
//! job takes one of its mutexes, or waits for a task that does.
//!
//! Under inheritance a waiter that is not the most urgent may be served first, where an order other than the protocol's
//! decides; so sections are counted for each task, not for each mutex.

use std::collections::{BTreeMap, BTreeSet};

use crate::task::Task;

/// What keeps the holder of a mutex from being held up itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    None,
    /// The holder is as urgent as the most urgent waiter.
    Inherit,
    /// The holder is as urgent as the most urgent user, from the lock on.
    Ceiling,
    /// The original ceiling: a lock needs an urgency above the ceilings of all that others hold.
    Classic,
    /// Waiters keep their CPUs.
    Spin,
}

impl Protocol {
    /// Nothing bounds the wait.
    pub fn is_bare(self) -> bool {
        matches!(self, Protocol::None | Protocol::Spin)
    }
}

/// A mutex, by a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutex {
    pub id: u32,
    pub protocol: Protocol,
}

/// What a job does, as far as mutexes matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compute for at most so many ns.
    Run(u64),
    Lock(Mutex),
    Unlock(u32),
}

/// The mutexes of a task.
fn taken(task: &Task) -> BTreeSet<Mutex> {
    let lock = |s: &Step| if let Step::Lock(m) = s { Some(*m) } else { None };
    task.steps.iter().filter_map(lock).collect()
}

/// A task takes a mutex.
pub fn takes(task: &Task, mutex: Mutex) -> bool {
    task.steps.contains(&Step::Lock(mutex))
}

/// A task takes a mutex, or another one of the original ceiling, so that it may wait for the holder of this one.
pub fn meets(task: &Task, mutex: Mutex) -> bool {
    let classic = |m: &Mutex| m.protocol == Protocol::Classic;
    takes(task, mutex) || (classic(&mutex) && taken(task).iter().any(classic))
}

/// The mutexes that more than one of the tasks takes. Under the original ceiling a task that takes one also waits for the holders of others, so there
/// it is enough that more than one task takes any.
pub fn shared<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> impl Iterator<Item = Mutex> {
    let mut users: BTreeMap<Mutex, u32> = BTreeMap::new();
    let mut classic = 0;
    for task in tasks {
        let taken = taken(task);
        classic += u32::from(taken.iter().any(|m| m.protocol == Protocol::Classic));
        taken.into_iter().for_each(|m| *users.entry(m).or_default() += 1);
    }
    let meet = move |m: &Mutex, n: u32| n > 1 || (m.protocol == Protocol::Classic && classic > 1);
    users.into_iter().filter(move |(m, n)| meet(m, *n)).map(|(m, _)| m)
}

/// What the original ceiling is worth under an order of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Original {
    /// It compares tasks in another order, and bounds nothing.
    Unfit,
    /// One section of each less urgent task blocks.
    EachTask,
    /// One of all.
    OneOfAll,
}

/// Tasks with their mutexes and an order of urgency.
pub struct Locking<'a> {
    tasks: Vec<&'a Task>,
    /// As a user of a mutex; higher is more urgent.
    levels: Vec<i64>,
    /// Mutexes of several tasks, with the highest level of a task that takes one, or that may wait for its holder.
    ceilings: BTreeMap<u32, i64>,
    protocols: BTreeMap<u32, Protocol>,
    original: Original,
}

impl<'a> Locking<'a> {
    /// `levels` are of the tasks, in their order.
    pub fn new(tasks: Vec<&'a Task>, levels: Vec<i64>, original: Original) -> Self {
        let mut protocols: BTreeMap<u32, Protocol> =
            shared(tasks.iter().copied()).map(|m| (m.id, m.protocol)).collect();
        let mut ceilings: BTreeMap<u32, i64> = BTreeMap::new();
        let mut inside: BTreeSet<(u32, u32)> = BTreeSet::new();
        for (task, level) in tasks.iter().zip(&levels) {
            for mutex in taken(task).iter().filter(|m| protocols.contains_key(&m.id)) {
                let ceiling = ceilings.entry(mutex.id).or_insert(*level);
                *ceiling = (*ceiling).max(*level);
            }
            let mut held: Vec<u32> = Vec::new();
            for step in &task.steps {
                match step {
                    Step::Lock(m) if protocols.contains_key(&m.id) => {
                        inside.extend(held.iter().map(|h| (*h, m.id)));
                        held.push(m.id);
                    }
                    Step::Unlock(id) => held.retain(|h| h != id),
                    Step::Run(_) | Step::Lock(_) => {}
                }
            }
        }
        // Where the protocol's order is not the tasks', any user of such a mutex may wait for any other.
        if original == Original::Unfit {
            let classic = |id: &u32| protocols[id] == Protocol::Classic;
            let most = ceilings.iter().filter(|(id, _)| classic(id)).map(|(_, c)| *c).max();
            ceilings.iter_mut().filter(|(id, _)| classic(id)).for_each(|(_, c)| *c = most.unwrap_or(*c));
        }
        // Whoever waits for a mutex waits for what its holder waits for.
        let close = |step: &mut dyn FnMut() -> bool| while step() {};
        close(&mut || {
            inside.iter().fold(false, |more, (outer, inner)| {
                let raised = ceilings[inner] < ceilings[outer];
                if raised {
                    ceilings.insert(*inner, ceilings[outer]);
                }
                more | raised
            })
        });
        let mut reach = inside;
        close(&mut || {
            let far: Vec<(u32, u32)> = reach
                .iter()
                .flat_map(|(a, b)| reach.range((*b, 0)..=(*b, u32::MAX)).map(|(_, c)| (*a, *c)))
                .filter(|pair| !reach.contains(pair))
                .collect();
            reach.extend(far.iter().copied());
            !far.is_empty()
        });
        // Tasks that take mutexes in a circle may wait for each other for ever, except under ceilings.
        let circular = |id: u32| reach.contains(&(id, id));
        for (id, protocol) in &mut protocols {
            let stuck = *protocol == Protocol::Inherit && circular(*id);
            if stuck || (*protocol == Protocol::Classic && original == Original::Unfit) {
                *protocol = Protocol::None;
            }
        }
        Self { tasks, levels, ceilings, protocols, original }
    }

    /// No mutex has several users.
    pub fn is_free(&self) -> bool {
        self.protocols.is_empty()
    }

    /// A mutex without a bound is taken by several tasks, one of which has at least this level.
    pub fn unbounded(&self, level: i64) -> bool {
        let bare = self.protocols.iter().filter(|(_, p)| p.is_bare());
        bare.map(|(id, _)| self.ceilings[id]).any(|ceiling| ceiling >= level)
    }

    /// How long tasks for which `lower` holds block jobs of this level at most, where each has entered a section before.
    pub fn blocking(&self, level: i64, lower: impl Fn(usize) -> bool) -> u64 {
        let matters = |id: u32| self.ceilings.get(&id).is_some_and(|c| *c >= level);
        let lower = (0..self.tasks.len()).filter(|j| lower(*j));
        let sections: Vec<u64> = lower.clone().map(|j| longest(self.tasks[j], matters)).collect();
        let used: BTreeSet<Protocol> = lower
            .flat_map(|j| taken(self.tasks[j]))
            .filter(|m| matters(m.id))
            .map(|m| self.protocols[&m.id])
            .collect();
        let once = used.len() == 1
            && used.iter().all(|p| match p {
                Protocol::Ceiling => true,
                Protocol::Classic => self.original == Original::OneOfAll,
                Protocol::None | Protocol::Inherit | Protocol::Spin => false,
            });
        if once {
            sections.into_iter().max().unwrap_or(0)
        } else {
            sections.into_iter().fold(0, u64::saturating_add)
        }
    }

    /// The level of a task.
    pub fn level(&self, k: usize) -> i64 {
        self.levels[k]
    }
}

/// The longest time for which a job holds some of the mutexes.
fn longest(task: &Task, matters: impl Fn(u32) -> bool) -> u64 {
    let (mut held, mut now, mut most) = (Vec::new(), 0u64, 0u64);
    for step in &task.steps {
        match step {
            Step::Run(ns) if !held.is_empty() => {
                now = now.saturating_add(*ns);
                most = most.max(now);
            }
            Step::Run(_) => {}
            Step::Lock(m) if matters(m.id) => held.push(m.id),
            Step::Lock(_) => {}
            Step::Unlock(id) => {
                held.retain(|h| h != id);
                if held.is_empty() {
                    now = 0;
                }
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: u32, protocol: Protocol, ns: u64) -> Vec<Step> {
        vec![Step::Lock(Mutex { id, protocol }), Step::Run(ns), Step::Unlock(id)]
    }

    fn with(steps: Vec<Step>) -> Task {
        Task { steps, ..Task::implicit(1, 100) }
    }

    fn blocking(tasks: &[Task], k: usize) -> u64 {
        // As listed, most urgent first.
        let levels: Vec<i64> = (0..tasks.len()).map(|i| -(i as i64)).collect();
        let locking = Locking::new(tasks.iter().collect(), levels, Original::OneOfAll);
        assert!(!locking.unbounded(locking.level(k)));
        locking.blocking(locking.level(k), |j| j > k)
    }

    /// Under inheritance one section of each less urgent task, under a ceiling one of all; the middle task is blocked, too.
    #[test]
    fn one_section_each_or_one_of_all() {
        for (protocol, wanted) in [(Protocol::Inherit, 5 + 7), (Protocol::Ceiling, 7), (Protocol::Classic, 7)]
        {
            let user = |ns| with(section(0, protocol, ns));
            let tasks = [user(1), with(Vec::new()), user(5), user(7)];
            assert_eq!(blocking(&tasks, 0), wanted, "{protocol:?}");
            assert_eq!(blocking(&tasks, 1), wanted, "{protocol:?}: pushed through");
            assert_eq!(blocking(&tasks, 2), 7);
            assert_eq!(blocking(&tasks, 3), 0);
        }
    }

    #[test]
    fn sections_within_sections() {
        let lock = |id| Step::Lock(Mutex { id, protocol: Protocol::Inherit });
        // The second holds 0 and waits for 1, which the third holds; the first takes 0 only.
        let nested = vec![lock(0), Step::Run(2), lock(1), Step::Run(3), Step::Unlock(1), Step::Unlock(0)];
        let tasks = [
            with(section(0, Protocol::Inherit, 1)),
            with(nested.clone()),
            with(section(1, Protocol::Inherit, 11)),
        ];
        assert_eq!(blocking(&tasks, 0), 5 + 11);
        // Only what matters counts: nobody who holds 1 waits for 0.
        let tasks = [
            with(section(1, Protocol::Inherit, 1)),
            with(nested.clone()),
            with(section(0, Protocol::Inherit, 9)),
        ];
        assert_eq!((blocking(&tasks, 0), blocking(&tasks, 1)), (3, 9));
        // In both orders they may wait for each other for ever.
        let other = vec![lock(1), lock(0), Step::Run(1), Step::Unlock(0), Step::Unlock(1)];
        let tasks = [with(nested), with(other)];
        let locking = Locking::new(tasks.iter().collect(), vec![1, 0], Original::OneOfAll);
        assert!(locking.unbounded(1) && locking.unbounded(0) && !locking.unbounded(2));
    }

    #[test]
    fn without_a_protocol_there_is_no_bound() {
        let tasks =
            [with(Vec::new()), with(section(0, Protocol::None, 1)), with(section(0, Protocol::None, 1))];
        let locking = Locking::new(tasks.iter().collect(), vec![2, 1, 0], Original::OneOfAll);
        assert!(!locking.unbounded(2) && locking.unbounded(1) && locking.unbounded(0));
        // A mutex of one task is none.
        assert!(Locking::new(vec![&tasks[1]], vec![0], Original::OneOfAll).is_free());
    }
}
