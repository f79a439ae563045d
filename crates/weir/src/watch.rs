// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How the caller of a long computation observes its progress and ends it early.

use std::sync::atomic::{AtomicBool, Ordering};

/// Never set.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The caller of a long computation. Every method has a default that does nothing; they are called from several threads.
pub trait Watch: Sync {
    /// Work ends soon after this flag is set; simulations look at it between two events.
    fn stop(&self) -> &AtomicBool {
        &NEVER
    }

    /// A simulation begins. Together with [`Watch::ends`] this shows whether one does not react to the flag.
    fn begins(&self) {}

    /// A simulation has ended.
    fn ends(&self) {}

    /// This many more runs will be made.
    fn more(&self, _runs: u64) {}

    /// One more run is done.
    fn one(&self) {}

    /// Run `run` has reached the virtual time `now_ns` on its way to `end_ns` (`None`: its end is not known).
    fn at(&self, _run: usize, _now_ns: u64, _end_ns: Option<u64>) {}

    /// A remark for the user during the work.
    fn remark(&self, _text: &str) {}

    /// False if remarks are not read, so that none are prepared.
    fn reads_remarks(&self) -> bool {
        false
    }
}

impl dyn Watch + '_ {
    /// True once the work is to end.
    pub fn stopped(&self) -> bool {
        self.stop().load(Ordering::Relaxed)
    }

    /// A simulation runs as long as the result exists.
    pub fn running(&self) -> Running<'_> {
        self.begins();
        Running(self)
    }
}

/// A simulation that runs.
pub struct Running<'a>(&'a dyn Watch);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.ends();
    }
}

/// A caller that only wants the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Threads for `jobs` parallel runs; without a number, one for each core of this computer.
///
/// # Errors
/// The system's, where threads cannot be started.
pub fn pool(jobs: Option<u32>) -> crate::fault::Result<rayon::ThreadPool> {
    let threads = jobs.map_or(0, |j| j as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| crate::fault::Fault::system(format!("cannot start threads: {e}"), "try --jobs 1"))
}
