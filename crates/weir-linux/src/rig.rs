// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! For tests: a native scheduler in ordinary memory, read in the same way as the loader reads the kernel's.

use std::alloc::{Layout, alloc_zeroed, dealloc};

use weir_core::{Config, MachineShape, Sched, TaskId, catalog};
use weir_lang::{NoIncludes, Source};

use crate::layout::{Live, LiveTask, NONE};
use crate::memory::{Memory, Shared, zeroed_live};
use crate::snapshot::Snapshot;
use crate::view::{Facts, View};

pub(crate) const BYTES: usize = 32 << 20;
const MAX_TASKS: u32 = 1024;
pub(crate) const TEXT: &str =
    "annotate affinity; entry -> lb :: load_balancer -> each cpu { round_robin -> cpu };";

/// A scheduler in ordinary memory, with the adapter's tables filled by the test.
pub(crate) struct Rig {
    pub memory: *mut u8,
    pub live: Box<Live>,
    pub sched: Sched,
    pub view: View,
    pub facts: Facts,
}

fn layout() -> Layout {
    Layout::from_size_align(BYTES, 4096).expect("a power of two")
}

impl Rig {
    pub fn new() -> Self {
        Self::of(TEXT)
    }

    /// Under another topology.
    pub fn of(text: &str) -> Self {
        let shape = MachineShape::flat(2);
        let source = Source { name: "test.weir".into(), text: text.into() };
        let plan = weir_lang::compile(&source, &NoIncludes, catalog(), &shape, &[]).expect("a topology").plan;
        // SAFETY: not of size zero.
        let memory = unsafe { alloc_zeroed(layout()) };
        let config = Config { nr_cpus: 2, arena_bytes: BYTES, checks: false, oplog: false, seed: 1 };
        // SAFETY: zeroed, aligned, ours until `drop`.
        let mut sched = unsafe { Sched::within(&config, memory) }.expect("fits");
        let tasks = sched.alloc(u64::from(MAX_TASKS + 1) * size_of::<LiveTask>() as u64).expect("fits");
        sched.load(&plan).expect("a sound plan");
        let mut live = zeroed_live();
        // SAFETY: the box lives as long as the rig.
        let shared = unsafe { Shared::new(&raw mut *live) };
        shared.set_up(sched.address(), tasks, MAX_TASKS, 2, 5_000_000);
        // SAFETY: ours until `drop`.
        let memory_range = unsafe { Memory::new(memory as u64, BYTES as u64) };
        let view = View { memory: memory_range, shared };
        let components = catalog().components.iter().map(|c| c.id).collect();
        let facts = Facts { plan, source: text.into(), components, attached_ns: 100, last_swap: None };
        Rig { memory, live, sched, view, facts }
    }

    /// The adapter's record of a task.
    pub fn note(&mut self, id: TaskId, pid: u32, since_ns: u64, started_ns: u64) {
        let at = self.view.shared.head().tasks + u64::from(id.0) * size_of::<LiveTask>() as u64;
        let mut comm = [0; 16];
        comm[..4].copy_from_slice(b"task");
        // SAFETY: within the table, which is ours.
        unsafe {
            let t = at as *mut LiveTask;
            (*t).pid = pid;
            (*t).since_ns = since_ns;
            (*t).started_ns = started_ns;
            (*t).cpu = NONE;
            (*t).comm = comm;
        }
    }

    /// Likewise: the process that it is of.
    pub fn process(&mut self, id: TaskId, tgid: u32) {
        let at = self.view.shared.head().tasks + u64::from(id.0) * size_of::<LiveTask>() as u64;
        // SAFETY: within the table, which is ours.
        unsafe { (*(at as *mut LiveTask)).tgid = tgid };
    }

    /// Likewise: a component holds it back until then.
    pub fn hold(&mut self, id: TaskId, until_ns: u64) {
        let at = self.view.shared.head().tasks + u64::from(id.0) * size_of::<LiveTask>() as u64;
        // SAFETY: within the table, which is ours.
        unsafe { (*(at as *mut LiveTask)).until_ns = until_ns };
    }

    pub fn snapshot(&self, now_ns: u64) -> Snapshot {
        self.view.snapshot(&self.facts, now_ns, &|_| None)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // SAFETY: of this layout; the scheduler in it makes no calls when it is dropped.
        unsafe { dealloc(self.memory, layout()) };
    }
}
