// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A scheduler that several threads call at once.
//!
//! The rules of `weir/schedule.h` are kept by types and locks: a [`Cpu`] exists once, so that no two calls of a CPU overlap;
//! a task is given back, blocked or ended only by the CPU that runs it; and calls about one task wait for each other.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ffi::{self, CConfig, CMsg, CSched, CSwapStats, CTask};
use crate::runtime::{Head, Ops, out_msg, runtime_topics};
use crate::sched::{empty, to_mask};
use crate::tables::{Identity, Tables};
use crate::{
    Config, Error, Msg, Picked, Plan, SwapStats, TaskId, Topic, catalog, class_table, loaded, not_built,
};
use memmap2::{MmapMut, MmapOptions};

use super::Runtime;

/// Locks for calls about tasks; those of a task are serialised by the one of its number.
const STRIPES: usize = 64;

/// `weir/error.h`.
const INVALID: i32 = -2;
const STATE: i32 = -4;
const MISSING: i32 = -5;
const NESTED: i32 = -8;

thread_local! {
    /// A call of a scheduler is under way in this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The runtime as C finds it behind the cookie.
#[repr(C)]
struct Hosted<R> {
    head: Head,
    runtime: R,
}

impl<R: Runtime> Hosted<R> {
    const OPS: &'static Ops = &Ops { now: Self::now, message: Self::message, timer: Self::timer };

    /// # Safety
    /// For all three: `head` is that of a `Hosted<R>` that nobody changes.
    unsafe extern "C" fn now(head: *mut Head) -> u64 {
        // SAFETY: see above.
        unsafe { &*head.cast::<Self>() }.runtime.now()
    }

    unsafe extern "C" fn message(head: *mut Head, msg: *const CMsg) {
        // SAFETY: see above; `msg` is valid for the call.
        let (hosted, msg) = unsafe { (&*head.cast::<Self>(), out_msg(msg)) };
        if let Some(msg) = msg {
            hosted.runtime.message(msg);
        }
    }

    unsafe extern "C" fn timer(head: *mut Head, instance: u32, at_ns: u64) {
        // SAFETY: see above.
        unsafe { &*head.cast::<Self>() }.runtime.timer(instance, at_ns);
    }
}

/// One scheduler with its runtime, for several threads.
pub struct Host<R: Runtime> {
    s: *mut CSched,
    hosted: *mut Hosted<R>,
    _arena: MmapMut,
    /// Entry points of each class.
    has: Vec<u32>,
    /// CPUs that exist as [`Cpu`].
    taken: Vec<AtomicBool>,
    tasks: [Mutex<()>; STRIPES],
    /// Instances of the graph in use; held during a swap.
    present: Mutex<Vec<Identity>>,
    /// A component says how long tasks may run.
    slices: AtomicBool,
}

// SAFETY: the core takes its own locks, and the rules that it leaves to its callers are kept here (see the module).
unsafe impl<R: Runtime> Send for Host<R> {}
// SAFETY: the same.
unsafe impl<R: Runtime> Sync for Host<R> {}

impl<R: Runtime> Drop for Host<R> {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw in `new`, and C is not called any more.
        drop(unsafe { Box::from_raw(self.hosted) });
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn done(code: i32, doing: &str) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(Error::of(code, doing)) }
}

/// Call the core, unless this thread is in it already: it knows a thread by one CPU.
fn enter<T>(doing: &str, call: impl FnOnce() -> T) -> Result<T, Error> {
    if INSIDE.replace(true) {
        return Err(Error::of(NESTED, doing));
    }
    let result = call();
    INSIDE.set(false);
    Ok(result)
}

impl<R: Runtime> Host<R> {
    /// A scheduler without a topology. `checks` and `oplog` of the configuration are for [`crate::Sched`]: here, calls
    /// overlap.
    ///
    /// # Errors
    /// There is no memory, or the number of CPUs makes no sense.
    pub fn new(config: &Config, runtime: R) -> Result<Self, Error> {
        let doing = "setting up the scheduler";
        // SAFETY: sets a word of the port; schedulers with one thread each may go on meanwhile.
        unsafe { ffi::weir_host_threads() };
        let arena = MmapOptions::new().len(config.arena_bytes).no_reserve_swap().map_anon();
        let arena = arena.map_err(|_| Error::of(-1, doing))?;
        let classes = class_table();
        let s = arena.as_ptr().cast_mut().cast::<CSched>();
        let c = CConfig {
            arena_bytes: config.arena_bytes as u64,
            seed: config.seed,
            nr_cpus: config.nr_cpus,
            nr_classes: classes.len() as u32,
            unused: [0; 2],
            patience: 0,
            classes: classes.as_ptr(),
        };
        // SAFETY: fresh, zeroed and page-aligned memory that lives as long as the handle; the class table is copied.
        enter(doing, || done(unsafe { ffi::weir_init(s, &c) }, doing))??;
        let hosted = Box::into_raw(Box::new(Hosted { head: Head { ops: Hosted::<R>::OPS }, runtime }));
        // SAFETY: `s` is initialised; the record outlives every call.
        unsafe { ffi::weir_host_setup(s, hosted as u64, runtime_topics()) };
        Ok(Self {
            s,
            hosted,
            _arena: arena,
            has: classes.iter().map(|c| c.has).collect(),
            taken: (0..config.nr_cpus).map(|_| AtomicBool::new(false)).collect(),
            tasks: [const { Mutex::new(()) }; STRIPES],
            present: Mutex::default(),
            slices: AtomicBool::new(false),
        })
    }

