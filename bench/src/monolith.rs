// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The opponent: a FIFO scheduler for one CPU as one would write it by hand. One intrusive list, one
//! lock, the same three task states and the same idle bit as the framework; no components, no pipes.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const NONE: u32 = u32::MAX;
const UNCONSIDERED: u32 = 1;
const SCHEDULABLE: u32 = 2;
const RUNNING: u32 = 3;

struct Task {
    state: AtomicU32,
    links: UnsafeCell<(u32, u32)>,
}

/// Queue ends; touched only under `lock`.
struct Queue {
    head: u32,
    tail: u32,
    nr: u32,
}

/// A hand-written first-in-first-out scheduler.
pub struct Monolith {
    tasks: Vec<Task>,
    lock: AtomicU32,
    queue: UnsafeCell<Queue>,
    idle: AtomicU64,
    curr: AtomicU32,
}

impl Monolith {
    pub fn new(nr_tasks: u32) -> Self {
        let task = |_| Task { state: AtomicU32::new(UNCONSIDERED), links: UnsafeCell::new((NONE, NONE)) };
        Monolith {
            tasks: (0..nr_tasks).map(task).collect(),
            lock: AtomicU32::new(0),
            queue: UnsafeCell::new(Queue { head: NONE, tail: NONE, nr: 0 }),
            idle: AtomicU64::new(0),
            curr: AtomicU32::new(NONE),
        }
    }

    fn with_queue<R>(&self, f: impl FnOnce(&mut Queue) -> R) -> R {
        while self.lock.swap(1, Ordering::Acquire) != 0 {
            std::hint::spin_loop();
        }
        // SAFETY: the lock is held, and `f` cannot let the reference out.
        let r = f(unsafe { &mut *self.queue.get() });
        self.lock.store(0, Ordering::Release);
        r
    }

    fn links(&self, t: u32) -> *mut (u32, u32) {
        self.tasks[t as usize].links.get()
    }

    /// unconsidered or running -> schedulable. True if the CPU was idle and has to be woken.
    pub fn admit(&self, t: u32) -> bool {
        let task = &self.tasks[t as usize];
        let from = task.state.load(Ordering::Relaxed);
        if task.state.compare_exchange(from, SCHEDULABLE, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        if from == RUNNING {
            self.curr.store(NONE, Ordering::Relaxed);
        }
        self.with_queue(|q| {
            // SAFETY: links are touched only under the queue's lock.
            unsafe { *self.links(t) = (q.tail, NONE) };
            if q.tail == NONE {
                q.head = t;
            } else {
                // SAFETY: as above.
                unsafe { (*self.links(q.tail)).1 = t };
            }
            q.tail = t;
            q.nr += 1;
        });
        self.idle.load(Ordering::Relaxed) & 1 == 1 && self.idle.fetch_and(!1, Ordering::AcqRel) & 1 == 1
    }

    /// Claim the first task.
    pub fn pick(&self) -> Option<u32> {
        let t = self.with_queue(|q| {
            let t = q.head;
            if t == NONE {
                return NONE;
            }
            let state = &self.tasks[t as usize].state;
            if state.compare_exchange(SCHEDULABLE, RUNNING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                return NONE;
            }
            // SAFETY: links are touched only under the queue's lock.
            let next = unsafe { (*self.links(t)).1 };
            q.head = next;
            if next == NONE {
                q.tail = NONE;
            } else {
                // SAFETY: as above.
                unsafe { (*self.links(next)).0 = NONE };
            }
            q.nr -= 1;
            t
        });
        if t == NONE {
            self.idle.fetch_or(1, Ordering::AcqRel);
            return None;
        }
        self.curr.store(t, Ordering::Relaxed);
        Some(t)
    }
}
