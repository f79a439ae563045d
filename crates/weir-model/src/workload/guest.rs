// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedulers within schedulers: tasks that are the CPUs of a virtual machine, or the kernel threads of a process with
//! threads of its own.

use super::Workload;

/// What the schedulers on the two sides of the boundary know about each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inform {
    /// Nothing: to the host a virtual CPU is a task as any other, and the guest does not learn when it has none.
    #[default]
    None,
    /// The guest tells the host how urgent a virtual CPU is: PRIORITY of the task that runs there, or of the most urgent
    /// ready one when it wakes up.
    Priority,
    /// The host tells the guest which virtual CPUs it has: CPU_STATUS when one is taken away, and when it is given back
    /// (Anderson, Bershad, Lazowska and Levy 1992).
    Cpus,
    /// Both.
    Both,
}

impl Inform {
    /// All, with the words of workload files.
    pub const ALL: [(&'static str, Inform); 4] = [
        ("none", Inform::None),
        ("priority", Inform::Priority),
        ("cpus", Inform::Cpus),
        ("both", Inform::Both),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|a| a.1 == self).expect("all are listed").0
    }

    /// By its word.
    pub fn by_name(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|a| a.0 == word).map(|a| a.1)
    }

    /// The host learns how urgent the guest's tasks are.
    pub fn of_priorities(self) -> bool {
        matches!(self, Inform::Priority | Inform::Both)
    }

    /// The guest learns which CPUs it has.
    pub fn of_cpus(self) -> bool {
        matches!(self, Inform::Cpus | Inform::Both)
    }
}

/// A machine within the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuestSpec {
    pub name: String,
    /// What schedules inside: a name of the catalogue, or a file.
    pub topology: String,
    /// The tasks of the workload around it that are its CPUs, in order.
    pub vcpus: Vec<u32>,
    pub inform: Inform,
    /// The cost of starting or resuming a virtual CPU, on the host's CPU, ns.
    pub enter_ns: u64,
    /// Scheduling inside costs nothing, whatever the cost table says.
    pub free: bool,
    /// The inner workload, if another file or a generator describes it; read by [`Workload::resolve`].
    pub from: Option<String>,
    pub workload: Workload,
}

impl Workload {
    /// All guests, each before the guests inside it: with the number of the one that it is in.
    pub fn all_guests(&self) -> Vec<(Option<u32>, &GuestSpec)> {
        let mut all = Vec::new();
        collect(self, None, &mut all);
        all
    }
}

fn collect<'w>(w: &'w Workload, parent: Option<u32>, all: &mut Vec<(Option<u32>, &'w GuestSpec)>) {
    for guest in &w.guests {
        let number = all.len() as u32;
        all.push((parent, guest));
        collect(&guest.workload, Some(number), all);
    }
}
