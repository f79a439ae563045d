// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Common inputs of runs: machine, workload, costs and compiled topologies; and one run, from these to a summary and its files.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use weir_core::event::{Event, Nested, Observer};
use weir_core::{MachineShape, Plan};
use weir_lang::draw::SvgOptions;
use weir_lang::{Graph, Set, Source};
use weir_model::workload::GuestSpec;
use weir_model::{Costs, Machine, Scenario, Workload};
use weir_report::{
    BarrierSummary, CallPath, CallSums, ClockSummary, CrashSummary, FaultSummary, GangGroupSummary,
    GangSummary, Gantt, GuestSummary, HtmlExtras, Ignored, InMemory, Jobs, Meta, Metrics, Part, Summary,
    Trace, Unfinished, Wakeups, Windowed,
};
use weir_sim::engine::{self, Control, GroupOutcome, Inside, Outcome, RunConfig};

use crate::fault::{Diag, Fault, Result};
use crate::outdir::{OutDir, write_error};
use crate::run::Hw;
use crate::scenario::{self, Reshaping, Workshop};
use crate::size::{Counted, Size};
use crate::tables::{Collector, Wanted};
use crate::units::exact;
use crate::watch::Watch;
use crate::zstd::{self, Compressing};
use crate::{ignored, machine, topology};

/// Where a workload runs and how long, by the names that users give: shared by runs, comparisons and sweeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// A preset, an hwloc XML file, a TOML file or `host`; `None`: the one that the workload describes.
    pub machine: Option<String>,
    /// A catalogue name, a file, or `generator:key=value,…`.
    pub workload: Option<String>,
    /// End in virtual time, ns; `None`: the workload's own, or its end.
    pub duration_ns: Option<u64>,
    /// Parameters, each as `component.param=value`.
    pub set: Vec<String>,
    /// `zero`, `default`, a TOML file, or `workload` (a SimSo file's own); `None`: a SimSo file's own on its own processors, else `default`.
    pub costs: Option<String>,
    /// What the workload asks for and a topology does not obey is an error.
    pub strict: bool,
}

/// Where the time of scheduler code went, in the folder of a run that charges for it.
pub const CALLS: &str = "calls.json";

/// The trace's file in the folder of a run.
pub const fn trace_name(compressed: bool) -> &'static str {
    if compressed { "trace.pftrace.zst" } else { "trace.pftrace" }
}

/// The trace in the folder of a run, if there is one.
pub fn trace_in(folder: &Path) -> Option<PathBuf> {
    [false, true].into_iter().map(|zstd| folder.join(trace_name(zstd))).find(|file| file.is_file())
}

/// The content of [`CALLS`].
fn call_sums(summary: &Summary, paths: &[engine::CallPath]) -> CallSums {
    let path = |p: &engine::CallPath| CallPath { path: p.path.clone(), calls: p.calls, ns: p.ns };
    CallSums {
        runweir: summary.runweir.clone(),
        topology: summary.topology.clone(),
        machine: summary.machine.clone(),
        workload: summary.workload.clone(),
        seed: summary.seed,
        paths: paths.iter().map(path).collect(),
    }
}

/// Common inputs of all runs of a command.
pub struct Session {
    pub machine: Machine,
    pub workload: Workload,
    costs: Costs,
    sets: Vec<Set>,
    /// Spec and seed of `workload`; other seeds are made from the spec.
    spec: String,
    seed: u64,
    duration_ns: Option<u64>,
    /// The machine is the one that the workload describes.
    own_machine: bool,
    pub checks: bool,
    /// What is the scheduler of a machine that has it in hardware.
    pub hw: Hw,
    /// What of a run goes into the trace.
    pub part: Part,
    /// The trace is compressed.
    pub zstd: bool,
    /// Remarks for the user about machine and workload.
    pub warnings: Vec<String>,
    /// Machines and topologies of the workload's guests, and drawings of these.
    inside: Vec<Inside>,
    graphs: Vec<Graph>,
    /// The compiler's findings in these topologies.
    pub inside_warnings: Vec<Diag>,
    /// What these do not obey.
    inside_ignored: Vec<Ignored>,
    strict: bool,
}

