// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir run`.

use std::process::ExitCode;

use crate::args::RunArgs;
use crate::fault::Result;
use crate::outdir::OutDir;
use crate::output::{note, print};
use crate::progress::Progress;
use crate::session::{Session, warn};
use crate::{simso, stop};

/// Run once, write and print the results.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let options = &args.output;
    let mut session = Session::open(&args.setting, args.seed, options.quiet)?;
    session.checks = args.checks;
    let topology = match &args.topology {
        Some(name) => name.clone(),
        None => simso::topology(session.workload.simso.as_ref())?.to_string(),
    };
    let candidate = session.candidate(&topology, options.quiet)?;
    let out = options.out.as_deref().map(|dir| OutDir::prepare(dir, options.force)).transpose()?;
    stop::install()?;
    let progress = Progress::new(1, session.is_bounded(), !options.quiet);
    let done = session.run(&candidate, args.seed, out.as_ref().map(|o| (o, "")), (&progress, 0));
    progress.finish();
    let done = done?;
    if !options.quiet {
        warn(done.warnings.iter());
    }
    let written = out.as_ref().map(|o| {
        let names = ["report.html", "trace.pftrace", "summary.json", "tasks.csv", "jobs.csv"];
        names.map(|n| o.shown(n)).join("  ")
    });
    if let Some(out) = out {
        out.commit()?;
    }
    if options.json {
        print(&done.summary.to_json())?;
    } else if !options.quiet {
        print(&weir_report::table(&done.summary))?;
    }
    if let Some(written) = written.filter(|_| !options.quiet) {
        note(&format!("written: {written}"));
    }
    Ok(if done.summary.interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
