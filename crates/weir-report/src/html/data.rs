// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The data that the pages' scripts draw: a selection of the summary, bounded in size.

use crate::gantt::{GROUP, Gantt, MIXED, MarkKind, MomentKind};
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
fn six(d: &Dist) -> [Option<u64>; 6] {
    [d.min, d.mean, d.p50, d.p95, d.p99, d.max].map(|n| (!d.is_empty()).then_some(n))
}

fn bins(bins: &[Bin]) -> Vec<[u64; 2]> {
    bins.iter().map(|b| [b.from_ns, b.count]).collect()
}

/// A distribution with its percentiles.
#[derive(Serialize)]
pub struct SpreadData {
    dist: [Option<u64>; 6],
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
pub type TaskRow<'a> = (u32, &'a str, &'a str, [Option<u64>; 12]);

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
        let of = |d: &Dist, n: u64| (!d.is_empty()).then_some(n);
        [
            Some(t.jobs),
            Some(t.deadline_misses),
            Some(t.preemptions),
            Some(t.migrations),
            Some(t.cpu_ns),
            Some(t.wait_ns),
            of(r, r.p50),
            of(r, r.p99),
            of(r, r.max),
            of(w, w.p50),
            of(w, w.p99),
            of(w, w.max),
        ]
    };
    chosen.into_iter().map(|t| (t.id, &*t.name, &*t.group, row(t))).collect()
}

/// Parts of the run in the overview.
const PARTS: usize = 240;
/// CPUs up to which a group has just one, and CPUs of a group where nothing is known of caches.
const FEW_CPUS: usize = 16;
const NEIGHBOURS: usize = 32;

/// Consecutive CPUs that belong together: name, first CPU, number, and for each part of the run the busy share in thousandths.
#[derive(Serialize)]
struct Place {
    name: String,
    first: u32,
    cpus: usize,
    busy: Vec<u64>,
    lock: Vec<u64>,
}

/// The whole run at a glance: shares of time by part, for the machine and for groups of CPUs, and the worst moments.
#[derive(Serialize)]
pub struct OverviewData {
    /// For each part: tasks, scheduler code, waiting for locks, in thousandths of the machine's time.
    all: Vec<[u64; 3]>,
    places: Vec<Place>,
    /// What, when it was over, how long it took, name of the task, CPU (-1: unknown).
    worst: Vec<(&'static str, u64, u64, String, i64)>,
}

/// Shares of the time of some CPUs: tasks, scheduler code, waiting for locks, for each of [`PARTS`] parts of the run, in
/// thousandths.
fn shares(gantt: &Gantt, s: &Summary, cpus: &[u32]) -> Vec<[u64; 3]> {
    let part_ns = (s.duration_ns / PARTS as u64).max(1);
    let whole = u128::from(part_ns) * cpus.len().max(1) as u128;
    let permille = |ns: u64| (u128::from(ns) * 1000 / whole).min(1000) as u64;
    gantt.shares(cpus, PARTS).into_iter().map(|p| p.map(permille)).collect()
}

/// Where the machine's time went, for a comparison of runs.
pub fn timeline(gantt: &Gantt, s: &Summary) -> Vec<[u64; 3]> {
    let everyone: Vec<u32> = (0..s.cpus.len() as u32).collect();
    shares(gantt, s, &everyone)
}

impl OverviewData {
    pub fn new(gantt: &Gantt, s: &Summary, places: &[(u32, u32)]) -> Self {
        let shares = |cpus: &[u32]| shares(gantt, s, cpus);
        let everyone: Vec<u32> = (0..s.cpus.len() as u32).collect();
        let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
        if everyone.len() > FEW_CPUS {
            let known = places.len() == everyone.len() && places.iter().any(|p| *p != places[0]);
            for &cpu in &everyone {
                let name = match known {
                    true => format!("node {} LLC {}", places[cpu as usize].0, places[cpu as usize].1),
                    false => {
                        let first = cpu as usize / NEIGHBOURS * NEIGHBOURS;
                        format!("CPUs {first}–{}", (first + NEIGHBOURS).min(everyone.len()) - 1)
                    }
                };
                match groups.last_mut() {
                    Some((last, cpus)) if *last == name => cpus.push(cpu),
                    _ => groups.push((name, vec![cpu])),
                }
            }
        }
        let place = |(name, cpus): (String, Vec<u32>)| {
            let shares = shares(&cpus);
            let of = |i: usize| shares.iter().map(|p| p[i]).collect();
            Place { name, first: cpus[0], cpus: cpus.len(), busy: of(0), lock: of(2) }
        };
        let worst = gantt
            .moments()
            .map(|m| {
                let what = match m.kind {
                    MomentKind::Wakeup => "wakeup",
                    MomentKind::Lock => "lock",
                    MomentKind::LateJob => "late job",
                };
                let name = s.tasks.get(m.task as usize).map_or(String::new(), |t| t.name.to_string());
                let cpu = if m.cpu == MIXED { -1 } else { i64::from(m.cpu) };
                (what, m.at_ns, m.ns, name, cpu)
            })
            .collect();
        Self { all: shares(&everyone), places: groups.into_iter().map(place).collect(), worst }
    }
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
                    .get(m.subject as usize)
                    .map_or_else(|| format!("task {}", m.subject), |t| t.name.to_string());
                (m.at_ns, "miss", name)
            }
            MarkKind::Swap => (m.at_ns, "swap", m.text.clone()),
            MarkKind::Marker => (m.at_ns, "marker", m.text.clone()),
            MarkKind::Online => (m.at_ns, "hotplug", format!("CPU {} online", m.subject)),
            MarkKind::Offline => (m.at_ns, "hotplug", format!("CPU {} offline", m.subject)),
        };
        let marks = gantt.marks().map(mark).collect();
        let marks_left_out = gantt.marks_left_out();
        Self { quantum: gantt.quantum_ns(), runs, sched, marks, marks_left_out, tasks }
    }
}
