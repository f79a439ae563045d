// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Interference on `m` equal CPUs: how long others can keep a job waiting. Deadlines are at most the periods.
//!
//! A job waits only while all CPUs are busy with others; so it waits at most for the `m`th part of what each of
//! them can do in its window, none for more than the time that is waited.

use crate::finding::{Finding, Kind, Test, Verdict};
use crate::task::{Stop, Task, all_constrained, no_jitter};

/// Rounds in which slack is passed from task to task.
const ROUNDS: usize = 40;
/// Most pieces of the interference that are looked at for a bound; tasks that need more get none.
const PIECES: u32 = 200_000;

/// The tasks that can delay a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rivals {
    /// Jobs with an earlier or equal deadline.
    Edf,
    /// Tasks whose `priority` is not below its own.
    Higher,
    /// Any task: holds for every policy that leaves no CPU idle while a job waits.
    All,
}

/// Most work of a task in a window of length `window`, if its jobs end `slack` before their deadlines: the first
/// one as late as it may, the others at once (Bertogna and Cirinei 2007, (4) and (8)).
fn workload(task: &Task, window: u128, slack: u128) -> u128 {
    let (c, t) = (u128::from(task.wcet), u128::from(task.period));
    let span = (window + u128::from(task.deadline)).saturating_sub(c + slack);
    span / t * c + c.min(span % t)
}

/// Most work of a task's jobs that are due in a window of that length which ends at one of their deadlines (the
/// same, (5) and (9)).
fn workload_due(task: &Task, window: u128, slack: u128) -> u128 {
    let (c, t) = (u128::from(task.wcet), u128::from(task.period));
    window / t * c + c.min((window % t).saturating_sub(slack))
}

/// A function of the response time around a value of it: what it is, and for how long it goes on in a straight line.
#[derive(Clone, Copy)]
struct Piece {
    value: u128,
    /// It grows by the ns, or not at all.
    grows: bool,
    /// The line is straight for so long; at least 1.
    length: u128,
}

/// [`workload`] around `window`.
fn piece(task: &Task, window: u128, slack: u128) -> Piece {
    let (c, t) = (u128::from(task.wcet), u128::from(task.period));
    let (end, lost) = (window + u128::from(task.deadline), c + slack);
    let value = workload(task, window, slack);
    if end < lost {
        return Piece { value, grows: false, length: lost - end };
    }
    let rest = (end - lost) % t;
    if rest < c {
        Piece { value, grows: true, length: (c - rest).min(t - rest) }
    } else {
        Piece { value, grows: false, length: t - rest }
    }
}

impl Piece {
    /// The lesser of both.
    fn min(self, other: Self) -> Self {
        let (low, high) = if (self.value, self.grows) <= (other.value, other.grows) {
            (self, other)
        } else {
            (other, self)
        };
        let length = low.length.min(high.length);
        // They meet where the lower one grows and the higher one does not.
        let meet = if low.grows && !high.grows { high.value - low.value } else { length };
        Self {
            length: if meet > 0 { length.min(meet) } else { length },
            grows: low.grows && (meet > 0 || high.grows),
            ..low
        }
    }
}

/// Work of the rivals of task `k` that can delay it, if it takes `response` from release to end; how much more it is for each ns that
/// it takes longer, and for how long that is so.
fn interference(
    tasks: &[Task],
    k: usize,
    response: u128,
    slack: &[u128],
    rivals: Rivals,
) -> (u128, u128, u128) {
    let own = &tasks[k];
    let longest = Piece { value: response + 1 - u128::from(own.wcet), grows: true, length: u128::MAX };
    let of = |(i, t): (usize, &Task)| {
        let any = piece(t, response, slack[i]).min(longest);
        match rivals {
            Rivals::Edf => {
                let due = workload_due(t, u128::from(own.deadline), slack[i]);
                any.min(Piece { value: due, grows: false, length: u128::MAX })
            }
            Rivals::Higher | Rivals::All => any,
        }
    };
    let others = tasks
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != k && (rivals != Rivals::Higher || tasks[*i].priority >= own.priority));
    others.map(of).fold((0, 0, u128::MAX), |(sum, slope, length), p| {
        (sum + p.value, slope + u128::from(p.grows), length.min(p.length))
    })
}

