// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The program `runweir`; `lib.rs` has all of it.

#[global_allocator]
static MEMORY: weir_core::memory::OrEnd = weir_core::memory::OrEnd;

fn main() -> std::process::ExitCode {
    runweir::main()
}
