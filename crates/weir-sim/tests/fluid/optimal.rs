// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! No deadline is missed at a utilisation of exactly the number of CPUs.

use crate::run::{meets_all, plan};
use crate::sets::{Dice, MS, full};

/// Sets for each policy and number of CPUs; `WEIR_FLUID_SETS=3334` makes it 10,000 in all.
fn sets() -> u64 {
    std::env::var("WEIR_FLUID_SETS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

fn optimal(name: &str, cpus: &[u32]) {
    for &m in cpus {
        let plan = plan(name, m);
        let mut dice = Dice::new(u64::from(m));
        let mut moved = (0, 0, 0);
        for i in 0..sets() {
            let set = full(u64::from(m), &mut dice);
            match meets_all(&plan, m, &set, MS, 2) {
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
    optimal("pd2", &[2, 4, 8]);
}

#[test]
fn er_pd2() {
    optimal("er-pd2", &[2, 4, 8]);
}

#[test]
fn epdf() {
    optimal("epdf", &[1, 2]);
}
