// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a report must be told about a run, because the events do not say it.

/// Names and numbers of a run; index = number in the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Version of Runweir, e.g. `0.1.0`.
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
}

impl Meta {
    /// Label of a CPU.
    pub fn cpu_name(&self, cpu: u32) -> String {
        named(&self.cpu_names, cpu, "CPU")
    }

    /// Name of a pipe; pipes that came with a swap may have none.
    pub fn pipe_name(&self, pipe: u32) -> String {
        named(&self.pipes, pipe, "pipe")
    }

    /// Name of an instance; instances that came with a swap may have none.
    pub fn instance_name(&self, instance: u32) -> String {
        named(&self.instances, instance, "instance")
    }
}

fn named(names: &[String], index: u32, kind: &str) -> String {
    match names.get(index as usize) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("{kind} {index}"),
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
        assert_eq!(meta.pipe_name(7), "pipe 7");
        assert_eq!(meta.instance_name(2), "instance 2");
    }
}
