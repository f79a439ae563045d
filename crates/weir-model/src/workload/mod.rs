// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The modelled load: tasks, each with a small program, and the objects they meet at.

mod build;
mod criticality;
mod dice;
mod draw;
mod fairness;
mod gang;
mod generate;
mod guest;
mod models;
mod resolve;
mod rtapp;
mod scale;
mod sheet;
mod simso;
mod tomlfile;
mod units;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::CpuSet;
use weir_core::gang::Change;

use crate::counters::Profile;
use crate::scenario::{Publication, Subject};
pub use build::{MAX_FILE, MAX_OPS, MAX_TASKS};
pub use criticality::Criticality;
pub use draw::Flow;
pub use fairness::{FairGroup, FairTask, Fairness, Memory};
pub use gang::{GangSpec, Way};
pub use generate::{GeneratorInfo, ParamInfo, generators};
pub use guest::{GuestSpec, Inform};
pub use models::{Arrivals, Dag, DagNode, Dist, Phase, Protocol, Shape};

/// How tasks count themselves at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierCounter {
    /// In one word that all of them write and then read: each access fetches its line from the CPU that had it last, one after the other.
    Central,
    /// In a tree of words: as many lines as it has levels, for all at once.
    Tree,
}

impl BarrierCounter {
    pub const ALL: [Self; 2] = [Self::Central, Self::Tree];

    /// As workloads write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Central => "central",
            Self::Tree => "tree",
        }
    }
}

/// How a task waits at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierWait {
    /// It spins for so much CPU time, and then blocks.
    Spin { ns: u64 },
    /// It looks for so much CPU time, offers its CPU to others, and so on.
    Yield { ns: u64 },
}

/// What a run executes. All indices point into the vectors of this struct.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Catalogue name, file stem or generator call.
    pub name: String,
    /// Tasks by template; `start` says which of them exist from the beginning.
    pub tasks: Vec<TaskSpec>,
    /// Criticality of tasks, by index in `tasks`; tasks that are not here have no level.
    pub criticality: BTreeMap<u32, Criticality>,
    /// How long a job may wait for sections of less urgent tasks that no program shows, by index in `tasks`, ns; for
    /// analysis only.
    pub blocking: BTreeMap<u32, u64>,
    /// How tasks use caches and predictors, and which profile each has, by index in `tasks`; those that are not here
    /// are not counted.
    pub profiles: Vec<Profile>,
    pub profile_of: BTreeMap<u32, u32>,
    /// Which profile they have while they keep a CPU and wait, likewise; those that are not here count nothing then.
    pub wait_profile_of: BTreeMap<u32, u32>,
    /// Weights, turns and groups for fair policies.
    pub fairness: Fairness,
    /// Names of the objects, for reports and diagnostics.
    pub mutexes: Vec<String>,
    /// Protocol of each mutex; those behind the end of the list have none.
    pub protocols: Vec<Protocol>,
    /// Graphs of tasks, which [`Op::Join`] refers to.
    pub dags: Vec<Dag>,
    pub conditions: Vec<String>,
    /// Suspend/resume events (rt-app); a resume without a waiter is lost, as in rt-app.
    pub events: Vec<String>,
    /// Barriers with the number of tasks that must arrive.
    pub barriers: Vec<(String, u32)>,
    /// How tasks wait at a barrier; at barriers that are not here they block.
    pub barrier_wait: BTreeMap<u32, BarrierWait>,
    /// How tasks count themselves at a barrier, where that takes time.
    pub barrier_counter: BTreeMap<u32, BarrierCounter>,
    /// Programs whose tasks run at the same time, where the topology has slots.
    pub gangs: Vec<GangSpec>,
    /// Machines within the machine; some of the tasks are their CPUs.
    pub guests: Vec<GuestSpec>,
    /// Bounded byte streams (pipes, sockets) with their capacity in bytes.
    pub channels: Vec<(String, u64)>,
    /// Spin flags: counters that a task may wait for without leaving its CPU.
    pub flags: Vec<String>,
    /// Absolute end that the workload itself asks for (rt-app `global.duration`), in ns.
    pub duration_ns: Option<u64>,
    /// Machine events that the workload brings along (hotplug scenarios), ascending.
    pub machine_events: Vec<(u64, crate::machine::MachineEvent)>,
    /// Actions on the scheduler while the workload runs, if its file has any.
    pub scenario: Option<crate::scenario::Scenario>,
    /// Names of the timers that tasks share ([`Op::Timer`] with `shared`).
    pub timers: Vec<String>,
    /// The CPU whose speed is the unit of the work, where the source says so (rt-app calibrates on one
    /// CPU); [`Workload::calibrate`] turns the work into that of a CPU of capacity 1024.
    pub calibration_cpu: Option<u32>,
    /// A SimSo file's data about the machine and the scheduler.
    pub simso: Option<SimsoExtras>,
    /// Things in the source that were read but have no counterpart here, one sentence each.
    pub warnings: Vec<String>,
}

