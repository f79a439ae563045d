// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Search over topologies and parameters for a workload and objectives. `docs/tune.md` describes the specification.
//!
//! The search sees some seeds; its result is judged on others, each compared with the baseline with the same seed. The optimiser is
//! TPE (crate `tpe`), with random weights per trial if there are several objectives.

mod front;
mod search;
mod spec;

use std::cell::RefCell;
use std::fmt::Write as _;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;
use weir_report::{Cell, Columns, Ignored, MeanCi, Screen, Tone};

use crate::explain::Explainer;
use crate::fault::{Diag, Fault, Result};
use crate::guard::{metric, show};
use crate::remarks::Remarks;
use crate::run::PreparedRun;
use crate::units::plural;
use crate::watch::{Watch, pool};
pub use front::svg;
use spec::{Bound, WORK_DONE};
pub use spec::{Goal, Spec};

/// Most members of the front that are judged on held-out seeds.
const JUDGED: usize = 12;

/// A point of the search space.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    pub topology: String,
    /// As `component.param=value`.
    pub set: Vec<String>,
}

/// A configuration with what it gave on the seeds of the search.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    #[serde(flatten)]
    pub config: Config,
    /// Mean of each objective; `None`: a run had no such value.
    pub objectives: Vec<Option<f64>>,
    pub constraints: Vec<Option<f64>>,
    pub feasible: bool,
}

/// A configuration with what it gave on held-out seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    #[serde(flatten)]
    pub config: Config,
    /// Mean of each objective with half of its 95 % interval.
    pub objectives: Vec<Interval>,
    /// Gain over the baseline in each objective, percent; positive is better. From differences seed by seed.
    pub gains_pct: Vec<Interval>,
    pub constraints: Vec<Interval>,
    /// The means keep all bounds.
    pub feasible: bool,
    /// What else of the run changed.
    pub others: Vec<Change>,
}

/// A figure beside the objectives, and how it changed from the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    pub metric: String,
    pub value: Interval,
    /// Of the baseline's value, from differences seed by seed; `None` where that is 0.
    pub change_pct: Option<Interval>,
}

/// A mean and half of its 95 % interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub mean: f64,
    pub ci95: f64,
    /// Several runs gave the same value: their seeds change nothing.
    #[serde(skip)]
    pub fixed: bool,
}

impl Interval {
    fn of(values: &[f64]) -> Self {
        let m = MeanCi::of(values);
        // Enough digits, and the same on every machine.
        let round = |v: f64| (v * 1000.0).round() / 1000.0;
        let fixed = values.len() > 1 && values.iter().all(|v| *v == values[0]);
        Self { mean: round(m.mean), ci95: round(m.ci95), fixed }
    }

    /// In words; `show` writes a value.
    fn words(&self, show: impl Fn(f64) -> String) -> String {
        match self.fixed {
            true => format!("{} with every seed", show(self.mean)),
            false => format!("{} ± {}", show(self.mean), show(self.ci95)),
        }
    }
}

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
pub struct TuneResult {
    pub runweir: String,
    pub name: String,
    pub machine: String,
    pub workload: String,
    /// The metrics, and whether each is to be small or great.
    pub objectives: Vec<(String, Goal)>,
    pub constraints: Vec<String>,
    pub seeds: u64,
    pub held_out: u64,
    pub trials: Vec<Trial>,
    /// The first topology as it is.
    pub baseline: Judged,
    /// No member is worse than another in all objectives, on the seeds of the search.
    pub front: Vec<Judged>,
    /// The member that the search preferred, if it keeps the bounds on held-out seeds and its gain is certain.
    pub best: Option<usize>,
    pub interrupted: bool,
    /// What topologies do not obey of what the workload asks for.
    pub ignored: Vec<Ignored>,
    /// Remarks for the user about the runs, each once.
    #[serde(skip)]
    pub warnings: Vec<Diag>,
}

