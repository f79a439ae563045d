// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Grids of parameters and seeds, on all cores, resumable. `docs/sweep.md` describes the specification.

pub mod executor;
mod grid;
mod journal;
mod range;
pub mod spec;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use weir_report::{Ignored, Ratio, SweepAxis, SweepPoint, SweepReport, csv_field};

use crate::columns::COLUMNS;
use crate::fault::{Fault, Result};
use crate::outdir::OutDir;
use crate::session::Brief;
use crate::text::json;
use crate::watch::{Watch, pool};
use crate::{input, machine};
use grid::Grid;
pub use journal::Journal;
use spec::Spec;

/// Numbers of the workload that precede those of [`COLUMNS`] in a row.
const LOAD: [&str; 3] = ["tasks", "utilization_ppm", "density_ppm"];
/// Place of the misses in a row.
const MISSES: usize = LOAD.len() + 3;
/// The numbers of a run.
pub type Row = [u64; LOAD.len() + COLUMNS.len()];

/// A sweep with everything looked up.
pub struct Sweep {
    spec: Spec,
    grid: Grid,
    columns: Vec<&'static str>,
}

/// A part of a sweep: every `of`-th run, beginning with run `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u64,
    pub of: u64,
}

impl Shard {
    /// The whole sweep.
    pub const ALL: Shard = Shard { index: 0, of: 1 };

    /// `3/64`: the third of 64.
    ///
    /// # Errors
    /// The text is of another form; the error says which.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(k, n)| Some((k.parse::<u64>().ok()?, n.parse::<u64>().ok()?)));
        match parts {
            Some((k, of)) if k >= 1 && k <= of && of <= 1_000_000 => Ok(Self { index: k - 1, of }),
            Some((k, of)) if k == 0 && of > 0 => {
                Err(format!("shards are counted from 1: 1/{of} to {of}/{of}"))
            }
            Some((_, of)) => Err(format!("there are only {of} shards, of at most 1000000")),
            None => Err("write which of how many, for example 3/64".into()),
        }
    }

    /// The run belongs to this part.
    pub fn has(&self, run: u64) -> bool {
        run % self.of == self.index
    }
}

/// The result of a sweep.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SweepResult {
    /// The numbers of each finished run, by its number.
    pub rows: BTreeMap<u64, Row>,
    /// Remarks for the user, each with the first run concerned.
    pub warnings: BTreeMap<String, u64>,
}

impl Sweep {
    /// Read the specification in `file`, and check it with the first seed.
    ///
    /// # Errors
    /// The user's: the specification is wrong, or one of its points is.
    pub fn open(file: &str) -> Result<Self> {
        let text = input::read_text(file)?;
        let columns: Vec<&str> = LOAD.into_iter().chain(COLUMNS.map(|c| c.0)).collect();
        let spec = Spec::parse(file, &text, &columns).map_err(machine::fault)?;
        let grid = Grid::build(&spec)?;
        Ok(Self { spec, grid, columns })
    }

    /// The user's request.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What workloads ask for and topologies do not obey, with the first seed; each once.
    pub fn ignored(&self) -> &[Ignored] {
        &self.grid.ignored
    }

    /// Number of runs: grid points times seeds.
    pub fn nr_runs(&self) -> u64 {
        self.spec.nr_points() as u64 * self.spec.seeds.len() as u64
    }

    /// Values of the axes and seed of a run. The seeds of a point follow each other.
    pub fn run_of(&self, run: u64) -> (Vec<&str>, u64) {
        let (point, seed) = place(&self.spec, run);
        (self.spec.values(point), seed)
    }

    /// Open the journal in a folder of results: it keeps the finished runs, so that a sweep can continue after it was ended.
    /// `fresh` throws away what an earlier sweep has left. Also returns the runs that are done already.
    ///
    /// # Errors
    /// The user's, where the journal is another sweep's or is in use; the system's, where it cannot be written.
    pub fn journal(&self, dir: &Path, fresh: bool) -> Result<(Journal, BTreeMap<u64, Row>)> {
        let (journal, found) = Journal::open(dir, &self.grid.identity(&self.spec)?, fresh)?;
        let all = self.nr_runs();
        Ok((journal, found.into_iter().filter(|(run, _)| *run < all).collect()))
    }

