// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The run as a Perfetto trace, for ui.perfetto.dev.
//!
//! Four groups of tracks ("processes"): *CPUs* with the tasks as slices and scheduler calls among
//! them, *Tasks* with their states, *Pipes* with counters of their depth, and *Scheduler* with
//! messages, markers, deadline misses and swaps. A track's slices never overlap; scheduler calls that
//! interrupt a task lie within its slice. Names are interned; timestamps are virtual nanoseconds.

use crate::meta::{Meta, Names, Slots};
use crate::proto::{Buf, Packet};
use crate::sink::Sink;
use crate::trace_ids::*;
use std::collections::BTreeMap;
use std::io::{self, Write};
use weir_core::Plan;
use weir_core::event::{Call, Event, Observer, Stop};

/// What a task's track shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not announced yet.
    Unknown,
    /// Announced, nothing open.
    Off,
    Running,
    Runnable,
    Blocked,
}

#[derive(Clone, Copy)]
struct CpuTrack {
    /// Task whose slice is open.
    task: Option<u32>,
    since_ns: u64,
    /// Scheduler time within the slice.
    nested_ns: u64,
    offline: bool,
    /// End of the last slice: a scheduler call does not reach back behind it.
    last_ns: u64,
}

/// Writes a run as `trace.pftrace` while it happens.
pub struct Trace {
    meta: Meta,
    out: Sink,
    packet: Packet,
    tasks: Vec<State>,
    cpus: Vec<CpuTrack>,
    slots: Slots,
    /// Depth of each pipe as last written, and as it is now.
    pipes: Vec<(u32, u32)>,
    /// Pipes whose depth changed at `now`: the last value of an instant is what counts.
    changed: Vec<usize>,
    clocks: Vec<bool>,
    now: u64,
    /// Scheduler calls that ended at `now`: CPU, call, time, part of it waiting for locks.
    calls: Vec<(u32, Call, u64, u64)>,
    texts: BTreeMap<String, u64>,
    /// Texts of annotations, interned at their first use.
    values: BTreeMap<String, u64>,
    /// What a task is about to wait for, and which task has it; which is about to wake one.
    waits_for: Option<(u32, u64, Option<u32>)>,
    woken: Option<(u32, Option<u32>)>,
    /// Name and stage of each pipe of the present topology, interned; and those of topologies that may take over.
    places: Vec<(u64, u64)>,
    stages: Vec<(String, Vec<String>, Vec<String>)>,
    topology: String,
    /// By gang: it has a track, and whether a slot is open there.
    gangs: Vec<Option<bool>>,
    /// Interned names of tasks that did not keep their first.
    renamed: BTreeMap<u32, u64>,
    /// A guest's tracks and names are apart from the host's: what is added to its tracks, and the number of its sequence.
    base: u64,
    sequence: u64,
}

impl Trace {
    /// A trace into `out`. An error in writing is kept and returned by [`Trace::finish`].
    pub fn new(meta: Meta, out: Box<dyn Write + Send>) -> Self {
        Self::of(meta, out, None)
    }

    /// The trace of a guest, of which there may be 64, into a part of its host's file ([`crate::shared`]).
    pub fn inside(meta: Meta, out: Box<dyn Write + Send>, guest: u32) -> Self {
        Self::of(meta, out, Some(guest))
    }

    fn of(meta: Meta, out: Box<dyn Write + Send>, guest: Option<u32>) -> Self {
        let number = guest.map_or(0, |g| u64::from(g) + 1);
        let mut trace = Self {
            base: number << 40,
            sequence: number + 1,
            out: Sink::new(out),
            packet: Packet::of_sequence(number as u8 + 1),
            tasks: Vec::new(),
            cpus: Vec::new(),
            slots: Slots::pipes(&meta),
            pipes: Vec::new(),
            changed: Vec::new(),
            clocks: Vec::new(),
            now: 0,
            calls: Vec::new(),
            texts: BTreeMap::new(),
            values: BTreeMap::new(),
            waits_for: None,
            woken: None,
            places: Vec::new(),
            topology: meta.topology.clone(),
            stages: vec![(meta.topology.clone(), meta.pipes.clone(), meta.stages.clone())],
            gangs: Vec::new(),
            renamed: BTreeMap::new(),
            meta,
        };
        trace.preamble();
        trace
    }

