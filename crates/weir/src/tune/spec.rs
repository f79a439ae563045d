// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The search space and the objectives.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Config, Trial};
use crate::fault::{Diag, Fault, Result};
use crate::input;
use crate::requests::Told;
use crate::run::{PreparedRun, RunOptions};
use crate::session::Setting;
use crate::units::parse_duration;

const HELP: &str = "docs/tune.md lists the keys";
/// A violated bound is worse than any objective.
const VIOLATED: f64 = 1e6;
/// Share of the sum beside the greatest, in the score of several objectives.
const SUM: f64 = 0.05;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    machine: String,
    workload: String,
    topology: OneOrMany,
    duration: Option<String>,
    costs: Option<String>,
    #[serde(default)]
    set: Vec<String>,
    trials: Option<u64>,
    seeds: Option<u64>,
    held_out: Option<u64>,
    search_seed: Option<u64>,
    requests: Option<String>,
    #[serde(default)]
    parameter: Vec<ParameterFile>,
    #[serde(default)]
    objective: Vec<ObjectiveFile>,
    #[serde(default)]
    constraint: Vec<ConstraintFile>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterFile {
    name: String,
    topology: Option<OneOrMany>,
    from: Option<Quantity>,
    to: Option<Quantity>,
    scale: Option<String>,
    values: Option<Vec<Quantity>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectiveFile {
    metric: String,
    goal: Goal,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConstraintFile {
    metric: String,
    min: Option<Quantity>,
    max: Option<Quantity>,
}

/// A number, or a time with its unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Quantity {
    Number(f64),
    Flag(bool),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    Min,
    Max,
}

#[derive(Clone, Debug)]
pub(super) struct Objective {
    pub metric: String,
    pub goal: Goal,
}

/// A bound on a metric.
#[derive(Clone, Debug)]
pub struct Bound {
    pub(super) metric: String,
    min: Option<f64>,
    max: Option<f64>,
    /// At least this part of the baseline's value.
    of_base: Option<f64>,
}

/// What stands for the work that a run did: jobs, and CPU time where there are none.
pub(super) const WORK_DONE: &str = "work";
/// Part of the baseline's work that every configuration has to do: whoever does less is easily quick.
const WORK: f64 = 0.98;

impl Bound {
    /// `base` is the value of the baseline.
    pub(super) fn keeps(&self, value: f64, base: f64) -> bool {
        self.least(base).is_none_or(|m| value >= m) && self.max.is_none_or(|m| value <= m)
    }

    fn least(&self, base: f64) -> Option<f64> {
        self.min.or(self.of_base.map(|part| part * base))
    }

    /// By how much, relative to the bound.
    fn violation(&self, value: f64, base: f64) -> f64 {
        let by = |past: f64, bound: f64| past.max(0.0) / bound.abs().max(1e-9);
        self.least(base).map_or(0.0, |m| by(m - value, m)) + self.max.map_or(0.0, |m| by(value - m, m))
    }

    /// It is on the work that is done.
    fn on_work(&self) -> bool {
        ["jobs", "jobs_completed", "busy_ns", "cpu_ns"].iter().any(|m| self.metric.ends_with(m))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = self.of_base {
            return write!(
                f,
                "work done (jobs, CPU time where there are none) >= {:.0} % of the baseline's",
                100.0 * part
            );
        }
        f.write_str(&self.metric)?;
        if let Some(min) = self.min {
            write!(f, " >= {min}")?;
        }
        if let Some(max) = self.max {
            write!(f, " <= {max}")?;
        }
        Ok(())
    }
}

/// A parameter of a component.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub name: String,
    pub space: Space,
    /// By number of the topology: it has such a component.
    pub applies: Vec<bool>,
}

#[derive(Clone, Debug)]
pub(super) enum Space {
    /// Whole numbers of a unit (`ns`, or none), on a logarithmic scale or not.
    Numbers {
        from: f64,
        to: f64,
        log: bool,
        unit: &'static str,
    },
    Values(Vec<String>),
}

/// A specification that was read.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: String,
    pub(super) setting: Setting,
    /// By seed, from 1: a workload of its own, instead of one with other random numbers.
    pub(crate) parts: Vec<String>,
    pub(super) topologies: Vec<String>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) objectives: Vec<Objective>,
    /// Nobody named the objective: where runs have no such value, wake-ups are taken.
    pub(super) default_objective: bool,
    pub(super) constraints: Vec<Bound>,
    pub(super) trials: usize,
    pub(super) seeds: u64,
    pub(super) held_out: u64,
    pub(super) search_seed: u64,
    /// Whose requests are followed.
    pub(super) requests: Option<Told>,
}

impl Spec {
    /// Read a specification; paths in it are relative to its folder.
    ///
    /// # Errors
    /// The user's: it cannot be read, a key is unknown, or a topology, machine or workload is wrong.
    pub fn open(file: &str, strict: bool) -> Result<Self> {
        let text = input::read_text(file)?;
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_path_buf();
        let stem = Path::new(file).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        Self::parse(file, &text, &folder, stem, strict)
    }

