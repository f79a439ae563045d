// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Commands of the research wing: `runweir reproduce …` is `runweir-lab reproduce …`, where that program is installed.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::ValueEnum as _;

use crate::args::Common;
use crate::fault::{Fault, Result};
use crate::output::Colour;

/// The program that has them.
const PROGRAM: &str = "runweir-lab";

/// Whatever the command understands, `--help` included.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Options and arguments of the command: see `runweir-lab COMMAND --help`
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Become that program; this returns only if it cannot be started.
pub fn run(command: &str, common: &Common, args: &Args) -> Result<ExitCode> {
    let mut program = Command::new(place());
    for file in &common.load {
        program.arg("--load").arg(file);
    }
    if common.allow_code {
        program.arg("--allow-code");
    }
    if common.color != Colour::Auto {
        let word = common.color.to_possible_value().expect("none is hidden");
        program.arg("--color").arg(word.get_name());
    }
    let error = program.arg(command).args(&args.rest).exec();
    Err(Fault::system(
        format!("`{command}` is a command of {PROGRAM}, which does not start: {error}"),
        "`make build` builds both from the sources; put it beside runweir or into PATH",
    ))
}

/// Beside this program, else by `PATH`.
fn place() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(PROGRAM)));
    beside.filter(|p| p.is_file()).unwrap_or_else(|| PROGRAM.into())
}
