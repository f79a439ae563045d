// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Scenarios: external events for a running scheduler, by time and by rule.
//!
//! A [`Scenario`] is data, read from TOML (`docs/scenarios.md`). The engine carries it out; a [`Composer`] applies verbs
//! to the topology, because this crate knows plans but not topologies.

mod condition;
mod cpus;
mod read;
mod rules;
mod verb;
mod watch;

use std::rc::Rc;

use weir_core::{OwnTopic, Plan};

pub use condition::{Compare, Condition, Metric, Statistic, Term};
pub use cpus::{cpus_after, known_cpu, known_isa};
pub(crate) use read::tables;
pub use read::{File, parse};
pub use rules::{Action, Rules};
pub use verb::{Part, Publication, Subject, Verb};
pub use watch::{Tap, Watch};

/// An action on a running scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    pub name: String,
    /// By time.
    pub steps: Vec<Step>,
    pub rules: Vec<Rule>,
    /// How often rules look at the run's metrics, ns.
    pub sample_ns: u64,
}

/// Verbs that take effect together at a time, all or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub at_ns: u64,
    pub verbs: Vec<Verb>,
}

/// Verbs that take effect when something is the case, and perhaps others when it is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub name: String,
    pub when: Condition,
    /// The condition must have held for so long, ns.
    pub hold_ns: u64,
    pub verbs: Vec<Verb>,
    /// The way back has a condition of its own, so that the rule does not swing to and fro.
    pub back: Option<Back>,
    /// The rule rests for so long after it has acted, ns.
    pub cooldown_ns: u64,
    /// Metrics are those of so long a time, ns.
    pub window_ns: u64,
    /// It counts as having acted when the run begins: what it does is the case.
    pub begun: bool,
    /// A topology brings it along (`when`), not a scenario: what it waits for may never come.
    pub of_topology: bool,
}

/// How a rule is undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Back {
    pub when: Condition,
    pub hold_ns: u64,
    pub verbs: Vec<Verb>,
}

impl Scenario {
    /// Nothing is ever done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.rules.is_empty()
    }

    /// Topics that components bring along and that rules wait for: whoever waits uses them, like a component that listens.
    pub fn own_topics(&self) -> impl Iterator<Item = &'static OwnTopic> {
        let backs = self.rules.iter().filter_map(|r| r.back.as_ref()).flat_map(|b| b.when.terms());
        let terms = self.rules.iter().flat_map(|r| r.when.terms()).chain(backs);
        terms.filter_map(|t| match t.topic() {
            Some(Subject::Own(own)) => Some(own),
            _ => None,
        })
    }

    /// All that may be done, in no order of time.
    pub fn verbs(&self) -> impl Iterator<Item = &Verb> {
        let steps = self.steps.iter().map(|s| &s.verbs);
        let rules = self.rules.iter().map(|r| &r.verbs);
        let backs = self.rules.iter().filter_map(|r| r.back.as_ref()).map(|b| &b.verbs);
        steps.chain(rules).chain(backs).flatten()
    }
}

/// A topology that verbs lead to.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub plan: Rc<Plan>,
    /// The text that it was compiled from, without what verbs have changed since.
    pub source: String,
    /// Difference to the topology in force, for people.
    pub diff: String,
}

/// Makes topologies of verbs. A proposal is accepted or rejected before the next one is asked for.
pub trait Composer {
    /// The topology after these verbs (those about topologies; others are skipped). `rule` is the number of the rule
    /// that acts; [`Verb::Undo`] returns to the topology that was in force before it did.
    ///
    /// # Errors
    /// A sentence for the user: the verbs make no sense, or no sound topology.
    fn compose(&self, verbs: &[Verb], rule: Option<usize>) -> Result<Proposal, String>;
    /// The proposal is in force. Gives what the user should know.
    fn accept(&self) -> Vec<String>;
    /// It is not, and the topology before stays.
    fn reject(&self);
}

/// A reconfiguration, or the attempt at one. Times are virtual, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconfiguration {
    pub at_ns: u64,
    /// `step 2`, `rule overload`, `rule overload, back`.
    pub cause: String,
    pub verbs: Vec<String>,
    /// Why nothing was done; `None` if it was.
    pub refused: Option<String>,
    /// Topologies before and after, by name.
    pub from: String,
    pub to: String,
    /// `topology`: a new graph took over. `instance`: one instance was exchanged in its place. `none`: the graph stayed.
    pub kind: &'static str,
    /// How long callers of the scheduler were held off.
    pub pause_ns: u64,
    /// Tasks on CPUs, which went on undisturbed.
    pub running: u32,
    /// Schedulable tasks that had not reached an exit: withheld, or on their way in postponed pipes.
    pub drained: u32,
    /// Tasks that were presented again.
    pub represented: u32,
    pub built: u32,
    pub kept: u32,
    pub diff: String,
}
