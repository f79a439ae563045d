// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir analyze`: what limits a topology, and what can be said of a workload without running it.

pub mod contention;
mod overheads;
mod report;
mod scheduler;
mod tasks;

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir_analysis::policy::{analyze as run_tests, analyze_beyond, conclude};
use weir_analysis::{Finding, Overheads, Policy, Task, Verdict};

use crate::args::parse_seed;
use crate::fault::{Fault, Result};
use crate::output::{json, print};
use crate::session::warn;
use crate::units::parse_duration;
use crate::{machine, simso, topology};
use report::{Judged, Report, Section};
use scheduler::Named;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir analyze decentral -m smp-64 -w hackbench:groups=100,loops=100
  runweir analyze global_rr -m eight-nodes -w tokens:pairs=128,loops=0 --share 20%
  runweir analyze --schedulability -w avionics -m smp-4
  runweir analyze p-rm --schedulability -w periodic:tasks=8,util=150% -m smp-2 --costs zero --json

Contention (the default; docs/analysis.md): short runs on parts of the machine find the pipe lock or the
component that limits the topology. They predict the largest machine on which the scheduler takes at most
--share with the same load per CPU; simulations check it. If this machine is larger, the command searches the
smallest change of the topology that helps, shows it and runs it.

Schedulability: without a topology, every policy with a test is tested. Tests are exact, sufficient or necessary;
if a sufficient test fails, the result is `undecided`. With costs, each test is repeated with execution
times that include switches, migrations, release interrupts and ticks, but no waits for locks.
Times are in ns; worst-case execution times are those of the workload. Exit status 0 for every verdict.")]
pub struct AnalyzeArgs {
    /// Scheduler: a catalogue name or a .weir file; default: a SimSo file's own, else every policy
    #[arg(value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// The same as an option
    #[arg(short, long = "topology", value_name = "T", value_parser = Text::new(), conflicts_with = "topology", value_hint = ValueHint::FilePath)]
    pub topology_option: Option<String>,
    /// Test which task sets meet all deadlines: exact, sufficient and necessary tests
    #[arg(long)]
    pub schedulability: bool,
    /// Largest share of CPU time for the scheduler, including waits for its locks
    #[arg(long, value_name = "PERCENT", value_parser = parse_share, default_value = "10%", conflicts_with = "schedulability")]
    pub share: f64,
    /// Longest run in virtual time
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "schedulability")]
    pub duration: Option<u64>,
    /// Number of parallel simulations; default: all cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Machine: a preset (smp-8, epyc-64 …), an hwloc XML file, a TOML file, or `host`
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Workload: as in `run`; with --schedulability one with recurrent tasks
    #[arg(short, long, value_name = "W", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub workload: String,
    /// Set a parameter of a component, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Costs of scheduling, switching and migrating: zero, default, or a TOML file
    #[arg(long, value_name = "COSTS", value_parser = Text::new(), default_value = "default", value_hint = ValueHint::FilePath)]
    pub costs: String,
    /// Seed of a random workload
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Print the results as JSON, and nothing else, on stdout
    #[arg(long)]
    pub json: bool,
    /// Print errors only: no warnings
    #[arg(short, long)]
    pub quiet: bool,
}

/// `10%`, `0.5 %`: between nothing and everything.
fn parse_share(text: &str) -> std::result::Result<f64, String> {
    let wrong = || "a share is a percentage between 0 and 100, for example 10%".to_string();
    let number = text.trim().strip_suffix('%').ok_or_else(wrong)?;
    let value: f64 = number.trim().parse().map_err(|_| wrong())?;
    if value > 0.0 && value < 100.0 { Ok(value / 100.0) } else { Err(wrong()) }
}

