// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What would another scheduler do for this machine, as it was just recorded? Import, search, and a proposal with its gain and errors.
//!
//! The recording is cut into parts of equal length. The search sees some of them; its result is judged on the others, each compared with
//! the recorded scheduler. (Or, fitted: one workload with distributions, and seeds instead of parts.)
//!
//! Two errors are distinguished. The interval of the gain comes from the parts: it says how much the gain varies with the load. The model's
//! own error is measured where possible: the recorded scheduler is replayed, and its figure compared with the recorded one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use weir_core::{Class, Unit, catalog};
use weir_report::{Ignored, Screen};

use crate::fault::{Fault, Result};
use crate::guard::{metric, show};
use crate::import::{Figures, ImportOptions, ImportResult, Mode, Opened, Row};
use crate::run::{PreparedRun, RunOptions};
use crate::session::Setting;
use crate::tune::{Change, Interval, Judged, Spec, TuneResult, tune_spec, what_else};
use crate::units::{duration, exact, plural};
use crate::watch::Watch;
use crate::{machine, topology};

/// The figure to minimise, if the caller names none.
pub const OBJECTIVE: &str = "response_ns.p99";
/// The same where the load has no response times, or where it is measured on a running machine.
pub const WAKEUPS: &str = "wakeup_latency_ns.p99";
/// Share of the work of the scheduler in charge that a proposal does in the same time, at least.
const WORK: f64 = 0.98;
/// Topologies that are tried where the caller names none: for general loads, and of the components that every kernel loads.
pub const CANDIDATES: [&str; 9] =
    ["linux", "eevdf", "cfs", "stride", "decentral", "worksteal", "global_rr", "scx-simple", "cache-aware"];
/// A parameter is searched from this part of its value to as many times it.
const SPAN: u64 = 4;
/// Shortest part of a recording that is a sample, ns.
const SHORTEST_NS: u64 = 100_000_000;
/// Most proposals of the front that are shown.
const SHOWN: usize = 5;

/// The query.
#[derive(Clone, Debug)]
pub struct AdviseOptions {
    /// The recording.
    pub recording: String,
    /// The recorded machine; `None`: equal CPUs, as many as the recording says.
    pub machine: Option<String>,
    /// The scheduler that was recorded: name or file.
    pub baseline: String,
    pub candidates: Vec<String>,
    /// A path of `summary.json`; small is good.
    pub objective: Option<String>,
    pub trials: u64,
    /// Parts of the recording (or seeds) of the search, and others on which what it found is judged; fewer where the recording is short.
    pub seeds: u64,
    pub held_out: u64,
    /// Distributions that are fitted to the whole recording, with seeds, instead of its parts as they are.
    pub fit: bool,
    pub jobs: Option<u32>,
}

impl Default for AdviseOptions {
    fn default() -> Self {
        Self {
            recording: String::new(),
            machine: None,
            baseline: CANDIDATES[0].into(),
            candidates: CANDIDATES.iter().map(ToString::to_string).collect(),
            objective: None,
            trials: 40,
            seeds: 2,
            held_out: 10,
            fit: false,
            jobs: None,
        }
    }
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    pub runweir: String,
    /// The tool that recorded.
    pub source: String,
    pub machine: String,
    pub recorded_ns: u64,
    pub threads: u64,
    /// The scheduler that was recorded.
    pub topology: String,
    pub objective: String,
    /// The objective in the recording and in the replay under the same scheduler; absent where a recording does not have it.
    pub model: Option<Model>,
    pub trials: usize,
    /// Parts of the recording are its samples; else seeds of a fitted workload are.
    pub by_parts: bool,
    pub seeds: u64,
    pub held_out: u64,
    pub baseline: Interval,
    /// What to switch to; absent where no gain is certain.
    pub proposal: Option<Proposal>,
    /// Figures of the scheduler in charge beside the objective.
    pub before: Vec<Change>,
    /// Others of the front, the preferred first.
    pub others: Vec<Proposal>,
    /// Topologies that were named and cannot be tried.
    pub skipped: Vec<Skipped>,
    pub notes: Vec<String>,
    /// What the topologies that were tried do not obey of what the workload asks for.
    pub ignored: Vec<Ignored>,
    pub interrupted: bool,
    /// The workload that represents the machine.
    #[serde(skip)]
    pub workload: String,
}

