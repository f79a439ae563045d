// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The simulation as a whole: set-up, main loop, results.

use std::cell::RefCell;

use weir_core::crash;
use weir_core::event::{CpuNo, Event, Observer, Stop, TaskNo};
use weir_core::{Config, MAX_CPUS, Msg, OutMsg, OwnTopic, Plan, Sched, TaskId, Topic};

use super::Result;
use super::calls::Paths;
use super::charge::Charger;
use super::classes::Wanted;
use super::clocks::CpuClocks;
use super::context::Contexts;
use super::cpu::{Cores, Cpu, Mode};
use super::dag::Graphs;
use super::gang::{Gangs, Placed};
use super::guest::{Guest, Within};
use super::heat::Heat;
use super::inherit::Locking;
use super::pmu::Pmu;
use super::program::{self, Program};
use super::queue::{CpuQueue, Key, Kind, Phase, TimerHeap};
use super::steer::InForce;
use super::sync::Objects;
use super::task::{NEVER, NONE, Task};
use super::{CpuOutcome, Crashed, Faulted, Outcome, RunConfig};
use weir_model::costs::Costs;
use weir_model::machine::MachineEvent;
use weir_model::rng::Rng;
use weir_model::scenario::{Reconfiguration, Rules, Watch};
use weir_model::workload::BarrierWait;
use weir_model::{Error, Machine, Workload};

/// Address space of the arena: at least 4 GiB, so that a workload may fork many more tasks than it
/// starts with. Pages are used when touched.
fn arena_bytes(tasks: usize, cpus: u32, plan: &Plan) -> usize {
    let per_task = 512 + 128 * plan.depth() as usize;
    let wiring = (plan.pipes.len() + plan.instances.len()) * 16384 + cpus as usize * 65536;
    (wiring + 4 * tasks * per_task).next_power_of_two().max(1 << 32)
}

/// Pipes that it is cheaper to look at after every call than to record the core's operations for.
const FEW_PIPES: usize = 8;
/// From so many CPUs on, events look ahead.
const LARGE: u32 = 256;
/// Random numbers for the phases of ticks.
const TICK_STREAM: u64 = 0x7469_636b_7300_0000;

/// Numbers of the whole run.
#[derive(Debug, Default)]
pub struct Totals {
    pub events: u64,
    pub decisions: u64,
    pub runs: u64,
    pub switches: u64,
    pub preemptions: u64,
    pub migrations: u64,
    pub jobs: u64,
    pub jobs_completed: u64,
    pub misses: u64,
    pub scheduler_ns: u64,
    pub lock_wait_ns: u64,
    pub spin_ns: u64,
}

/// How many tasks are in which situation.
#[derive(Debug, Default)]
pub struct Census {
    /// Created and not ended.
    pub alive: u32,
    /// Schedulable.
    pub ready: u32,
    /// On a CPU.
    pub running: u32,
    /// Ready or running, but only spinning.
    pub spinning: u32,
    /// Blocked, and a timer will wake them.
    pub timed: u32,
    /// To be created later.
    pub starts: u32,
}

impl Census {
    /// Tasks that can still make something happen.
    pub fn movers(&self) -> u32 {
        self.ready + self.running - self.spinning + self.timed + self.starts
    }
}

