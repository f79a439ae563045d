// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! In place of the commands that a build leaves out (features in Cargo.toml): they are listed, and say where they are.

use std::process::ExitCode;

use crate::fault::{Fault, Result};

/// Whatever the command would understand.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<std::ffi::OsString>,
}

/// There is no such command here.
pub fn run(_: &Args) -> Result<ExitCode> {
    Err(Fault::user(
        "this build leaves the command out, as that of `make demo` does",
        "`make build` builds all of them, target/release/runweir; it says which packages it needs on this system",
    ))
}
