// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What happened between two snapshots, a second.

use std::collections::BTreeMap;

use weir_linux::snapshot::{CpuView, PipeView, Snapshot, TaskView};

/// Rates between two snapshots of one scheduler.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// In the order of `Snapshot::cpus`.
    pub cpus: Vec<CpuRate>,
    /// In the order of `Snapshot::pipes`.
    pub pipes: Vec<Flow>,
    /// In the order of `Snapshot::instances`.
    pub instances: Vec<InstanceRate>,
    /// In the order of `Snapshot::tasks`.
    pub tasks: Vec<TaskRate>,
    pub enqueues: f64,
    pub switches: f64,
    pub migrations: f64,
    pub preempts: f64,
    pub kicks: f64,
    pub messages: f64,
    /// Mean time that a task waited in the graph before it left for a CPU, ns; none did: `None`.
    pub mean_wait_ns: Option<f64>,
}

/// One CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuRate {
    /// Share of the time in which a task of this scheduler ran, 0 to 1.
    pub busy: f64,
    pub switches: f64,
}

/// Through a pipe, or a component.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Tasks in it now.
    pub depth: u32,
    /// Most tasks at a time.
    pub max_depth: u32,
    /// Tasks that came and went, a second.
    pub added: f64,
    pub removed: f64,
    /// Mean number of tasks: that of the two snapshots.
    pub mean_depth: f64,
}

impl Flow {
    /// Mean time that a task spends here, ns, by Little's law; `None` where nothing left.
    pub fn latency_ns(&self) -> Option<f64> {
        (self.removed > 0.0).then(|| self.mean_depth / self.removed * 1e9)
    }
}

/// A component instance: what comes in by all its in-pipes, and what it passes on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InstanceRate {
    pub inflow: Flow,
    /// Tasks added to its out-pipes, a second.
    pub passed: f64,
    pub updates: f64,
}

/// One task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskRate {
    /// Shares of the time, 0 to 1.
    pub run: f64,
    pub wait: f64,
    pub runs: f64,
    pub migrations: f64,
}

