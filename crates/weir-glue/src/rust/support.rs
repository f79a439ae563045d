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

    /// How long it may run at a time, ns; 0: the runtime chooses; [`UNLIMITED`]: until it waits. In a step.
    pub fn set_slice(self, ns: u64) {
        // SAFETY: likewise.
        unsafe { weir_rs_slice(self, ns) }
    }
}

/// Of [`Task::set_slice`].
pub const UNLIMITED: u64 = u64::MAX;

/// A pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Pipe(*mut c_void);

/// The change that a step hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The task comes: where does it go?
    Arrived,
    /// It got a CPU; the answer does not matter. Only with `hears: picked`.
    Picked,
    /// It is gone; likewise, with `hears: left`.
    Left,
    /// It waits behind the instance or is withheld by it: where does it go now? Or it runs: how urgent is it?
    Review,
}

impl What {
    /// `enum weir_what`
    pub fn of(number: u32) -> Self {
        match number {
            0 => What::Arrived,
            1 => What::Picked,
            2 => What::Left,
            _ => What::Review,
        }
    }

    fn number(self) -> u32 {
        self as u32
    }
}

/// Why the change happens: `enum weir_why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Admitted,
    Woke,
    Requeued,
    Came,
    Again,
    Blocked,
    Ended,
    Went,
    None,
}

/// What a step gets beside the task, and where its answer goes beside the port.
#[derive(Debug)]
#[repr(C)]
pub struct Step {
    /// In: of the ordering stage before ([`KEY_NONE`]: none). Out: the place in a keyed out-pipe, smaller goes first.
    pub key: u64,
    urgency: u64,
    /// Out, in gated out-pipes: from which time of the pipe on the task is eligible.
    pub gate: u64,
    tie: u64,
    urgent: u32,
    input: u32,
    runs: u32,
    keeps_tie: u32,
    why: u32,
    want: u32,
}

/// A task without a key.
pub const KEY_NONE: u64 = u64::MAX;
const WITHHOLD: u32 = u32::MAX;

/// The answer of a step: an out-port; `None`: the task is withheld until it is asked for ([`Instance::review`]).
pub type Port = Option<u32>;

/// What the framework gets from a step.
pub fn port(answer: Port) -> u32 {
    answer.unwrap_or(WITHHOLD)
}

fn answer(port: u32) -> Port {
    (port != WITHHOLD).then_some(port)
}

impl Step {
    /// The task's urgency: where its path ends, it preempts the CPU with the least urgent task.
    pub fn urgent(&mut self, key: u64) {
        self.urgent = 1;
        self.urgency = key;
        self.gate = 0;
    }

    /// The answer of an order by `key`: port 0, that place, and that urgency.
    pub fn place_urgent(&mut self, key: u64) -> Port {
        self.key = key;
        self.urgent(key);
        Some(0)
    }

    /// Among equal keys the order before the key that came in decides.
    pub fn keep_tie(&mut self) {
        self.keeps_tie = 1;
    }

    /// The in-port by which the task came.
    pub fn input(&self) -> u32 {
        self.input
    }

    /// [`What::Left`], [`What::Review`]: it runs, or ran.
    pub fn runs(&self) -> bool {
        self.runs != 0
    }

    pub fn why(&self) -> Why {
        match self.why {
            0 => Why::Admitted,
            1 => Why::Woke,
            2 => Why::Requeued,
            3 => Why::Came,
            4 => Why::Again,
            5 => Why::Blocked,
            6 => Why::Ended,
            7 => Why::Went,
            _ => Why::None,
        }
    }

    /// The port that [`Instance::send_by`] asked for.
    pub fn want(&self) -> Port {
        answer(self.want)
    }
}

/// The members of a pipe: the tasks that wait in it and behind it.
#[derive(Debug)]
pub struct Members(Pipe, Task);

impl Iterator for Members {
    type Item = Task;

    fn next(&mut self) -> Option<Task> {
        // SAFETY: the pipe's lock is held by whoever lists its members.
        self.1 = unsafe { weir_rs_member(self.0, self.1) };
        some(self.1)
    }
}

