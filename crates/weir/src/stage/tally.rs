// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Durations in buckets, eight for each power of two: percentiles are at most one eighth too high.

use super::frame::Spread;

const BUCKETS: usize = 62 * 8;

#[derive(Clone, Debug)]
pub(super) struct Tally {
    buckets: Vec<u32>,
    count: u64,
    max: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { buckets: vec![0; BUCKETS], count: 0, max: 0 }
    }
}

fn bucket(ns: u64) -> usize {
    if ns < 8 {
        return ns as usize;
    }
    let power = ns.ilog2() as usize;
    (power - 2) * 8 + ((ns >> (power - 3)) & 7) as usize
}

/// The longest duration of a bucket.
fn upper(bucket: usize) -> u64 {
    if bucket < 8 {
        return bucket as u64;
    }
    let (power, part) = (bucket / 8 + 2, (bucket % 8) as u64);
    ((8 + part + 1) << (power - 3)).wrapping_sub(1)
}

impl Tally {
    pub fn add(&mut self, ns: u64) {
        self.buckets[bucket(ns).min(BUCKETS - 1)] += 1;
        self.count += 1;
        self.max = self.max.max(ns);
    }

    pub fn spread(&self) -> Spread {
        let at = |percent: u64| {
            let rank = (self.count * percent).div_ceil(100).max(1);
            let mut seen = 0;
            let found = self.buckets.iter().position(|n| {
                seen += u64::from(*n);
                seen >= rank
            });
            found.map_or(0, |b| upper(b).min(self.max))
        };
        match self.count {
            0 => Spread::default(),
            count => Spread { count, p50: at(50), p95: at(95), p99: at(99), max: self.max },
        }
    }

    pub fn clear(&mut self) {
        if self.count > 0 {
            self.buckets.fill(0);
            (self.count, self.max) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for ns in (0..5_000).chain([1 << 20, (1 << 40) + 12_345, u64::MAX >> 3]) {
            let b = bucket(ns);
            assert!(upper(b) >= ns && (b == 0 || upper(b - 1) < ns), "{ns} in {b}");
            assert!(upper(b) - ns <= ns / 8 + 1, "{ns}");
        }
    }

    #[test]
    fn percentiles_are_an_eighth_too_high_at_most() {
        let mut tally = Tally::default();
        (1..=1000).for_each(|n| tally.add(n * 1000));
        let s = tally.spread();
        assert_eq!((s.count, s.max), (1000, 1_000_000));
        assert!((500_000..=562_500).contains(&s.p50) && (990_000..=1_000_000).contains(&s.p99), "{s:?}");
        tally.clear();
        assert_eq!(tally.spread(), Spread::default());
    }
}
