// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Results held against the thesis: row by row, direction by direction, and its conclusion.

use std::fmt::{self, Write};

use super::Error;
use super::average::{Metric, Summary};
use super::compare::{change, speed_up, speed_up_margin};
use super::experiment::{Results, baseline};
use super::matrix::{self, Config, LEVELS, MODELS, POLICIES, Scale, SliceRule};
use super::penalty::{Level, Model, Policy};
use super::published::{self, Direction, Row};
use super::run::WORKLOADS;

/// One number of a table: what the thesis has, and what we have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub theirs: f64,
    pub ours: f64,
}

/// A row of the published tables beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Deviation {
    pub row: Row,
    /// Absolute: percent, or a number of switches.
    pub original: Option<Pair>,
    /// Changes in percent of the baseline, penalties in percent.
    pub under: Vec<(Model, Policy, Pair)>,
}

/// Every row of the tables for which there are results, in their order.
///
/// # Errors
/// The published data are damaged.
pub fn deviations(results: &Results) -> Result<Vec<Deviation>, Error> {
    let mut all = Vec::new();
    for row in published::rows()? {
        let counters = if row.has_branches() { Model::Equal } else { Model::CacheOnly };
        let get = |c: &Config| results.get(&row.workload, c, &row.program, row.metric).copied();
        let Some(base) = get(&Config::new(row.level, counters, None)) else { continue };
        let original = row.original.map(|theirs| Pair { theirs, ours: base.mean });
        let under = row
            .under
            .iter()
            .filter_map(|&(model, policy, theirs)| {
                let under = get(&Config::new(row.level, model, Some(policy)))?;
                Some((model, policy, Pair { theirs, ours: change(row.metric, &base, &under) }))
            })
            .collect();
        all.push(Deviation { row, original, under });
    }
    Ok(all)
}

/// All of them as CSV: a line for each row, with theirs and ours side by side.
pub fn csv(all: &[Deviation]) -> String {
    let mut out = String::from("table,program,workload,level,metric,original,original_ours");
    for head in ["EQ_or_only", "CA", "BR"] {
        for policy in ["penalty", "reward"] {
            let _ = write!(out, ",{head}_{policy},{head}_{policy}_ours");
        }
    }
    out.push('\n');
    for d in all {
        let r = &d.row;
        let _ = write!(out, "{},{},{},{:?},{}", r.table, r.program, r.workload, r.level, r.metric.name());
        match d.original {
            Some(p) => _ = write!(out, ",{},{:.3}", p.theirs, p.ours),
            None => out.push_str(",,"),
        }
        for i in 0..6 {
            match d.under.get(i) {
                Some((_, _, p)) => _ = write!(out, ",{},{:.3}", p.theirs, p.ours),
                None => out.push_str(",,"),
            }
        }
        out.push('\n');
    }
    out
}

/// How a metric's changes agree with the thesis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    pub values: usize,
    /// Same sign, where theirs is more than `noise`.
    pub same_sign: usize,
    pub signed: usize,
    /// Mean absolute deviation, percent points.
    pub mean_deviation: f64,
    pub largest: f64,
}

/// Agreement of all changes of a metric. Changes of theirs up to `noise` percent count as none.
pub fn agreement(all: &[Deviation], metric: Metric, noise: f64) -> Agreement {
    let mut a = Agreement::default();
    for (_, _, p) in all.iter().filter(|d| d.row.metric == metric).flat_map(|d| &d.under) {
        a.values += 1;
        let off = (p.theirs - p.ours).abs();
        a.mean_deviation += off;
        a.largest = a.largest.max(off);
        if p.theirs.abs() > noise {
            a.signed += 1;
            a.same_sign += usize::from((p.theirs > 0.0) == (p.ours > 0.0));
        }
    }
    a.mean_deviation /= a.values.max(1) as f64;
    a
}

/// By how much all programs together are faster under a configuration, and how sure that is, percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    pub percent: f64,
    /// Infinite: of a single run nobody knows.
    pub margin: f64,
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.margin.is_finite() {
            write!(f, "{:+.2} ± {:.2}", self.percent, self.margin)
        } else {
            write!(f, "{:+.2}", self.percent)
        }
    }
}

/// Gain of a configuration against its baseline.
pub fn gain(results: &Results, workload: &str, config: &Config) -> Option<Gain> {
    let of = |c: &Config| results.overall.get(&(workload.to_string(), *c));
    let (base, new): (&Summary, &Summary) = (of(&baseline(config))?, of(config)?);
    Some(Gain { percent: speed_up(base, new), margin: speed_up_margin(base, new) })
}

