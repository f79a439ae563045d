// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tables 5.4 to 5.12 of the thesis, and its directions of change.

use super::Error;
use super::average::Metric;
use super::penalty::{Level, Model, Policy};

/// The tables as rows of numbers.
const CSV: &str = include_str!("../../../../experiments/pmc-tables/data/published.csv");

/// One row: a program's metric at a level, original and under the policies of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `5.4`.
    pub table: String,
    pub program: String,
    pub workload: String,
    pub level: Level,
    pub metric: Metric,
    /// Of the baseline; penalties have none.
    pub original: Option<f64>,
    /// Change against it in percent, of penalties their value in percent.
    pub under: Vec<(Model, Policy, f64)>,
}

impl Row {
    /// The set of counters that the table was measured with.
    pub fn has_branches(&self) -> bool {
        self.under.iter().any(|u| u.0.has_branches())
    }
}

/// All rows.
///
/// # Errors
/// The data do not have their form.
pub fn rows() -> Result<Vec<Row>, Error> {
    CSV.lines()
        .skip(1)
        .filter(|l| !l.is_empty())
        .map(|l| row(l).ok_or_else(|| Error(format!("row `{l}`"))))
        .collect()
}

fn row(line: &str) -> Option<Row> {
    let f: Vec<&str> = line.split(',').map(str::trim).collect();
    let number = |i: usize| f.get(i).and_then(|v| v.parse::<f64>().ok());
    let cache_only = f[0] < "5.7" && f[0].len() == 3;
    let models: &[Model] =
        if cache_only { &[Model::CacheOnly] } else { &[Model::Equal, Model::Cache, Model::Branch] };
    let mut under = Vec::new();
    for (i, model) in models.iter().enumerate() {
        under.push((*model, Policy::Penalty, number(6 + 2 * i)?));
        under.push((*model, Policy::Reward, number(7 + 2 * i)?));
    }
    Some(Row {
        table: f[0].into(),
        program: f[1].into(),
        workload: f[2].into(),
        level: match f[3] {
            "L1" => Level::L1,
            "L2" => Level::L2,
            "L3" => Level::L3,
            _ => return None,
        },
        metric: match f[4] {
            "CMR" => Metric::CacheRate,
            "BMR" => Metric::BranchRate,
            "Penalty" => Metric::Penalty,
            "VCSW" => Metric::Voluntary,
            "NVCSW" => Metric::Involuntary,
            _ => return None,
        },
        original: number(5),
        under,
    })
}

/// What the thesis says of the run time of all programs under a policy (source 4, section 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Faster,
    Slower,
    /// It gives nothing, or loses.
    NoGain,
}

/// The direction that the thesis states for a workload and a policy; `None` where it states none.
pub fn direction(workload: &str, level: Level, model: Model, policy: Policy) -> Option<Direction> {
    use Direction::{Faster, NoGain, Slower};
    use Level::{L1, L3};
    match (workload, model, policy) {
        ("wl1", Model::CacheOnly, Policy::Reward) => Some(Faster),
        ("wl1", Model::CacheOnly, Policy::Penalty) => Some(NoGain),
        ("wl1", _, Policy::Reward) => Some(Faster),
        ("wl1", _, Policy::Penalty) => Some(Slower),
        ("wl2", Model::CacheOnly, Policy::Reward) => Some(if level == L1 { Faster } else { Slower }),
        ("wl2", Model::CacheOnly, Policy::Penalty) => (level == L3).then_some(Faster),
        ("wl2", _, Policy::Penalty) => Some(Faster),
        ("wl2", Model::Cache, Policy::Reward) if level == L1 => Some(Faster),
        ("wl2", _, Policy::Reward) if level == L1 => Some(NoGain),
        ("wl2", _, Policy::Reward) => Some(Slower),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_are_read() {
        let rows = rows().expect("the data are well-formed");
        assert_eq!(rows.len(), 162);
        let of = |t: &str| rows.iter().filter(|r| r.table == t).count();
        assert_eq!(["5.4", "5.6", "5.7", "5.12"].map(of), [24, 24, 15, 15]);
        let first = &rows[0];
        assert_eq!((first.original, first.under.len()), (Some(9.661), 2));
        assert_eq!(
            rows.iter().filter(|r| r.metric == Metric::Penalty).filter(|r| r.original.is_some()).count(),
            0
        );
        assert!(rows.iter().filter(|r| r.has_branches()).all(|r| r.under.len() == 6));
    }
}
