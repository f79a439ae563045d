// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What switches, interrupts and ticks take, as utilization and as longer computing times.
//!
//! With a tick of cost s every T, a switch of cost d, and at most N_i switches a job, a scheduler takes
//!
//!   (1)  U_ov = d * sum(N_i / p_i) + s / T    where a tick drives it, and
//!   (2)  U_ov = d * sum(N_i / p_i)            where it has no tick
//!
//! (R. Mancuso, P. Srivastava, D. Chen and M. Caccamo, "A hardware architecture to deploy complex multiprocessor
//! scheduling algorithms", section IV-B4), and where decisions fall on ticks only, at most d / T of each CPU (V-B2).

use num_traits::Zero;

use crate::policy::Policy;
use crate::task::{Exact, Task, ratio, whole};

/// Costs, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// Leave one task and resume another.
    pub switch_ns: u64,
    /// More, where it last ran on another CPU.
    pub migration_ns: u64,
    /// From a call of the scheduler until another CPU reacts to it.
    pub notify_ns: u64,
    /// A decision of the scheduler: a task leaves a CPU, which takes the next.
    pub decision_ns: u64,
    /// The release of a job: the interrupt, and the call of the scheduler.
    pub release_ns: u64,
    /// A tick, and its period; no tick where that is 0.
    pub tick_ns: u64,
    pub tick_period_ns: u64,
    /// The end of a slice, after which the same task continues, and its length; no slices where that is 0.
    pub slice_ns: u64,
    pub slice_period_ns: u64,
}

/// How often a policy switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// At most so often a job: priorities of jobs change a fixed number of times.
    PerJob(u64),
    /// At most once an interval of so many ns on each CPU.
    PerInterval(u64),
    /// Only at ticks of so many ns: at most once a tick on each CPU, and at most so often a job, 0: once each tick of its
    /// execution.
    AtTicks { ns: u64, per_job: u64 },
}

impl Policy {
    /// How often it switches at most. A job that comes or rises in priority displaces one other at most, so each
    /// such change is charged two switches: there and back.
    pub fn switching(&self) -> Switching {
        match self {
            Policy::Fixed(_) | Policy::Edf | Policy::EdfUs { .. } | Policy::RmUs => Switching::PerJob(2),
            // A change of the mode reorders the waiting tasks.
            Policy::EdfVd { .. } => Switching::PerJob(4),
            Policy::Edzl => Switching::PerJob(4),
            Policy::Llf { tick_ns } => Switching::PerInterval((*tick_ns).max(1)),
            Policy::Ticked { tick_ns, by } => {
                let per_job = match by.switching() {
                    Switching::PerJob(n) => n,
                    _ => 0,
                };
                Switching::AtTicks { ns: (*tick_ns).max(1), per_job }
            }
            Policy::Optimal { quantum_ns } if *quantum_ns > 0 => Switching::PerInterval(*quantum_ns),
            // McNaughton's rule between two deadlines: at most two switches a task in each such interval.
            Policy::Optimal { .. } | Policy::Run => Switching::PerJob(4),
            Policy::Partitioned { local, .. } => local.switching(),
        }
    }

    /// The tick that drives its decisions, ns; 0: none does.
    pub fn tick_ns(&self) -> u64 {
        match self {
            Policy::Llf { tick_ns } | Policy::Ticked { tick_ns, .. } => *tick_ns,
            Policy::Partitioned { local, .. } => local.tick_ns(),
            _ => 0,
        }
    }
}

impl Overheads {
    /// Nothing costs anything.
    pub fn is_zero(&self) -> bool {
        let Self { tick_period_ns, slice_period_ns, .. } = *self;
        *self == Self { tick_period_ns, slice_period_ns, ..Self::default() }
    }

    /// A switch with its decision and the interrupt that brings it about; with a migration where tasks may migrate.
    pub fn switch(&self, migrates: bool) -> u64 {
        self.switch_ns + self.notify_ns + self.decision_ns + if migrates { self.migration_ns } else { 0 }
    }

    /// s / T: share of a CPU that ticks take.
    pub fn tick_share(&self) -> Exact {
        if self.tick_period_ns == 0 { Exact::zero() } else { ratio(self.tick_ns, self.tick_period_ns) }
    }

    /// Formula (2): share that switches take, of all CPUs together (1 is one CPU), on `m` CPUs.
    pub fn switch_share(&self, tasks: &[Task], m: u32, policy: &Policy, migrates: bool) -> Exact {
        let cost = self.switch(migrates);
        match policy.switching() {
            Switching::PerJob(n) => {
                tasks.iter().fold(Exact::zero(), |sum, t| sum + ratio(n * cost, t.period))
            }
            Switching::PerInterval(ns) => whole(u64::from(m)) * ratio(cost, ns),
            Switching::AtTicks { ns, per_job } => {
                let switches = |t: &Task| if per_job > 0 { per_job } else { t.wcet.div_ceil(ns) };
                let jobs =
                    tasks.iter().fold(Exact::zero(), |sum, t| sum + ratio(switches(t) * cost, t.period));
                jobs.min(whole(u64::from(m)) * ratio(cost, ns))
            }
        }
    }

    /// The same for a policy whose decisions a tick drives: its own, with a decision each, instead of the kernel's.
    #[must_use]
    pub fn driven_by(&self, policy: &Policy) -> Self {
        match policy.tick_ns() {
            0 => *self,
            ns if self.is_zero() => Self { tick_period_ns: ns, ..*self },
            ns => Self { tick_ns: self.tick_ns + self.decision_ns, tick_period_ns: ns, ..*self },
        }
    }

