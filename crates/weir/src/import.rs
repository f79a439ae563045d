// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A recording of a real machine as a workload, and how true it is.

use std::fmt::Write;

use serde::Serialize;
use weir_model::{Machine, Workload};
use weir_report::{Dist, Meta, Metrics, Summary};
use weir_sim::engine::{self, RunConfig};
use weir_trace::{GroupFit, Recording, Speeds, Wakeups};

pub use weir_trace::Mode;

use crate::fault::{Fault, Result};
use crate::input;
use crate::units::show_ns;
use crate::watch::Watch;
use crate::{machine, topology};

/// Largest recording that is read.
const MAX_FILE: u64 = 8 << 30;

/// The scheduler that stands for the one that was recorded.
const RECORDED_UNDER: &str = "linux";

/// Groups in the fidelity table.
const ROWS: usize = 12;

/// What is to be imported, and how.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    pub file: String,
    pub mode: Mode,
    pub anonymise: bool,
    /// The recorded machine; `None`: equal CPUs, as many as the recording says.
    pub machine: Option<String>,
    /// Part of the recording, ns from its beginning.
    pub span: Option<(u64, u64)>,
    /// Replay the workload and compare.
    pub fidelity: bool,
    /// The scheduler that was recorded, a name or a file: the replay is under it; `None`: the default scheduler's model.
    pub under: Option<String>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            file: String::new(),
            mode: Mode::Verbatim,
            anonymise: false,
            machine: None,
            span: None,
            fidelity: true,
            under: None,
        }
    }
}

/// An imported workload.
#[derive(Clone, Debug, Serialize)]
pub struct ImportResult {
    /// The workload file.
    #[serde(skip)]
    pub text: String,
    /// The tool that recorded: `perf sched record`.
    pub source: String,
    pub machine: String,
    pub duration_ns: u64,
    pub cpus: u32,
    pub threads: u64,
    pub tasks: u64,
    pub steps: u64,
    pub wakeups: Wakeups,
    pub lost_events: u64,
    pub mended: u64,
    pub fits: Vec<GroupFit>,
    /// Absent where it was not asked for.
    pub fidelity: Option<Fidelity>,
    /// What the recording does not show.
    pub notes: Vec<String>,
}

/// The recording beside its replay.
#[derive(Clone, Debug, Serialize)]
pub struct Fidelity {
    pub topology: String,
    pub all: Row,
    /// The groups with the most CPU time.
    pub groups: Vec<Row>,
    /// The replay had not done all of its work when the recording's time was over.
    pub unfinished: u64,
}

/// One line of the fidelity table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub recorded: Figures,
    pub replayed: Figures,
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    pub cpu_ns: u64,
    /// Share of all CPUs' time.
    pub utilisation: f64,
    pub switches: u64,
    pub wakeups: u64,
    pub wakeup_p50_ns: Option<u64>,
    pub wakeup_p95_ns: Option<u64>,
    pub wakeup_p99_ns: Option<u64>,
}

