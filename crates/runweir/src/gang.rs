// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir gang` and `runweir phase`: programs whose threads run at the same time.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{ArgGroup, Args, Subcommand, ValueHint};
use serde::de::DeserializeOwned;
use weir::gang::{Admission, GangOptions};
use weir_core::CpuSet;
use weir_linux::client;
use weir_linux::protocol::{GangName, GangView, PhaseChanged, PhaseWish, Request};
use weir_report::duration;

use crate::fault::{Fault, Result};
use crate::output;
use crate::units::{parse_duration, plural};

mod launch;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  sudo runweir live gang                                                   in another terminal: a scheduler with slots
  sudo runweir gang solver --slot 40ms --period 80ms -- ./solver input     run a program as a gang
  sudo runweir gang solver --manifest solver.manifest --phase 1 -- ./solver
  sudo runweir gang solver -- ./solver                                     a gang that was admitted before
  runweir gang check a.manifest b.manifest -m smp-16                       would they fit?

All threads of the program, and of those that it starts, become members: in each period they get their CPUs at the
same time, for one slot. The program needs no changes. The gang leaves when the program ends. The exit status is the
program's; 2 if the manifest is wrong or the gang is refused. docs/gangs.md has more.")]
pub struct GangArgs {
    #[command(subcommand)]
    pub command: Option<GangCommand>,
    /// Name of the gang
    #[arg(required = true, value_name = "NAME", value_parser = Text::new())]
    pub name: Option<String>,
    /// Admit the gang first, with this manifest
    #[arg(long, value_name = "FILE", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub manifest: Option<String>,
    /// Admit the gang first, with slots of this length, and begin with them
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "period", conflicts_with = "manifest")]
    pub slot: Option<u64>,
    /// One slot in each period of this length
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "slot")]
    pub period: Option<u64>,
    /// Threads that meet; default: as many as there are CPUs
    #[arg(long, value_name = "N", requires = "slot", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Which threads share a core with a member in its slots: any (`shared`), only members (`whole`), or none, one thread
    /// per core (`one`)
    #[arg(long, value_name = "HOW", requires = "slot", value_parser = ["shared", "whole", "one"], default_value = "shared")]
    pub cores: String,
    /// Begin this phase of the manifest
    #[arg(long, value_name = "N", value_parser = parse_phase, conflicts_with = "slot")]
    pub phase: Option<u32>,
    /// If the gang does not fit, cut all gangs in equal proportion instead of refusing it
    #[arg(long)]
    pub cut: bool,
    /// Print a line about the gang's slots on stderr at the end
    #[arg(long)]
    pub stats: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub run: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub enum GangCommand {
    /// Check whether a machine admits these manifests together, and where their slots are
    Check(CheckArgs),
    /// Make running threads members of a gang
    Join(JoinArgs),
    /// List the gangs of the running scheduler
    List(ListArgs),
    /// Dissolve a gang; its program continues
    Leave(LeaveArgs),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("threads").required(true).args(["pid", "tid", "cgroup"]))]
#[command(after_help = "\
Examples:
  sudo runweir gang join inference --pid 4711
  sudo runweir gang join inference --cgroup system.slice/llama.service")]
