// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a component in Rust has of the framework. `runweir component build` compiles it for a component; numbers and layouts come from
//! the framework's headers, and the C compiler checks those that are written here.
//!
//! Handles ([`Pipe`], [`Task`], [`Msg`]) are valid for the call in which a component gets them. Components run under the locks that
//! `weir/component.h` names for each function; a component that keeps a handle in its state is wrong, as in C.

use core::ffi::c_void;
use core::ops::{Deref, DerefMut};

/// Why a function failed: a number of `weir/error.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

impl Error {
    pub const NOMEM: Error = Error(1);
    pub const INVAL: Error = Error(2);
    pub const NOENT: Error = Error(5);
    pub const PORTS: Error = Error(10);
    pub const PARAM: Error = Error(11);
}

pub type Result<T = ()> = core::result::Result<T, Error>;

fn done(code: i32) -> Result {
    if code == 0 { Ok(()) } else { Err(Error(-code)) }
}

/// What the framework gets from a component's function.
pub fn status(result: Result) -> i32 {
    match result {
        Ok(()) => 0,
        Err(Error(code)) => -code,
    }
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Task(*mut c_void);

impl Task {
    /// Its number.
    pub fn id(self) -> u32 {
        // SAFETY: the framework gives valid tasks.
        unsafe { weir_rs_task_id(self) }
    }
}

/// A pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Pipe(*mut c_void);

/// What happened to a task of an in-pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Added,
    Removed,
    Moved,
}

/// A change of an in-pipe.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub task: Task,
    pub kind: Kind,
}

/// `struct weir_change`
#[repr(C)]
struct Record {
    task: Task,
    kind: u32,
    handled: u32,
}

/// The changes of an in-pipe that the component has not seen.
#[derive(Debug)]
pub struct Changes(Pipe, u32);

impl Iterator for Changes {
    type Item = Change;

    fn next(&mut self) -> Option<Change> {
        // SAFETY: the pipe is locked during the call; a record stays until the next one is taken.
        let record = unsafe { weir_change_next(self.0, &mut self.1).as_ref() }?;
        let kind = match record.kind {
            ADDED => Kind::Added,
            REMOVED => Kind::Removed,
            _ => Kind::Moved,
        };
        Some(Change { task: record.task, kind })
    }
}

/// The tasks of a pipe, in their order.
#[derive(Debug)]
pub struct Tasks(Pipe, Option<Task>, bool);

impl Iterator for Tasks {
    type Item = Task;

    fn next(&mut self) -> Option<Task> {
        if !core::mem::replace(&mut self.2, true) {
            // SAFETY: the pipe is locked by whoever lists its tasks.
            self.1 = some(unsafe { weir_rs_first(self.0) });
        } else if let Some(t) = self.1 {
            // SAFETY: likewise.
            self.1 = some(unsafe { weir_rs_next(self.0, t) });
        }
        self.1
    }
}

fn some(task: Task) -> Option<Task> {
    (!task.0.is_null()).then_some(task)
}

impl Pipe {
    /// What has changed since the last update. The pipe is an in-pipe, locked.
    pub fn changes(self) -> Changes {
        Changes(self, 0)
    }

    /// Its tasks. It is locked.
    pub fn tasks(self) -> Tasks {
        Tasks(self, None, false)
    }

    /// Number of its tasks.
    pub fn len(self) -> u32 {
        // SAFETY: the framework gives valid pipes.
        unsafe { weir_rs_nr(self) }
    }

    /// Has it none?
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Is the task in it?
    pub fn has(self, task: Task) -> bool {
        // SAFETY: valid handles.
        unsafe { weir_rs_has(self, task) != 0 }
    }

    /// Add at the end.
    pub fn append(self, task: Task) -> Result {
        // SAFETY: valid handles; the in-pipe of the task is locked.
        done(unsafe { weir_pipe_append(self, task) })
    }

    /// Add at the beginning.
    pub fn prepend(self, task: Task) -> Result {
        // SAFETY: likewise.
        done(unsafe { weir_pipe_prepend(self, task) })
    }

    /// Add, or move, to the place that it has in `input`.
    pub fn mirror(self, task: Task, input: Pipe) -> Result {
        // SAFETY: likewise.
        done(unsafe { weir_pipe_mirror(self, task, input) })
    }

    /// Add, or move, by key: least first. The pipe is keyed.
    pub fn insert(self, task: Task, key: u64) -> Result {
        // SAFETY: likewise.
        done(unsafe { weir_pipe_insert(self, task, key) })
    }

    /// The same; among equal keys the order of `input` holds.
    pub fn insert_stable(self, task: Task, key: u64, input: Pipe) -> Result {
        // SAFETY: likewise.
        done(unsafe { weir_pipe_insert_stable(self, task, key, input) })
    }

    /// Remove.
    pub fn remove(self, task: Task) -> Result {
        // SAFETY: likewise.
        done(unsafe { weir_pipe_remove(self, task) })
    }
}

/// A message, or a request with its reply.
#[derive(Debug)]
#[repr(C)]
pub struct Msg {
    pub topic: u32,
    /// [`NO_CPU`]: none.
    pub cpu: u32,
    task: Task,
    pub value: u64,
    pub value2: u64,
    data: *const u64,
}

/// A message about no CPU.
pub const NO_CPU: u32 = u32::MAX;

