// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random utilizations and periods of real-time task sets.
//!
//! UUniFast: E. Bini and G. Buttazzo, "Measuring the performance of schedulability tests", 2005; with
//! discarding for several CPUs: R. Davis and A. Burns, 2009. RandFixedSum: R. Stafford, 2006, as used by
//! P. Emberson et al., "Techniques for the synthesis of multiprocessor tasksets", 2010.
//!
//! All mathematics goes through `libm`, so that a seed gives the same set on every machine.

use crate::workload::dice::Dice;

/// `n` shares that sum up to `total`, uniformly distributed over all such vectors.
pub(super) fn uunifast(n: usize, total: f64, dice: &mut Dice) -> Vec<f64> {
    let mut shares = Vec::with_capacity(n);
    let mut left = total;
    for i in 1..n {
        let next = left * libm::pow(dice.unit(), 1.0 / (n - i) as f64);
        shares.push(left - next);
        left = next;
    }
    shares.push(left);
    shares
}

/// UUniFast until no share is above `most`; `None` where that did not happen in many tries.
pub(super) fn uunifast_discard(n: usize, total: f64, most: f64, dice: &mut Dice) -> Option<Vec<f64>> {
    // Bounds the time: about 2,000,000 draws, at least ten tries.
    let tries = (2_000_000 / n.max(1)).clamp(10, 10_000);
    (0..tries).map(|_| uunifast(n, total, dice)).find(|s| s.iter().all(|&u| u <= most))
}