/// A topology that cannot be tried, and the reason.
#[derive(Clone, Debug, Serialize)]
pub struct Skipped {
    pub topology: String,
    pub why: String,
}

/// How far the model is off.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Model {
    pub recorded_ns: u64,
    pub replayed_ns: u64,
    /// Of the recorded value, percent.
    pub error_pct: f64,
}

/// A scheduler, and what it is expected to bring.
#[derive(Clone, Debug, Serialize)]
pub struct Proposal {
    pub topology: String,
    pub set: Vec<String>,
    pub objective: Interval,
    /// Over the scheduler in charge, on the same parts or seeds; positive is better.
    pub gain_pct: Interval,
    /// The gain is greater than the model's own error.
    pub beyond_model_error: bool,
    /// The topology with its values, for the machine.
    pub weir: String,
    /// What else of the runs changed.
    pub others: Vec<Change>,
}

/// Import the recording, search, judge.
///
/// # Errors
/// The user's: the recording or a name is wrong, the objective has no value. The system's: a run failed, or the caller ended it early.
pub fn advise(options: &AdviseOptions, watch: &dyn Watch) -> Result<Advice> {
    let how = ImportOptions {
        file: options.recording.clone(),
        mode: if options.fit { Mode::Fit } else { Mode::Verbatim },
        machine: options.machine.clone(),
        under: Some(options.baseline.clone()),
        ..ImportOptions::default()
    };
    let opened = Opened::read(&how)?;
    let whole = opened.import(&how, watch)?;
    let folder = tempfile::tempdir()
        .map_err(|e| Fault::system(format!("cannot make a temporary folder: {e}"), "see $TMPDIR"))?;
    let mut place = Place {
        machine: options.machine.clone().unwrap_or_else(|| format!("smp-{}", whole.cpus)),
        workloads: Vec::new(),
        duration_ns: whole.duration_ns.max(1),
        seeds: options.seeds,
        held_out: options.held_out,
        costs: "default".into(),
    };
    if let Some(f) = &whole.fidelity {
        let file = folder.path().join("costs.toml");
        crate::outdir::replace_file(
            &file,
            format!("context_switch = \"{}ns\"\n", f.context_switch_ns).as_bytes(),
        )?;
        place.costs = file.to_string_lossy().into_owned();
    }
    let mut put = |text: &str| -> Result<()> {
        let file = folder.path().join(format!("imported-{}.toml", place.workloads.len() + 1));
        crate::outdir::replace_file(&file, text.as_bytes())?;
        place.workloads.push(file.to_string_lossy().into_owned());
        Ok(())
    };
    if options.fit {
        put(&whole.text)?;
    } else {
        let (seeds, held_out) = samples(options, whole.duration_ns)?;
        let length = whole.duration_ns / (seeds + held_out);
        let bare = ImportOptions { fidelity: false, ..how };
        for k in 0..seeds + held_out {
            put(&opened.part(k * length, (k + 1) * length).import(&bare, watch)?.text)?;
        }
        (place.duration_ns, place.seeds, place.held_out) = (length, seeds, held_out);
    }
    let (topologies, skipped) = usable(options, &place)?;
    let objective = match &options.objective {
        Some(named) => named.clone(),
        None => place.objective(&topologies[0], watch)?,
    };
    let spec = place.spec(options, &objective, &topologies, &parameters(&topologies, &place)?, watch)?;
    let tuned = tune_spec(&spec, options.jobs, watch)?;
    Advice::new(options, objective, whole, &place, tuned, skipped)
}

/// How many parts the search sees, and how many judge: no part is shorter than [`SHORTEST_NS`].
fn samples(options: &AdviseOptions, recorded_ns: u64) -> Result<(u64, u64)> {
    let most = recorded_ns / SHORTEST_NS;
    let seeds = options.seeds.min(most / 3).max(1);
    let held_out = options.held_out.min(most.saturating_sub(seeds));
    if held_out < 2 {
        return Err(Fault::user(
            format!("the recording lasts {}: too short to be cut into parts", duration(recorded_ns)),
            format!(
                "record {} or longer, or let distributions be fitted to it: --fit",
                exact(3 * SHORTEST_NS)
            ),
        ));
    }
    Ok((seeds, held_out))
}

