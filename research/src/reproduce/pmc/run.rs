// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! One simulated run of a workload, and the log that it leaves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::Plan;
use weir_core::event::{CpuNo, Event, Observer, Stop, TaskNo};
use weir_lang::{NoIncludes, Set, Source};
use weir_sim::{Costs, Machine, RunConfig, Workload};

use super::Error;
use super::log::{Entry, Line, Stats};
use super::matrix::Config;
use super::penalty::sample;

/// Programs whose time and counters are measured; the others are noise.
pub const PROGRAMS: [&str; 3] = ["ffmpeg", "make", "octave"];

/// The workloads.
pub const WORKLOADS: [&str; 2] = ["wl1", "wl2"];

/// The first workload with threads of Octave that yield now and then and do not wait for one another: what the thesis's gain
/// is not to be had from.
pub const APART: &str = "wl1-apart";

/// What they do, and did in the workload.
const WAITS: &str = "loop 80 { run 1600us..2400us; barrier round yield 1300ns }";
const YIELDS: &str = "loop 2 { loop 800 { run 100us; yield }; barrier round }";

/// What the thesis does not say of its second workload, and we have to guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// How the threads of Octave wait for one another.
    pub wait: Wait,
    /// From how far back data that miss the second-level cache come.
    pub reuse: &'static str,
}

/// At the barrier of Octave's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// They yield until all have come.
    Yield,
    Spin,
    /// For a millisecond, then they block.
    Shortly,
    Block,
}

/// What is recorded has the first of each.
pub const WAITINGS: [Wait; 4] = [Wait::Yield, Wait::Spin, Wait::Shortly, Wait::Block];
pub const REUSES: [&str; 3] = ["300KiB", "600KiB", "1MiB"];

/// As the recorded second workload has it.
const YIELD: &str = "barrier round yield 1300ns";

/// The thesis's kernel has 250 ticks a second, and slices end at ticks.
const TICK: &str = "4ms";

const MACHINE: &str = include_str!("../../../../experiments/pmc-tables/machine.toml");
const WL1: &str = include_str!("../../../../experiments/pmc-tables/wl1.toml");
const WL2: &str = include_str!("../../../../experiments/pmc-tables/wl2.toml");
const TOPOLOGY: &str = include_str!("../../../../topologies/pmc-fair.weir");

/// Machine and workload of a run, read once for many.
#[derive(Clone, Debug)]
pub struct Setting {
    pub machine: Machine,
    pub workload: Workload,
}

impl Setting {
    /// One of [`WORKLOADS`] on the thesis's machine.
    ///
    /// # Errors
    /// There is no such workload, or a file of ours is damaged.
    pub fn of(workload: &str) -> Result<Self, Error> {
        let apart;
        let text = match workload {
            "wl1" => WL1,
            "wl2" => WL2,
            APART => {
                apart = WL1.replace(WAITS, YIELDS);
                debug_assert_ne!(apart, WL1, "the workload's threads wait as they are said to");
                &apart
            }
            _ => return Err(Error(format!("no workload `{workload}`; there are {}", WORKLOADS.join(", ")))),
        };
        Self::read(MACHINE, workload, text)
    }

    /// Those of these names, with their names.
    ///
    /// # Errors
    /// As [`Setting::of`].
    pub fn all<'n>(names: &[&'n str]) -> Result<Vec<(&'n str, Self)>, Error> {
        names.iter().map(|name| Ok((*name, Self::of(name)?))).collect()
    }

    /// The second workload as it might be.
    ///
    /// # Errors
    /// A file of ours is damaged.
    pub fn guessed(guess: Guess) -> Result<Self, Error> {
        let wait = match guess.wait {
            Wait::Yield => YIELD,
            // For ever.
            Wait::Spin => "barrier round spin 100ms",
            Wait::Shortly => "barrier round spin 1ms",
            Wait::Block => "barrier round",
        };
        if !WL2.contains(YIELD) || !WL2.contains(REUSES[0]) {
            return Err(Error("the second workload is not what the guesses are about".into()));
        }
        Self::read(MACHINE, "wl2", &WL2.replace(YIELD, wait).replace(REUSES[0], guess.reuse))
    }

    /// From texts, of which the workload is TOML.
    ///
    /// # Errors
    /// They are wrong.
    pub fn read(machine: &str, name: &str, workload: &str) -> Result<Self, Error> {
        let file = |text: &str| {
            let text = text.to_string();
            move |_: &str| Ok(text.clone().into_bytes())
        };
        let machine =
            Machine::resolve("machine.toml", &file(machine), &[]).map_err(|e| Error(e.to_string()))?;
        let workload = Workload::resolve(&format!("{name}.toml"), 0, &file(workload), &[])
            .map_err(|e| Error(e.to_string()))?;
        Ok(Self { machine, workload })
    }

    /// The topology `pmc-fair` with a configuration's parameters.
    ///
    /// # Errors
    /// The topology does not compile.
    pub fn plan(&self, config: &Config) -> Result<Plan, Error> {
        let set = |(param, value): (&str, u64)| {
            let value = match param {
                "branch" | "reward" | "log_only" => (value != 0).to_string(),
                "cache_weight" => format!("{value}%"),
                _ => value.to_string(),
            };
            Set { component: "pmc_fair".into(), param: param.into(), value }
        };
        let tick = Set { component: "cfs".into(), param: "tick".into(), value: TICK.into() };
        let sets: Vec<Set> = config.params().into_iter().map(set).chain([tick]).collect();
        let source = Source { name: "pmc-fair.weir".into(), text: TOPOLOGY.into() };
        weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), &self.machine.shape, &sets)
            .map(|c| c.plan)
            .map_err(|e| Error(format!("{e:?}")))
    }
}