/// The tasks that are linked in a pipe, in their order.
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
    /// The tasks that are linked in this very pipe: of an in-pipe, those that the instance withholds. In a step, or under
    /// [`Instance::lock`].
    pub fn tasks(self) -> Tasks {
        Tasks(self, None, false)
    }

    /// All of its members that its home holds. Likewise.
    pub fn members(self) -> Members {
        Members(self, Task(core::ptr::null_mut()))
    }

    /// Number of its members.
    pub fn len(self) -> u32 {
        // SAFETY: the framework gives valid pipes.
        unsafe { weir_rs_nr(self) }
    }

    /// Has it none?
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Is the task a member?
    pub fn has(self, task: Task) -> bool {
        // SAFETY: valid handles.
        unsafe { weir_rs_has(self, task) != 0 }
    }

    /// Tasks that wait behind it plus CPUs there that run one, and the number of its idle CPUs.
    pub fn load(self) -> (u32, u32) {
        let mut idle = 0;
        // SAFETY: valid handle.
        let load = unsafe { weir_pipe_load(self, &mut idle) };
        (load, idle)
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

    /// Have the step asked about the task once more, when the call holds no lock any longer.
    pub fn review(&self, task: Task) {
        // SAFETY: valid handles.
        unsafe { weir_review(self.me(), task) };
    }

    /// The same for all tasks behind the instance, and those that it withholds. Not in a step.
    pub fn review_all(&self) -> Result {
        // SAFETY: valid handle.
        done(unsafe { weir_review_all(self.me()) })
    }

    /// The same for one task, which is to go by that port: [`Step::want`]. Not in a step.
    pub fn send_by(&self, task: Task, port: u32) -> Result {
        // SAFETY: valid handles.
        done(unsafe { weir_move(self.me(), task, port) })
    }

    /// The out-port by which a waiting task went.
    pub fn port_of(&self, task: Task) -> Port {
        // SAFETY: valid handles.
        answer(unsafe { weir_port_of(self.me(), task) })
    }

    /// The answer of a step that withholds the task until a time (0: for want of a path), which WITHHELD says.
    pub fn withhold(&self, what: What, task: Task, until_ns: u64) -> Port {
        // SAFETY: valid handles.
        answer(unsafe { weir_withhold(self.me(), what.number(), task, until_ns) })
    }

    /// The answer of a distributor: by this out-pipe; none: the task is withheld.
    pub fn send(&self, what: What, task: Task, to: Option<Pipe>) -> Port {
        let to = to.unwrap_or(Pipe(core::ptr::null_mut()));
        // SAFETY: valid handles.
        answer(unsafe { weir_send(self.me(), what.number(), task, to) })
    }

    /// The first out-pipe behind which a CPU is online that the task may use.
    pub fn first_allowed(&self, task: Task) -> Option<Pipe> {
        // SAFETY: valid handles.
        let pipe = unsafe { weir_rs_first_allowed(self.me(), task) };
        (!pipe.0.is_null()).then_some(pipe)
    }

    /// The answer of a step that could not do its work: that is counted, and the task goes on as the stage before left it.
    pub fn failed(&self, task: Task, why: Error) -> Port {
        // SAFETY: valid handles.
        answer(unsafe { weir_step_failed(self.me(), task, -why.0) })
    }

    /// Take the lock that steps are taken under, for the other functions. It is given back when the guard is dropped.
    pub fn lock(&self) -> Result<Guard> {
        // SAFETY: valid handle.
        done(unsafe { weir_steps_lock(self.me()) }).map(|()| Guard(self.me()))
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

/// The lock that steps are taken under.
#[derive(Debug)]
pub struct Guard(*const c_void);

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: it was taken.
        unsafe { weir_steps_unlock(self.0) };
    }
}

/// A state is its instance, too.
pub trait State: Deref<Target = Instance> + DerefMut {}

unsafe extern "C" {
    fn weir_review(me: *const c_void, task: Task) -> i32;
    fn weir_review_all(me: *const c_void) -> i32;
    fn weir_move(me: *const c_void, task: Task, port: u32) -> i32;
    fn weir_port_of(me: *const c_void, task: Task) -> u32;
    fn weir_withhold(me: *const c_void, what: u32, task: Task, until_ns: u64) -> u32;
    fn weir_send(me: *const c_void, what: u32, task: Task, to: Pipe) -> u32;
    fn weir_step_failed(me: *const c_void, task: Task, error: i32) -> u32;
    fn weir_steps_lock(me: *const c_void) -> i32;
    fn weir_steps_unlock(me: *const c_void) -> i32;
    fn weir_pipe_load(pipe: Pipe, idle: *mut u32) -> u32;
    fn weir_rs_task_id(task: Task) -> u32;
    fn weir_rs_slice(task: Task, ns: u64);
    fn weir_rs_nr(pipe: Pipe) -> u32;
    fn weir_rs_has(pipe: Pipe, task: Task) -> i32;
    fn weir_rs_first(pipe: Pipe) -> Task;
    fn weir_rs_next(pipe: Pipe, task: Task) -> Task;
    fn weir_rs_member(pipe: Pipe, after: Task) -> Task;
    fn weir_rs_nr_in(me: *const c_void) -> u32;
    fn weir_rs_nr_out(me: *const c_void) -> u32;
    fn weir_rs_in(me: *const c_void, port: u32) -> Pipe;
    fn weir_rs_out(me: *const c_void, port: u32) -> Pipe;
    fn weir_rs_publish(me: *const c_void, topic: u32, task: Task, cpu: u32, value: u64);
    fn weir_rs_property(me: *const c_void, topic: u32, task: Task) -> u64;
    fn weir_rs_first_allowed(me: *const c_void, task: Task) -> Pipe;
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
