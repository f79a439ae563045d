// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What experiments work with: points in parallel, with progress and Ctrl-C, and short ways to simulate.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use weir_core::Plan;
use weir_core::event::{Call, Event, Observer};
use weir_lang::{Set, Source};
use weir_sim::engine::{self, Control, Inside, RunConfig};
use weir_sim::{Costs, Machine, Outcome, Workload};

use weir::Watch;
use weir::fault::Fault;
use weir::scenario::Workshop;
use weir::session::Candidate;
use weir::{machine, topology};

/// Why an experiment ends without a report.
#[derive(Debug)]
pub enum Halt {
    Fault(Fault),
    /// The user asked to end.
    Interrupted,
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

/// What experiments return.
pub type Done<T> = std::result::Result<T, Halt>;

/// The bench that experiments run on.
pub struct Lab<'a> {
    /// A reduced sweep is wanted.
    pub quick: bool,
    /// The table whose scheduler code is charged instead of that of the experiments' own tables.
    code: Option<Costs>,
    watch: &'a dyn Watch,
    runs: AtomicU64,
}

impl<'a> Lab<'a> {
    pub fn new(quick: bool, code: Option<Costs>, watch: &'a dyn Watch) -> Self {
        Self { quick, code, watch, runs: AtomicU64::new(0) }
    }

    /// Simulations made so far.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// A simulation was made elsewhere.
    pub fn ran(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// The caller, for work that is not made of [`Lab::points`].
    pub fn watch(&self) -> &'a dyn Watch {
        self.watch
    }

    /// True once the user asked to end.
    pub fn stopped(&self) -> bool {
        self.watch.stopped()
    }

    /// `full`, or `reduced` with `--quick`.
    pub fn pick<T>(&self, full: T, reduced: T) -> T {
        if self.quick { reduced } else { full }
    }

    /// Work out all points on all threads; results are in the order of the points.
    pub fn points<T: Sync, R: Send>(&self, points: &[T], one: impl Fn(&T) -> Done<R> + Sync) -> Done<Vec<R>> {
        self.watch.more(points.len() as u64);
        // The longest points are the last ones as a rule: begin with them.
        let mut results: Vec<(usize, Done<R>)> = points
            .par_iter()
            .enumerate()
            .rev()
            .with_max_len(1)
            .map(|(i, p)| (i, self.point(p, &one)))
            .collect();
        results.sort_by_key(|r| r.0);
        results.into_iter().map(|r| r.1).collect()
    }

    /// Work out all points one after the other: for what is timed on this computer.
    pub fn one_by_one<T, R>(&self, points: &[T], one: impl Fn(&T) -> Done<R>) -> Done<Vec<R>> {
        self.watch.more(points.len() as u64);
        points.iter().map(|p| self.point(p, &one)).collect()
    }

    fn point<T, R>(&self, point: &T, one: impl Fn(&T) -> Done<R>) -> Done<R> {
        if self.watch.stopped() {
            return Err(Halt::Interrupted);
        }
        let result = one(point);
        self.watch.one();
        result
    }

    /// Simulate one run.
    pub fn run(&self, run: &Run<'_>, observer: &mut dyn Observer) -> Done<Outcome> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let config = RunConfig {
            seed: run.seed,
            duration_ns: run.duration_ns,
            stop: Some(run.until.unwrap_or(self.watch.stop())),
            control: run.control,
            inside: run.inside,
            ..RunConfig::default()
        };
        // Where scheduling is free it stays so.
        let other = self.code.as_ref().filter(|_| !run.costs.is_zero()).map(|c| run.costs.with_code_of(c));
        let costs = other.as_ref().unwrap_or(run.costs);
        let _running = self.watch.running();
        let outcome = engine::run(run.machine, run.plan, run.workload, costs, &config, observer)
            .map_err(machine::fault)?;
        if self.watch.stopped() { Err(Halt::Interrupted) } else { Ok(outcome) }
    }
}

/// A simulation to be made.
pub struct Run<'a> {
    pub machine: &'a Machine,
    pub plan: &'a Plan,
    pub workload: &'a Workload,
    pub costs: &'a Costs,
    /// End in virtual time, ns; without it the workload runs to its end.
    pub duration_ns: Option<u64>,
    /// Set by an observer that has seen enough; it has to look at [`Lab::stopped`], too.
    pub until: Option<&'a AtomicBool>,
    /// Rules by which the topology reshapes itself.
    pub control: Option<Control<'a>>,
    /// Machines and topologies of the workload's guests.
    pub inside: &'a [Inside],
    pub seed: u64,
}

