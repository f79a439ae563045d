// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Calls that give up waiting for another CPU (docs/decisions/0014): whatever fails on the way, no task is lost, none is
//! run twice, and nobody sleeps while a task waits for him. The runtime here does what the kernel's does.
//!
//! Only the strict port can be made to fail: `cargo test -p weir-tests --features strict`.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::ManuallyDrop;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_core::{Config, Error, OutMsg, Plan, Sched, TaskId, Topic, strict_impatience};
use weir_tests::history::config;
use weir_tests::lab::compile;
use weir_tests::{machine, root};

const TOPOLOGIES: [&str; 17] = [
    "decentral",
    "central",
    "partitioned",
    "global_rr",
    "fifo",
    "worksteal",
    "hierarchical",
    "headq",
    "chain3",
    "multipipe",
    "postponed",
    "multipipe_postponed",
    "distributed",
    "priority",
    "edf",
    "llf-tick",
    "llref",
];
/// Those of them in which a CPU waits for no task that another one could have: tasks without a deadline are guests there.
const SHARING: [&str; 2] = ["llf-tick", "llref"];
const CPUS: u32 = 4;
const BYTES: usize = 8 << 20;
/// `WEIR_EAGAIN`, and the numbers of the states.
const AGAIN: i32 = 3;
const UNCONSIDERED: u32 = 1;
const RUNNING: u32 = 3;

#[derive(Clone, Debug)]
enum Op {
    Admit { cpu: u8 },
    Unblock { n: u8, cpu: u8 },
    Turn { cpu: u8 },
    Block { n: u8, cpu: u8 },
    Exit { n: u8, cpu: u8 },
    Swap { to: u8 },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => any::<u8>().prop_map(|cpu| Op::Admit { cpu }),
        4 => any::<(u8, u8)>().prop_map(|(n, cpu)| Op::Unblock { n, cpu }),
        8 => any::<u8>().prop_map(|cpu| Op::Turn { cpu }),
        3 => any::<(u8, u8)>().prop_map(|(n, cpu)| Op::Block { n, cpu }),
        1 => any::<(u8, u8)>().prop_map(|(n, cpu)| Op::Exit { n, cpu }),
        1 => any::<u8>().prop_map(|to| Op::Swap { to }),
    ]
}

/// Where the runtime believes a task to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Out,
    Graph,
    Cpu(u32),
    /// Its end was requested and is not complete.
    Ending,
}

/// A runtime whose calls may find locks taken.
struct Runtime {
    sched: ManuallyDrop<Sched>,
    memory: *mut u8,
    plans: Vec<(String, Plan)>,
    /// Which of them is loaded.
    at: usize,
    tasks: Vec<(TaskId, At)>,
    /// A CPU that found nothing sleeps until a kick; the others choose again sooner or later.
    asleep: [bool; CPUS as usize],
    /// How many attempts fail.
    impatience: u32,
    seed: u64,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        strict_impatience(0, 0);
        // SAFETY: the scheduler goes before its memory, which was made by `alloc_zeroed` with the same layout.
        unsafe {
            ManuallyDrop::drop(&mut self.sched);
            dealloc(self.memory, layout());
        }
    }
}

fn layout() -> Layout {
    Layout::from_size_align(BYTES, 4096).expect("a power of two")
}

impl Runtime {
    fn new(plans: Vec<(String, Plan)>, first: usize, impatience: u32, seed: u64) -> Result<Self, Error> {
        // SAFETY: a layout of more than no bytes; it is given back by `drop`, after the scheduler is gone.
        let (memory, mut sched) = unsafe {
            let memory = alloc_zeroed(layout());
            let config = Config { nr_cpus: CPUS, arena_bytes: BYTES, checks: false, oplog: false, seed };
            (memory, Sched::within(&config, memory)?)
        };
        sched.load(&plans[first].1)?;
        let sched = ManuallyDrop::new(sched);
        strict_impatience(impatience, seed);
        let asleep = [false; CPUS as usize];
        Ok(Self { sched, memory, plans, at: first, tasks: Vec::new(), asleep, impatience, seed })
    }

    /// A call was made on `cpu`: the CPUs that it wakes are awake.
    fn heard(&mut self, cpu: u32) {
        let mut all: Vec<OutMsg> = Vec::new();
        self.sched.drain_messages(&mut all);
        for m in all.iter().filter(|m| matches!(m.topic, Topic::Kick | Topic::Preempt)) {
            self.asleep[m.cpu.expect("a kick names a CPU") as usize] = false;
        }
        if self.sched.gave_up(cpu) {
            self.asleep[cpu as usize] = false;
        }
    }