    /// Tasks whose computing times hold everything that delays them beyond other tasks: their own switches, the
    /// releases of all tasks in their window, on whichever CPU, and ticks. A set that is schedulable with these and without
    /// costs is so with its own and these costs; calls have to hold what they wait for locks of the scheduler.
    ///
    /// An interrupt that no longer finds what it is about only hits a task that is less urgent than the one that caused it, whose
    /// switches hold it (B. Brandenburg, "Scheduling and locking in multiprocessor real-time operating systems", 2011, chapter 3).
    ///
    /// `None` where ticks or intervals leave no time.
    pub fn inflate(&self, tasks: &[Task], policy: &Policy, migrates: bool) -> Option<Vec<Task>> {
        let cost = u128::from(self.switch(migrates));
        let release = u128::from(self.release_ns);
        let one = |t: &Task| {
            let window = t.deadline.min(t.period).max(1);
            let releases: u128 =
                tasks.iter().map(|o| u128::from((window + o.jitter).div_ceil(o.period)) + 1).sum();
            let mut wcet = u128::from(t.wcet) + releases * release;
            match policy.switching() {
                Switching::PerJob(n) => wcet += u128::from(n) * cost,
                Switching::PerInterval(ns) | Switching::AtTicks { ns, .. } => {
                    // Of each interval only what a switch leaves is work.
                    let left = u128::from(ns).checked_sub(cost).filter(|l| *l > 0)?;
                    wcet = (wcet * u128::from(ns)).div_ceil(left) + cost;
                }
            }
            for (each, period, always) in
                [(self.slice_ns, self.slice_period_ns, false), (self.tick_ns, self.tick_period_ns, true)]
            {
                let (each, period) = (u128::from(each), u128::from(period));
                // Ticks come at any time; a slice begins with the job's turn, and ends where that is long enough.
                if each > 0 && period > 0 && (always || wcet >= period) {
                    wcet = (wcet * period).div_ceil(period.checked_sub(each).filter(|l| *l > 0)?) + each;
                }
            }
            Some(Task { wcet: u64::try_from(wcet).ok()?, ..t.clone() })
        };
        tasks.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Priorities;

    /// The source's figures: 651 cycles of 667 MHz each 100 us are 0.976 %.
    #[test]
    fn the_bound_of_the_prototype() {
        let costs = Overheads { switch_ns: 976, ..Overheads::default() };
        let share = costs.switch_share(&[], 1, &Policy::Llf { tick_ns: 100_000 }, false);
        assert_eq!(share, ratio(976, 100_000));
        assert!(costs.tick_share().is_zero());
    }

    #[test]
    fn formulas_differ_by_the_tick() {
        let tasks = [Task::implicit(1_000, 10_000), Task::implicit(1_000, 20_000)];
        let costs = Overheads { switch_ns: 100, tick_ns: 10, tick_period_ns: 4_000, ..Overheads::default() };
        assert_eq!(
            costs.switch_share(&tasks, 1, &Policy::Edf, false),
            ratio(200, 10_000) + ratio(200, 20_000)
        );
        assert_eq!(costs.tick_share(), ratio(1, 400));
    }

    /// A policy that decides at ticks pays for its own ticks (1); as hardware it pays for switches alone (2), and a job
    /// switches at most once each tick of its execution.
    #[test]
    fn ticks_of_the_policy() {
        let tasks = [Task::implicit(1_000, 10_000), Task::implicit(250, 20_000)];
        let costs = Overheads {
            switch_ns: 10,
            decision_ns: 2,
            tick_ns: 3,
            tick_period_ns: 4_000,
            ..Overheads::default()
        };
        let llf = Policy::Ticked { tick_ns: 100, by: Box::new(Policy::Llf { tick_ns: 100 }) };
        let edf = Policy::Ticked { tick_ns: 100, by: Box::new(Policy::Edf) };
        let of = |policy: &Policy| costs.driven_by(policy);
        assert_eq!(of(&llf).tick_share(), ratio(5, 100));
        assert_eq!(of(&Policy::Edf), costs);
        let twelve = |n| ratio(n * 12, 1);
        let two = |n: u64, k: u64| twelve(n) / whole(10_000) + twelve(k) / whole(20_000);
        assert_eq!(of(&llf).switch_share(&tasks, 1, &llf, false), two(10, 3));
        assert_eq!(of(&edf).switch_share(&tasks, 1, &edf, false), two(2, 2));
        // Never more than one a tick and CPU.
        let busy = vec![Task::implicit(9_000, 10_000); 9];
        assert_eq!(of(&llf).switch_share(&busy, 2, &llf, false), whole(2) * ratio(12, 100));
    }

    #[test]
    fn inflation_holds_switches_releases_and_ticks() {
        let tasks = [Task::implicit(1_000, 10_000), Task::implicit(1_000, 20_000)];
        let none = Overheads::default();
        let fp = Policy::Fixed(Priorities::Rate);
        assert!(none.is_zero());
        assert_eq!(none.inflate(&tasks, &fp, true).expect("free"), tasks);
        let costs = Overheads { switch_ns: 100, release_ns: 10, ..none };
        // Two switches; in 10 us one release of each and one more that came before.
        assert_eq!(costs.inflate(&tasks, &fp, false).expect("fits")[0].wcet, 1_000 + 200 + 4 * 10);
        let all = Overheads { tick_ns: 4_000, tick_period_ns: 4_000, ..none };
        assert!(all.inflate(&tasks, &fp, false).is_none());
        assert!(costs.inflate(&tasks, &Policy::Llf { tick_ns: 100 }, false).is_none());
    }
}