    /// Read the text of a specification.
    ///
    /// # Errors
    /// As [`Spec::open`].
    pub fn parse(file: &str, text: &str, folder: &Path, stem: String, strict: bool) -> Result<Self> {
        let spec: File = toml::from_str(text).map_err(|e| {
            let diag = Diag::error(e.message().to_string()).help(HELP).source(file, text);
            Fault::from(match e.span() {
                Some(span) => diag.label(span, None),
                None => diag,
            })
        })?;
        let wrong = |message: String, help: &str| Fault::user(format!("{file}: {message}"), help);
        let beside = |name: &str| match input::is_path(name)
            && !name.contains(':')
            && !Path::new(name).is_absolute()
        {
            true => folder.join(name).to_string_lossy().into_owned(),
            false => name.to_string(),
        };
        let list = |l: &OneOrMany| match l {
            OneOrMany::One(one) => vec![one.clone()],
            OneOrMany::Many(many) => many.clone(),
        };
        let named = list(&spec.topology);
        if named.is_empty() {
            return Err(wrong(
                "`topology` is empty".into(),
                "name the topologies to search; the first is the baseline",
            ));
        }
        let duration_ns = match &spec.duration {
            None => None,
            Some(t) => {
                Some(parse_duration(t).map_err(|e| wrong(format!("duration: {e}"), "for example \"1s\""))?)
            }
        };
        let range = |what: &str, value: Option<u64>, default: u64, min: u64, max: u64| match value
            .unwrap_or(default)
        {
            n if (min..=max).contains(&n) => Ok(n),
            n => Err(wrong(format!("{what} = {n}"), &format!("write a number from {min} to {max}"))),
        };
        let mut out = Spec {
            parts: Vec::new(),
            name: spec.name.unwrap_or(stem),
            setting: Setting {
                machine: Some(beside(&spec.machine)),
                workload: Some(beside(&spec.workload)),
                duration_ns,
                set: spec.set,
                costs: spec.costs.map(|c| beside(&c)),
                strict,
            },
            topologies: named.iter().map(|t| beside(t)).collect(),
            parameters: Vec::new(),
            objectives: spec
                .objective
                .into_iter()
                .map(|o| Objective { metric: o.metric, goal: o.goal })
                .collect(),
            default_objective: false,
            constraints: Vec::new(),
            trials: range("trials", spec.trials, 60, 1, 100_000)? as usize,
            seeds: range("seeds", spec.seeds, 3, 1, 1000)?,
            held_out: range("held_out", spec.held_out, 10, 2, 10_000)?,
            search_seed: spec.search_seed.unwrap_or(1),
            requests: spec.requests.as_deref().map(Told::wakeups).transpose()?,
        };
        if out.objectives.is_empty() {
            out.default_objective = out.requests.is_none();
            let metric = if out.requests.is_some() { "requests.latency_ns.p99" } else { "response_ns.p99" };
            out.objectives.push(Objective { metric: metric.into(), goal: Goal::Min });
        }
        for c in spec.constraint {
            let number = |q: &Option<Quantity>| match q {
                None => Ok(None),
                Some(Quantity::Number(n)) => Ok(Some(*n)),
                Some(Quantity::Text(t)) => parse_duration(t)
                    .map(|ns| Some(ns as f64))
                    .map_err(|e| wrong(format!("`{t}`: {e}"), "a number or a time")),
                Some(Quantity::Flag(_)) => {
                    Err(wrong("a bound is not a truth value".into(), "write a number or a time"))
                }
            };
            let bound = Bound { min: number(&c.min)?, max: number(&c.max)?, metric: c.metric, of_base: None };
            if bound.min.is_none() && bound.max.is_none() {
                return Err(wrong(
                    format!("the constraint on `{}` has no bound", bound.metric),
                    "add `min` or `max`",
                ));
            }
            out.constraints.push(bound);
        }
        if !out.constraints.iter().any(Bound::on_work) {
            out.constraints.push(Bound {
                metric: WORK_DONE.into(),
                min: None,
                max: None,
                of_base: Some(WORK),
            });
        }
        let metrics =
            out.objectives.iter().map(|o| &o.metric).chain(out.constraints.iter().map(|c| &c.metric));
        if out.requests.is_none()
            && let Some(metric) = metrics.into_iter().find(|m| m.starts_with("requests."))
        {
            return Err(wrong(
                format!("`{metric}`: nobody says whose requests"),
                "add a line `requests = \"web\"`: threads that take requests, then those that work on them, as in docs/requests.md",
            ));
        }
        // Everything is looked up before the first run.
        for topology in &out.topologies {
            PreparedRun::new(&out.options(&Config { topology: topology.clone(), set: Vec::new() }, 1))?;
        }
        for p in spec.parameter {
            let space = space(&p).map_err(|m| wrong(format!("parameter `{}`: {m}", p.name), HELP))?;
            let within = p.topology.as_ref().map(list);
            let mut applies = Vec::new();
            let mut refused = None;
            for (shown, topology) in named.iter().zip(&out.topologies) {
                let wanted = within.as_ref().is_none_or(|w| w.contains(shown));
                let set = vec![format!("{}={}", p.name, space.first())];
                let tried = wanted
                    .then(|| PreparedRun::new(&out.options(&Config { topology: topology.clone(), set }, 1)));
                applies.push(matches!(tried, Some(Ok(_))));
                if let Some(Err(fault)) = tried {
                    if within.is_some() {
                        return Err(fault);
                    }
                    // One that has the component says more than one that has not.
                    let says_more = |f: &Fault| !f.to_string().contains("this topology has no");
                    if refused.as_ref().is_none_or(|r| says_more(&fault) && !says_more(r)) {
                        refused = Some(fault);
                    }
                }
            }
            if !applies.contains(&true) {
                return Err(refused.unwrap_or_else(|| {
                    wrong(
                        format!("parameter `{}` is for no topology", p.name),
                        "name topologies of the list above",
                    )
                }));
            }
            out.parameters.push(Parameter { name: p.name, space, applies });
        }
        Ok(out)
    }

