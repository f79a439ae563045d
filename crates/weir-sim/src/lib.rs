// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Deterministic discrete-event simulation of CPUs around the compiled Runweir components.

// An error carries its source text and place; it is made once a run, so its size does not matter.
#![allow(clippy::result_large_err)]

pub mod engine;

pub use engine::device;
pub use engine::{
    CallPath, Command, Control, CpuOutcome, GuestOutcome, Inside, Notice, Outcome, RunConfig, run,
};
// What a run is made of, so that a program that only simulates needs one crate.
pub use weir_model::workload::{GuestSpec, Inform};
pub use weir_model::{
    Composer, Costs, CpuKind, Criticality, Distance, Error, ErrorKind, Machine, MachineEvent, OnMiss, Op,
    OperatingPoint, Policy, Proposal, Reconfiguration, Result, Scenario, TaskSpec, Timing, Verb, Workload,
};
