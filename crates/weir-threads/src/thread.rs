// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Threads, and their attributes for the policy.

use std::any::Any;
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::ffi::{self, Handle};
use crate::{Error, Result};

/// As the library takes times; some 584 years at most.
pub(crate) fn nanoseconds(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// A thread to be, with what the policy may know of it. A policy without the annotator (`annotate priority;`) does not look at it.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Builder {
    attr: ffi::Attr,
}

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, what: usize, value: i64, value2: i64) -> Self {
        self.attr.given |= 1 << what;
        self.attr.value[what] = value;
        self.attr.value2[what] = value2;
        self
    }

    /// Greater is more urgent.
    pub fn priority(self, priority: i64) -> Self {
        self.with(ffi::PRIORITY, priority, 0)
    }

    /// Until when ([`now`] is the clock), and how far the next one is from it.
    pub fn deadline(self, at: Duration, period: Duration) -> Self {
        self.with(ffi::DEADLINE, signed(nanoseconds(at)), signed(nanoseconds(period)))
    }

    /// Share of CPU time; 1024 is the usual.
    pub fn weight(self, weight: u32) -> Self {
        self.with(ffi::WEIGHT, i64::from(weight), 0)
    }

    /// Number of its group.
    pub fn group(self, group: u32) -> Self {
        self.with(ffi::GROUP, i64::from(group), 0)
    }

    /// A job's worst-case execution time and relative deadline.
    pub fn job(self, wcet: Duration, deadline: Duration) -> Self {
        self.with(ffi::JOB, signed(nanoseconds(wcet)), signed(nanoseconds(deadline)))
    }

    /// For how long it wants to run at a time.
    pub fn latency(self, slice: Duration) -> Self {
        self.with(ffi::LATENCY, signed(nanoseconds(slice)), 0)
    }

    /// Bytes; 256 KiB if left out.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.attr.stack_bytes = bytes;
        self
    }

    pub(crate) fn attr(&self) -> *const ffi::Attr {
        &self.attr
    }

    /// Begin it.
    ///
    /// # Errors
    /// No runtime is open, or there is no memory.
    pub fn spawn<T: Send + 'static>(self, run: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
        let cell: Cell<T> = Arc::new(Mutex::new(None));
        let theirs = Arc::clone(&cell);
        let job: Job = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(run));
            *theirs.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        let arg = Box::into_raw(Box::new(job));
        let mut handle = ptr::null_mut();
        // SAFETY: the attributes are read in the call; `begin` takes the box back, once.
        let status = unsafe { ffi::weir_thread_create(&mut handle, &self.attr, begin, arg.cast()) };
        if let Err(e) = Error::check(status, "no thread could be made (is a runtime open?)") {
            // SAFETY: no thread was made, so the box is still ours.
            drop(unsafe { Box::from_raw(arg) });
            return Err(e);
        }
        Ok(JoinHandle { thread: Thread { handle }, cell, joined: false })
    }
}

type Job = Box<dyn FnOnce() + Send>;
type Cell<T> = Arc<Mutex<Option<std::thread::Result<T>>>>;

extern "C" fn begin(arg: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made the box for this call alone.
    let job = unsafe { Box::from_raw(arg.cast::<Job>()) };
    // A panic was caught inside.
    job();
    ptr::null_mut()
}

/// Begin a thread of which the policy knows nothing.
///
/// # Errors
/// See [`Builder::spawn`].
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    Builder::new().spawn(run)
}

fn topic_name(topic: &str) -> Result<CString> {
    let name = CString::new(topic).ok();
    // EINVAL, as the library says of names that it does not take.
    Error::check(if name.is_some() { 0 } else { -22 }, "the topic's name has a zero byte")?;
    Ok(name.unwrap_or_default())
}

/// A thread that lives at least as long as what it is borrowed from.
#[derive(Debug)]
pub struct Thread {
    handle: *mut Handle,
}

// SAFETY: the library takes handles from any thread.
unsafe impl Send for Thread {}
// SAFETY: likewise.
unsafe impl Sync for Thread {}

impl Thread {
    /// Report to the policy what `builder` says; the rest stays.
    ///
    /// # Errors
    /// A value is out of its range.
    pub fn describe(&self, builder: &Builder) -> Result<()> {
        for what in 0..ffi::NR_ATTRIBUTES {
            if builder.attr.given >> what & 1 == 1 {
                let (value, value2) = (builder.attr.value[what], builder.attr.value2[what]);
                // SAFETY: the handle is of a thread that has not been joined.
                let status = unsafe { ffi::weir_thread_set(self.handle, what as u32, value, value2) };
                Error::check(status, "the policy's knowledge of a thread cannot be changed")?;
            }
        }
        Ok(())
    }