/// Search.
///
/// # Errors
/// The user's: the specification is wrong, or a topology does not obey what the workload asks for and `strict` says that this is an
/// error. The system's: a run failed, or the caller ended it before the baseline was there.
pub fn tune(file: &str, strict: bool, jobs: Option<u32>, watch: &dyn Watch) -> Result<TuneResult> {
    tune_spec(&Spec::open(file, strict)?, jobs, watch)
}

/// The same for a specification that was read.
///
/// # Errors
/// As [`tune`].
pub fn tune_spec(spec: &Spec, jobs: Option<u32>, watch: &dyn Watch) -> Result<TuneResult> {
    let mut spec = spec.clone();
    if spec.default_objective && !has_values(&spec, watch)? {
        spec.objectives[0].metric = "wakeup_latency_ns.p99".into();
    }
    let spec = &spec;
    let lab = Lab { spec, watch, pool: pool(jobs)?, beside: beside(spec), remarks: RefCell::default() };
    watch.more((spec.trials as u64) * spec.seeds + spec.held_out * (JUDGED as u64 / 2));
    let base_config = Config { topology: spec.topologies[0].clone(), set: Vec::new() };
    let Some(base) = lab.trial(&base_config, None)? else {
        return Err(Fault::system(
            "ended before the baseline was measured",
            "try again, or with fewer trials",
        ));
    };
    if let Some(i) = base.objectives.iter().position(Option::is_none) {
        return Err(Fault::user(
            format!("the runs of `{}` have no value `{}`", base.config.topology, spec.objectives[i].metric),
            "a percentile of nothing has no value: let the run be longer, or name another metric",
        ));
    }
    let mut trials = vec![base];
    let mut interrupted = false;
    for topology in spec.topologies[1..].iter().take(spec.trials.saturating_sub(1)) {
        match lab.trial(&Config { topology: topology.clone(), set: Vec::new() }, trials.first())? {
            Some(trial) => trials.push(trial),
            None => interrupted = true,
        }
    }
    let mut search = search::Search::new(spec);
    while trials.len() < spec.trials && !interrupted {
        let Some(config) = search.next(&trials) else { break };
        match lab.trial(&config, trials.first())? {
            Some(trial) => trials.push(trial),
            None => interrupted = true,
        }
    }
    let mut members = front::front(spec, &trials);
    // The preferred ones first: those that are judged.
    let score = |t: &Trial| spec.score(&trials[0], t, &spec.even_weights());
    members.sort_by(|a, b| score(a).total_cmp(&score(b)));
    members.truncate(JUDGED);
    let base_runs = lab.held_out(&trials[0].config)?;
    let baseline = lab.judge(&trials[0].config, &base_runs, &base_runs);
    let mut judged = Vec::new();
    for member in &members {
        if watch.stopped() {
            interrupted = true;
            break;
        }
        let runs = lab.held_out(&member.config)?;
        judged.push(lab.judge(&member.config, &runs, &base_runs));
    }
    let sure = |j: &Judged| j.feasible && j.gains_pct.iter().any(|g| g.mean - g.ci95 > 0.0);
    let best = judged.first().filter(|j| j.config != trials[0].config && sure(j)).map(|_| 0);
    let (warnings, ignored) = lab.remarks.into_inner().finish();
    Ok(TuneResult {
        ignored,
        warnings,
        runweir: env!("CARGO_PKG_VERSION").into(),
        name: spec.name.clone(),
        machine: spec.setting.machine.clone().unwrap_or_default(),
        workload: spec.setting.workload.clone().unwrap_or_default(),
        objectives: spec.objectives.iter().map(|o| (o.metric.clone(), o.goal)).collect(),
        constraints: spec.constraints.iter().map(Bound::to_string).collect(),
        seeds: spec.seeds,
        held_out: spec.held_out,
        trials,
        baseline,
        front: judged,
        best,
        interrupted,
    })
}

