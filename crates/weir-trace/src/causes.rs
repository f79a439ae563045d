// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Why a task did not run: its wait taken apart into what stood in its way, and what stood in the way of that.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_core::CpuSet;

use crate::history::{Call, History, Run, Span, Stage, State, Task, between};
use crate::recording::Waker;

/// How deep a chain of causes is followed.
const DEEPEST: u32 = 6;
/// Most steps of one wait.
const MOST_STEPS: usize = 64;
/// A CPU that was idle for this share of a wait could have taken the task, percent.
const IDLE_PCT: u64 = 50;
/// Tasks that are named where many ran.
const NAMED: usize = 3;

/// What kept a task from its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Others ran before it.
    Queue,
    /// It may use few CPUs; another one was idle.
    Affinity,
    /// It stood in the queue of a CPU, and one that it may use was idle.
    Placement,
    /// Another task held a lock, and ran.
    Lock,
    /// Another task held a lock, and waited for a CPU itself.
    Inversion,
    /// Its own budget was used up.
    Budget,
    /// Its group's limit was reached.
    GroupLimit,
    /// It waited for the next slot of its gang.
    Gang,
    /// A component kept it back.
    Withheld,
    /// It changed the CPU: cold caches.
    Migration,
    /// Its CPU was free: an interrupt, the exit from idle, the switch.
    Interrupt,
    /// Its CPU ran scheduler code.
    Scheduler,
    /// It ran on a slow CPU.
    Capacity,
    /// It waited for another task: a message, a signal, a barrier.
    Message,
    /// It waited for a device.
    Device,
    /// It waited for a time.
    Sleep,
    /// The trace does not say.
    Unknown,
}

/// One thing that stood in the way for some time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// 0: in the way of the task itself; 1: in the way of what was; …
    pub depth: u32,
    pub kind: Kind,
    /// Whose way it was in.
    pub task: u32,
    /// The task in the way: that ran, holds the lock, wakes.
    pub other: Option<u32>,
    pub cpu: Option<u32>,
    /// A CPU that was idle meanwhile.
    pub idle_cpu: Option<u32>,
    /// Index of [`History::stages`].
    pub stage: Option<u32>,
    /// A lock, what it waited for, or a component.
    pub what: String,
    pub from_ns: u64,
    pub to_ns: u64,
    /// Part of that time which this accounts for.
    pub ns: u64,
    /// Of scheduler code: the part spent waiting for pipes' locks.
    pub lock_ns: u64,
}

/// A wait, or a run, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    pub task: u32,
    /// The time that was asked about.
    pub at_ns: u64,
    pub from_ns: u64,
    pub to_ns: u64,
    /// What it did at the time asked about.
    pub state: State,
    /// It was woken at this time, by this.
    pub woken: Option<(u64, Waker)>,
    /// The CPU on which it went on, or runs.
    pub cpu: Option<u32>,
    /// In the order of depth-first search: what is in the way, then what is in the way of that.
    pub steps: Vec<Step>,
    /// Time by the root of each chain, longest first.
    pub causes: Vec<(Kind, u64)>,
}

impl Account {
    /// What accounts for most of the time.
    pub fn main(&self) -> Kind {
        self.causes.first().map_or(Kind::Unknown, |c| c.0)
    }
}

/// A wait that a task did not choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub task: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// A wait that the scheduler or a lock brings about, not the task's own program.
fn forced(span: &Span) -> bool {
    match &span.state {
        State::Running { .. } => false,
        State::Ready { .. } => true,
        State::Blocked { on, .. } => on.starts_with("mutex "),
    }
}

