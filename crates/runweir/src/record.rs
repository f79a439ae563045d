// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir record -- COMMAND`: a recording that `import` reads, by whatever tool is there and allowed.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

use clap::{Args, ValueEnum, ValueHint};

use crate::fault::{Fault, Result};
use crate::output::note;
use crate::units::{duration, parse_duration};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir record -- make -j8                     perf.data, trace.dat or trace.txt
  runweir record -o web.data --duration 10s      the whole machine for ten seconds
  runweir import perf.data -o compile.toml       then: the workload, and how true it is

The whole machine is recorded while the command runs. perf is used if it is there, else trace-cmd, else the kernel's own tracefs, which needs no
tool. All need root, or kernel.perf_event_paranoid = -1 for perf. The command runs as the user that calls, with its own input and output; its
exit status is reported. Recordings have names and numbers of all programs: `import --anonymise` leaves them out.")]
pub struct RecordArgs {
    /// File to write; default: perf.data, trace.dat or trace.txt
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Record for this long instead of while a command runs
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "command")]
    pub duration: Option<u64>,
    /// Tool that records; default: the first that is installed and permitted
    #[arg(long, value_name = "TOOL")]
    pub with: Option<Tool>,
    /// Buffer for each CPU, MiB; larger if events are lost
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub buffer: u32,
    /// Replace an earlier recording
    #[arg(long)]
    pub force: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
    /// Command to record, with its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "duration", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// perf sched record
    Perf,
    /// trace-cmd record
    TraceCmd,
    /// the files below /sys/kernel/tracing
    Ftrace,
}

const EVENTS: [&str; 7] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_migrate_task",
    "sched_process_fork",
    "cpu_frequency",
];
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Status of a shell's command that was not found.
const NOT_FOUND: i32 = 127;

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Perf => "perf",
            Tool::TraceCmd => "trace-cmd",
            Tool::Ftrace => "ftrace",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Tool::Perf => "perf.data",
            Tool::TraceCmd => "trace.dat",
            Tool::Ftrace => "trace.txt",
        }
    }

    /// Why it cannot be used; `None`: it can. One that the user has `chosen` may know ways that are not known here.
    fn obstacle(self, chosen: bool) -> Option<String> {
        let there = |name: &str| {
            Command::new(name)
                .arg("--version")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
        };
        match self {
            Tool::Perf => {
                if !there("perf").is_ok_and(|s| s.success()) {
                    return Some(format!(
                        "perf is not installed ({})",
                        weir_text::packages::install(&["perf"])
                    ));
                }
                if tracefs().is_none() {
                    return Some(
                        "perf needs the scheduler's tracepoints, and tracefs is not mounted or not readable"
                            .into(),
                    );
                }
                let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
                let open = level.trim().parse::<i32>().is_ok_and(|l| l < 0);
                (!open && !is_root()).then(|| {
                    "perf may not record other programs: kernel.perf_event_paranoid is not -1".into()
                })
            }
            Tool::TraceCmd => {
                if there("trace-cmd").is_err() {
                    return Some(format!(
                        "trace-cmd is not installed ({})",
                        weir_text::packages::install(&["trace-cmd"])
                    ));
                }
                if !chosen && tracefs().is_none() {
                    return Some("trace-cmd needs tracefs, which is not mounted or not readable".into());
                }
                (!is_root()).then(|| "trace-cmd needs root".into())
            }
            Tool::Ftrace => match tracefs() {
                None => Some("tracefs is not mounted or not writable".into()),
                Some(_) if !is_root() => Some("tracefs needs root".into()),
                Some(_) => None,
            },
        }
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0).unwrap_or(false)
}

/// The folder of the kernel's tracing, where events of the scheduler can be seen.
fn tracefs() -> Option<PathBuf> {
    let found = |t: &PathBuf| fs::read_dir(t.join("events/sched/sched_switch")).is_ok();
    TRACEFS.iter().map(PathBuf::from).find(found)
}

