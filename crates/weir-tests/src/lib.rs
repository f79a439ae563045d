// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the tests of components and topologies share: a scheduler with its graph laid open ([`Lab`]),
//! the batch meaning of every component ([`law`]), random histories ([`history`]), and the runner of `.wtest` files ([`wtest`]).

pub mod history;
pub mod lab;
pub mod law;
pub mod machine;
pub mod pipe_lab;
pub mod plugin;
pub mod wtest;

pub use lab::Lab;

use std::path::PathBuf;

/// Root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The port of the C code that is linked in: what `%targets` of a `.wtest` calls it.
pub const TARGET: &str = if cfg!(feature = "strict") { "strict" } else { "native" };
