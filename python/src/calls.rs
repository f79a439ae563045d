// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The functions: arguments in, a call of `weir`, results out. What is not a table is handed over as JSON text.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use serde_json::json;
use weir::analyze::Question;
use weir::catalogue::{self as lists, Entry};
use weir::code::Allowed;
use weir::compare::PreparedComparison;
use weir::explain::{Explainer, parse_place};
use weir::import::Mode;
use weir::tables::{self, Table, Wanted};
use weir::text::json as to_json;
use weir_report::Screen;
use weir::{
    AnalyzeOptions, CheckOptions, CompareOptions, ImportOptions, OutDir, PreparedRun, RunOptions, Setting,
    Told,
};

use crate::fault::raised;
use crate::table::PyTable;
use crate::work::watched;

fn setting(
    machine: Option<String>,
    workload: Option<String>,
    duration_ns: Option<u64>,
    set: Vec<String>,
    costs: Option<String>,
    strict: bool,
) -> Setting {
    Setting { machine, workload, duration_ns, set, costs, strict }
}

/// A run that was made; it can be made again, with files.
#[pyclass(name = "Run", module = "runweir._native", frozen)]
pub struct PyRun {
    prepared: PreparedRun,
    #[pyo3(get)]
    summary: String,
    #[pyo3(get)]
    text: String,
    #[pyo3(get)]
    warnings: Vec<String>,
    #[pyo3(get)]
    drawing: String,
    tables: Vec<(&'static str, Arc<Table>)>,
    /// Of the tasks, by number.
    names: Arc<[String]>,
}

#[pymethods]
impl PyRun {
    /// A table by its name.
    fn table(&self, name: &str) -> Option<PyTable> {
        let found = self.tables.iter().find(|t| t.0 == name)?;
        Some(PyTable { table: found.1.clone(), names: Some(self.names.clone()) })
    }

