// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What is displayed of a run at a moment. Simulated and live runs have the same frames.

use serde::Serialize;

/// The state of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    #[default]
    Running,
    /// As fast as it goes, to a moment that was asked for.
    Seeking,
    Paused,
    Done,
}

/// Durations, ns. Percentiles are at most one eighth too high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    pub count: u64,
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

/// One of the worst moments so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// `wakeup`, `late job` or `lock`.
    pub what: &'static str,
    /// When it was over, and how long it took, ns.
    pub at_ns: u64,
    pub ns: u64,
    pub task: String,
    /// Its number; `None`: it is about no task.
    pub number: Option<u32>,
    pub cpu: Option<u32>,
}

/// A moment. Lines, boxes and cells are numbered as in the picture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Frame {
    /// How often the run has begun again.
    pub take: u32,
    pub state: State,
    /// Virtual time, and how much of it the rates cover, ns.
    pub t_ns: u64,
    pub dt_ns: u64,
    pub events: u64,
    /// The topology in charge.
    pub topology: String,
    /// Of each line: tasks added in a second, tasks in it, most in one of its pipes, CPUs that wait for its locks on
    /// average, share of time for which its locks are held.
    pub lines: Vec<[f64; 5]>,
    /// Of each box: tasks before it, CPUs that run its code on average.
    pub boxes: Vec<[f64; 2]>,
    /// Boxes with cells: tasks before each member.
    pub cells: Vec<(usize, Vec<u32>)>,
    /// For each CPU: share of time for tasks and for the scheduler, percent; 255: offline.
    pub busy: Vec<u8>,
    pub sched: Vec<u8>,
    /// The task of each CPU, on machines with few.
    pub running: Vec<Option<String>>,
    /// Wake-up latencies and response times since the last frame, and of the whole run.
    pub wakeup: [Spread; 2],
    pub response: [Spread; 2],
    /// Of the whole run.
    pub jobs: u64,
    pub misses: u64,
    pub switches: u64,
    pub migrations: u64,
    pub preemptions: u64,
    pub worst: Vec<Moment>,
    /// Where it is paused: what has just happened, ns and words, the latest last.
    pub log: Vec<(u64, String)>,
}
