// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The runtime: one per process.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::ffi;
pub use crate::ffi::{Stats, Swapped};
use crate::thread::Builder;
use crate::{Error, Plan, Result};

static OPEN: AtomicBool = AtomicBool::new(false);

/// How a runtime is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The plan may have more CPUs than this process may use; they take turns. For tests.
    pub oversubscribe: bool,
    /// `runweir top --pid` gets no answer: there is no socket for it, and no thread that answers.
    pub private: bool,
    /// Of threads to which the policy grants no slice; 4 ms if left out, at least 50 us.
    pub slice: Option<Duration>,
    /// Address space of the policy's state, bytes; 1 GiB if left out, touched as it is needed.
    pub arena_bytes: Option<usize>,
    /// Other processes of this user may have their threads under this policy, by this name ([`Runtime::join`]).
    pub serve: Option<String>,
}

/// The runtime, while it is open.
#[derive(Debug)]
pub struct Runtime {
    _one: (),
}

/// The words that the library has for its last failure.
fn why() -> String {
    // SAFETY: it returns a text with a NUL at its end that lives until the next failing call; it is copied at once.
    unsafe { CStr::from_ptr(ffi::weir_rt_error()) }.to_string_lossy().into_owned()
}

fn text(name: String) -> Result<CString> {
    CString::new(name).map_err(|_| Error::new("a name has no NUL"))
}

unsafe extern "C" fn alone(why: *const c_char) {
    // SAFETY: the library gives a text with a NUL at its end.
    let why = unsafe { CStr::from_ptr(why) }.to_string_lossy();
    eprintln!("{why}; the program continues without a policy");
}

impl Runtime {
    /// Start it: a driver thread for each CPU of the plan, and one that waits for files and timers.
    ///
    /// # Errors
    /// One is open already, the plan does not fit this machine, or it is not a plan.
    pub fn open(plan: &Plan) -> Result<Self> {
        Self::open_with(plan, Options::default())
    }

    /// # Errors
    /// See [`Runtime::open`].
    pub fn open_with(plan: &Plan, options: Options) -> Result<Self> {
        let serve = options.serve.map(text).transpose()?;
        let config = ffi::Config {
            plan_file: std::ptr::null(),
            plan: plan.as_bytes().as_ptr().cast(),
            plan_bytes: plan.as_bytes().len(),
            serve: serve.as_ref().map_or(std::ptr::null(), |s| s.as_ptr()),
            join: std::ptr::null(),
            alone: None,
            flags: [(options.oversubscribe, ffi::OVERSUBSCRIBE), (options.private, ffi::PRIVATE)]
                .iter()
                .fold(0, |flags, (wanted, flag)| if *wanted { flags | flag } else { flags }),
            slice_ns: options.slice.map_or(0, crate::thread::nanoseconds),
            stack_bytes: 0,
            arena_bytes: options.arena_bytes.unwrap_or(0),
        };
        Self::start(&config)
    }

    /// The threads of this process are under the policy that another process serves by this name. If that process ends, they continue
    /// without a policy, which stderr says.
    ///
    /// # Errors
    /// A runtime is open already, nobody serves the name, or another user does.
    pub fn join(name: &str) -> Result<Self> {
        let name = text(name.to_owned())?;
        Self::start(&ffi::Config {
            plan_file: std::ptr::null(),
            plan: std::ptr::null(),
            plan_bytes: 0,
            flags: 0,
            slice_ns: 0,
            stack_bytes: 0,
            arena_bytes: 0,
            serve: std::ptr::null(),
            join: name.as_ptr(),
            alone: Some(alone),
        })
    }

    fn start(config: &ffi::Config) -> Result<Self> {
        if OPEN.swap(true, Ordering::AcqRel) {
            return Err(Error::new("a runtime is open in this process already: there is one at a time"));
        }
        // SAFETY: the configuration, the plan and the names live beyond the call, which copies them.
        if unsafe { ffi::weir_rt_open(config) } != 0 {
            OPEN.store(false, Ordering::Release);
            return Err(Error::new(why()));
        }
        Ok(Self { _one: () })
    }

    /// Switch to another policy while threads run: instances of the same name keep their state, no thread is lost. The old one stays
    /// if it fails.
    ///
    /// # Errors
    /// The plan does not fit or is invalid.
    pub fn swap(&self, plan: &Plan) -> Result<Swapped> {
        let mut swapped = Swapped::default();
        let bytes = plan.as_bytes();
        // SAFETY: the plan lives beyond the call, which copies it; `swapped` is ours.
        let status = unsafe { ffi::weir_rt_swap(bytes.as_ptr().cast(), bytes.len(), &mut swapped) };
        if status == 0 { Ok(swapped) } else { Err(Error::new(why())) }
    }

    /// Counters since it was opened.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        // SAFETY: it fills in what it is given.
        unsafe { ffi::weir_rt_stats(&mut stats) };
        stats
    }

    /// The topology in force.
    pub fn policy(&self) -> String {
        // SAFETY: a text with a NUL at its end; copied at once.
        unsafe { CStr::from_ptr(ffi::weir_rt_policy()) }.to_string_lossy().into_owned()
    }

    /// The program could use `wish` CPUs (0: as many as it likes). How many it is to use beside the other programs of a joined policy; the
    /// call is its answer. `weir/threads.h` says more.
    pub fn allotment(&self, wish: u32) -> u32 {
        // SAFETY: the runtime is open.
        unsafe { ffi::weir_rt_allotment(wish) }
    }

    /// Whether the policy's state is sound; for tests, with all threads at rest.
    pub fn check(&self) -> bool {
        // SAFETY: the runtime is open.
        unsafe { ffi::weir_rt_check() == 0 }
    }

    /// The calling thread becomes one of the runtime's until the guard goes. What `builder` says of a stack does not count.
    ///
    /// # Errors
    /// It is one already.
    pub fn adopt(&self, builder: &Builder) -> Result<Adopted<'_>> {
        // SAFETY: the attributes are read in the call.
        Error::check(unsafe { ffi::weir_thread_adopt(builder.attr()) }, "this thread cannot be adopted")?;
        Ok(Adopted { _runtime: PhantomData })
    }

    /// End it, which dropping it does as well.
    ///
    /// # Errors
    /// Threads of the runtime are alive; they and the runtime, which is returned with the error, continue.
    pub fn close(self) -> std::result::Result<(), (Self, Error)> {
        // SAFETY: the runtime is open.
        let status = unsafe { ffi::weir_rt_close() };
        match Error::check(status, "threads of the runtime are alive") {
            Ok(()) => {
                OPEN.store(false, Ordering::Release);
                std::mem::forget(self);
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }
}

impl Drop for Runtime {
    /// If threads are alive it stays open for the rest of the process, because they need it.
    fn drop(&mut self) {
        // SAFETY: the runtime is open.
        if unsafe { ffi::weir_rt_close() } == 0 {
            OPEN.store(false, Ordering::Release);
        }
    }
}

/// While it lives, the thread that made it is the runtime's. It stays with that thread.
#[derive(Debug)]
pub struct Adopted<'a> {
    _runtime: PhantomData<(&'a Runtime, *const ())>,
}

impl Drop for Adopted<'_> {
    fn drop(&mut self) {
        // SAFETY: this thread was adopted; the guard cannot have gone to another one.
        unsafe { ffi::weir_thread_leave() };
    }
}
