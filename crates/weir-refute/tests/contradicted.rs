// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Sets that a simulation has contradicted, made small; one of each kind.

use weir_refute::set::{Piece, UNIT};
use weir_refute::{Set, Tally, honest, refute, set::Spec};

/// For arrivals and offsets; with two of them a task without a deadline was in the way, with the last a task of `run` joined late.
const SEEDS: [u64; 5] = [1, 2, 14_284, 15_590, 35_844];

fn task(name: &str, period: u64, deadline: u64, steps: &[Piece]) -> Spec {
    Spec {
        name: name.to_string(),
        period: period * UNIT,
        deadline: deadline * UNIT,
        jitter: 0,
        offset: 0,
        extra: 0,
        priority: 0,
        steps: steps.to_vec(),
        more: String::new(),
    }
}

fn run(units: u64) -> Piece {
    Piece::Run(units * UNIT, units * UNIT)
}

fn sleep(units: u64) -> Piece {
    Piece::Sleep(units * UNIT)
}

fn section(units: u64) -> [Piece; 3] {
    [Piece::Lock(0), run(units), Piece::Unlock(0)]
}

/// No attack contradicts it.
fn attack(
    claimed: bool,
    topology: &'static str,
    cpus: u32,
    protocols: &[&'static str],
    tasks: &[Spec],
    beside: &[&str],
) {
    let set = Set {
        topology,
        cpus,
        costs: false,
        unit: UNIT,
        protocols: protocols.to_vec(),
        tasks: tasks.to_vec(),
        beside: beside.iter().map(|b| (*b).to_string()).collect(),
    };
    let mut tally = Tally::default();
    for seed in SEEDS {
        refute(&set, honest, seed, &mut tally)
            .unwrap_or_else(|why| panic!("{topology}: {why}\n{}", set.toml()));
    }
    assert_eq!(tally.accepted + tally.bounds > 0, claimed, "{topology}: {tally:?}\n{}", set.toml());
}

/// No attack contradicts it, and there is a claim to attack.
fn holds(topology: &'static str, protocols: &[&'static str], tasks: &[Spec], beside: &[&str]) {
    attack(true, topology, 1, protocols, tasks, beside);
}

/// Who sleeps at the end of a job needs the CPU once more, which a more urgent task may take at the same instant.
#[test]
fn a_job_ends_with_a_sleep() {
    let short = || task("a", 4, 2, &[run(1)]);
    holds("dm", &[], &[short(), task("b", 5, 3, &[run(1), sleep(1)])], &[]);
    holds("rm", &[], &[task("a", 40, 40, &[run(14), sleep(14)]), task("b", 30, 30, &[run(2)])], &[]);
    holds("edf", &[], &[short(), task("b", 5, 4, &[run(1), sleep(1)])], &[]);
    // A deadline at the end of the sleep is missed: the job is still there.
    attack(false, "p-rm", 3, &[], &[task("a", 4, 4, &[run(2), sleep(2)])], &[]);
    // The same behind a mutex, with nothing to compute: the holder lets go when the urgent task comes.
    let last = [run(1), Piece::Lock(0), Piece::Unlock(0)];
    for protocol in ["inherit", "ceiling", "pcp"] {
        let holder = task("c", 20, 20, &section(3));
        holds("dm", &[protocol], &[short(), task("b", 10, 8, &last), holder.clone()], &[]);
        holds(
            "dm",
            &[protocol],
            &[short(), task("b", 10, 8, &[sleep(1), Piece::Lock(0), Piece::Unlock(0)]), holder],
            &[],
        );
    }
}

/// A task without a deadline has a relative one as long as it holds what others with one wait for; `dm` was not told.
#[test]
fn a_task_without_a_deadline_inherits_one() {
    let beside = |priority: u32, least: u32, work: u32| {
        format!(
            "policy = \"fifo\"\npriority = {priority}\narrivals = \"poisson 30ms {least}ms\"\nprogram = \"lock m0; run {work}ms; unlock m0\"\n"
        )
    };
    let twice = task("a", 5, 5, &[&section(1)[..], &[run(1)], &section(1)[..]].concat());
    let long = task("b", 30, 30, &[run(3)]);
    holds("dm", &["ceiling"], &[long, twice], &[&beside(27, 21, 4)]);
    let within = task("a", 20, 20, &[&[run(1)], &section(1)[..], &[run(1)]].concat());
    let others = [task("b", 24, 24, &[run(1)]), task("c", 30, 30, &[run(9)]), task("d", 10, 10, &[run(1)])];
    for topology in ["dm", "rm"] {
        holds(
            topology,
            &["inherit"],
            &[std::slice::from_ref(&within), &others[..]].concat(),
            &[&beside(49, 17, 2)],
        );
    }
}

/// The original ceiling let the task with the earliest deadline go first, which need not be the most urgent one: it blocked once more.
#[test]
fn the_most_urgent_task_is_blocked_once() {
    let part = |ns: u64| Piece::Run(ns, ns);
    let (outer, inner) = (Piece::Lock(0), Piece::Lock(1));
    let a = [
        run(1),
        outer,
        run(1),
        inner,
        part(380_952),
        Piece::Unlock(1),
        part(285_714),
        Piece::Unlock(0),
        run(1),
    ];
    let b = [run(1), inner, run(1), Piece::Unlock(1), run(1)];
    let c = [&[run(1)][..], &section(1)[..], &[run(1)]].concat();
    holds("dm", &["pcp", "pcp"], &[task("a", 4, 3, &a), task("b", 20, 20, &b), task("c", 15, 4, &c)], &[]);
}

/// The system's ceiling is that of all CPUs: a task waited for one of another CPU, though they have no mutex in common.
#[test]
fn ceilings_reach_across_partitions() {
    let a = [&section(1)[..], &[run(1)], &section(4)].concat();
    let b = [run(1), Piece::Lock(1), run(1), Piece::Unlock(1), run(1)];
    let a = Spec { priority: 25, ..task("a", 40, 16, &a) };
    attack(false, "p-rm", 2, &["pcp", "pcp"], &[a, task("b", 15, 9, &b)], &[]);
}

/// RUN packs its servers anew when a task joins, and a job can be late then.
#[test]
fn run_is_optimal_for_tasks_that_begin_together() {
    let tasks = [(8, 1), (6, 2), (40, 1), (4, 1), (15, 8), (8, 2), (30, 15)];
    let tasks: Vec<Spec> =
        (0..).zip(tasks).map(|(i, (t, c))| task(&format!("t{i}"), t, t, &[run(c)])).collect();
    attack(true, "run", 3, &[], &tasks, &[]);
}
