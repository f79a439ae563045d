// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Records of the core as they stand in its memory, for readers of a scheduler that another process runs.
//!
//! Nothing here writes. What is read may be half changed; a reader that follows an address first makes
//! sure that it lies within the scheduler's memory. Layouts are compared with C's by a test.

/// Tasks per block of records (`WEIR_TASK_CHUNK`).
pub const TASK_CHUNK: u32 = 1024;
/// Most blocks (`WEIR_MAX_CHUNKS`).
pub const MAX_CHUNKS: u32 = 4096;
/// Most pipes on a path (`WEIR_MAX_DEPTH`).
pub const MAX_DEPTH: u32 = 32;

/// A record that any bytes are a valid value of.
///
/// # Safety
/// `#[repr(C)]`, of integers and arrays of integers only.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($(#[$doc:meta])* $c:literal $name:ident { $($(#[$fdoc:meta])* $field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }
            // SAFETY: `#[repr(C)]`, and of integers only.
            unsafe impl Plain for $name {}
        )*
    };
}

plain! {
    /// The beginning of `struct weir_sched`; addresses are `u64`.
    "weir_sched" Sched {
        arena_bytes: u64,
        used: u64,
        freed: u64,
        alloc_lock: u32,
        task_lock: u32,
        writer: u32,
        nr_cpus: u32,
        mask_words: u32,
        nr_classes: u32,
        nr_chunks: u32,
        free_task: u32,
        nr_tasks: u32,
        oplog: u32,
        exclusive: u32,
        swapping: u32,
        patience: u64,
        random: u64,
        rt_topics: u64,
        cookie: u64,
        faults: u64,
        lost_messages: u64,
        classes: u64,
        cpus: u64,
        ctx: u64,
        graph: u64,
        chunks: u64,
        idle: u64,
        busy: u64,
    }
    /// `struct weir_cpu`.
    "weir_cpu" Cpu {
        curr: u64,
        curr_key: u64,
        online: u32,
        core: u32,
        llc: u32,
        node: u32,
        isa: u32,
        capacity: u32,
        nr_gave_up: u64,
        nr_inboxed: u64,
        unused: u64,
    }
    /// The beginning of `struct weir_graph`.
    "weir_graph" Graph {
        nr_pipes: u32,
        nr_instances: u32,
        nr_slots: u32,
        nr_cpus: u32,
        followed: u64,
        subscribed: u64,
        pipes: u64,
        instances: u64,
    }
    /// `struct weir_pipe`.
    "weir_pipe" Pipe {
        sched: u64,
        from: u64,
        to: u64,
        deep: u64,
        cpus: u64,
        idx: u32,
        slot: u32,
        keyed: u32,
        carried: u32,
        nr_cpus: u32,
        cpu: u32,
        lock: u32,
        nr: u32,
        head: u64,
        tail: u64,
        root: u64,
        inbox: u64,
        wanted: u32,
        through: u32,
        nr_added: u64,
        nr_removed: u64,
        log: u64,
        work_next: u64,
        change_kinds: u32,
        postponed: u32,
        pending: u32,
        rebuild: u32,
        nr_log: u32,
        cap_log: u32,
        news: u32,
        max_nr: u32,
        to_port: u32,
        from_port: u32,
        word_lo: u32,
        word_hi: u32,
        label: u64,
        lock_wait_ns: u64,
        longest_lock_wait_ns: u64,
        nr_lock_waits: u64,
        nr_lock_given_up: u64,
        outward: u32,
        inward: u32,
        sent: u32,
        beyond: u32,
        reported: u32,
        accepted: u32,
    }
    /// `struct weir_instance`.
    "weir_instance" Instance {
        sched: u64,
        class: u32,
        idx: u32,
        nr_in: u32,
        nr_out: u32,
        ins: u64,
        out: u64,
        private: u64,
        per_task: u32,
        lock: u32,
        unused: u32,
        carries: u32,
        nr_updates: u64,
        timer_ns: u64,
        region: u64,
        on: u64,
        follows: u64,
        answers: u64,
        topics: [u32; 4],
    }
    /// `struct weir_task`.
    "weir_task" Task {
        id: u32,
        state: u32,
        cookie: u64,
        hooks: u64,
        refs: u32,
        cpu: u32,
        entry_cpu: u32,
        next_free: u32,
        torn: u32,
        landing: u32,
        slice_ns: u64,
        key: u64,
    }
    /// `struct weir_hook`.
    "weir_hook" Hook {
        pipe: u64,
        next: u64,
        prev: u64,
        key: u64,
        left: u64,
        right: u64,
        up: u64,
        weight: u32,
        change: u32,
    }
}

// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
