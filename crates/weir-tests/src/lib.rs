// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The tests of components and topologies. What they share with `runweir component test` is in `weir-testbench`.

pub mod plugin;

pub use weir_testbench::{Lab, TARGET, history, lab, law, machine, trial, wtest};

use std::path::PathBuf;

/// Root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
