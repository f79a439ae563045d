// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The Pareto front of the trials, and its drawing.

use std::fmt::Write as _;

use super::spec::{Goal, Spec};
use super::{Trial, TuneResult};
use crate::guard::{is_time, show};

/// Trials that keep the bounds, and than which no other is better in all objectives.
pub(super) fn front(spec: &Spec, trials: &[Trial]) -> Vec<Trial> {
    let cost = |t: &Trial| -> Vec<f64> {
        let signed = |(o, v): (&super::spec::Objective, &Option<f64>)| match o.goal {
            Goal::Min => v.unwrap_or(f64::INFINITY),
            Goal::Max => -v.unwrap_or(f64::NEG_INFINITY),
        };
        spec.objectives.iter().zip(&t.objectives).map(signed).collect()
    };
    let beats =
        |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| x <= y) && a.iter().zip(b).any(|(x, y)| x < y);
    let good: Vec<(&Trial, Vec<f64>)> = trials.iter().filter(|t| t.feasible).map(|t| (t, cost(t))).collect();
    let mut out: Vec<Trial> = Vec::new();
    for (i, (trial, own)) in good.iter().enumerate() {
        let beaten = good.iter().enumerate().any(|(j, (_, other))| {
            // Of equal ones the first stays.
            beats(other, own) || (j < i && other == own)
        });
        if !beaten {
            out.push((*trial).clone());
        }
    }
    out
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;

/// All trials in the first two objectives, or over the course of the search where there is one: faint where bounds are broken, ringed where
/// on the front, with the baseline as a square.
pub fn svg(result: &TuneResult) -> String {
    let second = result.objectives.len() > 1;
    let point = |i: usize, t: &Trial| -> Option<(f64, f64)> {
        let y = t.objectives[0]?;
        Some(if second { (t.objectives[1]?, y) } else { (i as f64, y) })
    };
    let points: Vec<(usize, (f64, f64))> =
        result.trials.iter().enumerate().filter_map(|(i, t)| Some((i, point(i, t)?))).collect();
    let bounds = |pick: fn(&(f64, f64)) -> f64| {
        let (low, high) =
            points.iter().map(|p| pick(&p.1)).fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        if high > low { (low, high) } else { (low - 1.0, low + 1.0) }
    };
    let ((x0, x1), (y0, y1)) = (bounds(|p| p.0), bounds(|p| p.1));
    let place = |(x, y): (f64, f64)| {
        let across = LEFT + 8.0 + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT - 16.0);
        let up = HEIGHT - BOTTOM - 8.0 - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM - 16.0);
        (across, up)
    };
    let escape = |t: &str| t.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <path d=\"M{LEFT} {TOP}V{}H{}\" fill=\"none\" stroke=\"#888\"/>\n",
        HEIGHT - BOTTOM,
        WIDTH - RIGHT
    );
    let x_title = if second { result.objectives[1].0.as_str() } else { "trial" };
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        WIDTH / 2.0,
        HEIGHT - 12.0,
        escape(x_title),
        HEIGHT / 2.0,
        escape(&result.objectives[0].0)
    );
    for (value, x) in [(x0, place((x0, y0)).0), (x1, place((x1, y0)).0)] {
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM + 16.0,
            short(x_title, value)
        );
    }
    for (value, y) in [(y0, place((x0, y0)).1), (y1, place((x0, y1)).1)] {
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            short(&result.objectives[0].0, value)
        );
    }
    let on_front = |t: &Trial| result.front.iter().any(|j| j.config == t.config);
    let mut step: Vec<(f64, f64)> = Vec::new();
    for (i, at) in &points {
        let t = &result.trials[*i];
        let (x, y) = place(*at);
        let fill = if t.feasible { "#1769aa" } else { "#c9c9c9" };
        let title = escape(&format!("{} {}", t.config.topology, t.config.set.join(" ")));
        let shape = match i {
            0 => format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"#222\">",
                x - 5.0,
                y - 5.0
            ),
            _ => {
                format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" fill-opacity=\"0.75\">")
            }
        };
        let end = if *i == 0 { "rect" } else { "circle" };
        let _ = writeln!(out, "{shape}<title>{title}</title></{end}>");
        if on_front(t) {
            step.push((x, y));
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"none\" stroke=\"#d1495b\" stroke-width=\"2\"/>"
            );
        }
    }
    if second && step.len() > 1 {
        step.sort_by(|a, b| a.0.total_cmp(&b.0));
        let line: Vec<String> = step.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"#d1495b\"/>", line.join(" "));
    }
    out + "</svg>\n"
}

/// A time with its unit, another number with few digits.
fn short(metric: &str, value: f64) -> String {
    if is_time(metric) && value >= 0.0 {
        show(metric, value)
    } else if value.abs() >= 1e6 {
        format!("{value:.3e}")
    } else {
        format!("{:.4}", value).trim_end_matches('0').trim_end_matches('.').into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::{Config, Interval, Judged};

    /// Across is the second objective, upwards the first.
    #[test]
    fn axes_have_names_and_units() {
        let config = Config { topology: "fifo".into(), set: Vec::new() };
        let trial = |wait: f64, jobs: f64| Trial {
            config: config.clone(),
            objectives: vec![Some(wait), Some(jobs)],
            constraints: Vec::new(),
            feasible: true,
        };
        let interval = Interval { mean: 1.0, ci95: 0.0, fixed: false };
        let baseline = Judged {
            config: config.clone(),
            objectives: vec![interval; 2],
            gains_pct: vec![interval; 2],
            constraints: Vec::new(),
            feasible: true,
            others: Vec::new(),
        };
        let mut result = TuneResult {
            runweir: String::new(),
            name: String::new(),
            machine: String::new(),
            workload: String::new(),
            objectives: vec![("wakeup_latency_ns.p99".into(), Goal::Min), ("totals.jobs".into(), Goal::Max)],
            constraints: Vec::new(),
            seeds: 1,
            held_out: 2,
            trials: vec![trial(1_250_000.0, 40.0), trial(2_500_000.0, 90.0)],
            baseline,
            front: Vec::new(),
            best: None,
            interrupted: false,
            ignored: Vec::new(),
            warnings: Vec::new(),
        };
        let label = |words: &str| format!(">{words}</text>");
        let two = svg(&result);
        let across = two.find(&label("totals.jobs")).expect("an axis");
        assert!(across < two.find(&label("wakeup_latency_ns.p99")).expect("an axis"), "{two}");
        for words in ["1.25 ms", "2.50 ms", "40", "90"] {
            assert!(two.contains(&label(words)), "{words}: {two}");
        }
        // With one objective the trials are in their order.
        result.objectives.truncate(1);
        let one = svg(&result);
        assert!(one.contains(&label("trial")) && !one.contains("totals.jobs"), "{one}");
    }
}
