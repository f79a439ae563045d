// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the tests assume, and what becomes of a result whose assumption does not hold.
//!
//! A verdict is never stronger than its assumptions. [`Feature`] names everything that a workload, a machine, a topology or
//! a cost table can have and that matters to deadlines; [`TABLE`] says of each test whether it takes that into account.
//! A new feature or test needs its row or column, else this does not compile.

use crate::finding::{Bound, Finding, Test, Verdict};
use crate::task::{Background, Task};

/// What a test does about a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// It takes the feature into account, refuses sets that have it by itself, or the feature changes nothing for it.
    Yes,
    /// The feature may do better than the test believes: refusals become undecided.
    Milder,
    /// It may do worse: what was accepted becomes undecided, response times become lower bounds.
    Harsher,
    /// Either.
    Unknown,
}

/// The letters of the table.
const O: Cover = Cover::Yes;
const M: Cover = Cover::Milder;
const H: Cover = Cover::Harsher;
const X: Cover = Cover::Unknown;

macro_rules! features {
    ($($variant:ident $id:literal $assumption:literal $broken:literal [$($cell:ident)+],)+) => {
        /// What a test may leave out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Feature { $($variant,)+ }

        impl Feature {
            pub const ALL: &[Feature] = &[$(Feature::$variant,)+];
            pub const COUNT: usize = Self::ALL.len();

            /// Short and stable, for scripts.
            pub fn id(self) -> &'static str {
                match self { $(Feature::$variant => $id,)+ }
            }

            /// What a test assumes that does not model it, for people.
            pub fn assumption(self) -> &'static str {
                match self { $(Feature::$variant => $assumption,)+ }
            }

            /// What breaks the assumption, for people.
            pub fn breaks(self) -> &'static str {
                match self { $(Feature::$variant => $broken,)+ }
            }
        }

        /// A row for each feature, a column for each test, in the order of [`Feature::ALL`] and [`Test::ALL`].
        pub const TABLE: [[Cover; Test::COUNT]; Feature::COUNT] = [$([$($cell),+],)+];
    };
}

