// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Several runs side by side: one column per topology, its seeds averaged.

use crate::stats::MeanCi;
use crate::summary::Summary;
use crate::text::{Columns, WIDTH, clip, duration_f, energy_f, significant};
use std::fmt::Write;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Lower,
    Higher,
    /// Neither: shown for information.
    None,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Duration,
    Percent,
    Count,
    Energy,
}

/// A line of the comparison.
pub struct Metric {
    pub name: &'static str,
    pub unit: Unit,
    pub better: Better,
    pub of: fn(&Summary) -> f64,
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// The lines in their order.
pub const METRICS: [Metric; 17] = {
    use Better::{Higher, Lower, None};
    use Unit::{Count, Duration, Energy, Percent};
    const fn m(name: &'static str, unit: Unit, better: Better, of: fn(&Summary) -> f64) -> Metric {
        Metric { name, unit, better, of }
    }
    [
        m("run time", Duration, Lower, |s| s.duration_ns as f64),
        m("jobs done", Count, Higher, |s| s.totals.jobs_completed as f64),
        m("deadline misses", Count, Lower, |s| s.totals.deadline_misses as f64),
        m("response mean", Duration, Lower, |s| s.response_ns.mean as f64),
        m("response p50", Duration, Lower, |s| s.response_ns.p50 as f64),
        m("response p99", Duration, Lower, |s| s.response_ns.p99 as f64),
        m("response max", Duration, Lower, |s| s.response_ns.max as f64),
        m("wakeup p50", Duration, Lower, |s| s.wakeup_latency_ns.p50 as f64),
        m("wakeup p99", Duration, Lower, |s| s.wakeup_latency_ns.p99 as f64),
        m("wakeup max", Duration, Lower, |s| s.wakeup_latency_ns.max as f64),
        m("CPUs busy", Percent, None, |s| share(s.totals.busy_ns, s.capacity_ns())),
        m("scheduler share", Percent, Lower, |s| share(s.totals.scheduler_ns, s.capacity_ns())),
        m("lock waiting", Duration, Lower, |s| s.totals.lock_wait_ns as f64),
        m("context switches", Count, Lower, |s| s.totals.context_switches as f64),
        m("preemptions", Count, Lower, |s| s.totals.preemptions as f64),
        m("migrations", Count, Lower, |s| s.totals.migrations as f64),
        m("energy", Energy, Lower, |s| s.totals.energy_uj as f64),
    ]
};

impl Metric {
    /// A value in the metric's unit.
    pub fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Duration => duration_f(value),
            Unit::Percent => format!("{} %", significant(value)),
            Unit::Energy => energy_f(value),
            Unit::Count => big_count(value),
        }
    }

    /// Mean and, of several runs that differ, the confidence interval.
    pub fn show_ci(&self, m: &MeanCi) -> String {
        match m.ci95 {
            0.0 => self.show(m.mean),
            ci95 => format!("{} ± {}", self.show(m.mean), self.show(ci95)),
        }
    }

    /// Which of the columns are best: the best mean and all that are not clearly worse ([`alike`]); none
    /// where all are alike.
    pub fn best(&self, cells: &[MeanCi]) -> Vec<bool> {
        let beats = |a: f64, b: f64| match self.better {
            Better::Lower => a < b,
            Better::Higher => a > b,
            Better::None => false,
        };
        let lead = cells.iter().copied().reduce(|a, b| if beats(b.mean, a.mean) { b } else { a });
        let best: Vec<bool> = cells.iter().map(|c| lead.is_some_and(|l| alike(c, &l))).collect();
        if self.better == Better::None || best.iter().all(|&b| b) { vec![false; cells.len()] } else { best }
    }
}

/// A difference below this between single runs says nothing: other seeds differ by as much.
const NOISE: f64 = 0.02;

/// The order of two cells says little: their intervals overlap, or, where nothing is known of the spread of one, they are
/// within [`NOISE`] of each other.
pub fn alike(a: &MeanCi, b: &MeanCi) -> bool {
    let single = a.runs < 2 || b.runs < 2;
    a.overlaps(b) || (single && (a.mean - b.mean).abs() <= NOISE * a.mean.abs().max(b.mean.abs()))
}

fn big_count(value: f64) -> String {
    match value.abs() {
        x if x >= 9_999_500.0 => format!("{} M", significant(value / 1e6)),
        x if x >= 99_950.0 => format!("{} k", significant(value / 1e3)),
        x if x >= 1000.0 || value.fract() == 0.0 => crate::text::count(value.round() as u64),
        _ => significant(value),
    }
}

/// Runs of one topology (on one machine, with one workload), whatever the seed.
pub struct Column<'a> {
    pub title: String,
    pub runs: Vec<&'a Summary>,
}

