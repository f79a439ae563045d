// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The records of the event ring, decoded. Layout: `struct weir_live_event` of `runtimes/linux/live.h`.

use std::sync::{Arc, Mutex, PoisonError};

use weir_core::event::{Call, Stop, Urgency};

/// Bytes of a record in the ring.
pub const EVENT_BYTES: usize = 48;

/// A receiver of every event, in the order in which the ring got them: those of one CPU in
/// order of time, those of several some microseconds out of order. Called on the control thread,
/// so it must not wait long.
pub trait EventSink: Send {
    fn event(&mut self, event: &LiveEvent);
}

/// A sink that another owner reads from time to time, and may remove.
impl<S: EventSink> EventSink for Arc<Mutex<Option<S>>> {
    fn event(&mut self, event: &LiveEvent) {
        if let Some(sink) = self.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            sink.event(event);
        }
    }
}

/// Something that happened in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveEvent {
    /// CLOCK_MONOTONIC, ns.
    pub t_ns: u64,
    /// Where it happened, or the CPU it is about.
    pub cpu: u32,
    pub kind: LiveEventKind,
}

/// What woke a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// The kernel does not show it.
    Unknown,
    /// An interrupt: a timer or a device.
    Interrupt,
    /// The thread of this number.
    Thread(u32),
}

/// The kind of event. `task` is the scheduler's number, reused after [`LiveEventKind::Exit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveEventKind {
    /// The task is known from now on, or has another priority.
    Task {
        task: u32,
        pid: u32,
        tgid: u32,
        urgency: Urgency,
        comm: String,
    },
    Exit {
        task: u32,
    },
    /// It became schedulable; `wakeup` is false where it went back after running.
    Ready {
        task: u32,
        wakeup: bool,
        by: Waker,
    },
    /// It runs on `cpu`.
    Run {
        task: u32,
    },
    /// It left `cpu`.
    Off {
        task: u32,
        why: Stop,
    },
    /// `cpu` has nothing to run, or has work again.
    Idle {
        idle: bool,
    },
    Kick,
    /// A component's message; `topic` is the number in `weir/broker.h`.
    Message {
        topic: u32,
        task: Option<u32>,
        value: u64,
    },
    Swap {
        pause_ns: u64,
        represented: u32,
    },
    Online {
        online: bool,
    },
    /// `cpu` was in the core for `ns`.
    Sched {
        call: Call,
        ns: u64,
    },
}

impl LiveEvent {
    /// From a record; `None` where it is too short or of a kind unknown here.
    pub fn decode(record: &[u8]) -> Option<LiveEvent> {
        let r: &[u8; EVENT_BYTES] = record.get(..EVENT_BYTES)?.try_into().ok()?;
        let word = |at: usize| u32::from_ne_bytes(r[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_ne_bytes(r[at..at + 8].try_into().expect("8 bytes"));
        let (task, pid, value) = (word(16), word(20), long(24));
        let kind = match word(8) {
            1 => LiveEventKind::Task {
                task,
                pid,
                tgid: value as u32,
                urgency: Urgency { prio: (value >> 32) as u8, policy: (value >> 40) as u8 },
                comm: comm(&r[32..48]),
            },
            2 => LiveEventKind::Exit { task },
            3 => LiveEventKind::Ready { task, wakeup: value & 1 == 1, by: waker((value >> 32) as u32) },
            4 => LiveEventKind::Run { task },
            5 => LiveEventKind::Off { task, why: stop(value)? },
            6 => LiveEventKind::Idle { idle: value == 1 },
            7 => LiveEventKind::Kick,
            8 => LiveEventKind::Message { topic: pid, task: (task != u32::MAX).then_some(task), value },
            9 => LiveEventKind::Swap { pause_ns: value, represented: pid },
            10 => LiveEventKind::Online { online: value == 1 },
            11 => LiveEventKind::Sched { call: call(pid)?, ns: value },
            _ => return None,
        };
        Some(LiveEvent { t_ns: long(0), cpu: word(12), kind })
    }
}

/// A name that ends at the first zero byte; what is not UTF-8 is replaced.
pub(crate) fn comm(bytes: &[u8]) -> String {
    let len = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

fn waker(n: u32) -> Waker {
    match n {
        0 => Waker::Unknown,
        u32::MAX => Waker::Interrupt,
        pid => Waker::Thread(pid),
    }
}

fn stop(n: u64) -> Option<Stop> {
    [Stop::Preempted, Stop::SliceEnd, Stop::Yield, Stop::Block].get(usize::try_from(n).ok()?).copied()
}

fn call(n: u32) -> Option<Call> {
    use Call::*;
    [Admit, Unblock, Relinquish, Block, Exit, Pick, Notify].get(n as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, task: u32, pid: u32, value: u64, name: &[u8]) -> Vec<u8> {
        let mut r = 99u64.to_ne_bytes().to_vec();
        for w in [kind, 3, task, pid] {
            r.extend(w.to_ne_bytes());
        }
        r.extend(value.to_ne_bytes());
        r.extend(name);
        r.resize(EVENT_BYTES, 0);
        r
    }

    #[test]
    fn decodes_each_kind() {
        let of =
            |kind, task, pid, value| LiveEvent::decode(&record(kind, task, pid, value, b"")).map(|e| e.kind);
        assert_eq!(of(2, 5, 0, 0), Some(LiveEventKind::Exit { task: 5 }));
        assert_eq!(of(3, 5, 0, 1), Some(LiveEventKind::Ready { task: 5, wakeup: true, by: Waker::Unknown }));
        assert_eq!(of(5, 5, 0, 3), Some(LiveEventKind::Off { task: 5, why: Stop::Block }));
        assert_eq!(of(8, u32::MAX, 17, 4), Some(LiveEventKind::Message { topic: 17, task: None, value: 4 }));
        assert_eq!(of(9, 0, 12, 700), Some(LiveEventKind::Swap { pause_ns: 700, represented: 12 }));
        assert_eq!(of(11, 0, 5, 80), Some(LiveEventKind::Sched { call: Call::Pick, ns: 80 }));
        let task =
            LiveEvent::decode(&record(1, 4, 1234, 1200 | 125 << 32 | 3 << 40, b"hackbench")).expect("a task");
        assert_eq!((task.t_ns, task.cpu), (99, 3));
        let urgency = Urgency { prio: 125, policy: 3 };
        let kind = LiveEventKind::Task { task: 4, pid: 1234, tgid: 1200, urgency, comm: "hackbench".into() };
        assert_eq!(task.kind, kind);
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert_eq!(LiveEvent::decode(&record(0, 0, 0, 0, b"")), None);
        assert_eq!(LiveEvent::decode(&record(5, 0, 0, 9, b"")), None);
        assert_eq!(LiveEvent::decode(&record(1, 0, 0, 0, b"")[..47]), None);
    }
}