    /// Some task in one of `places`.
    fn some(&self, n: u8, wanted: impl Fn(At) -> bool) -> Option<usize> {
        let fit: Vec<usize> = (0..self.tasks.len()).filter(|i| wanted(self.tasks[*i].1)).collect();
        (!fit.is_empty()).then(|| fit[n as usize % fit.len()])
    }

    fn enter(&mut self, i: usize, cpu: u32, new: bool) -> Result<(), String> {
        let (t, _) = self.tasks[i];
        let done = if new { self.sched.admit(cpu, t) } else { self.sched.unblock(cpu, t) };
        match done {
            Ok(()) => self.tasks[i].1 = At::Graph,
            Err(e) if e.code == AGAIN => {}
            Err(e) => return Err(format!("task {} comes: {e}", t.0)),
        }
        self.heard(cpu);
        Ok(())
    }

    /// The CPU gives up its task and chooses.
    fn turn(&mut self, cpu: u32) -> Result<(), String> {
        if let Some(i) = self.tasks.iter().position(|(_, at)| *at == At::Cpu(cpu)) {
            let t = self.tasks[i].0;
            match self.sched.relinquish(cpu, t) {
                Ok(()) => self.tasks[i].1 = At::Graph,
                Err(e) if e.code == AGAIN => match self.sched.state(t) {
                    RUNNING => {
                        self.heard(cpu);
                        return Ok(());
                    }
                    UNCONSIDERED => self.tasks[i].1 = At::Out,
                    other => return Err(format!("task {} is in state {other} after it gave up", t.0)),
                },
                Err(e) => return Err(format!("task {} gives up its CPU: {e}", t.0)),
            }
        }
        let picked = self.sched.pick(cpu, cpu);
        match picked {
            Some(p) => {
                let i =
                    self.tasks.iter().position(|(t, _)| *t == p.task).ok_or("an unknown task was chosen")?;
                if self.tasks[i].1 != At::Graph {
                    return Err(format!("task {} was chosen and is {:?}", p.task.0, self.tasks[i].1));
                }
                self.tasks[i].1 = At::Cpu(cpu);
                self.asleep[cpu as usize] = false;
            }
            None => self.asleep[cpu as usize] = true,
        }
        self.heard(cpu);
        Ok(())
    }

    fn block(&mut self, i: usize, cpu: u32) -> Result<(), String> {
        let (t, at) = self.tasks[i];
        match self.sched.block(cpu, t) {
            Ok(()) => self.left(i, at, At::Out),
            Err(e) if e.code == AGAIN => {}
            Err(e) => return Err(format!("task {} blocks: {e}", t.0)),
        }
        self.heard(cpu);
        Ok(())
    }

    /// A CPU whose task leaves it chooses again.
    fn left(&mut self, i: usize, from: At, to: At) {
        self.tasks[i].1 = to;
        if let At::Cpu(c) = from {
            self.asleep[c as usize] = false;
        }
    }

    fn end(&mut self, i: usize, cpu: u32) -> Result<(), String> {
        let (t, at) = self.tasks[i];
        match self.sched.exit(cpu, t) {
            Ok(()) => {
                self.left(i, at, At::Ending);
                self.tasks.swap_remove(i);
            }
            // It may have left its CPU or the graph already.
            Err(e) if e.code == AGAIN && self.sched.state(t) != RUNNING => self.left(i, at, At::Ending),
            Err(e) if e.code == AGAIN => {}
            Err(e) => {
                return Err(format!("task {}, {at:?}, in state {} ends: {e}", t.0, self.sched.state(t)));
            }
        }
        self.heard(cpu);
        Ok(())
    }

