// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Conservation: whatever happens to a scheduler from the catalogue, no task is lost or run twice, and
//! at the end every task comes to run. Histories include the end of tasks in any state and changes from
//! one topology of the catalogue to another. The law of `law.rs` is checked on the way.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use weir_core::{MachineShape, Plan, catalog};
use weir_lang::{NoIncludes, Set, Source};
use weir_tests::history::{Op, World, config, op};
use weir_tests::lab::{compile, compile_with};
use weir_tests::{Lab, machine, root};

/// Every topology of the catalogue runs on one of these at least.
const MACHINES: [&str; 9] = [
    "smp-1",
    "smp-2",
    "smp-4 core=2 llc=2 offline=3",
    "smp-8 core=2 llc=2 node=4 capacity=4-7:512 offline=2,5",
    "smp-6 accel=4-5",
    "smp-6 alpha=4 beta=5",
    "smp-5 beta=3-4 offline=1",
    "smp-5 alpha=2 beta=3-4 offline=4",
    "smp-4 domain=2",
];

struct Catalogue {
    shape: MachineShape,
    plans: Vec<(String, Plan)>,
}

fn catalogues() -> Vec<Catalogue> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("topologies")).expect("the catalogue is there").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "weir") {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            texts.insert(name, std::fs::read_to_string(&path).expect("readable"));
        }
    }
    MACHINES
        .iter()
        .map(|m| {
            let shape = machine::parse(m).expect("a machine");
            Catalogue { plans: texts.iter().flat_map(|(n, t)| cases(n, t, &shape)).collect(), shape }
        })
        .collect()
}

/// A topology, and where it depends on conditions all of its cases: a history changes between them, as its rules would.
fn cases(name: &str, text: &str, shape: &MachineShape) -> Vec<(String, Plan)> {
    let source = Source { name: format!("{name}.weir"), text: text.into() };
    let Ok(made) = weir_lang::compile(&source, &NoIncludes, catalog(), shape, &[]) else { return Vec::new() };
    let mut all = vec![(name.to_owned(), made.plan)];
    for when in &made.whens {
        for case in (0..when.cases.len()).filter(|c| *c != when.case) {
            let set =
                Set { component: "topology".into(), param: when.param.clone(), value: case.to_string() };
            let plan = compile_with(name, text, shape, &[set])
                .unwrap_or_else(|e| panic!("{name}, case {case}: {e}"));
            all.push((format!("{name}, case {case}"), plan));
        }
    }
    all
}

fn run(c: &Catalogue, first: usize, history: &[Op]) -> Result<u32, String> {
    let (name, plan) = &c.plans[first];
    let plans = c.plans.iter().map(|(_, p)| p.clone()).collect();
    let mut world = World::new(Lab::new(plan.clone(), c.shape.clone())?, plans);
    for (i, op) in history.iter().enumerate() {
        let now = world.lab.plan.name.clone();
        world
            .step(op)
            .map_err(|e| format!("{}, begun with {name}, in {now}: step {i}, {op:?}: {e}", c.shape.name))?;
    }
    let now = world.lab.plan.name.clone();
    world.drain().map_err(|e| format!("{}, begun with {name}, in {now}: at the end: {e}", c.shape.name))?;
    Ok(world.swaps)
}

#[test]
fn every_topology_runs_on_some_machine() {
    let all = catalogues();
    for entry in std::fs::read_dir(root().join("topologies")).expect("the catalogue is there").flatten() {
        let name = entry.path().file_stem().expect("a name").to_string_lossy().into_owned();
        if entry.path().extension().is_some_and(|e| e == "weir") {
            assert!(
                all.iter().any(|c| c.plans.iter().any(|(n, _)| *n == name)),
                "{name} compiles on none of {MACHINES:?}"
            );
        }
    }
}

#[test]
fn each_topology_conserves_tasks() {
    for c in catalogues() {
        for first in 0..c.plans.len() {
            let mut runner = TestRunner::new(config(8));
            runner
                .run(&prop::collection::vec(op(2), 1..70), |history| {
                    run(&c, first, &history).map(|_| ()).map_err(TestCaseError::fail)
                })
                .unwrap_or_else(|e| panic!("{}: {e}", c.plans[first].0));
        }
    }
}

/// Sets of CPUs have a word for each 64 of them: machines whose sets have two, three, 16 and 64 words, the last word full or nearly
/// empty. With each: cases, steps of a history, and how many of the topologies below run on it, since time grows with the CPUs.
const LARGE: [(&str, u32, usize, usize); 5] = [
    ("smp-65 core=2 llc=8 node=32 offline=64", 2, 40, 10),
    ("smp-128 core=2 llc=16 node=64 capacity=64-127:512", 1, 40, 10),
    ("smp-129 llc=43 node=43 offline=63,128", 1, 40, 10),
    ("smp-1000 llc=8 node=50 capacity=500-999:768", 1, 20, 3),
    ("smp-4096 core=2 llc=8 node=64 offline=64-127,4095", 1, 10, 2),
];

/// Distributors, filters and orders that look at sets of CPUs, each in its own way.
const ON_LARGE: [&str; 10] = [
    "worksteal",
    "global_rr",
    "decentral",
    "hierarchical",
    "linux",
    "capacity-aware",
    "partitioned",
    "edf",
    "llf",
    "pd2",
];

#[test]
fn machines_with_more_cpus_than_a_word_has_bits() {
    for (machine, cases, steps, topologies) in LARGE {
        let shape = machine::parse(machine).expect("a machine");
        for name in &ON_LARGE[..topologies] {
            let text =
                std::fs::read_to_string(root().join(format!("topologies/{name}.weir"))).expect("readable");
            let plan = compile(name, &text, &shape).unwrap_or_else(|e| panic!("{name} on {machine}: {e}"));
            let c = Catalogue { plans: vec![((*name).to_owned(), plan)], shape: shape.clone() };
            let mut runner = TestRunner::new(config(cases));
            runner
                .run(&prop::collection::vec(op(1), steps..=steps), |history| {
                    run(&c, 0, &history).map(|_| ()).map_err(TestCaseError::fail)
                })
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

/// One long life: thousands of steps, hundreds of changes of topology, on each machine.
#[test]
fn hundreds_of_swaps_under_load() {
    for c in catalogues() {
        let mut runner = TestRunner::new_with_rng(
            ProptestConfig::default(),
            TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]),
        );
        let history =
            prop::collection::vec(op(24), 1500..1501).new_tree(&mut runner).expect("a history").current();
        let swaps = run(&c, 0, &history).unwrap_or_else(|e| panic!("{e}"));
        println!("{}: {swaps} swaps", c.shape.name);
        assert!(swaps > 200, "{}: only {swaps} swaps", c.shape.name);
    }
}