/// Read a recording and make a workload of it.
///
/// # Errors
/// The user's: the file cannot be read, is no recording, or is broken; the machine is unknown.
pub fn import(options: &ImportOptions, watch: &dyn Watch) -> Result<ImportResult> {
    let file = match std::path::Path::new(&options.file).join("trace.pftrace") {
        // The folder of a recording of our own.
        inside if inside.is_file() => inside.to_string_lossy().into_owned(),
        _ => options.file.clone(),
    };
    let bytes = input::read_bytes(&file, MAX_FILE)?;
    let of_file = |e: weir_trace::Error| Fault::user(format!("{}: {}", options.file, e.message), e.help);
    let mut recording = weir_trace::read(&bytes).map_err(of_file)?;
    drop(bytes);
    if let Some((from, to)) = options.span {
        if from >= recording.duration_ns() {
            return Err(Fault::user(
                format!(
                    "the span begins after the end of the recording, which lasts {}",
                    show_ns(recording.duration_ns())
                ),
                "name a part of it, such as --span 0..1s",
            ));
        }
        recording = recording.span(from, to);
    }
    let spec = options.machine.clone().unwrap_or_else(|| format!("smp-{}", recording.nr_cpus));
    let machine = machine::resolve(&spec)?;
    if machine.nr_cpus() < recording.nr_cpus {
        return Err(Fault::user(
            format!(
                "the recording has {} CPUs, the machine `{spec}` only {}",
                recording.nr_cpus,
                machine.nr_cpus()
            ),
            "name the machine that was recorded with --machine, or leave it out",
        ));
    }
    let name = std::path::Path::new(&options.file).file_name().map(|n| n.to_string_lossy().into_owned());
    let imported = weir_trace::import(
        &recording,
        &weir_trace::Options {
            mode: options.mode,
            anonymise: options.anonymise,
            file: name.as_deref().unwrap_or(""),
            speeds: speeds(&machine, options.machine.is_some(), recording.nr_cpus),
        },
    )
    .map_err(of_file)?;
    let workload = parse(&imported.text)?;
    let fidelity = match options.fidelity {
        true => Some(fidelity(&recording, options, &machine, &workload, watch)?),
        false => None,
    };
    let mut notes = imported.notes;
    if recording.lost > 0 {
        notes.push(format!(
            "the tool lost at least {} events: times and counts are uncertain by as much (record with larger buffers)",
            recording.lost
        ));
    }
    if recording.mended > 0 {
        notes.push(format!(
            "at {} places events are missing; each gap was closed with the least that explains it",
            recording.mended
        ));
    }
    if imported.wakeups.by_threads == 0 && imported.wakeups.unknown > 0 && options.mode == Mode::Verbatim {
        notes.push("nobody is known to have woken anybody: a slower scheduler does not delay whom a thread would have woken".into());
    }
    notes.push("spinning and locks that were free are part of the computing time; affinities of user threads are not recorded".into());
    Ok(ImportResult {
        text: imported.text,
        source: recording.source.name().into(),
        machine: machine.shape.name.clone(),
        duration_ns: recording.duration_ns(),
        cpus: recording.nr_cpus,
        threads: recording.threads.len() as u64,
        tasks: imported.tasks,
        steps: imported.steps,
        wakeups: imported.wakeups,
        lost_events: recording.lost,
        mended: recording.mended,
        fits: imported.groups,
        fidelity,
        notes,
    })
}

/// How fast CPUs are: the machine's capacities. Its clocks count only where the user named it; else the highest that was recorded.
fn speeds(machine: &Machine, named: bool, nr_cpus: u32) -> Speeds {
    Speeds {
        capacity: (0..nr_cpus).map(|c| machine.shape.cpus[c as usize].capacity).collect(),
        top_khz: (0..nr_cpus).map(|c| if named { machine.top_hz(c) / 1000 } else { 0 }).collect(),
    }
}

/// The text as the simulator reads it: what is written can be read.
fn parse(text: &str) -> Result<Workload> {
    let read = |_: &str| Ok(text.as_bytes().to_vec());
    Workload::resolve("imported.toml", 1, &read, &[]).map_err(machine::fault)
}

