// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Contention analysis (source 0, 9.4.3): which lock or component limits a topology, on how many CPUs, and the smallest
//! change that helps, tried out.

mod change;
mod model;
mod report;
mod run;

use rayon::prelude::*;
use weir_lang::Source;

use crate::fault::Result;
use change::Change;
use model::{Forecast, Model, Sample, ladder};
use report::Tried;
pub use report::{Report, simulated};
pub use run::Field;
use run::counts;
pub(super) use run::interrupted;

/// Largest machine that is foreseen.
const MOST_FORESEEN: u32 = weir_core::MAX_CPUS;
/// Up to so many times the machine is simulated to see whether the forecast was right.
const TIMES_SIMULATED: u32 = 4;

/// What a forecast for another size assumes, and what breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    pub id: &'static str,
    pub assumption: &'static str,
    pub broken_by: Vec<String>,
}

/// Forecasts scale the load with the machine, and take it for steady.
fn assumptions(field: &Field<'_>) -> Vec<Assumption> {
    let (m, w) = (field.machine, field.workload);
    let one = |has: bool, what: &str| if has { vec![what.to_string()] } else { Vec::new() };
    let absent = m.shape.cpus.iter().any(|c| !c.online);
    let changes = [
        one(!m.events.is_empty() || !w.machine_events.is_empty(), "events of CPUs"),
        one(absent, "CPUs that are absent at the start"),
        one(m.thermal.is_some(), "cores that get too hot"),
    ];
    let actions = w.scenario.as_ref().map(|s| s.name.clone());
    let limits = w.fairness.groups.iter().filter(|g| g.quota_ns > 0).map(|g| g.name.clone());
    let guests = w.guests.iter().map(|g| g.name.clone());
    let gangs = w.gangs.iter().map(|g| g.manifest.name().to_string());
    let row = |id, assumption, broken_by| Assumption { id, assumption, broken_by };
    vec![
        row(
            "equal",
            "other sizes of the machine are made of the same CPUs",
            one(m.resized(1).is_none(), "CPUs that are not all of one kind"),
        ),
        row("machine", "the machine stays as it is", changes.concat()),
        row("scenario", "nothing acts on the scheduler while it runs", actions.into_iter().collect()),
        row("limits", "no group has a limit, which would not grow with the machine", limits.collect()),
        row("guests", "tasks are scheduled one by one, by this scheduler", guests.chain(gangs).collect()),
    ]
}

/// How a topology does on machines of many sizes.
pub struct Study {
    /// On the machine itself.
    pub own: Sample,
    /// Runs that the model was fitted to, none larger than a quarter of the machine (or 8 CPUs).
    pub fitted: Vec<Sample>,
    pub forecasts: Vec<Forecast>,
    /// Largest size with at most the stated share: foreseen, and found by simulation. `None`: not even one CPU.
    pub foreseen: Option<u32>,
    pub found: Option<u32>,
    /// `found` is a lower bound: larger machines were not simulated.
    pub open: bool,
    /// Simulations on the way to `found`, and one of half the machine.
    pub checked: Vec<Sample>,
    /// Where the model missed a simulated size by more than [`BOUND`], most of all.
    pub miss: Option<Miss>,
    /// Sizes up to here have a forecast; 0: only simulated sizes have figures.
    pub reach: u32,
    /// The first size whose forecast would be off by more than [`BOUND`] if it is as wrong as the worst that could be tested.
    pub doubt: Option<Doubt>,
}

/// Why a forecast is not given, though all that could be tested were close enough.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    pub cpus: u32,
    pub foreseen: f64,
    /// In words, as the second half of a sentence.
    pub why: String,
}

/// Smaller shares of the machine may be wrong by a multiple and are not significant.
const NOISE: f64 = 0.005;

/// Shares of this size are noise of short runs; they do not make a growth.
const STEADY: f64 = 0.001;

/// How far a forecast may be from what is simulated, as a share of the machine: five points.
pub const BOUND: f64 = 0.05;

/// A size that was simulated, foreseen from runs of at most half of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Miss {
    pub cpus: u32,
    pub foreseen: f64,
    pub simulated: f64,
}

impl Study {
    /// All that was simulated, by size, each once.
    pub fn simulated(&self) -> Vec<&Sample> {
        let mut all: Vec<&Sample> = self.fitted.iter().chain(&self.checked).chain([&self.own]).collect();
        all.sort_by_key(|s| s.cpus);
        all.dedup_by_key(|s| s.cpus);
        all
    }

