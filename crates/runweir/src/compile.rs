// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir compile`: a topology for a machine as a flat plan.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir_core::{Plan, Setting};

use crate::args::one;
use crate::fault::{Fault, Result};
use crate::outdir::replace_file;
use crate::{machine, output, topology};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir compile priority -m smp-2 -o priority.plan
  runweir compile my.weir -m host --set round_robin.slice=5ms -o my.plan

C programs load the plan: libweir_threads (docs/threads.md) and other runtimes without the
language. It fits any machine with the same number of CPUs; docs/plan-files.md describes the format.")]
pub struct CompileArgs {
    /// Catalogue name or .weir file; - reads stdin
    #[arg(required_unless_present = "named", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// The same as an option
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), conflicts_with = "topology", value_hint = ValueHint::FilePath)]
    pub named: Option<String>,
    /// Machine to compile for: a preset, an hwloc XML file, a TOML file, or `host`
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: String,
    /// File to write
    #[arg(short, long, value_name = "T.plan", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Merge a package, a catalogue name or a file, at a port of the topology (repeatable)
    #[arg(long, value_name = "PACKAGE@PORT", value_parser = Text::new())]
    pub with: Vec<String>,
    /// Print errors only: no warnings
    #[arg(short, long)]
    pub quiet: bool,
}

/// Compile and write.
pub fn compile(args: &CompileArgs) -> Result<ExitCode> {
    let machine = machine::resolve(&args.machine)?;
    let bytes = plan_bytes(
        &one(args.topology.as_ref(), args.named.as_ref()),
        &machine.shape,
        &topology::parse_sets(&args.set)?,
        &args.with,
        args.quiet,
    )?;
    replace_file(&args.output, &bytes)?;
    Ok(ExitCode::SUCCESS)
}

/// The flat plan of the topology called `name`.
pub fn plan_bytes(
    name: &str,
    shape: &weir_core::MachineShape,
    sets: &[weir_lang::Set],
    with: &[String],
    quiet: bool,
) -> Result<Vec<u8>> {
    flat(name, &plan(name, shape, sets, with, quiet)?)
}

/// Its plan.
pub fn plan(
    name: &str,
    shape: &weir_core::MachineShape,
    sets: &[weir_lang::Set],
    with: &[String],
    quiet: bool,
) -> Result<Plan> {
    let source = topology::source(name)?;
    let compiled = topology::compile_with(&source, shape, sets, with)?;
    if !quiet {
        output::show(&compiled.warnings.iter().map(topology::diag).collect::<Vec<_>>());
    }
    Ok(compiled.plan)
}

/// What a program may ask of Linux's scheduler that the topology does not obey, as runtimes read it. A thread's policy and its set of CPUs
/// do not reach the topology: only its nice value and priority do.
fn ignores(plan: &Plan) -> String {
    let name = &plan.name;
    let mut lines = String::new();
    let asked = [
        ("nice", Setting::Nice),
        ("priority", Setting::Priority),
        ("weight", Setting::Weight),
        ("group", Setting::GroupWeight),
        ("fifo", Setting::Fifo),
    ];
    for (kind, setting) in asked {
        if let [one, ..] = &weir::ignored::of_program(plan, &[setting])[..] {
            lines += &format!("{kind}={}\n", weir::ignored::sentence(one));
        }
    }
    let passed = [
        ("rr", "SCHED_RR"),
        ("batch", "SCHED_BATCH"),
        ("idle", "SCHED_IDLE"),
        ("deadline", "SCHED_DEADLINE"),
    ];
    for (kind, what) in passed {
        lines += &format!(
            "{kind}=`{name}` ignores {what}: of a thread's policy in Linux only its priority is passed on\n"
        );
    }
    lines + &format!("cpus=`{name}` ignores affinities: it places threads itself\n")
}

/// The plan of the topology called `name`, as bytes.
pub fn flat(name: &str, plan: &Plan) -> Result<Vec<u8>> {
    weir_core::planfile::flat(plan, &ignores(plan)).map_err(|e| {
        Fault::user(
            format!("`{name}` cannot become a flat plan: {}", e.message),
            "C runtimes have the components of the catalogue that are written in C; use those",
        )
    })
}