/// Gain of one program.
pub fn gain_of(results: &Results, workload: &str, config: &Config, program: &str) -> Option<Gain> {
    let base = results.get(workload, &baseline(config), program, Metric::Time)?;
    let new = results.get(workload, config, program, Metric::Time)?;
    Some(Gain { percent: speed_up(base, new), margin: speed_up_margin(base, new) })
}

/// What a gain says of a stated direction; `None`: it is within the noise.
pub fn agrees(gain: Gain, stated: Direction) -> Option<bool> {
    let clear = gain.percent.abs() > gain.margin;
    match stated {
        Direction::NoGain => gain.margin.is_finite().then_some(!(clear && gain.percent > 0.0)),
        Direction::Faster => clear.then_some(gain.percent > 0.0),
        Direction::Slower => clear.then_some(gain.percent < 0.0),
    }
}

/// The directions of the thesis against ours, as a table in Markdown.
pub fn directions(results: &Results) -> String {
    let mut out = String::from(
        "| workload | policy | all programs | ffmpeg | make | octave | thesis | agrees |\n|---|---|---|---|---|---|---|---|\n",
    );
    for workload in WORKLOADS {
        for config in matrix::policies() {
            let Some(all) = gain(results, workload, &config) else { continue };
            let policy = config.policy.expect("policies have one");
            let stated = published::direction(workload, config.level, config.model, policy);
            let says = stated.map_or("-", |d| match d {
                Direction::Faster => "faster",
                Direction::Slower => "slower",
                Direction::NoGain => "no gain",
            });
            let verdict = match stated.map(|d| agrees(all, d)) {
                None => "-",
                Some(None) => "within the noise",
                Some(Some(true)) => "yes",
                Some(Some(false)) => "no",
            };
            let _ = write!(out, "| {workload} | {} | {} |", config.name(), all);
            for program in ["ffmpeg", "make", "octave"] {
                let g = gain_of(results, workload, &config, program);
                let _ = write!(out, " {} |", g.map_or("-".into(), |g| format!("{:+.1}", g.percent)));
            }
            let _ = writeln!(out, " {says} | {verdict} |");
        }
    }
    out
}

/// How many stated directions agree, disagree, or drown in the noise.
pub fn tally(results: &Results) -> (usize, usize, usize) {
    let (mut yes, mut no, mut open) = (0, 0, 0);
    for workload in WORKLOADS {
        for c in matrix::policies() {
            let policy = c.policy.expect("policies have one");
            let stated = published::direction(workload, c.level, c.model, policy);
            if let (Some(g), Some(d)) = (gain(results, workload, &c), stated) {
                match agrees(g, d) {
                    Some(true) => yes += 1,
                    Some(false) => no += 1,
                    None => open += 1,
                }
            }
        }
    }
    (yes, no, open)
}

/// The configurations that the conclusion is about: the best of the thesis, its two halves, and our slice rules.
pub fn evidence() -> Vec<(&'static str, Config)> {
    let best = Config::new(Level::L1, Model::CacheOnly, Some(Policy::Reward));
    let slice = Config { scale: Scale::SliceOnly, ..best };
    vec![
        ("both effects, as published", best),
        ("slices only", slice),
        ("virtual runtimes only", Config { scale: Scale::RuntimeOnly, ..best }),
        ("slices 45 % shorter for everybody", Config { rule: SliceRule::Constant, ..slice }),
        ("slices by what L1 serves (ours)", Config { rule: SliceRule::Served, ..slice }),
    ]
}

/// The conclusion's evidence as a table in Markdown: L1, cache-only, Reward.
pub fn conclusion(results: &Results) -> String {
    let mut out = String::from("| L1, cache-only, Reward | wl1 | wl2 |\n|---|---|---|\n");
    for (what, config) in evidence() {
        let of = |w| gain(results, w, &config).map_or("-".into(), |g| g.to_string());
        let _ = writeln!(out, "| {what} | {} | {} |", of("wl1"), of("wl2"));
    }
    out
}

/// Both ablations of every cache-only policy as a table in Markdown.
pub fn halves(results: &Results) -> String {
    let mut out = String::from(
        "| workload | policy | both | slices only | virtual runtimes only |\n|---|---|---|---|---|\n",
    );
    for workload in WORKLOADS {
        for level in LEVELS {
            for policy in POLICIES {
                let both = Config::new(level, Model::CacheOnly, Some(policy));
                let of = |scale| {
                    gain(results, workload, &Config { scale, ..both }).map_or("-".into(), |g| g.to_string())
                };
                let _ = writeln!(
                    out,
                    "| {workload} | {} | {} | {} | {} |",
                    both.name(),
                    of(Scale::Both),
                    of(Scale::SliceOnly),
                    of(Scale::RuntimeOnly)
                );
            }
        }
    }
    out
}

