// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Counts and times of a run, from its events. Definitions: `docs/metrics.md`.

use crate::counted::Counted;
use crate::meta::{Meta, Names, Slots};
use crate::stats::Samples;
use crate::summary::{
    CallSummary, ComponentSummary, CpuSummary, GroupSummary, Histograms, Ignored, MessageSummary,
    PipeSummary, Summary, SwapSummary, TaskSummary, Totals,
};
use std::collections::{BTreeMap, BTreeSet};
use weir_core::Plan;
use weir_core::event::{Call, Event, Observer, Stop};

/// No task, no time.
const NONE: u32 = u32::MAX;
const NEVER: u64 = u64::MAX;

/// What is kept of a task: about 100 bytes and its name; the samples cost nothing until there are some.
#[derive(Debug)]
struct Task {
    /// End of its name in the name arena; it begins where the task before ends.
    name_end: usize,
    group: u32,
    jobs: u32,
    jobs_completed: u32,
    misses: u32,
    preemptions: u32,
    migrations: u32,
    cpu_ns: u64,
    wait_ns: u64,
    /// Ready since then, or `NEVER`.
    ready_since: u64,
    response: Samples,
    wakeup: Samples,
    switches: u32,
    counted: Option<Box<Counted>>,
}

#[derive(Debug)]
struct Cpu {
    /// Running task or `NONE`.
    task: u32,
    run_since: u64,
    /// Scheduler time inside the present run interval.
    overlap_ns: u64,
    busy_ns: u64,
    scheduler_ns: u64,
    lock_wait_ns: u64,
    switches: u64,
    /// It had nothing to do after the task that ran last.
    idle: bool,
    offline_since: u64,
    offline_ns: u64,
    stolen_ns: u64,
}

impl Cpu {
    const NEW: Cpu = Cpu {
        task: NONE,
        run_since: 0,
        overlap_ns: 0,
        busy_ns: 0,
        scheduler_ns: 0,
        lock_wait_ns: 0,
        switches: 0,
        idle: true,
        offline_since: NEVER,
        offline_ns: 0,
        stolen_ns: 0,
    };

    /// Ends a run interval that no event ended; its length less the scheduler time inside.
    fn cut(&mut self, t: u64) -> u64 {
        let ns = t.saturating_sub(self.run_since).saturating_sub(self.overlap_ns);
        self.busy_ns += ns;
        self.task = NONE;
        ns
    }
}

#[derive(Clone, Debug, Default)]
struct Pipe {
    held_ns: u64,
    wait_ns: u64,
    depth: u32,
    max_depth: u32,
    since: u64,
    /// Sum of depth times duration, task-nanoseconds.
    area: u128,
}

impl Pipe {
    fn set_depth(&mut self, t: u64, depth: u32) {
        self.area += u128::from(self.depth) * u128::from(t.saturating_sub(self.since));
        self.since = t;
        self.depth = depth;
        self.max_depth = self.max_depth.max(depth);
    }
}

/// Observes a run and sums it up.
#[derive(Debug)]
pub struct Metrics {
    meta: Meta,
    events: u64,
    totals: Totals,
    runs: u64,
    names: String,
    groups: Vec<String>,
    group_ids: BTreeMap<String, u32>,
    tasks: Vec<Task>,
    /// Last names of tasks that did not keep their first.
    renamed: BTreeMap<u32, String>,
    cpus: Vec<Cpu>,
    pipe_slots: Slots,
    pipes: Vec<Pipe>,
    instance_slots: Slots,
    instances: Vec<(u64, u64)>,
    calls: [CallSummary; Call::ALL.len()],
    messages: Vec<MessageSummary>,
    /// Tasks whose load a component refused.
    refused: BTreeSet<u32>,
    swaps: Vec<SwapSummary>,
    counted: Option<Box<Counted>>,
    /// Each wait for a CPU.
    waits: Samples,
}

/// The element `index`, with the vector grown to hold it: swaps may bring new pipes and instances.
#[inline]
fn slot<T>(vec: &mut Vec<T>, index: usize, new: impl FnMut() -> T) -> &mut T {
    if index >= vec.len() {
        vec.resize_with(index + 1, new);
    }
    &mut vec[index]
}

