// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A cost table for this machine: what the core's micro-operations take here, for `--costs`.
//!
//! Topologies of several kinds run the same cycles twice. Once calls do not overlap, and the core counts its micro-operations, as in the
//! simulator; once locks are taken, and the cycles are timed. The prices are those, none negative, under which the counts explain the
//! times best: least squares of the relative errors, by coordinate descent, which converges because the problem is convex.

use weir_core::{Config, Msg, OpKind, OpRecord, Plan, Sched, TaskId, Topic};

use crate::ours::{Ours, plan};
use crate::stages::{DECENTRAL, EDF, EEVDF, chain, periods_of, quiet};

/// What has a price of its own.
const NAMES: [&str; 8] = ["call", "lock", "link", "key step", "step", "request", "notify", "scan"];
const NR: usize = NAMES.len();
const ROUNDS: usize = 60;
const CYCLES: u32 = 1_000;

/// What a CPU does again and again.
#[derive(Clone, Copy)]
enum Turn {
    /// The task gives the CPU up, the next one is chosen.
    Relinquish,
    /// The same after a millisecond.
    Timed,
    /// The task blocks, comes back, and the next one is chosen.
    Sleep,
    /// The task's next deadline is published; then as above.
    Job,
}

/// One line of the table.
struct Subject {
    name: String,
    plan: Plan,
    cpus: u32,
    queued: u32,
    turn: Turn,
}

impl Subject {
    fn of(name: &str, text: &str, cpus: u32, queued: u32, turn: Turn) -> Self {
        Self { name: name.into(), plan: plan(name, text, cpus), cpus, queued, turn }
    }

    fn tasks(&self) -> u32 {
        (self.queued + 1) * self.cpus
    }

    /// Of each task's jobs, ns: 10 to 100 ms; none where tasks have no jobs.
    fn periods(&self) -> Vec<u64> {
        match self.turn {
            Turn::Job => periods_of(self.tasks()),
            _ => Vec::new(),
        }
    }

    /// Time of a cycle, ns.
    fn timed(&self) -> f64 {
        let periods = self.periods();
        let mut ours = Ours::new(&self.plan, self.cpus, self.tasks(), &periods, true);
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let began = std::time::Instant::now();
            for i in 0..CYCLES {
                let cpu = i % self.cpus;
                match self.turn {
                    Turn::Relinquish => ours.cycle(cpu),
                    Turn::Timed => ours.timed(cpu),
                    Turn::Sleep => ours.sleep(cpu),
                    Turn::Job => ours.job(cpu, &periods),
                }
            }
            rounds.push(began.elapsed().as_nanos() as f64 / f64::from(CYCLES));
            ours.forget_messages();
        }
        quiet(&mut rounds)
    }

    /// Micro-operations of a cycle, by what has a price.
    fn counted(&self) -> [f64; NR] {
        let mut deadlines = self.periods();
        let periods = deadlines.clone();
        let config =
            Config { nr_cpus: self.cpus, arena_bytes: 64 << 20, checks: false, oplog: true, seed: 1 };
        let mut s = Sched::new(&config).expect("the memory suffices");
        s.load(&self.plan).expect("the topology loads");
        let mut tasks = Vec::new();
        for id in 0..self.tasks() {
            let t = s.task_new(0, id.into()).expect("memory for a task");
            publish(&mut s, t, Topic::Priority, 0);
            if let Some(deadline) = deadlines.get(id as usize) {
                publish(&mut s, t, Topic::Deadline, *deadline);
            }
            s.admit(0, t).expect("a fresh task");
            tasks.push(t);
        }
        let mut running: Vec<Option<TaskId>> =
            (0..self.cpus).map(|cpu| s.pick(cpu, cpu).map(|p| p.task)).collect();
        let mut counts = [0.0; NR];
        let mut now = 0;
        s.clear_ops();
        for i in 0..CYCLES {
            let cpu = i % self.cpus;
            let mut calls = 2;
            if let Some(t) = running[cpu as usize] {
                match self.turn {
                    Turn::Relinquish => {}
                    Turn::Timed => {
                        now += 1_000_000;
                        s.set_now(now);
                    }
                    Turn::Sleep => {
                        calls = 3;
                        s.block(cpu, t).expect("it runs");
                        s.unblock(cpu, t).expect("it is blocked");
                    }
                    Turn::Job => {
                        calls = 3;
                        let id = s.cookie(t) as usize;
                        deadlines[id] += periods[id];
                        publish(&mut s, t, Topic::Deadline, deadlines[id]);
                    }
                }
                if !matches!(self.turn, Turn::Sleep) {
                    s.relinquish(cpu, t).expect("it runs");
                }
            }
            running[cpu as usize] = s.pick(cpu, cpu).map(|p| p.task);
            counts[0] += f64::from(calls);
            s.ops().iter().for_each(|op| count(&mut counts, op));
            s.clear_ops();
        }
        s.drain_messages(&mut Vec::new());
        counts.map(|n| n / f64::from(CYCLES))
    }
}

