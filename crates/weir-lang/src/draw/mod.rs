// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pictures of a topology: DOT, Mermaid and SVG.
//!
//! On large machines the repetitions of one place in the text are drawn as one stack, `x64`.

mod arrange;
mod dot;
mod fold;
mod layout;
mod mermaid;
mod palette;
mod scene;
mod svg;

pub use dot::{Inner, dot, dot_nested};
pub use layout::{Layout, Point, Size, layout};
pub use mermaid::mermaid;
pub use scene::{Scene, SceneBox, SceneLine, Strip, scene};
pub use svg::{SvgOptions, svg};

/// Repetitions beyond this number become a stack.
pub(crate) const FOLD_ABOVE: usize = 8;
