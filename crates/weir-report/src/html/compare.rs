// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The comparison of several runs.

use super::data::SpreadData;
use super::page::{escape, micro, page};
use crate::compare::{Better, Column, METRICS, columns, shown};
use crate::stats::{Bin, MeanCi};
use crate::summary::{GroupSummary, Summary};
use serde::Serialize;
use std::cmp::Reverse;

const SCRIPT: &str = include_str!("assets/compare.js");

/// The content of a comparison besides the summaries.
#[derive(Debug, Default)]
pub struct CompareExtras {
    /// Relative address of each run's own report, in the order of the summaries; may be shorter; empty: none.
    pub reports: Vec<String>,
    /// Where the time of each run went, part by part ([`timeline`]), in the order of the summaries; may be shorter, and empty ones
    /// are none.
    pub timelines: Vec<Vec<[u64; 3]>>,
}

#[derive(Serialize)]
struct Data {
    columns: Vec<ColumnData>,
    metrics: Vec<MetricData>,
    groups: Vec<GroupRow>,
    nr_groups: usize,
    seeds: usize,
}

/// A group of tasks in all columns: mean, text and is it best, of its missed deadlines and of two percentiles.
#[derive(Serialize)]
struct GroupRow {
    name: String,
    missed: Vec<Cell>,
    response: Vec<Cell>,
    wakeup: Vec<Cell>,
}

/// Mean, text, is it best. No mean: no run has a value.
type Cell = (Option<f64>, String, bool);

/// Groups with a row.
const GROUPS: usize = 60;

#[derive(Serialize)]
struct ColumnData {
    title: String,
    response: SpreadData,
    wakeup: SpreadData,
    /// Mean shares of the machine: busy, scheduler code, waiting for locks, idle; thousandths.
    shares: [f64; 4],
    /// Virtual time of the first run, and shares of the machine's time part by part.
    duration: u64,
    timeline: Vec<[u64; 3]>,
    /// Label and address of the reports.
    reports: Vec<(String, String)>,
}

#[derive(Serialize)]
struct MetricData {
    name: &'static str,
    better: &'static str,
    /// Mean, half the confidence interval, text, is it best.
    cells: Vec<(f64, f64, String, bool)>,
}

/// A page that sets runs side by side: a column a topology, seeds averaged.
pub fn html_compare(runs: &[Summary], extras: &CompareExtras) -> String {
    let all: Vec<&Summary> = runs.iter().collect();
    let columns = columns(&all);
    let metric = |m: &'static crate::compare::Metric| {
        let of = |c: &crate::compare::Column<'_>| {
            MeanCi::of(&c.runs.iter().map(|s| (m.of)(s)).collect::<Vec<_>>())
        };
        let cells: Vec<MeanCi> = columns.iter().map(of).collect();
        let best = m.best(&cells);
        MetricData {
            name: m.name,
            better: match m.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::None => "",
            },
            cells: cells
                .iter()
                .zip(best)
                .map(|(c, best)| (c.mean, c.ci95, micro(&m.show_ci(c)), best))
                .collect(),
        }
    };
    let address = |s: &Summary| {
        let index = all.iter().position(|other| std::ptr::eq(*other, s))?;
        let address = extras.reports.get(index).filter(|a| !a.is_empty())?;
        Some((format!("seed {}", s.seed), address.clone()))
    };
    let timeline_of = |s: &Summary| {
        let index = all.iter().position(|other| std::ptr::eq(*other, s));
        index.and_then(|i| extras.timelines.get(i)).cloned().unwrap_or_default()
    };
    let data = Data {
        seeds: columns.iter().map(|c| c.runs.len()).max().unwrap_or(0),
        metrics: shown(&all).map(metric).collect(),
        groups: group_rows(&columns),
        nr_groups: all.first().map_or(0, |s| s.groups.len()),
        columns: columns
            .iter()
            .map(|c| ColumnData {
                title: c.title.clone(),
                response: merged(&c.runs, |s| (&s.response_ns, &s.response_bins)),
                wakeup: merged(&c.runs, |s| (&s.wakeup_latency_ns, &s.wakeup_bins)),
                shares: shares(&c.runs),
                duration: c.runs[0].duration_ns,
                timeline: timeline_of(c.runs[0]),
                reports: c.runs.iter().filter_map(|s| address(s)).collect(),
            })
            .collect(),
    };
    let names: Vec<String> = columns.iter().map(|c| escape(&c.title)).collect();
    let title = names.join(" / ");
    let heading = names.join(" <span>and</span> ");
    let same = |f: fn(&Summary) -> &str| {
        all.first().filter(|a| all.iter().all(|s| f(s) == f(a))).map(|a| escape(f(a)))
    };
    let mut facts: Vec<String> =
        [same(|s| &s.workload), same(|s| &s.machine)].into_iter().flatten().collect();
    if data.seeds > 1 {
        facts.push(format!(
            "up to {} runs each: mean ± half of the 95 % confidence interval, without ± where all were equal",
            data.seeds
        ));
    }
    let interrupted = if all.iter().any(|s| s.interrupted) {
        "<p class=\"banner\">Interrupted: some runs did not reach their end.</p>"
    } else {
        ""
    };
    let body = format!(
        "<header><div><h1>{heading}</h1><p class=\"sub\">{}</p></div></header>\n{interrupted}<main></main>\n\
         <noscript><p class=\"banner\">The comparison needs JavaScript.</p></noscript>\n<footer>runweir {}</footer>",
        facts.join(" · "),
        all.first().map_or(String::new(), |s| escape(&s.runweir)),
    );
    page(&title, &body, &data, SCRIPT)
}

