// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What this crate says of the library's structs is what its header says.

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

#[allow(dead_code)]
#[path = "../src/ffi.rs"]
mod ffi;

#[test]
fn structs_and_numbers_are_those_of_the_header() {
    let mut c = String::from("#include <weir/threads.h>\n");
    let mut expect = |what: &str, value: usize| {
        let _ = writeln!(c, "_Static_assert({what} == {value}, \"{what}\");");
    };
    macro_rules! fields {
        ($c:literal $rust:ident: $($field:ident)+) => {
            expect(concat!("sizeof(", $c, ")"), size_of::<ffi::$rust>());
            $(expect(concat!("__builtin_offsetof(", $c, ", ", stringify!($field), ")"), offset_of!(ffi::$rust, $field));)+
        };
    }
    fields!("struct weir_rt_config" Config: plan_file plan plan_bytes flags slice_ns stack_bytes arena_bytes serve join alone);
    fields!("struct weir_rt_swapped" Swapped: represented built kept pause_ns);
    fields!("struct weir_rt_stats" Stats: cpus threads created dispatches yields blocks preemptions deferred expiries handovers
        kicks polls_hit sleeps idle_ns swaps deadline_misses faults taken);
    fields!("struct weir_thread_attr" Attr: kind given stack_bytes value value2);
    fields!("struct weir_work" Work: thread context slice_ns);
    fields!("struct weir_queue" Queue: lock nr head tail);
    fields!("weir_mutex" RawMutex: state queue);
    fields!("weir_cond" RawCond: queue);
    fields!("weir_sem" RawSem: count queue);
    fields!("weir_barrier" RawBarrier: needed arrived generation queue);
    for (name, value) in [
        ("WEIR_PRIORITY", ffi::PRIORITY),
        ("WEIR_DEADLINE", ffi::DEADLINE),
        ("WEIR_WEIGHT", ffi::WEIGHT),
        ("WEIR_GROUP", ffi::GROUP),
        ("WEIR_JOB", ffi::JOB),
        ("WEIR_LATENCY", ffi::LATENCY),
        ("WEIR_NR_ATTRIBUTES", ffi::NR_ATTRIBUTES),
        ("WEIR_RT_OVERSUBSCRIBE", ffi::OVERSUBSCRIBE as usize),
        ("WEIR_RT_PRIVATE", ffi::PRIVATE as usize),
        ("(WEIR_FOREVER == UINT64_MAX)", usize::from(ffi::FOREVER == u64::MAX)),
    ] {
        expect(name, value);
    }
    let dir = std::env::temp_dir().join(format!("weir-threads-layout-{}.c", std::process::id()));
    std::fs::write(&dir, &c).expect("written");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtimes/threads/include");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(compiler)
        .arg("-fsyntax-only")
        .arg("-I")
        .arg(root)
        .arg(&dir)
        .output()
        .expect("a C compiler");
    std::fs::remove_file(&dir).expect("removed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
