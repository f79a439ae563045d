// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What counters cost a fair scheduler: nanoseconds per turn (a task gives up its CPU, the next one is picked), `cfs` alone
//! against `cfs` with `pmc_fair`, in one run.

use std::time::Instant;

use weir_core::{Config, Counters, MachineShape, Msg, Sched, Topic, catalog};
use weir_lang::{NoIncludes, Source};

/// Tasks that share the CPU.
const TASKS: u64 = 16;
const TURNS: u32 = 2_000;
const ROUNDS: usize = 300;

/// What a subject does in a turn, beside giving up and picking.
#[derive(Clone, Copy, PartialEq)]
enum Feed {
    Nothing,
    Counters,
}

struct Subject {
    name: &'static str,
    sched: Sched,
    feed: Feed,
    now: u64,
    rounds: Vec<f64>,
}

impl Subject {
    fn new(name: &'static str, annotate: &str, feed: Feed) -> Self {
        let text = format!("annotate affinity, weight, fair{annotate};\nentry -> cfs -> cpus;");
        let source = Source { name: format!("{name}.weir"), text };
        let plan = weir_lang::compile(&source, &NoIncludes, catalog(), &MachineShape::flat(1), &[])
            .expect("it compiles")
            .plan;
        let config = Config { nr_cpus: 1, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 };
        let mut sched = Sched::new(&config).expect("a scheduler");
        sched.load(&plan).expect("the topology loads");
        for cookie in 0..TASKS {
            let t = sched.task_new(0, cookie).expect("a task");
            sched.notify(0, Topic::Priority, &Msg { task: Some(t), ..Msg::default() }).expect("a message");
            sched.admit(0, t).expect("it may run");
        }
        Self { name, sched, feed, now: 0, rounds: Vec::new() }
    }

    /// Turns of a millisecond each; ns of real time per turn.
    fn round(&mut self) {
        let counts = Counters {
            instructions: 3_000_000,
            cycles: 2_000_000,
            l1_hits: 900_000,
            l1_misses: 60_000,
            lfb_hits: 40_000,
            l2_hits: 30_000,
            l2_misses: 30_000,
            l3_hits: 15_000,
            l3_misses: 15_000,
            branches: 400_000,
            mispredicts: 9_000,
        };
        let began = Instant::now();
        for _ in 0..TURNS {
            let task = self.sched.pick(0, 0).expect("tasks wait").task;
            self.now += 1_000_000;
            self.sched.set_now(self.now);
            self.sched.relinquish(0, task).expect("it runs");
            if self.feed == Feed::Counters {
                self.sched.publish_counters(0, 0, task, &counts).expect("a message");
            }
        }
        self.rounds.push(began.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS));
    }

    /// 10th percentile, as in the other tables.
    fn quiet(&mut self) -> f64 {
        self.rounds.sort_by(f64::total_cmp);
        self.rounds[self.rounds.len() / 10]
    }
}

/// Measure all subjects round by round, so that a disturbance hits all of them.
pub fn run() {
    let mut subjects = [
        Subject::new("cfs", "", Feed::Nothing),
        Subject::new("cfs, asked for penalties", ", pmc_fair", Feed::Nothing),
        Subject::new("cfs, penalties, counters published", ", pmc_fair", Feed::Counters),
        Subject::new("the same with branches", ", pmc_fair(branch = true)", Feed::Counters),
        Subject::new("the same and remembered", ", pmc_fair(branch = true), counters", Feed::Counters),
    ];
    for _ in 0..ROUNDS {
        subjects.iter_mut().for_each(Subject::round);
    }
    println!("{TASKS} tasks on one CPU, 10th percentile of {ROUNDS} rounds of {TURNS} turns\n");
    println!("| scheduler | ns a turn | over cfs |\n|---|---|---|");
    let base = subjects[0].quiet();
    for s in &mut subjects {
        let ns = s.quiet();
        println!("| {} | {ns:.1} | {:+.1} ns, {:.2} x |", s.name, ns - base, ns / base);
    }
}
