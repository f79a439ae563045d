// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Chains of components timed on the computer at hand: the one part of `reproduce` that looks at a clock.

use std::hint::black_box;
use std::time::Instant;

use weir_core::{Config, Sched, TaskId};
use weir_model::Machine;

use crate::lab::{self, Done};
use weir::fault::Fault;

/// Tasks that wait in the queue while one is admitted and one picked.
const QUEUED: u32 = 16;
/// Pairs of a round.
const PAIRS: u32 = 2_000;

/// Nanoseconds for a task to be given back and the next one to be picked, through chains of 1 to 6 instances of
/// `component`: the 10th percentile of `rounds`, in which all chains take turns.
///
/// # Errors
/// The core lacks memory.
pub fn chains(component: &str, rounds: u32) -> Done<Vec<f64>> {
    let mut chains = (1..=6).map(|n| chain(component, n)).collect::<Done<Vec<_>>>()?;
    let mut times = vec![Vec::new(); chains.len()];
    for _ in 0..rounds {
        for ((sched, running), times) in chains.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..PAIRS {
                sched.relinquish(0, *running).map_err(|e| failed(&e))?;
                *running = black_box(sched.pick(0, 0)).expect("the queue is never empty").task;
            }
            times.push(start.elapsed().as_nanos() as f64 / f64::from(PAIRS));
        }
    }
    let quiet = |mut t: Vec<f64>| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 10]
    };
    Ok(times.into_iter().map(quiet).collect())
}

/// `entry -> component … -> cpus` with a task that runs.
fn chain(component: &str, stages: usize) -> Done<(Sched, TaskId)> {
    let text = format!("entry -> {} -> cpus;\n", vec![component; stages].join(" -> "));
    let plan = lab::plan_of("chain", &text, &Machine::smp(1))?;
    let config = Config { nr_cpus: 1, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
    let mut sched = Sched::new(&config).map_err(|e| failed(&e))?;
    sched.load(&plan).map_err(|e| failed(&e))?;
    for i in 0..=QUEUED {
        let task = sched.task_new(0, i.into()).map_err(|e| failed(&e))?;
        sched.admit(0, task).map_err(|e| failed(&e))?;
    }
    let running = sched.pick(0, 0).expect("tasks were admitted").task;
    Ok((sched, running))
}

fn failed(e: &weir_core::Error) -> Fault {
    Fault::system(format!("the core refused a call of the native measurement: {e}"), "is there memory left?")
}

#[cfg(test)]
mod tests {
    #[test]
    fn longer_chains_take_longer() {
        let ns = super::chains("head_queue", 5).expect("a valid chain");
        assert!(ns.len() == 6 && ns.iter().all(|t| *t > 0.0), "{ns:?}");
    }
}