/// Replays a workload on the recorded machine, and compares with the recording.
fn fidelity(
    recording: &Recording,
    options: &ImportOptions,
    machine: &Machine,
    workload: &Workload,
    watch: &dyn Watch,
) -> Result<Fidelity> {
    let meta = Meta { nr_cpus: recording.nr_cpus, ..Meta::default() };
    let mut metrics = Metrics::new(meta);
    recording.observe(&mut metrics, &recording.groups(options.anonymise));
    let recorded = metrics.finish(recording.duration_ns());

    let source = topology::source(options.under.as_deref().unwrap_or(RECORDED_UNDER))?;
    let compiled = topology::compile(&source, &machine.shape, &[])?;
    let mut metrics = Metrics::new(Meta { nr_cpus: machine.nr_cpus(), ..Meta::default() });
    let config = RunConfig {
        seed: 1,
        duration_ns: Some(recording.duration_ns().max(1)),
        stop: Some(watch.stop()),
        ..RunConfig::default()
    };
    let costs = machine::costs("default")?;
    let running = watch.running();
    let outcome = engine::run(machine, &compiled.plan, workload, &costs, &config, &mut metrics)
        .map_err(machine::fault)?;
    drop(running);
    if outcome.interrupted {
        return Err(Fault::system(
            "the replay was interrupted",
            "run the import again, or with --no-fidelity",
        ));
    }
    let replayed = metrics.finish(recording.duration_ns().max(outcome.end_ns));

    let mut groups = Vec::new();
    let mut order: Vec<_> = recorded.groups.iter().collect();
    order.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then_with(|| a.name.cmp(&b.name)));
    for group in order.into_iter().take(ROWS) {
        groups.push(Row {
            name: group.name.clone(),
            recorded: of_group(&recorded, &group.name),
            replayed: of_group(&replayed, &group.name),
        });
    }
    Ok(Fidelity {
        topology: source.stem().into(),
        all: Row { name: "all".into(), recorded: of_all(&recorded), replayed: of_all(&replayed) },
        groups,
        unfinished: outcome.alive.into(),
    })
}

fn quantiles(d: &Dist) -> [Option<u64>; 3] {
    let some = |ns| (!d.is_empty()).then_some(ns);
    [some(d.p50), some(d.p95), some(d.p99)]
}

fn figures(s: &Summary, cpu_ns: u64, switches: u64, wakeups: u64, d: &Dist) -> Figures {
    let all = s.duration_ns.max(1) as f64 * s.cpus.len().max(1) as f64;
    let [wakeup_p50_ns, wakeup_p95_ns, wakeup_p99_ns] = quantiles(d);
    Figures {
        cpu_ns,
        utilisation: cpu_ns as f64 / all,
        switches,
        wakeups,
        wakeup_p50_ns,
        wakeup_p95_ns,
        wakeup_p99_ns,
    }
}

fn of_all(s: &Summary) -> Figures {
    figures(s, s.totals.busy_ns, s.totals.context_switches, s.totals.jobs, &s.wakeup_latency_ns)
}

/// A group's tasks; a fitted group may have a name with what sets it apart behind it.
fn of_group(s: &Summary, name: &str) -> Figures {
    let belongs = |n: &str| {
        n == name
            || n.strip_prefix(name)
                .is_some_and(|r| [" nice ", " rt ", " cpu "].iter().any(|k| r.starts_with(k)))
    };
    let tasks = s.tasks.iter().filter(|t| belongs(&t.group));
    let (mut cpu_ns, mut switches) = (0, 0);
    for t in tasks {
        cpu_ns += t.cpu_ns;
        switches += t.switches;
    }
    let groups: Vec<_> = s.groups.iter().filter(|g| belongs(&g.name)).collect();
    let jobs = groups.iter().map(|g| g.jobs).sum();
    // Quantiles of several groups cannot be added: those of the largest count.
    let largest = groups.iter().max_by_key(|g| g.jobs).map(|g| g.wakeup_latency_ns).unwrap_or_default();
    figures(s, cpu_ns, switches, jobs, &largest)
}

impl Figures {
    /// Relative deviation of each figure from the recorded one, in the order of the table; `None` where one has no value.
    fn deviations(&self, recorded: &Figures) -> [Option<f64>; 5] {
        let rel = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) if b > 0 => Some(a as f64 / b as f64 - 1.0),
            (Some(0), Some(0)) => Some(0.0),
            _ => None,
        };
        [
            rel(Some(self.cpu_ns), Some(recorded.cpu_ns)),
            rel(Some(self.switches), Some(recorded.switches)),
            rel(self.wakeup_p50_ns, recorded.wakeup_p50_ns),
            rel(self.wakeup_p95_ns, recorded.wakeup_p95_ns),
            rel(self.wakeup_p99_ns, recorded.wakeup_p99_ns),
        ]
    }
}

