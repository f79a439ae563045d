// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The prototype of source 0 as all its experiments have it: one table of costs, one runtime.
//!
//! Each value of [`Costs::source`] has its place in the source, which `docs/costs.md` gives. What an experiment's own machine or program
//! makes different stands in its file.

use weir_core::Plan;
use weir_model::costs::{CoreCosts, Wakeups};
use weir_model::{Costs, Machine};

use super::lab::{self, Done};

/// The fair class of an unchanged Linux 4.4, a baseline: its placement, and slices that end at ticks.
const LINUX_TOPOLOGY: &str = include_str!("../../../experiments/cobas-8.7/linux.weir");

/// Instructions of each step of Linux's fair scheduler, counted in a guest by `tools/linux-price.sh`.
const LINUX: &str = include_str!("../../../experiments/cobas-8.7/linux.csv");

/// Time of one instruction of theirs: an i7-2600 has 3.4 cycles in a nanosecond, and kernel code some 1.2 instructions in a cycle. [inferred]
const PS_AN_INSTRUCTION: u64 = 250;

/// What a wake-up and the switch that ends with a block cost under `cfs` with the native table, in the mean of a hackbench; and in how many
/// calls of the scheduler they are made.
const NATIVE_NS: u64 = 176;
const CALLS: u64 = 3;

/// In gem5, whose CPUs share no cache (8.5, 8.6, 8.9).
pub fn simulated() -> Costs {
    Costs::source()
}

/// On the i7-2600 of tables 8.6 and B.23 (8.7, 8.8). Its cores share a cache, so Linux has the waker make the call.
pub fn on_hardware() -> Costs {
    Costs { wakeups: Wakeups::Waker, ..Costs::source() }
}

/// Linux's own scheduler on the same machine, which pays nothing for the framework: a baseline's price. Its steps take more instructions
/// than our core's, which is charged to each call: then a wake-up with its switch costs what it does there.
pub fn linux() -> Costs {
    let native = Costs::native();
    let more = (instructions() * PS_AN_INSTRUCTION / 1000).saturating_sub(NATIVE_NS) / CALLS;
    Costs { core: CoreCosts { call: native.core.call + more, ..native.core }, ..native }
}

/// The plan of that baseline.
pub fn linux_plan(machine: &Machine, sets: &[(&str, &str, String)]) -> Done<Plan> {
    lab::plan_of("linux", LINUX_TOPOLOGY, machine, sets)
}

/// Of all steps of a wake-up and its switch.
fn instructions() -> u64 {
    LINUX.lines().skip(1).filter_map(|line| line.rsplit(',').next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_pays_for_its_own_steps() {
        assert_eq!(LINUX.lines().count(), 8, "seven steps and their heads");
        let (linux, native) = (linux(), Costs::native());
        assert!((150..350).contains(&linux.core.call), "{}", linux.core.call);
        assert_eq!(linux.core.update, native.core.update);
    }
}
