// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Deterministic discrete-event simulation of CPUs around the compiled Runweir components.

// An error carries its source text and place; it is made once a run, so its size does not matter.
#![allow(clippy::result_large_err)]

pub mod costs;
pub mod counters;
pub mod document;
pub mod engine;
pub mod error;
pub mod machine;
pub mod scenario;
pub mod units;
pub mod workload;

pub use costs::Costs;
pub use engine::{Command, Control, CpuOutcome, Notice, Outcome, RunConfig, run};
pub use error::{Error, ErrorKind, Result};
pub use machine::{CpuKind, Distance, Machine, MachineEvent, OperatingPoint};
pub use scenario::{Composer, Proposal, Reconfiguration, Scenario, Verb};
pub use workload::{Criticality, OnMiss, Op, Policy, TaskSpec, Timing, Workload};
