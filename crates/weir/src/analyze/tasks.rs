// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tasks and CPUs as the analysis uses them.

use weir_analysis::Task;
use weir_model::{Machine, Op, Workload};

use crate::fault::{Fault, Result};

/// Equal CPUs that stand for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    pub cpus: u32,
    /// Capacity of the slowest; 1024 is full speed.
    pub capacity: u32,
    /// Some are faster than that.
    pub mixed: bool,
}

/// The machine as CPUs that are all as slow as its slowest.
pub fn platform(machine: &Machine, warnings: &mut Vec<String>) -> Result<Platform> {
    let native = machine.shape.cpus.iter().filter(|c| c.online && c.host.is_none());
    let capacities: Vec<u32> = native.map(|c| c.capacity).collect();
    let (Some(slowest), Some(fastest)) = (capacities.iter().min(), capacities.iter().max()) else {
        return Err(Fault::user("the machine has no CPU that runs the scheduler", "name another machine"));
    };
    let platform =
        Platform { cpus: capacities.len() as u32, capacity: (*slowest).max(1), mixed: slowest < fastest };
    if platform.mixed {
        warnings.push(format!(
            "the machine's CPUs differ: all are taken for as slow as the slowest (capacity {slowest} of {fastest})"
        ));
    }
    let mut cores: Vec<u32> = machine.shape.cpus.iter().map(|c| c.core).collect();
    cores.sort_unstable();
    cores.dedup();
    if cores.len() < machine.shape.cpus.len() {
        warnings.push(
            "some CPUs are threads of one core: while both are busy, computing takes longer than the analysis assumes"
                .into(),
        );
    }
    Ok(platform)
}

/// The workload's recurrent tasks. Features that the analysis cannot handle are reported as a warning.
pub fn recurrent(workload: &Workload, platform: &Platform, warnings: &mut Vec<String>) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    let (mut others, mut waiting, mut bound, mut drawn) = (0, 0, 0, 0);
    for spec in &workload.tasks {
        // What arrives at random has no least distance that a bound could use.
        let arrives = spec.program.iter().any(|op| matches!(op, Op::Arrive { .. }));
        let Some(timing) = spec.timing.filter(|t| t.period_ns > 0 && !arrives) else {
            others += 1;
            continue;
        };
        if spec.program.iter().any(|op| matches!(op, Op::Arrive { .. })) {
            drawn += 1;
            continue;
        }
        let (mut offset, mut jitter, mut sporadic) = (spec.start_ns.unwrap_or(0), 0, false);
        for op in spec.program.iter() {
            match op {
                Op::Release { offset_ns, jitter_ns, extra_ns, .. } => {
                    offset += offset_ns;
                    jitter = *jitter_ns;
                    sporadic |= *extra_ns > 0;
                }
                Op::Run { .. }
                | Op::RunBetween { .. }
                | Op::RunDrawn { .. }
                | Op::Runtime { .. }
                | Op::Loop { .. }
                | Op::LoopEnd
                | Op::Marker { .. }
                | Op::Publish { .. } => {}
                _ => {
                    waiting += 1;
                    break;
                }
            }
        }
        bound += u32::from(spec.cpus.is_some());
        let slow = u128::from(timing.wcet_ns) * 1024;
        let wcet = slow.div_ceil(u128::from(platform.capacity));
        tasks.push(Task {
            name: spec.name.clone(),
            wcet: u64::try_from(wcet).unwrap_or(u64::MAX),
            period: timing.period_ns,
            deadline: timing.deadline_ns,
            jitter,
            offset,
            sporadic,
            priority: i64::from(spec.priority),
        });
    }
    if tasks.is_empty() {
        return Err(Fault::user(
            format!("the workload `{}` has no task with a period", workload.name),
            "name one with periodic or sporadic tasks, such as avionics or periodic:tasks=10,util=70%",
        ));
    }
    let plural = |n: u32| if n == 1 { "1 task".to_string() } else { format!("{n} tasks") };
    for (n, what) in [
        (others, "without a period: left out; what such tasks do delays others all the same"),
        (drawn, "whose arrivals follow a law or a trace: left out, as no least distance is known"),
        (
            waiting,
            "with steps that may wait for others (locks, channels, devices): that time is not part of the analysis",
        ),
        (bound, "bound to some CPUs: taken as free to run anywhere"),
    ] {
        if n > 0 {
            warnings.push(format!("{} {what}", plural(n)));
        }
    }
    Ok(tasks)
}
