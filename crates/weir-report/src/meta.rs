// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Facts about a run that a report needs and the events do not have.

use std::collections::BTreeMap;

use weir_core::{CpuSet, Plan};

/// Names and numbers of a run; index = number in the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Version of Runweir, e.g. `1.0.0`.
    pub runweir: String,
    pub topology: String,
    pub machine: String,
    pub workload: String,
    pub seed: u64,
    /// CPUs of the machine, present or not.
    pub nr_cpus: u32,
    /// Label of each CPU, e.g. `P-core 3`; CPUs without one are called `CPU n`.
    pub cpu_names: Vec<String>,
    /// Name of each pipe (`PlanPipe::name`).
    pub pipes: Vec<String>,
    /// Name of each instance (`PlanInstance::name`).
    pub instances: Vec<String>,
    /// What each pipe leads to; empty if not requested.
    pub stages: Vec<String>,
    /// Speed of each CPU, the fastest being 1024; empty where all are alike.
    pub capacities: Vec<u32>,
}

/// Names of a topology that takes over during a run; found by the name that the swap gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub topology: String,
    pub pipes: Vec<String>,
    pub instances: Vec<String>,
    pub stages: Vec<String>,
}

/// What each pipe of a plan leads to: `exit CPUS`, or `at INSTANCE COMPONENT WRITER BUDGET`: what takes tasks out of it, what
/// wrote them into it, and which component gives budgets; `-` where there is none.
pub fn stages(plan: &Plan) -> Vec<String> {
    let component = |instance: u32| {
        let class = plan.instances.get(instance as usize).map(|i| i.class)?;
        weir_core::catalog().class(class)
    };
    let budget = (0..plan.instances.len() as u32)
        .filter_map(component)
        .find(|c| c.answers.iter().any(|t| t == "BUDGET"))
        .map_or("-", |c| &*c.name);
    let stage = |(index, pipe): (u32, &weir_core::PlanPipe)| {
        let cpus: CpuSet =
            (0..).zip(&plan.exits).filter(|(_, exit)| **exit == Some(index)).map(|(cpu, _)| cpu).collect();
        if !cpus.is_empty() {
            return format!("exit {cpus}");
        }
        let to = pipe.to.0;
        let (instance, kind) = match (plan.instances.get(to as usize), component(to)) {
            (Some(i), Some(c)) => (&*i.name, &*c.name),
            _ => ("-", "-"),
        };
        let writer = pipe.from.and_then(|from| component(from.0)).map_or("-", |c| &*c.name);
        format!("at {instance} {kind} {writer} {budget}")
    };
    (0..).zip(&plan.pipes).map(stage).collect()
}

impl Names {
    /// Those of a plan.
    pub fn of(plan: &Plan) -> Self {
        Names {
            topology: plan.name.clone(),
            pipes: plan.pipes.iter().map(|p| p.name.clone()).collect(),
            instances: plan.instances.iter().map(|i| i.name.clone()).collect(),
            stages: stages(plan),
        }
    }
}

impl Meta {
    /// Label of a CPU.
    pub fn cpu_name(&self, cpu: u32) -> String {
        named(&self.cpu_names, cpu, "CPU")
    }
}

fn named(names: &[String], index: u32, kind: &str) -> String {
    match names.get(index as usize) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("{kind} {index}"),
    }
}

/// Which of the reported things an index in an event means. The indices of pipes and instances start over
/// with every topology; what has the same name in the next one goes on where it was.
#[derive(Debug)]
pub(crate) struct Slots {
    kind: &'static str,
    /// Name of each slot.
    pub names: Vec<String>,
    /// Slot of each index of the present topology.
    slot_of: Vec<u32>,
    /// In front of names that have to be made up.
    prefix: String,
    /// Names of the topologies by the topology's name.
    known: Vec<(String, Vec<String>)>,
}

impl Slots {
    pub fn pipes(meta: &Meta) -> Self {
        Self::new("pipe", &meta.topology, &meta.pipes)
    }

    pub fn instances(meta: &Meta) -> Self {
        Self::new("instance", &meta.topology, &meta.instances)
    }

