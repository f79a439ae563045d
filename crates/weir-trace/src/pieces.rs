// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What each thread did, as steps: computing in one piece from one wait to the next, waits by their cause, wake-ups.

use crate::recording::{Event, Recording, Stop, Waker};

/// How fast each CPU computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speeds {
    /// Capacity of each CPU at its top clock; 1024 is the fastest.
    pub capacity: Vec<u32>,
    /// Highest clock of each CPU, kHz; 0: not known, the highest that was seen counts.
    pub top_khz: Vec<u64>,
}

impl Speeds {
    /// All CPUs alike.
    pub fn equal(nr_cpus: u32) -> Self {
        Self { capacity: vec![1024; nr_cpus as usize], top_khz: vec![0; nr_cpus as usize] }
    }
}

/// One step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Compute, as time on a CPU of capacity 1024 at its top clock.
    Run(u64),
    Signal(u32),
    Fork(u32),
    /// Blocked until another thread signals, which it did at this time.
    Await(u64),
    /// Blocked until this time of the recording.
    Until(u64),
    /// Blocked for a device, for this time.
    Device(u64),
}

/// How a thread began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    At(u64),
    Forked,
}

/// A thread's steps.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub start: Start,
    /// When it was first and last heard of, ns since the beginning.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub steps: Vec<Step>,
    /// The CPUs that it ran on: the only one, where there is only one.
    pub only_cpu: Option<u32>,
    pub nr_runs: u64,
}

struct Now {
    /// Since when it runs, and where.
    running: Option<(u64, u32)>,
    /// Work since the last wait, in 1024ths of a ns of clock time.
    work: u128,
    blocked: Option<(u64, bool)>,
}

