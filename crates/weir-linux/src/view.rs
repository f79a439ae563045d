// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A [`Snapshot`] from the scheduler's memory, while it runs.

use std::collections::{BTreeSet, HashMap};
use std::mem::offset_of;

use weir_core::raw::{self, Plain};
use weir_core::{CpuSet, Plan, catalog};

use crate::event::comm;
use crate::gauges::CALL_NAMES;
use crate::layout::{LiveTask, NONE};
use crate::memory::{Memory, Shared};
use crate::snapshot::{CpuView, InstanceView, PipeView, Snapshot, SwapReport, TaskState, TaskView, Totals};

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub memory: Memory,
    pub shared: Shared,
}

/// Facts that the memory does not show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub plan: Plan,
    /// The topology's text.
    pub source: String,
    /// Classes that were loaded: topologies of these can be switched to.
    pub components: BTreeSet<u16>,
    pub attached_ns: u64,
    pub last_swap: Option<SwapReport>,
}

/// A task that waits in the graph, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub id: u32,
    pub pid: u32,
    pub comm: String,
    pub waited_ns: u64,
    /// Index of the deepest pipe that holds it.
    pub pipe: Option<u32>,
}

impl View {
    pub fn sched(&self) -> Option<raw::Sched> {
        self.memory.read(self.memory.base())
    }

    pub fn graph(&self) -> Option<raw::Graph> {
        self.memory.read(self.sched()?.graph)
    }

    /// All that can be seen. `now_ns` is CLOCK_MONOTONIC; `name` gives a thread's present name.
    pub fn snapshot(&self, facts: &Facts, now_ns: u64, name: &dyn Fn(u32) -> Option<String>) -> Snapshot {
        let head = self.shared.head();
        let sched = self.sched();
        let nr_cpus = head.nr_cpus.min(weir_core::MAX_CPUS);
        let mut tasks = self.tasks(now_ns);
        rename(&mut tasks, name);
        let by_pid: HashMap<u32, &str> = tasks.iter().map(|t| (t.pid, t.comm.as_str())).collect();
        let mut totals = Totals::default();
        let cpus: Vec<CpuView> = (0..nr_cpus)
            .map(|c| {
                let mut view = self.cpu(c, sched.as_ref(), &mut totals);
                if let Some(pid) = view.curr {
                    view.curr_comm = by_pid.get(&pid).copied().unwrap_or_default().to_owned();
                }
                view
            })
            .collect();
        totals.in_graph = tasks.iter().filter(|t| t.state == TaskState::Waiting).count() as u64;
        totals.tasks = head.nr_tasks;
        totals.no_memory = head.no_memory;
        totals.swaps = head.swaps;
        totals.faults = head.faults;
        if let Some(s) = &sched {
            totals.faults += s.faults;
            totals.lost_messages = s.lost_messages;
            totals.arena_used = s.used.saturating_sub(s.freed);
            totals.arena_bytes = s.arena_bytes;
        }
        Snapshot {
            t_ns: now_ns,
            topology: facts.plan.name.clone(),
            source: facts.source.clone(),
            nr_cpus,
            uptime_ns: now_ns.saturating_sub(facts.attached_ns),
            attached: head.attached != 0 && head.exit_kind == 0,
            cpus,
            pipes: self.pipes(&facts.plan),
            instances: self.instances(&facts.plan),
            tasks,
            totals,
            last_swap: facts.last_swap.clone(),
            waits: Vec::new(),
            components: facts
                .components
                .iter()
                .filter_map(|c| catalog().class(*c))
                .map(|c| c.name.clone())
                .collect(),
            gangs: Vec::new(),
            program: None,
        }
    }

