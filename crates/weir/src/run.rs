// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! One run of a workload under a scheduler.

use weir_model::Scenario;
use weir_report::Part;
use weir_sim::device::Engines;

use crate::fault::{Diag, Fault, Result};
use crate::outdir::OutDir;
use crate::scenario::{self, Found, Reshaping, Tried};
use crate::session::{Candidate, RunResult, Session, Setting};
use crate::tables::{Collector, Table, Wanted};
use crate::watch::Watch;
use crate::{ignored, simso};

/// What is the engine of a machine that has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hw {
    /// A model of its rules, with the clocks that the RTL was measured to take.
    #[default]
    Model,
    /// The RTL, simulated by Verilator.
    Cosim,
}

impl Hw {
    pub(crate) fn engines(self) -> &'static dyn Engines {
        match self {
            Self::Model => &weir_hw::device::Models,
            Self::Cosim => &weir_hw::device::Cosimulated,
        }
    }
}

/// The inputs of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub setting: Setting,
    /// A catalogue name, a `.weir` file, or `-` for standard input; `None`: the one that the scenario or a SimSo file names.
    pub topology: Option<String>,
    /// Changes during the run: a catalogue name or a TOML file, which can also name topology, machine and workload.
    pub scenario: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Check after every event that no task is lost or duplicated.
    pub checks: bool,
    /// What is the scheduler of a machine that has it in hardware.
    pub hw: Hw,
    /// What of the run goes into the trace, where files are written.
    pub trace: Part,
    /// The trace is compressed: `trace.pftrace.zst`.
    pub zstd: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            setting: Setting::default(),
            topology: None,
            scenario: None,
            seed: 1,
            checks: false,
            hw: Hw::Model,
            trace: Part::Full,
            zstd: false,
        }
    }
}

/// A run with what happened in it.
pub struct Tabled {
    pub result: RunResult,
    pub jobs: Table,
    pub slices: Table,
    pub waits: Table,
}

/// A run with everything looked up.
pub struct PreparedRun {
    session: Session,
    candidate: Candidate,
    scenario: Option<Scenario>,
    /// The folder that the scenario's paths are relative to.
    folder: String,
    seed: u64,
}

impl PreparedRun {
    /// Read and compile everything.
    ///
    /// # Errors
    /// The user's: something is missing, unknown or wrong.
    pub fn new(options: &RunOptions) -> Result<Self> {
        let found = options.scenario.as_deref().map(scenario::find).transpose()?;
        let file = found.as_ref().map(|f| &f.file);
        let beside = |name: &Option<String>| {
            name.as_ref().map(|n| found.as_ref().map_or(n.clone(), |f: &Found| f.beside(n)))
        };
        let mut setting = options.setting.clone();
        setting.machine = setting.machine.or_else(|| beside(&file?.machine));
        setting.workload = setting.workload.or_else(|| beside(&file?.workload));
        setting.duration_ns = setting.duration_ns.or_else(|| file?.duration_ns);
        let mut session = Session::open(&setting, options.seed)?;
        session.checks = options.checks;
        session.hw = options.hw;
        if options.hw == Hw::Cosim && session.machine.engine.is_none() {
            return Err(Fault::user(
                "this machine's scheduler is software, so there is no RTL to simulate",
                "take a machine with `scheduler = \"engine\"`, for example engine-2, or leave out `--hw cosim`",
            ));
        }
        session.part = options.trace;
        session.zstd = options.zstd;
        let topology = match options.topology.clone().or_else(|| beside(&file?.topology)) {
            Some(name) => name,
            None => simso::topology(session.workload.simso.as_ref())?.to_string(),
        };
        let candidate = session.candidate(&topology)?;
        let scenario = scenario::join(session.workload.scenario.as_ref(), file.map(|f| &f.scenario));
        let scenario = scenario::join(scenario.as_ref(), candidate.adapts.as_ref());
        let folder = found.as_ref().map_or(String::new(), |f| f.folder.clone());
        Ok(Self { session, candidate, scenario, folder, seed: options.seed })
    }

