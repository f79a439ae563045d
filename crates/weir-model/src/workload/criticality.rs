// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Mixed criticality: two levels, and two execution times for the high one (Vestal, 2007).

/// How critical a task is, and what that says of its execution time. The time that is expected of any
/// task is its `wcet_ns` ([`super::Timing`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criticality {
    /// May be set aside when a task of the high level needs more than expected.
    Lo,
    /// Must meet its deadlines even then.
    Hi {
        /// A job's worst-case execution time at capacity 1024, ns.
        wcet_ns: u64,
    },
}
