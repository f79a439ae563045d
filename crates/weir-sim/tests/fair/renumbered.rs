// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! CPU numbers are names: a machine whose CPUs are numbered in another order gives the same result under `linux`, `groups` and
//! `classes`.

use std::fmt::Write as _;

use weir_sim::{Costs, Machine, RunConfig};

use crate::common::*;
use crate::draw::Draw;

/// Large cores of `smt` threads with a cache, and small ones with another.
struct Kinds {
    large: usize,
    smt: usize,
    small: usize,
    capacity: u64,
}

impl Kinds {
    fn nr(&self) -> usize {
        self.large * self.smt + self.small
    }

    /// The machine, with these CPU numbers.
    fn machine(&self, numbers: &[usize]) -> Machine {
        let (large, small) = numbers.split_at(self.large * self.smt);
        let text = format!(
            "name = \"renumbered\"\nllc_level = 3\n[[kind]]\nname = \"large\"\n[[kind]]\nname = \"small\"\ncapacity = {}\n\
             [[cpus]]\ncount = {}\nkind = \"large\"\nsmt = {}\nfirst = {large:?}\nllc = 0\nllc_size = \"8MiB\"\n\
             [[cpus]]\ncount = {}\nkind = \"small\"\nfirst = {small:?}\nllc = 1\nllc_size = \"2MiB\"\n",
            self.capacity,
            large.len(),
            self.smt,
            small.len(),
        );
        Machine::resolve("m.toml", &|_| Ok(text.clone().into_bytes()), &[]).expect("a machine")
    }
}

/// Runs of a numbering. CPUs look at each other at random times, so a single run shows chance.
const SEEDS: u64 = 4;

/// Milliseconds of computing that hogs finished, rounds that others finished, those of them that were late: all runs of two seconds together.
/// Time would count a thread of a busy core, or of a small one, as a whole CPU.
fn result(machine: &Machine, topology: &str, load: &str) -> [u64; 3] {
    let plan = plan(&catalogue(topology), &machine.shape);
    let load = toml(load);
    let mut sums = [0; 3];
    for seed in 1..=SEEDS {
        let mut g = Gantt::default();
        let cfg = RunConfig { duration_ns: Some(2000 * MS), seed, ..RunConfig::default() };
        weir_sim::run(machine, &plan, &load, &Costs::default(), &cfg, &mut g).expect("it runs");
        let hogs = g.done.iter().filter(|job| job.0.starts_with("hog")).count();
        sums[0] += hogs as u64;
        sums[1] += (g.done.len() - hogs) as u64;
        sums[2] += g.missed.len() as u64;
    }
    sums
}

/// Hogs and frames; under `groups` in two groups, one of which has a limit, under `classes` beside tasks of the classes above. One task on CPU
/// `first` starts them all: without it tasks enter at CPUs in the order of their numbers.
fn load(topology: &str, draw: &mut Draw, cores: u64) -> impl Fn(usize) -> String + use<> {
    let mut text = String::new();
    let (hogs, frames, run) = (draw.between(1, cores + 2), draw.between(1, cores), draw.between(500, 5000));
    let mut starts = format!("loop {hogs} {{ fork hog }}; loop {frames} {{ fork frame }}");
    let [one, other] =
        if topology == "groups" { ["group = \"one\"\n", "group = \"other\"\n"] } else { ["", ""] };
    write!(
        text,
        "[[task]]\nname = \"hog\"\n{one}template = true\nperiod = \"900us\"\ndeadline = \"1000s\"\nrun = \"1ms\"\n\
         [[task]]\nname = \"frame\"\n{other}template = true\nperiod = \"16ms\"\nrun = \"{run}us\"\n"
    )
    .unwrap();
    match topology {
        "groups" => write!(
            text,
            "[[group]]\nname = \"one\"\nweight = {}\nquota = \"{}ms\"\nperiod = \"100ms\"\n\
             [[group]]\nname = \"other\"\nweight = 300\n",
            draw.between(100, 900),
            draw.between(30, 100 * cores)
        )
        .unwrap(),
        "classes" => {
            write!(starts, "; loop {} {{ fork loop }}; fork camera", draw.between(1, cores)).unwrap();
            write!(
                text,
                "[[task]]\nname = \"loop\"\ntemplate = true\npolicy = \"fifo\"\npriority = 10\nperiod = \"5ms\"\nrun = \"{}us\"\n\
                 [[task]]\nname = \"camera\"\ntemplate = true\npolicy = \"deadline\"\nperiod = \"20ms\"\nwcet = \"5ms\"\nrun = \"{}us\"\n",
                draw.between(100, 1500),
                draw.between(500, 4500)
            )
            .unwrap();
        }
        _ => (),
    }
    move |first| format!("{text}[[task]]\nname = \"first\"\ncpus = [{first}]\nprogram = [\"{starts}\"]\n")
}

