// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Machines whose scheduler is the engine of hw/rtl, by its model: the golden schedules, what they cost, and what is refused. That
//! the model is the RTL is what `make hw-test` shows.

#![allow(clippy::result_large_err)]

use weir_core::event::{Event, Observer};
use weir_hw::device::{Cosimulated, Models};
use weir_sim::device::Engines;
use weir_sim::{Costs, Machine, Outcome, Result, RunConfig, TaskSpec};

#[path = "../../../../crates/weir-sim/tests/engine/common.rs"]
#[allow(dead_code)]
mod common;

use common::*;

/// A tick, and what a job of so many ticks can do in them: less than them by the way of a decision to the CPU.
const TICK: u64 = 100 * US;
const LESS: u64 = 10 * US;
/// Clocks from a tick to the interrupts at 48 MHz: 8 tasks one after the other, 6, and 1; rounded up.
const LATENCY: u64 = 313;

fn machine(cpus: u32, engine: &str) -> Result<Machine> {
    let text = format!(
        "name = \"hw\"\nscheduler = \"engine\"\n[engine]\ntasks = 8\n{engine}\n[[cpus]]\ncount = {cpus}\nllc = 0\n"
    );
    Machine::resolve("hw.toml", &|_| Ok(text.as_bytes().to_vec()), &[])
}

/// Which task each CPU has in the middle of each tick.
struct Seen {
    running: Vec<Option<u32>>,
    ticks: Vec<String>,
}

impl Observer for Seen {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        while self.ticks.len() as u64 * TICK + TICK / 2 <= t {
            let one = |task: &Option<u32>| task.map_or("-".into(), |n: u32| n.to_string());
            self.ticks.push(self.running.iter().map(one).collect());
        }
        match *event {
            Event::Run { task, cpu, .. } => self.running[cpu as usize] = Some(task),
            Event::Off { cpu, .. } => self.running[cpu as usize] = None,
            _ => {}
        }
    }
}

/// `ticks` of tasks of (execution time, period) in ticks, with a context switch of `switch` ns.
fn run(cpus: u32, by: u32, tasks: &[(u64, u64)], ticks: u64, switch: u64) -> (String, Outcome) {
    let all: Vec<TaskSpec> = (0..)
        .zip(tasks)
        .map(|(n, (e, p)): (u32, _)| {
            let ns = e * (TICK - switch) - LESS;
            real_time(&n.to_string(), ns, ns, p * TICK, p * TICK)
        })
        .collect();
    let costs = Costs { context_switch: switch, ..Costs::zero() };
    let mut seen = Seen { running: vec![None; cpus as usize], ticks: Vec::new() };
    let cfg = RunConfig { duration_ns: Some(ticks * TICK), engines: Some(&Models), ..RunConfig::default() };
    let out =
        run_on(&machine(cpus, "").unwrap(), &laxity(by), &workload(all), &costs, cfg, &mut seen).unwrap();
    (seen.ticks.join(" "), out)
}

fn laxity(by: u32) -> String {
    format!(
        "annotate affinity, deadline, executed, job;\n\
         entry -> laxity(by = {by}, tick = 100us, eager = false) -> each cpu {{ -> cpu }};"
    )
}

/// The schedules that were worked out by hand from the rules: hw/models/tests/twins/golden.rs.
#[test]
fn the_engine_keeps_the_golden_schedules() {
    let (v1, out) = run(1, 0, &[(5, 10), (5, 10)], 10, 0);
    assert_eq!((v1.as_str(), out.deadline_misses), ("0 1 1 0 0 1 1 0 0 1", 0));
    for by in [0, 2] {
        let (v2, out) = run(2, by, &[(2, 3), (2, 3), (2, 3)], 12, 0);
        assert_eq!((v2.as_str(), out.deadline_misses), ("01 02 12 12 10 20 20 10 12 12 10 20", 0));
    }
    let (_, out) = run(2, 1, &[(2, 3), (2, 3), (2, 3)], 11, 0);
    assert_eq!(out.deadline_misses, 3, "one job a period is late under EDF");
    let (v3, out) = run(2, 0, &[(2, 10), (2, 10), (9, 10)], 10, 0);
    assert_eq!((v3.as_str(), out.deadline_misses), ("20 21 21 20 2- 2- 2- 2- 2- --", 0));
    let (_, out) = run(2, 1, &[(2, 10), (2, 10), (9, 10)], 11, 0);
    assert_eq!(out.deadline_misses, 1, "Dhall's effect");
}

/// Equation (2) of the source: overhead is the context switch times the switches, six in V1; nothing comes with a tick.
#[test]
fn overhead_is_switches_and_nothing_else() {
    let delta = 4 * US;
    let (schedule, out) = run(1, 0, &[(5, 10), (5, 10)], 10, delta);
    assert_eq!(schedule, "0 1 1 0 0 1 1 0 0 1");
    assert_eq!((out.context_switches, out.kernel_ns), (6, 6 * delta));
    assert_eq!((out.scheduler_ns, out.decisions), (0, 10));
    assert_eq!(out.busy_ns + out.idle_ns + out.kernel_ns, 10 * TICK);
}

