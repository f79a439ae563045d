// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What kind of task it is: its policy and its criticality, told once, when it comes into being.

use weir_core::event::{CpuNo, Observer};
use weir_core::{Msg, Plan, TaskId, Topic};

use super::sim::{Sim, listens};
use crate::Result;
use crate::workload::{Criticality, Policy};

/// Which of these topics some component listens to. Others are not told, so that they cost nothing.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    policy: bool,
    criticality: bool,
}

impl Wanted {
    pub fn of(plan: &Plan) -> Self {
        Self { policy: listens(plan, Topic::Policy), criticality: listens(plan, Topic::Criticality) }
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

impl<O: Observer> Sim<'_, O> {
    /// Tell the scheduler what kind of task it gets.
    pub fn tell_classes(&mut self, h: CpuNo, template: u32, id: TaskId) -> Result<()> {
        if self.classes_wanted.policy {
            let value = number(self.workload.tasks[template as usize].policy);
            self.tell_scheduler(h, Topic::Policy, &Msg { task: Some(id), value, ..Msg::default() })?;
        }
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
        self.tell_scheduler(h, Topic::Criticality, &Msg { task: Some(id), value, value2, ..Msg::default() })
    }
}