    pub(super) fn options(&self, config: &Config, seed: u64) -> RunOptions {
        let mut setting = self.setting.clone();
        setting.set.extend(config.set.iter().cloned());
        if !self.parts.is_empty() {
            setting.workload = Some(self.parts[(seed.max(1) as usize - 1) % self.parts.len()].clone());
        }
        RunOptions { setting, topology: Some(config.topology.clone()), seed, ..RunOptions::default() }
    }

    pub(super) fn search_seeds(&self) -> Range<u64> {
        1..1 + self.seeds
    }

    pub(super) fn held_out_seeds(&self) -> Range<u64> {
        1 + self.seeds..1 + self.seeds + self.held_out
    }

    pub(super) fn even_weights(&self) -> Vec<f64> {
        vec![1.0 / self.objectives.len() as f64; self.objectives.len()]
    }

    /// How bad a trial is, beside the baseline, which has 1 in each objective: Chebyshev's distance with weights.
    pub(super) fn score(&self, base: &Trial, trial: &Trial, weights: &[f64]) -> f64 {
        let violation: f64 = self
            .constraints
            .iter()
            .zip(trial.constraints.iter().zip(&base.constraints))
            .map(|(c, (v, base))| v.map_or(1.0, |v| c.violation(v, base.unwrap_or(0.0))))
            .sum();
        if violation > 0.0 || trial.objectives.iter().any(Option::is_none) {
            return VIOLATED * (1.0 + violation.min(1e6));
        }
        let mut worst: f64 = 0.0;
        let mut sum = 0.0;
        for (i, o) in self.objectives.iter().enumerate() {
            let (new, old) = (trial.objectives[i].unwrap_or(0.0), base.objectives[i].unwrap_or(0.0));
            let ratio = match o.goal {
                Goal::Min => (new + 1e-9) / (old + 1e-9),
                Goal::Max => (old + 1e-9) / (new + 1e-9),
            };
            worst = worst.max(weights[i] * ratio);
            sum += weights[i] * ratio;
        }
        (worst + SUM * sum).min(VIOLATED / 2.0)
    }
}

impl Space {
    /// A value of the space, as it is set.
    pub fn first(&self) -> String {
        match self {
            Space::Numbers { from, unit, .. } => format!("{}{unit}", from.round()),
            Space::Values(values) => values[0].clone(),
        }
    }
}

fn space(p: &ParameterFile) -> std::result::Result<Space, String> {
    let number = |q: &Quantity| match q {
        Quantity::Number(n) => Ok((*n, "")),
        Quantity::Text(t) => parse_duration(t).map(|ns| (ns as f64, "ns")),
        Quantity::Flag(_) => Err("a range is of numbers or times".into()),
    };
    match (&p.from, &p.to, &p.values) {
        (Some(from), Some(to), None) => {
            let ((from, unit), (to, other)) = (number(from)?, number(to)?);
            if unit != other {
                return Err("`from` and `to` have different units".into());
            }
            if from.is_nan() || from >= to {
                return Err("`from` is not less than `to`".into());
            }
            let log = match p.scale.as_deref() {
                None | Some("linear") => false,
                Some("log") if from > 0.0 => true,
                Some("log") => return Err("a logarithmic scale begins above 0".into()),
                Some(other) => return Err(format!("scale `{other}` is neither linear nor log")),
            };
            Ok(Space::Numbers { from, to, log, unit })
        }
        (None, None, Some(values)) if !values.is_empty() => Ok(Space::Values(
            values
                .iter()
                .map(|v| match v {
                    Quantity::Number(n) => n.to_string(),
                    Quantity::Flag(b) => b.to_string(),
                    Quantity::Text(t) => t.clone(),
                })
                .collect(),
        )),
        _ => Err("write `from` and `to`, or `values`".into()),
    }
}
