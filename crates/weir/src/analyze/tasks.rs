// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tasks and CPUs as the analysis uses them, and what of workload and machine it has to leave out.
//!
//! Every field of both is named here without `..`, and every step of a program has an arm: what is added to
//! them must be given to a test, or be a [`Feature`] that breaks its assumptions.

use std::collections::{BTreeMap, BTreeSet};

use weir_analysis::locks::{self, Mutex, Step};
use weir_analysis::{Background, Feature, Gaps, Level, Load, Task};
use weir_core::Clamps;
use weir_lang::Compiled;
use weir_model::machine::MachineEvent;
use weir_model::workload::{Arrivals, Criticality, FairGroup, FairTask, Fairness, Protocol, TaskSpec};
use weir_model::{Machine, Op, Workload};

use crate::fault::{Fault, Result};

/// What breaks assumptions: by feature the tasks, CPUs or pipes that do.
pub type Breaks = BTreeMap<Feature, BTreeSet<String>>;

/// Equal CPUs that stand for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    pub cpus: u32,
    /// Capacity of the slowest; 1024 is full speed.
    pub capacity: u32,
    pub breaks: Breaks,
}

/// A workload as tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// With the longest time that a job computes.
    pub tasks: Vec<Task>,
    /// The same as the scheduler knows them.
    pub declared: Vec<Task>,
    pub background: Vec<Background>,
    pub breaks: Breaks,
}

impl Tasks {
    /// Ready for the tests.
    pub fn load<'a>(&'a self, features: &'a [Feature]) -> Load<'a> {
        Load { declared: &self.declared, background: &self.background, features, ..Load::of(&self.tasks) }
    }
}

fn note(breaks: &mut Breaks, feature: Feature, by: impl Into<String>) {
    breaks.entry(feature).or_default().insert(by.into());
}

/// The machine as CPUs that are all as slow as its slowest.
///
/// # Errors
/// No CPU runs the scheduler.
pub fn platform(machine: &Machine) -> Result<Platform> {
    let Machine {
        shape,
        // Clocks change by the events below only, where the topology has no component that sets them.
        kinds: _,
        kind_of: _,
        // What distances cost is in the cost table.
        distances: _,
        smt_pct,
        events,
        thermal,
        // They matter to slots of gangs only.
        clocks: _,
        engine,
        // It is published; what follows is up to the topology.
        on_battery: _,
        l2_of: _,
        llc_bytes: _,
        llc_level: _,
        warnings: _,
    } = machine;
    let mut breaks = Breaks::new();
    let native: Vec<_> = shape.cpus.iter().filter(|c| c.online && c.host.is_none() && c.isa == 0).collect();
    let capacities = || native.iter().map(|c| c.capacity);
    let (Some(slowest), Some(fastest)) = (capacities().min(), capacities().max()) else {
        return Err(Fault::user("the machine has no CPU that runs the scheduler", "name another machine"));
    };
    if slowest < fastest {
        note(&mut breaks, Feature::Speeds, format!("capacities {slowest} to {fastest}"));
    }
    let cores: BTreeSet<u32> = native.iter().map(|c| c.core).collect();
    if cores.len() < native.len() && *smt_pct < 100 {
        note(&mut breaks, Feature::Threads, format!("{} CPUs on {} cores", native.len(), cores.len()));
    }
    for (i, cpu) in shape.cpus.iter().enumerate() {
        // What is absent at the start and does not come is no CPU.
        if cpu.isa != 0 || cpu.host.is_some() || cpu.coherence != native[0].coherence {
            note(&mut breaks, Feature::Foreign, format!("CPU {i}"));
        }
    }
    machine_events(events, &mut breaks);
    if thermal.is_some() {
        note(&mut breaks, Feature::Clocks, "cores that get too hot");
    }
    if engine.is_some() {
        note(&mut breaks, Feature::Engine, machine.shape.name.clone());
    }
    Ok(Platform { cpus: native.len() as u32, capacity: slowest.max(1), breaks })
}

fn machine_events(events: &[(u64, MachineEvent)], breaks: &mut Breaks) {
    for (_, event) in events {
        match event {
            MachineEvent::Online(c) => note(breaks, Feature::Hotplug, format!("CPU {c} comes")),
            MachineEvent::Offline(c) => note(breaks, Feature::Hotplug, format!("CPU {c} goes")),
            MachineEvent::Frequency(c, _) => note(breaks, Feature::Clocks, format!("CPU {c}")),
            MachineEvent::Battery(_) => note(breaks, Feature::Clocks, "the change of the power supply"),
        }
    }
}

