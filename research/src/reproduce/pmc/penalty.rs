// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The thesis's model of penalties in integers (source 4, sections 6 and 7): the reference for `pmc_fair`.

use weir_core::Counters;

use super::fixed::{HALF, ONE, P, div_unsigned, mul_signed, mul_unsigned};

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    L1,
    L2,
    L3,
}

/// What counts beside the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Model {
    CacheOnly,
    /// With branches: equal weights, three quarters for the cache, or three quarters for the branches.
    Equal,
    Cache,
    Branch,
}

impl Model {
    /// Weight of the cache, percent.
    pub fn cache_weight(self) -> u64 {
        match self {
            Model::CacheOnly => 100,
            Model::Equal => 50,
            Model::Cache => 75,
            Model::Branch => 25,
        }
    }

    pub fn has_branches(self) -> bool {
        self != Model::CacheOnly
    }
}

/// Whom a policy favours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Tasks that miss are punished.
    Penalty,
    /// Tasks that miss are favoured.
    Reward,
}

/// Rates of one pass through the scheduler, with ten fraction bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub cache: i64,
    /// Mispredicted branches, ten times as many as there were, at most one.
    pub branch: i64,
    /// How often each of them was above one.
    pub cache_cut: u64,
    pub branch_cut: u64,
}

/// Cache and branch rates of what was counted.
pub fn sample(level: Level, model: Model, c: &Counters) -> Sample {
    let (hits, misses) = match level {
        Level::L1 => (c.l1_hits, c.l1_misses + if model.has_branches() { 0 } else { c.lfb_hits }),
        Level::L2 => (c.l2_hits, c.l2_misses),
        Level::L3 => (c.l3_hits, c.l3_misses),
    };
    let (cache, cache_cut) = cut(div_unsigned(misses, hits + misses, P));
    let (once, too_many) = cut(div_unsigned(c.mispredicts, c.branches, P));
    let (branch, above) = cut(mul_unsigned(once as u64, 10 << P, P));
    Sample { cache, branch, cache_cut, branch_cut: too_many + above }
}

/// At most one, and whether it was more.
fn cut(rate: u64) -> (i64, u64) {
    (rate.min(ONE as u64) as i64, u64::from(rate > ONE as u64))
}

/// The next penalty of a task whose penalty is `before`. `alpha` is the weight of the new sample, with ten fraction bits.
pub fn next(model: Model, policy: Policy, alpha: i64, s: Sample, before: i64) -> i64 {
    let score = if model.has_branches() {
        let weight = (model.cache_weight() as i64 * ONE) / 100;
        (mul_signed(s.cache, weight, P) + mul_signed(s.branch, ONE - weight, P)).min(ONE)
    } else {
        s.cache
    };
    let score = if policy == Policy::Reward { ONE - score } else { score };
    let penalty = mul_signed(score - HALF, alpha, P) + mul_signed(before, ONE - alpha, P);
    penalty.clamp(-HALF, HALF)
}

/// The virtual runtime charged for `ns`, and the slice granted instead of `ns`, at a penalty.
pub fn stretched(ns: u64, penalty: i64) -> u64 {
    ns.wrapping_add_signed(part(ns, penalty))
}

pub fn shrunk(ns: u64, penalty: i64) -> u64 {
    ns.wrapping_add_signed(-part(ns, penalty))
}

/// The penalty's part of a time, rounded to the nearest nanosecond.
fn part(ns: u64, penalty: i64) -> i64 {
    let fixed = super::fixed::from_unsigned(ns, P) as i64;
    super::fixed::to_signed(mul_signed(fixed, penalty, P), P)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The average of a constant score settles one step of 1/1024 below it: products are rounded down.
    #[test]
    fn the_average_is_biased_by_about_one_step() {
        let mut sum = 0.0;
        let mut count = 0.0;
        for cache in 0..=ONE {
            let mut p = 0;
            for _ in 0..60 {
                p = next(
                    Model::CacheOnly,
                    Policy::Penalty,
                    512,
                    Sample { cache, branch: 0, cache_cut: 0, branch_cut: 0 },
                    p,
                );
            }
            sum += (p - (cache - HALF)) as f64;
            count += 1.0;
        }
        let bias = sum / count / ONE as f64 * 100.0;
        assert!((-0.098 - 0.02..=-0.098 + 0.02).contains(&bias), "{bias} points");
    }

    #[test]
    fn both_policies_see_the_same_rates_from_two_sides() {
        for model in [Model::CacheOnly, Model::Equal, Model::Cache, Model::Branch] {
            let (mut p, mut r) = (0, 0);
            for i in 0..500i64 {
                let s = Sample { cache: i * 37 % 1025, branch: i * 91 % 1025, cache_cut: 0, branch_cut: 0 };
                p = next(model, Policy::Penalty, 512, s, p);
                r = next(model, Policy::Reward, 512, s, r);
                assert!((-4..=0).contains(&(p + r)), "{model:?}: {p} {r}");
            }
        }
    }

    #[test]
    fn times_are_scaled_within_half_and_one_and_a_half() {
        assert_eq!((stretched(1000, HALF), stretched(1000, -HALF)), (1500, 500));
        assert_eq!((shrunk(1000, HALF), shrunk(1000, -HALF)), (500, 1500));
        assert_eq!(stretched(3_000_000, 0), 3_000_000);
        assert_eq!(stretched(3, 171), 4); // 0.501 rounds up
    }
}
