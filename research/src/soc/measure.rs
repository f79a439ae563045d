// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program on the simulated system, measured: summary, trace and reports as of every other run.

use std::io::BufWriter;
use std::time::Instant;

use serde::Serialize;
use weir::outdir::write_error;
use weir::{Fault, OutDir, Result, Watch};
use weir_report::{Gantt, HtmlExtras, Jobs, Meta, Metrics, Summary, Trace, Wakeups};

use crate::soc::build::{App, Options, Soc, System};
use crate::soc::error::{Error, ErrorKind};
use crate::soc::run::Outcome;

/// The run's inputs.
#[derive(Clone, Debug)]
pub struct SocOptions {
    pub system: System,
    pub cpus: u32,
    /// Tasks of the scheduling engine, 2 to 64.
    pub tasks: u32,
    /// A program that comes with Runweir, or a file of C.
    pub app: String,
    /// Macros of the program, as NAME=VALUE.
    pub defines: Vec<String>,
    /// Clocks of a second.
    pub hz: u64,
    /// The program is ended after this much simulated time.
    pub limit_ns: u64,
}

impl SocOptions {
    pub fn new(system: System, app: &str) -> Self {
        Self {
            system,
            cpus: 1,
            tasks: 16,
            app: app.into(),
            defines: Vec::new(),
            hz: 50_000_000,
            limit_ns: 60_000_000_000,
        }
    }
}

/// Least, mean, middle and greatest of some figures, clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clocks {
    pub count: u64,
    pub min: u64,
    pub mean: u64,
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

impl Clocks {
    pub fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut all: Vec<u64> = values.collect();
        if all.is_empty() {
            return Self::default();
        }
        all.sort_unstable();
        let at = |q: usize| all[(all.len() * q / 100).min(all.len() - 1)];
        Self {
            count: all.len() as u64,
            min: all[0],
            mean: all.iter().sum::<u64>() / all.len() as u64,
            p50: at(50),
            p99: at(99),
            max: all[all.len() - 1],
        }
    }
}

/// Facts about such a run beside those of every run.
#[derive(Clone, Debug, Serialize)]
pub struct SocSummary {
    pub system: String,
    pub hz: u64,
    pub clocks: u64,
    /// The program's exit value; `null` if it did not end.
    pub status: Option<u32>,
    /// From an interrupt's rise to the kernel's first instruction.
    pub irq_to_kernel: Clocks,
    /// From an interrupt's rise to the first instruction of a thread after it.
    pub irq_to_thread: Clocks,
    /// From the kernel's first instruction to a thread's.
    pub kernel: Clocks,
    /// How long events of devices waited until they were taken.
    pub event_to_service: Clocks,
    pub events: u64,
    /// Values that the program printed as `= NAME VALUE`.
    pub figures: serde_json::Map<String, serde_json::Value>,
}

/// A finished run.
pub struct SocResult {
    pub summary: Summary,
    pub soc: SocSummary,
    pub outcome: Outcome,
}

impl SocResult {
    /// The summary of a run, with `soc` beside its fields.
    pub fn to_json(&self) -> String {
        let mut value = serde_json::to_value(&self.summary).expect("strings and numbers only");
        value["soc"] = serde_json::to_value(&self.soc).expect("strings and numbers only");
        let mut text = serde_json::to_string_pretty(&value).expect("strings and numbers only");
        text.push('\n');
        text
    }
}

/// Ours for theirs.
fn fault(e: Error) -> Fault {
    match e.kind {
        ErrorKind::Input => Fault::user(e.message, e.help),
        _ => Fault::system(e.message, e.help),
    }
}

/// The macro that the user gives.
fn define(text: &str) -> Result<(String, String)> {
    let word = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match text.split_once('=') {
        Some((name, value))
            if word(name) && word(value) && !name.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            Ok((name.into(), value.into()))
        }
        _ => Err(Fault::user(
            format!("`{}` is not a setting of the program", text.escape_debug()),
            "write NAME=NUMBER; the program's source says which names it has",
        )),
    }
}

