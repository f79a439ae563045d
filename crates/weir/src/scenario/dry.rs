// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Trying a scenario without a run: every transaction is compiled, checked and built, and its difference shown.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde::Serialize;
use weir_core::{Config, MachineShape, Plan, Sched};
use weir_model::scenario::{Verb, cpus_after, known_cpu, known_isa};
use weir_model::{Composer, Scenario};

use super::Workshop;
use crate::fault::{Blame, Diag, Fault, Result};
use crate::units::{exact, plural};

/// Address space for graphs that are not run.
const ARENA: usize = 1 << 32;

/// A transaction and what would become of it.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Tried {
    /// The step or rule that asks for it.
    pub cause: String,
    pub verbs: Vec<String>,
    pub ok: bool,
    /// Why it would be refused; empty otherwise.
    pub why: String,
    /// Topologies before and after.
    pub from: String,
    pub to: String,
    pub instances_built: u32,
    pub instances_kept: u32,
    /// The graph's losses and gains, one per line.
    pub diff: Vec<String>,
    /// Components of the topology that takes over.
    #[serde(skip)]
    classes: BTreeSet<u16>,
}

/// The components, by class, of all topologies that a scenario leads to.
///
/// # Errors
/// Of the user: a transaction would be refused.
pub fn components(
    scenario: &Scenario,
    workshop: &Workshop,
    shape: &MachineShape,
    plan: &Plan,
) -> Result<BTreeSet<u16>> {
    let tried = try_all(scenario, workshop, shape, plan)?;
    refused(&tried)?;
    Ok(tried.into_iter().flat_map(|t| t.classes).collect())
}

/// The topologies that a scenario leads to, as far as they can be made: what is refused is found when it is tried, or run.
pub fn plans(scenario: &Scenario, workshop: &Workshop) -> Vec<Rc<Plan>> {
    let mut plans = Vec::new();
    let mut compose = |workshop: &Workshop, verbs: &[Verb], rule| {
        if !verbs.iter().any(Verb::reshapes) {
            return;
        }
        if let Ok(proposal) = workshop.compose(verbs, rule) {
            workshop.accept();
            plans.push(proposal.plan);
        }
    };
    let begin = workshop.clone();
    for step in &scenario.steps {
        compose(workshop, &step.verbs, None);
    }
    for (i, rule) in scenario.rules.iter().enumerate() {
        compose(&begin.clone(), &rule.verbs, Some(i));
    }
    plans
}

/// Try all steps in order of time; each rule, with its way back, from the topology at the begin.
///
/// # Errors
/// The user's: the first topology cannot be built.
pub fn try_all(
    scenario: &Scenario,
    workshop: &Workshop,
    shape: &MachineShape,
    plan: &Plan,
) -> Result<Vec<Tried>> {
    let begin = workshop.clone();
    let mut tried = Vec::new();
    let mut bench = Bench::new(shape, plan)?;
    for (i, step) in scenario.steps.iter().enumerate() {
        let cause = format!("step {} at {}", i + 1, exact(step.at_ns));
        tried.push(bench.attempt(workshop, cause, &step.verbs, None));
    }
    for (i, rule) in scenario.rules.iter().enumerate() {
        let workshop = begin.clone();
        let mut bench = Bench::new(shape, plan)?;
        let cause = format!("rule {}, when {}", rule.name, rule.when);
        tried.push(bench.attempt(&workshop, cause, &rule.verbs, Some(i)));
        if let Some(back) = &rule.back
            && tried.last().is_some_and(|t| t.ok)
        {
            let cause = format!("rule {}, back when {}", rule.name, back.when);
            tried.push(bench.attempt(&workshop, cause, &back.verbs, Some(i)));
        }
    }
    Ok(tried)
}

