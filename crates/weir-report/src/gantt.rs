// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which task ran where and when, in bounded memory, for the chart in the HTML report.
//!
//! Slices are kept unchanged until there are too many. Then neighbours that together last no longer
//! than a quantum are merged into one piece with a busy share, and the quantum doubles until there is
//! enough room. So the chart always shows the whole run, in more detail if it is short; the Perfetto
//! trace has every detail.

use std::collections::BTreeMap;
use weir_core::event::{Event, Observer};

/// Pieces that are kept unless the caller says otherwise.
const PIECES: usize = 200_000;
/// Deadline misses, and other marks, that are kept.
const MARKS: usize = 2_000;
/// Worst moments of a kind that are kept.
const MOMENTS: usize = 8;
/// First quantum, ns.
const QUANTUM_NS: u64 = 1_000;

/// Task of a piece that tasks of several groups share.
pub(crate) const MIXED: u32 = u32::MAX;
/// Added to the number of a group, in a piece that several of its tasks share.
pub(crate) const GROUP: u32 = 1 << 31;

/// A time in which a CPU ran a task, or scheduler code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub begin_ns: u64,
    pub end_ns: u64,
    /// Task, `GROUP` and a group, or `MIXED`; 0 for scheduler code.
    pub task: u32,
    /// Time within the piece that was really used; less than its length where pieces were joined.
    pub used_ns: u64,
    /// Part of `used_ns` spent waiting for locks.
    pub lock_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Miss,
    Swap,
    Marker,
    Online,
    Offline,
}

/// Something that happened at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub at_ns: u64,
    pub kind: MarkKind,
    /// Task of a miss, CPU of a hotplug event.
    pub subject: u32,
    pub text: String,
}

/// The kind of event of which a moment has the worst case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MomentKind {
    Wakeup,
    Lock,
    LateJob,
}

/// One of the worst moments of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub kind: MomentKind,
    /// When it was over, and how long it took.
    pub at_ns: u64,
    pub ns: u64,
    /// Task, and the CPU where it is to be seen; `MIXED` where unknown.
    pub task: u32,
    pub cpu: u32,
}

/// The worst of each kind, worst first.
#[derive(Debug, Default)]
struct Moments(Vec<Moment>);

