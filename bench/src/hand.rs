// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The yardsticks in `hand/*.c`: schedulers written by hand, each with the duties of one topology.

use std::ffi::c_void;

use crate::memory::Block;

/// A record in C; never looked into from here.
pub type Ptr = *mut c_void;

unsafe extern "C" {
    fn fused_bytes() -> u64;
    fn fused_init(s: Ptr, nr_cpus: u32);
    fn fused_task_bytes() -> u64;
    fn fused_task_init(t: Ptr, id: u32);
    #[cfg(test)]
    fn fused_task_id(t: Ptr) -> u32;
    fn fused_admit(s: Ptr, t: Ptr) -> i32;
    fn fused_relinquish(s: Ptr, t: Ptr) -> i32;
    fn fused_block(s: Ptr, t: Ptr) -> i32;
    fn fused_pick(s: Ptr, cpu: u32) -> Ptr;

    fn edf_hand_bytes() -> u64;
    fn edf_hand_init(s: Ptr, nr_cpus: u32);
    fn edf_hand_task_bytes() -> u64;
    fn edf_hand_task_init(t: Ptr, id: u32);
    fn edf_hand_task_id(t: Ptr) -> u32;
    fn edf_hand_admit(s: Ptr, t: Ptr) -> i32;
    fn edf_hand_deadline(s: Ptr, t: Ptr, deadline: u64);
    fn edf_hand_relinquish(s: Ptr, t: Ptr) -> i32;
    fn edf_hand_pick(s: Ptr, cpu: u32) -> Ptr;

    fn eevdf_hand_bytes() -> u64;
    fn eevdf_hand_set_now(s: Ptr, now: u64);
    fn eevdf_hand_task_bytes() -> u64;
    fn eevdf_hand_task_init(t: Ptr, id: u32, weight: u32);
    fn eevdf_hand_admit(s: Ptr, t: Ptr) -> i32;
    fn eevdf_hand_relinquish(s: Ptr, t: Ptr) -> i32;
    fn eevdf_hand_pick(s: Ptr) -> Ptr;
}

/// Memory for so many records of a kind, a multiple of a cache line each.
fn records(nr: u32, bytes: u64) -> (Block, usize) {
    let each = (bytes as usize).next_multiple_of(64);
    (Block::new(each * nr as usize), each)
}

/// `decentral` by hand.
pub struct Fused {
    s: Block,
    _tasks: Block,
    running: Vec<Ptr>,
}

impl Fused {
    /// All tasks are admitted, and each CPU runs one.
    pub fn new(nr_cpus: u32, nr_tasks: u32) -> Self {
        // SAFETY: fresh memory of the size that C wants.
        unsafe {
            let s = Block::new(fused_bytes() as usize);
            fused_init(s.at(0), nr_cpus);
            let (tasks, each) = records(nr_tasks, fused_task_bytes());
            for id in 0..nr_tasks {
                let t = tasks.at(each * id as usize);
                fused_task_init(t, id);
                assert_eq!(fused_admit(s.at(0), t), 0, "a fresh task");
            }
            let running = (0..nr_cpus).map(|cpu| fused_pick(s.at(0), cpu)).collect();
            Self { s, _tasks: tasks, running }
        }
    }

    /// The CPU's task gives it up, and the next one is chosen.
    #[inline]
    pub fn cycle(&mut self, cpu: u32) {
        self.running[cpu as usize] = turn_fused(self.s.at(0), cpu, self.running[cpu as usize]);
    }

    /// The task that a CPU runs, by its number.
    #[cfg(test)]
    pub fn runs(&self, cpu: u32) -> u32 {
        // SAFETY: a record of ours.
        unsafe { fused_task_id(self.running[cpu as usize]) }
    }

    /// The CPU's task blocks, comes back, and the next one is chosen.
    pub fn sleep(&mut self, cpu: u32) {
        let t = self.running[cpu as usize];
        // SAFETY: records of ours; the task runs.
        unsafe {
            assert_eq!(fused_block(self.s.at(0), t), 0);
            assert_eq!(fused_admit(self.s.at(0), t), 0);
            self.running[cpu as usize] = fused_pick(self.s.at(0), cpu);
        }
    }