    /// The smallest simulated size that keeps to the share; smaller ones may be too small for a load that cannot be divided.
    pub fn smallest(&self, measure: Measure, share: f64) -> Option<u32> {
        self.simulated().into_iter().find(|s| measure.of(s) <= share).map(|s| s.cpus)
    }

    /// Simulated sizes that keep to the share, although smaller ones than they, and larger than `found`, do not.
    pub fn again(&self, measure: Measure, share: f64) -> Vec<u32> {
        let above = |s: &&Sample| self.found.is_none_or(|n| s.cpus > n) && measure.of(s) <= share;
        self.simulated().into_iter().filter(above).map(|s| s.cpus).collect()
    }

    /// A simulated size exceeds the share that is smaller than one that keeps to it.
    pub fn too_small(&self, measure: Measure, share: f64) -> bool {
        let smallest = self.smallest(measure, share);
        smallest.is_some_and(|n| self.simulated().iter().any(|s| s.cpus < n))
    }

    /// The largest size that keeps to the share with all rows of the table below it, except the smallest machines: simulated
    /// ones as they are, others as they are foreseen. `None`: no size does.
    pub fn largest(&self, measure: Measure, share: f64) -> Option<u32> {
        let value = |f: &Forecast| match simulated(self, f.cpus) {
            Some(s) => Some(measure.of(s)),
            None => (f.cpus <= self.reach).then(|| measure.foreseen(f)),
        };
        let rows = self.forecasts.iter().map(|f| (f.cpus, value(f)));
        // Sizes without a forecast say nothing, unless nothing follows.
        let known = rows.filter_map(|(n, v)| v.map(|v| (n, v)));
        // A few CPUs may be too few for a load that cannot be divided.
        known.skip_while(|(_, v)| *v > share).take_while(|(_, v)| *v <= share).last().map(|(n, _)| n)
    }
}

/// The limited quantity: the scheduler's total share, or only its waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Share,
    /// Where even a single CPU spends more than the stated share on scheduling.
    Wait,
}

impl Measure {
    pub fn of(self, sample: &Sample) -> f64 {
        match self {
            Measure::Share => sample.share(),
            Measure::Wait => sample.wait_share(),
        }
    }

    fn foreseen(self, forecast: &Forecast) -> f64 {
        match self {
            Measure::Share => forecast.share,
            Measure::Wait => forecast.wait_share,
        }
    }
}

/// The whole analysis, without its text.
pub fn analyze(field: &Field<'_>, source: &Source, share: f64) -> Result<Report> {
    let mut warnings = Vec::new();
    let resizable = field.machine.resized(1).is_some();
    let assumptions = assumptions(field);
    for a in assumptions.iter().filter(|a| !a.broken_by.is_empty()) {
        warnings.push(format!(
            "other sizes are not foreseen, as forecasts assume that {}: {}",
            a.assumption,
            a.broken_by.join(", ")
        ));
    }
    let mut measure = Measure::Share;
    let mut study = look(field, source, share, measure)?;
    if study.foreseen.is_none() && study.found.is_none() && resizable {
        measure = Measure::Wait;
        warnings.push(format!(
            "scheduling takes more than {:.0} % of even a single CPU under this load: the limit is put to the waiting \
             for locks alone",
            100.0 * share
        ));
        study = look(field, source, share, measure)?;
    }
    // A topology that does well needs no change.
    let needed = measure.of(&study.own) > share;
    let tried = if needed { attempt(field, source, share, measure)? } else { Vec::new() };
    let chosen = choose(&tried, share, measure, &study.own);
    let after = match chosen {
        Some(i) => Some(look(field, &changed(source, &tried[i].change), share, measure)?),
        None => None,
    };
    Ok(Report {
        topology: field.plan(source, field.machine)?.name,
        machine: field.machine.shape.name.clone(),
        workload: field.workload.name.clone(),
        cpus: field.machine.nr_cpus(),
        share,
        measure,
        source: source.text.clone(),
        study,
        tried,
        chosen,
        after,
        assumptions,
        warnings,
        ignored: Vec::new(),
    })
}

