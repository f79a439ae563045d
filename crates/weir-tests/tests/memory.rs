// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Memory of a task depends neither on the machine nor on the depth of the graph (docs/decisions/0190).

use weir_core::{Config, MachineShape, Sched, catalog};
use weir_lang::{NoIncludes, Source};
use weir_tests::root;

/// Bytes per task of a catalogue topology on `n` equal CPUs.
fn bytes_per_task(topology: &str, n: u32) -> usize {
    let file = root().join(format!("topologies/{topology}.weir"));
    let text = std::fs::read_to_string(file).expect("the catalogue is there");
    let source = Source { name: topology.into(), text };
    let compiled = weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(n), &[])
        .unwrap_or_else(|d| panic!("{}", d[0]));
    let config = Config { nr_cpus: n, arena_bytes: 1 << 30, checks: false, oplog: false, seed: 1 };
    let mut s = Sched::new(&config).expect("1 GiB of address space");
    s.load(&compiled.plan).expect("a checked plan");
    s.bytes_per_task()
}

#[test]
fn a_task_costs_equal_memory_on_any_machine() {
    for topology in ["decentral", "worksteal", "global_rr"] {
        let bytes = [8, 256, 4096].map(|n| bytes_per_task(topology, n));
        println!("{topology}: {bytes:?} bytes per task on 8, 256 and 4,096 CPUs");
        assert!(bytes.iter().all(|b| *b == bytes[0] && *b <= 200), "{topology}: {bytes:?}");
    }
}

#[test]
fn a_stage_costs_no_memory() {
    let bytes: Vec<usize> = (1..=6).map(|n| bytes_per_task(&format!("chain{n}"), 1)).collect();
    assert!(bytes.iter().all(|b| *b == bytes[0]), "{bytes:?}: a task is linked once");
}

/// A block of task records takes several allocations. Where a later one fails, the earlier ones used to stay allocated, once for
/// each task that did not come into being.
#[test]
fn a_task_that_finds_no_memory_leaves_none_behind() {
    let text =
        "annotate affinity, weight; entry -> load_balancer -> each cpu { head_queue -> cpu };".to_owned();
    let source = Source { name: "small".into(), text };
    let compiled = weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(2), &[])
        .unwrap_or_else(|d| panic!("{}", d[0]));
    let mut failures = 0;
    for kib in (64..1024).step_by(16) {
        let config = Config { nr_cpus: 2, arena_bytes: kib << 10, checks: false, oplog: false, seed: 1 };
        let Ok(mut s) = Sched::new(&config) else { continue };
        if s.load(&compiled.plan).is_err() {
            continue;
        }
        while s.task_new(0, 0).is_ok() {}
        let before = s.memory_used();
        for _ in 0..10 {
            assert!(s.task_new(0, 0).is_err(), "the arena of {kib} KiB is full");
            assert_eq!(
                s.memory_used(),
                before,
                "an attempt in an arena of {kib} KiB leaves nothing allocated"
            );
        }
        failures += 1;
    }
    assert!(failures > 20, "{failures} sizes of the arena were large enough for the graph");
}
