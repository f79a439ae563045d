// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `eevdf` beside what Linux 7.2 decided, decision by decision (experiments/sim-vs-kernel/decisions).
//!
//! The components hear what the kernel's scheduler heard, at the kernel's instants: wake-ups, ticks, ends of slices, new nice
//! values. After each event both say who runs. Where they differ that is counted, and the components go on with the kernel's
//! choice, so each decision is compared by itself. The recordings are there, so no kernel runs here.

use std::collections::HashMap;

use weir_core::sched::{Config, Msg, OutMsg, Sched, TaskId, Topic};
use weir_core::{CpuSet, MachineShape};

use crate::common::*;
use crate::recording::*;

/// Events of one interrupt are at most so far apart.
const TOGETHER: u64 = 40 * US;

/// What a CPU does.
#[derive(Default, Clone)]
struct Cpu {
    runs: Option<u32>,
    /// When the slice of its task is over.
    over: u64,
    /// It is to choose again.
    again: bool,
    /// The events of the decision at hand.
    causes: Option<String>,
}

#[derive(Default, Debug)]
struct Verdict {
    /// Decisions with at least two candidates.
    decisions: u32,
    differ: u32,
    /// Of these, where the kernel went on with the running task.
    eager: u32,
    /// Ends of slices that the kernel's timer had, and how far they are from the component's.
    slices: Vec<u64>,
}

struct Replay<'a> {
    r: &'a Recording,
    s: Sched,
    tasks: HashMap<u32, TaskId>,
    /// Threads that wait or run, with the CPU whose queue they are in.
    ready: HashMap<u32, u32>,
    cpus: Vec<Cpu>,
    heard: Vec<OutMsg>,
    now: u64,
    verdict: Verdict,
    explain: bool,
}

impl<'a> Replay<'a> {
    fn new(r: &'a Recording, rules: u32) -> Self {
        let shape = MachineShape::flat(r.cpus);
        // `edf` puts the kernel's choice first where it differs.
        let topology = format!(
            "annotate affinity, policy, weight, fair, latency, deadline;\n\
             entry -> load_balancer -> each cpu {{ eevdf(slice = 700us, rules = {rules}) -> edf -> cpu }};"
        );
        let config = Config { nr_cpus: r.cpus, arena_bytes: 1 << 30, checks: true, oplog: false, seed: 1 };
        let mut s = Sched::new(&config).expect("a scheduler");
        s.load(&plan(&topology, &shape)).expect("it is built");
        let cpus = vec![Cpu::default(); r.cpus as usize];
        Self {
            r,
            s,
            tasks: HashMap::new(),
            ready: HashMap::new(),
            cpus,
            heard: Vec::new(),
            now: 0,
            verdict: Verdict::default(),
            explain: std::env::var("WEIR_EXPLAIN").is_ok(),
        }
    }

    fn name(&self, pid: u32) -> String {
        self.r.names.get(&pid).map_or(String::from("-"), |n| format!("{}({pid})", n.text))
    }

    fn tell(&mut self, cpu: u32, topic: Topic, pid: u32, value: u64) {
        let msg = Msg { task: Some(self.tasks[&pid]), value, ..Msg::default() };
        self.s.notify(cpu, topic, &msg).expect("it hears it");
        // Where a new nice value makes the kernel choose, the recording says so.
        self.heard.clear();
        self.s.drain_messages(&mut self.heard);
    }

    fn listen(&mut self) {
        self.heard.clear();
        self.s.drain_messages(&mut self.heard);
        for m in &self.heard {
            if m.topic == Topic::Preempt
                && let Some(cpu) = m.cpu
            {
                self.cpus[cpu as usize].again = true;
            }
        }
    }

    /// The thread's record; one that was there before the recording began is asleep.
    fn known(&mut self, cpu: u32, pid: u32, new: bool) {
        if self.tasks.contains_key(&pid) {
            return;
        }
        let t = self.s.task_new(cpu, u64::from(pid)).expect("room");
        self.tasks.insert(pid, t);
        let nice = self.r.names[&pid].nice;
        self.tell(cpu, Topic::Priority, pid, i64::from(-nice) as u64);
        self.stay(cpu, pid);
        if !new {
            self.s.admit(cpu, t).expect("it comes");
            self.listen();
            self.s.block(cpu, t).expect("it goes");
            self.listen();
        }
    }

    /// It may run on this CPU only: there the kernel has put it. It may preempt the task there as one that wakes.
    fn stay(&mut self, cpu: u32, pid: u32) {
        if self.r.cpus > 1 {
            let mask = Some(CpuSet::from_iter([cpu]));
            let msg = Msg { task: Some(self.tasks[&pid]), mask, ..Msg::default() };
            self.s.notify(cpu, Topic::Affinity, &msg).expect("it hears it");
            self.listen();
        }
    }

