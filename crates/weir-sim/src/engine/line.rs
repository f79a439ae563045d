// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The tasks that wait for mutexes with a protocol, ordered by all that a protocol asks for, so that a task comes and goes in a
//! time that hardly depends on how many wait.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use weir_core::event::TaskNo;

use super::inherit::{Level, Rank, Urgency};

/// Where a waiting task is filed, and as what.
#[derive(Clone, Copy, Debug)]
pub struct Filed {
    pub mutex: u32,
    /// Its number in the order of arrival.
    pub arrival: u64,
    pub urgency: Urgency,
}

/// Tasks that wait for the same.
#[derive(Debug, Default)]
pub struct Line {
    /// The last one is the most urgent; of equals it is the one that came first.
    ranks: BTreeSet<(Rank, Reverse<u64>, TaskNo)>,
    levels: BTreeSet<(Level, Reverse<u64>, TaskNo)>,
    deadlines: BTreeSet<(u64, TaskNo)>,
    periods: BTreeSet<(u64, TaskNo)>,
    relatives: BTreeSet<(u64, TaskNo)>,
}

impl Line {
    fn add(&mut self, no: TaskNo, filed: &Filed) {
        let u = &filed.urgency;
        self.ranks.insert((u.rank(), Reverse(filed.arrival), no));
        self.levels.insert((u.level(), Reverse(filed.arrival), no));
        self.deadlines.insert((u.deadline_ns, no));
        self.periods.insert((u.period_ns, no));
        self.relatives.insert((u.relative_ns, no));
    }

    fn remove(&mut self, no: TaskNo, filed: &Filed) {
        let u = &filed.urgency;
        self.ranks.remove(&(u.rank(), Reverse(filed.arrival), no));
        self.levels.remove(&(u.level(), Reverse(filed.arrival), no));
        self.deadlines.remove(&(u.deadline_ns, no));
        self.periods.remove(&(u.period_ns, no));
        self.relatives.remove(&(u.relative_ns, no));
    }

    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Most urgent first, of equals the one that came first.
    pub fn by_rank(&self) -> impl Iterator<Item = TaskNo> + '_ {
        self.ranks.iter().rev().map(|r| r.2)
    }

    /// Highest level first, of equals the one that came first.
    pub fn by_level(&self) -> impl Iterator<Item = TaskNo> + '_ {
        self.levels.iter().rev().map(|l| l.2)
    }

    /// Not above a level.
    pub fn up_to(&self, level: Level) -> impl Iterator<Item = TaskNo> + '_ {
        self.levels.range(..=(level, Reverse(0), TaskNo::MAX)).map(|l| l.2)
    }

    /// The highest level.
    pub fn highest(&self) -> Option<Level> {
        self.levels.last().map(|l| l.0)
    }

    /// The most urgent in each respect.
    pub fn most(&self) -> Urgency {
        let least = |set: &BTreeSet<(u64, TaskNo)>| set.first().map_or(u64::MAX, |f| f.0);
        Urgency {
            priority: self.ranks.last().map_or(i32::MIN, |r| r.0.0),
            deadline_ns: least(&self.deadlines),
            period_ns: least(&self.periods),
            relative_ns: least(&self.relatives),
        }
    }
}

/// All lines: one a mutex, and one of all tasks that the original ceiling keeps waiting.
#[derive(Debug, Default)]
pub struct Lines {
    filed: HashMap<TaskNo, Filed>,
    of_mutex: Vec<Line>,
    held_up: Line,
    /// Mutexes of the original ceiling with tasks in their line.
    wanted: BTreeSet<u32>,
    arrivals: u64,
}

impl Lines {
    pub fn new(mutexes: usize) -> Self {
        Self { of_mutex: (0..mutexes).map(|_| Line::default()).collect(), ..Self::default() }
    }

    pub fn of(&self, mutex: u32) -> &Line {
        &self.of_mutex[mutex as usize]
    }

