// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How many clocks the engine takes, fitted to cosimulation: `make hw-test` measures every engine that is built and compares.

pub use weir_sim::device::Select;

/// Clocks from a tick to its decision: a constant, some for each task, some for each level of a tree over the tasks.
struct Fit {
    base: u32,
    per_task: u32,
    per_level: u32,
}

/// By selector, in the order of the parameter's values.
const FITS: [Fit; 3] = [
    Fit { base: 6, per_task: 1, per_level: 0 },
    Fit { base: 4, per_task: 0, per_level: 0 },
    Fit { base: 4, per_task: 0, per_level: 1 },
];

/// From a decision to the interrupts that it makes.
pub const TO_INTERRUPT: u32 = 1;

/// From a tick to its decision.
pub const fn to_decision(select: Select, tasks: u32) -> u32 {
    let fit = &FITS[select as usize];
    let levels = (tasks - 1).ilog2() + 1;
    fit.base + fit.per_task * tasks + fit.per_level * levels
}