    /// Makes the pipes of a topology known that a swap may bring.
    pub fn know(&mut self, later: &Names) {
        self.slots.learn(&later.topology, &later.pipes);
        if !later.stages.is_empty() {
            let new = (later.topology.clone(), later.pipes.clone(), later.stages.clone());
            match self.stages.iter_mut().find(|known| known.0 == later.topology) {
                Some(known) => *known = new,
                None => self.stages.push(new),
            }
        }
    }

    fn preamble(&mut self) {
        self.write_packet(|b| {
            b.uint(SEQUENCE_FLAGS, CLEARED);
            b.uint(FIRST_ON_SEQUENCE, 1);
            b.message(DEFAULTS, |b| b.uint(58, CLOCK_BOOTTIME));
            b.message(INTERNED, |b| {
                for (iid, name) in (1..).zip(NAMES).chain(call_names()) {
                    intern(b, 2, iid, name);
                }
                for (iid, name) in (1..).zip(NOTES) {
                    intern(b, 3, iid, name);
                }
            });
        });
        self.write_packet(|b| {
            b.message(CLOCK_SNAPSHOT, |b| {
                b.message(1, |b| {
                    b.uint(1, CLOCK_BOOTTIME);
                    b.uint(2, 0);
                });
                b.uint(2, CLOCK_BOOTTIME);
            });
        });
        let groups = match self.base {
            0 => [
                (CPUS, format!("CPUs: {} on {}", self.meta.topology, self.meta.machine)),
                (TASKS, format!("Tasks: {}", self.meta.workload)),
                (PIPES, "Pipes".to_string()),
                (SCHEDULER, "Scheduler".to_string()),
            ],
            _ => {
                let name = &self.meta.machine;
                [
                    (CPUS, format!("{name}: virtual CPUs, {}", self.meta.topology)),
                    (TASKS, format!("{name}: tasks")),
                    (PIPES, format!("{name}: pipes")),
                    (SCHEDULER, format!("{name}: scheduler")),
                ]
            }
        };
        let first = 16 * (self.sequence - 1);
        for (group, name) in groups {
            self.descriptor(uuid(Track::Process, group), |b| {
                b.message(3, |b| {
                    b.uint(1, first + u64::from(group) + 1);
                    b.string(6, &name);
                });
                // Children in the order of their ranks.
                b.uint(11, 3);
            });
        }
        for (i, name) in (0..).zip(SINGLE) {
            self.child(uuid(Track::Other, i), SCHEDULER, name, i, false);
        }
        for cpu in 0..self.meta.nr_cpus {
            self.cpu(cpu);
        }
        for (cpu, capacity) in (0..).zip(self.meta.capacities.clone()) {
            let name = self.text("capacity");
            self.event(0, Kind::Instant, uuid(Track::Cpu, cpu), name, |b| {
                note(b, CAPACITY, u64::from(capacity))
            });
        }
    }

    /// Stops tracing at `end_ns`: closes what is open and writes the rest. Returns the first error.
    pub fn finish(mut self, end_ns: u64) -> io::Result<()> {
        self.pause(end_ns);
        self.out.finish()
    }

