// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Reads `trace.pftrace` as a history.

use std::collections::{BTreeMap, HashMap};

use super::{Call, Cpu, History, Run, Span, Stage, State, Task, cpus};
use crate::error::{Error, Result};
use crate::recording::Waker;
use crate::track::{self, CPU, OTHER, PROCESS, TASK, Track};
use crate::wire::{Value, fields};

/// Index of the track of messages, of kind `OTHER`.
const MESSAGES: u64 = 0;
/// Most tasks, CPUs.
const MOST: u64 = 1 << 26;

/// What is open on a CPU's track.
enum Open {
    Task(u32),
    Call(u64),
    Lock,
    Offline,
    Other,
}

#[derive(Default)]
struct Event {
    kind: u64,
    track: u64,
    name: u64,
    /// Annotations by their name.
    notes: Vec<(u64, Note)>,
}

#[derive(Clone, Copy)]
enum Note {
    Number(u64),
    Text(u64),
}

#[derive(Default)]
pub(crate) struct Reader {
    out: History,
    titles: BTreeMap<u64, String>,
    names: HashMap<u64, String>,
    notes: HashMap<u64, String>,
    texts: HashMap<u64, String>,
    open: Vec<Vec<(u64, Open)>>,
    /// The state of each task that has one, and since when.
    states: Vec<Option<(u64, State)>>,
    stages: HashMap<(u64, u64), u32>,
    /// The trace names the wakers.
    wakers: bool,
}

impl Reader {
    /// Takes in the whole file.
    pub fn read(mut self, bytes: &[u8]) -> Result<Option<History>> {
        for field in fields(bytes) {
            if let (1, Value::Bytes(packet)) = field? {
                self.packet(packet)?;
            }
        }
        self.finish()
    }

    fn packet(&mut self, packet: &[u8]) -> Result<()> {
        let (mut t_ns, mut event) = (None, None);
        for field in fields(packet) {
            match field? {
                // Interned names of guests are apart.
                (10, v) if v.number() > 1 => return Ok(()),
                (8, v) => t_ns = Some(v.number()),
                (11, Value::Bytes(b)) => event = Some(b),
                (12, Value::Bytes(b)) => self.interned(b)?,
                (60, Value::Bytes(b)) => self.descriptor(b)?,
                _ => {}
            }
        }
        if let (Some(t_ns), Some(event)) = (t_ns, event) {
            self.out.end_ns = self.out.end_ns.max(t_ns);
            let event = read_event(event)?;
            let (kind, index) = track::kind_and_number(event.track);
            match kind {
                CPU if index < MOST => self.on_cpu(t_ns, index as usize, &event),
                TASK if index < MOST => self.on_task(t_ns, index as u32, &event),
                OTHER if index == MESSAGES => self.message(t_ns, &event),
                _ => {}
            }
        }
        Ok(())
    }

    fn interned(&mut self, b: &[u8]) -> Result<()> {
        for field in fields(b) {
            let (number, item) = field?;
            let (mut id, mut text) = (0, String::new());
            for field in fields(item.bytes()) {
                match field? {
                    (1, v) => id = v.number(),
                    (2, v) => text = v.text(),
                    _ => {}
                }
            }
            match number {
                2 => _ = self.names.insert(id, text),
                3 => _ = self.notes.insert(id, text),
                29 => _ = self.texts.insert(id, text),
                _ => {}
            }
        }
        Ok(())
    }

    fn descriptor(&mut self, b: &[u8]) -> Result<()> {
        let Track { kind, number, name, title } = track::descriptor(b)?;
        match (kind, name, title) {
            (PROCESS, _, Some(title)) => _ = self.titles.insert(number, title),
            (CPU, ..) if number < MOST => _ = self.cpu(number as usize),
            (TASK, Some(name), _) if number < MOST => self.task(number as u32).name = name,
            _ => {}
        }
        Ok(())
    }

    fn cpu(&mut self, cpu: usize) -> &mut Cpu {
        if self.out.cpus.len() <= cpu {
            self.out.cpus.resize_with(cpu + 1, Cpu::default);
            self.open.resize_with(cpu + 1, Vec::new);
        }
        &mut self.out.cpus[cpu]
    }

