// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The objects that tasks meet at: mutexes, conditions, events, barriers, channels, flags.
//!
//! Plain state machines over task numbers: they say which tasks must wait and which continue; the caller
//! wakes and blocks them. All queues are first come, first served, and a woken task already has what it
//! waited for, so it never has to try again.

use std::collections::VecDeque;

use weir_core::event::{CpuNo, TaskNo};

/// Whether the caller may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Go,
    Wait,
}

/// A lock that goes to the longest waiter when it is released.
#[derive(Debug, Default)]
pub struct Mutex {
    pub owner: Option<TaskNo>,
    pub waiters: VecDeque<TaskNo>,
}

impl Mutex {
    /// Take it or queue up. Taking it twice is a deadlock with oneself, as for a plain pthread mutex.
    pub fn lock(&mut self, task: TaskNo) -> Pass {
        if self.owner.is_none() {
            self.owner = Some(task);
            return Pass::Go;
        }
        self.waiters.push_back(task);
        Pass::Wait
    }

    /// Release it: the new owner, which is to be woken. `Err` if `task` does not own it; nothing changes.
    pub fn unlock(&mut self, task: TaskNo) -> Result<Option<TaskNo>, ()> {
        if self.owner != Some(task) {
            return Err(());
        }
        self.owner = self.waiters.pop_front();
        Ok(self.owner)
    }
}

/// A condition variable: waiters with the mutex that each wants back.
#[derive(Debug, Default)]
pub struct Condition {
    pub waiters: VecDeque<(TaskNo, u32)>,
}

/// Suspended tasks; a resume wakes them all, one without waiters is lost (rt-app broadcasts).
#[derive(Debug, Default)]
pub struct Suspension {
    pub waiters: VecDeque<TaskNo>,
    /// Times of activations that no task has awaited yet, ns.
    pub pending: VecDeque<u64>,
}

/// Opens for all when the last one arrives, and is closed again at once.
#[derive(Debug)]
pub struct Barrier {
    pub need: u32,
    pub waiters: Vec<TaskNo>,
    /// Times that it opened.
    pub opened: u64,
    /// The line of its counter: the CPU that had it last, if any, and when the next one can have it.
    pub line: (Option<CpuNo>, u64),
}

impl Barrier {
    /// Arrive: `Go` for the last one, which also gets all others to wake, in order of arrival.
    pub fn arrive(&mut self, task: TaskNo) -> (Pass, Vec<TaskNo>) {
        if self.waiters.len() as u32 + 1 >= self.need {
            self.opened += 1;
            return (Pass::Go, std::mem::take(&mut self.waiters));
        }
        self.waiters.push(task);
        (Pass::Wait, Vec::new())
    }
}

/// A bounded stream of bytes with blocking readers and writers.
///
/// A transfer larger than the capacity moves piece by piece without waking its task in between; of
/// several readers (or writers) only the first in the queue moves bytes.
#[derive(Debug)]
pub struct Channel {
    pub capacity: u64,
    pub fill: u64,
    /// Waiting readers with the bytes that each still wants.
    pub readers: VecDeque<(TaskNo, u64)>,
    /// Waiting writers with the bytes that each still has.
    pub writers: VecDeque<(TaskNo, u64)>,
    /// Bytes written and read in all.
    pub written: u64,
    pub read: u64,
}

impl Channel {
    pub fn new(capacity: u64) -> Self {
        Self {
            capacity: capacity.max(1),
            fill: 0,
            readers: VecDeque::new(),
            writers: VecDeque::new(),
            written: 0,
            read: 0,
        }
    }

    /// Write `bytes`; tasks whose transfer completes are appended to `wake`.
    pub fn write(&mut self, task: TaskNo, bytes: u64, wake: &mut Vec<TaskNo>) -> Pass {
        self.writers.push_back((task, bytes));
        self.settle(task, wake)
    }

    /// Read `bytes`; tasks whose transfer completes are appended to `wake`.
    pub fn read(&mut self, task: TaskNo, bytes: u64, wake: &mut Vec<TaskNo>) -> Pass {
        self.readers.push_back((task, bytes));
        self.settle(task, wake)
    }

    /// Move bytes until no more can move. `Go` if `me` is done.
    fn settle(&mut self, me: TaskNo, wake: &mut Vec<TaskNo>) -> Pass {
        let mut pass = Pass::Wait;
        loop {
            let mut moved = false;
            if let Some((task, left)) = self.writers.front_mut() {
                let n = (*left).min(self.capacity - self.fill);
                *left -= n;
                self.fill += n;
                self.written += n;
                moved |= n > 0;
                if *left == 0 {
                    moved = true;
                    if *task == me {
                        pass = Pass::Go
                    } else {
                        wake.push(*task)
                    }
                    self.writers.pop_front();
                }
            }
            if let Some((task, left)) = self.readers.front_mut() {
                let n = (*left).min(self.fill);
                *left -= n;
                self.fill -= n;
                self.read += n;
                moved |= n > 0;
                if *left == 0 {
                    moved = true;
                    if *task == me {
                        pass = Pass::Go
                    } else {
                        wake.push(*task)
                    }
                    self.readers.pop_front();
                }
            }
            if !moved {
                return pass;
            }
        }
    }
}

