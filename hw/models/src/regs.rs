// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Words of the engine's registers and addresses of calls, put together and taken apart by the fields of [`crate::map`].

use crate::engine::{Policy, Task, Terms};
pub use crate::map::laxity::*;
use crate::map::{address, unit};

/// Offset of the state of a task.
pub const fn state(task: u8) -> u16 {
    STATE + STATE_STRIDE * task as u16
}

/// Offset of its counters.
pub const fn counters(task: u8) -> u16 {
    COUNTERS + COUNTERS_STRIDE * task as u16
}

/// What [`CTRL`] reads while nothing runs; `keep`: R2 holds, `stay`: R5 does.
pub const fn settings(policy: Policy, keep: bool, stay: bool) -> u32 {
    ctrl::POLICY.put(policy as u32) | ctrl::LOOSE.put(!keep as u32) | ctrl::ROAM.put(!stay as u32)
}

/// [`PARAM0`] and [`PARAM1`] of a task.
pub const fn parameters(t: &Task) -> [u32; 2] {
    [
        param0::PERIOD.put(t.period) | param0::WCET.put(t.wcet),
        param1::DEADLINE.put(t.deadline) | param1::PHASE.put(t.phase),
    ]
}

/// [`PARAM2`], which counts for a high task only, and [`PARAM3`].
pub const fn terms(t: &Terms) -> [u32; 2] {
    let high = match t.high {
        Some(high) => param2::WCET_HIGH.put(high.wcet) | param2::VIRTUAL.put(high.deadline),
        None => 0,
    };
    let server = match t.server {
        Some(server) => param3::BUDGET.put(server.budget) | param3::REPLENISH.put(server.replenish),
        None => 0,
    };
    [high, server]
}

/// What [`CMD`] takes: one of the `OP_…`.
pub const fn command(op: u32, task: u8, sporadic: bool, high: bool) -> u32 {
    cmd::OP.put(op)
        | cmd::TASK.put(task as u32)
        | cmd::SPORADIC.put(sporadic as u32)
        | cmd::HIGH.put(high as u32)
}

/// What [`DONE`] takes.
pub const fn complete(task: u8, job: u8) -> u32 {
    done::TASK.put(task as u32) | done::JOB.put(job as u32)
}

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
    pub const fn of(word: u32) -> Sched {
        let idle = sched::IDLE.get(word) == 1;
        Sched {
            change: sched::CHANGE.get(word) == 1,
            wait: sched::WAIT.get(word) == 1,
            task: if idle { None } else { Some(sched::TASK.get(word) as u8) },
            job: sched::JOB.get(word) as u8,
        }
    }
}

/// An answer of [`STATE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub exists: bool,
    pub ready: bool,
    pub chosen: bool,
    pub missed: bool,
    /// A sporadic release waits.
    pub waits: bool,
    /// The budget is used up.
    pub withheld: bool,
    /// The job is of a low task and was set aside.
    pub aside: bool,
    pub high: bool,
    pub job: u8,
}

impl State {
    pub const fn of(word: u32) -> State {
        State {
            exists: state::EXISTS.get(word) == 1,
            ready: state::READY.get(word) == 1,
            chosen: state::CHOSEN.get(word) == 1,
            missed: state::MISSED.get(word) == 1,
            waits: state::WAITS.get(word) == 1,
            withheld: state::WITHHELD.get(word) == 1,
            aside: state::ASIDE.get(word) == 1,
            high: state::HIGH.get(word) == 1,
            job: state::JOB.get(word) as u8,
        }
    }
}

/// Byte address of a call of a unit of `weir_kernel`; of one that stands alone, it is unit 0.
pub const fn call(unit: u32, command: u32, thread: u8, argument: u8) -> u32 {
    use address::kernel::*;
    COMMAND.put(command) | THREAD.put(thread as u32) | ARGUMENT.put(argument as u32) | UNIT.put(unit)
}

/// Byte address of a call of `weir_lists`.
pub const fn lists_call(command: u32, thread: u8, argument: u8) -> u32 {
    call(unit::LISTS, command, thread, argument)
}

/// Byte address of a call of `weir_unified`; `which`: a line, a timer, or for SET_THREAD 1 if the level is empty.
pub const fn unified_call(command: u32, thread: u8, priority: u8, which: u8) -> u32 {
    use address::unified::*;
    COMMAND.put(command) | THREAD.put(thread as u32) | PRIORITY.put(priority as u32) | WHICH.put(which as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{High, Server};
    use crate::map::lists;

    #[test]
    fn an_answer_is_read_by_its_fields() {
        let s = Sched::of(0xa000_0503);
        assert_eq!(s, Sched { change: true, wait: true, task: Some(3), job: 5 });
        assert_eq!(Sched::of(1 << 30).task, None);
    }

    /// Numbers that programs out there have compiled in: a change of the map that moves one of them is noticed.
    #[test]
    fn words_are_where_they_were() {
        assert_eq!(settings(Policy::Mllf, false, true), 0x130);
        assert_eq!((state(3), counters(3)), (0x418, 0x41c));
        let t = Task { period: 10, wcet: 3, deadline: 8, phase: 2, sporadic: true };
        assert_eq!(parameters(&t), [0x3_000a, 0x2_0008]);
        assert_eq!((command(OP_SET, 7, true, false), complete(7, 9)), (0x711, 0x907));
        assert_eq!(lists_call(lists::SET_PRIORITY, 3, 7), 0x1c0d4);
        assert_eq!(unified_call(6, 3, 7, 5), 0x141_c0d8);
        let terms = Terms {
            server: Some(Server { budget: 2, replenish: 5 }),
            high: Some(High { wcet: 4, deadline: 6 }),
        };
        assert_eq!((command(OP_SET, 7, false, true), self::terms(&terms)), (0x721, [0x6_0004, 0x5_0002]));
        assert_eq!((SCHED, DONE, CLOCKS), (0x14, 0x18, 0x40));
    }
}
