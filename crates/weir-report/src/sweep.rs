// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The result of a sweep: for each grid point the number of runs without a deadline miss, and means of all numbers.

use std::fmt::Write as _;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::count;
use crate::csv::csv_field;
use crate::plot::{Curve, Plot, Spot};
use crate::screen::{Columns, Screen};
use crate::stats::{MeanCi, Ratio};
use crate::summary::Ignored;
use crate::text::significant;

/// A varied (or fixed) parameter with its values, by column heading.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepAxis {
    pub column: String,
    pub values: Vec<String>,
}

/// A grid point.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// Index of each axis' value.
    pub at: Vec<usize>,
    /// Runs without a deadline miss.
    pub success: Ratio,
    /// Of each column, over the seeds.
    pub means: Vec<MeanCi>,
}

/// Everything that tables and pictures of a sweep are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepReport {
    pub runweir: String,
    pub name: String,
    pub description: String,
    pub seeds: u64,
    /// The first is the topology.
    pub axes: Vec<SweepAxis>,
    pub columns: Vec<String>,
    pub points: Vec<SweepPoint>,
    /// Axis along which pictures are drawn.
    pub x: Option<String>,
    /// What is drawn: `success`, or a column.
    pub y: Vec<String>,
    /// What workloads ask for and topologies do not obey.
    pub ignored: Vec<Ignored>,
}

/// `sweep.json`: points with their values and means by name.
impl Serialize for SweepReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let points: Vec<_> = self.points.iter().map(|p| PointJson { report: self, point: p }).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("runweir", &self.runweir)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("description", &self.description)?;
        map.serialize_entry("seeds", &self.seeds)?;
        map.serialize_entry("axes", &self.axes)?;
        map.serialize_entry("points", &points)?;
        map.serialize_entry("ignored", &self.ignored)?;
        map.end()
    }
}

struct PointJson<'a> {
    report: &'a SweepReport,
    point: &'a SweepPoint,
}

impl Serialize for PointJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (axis, value) in self.report.axes.iter().zip(self.report.values(self.point)) {
            map.serialize_entry(&axis.column, value)?;
        }
        let s = self.point.success;
        map.serialize_entry("runs", &s.trials)?;
        map.serialize_entry("success", &s.hits)?;
        map.serialize_entry("success_ratio", &rounded(s.ratio))?;
        map.serialize_entry("success_low", &rounded(s.low))?;
        map.serialize_entry("success_high", &rounded(s.high))?;
        let means = self.report.columns.iter().zip(&self.point.means);
        map.serialize_entry("mean", &Means(means.clone().map(|(c, m)| (c.as_str(), m.mean)).collect()))?;
        map.serialize_entry("mean_ci95", &Means(means.map(|(c, m)| (c.as_str(), m.ci95)).collect()))?;
        map.end()
    }
}

struct Means<'a>(Vec<(&'a str, f64)>);

impl Serialize for Means<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, rounded(*value))))
    }
}

/// Six decimals: what is finer says nothing, and may differ from machine to machine.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

impl SweepReport {
    /// The values of a point, in the order of the axes.
    fn values<'a>(&'a self, point: &'a SweepPoint) -> impl Iterator<Item = &'a str> {
        self.axes.iter().zip(&point.at).map(|(a, i)| a.values[*i].as_str())
    }

    /// Axes with more than one value; the topology's always.
    pub(crate) fn varied(&self) -> Vec<usize> {
        (0..self.axes.len()).filter(|i| *i == 0 || self.axes[*i].values.len() > 1).collect()
    }

    /// `summary.csv`: a line a grid point.
    pub fn csv(&self) -> String {
        let axes = self.axes.iter().map(|a| a.column.clone());
        let numbers = self.columns.iter().flat_map(|c| [format!("{c}_mean"), format!("{c}_ci95")]);
        let ratio = ["runs", "success", "success_ratio", "success_low", "success_high"].map(String::from);
        let mut out = axes.chain(ratio).chain(numbers).collect::<Vec<_>>().join(",");
        out.push('\n');
        for point in &self.points {
            let fields: Vec<_> = self.values(point).map(csv_field).collect();
            let s = point.success;
            write!(
                out,
                "{},{},{},{:.6},{:.6},{:.6}",
                fields.join(","),
                s.trials,
                s.hits,
                s.ratio,
                s.low,
                s.high
            )
            .expect("writing to a string");
            for m in &point.means {
                write!(out, ",{},{}", rounded(m.mean), rounded(m.ci95)).expect("writing to a string");
            }
            out.push('\n');
        }
        out
    }

    /// The points as text: what is varied, the share of runs without a miss, and some means.
    pub fn table(&self, screen: &Screen) -> String {
        let varied = self.varied();
        let shown: Vec<usize> = ["deadline_misses", "preemptions", "migrations", "context_switches"]
            .iter()
            .filter_map(|name| self.columns.iter().position(|c| c == name))
            .collect();
        let heads = varied.iter().map(|i| self.axes[*i].column.trim_start_matches("keys.").to_string());
        let numbers = shown.iter().map(|c| self.columns[*c].replace('_', " "));
        let mut table =
            Columns::new(heads.chain(["no miss".to_string(), "95 % interval".to_string()]).chain(numbers))
                .giving_way(&["migrations", "preemptions", "context switches"]);
        for point in &self.points {
            let s = point.success;
            let pct = |v: f64| format!("{:.1}", 100.0 * v);
            let values = varied.iter().map(|i| self.axes[*i].values[point.at[*i]].clone());
            let ratio = [format!("{} %", pct(s.ratio)), format!("{} to {} %", pct(s.low), pct(s.high))];
            let means = shown.iter().map(|c| match point.means[*c].mean {
                m if m < 1000.0 => significant(m),
                m => count(m.round() as u64),
            });
            table.row(values.chain(ratio).chain(means).collect::<Vec<_>>());
        }
        let seeds = match self.seeds {
            1 => "one run a line".to_string(),
            n => format!("{n} runs a line: share without a deadline miss with Wilson's interval, then means"),
        };
        screen.fold(&format!("{}: {seeds}\n", self.name)) + &table.render(2, screen)
    }

