// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Metrics of random histories against a reference that paints every nanosecond.

use crate::support::{Paint, Reference, meta, play, steps};
use proptest::prelude::*;
use weir_core::Counters;
use weir_core::event::{Event, Observer};
use weir_report::{Dist, Metrics, Names, Screen, Summary, compare_table, table, tasks_csv};

fn dist(values: Option<&Vec<u64>>) -> Dist {
    let Some(mut v) = values.cloned() else { return Dist::default() };
    v.sort_unstable();
    let rank = |pct: usize| v[(v.len() * pct).div_ceil(100) - 1];
    let mean = v.iter().sum::<u64>() / v.len() as u64;
    let (max, count) = (v[v.len() - 1], v.len() as u64);
    Dist { min: v[0], mean, p50: rank(50), p95: rank(95), p99: rank(99), max, count }
}

fn check(summary: &Summary, r: &Reference) {
    let c = &r.counts;
    let t = &summary.totals;
    assert_eq!(summary.duration_ns, r.end);
    assert_eq!(summary.events, r.events);
    let counted =
        (t.jobs, t.jobs_completed, t.deadline_misses, t.context_switches, t.preemptions, t.migrations);
    assert_eq!(counted, (c.jobs, c.done, c.misses, c.switches, c.preemptions, c.migrations));
    assert_eq!((t.lock_wait_ns, t.energy_uj), (c.lock_wait_ns, c.energy_uj));
    let calls = summary.calls.iter().map(|c| c.count).sum::<u64>();
    assert_eq!(t.decisions, c.picks, "{calls} calls");
    for (cpu, line) in summary.cpus.iter().zip(&r.cpus) {
        let painted = |f: fn(&Paint) -> bool| line.iter().filter(|p| f(p)).count() as u64;
        assert_eq!(cpu.busy_ns, painted(|p| matches!(p, Paint::Busy(_))), "busy of CPU {}", cpu.cpu);
        assert_eq!(cpu.scheduler_ns, painted(|p| *p == Paint::Sched), "scheduler of CPU {}", cpu.cpu);
        assert_eq!(cpu.offline_ns, painted(|p| *p == Paint::Offline), "offline of CPU {}", cpu.cpu);
        assert_eq!(cpu.idle_ns, painted(|p| *p == Paint::Idle), "idle of CPU {}", cpu.cpu);
        assert_eq!(cpu.busy_ns + cpu.idle_ns + cpu.scheduler_ns + cpu.offline_ns, r.end);
    }
    assert_eq!(summary.tasks.iter().map(|t| t.switches).sum::<u64>(), t.context_switches);
    for task in &summary.tasks {
        let painted = r.cpus.iter().flatten().filter(|p| **p == Paint::Busy(task.id)).count() as u64;
        assert_eq!(task.cpu_ns, painted, "CPU time of task {}", task.id);
        assert_eq!(task.wait_ns, r.waits.get(&task.id).copied().unwrap_or(0));
        assert_eq!(task.response_ns, dist(r.responses.get(&task.id)));
        assert_eq!(task.wakeup_latency_ns, dist(r.wakeups.get(&task.id)));
    }
    let all = r.responses.values().flatten().copied().collect::<Vec<_>>();
    assert_eq!(summary.response_ns, dist((!all.is_empty()).then_some(&all)));
    let groups: Vec<_> = summary.groups.iter().map(|g| (g.name.as_str(), g.tasks)).collect();
    assert_eq!(groups, [("g", 2), ("a,b\"c", 1), ("h", 1), ("täsk", 1)]);
    assert_eq!(summary.groups.iter().map(|g| g.cpu_ns).sum::<u64>(), t.busy_ns);
    assert_eq!(summary.groups.iter().map(|g| g.wait_ns).sum::<u64>(), c.wait_ns);
}

proptest! {
    #[test]
    fn metrics_equal_the_painted_reference(steps in steps()) {
        let mut metrics = Metrics::new(meta());
        let reference = play(&steps, &mut metrics);
        let summary = metrics.finish(reference.end);
        check(&summary, &reference);

        // Whatever happened, the texts are well formed.
        let text = table(&summary, &Screen::default());
        prop_assert!(text.lines().all(|l| l.chars().count() <= 100), "{}", text);
        prop_assert_eq!(tasks_csv(&summary).lines().count(), summary.tasks.len() + 1);
        let compared = compare_table(&[summary.clone(), summary], &Screen::default());
        prop_assert!(compared.lines().all(|l| l.chars().count() <= 100), "{}", compared);
    }

    #[test]
    fn equal_streams_give_equal_bytes(steps in steps()) {
        let json = || {
            let mut metrics = Metrics::new(meta());
            let end = play(&steps, &mut metrics).end;
            metrics.finish(end).to_json()
        };
        prop_assert_eq!(json(), json());
    }
}

#[test]
fn pipes_and_instances_of_a_later_topology_are_counted() {
    let mut m = Metrics::new(meta());
    m.event(0, &Event::PipeDepth { pipe: 4, depth: 3 });
    m.event(10, &Event::PipeDepth { pipe: 4, depth: 1 });
    m.event(15, &Event::PipeLock { pipe: 4, held_ns: 7, wait_ns: 2 });
    m.event(15, &Event::InstanceTime { instance: 3, ns: 9, updates: 2 });
    let s = m.finish(20);
    let p = &s.pipes[4];
    assert_eq!(
        (p.name.as_str(), p.lock_held_ns, p.lock_wait_ns, p.max_depth, p.mean_depth),
        ("pipe 4", 7, 2, 3, 2.0)
    );
    assert_eq!(
        (s.components[3].name.as_str(), s.components[3].ns, s.components[3].updates),
        ("instance 3", 9, 2)
    );
}