/// Parts of a SimSo configuration that are not workload; a caller may use them as defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimsoExtras {
    /// Processors in the file.
    pub nr_cpus: u32,
    /// Speed of each processor; execution times are those of speed 1.
    pub speeds: Vec<f64>,
    /// The file's data about costs.
    pub costs: SimsoCosts,
    /// Scheduler as written, for example `simso.schedulers.EDF`.
    pub scheduler: Option<String>,
    /// Simulated time that the file asks for.
    pub duration_ns: Option<u64>,
}

/// Costs of a SimSo file that have a counterpart in a cost table, ns; of processors that differ the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimsoCosts {
    /// Saving a context and loading one.
    pub switch_ns: u64,
    /// A job that continues on another CPU, under the execution time model `fixedpenalty`.
    pub migration_ns: u64,
}

impl SimsoCosts {
    /// The cost table of the file; everything that it does not know is free.
    pub fn table(&self) -> crate::Costs {
        let far =
            |ns| crate::costs::ByDistance { sibling: ns, l2: ns, llc: ns, node: ns, remote: ns, domain: ns };
        let mut costs = crate::Costs::zero();
        costs.context_switch = self.switch_ns;
        costs.migration = far(self.migration_ns);
        costs
    }
}

/// Linux scheduling policy asked for by the source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    #[default]
    Other,
    Batch,
    Idle,
    Fifo,
    RoundRobin,
    /// SCHED_DEADLINE parameters in ns.
    Deadline {
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    },
}

/// A task to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSpec {
    pub name: String,
    /// Tasks of one group are summed up in reports (an rt-app thread's instances, a hackbench group).
    pub group: String,
    /// Created at this time; `None` is a template that only `Op::Fork` instantiates.
    pub start_ns: Option<u64>,
    pub policy: Policy,
    /// Higher is more urgent, on one scale for all policies: -nice for fair tasks (-19..=20),
    /// 100 + rt_priority for FIFO and RR, 300 for DEADLINE.
    pub priority: i32,
    /// Where it may run; `None` is everywhere.
    pub cpus: Option<CpuSet>,
    /// Instruction set by name; `None` is native.
    pub isa: Option<String>,
    /// Timing parameters known up front, for real-time components and reports.
    pub timing: Option<Timing>,
    /// What becomes of jobs that are not complete at their deadline.
    pub on_miss: OnMiss,
    /// Shared by all instances of a template, so that a million tasks cost one program.
    pub program: Arc<[Op]>,
}

impl TaskSpec {
    /// A fair task with nice 0 that starts at once and runs anywhere.
    pub fn new(name: impl Into<String>, group: impl Into<String>, program: impl Into<Arc<[Op]>>) -> Self {
        Self {
            name: name.into(),
            group: group.into(),
            start_ns: Some(0),
            policy: Policy::Other,
            priority: 0,
            cpus: None,
            isa: None,
            timing: None,
            on_miss: OnMiss::Continue,
            program: program.into(),
        }
    }

    /// A strictly periodic task without end: a job of `wcet_ns` every period, the first at `offset_ns`.
    pub fn periodic(name: impl Into<String>, timing: Timing, offset_ns: u64) -> Self {
        let Timing { period_ns, deadline_ns, wcet_ns } = timing;
        let release = Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns: 0, extra_ns: 0 };
        let program = [Op::Loop { count: None }, release, Op::Run { ns: wcet_ns }, Op::LoopEnd];
        Self { timing: Some(timing), ..Self::new(name, "", program) }
    }
}

/// What becomes of a job that is not complete at its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMiss {
    /// It continues; later jobs wait for it.
    #[default]
    Continue,
    /// It is thrown away at its deadline.
    Abort,
    /// It continues; jobs released before it is done are dropped.
    Skip,
}

/// Parameters of a recurrent real-time task, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Period, or minimum inter-arrival time of a sporadic task.
    pub period_ns: u64,
    /// Relative deadline.
    pub deadline_ns: u64,
    pub wcet_ns: u64,
}

