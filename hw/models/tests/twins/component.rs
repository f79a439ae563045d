// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A component under the engine's clock: jobs come and end at ticks, CPUs change their tasks at ticks only.

use weir_core::{Config, MachineShape, Msg, OutMsg, Sched, TaskId, Topic, catalog};
use weir_hw::engine::{Event, Task, Terms};
use weir_lang::{NoIncludes, Source};

use crate::history::{Action, History, Tick};

/// A tick, ns; the topology below says the same.
const TICK_NS: u64 = 1_000_000;
/// The engine's tick 0: so late that a job of time 0 is more urgent than all others.
const BEGIN_NS: u64 = 1_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `laxity` with `eager = false`: decides for all CPUs, as the engine, by laxity, deadline, or deadline until zero laxity.
    Laxity(u32),
    /// Orders: at each tick all CPUs give up their tasks and ask again.
    Edf,
    Edzl,
    /// EDF with servers: each task is a group of its own, whose quota is the budget.
    Served,
    /// Deadlines of two modes, for one CPU. Virtual deadlines are half of the others.
    EdfVd,
}

impl Kind {
    fn topology(self) -> String {
        match self {
            Kind::Laxity(by) => format!(
                "annotate affinity, deadline, executed, job;\n\
                 entry -> p :: laxity(by = {by}, tick = 1ms, eager = false) -> each cpu {{ -> cpu }};"
            ),
            Kind::Served => "annotate affinity, bandwidth(slice = 1ms), deadline;\n\
                             entry -> throttle -> edf -> cpus;"
                .into(),
            Kind::EdfVd => "annotate affinity, criticality, deadline, executed, job;\n\
                            entry -> edf_vd(x = 50%) -> cpus;"
                .into(),
            Kind::Edf => "annotate affinity, deadline;\nentry -> edf -> cpus;".into(),
            Kind::Edzl => "annotate affinity, deadline, executed, job;\nentry -> edzl -> cpus;".into(),
        }
    }

    /// Did component and engine decide the same, as far as they promise? Orders do not say on which CPU, nor, unless all
    /// jobs are of `distinct` urgency, which of several equals.
    pub fn agree(self, history: &History, got: &[Option<usize>], distinct: bool) -> Result<(), String> {
        let engine = &history.engine;
        let same = match self {
            Kind::Laxity(_) => engine.cpus() == got,
            _ if distinct => {
                let chosen = |cpus: &[Option<usize>]| {
                    let mut all: Vec<_> = cpus.iter().flatten().copied().collect();
                    all.sort();
                    all
                };
                chosen(engine.cpus()) == chosen(got)
            }
            _ => {
                let urgencies = |cpus: &[Option<usize>]| {
                    // Jobs that were set aside are equals there.
                    let urgency = |n: &usize| (!engine.aside(*n)).then(|| engine.urgency(*n));
                    let mut all: Vec<_> = cpus.iter().flatten().map(urgency).collect();
                    all.sort();
                    all
                };
                urgencies(engine.cpus()) == urgencies(got)
            }
        };
        if same {
            return Ok(());
        }
        let rows: String = (0..history.tasks.len())
            .filter(|n| engine.ready(*n))
            .map(|n| format!("\n  task {n}: deadline in {}, work {}", engine.time_left(n), engine.left(n)))
            .collect();
        Err(format!("the engine gives {:?}, the component {got:?}{rows}", engine.cpus()))
    }
}

pub struct Component {
    kind: Kind,
    sched: Sched,
    tasks: Vec<TaskId>,
    admitted: Vec<bool>,
    /// A job is there and has not ended.
    active: Vec<bool>,
    /// Absolute and relative deadlines of the jobs, ns.
    deadlines: Vec<(u64, u64)>,
    /// By CPU: the task in a section that is not preempted.
    held: Vec<Option<usize>>,
    running: Vec<Option<usize>>,
}