    /// The runs that several machines made, out of the folders that they wrote. Runs that are in several of them must be equal.
    ///
    /// # Errors
    /// The user's: a folder holds no runs of this sweep, or two folders contradict each other.
    pub fn merge(&self, dirs: &[PathBuf]) -> Result<BTreeMap<u64, Row>> {
        let identity = self.grid.identity(&self.spec)?;
        let all = self.nr_runs();
        let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
        let mut from: BTreeMap<u64, &PathBuf> = BTreeMap::new();
        for dir in dirs {
            for (run, row) in Journal::peek(dir, &identity)? {
                if run >= all {
                    return Err(Fault::user(
                        format!("{} has run {run}, and the sweep only {all}", dir.display()),
                        "make that shard again into a new folder, and name that instead",
                    ));
                }
                match rows.insert(run, row) {
                    Some(other) if other != row => {
                        let (values, seed) = self.run_of(run);
                        return Err(Fault::user(
                            format!(
                                "{} and {} have different results of run {run} ({}, seed {seed})",
                                from[&run].display(),
                                dir.display(),
                                values.join(", ")
                            ),
                            "one of the machines has other components loaded or another build: make that shard again into a new folder, and name that instead",
                        ));
                    }
                    _ => drop(from.insert(run, dir)),
                }
            }
        }
        Ok(rows)
    }

    /// Make the runs that are not in `done`, and note each in the journal. Without an error and with fewer rows than
    /// [`Sweep::nr_runs`] the caller has ended it.
    ///
    /// # Errors
    /// A policy did something that no scheduler may, or the journal cannot be written.
    pub fn run(
        &self,
        jobs: Option<u32>,
        journal: Option<&Journal>,
        done: BTreeMap<u64, Row>,
        watch: &dyn Watch,
    ) -> Result<SweepResult> {
        self.run_shard(Shard::ALL, jobs, journal, done, watch)
    }

    /// The same for a part of the runs.
    ///
    /// # Errors
    /// As [`Sweep::run`].
    pub fn run_shard(
        &self,
        shard: Shard,
        jobs: Option<u32>,
        journal: Option<&Journal>,
        done: BTreeMap<u64, Row>,
        watch: &dyn Watch,
    ) -> Result<SweepResult> {
        let wanted = (0..self.nr_runs()).filter(|run| shard.has(*run) && !done.contains_key(run));
        let missing: Vec<u64> = wanted.collect();
        let result = Mutex::new(SweepResult { rows: done, warnings: BTreeMap::new() });
        let one = |run: u64| -> Result<()> {
            if watch.stopped() {
                return Ok(());
            }
            let (point, seed) = place(&self.spec, run);
            let Some(brief) = self.grid.run(&self.spec, point, seed, watch)? else { return Ok(()) };
            let row = row(&brief);
            if let Some(journal) = journal {
                journal.append(run, &row)?;
            }
            let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
            result.rows.insert(run, row);
            for warning in brief.warnings {
                let first = result.warnings.entry(warning).or_insert(run);
                *first = run.min(*first);
            }
            watch.one();
            Ok(())
        };
        pool(jobs)?.install(|| missing.par_iter().try_for_each(|run| one(*run)))?;
        Ok(result.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Success ratios and means, point by point. Missing runs count as if they had not been asked for.
    pub fn report(&self, rows: &BTreeMap<u64, Row>) -> SweepReport {
        SweepReport { ignored: self.grid.ignored.clone(), ..report(&self.spec, &self.columns, rows) }
    }

    /// Write `results.csv`, `summary.csv`, `sweep.json`, `sweep.html` and a picture for each `y` of the specification.
    ///
    /// # Errors
    /// The system's: a file cannot be written.
    pub fn write(&self, rows: &BTreeMap<u64, Row>, out: &OutDir) -> Result<()> {
        let report = self.report(rows);
        out.write("results.csv", results(&self.spec, &self.columns, rows).as_bytes())?;
        out.write("summary.csv", report.csv().as_bytes())?;
        out.write("sweep.json", json(&report)?.as_bytes())?;
        for y in self.spec.plot.y.iter().filter(|_| self.spec.plot.x.is_some()) {
            out.write(&format!("{y}.svg"), report.svg(y).as_bytes())?;
        }
        out.write("sweep.html", report.html().as_bytes())
    }
}

/// Make all runs of the specification in `file`. A sweep that the caller has ended reports what it has.
///
/// # Errors
/// As [`Sweep::open`] and [`Sweep::run`].
pub fn sweep(file: &str, jobs: Option<u32>, watch: &dyn Watch) -> Result<SweepReport> {
    let sweep = Sweep::open(file)?;
    watch.more(sweep.nr_runs());
    let result = sweep.run(jobs, None, BTreeMap::new(), watch)?;
    Ok(sweep.report(&result.rows))
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

/// Values of a line of CSV.
pub fn fields(values: &[&str]) -> String {
    values.iter().map(|v| csv_field(v)).collect::<Vec<_>>().join(",")
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
            success: Ratio::of(good, own.len() as u64),
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
        ignored: Vec::new(),
    }
}
