// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir import`: a recording of a real machine as a workload.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::ImportOptions;
use weir::import::Mode;

use crate::fault::Result;
use crate::outdir::replace_file;
use crate::output::{json, note, print, screen, show};
use crate::progress::Progress;
use crate::stop;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perf sched record -- make -j8; runweir import perf.data -o compile.toml
  trace-cmd record -e sched_switch -e sched_waking -e sched_wakeup_new COMMAND; runweir import trace.dat --fit -o app.toml
  runweir import perf.data --requests nginx --no-fidelity    how long requests took, across threads
  runweir import results/ -o app.toml        a folder that `live --record` wrote
  runweir run -t edf -m smp-8 -w app.toml    what would another scheduler do to it?

FILE is perf.data, trace.dat (versions 6 and 7), text of ftrace, trace-cmd report or perf script, a Perfetto trace, or
trace.pftrace of runweir; the contents select the format. The table compares the recording with a replay of the
workload under `linux` on the recorded machine. Without -o only the table is printed.")]
pub struct ImportArgs {
    /// Recording, or a folder of `live --record`
    #[arg(value_name = "FILE", value_parser = Text::new(), value_hint = ValueHint::AnyPath)]
    pub file: String,
    /// Workload file to write (TOML)
    #[arg(short, long, value_name = "APP.toml", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Write every thread with each piece of work and each wait, as recorded (the default)
    #[arg(long, conflicts_with = "fit")]
    pub verbatim: bool,
    /// Write one task per group of similar threads, with fitted distributions
    #[arg(long)]
    pub fit: bool,
    /// Replace the names of threads by numbers
    #[arg(long)]
    pub anonymise: bool,
    /// The recorded machine, for capacities and clocks; default: equal CPUs, as many as the recording has
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Part of the recording: 0..2s, 500ms..
    #[arg(long, value_name = "FROM..TO", value_parser = parse_span)]
    pub span: Option<(u64, u64)>,
    /// The scheduler that was recorded, which the replay uses; default: linux
    #[arg(long, value_name = "T", value_parser = Text::new(), conflicts_with = "no_fidelity", value_hint = ValueHint::FilePath)]
    pub under: Option<String>,
    /// Costs of scheduling in the replay: recorded (default, with the recorded machine's context switch), or as for `run`
    #[arg(long, value_name = "recorded|default|zero|FILE", default_value = "recorded", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub costs: String,
    /// Do not replay the workload to compare it with the recording
    #[arg(long)]
    pub no_fidelity: bool,
    /// Also compare how long requests took: beginnings of thread names, first of threads that receive requests, then of threads that work on them
    #[arg(long, value_name = "NAME,…", value_parser = Text::new(), conflicts_with = "anonymise")]
    pub requests: Option<String>,
    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
    /// Treat settings of the workload that the replay's scheduler ignores as errors, not warnings
    #[arg(long, conflicts_with = "no_fidelity")]
    pub strict: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

fn parse_span(text: &str) -> std::result::Result<(u64, u64), String> {
    match crate::args::parse_part(text) {
        Ok(weir_report::Part::Span(from, to)) => Ok((from, to)),
        Ok(_) => Err("write two times: 0..2s".into()),
        Err(e) => Err(e),
    }
}

/// Import, write the workload, print the table.
pub fn import(args: &ImportArgs) -> Result<ExitCode> {
    stop::install()?;
    let progress = Progress::new(1, true, !args.quiet);
    let done = weir::import(
        &ImportOptions {
            file: args.file.clone(),
            mode: if args.fit { Mode::Fit } else { Mode::Verbatim },
            anonymise: args.anonymise,
            machine: args.machine.clone(),
            span: args.span,
            fidelity: !args.no_fidelity,
            under: args.under.clone(),
            costs: args.costs.clone(),
            strict: args.strict,
            requests: args.requests.as_deref().map(weir::Told::wakeups).transpose()?,
        },
        &progress,
    );
    progress.finish();
    let done = done?;
    if let Some(fidelity) = done.fidelity.as_ref().filter(|_| !args.quiet) {
        show(&weir::ignored::warnings(&fidelity.ignored));
    }
    if let Some(path) = &args.output {
        replace_file(path, done.text.as_bytes())?;
    }
    if args.json {
        print(&json(&done)?)?;
    } else if !args.quiet {
        print(&done.table(&screen()))?;
    }
    if let Some(path) = args.output.as_ref().filter(|_| !args.quiet) {
        note(&format!("written: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
