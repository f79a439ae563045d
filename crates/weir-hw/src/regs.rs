// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Register map of `weir_laxity`: byte offsets and fields. The page docs/hardware.md has it as a table.

/// `[0]` run, `[5:4]` policy, `[8]` no preference among equals for the task that ran (R2 off), `[9]` no staying on a CPU (R5 off).
pub const CTRL: u16 = 0x00;
/// Clocks between ticks; what is too small for a decision is refused.
pub const TICK: u16 = 0x04;
/// `[15:0]` period, `[31:16]` execution time, ticks.
pub const PARAM0: u16 = 0x08;
/// `[15:0]` relative deadline, 0: the period; `[31:16]` ticks by which the first release is put off.
pub const PARAM1: u16 = 0x0c;
/// `[3:0]` command, `[4]` sporadic, `[15:8]` task. Read: 1 if the last command was refused.
pub const CMD: u16 = 0x10;
/// Banked, read only: what this CPU is to run. The read hands back the context that it had, and claims the new one.
pub const SCHED: u16 = 0x14;
/// `[7:0]` task, `[15:8]` job: that job is complete.
pub const DONE: u16 = 0x18;
/// Banked: as [`SCHED`], but only looks.
pub const PEEK: u16 = 0x1c;
/// Banked: number of the CPU that asks.
pub const CPU: u16 = 0x20;
/// `[7:0]` tasks, `[15:8]` CPUs, `[19:16]` policies, `[20]` separation, `[21]` read-back, `[31:24]` version.
pub const STATUS: u16 = 0x24;
/// Ticks so far.
pub const TICKS: u16 = 0x28;
/// Deadlines missed so far.
pub const MISSES: u16 = 0x2c;
/// Tasks that are ready, a bit each; the second word has tasks 32 to 63.
pub const READY: u16 = 0x30;
/// Tasks that missed a deadline, a bit each; what is written as 1 is cleared.
pub const MISSED: u16 = 0x38;
/// `[15:0]` clocks from a tick to its decision, `[31:16]` least clocks between ticks.
pub const CLOCKS: u16 = 0x40;

/// State of a task; four bytes on are its counters (`[15:0]` time to the deadline, `[31:16]` work left, ticks).
pub const fn state(task: u8) -> u16 {
    0x400 + 8 * task as u16
}

/// Commands, to be written to [`CMD`] with a task number at bit 8.
pub const SET_TASK: u32 = 1;
pub const DEL_TASK: u32 = 2;
pub const RELEASE: u32 = 3;
/// To be added to [`SET_TASK`].
pub const SPORADIC: u32 = 1 << 4;

/// An answer of [`SCHED`] or [`PEEK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sched {
    /// The CPU held something else than it is to run.
    pub change: bool,
    /// Another CPU holds the context still: ask again.
    pub wait: bool,
    /// Task to run, none: idle.
    pub task: Option<u8>,
    /// Number of its job, for [`DONE`].
    pub job: u8,
}

impl Sched {
    pub fn of(word: u32) -> Sched {
        let idle = word >> 30 & 1 == 1;
        Sched {
            change: word >> 31 == 1,
            wait: word >> 29 & 1 == 1,
            task: (!idle).then_some(word as u8),
            job: (word >> 8) as u8,
        }
    }
}

/// Calls of `weir_lists`: each is a read, and the answer is what was read.
pub mod lists {
    /// 1 if nothing is queued.
    pub const IS_EMPTY: u32 = 0;
    /// To the tail of its list; 1 if it was queued already.
    pub const ENQUEUE: u32 = 1;
    /// Out of its list; 1 if it was in none.
    pub const DEQUEUE: u32 = 2;
    /// 1 if it is queued.
    pub const IS_QUEUED: u32 = 3;
    pub const GET_PRIORITY: u32 = 4;
    /// A queued thread goes to the tail of its new list.
    pub const SET_PRIORITY: u32 = 5;
    /// `[31]` queued, `[23:16]` priority, `[15:8]` next and `[7:0]` previous thread of its list.
    pub const GET_ENTRY: u32 = 6;
    /// Argument 1: interrupts for more urgent threads; 0: none. The setting before.
    pub const PREEMPTION: u32 = 7;
    pub const SET_IDLE: u32 = 8;
    pub const GET_IDLE: u32 = 9;
    /// The first thread of the highest list leaves it and is the current one: `[31]` none, the idle thread; `[15:8]` priority, `[7:0]` thread.
    pub const NEXT: u32 = 10;
    /// As NEXT, without effect: `[31]` idle.
    pub const CURRENT: u32 = 11;

    /// Byte address of a call.
    pub const fn call(command: u32, thread: u8, argument: u8) -> u32 {
        command << 2 | (thread as u32) << 6 | (argument as u32) << 14
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_by_its_fields() {
        let s = Sched::of(0xa000_0503);
        assert_eq!(s, Sched { change: true, wait: true, task: Some(3), job: 5 });
        assert_eq!(Sched::of(1 << 30).task, None);
    }

    /// Every register of the map is one of the RTL, at its place.
    #[test]
    fn the_map_is_that_of_the_rtl() {
        let rtl = include_str!("../../../hw/rtl/weir_laxity.sv");
        let map = [
            ("Ctrl", CTRL),
            ("Tick", TICK),
            ("Param0", PARAM0),
            ("Param1", PARAM1),
            ("Cmd", CMD),
            ("Sched", SCHED),
            ("Done", DONE),
            ("Peek", PEEK),
            ("Cpu", CPU),
            ("Status", STATUS),
            ("Ticks", TICKS),
            ("Misses", MISSES),
            ("Ready0", READY),
            ("Ready1", READY + 4),
            ("Miss0", MISSED),
            ("Miss1", MISSED + 4),
            ("Clocks", CLOCKS),
        ];
        for (name, offset) in map {
            let text = format!("Reg{name} = 5'h{:02x}", offset / 4);
            assert!(rtl.contains(&text), "{text}");
        }
        assert_eq!(rtl.matches("= 5'h").count(), map.len());
    }

    #[test]
    fn calls_are_those_of_the_rtl() {
        let rtl = include_str!("../../../hw/rtl/weir_lists.sv");
        let calls = [
            ("IsEmpty", lists::IS_EMPTY),
            ("Enqueue", lists::ENQUEUE),
            ("Dequeue", lists::DEQUEUE),
            ("IsQueued", lists::IS_QUEUED),
            ("GetPriority", lists::GET_PRIORITY),
            ("SetPriority", lists::SET_PRIORITY),
            ("GetEntry", lists::GET_ENTRY),
            ("Preemption", lists::PREEMPTION),
            ("SetIdle", lists::SET_IDLE),
            ("GetIdle", lists::GET_IDLE),
            ("Next", lists::NEXT),
            ("Current", lists::CURRENT),
        ];
        for (name, number) in calls {
            assert!(rtl.contains(&format!("{name} = 4'd{number}")), "{name}");
        }
        assert_eq!(lists::call(lists::SET_PRIORITY, 3, 7), 0x1c0d4);
    }
}
