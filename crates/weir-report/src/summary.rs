// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The result of a run: the shape of `summary.json`.
//!
//! Names and order of the fields are a contract with scripts: fields may be added at the end of a
//! struct, none is renamed or moved. All times are nanoseconds.

use crate::counted::Counted;
use crate::stats::{Bin, Buckets, Dist};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// A run in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub runweir: String,
    pub topology: String,
    pub machine: String,
    pub workload: String,
    pub seed: u64,
    /// Virtual time that the run covered.
    pub duration_ns: u64,
    /// Time that it took on the computer: 0 until the caller fills it in. See [`Summary::write_json`].
    pub wall_ns: u64,
    /// Events observed.
    pub events: u64,
    pub totals: Totals,
    pub tasks: Vec<TaskSummary>,
    pub cpus: Vec<CpuSummary>,
    /// The run was stopped before its end; the numbers cover the time up to then.
    #[serde(default)]
    pub interrupted: bool,
    /// Over all jobs of all tasks.
    #[serde(default)]
    pub response_ns: Dist,
    /// Over all wake-ups of all tasks.
    #[serde(default)]
    pub wakeup_latency_ns: Dist,
    #[serde(default)]
    pub groups: Vec<GroupSummary>,
    #[serde(default)]
    pub pipes: Vec<PipeSummary>,
    #[serde(default)]
    pub components: Vec<ComponentSummary>,
    #[serde(default)]
    pub calls: Vec<CallSummary>,
    #[serde(default)]
    pub messages: Vec<MessageSummary>,
    #[serde(default)]
    pub swaps: Vec<SwapSummary>,
    /// Events that a recording of a live kernel lost, because they came faster than they were read. Where
    /// it is not 0, counts are too low and times uncertain by as much. A simulation loses none.
    #[serde(default)]
    pub lost_events: u64,
    /// Recorded from a live kernel: times are those of the machine's clock, and there is no seed.
    #[serde(default)]
    pub live: bool,
    /// A scenario's actions, including refused attempts; each completed one is also in `swaps`.
    #[serde(default)]
    pub reconfigurations: Vec<ReconfigurationSummary>,
    /// Hardware counts of all tasks; absent if none were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Box<Counted>>,
    /// Whole distributions over all tasks.
    #[serde(default)]
    pub histograms: Histograms,
    /// Components that returned errors, in order of time.
    #[serde(default)]
    pub faults: Vec<FaultSummary>,
    /// The action of a loaded component that ended the run; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<Box<CrashSummary>>,
    /// Barriers that tasks met at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<BarrierSummary>,
    /// Programs whose tasks had slots of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gangs: Vec<GangSummary>,
    /// Machines within the machine, each before those inside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guests: Vec<GuestSummary>,
    /// How clocks of CPUs were made equal; absent where all CPUs read one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockSummary>,
    /// What workload or system ask for and the topology does not obey.
    #[serde(default)]
    pub ignored: Vec<Ignored>,
    /// Tasks with work left that nothing would ever have done; after very many only the first.
    #[serde(default)]
    pub unfinished: Vec<Unfinished>,
    /// Display histograms over all tasks: for charts only.
    #[serde(skip)]
    pub response_bins: Vec<Bin>,
    #[serde(skip)]
    pub wakeup_bins: Vec<Bin>,
}

/// A setting that a topology does not obey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// The topology that does not obey.
    pub topology: String,
    /// What kind of setting: `nice`, `weight`, `priority`, `policy`, `slice`, `group weight`, `group limit`, `affinity`, `deadline`,
    /// `instruction set`, `criticality`, `gang`, `message`, `admission`.
    pub setting: String,
    /// Which one, where there are several of the kind: `SCHED_FIFO`, a message's topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Of how many it is: of groups for settings of groups, else of tasks; 0: not counted.
    pub count: u64,
    /// One of them.
    pub example: String,
    /// `ignored`: it has no effect; `changed`: another one than it means; `partly`: some CPUs obey it; `refused`: in the course of the run
    /// a component found that it does not fit.
    pub effect: String,
    pub why: String,
    /// Topologies of the catalogue that obey it, those first that obey most of what the same workload asks for.
    pub topologies: Vec<String>,
    /// The guest whose topology it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<String>,
}

/// A task with work left at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    pub task: String,
    pub why: String,
}

/// A guest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuestSummary {
    pub name: String,
    /// The guest that it is in; absent where the machine itself runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Names of the tasks around it that are its CPUs.
    pub vcpus: Vec<String>,
    /// Times that one of them was given a CPU.
    pub enters: u64,
    /// As of a run by itself: its tasks, CPUs, pipes.
    pub run: Summary,
}

/// A barrier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarrierSummary {
    pub name: String,
    /// Times that it opened.
    pub rounds: u64,
    pub rounds_per_s: f64,
}