/// Run, fit, foresee, check.
fn look(field: &Field<'_>, source: &Source, share: f64, measure: Measure) -> Result<Study> {
    let own_size = field.machine.nr_cpus();
    let mut sizes: Vec<u32> =
        (1..12).map(|e| 1u32 << e).filter(|n| *n <= (own_size / 4).max(8).min(own_size)).collect();
    if sizes.is_empty() || field.machine.resized(1).is_none() {
        sizes = vec![own_size];
    }
    let mut all = sizes.clone();
    if !all.contains(&own_size) {
        all.push(own_size);
    }
    field.watch.more(all.len() as u64);
    let runs = |sizes: &[u32]| -> Result<Vec<Sample>> {
        sizes
            .par_iter()
            .map(|n| {
                let sample = field.sample(source, *n)?.ok_or_else(interrupted);
                field.watch.one();
                sample
            })
            .collect()
    };
    // Half the machine stands between what the model is fitted to and the machine: does it foresee that?
    let half = own_size / 2;
    if half >= 2 && field.machine.resized(half).is_some() && !all.contains(&half) {
        field.watch.more(1);
        all.push(half);
    }
    let samples = runs(&all)?;
    let checked: Vec<Sample> =
        samples.iter().filter(|s| s.cpus == half && !sizes.contains(&half)).cloned().collect();
    let own = samples.iter().find(|s| s.cpus == own_size).expect("it was run").clone();
    let fitted: Vec<Sample> = samples.into_iter().filter(|s| sizes.contains(&s.cpus)).collect();
    let model = Model::fit(&fitted);
    let mut forecasts = Vec::new();
    for n in ladder(MOST_FORESEEN).into_iter().chain([own_size, half.max(1)]) {
        let Some(machine) = field.machine(n) else { continue };
        // A topology may be for certain sizes only.
        let Ok(plan) = field.plan(source, &machine) else { continue };
        let of = counts(&plan);
        forecasts.push(model.forecast(n, |name| of.get(name).copied().unwrap_or(1)));
    }
    forecasts.sort_by_key(|f| f.cpus);
    forecasts.dedup_by_key(|f| f.cpus);
    let foreseen = forecasts.iter().take_while(|f| measure.foreseen(f) <= share).last().map(|f| f.cpus);
    let mut study = Study {
        own,
        fitted,
        forecasts,
        foreseen,
        found: None,
        open: false,
        checked,
        miss: None,
        reach: 0,
        doubt: None,
    };
    check(field, source, share, measure, &mut study)?;
    if assumptions(field).iter().all(|a| a.broken_by.is_empty()) {
        judge(field, source, measure, &mut study);
    }
    // No verdict contradicts a run: a size that keeps to the share counts only below those that do not. (A few CPUs may be too
    // few for a load that cannot be divided: they do not count.)
    let rows: Vec<(u32, bool)> =
        study.simulated().into_iter().map(|s| (s.cpus, measure.of(s) <= share)).collect();
    let good = rows.iter().skip_while(|r| !r.1).take_while(|r| r.1).last().map(|r| r.0);
    if study.found > good {
        (study.found, study.open) = (good, false);
    }
    Ok(study)
}