impl<'a> Run<'a> {
    pub fn new(machine: &'a Machine, plan: &'a Plan, workload: &'a Workload, costs: &'a Costs) -> Self {
        Self {
            machine,
            plan,
            workload,
            costs,
            duration_ns: None,
            until: None,
            control: None,
            inside: &[],
            seed: 1,
        }
    }
}

/// A topology of the catalogue, compiled for a machine.
pub fn plan(name: &str, machine: &Machine, sets: &[(&str, &str, String)]) -> Done<Plan> {
    compile(&topology::source(name)?, machine, sets)
}

/// A topology of the catalogue that reshapes itself, and what carries out its rules.
pub struct Reshaping {
    made: Candidate,
    workshop: Workshop,
}

impl Reshaping {
    pub fn new(name: &str, machine: &Machine) -> Done<Self> {
        let made = Candidate::compile(topology::source(name)?, &machine.shape, &[])?;
        let workshop = made.workshop(&machine.shape, "");
        Ok(Self { made, workshop })
    }

    /// What it begins with.
    pub fn plan(&self) -> &Plan {
        &self.made.plan
    }

    /// Its rules, for one run.
    pub fn control(&self) -> Option<Control<'_>> {
        self.made.adapts.as_ref().map(|scenario| Control { scenario, composer: &self.workshop })
    }
}

/// A topology given as text.
pub fn plan_of(name: &str, text: &str, machine: &Machine, sets: &[(&str, &str, String)]) -> Done<Plan> {
    compile(&Source { name: format!("{name}.weir"), text: text.into() }, machine, sets)
}

fn compile(source: &Source, machine: &Machine, sets: &[(&str, &str, String)]) -> Done<Plan> {
    let set = |(component, param, value): &(&str, &str, String)| Set {
        component: (*component).into(),
        param: (*param).into(),
        value: value.clone(),
    };
    let sets: Vec<Set> = sets.iter().map(set).collect();
    Ok(topology::compile(source, &machine.shape, &sets)?.plan)
}

/// The cost table of a machine of the second source.
pub fn costs(name: &str) -> Done<Costs> {
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    Ok(Costs::resolve(name, &none).map_err(machine::fault)?)
}

/// A machine given as TOML.
pub fn machine_of(name: &str, text: &str) -> Done<Machine> {
    let read = |_: &str| Ok(text.as_bytes().to_vec());
    Ok(Machine::resolve(&format!("{name}.toml"), &read, &[]).map_err(machine::fault)?)
}

/// A workload by what `--workload` takes.
pub fn workload(spec: &str) -> Done<Workload> {
    workload_with(spec, 1)
}

/// The same, drawn with this seed.
pub fn workload_with(spec: &str, seed: u64) -> Done<Workload> {
    Ok(machine::workload(spec, seed)?)
}

/// A workload given as TOML.
pub fn workload_of(name: &str, text: &str) -> Done<Workload> {
    let read = |_: &str| Ok(text.as_bytes().to_vec());
    let file = format!("{name}.toml");
    Ok(Workload::resolve(&file, 1, &read, &[]).map_err(machine::fault)?)
}

/// Durations of calls, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub calls: u64,
    pub ns: u64,
    pub wait_ns: u64,
    squares: f64,
}

impl Spent {
    fn add(&mut self, ns: u64, wait_ns: u64) {
        self.calls += 1;
        self.ns += ns;
        self.wait_ns += wait_ns;
        self.squares += (ns as f64) * (ns as f64);
    }

    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            ns: self.ns + other.ns,
            wait_ns: self.wait_ns + other.wait_ns,
            squares: self.squares + other.squares,
        }
    }

    /// Mean, us; 0 without calls.
    pub fn mean_us(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.ns as f64 / self.calls as f64 / 1e3 }
    }

    /// Half-width of the 95 % interval of the mean, us, by the normal quantile: there are thousands of calls.
    pub fn ci95_us(&self) -> f64 {
        if self.calls < 2 {
            return 0.0;
        }
        let n = self.calls as f64;
        let mean = self.ns as f64 / n;
        let variance = (self.squares / n - mean * mean).max(0.0) * n / (n - 1.0);
        1.96 * (variance / n).sqrt() / 1e3
    }
}