/// A bound of the response time of task `k`: the least fixed point of `r = C + floor(I(r) / m)`, or `None` where none within its
/// deadline is found. The interference is a line in pieces, so that is found piece by piece, not ns by ns.
fn response(tasks: &[Task], k: usize, m: u32, slack: &[u128], rivals: Rivals) -> Option<u128> {
    let (c, d, m) = (u128::from(tasks[k].wcet), u128::from(tasks[k].deadline), u128::from(m));
    let mut r = c;
    for _ in 0..PIECES {
        if r > d {
            return None;
        }
        let (work, slope, length) = interference(tasks, k, r, slack, rivals);
        let next = c + work / m;
        if next <= r {
            return Some(r);
        }
        // Within the piece, `floor((work + slope x) / m) <= r + x - c` holds from the least x on with `(m - slope) x > work - m (r - c + 1)`.
        let over = work - m * (r - c + 1);
        let step = if slope < m { over / (m - slope) + 1 } else { u128::MAX };
        r = if step < length { r + step } else { next.max(r.saturating_add(length)) };
    }
    None
}

/// Bounds of all response times, in rounds: what a task ends before its deadline makes those of the others
/// shorter.
fn rounds(tasks: &[Task], m: u32, rivals: Rivals, stop: Stop<'_>) -> Vec<Option<u128>> {
    let mut slack = vec![0u128; tasks.len()];
    let mut bounds = vec![None; tasks.len()];
    for _ in 0..ROUNDS {
        let mut better = false;
        for (k, bound) in bounds.iter_mut().enumerate() {
            if stop.is_set() {
                return vec![None; tasks.len()];
            }
            let Some(r) = response(tasks, k, m, &slack, rivals) else { continue };
            *bound = Some(bound.map_or(r, |b: u128| b.min(r)));
            let spare = u128::from(tasks[k].deadline) - r;
            if spare > slack[k] {
                slack[k] = spare;
                better = true;
            }
        }
        if !better || (rivals != Rivals::Edf && bounds.iter().all(Option::is_some)) {
            break;
        }
    }
    bounds
}

fn fitting(found: Finding, tasks: &[Task]) -> Finding {
    match () {
        () if !all_constrained(tasks) => found.inapplicable("a deadline is longer than its period"),
        () if !no_jitter(tasks) => found.inapplicable("releases have jitter"),
        () => found,
    }
}

/// Response-time analysis of global EDF, or of global fixed priorities. Pseudo-polynomial.
pub fn global_rta(tasks: &[Task], m: u32, rivals: Rivals, stop: Stop<'_>) -> Finding {
    let test = if rivals == Rivals::Edf { Test::RtaEdf } else { Test::RtaFp };
    let empty = Finding::new(Kind::Sufficient, test, "Bertogna and Cirinei 2007", false, String::new());
    if !all_constrained(tasks) || !no_jitter(tasks) {
        return fitting(empty, tasks);
    }
    let bounds = rounds(tasks, m, rivals, stop);
    let failed = bounds.iter().position(Option::is_none);
    let remark = failed.map_or_else(
        || "all bounds are within the deadlines".to_string(),
        |k| format!("no bound within the deadline for `{}`", tasks[k].name),
    );
    let verdict = if failed.is_none() { Verdict::Schedulable } else { Verdict::Undecided };
    // Without all of them the bounds rest on deadlines that may be missed.
    let response = bounds.iter().map(|b| b.and_then(|b| u64::try_from(b).ok()).filter(|_| failed.is_none()));
    Finding { kind: Kind::Sufficient, verdict, remark, response: response.collect(), ..empty }
}

/// Interference in the window of the deadline against the slack, in one step (M. Bertogna, M. Cirinei and
/// G. Lipari 2005). O(n^2).
pub fn bcl(tasks: &[Task], m: u32) -> Finding {
    let failed = tasks.iter().position(|k| {
        let Some(spare) = k.deadline.checked_sub(k.wcet).map(u128::from) else { return true };
        let others = tasks.iter().filter(|i| !std::ptr::eq(*i, k));
        let work: Vec<u128> = others.map(|i| workload_due(i, u128::from(k.deadline), 0)).collect();
        let sum: u128 = work.iter().map(|w| (*w).min(spare)).sum();
        let room = u128::from(m) * spare;
        // At the bound itself one rival that can fill no more than the slack is enough.
        !(sum < room || (sum == room && work.iter().any(|w| 0 < *w && *w <= spare)))
    });
    let remark = failed.map_or("all tasks pass".to_string(), |k| format!("fails for `{}`", tasks[k].name));
    let found = Finding::new(
        Kind::Sufficient,
        Test::Bcl,
        "Bertogna, Cirinei and Lipari 2005",
        failed.is_none(),
        remark,
    );
    fitting(found, tasks)
}

