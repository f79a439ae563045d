// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The ways of tasks through the stages, as the prototype of source 0 pays for them (`stages = "chained"`).
//!
//! There a pipe's lock is held until all that its update has set off is done, down to the CPU's pipe, and a task that leaves is taken out of
//! its pipes in the same manner, stage by stage, each with its update and what the component burns. Our core does neither, so its log has
//! the way of an arriving task alone: this remembers it until the task leaves.

use std::collections::HashMap;

use weir_core::Plan;

use super::charge::Held;

/// A pipe that a task has come through, the instance behind it, and what that burnt meanwhile, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    pub pipe: u32,
    pub instance: u32,
    pub burnt_ns: u64,
}

/// Ways of all tasks, and the one that is being walked.
#[derive(Debug, Default)]
pub struct Chain {
    ways: HashMap<u32, Vec<Passed>>,
    way: Vec<Passed>,
    /// Locks that are held until it ends.
    held: Vec<Held>,
    /// By pipe: CPUs take their tasks there.
    ends: Vec<bool>,
}

impl Chain {
    /// With the pipes of another topology. Tasks are presented anew to it.
    pub fn reset(&mut self, plan: &Plan) {
        self.ends = vec![false; plan.pipes.len()];
        plan.exits.iter().flatten().for_each(|&exit| self.ends[exit as usize] = true);
        self.ways.clear();
    }

    /// The way of a task goes on through a pipe, whose lock is held from now on, to this instance.
    pub fn pass(&mut self, lock: Held, instance: u32) {
        self.way.push(Passed { pipe: lock.pipe, instance, burnt_ns: 0 });
        self.held.push(lock);
    }

    /// The component behind the last pipe burns.
    pub fn burn(&mut self, ns: u64) {
        if let Some(last) = self.way.last_mut() {
            last.burnt_ns += ns;
        }
    }

    /// `task` has come to its end.
    pub fn arrive(&mut self, task: u32) {
        let way = std::mem::take(&mut self.way);
        if !way.is_empty() {
            self.ways.insert(task, way);
        }
    }

    /// The way of `task`, which it goes back now.
    pub fn leave(&mut self, task: u32) -> Vec<Passed> {
        self.ways.remove(&task).unwrap_or_default()
    }

    /// A lock is held until the way back has ended.
    pub fn hold(&mut self, lock: Held) {
        self.held.push(lock);
    }

    /// The locks that were held for the way that has just ended, the last first.
    pub fn let_go(&mut self) -> impl Iterator<Item = Held> + '_ {
        self.way.clear();
        self.held.drain(..).rev()
    }

    /// CPUs take their tasks from this pipe.
    pub fn is_end(&self, pipe: u32) -> bool {
        self.ends.get(pipe as usize).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_kept_until_its_task_leaves() {
        let mut chain = Chain::default();
        let lock = |pipe| Held { pipe, begin: 0 };
        chain.pass(lock(1), 3);
        chain.burn(5);
        chain.pass(lock(2), 4);
        chain.arrive(7);
        assert_eq!(chain.let_go().map(|h| h.pipe).collect::<Vec<_>>(), [2, 1]);
        chain.pass(lock(1), 3);
        assert_eq!(chain.let_go().count(), 1);
        let way =
            [Passed { pipe: 1, instance: 3, burnt_ns: 5 }, Passed { pipe: 2, instance: 4, burnt_ns: 0 }];
        assert_eq!(chain.leave(7), way);
        assert_eq!(chain.leave(7), []);
    }
}