impl ImportResult {
    /// For the terminal: what was imported, what was fitted, how true it is, what cannot be seen.
    pub fn table(&self) -> String {
        let mut t = String::new();
        let _ = writeln!(
            t,
            "{}: {} on {} CPUs, {} threads -> {} tasks, {} steps",
            self.source,
            show_ns(self.duration_ns),
            self.cpus,
            self.threads,
            self.tasks,
            self.steps
        );
        let w = &self.wakeups;
        let _ = writeln!(
            t,
            "wake-ups: {} by threads (signal and wait), {} by interrupts (timed), {} unknown (timed)",
            w.by_threads, w.by_interrupts, w.unknown
        );
        if !self.fits.is_empty() {
            let _ = writeln!(
                t,
                "\n{:<20} {:>7} {:>7} {:>8}  {:<18} {:<24}",
                "group", "threads", "tasks", "jobs", "arrivals (D, p)", "run (D, p)"
            );
            for f in &self.fits {
                let arrivals = match (f.arrivals_distance, f.arrivals_p) {
                    (Some(d), Some(p)) => format!("{} {d:.3} {p:.2}", f.arrivals),
                    _ => f.arrivals.clone(),
                };
                let shape = f.run.split(' ').next().unwrap_or("");
                let shape = if shape.starts_with(|c: char| c.is_ascii_digit()) { "" } else { shape };
                let run = format!(
                    "{} {:.3} {:.2}",
                    if shape.is_empty() { &f.run } else { shape },
                    f.run_distance,
                    f.run_p
                );
                let _ = writeln!(
                    t,
                    "{:<20} {:>7} {:>7} {:>8}  {:<18} {:<24}",
                    clip(&f.name),
                    f.threads,
                    f.tasks,
                    f.jobs,
                    arrivals,
                    run
                );
            }
        }
        if let Some(f) = &self.fidelity {
            let _ = writeln!(t, "\nreplayed under {} on {}, beside the recording:", f.topology, self.machine);
            let _ = writeln!(
                t,
                "{:<20} {:>21} {:>17} {:>24} {:>24}",
                "", "CPU time", "switches", "wake-up p50", "wake-up p99"
            );
            for row in std::iter::once(&f.all).chain(&f.groups) {
                let d = row.replayed.deviations(&row.recorded);
                let pair = |a: String, b: String, d: Option<f64>| match d {
                    Some(d) => format!("{a} -> {b} {:+.0}%", d * 100.0),
                    None => format!("{a} -> {b}"),
                };
                let ns = |n: Option<u64>| n.map_or_else(|| "-".into(), show_ns);
                let (a, b) = (&row.recorded, &row.replayed);
                let _ = writeln!(
                    t,
                    "{:<20} {:>21} {:>17} {:>24} {:>24}",
                    clip(&row.name),
                    pair(show_ns(a.cpu_ns), show_ns(b.cpu_ns), d[0]),
                    pair(a.switches.to_string(), b.switches.to_string(), d[1]),
                    pair(ns(a.wakeup_p50_ns), ns(b.wakeup_p50_ns), d[2]),
                    pair(ns(a.wakeup_p99_ns), ns(b.wakeup_p99_ns), d[4]),
                );
            }
            let (a, b) = (f.all.recorded.utilisation, f.all.replayed.utilisation);
            let _ = writeln!(t, "utilisation {:.1} % -> {:.1} %", a * 100.0, b * 100.0);
        }
        t.push_str("\nnot seen:\n");
        for note in &self.notes {
            let _ = writeln!(t, "- {note}");
        }
        t
    }
}

fn clip(name: &str) -> String {
    name.chars().take(20).collect()
}