    fn new(kind: &'static str, topology: &str, names: &[String]) -> Self {
        let known = vec![(topology.to_string(), names.to_vec())];
        let mut slots = Self { kind, names: Vec::new(), slot_of: Vec::new(), prefix: String::new(), known };
        slots.adopt(names);
        slots
    }

    /// Makes the names of a topology known that may take over. What was known of another of this name (a topology that was
    /// changed twice) is forgotten.
    pub fn learn(&mut self, topology: &str, names: &[String]) {
        match self.known.iter_mut().find(|(t, _)| t == topology) {
            Some((_, known)) if known == names => {}
            Some((_, known)) => *known = names.into(),
            None => self.known.push((topology.into(), names.into())),
        }
    }

    /// Slot of an index. One beyond the known names gets a slot of its own.
    #[inline]
    pub fn slot(&mut self, index: u32) -> usize {
        match self.slot_of.get(index as usize) {
            Some(&slot) => slot as usize,
            None => self.extend(index),
        }
    }

    #[cold]
    fn extend(&mut self, index: u32) -> usize {
        while self.slot_of.len() <= index as usize {
            let name = format!("{}{} {}", self.prefix, self.kind, self.slot_of.len());
            self.slot_of.push(self.names.len() as u32);
            self.names.push(name);
        }
        self.slot_of[index as usize] as usize
    }

    /// Topology `to` takes over: from now on indices are its own.
    pub fn swap(&mut self, to: &str) {
        let names =
            self.known.iter().find(|(t, _)| t == to).map(|(_, names)| names.clone()).unwrap_or_default();
        self.prefix = format!("{to}: ");
        self.slot_of.clear();
        self.adopt(&names);
    }

    fn adopt(&mut self, names: &[String]) {
        let known: BTreeMap<&str, u32> = (0..).zip(&self.names).map(|(i, n)| (n.as_str(), i)).collect();
        let mut fresh = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let slot = match known.get(name.as_str()) {
                Some(&slot) => slot,
                None => {
                    let made_up = || format!("{}{} {index}", self.prefix, self.kind);
                    fresh.push(if name.is_empty() { made_up() } else { name.clone() });
                    (self.names.len() + fresh.len() - 1) as u32
                }
            };
            self.slot_of.push(slot);
        }
        self.names.append(&mut fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unnamed_things_are_numbered() {
        let meta = Meta { cpu_names: vec!["P-core 0".into(), String::new()], ..Meta::default() };
        assert_eq!(meta.cpu_name(0), "P-core 0");
        assert_eq!(meta.cpu_name(1), "CPU 1");
        let mut pipes = Slots::pipes(&meta);
        assert_eq!(pipes.slot(1), 1);
        assert_eq!(pipes.names, ["pipe 0", "pipe 1"]);
    }

    #[test]
    fn a_swap_keeps_what_has_the_same_name() {
        let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let meta =
            Meta { topology: "a".into(), pipes: names(&["entry", "lb.out0", "lb.out1"]), ..Meta::default() };
        let mut pipes = Slots::pipes(&meta);
        pipes.learn("b", &names(&["fifo.out", "entry"]));
        assert_eq!([0, 1, 2].map(|i| pipes.slot(i)), [0, 1, 2]);
        pipes.swap("b");
        assert_eq!([0, 1, 2].map(|i| pipes.slot(i)), [3, 0, 4]);
        // The same topology, changed once more.
        pipes.learn("b", &names(&["late.out", "entry", "lb.out1"]));
        pipes.swap("b");
        assert_eq!([0, 1, 2].map(|i| pipes.slot(i)), [5, 0, 2]);
        pipes.swap("unknown");
        assert_eq!(pipes.slot(0), 6);
        pipes.swap("a");
        assert_eq!([0, 1, 2].map(|i| pipes.slot(i)), [0, 1, 2]);
        assert_eq!(
            pipes.names,
            ["entry", "lb.out0", "lb.out1", "fifo.out", "b: pipe 2", "late.out", "unknown: pipe 0"]
        );
    }
}
