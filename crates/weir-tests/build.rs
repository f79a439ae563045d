// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles the C side of the test of orders with the same port as the core that they link.

use std::path::PathBuf;

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let port = if std::env::var_os("CARGO_FEATURE_STRICT").is_some() { "strict" } else { "native" };
    cc::Build::new()
        .file("native/order_lab.c")
        .include(root.join("core/include"))
        .include(root.join("core/port").join(port))
        .include(root.join("core/src"))
        .flag("-std=gnu11")
        .warnings_into_errors(true)
        .extra_warnings(true)
        .compile("weir_order_lab");
    println!("cargo:rerun-if-changed=native");
    println!("cargo:rerun-if-changed={}", root.join("core").display());
}