    /// Closes open slices at `t`. Later slices begin again.
    pub(crate) fn pause(&mut self, t: u64) {
        self.flush_calls();
        self.flush_depths();
        for cpu in 0..self.cpus.len() as u32 {
            let track = self.cpus[cpu as usize];
            if track.task.is_some() || track.offline {
                self.event(t.max(track.last_ns), Kind::End, uuid(Track::Cpu, cpu), 0, |_| {});
            }
            let track = &mut self.cpus[cpu as usize];
            (track.task, track.offline) = (None, false);
        }
        for gang in 0..self.gangs.len() as u32 {
            if self.gangs[gang as usize] == Some(true) {
                self.event(t, Kind::End, uuid(Track::Gang, gang), 0, |_| {});
                self.gangs[gang as usize] = Some(false);
            }
        }
        for task in 0..self.tasks.len() as u32 {
            if !matches!(self.tasks[task as usize], State::Unknown | State::Off) {
                self.event(t, Kind::End, uuid(Track::Task, task), 0, |_| {});
                self.tasks[task as usize] = State::Off;
            }
        }
    }

    /// A packet that is not an event: these are few.
    fn write_packet(&mut self, fill: impl FnOnce(&mut Buf)) {
        let mut buf = Buf(Vec::new());
        let sequence = self.sequence;
        buf.message(PACKET, |b| {
            b.uint(SEQUENCE_ID, sequence);
            fill(b);
        });
        self.out.put(&buf.0);
    }

    fn descriptor(&mut self, uuid: u64, fill: impl FnOnce(&mut Buf)) {
        let base = self.base;
        self.write_packet(|b| {
            b.message(DESCRIPTOR, |b| {
                b.uint(1, base + uuid);
                fill(b);
            });
        });
    }

    /// A track within a group. Tracks of equal names are not to be merged.
    fn child(&mut self, uuid_: u64, group: u32, name: &str, rank: u32, counter: bool) {
        let base = self.base;
        self.descriptor(uuid_, |b| {
            b.uint(5, base + uuid(Track::Process, group));
            b.string(2, name);
            b.uint(12, u64::from(rank));
            b.uint(15, 2);
            if counter {
                b.message(8, |_| {});
            }
        });
    }

    #[inline]
    fn event(&mut self, t: u64, kind: Kind, track: u64, name: u64, more: impl FnOnce(&mut Packet)) {
        let p = &mut self.packet;
        p.begin(t);
        p.uint(9, kind as u64);
        p.uint(11, self.base + track);
        if name != 0 {
            p.uint(10, name);
        }
        more(p);
        self.out.put(p.end());
    }

    /// Id of a text, interned at its first use.
    fn text(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.texts.get(text) {
            return id;
        }
        let id = FIRST_ID + 1 + 2 * self.texts.len() as u64;
        self.texts.insert(text.into(), id);
        self.intern_name(id, text);
        id
    }

    /// Id of an annotation's text, interned at its first use.
    fn value(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.values.get(text) {
            return id;
        }
        let id = 1 + self.values.len() as u64;
        self.values.insert(text.into(), id);
        self.write_packet(|b| {
            b.uint(SEQUENCE_FLAGS, NEEDS_STATE);
            b.message(INTERNED, |b| intern(b, STRING_VALUES, id, text));
        });
        id
    }

    /// Name and stage of a pipe of the present topology, as interned texts.
    fn place(&mut self, pipe: u32) -> (u64, u64) {
        let known = self.stages.iter().find(|known| known.0 == self.topology);
        let of = |list: Option<&Vec<String>>| list.and_then(|l| l.get(pipe as usize)).cloned();
        let name = of(known.map(|k| &k.1)).unwrap_or_else(|| format!("pipe {pipe}"));
        let stage = of(known.map(|k| &k.2)).unwrap_or_default();
        (self.value(&name), self.value(&stage))
    }

    fn intern_name(&mut self, id: u64, text: &str) {
        self.write_packet(|b| {
            b.uint(SEQUENCE_FLAGS, NEEDS_STATE);
            b.message(INTERNED, |b| intern(b, 2, id, text));
        });
    }

    #[inline]
    fn cpu(&mut self, cpu: u32) -> &mut CpuTrack {
        while self.cpus.len() <= cpu as usize {
            let next = self.cpus.len() as u32;
            let name = self.meta.cpu_name(next);
            self.child(uuid(Track::Cpu, next), CPUS, &name, next, false);
            self.cpus.push(CpuTrack { task: None, since_ns: 0, nested_ns: 0, offline: false, last_ns: 0 });
        }
        &mut self.cpus[cpu as usize]
    }

