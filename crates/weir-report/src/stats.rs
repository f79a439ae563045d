// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Distributions of durations in little memory, and means over seeds.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Samples of one distribution that are kept exactly; more go into a histogram.
pub const EXACT_MAX: usize = 4096;

/// A distribution of durations in nanoseconds. Percentiles are nearest-rank; all zero without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dist {
    pub min: u64,
    /// Rounded down.
    pub mean: u64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

/// Bucket of a display histogram: at least `from_ns`, below the next possible bound (an eighth of an
/// octave further).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    pub from_ns: u64,
    pub count: u64,
}

/// Collects durations: exact up to [`EXACT_MAX`], then in a histogram that keeps three significant
/// digits. Minimum, mean and maximum are always exact. Allocates nothing before the first sample.
#[derive(Debug, Default)]
pub struct Samples(Option<Box<Inner>>);

#[derive(Debug)]
struct Inner {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    store: Store,
}

#[derive(Debug)]
enum Store {
    Exact(Vec<u64>),
    Histogram(Histogram<u64>),
}

impl Inner {
    fn new() -> Self {
        Self { count: 0, sum: 0, min: u64::MAX, max: 0, store: Store::Exact(Vec::new()) }
    }

    fn count_in(&mut self, ns: u64, times: u64) {
        self.count += times;
        self.sum = self.sum.saturating_add(ns.saturating_mul(times));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    fn to_histogram(&mut self) -> &mut Histogram<u64> {
        if let Store::Exact(values) = &self.store {
            let mut h = Histogram::new(3).expect("three digits are within the library's range");
            for &v in values {
                h.record(v).expect("a resizing histogram takes every value");
            }
            self.store = Store::Histogram(h);
        }
        match &mut self.store {
            Store::Histogram(h) => h,
            Store::Exact(_) => unreachable!("converted above"),
        }
    }
}

impl Samples {
    /// Adds a duration.
    pub fn add(&mut self, ns: u64) {
        let inner = self.0.get_or_insert_with(|| Box::new(Inner::new()));
        inner.count_in(ns, 1);
        match &mut inner.store {
            Store::Exact(values) if values.len() < EXACT_MAX => values.push(ns),
            Store::Exact(_) => {
                inner.to_histogram().record(ns).expect("a resizing histogram takes every value");
            }
            Store::Histogram(h) => h.record(ns).expect("a resizing histogram takes every value"),
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Samples) {
        let Some(from) = &other.0 else { return };
        match &from.store {
            Store::Exact(values) => values.iter().for_each(|&v| self.add(v)),
            Store::Histogram(h) => {
                let inner = self.0.get_or_insert_with(|| Box::new(Inner::new()));
                inner.to_histogram().add(h).expect("a resizing histogram takes every other one");
                inner.count += from.count;
                inner.sum = inner.sum.saturating_add(from.sum);
                inner.min = inner.min.min(from.min);
                inner.max = inner.max.max(from.max);
            }
        }
    }

    /// The six numbers that reports show.
    pub fn dist(&mut self) -> Dist {
        let Some(inner) = &mut self.0 else { return Dist::default() };
        let (count, min, max) = (inner.count, inner.min, inner.max);
        let mut d = Dist { min, mean: inner.sum / count, max, ..Dist::default() };
        match &mut inner.store {
            Store::Exact(values) => {
                values.sort_unstable();
                let rank = |pct: u64| values[((count * pct).div_ceil(100).max(1) - 1) as usize];
                (d.p50, d.p95, d.p99) = (rank(50), rank(95), rank(99));
            }
            Store::Histogram(h) => {
                let rank = |q: f64| h.value_at_quantile(q).clamp(min, max);
                (d.p50, d.p95, d.p99) = (rank(0.50), rank(0.95), rank(0.99));
            }
        }
        d
    }

    /// The distribution in buckets an eighth of an octave wide, ascending, empty ones left out.
    pub fn bins(&self) -> Vec<Bin> {
        let mut values: Vec<(u64, u64)> = match self.0.as_deref() {
            None => return Vec::new(),
            Some(Inner { store: Store::Exact(v), .. }) => v.iter().map(|&v| (v, 1)).collect(),
            Some(Inner { store: Store::Histogram(h), min, .. }) => h
                .iter_recorded()
                .map(|i| (h.lowest_equivalent(i.value_iterated_to()).max(*min), i.count_at_value()))
                .collect(),
        };
        values.sort_unstable();
        let mut bins: Vec<Bin> = Vec::new();
        for (value, count) in values {
            let from_ns = bin_floor(value);
            match bins.last_mut() {
                Some(last) if last.from_ns == from_ns => last.count += count,
                _ => bins.push(Bin { from_ns, count }),
            }
        }
        bins
    }
}

/// Lower bound of the display bucket of `ns`: the value with all but its four leading bits cleared.
fn bin_floor(ns: u64) -> u64 {
    let bits = u64::BITS - ns.leading_zeros();
    let drop = bits.saturating_sub(4);
    ns >> drop << drop
}

/// Mean over several runs with the half-width of its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanCi {
    pub mean: f64,
    /// Zero for a single run: nothing is known of the spread then.
    pub ci95: f64,
    pub runs: usize,
}

impl MeanCi {
    /// Of the given values; zero of none.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len();
        if n == 0 {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        if n == 1 {
            return Self { mean, ci95: 0.0, runs: 1 };
        }
        let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        Self { mean, ci95: student_t95(n - 1) * (var / n as f64).sqrt(), runs: n }
    }

