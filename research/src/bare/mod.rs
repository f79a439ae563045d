// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The bare multikernel (`runtimes/bare/`) in an emulator: a policy and programs go into its memory, results and a trace come out
//! of it. The guest's memory is a file: it is filled before the machine starts and read when it has stopped, so nothing is copied while it
//! runs, and two runs of the same input leave the same bytes.

mod boot;
mod error;
mod image;
mod installed;
mod machine;
mod results;

pub use boot::{Program, Setup};
pub use error::{Error, Result};
pub use image::Image;
pub use installed::{KERNEL, image, installed, kernel};
pub use machine::{Done, EMULATOR, emulator, run};
pub use results::{HartResult, Results, StopWhy};

/// Harts of a machine, at most.
pub const MAX_HARTS: u32 = 16;
