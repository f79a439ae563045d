// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedules that were worked out from the rules by hand and by another program.

use weir_hw::engine::{Engine, Policy, Task};

/// Execution time and period of each task, CPUs, ticks.
pub struct Vector {
    pub name: &'static str,
    pub policy: Policy,
    pub keep: bool,
    pub cpus: usize,
    pub tasks: &'static [(u32, u32)],
    /// By tick, a character a CPU: the task, or `-`.
    pub schedule: &'static str,
    /// Changes of what a CPU is to do, also to nothing.
    pub interrupts: Option<usize>,
    pub misses: u32,
}

const V2_LLF: &str = "01 02 12 12 10 20 20 10 12 12 10 20";

pub const VECTORS: &[Vector] = &[
    Vector {
        name: "V1: a tie, who ran goes on",
        policy: Policy::Llf,
        keep: true,
        cpus: 1,
        tasks: &[(5, 10), (5, 10)],
        schedule: "0 1 1 0 0 1 1 0 0 1",
        interrupts: Some(6),
        misses: 0,
    },
    Vector {
        name: "V1 without that rule",
        policy: Policy::Llf,
        keep: false,
        cpus: 1,
        tasks: &[(5, 10), (5, 10)],
        schedule: "0 1 0 1 0 1 0 1 0 1",
        interrupts: Some(10),
        misses: 0,
    },
    Vector {
        name: "V2: three of 2/3 on two CPUs",
        policy: Policy::Llf,
        keep: true,
        cpus: 2,
        tasks: &[(2, 3), (2, 3), (2, 3)],
        schedule: V2_LLF,
        interrupts: Some(10),
        misses: 0,
    },
    Vector {
        name: "V2 by EDZL: the same schedule",
        policy: Policy::Edzl,
        keep: true,
        cpus: 2,
        tasks: &[(2, 3), (2, 3), (2, 3)],
        schedule: V2_LLF,
        interrupts: Some(10),
        misses: 0,
    },
    Vector {
        name: "V2 by EDF: one job a period is late",
        policy: Policy::Edf,
        keep: true,
        cpus: 2,
        tasks: &[(2, 3), (2, 3), (2, 3)],
        schedule: "",
        interrupts: None,
        misses: 3,
    },
    Vector {
        name: "V3: Dhall's effect",
        policy: Policy::Llf,
        keep: true,
        cpus: 2,
        tasks: &[(2, 10), (2, 10), (9, 10)],
        schedule: "20 21 21 20 2- 2- 2- 2- 2- --",
        interrupts: Some(6),
        misses: 0,
    },
    Vector {
        name: "V3 by EDZL",
        policy: Policy::Edzl,
        keep: true,
        cpus: 2,
        tasks: &[(2, 10), (2, 10), (9, 10)],
        schedule: "01 02 12 -2 -2 -2 -2 -2 -2 -2",
        interrupts: Some(5),
        misses: 0,
    },
    Vector {
        name: "V3 by EDF: the long task is late",
        policy: Policy::Edf,
        keep: true,
        cpus: 2,
        tasks: &[(2, 10), (2, 10), (9, 10)],
        schedule: "",
        interrupts: None,
        misses: 1,
    },
];

impl Vector {
    /// Ticks that the vector lasts; where nothing is said about the schedule, ten and a deadline.
    pub fn ticks(&self) -> usize {
        if self.schedule.is_empty() { 11 } else { self.schedule.split(' ').count() }
    }

    /// Compare what the CPUs were given at each tick, and what was missed.
    pub fn check(&self, given: &[Vec<Option<usize>>], misses: u32) {
        let name = self.name;
        if !self.schedule.is_empty() {
            let said = |cpus: &Vec<Option<usize>>| {
                cpus.iter().map(|c| c.map_or("-".into(), |n| n.to_string())).collect::<String>()
            };
            let schedule: Vec<String> = given.iter().map(said).collect();
            assert_eq!(schedule.join(" "), self.schedule, "{name}");
        }
        if let Some(interrupts) = self.interrupts {
            let mut before = vec![None; self.cpus];
            let mut count = 0;
            for now in given {
                count += before.iter().zip(now).filter(|(a, b)| a != b).count();
                before.clone_from(now);
            }
            assert_eq!(count, interrupts, "{name}");
        }
        assert_eq!(misses, self.misses, "{name}");
    }
}

pub fn task((wcet, period): (u32, u32)) -> Task {
    Task { period, wcet, deadline: period, phase: 0, sporadic: false }
}

#[test]
fn the_model_keeps_the_golden_schedules() {
    for v in VECTORS {
        let mut e = Engine::new(v.tasks.len(), v.cpus, v.policy);
        e.keep = v.keep;
        v.tasks.iter().enumerate().for_each(|(n, t)| e.set(n, task(*t)));
        let given: Vec<_> = (0..v.ticks())
            .map(|_| {
                e.tick();
                e.cpus().to_vec()
            })
            .collect();
        v.check(&given, e.misses());
    }
}
