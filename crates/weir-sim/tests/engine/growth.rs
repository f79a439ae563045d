// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a decision costs hardly grows with the number of tasks, where releases per second stay the same.

use weir_sim::{Costs, Criticality, Machine, Op, RunConfig, TaskSpec, Workload};

use crate::common::*;

/// `n` periodic tasks, every other one of high criticality, which need 70 % of a CPU, up to 105 % where high ones
/// overrun, as each 32nd of their jobs does. Periods grow with the number of tasks.
fn tasks(n: u64) -> Workload {
    let mut all = Vec::new();
    for i in 0..n {
        let period = [20, 40, 50, 100][i as usize % 4] * n * 10 * US;
        let wcet = period * 7 / 10 / n;
        let mut t = real_time(&format!("t{i}"), wcet, wcet, period, period);
        if i % 2 == 1 {
            let job = |run| vec![t.program[1].clone(), Op::Run { ns: run }];
            let jobs: Vec<Op> =
                (0..32).flat_map(|k| job(if k == i % 32 { wcet * 2 } else { wcet })).collect();
            t.program = repeat(None, jobs).into();
        }
        all.push(t);
    }
    let mut w = workload(all);
    for i in 0..n as u32 {
        let wcet_ns = [20, 40, 50, 100][i as usize % 4] * n * 10 * US * 7 / 10 / n * 2;
        w.criticality.insert(i, if i % 2 == 1 { Criticality::Hi { wcet_ns } } else { Criticality::Lo });
    }
    w
}

/// By the cost table, which charges each element that a component looks at, among 16 times as many tasks. (`mllf` took
/// 40 times as long when it looked at all waiting tasks.)
#[test]
fn a_decision_costs_little_more_among_many_tasks() {
    for policy in ["edf", "edf-vd", "p-edf-vd", "mllf", "p-mllf", "rbed"] {
        let per_decision = |n: u64| {
            let cfg = RunConfig { duration_ns: Some(2_000 * MS), ..RunConfig::default() };
            let machine = Machine::smp(1);
            let plan = plan(&catalogue(policy), &machine.shape);
            let out =
                weir_sim::run(&machine, &plan, &tasks(n), &Costs::default(), &cfg, &mut ()).expect("runs");
            assert!(out.decisions > 1_000, "{policy}: {}", out.decisions);
            out.scheduler_ns / out.decisions
        };
        let (few, many) = (per_decision(100), per_decision(1_600));
        assert!(many < 5 * few, "{policy}: {few} ns a decision among 100 tasks, {many} ns among 1,600");
    }
}

/// All tasks have one deadline, and a task whose time is used up has no laxity left but that deadline: `mllf` walked
/// through all that wait to find one that is due later.
#[test]
fn equal_deadlines_cost_little_more_among_many_tasks() {
    for (policy, cpus) in [("mllf", 1), ("mllf", 4), ("p-mllf", 1)] {
        let per_decision = |n: u64| {
            let cfg = RunConfig { duration_ns: Some(400 * MS), ..RunConfig::default() };
            let machine = Machine::smp(cpus);
            let plan = plan(&catalogue(policy), &machine.shape);
            let run = 60 * MS / n;
            let all = (0..n).map(|i| real_time(&format!("t{i}"), run, run, 100 * MS, 100 * MS));
            let load = workload(all.collect());
            let out = weir_sim::run(&machine, &plan, &load, &Costs::default(), &cfg, &mut ()).expect("runs");
            assert!(out.decisions > 4 * n, "{policy}: {}", out.decisions);
            out.scheduler_ns / out.decisions
        };
        let (few, many) = (per_decision(50), per_decision(800));
        assert!(
            many < 2 * few,
            "{policy}, {cpus} CPUs: {few} ns a decision among 50 tasks, {many} ns among 800"
        );
    }
}

/// Best-effort tasks that give up their CPU all the time begin a turn each time, for which `rbed` counts the others.
#[test]
fn a_turn_of_best_effort_costs_as_little_among_many_tasks() {
    let per_decision = |n: usize, cpus: u32| {
        let program = repeat(None, vec![Op::Run { ns: 100 * US }, Op::Yield]);
        let all = (0..n).map(|i| TaskSpec { program: program.clone().into(), ..hog(&format!("t{i}")) });
        let cfg = RunConfig { duration_ns: Some(1_000 * MS), ..RunConfig::default() };
        let machine = Machine::smp(cpus);
        let plan = plan(&catalogue("rbed"), &machine.shape);
        let load = workload(all.collect());
        let out = weir_sim::run(&machine, &plan, &load, &Costs::default(), &cfg, &mut ()).expect("runs");
        assert!(out.decisions > 5_000, "{}", out.decisions);
        out.scheduler_ns / out.decisions
    };
    for cpus in [1, 4] {
        let (few, many) = (per_decision(10, cpus), per_decision(2_000, cpus));
        assert!(many < 2 * few, "{few} ns a decision among 10 tasks, {many} ns among 2,000, on {cpus} CPUs");
    }
}