/// A run under way.
pub struct Sim<'a> {
    pub cfg: &'a RunConfig<'a>,
    pub machine: &'a Machine,
    pub workload: &'a Workload,
    pub costs: &'a Costs,
    pub obs: &'a mut (dyn Observer + 'a),
    pub sched: Sched,
    /// Topology in force.
    pub plan: InForce<'a>,
    pub now: u64,
    pub timers: TimerHeap,
    pub queue: CpuQueue,
    pub cpus: Vec<Cpu>,
    pub cores: Cores,
    /// The CPU whose choice is being made, or [`NONE`]: what components ask for meanwhile concerns what it will run.
    pub picking: CpuNo,
    /// CPUs whose next event must be recomputed.
    pub changed: Vec<CpuNo>,
    /// By CPU: the task that it chose last, and its handle, together as one event looks for what the next one needs.
    pub on: Vec<(TaskNo, TaskId)>,
    /// There are so many CPUs that caches do not hold them.
    pub large: bool,
    pub tasks: Vec<Task<'a>>,
    pub programs: Vec<Program<'a>>,
    /// Program and instruction set of each template; instances made of it so far.
    pub program_of: Vec<u32>,
    pub isa_of: Vec<u16>,
    pub instances_of: Vec<u32>,
    pub objects: Objects,
    /// Protocols of mutexes, and graphs of tasks.
    pub locking: Locking,
    pub graphs: Graphs,
    /// Gangs, and their planners.
    pub gangs: Gangs<'a>,
    pub charger: Charger<'a>,
    /// Where the time that it charges goes, if that is wanted.
    pub paths: Option<Box<Paths>>,
    /// Counters, and what shared caches do.
    pub pmu: Pmu,
    /// Tasks are slower away from their memory.
    pub far_memory: bool,
    /// Scheduling costs time.
    pub charging: bool,
    /// The core records its operations.
    pub oplog: bool,
    /// Where it does not, and depths are wanted: the last known depth of each pipe.
    pub depths: Vec<u32>,
    pub messages: Vec<OutMsg>,
    /// Remote messages to each coherence domain for which an interrupt was sent; empty where all CPUs share memory.
    pub remote_sent: Vec<u64>,
    /// Tasks to wake, collected while an object is in use.
    pub wakes: Vec<TaskNo>,
    /// Where causes are reported: the pipe that was last reported of each task.
    pub places: Vec<u32>,
    /// Pipes that changed in a call.
    pub touched: Vec<u32>,
    pub census: Census,
    pub totals: Totals,
    /// A reconfiguration holds everybody off until then.
    pub frozen_until: u64,
    /// Time of the component timer that is queued.
    pub component_at: u64,
    /// First CPU that can run the scheduler; it does what has no CPU of its own.
    pub boot_cpu: CpuNo,
    /// Machine events of machine and workload by time.
    pub machine_events: Vec<(u64, MachineEvent)>,
    pub warnings: Vec<String>,
    /// Events until time last moved on, and those since something else than component timers happened.
    pub moved_at: u64,
    /// The run ended because nothing could happen any more.
    pub stuck: bool,
    pub idle_timers: u64,
    /// By instance: when its timer was due last, and how often in a row hardly any time before that.
    pub timers_of: Vec<(u64, u32)>,
    pub energy_reported_uj: u64,
    /// When observers hear the next time what locks and instances have cost.
    pub contention_ns: u64,
    /// Messages published since the last account.
    pub notices: u64,
    /// Some component listens to ticks.
    pub ticking: bool,
    /// What hosted CPUs run.
    pub contexts: Contexts,
    /// Some component listens to the parameters of jobs.
    pub job_wanted: bool,
    /// Some component listens to what kind of task each is.
    pub classes_wanted: Wanted,
    /// What the scenario's rules know, and what each is doing.
    pub watch: Option<&'a RefCell<Watch>>,
    pub rules: Rules,
    pub idle_samples: u32,
    pub reconfigurations: Vec<Reconfiguration>,
    /// Components that returned errors.
    pub faults: Vec<Faulted>,
    /// Machines within this one; and what it keeps of being within another.
    pub guests: Vec<Guest<'a>>,
    pub within: Option<Box<Within>>,
    /// There are guests here, or this is one.
    pub nested: bool,
    /// Tasks wait at barriers by looking and yielding.
    pub looking: bool,
    /// Virtual CPUs that have lost their CPU.
    pub lost: Vec<TaskNo>,
    /// Temperatures, where the machine has any, and the listeners for what the machine says.
    pub heat: Heat,
}

