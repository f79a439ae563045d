// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What all readers of text share, so that `2min` means the same everywhere and a slip of the pen gets the same answer:
//! quantities with their units, suggestions for names that nothing has, excerpts of the line at fault, and strings as TOML
//! has them.

pub mod excerpt;
pub mod quantity;
pub mod suggest;
pub mod toml;
