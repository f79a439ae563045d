// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `--record DIR`: the live run with the files that `run --out` writes.
//!
//! The files grow in a hidden folder beside `DIR` and are moved into place at the end, also after Ctrl-C and
//! where the kernel or the watchdog ended the run. A run that is killed leaves no results.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use weir_core::MachineShape;
use weir_lang::Compiled;
use weir_lang::draw::SvgOptions;
use weir_linux::record::{Recorder, Thread};
use weir_linux::{Control, EventSink, Live, Snapshot, SnapshotSource, clock};
use weir_report::{Gantt, HtmlExtras, Meta, Metrics, Names, ReconfigurationSummary, Summary, Trace};

use crate::fault::Result;
use crate::outdir::{OutDir, write_error};

/// Time between two looks at the depths of pipes.
const SAMPLE: Duration = Duration::from_millis(100);
/// Looks at depths for each look at the names of all tasks.
const NAMES_EVERY: u32 = 10;

/// Names of the files, as the user sees them.
const FILES: [&str; 5] = ["report.html", "trace.pftrace", "summary.json", "tasks.csv", "threads.csv"];

type Observers = (Metrics, (Trace, Gantt));
type Shared = Arc<Mutex<Option<Recorder<Observers>>>>;

/// A recording under way.
pub struct Recording {
    out: OutDir,
    recorder: Shared,
    /// Filled when the scheduler is in charge: the source of names for tasks that no event announced.
    control: Arc<OnceLock<Arc<Control>>>,
    picture: String,
    next: Instant,
    looks: u32,
}

impl Recording {
    /// Check that `dir` may be written and get ready; nothing of the user's changes yet.
    pub fn prepare(dir: &Path, force: bool, topology: &Compiled, machine: &MachineShape) -> Result<Self> {
        let out = OutDir::named("--record", dir, force)?;
        let plan = &topology.plan;
        let meta = Meta {
            runweir: env!("CARGO_PKG_VERSION").into(),
            topology: plan.name.clone(),
            machine: machine.name.clone(),
            workload: "live".into(),
            nr_cpus: machine.nr_cpus(),
            pipes: plan.pipes.iter().map(|p| p.name.clone()).collect(),
            instances: plan.instances.iter().map(|i| i.name.clone()).collect(),
            stages: weir_report::stages(plan),
            ..Meta::default()
        };
        let trace = Trace::new(meta.clone(), Box::new(out.create("trace.pftrace")?));
        let observers = (Metrics::new(meta), (trace, Gantt::default()));
        let control: Arc<OnceLock<Arc<Control>>> = Arc::default();
        let knows = control.clone();
        let resolve = move |task| knows.get()?.identity(task);
        let recorder = Recorder::new(&plan.name, None, observers, Box::new(resolve));
        let picture = weir_lang::draw::svg(&topology.graph, &SvgOptions::default());
        let recorder = Arc::new(Mutex::new(Some(recorder)));
        Ok(Self { out, recorder, control, picture, next: Instant::now(), looks: 0 })
    }

    /// The receiver of events.
    pub fn sink(&self) -> Box<dyn EventSink> {
        Box::new(self.recorder.clone())
    }

    /// The scheduler is in charge.
    pub fn begin(&mut self, live: &Live) {
        let control = live.control();
        control.take_changes();
        let _ = self.control.set(control);
    }

    /// To be called often: takes notice of switches, and now and then of depths and names.
    pub fn tick(&mut self, live: &Live) {
        let control = live.control();
        let mut guard = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(recorder) = guard.as_mut() else { return };
        changes(recorder, &control);
        if Instant::now() >= self.next {
            self.next = Instant::now() + SAMPLE;
            recorder.sample(control.sample());
            recorder.name_new_tasks(clock::thread_name);
            if self.looks.is_multiple_of(NAMES_EVERY) {
                recorder.names(&control.snapshot().tasks);
            }
            self.looks = self.looks.wrapping_add(1);
        }
    }

