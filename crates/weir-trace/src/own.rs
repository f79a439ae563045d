// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Traces that Runweir itself writes: `trace.pftrace` of `run --out` and of `live --record`.
//!
//! A task's track has one slice after the other: running (with the CPU), runnable, blocked.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::kernel::Comm;
use crate::recording::{Event, Recording, Source, Stop, Thread, Waker};
use crate::track::{self, CPU, PROCESS, TASK, Track};
use crate::wire::{Value, fields};

/// The context of an event whose thread the format leaves out: the thread that runs on its CPU.
pub(crate) const WHO_RUNS: i32 = -2;

/// Interned names of the states.
const RUNNING: u64 = 1;
const RUNNABLE: u64 = 2;
const BLOCKED: u64 = 3;
const CPU_NOTE: u64 = 1;
const WOKEN_BY_NOTE: u64 = 12;
const PRIO_NOTE: u64 = 17;
const POLICY_NOTE: u64 = 18;
/// The waker is time or a device.
pub(crate) const NOBODY: u64 = u32::MAX as u64;

#[derive(Clone, Copy, PartialEq)]
enum State {
    Off,
    Running(u32),
    Runnable,
    Blocked,
}

/// A change of a task's state.
struct Change {
    t_ns: u64,
    task: u64,
    from: State,
    to: State,
    /// What woke it, where the trace says so.
    by: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Own {
    /// `CPUs: TOPOLOGY on MACHINE`, `Tasks: WORKLOAD`.
    titles: BTreeMap<u64, String>,
    tasks: BTreeMap<u64, (String, State)>,
    /// Priority and policy that each task had last, where the trace says so.
    urgency: BTreeMap<u64, (i32, u8)>,
    /// Changes of state in the order of the file.
    log: Vec<Change>,
    nr_cpus: u32,
    end_ns: u64,
    last: BTreeMap<u32, (i32, Comm, i32)>,
}

impl Own {
    pub fn last_on(&self, cpu: u32) -> Option<(i32, Comm, i32)> {
        self.last.get(&cpu).copied()
    }

    pub fn set_last_on(&mut self, cpu: u32, occupant: Option<(i32, Comm, i32)>) {
        if let Some(occupant) = occupant {
            self.last.insert(cpu, occupant);
        }
    }

    pub fn packet(&mut self, packet: &[u8]) -> Result<()> {
        let (mut t_ns, mut event) = (None, None);
        for field in fields(packet) {
            match field? {
                (8, v) => t_ns = Some(v.number()),
                (11, Value::Bytes(b)) => event = Some(b),
                (60, Value::Bytes(b)) => self.descriptor(b)?,
                _ => {}
            }
        }
        if let (Some(t_ns), Some(event)) = (t_ns, event) {
            self.end_ns = self.end_ns.max(t_ns);
            self.event(t_ns, event)?;
        }
        Ok(())
    }