/// The groups of the first run, those with most misses and longest waits where there are too many, in all columns.
fn group_rows(columns: &[Column<'_>]) -> Vec<GroupRow> {
    let Some(first) = columns.first().map(|c| c.runs[0]) else { return Vec::new() };
    let mut groups: Vec<(usize, &GroupSummary)> = first.groups.iter().enumerate().collect();
    if groups.len() > GROUPS {
        groups.sort_by_key(|(i, g)| {
            (Reverse((g.deadline_misses, g.response_ns.p99.max(g.wakeup_latency_ns.p99))), *i)
        });
        groups.truncate(GROUPS);
        groups.sort_by_key(|(i, _)| *i);
    }
    let cells = |name: &str, metric: &str, of: fn(&GroupSummary) -> Option<u64>| -> Vec<Cell> {
        let metric = METRICS.iter().find(|m| m.name == metric).expect("it is one of ours");
        let values = |c: &Column<'_>| -> Vec<f64> {
            let found = c.runs.iter().filter_map(|s| s.groups.iter().find(|g| g.name == name));
            found.filter_map(of).map(|n| n as f64).collect()
        };
        let all: Vec<Vec<f64>> = columns.iter().map(values).collect();
        let known: Vec<MeanCi> = all.iter().filter(|v| !v.is_empty()).map(|v| MeanCi::of(v)).collect();
        let mut best = metric.best(&known).into_iter().zip(known);
        let mut cell = |v: &Vec<f64>| match v.is_empty() {
            true => (None, "–".into(), false),
            false => {
                let (best, ci) = best.next().expect("one for each that is known");
                (Some(ci.mean), micro(&metric.show_ci(&ci)), best)
            }
        };
        all.iter().map(&mut cell).collect()
    };
    groups
        .into_iter()
        .map(|(_, g)| GroupRow {
            name: g.name.clone(),
            missed: cells(&g.name, "deadline misses", |g| Some(g.deadline_misses)),
            response: cells(&g.name, "response p99", |g| {
                (!g.response_ns.is_empty()).then_some(g.response_ns.p99)
            }),
            wakeup: cells(&g.name, "wakeup p99", |g| {
                (!g.wakeup_latency_ns.is_empty()).then_some(g.wakeup_latency_ns.p99)
            }),
        })
        .collect()
}

fn shares(runs: &[&Summary]) -> [f64; 4] {
    let mut out = [0.0; 4];
    for s in runs {
        let whole = s.capacity_ns().max(1) as f64 * runs.len() as f64;
        let t = &s.totals;
        let code = t.scheduler_ns.saturating_sub(t.lock_wait_ns);
        for (sum, part) in
            out.iter_mut().zip([t.busy_ns, code, t.lock_wait_ns.min(t.scheduler_ns), t.idle_ns])
        {
            *sum += (1000.0 * part as f64 / whole * 1000.0).round() / 1000.0;
        }
    }
    out
}

/// The runs' display histograms as one; the percentiles are those of the first run and only used where
/// it is the only one.
fn merged(runs: &[&Summary], of: fn(&Summary) -> (&crate::stats::Dist, &Vec<Bin>)) -> SpreadData {
    let mut bins: Vec<Bin> = runs.iter().flat_map(|s| of(s).1.iter().copied()).collect();
    bins.sort_by_key(|b| b.from_ns);
    let mut out: Vec<Bin> = Vec::new();
    for b in bins {
        match out.last_mut() {
            Some(last) if last.from_ns == b.from_ns => last.count += b.count,
            _ => out.push(b),
        }
    }
    SpreadData::new(of(runs[0]).0, &out)
}
