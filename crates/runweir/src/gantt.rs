// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir gantt`: a run as a figure.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::gantt::{GanttOptions, gantt as draw};
use weir_report::picture::Format;

use crate::fault::{Fault, Result};
use crate::output::note;
use crate::paper::Paper;
use crate::units::{parse_duration, parse_span};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir run -t edf -m smp-2 -w app.toml -d 100ms --out results
  runweir gantt results -o schedule.pdf                    the whole run
  runweir gantt results --span 0..40ms -o schedule.svg     its first 40 ms
  runweir gantt results --group web -o schedule.tex        TikZ, for LaTeX
  runweir gantt results --play 10s -o moving.svg           from left to right in ten seconds, for a web page

A row is a task: bars where it ran, coloured by CPU, pale lines where it waited, arrows up for releases and down for
deadlines, red where a deadline was missed; a line where the scheduler was changed. The same run gives the same bytes.")]
pub struct GanttArgs {
    /// Folder of `run --out` or `live --record`, or a recording that `import` reads
    #[arg(value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub dir: PathBuf,
    /// Part of the run: 10ms..50ms, 0..40ms, 2s..
    #[arg(long, value_name = "A..B", value_parser = parse_span)]
    pub span: Option<(u64, u64)>,
    /// Only tasks whose names begin with NAME (repeatable; in this order)
    #[arg(long, value_name = "NAME", value_parser = Text::new())]
    pub group: Vec<String>,
    /// Animate the figure: it appears from left to right within this time, repeatedly (.svg only)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub play: Option<u64>,
    /// File to write; its ending selects the format
    #[arg(short, long, value_name = "F.svg|F.pdf|F.tex|F.png", required = true, value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Draw, write.
pub fn gantt(args: &GanttArgs) -> Result<ExitCode> {
    let paper = Paper::of(&args.output)?;
    if args.play.is_some() && paper != Paper::Drawn(Format::Svg) {
        return Err(Fault::user(
            format!("--play: nothing moves in `{}`", args.output.display()),
            "write an .svg, or leave --play out",
        ));
    }
    let options = GanttOptions {
        dir: args.dir.clone(),
        span_ns: args.span,
        groups: args.group.clone(),
        play: args.play.map(|ns| ns as f64 / 1e9),
    };
    paper.write(&draw(&options)?, &args.output)?;
    if !args.quiet {
        note(&format!("written: {}", args.output.display()));
    }
    Ok(ExitCode::SUCCESS)
}
