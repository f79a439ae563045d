// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir shrink`: a failing run made small.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::{OutDir, ShrinkOptions};

use crate::args::{Setting, parse_seed};
use crate::fault::Result;
use crate::output::{json, note, print, say};
use crate::progress::Progress;
use crate::stop;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir shrink -t my.weir -m smp-8 -w app.toml -d 1s --fails \"totals.deadline_misses > 0\" --out small
  runweir shrink -t my.weir -m smp-4 -w hackbench:groups=10 --fails \"faults > 0\" --out small

Metrics are those of summary.json by their paths, as in docs/guard.md; `faults`, `crash` and `warnings` count. The folder gets
app.toml, topology.weir and shrink.json with the command that repeats the failure. Ctrl-C ends with the smallest found so far.")]
pub struct ShrinkArgs {
    /// Scheduler: a catalogue name or a .weir file
    #[arg(short, long, value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: String,
    #[command(flatten)]
    pub setting: Setting,
    /// Seed of the failing run
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// What makes it a failure: METRIC OP VALUE
    #[arg(long, value_name = "CONDITION", value_parser = Text::new())]
    pub fails: String,
    /// Write the small run into this folder, which must be new, empty or have earlier results
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Let --out write into a folder that has other files; they are kept
    #[arg(long)]
    pub force: bool,
    /// Print the sizes as JSON
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Shrink, write the files, print the sizes.
pub fn shrink(args: &ShrinkArgs) -> Result<ExitCode> {
    let out = OutDir::prepare(&args.out, args.force)?;
    stop::install()?;
    let progress = Progress::new(1, false, !args.quiet);
    let done = weir::shrink(
        &ShrinkOptions {
            setting: args.setting.clone().into(),
            topology: args.topology.clone(),
            seed: args.seed,
            fails: args.fails.clone(),
        },
        &progress,
    );
    progress.finish();
    let done = done?;
    out.write("app.toml", done.workload.as_bytes())?;
    out.write("topology.weir", done.topology.as_bytes())?;
    let text = json(&done)?;
    out.write("shrink.json", text.as_bytes())?;
    let written = ["app.toml", "topology.weir", "shrink.json"].map(|n| out.shown(n)).join("  ");
    out.commit()?;
    if args.json {
        print(&text)?;
    } else if !args.quiet {
        say(&done.table())?;
    }
    if !args.quiet {
        note(&format!("written: {written}"));
    }
    Ok(if done.interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
