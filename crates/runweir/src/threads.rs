// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir threads` and `runweir doctor`: programs under a policy without root, and what that costs on this machine.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use serde::Deserialize;

use crate::compile::plan_bytes;
use crate::fault::{Fault, Result};
use crate::{machine, output, topology};

const PRELOAD: &str = "libweir_preload.so";
const OPENMP: &str = "libweir_gomp.so";
const DOCTOR: &str = "weir-doctor";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir threads priority -- ./server --port 8080
  runweir threads my.weir --cpus 2 --set round_robin.slice=2ms -- python3 work.py
  OMP_NUM_THREADS=4 runweir threads decentral -- ./openmp-program
  runweir threads gang --manifest team.manifest --trace slots.json -- ./openmp-program

OpenMP programs that gcc built get a library with libgomp's interface, whose teams know which threads run.
Those of other compilers keep their own library.

The threads of the program, and no others, run as the policy says; neither root nor a kernel module is needed.
It must be linked dynamically. Programs that it starts run as they are. docs/threads.md has the limits.")]
pub struct ThreadsArgs {
    /// Scheduler: a catalogue name or a .weir file
    #[arg(value_name = "POLICY", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub policy: String,
    /// CPUs that the policy divides up; all that this process may use if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cpus: Option<u32>,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// A gang for an OpenMP team of its size (docs/gangs.md has the format); may be given for each team
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub manifest: Vec<String>,
    /// Leave OpenMP programs their own libgomp
    #[arg(long)]
    pub keep_libgomp: bool,
    /// Print a line of counters on stderr when the program ends
    #[arg(long)]
    pub stats: bool,
    /// Write what ran on which CPU, and why it left, into this file; https://ui.perfetto.dev opens it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// Become the program, with the runtime in it.
pub fn threads(args: &ThreadsArgs) -> Result<ExitCode> {
    let preload = installed(PRELOAD)?;
    let program = find_program(&args.command[0])?;
    if !is_dynamic(&program) {
        return Err(Fault::user(
            format!("`{}` is not a dynamically linked program", program.display()),
            "the runtime is loaded into the program at its start; a script needs its interpreter named, a static \
             program has to be built against libweir_threads (docs/threads.md)",
        ));
    }
    let gangs = manifests(&args.manifest)?;
    let available = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let cpus = args.cpus.unwrap_or(available);
    if cpus > available {
        return Err(Fault::user(
            format!("--cpus {cpus}: this process may use {available}"),
            format!("ask for at most {available}, or allow it more with taskset"),
        ));
    }
    let host = machine::resolve("host").ok().filter(|m| m.shape.nr_cpus() == cpus);
    let machine = host.map_or_else(|| machine::resolve(&format!("smp-{cpus}")), Ok)?;
    let sets = topology::parse_sets(&args.set)?;
    let plan = plan_bytes(&args.policy, &machine.shape, &sets, &[], false)?;
    let trouble = |e: std::io::Error| {
        Fault::system(
            format!("the plan cannot be written: {e}"),
            "make room in the folder of temporary files",
        )
    };
    let mut file = tempfile::Builder::new().prefix("runweir-").suffix(".plan").tempfile().map_err(trouble)?;
    file.write_all(&plan).map_err(trouble)?;
    let openmp = preload.with_file_name(OPENMP);
    let mut libraries = preload.into_os_string();
    if !args.keep_libgomp && openmp.is_file() {
        libraries.push(":");
        libraries.push(openmp);
    }
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|o| !o.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    let mut command = Command::new(&program);
    command.args(&args.command[1..]).arg0(&args.command[0]);
    command
        .env("WEIR_THREADS_PLAN", file.path())
        .env("WEIR_THREADS_UNLINK", "1")
        .env("LD_PRELOAD", libraries);
    if !gangs.is_empty() {
        command.env("WEIR_THREADS_GANGS", gangs);
    }
    if let Some(file) = &args.trace {
        let file = std::path::absolute(file).map_err(|e| {
            Fault::user(format!("--trace {}: {e}", file.display()), "name a file that can be written")
        })?;
        command.env("WEIR_THREADS_TRACE", file);
    }
    if args.stats {
        command.env("WEIR_THREADS_STATS", "1");
    }
    // The library takes the file away once it has read it.
    let (_, path) = file.keep().map_err(|e| trouble(e.error))?;
    let error = command.exec();
    let _ = fs::remove_file(&path);
    Err(Fault::user(
        format!("`{}` cannot be run: {error}", program.display()),
        "name a program that you may execute",
    ))
}

/// The manifests' files as the library reads them, one a line, each found to be right; whether they fit is for the controller.
fn manifests(files: &[String]) -> Result<OsString> {
    let mut list = OsString::new();
    for file in files {
        weir::gang::manifest(file)?;
        let path = fs::canonicalize(file).map_err(|e| {
            Fault::user(format!("{file}: {e}"), "name a manifest, as docs/gangs.md describes it")
        })?;
        if !list.is_empty() {
            list.push("\n");
        }
        list.push(path);
    }
    Ok(list)
}

/// A file of the thread library: where RUNWEIR_LIB says, where `make install` or where `make threads` put it.
fn installed(name: &str) -> Result<PathBuf> {
    let mut places: Vec<PathBuf> = std::env::var_os("RUNWEIR_LIB").map(PathBuf::from).into_iter().collect();
    if let Ok(own) = std::env::current_exe()
        && let Some(folder) = own.parent()
    {
        places.push(folder.join("../lib/runweir"));
        places.push(folder.join("../threads"));
    }
    places.iter().map(|p| p.join(name)).find(|p| p.is_file()).ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        Fault::system(
            format!("the thread library is not here: no {name} in {}", looked.join(", ")),
            "`make threads` builds it; RUNWEIR_LIB names the folder where it is",
        )
    })
}

