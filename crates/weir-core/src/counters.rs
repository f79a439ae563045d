// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the hardware counted of a task: the payload of COUNTERS (`weir/counters.h`).

use std::ops::{Add, AddAssign};

/// Events of a task, counted as on Intel's Haswell (source 4, section 2): a load that misses a level counts once for
/// its line, further loads of a line that is on its way are `lfb_hits`. What a runtime cannot count is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    pub instructions: u64,
    pub cycles: u64,
    pub l1_hits: u64,
    pub l1_misses: u64,
    pub lfb_hits: u64,
    pub l2_hits: u64,
    pub l2_misses: u64,
    pub l3_hits: u64,
    pub l3_misses: u64,
    pub branches: u64,
    pub mispredicts: u64,
}

impl Counters {
    /// One of `n` equal parts, rounded down.
    #[must_use]
    pub fn part(self, n: u64) -> Self {
        Self::from_array(self.to_array().map(|count| count / n.max(1)))
    }

    /// Width of a counter, bits: differences are taken modulo this.
    pub const BITS: u32 = 48;

    /// Names of the fields, in their order.
    pub const NAMES: [&str; 11] = [
        "instructions",
        "cycles",
        "l1_hits",
        "l1_misses",
        "lfb_hits",
        "l2_hits",
        "l2_misses",
        "l3_hits",
        "l3_misses",
        "branches",
        "mispredicts",
    ];

    /// The fields in their order.
    pub fn to_array(self) -> [u64; 11] {
        [
            self.instructions,
            self.cycles,
            self.l1_hits,
            self.l1_misses,
            self.lfb_hits,
            self.l2_hits,
            self.l2_misses,
            self.l3_hits,
            self.l3_misses,
            self.branches,
            self.mispredicts,
        ]
    }

    /// From fields in their order.
    pub fn from_array(v: [u64; 11]) -> Self {
        let [instructions, cycles, l1_hits, l1_misses, lfb_hits, l2_hits, l2_misses, l3_hits, l3_misses, ..] =
            v;
        Self {
            instructions,
            cycles,
            l1_hits,
            l1_misses,
            lfb_hits,
            l2_hits,
            l2_misses,
            l3_hits,
            l3_misses,
            branches: v[9],
            mispredicts: v[10],
        }
    }

    /// What was counted since `start`, by counters that wrap at [`Counters::BITS`].
    pub fn since(self, start: Self) -> Self {
        let (end, start) = (self.to_array(), start.to_array());
        let mask = (1 << Self::BITS) - 1;
        Self::from_array(std::array::from_fn(|i| end[i].wrapping_sub(start[i]) & mask))
    }

    /// The counters of a CPU after these events; they wrap.
    pub fn wrapping_add(self, more: Self) -> Self {
        let (a, b) = (self.to_array(), more.to_array());
        let mask = (1 << Self::BITS) - 1;
        Self::from_array(std::array::from_fn(|i| a[i].wrapping_add(b[i]) & mask))
    }
}

impl Add for Counters {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        let (a, b) = (self.to_array(), more.to_array());
        Self::from_array(std::array::from_fn(|i| a[i] + b[i]))
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_survive_a_wrap() {
        let start = Counters { cycles: (1 << 48) - 10, l3_misses: 5, ..Counters::default() };
        let end = start.wrapping_add(Counters { cycles: 25, l3_misses: 7, ..Counters::default() });
        assert_eq!(end.cycles, 15);
        let delta = end.since(start);
        assert_eq!((delta.cycles, delta.l3_misses, delta.branches), (25, 7, 0));
    }

    #[test]
    fn arrays_and_names_agree() {
        let c = Counters::from_array(std::array::from_fn(|i| i as u64));
        assert_eq!(c.to_array(), std::array::from_fn(|i| i as u64));
        assert_eq!((c.lfb_hits, c.l3_misses, c.mispredicts), (4, 8, 10));
        let at = |name| Counters::NAMES.iter().position(|n| *n == name);
        assert_eq!((at("lfb_hits"), at("l3_misses"), at("mispredicts")), (Some(4), Some(8), Some(10)));
    }
}
