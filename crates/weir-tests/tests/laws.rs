// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! All integration tests of this crate in one program: to link one takes seconds, and each file here would be one.
//! One file of them: `cargo test -p weir-tests --test laws admission::`.

mod admission;
mod compose;
mod conservation;
mod constants;
mod domains;
mod law;
#[cfg(not(feature = "strict"))]
mod loading;
mod memory;
mod order;
#[cfg(feature = "strict")]
mod patience;
mod placement;
mod refusals;
mod reshape;
#[cfg(not(feature = "strict"))]
mod scope;
mod states;
mod walkthrough;
mod wtest;