impl Metrics {
    pub fn new(meta: Meta) -> Self {
        let cpus = (0..meta.nr_cpus).map(|_| Cpu::NEW).collect();
        let (pipe_slots, instance_slots) = (Slots::pipes(&meta), Slots::instances(&meta));
        let pipes = vec![Pipe::default(); pipe_slots.names.len()];
        let instances = vec![(0, 0); instance_slots.names.len()];
        debug_assert!(
            Call::ALL.iter().enumerate().all(|(i, call)| *call as usize == i),
            "calls are in order"
        );
        Self {
            meta,
            cpus,
            pipe_slots,
            pipes,
            instance_slots,
            instances,
            events: 0,
            totals: Totals::default(),
            runs: 0,
            names: String::new(),
            groups: Vec::new(),
            group_ids: BTreeMap::new(),
            tasks: Vec::new(),
            renamed: BTreeMap::new(),
            calls: Call::ALL.map(|call| CallSummary { call: call.name().into(), ..CallSummary::default() }),
            messages: Vec::new(),
            refused: BTreeSet::new(),
            swaps: Vec::new(),
            counted: None,
            waits: Samples::default(),
        }
    }

    /// Makes the names of a topology known that a swap may bring. What has the same name in both goes on
    /// being summed up; what is not known is numbered.
    pub fn know(&mut self, later: &Names) {
        self.pipe_slots.learn(&later.topology, &later.pipes);
        self.instance_slots.learn(&later.topology, &later.instances);
    }

    /// The task's record. Tasks are announced densely; one that was not gets a record without a name.
    #[inline]
    fn task(&mut self, task: u32) -> &mut Task {
        if self.tasks.len() <= task as usize {
            self.add_unnamed(task as usize + 1);
        }
        &mut self.tasks[task as usize]
    }

    /// Records without a name, until there are `len`.
    #[cold]
    fn add_unnamed(&mut self, len: usize) {
        while self.tasks.len() < len {
            self.add_task("", "");
        }
    }

    fn group(&mut self, group: &str) -> u32 {
        match self.group_ids.get(group) {
            Some(&id) => id,
            None => {
                let id = self.groups.len() as u32;
                self.groups.push(group.into());
                self.group_ids.insert(group.into(), id);
                id
            }
        }
    }

    /// Writes the names of tasks again, with those that came later.
    fn settle_names(&mut self) {
        if self.renamed.is_empty() {
            return;
        }
        let old = std::mem::take(&mut self.names);
        let mut begin = 0;
        for (id, task) in (0..).zip(&mut self.tasks) {
            let first = &old[begin..task.name_end];
            begin = task.name_end;
            self.names.push_str(self.renamed.get(&id).map_or(first, String::as_str));
            task.name_end = self.names.len();
        }
    }

    fn add_task(&mut self, name: &str, group: &str) {
        let group = self.group(group);
        self.names.push_str(name);
        self.tasks.push(Task {
            name_end: self.names.len(),
            group,
            jobs: 0,
            jobs_completed: 0,
            misses: 0,
            preemptions: 0,
            migrations: 0,
            cpu_ns: 0,
            wait_ns: 0,
            ready_since: NEVER,
            response: Samples::default(),
            wakeup: Samples::default(),
            switches: 0,
            counted: None,
        });
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        slot(&mut self.cpus, cpu as usize, || Cpu::NEW)
    }

    fn preempted(&mut self, task: u32) {
        self.totals.preemptions += 1;
        self.task(task).preemptions += 1;
    }

    /// An event of a task or a CPU that was not announced.
    #[cold]
    fn stranger(&mut self, t: u64, event: &Event<'_>) {
        self.events -= 1;
        if let Event::Ready { task, .. } | Event::Off { task, .. } | Event::JobRelease { task, .. } = *event {
            self.task(task);
        }
        if let Event::Off { cpu, .. } | Event::Sched { cpu, .. } | Event::Idle { cpu, .. } = *event {
            self.cpu(cpu);
        }
        self.event(t, event);
    }