    fn cpu(&self, c: u32, sched: Option<&raw::Sched>, totals: &mut Totals) -> CpuView {
        let core = sched.and_then(|s| self.memory.entry::<raw::Cpu>(s.cpus, c.into()));
        let Some(n) = self.shared.cpu(c) else { return CpuView { cpu: c, ..CpuView::default() } };
        totals.enqueues += n.enqueues;
        totals.dispatches += n.dispatches;
        totals.dequeues += n.dequeues;
        totals.direct += n.direct;
        totals.given += n.given;
        totals.aside += n.aside;
        totals.empty += n.empty;
        totals.dropped += n.dropped;
        totals.kept += n.kept;
        totals.kicks += n.kicks;
        totals.preempts += n.preempts;
        totals.runs += n.runs;
        totals.migrations += n.migrations;
        totals.messages += n.messages;
        totals.failures += n.failures;
        let (gave_up, inboxed) = core.map_or((0, 0), |c| (c.nr_gave_up, c.nr_inboxed));
        totals.gave_up = totals.gave_up.saturating_add(gave_up);
        totals.retried += n.gave_up;
        totals.aside_given_up += n.aside_given_up;
        totals.inboxed = totals.inboxed.saturating_add(inboxed);
        totals.rescues += n.rescues;
        totals.overdue += n.overdue;
        totals.stints += n.stints;
        totals.readings += n.readings;
        totals.count_ns += n.count_ns;
        totals.timers += n.timers;
        totals.instructions += n.instructions;
        totals.busy_ns += n.busy_ns;
        totals.lost_events += n.lost_events;
        totals.requests += n.requests;
        CpuView {
            cpu: c,
            linux_cpu: None,
            online: core.is_some_and(|c| c.online != 0),
            curr: (n.curr_pid != 0).then_some(n.curr_pid as u32),
            curr_comm: String::new(),
            busy_ns: n.busy_ns,
            runs: n.runs,
            migrations: n.migrations,
            enqueues: n.enqueues,
            dispatches: n.dispatches,
            dequeues: n.dequeues,
            direct: n.direct,
            given: n.given,
            aside: n.aside,
            empty: n.empty,
            dropped: n.dropped,
            kept: n.kept,
            kicks: n.kicks,
            preempts: n.preempts,
            messages: n.messages,
            failures: n.failures,
            gave_up,
            retried: n.gave_up,
            aside_given_up: n.aside_given_up,
            inboxed,
            rescues: n.rescues,
            overdue: n.overdue,
            last_failure: failure(n.failed),
            stints: n.stints,
            timers: n.timers,
            instructions: n.instructions,
            lost_events: n.lost_events,
            calls: Vec::new(),
        }
    }

    /// Pipes of the graph in use. The plan names them; where the two disagree, a switch is under way.
    fn pipes(&self, plan: &Plan) -> Vec<PipeView> {
        let Some(graph) = self.graph() else { return Vec::new() };
        let mut out = Vec::with_capacity(plan.pipes.len());
        let instance = |i: u32| plan.instances.get(i as usize).map_or("?", |i| i.name.as_str()).to_owned();
        let all = self.raw_pipes(&graph);
        for (idx, (p, raw)) in plan.pipes.iter().zip(&all).enumerate() {
            let depth = self.members(&graph, &all, raw);
            let added = self.added(&graph, &all, raw).max(depth.into());
            out.push(PipeView {
                idx: idx as u32,
                name: p.name.clone(),
                from: p.from.map_or("entry".into(), |(i, _)| instance(i)),
                to: instance(p.to.0),
                depth,
                max_depth: self.whole(&graph, &all, raw).unwrap_or(raw).max_nr,
                added,
                removed: added - u64::from(depth),
                cpus: self.cpus_behind(raw),
                lock_wait_ns: raw.lock_wait_ns,
                longest_lock_wait_ns: raw.longest_lock_wait_ns,
                lock_waits: raw.nr_lock_waits,
                lock_waits_given_up: raw.nr_lock_given_up,
                waits: None,
            });
        }
        out
    }

    fn raw_pipes(&self, graph: &raw::Graph) -> Vec<raw::Pipe> {
        (0..graph.nr_pipes.into()).map_while(|i| self.memory.entry(graph.pipes, i)).collect()
    }

