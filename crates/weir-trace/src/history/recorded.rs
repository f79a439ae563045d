// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A recording of another tool as a history: which thread ran where, in which CPU's queue it waited, and
//! which thread woke it; neither pipes nor locks.

use super::{Cpu, History, Run, Span, Stage, State, Task};
use crate::marks::Mark;
use crate::recording::{Event, Recording, Stop, Waker};

/// What a recording says. Times count from its beginning.
pub fn from_recording(recording: &Recording) -> History {
    let mut out = History {
        topology: "unknown".into(),
        machine: format!("smp-{}", recording.nr_cpus),
        workload: recording.source.name().into(),
        end_ns: recording.duration_ns(),
        tasks: recording
            .threads
            .iter()
            .map(|t| Task { name: t.name.clone(), prio: Some(t.prio), ..Task::default() })
            .collect(),
        cpus: vec![Cpu::default(); recording.nr_cpus as usize],
        stages: (0..recording.nr_cpus)
            .map(|cpu| Stage { exit: Some([cpu].into_iter().collect()), ..Stage::default() })
            .collect(),
        marks: recording
            .marks
            .iter()
            .map(|m| Mark { t_ns: m.t_ns.saturating_sub(recording.begin_ns), ..m.clone() })
            .collect(),
        any_cpu: true,
        notes: recording.notes.clone(),
    };
    out.notes.push(
        "such a recording shows neither pipes nor locks, nor which CPUs a thread may use: the tasks that ran on the CPU in \
         whose queue it stood are what it waited for"
            .into(),
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
    let mut seen = vec![false; recording.threads.len()];
    let mut without = 0;
    for (at, event) in &recording.events {
        let t = at.saturating_sub(recording.begin_ns);
        match *event {
            // First seen as it runs, without a wake-up: it may have slept, and its wake-up be lost or before the beginning.
            Event::Ready { thread, by: None, .. } if !seen[thread as usize] => {
                seen[thread as usize] = true;
                without += u64::from(t == 0);
            }
            Event::Ready { thread, by, .. } => {
                seen[thread as usize] = true;
                if let Some(by) = by {
                    out.tasks[thread as usize].woken.push((t, by));
                }
                let by = by.unwrap_or(Waker::Unknown);
                turn(&mut out, thread, t, Some(State::Ready { by }));
            }
            Event::Run { thread, cpu } if cpu < recording.nr_cpus => {
                seen[thread as usize] = true;
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
    for &(at, thread, cpu) in &recording.queued {
        out.tasks[thread as usize].places.push((at.saturating_sub(recording.begin_ns), cpu));
    }
    out.tasks.iter_mut().for_each(keep_sure_places);
    match without {
        0 => {}
        1 => out.notes.push(
            "1 thread is first seen running, without a wake-up: whether it waited before is not known, and no wait is counted".into(),
        ),
        n => out.notes.push(format!(
            "{n} threads are first seen running, without a wake-up: whether they waited before is not known, and no wait is counted"
        )),
    }
    out.notes.extend(recording.gaps());
    out
}

/// Many recordings lack `sched_migrate_task`: a thread that goes on elsewhere than where it stood moved at a time that is not known, and
/// where it stood then explains nothing.
fn keep_sure_places(task: &mut Task) {
    let places = std::mem::take(&mut task.places);
    // The last place of each wait is where it goes on, or none of the wait is sure.
    let sure = |&(at, _): &(u64, u32)| {
        let Some(wait) = task.at(at) else { return true };
        let end = task.spans[wait].to_ns;
        let next = task.spans.get(wait + 1).filter(|s| s.from_ns == end);
        let Some(State::Running { cpu }) = next.map(|s| &s.state) else { return true };
        let last = places.partition_point(|p| p.0 < end);
        last.checked_sub(1).is_some_and(|i| places[i].1 == *cpu)
    };
    let kept = places.iter().copied().filter(sure).collect();
    task.places = kept;
}
