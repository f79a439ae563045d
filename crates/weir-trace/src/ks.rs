// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Distributions fitted to samples, and how well they fit (Kolmogorov and Smirnov).

/// A distribution of times in ns, in the words of a workload file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Constant(u64),
    Uniform(u64, u64),
    Normal {
        mean: f64,
        deviation: f64,
    },
    Exponential {
        mean: f64,
    },
    Weibull {
        scale: f64,
        shape: f64,
    },
    /// Bounds of buckets with equal weights.
    Histogram(Vec<(u64, u64)>),
}

/// A shape with its goodness.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fit {
    pub shape: Shape,
    /// Largest distance of the two distribution functions.
    pub distance: f64,
    /// Probability of a distance as large if the samples were drawn from the shape. The parameters come from the same
    /// samples, so that it is too high.
    pub p: f64,
    pub samples: usize,
    pub max: u64,
}

/// A shape that is no further than this from the samples is taken for what it is.
const GOOD: f64 = 0.05;

/// Most buckets of a histogram.
const BUCKETS: usize = 24;

/// The simplest shape that fits, else a histogram.
pub(crate) fn fit(samples: &mut [u64]) -> Option<Fit> {
    samples.sort_unstable();
    let (&min, &max) = (samples.first()?, samples.last()?);
    let n = samples.len() as f64;
    let mean = samples.iter().map(|s| *s as f64).sum::<f64>() / n;
    let variance = samples.iter().map(|s| (*s as f64 - mean).powi(2)).sum::<f64>() / n;
    let deviation = variance.sqrt();
    if mean <= 0.0 {
        return None;
    }
    let done = |shape: Shape, distance: f64| Fit {
        shape,
        distance,
        p: significance(distance, samples.len()),
        samples: samples.len(),
        max,
    };
    // Times are measured to about a microsecond.
    if max - min <= 1000.max((mean * 0.01) as u64) {
        return Some(done(Shape::Constant(mean.round() as u64), 0.0));
    }
    let mut shapes = vec![Shape::Uniform(min, max), Shape::Exponential { mean }];
    if deviation < mean {
        shapes.push(Shape::Normal { mean, deviation });
    }
    shapes.extend(weibull(samples));
    let mut best: Option<(Shape, f64)> = None;
    for shape in shapes {
        let d = distance(samples, |x| truncated(&shape, x, max as f64));
        if best.as_ref().is_none_or(|b| d < b.1) {
            best = Some((shape, d));
        }
    }
    let (shape, d) = best?;
    if d <= GOOD {
        return Some(done(shape, d));
    }
    let parts = BUCKETS.min(samples.len());
    let mut bounds = Vec::with_capacity(parts);
    for i in 0..parts {
        let (from, to) = (i * samples.len() / parts, (i + 1) * samples.len() / parts);
        bounds.push((samples[from], samples[to - 1]));
    }
    let shape = Shape::Histogram(bounds);
    let d = distance(samples, |x| cumulative(&shape, x));
    Some(done(shape, d))
}

/// Scale and shape by the method of moments of the logarithms.
fn weibull(samples: &[u64]) -> Option<Shape> {
    let logs: Vec<f64> = samples.iter().filter(|s| **s > 0).map(|s| libm::log(*s as f64)).collect();
    if logs.len() < 3 || logs.len() < samples.len() {
        return None;
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let deviation = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / n).sqrt();
    if deviation <= 1e-9 {
        return None;
    }
    let shape = std::f64::consts::PI / (deviation * 6f64.sqrt());
    // Euler's constant is the mean of the negative logarithm of an exponential.
    let scale = libm::exp(mean + 0.577_215_664_901_532_9 / shape);
    (shape.is_finite() && scale.is_finite() && (0.05..50.0).contains(&shape))
        .then_some(Shape::Weibull { scale, shape })
}

/// The distribution function under the condition that nothing exceeds `max`.
fn truncated(shape: &Shape, x: f64, max: f64) -> f64 {
    let all = cumulative(shape, max);
    let none = cumulative(shape, 0.0);
    if all > none { ((cumulative(shape, x) - none) / (all - none)).clamp(0.0, 1.0) } else { 1.0 }
}

