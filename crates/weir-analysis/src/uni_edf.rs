// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Earliest deadline first on one CPU.
//!
//! The demand of an interval is the work of all jobs that are released and due within it. A set is schedulable
//! if and only if no interval's demand exceeds its length (S. Baruah, L. Rosier and R. Howell 1990).

use num_traits::ToPrimitive;

use crate::finding::{Finding, Kind, Test, Verdict};
use crate::locks::{Locking, Original};
use crate::task::{Exact, Stop, Task, all_implicit, density, no_jitter, shown, time, utilization, whole};

/// Most points of an interval test; sets that need more are left undecided.
const POINTS: u64 = 2_000_000;

/// U <= 1: exact for implicit deadlines. O(n).
pub fn full_utilization(tasks: &[Task]) -> Finding {
    let u = utilization(tasks);
    let remark = format!("U = {}, bound 1", shown(&u));
    let found = Finding::new(Kind::Exact, Test::LlEdf, "Liu and Layland 1973", u <= whole(1), remark);
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
    let found =
        Finding::new(Kind::Sufficient, Test::Density, "Liu and Layland 1973", sum <= whole(1), remark);
    if no_jitter(tasks) { found } else { found.inapplicable("releases have jitter") }
}

/// Most work of jobs that are released and due in an interval of length `t`.
pub fn demand(tasks: &[Task], t: u128) -> u128 {
    tasks.iter().map(|task| jobs_due(task, t) * u128::from(task.wcet)).sum()
}

fn jobs_due(task: &Task, t: u128) -> u128 {
    // A late release leaves less time: the deadline is nearer by the jitter.
    let due = u128::from(due(task));
    if t < due { 0 } else { (t - due) / u128::from(task.period) + 1 }
}

/// Less urgent tasks keep a CPU from more urgent ones: the stack resource policy's term of the demand test (T. Baker 1991; S. Baruah
/// 2006). A deadline floor gives the same (A. Burns, M. Gutierrez, M. Aldea Rivas and M. Gonzalez Harbour 2015); under inheritance
/// each later deadline may block with one section (J. Stankovic, M. Spuri, K. Ramamritham and G. Buttazzo 1998).
struct Blocking<'a> {
    locking: Locking<'a>,
    tasks: &'a [Task],
}

impl<'a> Blocking<'a> {
    fn new(tasks: &'a [Task], original: Original) -> Self {
        let levels: Vec<i64> = tasks.iter().map(|t| -i64::try_from(due(t)).unwrap_or(i64::MAX)).collect();
        Self { locking: Locking::new(tasks.iter().collect(), levels, original), tasks }
    }

    /// A mutex without a bound.
    fn unbounded(&self) -> bool {
        self.locking.unbounded(i64::MIN)
    }

    /// Of an interval of length `t`: by jobs that are due behind its end, of those that are due in it.
    fn at(&self, t: u128) -> u128 {
        let level = -i64::try_from(t).unwrap_or(i64::MAX);
        let later = |j: usize| u128::from(self.tasks[j].deadline) > t;
        let sections = if self.locking.is_free() { 0 } else { self.locking.blocking(level, later) };
        u128::from(sections) + self.declared(t)
    }

    /// By sections that are not modelled.
    fn declared(&self, t: u128) -> u128 {
        let due_in_it = self.tasks.iter().filter(|task| u128::from(due(task)) <= t);
        u128::from(due_in_it.map(|task| task.blocking).max().unwrap_or(0))
    }

    fn is_none(&self) -> bool {
        self.locking.is_free() && self.declared(u128::MAX) == 0
    }
}

/// The deadline after a release that is as late as it may be.
fn due(t: &Task) -> u64 {
    t.deadline.saturating_sub(t.jitter)
}

