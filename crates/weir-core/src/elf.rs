// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Looking at a shared object before it is mapped: whether it is a component for this program, and what it wants from others.
//!
//! Mapping an object runs its initialisers, so everything that can be known is read from the file first.

use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

use crate::loaded::{LoadError, refuse};

/// `WEIR_PLUGIN_MAGIC`
const MAGIC: u64 = 0x324e_4947_554c_5057;
/// That of objects whose components had an update function in place of a step (docs/decisions/0190).
const MAGIC_OF_UPDATES: u64 = 0x314e_4947_554c_5057;
/// What the compiler may put calls of into any code.
const ALLOWED: [&str; 4] = ["memcpy", "memmove", "memset", "memcmp"];
/// Symbols that linkers add; they are weak and stay empty.
const LINKER: [&str; 4] =
    ["_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__", "__cxa_finalize"];

/// What this processor is called in an ELF file.
const MACHINE: elf::Machine = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64
} else if cfg!(target_arch = "riscv64") {
    elf::EM_RISCV
} else {
    elf::EM_NONE
};

/// What a constructor or destructor function makes of an object.
const RUNS: &str = "it has code that runs by itself when it is loaded or unloaded";
const NO_RUNNING: &str =
    "take its constructor and destructor functions out; instances have `_construct` and `_destroy`";
const BUILD: &str = "build it with `runweir component build FILE.c -o FILE.so`";

/// The contents of a section that a process does not map.
pub(crate) fn section<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    file.section_by_name(name)?.data().ok().filter(|d| !d.is_empty())
}

/// Refuse what is not a plugin, was built with other headers, or needs anything but the component interface.
pub(crate) fn check(bytes: &[u8], abi: u64) -> Result<(), LoadError> {
    let no_elf = |_| refuse("it is not a 64-bit ELF file", BUILD);
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(no_elf)?;
    let endian = file.endian();
    let header = file.elf_header();
    if header.e_type(endian) != elf::ET_DYN {
        return Err(refuse("it is an ELF file, but no shared object", BUILD));
    }
    if header.e_machine(endian) != MACHINE {
        return Err(refuse("it was built for another processor", BUILD));
    }
    let plugin = file.dynamic_symbols().find(|s| s.name() == Ok("weir_plugin") && s.is_definition());
    let Some(plugin) = plugin else {
        return Err(refuse("it is a shared object, but no component: it has no symbol `weir_plugin`", BUILD));
    };
    let word = |at: u64| -> Option<u64> {
        let section = file.sections().find(|s| s.address() <= at && at < s.address() + s.size())?;
        let data = section.data_range(at, 8).ok()??;
        Some(u64::from_le_bytes(data.try_into().ok()?))
    };
    if word(plugin.address()) == Some(MAGIC_OF_UPDATES) {
        let message = "it was built for another version of the component interface: that before 1.0, with update functions in place \
                       of a step";
        return Err(refuse(message, "docs/component-files.md says what is to be changed in its source"));
    }
    if word(plugin.address()) != Some(MAGIC) {
        return Err(refuse("its symbol `weir_plugin` is not what a component has there", BUILD));
    }
    match word(plugin.address() + 8) {
        Some(theirs) if theirs == abi => {}
        theirs => {
            let theirs = theirs.unwrap_or(0);
            let message = format!(
                "it was built for another version of the component interface ({theirs:016x}, not {abi:016x})"
            );
            return Err(refuse(message, "build it again with this program"));
        }
    }
    let foreign: Vec<&str> = file
        .dynamic_symbols()
        .filter(|s| s.is_undefined())
        .filter_map(|s| s.name().ok())
        .filter(|n| !n.is_empty() && !ALLOWED.contains(n) && !LINKER.contains(n))
        .collect();
    if !foreign.is_empty() {
        let message =
            format!("it uses `{}`, which is not part of the component interface", foreign.join("`, `"));
        return Err(refuse(message, "components call nothing but the functions of <weir/component.h>"));
    }
    let dynamic = header
        .program_headers(endian, bytes)
        .ok()
        .and_then(|all| all.iter().find_map(|p| p.dynamic(endian, bytes).ok().flatten()));
    for entry in dynamic.unwrap_or(&[]) {
        let value = entry.d_val(endian);
        let (what, help) = match entry.tag(endian) {
            elf::DT_NEEDED => ("it needs other libraries", BUILD),
            elf::DT_INIT | elf::DT_FINI => (RUNS, NO_RUNNING),
            elf::DT_INIT_ARRAYSZ | elf::DT_FINI_ARRAYSZ | elf::DT_PREINIT_ARRAYSZ if value > 0 => {
                (RUNS, NO_RUNNING)
            }
            elf::DT_TEXTREL => ("its code would have to be changed to be loaded", BUILD),
            _ => continue,
        };
        return Err(refuse(what, help));
    }
    Ok(())
}
