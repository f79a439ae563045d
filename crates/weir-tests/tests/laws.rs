// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The integration tests of this crate in one program: to link one takes seconds, and each file here would be one. `loading.rs`,
//! `reshape.rs` and `scope.rs` have their own, because what they load belongs to the whole program.
//! One file of them: `cargo test -p weir-tests --test laws admission::`.

mod admission;
mod compose;
mod conservation;
mod constants;
mod domains;
mod law;
mod memory;
mod order;
#[cfg(feature = "strict")]
mod patience;
mod placement;
mod refusals;
mod states;
mod walkthrough;
mod wtest;
