// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Minimises a failing run: fewer tasks, steps and CPUs, less time, a shorter topology, as long as it still fails.
//!
//! Delta debugging (Zeller and Hildebrandt, 2002): parts are removed, large ones first; a smaller run that still fails is kept.
//! A candidate that cannot be run does not count as failing. The same inputs give the same result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use weir_core::Plan;
use weir_lang::{Set, Source};
use weir_model::workload::{OnMiss, Op, TaskSpec, Workload};
use weir_model::{Costs, Machine};
use weir_report::{Meta, Metrics};
use weir_sim::engine::{self, RunConfig};

use crate::fault::{Fault, Result};
use crate::guard::{metric, show};
use crate::session::Setting;
use crate::units::{exact, parse_duration, plural};
use crate::watch::Watch;
use crate::{machine, topology};

/// What fails, and how it shows.
#[derive(Clone, Debug, Default)]
pub struct ShrinkOptions {
    pub setting: Setting,
    pub topology: String,
    pub seed: u64,
    /// `METRIC OP VALUE`, for example `totals.deadline_misses > 0`.
    pub fails: String,
}

/// How large a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    pub tasks: u64,
    /// Steps of all programs, each shared one once.
    pub steps: u64,
    pub cpus: u32,
    pub duration_ns: Option<u64>,
    /// Lines of the topology that say something.
    pub lines: u64,
}

/// The smallest run that was found.
#[derive(Clone, Debug, Serialize)]
pub struct ShrinkResult {
    pub runweir: String,
    pub fails: String,
    /// The metric's value in the small run.
    pub value: f64,
    pub seed: u64,
    pub machine: String,
    pub before: Size,
    pub after: Size,
    /// Runs that were tried.
    pub tried: u64,
    /// Ended by the caller: smaller ones may exist.
    pub interrupted: bool,
    /// The small run's files.
    #[serde(skip)]
    metric: String,
    #[serde(skip)]
    pub workload: String,
    #[serde(skip)]
    pub topology: String,
    /// The command that repeats it, in the folder of the files.
    pub command: String,
}

/// `METRIC OP VALUE`.
struct Condition {
    metric: String,
    op: &'static str,
    value: f64,
}

impl Condition {
    fn parse(text: &str) -> Result<Self> {
        let wrong = |message: String| {
            Fault::user(
                message,
                "write METRIC OP VALUE, for example --fails \"totals.deadline_misses > 0\" or \"wakeup_latency_ns.p99 >= 2ms\"",
            )
        };
        let op = [">=", "<=", "==", "!=", ">", "<"].into_iter().find(|op| text.contains(op));
        let Some((op, (left, right))) = op.and_then(|op| Some((op, text.split_once(op)?))) else {
            return Err(wrong(format!("`{}` has no comparison", text.escape_debug())));
        };
        let right = right.trim();
        let value = match right.parse::<f64>() {
            Ok(v) if v.is_finite() => v,
            _ => parse_duration(right)
                .map_err(|e| wrong(format!("`{}` is not a value: {e}", right.escape_debug())))?
                as f64,
        };
        if left.trim().is_empty() {
            return Err(wrong(format!("`{}` names no metric", text.escape_debug())));
        }
        Ok(Self { metric: left.trim().into(), op, value })
    }

    fn holds(&self, v: f64) -> bool {
        match self.op {
            ">=" => v >= self.value,
            "<=" => v <= self.value,
            "==" => v == self.value,
            "!=" => v != self.value,
            ">" => v > self.value,
            _ => v < self.value,
        }
    }
}

/// A run as data.
#[derive(Clone)]
struct Case {
    workload: Workload,
    machine: Machine,
    /// As the user would name it.
    machine_spec: String,
    source: Source,
    plan: Arc<Plan>,
    duration_ns: Option<u64>,
}

/// Everything that does not change.
struct Lab<'a> {
    condition: Condition,
    costs: Costs,
    sets: Vec<Set>,
    seed: u64,
    watch: &'a dyn Watch,
    tried: u64,
}