impl Component {
    pub fn new(kind: Kind, tasks: usize, cpus: usize) -> Component {
        let shape = MachineShape::flat(cpus as u32);
        let source = Source { name: "twin.weir".into(), text: kind.topology() };
        let plan = weir_lang::compile(&source, &NoIncludes, catalog(), &shape, &[])
            .map_err(|all| all.iter().map(|d| d.to_string()).collect::<String>())
            .expect("the topology compiles")
            .plan;
        let config =
            Config { nr_cpus: cpus as u32, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
        let mut sched = Sched::new(&config).expect("an arena");
        sched.load(&plan).expect("the plan loads");
        let tasks: Vec<TaskId> = (0..tasks).map(|_| sched.task_new(0, 0).expect("room for tasks")).collect();
        let n = tasks.len();
        Component {
            kind,
            sched,
            tasks,
            admitted: vec![false; n],
            active: vec![false; n],
            deadlines: vec![(0, 0); n],
            held: vec![None; cpus],
            running: vec![None; cpus],
        }
    }

    fn at(&mut self, now_ns: u64) {
        self.sched.set_now(now_ns);
    }

    fn cpu_of(&mut self, n: usize) -> u32 {
        let cpu = self.running.iter().position(|r| *r == Some(n));
        if let Some(cpu) = cpu {
            self.running[cpu] = None;
        }
        cpu.unwrap_or(0) as u32
    }

    fn end(&mut self, n: usize) {
        if self.active[n] {
            let cpu = self.cpu_of(n);
            self.sched.block(cpu, self.tasks[n]).expect("the task runs or waits");
            self.active[n] = false;
        }
    }

    fn notify_value(&mut self, topic: Topic, n: usize, value: u64, value2: u64) {
        let msg = Msg { task: Some(self.tasks[n]), value, value2, ..Msg::default() };
        self.sched.notify(0, topic, &msg).expect("a message is taken");
    }

    /// A component has no sections: while one lasts, the job has a deadline before all others.
    fn declare(&mut self, n: usize) {
        let (deadline, relative) = self.deadlines[n];
        let held = self.held.contains(&Some(n));
        self.notify_value(Topic::Deadline, n, if held { relative } else { deadline }, relative);
    }

    fn hold(&mut self, cpu: usize, on: bool) {
        let before = self.held[cpu];
        self.held[cpu] = if on { self.running[cpu] } else { None };
        if let Some(n) = before.or(self.held[cpu]) {
            self.declare(n);
        }
    }

    /// A server is a group of one task; its period begins with the first job.
    fn set(&mut self, n: usize, task: &Task, terms: &Terms) {
        if let Some(server) = terms.server {
            let (group, us) = (n as u64 + 1, TICK_NS / 1000);
            self.notify_value(Topic::Group, n, group, 0);
            let period = u64::from(server.replenish) * us;
            let limit =
                Msg { value: group | period << 32, value2: u64::from(server.budget) * us, ..Msg::default() };
            self.sched.notify(0, Topic::Limit, &limit).expect("a message is taken");
        }
        if self.kind == Kind::EdfVd {
            let (level, most) = terms.high.map_or((1, task.wcet), |high| (2, high.wcet));
            self.notify_value(Topic::Criticality, n, level, u64::from(most) * TICK_NS);
        }
    }

    fn timers(&mut self, now_ns: u64) {
        while let Some((_, handle)) = self.sched.next_timer().filter(|(due, _)| *due <= now_ns) {
            self.sched.timer_expired(0, handle);
        }
    }

    fn pick(&mut self) {
        for cpu in 0..self.running.len() {
            if self.running[cpu].is_none()
                && let Some(picked) = self.sched.pick(cpu as u32, cpu as u32)
            {
                self.running[cpu] = self.tasks.iter().position(|t| *t == picked.task);
            }
        }
    }

    fn relinquish(&mut self, cpu: usize) {
        if let Some(n) = self.running[cpu].take() {
            self.sched.relinquish(cpu as u32, self.tasks[n]).expect("the task runs");
        }
    }

    fn release(&mut self, history: &History, n: usize, deadline: i64) {
        let task = history.tasks[n].expect("who is released is there");
        let relative = u64::from(task.deadline) * TICK_NS;
        self.deadlines[n] = (BEGIN_NS + deadline as u64 * TICK_NS, relative);
        self.notify_value(Topic::Job, n, u64::from(task.wcet) * TICK_NS, relative);
        self.declare(n);
        let came = if self.admitted[n] {
            self.sched.unblock(0, self.tasks[n])
        } else {
            self.sched.admit(0, self.tasks[n])
        };
        came.expect("the task was blocked");
        self.admitted[n] = true;
        self.active[n] = true;
    }

    /// What happened in a tick of the engine happens here; the tasks of the CPUs from now on.
    pub fn tick(&mut self, history: &History, tick: &Tick) -> Vec<Option<usize>> {
        let now_ns = BEGIN_NS + tick.now as u64 * TICK_NS;
        // The engine counts no part of a tick, and so must a server.
        self.at(now_ns - if self.kind == Kind::Served { TICK_NS } else { TICK_NS / 3 });
        for action in &tick.actions {
            match *action {
                Action::Done(n, _, true) => self.end(n),
                Action::Hold(cpu, on) => self.hold(cpu, on),
                Action::Set(n, ref task, ref terms) => self.set(n, task, terms),
                _ => {}
            }
        }
        self.at(now_ns);
        for event in &tick.events {
            if let Event::Spent(n) | Event::Dropped(n) = *event {
                self.end(n);
            }
        }
        for event in &tick.events {
            if let Event::Released(n, deadline) = *event {
                self.release(history, n, deadline);
            }
        }
        let mut messages: Vec<OutMsg> = Vec::new();
        let decides = matches!(self.kind, Kind::Laxity(_));
        if !decides {
            (0..self.running.len()).for_each(|cpu| self.relinquish(cpu));
        }
        self.timers(now_ns);
        loop {
            messages.clear();
            self.sched.drain_messages(&mut messages);
            let wanted = messages.iter().filter(|m| m.topic == Topic::Preempt);
            let cpus: Vec<usize> = wanted.filter_map(|m| m.cpu).map(|c| c as usize).collect();
            let some = decides && !cpus.is_empty();
            if some {
                cpus.into_iter().for_each(|cpu| self.relinquish(cpu));
            }
            self.pick();
            if !some {
                break;
            }
        }
        assert_eq!(self.sched.faults(), (0, 0), "the component failed");
        self.running.clone()
    }
}
