// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Earliest deadline first on one CPU.
//!
//! The demand of an interval is the work of all jobs that are released and due within it. A set is schedulable
//! if and only if no interval's demand exceeds its length (S. Baruah, L. Rosier and R. Howell 1990).

use num_traits::ToPrimitive;

use crate::finding::{Finding, Kind, Verdict};
use crate::task::{Exact, Task, all_implicit, density, no_jitter, shown, utilization, whole};

/// Most points of an interval test; sets that need more are left undecided.
const POINTS: u64 = 2_000_000;

/// U <= 1: exact for implicit deadlines. O(n).
pub fn full_utilization(tasks: &[Task]) -> Finding {
    let u = utilization(tasks);
    let remark = format!("U = {}, bound 1", shown(&u));
    let found = Finding::new(
        Kind::Exact,
        ["ll-edf", "utilization bound of EDF", "Liu and Layland 1973"],
        u <= whole(1),
        remark,
    );
    if found.verdict == Verdict::Unschedulable || (all_implicit(tasks) && no_jitter(tasks)) {
        found
    } else {
        found.inapplicable("deadlines differ from periods, or releases have jitter")
    }
}

/// The sum of C / min(D, T) is at most 1. O(n).
pub fn full_density(tasks: &[Task]) -> Finding {
    let sum = density(tasks);
    let remark = format!("density {}, bound 1", shown(&sum));
    let found = Finding::new(
        Kind::Sufficient,
        ["density", "density bound of EDF", "Liu and Layland 1973"],
        sum <= whole(1),
        remark,
    );
    if no_jitter(tasks) { found } else { found.inapplicable("releases have jitter") }
}

/// Most work of jobs that are released and due in an interval of length `t`.
pub fn demand(tasks: &[Task], t: u128) -> u128 {
    tasks.iter().map(|task| jobs_due(task, t) * u128::from(task.wcet)).sum()
}

fn jobs_due(task: &Task, t: u128) -> u128 {
    // A late release leaves less time: the deadline is nearer by the jitter.
    let due = u128::from(task.deadline.saturating_sub(task.jitter));
    if t < due { 0 } else { (t - due) / u128::from(task.period) + 1 }
}

/// No interval longer than this can be the first to be overloaded: the length of the synchronous busy period,
/// or Baruah's bound where that is shorter. `None` where U > 1 or neither is found.
fn horizon(tasks: &[Task]) -> Option<u128> {
    let u = utilization(tasks);
    if u > whole(1) {
        return None;
    }
    let busy = busy_period(tasks);
    if u == whole(1) {
        return busy;
    }
    let due = |t: &Task| t.deadline.saturating_sub(t.jitter);
    let early = |t: &Task| Exact::from_integer((i128::from(t.period) - i128::from(due(t))).into());
    let sum = tasks.iter().fold(whole(0), |s: Exact, t| s + early(t) * t.utilization());
    let bound = (sum / (whole(1) - u)).ceil().to_u128().unwrap_or(0);
    // A job that is due later than its period ends is in no such interval before its deadline.
    let late = tasks.iter().map(|t| u128::from(due(t).saturating_sub(t.period))).max().unwrap_or(0);
    let baruah = bound.max(late) + 1;
    Some(busy.map_or(baruah, |b| b.min(baruah)))
}

/// Length of the first interval without idle time when all tasks are released at once.
fn busy_period(tasks: &[Task]) -> Option<u128> {
    let mut length: u128 = tasks.iter().map(|t| u128::from(t.wcet)).sum();
    for _ in 0..POINTS {
        let next = tasks
            .iter()
            .map(|t| (length + u128::from(t.jitter)).div_ceil(u128::from(t.period)) * u128::from(t.wcet));
        let next = next.sum();
        if next == length {
            return Some(length.max(1));
        }
        length = next;
    }
    None
}

/// The longest interval whose demand matters, ns; or what can be said without looking at any.
fn longest_interval(tasks: &[Task], make: impl Fn(bool, String) -> Finding) -> Result<u128, Finding> {
    if utilization(tasks) > whole(1) {
        return Err(make(false, format!("U = {}", shown(&utilization(tasks)))));
    }
    horizon(tasks).ok_or_else(|| make(true, String::new()).inapplicable("the busy period is too long"))
}