/// Let the model foresee each simulated size from those of at most half of it. Where it fails, it says nothing of other sizes;
/// where it does not, it is fitted to all runs, and reaches to twice the largest.
fn judge(field: &Field<'_>, source: &Source, measure: Measure, study: &mut Study) {
    let samples: Vec<Sample> = study.simulated().into_iter().cloned().collect();
    let foresee = |model: &Model, n: u32| -> Option<Forecast> {
        let plan = field.plan(source, &field.machine(n)?).ok()?;
        let of = counts(&plan);
        Some(model.forecast(n, |name| of.get(name).copied().unwrap_or(1)))
    };
    let (mut worst, mut judged): (Option<(f64, Miss)>, u32) = (None, 0);
    let mut times = 1.0f64;
    for s in &samples {
        let smaller: Vec<Sample> = samples.iter().filter(|o| 2 * o.cpus <= s.cpus).cloned().collect();
        if smaller.len() < 2 {
            continue;
        }
        let Some(f) = foresee(&Model::fit(&smaller), s.cpus) else { continue };
        judged += 1;
        let miss = Miss { cpus: s.cpus, foreseen: measure.foreseen(&f), simulated: measure.of(s) };
        let off = (miss.foreseen - miss.simulated).abs();
        let (more, less) = (miss.foreseen.max(miss.simulated), miss.foreseen.min(miss.simulated));
        times = times.max((more + NOISE) / (less + NOISE));
        if worst.is_none_or(|(most, _)| off > most) {
            worst = Some((off, miss));
        }
    }
    study.miss = worst.filter(|(off, _)| *off > BOUND).map(|(_, miss)| miss);
    if study.miss.is_some() || judged < 2 {
        return;
    }
    let most = samples.last().map_or(0, |s| s.cpus);
    let model = Model::fit(&samples);
    let mut fit = study.forecasts.clone();
    for f in &mut fit {
        if let Some(better) = foresee(&model, f.cpus) {
            *f = better;
        }
    }
    for f in &mut study.forecasts {
        if samples.iter().all(|s| s.cpus != f.cpus)
            && let Some(better) = foresee(&model, f.cpus)
        {
            *f = better;
        }
    }
    let beyond = study.forecasts.iter().filter(|f| f.cpus > most && f.cpus <= 2 * most);
    let tests = Tests::new(measure, &samples, &fit, times);
    study.doubt = beyond.clone().find_map(|f| {
        let foreseen = measure.foreseen(f);
        let why = tests.against(f.cpus, foreseen)?;
        Some(Doubt { cpus: f.cpus, foreseen, why })
    });
    let first = study.doubt.as_ref().map_or(u32::MAX, |d| d.cpus);
    study.reach = beyond.take_while(|f| f.cpus < first).last().map_or(0, |f| f.cpus);
}

/// What speaks against a forecast beyond the sizes that were simulated.
struct Tests {
    /// The largest simulated size, and what was simulated there.
    most: u32,
    simulated: f64,
    /// The prediction of the model, fitted to all runs, for that size.
    fit: f64,
    times: f64,
    /// How the parts of the measure grew to that size: the scheduler's code and the waiting, or the waiting alone.
    growths: Vec<Growth>,
}

/// A share of two sizes, continued as a power of the size.
struct Growth {
    last: f64,
    power: f64,
}

impl Growth {
    fn new(before: (u32, f64), last: (u32, f64)) -> Self {
        let power =
            ((last.1 + STEADY) / (before.1 + STEADY)).ln() / (f64::from(last.0) / f64::from(before.0)).ln();
        Self { last: last.1, power }
    }

    /// On so many times the CPUs.
    fn at(&self, times: f64) -> f64 {
        (self.last + STEADY) * times.powf(self.power) - STEADY
    }
}

impl Tests {
    fn new(measure: Measure, samples: &[Sample], forecasts: &[Forecast], times: f64) -> Self {
        let [before, last] = [&samples[samples.len() - 2], &samples[samples.len() - 1]];
        let growth =
            |of: &dyn Fn(&Sample) -> f64| Growth::new((before.cpus, of(before)), (last.cpus, of(last)));
        // Beyond the knee of a lock the waiting grows fast, while the code that the share has as well does not.
        let mut growths = vec![growth(&Sample::wait_share)];
        if measure == Measure::Share {
            growths.push(growth(&|s| s.share() - s.wait_share()));
        }
        let (most, simulated) = (last.cpus, measure.of(last));
        let own = forecasts.iter().find(|f| f.cpus == most);
        Self { most, simulated, fit: own.map_or(simulated, |f| measure.foreseen(f)), times, growths }
    }

    fn against(&self, cpus: u32, foreseen: f64) -> Option<String> {
        let most = self.most;
        let pct = |v: f64| format!("{:.1} %", 100.0 * v);
        if (self.fit - self.simulated).abs() > BOUND / 2.0 {
            return Some(format!(
                "of {most} the model has {}, where {} is simulated",
                pct(self.fit),
                pct(self.simulated)
            ));
        }
        // A share of 40 % that is off by a half is off by 20 points.
        if foreseen * (self.times - 1.0) > BOUND {
            let times = self.times;
            return Some(format!(
                "the shares of simulated sizes were missed by a factor of up to {times:.1}"
            ));
        }
        // As it grew up to this size, so it may go on.
        let times = f64::from(cpus) / f64::from(most);
        let trend: f64 = self.growths.iter().map(|g| g.at(times)).sum();
        let far = (trend - foreseen).abs() > BOUND / 2.0;
        far.then(|| format!("its growth up to {most} CPUs, continued, gives {}", pct(trend)))
    }
}

