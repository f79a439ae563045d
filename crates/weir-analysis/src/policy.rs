// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which tests fit a policy.

use crate::assume::{self, Cover, Feature};
use crate::edf_vd::edf_vd;
use crate::finding::{Bound, Finding, Kind, Test, Verdict};
use crate::global_window::{Rivals, bcl, edzl, global_rta};
use crate::locks::{self, Original, Step};
use crate::partition::{Fit, partition};
use crate::task::{Background, Stop, Task, can_be_synchronous, ratio};
use crate::uni_fixed::Fixed;
use crate::{global_bounds, uni_edf, uni_fixed};

/// Where fixed priorities come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priorities {
    /// Shorter periods first.
    Rate,
    /// Shorter relative deadlines first.
    Deadline,
    /// As the tasks say.
    Given,
}

/// A scheduling policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    Fixed(Priorities),
    Edf,
    /// Tasks above the threshold first, all others by deadline.
    EdfUs {
        threshold_pct: u64,
    },
    RmUs,
    Edzl,
    /// Least laxity, compared at each tick.
    Llf {
        tick_ns: u64,
    },
    /// The same as `by`, but all decisions are made at ticks: a job waits for the tick after its release, and a CPU for that
    /// after the end of its job.
    Ticked {
        tick_ns: u64,
        by: Box<Policy>,
    },
    /// Mixed criticality by virtual deadlines, on one CPU; `x_pct` 0: their factor as in the paper.
    EdfVd {
        x_pct: u64,
    },
    /// Optimal for implicit deadlines; `quantum_ns` 0: no quanta.
    Optimal {
        quantum_ns: u64,
    },
    /// RUN: optimal where all tasks begin together and come periodically.
    Run,
    /// Tasks have a CPU for good, where a local policy runs.
    Partitioned {
        fit: Fit,
        bound_pct: u64,
        local: Box<Policy>,
    },
}

impl Policy {
    /// Whether tasks may change CPUs on `m` of them.
    pub fn migrates(&self, m: u32) -> bool {
        m > 1 && !matches!(self, Policy::Partitioned { .. })
    }
}

/// What is to be analyzed.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    pub tasks: &'a [Task],
    /// The same tasks as the scheduler knows them, where jobs compute for longer than declared, as with the costs of scheduling
    /// ([`crate::Overheads::inflate`]). The placement of tasks and which of them count as heavy goes by what is
    /// declared. Tests of policies that plan with computing times do not apply then.
    pub declared: &'a [Task],
    /// What else runs.
    pub background: &'a [Background],
    /// What else matters.
    pub features: &'a [Feature],
    /// Long iterations end as undecided soon after it is set.
    pub stop: Stop<'a>,
}

impl<'a> Load<'a> {
    /// These tasks, and nothing beside them.
    pub fn of(tasks: &'a [Task]) -> Self {
        Self { tasks, declared: tasks, background: &[], features: &[], stop: Stop::default() }
    }

