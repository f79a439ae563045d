// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The discrete-event simulator: runs a workload on a modelled machine under the real scheduler code.
//!
//! Virtual time is in integer nanoseconds. The scheduler is the compiled core with the components of a
//! [`Plan`]; everything around it is modelled here. The same inputs and seed give the same events. The
//! model and its limits are described in `docs/simulator.md`.

mod calls;
mod causes;
mod chain;
mod charge;
mod checks;
mod classes;
mod clock;
mod clocks;
mod context;
mod cpu;
mod dag;
mod drop;
mod events;
mod gang;
mod guest;
mod heat;
mod hw;
mod inherit;
mod interpret;
mod jobs;
mod kernel;
mod line;
mod pmu;
mod program;
mod queue;
mod sim;
mod steer;
mod stuck;
mod sync;
mod task;
mod world;

pub use calls::CallPath;
pub use clocks::ClockOutcome;
use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use weir_core::crash::catch;
use weir_core::event::{Observer, TaskNo};
use weir_core::{CpuSet, Plan, Topic};

pub use guest::Inside;
pub use hw::device;
use weir_model::costs::Costs;
use weir_model::scenario::{Composer, Reconfiguration, Scenario, Subject, Tap, Watch};
use weir_model::{Error, Machine, Op, Verb, Workload};

/// What the functions of a run return: those of every event, which succeed, give it back in a register.
type Result<T> = std::result::Result<T, Box<Error>>;

/// How to run.
#[derive(Default)]
pub struct RunConfig<'a> {
    /// Seed of everything random: run times, jitter, the core's tie-breaking.
    pub seed: u64,
    /// End in virtual time, ns. Without it a finite workload runs until its last task has ended; an
    /// endless one is refused. The workload may ask for an earlier end.
    pub duration_ns: Option<u64>,
    /// Check the invariants of core and engine after every event (slow).
    pub checks: bool,
    /// Emit `PipeDepth` events; costs time even if no observer uses them.
    pub trace_pipes: bool,
    /// Emit what tasks wait for, which tasks wake them and how far each gets: `WaitsFor`, `Woken`, `Stands`, `Allowed`, `Refill`.
    pub causes: bool,
    /// Attribute the time of scheduler code to the parts that it is spent in: [`Outcome::calls`].
    pub calls: bool,
    /// Report to observers so often, ns, what locks and instances have cost since the last time; 0: at the end only.
    pub contention_every_ns: u64,
    /// Set from outside (Ctrl-C) to end the run with the results so far.
    pub stop: Option<&'a AtomicBool>,
    /// Called now and then with virtual time and number of events.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
    /// External actions on the scheduler, by time in ns; in any order.
    pub scripted: Vec<(u64, Command)>,
    /// A scenario, and the composer of the topologies that it asks for.
    pub control: Option<Control<'a>>,
    /// Machines and topologies of the workload's guests, in the order of [`Workload::all_guests`].
    pub inside: &'a [Inside],
    /// Where the scheduler of a machine that has it in hardware comes from; without, such a machine is refused.
    pub engines: Option<&'a dyn device::Engines>,
}

/// A scenario that is to be carried out.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    pub scenario: &'a Scenario,
    pub composer: &'a dyn Composer,
}

/// Something done to the scheduler from outside.
#[derive(Clone, Debug)]
pub enum Command {
    /// Replace the topology.
    Swap(Box<Plan>),
    /// Publish a message, as user space may. For the topics PRIORITY, AFFINITY and ISA the task itself
    /// changes too.
    Notify(Notice),
    /// The same in a guest, by its number in [`Workload::all_guests`].
    Guest(u32, Box<Command>),
}

/// A message from outside; tasks are named by their number in the run.
#[derive(Clone, Debug)]
pub struct Notice {
    pub topic: Topic,
    pub cpu: Option<u32>,
    pub task: Option<TaskNo>,
    pub value: u64,
    pub value2: u64,
    /// Only for `Topic::Affinity`; `None` is everywhere.
    pub mask: Option<CpuSet>,
}