    /// The run is over: write everything. `last` is what was seen last, `reconfigurations` what a scenario did.
    pub fn finish(
        self,
        live: &Live,
        last: &Snapshot,
        interrupted: bool,
        reconfigurations: Vec<ReconfigurationSummary>,
    ) -> Result<Recorded> {
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut recorder = recorder.expect("it is taken once, here");
        changes(&mut recorder, &live.control());
        recorder.names(&last.tasks);
        let done = recorder.finish(clock::now_ns());
        let (metrics, (trace, mut gantt)) = done.observer;
        let mut summary = metrics.finish(done.duration_ns);
        summary.live = true;
        summary.interrupted = interrupted;
        summary.reconfigurations = reconfigurations;
        summary.lost_events = last.totals.lost_events;
        deepest(&mut summary, last);
        let trace_name = self.out.shown("trace.pftrace");
        trace.finish(done.duration_ns).map_err(|e| write_error(trace_name.as_ref(), &e))?;
        gantt.finish(done.duration_ns);
        let extras = HtmlExtras { graph_svg: Some(self.picture), gantt: Some(gantt), places: Vec::new() };
        self.out.write("summary.json", summary.to_json().as_bytes())?;
        self.out.write("tasks.csv", weir_report::tasks_csv(&summary).as_bytes())?;
        self.out.write("threads.csv", threads_csv(&done.threads).as_bytes())?;
        self.out.write("report.html", weir_report::html(&summary, &extras).as_bytes())?;
        let written = FILES.map(|n| self.out.shown(n)).join("  ");
        self.out.commit()?;
        let mut remarks = Vec::new();
        let mut remark = |n: u64, what: &str| {
            if n > 0 {
                remarks.push(format!("{n} {what}"));
            }
        };
        remark(
            summary.lost_events,
            "events were lost because they came faster than they were read: counts are too low",
        );
        remark(
            done.counts.mended,
            "gaps in the stream of events were closed at the next event that was there",
        );
        remark(done.counts.late, "events came more than 100 ms late and were moved up");
        Ok(Recorded { summary, written, remarks })
    }
}

/// A recording that is written.
pub struct Recorded {
    pub summary: Summary,
    /// The files, for the user.
    pub written: String,
    /// What makes the numbers less than exact.
    pub remarks: Vec<String>,
}

/// Reports to the recorder the names of topologies that took over.
fn changes(recorder: &mut Recorder<Observers>, control: &Control) {
    for change in control.take_changes() {
        let report = change.report;
        let names = Names {
            topology: report.to.clone(),
            pipes: change.pipes,
            instances: change.instances,
            stages: Vec::new(),
        };
        let (metrics, (trace, _)) = recorder.observer();
        metrics.know(&names);
        trace.know(&names);
        recorder.changed(report.t_ns, &report.to);
    }
}

/// The kernel side knows the greatest depths exactly; samples miss them. For the topology in charge.
fn deepest(summary: &mut Summary, last: &Snapshot) {
    for pipe in &last.pipes {
        if let Some(p) = summary.pipes.iter_mut().find(|p| p.name == pipe.name) {
            p.max_depth = p.max_depth.max(pipe.max_depth.into());
        }
    }
}

/// Which thread of the system each task of the recording was.
fn threads_csv(threads: &[Thread]) -> String {
    let mut text = String::from("id,pid,tgid,name,began_ns,ended_ns,prio,policy\n");
    for (id, t) in threads.iter().enumerate() {
        let ended = t.ended_ns.map(|ns| ns.to_string()).unwrap_or_default();
        let name = weir_report::csv_field(&t.name);
        let (prio, policy) =
            t.urgency.map_or_else(Default::default, |u| (u.prio.to_string(), u.policy.to_string()));
        text += &format!("{id},{},{},{name},{},{ended},{prio},{policy}\n", t.pid, t.tgid, t.began_ns);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::event::Urgency;
    use weir_linux::PipeView;
    use weir_report::PipeSummary;

    #[test]
    fn threads_are_a_table() {
        let thread = |name: &str, ended_ns, urgency| Thread {
            pid: 7,
            tgid: 5,
            name: name.into(),
            urgency,
            began_ns: 3,
            ended_ns,
        };
        let batch = Some(Urgency { prio: 125, policy: 3 });
        let text = threads_csv(&[thread("a,\"b\"", Some(9), batch), thread("plain", None, None)]);
        assert_eq!(
            text,
            "id,pid,tgid,name,began_ns,ended_ns,prio,policy\n0,7,5,\"a,\"\"b\"\"\",3,9,125,3\n1,7,5,plain,3,,,\n"
        );
    }

    #[test]
    fn the_deepest_is_what_the_kernel_saw() {
        let pipe = |name: &str| PipeSummary { name: name.into(), max_depth: 3, ..PipeSummary::default() };
        let mut summary = Summary { pipes: vec![pipe("entry"), pipe("old")], ..Summary::default() };
        let view = PipeView { name: "entry".into(), max_depth: 40, ..PipeView::default() };
        deepest(&mut summary, &Snapshot { pipes: vec![view], ..Snapshot::default() });
        assert_eq!((summary.pipes[0].max_depth, summary.pipes[1].max_depth), (40, 3));
    }
}
