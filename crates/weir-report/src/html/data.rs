// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The data that the pages' scripts draw: a selection of the summary, bounded in size.

use crate::gantt::{GROUP, Gantt, MIXED, MarkKind};
use crate::stats::{Bin, Dist};
use crate::summary::{GroupSummary, Summary, TaskSummary};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Tasks in the table of a page; `tasks.csv` has all.
const TASKS: usize = 4_000;
/// Groups with a distribution of their own.
const GROUPS: usize = 200;

/// Numbers in the order min, mean, p50, p95, p99, max.
fn six(d: &Dist) -> [u64; 6] {
    [d.min, d.mean, d.p50, d.p95, d.p99, d.max]
}

fn bins(bins: &[Bin]) -> Vec<[u64; 2]> {
    bins.iter().map(|b| [b.from_ns, b.count]).collect()
}

/// A distribution with its percentiles.
#[derive(Serialize)]
pub struct SpreadData {
    dist: [u64; 6],
    bins: Vec<[u64; 2]>,
}

impl SpreadData {
    pub fn new(dist: &Dist, of: &[Bin]) -> Self {
        Self { dist: six(dist), bins: bins(of) }
    }
}

#[derive(Serialize)]
pub struct GroupData {
    name: String,
    tasks: u64,
    jobs: u64,
    missed: u64,
    cpu: u64,
    wait: u64,
    response: SpreadData,
    wakeup: SpreadData,
}

impl GroupData {
    fn new(g: &GroupSummary) -> Self {
        Self {
            name: g.name.clone(),
            tasks: g.tasks,
            jobs: g.jobs,
            missed: g.deadline_misses,
            cpu: g.cpu_ns,
            wait: g.wait_ns,
            response: SpreadData::new(&g.response_ns, &g.response_bins),
            wakeup: SpreadData::new(&g.wakeup_latency_ns, &g.wakeup_bins),
        }
    }
}

/// The groups that a page shows: the ones with most jobs and wake-ups where there are too many.
pub fn groups(s: &Summary) -> Vec<GroupData> {
    let mut chosen: Vec<(usize, &GroupSummary)> = s.groups.iter().enumerate().collect();
    if chosen.len() > GROUPS {
        chosen.sort_by_key(|(i, g)| (Reverse((g.deadline_misses, g.jobs, g.cpu_ns)), *i));
        chosen.truncate(GROUPS);
        chosen.sort_by_key(|(i, _)| *i);
    }
    chosen.into_iter().map(|(_, g)| GroupData::new(g)).collect()
}

/// Tasks by columns of a row: id, name, group, jobs, misses, preemptions, migrations, CPU time, wait,
/// response p50, p99, max, wake-up p50, p99, max.
type TaskRow<'a> = (u32, &'a str, &'a str, [u64; 12]);

/// The tasks that a page lists: those with misses and long responses first where there are too many.
pub fn tasks(s: &Summary) -> Vec<TaskRow<'_>> {
    let mut chosen: Vec<&TaskSummary> = s.tasks.iter().collect();
    if chosen.len() > TASKS {
        let badness =
            |t: &TaskSummary| (t.deadline_misses, t.response_ns.p99, t.wakeup_latency_ns.p99, t.cpu_ns);
        chosen.sort_by_key(|t| (Reverse(badness(t)), t.id));
        chosen.truncate(TASKS);
        chosen.sort_by_key(|t| t.id);
    }
    let row = |t: &'_ TaskSummary| {
        let (r, w) = (&t.response_ns, &t.wakeup_latency_ns);
        [
            t.jobs,
            t.deadline_misses,
            t.preemptions,
            t.migrations,
            t.cpu_ns,
            t.wait_ns,
            r.p50,
            r.p99,
            r.max,
            w.p50,
            w.p99,
            w.max,
        ]
    };
    chosen.into_iter().map(|t| (t.id, &*t.name, &*t.group, row(t))).collect()
}

/// The chart. Pieces are flat lists of differences:
/// runs: gap since the last piece, length, twice the task's index plus one (plus one more where joined),
/// and only where joined, the busy share in thousandths;
/// sched: gap, length, busy share and lock share in thousandths.
#[derive(Serialize)]
pub struct GanttData {
    quantum: u64,
    tasks: Vec<(u32, String, String)>,
    runs: Vec<Vec<u64>>,
    sched: Vec<Vec<u64>>,
    marks: Vec<(u64, &'static str, String)>,
    marks_left_out: u64,
}

impl GanttData {
    pub fn new(gantt: &Gantt, s: &Summary) -> Self {
        // Only tasks that appear in pieces get a name here.
        let mut index: BTreeMap<u32, u64> = BTreeMap::new();
        let mut tasks = Vec::new();
        let mut index_of = |task: u32| {
            // Joined pieces of a group have an entry, too, with the group's code for a task number.
            *index.entry(task).or_insert_with(|| {
                let (name, group) = match s.tasks.get(task as usize) {
                    _ if task >= GROUP => ("several tasks".into(), gantt.group(task).to_string()),
                    Some(t) => (t.name.to_string(), t.group.to_string()),
                    None => (format!("task {task}"), String::new()),
                };
                tasks.push((task, name, group));
                tasks.len() as u64 - 1
            })
        };
        let permille = |part: u64, whole: u64| (u128::from(part) * 1000 / u128::from(whole.max(1))) as u64;
        let (mut runs, mut sched) = (Vec::new(), Vec::new());
        for row in gantt.rows() {
            let mut list = Vec::with_capacity(row.runs.len() * 3);
            let mut at = 0;
            for p in &row.runs {
                let len = p.end_ns - p.begin_ns;
                let joined = p.task >= GROUP || p.used_ns < len;
                let task = if p.task == MIXED { 0 } else { index_of(p.task) + 1 };
                list.extend([p.begin_ns - at, len, 2 * task + u64::from(joined)]);
                if joined {
                    list.push(permille(p.used_ns, len));
                }
                at = p.end_ns;
            }
            runs.push(list);
            let mut list = Vec::with_capacity(row.sched.len() * 4);
            let mut at = 0;
            for p in &row.sched {
                let len = p.end_ns - p.begin_ns;
                list.extend([p.begin_ns - at, len, permille(p.used_ns, len), permille(p.lock_ns, len)]);
                at = p.end_ns;
            }
            sched.push(list);
        }
        let mark = |m: &crate::gantt::Mark| match m.kind {
            MarkKind::Miss => {
                let name = s
                    .tasks
                    .get(m.who as usize)
                    .map_or_else(|| format!("task {}", m.who), |t| t.name.to_string());
                (m.at_ns, "miss", name)
            }
            MarkKind::Swap => (m.at_ns, "swap", m.text.clone()),
            MarkKind::Marker => (m.at_ns, "marker", m.text.clone()),
            MarkKind::Online => (m.at_ns, "hotplug", format!("CPU {} online", m.who)),
            MarkKind::Offline => (m.at_ns, "hotplug", format!("CPU {} offline", m.who)),
        };
        let marks = gantt.marks().map(mark).collect();
        let marks_left_out = gantt.marks_left_out();
        Self { quantum: gantt.quantum_ns(), runs, sched, marks, marks_left_out, tasks }
    }
}
