// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedulability tests for recurrent real-time tasks: which sets meet all deadlines, without running them.
//!
//! A [`Task`] has times in whole nanoseconds. [`analyze`] runs every test that fits a [`Policy`] on `m` equal
//! CPUs and gives a [`Finding`] each: the test, its paper, a [`Verdict`] and, where the test has them, bounds of
//! response times. A [`Load`] has more to say: jobs that take longer than the scheduler knows, tasks beside the recurrent ones, and
//! other [`Feature`]s that break a test's assumptions ([`assume`]). [`partition`] places tasks as the component of that name
//! does. [`Overheads`] lengthens computing times by what switches, interrupts and ticks take.
//!
//! Tests are exact, sufficient or necessary; a sufficient one that fails leaves the question open. Sums and
//! products are exact (rational numbers, or 128 bits); where an irrational bound is compared, a margin makes
//! errors fall on the safe side. This crate knows nothing of simulators or command lines.

pub mod assume;
pub mod edf_vd;
pub mod finding;
pub mod global_bounds;
pub mod global_window;
pub mod locks;
pub mod overhead;
pub mod partition;
pub mod policy;
pub mod task;
pub mod uni_edf;
pub mod uni_fixed;

pub use assume::Feature;
pub use finding::{Bound, Finding, Kind, Test, Verdict};
pub use overhead::Overheads;
pub use partition::{Fit, Partition, partition};
pub use policy::{Load, Policy, Priorities, analyze};
pub use task::{Background, Gaps, Level, Stop, Task};