/// Why the task was where it was at that time. `None`: it was not there.
pub fn account(history: &History, task: u32, at_ns: u64) -> Option<Account> {
    let spans = &history.tasks.get(task as usize)?.spans;
    let i = history.tasks[task as usize].at(at_ns)?;
    let joined = |a: usize, b: usize| spans[a].to_ns == spans[b].from_ns;
    let runs = matches!(spans[i].state, State::Running { .. });
    // The wait that led to the run; or the one that the time is in.
    let (mut first, mut last) = (i, i);
    while first > 0 && joined(first - 1, first) && forced(&spans[first - 1]) && (runs || forced(&spans[i])) {
        first -= 1;
    }
    if !runs {
        while last + 1 < spans.len() && joined(last, last + 1) && forced(&spans[last + 1]) {
            last += 1;
        }
    }
    let (from_ns, to_ns) = (spans[first].from_ns, spans[last].to_ns);
    let mut tally = Tally { history, steps: Vec::new(), roots: BTreeMap::new(), path: vec![task] };
    tally.task(task, from_ns, to_ns, 0, None);
    let after = spans.get(last + usize::from(!runs));
    let cpu = match after.map(|s| &s.state) {
        Some(State::Running { cpu }) => Some(*cpu),
        _ => None,
    };
    if let (true, Some(cpu)) = (runs, cpu) {
        tally.run(task, &spans[i], cpu);
    }
    let woken = spans[first..=last].iter().find_map(|s| match s.state {
        State::Ready { by } if by != Waker::Unknown => Some((s.from_ns, by)),
        _ => None,
    });
    let Tally { steps, roots, .. } = tally;
    let mut causes: Vec<(Kind, u64)> = roots.into_iter().filter(|c| c.1 > 0).collect();
    causes.sort_by_key(|c| (std::cmp::Reverse(c.1), c.0));
    Some(Account { task, at_ns, from_ns, to_ns, state: spans[i].state.clone(), woken, cpu, steps, causes })
}

/// The same of the wait around that time as a whole: its state is that of its longest piece, which begins at `at_ns`.
pub fn whole(history: &History, task: u32, at_ns: u64) -> Option<Account> {
    let mut account = account(history, task, at_ns)?;
    let within = |s: &&Span| s.from_ns >= account.from_ns && s.to_ns <= account.to_ns;
    let pieces = history.tasks[task as usize].spans.iter().filter(within);
    let longest = pieces.max_by_key(|s| (s.to_ns - s.from_ns, std::cmp::Reverse(s.from_ns)));
    if let Some(longest) = longest.filter(|_| !matches!(account.state, State::Running { .. })) {
        (account.state, account.at_ns) = (longest.state.clone(), longest.from_ns);
    }
    Some(account)
}

/// The longest waits that tasks did not choose, longest first; of those tasks that `of` names.
pub fn worst(history: &History, n: usize, of: &dyn Fn(&Task) -> bool) -> Vec<Wait> {
    let mut all: Vec<Wait> = Vec::new();
    for (task, t) in (0..).zip(&history.tasks).filter(|(_, t)| of(t)) {
        let mut open: Option<Wait> = None;
        for span in t.spans.iter().filter(|s| forced(s)) {
            match &mut open {
                Some(w) if w.to_ns == span.from_ns => w.to_ns = span.to_ns,
                _ => all.extend(open.replace(Wait { task, from_ns: span.from_ns, to_ns: span.to_ns })),
            }
        }
        all.extend(open);
        if all.len() > 4 * n + 1024 {
            keep(&mut all, n);
        }
    }
    keep(&mut all, n);
    all
}

fn keep(all: &mut Vec<Wait>, n: usize) {
    all.sort_by_key(|w| (std::cmp::Reverse(w.to_ns - w.from_ns), w.from_ns, w.task));
    all.truncate(n);
}

struct Tally<'a> {
    history: &'a History,
    steps: Vec<Step>,
    roots: BTreeMap<Kind, u64>,
    /// Whom the chain has led to; nobody is followed twice.
    path: Vec<u32>,
}

/// A step that lacks its details.
fn step(depth: u32, kind: Kind, task: u32, from_ns: u64, to_ns: u64) -> Step {
    let (other, cpu, idle_cpu, stage, what) = (None, None, None, None, String::new());
    let ns = to_ns - from_ns;
    Step { depth, kind, task, other, cpu, idle_cpu, stage, what, from_ns, to_ns, ns, lock_ns: 0 }
}

