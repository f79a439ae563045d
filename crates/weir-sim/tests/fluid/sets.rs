// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random periodic task sets of integer parameters whose utilisation is exactly the number of CPUs.
//!
//! All periods divide a hyperperiod H, so shares are counted in parts of H and the sum is exact.

/// Milliseconds.
pub const MS: u64 = 1_000_000;

/// splitmix64: the same numbers on every machine.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// From 0 to below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A periodic task with its deadline at the end of the period, in units of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub wcet: u64,
    pub period: u64,
    pub offset: u64,
}

#[derive(Clone, Debug)]
pub struct Set {
    pub tasks: Vec<Task>,
    pub hyperperiod: u64,
}

const HYPERPERIODS: [u64; 8] = [12, 20, 24, 30, 36, 60, 84, 120];

/// A set for `m` CPUs that loads them fully: random shares of mH, rounded to whole execution times; what
/// is left over goes to a last task of period H.
pub fn full(m: u64, dice: &mut Dice) -> Set {
    loop {
        if let Some(set) = attempt(m, dice) {
            return set;
        }
    }
}

fn attempt(m: u64, dice: &mut Dice) -> Option<Set> {
    let h = HYPERPERIODS[dice.below(HYPERPERIODS.len() as u64) as usize];
    let periods: Vec<u64> = (3..=h).filter(|p| h.is_multiple_of(*p)).collect();
    let n = m + 1 + dice.below(3 * m);
    // Cuts of the interval [0, mH) are uniform; shares above 1 are cut down by the rounding below.
    let mut cuts: Vec<u64> = (0..n - 1).map(|_| dice.below(m * h)).collect();
    cuts.sort_unstable();
    let mut tasks = Vec::new();
    let mut last = 0;
    let mut sum = 0;
    for cut in cuts {
        let period = periods[dice.below(periods.len() as u64) as usize];
        let jobs = h / period;
        let wcet = ((cut - last + jobs / 2) / jobs).clamp(1, period);
        last = cut;
        sum += wcet * jobs;
        tasks.push(Task { wcet, period, offset: 0 });
    }
    let rest = (m * h).checked_sub(sum)?;
    if rest > h {
        return None;
    }
    if rest > 0 {
        tasks.push(Task { wcet: rest, period: h, offset: 0 });
    }
    Some(Set { tasks, hyperperiod: h })
}

#[test]
fn sets_are_exactly_full() {
    let mut dice = Dice::new(1);
    for m in [1, 2, 4, 8] {
        for _ in 0..200 {
            let set = full(m, &mut dice);
            let sum: u64 = set.tasks.iter().map(|t| t.wcet * (set.hyperperiod / t.period)).sum();
            assert_eq!(sum, m * set.hyperperiod);
            assert!(set.tasks.iter().all(|t| t.wcet >= 1 && t.wcet <= t.period));
        }
    }
}
