// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! All integration tests of this crate in one program: to link one takes seconds, and each file here would be one.
//! One file of them: `cargo test -p weir-refute --test all assumptions::`.

mod assumptions;
mod contradicted;
mod costs;
mod sizes_and_gangs;
mod verdicts;
