// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A recording: threads, and what happened to them in order of time.

use std::collections::{BTreeMap, HashMap};

use weir_core::MAX_CPUS;
use weir_core::event::{self, Observer};

use crate::error::{Error, Result};
use crate::kernel::{Comm, Found, Stamped, State, What};
use crate::marks::{self, Mark};
use crate::own::WHO_RUNS;
use crate::tracedat::RECORD;
use weir_text::plural;

/// Which tool made a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Perf,
    TraceCmd,
    Text,
    Perfetto,
    Runweir,
}

impl Source {
    /// For tables: `perf sched record`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Perf => "perf sched record",
            Source::TraceCmd => "trace-cmd",
            Source::Text => "ftrace text",
            Source::Perfetto => "Perfetto",
            Source::Runweir => "Runweir",
        }
    }
}

/// A thread; its index is its number in events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub name: String,
    pub tid: i32,
    /// The kernel's priority: 100 to 139 for nice -20 to 19, below for real-time ones, -1 for deadlines.
    pub prio: i32,
    /// The kernel's number of the policy, where a recording of our own has it: 3 batch, 5 idle, else 0.
    pub policy: u8,
}

/// What made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    Thread(u32),
    /// A timer or a device.
    Interrupt,
    /// It went back after running, or it is not known.
    Unknown,
}

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Preempted,
    Block,
    Exit,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The thread became runnable: woken by `by`, new, or (`None`) it was so already when the recording began or went
    /// back after running.
    Ready {
        thread: u32,
        by: Option<Waker>,
        new: bool,
    },
    Run {
        thread: u32,
        cpu: u32,
    },
    /// `device`: it waits uninterruptibly, as for a device.
    Off {
        thread: u32,
        cpu: u32,
        why: Stop,
        device: bool,
    },
    Exit {
        thread: u32,
    },
    Frequency {
        cpu: u32,
        khz: u64,
    },
}

/// What a tool recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    pub source: Source,
    pub nr_cpus: u32,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub threads: Vec<Thread>,
    /// With the recording's clock, in order of time.
    pub events: Vec<(u64, Event)>,
    /// In the queue of which CPU a thread that is able to run stands from then on, where the tool says.
    pub queued: Vec<(u64, u32, u32)>,
    /// What programs said about themselves, with the recording's clock.
    pub marks: Vec<Mark>,
    /// Events that the tool lost.
    pub lost: u64,
    /// Contradictions: places where events must be missing. Each gap was closed.
    pub mended: u64,
    /// Highest clock seen of each CPU, kHz.
    pub top_khz: BTreeMap<u32, u64>,
    /// What the recording cannot say.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Blocked,
    Ready,
    Running(u32),
}

struct Slot {
    no: u32,
    place: Place,
    since_ns: u64,
    /// Who woke it while it ran. If it leaves the CPU to sleep all the same and nobody else wakes it, this was its wake-up: the waker came
    /// between its decision to sleep and the switch.
    early: Option<Waker>,
}

/// Turns the kernel's events into those of a recording.
struct Story {
    out: Recording,
    slots: HashMap<i32, Slot>,
    /// The thread that runs on each CPU: 0 is none, absent is not known.
    cpus: HashMap<u32, (i32, u64)>,
    comms: HashMap<i32, Comm>,
}

/// Makes a recording of what a reader found.
pub(crate) fn build(mut found: Found, source: Source) -> Result<Recording> {
    found.events.sort_by_key(|e| e.t_ns);
    let events = std::mem::take(&mut found.events);
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Err(Error::lacking("the recording holds no events of the scheduler", RECORD));
    };
    if !events.iter().any(|e| matches!(e.what, What::Switch { .. })) {
        return Err(Error::lacking("the recording holds no event sched_switch", RECORD));
    }
    if last.t_ns - first.t_ns > 1 << 50 {
        return Err(Error::broken(format!(
            "the recording's first and last event are {} days apart",
            (last.t_ns - first.t_ns) / 86_400_000_000_000
        )));
    }
    let seen = events.iter().map(|e| e.cpu).max().unwrap_or(0);
    if seen >= MAX_CPUS {
        return Err(Error::broken(format!(
            "an event of the recording is of CPU {seen}; a machine has at most {MAX_CPUS}"
        )));
    }
    let nr_cpus = found.nr_cpus.filter(|n| *n > seen && *n <= MAX_CPUS).unwrap_or(seen + 1);
    let mut story = Story {
        out: Recording {
            source,
            nr_cpus,
            begin_ns: first.t_ns,
            end_ns: last.t_ns,
            threads: Vec::new(),
            queued: Vec::new(),
            marks: Vec::new(),
            events: Vec::with_capacity(events.len()),
            lost: found.lost,
            mended: 0,
            top_khz: BTreeMap::new(),
            notes: std::mem::take(&mut found.notes),
        },
        slots: HashMap::new(),
        cpus: HashMap::new(),
        comms: found.comms.iter().rev().copied().collect(),
    };
    for event in &events {
        story.event(event, &found);
    }
    let mut out = story.out;
    out.events.sort_by_key(|e| e.0);
    Ok(out)
}

