// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a topology makes of the settings of tasks and groups: the one place that knows who listens (DESIGN D21).
//!
//! It is derived from the descriptors alone. A setting is a message on a topic. It matters where a stage decides by it: the stage
//! asks for a topic that an annotator answers which listens to the setting's topic, or it listens to that topic itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Class, ComponentInfo, Unit};
use crate::classes::catalog;
use crate::plan::{Plan, PlanInstance};
use crate::topic::Topic;

/// Something that a workload or a system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// A nice value other than 0.
    Nice,
    /// A weight of its own.
    Weight,
    /// A fixed priority outside of any policy of Linux's.
    Priority,
    Fifo,
    RoundRobin,
    /// SCHED_DEADLINE: deadlines, and no more than the budget.
    DeadlinePolicy,
    Batch,
    Idle,
    /// A length of slices.
    Slice,
    /// What tasks or the members of groups count as using of a CPU, at least or at most.
    Clamps,
    /// Being in a group that competes as a whole.
    GroupWeight,
    /// A quota of a group.
    GroupLimit,
    /// Being bound to some CPUs.
    Affinity,
    /// Deadlines of jobs.
    Deadline,
    /// Another instruction set than the machine's first.
    Isa,
    Criticality,
    /// Running at the same time as others.
    Gang,
}

/// What becomes of a setting under a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heed {
    Obeyed,
    /// Some CPUs obey it, and these do not.
    Partly(Vec<u32>),
    /// It has an effect, but another one than it means.
    Changed(&'static str),
    Ignored,
}

impl Setting {
    pub const ALL: [Self; 17] = [
        Self::Nice,
        Self::Weight,
        Self::Priority,
        Self::Fifo,
        Self::RoundRobin,
        Self::DeadlinePolicy,
        Self::Batch,
        Self::Idle,
        Self::Slice,
        Self::Clamps,
        Self::GroupWeight,
        Self::GroupLimit,
        Self::Affinity,
        Self::Deadline,
        Self::Isa,
        Self::Criticality,
        Self::Gang,
    ];

    /// What kind of setting it is, as results have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nice => "nice",
            Self::Weight => "weight",
            Self::Priority => "priority",
            Self::Fifo | Self::RoundRobin | Self::DeadlinePolicy | Self::Batch | Self::Idle => "policy",
            Self::Slice => "slice",
            Self::Clamps => "clamps",
            Self::GroupWeight => "group weight",
            Self::GroupLimit => "group limit",
            Self::Affinity => "affinity",
            Self::Deadline => "deadline",
            Self::Isa => "instruction set",
            Self::Criticality => "criticality",
            Self::Gang => "gang",
        }
    }

    /// Which of its kind it is, where there are several.
    pub fn value(self) -> Option<&'static str> {
        match self {
            Self::Fifo => Some("SCHED_FIFO"),
            Self::RoundRobin => Some("SCHED_RR"),
            Self::DeadlinePolicy => Some("SCHED_DEADLINE"),
            Self::Batch => Some("SCHED_BATCH"),
            Self::Idle => Some("SCHED_IDLE"),
            _ => None,
        }
    }

    /// What a topology that ignores it lacks.
    pub fn lack(self) -> &'static str {
        match self {
            Self::Nice | Self::Weight => "no order goes by weights",
            Self::Priority | Self::Fifo | Self::RoundRobin => "no order goes by fixed priorities",
            Self::DeadlinePolicy => "no order goes by deadlines within budgets",
            Self::Batch => "no fair order asks for the policy",
            Self::Idle => "no order goes by weights or priorities, so such tasks are ordinary ones",
            Self::Slice => "no order asks for the slices that tasks request",
            Self::Clamps => "nothing chooses clocks or CPUs by utilisation clamps",
            Self::GroupWeight => "no annotator divides the weights of groups among their tasks for an order",
            Self::GroupLimit => "nothing withholds the tasks of a group without quota",
            Self::Affinity => "no annotator keeps where tasks may run",
            Self::Deadline => "no order goes by the deadlines of such tasks",
            Self::Isa => "no stage goes by instruction sets",
            Self::Criticality => "no order asks for it",
            Self::Gang => "no slots are kept for gangs",
        }
    }
}

