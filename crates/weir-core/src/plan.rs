// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A topology as tables: what the language compiles to and what the core builds from (DESIGN D2).

use crate::catalog::{ComponentInfo, OwnTopic};
use crate::classes::catalog;
use crate::tables::waits;
use crate::topic::Topic;

/// Index into [`Plan::pipes`].
pub type PipeIdx = u32;
/// Index into [`Plan::instances`].
pub type InstanceIdx = u32;

/// A pipe of the graph. Pipes without a receiver do not exist: an exit pipe ends in an
/// instance of the component `termination`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanPipe {
    /// Shown in traces, reports and diagnostics, e.g. `lb.out3` or `entry`.
    pub name: String,
    /// Sorted by key instead of positional; the sending component's descriptor decides.
    pub keyed: bool,
    /// Changes wait until an exit behind the pipe is asked (source 0, 6.1.1).
    pub postponed: bool,
    /// Writer, as instance and out-port; `None` for an entry pipe.
    pub from: Option<(InstanceIdx, u32)>,
    /// Receiver, as instance and in-port.
    pub to: (InstanceIdx, u32),
    /// What the writer's port is labelled with: an ISA index for `PortLabel::Isa`, otherwise 0.
    pub label: u64,
    /// Longest distance from an entry pipe, in pipes. It is the pipe's lock rank and hook slot:
    /// two pipes of equal depth never lie on one path, so no task is in both (docs/decisions).
    pub depth: u32,
}

/// An instance of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanInstance {
    /// Name in the topology (`lb`) or a generated one (`round_robin@cpu3`); unique in the plan.
    pub name: String,
    /// `ComponentInfo::id`.
    pub class: u16,
    /// A value for each of the component's parameters, in descriptor order.
    pub params: Vec<u64>,
    /// Coherence domain in whose memory it stands ([`PlanCpu::domain`]).
    pub domain: u32,
    /// In- and out-pipes by port number.
    pub ins: Vec<PipeIdx>,
    pub outs: Vec<PipeIdx>,
}

/// A checked topology for a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Topology name.
    pub name: String,
    pub pipes: Vec<PlanPipe>,
    /// In an order in which every instance comes after those that feed it; annotators first.
    pub instances: Vec<PlanInstance>,
    /// Entry pipe of each CPU: where a task goes that this CPU admits.
    pub entries: Vec<PipeIdx>,
    /// Exit pipe of each CPU: where it takes its next task; `None` for a CPU the topology leaves out.
    pub exits: Vec<Option<PipeIdx>>,
    /// ISA index of each CPU and the other sharing indices components may ask for.
    pub cpus: Vec<PlanCpu>,
}

/// What the core keeps of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCpu {
    pub core: u32,
    pub llc: u32,
    pub node: u32,
    pub isa: u16,
    pub capacity: u32,
    /// CPUs of one domain share memory; between domains there are messages only. Numbered from 0 without gaps.
    pub domain: u32,
}

impl Plan {
    /// Some component of the topology is such.
    pub fn any_component(&self, test: impl Fn(&ComponentInfo) -> bool) -> bool {
        let catalog = catalog();
        self.instances.iter().any(|i| catalog.class(i.class).is_some_and(&test))
    }

    /// Some component of the topology wants to hear of `topic`.
    pub fn listens_to(&self, topic: Topic) -> bool {
        self.any_component(|c| c.listens_to(topic))
    }

    /// Some component of the topology answers requests of `topic`.
    pub fn answers_to(&self, topic: Topic) -> bool {
        self.any_component(|c| c.answers_to(topic))
    }

    /// Tasks in the graph that are at no exit yet, of those that `depth` says are in each pipe.
    pub fn on_the_way(&self, depth: impl Fn(PipeIdx) -> u32) -> u32 {
        let sum = |mut pipes: Vec<PipeIdx>| -> u32 {
            pipes.sort_unstable();
            pipes.dedup();
            pipes.into_iter().map(&depth).sum()
        };
        let entered = sum(self.entries.clone());
        entered.saturating_sub(sum(self.exits.iter().flatten().copied().collect()))
    }

    /// Changes wait in the same pipes. The plans have as many pipes.
    pub fn waits_like(&self, other: &Plan) -> bool {
        let some = |p: &Plan| p.pipes.iter().any(|p| p.postponed);
        !some(self) && !some(other) || waits(self) == waits(other)
    }