    fn step(&mut self, op: &Op) -> Result<(), String> {
        let cpu = |c: u8| u32::from(c) % CPUS;
        match *op {
            Op::Admit { cpu: c } => {
                if let Ok(t) = self.sched.task_new(cpu(c), 0) {
                    self.tasks.push((t, At::Out));
                    self.enter(self.tasks.len() - 1, cpu(c), true)?;
                }
            }
            Op::Unblock { n, cpu: c } => {
                if let Some(i) = self.some(n, |at| at == At::Out) {
                    self.enter(i, cpu(c), false)?;
                }
            }
            Op::Turn { cpu: c } => self.turn(cpu(c))?,
            Op::Block { n, cpu: c } => {
                if let Some(i) = self.some(n, |at| matches!(at, At::Graph | At::Cpu(_))) {
                    self.block(i, cpu(c))?;
                }
            }
            Op::Exit { n, cpu: c } => {
                if let Some(i) = self.some(n, |_| true) {
                    self.end(i, cpu(c))?;
                }
            }
            Op::Swap { to } => {
                // All other CPUs are out of the core meanwhile: no lock is taken.
                strict_impatience(0, 0);
                self.at = to as usize % self.plans.len();
                let (name, plan) = &self.plans[self.at];
                self.sched.swap(plan).map_err(|e| format!("{name}: {e}"))?;
                self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                strict_impatience(self.impatience, self.seed);
                self.heard(0);
            }
        }
        Ok(())
    }

    /// The pipes that hold the task.
    fn places(&self, t: TaskId) -> String {
        let plan = &self.plans[self.at].1;
        let holds = |i: &usize| self.sched.pipe_tasks(*i as u32).contains(&t);
        (0..plan.pipes.len()).filter(holds).map(|i| format!(", in {}", plan.pipes[i].name)).collect()
    }

    /// Nothing fails any more: all tasks come to run and end, and only CPUs that are awake look for them.
    fn finish(&mut self) -> Result<(), String> {
        strict_impatience(0, 0);
        while let Some(i) = self.some(0, |at| at == At::Ending) {
            self.end(i, 0)?;
        }
        while let Some(i) = self.some(0, |at| at == At::Out) {
            self.enter(i, i as u32 % CPUS, false)?;
        }
        let mut turns = 0;
        while let Some(cpu) = (0..CPUS).find(|c| !self.asleep[*c as usize]) {
            // What runs ends first, or nothing less urgent would ever run.
            if let Some(i) = self.tasks.iter().position(|(_, at)| *at == At::Cpu(cpu)) {
                self.end(i, cpu)?;
            }
            self.turn(cpu)?;
            turns += 1;
            if turns > 10_000 {
                return Err("the CPUs never come to rest".into());
            }
        }
        match self.tasks.iter().find(|(_, at)| *at == At::Graph) {
            None => Ok(()),
            Some((t, _)) => Err(format!("all CPUs sleep, and task {} waits{}", t.0, self.places(*t))),
        }
    }

    /// All CPUs sleep, and as many tasks come: nobody sleeps on.
    fn wake_all(&mut self) -> Result<(), String> {
        for _ in 0..CPUS {
            let t = self.sched.task_new(0, 0).map_err(|e| e.to_string())?;
            self.tasks.push((t, At::Out));
            self.enter(self.tasks.len() - 1, 0, true)?;
        }
        match self.asleep.iter().position(|asleep| *asleep) {
            None => Ok(()),
            Some(cpu) => Err(format!("{CPUS} tasks came, and CPU {cpu} sleeps on")),
        }
    }
}

fn plans() -> Vec<(String, Plan)> {
    let shape = machine::parse(&format!("smp-{CPUS}")).expect("a machine");
    TOPOLOGIES
        .iter()
        .map(|name| {
            let text =
                std::fs::read_to_string(root().join(format!("topologies/{name}.weir"))).expect("readable");
            (name.to_string(), compile(name, &text, &shape).unwrap_or_else(|e| panic!("{name}: {e}")))
        })
        .collect()
}

#[test]
fn giving_up_loses_nothing_and_wakes_everybody() {
    let plans = plans();
    for first in 0..plans.len() {
        let life = (prop::collection::vec(op(), 1..120), 10u32..300, any::<u64>());
        TestRunner::new(config(40))
            .run(&life, |(history, impatience, seed)| {
                let mut world = Runtime::new(plans.clone(), first, impatience, seed)
                    .map_err(|e| TestCaseError::fail(e.to_string()))?;
                for (i, op) in history.iter().enumerate() {
                    world.step(op).map_err(|e| TestCaseError::fail(format!("step {i}, {op:?}: {e}")))?;
                }
                world.finish().map_err(TestCaseError::fail)?;
                if SHARING.contains(&plans[world.at].0.as_str()) {
                    world.wake_all().map_err(TestCaseError::fail)?;
                }
                Ok(())
            })
            .unwrap_or_else(|e| panic!("{}: {e}", plans[first].0));
    }
}
