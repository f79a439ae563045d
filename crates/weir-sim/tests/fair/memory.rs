// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! NUMA: what a task takes away from its memory, and that `numa` puts it where its memory is, whatever the numbers of the CPUs.

use weir_sim::{Costs, Machine, RunConfig};

use crate::common::*;
use crate::draw::Draw;

/// Two nodes with these CPUs, at twice the distance of memory.
fn machine(nodes: [&[usize]; 2]) -> Machine {
    let of = |i: usize| {
        format!(
            "[[cpus]]\ncount = {}\nkind = \"one\"\nfirst = {:?}\nllc = {i}\nnode = {i}\n",
            nodes[i].len(),
            nodes[i]
        )
    };
    let text = format!(
        "name = \"nodes\"\nllc_level = 3\ndistances = [[10, 20], [20, 10]]\n[[kind]]\nname = \"one\"\n{}{}",
        of(0),
        of(1)
    );
    Machine::resolve("m.toml", &|_| Ok(text.clone().into_bytes()), &[]).expect("a machine")
}

fn run(machine: &Machine, topology: &str, load: &str) -> Gantt {
    run_by(machine, topology, load, 1)
}

fn run_by(machine: &Machine, topology: &str, load: &str, seed: u64) -> Gantt {
    let plan = plan(&catalogue(topology), &machine.shape);
    let mut g = Gantt::default();
    let cfg = RunConfig { duration_ns: Some(2000 * MS), seed, ..RunConfig::default() };
    weir_sim::run(machine, &plan, &toml(load), &Costs::zero(), &cfg, &mut g).expect("it runs");
    g
}

/// CPU time in the node of the memory, in node 1, of all, ns.
fn near(g: &Gantt, machine: &Machine, name: &str, node: u32) -> (u64, u64) {
    let of = |local: bool| {
        let is = |cpu: u32| machine.shape.cpus[cpu as usize].node == node;
        let bars = g.bars.iter().filter(|b| b.0.starts_with(name) && (!local || is(b.1)));
        bars.map(|b| b.3 - b.2).sum::<u64>()
    };
    (of(true), of(false))
}

/// Within 3 %.
fn alike(a: u64, b: u64) -> bool {
    a.abs_diff(b) * 100 <= a.max(b) * 3
}

fn job(name: &str, keys: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\nperiod = \"20ms\"\nrun = \"4ms\"\n{keys}\n")
}

/// A task that waits for memory half of its time takes half as long again at twice the distance.
#[test]
fn far_memory_takes_longer() {
    let m = machine([&[0, 1], &[2, 3]]);
    for (keys, ns) in [
        ("memory = 0\nmemory_bound = \"50%\"\ncpus = [0]", 4_000_000),
        ("memory = 1\nmemory_bound = \"50%\"\ncpus = [0]", 6_000_000),
        ("memory = 1\nmemory_bound = \"100%\"\ncpus = [0]", 8_000_000),
        ("memory = 1\nmemory_bound = \"0%\"\ncpus = [0]", 4_000_000),
    ] {
        let g = run(&m, "linux", &job("a", keys));
        // Speeds are whole numbers.
        assert!(
            g.done.len() > 90 && g.done.iter().all(|d| d.2.abs_diff(ns) < US),
            "{keys}: {:?}",
            &g.done[..3]
        );
    }
    // A neighbour without such memory on the same CPU is as fast as ever.
    let g = run(
        &m,
        "linux",
        &(job("a", "memory = 1\nmemory_bound = \"50%\"\ncpus = [0]")
            + &job("b", "cpus = [0]\noffset = \"10ms\"")),
    );
    assert!(g.done.iter().filter(|d| d.0 == "b").all(|d| d.2 == 4_000_000));
}

