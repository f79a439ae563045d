// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Numbers in a Perfetto trace: message fields, tracks, and interned names.

use weir_core::event::Call;

// Fields of TracePacket.
pub const PACKET: u32 = 1;
pub const SEQUENCE_ID: u32 = 10;
pub const INTERNED: u32 = 12;
/// Within `INTERNED`: texts of annotations.
pub const STRING_VALUES: u32 = 29;
pub const SEQUENCE_FLAGS: u32 = 13;
pub const CLOCK_SNAPSHOT: u32 = 6;
pub const DEFAULTS: u32 = 59;
pub const DESCRIPTOR: u32 = 60;
pub const FIRST_ON_SEQUENCE: u32 = 87;
/// Values of `SEQUENCE_FLAGS`.
pub const CLEARED: u64 = 1;
pub const NEEDS_STATE: u64 = 2;
/// Perfetto's default trace clock.
pub const CLOCK_BOOTTIME: u64 = 6;

/// Fields of TrackEvent: an arrow begins or continues; it ends.
pub const FLOW: u32 = 47;
pub const LAST_OF_FLOW: u32 = 48;

/// Values of `TrackEvent.type`.
#[derive(Clone, Copy)]
pub enum Kind {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// Track identifiers: an index and what it counts, in one small number.
#[derive(Clone, Copy)]
pub enum Track {
    Process = 1,
    Cpu,
    Task,
    Pipe,
    Clock,
    Other,
    Gang,
}

pub const fn uuid(track: Track, index: u32) -> u64 {
    (index as u64 + 1) << 3 | track as u64
}

/// The groups of tracks, by index of their process track.
pub const CPUS: u32 = 0;
pub const TASKS: u32 = 1;
pub const PIPES: u32 = 2;
pub const SCHEDULER: u32 = 3;
/// Single tracks within `SCHEDULER`.
pub const MESSAGES: u32 = 0;
pub const MISSES: u32 = 1;
pub const SWAPS: u32 = 2;
pub const MARKERS: u32 = 3;
pub const SINGLE: [&str; 4] = ["Messages", "Deadline misses", "Swaps", "Markers"];

/// Interned names of annotations.
pub const NOTES: [&str; 18] = [
    "cpu",
    "task",
    "lock_wait_ns",
    "value",
    "job",
    "deadline_ns",
    "pause_ns",
    "tasks_represented",
    "response_ns",
    "waits_for",
    "holder",
    "woken_by",
    "pipe",
    "stage",
    "may_use",
    "capacity",
    "prio",
    "policy",
];
pub const CPU: u64 = 1;
pub const TASK: u64 = 2;
pub const LOCK_WAIT: u64 = 3;
pub const VALUE: u64 = 4;
pub const JOB: u64 = 5;
pub const DEADLINE: u64 = 6;
pub const PAUSE: u64 = 7;
pub const REPRESENTED: u64 = 8;
pub const RESPONSE: u64 = 9;
pub const WAITS_FOR: u64 = 10;
pub const HOLDER: u64 = 11;
pub const WOKEN_BY: u64 = 12;
pub const PIPE: u64 = 13;
pub const STAGE: u64 = 14;
pub const MAY_USE: u64 = 15;
pub const CAPACITY: u64 = 16;
pub const PRIO: u64 = 17;
pub const POLICY: u64 = 18;
/// The waker is time or a device.
pub const NOBODY: u64 = u32::MAX as u64;

/// Interned event names that are known beforehand; tasks and topics follow.
pub const NAMES: [&str; 8] =
    ["running", "runnable", "blocked", "lock wait (sum)", "offline", "kick", "deadline miss", "queued"];
pub const RUNNING: u64 = 1;
pub const RUNNABLE: u64 = 2;
pub const BLOCKED: u64 = 3;
pub const LOCK_WAITING: u64 = 4;
pub const OFFLINE: u64 = 5;
pub const KICK: u64 = 6;
pub const MISS: u64 = 7;
pub const QUEUED: u64 = 8;
/// The core calls follow, in the order of [`Call::ALL`].
pub const FIRST_CALL: u64 = 9;
/// Task names have even ids from here, texts (topics, calls) the odd ones.
pub const FIRST_ID: u64 = 32;

pub const fn task_name(task: u32) -> u64 {
    FIRST_ID + 2 * task as u64
}

/// Names of the core calls with their ids.
pub fn call_names() -> impl Iterator<Item = (u64, &'static str)> {
    (FIRST_CALL..).zip(Call::ALL.map(Call::name))
}
