// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Distributions of durations in little memory, and means over seeds.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Samples of one distribution that are kept exactly; more go into a histogram.
pub const EXACT_MAX: usize = 4096;

/// A distribution of durations in nanoseconds. Percentiles are nearest-rank. Without samples all are zero here, `null` in
/// JSON, and a dash in tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "DistJson", from = "DistJson")]
pub struct Dist {
    pub min: u64,
    /// Rounded down.
    pub mean: u64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
    /// How many samples there are.
    pub count: u64,
}

/// A distribution in `summary.json`.
#[derive(Serialize, Deserialize)]
struct DistJson {
    min: Option<u64>,
    mean: Option<u64>,
    p50: Option<u64>,
    p95: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
    /// Summaries of earlier versions have none.
    #[serde(default)]
    count: Option<u64>,
}

impl From<Dist> for DistJson {
    fn from(d: Dist) -> Self {
        let some = |n: u64| (!d.is_empty()).then_some(n);
        Self {
            min: some(d.min),
            mean: some(d.mean),
            p50: some(d.p50),
            p95: some(d.p95),
            p99: some(d.p99),
            max: some(d.max),
            count: Some(d.count),
        }
    }
}

impl From<DistJson> for Dist {
    fn from(j: DistJson) -> Self {
        let number = |n: Option<u64>| n.unwrap_or(0);
        Self {
            min: number(j.min),
            mean: number(j.mean),
            p50: number(j.p50),
            p95: number(j.p95),
            p99: number(j.p99),
            max: number(j.max),
            count: j.count.unwrap_or_else(|| j.min.is_some().into()),
        }
    }
}

impl Dist {
    /// There is no sample, so no number of it means anything.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One of its numbers as a report shows it, by `show`; a dash where there is none.
    pub fn show(&self, number: u64, show: impl FnOnce(u64) -> String) -> String {
        if self.is_empty() { "–".into() } else { show(number) }
    }
}

/// A histogram with buckets like those of an HDR histogram of two significant digits: bounds, both inclusive, and how many
/// samples lie between them. Empty buckets are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets(pub Vec<[u64; 3]>);

/// Significant digits of [`Buckets`].
const DIGITS: u8 = 2;

/// Bucket of a display histogram: at least `from_ns`, below the next possible bound (an eighth of an
/// octave further).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    pub from_ns: u64,
    pub count: u64,
}

/// Collects durations: exact up to [`EXACT_MAX`], then in a histogram that keeps three significant
/// digits. Minimum, mean and maximum are always exact. Allocates nothing before the first sample.
#[derive(Debug)]
pub struct Samples(Store);

#[derive(Debug)]
enum Store {
    Exact(Vec<u64>),
    Histogram(Box<Rounded>),
}

/// Samples that wait until they are rounded together.
const BATCH: usize = 256;

/// Many samples: rounded values, and what is known exactly.
#[derive(Debug)]
struct Rounded {
    /// Those that came last, in none of the other fields yet.
    batch: Vec<u64>,
    values: Histogram<u64>,
    sum: u64,
    min: u64,
    max: u64,
}

const TAKES_ALL: &str = "a resizing histogram takes every value";

impl Default for Samples {
    fn default() -> Self {
        Self(Store::Exact(Vec::new()))
    }
}

impl Rounded {
    fn new(exact: &[u64]) -> Box<Self> {
        let values = Histogram::new(3).expect("three digits are within the library's range");
        let batch = Vec::with_capacity(BATCH);
        let mut rounded = Box::new(Self { batch, values, sum: 0, min: u64::MAX, max: 0 });
        exact.iter().for_each(|&v| rounded.add(v));
        rounded
    }

    #[inline]
    fn add(&mut self, ns: u64) {
        self.batch.push(ns);
        if self.batch.len() == BATCH {
            self.fold();
        }
    }

    /// Round what waits.
    #[inline(never)]
    fn fold(&mut self) {
        for &ns in &self.batch {
            self.values.record(ns).expect(TAKES_ALL);
            self.sum = self.sum.saturating_add(ns);
            self.min = self.min.min(ns);
            self.max = self.max.max(ns);
        }
        self.batch.clear();
    }
}

