// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The runtime that most programs want: the computer's clock, and timers and messages that wait until they are asked for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::Runtime;
use crate::OutMsg;

/// The computer's clock, from 0 on.
#[derive(Debug)]
pub struct RealTime {
    began: Instant,
    /// Time armed for each instance, ns.
    timers: Mutex<BTreeMap<u32, u64>>,
    messages: Mutex<Vec<OutMsg>>,
}

impl RealTime {
    /// The clock begins now.
    pub fn new() -> Self {
        Self { began: Instant::now(), timers: Mutex::default(), messages: Mutex::default() }
    }

    /// Messages since the last call, in order.
    pub fn take_messages(&self) -> Vec<OutMsg> {
        std::mem::take(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// When the next timer expires, ns.
    pub fn next_timer(&self) -> Option<u64> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner).values().min().copied()
    }

    /// Instances whose timers have expired by now; each is given once, for [`super::Cpu::timer_expired`].
    pub fn take_expired(&self) -> Vec<u32> {
        let now = self.now();
        let mut timers = self.timers.lock().unwrap_or_else(PoisonError::into_inner);
        let due: Vec<u32> = timers.iter().filter(|(_, at)| **at <= now).map(|(i, _)| *i).collect();
        timers.retain(|_, at| *at > now);
        due
    }
}

impl Default for RealTime {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for RealTime {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn message(&self, msg: OutMsg) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(msg);
    }

    fn timer(&self, instance: u32, at_ns: u64) {
        let mut timers = self.timers.lock().unwrap_or_else(PoisonError::into_inner);
        if at_ns == 0 {
            timers.remove(&instance);
        } else {
            timers.insert(instance, at_ns);
        }
    }
}