impl<'a> Sim<'a> {
    /// Check that the parts fit together, and build everything; no time passes.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        machine: &'a Machine,
        plan: &'a Plan,
        workload: &'a Workload,
        costs: &'a Costs,
        cfg: &'a RunConfig<'a>,
        watch: Option<&'a RefCell<Watch>>,
        placed: &'a Placed,
        obs: &'a mut (dyn Observer + 'a),
    ) -> Result<Self> {
        let nr_cpus = machine.shape.nr_cpus();
        fits(machine, plan)?;
        let (programs, program_of) = program::compile(workload)?;
        let isa_of = workload
            .tasks
            .iter()
            .map(|t| find_isa(machine, t.isa.as_deref(), &t.name))
            .collect::<Result<Vec<_>>>()?;
        bounded(workload, cfg, &programs, &program_of)?;

        let charging = !costs.is_zero();
        let polled = !charging && !cfg.causes && cfg.trace_pipes && plan.pipes.len() <= FEW_PIPES;
        let oplog = charging || cfg.causes || (cfg.trace_pipes && !polled);
        let core = Config {
            nr_cpus,
            arena_bytes: arena_bytes(workload.tasks.len(), nr_cpus, plan),
            checks: cfg.checks,
            oplog,
            seed: cfg.seed,
        };
        let mut sched = Sched::new(&core).map_err(|e| refused("set up the scheduler", &e))?;
        sched.record_ops(false);
        sched.shortens_turns();
        sched.load(plan).map_err(|e| refused("build the topology", &e))?;
        for own in watch.iter().flat_map(|_| cfg.control.iter()).flat_map(|c| c.scenario.own_topics()) {
            let held = sched.topic_register(own);
            held.map_err(|e| refused(&format!("listen to {}, which a rule waits for", own.name), &e))?;
        }

        let mut machine_events: Vec<_> =
            machine.events.iter().chain(&workload.machine_events).cloned().collect();
        machine_events.sort_by_key(|e| e.0);
        let mut cpus: Vec<Cpu> = (0..nr_cpus).map(|c| Cpu::new(machine, costs, c)).collect();
        for (c, cpu) in (0u32..).zip(&mut cpus).filter(|_| costs.tick_spread > 0) {
            cpu.tick_phase = Rng::new(cfg.seed, TICK_STREAM + u64::from(c)).between(0, costs.tick_spread);
        }
        let cores = Cores::new(machine);
        for cpu in &mut cpus {
            cpu.threads = cores.threads(cpu.core).len() as u32;
        }
        let boot_cpu =
            machine.shape.cpus.iter().position(|c| c.online && c.host.is_none()).unwrap_or(0) as u32;
        let starts = workload.tasks.iter().filter(|t| t.start_ns.is_some()).count() as u32;
        let mut sim = Self {
            cfg,
            machine,
            workload,
            costs,
            obs,
            sched,
            plan: InForce::Given(plan),
            now: 0,
            timers: TimerHeap::default(),
            queue: CpuQueue::new(nr_cpus),
            cpus,
            cores,
            picking: NONE,
            changed: Vec::new(),
            on: vec![(NONE, TaskId(NONE)); nr_cpus as usize],
            large: nr_cpus >= LARGE,
            tasks: Vec::with_capacity(starts as usize),
            programs,
            program_of,
            isa_of,
            instances_of: vec![0; workload.tasks.len()],
            objects: Objects::new(workload),
            locking: Locking::new(workload),
            graphs: Graphs::new(workload),
            gangs: Gangs::new(placed, CpuClocks::new(machine, plan, cfg.seed)),
            charger: Charger::new(machine, costs, plan),
            paths: None,
            pmu: Pmu::new(machine, plan, workload, cfg.seed),
            far_memory: far_memory(machine, workload)?,
            charging,
            oplog,
            depths: if polled { vec![0; plan.pipes.len()] } else { Vec::new() },
            messages: Vec::new(),
            remote_sent: if plan.domains() > 1 { vec![0; plan.domains() as usize] } else { Vec::new() },
            wakes: Vec::new(),
            places: Vec::new(),
            touched: Vec::new(),
            census: Census { starts, ..Census::default() },
            totals: Totals::default(),
            frozen_until: 0,
            component_at: NEVER,
            boot_cpu,
            machine_events,
            warnings: workload.warnings.clone(),
            moved_at: 0,
            stuck: false,
            idle_timers: 0,
            timers_of: Vec::new(),
            energy_reported_uj: 0,
            contention_ns: if cfg.contention_every_ns > 0 { cfg.contention_every_ns } else { NEVER },
            notices: 0,
            ticking: plan.listens_to(Topic::Tick) && costs.tick_period > 0,
            contexts: Contexts::new(machine, plan),
            job_wanted: plan.listens_to(Topic::Job),
            classes_wanted: Wanted::of(plan),
            watch,
            rules: Rules::default(),
            idle_samples: 0,
            reconfigurations: Vec::new(),
            faults: Vec::new(),
            guests: Vec::new(),
            within: None,
            nested: false,
            looking: workload.barrier_wait.values().any(|how| matches!(how, BarrierWait::Yield { .. })),
            lost: Vec::new(),
            heat: Heat::new(machine, plan),
        };
        if cfg.calls && charging {
            sim.paths = Some(Box::new(Paths::new(plan, &sim.own_topics(plan))));
        }
        if sim.pmu.is_missed() {
            sim.warn(
                "a component wants to know what tasks do to the caches, but no task has a `profile`: as on a \
                 machine without counters, it hears nothing"
                    .into(),
            );
        }
        sim.set_up()?;
        Ok(sim)
    }

    /// Actions before the clock starts, at no cost: CPUs report, the first tasks are created.
    fn set_up(&mut self) -> Result<()> {
        for c in 0..self.cpus.len() as u32 {
            let online = self.machine.shape.cpus[c as usize].online;
            let msg = Msg { cpu: Some(c), value: u64::from(online), ..Msg::default() };
            self.sched
                .notify(self.boot_cpu, Topic::CpuStatus, &msg)
                .map_err(|e| refused("announce a CPU", &e))?;
            if !online {
                self.obs.event(0, &Event::CpuOnline { cpu: c, online: false });
            }
        }
        for c in 0..self.cpus.len() as u32 {
            if self.machine.shape.cpus[c as usize].online {
                // An idle CPU has asked once and found nothing; from then on the scheduler kicks it.
                let none = self.sched.pick(self.cpus[c as usize].host, c);
                debug_assert!(none.is_none(), "no task exists yet");
                self.cpus[c as usize].mode = Mode::Idle;
                self.report_idle(c, true);
            }
        }
        self.sched.drain_messages(&mut self.messages);
        self.messages.clear();
        for (i, (t, _)) in self.machine_events.iter().enumerate() {
            self.timers.push(Key::new(*t, Phase::Timer, Kind::Machine, i as u32));
        }
        for (i, (t, _)) in self.cfg.scripted.iter().enumerate() {
            self.timers.push(Key::new(*t, Phase::Timer, Kind::Command, i as u32));
        }
        self.queue_scenario();
        for (i, spec) in self.workload.tasks.iter().enumerate() {
            if let Some(t) = spec.start_ns {
                self.timers.push(Key::of_task(t, Kind::Start, i as u32, i as u32));
            }
        }
        self.publish_slots()?;
        self.set_up_heat()?;
        self.sched.record_ops(true);
        self.arm_component_timer();
        Ok(())
    }

    /// Handle events until the end, whatever the end is. A loaded component that breaks a call of the core is one.
    pub fn run(mut self) -> Result<Outcome> {
        match crash::catch(|| self.events()) {
            Ok(ended) => {
                let (end, interrupted) = ended?;
                Ok(self.outcome(end, interrupted, None))
            }
            Err(crash) => {
                let task = crash.task.and_then(|(_, number)| self.name_of(number as usize));
                let crash = Crashed::of(crash, &self.plan, task);
                let now = self.now;
                Ok(self.outcome(now, true, Some(crash)))
            }
        }
    }

    /// The name of a task as observers know it.
    pub fn name_of(&self, number: usize) -> Option<String> {
        let spec = self.tasks.get(number)?.spec;
        let nth = self.tasks[..=number].iter().filter(|t| t.spec == spec).count();
        let name = self.workload.tasks[spec as usize].name.to_string();
        Some(if nth == 1 { name } else { format!("{name}-{nth}") })
    }

    /// Settle all accounts at `end` and sum up.
    fn outcome(mut self, end: u64, interrupted: bool, crash: Option<Crashed>) -> Outcome {
        self.sum_up(end, interrupted, crash)
    }

    /// The same of a guest, with its CPUs.
    pub fn outcome_of_guest(mut self, end: u64, interrupted: bool) -> (Outcome, Vec<Cpu>) {
        let outcome = self.sum_up(end, interrupted, None);
        (outcome, self.cpus)
    }

    fn sum_up(&mut self, end: u64, interrupted: bool, crash: Option<Crashed>) -> Outcome {
        self.now = end.max(self.now);
        self.announce_pending();
        let guests = self.guest_outcomes(self.now, interrupted);
        for g in &guests {
            let of_guest = g.outcome.warnings.iter().map(|w| format!("guest `{}`: {w}", g.name));
            self.warnings.extend(of_guest.filter(|w| !self.workload.warnings.contains(w)));
        }
        for c in 0..self.cpus.len() as u32 {
            self.flush_calls(c);
            self.progress(c);
            self.cpus[c as usize].settle(self.now);
            self.report_stolen(c);
        }
        // A task that is on a CPU at the end has run there: observers see how long.
        for c in 0..self.cpus.len() {
            let cpu = &self.cpus[c];
            // One that gave its task back at the end and has not chosen yet ran it until then, too.
            let ran = if cpu.cur != NONE && !cpu.starting { cpu.cur } else { cpu.prev };
            if ran != NONE {
                let (task, ran_ns) = (ran, self.tasks[ran as usize].ran_ns);
                let why = Stop::SliceEnd;
                self.obs.event(self.now, &Event::Off { task, cpu: c as u32, why, ran_ns });
            }
        }
        self.report_contention();
        self.report_energy();
        let gangs = self.gang_outcomes();
        let total = |f: fn(&Cpu) -> u64| self.cpus.iter().map(f).sum();
        Outcome {
            end_ns: self.now,
            events: self.totals.events,
            interrupted,
            tasks: self.tasks.len() as u32,
            alive: self.census.alive,
            left: self.left(),
            decisions: self.totals.decisions,
            contexts_fetched: self.contexts.fetched,
            runs: self.totals.runs,
            context_switches: self.totals.switches,
            preemptions: self.totals.preemptions,
            migrations: self.totals.migrations,
            jobs: self.totals.jobs,
            jobs_completed: self.totals.jobs_completed,
            deadline_misses: self.totals.misses,
            scheduler_ns: self.totals.scheduler_ns,
            lock_wait_ns: self.totals.lock_wait_ns,
            calls: self.paths.as_ref().map_or_else(Vec::new, |p| p.sums()),
            busy_ns: total(|c| c.spent_ns(Mode::Run)),
            idle_ns: total(|c| c.spent_ns(Mode::Idle)),
            kernel_ns: total(|c| c.spent_ns(Mode::Kernel)),
            energy_uj: self.energy_uj(),
            cpus: self
                .cpus
                .iter()
                .map(|c| CpuOutcome {
                    busy_ns: c.spent_ns(Mode::Run),
                    idle_ns: c.spent_ns(Mode::Idle),
                    kernel_ns: c.spent_ns(Mode::Kernel),
                    switches: c.switches,
                })
                .collect(),
            // After a crash the core's memory is not looked at.
            memory_bytes: if crash.is_some() { 0 } else { self.sched.memory_used() },
            bytes_per_task: if crash.is_some() { 0 } else { self.sched.bytes_per_task() },
            warnings: std::mem::take(&mut self.warnings),
            reconfigurations: std::mem::take(&mut self.reconfigurations),
            faults: std::mem::take(&mut self.faults),
            guests,
            spin_ns: self.totals.spin_ns,
            barriers: (self.workload.barriers.iter().zip(&self.objects.barriers))
                .map(|((name, _), b)| (name.clone(), b.opened))
                .collect(),
            gangs,
            clocks: self.gangs.clocks.take().map(|c| c.outcome),
            crash,
        }
    }

    /// The topics that components of the topology bring along, by number.
    pub fn own_topics(&self, plan: &Plan) -> Vec<(u32, String)> {
        let number = |t: &OwnTopic| Some((self.sched.topic_find(t).ok()?, t.name.clone()));
        plan.own_topics().filter_map(number).collect()
    }

    /// Energy of all CPUs up to their last settlement, microjoule.
    pub fn energy_uj(&self) -> u64 {
        (self.cpus.iter().map(Cpu::energy_pj).sum::<u128>() / 1_000_000) as u64
    }

    /// Report to observers the energy since the last time.
    pub fn report_energy(&mut self) {
        let uj = self.energy_uj();
        self.obs.event(self.now, &Event::Energy { uj: uj - self.energy_reported_uj });
        self.energy_reported_uj = uj;
    }

    /// A sentence for the user.
    pub fn warn(&mut self, text: String) {
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }
}

