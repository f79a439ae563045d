// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Drawing computing times and arrivals from a task's stream of random numbers.
//!
//! Mathematics goes through `libm`, so that a seed gives the same times on every machine.

use crate::rng::Rng;
use crate::workload::{Arrivals, Dist, Shape};

/// Draws after which a truncated distribution gives its mean instead; the bounds make it need a few.
const PATIENCE: u32 = 1000;

/// Uniform in [0, 1), 53 bits.
fn unit(rng: &mut Rng) -> f64 {
    (rng.next() >> 11) as f64 / (1u64 << 53) as f64
}

/// Exponentially distributed with this mean, ns.
fn exponential(rng: &mut Rng, mean_ns: u64) -> u64 {
    (-libm::log(1.0 - unit(rng)) * mean_ns as f64) as u64
}

/// Standard normal (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(rng)));
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(rng))
}

impl Dist {
    /// One computing time, ns.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let drawn = match &self.shape {
            Shape::Normal { mean_ns, deviation_ns } if self.clamp => {
                (*mean_ns as f64 + normal(rng) * *deviation_ns as f64) as u64
            }
            Shape::Normal { mean_ns, deviation_ns } => self.truncated_normal(rng, *mean_ns, *deviation_ns),
            // Below the bound the distribution function is inverted at a uniform share of its value there.
            Shape::Exponential { mean_ns } => self.inverted(rng, *mean_ns as f64, 1.0),
            Shape::Weibull { scale_ns, shape } => self.inverted(rng, *scale_ns as f64, *shape),
            Shape::Histogram(buckets) => {
                let at = unit(rng);
                let found = buckets.iter().find(|b| at < b.2).or(buckets.last());
                found.map_or(self.min_ns, |b| rng.between(b.0, b.1))
            }
        };
        drawn.clamp(self.min_ns, self.max_ns)
    }

    fn inverted(&self, rng: &mut Rng, scale: f64, shape: f64) -> u64 {
        let below = |t: u64| 1.0 - libm::exp(-libm::pow(t as f64 / scale, shape));
        let (low, high) = if self.clamp { (0.0, 1.0) } else { (below(self.min_ns), below(self.max_ns)) };
        let at = low + unit(rng) * (high - low);
        (scale * libm::pow(-libm::log(1.0 - at), 1.0 / shape)) as u64
    }

    /// By rejection: from the normal distribution, or where the bounds are closer than its deviation, from the
    /// uniform one between them.
    fn truncated_normal(&self, rng: &mut Rng, mean_ns: u64, deviation_ns: u64) -> u64 {
        let (mean, deviation) = (mean_ns as f64, deviation_ns as f64);
        let narrow = self.max_ns - self.min_ns < deviation_ns;
        for _ in 0..PATIENCE {
            let value = if narrow {
                let value = rng.between(self.min_ns, self.max_ns);
                let off = (value as f64 - mean) / deviation;
                if unit(rng) >= libm::exp(-0.5 * off * off) {
                    continue;
                }
                value as f64
            } else {
                mean + normal(rng) * deviation
            };
            if value >= self.min_ns as f64 && value <= self.max_ns as f64 {
                return value as u64;
            }
        }
        mean_ns
    }
}

/// Where an arrival process stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// The last arrival, ns after the start of the process.
    at_ns: u64,
    /// Arrivals so far.
    count: u64,
    /// The phase it is in, and when that ends.
    phase: usize,
    phase_end_ns: u64,
}