/// What every run shares.
struct Place {
    machine: String,
    /// By part of the recording, or one.
    workloads: Vec<String>,
    duration_ns: u64,
    seeds: u64,
    held_out: u64,
    /// A file with the recorded machine's.
    costs: String,
}

impl Place {
    fn options(&self, topology: &str, set: Vec<String>, seed: u64) -> RunOptions {
        RunOptions {
            setting: Setting {
                machine: Some(self.machine.clone()),
                workload: Some(self.workloads[(seed.max(1) as usize - 1) % self.workloads.len()].clone()),
                duration_ns: Some(self.duration_ns),
                set,
                costs: Some(self.costs.clone()),
                strict: false,
            },
            topology: Some(topology.into()),
            seed,
            ..RunOptions::default()
        }
    }

    /// Response times, where every part of the load has some; else wake-ups.
    fn objective(&self, baseline: &str, watch: &dyn Watch) -> Result<String> {
        for seed in 1..=self.seeds + self.held_out {
            let run = PreparedRun::new(&self.options(baseline, Vec::new(), seed))?;
            if run.run(None, watch)?.summary.response_ns.is_empty() {
                return Ok(WAKEUPS.into());
            }
        }
        Ok(OBJECTIVE.into())
    }

    /// The search, as in a specification of `tune`.
    fn spec(
        &self,
        options: &AdviseOptions,
        objective: &str,
        topologies: &[String],
        parameters: &[toml::Table],
        watch: &dyn Watch,
    ) -> Result<Spec> {
        // The search looks at some seeds and the judgement at others, which need not have as much work.
        let (mut searched, mut judged) = (0.0, 0.0);
        for seed in 1..=self.seeds + self.held_out {
            let run = PreparedRun::new(&self.options(&topologies[0], Vec::new(), seed))?;
            let summary = run.run(None, watch)?.summary;
            if watch.stopped() {
                return Err(Fault::system("ended before anything was tried", "try again"));
            }
            let tree = serde_json::to_value(&summary)
                .map_err(|e| Fault::system(format!("a summary cannot be written: {e}"), "this is a bug"))?;
            metric(&tree, objective).map_err(|(m, h)| {
                let part = if self.workloads.len() > 1 {
                    format!(" in part {seed} of the recording")
                } else {
                    String::new()
                };
                Fault::user(format!("`{objective}`: {m}{part}"), h)
            })?;
            let busy = summary.totals.busy_ns as f64;
            match seed <= self.seeds {
                true => searched += busy / self.seeds as f64,
                false => judged += busy / self.held_out as f64,
            }
        }
        let work = f64::min(searched, judged);
        let number = |n: u64| toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        let table = |pairs: &[(&str, toml::Value)]| -> toml::Table {
            pairs.iter().map(|(k, v)| ((*k).to_string(), v.clone())).collect()
        };
        let objective = table(&[("metric", objective.into()), ("goal", "min".into())]);
        let bound =
            table(&[("metric", "totals.busy_ns".into()), ("min", toml::Value::Float((work * WORK).floor()))]);
        let spec = table(&[
            ("name", "advise".into()),
            ("machine", self.machine.clone().into()),
            ("workload", self.workloads[0].clone().into()),
            ("topology", topologies.to_vec().into()),
            ("duration", format!("{}ns", self.duration_ns).into()),
            ("costs", self.costs.clone().into()),
            ("trials", number(options.trials)),
            ("seeds", number(self.seeds)),
            ("held_out", number(self.held_out)),
            ("parameter", parameters.to_vec().into()),
            ("objective", vec![objective].into()),
            ("constraint", vec![bound].into()),
        ]);
        let mut spec =
            Spec::parse("advise", &spec.to_string(), std::path::Path::new(""), "advise".into(), false)?;
        if self.workloads.len() > 1 {
            spec.parts = self.workloads.clone();
        }
        Ok(spec)
    }
}

