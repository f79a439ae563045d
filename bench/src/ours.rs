// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The real core as the yardsticks are measured: its calls made directly, with locks taken.

use std::ffi::c_void;

use weir_core::{Config, MachineShape, OutMsg, Plan, Sched, Topic, catalog};
use weir_lang::{NoIncludes, Source};

use crate::hand::Ptr;
use crate::memory::Block;

/// `struct weir_msg`
#[repr(C)]
struct Message {
    topic: u32,
    cpu: u32,
    task: Ptr,
    value: u64,
    value2: u64,
    data: *const c_void,
}

/// The beginning of `struct weir_task`.
#[repr(C)]
struct Task {
    id: u32,
    state: u32,
    cookie: u64,
}

unsafe extern "C" {
    fn weir_task_new(s: Ptr, cpu: u32, cookie: u64) -> Ptr;
    fn weir_admit(s: Ptr, cpu: u32, t: Ptr) -> i32;
    fn weir_unblock(s: Ptr, cpu: u32, t: Ptr) -> i32;
    fn weir_block(s: Ptr, cpu: u32, t: Ptr) -> i32;
    fn weir_yield(s: Ptr, cpu: u32, t: Ptr, blocks: i32, next: *mut Ptr) -> i32;
    fn weir_pick(s: Ptr, cpu: u32, target: u32) -> Ptr;
    fn weir_notify(s: Ptr, cpu: u32, msg: *const Message) -> i32;
}

const ARENA: usize = 64 << 20;

/// The plan of a topology, given as text.
pub fn plan(name: &str, text: &str, nr_cpus: u32) -> Plan {
    let source = Source { name: format!("{name}.weir"), text: text.into() };
    weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(nr_cpus), &[])
        .unwrap_or_else(|d| panic!("{}", d[0]))
        .plan
}

/// A scheduler whose CPUs each run a task.
pub struct Ours {
    sched: Sched,
    _memory: Block,
    tasks: Vec<Ptr>,
    running: Vec<Ptr>,
    messages: Vec<OutMsg>,
    now: u64,
    deadlines: Vec<u64>,
}

impl Ours {
    /// `deadlines`: of each task's first job; none: tasks get none. With `weigh`, their priorities are published.
    pub fn new(plan: &Plan, nr_cpus: u32, nr_tasks: u32, deadlines: &[u64], weigh: bool) -> Self {
        let memory = Block::new(ARENA);
        let config = Config { nr_cpus, arena_bytes: ARENA, checks: false, oplog: false, seed: 1 };
        // SAFETY: a fresh block of this size, aligned to a page; it is dropped after the handle.
        let mut sched = unsafe { Sched::within(&config, memory.at(0).cast()) }.expect("the memory suffices");
        sched.load(plan).expect("the topology loads");
        let mut ours = Self {
            sched,
            _memory: memory,
            tasks: Vec::new(),
            running: Vec::new(),
            messages: Vec::new(),
            now: 0,
            deadlines: deadlines.to_vec(),
        };
        let s = ours.s();
        for id in 0..nr_tasks {
            // SAFETY: valid scheduler and records.
            unsafe {
                let t = weir_task_new(s, 0, id.into());
                assert!(!t.is_null(), "memory for a task");
                ours.tasks.push(t);
                if weigh {
                    ours.publish(t, Topic::Priority, 0);
                }
                if let Some(deadline) = deadlines.get(id as usize) {
                    ours.publish(t, Topic::Deadline, *deadline);
                }
                assert_eq!(weir_admit(s, 0, t), 0, "a fresh task");
            }
        }
        // SAFETY: valid scheduler.
        ours.running = (0..nr_cpus).map(|cpu| unsafe { weir_pick(s, cpu, cpu) }).collect();
        ours
    }

    fn s(&self) -> Ptr {
        self.sched.address() as Ptr
    }

    fn publish(&self, t: Ptr, topic: Topic, value: u64) {
        let msg =
            Message { topic: topic as u32, cpu: u32::MAX, task: t, value, value2: 0, data: std::ptr::null() };
        // SAFETY: valid scheduler, record and message.
        unsafe { assert_eq!(weir_notify(self.s(), 0, &msg), 0) };
    }

    /// The CPU's task gives it up, and the next one is chosen.
    #[inline]
    pub fn cycle(&mut self, cpu: u32) {
        self.running[cpu as usize] = turn(self.s(), cpu, self.running[cpu as usize]);
    }

    /// The CPU's task blocks, comes back, and the next one is chosen.
    pub fn sleep(&mut self, cpu: u32) {
        let (s, t) = (self.s(), self.running[cpu as usize]);
        // SAFETY: valid scheduler and record; the task runs.
        unsafe {
            assert_eq!(weir_block(s, cpu, t), 0);
            assert_eq!(weir_unblock(s, cpu, t), 0);
            self.running[cpu as usize] = weir_pick(s, cpu, cpu);
        }
    }

    /// The job of the CPU's task is done: its next deadline is published, it gives up the CPU, and the next one is chosen.
    #[inline]
    pub fn job(&mut self, cpu: u32, periods: &[u64]) {
        let t = self.running[cpu as usize];
        // SAFETY: a record of the core.
        let id = unsafe { (*t.cast::<Task>()).id } as usize;
        self.deadlines[id] += periods[id];
        self.publish(t, Topic::Deadline, self.deadlines[id]);
        self.cycle(cpu);
    }

    /// A turn of a millisecond.
    #[inline]
    pub fn timed(&mut self, cpu: u32) {
        self.now += 1_000_000;
        self.sched.set_now(self.now);
        self.cycle(cpu);
    }

    /// The task that a CPU runs, by its number.
    #[cfg(test)]
    pub fn runs(&self, cpu: u32) -> u32 {
        // SAFETY: a record of the core.
        unsafe { (*self.running[cpu as usize].cast::<Task>()).id }
    }

    /// Forget the components' messages for the runtime.
    pub fn forget_messages(&mut self) {
        self.sched.drain_messages(&mut self.messages);
        self.messages.clear();
    }

    pub fn bytes_per_task(&self) -> usize {
        self.sched.bytes_per_task()
    }

    /// For one thread a CPU: nobody hears messages any more. The scheduler, and what each CPU runs; the memory stays for ever.
    pub fn share(self) -> (usize, Vec<usize>) {
        let running = self.running.iter().map(|t| *t as usize).collect();
        let s = self.sched.address() as usize;
        self.sched.hand_over();
        std::mem::forget(self._memory);
        (s, running)
    }
}

/// One cycle of a CPU that runs `t`: what it runs then.
#[inline]
pub fn turn(s: Ptr, cpu: u32, t: Ptr) -> Ptr {
    // SAFETY: a valid scheduler; the CPU runs the task.
    unsafe {
        if t.is_null() {
            return weir_pick(s, cpu, cpu);
        }
        let mut next = t;
        assert_eq!(weir_yield(s, cpu, t, 0, &raw mut next), 0);
        next
    }
}
