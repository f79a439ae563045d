// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles the core and every component found, as one unit, with the native or the strict port.

use std::env;
use std::path::PathBuf;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is two levels up");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let components = weir_glue::scan(&root).unwrap_or_else(|e| panic!("components/: {e}"));
    let unit = weir_glue::unit(&root, &components, weir_glue::Target::Process).expect("core/src is readable");
    let file = out.join("weir_unit.c");
    weir_glue::write_if_changed(&file, &unit);
    weir_glue::write_if_changed(&out.join("sources.rs"), &sources(&components));

    let port = if env::var_os("CARGO_FEATURE_STRICT").is_some() { "strict" } else { "native" };
    cc::Build::new()
        .file(&file)
        .file(root.join("core/port/native/port.c"))
        .file(root.join("core/port/native/host.c"))
        .file(root.join("core/port/native/view.c"))
        .include(root.join("core/include"))
        .include(root.join("core/port").join(port))
        .include(root.join("core/src"))
        .flag("-std=gnu11")
        .flag("-ffreestanding")
        // One unit, linked into one program: let the compiler inline across what it contains.
        .flag("-fvisibility=hidden")
        .flag("-ftls-model=initial-exec")
        .force_frame_pointer(false)
        // Generated dispatch functions whose class has no such entry point.
        .flag("-Wno-unused-parameter")
        // Many small functions on a hot path: inline them.
        .opt_level(3)
        .flag_if_supported("--param=max-inline-insns-auto=120")
        .flag_if_supported("--param=inline-unit-growth=300")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("weir");

    for dir in ["core", "components"] {
        weir_glue::watch(&root.join(dir));
    }
}

/// The manual of each component, and the Rust files among them.
fn sources(components: &[weir_glue::Component]) -> String {
    let mut text = String::from("pub(crate) const SOURCES: &[(&str, &str, &str)] = &[\n");
    for c in components {
        text.push_str(&format!("    ({:?}, {:?}, {:?}),\n", c.name, c.source, c.manual));
    }
    text.push_str("];\n");
    for c in components.iter().filter(|c| c.language == weir_glue::Language::Rust) {
        text.push_str(&format!("#[path = {:?}]\nmod {};\n", c.path.display().to_string(), c.name));
    }
    text
}