    /// The intervals have a common point, so that the order of the means says little.
    pub fn overlaps(&self, other: &Self) -> bool {
        (self.mean - other.mean).abs() <= self.ci95 + other.ci95
    }
}

/// Two-sided 95 % quantile of Student's t distribution: tabled to 30 degrees of freedom, then by
/// Fisher's expansion around the normal quantile (error below 0.001).
fn student_t95(df: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    match df {
        0 => f64::INFINITY,
        1..=30 => TABLE[df - 1],
        _ => {
            let (z, n) = (1.959_964_f64, df as f64);
            z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_zero() {
        assert_eq!(Samples::default().dist(), Dist::default());
        assert!(Samples::default().bins().is_empty());
        assert_eq!(size_of::<Samples>(), 8, "a task without samples must cost one pointer");
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut s = Samples::default();
        (1..=200).rev().for_each(|v| s.add(v));
        assert_eq!(s.dist(), Dist { min: 1, mean: 100, p50: 100, p95: 190, p99: 198, max: 200 });
        let mut one = Samples::default();
        one.add(7);
        assert_eq!(one.dist(), Dist { min: 7, mean: 7, p50: 7, p95: 7, p99: 7, max: 7 });
    }

    #[test]
    fn student_t_matches_printed_tables() {
        for (df, t) in
            [(1, 12.706), (4, 2.776), (30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980), (1_000_000, 1.960)]
        {
            assert!((student_t95(df) - t).abs() < 0.0011, "df {df}: {}", student_t95(df));
        }
    }

    #[test]
    fn confidence_interval_of_five() {
        let m = MeanCi::of(&[10.0, 12.0, 14.0, 16.0, 18.0]);
        assert_eq!(m.mean, 14.0);
        assert!((m.ci95 - 2.776 * (10.0f64 / 5.0).sqrt()).abs() < 1e-9);
        assert_eq!(MeanCi::of(&[3.0]), MeanCi { mean: 3.0, ci95: 0.0, runs: 1 });
        assert!(m.overlaps(&MeanCi { mean: 17.0, ci95: 0.0, runs: 1 }));
        assert!(!m.overlaps(&MeanCi { mean: 27.0, ci95: 0.0, runs: 1 }));
    }

    proptest! {
        /// Past the exact bound every percentile stays within three significant digits, and merging in
        /// any split gives the same numbers as adding one by one.
        #[test]
        fn histogram_is_close(values in prop::collection::vec(0u64..10_000_000_000, 4000..9000), cut in 0usize..4000) {
            let (mut all, mut a, mut b) = (Samples::default(), Samples::default(), Samples::default());
            values.iter().for_each(|&v| all.add(v));
            values[..cut].iter().for_each(|&v| a.add(v));
            values[cut..].iter().for_each(|&v| b.add(v));
            a.merge(&b);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let n = sorted.len() as u64;
            let (d, m) = (all.dist(), a.dist());
            prop_assert_eq!(d, m);
            prop_assert_eq!((d.min, d.max), (sorted[0], sorted[sorted.len() - 1]));
            prop_assert_eq!(d.mean, sorted.iter().sum::<u64>() / n);
            for (pct, got) in [(50, d.p50), (95, d.p95), (99, d.p99)] {
                let want = sorted[((n * pct).div_ceil(100) - 1) as usize];
                prop_assert!(got.abs_diff(want) <= want / 1000 + 1, "p{}: {} for {}", pct, got, want);
            }
            prop_assert_eq!(all.bins().iter().map(|b| b.count).sum::<u64>(), n);
            prop_assert!(all.bins().windows(2).all(|w| w[0].from_ns < w[1].from_ns));
        }
    }
}