/// The topology of a guest of the workload `spec`, for the machine that it sees; its drawing; and what the compiler found. A file
/// stands beside the workload's, or where the user is.
///
/// # Errors
/// The user's: there is no such topology, it is wrong, or it reshapes itself.
pub fn inside(guest: &GuestSpec, spec: &str) -> Result<(Inside, Graph, Vec<Diag>)> {
    let machine = Inside::machine(guest);
    let folder = spec.rfind('/').map_or("", |i| &spec[..=i]);
    let beside = format!("{folder}{}", guest.topology);
    let name = if crate::input::is_path(&guest.topology) && Path::new(&beside).is_file() {
        &beside
    } else {
        &guest.topology
    };
    let source = topology::source(name)?;
    let candidate = Candidate::compile(source, &machine.shape, &[])?;
    if candidate.adapts.is_some() {
        return Err(Fault::user(
            format!(
                "the topology `{}` of the guest `{}` reshapes itself, which guests do not follow",
                guest.topology, guest.name
            ),
            "choose one without `when`",
        ));
    }
    Ok((Inside { machine, plan: candidate.plan }, candidate.graph, candidate.warnings))
}

/// A topology that is ready to run on the session's machine.
pub struct Candidate {
    pub plan: Plan,
    pub graph: Graph,
    /// The compiler's findings.
    pub warnings: Vec<Diag>,
    /// The rules by which it reshapes itself.
    pub adapts: Option<Scenario>,
    /// What the session's workload asks for and it does not obey, its guests' topologies included.
    pub ignored: Vec<Ignored>,
    source: Source,
    sets: Vec<Set>,
}

impl Candidate {
    /// Compile a text for a machine.
    ///
    /// # Errors
    /// The user's: the topology is wrong.
    pub fn compile(source: Source, shape: &MachineShape, sets: &[Set]) -> Result<Self> {
        let compiled = topology::compile(&source, shape, sets)?;
        let warnings = compiled.warnings.iter().map(topology::diag).collect();
        let adapts = scenario::adaptive(&compiled.whens)?;
        let ignored = Vec::new();
        Ok(Self {
            plan: compiled.plan,
            graph: compiled.graph,
            warnings,
            adapts,
            ignored,
            source,
            sets: sets.to_vec(),
        })
    }

    /// Makes the topologies that a scenario asks for, beginning with this one. Its paths are relative to `folder`.
    pub fn workshop(&self, shape: &MachineShape, folder: &str) -> Workshop {
        Workshop::new(self.source.clone(), &self.sets, shape, &self.graph, folder)
    }
}

