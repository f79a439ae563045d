// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random histories: what tasks, users and machines may do to a scheduler, in any order.
//!
//! An [`Op`] names tasks and CPUs by numbers that are taken modulo what there is, so every sequence
//! makes sense and proptest can leave out any part of it when it looks for the shortest one that fails.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use weir_core::{Clamps, Class, ComponentInfo, CpuSet, Msg, Plan, PlanInstance, TaskId, Topic, catalog};

use crate::Lab;
use crate::law::{self, Asked};

/// How properties are tested: `cases` histories, the same ones in every run, so that a failure is
/// there again tomorrow. `WEIR_LONG` in the environment asks for ten times as many (`make test-all`), `WEIR_HALF` for half of
/// them, `PROPTEST_CASES` for another number, `PROPTEST_RNG_SEED` for others.
pub fn config(cases: u32) -> ProptestConfig {
    let given = |name| std::env::var(name).is_ok();
    let mut config =
        ProptestConfig { failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() };
    if !given("PROPTEST_CASES") {
        config.cases = match given("WEIR_LONG") {
            true => cases * 10,
            false if given("WEIR_HALF") => cases.div_ceil(2),
            false => cases,
        };
    }
    if !given("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

/// One step.
#[derive(Clone, Debug)]
pub enum Op {
    /// A new task comes through the entry pipe of a CPU.
    Admit {
        cpu: u8,
    },
    /// A task that blocked may go on.
    Unblock {
        n: u8,
        cpu: u8,
    },
    /// A CPU gives up its task, if it has one, and asks for the next.
    Pick {
        cpu: u8,
    },
    /// A running task gives up its CPU, which does not ask yet.
    Relinquish {
        n: u8,
    },
    /// A running or schedulable task must wait.
    Block {
        n: u8,
    },
    /// A task ends in whatever state.
    Exit {
        n: u8,
    },
    Priority {
        n: u8,
        value: i8,
    },
    /// Absolute, and the period.
    Deadline {
        n: u8,
        value: u8,
    },
    /// A job's worst-case execution time and relative deadline.
    Job {
        n: u8,
        value: u8,
    },
    /// Bit i stands for every CPU whose number is i modulo 8; 0: everywhere.
    Affinity {
        n: u8,
        mask: u8,
    },
    Isa {
        n: u8,
        value: u8,
    },
    Cpu {
        cpu: u8,
        online: bool,
    },
    /// The gang of a task, and whether it waits between slots.
    Gang {
        n: u8,
        value: u8,
    },
    /// Slots of a gang, on one CPU or all.
    Slots {
        cpu: u8,
        value: u8,
    },
    Burn {
        value: u8,
    },
    /// The same topology once more, every task re-enqueued.
    Represent,
    /// One instance once more, by a new one of its own class.
    Replace {
        n: u8,
    },
    /// An ordering instance by one of another component, as an adaptive scheduler does.
    Exchange {
        n: u8,
        by: u8,
    },
    /// Another topology, of those that the test offers.
    Swap {
        n: u8,
    },
}

/// A step; `swaps` says how often the topology changes, against 24 for picks.
pub fn op(swaps: u32) -> impl Strategy<Value = Op> {
    let (n, cpu) = (any::<u8>(), any::<u8>());
    prop_oneof![
        16 => cpu.prop_map(|cpu| Op::Admit { cpu }),
        12 => (n, cpu).prop_map(|(n, cpu)| Op::Unblock { n, cpu }),
        24 => cpu.prop_map(|cpu| Op::Pick { cpu }),
        6 => n.prop_map(|n| Op::Relinquish { n }),
        8 => n.prop_map(|n| Op::Block { n }),
        4 => n.prop_map(|n| Op::Exit { n }),
        6 => (n, -2..3i8).prop_map(|(n, value)| Op::Priority { n, value }),
        5 => (n, any::<u8>()).prop_map(|(n, value)| Op::Deadline { n, value }),
        4 => (n, 0..5u8).prop_map(|(n, value)| Op::Job { n, value }),
        7 => (n, any::<u8>()).prop_map(|(n, mask)| Op::Affinity { n, mask }),
        4 => (n, 0..5u8).prop_map(|(n, value)| Op::Isa { n, value }),
        5 => (cpu, any::<bool>()).prop_map(|(cpu, online)| Op::Cpu { cpu, online }),
        4 => (n, any::<u8>()).prop_map(|(n, value)| Op::Gang { n, value }),
        3 => (cpu, any::<u8>()).prop_map(|(cpu, value)| Op::Slots { cpu, value }),
        1 => (0..50u8).prop_map(|value| Op::Burn { value }),
        3 => Just(Op::Represent),
        3 => n.prop_map(|n| Op::Replace { n }),
        2 => (n, any::<u8>()).prop_map(|(n, by)| Op::Exchange { n, by }),
        swaps.max(1) => n.prop_map(|n| Op::Swap { n }),
    ]
}

/// What the test knows of a task; the core must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unconsidered = 1,
    Schedulable = 2,
    Running = 3,
}

/// A scheduler with its tasks, and the topologies that it may change to.
pub struct World {
    pub lab: Lab,
    tasks: Vec<(TaskId, State)>,
    plans: Vec<Plan>,
    /// Changes of topology or instance so far.
    pub swaps: u32,
    now_ns: u64,
    steps: u32,
    /// What was published last about each task.
    known: BTreeMap<(TaskId, usize), Msg>,
    /// The same in topics that components have brought along.
    known_own: BTreeMap<(TaskId, String), Vec<u64>>,
}

/// Topics of which the annotator of the same name answers what was published last.
const KEPT: [Topic; 6] =
    [Topic::Affinity, Topic::Priority, Topic::Deadline, Topic::Isa, Topic::Uclamp, Topic::Memory];

/// Every so many steps all that was sent is delivered, and the law holds; between them tasks and messages are on their way from one
/// coherence domain to another.
const POST: u32 = 3;

/// Time that passes with each step.
const STEP_NS: u64 = 700_000;

impl World {
    pub fn new(lab: Lab, plans: Vec<Plan>) -> Self {
        Self {
            lab,
            tasks: Vec::new(),
            plans,
            swaps: 0,
            now_ns: 0,
            steps: 0,
            known: BTreeMap::new(),
            known_own: BTreeMap::new(),
        }
    }

    /// Carry out one step, then check the law for every instance, the state of every task, and (within
    /// the core) all invariants.
    pub fn step(&mut self, op: &Op) -> Result<(), String> {
        self.now_ns += STEP_NS;
        self.lab.sched.set_now(self.now_ns);
        while let Some((_, handle)) = self.lab.sched.next_timer().filter(|(due, _)| *due <= self.now_ns) {
            self.lab.expire(handle);
        }
        self.steps += 1;
        let domains = self.lab.plan.domains();
        let delivered = self.steps.is_multiple_of(POST);
        if delivered {
            self.lab.poll_remote();
        }
        let sent = |lab: &Lab| (0..domains).map(|d| lab.sched.remote_sent(d)).sum::<u64>();
        let before = sent(&self.lab);
        let mut asked = self.apply(op)?;
        self.lab.messages.clear();
        if domains > 1 {
            if !delivered {
                return Ok(());
            }
            self.lab.poll_remote();
            // What was delivered since waits in postponed pipes.
            asked = asked.filter(|_| sent(&self.lab) == before);
        }
        for (t, state) in &self.tasks {
            let have = self.lab.sched.state(*t);
            if have != *state as u32 {
                return Err(format!("task {} is in state {have}, should be {state:?}", t.0));
            }
        }
        if self.lab.sched.faults() != (0, 0) {
            return Err(format!("a component failed: {:?}", self.lab.sched.faults()));
        }
        self.known_everywhere()?;
        law::check(&mut self.lab, asked)
    }

    /// Where there is an annotator, it knows what was published last, wherever the task has gone meanwhile.
    fn known_everywhere(&mut self) -> Result<(), String> {
        for (&(t, topic), msg) in &self.known {
            let topic = KEPT[topic];
            let Some(reply) = self.lab.ask(topic, t) else { continue };
            let (have, want) = ((reply.value, &reply.mask), (msg.value, &msg.mask));
            // Without a CPU of its own online, a task may be free meanwhile.
            let free = topic == Topic::Affinity && reply.mask.is_none() && self.falls_back(&msg.mask);
            if have != want && !free {
                return Err(format!("task {}, {topic:?}: {have:?} is known, {want:?} was published", t.0));
            }
        }
        for topic in self.lab.own_topics() {
            let id = self.lab.sched.topic_find(&topic).map_err(|e| e.to_string())?;
            for ((t, _), want) in self.known_own.iter().filter(|((_, name), _)| *name == topic.name) {
                let msg = Msg { task: Some(*t), ..Msg::default() };
                let have = self.lab.sched.ask(0, id, &msg).map(|r| r.data);
                if have.as_ref() != Ok(want) {
                    return Err(format!(
                        "task {}, {}: {have:?} is known, {want:?} was published",
                        t.0, topic.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether the present topology lets a task with this set run everywhere: no CPU of the set is online.
    fn falls_back(&self, set: &Option<CpuSet>) -> bool {
        let falls = |i: &PlanInstance| {
            let class = &catalog().components[i.class as usize];
            class.name == "affinity"
                && class.params.iter().zip(&i.params).any(|(p, v)| p.name == "fallback" && *v != 0)
        };
        let online = |cpu| self.lab.online.get(cpu as usize) == Some(&true);
        self.lab.plan.instances.iter().any(falls) && set.iter().flat_map(CpuSet::iter).all(|cpu| !online(cpu))
    }

    /// Publish, and remember it.
    fn tell(&mut self, topic: Topic, msg: &Msg) -> Result<(), String> {
        if let (Some(t), Some(kept)) = (msg.task, KEPT.iter().position(|k| *k == topic)) {
            self.known
                .insert((t, kept), Msg { mask: msg.mask.clone().filter(|m| !m.is_empty()), ..msg.clone() });
            self.forget();
        }
        self.lab.notify(topic, msg)
    }

    fn ended(&mut self, t: TaskId) {
        self.known.retain(|(of, _), _| *of != t);
        self.known_own.retain(|(of, _), _| *of != t);
    }

    /// What the present topology has no annotator for is not known.
    fn forget(&mut self) {
        let all = &catalog().components;
        let keeps = |topic: &str| {
            let name = topic.to_lowercase();
            self.lab.plan.instances.iter().any(|i| all[i.class as usize].name == name)
        };
        let kept = KEPT.map(|t| keeps(t.name()));
        self.known.retain(|(_, topic), _| kept[*topic]);
        self.known_own.retain(|(_, topic), _| keeps(topic));
    }

    /// Gives the CPU that asked for a task.
    fn apply(&mut self, op: &Op) -> Result<Option<Asked>, String> {
        match *op {
            Op::Admit { cpu } => {
                let cpu = self.cpu(cpu);
                let t = self.lab.create(cpu)?;
                self.lab.admit(cpu, t)?;
                self.tasks.push((t, State::Schedulable));
            }
            Op::Unblock { n, cpu } => {
                let cpu = self.cpu(cpu);
                if let Some(i) = self.nth(n, |s| s == State::Unconsidered) {
                    self.lab.unblock(cpu, self.tasks[i].0)?;
                    self.tasks[i].1 = State::Schedulable;
                }
            }
            Op::Pick { cpu } => {
                let cpu = self.cpu(cpu);
                if !self.lab.online[cpu as usize] {
                    return Ok(None);
                }
                if let Some(t) = self.lab.running[cpu as usize] {
                    self.lab.relinquish(t)?;
                    self.set(t, State::Schedulable);
                }
                let exit = self.lab.plan.exits[cpu as usize];
                let picked = self.lab.pick(cpu)?;
                if let Some(p) = picked {
                    let was = self.tasks.iter().find(|(t, _)| *t == p.task).map(|(_, s)| *s);
                    if was != Some(State::Schedulable) {
                        return Err(format!("CPU {cpu} got task {}, which was {was:?}", p.task.0));
                    }
                    self.set(p.task, State::Running);
                } else if let Some(exit) = exit {
                    self.nothing_there(cpu, exit)?;
                }
                return Ok(Some(Asked { cpu, got: picked.is_some() }));
            }
            Op::Relinquish { n } => {
                if let Some(i) = self.nth(n, |s| s == State::Running) {
                    self.lab.relinquish(self.tasks[i].0)?;
                    self.tasks[i].1 = State::Schedulable;
                }
            }
            Op::Block { n } => {
                if let Some(i) = self.nth(n, |s| s != State::Unconsidered) {
                    self.lab.block(self.tasks[i].0)?;
                    self.tasks[i].1 = State::Unconsidered;
                }
            }
            Op::Exit { n } => {
                if let Some(i) = self.nth(n, |_| true) {
                    let (t, _) = self.tasks.swap_remove(i);
                    self.lab.exit(t)?;
                    self.ended(t);
                }
            }
            Op::Priority { n, value } => {
                self.notify_value(n, Topic::Priority, value as i64 as u64)?;
                let urgent = (i32::from(value) + 2) as u32 * 256;
                let clamps = Clamps { least: urgent / 2, most: Clamps::WHOLE - urgent / 4 };
                self.notify_value(n, Topic::Uclamp, clamps.word())?;
                self.notify_value(n, Topic::Memory, u64::from(urgent) / 256 % 3)?;
            }
            // Small ones are all past, and often equal; the others lie about now.
            Op::Deadline { n, value } => {
                let at = if value < 64 { u64::from(value % 5) } else { u64::from(value) * STEP_NS };
                self.publish_two(n, Topic::Deadline, at, u64::from(value % 4) * STEP_NS)?;
            }
            Op::Job { n, value } => {
                let wcet = u64::from(value) * STEP_NS;
                self.publish_two(n, Topic::Job, wcet, 2 * wcet)?;
            }
            Op::Isa { n, value } => {
                self.notify_value(n, Topic::Isa, value.into())?;
                // A program says so in each topic that instances have brought along, too.
                let Some(i) = self.nth(n, |_| true) else { return Ok(None) };
                let msg = Msg { task: Some(self.tasks[i].0), value: value.into(), ..Msg::default() };
                for topic in self.lab.own_topics().iter().filter(|t| t.from_users) {
                    let words = vec![value.into(); topic.bytes as usize / 8];
                    self.lab.publish(topic, &msg, &words)?;
                    self.known_own.insert((self.tasks[i].0, topic.name.clone()), words);
                    self.forget();
                }
            }
            Op::Affinity { n, mask } => {
                let set: CpuSet =
                    (0..self.lab.shape.nr_cpus()).filter(|c| mask >> (c % 8) & 1 == 1).collect();
                if let Some(i) = self.nth(n, |_| true) {
                    let task = Some(self.tasks[i].0);
                    self.tell(Topic::Affinity, &Msg { task, mask: Some(set), ..Msg::default() })?;
                }
            }
            Op::Cpu { cpu, online } => {
                let cpu = self.cpu(cpu);
                if let Some(t) = self.lab.running[cpu as usize].filter(|_| !online) {
                    self.set(t, State::Schedulable);
                }
                self.lab.cpu_status(cpu, online)?;
            }
            Op::Gang { n, value } => {
                self.publish_two(n, Topic::Gang, u64::from(value % 4), u64::from(value / 4 % 2))?;
            }
            Op::Slots { cpu, value } => {
                let nr = self.lab.shape.nr_cpus() + 1;
                let cpu = Some(u32::from(cpu) % nr).filter(|c| c + 1 < nr);
                let (gang, value) = (1 + u64::from(value % 3), u64::from(value / 3));
                let from = self.now_ns + value % 3 * STEP_NS;
                // Slots of different gangs never meet, as the controller sees to.
                let fields = [(gang - 1) * STEP_NS, 4 * STEP_NS, value % 4 * STEP_NS / 3, from];
                for (i, value2) in (0u64..).zip(fields) {
                    let msg = Msg { cpu, value: gang | i << 32, value2, ..Msg::default() };
                    self.lab.notify(Topic::GangSlot, &msg)?;
                }
            }
            Op::Burn { value } => {
                self.lab.notify(Topic::Burn, &Msg { value: value.into(), ..Msg::default() })?;
                // What the machine says of itself: tasks that wait stay where they are.
                let cpu = Some(self.cpu(value));
                let machine = |value: u64| Msg { cpu, value, ..Msg::default() };
                self.lab.notify(Topic::Thermal, &machine(1_000 * u64::from(value)))?;
                self.lab.notify(Topic::Frequency, &machine(100_000_000 * (1 + u64::from(value) % 4)))?;
                self.lab.notify(Topic::Power, &Msg { value: u64::from(value % 2), ..Msg::default() })?;
            }
            Op::Represent => self.compare(|lab| lab.swap(lab.plan.clone()).map(|_| ()))?,
            Op::Replace { n } => {
                let instance = u32::from(n) % self.lab.plan.instances.len() as u32;
                let inst = self.lab.plan.instances[instance as usize].clone();
                let class = weir_core::catalog().components[inst.class as usize].name.clone();
                self.compare(|lab| lab.replace(instance, &class, Some(inst.params)).map(|_| ()))?;
            }
            Op::Exchange { n, by } => self.exchange(n, by)?,
            Op::Swap { .. } if self.plans.is_empty() => {}
            Op::Swap { n } => {
                let plan = self.plans[usize::from(n) % self.plans.len()].clone();
                self.lab.swap(plan)?;
                self.forget();
                self.swaps += 1;
            }
        }
        Ok(None)
    }

    /// Any component of the class will do whose questions somebody answers.
    fn exchange(&mut self, n: u8, by: u8) -> Result<(), String> {
        let all = &catalog().components;
        let plan = &self.lab.plan;
        let answered =
            |topic: &String| plan.instances.iter().any(|i| all[i.class as usize].answers.contains(topic));
        // One that was loaded may be a test's own, which does not end.
        let fits = |c: &&ComponentInfo| {
            c.class == Class::Order && !weir_core::loaded::is_loaded(c.id) && c.needs.iter().all(answered)
        };
        let ordering = |i: &usize| all[plan.instances[*i].class as usize].class == Class::Order;
        // `urgent` may hold a task back for ever if another order gives it no urgency.
        if plan.instances.iter().any(|i| all[i.class as usize].name == "urgent") {
            return Ok(());
        }
        let from: Vec<usize> = (0..plan.instances.len()).filter(ordering).collect();
        let to: Vec<&ComponentInfo> = all.iter().filter(fits).collect();
        if from.is_empty() || to.is_empty() {
            return Ok(());
        }
        let instance = from[usize::from(n) % from.len()] as u32;
        let with = to[usize::from(by) % to.len()];
        let class = with.name.clone();
        // A task has the keys of two orders; the checker of the language refuses topologies with more on a way.
        let others = || (0..plan.instances.len()).filter(|i| *i != instance as usize);
        let keyed = others().filter(|i| all[plan.instances[*i].class as usize].keyed_out).count();
        // And it has one record of virtual time: the checker refuses fair orders behind each other, as each undoes the one before.
        let fair = |info: &ComponentInfo| info.needs.iter().any(|topic| topic == "FAIR");
        let fairs = others().any(|i| fair(&all[plan.instances[i].class as usize]));
        if (with.keyed_out && keyed > 1) || (fair(with) && fairs) {
            return Ok(());
        }
        self.swaps += 1;
        self.lab.replace(instance, &class, None).map(|_| ())
    }

    /// The graph is rebuilt, in whole or in part: where its components leave no choice, it must come
    /// out as all the small changes before had made it.
    fn compare(&mut self, rebuild: impl FnOnce(&mut Lab) -> Result<(), String>) -> Result<(), String> {
        // Some orders depend on how long tasks have run: they look at the time now, as the new ones will.
        for cpu in 0..self.lab.shape.nr_cpus() {
            if self.lab.running[cpu as usize].is_some() {
                self.lab.notify(Topic::Tick, &Msg { cpu: Some(cpu), ..Msg::default() })?;
            }
        }
        // What another coherence domain has sent is read by the next call: a message may move a task.
        self.lab.poll_remote();
        let before = self.lab.dump();
        rebuild(&mut self.lab)?;
        self.swaps += 1;
        let after = self.lab.dump();
        let entries = self.lab.plan.entries.iter().copied();
        for p in law::determined(&self.lab).into_iter().chain(entries) {
            let p = p as usize;
            // A balancer may send tasks to another coherence domain now: these leave the pipes before it.
            let gone = |t: &TaskId| self.lab.plan.domains() > 1 && !after.iter().any(|p| p.contains(t));
            let before_here: Vec<TaskId> = before[p].iter().filter(|t| !gone(t)).copied().collect();
            if before_here != after[p] {
                let name = &self.lab.plan.pipes[p].name;
                return Err(format!("pipe `{name}` held {:?}, rebuilt {:?}", before[p], after[p]));
            }
        }
        Ok(())
    }

    /// A CPU got no task: then its exit holds none that it may run.
    fn nothing_there(&mut self, cpu: u32, exit: u32) -> Result<(), String> {
        for t in self.lab.tasks(exit) {
            let mask = self.lab.ask(Topic::Affinity, t).and_then(|m| m.mask);
            if mask.is_none_or(|m| m.contains(cpu)) {
                return Err(format!("CPU {cpu} got no task, but task {} waits at its exit", t.0));
            }
        }
        Ok(())
    }

    /// Everybody may run everywhere, all CPUs come back and run task after task to its end: nothing may
    /// be left over.
    pub fn drain(&mut self) -> Result<(), String> {
        self.run_each(true)?;
        self.lab.poll_remote();
        match self.lab.sched.nr_tasks() {
            0 => Ok(()),
            n => Err(format!("{n} records of ended tasks are left")),
        }
    }

    /// Everybody may run everywhere, all CPUs come back, and each task that waits comes to run: nobody starves. Who has
    /// run blocks meanwhile, and waits again afterwards.
    pub fn nobody_starves(&mut self) -> Result<(), String> {
        self.run_each(false)
    }

    /// Tasks that exist.
    pub fn nr_tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Task after task runs, and then ends or blocks.
    fn run_each(&mut self, to_the_end: bool) -> Result<(), String> {
        let nr_cpus = self.lab.shape.nr_cpus();
        for cpu in 0..nr_cpus {
            self.lab.cpu_status(cpu, true)?;
        }
        let mut waiting = 0;
        for (t, state) in self.tasks.clone() {
            let task = Some(t);
            self.tell(Topic::Affinity, &Msg { task, mask: Some(CpuSet::new()), ..Msg::default() })?;
            self.tell(Topic::Isa, &Msg { task, ..Msg::default() })?;
            if to_the_end && state == State::Unconsidered {
                self.lab.unblock(0, t)?;
                self.set(t, State::Schedulable);
            }
            waiting += usize::from(to_the_end || state != State::Unconsidered);
        }
        let mut again = Vec::new();
        let (mut idle, mut waits, mut cpu) = (0, 0, 0);
        while idle < nr_cpus {
            if let Some(t) = self.lab.running[cpu as usize] {
                waiting -= 1;
                if to_the_end {
                    self.lab.exit(t)?;
                    self.tasks.retain(|(id, _)| *id != t);
                    self.ended(t);
                } else {
                    self.lab.block(t)?;
                    self.set(t, State::Unconsidered);
                    again.push(t);
                }
            }
            let picked = self.lab.pick(cpu)?;
            if let Some(p) = picked {
                self.set(p.task, State::Running);
            }
            idle = if picked.is_some() { 0 } else { idle + 1 };
            cpu = (cpu + 1) % nr_cpus;
            if idle == nr_cpus && self.lab.sched.remote_waiting() {
                idle = 0;
            }
            // Some wait for a time only: budgets, quanta.
            if idle == nr_cpus
                && waiting > 0
                && waits < 10_000
                && let Some((due, handle)) = self.lab.sched.next_timer()
            {
                waits += 1;
                self.now_ns = self.now_ns.max(due);
                self.lab.sched.set_now(self.now_ns);
                self.lab.expire(handle);
                idle = 0;
            }
        }
        if waiting > 0 {
            let left = self.tasks.iter().find(|(_, s)| to_the_end || *s != State::Unconsidered);
            return Err(format!("{waiting} tasks were never run, such as {left:?}"));
        }
        for t in again {
            self.lab.unblock(0, t)?;
            self.set(t, State::Schedulable);
        }
        Ok(())
    }

    /// Of more than 256 CPUs, some in each part of the machine.
    fn cpu(&self, n: u8) -> u32 {
        let (n, nr) = (u32::from(n), self.lab.shape.nr_cpus());
        if nr <= 256 { n % nr } else { n * nr / 256 + n % (nr / 256) }
    }

    fn nth(&self, n: u8, fits: impl Fn(State) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.tasks.len()).filter(|i| fits(self.tasks[*i].1)).collect();
        (!all.is_empty()).then(|| all[usize::from(n) % all.len()])
    }

    fn set(&mut self, t: TaskId, state: State) {
        if let Some(entry) = self.tasks.iter_mut().find(|(id, _)| *id == t) {
            entry.1 = state;
        }
    }

    fn notify_value(&mut self, n: u8, topic: Topic, value: u64) -> Result<(), String> {
        self.publish_two(n, topic, value, 0)
    }

    fn publish_two(&mut self, n: u8, topic: Topic, value: u64, value2: u64) -> Result<(), String> {
        let Some(i) = self.nth(n, |_| true) else { return Ok(()) };
        self.tell(topic, &Msg { task: Some(self.tasks[i].0), value, value2, ..Msg::default() })
    }
}
