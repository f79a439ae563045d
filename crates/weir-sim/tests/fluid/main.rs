// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Policies that are optimal on several CPUs meet every deadline of sets that load all CPUs fully.

mod lag;
mod laxity;
mod optimal;
mod run;
mod sets;
mod ticks;
mod vectors;