impl<'a> Tally<'a> {
    fn of(&self, task: u32) -> Option<&'a Task> {
        self.history.tasks.get(task as usize)
    }

    fn add(&mut self, s: Step) {
        if s.ns == 0 {
            return;
        }
        // The same again, a little later.
        let same = |old: &Step| {
            (old.depth, old.kind, old.task, old.other, old.cpu, old.stage, &old.what)
                == (s.depth, s.kind, s.task, s.other, s.cpu, s.stage, &s.what)
        };
        let begin = self.steps.iter().rposition(|old| old.depth < s.depth).map_or(0, |i| i + 1);
        if let Some(old) = self.steps[begin..].iter_mut().find(|old| same(old)) {
            old.to_ns = old.to_ns.max(s.to_ns);
            old.ns += s.ns;
            old.lock_ns += s.lock_ns;
            old.idle_cpu = old.idle_cpu.or(s.idle_cpu);
        } else if self.steps.len() < MOST_STEPS {
            self.steps.push(s);
        }
    }

    /// `ns` are due to this in the end.
    fn root(&mut self, kind: Kind, ns: u64) {
        *self.roots.entry(kind).or_default() += ns;
    }

    /// What kept `task` from running from `a` to `b`. `through` is what its way leads to: where it is a lock that others wait for, its
    /// own queueing inverts their order.
    fn task(&mut self, task: u32, a: u64, b: u64, depth: u32, through: Option<Kind>) {
        let Some(t) = self.of(task) else { return self.root(through.unwrap_or(Kind::Unknown), b - a) };
        let mut known = a;
        for span in between(&t.spans, a, b, |s| (s.from_ns, s.to_ns)) {
            let (from, to) = (span.from_ns.max(a), span.to_ns.min(b));
            if from > known {
                self.root(through.unwrap_or(Kind::Unknown), from - known);
            }
            known = to;
            match &span.state {
                State::Running { cpu } => {
                    if let Some(kind) = through {
                        self.add(Step {
                            cpu: Some(*cpu),
                            other: Some(task),
                            ..step(depth, kind, task, from, to)
                        });
                        self.root(kind, to - from);
                    }
                }
                State::Ready { .. } => self.queue(task, t, span.from_ns, from, to, depth, through),
                State::Blocked { on, holder } => self.blocked(task, t, from, to, on, *holder, depth, through),
            }
        }
        if known < b {
            self.root(through.unwrap_or(Kind::Unknown), b - known);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn blocked(
        &mut self,
        task: u32,
        t: &Task,
        a: u64,
        b: u64,
        on: &str,
        holder: Option<u32>,
        depth: u32,
        through: Option<Kind>,
    ) {
        let simple = |kind| Step { what: on.into(), ..step(depth, kind, task, a, b) };
        if on.starts_with("mutex ") {
            return self.lock(task, a, b, on, holder, depth);
        }
        let ends = t.spans.iter().find(|s| s.from_ns >= b);
        let waker = match ends.map(|s| &s.state) {
            Some(State::Ready { by }) => *by,
            _ => Waker::Unknown,
        };
        let kind = match (on, waker) {
            ("time" | "release", _) => Kind::Sleep,
            ("device", _) => Kind::Device,
            (_, Waker::Thread(_)) => Kind::Message,
            ("", Waker::Interrupt) => Kind::Sleep,
            ("", _) => Kind::Unknown,
            _ => Kind::Message,
        };
        let other = if let Waker::Thread(by) = waker { Some(by) } else { None };
        self.add(Step { other, ..simple(kind) });
        // Others wait for it: what it waits for is in their way.
        self.root(if depth > 0 && kind == Kind::Unknown { through.unwrap_or(kind) } else { kind }, b - a);
        if let (Kind::Message, Some(by)) = (kind, other) {
            // What the other one did meanwhile: to be read, not to be counted twice.
            let roots = self.roots.clone();
            self.follow(by, a, b, depth, Kind::Message);
            self.roots = roots;
        }
    }

    /// The chain goes on with `next`.
    fn follow(&mut self, next: u32, a: u64, b: u64, depth: u32, through: Kind) {
        if depth >= DEEPEST || self.path.contains(&next) {
            return self.root(through, b - a);
        }
        self.path.push(next);
        self.task(next, a, b, depth + 1, Some(through));
        self.path.pop();
    }

    /// A lock: its holders, one after the other.
    fn lock(&mut self, task: u32, a: u64, b: u64, on: &str, holder: Option<u32>, depth: u32) {
        // A task that waits for it and is woken has it from then on.
        let mut handed: Vec<(u64, u32)> = Vec::new();
        for (no, t) in (0..).zip(&self.history.tasks) {
            if no == task {
                continue;
            }
            for pair in between(&t.spans, a, b, |s| (s.from_ns, s.to_ns)).windows(2) {
                let waited = matches!(&pair[0].state, State::Blocked { on: it, .. } if **it == *on);
                if waited && matches!(pair[1].state, State::Ready { .. }) && pair[1].from_ns < b {
                    handed.push((pair[1].from_ns, no));
                }
            }
        }
        handed.sort_unstable();
        let mut owner = holder;
        let mut from = a;
        for (t, next) in handed.into_iter().chain([(b, task)]) {
            if t > from {
                self.add(Step { other: owner, what: on.into(), ..step(depth, Kind::Lock, task, from, t) });
                match owner {
                    Some(owner) => self.follow(owner, from, t, depth, Kind::Lock),
                    None => self.root(Kind::Lock, t - from),
                }
            }
            (owner, from) = (Some(next), t.max(from));
        }
    }

    /// Able to run, and not running. `since` is when it became ready.
    #[allow(clippy::too_many_arguments)]
    fn queue(&mut self, task: u32, t: &Task, since: u64, a: u64, b: u64, depth: u32, through: Option<Kind>) {
        let mut at = a;
        while at < b {
            let next = t.places.iter().map(|p| p.0).find(|&p| p > at).map_or(b, |p| p.min(b));
            match t.place(since, at).map(|p| (p, &self.history.stages[p as usize])) {
                Some((place, stage)) if stage.exit.is_none() && !stage.component.is_empty() => {
                    self.held(task, t, at, next, place, stage, depth);
                }
                place => {
                    let exit = place.and_then(|p| p.1.exit.as_ref());
                    self.waits(task, t, at, next, place.map(|p| p.0), exit, depth, through);
                }
            }
            at = next;
        }
    }

    /// A component keeps the task back.
    #[allow(clippy::too_many_arguments)]
    fn held(&mut self, task: u32, t: &Task, a: u64, b: u64, place: u32, stage: &Stage, depth: u32) {
        let withheld = t.withheld.iter().rfind(|w| w.0 <= b && w.0 + 1 >= a.min(w.0 + 1));
        let near = withheld.filter(|w| w.0 <= a.saturating_add(1)).or(withheld);
        let kind = match (&*stage.component, &*stage.writer, near) {
            (c, w, _) if c == "gang" || w == "gang" => Kind::Gang,
            ("throttle", ..) if stage.budget == "bandwidth" => Kind::GroupLimit,
            ("throttle", ..) => Kind::Budget,
            (_, _, Some((_, 0))) if self.all_offline(t, a) => Kind::Affinity,
            _ => Kind::Withheld,
        };
        self.add(Step { stage: Some(place), what: stage.component.clone(), ..step(depth, kind, task, a, b) });
        self.root(kind, b - a);
    }

    /// All CPUs that the task may use are away.
    fn all_offline(&self, t: &Task, at: u64) -> bool {
        t.allowed(at).is_some_and(|set| set.iter().all(|c| self.is_offline(c, at)))
    }

    fn is_offline(&self, cpu: u32, at: u64) -> bool {
        self.history.cpus.get(cpu as usize).is_none_or(|c| c.offline.iter().any(|o| o.0 <= at && at < o.1))
    }

    // None of a CPU without a track: a damaged trace may name one.
    fn runs(&self, cpu: u32, a: u64, b: u64) -> &'a [Run] {
        let history = self.history;
        history.cpus.get(cpu as usize).map_or(&[], |c| between(&c.runs, a, b, |r| (r.from_ns, r.to_ns)))
    }

    fn calls(&self, cpu: u32, a: u64, b: u64) -> &'a [Call] {
        let history = self.history;
        history.cpus.get(cpu as usize).map_or(&[], |c| between(&c.calls, a, b, |c| (c.from_ns, c.to_ns)))
    }

    /// Time between `a` and `b` in which a CPU had no task.
    fn idle_ns(&self, cpu: u32, a: u64, b: u64) -> u64 {
        let busy: u64 = self.runs(cpu, a, b).iter().map(|r| r.to_ns.min(b) - r.from_ns.max(a)).sum();
        (b - a).saturating_sub(busy)
    }

    /// The CPU other than those of `tried` that was idle for most of the time, if it was for long enough.
    fn idle(&self, a: u64, b: u64, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let cpus = (0..self.history.cpus.len() as u32).filter(|&c| wanted(c) && !self.is_offline(c, a));
        let best = cpus.map(|c| (self.idle_ns(c, a, b), std::cmp::Reverse(c))).max()?;
        (best.0 * 100 >= (b - a) * IDLE_PCT).then_some(best.1.0)
    }

    /// At an exit, in the queue of one CPU or of several.
    #[allow(clippy::too_many_arguments)]
    fn waits(
        &mut self,
        task: u32,
        t: &Task,
        a: u64,
        b: u64,
        place: Option<u32>,
        exit: Option<&CpuSet>,
        depth: u32,
        through: Option<Kind>,
    ) {
        let allowed = t.allowed(a);
        let runs_on = t.spans.iter().find_map(|s| match s.state {
            State::Running { cpu } if s.from_ns >= b => Some(cpu),
            _ => None,
        });
        let cpus: Vec<u32> = match exit {
            Some(set) => set.iter().filter(|&c| allowed.is_none_or(|ok| ok.contains(c))).collect(),
            None => runs_on.into_iter().collect(),
        };
        if cpus.is_empty() {
            let kind = if allowed.is_some() { Kind::Affinity } else { through.unwrap_or(Kind::Unknown) };
            self.add(Step { stage: place, ..step(depth, kind, task, a, b) });
            return self.root(kind, b - a);
        }
        let may = |c: u32| allowed.is_none_or(|ok| ok.contains(c));
        let elsewhere = self.idle(a, b, |c| !cpus.contains(&c) && may(c));
        let forbidden = allowed.and_then(|_| self.idle(a, b, |c| !may(c)));
        let queue = match (elsewhere, forbidden) {
            _ if through == Some(Kind::Lock) => Kind::Inversion,
            // It may be that the task is bound to its CPU.
            (Some(_), _) if self.history.any_cpu && allowed.is_none() => Kind::Queue,
            (Some(_), _) => Kind::Placement,
            (None, Some(_)) => Kind::Affinity,
            (None, None) => Kind::Queue,
        };
        let idle_cpu = elsewhere.or(forbidden);
        // Instants at which the set of busy CPUs changes.
        let mut by_task: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut edges: Vec<(u64, i32)> = Vec::new();
        for &cpu in &cpus {
            for run in self.runs(cpu, a, b) {
                let (from, to) = (run.from_ns.max(a), run.to_ns.min(b));
                edges.extend([(from, 1), (to, -1)]);
                *by_task.entry((run.task, cpu)).or_default() += to - from;
            }
        }
        edges.sort_unstable();
        let (mut busy, mut all_busy_ns, mut last) = (0, 0, a);
        for (at, change) in edges {
            if busy >= cpus.len() as i32 {
                all_busy_ns += at - last;
            }
            (busy, last) = (busy + change, at);
        }
        // Scheduler code: within a run it is the run's, as the task cannot have the CPU either way; besides runs it is its own.
        let only = if let [cpu] = *cpus { Some(cpu) } else { None };
        let free_ns = (b - a) - all_busy_ns;
        let (mut code_ns, mut lock_ns) = (0, 0);
        if let Some(cpu) = only {
            let runs = self.runs(cpu, a, b);
            for call in self.calls(cpu, a, b) {
                if !runs.iter().any(|r| r.from_ns <= call.from_ns && call.to_ns <= r.to_ns) {
                    code_ns += call.to_ns.min(b) - call.from_ns.max(a);
                    lock_ns += call.lock_ns;
                }
            }
        }
        let code_ns = code_ns.min(free_ns);
        if all_busy_ns > 0 {
            let total: u64 = by_task.values().sum();
            let mut ran: Vec<((u32, u32), u64)> = by_task.into_iter().collect();
            ran.sort_by_key(|r| (std::cmp::Reverse(r.1), r.0));
            let mut left = all_busy_ns;
            let shown = ran.len().min(NAMED);
            for (i, ((other, cpu), ns)) in ran.into_iter().take(NAMED).enumerate() {
                let share = u128::from(all_busy_ns) * u128::from(ns) / u128::from(total.max(1));
                // The rest, of tasks that are not named, goes by the first.
                let mut ns = (share as u64).min(left);
                if i + 1 == shown && only.is_some() && shown < NAMED {
                    ns = left;
                }
                left -= ns;
                self.add(Step {
                    other: Some(other),
                    cpu: Some(cpu),
                    idle_cpu,
                    stage: place,
                    ns,
                    ..step(depth, queue, task, a, b)
                });
            }
            self.root(queue, all_busy_ns);
        }
        for (kind, ns, lock_ns) in
            [(Kind::Scheduler, code_ns, lock_ns), (Kind::Interrupt, free_ns - code_ns, 0)]
        {
            if ns > 0 {
                let cpu = only.or(runs_on);
                self.add(Step { cpu, stage: place, ns, lock_ns, ..step(depth, kind, task, a, b) });
                self.root(kind, ns);
            }
        }
    }

    /// What made the run itself take longer.
    fn run(&mut self, task: u32, span: &Span, cpu: u32) {
        let history = self.history;
        let (a, b) = (span.from_ns, span.to_ns);
        let Some(c) = history.cpus.get(cpu as usize) else { return };
        let calls = between(&c.calls, a, b, |c| (c.from_ns, c.to_ns));
        let code_ns: u64 = calls.iter().map(|c| c.to_ns.min(b) - c.from_ns.max(a)).sum();
        let lock_ns = calls.iter().map(|c| c.lock_ns).sum();
        let worked = (b - a).saturating_sub(code_ns);
        let cold: u64 =
            history.tasks[task as usize].cold.iter().filter(|c| a <= c.0 && c.0 < b).map(|c| c.1).sum();
        let top = history.cpus.iter().map(|c| c.capacity).max().unwrap_or(0);
        let slow_ns =
            if c.capacity < top { worked - worked * u64::from(c.capacity) / u64::from(top) } else { 0 };
        let faster = (slow_ns > 0)
            .then(|| self.idle(a, b, |o| history.cpus[o as usize].capacity > c.capacity))
            .flatten();
        for (kind, ns, lock_ns, idle_cpu) in [
            (Kind::Capacity, slow_ns, 0, faster),
            (Kind::Migration, cold.min(worked), 0, None),
            (Kind::Scheduler, code_ns, lock_ns, None),
        ] {
            if ns > 0 {
                let what =
                    if kind == Kind::Capacity { format!("{} of {top}", c.capacity) } else { String::new() };
                self.add(Step { cpu: Some(cpu), idle_cpu, what, ns, lock_ns, ..step(0, kind, task, a, b) });
                self.root(kind, ns);
            }
        }
    }
}
