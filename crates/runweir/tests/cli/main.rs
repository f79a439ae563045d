// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The contract of the command line, tested from outside on the built program.

mod advise;
mod analyze;
mod ask;
mod call;
mod calls;
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
mod run;
mod scenario;
mod screen;
mod settings;
mod shrink;
mod signals;
mod strict;
mod sweep;
mod threads;
mod topologies;
mod tune;
mod wrong;

use std::path::Path;

use call::{Ran, good, good_in, json, program, runweir, runweir_in, temp};

/// A short run that every machine can make.
const RUN: [&str; 7] = ["run", "-t", "decentral", "-m", "smp-2", "-w", "hackbench:groups=1,fds=2,loops=5"];

/// The program.
fn built() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("runweir")
}

/// The example run with more options.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}