    /// For one thread a CPU: the scheduler, and what the CPU runs.
    pub fn share(&self, cpu: u32) -> (usize, usize) {
        (self.s.at(0) as usize, self.running[cpu as usize] as usize)
    }
}

/// One cycle of a CPU that runs `t`: what it runs then.
#[inline]
pub fn turn_fused(s: Ptr, cpu: u32, t: Ptr) -> Ptr {
    // SAFETY: made by `Fused::new`; the CPU runs the task.
    unsafe {
        if !t.is_null() {
            fused_relinquish(s, t);
        }
        fused_pick(s, cpu)
    }
}

/// `edf` by hand.
pub struct Edf {
    s: Block,
    _tasks: Block,
    running: Vec<Ptr>,
    deadlines: Vec<u64>,
}

impl Edf {
    pub fn new(nr_cpus: u32, periods: &[u64]) -> Self {
        // SAFETY: fresh memory of the size that C wants.
        unsafe {
            let s = Block::new(edf_hand_bytes() as usize);
            edf_hand_init(s.at(0), nr_cpus);
            let (tasks, each) = records(periods.len() as u32, edf_hand_task_bytes());
            for (id, period) in (0..).zip(periods) {
                let t = tasks.at(each * id as usize);
                edf_hand_task_init(t, id);
                edf_hand_deadline(s.at(0), t, *period);
                assert_eq!(edf_hand_admit(s.at(0), t), 0, "a fresh task");
            }
            let running = (0..nr_cpus).map(|cpu| edf_hand_pick(s.at(0), cpu)).collect();
            Self { s, _tasks: tasks, running, deadlines: periods.to_vec() }
        }
    }

    /// The job of the CPU's task is done: its next deadline is published, it gives up the CPU, and the next one is chosen.
    #[inline]
    pub fn cycle(&mut self, cpu: u32, periods: &[u64]) {
        let t = self.running[cpu as usize];
        // SAFETY: a record of ours.
        unsafe {
            let id = edf_hand_task_id(t) as usize;
            self.deadlines[id] += periods[id];
            edf_hand_deadline(self.s.at(0), t, self.deadlines[id]);
            edf_hand_relinquish(self.s.at(0), t);
            self.running[cpu as usize] = edf_hand_pick(self.s.at(0), cpu);
        }
    }

    #[cfg(test)]
    pub fn runs(&self, cpu: u32) -> u32 {
        // SAFETY: a record of ours.
        unsafe { edf_hand_task_id(self.running[cpu as usize]) }
    }
}

/// `eevdf` on one CPU, by hand.
pub struct Eevdf {
    s: Block,
    _tasks: Block,
    running: Ptr,
    now: u64,
}

impl Eevdf {
    pub fn new(nr_tasks: u32) -> Self {
        // SAFETY: fresh, zeroed memory of the size that C wants.
        unsafe {
            let s = Block::new(eevdf_hand_bytes() as usize);
            let (tasks, each) = records(nr_tasks, eevdf_hand_task_bytes());
            for id in 0..nr_tasks {
                let t = tasks.at(each * id as usize);
                eevdf_hand_task_init(t, id, 1024);
                assert_eq!(eevdf_hand_admit(s.at(0), t), 0, "a fresh task");
            }
            let running = eevdf_hand_pick(s.at(0));
            Self { s, _tasks: tasks, running, now: 0 }
        }
    }

    /// A turn of a millisecond.
    #[inline]
    pub fn cycle(&mut self) {
        self.now += 1_000_000;
        // SAFETY: a record of ours.
        unsafe {
            eevdf_hand_set_now(self.s.at(0), self.now);
            eevdf_hand_relinquish(self.s.at(0), self.running);
            self.running = eevdf_hand_pick(self.s.at(0));
        }
    }
}
