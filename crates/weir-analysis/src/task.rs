// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The sporadic task model, and exact sums over task sets.

use std::sync::atomic::{AtomicBool, Ordering};

use num_rational::BigRational;
use num_traits::Zero;

use crate::locks::Step;

/// An exact number.
pub type Exact = BigRational;

/// A recurrent task. Times are nanoseconds on a CPU of full speed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    /// Most computing of a job.
    pub wcet: u64,
    /// Time between releases, at least; more than 0.
    pub period: u64,
    /// After the release.
    pub deadline: u64,
    /// A job may become ready this much after its release at most.
    pub jitter: u64,
    /// Of the first release.
    pub offset: u64,
    /// Releases may be further apart than a period.
    pub sporadic: bool,
    /// For fixed priorities given from outside; higher is more urgent.
    pub priority: i64,
    /// Time of sections of less urgent tasks that are not in `steps`, once in a busy period at most: as under a ceiling.
    pub blocking: u64,
    /// Time that a job sleeps at most, in so many parts.
    pub sleep: u64,
    pub sleeps: u32,
    /// Mutexes that a job takes, with the computing between; empty where it takes none.
    pub steps: Vec<Step>,
    /// How much a failure matters, where that has levels.
    pub level: Level,
    /// Period that the scheduler is told, where that is not the least time between releases; 0: it is.
    pub told: u64,
}

/// Mixed criticality (S. Vestal 2007).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// May be set aside when a high task needs more than its `wcet`.
    #[default]
    Low,
    /// Meets its deadlines even then, up to this execution time.
    High { wcet: u64 },
}

/// A task that has no least time between its jobs, or no jobs at all. It has no deadline that could be judged, but delays others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// A deadline that the scheduler is not told is 0, and so is a period that is not known.
    pub task: Task,
    pub gaps: Gaps,
}

/// What is known of the time between the jobs of a task beside the recurrent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    #[default]
    Unknown,
    /// At least the task's period.
    Least,
    /// They do come arbitrarily close, as in a Poisson process: what is less urgent may wait for any time.
    None,
}

impl Task {
    /// A task with an implicit deadline and no name.
    pub fn implicit(wcet: u64, period: u64) -> Self {
        Self { wcet, period, deadline: period, ..Self::default() }
    }

    /// The same with another deadline.
    #[must_use]
    pub fn with_deadline(self, deadline: u64) -> Self {
        Self { deadline, ..self }
    }

    /// WCET over period.
    pub fn utilization(&self) -> Exact {
        ratio(self.wcet, self.period)
    }

    /// WCET over the shorter of period and relative deadline.
    pub fn density(&self) -> Exact {
        ratio(self.wcet, self.period.min(self.deadline))
    }
}

/// `a / b`; a task that must do something in no time has a density beyond all CPUs.
pub fn ratio(a: u64, b: u64) -> Exact {
    if b == 0 {
        return Exact::from_integer((if a == 0 { 0 } else { u64::MAX }).into());
    }
    Exact::new(a.into(), b.into())
}

/// A whole number, exactly.
pub fn whole(n: u64) -> Exact {
    Exact::from_integer(n.into())
}

/// Sum of the utilizations.
pub fn utilization(tasks: &[Task]) -> Exact {
    total(tasks.iter().map(Task::utilization).collect())
}

/// Sum of the densities.
pub fn density(tasks: &[Task]) -> Exact {
    total(tasks.iter().map(Task::density).collect())
}

/// The sum. Pairs of pairs, so that most denominators are short: one after the other costs seconds with 2,000 tasks.
pub fn total(mut values: Vec<Exact>) -> Exact {
    while values.len() > 1 {
        values = values.chunks(2).map(|pair| pair.iter().fold(Exact::zero(), |sum, v| sum + v)).collect();
    }
    values.pop().unwrap_or_else(Exact::zero)
}

/// Set by a caller that wants no answer any longer: iterations end soon, as undecided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop<'a>(pub Option<&'a AtomicBool>);

impl Stop<'_> {
    /// It is time to end.
    pub fn is_set(self) -> bool {
        self.0.is_some_and(|s| s.load(Ordering::Relaxed))
    }
}

/// The largest of some values, 0 of none.
pub fn largest(values: impl Iterator<Item = Exact>) -> Exact {
    values.fold(Exact::zero(), |a, b| if a < b { b } else { a })
}

/// For people: a number with three decimals.
pub fn shown(value: &Exact) -> String {
    use num_traits::ToPrimitive;
    value.to_f64().map_or_else(|| "very large".to_string(), |v| format!("{v:.3}"))
}

/// For people: a time in the unit that fits, with no more than three decimals.
pub fn time(ns: impl Into<u128>) -> String {
    let ns = ns.into();
    let (unit, digits) = match ns {
        0..1_000 => ("ns", 0),
        1_000..1_000_000 => ("us", 3),
        1_000_000..1_000_000_000 => ("ms", 6),
        _ => ("s", 9),
    };
    let one = 10u128.pow(digits);
    let text = format!("{}.{:0width$}", ns / one, ns % one, width = digits as usize);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// All deadlines equal the periods.
pub fn all_implicit(tasks: &[Task]) -> bool {
    tasks.iter().all(|t| t.deadline == t.period)
}

/// No deadline is longer than its period.
pub fn all_constrained(tasks: &[Task]) -> bool {
    tasks.iter().all(|t| t.deadline <= t.period)
}

/// No release is late.
pub fn no_jitter(tasks: &[Task]) -> bool {
    tasks.iter().all(|t| t.jitter == 0)
}

/// Whether the worst case that exact tests assume, all tasks released at once, can happen: all offsets are
/// equal, or releases may move.
pub fn can_be_synchronous(tasks: &[Task]) -> bool {
    tasks.iter().all(|t| t.sporadic) || tasks.iter().all(|t| t.offset == tasks[0].offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        let tasks = vec![Task::implicit(1, 3); 3];
        assert_eq!(utilization(&tasks), whole(1));
        assert_eq!(density(&[Task::implicit(1, 4).with_deadline(2)]), ratio(1, 2));
        assert_eq!(shown(&ratio(2, 3)), "0.667");
        assert!(ratio(1, 0) > whole(1 << 20));
    }

    #[test]
    fn times_have_their_unit() {
        for (ns, text) in [
            (0u64, "0 ns"),
            (999, "999 ns"),
            (12_580_000, "12.58 ms"),
            (5_000_001_000, "5.000001 s"),
            (2_000, "2 us"),
        ] {
            assert_eq!(time(ns), text);
        }
    }
}
