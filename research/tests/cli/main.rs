// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The contract of the lab's command line, tested from outside on the built program.

#[path = "../../../crates/runweir/tests/cli/call.rs"]
mod call;
mod reproduce;
mod soc;

use std::path::Path;

use call::{Ran, good, good_in, json, program, runweir, runweir_in, temp};

/// The program.
fn built() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("runweir-lab")
}