pub struct JoinArgs {
    /// Name of the gang
    #[arg(value_name = "NAME", value_parser = Text::new())]
    pub name: String,
    /// All threads of this process, and of those that it starts
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// This thread alone
    #[arg(long, value_name = "TID")]
    pub tid: Option<u32>,
    /// All threads of a control group, a path below /sys/fs/cgroup
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct LeaveArgs {
    /// Name of the gang
    #[arg(value_name = "NAME", value_parser = Text::new())]
    pub name: String,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir phase solver 1

Phases are the lines `B` and `H` of the gang's manifest, from 0. The first slot comes when all CPUs know of it and the
phase's release time is over.")]
pub struct PhaseArgs {
    /// Name of the gang
    #[arg(value_name = "NAME", value_parser = Text::new())]
    pub name: String,
    /// Number of the phase
    #[arg(value_name = "N", value_parser = parse_phase)]
    pub phase: u32,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir gang check solver.manifest -m smp-16
  runweir gang check a.manifest b.manifest -m epyc-64 --cut --json

Programs come in the order of the files, on an empty machine. Exit status 2: a file is not a manifest, or a
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

/// A phase as manifests number them.
fn parse_phase(text: &str) -> std::result::Result<u32, String> {
    text.parse().map_err(|_| "phases are the lines `B` and `H` of the manifest, numbered from 0".to_string())
}

pub fn gang(args: &GangArgs) -> Result<ExitCode> {
    match &args.command {
        Some(GangCommand::Check(args)) => check(args),
        Some(GangCommand::Join(args)) => launch::join(args),
        Some(GangCommand::List(args)) => listed(args),
        Some(GangCommand::Leave(args)) => {
            let leave = Request::Leave(GangName { gang: args.name.clone() });
            ask::<GangView>(args.socket.as_deref(), &leave)?;
            Ok(ExitCode::SUCCESS)
        }
        None => launch::launch(args),
    }
}

/// Ask the scheduler in charge.
fn ask<T: DeserializeOwned>(socket: Option<&Path>, request: &Request) -> Result<T> {
    let answer = client::ask(&client::socket_path(socket), request).map_err(crate::live::fault)?;
    serde_json::from_value(answer).map_err(|e| {
        Fault::system(
            format!("the answer of `runweir live` makes no sense: {e}"),
            "are both the same version of runweir? Compare: runweir --version",
        )
    })
}

/// `runweir phase`.
pub fn phase(args: &PhaseArgs) -> Result<ExitCode> {
    let wish = Request::Phase(PhaseWish { gang: args.name.clone(), phase: args.phase });
    let done: PhaseChanged = ask(args.socket.as_deref(), &wish)?;
    if args.json {
        output::print(&weir::text::json(&done)?)?;
    } else if !args.quiet {
        output::note(&changed(&done));
    }
    Ok(ExitCode::SUCCESS)
}

/// A change of phase in a line.
fn changed(done: &PhaseChanged) -> String {
    let slots = match done.first_slot_ns {
        Some(_) => "with slots",
        None => "best effort",
    };
    format!(
        "gang {}: phase {} on {}, {slots}; {} between planners, {}",
        done.gang,
        done.phase,
        plural(done.cpus, "CPU"),
        plural(done.messages, "message"),
        duration(done.took_ns)
    )
}

fn listed(args: &ListArgs) -> Result<ExitCode> {
    let gangs: Vec<GangView> = ask(args.socket.as_deref(), &Request::Gangs {})?;
    let text = match args.json {
        true => weir::text::json(&gangs)?,
        false if gangs.is_empty() => "no gangs\n".to_string(),
        false => gangs.iter().map(line).collect(),
    };
    output::say(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A gang of the running scheduler, in a line.
pub fn line(g: &GangView) -> String {
    let slots = match g.length_ns {
        0 => "best effort".to_string(),
        length => format!("{} in each {}", duration(length), duration(g.period_ns)),
    };
    let cut =
        if g.scale == 1000 { String::new() } else { format!(", cut to {:.1} %", f64::from(g.scale) / 10.0) };
    let astray = g.members.iter().filter(|(_, cpu)| cpu.is_none()).count();
    let astray = if astray == 0 { String::new() } else { format!(" ({astray} bound elsewhere)") };
    let alone = match (g.alone, g.kept.as_slice()) {
        (false, _) => String::new(),
        (true, []) => ", alone on their cores".to_string(),
        (true, kept) => format!(", alone on their cores with {}", cpu_set(kept)),
    };
    let late = if g.late == 0 { String::new() } else { format!(", {} of them late", g.late) };
    format!(
        "{}: {} members{astray} on CPUs {}{alone}, phase {} of {}: {slots}{cut}; {} slots, {} phase changes{late}, {} messages \
         between planners\n",
        g.name,
        g.members.len(),
        cpu_set(&g.cpus),
        g.phase,
        g.nr_phases,
        g.slots_ended,
        g.phase_changes,
        g.messages
    )
}

fn check(args: &CheckArgs) -> Result<ExitCode> {
    let options = GangOptions { files: args.files.clone(), machine: args.machine.clone(), cut: args.cut };
    let admission = weir::gang::admit(&options)?;
    let text = match args.json {
        true => weir::text::json(&admission)?,
        false => shown(&admission),
    };
    for text in &admission.notes {
        output::note(text);
    }
    output::say(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// CPUs as a set, which is shown as people write it: `0-3,8`.
fn cpu_set(cpus: &[u32]) -> CpuSet {
    cpus.iter().copied().collect()
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
        let alone = if g.alone { ", alone on their cores" } else { "" };
        let _ = writeln!(
            out,
            "{}: {} on CPUs {}{alone}{cut}{between}",
            g.name,
            plural(g.threads, "thread"),
            cpu_set(&g.cpus)
        );
        for (i, p) in g.phases.iter().enumerate() {
            if p.length_ns == 0 {
                let _ = writeln!(out, "  phase {i}: best effort, priority {}", p.priority);
                continue;
            }
            let at = match p.offset_ns {
                0 => "at its start".to_string(),
                offset => format!("{} after its start", duration(offset)),
            };
            let first = match p.release_ns {
                0 => "from the request on".to_string(),
                release => format!("first {} after the request or later", duration(release)),
            };
            let _ = writeln!(
                out,
                "  phase {i}: a slot of {} in each period of {}, {at}; {first}",
                duration(p.length_ns),
                duration(p.period_ns)
            );
        }
    }
    let most = a.cpus.iter().map(|c| c.percent).fold(0.0, f64::max);
    let _ = writeln!(out, "{}: {most:.1} % of the fullest CPU are booked, of at most 90.0 %", a.machine);
    out
}
