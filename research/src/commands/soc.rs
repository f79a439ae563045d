// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir soc`: a program on simulated RISC-V cores, with the scheduler in software or in hardware.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use runweir_lab::soc::measure::{Clocks, SocOptions, SocResult};
use runweir_lab::soc::{System, apps};
use weir::OutDir;

use runweir::output::{json, note, pairs, print, screen};
use runweir::progress::Progress;
use runweir::stop;
use weir::units::parse_duration;
use weir::{Fault, Result};

#[derive(Debug, Args)]
#[command(after_help = "\
Systems:
  software   one CPU; scheduler in software, interrupts above all threads
  threaded   one CPU; scheduler in software, interrupts served by threads
  unified    one CPU; lists in software, the unified controller decides which thread interrupts
  hardware   threads, synchronisation, interrupts and timers in hardware
  tick       periodic tasks by least laxity, decided in software at each tick
  engine     periodic tasks by least laxity, decided by the scheduling engine
  freertos   one CPU (VexRiscv); FreeRTOS, with tasks that the scheduling engine schedules

Examples:
  runweir soc                                         the programs
  runweir soc --system unified -- base
  runweir soc --system software --out out -- web PERIOD=4000 REQUESTS=500
  runweir soc --system engine --cpus 2 -- periodic TASKS=8
  runweir soc --system hardware --cpus 2 -- hackbench
  runweir soc --system freertos -- freertos TICK=20000

The first run of a configuration builds its simulator (half a minute), which is kept. Needs the tools of
`make hw-setup`. docs/hardware-registers.md says what programs may call.")]
pub struct SocArgs {
    /// What schedules
    #[arg(long, value_name = "S", default_value = "hardware", value_parser = PossibleValuesParser::new(System::ALL.map(System::name)))]
    pub system: String,
    /// CPUs; more than one for `hardware`, `tick` and `engine` only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub cpus: u32,
    /// Tasks that the scheduling engine has room for
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub tasks: u32,
    /// Clock of the system, MHz: turns clocks into time
    #[arg(long, value_name = "MHZ", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clock: u32,
    /// End the program after this much simulated time, with its unit
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s", allow_hyphen_values = true)]
    pub limit: u64,
    /// Write summary.json, tasks.csv, jobs.csv, wakeups.csv, trace.pftrace and report.html into this folder
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Let --out write into a folder that has other files; they are kept
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print as JSON, and nothing else, on stdout
    #[arg(long)]
    pub json: bool,
    /// Print errors only: no table, progress or warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Program: a name from the list or a file of C; then NAME=NUMBER for its macros. Default: show the list
    #[arg(last = true, value_name = "APP", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub app: Vec<String>,
}

/// Run, and print what was measured.
pub fn soc(args: &SocArgs) -> Result<ExitCode> {
    let Some((app, defines)) = args.app.split_first() else { return list(args) };
    let system = System::ALL.into_iter().find(|s| s.name() == args.system).expect("clap has checked it");
    let options = SocOptions {
        cpus: args.cpus,
        tasks: args.tasks,
        defines: defines.to_vec(),
        hz: u64::from(args.clock) * 1_000_000,
        limit_ns: args.limit,
        ..SocOptions::new(system, app)
    };
    let out = args.out.as_deref().map(|dir| OutDir::prepare(dir, args.force)).transpose()?;
    stop::install()?;
    let progress = Progress::new(1, false, !args.quiet);
    let done = runweir_lab::soc::measure::soc(&options, out.as_ref(), &progress);
    progress.finish();
    let done = done?;
    let written = out.as_ref().map(|o| {
        let names = ["report.html", "trace.pftrace", "summary.json", "tasks.csv", "jobs.csv", "wakeups.csv"];
        names.map(|n| o.shown(n)).join("  ")
    });
    if let Some(out) = out {
        out.commit()?;
    }
    if args.json {
        print(&done.to_json())?;
    } else if !args.quiet {
        print(&text(&done))?;
    }
    if let Some(written) = written.filter(|_| !args.quiet) {
        note(&format!("written: {written}"));
    }
    match done.outcome.status {
        Some(0) => Ok(ExitCode::SUCCESS),
        Some(status) => Err(Fault::system(
            format!("the program ended with status {status}"),
            "its source says what that means; its output is above",
        )),
        None if done.summary.interrupted => Ok(ExitCode::from(1)),
        None => Err(Fault::system(
            format!("the program did not end within {}", weir::units::exact(args.limit)),
            "give it more time with --limit",
        )),
    }
}

/// The programs.
fn list(args: &SocArgs) -> Result<ExitCode> {
    if args.out.is_some() {
        return Err(Fault::user(
            "no program is named",
            "name one after --, as in `runweir soc --system unified -- base`",
        ));
    }
    if args.json {
        let entry = |a: &runweir_lab::soc::App| serde_json::json!({ "name": a.name, "summary": a.summary(), "systems": a.interface().systems() });
        print(&json(&apps().iter().map(entry).collect::<Vec<_>>())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<(String, String)> = apps()
        .iter()
        .map(|a| (a.name.clone(), format!("{} ({})", a.summary(), a.interface().systems().join(", "))))
        .collect();
    print(&pairs(&rows, &screen()))?;
    Ok(ExitCode::SUCCESS)
}

/// The table of a run, what the hardware saw, and what the program measured.
fn text(done: &SocResult) -> String {
    let mut text = weir_report::table(&done.summary, &screen());
    let soc = &done.soc;
    text.push_str(&format!(
        "\n{} clocks at {} MHz\n{:<34}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        soc.clocks,
        soc.hz / 1_000_000,
        "clocks",
        "count",
        "min",
        "mean",
        "p50",
        "p99",
        "max"
    ));
    let mut row = |what: &str, c: &Clocks| {
        if c.count > 0 {
            text.push_str(&format!(
                "{what:<34}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
                c.count, c.min, c.mean, c.p50, c.p99, c.max
            ));
        }
    };
    row("interrupt to kernel", &soc.irq_to_kernel);
    row("interrupt to a thread", &soc.irq_to_thread);
    row("in the kernel, each time", &soc.kernel);
    row("event of a device to its service", &soc.event_to_service);
    if !done.outcome.figures.is_empty() {
        text.push_str("\nmeasured by the program:\n");
        for (name, value) in &done.outcome.figures {
            text.push_str(&format!("  {name:<30} {value:>12}\n"));
        }
    }
    for line in &done.outcome.text {
        text.push_str(&format!("  {line}\n"));
    }
    text
}
