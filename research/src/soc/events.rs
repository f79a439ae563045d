// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the simulator reports, as events of a run.

use weir_core::event::{Call, Event, Observer, Stop};

// Kinds of reports of the kernel: hw/soc/kernel/kernel.h.
const NEW: u32 = 1;
const NAME: u32 = 2;
const READY: u32 = 3;
const RUN: u32 = 4;
const BLOCK: u32 = 5;
const LEAVE: u32 = 6;
const YIELD: u32 = 7;
const MARK: u32 = 8;
const JOB: u32 = 11;
const DONE: u32 = 12;

/// What idles, in reports.
const NOBODY: u32 = 200;

#[derive(Clone, Copy, PartialEq)]
enum Is {
    Away,
    Ready { since: u64, wakeup: bool },
    Running { since: u64, cpu: u32 },
}

/// A thread number can be used again; each use is a task of its own.
struct Thread {
    task: u32,
    name: String,
    announced: bool,
    is: Is,
    last_cpu: Option<u32>,
    yields: bool,
    /// Woken while it still ran.
    woken: bool,
    job: u32,
    released: u64,
}

/// Turns reports into events, in nanoseconds.
pub struct Translator<'a> {
    observer: &'a mut dyn Observer,
    ns_per_clock: f64,
    threads: Vec<Option<Thread>>,
    running: Vec<Option<usize>>,
    next_task: u32,
}

impl<'a> Translator<'a> {
    pub fn new(observer: &'a mut dyn Observer, cpus: u32, hz: u64) -> Self {
        let mut this = Self {
            observer,
            ns_per_clock: 1e9 / hz as f64,
            threads: Vec::new(),
            running: vec![None; cpus as usize],
            next_task: 0,
        };
        for cpu in 0..cpus {
            this.emit(0, &Event::Idle { cpu, idle: true });
        }
        this
    }

    pub fn ns(&self, clocks: u64) -> u64 {
        (clocks as f64 * self.ns_per_clock).round() as u64
    }

    fn emit(&mut self, clock: u64, event: &Event<'_>) {
        let at = self.ns(clock);
        self.observer.event(at, event);
    }

    fn thread(&mut self, id: usize, clock: u64) -> Option<&mut Thread> {
        let unannounced = matches!(self.threads.get(id), Some(Some(t)) if !t.announced);
        if unannounced {
            let t = self.threads[id].as_mut().expect("just looked at");
            t.announced = true;
            let (task, name) = (t.task, t.name.clone());
            // Threads of one kind are a group: the name without its number.
            let group = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').to_string();
            self.emit(clock, &Event::TaskNew { task, name: &name, group: &group });
        }
        self.threads.get_mut(id)?.as_mut()
    }

    /// A CPU was in the kernel for so many clocks, ending now.
    pub fn kernel(&mut self, clock: u64, cpu: u32, clocks: u64) {
        let ns = self.ns(clocks);
        self.emit(clock, &Event::Sched { cpu, call: Call::Pick, ns, lock_wait_ns: 0 });
    }

    pub fn woken(&mut self, clock: u64, id: u32) {
        self.ready(clock, id as usize, true);
    }

    fn ready(&mut self, clock: u64, id: usize, wakeup: bool) {
        let Some(t) = self.thread(id, clock) else { return };
        match t.is {
            Is::Away => {
                t.is = Is::Ready { since: clock, wakeup };
                let task = t.task;
                self.emit(clock, &Event::Ready { task, wakeup });
            }
            Is::Running { .. } => t.woken = true,
            Is::Ready { .. } => {}
        }
    }

    fn stop(&mut self, clock: u64, id: usize, why: Stop) {
        let ns_per = self.ns_per_clock;
        let Some(t) = self.thread(id, clock) else { return };
        let Is::Running { since, cpu } = t.is else { return };
        t.is = Is::Away;
        let (task, ran) = (t.task, ((clock - since) as f64 * ns_per).round() as u64);
        self.running[cpu as usize] = None;
        self.emit(clock, &Event::Off { task, cpu, why, ran_ns: ran });
    }

