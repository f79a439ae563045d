// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a component is tried with, here and in the program: a scheduler with its graph laid open ([`Lab`]), the batch
//! meaning of every component ([`law`]), random histories ([`history`]), graphs made from a descriptor ([`trial`]), and the
//! runner of `.wtest` files ([`wtest`]).

pub mod history;
pub mod lab;
pub mod law;
pub mod machine;
pub mod trial;
pub mod wtest;

pub use lab::Lab;

/// The port of the C code that is linked in: what `%targets` of a `.wtest` calls it.
pub const TARGET: &str = if cfg!(feature = "bpf") {
    "bpf"
} else if cfg!(feature = "strict") {
    "strict"
} else {
    "native"
};
/// All of them.
pub const TARGETS: [&str; 3] = ["native", "strict", "bpf"];
