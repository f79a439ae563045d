// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The sporadic task model, and exact sums over task sets.

use num_rational::BigRational;
use num_traits::Zero;

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
    tasks.iter().fold(Exact::zero(), |sum, t| sum + t.utilization())
}

/// Sum of the densities.
pub fn density(tasks: &[Task]) -> Exact {
    tasks.iter().fold(Exact::zero(), |sum, t| sum + t.density())
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
}
