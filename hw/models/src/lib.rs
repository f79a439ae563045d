// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The scheduler in hardware, seen from software.
//!
//! [`map`] has the registers and calls, made from `hw/weir.toml` as the RTL's own; [`regs`] puts words of them together. [`engine`] a model of what it decides, tick
//! by tick, written after its rules and not after its RTL. With the feature `verilated` the RTL itself is linked in, and the
//! tests compare the three of them: RTL, model, and the components that run in the simulator and in the kernel.

pub mod clocks;
#[cfg(feature = "verilated")]
pub mod cosim;
pub mod device;
pub mod engine;
pub mod kernel;
pub mod map;
pub mod regs;
pub mod unified;
#[cfg(feature = "verilated")]
pub mod verilated;
