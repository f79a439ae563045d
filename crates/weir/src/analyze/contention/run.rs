// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Short runs on machines of several sizes, and their measurements of each lock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::Plan;
use weir_core::event::{Call, Event, Observer};
use weir_lang::{Set, Source};
use weir_model::{Costs, Machine, Workload};
use weir_sim::engine::{self, RunConfig};

use super::model::{Group, Sample};
use crate::fault::{Fault, Result};
use crate::scenario::Reshaping;
use crate::session::Candidate;
use crate::watch::Watch;
use crate::{machine, topology};

/// Decisions a CPU after which a run has shown enough; and bounds for all CPUs together.
const CYCLES_A_CPU: u64 = 1_000;
const LEAST_CYCLES: u64 = 20_000;
const MOST_CYCLES: u64 = 250_000;

/// Inputs shared by all runs of an analysis.
pub struct Field<'a> {
    pub machine: &'a Machine,
    pub workload: &'a Workload,
    pub costs: &'a Costs,
    pub sets: &'a [Set],
    pub duration_ns: Option<u64>,
    pub seed: u64,
    pub watch: &'a dyn Watch,
}

impl Field<'_> {
    /// The machine with `n` CPUs; itself where that is its size.
    pub fn machine(&self, n: u32) -> Option<Machine> {
        if n == self.machine.nr_cpus() { Some(self.machine.clone()) } else { self.machine.resized(n) }
    }

    /// The load for `n` CPUs: as much a CPU as on the whole machine. Where it cannot be divided all of it, which makes
    /// no difference to loads that keep every CPU busy anyway.
    pub fn workload(&self, n: u32) -> Workload {
        let own = self.machine.nr_cpus();
        if n > own {
            return self.workload.copies(n.div_ceil(own), own);
        }
        let whole = own / gcd(own, n);
        self.workload.part(n / gcd(own, n), whole).unwrap_or_else(|| self.workload.clone())
    }

    pub fn plan(&self, source: &Source, machine: &Machine) -> Result<Plan> {
        Ok(topology::compile(source, &machine.shape, self.sets)?.plan)
    }

    /// Run on `n` CPUs. `None` where the machine does not come in that size, or the user has asked to end.
    ///
    /// # Errors
    /// The topology does not compile for that size, or the run fails.
    pub fn sample(&self, source: &Source, n: u32) -> Result<Option<Sample>> {
        let Some(machine) = self.machine(n) else { return Ok(None) };
        let made = Candidate::compile(source.clone(), &machine.shape, self.sets)?;
        let reshaping = Reshaping::new(made.adapts.clone(), made.workshop(&machine.shape, ""));
        let workload = self.workload(n);
        let enough = AtomicBool::new(false);
        let cycles = (CYCLES_A_CPU * u64::from(n)).clamp(LEAST_CYCLES, MOST_CYCLES);
        let mut seen = Seen {
            enough: &enough,
            watch: self.watch,
            left: cycles,
            pipes: Locks::of(made.plan.pipes.iter().map(|p| p.name.as_str())),
            instances: Locks::of(made.plan.instances.iter().map(|i| i.name.as_str())),
        };
        let config = RunConfig {
            seed: self.seed,
            duration_ns: self.duration_ns,
            stop: Some(&enough),
            control: reshaping.control(),
            ..RunConfig::default()
        };
        let _running = self.watch.running();
        let o = engine::run(&machine, &made.plan, &workload, self.costs, &config, &mut seen)
            .map_err(machine::fault)?;
        if self.watch.stopped() {
            return Ok(None);
        }
        Ok(Some(Sample {
            cpus: n,
            end_ns: o.end_ns,
            cycles: o.decisions,
            switches: o.context_switches,
            busy_ns: o.busy_ns,
            other_ns: o.kernel_ns.saturating_sub(o.scheduler_ns),
            idle_ns: o.idle_ns,
            scheduler_ns: o.scheduler_ns,
            wait_ns: o.lock_wait_ns,
            pipes: seen.pipes.families(),
            instances: seen.instances.families(),
        }))
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A name without its numbers: `lb.out3` and `lb.out17` are one family.
pub fn family(name: &str) -> String {
    let mut out = String::new();
    let mut digits = false;
    for c in name.chars() {
        if !(c.is_ascii_digit() && digits) {
            out.push(if c.is_ascii_digit() { 'N' } else { c });
        }
        digits = c.is_ascii_digit();
    }
    out
}

/// Pipes of each family of a plan.
pub fn counts(plan: &Plan) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for p in &plan.pipes {
        *counts.entry(family(&p.name)).or_insert(0) += 1;
    }
    counts
}