/// A job begins when the decision has come, the interrupt, and the switch.
#[test]
fn a_job_begins_after_decision_interrupt_and_switch() {
    struct First(Option<u64>);
    impl Observer for First {
        fn event(&mut self, t: u64, event: &Event<'_>) {
            if let Event::Run { waited_ns, .. } = *event {
                assert_eq!(waited_ns, t);
                self.0.get_or_insert(t);
            }
        }
    }
    let begins = |engine: &str| {
        let w = workload(vec![real_time("a", MS, MS, 10 * MS, 10 * MS)]);
        let costs = Costs { context_switch: 2 * US, ..Costs::zero() };
        let mut first = First(None);
        let cfg = RunConfig { duration_ns: Some(5 * MS), engines: Some(&Models), ..RunConfig::default() };
        run_on(&machine(1, engine).unwrap(), &laxity(0), &w, &costs, cfg, &mut first).unwrap();
        first.0.expect("it runs")
    };
    assert_eq!(begins(""), LATENCY + 2 * US);
    // The tree: 4 clocks and 1; pipelined: a clock more for each of 3 levels; at 10 MHz.
    assert_eq!(begins("select = \"tree\"\nclock = \"10MHz\""), 500 + 2 * US);
    assert_eq!(begins("select = \"pipelined\"\nclock = \"10MHz\""), 800 + 2 * US);
}

/// A job that needs more than it declares is ended when that is over.
#[test]
fn the_engine_ends_a_job_that_overruns() {
    let w = workload(vec![real_time("a", 250 * US, 900 * US, MS, MS)]);
    let mut seen = Gantt::default();
    let cfg = RunConfig { duration_ns: Some(MS), engines: Some(&Models), ..RunConfig::default() };
    let out = run_on(&machine(1, "").unwrap(), &laxity(0), &w, &Costs::zero(), cfg, &mut seen).unwrap();
    assert_eq!((out.jobs, out.jobs_completed, out.busy_ns), (1, 0, 3 * TICK - LATENCY));
    assert!(out.warnings[0].contains("ended 1 jobs"), "{:?}", out.warnings);
}

#[test]
fn what_the_engine_cannot_do_is_refused() {
    let refused =
        |machine: &Machine, topology: &str, tasks: Vec<TaskSpec>, costs: Costs, hw: &dyn Engines| {
            let cfg = RunConfig { duration_ns: Some(MS), engines: Some(hw), ..RunConfig::default() };
            let out = run_on(machine, topology, &workload(tasks), &costs, cfg, &mut Gantt::default());
            out.expect_err("refused").message
        };
    let two = machine(2, "").unwrap();
    let good = || real_time("a", 150 * US, 150 * US, MS, MS);
    let model = |topology: &str, task| refused(&two, topology, vec![task], Costs::zero(), &Models);
    let llf = laxity(0);
    let eager = llf.replace("eager = false", "eager = true");
    assert!(model(&eager, good()).contains("decides at ticks only"));
    assert!(model("entry -> fifo -> cpus;", good()).contains("has no `fifo`"));
    assert!(model(&llf.replace("100us", "1us"), good()).contains("is 48 clocks"));
    assert!(model(&llf.replace("100us", "100001ns"), good()).contains("not quite 4800 clocks"));
    assert!(model(&llf, hog("h")).contains("more than a job each period"));
    assert!(model(&llf, real_time("a", US, US, MS + 1, MS)).contains("no multiple of the tick"));
    assert!(model(&llf, real_time("a", MS, MS, MS, MS)).contains("it needs 11 ticks, of 10"));
    assert!(model(&llf, real_time("a", MS, MS, 7_000 * MS, MS)).contains("70000 ticks"));
    let many = (0..9).map(|_| good()).collect();
    assert!(refused(&two, &llf, many, Costs::zero(), &Models).contains("9 tasks, the engine room for 8"));
    let slow = Costs { context_switch: TICK, ..Costs::zero() };
    assert!(refused(&two, &llf, vec![good()], slow, &Models).contains("switch takes 100000 ns"));
    let nine = machine(9, "").unwrap_err();
    assert!(nine.message.contains("up to 8 CPUs, not 9"), "{}", nine.message);
    let tasks = machine(2, "").map(|m| m.to_toml()).unwrap().replace("tasks = 8", "tasks = 65");
    assert!(Machine::resolve("hw.toml", &|_| Ok(tasks.as_bytes().to_vec()), &[]).is_err());
}

