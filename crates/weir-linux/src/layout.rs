// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the loader and the kernel side share beside the arena: `runtimes/linux/live.h`, as Rust types.
//! Layouts are compared with C's by a test.

use weir_core::raw::Plain;

/// `WEIR_MAX_CPUS`.
pub(crate) const MAX_CPUS: usize = weir_core::MAX_CPUS as usize;
/// `WEIR_NO_CPU`, `WEIR_NO_TASK`.
pub(crate) const NONE: u32 = u32::MAX;

/// `WEIR_WAIT_BUCKETS`, and the bits below its unit.
pub(crate) const BUCKETS: usize = 208;
pub(crate) const UNIT_BITS: u32 = 10;
/// `WEIR_NR_CALLS`, `WEIR_NR_WAITS`.
pub(crate) const CALLS: usize = 10;
pub(crate) const WAITS: usize = 3;

macro_rules! plain {
    ($($(#[$doc:meta])* $c:literal $name:ident { $($(#[$fdoc:meta])* $field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            #[repr(C)]
            pub(crate) struct $name { $($(#[$fdoc])* pub $field: $ty,)* }
            // SAFETY: `#[repr(C)]`, of integers and arrays of integers only.
            unsafe impl Plain for $name {}
        )*

        #[cfg(test)]
        fn layouts() -> Vec<(&'static str, Vec<u32>)> {
            vec![$(($c, vec![
                size_of::<$name>() as u32,
                $(std::mem::offset_of!($name, $field) as u32,)*
            ]),)*]
        }
    };
}

plain! {
    /// Counters of one CPU.
    "weir_live_cpu" LiveCpu {
        enqueues: u64,
        dispatches: u64,
        dequeues: u64,
        direct: u64,
        given: u64,
        aside: u64,
        empty: u64,
        dropped: u64,
        kept: u64,
        kicks: u64,
        preempts: u64,
        runs: u64,
        migrations: u64,
        messages: u64,
        failures: u64,
        busy_ns: u64,
        lost_events: u64,
        requests: u64,
        /// Task of our class that runs; 0: none.
        curr_pid: u64,
        gave_up: u64,
        /// A higher class has had the CPU since; 0: it has not.
        away_ns: u64,
        reported_away: u64,
        stints: u64,
        instructions: u64,
        timers: u64,
        aside_given_up: u64,
        rescues: u64,
        overdue: u64,
        /// The last call that failed: its kind, the error << 8, the task's state before << 16; 0: none did.
        failed: u64,
        /// Readings of all counters, and their time, where the log of counts is kept.
        readings: u64,
        count_ns: u64,
        unused: [u64; 2],
    }
    /// Calls of the core by one CPU, of one kind.
    "weir_live_calls" LiveCalls {
        nr: u64,
        /// Of these, timed; the rest is about them.
        nr_timed: u64,
        nr_long: u64,
        total_ns: u64,
        /// Since we looked last.
        longest_ns: u64,
    }
    /// Waits of one kind that ended on one CPU.
    "weir_live_waits" LiveWaits {
        total_ns: u64,
        /// Since we looked last.
        longest_ns: u64,
        nr: [u64; BUCKETS],
    }
    /// Measurements of one CPU.
    "weir_live_gauge" LiveGauge {
        began_ns: u64,
        calls: [LiveCalls; CALLS],
        waits: [LiveWaits; WAITS],
    }
    /// Data about a task, by task number.
    "weir_live_task" LiveTask {
        /// 0: no such task.
        pid: u32,
        tgid: u32,
        since_ns: u64,
        run_ns: u64,
        wait_ns: u64,
        started_ns: u64,
        cpu: u32,
        nr_runs: u32,
        nr_migrations: u32,
        withheld: u32,
        next_gone: u32,
        next_late: u32,
        until_ns: u64,
        ready_ns: u64,
        ready_as: u32,
        unused: u32,
        comm: [u8; 16],
    }
    /// `struct weir_swap_stats`.
    "weir_swap_stats" LiveStats {
        represented: u32,
        built: u32,
        kept: u32,
        refused: u32,
        pause_ns: u64,
    }
    /// One wish of the loader.
    "weir_live_request" LiveRequest {
        state: u32,
        kind: u32,
        plan: u64,
        instance: u32,
        class: u32,
        topic: u32,
        cpu: u32,
        task: u32,
        result: i32,
        value: u64,
        value2: u64,
        stats: LiveStats,
        done_ns: u64,
        attempts: u32,
        bytes: u32,
        uuid: u64,
        version: u32,
        unused: u32,
    }
    /// The record of global data, without the CPUs behind it.
    "weir_live" LiveHead {
        sched: u64,
        tasks: u64,
        max_tasks: u32,
        nr_cpus: u32,
        recording: u32,
        attached: u32,
        slice_ns: u64,
        nr_tasks: u64,
        no_memory: u64,
        swaps: u64,
        faults: u64,
        leave: u32,
        bind: u32,
        exit_kind: i32,
        counting: u32,
        gauges: u64,
        exit_code: u64,
        exit_reason: [u8; 128],
        exit_msg: [u8; 1024],
        request: LiveRequest,
    }
}

/// `struct weir_live`.
#[repr(C)]
pub(crate) struct Live {
    pub head: LiveHead,
    pub cpus: [LiveCpu; MAX_CPUS],
}

/// `enum weir_live_request_state`.
pub(crate) mod state {
    pub const FREE: u32 = 0;
    pub const POSTED: u32 = 1;
    pub const DONE: u32 = 3;
}

/// `enum weir_live_request_kind`.
pub(crate) mod kind {
    pub const SWAP: u32 = 1;
    pub const REPLACE: u32 = 2;
    pub const NOTIFY: u32 = 3;
    pub const AWAY: u32 = 4;
    pub const RESCUE: u32 = 5;
    pub const ASK: u32 = 6;
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        static weir_live_layout: [u32; 256];
        static weir_live_layout_len: u32;
    }

    #[test]
    fn layouts_agree_with_c() {
        // SAFETY: a constant table of C and its length.
        let theirs = unsafe {
            std::slice::from_raw_parts(
                (&raw const weir_live_layout).cast::<u32>(),
                weir_live_layout_len as usize,
            )
        };
        let (total, mut rest) = theirs.split_last().expect("the table ends with the size of all");
        assert_eq!(*total as usize, size_of::<Live>());
        for (name, ours) in layouts() {
            let (own, more) = rest.split_at(ours.len());
            assert_eq!(own[1..], ours[1..], "offsets in struct {name}");
            if name != "weir_live" {
                assert_eq!(own[0], ours[0], "size of struct {name}");
            }
            rest = more;
        }
        let (cpus, rest) = rest.split_first().expect("the offset of the CPUs");
        assert_eq!(*cpus as usize, std::mem::offset_of!(Live, cpus));
        assert!(rest.is_empty());
    }
}
