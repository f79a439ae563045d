// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir reproduce`: the sources' tables and figures reproduced, with a verdict for each claim.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use runweir_lab::reproduce::{EXPERIMENTS, Experiment, Finished, Record, full, named, recorded, results};

use runweir::output::{json, note, pairs, print, say, screen};
use runweir::progress::Counter;
use runweir::stop;
use weir::OutDir;
use weir::{Fault, Result};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir reproduce                          list the experiments with their last verdicts
  runweir reproduce cobas-8.5 --quick        a reduced sweep of one experiment
  runweir reproduce cobas-8.5 --out results  data, pictures and verdicts in a folder
  runweir reproduce --all --out experiments --force   all experiments, and RESULTS.md

Each claim gets a verdict (holds, partly, does not hold; no findings are: calibrated, a cost was fitted to it; vacuous, the
effect that it limits is absent here; own, it is ours), with the measured figure beside the source's and the bound. --out writes result.json and a .csv and an .svg per table and picture; all of them or none.
Exit status 0 for every verdict. Ctrl-C ends without results.")]
pub struct ReproduceArgs {
    /// Experiment: an id or alias from the list; default: show the list
    #[arg(value_name = "ID", value_parser = Text::new())]
    pub id: Option<String>,
    /// Run all experiments
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
    /// A reduced sweep: all simulations take less than two minutes of computing together
    #[arg(long)]
    pub quick: bool,
    /// Charge scheduler code by this cost table (a name or FILE.toml) instead of the experiments' own ones, to see which verdicts depend on it
    #[arg(long, value_name = "TABLE", value_parser = Text::new(), conflicts_with = "out")]
    pub costs: Option<String>,
    /// Print the page RESULTS.md of the last full runs without running anything
    #[arg(long, conflicts_with_all = ["id", "all", "quick", "costs", "out", "json"])]
    pub page: bool,
    /// Number of parallel simulations; default: all cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Write data, pictures and verdicts into this folder; with --all one folder per experiment, and RESULTS.md
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Let --out write into a folder that has other files; they are kept
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print as JSON, and nothing else, on stdout
    #[arg(long)]
    pub json: bool,
    /// Print errors only: no table, progress or warnings
    #[arg(short, long)]
    pub quiet: bool,
}

/// List the experiments, or run one or all of them.
pub fn reproduce(args: &ReproduceArgs) -> Result<ExitCode> {
    if args.page {
        print(&results::page(&recorded::all().iter().collect::<Vec<_>>()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&Experiment> = match &args.id {
        Some(name) => vec![named(name)?],
        None if args.all => EXPERIMENTS.iter().collect(),
        None => return list(args),
    };
    let code = args.costs.as_deref().map(weir::machine::costs).transpose()?;
    let out = args.out.as_deref().map(|dir| OutDir::prepare(dir, args.force)).transpose()?;
    stop::install_saying("ending without results; nothing is written")?;
    let counter = Counter::new(0, 0, !args.quiet);
    let threads = args.jobs.map_or(0, |j| j as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Fault::system(format!("cannot start threads: {e}"), "try --jobs 1"))?;
    let mut done = Vec::new();
    for experiment in chosen {
        if let Some(why) = runweir_lab::reproduce::out_of_reach(experiment).filter(|_| args.all) {
            if !args.quiet {
                note(&format!("{} is left out: {why}", experiment.id));
            }
            continue;
        }
        match pool.install(|| runweir_lab::reproduce::reproduce(experiment, args.quick, code, &counter)) {
            Ok(Some(finished)) => done.push(finished),
            Ok(None) => {
                counter.finish();
                note("interrupted: nothing is written");
                return Ok(ExitCode::from(1));
            }
            Err(fault) => {
                counter.finish();
                return Err(fault);
            }
        }
    }
    counter.finish();
    finish(args, out, &done)
}

/// Write and print what was found.
fn finish(args: &ReproduceArgs, out: Option<OutDir>, done: &[Finished]) -> Result<ExitCode> {
    let mut written = None;
    if let Some(out) = out {
        for one in done {
            let folder = if args.all { format!("{}/", one.record.id) } else { String::new() };
            runweir_lab::reproduce::write(&out, &folder, &one.report, &one.record)?;
        }
        let all: Vec<&Record> = done.iter().map(|d| &d.record).collect();
        let name = if args.all { "RESULTS.md" } else { "result.json" };
        if args.all {
            out.write(name, results::page(&all).as_bytes())?;
        }
        written = Some(out.shown(name));
        out.commit()?;
    }
    if args.json {
        let objects: Vec<_> = done.iter().map(|d| full(&d.report, &d.record)).collect();
        match (&objects[..], args.all) {
            ([one], false) => print(&json(one)?)?,
            _ => print(&json(&objects)?)?,
        }
    } else if !args.quiet {
        let texts: Vec<String> = done.iter().map(|d| d.record.text()).collect();
        say(&texts.join("\n"))?;
    }
    if !args.quiet {
        let seconds: f64 = done.iter().map(|d| d.seconds).sum();
        let runs: u64 = done.iter().map(|d| d.record.runs).sum();
        note(&format!("{runs} simulations in {seconds:.1} s"));
        match written {
            Some(written) => note(&format!("written: {written} and the files that it names")),
            None => note("data and pictures: the same with --out DIR"),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The list, with what the last full runs found.
fn list(args: &ReproduceArgs) -> Result<ExitCode> {
    if args.quick || args.out.is_some() || args.costs.is_some() {
        return Err(Fault::user(
            "no experiment is named",
            "name one, or use --all; `runweir reproduce` lists them",
        ));
    }
    let recorded = |id: &str| recorded::all().into_iter().find(|r| r.id == id);
    if args.json {
        let entry = |e: &Experiment| {
            serde_json::json!({
                "id": e.id, "aliases": e.aliases, "title": e.title, "source": e.source,
                "claims": recorded(e.id).map_or(Vec::new(), |r| r.claims),
                "full_run_s": recorded::took_s(e.id),
            })
        };
        print(&json(&EXPERIMENTS.iter().map(entry).collect::<Vec<_>>())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |e: &Experiment| {
        let last = recorded(e.id).map_or("not run yet".to_string(), |r| r.verdicts());
        let time =
            recorded::took_s(e.id).map_or("was not timed".to_string(), |s| format!("takes {}", computing(s)));
        (e.id.to_string(), format!("{} ({}); last verdicts: {last}; a full run {time}", e.title, e.source))
    };
    let rows: Vec<(String, String)> = EXPERIMENTS.iter().map(row).collect();
    print(&pairs(&rows, &screen()))?;
    Ok(ExitCode::SUCCESS)
}

/// Processor time in words.
fn computing(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{} s of computing", s.ceil()),
        s => format!("{} min of computing", (s / 60.0).round()),
    }
}