impl Moments {
    fn add(&mut self, m: Moment) {
        if self.0.len() == MOMENTS && self.0.last().is_some_and(|least| least.ns >= m.ns) {
            return;
        }
        let at = self.0.partition_point(|known| known.ns >= m.ns);
        self.0.insert(at, m);
        self.0.truncate(MOMENTS);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Row {
    pub runs: Vec<Piece>,
    pub sched: Vec<Piece>,
    open: Option<Open>,
    /// Scheduler calls that ended at the same instant, one after the other: not yet a piece.
    pending: Option<Piece>,
}

/// A slice that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    task: u32,
    since_ns: u64,
    /// Scheduler time since then.
    nested_ns: u64,
}

/// Observes which task runs where.
#[derive(Debug)]
pub struct Gantt {
    limit: usize,
    pieces: usize,
    quantum_ns: u64,
    rows: Vec<Row>,
    groups: Groups,
    marks: Marks,
    misses: Marks,
    wakeups: Moments,
    waits: Moments,
    late: Moments,
    /// Where each task ran last.
    last_cpu: Vec<u32>,
    end_ns: u64,
}

impl Default for Gantt {
    fn default() -> Self {
        Self::new(PIECES)
    }
}

impl Gantt {
    /// Keeps about `limit` pieces at most, 40 bytes each.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(16),
            pieces: 0,
            quantum_ns: 0,
            rows: Vec::new(),
            groups: Groups::default(),
            marks: Marks::default(),
            misses: Marks::default(),
            wakeups: Moments::default(),
            waits: Moments::default(),
            late: Moments::default(),
            last_cpu: Vec::new(),
            end_ns: 0,
        }
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Swaps, markers and hotplug events, then deadline misses.
    pub(crate) fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.kept.iter().chain(&self.misses.kept)
    }

    /// The worst moments: late jobs, wake-ups, waits for locks, the worst of each first.
    pub(crate) fn moments(&self) -> impl Iterator<Item = &Moment> {
        [&self.late, &self.wakeups, &self.waits].into_iter().flat_map(|m| &m.0)
    }

    /// Shares of the time of `cpus` in `parts` equal parts of the run: tasks, scheduler code, waiting for locks, all in ns.
    pub(crate) fn shares(&self, cpus: &[u32], parts: usize) -> Vec<[u64; 3]> {
        let mut all = vec![[0; 3]; parts];
        let part_ns = (self.end_ns / parts as u64).max(1);
        for row in cpus.iter().filter_map(|c| self.rows.get(*c as usize)) {
            for p in &row.runs {
                spread(&mut all, part_ns, p, |to, ns| to[0] += ns);
            }
            for p in &row.sched {
                // Waiting is a part of the scheduler's time; here they stand beside each other.
                let lock = |ns: u64| {
                    u64::try_from(u128::from(ns) * u128::from(p.lock_ns) / u128::from(p.used_ns.max(1)))
                };
                spread(&mut all, part_ns, p, |to, ns| {
                    let lock = lock(ns).unwrap_or(0).min(ns);
                    to[1] += ns - lock;
                    to[2] += lock;
                });
            }
        }
        all
    }

    /// Marks that happened but were not kept.
    pub(crate) fn marks_left_out(&self) -> u64 {
        [&self.marks, &self.misses].map(|m| m.seen - m.kept.len() as u64).iter().sum()
    }

    /// Name of the group of a joined piece.
    pub(crate) fn group(&self, task: u32) -> &str {
        self.groups.names.get((task & !GROUP) as usize).map_or("", String::as_str)
    }

    /// Shortest time that the chart resolves; 0 where it has every slice.
    pub(crate) fn quantum_ns(&self) -> u64 {
        self.quantum_ns
    }

    /// The run ended: slices that are open end now.
    pub fn finish(&mut self, end_ns: u64) {
        self.end_ns = end_ns;
        for cpu in 0..self.rows.len() {
            self.flush(cpu);
            if let Some(open) = self.rows[cpu].open.take() {
                self.run(cpu, open, end_ns);
            }
        }
    }

    fn row(&mut self, cpu: u32) -> &mut Row {
        let cpu = cpu as usize;
        if cpu >= self.rows.len() {
            self.rows.resize_with(cpu + 1, Row::default);
        }
        &mut self.rows[cpu]
    }

    fn run(&mut self, cpu: usize, open: Open, end_ns: u64) {
        let begin_ns = open.since_ns;
        if end_ns > begin_ns {
            let piece = Piece { begin_ns, end_ns, task: open.task, used_ns: end_ns - begin_ns, lock_ns: 0 };
            let added = push(&mut self.rows[cpu].runs, piece, self.quantum_ns, &self.groups);
            self.count(added, end_ns);
        }
    }

    /// Makes a piece of the scheduler calls that ended last.
    fn flush(&mut self, cpu: usize) {
        if let Some(mut piece) = self.rows[cpu].pending.take() {
            let list = &mut self.rows[cpu].sched;
            piece.begin_ns =
                piece.end_ns.saturating_sub(piece.used_ns).max(list.last().map_or(0, |p| p.end_ns));
            piece.used_ns = piece.end_ns - piece.begin_ns;
            piece.lock_ns = piece.lock_ns.min(piece.used_ns);
            if piece.used_ns > 0 {
                let end_ns = piece.end_ns;
                let added = push(list, piece, self.quantum_ns, &self.groups);
                self.count(added, end_ns);
            }
        }
    }

    fn count(&mut self, added: usize, now_ns: u64) {
        self.pieces += added;
        if self.pieces <= self.limit {
            return;
        }
        // Some room besides, so that the next slices do not double the quantum again at once.
        while self.pieces > self.limit / 4 * 3 && self.quantum_ns < now_ns {
            self.quantum_ns = (self.quantum_ns * 2).max(QUANTUM_NS);
            self.pieces = 0;
            for row in &mut self.rows {
                for list in [&mut row.runs, &mut row.sched] {
                    let old = std::mem::take(list);
                    for piece in old {
                        push(list, piece, self.quantum_ns, &self.groups);
                    }
                    self.pieces += list.len();
                }
            }
        }
    }

    fn mark(&mut self, at_ns: u64, kind: MarkKind, subject: u32, text: &str) {
        let marks = if kind == MarkKind::Miss { &mut self.misses } else { &mut self.marks };
        marks.add(|| Mark { at_ns, kind, subject, text: text.into() });
    }
}

