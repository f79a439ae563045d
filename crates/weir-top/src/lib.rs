// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir top`: a live scheduler on a terminal.
//!
//! What is shown follows from two snapshots and the state of the keys alone ([`Picture`]), so every picture
//! can be had without a terminal: tests compare them, and [`once`] prints one.

mod app;
mod graph;
mod keys;
mod rates;
mod text;
mod view;

pub use app::{run, usable};
pub use keys::{Keys, Pane, Sort};
pub use rates::Rates;
pub use text::once;
pub use view::Picture;
