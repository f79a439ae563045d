// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Watches the tasks: if one waits in our pipes for too long, the scheduler detaches and reports where
//! the task was, before the kernel's own watchdog ejects it. And watches the CPUs: the graph is notified
//! of a CPU that a real-time program keeps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::live::Charge;
use crate::view::{Waiter, pipe_title};

/// A task that waited too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    pub pid: u32,
    pub comm: String,
    pub waited_ns: u64,
    /// The deepest pipe that held it: `lb[0] -> fifo@cpu0`.
    pub pipe: String,
    /// The reason that kept the pipe's CPU from it, if not the graph.
    pub obstacle: Option<String>,
}

/// For how long a higher class has a CPU before the graph counts it as gone: longer than real-time programs that are
/// well-behaved compute at a stretch, far shorter than anybody's patience.
const HELD_NS: u64 = 100_000_000;

/// A task that has waited so long at the exit of a CPU that runs nothing: the CPU should have been kicked. Looked at twice, so
/// that one that is about to run is not taken for asleep.
const ASLEEP_NS: u64 = 300_000_000;

/// Watches until it is dropped.
pub(crate) struct Watchdog {
    over: Arc<AtomicBool>,
    found: Arc<Mutex<Option<Stall>>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Leave (drop the charge) once a task has waited `limit`.
    pub fn start(control: Arc<Control>, charge: Arc<Charge>, limit: Duration) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let found = Arc::new(Mutex::new(None));
        let (flag, place) = (over.clone(), found.clone());
        let thread = std::thread::Builder::new()
            .name("weir-watchdog".into())
            .spawn(move || {
                favour();
                watch(&control, &charge, limit, &flag, &place);
            })
            .map_err(|e| Error::io("start a thread", &e, "the system is out of threads"))?;
        Ok(Self { over, found, thread: Some(thread) })
    }

    /// Its finding, if any.
    pub fn stall(&self) -> Option<Stall> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// No thread of this process waits for a page from now on, where this is allowed. It takes a tenth of a second of a CPU, so it is
/// done before the attachment, and by a thread that is above nobody.
pub(crate) fn keep_in_memory() {
    // SAFETY: changes nothing but where pages are.
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
}

/// Above the class of tasks that it watches. Where this is not allowed, it still works as long as its own task is served.
pub(crate) fn favour() {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: the calling thread, and a record that is ours.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) };
}

fn watch(
    control: &Control,
    charge: &Charge,
    limit: Duration,
    over: &AtomicBool,
    found: &Mutex<Option<Stall>>,
) {
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let mut asleep: Vec<(u32, u32, u64)> = Vec::new();
    let pause = (limit / 8).clamp(Duration::from_millis(10), Duration::from_millis(100));
    while !over.load(Ordering::Relaxed) && control.view.shared.exit_kind() == 0 {
        // Whatever this thread computes, the tasks of its CPU wait for: as a rule that is one look at a word of each task.
        let nobody = control.view.long_waiters(clock::now_ns(), ASLEEP_NS.min(limit_ns)).is_empty();
        if nobody {
            asleep.clear();
        } else if let Some(waiter) = control.view.longest_waiter(clock::now_ns(), limit_ns) {
            // A second look: the first may have seen a task on its way.
            std::thread::sleep(Duration::from_millis(2));
            let again = control.view.longest_waiter(clock::now_ns(), limit_ns);
            if again.as_ref().is_some_and(|w| w.id == waiter.id) {
                let stall = describe(control, waiter);
                *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(stall);
                charge.leave();
                return;
            }
        }
        for cpu in control.view.held_cpus(clock::now_ns(), HELD_NS) {
            // The thread that uses the request's place now leaves it to us at the next look.
            let _ = control.away(cpu);
        }
        if !nobody {
            // Slept at both looks, and did not look for work in between.
            let still = control.asleep(ASLEEP_NS);
            for (cpu, ..) in still.iter().filter(|s| asleep.contains(s)) {
                let _ = control.rescue(*cpu);
            }
            asleep = still;
        }
        std::thread::sleep(pause);
    }
}

fn describe(control: &Control, waiter: Waiter) -> Stall {
    let pipe = match waiter.pipe {
        Some(p) => pipe_title(&control.facts().plan, p),
        None => "no pipe".into(),
    };
    let comm = clock::thread_name(waiter.pid).unwrap_or(waiter.comm);
    let obstacle = waiter.pipe.and_then(|p| control.view.obstacle(p, clock::now_ns()));
    Stall { pid: waiter.pid, comm, waited_ns: waiter.waited_ns, pipe, obstacle }
}
