// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir run`.

use std::process::ExitCode;

use weir_report::Part;
use weir_sim::Control;

use crate::args::RunArgs;
use crate::fault::{Blame, Fault, Result};
use crate::outdir::OutDir;
use crate::output::{note, print, show};
use crate::progress::Progress;
use crate::session::{Session, crashed, faulted, warn};
use crate::{scenario, simso, stop};

/// Run once, write and print the results.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let options = &args.output;
    let found = args.scenario.as_deref().map(scenario::find).transpose()?;
    let file = found.as_ref().map(|f| &f.file);
    let mut setting = args.setting.clone();
    let beside =
        |name: &Option<String>| name.as_ref().map(|n| found.as_ref().map_or(n.clone(), |f| f.beside(n)));
    setting.machine = setting.machine.or_else(|| beside(&file?.machine));
    setting.workload = setting.workload.or_else(|| beside(&file?.workload));
    setting.duration = setting.duration.or_else(|| file?.duration_ns);
    let mut session = Session::open(&setting, args.seed, options.quiet)?;
    session.checks = args.checks;
    session.part = options.trace;
    let topology =
        match args.place.clone().or_else(|| args.topology.clone()).or_else(|| beside(&file?.topology)) {
            Some(name) => name,
            None => simso::topology(session.workload.simso.as_ref())?.to_string(),
        };
    let candidate = session.candidate(&topology, options.quiet)?;
    let scenario = scenario::join(session.workload.scenario.as_ref(), file.map(|f| &f.scenario));
    let folder = found.as_ref().map_or("", |f| f.folder.as_str());
    let workshop = session.workshop(&candidate, folder);
    if args.dry_run {
        let Some(scenario) = &scenario else {
            return Err(Fault::user(
                "there is no scenario to try",
                "add --scenario, or a workload that has one",
            ));
        };
        let (plan, quiet) = (&candidate.plan, options.quiet);
        return scenario::dry_run(scenario, &workshop, &session.machine.shape, plan, options.json, quiet);
    }
    let out = options.out.as_deref().map(|dir| OutDir::prepare(dir, options.force)).transpose()?;
    stop::install()?;
    let progress = Progress::new(1, session.is_bounded(), !options.quiet);
    let control = scenario.as_ref().map(|scenario| Control { scenario, composer: &workshop });
    let files = out.as_ref().map(|o| (o, ""));
    let done = session.run_with(&candidate, args.seed, files, (&progress, 0), control);
    progress.finish();
    let done = done?;
    if !options.quiet {
        warn(done.warnings.iter());
    }
    let written = out.as_ref().map(|o| {
        let names = ["report.html", "trace.pftrace", "summary.json", "tasks.csv", "jobs.csv", "wakeups.csv"];
        let written = names.iter().filter(|n| **n != "trace.pftrace" || options.trace != Part::None);
        written.map(|n| o.shown(n)).collect::<Vec<_>>().join("  ")
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
    if let Some(crash) = &done.summary.crash {
        return Err(crashed(crash));
    }
    let faults = faulted([&done.summary].into_iter(), options.allow_faults);
    if !options.allow_faults && !faults.is_empty() {
        return Err(Fault { blame: Blame::System, diags: faults });
    }
    if !options.quiet {
        show(&faults);
    }
    Ok(if done.summary.interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
