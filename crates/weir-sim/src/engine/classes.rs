// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A task's class: its policy, its criticality, and the inputs of fair policies; published when the task is created, and
//! to a new topology that requests more than the one before.

use weir_core::event::CpuNo;
use weir_core::{Msg, Plan, TaskId, Topic};

use super::Result;
use super::sim::Sim;
use super::task::State;
use weir_model::workload::{Criticality, Policy};

/// Which of these topics some component listens to. Others are not published, so they cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    policy: bool,
    criticality: bool,
    weight: bool,
    latency: bool,
    group: bool,
    limit: bool,
    clamps: bool,
    memory: bool,
}

impl Wanted {
    pub fn of(plan: &Plan) -> Self {
        Self {
            policy: plan.listens_to(Topic::Policy),
            criticality: plan.listens_to(Topic::Criticality),
            weight: plan.listens_to(Topic::Weight),
            latency: plan.listens_to(Topic::Latency),
            group: plan.listens_to(Topic::Group),
            limit: plan.listens_to(Topic::Limit),
            clamps: plan.listens_to(Topic::Uclamp),
            memory: plan.listens_to(Topic::Memory),
        }
    }
}

/// The numbers of Linux, as in `enum weir_policy`.
fn number(policy: Policy) -> u64 {
    match policy {
        Policy::Other => 0,
        Policy::Fifo => 1,
        Policy::RoundRobin => 2,
        Policy::Batch => 3,
        Policy::Idle => 5,
        Policy::Deadline { .. } => 6,
    }
}

impl Sim<'_> {
    /// Report to the scheduler what kind of task it gets.
    pub fn publish_classes(&mut self, h: CpuNo, template: u32, id: TaskId) -> Result<()> {
        if self.classes_wanted.policy {
            let value = number(self.workload.tasks[template as usize].policy);
            self.notify_scheduler(h, Topic::Policy, &Msg { task: Some(id), value, ..Msg::default() })?;
        }
        self.publish_fairness(h, template, id)?;
        if !self.classes_wanted.criticality {
            return Ok(());
        }
        let (value, value2) = match self.workload.criticality.get(&template) {
            None => return Ok(()),
            Some(Criticality::Lo) => {
                let timing = self.workload.tasks[template as usize].timing;
                (1, timing.map_or(0, |t| t.wcet_ns))
            }
            Some(Criticality::Hi { wcet_ns }) => (2, *wcet_ns),
        };
        self.notify_scheduler(h, Topic::Criticality, &Msg { task: Some(id), value, value2, ..Msg::default() })
    }

    /// Weights and limits of the groups.
    pub fn publish_groups(&mut self, h: CpuNo) -> Result<()> {
        for (i, group) in self.workload.fairness.groups.iter().enumerate() {
            let number = i as u64 + 1;
            if self.classes_wanted.group {
                let value2 = u64::from(group.weight) | u64::from(group.parent) << 32;
                self.notify_scheduler(h, Topic::Group, &Msg { value: number, value2, ..Msg::default() })?;
            }
            if self.classes_wanted.limit && group.quota_ns > 0 {
                let value = number | (group.period_ns / 1000) << 32;
                let value2 = (group.quota_ns / 1000) | ((group.burst_ns / 1000) << 32);
                self.notify_scheduler(h, Topic::Limit, &Msg { value, value2, ..Msg::default() })?;
            }
            let value = group.clamps.word();
            if self.classes_wanted.clamps && value != 0 {
                let msg = Msg { value, value2: number, ..Msg::default() };
                self.notify_scheduler(h, Topic::Uclamp, &msg)?;
            }
        }
        Ok(())
    }

    fn publish_fairness(&mut self, h: CpuNo, template: u32, id: TaskId) -> Result<()> {
        let Some(fair) = self.workload.fairness.tasks.get(&template).copied() else { return Ok(()) };
        let known = |value: u64| Msg { task: Some(id), value, ..Msg::default() };
        if let (true, Some(weight)) = (self.classes_wanted.weight, fair.weight) {
            self.notify_scheduler(h, Topic::Weight, &known(weight.into()))?;
        }
        if let (true, Some(slice)) = (self.classes_wanted.latency, fair.slice_ns) {
            self.notify_scheduler(h, Topic::Latency, &known(slice))?;
        }
        if self.classes_wanted.clamps && fair.clamps.word() != 0 {
            self.notify_scheduler(h, Topic::Uclamp, &known(fair.clamps.word()))?;
        }
        if let (true, Some(memory)) = (self.classes_wanted.memory, fair.memory) {
            self.notify_scheduler(h, Topic::Memory, &known(u64::from(memory.node) + 1))?;
        }
        if self.classes_wanted.group && fair.group > 0 {
            self.notify_scheduler(h, Topic::Group, &known(fair.group.into()))?;
        }
        Ok(())
    }

    /// A new topology took over: publish topics to which only it listens. That costs nothing; the swap itself is charged.
    pub fn publish_again(&mut self, h: CpuNo, before: &Plan, now: &Plan) -> Result<()> {
        let new = |topic| now.listens_to(topic) && !before.listens_to(topic);
        let classes = Wanted::of(now) != Wanted::of(before);
        let (priority, affinity) = (new(Topic::Priority), new(Topic::Affinity));
        let gangs = new(Topic::Gang);
        let sets = new(Topic::Isa);
        let contexts = self.contexts.rewired(now);
        if new(Topic::GangSlot) {
            self.publish_slots()?;
        }
        if !(classes || priority || affinity || sets || gangs || contexts) {
            return Ok(());
        }
        if classes {
            self.publish_groups(h)?;
        }
        for no in 0..self.tasks.len() {
            let task = &self.tasks[no];
            if task.state == State::Gone {
                continue;
            }
            let (id, template, value) = (task.id, task.spec, task.priority as i64 as u64);
            let (mask, isa) = (task.cpus.cloned(), u64::from(task.isa));
            if priority && value != 0 {
                self.notify_scheduler(h, Topic::Priority, &Msg { task: Some(id), value, ..Msg::default() })?;
            }
            if affinity && mask.is_some() {
                self.notify_scheduler(h, Topic::Affinity, &Msg { task: Some(id), mask, ..Msg::default() })?;
            }
            if sets && isa != 0 {
                self.notify_scheduler(h, Topic::Isa, &Msg { task: Some(id), value: isa, ..Msg::default() })?;
            }
            if classes {
                self.publish_classes(h, template, id)?;
            }
            if contexts {
                self.publish_context(h, no as u32)?;
            }
            if gangs {
                self.publish_gang(h, no as u32)?;
            }
        }
        self.notices = 0;
        Ok(())
    }
}
