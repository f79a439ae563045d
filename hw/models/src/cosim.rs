// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The RTL of the engine as a device: every register access and every clock between ticks is simulated.

use crate::clocks::Select;
use crate::device::{Claim, Device, Setup};
use crate::engine::Task;
use crate::regs;
use crate::verilated::{ENGINES, Engine, EngineIn, EngineKind, EngineOut};

/// Engines that are built: tasks, CPUs, selector.
pub fn built() -> impl Iterator<Item = (usize, usize, Select)> {
    ENGINES.iter().map(|k| (k.tasks, k.cpus, select(k)))
}

/// The selector of an engine that is built, by the clocks that it says it takes.
fn select(kind: &'static EngineKind) -> Select {
    let clocks = regs::clocks::DECISION.get(Engine::new(kind).read(0, regs::CLOCKS));
    let all = [Select::Serial, Select::Tree, Select::Pipelined];
    let fits = |s: &Select| crate::clocks::to_decision(*s, kind.tasks as u32) == clocks;
    all.into_iter().find(fits).expect("hw-test compares the clocks of every engine with the table")
}

pub struct Cosim {
    engine: Engine,
    tick_clocks: u64,
    decision_clocks: u64,
    /// Clock of the last tick; none: not started.
    ticked: Option<u64>,
    out: EngineOut,
    chosen: Vec<Option<usize>>,
}

impl Cosim {
    /// Why not: no engine of this size and selector is built, or it lacks the policy, or ticks are too close.
    pub fn new(setup: &Setup, wanted: Select) -> Result<Self, String> {
        let size = |k: &&&'static EngineKind| (k.tasks, k.cpus) == (setup.tasks, setup.cpus);
        let Some(kind) = ENGINES.iter().find(|k| size(k) && select(k) == wanted) else {
            let all: Vec<String> = built()
                .map(|(n, m, s)| format!("{n} tasks on {m} CPUs ({})", format!("{s:?}").to_lowercase()))
                .collect();
            return Err(format!("the engines that are built are those for {}", all.join(", ")));
        };
        let mut engine = Engine::new(kind);
        let ctrl = regs::settings(setup.policy, setup.keep, setup.stay);
        engine.write(0, regs::CTRL, ctrl);
        if engine.read(0, regs::CTRL) != ctrl {
            return Err(format!("{:?} is not built into this engine", setup.policy));
        }
        engine.write(0, regs::TICK, setup.tick_clocks);
        if engine.read(0, regs::TICK) != setup.tick_clocks {
            return Err(format!("ticks {} clocks apart are too close for its decision", setup.tick_clocks));
        }
        let decision_clocks = u64::from(regs::clocks::DECISION.get(engine.read(0, regs::CLOCKS)));
        let (tick_clocks, out) = (setup.tick_clocks.into(), EngineOut::default());
        let chosen = vec![None; setup.cpus];
        Ok(Self { engine, tick_clocks, decision_clocks, ticked: None, out, chosen })
    }
}

impl Device for Cosim {
    fn set(&mut self, n: usize, task: Task) -> bool {
        let [param0, param1] = regs::parameters(&task);
        self.engine.write(0, regs::PARAM0, param0);
        self.engine.write(0, regs::PARAM1, param1);
        self.engine.write(0, regs::CMD, regs::command(regs::OP_SET, n as u8, false, false));
        self.engine.read(0, regs::CMD) == 0
    }

    fn tick(&mut self) {
        let next = match self.ticked {
            None => {
                let ctrl = self.engine.read(0, regs::CTRL);
                self.engine.write(0, regs::CTRL, ctrl | regs::ctrl::RUN.put(1));
                self.engine.clocks
            }
            Some(before) => before + self.tick_clocks,
        };
        assert!(self.engine.clocks <= next, "more register accesses than a tick has clocks");
        self.ticked = Some(next);
        while self.engine.clocks < next + self.decision_clocks + u64::from(crate::clocks::TO_INTERRUPT) {
            self.out = self.engine.clock(EngineIn::default());
        }
        self.chosen = self.engine.cpus(&self.out);
    }

    fn state(&mut self, n: usize) -> (bool, u8) {
        let state = regs::State::of(self.engine.read(0, regs::state(n as u8)));
        (state.ready, state.job)
    }

    fn done(&mut self, n: usize, job: u8) {
        self.engine.write(0, regs::DONE, regs::complete(n as u8, job));
    }

    fn claim(&mut self, cpu: usize) -> Claim {
        let sched = regs::Sched::of(self.engine.read(cpu, regs::SCHED));
        match sched.task {
            _ if sched.wait => Claim::Wait,
            None => Claim::Idle,
            Some(n) => Claim::Task(n.into(), sched.job),
        }
    }

    fn interrupts(&mut self, cpu: usize) -> bool {
        self.engine.clock(EngineIn::default()).irq >> cpu & 1 == 1
    }

    fn chosen(&self, cpu: usize) -> Option<usize> {
        self.chosen[cpu]
    }
}