    /// A task begins to run.
    #[inline(never)]
    fn begin(&mut self, t: u64, event: &Event<'_>) {
        let Event::Run { task, cpu, migrated, switched, wakeup, waited_ns } = *event else { return };
        self.runs += 1;
        let record = self.task(task);
        record.wait_ns += waited_ns;
        record.ready_since = NEVER;
        record.migrations += u32::from(migrated);
        record.switches += u32::from(switched);
        if wakeup {
            record.wakeup.add(waited_ns);
        }
        self.waits.add(waited_ns);
        let cpu = self.cpu(cpu);
        cpu.task = task;
        cpu.run_since = t;
        cpu.overlap_ns = 0;
        cpu.switches += u64::from(switched);
        let from_idle = std::mem::replace(&mut cpu.idle, false);
        self.totals.migrations += u64::from(migrated);
        self.totals.cpu_switches += u64::from(switched || from_idle);
        self.totals.context_switches += u64::from(switched);
    }

    #[inline(never)]
    fn job_done(&mut self, task: u32, response_ns: u64) {
        self.totals.jobs_completed += 1;
        let record = self.task(task);
        record.jobs_completed += 1;
        record.response.add(response_ns);
    }

    #[inline(never)]
    fn set_depth(&mut self, t: u64, pipe: u32, depth: u32) {
        slot(&mut self.pipes, self.pipe_slots.slot(pipe), Pipe::default).set_depth(t, depth);
    }