/// The core said no where the engine keeps to the rules: a fault of the topology's components, or a
/// limit such as memory.
pub fn refused(what: &str, e: &weir_core::Error) -> Box<Error> {
    const MEMORY: i32 = 1;
    let help = match e.code {
        MEMORY => "with fewer tasks or CPUs it may fit into memory",
        _ => "`runweir components NAME` says what a component asks for",
    };
    Error::run(format!("the scheduler could not {what}: {e}")).help(help).into()
}

/// Index of an instruction set by name; `None` is the native one.
pub fn find_isa(machine: &Machine, isa: Option<&str>, task: &str) -> Result<u16> {
    let Some(name) = isa else { return Ok(0) };
    let isas = &machine.shape.isas;
    if name == "native" {
        return Ok(0);
    }
    isas.iter().position(|i| i == name).map(|i| i as u16).ok_or_else(|| {
        let known: Vec<&str> = isas.iter().map(String::as_str).collect();
        Error::run(format!(
            "task `{task}` needs the instruction set `{name}`, which machine `{}` lacks",
            machine.shape.name
        ))
        .help(weir_model::error::did_you_mean(name, &known))
        .into()
    })
}

/// Whether tasks have memory in nodes of a machine with several.
fn far_memory(machine: &Machine, workload: &Workload) -> Result<bool> {
    let nodes = machine.distances.len();
    let mut has = false;
    for (index, fair) in &workload.fairness.tasks {
        let Some(memory) = fair.memory else { continue };
        if memory.node as usize >= nodes {
            let (task, machine) = (&workload.tasks[*index as usize].name, &machine.shape.name);
            let text = format!(
                "task `{task}` has its memory in NUMA node {}, and machine `{machine}` has {}",
                memory.node,
                weir_text::plural(nodes, "node")
            );
            return Err(Error::run(text)
                .help("nodes are numbered from 0; use a machine with so many, or change `memory`")
                .into());
        }
        has = true;
    }
    Ok(has && nodes > 1)
}

