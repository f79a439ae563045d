// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tests of the cost table: calibration, reading, diagnostics.

use super::*;

#[test]
fn the_default_fits_the_source() {
    let c = Costs::default();
    // 8.6: one more stage is an update with one change, an addition, and the locks of two pipes.
    let stage = c.core.update + c.core.change + c.core.pipe_add + 2 * c.lock_uncontended;
    assert_eq!(stage, 214);
    // 8.5: admission through `burn` and a balancer that looks at every CPU: 0.83 us + 0.092 us per CPU
    // fits the measured 2.276, 3.740, 6.658, 12.562 and 24.195 us within a twentieth.
    for (cpus, measured) in [(16, 2_276), (32, 3_740), (64, 6_658), (128, 12_562), (254, 24_195)] {
        let entry = c.core.pipe_add + c.lock_uncontended;
        let admit = c.core.call + entry + 2 * stage + c.core.request + cpus * c.core.scan;
        let off = admit.abs_diff(measured);
        assert!(off * 20 < measured, "{cpus} CPUs: {admit} ns against {measured} ns");
    }
    // 8.5, 16 CPUs: dispatch takes the task out of three pipes in 0.724 us.
    let dispatch =
        c.core.call + 3 * (c.core.pipe_remove + c.lock_uncontended) + 2 * (c.core.update + c.core.change);
    assert!(dispatch.abs_diff(724) * 20 < 724, "{dispatch}");
}

#[test]
fn operations_are_charged_by_kind_and_steps() {
    let c = Costs::default();
    let op = |kind, n| c.prices().of(&OpRecord { kind, object: 0, n });
    assert_eq!(op(OpKind::Lock, 0) + op(OpKind::Unlock, 0), c.lock_uncontended);
    assert_eq!(op(OpKind::Link, 10), c.core.pipe_add + 10 * c.core.key_step);
    assert_eq!(op(OpKind::Unlink, 3), c.core.pipe_remove + 3 * c.core.key_step);
    assert_eq!(op(OpKind::Post, 0), c.lock_uncontended);
    assert_eq!(op(OpKind::Scan, 64), 64 * c.core.scan);
    // Source 0, 8.5: 500, 1000 and 2000 iterations take 1.25, 2.5 and 5 us.
    assert_eq!([500, 1_000, 2_000].map(|n| op(OpKind::Burn, n)), [1_250, 2_500, 5_000]);
    // The longest that a file may ask for stays in range.
    let dear = Costs { core: CoreCosts { scan: MAX_OP_NS, ..c.core }, ..c };
    assert!(dear.prices().of(&OpRecord { kind: OpKind::Scan, object: 0, n: u32::MAX }) > 0);
    let z = Costs::zero();
    assert_eq!(z.prices().of(&OpRecord { kind: OpKind::Link, object: 0, n: 9 }), 0);
}

/// A step costs what a stage does whose pipes link the task, or is charged alone.
#[test]
fn stages_are_charged_as_linked_or_as_carried() {
    let c = Costs::default();
    let linked = c.prices();
    let step = |what: u32, pipe: u32| OpRecord { kind: OpKind::Step, object: 0, n: what | (pipe + 1) << 8 };
    let (arrived, picked) = (step(0, 3), step(1, 3));
    let stage = c.core.update + c.core.change + c.core.pipe_add + 2 * c.lock_uncontended;
    assert_eq!((linked.of(&arrived), linked.of(&picked)), (stage, c.core.update + c.core.change));
    assert_eq!((linked.lock_of(&arrived), linked.lock_of(&picked)), (Some(3), None));
    assert_eq!(linked.leaving(2), 2 * (c.core.pipe_remove + c.lock_uncontended));

    let carried = Costs { stages: Stages::Carried, ..c }.prices();
    assert_eq!((carried.of(&arrived), carried.of(&picked)), (c.core.step, c.core.step));
    assert_eq!((carried.lock_of(&arrived), carried.leaving(2)), (None, 0));
}

/// Chained: the way back costs as much as the way there, and there is the last component.
#[test]
fn the_prototype_of_source_0_is_charged_both_ways() {
    let c = Costs::source();
    let prices = c.prices();
    let step = |what: u32| OpRecord { kind: OpKind::Step, object: 0, n: what | 4 << 8 };
    assert_eq!((prices.of(&step(0)), prices.of(&step(1))), (214, 0));
    assert_eq!((prices.lock_of(&step(0)), prices.undoing(), prices.ending()), (Some(3), 214, 84));
    let again = Costs::from_toml("c.toml", &c.to_toml());
    assert_eq!(again, Ok(c));
    // What one admission costs is that of the default table.
    assert_eq!(c.core.call + prices.ending(), Costs::default().core.call);
    assert_eq!(Costs::from_toml("c.toml", "wakeups = \"last\"").map(|c| c.wakeups), Ok(Wakeups::Last));
    let fault = Costs::from_toml("c.toml", "wakeups = \"lost\"").unwrap_err().to_string();
    assert!(fault.contains("lost") && fault.contains("last"), "{fault}");
}