    fn wakes(&mut self, cpu: u32, pid: u32, new: bool) {
        if self.ready.contains_key(&pid) {
            return;
        }
        let first = !self.tasks.contains_key(&pid);
        self.known(cpu, pid, new);
        self.stay(cpu, pid);
        let t = self.tasks[&pid];
        if first && new { self.s.admit(cpu, t) } else { self.s.unblock(cpu, t) }.expect("it wakes");
        self.listen();
        self.ready.insert(pid, cpu);
    }

    fn nice(&mut self, cpu: u32, pid: u32, nice: i32) {
        let idle = self.thread(pid).is_some_and(|t| t.policy == 5);
        self.tell(cpu, Topic::Priority, pid, if idle { -20 } else { i64::from(-nice) } as u64);
    }

    fn above(&self, pid: u32) -> bool {
        self.r.names.get(&pid).is_some_and(|n| n.above)
    }

    fn thread(&self, pid: u32) -> Option<Thread> {
        let name = &self.r.names.get(&pid)?.text;
        self.r.threads.get(name.rsplit_once('-')?.0).cloned()
    }

    fn attributes(&mut self, cpu: u32, pid: u32) {
        if let Some(t) = self.thread(pid).filter(|_| self.tasks.contains_key(&pid)) {
            self.tell(cpu, Topic::Policy, pid, t.policy);
            self.tell(cpu, Topic::Latency, pid, t.slice);
            self.nice(cpu, pid, t.nice);
        }
    }

    /// The CPU gives its task up and chooses; who that is.
    fn choose(&mut self, cpu: u32) -> Option<u32> {
        if let Some(old) = self.cpus[cpu as usize].runs.take() {
            self.s.relinquish(cpu, self.tasks[&old]).expect("it ran");
            self.listen();
        }
        let picked = self.s.pick(cpu, cpu);
        self.listen();
        let c = &mut self.cpus[cpu as usize];
        c.again = false;
        c.runs = picked.map(|p| p.cookie as u32);
        c.over = u64::MAX;
        if let Some(slice) = picked.and_then(|p| p.slice_ns) {
            c.over = self.now.saturating_add(slice);
        }
        self.cpus[cpu as usize].runs
    }

    /// The kernel looks at the running task: at a tick, when a slice is over, and wherever it is charged.
    fn tick(&mut self, cpu: u32) {
        let msg = Msg { cpu: Some(cpu), ..Msg::default() };
        self.s.notify(cpu, Topic::Tick, &msg).expect("it hears it");
        self.listen();
    }

    /// Several CPUs have accounts of their own, and the recording has the times of its lines. Where the kernel's timer says that a slice is
    /// over, it is: the components' clock goes there, if that is not further than the events of one interrupt.
    fn slice_over(&mut self, over: u64) {
        if self.r.cpus > 1 && over > self.now && over - self.now < TOGETHER {
            self.now = over;
            self.s.set_now(over);
        }
    }

    /// The CPU runs `pid`, whatever the policy wants.
    fn force(&mut self, cpu: u32, pid: Option<u32>) {
        let has = self.cpus[cpu as usize].runs;
        if has == pid {
            return;
        }
        let Some(pid) = pid else {
            return;
        };
        self.tell(cpu, Topic::Deadline, pid, 1);
        self.choose(cpu);
        self.tell(cpu, Topic::Deadline, pid, 0);
        assert_eq!(self.cpus[cpu as usize].runs, Some(pid), "it runs what the kernel ran");
        self.cpus[cpu as usize].again = false;
    }

    /// The events of the decision are over: the kernel runs `kernel`.
    fn decide(&mut self, cpu: u32, kernel: Option<u32>) {
        let at = self.now;
        let candidates = self.ready.values().filter(|c| **c == cpu).count();
        let c = &mut self.cpus[cpu as usize];
        let (causes, before) = (c.causes.take().unwrap_or_default(), c.runs);
        if self.cpus[cpu as usize].again || before.is_none() {
            self.choose(cpu);
        }
        let ours = self.cpus[cpu as usize].runs;
        if candidates > 1 {
            self.verdict.decisions += 1;
            if ours != kernel {
                self.verdict.differ += 1;
                self.verdict.eager += u32::from(kernel == before);
                if self.explain {
                    let name = |p: Option<u32>| p.map_or(String::from("nobody"), |p| self.name(p));
                    println!(
                        "{at}: ran {}, kernel {}, ours {}, after{causes}; {candidates} ready",
                        name(before),
                        name(kernel),
                        name(ours)
                    );
                }
            }
        }
        self.force(cpu, kernel);
    }

