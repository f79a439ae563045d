// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Embeds the catalogue: every file of `topologies/`, `machines/`, `workloads/`, `scenarios/` and `packages/` becomes
//! part of the program, so that an installed `runweir` needs no files beside it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folder below the repository root, name of the generated table, extensions that count.
const KINDS: [(&str, &str, &[&str]); 5] = [
    ("topologies", "TOPOLOGIES", &["weir"]),
    ("machines", "MACHINES", &["xml", "toml"]),
    ("workloads", "WORKLOADS", &["json", "xml", "toml"]),
    ("scenarios", "SCENARIOS", &["toml"]),
    ("packages", "PACKAGES", &["weir"]),
];

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut code = String::new();
    for (folder, table, extensions) in KINDS {
        let dir = root.join(folder);
        println!("cargo:rerun-if-changed={}", dir.display());
        let mut files: Vec<PathBuf> = fs::read_dir(&dir)
            .map(|entries| entries.filter_map(|e| e.ok().map(|e| e.path())).collect())
            .unwrap_or_default();
        files.retain(|f| {
            f.is_file() && f.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e))
        });
        files.sort();
        writeln!(code, "/// The files of `{folder}/`, by name.\npub const {table}: &[Entry] = &[")
            .expect("to memory");
        for file in files {
            println!("cargo:rerun-if-changed={}", file.display());
            let path = fs::canonicalize(&file).expect("the file was just listed");
            let name = file.file_stem().and_then(|s| s.to_str()).expect("catalogue names are ASCII");
            let file_name = file.file_name().and_then(|s| s.to_str()).expect("catalogue names are ASCII");
            writeln!(
                code,
                "    Entry {{ name: {name:?}, file: {:?}, text: include_str!({:?}) }},",
                format!("catalogue:/{folder}/{file_name}"),
                path.display().to_string(),
            )
            .expect("to memory");
        }
        code.push_str("];\n\n");
    }
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("catalogue.rs"), code).expect("the build directory is writable");
}
