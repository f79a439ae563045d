// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Keyed pipes as hardware queues: the out-pipe of an order component holds its tasks in the order in which the queue gives
//! them out, if the key is what the component orders by, and below it when the task came.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir_core::{Config, MachineShape, Msg, PipeIdx, Sched, TaskId, Topic, catalog};
use weir_lang::{NoIncludes, Source};

use crate::number;

/// As many as the queues of hw/rtl that are built have room for.
const TASKS: usize = 16;

/// An order component, and what it orders by.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    topology: &'static str,
    topic: Topic,
    /// A greater value goes first.
    falling: bool,
}

pub const PRIORITY: Order = Order {
    topology: "annotate affinity, priority;\nentry -> priority_order -> cpus;",
    topic: Topic::Priority,
    falling: true,
};
pub const EDF: Order = Order {
    topology: "annotate affinity, deadline;\nentry -> edf -> cpus;",
    topic: Topic::Deadline,
    falling: false,
};

/// Operations on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Push { key: u64, id: u8 },
    Pop,
    Remove { id: u8 },
}

/// A component's scheduler under random calls, and the operations on a queue that they amount to.
pub struct World {
    order: Order,
    sched: Sched,
    out: PipeIdx,
    tasks: Vec<TaskId>,
    state: [State; TASKS],
    value: [u32; TASKS],
    came: [u32; TASKS],
    clock: u32,
    pub running: Option<usize>,
    /// Tasks that wait keep their value.
    pub settled: bool,
    rng: ChaCha8Rng,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Blocked,
    Waits,
    Runs,
}

