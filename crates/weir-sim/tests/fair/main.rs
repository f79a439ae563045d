// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Fair orders: shares by weight, nobody starves, and what sleeping, waking and migrating do to a share.

#[path = "../engine/common.rs"]
#[allow(dead_code)]
mod common;

mod accounts;
mod alone;
mod balance;
mod beside;
mod clamps;
mod decisions;
mod draw;
mod groups;
mod kernel;
mod lag;
mod memory;
mod nested;
mod recording;
mod renumbered;
mod rules;
mod shares;
mod sleep;

use common::{Gantt, plan};
use weir_sim::{Costs, Machine, Outcome, RunConfig, TaskSpec, Workload};

/// Weights of nice -20 to 19.
pub const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];

pub fn weight(nice: i32) -> u64 {
    WEIGHTS[(nice + 20) as usize]
}

/// The same task with a nice value.
pub fn nice(n: i32, spec: TaskSpec) -> TaskSpec {
    TaskSpec { priority: -n, ..spec }
}

/// Topologies of one CPU whose shares follow weights exactly.
pub const EXACT: &[&str] = &["cfs", "eevdf"];

/// Run without costs on `n` equal CPUs until `end`. Long runs: invariants are not checked after every event.
pub fn gantt_unchecked(n: u32, topology: &str, w: &Workload, end: u64) -> (Gantt, Outcome) {
    let mut g = Gantt::default();
    let machine = Machine::smp(n);
    let cfg = RunConfig { duration_ns: Some(end), ..RunConfig::default() };
    let plan = plan(topology, &machine.shape);
    let out = weir_sim::run(&machine, &plan, w, &Costs::zero(), &cfg, &mut g).unwrap();
    (g, out)
}
