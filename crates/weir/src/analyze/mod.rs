// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What limits a topology, and analysis of a workload without running it.

pub mod contention;
pub mod overheads;
mod report;
pub mod scheduler;
pub mod tasks;

use serde_json::Value;
use weir_analysis::policy::conclude;
use weir_analysis::{Feature, Finding, Load, Overheads, Stop, Verdict};
use weir_model::{Costs, Machine, Workload};
use weir_report::Screen;

use crate::fault::{Diag, Fault, Result};
use crate::watch::{Watch, pool};
use crate::{ignored, machine, simso, topology};
use contention::Field;
pub use report::{Judged, Report, Section};
use scheduler::Named;

/// The query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// Which lock or component limits the topology, and where does the scheduler take more than `share` of the CPU time?
    Contention {
        share: f64,
        /// Longest run in virtual time, ns.
        duration_ns: Option<u64>,
        /// Parallel simulations; `None`: one for each core of this computer.
        jobs: Option<u32>,
    },
    /// Which task sets meet all deadlines?
    Schedulability,
}

/// The inputs of the analysis.
#[derive(Clone, Debug)]
pub struct AnalyzeOptions {
    pub question: Question,
    /// A catalogue name or a `.weir` file. Schedulability without one: a SimSo file's own, else every policy.
    pub topology: Option<String>,
    /// `None`: the machine that the workload describes.
    pub machine: Option<String>,
    pub workload: String,
    /// Parameters, each as `component.param=value`.
    pub set: Vec<String>,
    /// `zero`, `default` or a TOML file.
    pub costs: String,
    /// Seed of a random workload.
    pub seed: u64,
    /// Contention: what the topology does not obey of what the workload asks for is an error.
    pub strict: bool,
}

/// The answer.
pub enum Analysis {
    Contention(Box<contention::Report>),
    Schedulability(Box<Report>),
}

impl Analysis {
    /// For people.
    pub fn text(&self, screen: &Screen) -> String {
        match self {
            Analysis::Contention(report) => report.text(),
            Analysis::Schedulability(report) => report.text(screen),
        }
    }

    /// For scripts; `docs/analysis.md` describes it.
    pub fn json(&self) -> Value {
        match self {
            Analysis::Contention(report) => report.json(),
            Analysis::Schedulability(report) => report.json(),
        }
    }

    /// Remarks for the user about machine, workload and topology.
    pub fn warnings(&self) -> Vec<Diag> {
        // The tests of deadlines have it among their assumptions.
        let (warnings, unheeded) = match self {
            Analysis::Contention(report) => (&report.warnings, &report.ignored[..]),
            Analysis::Schedulability(report) => (&report.warnings, &[][..]),
        };
        warnings.iter().map(Diag::warning).chain(ignored::warnings(unheeded)).collect()
    }
}

/// Answer a question about a topology or a workload.
///
/// # Errors
/// The user's: something is missing, unknown or wrong. The system's: a simulation failed, or the caller has ended it.
pub fn analyze(options: &AnalyzeOptions, watch: &dyn Watch) -> Result<Analysis> {
    match options.question {
        Question::Contention { share, duration_ns, jobs } => {
            let report = limits(options, share, duration_ns, jobs, watch)?;
            Ok(Analysis::Contention(Box::new(report)))
        }
        Question::Schedulability => Ok(Analysis::Schedulability(Box::new(schedulability(options, watch)?))),
    }
}

/// What both analyses begin with.
struct Inputs {
    machine: Machine,
    workload: Workload,
    costs: Costs,
}

/// Read machine, workload and costs; `example` is a machine for the remedy.
fn inputs(options: &AnalyzeOptions, example: &str) -> Result<Inputs> {
    let mut workload = machine::workload(&options.workload, options.seed)?;
    let machine = match (&options.machine, &workload.simso) {
        (Some(name), _) => machine::resolve(name)?,
        (None, Some(simso)) if simso.nr_cpus > 0 => simso.machine().expect("it has processors"),
        (None, _) => {
            return Err(Fault::user(
                "no machine is named, and the workload does not say which it wants",
                format!("add --machine, for example --machine {example}; `runweir machines` lists them"),
            ));
        }
    };
    if options.machine.is_none() {
        workload.for_own_machine();
    }
    workload.calibrate(&machine.shape).map_err(machine::fault)?;
    Ok(Inputs { machine, workload, costs: machine::costs(&options.costs)? })
}

fn limits(
    options: &AnalyzeOptions,
    share: f64,
    duration_ns: Option<u64>,
    jobs: Option<u32>,
    watch: &dyn Watch,
) -> Result<contention::Report> {
    let name = options.topology.as_deref().ok_or_else(|| {
        Fault::user(
            "no topology is named",
            "name the one whose contention is to be analyzed, or add --schedulability, which judges every policy \
             without one",
        )
    })?;
    let source = topology::source(name)?;
    let sets = topology::parse_sets(&options.set)?;
    let Inputs { machine, workload, costs } = inputs(options, "smp-64")?;
    if costs.is_zero() {
        return Err(Fault::user(
            "with --costs zero scheduling takes no time, so there is nothing to analyze",
            "leave --costs out, or name a cost file",
        ));
    }
    let duration_ns = duration_ns.or(workload.duration_ns);
    // Runs end when they have shown enough; a workload without end needs a bound only for the engine's sake.
    let bound = duration_ns.or_else(|| workload.loops_forever().then_some(10_000_000_000));
    let field = Field {
        machine: &machine,
        workload: &workload,
        costs: &costs,
        sets: &sets,
        duration_ns: bound,
        seed: options.seed,
        watch,
    };
    // An error in the topology is reported before anything runs.
    let plan = field.plan(&source, &machine)?;
    let ignored = ignored::allowed(&plan, &workload, machine.nr_cpus(), options.strict)?;
    let mut report = pool(jobs)?.install(|| contention::analyze(&field, &source, share))?;
    let of_inputs = machine.warnings.iter().chain(&workload.warnings).cloned();
    report.warnings = of_inputs.chain(std::mem::take(&mut report.warnings)).collect();
    report.ignored = ignored;
    Ok(report)
}

