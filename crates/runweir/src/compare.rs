// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir compare`: several schedulers, one workload, all cores of this computer.

use std::fmt::Write as _;
use std::process::ExitCode;

use rayon::prelude::*;
use serde::Serialize;
use weir_report::{CompareExtras, Summary, csv_field};

use crate::args::CompareArgs;
use crate::columns::{COLUMNS, headings};
use crate::fault::{Blame, Fault, Result};
use crate::outdir::OutDir;
use crate::output::{json, note, print, show};
use crate::progress::Progress;
use crate::session::{Candidate, Done, Session, crashed, faulted, warn};
use crate::stop;

/// `compare.json`: the runs of each topology, seed by seed, in the order of the command line.
#[derive(Clone, Serialize)]
struct Comparison<'a> {
    runweir: &'static str,
    machine: &'a str,
    workload: &'a str,
    topologies: Vec<&'a str>,
    seeds: Vec<u64>,
    interrupted: bool,
    runs: &'a [Summary],
}

/// Run every topology with every seed; print and write the comparison.
pub fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let options = &args.output;
    let topologies: Vec<&String> = args.places.iter().chain(&args.topologies).collect();
    if topologies.len() == 1 && args.seeds == 1 {
        return Err(Fault::user(
            "there is nothing to compare one topology with",
            "name at least two: -t central -t decentral; or several seeds: --seeds 10",
        ));
    }
    let seeds: Vec<u64> = (0..u64::from(args.seeds)).map_while(|i| args.seed.checked_add(i)).collect();
    if seeds.len() < args.seeds as usize {
        return Err(Fault::user("the seeds would exceed 64 bits", "begin with a smaller --seed"));
    }
    let mut session = Session::open(&args.setting, args.seed, options.quiet)?;
    session.part = options.trace;
    let mut candidates =
        topologies.iter().map(|t| session.candidate(t, options.quiet)).collect::<Result<Vec<_>>>()?;
    unique_names(&mut candidates);
    let out = options.out.as_deref().map(|dir| OutDir::prepare(dir, options.force)).transpose()?;
    stop::install()?;

    let jobs: Vec<(usize, u64)> =
        (0..candidates.len()).flat_map(|c| seeds.iter().map(move |s| (c, *s))).collect();
    let progress = Progress::new(jobs.len(), session.is_bounded(), !options.quiet);
    let one = |(index, (c, seed)): (usize, &(usize, u64))| -> Result<Option<Done>> {
        if stop::requested() {
            return Ok(None);
        }
        let folder = format!("{}/", candidates[*c].plan.name);
        let files = out.as_ref().filter(|_| *seed == args.seed).map(|o| (o, folder.as_str()));
        session.run(&candidates[*c], *seed, files, (&progress, index)).map(Some)
    };
    let threads = args.jobs.map_or(0, |j| j as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Fault::system(format!("cannot start threads: {e}"), "try --jobs 1"))?;
    let done: Vec<Result<Option<Done>>> = pool.install(|| jobs.par_iter().enumerate().map(one).collect());
    progress.finish();

    let (mut runs, mut timelines) = (Vec::new(), Vec::new());
    let mut interrupted = false;
    for result in done {
        let Some(done) = result? else {
            interrupted = true;
            continue;
        };
        interrupted |= done.summary.interrupted;
        if !options.quiet {
            let place = format!("{}, seed {}: ", done.summary.topology, done.summary.seed);
            warn(done.warnings.iter().map(|w| place.clone() + w).collect::<Vec<_>>().iter());
        }
        runs.push(done.summary);
        timelines.push(done.timeline);
    }
    let comparison = Comparison {
        runweir: env!("CARGO_PKG_VERSION"),
        machine: &session.machine.shape.name,
        workload: &session.workload.name,
        topologies: candidates.iter().map(|c| c.plan.name.as_str()).collect(),
        seeds,
        interrupted,
        runs: &[],
    };
    let mut written = None;
    if let Some(out) = out {
        // Files are the same for the same seeds: the time that runs took here is not for them.
        let timeless: Vec<Summary> = runs.iter().cloned().map(|s| Summary { wall_ns: 0, ..s }).collect();
        let report = |s: &Summary| {
            if s.seed == args.seed { format!("{}/report.html", s.topology) } else { String::new() }
        };
        let extras = CompareExtras { reports: timeless.iter().map(report).collect(), timelines };
        out.write("compare.json", json(&Comparison { runs: &timeless, ..comparison.clone() })?.as_bytes())?;
        out.write("compare.csv", csv(&timeless).as_bytes())?;
        out.write("compare.html", weir_report::html_compare(&timeless, &extras).as_bytes())?;
        written = Some(out.shown("compare.html"));
        out.commit()?;
    }
    if options.json {
        print(&json(&Comparison { runs: &runs, ..comparison })?)?;
    } else if !options.quiet {
        print(&weir_report::compare_table(&runs))?;
        if interrupted {
            note("interrupted: the numbers cover what had happened by then");
        }
    }
    if let Some(written) = written.filter(|_| !options.quiet) {
        note(&format!("written: {written} and, for each topology, a folder beside it"));
    }
    if let Some(crash) = runs.iter().find_map(|s| s.crash.as_ref()) {
        return Err(crashed(crash));
    }
    let faults = faulted(runs.iter(), options.allow_faults);
    if !options.allow_faults && !faults.is_empty() {
        return Err(Fault { blame: Blame::System, diags: faults });
    }
    if !options.quiet {
        show(&faults);
    }
    Ok(if interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
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