    fn task(&mut self, task: u32) -> &mut Task {
        let at = task as usize;
        if self.out.tasks.len() <= at {
            self.out.tasks.resize_with(at + 1, Task::default);
            self.states.resize_with(at + 1, || None);
        }
        &mut self.out.tasks[at]
    }

    fn number(&self, event: &Event, name: &str) -> Option<u64> {
        let note = event.notes.iter().find(|n| self.notes.get(&n.0).is_some_and(|known| known == name))?;
        if let Note::Number(n) = note.1 { Some(n) } else { None }
    }

    fn text_id(&self, event: &Event, name: &str) -> Option<u64> {
        let note = event.notes.iter().find(|n| self.notes.get(&n.0).is_some_and(|known| known == name))?;
        if let Note::Text(id) = note.1 { Some(id) } else { None }
    }

    fn on_cpu(&mut self, t: u64, cpu: usize, event: &Event) {
        self.cpu(cpu);
        let name = self.names.get(&event.name).map_or("", String::as_str);
        match event.kind {
            1 => {
                let what = match (self.number(event, "task"), name) {
                    (Some(task), _) => Open::Task(task as u32),
                    (None, "offline") => Open::Offline,
                    (None, "lock wait (sum)") => Open::Lock,
                    (None, "") => Open::Other,
                    (None, _) => Open::Call(self.number(event, "lock_wait_ns").unwrap_or(0)),
                };
                self.open[cpu].push((t, what));
            }
            2 => {
                let Some((from_ns, what)) = self.open[cpu].pop() else { return };
                let c = &mut self.out.cpus[cpu];
                match what {
                    Open::Task(task) if t > from_ns => c.runs.push(Run { from_ns, to_ns: t, task }),
                    Open::Call(lock_ns) => c.calls.push(Call { from_ns, to_ns: t, lock_ns }),
                    Open::Offline => c.offline.push((from_ns, t)),
                    _ => {}
                }
            }
            3 => {
                if let Some(capacity) = self.number(event, "capacity") {
                    self.out.cpus[cpu].capacity = capacity as u32;
                }
            }
            _ => {}
        }
    }

    fn on_task(&mut self, t: u64, task: u32, event: &Event) {
        self.task(task);
        let name = self.names.get(&event.name).map_or("", String::as_str);
        match event.kind {
            1 => {
                let state = match name {
                    "running" => State::Running { cpu: self.number(event, "cpu").unwrap_or(0) as u32 },
                    "runnable" => {
                        let by = self.waker(event);
                        if by != Waker::Unknown {
                            self.task(task).woken.push((t, by));
                        }
                        State::Ready { by }
                    }
                    _ => {
                        let on = self.text_id(event, "waits_for").and_then(|id| self.texts.get(&id));
                        State::Blocked {
                            on: on.map_or("", String::as_str).into(),
                            holder: self.number(event, "holder").map(|n| n as u32),
                        }
                    }
                };
                self.close(t, task);
                self.states[task as usize] = Some((t, state));
            }
            2 => self.close(t, task),
            3 => self.landmark(t, task, event),
            _ => {}
        }
    }

    fn waker(&mut self, event: &Event) -> Waker {
        match self.number(event, "woken_by") {
            None => Waker::Unknown,
            Some(by) => {
                self.wakers = true;
                if by == crate::own::NOBODY { Waker::Interrupt } else { Waker::Thread(by as u32) }
            }
        }
    }

    fn landmark(&mut self, t: u64, task: u32, event: &Event) {
        if let Some(pipe) = self.text_id(event, "pipe") {
            let stage = self.text_id(event, "stage").unwrap_or(0);
            let next = self.out.stages.len() as u32;
            let known = *self.stages.entry((pipe, stage)).or_insert(next);
            if known == next {
                let text = |id| self.texts.get(id).map_or("", String::as_str);
                self.out.stages.push(Stage::read(text(&pipe), text(&stage)));
            }
            self.task(task).places.push((t, known));
        } else if let Some(list) = self.text_id(event, "may_use") {
            let set = self.texts.get(&list).and_then(|list| cpus(list));
            if let Some(set) = set {
                self.task(task).allowed.push((t, set));
            }
        } else if let Some(prio) = self.number(event, "prio") {
            self.task(task).prio = i32::try_from(prio).ok();
        } else if self.names.get(&event.name).is_some_and(|n| n == "cold caches") {
            let ns = self.number(event, "value").unwrap_or(0);
            self.task(task).cold.push((t, ns));
        }
    }

