// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A run as it can be asked about: what each task and each CPU did, from when to when.
//!
//! Made from a trace that Runweir wrote, simulated or live, which also says in which pipe a task waited, for what, and which task woke it; or
//! from a recording of another tool, which says less.

mod own;
mod recorded;

use weir_core::CpuSet;

use crate::marks::Mark;
use crate::recording::Waker;

pub(crate) use own::Reader;
pub use recorded::from_recording;

/// What happened to tasks and CPUs.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub topology: String,
    pub machine: String,
    pub workload: String,
    pub end_ns: u64,
    /// Ordered by number.
    pub tasks: Vec<Task>,
    pub cpus: Vec<Cpu>,
    pub stages: Vec<Stage>,
    /// What programs said about themselves, in order of time.
    pub marks: Vec<Mark>,
    /// Which CPUs a task may use is not recorded.
    pub any_cpu: bool,
    /// What such a recording does not say.
    pub notes: Vec<String>,
}

/// A task's life; its index is its number.
#[derive(Clone, Debug, Default)]
pub struct Task {
    pub name: String,
    /// The kernel's priority, where it is recorded: 100 to 139 for nice -20 to 19, below for real-time ones, -1 for deadlines.
    pub prio: Option<i32>,
    /// In order of time, without overlap.
    pub spans: Vec<Span>,
    /// Each wake-up that was seen, and who made it.
    pub woken: Vec<(u64, Waker)>,
    /// How far it had got, as index of [`History::stages`], from when on.
    pub places: Vec<(u64, u32)>,
    /// Where it could run, from when on; everywhere before the first.
    pub allowed: Vec<(u64, CpuSet)>,
    /// When a component held it back, and until when; 0: until something changes.
    pub withheld: Vec<(u64, u64)>,
    /// Time lost to cold caches in the run that began then.
    pub cold: Vec<(u64, u64)>,
}

/// What a task did for a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub from_ns: u64,
    pub to_ns: u64,
    pub state: State,
}

#[derive(Clone, Debug, PartialEq)]
pub enum State {
    Running {
        cpu: u32,
    },
    /// Able to run.
    Ready {
        by: Waker,
    },
    /// `on` is a kind and a name: `mutex m`, `time`; empty where nobody knows.
    Blocked {
        on: Box<str>,
        holder: Option<u32>,
    },
}

/// What a CPU did.
#[derive(Clone, Debug, Default)]
pub struct Cpu {
    pub runs: Vec<Run>,
    pub calls: Vec<Call>,
    /// From when to when it was offline.
    pub offline: Vec<(u64, u64)>,
    /// Speed, the fastest CPU being 1024; 0 where all are alike.
    pub capacity: u32,
}

/// A task on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub from_ns: u64,
    pub to_ns: u64,
    pub task: u32,
}

/// Scheduler code on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub from_ns: u64,
    pub to_ns: u64,
    /// Part of it spent waiting for locks of pipes.
    pub lock_ns: u64,
}

/// What a pipe leads to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stage {
    /// Empty: the queue that the kernel keeps for the CPUs of `exit`.
    pub pipe: String,
    /// CPUs that take tasks from it.
    pub exit: Option<CpuSet>,
    /// Otherwise what takes tasks out of it; empty where that is not known.
    pub instance: String,
    pub component: String,
    /// The component that wrote them into it.
    pub writer: String,
    /// The component that gives budgets.
    pub budget: String,
}

impl Stage {
    /// Of a pipe's name and what the trace says about it.
    fn read(pipe: &str, text: &str) -> Self {
        let pipe = pipe.to_string();
        let mut words = text.split(' ').map(|w| if w == "-" { "" } else { w }.to_string());
        match words.next().as_deref() {
            Some("exit") => {
                Stage { pipe, exit: words.next().and_then(|list| cpus(&list)), ..Stage::default() }
            }
            Some("at") => {
                let mut next = || words.next().unwrap_or_default();
                let (instance, component, writer, budget) = (next(), next(), next(), next());
                Stage { pipe, exit: None, instance, component, writer, budget }
            }
            _ => Stage { pipe, ..Stage::default() },
        }
    }
}

/// `0-3,8`.
fn cpus(list: &str) -> Option<CpuSet> {
    let mut set = Vec::new();
    for part in list.split(',') {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (a, b): (u32, u32) = (a.parse().ok()?, b.parse().ok()?);
        if a > b || b >= weir_core::MAX_CPUS {
            return None;
        }
        set.extend(a..=b);
    }
    Some(set.into_iter().collect())
}

/// What of `list`, which is sorted and without overlap, lies between two times.
pub(crate) fn between<T>(list: &[T], from: u64, to: u64, span: impl Fn(&T) -> (u64, u64)) -> &[T] {
    let a = list.partition_point(|x| span(x).1 <= from);
    let b = list.partition_point(|x| span(x).0 < to);
    &list[a.min(b)..b]
}

impl Task {
    /// The span that a time lies in, by index. An end belongs to what follows.
    pub fn at(&self, t_ns: u64) -> Option<usize> {
        let i = self.spans.partition_point(|s| s.to_ns <= t_ns);
        if self.spans.get(i).is_some_and(|s| s.from_ns <= t_ns) {
            return Some(i);
        }
        // The very end of its life.
        self.spans.iter().rposition(|s| s.to_ns == t_ns)
    }

    /// Who woke it at this very time.
    pub fn woken_at(&self, t_ns: u64) -> Option<Waker> {
        let i = self.woken.partition_point(|w| w.0 <= t_ns);
        let (at, by) = *self.woken.get(i.checked_sub(1)?)?;
        (at == t_ns).then_some(by)
    }

    /// Where it could run at a time.
    pub fn allowed(&self, t_ns: u64) -> Option<&CpuSet> {
        let i = self.allowed.partition_point(|a| a.0 <= t_ns);
        Some(&self.allowed[i.checked_sub(1)?].1)
    }

    /// Index of the place where it stood at a time within a wait that began at `since`.
    pub fn place(&self, since: u64, t_ns: u64) -> Option<u32> {
        let i = self.places.partition_point(|p| p.0 <= t_ns);
        let (at, place) = *self.places.get(i.checked_sub(1)?)?;
        (at >= since).then_some(place)
    }
}

impl History {
    /// Tasks whose name or number is this one: `web`, `#7`, or both as [`History::name`] spells them: `web #7`.
    pub fn find(&self, text: &str) -> Vec<u32> {
        if let Some((name, number)) = text.rsplit_once(" #")
            && let Ok(number) = number.parse::<u32>()
            && self.tasks.get(number as usize).is_some_and(|t| t.name == name)
        {
            return vec![number];
        }
        let number = text.strip_prefix('#').unwrap_or(text).parse::<u32>().ok();
        let lives = |n: &u32| self.tasks.get(*n as usize).is_some_and(|t| !t.name.is_empty());
        let named: Vec<u32> = (0..)
            .zip(&self.tasks)
            .filter(|(_, t)| !t.name.is_empty() && t.name == text)
            .map(|(n, _)| n)
            .collect();
        match number.filter(lives) {
            Some(n) if named.is_empty() => vec![n],
            _ => named,
        }
    }

    /// What a task is called, with its number where others are called so too.
    pub fn name(&self, task: u32) -> String {
        let Some(name) = self.tasks.get(task as usize).map(|t| &t.name).filter(|n| !n.is_empty()) else {
            return format!("task {task}");
        };
        let shared = self.tasks.iter().filter(|t| t.name == *name).nth(1).is_some();
        if shared { format!("{name} #{task}") } else { name.clone() }
    }
}
