// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Data and pictures beside the source's.

use super::At;
use super::study::Study;
use crate::reproduce::lab::Spent;
use crate::reproduce::report::{Line, Picture, Table};

/// Functions of the source's tables, by the names of our columns.
const FUNCTIONS: [&str; 6] = ["activate", "schedule", "admit", "dispatch", "relinquish", "unblock"];

impl Study<'_> {
    pub fn table(&self) -> Table {
        let mut heads: Vec<String> = ["cpus", "iterations", "pipes"].map(String::from).to_vec();
        for name in FUNCTIONS {
            heads.extend([
                format!("{name}_us"),
                format!("{name}_calls"),
                format!("source_{name}_us"),
                format!("source_{name}_calls"),
            ]);
        }
        heads.extend(["activate_ci95_us", "scheduler_pct", "lock_wait_pct", "virtual_ms"].map(String::from));
        let mut table = Table { name: "data".into(), heads, rows: Vec::new() };
        for (at, p) in &self.points {
            let mut row = vec![at.0.to_string(), at.1.to_string(), at.2.to_string()];
            let c = &p.calls;
            let (activate, schedule) = (c.activate(), c.schedule_us());
            let all = &p.calls;
            let of = |s: &Spent, all: &Spent| (s.mean_us(), all.calls);
            let values = [
                of(&activate, &all.activate()),
                (schedule, all.pick.calls),
                of(&c.admit, &all.admit),
                of(&c.dispatch, &all.dispatch),
                of(&c.relinquish, &all.relinquish),
                of(&c.unblock, &all.unblock),
            ];
            for (name, (us, calls)) in FUNCTIONS.iter().zip(values) {
                let there = |what: &str| {
                    self.source(*at, &format!("{name}_{what}")).map_or(String::new(), |v| v.to_string())
                };
                row.extend([format!("{us:.3}"), calls.to_string(), there("us"), there("calls")]);
            }
            row.extend([
                format!("{:.4}", activate.ci95_us()),
                format!("{:.2}", 100.0 * p.share),
                format!("{:.2}", 100.0 * p.wait_share),
                format!("{:.3}", p.end_ns as f64 / 1e6),
            ]);
            table.rows.push(row);
        }
        table
    }

    /// `activate_task` by pipes, a line a machine; the source's dashed.
    pub fn picture(&self, burn: u32) -> Picture {
        let mut xs: Vec<u32> = self.points.keys().filter(|at| at.1 == burn).map(|at| at.2).collect();
        xs.sort_unstable();
        xs.dedup();
        let xs: Vec<String> = xs.iter().map(u32::to_string).collect();
        let mut lines = Vec::new();
        for (colour, cpus) in self.sizes().into_iter().enumerate() {
            let pipes = self.pipes(cpus, burn);
            let line = |name: String, dashed: bool, of: &dyn Fn(At) -> Option<f64>| Line {
                name,
                points: pipes.iter().filter_map(|p| Some((p.to_string(), of((cpus, burn, *p))?))).collect(),
                colour,
                dashed,
            };
            lines.push(line(format!("{cpus} CPUs"), false, &|at| self.activate(at)));
            lines.push(line(format!("{cpus}, source"), true, &|at| self.source(at, "activate_us")));
        }
        let titles = ("entry pipes", "activate_task, us (mean)");
        Picture::new(&format!("activate-{burn}"), titles, true, &xs, lines)
    }

    /// Admission by CPUs.
    pub fn slope_picture(&self) -> Picture {
        let sizes = self.sizes();
        let xs: Vec<String> = sizes.iter().map(u32::to_string).collect();
        let line = |name: &str, dashed: bool, of: &dyn Fn(At) -> Option<f64>| Line {
            name: name.into(),
            points: sizes.iter().filter_map(|c| Some((c.to_string(), of((*c, 0, *c))?))).collect(),
            colour: 0,
            dashed,
        };
        let here = |at: At| self.points.get(&at).map(|p| p.calls.admit.mean_us());
        let lines = vec![line("here", false, &here), line("source", true, &|at| self.source(at, "admit_us"))];
        Picture::new("admit", ("CPUs, one pipe each", "admission, us (mean)"), true, &xs, lines)
    }
}