/// A gang: how well its members ran together. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangSummary {
    pub name: String,
    pub cpus: Vec<u32>,
    /// The remaining part of the declared execution times, in 1000ths.
    pub scale: u32,
    /// Slots that were over by the end, and those in which some member never ran.
    pub slots: u64,
    pub incomplete: u64,
    /// From the first member's start in a slot to the last one's.
    pub skew_max_ns: u64,
    pub skew_mean_ns: u64,
    /// From a slot's begin to a member's start.
    pub late_max_ns: u64,
    pub phase_changes: u64,
    /// Between planners, for changes of phase; there is none for a slot.
    pub messages: u64,
    /// From the last request for a phase until the program had its answer, and the longest such time.
    #[serde(default)]
    pub phase_last_ns: u64,
    #[serde(default)]
    pub phase_max_ns: u64,
    /// Interrupts and messages that had slots begin and end, and the CPU time of their senders: none under `way = "locked"`.
    #[serde(default)]
    pub signals: u64,
    #[serde(default)]
    pub carry_ns: u64,
    /// CPU time of members from their start in a slot until the last one had started.
    #[serde(default)]
    pub wasted_ns: u64,
    /// By group, where members were in others than group 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GangGroupSummary>,
}

/// A group of a gang; as for the gang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangGroupSummary {
    pub group: u32,
    pub slots: u64,
    pub incomplete: u64,
    pub skew_max_ns: u64,
    /// The most members that it had.
    pub members: u32,
}

/// CPUs with clocks of their own. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSummary {
    /// Rounds that were begun to make them equal; those that some CPU was too late for; those that drift made due.
    pub rounds: u64,
    pub failed: u64,
    pub drifted: u64,
    /// It was given up: gangs were best effort.
    pub disabled: bool,
    /// The largest error of a clock when it was read.
    pub error_max_ns: u64,
    /// Time that CPUs waited for targets.
    pub waited_ns: u64,
}

/// Whole distributions: lists of buckets, each with its bounds, both inclusive, in nanoseconds, and how many samples it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histograms {
    pub response_ns: Buckets,
    pub wakeup_latency_ns: Buckets,
    /// Each time that a task was ready and waited for a CPU, after wake-ups and in between.
    pub wait_ns: Buckets,
}

/// An instance whose component returned an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSummary {
    pub component: String,
    pub instance: String,
    /// Name of the error: `WEIR_EINVAL`.
    pub error: String,
    pub first_ns: u64,
    pub count: u64,
}

/// What a loaded component did that ended the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashSummary {
    pub component: String,
    pub instance: String,
    /// The entry point; empty where it is not known.
    pub function: String,
    /// The task that the call was about.
    pub task: Option<String>,
    pub what: String,
    pub at_ns: u64,
}

/// Sums over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Jobs released.
    pub jobs: u64,
    pub jobs_completed: u64,
    pub deadline_misses: u64,
    /// From one task to another; idle between them does not count.
    pub context_switches: u64,
    /// As Linux counts (`perf stat`, `vmstat`): also to idle and from it. 0 if it is not counted (live).
    #[serde(default)]
    pub cpu_switches: u64,
    pub preemptions: u64,
    pub migrations: u64,
    /// Times that a CPU asked the scheduler for its next task.
    pub decisions: u64,
    /// Scheduler code on all CPUs, waiting for locks included.
    pub scheduler_ns: u64,
    pub lock_wait_ns: u64,
    pub idle_ns: u64,
    pub busy_ns: u64,
    pub energy_uj: u64,
    /// Jobs that ended without their work done: aborted, skipped, or shed by a change of mode.
    #[serde(default)]
    pub jobs_dropped: u64,
    /// CPU time that tasks spent spinning, at flags and barriers; part of `busy_ns`. 0 if it is not counted (live).
    #[serde(default)]
    pub spin_ns: u64,
    /// Of a guest: time in which its CPUs had something to do and the host did not run them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stolen_ns: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub name: Box<str>,
    pub id: u32,
    pub group: Box<str>,
    pub jobs: u64,
    pub deadline_misses: u64,
    pub preemptions: u64,
    pub migrations: u64,
    /// Time it ran.
    pub cpu_ns: u64,
    /// Time it was ready without running.
    pub wait_ns: u64,
    pub response_ns: Dist,
    pub wakeup_latency_ns: Dist,
    #[serde(default)]
    pub jobs_completed: u64,
    /// Times that a CPU began to run it after another task.
    #[serde(default)]
    pub switches: u64,
    /// Its hardware counts; absent if none were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Box<Counted>>,
}

/// One CPU. `busy + idle + scheduler + offline + stolen` is the run's duration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSummary {
    pub cpu: u32,
    pub busy_ns: u64,
    pub idle_ns: u64,
    pub scheduler_ns: u64,
    pub switches: u64,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub offline_ns: u64,
    #[serde(default)]
    pub lock_wait_ns: u64,
    /// Of a virtual CPU: time in which it had something to do and the host did not run it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stolen_ns: u64,
}

