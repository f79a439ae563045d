// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Builds `libweir_threads.a` with the library's own script.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let variable = |name| env::var(name).unwrap_or_default();
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is two levels up");
    let out = PathBuf::from(variable("OUT_DIR"));
    let components = weir_glue::scan(&root).unwrap_or_else(|e| panic!("components/: {e}"));
    let unit = weir_glue::unit(&root, &components, weir_glue::Target::Plain).expect("core/src is readable");
    let file = out.join("weir_unit.c");
    weir_glue::write_if_changed(&file, &unit);
    // Without optimisation the build is for tests, which wait for it more often than they run it.
    let level = if variable("OPT_LEVEL") == "0" { "1" } else { "3" };
    let done = Command::new(root.join("runtimes/threads/build.sh"))
        .arg(&file)
        .arg(&out)
        .env("OPT", level)
        .status()
        .expect("runtimes/threads/build.sh runs");
    assert!(done.success(), "runtimes/threads/build.sh failed");
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=weir_threads");
    for dir in ["core", "components", "runtimes/threads", "runtimes/multikernel"] {
        weir_glue::watch(&root.join(dir));
    }
}