/// Observer that adds up the calls of the scheduler as the source's call graphs name them (8.5.2).
#[derive(Debug, Default)]
pub struct Calls {
    /// `__fw_admit`, `__fw_unblock`, `__fw_relinquish`.
    pub admit: Spent,
    pub unblock: Spent,
    pub relinquish: Spent,
    /// Picks that found a task: `__fw_dispatch`.
    pub dispatch: Spent,
    /// All picks, and what a CPU does before one: give a task back, or take it off.
    pub pick: Spent,
    pub leave: Spent,
    /// A pick that takes a task out of its pipes takes at least this, waiting not included, ns.
    pub least_ns: u64,
    /// Of each instance, by index: its code without waiting, ns, and its updates.
    pub instances: Vec<(u64, u64)>,
    /// Of each pipe: time that its lock was held, and waited for, ns.
    pub pipes: Vec<(u64, u64)>,
}

impl Calls {
    /// For a cost table: a pick without a task is one call and a look at one pipe.
    pub fn new(costs: &Costs) -> Self {
        Self { least_ns: 2 * costs.core.call, ..Self::default() }
    }

    /// `activate_task`: a task is taken in, new or woken.
    pub fn activate(&self) -> Spent {
        self.admit.and(&self.unblock)
    }

    /// `__schedule`: everything that a CPU does to get its next task, us, a pick.
    pub fn schedule_us(&self) -> f64 {
        let ns = self.pick.ns + self.leave.ns;
        if self.pick.calls == 0 { 0.0 } else { ns as f64 / self.pick.calls as f64 / 1e3 }
    }
}

fn cell<T: Copy + Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

impl Observer for Calls {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match *event {
            Event::Sched { call, ns, lock_wait_ns, .. } => match call {
                Call::Admit => self.admit.add(ns, lock_wait_ns),
                Call::Unblock => self.unblock.add(ns, lock_wait_ns),
                Call::Relinquish => {
                    self.relinquish.add(ns, lock_wait_ns);
                    self.leave.add(ns, lock_wait_ns);
                }
                Call::Block | Call::Exit => self.leave.add(ns, lock_wait_ns),
                Call::Pick => {
                    self.pick.add(ns, lock_wait_ns);
                    if ns - lock_wait_ns >= self.least_ns {
                        self.dispatch.add(ns, lock_wait_ns);
                    }
                }
                Call::Notify | Call::Timer | Call::Swap => {}
            },
            Event::InstanceTime { instance, ns, updates } => {
                let at = cell(&mut self.instances, instance);
                *at = (at.0 + ns, at.1 + u64::from(updates));
            }
            Event::PipeLock { pipe, held_ns, wait_ns } => {
                let at = cell(&mut self.pipes, pipe);
                *at = (at.0 + held_ns, at.1 + wait_ns);
            }
            _ => {}
        }
    }
}

/// Figures of the source: a CSV with a heading, as numbers by column name.
pub struct Figures {
    heads: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
}

impl Figures {
    pub fn parse(text: &'static str) -> Self {
        let mut lines = text.lines().map(|l| l.split(',').collect::<Vec<_>>());
        Self { heads: lines.next().unwrap_or_default(), rows: lines.collect() }
    }

    fn column(&self, name: &str) -> usize {
        self.heads.iter().position(|h| *h == name).expect("the experiment knows its own file")
    }

    /// The value in `column` of the first row that has these values in these columns.
    pub fn at(&self, key: &[(&str, &str)], column: &str) -> Option<f64> {
        let at: Vec<(usize, &str)> = key.iter().map(|(c, v)| (self.column(c), *v)).collect();
        let row = self.rows.iter().find(|r| at.iter().all(|(c, v)| r[*c] == *v))?;
        row[self.column(column)].parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_mean() {
        let mut s = Spent::default();
        [1_000, 3_000].into_iter().for_each(|ns| s.add(ns, 0));
        assert_eq!(s.mean_us(), 2.0);
        // Deviation of the sample 1.414 us, of the mean 1 us.
        assert!((s.ci95_us() - 1.96).abs() < 1e-9, "{}", s.ci95_us());
    }

    #[test]
    fn figures_are_found_by_key() {
        let f = Figures::parse("a,b,c\n1,x,2.5\n1,y,3.5\n");
        assert_eq!(f.at(&[("a", "1"), ("b", "y")], "c"), Some(3.5));
        assert_eq!(f.at(&[("a", "2")], "c"), None);
    }
}
