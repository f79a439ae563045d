// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The engine as the CPUs beside it see it, by its registers and interrupts: the model here, the RTL in `cosim`. The simulator says
//! what it needs of either ([`Device`], [`Engines`]).

pub use weir_sim::device::{Claim, Device, Engines, Setup};

use weir_sim::{Error, Result};

use crate::clocks::{self, Select};
use crate::engine::{Engine, Task};

/// Engines by the model of their rules, with the clocks that the RTL was measured to take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Models;

impl Engines for Models {
    fn clocks(&self, select: Select, tasks: u32) -> u32 {
        clocks::to_decision(select, tasks) + clocks::TO_INTERRUPT
    }

    fn device(&self, setup: &Setup, _: Select) -> Result<Box<dyn Device>> {
        Ok(Box::new(Model::new(setup)))
    }
}

/// Engines by their RTL, simulated clock by clock, where it is built in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cosimulated;

impl Engines for Cosimulated {
    fn clocks(&self, select: Select, tasks: u32) -> u32 {
        Models.clocks(select, tasks)
    }

    #[cfg(feature = "verilated")]
    fn device(&self, setup: &Setup, select: Select) -> Result<Box<dyn Device>> {
        match crate::cosim::Cosim::new(setup, select) {
            Ok(device) => Ok(Box::new(device)),
            Err(why) => Err(Error::run(format!("this machine's engine cannot be cosimulated: {why}"))
                .help("change `[engine]` or the CPUs of the machine file, or leave out `--hw cosim`")),
        }
    }

    #[cfg(not(feature = "verilated"))]
    fn device(&self, _: &Setup, _: Select) -> Result<Box<dyn Device>> {
        Err(Error::run("this program was built without the engine's RTL").help(
            "`make hw-setup`, then build with `cargo build --release -p runweir --features cosim`; or leave out `--hw cosim`",
        ))
    }
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