fn schedulability(options: &AnalyzeOptions, watch: &dyn Watch) -> Result<Report> {
    let Inputs { machine, workload, costs } = inputs(options, "smp-4")?;
    let extras = workload.simso.as_ref();
    let mut named = options.topology.clone();
    if named.is_none() && extras.is_some_and(|e| e.scheduler.is_some()) {
        named = simso::topology(extras).ok().map(str::to_string);
    }
    let mut warnings = machine.warnings.clone();
    warnings.extend(workload.warnings.iter().cloned());
    let platform = tasks::platform(&machine)?;
    let tasks = tasks::of(&workload, &platform)?;
    let mut breaks = platform.breaks.clone();
    tasks::merge(&mut breaks, tasks.breaks.clone());
    let mut plan = None;
    let policies: Vec<Named> = match &named {
        Some(name) => {
            let sets = topology::parse_sets(&options.set)?;
            let compiled = topology::compile(&topology::source(name)?, &machine.shape, &sets)?;
            tasks::merge(&mut breaks, tasks::topology(&compiled));
            let found = scheduler::of(&compiled.plan, platform.cpus);
            if found.is_none() {
                warnings.push(format!(
                    "no schedulability test is known for the graph of `{}`: only what holds for every policy is reported",
                    compiled.plan.name
                ));
            }
            let named = Named { name: compiled.plan.name.clone(), policy: found };
            plan = Some(compiled.plan);
            vec![named]
        }
        None if !options.set.is_empty() => {
            return Err(Fault::user(
                "--set needs a topology",
                "name one: `runweir analyze edf-us --schedulability …`",
            ));
        }
        None => scheduler::all(platform.cpus),
    };
    let overheads = overheads::of(&costs, &machine, plan.as_ref(), tasks.tasks.len());
    warnings.extend(breaks.iter().map(|(feature, by)| report::broken(*feature, by)));
    let features: Vec<Feature> = breaks.keys().copied().collect();
    let load = Load { stop: Stop(Some(watch.stop())), ..tasks.load(&features) };
    let priced = if overheads.is_zero() { Vec::new() } else { of_costs(&load) };
    for feature in load.all_features().into_iter().chain(priced) {
        let late = tasks.tasks.iter().filter(|t| feature == Feature::Order && t.jitter > 0);
        let mut names: std::collections::BTreeSet<String> = late.map(|t| t.name.clone()).collect();
        if feature == Feature::Costs || feature == Feature::CostsOfWaits {
            names.insert(format!("--costs {}", options.costs));
        }
        breaks.entry(feature).or_insert(names);
    }
    let mut sections = Vec::with_capacity(policies.len());
    for named in policies {
        sections.push(section(named, &load, platform.cpus, &overheads));
        if watch.stopped() {
            return Err(contention::interrupted());
        }
    }
    Ok(Report {
        topology: named,
        machine: machine.shape.name.clone(),
        workload: workload.name.clone(),
        costs: options.costs.clone(),
        cpus: platform.cpus,
        sections,
        tasks: tasks.tasks,
        breaks,
        overheads,
        warnings,
    })
}

/// All tests of a policy, without and with costs.
pub fn section(named: Named, load: &Load<'_>, cpus: u32, overheads: &Overheads) -> Section {
    let Some(policy) = named.policy else {
        let milder = !weir_analysis::task::can_be_synchronous(load.tasks);
        let found = vec![weir_analysis::global_bounds::feasible(load.tasks, cpus, milder)];
        let plain = judged(weir_analysis::assume::weigh(found, &load.all_features()));
        return Section { name: named.name, plain, costly: None, shares: None, tick: None };
    };
    let overheads = &overheads.driven_by(&policy);
    let plain = judged(load.analyze(cpus, &policy));
    let migrates = policy.migrates(cpus);
    let priced = (!overheads.is_zero()).then_some(overheads);
    let shares = priced.map(|o| o.switch_share(load.tasks, cpus, &policy, migrates));
    let costly = priced.map(|o| inflated(load, cpus, &policy, o));
    let tick = priced.map(Overheads::tick_share);
    Section { name: named.name, plain, costly, shares, tick }
}

/// The tests again with computing times that hold the costs. A failure says nothing: costs are upper bounds.
fn inflated(load: &Load<'_>, cpus: u32, policy: &weir_analysis::Policy, overheads: &Overheads) -> Judged {
    let Some(longer) = overheads.inflate(load.tasks, policy, policy.migrates(cpus)) else {
        return judged(Vec::new());
    };
    let mut features = load.all_features();
    features.extend(of_costs(load));
    let found = Load { tasks: &longer, features: &features, ..*load }.analyze(cpus, policy);
    judged(found.into_iter().map(|f| f.unless(true, "with costs at their bounds")).collect())
}

/// What costs break.
fn of_costs(load: &Load<'_>) -> Vec<Feature> {
    let waits = [Feature::Locks, Feature::BareLocks, Feature::Sleeps];
    let waiting = load.all_features().iter().any(|f| waits.contains(f)) || !load.background.is_empty();
    if waiting { vec![Feature::Costs, Feature::CostsOfWaits] } else { vec![Feature::Costs] }
}

fn judged(found: Vec<Finding>) -> Judged {
    let verdict = if found.is_empty() { Verdict::Undecided } else { conclude(&found) };
    Judged { verdict, found }
}
