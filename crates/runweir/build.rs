// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Embeds the catalogue: every file of `topologies/`, `machines/`, `workloads/`, `scenarios/` and `packages/` becomes
//! part of the program, so that an installed `runweir` needs no files beside it; and what the experiments found. So do the
//! C files of the experiment that builds the core twice.

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
    fs::write(Path::new(&out).join("recorded.rs"), recorded(&root)).expect("the build directory is writable");
    fs::write(Path::new(&out).join("hot.rs"), hot(&root)).expect("the build directory is writable");
}

/// The `result.json` of each folder of `experiments/` that has one.
fn recorded(root: &Path) -> String {
    let dir = root.join("experiments");
    println!("cargo:rerun-if-changed={}", dir.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&dir)
        .map(|entries| entries.filter_map(|e| e.ok().map(|e| e.path().join("result.json"))).collect())
        .unwrap_or_default();
    files.retain(|f| f.is_file());
    files.sort();
    let mut code = String::from("const RECORDED: &[&str] = &[\n");
    for file in files {
        let path = fs::canonicalize(&file).expect("the file was just listed");
        writeln!(code, "    include_str!({:?}),", path.display().to_string()).expect("to memory");
    }
    code + "];\n"
}

/// What the measurement of the hot path is compiled from, but for the headers: the core with the two components that it
/// uses, the native port and its main function.
fn hot(root: &Path) -> String {
    let root = root.canonicalize().expect("the workspace is two levels up");
    let mut components = weir_glue::scan(&root).unwrap_or_else(|e| panic!("components/: {e}"));
    components.retain(|c| ["head_queue", "termination"].contains(&c.name.as_str()));
    let unit = weir_glue::unit(&root, &components, weir_glue::Target::Plain).expect("core/src is readable");
    let unit = unit.replace(&format!("{}/", root.display()), "");
    let mut code = format!(
        "/// Files below a folder and their texts.\nconst SOURCES: &[(&str, &str)] = &[\n    (\"unit.c\", {unit:?}),\n"
    );
    let core = weir_glue::framework(&root).expect("core is readable");
    let below = |p: &Path| p.strip_prefix(&root).expect("it lies below").display().to_string();
    let mut files: Vec<(String, PathBuf)> =
        core.iter().chain(components.iter().map(|c| &c.path)).map(|p| (below(p), p.clone())).collect();
    let own = [
        "core/port/native/port.c",
        "core/port/native/guard.h",
        "core/port/native/host.c",
        "experiments/swap-pause/hot.c",
    ];
    files.extend(own.map(|p| (p.rsplit('/').next().expect("a name").to_string(), root.join(p))));
    files.sort();
    for folder in ["core/src", "core/kit"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    for (name, path) in files {
        println!("cargo:rerun-if-changed={}", path.display());
        writeln!(code, "    ({name:?}, include_str!({:?})),", path.display().to_string()).expect("to memory");
    }
    code + "];\n"
}
