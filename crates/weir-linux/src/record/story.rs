// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The meaning of the kernel's events: which task runs where, since when, and the consequences.
//!
//! The stream may have holes (the ring was full, or the recording began in the middle). An event that
//! contradicts the known state shows which events were lost; the gap is closed at the time of that event
//! with the fewest events that make the stream whole, and counted in [`Counts::mended`].

use std::collections::{BTreeMap, VecDeque};

use weir_core::Topic;
use weir_core::event::{Call, Event, Observer, Stop, TaskNo};

use super::{Counts, Identity, Resolve, Thread};
use crate::event::{LiveEvent, LiveEventKind, Waker};

/// A swap's report and its event are about the same one if they are nearer than this, ns.
const NEAR_NS: u64 = 1_000_000_000;
/// How often a new task's name is asked for: a thread has its maker's until it names itself.
const LOOKS: u32 = 8;

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing was heard of it yet, or what was heard has a hole.
    Unknown,
    Blocked,
    Ready {
        since_ns: u64,
        wakeup: bool,
    },
    Running {
        cpu: u32,
    },
}

/// A task that the kernel knows by a number.
#[derive(Debug)]
struct Slot {
    no: TaskNo,
    place: Place,
    /// Where it ran last.
    cpu: Option<u32>,
    /// Jobs released so far.
    jobs: u32,
    /// Release of the job that is not done yet.
    released_ns: Option<u64>,
    /// A deadline miss of that job was reported.
    missed: bool,
    /// CPU that remembers it as `sliced`.
    sliced_on: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    /// Kernel's number of the task that runs.
    curr: Option<u32>,
    run_since_ns: u64,
    /// Time in the scheduler since then.
    nested_ns: u64,
    /// Up to here the CPU's time is given to a task that left, or to the scheduler.
    used_until_ns: u64,
    /// The task that ran last.
    last: Option<TaskNo>,
    /// Its slice ended here: it was displaced if another follows.
    sliced: Option<TaskNo>,
    idle: Option<bool>,
    offline: bool,
}

/// Turns the kernel's events, in order of time, into those of reports.
pub(super) struct Story<O> {
    pub obs: O,
    resolve: Resolve,
    slots: Vec<Option<Slot>>,
    /// The tasks with a slot, by the number of their thread.
    by_pid: BTreeMap<u32, TaskNo>,
    cpus: Vec<Cpu>,
    pub threads: Vec<Thread>,
    /// Topology in charge, and those that took over since, with the time (CLOCK_MONOTONIC) of it.
    topology: String,
    coming: VecDeque<(u64, String)>,
    /// Updates of each instance that were recorded so far.
    updates: BTreeMap<u32, u64>,
    /// New tasks, by the kernel's number, and how often their names are still asked for.
    fresh: Vec<(u32, u32)>,
    pub counts: Counts,
    pub now_ns: u64,
}

impl<O: Observer> Story<O> {
    pub fn new(topology: &str, obs: O, resolve: Resolve) -> Self {
        Self {
            obs,
            resolve,
            slots: Vec::new(),
            by_pid: BTreeMap::new(),
            cpus: Vec::new(),
            threads: Vec::new(),
            topology: topology.into(),
            coming: VecDeque::new(),
            updates: BTreeMap::new(),
            fresh: Vec::new(),
            counts: Counts::default(),
            now_ns: 0,
        }
    }

    /// A topology took over at `at_ns`; the event of it is still to come.
    pub fn changed(&mut self, at_ns: u64, topology: &str) {
        self.coming.push_back((at_ns, topology.into()));
    }

    /// A topology is known that took over at about `at_ns`.
    pub fn knows(&self, at_ns: u64) -> bool {
        self.coming.iter().any(|c| c.0.abs_diff(at_ns) < NEAR_NS)
    }

