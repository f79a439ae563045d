// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Programs as the engine runs them: the workload's ops, checked once, with their jumps resolved.

use std::sync::Arc;

use weir_model::workload::{OnMiss, Op, TaskSpec, Workload};
use weir_model::{Error, Result};

/// Most nanoseconds of work in one op: a day. Work is kept in fractions of a nanosecond.
pub const MAX_WORK_NS: u64 = 24 * 3600 * 1_000_000_000;

/// A checked program, shared by all tasks that have the same ops.
#[derive(Debug)]
pub struct Program<'a> {
    pub ops: &'a [Op],
    /// For each op: the matching end of a `Loop`, the matching begin of a `LoopEnd`, else 0.
    pub jump: Box<[u32]>,
    /// Nesting of its loops.
    pub depth: u32,
    /// Private timers it uses.
    pub timers: u32,
    /// Jobs begin at `Release` ops only, not at wake-ups.
    pub has_release: bool,
    /// For a program with a single periodic release: how often it is executed (`u64::MAX`: for ever).
    /// Then jobs are released in time even while their predecessors run.
    pub releases: Option<u64>,
    /// Where its first release stands, if it has any.
    pub release: u32,
    /// It has a loop without end.
    pub endless: bool,
    /// The graph of tasks that it belongs to, and its node there.
    pub node: Option<(u32, u32)>,
}

/// One level of a task's loops.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopFrame {
    /// Iterations to go, this one included; `u64::MAX` is endless.
    pub left: u64,
    /// Iterations completed.
    pub done: u64,
}

impl<'a> Program<'a> {
    /// Check the program of `spec` against the objects of the workload.
    pub fn new(spec: &'a TaskSpec, w: &Workload) -> Result<Self> {
        let ops: &'a [Op] = &spec.program;
        let mut jump = vec![0u32; ops.len()].into_boxed_slice();
        let mut open = Vec::new();
        let (mut depth, mut timers) = (0, 0);
        let (mut has_release, mut endless, mut node) = (false, false, None);
        let bad = |at: usize, what: String| {
            Error::workload(format!("step {} of task `{}` {what}", at + 1, spec.name))
        };
        for (i, op) in ops.iter().enumerate() {
            let range = |what: &str, index: u32, len: usize| {
                if (index as usize) < len {
                    return Ok(());
                }
                Err(bad(i, format!("uses {what} number {index}, but the workload has {len}"))
                    .help(format!("declare the {what}, or use a number below {len}")))
            };
            let work = |ns: u64| {
                if ns <= MAX_WORK_NS {
                    return Ok(());
                }
                Err(bad(i, format!("works for {ns} ns at once")).help(format!(
                    "at most {MAX_WORK_NS} ns (a day) are possible; put a shorter step in a loop"
                )))
            };
            match op {
                Op::Loop { count } => {
                    open.push(i);
                    depth = depth.max(open.len() as u32);
                    endless |= count.is_none();
                }
                Op::LoopEnd => {
                    let start = open.pop().ok_or_else(|| {
                        bad(i, "ends a loop that was not begun".into()).help("put a loop step before it")
                    })?;
                    jump[i] = start as u32;
                    jump[start] = i as u32;
                }
                Op::Timer { timer, shared: false, .. } => {
                    if *timer >= 1024 {
                        return Err(bad(i, format!("uses private timer {timer}"))
                            .help("number the timers of a task from 0; 1024 are possible"));
                    }
                    timers = timers.max(timer + 1);
                }
                Op::Timer { timer, shared: true, .. } => range("shared timer", *timer, w.timers.len())?,
                Op::Release { .. } | Op::Arrive { .. } => has_release = true,
                Op::RunDrawn { dist } => work(dist.max_ns)?,
                Op::Join { dag, node: at } => {
                    range("graph", *dag, w.dags.len())?;
                    range("node", *at, w.dags[*dag as usize].nodes.len())?;
                    node = Some((*dag, *at));
                }
                Op::Run { ns } | Op::Runtime { ns } | Op::RunBetween { max_ns: ns, .. } => work(*ns)?,
                Op::Lock { mutex } | Op::Unlock { mutex } => range("mutex", *mutex, w.mutexes.len())?,
                Op::Wait { condition, mutex } | Op::Sync { condition, mutex } => {
                    range("condition", *condition, w.conditions.len())?;
                    range("mutex", *mutex, w.mutexes.len())?;
                }
                Op::Signal { condition } | Op::Broadcast { condition } => {
                    range("condition", *condition, w.conditions.len())?
                }
                Op::Barrier { barrier } => range("barrier", *barrier, w.barriers.len())?,
                Op::Suspend { event }
                | Op::Resume { event }
                | Op::Await { event }
                | Op::Take { event }
                | Op::Activate { event } => range("event", *event, w.events.len())?,
                Op::Write { channel, .. } | Op::Read { channel, .. } => {
                    range("channel", *channel, w.channels.len())?
                }
                Op::Raise { flag, .. } | Op::SpinUntil { flag, .. } => range("flag", *flag, w.flags.len())?,
                Op::Vcpu { guest, vcpu } => {
                    range("guest", *guest, w.guests.len())?;
                    range("virtual CPU", *vcpu, w.guests[*guest as usize].vcpus.len())?;
                }
                Op::Fork { template } => range("task template", *template, w.tasks.len())?,
                Op::Memory { .. }
                | Op::Sleep { .. }
                | Op::Until { .. }
                | Op::Io { .. }
                | Op::Yield
                | Op::SetIsa { .. }
                | Op::SetPriority { .. }
                | Op::SetAffinity { .. }
                | Op::Gang { .. }
                | Op::Group { .. }
                | Op::Marker { .. }
                | Op::Publish { .. }
                | Op::Request { .. } => {}
            }
        }
        if let Some(start) = open.pop() {
            return Err(
                bad(start, "begins a loop that is not ended".into()).help("end the loop after its last step")
            );
        }
        let releases = periodic_releases(ops);
        let release = ops.iter().position(Op::is_release).unwrap_or(0) as u32;
        if spec.on_miss != OnMiss::Continue && !can_rewind(ops) {
            return Err(Error::workload(format!(
                "late jobs of task `{}` cannot be thrown away: its program has steps before its release or after its loop",
                spec.name
            ))
            .help("give the task a period, or leave `on_miss` at `continue`"));
        }
        Ok(Self { ops, jump, depth, timers, has_release, releases, release, endless, node })
    }
}