/// An error where a transaction would be refused.
///
/// # Errors
/// The user's, with a diagnostic for each refusal.
pub fn refused(tried: &[Tried]) -> Result<()> {
    let bad = tried.iter().filter(|t| !t.ok);
    let diags: Vec<Diag> = bad
        .map(|t| {
            Diag::error(format!("{}: {}", t.cause, t.why))
                .help("nothing would change then; mend the scenario")
        })
        .collect();
    if diags.is_empty() { Ok(()) } else { Err(Fault { blame: Blame::User, diags }) }
}

/// A transaction in words.
pub fn show(t: &Tried) -> String {
    let mut text = format!("{}: {}\n", t.cause, t.verbs.join("; "));
    if !t.ok {
        text.push_str(&format!("  refused: {}\n", t.why));
    } else if !t.diff.is_empty() {
        text.push_str(&format!(
            "  {} -> {}: {}, those of the exits counted, {} of them new\n",
            t.from,
            t.to,
            plural(t.instances_built + t.instances_kept, "instance"),
            t.instances_built
        ));
        t.diff.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    text
}

/// A scheduler without tasks, in which graphs are really built.
struct Bench {
    sched: Sched,
    /// Which CPUs are there by now.
    online: Vec<bool>,
    /// Which of all could run the scheduler.
    serves: Vec<bool>,
    /// How many instruction sets the machine has.
    isas: usize,
    name: String,
}

impl Bench {
    fn new(shape: &MachineShape, plan: &Plan) -> Result<Self> {
        let nr_cpus = shape.nr_cpus();
        let config = Config { nr_cpus, arena_bytes: ARENA, checks: true, oplog: false, seed: 1 };
        let fault_of = |e: weir_core::Error| {
            Fault::user(format!("the topology cannot be built: {e}"), "see `runweir check`")
        };
        let mut sched = Sched::new(&config).map_err(fault_of)?;
        sched.load(plan).map_err(fault_of)?;
        let cpus = &shape.cpus;
        let online = cpus.iter().map(|c| c.online).collect();
        let serves = cpus.iter().map(|c| c.host.is_none()).collect();
        Ok(Self { sched, online, serves, isas: shape.isas.len(), name: plan.name.clone() })
    }

    fn attempt(&mut self, workshop: &Workshop, cause: String, verbs: &[Verb], rule: Option<usize>) -> Tried {
        let mut tried = Tried {
            cause,
            verbs: verbs.iter().map(Verb::to_string).collect(),
            ok: true,
            why: String::new(),
            from: self.name.clone(),
            to: self.name.clone(),
            instances_built: 0,
            instances_kept: 0,
            diff: Vec::new(),
            classes: BTreeSet::new(),
        };
        let done = cpus_after(verbs, &self.online, |c| self.serves[c]).and_then(|online| {
            for verb in verbs {
                if let Verb::Publish(p) = verb {
                    p.cpu.map_or(Ok(()), |c| known_cpu(c, online.len()))?;
                    known_isa(p, self.isas)?;
                }
            }
            if verbs.iter().any(Verb::reshapes) {
                self.build(workshop, verbs, rule, &mut tried)?;
            }
            self.online = online;
            Ok(())
        });
        if let Err(why) = done {
            (tried.ok, tried.why) = (false, why);
        }
        tried
    }

    fn build(
        &mut self,
        workshop: &Workshop,
        verbs: &[Verb],
        rule: Option<usize>,
        tried: &mut Tried,
    ) -> std::result::Result<(), String> {
        let proposal = workshop.compose(verbs, rule)?;
        let stats = self.sched.swap(&proposal.plan).map_err(|e| {
            workshop.reject();
            e.to_string()
        })?;
        workshop.accept();
        self.name = proposal.plan.name.clone();
        tried.to = self.name.clone();
        (tried.instances_built, tried.instances_kept) = (stats.instances_built, stats.instances_kept);
        tried.classes = proposal.plan.instances.iter().map(|i| i.class).collect();
        tried.diff = proposal.diff.lines().map(|l| l.trim_end().to_string()).collect();
        Ok(())
    }
}