    /// The one home to which all that comes through the pipe goes: that pipe.
    fn whole<'a>(&self, graph: &raw::Graph, all: &'a [raw::Pipe], pipe: &raw::Pipe) -> Option<&'a raw::Pipe> {
        let at = pipe.whole.checked_sub(graph.pipes)? / size_of::<raw::Pipe>() as u64;
        all.get(usize::try_from(at).ok()?)
    }

    /// All ways from `pipe` may lead to `other`: it is deeper, of the same home if `pipe` has one, and its CPUs are among those behind `pipe`.
    fn is_behind(&self, pipe: &raw::Pipe, other: &raw::Pipe) -> bool {
        let word = |p: &raw::Pipe, w: u32| self.memory.entry::<u64>(p.cpus, w.into()).unwrap_or(0);
        let words = other.word_lo..=other.word_hi.min(weir_core::MAX_CPUS / 64 - 1);
        other.depth > pipe.depth
            && (pipe.home == 0 || other.home == pipe.home)
            && (other.nr_cpus == 0 || words.into_iter().all(|w| word(other, w) & !word(pipe, w) == 0))
    }

    /// Tasks in the pipe and behind it, as `weir_pipe_nr()` counts them.
    fn members(&self, graph: &raw::Graph, all: &[raw::Pipe], pipe: &raw::Pipe) -> u32 {
        let own = if pipe.postponed != 0 { pipe.nr } else { 0 };
        if pipe.stages == 0 {
            pipe.nr
        } else if let Some(home) = self.whole(graph, all, pipe) {
            home.nr.saturating_add(home.held).saturating_add(own)
        } else if pipe.counted != 0 {
            pipe.behind.saturating_add(own)
        } else {
            let behind = all.iter().filter(|o| o.nr > 0 && self.is_behind(pipe, o)).map(|o| o.nr);
            behind.fold(pipe.nr, u32::saturating_add)
        }
    }

    /// Arrivals there since the graph was built, as `weir_pipe_added()` counts them.
    fn added(&self, graph: &raw::Graph, all: &[raw::Pipe], pipe: &raw::Pipe) -> u64 {
        if pipe.stages == 0 {
            pipe.nr_added
        } else if let Some(home) = self.whole(graph, all, pipe) {
            home.nr_added
        } else {
            let exits = all.iter().filter(|o| o.stages == 0 && self.is_behind(pipe, o));
            exits.map(|o| o.nr_added).fold(0, u64::saturating_add)
        }
    }

    /// Tasks in each pipe and behind it, and the arrivals at each instance. (Where plan and graph disagree a switch is under way.)
    pub fn flow(&self, graph: &raw::Graph, plan: &Plan) -> (Vec<u32>, Vec<u64>) {
        let all = self.raw_pipes(graph);
        let depths = all.iter().take(plan.pipes.len()).map(|p| self.members(graph, &all, p)).collect();
        (depths, self.arrivals(graph, &all, plan))
    }

    /// Tasks that came to each instance since the graph was built, as `weir_came_to()` counts them.
    fn arrivals(&self, graph: &raw::Graph, all: &[raw::Pipe], plan: &Plan) -> Vec<u64> {
        let mut came = vec![0u64; plan.instances.len().min(graph.nr_instances as usize)];
        for (p, raw) in plan.pipes.iter().zip(all) {
            if let Some(n) = came.get_mut(p.to.0 as usize) {
                *n += self.added(graph, all, raw);
            }
        }
        came
    }

    fn cpus_behind(&self, pipe: &raw::Pipe) -> String {
        let mut set = CpuSet::new();
        for w in pipe.word_lo..=pipe.word_hi.min(weir_core::MAX_CPUS / 64 - 1) {
            let word = self.memory.entry::<u64>(pipe.cpus, w.into()).unwrap_or(0);
            (0..64).filter(|b| word >> b & 1 == 1).for_each(|b| set.insert(w * 64 + b));
        }
        set.to_string()
    }

    fn instances(&self, plan: &Plan) -> Vec<InstanceView> {
        let Some(graph) = self.graph() else { return Vec::new() };
        let mut out = Vec::with_capacity(plan.instances.len());
        let updates = self.arrivals(&graph, &self.raw_pipes(&graph), plan);
        for (idx, (i, updates)) in plan.instances.iter().zip(updates).enumerate() {
            let info = catalog().class(i.class);
            let changed = info.iter().flat_map(|c| c.changed(&i.params));
            out.push(InstanceView {
                idx: idx as u32,
                name: i.name.clone(),
                component: info.map_or("?", |c| &c.name).into(),
                updates,
                params: changed.map(|(p, v)| (p.name.clone(), weir_lang::show_value(v, p.unit))).collect(),
            });
        }
        out
    }

    /// Where the tasks' records stand, and how many may be in use.
    fn task_table(&self) -> (u64, u32) {
        let head = self.shared.head();
        let chunks = self.sched().map_or(0, |s| s.nr_chunks.min(raw::MAX_CHUNKS));
        (head.tasks, head.max_tasks.min(chunks * raw::TASK_CHUNK))
    }

    /// The numbers of tasks that may exist, and each one's record.
    fn live_tasks(&self) -> impl Iterator<Item = (u32, LiveTask)> + '_ {
        let (table, n) = self.task_table();
        (0..n).filter_map(move |id| {
            let t: LiveTask = self.memory.entry(table, id.into())?;
            (t.pid != 0).then_some((id, t))
        })
    }

    /// Number in the scheduler, thread and process of each task.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.live_tasks().map(|(id, t)| (id, t.pid, t.tgid))
    }

    /// Tasks that have waited in the graph for `limit_ns` or more, with their records. None as a rule, and that is seen quickly.
    pub fn long_waiters(&self, now_ns: u64, limit_ns: u64) -> Vec<(u32, LiveTask)> {
        let (table, n) = self.task_table();
        let mut ids = Vec::new();
        self.memory.words(table, size_of::<LiveTask>(), offset_of!(LiveTask, since_ns), n, |id, since_ns| {
            if now_ns.saturating_sub(since_ns) >= limit_ns {
                ids.push(id);
            }
        });
        let record = |id: u32| Some((id, self.memory.entry::<LiveTask>(table, id.into())?));
        let waits =
            |t: &LiveTask| t.pid != 0 && t.since_ns != 0 && now_ns.saturating_sub(waits_since(t)) >= limit_ns;
        ids.into_iter().filter_map(record).filter(|(_, t)| waits(t)).collect()
    }

    fn tasks(&self, now_ns: u64) -> Vec<TaskView> {
        self.live_tasks()
            .map(|(id, t)| TaskView {
                id,
                pid: t.pid,
                tgid: t.tgid,
                comm: comm(&t.comm),
                cpu: (t.cpu != NONE).then_some(t.cpu),
                run_ns: t.run_ns + since(t.started_ns, now_ns),
                wait_ns: t.wait_ns + since(t.since_ns, now_ns),
                waiting_since_ns: t.since_ns,
                runs: t.nr_runs,
                migrations: t.nr_migrations,
                state: match (t.since_ns, t.started_ns) {
                    (0, 0) => TaskState::Blocked,
                    (0, _) => TaskState::Running,
                    _ => TaskState::Waiting,
                },
                aside: t.withheld != 0,
            })
            .collect()
    }

    /// CPUs that a higher class has had for `limit_ns` or more, and the graph does not know it yet.
    pub fn held_cpus(&self, now_ns: u64, limit_ns: u64) -> Vec<u32> {
        let held = |c: &u32| {
            self.shared.cpu(*c).is_some_and(|n| n.reported_away == 0 && since(n.away_ns, now_ns) >= limit_ns)
        };
        (0..self.shared.head().nr_cpus.min(weir_core::MAX_CPUS)).filter(held).collect()
    }

    /// Why the only CPU behind a pipe takes nothing from it, if that is not the graph's doing.
    pub fn obstacle(&self, pipe: u32, now_ns: u64) -> Option<String> {
        let p: raw::Pipe = self.memory.entry(self.graph()?.pipes, pipe.into())?;
        if p.nr_cpus != 1 {
            return None;
        }
        let away_ns = since(self.shared.cpu(p.cpu)?.away_ns, now_ns);
        let online = self.memory.entry::<raw::Cpu>(self.sched()?.cpus, p.cpu.into())?.online != 0;
        match (away_ns, online) {
            (0, true) => None,
            (0, false) => Some(format!("CPU {}, to which it leads, is offline", p.cpu)),
            _ => Some(format!(
                "a real-time program has had CPU {}, to which it leads, for {} ms",
                p.cpu,
                away_ns / 1_000_000
            )),
        }
    }

    /// The task that waits in the graph for the longest time, if that is `limit_ns` or more.
    pub fn longest_waiter(&self, now_ns: u64, limit_ns: u64) -> Option<Waiter> {
        let (id, t) = self.long_waiters(now_ns, limit_ns).into_iter().min_by_key(|(_, t)| waits_since(t))?;
        Some(Waiter {
            id,
            pid: t.pid,
            comm: comm(&t.comm),
            waited_ns: now_ns.saturating_sub(t.since_ns),
            pipe: self.deepest_pipe(id),
        })
    }

    /// CPUs that run nothing though a task has waited for `limit_ns` at the exit that they take tasks from and may run there, in
    /// the eyes of `may_run` (thread, CPU). Each with that task, and with a number that changes when the CPU looks for work.
    pub fn asleep(
        &self,
        plan: &Plan,
        now_ns: u64,
        limit_ns: u64,
        may_run: &dyn Fn(u32, u32) -> bool,
    ) -> Vec<(u32, u32, u64)> {
        let mut found: Vec<(u32, u32, u64)> = Vec::new();
        for (id, t) in self.long_waiters(now_ns, limit_ns).into_iter().take(MAX_SLEEPERS) {
            let Some(pipe) = self.deepest_pipe(id) else { continue };
            for cpu in (0..).zip(&plan.exits).filter(|(_, e)| **e == Some(pipe)).map(|(cpu, _)| cpu) {
                let Some(n) = self.shared.cpu(cpu) else { break };
                let online = || {
                    let core = self.sched().and_then(|s| self.memory.entry::<raw::Cpu>(s.cpus, cpu.into()));
                    core.is_some_and(|c| c.online != 0)
                };
                let known = found.iter().any(|(c, ..)| *c == cpu);
                if known || n.curr_pid != 0 || n.away_ns != 0 || !online() || !may_run(t.pid, cpu) {
                    continue;
                }
                found.push((
                    cpu,
                    id,
                    n.dispatches.wrapping_add(n.empty).wrapping_add(n.dropped).wrapping_add(n.kept),
                ));
            }
        }
        found
    }

    /// Record of a task by number.
    fn record<T: Plain>(&self, id: u32) -> Option<T> {
        let sched = self.sched()?;
        let chunk: u64 = self.memory.entry(sched.chunks, (id / raw::TASK_CHUNK).into())?;
        self.memory.read(chunk + u64::from(id % raw::TASK_CHUNK) * size_of::<raw::Task>() as u64)
    }

    /// Index of the pipe that links a task.
    fn deepest_pipe(&self, id: u32) -> Option<u32> {
        self.record::<raw::Task>(id)?.landing.checked_sub(1)
    }

    /// Number of the task that is thread `pid`.
    pub fn task_of(&self, pid: u32) -> Option<u32> {
        self.live_tasks().find(|(_, t)| t.pid == pid).map(|(id, _)| id)
    }
}

