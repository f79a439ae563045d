// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir bare`: the bare multikernel in an emulator, with a policy and programs.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use runweir_lab::bare::{Image, Program, Results, Setup, StopWhy, image};
use serde_json::json;
use weir::OutDir;
use weir_core::{Class, Plan, catalog};
use weir_report::{Gantt, HtmlExtras, Meta, Metrics, Trace};

use runweir::args::one;
use runweir::output::{note, print, screen};
use runweir::{compile, stop};
use weir::{Fault, Result};
use weir::{machine, topology, units};

/// The word between two programs.
const AND: &str = "+";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir bare priority --harts 4 -- hello
  runweir bare edf --harts 2 --out results -- deadlines + intruder write
  runweir bare my.weir --harts 16 --duration 50ms -- ./mine.c 3
  runweir bare worksteal --harts 4 --shared -- spread

A program is one that `make bare` built (hello, lmp, ump, gang, ...) or a C file, which is compiled with
the library of weir/mk.h. Its output goes to stdout, with --json to stderr. The machine is emulated by counted
instructions, one a nanosecond: two runs give the same bytes. Each hart has a scheduler of its own; with
--shared one is for all, for policies that move tasks between CPUs. docs/bare.md explains kernel and library.")]
pub struct BareArgs {
    /// Scheduler: a catalogue name or a .weir file
    #[arg(required_unless_present = "named", value_name = "T", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub topology: Option<String>,
    /// The same as an option
    #[arg(short = 't', long = "topology", value_name = "T", value_parser = Text::new(), conflicts_with = "topology", value_hint = ValueHint::FilePath)]
    pub named: Option<String>,
    /// Harts of the machine
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=i64::from(runweir_lab::bare::MAX_HARTS)))]
    pub harts: u32,
    /// Stop after this time of the machine; without it when all programs have ended
    #[arg(short, long, value_name = "TIME", value_parser = units::parse_duration)]
    pub duration: Option<u64>,
    /// How long a hart runs before the others see what it did: 1us to 1ms
    #[arg(long, value_name = "TIME", default_value = "10us", value_parser = units::parse_duration)]
    pub quantum: u64,
    /// One scheduler for all harts instead of one for each: dispatchers go where the policy puts them
    #[arg(long)]
    pub shared: bool,
    /// Run the harts in parallel: no two runs are alike, and times mean nothing; for tests of the kernel
    #[arg(long)]
    pub parallel: bool,
    /// Set a parameter, as in `run`
    #[arg(long, value_name = "COMP.PARAM=V", value_parser = Text::new())]
    pub set: Vec<String>,
    /// Seed of the scheduler's own dice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Record messages too; then every message takes the long way through the kernel
    #[arg(long)]
    pub messages: bool,
    /// Record nothing: for long runs
    #[arg(long, conflicts_with_all = ["messages", "out"])]
    pub no_trace: bool,
    /// Write summary.json, tasks.csv, trace.pftrace and report.html to this folder
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Replace a folder that is there
    #[arg(long, requires = "out")]
    pub force: bool,
    /// What the programs read by mk_read(): a file of at most 12 KiB of text, or - for stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Print what the programs print, and nothing else
    #[arg(short, long)]
    pub quiet: bool,
    /// How long the emulator may take, in seconds of this machine
    #[arg(long, value_name = "S", default_value_t = 300)]
    pub limit: u64,
    /// Programs with their arguments, `+` between two
    #[arg(required = true, last = true, value_name = "APP")]
    pub programs: Vec<String>,
}