    fn close(&mut self, t: u64, task: u32) {
        if let Some((from_ns, state)) = self.states[task as usize].take()
            && t > from_ns
        {
            self.task(task).spans.push(Span { from_ns, to_ns: t, state });
        }
    }

    fn message(&mut self, t: u64, event: &Event) {
        if event.kind == 3
            && self.names.get(&event.name).is_some_and(|n| n == "WITHHELD")
            && let Some(task) = self.number(event, "task").filter(|n| *n < MOST)
        {
            let until = self.number(event, "value").unwrap_or(0);
            self.task(task as u32).withheld.push((t, until));
        }
    }

    /// `None` where the trace is not one of ours.
    fn finish(mut self) -> Result<Option<History>> {
        let of = |title: Option<&String>, what: &str| title?.strip_prefix(what).map(str::to_string);
        let (Some(place), Some(workload)) =
            (of(self.titles.get(&0), "CPUs: "), of(self.titles.get(&1), "Tasks: "))
        else {
            return Ok(None);
        };
        if self.out.tasks.is_empty() {
            return Err(Error::lacking(
                "the trace of Runweir has no tasks",
                "record with live --record DIR, or run with --out DIR and --trace full",
            ));
        }
        (self.out.topology, self.out.machine) =
            place.split_once(" on ").map_or((place.clone(), String::new()), |p| (p.0.into(), p.1.into()));
        self.out.workload = workload;
        for cpu in &mut self.out.cpus {
            apart(&mut cpu.calls, |c| (c.from_ns, c.to_ns));
            apart(&mut cpu.runs, |r| (r.from_ns, r.to_ns));
            apart(&mut cpu.offline, |o| *o);
        }
        for task in &mut self.out.tasks {
            apart(&mut task.spans, |s| (s.from_ns, s.to_ns));
            task.woken.sort_by_key(|w| w.0);
            task.places.sort_by_key(|p| p.0);
            task.allowed.sort_by_key(|a| a.0);
            task.withheld.sort_by_key(|w| w.0);
        }
        if self.out.stages.is_empty() {
            self.out.notes.push(
                "the trace does not say in which pipe a task waits: the tasks that ran on its CPU stand for that"
                    .into(),
            );
        }
        // The live kernel reports neither pipes nor affinities, and wakers from Linux 6.15 on only.
        self.out.any_cpu = !self.wakers || self.out.stages.is_empty();
        if !self.wakers {
            self.out.notes.push("the trace does not say which task woke which".into());
        }
        Ok(Some(self.out))
    }
}

/// In order of time and without overlap, as a sound trace has them.
fn apart<T>(list: &mut Vec<T>, span: impl Fn(&T) -> (u64, u64)) {
    list.sort_by_key(|x| span(x).0);
    let mut end = 0;
    list.retain(|x| {
        let (from, to) = span(x);
        let sound = from >= end && to > from;
        if sound {
            end = to;
        }
        sound
    });
}

fn read_event(b: &[u8]) -> Result<Event> {
    let mut event = Event::default();
    for field in fields(b) {
        match field? {
            (9, v) => event.kind = v.number(),
            (10, v) => event.name = v.number(),
            (11, v) => event.track = v.number(),
            (4, note) => {
                let (mut key, mut value) = (0, None);
                for field in fields(note.bytes()) {
                    match field? {
                        (1, v) => key = v.number(),
                        (3, v) => value = Some(Note::Number(v.number())),
                        (17, v) => value = Some(Note::Text(v.number())),
                        _ => {}
                    }
                }
                event.notes.extend(value.map(|v| (key, v)));
            }
            _ => {}
        }
    }
    Ok(event)
}
