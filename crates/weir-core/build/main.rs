// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles the core and every component found, as one unit, with the native or the strict port.

mod layout;
mod topics;

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is two levels up");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let components = weir_glue::scan(&root).unwrap_or_else(|e| panic!("components/: {e}"));
    let port = if env::var_os("CARGO_FEATURE_STRICT").is_some() { "strict" } else { "native" };
    let headers = headers(&root, port);
    let texts: Vec<(&str, String)> = headers
        .iter()
        .map(|(name, path)| (name.as_str(), std::fs::read_to_string(path).expect("the header is there")))
        .collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let mut unit =
        weir_glue::unit(&root, &components, weir_glue::Target::Process).expect("core/src is readable");
    unit.push_str(&weir_glue::plugin::exports(&texts));
    let file = out.join("weir_unit.c");
    weir_glue::write_if_changed(&file, &unit);
    weir_glue::write_if_changed(&out.join("sources.rs"), &sources(&components, &headers));
    let text = |name: &str| texts.iter().find(|(n, _)| *n == name).expect("a header of the framework").1;
    weir_glue::write_if_changed(&out.join("topics.rs"), &topics::lists(text("broker.h"), text("status.h")));

    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        bytecode(&root, &components, &out);
    }

    let (in_c, in_rust) =
        layout::tables(&PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("src"));
    let layout = out.join("layout.c");
    weir_glue::write_if_changed(&layout, &in_c);
    weir_glue::write_if_changed(&out.join("layouts.rs"), &in_rust);

    // A build without optimisation, or for the rules of the kernel, is waited for more often than it runs: it does without the
    // inlining, which takes two thirds of the compiler's time.
    let hurried = env::var("OPT_LEVEL").is_ok_and(|level| level == "0") || port == "strict";
    let mut compiler = cc::Build::new();
    if !hurried {
        // Many small functions on a hot path: inline them.
        compiler
            .flag_if_supported("--param=max-inline-insns-auto=120")
            .flag_if_supported("--param=inline-unit-growth=300");
    }
    if port == "native" {
        compiler.define("WEIR_USERS", None);
    }
    if env::var("DEBUG").is_ok_and(|debug| debug == "true") {
        // Lines in backtraces, as in the profile of the Rust code.
        compiler.debug(false).flag("-g1");
    }
    compiler
        .opt_level(if hurried { 2 } else { 3 })
        .file(&file)
        .file(root.join("core/port/native/port.c"))
        .file(root.join("core/port/native/host.c"))
        .file(&layout)
        .file(root.join("core/port/native/loaded.c"))
        .file(root.join("core/port/native/guard.c"))
        .files(
            ["manifest", "controller", "planner", "clocksync"]
                .map(|f| root.join(format!("runtimes/multikernel/{f}.c"))),
        )
        .include(root.join("core/include"))
        .include(root.join("core/port").join(port))
        .include(root.join("core/src"))
        .include(root.join("core/port/native"))
        .flag("-std=gnu11")
        .flag("-ffreestanding")
        // An instance is seen as its component's state, and as what all of them begin with.
        .flag("-fno-strict-aliasing")
        // One unit, linked into one program: let the compiler inline across what it contains.
        .flag("-fvisibility=hidden")
        .flag("-ftls-model=initial-exec")
        .force_frame_pointer(false)
        // Generated dispatch functions whose class has no such entry point.
        .flag("-Wno-unused-parameter")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("weir");

    // An archive of its own, and nothing else in it: a program with a runtime of its own links without it.
    cc::Build::new()
        .file(root.join("core/port/native/rt.c"))
        .include(root.join("core/include"))
        .include(root.join("core/port").join(port))
        .flag("-std=gnu11")
        .flag("-ffreestanding")
        .flag("-ftls-model=initial-exec")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("weir_rt");

    for file in ["ffi.rs", "raw.rs", "sched.rs", "counters.rs"] {
        println!("cargo:rerun-if-changed=src/{file}");
    }
    for dir in ["core", "components", "runtimes/multikernel"] {
        weir_glue::watch(&root.join(dir));
    }
}

/// Core and components once more, for the kernel's virtual machine, as the live scheduler has them (src/bpf.rs).
fn bytecode(root: &Path, components: &[weir_glue::Component], out: &Path) {
    let file = out.join("weir_unit.bpf.c");
    let unit = weir_glue::unit(root, components, weir_glue::Target::Bpf).expect("core/src is readable");
    weir_glue::write_if_changed(&file, &unit);
    let clang =
        weir_glue::kernel::clang().expect("the feature `bpf` needs clang 19: apt-get install clang-19");
    let done = weir_glue::kernel::compile_file(&clang, root, out, &file, &out.join("weir_unit.bpf.o"))
        .unwrap_or_else(|e| panic!("{clang}: {e}"));
    assert!(done.status.success(), "{clang}:\n{}", String::from_utf8_lossy(&done.stderr));
}

/// What a component that is built elsewhere includes: names below `weir/` and their files.
fn headers(root: &Path, port: &str) -> Vec<(String, PathBuf)> {
    let mut all = vec![("port.h".to_owned(), root.join("core/port").join(port).join("weir/port.h"))];
    let names = weir_glue::plugin::header_names(root).expect("core/include is readable");
    all.extend(names.into_iter().map(|name| (name.clone(), root.join("core/include/weir").join(name))));
    all
}

/// The manual of each component, the Rust files among them, and the headers.
fn sources(components: &[weir_glue::Component], headers: &[(String, PathBuf)]) -> String {
    let mut text = String::from("pub(crate) const SOURCES: &[(&str, &str, &str)] = &[\n");
    for c in components {
        text.push_str(&format!("    ({:?}, {:?}, {:?}),\n", c.name, c.source, c.manual));
    }
    text.push_str(
        "];\n/// Headers that a component which is built elsewhere includes, by their names below `weir/`.\n",
    );
    text.push_str("pub const HEADERS: &[(&str, &str)] = &[\n");
    for (name, path) in headers {
        text.push_str(&format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string()));
    }
    text.push_str("];\n");
    for c in components.iter().filter(|c| c.language == weir_glue::Language::Rust) {
        text.push_str(&format!("#[path = {:?}]\nmod {};\n", c.path.display().to_string(), c.name));
    }
    text
}
