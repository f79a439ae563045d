// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir gang`: manifests of programs whose threads run at the same time.

use std::fmt::Write;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand, ValueHint};
use weir::gang::{Admission, GangOptions};
use weir_report::duration;

use crate::fault::Result;
use crate::output;

#[derive(Debug, Subcommand)]
pub enum GangCommand {
    /// Would a machine admit these manifests together, and where would their slots be?
    Check(CheckArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir gang check solver.manifest -m smp-16
  runweir gang check a.manifest b.manifest -m epyc-64 --cut --json

Programs come in the order of the files, on an empty machine. Exit status 2: a file is no manifest, or a
program is refused; the message says why and what to change. docs/gangs.md explains manifests.")]
pub struct CheckArgs {
    /// Manifests
    #[arg(required = true, value_name = "FILE", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub files: Vec<String>,
    /// Machine: a preset, an hwloc XML file, a TOML file, or `host`
    #[arg(short, long, value_name = "M", value_parser = Text::new(), default_value = "host", value_hint = ValueHint::FilePath)]
    pub machine: String,
    /// Where they do not fit, cut all execution times in equal proportion instead of refusing
    #[arg(long)]
    pub cut: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn gang(command: &GangCommand) -> Result<ExitCode> {
    match command {
        GangCommand::Check(args) => check(args),
    }
}

fn check(args: &CheckArgs) -> Result<ExitCode> {
    let options = GangOptions { files: args.files.clone(), machine: args.machine.clone(), cut: args.cut };
    let admission = weir::gang::admit(&options)?;
    let text = match args.json {
        true => weir::text::json(&admission)?,
        false => shown(&admission),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// CPUs as people write them: `0-3,8`.
fn list(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let shown: Vec<String> =
        runs.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    shown.join(",")
}

/// For a reader.
fn shown(a: &Admission) -> String {
    let mut out = String::new();
    for g in &a.gangs {
        let cut = match g.scale {
            1000 => String::new(),
            scale => format!(", cut to {:.1} %", f64::from(scale) / 10.0),
        };
        let between = if g.waits { "; members wait between slots" } else { "" };
        let _ = writeln!(out, "{}: {} threads on CPUs {}{cut}{between}", g.name, g.threads, list(&g.cpus));
        for (i, p) in g.phases.iter().enumerate() {
            if p.length_ns == 0 {
                let _ = writeln!(out, "  phase {i}: best effort, priority {}", p.priority);
                continue;
            }
            let _ = writeln!(
                out,
                "  phase {i}: {} in each {}, at {} of the period; the first one {} after the request or later",
                duration(p.length_ns),
                duration(p.period_ns),
                duration(p.offset_ns),
                duration(p.release_ns)
            );
        }
    }
    let most = a.cpus.iter().map(|c| c.percent).fold(0.0, f64::max);
    let _ = writeln!(out, "{}: at most {most:.1} % of a CPU is booked; 10 % stay for best effort", a.machine);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_shown_as_ranges() {
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(list(&[]), "");
    }
}
