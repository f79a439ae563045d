// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which task runs on each CPU in each tick of a run.

use weir_core::Plan;
use weir_core::event::{Event, Observer};

use crate::run::{run, workload};
use crate::sets::Task;

/// The tick of `llf` in the catalogue, ns: the unit of time of the sets.
pub const TICK: u64 = 100_000;

/// What a CPU runs in a tick, by number; `None`: nothing.
pub type Row = Vec<Option<u32>>;

/// Seen from what runs at the end of each tick.
struct Ticks {
    now: Row,
    rows: Vec<Row>,
}

impl Ticks {
    /// Ticks that are over by `time` have been as things stand.
    fn catch_up(&mut self, time: u64) {
        while (self.rows.len() as u64 + 1) * TICK <= time {
            self.rows.push(self.now.clone());
        }
    }
}

impl Observer for Ticks {
    fn event(&mut self, time: u64, e: &Event<'_>) {
        self.catch_up(time);
        match *e {
            Event::Run { task, cpu, .. } => self.now[cpu as usize] = Some(task),
            Event::Off { cpu, .. } => self.now[cpu as usize] = None,
            _ => {}
        }
    }
}

/// The first `end` ticks of a set whose unit of time is the tick, and the number of deadlines missed.
pub fn per_cpu(plan: &Plan, cpus: u32, tasks: &[Task], end: u64) -> (Vec<Row>, u64) {
    let mut seen = Ticks { now: vec![None; cpus as usize], rows: Vec::new() };
    let out = run(plan, cpus, &workload(tasks, TICK), end * TICK, &mut seen);
    seen.catch_up(end * TICK);
    seen.rows.truncate(end as usize);
    (seen.rows, out.deadline_misses)
}