/// The order has fixed priorities, and does not ask for policies.
const UNASKED: &str = "priorities are kept, but which task of equal priority is first is the topology's choice, whatever the policy";
/// Fixed priorities have one for SCHED_DEADLINE, above all others.
const ABOVE: &str =
    "it has the highest priority of all, whatever its deadline, and nothing limits it to its budget";
/// Beside deadlines a priority is a share.
const SHARE: &str = "its priority counts as a share of what tasks with deadlines leave";
/// No annotator keeps affinities, but no stage moves tasks either.
const STAYS: &str =
    "a task stays on the CPU where it begins, one that it may use then; later changes have no effect";
/// A real-time priority reaches an order as a weight.
const HEAVY: &str = "it counts as the weight of nice -20: a large share instead of precedence";
/// Deadlines without a server.
const NO_BUDGET: &str = "its deadline counts, but nothing limits it to its budget";
/// The lowest priority of all.
const LOWEST: &str = "real-time priorities are kept apart, and below them such tasks are ordinary ones";

fn asks(c: &ComponentInfo, topic: Topic) -> bool {
    c.asks.iter().any(|t| t == topic.name())
}

/// It decides in what order tasks run: an order, or a distributor that also takes CPUs from tasks.
fn decides(c: &ComponentInfo) -> bool {
    match c.class {
        Class::Order => true,
        Class::Distribute => c.publishes.iter().any(|t| t == Topic::Preempt.name()),
        _ => false,
    }
}

/// What is asked of a topology: its annotators, and the stages on the way to one exit.
struct View<'a> {
    /// With their parameters.
    annotators: &'a [(&'static ComponentInfo, &'a [u64])],
    stages: &'a [&'static ComponentInfo],
}

