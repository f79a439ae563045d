// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The prototype of source 0 as all its experiments have it: one table of costs, one runtime.
//!
//! Each value of [`Costs::source`] has its place in the source, which `docs/costs.md` gives. What an experiment's own machine or program
//! makes different stands in its file.

use weir_model::Costs;
use weir_model::costs::Wakeups;

/// In gem5, whose CPUs share no cache (8.5, 8.6, 8.9).
pub fn simulated() -> Costs {
    Costs::source()
}

/// On the i7-2600 of tables 8.6 and B.23 (8.7, 8.8). Its cores share a cache, so Linux has the waker make the call.
pub fn on_hardware() -> Costs {
    Costs { wakeups: Wakeups::Waker, ..Costs::source() }
}

/// Linux's own scheduler on the same machine, which pays nothing for the framework: a baseline's price. Enqueueing a task and picking one
/// take it some hundred instructions each, as our core does natively.
pub fn linux() -> Costs {
    Costs::native()
}