/// Boot, run, report.
pub fn bare(args: &BareArgs) -> Result<ExitCode> {
    if !(1_000..=1_000_000).contains(&args.quantum) {
        return Err(Fault::user(
            format!("--quantum {}: a quantum is 1us to 1ms", units::exact(args.quantum)),
            "10us is the default; a shorter one is more exact, and slower",
        ));
    }
    let folder = runweir_lab::bare::installed().map_err(fault)?;
    runweir_lab::bare::emulator().map_err(fault)?;
    // Each hart has a scheduler of its own, for one CPU, or all have one.
    let cpus = if args.shared { args.harts } else { 1 };
    let shape = machine::resolve(&format!("smp-{cpus}"))?.shape;
    let sets = topology::parse_sets(&args.set)?;
    let topology = one(args.topology.as_ref(), args.named.as_ref());
    let plan = compile::plan(&topology, &shape, &sets, &[], args.quiet)?;
    if !args.shared && args.harts > 1 && !args.quiet {
        note_alone(&plan);
    }
    let plan = compile::flat(&topology, &plan)?;
    let work = tempfile::tempdir()
        .map_err(|e| Fault::system(format!("no folder for temporary files: {e}"), "make room in /tmp"))?;
    let mut programs = Vec::new();
    for words in args.programs.split(|w| w == AND) {
        let Some((first, rest)) = words.split_first() else {
            return Err(Fault::user("`+` stands between two programs", "write `-- APP ARGS + APP ARGS`"));
        };
        let (name, image) = program(first, &folder, work.path())?;
        let arguments = std::iter::once(name.clone()).chain(rest.iter().cloned()).collect();
        programs.push(Program { name, image, arguments });
    }
    let setup = Setup {
        harts: args.harts,
        plan,
        parallel: args.parallel,
        trace: !args.no_trace,
        messages: args.messages,
        quantum_ns: args.quantum,
        duration_ns: args.duration,
        seed: args.seed,
        monitor: image(&folder, "monitor").map_err(fault)?,
        console: image(&folder, "console").map_err(fault)?,
        console_arguments: std::iter::once("console".into()).chain(input(args.input.as_deref())?).collect(),
        programs,
    };
    let out = args.out.as_deref().map(|dir| OutDir::prepare(dir, args.force)).transpose()?;
    stop::install_saying("stopping the machine")?;
    let limit = Duration::from_secs(args.limit);
    let kernel = folder.join(runweir_lab::bare::kernel(args.shared, args.parallel));
    let flag = stop::flag();
    let done = if args.json {
        runweir_lab::bare::run(&kernel, &setup, flag, limit, &mut std::io::stderr())
    } else {
        runweir_lab::bare::run(&kernel, &setup, flag, limit, &mut std::io::stdout())
    }
    .map_err(fault)?;
    report(args, &setup, &done.results, out)
}

/// Most that fits beside the programs' arguments.
const INPUT_BYTES: usize = 12 * 1024;

/// What the console reads.
fn input(path: Option<&Path>) -> Result<Option<String>> {
    let Some(path) = path else { return Ok(None) };
    let shown = path.display();
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|e| {
        Fault::user(
            format!("`{shown}` cannot be read: {e}"),
            "name a text file that you may read, or - for stdin",
        )
    })?;
    if text.len() > INPUT_BYTES || text.contains('\0') {
        return Err(Fault::user(
            format!("`{shown}` is no input for the console"),
            format!("it takes text of at most {} KiB, without zero bytes", INPUT_BYTES / 1024),
        ));
    }
    Ok(Some(text))
}

/// Say so if a component of the policy has tasks for several CPUs, and here each scheduler has one.
fn note_alone(plan: &Plan) {
    let catalog = catalog();
    let alone = plan
        .instances
        .iter()
        .find(|i| i.outs.len() == 1 && catalog.class(i.class).is_some_and(|c| c.class == Class::Distribute));
    if let Some(i) = alone {
        note(&format!(
            "note: each hart has a scheduler of its own, so `{}` moves no dispatchers; --shared makes one for all harts",
            i.name
        ));
    }
}

fn fault(e: runweir_lab::bare::Error) -> Fault {
    if e.user { Fault::user(e.message, e.help) } else { Fault::system(e.message, e.help) }
}

