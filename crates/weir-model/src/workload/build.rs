// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Common code of the front-ends: naming objects, sharing programs, and the limits of size.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_text::quantity;

use super::{Op, TaskSpec, Workload};
use crate::error::Error;

/// Most tasks in a workload.
pub const MAX_TASKS: u64 = 4_000_000;

/// Most steps in all programs of a workload together; instances share their program.
pub const MAX_OPS: u64 = 10_000_000;

/// Most objects of a kind (mutexes, channels …).
const MAX_OBJECTS: usize = 4_000_000;

/// Most groups that components know, without the root.
pub(crate) const MAX_GROUPS: usize = 255;

/// Largest workload file, bytes.
pub const MAX_FILE: usize = 64 << 20;

/// Caps that tests lower.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub tasks: u64,
    pub ops: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tasks: MAX_TASKS, ops: MAX_OPS }
    }
}

/// Kinds of objects that tasks meet at by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Mutex,
    Condition,
    Event,
    Barrier,
    Channel,
    Flag,
    Timer,
}

/// A workload under construction.
pub(crate) struct Builder {
    pub workload: Workload,
    limits: Limits,
    names: BTreeMap<(Kind, String), u32>,
    ops: u64,
}

/// Capacity of a channel that is not declared: that of a Linux pipe.
pub(crate) const PIPE_BYTES: u64 = 64 << 10;

impl Builder {
    pub fn new(name: &str, limits: Limits) -> Self {
        let workload = Workload { name: name.to_string(), ..Workload::default() };
        Self { workload, limits, names: BTreeMap::new(), ops: 0 }
    }

    /// Whether warnings are still kept: a thousand say it all.
    pub fn may_warn(&self) -> bool {
        self.workload.warnings.len() < 1000
    }

    /// Add a warning, once.
    pub fn warn(&mut self, text: impl Into<String>) {
        if self.may_warn() {
            let text = text.into();
            if !self.workload.warnings.contains(&text) {
                self.workload.warnings.push(text);
            }
        }
    }

    /// Index of a named object, made at its first mention.
    pub fn object(&mut self, kind: Kind, name: &str) -> u32 {
        let key = (kind, name.to_string());
        if let Some(&i) = self.names.get(&key) {
            return i;
        }
        let w = &mut self.workload;
        let name = name.to_string();
        let push = |list: &mut Vec<String>| {
            list.push(name.clone());
            list.len()
        };
        let len = match kind {
            Kind::Mutex => push(&mut w.mutexes),
            Kind::Condition => push(&mut w.conditions),
            Kind::Event => push(&mut w.events),
            Kind::Flag => push(&mut w.flags),
            Kind::Timer => push(&mut w.timers),
            Kind::Barrier => {
                w.barriers.push((name, 0));
                w.barriers.len()
            }
            Kind::Channel => {
                w.channels.push((name, PIPE_BYTES));
                w.channels.len()
            }
        };
        debug_assert!(len <= MAX_OBJECTS, "front-ends cap their sizes");
        let index = (len - 1) as u32;
        self.names.insert(key, index);
        index
    }

    /// Share a program; fails where all programs together grow beyond the limit.
    pub fn program(&mut self, ops: Vec<Op>) -> Result<Arc<[Op]>, Error> {
        self.room_for_ops(ops.len() as u64)?;
        self.ops += ops.len() as u64;
        Ok(ops.into())
    }

    /// Fail early, before steps are laid out, where there would be too many.
    pub fn room_for_ops(&self, more: u64) -> Result<(), Error> {
        if self.ops.saturating_add(more) > self.limits.ops {
            return Err(Error::workload(format!(
                "the programs have more than {} steps together",
                self.limits.ops
            ))
            .help("use loops and instances, which share one program, instead of writing steps out"));
        }
        Ok(())
    }

    /// Fail early, before tasks are laid out, where there would be too many.
    pub fn room_for_tasks(&self, more: u64) -> Result<(), Error> {
        let total = (self.workload.tasks.len() as u64).saturating_add(more);
        if total > self.limits.tasks {
            return Err(Error::workload(format!(
                "{total} tasks are more than the limit of {}",
                self.limits.tasks
            ))
            .help("lower the number of tasks or instances"));
        }
        Ok(())
    }

    /// Add a task and give its index.
    pub fn task(&mut self, task: TaskSpec) -> Result<u32, Error> {
        self.room_for_tasks(1)?;
        self.workload.tasks.push(task);
        Ok(self.workload.tasks.len() as u32 - 1)
    }

    /// Hand over the result.
    pub fn finish(mut self) -> Result<Workload, Error> {
        if self.workload.tasks.is_empty() {
            return Err(Error::workload("the workload has no task").help("describe at least one task"));
        }
        self.workload.machine_events.sort_by_key(|e| e.0);
        self.warn_of_full_tasks();
        Ok(self.workload)
    }

