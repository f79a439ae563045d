// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Small workloads, topologies from text, and observers for the tests.

use std::fmt::Write as _;

use weir_core::event::{Event, Observer, Stop};
use weir_core::{MachineShape, Plan};
use weir_lang::{NoIncludes, Source};
use weir_sim::{Costs, Machine, Op, Outcome, Result, RunConfig, TaskSpec, Workload};

pub const MS: u64 = 1_000_000;
pub const US: u64 = 1_000;

/// Compile a topology for a machine.
pub fn plan(text: &str, shape: &MachineShape) -> Plan {
    let src = Source { name: "test.weir".into(), text: text.into() };
    match weir_lang::compile(&src, &NoIncludes, weir_core::catalog(), shape, &[]) {
        Ok(c) => c.plan,
        Err(all) => panic!("{text}: {}", all.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("\n")),
    }
}

/// A task that exists from the beginning.
pub fn task(name: &str, program: Vec<Op>) -> TaskSpec {
    TaskSpec::new(name, "", program)
}

/// A periodic task with its deadline at the end of the period.
pub fn periodic(name: &str, wcet: u64, period: u64, priority: i32) -> TaskSpec {
    let release =
        Op::Release { offset_ns: 0, period_ns: period, deadline_ns: period, jitter_ns: 0, extra_ns: 0 };
    let program = vec![Op::Loop { count: None }, release, Op::Run { ns: wcet }, Op::LoopEnd];
    TaskSpec { priority, ..task(name, program) }
}

pub fn workload(tasks: Vec<TaskSpec>) -> Workload {
    Workload { name: "test".into(), tasks, ..Workload::default() }
}

/// A loop around some ops.
pub fn repeat(count: Option<u64>, ops: Vec<Op>) -> Vec<Op> {
    let mut all = vec![Op::Loop { count }];
    all.extend(ops);
    all.push(Op::LoopEnd);
    all
}

/// Times at which tasks were on CPUs, and what happened to jobs.
#[derive(Default)]
pub struct Gantt {
    names: Vec<String>,
    since: Vec<(u64, u32)>,
    /// Task, CPU, from, to.
    pub bars: Vec<(String, u32, u64, u64)>,
    /// Task, job, response.
    pub done: Vec<(String, u32, u64)>,
    pub missed: Vec<(String, u32, u64)>,
    pub preemptions: u32,
    pub migrations: u32,
    pub markers: Vec<(u64, String)>,
    pub exits: Vec<(String, u64)>,
    last: u64,
}

impl Observer for Gantt {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        assert!(t >= self.last, "events in order of time: {event:?} at {t} after {}", self.last);
        self.last = t;
        match *event {
            Event::TaskNew { task, name, .. } => {
                assert_eq!(task as usize, self.names.len());
                self.names.push(name.into());
                self.since.push((0, u32::MAX));
            }
            Event::Run { task, cpu, migrated, .. } => {
                assert_eq!(self.since[task as usize].1, u32::MAX, "it runs once at a time");
                self.since[task as usize] = (t, cpu);
                self.migrations += u32::from(migrated);
            }
            Event::Off { task, cpu, why, .. } => {
                let (from, on) = std::mem::replace(&mut self.since[task as usize], (0, u32::MAX));
                assert_eq!(on, cpu, "it leaves the CPU it ran on");
                self.bars.push((self.names[task as usize].clone(), cpu, from, t));
                self.preemptions += u32::from(why == Stop::Preempted);
            }
            Event::Preempted { .. } => self.preemptions += 1,
            Event::JobDone { task, job, response_ns, .. } => {
                self.done.push((self.names[task as usize].clone(), job, response_ns));
            }
            Event::DeadlineMiss { task, job, .. } => {
                self.missed.push((self.names[task as usize].clone(), job, t))
            }
            Event::Marker { text } => self.markers.push((t, text.into())),
            Event::TaskExit { task } => self.exits.push((self.names[task as usize].clone(), t)),
            _ => {}
        }
    }
}

