// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The state of a running scheduler at one moment. Names are those of `status --json`.
//!
//! The figures are read from memory that the kernel continues to write: each number was there at
//! some time, but two numbers may be some microseconds apart. Counters only grow while the same
//! scheduler is attached; those of pipes and instances restart with each switch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gangs::GangView;
use crate::gauges::{CALL_NAMES, CallView, TopologyWaits, Waits};

/// A source that gives a snapshot at any time, to any thread.
pub trait SnapshotSource: Send + Sync {
    fn snapshot(&self) -> Snapshot;
}

/// A moment of a live scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When this was read, CLOCK_MONOTONIC, ns.
    pub t_ns: u64,
    /// Name of the topology that is in charge.
    pub topology: String,
    /// Its text, with what it includes, as it was compiled.
    pub source: String,
    /// CPUs that the kernel may have, online or not.
    pub nr_cpus: u32,
    /// Since the attachment, ns.
    pub uptime_ns: u64,
    /// The kernel runs its tasks through us.
    pub attached: bool,
    /// By CPU number.
    pub cpus: Vec<CpuView>,
    /// In the order of the compiled plan: a pipe comes before those it leads to.
    pub pipes: Vec<PipeView>,
    /// In the order of the plan.
    pub instances: Vec<InstanceView>,
    /// Tasks that exist, by number.
    pub tasks: Vec<TaskView>,
    pub totals: Totals,
    /// The last change of topology since the attachment.
    pub last_swap: Option<SwapReport>,
    /// For how long tasks waited for a CPU, by topology; the one in charge comes first.
    #[serde(default)]
    pub waits: Vec<TopologyWaits>,
    /// Components loaded into the kernel: one can switch to topologies of these.
    #[serde(default)]
    pub components: Vec<String>,
    /// Programs whose threads run at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gangs: Vec<GangView>,
    /// If the scheduler is that of a program's own threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramView>,
}

/// A program whose threads run under a policy, and counters of its runtime since that was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramView {
    pub pid: u32,
    pub name: String,
    /// The name by which other programs join its policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
    /// Threads made so far.
    pub created: u64,
    pub yields: u64,
    /// Waits of threads: for each other, for files, for time.
    pub blocks: u64,
    /// Threads that had to give up their CPU.
    pub preemptions: u64,
    /// Attempts at that which were put off.
    pub deferred: u64,
    /// Slice timers that expired.
    pub expiries: u64,
    /// Directed yields that the policy allowed.
    pub handovers: u64,
    /// Kicks that a CPU found before it went to sleep.
    pub polls_hit: u64,
    /// Times that a CPU went to sleep.
    pub sleeps: u64,
    pub idle_ns: u64,
    /// That the policy reported.
    pub deadline_misses: u64,
}

/// Counters of one CPU, since the attachment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuView {
    pub cpu: u32,
    /// Linux's number, where the policy of a program's threads has numbers of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linux_cpu: Option<u32>,
    pub online: bool,
    /// Process number (of the thread) of the task of this class that runs there.
    pub curr: Option<u32>,
    pub curr_comm: String,
    /// Run time of tasks, up to the last context switch, ns.
    pub busy_ns: u64,
    /// Context switches to a task.
    pub runs: u64,
    /// Of these, to a task that last ran elsewhere.
    pub migrations: u64,
    /// Tasks that entered the graph, here.
    pub enqueues: u64,
    /// Tasks that left it for this CPU.
    pub dispatches: u64,
    /// Tasks that left it because the kernel took them back.
    pub dequeues: u64,
    /// Tasks that could not wait: per-CPU kernel threads and such.
    pub direct: u64,
    /// Of the dispatches, those that an enqueue here made for an idle CPU, which chose nothing.
    #[serde(default)]
    pub given: u64,
    /// Tasks that no exit leads to: they ran outside the graph.
    pub aside: u64,
    /// Choices that found nothing.
    pub empty: u64,
    /// Choices whose task was gone before it got here.
    pub dropped: u64,
    /// The task that ran was chosen again.
    pub kept: u64,
    pub kicks: u64,
    pub preempts: u64,
    /// Messages of components that reached the runtime.
    pub messages: u64,
    /// Calls of the core that failed.
    pub failures: u64,
    /// Calls that gave up waiting for another CPU.
    #[serde(default)]
    pub gave_up: u64,
    /// What followed: the CPU chose again at once, and did what was left undone;
    #[serde(default)]
    pub retried: u64,
    /// a task ran outside the graph;
    #[serde(default)]
    pub aside_given_up: u64,
    /// a task was left in an inbox, for the CPU that has the pipe.
    #[serde(default)]
    pub inboxed: u64,
    /// Times that the loader found a task that a sleeping CPU should have been running.
    #[serde(default)]
    pub rescues: u64,
    /// Times that it found such a task though the CPU had been kicked, or was about to be.
    #[serde(default)]
    pub overdue: u64,
    /// The last call of the core that failed.
    #[serde(default)]
    pub last_failure: Option<String>,
    /// Stints of tasks whose hardware counters were published to components.
    #[serde(default)]
    pub stints: u64,
    /// Instructions in these.
    #[serde(default)]
    pub instructions: u64,
    /// Timers of components that expired.
    #[serde(default)]
    pub timers: u64,
    /// Events that found the ring full.
    pub lost_events: u64,
    /// Calls of the scheduler's core, by kind.
    #[serde(default)]
    pub calls: Vec<CallView>,
}