/// What the thesis's kernel logs.
struct Logger<'a> {
    config: Config,
    lines: Vec<Line>,
    tasks: Vec<Known>,
    /// First task of each measured program, and how many of its tasks live.
    roots: BTreeMap<&'static str, (u32, u32)>,
    /// Raised when all measured programs have ended.
    stop: &'a AtomicBool,
}

/// A task of the run.
struct Known {
    comm: String,
    program: Option<&'static str>,
    cpu: CpuNo,
    stats: Stats,
}

/// Process number of a task.
fn pid(task: TaskNo) -> u32 {
    1000 + task
}

/// The shell that starts the programs.
const SHELL: u32 = 999;

impl Logger<'_> {
    fn push(&mut self, ns: u64, comm: &str, pid: u32, cpu: CpuNo, entry: Entry) {
        self.lines.push(Line { comm: comm.to_string(), pid, cpu, us: ns / 1000, entry });
    }
}

impl Observer for Logger<'_> {
    fn event(&mut self, ns: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { task, name, group } => {
                let program = PROGRAMS.into_iter().find(|p| *p == group);
                let (mut parent, comm) = (SHELL, name.split('-').next().unwrap_or(name).to_string());
                if let Some(p) = program {
                    let root = self.roots.entry(p).or_insert((pid(task), 0));
                    root.1 += 1;
                    parent = if root.0 == pid(task) { SHELL } else { root.0 };
                }
                debug_assert_eq!(self.tasks.len(), task as usize, "tasks are numbered in order");
                self.tasks.push(Known { comm, program, cpu: 0, stats: Stats::default() });
                let by = if parent == SHELL { "sh" } else { program.unwrap_or("sh") };
                self.push(ns, by, parent, 0, Entry::Fork { pid: pid(task), tgid: pid(task) });
            }
            Event::Run { task, cpu, .. } => self.tasks[task as usize].cpu = cpu,
            Event::Counters { task, counts, passes, penalty, .. } => {
                let s = &mut self.tasks[task as usize].stats;
                let rates = sample(self.config.level, self.config.model, counts);
                let times = passes as i64;
                s.schedules += passes;
                s.nvcsw += passes - 1;
                s.cache += times * rates.cache;
                s.branch += times * rates.branch;
                s.cache_cut += passes * rates.cache_cut;
                s.branch_cut += passes * rates.branch_cut;
                // Whichever of the two effects is on shows the penalty.
                if let Some((runtime, slice)) = penalty {
                    s.penalty += times * if runtime != 0 { runtime } else { slice };
                }
            }
            Event::Off { task, why, .. } => {
                let s = &mut self.tasks[task as usize].stats;
                match why {
                    Stop::Block | Stop::Exit => s.vcsw += 1,
                    Stop::Preempted | Stop::SliceEnd | Stop::Yield => s.nvcsw += 1,
                }
            }
            Event::TaskExit { task } => {
                let known = &self.tasks[task as usize];
                let (comm, cpu, stats, program) = (known.comm.clone(), known.cpu, known.stats, known.program);
                self.push(ns, &comm, pid(task), cpu, Entry::Exit);
                self.push(ns, "swapper", 0, cpu, Entry::Free { pid: pid(task), tgid: pid(task), stats });
                if let Some(root) = program.and_then(|p| self.roots.get_mut(p)) {
                    root.1 -= 1;
                }
                if self.roots.len() == PROGRAMS.len() && self.roots.values().all(|r| r.1 == 0) {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }
}

/// A log and the first process of each measured program in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    pub lines: Vec<Line>,
    pub roots: Vec<(&'static str, u32)>,
    /// Events of the simulation, for its speed.
    pub events: u64,
}

/// Run until all measured programs have ended.
///
/// # Errors
/// The simulation refuses its input.
pub fn run(setting: &Setting, plan: &Plan, config: Config, seed: u64) -> Result<Log, Error> {
    let stop = AtomicBool::new(false);
    let mut logger =
        Logger { config, lines: Vec::new(), tasks: Vec::new(), roots: BTreeMap::new(), stop: &stop };
    let run = RunConfig { seed, stop: Some(&stop), ..RunConfig::default() };
    let outcome =
        weir_sim::run(&setting.machine, plan, &setting.workload, &Costs::default(), &run, &mut logger)
            .map_err(|e| Error(e.to_string()))?;
    let roots = logger.roots.iter().map(|(name, root)| (*name, root.0)).collect();
    Ok(Log { lines: logger.lines, roots, events: outcome.events })
}
