// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From the threads of an rt-app file to tasks with programs.

use std::collections::{BTreeMap, BTreeSet};

use super::events::Event;
use super::global::Global;
use super::json::Source;
use super::{Phase, Thread, unknown_thread};
use crate::error::Error;
use crate::workload::build::{Builder, Kind, MAX_GROUPS, repeat, spins_in_place};
use crate::workload::{FairGroup, FairTask, OnMiss, Op, Policy, TaskSpec, Timing, Workload};

/// What must be known of all threads before the first one is translated.
struct Facts {
    /// Condition and mutex names used by other events than suspend and resume: in rt-app these are the
    /// same objects, so a suspend on such a name must meet them.
    plain_conditions: BTreeSet<String>,
    plain_mutexes: BTreeSet<String>,
    /// Timers that some event calls absolute; the mode is the timer's, not the event's. The thread is
    /// `None` for shared timers.
    absolute: BTreeSet<(Option<usize>, String)>,
    /// Template in the workload of each forked thread, by the thread's name.
    templates: BTreeMap<String, (usize, u32)>,
}

/// Bytes of a line of the caches.
const LINE: u64 = 64;

/// A semaphore's name among the events: rt-app keeps them apart from what threads suspend on.
fn semaphore(name: &str) -> String {
    format!("semaphore {name}")
}

/// A timer is private to the task where its name begins so.
fn is_private(timer: &str) -> bool {
    timer.starts_with("unique")
}

/// Translate all threads.
pub(super) fn lower(
    source: Source<'_>,
    mut builder: Builder,
    global: &Global,
    threads: &[Thread],
) -> Result<Workload, Error> {
    let total: u64 = threads.iter().map(|t| t.instances).sum();
    if let Err(e) = builder.room_for_tasks(total) {
        let most = threads.iter().max_by_key(|t| t.instances).expect("there are threads");
        return Err(source.locate(e, most.at.clone()));
    }
    let mut facts = gather(source, &mut builder, threads)?;
    // Templates come after all instances, so that instances are numbered as rt-app numbers threads.
    let mut forked = Vec::with_capacity(facts.templates.len());
    for (k, (thread, template)) in facts.templates.values_mut().enumerate() {
        forked.push(*thread);
        *template = total as u32 + k as u32;
    }
    let groups = groups(source, &mut builder, threads)?;
    let mut programs = Vec::with_capacity(threads.len());
    for (i, thread) in threads.iter().enumerate() {
        let ops = program(&mut builder, global, &facts, i, thread);
        if spins_in_place(&ops) {
            return Err(source.error(
                thread.at.clone(),
                format!("thread `{}` loops for ever without computing or waiting", thread.name),
                "add a `run`, `sleep` or `timer` to the loop",
            ));
        }
        let shared = builder.program(ops).map_err(|e| source.locate(e, thread.at.clone()))?;
        programs.push(shared);
    }
    let spec = |thread: &Thread, i: usize, name: String, start_ns: Option<u64>| TaskSpec {
        name,
        group: if thread.group.is_empty() { thread.name.clone() } else { path(&thread.group) },
        start_ns,
        policy: thread.sched.policy,
        priority: thread.sched.priority,
        cpus: thread.phases[0].cpus.clone().or_else(|| thread.cpus.clone()),
        isa: None,
        timing: thread.sched.timing.or_else(|| timing(thread)),
        on_miss: OnMiss::Continue,
        program: programs[i].clone(),
    };
    let fair = |i: usize| {
        let Thread { slice_ns, clamps, .. } = threads[i];
        let fair = FairTask { slice_ns, group: groups[i], clamps, ..FairTask::default() };
        (fair != FairTask::default()).then_some(fair)
    };
    let mut number = 0;
    for (i, thread) in threads.iter().enumerate() {
        for _ in 0..thread.instances {
            let name = format!("{}-{number}", thread.name);
            let index = builder.task(spec(thread, i, name, Some(thread.delay_us * 1000)))?;
            builder.workload.fairness.tasks.extend(fair(i).map(|f| (index, f)));
            number += 1;
        }
    }
    for &i in &forked {
        let index = builder.task(spec(&threads[i], i, threads[i].name.clone(), None))?;
        builder.workload.fairness.tasks.extend(fair(i).map(|f| (index, f)));
    }
    if number == 0 {
        return Err(source.error(
            threads[0].at.clone(),
            "every thread has 0 instances, so nothing would start",
            "give at least one thread `\"instance\" : 1`",
        ));
    }
    builder.finish()
}

/// A task group as the file has it.
fn path(names: &[String]) -> String {
    names.iter().fold(String::new(), |all, n| all + "/" + n)
}