    fn run(mut self) -> Verdict {
        let events = &self.r.events;
        for (i, e) in events.iter().enumerate() {
            self.now = e.at.max(self.now);
            self.s.set_now(self.now);
            let cpu = e.cpu;
            let c = &mut self.cpus[cpu as usize];
            match e.what {
                What::Switch { from, goes_on, to } => {
                    self.switched(cpu, from, goes_on, to);
                    continue;
                }
                _ => {
                    *c.causes.get_or_insert_default() += &format!(" {:?}", e.what);
                }
            }
            match e.what {
                What::Wakes { pid, .. } | What::Moves { pid, .. } if self.above(pid) => {}
                What::Wakes { pid, new } => self.wakes(cpu, pid, new),
                What::Moves { pid, to } => self.moves(pid, to),
                What::Nice { pid, nice } => self.nice(cpu, pid, nice),
                What::Attributes { pid } => self.attributes(cpu, pid),
                What::Account => self.tick(cpu),
                What::Asked => self.cpus[cpu as usize].again = true,
                What::SliceOver => {
                    let c = &mut self.cpus[cpu as usize];
                    let over = std::mem::replace(&mut c.over, u64::MAX);
                    if c.runs.is_some() && over != u64::MAX {
                        self.verdict.slices.push(over.abs_diff(e.at));
                    }
                    self.slice_over(over);
                    self.tick(cpu);
                }
                What::Switch { .. } => unreachable!(),
            }
            let next = events[i + 1..].iter().find(|n| n.cpu == cpu);
            // A switch is the answer, however late: the kernel switches when it leaves a system call.
            let answered = |n: &Event| n.at < e.at + TOGETHER || matches!(n.what, What::Switch { .. });
            if !next.is_some_and(answered) {
                let runs = self.cpus[cpu as usize].runs;
                // An idle CPU that is woken switches later.
                if runs.is_some() {
                    self.decide(cpu, runs);
                } else {
                    self.cpus[cpu as usize].causes = None;
                }
            }
        }
        self.verdict
    }

    fn moves(&mut self, pid: u32, to: u32) {
        if !self.tasks.contains_key(&pid) {
            return;
        }
        self.stay(to, pid);
        if let Some(at) = self.ready.get_mut(&pid) {
            *at = to;
        }
    }

    fn switched(&mut self, cpu: u32, from: u32, goes_on: bool, to: u32) {
        let kernel = (to != 0).then_some(to);
        if from != 0 && !goes_on {
            self.ready.remove(&from);
            if self.cpus[cpu as usize].runs == Some(from) {
                self.cpus[cpu as usize].runs = None;
                self.s.block(cpu, self.tasks[&from]).expect("it ran");
                self.listen();
            }
        }
        if kernel.is_some_and(|pid| self.above(pid)) {
            // The fair class has nothing to decide.
            if let Some(old) = self.cpus[cpu as usize].runs.take() {
                self.s.relinquish(cpu, self.tasks[&old]).expect("it ran");
                self.listen();
            }
            self.cpus[cpu as usize].causes = None;
            return;
        }
        if let Some(pid) = kernel
            && !self.ready.contains_key(&pid)
        {
            // It was there before the recording began.
            self.wakes(cpu, pid, false);
        }
        if kernel.is_none() {
            assert!(self.cpus[cpu as usize].runs.is_none(), "{}: the kernel is idle", self.now);
            self.cpus[cpu as usize].causes = None;
            return;
        }
        self.decide(cpu, kernel);
    }
}

/// Decisions that agree, in percent, of each load. The bounds were set before the first recording.
const LEAST: [(&str, f64); 10] = [
    ("equal", 98.0),
    ("nice", 98.0),
    ("slices", 98.0),
    ("forks", 98.0),
    ("policies", 98.0),
    ("renice", 98.0),
    ("tuned", 98.0),
    ("crowd", 98.0),
    ("chain", 98.0),
    ("affinity", 95.0),
];

#[test]
fn each_decision_is_the_kernels() {
    let mut fine = true;
    for (load, least) in LEAST {
        let r = recording(load);
        let mut v = Replay::new(&r, 7).run();
        v.slices.sort_unstable();
        let late = v.slices.get(v.slices.len() * 95 / 100).copied().unwrap_or(0);
        let agree = 100.0 - f64::from(v.differ) * 100.0 / f64::from(v.decisions);
        println!(
            "{load}: {} decisions, {agree:.2} % agree ({} differ, in {} of them the kernel went on); {} slices, 95 % within {} us",
            v.decisions,
            v.differ,
            v.eager,
            v.slices.len(),
            late / US
        );
        fine &= agree >= least && v.decisions > 500;
    }
    assert!(fine, "the figures are above");
}
