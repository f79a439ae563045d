// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Small sets whose schedules are known tick by tick, and sets at which theory says that policies fail.

use crate::run::{Blind, plan, run, workload};
use crate::sets::{MS, Task};
use crate::ticks::per_cpu;

fn task(wcet: u64, period: u64) -> Task {
    Task { wcet, period, offset: 0 }
}

/// The tasks that run in each tick, in order of their numbers, and the number of misses.
fn ticks(topology: &str, cpus: u32, tasks: &[Task], end: u64) -> (Vec<Vec<u32>>, u64) {
    let (rows, missed) = per_cpu(&plan(topology, cpus), cpus, tasks, end);
    let rows = rows.into_iter().map(|row| {
        let mut running: Vec<u32> = row.into_iter().flatten().collect();
        running.sort_unstable();
        running
    });
    (rows.collect(), missed)
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

/// Equal laxities: the running task stays for a tick more, then the other one has less.
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

/// Three tasks of share 2/3 on two CPUs, which no policy of fixed job priorities can serve. What `llf` does in
/// each tick is in `laxity.rs`.
#[test]
fn three_tasks_of_two_thirds() {
    for topology in ["llf", "llf-tick", "mllf", "edzl"] {
        assert_eq!(misses(topology, 2, &THIRDS, 12), 0, "{topology}");
    }
    assert_eq!(misses("edf", 2, &THIRDS, 13), 4, "one a period");
    assert!(misses("rm", 2, &THIRDS, 13) >= 4, "one a period");
}

#[test]
fn a_long_task_beside_two_short_ones() {
    let (rows, missed) = ticks("edzl", 2, &long(), 10);
    assert_eq!(
        (missed, changes(&rows)),
        (0, 4),
        "two short ones, the long one without laxity, a short one again"
    );
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

/// EDZL against EDF on random sets of up to full load: where EDF meets all deadlines so does EDZL, which serves
/// many more (Park et al., "Comparison of deadline-based scheduling algorithms for periodic real-time tasks on
/// multiprocessor", 2005), but it is not optimal: at a load of exactly m CPUs it fails some sets.
#[test]
fn edzl_dominates_edf_and_is_not_optimal() {
    let mut dice = crate::sets::Dice::new(7);
    let (mut edf_alone, mut edzl_alone, mut failed) = (0, 0, 0);
    for i in 0..90 {
        let m = 2 + i % 3;
        let mut set = crate::sets::full(u64::from(m), &mut dice);
        // A third of the sets each: full, without one task, with shorter jobs.
        match i / 3 % 3 {
            1 => drop(set.tasks.pop()),
            2 => set.tasks.iter_mut().for_each(|t| t.wcet = (t.wcet * 9 / 10).max(1)),
            _ => {}
        }
        let met = |policy| misses(policy, m, &set.tasks, 2 * set.hyperperiod) == 0;
        let (edf, edzl) = (met("edf"), met("edzl"));
        edf_alone += u32::from(edf && !edzl);
        edzl_alone += u32::from(edzl && !edf);
        failed += u32::from(!edzl);
    }
    assert_eq!(edf_alone, 0);
    assert!(edzl_alone >= 20 && failed >= 1, "{edzl_alone} by EDZL only, {failed} not even by that");
}