fn cumulative(shape: &Shape, x: f64) -> f64 {
    match shape {
        Shape::Constant(c) => f64::from(x >= *c as f64),
        Shape::Uniform(a, b) => ((x - *a as f64) / (*b - *a).max(1) as f64).clamp(0.0, 1.0),
        Shape::Normal { mean, deviation } => {
            0.5 * (1.0 + libm::erf((x - mean) / (deviation * std::f64::consts::SQRT_2)))
        }
        Shape::Exponential { mean } => 1.0 - libm::exp(-x.max(0.0) / mean),
        Shape::Weibull { scale, shape } => 1.0 - libm::exp(-libm::pow(x.max(0.0) / scale, *shape)),
        Shape::Histogram(parts) => {
            let share = 1.0 / parts.len() as f64;
            let of = |&(a, b): &(u64, u64)| {
                if b > a {
                    ((x - a as f64) / (b - a) as f64).clamp(0.0, 1.0)
                } else {
                    f64::from(x >= a as f64)
                }
            };
            parts.iter().map(|p| share * of(p)).sum()
        }
    }
}

/// Largest distance between the samples, ascending, and a distribution function.
pub(crate) fn distance(samples: &[u64], of: impl Fn(f64) -> f64) -> f64 {
    let n = samples.len() as f64;
    let mut d = 0f64;
    let mut i = 0;
    while i < samples.len() {
        let x = samples[i];
        let mut j = i;
        while j < samples.len() && samples[j] == x {
            j += 1;
        }
        // Times are whole: below a value counts what is less by half a nanosecond.
        let (below, at) = (of(x as f64 - 0.5), of(x as f64));
        d = d.max((below - i as f64 / n).abs()).max((at - j as f64 / n).abs());
        i = j;
    }
    d
}

/// Probability of a distance as large among `n` samples (Kolmogorov's limit, with Stephens' correction).
pub(crate) fn significance(distance: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    let l = (root + 0.12 + 0.11 / root) * distance;
    if l < 0.2 {
        return 1.0;
    }
    let sum: f64 = (1..=100)
        .map(|k| {
            let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
            sign * libm::exp(-2.0 * f64::from(k * k) * l * l)
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles at the middle of equal parts: samples that fit perfectly.
    fn ideal(n: usize, quantile: impl Fn(f64) -> f64) -> Vec<u64> {
        (0..n).map(|i| quantile((i as f64 + 0.5) / n as f64) as u64).collect()
    }

    #[test]
    fn each_shape_is_recognised() {
        let mut s = ideal(500, |_| 2e6);
        assert_eq!(fit(&mut s).map(|f| f.shape), Some(Shape::Constant(2_000_000)));
        let mut s = ideal(500, |u| 1e6 + u * 3e6);
        let f = fit(&mut s).expect("samples");
        assert!(matches!(f.shape, Shape::Uniform(..)) && f.distance < 0.01 && f.p > 0.99, "{f:?}");
        let mut s = ideal(500, |u| -(1.0 - u).ln() * 5e6);
        let f = fit(&mut s).expect("samples");
        assert!(
            matches!(f.shape, Shape::Exponential { mean } | Shape::Weibull { scale: mean, .. } if (mean / 5e6 - 1.0).abs() < 0.05),
            "{f:?}"
        );
        let mut s = ideal(500, |u| 5e6 * (-(1.0 - u).ln()).powf(1.0 / 3.0));
        let f = fit(&mut s).expect("samples");
        assert!(
            matches!(f.shape, Shape::Weibull { shape, .. } if (shape - 3.0).abs() < 0.2)
                || matches!(f.shape, Shape::Normal { .. }),
            "{f:?}"
        );
    }

    #[test]
    fn what_has_no_shape_becomes_a_histogram() {
        let mut s: Vec<u64> = ideal(300, |u| if u < 0.5 { 1e6 + u * 1e5 } else { 9e6 + u * 1e5 });
        let f = fit(&mut s).expect("samples");
        assert!(matches!(f.shape, Shape::Histogram(_)) && f.distance < 0.05, "{f:?}");
    }

    /// The table of critical values: for large n, 1.358 / sqrt(n) is exceeded with a probability of 5 %.
    #[test]
    fn significance_is_that_of_the_tables() {
        assert!((significance(1.358 / 100.0, 10_000) - 0.05).abs() < 0.002);
        assert!((significance(0.41, 10) - 0.05).abs() < 0.01);
    }

    /// Some shape is always near a few samples; their mean may be far from its own.
    #[test]
    fn a_few_samples_stay_what_they_are() {
        let mut s = [1_000_000, 1_100_000, 9_000_000, 40_000_000];
        let f = fit(&mut s).expect("samples");
        assert_eq!(f.shape, Shape::Histogram(s.iter().map(|&ns| (ns, ns)).collect()));
    }

    #[test]
    fn nothing_to_fit() {
        assert_eq!(fit(&mut []), None);
        assert_eq!(fit(&mut [0, 0]), None);
        assert_eq!(fit(&mut [7]).map(|f| f.shape), Some(Shape::Constant(7)));
    }
}
