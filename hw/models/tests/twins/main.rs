// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Engine and component take the same random histories and must decide the same, tick by tick: the components of the
//! simulator and the kernel, the model of the engine, and (feature `verilated`, `make hw-test`) the RTL itself.
//!
//! `WEIR_HW_DECISIONS`: how many decisions each comparison is to last; `WEIR_HW_SEED`: where histories begin.

mod component;
mod golden;
mod history;
#[cfg(feature = "verilated")]
mod kernel;
#[cfg(feature = "verilated")]
mod lists;
mod queue;
#[cfg(feature = "verilated")]
mod rtl;
#[cfg(feature = "verilated")]
mod unified;

use component::{Component, Kind};
use history::History;
use weir_hw::engine::Policy;

/// The number of the environment, or what suits the ordinary run.
pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .map_or(otherwise, |v| v.parse().unwrap_or_else(|_| panic!("{name}={v}: not a number")))
}

/// Component and model over many short histories; `distinct`: of jobs of which no two have the same deadline.
fn compare(kind: Kind, policy: Policy, distinct: bool) {
    let decisions = number("WEIR_HW_DECISIONS", 20_000);
    let (first, mut made, mut seed, mut special) = (number("WEIR_HW_SEED", 1), 0, 0, 0);
    while made < decisions {
        let (tasks, cpus) = SIZES[seed as usize % SIZES.len()];
        // Two modes are for one CPU there.
        let cpus = if kind == Kind::EdfVd { 1 } else { cpus };
        let mut history = History::new(first + seed, tasks, cpus, policy);
        if kind == Kind::EdfVd {
            history.with_halved_deadlines();
        } else if distinct {
            history.distinct_deadlines();
        } else {
            history.periodic_only();
        }
        // Until zero laxity, a job without laxity is as urgent as one in a section.
        if matches!(kind, Kind::Laxity(0 | 1)) {
            history.with_sections(true);
        }
        if kind == Kind::Served {
            history.with_budgets();
        }
        let mut component = Component::new(kind, tasks, cpus);
        for _ in 0..400 {
            let tick = history.step();
            if distinct && history.overloaded() {
                break;
            }
            let got = component.tick(&history, &tick);
            // It switches at once.
            history.contexts.clone_from(&got);
            if let Err(difference) = kind.agree(&history, &got, distinct) {
                panic!(
                    "{kind:?}, {tasks} tasks, {cpus} CPUs, seed {}, tick {}: {difference}",
                    first + seed,
                    tick.now
                );
            }
            made += 1;
            special += u64::from(history.is_special());
        }
        seed += 1;
    }
    println!("{kind:?}: {made} decisions in {seed} histories, no difference");
    // What is compared must have happened often.
    assert!(!matches!(kind, Kind::Served | Kind::EdfVd) || special > made / 20, "{special} of {made}");
}

/// Tasks and CPUs of the engines that are built, and some between.
const SIZES: &[(usize, usize)] = &[(8, 2), (5, 3), (16, 1), (3, 2), (24, 4), (64, 8), (12, 8)];

/// Same tasks on the same CPUs at every tick.
#[test]
fn laxity_decides_as_the_engine() {
    compare(Kind::Laxity(0), Policy::Llf, false);
}

#[test]
fn deadlines_decide_as_the_engine() {
    compare(Kind::Laxity(1), Policy::Edf, false);
}

#[test]
fn deadlines_until_zero_laxity_decide_as_the_engine() {
    compare(Kind::Laxity(2), Policy::Edzl, false);
}

/// Same tasks at every tick: what a server withholds waits in both.
#[test]
fn servers_withhold_as_the_engine() {
    compare(Kind::Served, Policy::Edf, true);
}

/// Same tasks at every tick, but for those that were set aside.
#[test]
fn two_modes_decide_as_the_engine() {
    compare(Kind::EdfVd, Policy::Edf, false);
}

/// Same urgencies at every tick: which of several equals runs is a matter of arrival there, of numbers here.
#[test]
fn edf_chooses_deadlines_as_the_engine() {
    compare(Kind::Edf, Policy::Edf, false);
}

/// Same tasks at every tick.
#[test]
fn edf_chooses_as_the_engine() {
    compare(Kind::Edf, Policy::Edf, true);
}

/// Same tasks at every tick, until some job must be late.
#[test]
fn edzl_chooses_as_the_engine() {
    compare(Kind::Edzl, Policy::Edzl, true);
}

/// A comparison that could not fail would be none: another rule of ties is noticed at once.
#[test]
#[should_panic(expected = "engine")]
fn another_rule_is_noticed() {
    let mut history = History::new(1, 8, 2, Policy::Llf);
    history.periodic_only();
    history.engine.keep = false;
    let mut component = Component::new(Kind::Laxity(0), 8, 2);
    for _ in 0..400 {
        let tick = history.step();
        let got = component.tick(&history, &tick);
        Kind::Laxity(0).agree(&history, &got, false).expect("the same decision as the engine");
    }
}

#[cfg(not(feature = "verilated"))]
#[test]
#[ignore = "the RTL is built by `make hw-test` only"]
fn the_rtl_decides_as_the_model() {}
