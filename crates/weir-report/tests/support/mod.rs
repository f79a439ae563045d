// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random well-formed event streams, with a reference that paints every nanosecond.

#![allow(dead_code)] // every test binary uses its own part of it

pub mod perfetto;

use proptest::prelude::*;
use std::collections::BTreeMap;
use weir_core::event::{Call, Event, Observer, Stop};
use weir_report::Meta;

pub const CPUS: u32 = 3;
pub const TASKS: u32 = 5;

/// One step of a history: what to try, with whom, how much later, and a number to draw from.
pub type Step = (u8, u8, u16, u16);

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u8..12, any::<u8>(), 0u16..40, any::<u16>()), 0..150)
}

pub fn meta() -> Meta {
    Meta {
        runweir: "0.0.0".into(),
        topology: "toy".into(),
        machine: "smp-3".into(),
        workload: "random".into(),
        seed: 1,
        nr_cpus: CPUS,
        cpu_names: vec!["P 0".into(), "P 1".into(), "E 2".into()],
        pipes: vec!["entry".into(), "lb.out0".into()],
        instances: vec!["lb".into(), "rr@cpu0".into()],
        ..Meta::default()
    }
}

/// State of a CPU during one nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Idle,
    Busy(u32),
    Sched,
    Offline,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    Blocked,
    Ready { since: u64, wakeup: bool },
    Running { since: u64 },
    Gone,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub jobs: u64,
    pub done: u64,
    pub misses: u64,
    pub switches: u64,
    pub preemptions: u64,
    pub migrations: u64,
    pub picks: u64,
    pub lock_wait_ns: u64,
    pub energy_uj: u64,
    pub wait_ns: u64,
}

/// What the stream really said, computed the slow way.
#[derive(Debug, Default)]
pub struct Reference {
    pub end: u64,
    pub cpus: Vec<Vec<Paint>>,
    pub counts: Counts,
    pub responses: BTreeMap<u32, Vec<u64>>,
    pub wakeups: BTreeMap<u32, Vec<u64>>,
    pub waits: BTreeMap<u32, u64>,
    pub events: u64,
}

struct Run<'a> {
    now: u64,
    tasks: Vec<Task>,
    /// Release of the task's open job and its number.
    jobs: Vec<(Option<u64>, u32)>,
    last_cpu: Vec<Option<u32>>,
    running: Vec<Option<u32>>,
    last_task: Vec<Option<u32>>,
    online: Vec<bool>,
    /// When each CPU last came, went or lost its task, which can be twice in an instant.
    changed: Vec<u64>,
    out: &'a mut dyn Observer,
    reference: Reference,
}

/// Plays a history to an observer. Every stream is well formed: time never goes back, only online
/// and free CPUs run tasks, and scheduler calls of one CPU do not overlap.
pub fn play(steps: &[Step], out: &mut dyn Observer) -> Reference {
    let mut run = Run {
        now: 0,
        tasks: vec![Task::Blocked; TASKS as usize],
        jobs: vec![(None, 0); TASKS as usize],
        last_cpu: vec![None; TASKS as usize],
        running: vec![None; CPUS as usize],
        last_task: vec![None; CPUS as usize],
        online: vec![true; CPUS as usize],
        changed: vec![0; CPUS as usize],
        out,
        reference: Reference { cpus: vec![Vec::new(); CPUS as usize], ..Reference::default() },
    };
    for task in 0..TASKS {
        let name = ["plain", "<script>", "a,b\"c", "", "täsk"][task as usize];
        let group = ["g", "g", "", "h", ""][task as usize];
        run.emit(&Event::TaskNew { task, name, group });
    }
    for &step in steps {
        run.step(step);
    }
    run.advance(7);
    let mut reference = run.reference;
    reference.end = run.now;
    for (task, state) in (0..).zip(&run.tasks) {
        if let Task::Ready { since, .. } = state {
            *reference.waits.entry(task).or_default() += run.now - since;
        }
    }
    reference.counts.wait_ns = reference.waits.values().sum();
    reference
}