    /// Asks for the names of tasks that were announced lately.
    pub fn name_new_tasks(&mut self, name: impl Fn(u32) -> Option<String>) {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.retain_mut(|(task, looks)| {
            let Some(Some(slot)) = self.slots.get(*task as usize) else { return false };
            let thread = &self.threads[slot.no as usize];
            let (pid, tgid) = (thread.pid, thread.tgid);
            if let Some(comm) = name(pid).filter(|_| pid != 0) {
                self.learn(*task, Identity { pid, tgid, comm, urgency: None });
            }
            *looks -= 1;
            *looks > 0
        });
        self.fresh = fresh;
    }

    /// Tasks in each pipe, from a snapshot of the topology named.
    pub fn depths(&mut self, t_ns: u64, topology: &str, depths: &[u32]) {
        self.now_ns = self.now_ns.max(t_ns);
        if topology == self.topology {
            for (pipe, &depth) in (0..).zip(depths) {
                self.emit(&Event::PipeDepth { pipe, depth });
            }
        }
    }

    /// Updates of each instance so far, from a snapshot of the topology named.
    pub fn updates(&mut self, topology: &str, updates: &[u64]) {
        if topology != self.topology {
            return;
        }
        for (instance, &now) in (0..).zip(updates) {
            let before = self.updates.insert(instance, now).unwrap_or(0);
            // A counter that went back started over.
            let new = if now >= before { now - before } else { now };
            if new > 0 {
                let updates = u32::try_from(new).unwrap_or(u32::MAX);
                self.emit(&Event::InstanceTime { instance, ns: 0, updates });
            }
        }
    }

    /// A landmark.
    pub fn marker(&mut self, t_ns: u64, text: &str) {
        self.now_ns = self.now_ns.max(t_ns);
        self.emit(&Event::Marker { text });
    }

    /// The next event. `t_ns` counts from the recording's start and never goes back; `at_ns` is the same
    /// as CLOCK_MONOTONIC.
    pub fn event(&mut self, t_ns: u64, at_ns: u64, event: &LiveEvent) {
        self.now_ns = self.now_ns.max(t_ns);
        let cpu = event.cpu;
        match event.kind {
            LiveEventKind::Task { task, pid, tgid, urgency, ref comm } => {
                self.announce(task, Identity { pid, tgid, comm: comm.clone(), urgency: Some(urgency) });
            }
            LiveEventKind::Exit { task } => self.exit(task),
            LiveEventKind::Ready { task, wakeup, by } => self.ready(task, wakeup, by),
            LiveEventKind::Run { task } => self.run(task, cpu),
            LiveEventKind::Off { task, why } => self.off(task, cpu, why),
            LiveEventKind::Idle { idle } => self.idle(cpu, idle),
            LiveEventKind::Kick => self.emit(&Event::Kick { cpu }),
            LiveEventKind::Message { topic, task, value } => self.message(topic, cpu, task, value),
            LiveEventKind::Swap { pause_ns, represented } => self.swap(at_ns, pause_ns, represented),
            LiveEventKind::Online { online } => self.online(cpu, online),
            LiveEventKind::Sched { call, ns } => self.sched(cpu, call, ns),
        }
    }

    fn emit(&mut self, event: &Event<'_>) {
        self.obs.event(self.now_ns, event);
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        if self.cpus.len() <= cpu as usize {
            self.cpus.resize(cpu as usize + 1, Cpu::default());
        }
        &mut self.cpus[cpu as usize]
    }

    /// The task is known by this number from now on.
    fn announce(&mut self, task: u32, identity: Identity) {
        if self.slots.len() <= task as usize {
            self.slots.resize_with(task as usize + 1, || None);
        }
        if let Some(slot) = &self.slots[task as usize] {
            let thread = &self.threads[slot.no as usize];
            if thread.pid == identity.pid || thread.pid == 0 {
                let no = slot.no;
                return self.rename(no, identity);
            }
            // Another task has the number: the end of the one before was lost.
            self.counts.mended += 1;
            self.exit(task);
        }
        let no = self.threads.len() as TaskNo;
        self.slots[task as usize] = Some(Slot {
            no,
            place: Place::Unknown,
            cpu: None,
            jobs: 0,
            released_ns: None,
            missed: false,
            sliced_on: None,
        });
        let Identity { pid, tgid, comm, urgency } = identity;
        self.by_pid.insert(pid, no);
        let name = if comm.is_empty() { format!("task {no}") } else { comm };
        self.emit(&Event::TaskNew { task: no, name: &name, group: group(&name) });
        let (began_ns, ended_ns) = (self.now_ns, None);
        self.threads.push(Thread { pid, tgid, name, urgency, began_ns, ended_ns });
        if let Some(urgency) = urgency {
            self.emit(&Event::Priority { task: no, urgency });
        }
        self.fresh.push((task, LOOKS));
    }