// Columns:
//   feasible | ll-rm hyperbolic rta | ll-edf density qpa demand | edf-vd
//            | gfb bak bcl rta-edf rta-fp bcl-rm edf-us rm-us edzl | optimal | partitioned
//
// `feasible` never accepts, so what only makes things worse leaves it as it is. `partitioned` applies the tests of one CPU to
// each; what crosses CPUs it sees by itself.
features! {
    Locks "locks" "no job waits for a mutex that another task holds"
        "mutexes that several tasks take, with a protocol"
        [O  H H O  H H H O  H  H H H H H H H H H  X  O],
    BareLocks "bare-locks" "no job waits for a mutex that another task holds"
        "mutexes that several tasks take, without a protocol against priority inversion: waits have no bound"
        [O  H H O  H H H H  H  H H H H H H H H H  X  O],
    OddLocks "odd-locks" "each mutex is released by the job that took it, without a sleep in between"
        "mutexes that are kept over a sleep or the end of a job, taken twice, or taken in a loop"
        [O  H H H  H H H H  H  H H H H H H H H H  X  H],
    Sleeps "sleeps" "a job does not sleep"
        "steps that sleep"
        [O  H H O  H H O O  H  H H H H H H H H H  X  O],
    Blocking "blocking" "no job waits for a section that is not in the workload"
        "`blocking`, the time of sections that are not in the workload"
        [O  H H O  H H H O  H  H H H H H H H H H  X  O],
    Waits "waits" "a job waits for nothing but a CPU"
        "steps that wait: devices, timers, channels, barriers, conditions, events"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Spins "spins" "a job computes for at most its declared time"
        "steps that spin until another task comes"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Precedence "precedence" "tasks are independent"
        "tasks of a graph, whose jobs wait for others'"
        [M  H H X  X H X X  H  H H H H H H H H H  X  X],
    Arrivals "arrivals" "the time between two jobs has a least value"
        "jobs that arrive by a law or a list without a least distance: they are left out, and delay others"
        [O  H H O  H H H H  H  H H H H H H H H H  H  X],
    Order "order" "it is known which task comes first"
        "jitter before the first release, on which the placement of tasks depends"
        [O  O O O  O O O O  O  O O O O O O O O O  O  X],
    Gaps "gaps" "the least time between two jobs is the period that the scheduler knows"
        "jobs that arrive by a law with a least distance, but are announced with the mean one"
        [O  H H O  O O O O  H  O O O O O H H H H  H  X],
    Background "background" "all tasks are recurrent"
        "tasks without a period: they are left out, and delay others"
        [O  H H O  H H H H  H  H H H H H H H H H  H  X],
    Forks "forks" "all tasks exist from the beginning"
        "tasks that others create, and delay others"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Releases "releases" "a task has one release, with a period"
        "programs with several kinds of releases, or with steps before the first"
        [X  X X X  X X X X  X  X X X X X X X X X  X  X],
    Affinity "affinity" "tasks may run on every CPU"
        "tasks that are bound to some of the CPUs"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    InstructionSet "isa" "tasks run on the machine's own kind of CPU"
        "tasks of another instruction set"
        [X  X X X  X X X X  X  X X X X X X X X X  X  X],
    Priorities "priorities" "a task keeps its priority"
        "steps that change a priority"
        [O  O O X  O O O O  O  O O O O X O O O O  O  X],
    Yields "yields" "a job runs until it is done, or a more urgent one comes"
        "steps that yield"
        [O  X X X  X X X X  X  X X X X X X X X X  X  X],
    Weights "weights" "weights, slices and utilisation clamps do not matter"
        "tasks with a weight, a slice or a utilisation clamp"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Limits "limits" "no group has a limit"
        "groups with a limit of CPU time"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Gangs "gangs" "tasks are scheduled one by one"
        "gangs, whose slots keep CPUs from others"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Guests "guests" "the machine runs these tasks only"
        "guests, whose virtual CPUs are tasks without a period"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Messages "messages" "tasks tell the scheduler nothing"
        "steps that publish messages"
        [O  X X X  X X X X  X  X X X X X X X X X  X  X],
    Memory "memory" "computing takes as long as declared"
        "computing whose time follows from caches or memory"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Finite "finite" "tasks never end"
        "tasks that end after some jobs"
        [M  M M M  M M M M  M  M M M M M M M M M  M  M],
    Shorter "shorter" "some job needs its whole execution time"
        "tasks whose jobs never need their `wcet`"
        [M  M M M  M M M M  M  M M M M M M M M M  M  M],
    Overruns "overruns" "no job computes for longer than the scheduler was told"
        "tasks whose jobs may compute for longer than their `wcet`"
        [O  O O O  O O O O  H  O O O O O O O O H  H  O],
    Scenario "scenario" "the scheduler and its tasks stay as they are"
        "actions of the workload while it runs"
        [X  X X X  X X X X  X  X X X X X X X X X  X  X],
    Speeds "speeds" "CPUs are equal"
        "CPUs of several speeds: all are taken for as slow as the slowest"
        [M  M M M  M M M M  M  M M M M M M M M X  X  X],
    Threads "threads" "a CPU's speed does not depend on its neighbours"
        "CPUs that are threads of one core: while both are busy, computing takes longer"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Hotplug "hotplug" "CPUs stay"
        "CPUs that come or go"
        [M  X X X  X X X X  X  X X X X X X X X X  X  X],
    Clocks "clocks" "CPUs keep their speed"
        "clocks that change, or CPUs that get too hot"
        [M  H H H  H H H H  H  H H H H H H H H H  X  H],
    Foreign "foreign" "every CPU runs every task, and all share memory"
        "CPUs of other instruction sets, or in other coherence domains"
        [M  X X X  X X X X  X  X X X X X X X X X  X  X],
    Engine "engine" "the scheduler is software"
        "a scheduler in hardware, which decides at its own times"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Postponed "postponed" "a job that arrives is seen at once"
        "postponed pipes in the topology"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
    Reshapes "reshapes" "the topology stays as it is"
        "conditions in the topology, which reshape it"
        [O  X X X  X X X X  X  X X X X X X X X X  X  X],
    Costs "costs" "jobs take no longer than the scheduler knows, costs included"
        "costs that are not in `wcet`, in whose terms the policy plans"
        [O  O O O  O O O O  H  O O O O O O O O H  H  O],
    CostsOfWaits "costs-of-waits" "jobs with costs do not wait"
        "locks and sleeps, whose switches are not charged"
        [O  H H H  H H H H  H  H H H H H H H H H  H  H],
}

impl Feature {
    /// What `test` does about it.
    pub fn at(self, test: Test) -> Cover {
        TABLE[self as usize][test as usize]
    }

    /// It matters to some result of these tests.
    pub fn matters(self, tests: impl IntoIterator<Item = Test>) -> bool {
        tests.into_iter().any(|t| self.at(t) != Cover::Yes)
    }
}

/// Features that the tasks themselves show.
pub fn of_tasks(tasks: &[Task], background: &[Background]) -> Vec<Feature> {
    let mut found = Vec::new();
    let mut note = |has: bool, what: Feature| {
        if has {
            found.push(what);
        }
    };
    let everyone = || tasks.iter().chain(background.iter().map(|b| &b.task));
    let shared = |bare: bool| crate::locks::shared(everyone()).any(|m| m.protocol.is_bare() == bare);
    note(shared(false), Feature::Locks);
    note(shared(true), Feature::BareLocks);
    note(tasks.iter().any(|t| t.sleep > 0), Feature::Sleeps);
    note(tasks.iter().any(|t| t.blocking > 0), Feature::Blocking);
    // Of two that may both come first.
    let last = |t: &Task| t.offset.saturating_add(t.jitter);
    let overlap = |a: &Task, b: &Task| a.jitter > 0 && a.offset <= last(b) && b.offset <= last(a);
    let order =
        tasks.iter().enumerate().any(|(i, a)| tasks.iter().enumerate().any(|(k, b)| i != k && overlap(a, b)));
    note(order, Feature::Order);
    found
}

