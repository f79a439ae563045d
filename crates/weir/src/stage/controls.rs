// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! User controls of a displayed run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use serde::Deserialize;

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Command {
    Pause,
    Resume,
    /// So many notable events more.
    Step {
        events: u32,
    },
    /// To a moment, ns, and stop there; to an earlier one by running again.
    Seek {
        ns: u64,
    },
    /// Virtual time for each second, in seconds; `None`: as fast as it goes.
    Pace {
        pace: Option<f64>,
    },
    /// End the run with the results so far.
    Stop,
    /// From the beginning.
    Again,
    /// The viewer has left.
    Close,
}

/// The present settings.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub paused: bool,
    pub steps: u32,
    /// Stop there, as fast as it goes until then.
    pub until: Option<u64>,
    pub pace: Option<f64>,
    again: bool,
    stop: bool,
    close: bool,
    now_ns: u64,
}

/// Shared by the run and its controllers.
#[derive(Debug, Default)]
pub struct Controls {
    ended: AtomicBool,
    /// Something was changed that the run has not seen.
    changed: AtomicBool,
    wanted: Mutex<Wanted>,
    bell: Condvar,
}

impl Controls {
    /// Runs at this pace from the start, or waits for a command.
    pub fn new(pace: Option<f64>, paused: bool) -> Self {
        let controls = Controls::default();
        controls.lock().pace = pace.filter(|p| p.is_finite() && *p > 0.0);
        controls.lock().paused = paused;
        controls.changed.store(true, Ordering::Relaxed);
        controls
    }

    /// Do it.
    pub fn command(&self, command: Command) {
        let mut wanted = self.lock();
        match command {
            Command::Pause => wanted.paused = true,
            Command::Resume => (wanted.paused, wanted.steps, wanted.until) = (false, 0, None),
            Command::Step { events } => {
                (wanted.paused, wanted.steps, wanted.until) = (false, events.clamp(1, 100_000), None);
            }
            Command::Seek { ns } => {
                wanted.again = ns < wanted.now_ns || wanted.stop;
                (wanted.paused, wanted.steps, wanted.until) = (false, 0, Some(ns));
            }
            Command::Pace { pace } => wanted.pace = pace.filter(|p| p.is_finite() && *p > 0.0),
            Command::Stop => (wanted.stop, wanted.paused) = (true, false),
            Command::Again => {
                wanted.again = true;
                (wanted.paused, wanted.steps, wanted.until) = (false, 0, None);
            }
            Command::Close => (wanted.close, wanted.paused) = (true, false),
        }
        if wanted.again || wanted.stop || wanted.close {
            self.ended.store(true, Ordering::Relaxed);
        }
        self.changed.store(true, Ordering::Relaxed);
        self.bell.notify_all();
    }

    pub(super) fn ended(&self) -> &AtomicBool {
        &self.ended
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// A run begins; false if the viewer has left.
    pub(super) fn begin(&self) -> bool {
        let mut wanted = self.lock();
        (wanted.again, wanted.stop, wanted.now_ns) = (false, false, 0);
        self.ended.store(wanted.close, Ordering::Relaxed);
        !wanted.close
    }

    /// The run that ended is to begin again.
    pub(super) fn again(&self) -> bool {
        let wanted = self.lock();
        wanted.again || wanted.close
    }

    /// The run is over, and the viewer is about to hear of it: each time is in the past now.
    pub(super) fn over(&self) {
        self.lock().now_ns = u64::MAX;
    }

    /// Wait until the run must begin again, or the viewer has left.
    pub(super) fn wait_for_more(&self) -> bool {
        let mut wanted = self.lock();
        while !wanted.again && !wanted.close {
            wanted = self.bell.wait(wanted).unwrap_or_else(|e| e.into_inner());
        }
        !wanted.close
    }

    /// Something was changed since the last time.
    pub(super) fn news(&self) -> bool {
        self.changed.load(Ordering::Relaxed) && self.changed.swap(false, Ordering::Relaxed)
    }

    pub(super) fn wanted(&self) -> Wanted {
        self.lock().clone()
    }

    /// The run has reached this time and, if it is a time to stop at, waits there.
    pub(super) fn reached(&self, now_ns: u64, stop: bool) {
        let mut wanted = self.lock();
        wanted.now_ns = now_ns;
        if stop {
            (wanted.paused, wanted.steps, wanted.until) = (true, 0, None);
        }
    }

    /// Wait for a command, at most so long.
    pub(super) fn wait(&self, most: Duration) {
        let wanted = self.lock();
        if !self.changed.load(Ordering::Relaxed) {
            drop(self.bell.wait_timeout(wanted, most));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(|e| e.into_inner())
    }
}
