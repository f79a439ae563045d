// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Stage 3 of the evaluation: a configuration against its baseline.

use super::average::{Metric, Summary};

/// Change against the baseline in percent; of penalties, which the baseline has none of, the value itself.
pub fn change(metric: Metric, baseline: &Summary, under: &Summary) -> f64 {
    match metric {
        Metric::Penalty => under.mean,
        _ if baseline.mean == 0.0 => 0.0,
        _ => (under.mean - baseline.mean) / baseline.mean * 100.0,
    }
}

/// By how much faster, percent of the baseline's time: (T0 - T1) / T0. The thesis does not define its speed-up.
pub fn speed_up(baseline: &Summary, under: &Summary) -> f64 {
    if baseline.mean == 0.0 { 0.0 } else { (baseline.mean - under.mean) / baseline.mean * 100.0 }
}

/// Half the width of the 95 % interval of a speed-up, percent: both means are uncertain.
pub fn speed_up_margin(baseline: &Summary, under: &Summary) -> f64 {
    if baseline.mean == 0.0 {
        return 0.0;
    }
    let (a, b) = (baseline.margin(), under.margin());
    (a * a + b * b).sqrt() / baseline.mean * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_speed_ups() {
        let (base, new) = (Summary::of(&[10.0, 10.0]), Summary::of(&[9.0, 9.0]));
        assert_eq!(change(Metric::Voluntary, &base, &new), -10.0);
        assert_eq!(change(Metric::Penalty, &base, &new), 9.0);
        assert_eq!(speed_up(&base, &new), 10.0);
        assert_eq!(speed_up_margin(&base, &new), 0.0);
        assert_eq!(change(Metric::Time, &Summary::default(), &new), 0.0);
    }
}
