// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Each change of topology with the names of its pipes and instances, for recorders.

use std::sync::{Mutex, PoisonError};

use weir_core::Plan;

use crate::clock;
use crate::control::Control;
use crate::event::comm;
use crate::layout::LiveTask;
use crate::record::{Identity, Sample};
use crate::snapshot::SwapReport;

/// A topology that took over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub report: SwapReport,
    pub pipes: Vec<String>,
    pub instances: Vec<String>,
}

/// Changes not taken yet. None are kept before the first request.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Option<Vec<Change>>>);

impl Changes {
    pub fn add(&self, report: &SwapReport, plan: &Plan) {
        if let Some(kept) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            kept.push(Change {
                report: report.clone(),
                pipes: plan.pipes.iter().map(|p| p.name.clone()).collect(),
                instances: plan.instances.iter().map(|i| i.name.clone()).collect(),
            });
        }
    }

    pub fn take(&self) -> Vec<Change> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(Vec::new()).unwrap_or_default()
    }
}

impl Control {
    /// Changes of topology since the last time that this was asked, oldest first.
    pub fn take_changes(&self) -> Vec<Change> {
        self.changes.take()
    }

    /// How deep the pipes are; cheaper than a snapshot.
    pub fn sample(&self) -> Sample {
        let facts = self.facts();
        let mut sample =
            Sample { t_ns: clock::now_ns(), topology: facts.plan.name.clone(), ..Sample::default() };
        if let Some(graph) = self.view.graph() {
            (sample.depths, sample.updates) = self.view.flow(&graph, &facts.plan);
        }
        sample
    }

    /// The identity of a task, by its number; `None` if there is no such task now.
    pub fn identity(&self, task: u32) -> Option<Identity> {
        let head = self.view.shared.head();
        if task >= head.max_tasks {
            return None;
        }
        let t: LiveTask = self.view.memory.entry(head.tasks, task.into())?;
        let urgency = crate::clock::urgency(t.pid);
        (t.pid != 0).then(|| Identity { pid: t.pid, tgid: t.tgid, comm: comm(&t.comm), urgency })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_kept_once_somebody_asks() {
        let changes = Changes::default();
        let report = |to: &str| SwapReport { to: to.into(), ..SwapReport::default() };
        changes.add(&report("unseen"), &Plan::default());
        assert!(changes.take().is_empty());
        changes.add(&report("a"), &Plan::default());
        changes.add(&report("b"), &Plan::default());
        let names: Vec<String> = changes.take().into_iter().map(|c| c.report.to).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(changes.take().is_empty());
    }
}