#[test]
fn a_file_says_how_stages_are_charged() {
    let file = |text| Costs::from_toml("c.toml", text).map(|c| (c.stages, c.core.call));
    assert_eq!(file("stages = \"carried\""), Ok((Stages::Carried, 230)));
    assert_eq!(file("base = \"native\""), Ok((Stages::Carried, Costs::native().core.call)));
    assert_eq!(file("base = \"native\"\nstages = \"linked\"").map(|c| c.0), Ok(Stages::Linked));
    let fault = file("stages = \"carry\"").unwrap_err().to_string();
    assert!(fault.contains("carry") && fault.contains("carried"), "{fault}");
}

#[test]
fn zero_is_free_but_keeps_what_tasks_do() {
    let z = Costs::zero();
    assert!(z.is_zero() && !Costs::default().is_zero());
    assert_eq!(
        (z.slice_default, z.tick, z.core, z.migration),
        (4_000_000, 0, CoreCosts::default(), ByDistance::default())
    );
    assert_eq!(z.io(500_000), Costs::default().io(500_000));
}

#[test]
fn nearer_is_never_dearer() {
    let c = Costs::default();
    for by in [c.migration, c.wakeup_ipi, c.lock_handover] {
        let order = [
            Distance::Same,
            Distance::Sibling,
            Distance::L2,
            Distance::Llc,
            Distance::Node,
            Distance::Remote(20),
            Distance::Remote(40),
            Distance::Domain(255),
        ];
        let costs: Vec<u64> = order.iter().map(|d| by.at(*d)).collect();
        assert!(costs.is_sorted(), "{costs:?}");
        assert_eq!(by.at(Distance::Remote(40)), 2 * by.at(Distance::Remote(20)));
    }
}

#[test]
fn transfers_take_latency_and_bandwidth() {
    let c = Costs { io_latency: 1_000, io_bandwidth: 1_000_000_000, memory_per_kib: 100, ..Costs::default() };
    assert_eq!(c.io(5_000), 6_000);
    assert_eq!(Costs { io_bandwidth: 0, ..c }.io(u64::MAX), 1_000);
    assert_eq!(c.memory(10 * 1024), 1_000);
    assert_eq!(Costs { memory_per_kib: u64::MAX, ..c }.memory(u64::MAX), u64::MAX);
}

#[test]
fn partial_files_change_single_values() {
    let c = Costs::from_toml("c.toml", "context_switch = \"2.5us\"\n[migration]\nllc = \"1us\"\n")
        .expect("it is valid");
    let d = Costs::default();
    assert_eq!(c, Costs { context_switch: 2_500, migration: ByDistance { llc: 1_000, ..d.migration }, ..d });
    let c = Costs::from_toml("c.toml", "base = \"zero\"\ntick = \"1us\"\n").expect("it is valid");
    assert_eq!(c, Costs { tick: 1_000, ..Costs::zero() });
}

#[test]
fn writes_what_it_reads() {
    for c in [Costs::default(), Costs::zero()] {
        assert_eq!(Costs::from_toml("c.toml", &c.to_toml()), Ok(c), "{}", c.to_toml());
    }
}

#[test]
fn resolves_names_and_files() {
    let read = |path: &str| match path {
        "c.toml" => Ok(b"tick = \"3us\"".to_vec()),
        "latin1.toml" => Ok(vec![b'#', 0xe4]),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    assert_eq!(Costs::resolve("zero", &read), Ok(Costs::zero()));
    assert_eq!(Costs::resolve("default", &read), Ok(Costs::default()));
    assert_eq!(Costs::resolve("c.toml", &read).expect("it is valid").tick, 3_000);
    let wrong: Vec<String> = ["zeor", "cheap", "gone.toml", "latin1.toml"]
        .iter()
        .map(|spec| format!("{spec}\n{}", Costs::resolve(spec, &read).expect_err("it is wrong")))
        .collect();
    insta::assert_snapshot!(wrong.join("\n\n"));
}
