// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Chains of components timed on the computer at hand: the one part of `reproduce` that looks at a clock.

use std::hint::black_box;
use std::time::Instant;

use weir_core::{Config, Sched, TaskId};
use weir_model::Machine;

use crate::reproduce::lab::{self, Done};
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
            times.push(round(sched, running)?);
        }
    }
    let quiet = |mut t: Vec<f64>| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 10]
    };
    Ok(times.into_iter().map(quiet).collect())
}

/// A difference between two components, with the half-width of its 95 % interval.
pub struct Difference {
    /// Cost of a stage of each, ns a pair: medians of the rounds.
    pub first_ns: f64,
    pub second_ns: f64,
    /// Second over first, less one, in percent: mean of the batches' medians, and the interval's half-width.
    pub percent: f64,
    pub margin: f64,
    pub rounds: u32,
}

/// Rounds of a batch, whose median is one sample; disturbances are shorter than a batch.
const BATCH: u32 = 20;

/// How much more a stage of `second` costs than one of `first`. Both take turns in each round, and
/// each batch has chains of its own, as where they lie in memory matters; batches go on until the interval excludes zero, `most` at most.
///
/// # Errors
/// The core lacks memory.
pub fn compare(first: &str, second: &str, least: u32, most: u32) -> Done<Difference> {
    let (mut samples, mut of_first, mut of_second) = (Vec::new(), Vec::new(), Vec::new());
    let middle = |t: &mut Vec<f64>| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    };
    loop {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let made = |component, stages| chain(component, stages);
        let mut all = [made(first, 1)?, made(first, 6)?, made(second, 1)?, made(second, 6)?];
        for _ in 0..BATCH {
            let mut ns = [0.0; 4];
            for ((sched, running), ns) in all.iter_mut().zip(&mut ns) {
                *ns = round(sched, running)?;
            }
            a.push((ns[1] - ns[0]) / 5.0);
            b.push((ns[3] - ns[2]) / 5.0);
        }
        let (a, b) = (middle(&mut a), middle(&mut b));
        samples.push(100.0 * (b / a - 1.0));
        of_first.push(a);
        of_second.push(b);
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let deviation = samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let margin = 2.0 * (deviation / n).sqrt();
        let batches = samples.len() as u32;
        if (batches >= least && mean.abs() > margin) || batches >= most {
            let (first_ns, second_ns) = (middle(&mut of_first), middle(&mut of_second));
            return Ok(Difference { first_ns, second_ns, percent: mean, margin, rounds: batches * BATCH });
        }
    }
}

/// Nanoseconds of a pair, on the average of a round.
fn round(sched: &mut Sched, running: &mut TaskId) -> Done<f64> {
    let start = Instant::now();
    for _ in 0..PAIRS {
        sched.relinquish(0, *running).map_err(|e| failed(&e))?;
        *running = black_box(sched.pick(0, 0)).expect("the queue is never empty").task;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(PAIRS))
}

/// `entry -> component … -> cpus` with a task that runs.
fn chain(component: &str, stages: usize) -> Done<(Sched, TaskId)> {
    let text = format!("entry -> {} -> cpus;\n", vec![component; stages].join(" -> "));
    let plan = lab::plan_of("chain", &text, &Machine::smp(1), &[])?;
    let config = Config { nr_cpus: 1, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
    Sched::for_threads();
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
    /// A component is as dear as itself: the interval, unless by the one chance in twenty, holds zero or next to it.
    #[test]
    fn nothing_differs_from_itself() {
        let d = super::compare("head_queue", "head_queue", 4, 6).expect("valid chains");
        assert!(d.percent.abs() < d.margin + 25.0 && d.first_ns > 0.0, "{} +- {}", d.percent, d.margin);
    }

    #[test]
    fn longer_chains_take_longer() {
        let ns = super::chains("head_queue", 5).expect("a valid chain");
        assert!(ns.len() == 6 && ns.iter().all(|t| *t > 0.0), "{ns:?}");
    }
}
