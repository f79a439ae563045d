// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Gangs: which tasks belong together, and the manifest that declares their needs (`docs/gangs.md`).

use weir_core::gang::{Change, Manifest};

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

    /// The first task that requests something which its gang has not: its index, and why. O(steps of all programs).
    pub(super) fn foreign_request(&self) -> Option<(usize, Foreign)> {
        self.tasks.iter().enumerate().find_map(|(i, task)| {
            let gang = self.gang_of(i as u32).map(|g| &self.gangs[g as usize]);
            let phases = gang.map(|g| g.manifest.phases().len() as u32);
            let wrong = task.program.iter().find_map(|op| {
                let (phase, groups) = match op {
                    Op::Gang { change: Change::Phase(phase) } => (Some(*phase), false),
                    Op::Gang { change: Change::Merge { phase, .. } } => (*phase, true),
                    Op::Gang { change: Change::Split(_) } | Op::Group { .. } => (None, true),
                    _ => return None,
                };
                match (gang, phase.zip(phases).filter(|(phase, n)| phase >= n)) {
                    (None, _) => Some(Foreign::NoGang),
                    (_, Some((phase, n))) => Some(Foreign::Phase(phase, n)),
                    (Some(g), _) if groups && g.way != Way::Locked => Some(Foreign::Groups(g.way)),
                    _ => None,
                }
            });
            wrong.map(|why| (i, why))
        })
    }
}

/// Why a request of a task cannot be served.
pub(super) enum Foreign {
    /// It belongs to no gang.
    NoGang,
    /// A phase, and how many the manifest has.
    Phase(u32, u32),
    /// Groups, of a gang whose slots are not begun by each CPU itself.
    Groups(Way),
}
