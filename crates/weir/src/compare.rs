// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Several schedulers, one workload, several seeds, all cores of this computer.

use std::fmt::Write as _;

use rayon::prelude::*;
use serde::Serialize;
use weir_report::{CompareExtras, Part, Screen, Summary, csv_field};

use crate::columns::{COLUMNS, headings};
use crate::fault::{Diag, Fault, Result};
use crate::ignored;
use crate::outdir::OutDir;
use crate::session::{Candidate, RunResult, Session, Setting};
use crate::text::json;
use crate::watch::{Watch, pool};

/// The inputs of the comparison.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    pub setting: Setting,
    /// Catalogue names or `.weir` files; the first is the baseline.
    pub topologies: Vec<String>,
    /// First seed.
    pub seed: u64,
    /// Runs of each topology, with seeds counted up from the first.
    pub seeds: u32,
    /// Parallel runs; `None`: one for each core of this computer.
    pub jobs: Option<u32>,
    /// What of the first seed's runs goes into traces, where files are written.
    pub trace: Part,
    /// Traces are compressed: `trace.pftrace.zst`.
    pub zstd: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            setting: Setting::default(),
            topologies: Vec::new(),
            seed: 1,
            seeds: 1,
            jobs: None,
            trace: Part::Full,
            zstd: false,
        }
    }
}

/// The runs of each topology, seed by seed, in the order of the options. As JSON it is `compare.json`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Version of the program.
    pub runweir: &'static str,
    pub machine: String,
    pub workload: String,
    pub topologies: Vec<String>,
    pub seeds: Vec<u64>,
    /// Ended before all runs were complete.
    pub interrupted: bool,
    pub runs: Vec<Summary>,
    /// Where the machine's time went over each run; empty for runs without files.
    #[serde(skip)]
    pub timelines: Vec<Vec<[u64; 3]>>,
    /// Remarks for the user about the runs.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// A comparison with everything looked up.
pub struct PreparedComparison {
    session: Session,
    candidates: Vec<Candidate>,
    seeds: Vec<u64>,
    jobs: Option<u32>,
}

impl PreparedComparison {
    /// Read and compile everything.
    ///
    /// # Errors
    /// The user's: something is missing, unknown or wrong, or there is nothing to compare.
    pub fn new(options: &CompareOptions) -> Result<Self> {
        if options.topologies.is_empty() || options.seeds == 0 {
            return Err(Fault::user(
                "there is nothing to compare",
                "name two topologies and at least one seed",
            ));
        }
        if options.topologies.len() == 1 && options.seeds == 1 {
            return Err(Fault::user(
                "there is nothing to compare one topology with",
                "name at least two, such as `central` and `decentral`, or several seeds: --seeds 10",
            ));
        }
        let seeds: Vec<u64> =
            (0..u64::from(options.seeds)).map_while(|i| options.seed.checked_add(i)).collect();
        if seeds.len() < options.seeds as usize {
            return Err(Fault::user("the seeds would exceed 64 bits", "begin with a smaller --seed"));
        }
        let mut session = Session::open(&options.setting, options.seed)?;
        session.part = options.trace;
        session.zstd = options.zstd;
        let mut candidates =
            options.topologies.iter().map(|t| session.candidate(t)).collect::<Result<Vec<_>>>()?;
        unique_names(&mut candidates);
        Ok(Self { session, candidates, seeds, jobs: options.jobs })
    }

    /// Remarks for the user about machine, workload and topologies.
    pub fn warnings(&self) -> Vec<Diag> {
        let of_inputs = self.session.warnings.iter().map(Diag::warning);
        let of_topology = |c: &Candidate| {
            c.warnings.iter().cloned().chain(ignored::warnings(&c.ignored)).collect::<Vec<_>>()
        };
        of_inputs.chain(self.candidates.iter().flat_map(of_topology)).collect()
    }

    /// Number of runs.
    pub fn nr_runs(&self) -> usize {
        self.candidates.len() * self.seeds.len()
    }

    /// True where the end of the runs is a known time.
    pub fn is_bounded(&self) -> bool {
        self.session.is_bounded()
    }

