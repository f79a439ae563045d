// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir tune`: search over topologies and parameters.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir::OutDir;
use weir::tune::{TuneResult, svg};
use weir_report::csv_field;

use crate::fault::Result;
use crate::output::{json, note, print, screen, show};
use crate::progress::Counter;
use crate::stop;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir tune tune.toml                    search, and print the front
  runweir tune tune.toml --out results      and write tune.json, trials.csv and pareto.svg

tune.toml, for example (docs/tune.md has all keys):
  machine = \"smp-8\"
  workload = \"app.toml\"
  topology = [\"linux\", \"worksteal\", \"decentral\"]     # the first is the baseline
  [[parameter]]
  name = \"round_robin.slice\"
  from = \"500us\"
  to = \"20ms\"
  scale = \"log\"
  [[objective]]
  metric = \"groups.web.response_ns.p99\"
  goal = \"min\"
  [[constraint]]
  metric = \"groups.batch.jobs_completed\"
  min = 100

The results are judged on seeds that the search did not use. Ctrl-C ends with the results so far.")]
pub struct TuneArgs {
    /// Specification, a TOML file
    #[arg(value_name = "SPEC.toml", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub spec: String,
    /// Number of parallel runs; default: all cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Write the results into this folder, which must be new, empty or have earlier results
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Let --out write into a folder that has other files; they are kept
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Treat settings of the workload that a topology ignores as errors, not warnings
    #[arg(long)]
    pub strict: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Search, write, print.
pub fn tune(args: &TuneArgs) -> Result<ExitCode> {
    let out = args.out.as_ref().map(|dir| OutDir::prepare(dir, args.force)).transpose()?;
    stop::install_saying("ending with the results so far")?;
    let counter = Counter::new(0, 0, !args.quiet);
    let result = weir::tune(&args.spec, args.strict, args.jobs, &counter);
    counter.finish();
    let result = result?;
    if !args.quiet {
        show(&result.warnings);
    }
    let text = json(&result)?;
    if let Some(out) = out {
        out.write("tune.json", text.as_bytes())?;
        out.write("trials.csv", csv(&result).as_bytes())?;
        out.write("pareto.svg", svg(&result).as_bytes())?;
        let written = ["tune.json", "trials.csv", "pareto.svg"].map(|n| out.shown(n)).join("  ");
        out.commit()?;
        if !args.quiet {
            note(&format!("written: {written}"));
        }
    }
    if args.json {
        print(&text)?;
    } else if !args.quiet {
        print(&result.table(&screen()))?;
    }
    Ok(if result.interrupted { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// A line a trial.
fn csv(result: &TuneResult) -> String {
    let mut out = String::from("trial,topology,set");
    for (metric, _) in &result.objectives {
        out += &format!(",{}", csv_field(metric));
    }
    for bound in &result.constraints {
        out += &format!(",{}", csv_field(bound));
    }
    out += ",feasible\n";
    for (i, t) in result.trials.iter().enumerate() {
        let _ = write!(out, "{i},{},{}", csv_field(&t.config.topology), csv_field(&t.config.set.join(" ")));
        for value in t.objectives.iter().chain(&t.constraints) {
            let _ = write!(out, ",{}", value.map_or(String::new(), |v| v.to_string()));
        }
        let _ = writeln!(out, ",{}", t.feasible);
    }
    out
}
