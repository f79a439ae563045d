// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Fixed priorities on one CPU: a task is delayed by all whose `priority` is not below its own.

use num_traits::ToPrimitive;

use crate::finding::{Finding, Kind};
use crate::task::{Exact, Task, all_implicit, no_jitter, shown, utilization, whole};

/// Errors of the floating point comparison fall on the safe side by this much.
const MARGIN: f64 = 1e-9;
/// Most steps of an iteration; sets that need more are left undecided.
const STEPS: u64 = 2_000_000;

/// Why the two utilization bounds say nothing.
fn unfit(tasks: &[Task], rate_monotonic: bool) -> Option<&'static str> {
    match () {
        () if !rate_monotonic => Some("priorities are not by rate"),
        () if !all_implicit(tasks) => Some("deadlines differ from periods"),
        () if !no_jitter(tasks) => Some("releases have jitter"),
        () => None,
    }
}

/// U <= n (2^(1/n) - 1). O(n).
pub fn liu_layland(tasks: &[Task], rate_monotonic: bool) -> Finding {
    let n = tasks.len().max(1) as f64;
    let bound = n * ((2f64.ln() / n).exp() - 1.0);
    let u = utilization(tasks);
    let passed = u.to_f64().is_some_and(|u| u <= bound - MARGIN) || (tasks.len() == 1 && u <= whole(1));
    let remark = format!("U = {}, bound {bound:.3}", shown(&u));
    let found = Finding::new(
        Kind::Sufficient,
        ["ll-rm", "utilization bound of RM", "Liu and Layland 1973"],
        passed,
        remark,
    );
    unfit(tasks, rate_monotonic).map_or(found.clone(), |why| found.inapplicable(why))
}

/// The product of U_i + 1 is at most 2. O(n), exact arithmetic.
pub fn hyperbolic(tasks: &[Task], rate_monotonic: bool) -> Finding {
    let product = tasks.iter().fold(whole(1), |p: Exact, t| p * (t.utilization() + whole(1)));
    let remark = format!("product {}, bound 2", shown(&product));
    let found = Finding::new(
        Kind::Sufficient,
        ["hyperbolic", "hyperbolic bound of RM", "Bini, Buttazzo and Buttazzo 2003"],
        product <= whole(2),
        remark,
    );
    unfit(tasks, rate_monotonic).map_or(found.clone(), |why| found.inapplicable(why))
}

/// What is known of a task's worst response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// It is this, ns.
    Worst(u64),
    /// It grows without bound.
    Unbounded,
    /// The iteration was given up.
    Unknown,
}

/// Worst response time of the last of `tasks` under those before it, from its release. Jobs of the busy period
/// are looked at in turn, so deadlines may be longer than periods; release jitter is part of the response.
///
/// M. Joseph and P. Pandya 1986; N. Audsley et al. 1993; J. Lehoczky 1990; K. Tindell 1994. Pseudo-polynomial.
pub fn worst_response(tasks: &[Task]) -> Response {
    let Some((own, higher)) = tasks.split_last() else { return Response::Worst(0) };
    let u = utilization(tasks);
    if u > whole(1) {
        return Response::Unbounded;
    }
    let (c, period, jitter) = (u128::from(own.wcet), u128::from(own.period), u128::from(own.jitter));
    let mut steps = 0;
    let (mut worst, mut job) = (0u128, 0u128);
    let mut w = c;
    loop {
        // The work of this job and of those before it ends at the least fixed point.
        w = w.max((job + 1) * c);
        loop {
            let demand = higher.iter().fold((job + 1) * c, |sum, t| {
                let jobs = (w + u128::from(t.jitter)).div_ceil(u128::from(t.period));
                sum + jobs * u128::from(t.wcet)
            });
            steps += 1;
            if steps > STEPS {
                return Response::Unknown;
            }
            if demand == w {
                break;
            }
            w = demand;
        }
        worst = worst.max((w + jitter).saturating_sub(job * period));
        if w + jitter <= (job + 1) * period {
            return u64::try_from(worst).map_or(Response::Unknown, Response::Worst);
        }
        job += 1;
    }
}

/// The tasks that delay task `k`, and itself at the end.
fn with_rivals(tasks: &[Task], k: usize) -> Vec<Task> {
    let rival = |(i, t): &(usize, &Task)| *i != k && t.priority >= tasks[k].priority;
    let mut set: Vec<Task> = tasks.iter().enumerate().filter(rival).map(|(_, t)| t.clone()).collect();
    set.push(tasks[k].clone());
    set
}

