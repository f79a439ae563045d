// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The refuter (DESIGN D20): draws task sets, asks the analysis, and attacks what it claims by simulation with the real components.
//!
//! A [`Set`] is a small workload under a topology. [`Claim`] is what the analysis says of it: that all deadlines are met, and that
//! responses are at most so long. [`refute`] runs the set with offsets that are equal, random, or chosen so that a less urgent task has
//! just taken a mutex when the others come; [`shrink`] makes a set that contradicts its claim small.
//!
//! [`forecast`] does the same with what the contention analysis says of other sizes of a machine, and [`gangs`] with what the map of gangs
//! says of a team. [`planted`] has copies of the analyses with an error in each.

pub mod forecast;
pub mod gangs;
pub mod judge;
pub mod planted;
pub mod set;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use weir_core::Plan;
use weir_core::event::{Event, Observer};
use weir_model::{Costs, Machine, Workload};
use weir_sim::RunConfig;

pub use judge::{Asked, Claim, Judge, honest};
pub use set::{Dice, Set};

/// What a simulation shows.
#[derive(Default)]
struct Seen {
    missed: Option<u32>,
    worst: Vec<u64>,
    done: u64,
}

impl Observer for Seen {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match event {
            Event::DeadlineMiss { task, .. } => self.missed = self.missed.or(Some(*task)),
            Event::JobDone { task, response_ns, .. } => {
                self.done += 1;
                let at = *task as usize;
                self.worst.resize(self.worst.len().max(at + 1), 0);
                self.worst[at] = self.worst[at].max(*response_ns);
            }
            _ => {}
        }
    }
}

/// Plans by topology and CPUs; compiled once.
static COMPILED: Mutex<BTreeMap<(String, u32), &'static weir_lang::Compiled>> = Mutex::new(BTreeMap::new());

/// A topology of the catalogue for so many equal CPUs.
///
/// # Panics
/// There is none of that name.
pub fn compiled(topology: &str, cpus: u32) -> &'static weir_lang::Compiled {
    let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry((topology.to_string(), cpus)).or_insert_with(|| {
        let source = weir::topology::source(topology).expect("a topology of the catalogue");
        Box::leak(Box::new(
            weir::topology::compile(&source, &Machine::smp(cpus).shape, &[]).expect("compiles"),
        ))
    })
}

/// How a claim was tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub sets: u64,
    /// Sets of which it was claimed that all deadlines are met.
    pub accepted: u64,
    /// Response times that were claimed to be bounds.
    pub bounds: u64,
    pub runs: u64,
    pub jobs: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, o: Self) {
        self.sets += o.sets;
        self.accepted += o.accepted;
        self.bounds += o.bounds;
        self.runs += o.runs;
        self.jobs += o.jobs;
    }
}

/// Ask of a set, and attack what is claimed. `Err`: what contradicts it, in words.
///
/// # Errors
/// The claim is wrong.
///
/// # Panics
/// A set is no workload.
pub fn refute(set: &Set, judge: Judge, seed: u64, tally: &mut Tally) -> Result<(), String> {
    tally.sets += 1;
    let mut dice = Dice::new(seed);
    let mut first: Option<Claim> = None;
    for (how, attacked) in set.attacks(&mut dice) {
        let workload = attacked.workload(seed);
        let asked = Asked::new(&attacked, &workload);
        // Elsewhere what is claimed holds for all offsets.
        let again =
            ["p-", "pd2", "-tick"].iter().any(|part| set.topology.contains(part)) || set.topology == "run";
        let claim = first.clone().filter(|_| !again).unwrap_or_else(|| judge(&asked));
        if first.is_none() {
            first = Some(claim.clone());
            tally.accepted += u64::from(claim.schedulable);
            tally.bounds += claim.upper.iter().flatten().count() as u64;
        }
        if !claim.schedulable && claim.upper.iter().all(Option::is_none) {
            match again {
                true => continue,
                false => break,
            }
        }
        let seen = run(&attacked, &workload, seed);
        tally.runs += 1;
        tally.jobs += seen.done;
        let name = |no: u32| workload.tasks[no as usize].name.clone();
        if let Some(no) = seen.missed.filter(|_| claim.schedulable) {
            return Err(format!("{how}: `{}` misses a deadline, though the set is schedulable", name(no)));
        }
        for (no, bound) in claim.upper.iter().enumerate() {
            let (Some(bound), Some(worst)) = (bound, seen.worst.get(asked.number(no))) else { continue };
            if worst > bound {
                return Err(format!(
                    "{how}: `{}` takes {worst} ns, at most {bound} were claimed",
                    asked.tasks.tasks[no].name
                ));
            }
        }
    }
    Ok(())
}

fn run(set: &Set, workload: &Workload, seed: u64) -> Seen {
    let plan: &Plan = &compiled(set.topology, set.cpus).plan;
    let config = RunConfig { seed, duration_ns: Some(set.duration()), ..RunConfig::default() };
    let costs = if set.costs { Costs::default() } else { Costs::zero() };
    let mut seen = Seen::default();
    weir_sim::run(&Machine::smp(set.cpus), plan, workload, &costs, &config, &mut seen).expect("runs");
    seen
}

/// The smallest set found that still contradicts its claim, and how.
pub fn shrink(set: &Set, judge: Judge, seed: u64) -> (Set, String) {
    let wrong = |s: &Set| refute(s, judge, seed, &mut Tally::default()).err();
    let (mut best, mut why) = (set.clone(), wrong(set).unwrap_or_default());
    loop {
        let smaller = best.smaller().into_iter().find_map(|s| wrong(&s).map(|w| (s, w)));
        match smaller {
            Some((s, w)) => (best, why) = (s, w),
            None => return (best, why),
        }
    }
}