impl World {
    pub fn new(order: Order, seed: u64) -> World {
        let shape = MachineShape::flat(1);
        let source = Source { name: "queue.weir".into(), text: order.topology.into() };
        let plan = weir_lang::compile(&source, &NoIncludes, catalog(), &shape, &[])
            .map_err(|all| all.iter().map(|d| d.to_string()).collect::<String>())
            .expect("the topology compiles")
            .plan;
        let config = Config { nr_cpus: 1, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
        let mut sched = Sched::new(&config).expect("an arena");
        sched.load(&plan).expect("the plan loads");
        let tasks: Vec<TaskId> = (0..TASKS).map(|_| sched.task_new(0, 0).expect("room for tasks")).collect();
        for t in &tasks {
            let msg = Msg { task: Some(*t), value: 1, ..Msg::default() };
            sched.notify(0, order.topic, &msg).expect("a message is taken");
        }
        World {
            order,
            sched,
            out: plan.exits[0].expect("the CPU has an exit"),
            tasks,
            state: [State::New; TASKS],
            value: [1; TASKS],
            came: [0; TASKS],
            clock: 0,
            running: None,
            settled: false,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// What the task is ordered by.
    #[cfg(feature = "verilated")]
    pub fn value(&self, n: usize) -> u32 {
        self.value[n]
    }

    fn key(&self, n: usize) -> u64 {
        let value = if self.order.falling { 0xffff - self.value[n] } else { self.value[n] };
        u64::from(value) << 32 | u64::from(self.came[n])
    }

    fn push(&mut self, n: usize) -> Op {
        self.clock += 1;
        self.came[n] = self.clock;
        self.state[n] = State::Waits;
        Op::Push { key: self.key(n), id: n as u8 }
    }

    /// One call, and the operations on a queue meanwhile.
    pub fn step(&mut self) -> Vec<Op> {
        let n = self.rng.random_range(0..TASKS);
        let t = self.tasks[n];
        let what = self.rng.next_u32() % 8;
        match (what, self.state[n]) {
            (0..3, State::New) => {
                self.sched.admit(0, t).expect("a new task");
                vec![self.push(n)]
            }
            (0..3, State::Blocked) => {
                self.sched.unblock(0, t).expect("a blocked task");
                vec![self.push(n)]
            }
            (3, State::Waits) => {
                self.sched.block(0, t).expect("a waiting task");
                self.state[n] = State::Blocked;
                vec![Op::Remove { id: n as u8 }]
            }
            (4..6, State::Waits) if self.settled => Vec::new(),
            (4..6, state) => {
                self.value[n] = self.rng.random_range(1..6);
                let msg = Msg { task: Some(t), value: self.value[n].into(), ..Msg::default() };
                self.sched.notify(0, self.order.topic, &msg).expect("a message is taken");
                if state != State::Waits {
                    return Vec::new();
                }
                vec![Op::Remove { id: n as u8 }, Op::Push { key: self.key(n), id: n as u8 }]
            }
            (6.., _) => match self.running.take() {
                Some(r) => {
                    self.sched.relinquish(0, self.tasks[r]).expect("a running task");
                    vec![self.push(r)]
                }
                None => {
                    let picked = self.sched.pick(0, 0).map(|p| p.task);
                    self.running = picked.and_then(|p| self.tasks.iter().position(|t| *t == p));
                    if let Some(r) = self.running {
                        self.state[r] = State::Runs;
                        return vec![Op::Pop];
                    }
                    Vec::new()
                }
            },
            _ => Vec::new(),
        }
    }

    /// Tasks in the order in which the component gives them out.
    pub fn order(&self) -> Vec<u8> {
        let number = |t| self.tasks.iter().position(|have| *have == t).expect("a task of ours") as u8;
        self.sched.pipe_tasks(self.out).into_iter().map(number).collect()
    }
}

/// What a queue is: a sorted list.
#[derive(Default)]
struct List(Vec<(u64, u8)>);

impl List {
    fn apply(&mut self, op: Op) {
        match op {
            Op::Push { key, id } => {
                let at = self.0.partition_point(|(k, _)| *k <= key);
                self.0.insert(at, (key, id));
            }
            Op::Pop => drop(self.0.remove(0)),
            Op::Remove { id } => self.0.retain(|(_, i)| *i != id),
        }
    }
}

fn follow(order: Order) {
    let decisions = number("WEIR_HW_DECISIONS", 20_000);
    let first = number("WEIR_HW_SEED", 1);
    let (mut made, mut seed) = (0, 0);
    while made < decisions {
        let mut world = World::new(order, first + seed);
        let mut list = List::default();
        #[cfg(feature = "verilated")]
        let mut queues = rtl::Queues::new();
        for step in 0..2000 {
            for op in world.step() {
                #[cfg(feature = "verilated")]
                let popped = list.0.first().map(|(_, id)| *id);
                list.apply(op);
                #[cfg(feature = "verilated")]
                queues.apply(op, popped, &list, first + seed, step);
                made += 1;
            }
            let ids: Vec<u8> = list.0.iter().map(|(_, id)| *id).collect();
            assert_eq!(ids, world.order(), "{order:?}, seed {}, step {step}", first + seed);
        }
        #[cfg(feature = "verilated")]
        while !list.0.is_empty() {
            let popped = list.0.first().map(|(_, id)| *id);
            list.apply(Op::Pop);
            queues.apply(Op::Pop, popped, &list, first + seed, 2000);
        }
        seed += 1;
    }
    println!("{:?}: {made} operations in {seed} histories, no difference", order.topic);
}

#[test]
fn priority_order_is_a_queue() {
    follow(PRIORITY);
}

#[test]
fn edf_is_a_queue() {
    follow(EDF);
}

#[cfg(feature = "verilated")]
mod rtl {
    use weir_hw::verilated::{ARRAY_16, Queue, QueueIn, QueueOut, SYSTOLIC_16};

    use super::{List, Op};

    /// Both queues of hw/rtl, twice: with keys of which no two are equal, and with keys of few values, whose order is that of
    /// their coming.
    pub struct Queues {
        queues: Vec<(&'static str, u32, Queue)>,
        /// What the latter are.
        equals: List,
    }

    impl Queues {
        pub fn new() -> Queues {
            let queue = |name, shift, kind| (name, shift, Queue::new(kind));
            Queues {
                queues: vec![
                    queue("array", 0, &ARRAY_16),
                    queue("systolic", 0, &SYSTOLIC_16),
                    queue("array", 32, &ARRAY_16),
                    queue("systolic", 32, &SYSTOLIC_16),
                ],
                equals: List::default(),
            }
        }

        /// `list`: what the former are after the operation. Those that are to be popped are the first ones of the former.
        pub fn apply(&mut self, op: Op, popped: Option<u8>, list: &List, seed: u64, step: u32) {
            self.equals.apply(match (op, popped) {
                (Op::Push { key, id }, _) => Op::Push { key: key >> 32, id },
                (Op::Pop, Some(id)) => Op::Remove { id },
                (op, _) => op,
            });
            for (name, shift, queue) in &mut self.queues {
                let want = if *shift == 0 { list.0.first() } else { self.equals.0.first() }.copied();
                let input = match (op, popped) {
                    (Op::Push { key, id }, _) => {
                        QueueIn { key: key >> *shift, push: 1, id, ..QueueIn::default() }
                    }
                    (Op::Pop, Some(id)) if *shift > 0 => QueueIn { remove: 1, id, ..QueueIn::default() },
                    (Op::Pop, _) => QueueIn { pop: 1, ..QueueIn::default() },
                    (Op::Remove { id }, _) => QueueIn { remove: 1, id, ..QueueIn::default() },
                };
                let out: QueueOut = queue.clock(input);
                let have = (out.valid == 1).then_some((out.key, out.id));
                assert_eq!(have, want, "{name}, keys from bit {shift}, seed {seed}, step {step}, {op:?}");
                while queue.clock(QueueIn::default()).ready == 0 {}
            }
        }
    }
}
