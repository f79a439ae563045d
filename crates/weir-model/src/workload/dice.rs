// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random numbers for workloads: a seed gives the same numbers on every machine.
//!
//! Mathematics goes through `libm`, whose results do not depend on the platform.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers for one purpose.
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let width = u128::from(high - low) + 1;
        low + ((u128::from(self.0.next_u64()) * width) >> 64) as u64
    }

    /// Logarithmically uniform in `low..=high`, rounded to `grain`.
    pub fn log_uniform(&mut self, low: u64, high: u64, grain: u64) -> u64 {
        let (a, b) = (libm::log(low as f64), libm::log((high + grain) as f64));
        let value = libm::exp(a + (b - a) * self.unit());
        round(value as u64, low, high, grain)
    }

    /// Uniform in `low..=high`, rounded to `grain`.
    pub fn uniform(&mut self, low: u64, high: u64, grain: u64) -> u64 {
        let value = self.between(low, high.saturating_add(grain - 1));
        round(value, low, high, grain)
    }
}

/// Down to a multiple of `grain`, but within the bounds.
fn round(value: u64, low: u64, high: u64, grain: u64) -> u64 {
    (value / grain * grain).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_numbers() {
        let draw = |seed| (0..4).map(|_| Dice::new(seed).between(0, 1 << 40)).collect::<Vec<_>>();
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        let mut dice = Dice::new(5);
        for _ in 0..1000 {
            let p = dice.log_uniform(10_000_000, 100_000_000, 1_000_000);
            assert!((10_000_000..=100_000_000).contains(&p) && p.is_multiple_of(1_000_000));
        }
    }
}
