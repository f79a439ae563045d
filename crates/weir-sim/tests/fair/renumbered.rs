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

/// Runs of a numbering. Each CPU's ticks come at a phase that the seed gives: of CPUs that tick at the same instant the simulator lets the one with
/// the lowest number be first.
const SEEDS: u64 = 8;

/// Of each run of two seconds: rounds of a millisecond that hogs finished, rounds that others finished, and how many of these were late.
/// CPU time would count a thread of a busy core as a whole CPU.
fn results(machine: &Machine, topology: &str, load: &str) -> Vec<[f64; 3]> {
    let plan = plan(&catalogue(topology), &machine.shape);
    let load = toml(load);
    let costs = Costs { tick_spread: Costs::default().tick_period, ..Costs::default() };
    let run = |seed| {
        let mut g = Gantt::default();
        let cfg = RunConfig { duration_ns: Some(2000 * MS), seed, ..RunConfig::default() };
        weir_sim::run(machine, &plan, &load, &costs, &cfg, &mut g).expect("it runs");
        let hogs = g.done.iter().filter(|job| job.0.starts_with("hog")).count();
        [hogs, g.done.len() - hogs, g.missed.len()].map(|n| n as f64)
    };
    (1..=SEEDS).map(run).collect()
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

/// The mean of each measure, and the square of its standard error.
fn mean(runs: &[[f64; 3]]) -> [(f64, f64); 3] {
    [0, 1, 2].map(|i| {
        let n = runs.len() as f64;
        let mean = runs.iter().map(|r| r[i]).sum::<f64>() / n;
        let squares = runs.iter().map(|r| (r[i] - mean).powi(2)).sum::<f64>();
        (mean, squares / (n - 1.0) / n)
    })
}

/// By how much the means of a renumbered machine may differ: of the hogs' rounds, of the others', and late rounds of a run. Where chance moves
/// the means further, by [`SURE`] standard errors of their difference.
const APART: [(&str, [f64; 3]); 3] =
    [("linux", [0.03, 0.01, 3.0]), ("groups", [0.03, 0.01, 10.0]), ("classes", [0.08, 0.01, 60.0])];
const SURE: f64 = 4.0;

/// Sets in which it showed that among CPUs that are equally good the lowest number came first: for a task that wakes, for a new one, for one
/// whose quota is filled again.
const TELLING: [u64; 5] = [14, 36, 49, 56, 72];

#[test]
fn another_numbering_gives_the_same_result() {
    let long = std::env::var("WEIR_LONG").is_ok();
    let sets: Vec<u64> = if long { (0..100).collect() } else { TELLING.into() };
    let mut bad = 0;
    for (topology, apart) in APART {
        // By numbering: small cores first, then three random ones. In all sets together no numbering is better than the others.
        let mut sums = [[0.0; 3]; 4];
        for &set in &sets {
            let mut draw = Draw(set);
            let kinds = Kinds {
                large: draw.between(1, 3) as usize,
                smt: draw.between(1, 2) as usize,
                small: draw.between(1, 4) as usize,
                capacity: draw.between(3, 8) * 100,
            };
            let load = load(topology, &mut draw, kinds.large as u64 + kinds.small as u64);
            let mut numbers: Vec<usize> = (0..kinds.nr()).collect();
            let result =
                |numbers: &[usize]| mean(&results(&kinds.machine(numbers), topology, &load(numbers[0])));
            let want = result(&numbers);
            for (numbering, sums) in sums.iter_mut().enumerate() {
                if numbering == 0 {
                    numbers.reverse();
                } else {
                    for i in (1..numbers.len()).rev() {
                        numbers.swap(i, draw.between(0, i as u64) as usize);
                    }
                }
                let has = result(&numbers);
                for i in 0..3 {
                    let off = has[i].0 - want[i].0;
                    sums[i] += off / want[i].0.max(1.0) / sets.len() as f64;
                    let error = (has[i].1 + want[i].1).sqrt();
                    let most = if i == 2 { apart[i] } else { apart[i] * want[i].0 };
                    if off.abs() > most.max(SURE * error) {
                        println!(
                            "{topology}, set {set}: {} are {:.1} with CPUs in order and {off:+.1} (standard error {error:.1}) as \
                             {numbers:?}: {} x {}, {} of {}",
                            ["the hogs' rounds", "other rounds", "late rounds"][i],
                            want[i].0,
                            kinds.large,
                            kinds.smt,
                            kinds.small,
                            kinds.capacity
                        );
                        bad += 1;
                    }
                }
            }
        }
        println!("{topology}: means of the differences in all sets {sums:.4?}");
        if long {
            assert!(sums.iter().all(|s| s[0].abs() <= 0.005 && s[1].abs() <= 0.002), "{topology}: {sums:?}");
        }
    }
    assert_eq!(bad, 0, "the numberings are above");
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
