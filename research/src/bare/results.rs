// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the kernel left in memory: counters, and a trace, reported as the simulator reports its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use weir_core::event::{Call, Event, Observer, Stop};

use crate::bare::boot::{MAGIC, RAM, RECORD_BYTES, RESULTS, Setup};
use crate::bare::error::{Error, Result};

/// Why the machine stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopWhy {
    /// All programs have ended.
    Done,
    /// The duration is over.
    Time,
    /// Everything waits, and nothing will come.
    Waiting,
    /// An invariant of the kernel.
    Broken(String),
    /// The plan does not fit.
    Plan(String),
}

/// Counters of one hart; times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HartResult {
    pub traced: u64,
    pub dropped: u64,
    pub picks: u64,
    pub pick_ns: u64,
    pub relinquish_ns: u64,
    pub interrupts: u64,
    pub timers: u64,
    pub upcalls: u64,
    pub messages_short: u64,
    pub messages_long: u64,
    pub messages_buffered: u64,
    pub pokes: u64,
    pub turns: u64,
    pub busy_ns: u64,
    pub idle_ns: u64,
    pub kernel_ns: u64,
    pub capabilities: u64,
    pub arena_bytes: u64,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    pub why: StopWhy,
    pub time_ns: u64,
    /// Dispatchers that ended with a number other than 0, or by a fault.
    pub failed: u32,
    /// Of these, by a fault.
    pub ended: u32,
    pub harts: Vec<HartResult>,
    domains: Vec<String>,
    records: Vec<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    time: u64,
    kind: u32,
    task: u32,
    a: u64,
    b: u64,
    hart: u32,
}

const HART_WORDS: usize = 18;
const HARTS_AT: usize = 200;
const TEXT_AT: usize = 40;
const TEXT_BYTES: usize = 160;

const NEW: u32 = 1;
const READY: u32 = 2;
const RUN: u32 = 3;
const OFF: u32 = 4;
const EXIT: u32 = 5;
const IDLE: u32 = 6;
const SCHED: u32 = 7;
const LMP: u32 = 8;
const NOTIFY: u32 = 9;
const MARK: u32 = 10;
const DEADLINE: u32 = 11;
const MISS: u32 = 12;
const INTERRUPT: u32 = 13;

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

impl Results {
    pub(crate) fn read(file: &File, setup: &Setup) -> Result<Self> {
        let trouble =
            |e: std::io::Error| Error::system(format!("the results cannot be read: {e}"), "try again");
        let mut bytes = vec![0; HARTS_AT + 16 * HART_WORDS * 8];
        file.read_exact_at(&mut bytes, RESULTS - RAM).map_err(trouble)?;
        if long(&bytes, 0) != MAGIC {
            return Err(Error::system(
                "the machine stopped and left no results",
                "this is a bug of the kernel; please report the command line",
            ));
        }
        let text: Vec<u8> =
            bytes[TEXT_AT..TEXT_AT + TEXT_BYTES].iter().copied().take_while(|b| *b != 0).collect();
        let text = String::from_utf8_lossy(&text).into_owned();
        let why = match word(&bytes, 8) {
            1 => StopWhy::Done,
            2 => StopWhy::Time,
            3 => StopWhy::Waiting,
            5 => StopWhy::Plan(text),
            _ => StopWhy::Broken(format!("{text} ({})", word(&bytes, 12).cast_signed())),
        };
        let mut harts = Vec::new();
        let mut records = Vec::new();
        for hart in 0..setup.harts {
            let at = HARTS_AT + hart as usize * HART_WORDS * 8;
            let n = |i: usize| long(&bytes, at + i * 8);
            let result = HartResult {
                traced: n(0),
                dropped: n(1),
                picks: n(2),
                pick_ns: n(3),
                relinquish_ns: n(4),
                interrupts: n(5),
                timers: n(6),
                upcalls: n(7),
                messages_short: n(8),
                messages_long: n(9),
                messages_buffered: n(10),
                pokes: n(11),
                turns: n(12),
                busy_ns: n(13),
                idle_ns: n(14),
                kernel_ns: n(15),
                capabilities: n(16),
                arena_bytes: n(17),
            };
            let nr = result.traced.min(setup.trace_records());
            let mut raw = vec![0; (nr * RECORD_BYTES) as usize];
            let from = setup.trace_at() + u64::from(hart) * setup.trace_records() * RECORD_BYTES;
            file.read_exact_at(&mut raw, from - RAM).map_err(trouble)?;
            records.extend(raw.chunks_exact(RECORD_BYTES as usize).map(|r| Record {
                time: long(r, 0),
                kind: word(r, 8),
                task: word(r, 12),
                a: long(r, 16),
                b: long(r, 24),
                hart,
            }));
            harts.push(result);
        }
        // Each hart's records are in order; among equals the lower hart comes first.
        records.sort_by_key(|r| (r.time, r.hart));
        Ok(Self {
            why,
            time_ns: long(&bytes, 16),
            failed: word(&bytes, 28),
            ended: word(&bytes, 32),
            harts,
            domains: setup.domains(),
            records,
        })
    }

