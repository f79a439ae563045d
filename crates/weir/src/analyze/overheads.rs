// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The cost table as the analysis uses it: a switch, a migration, a decision, a release, a tick.

use weir_analysis::Overheads;
use weir_core::Plan;
use weir_model::{Costs, Machine};

/// Number of CPUs from which distances to all others are examined; machines are regular.
const FROM: u32 = 64;

/// What calls of the scheduler cost at most, ns, without what they wait for its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// A task comes: the graph hears of its job, and it goes through every stage.
    pub enter: u64,
    /// A task gives up its CPU and goes through every stage again.
    pub leave: u64,
    /// A CPU takes the next task, which leaves the pipes on its way.
    pub pick: u64,
    /// A task that waits for its next job is in no pipe, and the stages on its way hear that it has left.
    pub block: u64,
}

impl Calls {
    /// Of a graph for the CPUs of `machine`, with so many tasks in it.
    pub fn of(costs: &Costs, machine: &Machine, plan: Option<&Plan>, tasks: usize) -> Self {
        let core = &costs.core;
        let depth = u64::from(plan.map_or(2, Plan::depth));
        let lock = costs.lock_uncontended + farthest(machine, |d| costs.handover(d));
        let stage = core.update + core.change + core.pipe_add + core.pipe_remove + 2 * lock;
        let asked = 4 * core.request + 2 * core.notify;
        let look = core.scan * plan.map_or(u64::from(machine.nr_cpus()), looked_at);
        let search = core.key_step * u64::from(usize::BITS - tasks.leading_zeros());
        // The home where it is linked is locked besides.
        let way = depth * stage + search + lock;
        // What a postponed pipe holds back goes on when a CPU asks.
        let postponed = plan.is_some_and(|p| p.pipes.iter().any(|pipe| pipe.postponed));
        Self {
            enter: 2 * core.call + way + asked + look,
            leave: core.call + way + asked + look,
            pick: core.call
                + depth * (core.pipe_remove + lock)
                + asked
                + look
                + if postponed { tasks as u64 * way } else { 0 },
            block: core.call + lock + depth * (core.update + core.change) + asked,
        }
    }

    /// The dearest of them.
    pub fn most(&self) -> u64 {
        self.enter.max(self.leave).max(self.pick).max(self.block)
    }
}

/// Bounds from the table.
///
/// A call waits for locks until the calls that other CPUs began before it are over, one a CPU: theirs wait only for still earlier ones, and
/// later ones wait for it. The calls of jobs that are released at once on one CPU are charged as releases to all that wait for them.
pub fn of(costs: &Costs, machine: &Machine, plan: Option<&Plan>, tasks: usize) -> Overheads {
    if costs.is_zero() {
        return Overheads::default();
    }
    let migration_ns = farthest(machine, |d| costs.migrate(d));
    let calls = Calls::of(costs, machine, plan, tasks);
    let wait = u64::from(machine.nr_cpus() - 1) * calls.most();
    let decision_ns = calls.leave + calls.pick + 2 * wait;
    Overheads {
        switch_ns: costs.context_switch,
        migration_ns,
        notify_ns: farthest(machine, |d| costs.ipi(d)),
        decision_ns,
        release_ns: costs.timer_interrupt + calls.enter + wait,
        tick_ns: costs.tick,
        tick_period_ns: costs.tick_period,
        // Of equals another one may continue.
        slice_ns: costs.timer_interrupt + decision_ns + costs.context_switch + migration_ns,
        slice_period_ns: if costs.slice_tick > 0 { costs.slice_tick } else { costs.slice_default },
    }
}

/// What a task's way looks at in the most: the out-ports of each stage that chooses among several, and the CPUs at its exit.
fn looked_at(plan: &Plan) -> u64 {
    let mut behind = vec![0; plan.instances.len()];
    for exit in plan.exits.iter().flatten() {
        behind[plan.pipes[*exit as usize].to.0 as usize] += 1;
    }
    // Each instance comes after those that feed it.
    for (i, inst) in plan.instances.iter().enumerate().rev() {
        let far = inst.outs.iter().map(|o| behind[plan.pipes[*o as usize].to.0 as usize]).max().unwrap_or(0);
        let ports = if inst.outs.len() > 1 { inst.outs.len() as u64 } else { 0 };
        behind[i] += ports + far;
    }
    behind.into_iter().max().unwrap_or(0)
}

/// The most that something costs between two CPUs.
fn farthest(machine: &Machine, cost: impl Fn(weir_model::Distance) -> u64) -> u64 {
    let cpus = machine.nr_cpus();
    let pairs = (0..cpus.min(FROM)).flat_map(|a| (0..cpus).map(move |b| (a, b))).filter(|(a, b)| a != b);
    pairs.map(|(a, b)| cost(machine.distance(a, b))).max().unwrap_or(0)
}
