// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Embeds what the experiments found, the C files of the experiments that compile some, and the sources of hw/ that a simulated
//! system is built from: so the program works wherever it is installed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("recorded.rs"), recorded(&root)).expect("the build directory is writable");
    fs::write(Path::new(&out).join("hot.rs"), hot(&root)).expect("the build directory is writable");
    fs::write(Path::new(&out).join("lines.rs"), lines(&root)).expect("the build directory is writable");
    fs::write(Path::new(&out).join("soc.rs"), soc(&root)).expect("the build directory is writable");
}

/// The RTL with its drivers, kernels and programs.
fn soc(root: &Path) -> String {
    let hw = root.join("hw").canonicalize().expect("hw is in the repository");
    let mut named = Vec::new();
    for folder in ["rtl", "sw", "sw/freertos", "soc", "soc/kernel", "soc/freertos", "soc/apps"] {
        println!("cargo:rerun-if-changed={}", hw.join(folder).display());
        for entry in fs::read_dir(hw.join(folder)).expect("the folder is there") {
            let path = entry.expect("the folder is readable").path();
            let manifest = path.extension().is_some_and(|e| e == "toml" || e == "lock");
            if path.is_file() && !manifest {
                let file = path.file_name().expect("a file").to_string_lossy();
                named.push((format!("{folder}/{file}"), path));
            }
        }
    }
    named.sort();
    format!("&[\n{}]\n", embedded(&named))
}

/// What the measurements of cache lines and messages are compiled from, without the headers of the core.
fn lines(root: &Path) -> String {
    let root = root.canonicalize().expect("the workspace is one level up");
    let files = [
        "core/port/native/port.c",
        "core/port/native/guard.h",
        "runtimes/multikernel/ump.h",
        "runtimes/multikernel/bulk.h",
        "runtimes/multikernel/noncoherent.h",
        "tests/multikernel/random.h",
        "tests/multikernel/noncoherent.c",
        "experiments/multikernel-e1/pair.h",
        "experiments/multikernel-e1/lines.c",
        "experiments/multikernel-e7/loopback.c",
        "experiments/multikernel-e19/solver.c",
    ];
    let named = files.map(|p| (p.rsplit('/').next().expect("a name").to_string(), root.join(p)));
    format!("/// Files and their texts.\npub const SOURCES: &[(&str, &str)] = &[\n{}];\n", embedded(&named))
}

/// Files as entries of a list of names and texts.
fn embedded(files: &[(String, PathBuf)]) -> String {
    let mut code = String::new();
    for (name, path) in files {
        println!("cargo:rerun-if-changed={}", path.display());
        writeln!(code, "    ({name:?}, include_str!({:?})),", path.display().to_string()).expect("to memory");
    }
    code
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

/// What the measurement of the hot path is compiled from, without the headers: the core with the two components that it
/// uses, the native port and its main function.
fn hot(root: &Path) -> String {
    let root = root.canonicalize().expect("the workspace is one level up");
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
        "core/port/native/host.h",
        "core/port/native/host.c",
        "experiments/swap-pause/hot.c",
    ];
    files.extend(own.map(|p| (p.rsplit('/').next().expect("a name").to_string(), root.join(p))));
    files.sort();
    for folder in ["core/src", "core/kit"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    code += &embedded(&files);
    code + "];\n"
}