fn publish(s: &mut Sched, t: TaskId, topic: Topic, value: u64) {
    s.notify(0, topic, &Msg { task: Some(t), value, ..Msg::default() }).expect("a message about a task");
}

/// The place of what has this name.
fn place(what: &str) -> usize {
    NAMES.iter().position(|name| *name == what).expect("one of the names")
}

/// What one record has a price for.
fn count(counts: &mut [f64; NR], op: &OpRecord) {
    let mut add = |what: &str, n: u32| counts[place(what)] += f64::from(n);
    match op.kind {
        OpKind::Lock | OpKind::Post => add("lock", 1),
        OpKind::Link | OpKind::Unlink => {
            add("link", 1);
            add("key step", op.levels());
        }
        OpKind::Step => add("step", 1),
        OpKind::Request => add("request", 1),
        OpKind::Notify => add("notify", 1),
        OpKind::Scan => add("scan", op.n),
        OpKind::Unlock | OpKind::StepEnd | OpKind::Burn | OpKind::Remote => {}
    }
}

/// Prices, none negative, that explain the times best; each row counts by its relative error.
fn fit(rows: &[([f64; NR], f64)]) -> [f64; NR] {
    let mut price = [0.0; NR];
    for _ in 0..100_000 {
        for k in 0..NR {
            let (mut top, mut bottom) = (0.0, 0.0);
            for (counts, ns) in rows {
                let other: f64 = (0..NR).filter(|i| *i != k).map(|i| counts[i] * price[i]).sum();
                let weight = 1.0 / (ns * ns);
                top += weight * counts[k] * (ns - other);
                bottom += weight * counts[k] * counts[k];
            }
            price[k] = if bottom > 0.0 { (top / bottom).max(0.0) } else { 0.0 };
        }
    }
    price
}

fn subjects() -> Vec<Subject> {
    let catalogue = |name: &str, text: &str, cpus, queued, turn| {
        let turned = match turn {
            Turn::Relinquish | Turn::Timed => "",
            Turn::Sleep => ", sleep",
            Turn::Job => ", jobs",
        };
        Subject::of(&format!("{name}, {cpus} CPUs{turned}"), text, cpus, queued, turn)
    };
    let worksteal = include_str!("../../topologies/worksteal.weir");
    let central = include_str!("../../topologies/central.weir");
    let priority = include_str!("../../topologies/priority.weir");
    // Elsewhere each call takes one lock, and the lock's price could not be told from the call's.
    let late = "annotate affinity;\nentry ~> load_balancer -> each cpu { round_robin -> cpu };";
    let cfs = "annotate affinity, weight, fair;\nentry -> cfs -> cpus;";
    let mut all: Vec<Subject> = [1, 3, 6, 9]
        .map(|n| Subject {
            name: format!("chain of {n}"),
            plan: chain(n),
            cpus: 1,
            queued: 16,
            turn: Turn::Relinquish,
        })
        .into();
    for cpus in [2, 4, 16, 64] {
        all.push(catalogue("decentral", DECENTRAL, cpus, 16, Turn::Relinquish));
        all.push(catalogue("decentral", DECENTRAL, cpus, 4, Turn::Sleep));
    }
    for cpus in [2, 8] {
        all.push(catalogue("worksteal", worksteal, cpus, 16, Turn::Relinquish));
        all.push(catalogue("edf", EDF, cpus, 16, Turn::Job));
        all.push(catalogue("edf", EDF, cpus, 64, Turn::Job));
        all.push(catalogue("central", central, cpus, 8, Turn::Relinquish));
        all.push(catalogue("priority", priority, cpus, 8, Turn::Sleep));
    }
    all.push(catalogue("postponed", late, 4, 16, Turn::Relinquish));
    all.push(catalogue("postponed", late, 4, 4, Turn::Sleep));
    all.push(catalogue("eevdf", EEVDF, 1, 16, Turn::Timed));
    all.push(catalogue("eevdf", EEVDF, 1, 4, Turn::Sleep));
    all.push(catalogue("cfs", cfs, 1, 16, Turn::Timed));
    all.push(catalogue("cfs", cfs, 1, 4, Turn::Sleep));
    all
}