    /// A job that computes for its whole period leaves nothing to anybody else, and nothing to what scheduling costs. The
    /// models of real-time scheduling leave such tasks out (e < p).
    fn warn_of_full_tasks(&mut self) {
        let recurs = |t: &TaskSpec| t.program.iter().any(|op| matches!(op, Op::Release { .. }));
        let full = |t: &&TaskSpec| {
            t.timing.is_some_and(|t| t.period_ns > 0 && t.wcet_ns >= t.period_ns) && recurs(t)
        };
        let of = |t: &TaskSpec| t.timing.map_or((0, 0), |t| (t.wcet_ns, t.period_ns));
        let count = self.workload.tasks.iter().filter(full).count();
        let Some(first) = self.workload.tasks.iter().find(full) else { return };
        let (wcet, period) = of(first);
        let others = match count {
            1 => String::new(),
            n => format!(", and {} more tasks likewise", n - 1),
        };
        let what = if wcet > period {
            "it falls further behind with every job"
        } else {
            "it needs a CPU for itself, and is late as soon as scheduling takes any time"
        };
        let text = format!(
            "task `{}` computes for {} of each period of {}{others}: {what}",
            first.name,
            quantity::show(wcet, quantity::TIME),
            quantity::show(period, quantity::TIME)
        );
        self.warn(text);
    }
}

/// Put `body` into a loop; `count` as in [`Op::Loop`]. A single iteration needs no loop.
pub(crate) fn repeat(count: Option<u64>, body: Vec<Op>) -> Vec<Op> {
    match count {
        Some(0) => Vec::new(),
        Some(1) => body,
        _ => {
            let mut ops = Vec::with_capacity(body.len() + 2);
            ops.push(Op::Loop { count });
            ops.extend(body);
            ops.push(Op::LoopEnd);
            ops
        }
    }
}

/// Whether an op takes time or may block, so that a loop around it cannot spin at one instant.
fn takes_time(op: &Op) -> bool {
    match *op {
        Op::Run { ns } | Op::Runtime { ns } | Op::Sleep { ns } => ns > 0,
        Op::RunBetween { max_ns, .. } => max_ns > 0,
        Op::RunDrawn { ref dist } => dist.max_ns > 0,
        Op::Arrive { .. } | Op::Await { .. } | Op::Take { .. } => true,
        Op::Memory { bytes } | Op::Io { bytes } => bytes > 0,
        Op::Timer { period_ns, .. } | Op::Release { period_ns, .. } => period_ns > 0,
        Op::Wait { .. } | Op::Sync { .. } | Op::Barrier { .. } | Op::Suspend { .. } => true,
        Op::Write { .. } | Op::Read { .. } | Op::SpinUntil { .. } | Op::Vcpu { .. } => true,
        _ => false,
    }
}

/// Whether some endless loop of the program neither computes nor waits: it would hold time still.
pub(crate) fn spins_in_place(program: &[Op]) -> bool {
    let mut open: Vec<(bool, bool)> = Vec::new();
    for op in program {
        match op {
            Op::Loop { count } => open.push((count.is_none(), false)),
            Op::LoopEnd => {
                let Some((endless, moves)) = open.pop() else { return false };
                if endless && !moves {
                    return true;
                }
                if let Some(outer) = open.last_mut() {
                    outer.1 |= moves;
                }
            }
            op if takes_time(op) => {
                if let Some(inner) = open.last_mut() {
                    inner.1 = true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_interned_by_kind() {
        let mut b = Builder::new("t", Limits::default());
        assert_eq!(b.object(Kind::Mutex, "a"), 0);
        assert_eq!(b.object(Kind::Condition, "a"), 0);
        assert_eq!(b.object(Kind::Mutex, "b"), 1);
        assert_eq!(b.object(Kind::Mutex, "a"), 0);
    }

    #[test]
    fn endless_loops_must_take_time() {
        let idle = repeat(None, vec![Op::Resume { event: 0 }, Op::Yield]);
        assert!(spins_in_place(&idle));
        let nested = repeat(None, repeat(Some(3), vec![Op::Run { ns: 1 }]));
        assert!(!spins_in_place(&nested));
        let after = [Op::Loop { count: None }, Op::Signal { condition: 0 }, Op::LoopEnd, Op::Run { ns: 5 }];
        assert!(spins_in_place(&after));
    }

    /// A job that fills its period is not a task of the models, and late with any cost.
    #[test]
    fn full_tasks_are_reported() {
        let warnings_at = |wcet_ns| {
            let mut b = Builder::new("t", Limits::default());
            let timing = crate::Timing { period_ns: 10_000_000, deadline_ns: 10_000_000, wcet_ns };
            b.task(TaskSpec::periodic("full", timing, 0)).expect("fits");
            b.task(TaskSpec::periodic("two", timing, 0)).expect("fits");
            b.finish().expect("it has tasks").warnings
        };
        assert_eq!(warnings_at(9_999_999), Vec::<String>::new());
        let all = warnings_at(10_000_000);
        assert!(
            all[0].starts_with("task `full` computes for 10ms of each period of 10ms, and 1 more"),
            "{all:?}"
        );
    }

    #[test]
    fn limits_are_reported() {
        let mut b = Builder::new("t", Limits { tasks: 1, ops: 2 });
        let program = b.program(vec![Op::Yield, Op::Yield]).expect("two fit");
        assert!(b.program(vec![Op::Yield]).is_err());
        b.task(TaskSpec::new("a", "a", program.clone())).expect("one fits");
        assert!(b.task(TaskSpec::new("b", "b", program)).unwrap_err().to_string().contains("limit of 1"));
    }
}