/// Findings with the results that survive: what rests on an assumption that does not hold is undecided.
pub fn weigh(found: Vec<Finding>, features: &[Feature]) -> Vec<Finding> {
    let bounds_only = features.contains(&Feature::Costs);
    let milder =
        |f: &Finding| bounds_only || features.iter().any(|feature| feature.at(f.test) == Cover::Milder);
    found
        .into_iter()
        .map(|f| features.iter().fold(f, |f, feature| weighed(f, *feature)))
        .map(|f| match f.bound == Bound::Lower && milder(&f) {
            // What may do better, as costs may be less than their bounds, need not reach them.
            true => Finding { bound: Bound::Upper, response: Vec::new(), ..f },
            false => f,
        })
        .collect()
}

fn weighed(found: Finding, feature: Feature) -> Finding {
    let cover = feature.at(found.test);
    withhold(found, feature, cover)
}

/// What is left of a finding that treats a feature like that.
pub(crate) fn withhold(mut found: Finding, feature: Feature, cover: Cover) -> Finding {
    let breaks = match cover {
        Cover::Yes => return found,
        Cover::Milder => found.verdict == Verdict::Unschedulable,
        Cover::Harsher => found.verdict == Verdict::Schedulable || !found.response.is_empty(),
        Cover::Unknown => found.verdict != Verdict::Undecided || !found.response.is_empty(),
    };
    if !breaks || found.broken.contains(&feature) {
        return found;
    }
    let was = found.verdict;
    let turned = match cover {
        Cover::Yes => false,
        Cover::Milder => was == Verdict::Unschedulable,
        Cover::Harsher => was == Verdict::Schedulable,
        Cover::Unknown => was != Verdict::Undecided,
    };
    if turned {
        found.verdict = Verdict::Undecided;
        found.remark = format!("would be {was}, but assumes that {}; {}", feature.assumption(), found.remark);
    }
    match cover {
        // What some run reaches it reaches whatever else comes; another figure is neither bound then.
        Cover::Harsher if found.reached && !found.response.is_empty() => found.bound = Bound::Lower,
        Cover::Harsher | Cover::Unknown => found.response.clear(),
        Cover::Milder | Cover::Yes => {}
    }
    found.broken.push(feature);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Kind;

    fn finding(kind: Kind, test: Test, passed: bool) -> Finding {
        Finding::new(kind, test, "-", passed, "as it is".into()).with_response(vec![Some(5)])
    }

    #[test]
    fn accepted_sets_are_undecided_where_something_is_left_out() {
        let found = weigh(vec![finding(Kind::Exact, Test::Rta, true)], &[Feature::Waits]);
        assert_eq!((found[0].verdict, found[0].bound), (Verdict::Undecided, Bound::Lower));
        assert_eq!((found[0].response.len(), &found[0].broken[..]), (1, &[Feature::Waits][..]));
        // Neither bound where a job may also do better.
        for features in [[Feature::Finite, Feature::Waits], [Feature::Waits, Feature::Speeds]] {
            let found = weigh(vec![finding(Kind::Exact, Test::Rta, true)], &features);
            assert_eq!((found[0].verdict, found[0].response.len()), (Verdict::Undecided, 0));
        }
        let found = weigh(vec![finding(Kind::Sufficient, Test::RtaFp, true)], &[Feature::Waits]);
        assert!(found[0].response.is_empty() && found[0].remark.contains("nothing but a CPU"), "{found:?}");
    }

    #[test]
    fn refusals_stay_where_the_truth_is_only_worse() {
        let refused = |feature| weigh(vec![finding(Kind::Exact, Test::Rta, false)], &[feature])[0].verdict;
        assert_eq!(refused(Feature::Waits), Verdict::Unschedulable);
        assert_eq!(refused(Feature::Finite), Verdict::Undecided);
        assert_eq!(refused(Feature::Scenario), Verdict::Undecided);
    }

    /// What no test models leaves no test accepting.
    #[test]
    fn waits_leave_nothing_accepted() {
        for test in Test::ALL {
            let kind = if *test == Test::Feasible { Kind::Necessary } else { Kind::Sufficient };
            for feature in [Feature::Waits, Feature::OddLocks, Feature::Scenario, Feature::Postponed] {
                let found = weigh(vec![finding(kind, *test, true)], &[feature]);
                assert_eq!(found[0].verdict, Verdict::Undecided, "{} {}", test.id(), feature.id());
            }
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut ids: Vec<&str> =
            Feature::ALL.iter().map(|f| f.id()).chain(Test::ALL.iter().map(|t| t.id())).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|w| w[0] != w[1]), "{ids:?}");
    }
}