    /// Make all runs. With `out`, trace and reports of the first seed's runs are written into a folder of it for each
    /// topology; [`Comparison::write`] writes what covers them all, and the caller commits.
    ///
    /// # Errors
    /// A policy did something that no scheduler may, or a file cannot be written.
    pub fn run(&self, out: Option<&OutDir>, watch: &dyn Watch) -> Result<Comparison> {
        let jobs: Vec<(usize, u64)> =
            (0..self.candidates.len()).flat_map(|c| self.seeds.iter().map(move |s| (c, *s))).collect();
        let one = |(index, (c, seed)): (usize, &(usize, u64))| -> Result<Option<RunResult>> {
            if watch.stopped() {
                return Ok(None);
            }
            let folder = format!("{}/", self.candidates[*c].plan.name);
            let files = out.filter(|_| *seed == self.seeds[0]).map(|o| (o, folder.as_str()));
            self.session.run(&self.candidates[*c], *seed, files, (watch, index)).map(Some)
        };
        let done: Vec<Result<Option<RunResult>>> =
            pool(self.jobs)?.install(|| jobs.par_iter().enumerate().map(one).collect());
        let mut all = Comparison {
            runweir: env!("CARGO_PKG_VERSION"),
            machine: self.session.machine.shape.name.clone(),
            workload: self.session.workload.name.clone(),
            topologies: self.candidates.iter().map(|c| c.plan.name.clone()).collect(),
            seeds: self.seeds.clone(),
            interrupted: false,
            runs: Vec::new(),
            timelines: Vec::new(),
            warnings: Vec::new(),
        };
        for result in done {
            let Some(done) = result? else {
                all.interrupted = true;
                continue;
            };
            all.interrupted |= done.summary.interrupted;
            let place = format!("{}, seed {}: ", done.summary.topology, done.summary.seed);
            all.warnings.extend(done.warnings.iter().map(|w| place.clone() + w));
            all.runs.push(done.summary);
            all.timelines.push(done.timeline);
        }
        Ok(all)
    }
}

impl Comparison {
    /// Write `compare.json`, `compare.csv` and `compare.html`.
    ///
    /// # Errors
    /// The system's: a file cannot be written.
    pub fn write(&self, out: &OutDir) -> Result<()> {
        // Files are the same for the same seeds: the time that runs took here is not for them.
        let timeless = |s: &Summary| Summary { wall_ns: 0, ..s.clone() };
        let all = Self { runs: self.runs.iter().map(timeless).collect(), ..self.clone() };
        let report = |s: &Summary| match self.seeds.first() {
            Some(first) if s.seed == *first => format!("{}/report.html", s.topology),
            _ => String::new(),
        };
        let reports = all.runs.iter().map(report).collect();
        let extras = CompareExtras { reports, timelines: self.timelines.clone() };
        out.write("compare.json", json(&all)?.as_bytes())?;
        out.write("compare.csv", csv(&all.runs).as_bytes())?;
        out.write("compare.html", weir_report::html_compare(&all.runs, &extras).as_bytes())
    }

    /// The comparison as a figure for a paper.
    pub fn picture(&self) -> weir_report::picture::Picture {
        weir_report::compare_picture(&self.runs)
    }

    /// The comparison as a table for people.
    pub fn table(&self, screen: &Screen) -> String {
        weir_report::compare_table(&self.runs, screen)
    }
}

/// Run every topology with every seed.
///
/// # Errors
/// As [`PreparedComparison::new`] and [`PreparedComparison::run`].
pub fn compare(options: &CompareOptions, watch: &dyn Watch) -> Result<Comparison> {
    PreparedComparison::new(options)?.run(None, watch)
}

/// Topologies of one name (`central` and `./central.weir`) get numbers, for table and folders.
fn unique_names(candidates: &mut [Candidate]) {
    for i in 0..candidates.len() {
        let base = candidates[i].plan.name.clone();
        let mut name = base.clone();
        let mut number = 2;
        while candidates[..i].iter().any(|c| c.plan.name == name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        candidates[i].plan.name = name;
    }
}

/// A line for each run.
fn csv(runs: &[Summary]) -> String {
    let mut text = format!("topology,machine,workload,seed,{}\n", headings());
    for s in runs {
        let words = [&s.topology, &s.machine, &s.workload].map(|w| csv_field(w));
        let numbers = COLUMNS.map(|c| (c.1)(s).to_string());
        let _ = writeln!(text, "{},{},{}", words.join(","), s.seed, numbers.join(","));
    }
    text
}