    /// Events that are not of every job.
    #[inline(never)]
    fn rare(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::Preempted { task, .. } => self.preempted(task),
            Event::PipeLock { pipe, held_ns, wait_ns } => {
                let p = slot(&mut self.pipes, self.pipe_slots.slot(pipe), Pipe::default);
                p.held_ns += held_ns;
                p.wait_ns += wait_ns;
            }
            Event::InstanceTime { instance, ns, updates } => {
                let i = slot(&mut self.instances, self.instance_slots.slot(instance), || (0, 0));
                i.0 += u64::from(updates);
                i.1 += ns;
            }
            Event::DeadlineMiss { task, .. } => {
                self.totals.deadline_misses += 1;
                self.task(task).misses += 1;
            }
            Event::JobDropped { .. } => self.totals.jobs_dropped += 1,
            Event::Counters { task, counts, .. } => {
                Counted::add(&mut self.counted, counts);
                Counted::add(&mut self.task(task).counted, counts);
            }
            Event::TaskNew { task, name, group } => {
                self.add_unnamed(task as usize);
                if self.tasks.len() == task as usize {
                    self.add_task(name, group);
                }
            }
            Event::TaskName { task, name, group } => {
                let group = self.group(group);
                self.task(task).group = group;
                self.renamed.insert(task, name.into());
            }
            Event::TaskExit { task } => {
                let record = self.task(task);
                if record.ready_since != NEVER {
                    record.wait_ns += t.saturating_sub(record.ready_since);
                    record.ready_since = NEVER;
                }
            }
            Event::Message { topic, task, .. } => {
                match self.messages.iter_mut().find(|m| m.topic == topic) {
                    Some(m) => m.count += 1,
                    None => self.messages.push(MessageSummary { topic: topic.into(), count: 1 }),
                }
                // Of a pipe it is how full that is.
                self.refused.extend(task.filter(|_| topic == "OVERLOAD"));
            }
            Event::CpuOnline { cpu, online } => {
                let record = self.cpu(cpu);
                if !online && record.offline_since == NEVER {
                    record.offline_since = t;
                } else if online && record.offline_since != NEVER {
                    record.offline_ns += t.saturating_sub(record.offline_since);
                    record.offline_since = NEVER;
                }
            }
            Event::Stolen { cpu, ns } => {
                let record = self.cpu(cpu);
                record.stolen_ns += ns;
                // The run interval is longer by it.
                record.overlap_ns += if record.task == NONE { 0 } else { ns };
            }
            Event::Energy { uj } => self.totals.energy_uj += uj,
            Event::Swap { from, to, pause_ns, represented } => {
                self.pipes.iter_mut().for_each(|p| p.set_depth(t, 0));
                self.pipe_slots.swap(to);
                self.instance_slots.swap(to);
                let represented = represented.into();
                self.swaps.push(SwapSummary {
                    at_ns: t,
                    from: from.into(),
                    to: to.into(),
                    pause_ns,
                    represented,
                });
            }
            Event::Ready { .. }
            | Event::Run { .. }
            | Event::Off { .. }
            | Event::Sched { .. }
            | Event::PipeDepth { .. }
            | Event::JobRelease { .. }
            | Event::JobDone { .. }
            | Event::Idle { .. }
            | Event::Kick { .. }
            | Event::Reply { .. }
            | Event::MessageSent { .. }
            | Event::MessageArrived { .. }
            | Event::GangSlot { .. }
            | Event::Frequency { .. }
            | Event::WaitsFor { .. }
            | Event::Woken { .. }
            | Event::Stands { .. }
            | Event::Allowed { .. }
            | Event::Refill { .. }
            | Event::Priority { .. }
            | Event::Guest { .. }
            | Event::Marker { .. } => {}
        }
    }

    /// The run ended at `end_ns`: closes what is open and sums up. `wall_ns` is left 0 for the caller.
    pub fn finish(mut self, end_ns: u64) -> Summary {
        self.settle_names();
        for c in 0..self.cpus.len() {
            let cpu = &mut self.cpus[c];
            if cpu.task != NONE {
                let (task, ns) = (cpu.task, cpu.cut(end_ns));
                self.task(task).cpu_ns += ns;
            }
            let cpu = &mut self.cpus[c];
            if cpu.offline_since != NEVER {
                cpu.offline_ns += end_ns.saturating_sub(cpu.offline_since);
            }
        }
        for task in &mut self.tasks {
            if task.ready_since != NEVER {
                task.wait_ns += end_ns.saturating_sub(task.ready_since);
            }
        }
        let cpus: Vec<CpuSummary> =
            self.cpus.iter().enumerate().map(|(i, c)| cpu_summary(&self.meta, i, c, end_ns)).collect();
        let mut totals = self.totals;
        totals.busy_ns = cpus.iter().map(|c| c.busy_ns).sum();
        totals.idle_ns = cpus.iter().map(|c| c.idle_ns).sum();
        totals.scheduler_ns = cpus.iter().map(|c| c.scheduler_ns).sum();
        totals.stolen_ns = cpus.iter().map(|c| c.stolen_ns).sum();
        totals.lock_wait_ns = cpus.iter().map(|c| c.lock_wait_ns).sum();
        totals.decisions = self.calls[Call::Pick as usize].count;
        if self.calls.iter().all(|c| c.count == 0) {
            // The runtime does not report its calls: what was picked is known at least.
            totals.decisions = self.runs;
        }

        self.pipes.resize(self.pipe_slots.names.len(), Pipe::default());
        self.instances.resize(self.instance_slots.names.len(), (0, 0));
        let (groups, mut response, mut wakeup) = sum_groups(&self.tasks, &self.groups, &self.names);
        let mut summary = Summary {
            runweir: self.meta.runweir.clone(),
            topology: self.meta.topology.clone(),
            machine: self.meta.machine.clone(),
            workload: self.meta.workload.clone(),
            seed: self.meta.seed,
            duration_ns: end_ns,
            events: self.events,
            totals,
            cpus,
            groups,
            histograms: Histograms {
                response_ns: response.buckets(),
                wakeup_latency_ns: wakeup.buckets(),
                wait_ns: self.waits.buckets(),
            },
            response_bins: response.bins(),
            response_ns: response.dist(),
            wakeup_bins: wakeup.bins(),
            wakeup_latency_ns: wakeup.dist(),
            calls: self.calls.into_iter().filter(|c| c.count > 0).collect(),
            messages: self.messages,
            swaps: self.swaps,
            counters: self.counted,
            ..Summary::default()
        };
        summary.messages.sort_by(|a, b| a.topic.cmp(&b.topic));
        summary.pipes = self
            .pipe_slots
            .names
            .into_iter()
            .zip(&mut self.pipes)
            .map(|(n, p)| pipe_summary(n, p, end_ns))
            .collect();
        let component =
            |(name, &(updates, ns)): (String, &(u64, u64))| ComponentSummary { name, updates, ns };
        summary.components =
            self.instance_slots.names.into_iter().zip(&self.instances).map(component).collect();
        let mut begin = 0;
        let record = |(id, mut t): (usize, Task)| {
            let name = &self.names[begin..t.name_end];
            begin = t.name_end;
            TaskSummary {
                name: if name.is_empty() { format!("task {id}").into() } else { name.into() },
                id: id as u32,
                group: self.groups[t.group as usize].as_str().into(),
                jobs: t.jobs.into(),
                jobs_completed: t.jobs_completed.into(),
                deadline_misses: t.misses.into(),
                preemptions: t.preemptions.into(),
                migrations: t.migrations.into(),
                cpu_ns: t.cpu_ns,
                wait_ns: t.wait_ns,
                response_ns: t.response.dist(),
                wakeup_latency_ns: t.wakeup.dist(),
                switches: t.switches.into(),
                counters: t.counted,
            }
        };
        summary.tasks = self.tasks.into_iter().enumerate().map(record).collect();
        if let Some(first) = self.refused.first() {
            summary.ignored.push(Ignored {
                topology: self.meta.topology.clone(),
                setting: "admission".into(),
                count: self.refused.len() as u64,
                example: summary.tasks.get(*first as usize).map_or(String::new(), |t| t.name.to_string()),
                effect: "refused".into(),
                why: "the load does not fit beside what was admitted before, so it runs without a guarantee"
                    .into(),
                ..Ignored::default()
            });
        }
        summary
    }
}