    /// Make the same run again and write its files into a folder.
    #[pyo3(signature = (dir, force=false, progress=None))]
    fn save(
        &self,
        py: Python<'_>,
        dir: PathBuf,
        force: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        watched(py, progress.as_ref(), |watch| {
            let out = OutDir::prepare(&dir, force)?;
            self.prepared.run(Some(&out), watch)?;
            if watch.stopped() { Ok(()) } else { out.commit() }
        })
    }
}

/// Names of the tasks by their numbers.
fn names(summary: &weir_report::Summary) -> Arc<[String]> {
    let most = summary.tasks.iter().map(|t| t.id as usize + 1).max().unwrap_or(0);
    let mut all = vec![String::new(); most];
    for task in &summary.tasks {
        all[task.id as usize] = task.name.to_string();
    }
    all.into()
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (topology, machine, workload, duration_ns, seed, set, costs, strict, allow_code, scenario, which, progress))]
pub fn run(
    py: Python<'_>,
    topology: Option<String>,
    machine: Option<String>,
    workload: Option<String>,
    duration_ns: Option<u64>,
    seed: u64,
    set: Vec<String>,
    costs: Option<String>,
    strict: bool,
    allow_code: bool,
    scenario: Option<String>,
    which: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyRun> {
    let options = RunOptions {
        setting: setting(machine, workload, duration_ns, set, costs, strict),
        topology,
        scenario,
        seed,
        ..RunOptions::default()
    };
    let has = |name: &str| which.iter().any(|w| w == name);
    let wanted = Wanted { jobs: has("jobs"), slices: has("slices"), waits: has("waits") };
    watched(py, progress.as_ref(), |watch| {
        let _allowed = Allowed::during(allow_code);
        let prepared = PreparedRun::new(&options)?;
        let mut warnings: Vec<String> = prepared.warnings().iter().map(ToString::to_string).collect();
        let done = prepared.tables(wanted, watch)?;
        let summary = &done.result.summary;
        let mut all = vec![
            ("tasks", Arc::new(tables::tasks(summary))),
            ("pipes", Arc::new(tables::pipes(summary))),
            ("cpus", Arc::new(tables::cpus(summary))),
        ];
        for (name, asked, table) in [
            ("jobs", wanted.jobs, done.jobs),
            ("slices", wanted.slices, done.slices),
            ("waits", wanted.waits, done.waits),
        ] {
            if asked {
                all.push((name, Arc::new(table)));
            }
        }
        warnings.extend(done.result.warnings.iter().cloned());
        Ok(PyRun {
            summary: summary.to_json(),
            text: weir_report::table(summary, &Screen::default()),
            warnings,
            drawing: prepared.drawing(),
            tables: all,
            names: names(summary),
            prepared,
        })
    })
}

/// Topologies side by side: `compare.json`, a table for people, warnings.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (topologies, machine, workload, duration_ns, seed, seeds, set, costs, strict, allow_code, jobs, progress))]
pub fn compare(
    py: Python<'_>,
    topologies: Vec<String>,
    machine: Option<String>,
    workload: Option<String>,
    duration_ns: Option<u64>,
    seed: u64,
    seeds: u32,
    set: Vec<String>,
    costs: Option<String>,
    strict: bool,
    allow_code: bool,
    jobs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String, Vec<String>)> {
    let options = CompareOptions {
        setting: setting(machine, workload, duration_ns, set, costs, strict),
        topologies,
        seed,
        seeds,
        jobs,
        ..CompareOptions::default()
    };
    watched(py, progress.as_ref(), |watch| {
        let _allowed = Allowed::during(allow_code);
        let prepared = PreparedComparison::new(&options)?;
        watch.more(prepared.nr_runs() as u64);
        let done = prepared.run(None, watch)?;
        Ok((to_json(&done)?, done.table(&Screen::default()), done.warnings))
    })
}

/// A sweep: `sweep.json`, and `summary.csv`.
#[pyfunction]
#[pyo3(signature = (spec, strict, allow_code, jobs, progress))]
pub fn sweep(
    py: Python<'_>,
    spec: String,
    strict: bool,
    allow_code: bool,
    jobs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    watched(py, progress.as_ref(), |watch| {
        let _allowed = Allowed::during(allow_code);
        let sweep = weir::Sweep::open(&spec)?;
        if let Some(refused) = weir::ignored::refusal(sweep.ignored()).filter(|_| strict) {
            return Err(refused);
        }
        watch.more(sweep.nr_runs());
        let result = sweep.run(jobs, None, BTreeMap::new(), watch)?;
        let report = sweep.report(&result.rows);
        Ok((to_json(&report)?, report.csv()))
    })
}

/// Facts of each topology, as JSON.
#[pyfunction]
#[pyo3(signature = (topologies, machine, set))]
pub fn check(
    py: Python<'_>,
    topologies: Vec<String>,
    machine: Option<String>,
    set: Vec<String>,
) -> PyResult<String> {
    let options = CheckOptions { topologies, machine, set, with: Vec::new() };
    watched(py, None, |_| {
        let mut out = Vec::new();
        for checked in weir::check(&options)? {
            let facts = checked.outcome?;
            let warnings: Vec<String> =
                facts.warnings.iter().map(|w| weir::topology::diag(w).to_string()).collect();
            out.push(json!({
                "topology": facts.topology, "machine": facts.machine, "instances": facts.instances,
                "pipes": facts.pipes, "depth": facts.depth, "cpus": facts.cpus, "warnings": warnings,
            }));
        }
        to_json(&out)
    })
}

fn analyze(
    py: Python<'_>,
    options: AnalyzeOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    watched(py, progress, |watch| {
        let done = weir::analyze(&options, watch)?;
        Ok((to_json(&done.json())?, done.text(&Screen::default())))
    })
}

/// What limits a topology, as JSON and as text.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (topology, machine, workload, duration_ns, seed, set, costs, share, jobs, progress))]
pub fn contention(
    py: Python<'_>,
    topology: String,
    machine: Option<String>,
    workload: String,
    duration_ns: Option<u64>,
    seed: u64,
    set: Vec<String>,
    costs: String,
    share: f64,
    jobs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let question = Question::Contention { share, duration_ns, jobs };
    let topology = Some(topology);
    let options = AnalyzeOptions { question, topology, machine, workload, set, costs, seed, strict: false };
    analyze(py, options, progress.as_ref())
}

/// Which task sets meet their deadlines, as JSON and as text.
#[pyfunction]
#[pyo3(signature = (topology, machine, workload, seed, set, costs))]
pub fn schedulability(
    py: Python<'_>,
    topology: Option<String>,
    machine: Option<String>,
    workload: String,
    seed: u64,
    set: Vec<String>,
    costs: String,
) -> PyResult<(String, String)> {
    let question = Question::Schedulability;
    analyze(py, AnalyzeOptions { question, topology, machine, workload, set, costs, seed, strict: false }, None)
}

/// Search topologies and parameters: the result as JSON, and as text.
#[pyfunction]
#[pyo3(signature = (spec, strict, allow_code, jobs, progress))]
pub fn tune(
    py: Python<'_>,
    spec: String,
    strict: bool,
    allow_code: bool,
    jobs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    watched(py, progress.as_ref(), |watch| {
        let _allowed = Allowed::during(allow_code);
        let done = weir::tune(&spec, strict, jobs, watch)?;
        Ok((to_json(&done)?, done.table(&Screen::default())))
    })
}

/// Check results against bounds: the verdicts as JSON, and as text.
#[pyfunction]
#[pyo3(signature = (spec, strict, allow_code, progress))]
pub fn guard(
    py: Python<'_>,
    spec: String,
    strict: bool,
    allow_code: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    watched(py, progress.as_ref(), |watch| {
        let _allowed = Allowed::during(allow_code);
        let guard = weir::guard::Guard::open(&spec, strict)?;
        watch.more(guard.nr_runs());
        let done = guard.run(watch)?;
        Ok((to_json(&done)?, done.table(&Screen::default())))
    })
}

/// A run as a figure: the bytes of a file with this ending.
#[pyfunction]
#[pyo3(signature = (dir, span_ns, groups, file))]
pub fn gantt(
    py: Python<'_>,
    dir: String,
    span_ns: Option<(u64, u64)>,
    groups: Vec<String>,
    file: PathBuf,
) -> PyResult<Vec<u8>> {
    watched(py, None, |_| {
        let format = weir_report::picture::Format::of(&file).ok_or_else(|| {
            weir::Fault::user("a figure ends in .svg, .pdf or .tex", "give the file one of these endings")
        })?;
        let options = weir::gantt::GanttOptions { dir: dir.into(), span_ns, groups, play: None };
        Ok(weir::gantt::gantt(&options)?.bytes(format))
    })
}

/// A recording as a workload: its text, the fidelity table as JSON, and as text.
#[pyfunction]
#[pyo3(signature = (file, fit, anonymise, machine, span_ns, fidelity, under, costs, strict, progress))]
#[allow(clippy::too_many_arguments)]
pub fn import_trace(
    py: Python<'_>,
    file: String,
    fit: bool,
    anonymise: bool,
    machine: Option<String>,
    span_ns: Option<(u64, u64)>,
    fidelity: bool,
    under: Option<String>,
    costs: String,
    strict: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String, String)> {
    let mode = if fit { Mode::Fit } else { Mode::Verbatim };
    let options = ImportOptions {
        file,
        mode,
        anonymise,
        machine,
        span: span_ns,
        fidelity,
        under,
        costs,
        strict,
        requests: None,
    };
    watched(py, progress.as_ref(), |watch| {
        let done = weir::import(&options, watch)?;
        Ok((done.text.clone(), to_json(&done)?, done.table(&Screen::default())))
    })
}

/// A run that can be asked why tasks waited.
#[pyclass(name = "Explainer", module = "runweir._native", frozen)]
pub struct PyExplainer(Explainer);

#[pymethods]
impl PyExplainer {
    #[new]
    fn open(py: Python<'_>, path: String) -> PyResult<Self> {
        watched(py, None, |_| Ok(Self(Explainer::open(&path)?)))
    }

    /// `web@12ms`, as JSON.
    fn at(&self, py: Python<'_>, place: String) -> PyResult<String> {
        watched(py, None, |_| {
            let (task, at_ns) = parse_place(&place)?;
            to_json(&self.0.at(&task, at_ns)?)
        })
    }

    /// The longest waits, as JSON.
    #[pyo3(signature = (n, group=None))]
    fn worst(&self, py: Python<'_>, n: usize, group: Option<String>) -> PyResult<String> {
        watched(py, None, |_| to_json(&self.0.worst(n, group.as_deref())?))
    }

    /// How long requests took, as JSON and as a table: by threads' names, or by marks.
    #[pyo3(signature = (threads, marks, slowest))]
    fn requests(
        &self,
        py: Python<'_>,
        threads: Option<String>,
        marks: Option<String>,
        slowest: usize,
    ) -> PyResult<(String, String)> {
        watched(py, None, |_| {
            let told = match (&threads, &marks) {
                (Some(names), _) => Told::wakeups(names)?,
                (None, marks) => Told::marks(marks.as_deref().unwrap_or(""))?,
            };
            let found = self.0.requests(&told, slowest)?;
            Ok((to_json(&found)?, found.table(&Screen::default())))
        })
    }
}

/// A topology as SVG, and the names of its instances: `data-instance` in the picture has their numbers.
#[pyfunction]
#[pyo3(signature = (topology, machine, set))]
pub fn drawing(
    topology: String,
    machine: Option<String>,
    set: Vec<String>,
) -> PyResult<(String, Vec<String>)> {
    let draw = || {
        let source = weir::topology::source(&topology)?;
        let machine = match &machine {
            Some(name) => weir::machine::resolve(name)?,
            None => weir::topology::default_machine(&source)?,
        };
        let sets = weir::topology::parse_sets(&set)?;
        let compiled = weir::topology::compile(&source, &machine.shape, &sets)?;
        let names = compiled.plan.instances.iter().map(|i| i.name.clone()).collect();
        Ok((weir_lang::draw::svg(&compiled.graph, &weir_lang::draw::SvgOptions::default()), names))
    };
    draw().map_err(|f| raised(&f))
}

/// Names and first sentences of a part of the catalogue.
#[pyfunction]
pub fn catalogue(kind: &str) -> PyResult<Vec<(&'static str, String)>> {
    let entries: &[Entry] = match kind {
        "topologies" => lists::TOPOLOGIES,
        "machines" => lists::MACHINES,
        "workloads" => lists::WORKLOADS,
        "scenarios" => lists::SCENARIOS,
        _ => lists::PACKAGES,
    };
    Ok(entries.iter().map(|e| (e.name, e.summary())).collect())
}
