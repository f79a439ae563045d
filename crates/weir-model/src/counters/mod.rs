// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the counters of the modelled CPUs count: caches and branch predictors.
//!
//! A task whose template has a [`Profile`] makes the runtime report COUNTERS. There are three back ends:
//!
//! * **replay**: the rates are recorded ones ([`Behaviour::Recorded`]); they do not depend on other tasks, and the workload
//!   sets the task's speed;
//! * **model**: the rates follow from the task's reuse distances and branches ([`Behaviour::Modelled`]), from the caches
//!   and from the tasks that share them at present; misses cost time;
//! * **none**: a task without a profile is not counted, as on a machine without counters.
//!
//! A run uses a cheap model, with one set of rates per stint ([`table`]). It is compared with structural models: a
//! set-associative cache with LRU ([`cache`]), line fill buffers ([`lfb`]), a gshare predictor ([`gshare`]), fed with
//! streams made from the same profile ([`stream`]). Source 4, sections 2 and 13.

pub mod cache;
pub mod curve;
pub mod gshare;
pub mod lfb;
pub mod stream;
pub mod table;

use std::sync::Arc;

/// Bytes of a cache line.
pub const LINE: u64 = 64;

/// One, for shares kept as whole numbers.
pub const ONE: u64 = 1 << 20;

/// A share between 0 and 1 as a whole number of [`ONE`].
pub fn share(ratio: f64) -> u64 {
    ((ratio.clamp(0.0, 1.0) * ONE as f64) + 0.5) as u64
}

/// How a task uses caches and predictors.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub name: String,
    /// Cycles an instruction takes when all loads hit L1 and all branches are predicted, of [`ONE`].
    pub cpi: u64,
    /// Loads and branches among the instructions, of [`ONE`].
    pub loads: u64,
    pub branches: u64,
    /// Each stint's miss rates lie up to this share below or above the mean, of [`ONE`].
    pub spread: u64,
    pub behaviour: Behaviour,
}

/// Where the rates of a profile come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Behaviour {
    /// Recorded, phase after phase, from the beginning again after the last.
    Recorded(Arc<[Phase]>),
    Modelled(Model),
}

/// Rates that hold for some of the task's time on CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// ns; 0: for ever.
    pub ns: u64,
    pub rates: Rates,
}

/// What becomes of loads and branches, of [`ONE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Of all loads: the part that misses L1, and the part whose line is already being fetched.
    pub l1: u64,
    pub lfb: u64,
    /// Of the misses of L1: the part that misses L2; of these: the part that misses L3.
    pub l2: u64,
    pub l3: u64,
    /// Of all branches: those predicted wrongly.
    pub branch: u64,
}

/// A task as a source of loads and branches.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// How many other lines are loaded between two loads of one line: buckets of (most lines, share of the loads),
    /// ascending; within a bucket all distances are as likely. What is left to 1 is loads of new lines.
    pub reuse: Arc<[(u64, u64)]>,
    /// Further loads of a line that has just missed, before it arrives: of [`ONE`] for each miss.
    pub burst: u64,
    /// Branches that go either way at random, of [`ONE`].
    pub entropy: u64,
    /// Different branches in the task's code.
    pub sites: u32,
    /// Misses that are served side by side, so that each costs its part only.
    pub overlap: u64,
}

impl Model {
    /// Lines that the task reuses.
    pub fn working_set(&self) -> u64 {
        self.reuse.last().map_or(0, |b| b.0)
    }

    /// Share of the loads with a reuse distance up to `lines`, interpolated within a bucket.
    pub fn within(&self, lines: u64) -> f64 {
        let (mut low, mut sum) = (0, 0.0);
        for &(high, weight) in self.reuse.iter() {
            let weight = weight as f64 / ONE as f64;
            if lines >= high {
                sum += weight;
            } else {
                return sum + weight * lines.saturating_sub(low) as f64 / (high - low) as f64;
            }
            low = high;
        }
        sum
    }
}

/// One cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    pub bytes: u64,
    pub ways: u32,
}

impl Cache {
    pub fn lines(self) -> u64 {
        self.bytes / LINE
    }

    pub fn sets(self) -> u64 {
        (self.lines() / u64::from(self.ways)).max(1)
    }
}

/// Caches, buffers and predictor of a core, and what misses cost beyond a hit of L1, cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    pub l1: Cache,
    pub l2: Cache,
    pub l3: Cache,
    /// Lines that may be on their way at once.
    pub lfbs: u32,
    pub l2_cycles: u64,
    pub l3_cycles: u64,
    pub memory_cycles: u64,
    pub mispredict_cycles: u64,
    /// Bits of branch history, and of the index of the predictor's table.
    pub history_bits: u32,
}

impl Default for Hierarchy {
    /// About a Haswell desktop of four cores (source 4, section 13; the sizes and times are general knowledge).
    fn default() -> Self {
        Self {
            l1: Cache { bytes: 32 << 10, ways: 8 },
            l2: Cache { bytes: 256 << 10, ways: 8 },
            l3: Cache { bytes: 6 << 20, ways: 12 },
            lfbs: 10,
            l2_cycles: 8,
            l3_cycles: 32,
            memory_cycles: 196,
            mispredict_cycles: 18,
            history_bits: 12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuse_is_interpolated() {
        let model = Model {
            reuse: [(100, share(0.5)), (300, share(0.25))].into(),
            burst: 0,
            entropy: 0,
            sites: 1,
            overlap: 1,
        };
        for (lines, want) in [(0, 0.0), (50, 0.25), (100, 0.5), (200, 0.625), (300, 0.75), (1 << 40, 0.75)] {
            assert!((model.within(lines) - want).abs() < 1e-6, "{lines}");
        }
        assert_eq!(model.working_set(), 300);
    }
}
