// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The commands: what each reads from the command line, and what it prints.

pub mod bare;
pub mod reproduce;
pub mod soc;
