// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Calls of the built program, as a user makes them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program, in `dir`, with an environment that does not depend on the tester's.
pub fn program(dir: &Path) -> Command {
    let mut command = Command::new(super::built());
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

pub fn temp() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// What a command did.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
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

pub fn runweir_in(dir: &Path, args: &[&str]) -> Ran {
    program(dir).args(args).output().expect("the program starts").into()
}

pub fn runweir(args: &[&str]) -> Ran {
    runweir_in(temp().path(), args)
}

/// Run a command that must succeed; its stdout.
pub fn good_in(dir: &Path, args: &[&str]) -> String {
    let ran = runweir_in(dir, args);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    ran.stdout
}

pub fn good(args: &[&str]) -> String {
    good_in(temp().path(), args)
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("not JSON: {e}\n{text}"))
}