    /// The task goes by another name now: it executed a program, or named itself.
    fn rename(&mut self, no: TaskNo, identity: Identity) {
        let thread = &mut self.threads[no as usize];
        if thread.pid != identity.pid {
            self.by_pid.insert(identity.pid, no);
        }
        (thread.pid, thread.tgid) = (identity.pid, identity.tgid);
        let urgency = identity.urgency.filter(|new| thread.urgency != Some(*new));
        thread.urgency = urgency.or(thread.urgency);
        if thread.name != identity.comm && !identity.comm.is_empty() {
            thread.name.clone_from(&identity.comm);
            self.emit(&Event::TaskName { task: no, name: &identity.comm, group: group(&identity.comm) });
        }
        if let Some(urgency) = urgency {
            self.emit(&Event::Priority { task: no, urgency });
        }
    }

    /// The task's record; one that was not announced is asked for.
    fn slot(&mut self, task: u32) -> &mut Slot {
        if self.slots.get(task as usize).is_none_or(Option::is_none) {
            let identity = (self.resolve)(task).unwrap_or_else(|| {
                self.counts.nameless += 1;
                Identity::default()
            });
            self.announce(task, identity);
        }
        self.slots[task as usize].as_mut().expect("announced just now")
    }

    /// The name that the task has now, where that is known better than from events.
    pub fn learn(&mut self, task: u32, identity: Identity) {
        if let Some(Some(slot)) = self.slots.get(task as usize) {
            let (no, pid) = (slot.no, self.threads[slot.no as usize].pid);
            if pid == identity.pid || pid == 0 {
                self.rename(no, identity);
            }
        }
    }

    fn exit(&mut self, task: u32) {
        let Some(slot) = self.slots.get(task as usize).and_then(Option::as_ref) else { return };
        let no = slot.no;
        if let Place::Running { .. } = slot.place {
            self.depart(task, Stop::Exit, true);
        }
        let slot = self.slots[task as usize].take();
        if let Some(cpu) = slot.and_then(|s| s.sliced_on) {
            self.cpu(cpu).sliced.take_if(|sliced| *sliced == no);
        }
        let thread = &mut self.threads[no as usize];
        thread.ended_ns = Some(self.now_ns);
        if self.by_pid.get(&thread.pid) == Some(&no) {
            self.by_pid.remove(&thread.pid);
        }
        self.emit(&Event::TaskExit { task: no });
    }

    fn ready(&mut self, task: u32, wakeup: bool, by: Waker) {
        let now_ns = self.now_ns;
        match self.slot(task).place {
            // Reported twice; it waits since the first time.
            Place::Ready { .. } => return,
            Place::Running { .. } => {
                self.counts.mended += 1;
                self.depart(task, if wakeup { Stop::Block } else { Stop::SliceEnd }, false);
            }
            Place::Unknown | Place::Blocked => {}
        }
        let slot = self.slot(task);
        slot.place = Place::Ready { since_ns: now_ns, wakeup };
        let no = slot.no;
        if wakeup {
            let job = slot.jobs;
            slot.jobs += 1;
            slot.released_ns = Some(now_ns);
            slot.missed = false;
            self.emit(&Event::JobRelease { task: no, job, due_ns: now_ns, deadline_ns: None });
        }
        // The task itself is current where a wake-up takes effect at once, such as that of a thread about to sleep.
        let by = match by {
            Waker::Interrupt => Some(None),
            Waker::Thread(pid) => {
                self.by_pid.get(&pid).filter(|by| **by != no && pid != 0).map(|by| Some(*by))
            }
            Waker::Unknown => None,
        };
        if let (true, Some(by)) = (wakeup, by) {
            self.emit(&Event::Woken { task: no, by });
        }
        self.emit(&Event::Ready { task: no, wakeup });
    }

