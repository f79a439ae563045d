// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! All integration tests of this crate in one program: to link one takes seconds, and each file here would be one.
//! One file of them: `cargo test -p weir-report --test all html::`.

mod html;
mod metrics;
mod support;
mod text;
mod trace;