/// What became of a run. Times are virtual, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When the run ended: last exit, duration, standstill or interruption.
    pub end_ns: u64,
    /// Events that the engine handled.
    pub events: u64,
    /// It was stopped from outside.
    pub interrupted: bool,
    /// Tasks created; their names were reported to the observer.
    pub tasks: u32,
    /// Tasks that had not ended.
    pub alive: u32,
    /// Tasks with work left that nothing would ever have done, each with the reason; after very many only the first.
    pub left: Vec<(String, String)>,
    /// Times that a CPU asked for a task.
    pub decisions: u64,
    /// Times that a hosted CPU fetched the context of its task by a request of TCB.
    pub contexts_fetched: u64,
    /// Times that a task went onto a CPU.
    pub runs: u64,
    pub context_switches: u64,
    pub preemptions: u64,
    pub migrations: u64,
    pub jobs: u64,
    pub jobs_completed: u64,
    pub deadline_misses: u64,
    /// Scheduler code, lock queues included, and those alone.
    pub scheduler_ns: u64,
    pub lock_wait_ns: u64,
    /// Where that time went, if [`RunConfig::calls`]; nothing where scheduling costs nothing, or hardware does it.
    pub calls: Vec<CallPath>,
    /// Sums over the CPUs: tasks, nothing to do, kernel work (scheduler, interrupts, switches).
    pub busy_ns: u64,
    pub idle_ns: u64,
    pub kernel_ns: u64,
    pub energy_uj: u64,
    pub cpus: Vec<CpuOutcome>,
    /// Bytes of arena memory at the end, and per task.
    pub memory_bytes: usize,
    pub bytes_per_task: usize,
    /// Remarks for the user: standstills, steps without effect, refused reconfigurations.
    pub warnings: Vec<String>,
    /// The scenario's actions, performed and refused, in order of time.
    pub reconfigurations: Vec<Reconfiguration>,
    /// Components that returned errors, in order of time.
    pub faults: Vec<Faulted>,
    /// CPU time that tasks spent spinning, at flags and barriers.
    pub spin_ns: u64,
    /// Barriers by name: how often each opened.
    pub barriers: Vec<(String, u64)>,
    pub gangs: Vec<GangOutcome>,
    /// Where CPUs have clocks of their own, and slots go by them.
    pub clocks: Option<ClockOutcome>,
    /// A loaded component ended the run.
    pub crash: Option<Crashed>,
    /// What became of the guests, in the order of [`Workload::all_guests`].
    pub guests: Vec<GuestOutcome>,
}

/// What became of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestOutcome {
    pub name: String,
    /// The guest that it is in.
    pub parent: Option<u32>,
    /// The task around it that is each of its CPUs.
    pub vcpus: Vec<TaskNo>,
    /// How long each of its CPUs had something to do and the host did not run it, ns.
    pub stolen_ns: Vec<u64>,
    /// How often the host began to run one of them.
    pub enters: u64,
    /// As of a run by itself; energy is the host's.
    pub outcome: Outcome,
}

/// How well the members of a gang ran together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangOutcome {
    pub name: String,
    pub cpus: Vec<u32>,
    /// The remaining part of the declared execution times, in 1000ths.
    pub scale: u32,
    /// Slots that were over by the end, and those in which some member never ran.
    pub slots: u64,
    pub incomplete: u64,
    /// Of slots in which several members were ready: from the first one's start to the last one's.
    pub skew_max_ns: u64,
    pub skew_mean_ns: u64,
    /// From a slot's begin to a member's start.
    pub late_max_ns: u64,
    /// Changes of phase that were requested, and messages between planners for them.
    pub phase_changes: u64,
    pub messages: u64,
    /// From a request for a phase until the program has its answer: the last one, and the longest.
    pub phase_last_ns: u64,
    pub phase_max_ns: u64,
    /// Interrupts and messages that had slots begin and end; none where each CPU goes by its own clock.
    pub signals: u64,
    /// Time that carrying them took the carrier.
    pub carry_ns: u64,
    /// CPU time of members from their start in a slot until the last one had started.
    pub wasted_ns: u64,
    /// By group, where members were in others than group 0.
    pub groups: Vec<GroupOutcome>,
}

/// How a group of a gang ran; as for the gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupOutcome {
    pub group: u32,
    pub slots: u64,
    pub incomplete: u64,
    pub skew_max_ns: u64,
    /// The most members that it had.
    pub members: u32,
}

/// An instance whose component returned an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulted {
    pub instance: String,
    pub component: String,
    /// As component authors write it: `WEIR_EINVAL`.
    pub error: String,
    pub first_ns: u64,
    pub count: u64,
}

/// The action of a loaded component that ended the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crashed {
    pub instance: String,
    pub component: String,
    /// The entry point, `mine_update`; empty where it is not known.
    pub function: String,
    /// The task that the call was about.
    pub task: Option<String>,
    pub what: String,
    pub at_ns: u64,
}

impl Crashed {
    fn of(crash: weir_core::crash::Crash, plan: &Plan, task: Option<String>) -> Self {
        let instance =
            plan.instances.get(crash.instance as usize).map_or_else(String::new, |i| i.name.clone());
        Self {
            instance,
            component: crash.component,
            function: crash.function,
            task,
            what: crash.what,
            at_ns: crash.now_ns,
        }
    }
}

/// Where the time of one CPU went, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuOutcome {
    pub busy_ns: u64,
    pub idle_ns: u64,
    pub kernel_ns: u64,
    pub switches: u64,
}