/// Measure, fit, and print: how well it fits as comments, then the table as a cost file.
pub fn run() {
    let subjects = subjects();
    let rows: Vec<([f64; NR], f64)> = subjects.iter().map(|s| (s.counted(), s.timed())).collect();
    let price = fit(&rows);
    println!(
        "# What the core's micro-operations take on this machine. A cycle, ns: measured, and by these prices."
    );
    let mut errors = Vec::new();
    for (s, (counts, ns)) in subjects.iter().zip(&rows) {
        let by_prices: f64 = counts.iter().zip(price).map(|(n, p)| n * p).sum();
        errors.push((by_prices / ns - 1.0).abs());
        let what = NAMES.iter().zip(counts).filter(|(_, n)| **n > 0.0).map(|(w, n)| format!("{n:.1} {w}"));
        println!(
            "# {:<26} {ns:>7.1} {by_prices:>7.1} {:>+5.0} %  {}",
            s.name,
            100.0 * (by_prices / ns - 1.0),
            what.collect::<Vec<_>>().join(", ")
        );
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "# Off by {:.0} % in the middle, {:.0} % at most.",
        100.0 * errors[errors.len() / 2],
        100.0 * errors.last().expect("there are subjects")
    );
    println!("{}", as_file(&price));
}

/// The keys of `[core]`, in the order of a cost file, and whose price each has; a step is an update with its change.
const KEYS: [(&str, Option<&str>); 10] = [
    ("call", Some("call")),
    ("pipe_add", Some("link")),
    ("pipe_remove", Some("link")),
    ("key_step", Some("key step")),
    ("update", Some("step")),
    ("change", None),
    ("request", Some("request")),
    ("notify", Some("notify")),
    ("scan", Some("scan")),
    ("step", Some("step")),
];

/// The prices as a cost file, which leaves all that was not measured as it is by default.
fn as_file(price: &[f64; NR]) -> String {
    let ns = |what: &str| price[place(what)].round() as u64;
    let line = |(key, what): (&str, Option<&str>)| format!("{key} = \"{}ns\"\n", what.map_or(0, ns));
    let core: String = KEYS.into_iter().map(line).collect();
    format!("stages = \"carried\"\nlock_uncontended = \"{}ns\"\n[core]\n{core}", ns("lock"))
}

#[cfg(test)]
mod tests {
    use weir_model::costs::{Costs, Stages};

    use super::*;

    /// The prices of times that were made from prices are these prices, and the file says them.
    #[test]
    fn prices_are_found_again() {
        let price = [20.0, 8.0, 5.0, 1.0, 2.0, 6.0, 12.0, 3.0];
        let rows: Vec<_> = subjects()
            .iter()
            .map(|s| {
                let counts = s.counted();
                (counts, counts.iter().zip(price).map(|(n, p)| n * p).sum::<f64>())
            })
            .collect();
        let found = fit(&rows);
        for (name, (a, b)) in NAMES.iter().zip(found.iter().zip(price)) {
            assert!((a - b).abs() < 0.5, "{name}: {a} instead of {b}");
        }
        let costs = Costs::from_toml("fit.toml", &as_file(&found)).expect("it is a cost file");
        assert_eq!((costs.core.call, costs.core.step, costs.stages), (20, 2, Stages::Carried));
        assert_eq!((costs.context_switch, costs.core.burn_1000), (1_500, 2_500));
    }
}
