// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a loaded component did to the call in which it ran: `core/port/native/guard.c` ends the call, and this reports it.
//!
//! A [`Crash`] travels as the payload of an unwinding panic, without a message: the scheduler that it happened in must not be
//! called again, and the caller catches the payload with [`catch`].

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::classes::catalog;
use crate::ffi::{self, CCrash};
use crate::sched::TaskId;
use crate::topic::Topic;

/// A loaded component crashed, hung or left the framework broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The component. Where the framework crashed later: the loaded one that ran last.
    pub component: String,
    /// Number of its instance in the plan.
    pub instance: u32,
    /// The function, `mine_update`; empty where it is not known.
    pub function: String,
    /// The task that the call was about, and what the runtime calls it.
    pub task: Option<(TaskId, u64)>,
    /// What happened: "it read or wrote memory that is not its own (SIGSEGV at 0x0)".
    pub what: String,
    /// The runtime's clock, ns.
    pub now_ns: u64,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "component `{}`: {}", self.component, self.what)?;
        if self.function.is_empty() { Ok(()) } else { write!(f, ", in `{}`", self.function) }
    }
}

impl std::error::Error for Crash {}

/// Entry points by the numbers of `enum weir_guard_entry`.
const ENTRIES: [&str; 11] = [
    "",
    "construct",
    "step",
    "on_idle",
    "on_timer",
    "task_init",
    "task_exit",
    "destroy",
    "take_state",
    "on_",
    "answer_",
];

impl Crash {
    fn of(c: &CCrash, now_ns: u64) -> Self {
        let component = catalog().class(c.class as u16).map_or_else(String::new, |c| c.name.clone());
        let entry = ENTRIES.get(c.entry as usize).copied().unwrap_or_default();
        let topic = Topic::ALL.get(c.topic as usize).filter(|_| entry.ends_with('_'));
        let topic = topic.map(|t| t.name().to_lowercase()).unwrap_or_default();
        let text = String::from_utf8_lossy(&c.text);
        let text = text.trim_end_matches('\0');
        let what = match c.kind {
            0 => signal(c.detail as u8, c.detail >> 8),
            1 => format!("it did not return within {} million steps: an endless loop", c.detail >> 20),
            2 => format!("it broke an invariant of the framework: {text}"),
            3 => "it waits for a lock that nobody will release".into(),
            _ => {
                format!("it came back with {} pipe{} locked", c.detail, if c.detail == 1 { "" } else { "s" })
            }
        };
        let what = match c.inside {
            0 => format!("after it had run, the framework's memory was found damaged ({what})"),
            _ => what,
        };
        Self {
            function: format!("{component}_{entry}{topic}"),
            component,
            instance: c.instance,
            task: c.task.checked_sub(1).map(|t| (TaskId(t), c.cookie)),
            what,
            now_ns,
        }
    }
}

fn signal(number: u8, address: u64) -> String {
    match i32::from(number) {
        // Linux, on every processor that we know.
        11 | 7 => {
            let name = if number == 11 { "SIGSEGV" } else { "SIGBUS" };
            let at = if address < 4096 { "a null pointer".into() } else { format!("address {address:#x}") };
            format!("it used memory that is not there ({name} at {at})")
        }
        8 => "it divided by zero (SIGFPE)".into(),
        4 | 5 => "it ran into an instruction that ends programs (SIGILL)".into(),
        n => format!("it was ended by signal {n}"),
    }
}

/// Have `call` done in C. If a loaded component breaks it off, this unwinds with a [`Crash`] of the time `now`.
pub(crate) fn guarded<R>(call: impl FnOnce() -> R, now: impl FnOnce() -> u64) -> R {
    struct Job<F, R> {
        call: Option<F>,
        result: MaybeUninit<R>,
    }
    unsafe extern "C" fn run<F: FnOnce() -> R, R>(job: *mut c_void) {
        // SAFETY: the job of the caller below, which is on its stack until this returns or is jumped over.
        let job = unsafe { &mut *job.cast::<Job<F, R>>() };
        if let Some(call) = job.call.take() {
            job.result.write(call());
        }
    }
    /// The type of the closure is inferred from the job.
    fn runner<F: FnOnce() -> R, R>(_: &Job<F, R>) -> unsafe extern "C" fn(*mut c_void) {
        run::<F, R>
    }
    let mut job = Job { call: Some(call), result: MaybeUninit::uninit() };
    let run = runner(&job);
    let mut crash = CCrash {
        kind: 0,
        inside: 0,
        class: 0,
        instance: 0,
        entry: 0,
        topic: 0,
        task: 0,
        unused: 0,
        cookie: 0,
        detail: 0,
        text: [0; 64],
    };
    // SAFETY: job and crash outlive the call. What a jump skips are frames of C, of `run` and of a closure that only calls C:
    // they own nothing.
    match unsafe { ffi::weir_guard_call(run, (&raw mut job).cast(), &mut crash) } {
        // SAFETY: `run` came to its end.
        0 => unsafe { job.result.assume_init() },
        _ => resume_unwind(Box::new(Crash::of(&crash, now()))),
    }
}

/// Run what may call loaded components. What is left of `f`'s schedulers after a crash must not be called.
///
/// # Errors
/// The crash. Other panics go on.
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Crash> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| match of(payload) {
        Ok(crash) => crash,
        Err(other) => resume_unwind(other),
    })
}

/// The crash that a panic is about, if it is about one.
///
/// # Errors
/// The payload itself, where it is about something else.
pub fn of(payload: Box<dyn Any + Send>) -> Result<Crash, Box<dyn Any + Send>> {
    payload.downcast::<Crash>().map(|c| *c)
}