    /// Remarks for the user about machine, workload and topology.
    pub fn warnings(&self) -> Vec<Diag> {
        let of_inputs = self.session.warnings.iter().map(Diag::warning);
        let of_guests = self.session.inside_warnings.iter().cloned();
        let of_topology = self.candidate.warnings.iter().cloned();
        of_inputs
            .chain(of_topology)
            .chain(of_guests)
            .chain(ignored::warnings(&self.candidate.ignored))
            .collect()
    }

    /// True where the end of the run is a known time.
    pub fn is_bounded(&self) -> bool {
        self.session.is_bounded()
    }

    /// Try each change of the scenario without a run.
    ///
    /// # Errors
    /// The user's: there is no scenario, or the topology cannot be built.
    pub fn try_scenario(&self) -> Result<Vec<Tried>> {
        let Some(scenario) = &self.scenario else {
            return Err(Fault::user(
                "there is no scenario to try",
                "add --scenario, or a workload that has one",
            ));
        };
        let workshop = self.session.workshop(&self.candidate, &self.folder);
        scenario::try_all(scenario, &workshop, &self.session.machine.shape, &self.candidate.plan)
    }

    /// All remarks about a run of it that is over.
    pub fn remarks(&self, done: &RunResult) -> Vec<Diag> {
        let topology = &self.candidate.plan.name;
        let later = done.warnings.iter().map(|w| Diag::warning(format!("{topology}: {w}")));
        self.warnings().into_iter().chain(later).collect()
    }

    fn reshaping(&self) -> Reshaping {
        Reshaping::new(self.scenario.clone(), self.session.workshop(&self.candidate, &self.folder))
    }

    /// Run. With `out`, trace and reports are written into it; the caller commits them.
    ///
    /// # Errors
    /// The policy did something that no scheduler may, or a file cannot be written. A component that crashed is not an error:
    /// the summary says so.
    pub fn run(&self, out: Option<&OutDir>, watch: &dyn Watch) -> Result<RunResult> {
        let reshaping = self.reshaping();
        self.session.run_with(
            &self.candidate,
            self.seed,
            out.map(|o| (o, "")),
            (watch, 0),
            reshaping.control(),
            None,
        )
    }

    /// Run, and gather what happened as tables.
    ///
    /// # Errors
    /// As [`PreparedRun::run`].
    pub fn tables(&self, wanted: Wanted, watch: &dyn Watch) -> Result<Tabled> {
        let reshaping = self.reshaping();
        let mut collector = None;
        let result = self.session.run_with(
            &self.candidate,
            self.seed,
            None,
            (watch, 0),
            reshaping.control(),
            Some((wanted, &mut collector)),
        )?;
        let collector = collector.unwrap_or_else(|| Collector::new(Wanted::NONE));
        let (jobs, slices, waits) = collector.finish(result.summary.duration_ns);
        Ok(Tabled { result, jobs, slices, waits })
    }

    /// The trace of the whole run, in memory. The scenario is the workload's own.
    ///
    /// # Errors
    /// As [`PreparedRun::run`].
    pub fn trace(&self, watch: &dyn Watch) -> Result<Vec<u8>> {
        self.session.traced(&self.candidate, self.seed, (0, u64::MAX), watch)
    }

    /// The topology as a drawing.
    pub fn drawing(&self) -> String {
        weir_lang::draw::svg(&self.candidate.graph, &weir_lang::draw::SvgOptions::default())
    }
}

/// Run a workload under a scheduler on a simulated machine.
///
/// # Errors
/// As [`PreparedRun::new`] and [`PreparedRun::run`].
pub fn run(options: &RunOptions, watch: &dyn Watch) -> Result<RunResult> {
    PreparedRun::new(options)?.run(None, watch)
}
