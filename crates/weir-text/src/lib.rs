// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What all readers of text share, so that `2min` means the same everywhere and a slip of the pen gets the same answer:
//! quantities with their units, suggestions for unknown names, excerpts of the line at fault, strings as TOML
//! has them, and texts that the program carries along.

pub mod excerpt;
pub mod packages;
pub mod packed;
pub mod quantity;
pub mod suggest;
pub mod toml;
pub mod words;

pub use words::{count, plural};
