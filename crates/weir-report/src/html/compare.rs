// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The comparison of several runs.

use super::data::SpreadData;
use super::page::{escape, micro, page};
use crate::compare::{Better, columns, shown};
use crate::stats::{Bin, MeanCi};
use crate::summary::Summary;
use serde::Serialize;

const SCRIPT: &str = include_str!("assets/compare.js");

/// What a comparison shows besides the summaries.
#[derive(Debug, Default)]
pub struct CompareExtras {
    /// Relative address of each run's own report, in the order of the summaries; may be shorter, and an empty one is none.
    pub reports: Vec<String>,
}

#[derive(Serialize)]
struct Data {
    columns: Vec<ColumnData>,
    metrics: Vec<MetricData>,
    seeds: usize,
}

#[derive(Serialize)]
struct ColumnData {
    title: String,
    response: SpreadData,
    wakeup: SpreadData,
    /// Mean shares of the machine: busy, scheduler code, waiting for locks, idle; thousandths.
    shares: [f64; 4],
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
    let data = Data {
        seeds: columns.iter().map(|c| c.runs.len()).max().unwrap_or(0),
        metrics: shown(&all).map(metric).collect(),
        columns: columns
            .iter()
            .map(|c| ColumnData {
                title: c.title.clone(),
                response: merged(&c.runs, |s| (&s.response_ns, &s.response_bins)),
                wakeup: merged(&c.runs, |s| (&s.wakeup_latency_ns, &s.wakeup_bins)),
                shares: shares(&c.runs),
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