impl Story {
    fn push(&mut self, t_ns: u64, event: Event) {
        self.out.events.push((t_ns, event));
    }

    fn event(&mut self, e: &Stamped, found: &Found) {
        let t = e.t_ns;
        let context = if e.pid == WHO_RUNS { self.cpus.get(&e.cpu).map_or(-1, |c| c.0) } else { e.pid };
        // A thread that is seen on a CPU before its first switch has been there from the beginning.
        if context >= 0 && !self.cpus.contains_key(&e.cpu) {
            self.cpus.insert(e.cpu, (context, self.out.begin_ns));
            if context > 0 {
                self.ran_before(context, e.cpu, self.out.begin_ns, found);
            }
        }
        match e.what {
            What::Switch { prev, prev_comm, prev_prio, state, next, next_comm, next_prio } => {
                self.leaves(t, e.cpu, prev, prev_comm, prev_prio, state, found);
                self.comes(t, e.cpu, next, next_comm, next_prio, found);
            }
            What::Waking { pid, comm, prio } => self.wakes(e, context, pid, comm, prio, found),
            What::Wakeup { pid, comm, prio, target } => {
                self.wakes(e, context, pid, comm, prio, found);
                self.queues(t, pid, target);
            }
            What::WakeupNew { pid, comm, prio, target } => {
                self.wakes(e, context, pid, comm, prio, found);
                self.queues(t, pid, target);
            }
            What::Migrate { pid, target } => self.queues(t, pid, Some(target)),
            What::Fork { child, comm, .. } => {
                self.comms.insert(child, comm);
                // A number that is used again is another thread.
                self.gone(t, child);
            }
            What::Rename { pid, comm } => {
                self.comms.insert(pid, comm);
                if let Some(slot) = self.slots.get(&pid) {
                    self.out.threads[slot.no as usize].name = found.names.text(comm).to_string();
                }
            }
            What::Frequency { cpu, khz } => {
                if cpu < self.out.nr_cpus && (1..1 << 40).contains(&khz) {
                    let top = self.out.top_khz.entry(cpu).or_insert(0);
                    *top = (*top).max(khz);
                    self.push(t, Event::Frequency { cpu, khz });
                }
            }
            What::Mark { text } => {
                if let (Some(slot), Some((phase, name, id))) =
                    (self.slots.get(&context), marks::parse(found.names.text(text)))
                {
                    self.out.marks.push(Mark { t_ns: t, thread: slot.no, phase, name: name.into(), id });
                }
            }
        }
    }

    fn gone(&mut self, t: u64, pid: i32) {
        if let Some(slot) = self.slots.remove(&pid) {
            if let Place::Running(cpu) = slot.place {
                self.out.mended += 1;
                self.push(t, Event::Off { thread: slot.no, cpu, why: Stop::Exit, device: false });
                self.cpus.insert(cpu, (0, t));
            }
            self.push(t, Event::Exit { thread: slot.no });
        }
    }