    fn run(&mut self, task: u32, cpu: u32) {
        if let Place::Running { cpu: at } = self.slot(task).place {
            if at == cpu {
                return;
            }
            self.counts.mended += 1;
            self.depart(task, Stop::SliceEnd, false);
        }
        if let Some(other) = self.cpu(cpu).curr {
            self.counts.mended += 1;
            self.depart(other, Stop::SliceEnd, false);
        }
        self.begin(task, cpu, true);
    }

    /// The task begins to run on a CPU that is free. `sound`: how long it waited is known.
    fn begin(&mut self, task: u32, cpu: u32, sound: bool) {
        let now_ns = self.now_ns;
        if self.cpu(cpu).offline {
            self.counts.mended += 1;
            self.online(cpu, true);
        }
        let slot = self.slot(task);
        let no = slot.no;
        let (waited_ns, wakeup) = match slot.place {
            Place::Ready { since_ns, wakeup } => (now_ns - since_ns, wakeup && sound),
            _ => (0, false),
        };
        let migrated = slot.cpu.is_some_and(|last| last != cpu);
        slot.cpu = Some(cpu);
        slot.place = Place::Running { cpu };
        if let Some(before) = slot.sliced_on.take().filter(|before| *before != cpu) {
            // It went on here before anybody took its place there.
            self.cpu(before).sliced.take_if(|sliced| *sliced == no);
        }
        let on = self.cpu(cpu);
        on.curr = Some(task);
        on.run_since_ns = now_ns;
        on.nested_ns = 0;
        let switched = on.last.replace(no) != Some(no);
        let displaced = on.sliced.take().filter(|before| *before != no);
        if let Some(before) = displaced {
            self.emit(&Event::Preempted { task: before, cpu });
        }
        if self.cpu(cpu).idle.replace(false) == Some(true) {
            self.emit(&Event::Idle { cpu, idle: false });
        }
        self.emit(&Event::Run { task: no, cpu, migrated, switched, wakeup, waited_ns });
    }

    fn off(&mut self, task: u32, cpu: u32, why: Stop) {
        if let Place::Ready { .. } = self.slot(task).place {
            // It must have begun to run in between; how long it waited is not known.
            self.counts.mended += 1;
            if let Some(other) = self.cpu(cpu).curr {
                self.depart(other, Stop::SliceEnd, false);
            }
            self.begin(task, cpu, false);
        }
        self.depart(task, why, true);
    }

    /// The task leaves its CPU, if it is on one. `sound`: why is known.
    fn depart(&mut self, task: u32, why: Stop, sound: bool) {
        let now_ns = self.now_ns;
        let slot = self.slot(task);
        let no = slot.no;
        let next = if why == Stop::Block && sound { Place::Blocked } else { Place::Unknown };
        let before = std::mem::replace(&mut slot.place, next);
        let ended = sound && matches!(why, Stop::Block | Stop::Exit);
        let job = slot.jobs.saturating_sub(1);
        // Where the end is not known, the job has none.
        let released = match why {
            Stop::Block | Stop::Exit => slot.released_ns.take(),
            _ => None,
        };
        if let Place::Running { cpu } = before {
            let sliced = why == Stop::SliceEnd && sound;
            slot.sliced_on = sliced.then_some(cpu);
            let on = self.cpu(cpu);
            on.curr = None;
            on.used_until_ns = now_ns;
            on.sliced = sliced.then_some(no);
            let ran_ns = now_ns - on.run_since_ns - on.nested_ns;
            self.emit(&Event::Off { task: no, cpu, why, ran_ns });
        }
        if let (Some(released_ns), true) = (released, ended) {
            let response_ns = now_ns - released_ns;
            self.emit(&Event::JobDone { task: no, job, response_ns, missed: false });
        }
    }

