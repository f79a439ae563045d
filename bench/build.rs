// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles the yardsticks that are written in C, with the flags of the core.

fn main() {
    cc::Build::new()
        .files(["decentral", "edf", "eevdf"].map(|f| format!("hand/{f}.c")))
        .include("../core/include")
        .include("../core/port/native")
        .opt_level(3)
        .flag_if_supported("--param=max-inline-insns-auto=120")
        .flag_if_supported("--param=inline-unit-growth=300")
        .flag("-std=gnu11")
        .flag("-ffreestanding")
        .flag("-fno-strict-aliasing")
        .force_frame_pointer(false)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("weir_hand");
    // Instructions of different compilers are not compared.
    let version = cc::Build::new().get_compiler().to_command().arg("--version").output();
    let version =
        version.map(|o| String::from_utf8_lossy(&o.stdout).lines().next().unwrap_or_default().to_owned());
    println!("cargo:rustc-env=WEIR_CC={}", version.unwrap_or_default());
    for dir in ["hand", "../core/include/weir", "../core/port/native"] {
        println!("cargo:rerun-if-changed={dir}");
    }
}
