// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the simulator needs of an engine that schedules in hardware. Models and RTL of such engines stand beside the RTL (`hw/models`).

use weir_model::Result;

/// How the engine finds the most urgent tasks (parameter `Select`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    Serial,
    Tree,
    Pipelined,
}

/// Which task goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Policy {
    /// Least laxity.
    Llf = 0,
    /// Earliest deadline.
    Edf = 1,
    /// Earliest deadline, but tasks without laxity first.
    Edzl = 2,
    /// Least laxity, decisions put off as long as modified LLF allows.
    Mllf = 3,
}

/// Parameters of a task, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub period: u32,
    pub wcet: u32,
    pub deadline: u32,
    /// The first release is put off by so much.
    pub phase: u32,
    /// Released on demand, a period apart at least.
    pub sporadic: bool,
}

/// How a device is configured before its first tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    pub tasks: usize,
    pub cpus: usize,
    pub policy: Policy,
    /// R2: among equals prefer the task chosen before.
    pub keep: bool,
    /// R5: a task that is chosen again stays on its CPU.
    pub stay: bool,
    /// Clocks from a tick to the next.
    pub tick_clocks: u32,
}

/// What reading SCHED answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The CPU holds nothing and is to run nothing.
    Idle,
    /// It holds the context of this task, of which this is the job.
    Task(usize, u8),
    /// Another CPU holds the context still: ask again.
    Wait,
}

/// An engine.
pub trait Device {
    /// Set a task, before the first tick. False: this engine was built without what the task needs.
    #[must_use]
    fn set(&mut self, n: usize, task: Task) -> bool;
    /// On to the next tick and past its decision.
    fn tick(&mut self);
    /// A job of the task is there and has not ended; its number.
    fn state(&mut self, n: usize) -> (bool, u8);
    /// The job is complete.
    fn done(&mut self, n: usize, job: u8);
    /// The CPU reads SCHED: it hands back what it held.
    fn claim(&mut self, cpu: usize) -> Claim;
    /// The interrupt of the CPU stands.
    fn interrupts(&mut self, cpu: usize) -> bool;
    /// What the CPU is to run.
    fn chosen(&self, cpu: usize) -> Option<usize>;
}

/// A family of engines: how a machine that has one gets it.
pub trait Engines {
    /// Clocks from a tick to the interrupts of its decision.
    fn clocks(&self, select: Select, tasks: u32) -> u32;

    /// An engine of this configuration.
    ///
    /// # Errors
    /// There is none.
    fn device(&self, setup: &Setup, select: Select) -> Result<Box<dyn Device>>;
}
