// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program that defines the functions of `weir/runtime.h` itself: it links, and the core calls them.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::{Config, MachineShape, Sched};
use weir_lang::{NoIncludes, Source};

static ASKED: AtomicU64 = AtomicU64::new(0);

#[unsafe(no_mangle)]
extern "C" fn weir_rt_now(_: *mut c_void) -> u64 {
    ASKED.fetch_add(1, Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn weir_rt_message(_: *mut c_void, _: *const c_void) {}

#[unsafe(no_mangle)]
extern "C" fn weir_rt_timer(_: *mut c_void, _: u32, _: u64) {}

#[test]
fn a_second_runtime_links() {
    let source = Source { name: "test.weir".into(), text: "entry -> head_queue -> cpus;".into() };
    let shape = MachineShape::flat(1);
    let compiled = weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), &shape, &[]);
    let config = Config { nr_cpus: 1, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
    let mut sched = Sched::new(&config).expect("memory");
    sched.load(&compiled.expect("right").plan).expect("right");
    assert!(ASKED.load(Ordering::Relaxed) > 0, "a swap is timed by the program's own clock");
}