impl Session {
    /// Read machine, workload and costs.
    ///
    /// # Errors
    /// The user's: something is missing, unknown or malformed, or the workload never ends by itself.
    pub fn open(setting: &Setting, seed: u64) -> Result<Self> {
        let sets = topology::parse_sets(&setting.set)?;
        let Some(spec) = setting.workload.clone() else {
            return Err(Fault::user(
                "no workload is named",
                "add --workload, for example --workload hackbench:groups=10; `runweir workloads` lists them",
            ));
        };
        let mut workload = machine::workload(&spec, seed)?;
        let own_machine = setting.machine.is_none();
        let machine = match (&setting.machine, &workload.simso) {
            (Some(spec), _) => machine::resolve(spec)?,
            (None, Some(simso)) if simso.nr_cpus > 0 => {
                let machine = simso.machine().expect("it has processors");
                workload.for_own_machine();
                machine
            }
            (None, _) => {
                return Err(Fault::user(
                    "no machine is named, and the workload does not say which it wants",
                    "add --machine, for example --machine smp-8; `runweir machines` lists them",
                ));
            }
        };
        workload.calibrate(&machine.shape).map_err(machine::fault)?;
        let costs = match (&workload.simso, setting.costs.as_deref()) {
            (Some(simso), Some("workload")) => simso.costs.table(),
            // With its own processors a SimSo file runs as in SimSo.
            (Some(simso), None) if own_machine => simso.costs.table(),
            (None, Some("workload")) => {
                return Err(Fault::user(
                    "the workload does not say what scheduling costs",
                    "choose --costs zero, default or a cost file; only SimSo files bring costs along",
                ));
            }
            (_, spec) => machine::costs(spec.unwrap_or("default"))?,
        };
        let duration_ns = setting
            .duration_ns
            .or(workload.duration_ns)
            .or(workload.simso.as_ref().and_then(|s| s.duration_ns));
        if duration_ns.is_none() && workload.loops_forever() {
            return Err(Fault::user(
                format!("the workload `{}` never ends by itself", workload.name),
                "say how much virtual time to run, for example --duration 2s",
            ));
        }
        let mut warnings: Vec<String> = machine.warnings.iter().chain(&workload.warnings).cloned().collect();
        let own_costs = setting.costs.as_deref().map_or(own_machine, |c| c == "workload");
        if workload.simso.is_some() && !own_costs {
            let taken = setting.costs.as_deref().unwrap_or("default");
            warnings.push(format!(
                "costs are `{taken}`, not the SimSo file's own: `--costs workload` charges what SimSo would (a set that loads all CPUs \
                 fully misses deadlines as soon as scheduling takes time)"
            ));
        }
        let (mut within, mut graphs, mut inside_warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut inside_ignored = Vec::new();
        for (_, guest) in workload.all_guests() {
            let (one, graph, inner) = inside(guest, &spec)?;
            let unheeded = ignored::ignored(&one.plan, &guest.workload, one.machine.nr_cpus());
            inside_ignored
                .extend(unheeded.into_iter().map(|i| Ignored { guest: Some(guest.name.clone()), ..i }));
            within.push(one);
            graphs.push(graph);
            inside_warnings.extend(inner);
        }
        Ok(Self {
            inside: within,
            inside_warnings,
            inside_ignored,
            strict: setting.strict,
            graphs,
            machine,
            workload,
            costs,
            sets,
            spec,
            seed,
            duration_ns,
            own_machine,
            checks: false,
            hw: Hw::Model,
            part: Part::Full,
            zstd: false,
            warnings,
        })
    }

    /// When runs end at the latest, ns.
    pub fn duration_ns(&self) -> Option<u64> {
        self.duration_ns
    }

    /// True where the end of the runs is a known time.
    pub fn is_bounded(&self) -> bool {
        self.duration_ns.is_some()
    }

    /// Compile a topology for the session's machine.
    ///
    /// # Errors
    /// The user's: there is no such topology, or it is wrong.
    pub fn candidate(&self, name: &str) -> Result<Candidate> {
        self.candidate_of(topology::source(name)?)
    }

    /// Compile a text for the session's machine.
    ///
    /// # Errors
    /// The user's: the topology is wrong, or ignores what the workload asks for where that is not allowed.
    pub fn candidate_of(&self, source: Source) -> Result<Candidate> {
        let mut candidate = Candidate::compile(source, &self.machine.shape, &self.sets)?;
        candidate.ignored = self.ignored(&candidate.plan);
        self.ignored_later(&mut candidate);
        match ignored::refusal(&candidate.ignored).filter(|_| self.strict) {
            Some(refused) => Err(refused),
            None => Ok(candidate),
        }
    }

    /// What a topology for the session's machine, and those of guests, do not obey of what the workload asks for.
    pub fn ignored(&self, plan: &Plan) -> Vec<Ignored> {
        let mut all = ignored::ignored(plan, &self.workload, self.machine.nr_cpus());
        all.extend(self.inside_ignored.iter().cloned());
        all
    }

    /// What only a topology ignores that the workload's scenario or the topology's own rules lead to.
    fn ignored_later(&self, candidate: &mut Candidate) {
        let Some(scenario) = scenario::join(self.workload.scenario.as_ref(), candidate.adapts.as_ref())
        else {
            return;
        };
        let workshop = self.workshop(candidate, "");
        for plan in scenario::plans(&scenario, &workshop) {
            for one in ignored::ignored(&plan, &self.workload, self.machine.nr_cpus()) {
                let known =
                    |o: &Ignored| o.guest.is_none() && (&o.setting, &o.value) == (&one.setting, &one.value);
                if !candidate.ignored.iter().any(known) {
                    candidate.ignored.push(one);
                }
            }
        }
    }

    /// Makes the topologies that a scenario asks for, beginning with this one. Its paths are relative to `folder`.
    pub fn workshop(&self, candidate: &Candidate, folder: &str) -> Workshop {
        candidate.workshop(&self.machine.shape, folder)
    }

    /// The requests of the workload and the topology itself.
    fn reshaping(&self, candidate: &Candidate, workload: &Workload) -> Reshaping {
        let scenario = scenario::join(workload.scenario.as_ref(), candidate.adapts.as_ref());
        Reshaping::new(scenario, self.workshop(candidate, ""))
    }

    /// Run once. With `files`, trace and reports go into that folder of it. The workload's own scenario is carried out.
    pub fn run(
        &self,
        candidate: &Candidate,
        seed: u64,
        files: Option<(&OutDir, &str)>,
        watch: (&dyn Watch, usize),
    ) -> Result<RunResult> {
        let reshaping = self.reshaping(candidate, &self.workload);
        self.run_with(candidate, seed, files, watch, reshaping.control(), None)
    }

    /// Run once with a scenario; `tables` are filled meanwhile.
    pub fn run_with(
        &self,
        candidate: &Candidate,
        seed: u64,
        files: Option<(&OutDir, &str)>,
        watch: (&dyn Watch, usize),
        control: Option<Control<'_>>,
        tables: Option<(Wanted, &mut Option<Collector>)>,
    ) -> Result<RunResult> {
        let made = self.made(seed)?;
        let workload = made.as_ref();
        let meta = self.meta(&candidate.plan, workload, seed);
        let metas = self.guest_metas(workload, seed);
        let written = Arc::new(AtomicU64::new(0));
        // What files need is one observer, so that without them one question an event is enough.
        let trace_name = trace_name(self.zstd);
        let mut compressing = None;
        let writers = match files {
            Some((out, folder)) => {
                let trace = match self.part {
                    Part::None => None,
                    part => {
                        let file = Counted::new(out.create(&format!("{folder}{trace_name}"))?, &written);
                        let file: Box<dyn Write + Send> = if self.zstd {
                            let (file, thread) = zstd::compressed(file);
                            compressing = Some(thread);
                            Box::new(file)
                        } else {
                            Box::new(file)
                        };
                        let mut ways = weir_report::shared(file, 1 + metas.len()).into_iter();
                        let host = ways.next().expect("there is one at least");
                        let of = |((i, meta), way): ((u32, &Meta), _)| {
                            Windowed::new(Trace::inside(meta.clone(), way, i), part)
                        };
                        Some(Nested {
                            host: Windowed::new(Trace::new(meta.clone(), host), part),
                            guests: (0..).zip(&metas).zip(ways).map(of).collect(),
                        })
                    }
                };
                let jobs = Jobs::new(Box::new(out.create(&format!("{folder}jobs.csv"))?));
                let wakeups = Wakeups::new(Box::new(out.create(&format!("{folder}wakeups.csv"))?));
                let gantt = Nested {
                    host: Gantt::default(),
                    guests: metas.iter().map(|_| Gantt::default()).collect(),
                };
                Some(((trace, (jobs, wakeups)), gantt))
            }
            None => None,
        };
        let causes = tables.as_ref().is_some_and(|t| t.0.causes());
        let collector = tables.as_ref().map(|t| Collector::new(t.0));
        // One question an event where neither is wanted.
        let extras = (writers.is_some() || collector.is_some()).then_some((writers, collector));
        let mut observer = (metrics(meta, metas), extras);
        let (watch, index) = watch;
        let size = Size::new(&written, self.duration_ns, watch);
        let on_progress = |now_ns: u64, events: u64| {
            watch.at(index, now_ns, self.duration_ns);
            size.look(now_ns, events);
        };
        let config = RunConfig {
            seed,
            duration_ns: self.duration_ns,
            checks: self.checks,
            // Always: the depths of pipes are part of the summary.
            trace_pipes: true,
            causes: causes || (files.is_some() && self.part != Part::None),
            calls: files.is_some(),
            stop: Some(watch.stop()),
            progress: Some(&on_progress),
            control,
            inside: &self.inside,
            engines: Some(self.hw.engines()),
            ..RunConfig::default()
        };
        let began = Instant::now();
        let running = watch.running();
        let outcome =
            engine::run(&self.machine, &candidate.plan, workload, &self.costs, &config, &mut observer)
                .map_err(machine::fault)?;
        drop(running);
        let wall_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let (metrics, extras) = observer;
        let (writers, collector) = extras.unwrap_or((None, None));
        if let Some((_, slot)) = tables {
            *slot = collector;
        }
        let mut summary = finished(metrics, &outcome, workload, candidate);
        let mut timeline = Vec::new();
        if let (Some((out, folder)), Some(((trace, (jobs, wakeups)), mut gantt))) = (files, writers) {
            let name = format!("{folder}{trace_name}");
            if let Some(trace) = trace {
                let guests = trace.guests.into_iter().map(|t| t.finish(outcome.end_ns));
                let guests = guests.collect::<std::io::Result<Vec<_>>>();
                guests
                    .and(trace.host.finish(outcome.end_ns))
                    .and_then(|_| compressing.map_or(Ok(()), Compressing::finish))
                    .map_err(|e| write_error(out.shown(&name).as_ref(), &e))?;
            }
            let name = format!("{folder}jobs.csv");
            jobs.finish(outcome.end_ns).map_err(|e| write_error(out.shown(&name).as_ref(), &e))?;
            let name = format!("{folder}wakeups.csv");
            wakeups.finish().map_err(|e| write_error(out.shown(&name).as_ref(), &e))?;
            gantt.host.finish(outcome.end_ns);
            timeline = weir_report::timeline(&gantt.host, &summary);
            for ((guest, graph), mut gantt) in summary.guests.iter().zip(&self.graphs).zip(gantt.guests) {
                gantt.finish(outcome.end_ns);
                let picture = weir_lang::draw::svg(graph, &SvgOptions::default());
                let extras = HtmlExtras { graph_svg: Some(picture), gantt: Some(gantt), places: Vec::new() };
                let name = format!("{folder}{}", weir_report::guest_page(&guest.name));
                out.write(&name, weir_report::html(&guest.run, &extras).as_bytes())?;
            }
            if summary.totals.scheduler_ns > 0 {
                let sums = call_sums(&summary, &outcome.calls);
                out.write(&format!("{folder}{CALLS}"), sums.to_json().as_bytes())?;
            }
            let extras = self.extras(candidate, gantt.host);
            out.write(&format!("{folder}summary.json"), summary.to_json().as_bytes())?;
            out.write(&format!("{folder}tasks.csv"), weir_report::tasks_csv(&summary).as_bytes())?;
            out.write(&format!("{folder}report.html"), weir_report::html(&summary, &extras).as_bytes())?;
        }
        summary.wall_ns = wall_ns;
        let warnings = self.news(outcome.warnings).into_iter().chain(ignored::refused(&summary)).collect();
        Ok(RunResult { summary, timeline, warnings })
    }

    /// Run once with `observer`, which receives every `every_ns` what locks cost; a report instead of files.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn watched(
        &self,
        candidate: &Candidate,
        seed: u64,
        observer: &mut dyn Observer,
        every_ns: u64,
        watch: &dyn Watch,
    ) -> Result<Watched> {
        let made = self.made(seed)?;
        let workload = made.as_ref();
        let metrics = metrics(self.meta(&candidate.plan, workload, seed), self.guest_metas(workload, seed));
        let reshaping = self.reshaping(candidate, workload);
        let config = RunConfig {
            seed,
            duration_ns: self.duration_ns,
            trace_pipes: true,
            contention_every_ns: every_ns,
            stop: Some(watch.stop()),
            control: reshaping.control(),
            inside: &self.inside,
            ..RunConfig::default()
        };
        let mut all = ((metrics, Gantt::default()), observer);
        let running = watch.running();
        let outcome = engine::run(&self.machine, &candidate.plan, workload, &self.costs, &config, &mut all)
            .map_err(machine::fault)?;
        drop(running);
        let ((metrics, mut gantt), _) = all;
        let summary = finished(metrics, &outcome, workload, candidate);
        gantt.finish(outcome.end_ns);
        let html = weir_report::html(&summary, &self.extras(candidate, gantt));
        let warnings = self.news(outcome.warnings).into_iter().chain(ignored::refused(&summary)).collect();
        Ok(Watched { summary, html, warnings })
    }