    /// The thread of a number, made known where it is new, then in state `place`.
    fn slot(
        &mut self,
        pid: i32,
        comm: Option<Comm>,
        prio: Option<i32>,
        place: Place,
        found: &Found,
    ) -> &mut Slot {
        let named = |c: &Comm| !found.names.text(*c).is_empty();
        let comm = comm.filter(named).or_else(|| self.comms.get(&pid).copied().filter(named));
        let name = comm.map(|c| found.names.text(c));
        let slot = self.slots.entry(pid).or_insert_with(|| {
            let no = self.out.threads.len() as u32;
            let name = name.map_or_else(|| format!("thread {pid}"), str::to_string);
            self.out.threads.push(Thread { name, tid: pid, prio: prio.unwrap_or(120), policy: 0 });
            Slot { no, place, since_ns: self.out.begin_ns, early: None }
        });
        let thread = &mut self.out.threads[slot.no as usize];
        if let Some(name) = name.filter(|n| *n != thread.name) {
            thread.name = name.to_string();
        }
        // The priority that it had last.
        if let Some(prio) = prio {
            thread.prio = prio;
        }
        slot
    }

    /// The thread has been on the CPU since `since_ns`, though nobody said so.
    fn ran_before(&mut self, pid: i32, cpu: u32, since_ns: u64, found: &Found) {
        let new = !self.slots.contains_key(&pid);
        let slot = self.slot(pid, None, None, Place::Ready, found);
        let (no, at) = (slot.no, slot.since_ns.max(since_ns));
        (slot.place, slot.since_ns) = (Place::Running(cpu), at);
        if new {
            self.push(at, Event::Ready { thread: no, by: None, new: false });
        }
        self.push(at, Event::Run { thread: no, cpu });
    }

    #[allow(clippy::too_many_arguments)]
    fn leaves(&mut self, t: u64, cpu: u32, pid: i32, comm: Comm, prio: i32, state: State, found: &Found) {
        let on = self.cpus.get(&cpu).copied();
        // Somebody else was thought to run here: a switch is missing.
        if let Some((other, since)) = on.filter(|(other, _)| *other != pid && *other > 0) {
            self.out.mended += 1;
            if let Some(slot) = self.slots.get_mut(&other) {
                let no = slot.no;
                (slot.place, slot.since_ns) = (Place::Blocked, since);
                self.push(since, Event::Off { thread: no, cpu, why: Stop::Block, device: false });
            }
        }
        if pid <= 0 {
            return;
        }
        let since = on.map_or(self.out.begin_ns, |(_, since)| since);
        let running = matches!(self.slots.get(&pid), Some(s) if s.place == Place::Running(cpu));
        if !running {
            self.out.mended += u64::from(on.is_some());
            if let Some(Slot { no, place: Place::Running(elsewhere), .. }) = self.slots.get(&pid) {
                let (no, elsewhere) = (*no, *elsewhere);
                self.push(t, Event::Off { thread: no, cpu: elsewhere, why: Stop::Preempted, device: false });
                self.cpus.insert(elsewhere, (0, t));
            } else if let Some(slot) = self.slots.get(&pid).filter(|s| s.place == Place::Blocked) {
                let (no, at) = (slot.no, slot.since_ns.max(since));
                self.push(at, Event::Ready { thread: no, by: Some(Waker::Unknown), new: false });
            }
            self.ran_before(pid, cpu, since, found);
        }
        let slot = self.slot(pid, Some(comm), Some(prio), Place::Running(cpu), found);
        let no = slot.no;
        let (place, why) = match state {
            State::Runnable => (Place::Ready, Stop::Preempted),
            State::Dead => (Place::Blocked, Stop::Exit),
            State::Sleeps | State::Uninterruptible => (Place::Blocked, Stop::Block),
        };
        (slot.place, slot.since_ns) = (place, t);
        self.push(t, Event::Off { thread: no, cpu, why, device: state == State::Uninterruptible });
        match why {
            Stop::Preempted => {
                self.push(t, Event::Ready { thread: no, by: None, new: false });
                self.queues(t, pid, Some(cpu));
            }
            Stop::Exit => {
                self.slots.remove(&pid);
                self.push(t, Event::Exit { thread: no });
            }
            Stop::Block => {}
        }
        self.cpus.insert(cpu, (0, t));
    }

