// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The engine as the CPUs beside it see it, by its registers and interrupts: the model here, the RTL in `cosim`.

use crate::engine::{Engine, Policy, Task};

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

/// The model, with the contexts that CPUs hold.
pub struct Model {
    engine: Engine,
    held: Vec<Option<usize>>,
}

impl Model {
    pub fn new(setup: &Setup) -> Self {
        let mut engine = Engine::new(setup.tasks, setup.cpus, setup.policy);
        (engine.keep, engine.stay) = (setup.keep, setup.stay);
        Self { engine, held: vec![None; setup.cpus] }
    }
}

impl Device for Model {
    fn set(&mut self, n: usize, task: Task) -> bool {
        self.engine.set(n, task);
        true
    }

    fn tick(&mut self) {
        self.engine.tick();
    }

    fn state(&mut self, n: usize) -> (bool, u8) {
        (self.engine.ready(n), self.engine.job(n))
    }

    fn done(&mut self, n: usize, job: u8) {
        self.engine.done(n, job);
    }

    fn claim(&mut self, cpu: usize) -> Claim {
        self.held[cpu] = None;
        match self.engine.cpus()[cpu] {
            None => Claim::Idle,
            Some(n) if self.held.contains(&Some(n)) => Claim::Wait,
            Some(n) => {
                self.held[cpu] = Some(n);
                Claim::Task(n, self.engine.job(n))
            }
        }
    }

    fn interrupts(&mut self, cpu: usize) -> bool {
        self.held[cpu] != self.engine.cpus()[cpu]
    }

    fn chosen(&self, cpu: usize) -> Option<usize> {
        self.engine.cpus()[cpu]
    }
}