    /// The only instance that is another one in `new`, or has other parameters, where all the rest is equal: it can be
    /// exchanged in its place. `None` where a whole graph has to take over, also if nothing differs. O(pipes + instances).
    pub fn only_difference(&self, new: &Plan) -> Option<InstanceIdx> {
        let same_pipes = self.pipes.len() == new.pipes.len()
            && self.pipes.iter().zip(&new.pipes).all(|(a, b)| {
                (&a.name, a.postponed, a.from, a.to, a.label, a.depth)
                    == (&b.name, b.postponed, b.from, b.to, b.label, b.depth)
            });
        let same_ends = self.entries == new.entries && self.exits == new.exits;
        // Whether changes wait before an instance depends on what it is.
        let same_pipes = same_pipes && self.waits_like(new);
        if !same_pipes || !same_ends || self.instances.len() != new.instances.len() {
            return None;
        }
        let mut other = None;
        for (i, (a, b)) in (0..).zip(self.instances.iter().zip(&new.instances)) {
            let same_place = (&a.name, &a.ins, &a.outs) == (&b.name, &b.ins, &b.outs);
            let same = (a.class, &a.params) == (b.class, &b.params);
            if !same_place || !same && other.replace(i).is_some() {
                return None;
            }
        }
        other
    }

    /// Name and class of an instance.
    pub fn identity(&self, instance: usize) -> Option<(String, u16)> {
        self.instances.get(instance).map(|i| (i.name.clone(), i.class))
    }

    /// Topics that its instances bring along; one that several have comes as often.
    pub fn own_topics(&self) -> impl Iterator<Item = &'static OwnTopic> {
        let components = self.instances.iter().filter_map(|i| catalog().class(i.class));
        components.flat_map(|c| &c.topics)
    }

    /// The topic of this name that its instances bring along.
    pub fn own_topic(&self, name: &str) -> Option<&'static OwnTopic> {
        self.own_topics().find(|t| t.name == name)
    }

    /// Number of coherence domains.
    pub fn domains(&self) -> u32 {
        self.cpus.iter().map(|c| c.domain + 1).max().unwrap_or(1)
    }

    /// The home of each pipe: the exit whose lock guards it, because all its ways lead there. `None`: its ways lead to several exits,
    /// or its changes are postponed, so that they wait before every home. A pipe to another coherence domain is an exit. O(pipes + ports).
    pub fn homes(&self) -> Vec<Option<PipeIdx>> {
        let waits = crate::tables::waits(self);
        let mut homes: Vec<Option<PipeIdx>> = vec![None; self.pipes.len()];
        let of_pipe = |pipe: PipeIdx, at: &PlanPipe, behind: &[Option<PipeIdx>]| -> Option<PipeIdx> {
            let to = &self.instances[at.to.0 as usize];
            if waits[pipe as usize] && !to.outs.is_empty() {
                None
            } else if to.outs.is_empty()
                || at.from.is_some_and(|f| self.instances[f.0 as usize].domain != to.domain)
            {
                Some(pipe)
            } else {
                let first = behind[to.outs[0] as usize];
                first.filter(|_| to.outs.iter().all(|o| behind[*o as usize] == first))
            }
        };
        // Each instance comes after those that feed it: its out-pipes are known before the pipes that feed it.
        let mut order: Vec<PipeIdx> = (0..self.pipes.len() as u32).collect();
        order.sort_by_key(|p| std::cmp::Reverse(self.pipes[*p as usize].to.0));
        for p in order {
            homes[p as usize] = of_pipe(p, &self.pipes[p as usize], &homes);
        }
        homes
    }

    /// The home of an instance: that of all its out-pipes.
    pub fn home_of(&self, instance: InstanceIdx, homes: &[Option<PipeIdx>]) -> Option<PipeIdx> {
        let outs = &self.instances[instance as usize].outs;
        let first = homes[*outs.first()? as usize]?;
        outs.iter().all(|o| homes[*o as usize] == Some(first)).then_some(first)
    }

    /// Depth of the graph: the longest path, in pipes.
    pub fn depth(&self) -> u32 {
        self.pipes.iter().map(|p| p.depth + 1).max().unwrap_or(0)
    }
}
