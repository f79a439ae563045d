// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tests of the machine readers and writers.

mod catalogue;
mod files;
mod presets;
mod shared;

use super::Machine;

/// A reader that knows no file.
fn no_files(_: &str) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

fn resolve(spec: &str) -> crate::Result<Machine> {
    Machine::resolve(spec, &no_files, &[])
}