/// The last call that failed, from how the kernel side notes it: `unblock: WEIR_EEXIST (the task was running)`.
fn failure(noted: u64) -> Option<String> {
    const STATES: [&str; 5] = ["free", "unconsidered", "schedulable", "running", "dead"];
    let byte = |n: u32| (noted >> (8 * n) & 0xff) as usize;
    (noted != 0).then(|| {
        format!(
            "{}: {} (the task was {})",
            CALL_NAMES.get(byte(0)).copied().unwrap_or("?"),
            weir_core::error_name(byte(1) as u64),
            STATES.get(byte(2)).copied().unwrap_or("?")
        )
    })
}

/// Since when the graph lets a task wait. Not its fault: one that a component holds back for a time, such as without budget.
fn waits_since(t: &LiveTask) -> u64 {
    t.since_ns.max(t.until_ns)
}

/// Time since `start_ns`; none where it is 0 or still to come.
fn since(start_ns: u64, now_ns: u64) -> u64 {
    if start_ns == 0 { 0 } else { now_ns.saturating_sub(start_ns) }
}

/// Maximum number of tasks whose CPUs are examined: few tasks wait long, unless there are larger problems.
const MAX_SLEEPERS: usize = 64;

/// Threads whose names are asked for: a snapshot of a machine with very many must stay quick.
const MAX_NAMES: usize = 1024;