/// Tasks go to the node of their memory and stay; under `linux` some do not.
#[test]
fn tasks_run_where_their_memory_is() {
    let m = machine([&[0, 1], &[2, 3]]);
    let load =
        job("a", "memory = 1\nmemory_bound = \"50%\"") + &job("b", "memory = 0\nmemory_bound = \"50%\"");
    let g = run(&m, "numa", &load);
    for (name, node) in [("a", 1), ("b", 0)] {
        let (near, all) = near(&g, &m, name, node);
        assert!(near * 100 >= all * 99, "{name}: {near} of {all}");
    }
    // A computing task that is alone comes home at a tick; two where one CPU is free take turns there.
    let hog = "[[task]]\nname = \"hog\"\nmemory = 1\nmemory_bound = \"50%\"\nprogram = [\"run 10ms\"]\nloop = \"forever\"\n";
    let g = run(&m, "numa", hog);
    let (local, all) = near(&g, &m, "hog", 1);
    assert!(local * 100 >= all * 99, "{local} of {all}");
}

/// No CPU is idle while tasks wait, though their memory is elsewhere.
#[test]
fn far_memory_is_better_than_waiting() {
    let m = machine([&[0, 1], &[2, 3]]);
    let hogs = "[[task]]\nname = \"hog\"\ncount = 4\nmemory = 1\nmemory_bound = \"50%\"\nprogram = [\"run 10ms\"]\nloop = \"forever\"\n";
    let g = run(&m, "numa", hogs);
    let all: u64 = g.bars.iter().map(|b| b.3 - b.2).sum();
    assert!(all > 4 * 2000 * MS * 99 / 100, "{all} ns");
}

/// CPU time, the part of it beside the memory, and late jobs should be the same whatever the numbers of CPUs, within 3 %, 3 % and ten in the mean of
/// four runs. On machines with more work than CPUs they are not always: who is first among equal CPUs decides who begins away from its memory,
/// and no two running tasks change places. The bound is missed by 2 of 24 numberings, and by 5 of 200 in the long form. In all sets together no numbering is better than another.
#[test]
fn another_numbering_gives_the_same_result() {
    let sets = if std::env::var("WEIR_LONG").is_ok() { 100 } else { 12 };
    let (mut bad, mut before, mut after) = (0, [0; 2], [0; 2]);
    for seed in 0..sets {
        let mut draw = Draw(seed);
        let cpus = [draw.between(1, 4) as usize, draw.between(1, 4) as usize];
        let (some, others) = (draw.between(1, 5), draw.between(1, 5));
        let load = format!(
            "[[task]]\nname = \"a\"\ncount = {some}\nmemory = 0\nmemory_bound = \"60%\"\nperiod = \"20ms\"\nrun = \"{}us\"\n\
             [[task]]\nname = \"b\"\ncount = {others}\nmemory = 1\nmemory_bound = \"60%\"\nprogram = [\"run 3ms\", \"sleep 1ms\"]\nloop = \"forever\"\n",
            draw.between(500, 6000)
        );
        let mut numbers: Vec<usize> = (0..cpus[0] + cpus[1]).collect();
        let result = |numbers: &[usize]| {
            let (one, other) = numbers.split_at(cpus[0]);
            let m = machine([one, other]);
            let mut sums = (0, 0, 0);
            for seed in 1..=4 {
                let g = run_by(&m, "numa", &load, seed);
                sums.0 += g.bars.iter().map(|b| b.3 - b.2).sum::<u64>();
                sums.1 += near(&g, &m, "a", 0).0 + near(&g, &m, "b", 1).0;
                sums.2 += g.missed.len() as u64;
            }
            sums
        };
        let want = result(&numbers);
        for _ in 0..2 {
            for i in (1..numbers.len()).rev() {
                numbers.swap(i, draw.between(0, i as u64) as usize);
            }
            let has = result(&numbers);
            for (sum, result) in [(&mut before, want), (&mut after, has)] {
                sum[0] += result.0;
                sum[1] += result.1;
            }
            if !alike(want.0, has.0) || !alike(want.1, has.1) || want.2.abs_diff(has.2) > 40 {
                println!("set {seed}, {numbers:?}: {has:?}, numbered in order {want:?}");
                bad += 1;
            }
        }
    }
    println!("{bad} of {} numberings beyond the bound; all together {before:?}, {after:?}", 2 * sets);
    assert!(bad * 24 <= 2 * 2 * sets, "the figures are above");
    assert!(alike(before[0], after[0]) && alike(before[1], after[1]), "{before:?}, {after:?}");
}
