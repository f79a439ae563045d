// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir sweep`: grids of parameters and seeds, on all cores, resumable.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::ValueHint;
use clap::builder::NonEmptyStringValueParser as Text;
use weir::sweep::executor::{Away, Executor};
use weir::sweep::{Row, Shard, fields};
use weir::units::plural;
use weir::{OutDir, Sweep, ignored};

use crate::fault::{Fault, Result};
use crate::output::{json, note, print, screen, show, warn};
use crate::progress::Counter;
use crate::stop;

/// Different warnings that are shown.
const WARNINGS: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir sweep grid.toml --dry-run          list the runs
  runweir sweep grid.toml --out results      run them on all cores
  runweir sweep grid.toml --out results      the same again: resume after an interruption
  runweir sweep grid.toml --shard 3/64 --out part3         on one of 64 machines
  runweir sweep grid.toml --executor dask:tcp://host:8786 --out results      on the workers of a Dask scheduler
  runweir sweep grid.toml --merge part* --out results      together: the same bytes as on one machine

grid.toml, for example (docs/sweep.md has all keys):
  topology = [\"edf\", \"p-edf\", \"pd2\"]
  machine = \"smp-4\"
  workload = \"periodic\"
  costs = \"zero\"
  seeds = 100
  duration = \"1s\"
  [keys]
  tasks = 10
  util = { from = \"200%\", to = \"400%\", step = \"20%\" }

--out writes results.csv (one line per run), summary.csv and sweep.json (one line per grid point, with Wilson's
95 % interval of the share of runs without a miss), a picture for each `y` of [plot], and sweep.html.
The same specification gives the same bytes for any --jobs. Ctrl-C or a kill loses only unfinished runs.")]
pub struct SweepArgs {
    /// Specification of the sweep, a TOML file
    #[arg(value_name = "SPEC.toml", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub spec: String,
    /// Number of parallel runs; default: all cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Write results into this folder; resumes an earlier sweep of the same specification there
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Discard the results of an earlier sweep in the folder and start again
    #[arg(long, requires = "out")]
    pub fresh: bool,
    /// Let --out write into a folder that has other files; they are kept
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Make only every N-th run, beginning with the K-th, as one of N machines; --merge combines the results
    #[arg(long, value_name = "K/N", value_parser = Shard::parse, requires = "out", conflicts_with = "merge")]
    pub shard: Option<Shard>,
    /// Read the runs from these folders, which --shard wrote, instead of making them
    #[arg(long, value_name = "DIR", num_args = 1.., value_hint = ValueHint::DirPath)]
    pub merge: Vec<PathBuf>,
    /// Distribute the runs: dask (processes on this computer), dask:ADDRESS (workers of a scheduler) or slurm (an array of jobs)
    #[arg(long, value_name = "EXECUTOR", value_parser = Executor::parse, requires = "out", conflicts_with_all = ["merge", "shard", "dry_run"])]
    pub executor: Option<Executor>,
    /// Number of parts, with --executor
    #[arg(long, value_name = "N", default_value_t = 64, requires = "executor", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub shards: u32,
    /// Treat settings of a workload that a topology ignores as errors, not warnings
    #[arg(long)]
    pub strict: bool,
    /// Only list the runs
    #[arg(long)]
    pub dry_run: bool,
    /// Print the summary as JSON, and nothing else, on stdout
    #[arg(long)]
    pub json: bool,
    /// Print errors only: no table, progress or warnings
    #[arg(short, long)]
    pub quiet: bool,
}

/// Read the specification, make the runs that are missing, write and print the results.
pub fn sweep(args: &SweepArgs) -> Result<ExitCode> {
    let sweep = Sweep::open(&args.spec)?;
    if let Some(refused) = ignored::refusal(sweep.ignored()).filter(|_| args.strict) {
        return Err(refused);
    }
    if !args.quiet {
        show(&ignored::warnings(sweep.ignored()));
    }
    if args.dry_run {
        return list(&sweep, args.shard.unwrap_or(Shard::ALL), args.json);
    }
    if !args.merge.is_empty() {
        return merge(args, &sweep);
    }
    if let Some(executor) = &args.executor {
        return away(args, &sweep, executor);
    }
    let shard = args.shard.unwrap_or(Shard::ALL);
    let all = (0..sweep.nr_runs()).filter(|run| shard.has(*run)).count() as u64;
    let mut done: BTreeMap<u64, Row> = BTreeMap::new();
    let mut journal = None;
    if let Some(dir) = &args.out {
        // Refuses a folder of others; what it prepares is dropped, nothing is written yet.
        OutDir::prepare(dir, args.force)?;
        let (opened, found) = sweep.journal(dir, args.fresh)?;
        (journal, done) = (Some(opened), found.into_iter().filter(|(run, _)| shard.has(*run)).collect());
        if !done.is_empty() && !args.quiet {
            note(&format!("{} of {} there already; making the others", done.len(), plural(all, "run")));
        }
    }
    stop::install_saying(match &args.out {
        Some(_) => "ending; repeat the command to continue",
        None => "ending without results: only a sweep with --out can go on later",
    })?;
    let counter = Counter::new(all, done.len() as u64, !args.quiet);
    let result = sweep.run_shard(shard, args.jobs, journal.as_ref(), done, &counter);
    counter.finish();
    let result = result?;
    if (result.rows.len() as u64) < all {
        note(&format!("interrupted: {} of {} done", result.rows.len(), plural(all, "run")));
        return Ok(ExitCode::from(1));
    }
    if !args.quiet {
        show_warnings(&sweep, &result.warnings);
    }
    if let Some(shard) = args.shard {
        if !args.quiet {
            note(&format!(
                "shard {} of {} is done: {all} of {}; `runweir sweep SPEC --merge DIR…` makes the results of all shards",
                shard.index + 1,
                shard.of,
                plural(sweep.nr_runs(), "run")
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    finish(args, &sweep, &result.rows)
}

/// `--executor`: others make the shards, which are merged here.
fn away(args: &SweepArgs, sweep: &Sweep, executor: &Executor) -> Result<ExitCode> {
    let dir = args.out.as_ref().expect("clap wants it");
    OutDir::prepare(dir, args.force)?;
    stop::install_saying("ending; repeat the command to continue")?;
    let program = std::env::current_exe()
        .map_err(|e| Fault::system(format!("cannot find the program's own file: {e}"), "this is a bug"))?;
    let counter = Counter::new(sweep.nr_runs(), 0, !args.quiet);
    let loaded = crate::component::loaded();
    let parts = Away {
        sweep,
        spec: &args.spec,
        program: &program,
        options: &loaded,
        dir,
        shards: u64::from(args.shards).min(sweep.nr_runs()).max(1),
        jobs: args.jobs,
    }
    .run(executor, args.fresh, &counter);
    counter.finish();
    let Some(parts) = parts? else {
        note("interrupted: finished runs are kept");
        return Ok(ExitCode::from(1));
    };
    let rows = sweep.merge(&parts)?;
    finish(args, sweep, &rows)
}

/// `--merge`: the results of several machines, as if one had made them.
fn merge(args: &SweepArgs, sweep: &Sweep) -> Result<ExitCode> {
    if let Some(dir) = &args.out {
        OutDir::prepare(dir, args.force)?;
    }
    let rows = sweep.merge(&args.merge)?;
    let all = sweep.nr_runs();
    let missing: Vec<u64> = (0..all).filter(|run| !rows.contains_key(run)).collect();
    if let Some(first) = missing.first() {
        let (values, seed) = sweep.run_of(*first);
        return Err(Fault::system(
            format!(
                "{} of {} missing, the first is run {first}: {}, seed {seed}",
                missing.len(),
                plural(all, "run"),
                values.join(", ")
            ),
            "run the missing shards (finished runs are kept), then merge again",
        ));
    }
    finish(args, sweep, &rows)
}

fn show_warnings(sweep: &Sweep, warnings: &BTreeMap<String, u64>) {
    let say = |(text, run): (&String, &u64)| {
        let (values, seed) = sweep.run_of(*run);
        format!("{}, seed {seed}: {text}", values.join(", "))
    };
    let mut lines: Vec<String> = warnings.iter().take(WARNINGS).map(say).collect();
    if warnings.len() > WARNINGS {
        lines.push(format!("{} more warnings are not shown", warnings.len() - WARNINGS));
    }
    warn(lines.iter());
}

/// `--dry-run`.
fn list(sweep: &Sweep, shard: Shard, as_json: bool) -> Result<ExitCode> {
    let (all, spec) = (sweep.nr_runs(), sweep.spec());
    let runs = || (0..all).filter(|run| shard.has(*run));
    let headings: Vec<&str> = spec.axes.iter().map(|a| a.column.as_str()).collect();
    if as_json {
        let run = |run: u64| {
            let (values, seed) = sweep.run_of(run);
            let mut object: serde_json::Map<String, serde_json::Value> =
                headings.iter().zip(values).map(|(h, v)| (h.to_string(), v.into())).collect();
            object.insert("run".into(), run.into());
            object.insert("seed".into(), seed.into());
            object
        };
        print(&json(&runs().map(run).collect::<Vec<_>>())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("run,{},seed\n", headings.join(","));
    for run in runs() {
        let (values, seed) = sweep.run_of(run);
        let _ = writeln!(text, "{run},{},{seed}", fields(&values));
        if text.len() > 1 << 20 {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    let part = match runs().count() as u64 {
        n if n == all => String::new(),
        n => format!("{} in shard {} of {}, out of ", plural(n, "run"), shard.index + 1, shard.of),
    };
    let (points, seeds) = (spec.nr_points(), spec.seeds.len());
    note(&format!(
        "{part}{}: {} with {} each; none was made (--dry-run)",
        plural(all, "run"),
        plural(points as u64, "grid point"),
        plural(seeds as u64, "seed")
    ));
    Ok(ExitCode::SUCCESS)
}

/// Write and print what a complete sweep found.
fn finish(args: &SweepArgs, sweep: &Sweep, rows: &BTreeMap<u64, Row>) -> Result<ExitCode> {
    if let Some(dir) = &args.out {
        let out = OutDir::prepare(dir, true)?;
        sweep.write(rows, &out)?;
        let shown = ["sweep.html", "results.csv", "summary.csv"].map(|n| out.shown(n)).join("  ");
        out.commit()?;
        if !args.quiet {
            note(&format!("written: {shown}"));
        }
    }
    if args.json {
        print(&json(&sweep.report(rows))?)?;
    } else if !args.quiet {
        print(&sweep.report(rows).table(&screen()))?;
    }
    Ok(ExitCode::SUCCESS)
}