/// The baseline and the candidates that can run this load on this machine; of the others, why not.
fn usable(options: &AdviseOptions, place: &Place) -> Result<(Vec<String>, Vec<Skipped>)> {
    PreparedRun::new(&place.options(&options.baseline, Vec::new(), 1))?;
    let mut topologies = vec![options.baseline.clone()];
    let mut skipped = Vec::new();
    for name in &options.candidates {
        if topologies.contains(name) {
            continue;
        }
        // A file that is not there is a mistake; one that does not fit the machine is not.
        topology::source(name)?;
        match PreparedRun::new(&place.options(name, Vec::new(), 1)) {
            Ok(_) => topologies.push(name.clone()),
            Err(fault) => {
                let why = fault.diags.first().map_or_else(String::new, ToString::to_string);
                skipped.push(Skipped { topology: name.clone(), why });
            }
        }
    }
    Ok((topologies, skipped))
}

/// Times of the components that order tasks, a quarter to four times what they are: slices, mostly.
fn parameters(topologies: &[String], place: &Place) -> Result<Vec<toml::Table>> {
    let shape = machine::resolve(&place.machine)?.shape;
    let mut found: BTreeMap<String, (u64, u64, Vec<String>)> = BTreeMap::new();
    for name in topologies {
        let plan = topology::compile(&topology::source(name)?, &shape, &[])?.plan;
        for instance in &plan.instances {
            let Some(class) = catalog().class(instance.class).filter(|c| c.class == Class::Order) else {
                continue;
            };
            for (value, param) in instance.params.iter().zip(&class.params) {
                let (from, to) = ((value / SPAN).max(param.min), value.saturating_mul(SPAN).min(param.max));
                if param.unit != Unit::Ns || *value == 0 || from >= to {
                    continue;
                }
                let entry =
                    found.entry(format!("{}.{}", class.name, param.name)).or_insert((from, to, Vec::new()));
                (entry.0, entry.1) = (entry.0.min(from), entry.1.max(to));
                if entry.2.last() != Some(name) {
                    entry.2.push(name.clone());
                }
            }
        }
    }
    let time = |ns: u64| toml::Value::from(format!("{ns}ns"));
    let table = |(name, (from, to, topologies)): (String, (u64, u64, Vec<String>))| {
        let pairs: [(&str, toml::Value); 5] = [
            ("name", name.into()),
            ("topology", topologies.into()),
            ("from", time(from)),
            ("to", time(to)),
            ("scale", "log".into()),
        ];
        pairs.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
    };
    Ok(found.into_iter().map(table).collect())
}

impl Advice {
    fn new(
        options: &AdviseOptions,
        objective: String,
        imported: ImportResult,
        place: &Place,
        tuned: TuneResult,
        skipped: Vec<Skipped>,
    ) -> Result<Self> {
        let model = imported.fidelity.as_ref().and_then(|f| {
            let rows: Vec<&Row> = std::iter::once(&f.all).chain(&f.groups).collect();
            model(&objective, &rows)
        });
        let shape = machine::resolve(&place.machine)?.shape;
        let proposal = |j: &Judged| -> Result<Proposal> {
            let source = topology::source(&j.config.topology)?;
            let plan = topology::compile(&source, &shape, &topology::parse_sets(&j.config.set)?)?.plan;
            let broken =
                |e: String| Fault::system(e, "this is a bug; name the topology and its settings instead");
            let text = weir_lang::join(&source, &topology::Includes).map_err(broken)?;
            let back = weir_lang::read_back(&text, &plan, catalog(), &shape).map_err(broken)?;
            let gain = j.gains_pct[0];
            Ok(Proposal {
                topology: source.stem().into(),
                set: j.config.set.clone(),
                objective: j.objectives[0],
                gain_pct: gain,
                beyond_model_error: model.is_some_and(|m| gain.mean - gain.ci95 > m.error_pct.abs()),
                weir: back.text,
                others: j.others.clone(),
            })
        };
        let best = tuned.best;
        let mut all = Vec::new();
        for (i, j) in tuned.front.iter().enumerate() {
            all.push((best == Some(i), proposal(j)?));
        }
        let chosen = all.iter().position(|(best, _)| *best).map(|i| all.remove(i).1);
        Ok(Self {
            runweir: env!("CARGO_PKG_VERSION").into(),
            source: imported.source,
            machine: imported.machine,
            recorded_ns: imported.duration_ns,
            threads: imported.threads,
            topology: topology::source(&options.baseline)?.stem().into(),
            objective,
            model,
            trials: tuned.trials.len(),
            by_parts: !options.fit,
            seeds: tuned.seeds,
            held_out: tuned.held_out,
            baseline: tuned.baseline.objectives[0],
            before: tuned.baseline.others.clone(),
            proposal: chosen,
            others: all.into_iter().map(|(_, p)| p).take(SHOWN).collect(),
            skipped,
            notes: imported.notes,
            ignored: tuned.ignored,
            interrupted: tuned.interrupted,
            workload: imported.text,
        })
    }

