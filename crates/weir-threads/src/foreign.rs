// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Processing elements that the program serves: CPUs of the plan with another instruction set.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::ffi;
use crate::thread::{nanoseconds, now};
use crate::{Error, Result};

/// Errors of the library that only say that there is no work.
const TIMEDOUT: i32 = -110;
const CANCELED: i32 = -125;

/// The instruction set of a CPU by its number in the plan: 0 is the native one.
///
/// # Errors
/// There is no such CPU.
pub fn instruction_set(cpu: u32) -> Result<u32> {
    // SAFETY: it may be called from any thread.
    let isa = unsafe { ffi::weir_rt_isa(cpu) };
    Error::check(isa.min(0), "there is no such CPU")?;
    Ok(isa as u32)
}

/// Does the work of a context.
type Run = unsafe fn(*const c_void);

/// What a context points to: work that is done at most once, with its result.
#[repr(C)]
struct Errand<F, R> {
    /// First, so that a server finds it whatever the types are.
    run: Run,
    work: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<std::thread::Result<R>>>,
}

/// # Safety
/// `context` is that of an `Errand<F, R>` that nobody else uses during the call.
unsafe fn run<F: FnOnce() -> R, R>(context: *const c_void) {
    // SAFETY: as above.
    let errand = unsafe { &*context.cast::<Errand<F, R>>() };
    // SAFETY: likewise.
    if let Some(work) = unsafe { &mut *errand.work.get() }.take() {
        let result = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: likewise.
        unsafe { *errand.result.get() = Some(result) };
    }
}

/// Let a CPU of instruction set `isa` do `work`: the calling thread's task goes there, and comes back with the result.
///
/// # Errors
/// No CPU has the instruction set, the caller is no thread of the runtime, or the policy does not go by instruction sets.
///
/// # Panics
/// `work` does.
pub fn run_on<R: Send>(isa: u32, work: impl FnOnce() -> R + Send) -> Result<R> {
    fn errand<F: FnOnce() -> R, R>(work: F) -> Errand<F, R> {
        Errand { run: run::<F, R>, work: UnsafeCell::new(Some(work)), result: UnsafeCell::new(None) }
    }
    let errand = errand(work);
    let context: *const _ = &errand;
    // SAFETY: the errand lives until the call returns, and then no server has it.
    let status = unsafe { ffi::weir_thread_foreign(isa, context.cast_mut().cast()) };
    Error::check(status, "the work cannot be done by another instruction set")?;
    match errand.result.into_inner() {
        Some(Ok(result)) => Ok(result),
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        // A server that is not this crate's.
        None => Err(Error::new("the server of that CPU did not run the work")),
    }
}

/// The CPU is served by the thread that has this.
#[derive(Debug)]
pub struct Server {
    cpu: u32,
    /// It stays on its thread.
    _here: PhantomData<*const ()>,
}

impl Server {
    /// Serve a CPU of the plan from now on.
    ///
    /// # Errors
    /// It is a native one, there is none, or another thread serves it.
    pub fn new(cpu: u32) -> Result<Self> {
        // SAFETY: it may be called from any thread.
        Error::check(unsafe { ffi::weir_foreign_take(cpu) }, "the CPU cannot be served")?;
        Ok(Self { cpu, _here: PhantomData })
    }

    /// Do the next work for this CPU. False: there was none for so long, or the CPU was [cancelled](cancel).
    ///
    /// # Errors
    /// The policy gives the CPU a task of another instruction set, or it is no longer served.
    pub fn serve(&mut self, patience: Duration) -> Result<bool> {
        let mut work = ffi::Work { thread: std::ptr::null_mut(), context: std::ptr::null_mut(), slice_ns: 0 };
        let at = nanoseconds(now().saturating_add(patience));
        // SAFETY: the answer's place outlives the call.
        let status = unsafe { ffi::weir_foreign_pick(self.cpu, at, &mut work) };
        if matches!(status, TIMEDOUT | CANCELED) {
            return Ok(false);
        }
        Error::check(status, "the CPU gets no work")?;
        let context = work.context.cast_const();
        // SAFETY: work of this crate begins with the function that does it, and its thread waits until it is given back.
        unsafe { (*context.cast::<Run>())(context) };
        // SAFETY: the work was picked above.
        Error::check(unsafe { ffi::weir_foreign_give(self.cpu, 1) }, "the work cannot be given back")?;
        Ok(true)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: it may be called from any thread; a cancelled CPU is not ours any more, which it says.
        unsafe { ffi::weir_foreign_drop(self.cpu) };
    }
}

/// Let the thread that serves a CPU return from [`Server::serve`], now or at its next call.
///
/// # Errors
/// Nobody serves it.
pub fn cancel(cpu: u32) -> Result<()> {
    // SAFETY: it may be called from any thread.
    Error::check(unsafe { ffi::weir_foreign_cancel(cpu) }, "nobody serves the CPU")
}
