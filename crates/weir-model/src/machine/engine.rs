// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A scheduler in hardware beside the CPUs: `scheduler = "engine"` of a machine file.

use super::Machine;

/// How the engine finds the most urgent tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HwSelect {
    /// One task a clock.
    Serial,
    /// All in one clock.
    Tree,
    /// A level of the tree a clock.
    Pipelined,
}

impl HwSelect {
    pub const ALL: [HwSelect; 3] = [HwSelect::Serial, HwSelect::Tree, HwSelect::Pipelined];

    pub fn name(self) -> &'static str {
        match self {
            HwSelect::Serial => "serial",
            HwSelect::Tree => "tree",
            HwSelect::Pipelined => "pipelined",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// The scheduling engine `weir_laxity` (docs/hardware.md) as it was built for the machine. It has an interrupt line for each CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HwEngine {
    /// Tasks that it has room for.
    pub tasks: u32,
    pub hz: u64,
    pub select: HwSelect,
}

impl Default for HwEngine {
    /// The clock of the prototype (Mancuso et al., V-B2), and the largest one.
    fn default() -> Self {
        Self { tasks: Self::MAX_TASKS, hz: 48_000_000, select: HwSelect::Serial }
    }
}

impl HwEngine {
    pub const MAX_TASKS: u32 = 64;
    pub const MAX_CPUS: u32 = 8;

    pub(super) fn describe(&self) -> String {
        format!("scheduled by an engine for {} tasks, {}", self.tasks, self.select.name())
    }
}

impl Machine {
    /// Why the engine cannot schedule this machine, and what helps.
    pub fn engine_misfit(&self) -> Option<(String, &'static str)> {
        self.engine?;
        let cpus = &self.shape.cpus;
        if self.nr_cpus() > HwEngine::MAX_CPUS {
            return Some((
                format!("the engine schedules up to {} CPUs, not {}", HwEngine::MAX_CPUS, self.nr_cpus()),
                "describe fewer CPUs, or schedule in software",
            ));
        }
        let equal = |c: &weir_core::CpuShape| {
            (c.isa, c.coherence, c.host, c.online) == (0, cpus[0].coherence, None, true)
        };
        let cores: std::collections::BTreeSet<u32> = cpus.iter().map(|c| c.core).collect();
        if self.kinds.len() > 1
            || cores.len() < cpus.len()
            || !cpus.iter().all(equal)
            || !self.events.is_empty()
            || self.thermal.is_some()
            || self.clocks.is_some()
        {
            return Some((
                "the engine schedules equal CPUs that are always there".into(),
                "let there be one kind of CPU, a core each, without `isa`, `host`, `domain`, `[[event]]`, [thermal] and [clocks]",
            ));
        }
        None
    }
}