    /// The pipe's place in `pipes`; its track is there from its first change on.
    #[inline]
    fn pipe(&mut self, pipe: u32) -> usize {
        let slot = self.slots.slot(pipe);
        while self.pipes.len() <= slot {
            let next = self.pipes.len();
            let name = self.slots.names[next].clone();
            self.child(uuid(Track::Pipe, next as u32), PIPES, &name, next as u32, true);
            self.pipes.push((0, 0));
        }
        slot
    }

    fn announce(&mut self, task: u32, name: &str) {
        if self.tasks.len() <= task as usize {
            self.tasks.resize(task as usize + 1, State::Unknown);
        }
        if self.tasks[task as usize] == State::Unknown {
            self.tasks[task as usize] = State::Off;
            self.child(uuid(Track::Task, task), TASKS, &format!("{name} #{task}"), task, false);
            self.intern_name(task_name(task), name);
        }
    }

    /// Id of the name that the task has now.
    #[inline]
    fn name_of(&self, task: u32) -> u64 {
        match self.renamed.is_empty() {
            true => task_name(task),
            false => self.renamed.get(&task).copied().unwrap_or_else(|| task_name(task)),
        }
    }

    /// Makes sure that the task has a track, also where the runtime did not announce it.
    #[inline]
    fn known(&mut self, task: u32) {
        if self.tasks.get(task as usize).is_none_or(|&s| s == State::Unknown) {
            self.announce(task, &format!("task {task}"));
        }
    }

    /// Ends the task's state slice and begins the next.
    #[inline]
    fn enter(&mut self, t: u64, task: u32, state: State, cpu: Option<u32>) {
        self.known(task);
        let old = std::mem::replace(&mut self.tasks[task as usize], state);
        if old == state {
            return;
        }
        let track = uuid(Track::Task, task);
        if old != State::Off {
            self.event(t, Kind::End, track, 0, |_| {});
        }
        let name = match state {
            State::Running => RUNNING,
            State::Runnable => RUNNABLE,
            State::Blocked => BLOCKED,
            State::Off | State::Unknown => return,
        };
        let waits = self.waits_for.take_if(|w| w.0 == task && state == State::Blocked);
        let woken = self.woken.take_if(|w| w.0 == task && state == State::Runnable);
        self.event(t, Kind::Begin, track, name, |b| {
            if let Some(cpu) = cpu {
                note(b, CPU, u64::from(cpu));
            }
            if let Some((_, what, holder)) = waits {
                text_note(b, WAITS_FOR, what);
                if let Some(holder) = holder {
                    note(b, HOLDER, u64::from(holder));
                }
            }
            if let Some((_, by)) = woken {
                note(b, WOKEN_BY, by.map_or(NOBODY, u64::from));
            }
        });
    }

    fn flush_depths(&mut self) {
        for i in 0..self.changed.len() {
            let pipe = self.changed[i];
            let (written, depth) = self.pipes[pipe];
            if written != depth {
                self.pipes[pipe].0 = depth;
                self.event(self.now, Kind::Counter, uuid(Track::Pipe, pipe as u32), 0, |b| {
                    b.uint(30, u64::from(depth))
                });
            }
        }
        self.changed.clear();
    }

    /// Writes the calls that ended at `now`. Those of one CPU were made one after the other, the last
    /// of them ending now.
    fn flush_calls(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let mut calls = std::mem::take(&mut self.calls);
        calls.sort_by_key(|c| c.0);
        for of_cpu in calls.chunk_by(|a, b| a.0 == b.0) {
            let mut left: u64 = of_cpu.iter().map(|c| c.2).sum();
            for &(cpu, call, ns, lock_wait_ns) in of_cpu {
                left -= ns;
                self.sched(self.now.saturating_sub(left), cpu, call, ns, lock_wait_ns);
            }
        }
        calls.clear();
        self.calls = calls;
    }