/// One step of a task's program. Work is given as time on a CPU of capacity 1024 at its top clock.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Compute; slower CPUs take longer.
    Run {
        ns: u64,
    },
    /// Compute for a time uniformly drawn from `min..=max` (seeded).
    RunBetween {
        min_ns: u64,
        max_ns: u64,
    },
    /// Compute for a time drawn from a distribution (seeded).
    RunDrawn {
        dist: Arc<Dist>,
    },
    /// Hold the CPU for this much CPU time, however fast the CPU is (rt-app `runtime`).
    Runtime {
        ns: u64,
    },
    /// Touch memory of this size: compute with the machine's memory cost (rt-app `mem`).
    Memory {
        bytes: u64,
    },
    /// Block for a time.
    Sleep {
        ns: u64,
    },
    /// Block until this time of the run; none where it has passed.
    Until {
        ns: u64,
    },
    /// Block for device I/O of this size (rt-app `iorun`).
    Io {
        bytes: u64,
    },
    /// Wait until a period after the timer's last expiry. The reference of the first use is the start of
    /// the using task, not the time of the use (rt-app: run 10, timer 100 wakes at 100, 200 …). `timer`
    /// indexes `Workload::timers` when `shared`, else it is a small number private to the task.
    /// `relative`: the next period starts at the wake-up when the old one was overrun
    /// (rt-app mode `relative`); otherwise overruns are caught up (mode `absolute`).
    Timer {
        timer: u32,
        period_ns: u64,
        relative: bool,
        shared: bool,
    },
    /// Begin a job: blocks until its release. Releases are at `offset + k * period` after the task's
    /// start (plus a seeded jitter of
    /// up to `jitter_ns`); a sporadic task adds up to `extra_ns` to each inter-arrival time. The deadline
    /// is relative to the release. `k` counts the task's own executions of this kind of op; where
    /// `period_ns` is 0 there is one release at `offset_ns`, so that a list of dates is a row of these ops.
    Release {
        offset_ns: u64,
        period_ns: u64,
        deadline_ns: u64,
        jitter_ns: u64,
        extra_ns: u64,
    },
    /// Begin a job, as `Release` does, when the next one arrives. A deadline of `u64::MAX` is none;
    /// `period_ns` is published with a deadline.
    Arrive {
        arrivals: Arc<Arrivals>,
        offset_ns: u64,
        period_ns: u64,
        deadline_ns: u64,
        jitter_ns: u64,
    },
    /// Behind the release of a node of a graph: wait until the same job of each node before it is done.
    Join {
        dag: u32,
        node: u32,
    },
    Lock {
        mutex: u32,
    },
    Unlock {
        mutex: u32,
    },
    /// Condition variable: release the mutex, sleep, take it again.
    Wait {
        condition: u32,
        mutex: u32,
    },
    Signal {
        condition: u32,
    },
    Broadcast {
        condition: u32,
    },
    /// Signal, then wait on the same condition (rt-app `sync`).
    Sync {
        condition: u32,
        mutex: u32,
    },
    Barrier {
        barrier: u32,
    },
    Suspend {
        event: u32,
    },
    Resume {
        event: u32,
    },
    /// Begin a job when another task activates it; activations queue up. The deadline is the relative one of
    /// the task's timing, counted from the activation.
    Await {
        event: u32,
    },
    /// Begin a job when another task has activated it, as `Await`; but where an activation is there already the task goes on without
    /// giving up its CPU, and several tasks may wait, served in order: a semaphore.
    Take {
        event: u32,
    },
    /// Activate a job of the task that awaits it, now or later.
    Activate {
        event: u32,
    },
    Yield,
    /// Write to / read from a channel: blocks while it is full / empty.
    Write {
        channel: u32,
        bytes: u64,
    },
    Read {
        channel: u32,
        bytes: u64,
    },
    /// Add to a flag / spin (running) until it is at least `value` times the loop's iteration count
    /// of this task plus one when `per_iteration`, otherwise until it is at least `value`.
    Raise {
        flag: u32,
        by: u64,
    },
    SpinUntil {
        flag: u32,
        value: u64,
        per_iteration: bool,
    },
    /// Instantiate `tasks[template]`.
    Fork {
        template: u32,
    },
    /// Change of instruction set at this point; the CPU must match before the next work.
    SetIsa {
        isa: Option<String>,
    },
    SetPriority {
        priority: i32,
    },
    SetAffinity {
        cpus: Option<CpuSet>,
    },
    /// `count` iterations (`None`: endless) of the ops up to the matching `LoopEnd`; loops nest.
    Loop {
        count: Option<u64>,
    },
    LoopEnd,
    /// Request a change of the task's gang; the task continues.
    Gang {
        change: Change,
    },
    /// The task's CPU is in this group of its gang from now on.
    Group {
        group: u32,
    },
    /// Show a landmark in the trace, and publish MARKER with its number.
    Marker {
        text: String,
        number: u64,
    },
    /// Publish a message, about the task itself where the topic is about tasks.
    Publish {
        what: Arc<Publication>,
    },
    /// Ask what the responder of a topic knows of the task; the answer is in the trace.
    Request {
        topic: Subject,
    },
    /// Be a CPU of a guest until the guest is over: run what its scheduler chooses, and wait while it has nothing to do.
    Vcpu {
        guest: u32,
        vcpu: u32,
    },
}

impl Op {
    /// A job begins here.
    pub fn is_release(&self) -> bool {
        matches!(self, Op::Release { .. } | Op::Arrive { .. })
    }
}