/// The objective has a value in a run of the baseline.
fn has_values(spec: &Spec, watch: &dyn Watch) -> Result<bool> {
    let config = Config { topology: spec.topologies[0].clone(), set: Vec::new() };
    let summary =
        PreparedRun::new(&spec.options(&config, spec.search_seeds().start))?.run(None, watch)?.summary;
    Ok(!summary.response_ns.is_empty())
}

/// Figures that are looked at beside the objectives: of the whole run, and of a group that an objective names.
fn beside(spec: &Spec) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for objective in &spec.objectives {
        let parts: Vec<&str> = objective.metric.split('.').collect();
        let [kind @ ("groups" | "tasks"), name @ .., _, _] = parts.as_slice() else { continue };
        let prefix = format!("{kind}.{}", name.join("."));
        let own =
            ["response_ns.p50", "response_ns.p99", "wakeup_latency_ns.p99", "wait_ns", "jobs_completed"];
        all.extend(own.iter().map(|m| format!("{prefix}.{m}")));
    }
    let of_run = [
        "requests.latency_ns.p50",
        "requests.latency_ns.p99",
        "requests.count",
        "response_ns.p50",
        "response_ns.p99",
        "wakeup_latency_ns.p99",
        "totals.jobs_completed",
        "totals.deadline_misses",
        "totals.migrations",
        "totals.scheduler_ns",
    ];
    all.extend(of_run.iter().map(ToString::to_string));
    let mut seen = Vec::new();
    all.retain(|m| {
        !spec.objectives.iter().any(|o| o.metric == *m) && !seen.contains(m) && {
            seen.push(m.clone());
            true
        }
    });
    all
}

struct Lab<'a> {
    spec: &'a Spec,
    watch: &'a dyn Watch,
    pool: rayon::ThreadPool,
    /// Metrics behind objectives and constraints.
    beside: Vec<String>,
    remarks: RefCell<Remarks>,
}

/// Objectives, then constraints, of a run.
type Values = Vec<Option<f64>>;

/// What a run has of the metrics that the specification names, and of those beside.
fn read(spec: &Spec, beside: &[String], summary: &Value) -> Result<Values> {
    let wanted = spec.objectives.iter().map(|o| &o.metric).chain(spec.constraints.iter().map(|c| &c.metric));
    let one = |path: &String| match path.as_str() {
        WORK_DONE => Ok(work(summary)),
        path => metric(summary, path).map_err(|(m, h)| Fault::user(format!("`{path}`: {m}"), h)),
    };
    let mut values: Values = wanted.map(one).collect::<Result<_>>()?;
    values.extend(beside.iter().map(|path| metric(summary, path).unwrap_or(None)));
    Ok(values)
}