/// No interval longer than this can be the first to be overloaded: the length of the synchronous busy period,
/// or Baruah's bound where that is shorter, each with a time that others `block`. `None` where U > 1 or neither is found.
fn horizon(tasks: &[Task], block: u128) -> Option<u128> {
    let u = utilization(tasks);
    if u > whole(1) {
        return None;
    }
    if u == whole(1) {
        // With jitter or a section in front it never ends.
        return if block > 0 || !no_jitter(tasks) { None } else { busy_period(tasks, 0) };
    }
    let busy = busy_period(tasks, block);
    let early = |t: &Task| Exact::from_integer((i128::from(t.period) - i128::from(due(t))).into());
    let sum = tasks.iter().fold(whole(0), |s: Exact, t| s + early(t) * t.utilization());
    let bound = ((sum + Exact::from_integer(block.into())) / (whole(1) - u)).ceil().to_u128().unwrap_or(0);
    // A job that is due later than its period ends is in no such interval before its deadline.
    let late = tasks.iter().map(|t| u128::from(due(t).saturating_sub(t.period))).max().unwrap_or(0);
    let baruah = bound.max(late) + 1;
    Some(busy.map_or(baruah, |b| b.min(baruah)))
}

/// Length of the first interval without idle time when all tasks are released at once, behind a section.
fn busy_period(tasks: &[Task], block: u128) -> Option<u128> {
    let mut length: u128 = block + tasks.iter().map(|t| u128::from(t.wcet)).sum::<u128>();
    for _ in 0..POINTS {
        let next = tasks
            .iter()
            .map(|t| (length + u128::from(t.jitter)).div_ceil(u128::from(t.period)) * u128::from(t.wcet));
        let next = block + next.sum::<u128>();
        if next == length {
            return Some(length.max(1));
        }
        length = next;
    }
    None
}

/// The longest interval whose demand matters, ns; or what can be said without looking at any.
fn longest_interval(
    tasks: &[Task],
    block: u128,
    make: impl Fn(bool, String) -> Finding,
) -> Result<u128, Finding> {
    if utilization(tasks) > whole(1) {
        return Err(make(false, format!("U = {}", shown(&utilization(tasks)))));
    }
    horizon(tasks, block).ok_or_else(|| make(true, String::new()).inapplicable("the busy period is too long"))
}

/// Sets with sleeps as sets without: sleep counts as computing (J.-J. Chen, G. Nelissen, W.-H. Huang et al. 2019, section 4.1).
fn without_sleep(tasks: &[Task]) -> Vec<Task> {
    tasks
        .iter()
        .map(|t| Task { wcet: t.wcet.saturating_add(t.sleep), sleep: 0, sleeps: 0, ..t.clone() })
        .collect()
}

/// Whether a failed demand is one: no sleep or blocking is added, and releases are not counted from before their jitter.
fn is_exact(tasks: &[Task]) -> bool {
    no_jitter(tasks) && tasks.iter().all(|t| t.sleep == 0)
}

/// The demand of every interval that ends at a deadline, one after the other, with what may block it. Pseudo-polynomial for U < 1.
/// `original`: what the original ceiling is worth, which compares tasks by their relative deadlines if their priorities are equal.
pub fn processor_demand(tasks: &[Task], milder: bool, original: Original, stop: Stop<'_>) -> Finding {
    let sleeps = tasks.iter().any(|t| t.sleep > 0);
    let longer = without_sleep(tasks);
    let blocking = Blocking::new(&longer, original);
    let exact = is_exact(tasks) && blocking.is_none();
    let source = match () {
        () if sleeps => "Baruah, Rosier and Howell 1990; Chen, Nelissen, Huang et al. 2019",
        () if blocking.is_none() => "Baruah, Rosier and Howell 1990",
        () => "Baker 1991; Baruah 2006",
    };
    let kind = if exact { Kind::Exact } else { Kind::Sufficient };
    let make = |passed, remark| Finding::new(kind, Test::Demand, source, passed, remark);
    if utilization(tasks) > whole(1) {
        let found = make(false, format!("U = {}", shown(&utilization(tasks))));
        return Finding { verdict: Verdict::Unschedulable, ..found };
    }
    if blocking.unbounded() {
        return make(true, String::new()).inapplicable("waits for mutexes without a protocol have no bound");
    }
    if sleeps && !blocking.is_none() {
        return make(true, String::new()).inapplicable("tasks sleep, and others hold mutexes meanwhile");
    }
    let end = match longest_interval(&longer, blocking.declared(u128::MAX), make) {
        Ok(end) => end,
        Err(finding) => return finding,
    };
    let tasks = &longer[..];
    // Sections block intervals up to the longest deadline.
    let latest = tasks.iter().map(|t| u128::from(t.deadline)).max().unwrap_or(0);
    let end = if blocking.is_none() { end } else { end.max(latest) };
    let points: u128 = tasks.iter().map(|t| end / u128::from(t.period) + 1).sum();
    if points > u128::from(POINTS) {
        return make(true, String::new()).inapplicable(&format!("there are {points} intervals to look at"));
    }
    let mut ends: Vec<u128> = Vec::with_capacity(points as usize);
    for t in tasks {
        let first = u128::from(due(t));
        ends.extend((0..).map(|k| first + k * u128::from(t.period)).take_while(|d| *d <= end));
    }
    ends.sort_unstable();
    ends.dedup();
    let count = ends.len();
    let with_blocking =
        |t: u128| demand(tasks, t) + if t <= latest { blocking.at(t) } else { blocking.declared(t) };
    let failed = ends.into_iter().find(|t| stop.is_set() || with_blocking(*t) > *t);
    if stop.is_set() {
        return make(true, String::new()).inapplicable("it was interrupted");
    }
    match failed {
        Some(t) => make(false, format!("in {} there is work for {}", time(t), time(with_blocking(t)))),
        None => make(true, looked_at(count as u64, Some(end))),
    }
    .unless(milder, "with these offsets it may do better")
}

