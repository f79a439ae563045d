// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Long computations: on a thread of their own, without the interpreter's lock, ended by Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use weir::Watch;
use weir::fault::Result;

use crate::fault::raised;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How often progress is reported.
const REPORT: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Hear {
    stop: AtomicBool,
    done: AtomicU64,
    more: AtomicU64,
    /// Virtual time of the run that was heard of last, and its end; 0: not known.
    now_ns: AtomicU64,
    end_ns: AtomicU64,
}

impl Watch for Hear {
    fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    fn more(&self, runs: u64) {
        self.more.fetch_add(runs, Ordering::Relaxed);
    }

    fn one(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn at(&self, _: usize, now_ns: u64, end_ns: Option<u64>) {
        self.now_ns.store(now_ns, Ordering::Relaxed);
        self.end_ns.store(end_ns.unwrap_or(0), Ordering::Relaxed);
    }
}

impl Hear {
    /// Share that is done, if it is known: by runs where there are several, else by virtual time.
    fn share(&self) -> Option<f64> {
        let of = |done: &AtomicU64, all: &AtomicU64| {
            let (done, all) = (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
            (all > 0).then(|| (done as f64 / all as f64).min(1.0))
        };
        of(&self.done, &self.more).or_else(|| of(&self.now_ns, &self.end_ns))
    }
}

/// Do `work`; call `progress` with the share done, or None, now and then.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let hear = Hear::default();
    let over = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = catch_unwind(AssertUnwindSafe(|| work(&hear)));
            *over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            over.1.notify_all();
            result
        });
        let mut ended = None;
        let mut reported = Instant::now();
        loop {
            let done = py.detach(|| {
                let flag = over.0.lock().unwrap_or_else(PoisonError::into_inner);
                let wait = over.1.wait_timeout_while(flag, LOOK, |done| !*done);
                *wait.unwrap_or_else(PoisonError::into_inner).0
            });
            if done {
                break;
            }
            let mut look = py.check_signals();
            if let (Ok(()), Some(progress), true) = (&look, progress, reported.elapsed() >= REPORT) {
                reported = Instant::now();
                look = progress.call1((hear.share(),)).map(drop);
            }
            if let Err(e) = look
                && ended.is_none()
            {
                hear.stop.store(true, Ordering::Relaxed);
                ended = Some(e);
            }
        }
        let result = py.detach(|| worker.join());
        match (ended, result) {
            (Some(e), _) => Err(e),
            (None, Ok(Ok(Ok(value)))) => {
                if let Some(progress) = progress {
                    progress.call1((1.0,))?;
                }
                Ok(value)
            }
            (None, Ok(Ok(Err(fault)))) => Err(raised(&fault)),
            (None, _) => {
                Err(PyRuntimeError::new_err("this is a bug in Runweir: the message above says where"))
            }
        }
    })
}
