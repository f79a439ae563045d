// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The kernel's scheduling events, as all readers deliver them.

use std::collections::HashMap;

/// A name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Comm(pub u32);

/// Names of threads, each kept once.
#[derive(Default)]
pub(crate) struct Names {
    texts: Vec<Box<str>>,
    index: HashMap<Box<str>, u32>,
}

impl Names {
    pub fn id(&mut self, text: &str) -> Comm {
        if let Some(&id) = self.index.get(text) {
            return Comm(id);
        }
        let id = self.texts.len() as u32;
        self.texts.push(text.into());
        self.index.insert(text.into(), id);
        Comm(id)
    }

    pub fn text(&self, comm: Comm) -> &str {
        &self.texts[comm.0 as usize]
    }
}

/// What a thread that leaves its CPU is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runnable,
    Sleeps,
    /// Waits for a device: state D.
    Uninterruptible,
    Dead,
}

impl State {
    /// From `prev_state` as a number: the low byte has the reasons to wait.
    pub fn of_bits(bits: i64) -> State {
        match bits & 0xff {
            0 => State::Runnable,
            b if b & 0x30 != 0 => State::Dead,
            0x02 => State::Uninterruptible,
            _ => State::Sleeps,
        }
    }

    /// From `prev_state` as text: `R`, `R+`, `S`, `D|K`.
    pub fn of_text(text: &str) -> Option<State> {
        Some(match text.as_bytes().first()? {
            b'R' => State::Runnable,
            b'X' | b'Z' | b'x' => State::Dead,
            b'D' => State::Uninterruptible,
            b'S' | b'T' | b't' | b'P' | b'I' | b'K' | b'W' | b'N' => State::Sleeps,
            b'0'..=b'9' => Self::of_bits(match text.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok()?,
                None => text.parse().ok()?,
            }),
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    Switch {
        prev: i32,
        prev_comm: Comm,
        prev_prio: i32,
        state: State,
        next: i32,
        next_comm: Comm,
        next_prio: i32,
    },
    /// In the context of the waker.
    Waking {
        pid: i32,
        comm: Comm,
        prio: i32,
    },
    /// Perhaps on the CPU of the woken, which waits in the queue of `target`.
    Wakeup {
        pid: i32,
        comm: Comm,
        prio: i32,
        target: Option<u32>,
    },
    WakeupNew {
        pid: i32,
        comm: Comm,
        prio: i32,
        target: Option<u32>,
    },
    /// To the queue of another CPU.
    Migrate {
        pid: i32,
        target: u32,
    },
    Fork {
        parent: i32,
        child: i32,
        comm: Comm,
    },
    Rename {
        pid: i32,
        comm: Comm,
    },
    Frequency {
        cpu: u32,
        khz: u64,
    },
    /// The program says something about itself; kept among the names.
    Mark {
        text: Comm,
    },
}

/// An event with its time and context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stamped {
    pub t_ns: u64,
    pub cpu: u32,
    /// The thread that ran; 0 is idle, -1 is unknown.
    pub pid: i32,
    /// In an interrupt; `None` where the format does not say.
    pub irq: Option<bool>,
    pub what: What,
}

/// What a reader found.
#[derive(Default)]
pub(crate) struct Found {
    pub events: Vec<Stamped>,
    pub names: Names,
    /// CPUs of the machine, where the file says.
    pub nr_cpus: Option<u32>,
    /// Events that the recorder lost.
    pub lost: u64,
    /// Names of threads that are known without an event.
    pub comms: Vec<(i32, Comm)>,
    pub notes: Vec<String>,
}
