// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Task models beyond fixed times: computing times and arrivals that are drawn, graphs of tasks, and the
//! protocols of mutexes.

/// How long a job computes: a distribution within bounds. Times are ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Dist {
    pub shape: Shape,
    /// Nothing shorter or longer is drawn; `max_ns` is the WCET.
    pub min_ns: u64,
    pub max_ns: u64,
    /// What lies outside is put on the bound, as SimSo does; else the distribution is truncated, that is,
    /// drawn under the condition that it lies within.
    pub clamp: bool,
}

/// The shape of a distribution before its bounds apply.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Normal {
        mean_ns: u64,
        deviation_ns: u64,
    },
    /// From 0 on.
    Exponential {
        mean_ns: u64,
    },
    /// From 0 on, with the distribution function `1 - exp(-(t / scale)^shape)`.
    Weibull {
        scale_ns: u64,
        shape: f64,
    },
    /// Buckets `low..=high`, each uniform within, with their cumulated weights, ascending to 1.
    Histogram(Box<[(u64, u64, f64)]>),
}

/// When the jobs of an aperiodic task arrive. Times are ns.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Gaps of at least `least_ns`, to which an exponentially distributed time is added so that their mean is
    /// `mean_ns`.
    Poisson { mean_ns: u64, least_ns: u64 },
    /// Bursts of `count` jobs, `gap_ns` from one to the next; between the last job of a burst and the first of
    /// the next an exponentially distributed time of this mean.
    Bursts { count: u32, gap_ns: u64, pause_ns: u64 },
    /// Two phases in turn, a Poisson process in each: a Markov-modulated Poisson process. A phase lasts an
    /// exponentially distributed time; a mean gap of `u64::MAX` is silence.
    Modulated { phases: [Phase; 2] },
    /// At these times after the start of the task, ascending.
    List(Box<[u64]>),
}

/// One phase of [`Arrivals::Modulated`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    pub gap_ns: u64,
    pub length_ns: u64,
}

impl Arrivals {
    /// Mean time from one arrival to the next, ns; 0 where there are too few.
    pub fn mean_ns(&self) -> u64 {
        match self {
            Arrivals::Poisson { mean_ns, .. } => *mean_ns,
            Arrivals::Bursts { count, gap_ns, pause_ns } => {
                let n = u64::from(*count).max(1);
                ((n - 1).saturating_mul(*gap_ns)).saturating_add(*pause_ns) / n
            }
            Arrivals::Modulated { phases } => {
                let rate =
                    |p: &Phase| if p.gap_ns == u64::MAX { 0.0 } else { p.length_ns as f64 / p.gap_ns as f64 };
                let jobs: f64 = phases.iter().map(rate).sum();
                let time: f64 = phases.iter().map(|p| p.length_ns as f64).sum();
                if jobs > 0.0 { (time / jobs) as u64 } else { 0 }
            }
            Arrivals::List(times) => match times[..] {
                [first, .., last] => (last - first) / (times.len() as u64 - 1),
                _ => 0,
            },
        }
    }
}

/// What keeps a task that holds a mutex from holding up more urgent ones (Sha, Rajkumar and Lehoczky 1990).
/// The runtime reports the holder's new priority, deadline and period; no component need know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Nothing; waiters are served in the order in which they come.
    #[default]
    None,
    /// Priority inheritance: the holder is as urgent as the most urgent task that waits.
    Inherit,
    /// Immediate priority ceiling: the holder is as urgent as any task that ever takes the mutex could be;
    /// where deadlines count, its deadline is at most the shortest relative one of those from the lock on
    /// (deadline floor; Burns, Gutierrez, Aldea Rivas, Gonzalez Harbour 2015).
    Ceiling,
    /// The original priority ceiling: a task gets the mutex only if it is more urgent than the ceilings of all
    /// such mutexes that others hold; the task in its way inherits.
    Classic,
    /// A spin lock: waiters keep their CPUs, and get it in the order in which they came.
    Spin,
}

/// A graph of tasks: a task's job begins when the same jobs of all its predecessors are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dag {
    pub name: String,
    pub nodes: Vec<DagNode>,
}

/// A task of a [`Dag`]; its program has [`super::Op::Join`] behind its release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DagNode {
    pub before: Vec<u32>,
    pub after: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_arrivals() {
        let mean = |a: Arrivals| a.mean_ns();
        assert_eq!(mean(Arrivals::Poisson { mean_ns: 10, least_ns: 2 }), 10);
        assert_eq!(mean(Arrivals::Bursts { count: 5, gap_ns: 1, pause_ns: 96 }), 20);
        let on = Phase { gap_ns: 5, length_ns: 100 };
        let off = Phase { gap_ns: u64::MAX, length_ns: 300 };
        assert_eq!(mean(Arrivals::Modulated { phases: [on, off] }), 20);
        assert_eq!(mean(Arrivals::List([10, 20, 40].into())), 15);
        assert_eq!(mean(Arrivals::List([10].into())), 0);
    }
}