    /// A slice for a call that ended at `t`.
    fn sched(&mut self, t: u64, cpu: u32, call: Call, ns: u64, lock_wait_ns: u64) {
        let begin = t.saturating_sub(ns).max(self.cpu(cpu).last_ns);
        if begin >= t {
            return;
        }
        let state = &mut self.cpus[cpu as usize];
        state.last_ns = t;
        state.nested_ns += t - begin;
        let name = FIRST_CALL + call as u64;
        let track = uuid(Track::Cpu, cpu);
        self.event(begin, Kind::Begin, track, name, |b| {
            if lock_wait_ns > 0 {
                note(b, LOCK_WAIT, lock_wait_ns);
            }
        });
        if lock_wait_ns > 0 {
            self.event(begin, Kind::Begin, track, LOCK_WAITING, |_| {});
            self.event(t.min(begin.saturating_add(lock_wait_ns)), Kind::End, track, 0, |_| {});
        }
        self.event(t, Kind::End, track, 0, |_| {});
    }
}

fn intern(b: &mut Buf, field: u32, iid: u64, name: &str) {
    b.message(field, |b| {
        b.uint(1, iid);
        b.string(2, name);
    });
}

/// An annotation with a number.
#[inline]
fn note(p: &mut Packet, name: u64, value: u64) {
    p.message(4, |p| {
        p.uint(1, name);
        p.uint(3, value);
    });
}

/// An annotation with an interned text.
#[inline]
fn text_note(p: &mut Packet, name: u64, text: u64) {
    p.message(4, |p| {
        p.uint(1, name);
        p.uint(17, text);
    });
}

impl Observer for Trace {
    fn rewired(&mut self, plan: &Plan) {
        self.know(&Names::of(plan));
    }