    /// Remarks of a run without those on its inputs, which the session has already.
    fn news(&self, mut warnings: Vec<String>) -> Vec<String> {
        warnings.retain(|w| !self.warnings.contains(w));
        warnings
    }

    /// The trace of a part of a run, with the causes of waits, in memory; the run ends there.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn traced(
        &self,
        candidate: &Candidate,
        seed: u64,
        (from_ns, to_ns): (u64, u64),
        watch: &dyn Watch,
    ) -> Result<Vec<u8>> {
        let made = self.made(seed)?;
        let workload = made.as_ref();
        let bytes = InMemory::default();
        let trace = Trace::new(self.meta(&candidate.plan, workload, seed), Box::new(bytes.clone()));
        let mut observer = Windowed::new(trace, Part::Span(from_ns, to_ns));
        let reshaping = self.reshaping(candidate, workload);
        let end_ns = to_ns.saturating_add(1);
        let config = RunConfig {
            seed,
            duration_ns: Some(self.duration_ns.map_or(end_ns, |end| end.min(end_ns))),
            trace_pipes: true,
            causes: true,
            stop: Some(watch.stop()),
            control: reshaping.control(),
            inside: &self.inside,
            ..RunConfig::default()
        };
        let running = watch.running();
        let outcome =
            engine::run(&self.machine, &candidate.plan, workload, &self.costs, &config, &mut observer)
                .map_err(machine::fault)?;
        drop(running);
        observer
            .finish(outcome.end_ns)
            .map_err(|e| Fault::system(format!("the trace cannot be kept: {e}"), "try again"))?;
        Ok(bytes.take())
    }

    /// The content of a run's report besides its numbers.
    fn extras(&self, candidate: &Candidate, gantt: Gantt) -> HtmlExtras {
        let places = self.machine.shape.cpus.iter().map(|c| (c.node, c.llc)).collect();
        let picture = weir_lang::draw::svg(&candidate.graph, &SvgOptions::default());
        HtmlExtras { graph_svg: Some(picture), gantt: Some(gantt), places }
    }

    /// The workload that this seed makes.
    fn made(&self, seed: u64) -> Result<Cow<'_, Workload>> {
        if seed == self.seed {
            return Ok(Cow::Borrowed(&self.workload));
        }
        let mut made = machine::workload(&self.spec, seed)?;
        if self.own_machine {
            made.for_own_machine();
        }
        made.calibrate(&self.machine.shape).map_err(machine::fault)?;
        Ok(Cow::Owned(made))
    }

    /// Run once for the numbers alone. With `until_miss` the run ends soon after its first missed deadline.
    /// `None` where the caller has asked to end.
    pub fn brief(
        &self,
        candidate: &Candidate,
        seed: u64,
        until_miss: bool,
        watch: &dyn Watch,
    ) -> Result<Option<Brief>> {
        let made = self.made(seed)?;
        let workload = made.as_ref();
        let plan = &candidate.plan;
        let reshaping = self.reshaping(candidate, workload);
        let ended = AtomicBool::new(false);
        let mut observer = (
            metrics(self.meta(plan, workload, seed), self.guest_metas(workload, seed)),
            Ends { ended: &ended, watch, until_miss, events: 0 },
        );
        let config = RunConfig {
            seed,
            duration_ns: self.duration_ns,
            stop: Some(&ended),
            control: reshaping.control(),
            inside: &self.inside,
            ..RunConfig::default()
        };
        let _running = watch.running();
        let outcome = engine::run(&self.machine, plan, workload, &self.costs, &config, &mut observer)
            .map_err(machine::fault)?;
        if watch.stopped() {
            return Ok(None);
        }
        let summary = finished(observer.0, &outcome, workload, candidate);
        if let Some(crash) = &summary.crash {
            return Err(crashed(crash));
        }
        let warnings = outcome.warnings.into_iter().chain(ignored::refused(&summary)).collect();
        Ok(Some(Brief { load: Load::of(workload), summary, warnings }))
    }

    /// Facts for the reports of guests.
    fn guest_metas(&self, workload: &Workload, seed: u64) -> Vec<Meta> {
        let all = workload.all_guests();
        let meta = |((_, guest), inside): (&(Option<u32>, &GuestSpec), &Inside)| Meta {
            runweir: env!("CARGO_PKG_VERSION").into(),
            topology: inside.plan.name.clone(),
            machine: guest.name.clone(),
            workload: workload.name.clone(),
            seed,
            nr_cpus: inside.machine.nr_cpus(),
            cpu_names: (0..inside.machine.nr_cpus()).map(|c| format!("{} vCPU {c}", guest.name)).collect(),
            pipes: inside.plan.pipes.iter().map(|p| p.name.clone()).collect(),
            instances: inside.plan.instances.iter().map(|i| i.name.clone()).collect(),
            stages: weir_report::stages(&inside.plan),
            capacities: Vec::new(),
        };
        all.iter().zip(&self.inside).map(meta).collect()
    }

    /// Speeds of the CPUs where they differ.
    fn capacities(&self) -> Vec<u32> {
        let of: Vec<u32> = self.machine.shape.cpus.iter().map(|c| c.capacity).collect();
        if of.windows(2).all(|w| w[0] == w[1]) { Vec::new() } else { of }
    }

    fn meta(&self, plan: &Plan, workload: &Workload, seed: u64) -> Meta {
        let kinds = self.machine.kinds.len();
        let cpu_name = |cpu: u32| {
            if kinds > 1 { format!("{} {cpu}", self.machine.kind(cpu).name) } else { String::new() }
        };
        Meta {
            runweir: env!("CARGO_PKG_VERSION").into(),
            topology: plan.name.clone(),
            machine: self.machine.shape.name.clone(),
            workload: workload.name.clone(),
            seed,
            nr_cpus: self.machine.nr_cpus(),
            cpu_names: (0..self.machine.nr_cpus()).map(cpu_name).collect(),
            pipes: plan.pipes.iter().map(|p| p.name.clone()).collect(),
            instances: plan.instances.iter().map(|i| i.name.clone()).collect(),
            stages: weir_report::stages(plan),
            capacities: self.capacities(),
        }
    }
}