impl Lab<'_> {
    fn values(&self, config: &Config, seeds: std::ops::Range<u64>) -> Result<Option<Vec<Values>>> {
        type Noted = (Values, Vec<Diag>, Vec<Ignored>);
        let (spec, watch, beside) = (self.spec, self.watch, &self.beside);
        let one = |seed: u64| -> Result<Option<Noted>> {
            if watch.stopped() {
                return Ok(None);
            }
            let run = PreparedRun::new(&spec.options(config, seed))?;
            let done = run.run(None, watch)?;
            if watch.stopped() {
                return Ok(None);
            }
            watch.one();
            let written = |e| Fault::system(format!("a summary cannot be written: {e}"), "this is a bug");
            let mut tree = serde_json::to_value(&done.summary).map_err(written)?;
            if let Some(told) = &spec.requests {
                let trace = run.trace(watch)?;
                let requests = Explainer::of(&trace, "the run")?.requests(told, 0)?;
                tree["requests"] = serde_json::to_value(&requests).map_err(written)?;
            }
            Ok(Some((read(spec, beside, &tree)?, run.remarks(&done), done.summary.ignored)))
        };
        let all: Result<Vec<_>> = self.pool.install(|| seeds.into_par_iter().map(one).collect());
        let Some(all) = all?.into_iter().collect::<Option<Vec<Noted>>>() else { return Ok(None) };
        let mut remarks = self.remarks.borrow_mut();
        let noted = |(values, diags, ignored): Noted| {
            remarks.add(diags, &ignored);
            values
        };
        Ok(Some(all.into_iter().map(noted).collect()))
    }

    /// The means over the seeds of the search; `None` where the caller ended it. Bounds may refer to the baseline.
    fn trial(&self, config: &Config, base: Option<&Trial>) -> Result<Option<Trial>> {
        let Some(runs) = self.values(config, self.spec.search_seeds())? else { return Ok(None) };
        let n = self.spec.objectives.len();
        let means: Values = (0..n + self.spec.constraints.len())
            .map(|i| {
                let all: Option<Vec<f64>> = runs.iter().map(|r| r[i]).collect();
                all.map(|v| v.iter().sum::<f64>() / v.len() as f64)
            })
            .collect();
        let (objectives, constraints) = (means[..n].to_vec(), means[n..].to_vec());
        let base = base.map_or(&constraints, |b| &b.constraints);
        let all = self.spec.constraints.iter().zip(constraints.iter().zip(base));
        let kept = all.into_iter().all(|(c, (v, base))| v.is_some_and(|v| c.keeps(v, base.unwrap_or(0.0))));
        let feasible = kept && objectives.iter().all(Option::is_some);
        Ok(Some(Trial { config: config.clone(), objectives, constraints, feasible }))
    }

    fn held_out(&self, config: &Config) -> Result<Vec<Values>> {
        self.values(config, self.spec.held_out_seeds())?.ok_or_else(|| {
            Fault::system("ended before the results were judged", "try again, or with fewer trials")
        })
    }

    fn judge(&self, config: &Config, runs: &[Values], base: &[Values]) -> Judged {
        let n = self.spec.objectives.len();
        let of = |runs: &[Values], i: usize| -> Vec<f64> { runs.iter().filter_map(|r| r[i]).collect() };
        let column = |i: usize| of(runs, i);
        let bounds = n..n + self.spec.constraints.len();
        let change = |(path, i): (&String, usize)| {
            let values = column(i);
            let pairs = runs.iter().zip(base).filter_map(|(new, old)| Some((new[i]?, old[i]?)));
            let parts: Vec<f64> =
                pairs.filter(|(_, old)| *old != 0.0).map(|(new, old)| 100.0 * (new / old - 1.0)).collect();
            (!values.is_empty()).then(|| Change {
                metric: path.clone(),
                value: Interval::of(&values),
                change_pct: (!parts.is_empty()).then(|| Interval::of(&parts)),
            })
        };
        let gains = |i: usize| -> Vec<f64> {
            let gain = |(new, old): (&Values, &Values)| {
                let (new, old) = (new[i]?, old[i]?);
                let better = match self.spec.objectives[i].goal {
                    Goal::Min => old - new,
                    Goal::Max => new - old,
                };
                Some(if old == 0.0 { 0.0 } else { 100.0 * better / old.abs() })
            };
            runs.iter().zip(base).filter_map(gain).collect()
        };
        let constraints: Vec<Interval> = bounds.clone().map(|i| Interval::of(&column(i))).collect();
        let whole = runs.iter().all(|r| r[..bounds.end].iter().all(Option::is_some));
        let of_base = bounds.clone().map(|i| Interval::of(&of(base, i)).mean);
        let mut all = self.spec.constraints.iter().zip(constraints.iter().zip(of_base));
        let feasible = whole && all.all(|(c, (v, base))| c.keeps(v.mean, base));
        Judged {
            config: config.clone(),
            objectives: (0..n).map(|i| Interval::of(&column(i))).collect(),
            gains_pct: (0..n).map(|i| Interval::of(&gains(i))).collect(),
            constraints,
            feasible,
            others: self.beside.iter().zip(bounds.end..).filter_map(change).collect(),
        }
    }
}

/// Jobs that were done, or CPU time where the workload has none.
fn work(summary: &Value) -> Option<f64> {
    let totals = &summary["totals"];
    match totals["jobs"].as_f64() {
        Some(jobs) if jobs > 0.0 => totals["jobs_completed"].as_f64(),
        _ => totals["busy_ns"].as_f64(),
    }
}