/// The program is one release at the beginning of its loops and what follows it: where its job is thrown
/// away, it goes on at the release.
fn can_rewind(ops: &[Op]) -> bool {
    let depth = ops.iter().take_while(|op| matches!(op, Op::Loop { .. })).count();
    let tail = ops.iter().rev().take_while(|op| matches!(op, Op::LoopEnd)).count();
    let releases = ops.iter().filter(|op| op.is_release()).count();
    releases == 1 && tail >= depth && ops.get(depth).is_some_and(Op::is_release)
}

/// Executions of the only release of a program, if its releases can be foreseen.
fn periodic_releases(ops: &[Op]) -> Option<u64> {
    let mut counts: Vec<u64> = Vec::new();
    let mut found = None;
    for op in ops {
        match op {
            Op::Loop { count } => counts.push(count.unwrap_or(u64::MAX)),
            Op::LoopEnd => _ = counts.pop(),
            op if op.is_release() && found.is_some() => return None,
            op if op.is_release() => {
                let n = match counts.contains(&0) {
                    true => 0,
                    false => counts.iter().fold(1u64, |a, &b| a.saturating_mul(b)),
                };
                if matches!(op, Op::Release { period_ns: 0, .. }) && n > 1 {
                    return None;
                }
                found = Some(n);
            }
            _ => {}
        }
    }
    found
}

