// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Inputs of fair policies beside nice values: weights, turns, groups with weights and limits, clamps, nodes of memory.

use std::collections::BTreeMap;

use weir_core::Clamps;

/// Of a workload; what is not said here is as the policy has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fairness {
    /// By index of the task.
    pub tasks: BTreeMap<u32, FairTask>,
    /// Group `i` has the number `i + 1`; parents come before their children.
    pub groups: Vec<FairGroup>,
}

/// Of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FairTask {
    /// Load weight, 1024 at nice 0, instead of that of the nice value.
    pub weight: Option<u32>,
    /// For how long it wants to run at a time, ns.
    pub slice_ns: Option<u64>,
    /// Number of its group, 0: none.
    pub group: u32,
    /// What it counts as using of a CPU.
    pub clamps: Clamps,
    pub memory: Option<Memory>,
}

/// Where the memory of a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// NUMA node.
    pub node: u32,
    /// Part of its time that it waits for memory where that is local, in percent.
    pub bound_pct: u32,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairGroup {
    pub name: String,
    /// As of a task, 1024 at nice 0.
    pub weight: u32,
    /// Number of the group that it is in, 0: none.
    pub parent: u32,
    /// CPU time in a period, ns; 0: no limit.
    pub quota_ns: u64,
    /// What it may use of what it left in earlier periods, ns.
    pub burst_ns: u64,
    pub period_ns: u64,
    /// Those of its members are within these.
    pub clamps: Clamps,
}

impl FairGroup {
    /// Of a group of which nothing else is said: as of a task of nice 0, and of a control group of weight 100.
    pub const WEIGHT: u32 = 1024;
    /// Of a group that runs when nobody else would, as of a task of SCHED_IDLE.
    pub const IDLE: u32 = 3;
    /// Period of a limit that names none, ns.
    pub const PERIOD_NS: u64 = 100_000_000;

    /// A group below the root that competes like a task of nice 0, without a limit.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            weight: Self::WEIGHT,
            parent: 0,
            quota_ns: 0,
            burst_ns: 0,
            period_ns: Self::PERIOD_NS,
            clamps: Clamps::default(),
        }
    }
}