    /// A picture of `y` (`success` or a column) against the report's axis `x`: a line for each combination of
    /// all other values. Empty where nothing is varied.
    pub fn svg(&self, y: &str) -> String {
        self.plot(y).map(|p| p.svg()).unwrap_or_default()
    }

    /// The same before it is drawn.
    pub(crate) fn plot(&self, y: &str) -> Option<Plot> {
        let x = self.axes.iter().position(|a| Some(&a.column) == self.x.as_ref())?;
        let column = self.columns.iter().position(|c| c == y);
        let others: Vec<usize> = self.varied().into_iter().filter(|i| *i != x).collect();
        let mut curves: Vec<(Vec<usize>, Curve)> = Vec::new();
        for point in &self.points {
            let key: Vec<usize> = others.iter().map(|i| point.at[*i]).collect();
            let spot = match column {
                None => Spot {
                    x: point.at[x],
                    y: 100.0 * point.success.ratio,
                    low: 100.0 * point.success.low,
                    high: 100.0 * point.success.high,
                },
                Some(c) => {
                    let m = point.means[c];
                    Spot { x: point.at[x], y: m.mean, low: (m.mean - m.ci95).max(0.0), high: m.mean + m.ci95 }
                }
            };
            match curves.iter_mut().find(|c| c.0 == key) {
                Some((_, curve)) => curve.spots.push(spot),
                None => {
                    let words = others.iter().map(|i| {
                        let (axis, value) = (&self.axes[*i], &self.axes[*i].values[point.at[*i]]);
                        let name = axis.column.trim_start_matches("keys.").trim_start_matches("set.");
                        if *i == 0 { value.clone() } else { format!("{name} {value}") }
                    });
                    let name = words.collect::<Vec<_>>().join(", ");
                    curves.push((key, Curve { name, spots: vec![spot], colour: None, dashed: false }));
                }
            }
        }
        let title = match column {
            None => "runs without a deadline miss (%)".to_string(),
            Some(_) => format!("{} (mean)", y.replace('_', " ")),
        };
        Some(Plot {
            x_title: self.axes[x].column.clone(),
            y_title: title,
            x_values: self.axes[x].values.clone(),
            percent: column.is_none(),
            log: false,
            curves: curves.into_iter().map(|c| c.1).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two topologies at three loads; the second one fails more and more.
    pub(crate) fn sample() -> SweepReport {
        let axis = |c: &str, v: &[&str]| SweepAxis {
            column: c.into(),
            values: v.iter().map(|s| s.to_string()).collect(),
        };
        let axes = vec![
            axis("topology", &["edf", "rm <&>"]),
            axis("machine", &["smp-4"]),
            axis("keys.util", &["50%", "75%", "100%"]),
        ];
        let point = |t: usize, u: usize| SweepPoint {
            at: vec![t, 0, u],
            success: Ratio::of(10 - 4 * (t * u) as u64, 10),
            means: vec![MeanCi { mean: 100.0 * (u + 1) as f64 / 3.0, ci95: 2.5, runs: 10 }],
        };
        SweepReport {
            runweir: "0.1.0".into(),
            name: "sample".into(),
            description: "two topologies".into(),
            seeds: 10,
            axes,
            columns: vec!["preemptions".into()],
            points: (0..2).flat_map(|t| (0..3).map(move |u| (t, u))).map(|(t, u)| point(t, u)).collect(),
            x: Some("keys.util".into()),
            y: vec!["success".into(), "preemptions".into()],
            ignored: Vec::new(),
        }
    }

    #[test]
    fn table_csv_and_json_show_the_same() {
        let report = sample();
        insta::assert_snapshot!("sweep_table", report.table(&Screen::default()));
        insta::assert_snapshot!("sweep_csv", report.csv());
        insta::assert_snapshot!("sweep_json", serde_json::to_string_pretty(&report).expect("finite numbers"));
    }

    #[test]
    fn pictures_have_a_line_for_each_combination() {
        let report = sample();
        let plot = report.plot("success").expect("something is varied");
        assert_eq!(plot.curves.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["edf", "rm <&>"]);
        assert_eq!(plot.curves[1].spots[2].y, 20.0);
        insta::assert_snapshot!("sweep_svg", report.svg("success"));
        assert!(report.svg("preemptions").contains("preemptions (mean)"));
        assert_eq!(SweepReport { x: None, ..report }.svg("success"), "");
    }

    #[test]
    fn the_page_is_whole_and_escapes_names() {
        let page = sample().html();
        assert!(page.contains("rm &lt;&amp;&gt;") && !page.contains("rm <&>"), "{page}");
        assert!(page.matches("<svg").count() == 2 && page.ends_with("</html>\n"));
    }
}