/// The program by its path or in PATH.
fn find_program(name: &OsStr) -> Result<PathBuf> {
    let missing = || {
        Fault::user(
            format!("there is no program `{}`", name.to_string_lossy()),
            "name one in PATH, or a file with its folder",
        )
    };
    let path = Path::new(name);
    if path.components().count() > 1 {
        return if path.is_file() { Ok(path.into()) } else { Err(missing()) };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|f| f.join(name)).find(|p| p.is_file()).ok_or_else(missing)
}

/// Whether a 64-bit ELF file names an interpreter, which is what preloads libraries. What cannot be read is let through.
fn is_dynamic(program: &Path) -> bool {
    const INTERPRETER: u32 = 3;
    let Ok(bytes) = fs::read(program) else { return true };
    let number = |at: usize, len: usize| -> Option<u64> {
        let part = bytes.get(at..at + len)?;
        Some(part.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(table), Some(size), Some(entries)) = (number(32, 8), number(54, 2), number(56, 2)) else {
        return false;
    };
    (0..entries).any(|i| number((table + i * size) as usize, 4) == Some(u64::from(INTERPRETER)))
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir doctor
  runweir doctor --json

Takes about two seconds. Run it on a quiet machine: what others do is part of every figure.")]
pub struct DoctorArgs {
    /// Print the figures as JSON, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What `weir-doctor` measures, ns.
#[derive(Debug, Deserialize)]
struct Figures {
    cpus: f64,
    clock_ns: f64,
    switch_ns: f64,
    arm_ns: f64,
    expiry_ns: f64,
    expiry_late_p99_ns: f64,
    wake_same_cpu_ns: f64,
    wake_other_cpu_ns: Option<f64>,
    wake_price_ns: Option<f64>,
    message_ns: Option<f64>,
}

impl Figures {
    /// The shortest slice of which ending it takes `percent`, ns: the timer's expiry, setting it again, and a switch.
    fn slice(&self, percent: f64) -> f64 {
        (self.expiry_ns + self.arm_ns + self.switch_ns) * 100.0 / percent
    }

    fn rows(&self) -> Vec<(&'static str, Option<f64>)> {
        vec![
            ("read the clock", Some(self.clock_ns)),
            ("switch between green threads", Some(self.switch_ns)),
            ("set a timer", Some(self.arm_ns)),
            ("what an expiry takes from the thread", Some(self.expiry_ns)),
            ("expiry latency, 99th percentile", Some(self.expiry_late_p99_ns)),
            ("wake a thread on the same CPU", Some(self.wake_same_cpu_ns)),
            ("wake a thread that sleeps on another CPU", self.wake_other_cpu_ns),
            ("of that, what the waker pays", self.wake_price_ns),
            ("a message to another CPU that polls", self.message_ns),
        ]
    }
}

/// Measure, and say which slices make sense.
pub fn doctor(args: &DoctorArgs) -> Result<ExitCode> {
    let program = installed(DOCTOR)?;
    let failed = |why: String| {
        Fault::system(format!("{} failed: {why}", program.display()), "build it again with `make threads`")
    };
    let ran = Command::new(&program).output().map_err(|e| failed(e.to_string()))?;
    if !ran.status.success() {
        return Err(failed(ran.status.to_string()));
    }
    let figures: Figures = serde_json::from_slice(&ran.stdout).map_err(|e| failed(e.to_string()))?;
    if args.json {
        let mut all: serde_json::Value =
            serde_json::from_slice(&ran.stdout).map_err(|e| failed(e.to_string()))?;
        for (key, value) in [
            ("slice_1_percent_ns", figures.slice(1.0)),
            ("slice_5_percent_ns", figures.slice(5.0)),
            ("poll_window_ns", figures.wake_other_cpu_ns.unwrap_or_default()),
        ] {
            all[key] = value.round().into();
        }
        output::print(&format!("{all}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("threads on this machine, {} CPUs\n\n", figures.cpus);
    for (what, ns) in figures.rows() {
        text.push_str(&format!("  {what:<42}{:>12}\n", ns.map_or("-".into(), weir_report::duration_f)));
    }
    text.push_str(&format!(
        "\nSlices: ending one costs 1 % of {}, 5 % of {}. Shorter ones are eaten by their own timer.\n",
        weir_report::duration_f(figures.slice(1.0)),
        weir_report::duration_f(figures.slice(5.0))
    ));
    if let Some(wake) = figures.wake_other_cpu_ns {
        text.push_str(&format!(
            "Polling pays where a reply arrives within {}; a sleeper costs that much to wake.\n",
            weir_report::duration_f(wake)
        ));
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_not_dynamic_and_this_program_is() {
        let own = std::env::current_exe().expect("a file");
        assert!(is_dynamic(&own));
        let script = tempfile::NamedTempFile::new().expect("a file");
        fs::write(script.path(), "#!/bin/sh\n").expect("writable");
        assert!(!is_dynamic(script.path()));
    }
}