/// The histories of all threads that did something.
pub(crate) fn histories(recording: &Recording, speeds: &Speeds) -> Vec<Option<History>> {
    let n = recording.threads.len();
    let mut out: Vec<Option<History>> = (0..n).map(|_| None).collect();
    let mut now: Vec<Now> = (0..n).map(|_| Now { running: None, work: 0, blocked: None }).collect();
    let nr = recording.nr_cpus as usize;
    let capacity = |c: usize| u128::from(speeds.capacity.get(c).copied().unwrap_or(1024));
    let top = |c: usize| match speeds.top_khz.get(c).copied().unwrap_or(0) {
        0 => recording.top_khz.get(&(c as u32)).copied().unwrap_or(0),
        khz => khz,
    };
    // Capacity now: as given, less where the clock is lower.
    let mut speed: Vec<u128> = (0..nr).map(capacity).collect();
    let mut on: Vec<Option<u32>> = vec![None; nr];
    let settle = |now: &mut Now, t: u64, speed: &[u128]| {
        if let Some((since, cpu)) = now.running {
            now.work += u128::from(t - since) * speed[cpu as usize];
            now.running = Some((t, cpu));
        }
    };
    let flush = |now: &mut Now, history: &mut History| {
        let ns = u64::try_from(now.work / 1024).unwrap_or(u64::MAX);
        now.work %= 1024;
        match history.steps.last_mut() {
            _ if ns == 0 => {}
            Some(Step::Run(last)) => *last += ns,
            _ => history.steps.push(Step::Run(ns)),
        }
    };
    for &(at, event) in &recording.events {
        let t = at - recording.begin_ns;
        match event {
            Event::Frequency { cpu, khz } => {
                let c = cpu as usize;
                if c >= nr || top(c) == 0 {
                    continue;
                }
                if let Some(i) = on[c] {
                    settle(&mut now[i as usize], t, &speed);
                }
                speed[c] = (capacity(c) * u128::from(khz.min(top(c))) / u128::from(top(c))).max(1);
            }
            Event::Ready { thread, by, new } => {
                let i = thread as usize;
                let existed = out[i].is_some();
                let waker = match by {
                    Some(Waker::Thread(w)) if out[w as usize].is_some() && w != thread => Some(w as usize),
                    _ => None,
                };
                let forked = new && waker.is_some() && !existed;
                let history = out[i].get_or_insert_with(|| History {
                    start: if forked { Start::Forked } else { Start::At(t) },
                    began_ns: t,
                    ended_ns: t,
                    steps: Vec::new(),
                    only_cpu: None,
                    nr_runs: 0,
                });
                history.ended_ns = t;
                let blocked = now[i].blocked.take();
                let signalled = existed && by.is_some() && waker.is_some();
                if existed && by.is_some() {
                    history.steps.push(match (signalled, blocked) {
                        (true, _) => Step::Await(t),
                        (false, Some((since, true))) => Step::Device(t - since),
                        _ => Step::Until(t),
                    });
                }
                if let Some(w) = waker.filter(|_| signalled || forked) {
                    settle(&mut now[w], t, &speed);
                    let history = out[w].as_mut().expect("it is known");
                    flush(&mut now[w], history);
                    history.steps.push(if forked { Step::Fork(thread) } else { Step::Signal(thread) });
                }
            }
            Event::Run { thread, cpu } => {
                let i = thread as usize;
                let Some(history) = out[i].as_mut().filter(|_| (cpu as usize) < nr) else { continue };
                history.only_cpu = match history.nr_runs {
                    0 => Some(cpu),
                    _ => history.only_cpu.filter(|c| *c == cpu),
                };
                history.nr_runs += 1;
                now[i].running = Some((t, cpu));
                on[cpu as usize] = Some(thread);
            }
            Event::Off { thread, cpu, why, device } => {
                let i = thread as usize;
                let Some(history) = out[i].as_mut().filter(|_| (cpu as usize) < nr) else { continue };
                settle(&mut now[i], t, &speed);
                now[i].running = None;
                on[cpu as usize] = None;
                history.ended_ns = t;
                if why != Stop::Preempted {
                    flush(&mut now[i], history);
                    now[i].blocked = Some((t, device));
                }
            }
            Event::Exit { thread } => {
                if let Some(history) = out[thread as usize].as_mut() {
                    history.ended_ns = t;
                }
            }
        }
    }
    let end = recording.duration_ns();
    for (now, history) in now.iter_mut().zip(&mut out) {
        if let Some(history) = history {
            settle(now, end, &speed);
            flush(now, history);
            if now.running.is_some() {
                history.ended_ns = end;
            }
        }
    }
    // A wake-up without anything that it brought about is not part of a program.
    for history in out.iter_mut().flatten() {
        while matches!(history.steps.last(), Some(Step::Until(_) | Step::Device(_))) {
            history.steps.pop();
        }
    }
    for history in &mut out {
        let idle = history.as_ref().is_some_and(|h| h.start != Start::Forked && h.steps.is_empty());
        if idle {
            *history = None;
        }
    }
    out
}

/// Like threads have one label: digits do not count, nor what a kernel worker works on.
pub(crate) fn label(name: &str) -> String {
    let kernel = name.find(['/', ':']).filter(|at| *at > 0);
    let name = kernel.map_or(name, |at| &name[..at]);
    let mut out = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_digit() { 'N' } else { c };
        if !(c == 'N' && out.ends_with('N')) {
            out.push(c);
        }
    }
    let short = out.trim_end_matches('N').trim_end_matches(['-', '_', '.', '#', ' ']);
    if short.is_empty() { name.to_string() } else { short.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_threads_have_one_label() {
        for (name, want) in [
            ("kworker/0:1", "kworker"),
            ("kworker/u8:2-ev", "kworker"),
            ("ksoftirqd/11", "ksoftirqd"),
            ("tokio-rt-worker", "tokio-rt-worker"),
            ("worker-12", "worker"),
            ("pool-3-thread-7", "pool-N-thread"),
            ("7", "7"),
            ("/x", "/x"),
        ] {
            assert_eq!(label(name), want, "{name}");
        }
    }
}
