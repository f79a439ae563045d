// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Nanoseconds per admit+pick pair: chains of 1 to 6 stages against the monolith, in one run.

use std::hint::black_box;
use std::time::Instant;

use weir_core::{Config, Plan, PlanCpu, PlanInstance, PlanPipe, Sched, catalog};

use crate::monolith::Monolith;

/// Tasks that wait in the queue while one is admitted and one picked.
const QUEUED: u32 = 16;
const PAIRS: u32 = 2_000;
const ROUNDS: usize = 300;

/// `entry -> head_queue … -> cpu 0` with `stages` instances of head_queue.
fn chain(stages: u32) -> Plan {
    let id = |name: &str| catalog().get(name).expect("a component of the catalogue").id;
    let pipe = |i: u32| PlanPipe {
        name: format!("p{i}"),
        keyed: false,
        postponed: false,
        from: i.checked_sub(1).map(|f| (f, 0)),
        to: (i, 0),
        label: 0,
        depth: i,
    };
    let stage = |i: u32| PlanInstance {
        name: format!("stage{i}"),
        class: id(if i == stages { "termination" } else { "head_queue" }),
        params: vec![],
        domain: 0,
        ins: vec![i],
        outs: if i == stages { vec![] } else { vec![i + 1] },
    };
    Plan {
        name: format!("chain-{stages}"),
        pipes: (0..=stages).map(pipe).collect(),
        instances: (0..=stages).map(stage).collect(),
        entries: vec![0],
        exits: vec![Some(stages)],
        cpus: vec![PlanCpu { capacity: 1024, ..PlanCpu::default() }],
    }
}

/// The rounds, ns per pair.
struct Samples(Vec<f64>);

impl Samples {
    /// 10th percentile: a short round that nothing interrupted, without trusting the luckiest one.
    fn quiet(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.0.len() / 10]
    }
}

/// Measure all subjects round by round, so that a disturbance hits all of them.
pub fn run() {
    let config = Config { nr_cpus: 1, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
    let mono = Monolith::new(QUEUED + 1);
    (0..QUEUED).for_each(|t| {
        mono.admit(t);
    });
    let mut current = QUEUED;
    let mut chains: Vec<(Sched, weir_core::TaskId)> = (1..=6)
        .map(|n| {
            let mut s = Sched::new(&config).expect("64 MiB of address space");
            s.load(&chain(n)).expect("a valid plan");
            let tasks: Vec<_> = (0..=QUEUED).map(|i| s.task_new(0, i.into()).expect("memory")).collect();
            tasks.iter().for_each(|t| s.admit(0, *t).expect("unconsidered"));
            let running = s.pick(0, 0).expect("a task").task;
            (s, running)
        })
        .collect();

    let mut results: Vec<Samples> = (0..7).map(|_| Samples(Vec::new())).collect();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..PAIRS {
            mono.admit(current);
            current = black_box(mono.pick()).expect("never empty");
        }
        results[0].0.push(start.elapsed().as_nanos() as f64 / f64::from(PAIRS));
        for (i, (s, running)) in chains.iter_mut().enumerate() {
            let start = Instant::now();
            for _ in 0..PAIRS {
                s.relinquish(0, *running).expect("running");
                *running = black_box(s.pick(0, 0)).expect("never empty").task;
            }
            results[i + 1].0.push(start.elapsed().as_nanos() as f64 / f64::from(PAIRS));
        }
    }

    let mono_ns = results[0].quiet();
    println!(
        "admit+pick, one CPU, {QUEUED} tasks queued, 10th percentile of {ROUNDS} rounds of {PAIRS} pairs"
    );
    println!("{:<12} {:>9} {:>12} {:>22}", "scheduler", "ns/pair", "x monolith", "added / first stage");
    println!("{:<12} {:>9.1} {:>12} {:>22}", "monolith", mono_ns, "1.00", "");
    let mut before = 0.0;
    let first = results[1].quiet();
    for (n, r) in results.iter_mut().enumerate().skip(1) {
        let ns = r.quiet();
        let added = if n == 1 { String::new() } else { format!("{:.2}", (ns - before) / first) };
        println!("{:<12} {ns:>9.1} {:>12.2} {added:>22}", format!("{n} stage(s)"), ns / mono_ns);
        before = ns;
    }
    for n in [1, 3, 6] {
        println!("bytes per task at {n} stage(s): {}", chains[n - 1].0.bytes_per_task());
    }
}
