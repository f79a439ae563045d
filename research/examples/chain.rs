// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The measuring chain of source 4 on a real kernel: `cargo run --release -p runweir-lab --example chain -- --help`.
//!
//! `runweir live … --counter-log N` writes the log into the kernel's trace; `read` copies lines of it to a file, `drive` runs the
//! benchmark with a reader beside it, `mean` evaluates what `drive` has left, against the log of another scheduler if asked.

use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use runweir_lab::reproduce::pmc::average::{METRICS, Metric, Numbers, Summary};
use runweir_lab::reproduce::pmc::driver::{self, PAUSE, Programs};
use runweir_lab::reproduce::pmc::log::parse;
use runweir_lab::reproduce::pmc::reader::{Filter, Reader};
use runweir_lab::reproduce::pmc::tree::{Tree, forest};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[derive(Parser)]
#[command(about = "Measure what programs do to caches under a scheduler in the kernel")]
struct Chain {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Copy the log's lines to standard output or a file, until SIGKILL or the end of the file
    Read(ReadArgs),
    /// Run the heavy programs together, with light ones in between, and keep log and process numbers of each run
    Drive(DriveArgs),
    /// Means over the runs that `drive` left in DIR
    Mean {
        dir: PathBuf,
        /// Print changes against the runs in this folder instead
        #[arg(long, value_name = "DIR")]
        against: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Source {
    /// Where the kernel's trace is read
    #[arg(long, value_name = "FILE", default_value = "/sys/kernel/tracing/trace_pipe")]
    trace: PathBuf,
}

#[derive(Args)]
struct ReadArgs {
    #[command(flatten)]
    source: Source,
    /// Only lines of the command NAME
    #[arg(long, value_name = "NAME")]
    comm: Option<String>,
    /// Only lines of the thread of this number
    #[arg(long)]
    pid: Option<u32>,
    /// Only lines from this CPU
    #[arg(long)]
    cpu: Option<u32>,
    /// Only lines of this function: copy_process, do_exit, free_task
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct DriveArgs {
    #[command(flatten)]
    source: Source,
    /// A program to measure, with its name for the tables (repeatable)
    #[arg(long, value_name = "NAME=COMMAND", required = true)]
    heavy: Vec<String>,
    /// A program that only disturbs (repeatable)
    #[arg(long, value_name = "COMMAND")]
    light: Vec<String>,
    /// Shortest and longest pause before a light program, ms
    #[arg(long, value_name = "MIN,MAX", value_delimiter = ',', num_args = 1, default_value = "500,3000")]
    pause: Vec<u64>,
    #[arg(long, default_value_t = 30)]
    runs: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Gets run-N.log and run-N.pids
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

fn main() -> ExitCode {
    let done = match Chain::parse().step {
        Step::Read(args) => read(&args),
        Step::Drive(args) => drive(&args),
        Step::Mean { dir, against } => mean(&dir, against.as_deref()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn read(args: &ReadArgs) -> Outcome {
    let mut from = driver::open_trace(&args.source.trace)?;
    let (comm, function) = (args.comm.clone(), args.function.clone());
    let mut reader = Reader::new(Filter { comm, pid: args.pid, cpu: args.cpu, function });
    let counts = match &args.out {
        Some(path) => reader.run(&mut from, &mut fs::File::create(path)?, PAUSE, &|| false)?,
        None => reader.run(&mut from, &mut stdout().lock(), PAUSE, &|| false)?,
    };
    eprintln!("{} lines, {} others, {} lost", counts.kept, counts.dropped, counts.lost);
    Ok(())
}

fn drive(args: &DriveArgs) -> Outcome {
    let named = |text: &String| {
        let (name, command) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=COMMAND"))?;
        Ok::<_, String>((name.to_string(), command.to_string()))
    };
    let &[shortest, longest] = &args.pause[..] else { return Err("--pause takes two numbers".into()) };
    let programs = Programs {
        heavy: args.heavy.iter().map(named).collect::<Result<_, _>>()?,
        light: args.light.clone(),
        pause_ms: (shortest, longest),
    };
    fs::create_dir_all(&args.out)?;
    for n in 1..=args.runs {
        let log = args.out.join(format!("run-{n}.log"));
        let ran = driver::run(&programs, &args.source.trace, &log, args.seed.wrapping_add(n.into()))?;
        let mut pids = fs::File::create(args.out.join(format!("run-{n}.pids")))?;
        for (name, pid) in &ran.roots {
            writeln!(pids, "{name} {pid}")?;
        }
        let (kept, lost) = (ran.counts.kept, ran.counts.lost);
        eprintln!("run {n} of {}: {} light programs, {kept} lines, {lost} lost", args.runs, ran.light);
    }
    Ok(())
}

/// Programs by name, and the numbers of each by run.
type Evaluated = Vec<(String, Vec<Numbers>)>;

fn evaluate(dir: &Path) -> Result<Evaluated, Box<dyn std::error::Error>> {
    let mut programs = Evaluated::new();
    for n in 1.. {
        let pids = match fs::read_to_string(dir.join(format!("run-{n}.pids"))) {
            Ok(text) => text,
            Err(_) if n > 1 => break,
            Err(e) => return Err(format!("no runs in {}: {e}", dir.display()).into()),
        };
        let text = fs::read_to_string(dir.join(format!("run-{n}.log")))?;
        let lines: Vec<_> = text.lines().filter_map(|l| parse(l).transpose()).collect::<Result<_, _>>()?;
        for line in pids.lines() {
            let (name, pid) = line.rsplit_once(' ').ok_or("a damaged list of processes")?;
            let pid: u32 = pid.parse()?;
            let trees = forest(&lines, &[pid]);
            let total = trees.first().map(Tree::total).unwrap_or_default();
            if total.cache_cut > 0 {
                let (cut, all) = (total.cache_cut, total.schedules);
                eprintln!("note: run {n}: {cut} of the {all} cache rates of `{name}` were above one");
            }
            let numbers = trees.first().and_then(Numbers::of);
            let numbers =
                numbers.ok_or_else(|| format!("run {n} does not say how `{name}` began and ended"))?;
            match programs.iter_mut().find(|p| p.0 == name) {
                Some(p) => p.1.push(numbers),
                None => programs.push((name.to_string(), vec![numbers])),
            }
        }
    }
    Ok(programs)
}

fn summary(numbers: &[Numbers], metric: Metric) -> Summary {
    Summary::of(&numbers.iter().map(|n| n.get(metric)).collect::<Vec<_>>())
}

fn mean(dir: &Path, against: Option<&Path>) -> Outcome {
    let ours = evaluate(dir)?;
    let base = against.map(evaluate).transpose()?;
    match base {
        None => println!("program,metric,runs,mean,min,max,deviation"),
        Some(_) => println!("program,metric,base,mean,change_pct"),
    }
    for (name, numbers) in &ours {
        for metric in METRICS {
            let s = summary(numbers, metric);
            let label = metric.name();
            match &base {
                None => {
                    let (runs, deviation) = (s.runs, s.deviation);
                    println!("{name},{label},{runs},{:.6},{:.6},{:.6},{deviation:.6}", s.mean, s.min, s.max);
                }
                Some(base) => {
                    let there = base.iter().find(|b| b.0 == *name);
                    let there = there.ok_or_else(|| format!("the other runs have no `{name}`"))?;
                    let b = summary(&there.1, metric).mean;
                    // Of nothing there is no change in percent.
                    let change =
                        if b == 0.0 { String::new() } else { format!("{:.2}", (s.mean - b) / b * 100.0) };
                    println!("{name},{label},{b:.6},{:.6},{change}", s.mean);
                }
            }
        }
    }
    Ok(())
}