/// Check that machine and plan have the same CPUs.
fn fits(machine: &Machine, plan: &Plan) -> Result<()> {
    let n = machine.shape.nr_cpus();
    if n == 0 || n > MAX_CPUS {
        return Err(Error::run(format!(
            "machine `{}` has {}",
            machine.shape.name,
            weir_text::plural(n, "CPU")
        ))
        .help(format!("1 to {MAX_CPUS} CPUs can be simulated"))
        .into());
    }
    if plan.exits.len() != n as usize || plan.entries.len() != n as usize {
        let text = format!(
            "topology `{}` was compiled for {}, machine `{}` has {n}",
            plan.name,
            weir_text::plural(plan.exits.len(), "CPU"),
            machine.shape.name
        );
        return Err(Error::run(text).help("compile the topology for the machine that it runs on").into());
    }
    if machine.kind_of.len() != n as usize {
        return Err(Error::machine(format!(
            "machine `{}` does not say of what kind each CPU is",
            machine.shape.name
        ))
        .help("give `kind_of` one entry a CPU")
        .into());
    }
    if !machine.shape.cpus.iter().any(|c| c.online && c.host.is_none()) {
        return Err(Error::run(format!(
            "no CPU of machine `{}` can run the scheduler at the start",
            machine.shape.name
        ))
        .help("let at least one CPU be online that is not hosted by another")
        .into());
    }
    Ok(())
}

/// An endless workload needs a duration.
fn bounded(w: &Workload, cfg: &RunConfig<'_>, programs: &[Program<'_>], program_of: &[u32]) -> Result<()> {
    if cfg.duration_ns.is_some() || w.duration_ns.is_some() {
        return Ok(());
    }
    let endless =
        w.tasks.iter().zip(program_of).find(|(t, p)| t.start_ns.is_some() && programs[**p as usize].endless);
    if let Some((_, g)) = w.all_guests().iter().find(|(_, g)| g.workload.is_endless()) {
        return Err(Error::run(format!(
            "workload `{}` never ends: a task in the guest `{}` loops for ever",
            w.name, g.name
        ))
        .help("say how long to run it, for example `--duration 2s`")
        .into());
    }
    match endless {
        None => Ok(()),
        Some((t, _)) => {
            Err(Error::run(format!("workload `{}` never ends: task `{}` loops for ever", w.name, t.name))
                .help("say how long to run it, for example `--duration 2s`")
                .into())
        }
    }
}
