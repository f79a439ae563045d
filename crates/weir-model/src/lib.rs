// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The inputs of a run: machine, workload, scenario, costs and counters as data, with the readers of all file formats and one
//! kind of diagnostic. The simulator, the loader of the live scheduler and the virtual machine share it; no code here runs them.

// An error carries its source text and place; it is made once a run, so its size does not matter.
#![allow(clippy::result_large_err)]

pub mod costs;
pub mod counters;
pub mod document;
pub mod error;
pub mod machine;
pub mod rng;
pub mod scenario;
pub mod workload;

pub use costs::Costs;
pub use error::{Error, ErrorKind, Result};
pub use machine::{CpuKind, Distance, HwEngine, HwSelect, Machine, MachineEvent, OperatingPoint};
pub use scenario::{Composer, Proposal, Reconfiguration, Scenario, Verb};
pub use weir_text::quantity as units;
pub use workload::{Criticality, OnMiss, Op, Policy, TaskSpec, Timing, Workload};