    /// The runtime.
    pub fn runtime(&self) -> &R {
        // SAFETY: valid as long as `self`, and never changed.
        &unsafe { &*self.hosted }.runtime
    }

    /// CPU number `nr`, for the thread that calls in its name; `None` if there is no such CPU or somebody has it.
    pub fn cpu(&self, nr: u32) -> Option<Cpu<'_, R>> {
        let free = !self.taken.get(nr as usize)?.swap(true, Ordering::Acquire);
        free.then_some(Cpu { host: self, nr, current: None })
    }

    /// All invariants, while no call is under way; the error names the broken one by its line in `core/src/check.c`.
    ///
    /// # Errors
    /// One does not hold, which is a fault of the core or of a component.
    pub fn check(&mut self) -> Result<(), Error> {
        // SAFETY: valid scheduler; no call is under way, as nobody else has a reference.
        match enter("checking", || unsafe { ffi::weir_check(self.s) })? {
            0 => Ok(()),
            line => Err(Error { code: 2, message: format!("broken invariant, core/src/check.c:{line}") }),
        }
    }

    fn serial(&self, task: TaskId) -> MutexGuard<'_, ()> {
        held(&self.tasks[task.0 as usize % STRIPES])
    }
}

/// The right to call the scheduler in the name of a CPU. Given back when it goes; so is the task that it runs.
pub struct Cpu<'a, R: Runtime> {
    host: &'a Host<R>,
    nr: u32,
    current: Option<TaskId>,
}

impl<R: Runtime> Drop for Cpu<'_, R> {
    fn drop(&mut self) {
        if self.current.is_some() {
            // Without a topology, or without memory, it stays with the CPU, which nobody else can give it back for.
            let _ = self.relinquish();
        }
        self.host.taken[self.nr as usize].store(false, Ordering::Release);
    }
}

type Call = unsafe extern "C" fn(*mut CSched, u32, *mut CTask) -> i32;

