// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! rusty - keep the order of the in-pipe, written in Rust
//!
//! class:    order
//! pipes:    in 1, out 1
//! listens:  -
//! answers:  -
//! params:   -
//! cost:     O(1) per change at the end of the in-pipe, otherwise the distance to the next handled task;
//!           in-pipe and out-pipe lock
//! targets:  native strict
//! source:   CoBaS 8.9 ("Rusty"): a component in another language behind the same interface
//!
//! batch: the out-pipe holds the tasks of the in-pipe in the same order. Does what head_queue does, so the
//! two can be compared; it shows what a foreign component needs: an update function with the C calling
//! convention and a descriptor.
//!
//! example:  entry -> rusty -> cpu 0;

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::ffi::{CDescriptor, CTask};

/// `struct weir_change`.
#[repr(C)]
struct Change {
    task: *mut CTask,
    kind: u32,
    unused: u32,
}

/// `enum weir_change_kind`, as far as this component hears of it.
const REMOVED: u32 = 2;

unsafe extern "C" {
    fn weir_change_next(pipe: *mut c_void, pos: *mut u32) -> *mut Change;
    fn weir_pipe_mirror(out: *mut c_void, task: *mut CTask, pipe: *mut c_void) -> c_int;
    fn weir_pipe_remove(out: *mut c_void, task: *mut CTask) -> c_int;
    fn weir_host_out(instance: *mut c_void, port: u32) -> *mut c_void;
    #[cfg(test)]
    fn weir_host_instance_size() -> u32;
}

/// Bytes of `struct weir_instance`, the whole state; `state_is_the_bare_instance` holds it to C.
const INSTANCE_SIZE: u32 = 128;

#[unsafe(no_mangle)]
static rusty_descriptor: CDescriptor = CDescriptor {
    name: c"rusty".as_ptr(),
    summary: c"keep the order of the in-pipe, written in Rust".as_ptr(),
    cls: 1,
    ordering: 0,
    in_min: 1,
    in_max: 1,
    out_min: 1,
    out_max: 1,
    out_label: 0,
    keyed_out: 0,
    kernel: 0,
    plain: 0,
    change_kinds: 0,
    size: INSTANCE_SIZE,
    per_task: 0,
    nr_params: 0,
    listens: 0,
    hears_all: 0,
    publishes: 0,
    asks: 0,
    needs: 0,
    answers: 0,
    params: ptr::null(),
    topics: ptr::null(),
    nr_topics: 0,
    carries: 0,
    travels: 0,
    nr_relations: 0,
    relations: ptr::null(),
};

/// Replay the changes of the in-pipe, which is locked, on the out-pipe.
#[unsafe(no_mangle)]
extern "C" fn rusty_update(instance: *mut c_void, pipe: *mut c_void) -> c_int {
    let mut pos = 0;
    // SAFETY: the dispatch passes an instance of this component with one out-pipe, and its locked in-pipe;
    // records and tasks stay valid while the lock is held.
    unsafe {
        let out = weir_host_out(instance, 0);
        while let Some(change) = weir_change_next(pipe, &mut pos).as_ref() {
            let err = match change.kind {
                REMOVED => weir_pipe_remove(out, change.task),
                _ => weir_pipe_mirror(out, change.task, pipe),
            };
            if err != 0 {
                return err;
            }
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_the_bare_instance() {
        // SAFETY: a pure function.
        assert_eq!(unsafe { weir_host_instance_size() }, INSTANCE_SIZE);
    }
}
