// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The scheduler in hardware, seen from software.
//!
//! [`regs`] is the register map of the scheduling engine (`hw/rtl/weir_laxity.sv`), [`engine`] a model of what it decides, tick
//! by tick, written after its rules and not after its RTL. With the feature `verilated` the RTL itself is linked in, and the
//! tests compare the three of them: RTL, model, and the components that run in the simulator and in the kernel.

pub mod clocks;
#[cfg(feature = "verilated")]
pub mod cosim;
pub mod device;
pub mod engine;
pub mod kernel;
pub mod regs;
#[cfg(feature = "verilated")]
pub mod verilated;