impl<R: Runtime> Cpu<'_, R> {
    /// Its number.
    pub fn nr(&self) -> u32 {
        self.nr
    }

    /// The task that it runs.
    pub fn current(&self) -> Option<TaskId> {
        self.current
    }

    /// Build the first topology, or replace it; instances of the same name and class keep their state.
    ///
    /// # Errors
    /// The plan makes no sense or has components that were loaded at run time, memory is short, or another swap runs.
    pub fn swap(&mut self, plan: &Plan) -> Result<SwapStats, Error> {
        let doing = format!("building topology `{}`", plan.name);
        if plan.instances.iter().any(|i| loaded::is_loaded(i.class)) {
            return Err(Error {
                code: -INVALID,
                message: format!("{doing}: components loaded at run time are for the simulator"),
            });
        }
        let mut present = held(&self.host.present);
        let tables = Tables::new(plan, &self.host.has, &present)?;
        let mut stats = CSwapStats::default();
        let c = tables.as_c();
        // SAFETY: valid scheduler; `tables` outlives the call, and C copies what it keeps.
        let code = enter(&doing, || unsafe { ffi::weir_swap(self.host.s, self.nr, &c, &mut stats) })?;
        if code != 0 {
            return Err(not_built(code, stats.refused, |i| plan.identity(i), &doing));
        }
        *present = plan.instances.iter().map(|i| (i.name.clone(), i.class)).collect();
        let components = &catalog().components;
        let answers = present.iter().any(|(_, c)| components[usize::from(*c)].answers_to(Topic::Slice));
        self.host.slices.store(answers, Ordering::Relaxed);
        Ok(stats.into())
    }

    /// Create an unconsidered task; `cookie` is the caller's own.
    ///
    /// # Errors
    /// Memory is short.
    pub fn task_new(&mut self, cookie: u64) -> Result<TaskId, Error> {
        let doing = "creating a task";
        // SAFETY: valid scheduler.
        let t = enter(doing, || unsafe { ffi::weir_task_new(self.host.s, self.nr, cookie) })?;
        // SAFETY: a task record stays valid for the arena's life.
        unsafe { t.as_ref() }.map(|t| TaskId(t.id)).ok_or_else(|| Error::of(-1, doing))
    }

    /// unconsidered -> schedulable, first time.
    ///
    /// # Errors
    /// There is no such task, or it is not unconsidered.
    pub fn admit(&mut self, task: TaskId) -> Result<(), Error> {
        self.on_task(task, ffi::weir_admit, "admitting a task")
    }

    /// unconsidered -> schedulable, after a block.
    ///
    /// # Errors
    /// As [`Cpu::admit`].
    pub fn unblock(&mut self, task: TaskId) -> Result<(), Error> {
        self.on_task(task, ffi::weir_unblock, "unblocking a task")
    }

    /// Claim the next task, which the CPU runs from now on.
    ///
    /// # Errors
    /// It runs one already.
    pub fn pick(&mut self) -> Result<Option<Picked>, Error> {
        let doing = "picking a task";
        if self.current.is_some() {
            return Err(Error::of(STATE, doing));
        }
        // SAFETY: valid scheduler, known CPU; picks of one CPU do not overlap.
        let t = enter(doing, || unsafe { ffi::weir_pick(self.host.s, self.nr, self.nr) })?;
        // SAFETY: a task record stays valid for the arena's life; this CPU runs the task.
        let Some(record) = (unsafe { t.as_ref() }) else { return Ok(None) };
        let (task, cookie, mut slice) = (TaskId(record.id), record.cookie, record.slice_ns);
        self.current = Some(task);
        if self.host.slices.load(Ordering::Relaxed) {
            let mut msg = CMsg { task: t, ..empty(Topic::Slice) };
            // SAFETY: valid scheduler and message.
            if enter(doing, || unsafe { ffi::weir_ask(self.host.s, self.nr, &mut msg) })? == 0 {
                slice = msg.value;
            }
        }
        Ok(Some(Picked { task, cookie, slice_ns: (slice != 0).then_some(slice) }))
    }

    /// The task that the CPU runs becomes schedulable.
    ///
    /// # Errors
    /// It runs none.
    pub fn relinquish(&mut self) -> Result<(), Error> {
        self.on_current(ffi::weir_relinquish, "relinquishing a CPU")
    }

    /// The task that the CPU runs becomes unconsidered.
    ///
    /// # Errors
    /// As [`Cpu::relinquish`].
    pub fn block(&mut self) -> Result<(), Error> {
        self.on_current(ffi::weir_block, "blocking a task")
    }

    /// The task that the CPU runs ends; its number may be used again.
    ///
    /// # Errors
    /// As [`Cpu::relinquish`].
    pub fn exit(&mut self) -> Result<(), Error> {
        self.on_current(ffi::weir_exit, "ending a task")
    }

    /// Publish a message.
    ///
    /// # Errors
    /// The message makes no sense.
    pub fn notify(&mut self, topic: Topic, msg: &Msg) -> Result<(), Error> {
        let doing = "publishing a message";
        let mask = msg.mask.as_ref().filter(|m| !m.is_empty()).map(to_mask);
        let _serial = msg.task.map(|t| self.host.serial(t));
        let task = msg.task.map_or(Ok(ptr::null_mut()), |t| self.record(t, doing))?;
        let c = CMsg {
            cpu: msg.cpu.unwrap_or(u32::MAX),
            task,
            value: msg.value,
            value2: msg.value2,
            mask: mask.as_ref().map_or(ptr::null(), ptr::from_ref),
            ..empty(topic)
        };
        if msg.cpu.is_some_and(|c| c as usize >= self.host.taken.len()) {
            return Err(Error::of(MISSING, doing));
        }
        // SAFETY: valid scheduler and message.
        done(enter(doing, || unsafe { ffi::weir_notify(self.host.s, self.nr, &c) })?, doing)
    }

    /// The timer of an instance has expired.
    ///
    /// # Errors
    /// There is no such instance; nothing has changed then.
    pub fn timer_expired(&mut self, instance: u32) -> Result<(), Error> {
        let doing = "a timer";
        // SAFETY: valid scheduler; an unknown instance is an error.
        done(enter(doing, || unsafe { ffi::weir_timer_expired(self.host.s, self.nr, instance) })?, doing)
    }

    /// Did calls of this CPU leave work behind? Then it has to [pick](Cpu::pick) again soon.
    pub fn gave_up(&mut self) -> bool {
        // SAFETY: valid scheduler and CPU.
        unsafe { ffi::weir_gave_up(self.host.s, self.nr) != 0 }
    }

    fn record(&self, task: TaskId, doing: &str) -> Result<*mut CTask, Error> {
        // SAFETY: valid scheduler; unknown numbers give null.
        let t = unsafe { ffi::weir_task_get(self.host.s, task.0) };
        if t.is_null() { Err(Error::of(MISSING, doing)) } else { Ok(t) }
    }

    fn on_task(&mut self, task: TaskId, call: Call, doing: &str) -> Result<(), Error> {
        let _serial = self.host.serial(task);
        let t = self.record(task, doing)?;
        // SAFETY: valid scheduler and record; no other call about the task is under way.
        done(enter(doing, || unsafe { call(self.host.s, self.nr, t) })?, doing)
    }

    fn on_current(&mut self, call: Call, doing: &str) -> Result<(), Error> {
        let Some(task) = self.current else { return Err(Error::of(STATE, doing)) };
        self.on_task(task, call, doing)?;
        self.current = None;
        Ok(())
    }
}
