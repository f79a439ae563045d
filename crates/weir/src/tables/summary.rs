// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tables of a summary's figures for each task, pipe and CPU.

use weir_report::Summary;

use super::{Builder, Cell, Field, Kind, Table, field};

const TASKS: &[Field] = &[
    field("task", Kind::U32),
    field("name", Kind::Text),
    field("group", Kind::Text),
    field("jobs", Kind::U64),
    field("jobs_completed", Kind::U64),
    field("deadline_misses", Kind::U64),
    field("preemptions", Kind::U64),
    field("migrations", Kind::U64),
    field("switches", Kind::U64),
    field("cpu_ns", Kind::U64),
    field("wait_ns", Kind::U64),
    field("response_mean_ns", Kind::U64),
    field("response_p50_ns", Kind::U64),
    field("response_p95_ns", Kind::U64),
    field("response_p99_ns", Kind::U64),
    field("response_max_ns", Kind::U64),
    field("wakeup_mean_ns", Kind::U64),
    field("wakeup_p50_ns", Kind::U64),
    field("wakeup_p95_ns", Kind::U64),
    field("wakeup_p99_ns", Kind::U64),
    field("wakeup_max_ns", Kind::U64),
];
const PIPES: &[Field] = &[
    field("pipe", Kind::U32),
    field("name", Kind::Text),
    field("lock_held_ns", Kind::U64),
    field("lock_wait_ns", Kind::U64),
    field("max_depth", Kind::U64),
    field("mean_depth", Kind::F64),
];
const CPUS: &[Field] = &[
    field("cpu", Kind::U32),
    field("name", Kind::Text),
    field("busy_ns", Kind::U64),
    field("idle_ns", Kind::U64),
    field("scheduler_ns", Kind::U64),
    field("lock_wait_ns", Kind::U64),
    field("offline_ns", Kind::U64),
    field("switches", Kind::U64),
];

/// One row a task.
pub fn tasks(summary: &Summary) -> Table {
    let mut out = Builder::new(TASKS);
    for t in &summary.tasks {
        let mut row = vec![Cell::U32(t.id), Cell::Text(&t.name), Cell::Text(&t.group)];
        let (r, w) = (&t.response_ns, &t.wakeup_latency_ns);
        row.extend(
            [
                t.jobs,
                t.jobs_completed,
                t.deadline_misses,
                t.preemptions,
                t.migrations,
                t.switches,
                t.cpu_ns,
                t.wait_ns,
                r.mean,
                r.p50,
                r.p95,
                r.p99,
                r.max,
                w.mean,
                w.p50,
                w.p95,
                w.p99,
                w.max,
            ]
            .map(Cell::U64),
        );
        out.row(&row);
    }
    out.finish()
}

/// One row a pipe, numbered as in the waits of a run without a swap.
pub fn pipes(summary: &Summary) -> Table {
    let mut out = Builder::new(PIPES);
    for (i, p) in (0..).zip(&summary.pipes) {
        out.row(&[
            Cell::U32(i),
            Cell::Text(&p.name),
            Cell::U64(p.lock_held_ns),
            Cell::U64(p.lock_wait_ns),
            Cell::U64(p.max_depth),
            Cell::F64(p.mean_depth),
        ]);
    }
    out.finish()
}

/// One row a CPU.
pub fn cpus(summary: &Summary) -> Table {
    let mut out = Builder::new(CPUS);
    for c in &summary.cpus {
        let mut row = vec![Cell::U32(c.cpu), Cell::Text(&c.name)];
        let numbers = [c.busy_ns, c.idle_ns, c.scheduler_ns, c.lock_wait_ns, c.offline_ns, c.switches];
        row.extend(numbers.map(Cell::U64));
        out.row(&row);
    }
    out.finish()
}
