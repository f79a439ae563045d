// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tables that grow during a run: jobs, slices, waits.

use std::collections::HashMap;

use weir_core::event::{Event, Observer, Stop};

use super::{Builder, Cell, Field, Kind, Table, field, nullable};

const WHY: &[&str] = &["preempted", "slice end", "yield", "blocked", "ended", "running"];
const RUNNING: u8 = 5;
/// What a task waited for: a CPU, or its reason for blocking.
const FOR: &[&str] = &[
    "cpu",
    "mutex",
    "condition",
    "event",
    "barrier",
    "data",
    "room",
    "nodes",
    "time",
    "release",
    "device",
    "unknown",
];

const SLICES: &[Field] = &[
    field("task", Kind::U32),
    field("cpu", Kind::U32),
    field("begin_ns", Kind::U64),
    field("end_ns", Kind::U64),
    field("ran_ns", Kind::U64),
    field("end", Kind::Word(WHY)),
];
const WAITS: &[Field] = &[
    field("task", Kind::U32),
    field("for", Kind::Word(FOR)),
    field("begin_ns", Kind::U64),
    field("end_ns", Kind::U64),
    nullable("cpu", Kind::U32),
    nullable("pipe", Kind::U32),
    nullable("other", Kind::U32),
];
const JOBS: &[Field] = &[
    field("task", Kind::U32),
    field("job", Kind::U32),
    field("release_ns", Kind::U64),
    nullable("deadline_ns", Kind::U64),
    nullable("end_ns", Kind::U64),
    nullable("response_ns", Kind::U64),
    field("missed", Kind::Bool),
    field("dropped", Kind::Bool),
];

/// Which tables are to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub jobs: bool,
    pub slices: bool,
    pub waits: bool,
}

impl Wanted {
    pub const ALL: Wanted = Wanted { jobs: true, slices: true, waits: true };
    pub const NONE: Wanted = Wanted { jobs: false, slices: false, waits: false };

    /// Whether the run must report why tasks wait.
    pub fn causes(self) -> bool {
        self.waits
    }
}

#[derive(Clone, Copy)]
struct Open {
    what: u8,
    since_ns: u64,
    pipe: Option<u32>,
    other: Option<u32>,
}

struct Job {
    release_ns: u64,
    deadline_ns: Option<u64>,
    missed: bool,
}

/// An observer that fills the tables.
pub struct Collector {
    wanted: Wanted,
    slices: Builder,
    waits: Builder,
    jobs: Builder,
    /// The slice that each CPU is in: task and begin.
    running: Vec<Option<(u32, u64)>>,
    waiting: Vec<Option<Open>>,
    open_jobs: HashMap<(u32, u32), Job>,
    /// What was announced of the next event.
    blocks_for: Option<(u32, u8, Option<u32>)>,
    woken: Option<(u32, Option<u32>)>,
}