impl Flow {
    /// The next arrival, ns after the start; `u64::MAX` where a list has ended.
    pub fn next(&mut self, rng: &mut Rng, arrivals: &Arrivals) -> u64 {
        let at = match arrivals {
            Arrivals::Poisson { mean_ns, least_ns } => {
                let more = exponential(rng, mean_ns.saturating_sub(*least_ns));
                self.at_ns.saturating_add(*least_ns).saturating_add(more)
            }
            Arrivals::Bursts { count, gap_ns, pause_ns } => {
                let first = self.count.is_multiple_of(u64::from(*count).max(1));
                self.at_ns.saturating_add(if first { exponential(rng, *pause_ns) } else { *gap_ns })
            }
            Arrivals::Modulated { phases } => {
                if self.count == 0 && self.phase_end_ns == 0 {
                    self.phase_end_ns = exponential(rng, phases[0].length_ns);
                }
                let mut from = self.at_ns;
                loop {
                    let phase = phases[self.phase];
                    // Memoryless: what a phase left of a gap need not be remembered.
                    let at = match phase.gap_ns {
                        u64::MAX => u64::MAX,
                        gap => from.saturating_add(exponential(rng, gap)),
                    };
                    if at <= self.phase_end_ns || self.phase_end_ns == u64::MAX {
                        break at;
                    }
                    from = self.phase_end_ns;
                    self.phase = 1 - self.phase;
                    let length = exponential(rng, phases[self.phase].length_ns).max(1);
                    self.phase_end_ns = from.saturating_add(length);
                }
            }
            Arrivals::List(times) => times.get(self.count as usize).copied().unwrap_or(u64::MAX),
        };
        self.at_ns = at;
        self.count += 1;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Phase;

    const N: usize = 20_000;

    fn sample(dist: &Dist) -> Vec<u64> {
        let mut rng = Rng::new(7, 1);
        (0..N).map(|_| dist.draw(&mut rng)).collect()
    }

    fn mean(values: &[u64]) -> f64 {
        values.iter().sum::<u64>() as f64 / values.len() as f64
    }

    fn near(value: f64, want: f64, within: f64) {
        assert!((value - want).abs() <= within * want, "{value} is not {want}");
    }

    fn dist(shape: Shape, max_ns: u64) -> Dist {
        Dist { shape, min_ns: 1, max_ns, clamp: false }
    }

    #[test]
    fn draws_have_the_mean_of_their_distribution_and_keep_its_bounds() {
        let normal = dist(Shape::Normal { mean_ns: 1_000_000, deviation_ns: 100_000 }, 2_000_000);
        near(mean(&sample(&normal)), 1e6, 0.01);
        // Half of it cut off: the mean of the half below is the mean less deviation * sqrt(2 / pi).
        let half = dist(Shape::Normal { mean_ns: 1_000_000, deviation_ns: 100_000 }, 1_000_000);
        near(mean(&sample(&half)), 1e6 - 1e5 * 0.7979, 0.01);
        assert!(sample(&half).iter().all(|&v| v <= 1_000_000));
        // Bounds much closer than the deviation: uniform between them.
        let flat = Dist { min_ns: 900, ..dist(Shape::Normal { mean_ns: 1000, deviation_ns: 1 << 40 }, 1100) };
        near(mean(&sample(&flat)), 1000.0, 0.01);
        let exponential = dist(Shape::Exponential { mean_ns: 1_000_000 }, 100_000_000);
        near(mean(&sample(&exponential)), 1e6, 0.03);
        // Truncated at its mean: 1 - 1 / (e - 1) of it.
        let cut = dist(Shape::Exponential { mean_ns: 1_000_000 }, 1_000_000);
        near(mean(&sample(&cut)), 0.418e6, 0.02);
        // Gamma(1 + 1/2) of the scale.
        let weibull = dist(Shape::Weibull { scale_ns: 1_000_000, shape: 2.0 }, 100_000_000);
        near(mean(&sample(&weibull)), 0.8862e6, 0.02);
        let steps: Box<[_]> = [(10, 10, 0.5), (20, 40, 1.0)].into();
        near(mean(&sample(&dist(Shape::Histogram(steps), 40))), 20.0, 0.02);
    }

    #[test]
    fn clamped_draws_lie_on_the_bound() {
        let clamped = Dist {
            clamp: true,
            ..dist(Shape::Normal { mean_ns: 1_000_000, deviation_ns: 100_000 }, 1_000_000)
        };
        let on_bound = sample(&clamped).iter().filter(|&&v| v == 1_000_000).count();
        near(on_bound as f64, N as f64 / 2.0, 0.05);
    }

    fn arrivals(a: &Arrivals, n: usize) -> Vec<u64> {
        let (mut flow, mut rng) = (Flow::default(), Rng::new(3, 1));
        (0..n).map(|_| flow.next(&mut rng, a)).collect()
    }

    #[test]
    fn arrivals_have_their_mean_gap() {
        let on = Phase { gap_ns: 1_000, length_ns: 50_000 };
        let off = Phase { gap_ns: u64::MAX, length_ns: 150_000 };
        for process in [
            Arrivals::Poisson { mean_ns: 10_000, least_ns: 0 },
            Arrivals::Poisson { mean_ns: 10_000, least_ns: 9_000 },
            Arrivals::Bursts { count: 4, gap_ns: 100, pause_ns: 39_700 },
            Arrivals::Modulated { phases: [on, off] },
            Arrivals::Modulated { phases: [on, Phase { gap_ns: 10_000, length_ns: 10_000 }] },
        ] {
            let times = arrivals(&process, N);
            assert!(times.windows(2).all(|w| w[0] <= w[1]));
            near(times[N - 1] as f64 / N as f64, process.mean_ns() as f64, 0.1);
        }
    }

    #[test]
    fn bursts_are_bursts_and_lists_are_lists() {
        let times = arrivals(&Arrivals::Bursts { count: 3, gap_ns: 5, pause_ns: 1_000_000 }, 9);
        let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(gaps.iter().enumerate().all(|(i, &g)| (i % 3 != 2) == (g == 5)), "{gaps:?}");
        let listed = arrivals(&Arrivals::List([4, 4, 9].into()), 4);
        assert_eq!(listed, [4, 4, 9, u64::MAX]);
    }

    /// The gaps of a modulated process vary more than those of a Poisson process of the same mean.
    #[test]
    fn modulated_arrivals_come_in_bursts() {
        let variation = |a: &Arrivals| {
            let times = arrivals(a, N);
            let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64 / mean / mean
        };
        let on = Phase { gap_ns: 1_000, length_ns: 50_000 };
        let off = Phase { gap_ns: u64::MAX, length_ns: 150_000 };
        near(variation(&Arrivals::Poisson { mean_ns: 4_000, least_ns: 0 }), 1.0, 0.1);
        assert!(variation(&Arrivals::Modulated { phases: [on, off] }) > 10.0);
    }
}
