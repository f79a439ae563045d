// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The research wing: what its program, `runweir-lab`, makes and runs, as functions with typed results.

pub mod bare;
pub mod reproduce;
pub mod soc;