/// Divide the used time of a piece among the parts of the run that it lies in.
fn spread(all: &mut [[u64; 3]], part_ns: u64, p: &Piece, mut add: impl FnMut(&mut [u64; 3], u64)) {
    let len = u128::from((p.end_ns - p.begin_ns).max(1));
    let mut at = p.begin_ns;
    while at < p.end_ns {
        let part = ((at / part_ns) as usize).min(all.len() - 1);
        let last = part == all.len() - 1;
        let until = if last { p.end_ns } else { p.end_ns.min((part as u64 + 1) * part_ns) };
        let ns = u128::from(until - at) * u128::from(p.used_ns) / len;
        add(&mut all[part], u64::try_from(ns).unwrap_or(u64::MAX));
        at = until;
    }
}

/// Which group each task belongs to, so that joined slices of one group keep its colour.
#[derive(Debug, Default)]
struct Groups {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    of_task: Vec<u32>,
}

impl Groups {
    fn add(&mut self, task: u32, group: &str) {
        if group.is_empty() {
            return;
        }
        let number = match self.numbers.get(group) {
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(group.into());
                self.numbers.insert(group.into(), number);
                number
            }
        };
        if self.of_task.len() <= task as usize {
            self.of_task.resize(task as usize + 1, MIXED);
        }
        self.of_task[task as usize] = GROUP | number;
    }

    /// What a piece shows that is no longer of this task alone.
    fn of(&self, task: u32) -> u32 {
        if task >= GROUP { task } else { self.of_task.get(task as usize).copied().unwrap_or(MIXED) }
    }
}

/// Marks in bounded number: where there are too many, every second one goes, and of the next ones only
/// every second, fourth … is taken, so that what is kept is spread over the whole run.
#[derive(Debug, Default)]
struct Marks {
    kept: Vec<Mark>,
    seen: u64,
    /// Every `2^thinning`th is taken.
    thinning: u32,
}

impl Marks {
    fn add(&mut self, mark: impl FnOnce() -> Mark) {
        if self.seen.trailing_zeros() >= self.thinning {
            if self.kept.len() == MARKS {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.thinning += 1;
            }
            if self.seen.trailing_zeros() >= self.thinning {
                self.kept.push(mark());
            }
        }
        self.seen += 1;
    }
}

/// Appends a piece, or joins it with the last where both fit into the quantum; returns how many
/// pieces came to the list.
fn push(list: &mut Vec<Piece>, piece: Piece, quantum_ns: u64, groups: &Groups) -> usize {
    if let Some(last) = list.last_mut()
        && piece.end_ns - last.begin_ns <= quantum_ns
    {
        last.end_ns = piece.end_ns;
        last.used_ns += piece.used_ns;
        last.lock_ns += piece.lock_ns;
        if last.task != piece.task {
            let (a, b) = (groups.of(last.task), groups.of(piece.task));
            last.task = if a == b { a } else { MIXED };
        }
        return 0;
    }
    list.push(piece);
    1
}

