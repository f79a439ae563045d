// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The figures of a run that have a column in tables of many runs.

use weir_report::Summary;

/// A column: its heading, and its value in a summary. Times are nanoseconds.
pub type Column = (&'static str, fn(&Summary) -> u64);

/// Virtual time, totals and distributions over all jobs and wake-ups.
pub const COLUMNS: [Column; 25] = [
    ("duration_ns", |s| s.duration_ns),
    ("jobs", |s| s.totals.jobs),
    ("jobs_completed", |s| s.totals.jobs_completed),
    ("deadline_misses", |s| s.totals.deadline_misses),
    ("context_switches", |s| s.totals.context_switches),
    ("preemptions", |s| s.totals.preemptions),
    ("migrations", |s| s.totals.migrations),
    ("decisions", |s| s.totals.decisions),
    ("scheduler_ns", |s| s.totals.scheduler_ns),
    ("lock_wait_ns", |s| s.totals.lock_wait_ns),
    ("idle_ns", |s| s.totals.idle_ns),
    ("busy_ns", |s| s.totals.busy_ns),
    ("energy_uj", |s| s.totals.energy_uj),
    ("response_mean_ns", |s| s.response_ns.mean),
    ("response_p50_ns", |s| s.response_ns.p50),
    ("response_p95_ns", |s| s.response_ns.p95),
    ("response_p99_ns", |s| s.response_ns.p99),
    ("response_max_ns", |s| s.response_ns.max),
    ("wakeup_mean_ns", |s| s.wakeup_latency_ns.mean),
    ("wakeup_p50_ns", |s| s.wakeup_latency_ns.p50),
    ("wakeup_p95_ns", |s| s.wakeup_latency_ns.p95),
    ("wakeup_p99_ns", |s| s.wakeup_latency_ns.p99),
    ("wakeup_max_ns", |s| s.wakeup_latency_ns.max),
    ("jobs_dropped", |s| s.totals.jobs_dropped),
    ("events", |s| s.events),
];

/// The headings, joined by commas.
pub fn headings() -> String {
    COLUMNS.map(|c| c.0).join(",")
}