/// The demand of every interval that ends at a deadline, one after the other. Pseudo-polynomial for U < 1.
pub fn processor_demand(tasks: &[Task], milder: bool) -> Finding {
    let make = |passed, remark| {
        Finding::new(
            Kind::Exact,
            ["demand", "processor demand", "Baruah, Rosier and Howell 1990"],
            passed,
            remark,
        )
    };
    let end = match longest_interval(tasks, make) {
        Ok(end) => end,
        Err(finding) => return finding,
    };
    let points: u128 = tasks.iter().map(|t| end / u128::from(t.period) + 1).sum();
    if points > u128::from(POINTS) {
        return make(true, String::new()).inapplicable(&format!("there are {points} intervals to look at"));
    }
    let mut due: Vec<u128> = Vec::with_capacity(points as usize);
    for t in tasks {
        let first = u128::from(t.deadline.saturating_sub(t.jitter));
        due.extend((0..).map(|k| first + k * u128::from(t.period)).take_while(|d| *d <= end));
    }
    due.sort_unstable();
    due.dedup();
    let count = due.len();
    match due.into_iter().find(|t| demand(tasks, *t) > *t) {
        Some(t) => make(false, format!("in {t} ns there is work for {} ns", demand(tasks, t))),
        None => make(true, format!("{count} intervals, the longest {end} ns")),
    }
    .unless(milder, "with these offsets it may do better")
}

/// The same answer from few intervals: from the longest one down, each step as far as the demand allows
/// (F. Zhang and A. Burns 2009).
pub fn quick_demand(tasks: &[Task], milder: bool) -> Finding {
    let make = |passed, remark| {
        Finding::new(
            Kind::Exact,
            ["qpa", "quick processor-demand analysis", "Zhang and Burns 2009"],
            passed,
            remark,
        )
    };
    let end = match longest_interval(tasks, make) {
        Ok(end) => end,
        Err(finding) => return finding,
    };
    let first = tasks.iter().map(|t| u128::from(t.deadline.saturating_sub(t.jitter))).min().unwrap_or(0);
    let mut looked = 0u64;
    let mut at = last_due_before(tasks, end + 1);
    while let Some(t) = at {
        looked += 1;
        if looked > POINTS {
            return make(true, String::new()).inapplicable("there are too many intervals to look at");
        }
        let h = demand(tasks, t);
        if h > t {
            return make(false, format!("in {t} ns there is work for {h} ns"))
                .unless(milder, "with these offsets it may do better");
        }
        if h <= first {
            break;
        }
        at = if h < t { Some(h) } else { last_due_before(tasks, t) };
    }
    make(true, format!("{looked} intervals"))
}

/// The latest deadline before `t` when all tasks are released at 0.
fn last_due_before(tasks: &[Task], t: u128) -> Option<u128> {
    let last = |task: &Task| {
        let due = u128::from(task.deadline.saturating_sub(task.jitter));
        (due < t).then(|| due + (t - 1 - due) / u128::from(task.period) * u128::from(task.period))
    };
    tasks.iter().filter_map(last).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(tasks: &[(u64, u64, u64)]) -> Vec<Task> {
        tasks.iter().map(|(c, d, t)| Task::implicit(*c, *t).with_deadline(*d)).collect()
    }

    #[test]
    fn by_hand() {
        // (C, D, T): the demand of 6 is 2 + 2 + 2 = 6, that of 5 is 4.
        let good = set(&[(2, 4, 6), (2, 5, 8), (2, 6, 12)]);
        assert_eq!(demand(&good, 6), 6);
        assert_eq!(quick_demand(&good, false).verdict, Verdict::Schedulable);
        let bad = set(&[(2, 4, 6), (2, 5, 8), (3, 6, 12)]);
        assert_eq!(quick_demand(&bad, false).verdict, Verdict::Unschedulable);
        assert_eq!(quick_demand(&bad, true).verdict, Verdict::Undecided);
        let full = set(&[(1, 2, 2), (1, 3, 3), (1, 6, 6)]);
        assert_eq!(full_utilization(&full).verdict, Verdict::Schedulable);
        assert_eq!(full_density(&good).verdict, Verdict::Undecided);
    }

    proptest! {
        /// The quick test and the plain one agree, whatever the deadlines.
        #[test]
        fn both_demand_tests_agree(raw in prop::collection::vec((1u64..8, 1u64..40, 4u64..40, 0u64..3), 1..6)) {
            let tasks: Vec<Task> = raw.iter().map(|(c, d, t, j)| Task {
                jitter: *j, ..Task::implicit(*c, *t).with_deadline((*d).max(*c + *j))
            }).collect();
            let (a, b) = (processor_demand(&tasks, false), quick_demand(&tasks, false));
            prop_assert_eq!(a.verdict, b.verdict, "{} / {}", a.remark, b.remark);
        }
    }
}