/// Without the RTL there is no cosimulation; with it the RTL decides as the model does.
#[test]
fn cosimulation_agrees_or_says_that_it_is_not_there() {
    let w = workload(vec![
        real_time("a", 150 * US, 150 * US, MS, MS),
        real_time("b", 450 * US, 300 * US, MS, MS),
        real_time("c", 250 * US, 240 * US, 7 * TICK, 6 * TICK),
    ]);
    let costs = Costs { context_switch: 2 * US, ..Costs::zero() };
    let run = |hw: &dyn Engines| {
        let cfg = RunConfig { duration_ns: Some(50 * MS), engines: Some(hw), ..RunConfig::default() };
        run_on(&machine(2, "").unwrap(), &laxity(0), &w, &costs, cfg, &mut Gantt::default())
    };
    let model = run(&Models).unwrap();
    assert!(model.jobs > 160 && model.deadline_misses == 0, "{model:?}");
    if cfg!(feature = "verilated") {
        assert_eq!(run(&Cosimulated).unwrap(), model);
    } else {
        assert!(run(&Cosimulated).unwrap_err().message.contains("built without the engine's RTL"));
    }
}

/// On every engine that is built, with every policy that the simulator has for it and switches that take 0 to 60 % of a tick,
/// model and RTL tell the same events at the same times, under tasks of which some end early and some overrun.
#[test]
#[cfg(feature = "verilated")]
fn model_and_rtl_tell_the_same_on_every_engine() {
    use weir_hw::clocks::Select;

    struct All(Vec<String>);
    impl Observer for All {
        fn event(&mut self, t: u64, event: &Event<'_>) {
            self.0.push(format!("{t} {event:?}"));
        }
    }
    for (tasks, cpus, select) in weir_hw::cosim::built() {
        let select = match select {
            Select::Serial => "serial",
            Select::Tree => "tree",
            Select::Pipelined => "pipelined",
        };
        let text = format!(
            "name = \"hw\"\nscheduler = \"engine\"\n[engine]\ntasks = {tasks}\nclock = \"10MHz\"\nselect = \"{select}\"\n\
             [[cpus]]\ncount = {cpus}\nllc = 0\n"
        );
        let machine = Machine::resolve("hw.toml", &|_| Ok(text.as_bytes().to_vec()), &[]).unwrap();
        let (mut preempted, mut moved, mut ended) = (0, 0, 0);
        for by in 0..3 {
            for switch in [0, 7 * US, 60 * US] {
                let task = |n: usize| {
                    // Together about as much as the CPUs have, and more with switches.
                    let period = (12 + 5 * (n as u64 % 7)) * TICK;
                    let wcet = (period * cpus as u64 / tasks as u64 / 2).min(period / 4);
                    let run = wcet * [4, 7, 8, 9, 12][n % 5] / 8;
                    // The largest engine is built for deadlines that equal periods.
                    let earlier = if tasks == 64 { 0 } else { n as u64 % 3 * TICK };
                    real_time(&format!("t{n}"), wcet, run, period, period - earlier)
                };
                let w = workload((0..tasks).map(task).collect());
                let costs = Costs { context_switch: switch, ..Costs::zero() };
                let run = |hw: &dyn Engines| {
                    let cfg = RunConfig {
                        duration_ns: Some(200 * TICK),
                        engines: Some(hw),
                        ..RunConfig::default()
                    };
                    let mut all = All(Vec::new());
                    let out = run_on(&machine, &laxity(by), &w, &costs, cfg, &mut all).unwrap();
                    (all.0, out)
                };
                let (model, rtl) = (run(&Models), run(&Cosimulated));
                let at = format!("{tasks} tasks on {cpus} CPUs, by {by}, switch {switch} ns");
                let differs = model.0.iter().zip(&rtl.0).find(|(a, b)| a != b);
                assert_eq!(differs, None, "{at}: model, RTL");
                assert_eq!(model, rtl, "{at}");
                let out = &model.1;
                assert!(out.context_switches > 20 && out.jobs_completed > 20, "{at}: {out:?}");
                preempted += out.preemptions;
                moved += out.migrations;
                ended += u32::from(out.warnings.iter().any(|w| w.contains("ended")));
                println!("{at}: {} events, {} jobs, no difference", model.0.len(), out.jobs);
            }
        }
        if tasks == 64 {
            let w = workload(vec![real_time("t", US, US, MS, 9 * TICK)]);
            let cfg =
                RunConfig { duration_ns: Some(MS), engines: Some(&Cosimulated), ..RunConfig::default() };
            let out = run_on(&machine, &laxity(0), &w, &Costs::zero(), cfg, &mut Gantt::default());
            assert!(out.unwrap_err().message.contains("built for deadlines that equal periods"));
        }
        assert!(preempted > 0 && ended > 0 && (moved > 0 || cpus == 1), "{preempted} {moved} {ended}");
    }
}
