// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles `runtimes/linux/weir.bpf.c`, with the core and the components as they are, for the
//! kernel; the object becomes part of the program.

use std::env;
use std::path::{Path, PathBuf};

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
    weir_glue::write_if_changed(&out.join("sources.rs"), &sources(&root));
    let object = out.join("weir.bpf.o");
    let Some(clang) = weir_glue::kernel::clang() else {
        // The crate's own compile_error! says it once more, where it cannot be overlooked.
        println!(
            "cargo:warning=no clang {} or newer was found: apt-get install clang-19",
            weir_glue::kernel::OLDEST
        );
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
    let output =
        weir_glue::kernel::compile(clang, root, out, object).unwrap_or_else(|e| panic!("{clang}: {e}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{clang} cannot compile runtimes/linux/weir.bpf.c:\n{text}");
    for line in text.lines().filter(|l| l.contains("warning:")) {
        println!("cargo:warning={line}");
    }
}

/// The texts that the compilation read, so that an installed program can do it again with one component more.
fn sources(root: &Path) -> String {
    let all = weir_glue::kernel::sources(root).unwrap_or_else(|e| panic!("the sources: {e}"));
    let mut text = String::from("&[\n");
    for path in all {
        text.push_str(&format!(
            "    ({path:?}, include_str!({:?})),\n",
            root.join(&path).display().to_string()
        ));
    }
    text + "]\n"
}