fn cpu_summary(meta: &Meta, index: usize, c: &Cpu, end_ns: u64) -> CpuSummary {
    // A call that was under way at the end counts as far as it got.
    let gone_ns = c.offline_ns + c.stolen_ns;
    let scheduler_ns = c.scheduler_ns.min(end_ns.saturating_sub(c.busy_ns + gone_ns));
    CpuSummary {
        cpu: index as u32,
        busy_ns: c.busy_ns,
        idle_ns: end_ns.saturating_sub(c.busy_ns + scheduler_ns + gone_ns),
        scheduler_ns,
        switches: c.switches,
        name: meta.cpu_name(index as u32),
        offline_ns: c.offline_ns,
        lock_wait_ns: c.lock_wait_ns.min(scheduler_ns),
        stolen_ns: c.stolen_ns,
    }
}

fn pipe_summary(name: String, p: &mut Pipe, end_ns: u64) -> PipeSummary {
    p.area += u128::from(p.depth) * u128::from(end_ns.saturating_sub(p.since));
    let mean = if end_ns == 0 { 0.0 } else { p.area as f64 / end_ns as f64 };
    PipeSummary {
        name,
        lock_held_ns: p.held_ns,
        lock_wait_ns: p.wait_ns,
        max_depth: p.max_depth.into(),
        mean_depth: (mean * 1000.0).round() / 1000.0,
    }
}

