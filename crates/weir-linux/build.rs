// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Compiles `runtimes/linux/weir.bpf.c`, with the core and the components as they are, for the
//! kernel; the object becomes part of the program.

use std::path::{Path, PathBuf};
use std::{env, fs};

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
    let entries = weir_glue::kernel_entries(&components).expect("they were read before");
    weir_glue::write_if_changed(&out.join("entries.rs"), &format!("&{entries:?}"));
    fs::write(out.join("sources.z"), sources(&root)).expect("the build directory is writable");
    let object = out.join("weir.bpf.o");
    let Some(clang) = weir_glue::kernel::clang() else {
        // The crate's own compile_error! says it once more, where it cannot be overlooked.
        println!(
            "cargo:warning=no clang {} or newer was found; {}",
            weir_glue::kernel::OLDEST,
            weir_text::packages::install(&["clang-19"])
        );
        println!("cargo:rustc-cfg=weir_no_clang");
        println!("cargo:rustc-check-cfg=cfg(weir_no_clang)");
        return;
    };
    println!("cargo:rustc-check-cfg=cfg(weir_no_clang)");
    compile(&clang, &root, &out, &object);
    let mut code = fs::read(&object).expect("just compiled");
    forget_dwarf(&mut code);
    fs::write(out.join("weir.bpf.o.z"), weir_text::packed::pack(&code))
        .expect("the build directory is writable");

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

/// Overwrite the sections for debuggers with zeros. The kernel and the loader read the types in `.BTF` only, which clang writes
/// beside them; in place of them nothing is left that takes room.
fn forget_dwarf(elf: &mut [u8]) {
    // 64 bits, little endian (<elf.h>): where the section headers are, their size and number, and which one names them.
    let number = |elf: &[u8], at: usize, bytes: usize| {
        elf[at..at + bytes].iter().rev().fold(0, |n, b| n << 8 | usize::from(*b))
    };
    assert!(elf.starts_with(b"\x7fELF\x02\x01"), "clang writes 64-bit little-endian objects for BPF");
    let (headers, size) = (number(elf, 0x28, 8), number(elf, 0x3a, 2));
    let header = |nr: usize| headers + nr * size;
    let names = number(elf, header(number(elf, 0x3e, 2)) + 0x18, 8);
    for nr in 0..number(elf, 0x3c, 2) {
        let name = names + number(elf, header(nr), 4);
        if [b".debug_".as_slice(), b".rel.debug_"].iter().any(|start| elf[name..].starts_with(start)) {
            let (at, length) = (number(elf, header(nr) + 0x18, 8), number(elf, header(nr) + 0x20, 8));
            elf[at..at + length].fill(0);
        }
    }
}

/// The texts that the compilation read, so that an installed program can do it again with one component more.
fn sources(root: &Path) -> Vec<u8> {
    let all = weir_glue::kernel::sources(root).unwrap_or_else(|e| panic!("the sources: {e}"));
    let read = |path: &String| fs::read_to_string(root.join(path)).expect("it was just listed");
    let texts: Vec<String> = all.iter().map(read).collect();
    weir_text::packed::pack_texts(all.iter().map(String::as_str).zip(texts.iter().map(String::as_str)))
}
