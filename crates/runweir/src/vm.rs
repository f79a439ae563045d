// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir vm`: a command in a virtual machine whose kernel has sched_ext.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueEnum, ValueHint};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weir_core::loaded;
use weir_lang::{Loader, Source};
use weir_model::Machine;
use weir_vm::cache::Cache;
use weir_vm::kernel::{self, Kernel};
use weir_vm::{ErrorKind, Files, Icount, Job, Layout, Outcome, Sinks, Spec, Step, tool};

use crate::args::parse_seed;
use crate::fault::{Diag, Fault, Result};
use crate::outdir::replace_file;
use crate::output::{note, show};
use crate::topology::{self, Includes};
use crate::units::parse_duration;
use crate::{input, machine};

/// CPUs of a guest whose machine nobody names.
const CPUS: u32 = 4;

/// A topology from standard input, in the guest.
const FROM_STDIN: &str = "/.runweir/stdin.weir";

static STOP: AtomicBool = AtomicBool::new(false);

/// How the guest's instructions are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Accel {
    /// KVM if it works, else emulation
    Auto,
    /// KVM only
    Kvm,
    /// Emulation in software: slow, but equal on all computers
    Tcg,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir vm -- uname -r
  runweir vm --cpus 16 --topology decentral --record out -- hackbench -g 4 -l 100
  runweir vm --machine opteron-64 --topology my.weir --with app.json -- rt-app app.json
  runweir vm                     a shell in the guest, if this is a terminal

The first call downloads a kernel from the Debian mirror of this computer's apt and keeps it;
nothing is installed and root is not needed. The guest has busybox, hackbench, stress-ng, rt-app (if this
computer has them), runweir, COMMAND's program and the files of --with, at the paths of the host.
Exit status: that of COMMAND; 2 if the input is wrong, 1 if the machine or the scheduler failed.")]
pub struct VmArgs {
    /// Number of CPUs, which share one cache; default: 4
    #[arg(short, long, value_name = "N", conflicts_with = "machine", value_parser = clap::value_parser!(u32).range(1..=i64::from(weir_vm::MAX_CPUS)))]
    pub cpus: Option<u32>,
    /// Machine to model: a preset (smp-8, opteron-64 …), an hwloc XML file, a TOML file, or `host`
    #[arg(short, long, value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub machine: Option<String>,
    /// Scheduler for COMMAND: a catalogue name or a .weir file; - reads it from stdin. COMMAND can use `runweir
    /// switch`, as on a real computer
    #[arg(value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub place: Option<String>,
    /// The same as an option
    #[arg(short, long, value_name = "T", value_parser = Text::new(), conflicts_with = "place", value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// Load only the components of T, like `live --only`: an emulated machine attaches in a third of the time
    #[arg(long)]
    pub only: bool,
    /// Memory of the guest, with its unit, from 256MiB to 1024GiB: 512MiB, 2GiB; default: enough for the CPUs
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<u32>,
    /// Write the scheduler's recordings, and the files that COMMAND puts into $RUNWEIR_RECORD, into this folder
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub record: Option<PathBuf>,
    /// Copy a file, a folder, or a program with its libraries into the guest (repeatable)
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub with: Vec<PathBuf>,
    /// End everything after this much time, with its unit: 90s, 10m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "300s", allow_hyphen_values = true)]
    pub timeout: u64,
    /// Boot this kernel (a vmlinuz) instead of fetching one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kernel: Option<PathBuf>,
    /// How instructions are executed
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub accel: Accel,
    /// Count instructions instead of time, so that equal runs give equal bytes (emulation only)
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = parse_seed)]
    pub icount: Option<u64>,
    /// With --icount: time for which an emulated CPU computes before the next one, 1us or more. Longer turns are
    /// faster to compute, but delay messages between CPUs
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "5us", requires = "icount")]
    pub turn: u64,
    /// Keep the machine's files (console, first file system, QEMU's command line) and print their folder
    #[arg(long)]
    pub keep: bool,
    /// Print errors only: no progress or warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Boot, run, bring back.