impl Collector {
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            slices: Builder::new(SLICES),
            waits: Builder::new(WAITS),
            jobs: Builder::new(JOBS),
            running: Vec::new(),
            waiting: Vec::new(),
            open_jobs: HashMap::new(),
            blocks_for: None,
            woken: None,
        }
    }

    /// Jobs, slices, waits. Open rows end at the end of the run; unfinished jobs have no end.
    pub fn finish(mut self, end_ns: u64) -> (Table, Table, Table) {
        for cpu in 0..self.running.len() as u32 {
            if let Some((task, begin)) = self.running[cpu as usize]
                && end_ns > begin
            {
                self.slice(task, cpu, begin, end_ns, end_ns - begin, RUNNING);
            }
        }
        for task in 0..self.waiting.len() as u32 {
            self.end_wait(task, end_ns, None);
        }
        let mut left: Vec<_> = self.open_jobs.drain().collect();
        left.sort_by_key(|j| (j.1.release_ns, j.0));
        for ((task, job), open) in left {
            self.job(task, job, &open, None, None, open.missed, false);
        }
        (self.jobs.finish(), self.slices.finish(), self.waits.finish())
    }

    fn slice(&mut self, task: u32, cpu: u32, begin: u64, end: u64, ran: u64, why: u8) {
        if self.wanted.slices {
            self.slices.row(&[
                Cell::U32(task),
                Cell::U32(cpu),
                Cell::U64(begin),
                Cell::U64(end),
                Cell::U64(ran),
                Cell::Word(why),
            ]);
        }
    }

    fn waiting(&mut self, task: u32) -> &mut Option<Open> {
        let at = task as usize;
        if self.waiting.len() <= at {
            self.waiting.resize(at + 1, None);
        }
        &mut self.waiting[at]
    }

    fn end_wait(&mut self, task: u32, t: u64, cpu: Option<u32>) {
        if !self.wanted.waits {
            return;
        }
        if let Some(open) = self.waiting(task).take()
            && t > open.since_ns
        {
            self.waits.row(&[
                Cell::U32(task),
                Cell::Word(open.what),
                Cell::U64(open.since_ns),
                Cell::U64(t),
                Cell::of_u32(cpu),
                Cell::of_u32(open.pipe),
                Cell::of_u32(open.other),
            ]);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn job(
        &mut self,
        task: u32,
        job: u32,
        open: &Job,
        end: Option<u64>,
        response: Option<u64>,
        missed: bool,
        dropped: bool,
    ) {
        self.jobs.row(&[
            Cell::U32(task),
            Cell::U32(job),
            Cell::U64(open.release_ns),
            Cell::of_u64(open.deadline_ns),
            Cell::of_u64(end),
            Cell::of_u64(response),
            Cell::Bool(missed),
            Cell::Bool(dropped),
        ]);
    }
}

fn what_for(text: &str) -> u8 {
    let word = text.split(' ').next().unwrap_or("");
    let word = if word == "the" { "nodes" } else { word };
    FOR.iter().position(|w| *w == word).unwrap_or(FOR.len() - 1) as u8
}

impl Observer for Collector {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::Ready { task, .. } => {
                self.end_wait(task, t, None);
                let other = self.woken.take_if(|w| w.0 == task).and_then(|w| w.1);
                if self.wanted.waits {
                    *self.waiting(task) = Some(Open { what: 0, since_ns: t, pipe: None, other });
                }
            }
            Event::Run { task, cpu, waited_ns, .. } => {
                // A task that gave its CPU back is reported off when the next one is chosen: it has waited since before.
                if self.wanted.waits
                    && let Some(open) = self.waiting(task).as_mut().filter(|w| w.what == 0)
                {
                    open.since_ns = t.saturating_sub(waited_ns);
                }
                self.end_wait(task, t, Some(cpu));
                let at = cpu as usize;
                if self.running.len() <= at {
                    self.running.resize(at + 1, None);
                }
                self.running[at] = Some((task, t));
            }
            Event::Off { task, cpu, why, ran_ns } => {
                if let Some(open) = self.running.get_mut(cpu as usize)
                    && let Some((runs, begin)) = open.take()
                    && runs == task
                    && t > begin
                {
                    let why = match why {
                        Stop::Preempted => 0,
                        Stop::SliceEnd => 1,
                        Stop::Yield => 2,
                        Stop::Block => 3,
                        Stop::Exit => 4,
                    };
                    self.slice(task, cpu, begin, t, ran_ns, why);
                }
                if why == Stop::Block && self.wanted.waits {
                    let (what, other) = match self.blocks_for.take_if(|b| b.0 == task) {
                        Some((_, what, holder)) => (what, holder),
                        None => (FOR.len() as u8 - 1, None),
                    };
                    *self.waiting(task) = Some(Open { what, since_ns: t, pipe: None, other });
                }
            }
            Event::WaitsFor { task, what, holder } => {
                let what = what_for(what);
                self.blocks_for = Some((task, what, holder));
                if self.waiting(task).is_some_and(|w| w.what != 0) {
                    self.end_wait(task, t, None);
                    *self.waiting(task) = Some(Open { what, since_ns: t, pipe: None, other: holder });
                }
            }
            Event::Woken { task, by } => self.woken = Some((task, by)),
            Event::Stands { task, pipe } => {
                if self.wanted.waits
                    && let Some(open) = self.waiting(task)
                {
                    open.pipe = Some(pipe);
                }
            }
            Event::JobRelease { task, job, due_ns, deadline_ns } if self.wanted.jobs => {
                self.open_jobs.insert((task, job), Job { release_ns: due_ns, deadline_ns, missed: false });
            }
            Event::DeadlineMiss { task, job, .. } => {
                if let Some(open) = self.open_jobs.get_mut(&(task, job)) {
                    open.missed = true;
                }
            }
            Event::JobDone { task, job, response_ns, missed } => {
                if let Some(open) = self.open_jobs.remove(&(task, job)) {
                    self.job(task, job, &open, Some(t), Some(response_ns), missed || open.missed, false);
                }
            }
            Event::JobDropped { task, job } => {
                if let Some(open) = self.open_jobs.remove(&(task, job)) {
                    self.job(task, job, &open, Some(t), None, open.missed, true);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{CHUNK, Values};

    /// Bytes that are allocated for the values.
    fn allocated(table: &Table) -> usize {
        let of = |c: &crate::tables::Column| {
            c.nulls.capacity()
                + match &c.values {
                    Values::U32(v) => 4 * v.capacity(),
                    Values::U64(v) => 8 * v.capacity(),
                    Values::F64(v) => 8 * v.capacity(),
                    Values::Bool(v) => v.capacity(),
                    Values::Word(v) => v.capacity(),
                    Values::Text(_) => unreachable!("slices have no texts"),
                }
        };
        table.chunks.iter().flat_map(|c| &c.columns).map(of).sum()
    }

    /// 33 bytes a slice, and no more than one chunk with room to spare: 10,000,000 slices take 364 MB at most, however many tasks
    /// there are.
    #[test]
    fn ten_million_slices_are_bounded() {
        const BYTES: usize = 4 + 4 + 8 + 8 + 8 + 1;
        let mut c = Collector::new(Wanted { slices: true, ..Wanted::NONE });
        let nr = 2 * CHUNK + CHUNK / 2 + 1;
        for i in 0..nr as u64 {
            let (t, task) = (2 * i, (i % 1000) as u32);
            c.event(
                t,
                &Event::Run { task, cpu: 3, migrated: false, switched: true, wakeup: false, waited_ns: 0 },
            );
            c.event(t + 1, &Event::Off { task, cpu: 3, why: Stop::Block, ran_ns: 1 });
        }
        assert!(c.waiting.is_empty() && c.open_jobs.is_empty(), "nothing else grows");
        let (jobs, slices, waits) = c.finish(2 * nr as u64);
        assert_eq!((jobs.rows(), slices.rows(), waits.rows()), (0, nr, 0));
        assert_eq!(slices.bytes(), nr * BYTES);
        assert!(allocated(&slices) <= (nr + CHUNK) * BYTES, "{} bytes", allocated(&slices));
    }
}