/// The same answer from few intervals: from the longest one down, each step as far as the demand allows
/// (F. Zhang and A. Burns 2009).
pub fn quick_demand(tasks: &[Task], milder: bool, stop: Stop<'_>) -> Finding {
    let sleeps = tasks.iter().any(|t| t.sleep > 0);
    let kind = if is_exact(tasks) { Kind::Exact } else { Kind::Sufficient };
    let source = if sleeps {
        "Zhang and Burns 2009; Chen, Nelissen, Huang et al. 2019"
    } else {
        "Zhang and Burns 2009"
    };
    let make = |passed, remark| Finding::new(kind, Test::Qpa, source, passed, remark);
    if utilization(tasks) > whole(1) {
        let found = make(false, format!("U = {}", shown(&utilization(tasks))));
        return Finding { verdict: Verdict::Unschedulable, ..found };
    }
    if !Blocking::new(tasks, Original::EachTask).is_none() {
        return make(true, String::new()).inapplicable("jobs may be blocked: `demand` has that");
    }
    let longer = without_sleep(tasks);
    let tasks = &longer[..];
    let end = match longest_interval(tasks, 0, make) {
        Ok(end) => end,
        Err(finding) => return finding,
    };
    let first = tasks.iter().map(|t| u128::from(due(t))).min().unwrap_or(0);
    let mut looked = 0u64;
    let mut at = last_due_before(tasks, end + 1);
    while let Some(t) = at {
        looked += 1;
        if looked > POINTS || stop.is_set() {
            return make(true, String::new()).inapplicable("there are too many intervals to look at");
        }
        let h = demand(tasks, t);
        if h > t {
            return make(false, format!("in {} there is work for {}", time(t), time(h)))
                .unless(milder, "with these offsets it may do better");
        }
        if h <= first {
            break;
        }
        at = if h < t { Some(h) } else { last_due_before(tasks, t) };
    }
    make(true, looked_at(looked, None))
}

/// How many intervals were looked at, in words; `longest` bounds them.
fn looked_at(intervals: u64, longest: Option<u128>) -> String {
    match (intervals, longest) {
        (0, _) => "no deadline lies in an interval that has to be looked at".into(),
        (1, Some(end)) => format!("1 interval, of at most {}", time(end)),
        (1, None) => "1 interval".into(),
        (n, Some(end)) => format!("{n} intervals, the longest {}", time(end)),
        (n, None) => format!("{n} intervals"),
    }
}