    /// Events that found no room.
    pub fn dropped(&self) -> u64 {
        self.harts.iter().map(|h| h.dropped).sum()
    }

    /// Report to an observer what happened, in order of time.
    pub fn report(&self, observer: &mut dyn Observer) {
        let mut reporter = Reporter {
            tasks: Vec::new(),
            number: BTreeMap::new(),
            on: vec![None; self.harts.len()],
            last: vec![None; self.harts.len()],
            leaving: vec![None; self.harts.len()],
        };
        for r in &self.records {
            reporter.record(self, r, observer);
        }
    }

    /// Programs that the kernel ended: name, hart and cause.
    pub fn faults(&self) -> Vec<(String, u32, u64)> {
        let name = |task: u32| {
            self.records
                .iter()
                .find(|r| r.kind == NEW && r.task == task)
                .map_or_else(|| format!("task {task}"), |r| self.domain(r.a).to_owned())
        };
        let ended = self.records.iter().filter(|r| r.kind == EXIT && r.b > 0);
        ended.map(|r| (name(r.task), r.hart, r.b - 1)).collect()
    }

    /// Marks that programs set: task's name, time, number, value.
    pub fn marks(&self) -> Vec<(u32, u64, u64, u64)> {
        let marks = self.records.iter().filter(|r| r.kind == MARK);
        marks.map(|r| (r.hart, r.time, r.a, r.b)).collect()
    }

    fn domain(&self, number: u64) -> &str {
        usize::try_from(number).ok().and_then(|n| self.domains.get(n)).map_or("?", String::as_str)
    }
}

#[derive(Clone, Default)]
struct Seen {
    known: bool,
    cpu: Option<u32>,
    job: u32,
    released: Option<u64>,
    deadline: Option<u64>,
    woken: bool,
    began: u64,
}

struct Reporter {
    tasks: Vec<Seen>,
    /// Of each of the kernel's tasks: dense, in the order in which they are reported.
    number: BTreeMap<u32, u32>,
    /// Task that runs.
    on: Vec<Option<u32>>,
    /// Task that ran last.
    last: Vec<Option<u32>>,
    /// Task that left at the end of its slice: preempted, if another one follows.
    leaving: Vec<Option<u32>>,
}

impl Reporter {
    fn task(&mut self, nr: u32) -> &mut Seen {
        let nr = nr as usize;
        if self.tasks.len() <= nr {
            self.tasks.resize(nr + 1, Seen::default());
        }
        &mut self.tasks[nr]
    }

