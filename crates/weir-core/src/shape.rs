// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a policy may know of a machine: which CPUs there are and what they share.
//!
//! The language expands `each cpu`, `each llc` … over a [`MachineShape`]; runtimes hand the same
//! numbers to components. Speeds, costs and power belong to the runtime, not to the shape.

use serde::{Deserialize, Serialize};

/// One logical CPU (a hardware thread), identified by its index in [`MachineShape::cpus`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuShape {
    /// Number the operating system gives it (`os_index` in hwloc); names it in files and reports.
    pub os_index: u32,
    /// Dense index of the physical core; SMT siblings share it.
    pub core: u32,
    /// Dense index of the cluster: cores that the machine groups inside a last-level cache, such as those that share an L2.
    #[serde(default)]
    pub cluster: u32,
    /// Dense index of the last-level cache.
    pub llc: u32,
    /// Dense index of the NUMA node.
    pub node: u32,
    /// Dense index of the package (socket).
    pub package: u32,
    /// Index into [`MachineShape::isas`]; 0 is the machine's native instruction set.
    pub isa: u16,
    /// Compute capacity in the kernel's unit: 1024 is the fastest CPU of the machine.
    pub capacity: u32,
    /// CPUs of one coherence domain share memory; others exchange messages only.
    pub coherence: u32,
    /// The CPU that runs the scheduler for this one, where it cannot run it itself (source 0, 6.1.4).
    pub host: Option<u32>,
    /// Present when the machine starts; the others may arrive later.
    pub online: bool,
}

/// The CPUs of a machine and the names of its instruction sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineShape {
    /// Preset name or file stem.
    pub name: String,
    /// Logical CPUs, index = CPU number within Runweir.
    pub cpus: Vec<CpuShape>,
    /// Instruction-set names; `isas[0]` is called `native` in topologies as well.
    pub isas: Vec<String>,
}

impl MachineShape {
    /// The CPU that runs the scheduler for `cpu`: its host, or itself.
    pub fn scheduled_by(&self, cpu: u32) -> u32 {
        self.cpus[cpu as usize].host.filter(|h| *h < self.nr_cpus()).unwrap_or(cpu)
    }

    /// The coherence domain in which each CPU's scheduling happens, numbered from 0 without gaps.
    pub fn domains(&self) -> Vec<u32> {
        let of = |c: u32| self.cpus[self.scheduled_by(c) as usize].coherence;
        let mut known: Vec<u32> = (0..self.nr_cpus()).map(of).collect();
        known.sort_unstable();
        known.dedup();
        let index = |c: u32| known.binary_search(&of(c)).expect("it was put there") as u32;
        (0..self.nr_cpus()).map(index).collect()
    }

    /// `n` equal CPUs with one core each, one LLC, one node: enough for tests and for checking
    /// a topology without a machine.
    pub fn flat(n: u32) -> Self {
        let cpu = |i| CpuShape {
            os_index: i,
            core: i,
            cluster: i,
            llc: 0,
            node: 0,
            package: 0,
            isa: 0,
            capacity: 1024,
            coherence: 0,
            host: None,
            online: true,
        };
        Self { name: format!("smp-{n}"), cpus: (0..n).map(cpu).collect(), isas: vec!["native".into()] }
    }

    /// Number of logical CPUs, present or not.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }
}