impl Observer for Gantt {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { task, group, .. } | Event::TaskName { task, group, .. } => {
                self.groups.add(task, group)
            }
            Event::Run { task, cpu, wakeup, waited_ns, .. } => {
                if self.last_cpu.len() <= task as usize {
                    self.last_cpu.resize(task as usize + 1, MIXED);
                }
                self.last_cpu[task as usize] = cpu;
                if wakeup && waited_ns > 0 {
                    self.wakeups.add(Moment { kind: MomentKind::Wakeup, at_ns: t, ns: waited_ns, task, cpu });
                }
                let open = Open { task, since_ns: t, nested_ns: 0 };
                if let Some(old) = self.row(cpu).open.replace(open) {
                    self.run(cpu as usize, old, t);
                }
            }
            Event::Off { cpu, ran_ns, .. } => {
                if let Some(open) = self.row(cpu).open.take() {
                    // Where the report comes late, the slice ended when the task had run for its time.
                    let end_ns = open.since_ns.saturating_add(ran_ns).saturating_add(open.nested_ns).min(t);
                    self.run(cpu as usize, open, end_ns);
                }
            }
            Event::JobDone { task, response_ns, missed: true, .. } => {
                let cpu = self.last_cpu.get(task as usize).copied().unwrap_or(MIXED);
                self.late.add(Moment { kind: MomentKind::LateJob, at_ns: t, ns: response_ns, task, cpu });
            }
            Event::Sched { cpu, ns, lock_wait_ns, .. } => {
                if lock_wait_ns > 0 {
                    let (kind, ns) = (MomentKind::Lock, lock_wait_ns);
                    self.waits.add(Moment { kind, at_ns: t, ns, task: MIXED, cpu });
                }
                let row = self.row(cpu);
                if let Some(open) = &mut row.open {
                    open.nested_ns = open.nested_ns.saturating_add(ns).min(t.saturating_sub(open.since_ns));
                }
                match &mut row.pending {
                    Some(last) if last.end_ns == t => {
                        last.used_ns += ns;
                        last.lock_ns += lock_wait_ns;
                    }
                    _ => {
                        self.flush(cpu as usize);
                        let piece =
                            Piece { begin_ns: 0, end_ns: t, task: 0, used_ns: ns, lock_ns: lock_wait_ns };
                        self.row(cpu).pending = Some(piece);
                    }
                }
            }
            Event::Stolen { cpu, ns } => {
                if let Some(open) = &mut self.row(cpu).open {
                    open.nested_ns = open.nested_ns.saturating_add(ns).min(t.saturating_sub(open.since_ns));
                }
            }
            Event::DeadlineMiss { task, .. } => self.mark(t, MarkKind::Miss, task, ""),
            Event::Swap { from, to, .. } => self.mark(t, MarkKind::Swap, 0, &format!("{from} → {to}")),
            Event::Marker { text } => self.mark(t, MarkKind::Marker, 0, text),
            Event::CpuOnline { cpu, online } => {
                let kind = if online { MarkKind::Online } else { MarkKind::Offline };
                self.mark(t, kind, cpu, "");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weir_core::event::{Call, Stop};

    fn run(g: &mut Gantt, cpu: u32, task: u32, begin: u64, end: u64) {
        g.event(
            begin,
            &Event::Run { task, cpu, migrated: false, switched: true, wakeup: false, waited_ns: 0 },
        );
        g.event(end, &Event::Off { task, cpu, why: Stop::Block, ran_ns: end - begin });
    }

    #[test]
    fn shares_add_up_and_the_worst_come_first() {
        let mut g = Gantt::default();
        run(&mut g, 0, 1, 0, 250);
        run(&mut g, 1, 2, 500, 1000);
        g.event(600, &Event::Sched { cpu: 0, call: Call::Pick, ns: 100, lock_wait_ns: 40 });
        for waited_ns in [5, 90, 7, 90, 1, 2, 3, 4, 6, 8, 9] {
            let e = Event::Run { task: 3, cpu: 1, migrated: false, switched: true, wakeup: true, waited_ns };
            g.event(1000, &e);
        }
        g.finish(1000);
        let shares = g.shares(&[0, 1], 4);
        assert_eq!(shares, [[250, 0, 0], [0, 0, 0], [250, 60, 40], [250, 0, 0]]);
        assert_eq!(g.shares(&[0], 4)[2], [0, 60, 40]);
        let worst: Vec<u64> = g.moments().filter(|m| m.kind == MomentKind::Wakeup).map(|m| m.ns).collect();
        assert_eq!(worst, [90, 90, 9, 8, 7, 6, 5, 4]);
    }

    #[test]
    fn few_slices_are_kept_as_they_are() {
        let mut g = Gantt::default();
        run(&mut g, 1, 7, 10, 20);
        g.event(25, &Event::Sched { cpu: 1, call: Call::Pick, ns: 5, lock_wait_ns: 2 });
        g.event(
            30,
            &Event::Run { task: 8, cpu: 1, migrated: false, switched: true, wakeup: false, waited_ns: 0 },
        );
        g.finish(35);
        let row = &g.rows()[1];
        let slices: Vec<_> = row.runs.iter().map(|p| (p.begin_ns, p.end_ns, p.task)).collect();
        assert_eq!(slices, [(10, 20, 7), (30, 35, 8)]);
        assert_eq!(row.sched[0], Piece { begin_ns: 20, end_ns: 25, task: 0, used_ns: 5, lock_ns: 2 });
        assert_eq!(g.quantum_ns(), 0);
    }

    #[test]
    fn calls_that_end_together_lie_one_after_the_other() {
        let mut g = Gantt::default();
        g.event(
            0,
            &Event::Run { task: 1, cpu: 0, migrated: false, switched: true, wakeup: false, waited_ns: 0 },
        );
        // The task left at 100; the runtime says so at 130, when the call that took it back was over.
        g.event(130, &Event::Off { task: 1, cpu: 0, why: Stop::SliceEnd, ran_ns: 100 });
        g.event(150, &Event::Sched { cpu: 0, call: Call::Relinquish, ns: 30, lock_wait_ns: 0 });
        g.event(150, &Event::Sched { cpu: 0, call: Call::Pick, ns: 20, lock_wait_ns: 5 });
        g.finish(200);
        let row = &g.rows()[0];
        assert_eq!((row.runs[0].begin_ns, row.runs[0].end_ns), (0, 100));
        assert_eq!(row.sched, [Piece { begin_ns: 100, end_ns: 150, task: 0, used_ns: 50, lock_ns: 5 }]);
    }

    #[test]
    fn joined_slices_of_one_group_stay_the_groups() {
        let mut g = Gantt::new(16);
        for (task, group) in [(0, "a"), (1, "a"), (2, "b"), (3, "")] {
            g.event(0, &Event::TaskNew { task, name: "t", group });
        }
        // Pairs within the first quantum, far enough apart not to be joined with the next.
        for (i, pair) in
            [(0, 1), (1, 2), (3, 3), (0, 0), (3, 0), (0, 1), (1, 0), (0, 1), (1, 0)].into_iter().enumerate()
        {
            let t = 5_000 * i as u64;
            run(&mut g, 0, pair.0, t, t + 400);
            run(&mut g, 0, pair.1, t + 500, t + 900);
        }
        let tasks: Vec<u32> = g.rows()[0].runs.iter().map(|p| p.task).collect();
        assert_eq!(tasks[..6], [GROUP, MIXED, 3, 0, MIXED, GROUP]);
        assert_eq!(g.group(GROUP), "a");
    }

    #[test]
    fn marks_are_thinned_evenly() {
        let mut g = Gantt::default();
        for t in 0..10_000 {
            g.event(t, &Event::DeadlineMiss { task: 1, job: 0, deadline_ns: t });
        }
        g.event(10_000, &Event::Marker { text: "here" });
        let at: Vec<u64> = g.marks().map(|m| m.at_ns).collect();
        assert_eq!(at[0], 10_000);
        assert!(at.len() > MARKS / 2 && at.len() <= MARKS + 1);
        assert!(at[1..].windows(2).all(|w| w[1] - w[0] == 8), "{at:?}");
        assert_eq!(g.marks_left_out(), 10_001 - at.len() as u64);
    }

    proptest! {
        /// However much is joined, busy time is kept exactly, pieces stay ordered and apart, and the
        /// bound holds.
        #[test]
        fn joined_pieces_keep_the_busy_time(slices in prop::collection::vec((0u32..3, 0u32..9, 0u64..5_000, 1u64..9_000), 1..3000)) {
            let mut g = Gantt::new(100);
            let mut busy = [0u64; 3];
            let mut t = 0;
            for (cpu, task, gap, len) in slices {
                run(&mut g, cpu, task, t + gap, t + gap + len);
                t += gap + len;
                busy[cpu as usize] += len;
            }
            g.finish(t);
            prop_assert!(g.pieces <= 100);
            prop_assert_eq!(g.pieces, g.rows().iter().map(|r| r.runs.len() + r.sched.len()).sum::<usize>());
            for (row, busy) in g.rows().iter().zip(busy) {
                prop_assert_eq!(row.runs.iter().map(|p| p.used_ns).sum::<u64>(), busy);
                prop_assert!(row.runs.windows(2).all(|w| w[0].end_ns <= w[1].begin_ns));
                prop_assert!(row.runs.iter().all(|p| p.used_ns <= p.end_ns - p.begin_ns));
            }
        }
    }
}