/// `n` shares in `0..=most` that sum up to `total`, uniformly distributed over all such vectors. Needs
/// memory and time quadratic in `n`; `total` must not exceed `n * most`.
pub(super) fn rand_fixed_sum(n: usize, total: f64, most: f64, dice: &mut Dice) -> Vec<f64> {
    if n == 1 {
        return vec![total];
    }
    // In units of `most`, the point lies in a slice of the unit cube: x1 + … + xn = s.
    let s = (total / most).clamp(0.0, n as f64);
    let k = (s as usize).min(n - 1);
    let s = s.max(k as f64).min(k as f64 + 1.0);
    // volume[i][j]: relative volume of the simplices of dimension i + 1 that end in column j;
    // right[i][j]: probability to step from there towards the larger sum.
    let s1: Vec<f64> = (0..n).map(|i| s - (k as f64 - i as f64)).collect();
    let s2: Vec<f64> = (0..n).map(|i| (k + n - i) as f64 - s).collect();
    let tiny = f64::MIN_POSITIVE;
    let mut row = vec![0.0; n + 1];
    row[1] = f64::MAX;
    let mut right = vec![0.0f64; (n - 1) * n];
    for i in 2..=n {
        let mut next = vec![0.0; n + 1];
        for j in 0..i {
            let first = row[j + 1] * s1[j] / i as f64;
            let second = row[j] * s2[n - i + j] / i as f64;
            next[j + 1] = first + second;
            let sum = next[j + 1] + tiny;
            // The larger part is divided by the sum, the other found by difference: exact near 0 and 1.
            right[(i - 2) * n + j] = if s2[n - i + j] > s1[j] { second / sum } else { 1.0 - first / sum };
        }
        row = next;
    }
    let mut shares = vec![0.0; n];
    let (mut sum_left, mut column) = (s, k + 1);
    let (mut sum, mut product) = (0.0, 1.0);
    for i in (1..n).rev() {
        let step = dice.unit() <= right[(i - 1) * n + column - 1];
        let shrink = libm::pow(dice.unit(), 1.0 / i as f64);
        sum += (1.0 - shrink) * product * sum_left / (i + 1) as f64;
        product *= shrink;
        shares[n - i - 1] = sum + if step { product } else { 0.0 };
        if step {
            sum_left -= 1.0;
            column -= 1;
        }
    }
    shares[n - 1] = sum + product * sum_left;
    // The walk treats the coordinates differently: shuffle them.
    for i in (1..n).rev() {
        let j = dice.between(0, i as u64) as usize;
        shares.swap(i, j);
    }
    shares.iter().map(|x| (x * most).clamp(0.0, most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_kept() {
        let mut dice = Dice::new(7);
        for (n, total) in [(1, 0.4), (2, 0.9), (10, 0.7), (100, 1.0)] {
            let sum: f64 = uunifast(n, total, &mut dice).iter().sum();
            assert!((sum - total).abs() < 1e-9, "uunifast {n}: {sum}");
        }
        for (n, total) in [(1, 0.4), (2, 1.9), (10, 5.0), (10, 9.99), (300, 150.0), (1000, 37.5)] {
            let shares = rand_fixed_sum(n, total, 1.0, &mut dice);
            let sum: f64 = shares.iter().sum();
            assert!((sum - total).abs() < 1e-6, "randfixedsum {n}: {sum} for {total}");
            assert!(shares.iter().all(|&u| (0.0..=1.0).contains(&u)));
        }
    }

    /// All coordinates of a uniform vector have the same mean, and for n = 2 and sum 1 a uniform law.
    #[test]
    fn fixed_sum_is_uniform_where_that_is_easy_to_check() {
        let mut dice = Dice::new(1);
        let mut tenths = [0u32; 10];
        for _ in 0..20_000 {
            let x = rand_fixed_sum(2, 1.0, 1.0, &mut dice)[0];
            tenths[((x * 10.0) as usize).min(9)] += 1;
        }
        assert!(tenths.iter().all(|&c| (1_800..2_200).contains(&c)), "{tenths:?}");
        let mut means = [0.0; 4];
        for _ in 0..20_000 {
            for (m, x) in means.iter_mut().zip(rand_fixed_sum(4, 2.5, 1.0, &mut dice)) {
                *m += x / 20_000.0;
            }
        }
        assert!(means.iter().all(|m| (m - 0.625).abs() < 0.01), "{means:?}");
    }

    /// Share of draws of the first coordinate below `x`, with five standard deviations.
    fn below(draw: impl Fn(&mut Dice) -> Vec<f64>, x: f64) -> (f64, f64) {
        let mut dice = Dice::new(3);
        let draws = 20_000;
        let p = (0..draws).filter(|_| draw(&mut dice)[0] < x).count() as f64 / f64::from(draws);
        (p, 5.0 * (0.25 / f64::from(draws)).sqrt())
    }

    /// Marginal of a uniform vector with sum U: P(u < x) = 1 - (1 - x/U)^(n-1) (Bini and Buttazzo, 2005).
    #[test]
    fn uunifast_has_the_marginal_of_a_uniform_vector() {
        for (n, total, x) in [(2, 1.0, 0.3), (5, 0.8, 0.1), (10, 0.7, 0.2)] {
            let want = 1.0 - libm::pow(1.0 - x / total, n as f64 - 1.0);
            let (got, slack) = below(|d| uunifast(n, total, d), x);
            assert!((got - want).abs() < slack, "{n} tasks: {got}, not {want}");
        }
    }

    /// Given three uniform numbers with sum 3/2, the density of one is that of the sum of two others (a
    /// triangle) at 3/2 - x, over 3/4: P(x < 1/4) = 5/24. Discarding gives the same law.
    #[test]
    fn bounded_shares_have_the_conditional_marginal() {
        let want = 5.0 / 24.0;
        let (got, slack) = below(|d| rand_fixed_sum(3, 1.5, 1.0, d), 0.25);
        assert!((got - want).abs() < slack, "{got}");
        let (got, slack) =
            below(|d| uunifast_discard(3, 1.5, 1.0, d).expect("half of the tries are good"), 0.25);
        assert!((got - want).abs() < slack, "{got}");
    }

    #[test]
    fn discarding_gives_up() {
        let mut dice = Dice::new(1);
        assert!(uunifast_discard(4, 2.0, 1.0, &mut dice).is_some());
        assert!(uunifast_discard(40, 39.9, 1.0, &mut dice).is_none());
    }
}