    /// A report of the kernel.
    pub fn report(&mut self, clock: u64, cpu: u32, kind: u32, value: u32) {
        let id = (value >> 8) as usize;
        match kind {
            NEW => {
                if self.threads.len() <= id {
                    self.threads.resize_with(id + 1, || None);
                }
                self.threads[id] = Some(Thread {
                    task: self.next_task,
                    name: String::new(),
                    announced: false,
                    is: Is::Away,
                    last_cpu: None,
                    yields: false,
                    woken: false,
                    job: 0,
                    released: clock,
                });
                self.next_task += 1;
            }
            NAME => {
                if let Some(Some(t)) = self.threads.get_mut(id) {
                    t.name.push(char::from(value as u8));
                }
            }
            READY => {
                let id = value as usize;
                // The kernel puts a thread back that it has just taken the CPU from.
                let runs = matches!(self.threads.get(id), Some(Some(Thread { is: Is::Running { .. }, .. })));
                if runs {
                    let yields = self.threads[id].as_mut().is_some_and(|t| std::mem::take(&mut t.yields));
                    self.stop(clock, id, if yields { Stop::Yield } else { Stop::Preempted });
                    self.ready(clock, id, false);
                } else {
                    self.ready(clock, id, true);
                }
            }
            RUN => self.run(clock, cpu, value),
            BLOCK | LEAVE => {
                let id = value as usize;
                let why = if kind == BLOCK { Stop::Block } else { Stop::Exit };
                self.stop(clock, id, why);
                let Some(t) = self.thread(id, clock) else { return };
                let (task, woken) = (t.task, std::mem::take(&mut t.woken));
                if kind == LEAVE {
                    self.emit(clock, &Event::TaskExit { task });
                    self.threads[id] = None;
                } else if woken {
                    self.ready(clock, id, true);
                }
            }
            YIELD => {
                if let Some(t) = self.thread(value as usize, clock) {
                    t.yields = true;
                }
            }
            MARK => self.emit(clock, &Event::Marker { text: &format!("mark {value}") }),
            JOB | DONE => self.job(clock, kind == DONE, value),
            _ => {}
        }
    }

    fn run(&mut self, clock: u64, cpu: u32, value: u32) {
        let id = value as usize;
        // Whom this displaces, if nothing was said of it: hardware put it back.
        if let Some(old) = self.running[cpu as usize].filter(|o| *o != id) {
            let yields = self.threads[old].as_mut().is_some_and(|t| std::mem::take(&mut t.yields));
            self.stop(clock, old, if yields { Stop::Yield } else { Stop::Preempted });
            self.ready(clock, old, false);
        }
        if value == NOBODY {
            self.emit(clock, &Event::Idle { cpu, idle: true });
            return;
        }
        // Of several CPUs one can have a thread before the one that it left says so.
        let elsewhere = |t: &mut Thread| matches!(t.is, Is::Running { cpu: c, .. } if c != cpu);
        if self.thread(id, clock).is_some_and(elsewhere) {
            self.stop(clock, id, Stop::Preempted);
            self.ready(clock, id, false);
        }
        let idle = self.running[cpu as usize].is_none();
        if idle {
            self.emit(clock, &Event::Idle { cpu, idle: false });
        }
        if matches!(self.thread(id, clock), Some(t) if t.is == Is::Away) {
            self.ready(clock, id, true);
        }
        let ns_per = self.ns_per_clock;
        let Some(t) = self.thread(id, clock) else { return };
        let (since, wakeup) = match t.is {
            Is::Ready { since, wakeup } => (since, wakeup),
            Is::Running { .. } | Is::Away => return,
        };
        let migrated = t.last_cpu.is_some_and(|c| c != cpu);
        t.is = Is::Running { since: clock, cpu };
        t.last_cpu = Some(cpu);
        t.woken = false;
        let (task, waited_ns) = (t.task, ((clock - since) as f64 * ns_per).round() as u64);
        self.running[cpu as usize] = Some(id);
        self.emit(clock, &Event::Run { task, cpu, migrated, switched: true, wakeup, waited_ns });
    }

    /// A periodic task begins or ends a job. `value`: thread.
    fn job(&mut self, clock: u64, done: bool, value: u32) {
        let ns_per = self.ns_per_clock;
        let Some(t) = self.thread(value as usize, clock) else { return };
        let task = t.task;
        if done {
            let (job, response) = (t.job, ((clock - t.released) as f64 * ns_per).round() as u64);
            t.job += 1;
            self.emit(clock, &Event::JobDone { task, job, response_ns: response, missed: false });
        } else {
            t.released = clock;
            let (job, due_ns) = (t.job, (clock as f64 * ns_per).round() as u64);
            self.emit(clock, &Event::JobRelease { task, job, due_ns, deadline_ns: None });
        }
    }
}