/// What a topology has beside its policy.
pub fn topology(compiled: &Compiled) -> Breaks {
    let mut breaks = Breaks::new();
    for pipe in compiled.plan.pipes.iter().filter(|p| p.postponed) {
        note(&mut breaks, Feature::Postponed, pipe.name.clone());
    }
    if !compiled.whens.is_empty() {
        note(&mut breaks, Feature::Reshapes, compiled.plan.name.clone());
    }
    breaks
}

/// The workload's recurrent tasks, the others, and what breaks assumptions.
///
/// # Errors
/// Nothing is recurrent.
pub fn of(workload: &Workload, platform: &Platform) -> Result<Tasks> {
    let Workload {
        name,
        tasks: specs,
        criticality,
        blocking,
        profiles: _,
        profile_of,
        wait_profile_of: _,
        fairness,
        mutexes: _,
        protocols,
        // Their steps are looked at.
        dags: _,
        conditions: _,
        events: _,
        barriers: _,
        barrier_wait: _,
        barrier_counter: _,
        channels: _,
        flags: _,
        timers: _,
        gangs,
        guests,
        // Runs end; verdicts are for good.
        duration_ns: _,
        machine_events: changes,
        scenario,
        // The caller has calibrated.
        calibration_cpu: _,
        simso: _,
        warnings: _,
    } = workload;
    let mut all = Tasks::default();
    machine_events(changes, &mut all.breaks);
    if let Some(scenario) = scenario {
        note(&mut all.breaks, Feature::Scenario, scenario.name.clone());
    }
    for gang in gangs {
        note(&mut all.breaks, Feature::Gangs, gang.manifest.name().to_string());
    }
    for guest in guests {
        note(&mut all.breaks, Feature::Guests, guest.name.clone());
    }
    let Fairness { tasks: fair, groups } = fairness;
    for FairGroup { name, weight, parent: _, quota_ns, period_ns: _, burst_ns: _, clamps } in groups {
        if *quota_ns > 0 {
            note(&mut all.breaks, Feature::Limits, name.clone());
        }
        if *weight != 1024 || *clamps != Clamps::default() {
            note(&mut all.breaks, Feature::Weights, name.clone());
        }
    }
    for (index, FairTask { weight, slice_ns, group: _, clamps, memory }) in fair {
        if memory.is_some() {
            note(&mut all.breaks, Feature::Memory, specs[*index as usize].name.clone());
        }
        if weight.is_some() || slice_ns.is_some() || *clamps != Clamps::default() {
            note(&mut all.breaks, Feature::Weights, specs[*index as usize].name.clone());
        }
    }
    // Mutexes that are not used as the analysis has it, by the tasks that do.
    let mut odd: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for (index, spec) in (0..).zip(specs) {
        if profile_of.contains_key(&index) {
            note(&mut all.breaks, Feature::Memory, spec.name.clone());
        }
        let mut reader = Reader {
            spec,
            capacity: platform.capacity,
            protocols,
            breaks: &mut all.breaks,
            held: Vec::new(),
            odd: BTreeSet::new(),
        };
        let read = reader.task(criticality.get(&index), blocking.get(&index).copied().unwrap_or(0));
        for mutex in std::mem::take(&mut reader.odd) {
            odd.entry(mutex).or_default().insert(spec.name.clone());
        }
        match read {
            Read::Recurrent { task, declared } => {
                all.tasks.push(task);
                all.declared.push(declared);
            }
            Read::Background(background) => all.background.push(background),
            Read::Absent => {}
        }
    }
    if all.tasks.is_empty() {
        return Err(Fault::user(
            format!("the workload `{name}` has no task with a period"),
            "name one with periodic or sporadic tasks, such as avionics or periodic:tasks=10,util=70%",
        ));
    }
    let everyone = || all.tasks.iter().chain(all.background.iter().map(|b| &b.task));
    let mut users = Breaks::new();
    for mutex in locks::shared(everyone()) {
        let feature = if mutex.protocol.is_bare() { Feature::BareLocks } else { Feature::Locks };
        for user in everyone().filter(|t| locks::takes(t, mutex)) {
            note(&mut users, feature, user.name.clone());
        }
        for name in odd.get(&mutex.id).into_iter().flatten() {
            note(&mut users, Feature::OddLocks, name.clone());
        }
    }
    for task in all.tasks.iter().filter(|t| t.sleep > 0) {
        note(&mut users, Feature::Sleeps, task.name.clone());
    }
    for task in all.tasks.iter().filter(|t| t.blocking > 0) {
        note(&mut users, Feature::Blocking, task.name.clone());
    }
    merge(&mut all.breaks, users);
    Ok(all)
}