impl Run<'_> {
    fn emit(&mut self, event: &Event<'_>) {
        self.reference.events += 1;
        self.out.event(self.now, event);
    }

    fn advance(&mut self, ns: u64) {
        for cpu in 0..CPUS as usize {
            let paint = match (self.online[cpu], self.running[cpu]) {
                (false, _) => Paint::Offline,
                (true, Some(task)) => Paint::Busy(task),
                (true, None) => Paint::Idle,
            };
            let line = &mut self.reference.cpus[cpu];
            line.resize(line.len() + ns as usize, paint);
        }
        self.now += ns;
    }

    /// The CPU's last `want` nanoseconds become scheduler time, as far back as the CPU was in its
    /// present state.
    fn sched(&mut self, cpu: u32, call: Call, want: u64) {
        let line = &mut self.reference.cpus[cpu as usize];
        let (now, since) = match self.running[cpu as usize] {
            None => (Paint::Idle, self.changed[cpu as usize]),
            Some(task) => match self.tasks[task as usize] {
                Task::Running { since } => (Paint::Busy(task), since),
                _ => unreachable!(),
            },
        };
        let line_now = &line[since as usize..];
        let ns = line_now.iter().rev().take(want as usize).take_while(|p| **p == now).count();
        let from = line.len() - ns;
        line[from..].fill(Paint::Sched);
        let lock_wait_ns = ns as u64 / 3;
        self.reference.counts.lock_wait_ns += lock_wait_ns;
        self.reference.counts.picks += u64::from(call == Call::Pick);
        self.emit(&Event::Sched { cpu, call, ns: ns as u64, lock_wait_ns });
    }

    fn step(&mut self, (what, subject, dt, number): Step) {
        self.advance(u64::from(dt));
        let (task, cpu) = (u32::from(subject) % TASKS, u32::from(subject) % CPUS);
        let (t, c) = (task as usize, cpu as usize);
        match what {
            0 | 1 if self.tasks[t] == Task::Blocked => {
                self.tasks[t] = Task::Ready { since: self.now, wakeup: true };
                if number % 2 == 0 && self.jobs[t].0.is_none() {
                    self.jobs[t] = (Some(self.now), self.jobs[t].1 + 1);
                    self.reference.counts.jobs += 1;
                    let deadline_ns = (number % 4 == 0).then_some(self.now + 20);
                    self.emit(&Event::JobRelease {
                        task,
                        job: self.jobs[t].1,
                        due_ns: self.now,
                        deadline_ns,
                    });
                }
                self.emit(&Event::Ready { task, wakeup: true });
            }
            2..=4 if self.running[c].is_none() && self.online[c] => {
                self.sched(cpu, Call::Pick, u64::from(number % 9));
                let ready = |i: &u32| matches!(self.tasks[*i as usize], Task::Ready { .. });
                if let Some(task) = (0..TASKS).map(|i| (i + u32::from(number)) % TASKS).find(ready) {
                    self.run(task, cpu);
                }
            }
            5..=7 => {
                if let Some(task) = self.running[c] {
                    self.off(task, cpu, number);
                }
            }
            8 if self.online[c] => self.sched(cpu, Call::Unblock, u64::from(number % 30)),
            9 if self.running[c].is_none() => {
                self.online[c] = !self.online[c];
                self.changed[c] = self.now;
                self.emit(&Event::CpuOnline { cpu, online: self.online[c] });
            }
            10 => {
                self.emit(&Event::PipeDepth { pipe: u32::from(subject) % 3, depth: u32::from(number % 7) });
                self.emit(&Event::PipeLock { pipe: u32::from(subject) % 3, held_ns: 5, wait_ns: 2 });
                self.emit(&Event::InstanceTime { instance: cpu, ns: 4, updates: 1 });
            }
            11 => {
                self.reference.counts.energy_uj += 3;
                self.emit(&Event::Energy { uj: 3 });
                self.emit(&Event::Message {
                    topic: ["TICK", "PRIORITY"][t % 2],
                    cpu,
                    task: Some(task),
                    value: 1,
                });
                self.emit(&Event::Marker { text: "here" });
                self.emit(&Event::Kick { cpu });
                self.emit(&Event::Swap { from: "toy", to: "toy2", pause_ns: 9, represented: 2 });
                self.emit(&Event::Frequency { cpu, hz: 2_000_000_000 });
            }
            _ => {}
        }
    }

    fn run(&mut self, task: u32, cpu: u32) {
        let (t, c) = (task as usize, cpu as usize);
        let Task::Ready { since, wakeup } = self.tasks[t] else { unreachable!() };
        let waited_ns = self.now - since;
        let migrated = self.last_cpu[t].is_some_and(|last| last != cpu);
        let switched = self.last_task[c] != Some(task);
        *self.reference.waits.entry(task).or_default() += waited_ns;
        if wakeup {
            self.reference.wakeups.entry(task).or_default().push(waited_ns);
        }
        self.reference.counts.migrations += u64::from(migrated);
        self.reference.counts.switches += u64::from(switched);
        self.tasks[t] = Task::Running { since: self.now };
        (self.last_cpu[t], self.last_task[c], self.running[c]) = (Some(cpu), Some(task), Some(task));
        self.emit(&Event::Run { task, cpu, migrated, switched, wakeup, waited_ns });
    }

    fn off(&mut self, task: u32, cpu: u32, number: u16) {
        let t = task as usize;
        let Task::Running { since } = self.tasks[t] else { unreachable!() };
        let line = &self.reference.cpus[cpu as usize];
        let ran_ns = line[since as usize..].iter().filter(|p| **p == Paint::Busy(task)).count() as u64;
        let why = [Stop::Preempted, Stop::SliceEnd, Stop::Yield, Stop::Block, Stop::Block, Stop::Exit]
            [number as usize % 6];
        self.running[cpu as usize] = None;
        self.changed[cpu as usize] = self.now;
        let ends = matches!(why, Stop::Block | Stop::Exit);
        if let (true, (Some(release), job)) = (ends, self.jobs[t]) {
            let response_ns = self.now - release;
            self.jobs[t].0 = None;
            let missed = number.is_multiple_of(5);
            if missed {
                self.reference.counts.misses += 1;
                self.emit(&Event::DeadlineMiss { task, job, deadline_ns: self.now });
            }
            self.reference.counts.done += 1;
            self.reference.responses.entry(task).or_default().push(response_ns);
            self.emit(&Event::JobDone { task, job, response_ns, missed });
        }
        self.emit(&Event::Off { task, cpu, why, ran_ns });
        self.tasks[t] = match why {
            Stop::Exit => Task::Gone,
            Stop::Block => Task::Blocked,
            _ => Task::Ready { since: self.now, wakeup: false },
        };
        match why {
            Stop::Exit => self.emit(&Event::TaskExit { task }),
            Stop::Block => {}
            _ => self.emit(&Event::Ready { task, wakeup: false }),
        }
        let confirmed = matches!(why, Stop::SliceEnd | Stop::Yield) && number % 7 < 3;
        if confirmed {
            self.emit(&Event::Preempted { task, cpu });
        }
        self.reference.counts.preemptions += u64::from(confirmed || why == Stop::Preempted);
    }
}