/// Make the task groups, with those that they are in: each competes with the weight of a control group that nobody has
/// changed. The number of each thread's group, 0: none.
fn groups(source: Source<'_>, builder: &mut Builder, threads: &[Thread]) -> Result<Vec<u32>, Error> {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut of_threads = Vec::with_capacity(threads.len());
    for thread in threads {
        let mut parent = 0;
        for depth in 1..=thread.group.len() {
            let name = path(&thread.group[..depth]);
            let all = &mut builder.workload.fairness.groups;
            if let Some(&known) = numbers.get(&name) {
                parent = known;
                continue;
            }
            if all.len() == MAX_GROUPS {
                let message =
                    format!("there are more than {MAX_GROUPS} task groups, those above others included");
                return Err(source.error(thread.at.clone(), message, "let threads share groups"));
            }
            all.push(FairGroup { parent, ..FairGroup::new(&name) });
            parent = all.len() as u32;
            numbers.insert(name, parent);
        }
        of_threads.push(parent);
    }
    Ok(of_threads)
}

/// Collect the facts and count the tasks that meet at each barrier.
fn gather(source: Source<'_>, builder: &mut Builder, threads: &[Thread]) -> Result<Facts, Error> {
    let mut facts = Facts {
        plain_conditions: BTreeSet::new(),
        plain_mutexes: BTreeSet::new(),
        absolute: BTreeSet::new(),
        templates: BTreeMap::new(),
    };
    // The first of a name counts, as in rt-app.
    let mut by_name = BTreeMap::new();
    for (i, thread) in threads.iter().enumerate() {
        by_name.entry(thread.name.as_str()).or_insert(i);
    }
    for (i, thread) in threads.iter().enumerate() {
        for event in thread.phases.iter().flat_map(|p| &p.events) {
            match event {
                Event::Lock(m) | Event::Unlock(m) => {
                    facts.plain_mutexes.insert(m.clone());
                }
                Event::Signal(c) | Event::Broadcast(c) => {
                    facts.plain_conditions.insert(c.clone());
                }
                Event::Wait { condition, mutex } | Event::Sync { condition, mutex } => {
                    facts.plain_conditions.insert(condition.clone());
                    facts.plain_mutexes.insert(mutex.clone());
                }
                Event::Timer { name, absolute: true, .. } => {
                    facts.absolute.insert((is_private(name).then_some(i), name.clone()));
                }
                Event::Barrier(name) => {
                    // Every mention counts, as in rt-app; forked threads are not counted.
                    if thread.instances == 0 {
                        let text = format!(
                            "thread `{}` has 0 instances, so that the barrier `{name}` does not count it",
                            thread.name
                        );
                        builder.warn(text);
                    }
                    let b = builder.object(Kind::Barrier, name) as usize;
                    let users = &mut builder.workload.barriers[b].1;
                    *users = users.saturating_add(thread.instances as u32);
                }
                Event::Fork { thread: name, at } => {
                    let Some(&target) = by_name.get(name.as_str()) else {
                        return Err(unknown_thread(source, name, at, threads));
                    };
                    facts.templates.insert(name.clone(), (target, 0));
                }
                _ => {}
            }
        }
    }
    // Only forked threads meet there: each arrival passes.
    for barrier in &mut builder.workload.barriers {
        barrier.1 = barrier.1.max(1);
    }
    Ok(facts)
}

/// `run` is a whole number of calibrated loops, done in bursts of a second (rt-app's rounding).
fn work_ns(us: u64, ns_per_loop: Option<u64>) -> u64 {
    match ns_per_loop {
        None => us * 1000,
        Some(per) => {
            let burst = 1_000_000_000 / per * per;
            (us / 1_000_000) * burst + (us % 1_000_000) * 1000 / per * per
        }
    }
}

/// `loop` of the file as an op: negative and 0 never end.
fn loop_count(value: i64) -> Option<u64> {
    u64::try_from(value).ok().filter(|&v| v > 0)
}

/// The program of a thread.
fn program(builder: &mut Builder, global: &Global, facts: &Facts, index: usize, thread: &Thread) -> Vec<Op> {
    if thread.repeat == 0 {
        return Vec::new();
    }
    let pinned = thread.phases.iter().any(|p| p.cpus.is_some());
    let mut private_timers = BTreeMap::new();
    let mut body = Vec::new();
    let single = thread.phases.len() == 1;
    for (k, phase) in thread.phases.iter().enumerate() {
        if let Some(sched) = phase.sched {
            if std::mem::discriminant(&sched.policy) != std::mem::discriminant(&thread.sched.policy) {
                builder.warn(format!(
                    "thread `{}`: of the change of policy in a phase, only the change of priority takes effect",
                    thread.name
                ));
            }
            body.push(Op::SetPriority { priority: sched.priority });
        }
        if pinned && !(single && k == 0) {
            body.push(Op::SetAffinity { cpus: phase.cpus.clone().or_else(|| thread.cpus.clone()) });
        }
        let ops = phase_ops(builder, global, facts, index, phase, &mut private_timers);
        let count = loop_count(phase.repeat);
        if count.is_none() && k + 1 < thread.phases.len() {
            builder.warn(format!(
                "thread `{}`: a phase that loops for ever keeps later ones from running",
                thread.name
            ));
        }
        body.extend(repeat(count, ops));
    }
    unlocked_without_lock(builder, thread);
    repeat(loop_count(thread.repeat), body)
}