impl View<'_> {
    fn annotator(&self, test: impl Fn(&ComponentInfo, &[u64]) -> bool) -> bool {
        self.annotators.iter().any(|(c, i)| test(c, i))
    }

    fn stage(&self, test: impl Fn(&ComponentInfo) -> bool) -> bool {
        self.stages.iter().any(|c| test(c))
    }

    /// An annotator makes `answer` of what it hears on `heard`.
    fn kept(&self, heard: Topic, answer: Topic) -> bool {
        self.annotators.iter().any(|(c, _)| c.listens_to(heard) && c.answers_to(answer))
    }

    /// What is heard on a topic becomes a weight that an order goes by.
    fn weighs(&self, heard: Topic) -> bool {
        self.kept(heard, Topic::Weight) && self.stage(|c| c.class == Class::Order && asks(c, Topic::Weight))
    }

    /// An order of which `test` holds goes by priorities.
    fn by_priority(&self, test: impl Fn(&ComponentInfo) -> bool) -> bool {
        self.kept(Topic::Priority, Topic::Priority)
            && self.stage(|c| c.class == Class::Order && asks(c, Topic::Priority) && test(c))
    }

    /// Fixed priorities, of all tasks or of real-time tasks; what also has deadlines takes priorities for shares of the rest.
    fn fixed(&self) -> bool {
        self.by_priority(|c| !asks(c, Topic::Deadline))
    }

    /// The order that has priorities distinguishes policies: it keeps real-time tasks apart.
    fn classes(&self) -> bool {
        self.kept(Topic::Policy, Topic::Policy)
            && self.by_priority(|c| !asks(c, Topic::Deadline) && asks(c, Topic::Policy))
    }

    /// Fixed priorities of all tasks alike.
    fn levels(&self) -> bool {
        self.by_priority(|c| !asks(c, Topic::Deadline) && !asks(c, Topic::Policy))
    }

    /// A stage decides by deadlines of tasks; of all, or of those that ask for the policy only.
    fn deadlines(&self, of_policy: bool) -> bool {
        let serves = |c: &ComponentInfo, params: &[u64]| of_policy || !only_of_policy(c, params);
        let heard = |topic: Topic| {
            self.annotator(|c, params| c.listens_to(topic) && c.answers_to(topic) && serves(c, params))
                && self.stage(|c| decides(c) && asks(c, topic))
        };
        heard(Topic::Deadline) || heard(Topic::Job)
    }

    fn heed(&self, setting: Setting) -> Heed {
        let or = |obeyed: bool, other: Heed| if obeyed { Heed::Obeyed } else { other };
        let shares = self.by_priority(|c| asks(c, Topic::Deadline));
        let heavy = || match (self.weighs(Topic::Priority), shares) {
            (true, _) => Heed::Changed(HEAVY),
            (false, true) => Heed::Changed(SHARE),
            (false, false) => Heed::Ignored,
        };
        match setting {
            Setting::Nice => or(self.weighs(Topic::Priority) || self.levels() || shares, Heed::Ignored),
            Setting::Weight => or(self.weighs(Topic::Weight), Heed::Ignored),
            Setting::Priority => or(self.fixed(), heavy()),
            Setting::Fifo => or(self.fixed(), heavy()),
            Setting::RoundRobin if self.classes() => Heed::Obeyed,
            Setting::RoundRobin if self.fixed() => Heed::Changed(UNASKED),
            Setting::RoundRobin => heavy(),
            Setting::DeadlinePolicy if !self.deadlines(true) && self.fixed() => Heed::Changed(ABOVE),
            Setting::DeadlinePolicy if !self.deadlines(true) => heavy(),
            Setting::DeadlinePolicy => {
                let budget = self.kept(Topic::Job, Topic::Budget) && self.stage(|c| asks(c, Topic::Budget));
                or(budget, Heed::Changed(NO_BUDGET))
            }
            Setting::Batch => {
                let asked = self.stage(|c| decides(c) && asks(c, Topic::Policy) && asks(c, Topic::Weight));
                or(self.kept(Topic::Policy, Topic::Policy) && asked, Heed::Ignored)
            }
            Setting::Idle if self.weighs(Topic::Priority) || self.levels() || shares => Heed::Obeyed,
            Setting::Idle if self.fixed() => Heed::Changed(LOWEST),
            Setting::Idle => Heed::Ignored,
            Setting::Slice => {
                let asked = self.stage(|c| decides(c) && asks(c, Topic::Latency));
                or(self.kept(Topic::Latency, Topic::Latency) && asked, Heed::Ignored)
            }
            Setting::Clamps => {
                let asked =
                    self.stage(|c| asks(c, Topic::Uclamp)) || self.annotator(|c, _| asks(c, Topic::Uclamp));
                or(self.kept(Topic::Uclamp, Topic::Uclamp) && asked, Heed::Ignored)
            }
            Setting::GroupWeight => or(self.weighs(Topic::Group), Heed::Ignored),
            Setting::GroupLimit => {
                let withheld = self.stage(|c| asks(c, Topic::Budget));
                or(self.kept(Topic::Limit, Topic::Budget) && withheld, Heed::Ignored)
            }
            // The core itself asks before a CPU takes a task.
            Setting::Affinity => or(self.kept(Topic::Affinity, Topic::Affinity), Heed::Ignored),
            Setting::Deadline => or(self.deadlines(false), Heed::Ignored),
            Setting::Isa => {
                or(self.kept(Topic::Isa, Topic::Isa) && self.stage(|c| asks(c, Topic::Isa)), Heed::Ignored)
            }
            Setting::Criticality => {
                let asked = self.stage(|c| decides(c) && asks(c, Topic::Criticality));
                or(self.kept(Topic::Criticality, Topic::Criticality) && asked, Heed::Ignored)
            }
            Setting::Gang => {
                let slots =
                    self.stage(|c| c.listens_to(Topic::GangSlot)) && self.kept(Topic::Gang, Topic::Gang);
                // Reservations: jobs with deadlines that an order admits and serves by CPU time.
                let reserves = self.stage(|c| {
                    c.class == Class::Order
                        && [Topic::Job, Topic::Deadline, Topic::Executed, Topic::Criticality]
                            .iter()
                            .all(|t| asks(c, *t))
                        && asks(c, Topic::Priority)
                });
                or(slots || reserves, Heed::Ignored)
            }
        }
    }
}

