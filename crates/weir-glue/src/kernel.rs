// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The scheduler for the kernel: `runtimes/linux/weir.bpf.c` with the core and the components, compiled by clang for BPF. The
//! build does this once; `runweir component build --kernel` does it again, with one component more.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, io};

use crate::source::Finding;
use crate::{Component, Target};

/// Compilers that know arena memory, best first. `WEIR_CLANG` names another one.
const CLANGS: [&str; 6] = ["clang-19", "clang-20", "clang-21", "clang-22", "clang-23", "clang"];
/// The first version that does.
pub const OLDEST: u32 = 19;

/// (Before Linux 6.18 no load from an arena may extend a sign.)
const FLAGS: &str = "-target bpf -mcpu=v4 -mllvm -disable-ldsx -O2 -g -std=gnu11 -ffreestanding -fvisibility=hidden -fno-builtin \
                     -fno-jump-tables -Wall -Wno-unused-function -Wno-unused-parameter \
                     -Wno-duplicate-decl-specifier";

/// Folders with headers.
const INCLUDES: [&str; 4] = ["core/include", "core/port/bpf", "core/src", "runtimes/linux"];
/// Folders that the compilation reads, with the endings of the files that count.
const FOLDERS: [(&str, &[&str]); 6] = [
    ("core/include", &["h"]),
    ("core/port/bpf", &["h"]),
    ("core/src", &["c", "h"]),
    ("core/kit", &["c", "h"]),
    ("runtimes/linux", &["c", "h"]),
    ("components", &["c", "rs"]),
];

/// The first compiler that is new enough.
pub fn clang() -> Option<String> {
    if let Ok(own) = env::var("WEIR_CLANG") {
        return Some(own);
    }
    CLANGS.iter().map(|c| (*c).to_owned()).find(|c| version(c).is_some_and(|v| v >= OLDEST))
}

/// Major version of a clang.
pub fn version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("-dumpversion").output().ok()?;
    String::from_utf8_lossy(&output.stdout).split('.').next()?.trim().parse().ok()
}

/// Compile the scheduler of the tree below `root`, with the generated unit in `folder`.
///
/// # Errors
/// There is no such compiler.
pub fn compile(clang: &str, root: &Path, folder: &Path, object: &Path) -> io::Result<Output> {
    compile_file(clang, root, folder, &root.join("runtimes/linux/weir.bpf.c"), object)
}

/// Compile the C file `source` as the scheduler is compiled.
///
/// # Errors
/// There is no such compiler.
pub fn compile_file(
    clang: &str,
    root: &Path,
    folder: &Path,
    source: &Path,
    object: &Path,
) -> io::Result<Output> {
    let mut command = Command::new(clang);
    command.env("LC_ALL", "C").args(FLAGS.split_whitespace());
    // No paths of the building machine in the debug information.
    command.arg(format!("-ffile-prefix-map={}=.", root.display()));
    for dir in INCLUDES {
        command.arg("-I").arg(root.join(dir));
    }
    command.arg("-I").arg(folder).arg("-c").arg(source).arg("-o").arg(object).output()
}

/// The files that a compilation reads: paths below `root`, sorted.
///
/// # Errors
/// A folder cannot be read.
pub fn sources(root: &Path) -> io::Result<Vec<String>> {
    fn collect(root: &Path, folder: &Path, endings: &[&str], found: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(root.join(folder))? {
            let path = folder.join(entry?.file_name());
            if root.join(&path).is_dir() {
                collect(root, &path, endings, found)?;
            } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| endings.contains(&e)) {
                found.push(path.display().to_string());
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    for (folder, endings) in FOLDERS {
        collect(root, Path::new(folder), endings, &mut found)?;
    }
    found.sort();
    Ok(found)
}

/// What came of compiling the scheduler with a component of the user's.
#[derive(Debug, Default)]
pub struct Built {
    /// The compiler's errors at their places in the user's file.
    pub findings: Vec<Finding>,
    pub said: String,
    pub ok: bool,
    pub object: PathBuf,
    /// A file with a line for each function of the component that the kernel side calls.
    pub entries: PathBuf,
}

/// Compile the scheduler of `sources` (paths and texts), with the component in the file `source` as its last class, in `folder`.
///
/// # Errors
/// A file cannot be read or written, or there is no such compiler.
pub fn build(clang: &str, sources: &[(String, String)], source: &Path, folder: &Path) -> io::Result<Built> {
    let tree = folder.join("tree");
    for (path, text) in sources {
        let file = tree.join(path);
        fs::create_dir_all(file.parent().expect("it has the tree"))?;
        fs::write(file, text)?;
    }
    let own: Component = crate::single(source)?;
    let text = fs::read_to_string(source)?;
    let mut components = crate::scan(&tree)?;
    components.push(own.clone());
    fs::write(folder.join("weir_unit.c"), crate::unit(&tree, &components, Target::Bpf)?)?;
    let (object, entries) = (folder.join("weir.bpf.o"), folder.join("entries.txt"));
    let output = compile(clang, &tree, folder, &object)?;
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_string();
    let lines: String = crate::kernel_entries(std::slice::from_ref(&own))?
        .iter()
        .map(|(c, f)| format!("{c} {f}\n"))
        .collect();
    fs::write(&entries, lines)?;
    let findings = crate::plugin::findings(&own, &text, &said);
    Ok(Built { findings, said, ok: output.status.success(), object, entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_is_all_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let all = sources(&root).expect("readable");
        for path in ["runtimes/linux/weir.bpf.c", "core/port/bpf/weir/port.h", "components/order/fifo.c"] {
            assert!(all.iter().any(|p| p == path), "{path}");
        }
        assert!(!all.iter().any(|p| p.contains("port/native")));
    }
}
