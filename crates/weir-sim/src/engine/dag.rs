// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Graphs of tasks: a job of a node begins when the same jobs of all nodes before it are done.
//!
//! All nodes of a graph release their jobs at the same times, with the deadline of the whole; a node whose
//! predecessors are not done is held back before it becomes schedulable, so the scheduler never sees it.

use weir_core::event::{CpuNo, TaskNo};

use super::Result;
use super::sim::Sim;
use super::task::{NONE, Wait};
use weir_model::Workload;
use weir_model::workload::Op;

/// How far the nodes of all graphs are.
#[derive(Debug, Default)]
pub struct Graphs {
    /// By graph and node: jobs that are done or thrown away.
    done: Vec<Vec<u32>>,
    /// By graph and node: the task, or [`NONE`] before its creation.
    tasks: Vec<Vec<TaskNo>>,
}

impl Graphs {
    pub fn new(w: &Workload) -> Self {
        Self {
            done: w.dags.iter().map(|d| vec![0; d.nodes.len()]).collect(),
            tasks: w.dags.iter().map(|d| vec![NONE; d.nodes.len()]).collect(),
        }
    }
}

impl Sim<'_> {
    fn node_of(&self, no: TaskNo) -> Option<(usize, usize)> {
        let node = self.programs[self.tasks[no as usize].program as usize].node?;
        Some((node.0 as usize, node.1 as usize))
    }

    /// The task, if it is the node of a graph, takes its place there.
    pub fn enter_graph(&mut self, no: TaskNo) {
        if let Some((dag, node)) = self.node_of(no) {
            self.graphs.tasks[dag][node] = no;
        }
    }

    /// The nodes before it have done their part of its present job. True of tasks without a graph.
    pub fn may_join(&self, no: TaskNo) -> bool {
        let Some((dag, node)) = self.node_of(no) else { return true };
        let job = self.tasks[no as usize].job;
        self.workload.dags[dag].nodes[node].before.iter().all(|&b| self.graphs.done[dag][b as usize] > job)
    }

    /// A task whose job begins becomes schedulable, unless its graph holds it back.
    pub fn wake_job(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let task = &self.tasks[no as usize];
        let ops = self.programs[task.program as usize].ops;
        if !matches!(ops.get(task.pc as usize), Some(Op::Join { .. })) {
            return self.wake(no, by);
        }
        let joins = self.may_join(no);
        let task = &mut self.tasks[no as usize];
        task.pc += 1;
        if joins {
            return self.wake(no, by);
        }
        if task.wait.is_timed() {
            self.census.timed -= 1;
        }
        task.wait = Wait::Join;
        self.account(by, weir_core::event::Call::Notify);
        Ok(())
    }

    /// The last job of a node is done or dropped: nodes that waited for it continue.
    pub fn node_done(&mut self, no: TaskNo, by: CpuNo) -> Result<()> {
        let Some((dag, node)) = self.node_of(no) else { return Ok(()) };
        let task = &self.tasks[no as usize];
        if task.job_open || task.next_job == 0 {
            return Ok(());
        }
        let done = task.job + 1;
        if std::mem::replace(&mut self.graphs.done[dag][node], done) == done {
            return Ok(());
        }
        let workload = self.workload;
        for &after in &workload.dags[dag].nodes[node].after {
            let other = self.graphs.tasks[dag][after as usize];
            if other != NONE && self.tasks[other as usize].wait == Wait::Join && self.may_join(other) {
                self.wake(other, by)?;
            }
        }
        Ok(())
    }
}