/// A pipe and what went through it since the topology was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipeView {
    pub idx: u32,
    /// As reports name it: `entry`, `lb.out3` …
    pub name: String,
    /// Writer: instance name, or `entry`.
    pub from: String,
    /// Receiver: instance name.
    pub to: String,
    /// Tasks in it now.
    pub depth: u32,
    /// Most tasks at a time.
    pub max_depth: u32,
    pub added: u64,
    pub removed: u64,
    /// CPUs that take their tasks from behind it, in the kernel's list format: `0-3,8`.
    pub cpus: String,
    /// Time that CPUs waited for its lock, all together.
    #[serde(default)]
    pub lock_wait_ns: u64,
    /// The longest of these waits.
    #[serde(default)]
    pub longest_lock_wait_ns: u64,
    /// How many there were.
    #[serde(default)]
    pub lock_waits: u64,
    /// Of these, given up.
    #[serde(default)]
    pub lock_waits_given_up: u64,
    /// For how long tasks waited that CPUs took from it; none where CPUs take none from it.
    #[serde(default)]
    pub waits: Option<Waits>,
}

/// A component instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceView {
    pub idx: u32,
    pub name: String,
    pub component: String,
    /// Update calls since the topology was built.
    pub updates: u64,
    /// Parameters that have another value than the component's default, with units.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// Neither runs nor wants to.
    #[default]
    Blocked,
    /// In the graph.
    Waiting,
    Running,
}

/// A task of the kernel (a thread).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskView {
    /// Task number within the scheduler; used again after the task's end.
    pub id: u32,
    /// The thread's number.
    pub pid: u32,
    /// The process's number.
    pub tgid: u32,
    pub comm: String,
    /// Where it runs or ran last.
    pub cpu: Option<u32>,
    pub run_ns: u64,
    /// In the graph so far.
    pub wait_ns: u64,
    /// CLOCK_MONOTONIC time since which it waits in the graph; 0: it does not.
    pub waiting_since_ns: u64,
    pub runs: u32,
    pub migrations: u32,
    pub state: TaskState,
    /// It runs outside the graph: no exit leads to its CPUs.
    pub aside: bool,
}