/// Metrics of the host and of each guest.
fn metrics(host: Meta, guests: Vec<Meta>) -> Nested<Metrics> {
    Nested { host: Metrics::new(host), guests: guests.into_iter().map(Metrics::new).collect() }
}

/// The measurements, with facts that only the engine has.
fn finished(
    metrics: Nested<Metrics>,
    outcome: &Outcome,
    workload: &Workload,
    candidate: &Candidate,
) -> Summary {
    let mut summary = of_machine(metrics.host, outcome);
    summary.ignored.splice(0..0, candidate.ignored.iter().cloned());
    let all = workload.all_guests();
    let around = |parent: Option<u32>| parent.map_or(workload, |p| &all[p as usize].1.workload);
    let guest =
        |((g, metrics), (_, spec)): ((&engine::GuestOutcome, Metrics), &(Option<u32>, &GuestSpec))| {
            let tasks = &around(g.parent).tasks;
            GuestSummary {
                name: g.name.clone(),
                inside: g.parent.map(|p| all[p as usize].1.name.clone()),
                vcpus: spec.vcpus.iter().map(|t| tasks[*t as usize].name.clone()).collect(),
                enters: g.enters,
                run: of_machine(metrics, &g.outcome),
            }
        };
    summary.guests = outcome.guests.iter().zip(metrics.guests).zip(&all).map(guest).collect();
    // Faults of components count wherever they are.
    let faults: Vec<FaultSummary> = summary.guests.iter().flat_map(|g| g.run.faults.clone()).collect();
    summary.faults.extend(faults);
    summary
}

