// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Says which commit a release is built from, for `runweir --version`. Other builds do not ask: they would be built anew with each commit.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=RUNWEIR_COMMIT");
    let release = env::var("PROFILE").is_ok_and(|p| p == "release");
    let commit = env::var("RUNWEIR_COMMIT").ok().or_else(|| release.then(asked).flatten());
    println!("cargo:rustc-env=RUNWEIR_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// By git, if the sources are a working copy: the commit, and its date.
fn asked() -> Option<String> {
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
    let words = ["log", "-1", "--format=%h of %cs", "--abbrev=12"];
    let out = Command::new("git").args(words).output().ok()?;
    let said = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (out.status.success() && !said.is_empty()).then_some(said)
}
