// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A recording of a real machine as a workload, and how faithful it is.

use std::fmt::Write;

use serde::Serialize;
use weir_model::{Machine, Workload};
use weir_report::{Columns, Screen, count};
use weir_trace::{GroupFit, Recording, Speeds, Wakeups};

pub use weir_trace::Mode;

pub use crate::fidelity::{Fidelity, Figures, Manner, Row, Verdict};

use crate::explain::Explainer;
use crate::fault::{Fault, Result};
use crate::fidelity::{RECORDED, fidelity};
use crate::input;
use crate::machine;
use crate::requests::{Requests, Told};
use crate::session::trace_in;
use crate::units::{duration, plural};
use crate::watch::Watch;

/// Largest recording that is read.
const MAX_FILE: u64 = 8 << 30;

/// Longest requests that are listed.
const SLOWEST: usize = 3;

/// The recording to be imported, and options.
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
    /// Costs of scheduling in the replay: as for a run, or `recorded`, the default ones with the recorded machine's cost of a context switch.
    pub costs: String,
    /// What the workload asks for and the replay's scheduler does not obey is an error.
    pub strict: bool,
    /// Whose requests are compared, too.
    pub requests: Option<Told>,
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
            costs: RECORDED.into(),
            strict: false,
            requests: None,
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
    /// Those of the recording, where they were asked for; those of the replay are in `fidelity`.
    pub requests: Option<Requests>,
    /// Facts that the recording does not show.
    pub notes: Vec<String>,
}

/// Read a recording and make a workload of it.
///
/// # Errors
/// The user's: the file cannot be read, is not a recording, or is broken; the machine is unknown.
pub fn import(options: &ImportOptions, watch: &dyn Watch) -> Result<ImportResult> {
    Opened::read(options)?.import(options, watch)
}

/// A recording that was read, or a part of it.
pub(crate) struct Opened {
    pub recording: Recording,
    machine: Machine,
}

impl Opened {
    /// The file and the machine that `options` name.
    pub fn read(options: &ImportOptions) -> Result<Self> {
        // The folder of a recording of our own.
        let file = match trace_in(std::path::Path::new(&options.file)) {
            Some(inside) => inside.to_string_lossy().into_owned(),
            None => options.file.clone(),
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
                        duration(recording.duration_ns())
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
                    "the recording has {}, the machine `{spec}` only {}",
                    plural(recording.nr_cpus, "CPU"),
                    machine.nr_cpus()
                ),
                "name the machine that was recorded with --machine, or leave it out",
            ));
        }
        Ok(Self { recording, machine })
    }

    /// The part between two times, ns from the beginning.
    pub fn part(&self, from: u64, to: u64) -> Self {
        Self { recording: self.recording.clone().span(from, to), machine: self.machine.clone() }
    }

    /// As a workload.
    pub fn import(&self, options: &ImportOptions, watch: &dyn Watch) -> Result<ImportResult> {
        let Self { recording, machine } = self;
        let of_file = |e: weir_trace::Error| Fault::user(format!("{}: {}", options.file, e.message), e.help);
        let name = std::path::Path::new(&options.file).file_name().map(|n| n.to_string_lossy().into_owned());
        let imported = weir_trace::import(
            recording,
            &weir_trace::Options {
                mode: options.mode,
                anonymise: options.anonymise,
                file: name.as_deref().unwrap_or(""),
                speeds: speeds(machine, options.machine.is_some(), recording.nr_cpus),
            },
        )
        .map_err(of_file)?;
        let workload = parse(&imported.text)?;
        let fidelity = match options.fidelity {
            true => Some(fidelity(recording, options, machine, &workload, watch)?),
            false => None,
        };
        let requests = match &options.requests {
            Some(told) => {
                let history = weir_trace::history::from_recording(recording);
                Some(Explainer::of_history(history).requests(told, SLOWEST)?)
            }
            None => None,
        };
        let mut notes = imported.notes;
        notes.extend(recording.gaps());
        if imported.wakeups.by_threads == 0 && imported.wakeups.unknown > 0 && options.mode == Mode::Verbatim
        {
            notes.push("no thread is known to have woken another: a slower scheduler does not delay the threads that a thread would have woken".into());
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
            requests,
            notes,
        })
    }
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

impl ImportResult {
    /// For the terminal: what was imported, what was fitted, how true it is, what cannot be seen.
    pub fn table(&self, screen: &Screen) -> String {
        let mut t = String::new();
        let _ = writeln!(
            t,
            "{}: {} on {}, {} -> {}, {}",
            self.source,
            duration(self.duration_ns),
            plural(self.cpus, "CPU"),
            plural(self.threads, "thread"),
            plural(self.tasks, "task"),
            plural(self.steps, "step")
        );
        let w = &self.wakeups;
        let _ = writeln!(
            t,
            "wake-ups: {} by threads (signal and wait), {} by interrupts (timed), {} unknown (timed)",
            w.by_threads, w.by_interrupts, w.unknown
        );
        if !self.fits.is_empty() {
            let mut columns =
                Columns::new(["group", "threads", "tasks", "jobs", "arrivals (D, p)", "run (D, p)"])
                    .giving_way(&["threads"]);
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
                let numbers = [f.threads, f.tasks, f.jobs].map(count);
                columns.row([f.name.clone()].into_iter().chain(numbers).chain([arrivals, run]));
            }
            t.push('\n');
            t += &columns.render(0, screen);
            t.push_str(
                "D: largest distance between the recorded and the fitted distribution; p: chance of one as large, too high because the fit \
                 is to the same samples. A small p rejects a fit; a large one does not prove it\n",
            );
        }
        if let Some(f) = &self.fidelity {
            t += &f.table(&self.machine, screen);
        }
        if let Some(r) = &self.requests {
            t.push_str("\nrequests, recorded:\n");
            t += &r.table(screen);
            match self.fidelity.as_ref().and_then(|f| f.requests.as_ref()) {
                Some(again) if again.count > 0 => {
                    let l = &again.latency_ns;
                    let _ = writeln!(
                        t,
                        "in the replay: {}, p50 {}, p95 {}, p99 {}, max {}",
                        count(again.count),
                        duration(l.p50),
                        duration(l.p95),
                        duration(l.p99),
                        duration(l.max)
                    );
                }
                Some(_) => t.push_str("in the replay: none was seen from its beginning to its end\n"),
                None => {}
            }
        }
        t.push_str("\nnot seen:\n");
        for note in &self.notes {
            let _ = writeln!(t, "- {note}");
        }
        screen.fold(&t)
    }
}