/// Find by simulation the largest size that keeps to the share, beginning at the one foreseen.
fn check(field: &Field<'_>, source: &Source, share: f64, measure: Measure, study: &mut Study) -> Result<()> {
    let most = (TIMES_SIMULATED * field.machine.nr_cpus()).min(MOST_FORESEEN);
    let sizes: Vec<u32> = study.forecasts.iter().map(|f| f.cpus).filter(|n| *n <= most).collect();
    if sizes.is_empty() {
        return Ok(());
    }
    let mut good = |n: u32| -> Result<bool> {
        let known = study.fitted.iter().chain(&study.checked).chain([&study.own]).find(|s| s.cpus == n);
        let value = match known {
            Some(s) => measure.of(s),
            None => {
                field.watch.more(1);
                let sample = field.sample(source, n)?.ok_or_else(interrupted)?;
                field.watch.one();
                let value = measure.of(&sample);
                study.checked.push(sample);
                value
            }
        };
        Ok(value <= share)
    };
    let start = study.foreseen.unwrap_or(1).min(most);
    let mut at = sizes.iter().rposition(|n| *n <= start).unwrap_or(0);
    let mut found = None;
    if good(sizes[at])? {
        found = Some(sizes[at]);
        while at + 1 < sizes.len() && good(sizes[at + 1])? {
            at += 1;
            found = Some(sizes[at]);
        }
        study.open = at + 1 == sizes.len();
    } else {
        while at > 0 {
            at -= 1;
            if good(sizes[at])? {
                found = Some(sizes[at]);
                break;
            }
        }
    }
    study.found = found;
    study.checked.sort_by_key(|s| s.cpus);
    Ok(())
}

fn changed(source: &Source, change: &Change) -> Source {
    Source { name: source.name.clone(), text: change.text.clone() }
}

/// Run every change that is a topology on the machine itself.
fn attempt(field: &Field<'_>, source: &Source, share: f64, measure: Measure) -> Result<Vec<Tried>> {
    let mut plans: Vec<weir_core::Plan> = vec![field.plan(source, field.machine)?];
    let mut valid = Vec::new();
    for change in change::candidates(&source.text) {
        let Ok(plan) = field.plan(&changed(source, &change), field.machine) else { continue };
        // Two texts may be one graph: a machine with one cache has one entry a cache.
        let same = |p: &weir_core::Plan| (&p.pipes, &p.instances) == (&plan.pipes, &plan.instances);
        if !plans.iter().any(same) {
            plans.push(plan);
            valid.push(change);
        }
    }
    let mut tried: Vec<Tried> = Vec::new();
    // Pairs of edits are tried only where no single one is enough.
    let mut edits: Vec<u32> = valid.iter().map(|c| c.edits).collect();
    edits.dedup();
    for edits in edits {
        let these: Vec<&Change> = valid.iter().filter(|c| c.edits == edits).collect();
        field.watch.more(these.len() as u64);
        let runs: Vec<Result<Tried>> = these
            .par_iter()
            .map(|change| {
                let sample = field.sample(&changed(source, change), field.machine.nr_cpus());
                field.watch.one();
                Ok(Tried { change: (*change).clone(), sample: sample?.ok_or_else(interrupted)? })
            })
            .collect();
        for run in runs {
            tried.push(run?);
        }
        if tried.iter().any(|t| measure.of(&t.sample) <= share) {
            break;
        }
    }
    Ok(tried)
}

/// The smallest change that brings the share down far enough, of equally small ones the best; where none does, the one
/// that takes most of the waiting away, if any does.
fn choose(tried: &[Tried], share: f64, measure: Measure, own: &Sample) -> Option<usize> {
    let value = |i: &usize| measure.of(&tried[*i].sample);
    let by_value = |a: &usize, b: &usize| value(a).total_cmp(&value(b));
    let enough = (0..tried.len()).filter(|i| value(i) <= share);
    let smallest = enough.clone().map(|i| tried[i].change.edits).min();
    let chosen = enough.filter(|i| Some(tried[*i].change.edits) == smallest).min_by(by_value);
    chosen.or_else(|| (0..tried.len()).min_by(by_value).filter(|i| value(i) < measure.of(own)))
}