impl Samples {
    /// Adds a duration.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        match &mut self.0 {
            Store::Exact(values) if values.len() < EXACT_MAX => values.push(ns),
            Store::Exact(_) => self.rounded().add(ns),
            Store::Histogram(rounded) => rounded.add(ns),
        }
    }

    /// The histogram, to which the samples are converted if they were exact yet.
    #[inline(never)]
    fn rounded(&mut self) -> &mut Rounded {
        if let Store::Exact(values) = &self.0 {
            self.0 = Store::Histogram(Rounded::new(values));
        }
        match &mut self.0 {
            Store::Histogram(rounded) => rounded,
            Store::Exact(_) => unreachable!("converted above"),
        }
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Samples) {
        match (&other.0, &mut self.0) {
            (Store::Exact(from), Store::Exact(to)) if to.len() + from.len() <= EXACT_MAX => to.extend(from),
            (Store::Exact(values), _) => values.iter().for_each(|&v| self.add(v)),
            (Store::Histogram(from), _) => {
                let to = self.rounded();
                from.batch.iter().for_each(|&v| to.add(v));
                to.values.add(&from.values).expect(TAKES_ALL);
                to.sum = to.sum.saturating_add(from.sum);
                to.min = to.min.min(from.min);
                to.max = to.max.max(from.max);
            }
        }
    }

    /// The six numbers that reports show.
    pub fn dist(&mut self) -> Dist {
        match &mut self.0 {
            Store::Exact(values) => {
                values.sort_unstable();
                let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
                    return Dist::default();
                };
                let rank = |pct: usize| values[(values.len() * pct).div_ceil(100) - 1];
                let sum: u128 = values.iter().map(|&v| u128::from(v)).sum();
                let mean = (sum / values.len() as u128) as u64;
                let count = values.len() as u64;
                Dist { min, mean, p50: rank(50), p95: rank(95), p99: rank(99), max, count }
            }
            Store::Histogram(r) => {
                r.fold();
                let rank = |q: f64| r.values.value_at_quantile(q).clamp(r.min, r.max);
                let (p50, p95, p99) = (rank(0.50), rank(0.95), rank(0.99));
                let count = r.values.len();
                Dist { min: r.min, mean: r.sum / count.max(1), p50, p95, p99, max: r.max, count }
            }
        }
    }

    /// The whole distribution, ascending.
    pub fn buckets(&mut self) -> Buckets {
        let mut all = Histogram::<u64>::new(DIGITS).expect("two digits are within the library's range");
        match &mut self.0 {
            Store::Exact(values) => values.iter().for_each(|&v| all.record(v).expect(TAKES_ALL)),
            Store::Histogram(r) => {
                r.fold();
                for i in r.values.iter_recorded() {
                    all.record_n(i.value_iterated_to(), i.count_at_value()).expect(TAKES_ALL);
                }
            }
        }
        let bucket = |value: u64, n: u64| [all.lowest_equivalent(value), all.highest_equivalent(value), n];
        Buckets(all.iter_recorded().map(|i| bucket(i.value_iterated_to(), i.count_at_value())).collect())
    }

    /// The distribution in buckets an eighth of an octave wide, ascending, empty ones left out.
    pub fn bins(&mut self) -> Vec<Bin> {
        let mut values: Vec<(u64, u64)> = match &mut self.0 {
            Store::Exact(v) => v.iter().map(|&v| (v, 1)).collect(),
            Store::Histogram(r) => {
                r.fold();
                let value = |v: u64| r.values.lowest_equivalent(v).max(r.min);
                r.values.iter_recorded().map(|i| (value(i.value_iterated_to()), i.count_at_value())).collect()
            }
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
    /// Zero where all runs gave the same, and for a single run, of whose spread nothing is known.
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
        // Rounding must not turn equal values into a spread.
        if values.iter().all(|v| *v == values[0]) {
            return Self { mean: values[0], ci95: 0.0, runs: n };
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        Self { mean, ci95: student_t95(n - 1) * (var / n as f64).sqrt(), runs: n }
    }

    /// The intervals have a common point, so that the order of the means says little.
    pub fn overlaps(&self, other: &Self) -> bool {
        (self.mean - other.mean).abs() <= self.ci95 + other.ci95
    }
}

/// How often something came true in independent trials, with E. B. Wilson's interval ("Probable inference,
/// the law of succession, and statistical inference", 1927), which holds for few trials and near 0 and 1 too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ratio {
    pub hits: u64,
    pub trials: u64,
    /// `hits / trials`; 0 without trials.
    pub ratio: f64,
    /// Bounds of the 95 % interval; 0 and 1 without trials.
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    /// `hits` of `trials`, at most all of them.
    pub fn of(hits: u64, trials: u64) -> Self {
        if trials == 0 {
            return Self { high: 1.0, ..Self::default() };
        }
        let (n, p, z) = (trials as f64, hits as f64 / trials as f64, 1.959_964_f64);
        let shrink = 1.0 + z * z / n;
        let middle = (p + z * z / (2.0 * n)) / shrink;
        let half = z / shrink * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        // At the ends the bound is exact; rounding must not move it.
        let low = if hits == 0 { 0.0 } else { (middle - half).max(0.0) };
        let high = if hits == trials { 1.0 } else { (middle + half).min(1.0) };
        Self { hits, trials, ratio: p, low, high }
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

    /// A task without a finished job had a response time of 0.
    #[test]
    fn nothing_is_null_and_zero_is_zero() {
        let json = |d: Dist| serde_json::to_value(d).expect("numbers");
        assert!(json(Dist::default())["p99"].is_null());
        assert_eq!(json(Dist::default())["count"], 0);
        let mut free = Samples::default();
        free.add(0);
        assert_eq!(json(free.dist())["p99"], 0);
        for d in [Dist::default(), free.dist()] {
            assert_eq!(serde_json::from_value::<Dist>(json(d)).expect("our own"), d);
        }
        let old = r#"{"min":1,"mean":1,"p50":1,"p95":1,"p99":1,"max":1}"#;
        assert!(!serde_json::from_str::<Dist>(old).expect("an earlier version's").is_empty());
    }

    #[test]
    fn buckets_have_every_sample_once() {
        for n in [10u64, 20_000] {
            let mut s = Samples::default();
            (0..n).for_each(|i| s.add(i * i));
            let buckets = s.buckets().0;
            assert_eq!(buckets.iter().map(|b| b[2]).sum::<u64>(), n);
            assert!(buckets.windows(2).all(|w| w[0][1] < w[1][0]), "ascending, apart");
            // Two digits, and a third where a sample was rounded to three before.
            assert!(buckets.iter().all(|b| b[1] - b[0] <= b[0] / 50), "narrow");
        }
    }

    #[test]
    fn nothing_is_zero() {
        assert_eq!(Samples::default().dist(), Dist::default());
        assert!(Samples::default().bins().is_empty());
        assert_eq!(size_of::<Samples>(), 24, "a million tasks hold two of them each");
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut s = Samples::default();
        (1..=200).rev().for_each(|v| s.add(v));
        assert_eq!(s.dist(), Dist { min: 1, mean: 100, p50: 100, p95: 190, p99: 198, max: 200, count: 200 });
        let mut one = Samples::default();
        one.add(7);
        assert_eq!(one.dist(), Dist { min: 7, mean: 7, p50: 7, p95: 7, p99: 7, max: 7, count: 1 });
    }

    #[test]
    fn student_t_matches_printed_tables() {
        for (df, t) in
            [(1, 12.706), (4, 2.776), (30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980), (1_000_000, 1.960)]
        {
            assert!((student_t95(df) - t).abs() < 0.0011, "df {df}: {}", student_t95(df));
        }
    }

    /// Values of Newcombe's comparison of methods (1998), table I, and the ends.
    #[test]
    fn wilson_matches_a_printed_table() {
        for (hits, trials, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let r = Ratio::of(hits, trials);
            assert!((r.low - low).abs() < 5e-5 && (r.high - high).abs() < 5e-5, "{r:?}");
        }
        assert_eq!(Ratio::of(20, 20).high, 1.0);
        assert_eq!(Ratio::of(0, 0), Ratio { high: 1.0, ..Ratio::default() });
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