    /// Publish a message about it in a topic that a component of the policy brings along: all words of the payload.
    ///
    /// # Errors
    /// No component of the policy has the topic, it is not for programs, or its payload has another length.
    pub fn publish(&self, topic: &str, words: &[u64]) -> Result<()> {
        let name = topic_name(topic)?;
        let nr = words.len() as u32;
        // SAFETY: the handle is of a thread that has not been joined; name and words outlive the call.
        let status = unsafe { ffi::weir_thread_publish(self.handle, name.as_ptr(), words.as_ptr(), nr) };
        Error::check(status, "the message cannot be published")
    }

    /// What the policy knows of it in such a topic: the words of the answer.
    ///
    /// # Errors
    /// No component of the policy has the topic, or none answers.
    pub fn request(&self, topic: &str) -> Result<Vec<u64>> {
        let name = topic_name(topic)?;
        // As many as a payload can have.
        let mut words = [0; 8];
        // SAFETY: the handle is of a thread that has not been joined; name and words outlive the call.
        let nr = unsafe { ffi::weir_thread_request(self.handle, name.as_ptr(), words.as_mut_ptr(), 8) };
        Error::check(nr.min(0), "the policy does not answer")?;
        Ok(words[..(nr as usize).min(8)].to_vec())
    }

    /// Wake it from [`park`]; if it is not parked, its next park returns at once.
    pub fn unpark(&self) {
        // SAFETY: the handle is of a thread that has not been joined.
        unsafe { ffi::weir_thread_unpark(self.handle) };
    }

    /// Give it the calling thread's CPU, if the policy has nothing more urgent (true); else as [`yield_now`].
    pub fn hand_over(&self) -> bool {
        // SAFETY: the handle is of a thread that has not been joined.
        unsafe { ffi::weir_thread_hand_over(self.handle) == 0 }
    }

    /// How often it was taken off a CPU: who spins for it and sees the number change knows that it is not running.
    pub fn deallocations(&self) -> u64 {
        // SAFETY: the handle is of a thread that has not been joined.
        unsafe { ffi::weir_thread_deallocations(self.handle) }
    }
}

/// A thread whose result was not fetched yet. Dropping it detaches the thread.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: Thread,
    cell: Cell<T>,
    joined: bool,
}

impl<T> JoinHandle<T> {
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Wait for its end. A thread of the runtime that waits gives its CPU up.
    ///
    /// # Errors
    /// The value of its panic.
    pub fn join(mut self) -> std::thread::Result<T> {
        self.joined = true;
        // SAFETY: the handle is joined here only, once.
        let status = unsafe { ffi::weir_thread_join(self.thread.handle, ptr::null_mut()) };
        let result = self.cell.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.unwrap_or_else(|| {
            Err(Box::new(format!("the thread left no result (status {status})")) as Box<dyn Any + Send>)
        })
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if !self.joined {
            // SAFETY: nobody has joined it, and nobody can any more.
            unsafe { ffi::weir_thread_detach(self.thread.handle) };
        }
    }
}

/// The calling thread, for the duration of `with`; `None` if it is not the runtime's.
pub fn current<R>(with: impl FnOnce(&Thread) -> R) -> Option<R> {
    // SAFETY: it returns null or the caller's handle, which lives while the caller does.
    let handle = unsafe { ffi::weir_thread_self() };
    (!handle.is_null()).then(|| with(&Thread { handle }))
}

/// Let the policy choose again.
pub fn yield_now() {
    // SAFETY: it may be called from any thread.
    unsafe { ffi::weir_thread_yield() };
}

/// Sleep until this thread is unparked; it may return spuriously, so call it in a loop.
pub fn park() {
    // SAFETY: it may be called from any thread.
    unsafe { ffi::weir_thread_park() };
}

/// The clock of deadlines: CLOCK_MONOTONIC.
pub fn now() -> Duration {
    // SAFETY: it reads a clock.
    Duration::from_nanos(unsafe { ffi::weir_clock() })
}

pub fn sleep(time: Duration) {
    // SAFETY: it may be called from any thread.
    unsafe { ffi::weir_sleep(nanoseconds(time)) };
}

/// Until the clock [`now`] says so.
pub fn sleep_until(at: Duration) {
    // SAFETY: it may be called from any thread.
    unsafe { ffi::weir_sleep_until(nanoseconds(at)) };
}

struct OnDrop(unsafe extern "C" fn());

impl Drop for OnDrop {
    fn drop(&mut self) {
        // SAFETY: the other half was called when this was made.
        unsafe { (self.0)() };
    }
}

/// Do what may block and is not of this crate; other threads get the CPU meanwhile.
pub fn blocking<R>(what: impl FnOnce() -> R) -> R {
    // SAFETY: the end follows when the guard goes, on this thread.
    unsafe { ffi::weir_blocking_begin() };
    let _end = OnDrop(ffi::weir_blocking_end);
    what()
}

/// The thread keeps its CPU during `what`, whatever the policy says. Keep it short.
pub fn without_preemption<R>(what: impl FnOnce() -> R) -> R {
    // SAFETY: the end follows when the guard goes, on this thread.
    unsafe { ffi::weir_disable() };
    let _end = OnDrop(ffi::weir_enable);
    what()
}
