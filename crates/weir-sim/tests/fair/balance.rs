// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The balancer of the topology `linux`: idle CPUs are found, loads evened out, caches kept.

use weir_sim::{Costs, Machine, Op, RunConfig};

use crate::common::*;
use crate::nice;

fn run(machine: &Machine, tasks: Vec<weir_sim::TaskSpec>, ms: u64) -> (Gantt, weir_sim::Outcome) {
    let mut g = Gantt::default();
    let plan = plan(&catalogue("linux"), &machine.shape);
    let cfg = RunConfig { duration_ns: Some(ms * MS), ..RunConfig::default() };
    let out =
        weir_sim::run(machine, &plan, &workload(tasks), &Costs::default(), &cfg, &mut g).expect("it runs");
    (g, out)
}

/// As many tasks as CPUs: one each, and hardly a move.
#[test]
fn no_cpu_is_idle_while_a_task_waits() {
    let tasks = (0..8).map(|i| hog(&format!("t{i}"))).collect();
    let (g, out) = run(&Machine::smp(8), tasks, 1000);
    assert!(out.idle_ns < 8 * MS, "{} ns idle", out.idle_ns);
    assert!(g.migrations < 16, "{} moves", g.migrations);
}

/// Three tasks on two CPUs take turns at being alone, so that none has much less than two thirds of a CPU.
#[test]
fn load_is_evened_out_over_time() {
    let tasks = (0..3).map(|i| hog(&format!("t{i}"))).collect();
    let (g, _) = run(&Machine::smp(2), tasks, 4000);
    for i in 0..3 {
        let share = g.ran(&format!("t{i}")) as f64 / (4000 * MS) as f64;
        assert!(share > 0.49, "t{i} has {share}");
    }
}

/// Where CPUs differ, what computes all the time belongs on the large ones.
#[test]
fn large_cpus_are_used_first() {
    let machine =
        Machine::resolve("hybrid-2p2e", &|_| Err(std::io::Error::other("no files")), &[]).expect("a preset");
    let work = |name: &str| task(name, repeat(None, vec![Op::Run { ns: 8 * MS }, Op::Sleep { ns: 2 * MS }]));
    let (g, _) = run(&machine, vec![work("a"), work("b")], 2000);
    let large: Vec<u32> =
        (0..machine.shape.nr_cpus()).filter(|c| machine.shape.cpus[*c as usize].capacity == 1024).collect();
    let on = |large_ones: bool| -> u64 {
        g.bars.iter().filter(|b| large.contains(&b.1) == large_ones).map(|b| b.3 - b.2).sum()
    };
    assert!(on(true) > 9 * on(false), "{} on large ones, {} on small ones", on(true), on(false));
}

/// Energy by the machine's figures, uJ, jobs done and jobs late, of `linux` with and without `energy`, on four large and four small CPUs.
fn energy(load: &str) -> [(u64, usize, usize); 2] {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/big-little.toml");
    let machine = Machine::resolve(file, &|path| std::fs::read(path), &[]).expect("a machine");
    ["fair_balancer", "fair_balancer(energy = true)"].map(|balancer| {
        let plan = plan(
            &catalogue("linux").replace("-> fair_balancer ->", &format!("-> {balancer} ->")),
            &machine.shape,
        );
        let mut g = Gantt::default();
        let cfg = RunConfig { duration_ns: Some(4000 * MS), ..RunConfig::default() };
        let out =
            weir_sim::run(&machine, &plan, &toml(load), &Costs::default(), &cfg, &mut g).expect("it runs");
        (out.energy_uj, g.done.len(), g.missed.len())
    })
}