/// Record; say what to do next.
pub fn record(args: &RecordArgs) -> Result<ExitCode> {
    let tools = match args.with {
        Some(tool) => vec![tool],
        None => vec![Tool::Perf, Tool::TraceCmd, Tool::Ftrace],
    };
    let mut obstacles = Vec::new();
    let Some(tool) = tools.into_iter().find(|tool| match tool.obstacle(args.with.is_some()) {
        None => true,
        Some(why) => {
            obstacles.push(why);
            false
        }
    }) else {
        return Err(Fault::user(
            format!("nothing can record here: {}", obstacles.join("; ")),
            "call it as root, or let perf record: sysctl kernel.perf_event_paranoid=-1; in a container, record on its host",
        ));
    };
    let file = args.output.clone().unwrap_or_else(|| tool.file().into());
    if file.exists() && !args.force {
        return Err(Fault::user(
            format!("{} is there already", file.display()),
            "name another file with -o, or replace it with --force",
        ));
    }
    let command = match args.duration {
        Some(ns) => vec!["sleep".into(), format!("{}", ns as f64 / 1e9)],
        None => args.command.clone(),
    };
    if !args.quiet {
        note(&format!("recording with {}", tool.name()));
    }
    // What is ended early leaves no half recording under the file's name.
    let half = file.with_file_name(format!(
        ".{}.half",
        file.file_name().map_or_else(|| "recording".into(), |n| n.to_string_lossy().into_owned())
    ));
    let guard = Half(half.clone());
    let began = Instant::now();
    let status = match tool {
        Tool::Perf => {
            let mut perf = Command::new("perf");
            perf.args(["sched", "record", "-m", &format!("{}M", power_of_two(args.buffer)), "-o"])
                .arg(&half)
                .arg("--");
            child(perf.args(&command))?
        }
        Tool::TraceCmd => {
            let mut trace = Command::new("trace-cmd");
            trace.args(["record", "-q", "-b", &(args.buffer * 1024).to_string(), "-o"]).arg(&half);
            for event in EVENTS {
                trace.args(["-e", event]);
            }
            child(trace.args(&command))?
        }
        Tool::Ftrace => by_hand(&command, args.buffer, &half)?,
    };
    if !half.is_file() {
        return Err(Fault::system(
            format!("{} wrote no recording (status {})", tool.name(), shown(status)),
            "its own message above says why; --with selects another tool",
        ));
    }
    fs::rename(&half, &file).map_err(|e| weir::outdir::write_error(&file, &e))?;
    drop(guard);
    if status.code() == Some(NOT_FOUND) {
        note("the command was not found");
    } else if !status.success() {
        note(&format!("the command ended with status {}; its activity is recorded", shown(status)));
    }
    if !args.quiet {
        let took = duration(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        note(&format!(
            "recorded for {took}: {}; next: runweir import {} -o app.toml",
            file.display(),
            file.display()
        ));
    }
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A file that goes unless it has been given its name.
struct Half(PathBuf);

impl Drop for Half {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn shown(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |c| c.to_string())
}

fn power_of_two(mib: u32) -> u32 {
    mib.next_power_of_two()
}

fn child(command: &mut Command) -> Result<ExitStatus> {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .status()
        .map_err(|e| Fault::system(format!("cannot start {name}: {e}"), "see whether it is installed"))
}

/// The kernel's tracing with a buffer of its own, which nobody else uses.
fn by_hand(command: &[String], buffer_mib: u32, out: &Path) -> Result<ExitStatus> {
    let root = tracefs().ok_or_else(|| {
        Fault::system("tracefs is gone", "mount it: mount -t tracefs none /sys/kernel/tracing")
    })?;
    let instance = Instance(root.join("instances").join(format!("runweir-{}", std::process::id())));
    let set = |name: &str, value: &str| {
        let path = instance.0.join(name);
        fs::write(&path, value)
            .map_err(|e| Fault::system(format!("cannot write {}: {e}", path.display()), "call it as root"))
    };
    fs::create_dir(&instance.0).map_err(|e| {
        Fault::system(format!("cannot make {}: {e}", instance.0.display()), "call it as root")
    })?;
    set("tracing_on", "0")?;
    set("buffer_size_kb", &(buffer_mib * 1024).to_string())?;
    for event in EVENTS {
        let group = if event == "cpu_frequency" { "power" } else { "sched" };
        let path = format!("events/{group}/{event}/enable");
        if instance.0.join(&path).exists() {
            set(&path, "1")?;
        }
    }
    set("tracing_on", "1")?;
    let status = child(Command::new(&command[0]).args(&command[1..]));
    set("tracing_on", "0")?;
    let failed = |e: std::io::Error| weir::outdir::write_error(out, &e);
    let mut from = fs::File::open(instance.0.join("trace")).map_err(failed)?;
    let mut to = std::io::BufWriter::new(fs::File::create(out).map_err(failed)?);
    std::io::copy(&mut from, &mut to).map_err(failed)?;
    to.flush().map_err(failed)?;
    status
}

/// A buffer of the kernel's tracing, which ends with us.
struct Instance(PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