impl Gantt {
    /// Bars of one CPU in milliseconds: `a 0-2, b 2-6`.
    pub fn cpu(&self, cpu: u32) -> String {
        let mut out = String::new();
        for (name, _, from, to) in self.bars.iter().filter(|b| b.1 == cpu) {
            assert!(from % MS == 0 && to % MS == 0, "{name} {from} {to}");
            let comma = if out.is_empty() { "" } else { ", " };
            write!(out, "{comma}{name} {}-{}", from / MS, to / MS).unwrap();
        }
        out
    }
}

/// Every event as text.
#[derive(Default)]
pub struct Transcript(pub String);

impl Observer for Transcript {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        writeln!(self.0, "{t} {event:?}").unwrap();
    }
}

/// Run with all checks on.
#[allow(clippy::result_large_err)]
pub fn run_on<O: Observer>(
    machine: &Machine,
    topology: &str,
    w: &Workload,
    costs: &Costs,
    cfg: RunConfig<'_>,
    observer: &mut O,
) -> Result<Outcome> {
    let plan = plan(topology, &machine.shape);
    weir_sim::run(machine, &plan, w, costs, &RunConfig { checks: true, ..cfg }, observer)
}

/// Run without costs on `n` equal CPUs until `end` (0: to the end).
pub fn gantt(n: u32, topology: &str, w: &Workload, end: u64) -> (Gantt, Outcome) {
    let mut g = Gantt::default();
    let cfg = RunConfig { duration_ns: (end > 0).then_some(end), ..RunConfig::default() };
    let out = run_on(&Machine::smp(n), topology, w, &Costs::zero(), cfg, &mut g).unwrap();
    (g, out)
}

/// A topology of the catalogue, as text.
pub fn catalogue(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../topologies/{name}.weir"));
    std::fs::read_to_string(path).expect("the catalogue has it")
}

/// A periodic task that declares `wcet` and needs `run` in each job.
pub fn real_time(name: &str, wcet: u64, run: u64, period: u64, deadline: u64) -> TaskSpec {
    let release =
        Op::Release { offset_ns: 0, period_ns: period, deadline_ns: deadline, jitter_ns: 0, extra_ns: 0 };
    let program = repeat(None, vec![release, Op::Run { ns: run }]);
    let timing = weir_sim::Timing { period_ns: period, deadline_ns: deadline, wcet_ns: wcet };
    TaskSpec { timing: Some(timing), ..task(name, program) }
}

/// A task that always computes.
pub fn hog(name: &str) -> TaskSpec {
    task(name, repeat(None, vec![Op::Run { ns: 100 * MS }]))
}

impl Gantt {
    /// Time that a task was on CPUs, ns.
    pub fn ran(&self, name: &str) -> u64 {
        self.ran_in(name, 0, u64::MAX)
    }

    /// The same between two instants.
    pub fn ran_in(&self, name: &str, from: u64, to: u64) -> u64 {
        let within = |b: &(String, u32, u64, u64)| b.3.min(to).saturating_sub(b.2.max(from));
        self.bars.iter().filter(|b| b.0 == name).map(within).sum()
    }
}

/// A workload from the text of a TOML file.
pub fn toml(text: &str) -> Workload {
    Workload::resolve("test.toml", 1, &|_| Ok(text.as_bytes().to_vec()), &[])
        .unwrap_or_else(|e| panic!("{e}"))
}

/// How properties are tested: the same cases in every run. `WEIR_LONG` in the environment asks for ten times as many
/// (`make test-all`), `PROPTEST_CASES` for another number, `PROPTEST_RNG_SEED` for others.
pub fn config(cases: u32) -> proptest::test_runner::Config {
    let given = |name| std::env::var(name).is_ok();
    let mut config = proptest::test_runner::Config {
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    };
    if !given("PROPTEST_CASES") {
        config.cases = cases * if given("WEIR_LONG") { 10 } else { 1 };
    }
    if !given("PROPTEST_RNG_SEED") {
        config.rng_seed = proptest::test_runner::RngSeed::Fixed(1);
    }
    config
}