    /// For people.
    pub fn table(&self, screen: &Screen) -> String {
        let mut out = format!(
            "recorded {} by {}: {}, {}, under {}\n",
            duration(self.recorded_ns),
            self.source,
            self.machine,
            plural(self.threads, "thread"),
            self.topology
        );
        let _ = writeln!(out, "to be made small: {}, with at least 98 % of the work", self.objective);
        let _ = match &self.model {
            Some(m) => writeln!(
                out,
                "the model of it: {} recorded, {} replayed under {} ({:+.0} %)",
                duration(m.recorded_ns),
                duration(m.replayed_ns),
                self.topology,
                m.error_pct
            ),
            None => writeln!(out, "the recording has no such figure, so the model's error is not known"),
        };
        let samples = if self.by_parts { "parts of the recording" } else { "seeds" };
        let _ = writeln!(
            out,
            "tried {} configurations on {} {samples} each; judged on {} others\n",
            self.trials, self.seeds, self.held_out
        );
        let value =
            |v: Interval| format!("{} ± {}", show(&self.objective, v.mean), show(&self.objective, v.ci95));
        let _ = writeln!(out, "now       {:<40} {}", self.topology, value(self.baseline));
        let line = |word: &str, p: &Proposal| {
            let name = p.set.iter().fold(p.topology.clone(), |name, s| format!("{name} --set {s}"));
            format!(
                "{word:<9} {name:<40} {}  gain {:+.1} ± {:.1} %\n",
                value(p.objective),
                p.gain_pct.mean,
                p.gain_pct.ci95
            )
        };
        match &self.proposal {
            Some(p) => {
                out += &line("proposal", p);
                if self.model.is_none() {
                    out += "          (how true the model is in this figure is not known: try it before you keep it)\n";
                } else if !p.beyond_model_error {
                    out += "          (no more than the model's own error: try it before you keep it)\n";
                }
            }
            None => {
                out += "no proposal: nothing was found whose gain is certain on what the search did not see\n"
            }
        }
        for p in &self.others {
            out += &line("", p);
        }
        if let Some(p) = &self.proposal {
            out += &what_else(&self.before, &p.others, screen);
        }
        for Skipped { topology, why } in &self.skipped {
            let _ = writeln!(out, "not tried {topology}: {why}");
        }
        if self.interrupted {
            out += "ended early: the results so far\n";
        }
        screen.fold(&out)
    }
}

/// The objective in the recording and in its replay, where it is a wake-up latency of all or of a group.
fn model(objective: &str, rows: &[&Row]) -> Option<Model> {
    let (name, figure) = match objective.strip_prefix("groups.") {
        Some(rest) => rest.rsplit_once(".wakeup_latency_ns.")?,
        None => ("all", objective.strip_prefix("wakeup_latency_ns.")?),
    };
    let row = rows.iter().find(|r| r.name == name)?;
    let of = |f: &Figures| match figure {
        "p50" => f.wakeup_p50_ns,
        "p95" => f.wakeup_p95_ns,
        "p99" => f.wakeup_p99_ns,
        _ => None,
    };
    let (recorded_ns, replayed_ns) = (of(&row.recorded)?, of(&row.replayed)?);
    let error = 100.0 * (replayed_ns as f64 / recorded_ns.max(1) as f64 - 1.0);
    Some(Model { recorded_ns, replayed_ns, error_pct: (error * 10.0).round() / 10.0 })
}