/// By how much a renumbered machine may differ in each set: of the work, of the rounds, and late rounds of a run. Nine of ten numberings differ by
/// the first row at most, 29 of 30 by the second. Who is first among equal CPUs decides who has a busy thread beside it, and for how long a
/// small CPU; a task of real time that meets a frame there makes more of it late.
const APART: [(&str, [[f64; 3]; 2]); 3] = [
    ("linux", [[0.01, 0.005, 3.0], [0.04, 0.01, 10.0]]),
    ("groups", [[0.02, 0.005, 5.0], [0.05, 0.01, 20.0]]),
    ("classes", [[0.03, 0.01, 40.0], [0.07, 0.02, 100.0]]),
];

#[test]
fn another_numbering_gives_the_same_result() {
    let sets = if std::env::var("WEIR_LONG").is_ok() { 100 } else { 8 };
    for (topology, apart) in APART {
        let (mut numberings, mut beyond) = (0, [0, 0]);
        // In all sets together no numbering is better than the others.
        let (mut before, mut after) = ([0; 3], [0; 3]);
        for seed in 0..sets {
            let mut draw = Draw(seed);
            let kinds = Kinds {
                large: draw.between(1, 3) as usize,
                smt: draw.between(1, 2) as usize,
                small: draw.between(1, 4) as usize,
                capacity: draw.between(3, 8) * 100,
            };
            let load = load(topology, &mut draw, kinds.large as u64 + kinds.small as u64);
            let mut numbers: Vec<usize> = (0..kinds.nr()).collect();
            let want = result(&kinds.machine(&numbers), topology, &load(numbers[0]));
            for _ in 0..2 {
                for i in (1..numbers.len()).rev() {
                    numbers.swap(i, draw.between(0, i as u64) as usize);
                }
                let has = result(&kinds.machine(&numbers), topology, &load(numbers[0]));
                for i in 0..3 {
                    before[i] += want[i];
                    after[i] += has[i];
                }
                let off = [0, 1, 2].map(|i| {
                    let whole = if i == 2 { SEEDS } else { want[i].max(1) };
                    has[i].abs_diff(want[i]) as f64 / whole as f64
                });
                numberings += 1;
                for (beyond, most) in beyond.iter_mut().zip(&apart) {
                    *beyond += i32::from(off.iter().zip(most).any(|(off, most)| off > most));
                }
                println!(
                    "{topology}, set {seed}: {off:.4?}, {want:?} with CPUs in order, {has:?} as {numbers:?}"
                );
            }
        }
        println!(
            "{topology}: {before:?} with CPUs in order, {after:?} renumbered; beyond the bounds {beyond:?} of {numberings}"
        );
        let near = |i: usize, part: f64| (after[i] as f64 / before[i].max(1) as f64 - 1.0).abs() <= part;
        assert!(near(0, 0.01) && near(1, 0.005), "{topology}: {before:?} and {after:?}");
        assert!(
            beyond[0] * 10 <= numberings && beyond[1] * 30 <= numberings,
            "{topology}: {beyond:?} of {numberings}"
        );
    }
}

/// With `pack`, tasks that compute little leave the small cores on which they begin while cores of large ones are idle; CPU numbers do not
/// matter. Without it they stay, because they fit.
#[test]
fn packing_goes_by_capacity_not_by_number() {
    let run = |machine: &Machine, topology: &str, load: &str| {
        let mut g = Gantt::default();
        let cfg = RunConfig { duration_ns: Some(1000 * MS), ..RunConfig::default() };
        let plan = plan(topology, &machine.shape);
        weir_sim::run(machine, &plan, &toml(load), &Costs::default(), &cfg, &mut g).expect("it runs");
        g
    };
    let linux = catalogue("linux");
    let pack = linux.replace("fair_balancer ->", "fair_balancer(pack = true) ->");
    assert_ne!(pack, linux);
    for seed in 0..8 {
        let mut draw = Draw(seed + 77);
        let kinds = Kinds {
            large: draw.between(2, 3) as usize,
            smt: draw.between(1, 2) as usize,
            small: draw.between(3, 4) as usize,
            capacity: draw.between(9, 10) * 100,
        };
        let tasks = draw.between(1, kinds.large as u64);
        let mut numbers: Vec<usize> = (0..kinds.nr()).collect();
        for _ in 0..3 {
            let machine = kinds.machine(&numbers);
            let small = &numbers[kinds.large * kinds.smt..];
            let load = format!(
                "[[task]]\nname = \"light\"\ncount = {tasks}\ncpus = {small:?}\n\
                 program = [\"run 1ms; cpus all; loop {{ run {}us; sleep 7ms }}\"]\n",
                draw.between(200, 900)
            );
            let on_small = |g: &Gantt| {
                let within = g.bars.iter().filter(|b| small.contains(&(b.1 as usize)));
                within.map(|b| b.3 - b.2).sum::<u64>() as f64
                    / g.bars.iter().map(|b| b.3 - b.2).sum::<u64>() as f64
            };
            let (with, without) =
                (on_small(&run(&machine, &pack, &load)), on_small(&run(&machine, &linux, &load)));
            assert!(with < 0.1, "{with} of the time on small cores, {numbers:?}");
            assert!(without > 0.5, "{without} without packing, {numbers:?}");
            for i in (1..numbers.len()).rev() {
                numbers.swap(i, draw.between(0, i as u64) as usize);
            }
        }
    }
}
