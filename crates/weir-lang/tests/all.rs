// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! All integration tests of this crate in one program: to link one takes seconds, and each file here would be one.
//! One file of them: `cargo test -p weir-lang --test all bad::`.

mod bad;
mod catalogue;
mod common;
mod draw;
mod edits;
mod fuzz;
mod readback;
