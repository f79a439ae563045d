// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir run`.

use std::process::ExitCode;

use weir::scenario::{refused, show as tried};
use weir::session::{CALLS, crashed, denied, faulted, unfinished};
use weir::{OutDir, PreparedRun, RunOptions};
use weir_report::Part;

use crate::args::RunArgs;
use crate::fault::{Blame, Fault, Result};
use crate::output::{json, note, print, say, screen, show, warn};
use crate::progress::Progress;
use crate::stop;

/// Run once, write and print the results.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let output = &args.output;
    let prepared = PreparedRun::new(&RunOptions {
        setting: args.setting.clone().into(),
        topology: args.place.clone().or_else(|| args.topology.clone()),
        scenario: args.scenario.clone(),
        seed: args.seed,
        checks: args.checks,
        hw: args.hw.into(),
        trace: output.trace,
        zstd: output.zstd,
    })?;
    if !output.quiet {
        show(&prepared.warnings());
    }
    if args.dry_run {
        return dry_run(&prepared, output.json, output.quiet);
    }
    let out = output.out.as_deref().map(|dir| OutDir::prepare(dir, output.force)).transpose()?;
    stop::install()?;
    let progress = Progress::new(1, prepared.is_bounded(), !output.quiet);
    let done = prepared.run(out.as_ref(), &progress);
    progress.finish();
    let done = done?;
    if !output.quiet {
        warn(done.warnings.iter());
    }
    let written = out.as_ref().map(|o| {
        let trace = weir::trace_name(output.zstd);
        let names = ["report.html", trace, "summary.json", "tasks.csv", "jobs.csv", "wakeups.csv", CALLS];
        let written = names.iter().filter(|n| match **n {
            CALLS => done.summary.totals.scheduler_ns > 0,
            name => name != trace || output.trace != Part::None,
        });
        written.map(|n| o.shown(n)).collect::<Vec<_>>().join("  ")
    });
    if let Some(out) = out {
        out.commit()?;
    }
    if output.json {
        print(&done.summary.to_json())?;
    } else if !output.quiet {
        print(&weir_report::table(&done.summary, &screen()))?;
    }
    if let Some(written) = written.filter(|_| !output.quiet) {
        note(&format!("written: {written}"));
    }
    if let Some(crash) = &done.summary.crash {
        return Err(crashed(crash));
    }
    let faults = faulted([&done.summary].into_iter(), output.allow_faults);
    if !output.allow_faults && !faults.is_empty() {
        return Err(Fault { blame: Blame::System, diags: faults });
    }
    if !output.quiet {
        show(&faults);
    }
    // Faults that are allowed may leave work behind.
    if let Some(left) = unfinished([&done.summary].into_iter()).filter(|_| faults.is_empty()) {
        return Err(left);
    }
    if let Some(denied) = denied([&done.summary].into_iter(), args.setting.strict) {
        return Err(denied);
    }
    Ok(if done.summary.interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Try the scenario, and show what each transaction changes.
fn dry_run(prepared: &PreparedRun, as_json: bool, quiet: bool) -> Result<ExitCode> {
    let all = prepared.try_scenario()?;
    if as_json {
        print(&json(&all)?)?;
    } else if !quiet {
        say(&all.iter().map(tried).collect::<Vec<_>>().join("\n"))?;
    }
    refused(&all).map(|()| ExitCode::SUCCESS)
}
