// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `weir/threads.h`, as far as this crate uses it. `tests/layout.rs` compares sizes and offsets with the header.

use std::ffi::{c_char, c_int, c_short, c_uint, c_void};

pub const NR_ATTRIBUTES: usize = 6;
pub const PRIORITY: usize = 0;
pub const DEADLINE: usize = 1;
pub const WEIGHT: usize = 2;
pub const GROUP: usize = 3;
pub const JOB: usize = 4;
pub const LATENCY: usize = 5;
pub const OVERSUBSCRIBE: c_uint = 1;
pub const PRIVATE: c_uint = 4;
pub const FOREVER: u64 = u64::MAX;

#[repr(C)]
pub struct Config {
    pub plan_file: *const c_char,
    pub plan: *const c_void,
    pub plan_bytes: usize,
    pub flags: c_uint,
    pub slice_ns: u64,
    pub stack_bytes: usize,
    pub arena_bytes: usize,
    pub serve: *const c_char,
    pub join: *const c_char,
    pub alone: Option<unsafe extern "C" fn(*const c_char)>,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Swapped {
    pub represented: u32,
    pub built: u32,
    pub kept: u32,
    pub pause_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    pub cpus: u32,
    pub threads: u32,
    pub created: u64,
    pub dispatches: u64,
    pub yields: u64,
    pub blocks: u64,
    pub preemptions: u64,
    pub deferred: u64,
    pub expiries: u64,
    pub handovers: u64,
    pub kicks: u64,
    pub polls_hit: u64,
    pub sleeps: u64,
    pub idle_ns: u64,
    pub swaps: u64,
    pub deadline_misses: u64,
    pub faults: u64,
    pub taken: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Attr {
    pub kind: u32,
    pub given: u32,
    pub stack_bytes: usize,
    pub value: [i64; NR_ATTRIBUTES],
    pub value2: [i64; NR_ATTRIBUTES],
}

#[repr(C)]
pub struct Work {
    pub thread: *mut Handle,
    pub context: *mut c_void,
    pub slice_ns: u64,
}

/// A thread of the runtime; only its address counts here.
#[repr(C)]
pub struct Handle {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct Queue {
    pub lock: u32,
    pub nr: u32,
    pub head: *mut c_void,
    pub tail: *mut c_void,
}

impl Queue {
    pub const EMPTY: Self = Self { lock: 0, nr: 0, head: std::ptr::null_mut(), tail: std::ptr::null_mut() };
}

#[repr(C)]
pub struct RawMutex {
    pub state: u32,
    pub queue: Queue,
}

#[repr(C)]
pub struct RawCond {
    pub queue: Queue,
}

#[repr(C)]
pub struct RawSem {
    pub count: i64,
    pub queue: Queue,
}

#[repr(C)]
pub struct RawBarrier {
    pub needed: u32,
    pub arrived: u32,
    pub generation: u32,
    pub queue: Queue,
}

#[repr(C)]
pub struct RawChan {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    pub fn weir_rt_open(config: *const Config) -> c_int;
    pub fn weir_rt_close() -> c_int;
    pub fn weir_rt_error() -> *const c_char;
    pub fn weir_rt_swap(plan: *const c_void, bytes: usize, swapped: *mut Swapped) -> c_int;
    pub fn weir_rt_stats(stats: *mut Stats);
    pub fn weir_rt_policy() -> *const c_char;
    pub fn weir_rt_allotment(wish: c_uint) -> c_uint;
    pub fn weir_rt_check() -> c_int;

    pub fn weir_rt_isa(cpu: c_uint) -> c_int;
    pub fn weir_foreign_take(cpu: c_uint) -> c_int;
    pub fn weir_foreign_drop(cpu: c_uint) -> c_int;
    pub fn weir_foreign_pick(cpu: c_uint, at: u64, work: *mut Work) -> c_int;
    pub fn weir_foreign_give(cpu: c_uint, finished: c_int) -> c_int;
    pub fn weir_foreign_cancel(cpu: c_uint) -> c_int;
    pub fn weir_thread_foreign(isa: c_uint, context: *mut c_void) -> c_int;

    pub fn weir_thread_create(
        thread: *mut *mut Handle,
        attr: *const Attr,
        run: extern "C" fn(*mut c_void) -> *mut c_void,
        arg: *mut c_void,
    ) -> c_int;
    pub fn weir_thread_join(thread: *mut Handle, result: *mut *mut c_void) -> c_int;
    pub fn weir_thread_detach(thread: *mut Handle) -> c_int;
    pub fn weir_thread_self() -> *mut Handle;
    pub fn weir_thread_yield();
    pub fn weir_thread_hand_over(thread: *mut Handle) -> c_int;
    pub fn weir_thread_set(thread: *mut Handle, what: c_uint, value: i64, value2: i64) -> c_int;
    pub fn weir_thread_publish(
        about: *mut Handle,
        topic: *const c_char,
        words: *const u64,
        nr: c_uint,
    ) -> c_int;
    pub fn weir_thread_request(
        about: *mut Handle,
        topic: *const c_char,
        words: *mut u64,
        nr: c_uint,
    ) -> c_int;
    pub fn weir_thread_park();
    pub fn weir_thread_unpark(thread: *mut Handle);
    pub fn weir_thread_deallocations(thread: *const Handle) -> u64;
    pub fn weir_thread_adopt(attr: *const Attr) -> c_int;
    pub fn weir_thread_leave() -> c_int;
    pub fn weir_disable();
    pub fn weir_enable();
    pub fn weir_blocking_begin();
    pub fn weir_blocking_end();
    pub fn weir_clock() -> u64;
    pub fn weir_sleep(ns: u64);
    pub fn weir_sleep_until(at: u64);

    pub fn weir_mutex_lock(m: *mut RawMutex);
    pub fn weir_mutex_trylock(m: *mut RawMutex) -> c_int;
    pub fn weir_mutex_unlock(m: *mut RawMutex);
    pub fn weir_cond_wait(c: *mut RawCond, m: *mut RawMutex);
    pub fn weir_cond_wait_until(c: *mut RawCond, m: *mut RawMutex, at: u64) -> c_int;
    pub fn weir_cond_signal(c: *mut RawCond);
    pub fn weir_cond_broadcast(c: *mut RawCond);
    pub fn weir_sem_wait(s: *mut RawSem);
    pub fn weir_sem_wait_until(s: *mut RawSem, at: u64) -> c_int;
    pub fn weir_sem_trywait(s: *mut RawSem) -> c_int;
    pub fn weir_sem_post(s: *mut RawSem);
    pub fn weir_barrier_wait(b: *mut RawBarrier) -> c_int;
    pub fn weir_chan_new(capacity: u32) -> *mut RawChan;
    pub fn weir_chan_free(c: *mut RawChan);
    pub fn weir_chan_send_until(c: *mut RawChan, word: u64, at: u64) -> c_int;
    pub fn weir_chan_recv_until(c: *mut RawChan, word: *mut u64, at: u64) -> c_int;
    pub fn weir_chan_close(c: *mut RawChan);

    pub fn weir_read(fd: c_int, buffer: *mut c_void, bytes: usize) -> isize;
    pub fn weir_write(fd: c_int, buffer: *const c_void, bytes: usize) -> isize;
    pub fn weir_accept(fd: c_int, address: *mut c_void, length: *mut c_void) -> c_int;
    pub fn weir_wait_fd(fd: c_int, events: c_short, at: u64) -> c_int;
}