impl Lab<'_> {
    /// The metric's value, if the run fails.
    fn fails(&mut self, case: &Case) -> std::result::Result<Option<f64>, Fault> {
        self.tried += 1;
        self.watch.one();
        let meta = Meta {
            nr_cpus: case.machine.nr_cpus(),
            pipes: case.plan.pipes.iter().map(|p| p.name.clone()).collect(),
            instances: case.plan.instances.iter().map(|i| i.name.clone()).collect(),
            ..Meta::default()
        };
        let mut metrics = Metrics::new(meta);
        let config = RunConfig {
            seed: self.seed,
            duration_ns: case.duration_ns,
            trace_pipes: true,
            stop: Some(self.watch.stop()),
            ..RunConfig::default()
        };
        let outcome =
            engine::run(&case.machine, &case.plan, &case.workload, &self.costs, &config, &mut metrics)
                .map_err(machine::fault)?;
        let mut summary = metrics.finish(outcome.end_ns);
        summary.interrupted = outcome.interrupted;
        let mut tree = serde_json::to_value(&summary)
            .map_err(|e| Fault::system(format!("a summary cannot be written: {e}"), "this is a bug"))?;
        tree["faults"] = outcome.faults.len().into();
        tree["crash"] = outcome.crash.is_some().into();
        tree["warnings"] = outcome.warnings.len().into();
        let value = metric(&tree, &self.condition.metric)
            .map_err(|(message, help)| Fault::user(format!("--fails: {message}"), help))?;
        Ok(value.filter(|v| self.condition.holds(*v)))
    }

    /// The same where what cannot be run does not fail.
    fn still(&mut self, case: &Case) -> bool {
        !self.watch.stopped() && matches!(self.fails(case), Ok(Some(_)))
    }
}

/// Make a failing run as small as can be found.
///
/// # Errors
/// The user's: something is wrong or missing, or the run does not fail to begin with.
pub fn shrink(options: &ShrinkOptions, watch: &dyn Watch) -> Result<ShrinkResult> {
    let condition = Condition::parse(&options.fails)?;
    let spec = options
        .setting
        .workload
        .clone()
        .ok_or_else(|| Fault::user("no workload is named", "add --workload"))?;
    let machine_spec =
        options.setting.machine.clone().ok_or_else(|| {
            Fault::user("no machine is named", "add --machine, for example --machine smp-8")
        })?;
    let machine = machine::resolve(&machine_spec)?;
    let mut workload = machine::workload(&spec, options.seed)?;
    workload.calibrate(&machine.shape).map_err(machine::fault)?;
    let sets = topology::parse_sets(&options.setting.set)?;
    let source = topology::source(&options.topology)?;
    let plan = Arc::new(topology::compile(&source, &machine.shape, &sets)?.plan);
    let duration_ns = options.setting.duration_ns.or(workload.duration_ns);
    if duration_ns.is_none() && workload.loops_forever() {
        return Err(Fault::user(
            format!("the workload `{}` never ends by itself", workload.name),
            "add --duration, for example --duration 2s",
        ));
    }
    // What cannot be written cannot be handed on.
    workload.to_toml().map_err(machine::fault)?;
    let costs = machine::costs(options.setting.costs.as_deref().unwrap_or("default"))?;
    let mut case = Case { workload, machine, machine_spec, source, plan, duration_ns };
    let mut lab = Lab { condition, costs, sets, seed: options.seed, watch, tried: 0 };
    let Some(mut value) = lab.fails(&case)? else {
        return Err(Fault::user(
            format!("the run does not fail: `{}` does not hold", options.fails),
            "`runweir run … --json` prints all values; is it the right seed?",
        ));
    };
    let before = size(&case);
    loop {
        let last = size(&case);
        shorten(&mut case, &mut lab);
        fewer_tasks(&mut case, &mut lab);
        fewer_cpus(&mut case, &mut lab);
        fewer_steps(&mut case, &mut lab);
        fewer_lines(&mut case, &mut lab);
        if size(&case) == last || watch.stopped() {
            break;
        }
    }
    if !watch.stopped() {
        value = lab.fails(&case)?.unwrap_or(value);
    }
    case.workload.duration_ns = case.duration_ns;
    let mut command =
        format!("runweir run -t topology.weir -m {} -w app.toml --seed {}", case.machine_spec, options.seed);
    for set in &options.setting.set {
        command += &format!(" --set {set}");
    }
    if let Some(costs) = &options.setting.costs {
        command += &format!(" --costs {costs}");
    }
    Ok(ShrinkResult {
        runweir: env!("CARGO_PKG_VERSION").into(),
        fails: options.fails.clone(),
        metric: lab.condition.metric.clone(),
        value,
        seed: options.seed,
        machine: case.machine_spec.clone(),
        before,
        after: size(&case),
        tried: lab.tried,
        interrupted: watch.stopped(),
        workload: case.workload.to_toml().map_err(machine::fault)?,
        topology: case.source.text.clone(),
        command,
    })
}