/// The latest deadline before `t` when all tasks are released at 0.
fn last_due_before(tasks: &[Task], t: u128) -> Option<u128> {
    let last = |task: &Task| {
        let due = u128::from(due(task));
        (due < t).then(|| due + (t - 1 - due) / u128::from(task.period) * u128::from(task.period))
    };
    tasks.iter().filter_map(last).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::{Mutex, Protocol, Step};
    use proptest::prelude::*;

    fn set(tasks: &[(u64, u64, u64)]) -> Vec<Task> {
        tasks.iter().map(|(c, d, t)| Task::implicit(*c, *t).with_deadline(*d)).collect()
    }

    #[test]
    fn by_hand() {
        // (C, D, T): the demand of 6 is 2 + 2 + 2 = 6, that of 5 is 4.
        let good = set(&[(2, 4, 6), (2, 5, 8), (2, 6, 12)]);
        assert_eq!(demand(&good, 6), 6);
        assert_eq!(quick_demand(&good, false, Stop::default()).verdict, Verdict::Schedulable);
        let bad = set(&[(2, 4, 6), (2, 5, 8), (3, 6, 12)]);
        assert_eq!(quick_demand(&bad, false, Stop::default()).verdict, Verdict::Unschedulable);
        assert_eq!(quick_demand(&bad, true, Stop::default()).verdict, Verdict::Undecided);
        let full = set(&[(1, 2, 2), (1, 3, 3), (1, 6, 6)]);
        assert_eq!(full_utilization(&full).verdict, Verdict::Schedulable);
        assert_eq!(full_density(&good).verdict, Verdict::Undecided);
    }

    /// Baruah's term by hand: in 4 there is work for 2, and 3 of a section of the later one; 2 of it are too much for 4 with 3 of work.
    #[test]
    fn sections_block_short_intervals() {
        let section =
            |protocol, ns| vec![Step::Lock(Mutex { id: 0, protocol }), Step::Run(ns), Step::Unlock(0)];
        let judged = |protocol, ns| {
            let mut tasks = set(&[(2, 4, 10), (6, 20, 20), (6, 30, 30)]);
            tasks[0].steps = section(protocol, 1);
            tasks[1].steps = section(protocol, ns);
            tasks[2].steps = section(protocol, 1);
            processor_demand(&tasks, false, Original::EachTask, Stop::default()).verdict
        };
        assert_eq!(judged(Protocol::Ceiling, 2), Verdict::Schedulable);
        assert_eq!(judged(Protocol::Ceiling, 3), Verdict::Undecided);
        // Under inheritance each later task may block.
        assert_eq!(judged(Protocol::Inherit, 1), Verdict::Schedulable);
        assert_eq!(judged(Protocol::Inherit, 2), Verdict::Undecided);
        assert_eq!(judged(Protocol::None, 1), Verdict::Undecided);
        let mut tasks = set(&[(2, 4, 10), (6, 20, 20)]);
        tasks[0].blocking = 2;
        assert_eq!(
            processor_demand(&tasks, false, Original::EachTask, Stop::default()).verdict,
            Verdict::Schedulable
        );
        assert_eq!(quick_demand(&tasks, false, Stop::default()).verdict, Verdict::Undecided);
        tasks[0].blocking = 3;
        assert_eq!(
            processor_demand(&tasks, false, Original::EachTask, Stop::default()).verdict,
            Verdict::Undecided
        );
    }

    #[test]
    fn sleep_counts_as_demand() {
        let mut tasks = set(&[(2, 10, 10), (4, 10, 10)]);
        tasks[0].sleep = 4;
        assert_eq!(quick_demand(&tasks, false, Stop::default()).verdict, Verdict::Schedulable);
        tasks[0].sleep = 5;
        assert_eq!(
            quick_demand(&tasks, false, Stop::default()).verdict,
            Verdict::Undecided,
            "a refusal of more than there is"
        );
    }

    proptest! {
        /// The quick test and the plain one agree, whatever the deadlines.
        #[test]
        fn both_demand_tests_agree(raw in prop::collection::vec((1u64..8, 1u64..40, 4u64..40, 0u64..3), 1..6)) {
            let tasks: Vec<Task> = raw.iter().map(|(c, d, t, j)| Task {
                jitter: *j, ..Task::implicit(*c, *t).with_deadline((*d).max(*c + *j))
            }).collect();
            let (a, b) = {
                let stop = Stop::default();
                (processor_demand(&tasks, false, Original::EachTask, stop), quick_demand(&tasks, false, stop))
            };
            prop_assert_eq!(a.verdict, b.verdict, "{} / {}", a.remark, b.remark);
        }
    }
}
