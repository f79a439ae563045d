// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Machines whose scheduler is the engine of `hw/rtl` (`scheduler = "engine"`): what can run there, and how the engine is set up.
//!
//! The topology is the engine's configuration: `laxity` with `eager = false` is its twin, and its parameters are the engine's.
//! No component runs.

pub mod device;
mod run;

use std::collections::BTreeSet;

use weir_core::event::Observer;
use weir_core::{Class, Plan, PlanInstance, catalog};
use weir_model::costs::Costs;
use weir_model::workload::{Op, TaskSpec};
use weir_model::{Error, HwEngine, HwSelect, Machine, Result, Workload};

use super::{Outcome, RunConfig};
use device::{Engines, Policy, Select, Setup, Task};

/// Fewest clocks between ticks: CPUs need time for the registers.
const LEAST_CLOCKS: u64 = 1_000;
/// Bits of the register TICK, and of times in ticks.
const TICK_LIMIT: u64 = 1 << 24;
const TIME_LIMIT: u64 = (1 << 16) - 1;

/// A task as the engine has it, and what its jobs do.
struct Row<'a> {
    spec: &'a TaskSpec,
    task: Task,
    deadline_ns: u64,
    work: &'a Op,
}

/// The engine and its tasks, in time.
struct Ready<'a> {
    setup: Setup,
    rows: Vec<Row<'a>>,
    tick_ns: u64,
    /// From a tick to the interrupts.
    latency_ns: u64,
}

/// Run `workload` on a machine with an engine.
pub(super) fn run(
    machine: &Machine,
    engine: HwEngine,
    plan: &Plan,
    workload: &Workload,
    costs: &Costs,
    cfg: &RunConfig<'_>,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    if let Some((message, help)) = machine.engine_misfit() {
        return Err(Error::run(message).help(help));
    }
    let rules = cfg.control.is_some_and(|c| !c.scenario.rules.is_empty());
    if rules || !cfg.scripted.is_empty() || !workload.guests.is_empty() {
        return Err(Error::run("an engine's configuration does not change, and it has no guests")
            .help("leave the scenario or the guests out, or take a machine that schedules in software"));
    }
    let Some(engines) = cfg.engines else {
        return Err(
            Error::run("this program simulates no engines").help("take a machine that schedules in software")
        );
    };
    let ready = ready(machine, engine, engines, plan, workload, costs)?;
    let mut device = engines.device(&ready.setup, select(engine))?;
    for (n, row) in ready.rows.iter().enumerate() {
        if !device.set(n, row.task) {
            let what =
                format!("task `{}`: this engine is built for deadlines that equal periods", row.spec.name);
            return Err(Error::run(what)
                .help("choose such a task or another engine (`[engine]`), or leave out `--hw cosim`"));
        }
    }
    run::run(machine, &ready, device.as_mut(), workload, costs, cfg, observer)
}

fn select(engine: HwEngine) -> Select {
    match engine.select {
        HwSelect::Serial => Select::Serial,
        HwSelect::Tree => Select::Tree,
        HwSelect::Pipelined => Select::Pipelined,
    }
}

fn ready<'a>(
    machine: &Machine,
    engine: HwEngine,
    engines: &dyn Engines,
    plan: &Plan,
    workload: &'a Workload,
    costs: &Costs,
) -> Result<Ready<'a>> {
    let (mut setup, tick_ns) = configuration(plan)?;
    let scaled = u128::from(tick_ns) * u128::from(engine.hz);
    let tick_clocks = scaled / 1_000_000_000;
    let whole = scaled.is_multiple_of(1_000_000_000);
    if !whole || !(LEAST_CLOCKS.into()..TICK_LIMIT.into()).contains(&tick_clocks) {
        return Err(Error::run(format!(
            "a tick of {tick_ns} ns is {}{tick_clocks} clocks of the engine; they must be a whole number from {LEAST_CLOCKS} to {}",
            if whole { "" } else { "not quite " },
            TICK_LIMIT - 1
        ))
        .help("set `tick` of `laxity`, or `clock` of the machine's [engine]"));
    }
    setup.tick_clocks = tick_clocks as u32;
    setup.tasks = engine.tasks as usize;
    setup.cpus = machine.nr_cpus() as usize;
    let nr = workload.tasks.len();
    if nr > setup.tasks {
        return Err(Error::run(format!(
            "the workload has {}, the engine room for {}",
            weir_text::plural(nr, "task"),
            setup.tasks
        ))
        .help(format!("run fewer tasks, or set `tasks` of [engine], at most {}", HwEngine::MAX_TASKS)));
    }
    // A tick is worth that much to a task even if a switch is in it.
    let far = (0..machine.nr_cpus()).map(|c| costs.migrate(machine.distance(0, c))).max().unwrap_or(0);
    let switch_ns = costs.context_switch.saturating_add(far);
    if switch_ns >= tick_ns {
        return Err(Error::run(format!("a context switch takes {switch_ns} ns, a tick only {tick_ns} ns"))
            .help("set a longer `tick` of `laxity`"));
    }
    let clocks = engines.clocks(select(engine), engine.tasks);
    let latency_ns = (u64::from(clocks) * 1_000_000_000).div_ceil(engine.hz);
    let time = Time { tick_ns, latency_ns, useful_ns: tick_ns - switch_ns };
    let rows = workload.tasks.iter().map(|t| row(t, &time)).collect::<Result<_>>()?;
    Ok(Ready { setup, rows, tick_ns, latency_ns })
}

