// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The cost table as the analysis uses it: a switch, a migration, a decision, a release, a tick.

use weir_analysis::Overheads;
use weir_core::Plan;
use weir_model::{Costs, Machine};

/// Number of CPUs from which distances to all others are examined; machines are regular.
const FROM: u32 = 64;

/// Bounds from the table. A decision is two calls of the scheduler (the task comes, or the other goes, and the CPU
/// takes the next), each through every stage of the graph, with a look at each CPU and a search of the queue. Locks are handed over in
/// order, so at each stage every other CPU makes it wait for one stage of its own at most.
pub fn of(costs: &Costs, machine: &Machine, plan: Option<&Plan>, tasks: usize) -> Overheads {
    if costs.is_zero() {
        return Overheads::default();
    }
    let cpus = machine.nr_cpus();
    let pairs = || (0..cpus.min(FROM)).flat_map(|a| (0..cpus).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let most = |of: &dyn Fn(weir_model::Distance) -> u64| {
        pairs().map(|(a, b)| of(machine.distance(a, b))).max().unwrap_or(0)
    };
    let core = &costs.core;
    let depth = u64::from(plan.map_or(2, Plan::depth));
    let lock = costs.lock_uncontended + most(&|d| costs.handover(d));
    let stage = core.update + core.change + core.pipe_add + core.pipe_remove + 2 * lock;
    let asked = 4 * core.request + 2 * core.notify;
    let search = core.key_step * u64::from(usize::BITS - tasks.leading_zeros());
    let look = core.scan * u64::from(cpus);
    // Only within a stage a lock is held.
    let held = 2 * depth * stage * u64::from(cpus - 1);
    let decision_ns = 2 * (core.call + depth * stage + asked + search) + look + held;
    Overheads {
        switch_ns: costs.context_switch,
        migration_ns: most(&|d| costs.migrate(d)),
        decision_ns,
        release_ns: costs.timer_interrupt + most(&|d| costs.ipi(d)),
        tick_ns: costs.tick,
        tick_period_ns: costs.tick_period,
        // Of equals another one may continue.
        slice_ns: costs.timer_interrupt + decision_ns + costs.context_switch + most(&|d| costs.migrate(d)),
        slice_period_ns: if costs.slice_tick > 0 { costs.slice_tick } else { costs.slice_default },
    }
}