/// A counter's growth; what went back started over.
fn grown(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

impl Rates {
    /// From `before` to `now`. Without `before`, or where `now` is another scheduler's, nothing has moved yet.
    pub fn between(before: Option<&Snapshot>, now: &Snapshot) -> Self {
        // The attachment is the same if it began at the same time.
        let began = |s: &Snapshot| s.t_ns.saturating_sub(s.uptime_ns);
        let before = before.filter(|b| b.t_ns < now.t_ns && began(b).abs_diff(began(now)) < 1_000_000);
        let seconds = before.map_or(0.0, |b| (now.t_ns - b.t_ns) as f64 / 1e9);
        let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        let none = Snapshot::default();
        let old = before.unwrap_or(&none);
        let (t, o) = (&now.totals, &old.totals);
        let total = |now: u64, before: u64| rate(grown(now, before));
        let pipes = pipes(before, now, rate);
        let tasks = tasks(old, now, rate, seconds);
        let waited: u64 = {
            let by_id = by_id(old);
            let gone = |t: &TaskView| grown(t.wait_ns, by_id.get(&(t.id, t.pid)).map_or(0, |o| o.wait_ns));
            now.tasks.iter().map(gone).sum()
        };
        let dispatched = grown(t.dispatches, o.dispatches);
        Self {
            cpus: cpus(old, now, rate, seconds),
            instances: instances(before, now, &pipes, rate),
            pipes,
            tasks,
            enqueues: total(t.enqueues, o.enqueues),
            switches: total(t.runs, o.runs),
            migrations: total(t.migrations, o.migrations),
            preempts: total(t.preempts, o.preempts),
            kicks: total(t.kicks, o.kicks),
            messages: total(t.messages, o.messages),
            mean_wait_ns: (seconds > 0.0 && dispatched > 0).then(|| waited as f64 / dispatched as f64),
        }
    }
}

fn cpus(old: &Snapshot, now: &Snapshot, rate: impl Fn(u64) -> f64, seconds: f64) -> Vec<CpuRate> {
    let one = |(i, c): (usize, &CpuView)| {
        let Some(o) = old.cpus.get(i).filter(|_| seconds > 0.0) else { return CpuRate::default() };
        // The counter grows with each switch: a task that ran through has not been counted yet.
        let through = c.runs == o.runs && c.curr.is_some() && c.curr == o.curr;
        let busy = if through { 1.0 } else { rate(grown(c.busy_ns, o.busy_ns)) / 1e9 };
        CpuRate { busy: busy.min(1.0), switches: rate(grown(c.runs, o.runs)) }
    };
    now.cpus.iter().enumerate().map(one).collect()
}

fn pipes(before: Option<&Snapshot>, now: &Snapshot, rate: impl Fn(u64) -> f64) -> Vec<Flow> {
    // After a switch the pipes are others, also where they have the same names.
    let same = before.filter(|b| b.topology == now.topology && b.last_swap == now.last_swap);
    let one = |(i, p): (usize, &PipeView)| {
        let mut flow =
            Flow { depth: p.depth, max_depth: p.max_depth, mean_depth: p.depth.into(), ..Flow::default() };
        if let Some(o) = same.and_then(|b| b.pipes.get(i)) {
            flow.added = rate(grown(p.added, o.added));
            flow.removed = rate(grown(p.removed, o.removed));
            flow.mean_depth = (f64::from(p.depth) + f64::from(o.depth)) / 2.0;
        }
        flow
    };
    now.pipes.iter().enumerate().map(one).collect()
}

fn instances(
    before: Option<&Snapshot>,
    now: &Snapshot,
    flows: &[Flow],
    rate: impl Fn(u64) -> f64,
) -> Vec<InstanceRate> {
    let same = before.filter(|b| b.topology == now.topology && b.last_swap == now.last_swap);
    let mut rates: Vec<InstanceRate> = Vec::with_capacity(now.instances.len());
    let number: BTreeMap<&str, usize> =
        now.instances.iter().enumerate().map(|(i, inst)| (inst.name.as_str(), i)).collect();
    for (i, inst) in now.instances.iter().enumerate() {
        let old = same.and_then(|b| b.instances.get(i)).map(|o| o.updates);
        let updates = old.map_or(0.0, |o| rate(grown(inst.updates, o)));
        rates.push(InstanceRate { updates, ..InstanceRate::default() });
    }
    for (pipe, flow) in now.pipes.iter().zip(flows) {
        if let Some(&to) = number.get(pipe.to.as_str()) {
            let sum = &mut rates[to].inflow;
            sum.depth += flow.depth;
            sum.max_depth = sum.max_depth.max(flow.max_depth);
            sum.added += flow.added;
            sum.removed += flow.removed;
            sum.mean_depth += flow.mean_depth;
        }
        if let Some(&from) = number.get(pipe.from.as_str()) {
            rates[from].passed += flow.added;
        }
    }
    rates
}

fn by_id(s: &Snapshot) -> BTreeMap<(u32, u32), &TaskView> {
    s.tasks.iter().map(|t| ((t.id, t.pid), t)).collect()
}

fn tasks(old: &Snapshot, now: &Snapshot, rate: impl Fn(u64) -> f64, seconds: f64) -> Vec<TaskRate> {
    let old = by_id(old);
    let none = TaskView::default();
    let one = |t: &TaskView| {
        let o = old.get(&(t.id, t.pid)).copied().unwrap_or(&none);
        if seconds == 0.0 {
            return TaskRate::default();
        }
        TaskRate {
            run: (rate(grown(t.run_ns, o.run_ns)) / 1e9).min(1.0),
            wait: (rate(grown(t.wait_ns, o.wait_ns)) / 1e9).min(1.0),
            runs: rate(grown(t.runs.into(), o.runs.into())),
            migrations: rate(grown(t.migrations.into(), o.migrations.into())),
        }
    };
    now.tasks.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_linux::snapshot::{InstanceView, SwapReport, Totals};

    fn at(t_ns: u64) -> Snapshot {
        let task = TaskView { id: 1, pid: 9, run_ns: t_ns / 2, wait_ns: t_ns / 4, ..TaskView::default() };
        Snapshot {
            t_ns,
            uptime_ns: t_ns,
            topology: "t".into(),
            cpus: vec![CpuView { busy_ns: t_ns / 2, runs: t_ns / 1_000_000, ..CpuView::default() }],
            pipes: vec![
                PipeView {
                    from: "entry".into(),
                    to: "lb".into(),
                    depth: 2,
                    added: t_ns / 1_000_000,
                    removed: t_ns / 1_000_000,
                    ..PipeView::default()
                },
                PipeView {
                    from: "lb".into(),
                    to: "x".into(),
                    added: t_ns / 2_000_000,
                    ..PipeView::default()
                },
            ],
            instances: vec![InstanceView {
                name: "lb".into(),
                updates: t_ns / 500_000,
                ..InstanceView::default()
            }],
            tasks: vec![task],
            totals: Totals {
                dispatches: t_ns / 1_000_000,
                messages: t_ns / 100_000_000,
                ..Totals::default()
            },
            ..Snapshot::default()
        }
    }

    #[test]
    fn counters_become_rates() {
        let r = Rates::between(Some(&at(1_000_000_000)), &at(1_500_000_000));
        assert_eq!(r.messages, 10.0);
        assert_eq!((r.cpus[0].busy, r.cpus[0].switches), (0.5, 1000.0));
        assert_eq!((r.tasks[0].run, r.tasks[0].wait), (0.5, 0.25));
        // Two tasks on average, a thousand a second leave: each stays 2 ms.
        assert_eq!(r.pipes[0].latency_ns(), Some(2e6));
        assert_eq!(r.pipes[1].latency_ns(), None);
        let lb = r.instances[0];
        assert_eq!((lb.inflow.added, lb.passed, lb.updates), (1000.0, 500.0, 2000.0));
        assert_eq!(r.mean_wait_ns, Some(250_000.0));
    }

    #[test]
    fn one_snapshot_has_depths_and_no_rates() {
        let r = Rates::between(None, &at(1_000_000_000));
        assert_eq!((r.pipes[0].depth, r.pipes[0].added, r.messages), (2, 0.0, 0.0));
        assert_eq!((r.mean_wait_ns, r.cpus[0]), (None, CpuRate::default()));
        // Neither has one of another attachment.
        let other = Snapshot { uptime_ns: 7, ..at(500_000_000) };
        assert_eq!(Rates::between(Some(&other), &at(9_000_000_000)).messages, 0.0);
    }

    #[test]
    fn a_switch_begins_the_pipes_anew() {
        let swapped = Snapshot { last_swap: Some(SwapReport::default()), ..at(2_000_000_000) };
        let r = Rates::between(Some(&at(1_000_000_000)), &swapped);
        assert_eq!((r.pipes[0].added, r.messages), (0.0, 10.0));
    }

    #[test]
    fn a_task_that_runs_through_keeps_its_cpu_busy() {
        let s = |t_ns| Snapshot {
            cpus: vec![CpuView { curr: Some(5), busy_ns: 3, runs: 1, ..CpuView::default() }],
            ..at(t_ns)
        };
        assert_eq!(Rates::between(Some(&s(1_000_000_000)), &s(2_000_000_000)).cpus[0].busy, 1.0);
    }
}