    fn event(&mut self, t: u64, event: &Event<'_>) {
        if t != self.now {
            self.flush_calls();
            self.flush_depths();
            self.now = t;
        }
        match *event {
            Event::TaskNew { task, name, .. } => self.announce(task, name),
            Event::TaskName { task, name, .. } => {
                // A viewer takes the name of a track from its first descriptor; slices get the new one.
                self.known(task);
                let name = self.text(name);
                self.renamed.insert(task, name);
            }
            Event::TaskExit { task } => self.enter(t, task, State::Off, None),
            Event::Ready { task, .. } => self.enter(t, task, State::Runnable, None),
            Event::Run { task, cpu, .. } => {
                self.flush_calls();
                self.enter(t, task, State::Running, Some(cpu));
                let track = uuid(Track::Cpu, cpu);
                let state = self.cpu(cpu);
                let stale = state.task.replace(task).is_some();
                (state.since_ns, state.nested_ns, state.last_ns) = (t, 0, t);
                if stale {
                    Trace::event(self, t, Kind::End, track, 0, |_| {});
                }
                let name = self.name_of(task);
                Trace::event(self, t, Kind::Begin, track, name, |b| note(b, TASK, u64::from(task)));
            }
            Event::Off { task, cpu, why, ran_ns } => {
                self.flush_calls();
                let next = match why {
                    Stop::Preempted | Stop::SliceEnd | Stop::Yield => State::Runnable,
                    Stop::Block => State::Blocked,
                    Stop::Exit => State::Off,
                };
                let state = self.cpu(cpu);
                let mut end = t;
                if state.task.take().is_some() {
                    // Where the report comes late, the slice ended when the task had run for its time.
                    end = state.since_ns.saturating_add(ran_ns).saturating_add(state.nested_ns).min(t);
                    end = end.max(state.last_ns);
                    state.last_ns = end;
                    Trace::event(self, end, Kind::End, uuid(Track::Cpu, cpu), 0, |_| {});
                }
                self.enter(end, task, next, None);
            }
            Event::WaitsFor { task, what, holder } => {
                let what = self.value(what);
                self.waits_for = Some((task, what, holder));
                if self.tasks.get(task as usize) == Some(&State::Blocked) {
                    // It goes on waiting, for something else.
                    Trace::event(self, t, Kind::End, uuid(Track::Task, task), 0, |_| {});
                    self.tasks[task as usize] = State::Off;
                    self.enter(t, task, State::Blocked, None);
                }
            }
            Event::Woken { task, by } => self.woken = Some((task, by)),
            Event::Stands { task, pipe } => {
                self.known(task);
                while self.places.len() <= pipe as usize {
                    let place = self.place(self.places.len() as u32);
                    self.places.push(place);
                }
                let (name, stage) = self.places[pipe as usize];
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), QUEUED, |b| {
                    text_note(b, PIPE, name);
                    text_note(b, STAGE, stage);
                });
            }
            Event::Allowed { task, cpus } => {
                self.known(task);
                let (name, cpus) = (self.text("affinity"), self.value(cpus));
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), name, |b| {
                    text_note(b, MAY_USE, cpus)
                });
            }
            Event::Priority { task, urgency } => {
                self.known(task);
                let name = self.text("priority");
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), name, |b| {
                    note(b, PRIO, u64::from(urgency.prio));
                    note(b, POLICY, u64::from(urgency.policy));
                });
            }
            Event::Refill { task, ns } => {
                self.known(task);
                let name = self.text("cold caches");
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), name, |b| note(b, VALUE, ns));
            }
            Event::Sched { cpu, call, ns, lock_wait_ns } => {
                if ns > 0 {
                    self.calls.push((cpu, call, ns, lock_wait_ns));
                }
            }
            Event::PipeDepth { pipe, depth } => {
                let slot = self.pipe(pipe);
                self.pipes[slot].1 = depth;
                self.changed.push(slot);
            }
            Event::JobRelease { task, job, deadline_ns: Some(deadline), .. } => {
                self.known(task);
                let name = self.text("release");
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), name, |b| {
                    note(b, JOB, u64::from(job));
                    note(b, DEADLINE, deadline);
                });
            }
            Event::JobDone { task, job, response_ns, missed: true } => {
                self.known(task);
                let name = self.text("late completion");
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), name, |b| {
                    note(b, JOB, u64::from(job));
                    note(b, RESPONSE, response_ns);
                });
            }
            Event::Counters { .. } => {}
            Event::JobDropped { task, job } => {
                self.known(task);
                let name = self.text("dropped");
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), name, |b| {
                    note(b, JOB, u64::from(job));
                });
            }
            Event::DeadlineMiss { task, job, deadline_ns } => {
                self.known(task);
                let notes = |b: &mut Packet| {
                    note(b, TASK, u64::from(task));
                    note(b, JOB, u64::from(job));
                    note(b, DEADLINE, deadline_ns);
                };
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), MISS, notes);
                let name = self.name_of(task);
                Trace::event(self, t, Kind::Instant, uuid(Track::Other, MISSES), name, notes);
            }
            Event::Reply { topic, cpu, task, value } => {
                self.known(task);
                let name = self.text(topic);
                Trace::event(self, t, Kind::Instant, uuid(Track::Task, task), name, |b| {
                    note(b, CPU, u64::from(cpu));
                    note(b, VALUE, value);
                });
            }
            Event::Message { topic, cpu, task, value } => {
                let name = self.text(topic);
                Trace::event(self, t, Kind::Instant, uuid(Track::Other, MESSAGES), name, |b| {
                    note(b, CPU, u64::from(cpu));
                    if let Some(task) = task {
                        note(b, TASK, u64::from(task));
                    }
                    note(b, VALUE, value);
                });
            }
            Event::Stolen { cpu, ns } => {
                self.flush_calls();
                let state = self.cpu(cpu);
                let begin = t.saturating_sub(ns).max(state.last_ns);
                state.last_ns = t;
                state.nested_ns += t - begin.min(t);
                if begin < t {
                    let (track, name) = (uuid(Track::Cpu, cpu), self.text("not running (stolen)"));
                    Trace::event(self, begin, Kind::Begin, track, name, |_| {});
                    Trace::event(self, t, Kind::End, track, 0, |_| {});
                }
            }
            Event::Kick { cpu } => {
                self.cpu(cpu);
                Trace::event(self, t, Kind::Instant, uuid(Track::Cpu, cpu), KICK, |_| {});
            }
            Event::MessageSent { from, to, number, what } => {
                self.cpu(from);
                let name = self.text(what);
                Trace::event(self, t, Kind::Instant, uuid(Track::Cpu, from), name, |b| {
                    note(b, CPU, u64::from(to));
                    b.fixed64(FLOW, number + 1);
                });
            }
            Event::MessageArrived { to, number, what } => {
                self.cpu(to);
                let name = self.text(what);
                Trace::event(self, t, Kind::Instant, uuid(Track::Cpu, to), name, |b| {
                    b.fixed64(LAST_OF_FLOW, number + 1);
                });
            }
            Event::GangSlot { gang, name, begins } => {
                let track = uuid(Track::Gang, gang);
                let place = gang as usize;
                if self.gangs.len() <= place {
                    self.gangs.resize(place + 1, None);
                }
                if self.gangs[place].is_none() {
                    self.child(track, SCHEDULER, &format!("gang {name}"), SINGLE.len() as u32 + gang, false);
                    self.gangs[place] = Some(false);
                }
                if self.gangs[place] != Some(begins) {
                    let text = self.text(name);
                    let (kind, name) = if begins { (Kind::Begin, text) } else { (Kind::End, 0) };
                    Trace::event(self, t, kind, track, name, |_| {});
                    self.gangs[place] = Some(begins);
                }
            }
            Event::CpuOnline { cpu, online } => {
                self.flush_calls();
                let state = self.cpu(cpu);
                if state.offline == online {
                    state.offline = !online;
                    state.last_ns = t;
                    let kind = if online { Kind::End } else { Kind::Begin };
                    Trace::event(
                        self,
                        t,
                        kind,
                        uuid(Track::Cpu, cpu),
                        if online { 0 } else { OFFLINE },
                        |_| {},
                    );
                }
            }
            Event::Frequency { cpu, hz } => {
                if self.clocks.len() <= cpu as usize {
                    self.clocks.resize(cpu as usize + 1, false);
                }
                let track = uuid(Track::Clock, cpu);
                if !std::mem::replace(&mut self.clocks[cpu as usize], true) {
                    let name = format!("{} clock (MHz)", self.meta.cpu_name(cpu));
                    self.child(track, CPUS, &name, 100_000 + cpu, true);
                }
                Trace::event(self, t, Kind::Counter, track, 0, |b| b.uint(30, hz / 1_000_000));
            }
            Event::Swap { from, to, pause_ns, represented } => {
                // The old pipes are gone; the new ones report their depths after this.
                self.pipes.iter_mut().for_each(|p| p.1 = 0);
                self.changed.extend(0..self.pipes.len());
                self.slots.swap(to);
                self.places.clear();
                self.topology = to.into();
                let name = self.text(&format!("swap {from} -> {to}"));
                Trace::event(self, t, Kind::Instant, uuid(Track::Other, SWAPS), name, |b| {
                    note(b, PAUSE, pause_ns);
                    note(b, REPRESENTED, u64::from(represented));
                });
            }
            Event::Marker { text } => {
                let name = self.text(text);
                Trace::event(self, t, Kind::Instant, uuid(Track::Other, MARKERS), name, |_| {});
            }
            Event::JobRelease { .. }
            | Event::JobDone { .. }
            | Event::Preempted { .. }
            | Event::Idle { .. }
            | Event::PipeLock { .. }
            | Event::InstanceTime { .. }
            | Event::Guest { .. }
            | Event::Energy { .. } => {}
        }
    }
}
