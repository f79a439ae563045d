// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `weir/runtime.h` for Rust: each scheduler has a runtime of its own, whose functions C finds behind its cookie
//! (`core/port/native/rt.c`).

use crate::ffi::CMsg;
use crate::sched::{OutMsg, TaskId};
use crate::topic::Topic;

/// The functions of one kind of runtime; `struct weir_host_ops`.
#[repr(C)]
pub struct Ops {
    pub now: unsafe extern "C" fn(*mut Head) -> u64,
    pub message: unsafe extern "C" fn(*mut Head, *const CMsg),
    pub timer: unsafe extern "C" fn(*mut Head, u32, u64),
}

/// What a runtime's record begins with; `struct weir_host_runtime`.
#[repr(C)]
pub struct Head {
    pub ops: &'static Ops,
}

/// A message as C has it.
///
/// # Safety
/// `msg` points to a message whose task is null or a record.
pub unsafe fn out_msg(msg: *const CMsg) -> Option<OutMsg> {
    // SAFETY: the caller's promise.
    let m = unsafe { &*msg };
    Some(OutMsg {
        topic: *Topic::ALL.get(m.topic as usize)?,
        cpu: (m.cpu != u32::MAX).then_some(m.cpu),
        // SAFETY: the caller's promise.
        task: unsafe { m.task.as_ref() }.map(|t| TaskId(t.id)),
        value: m.value,
        value2: m.value2,
    })
}

/// Messages that a runtime acts on or reports; all others stay within the policy.
pub fn runtime_topics() -> u64 {
    use Topic::*;
    [Preempt, Kick, Overload, Underload, DeadlineMiss, Marker, Frequency, Fault, Withheld, Reconfigure]
        .into_iter()
        .map(Topic::bit)
        .sum()
}
