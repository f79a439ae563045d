// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `linux` beside what Linux 7.2's own scheduler did with the same rt-app files (experiments/sim-vs-kernel): the
//! recordings are there, so no kernel runs here. How near the model comes is recorded, so that a drift is noticed.

use std::path::PathBuf;

use weir_core::event::{Event, Observer, Stop};
use weir_sim::{Costs, Machine, RunConfig, Workload};

use crate::common::*;

/// What a thread came to, on either side.
#[derive(Debug, Default, Clone)]
struct Thread {
    name: String,
    cpu_us: u64,
    /// Middle wakeup latency, us.
    p50: u64,
    migrations: u64,
    preemptions: u64,
}

#[derive(Default)]
struct Threads(Vec<(Thread, Vec<u64>)>);

impl Observer for Threads {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { name, .. } => {
                self.0.push((Thread { name: name.into(), ..Thread::default() }, Vec::new()));
            }
            Event::Run { task, migrated, wakeup, waited_ns, .. } => {
                let (thread, waits) = &mut self.0[task as usize];
                thread.migrations += u64::from(migrated);
                waits.extend(wakeup.then_some(waited_ns / 1000));
            }
            Event::Off { task, why, ran_ns, .. } => {
                let thread = &mut self.0[task as usize].0;
                thread.cpu_us += ran_ns / 1000;
                thread.preemptions += u64::from(why == Stop::Preempted);
            }
            Event::Preempted { task, .. } => self.0[task as usize].0.preemptions += 1,
            _ => {}
        }
    }
}

fn folder() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/sim-vs-kernel")
}

/// A machine of the experiment, or one of the simulator's own.
fn machine(name: &str) -> Machine {
    let file = folder().join(format!("{name}.toml"));
    let name = if file.exists() { file.to_str().expect("a name in UTF-8") } else { name };
    Machine::resolve(name, &|path| std::fs::read(path), &[]).expect("a machine")
}

/// The simulator's threads and the kernel's, in the order of their names.
fn both(name: &str, load: &str) -> [Vec<Thread>; 2] {
    by_seed(name, load, 1)
}

/// Of CPUs that are equally good the seed decides which one is taken.
fn by_seed(name: &str, load: &str, seed: u64) -> [Vec<Thread>; 2] {
    let mut text = std::fs::read_to_string(folder().join(format!("{load}.json"))).expect("a load");
    if name == "smp-1" {
        text = text
            .replace("\"runtime\"", "\"run\"")
            .replace("\"calibration\" : 100", "\"calibration\" : \"CPU0\"");
    }
    let work = Workload::resolve("load.json", 1, &|_| Ok(text.clone().into_bytes()), &[]).expect("it is one");
    let machine = machine(name);
    let mut topology = catalogue("linux");
    if name == "hybrid-4" {
        // Its kernel has no HRTICK.
        topology = topology.replace("eevdf(slice = 700us)", "eevdf(slice = 700us, tick = 4ms)");
        assert!(topology.contains("tick = 4ms) ->"));
    }
    let plan = plan(&topology, &machine.shape);
    let mut seen = Threads::default();
    let cfg = RunConfig { seed, ..RunConfig::default() };
    weir_sim::run(&machine, &plan, &work, &Costs::default(), &cfg, &mut seen).expect("it runs");
    let mut ours: Vec<_> = seen
        .0
        .into_iter()
        .map(|(thread, mut waits)| {
            waits.sort_unstable();
            Thread { p50: waits[(waits.len() - 1) / 2], ..thread }
        })
        .collect();
    ours.sort_by(|a, b| a.name.cmp(&b.name));

    let path = folder().join(format!("data/default/kernel/{name}-{load}.csv"));
    let theirs = std::fs::read_to_string(path).expect("it was recorded");
    let theirs: Vec<_> = theirs
        .lines()
        .map(|line| {
            let f: Vec<_> = line.split(',').collect();
            let n = |i: usize| f[i].parse().expect("a number");
            Thread { name: f[0].into(), cpu_us: n(1), p50: n(2), migrations: n(5), preemptions: n(6) }
        })
        .collect();
    let names = |of: &[Thread]| of.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    [ours, theirs]
}

/// Kernel over simulator.
fn ratio([ours, theirs]: &[Vec<Thread>; 2], of: fn(&Thread) -> u64) -> f64 {
    let sum = |side: &[Thread]| side.iter().map(of).sum::<u64>() as f64;
    sum(theirs) / sum(ours)
}