/// All tasks of one group: an rt-app thread's instances, a hackbench group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSummary {
    /// The tasks' group; a task without one is a group by itself, under its own name.
    pub name: String,
    pub tasks: u64,
    pub jobs: u64,
    pub jobs_completed: u64,
    pub deadline_misses: u64,
    pub preemptions: u64,
    pub migrations: u64,
    pub cpu_ns: u64,
    pub wait_ns: u64,
    pub response_ns: Dist,
    pub wakeup_latency_ns: Dist,
    /// Display histograms: for charts only.
    #[serde(skip)]
    pub response_bins: Vec<Bin>,
    #[serde(skip)]
    pub wakeup_bins: Vec<Bin>,
}

/// A pipe: its lock and its filling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PipeSummary {
    pub name: String,
    pub lock_held_ns: u64,
    pub lock_wait_ns: u64,
    /// Most tasks it held at once.
    pub max_depth: u64,
    /// Mean number of tasks over time, rounded to thousandths.
    #[serde(default)]
    pub mean_depth: f64,
}

/// An instance of a component: its share of scheduler time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentSummary {
    pub name: String,
    pub updates: u64,
    /// Its code, without waiting for locks.
    pub ns: u64,
}

/// A function of the scheduler's interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSummary {
    pub call: String,
    pub count: u64,
    pub ns: u64,
    pub lock_wait_ns: u64,
}

/// Messages on one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSummary {
    pub topic: String,
    pub count: u64,
}

/// A reconfiguration of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapSummary {
    pub at_ns: u64,
    pub from: String,
    pub to: String,
    pub pause_ns: u64,
    /// Tasks that were presented to the new graph.
    pub represented: u64,
}

/// A step of a scenario, or an action of one of its rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconfigurationSummary {
    pub at_ns: u64,
    /// `step 2`, `rule overload`, `rule overload, back`.
    pub cause: String,
    pub verbs: Vec<String>,
    pub done: bool,
    /// Why it was refused; empty where it was done.
    pub why: String,
    pub from: String,
    pub to: String,
    /// `topology`, `instance`, or `none` where the graph stayed.
    pub kind: String,
    pub pause_ns: u64,
    /// Tasks on CPUs, which were not disturbed.
    pub running: u32,
    /// Schedulable tasks that were at no exit yet.
    pub drained: u32,
    /// Tasks that were presented again.
    pub represented: u32,
    pub instances_built: u32,
    pub instances_kept: u32,
    /// What changed in the graph, a line each.
    pub diff: Vec<String>,
}

impl Summary {
    /// Writes the summary as JSON, a task, CPU or pipe a line, with a final newline.
    ///
    /// Files in an output directory are written while `wall_ns` is still 0, so that equal runs give
    /// equal bytes; only what goes to the terminal carries the time that the run really took.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 16, out);
        self.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Lines::default()))?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// The same as a string.
    pub fn to_json(&self) -> String {
        let mut bytes = Vec::new();
        self.write_json(&mut bytes).expect("a summary has string keys and finite numbers only");
        String::from_utf8(bytes).expect("JSON is UTF-8")
    }

    /// CPU time there was: CPUs times duration, less the time they were offline.
    pub fn capacity_ns(&self) -> u64 {
        self.totals.busy_ns + self.totals.idle_ns + self.totals.scheduler_ns
    }
}

/// JSON with a line for each field of the outermost object and each element of its lists.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// The list or object just opened has nothing in it yet.
    empty: bool,
}

impl Lines {
    /// Objects and lists within this depth are spread over lines.
    const SPREAD: usize = 2;

    fn open<W: ?Sized + Write>(&mut self, out: &mut W, mark: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(mark)
    }

    fn item<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        if !first {
            out.write_all(b",")?;
        }
        if self.depth <= Self::SPREAD {
            out.write_all(&b"\n    "[..1 + 2 * self.depth])
        } else if first {
            Ok(())
        } else {
            out.write_all(b" ")
        }
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, mark: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.depth < Self::SPREAD && !self.empty {
            out.write_all(&b"\n    "[..1 + 2 * self.depth])?;
        }
        self.empty = false;
        out.write_all(mark)
    }
}

impl serde_json::ser::Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts read these names; the order is the documented one.
    #[test]
    fn field_names_are_the_contract() {
        let summary = Summary {
            wall_ns: 5,
            tasks: vec![TaskSummary::default()],
            cpus: vec![CpuSummary::default()],
            groups: vec![GroupSummary::default()],
            pipes: vec![PipeSummary::default()],
            components: vec![ComponentSummary::default()],
            swaps: vec![SwapSummary::default()],
            ..Summary::default()
        };
        insta::assert_snapshot!(summary.to_json());
        let back: Summary = serde_json::from_str(&summary.to_json()).unwrap();
        assert_eq!(back, summary);
    }
}