fn size(case: &Case) -> Size {
    let mut seen = BTreeSet::new();
    let programs = case.workload.tasks.iter().filter(|t| seen.insert(t.program.as_ptr() as usize));
    Size {
        tasks: case.workload.tasks.len() as u64,
        steps: programs.map(|t| t.program.len() as u64).sum(),
        cpus: case.machine.nr_cpus(),
        duration_ns: case.duration_ns,
        lines: case.source.text.lines().filter(|l| says(l)).count() as u64,
    }
}

fn says(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

/// Leaves out parts of `n` things, large parts first; `try_without` keeps what is given and says whether it still fails.
fn ddmin(n: usize, mut try_with: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..n).collect();
    let mut parts = 2;
    while kept.len() > 1 {
        let length = kept.len().div_ceil(parts);
        let mut smaller = None;
        for begin in (0..kept.len()).step_by(length) {
            let end = (begin + length).min(kept.len());
            // A part alone first, then all but the part.
            let alone = kept[begin..end].to_vec();
            if parts == 2 && try_with(&alone) {
                smaller = Some((alone, 2));
                break;
            }
            let without: Vec<usize> = kept[..begin].iter().chain(&kept[end..]).copied().collect();
            if !without.is_empty() && try_with(&without) {
                smaller = Some((without, parts.saturating_sub(1).max(2)));
                break;
            }
        }
        match smaller {
            Some((found, next)) => (kept, parts) = (found, next),
            None if length == 1 => break,
            None => parts = (parts * 2).min(kept.len()),
        }
    }
    kept
}

/// A shorter time: the first halves of what is left, to about a hundredth.
fn shorten(case: &mut Case, lab: &mut Lab<'_>) {
    let Some(whole) = case.duration_ns else { return };
    let (mut low, mut high) = (0, whole);
    while high - low > (whole / 128).max(1000) {
        let middle = low + (high - low) / 2;
        let shorter = Case { duration_ns: Some(middle), ..case.clone() };
        if lab.still(&shorter) {
            high = middle;
        } else {
            low = middle;
        }
    }
    case.duration_ns = Some(high);
}

fn fewer_tasks(case: &mut Case, lab: &mut Lab<'_>) {
    let n = case.workload.tasks.len();
    let with = |kept: &[usize]| Case { workload: only(&case.workload, kept), ..case.clone() };
    let kept = ddmin(n, |kept| {
        kept.iter().any(|i| case.workload.tasks[*i].start_ns.is_some()) && lab.still(&with(kept))
    });
    if kept.len() < n {
        *case = with(&kept);
    }
}

