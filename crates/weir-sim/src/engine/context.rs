// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The context of a task for a hosted CPU (source 0, listing 8.1): such a CPU does not see the kernel's records, so it
//! runs what the answer to a request of TCB names.
//!
//! The kernel publishes the reference of each new task. Where no component keeps it, the runtime's own link is used, as the
//! source allows.

use weir_core::event::{CpuNo, TaskNo};
use weir_core::{Msg, Picked, Plan, Topic};
use weir_model::{Error, Machine};

use super::Result;
use super::sim::Sim;

/// What the topology and the machine make of contexts.
#[derive(Debug, Default)]
pub struct Contexts {
    /// Some CPU is hosted.
    hosted: bool,
    /// A component keeps references for it.
    wanted: bool,
    /// Requests so far.
    pub fetched: u64,
}

impl Contexts {
    pub fn new(machine: &Machine, plan: &Plan) -> Self {
        let mut contexts =
            Self { hosted: machine.shape.cpus.iter().any(|cpu| cpu.host.is_some()), ..Self::default() };
        contexts.rewired(plan);
        contexts
    }

    /// Another topology is in force; whether references have to be published because only it keeps them.
    pub fn rewired(&mut self, plan: &Plan) -> bool {
        let keeps = self.hosted && plan.listens_to(Topic::Tcb) && plan.answers_to(Topic::Tcb);
        !std::mem::replace(&mut self.wanted, keeps) && keeps
    }
}

/// A reference to the record of a task; 0 is none.
fn reference(no: TaskNo) -> u64 {
    u64::from(no) + 1
}

impl Sim<'_> {
    /// Publish the reference to a new task's context.
    pub fn publish_context(&mut self, h: CpuNo, no: TaskNo) -> Result<()> {
        if !self.contexts.wanted {
            return Ok(());
        }
        let task = Some(self.tasks[no as usize].id);
        self.notify_scheduler(h, Topic::Tcb, &Msg { task, value: reference(no), ..Msg::default() })
    }

    /// The record of the task that `host` has chosen for `c`, another CPU.
    pub fn context_for(&mut self, host: CpuNo, c: CpuNo, picked: &Picked) -> Result<TaskNo> {
        let chosen = picked.cookie as TaskNo;
        if !self.contexts.wanted {
            return Ok(chosen);
        }
        self.contexts.fetched += 1;
        self.notices += 1;
        let ask = Msg { task: Some(picked.task), ..Msg::default() };
        let found = self.sched_on(host).request(host, Topic::Tcb, &ask).map_or(0, |m| m.value);
        if found == reference(chosen) {
            return Ok(chosen);
        }
        let name = |no: TaskNo| self.name_of(no as usize);
        let what = match found.checked_sub(1).and_then(|no| name(no.try_into().ok()?)) {
            Some(other) => format!("got the context of task `{other}`"),
            None => "got no context".into(),
        };
        Err(Error::run(format!(
            "CPU {c} {what} for task `{}` at {} ns, from the responder of TCB in `{}`",
            name(chosen).unwrap_or_default(),
            self.now,
            self.plan.name
        ))
        .help("let the responder return the reference that the runtime published, as `tcb` does")
        .into())
    }
}