/// The programs of all task templates: for each template the index of its program.
pub fn compile(w: &Workload) -> Result<(Vec<Program<'_>>, Vec<u32>)> {
    // Templates that share a program stand next to each other in the order of its address; the order
    // of the result is that of first use, so that addresses influence nothing.
    let mut by_address: Vec<u32> = (0..w.tasks.len() as u32).collect();
    let address = |t: &u32| Arc::as_ptr(&w.tasks[*t as usize].program).cast::<Op>() as usize;
    by_address.sort_by_key(|t| (address(t), w.tasks[*t as usize].program.len(), *t));
    let mut first = vec![0u32; w.tasks.len()];
    for pair in
        by_address.chunk_by(|a, b| Arc::ptr_eq(&w.tasks[*a as usize].program, &w.tasks[*b as usize].program))
    {
        pair.iter().for_each(|&t| first[t as usize] = pair[0]);
    }
    let mut programs = Vec::new();
    let mut index = vec![0u32; w.tasks.len()];
    for (t, spec) in w.tasks.iter().enumerate() {
        if first[t] as usize == t {
            index[t] = programs.len() as u32;
            programs.push(Program::new(spec, w)?);
        } else {
            index[t] = index[first[t] as usize];
        }
    }
    Ok((programs, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(programs: Vec<Vec<Op>>) -> Workload {
        let spec = |(i, p)| TaskSpec::new(format!("t{i}"), "", p);
        Workload { tasks: programs.into_iter().enumerate().map(spec).collect(), ..Default::default() }
    }

    #[test]
    fn jumps_nest() {
        let w = workload(vec![vec![
            Op::Loop { count: None },
            Op::Loop { count: Some(2) },
            Op::Yield,
            Op::LoopEnd,
            Op::LoopEnd,
        ]]);
        let (p, _) = compile(&w).unwrap();
        assert_eq!(*p[0].jump, [4, 3, 0, 1, 0]);
        assert_eq!((p[0].depth, p[0].endless), (2, true));
    }

    #[test]
    fn releases_are_foreseen_where_they_can_be() {
        let release =
            |period_ns| Op::Release { offset_ns: 0, period_ns, deadline_ns: 1, jitter_ns: 0, extra_ns: 0 };
        let within = |counts: &[Option<u64>], op: Op| {
            let mut ops: Vec<Op> = counts.iter().map(|&count| Op::Loop { count }).collect();
            ops.push(op);
            ops.extend(counts.iter().map(|_| Op::LoopEnd));
            periodic_releases(&ops)
        };
        assert_eq!(within(&[None], release(5)), Some(u64::MAX));
        assert_eq!(within(&[Some(3), Some(4)], release(5)), Some(12));
        assert_eq!(within(&[Some(0), None], release(5)), Some(0));
        assert_eq!(within(&[], release(0)), Some(1));
        assert_eq!(within(&[None], release(0)), None);
        assert_eq!(within(&[None], Op::Yield), None);
        assert_eq!(periodic_releases(&[release(5), release(5)]), None);
    }

    #[test]
    fn shared_programs_are_compiled_once() {
        let mut w = workload(vec![vec![Op::Yield], vec![Op::Run { ns: 5 }], vec![]]);
        w.tasks[2].program = w.tasks[0].program.clone();
        let (p, index) = compile(&w).unwrap();
        assert_eq!((p.len(), index), (2, vec![0, 1, 0]));
    }

    #[test]
    fn wrong_programs_are_refused() {
        for (ops, want) in [
            (vec![Op::LoopEnd], "step 1 of task `t0` ends a loop that was not begun"),
            (vec![Op::Loop { count: None }], "step 1 of task `t0` begins a loop that is not ended"),
            (
                vec![Op::Yield, Op::Lock { mutex: 3 }],
                "step 2 of task `t0` uses mutex number 3, but the workload has 0",
            ),
            (
                vec![Op::Fork { template: 1 }],
                "step 1 of task `t0` uses task template number 1, but the workload has 1",
            ),
            (vec![Op::Run { ns: u64::MAX }], "step 1 of task `t0` works for 18446744073709551615 ns at once"),
        ] {
            let e = compile(&workload(vec![ops])).unwrap_err();
            assert_eq!(e.message, want);
            assert!(e.help.is_some());
        }
    }
}
