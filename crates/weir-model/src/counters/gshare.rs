// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A gshare branch predictor (McFarling, 1993): two-bit counters, found by address and history combined.

/// Predictor of a core; its hardware threads share the table, each has a history of its own.
#[derive(Clone, Debug)]
pub struct Gshare {
    /// 0 and 1: not taken; 2 and 3: taken.
    table: Vec<u8>,
    history: Vec<u32>,
    mask: u32,
    pub branches: u64,
    pub mispredicts: u64,
}

impl Gshare {
    pub fn new(bits: u32, threads: usize) -> Self {
        let size = 1usize << bits;
        Self {
            table: vec![1; size],
            history: vec![0; threads],
            mask: size as u32 - 1,
            branches: 0,
            mispredicts: 0,
        }
    }

    /// The branch at `address` goes this way; `true`: that was predicted. O(1).
    pub fn branch(&mut self, thread: usize, address: u32, taken: bool) -> bool {
        let at = ((address ^ self.history[thread]) & self.mask) as usize;
        let counter = &mut self.table[at];
        let right = (*counter >= 2) == taken;
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        self.history[thread] = (self.history[thread] << 1 | u32::from(taken)) & self.mask;
        self.branches += 1;
        self.mispredicts += u64::from(!right);
        right
    }

    /// Mispredicted among all branches; 0 before the first.
    pub fn mispredict_rate(&self) -> f64 {
        self.mispredicts as f64 / self.branches.max(1) as f64
    }

    /// Count from here.
    pub fn reset(&mut self) {
        (self.branches, self.mispredicts) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_learnt() {
        // Period 4; a history of 8 bits distinguishes the places. The table needs to see each place thrice.
        let mut g = Gshare::new(8, 1);
        (0..64).for_each(|i| _ = g.branch(0, 0, i % 4 != 3));
        g.reset();
        (64..1064).for_each(|i| _ = g.branch(0, 0, i % 4 != 3));
        assert_eq!(g.mispredicts, 0);
    }

    #[test]
    fn the_first_branches_of_a_known_trace() {
        // History 0, 1, 11, 111: each a new counter, which says "not taken" at first.
        let mut g = Gshare::new(4, 1);
        let right: Vec<bool> = (0..8).map(|_| g.branch(0, 0, true)).collect();
        // From the fifth on the history stays 1111: wrong once, then right.
        assert_eq!(right, [false, false, false, false, false, true, true, true]);
    }

    #[test]
    fn a_co_runner_spoils_a_small_table() {
        let run = |threads: usize| {
            let mut g = Gshare::new(6, threads);
            let mut x = 1u32;
            let mut mine = 0;
            for i in 0..20_000u32 {
                mine += u32::from(!g.branch(0, i % 13, i % 13 < 7));
                if threads == 2 {
                    x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    g.branch(1, x >> 20, x >> 31 == 1);
                }
            }
            mine
        };
        let (alone, beside) = (run(1), run(2));
        assert!(beside > 5 * alone.max(20), "{alone} wrong alone, {beside} beside a random neighbour");
    }
}
