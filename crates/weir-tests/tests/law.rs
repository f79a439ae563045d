// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Incremental equals batch: after any history the out-pipes of every component are what its batch
//! meaning makes of the in-pipes, and what a fresh instance makes of them where that leaves no choice.
//!
//! The graphs are made from the components' descriptors, so a new component is tested without a word here.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_core::{Class, ComponentInfo, MachineShape, PortLabel, catalog};
use weir_tests::history::{Op, World, config, op};
use weir_tests::lab::compile;
use weir_tests::{Lab, machine};

const MACHINE: &str = "smp-4 llc=2";
const MACHINE_ISA: &str = "smp-4 llc=2 accel=2 other=3";

/// `annotate` with all that answers what the component may ask, and some more.
fn annotate(info: &ComponentInfo, more: &[&str]) -> String {
    let mut names: Vec<&str> = more.to_vec();
    for topic in info.asks.iter() {
        // Where several answer, the one that just remembers what was told: it is called like the topic.
        let all = || catalog().components.iter().filter(|c| c.answers.contains(topic));
        let who = all().find(|c| c.name == topic.to_lowercase()).or(all().next());
        names.extend(who.map(|c| c.name.as_str()));
    }
    names.sort();
    names.dedup();
    if names.is_empty() { String::new() } else { format!("annotate {};\n", names.join(", ")) }
}

/// Small graphs around one component; the first must be a legal topology.
fn graphs(info: &ComponentInfo) -> Vec<String> {
    let x = format!("x :: {}", info.name);
    let many_in = info.ins.1 > 1;
    let plain = annotate(info, &["affinity"]);
    let prio = annotate(info, &["affinity", "priority"]);
    let isas = annotate(info, &["affinity", "isa"]);
    match info.class {
        Class::Order | Class::Filter => vec![
            format!("{plain}entry -> {x} -> cpus;"),
            format!("{plain}entry ~> {x} -> cpus;"),
            format!("{plain}entry -> lb :: load_balancer -> each cpu {{ {x} -> cpu }};"),
            format!("{plain}entry -> {x} -> lb :: load_balancer -> each cpu {{ -> cpu }};"),
            format!("{prio}entry -> p :: priority_order -> {x} -> q :: head_queue -> cpus;"),
        ],
        Class::Distribute if info.out_label == PortLabel::Isa => {
            let outs = "x[native] -> cpus in native; x[accel] -> q :: head_queue -> cpus in accel; x[other] -> cpus in other;";
            let entry = if many_in { "entry each cpu" } else { "entry" };
            vec![
                format!("{isas}{entry} -> {x}; {outs}"),
                format!("{isas}annotate priority; entry -> p :: priority_order -> {x}; {outs}"),
                format!("{isas}entry ~> {x}; {outs}"),
            ]
        }
        Class::Distribute => vec![
            format!("{plain}entry -> {x} -> each cpu {{ -> cpu }};"),
            format!("{plain}entry each cpu -> {x} -> each cpu {{ q :: head_queue -> cpu }};"),
            format!("{plain}entry each cpu ~> {x} -> each cpu {{ -> cpu }};"),
            format!("{plain}entry -> {x} -> each llc {{ q :: head_queue -> cpus }};"),
            format!("{plain}entry -> {x} -> each llc {{ y :: {} -> each cpu {{ -> cpu }} }};", info.name),
            format!("{prio}entry -> p :: priority_order -> {x} -> each cpu {{ -> cpu }};"),
        ],
        Class::Merge => vec![
            format!("{plain}entry each cpu -> {x} -> cpus;"),
            format!("{plain}entry each cpu ~> {x} -> cpus;"),
            format!("{prio}each cpu {{ entry -> p :: priority_order }} -> {x} -> cpus;"),
            format!("{plain}entry -> lb :: load_balancer -> each cpu {{ q :: head_queue }} -> {x} -> cpus;"),
        ],
        Class::Annotate | Class::Service if info.ins.1 == 0 => {
            vec![format!("annotate {};\nentry -> q :: head_queue -> cpus;", info.name)]
        }
        Class::Annotate | Class::Service => vec!["entry -> q :: head_queue -> cpus;".into()],
    }
}

fn labs(info: &ComponentInfo) -> Vec<(String, weir_core::Plan, MachineShape)> {
    let words = if info.out_label == PortLabel::Isa { MACHINE_ISA } else { MACHINE };
    let shape = machine::parse(words).expect("a machine");
    let mut out = Vec::new();
    for (i, text) in graphs(info).into_iter().enumerate() {
        match compile("law", &text, &shape) {
            Ok(plan) => out.push((text, plan, shape.clone())),
            Err(e) => assert!(i > 0, "{}: {text}\n{e}", info.name),
        }
    }
    out
}

fn holds(info: &ComponentInfo, history: &[Op]) -> Result<(), String> {
    for (text, plan, shape) in labs(info) {
        let mut world = World::new(Lab::new(plan, shape)?, Vec::new());
        for (i, op) in history.iter().enumerate() {
            world.step(op).map_err(|e| format!("{text}\nstep {i}, {op:?}: {e}"))?;
        }
        world.drain().map_err(|e| format!("{text}\nat the end: {e}"))?;
    }
    Ok(())
}

/// Numbers of the components of a class, so that classes run as tests of their own.
fn law_of(class: &[Class]) -> Result<(), TestCaseError> {
    for info in catalog().components.iter().filter(|c| class.contains(&c.class)) {
        let mut runner = TestRunner::new(config(48));
        runner
            .run(&prop::collection::vec(op(0), 1..80), |history| {
                holds(info, &history).map_err(TestCaseError::fail)
            })
            .unwrap_or_else(|e| panic!("{}: {e}", info.name));
    }
    Ok(())
}

#[test]
fn orders() {
    law_of(&[Class::Order]).expect("panics itself");
}

#[test]
fn filters_and_merges() {
    law_of(&[Class::Filter, Class::Merge]).expect("panics itself");
}

#[test]
fn distributors() {
    law_of(&[Class::Distribute]).expect("panics itself");
}

#[test]
fn annotators_and_services() {
    law_of(&[Class::Annotate, Class::Service]).expect("panics itself");
}

/// The law would be worth little if the graphs it needs were refused by the language.
#[test]
fn most_graphs_are_legal() {
    for info in &catalog().components {
        let legal = labs(info).len();
        let all = graphs(info).len();
        println!("{}: {legal} of {all} graphs", info.name);
        assert!(legal * 2 >= all, "{}: only {legal} of {all} graphs compile", info.name);
    }
}