    fn descriptor(&mut self, b: &[u8]) -> Result<()> {
        let Track { kind, number, name, title } = track::descriptor(b)?;
        match (kind, name, title) {
            (PROCESS, _, Some(title)) => _ = self.titles.insert(number, title),
            (CPU, ..) if number < 1 << 20 => self.nr_cpus = self.nr_cpus.max(number as u32 + 1),
            (TASK, Some(name), _) => _ = self.tasks.entry(number).or_insert((name, State::Off)),
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, t_ns: u64, b: &[u8]) -> Result<()> {
        let (mut kind, mut uuid, mut name, mut cpu, mut by) = (0, 0, 0, None, None);
        let (mut prio, mut policy) = (None, 0);
        for field in fields(b) {
            match field? {
                (9, v) => kind = v.number(),
                (10, v) => name = v.number(),
                (11, v) => uuid = v.number(),
                (4, note) => {
                    let (mut key, mut value) = (0, 0);
                    for field in fields(note.bytes()) {
                        match field? {
                            (1, v) => key = v.number(),
                            (3, v) => value = v.number(),
                            _ => {}
                        }
                    }
                    match key {
                        CPU_NOTE => cpu = Some(value as u32),
                        WOKEN_BY_NOTE => by = Some(value),
                        PRIO_NOTE => prio = Some(value),
                        POLICY_NOTE => policy = value as u8,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        let (kind_of_track, task) = track::kind_and_number(uuid);
        if kind_of_track != TASK {
            return Ok(());
        }
        let Some((_, now)) = self.tasks.get_mut(&task) else { return Ok(()) };
        let state = match (kind, name) {
            (2, _) => State::Off,
            (1, RUNNING) => State::Running(cpu.filter(|c| *c < 1 << 20).unwrap_or(0)),
            (1, RUNNABLE) => State::Runnable,
            (1, BLOCKED) => State::Blocked,
            (3, _) => {
                if let Some(prio) = prio.filter(|p| *p < 140) {
                    self.urgency.insert(task, (prio as i32, policy));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let from = std::mem::replace(now, state);
        match self.log.last_mut() {
            // One slice ends where the next begins.
            Some(last) if (last.t_ns, last.task, last.to) == (t_ns, task, State::Off) => {
                (last.to, last.by) = (state, by);
            }
            _ => self.log.push(Change { t_ns, task, from, to: state, by }),
        }
        Ok(())
    }

    /// The recording; `None` where the trace is not one of ours.
    pub fn finish(self) -> Result<Option<Recording>> {
        let ours = self.titles.get(&0).is_some_and(|t| t.starts_with("CPUs: "))
            && self.titles.get(&1).is_some_and(|t| t.starts_with("Tasks: "));
        if !ours {
            return Ok(None);
        }
        if self.tasks.is_empty() {
            return Err(Error::lacking(
                "the trace of Runweir has no tasks",
                "record with live --record DIR, or run with --out DIR and --trace full",
            ));
        }
        let mut threads = Vec::new();
        let mut numbers = BTreeMap::new();
        for (index, (name, _)) in self.tasks {
            numbers.insert(index, threads.len() as u32);
            let (prio, policy) = self.urgency.get(&index).copied().unwrap_or((120, 0));
            threads.push(Thread { name, tid: threads.len() as i32, prio, policy });
        }
        let mut existed = vec![false; threads.len()];
        let mut events: Vec<(u64, Event)> = Vec::new();
        let mut named = false;
        for Change { t_ns: t, task, from: old, to: next, by } in self.log {
            let thread = numbers[&task];
            named |= by.is_some();
            let by = match by {
                Some(NOBODY) => Waker::Interrupt,
                Some(by) => numbers.get(&by).map_or(Waker::Unknown, |by| Waker::Thread(*by)),
                None => Waker::Unknown,
            };
            let new = !std::mem::replace(&mut existed[thread as usize], true);
            if let State::Running(cpu) = old {
                let why = match next {
                    State::Blocked => Stop::Block,
                    State::Off if t < self.end_ns => Stop::Exit,
                    _ => Stop::Preempted,
                };
                events.push((t, Event::Off { thread, cpu, why, device: false }));
            }
            let wakes = !matches!(old, State::Running(_) | State::Runnable);
            match next {
                State::Runnable => {
                    events.push((t, Event::Ready { thread, by: wakes.then_some(by), new }));
                }
                State::Running(cpu) => {
                    if old != State::Runnable {
                        events.push((t, Event::Ready { thread, by: wakes.then_some(by), new }));
                    }
                    events.push((t, Event::Run { thread, cpu }));
                }
                State::Off if t < self.end_ns => events.push((t, Event::Exit { thread })),
                State::Off | State::Blocked => {}
            }
        }
        // The end of a slice may be reported late.
        events.sort_by_key(|e| e.0);
        let begin = events.first().map_or(0, |e| e.0);
        let unnamed = "the trace does not say which task woke which: all wake-ups are timed arrivals";
        let mut notes: Vec<String> = if named { Vec::new() } else { vec![unnamed.into()] };
        match threads.len() - self.urgency.len().min(threads.len()) {
            0 => {}
            lacking if lacking == threads.len() => {
                notes.push("priorities are not in this recording: every task has nice 0".into());
            }
            lacking => notes.push(format!(
                "the priorities of {lacking} of {} are not in this recording: these have nice 0",
                weir_text::plural(threads.len(), "thread")
            )),
        }
        Ok(Some(Recording {
            source: Source::Runweir,
            nr_cpus: self.nr_cpus.max(1),
            begin_ns: begin.min(self.end_ns),
            end_ns: self.end_ns,
            threads,
            events,
            queued: Vec::new(),
            marks: Vec::new(),
            lost: 0,
            mended: 0,
            top_khz: BTreeMap::new(),
            notes,
        }))
    }
}
