// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! rusty - keep the order of the in-pipe, written in Rust
//!
//! class:    order
//! pipes:    in 1, out 1
//! listens:  -
//! answers:  -
//! params:   -
//! cost:     O(1) per change; no lock of its own
//! targets:  native strict
//! source:   CoBaS 8.9 ("Rusty"): a component in another language behind the same interface
//!
//! batch: the out-pipe holds the tasks of the in-pipe in the same order. Does what head_queue does, so the
//! two can be compared; it shows what a foreign component needs: a step with the C calling convention and a
//! descriptor.
//!
//! example:  entry -> rusty -> cpu 0;

use std::ffi::c_void;
use std::ptr;

use crate::ffi::{CDescriptor, CTask};

#[cfg(test)]
unsafe extern "C" {
    fn weir_host_instance_size() -> u32;
}

/// Bytes of `struct weir_instance`, the whole state; `state_is_the_bare_instance` holds it to C.
const INSTANCE_SIZE: u32 = 152;

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
    hears: 0,
    size: INSTANCE_SIZE,
    per_task: 0,
    nr_params: 0,
    listens: 0,
    reviews: 0,
    hears_all: 0,
    publishes: 0,
    asks: 0,
    needs: 0,
    answers: 0,
    answer_at: 0,
    params: ptr::null(),
    topics: ptr::null(),
    nr_topics: 0,
    serial: 0,
    travels: 0,
    nr_relations: 0,
    relations: ptr::null(),
};

/// Each task goes by the only port, in the place that it has before.
#[unsafe(no_mangle)]
extern "C" fn rusty_step(_instance: *mut c_void, _what: u32, _task: *mut CTask, _step: *mut c_void) -> u32 {
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
