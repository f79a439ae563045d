// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Several runs side by side: one column per topology, its seeds averaged.

use crate::screen::{Cell, Columns, Screen, Tone, visible};
use crate::stats::MeanCi;
use crate::summary::Summary;
use crate::text::{clip, duration_f, energy_f, significant};
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
        m("task switches", Count, Lower, |s| s.totals.context_switches as f64),
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
        x if x >= 1000.0 || value.fract() == 0.0 => crate::count(value.round() as u64),
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

/// The comparison as text; more topologies than fit beside each other go into further blocks, each beginning with the first
/// topology, to which the ratios refer.
pub fn compare_table(runs: &[Summary], screen: &Screen) -> String {
    let runs: Vec<&Summary> = runs.iter().collect();
    let Some(first) = runs.first() else { return "nothing to compare\n".into() };
    let columns = columns(&runs);
    let seeds = columns.iter().map(|c| c.runs.len()).max().unwrap_or(1);
    let mut out = String::new();
    if runs.iter().all(|s| s.machine == first.machine && s.workload == first.workload) {
        out += &clip(&format!("{} on {}", first.workload, first.machine), usize::MAX);
        out.push('\n');
    }
    if seeds > 1 {
        writeln!(
            out,
            "mean ± half of the 95 % confidence interval (Student's t) of up to {seeds} runs; without ± all were equal"
        )
        .expect("writing to a string");
        out += &same_with_every_seed(&columns);
    }
    if runs.iter().any(|s| s.interrupted) {
        out += &screen.paint("INTERRUPTED: some runs did not reach their end", Tone::Bad);
        out.push('\n');
    }
    out.push('\n');

    let cells = all_cells(&runs, &columns);
    let width = |c: usize| {
        let title = visible(&columns[c].title).min(TITLE) + 2;
        cells.iter().map(|(_, row)| visible(&row[c].0)).max().unwrap_or(0).max(title) + 2
    };
    let label = cells.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let mut next = 1;
    loop {
        let mut block = vec![0];
        let mut room = screen.width.saturating_sub(label + width(0));
        while next < columns.len() && (block.len() == 1 || width(next) <= room) {
            room = room.saturating_sub(width(next));
            block.push(next);
            next += 1;
        }
        // Not even two fit: one at a time, its ratios beside it.
        if block.len() == 2 && label + width(0) + width(block[1]) > screen.width {
            if block[1] == 1 {
                out += &render_block(&columns, &cells, &[0], screen);
                out.push('\n');
            }
            block.remove(0);
        }
        out += &render_block(&columns, &cells, &block, screen);
        if next >= columns.len() {
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
    screen.fold(&out)
}

/// Cells of a topology's name.
const TITLE: usize = 24;

/// Which topologies ran alike with every seed: their confidence intervals say nothing.
fn same_with_every_seed(columns: &[Column<'_>]) -> String {
    let alike = |c: &&Column<'_>| {
        c.runs.len() > 1 && METRICS.iter().all(|m| c.runs.iter().all(|s| (m.of)(s) == (m.of)(c.runs[0])))
    };
    let same: Vec<String> = columns.iter().filter(alike).map(|c| clip(&c.title, TITLE)).collect();
    match same.len() {
        0 => String::new(),
        n if n == columns.len() => {
            "every seed gave the same run: nothing in this workload or these topologies is random\n".into()
        }
        _ => format!(
            "every seed gave the same run under {}: the workload has nothing random, only the other topologies have\n",
            same.join(", ")
        ),
    }
}

/// What a topology has in a line, and whether it is the best.
type Figure = (String, bool);

/// Every line with a figure for each topology.
fn all_cells(runs: &[&Summary], all: &[Column<'_>]) -> Vec<(&'static str, Vec<Figure>)> {
    let line = |metric: &'static Metric| {
        let of = |c: &Column<'_>| MeanCi::of(&c.runs.iter().map(|s| (metric.of)(s)).collect::<Vec<_>>());
        let cells: Vec<MeanCi> = all.iter().map(of).collect();
        let best = metric.best(&cells);
        let figure = |i: usize| {
            let mut text = metric.show_ci(&cells[i]);
            if i > 0 {
                text += &match (cells[0].mean, cells[i].mean) {
                    (0.0, _) => "       ".to_string(),
                    (a, b) if b / a >= 99.5 => format!(" {:>5.0}x", b / a),
                    (a, b) if b > 0.0 && b / a < 0.005 => " <0.01x".to_string(),
                    (a, b) => format!(" {:>5.2}x", b / a),
                };
            }
            (text + if best[i] { " *" } else { "  " }, best[i])
        };
        (metric.name, (0..all.len()).map(figure).collect())
    };
    shown(runs).map(line).collect()
}

fn render_block(
    all: &[Column<'_>],
    cells: &[(&'static str, Vec<Figure>)],
    block: &[usize],
    screen: &Screen,
) -> String {
    let titles = block.iter().map(|i| clip(&all[*i].title, TITLE) + "  ");
    let mut table = Columns::new([String::new()].into_iter().chain(titles));
    for (name, row) in cells {
        let figures = block.iter().map(|i| {
            let (text, best) = &row[*i];
            Cell::new(text.clone(), if *best { Tone::Good } else { Tone::Plain })
        });
        table.row([Cell::from(*name)].into_iter().chain(figures));
    }
    table.render(2, screen)
}