/// A flag that bears the name of a topic that the component listens to restricts it to tasks for which that says something.
fn only_of_policy(c: &ComponentInfo, params: &[u64]) -> bool {
    let named = c.param("policy").filter(|(_, p)| p.unit == Unit::Flag && c.listens_to(Topic::Policy));
    named.is_some_and(|(at, _)| params.get(at).is_some_and(|v| *v != 0))
}

/// A component with its parameters: equal ones heed the same.
type Kind<'a> = (u16, &'a [u64]);

impl Plan {
    /// What the topology makes of a setting. O(pipes).
    pub fn heed(&self, setting: Setting) -> Heed {
        let info = |i: &PlanInstance| catalog().class(i.class);
        let annotators: Vec<_> = self
            .instances
            .iter()
            .filter_map(|i| Some((info(i)?, &i.params[..])))
            .filter(|(c, _)| c.class == Class::Annotate)
            .collect();
        let (kinds, of_instances) = self.kinds_before();
        let heeds: Vec<Heed> = kinds
            .iter()
            .map(|kinds| {
                let stages: Vec<_> = kinds.iter().filter_map(|(class, _)| catalog().class(*class)).collect();
                View { annotators: &annotators, stages: &stages }.heed(setting)
            })
            .collect();
        let of_cpus: Vec<(u32, &Heed)> = (0..)
            .zip(&self.exits)
            .filter_map(|(cpu, exit)| Some((cpu, self.pipes[(*exit)? as usize].from)))
            .map(|(cpu, from)| (cpu, from.map_or(&Heed::Ignored, |(i, _)| &heeds[of_instances[i as usize]])))
            .collect();
        let unlike: Vec<u32> = of_cpus.iter().filter(|(_, h)| **h != Heed::Obeyed).map(|(c, _)| *c).collect();
        if unlike.is_empty() {
            // Nothing runs where no CPU has an exit.
            return if of_cpus.is_empty() { Heed::Ignored } else { Heed::Obeyed };
        }
        if unlike.len() < of_cpus.len() {
            return Heed::Partly(unlike);
        }
        let heed = of_cpus.into_iter().map(|(_, h)| h).find(|h| **h != Heed::Ignored).cloned();
        match heed {
            None if setting == Setting::Affinity && self.stays() => Heed::Changed(STAYS),
            heed => heed.unwrap_or(Heed::Ignored),
        }
    }

    /// Each CPU has an entry of its own, from which no stage leads elsewhere.
    fn stays(&self) -> bool {
        let own: BTreeSet<u32> = self.entries.iter().copied().collect();
        own.len() > 1
            && own.len() == self.entries.len()
            && !self.any_component(|c| c.class == Class::Distribute)
    }

    /// The kinds of components through which tasks come out of each instance: the different sets of kinds, and which of them each
    /// instance has. On large machines most instances share a few.
    fn kinds_before(&self) -> (Vec<BTreeSet<Kind<'_>>>, Vec<usize>) {
        let mut sets: Vec<BTreeSet<Kind<'_>>> = Vec::new();
        let mut numbers: BTreeMap<BTreeSet<Kind<'_>>, usize> = BTreeMap::new();
        let mut of_instances: Vec<usize> = Vec::with_capacity(self.instances.len());
        for instance in &self.instances {
            let before = instance.ins.iter().filter_map(|p| self.pipes[*p as usize].from);
            // Those that feed an instance come before it.
            let before: BTreeSet<usize> =
                before.filter_map(|(from, _)| of_instances.get(from as usize).copied()).collect();
            let mut all: BTreeSet<Kind<'_>> = before.iter().flat_map(|i| sets[*i].iter().copied()).collect();
            all.insert((instance.class, &instance.params));
            let number = *numbers.entry(all).or_insert_with_key(|all| {
                sets.push(all.clone());
                sets.len() - 1
            });
            of_instances.push(number);
        }
        (sets, of_instances)
    }
}