/// The workload with some of its tasks, and the templates that they create.
fn only(workload: &Workload, kept: &[usize]) -> Workload {
    let mut keep: BTreeSet<usize> = kept.iter().copied().collect();
    let mut todo: Vec<usize> = kept.to_vec();
    while let Some(i) = todo.pop() {
        for op in workload.tasks[i].program.iter() {
            if let Op::Fork { template } = op
                && keep.insert(*template as usize)
            {
                todo.push(*template as usize);
            }
        }
    }
    let numbers: BTreeMap<u32, u32> =
        keep.iter().enumerate().map(|(new, old)| (*old as u32, new as u32)).collect();
    let mut small = workload.clone();
    small.tasks = keep.iter().map(|i| workload.tasks[*i].clone()).collect();
    for task in &mut small.tasks {
        if task.program.iter().any(|op| matches!(op, Op::Fork { .. })) {
            let renumbered = |op: &Op| match op {
                Op::Fork { template } => Op::Fork { template: numbers[template] },
                op => op.clone(),
            };
            task.program = task.program.iter().map(renumbered).collect();
        }
    }
    let moved = |i: u32| numbers.get(&i).copied();
    small.blocking = workload.blocking.iter().filter_map(|(i, ns)| Some((moved(*i)?, *ns))).collect();
    small.criticality = workload.criticality.iter().filter_map(|(i, c)| Some((moved(*i)?, *c))).collect();
    small.fairness.tasks =
        workload.fairness.tasks.iter().filter_map(|(i, f)| Some((moved(*i)?, *f))).collect();
    for gang in &mut small.gangs {
        gang.members = gang.members.iter().filter_map(|t| moved(*t)).collect();
    }
    small.gangs.retain(|g| !g.members.is_empty());
    for (b, barrier) in (0..).zip(&mut small.barriers) {
        let meets = |op: &Op| matches!(op, Op::Barrier { barrier } if *barrier == b);
        let users = |tasks: &[TaskSpec]| tasks.iter().filter(|t| t.program.iter().any(meets)).count() as u32;
        // The remaining tasks must be able to meet.
        let gone = users(&workload.tasks).saturating_sub(users(&small.tasks));
        barrier.1 = barrier.1.saturating_sub(gone).max(1);
    }
    small
}

/// Fewer CPUs, of a machine whose name has their number.
fn fewer_cpus(case: &mut Case, lab: &mut Lab<'_>) {
    let now = case.machine.nr_cpus();
    let mut sizes: Vec<u32> = (0..).map(|k| 1u32 << k).take_while(|n| *n < now).collect();
    sizes.extend((1..16).map(|k| now.saturating_sub(k)).filter(|n| *n > 0));
    sizes.sort_unstable();
    sizes.dedup();
    // Nobody may be left without a CPU: that would be another failure.
    let bound = |n: u32| {
        let stays = |cpus: &weir_core::CpuSet| cpus.iter().any(|c| c < n);
        case.workload.tasks.iter().all(|t| {
            t.cpus.as_ref().is_none_or(stays)
                && t.program
                    .iter()
                    .all(|op| !matches!(op, Op::SetAffinity { cpus: Some(cpus) } if !stays(cpus)))
        })
    };
    sizes.retain(|n| bound(*n));
    for n in sizes {
        let spec = format!("smp-{n}");
        let Ok(machine) = machine::resolve(&spec) else { continue };
        let Ok(compiled) = topology::compile(&case.source, &machine.shape, &lab.sets) else { continue };
        let smaller = Case { machine, machine_spec: spec, plan: Arc::new(compiled.plan), ..case.clone() };
        if lab.still(&smaller) {
            *case = smaller;
            return;
        }
    }
}

/// Shorter programs: fewer iterations, fewer steps.
fn fewer_steps(case: &mut Case, lab: &mut Lab<'_>) {
    for i in 0..case.workload.tasks.len() {
        if lab.watch.stopped() {
            return;
        }
        let program = case.workload.tasks[i].program.clone();
        let with = |case: &Case, ops: Vec<Op>| {
            let mut smaller = case.clone();
            smaller.workload.tasks[i].program = ops.into();
            smaller
        };
        for (at, op) in program.iter().enumerate() {
            if let Op::Loop { count: Some(n) } = op
                && *n > 1
            {
                let mut ops = case.workload.tasks[i].program.to_vec();
                ops[at] = Op::Loop { count: Some(1) };
                let smaller = with(case, ops);
                if lab.still(&smaller) {
                    *case = smaller;
                }
            }
        }
        // A release and its loop are the task's period: they stay.
        let program = case.workload.tasks[i].program.clone();
        let (head, tail) = match &program[..] {
            [Op::Loop { .. }, first, .., Op::LoopEnd] if first.is_release() => (2, 1),
            [first, ..] if first.is_release() => (1, 0),
            _ => (0, 0),
        };
        let Some(units) = units(&program[head..program.len() - tail]) else { continue };
        if units.len() < 2 || case.workload.tasks[i].on_miss != OnMiss::Continue {
            continue;
        }
        let ops = |kept: &[usize]| {
            let body = kept.iter().flat_map(|u| program[head + units[*u].0..head + units[*u].1].iter());
            program[..head]
                .iter()
                .chain(body)
                .chain(&program[program.len() - tail..])
                .cloned()
                .collect::<Vec<_>>()
        };
        let kept = ddmin(units.len(), |kept| lab.still(&with(case, ops(kept))));
        if kept.len() < units.len() {
            *case = with(case, ops(&kept));
        }
    }
}

