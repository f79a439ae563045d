// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A safe handle on one scheduler: the arena, the graph in it, and the calls of `schedule.h`.

use crate::{CpuSet, Plan};

/// Handle of a task within a [`Sched`]; small, dense, reused after [`Sched::exit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// Set-up of a scheduler.
#[derive(Clone, Debug)]
pub struct Config {
    pub nr_cpus: u32,
    /// Address space for the arena; pages are touched only when used.
    pub arena_bytes: usize,
    /// Check all invariants (conservation, slot exclusivity) after every call.
    pub checks: bool,
    /// Record micro-operations for [`Sched::ops`].
    pub oplog: bool,
    /// Seed of the core's few random choices (treap priorities, steal victims).
    pub seed: u64,
}

/// Standard topics (`weir/broker.h`); the number is the array index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Topic {
    CpuStatus, Admit, Dispatch, Relinquish, Block, Unblock, Exit, Tick, Priority, Affinity, Deadline, Isa,
    Counters, Power, Thermal, Frequency, Burn, Marker, Preempt, Kick, Overload, Underload, DeadlineMiss,
    Slice, Lamport, Tcb, Status, Fault,
}

/// A message of a standard topic. `value` is the topic's number: priority (signed, two's complement),
/// absolute deadline in ns, ISA index, burn iterations, online 1/0, frequency in Hz …
#[derive(Clone, Debug, Default)]
pub struct Msg {
    pub cpu: Option<u32>,
    pub task: Option<TaskId>,
    pub value: u64,
    pub value2: u64,
    /// Only for `Topic::Affinity`; an empty set means "everywhere".
    pub mask: Option<CpuSet>,
}

/// What components told the runtime during the last call(s).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutMsg {
    pub topic: Topic,
    pub cpu: Option<u32>,
    pub task: Option<TaskId>,
    pub value: u64,
}

/// One micro-operation of the core, in order, for the cost model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OpRecord {
    pub kind: OpKind,
    /// Pipe (lock, add, remove, move), instance (update, request answered by), or topic.
    pub object: u32,
    /// Steps: levels of a keyed pipe walked, changes handled, elements scanned, iterations burnt.
    pub n: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OpKind {
    /// `object` = pipe. Everything until the matching `Unlock` happens under the lock; nesting is possible.
    Lock = 0, Unlock, Add, Remove, Move,
    /// `object` = instance whose code runs from here to the next `UpdateEnd`.
    Update, UpdateEnd,
    /// `object` = topic.
    Request, Notify,
    /// `n` elements looked at (a balancer's scan).
    Scan,
    /// `n` iterations of a busy loop of the component `burn`.
    Burn,
}

/// Result of [`Sched::pick`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    pub task: TaskId,
    /// Time until the runtime should relinquish; `None`: runtime's default; `u64::MAX`: unlimited.
    pub slice_ns: Option<u64>,
}

/// What a reconfiguration did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapStats {
    /// Tasks re-presented to the new graph.
    pub represented: u32,
    /// Wall-clock pause: from stopping readers to letting them in again.
    pub pause_ns: u64,
    pub instances_built: u32,
    pub instances_kept: u32,
}

/// Why the core refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `WEIR_E…` number of `weir/error.h`.
    pub code: i32,
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Error {}

/// One scheduler. Not `Sync`: the simulator calls it from one thread; the C core itself is thread-safe.
pub struct Sched {
    _private: (),
}

#[allow(unused_variables)]
impl Sched {
    pub fn new(cfg: &Config) -> Result<Self, Error> { unimplemented!() }
    /// Build the first topology.
    pub fn load(&mut self, plan: &Plan) -> Result<(), Error> { unimplemented!() }
    /// Replace the topology; instances of the same name, class and parameters keep their state.
    pub fn swap(&mut self, plan: &Plan) -> Result<SwapStats, Error> { unimplemented!() }
    /// The runtime's clock, read by components; set before each call.
    pub fn set_now(&mut self, ns: u64) { unimplemented!() }
    /// Create an unconsidered task. `cookie` comes back from [`Sched::cookie`].
    pub fn task_new(&mut self, cpu: u32, cookie: u64) -> Result<TaskId, Error> { unimplemented!() }
    pub fn cookie(&self, t: TaskId) -> u64 { unimplemented!() }
    /// unconsidered -> schedulable, first time / after a block. `cpu` is the CPU that runs the call.
    pub fn admit(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> { unimplemented!() }
    pub fn unblock(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> { unimplemented!() }
    /// running -> schedulable.
    pub fn relinquish(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> { unimplemented!() }
    /// running or schedulable -> unconsidered.
    pub fn block(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> { unimplemented!() }
    /// Destroy from any state; the id may be reused afterwards.
    pub fn exit(&mut self, cpu: u32, t: TaskId) -> Result<(), Error> { unimplemented!() }
    /// Claim the next task of CPU `target`; `cpu` runs the call (differs for foreign-hosted CPUs).
    pub fn pick(&mut self, cpu: u32, target: u32) -> Option<Picked> { unimplemented!() }
    /// Publish from the runtime or from user space.
    pub fn notify(&mut self, cpu: u32, topic: Topic, msg: &Msg) -> Result<(), Error> { unimplemented!() }
    /// Ask a topic's responder; `None` if there is none.
    pub fn request(&mut self, cpu: u32, topic: Topic, msg: &Msg) -> Option<Msg> { unimplemented!() }
    /// Messages for the runtime since the last call of this function.
    pub fn drain_messages(&mut self, out: &mut Vec<OutMsg>) { unimplemented!() }
    /// Micro-operations since the last `clear_ops`.
    pub fn ops(&self) -> &[OpRecord] { unimplemented!() }
    pub fn clear_ops(&mut self) { unimplemented!() }
    /// Earliest timer a component armed: (time, handle); run it with `timer_expired` when due.
    pub fn next_timer(&self) -> Option<(u64, u32)> { unimplemented!() }
    pub fn timer_expired(&mut self, cpu: u32, handle: u32) { unimplemented!() }
    pub fn pipe_len(&self, pipe: u32) -> u32 { unimplemented!() }
    /// Tasks of a pipe in order.
    pub fn pipe_tasks(&self, pipe: u32) -> Vec<TaskId> { unimplemented!() }
    /// Bytes of arena memory in use.
    pub fn memory_used(&self) -> usize { unimplemented!() }
    /// Bytes per task under the current topology.
    pub fn bytes_per_task(&self) -> usize { unimplemented!() }
}