/// Sums over CPUs, and what concerns the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub enqueues: u64,
    pub dispatches: u64,
    pub dequeues: u64,
    /// Tasks that wait in the graph now.
    pub in_graph: u64,
    pub direct: u64,
    #[serde(default)]
    pub given: u64,
    pub aside: u64,
    pub empty: u64,
    pub dropped: u64,
    pub kept: u64,
    pub kicks: u64,
    pub preempts: u64,
    pub runs: u64,
    pub migrations: u64,
    pub messages: u64,
    pub failures: u64,
    /// Calls that gave up waiting for another CPU.
    #[serde(default)]
    pub gave_up: u64,
    /// What followed: the CPU chose again at once, and did what was left undone;
    #[serde(default)]
    pub retried: u64,
    /// a task ran outside the graph;
    #[serde(default)]
    pub aside_given_up: u64,
    /// a task was left in an inbox, for the CPU that has the pipe.
    #[serde(default)]
    pub inboxed: u64,
    /// Times that the loader found a task that a sleeping CPU should have been running.
    #[serde(default)]
    pub rescues: u64,
    /// Times that it found such a task though the CPU had been kicked, or was about to be.
    #[serde(default)]
    pub overdue: u64,
    /// With the log of counts: readings of all counters of a CPU, and their time.
    #[serde(default)]
    pub readings: u64,
    #[serde(default)]
    pub count_ns: u64,
    /// Stints of tasks whose hardware counters were published to components.
    #[serde(default)]
    pub stints: u64,
    /// Instructions in these.
    #[serde(default)]
    pub instructions: u64,
    /// Timers of components that expired.
    #[serde(default)]
    pub timers: u64,
    pub busy_ns: u64,
    pub lost_events: u64,
    /// Requests of the loader that the kernel side carried out.
    pub requests: u64,
    /// Broken invariants of the core, counted instead of fatal, and components that were rebuilt.
    pub faults: u64,
    /// Messages of components lost because memory ran out.
    pub lost_messages: u64,
    /// Tasks that run outside the graph because the arena was full.
    pub no_memory: u64,
    /// Changes of topology since the attachment.
    pub swaps: u64,
    /// Tasks that exist.
    pub tasks: u64,
    /// Memory of the core in use, bytes.
    pub arena_used: u64,
    /// Memory of the core, bytes.
    pub arena_bytes: u64,
}

/// The result of a change of topology.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapReport {
    /// CLOCK_MONOTONIC, ns.
    pub t_ns: u64,
    /// Topologies' names.
    pub from: String,
    pub to: String,
    /// From stopping the callers of the core to letting them in again.
    pub pause_ns: u64,
    /// Waiting tasks presented to the new graph.
    pub represented: u32,
    /// Instances rebuilt.
    pub built: u32,
    /// Instances that kept their state.
    pub kept: u32,
}

impl Snapshot {
    /// The longest calls of the scheduler's core by kind, as (CPU, call), in the order of kinds.
    pub fn longest_calls(&self) -> Vec<(u32, &CallView)> {
        let mut longest: Vec<(u32, &CallView)> = Vec::new();
        for (cpu, call) in self.cpus.iter().flat_map(|c| c.calls.iter().map(|call| (c.cpu, call))) {
            match longest.iter_mut().find(|(_, known)| known.call == call.call) {
                Some(known) if known.1.longest_ns < call.longest_ns => *known = (cpu, call),
                Some(_) => {}
                None => longest.push((cpu, call)),
            }
        }
        let rank = |name: &str| CALL_NAMES.iter().position(|n| *n == name);
        longest.sort_by_key(|(_, call)| rank(&call.call));
        longest
    }

    /// The `n` tasks that ran longest, longest first.
    pub fn busiest(&self, n: usize) -> Vec<&TaskView> {
        let mut all: Vec<&TaskView> = self.tasks.iter().collect();
        all.sort_by_key(|t| (std::cmp::Reverse(t.run_ns), t.id));
        all.truncate(n);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_through_json_and_back() {
        let s = Snapshot {
            topology: "decentral".into(),
            cpus: vec![CpuView { cpu: 1, curr: Some(7), ..CpuView::default() }],
            tasks: vec![TaskView { state: TaskState::Waiting, cpu: None, ..TaskView::default() }],
            last_swap: Some(SwapReport::default()),
            ..Snapshot::default()
        };
        let text = serde_json::to_string(&s).expect("plain data");
        assert!(text.contains("\"state\":\"waiting\"") && text.contains("\"curr\":7"), "{text}");
        assert_eq!(serde_json::from_str::<Snapshot>(&text).expect("our own"), s);
    }

    #[test]
    fn the_busiest_come_first() {
        let task = |id, run_ns| TaskView { id, run_ns, ..TaskView::default() };
        let s = Snapshot { tasks: vec![task(0, 5), task(1, 9), task(2, 5)], ..Snapshot::default() };
        let ids: Vec<u32> = s.busiest(2).iter().map(|t| t.id).collect();
        assert_eq!(ids, [1, 0]);
    }
}