/// The largest error of a thread's share, in hundredths of a CPU, over the two seconds.
fn share_error([ours, theirs]: &[Vec<Thread>; 2]) -> f64 {
    ours.iter().zip(theirs).map(|(a, b)| a.cpu_us.abs_diff(b.cpu_us) as f64 / 20_000.0).fold(0.0, f64::max)
}

/// One CPU: how long each task runs, and how often turns end, agrees with the kernel.
#[test]
fn turns_and_shares_of_one_cpu_are_the_kernels() {
    for (load, least, most) in [("periodic", 0.9, 1.1), ("mix", 0.9, 1.15)] {
        let both = both("smp-1", load);
        let preemptions = ratio(&both, |t| t.preemptions);
        assert!((least..most).contains(&preemptions), "{load}: preemptions {preemptions:.2}: {both:?}");
        assert!(share_error(&both) < 2.0, "{load}: {both:?}");
    }
    let pipeline = both("smp-1", "pipeline");
    assert!(share_error(&pipeline) < 1.0, "{pipeline:?}");
}

/// A task that wakes on one CPU waits as long as in the kernel, up to two turns of 0.7 ms: for turns, not for ticks.
#[test]
fn waits_of_one_cpu_are_the_kernels() {
    for load in ["periodic", "mix"] {
        let [ours, theirs] = both("smp-1", load);
        for (a, b) in ours.iter().zip(&theirs).filter(|(a, _)| !a.name.starts_with("hog")) {
            assert!(a.p50.abs_diff(b.p50) < 1_400, "{load}: {a:?} against {b:?}");
        }
    }
}

/// Four CPUs: turns end as often, and tasks move as rarely, within what the emulated CPUs' speed explains.
#[test]
fn four_cpus_take_turns_and_move_tasks_as_the_kernel_does() {
    let mix = both("smp-4", "mix");
    let preemptions = ratio(&mix, |t| t.preemptions);
    assert!((0.8..1.25).contains(&preemptions), "preemptions {preemptions:.2}: {mix:?}");
    let moves = ratio(&mix, |t| t.migrations);
    assert!((0.3..3.0).contains(&moves), "moves {moves:.2}: {mix:?}");
    let pipeline = both("smp-4", "pipeline");
    let moves = ratio(&pipeline, |t| t.migrations);
    assert!((0.4..2.0).contains(&moves), "moves {moves:.2}: {pipeline:?}");
}

/// Where no two tasks are ever released at once, the tasks that are there at a wake-up are the same on both sides: then tasks move as
/// often as in the kernel, in the mean of twelve runs: one has 0.8 or 1.0 times the kernel's.
#[test]
fn tasks_that_meet_the_same_others_move_as_often() {
    let runs: Vec<_> = (1..=12).map(|seed| by_seed("smp-4", "apart", seed)).collect();
    let moves = runs.iter().map(|run| ratio(run, |t| t.migrations)).sum::<f64>() / 12.0;
    assert!((0.9..1.1).contains(&moves), "moves {moves:.2}: {runs:?}");
    assert!(runs.iter().all(|run| share_error(run) < 3.0), "{runs:?}");
}

/// Two large CPUs and two of half their capacity: of six hogs two have a small CPU for themselves, and the others share the
/// large ones, whatever comes and goes beside them.
#[test]
fn hogs_are_spread_by_capacity_as_the_kernel_does() {
    let mix = both("hybrid-4", "mix");
    let [ours, theirs] = mix.each_ref().map(|side| {
        let mut hogs: Vec<u64> =
            side.iter().filter(|t| t.name.starts_with("hog")).map(|t| t.cpu_us / 20_000).collect();
        hogs.sort_unstable();
        hogs
    });
    let near = ours.iter().zip(&theirs).all(|(a, b)| a.abs_diff(*b) < 10);
    assert!(near, "percent of a CPU: {ours:?} against {theirs:?}");
    let preemptions = ratio(&mix, |t| t.preemptions);
    assert!((0.8..1.25).contains(&preemptions), "preemptions {preemptions:.2}");
    let pipeline = both("hybrid-4", "pipeline");
    let moves = ratio(&pipeline, |t| t.migrations);
    assert!((0.4..2.0).contains(&moves), "moves {moves:.2}: {pipeline:?}");
}