pub fn vm(args: &VmArgs) -> Result<ExitCode> {
    let terminal = interactive(args)?;
    let (machine, layout, warnings) = layout(args)?;
    if !args.quiet && !warnings.is_empty() {
        let (name, how) = (&machine.shape.name, warnings.join("; "));
        show(&[Diag::warning(format!("the virtual machine is not quite `{name}`: {how}"))]);
    }
    let mut files = Files { with: args.with.clone(), made: Vec::new() };
    files.check().map_err(fault)?;
    let topology = args
        .place
        .as_deref()
        .or(args.topology.as_deref())
        .map(|t| topology_file(t, &machine, &mut files))
        .transpose()?;
    let load = component(&mut files)?;
    let accel = accel(args)?;
    let own_kernel = args.kernel.as_deref().map(Kernel::of_file).transpose().map_err(fault)?;
    let cwd = std::env::current_dir()
        .map_err(|e| Fault::system(format!("the current folder is unknown: {e}"), "change to another one"))?;
    bring_command(args.command.first(), &mut files);
    if let Some(dir) = &args.record {
        prepare_record(dir)?;
    }
    tool::require(tool::NEEDED).map_err(fault)?;
    catch_signals()?;

    let steps = Steps::new(!args.quiet);
    let on_step = |step: &Step| steps.show(step);
    let cache = Cache::open().map_err(fault)?;
    let kernel = match own_kernel {
        Some(kernel) => kernel,
        None => kernel::ensure(&cache, &on_step).map_err(|e| if stopped() { ended() } else { fault(e) })?,
    };
    if topology.is_some() {
        kernel.takes_schedulers().map_err(fault)?;
    } else if let Some(why) = kernel.damage.as_ref().filter(|_| !args.quiet) {
        show(&[Diag::warning(format!("schedulers cannot be loaded into kernel {}: {why}", kernel.version))]);
    }
    let kvm = accel.is_kvm(&cache, &kernel, &STOP, &on_step).map_err(fault)?;
    steps.finish();

    let memory_mib = args.memory.unwrap_or_else(|| layout.default_memory());
    let icount = args.icount.map(|seed| icount(seed, args.turn)).transpose()?;
    let spec = Spec { kernel, layout, memory_mib, kvm, icount };
    let runweir = std::env::current_exe().map_err(|e| {
        Fault::system(format!("cannot find this program's own file: {e}"), "run it by its full path")
    })?;
    let job = Job {
        command: if args.command.is_empty() { vec!["sh".into()] } else { args.command.clone() },
        cwd,
        topology,
        only: args.only,
        load,
        record: args.record.is_some(),
        runweir: Some(runweir),
        files,
        timeout: if terminal.is_some() { Duration::MAX / 4 } else { Duration::from_nanos(args.timeout) },
        terminal: terminal.as_ref().map(|t| (t.size.clone(), t.term.clone())),
        keep: args.keep,
    };
    let sinks =
        Sinks { out: Box::new(io::stdout()), err: Box::new(io::stderr()), log: Box::new(io::stderr()) };
    let result = weir_vm::run(&cache, &spec, &job, sinks, &STOP);
    drop(terminal);
    match result {
        Ok(outcome) => finish(args, &outcome),
        // The reader of our output closed it: its decision and no error.
        Err(e) if e.kind == ErrorKind::Interrupted && !stopped() => Ok(ExitCode::SUCCESS),
        Err(e) => Err(fault(e)),
    }
}

/// What the user gets to see and to keep.
fn finish(args: &VmArgs, outcome: &Outcome) -> Result<ExitCode> {
    let mut written = Vec::new();
    if let Some(dir) = &args.record {
        let dmesg = (PathBuf::from("dmesg.txt"), outcome.dmesg.clone().into_bytes());
        for (path, bytes) in outcome.recordings.iter().chain([&dmesg]) {
            let path = dir.join(path);
            let folder = path.parent().unwrap_or(dir);
            fs::create_dir_all(folder).map_err(|e| crate::outdir::write_error(&path, &e))?;
            replace_file(&path, bytes)?;
            written.push(path.display().to_string());
        }
    }
    if !args.quiet {
        if (args.place.is_some() || args.topology.is_some()) && !written.is_empty() {
            note(&format!("written: {}", written.join("  ")));
        }
        if !outcome.complaints.is_empty() {
            let more = match outcome.complaints.len() - 1 {
                0 => String::new(),
                n => format!(" (and {n} more)"),
            };
            let message = format!("the guest's kernel complained: {}{more}", outcome.complaints[0]);
            show(&[Diag::warning(message).help("--record DIR keeps its whole log in dmesg.txt")]);
        }
        if let Some(place) = &outcome.kept {
            note(&format!("kept: {}", place.display()));
        }
        if io::stderr().is_terminal() {
            let (boot, total) = (outcome.boot.as_secs_f64(), outcome.total.as_secs_f64());
            note(&format!("vm: {boot:.1} s to boot, {total:.1} s in all"));
        }
    }
    match outcome.live {
        Some(2) if outcome.left_early => {
            Err(Fault::user("the scheduler refused its work; its message is above", "see there"))
        }
        Some(status) if outcome.left_early => Err(Fault::system(
            format!("the scheduler left before the command had ended (its exit status: {status})"),
            "its messages are above",
        )),
        Some(status) if status != 0 => Err(Fault::system(
            format!("the scheduler ended with status {status} instead of detaching cleanly"),
            "its messages are above",
        )),
        _ => Ok(ExitCode::from(outcome.status)),
    }
}