/// Response-time analysis of all tasks. Of two with equal priorities each is counted as above the other; `milder`:
/// the offsets may keep the worst case from happening.
pub fn response_times(tasks: &[Task], milder: bool) -> Finding {
    let all: Vec<Response> = (0..tasks.len()).map(|k| worst_response(&with_rivals(tasks, k))).collect();
    let mut levels: Vec<i64> = tasks.iter().map(|t| t.priority).collect();
    levels.sort_unstable();
    let ties = levels.windows(2).any(|w| w[0] == w[1]);
    let late = |(r, t): (&Response, &Task)| match r {
        Response::Worst(r) => *r > t.deadline,
        Response::Unbounded => true,
        Response::Unknown => false,
    };
    let failed = all.iter().zip(tasks).position(late);
    let unknown = all.contains(&Response::Unknown);
    let remark = match failed {
        Some(i) => match all[i] {
            Response::Worst(r) => {
                format!("`{}` may take {r} ns, its deadline is {} ns", tasks[i].name, tasks[i].deadline)
            }
            _ => format!("the response time of `{}` grows without bound", tasks[i].name),
        },
        None if unknown => "the iteration is too long".to_string(),
        None => "all response times are within the deadlines".to_string(),
    };
    let source = if tasks.iter().any(|t| t.deadline > t.period) {
        "Lehoczky 1990; Tindell 1994"
    } else {
        "Joseph and Pandya 1986; Audsley et al. 1993"
    };
    let mut found =
        Finding::new(Kind::Exact, ["rta", "response-time analysis", source], failed.is_none(), remark)
            .with_response(
                all.iter().map(|r| if let Response::Worst(r) = r { Some(*r) } else { None }).collect(),
            );
    if unknown && failed.is_none() {
        found.verdict = crate::Verdict::Undecided;
    }
    // An unbounded response is one under any offsets, and whatever order equals have.
    let certain = failed.is_some_and(|i| all[i] == Response::Unbounded);
    found
        .unless(milder && !certain, "with these offsets it may do better")
        .unless(ties && !certain, "equal priorities may be milder than assumed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    /// Bini and Buttazzo's point: the product decides more than the sum.
    #[test]
    fn hyperbolic_dominates_liu_and_layland() {
        let tasks = [Task::implicit(3, 4), Task::implicit(1, 8)];
        assert_eq!(liu_layland(&tasks, true).verdict, Verdict::Undecided);
        assert_eq!(hyperbolic(&tasks, true).verdict, Verdict::Schedulable);
        assert!(hyperbolic(&tasks, false).remark.contains("not by rate"));
    }

    /// Joseph and Pandya's recurrence by hand: C = 3, 3, 5; T = 7, 12, 20 gives 3, 6, 20.
    #[test]
    fn response_times_by_hand() {
        let level = |priority, task| Task { priority, ..task };
        let tasks = [
            level(3, Task::implicit(3, 7)),
            level(2, Task::implicit(3, 12)),
            level(1, Task::implicit(5, 20)),
        ];
        let found = response_times(&tasks, false);
        assert_eq!(found.response, [Some(3), Some(6), Some(20)]);
        assert_eq!(found.verdict, Verdict::Schedulable);
    }

    /// Lehoczky's example (1990): C = 26, 62; T = 70, 100. The first job is not the worst one.
    #[test]
    fn the_worst_job_may_be_a_later_one() {
        let tasks = [Task::implicit(26, 70), Task::implicit(62, 100).with_deadline(118)];
        assert_eq!(worst_response(&tasks), Response::Worst(118));
        assert_eq!(worst_response(&[Task::implicit(26, 70), Task::implicit(63, 70)]), Response::Unbounded);
    }

    #[test]
    fn jitter_adds_to_delay_and_response() {
        let early = Task { jitter: 3, ..Task::implicit(2, 10) };
        let tasks = [early, Task { jitter: 1, ..Task::implicit(6, 20) }];
        // The first has a job at once and another after 7; 6 + 2 + 2 = 10 > 7, plus its own jitter.
        assert_eq!(worst_response(&tasks), Response::Worst(11));
    }
}