    fn comes(&mut self, t: u64, cpu: u32, pid: i32, comm: Comm, prio: i32, found: &Found) {
        self.cpus.insert(cpu, (pid, t));
        if pid <= 0 {
            return;
        }
        let known = self.slots.contains_key(&pid);
        let begin_ns = self.out.begin_ns;
        let slot = self.slot(pid, Some(comm), Some(prio), Place::Ready, found);
        let (no, place, since, early) = (slot.no, slot.place, slot.since_ns, slot.early.take());
        (slot.place, slot.since_ns) = (Place::Running(cpu), t);
        match place {
            // It was runnable when the recording began.
            Place::Ready if !known => self.push(begin_ns, Event::Ready { thread: no, by: None, new: false }),
            Place::Ready => {}
            Place::Blocked => {
                let at = if early.is_some() { since } else { t };
                let by = early.or(Some(Waker::Unknown));
                self.push(at, Event::Ready { thread: no, by, new: false });
            }
            Place::Running(elsewhere) => {
                self.out.mended += 1;
                self.push(t, Event::Off { thread: no, cpu: elsewhere, why: Stop::Preempted, device: false });
                self.push(t, Event::Ready { thread: no, by: None, new: false });
                if elsewhere != cpu {
                    self.cpus.insert(elsewhere, (0, t));
                }
            }
        }
        self.push(t, Event::Run { thread: no, cpu });
    }

    /// A thread that is able to run stands in the queue of this CPU.
    fn queues(&mut self, t: u64, pid: i32, cpu: Option<u32>) {
        let cpu = cpu.filter(|c| *c < self.out.nr_cpus);
        if let (Some(cpu), Some(slot)) = (cpu, self.slots.get(&pid).filter(|s| s.place == Place::Ready)) {
            self.out.queued.push((t, slot.no, cpu));
        }
    }

    fn wakes(&mut self, e: &Stamped, context: i32, pid: i32, comm: Comm, prio: i32, found: &Found) {
        if pid <= 0 {
            return;
        }
        let new = matches!(e.what, What::WakeupNew { .. });
        if new {
            self.gone(e.t_ns, pid);
        }
        let by = match (e.irq, self.slots.get(&context)) {
            (Some(true), _) => Waker::Interrupt,
            _ if context == 0 => Waker::Interrupt,
            (_, Some(Slot { no, place: Place::Running(_), .. })) if context > 0 => Waker::Thread(*no),
            _ => Waker::Unknown,
        };
        let waking = matches!(e.what, What::Waking { .. });
        let slot = self.slot(pid, Some(comm), Some(prio), Place::Blocked, found);
        match slot.place {
            Place::Blocked => {
                let no = slot.no;
                // What was begun while it ran is completed: who completes it is not who woke it.
                let by = slot.early.take().filter(|_| !waking).unwrap_or(by);
                (slot.place, slot.since_ns) = (Place::Ready, e.t_ns);
                self.push(e.t_ns, Event::Ready { thread: no, by: Some(by), new });
            }
            Place::Running(_) if waking => slot.early = Some(by),
            _ => {}
        }
    }
}

impl Recording {
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    /// Where events are missing, in sentences.
    pub fn gaps(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.lost > 0 {
            let events = plural(self.lost, "event");
            let are = if self.lost == 1 { "is" } else { "are" };
            out.push(format!(
                "at least {events} {are} missing, because the tool's buffers were full: as many switches and wake-ups may be wrong; \
                 record again with larger buffers"
            ));
        }
        if self.mended > 0 {
            let places = plural(self.mended, "place");
            out.push(format!(
                "at {places} an event contradicts those before it, because events between them are missing: each gap was closed \
                 with the fewest events that explain it; if there are many, record again with larger buffers"
            ));
        }
        out
    }

    /// Keeps what happened from `from_ns` to `to_ns` of the recording.
    ///
    /// Threads that run or wait at the beginning do so from there on.
    #[must_use]
    pub fn span(mut self, from_ns: u64, to_ns: u64) -> Self {
        let from = self.begin_ns.saturating_add(from_ns).min(self.end_ns);
        let to = self.begin_ns.saturating_add(to_ns).clamp(from, self.end_ns);
        let mut state: BTreeMap<u32, (bool, Option<u32>)> = BTreeMap::new();
        let mut kept = Vec::new();
        let mut clocks = BTreeMap::new();
        for &(t, event) in self.events.iter().filter(|e| e.0 < from) {
            match event {
                Event::Ready { thread, .. } => drop(state.insert(thread, (true, None))),
                Event::Run { thread, cpu } => drop(state.insert(thread, (true, Some(cpu)))),
                Event::Off { thread, .. } | Event::Exit { thread } => drop(state.remove(&thread)),
                Event::Frequency { cpu, khz } => drop(clocks.insert(cpu, khz)),
            }
            debug_assert!(t < from);
        }
        kept.extend(clocks.into_iter().map(|(cpu, khz)| (from, Event::Frequency { cpu, khz })));
        for (thread, (_, cpu)) in state {
            kept.push((from, Event::Ready { thread, by: None, new: false }));
            kept.extend(cpu.map(|cpu| (from, Event::Run { thread, cpu })));
        }
        kept.extend(self.events.iter().filter(|e| (from..=to).contains(&e.0)));
        self.events = kept;
        self.queued.retain(|q| (from..=to).contains(&q.0));
        self.marks.retain(|m| (from..=to).contains(&m.t_ns));
        (self.begin_ns, self.end_ns) = (from, to);
        self
    }

