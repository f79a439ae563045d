// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir analyze`: what limits a topology, and what can be said of a workload without running it.

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::gang_map::{MapOptions, gang_map};
use weir::{Analysis, AnalyzeOptions, Question, Watch};

use crate::args::parse_seed;
use crate::fault::{Fault, Result};
use crate::output::{json, note, print, say, screen, show};
use crate::progress::Counter;
use crate::stop;
use crate::units::parse_duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir analyze decentral -m smp-64 -w hackbench:groups=100,loops=100
  runweir analyze global_rr -m eight-nodes -w tokens:pairs=128,loops=0 --share 20%
  runweir analyze --schedulability -w avionics -m smp-4
  runweir analyze --gang -m smp-16 -w team:work=1ms,imbalance=20%,hogs=8
  runweir analyze p-rm --schedulability -w periodic:tasks=8,util=150% -m smp-2 --costs zero --json

Contention (the default; docs/analysis.md): short runs on parts of the machine find the pipe lock or the
component that limits the topology. They predict the largest machine on which the scheduler takes at most
--share with the same load per CPU; simulations check it. If this machine is larger, the command searches the
smallest change of the topology that helps, shows it and runs it.

Schedulability: without a topology, every policy with a test is tested. Tests are exact, sufficient or necessary;
if a sufficient test fails, the result is `undecided`. A test that leaves out what the workload or the machine has
(waits, affinities, other tasks …) is `undecided` where it would accept, and its response times are lower bounds; `assumptions`
in JSON has them all. With costs, each test is repeated with execution times that include switches, migrations,
interrupts, ticks, slices and waits for the scheduler's locks.
Exit status 0 for every verdict; with --strict 1 if a result is withheld.")]
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
    /// Map when gang scheduling pays, by how often threads meet, how uneven their work is, and how many teams there are; -w
    /// team:work=1ms,imbalance=20%,hogs=8 places a program on it
    #[arg(long, conflicts_with_all = ["schedulability", "topology", "topology_option", "share", "duration", "set"])]
    pub gang: bool,
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
    #[arg(short, long, value_name = "W", value_parser = Text::new(), value_hint = ValueHint::FilePath, required_unless_present = "gang")]
    pub workload: Option<String>,
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
    /// Treat settings of the workload that the topology ignores as errors; with --schedulability, end with status 1 if
    /// results are withheld because an assumption of a test does not hold
    #[arg(long)]
    pub strict: bool,
}

/// `10%`, `0.5 %`: between nothing and everything.
fn parse_share(text: &str) -> std::result::Result<f64, String> {
    let wrong = || "a share is a percentage between 0 and 100, for example 10%".to_string();
    let number = text.trim().strip_suffix('%').ok_or_else(wrong)?;
    let value: f64 = number.trim().parse().map_err(|_| wrong())?;
    if value > 0.0 && value < 100.0 { Ok(value / 100.0) } else { Err(wrong()) }
}

/// The map of when gang scheduling pays.
fn map(args: &AnalyzeArgs) -> Result<ExitCode> {
    let team = match args.workload.as_deref() {
        None => None,
        Some(w) => Some(w.strip_prefix("team:").or(Some("").filter(|_| w == "team")).ok_or_else(|| {
            Fault::user(
                format!("`{w}` is not a team that can be placed on the map"),
                "write how it computes: -w team:work=1ms,imbalance=20%,hogs=8",
            )
        })?),
    };
    let options = MapOptions {
        machine: args.machine.clone().unwrap_or_else(|| "smp-16".into()),
        costs: args.costs.clone(),
        team: team.map(str::to_string),
        jobs: args.jobs,
    };
    stop::install_saying("ending without results")?;
    let counter = Counter::new(0, 0, !args.quiet);
    let map = gang_map(&options, &counter);
    counter.finish();
    let map = match map {
        _ if (&counter as &dyn Watch).stopped() => {
            note("interrupted: there are no results");
            return Ok(ExitCode::from(1));
        }
        other => other?,
    };
    if args.json {
        print(&json(&map)?)?
    } else {
        say(&map.text())?
    }
    Ok(ExitCode::SUCCESS)
}

/// Look everything up, judge, print.
pub fn analyze(args: &AnalyzeArgs) -> Result<ExitCode> {
    if args.gang {
        return map(args);
    }
    let question = match args.schedulability {
        true => Question::Schedulability,
        false => Question::Contention { share: args.share, duration_ns: args.duration, jobs: args.jobs },
    };
    let options = AnalyzeOptions {
        question,
        topology: args.topology.clone().or_else(|| args.topology_option.clone()),
        machine: args.machine.clone(),
        workload: args.workload.clone().unwrap_or_default(),
        set: args.set.clone(),
        costs: args.costs.clone(),
        seed: args.seed,
        strict: args.strict,
    };
    stop::install_saying("ending without results")?;
    let counter = Counter::new(0, 0, !args.quiet);
    let analysis = weir::analyze(&options, &counter);
    counter.finish();
    let analysis = match analysis {
        Err(_) if (&counter as &dyn Watch).stopped() => {
            note("interrupted: there are no results");
            return Ok(ExitCode::from(1));
        }
        other => other?,
    };
    if !args.quiet {
        show(&analysis.warnings());
    }
    if args.json {
        print(&json(&analysis.json())?)?
    } else {
        say(&analysis.text(&screen()))?
    }
    match &analysis {
        Analysis::Schedulability(report) if args.strict && report.withheld() => {
            note("some results are withheld, because assumptions do not hold");
            Ok(ExitCode::from(1))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