impl Msg {
    /// The task that it is about.
    pub fn task(&self) -> Option<Task> {
        some(self.task)
    }
}

/// The part of an instance that is the framework's: `struct weir_instance`.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Instance([u8; INSTANCE_BYTES]);

impl Instance {
    fn me(&self) -> *const c_void {
        core::ptr::from_ref(self).cast()
    }

    /// Number of in-pipes.
    pub fn ins(&self) -> u32 {
        // SAFETY: the framework made the instance; likewise below.
        unsafe { weir_rs_nr_in(self.me()) }
    }

    /// Number of out-pipes.
    pub fn outs(&self) -> u32 {
        unsafe { weir_rs_nr_out(self.me()) }
    }

    /// An in-pipe, by its port.
    pub fn input(&self, port: u32) -> Pipe {
        assert!(port < self.ins());
        // SAFETY: there is such a port.
        unsafe { weir_rs_in(self.me(), port) }
    }

    /// An out-pipe, by its port.
    pub fn out(&self, port: u32) -> Pipe {
        assert!(port < self.outs());
        // SAFETY: there is such a port.
        unsafe { weir_rs_out(self.me(), port) }
    }

    /// Publish a message.
    pub fn publish(&self, topic: u32, task: Option<Task>, cpu: u32, value: u64) {
        let task = task.unwrap_or(Task(core::ptr::null_mut()));
        // SAFETY: valid handles.
        unsafe { weir_rs_publish(self.me(), topic, task, cpu, value) }
    }

    /// What the topic's responder says of a task; 0 without one.
    pub fn property(&self, topic: u32, task: Task) -> u64 {
        // SAFETY: valid handles.
        unsafe { weir_rs_property(self.me(), topic, task) }
    }

    /// Put a task of in-pipe `input` into an out-pipe with an urgency, and preempt a CPU that runs a less urgent one.
    pub fn insert_urgent(&self, task: Task, key: u64, input: Pipe) -> Result {
        // SAFETY: valid handles.
        done(unsafe { weir_rs_insert_urgent(self.me(), task, key, input) })
    }

    /// For distributors: put a task of `input` into an out-pipe, or withhold it.
    pub fn route(&self, input: Pipe, task: Task, to: Option<Pipe>) -> Result {
        let to = to.unwrap_or(Pipe(core::ptr::null_mut()));
        // SAFETY: valid handles.
        done(unsafe { weir_rs_route(self.me(), input, task, to) })
    }

    /// Time, ns.
    pub fn now(&self) -> u64 {
        unsafe { weir_rs_now(self.me()) }
    }

    /// Have `on_timer` called at this time; 0: not any more.
    pub fn timer(&self, at_ns: u64) {
        unsafe { weir_rs_timer(self.me(), at_ns) }
    }

    /// A pseudo-random number.
    pub fn random(&self) -> u64 {
        unsafe { weir_rs_random(self.me()) }
    }

    /// Private memory of the task, as many words as the component has per task.
    ///
    /// # Safety
    /// `T` is what the build generated for the component.
    pub unsafe fn private<T>(&self, task: Task) -> *mut T {
        unsafe { weir_rs_priv(self.me(), task).cast() }
    }
}

/// A state is its instance, too.
pub trait State: Deref<Target = Instance> + DerefMut {}

unsafe extern "C" {
    fn weir_change_next(pipe: Pipe, at: *mut u32) -> *mut Record;
    fn weir_pipe_append(pipe: Pipe, task: Task) -> i32;
    fn weir_pipe_prepend(pipe: Pipe, task: Task) -> i32;
    fn weir_pipe_mirror(pipe: Pipe, task: Task, input: Pipe) -> i32;
    fn weir_pipe_insert(pipe: Pipe, task: Task, key: u64) -> i32;
    fn weir_pipe_insert_stable(pipe: Pipe, task: Task, key: u64, input: Pipe) -> i32;
    fn weir_pipe_remove(pipe: Pipe, task: Task) -> i32;
    fn weir_rs_task_id(task: Task) -> u32;
    fn weir_rs_nr(pipe: Pipe) -> u32;
    fn weir_rs_has(pipe: Pipe, task: Task) -> i32;
    fn weir_rs_first(pipe: Pipe) -> Task;
    fn weir_rs_next(pipe: Pipe, task: Task) -> Task;
    fn weir_rs_nr_in(me: *const c_void) -> u32;
    fn weir_rs_nr_out(me: *const c_void) -> u32;
    fn weir_rs_in(me: *const c_void, port: u32) -> Pipe;
    fn weir_rs_out(me: *const c_void, port: u32) -> Pipe;
    fn weir_rs_publish(me: *const c_void, topic: u32, task: Task, cpu: u32, value: u64);
    fn weir_rs_property(me: *const c_void, topic: u32, task: Task) -> u64;
    fn weir_rs_insert_urgent(me: *const c_void, task: Task, key: u64, input: Pipe) -> i32;
    fn weir_rs_route(me: *const c_void, input: Pipe, task: Task, to: Pipe) -> i32;
    fn weir_rs_now(me: *const c_void) -> u64;
    fn weir_rs_timer(me: *const c_void, at_ns: u64);
    fn weir_rs_random(me: *const c_void) -> u64;
    fn weir_rs_priv(me: *const c_void, task: Task) -> *mut c_void;
    fn weir_rs_panic() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it does not return.
    unsafe { weir_rs_panic() }
}