/// Add all of `more`.
pub fn merge(breaks: &mut Breaks, more: Breaks) {
    for (feature, names) in more {
        breaks.entry(feature).or_default().extend(names);
    }
}

/// What a task is to the analysis.
enum Read {
    Recurrent {
        task: Task,
        declared: Task,
    },
    Background(Background),
    /// It does not exist from the beginning.
    Absent,
}

/// What a job does.
#[derive(Clone, Debug, Default)]
struct Body {
    /// Computing, ns, on the slowest CPU.
    run: u64,
    sleep: u64,
    sleeps: u32,
    steps: Vec<Step>,
    last: Last,
}

/// What a job does last. One that does not compute needs the CPU once more to end, for no time at all. A task that comes at this very
/// instant and is more urgent goes first, while one that computes until then is over: the job counts as longer by [`INSTANT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Compute,
    Lock,
    Sleep,
}

/// The least time, ns.
const INSTANT: u64 = 1;

/// Most steps with mutexes of a job.
const STEPS: usize = 10_000;

/// Reads one task.
struct Reader<'a> {
    spec: &'a TaskSpec,
    capacity: u32,
    protocols: &'a [Protocol],
    breaks: &'a mut Breaks,
    /// Mutexes at this point of the program.
    held: Vec<u32>,
    odd: BTreeSet<u32>,
}