/// An error of the virtual machine as a fault; the log that explains it goes before it.
fn fault(e: weir_vm::Error) -> Fault {
    if let Some((name, text)) = &e.log {
        let lines: String = text.lines().flat_map(|l| ["\n  ", l]).collect();
        note(&format!("{name}:{lines}"));
    }
    let help = e.help.unwrap_or_else(|| "this is a bug in runweir; please report it".into());
    match e.kind {
        ErrorKind::Missing | ErrorKind::Input => Fault::user(e.message, help),
        _ => Fault::system(e.message, help),
    }
}

/// The machine model and its likeness.
fn layout(args: &VmArgs) -> Result<(Machine, Layout, Vec<String>)> {
    let Some(spec) = &args.machine else {
        let cpus = args.cpus.unwrap_or(CPUS);
        return Ok((Machine::smp(cpus), Layout::flat(cpus).map_err(fault)?, Vec::new()));
    };
    let machine = machine::resolve(spec)?;
    let (layout, warnings) = Layout::of(&machine).map_err(fault)?;
    Ok((machine, layout, warnings))
}

/// Check a topology for the machine before anything slow is done; returns its name in the guest.
fn topology_file(name: &str, machine: &Machine, files: &mut Files) -> Result<String> {
    let source = topology::source(name)?;
    let included = Recorder(RefCell::default());
    weir_lang::compile(&source, &included, weir_core::catalog(), &machine.shape, &[])
        .map_err(topology::fault)?;
    files.with.extend(included.0.into_inner());
    if name == "-" {
        files.made.push((FROM_STDIN.into(), 0o644, source.text.into_bytes()));
        return Ok(FROM_STDIN.into());
    }
    if !input::is_path(name) {
        return Ok(name.into());
    }
    files.with.push(name.into());
    let path = std::path::absolute(name)
        .map_err(|e| Fault::user(format!("cannot find `{name}`: {e}"), "check the path"))?;
    Ok(path.display().to_string())
}

/// What --load names comes along. The one with a part for the kernel is the scheduler's there: its path in the guest.
fn component(files: &mut Files) -> Result<Option<String>> {
    let named = crate::component::named();
    files.with.extend(named.iter().cloned());
    let Some(path) = named.iter().find(|p| loaded::has_kernel_part(p)) else { return Ok(None) };
    let path = std::path::absolute(path)
        .map_err(|e| Fault::user(format!("cannot find `{}`: {e}", path.display()), "check the path"))?;
    Ok(Some(path.display().to_string()))
}

/// Remembers the user's files that a topology includes: the guest needs them.
struct Recorder(RefCell<BTreeSet<PathBuf>>);

impl Loader for Recorder {
    fn load(&self, from: &str, include: &str) -> std::result::Result<Source, String> {
        let source = Includes.load(from, include)?;
        if Path::new(&source.name).is_file() {
            self.0.borrow_mut().insert(source.name.clone().into());
        }
        Ok(source)
    }
}

/// The command's program comes along, unless the guest has one of that name.
fn bring_command(command: Option<&String>, files: &mut Files) {
    let Some(name) = command else { return };
    let path = Path::new(name);
    if name.contains('/') {
        if path.is_file() {
            files.with.push(path.into());
        }
        return;
    }
    let there = tool::LOADS.contains(&name.as_str()) || name == "runweir" || applets().contains(name);
    if !there && tool::find(name).is_some() {
        files.with.push(path.into());
    }
}

/// Programs that busybox has.
fn applets() -> BTreeSet<String> {
    let list = tool::output("busybox", ["--list"]).map(|o| o.stdout).unwrap_or_default();
    String::from_utf8_lossy(&list).lines().map(str::to_string).collect()
}