/// A thread is known by its name when it was made; programs change theirs.
fn rename(tasks: &mut [TaskView], name: &dyn Fn(u32) -> Option<String>) {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    if order.len() > MAX_NAMES {
        order.sort_by_key(|i| std::cmp::Reverse(tasks[*i].run_ns));
        order.truncate(MAX_NAMES);
    }
    for i in order {
        if let Some(now) = name(tasks[i].pid) {
            tasks[i].comm = now;
        }
    }
}

/// How people know a pipe: `lb -> fifo@cpu0`.
pub(crate) fn pipe_title(plan: &Plan, pipe: u32) -> String {
    let Some(p) = plan.pipes.get(pipe as usize) else { return format!("pipe {pipe}") };
    let of = |i: u32| plan.instances.get(i as usize).map_or("?", |i| i.name.as_str());
    match p.from {
        Some((i, port)) => format!("{}[{port}] -> {}", of(i), of(p.to.0)),
        None => format!("entry -> {}", of(p.to.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{BYTES, Rig};
    use weir_core::{Picked, TaskId};

    #[test]
    fn the_figures_are_those_of_the_scheduler() {
        let mut rig = Rig::new();
        let ids: Vec<TaskId> = (0..5).map(|i| rig.sched.task_new(0, 70 + i).expect("memory")).collect();
        for (i, id) in ids.iter().enumerate() {
            rig.sched.admit(0, *id).expect("a new task");
            rig.note(*id, 70 + i as u32, 1000 * (i as u64 + 1), 0);
        }
        let Picked { task, .. } = rig.sched.pick(1, 1).expect("there is one");
        rig.note(task, 70 + task.0, 0, 9_000);
        rig.live.cpus[1].dispatches = 1;
        rig.live.cpus[1].curr_pid = u64::from(70 + task.0);
        rig.live.cpus[0].enqueues = 5;
        rig.live.head.attached = 1;
        let s = rig.snapshot(10_000);
        assert_eq!((s.topology.as_str(), s.nr_cpus, s.uptime_ns, s.attached), ("test", 2, 9_900, true));
        assert_eq!((s.totals.enqueues, s.totals.dispatches, s.totals.in_graph), (5, 1, 4));
        assert_eq!((s.cpus[1].curr, s.cpus[1].curr_comm.as_str()), (Some(70 + task.0), "task"));
        assert!(s.cpus.iter().all(|c| c.online));
        for p in &s.pipes {
            assert_eq!(p.depth, rig.sched.pipe_len(p.idx), "{}", p.name);
            assert_eq!(p.added - p.removed, u64::from(p.depth), "{}", p.name);
        }
        let names: Vec<(&str, &str, &str)> =
            s.pipes.iter().map(|p| (p.from.as_str(), p.to.as_str(), p.cpus.as_str())).collect();
        assert!(names.contains(&("entry", "lb", "0-1")), "{names:?}");
        assert!(names.contains(&("lb", "round_robin@cpu1", "1")), "{names:?}");
        for i in &s.instances {
            assert_eq!(i.updates, rig.sched.updates(i.idx), "{}", i.name);
        }
        let running = s.tasks.iter().find(|t| t.state == TaskState::Running).expect("one runs");
        assert_eq!((running.id, running.run_ns), (task.0, 1_000));
        assert_eq!(s.totals.arena_used, rig.sched.memory_used() as u64);
    }

    #[test]
    fn the_longest_waiter_and_its_pipe_are_found() {
        let mut rig = Rig::new();
        let ids: Vec<TaskId> = (0..3).map(|i| rig.sched.task_new(0, i).expect("memory")).collect();
        for (i, id) in ids.iter().enumerate() {
            rig.sched.admit(0, *id).expect("a new task");
            rig.note(*id, 70 + i as u32, 5_000 - 1_000 * i as u64, 0);
        }
        assert_eq!(rig.view.longest_waiter(5_000, 4_000), None);
        let w = rig.view.longest_waiter(9_000, 4_000).expect("three of them");
        assert_eq!((w.id, w.pid, w.waited_ns), (ids[2].0, 72, 6_000));
        let title = pipe_title(&rig.facts.plan, w.pipe.expect("it is in the graph"));
        assert!(title.starts_with("round_robin@cpu") && title.contains(" -> termination"), "{title}");
        assert_eq!(rig.view.task_of(71), Some(ids[1].0));
        // What is held back until some time waits from then on.
        rig.hold(ids[2], 7_000);
        let w = rig.view.longest_waiter(9_000, 4_000).expect("two others");
        assert_eq!(w.pid, 71);
        rig.hold(ids[1], 8_000);
        assert_eq!(rig.view.longest_waiter(8_500, 4_000), None);
        assert_eq!(rig.view.task_of(99), None);
    }

    #[test]
    fn cpus_that_sleep_on_are_found() {
        let mut rig = Rig::new();
        let id = rig.sched.task_new(0, 0).expect("memory");
        rig.sched.admit(0, id).expect("a new task");
        rig.note(id, 70, 1_000, 0);
        let look = |rig: &Rig, now, may: bool| rig.view.asleep(&rig.facts.plan, now, 5_000, &|_, _| may);
        assert_eq!(look(&rig, 5_999, true), []);
        let [(cpu, task, looks)] = look(&rig, 6_000, true)[..] else {
            panic!("one CPU is behind the task's pipe")
        };
        assert_eq!((task, looks), (id.0, 0));
        assert_eq!(look(&rig, 6_000, false), [], "the task may not run there");
        rig.live.cpus[cpu as usize].empty = 1;
        assert_eq!(look(&rig, 6_000, true), [(cpu, id.0, 1)], "it has looked");
        rig.live.cpus[cpu as usize].curr_pid = 9;
        assert_eq!(look(&rig, 6_000, true), [], "it runs another task");
        rig.live.cpus[cpu as usize].curr_pid = 0;
        rig.live.cpus[cpu as usize].away_ns = 1;
        assert_eq!(look(&rig, 6_000, true), [], "a higher class has it");
        rig.live.cpus[cpu as usize].away_ns = 0;
        rig.hold(id, 4_000);
        assert_eq!(look(&rig, 6_000, true), [], "a component held it back until a moment ago");
    }

    /// Whatever stands in memory, reading it ends, and stays inside.
    #[test]
    fn rubbish_in_memory_does_no_harm() {
        let mut rig = Rig::new();
        let id = rig.sched.task_new(0, 0).expect("memory");
        rig.sched.admit(0, id).expect("a new task");
        rig.note(id, 70, 1, 0);
        let mut x = 88_172_645_463_325_252u64;
        for round in 0..6u64 {
            for _ in 0..2_000 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                // The beginning, where the tables are; all address-like values, half of them within.
                let at = (x >> 20) as usize % (1 << 20) / 8 * 8;
                let inside = rig.memory as u64 + x % BYTES as u64;
                let value = if x & 1 == 0 { x } else { inside };
                // SAFETY: in bounds.
                unsafe { rig.memory.add(at).cast::<u64>().write(value) };
            }
            if round % 2 == 0 {
                rig.live.head.max_tasks = x as u32;
                rig.live.head.tasks = x;
                rig.live.head.nr_cpus = (x >> 32) as u32;
            }
            let s = rig.snapshot(x);
            assert!(s.pipes.len() <= rig.facts.plan.pipes.len());
            let _ = rig.view.longest_waiter(x, 0);
            let _ = rig.view.asleep(&rig.facts.plan, x, 0, &|_, _| true);
        }
    }
}