/// Run `workload` on `machine` under the topology `plan`.
///
/// Errors: the three do not fit together (kind `Run`), a program is malformed (kind `Workload`), an
/// endless workload has no duration, a task loops without time passing, the core refuses a call.
///
/// There is one copy of the simulator's loop for all observers: a call through a table per event costs less than a
/// copy for each kind of observer costs the compiler.
pub fn run(
    machine: &Machine,
    plan: &Plan,
    workload: &Workload,
    costs: &Costs,
    cfg: &RunConfig<'_>,
    observer: &mut dyn Observer,
) -> weir_model::Result<Outcome> {
    if let Some(engine) = machine.engine {
        return hw::run(machine, engine, plan, workload, costs, cfg, observer);
    }
    simulate(machine, plan, workload, costs, cfg, observer).map_err(|e| *e)
}

fn simulate(
    machine: &Machine,
    plan: &Plan,
    workload: &Workload,
    costs: &Costs,
    cfg: &RunConfig<'_>,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let placed = gang::Placed::new(machine, plan, workload)?;
    let placed = &placed;
    let rules = cfg.control.filter(|c| !c.scenario.rules.is_empty());
    if !workload.guests.is_empty() {
        let ground = guest::Ground::new(workload, cfg)?;
        let all = RefCell::new(observer);
        let mut reports = guest::Reports::new(&all, cfg.inside.len());
        let (host, guests) = reports.split();
        let online = machine.shape.cpus.len() as u32;
        let watch = rules.map(|c| RefCell::new(Watch::new(c.scenario, online)));
        if let Some(control) = rules {
            heard(control.scenario, machine, workload, cfg)?;
        }
        let mut both = (host, watch.as_ref().map(Tap));
        let sim = catch(|| {
            let mut sim =
                sim::Sim::new(machine, plan, workload, costs, cfg, watch.as_ref(), placed, &mut both)?;
            guest::settle(&mut sim, workload, costs, cfg.inside, &ground, guests)?;
            Ok(sim)
        });
        return begun(sim, plan);
    }
    let Some(control) = rules else {
        let sim = catch(|| sim::Sim::new(machine, plan, workload, costs, cfg, None, placed, observer));
        return begun(sim, plan);
    };
    heard(control.scenario, machine, workload, cfg)?;
    let online = machine.shape.cpus.len() as u32;
    let watch = RefCell::new(Watch::new(control.scenario, online));
    let mut both = (observer, Tap(&watch));
    let sim = catch(|| sim::Sim::new(machine, plan, workload, costs, cfg, Some(&watch), placed, &mut both));
    begun(sim, plan)
}

/// The machine publishes messages of the topic by itself.
fn from_machine(machine: &Machine, subject: Subject) -> bool {
    match subject {
        Subject::Standard(Topic::Power) => machine.has_battery(),
        Subject::Standard(Topic::Thermal) => machine.thermal.is_some(),
        _ => false,
    }
}

/// What a rule waits for can come: messages that programs alone publish are published by somebody.
fn heard(scenario: &Scenario, machine: &Machine, workload: &Workload, cfg: &RunConfig<'_>) -> Result<()> {
    let published = |subject: Subject| {
        let verbs = || scenario.verbs().any(|v| matches!(v, Verb::Publish(p) if p.topic == subject));
        let script = || {
            let notice = |c: &Command| matches!(c, Command::Notify(n) if subject == n.topic);
            cfg.scripted.iter().any(|(_, c)| notice(c))
        };
        let of_a_task = |op: &Op| match op {
            Op::Marker { .. } => subject == Topic::Marker,
            Op::Publish { what } => what.topic == subject,
            _ => false,
        };
        let programs = || workload.tasks.iter().any(|t| t.program.iter().any(of_a_task));
        let components = || {
            let mut all = weir_core::catalog().components.iter();
            all.any(|c| c.publishes.iter().any(|t| t == subject.name()))
        };
        verbs() || script() || programs() || components() || from_machine(machine, subject)
    };
    for rule in scenario.rules.iter().filter(|r| !r.of_topology) {
        let back = rule.back.iter().flat_map(|b| b.when.terms());
        for term in rule.when.terms().chain(back) {
            let Some(topic) = term.topic() else { continue };
            let from_outside = match topic {
                Subject::Standard(t) => {
                    matches!(t, Topic::Marker | Topic::Burn | Topic::Power | Topic::Thermal | Topic::Limit)
                }
                Subject::Own(_) => true,
            };
            if from_outside && !published(topic) {
                let name = topic.name();
                return Err(Error::run(format!(
                    "rule `{}` never acts: nobody publishes {name}, neither the machine nor the workload nor the scenario",
                    rule.name
                ))
                .help(format!("let a program do it, by the step `publish {name}` (MARKER: `marker 1`), or a step of the scenario"))
                .into());
            }
        }
    }
    Ok(())
}

/// Run a simulation that was built, or say what kept it from being built.
fn begun(
    sim: std::result::Result<Result<sim::Sim<'_>>, weir_core::crash::Crash>,
    plan: &Plan,
) -> Result<Outcome> {
    match sim {
        Ok(sim) => sim?.run(),
        // A loaded component broke something while the graph was built.
        Err(crash) => {
            let crash = Some(Crashed::of(crash, plan, None));
            Ok(Outcome { interrupted: true, crash, ..Outcome::default() })
        }
    }
}
