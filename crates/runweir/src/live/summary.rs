// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The results of a live run without a recording: what the kernel side counts, in the form that every run's
//! results have. What only a recording shows (jobs, latencies, preemptions) is 0 there.

use std::time::Duration;

use weir_linux::Snapshot;
use weir_report::{ComponentSummary, CpuSummary, PipeSummary, Summary, SwapSummary, TaskSummary, Totals};

/// A summary of the last snapshot.
pub fn from_counters(s: &Snapshot, machine: &str, wall: Duration, limit: Option<Duration>) -> Summary {
    let wall_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
    let online: Vec<_> = s.cpus.iter().filter(|c| c.online).collect();
    let cpus: Vec<CpuSummary> = online
        .iter()
        .map(|c| CpuSummary {
            cpu: c.cpu,
            busy_ns: c.busy_ns,
            idle_ns: wall_ns.saturating_sub(c.busy_ns),
            switches: c.runs,
            ..CpuSummary::default()
        })
        .collect();
    let totals = Totals {
        context_switches: s.totals.runs,
        migrations: s.totals.migrations,
        decisions: s.totals.dispatches + s.totals.empty + s.totals.dropped,
        idle_ns: cpus.iter().map(|c| c.idle_ns).sum(),
        busy_ns: s.totals.busy_ns,
        ..Totals::default()
    };
    Summary {
        runweir: env!("CARGO_PKG_VERSION").into(),
        topology: s.topology.clone(),
        machine: machine.into(),
        workload: "live".into(),
        duration_ns: wall_ns,
        wall_ns,
        totals,
        tasks: s.tasks.iter().map(task).collect(),
        cpus,
        interrupted: limit.is_some_and(|l| wall < l),
        pipes: s
            .pipes
            .iter()
            .map(|p| PipeSummary {
                name: p.name.clone(),
                max_depth: p.max_depth.into(),
                ..PipeSummary::default()
            })
            .collect(),
        components: s
            .instances
            .iter()
            .map(|i| ComponentSummary { name: i.name.clone(), updates: i.updates, ns: 0 })
            .collect(),
        swaps: s
            .last_swap
            .iter()
            .map(|w| SwapSummary {
                at_ns: w.t_ns.saturating_sub(s.t_ns.saturating_sub(s.uptime_ns)),
                from: w.from.clone(),
                to: w.to.clone(),
                pause_ns: w.pause_ns,
                represented: w.represented.into(),
            })
            .collect(),
        lost_events: s.totals.lost_events,
        live: true,
        ..Summary::default()
    }
}

fn task(t: &weir_linux::TaskView) -> TaskSummary {
    TaskSummary {
        name: t.comm.as_str().into(),
        id: t.pid,
        migrations: t.migrations.into(),
        cpu_ns: t.run_ns,
        wait_ns: t.wait_ns,
        ..TaskSummary::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_where_they_belong() {
        let s = Snapshot {
            topology: "central".into(),
            cpus: vec![
                weir_linux::CpuView { cpu: 0, online: true, busy_ns: 400, runs: 7, ..Default::default() },
                weir_linux::CpuView { cpu: 1, ..Default::default() },
            ],
            totals: weir_linux::Totals {
                dispatches: 5,
                empty: 2,
                busy_ns: 400,
                runs: 7,
                ..Default::default()
            },
            ..Snapshot::default()
        };
        let sum = from_counters(&s, "host", Duration::from_nanos(1000), None);
        assert_eq!((sum.totals.decisions, sum.totals.idle_ns, sum.cpus.len()), (7, 600, 1));
        assert!(sum.live && !sum.interrupted);
    }
}