/// Times of a graph's locks, or of its instances: by name, because numbers change when it is rewired.
struct Locks {
    /// Place in `all`, by number in the graph in force.
    places: Vec<usize>,
    all: Vec<(String, u64, u64)>,
}

impl Locks {
    fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut locks = Self { places: Vec::new(), all: Vec::new() };
        locks.rewired(names);
        locks
    }

    fn rewired<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let known: BTreeMap<String, usize> =
            self.all.iter().enumerate().map(|(i, l)| (l.0.clone(), i)).collect();
        self.places.clear();
        for name in names {
            self.places.push(known.get(name).copied().unwrap_or(self.all.len()));
            if !known.contains_key(name) {
                self.all.push((name.into(), 0, 0));
            }
        }
    }

    fn put(&mut self, index: u32, held_ns: u64, wait_ns: u64) {
        let Some(l) = self.places.get(index as usize).and_then(|i| self.all.get_mut(*i)) else { return };
        l.1 += held_ns;
        l.2 += wait_ns;
    }

    /// Sums of each family.
    fn families(&self) -> Vec<Group> {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for (name, held_ns, wait_ns) in &self.all {
            let key = family(name);
            let group = groups.entry(key.clone()).or_insert_with(|| Group { name: key, ..Group::default() });
            group.count += 1;
            group.held_ns += held_ns;
            group.wait_ns += wait_ns;
        }
        groups.into_values().collect()
    }
}

/// Ends a run that has shown enough, and keeps what each lock and each instance took.
struct Seen<'a> {
    enough: &'a AtomicBool,
    watch: &'a dyn Watch,
    left: u64,
    pipes: Locks,
    instances: Locks,
}

impl Observer for Seen<'_> {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match *event {
            Event::Sched { call: Call::Pick, .. } => {
                self.left = self.left.saturating_sub(1);
                if self.left == 0 || (self.left.is_multiple_of(1024) && self.watch.stopped()) {
                    self.enough.store(true, Ordering::Relaxed);
                }
            }
            Event::PipeLock { pipe, held_ns, wait_ns } => self.pipes.put(pipe, held_ns, wait_ns),
            Event::InstanceTime { instance, ns, .. } => self.instances.put(instance, ns, 0),
            _ => {}
        }
    }

    fn rewired(&mut self, plan: &Plan) {
        self.pipes.rewired(plan.pipes.iter().map(|p| p.name.as_str()));
        self.instances.rewired(plan.instances.iter().map(|i| i.name.as_str()));
    }
}

/// Why a run is missing where there should be one.
pub fn interrupted() -> Fault {
    Fault::system("interrupted", "the analysis ends without results; run it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of the machine's start used to hold for a whole run, and stages spun in vain.
    #[test]
    fn a_topology_reshapes_itself_in_the_runs_of_an_analysis() {
        let machine = Machine::smp(4);
        let workload = machine::workload("pipeline:threads=8,work=4ms,spin=true,cpu=3", 1).expect("ours");
        let costs = Costs::zero();
        let field = Field {
            machine: &machine,
            workload: &workload,
            costs: &costs,
            sets: &[],
            duration_ns: None,
            seed: 1,
            watch: &crate::watch::Unwatched,
        };
        let busy = |topology: &str| {
            let source = topology::source(topology).expect("of the catalogue");
            let sample = field.sample(&source, 4).expect("it runs").expect("nobody stops it");
            sample.busy_ns
        };
        assert_eq!(busy("pipeline"), 2 * 8 * 4_000_000);
        assert!(busy("headq") > 2 * busy("pipeline"));
    }

    #[test]
    fn numbers_make_no_other_family() {
        assert_eq!(family("lb.out12"), "lb.outN");
        assert_eq!(family("round_robin@cpu3"), family("round_robin@cpu127"));
        assert_ne!(family("entry"), family("entry2"));
    }
}