fn report(args: &BareArgs, setup: &Setup, results: &Results, out: Option<OutDir>) -> Result<ExitCode> {
    let topology = one(args.topology.as_ref(), args.named.as_ref());
    if let StopWhy::Broken(what) = &results.why {
        return Err(Fault::system(format!("the kernel stopped: {what}"), "please report the command line"));
    }
    if let StopWhy::Plan(what) = &results.why {
        return Err(Fault::user(format!("`{topology}` does not run here: {what}"), "use another topology"));
    }
    let names: Vec<&str> = setup.programs.iter().map(|p| p.name.as_str()).collect();
    let meta = Meta {
        runweir: env!("CARGO_PKG_VERSION").into(),
        topology,
        machine: format!("bare-{}", args.harts),
        workload: names.join(" + "),
        seed: args.seed,
        nr_cpus: args.harts,
        cpu_names: (0..args.harts).map(|h| format!("hart {h}")).collect(),
        ..Meta::default()
    };
    let mut metrics = Metrics::new(meta.clone());
    let mut files = None;
    if let Some(out) = &out {
        files = Some((Trace::new(meta, Box::new(out.create("trace.pftrace")?)), Gantt::default()));
    }
    {
        let mut both = (&mut metrics, files.as_mut().map(|(t, g)| (t, g)));
        results.report(&mut both);
    }
    let summary = metrics.finish(results.time_ns);
    let harts: Vec<_> = results
        .harts
        .iter()
        .map(|h| {
            json!({ "picks": h.picks, "pick_ns": h.pick_ns, "relinquish_ns": h.relinquish_ns, "interrupts": h.interrupts,
                "timers": h.timers, "upcalls": h.upcalls, "messages_short": h.messages_short,
                "messages_long": h.messages_long, "messages_buffered": h.messages_buffered, "pokes": h.pokes,
                "busy_ns": h.busy_ns, "idle_ns": h.idle_ns, "kernel_ns": h.kernel_ns, "arena_bytes": h.arena_bytes })
        })
        .collect();
    let faults: Vec<_> = results
        .faults()
        .into_iter()
        .map(|(name, hart, cause)| json!({ "program": name, "hart": hart, "cause": cause, "text": cause_text(cause) }))
        .collect();
    let marks: Vec<_> = results
        .marks()
        .into_iter()
        .map(|(hart, t, number, value)| json!({ "hart": hart, "time_ns": t, "number": number, "value": value }))
        .collect();
    let mut whole: serde_json::Value = serde_json::from_str(&summary.to_json()).expect("a summary is JSON");
    let stopped = match results.why {
        StopWhy::Done => "done",
        StopWhy::Time => "duration",
        _ => "waiting",
    };
    whole["bare"] = json!({ "stopped": stopped, "failed": results.failed, "ended": results.ended, "trace_lost": results.dropped(),
        "harts": harts, "faults": faults, "marks": marks });
    let text = serde_json::to_string_pretty(&whole).expect("it is JSON");
    if let Some(out) = out {
        if let Some((trace, mut gantt)) = files {
            trace.finish(results.time_ns).map_err(|e| {
                Fault::system(format!("trace.pftrace cannot be written: {e}"), "make room on the disk")
            })?;
            gantt.finish(results.time_ns);
            let extras = HtmlExtras { gantt: Some(gantt), ..HtmlExtras::default() };
            out.write("report.html", weir_report::html(&summary, &extras).as_bytes())?;
        }
        out.write("summary.json", text.as_bytes())?;
        out.write("tasks.csv", weir_report::tasks_csv(&summary).as_bytes())?;
        let shown = ["report.html", "trace.pftrace", "summary.json", "tasks.csv"].map(|n| out.shown(n));
        out.commit()?;
        if !args.quiet {
            note(&format!("written: {}", shown.join("  ")));
        }
    }
    if args.json {
        print(&(text + "\n"))?;
    } else if !args.quiet {
        print(&weir_report::table(&summary, &screen()))?;
        print(&counters(results))?;
    }
    for (name, hart, cause) in results.faults() {
        note(&format!("runweir: the kernel ended `{name}` on hart {hart}: {}", cause_text(cause)));
    }
    if results.dropped() > 0 && !args.quiet {
        note(&format!(
            "runweir: {} found no room; --duration makes the run shorter",
            units::plural(results.dropped(), "event")
        ));
    }
    if results.why == StopWhy::Waiting {
        return Err(Fault::system(
            format!(
                "after {} every program waits, and no event is pending",
                units::duration(results.time_ns)
            ),
            "a program ends with the return from main(); one that serves others for ever needs --duration",
        ));
    }
    Ok(if results.failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn counters(results: &Results) -> String {
    let mut text = String::new();
    let per = |sum: u64, n: u64| sum.checked_div(n).unwrap_or(0);
    for (i, h) in results.harts.iter().enumerate() {
        text += &format!(
            "hart {i}: {} picks of {} instructions, {} upcalls; messages: {} short, {} long, {} buffered; {} pokes\n",
            h.picks,
            per(h.pick_ns, h.picks),
            h.upcalls,
            h.messages_short,
            h.messages_long,
            h.messages_buffered,
            h.pokes
        );
    }
    text
}

fn cause_text(cause: u64) -> &'static str {
    match cause {
        0 | 1 => "it jumped to memory that it may not execute",
        2 => "an instruction that only the kernel may use, or none at all",
        3 => "a breakpoint",
        4 | 6 => "an address that is not aligned",
        5 => "it read memory that is not its own",
        7 => "it wrote memory that is not its own",
        64 => "a monitor asked for it",
        _ => "a trap that it does not catch",
    }
}

/// A program by its name, as an image, or as a C file.
fn program(word: &str, folder: &Path, work: &Path) -> Result<(String, Image)> {
    let path = Path::new(word);
    let stem = path.file_stem().map_or_else(|| word.to_owned(), |s| s.to_string_lossy().into_owned());
    let built = folder.join(format!("{word}.image"));
    if path.components().count() == 1 && built.is_file() {
        return Ok((stem, image(folder, word).map_err(fault)?));
    }
    if !path.is_file() {
        let mut names: Vec<String> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|e| e.file_name().to_string_lossy().strip_suffix(".image").map(str::to_owned))
            .filter(|n| n != "monitor" && n != "console")
            .collect();
        names.sort();
        return Err(Fault::user(
            format!("there is no program `{word}`"),
            format!("name a C file, or one of {}", names.join(", ")),
        ));
    }
    if path.extension().is_none_or(|e| e != "c") {
        let bytes = fs::read(path).map_err(|e| {
            Fault::user(format!("`{word}` cannot be read: {e}"), "name a file that you may read")
        })?;
        return Ok((stem, Image::parse(word, &bytes).map_err(fault)?));
    }
    let script = build_script().ok_or_else(|| {
        Fault::system(
            "runtimes/bare/build.sh is not here",
            "C files are compiled with a checkout; RUNWEIR_ROOT names its folder",
        )
    })?;
    // Objects of the library, and what is made of them, stay apart.
    let own = work.join("own");
    let copy = || -> std::io::Result<()> {
        fs::create_dir_all(own.join("obj"))?;
        for entry in fs::read_dir(folder.join("obj"))? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("lib-") {
                fs::copy(entry.path(), own.join("obj").join(entry.file_name()))?;
            }
        }
        Ok(())
    };
    copy()
        .map_err(|e| Fault::system(format!("the library cannot be copied: {e}"), "`make bare` builds it"))?;
    let output =
        Command::new(&script).arg("-").arg(&own).arg(path).output().map_err(|e| {
            Fault::system(format!("`{}` cannot be run: {e}", script.display()), "it needs bash")
        })?;
    if !output.status.success() {
        let _ = std::io::stderr().write_all(&output.stderr);
        return Err(Fault::user(
            format!("`{word}` does not compile"),
            "the compiler's words are above; weir/mk.h has what programs may call",
        ));
    }
    Ok((stem.clone(), image(&own, &stem).map_err(fault)?))
}

/// In the checkout that RUNWEIR_ROOT names, or that this program was built in.
fn build_script() -> Option<PathBuf> {
    let named = std::env::var_os("RUNWEIR_ROOT").map(PathBuf::from);
    let own = std::env::current_exe().ok();
    let around = own.as_deref().into_iter().flat_map(Path::ancestors).map(Path::to_path_buf);
    named.into_iter().chain(around).map(|p| p.join("runtimes/bare/build.sh")).find(|p| p.is_file())
}
