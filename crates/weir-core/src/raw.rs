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
        unused0: u32,
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
        nr_gave_up: u64,
        nr_inboxed: u64,
        leaves: u32,
        unused0: u32,
        unused: [u64; 3],
        away: u32,
        runs: u32,
        online: u32,
        core: u32,
        llc: u32,
        node: u32,
        isa: u32,
        capacity: u32,
        unused2: [u64; 4],
    }
    /// The beginning of `struct weir_graph`.
    "weir_graph" Graph {
        nr_pipes: u32,
        nr_instances: u32,
        nr_slots: u32,
        nr_cpus: u32,
        reviewed: u64,
        subscribed: u64,
        wanted: u64,
        alone: u64,
        pipes: u64,
        instances: u64,
    }
    /// `struct weir_pipe`.
    "weir_pipe" Pipe {
        word: u64,
        nr: u32,
        held: u32,
        head: u64,
        tail: u64,
        root: u64,
        nr_added: u64,
        now: u64,
        max_nr: u32,
        stamp: u32,
        sched: u64,
        from: u64,
        to: u64,
        home: u64,
        holder: u64,
        whole: u64,
        cpus: u64,
        idx: u32,
        mark: u32,
        depth: u32,
        lone: u64,
        only: u64,
        tally: u64,
        keyed: u32,
        gated: u32,
        nr_cpus: u32,
        cpu: u32,
        hears: u32,
        kind: u32,
        stages: u32,
        ear: u64,
        reviews: u64,
        reviews_far: u64,
        postponed: u32,
        to_port: u32,
        from_port: u32,
        word_lo: u32,
        word_hi: u32,
        outward: u32,
        border: u64,
        simple: u32,
        counted: u32,
        counts: u32,
        apart: u32,
        behind: u32,
        way_in: u32,
        label: u64,
        lock_wait_ns: u64,
        longest_lock_wait_ns: u64,
        nr_lock_waits: u64,
        nr_lock_given_up: u64,
        inward: u32,
        sent: u32,
        beyond: u32,
        reported: u32,
        accepted: u32,
        next_in_home: u32,
        len: u32,
        tied: u32,
        room: [u64; 5],
    }
    /// `struct weir_task`.
    "weir_task" Task {
        id: u32,
        pend: u32,
        claim: u64,
        cookie: u64,
        slice_ns: u64,
        tie: u64,
        home: u32,
        landing: u32,
        placed: u32,
        seq: u32,
        entry_cpu: u32,
        in_next: u32,
        next: u64,
        prev: u64,
        left: u64,
        right: u64,
        up: u64,
        key: u64,
        gate: u64,
        least: u64,
    }
}

impl Task {
    /// `enum weir_task_state`.
    pub fn state(&self) -> u32 {
        (self.claim & 0xff) as u32
    }

    /// Where it runs or ran last; `u32::MAX`: it never ran.
    pub fn cpu(&self) -> u32 {
        match (self.claim >> 8 & 0xffff) as u32 {
            0xffff => u32::MAX,
            cpu => cpu,
        }
    }
}

// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
