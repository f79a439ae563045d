// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! No deadline is missed at a utilisation of exactly the number of CPUs.

use crate::run::{meets_all, plan};
use crate::sets::{Dice, MS, full};

/// Sets for each policy and number of CPUs; `WEIR_FLUID_SETS=3334` makes it 10,000 in all.
fn sets() -> u64 {
    std::env::var("WEIR_FLUID_SETS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

/// What sets are tried: offsets, and the length of their unit of time.
struct Kind {
    offsets: bool,
    unit_ns: u64,
}

/// All tasks begin at once, times in whole milliseconds.
const PLAIN: Kind = Kind { offsets: false, unit_ns: MS };
/// Tasks begin at different times, so that jobs come that no component expects, in units of about 7 us.
const ODD: Kind = Kind { offsets: true, unit_ns: 6_997 };

fn optimal(name: &str, cpus: &[u32], kind: Kind) {
    for &m in cpus {
        let plan = plan(name, m);
        let mut dice = Dice::new(u64::from(m));
        let mut moved = (0, 0, 0);
        for i in 0..sets() {
            let mut set = full(u64::from(m), &mut dice);
            if kind.offsets {
                for t in &mut set.tasks {
                    t.offset = dice.below(t.period);
                }
            }
            match meets_all(&plan, m, &set, kind.unit_ns, 2) {
                Ok(out) => {
                    moved.0 += out.preemptions;
                    moved.1 += out.migrations;
                    moved.2 += out.jobs;
                }
                Err(e) => panic!("{name} on {m} CPUs, set {i}: {e}"),
            }
        }
        println!(
            "{name} on {m}: {} sets, {} jobs, {} preemptions, {} migrations",
            sets(),
            moved.2,
            moved.0,
            moved.1
        );
    }
}

#[test]
fn pd2() {
    optimal("pd2", &[2, 4, 8], PLAIN);
}

#[test]
fn er_pd2() {
    optimal("er-pd2", &[2, 4, 8], PLAIN);
}

#[test]
fn epdf() {
    optimal("epdf", &[1, 2], PLAIN);
}

/// On one CPU, where all times are multiples of the tick.
#[test]
fn least_laxity() {
    optimal("llf", &[1], PLAIN);
    optimal("llf-tick", &[1], PLAIN);
    optimal("mllf", &[1], PLAIN);
}

#[test]
fn dp_wrap() {
    optimal("dp-wrap", &[2, 4, 8], PLAIN);
}

#[test]
fn llref() {
    optimal("llref", &[2, 4, 8], PLAIN);
}

#[test]
fn lre_tl() {
    optimal("lre-tl", &[2, 4, 8], PLAIN);
}

#[test]
fn dp_wrap_with_offsets() {
    optimal("dp-wrap", &[2, 4, 8], ODD);
}

#[test]
fn llref_with_offsets() {
    optimal("llref", &[2, 4, 8], ODD);
}

#[test]
fn lre_tl_with_offsets() {
    optimal("lre-tl", &[2, 4, 8], ODD);
}

#[test]
fn reduction_to_uniprocessors() {
    optimal("run", &[2, 4, 8], PLAIN);
}

#[test]
fn u_edf() {
    optimal("u-edf", &[2, 4, 8], PLAIN);
}

#[test]
fn u_edf_with_offsets() {
    optimal("u-edf", &[2, 4, 8], ODD);
}