/// Runs by topology in order of first appearance. The title names machine and workload only where the
/// runs differ in them.
pub fn columns<'a>(runs: &[&'a Summary]) -> Vec<Column<'a>> {
    let differs = |f: fn(&Summary) -> &str| runs.iter().any(|s| f(s) != f(runs[0]));
    let (machines, workloads) = (differs(|s| &s.machine), differs(|s| &s.workload));
    let mut columns: Vec<Column<'a>> = Vec::new();
    for &s in runs {
        let mut title = s.topology.clone();
        if machines {
            title += &format!(" @ {}", s.machine);
        }
        if workloads {
            title += &format!(" / {}", s.workload);
        }
        match columns.iter_mut().find(|c| c.title == title) {
            Some(c) => c.runs.push(s),
            None => columns.push(Column { title, runs: vec![s] }),
        }
    }
    columns
}

/// Lines in which some run has something to say.
pub fn shown(runs: &[&Summary]) -> impl Iterator<Item = &'static Metric> {
    let counts: Vec<bool> = METRICS
        .iter()
        .map(|m| {
            let first = runs.first().map_or(0.0, |s| (m.of)(s));
            // A fixed duration is not a result.
            if m.name == "run time" {
                runs.iter().any(|s| (m.of)(s) != first)
            } else {
                runs.iter().any(|s| (m.of)(s) != 0.0)
            }
        })
        .collect();
    METRICS.iter().zip(counts).filter(|(_, show)| *show).map(|(m, _)| m)
}

/// The comparison as text, at most 100 columns wide; more topologies than fit go into further blocks,
/// each beginning with the first topology, to which the ratios refer.
pub fn compare_table(runs: &[Summary]) -> String {
    let runs: Vec<&Summary> = runs.iter().collect();
    let Some(first) = runs.first() else { return "nothing to compare\n".into() };
    let columns = columns(&runs);
    let seeds = columns.iter().map(|c| c.runs.len()).max().unwrap_or(1);
    let mut out = String::new();
    if runs.iter().all(|s| s.machine == first.machine && s.workload == first.workload) {
        out += &clip(&format!("{} on {}", first.workload, first.machine), WIDTH);
        out.push('\n');
    }
    if seeds > 1 {
        writeln!(
            out,
            "mean ± half of the 95 % confidence interval (Student's t) of up to {seeds} runs; without ± all were equal"
        )
        .expect("writing to a string");
    }
    if runs.iter().any(|s| s.interrupted) {
        out += "INTERRUPTED: some runs did not reach their end\n";
    }
    out.push('\n');

    let per_block = if seeds > 1 { 3 } else { 4 };
    let mut rest: &[Column<'_>] = &columns[1..];
    loop {
        let (now, later) = rest.split_at(rest.len().min(per_block - 1));
        let block: Vec<&Column<'_>> = columns[..1].iter().chain(now).collect();
        out += &render_block(&runs, &columns, &block);
        rest = later;
        if rest.is_empty() {
            break;
        }
        out.push('\n');
    }
    if columns.len() > 1 {
        let unclear = if seeds > 1 { ", or not clearly worse than the best" } else { "" };
        writeln!(out, "\n* best in its line{unclear}; 0.50x is half of {}", clip(&columns[0].title, 40))
            .expect("writing to a string");
        if seeds == 1 {
            out += "  One run each does not show noise: figures within 2 % of the best are marked, too (--seeds).\n";
        }
    }
    out
}

fn render_block(runs: &[&Summary], all: &[Column<'_>], block: &[&Column<'_>]) -> String {
    let room = (WIDTH - 20) / block.len() - 2;
    let mut table = Columns::new(
        [String::new()].into_iter().chain(block.iter().map(|c| clip(&c.title, room - 2) + "  ")),
    );
    for metric in shown(runs) {
        let of = |c: &Column<'_>| MeanCi::of(&c.runs.iter().map(|s| (metric.of)(s)).collect::<Vec<_>>());
        let cells: Vec<MeanCi> = all.iter().map(of).collect();
        let best = metric.best(&cells);
        let mut row = vec![metric.name.to_string()];
        for column in block {
            let i = all.iter().position(|c| c.title == column.title).expect("a block is made of columns");
            let mut cell = metric.show_ci(&cells[i]);
            if i > 0 {
                cell += &match (cells[0].mean, cells[i].mean) {
                    (0.0, _) => "       ".to_string(),
                    (a, b) if b / a >= 99.5 => format!(" {:>5.0}x", b / a),
                    (a, b) => format!(" {:>5.2}x", b / a),
                };
            }
            cell += if best[i] { " *" } else { "  " };
            row.push(cell);
        }
        table.row(row);
    }
    table.render(2, WIDTH)
}
