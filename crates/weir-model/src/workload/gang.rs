// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Gangs: which tasks belong together, and the manifest that declares their needs (`docs/gangs.md`).

use weir_core::gang::Manifest;

use super::{Op, Workload};

/// What makes the slots of a gang begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Way {
    /// Each CPU by its own clock.
    #[default]
    Locked,
    /// A CPU that interrupts the others.
    Central,
    /// A program that changes the scheduling class of one thread after the other.
    Daemon,
    /// A program on each CPU, which is notified through the network and changes the classes there.
    Slurm,
}

impl Way {
    pub const ALL: [Way; 4] = [Way::Locked, Way::Central, Way::Daemon, Way::Slurm];

    /// As workload files have it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Locked => "locked",
            Way::Central => "central",
            Way::Daemon => "daemon",
            Way::Slurm => "slurm",
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|w| w.name() == name)
    }
}

/// Tasks that are to run at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct GangSpec {
    /// With a name and a number of threads.
    pub manifest: Manifest,
    /// Execution times may be cut, its own and those of others, if it does not fit.
    pub cut: bool,
    pub way: Way,
    /// Indices in `tasks`, in the order of the gang's CPUs.
    pub members: Vec<u32>,
}

impl Workload {
    /// The gang that a task belongs to, by indices.
    pub fn gang_of(&self, task: u32) -> Option<u32> {
        self.gangs.iter().position(|g| g.members.contains(&task)).map(|i| i as u32)
    }

    /// The first task that requests a phase which it has not: its index, the phase, and how many its gang has (`None`: it
    /// has no gang). O(steps of all programs).
    pub(super) fn foreign_phase(&self) -> Option<(usize, u32, Option<u32>)> {
        self.tasks.iter().enumerate().find_map(|(i, task)| {
            let asked = task.program.iter().filter_map(|op| match op {
                Op::Phase { phase } => Some(*phase),
                _ => None,
            });
            let most = asked.max()?;
            let phases =
                self.gang_of(i as u32).map(|g| self.gangs[g as usize].manifest.phases().len() as u32);
            (phases.is_none_or(|n| most >= n)).then_some((i, most, phases))
        })
    }
}