/// Build what is needed, and run the program to its end. With `out`, trace and reports are written into it; the caller
/// commits them.
///
/// # Errors
/// The user's: there is no such program, it cannot be compiled, or does not fit the system. The system's: tools are missing.
pub fn soc(options: &SocOptions, out: Option<&OutDir>, watch: &dyn Watch) -> Result<SocResult> {
    let app = App::named(&options.app).map_err(fault)?;
    let mut wanted = Options::new(options.system, app);
    wanted.cpus = options.cpus;
    wanted.tasks = options.tasks;
    wanted.defines = options.defines.iter().map(|d| define(d)).collect::<Result<_>>()?;
    wanted.limit = (u128::from(options.limit_ns) * u128::from(options.hz) / 1_000_000_000) as u64;
    let name = wanted.app.name.clone();
    let ready = Soc::prepare(&wanted, &|text| watch.remark(text)).map_err(fault)?;
    let meta = Meta {
        runweir: env!("CARGO_PKG_VERSION").into(),
        topology: options.system.name().into(),
        machine: format!("soc-{}", options.cpus),
        workload: name,
        nr_cpus: options.cpus,
        ..Meta::default()
    };
    let writers = match out {
        Some(out) => {
            let file = |name: &str| -> Result<BufWriter<_>> { out.create(name) };
            let trace = Trace::new(meta.clone(), Box::new(file("trace.pftrace")?));
            let jobs = Jobs::new(Box::new(file("jobs.csv")?));
            Some(((trace, (jobs, Wakeups::new(Box::new(file("wakeups.csv")?)))), Gantt::default()))
        }
        None => None,
    };
    let mut observer = (Metrics::new(meta), writers);
    let began = Instant::now();
    let limit = Some(options.limit_ns);
    let ns = |clocks: u64| (u128::from(clocks) * 1_000_000_000 / u128::from(options.hz)) as u64;
    let outcome = {
        let _running = watch.running();
        ready
            .run(options.hz, &mut observer, watch.stop(), &|clocks| watch.at(0, ns(clocks), limit))
            .map_err(fault)?
    };
    let end_ns = ns(outcome.clocks);
    let (metrics, writers) = observer;
    let mut summary = metrics.finish(end_ns);
    summary.interrupted = outcome.ended == "stopped";
    let soc = summed(options, &outcome);
    if outcome.ended == "trap" {
        return Err(Fault::system(
            format!(
                "the program stopped at clock {} by an instruction that the core does not have, or a wrong address",
                outcome.clocks
            ),
            "look for a stack that is too small (1 KiB a thread) or a bad pointer in the program",
        ));
    }
    let mut result = SocResult { summary, soc, outcome };
    if let (Some(out), Some(((trace, (jobs, wakeups)), mut gantt))) = (out, writers) {
        let failed = |name: &'static str| move |e: std::io::Error| write_error(out.shown(name).as_ref(), &e);
        trace.finish(end_ns).map_err(failed("trace.pftrace"))?;
        jobs.finish(end_ns).map_err(failed("jobs.csv"))?;
        wakeups.finish().map_err(failed("wakeups.csv"))?;
        gantt.finish(end_ns);
        let extras = HtmlExtras { graph_svg: None, gantt: Some(gantt), places: Vec::new() };
        out.write("summary.json", result.to_json().as_bytes())?;
        out.write("tasks.csv", weir_report::tasks_csv(&result.summary).as_bytes())?;
        out.write("report.html", weir_report::html(&result.summary, &extras).as_bytes())?;
    }
    result.summary.wall_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(result)
}

fn summed(options: &SocOptions, outcome: &Outcome) -> SocSummary {
    let visits = &outcome.visits;
    let risen = || visits.iter().filter_map(|v| Some((v.rise?, v)));
    let ages = outcome.ages.values().flatten().map(|a| u64::from(*a));
    SocSummary {
        system: options.system.name().into(),
        hz: options.hz,
        clocks: outcome.clocks,
        status: outcome.status,
        irq_to_kernel: Clocks::of(risen().map(|(r, v)| v.entry - r)),
        irq_to_thread: Clocks::of(risen().map(|(r, v)| v.exit - r)),
        kernel: Clocks::of(visits.iter().map(|v| v.exit - v.entry)),
        event_to_service: Clocks::of(ages),
        events: outcome.events.values().sum(),
        figures: outcome.figures.iter().map(|(n, v)| (n.clone(), (*v).into())).collect(),
    }
}