/// A counter that tasks may spin on.
#[derive(Debug, Default)]
pub struct Flag {
    pub value: u64,
    /// Spinning tasks with the value that each waits for, in order of arrival; running or not.
    pub spinners: Vec<(TaskNo, u64)>,
}

impl Flag {
    /// Add to the counter; append the spinners that may continue to `done`.
    pub fn raise(&mut self, by: u64, done: &mut Vec<TaskNo>) {
        self.value = self.value.saturating_add(by);
        let value = self.value;
        self.spinners.retain(|&(task, want)| {
            if want <= value {
                done.push(task);
            }
            want > value
        });
    }

    /// Wait for the counter to be at least `want`.
    pub fn spin(&mut self, task: TaskNo, want: u64) -> Pass {
        if self.value >= want {
            return Pass::Go;
        }
        self.spinners.push((task, want));
        Pass::Wait
    }
}

/// All objects of a workload.
#[derive(Debug, Default)]
pub struct Objects {
    pub mutexes: Vec<Mutex>,
    pub conditions: Vec<Condition>,
    pub events: Vec<Suspension>,
    pub barriers: Vec<Barrier>,
    pub channels: Vec<Channel>,
    pub flags: Vec<Flag>,
    /// Next expiry of each shared timer; `None` until the first use.
    pub timers: Vec<Option<u64>>,
}

impl Objects {
    pub fn new(w: &weir_model::Workload) -> Self {
        fn many<T: Default>(n: usize) -> Vec<T> {
            (0..n).map(|_| T::default()).collect()
        }
        Self {
            mutexes: many(w.mutexes.len()),
            conditions: many(w.conditions.len()),
            events: many(w.events.len()),
            barriers: w
                .barriers
                .iter()
                .map(|b| Barrier { need: b.1, waiters: Vec::new(), opened: 0, line: (None, 0) })
                .collect(),
            channels: w.channels.iter().map(|c| Channel::new(c.1)).collect(),
            flags: many(w.flags.len()),
            timers: vec![None; w.timers.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mutex_goes_to_the_longest_waiter() {
        let mut m = Mutex::default();
        assert_eq!(m.lock(1), Pass::Go);
        assert_eq!(m.lock(2), Pass::Wait);
        assert_eq!(m.lock(3), Pass::Wait);
        assert_eq!(m.unlock(2), Err(()));
        assert_eq!(m.unlock(1), Ok(Some(2)));
        assert_eq!(m.unlock(2), Ok(Some(3)));
        assert_eq!(m.unlock(3), Ok(None));
    }

    #[test]
    fn barrier_opens_and_closes() {
        let mut b = Barrier { need: 3, waiters: Vec::new(), opened: 0, line: (None, 0) };
        for _ in 0..2 {
            assert_eq!(b.arrive(5), (Pass::Wait, vec![]));
            assert_eq!(b.arrive(4), (Pass::Wait, vec![]));
            assert_eq!(b.arrive(3), (Pass::Go, vec![5, 4]));
        }
        assert_eq!(b.opened, 2);
    }

    #[test]
    fn channel_blocks_when_full_and_when_empty() {
        let mut c = Channel::new(100);
        let mut wake = Vec::new();
        assert_eq!(c.write(1, 60, &mut wake), Pass::Go);
        assert_eq!(c.write(1, 60, &mut wake), Pass::Wait);
        assert_eq!(c.fill, 100);
        assert_eq!(c.read(2, 50, &mut wake), Pass::Go);
        assert_eq!(wake, [1]);
        wake.clear();
        assert_eq!(c.read(2, 100, &mut wake), Pass::Wait);
        assert_eq!(c.write(1, 500, &mut wake), Pass::Wait);
        assert_eq!(wake, [2]);
        wake.clear();
        assert_eq!(c.read(3, 500, &mut wake), Pass::Wait);
        assert_eq!(wake, [1]);
        assert_eq!((c.written, c.read), (620, 620));
    }

    #[test]
    fn flag_lets_through_who_has_waited_enough() {
        let mut f = Flag::default();
        let mut done = Vec::new();
        assert_eq!(f.spin(1, 2), Pass::Wait);
        assert_eq!(f.spin(2, 1), Pass::Wait);
        assert_eq!(f.spin(3, 0), Pass::Go);
        f.raise(1, &mut done);
        assert_eq!(done, [2]);
        f.raise(5, &mut done);
        assert_eq!(done, [2, 1]);
        assert!(f.spinners.is_empty());
    }

    proptest! {
        /// Bytes are neither lost nor made, and no task waits that could go on.
        #[test]
        fn channel_conserves(cap in 1u64..50, steps in proptest::collection::vec((any::<bool>(), 1u64..120), 1..100)) {
            let mut c = Channel::new(cap);
            let mut wake = Vec::new();
            for (i, (write, n)) in steps.into_iter().enumerate() {
                if write { c.write(i as u32, n, &mut wake); } else { c.read(i as u32, n, &mut wake); }
                prop_assert_eq!(c.written, c.read + c.fill);
                prop_assert!(c.fill <= c.capacity);
                prop_assert!(c.readers.is_empty() || c.fill == 0);
                prop_assert!(c.writers.is_empty() || c.fill == c.capacity);
            }
            let mut sorted = wake.clone();
            sorted.sort();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), wake.len());
        }
    }
}
