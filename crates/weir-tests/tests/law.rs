// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Incremental equals batch: after any history the out-pipes of every component are what its batch
//! meaning makes of the in-pipes, and what a fresh instance makes of them where that leaves no choice.
//!
//! The graphs are made from the components' descriptors, so a new component is tested without a word here.

use weir_core::{Class, catalog};
use weir_tests::trial::{self, Effort};

/// The components of a class, so that classes run as tests of their own.
fn law_of(class: &[Class]) {
    let mut broken = Vec::new();
    for info in catalog().components.iter().filter(|c| class.contains(&c.class)) {
        let effort = Effort { cpus: 4, cases: 48, steps: 80, seed: None };
        broken.extend(trial::law(info, effort).err().map(|e| format!("{}: {e}", info.name)));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}

#[test]
fn orders() {
    law_of(&[Class::Order]);
}

#[test]
fn filters_and_merges() {
    law_of(&[Class::Filter, Class::Merge]);
}

#[test]
fn distributors() {
    law_of(&[Class::Distribute]);
}

#[test]
fn annotators_and_services() {
    law_of(&[Class::Annotate, Class::Service]);
}

/// The law would be worth little if the graphs it needs were refused by the language.
#[test]
fn most_graphs_are_legal() {
    for info in &catalog().components {
        let legal = trial::graphs(info, 4).unwrap_or_else(|e| panic!("{e}")).len();
        let all = trial::texts(info).len();
        println!("{}: {legal} of {all} graphs", info.name);
        assert!(legal * 2 >= all, "{}: only {legal} of {all} graphs compile", info.name);
    }
}