/// Steps of a body, a loop with what is in it counting as one; `None` where loops do not match.
fn units(body: &[Op]) -> Option<Vec<(usize, usize)>> {
    let (mut units, mut depth, mut begin) = (Vec::new(), 0usize, 0);
    for (i, op) in body.iter().enumerate() {
        match op {
            Op::Loop { .. } => depth += 1,
            Op::LoopEnd => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            units.push((begin, i + 1));
            begin = i + 1;
        }
    }
    (depth == 0).then_some(units)
}

/// A shorter topology: lines that it can do without.
fn fewer_lines(case: &mut Case, lab: &mut Lab<'_>) {
    let lines: Vec<String> = case.source.text.lines().filter(|l| says(l)).map(str::to_string).collect();
    let with = |case: &Case, sets: &[Set], kept: &[usize]| {
        let text: String = kept.iter().map(|i| format!("{}\n", lines[*i])).collect();
        let source = Source { name: case.source.name.clone(), text };
        let compiled = topology::compile(&source, &case.machine.shape, sets).ok()?;
        Some(Case { source, plan: Arc::new(compiled.plan), ..case.clone() })
    };
    let sets = lab.sets.clone();
    let kept = ddmin(lines.len(), |kept| with(case, &sets, kept).is_some_and(|c| lab.still(&c)));
    if let Some(smaller) = with(case, &sets, &kept) {
        *case = smaller;
    }
}

impl ShrinkResult {
    /// What was, and what is.
    pub fn table(&self) -> String {
        let (a, b) = (&self.before, &self.after);
        let time = |d: Option<u64>| d.map_or_else(|| "to its end".into(), exact);
        format!(
            "{} (now {})\n\n{:<16} {:>14} {:>14}\n{:<16} {:>14} {:>14}\n{:<16} {:>14} {:>14}\n{:<16} {:>14} {:>14}\n{:<16} {:>14} {:>14}\n{:<16} {:>14} {:>14}\n\n{} tried\n{}\n",
            self.fails,
            show(&self.metric, self.value),
            "",
            "before",
            "after",
            "tasks",
            a.tasks,
            b.tasks,
            "steps",
            a.steps,
            b.steps,
            "CPUs",
            a.cpus,
            b.cpus,
            "time",
            time(a.duration_ns),
            time(b.duration_ns),
            "topology lines",
            a.lines,
            b.lines,
            plural(self.tried, "run"),
            self.command
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ddmin_finds_what_matters() {
        let needs = |kept: &[usize]| kept.contains(&3) && kept.contains(&17);
        assert_eq!(ddmin(40, needs), [3, 17]);
        assert_eq!(ddmin(1, |_| true), [0]);
        assert_eq!(ddmin(9, |k| k.contains(&8)), [8]);
    }

    #[test]
    fn conditions() {
        let c = Condition::parse("wakeup_latency_ns.p99 >= 2ms").unwrap_or_else(|_| panic!("sound"));
        assert!(c.metric == "wakeup_latency_ns.p99" && c.holds(2e6) && !c.holds(1.9e6));
        assert!(Condition::parse("faults != 0").is_ok_and(|c| c.holds(1.0) && !c.holds(0.0)));
        for text in ["", "faults", "> 1", "faults > x"] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }
}