/// The same of the machine, or of one guest.
fn of_machine(metrics: Metrics, outcome: &Outcome) -> Summary {
    let mut summary = metrics.finish(outcome.end_ns);
    summary.interrupted = outcome.interrupted;
    (summary.faults, summary.crash) = troubles(outcome);
    together(&mut summary, outcome);
    summary.unfinished =
        outcome.left.iter().map(|(task, why)| Unfinished { task: task.clone(), why: why.clone() }).collect();
    // The engine's count: that of the observers depends on which events they ask for.
    summary.events = outcome.events;
    summary.reconfigurations = outcome.reconfigurations.iter().map(scenario::summary).collect();
    summary
}

/// Barriers, spinning and gangs.
fn together(summary: &mut Summary, outcome: &Outcome) {
    summary.totals.spin_ns = outcome.spin_ns;
    let per_s = |n: u64| if outcome.end_ns == 0 { 0.0 } else { n as f64 * 1e9 / outcome.end_ns as f64 };
    summary.barriers = outcome
        .barriers
        .iter()
        .map(|(name, rounds)| BarrierSummary {
            name: name.clone(),
            rounds: *rounds,
            // Thousandths are enough, and the same on every machine.
            rounds_per_s: (per_s(*rounds) * 1000.0).round() / 1000.0,
        })
        .collect();
    summary.clocks = outcome.clocks.as_ref().map(|c| ClockSummary {
        rounds: c.rounds,
        failed: c.failed,
        drifted: c.drifted,
        disabled: c.disabled,
        error_max_ns: c.error_max_ns,
        waited_ns: c.waited_ns,
    });
    summary.gangs = outcome
        .gangs
        .iter()
        .map(|g| GangSummary {
            name: g.name.clone(),
            cpus: g.cpus.clone(),
            scale: g.scale,
            slots: g.slots,
            incomplete: g.incomplete,
            skew_max_ns: g.skew_max_ns,
            skew_mean_ns: g.skew_mean_ns,
            late_max_ns: g.late_max_ns,
            phase_changes: g.phase_changes,
            messages: g.messages,
            phase_last_ns: g.phase_last_ns,
            phase_max_ns: g.phase_max_ns,
            signals: g.signals,
            carry_ns: g.carry_ns,
            wasted_ns: g.wasted_ns,
            groups: g.groups.iter().map(group).collect(),
        })
        .collect();
}

