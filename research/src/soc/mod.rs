// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A simulated system: RISC-V cores (PicoRV32 or VexRiscv), devices, and a scheduler in software or in hardware (`hw/soc`).
//!
//! [`Soc::prepare`] compiles a program with the kernel of a [`System`] and the RTL with Verilator, which is kept in the user's cache;
//! [`Soc::run`] simulates to the program's end, passes what happens to an [`Observer`](weir_core::event::Observer), and sums it up in
//! an [`Outcome`]; [`measure`] makes of it what every run gives. `docs/hardware.md` is the user's page.

mod build;
mod error;
mod events;
pub mod measure;
mod run;
mod tools;

pub use build::{App, Interface, Options, Soc, System, apps};
pub use error::{Error, ErrorKind, Result};
pub use run::{Outcome, Visit};
pub use tools::Tools;