/// Counted instructions, with turns of so many ns.
fn icount(seed: u64, turn_ns: u64) -> Result<Icount> {
    match u32::try_from(turn_ns / 1_000) {
        Ok(turn_us @ 1..=1_000_000) => Ok(Icount { seed, turn_us }),
        _ => Err(Fault::user("--turn is out of range", "give 1us to 1s")),
    }
}

/// How instructions are to be executed.
fn accel(args: &VmArgs) -> Result<weir_vm::Accel> {
    match (args.accel, args.icount) {
        (Accel::Kvm, Some(_)) => {
            Err(Fault::user("--icount counts instructions, which KVM cannot", "leave out --accel kvm"))
        }
        (Accel::Tcg, _) | (_, Some(_)) => Ok(weir_vm::Accel::Tcg),
        (Accel::Auto, None) => Ok(weir_vm::Accel::Auto),
        (Accel::Kvm, None) => Ok(weir_vm::Accel::Kvm),
    }
}

/// True once the user asked to end.
fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

fn ended() -> Fault {
    Fault::system(
        "ended while the kernel was being fetched",
        "complete files are kept; repeat the command to continue",
    )
}

/// The folder for recordings must be one that we can write, before anything slow is done.
fn prepare_record(dir: &Path) -> Result<()> {
    if dir.exists() && !dir.is_dir() {
        return Err(Fault::user(
            format!("--record {} is a file", dir.display()),
            "name a folder; it is made if it does not exist",
        ));
    }
    let writable = fs::create_dir_all(dir).and_then(|()| tempfile::tempfile_in(dir));
    writable.map(|_| ()).map_err(|e| {
        Fault::user(
            format!("cannot write into --record {}: {}", dir.display(), input::reason(&e)),
            "name a folder that you may write to",
        )
    })
}

/// The first signal ends the machine, the second this program.
fn catch_signals() -> Result<()> {
    let handler = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
    };
    ctrlc::set_handler(handler).map_err(|e| {
        Fault::system(format!("cannot catch Ctrl-C: {e}"), "this is a bug in runweir; please report it")
    })
}

/// `512MiB`, `2GiB`, also `512M`, `2G`; the result is in MiB.
fn parse_memory(text: &str) -> std::result::Result<u32, String> {
    crate::units::parse_memory(text, "a guest", 256 << 20, 1024 << 30).map(|bytes| (bytes >> 20) as u32)
}

/// The user's terminal, given back as it was.
struct Terminal {
    saved: String,
    size: String,
    term: String,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = stty(&[&self.saved]);
    }
}

/// Without a command there must be a terminal for a shell.
fn interactive(args: &VmArgs) -> Result<Option<Terminal>> {
    if !args.command.is_empty() {
        return Ok(None);
    }
    let saved = Some(()).filter(|()| io::stdin().is_terminal() && io::stdout().is_terminal());
    let saved = saved.and_then(|()| stty(&["-g"]));
    let Some(saved) = saved else {
        let help =
            "name a command after `--`: runweir vm -- uname -r. On a terminal a shell starts without one";
        return Err(Fault::user("there is nothing to run in the virtual machine", help));
    };
    let size = stty(&["size"]).unwrap_or_default();
    let mut numbers = size.split_whitespace();
    let size = match (numbers.next(), numbers.next()) {
        (Some(rows), Some(columns)) => format!("rows {rows} cols {columns}"),
        _ => "rows 24 cols 80".into(),
    };
    let term = std::env::var("TERM").unwrap_or_else(|_| "vt100".into());
    Ok(Some(Terminal { saved, size, term }))
}

/// What `stty` says of our terminal.
fn stty(args: &[&str]) -> Option<String> {
    let output = Command::new("stty").args(args).stdin(Stdio::inherit()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The bar of a download; only on a terminal.
struct Steps {
    bar: ProgressBar,
}

impl Steps {
    fn new(wanted: bool) -> Self {
        let shown = wanted && io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        Self { bar: ProgressBar::with_draw_target(None, target) }
    }

    fn show(&self, step: &Step) {
        let template = if step.total > 0 { "{bar:32} {percent:>3} %  {msg}" } else { "{spinner} {msg}" };
        self.bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        if step.total > 0 {
            self.bar.set_length(step.total);
            self.bar.set_position(step.done);
        }
        self.bar.set_message(step.what.clone());
        self.bar.tick();
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_unit() {
        assert_eq!(parse_memory("512MiB"), Ok(512));
        assert_eq!(parse_memory("2GiB"), Ok(2048));
        assert_eq!(parse_memory("2G"), Ok(2048));
    }
}