fn group(g: &GroupOutcome) -> GangGroupSummary {
    let GroupOutcome { group, slots, incomplete, skew_max_ns, members } = *g;
    GangGroupSummary { group, slots, incomplete, skew_max_ns, members }
}

/// What components did that they should not have.
fn troubles(outcome: &Outcome) -> (Vec<FaultSummary>, Option<Box<CrashSummary>>) {
    let fault = |f: &engine::Faulted| FaultSummary {
        component: f.component.clone(),
        instance: f.instance.clone(),
        error: f.error.clone(),
        first_ns: f.first_ns,
        count: f.count,
    };
    let crash = outcome.crash.as_ref().map(|c| {
        Box::new(CrashSummary {
            component: c.component.clone(),
            instance: c.instance.clone(),
            function: c.function.clone(),
            task: c.task.clone(),
            what: c.what.clone(),
            at_ns: c.at_ns,
        })
    });
    (outcome.faults.iter().map(fault).collect(), crash)
}

/// A loaded component ended a run.
pub fn crashed(c: &CrashSummary) -> Fault {
    let mut place = format!("instance `{}`", c.instance);
    if !c.function.is_empty() {
        place += &format!(", in `{}`", c.function);
    }
    if let Some(task) = &c.task {
        place += &format!(", with task `{task}`");
    }
    Fault::system(
        format!(
            "component `{}` ended the run: {} ({place}, at {} of virtual time)",
            c.component,
            c.what,
            exact(c.at_ns)
        ),
        "what had happened by then is in the results; `runweir component test` looks for the shortest history that does it",
    )
}

