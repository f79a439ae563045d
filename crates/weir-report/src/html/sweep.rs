// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The page of a sweep: its pictures, and a table of all grid points.

use serde::Serialize;

use super::page::{escape, page};
use crate::plural;
use crate::sweep::SweepReport;

const SCRIPT: &str = include_str!("assets/sweep.js");

#[derive(Serialize)]
struct Data<'a> {
    /// Headings of what is varied, of the ratio, and of the means.
    axes: Vec<&'a str>,
    columns: &'a [String],
    points: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    values: Vec<&'a str>,
    /// Percent: ratio, low, high.
    success: [f64; 3],
    means: Vec<f64>,
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

impl SweepReport {
    /// A self-contained page.
    pub fn html(&self) -> String {
        let varied = self.varied();
        let row = |p: &crate::sweep::SweepPoint| {
            let s = p.success;
            (
                varied.iter().map(|i| self.axes[*i].values[p.at[*i]].as_str()).collect::<Vec<_>>(),
                [s.ratio, s.low, s.high].map(|v| thousandths(100.0 * v)),
                p.means.iter().map(|m| thousandths(m.mean)).collect::<Vec<_>>(),
            )
        };
        let data = Data {
            axes: varied.iter().map(|i| self.axes[*i].column.as_str()).collect(),
            columns: &self.columns,
            points: self
                .points
                .iter()
                .map(row)
                .map(|(values, success, means)| Row { values, success, means })
                .collect(),
        };
        let fixed: Vec<String> = self
            .axes
            .iter()
            .filter(|a| a.values.len() == 1)
            .map(|a| format!("{} {}", escape(&a.column), escape(&a.values[0])))
            .collect();
        let pictures: String = self
            .y
            .iter()
            .filter_map(|y| self.plot(y))
            .map(|p| {
                format!(
                    "<section><div class=\"head\"><h2>{}</h2></div>\n{}</section>\n",
                    escape(&p.y_title),
                    p.svg()
                )
            })
            .collect();
        let about =
            [escape(&self.description), fixed.join(" · "), format!("{} a point", plural(self.seeds, "run"))];
        let about: Vec<String> = about.into_iter().filter(|a| !a.is_empty()).collect();
        let name = escape(&self.name);
        let body = format!(
            "<header><div><h1>{name}</h1><p class=\"sub\">{}</p></div></header>\n<main>\n{pictures}</main>\n\
             <p class=\"note\">Bands: 95 % intervals, Wilson's for shares, Student's t for means.</p>\n\
             <noscript><p class=\"banner\">The table needs JavaScript; summary.csv has the same numbers.</p></noscript>\n\
             <footer>runweir {}</footer>",
            about.join(" · "),
            escape(&self.runweir),
        );
        page(&name, &body, &data, SCRIPT)
    }
}
