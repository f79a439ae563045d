// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the tests share: the hand-written catalogue, machines by name, files of this repository.

#![allow(dead_code)]

#[path = "../../src/testcat.rs"]
pub mod testcat;

use std::path::{Path, PathBuf};

use weir_core::MachineShape;
use weir_lang::{Compiled, Diagnostic, Loader, Source};

/// A machine by the name that test files use.
pub fn machine(name: &str) -> MachineShape {
    match name {
        "accel" => testcat::foreign(4, &[("accel", 2)]),
        "fpga-before" => testcat::foreign(2, &[("alpha", 1), ("beta", 1)]),
        "fpga-after" => testcat::foreign(2, &[("beta", 2)]),
        "fpga-shell" => testcat::foreign(2, &[("alpha", 1), ("beta", 2)]),
        "llcs" => testcat::llcs(4, 4),
        "islands" => testcat::distributed(4),
        _ => {
            let n = name.strip_prefix("smp-").and_then(|n| n.parse().ok()).expect("a known machine");
            MachineShape::flat(n)
        }
    }
}

/// Files beside each other.
pub struct Folder(pub PathBuf);

impl Loader for Folder {
    fn load(&self, _: &str, include: &str) -> Result<Source, String> {
        match std::fs::read_to_string(self.0.join(include)) {
            Ok(text) => Ok(Source { name: include.into(), text }),
            Err(_) => Err("there is no such file".into()),
        }
    }
}

pub fn topologies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies")
}

/// All `.weir` files of a folder, by name.
pub fn weir_files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "weir"))
        .map(|p| {
            let stem = p.file_stem().expect("files have names").to_string_lossy().into_owned();
            (stem, std::fs::read_to_string(&p).expect("UTF-8"))
        })
        .collect();
    files.sort();
    files
}

pub fn compile(name: &str, text: &str, machine: &MachineShape) -> Result<Compiled, Vec<Diagnostic>> {
    let source = Source { name: format!("{name}.weir"), text: text.into() };
    weir_lang::compile(&source, &Folder(topologies()), &testcat::catalog(), machine, &[])
}

/// Findings as text.
pub fn show(findings: &[Diagnostic]) -> String {
    findings.iter().map(|d| format!("{d}\n")).collect::<Vec<_>>().join("\n")
}
