// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Stage 2 of the evaluation: the numbers of a program in a run, and their means over runs.

use super::tree::Tree;

/// What the tables say about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Seconds from fork to exit.
    Time,
    /// Cache and branch miss rates and the penalty, mean over passes through the scheduler, percent.
    CacheRate,
    BranchRate,
    Penalty,
    /// Switches.
    Voluntary,
    Involuntary,
}

pub const METRICS: [Metric; 6] = [
    Metric::Time,
    Metric::CacheRate,
    Metric::BranchRate,
    Metric::Penalty,
    Metric::Voluntary,
    Metric::Involuntary,
];

impl Metric {
    /// As the tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Time => "Time",
            Metric::CacheRate => "CMR",
            Metric::BranchRate => "BMR",
            Metric::Penalty => "Penalty",
            Metric::Voluntary => "VCSW",
            Metric::Involuntary => "NVCSW",
        }
    }
}

/// A program in one run, by metric in the order of [`METRICS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers(pub [f64; 6]);

impl Numbers {
    /// Of a tree: sums over its tasks, divided by the passes where they are rates. `None` where the log does not say
    /// when the program ended.
    pub fn of(tree: &Tree) -> Option<Self> {
        let s = tree.total();
        let rate = |sum: i64| sum as f64 * 100.0 / (1024.0 * s.schedules.max(1) as f64);
        let time = tree.time_us()? as f64 / 1e6;
        Some(Self([time, rate(s.cache), rate(s.branch), rate(s.penalty), s.vcsw as f64, s.nvcsw as f64]))
    }

    pub fn get(&self, metric: Metric) -> f64 {
        self.0[metric as usize]
    }
}

/// Values of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    pub runs: usize,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// Standard deviation of the sample (with runs - 1); 0 for a single run.
    pub deviation: f64,
}

impl Summary {
    /// Of values in any order; of none all is 0.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len();
        if n == 0 {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        Self {
            runs: n,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            deviation: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
        }
    }

    /// Half the width of the 95 % confidence interval of the mean (normal approximation, as for 30 runs). A single run says
    /// nothing of it: infinite.
    pub fn margin(&self) -> f64 {
        if self.runs > 1 { 1.96 * self.deviation / (self.runs as f64).sqrt() } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::pmc::log::Stats;
    use crate::reproduce::pmc::tree::Node;

    #[test]
    fn rates_are_means_over_passes() {
        let node = |start, end, cache, schedules| Node {
            pid: 1,
            tgid: 1,
            name: "p".into(),
            start_us: start,
            end_us: Some(end),
            stats: Some(Stats {
                cache,
                branch: 0,
                penalty: -cache,
                vcsw: 2,
                nvcsw: 3,
                schedules,
                ..Stats::default()
            }),
            children: Vec::new(),
        };
        let tree = Tree { nodes: vec![node(0, 2_500_000, 512, 1), node(5, 9, 512, 3)] };
        let n = Numbers::of(&tree).expect("the root has ended");
        assert_eq!(n.0, [2.5, 25.0, 0.0, -25.0, 4.0, 6.0]);
    }

    #[test]
    fn summaries() {
        let s = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((s.runs, s.mean, s.min, s.max), (8, 5.0, 2.0, 9.0));
        assert!((s.deviation - 2.138_089_935).abs() < 1e-9);
        assert!((s.margin() - 1.481_6).abs() < 1e-3);
        assert_eq!((Summary::of(&[3.0]).deviation, Summary::of(&[3.0]).margin()), (0.0, f64::INFINITY));
        assert_eq!(Summary::of(&[]), Summary::default());
    }
}