/// Sums over groups in order of their first task, and the two distributions over everything.
fn sum_groups(tasks: &[Task], groups: &[String], names: &str) -> (Vec<GroupSummary>, Samples, Samples) {
    // Tasks without a group are groups of their own, so their key is the task.
    let mut members: Vec<u32> = (0..tasks.len() as u32).collect();
    let key = |&i: &u32| {
        let group = tasks[i as usize].group;
        if groups[group as usize].is_empty() { (NONE, i) } else { (group, 0) }
    };
    members.sort_by_key(|i| (key(i), *i));
    let mut sums = Vec::new();
    let (mut all_response, mut all_wakeup) = (Samples::default(), Samples::default());
    for group in members.chunk_by(|a, b| key(a) == key(b)) {
        let first = group[0] as usize;
        let mut g = GroupSummary { tasks: group.len() as u64, ..GroupSummary::default() };
        g.name = match groups[tasks[first].group as usize].as_str() {
            "" => {
                let begin = first.checked_sub(1).map_or(0, |before| tasks[before].name_end);
                match &names[begin..tasks[first].name_end] {
                    "" => format!("task {first}"),
                    name => name.into(),
                }
            }
            name => name.into(),
        };
        let (mut response, mut wakeup) = (Samples::default(), Samples::default());
        for &i in group {
            let t = &tasks[i as usize];
            g.jobs += u64::from(t.jobs);
            g.jobs_completed += u64::from(t.jobs_completed);
            g.deadline_misses += u64::from(t.misses);
            g.preemptions += u64::from(t.preemptions);
            g.migrations += u64::from(t.migrations);
            g.cpu_ns += t.cpu_ns;
            g.wait_ns += t.wait_ns;
            response.merge(&t.response);
            wakeup.merge(&t.wakeup);
        }
        g.response_ns = response.dist();
        g.response_bins = response.bins();
        g.wakeup_latency_ns = wakeup.dist();
        g.wakeup_bins = wakeup.bins();
        all_response.merge(&response);
        all_wakeup.merge(&wakeup);
        sums.push((first, g));
    }
    sums.sort_by_key(|(first, _)| *first);
    let sums = sums.into_iter().map(|(_, g)| g).collect();
    (sums, all_response, all_wakeup)
}

impl Observer for Metrics {
    fn soon(&self, cpu: u32, task: u32) {
        if let Some(cpu) = self.cpus.get(cpu as usize) {
            weir_core::soon(cpu);
        }
        if let Some(task) = self.tasks.get(task as usize) {
            weir_core::soon(&task.name_end);
            weir_core::soon(&task.response);
            weir_core::soon(&task.wakeup);
        }
    }

    fn rewired(&mut self, plan: &Plan) {
        self.know(&Names::of(plan));
    }

    /// The events of every job here, each in a few instructions that call nothing; what keeps samples is apart.
    #[inline]
    fn event(&mut self, t: u64, event: &Event<'_>) {
        self.events += 1;
        match *event {
            Event::Ready { task, .. } => {
                let Some(task) = self.tasks.get_mut(task as usize) else { return self.stranger(t, event) };
                task.ready_since = t;
            }
            Event::Run { .. } => self.begin(t, event),
            Event::Off { task, cpu, why, ran_ns } => {
                let Some(record) = self.tasks.get_mut(task as usize) else { return self.stranger(t, event) };
                let Some(cpu) = self.cpus.get_mut(cpu as usize) else { return self.stranger(t, event) };
                record.cpu_ns += ran_ns;
                // The runtime knows best: a task may have been preempted long before it is reported off.
                cpu.busy_ns += ran_ns;
                if cpu.task == task {
                    cpu.task = NONE;
                }
                if why == Stop::Preempted {
                    self.totals.preemptions += 1;
                    record.preemptions += 1;
                }
            }
            Event::Sched { cpu, call, ns, lock_wait_ns } => {
                let Some(record) = self.cpus.get_mut(cpu as usize) else { return self.stranger(t, event) };
                record.scheduler_ns += ns;
                record.lock_wait_ns += lock_wait_ns;
                if record.task != NONE {
                    let room = t.saturating_sub(record.run_since).saturating_sub(record.overlap_ns);
                    record.overlap_ns += ns.min(room);
                }
                let sum = &mut self.calls[call as usize];
                sum.count += 1;
                sum.ns += ns;
                sum.lock_wait_ns += lock_wait_ns;
            }
            Event::PipeDepth { pipe, depth } => self.set_depth(t, pipe, depth),
            Event::JobRelease { task, .. } => {
                let Some(task) = self.tasks.get_mut(task as usize) else { return self.stranger(t, event) };
                task.jobs += 1;
                self.totals.jobs += 1;
            }
            Event::JobDone { task, response_ns, .. } => self.job_done(task, response_ns),
            Event::Idle { cpu, idle: true } => {
                let Some(cpu) = self.cpus.get_mut(cpu as usize) else { return self.stranger(t, event) };
                self.totals.cpu_switches += u64::from(!std::mem::replace(&mut cpu.idle, true));
            }
            Event::Idle { .. } | Event::Kick { .. } => {}
            _ => self.rare(t, event),
        }
    }
}