/// Work that nothing would ever have done: an error of the run. The first tasks are named.
pub fn unfinished<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Option<Fault> {
    const NAMED: usize = 4;
    let left: Vec<(&Summary, &Unfinished)> =
        summaries.flat_map(|s| s.unfinished.iter().map(move |u| (s, u))).collect();
    let (first, _) = left.first()?;
    let named: Vec<&str> = left.iter().take(NAMED).map(|(_, u)| u.why.as_str()).collect();
    let more = match left.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    Some(Fault::system(
        format!(
            "work is left that nothing would ever have done ({}, seed {}): {}{more}",
            first.topology,
            first.seed,
            named.join("; ")
        ),
        "the results hold up to the end of the run; let the CPUs that these tasks may use come back, or let other tasks release them",
    ))
}

/// What was refused in the course of runs, as an error where nothing may be.
pub fn denied<'a>(summaries: impl Iterator<Item = &'a Summary>, strict: bool) -> Option<Fault> {
    let said: Vec<String> = summaries.filter(|_| strict).flat_map(ignored::refused).collect();
    (!said.is_empty())
        .then(|| Fault::system(said.join("; "), "the results hold; ask for less, or leave `--strict` out"))
}

/// Components that returned errors: a warning, or an error where the user has not allowed it.
pub fn faulted<'a>(summaries: impl Iterator<Item = &'a Summary>, allowed: bool) -> Vec<Diag> {
    let mut all = Vec::new();
    for s in summaries {
        for f in &s.faults {
            let times = if f.count == 1 { "once".into() } else { format!("{} times", f.count) };
            let text = format!(
                "component `{}` returned {} {times}, first at {} (instance `{}` of {}, seed {})",
                f.component,
                f.error,
                exact(f.first_ns),
                f.instance,
                s.topology,
                s.seed
            );
            let help = "its changes were undone and repeated; --allow-faults reports this as a warning";
            all.push(if allowed { Diag::warning(text) } else { Diag::error(text).help(help) });
        }
    }
    all
}

/// A finished run.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunResult {
    /// Metrics of the whole run and of each task, CPU, pipe and component.
    pub summary: Summary,
    /// Where the machine's time went over the run; empty without files.
    pub timeline: Vec<[u64; 3]>,
    /// Remarks for the user about it.
    pub warnings: Vec<String>,
}

/// A finished run with its report.
#[derive(Debug)]
pub struct Watched {
    pub summary: Summary,
    /// The report as a page that needs nothing else.
    pub html: String,
    pub warnings: Vec<String>,
}

/// A finished run without files.
pub struct Brief {
    pub summary: Summary,
    pub load: Load,
    pub warnings: Vec<String>,
}

/// How much a workload's recurrent tasks ask for, in millionths of a CPU of capacity 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub tasks: u64,
    /// Sum of WCET / period.
    pub utilization_ppm: u64,
    /// Sum of WCET / the shorter of period and relative deadline.
    pub density_ppm: u64,
}

impl Load {
    fn of(workload: &Workload) -> Self {
        let mut load = Self { tasks: workload.tasks.len() as u64, ..Self::default() };
        // In billionths, so that the rounding of many tasks does not show.
        let (mut utilization, mut density) = (0u128, 0u128);
        for t in workload.tasks.iter().filter_map(|t| t.timing) {
            let share = |ns: u64| u128::from(t.wcet_ns) * 1_000_000_000 / u128::from(ns.max(1));
            utilization += share(t.period_ns);
            density += share(t.period_ns.min(t.deadline_ns));
        }
        let ppm = |billionths: u128| u64::try_from((billionths + 500) / 1000).unwrap_or(u64::MAX);
        (load.utilization_ppm, load.density_ppm) = (ppm(utilization), ppm(density));
        load
    }
}

/// Ends a run from within: at its first miss where that is wanted, and where the user asks for it.
struct Ends<'a> {
    ended: &'a AtomicBool,
    watch: &'a dyn Watch,
    until_miss: bool,
    events: u32,
}

impl Observer for Ends<'_> {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        self.events = self.events.wrapping_add(1);
        let missed = self.until_miss && matches!(event, Event::DeadlineMiss { .. });
        if missed || (self.events.is_multiple_of(1024) && self.watch.stopped()) {
            self.ended.store(true, Ordering::Relaxed);
        }
    }
}
