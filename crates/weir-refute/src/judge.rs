// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What is asked of the analysis, and what it claims.

use weir::analyze::{overheads, scheduler, section, tasks};
use weir_analysis::{Bound, Feature, Policy, Verdict};
use weir_model::{Costs, Machine, Workload};

use crate::{Set, compiled};

/// Whether all deadlines are met, and how long each task's jobs take at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub schedulable: bool,
    pub upper: Vec<Option<u64>>,
}

impl Claim {
    /// The lesser of two bounds holds.
    pub fn add(&mut self, response: &[Option<u64>]) {
        for (mine, other) in self.upper.iter_mut().zip(response) {
            *mine = match (*mine, *other) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
}

/// A set as the analysis gets it.
pub struct Asked<'a> {
    pub topology: &'a str,
    pub cpus: u32,
    pub costs: bool,
    pub tasks: tasks::Tasks,
    pub features: Vec<Feature>,
    /// Where the analyzed tasks stand in the workload.
    numbers: Vec<usize>,
}

impl<'a> Asked<'a> {
    /// The same steps as `runweir analyze --schedulability`.
    ///
    /// # Panics
    /// The set has no recurrent task.
    pub fn new(set: &'a Set, workload: &Workload) -> Self {
        let platform = tasks::platform(&Machine::smp(set.cpus)).expect("it has CPUs");
        let all = tasks::of(workload, &platform).expect("recurrent tasks");
        let mut breaks = platform.breaks;
        tasks::merge(&mut breaks, all.breaks.clone());
        tasks::merge(&mut breaks, tasks::topology(compiled(set.topology, set.cpus)));
        let place =
            |name: &str| workload.tasks.iter().position(|t| t.name == name).expect("it is in the workload");
        let numbers = all.tasks.iter().map(|t| place(&t.name)).collect();
        let features = breaks.into_keys().collect();
        Self { topology: set.topology, cpus: set.cpus, costs: set.costs, tasks: all, features, numbers }
    }

    /// Number of a task in the simulation: tasks are created in the order of their start, which is 0 for all.
    pub fn number(&self, analyzed: usize) -> usize {
        self.numbers[analyzed]
    }

    /// The policy that the topology is taken for.
    pub fn policy(&self) -> Option<Policy> {
        scheduler::of(&compiled(self.topology, self.cpus).plan, self.cpus)
    }
}

/// Judges sets.
pub type Judge = fn(&Asked<'_>) -> Claim;

/// The analysis as it is.
pub fn honest(asked: &Asked<'_>) -> Claim {
    let plan = &compiled(asked.topology, asked.cpus).plan;
    let costs = if asked.costs { Costs::default() } else { Costs::zero() };
    let machine = Machine::smp(asked.cpus);
    let overheads = overheads::of(&costs, &machine, Some(plan), asked.tasks.tasks.len());
    let named = scheduler::Named { name: asked.topology.to_string(), policy: asked.policy() };
    let judged = section(named, &asked.tasks.load(&asked.features), asked.cpus, &overheads);
    let mut claim = Claim { schedulable: false, upper: vec![None; asked.tasks.tasks.len()] };
    let Some(judged) = (if asked.costs { judged.costly } else { Some(judged.plain) }) else { return claim };
    claim.schedulable = judged.verdict == Verdict::Schedulable;
    for f in judged.found.iter().filter(|f| f.bound == Bound::Upper) {
        claim.add(&f.response);
    }
    claim
}