/// Policy, rules and tick, from the topology.
fn configuration(plan: &Plan) -> Result<(Setup, u64)> {
    let misfit = |what: String| {
        Error::run(what).help("take llf-tick, edf-tick or edzl-tick, or a topology whose only component is `laxity(eager = false)`")
    };
    let catalog = catalog();
    let deciding = |i: &&PlanInstance| {
        catalog.class(i.class).is_none_or(|c| c.class != Class::Annotate && c.name != "termination")
    };
    let all: Vec<&PlanInstance> = plan.instances.iter().filter(deciding).collect();
    let name = |i: &PlanInstance| catalog.class(i.class).map_or("", |c| &c.name).to_string();
    let [one] = all[..] else {
        let names: BTreeSet<String> = all.iter().map(|i| name(i)).collect();
        let names: Vec<String> = names.into_iter().collect();
        return Err(misfit(format!(
            "the machine's scheduler is an engine, which cannot be configured as the topology `{}` ({})",
            plan.name,
            names.join(", ")
        )));
    };
    if name(one) != "laxity" {
        return Err(misfit(format!("the machine's scheduler is an engine, which has no `{}`", name(one))));
    }
    let info = catalog.class(one.class).expect("it has a name");
    let value = |param: &str| {
        let at = info.params.iter().position(|p| p.name == param).expect("laxity has the parameter");
        one.params[at]
    };
    if value("eager") != 0 {
        return Err(misfit(
            "the engine decides at ticks only, and this `laxity` does not (eager = true)".into(),
        ));
    }
    if value("tick") == 0 {
        return Err(misfit("the engine decides at ticks, and this `laxity` has none (tick = 0)".into()));
    }
    let policy = match value("by") {
        0 => Policy::Llf,
        1 => Policy::Edf,
        _ => Policy::Edzl,
    };
    let (keep, stay) = (value("ties") != 0, value("stay") != 0);
    Ok((Setup { tasks: 0, cpus: 0, policy, keep, stay, tick_clocks: 0 }, value("tick")))
}

/// What a tick is to tasks.
struct Time {
    tick_ns: u64,
    latency_ns: u64,
    /// What is left of it with a switch in it.
    useful_ns: u64,
}

/// A task of the workload in ticks. Its execution time is what it needs if every tick begins with a switch; a deadline is at
/// a tick, and the first decision comes after one, so that the latency is lost once a job.
fn row<'a>(spec: &'a TaskSpec, time: &Time) -> Result<Row<'a>> {
    let tick_ns = time.tick_ns;
    let bad = |what: String, help: &str| Err(Error::run(format!("task `{}`: {what}", spec.name)).help(help));
    const PERIODIC: &str = "the engine schedules periodic tasks that compute, each on any CPU; `runweir workloads periodic` makes such";
    let [
        Op::Loop { count: None },
        Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns: 0, extra_ns: 0 },
        work,
        Op::LoopEnd,
    ] = &spec.program[..]
    else {
        return bad("it is more than a job each period that computes once".into(), PERIODIC);
    };
    if !matches!(work, Op::Run { .. } | Op::RunBetween { .. } | Op::RunDrawn { .. } | Op::Runtime { .. }) {
        return bad("its jobs do not compute".into(), PERIODIC);
    }
    let (Some(timing), Some(start), None, None) = (spec.timing, spec.start_ns, &spec.cpus, &spec.isa) else {
        return bad("it has no execution time, no start, or is bound to some CPUs".into(), PERIODIC);
    };
    let phase_ns = start.saturating_add(*offset_ns);
    if !period_ns.is_multiple_of(tick_ns) || !phase_ns.is_multiple_of(tick_ns) {
        return bad(
            format!(
                "period {period_ns} ns or first release {phase_ns} ns is no multiple of the tick, {tick_ns} ns"
            ),
            "set `tick` of `laxity` so that it divides all of them (periodic: `unit=1ms` rounds periods)",
        );
    }
    let (period, phase) = (period_ns / tick_ns, phase_ns / tick_ns);
    // The engine sees a deadline between two ticks at the earlier one.
    let deadline = deadline_ns.min(period_ns) / tick_ns;
    let wcet = timing.wcet_ns.saturating_add(time.latency_ns).div_ceil(time.useful_ns);
    if period > TIME_LIMIT || phase >= TIME_LIMIT {
        return bad(
            format!(
                "{period} ticks a period, {phase} until the first release; the engine counts to {TIME_LIMIT}"
            ),
            "set a longer `tick` of `laxity`",
        );
    }
    if wcet == 0 || wcet >= period || wcet > deadline {
        return bad(
            format!(
                "with a switch in each tick it needs {wcet} ticks, of {deadline} until its deadline and {period} a period"
            ),
            "the engine wants 0 < execution time < period, and it within the deadline: choose less work or a shorter `tick`",
        );
    }
    let task = Task {
        period: period as u32,
        wcet: wcet as u32,
        deadline: deadline as u32,
        phase: phase as u32,
        sporadic: false,
    };
    Ok(Row { spec, task, deadline_ns: *deadline_ns, work })
}
