// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Distributions of the periods of random task sets. All times are nanoseconds.

use super::args::Args;
use crate::error::Error;
use crate::workload::dice::Dice;
use crate::workload::units;

/// Periods of the runnables of an engine controller, ms, and how many of a hundred have them: S. Kramer,
/// D. Ziegenbein and A. Hamann, "Real world automotive benchmarks for free", 2015, table III. The 15 of a hundred
/// that follow the crankshaft's angle are left out; the others keep their proportions.
const AUTOMOTIVE: [(u64, u64); 9] =
    [(1, 3), (2, 2), (5, 2), (10, 25), (20, 25), (50, 3), (100, 20), (200, 1), (1000, 4)];

/// Words of `dist`, in the order of [`Shape`].
pub(super) const DISTRIBUTIONS: &[&str] = &["loguniform", "uniform", "harmonic", "list", "automotive"];

/// Most periods in a list.
const MAX_LIST: usize = 1000;

/// How periods are drawn.
#[derive(Debug)]
pub(super) enum Shape {
    LogUniform,
    Uniform,
    /// The shortest period times a power of the factor, each power as likely.
    Harmonic {
        factor: u64,
    },
    /// Periods with their weights.
    Weighted(Vec<(u64, u64)>),
}

/// A distribution with its bounds.
#[derive(Debug)]
pub(super) struct Periods {
    pub min: u64,
    pub max: u64,
    /// Periods of the continuous distributions are multiples of it.
    pub grain: u64,
    pub shape: Shape,
}

impl Periods {
    /// Read `pmin` and `pmax`.
    pub fn between(args: &Args<'_>, grain: u64, shape: Shape) -> Result<Self, Error> {
        let (min, max) = (args.ns("pmin", 1_000)?, args.ns("pmax", 1_000)?);
        if min > max {
            return Err(args.wrong("pmin", "pmin is longer than pmax", "swap them"));
        }
        if grain > max {
            return Err(args.wrong("grain", "grain is longer than pmax", "choose a finer grain"));
        }
        Ok(Self { min, max, grain, shape })
    }

    /// Read `dist` with all that belongs to it. Multiples of `unit` where that is not 0.
    pub fn parse(args: &Args<'_>, unit: u64) -> Result<Self, Error> {
        let grain = args.ns("grain", 1)?.max(unit);
        let shape = match DISTRIBUTIONS[args.choice("dist", DISTRIBUTIONS)?] {
            "loguniform" => Shape::LogUniform,
            "uniform" => Shape::Uniform,
            "harmonic" => Shape::Harmonic { factor: args.count("factor", 2, 1000)? },
            "list" => Shape::Weighted(list(args)?),
            _ => Shape::Weighted(AUTOMOTIVE.map(|(ms, share)| (ms * 1_000_000, share)).to_vec()),
        };
        let periods = Self::between(args, grain, shape)?;
        if unit > 0 && periods.values().iter().any(|p| !p.is_multiple_of(unit)) {
            return Err(args.wrong(
                "unit",
                "periods or their bounds are not multiples of `unit`",
                "choose a unit that divides all of them, such as `unit=1ms`",
            ));
        }
        Ok(periods)
    }

    /// All periods, where they can be counted: harmonic ones and lists; else the bounds.
    fn values(&self) -> Vec<u64> {
        match &self.shape {
            Shape::LogUniform | Shape::Uniform => vec![self.min, self.max],
            Shape::Harmonic { factor } => {
                std::iter::successors(Some(self.min), |p| p.checked_mul(*factor).filter(|p| *p <= self.max))
                    .collect()
            }
            Shape::Weighted(all) => all.iter().map(|w| w.0).collect(),
        }
    }

    /// One period.
    pub fn draw(&self, dice: &mut Dice) -> u64 {
        match &self.shape {
            Shape::LogUniform => dice.log_uniform(self.min, self.max, self.grain),
            Shape::Uniform => dice.uniform(self.min, self.max, self.grain),
            Shape::Harmonic { .. } => {
                let all = self.values();
                all[dice.between(0, all.len() as u64 - 1) as usize]
            }
            Shape::Weighted(all) => {
                let mut left = dice.between(0, all.iter().map(|w| w.1).sum::<u64>() - 1);
                for (period, weight) in all {
                    if left < *weight {
                        return *period;
                    }
                    left -= weight;
                }
                unreachable!("the weights sum up to more than what is drawn")
            }
        }
    }
}

/// `periods=5ms/10ms/20ms`: each as likely; one that is written twice is twice as likely.
fn list(args: &Args<'_>) -> Result<Vec<(u64, u64)>, Error> {
    let text = args.text("periods");
    let words: Vec<&str> = text.split('/').map(str::trim).collect();
    if text.is_empty() || words.len() > MAX_LIST {
        return Err(args.wrong(
            "periods",
            format!("`dist=list` needs 1 to {MAX_LIST} `periods`"),
            "write them with slashes between, such as `periods=5ms/10ms/20ms`",
        ));
    }
    words
        .into_iter()
        .map(|word| match units::duration(word) {
            Ok(ns) if ns >= 1_000 => Ok((ns, 1)),
            Ok(ns) => {
                Err(args.wrong("periods", format!("a period of {ns} ns is too short"), "write at least 1us"))
            }
            Err(r) => Err(args.wrong("periods", r.message, r.help)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(shape: Shape, draws: u64) -> std::collections::BTreeMap<u64, u64> {
        let periods = Periods { min: 1_000_000, max: 17_000_000, grain: 1, shape };
        let mut dice = Dice::new(11);
        let mut counts = std::collections::BTreeMap::new();
        (0..draws).for_each(|_| *counts.entry(periods.draw(&mut dice)).or_insert(0) += 1);
        counts
    }

    /// Within five standard deviations of a binomial count.
    fn plausible(count: u64, draws: u64, share: f64) -> bool {
        let (n, p) = (draws as f64, share);
        (count as f64 - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt()
    }

    #[test]
    fn the_automotive_shares_are_those_of_the_table() {
        let shares = AUTOMOTIVE.map(|(ms, share)| (ms * 1_000_000, share)).to_vec();
        let counts = counts(Shape::Weighted(shares), 40_000);
        assert_eq!(counts.len(), 9);
        for (ms, share) in AUTOMOTIVE {
            assert!(plausible(counts[&(ms * 1_000_000)], 40_000, share as f64 / 85.0), "{ms} ms: {counts:?}");
        }
    }

    #[test]
    fn harmonic_periods_divide_each_other() {
        let counts = counts(Shape::Harmonic { factor: 2 }, 10_000);
        assert_eq!(counts.keys().map(|p| p / 1_000_000).collect::<Vec<_>>(), [1, 2, 4, 8, 16]);
        assert!(counts.values().all(|c| plausible(*c, 10_000, 0.2)), "{counts:?}");
    }

    /// Marginals against the distribution functions: log p is uniform, or p is.
    #[test]
    fn continuous_periods_follow_their_law() {
        for (shape, log) in [(Shape::LogUniform, true), (Shape::Uniform, false)] {
            let counts = counts(shape, 20_000);
            let of = |p: f64| if log { libm::log(p) / libm::log(17.0) } else { (p - 1.0) / 16.0 };
            for quarter in 1..4 {
                let below: u64 = counts
                    .iter()
                    .filter(|(p, _)| of(**p as f64 / 1e6) < f64::from(quarter) / 4.0)
                    .map(|c| c.1)
                    .sum();
                assert!(plausible(below, 20_000, f64::from(quarter) / 4.0), "{quarter}, log {log}: {below}");
            }
        }
    }
}
