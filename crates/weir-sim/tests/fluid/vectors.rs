// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Small sets whose schedules are known tick by tick, and sets at which theory says that policies fail.

use weir_core::event::{Event, Observer};

use crate::run::{Blind, plan, run, workload};
use crate::sets::{MS, Task};

/// The tick of `llf` in the catalogue, ns: the unit of time of the sets.
const TICK: u64 = 100_000;

/// Who runs in each tick on each CPU, seen from what runs at its end.
struct Ticks {
    now: Vec<Option<u32>>,
    rows: Vec<Vec<Option<u32>>>,
    preemptions: u64,
}

impl Ticks {
    fn new(cpus: u32) -> Self {
        Self { now: vec![None; cpus as usize], rows: Vec::new(), preemptions: 0 }
    }

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
            Event::Preempted { .. } => self.preemptions += 1,
            _ => {}
        }
    }
}

fn task(wcet: u64, period: u64) -> Task {
    Task { wcet, period, offset: 0 }
}

/// The tasks that run in each tick, in order of their numbers, and the number of misses.
fn ticks(topology: &str, cpus: u32, tasks: &[Task], end: u64) -> (Vec<Vec<u32>>, u64) {
    let mut seen = Ticks::new(cpus);
    let out = run(&plan(topology, cpus), cpus, &workload(tasks, TICK), end * TICK, &mut seen);
    seen.catch_up(end * TICK);
    let rows = seen.rows.into_iter().take(end as usize).map(|row| {
        let mut running: Vec<u32> = row.into_iter().flatten().collect();
        running.sort_unstable();
        running
    });
    (rows.collect(), out.deadline_misses)
}

fn misses(topology: &str, cpus: u32, tasks: &[Task], end: u64) -> u64 {
    run(&plan(topology, cpus), cpus, &workload(tasks, MS), end * MS, &mut Blind).deadline_misses
}

/// How often another task, or none, is on the CPUs than in the tick before, the first tick included.
fn changes(rows: &[Vec<u32>]) -> usize {
    let before = std::iter::once(&Vec::new()).chain(rows).cloned().collect::<Vec<_>>();
    rows.iter().zip(before).map(|(row, before)| row.iter().filter(|t| !before.contains(t)).count()).sum()
}

const TIE: [Task; 2] = [Task { wcet: 5, period: 10, offset: 0 }; 2];
const THIRDS: [Task; 3] = [Task { wcet: 2, period: 3, offset: 0 }; 3];

/// Two short tasks and a long one.
fn long() -> [Task; 3] {
    [task(2, 10), task(2, 10), task(9, 10)]
}

/// Equal laxities: whoever runs stays for a tick more, then the other one has less.
#[test]
fn llf_changes_at_every_second_tick_of_a_tie() {
    let (rows, missed) = ticks("llf", 1, &TIE, 10);
    assert_eq!(rows.concat(), [0, 1, 1, 0, 0, 1, 1, 0, 0, 1]);
    assert_eq!((missed, changes(&rows)), (0, 6));
}

#[test]
fn mllf_changes_once_in_a_tie() {
    let (rows, missed) = ticks("mllf", 1, &TIE, 10);
    assert_eq!(rows.concat(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    assert_eq!((missed, changes(&rows)), (0, 2));
}

/// Three tasks of share 2/3 on two CPUs, which no policy of fixed job priorities can serve. Of equals the
/// oldest goes first.
#[test]
fn three_tasks_of_two_thirds() {
    let (rows, missed) = ticks("llf", 2, &THIRDS, 12);
    assert_eq!(rows, [[0, 1], [0, 2], [1, 2]].repeat(4));
    assert_eq!(missed, 0);
    assert_eq!(misses("edzl", 2, &THIRDS, 12), 0);
    assert_eq!(misses("mllf", 2, &THIRDS, 12), 0);
    assert!(misses("edf", 2, &THIRDS, 13) >= 4, "one a period");
    assert!(misses("rm", 2, &THIRDS, 13) >= 4, "one a period");
}

#[test]
fn a_long_task_beside_two_short_ones() {
    let (rows, missed) = ticks("llf", 2, &long(), 10);
    let expected: [&[u32]; 10] = [&[0, 2], &[1, 2], &[1, 2], &[0, 2], &[2], &[2], &[2], &[2], &[2], &[]];
    assert_eq!(rows, expected);
    assert_eq!((missed, changes(&rows)), (0, 4));
    assert_eq!(misses("edzl", 2, &long(), 10), 0);
    assert_eq!(misses("edf", 2, &long(), 11), 1);
}

/// Dhall's effect: m light tasks of short period and one of nearly a whole CPU; global edf and rm let the
/// heavy one miss at a load little above one CPU. The optimal policies, and edzl, do not.
#[test]
fn dhall() {
    for m in [2u32, 4, 8] {
        let mut tasks = vec![task(2, 50); m as usize];
        tasks.push(task(50, 51));
        for policy in ["edf", "rm"] {
            assert!(misses(policy, m, &tasks, 102) > 0, "{policy} on {m}");
        }
        for policy in ["edzl", "llf", "pd2", "dp-wrap", "run", "u-edf", "llref", "lre-tl"] {
            assert_eq!(misses(policy, m, &tasks, 51 * 10), 0, "{policy} on {m}");
        }
    }
}

/// EDZL is not optimal: at a load of exactly m CPUs it fails some sets that the optimal policies serve.
#[test]
fn edzl_misses_at_full_load() {
    let (mut dice, mut failed) = (crate::sets::Dice::new(7), 0);
    for _ in 0..40 {
        let set = crate::sets::full(4, &mut dice);
        let missed = misses("edzl", 4, &set.tasks, 2 * set.hyperperiod);
        failed += u32::from(missed > 0);
    }
    assert!(failed > 0);
}