    /// What the original ceiling keeps waiting.
    pub fn held_up(&self) -> &Line {
        &self.held_up
    }

    pub fn wanted(&self) -> impl Iterator<Item = u32> + '_ {
        self.wanted.iter().copied()
    }

    pub fn get(&self, no: TaskNo) -> Option<Filed> {
        self.filed.get(&no).copied()
    }

    /// All of them, in no order.
    pub fn all(&self) -> impl Iterator<Item = (TaskNo, &Filed)> {
        self.filed.iter().map(|(no, filed)| (*no, filed))
    }

    /// A task begins to wait; `classic`: under the original ceiling.
    pub fn join(&mut self, no: TaskNo, mutex: u32, urgency: Urgency, classic: bool) {
        let filed = Filed { mutex, arrival: self.arrivals, urgency };
        self.arrivals += 1;
        self.filed.insert(no, filed);
        self.of_mutex[mutex as usize].add(no, &filed);
        if classic {
            self.held_up.add(no, &filed);
            self.wanted.insert(mutex);
        }
    }

    /// It waits no longer.
    pub fn leave(&mut self, no: TaskNo, classic: bool) {
        let Some(filed) = self.filed.remove(&no) else { return };
        let line = &mut self.of_mutex[filed.mutex as usize];
        line.remove(no, &filed);
        if classic {
            self.held_up.remove(no, &filed);
            if line.is_empty() {
                self.wanted.remove(&filed.mutex);
            }
        }
    }

    /// Its urgency is another one now; it keeps its place among equals.
    pub fn refile(&mut self, no: TaskNo, urgency: Urgency, classic: bool) {
        let Some(filed) = self.filed.get_mut(&no) else { return };
        let old = *filed;
        if old.urgency == urgency {
            return;
        }
        filed.urgency = urgency;
        let new = *filed;
        let line = &mut self.of_mutex[new.mutex as usize];
        line.remove(no, &old);
        line.add(no, &new);
        if classic {
            self.held_up.remove(no, &old);
            self.held_up.add(no, &new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever comes, changes and goes: the first and the most urgent are those of a search among all.
        #[test]
        fn as_a_search_would(steps in proptest::collection::vec((0u32..12, 0u8..4, -2i32..3, 0u64..4), 1..200)) {
            let mut lines = Lines::new(1);
            let mut plain: Vec<(TaskNo, Urgency)> = Vec::new();
            for (no, what, priority, n) in steps {
                let urgency = Urgency { priority, deadline_ns: n, period_ns: 3 - n, relative_ns: n / 2 };
                let at = plain.iter().position(|p| p.0 == no);
                match (what, at) {
                    (0 | 1, None) => {
                        lines.join(no, 0, urgency, true);
                        plain.push((no, urgency));
                    }
                    (2, Some(at)) => {
                        lines.refile(no, urgency, true);
                        plain[at].1 = urgency;
                    }
                    (_, Some(at)) => {
                        lines.leave(no, true);
                        plain.remove(at);
                    }
                    _ => {}
                }
                for line in [lines.of(0), lines.held_up()] {
                    prop_assert_eq!(line.by_rank().next(), plain.iter().rev().max_by_key(|p| p.1.rank()).map(|p| p.0));
                    prop_assert_eq!(line.by_rank().count(), plain.len());
                    prop_assert_eq!(line.by_level().next(), plain.iter().rev().max_by_key(|p| p.1.level()).map(|p| p.0));
                    prop_assert_eq!(line.highest(), plain.iter().map(|p| p.1.level()).max());
                    let most = plain.iter().fold(Urgency::LEAST, |a, b| a.with(b.1));
                    prop_assert_eq!(line.most(), most);
                    let below = plain.iter().filter(|p| p.1.level() <= urgency.level()).count();
                    prop_assert_eq!(line.up_to(urgency.level()).count(), below);
                }
                prop_assert_eq!(lines.wanted().count(), usize::from(!plain.is_empty()));
            }
        }
    }
}