/// The events of one iteration of a phase.
fn phase_ops<'t>(
    builder: &mut Builder,
    global: &Global,
    facts: &Facts,
    index: usize,
    phase: &'t Phase,
    private_timers: &mut BTreeMap<&'t str, u32>,
) -> Vec<Op> {
    let mut ops = Vec::with_capacity(phase.events.len());
    for event in &phase.events {
        let op = match event {
            Event::Run { us } => Op::Run { ns: work_ns(*us, global.ns_per_loop) },
            Event::Runtime { us } => Op::Runtime { ns: us * 1000 },
            Event::Sleep { us } => Op::Sleep { ns: us * 1000 },
            Event::Memory { bytes } => Op::Memory { bytes: *bytes },
            Event::Chase { loads } => {
                builder.warn(format!(
                    "`memrun` of type `chase` takes the time of touching {LINE} bytes per access (`memory_per_kib` of the cost table): \
                     `size`, `stride` and `pattern` have no effect"
                ));
                Op::Memory { bytes: loads.saturating_mul(LINE) }
            }
            Event::Io { bytes } => Op::Io { bytes: *bytes },
            Event::Lock(m) => Op::Lock { mutex: builder.object(Kind::Mutex, m) },
            Event::Unlock(m) => Op::Unlock { mutex: builder.object(Kind::Mutex, m) },
            Event::Wait { condition, mutex } => Op::Wait {
                condition: builder.object(Kind::Condition, condition),
                mutex: builder.object(Kind::Mutex, mutex),
            },
            Event::Sync { condition, mutex } => Op::Sync {
                condition: builder.object(Kind::Condition, condition),
                mutex: builder.object(Kind::Mutex, mutex),
            },
            Event::Signal(c) => Op::Signal { condition: builder.object(Kind::Condition, c) },
            Event::Broadcast(c) => Op::Broadcast { condition: builder.object(Kind::Condition, c) },
            Event::Post(s) => Op::Activate { event: builder.object(Kind::Event, &semaphore(s)) },
            Event::Take(s) => Op::Take { event: builder.object(Kind::Event, &semaphore(s)) },
            Event::Barrier(b) => Op::Barrier { barrier: builder.object(Kind::Barrier, b) },
            Event::Yield => Op::Yield,
            Event::Fork { thread, .. } => Op::Fork { template: facts.templates[thread].1 },
            // Nothing to wait for: tools write period 0 to switch a timer off.
            Event::Timer { us: 0, .. } => continue,
            Event::Timer { name, us, .. } => {
                let shared = !is_private(name);
                let timer = if shared {
                    builder.object(Kind::Timer, name)
                } else {
                    let next = private_timers.len() as u32;
                    *private_timers.entry(name).or_insert(next)
                };
                let scope = if shared { None } else { Some(index) };
                let relative = !facts.absolute.contains(&(scope, name.clone()));
                Op::Timer { timer, period_ns: us * 1000, relative, shared }
            }
            Event::Suspend(name) | Event::Resume(name) => {
                let suspend = matches!(event, Event::Suspend(_));
                if !facts.plain_conditions.contains(name) && !facts.plain_mutexes.contains(name) {
                    let e = builder.object(Kind::Event, name);
                    if suspend { Op::Suspend { event: e } } else { Op::Resume { event: e } }
                } else {
                    let mutex = builder.object(Kind::Mutex, name);
                    let condition = builder.object(Kind::Condition, name);
                    ops.push(Op::Lock { mutex });
                    ops.push(if suspend {
                        Op::Wait { condition, mutex }
                    } else {
                        Op::Broadcast { condition }
                    });
                    Op::Unlock { mutex }
                }
            }
        };
        ops.push(op);
    }
    ops
}

/// Unlocking what was never locked is undefined in rt-app.
fn unlocked_without_lock(builder: &mut Builder, thread: &Thread) {
    let mut locked = BTreeSet::new();
    for event in thread.phases.iter().flat_map(|p| &p.events) {
        match event {
            Event::Lock(m) => {
                locked.insert(m);
            }
            Event::Unlock(m) if !locked.contains(m) => {
                builder.warn(format!("thread `{}` unlocks `{m}` before it ever locks it", thread.name));
            }
            _ => {}
        }
    }
}

/// Timing of a plain periodic thread: one phase with one timer and computing only.
fn timing(thread: &Thread) -> Option<Timing> {
    let [phase] = thread.phases.as_slice() else { return None };
    if !matches!(
        thread.sched.policy,
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Fifo | Policy::RoundRobin
    ) {
        return None;
    }
    let (mut period_ns, mut wcet_ns, mut timers) = (0, 0, 0);
    for event in &phase.events {
        match event {
            Event::Run { us } | Event::Runtime { us } => wcet_ns += us * 1000,
            Event::Timer { us, .. } => {
                period_ns = us * 1000;
                timers += 1;
            }
            _ => {}
        }
    }
    (timers == 1 && wcet_ns > 0 && period_ns > 0).then_some(Timing {
        period_ns,
        deadline_ns: period_ns,
        wcet_ns,
    })
}