/// The thesis's figures 5.3 to 5.7 as one picture: gains of all programs together with their margins.
pub fn figure(results: &Results) -> String {
    const ROW: f64 = 15.0;
    const LEFT: f64 = 170.0;
    const WIDTH: f64 = 720.0;
    let bars: Vec<(String, Policy, Gain)> = WORKLOADS
        .into_iter()
        .flat_map(|w| MODELS.into_iter().flat_map(move |m| LEVELS.into_iter().map(move |l| (w, m, l))))
        .flat_map(|(w, m, l)| POLICIES.into_iter().map(move |p| (w, Config::new(l, m, Some(p)), p)))
        .filter_map(|(w, c, p)| Some((format!("{w} {}", c.name()), p, gain(results, w, &c)?)))
        .collect();
    let margin = |g: &Gain| if g.margin.is_finite() { g.margin } else { 0.0 };
    let most = bars.iter().map(|b| b.2.percent.abs() + margin(&b.2)).fold(1.0, f64::max);
    let height = bars.len() as f64 * ROW + 50.0;
    let middle = LEFT + (WIDTH - LEFT) / 2.0;
    let x = |v: f64| middle + v / most * (WIDTH - LEFT - 20.0) / 2.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\">\n<title>Gain in run time of \
         all programs together, percent of the baseline</title>\n<style>text {{ fill: #333 }} \
         @media (prefers-color-scheme: dark) {{ text {{ fill: #ccc }} }}</style>\n"
    );
    for (i, (name, policy, g)) in bars.iter().enumerate() {
        let y = 20.0 + i as f64 * ROW;
        let colour = if *policy == Policy::Reward { "#4269d0" } else { "#c9559b" };
        let (a, b) = (x(g.percent.min(0.0)), x(g.percent.max(0.0)));
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text><rect x=\"{a:.1}\" y=\"{:.1}\" \
             width=\"{:.1}\" height=\"10\" fill=\"{colour}\"/><path d=\"M{:.1} {:.1}H{:.1}\" stroke=\"#777\"/>",
            LEFT - 6.0,
            y + 9.0,
            y,
            (b - a).max(0.5),
            x(g.percent - margin(g)),
            y + 5.0,
            x(g.percent + margin(g))
        );
    }
    let below = height - 12.0;
    for v in [-most, 0.0, most] {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{v:+.1} %</text>",
            x(v).clamp(LEFT, WIDTH - 24.0)
        );
    }
    let _ = writeln!(out, "<path d=\"M{middle:.1} 14V{:.1}\" stroke=\"#777\"/>\n</svg>", height - 28.0);
    out
}

/// Changes of theirs up to this many percent are noise: their baselines of one program differ by as much (source 4,
/// section 10).
const NOISE: f64 = 5.0;

/// Everything that the experiment says, in Markdown.
///
/// # Errors
/// The published data are damaged.
pub fn verdicts(results: &Results) -> Result<String, Error> {
    let all = deviations(results)?;
    let mut out = String::from(
        "### Rows\n\n| metric | values | mean deviation | largest | same sign |\n|---|---|---|---|---|\n",
    );
    for m in [Metric::CacheRate, Metric::BranchRate, Metric::Penalty, Metric::Voluntary, Metric::Involuntary]
    {
        let a = agreement(&all, m, NOISE);
        let _ = writeln!(
            out,
            "| {} | {} | {:.2} | {:.2} | {} of {} |",
            m.name(),
            a.values,
            a.mean_deviation,
            a.largest,
            a.same_sign,
            a.signed
        );
    }
    let (yes, no, open) = tally(results);
    let _ = write!(
        out,
        "\n{} rows. Deviations are in percent points; signs are compared where the thesis's change is above {NOISE} %.\n\n\
         ### Directions\n\nOf the directions that the thesis states {yes} are reproduced, {no} are not, {open} are within the \
         noise. Gains in percent of the baseline's time, with 95 % intervals.\n\n{}\n### Conclusion\n\n{}\n{}",
        all.len(),
        directions(results),
        conclusion(results),
        halves(results)
    );
    Ok(out)
}