#[test]
fn a_swap_ends_the_depths_of_the_old_pipes() {
    let mut m = Metrics::new(meta());
    let pipes = vec!["fifo".into(), "entry".into()];
    m.know(&Names { topology: "next".into(), pipes, instances: vec!["fifo".into()], stages: Vec::new() });
    m.event(0, &Event::PipeDepth { pipe: 0, depth: 4 });
    m.event(0, &Event::PipeDepth { pipe: 1, depth: 2 });
    m.event(50, &Event::PipeLock { pipe: 0, held_ns: 1, wait_ns: 1 });
    m.event(50, &Event::Swap { from: "toy", to: "next", pause_ns: 3, represented: 4 });
    m.event(50, &Event::PipeDepth { pipe: 0, depth: 8 });
    m.event(100, &Event::PipeLock { pipe: 1, held_ns: 2, wait_ns: 0 });
    m.event(100, &Event::InstanceTime { instance: 0, ns: 5, updates: 1 });
    let s = m.finish(100);
    let pipes: Vec<_> = s.pipes.iter().map(|p| (p.name.as_str(), p.mean_depth, p.lock_held_ns)).collect();
    assert_eq!(pipes, [("entry", 2.0, 3), ("lb.out0", 1.0, 0), ("fifo", 4.0, 0)]);
    assert_eq!((s.components[2].name.as_str(), s.components[2].ns), ("fifo", 5));
}

/// See the test of the same kind for traces: busy time is what the runtime says, so that scheduler time
/// between a task's end and the report of it is not counted twice.
#[test]
fn late_reports_count_once() {
    let mut m = Metrics::new(meta());
    m.event(0, &Event::Run { task: 0, cpu: 0, migrated: false, switched: true, wakeup: false, waited_ns: 0 });
    m.event(130, &Event::Off { task: 0, cpu: 0, why: weir_core::event::Stop::SliceEnd, ran_ns: 100 });
    let call = |call, ns| Event::Sched { cpu: 0, call, ns, lock_wait_ns: ns };
    m.event(150, &call(weir_core::event::Call::Relinquish, 30));
    m.event(150, &call(weir_core::event::Call::Pick, 20));
    // Under way at the end: counts as far as it got.
    m.event(160, &call(weir_core::event::Call::Block, 90));
    let s = m.finish(160);
    let cpu = &s.cpus[0];
    assert_eq!((cpu.busy_ns, cpu.scheduler_ns, cpu.lock_wait_ns, cpu.idle_ns), (100, 60, 60, 0));
    assert_eq!(s.tasks[0].cpu_ns, 100);
}

#[test]
fn runs_stand_in_for_decisions_where_calls_are_not_reported() {
    let mut m = Metrics::new(meta());
    let run =
        |task| Event::Run { task, cpu: 0, migrated: false, switched: true, wakeup: false, waited_ns: 0 };
    m.event(0, &run(0));
    m.event(5, &Event::Off { task: 0, cpu: 0, why: weir_core::event::Stop::Block, ran_ns: 5 });
    m.event(5, &run(1));
    let s = m.finish(9);
    assert_eq!(s.totals.decisions, 2);
    assert_eq!(s.tasks[1].name.as_ref(), "task 1");
    assert_eq!(s.cpus[0].busy_ns, 9);
}

#[test]
fn a_task_is_summed_up_under_its_last_name() {
    let mut m = Metrics::new(meta());
    for (task, name) in [(0, "sh"), (1, "other"), (2, "sh")] {
        m.event(0, &Event::TaskNew { task, name, group: name });
    }
    m.event(5, &Event::TaskName { task: 0, name: "make", group: "make" });
    m.event(6, &Event::TaskName { task: 0, name: "cc1", group: "cc1" });
    let s = m.finish(10);
    let names: Vec<_> = s.tasks.iter().map(|t| (&*t.name, &*t.group)).collect();
    assert_eq!(names, [("cc1", "cc1"), ("other", "other"), ("sh", "sh")]);
}

/// What the hardware counted is summed up by task and over all, and comes back from the file as it was.
#[test]
fn counters_are_sums_of_stints() {
    let mut metrics = Metrics::new(meta());
    let stint = |cycles: u64| Counters { cycles, l1_misses: 3, mispredicts: 1, ..Counters::default() };
    for task in 0..3 {
        metrics.event(0, &Event::TaskNew { task, name: "t", group: "" });
    }
    for (task, cycles) in [(0, 100), (2, 7), (0, 11)] {
        metrics.event(5, &Event::Counters { task, cpu: 0, counts: &stint(cycles), passes: 1, penalty: None });
    }
    let summary = metrics.finish(10);
    let of = |i: usize| summary.tasks[i].counters.as_ref().map(|c| (c.0.cycles, c.0.l1_misses));
    assert_eq!([of(0), of(1), of(2)], [Some((111, 6)), None, Some((7, 3))]);
    assert_eq!(summary.counters.as_ref().map(|c| c.0.mispredicts), Some(3));
    let json = summary.to_json();
    assert!(json.contains("\"lfb_hits\": 0, \"l2_hits\": 0"), "{json}");
    let back: Summary = serde_json::from_str(&json).unwrap();
    assert_eq!(back, summary);
}
