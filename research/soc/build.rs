// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The sources of hw/ that a system is built from become part of the program, so that it works wherever it is installed.

use std::path::Path;
use std::{env, fs};

fn main() {
    let hw = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../hw");
    let hw = hw.canonicalize().expect("hw is in the repository");
    let mut list = String::from("&[\n");
    for folder in ["rtl", "sw", "soc", "soc/kernel", "soc/apps"] {
        let dir = hw.join(folder);
        println!("cargo::rerun-if-changed={}", dir.display());
        let mut files: Vec<_> = fs::read_dir(&dir)
            .expect("the folder is there")
            .map(|e| e.expect("the folder is readable").path())
            .filter(|p| p.is_file())
            .collect();
        files.sort();
        for file in files {
            println!("cargo::rerun-if-changed={}", file.display());
            let name = file.file_name().expect("a file").to_string_lossy();
            list.push_str(&format!("    ({:?}, include_str!({:?})),\n", format!("{folder}/{name}"), file));
        }
    }
    list.push_str("]\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("sources.rs");
    fs::write(out, list).expect("OUT_DIR is writable");
}
