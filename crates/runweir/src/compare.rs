// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir compare`: several schedulers, one workload, all cores of this computer.

use std::process::ExitCode;

use weir::session::{crashed, denied, faulted, unfinished};
use weir::{CompareOptions, OutDir, PreparedComparison};

use crate::args::CompareArgs;
use crate::fault::{Blame, Fault, Result};
use crate::output::{json, note, print, screen, show, warn};
use crate::paper::Paper;
use crate::progress::Progress;
use crate::stop;

/// Run every topology with every seed; print and write the comparison.
pub fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let output = &args.output;
    let prepared = PreparedComparison::new(&CompareOptions {
        setting: args.setting.clone().into(),
        topologies: args.places.iter().chain(&args.topologies).cloned().collect(),
        seed: args.seed,
        seeds: args.seeds,
        jobs: args.jobs,
        trace: output.trace,
        zstd: output.zstd,
    })?;
    let plot = args.plot.as_deref().map(|p| Paper::of(p).map(|paper| (p, paper))).transpose()?;
    if !output.quiet {
        show(&prepared.warnings());
    }
    let out = output.out.as_deref().map(|dir| OutDir::prepare(dir, output.force)).transpose()?;
    stop::install()?;
    let progress = Progress::new(prepared.nr_runs(), prepared.is_bounded(), !output.quiet);
    let done = prepared.run(out.as_ref(), &progress);
    progress.finish();
    let done = done?;
    if !output.quiet {
        warn(done.warnings.iter());
    }
    if let Some((path, paper)) = plot {
        paper.write(&done.picture(), path)?;
    }
    let mut written = None;
    if let Some(out) = out {
        done.write(&out)?;
        written = Some(out.shown("compare.html"));
        out.commit()?;
    }
    if output.json {
        print(&json(&done)?)?;
    } else if !output.quiet {
        print(&done.table(&screen()))?;
        if done.interrupted {
            note("interrupted: the numbers cover what had happened by then");
        }
    }
    if let Some(written) = written.filter(|_| !output.quiet) {
        note(&format!("written: {written} and a folder per topology"));
    }
    if let Some(crash) = done.runs.iter().find_map(|s| s.crash.as_ref()) {
        return Err(crashed(crash));
    }
    let faults = faulted(done.runs.iter(), output.allow_faults);
    if !output.allow_faults && !faults.is_empty() {
        return Err(Fault { blame: Blame::System, diags: faults });
    }
    if !output.quiet {
        show(&faults);
    }
    // Faults that are allowed may leave work behind.
    if let Some(left) = unfinished(done.runs.iter()).filter(|_| faults.is_empty()) {
        return Err(left);
    }
    if let Some(denied) = denied(done.runs.iter(), args.setting.strict) {
        return Err(denied);
    }
    Ok(if done.interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
