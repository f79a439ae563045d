// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tasks to CPUs for good, as the component `partition` does it.
//!
//! S. Dhall and C. Liu 1978; J. Lopez, J. Diaz and D. Garcia 2004. Load is computing time over the shorter of
//! period and relative deadline, in fixed point and rounded down as the component's.

use crate::task::Task;

/// Load of a CPU of capacity 1024.
const FULL: u64 = 1 << 32;

/// Which of the CPUs with room a task gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    First,
    /// The fullest.
    Best,
    /// The emptiest.
    Worst,
}

/// Which task is on which CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Tasks of each CPU, by index, in the order in which they came.
    pub cpus: Vec<Vec<usize>>,
    /// A task had no room anywhere, and went to the emptiest CPU.
    pub overload: bool,
}

fn load(t: &Task) -> u64 {
    let span = t.period.min(t.deadline);
    match span {
        0 => 0,
        _ if t.wcet >= span => FULL,
        _ => u64::try_from(u128::from(t.wcet) * u128::from(FULL) / u128::from(span)).unwrap_or(FULL),
    }
}

/// Place tasks in the order of their first releases on `cpus` CPUs of capacity 1024, of which each may carry
/// `bound_pct` percent. O(n cpus).
pub fn partition(tasks: &[Task], cpus: u32, fit: Fit, bound_pct: u64) -> Partition {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|i| tasks[*i].offset);
    place(tasks, &order, cpus, fit, bound_pct)
}

/// The same with the heaviest tasks first.
pub fn partition_decreasing(tasks: &[Task], cpus: u32, fit: Fit, bound_pct: u64) -> Partition {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(load(&tasks[*i])));
    place(tasks, &order, cpus, fit, bound_pct)
}

fn place(tasks: &[Task], order: &[usize], cpus: u32, fit: Fit, bound_pct: u64) -> Partition {
    let room = FULL / 100 * bound_pct + FULL % 100 * bound_pct / 100;
    let mut loads = vec![0u64; cpus.max(1) as usize];
    let mut result = Partition { cpus: vec![Vec::new(); loads.len()], overload: false };
    for task in order {
        let own = load(&tasks[*task]);
        let mut with_room = (0..loads.len()).filter(|c| loads[*c] + own <= room);
        let chosen = match fit {
            Fit::First => with_room.next(),
            // Of equals the first, as the component takes them.
            Fit::Best => with_room.rev().max_by_key(|c| loads[*c]),
            Fit::Worst => with_room.min_by_key(|c| loads[*c]),
        };
        let chosen = chosen.unwrap_or_else(|| {
            result.overload = true;
            (0..loads.len()).min_by_key(|c| loads[*c]).expect("there is a CPU")
        });
        loads[chosen] += own;
        result.cpus[chosen].push(*task);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(percents: &[u64]) -> Vec<Task> {
        percents.iter().map(|p| Task::implicit(*p, 100)).collect()
    }

    #[test]
    fn each_fit_has_its_place() {
        let set = tasks(&[60, 50, 20, 30]);
        assert_eq!(partition(&set, 3, Fit::First, 100).cpus, [vec![0, 2], vec![1, 3], vec![]]);
        assert_eq!(partition(&set, 3, Fit::Best, 100).cpus, [vec![0, 2], vec![1, 3], vec![]]);
        assert_eq!(partition(&set, 3, Fit::Worst, 100).cpus, [vec![0], vec![1], vec![2, 3]]);
        let set = tasks(&[50, 60, 40]);
        assert_eq!(partition(&set, 2, Fit::First, 100).cpus, [vec![0, 2], vec![1]]);
        assert_eq!(partition(&set, 2, Fit::Best, 100).cpus, [vec![0], vec![1, 2]]);
    }

    #[test]
    fn what_fits_nowhere_goes_to_the_emptiest() {
        let full = partition(&tasks(&[70, 60, 50]), 2, Fit::First, 100);
        assert_eq!((full.cpus, full.overload), (vec![vec![0], vec![1, 2]], true));
        assert!(partition(&tasks(&[60]), 1, Fit::First, 50).overload);
    }

    #[test]
    fn sorting_helps() {
        let set = tasks(&[30, 30, 70, 70]);
        assert!(partition(&set, 2, Fit::First, 100).overload);
        assert!(!partition_decreasing(&set, 2, Fit::First, 100).overload);
    }
}
