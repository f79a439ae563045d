// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Real-time and deadline tasks on queues of CPUs: none waits while a CPU that it may use runs something less urgent.

use proptest::prelude::*;
use weir_core::CpuSet;
use weir_core::event::{Event, Observer, Stop};
use weir_sim::{Costs, Machine, MachineEvent, Op, Policy, RunConfig, TaskSpec, Workload};

use crate::common::*;

/// The classes of `classes`, without the server that lets fair tasks go before real-time ones for a while.
const CLASSES: &str = "annotate affinity(fallback = true), cbs(hard = true, bound = 0%, policy = true), executed, job, policy, priority;
annotate weight, fair, latency;
topology lane { in -> out; }
each cpu { entry -> throttle } -> fair_balancer -> each cpu { lane } -> push_pull
    -> each cpu { eevdf(slice = 700us) -> rt -> edf -> cpu };";
const SMALL: &str = "annotate affinity, executed, policy, priority;
topology lane { in -> out; }
entry -> load_balancer -> each cpu { lane } -> push_pull -> each cpu { round_robin(slice = 3ms) -> rt -> cpu };";
const ALONE: &str = "annotate affinity, executed, policy, priority;
entry -> push_pull -> each cpu { round_robin(slice = 3ms) -> rt -> cpu };";

/// Names say how urgent tasks are and where they may run: class, priority, mask of CPUs, number.
#[derive(Clone, Default)]
struct Known {
    name: String,
    /// 0: fair. Real time: its priority. Deadline tasks are judged by nobody, and above all.
    priority: i32,
    mask: u32,
    waits: bool,
}

/// After all that happens at an instant, compares what waits with what runs.
struct Judge {
    tasks: Vec<Known>,
    runs: Vec<Option<u32>>,
    online: u32,
    last: u64,
    bad: Vec<String>,
    looked: u64,
    moves: u64,
}

impl Judge {
    fn new(cpus: u32) -> Self {
        Judge {
            tasks: Vec::new(),
            runs: vec![None; cpus as usize],
            online: (1 << cpus) - 1,
            last: 0,
            bad: Vec::new(),
            looked: 0,
            moves: 0,
        }
    }

    fn judge(&mut self) {
        for t in self.tasks.iter().filter(|t| t.waits && t.priority > 0) {
            self.looked += 1;
            let less = (0..self.runs.len()).find(|c| {
                let below = self.runs[*c].is_none_or(|r| self.tasks[r as usize].priority < t.priority);
                t.mask & self.online & 1 << c != 0 && below
            });
            if let (Some(c), true) = (less, self.bad.len() < 5) {
                let runs = self.runs[c].map_or("nothing", |r| &self.tasks[r as usize].name);
                self.bad.push(format!("{} waits at {} while CPU {c} runs {runs}", t.name, self.last));
            }
        }
    }
}

impl Observer for Judge {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        if t > self.last {
            self.judge();
            self.last = t;
        }
        match *event {
            Event::TaskNew { name, .. } => {
                let mut parts = name.split('-');
                let class = parts.next().unwrap_or("");
                let mut number = || parts.next().and_then(|p| p.parse::<i64>().ok()).unwrap_or(0);
                let priority = number() as i32;
                self.tasks.push(Known {
                    name: name.into(),
                    priority: match class {
                        "rt" | "rr" => priority,
                        "dl" => 1000,
                        _ => 0,
                    },
                    mask: number() as u32,
                    waits: false,
                });
            }
            Event::Ready { task, .. } => self.tasks[task as usize].waits = true,
            Event::Run { task, cpu, migrated, .. } => {
                self.tasks[task as usize].waits = false;
                self.runs[cpu as usize] = Some(task);
                self.moves += u64::from(migrated);
            }
            Event::Off { task, cpu, why, .. } => {
                self.runs[cpu as usize] = None;
                self.tasks[task as usize].waits =
                    matches!(why, Stop::Preempted | Stop::SliceEnd | Stop::Yield);
            }
            _ => {}
        }
    }
}

fn judged(cpus: u32, topology: &str, w: &Workload, end: u64) -> Judge {
    let mut judge = Judge::new(cpus);
    let cfg = RunConfig { duration_ns: Some(end), ..RunConfig::default() };
    run_on(&Machine::smp(cpus), topology, w, &Costs::zero(), cfg, &mut judge).expect("it runs");
    judge
}

fn mask(bits: u32, cpus: u32) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    (0..cpus).filter(|c| bits & 1 << c != 0).for_each(|c| set.insert(c));
    (bits != (1 << cpus) - 1).then_some(set)
}

/// Kind, priority, CPUs, run, sleep in 100 us.
type Drawn = (u8, i32, u32, u64, u64);

fn drawn() -> impl Strategy<Value = Drawn> {
    (0..10u8, 1..7i32, any::<u32>(), 1..60u64, 1..60u64)
}

fn set(all: &[Drawn], cpus: u32, deadlines: bool) -> Workload {
    let every = (1u32 << cpus) - 1;
    let mut tasks = Vec::new();
    for (i, &(kind, level, bits, run, sleep)) in all.iter().enumerate() {
        let (run, sleep) = (run * MS / 10 + i as u64, sleep * MS / 10);
        // Half of them may run anywhere.
        let bits = if bits & 1 << 31 == 0 || bits & every == 0 { every } else { bits & every };
        let program = repeat(None, vec![Op::Run { ns: run }, Op::Sleep { ns: sleep }]);
        let (class, priority, policy) = match kind {
            0..=4 => ("rt", 100 + level * 10, Policy::Fifo),
            5 | 6 => ("rr", 100 + level * 10, Policy::RoundRobin),
            7 if deadlines => {
                let period = 2 * (run + sleep);
                let policy = Policy::Deadline { runtime_ns: run, deadline_ns: period, period_ns: period };
                let spec = real_time(&format!("dl-0-{every}-{i}"), run, run, period, period);
                tasks.push(TaskSpec { policy, priority: 300, ..spec });
                continue;
            }
            _ => ("fair", 0, Policy::Other),
        };
        tasks.push(TaskSpec {
            policy,
            priority,
            cpus: mask(bits, cpus),
            ..task(&format!("{class}-{priority}-{bits}-{i}"), program)
        });
    }
    for i in 0..cpus as usize {
        tasks.push(hog(&format!("fair-0-{every}-h{i}")));
    }
    workload(tasks)
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn no_urgent_task_waits_while_a_cpu_runs_a_less_urgent_one(
        all in prop::collection::vec(drawn(), 2..20),
        cpus in 2..9u32,
    ) {
        for (topology, deadlines) in [(SMALL, false), (ALONE, false), (CLASSES, false), (CLASSES, true)] {
            let judge = judged(cpus, topology, &set(&all, cpus, deadlines), 100 * MS);
            prop_assert!(judge.bad.is_empty(), "{topology}\n{}", judge.bad.join("\n"));
        }
    }
}

/// A CPU goes and comes back while two tasks of real time run. Stages before `push_pull` count what waits behind it, whatever way it came by.
#[test]
fn the_more_urgent_one_has_the_cpu_that_is_left() {
    let hog = |name: &str, priority| TaskSpec { policy: Policy::Fifo, priority, ..hog(name) };
    let mut w = workload(vec![hog("low", 130), hog("high", 140)]);
    w.machine_events = vec![(1000 * MS, MachineEvent::Offline(1)), (3000 * MS, MachineEvent::Online(1))];
    let (g, _) = gantt(2, &catalogue("push-pull"), &w, 4000 * MS);
    assert_eq!((g.ran("high"), g.ran("low")), (4000 * MS, 2000 * MS));
}
