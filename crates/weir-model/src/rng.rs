// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random numbers that cost eight bytes per stream: every task has its own stream, so that its draws do
//! not depend on other tasks or on the scheduler.
//!
//! SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).

/// One stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng(u64);

impl Rng {
    /// Stream number `stream` of the run with this seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut s = Self(seed);
        let a = s.next();
        let mut s = Self(a ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        Self(s.next())
    }

    /// The next number of the stream, which has no end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number in `min..=max`; `min` where the range is empty.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        if max <= min {
            return min;
        }
        let span = (max - min) as u128 + 1;
        min + ((self.next() as u128 * span) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_cover_the_range_evenly() {
        let mut rng = Rng::new(1, 2);
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            seen[rng.between(5, 14) as usize - 5] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(rng.between(7, 7), 7);
        assert_eq!(rng.between(7, 3), 7);
        let _ = rng.between(0, u64::MAX);
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, stream| Rng::new(seed, stream).next();
        assert_eq!(draw(1, 1), draw(1, 1));
        assert_ne!(draw(1, 1), draw(1, 2));
        assert_ne!(draw(1, 1), draw(2, 1));
    }
}
