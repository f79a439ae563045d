// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Fixed priorities on one CPU: a task is delayed by all whose `priority` is not below its own.

use num_traits::ToPrimitive;

use crate::finding::{Finding, Kind, Test, Verdict};
use crate::locks::{Locking, Original};
use crate::task::{
    Background, Exact, Gaps, Stop, Task, all_implicit, no_jitter, ratio, shown, time, utilization, whole,
};

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
    let found = Finding::new(Kind::Sufficient, Test::LlRm, "Liu and Layland 1973", passed, remark);
    unfit(tasks, rate_monotonic).map_or(found.clone(), |why| found.inapplicable(why))
}

/// The product of U_i + 1 is at most 2. O(n), exact arithmetic.
pub fn hyperbolic(tasks: &[Task], rate_monotonic: bool) -> Finding {
    let product = tasks.iter().fold(whole(1), |p: Exact, t| p * (t.utilization() + whole(1)));
    let remark = format!("product {}, bound 2", shown(&product));
    let found = Finding::new(
        Kind::Sufficient,
        Test::Hyperbolic,
        "Bini, Buttazzo and Buttazzo 2003",
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

/// What a job of the task itself waits for, on top of more urgent tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extra {
    /// Once in a busy period, ns.
    first: u64,
    /// For each of its jobs, ns.
    each: u64,
}

/// Worst response time of the last of `tasks` under those before it, from its release. Jobs of the busy period
/// are looked at in turn, so deadlines may be longer than periods; release jitter is part of the response.
///
/// M. Joseph and P. Pandya 1986; N. Audsley et al. 1993; J. Lehoczky 1990; K. Tindell 1994. Pseudo-polynomial.
pub fn worst_response(tasks: &[Task]) -> Response {
    worst_with(tasks, Extra::default())
}

/// The same with blocking (L. Sha, R. Rajkumar and J. Lehoczky 1990; K. Tindell 1994).
fn worst_with(tasks: &[Task], extra: Extra) -> Response {
    let Some((own, higher)) = tasks.split_last() else { return Response::Worst(0) };
    let each = u128::from(own.wcet) + u128::from(extra.each);
    let Ok(longer) = u64::try_from(each) else { return Response::Unknown };
    let load = utilization(higher) + ratio(longer, own.period);
    // At full load a busy period that begins with more than its jobs never ends.
    if load == whole(1) && (extra.first > 0 || !no_jitter(tasks)) {
        return Response::Unknown;
    }
    if load > whole(1) {
        // Only what computes makes an overload.
        return if utilization(tasks) > whole(1) { Response::Unbounded } else { Response::Unknown };
    }
    let (period, jitter) = (u128::from(own.period), u128::from(own.jitter));
    let mut steps = 0;
    let (mut worst, mut job) = (0u128, 0u128);
    let mut w = 0;
    loop {
        // The work of this job and of those before it ends at the least fixed point.
        let base = u128::from(extra.first) + (job + 1) * each;
        w = base.max(w);
        loop {
            let demand = higher.iter().fold(base, |sum, t| {
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

/// Tasks by fixed priorities on one CPU, with all that delays them.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<'a> {
    /// Higher `priority` is more urgent.
    pub tasks: &'a [Task],
    /// Tasks beside them, with priorities on the same scale.
    pub background: &'a [Background],
    /// What the original priority ceiling is worth under these priorities.
    pub original: Original,
    /// The offsets may keep the worst case from happening.
    pub milder: bool,
    /// The caller wants no answer any longer.
    pub stop: Stop<'a>,
}

/// A bound, and whether some run reaches it.
type Judged = (Response, bool);

impl Fixed<'_> {
    /// The tasks that delay task `k`, and itself at the end.
    fn with_rivals(&self, k: usize) -> Vec<Task> {
        let tasks = self.tasks;
        let rival = |(i, t): &(usize, &Task)| *i != k && t.priority >= tasks[k].priority;
        let mut set: Vec<Task> = tasks.iter().enumerate().filter(rival).map(|(_, t)| t.clone()).collect();
        set.push(tasks[k].clone());
        set
    }

    /// Bounds of all, the most urgent ones first, as those of others build on them.
    fn all(&self) -> Vec<Judged> {
        let everyone: Vec<&Task> = self.tasks.iter().chain(self.background.iter().map(|b| &b.task)).collect();
        let levels: Vec<i64> = everyone.iter().map(|t| t.priority).collect();
        let locking = Locking::new(everyone, levels, self.original);
        let mut order: Vec<usize> = (0..self.tasks.len()).collect();
        order.sort_by_key(|k| std::cmp::Reverse(self.tasks[*k].priority));
        let mut known: Vec<Judged> = vec![(Response::Unknown, false); self.tasks.len()];
        for k in order {
            known[k] = self.one(k, &locking, &known);
        }
        known
    }

    fn one(&self, k: usize, locking: &Locking<'_>, known: &[Judged]) -> Judged {
        let (own, level) = (&self.tasks[k], self.tasks[k].priority);
        if self.stop.is_set() {
            return (Response::Unknown, false);
        }
        let mut set = self.with_rivals(k);
        let mut delayed = false;
        for b in self.background.iter().filter(|b| b.task.priority >= level) {
            match b.gaps {
                Gaps::None if b.task.wcet > 0 && own.wcet > 0 => return (Response::Unbounded, true),
                Gaps::Least if b.task.period > 0 && b.task.sleep == 0 => set.insert(0, b.task.clone()),
                Gaps::None | Gaps::Least | Gaps::Unknown => delayed = true,
            }
        }
        if delayed || locking.unbounded(level) {
            // Without the waits it would be an overload already.
            let over = utilization(&set) > whole(1);
            return (if over { Response::Unbounded } else { Response::Unknown }, over);
        }
        let lower = |j: usize| locking.level(j) < level;
        let block = locking.blocking(level, lower).saturating_add(own.blocking);
        if set.iter().all(|t| t.sleep == 0) {
            let found = worst_with(&set, Extra { first: block, each: 0 });
            // The response is counted from before the jitter, the deadline from behind it.
            return (found, (block == 0 && own.jitter == 0) || found == Response::Unbounded);
        }
        // While a task sleeps, less urgent ones may enter sections again.
        let each = block.saturating_mul(u64::from(own.sleeps) + 1);
        let found = match (oblivious(&set, each), self.deferred(k, &set, each, known)) {
            (Response::Worst(a), Response::Worst(b)) => Response::Worst(a.min(b)),
            (Response::Worst(a), _) | (_, Response::Worst(a)) => Response::Worst(a),
            (Response::Unbounded, _) if utilization(&set) > whole(1) => Response::Unbounded,
            _ => Response::Unknown,
        };
        (found, found == Response::Unbounded)
    }

    /// Sleeping tasks hit later ones as if their jobs had jitter, at most their response time less their computing: `R = C + S + sum
    /// ceil((R + R_i - C_i) / T_i) C_i`, for deadlines within the periods (J.-J. Chen, G. Nelissen, W.-H. Huang et al. 2019,
    /// section 4, after W.-H. Huang et al. 2015 and G. Nelissen et al. 2015).
    fn deferred(&self, k: usize, set: &[Task], each: u64, known: &[Judged]) -> Response {
        let own = &self.tasks[k];
        if set.len() > self.with_rivals(k).len() {
            // Of tasks beside them no response is known.
            return Response::Unknown;
        }
        let mut rivals = Vec::with_capacity(set.len());
        for (i, t) in self.tasks.iter().enumerate() {
            if i == k || t.priority < own.priority {
                continue;
            }
            // Of equals the response is not known yet: where all deadlines are met it is at most the deadline.
            let response = match known[i].0 {
                Response::Worst(r) => r,
                _ if t.priority == own.priority => t.deadline.saturating_add(t.jitter),
                _ => return Response::Unknown,
            };
            if t.deadline > t.period || response > t.period {
                return Response::Unknown;
            }
            let jitter = response.saturating_sub(t.wcet).max(t.jitter);
            rivals.push(Task { jitter, ..t.clone() });
        }
        if own.deadline > own.period {
            return Response::Unknown;
        }
        rivals.push(Task { sleep: 0, ..own.clone() });
        match worst_with(&rivals, Extra { first: 0, each: each.saturating_add(own.sleep) }) {
            // A later job of the busy period would have waited for one that is late.
            Response::Worst(r) if r > own.deadline => Response::Unknown,
            found => found,
        }
    }
}

/// Sleep counts as computing (the same review, section 4.1).
fn oblivious(set: &[Task], each: u64) -> Response {
    let longer: Vec<Task> =
        set.iter().map(|t| Task { wcet: t.wcet.saturating_add(t.sleep), ..t.clone() }).collect();
    worst_with(&longer, Extra { first: 0, each })
}

/// Response-time analysis of all tasks. Of two with equal priorities each is counted as above the other.
pub fn response_times(set: Fixed<'_>) -> Finding {
    let tasks = set.tasks;
    let all = set.all();
    let mut levels: Vec<i64> = tasks.iter().map(|t| t.priority).collect();
    levels.sort_unstable();
    let ties = levels.windows(2).any(|w| w[0] == w[1]);
    let late = |((r, _), t): (&Judged, &Task)| match r {
        Response::Worst(r) => *r > t.deadline,
        Response::Unbounded => true,
        Response::Unknown => false,
    };
    let failed: Vec<usize> = (0..tasks.len()).filter(|i| late((&all[*i], &tasks[*i]))).collect();
    // A bound that is reached says more than one that may not be.
    let certain = |i: &&usize| all[**i].1;
    let failure = failed.iter().find(certain).or(failed.first()).copied();
    let unknown = all.iter().position(|r| r.0 == Response::Unknown);
    let remark = match (failure, unknown) {
        (Some(i), _) => match all[i].0 {
            Response::Worst(r) => {
                format!(
                    "`{}` may take {}, its deadline is {}",
                    tasks[i].name,
                    time(r),
                    time(tasks[i].deadline)
                )
            }
            _ => format!("the response time of `{}` grows without bound", tasks[i].name),
        },
        (None, Some(i)) => format!("no bound is found for `{}`", tasks[i].name),
        (None, None) => "all response times are within the deadlines".to_string(),
    };
    let sleeps = tasks.iter().any(|t| t.sleep > 0);
    let blocks = tasks.iter().any(|t| t.blocking > 0 || !t.steps.is_empty());
    let source = match () {
        () if sleeps => "Chen, Nelissen, Huang et al. 2019",
        () if blocks => "Sha, Rajkumar and Lehoczky 1990; Tindell 1994",
        () if tasks.iter().any(|t| t.deadline > t.period) => "Lehoczky 1990; Tindell 1994",
        () => "Joseph and Pandya 1986; Audsley et al. 1993",
    };
    // With other offsets, or another order of equals, no run need reach the times.
    let reached = all.iter().all(|r| r.1) && !set.milder && !ties;
    let kind = if reached { Kind::Exact } else { Kind::Sufficient };
    let bounds = all.iter().map(|r| if let Response::Worst(r) = r.0 { Some(r) } else { None });
    let mut found = Finding::new(kind, Test::Rta, source, failed.is_empty() && unknown.is_none(), remark)
        .with_response(bounds.collect());
    if failed.iter().any(|i| all[*i].1) {
        (found.kind, found.verdict) = (Kind::Exact, Verdict::Unschedulable);
    } else if !failed.is_empty() || unknown.is_some() {
        found.verdict = Verdict::Undecided;
    }
    // An unbounded response is one under any offsets, and whatever order equals have.
    let surely = failed.iter().any(|i| all[*i] == (Response::Unbounded, true));
    found
        .unless(set.milder && !surely, "with these offsets it may do better")
        .unless(ties && !surely, "equal priorities may be milder than assumed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::locks::{Mutex, Protocol, Step};

    /// Bini and Buttazzo's point: the product decides more than the sum.
    #[test]
    fn hyperbolic_dominates_liu_and_layland() {
        let tasks = [Task::implicit(3, 4), Task::implicit(1, 8)];
        assert_eq!(liu_layland(&tasks, true).verdict, Verdict::Undecided);
        assert_eq!(hyperbolic(&tasks, true).verdict, Verdict::Schedulable);
        assert!(hyperbolic(&tasks, false).remark.contains("not by rate"));
    }

    fn alone(tasks: &[Task]) -> Fixed<'_> {
        Fixed { tasks, background: &[], original: Original::OneOfAll, milder: false, stop: Stop::default() }
    }

    fn level(priority: i64, task: Task) -> Task {
        Task { priority, ..task }
    }

    fn section(protocol: Protocol, ns: u64) -> Vec<Step> {
        vec![Step::Lock(Mutex { id: 0, protocol }), Step::Run(ns), Step::Unlock(0)]
    }

    /// The bus of Mars Pathfinder: 25 of its own and 40 of the weather task's section; nothing bounds it without a protocol.
    #[test]
    fn sections_of_less_urgent_tasks_block() {
        let set = |protocol| {
            [
                level(2, Task { steps: section(protocol, 15), ..Task::implicit(25, 125) }),
                level(1, Task { steps: section(protocol, 40), ..Task::implicit(50, 1_000) }),
            ]
        };
        for protocol in [Protocol::Inherit, Protocol::Ceiling, Protocol::Classic] {
            let found = response_times(alone(&set(protocol)));
            assert_eq!((found.response, found.verdict), (vec![Some(65), Some(75)], Verdict::Schedulable));
            assert_eq!(found.kind, Kind::Sufficient);
        }
        let found = response_times(alone(&set(Protocol::None)));
        assert_eq!((found.response, found.verdict), (vec![None, None], Verdict::Undecided));
        // What comes between delays the less urgent one only; jobs that come arbitrarily close delay it for ever.
        let tasks = set(Protocol::Inherit);
        let other = |gaps| {
            let task = Task { wcet: 180, period: 300, priority: 1, ..Task::default() };
            [Background { task, gaps }]
        };
        let found = response_times(Fixed { background: &other(Gaps::None), ..alone(&tasks) });
        assert_eq!((&found.response[..], found.verdict), (&[Some(65), None][..], Verdict::Unschedulable));
        let found = response_times(Fixed { background: &other(Gaps::Least), ..alone(&tasks) });
        // 50 + 2 * 180 + 5 * 25.
        assert_eq!((&found.response[..], found.verdict), (&[Some(65), Some(535)][..], Verdict::Schedulable));
        let found = response_times(Fixed { background: &other(Gaps::Unknown), ..alone(&tasks) });
        assert_eq!((&found.response[..], found.verdict), (&[Some(65), None][..], Verdict::Undecided));
        // Declared sections add to it.
        let mut tasks = tasks;
        tasks[0].blocking = 7;
        assert_eq!(response_times(alone(&tasks)).response[0], Some(72));
    }

    /// Run 2, sleep 4, run 2: 8 alone. Below it, with C = 14, sleep as computing gives 14 + 2 * 8 = 30, and jobs deferred by 8 - 4
    /// give 14 + 2 * 4; with C = 5 and a deadline beyond the period only the former is known: 5 + 8.
    #[test]
    fn sleep_is_computing_or_jitter() {
        let sleeper = level(2, Task { sleep: 4, sleeps: 1, ..Task::implicit(4, 20) });
        let with = |wcet, period| [sleeper.clone(), level(1, Task::implicit(wcet, period))];
        assert_eq!(response_times(alone(&with(3, 40))).response, [Some(8), Some(7)]);
        let [a, b] = with(5, 40);
        let found = response_times(alone(&[a, b.with_deadline(50)]));
        assert_eq!(found.response, [Some(8), Some(13)]);
        let found = response_times(alone(&with(14, 60)));
        assert_eq!(found.response, [Some(8), Some(22)]);
        assert_eq!((found.kind, found.verdict), (Kind::Sufficient, Verdict::Schedulable));
        // A refusal is none: sleep need not be as bad.
        assert_eq!(response_times(alone(&with(14, 21))).verdict, Verdict::Undecided);
    }

    /// Joseph and Pandya's recurrence by hand: C = 3, 3, 5; T = 7, 12, 20 gives 3, 6, 20.
    #[test]
    fn response_times_by_hand() {
        let tasks = [
            level(3, Task::implicit(3, 7)),
            level(2, Task::implicit(3, 12)),
            level(1, Task::implicit(5, 20)),
        ];
        let found = response_times(alone(&tasks));
        assert_eq!(found.response, [Some(3), Some(6), Some(20)]);
        assert_eq!(found.verdict, Verdict::Schedulable);
    }

    /// A bound that no run need reach is no lower bound where a wait is left out: offsets that keep releases apart, and equals.
    #[test]
    fn exact_is_what_some_run_reaches() {
        let tasks = [level(2, Task::implicit(4, 10)), level(1, Task { offset: 5, ..Task::implicit(4, 20) })];
        let found = response_times(alone(&tasks));
        assert_eq!(
            (found.kind, found.reached, &found.response[..]),
            (Kind::Exact, true, &[Some(4), Some(8)][..])
        );
        let found = response_times(Fixed { milder: true, ..alone(&tasks) });
        assert_eq!(
            (found.kind, found.reached, found.verdict),
            (Kind::Sufficient, false, Verdict::Schedulable)
        );
        let equals = [level(1, Task::implicit(4, 10)), level(1, Task::implicit(4, 20))];
        let found = response_times(alone(&equals));
        assert_eq!(
            (found.kind, found.reached, found.verdict),
            (Kind::Sufficient, false, Verdict::Schedulable)
        );
        // A refusal of which nothing may be taken back is final.
        let over = [
            level(2, Task::implicit(6, 10)),
            level(1, Task::implicit(12, 20)),
            level(1, Task::implicit(1, 40)),
        ];
        let found = response_times(alone(&over));
        assert_eq!((found.kind, found.reached, found.verdict), (Kind::Exact, false, Verdict::Unschedulable));
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