    fn record(&mut self, results: &Results, r: &Record, observer: &mut dyn Observer) {
        let next = self.number.len() as u32;
        let task = if r.task == u32::MAX { r.task } else { *self.number.entry(r.task).or_insert(next) };
        let (t, cpu, hart) = (r.time, r.hart, r.hart as usize);
        match r.kind {
            NEW => {
                let (group, home) = (results.domain(r.a), r.b >> 32);
                let others = results
                    .records
                    .iter()
                    .filter(|o| o.kind == NEW && o.a == r.a && o.b >> 32 == home && o.task < r.task);
                let name = match others.count() {
                    0 => format!("{group}.{home}"),
                    n => format!("{group}.{home}.{n}"),
                };
                self.task(task).known = true;
                observer.event(t, &Event::TaskNew { task, name: &name, group });
            }
            READY => {
                let wakeup = r.a != 0;
                let seen = self.task(task);
                seen.woken = wakeup;
                if wakeup {
                    seen.job += 1;
                    seen.released = Some(t);
                    let (job, deadline_ns) = (seen.job - 1, seen.deadline);
                    observer.event(t, &Event::JobRelease { task, job, due_ns: t, deadline_ns });
                }
                observer.event(t, &Event::Ready { task, wakeup });
            }
            RUN => {
                if let Some(before) = self.leaving[hart].take().filter(|b| *b != task) {
                    observer.event(t, &Event::Preempted { task: before, cpu });
                }
                let switched = self.last[hart] != Some(task);
                self.on[hart] = Some(task);
                self.last[hart] = Some(task);
                let seen = self.task(task);
                let migrated = seen.cpu.is_some_and(|c| c != cpu);
                let wakeup = std::mem::take(&mut seen.woken);
                seen.cpu = Some(cpu);
                seen.began = t;
                let event = Event::Run { task, cpu, migrated, switched, wakeup, waited_ns: r.a };
                observer.event(t, &event);
            }
            OFF => {
                let why = match r.a {
                    0 => Stop::Preempted,
                    1 => Stop::SliceEnd,
                    2 => Stop::Yield,
                    3 => Stop::Block,
                    _ => Stop::Exit,
                };
                self.on[hart] = None;
                if matches!(why, Stop::SliceEnd | Stop::Yield) {
                    self.leaving[hart] = Some(task);
                }
                let seen = self.task(task);
                let ran_ns = t.saturating_sub(seen.began);
                let (job, deadline) = (seen.job.saturating_sub(1), seen.deadline);
                let released =
                    if matches!(why, Stop::Block | Stop::Exit) { seen.released.take() } else { None };
                observer.event(t, &Event::Off { task, cpu, why, ran_ns });
                if let Some(released) = released {
                    let response_ns = t.saturating_sub(released);
                    let missed = deadline.is_some_and(|d| t > d);
                    if let Some(deadline_ns) = deadline.filter(|_| missed) {
                        observer.event(t, &Event::DeadlineMiss { task, job, deadline_ns });
                    }
                    observer.event(t, &Event::JobDone { task, job, response_ns, missed });
                }
            }
            EXIT => observer.event(t, &Event::TaskExit { task }),
            IDLE => observer.event(t, &Event::Idle { cpu, idle: r.a != 0 }),
            SCHED => {
                if let Some(call) = Call::ALL.get(r.a as usize) {
                    observer.event(t, &Event::Sched { cpu, call: *call, ns: r.b, lock_wait_ns: 0 });
                }
            }
            LMP => {
                observer.event(t, &Event::Message { topic: "LMP", cpu, task: Some(task), value: r.a });
            }
            NOTIFY => {
                observer.event(t, &Event::Message { topic: "NOTIFY", cpu, task: Some(task), value: r.a });
            }
            INTERRUPT => {
                observer.event(t, &Event::Message { topic: "INTERRUPT", cpu, task: None, value: r.a });
            }
            MARK => observer.event(t, &Event::Marker { text: &format!("mark {} = {}", r.a, r.b) }),
            DEADLINE => self.task(task).deadline = Some(r.a),
            MISS => {}
            _ => {}
        }
    }
}