/// EDZL: a miss needs `m + 1` tasks that have run out of laxity at once. Tasks that no work-conserving policy can
/// keep waiting that long do not count (M. Cirinei and T. Baker 2007, with the coarser bound). O(n^2).
pub fn edzl(tasks: &[Task], m: u32) -> Finding {
    let slack = vec![0; tasks.len()];
    let critical = (0..tasks.len())
        .filter(|k| {
            let (c, d) = (u128::from(tasks[*k].wcet), u128::from(tasks[*k].deadline));
            if c >= d {
                return true;
            }
            // It may wait for less than its laxity: the window of its deadline less one.
            c + interference(tasks, *k, d - 1, &slack, Rivals::All).0 / u128::from(m) > d - 1
        })
        .count();
    let fit = tasks.iter().all(|t| t.wcet <= t.deadline);
    let remark =
        format!("{} may run out of laxity; {m} at once do no harm", weir_text::plural(critical, "task"));
    let found = Finding::new(
        Kind::Sufficient,
        Test::Edzl,
        "Cirinei and Baker 2007",
        fit && critical <= m as usize,
        remark,
    );
    fitting(found, tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_by_hand() {
        let task = Task::implicit(3, 10);
        // Carried in: ends at the window's begin + 3; the next begins 0 after it, at 3.
        assert_eq!(workload(&task, 3, 0), 3);
        assert_eq!(workload(&task, 8, 0), 3 + 3);
        assert_eq!(workload(&task, 8, 7), 3);
        assert_eq!(workload_due(&task, 25, 0), 2 * 3 + 3);
        assert_eq!(workload_due(&task, 22, 0), 2 * 3 + 2);
        assert_eq!(workload_due(&task, 22, 1), 2 * 3 + 1);
    }

    #[test]
    fn a_light_set_passes_all() {
        let tasks = vec![Task::implicit(1, 10); 6];
        assert_eq!(bcl(&tasks, 2).verdict, Verdict::Schedulable);
        assert_eq!(edzl(&tasks, 2).verdict, Verdict::Schedulable);
        for rivals in [Rivals::Edf, Rivals::Higher] {
            let found = global_rta(&tasks, 2, rivals, Stop::default());
            assert_eq!(found.verdict, Verdict::Schedulable);
            assert!(found.response.iter().flatten().all(|r| (1..=10).contains(r)), "{found:?}");
        }
    }

    /// The least fixed point, to the nanosecond: iteration by the ns is the definition.
    #[test]
    fn bounds_are_least_fixed_points() {
        let mut seed = 1u64;
        let mut dice = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut found = 0;
        for case in 0..2_000 {
            let m = 1 + dice(3) as u32;
            let tasks: Vec<Task> = (0..1 + dice(6))
                .map(|i| {
                    let period = 3 + dice(40);
                    let wcet = 1 + dice(period);
                    Task {
                        priority: i as i64 / 2,
                        ..Task::implicit(wcet, period).with_deadline(wcet + dice(period - wcet + 1))
                    }
                })
                .collect();
            let slack: Vec<u128> = tasks.iter().map(|t| u128::from(dice(t.deadline - t.wcet + 1))).collect();
            for rivals in [Rivals::Edf, Rivals::Higher, Rivals::All] {
                for k in 0..tasks.len() {
                    let (c, d) = (u128::from(tasks[k].wcet), u128::from(tasks[k].deadline));
                    let fits =
                        |r: &u128| c + interference(&tasks, k, *r, &slack, rivals).0 / u128::from(m) <= *r;
                    let least = (c..=d).find(fits);
                    assert_eq!(response(&tasks, k, m, &slack, rivals), least, "case {case}, {k}: {tasks:?}");
                    found += u64::from(least.is_some_and(|r| r > c));
                }
            }
        }
        assert!(found > 1_000, "{found}");
    }

    /// It was 5001.825 us in steps of a 4096th of the deadline.
    #[test]
    fn bounds_are_exact() {
        let tasks = vec![Task { priority: 1, ..Task::implicit(2_500_000, 10_000_000) }; 4];
        let found = global_rta(&tasks, 2, Rivals::Higher, Stop::default());
        assert!(found.response.iter().all(|r| r.is_some_and(|r| r.is_multiple_of(50_000))), "{found:?}");
    }

    /// Dhall's effect: light tasks with the earliest deadlines take all CPUs before a heavy one.
    #[test]
    fn the_heavy_task_of_dhall_fails() {
        let light = Task::implicit(2, 10);
        let tasks = [light.clone(), light, Task::implicit(10, 11)];
        assert_eq!(bcl(&tasks, 2).verdict, Verdict::Undecided);
        assert_eq!(global_rta(&tasks, 2, Rivals::Edf, Stop::default()).verdict, Verdict::Undecided);
        assert_eq!(edzl(&tasks, 2).verdict, Verdict::Schedulable, "one critical task is no harm");
        assert_eq!(bcl(&[Task::implicit(5, 4).with_deadline(4)], 2).verdict, Verdict::Undecided);
    }
}
