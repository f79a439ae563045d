// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Miss rates of set-associative caches from reuse distances, without a simulation.
//!
//! A load misses a fully associative cache if at least as many other lines were loaded since. With S sets of A ways it
//! misses if at least A of the d lines fell into its own set, which happens with a binomial probability (Smith, 1978:
//! A Comparative Study of Set Associative Memory Mapping Algorithms). Only sums, products and quotients are used, so
//! the result is the same on every machine.

use super::{Cache, Model, ONE};

/// Points at which a bucket of reuse distances is evaluated.
const POINTS: u64 = 16;

/// `base` to a whole power, by squaring.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// Probability that a load with this reuse distance misses `ways` ways in `sets` sets. O(ways).
pub fn misses_at(distance: u64, sets: f64, ways: u32) -> f64 {
    if distance < u64::from(ways) {
        return 0.0;
    }
    if sets <= 1.0 {
        return 1.0;
    }
    let p = 1.0 / sets;
    // Fewer than `ways` of the lines in the set: the terms of the binomial distribution, each from the one before.
    let mut term = power(1.0 - p, distance);
    let mut below = term;
    for k in 1..u64::from(ways) {
        term *= (distance - k + 1) as f64 / k as f64 * (p / (1.0 - p));
        below += term;
    }
    (1.0 - below).clamp(0.0, 1.0)
}

/// Share of all loads that miss the cache, of which the task has `part` of [`ONE`] for itself: fewer sets.
pub fn misses(model: &Model, cache: Cache, part: u64) -> f64 {
    let sets = cache.sets() as f64 * part as f64 / ONE as f64;
    let (mut low, mut served) = (0u64, 0.0);
    for &(high, weight) in model.reuse.iter() {
        let width = high - low;
        let sum: f64 = (0..POINTS)
            .map(|i| 1.0 - misses_at(low + (2 * i + 1) * width / (2 * POINTS), sets, cache.ways))
            .sum();
        served += weight as f64 / ONE as f64 * sum / POINTS as f64;
        low = high;
    }
    (1.0 - served).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::cache::SetAssociative;
    use crate::counters::share;
    use crate::counters::stream::Loads;

    #[test]
    fn one_set_is_a_stack() {
        assert_eq!(misses_at(7, 1.0, 8), 0.0);
        assert_eq!(misses_at(8, 1.0, 8), 1.0);
        assert!(misses_at(8, 64.0, 8) < 1e-6);
        assert!(misses_at(100_000, 64.0, 8) > 0.999_999);
        // Two ways, two sets, three lines: at least two of three in one's own set, 4 of 8 cases.
        assert!((misses_at(3, 2.0, 2) - 0.5).abs() < 1e-12);
    }

    /// The formula against the structural cache, for three sizes and two associativities.
    #[test]
    fn the_formula_agrees_with_the_structure() {
        let model = Model {
            reuse: [(40, share(0.7)), (300, share(0.2)), (2000, share(0.06))].into(),
            burst: 0,
            entropy: 0,
            sites: 1,
            overlap: 1,
        };
        for (lines, ways) in [(64, 4), (64, 8), (512, 8), (1024, 4)] {
            let shape = Cache { bytes: lines * 64, ways };
            let mut cache = SetAssociative::new(shape);
            let stream = Loads::new(&model, 7, 0);
            stream.warm().for_each(|l| _ = cache.load(l));
            cache.reset();
            stream.take(60_000).for_each(|l| _ = cache.load(l));
            let (want, have) = (cache.miss_rate(), misses(&model, shape, ONE));
            assert!((want - have).abs() < 0.01, "{lines} lines, {ways} ways: {have:.4}, structure {want:.4}");
        }
    }

    /// Two equal streams in one cache: each does as if it had half of it.
    #[test]
    fn a_shared_cache_is_a_smaller_one() {
        let model = Model {
            reuse: [(100, share(0.6)), (800, share(0.35))].into(),
            burst: 0,
            entropy: 0,
            sites: 1,
            overlap: 1,
        };
        let shape = Cache { bytes: 1024 * 64, ways: 8 };
        let mut cache = SetAssociative::new(shape);
        let streams = [Loads::new(&model, 7, 1), Loads::new(&model, 7, 2)];
        streams.iter().for_each(|s| s.warm().for_each(|l| _ = cache.load(l)));
        cache.reset();
        let [a, b] = streams;
        for (x, y) in a.zip(b).take(50_000) {
            cache.load(x);
            cache.load(y);
        }
        let alone = misses(&model, shape, ONE);
        let shared = misses(&model, shape, ONE / 2);
        assert!(shared > alone + 0.05, "alone {alone:.3}, shared {shared:.3}");
        assert!((cache.miss_rate() - shared).abs() < 0.03, "{:.3} against {shared:.3}", cache.miss_rate());
    }
}
