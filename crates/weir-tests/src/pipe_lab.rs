// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The core's pipe functions, called one by one; `native/pipe_lab.c` is the other side. This and
//! nothing else in the crate is unsafe: components reach pipes from C, so Rust has no interface to them.

use std::ffi::{CStr, c_char, c_int, c_void};

/// The two pipes of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Pipe {
    /// Entry pipe; its receiver is the component.
    In = 0,
    /// Out-pipe of the component; its receiver hears every kind of change.
    Out = 1,
}

/// Kinds of change (`enum weir_change_kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
    Moved,
}

unsafe extern "C" {
    fn lab_new(component: *const c_char) -> *mut c_void;
    fn lab_free(s: *mut c_void);
    fn lab_task(s: *mut c_void) -> u32;
    fn lab_op(s: *mut c_void, pipe: u32, op: u32, task: u32, arg: u64) -> c_int;
    fn lab_tasks(s: *mut c_void, pipe: u32, ids: *mut u32, cap: u32) -> u32;
    fn lab_changes(s: *mut c_void, pipe: u32, pairs: *mut u32, cap: u32) -> u32;
    fn lab_drain(s: *mut c_void);
}

/// A component between two pipes.
pub struct PipeLab {
    s: *mut c_void,
}

impl Drop for PipeLab {
    fn drop(&mut self) {
        // SAFETY: made by `lab_new`, not used any more.
        unsafe { lab_free(self.s) }
    }
}

impl PipeLab {
    /// The component has one in- and one out-pipe; the out-pipe is keyed if the component says so.
    pub fn new(component: &CStr) -> Self {
        // SAFETY: a C string; C aborts where it finds no memory or no such component.
        PipeLab { s: unsafe { lab_new(component.as_ptr()) } }
    }

    /// A schedulable task that is in no pipe.
    pub fn task(&mut self) -> u32 {
        // SAFETY: `s` is valid until drop.
        let t = unsafe { lab_task(self.s) };
        assert_ne!(t, u32::MAX, "the arena is full");
        t
    }

    fn op(&mut self, pipe: Pipe, op: u32, task: u32, arg: u64) -> Result<(), i32> {
        // SAFETY: `s` is valid; the caller gives tasks of this lab, which are never freed.
        let code = unsafe { lab_op(self.s, pipe as u32, op, task, arg) };
        if code == 0 { Ok(()) } else { Err(-code) }
    }

    pub fn append(&mut self, pipe: Pipe, t: u32) -> Result<(), i32> {
        self.op(pipe, 0, t, 0)
    }

    pub fn prepend(&mut self, pipe: Pipe, t: u32) -> Result<(), i32> {
        self.op(pipe, 1, t, 0)
    }

    pub fn insert_after(&mut self, pipe: Pipe, t: u32, after: u32) -> Result<(), i32> {
        self.op(pipe, 2, t, after.into())
    }

    /// Keyed pipes.
    pub fn insert(&mut self, pipe: Pipe, t: u32, key: u64) -> Result<(), i32> {
        self.op(pipe, 3, t, key)
    }

    pub fn remove(&mut self, pipe: Pipe, t: u32) -> Result<(), i32> {
        self.op(pipe, 4, t, 0)
    }

    pub fn tasks(&self, pipe: Pipe) -> Vec<u32> {
        let mut ids = vec![0; 1024];
        // SAFETY: C writes at most as many numbers as there is room for.
        let n = unsafe { lab_tasks(self.s, pipe as u32, ids.as_mut_ptr(), ids.len() as u32) };
        ids.truncate(n as usize);
        ids
    }

    /// The change log; empty afterwards.
    pub fn changes(&mut self, pipe: Pipe) -> Vec<(u32, Change)> {
        let mut pairs = vec![0u32; 2 * 4096];
        // SAFETY: C writes at most as many pairs as there is room for.
        let n = unsafe { lab_changes(self.s, pipe as u32, pairs.as_mut_ptr(), pairs.len() as u32 / 2) };
        let kind = |k| match k {
            1 => Change::Added,
            2 => Change::Removed,
            4 => Change::Moved,
            k => panic!("change of kind {k}"),
        };
        pairs[..2 * n as usize].chunks(2).map(|p| (p[0], kind(p[1]))).collect()
    }

    /// Let the component handle what is in the logs.
    pub fn drain(&mut self) {
        // SAFETY: `s` is valid, and no call is under way.
        unsafe { lab_drain(self.s) }
    }
}
