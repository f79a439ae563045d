// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir sweep`: grids of parameters and seeds, on all cores, resumable.

mod grid;
mod journal;
mod range;
mod spec;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use clap::ValueHint;
use clap::builder::NonEmptyStringValueParser as Text;
use rayon::prelude::*;
use weir_report::{Ratio, SweepAxis, SweepPoint, SweepReport, csv_field};

use crate::columns::COLUMNS;
use crate::fault::{Fault, Result};
use crate::outdir::OutDir;
use crate::output::{json, note, print};
use crate::progress::Counter;
use crate::session::{Brief, warn};
use crate::{input, machine, stop};
use grid::Grid;
use journal::Journal;
use spec::Spec;

/// Numbers of the workload that precede those of [`COLUMNS`] in a row.
const LOAD: [&str; 3] = ["tasks", "utilization_ppm", "density_ppm"];
/// Place of the misses in a row.
const MISSES: usize = LOAD.len() + 3;
/// The numbers of a run.
pub type Row = [u64; LOAD.len() + COLUMNS.len()];

/// Different warnings that are shown.
const WARNINGS: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir sweep grid.toml --dry-run          list the runs
  runweir sweep grid.toml --out results      run them on all cores
  runweir sweep grid.toml --out results      the same again: resume after an interruption

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
    /// Let --out write into a folder with other files, which are kept
    #[arg(long, requires = "out")]
    pub force: bool,
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
    let text = input::read_text(&args.spec)?;
    let columns: Vec<&str> = LOAD.into_iter().chain(COLUMNS.map(|c| c.0)).collect();
    let spec = Spec::parse(&args.spec, &text, &columns).map_err(machine::fault)?;
    let grid = Grid::build(&spec)?;
    if args.dry_run {
        return list(&spec, args.json);
    }
    let all = spec.nr_points() as u64 * spec.seeds.len() as u64;
    let mut done: BTreeMap<u64, Row> = BTreeMap::new();
    let mut journal = None;
    if let Some(dir) = &args.out {
        // Refuses a folder of others; what it prepares is dropped, nothing is written yet.
        OutDir::prepare(dir, args.force)?;
        let (opened, found) = Journal::open(dir, &grid.identity(&spec)?, args.fresh)?;
        journal = Some(opened);
        done.extend(found.into_iter().filter(|(run, _)| *run < all));
        if !done.is_empty() && !args.quiet {
            note(&format!("{} of {all} runs are there already; making the others", done.len()));
        }
    }
    stop::install_saying(match &args.out {
        Some(_) => "ending; the same command goes on from here",
        None => "ending without results: only a sweep with --out can go on later",
    })?;
    let missing: Vec<u64> = (0..all).filter(|run| !done.contains_key(run)).collect();
    let counter = Counter::new(all, done.len() as u64, !args.quiet);
    let rows = Mutex::new(done);
    let warnings = Mutex::new(BTreeMap::new());
    let one = |run: u64| -> Result<()> {
        if stop::requested() {
            return Ok(());
        }
        let (point, seed) = place(&spec, run);
        let Some(brief) = grid.run(&spec, point, seed)? else { return Ok(()) };
        let row = row(&brief);
        if let Some(journal) = &journal {
            journal.append(run, &row)?;
        }
        rows.lock().unwrap_or_else(PoisonError::into_inner).insert(run, row);
        let mut told = warnings.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in brief.warnings {
            let first: &mut u64 = told.entry(warning).or_insert(run);
            *first = run.min(*first);
        }
        counter.one();
        Ok(())
    };
    let threads = args.jobs.map_or(0, |j| j as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Fault::system(format!("cannot start threads: {e}"), "try --jobs 1"))?;
    let result = pool.install(|| missing.par_iter().try_for_each(|run| one(*run)));
    counter.finish();
    result?;
    let rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    if rows.len() < all as usize {
        note(&format!("interrupted: {} of {all} runs are done", rows.len()));
        return Ok(ExitCode::from(1));
    }
    if !args.quiet {
        show_warnings(&spec, &warnings.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    finish(args, &spec, &columns, &rows)
}

/// Grid point and seed of a run: the seeds of a point follow each other.
fn place(spec: &Spec, run: u64) -> (usize, u64) {
    let seeds = spec.seeds.len() as u64;
    ((run / seeds) as usize, spec.seeds[(run % seeds) as usize])
}

fn row(brief: &Brief) -> Row {
    let load = [brief.load.tasks, brief.load.utilization_ppm, brief.load.density_ppm];
    let mut row = Row::default();
    let values = load.into_iter().chain(COLUMNS.iter().map(|c| (c.1)(&brief.summary)));
    row.iter_mut().zip(values).for_each(|(cell, value)| *cell = value);
    row
}

fn show_warnings(spec: &Spec, warnings: &BTreeMap<String, u64>) {
    let say = |(text, run): (&String, &u64)| {
        let (point, seed) = place(spec, *run);
        format!("{}, seed {seed}: {text}", spec.values(point).join(", "))
    };
    let mut lines: Vec<String> = warnings.iter().take(WARNINGS).map(say).collect();
    if warnings.len() > WARNINGS {
        lines.push(format!("{} more warnings are not shown", warnings.len() - WARNINGS));
    }
    warn(lines.iter());
}

/// `--dry-run`.
fn list(spec: &Spec, as_json: bool) -> Result<ExitCode> {
    let all = spec.nr_points() as u64 * spec.seeds.len() as u64;
    let headings: Vec<&str> = spec.axes.iter().map(|a| a.column.as_str()).collect();
    if as_json {
        let run = |run: u64| {
            let (point, seed) = place(spec, run);
            let mut object: serde_json::Map<String, serde_json::Value> =
                headings.iter().zip(spec.values(point)).map(|(h, v)| (h.to_string(), v.into())).collect();
            object.insert("run".into(), run.into());
            object.insert("seed".into(), seed.into());
            object
        };
        print(&json(&(0..all).map(run).collect::<Vec<_>>())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("run,{},seed\n", headings.join(","));
    for run in 0..all {
        let (point, seed) = place(spec, run);
        let _ = writeln!(text, "{run},{},{seed}", fields(&spec.values(point)));
        if text.len() > 1 << 20 {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    note(&format!("{all} runs: {} grid points, {} seeds each", spec.nr_points(), spec.seeds.len()));
    Ok(ExitCode::SUCCESS)
}

fn fields(values: &[&str]) -> String {
    values.iter().map(|v| csv_field(v)).collect::<Vec<_>>().join(",")
}

/// Write and print what a complete sweep found.
fn finish(args: &SweepArgs, spec: &Spec, columns: &[&str], rows: &BTreeMap<u64, Row>) -> Result<ExitCode> {
    let report = report(spec, columns, rows);
    if let Some(dir) = &args.out {
        let out = OutDir::prepare(dir, true)?;
        out.write("results.csv", results(spec, columns, rows).as_bytes())?;
        out.write("summary.csv", report.csv().as_bytes())?;
        out.write("sweep.json", json(&report)?.as_bytes())?;
        for y in spec.plot.y.iter().filter(|_| spec.plot.x.is_some()) {
            out.write(&format!("{y}.svg"), report.svg(y).as_bytes())?;
        }
        out.write("sweep.html", report.html().as_bytes())?;
        let shown = ["sweep.html", "results.csv", "summary.csv"].map(|n| out.shown(n)).join("  ");
        out.commit()?;
        if !args.quiet {
            note(&format!("written: {shown}"));
        }
    }
    if args.json {
        print(&json(&report)?)?;
    } else if !args.quiet {
        print(&report.table())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `results.csv`: a line a run, in order of the grid.
fn results(spec: &Spec, columns: &[&str], rows: &BTreeMap<u64, Row>) -> String {
    let headings: Vec<&str> = spec.axes.iter().map(|a| a.column.as_str()).collect();
    let mut text = format!("{},seed,{}\n", headings.join(","), columns.join(","));
    for (run, row) in rows {
        let (point, seed) = place(spec, *run);
        let _ = write!(text, "{},{seed}", fields(&spec.values(point)));
        for value in row {
            let _ = write!(text, ",{value}");
        }
        text.push('\n');
    }
    text
}

/// Success ratios and means, point by point.
fn report(spec: &Spec, columns: &[&str], rows: &BTreeMap<u64, Row>) -> SweepReport {
    let seeds = spec.seeds.len() as u64;
    let point = |index: usize| {
        let first = index as u64 * seeds;
        let own: Vec<&Row> = rows.range(first..first + seeds).map(|r| r.1).collect();
        let good = own.iter().filter(|r| r[MISSES] == 0).count() as u64;
        let mean = |c: usize| weir_report::MeanCi::of(&own.iter().map(|r| r[c] as f64).collect::<Vec<_>>());
        SweepPoint {
            at: spec.point(index),
            success: Ratio::of(good, seeds),
            means: (0..columns.len()).map(mean).collect(),
        }
    };
    let axis = |a: &spec::Axis| SweepAxis { column: a.column.clone(), values: a.values.clone() };
    SweepReport {
        runweir: env!("CARGO_PKG_VERSION").into(),
        name: spec.name.clone(),
        description: spec.description.clone(),
        seeds,
        axes: spec.axes.iter().map(axis).collect(),
        columns: columns.iter().map(|c| c.to_string()).collect(),
        points: (0..spec.nr_points()).map(point).collect(),
        x: spec.plot.x.clone(),
        y: spec.plot.y.clone(),
    }
}
