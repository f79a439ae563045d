// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir guard`: bounds on simulated results, for continuous integration.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::Guard;

use crate::fault::Result;
use crate::outdir::replace_file;
use crate::output::{json, print, screen, show};
use crate::progress::Counter;
use crate::stop;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir guard guard.toml
  runweir guard guard.toml --junit results.xml

guard.toml, for example (docs/guard.md has all keys):
  machine = \"smp-4\"
  workload = \"web\"
  duration = \"1s\"
  seeds = 3
  [[check]]
  topology = \"my.weir\"
  metric = \"groups.clients.wakeup_latency_ns.p99\"
  max = \"2ms\"
  [[check]]
  topology = \"my.weir\"
  base = \"git:main\"
  metric = \"totals.context_switches\"
  max_increase = \"5%\"

Exit status: 0 all checks pass, 1 one does not, 2 the specification is wrong. The same specification gives the same result.")]
pub struct GuardArgs {
    /// Specification, a TOML file
    #[arg(value_name = "SPEC.toml", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub spec: String,
    /// Write the result as JUnit XML, which CI systems show
    #[arg(long, value_name = "FILE.xml", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Treat settings of a workload that a topology ignores as errors, not warnings
    #[arg(long)]
    pub strict: bool,
    /// Print nothing; read the exit status
    #[arg(short, long)]
    pub quiet: bool,
}

/// Make the runs, judge them, print and write the verdicts.
pub fn guard(args: &GuardArgs) -> Result<ExitCode> {
    let guard = Guard::open(&args.spec, args.strict)?;
    stop::install()?;
    let counter = Counter::new(guard.nr_runs(), 0, !args.quiet);
    let result = guard.run(&counter);
    counter.finish();
    let result = result?;
    if !args.quiet {
        show(&result.warnings);
    }
    if let Some(path) = &args.junit {
        replace_file(path, result.junit().as_bytes())?;
    }
    if args.json {
        print(&json(&result)?)?;
    } else if !args.quiet {
        print(&result.table(&screen()))?;
    }
    Ok(if result.passed { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