/// With `energy` tasks that fit small CPUs use less of it, and are late no more often. Beyond the tipping point all is as without.
#[test]
fn tasks_that_fit_small_cpus_save_energy_there() {
    let light =
        "[[task]]\nname = \"light\"\ncount = 8\nperiod = \"20ms\"\nrun = \"1500us\"\nstagger = \"1300us\"\n";
    let [without, with] = energy(light);
    println!("light: {without:?} uJ, jobs, late without, {with:?} with");
    assert!(with.0 * 100 < without.0 * 70, "{with:?} with, {without:?} without");
    assert_eq!((with.1, with.2), (without.1, without.2));
    let hogs =
        format!("{light}[[task]]\nname = \"hog\"\ncount = 6\nprogram = [\"run 20ms\"]\nloop = \"forever\"\n");
    let [without, with] = energy(&hogs);
    println!("with hogs: {without:?} uJ, jobs, late without, {with:?} with");
    assert!(with.0.abs_diff(without.0) * 50 < without.0, "{with:?} with, {without:?} without");
    assert!(with.1 * 100 >= without.1 * 99, "{with:?} with, {without:?} without");
}

/// Twelve tasks that always compute, half of them at nice 5, on four CPUs: by weight the ones get 3.06 times as much CPU time as
/// the others. Sums of weights cannot be made equal to the last digit: a tenth remains.
#[test]
fn shares_hold_across_cpus() {
    let ideal = crate::weight(0) as f64 / crate::weight(5) as f64;
    for topology in ["cfs", "eevdf", "linux", "groups", "pmc-fair", "stride", "bvt", "scx-simple"] {
        let tasks = (0..12).map(|i| nice(if i < 6 { 0 } else { 5 }, hog(&format!("t{i}")))).collect();
        let (g, _) = crate::gantt_unchecked(4, &catalogue(topology), &workload(tasks), 10_000 * MS);
        let ran: Vec<f64> =
            (0..12).map(|i| g.ran_in(&format!("t{i}"), 2_000 * MS, 10_000 * MS) as f64).collect();
        let (least, most) = ran.iter().fold((f64::MAX, 0.0f64), |(l, m), r| (l.min(*r), m.max(*r)));
        assert!((most / least / ideal - 1.0).abs() < 0.1, "{topology}: {:.2}, {ran:?}", most / least);
    }
}

/// Who writes to a channel is about to wait for the answer: the task that it wakes goes to its CPU, also from another cache, and both stay there.
#[test]
fn a_synchronous_wake_up_stays_with_its_waker() {
    let text = "name = \"two\"\nllc_level = 3\n[[cpus]]\ncount = 1\nllc = 0\nllc_size = \"8MiB\"\n\
                [[cpus]]\ncount = 1\nllc = 1\nllc_size = \"8MiB\"\n";
    let machine = Machine::resolve("m.toml", &|_| Ok(text.as_bytes().to_vec()), &[]).expect("a machine");
    let load = "[[task]]\nname = \"ping\"\nprogram = [\"loop { run 20us; write there 1B; read back 1B }\"]\n\
                [[task]]\nname = \"pong\"\nprogram = [\"loop { read there 1B; run 20us; write back 1B }\"]\n";
    let mut g = Gantt::default();
    let plan = plan(&catalogue("linux"), &machine.shape);
    let cfg = RunConfig { duration_ns: Some(100 * MS), ..RunConfig::default() };
    weir_sim::run(&machine, &plan, &toml(load), &Costs::default(), &cfg, &mut g).expect("it runs");
    let late: Vec<_> = g.bars.iter().filter(|b| b.2 > 50 * MS).collect();
    assert!(late.len() > 1000, "{} turns", late.len());
    assert!(late.iter().all(|b| b.1 == late[0].1), "they run on both CPUs");
}

/// The heavy task of two keeps its share although others come and go on its CPU.
#[test]
fn weights_hold_across_cpus() {
    let nap = |name: &str| task(name, repeat(None, vec![Op::Run { ns: MS }, Op::Sleep { ns: MS }]));
    let mut tasks = vec![nice(-10, hog("heavy"))];
    tasks.extend((0..6).map(|i| nap(&format!("n{i}"))));
    let (g, _) = run(&Machine::smp(2), tasks, 2000);
    let share = g.ran("heavy") as f64 / (2000 * MS) as f64;
    assert!(share > 0.8, "{share}");
}