    /// The features that break some assumption: those of the load, and those that its tasks show.
    pub fn all_features(&self) -> Vec<Feature> {
        let mut all = assume::of_tasks(self.tasks, self.background);
        all.extend(self.features);
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// All tests of `policy` on `m` equal CPUs; responses are in the order of `tasks`.
///
/// # Panics
/// As [`Load::analyze`].
pub fn analyze(tasks: &[Task], m: u32, policy: &Policy) -> Vec<Finding> {
    Load::of(tasks).analyze(m, policy)
}

/// Why a test says nothing where jobs compute for longer than declared.
const UNFORESEEN: &str = "the policy plans with the declared execution times, which jobs exceed";

impl Load<'_> {
    /// All tests of `policy` on `m` equal CPUs, with what their assumptions leave of them; responses are in the order of the tasks.
    ///
    /// # Panics
    /// Where there are no tasks, `m` is 0, or a period is 0, and where not as many tasks are declared.
    pub fn analyze(&self, m: u32, policy: &Policy) -> Vec<Finding> {
        let Self { tasks, declared, .. } = *self;
        assert!(
            !tasks.is_empty() && m > 0 && tasks.iter().all(|t| t.period > 0),
            "there is something to analyze"
        );
        assert_eq!(declared.len(), tasks.len(), "they are the same tasks");
        let milder = !can_be_synchronous(tasks);
        // In the high mode low tasks are set aside: what high ones take more than expected is no load beside theirs.
        let together = if matches!(policy, Policy::EdfVd { .. }) { declared } else { tasks };
        let mut found = vec![global_bounds::feasible(together, m, milder)];
        if let Policy::Ticked { tick_ns, by } = policy {
            found.extend(ticked(self, m, *tick_ns, by));
        } else if let Policy::Partitioned { fit, bound_pct, local } = policy {
            found.push(partitioned(self, m, *fit, *bound_pct, local));
        } else if m == 1 {
            found.extend(one_cpu(self, policy, milder));
        } else {
            found.extend(many_cpus(self, m, policy));
        }
        if declared.iter().zip(tasks).any(|(d, t)| d.wcet < t.wcet) {
            let plans = |f: &Finding| [Test::Optimal, Test::Edzl].contains(&f.test);
            found =
                found.into_iter().map(|f| if plans(&f) { f.inapplicable(UNFORESEEN) } else { f }).collect();
        }
        let mut features = self.all_features();
        if self.is_ahead(policy) {
            features.retain(|f| !matches!(f, Feature::Arrivals | Feature::Background));
        }
        assume::weigh(found, &features)
    }

    /// All other tasks come behind those with deadlines, and hold nothing that these want.
    fn is_ahead(&self, policy: &Policy) -> bool {
        let by_deadline =
            matches!(policy, Policy::Edf | Policy::Fixed(Priorities::Rate | Priorities::Deadline));
        let takes = |t: &Task, b: &Background| {
            b.task.steps.iter().any(|s| matches!(s, Step::Lock(m) if locks::takes(t, *m)))
        };
        by_deadline
            && !self.features.contains(&Feature::CostsOfWaits)
            && self.background.iter().all(|b| b.task.deadline == 0 && !self.tasks.iter().any(|t| takes(t, b)))
    }
}

/// The tests of the policy that decides at ticks, for jobs that come and go at ticks only: what lies between a release or an
/// end and the next tick counts as jitter and as execution. Where all lies on ticks anyway, nothing is added, and an exact
/// test stays one; else a failure says nothing.
fn ticked(load: &Load<'_>, m: u32, tick_ns: u64, by: &Policy) -> Vec<Finding> {
    let Load { tasks, declared, .. } = *load;
    let aligned: Option<Vec<Task>> = tasks.iter().map(|t| on_ticks(t, tick_ns)).collect();
    let Some(aligned) = aligned else { return Vec::new() };
    let exact = aligned == tasks;
    let waits = assume::of_tasks(tasks, load.background);
    let declared: Vec<Task> = if declared == tasks { aligned.clone() } else { declared.to_vec() };
    Load { tasks: &aligned, declared: &declared, ..*load }
        .analyze(m, by)
        .into_iter()
        .filter(|f| f.test != Test::Feasible)
        .map(|f| f.unless(!exact, "with times rounded up to ticks"))
        .map(|f| Finding { reached: f.reached && exact, ..f })
        // A wait that ends between ticks ends at the next.
        .map(|f| waits.iter().fold(f, |f, w| assume::withhold(f, *w, Cover::Harsher)))
        .collect()
}

/// The task as a scheduler sees it that looks at ticks only; `None` where it does not fit into numbers.
fn on_ticks(t: &Task, tick_ns: u64) -> Option<Task> {
    let on = |ns: u64| ns.is_multiple_of(tick_ns.max(1));
    let comes_on_ticks = on(t.period) && on(t.offset) && t.jitter == 0 && !t.sporadic;
    let jitter = if comes_on_ticks { 0 } else { t.jitter.checked_add(tick_ns)? };
    let wcet = t.wcet.div_ceil(tick_ns.max(1)).checked_mul(tick_ns.max(1))?;
    Some(Task { wcet, jitter, ..t.clone() })
}

/// The conclusion of several tests: one that is sure decides.
pub fn conclude(found: &[Finding]) -> Verdict {
    let any = |v: Verdict| found.iter().any(|f| f.verdict == v);
    match () {
        () if any(Verdict::Unschedulable) => Verdict::Unschedulable,
        () if any(Verdict::Schedulable) => Verdict::Schedulable,
        () => Verdict::Undecided,
    }
}

fn one_cpu(load: &Load<'_>, policy: &Policy, milder: bool) -> Vec<Finding> {
    let Load { tasks, declared, .. } = *load;
    match policy {
        Policy::Fixed(by) => {
            let original = if original_agrees(load, *by) { Original::OneOfAll } else { Original::Unfit };
            let ranked = ranked(tasks, *by);
            let background: Vec<Background> = load
                .background
                .iter()
                .map(|b| Background { task: with_level(&b.task, *by), gaps: b.gaps })
                .collect();
            let rate = *by == Priorities::Rate || rate_like(&ranked);
            vec![
                uni_fixed::liu_layland(&ranked, rate),
                uni_fixed::hyperbolic(&ranked, rate),
                uni_fixed::response_times(Fixed {
                    tasks: &ranked,
                    background: &background,
                    original,
                    milder,
                    stop: load.stop,
                }),
            ]
        }
        Policy::Edf => vec![
            uni_edf::full_utilization(tasks),
            uni_edf::full_density(tasks),
            uni_edf::quick_demand(tasks, milder, load.stop),
            uni_edf::processor_demand(tasks, milder, by_deadline(tasks), load.stop),
        ],
        // What EDF can do EDZL can do: a task without laxity exists only where EDF misses.
        Policy::Edzl => {
            vec![uni_edf::full_utilization(tasks), uni_edf::quick_demand(tasks, milder, load.stop)]
        }
        Policy::EdfUs { threshold_pct } => {
            vec![global_bounds::edf_us(declared, tasks, 1, &ratio(*threshold_pct, 100))]
        }
        Policy::RmUs => vec![global_bounds::rm_us(tasks, 1)],
        Policy::Optimal { quantum_ns } => vec![global_bounds::optimal(tasks, 1, *quantum_ns)],
        Policy::Run => vec![global_bounds::run(tasks, 1)],
        Policy::EdfVd { x_pct } => vec![edf_vd(declared, tasks, *x_pct)],
        Policy::Llf { .. } | Policy::Ticked { .. } | Policy::Partitioned { .. } => Vec::new(),
    }
}

fn many_cpus(load: &Load<'_>, m: u32, policy: &Policy) -> Vec<Finding> {
    let Load { tasks, declared, stop, .. } = *load;
    let edf = || {
        vec![
            global_bounds::gfb(tasks, m),
            global_bounds::bak(tasks, m, stop),
            bcl(tasks, m),
            global_rta(tasks, m, Rivals::Edf, stop),
        ]
    };
    match policy {
        Policy::Fixed(by) => {
            let ranked = ranked(tasks, *by);
            let mut found = vec![global_rta(&ranked, m, Rivals::Higher, stop)];
            if *by == Priorities::Rate || rate_like(&ranked) {
                found.insert(0, global_bounds::rm_global(tasks, m));
            }
            found
        }
        Policy::Edf => edf(),
        // EDZL meets all deadlines that EDF meets (M. Park et al. 2005), so EDF's tests hold for it.
        Policy::Edzl => {
            let mut found = edf();
            found.iter_mut().for_each(|f| f.response.clear());
            found.push(edzl(tasks, m));
            found
        }
        Policy::EdfUs { threshold_pct } => {
            vec![global_bounds::edf_us(declared, tasks, m, &ratio(*threshold_pct, 100))]
        }
        Policy::RmUs => vec![global_bounds::rm_us(tasks, m)],
        Policy::Optimal { quantum_ns } => vec![global_bounds::optimal(tasks, m, *quantum_ns)],
        Policy::Run => vec![global_bounds::run(tasks, m)],
        Policy::Llf { .. } | Policy::EdfVd { .. } | Policy::Ticked { .. } | Policy::Partitioned { .. } => {
            Vec::new()
        }
    }
}

/// Each CPU by itself, with the tests of the local policy.
fn partitioned(load: &Load<'_>, m: u32, fit: Fit, bound_pct: u64, local: &Policy) -> Finding {
    let Load { tasks, declared, .. } = *load;
    let placed = partition(declared, m, fit, bound_pct);
    let mut response = vec![None; tasks.len()];
    let mut verdict = Verdict::Schedulable;
    let (mut failed, mut exact, mut reached) = (None, true, true);
    for (cpu, own) in placed.cpus.iter().enumerate().filter(|c| !c.1.is_empty()) {
        let of = |all: &[Task]| own.iter().map(|i| all[*i].clone()).collect::<Vec<_>>();
        // What breaks an assumption does so for the whole.
        let found =
            Load { tasks: &of(tasks), declared: &of(declared), features: &[], ..*load }.analyze(1, local);
        exact &= found.iter().any(|f| f.kind == Kind::Exact && f.verdict != Verdict::Undecided);
        for bounds in found.iter().filter(|f| f.bound == Bound::Upper && !f.response.is_empty()) {
            own.iter().zip(&bounds.response).for_each(|(i, r)| response[*i] = *r);
            reached &= bounds.reached;
        }
        match conclude(&found) {
            Verdict::Schedulable => {}
            worse => {
                if verdict != Verdict::Unschedulable {
                    (verdict, failed) = (worse, Some(cpu));
                }
            }
        }
    }
    let sizes: Vec<String> = placed.cpus.iter().map(|c| c.len().to_string()).collect();
    let mut remark = format!("tasks per CPU: {}", sizes.join(", "));
    if let Some(cpu) = failed {
        remark = format!("CPU {cpu} is {verdict}; {remark}");
    }
    if placed.overload {
        remark = format!("{remark}; one had no room on any CPU and went to the emptiest");
    }
    if response.iter().all(Option::is_none) {
        response.clear();
    }
    let source = "Dhall and Liu 1978; Lopez, Diaz and Garcia 2004";
    let kind = if exact || verdict == Verdict::Unschedulable { Kind::Exact } else { Kind::Sufficient };
    let found = Finding::new(kind, Test::Partitioned, source, true, remark).with_response(response);
    let found = Finding { verdict, reached, ..found };
    // A mutex of tasks on several CPUs, or of one whose CPU is not known.
    let apart = |m: locks::Mutex| {
        let users = |own: &Vec<usize>| own.iter().any(|i| locks::meets(&tasks[*i], m));
        let beside = load.background.iter().any(|b| locks::meets(&b.task, m));
        beside || placed.cpus.iter().filter(|own| users(own)).count() > 1
    };
    let everyone = tasks.iter().chain(load.background.iter().map(|b| &b.task));
    match locks::shared(everyone).any(apart) {
        true => assume::withhold(found, Feature::Locks, Cover::Unknown),
        false => found,
    }
}

/// The tasks with priorities by which they can be compared: equal ones where the policy has none.
fn ranked(tasks: &[Task], by: Priorities) -> Vec<Task> {
    tasks.iter().map(|t| with_level(t, by)).collect()
}

/// The task with its level as its priority; what has no period or deadline comes last.
fn with_level(t: &Task, by: Priorities) -> Task {
    let before = |ns: u64| if ns == 0 { i64::MIN } else { -i64::try_from(ns).unwrap_or(i64::MAX) };
    let level = match by {
        // Without a deadline no period is published either.
        Priorities::Rate => before(if t.deadline == 0 { 0 } else { t.told.max(t.period) }),
        Priorities::Deadline => before(t.deadline),
        Priorities::Given => t.priority,
    };
    Task { priority: level, ..t.clone() }
}

/// The original ceiling compares priorities, and relative deadlines among equals. Tasks that take such mutexes are in the order of the
/// policy then.
fn original_agrees(load: &Load<'_>, by: Priorities) -> bool {
    let everyone = load.tasks.iter().chain(load.background.iter().map(|b| &b.task));
    let users: Vec<&Task> = everyone.filter(|t| !t.steps.is_empty()).collect();
    let ceiling =
        |t: &Task| (t.priority, std::cmp::Reverse(if t.deadline == 0 { u64::MAX } else { t.deadline }));
    let level = |t: &Task| with_level(t, by).priority;
    by == Priorities::Given
        || users.iter().all(|a| users.iter().all(|b| ceiling(a).cmp(&ceiling(b)) == level(a).cmp(&level(b))))
}

/// What the original ceiling is worth under EDF: relative deadlines are levels of preemption if priorities do not come before them.
fn by_deadline(tasks: &[Task]) -> Original {
    let mut users = tasks.iter().filter(|t| !t.steps.is_empty()).map(|t| t.priority);
    let first = users.next();
    if users.all(|p| Some(p) == first) { Original::EachTask } else { Original::Unfit }
}

/// Whether priorities order the tasks as their rates do, without ties between different ones.
fn rate_like(ranked: &[Task]) -> bool {
    let agree = |a: &Task, b: &Task| (a.period < b.period) == (a.priority > b.priority);
    ranked.iter().all(|a| ranked.iter().all(|b| agree(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(found: &[Finding]) -> Vec<&str> {
        found.iter().map(|f| f.test.id()).collect()
    }

    #[test]
    fn each_policy_has_its_tests() {
        let tasks = [Task::implicit(2, 10), Task::implicit(3, 15)];
        let rm = Policy::Fixed(Priorities::Rate);
        assert_eq!(ids(&analyze(&tasks, 1, &rm)), ["feasible", "ll-rm", "hyperbolic", "rta"]);
        assert_eq!(ids(&analyze(&tasks, 2, &rm)), ["feasible", "bcl-rm", "rta-fp"]);
        assert_eq!(
            ids(&analyze(&tasks, 1, &Policy::Edf)),
            ["feasible", "ll-edf", "density", "qpa", "demand"]
        );
        assert_eq!(ids(&analyze(&tasks, 4, &Policy::Edf)), ["feasible", "gfb", "bak", "bcl", "rta-edf"]);
        assert_eq!(analyze(&tasks, 4, &Policy::Edzl).len(), 6);
        assert_eq!(ids(&analyze(&tasks, 2, &Policy::Llf { tick_ns: 1 })), ["feasible"]);
        for policy in [rm, Policy::Edf, Policy::Edzl, Policy::Optimal { quantum_ns: 0 }] {
            assert_eq!(conclude(&analyze(&tasks, 2, &policy)), Verdict::Schedulable, "{policy:?}");
        }
    }

    /// What decides at ticks has the tests of its policy, with times as the ticks show them.
    #[test]
    fn ticks_round_up() {
        let ticked = |tick_ns| Policy::Ticked { tick_ns, by: Box::new(Policy::Edf) };
        // 0.95 of a CPU where all lies on ticks; ends between ticks make it 1.05.
        let tasks = [Task::implicit(5, 10), Task::implicit(9, 20)];
        let with = |tick| conclude(&analyze(&tasks, 1, &ticked(tick)));
        assert_eq!(with(1), Verdict::Schedulable);
        assert_eq!(with(10), Verdict::Undecided);
        // On ticks of 5 the second takes 10; sporadic releases come up to a tick late.
        assert_eq!(with(5), Verdict::Schedulable);
        let sporadic = tasks.map(|t| Task { sporadic: true, ..t });
        assert_eq!(conclude(&analyze(&sporadic, 1, &ticked(5))), Verdict::Undecided);
        // An overload is one with ticks, too.
        let over = [Task::implicit(6, 10), Task::implicit(10, 20)];
        assert_eq!(conclude(&analyze(&over, 1, &ticked(10))), Verdict::Unschedulable);
    }

    #[test]
    fn bounds_come_in_the_order_of_the_tasks() {
        let tasks = [Task::implicit(5, 20), Task::implicit(3, 7), Task::implicit(3, 12)];
        let found = analyze(&tasks, 1, &Policy::Fixed(Priorities::Deadline));
        assert_eq!(found[3].response, [Some(20), Some(3), Some(6)]);
        assert!(found[1].remark.starts_with("U ="), "by deadline is by rate here: {}", found[1].remark);
    }

    #[test]
    fn partitions_are_judged_cpu_by_cpu() {
        let local = Box::new(Policy::Edf);
        let policy = Policy::Partitioned { fit: Fit::First, bound_pct: 100, local };
        let found = &analyze(&vec![Task::implicit(2, 3); 3], 2, &policy)[1];
        assert_eq!(found.verdict, Verdict::Unschedulable);
        assert!(
            found.remark.contains("CPU 0 is not schedulable") && found.remark.contains("no room"),
            "{found:?}"
        );
        let found = &analyze(&vec![Task::implicit(1, 2); 4], 2, &policy)[1];
        assert_eq!((found.verdict, found.remark.as_str()), (Verdict::Schedulable, "tasks per CPU: 2, 2"));
    }

    /// A partition made with costs in the computing times was another one than the component's.
    #[test]
    fn reported_attributes_place_tasks() {
        let policy = Policy::Partitioned { fit: Fit::First, bound_pct: 100, local: Box::new(Policy::Edf) };
        let declared = [Task::implicit(50, 100), Task::implicit(50, 100), Task::implicit(20, 100)];
        let longer = [Task::implicit(51, 100), Task::implicit(51, 100), Task::implicit(21, 100)];
        assert_eq!(analyze(&longer, 2, &policy)[1].verdict, Verdict::Schedulable);
        let found = &Load { declared: &declared, ..Load::of(&longer) }.analyze(2, &policy)[1];
        assert!(found.verdict == Verdict::Unschedulable && found.remark.contains("CPU 0"), "{found:?}");
        // Heavy by declared times: two tasks of half a CPU are not.
        let heavy = |declared: &[Task]| {
            let load = Load { declared, ..Load::of(&longer) };
            load.analyze(2, &Policy::EdfUs { threshold_pct: 50 })[1].remark.clone()
        };
        assert!(heavy(&declared).starts_with("0 heavy") && heavy(&longer).starts_with("2 heavy"));
    }

    /// What plans with computing times ends its plan too early where jobs take longer.
    #[test]
    fn plans_hold_only_what_is_reported() {
        let (declared, longer) = ([Task::implicit(1, 4)], [Task::implicit(2, 4)]);
        for (policy, m) in [(Policy::Optimal { quantum_ns: 0 }, 1), (Policy::Edzl, 2)] {
            let with = |declared: &[Task]| {
                Load { declared, ..Load::of(&longer) }.analyze(m, &policy).pop().expect("a test")
            };
            assert_eq!(with(&longer).verdict, Verdict::Schedulable);
            assert_eq!(with(&declared).verdict, Verdict::Undecided);
        }
    }

    #[test]
    fn different_offsets_soften_refusals() {
        // At once: 2 + 2 of work in 3. Two apart: each alone.
        let task = Task::implicit(2, 4).with_deadline(3);
        let apart = Task { offset: 2, ..task.clone() };
        assert_eq!(
            conclude(&analyze(&[task.clone(), task.clone()], 1, &Policy::Edf)),
            Verdict::Unschedulable
        );
        assert_eq!(conclude(&analyze(&[task, apart], 1, &Policy::Edf)), Verdict::Undecided);
    }
}
