// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The contract of the command line, tested from outside on the built program.

mod advise;
mod analyze;
mod compare;
mod component;
mod examples;
mod explain;
mod files;
mod fuzz;
mod guard;
mod import;
mod lists;
mod live;
mod mcp;
mod record;
mod reproduce;
mod run;
mod scenario;
mod screen;
mod settings;
mod shrink;
mod signals;
mod soc;
mod strict;
mod sweep;
mod threads;
mod topologies;
mod tune;
mod wrong;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A short run that every machine can make.
const RUN: [&str; 7] = ["run", "-t", "decentral", "-m", "smp-2", "-w", "hackbench:groups=1,fds=2,loops=5"];

/// The program, in `dir`, with an environment that does not depend on the tester's.
fn program(dir: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("runweir"));
    command
        .current_dir(dir)
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        // Experiments in simulated hardware take minutes: their recorded figures will do.
        .env("WEIR_PICORV32", "/nonexistent")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// What a command did.
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            status: output.status.code().expect("ended by itself"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

fn runweir_in(dir: &Path, args: &[&str]) -> Ran {
    program(dir).args(args).output().expect("the program starts").into()
}

fn runweir(args: &[&str]) -> Ran {
    runweir_in(temp().path(), args)
}

/// Run a command that must succeed; its stdout.
fn good_in(dir: &Path, args: &[&str]) -> String {
    let ran = runweir_in(dir, args);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    ran.stdout
}

fn good(args: &[&str]) -> String {
    good_in(temp().path(), args)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("not JSON: {e}\n{text}"))
}

/// The example run with more options.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}