/// Look everything up, judge, print.
pub fn analyze(args: &AnalyzeArgs) -> Result<ExitCode> {
    if !args.schedulability {
        let name = args.topology.as_deref().or(args.topology_option.as_deref()).ok_or_else(|| {
            Fault::user(
                "no topology is named",
                "name the one whose contention is to be analyzed, or add --schedulability, which judges every policy \
                 without one",
            )
        })?;
        return contention::contention(args, name);
    }
    let workload = machine::workload(&args.workload, args.seed)?;
    let extras = workload.simso.as_ref();
    let machine = match (&args.machine, extras) {
        (Some(name), _) => machine::resolve(name)?,
        (None, Some(simso)) if simso.nr_cpus > 0 => simso.machine().expect("it has processors"),
        (None, _) => {
            return Err(Fault::user(
                "no machine is named, and the workload does not say which it wants",
                "add --machine, for example --machine smp-4; `runweir machines` lists them",
            ));
        }
    };
    let mut workload = workload.clone();
    if args.machine.is_none() {
        workload.for_own_machine();
    }
    workload.calibrate(&machine.shape).map_err(machine::fault)?;
    let costs = machine::costs(&args.costs)?;
    let mut named = args.topology.clone().or_else(|| args.topology_option.clone());
    if named.is_none() && extras.is_some_and(|e| e.scheduler.is_some()) {
        named = simso::topology(extras).ok().map(str::to_string);
    }
    let mut warnings = machine.warnings.clone();
    warnings.extend(workload.warnings.iter().cloned());
    let platform = tasks::platform(&machine, &mut warnings)?;
    let tasks = tasks::recurrent(&workload, &platform, &mut warnings)?;
    let mut plan = None;
    let policies: Vec<Named> = match &named {
        Some(name) => {
            let sets = topology::parse_sets(&args.set)?;
            let compiled = topology::compile(&topology::source(name)?, &machine.shape, &sets)?;
            let found = scheduler::of(&compiled.plan, platform.cpus);
            if found.is_none() {
                warnings.push(format!(
                    "no schedulability test is known for the graph of `{}`: only what holds for every policy is told",
                    compiled.plan.name
                ));
            }
            let named = Named { name: compiled.plan.name.clone(), policy: found };
            plan = Some(compiled.plan);
            vec![named]
        }
        None if !args.set.is_empty() => {
            return Err(Fault::user(
                "--set needs a topology",
                "name one: `runweir analyze edf-us --schedulability …`",
            ));
        }
        None => scheduler::all(platform.cpus),
    };
    let overheads = overheads::of(&costs, &machine, plan.as_ref(), tasks.len());
    let judge = |n: Named| section(n, &tasks, platform.cpus, platform.mixed, &overheads);
    let report = Report {
        topology: named,
        machine: machine.shape.name.clone(),
        workload: workload.name.clone(),
        costs: args.costs.clone(),
        cpus: platform.cpus,
        sections: policies.into_iter().map(judge).collect(),
        tasks,
        overheads,
    };
    if !args.quiet {
        warn(warnings.iter());
    }
    print(&if args.json { json(&report.json())? } else { report.text() })?;
    Ok(ExitCode::SUCCESS)
}

/// All tests of a policy, without and with costs.
fn section(named: Named, tasks: &[Task], cpus: u32, mixed: bool, overheads: &Overheads) -> Section {
    let Some(policy) = named.policy else {
        let milder = !weir_analysis::task::can_be_synchronous(tasks);
        let found = vec![weir_analysis::global_bounds::feasible(tasks, cpus, milder)];
        return Section { name: named.name, plain: judged(found, mixed), costly: None, shares: None };
    };
    let plain = judged(run_tests(tasks, cpus, &policy), mixed);
    let migrates = policy.migrates(cpus);
    let shares = (!overheads.is_zero()).then(|| overheads.switch_share(tasks, cpus, &policy, migrates));
    let costly = (!overheads.is_zero()).then(|| inflated(tasks, cpus, &policy, mixed, overheads));
    Section { name: named.name, plain, costly, shares }
}

/// The tests again with computing times that hold the costs. A failure says nothing: costs are upper bounds.
fn inflated(tasks: &[Task], cpus: u32, policy: &Policy, mixed: bool, overheads: &Overheads) -> Judged {
    let found = match overheads.inflate(tasks, policy, policy.migrates(cpus)) {
        Some(longer) => analyze_beyond(tasks, &longer, cpus, policy)
            .into_iter()
            .map(|f| f.unless(true, "with costs at their bounds"))
            .collect(),
        None => Vec::new(),
    };
    judged(found, mixed)
}

fn judged(found: Vec<Finding>, mixed: bool) -> Judged {
    let found: Vec<Finding> =
        found.into_iter().map(|f| f.unless(mixed, "faster CPUs may make up for it")).collect();
    let verdict = if found.is_empty() { Verdict::Undecided } else { conclude(&found) };
    Judged { verdict, found }
}
