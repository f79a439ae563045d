// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A recording of another tool as a history: who ran where and who woke whom; neither pipes nor locks.

use super::{Cpu, History, Run, Span, State, Task, Waker};
use crate::recording::{Event, Recording, Stop};

/// What a recording says. Times count from its beginning.
pub fn from_recording(recording: &Recording) -> History {
    let mut out = History {
        topology: "unknown".into(),
        machine: format!("smp-{}", recording.nr_cpus),
        workload: recording.source.name().into(),
        end_ns: recording.duration_ns(),
        tasks: recording.threads.iter().map(|t| Task { name: t.name.clone(), ..Task::default() }).collect(),
        cpus: vec![Cpu::default(); recording.nr_cpus as usize],
        stages: Vec::new(),
        notes: recording.notes.clone(),
    };
    out.notes.push(
        "such a recording shows neither pipes nor locks: who ran on the CPU stands for the queue".into(),
    );
    let mut states: Vec<Option<(u64, State)>> = vec![None; out.tasks.len()];
    let mut turn = |out: &mut History, thread: u32, t: u64, next: Option<State>| {
        let old = std::mem::replace(&mut states[thread as usize], next.map(|s| (t, s)));
        if let Some((from_ns, state)) = old
            && t > from_ns
        {
            if let State::Running { cpu } = state {
                out.cpus[cpu as usize].runs.push(Run { from_ns, to_ns: t, task: thread });
            }
            out.tasks[thread as usize].spans.push(Span { from_ns, to_ns: t, state });
        }
    };
    for (at, event) in &recording.events {
        let t = at.saturating_sub(recording.begin_ns);
        match *event {
            Event::Ready { thread, by, .. } => {
                let by = match by {
                    Some(crate::Waker::Thread(n)) => Waker::Task(n),
                    Some(crate::Waker::Interrupt) => Waker::Nobody,
                    _ => Waker::Unknown,
                };
                turn(&mut out, thread, t, Some(State::Ready { by }));
            }
            Event::Run { thread, cpu } if cpu < recording.nr_cpus => {
                turn(&mut out, thread, t, Some(State::Running { cpu }));
            }
            Event::Off { thread, why, device, .. } => {
                let next = match why {
                    Stop::Preempted => Some(State::Ready { by: Waker::Unknown }),
                    Stop::Block => Some(State::Blocked {
                        on: if device { "device".into() } else { "".into() },
                        holder: None,
                    }),
                    Stop::Exit => None,
                };
                turn(&mut out, thread, t, next);
            }
            Event::Exit { thread } => turn(&mut out, thread, t, None),
            Event::Run { .. } | Event::Frequency { .. } => {}
        }
    }
    for thread in 0..out.tasks.len() as u32 {
        let end = out.end_ns;
        turn(&mut out, thread, end, None);
    }
    for cpu in &mut out.cpus {
        cpu.runs.sort_by_key(|r| r.from_ns);
    }
    out
}