impl Reader<'_> {
    fn note(&mut self, feature: Feature) {
        let name = self.spec.name.clone();
        note(self.breaks, feature, name);
    }

    /// Computing of so much as time on the slowest CPU.
    fn scaled(&self, ns: u64) -> u64 {
        let slow = u128::from(ns) * 1024;
        u64::try_from(slow.div_ceil(u128::from(self.capacity))).unwrap_or(u64::MAX)
    }

    fn task(&mut self, level: Option<&Criticality>, blocking: u64) -> Read {
        let TaskSpec {
            name,
            group: _,
            start_ns,
            // What a policy adds to priority and deadline matters to topologies that have no test.
            policy: _,
            priority,
            cpus,
            isa,
            timing,
            // It changes what follows a miss.
            on_miss: _,
            program,
        } = self.spec;
        let Some(start) = start_ns else { return Read::Absent };
        if cpus.is_some() {
            self.note(Feature::Affinity);
        }
        if isa.is_some() {
            self.note(Feature::InstructionSet);
        }
        let mut ops = &program[..];
        let mut jobs = Some(1);
        if let [Op::Loop { count }, body @ .., Op::LoopEnd] = ops
            && body.first().is_some_and(Op::is_release)
        {
            (jobs, ops) = (*count, body);
        }
        let job = match ops {
            [first, body @ ..] if first.is_release() => Some((first, body)),
            _ => None,
        };
        let body = self.body(job.map_or(ops, |j| j.1));
        let (end, sleep) = match body.last {
            Last::Compute => (0, 0),
            Last::Sleep => (0, INSTANT),
            Last::Nothing | Last::Lock => (INSTANT, 0),
        };
        let base = Task {
            name: name.clone(),
            wcet: body.run,
            priority: i64::from(*priority),
            offset: *start,
            blocking,
            sleep: body.sleep.saturating_add(sleep),
            sleeps: body.sleeps,
            steps: body.steps,
            ..Task::default()
        };
        let recurrent = |reader: &mut Self, task: Task| {
            let known = timing.map_or(task.wcet, |t| reader.scaled(t.wcet_ns));
            let most = match level {
                Some(Criticality::Hi { wcet_ns }) => reader.scaled(*wcet_ns),
                Some(Criticality::Lo) | None => known,
            };
            let level = match level {
                Some(Criticality::Hi { .. }) => Level::High { wcet: most },
                Some(Criticality::Lo) | None => Level::Low,
            };
            if task.wcet > most.max(known) {
                reader.note(Feature::Overruns);
            }
            if task.wcet < known {
                reader.note(Feature::Shorter);
            }
            if jobs.is_some() {
                reader.note(Feature::Finite);
            }
            let declared = Task { wcet: known, level, ..task };
            Read::Recurrent {
                task: Task { wcet: known.max(body.run.saturating_add(end)), ..declared.clone() },
                declared,
            }
        };
        match job {
            Some((Op::Release { offset_ns, period_ns, deadline_ns, jitter_ns, extra_ns }, _))
                if *period_ns > 0 =>
            {
                let task = Task {
                    period: *period_ns,
                    deadline: *deadline_ns,
                    jitter: *jitter_ns,
                    offset: start.saturating_add(*offset_ns),
                    sporadic: *extra_ns > 0,
                    ..base
                };
                recurrent(self, task)
            }
            Some((Op::Arrive { arrivals, period_ns, deadline_ns, jitter_ns, .. }, _)) => {
                let least = match &**arrivals {
                    Arrivals::Poisson { least_ns, .. } if *jitter_ns == 0 => *least_ns,
                    Arrivals::Poisson { .. }
                    | Arrivals::Bursts { .. }
                    | Arrivals::Modulated { .. }
                    | Arrivals::List(_) => 0,
                };
                // A burst, or a list, has its own end.
                let endless = match &**arrivals {
                    Arrivals::Poisson { .. } | Arrivals::Modulated { .. } => jobs.is_none(),
                    Arrivals::Bursts { count, .. } => *count == 1 && jobs.is_none(),
                    Arrivals::List(_) => false,
                };
                let judged = *deadline_ns != u64::MAX;
                let deadline = if judged { *deadline_ns } else { 0 };
                let task = Task { period: least, deadline, told: *period_ns, sporadic: true, ..base };
                if least > 0 && judged {
                    self.note(Feature::Gaps);
                    return recurrent(self, task);
                }
                self.note(Feature::Arrivals);
                let gaps = match () {
                    () if least > 0 => Gaps::Least,
                    () if endless => Gaps::None,
                    () => Gaps::Unknown,
                };
                Read::Background(Background { task, gaps })
            }
            _ => {
                if timing.is_some() {
                    // It has deadlines, but no releases that are known.
                    self.note(Feature::Releases);
                }
                self.note(Feature::Background);
                let deadline = timing.map_or(0, |t| t.deadline_ns);
                let told = timing.map_or(0, |t| t.period_ns);
                Read::Background(Background { task: Task { deadline, told, ..base }, gaps: Gaps::Unknown })
            }
        }
    }

    /// What the steps of a job do; mutexes that are still held at its end are odd.
    fn body(&mut self, ops: &[Op]) -> Body {
        self.held.clear();
        let mut rest = ops;
        let body = self.steps(&mut rest, 0);
        self.odd.extend(self.held.drain(..));
        if body.steps.iter().any(|s| matches!(s, Step::Lock(_))) {
            body
        } else {
            Body { steps: Vec::new(), ..body }
        }
    }

    /// Steps up to the end of this loop.
    fn steps(&mut self, rest: &mut &[Op], depth: u32) -> Body {
        let mut body = Body::default();
        while let [op, after @ ..] = *rest {
            *rest = after;
            match op {
                Op::Run { ns } => compute(&mut body, self.scaled(*ns)),
                Op::RunBetween { max_ns, .. } => compute(&mut body, self.scaled(*max_ns)),
                Op::RunDrawn { dist } => compute(&mut body, self.scaled(dist.max_ns)),
                Op::Runtime { ns } => compute(&mut body, *ns),
                Op::Memory { .. } => self.note(Feature::Memory),
                Op::Sleep { ns } => {
                    body.sleep = body.sleep.saturating_add(*ns);
                    body.sleeps = body.sleeps.saturating_add(1);
                    body.last = Last::Sleep;
                    self.odd.extend(&self.held);
                }
                Op::Lock { mutex } => {
                    if self.held.contains(mutex) {
                        self.odd.insert(*mutex);
                    }
                    self.held.push(*mutex);
                    body.steps.push(Step::Lock(self.mutex(*mutex)));
                    body.last = Last::Lock;
                }
                Op::Unlock { mutex } => {
                    if !self.held.contains(mutex) {
                        self.odd.insert(*mutex);
                    }
                    self.held.retain(|m| m != mutex);
                    body.steps.push(Step::Unlock(*mutex));
                }
                Op::Loop { count } => {
                    let before = self.held.clone();
                    let inner = self.steps(rest, depth + 1);
                    if self.held != before {
                        self.odd.extend(self.held.iter().chain(&before));
                    }
                    let Some(count) = count else {
                        // Steps behind it are never reached.
                        self.note(Feature::Releases);
                        continue;
                    };
                    self.repeat(&mut body, inner, *count);
                }
                Op::LoopEnd if depth > 0 => return body,
                Op::LoopEnd | Op::Release { .. } | Op::Arrive { .. } => self.note(Feature::Releases),
                Op::Join { .. } => self.note(Feature::Precedence),
                Op::Until { .. }
                | Op::Io { .. }
                | Op::Timer { .. }
                | Op::Wait { .. }
                | Op::Sync { .. }
                | Op::Barrier { .. }
                | Op::Suspend { .. }
                | Op::Await { .. }
                | Op::Take { .. }
                | Op::Write { .. }
                | Op::Read { .. } => {
                    self.odd.extend(&self.held);
                    self.note(Feature::Waits);
                }
                Op::SpinUntil { .. } => self.note(Feature::Spins),
                // They wake others, and do not wait.
                Op::Signal { .. }
                | Op::Broadcast { .. }
                | Op::Resume { .. }
                | Op::Activate { .. }
                | Op::Raise { .. }
                | Op::Request { .. }
                | Op::Marker { .. } => {}
                Op::Yield => self.note(Feature::Yields),
                Op::Fork { .. } => self.note(Feature::Forks),
                Op::SetIsa { .. } => self.note(Feature::InstructionSet),
                Op::SetPriority { .. } => self.note(Feature::Priorities),
                Op::SetAffinity { .. } => self.note(Feature::Affinity),
                Op::Gang { .. } | Op::Group { .. } => self.note(Feature::Gangs),
                Op::Publish { .. } => self.note(Feature::Messages),
                Op::Vcpu { .. } => self.note(Feature::Guests),
            }
        }
        body
    }

    fn mutex(&self, id: u32) -> Mutex {
        let protocol = match self.protocols.get(id as usize).copied().unwrap_or_default() {
            Protocol::None => locks::Protocol::None,
            Protocol::Inherit => locks::Protocol::Inherit,
            Protocol::Ceiling => locks::Protocol::Ceiling,
            Protocol::Classic => locks::Protocol::Classic,
            Protocol::Spin => locks::Protocol::Spin,
        };
        Mutex { id, protocol }
    }

    /// Add what a loop does.
    fn repeat(&mut self, body: &mut Body, inner: Body, count: u64) {
        body.run = body.run.saturating_add(inner.run.saturating_mul(count));
        body.sleep = body.sleep.saturating_add(inner.sleep.saturating_mul(count));
        let sleeps = u64::from(inner.sleeps).saturating_mul(count);
        body.sleeps = body.sleeps.saturating_add(u32::try_from(sleeps).unwrap_or(u32::MAX));
        if count > 0 && inner.last != Last::Nothing {
            body.last = inner.last;
        }
        let locks = |s: &Step| !matches!(s, Step::Run(_));
        if !inner.steps.iter().any(locks) {
            body.steps.push(Step::Run(inner.run.saturating_mul(count)));
        } else if count.saturating_mul(inner.steps.len() as u64) <= STEPS as u64 {
            for _ in 0..count {
                body.steps.extend(&inner.steps);
            }
        } else {
            let ids =
                inner.steps.iter().filter_map(|s| if let Step::Lock(m) = s { Some(m.id) } else { None });
            self.odd.extend(ids.chain(self.held.iter().copied()));
            body.steps.extend(&inner.steps);
        }
    }
}

fn compute(body: &mut Body, ns: u64) {
    body.run = body.run.saturating_add(ns);
    body.steps.push(Step::Run(ns));
    if ns > 0 {
        body.last = Last::Compute;
    }
}