    fn idle(&mut self, cpu: u32, idle: bool) {
        if let (true, Some(task)) = (idle, self.cpu(cpu).curr) {
            self.counts.mended += 1;
            self.depart(task, Stop::SliceEnd, false);
        }
        let on = self.cpu(cpu);
        if idle {
            on.sliced = None;
        }
        if on.idle.replace(idle) != Some(idle) {
            self.emit(&Event::Idle { cpu, idle });
        }
    }

    fn message(&mut self, topic: u32, cpu: u32, task: Option<u32>, value: u64) {
        let standard = Topic::all().nth(topic as usize);
        let no = task.map(|task| self.slot(task).no);
        let own;
        let name = match standard {
            Some(topic) => topic.name(),
            None => {
                own = format!("topic {topic}");
                &own
            }
        };
        self.emit(&Event::Message { topic: name, cpu, task: no, value });
        match (standard, task) {
            (Some(Topic::Marker), _) => self.emit(&Event::Marker { text: &format!("marker {value}") }),
            (Some(Topic::DeadlineMiss), Some(task)) => self.missed(task),
            _ => {}
        }
    }

    /// A component reported that the task missed its deadline: counted once a job.
    fn missed(&mut self, task: u32) {
        let deadline_ns = self.now_ns;
        let slot = self.slot(task);
        if !std::mem::replace(&mut slot.missed, true) {
            let (no, job) = (slot.no, slot.jobs.saturating_sub(1));
            self.emit(&Event::DeadlineMiss { task: no, job, deadline_ns });
        }
    }

    fn swap(&mut self, at_ns: u64, pause_ns: u64, represented: u32) {
        // The one that is nearest in time: where an event was lost, its name must not go to the next.
        let nearest = self.coming.iter().enumerate().min_by_key(|(_, c)| c.0.abs_diff(at_ns));
        let to = match nearest.map(|(i, c)| (i, c.0.abs_diff(at_ns))) {
            Some((i, away)) if away < NEAR_NS => {
                self.coming.drain(..=i).next_back().expect("there are more than i").1
            }
            _ => self.topology.clone(),
        };
        let from = std::mem::replace(&mut self.topology, to.clone());
        self.updates.clear();
        self.emit(&Event::Swap { from: &from, to: &to, pause_ns, represented });
    }

    fn online(&mut self, cpu: u32, online: bool) {
        if let (false, Some(task)) = (online, self.cpu(cpu).curr) {
            self.counts.mended += 1;
            self.depart(task, Stop::SliceEnd, false);
        }
        let now_ns = self.now_ns;
        let on = self.cpu(cpu);
        if std::mem::replace(&mut on.offline, !online) == online {
            on.used_until_ns = now_ns;
            self.emit(&Event::CpuOnline { cpu, online });
        }
    }

    /// The CPU was in the core for `ns` until now.
    fn sched(&mut self, cpu: u32, call: Call, ns: u64) {
        let now_ns = self.now_ns;
        let on = self.cpu(cpu);
        if on.offline {
            return self.emit(&Event::Sched { cpu, call, ns: 0, lock_wait_ns: 0 });
        }
        // No time is spent twice: calls of a CPU follow each other, and a task that left had its own.
        let begin_ns = now_ns.saturating_sub(ns).max(on.used_until_ns);
        let ns = now_ns - begin_ns;
        on.used_until_ns = now_ns;
        if on.curr.is_some() {
            on.nested_ns += now_ns - begin_ns.max(on.run_since_ns);
        }
        self.emit(&Event::Sched { cpu, call, ns, lock_wait_ns: 0 });
    }
}

/// Tasks of one group are summed up together. Kernel workers have their purpose behind a slash or a
/// colon, and there are many of each kind; other tasks of one name are one group.
fn group(name: &str) -> &str {
    match name.find(['/', ':']) {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}