    /// Reports the recording to observers as a run, in time since its beginning. `groups` has the group of each thread.
    pub fn observe(&self, obs: &mut dyn Observer, groups: &[String]) {
        use event::Event as E;
        let mut ready: Vec<Option<(u64, bool)>> = vec![None; self.threads.len()];
        let mut ran: Vec<(u64, Option<u32>)> = vec![(0, None); self.threads.len()];
        let mut jobs = vec![(0u32, None); self.threads.len()];
        let mut last: BTreeMap<u32, u32> = BTreeMap::new();
        for (task, thread) in (0..).zip(&self.threads) {
            let group = groups.get(task as usize).map_or("", String::as_str);
            obs.event(0, &E::TaskNew { task, name: &thread.name, group });
            // Deadlines have no number there.
            if let Ok(prio) = u8::try_from(thread.prio) {
                let urgency = event::Urgency { prio, policy: thread.policy };
                obs.event(0, &E::Priority { task, urgency });
            }
        }
        for cpu in 0..self.nr_cpus {
            obs.event(0, &E::Idle { cpu, idle: true });
        }
        for &(at, event) in &self.events {
            let t = at - self.begin_ns;
            let no = match event {
                Event::Ready { thread, .. } | Event::Run { thread, .. } => thread,
                Event::Off { thread, .. } | Event::Exit { thread } => thread,
                Event::Frequency { cpu, khz } => {
                    obs.event(t, &E::Frequency { cpu, hz: khz.saturating_mul(1000) });
                    continue;
                }
            };
            let i = no as usize;
            match event {
                Event::Ready { by, .. } => {
                    let wakeup = by.is_some();
                    ready[i] = Some((t, wakeup));
                    if wakeup {
                        obs.event(
                            t,
                            &E::JobRelease { task: no, job: jobs[i].0, due_ns: t, deadline_ns: None },
                        );
                        jobs[i] = (jobs[i].0 + 1, Some(t));
                    }
                    obs.event(t, &E::Ready { task: no, wakeup });
                }
                Event::Run { cpu, .. } => {
                    let (since, wakeup) = ready[i].take().unwrap_or((t, false));
                    let migrated = ran[i].1.is_some_and(|c| c != cpu);
                    ran[i] = (t, Some(cpu));
                    let switched = last.insert(cpu, no) != Some(no);
                    obs.event(t, &E::Idle { cpu, idle: false });
                    let waited_ns = t - since;
                    obs.event(t, &E::Run { task: no, cpu, migrated, switched, wakeup, waited_ns });
                }
                Event::Off { cpu, why, .. } => {
                    let why = match why {
                        Stop::Preempted => event::Stop::Preempted,
                        Stop::Block => event::Stop::Block,
                        Stop::Exit => event::Stop::Exit,
                    };
                    obs.event(t, &E::Off { task: no, cpu, why, ran_ns: t - ran[i].0 });
                    obs.event(t, &E::Idle { cpu, idle: true });
                    if why != event::Stop::Preempted
                        && let Some(since) = jobs[i].1.take()
                    {
                        let (job, response_ns) = (jobs[i].0 - 1, t - since);
                        obs.event(t, &E::JobDone { task: no, job, response_ns, missed: false });
                    }
                }
                Event::Exit { .. } => obs.event(t, &E::TaskExit { task: no }),
                Event::Frequency { .. } => {}
            }
        }
    }
}