/// What else changed from `base` to `new`, a line a figure; those that are surely worse in the colour of errors.
pub(crate) fn what_else(base: &[Change], new: &[Change], screen: &Screen) -> String {
    let mut columns = Columns::new(["what else changed", "before", "after", "change"]);
    for change in new {
        let Some(old) = base.iter().find(|c| c.metric == change.metric) else { continue };
        let Some(pct) = change.change_pct else {
            // Nothing before.
            if change.value.mean != 0.0 {
                let values = [old.value.mean, change.value.mean].map(|v| show(&change.metric, v));
                let [before, after] = values;
                columns.row([change.metric.clone(), before, after, String::new()]);
            }
            continue;
        };
        let more_is_better = change.metric.ends_with("jobs_completed");
        let worse = if more_is_better { -pct.mean } else { pct.mean };
        let tone = match () {
            () if worse - pct.ci95 > 1.0 => Tone::Bad,
            () if worse + pct.ci95 < -1.0 => Tone::Good,
            () => Tone::Plain,
        };
        let ci = if pct.fixed { String::new() } else { format!(" ± {:.1}", pct.ci95) };
        columns.row([
            Cell::from(change.metric.clone()),
            Cell::from(show(&change.metric, old.value.mean)),
            Cell::from(show(&change.metric, change.value.mean)),
            Cell::new(format!("{:+.1}{ci} %", pct.mean), tone),
        ]);
    }
    if columns.is_empty() { String::new() } else { format!("\n{}", columns.render(2, screen)) }
}

impl TuneResult {
    /// For people.
    pub fn table(&self, screen: &Screen) -> String {
        let mut out = format!(
            "{}: {} on {} each; judged on {}, beside `{}` seed by seed\n\n",
            self.name,
            plural(self.trials.len() as u64, "trial"),
            plural(self.seeds, "seed"),
            plural(self.held_out, "other seed"),
            self.baseline.config.topology
        );
        for (i, (metric, goal)) in self.objectives.iter().enumerate() {
            let word = if *goal == Goal::Min { "small" } else { "great" };
            let _ = writeln!(out, "  objective {}: {metric}, {word}", i + 1);
        }
        for c in &self.constraints {
            let _ = writeln!(out, "  subject to {c}");
        }
        out.push('\n');
        let line = |mark: &str, j: &Judged| {
            let mut text = format!("{mark} {}", j.config.topology);
            for s in &j.config.set {
                text += &format!(" --set {s}");
            }
            for ((metric, _), (o, g)) in self.objectives.iter().zip(j.objectives.iter().zip(&j.gains_pct)) {
                text += &format!("\n      {}   gain {:+.1}", o.words(|v| show(metric, v)), g.mean);
                text += &if g.fixed { " %".to_string() } else { format!(" ± {:.1} %", g.ci95) };
            }
            if !j.feasible {
                text += "\n      does not keep the bounds on held-out seeds";
            }
            text + "\n"
        };
        out += &line("base", &self.baseline);
        for (i, j) in self.front.iter().enumerate() {
            out += &line(if self.best == Some(i) { "best" } else { "    " }, j);
        }
        if std::iter::once(&self.baseline).chain(&self.front).flat_map(|j| &j.objectives).all(|o| o.fixed) {
            out += "\nthe workload does not depend on the seed: all runs of a configuration are the same, so that no interval can be given, and \
                    the held-out seeds confirm nothing; let something vary, such as the times of its tasks\n";
        }
        if let Some(best) = self.best.and_then(|i| self.front.get(i)) {
            out += &what_else(&self.baseline.others, &best.others, screen);
        }
        if self.best.is_none() {
            out += "\nnothing was found whose gain is certain on held-out seeds\n";
        }
        if self.interrupted {
            out += "\nended early: the results so far\n";
        }
        screen.fold(&out)
    }
}
