// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles `runtimes/linux/weir.bpf.c`, with the core and the components as they are, for the
//! kernel; the object becomes part of the program.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compilers that know arena memory, best first. `WEIR_CLANG` names another one.
const CLANGS: [&str; 6] = ["clang-19", "clang-20", "clang-21", "clang-22", "clang-23", "clang"];
/// The first version that does.
const OLDEST: u32 = 19;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is two levels up");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-env-changed=WEIR_CLANG");
    for dir in ["core", "components", "runtimes/linux"] {
        weir_glue::watch(&root.join(dir));
    }

    let components = weir_glue::scan(&root).unwrap_or_else(|e| panic!("components/: {e}"));
    let unit = weir_glue::unit(&root, &components, weir_glue::Target::Bpf).expect("core/src is readable");
    weir_glue::write_if_changed(&out.join("weir_unit.c"), &unit);
    let entries = weir_glue::kernel_entries(&components);
    weir_glue::write_if_changed(&out.join("entries.rs"), &format!("&{entries:?}"));
    let object = out.join("weir.bpf.o");
    let Some(clang) = clang() else {
        // The crate's own compile_error! says it once more, where it cannot be overlooked.
        println!("cargo:warning=no clang {OLDEST} or newer was found: apt-get install clang-19");
        println!("cargo:rustc-cfg=weir_no_clang");
        println!("cargo:rustc-check-cfg=cfg(weir_no_clang)");
        return;
    };
    println!("cargo:rustc-check-cfg=cfg(weir_no_clang)");
    compile(&clang, &root, &out, &object);

    cc::Build::new()
        .file(root.join("runtimes/linux/layout.c"))
        .include(root.join("core/include"))
        .include(root.join("core/port/native"))
        .include(root.join("runtimes/linux"))
        .flag("-std=gnu11")
        .warnings(true)
        .compile("weir_live_layout");
}

fn compile(clang: &str, root: &Path, out: &Path, object: &Path) {
    // (Before Linux 6.18 no load from an arena may extend a sign.)
    let flags = "-target bpf -mcpu=v4 -mllvm -disable-ldsx -O2 -g -std=gnu11 -ffreestanding -fvisibility=hidden -fno-builtin \
                 -fno-jump-tables -Wall -Wno-unused-function -Wno-unused-parameter \
                 -Wno-duplicate-decl-specifier";
    let mut command = Command::new(clang);
    command.args(flags.split_whitespace());
    // No paths of the building machine in the debug information.
    command.arg(format!("-ffile-prefix-map={}=.", root.display()));
    for dir in ["core/include", "core/port/bpf", "core/src", "runtimes/linux"] {
        command.arg("-I").arg(root.join(dir));
    }
    command.arg("-I").arg(out).arg("-c").arg(root.join("runtimes/linux/weir.bpf.c"));
    let output = command.arg("-o").arg(object).output().unwrap_or_else(|e| panic!("{clang}: {e}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{clang} cannot compile runtimes/linux/weir.bpf.c:\n{text}");
    for line in text.lines().filter(|l| l.contains("warning:")) {
        println!("cargo:warning={line}");
    }
}

/// The first compiler that is new enough.
fn clang() -> Option<String> {
    if let Ok(own) = env::var("WEIR_CLANG") {
        return Some(own);
    }
    CLANGS.iter().map(|c| (*c).to_owned()).find(|c| version(c).is_some_and(|v| v >= OLDEST))
}

/// Major version of a clang.
fn version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("-dumpversion").output().ok()?;
    String::from_utf8_lossy(&output.stdout).split('.').next()?.trim().parse().ok()
}
