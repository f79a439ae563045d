// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Bounds of utilization and density on `m` equal CPUs between which tasks may migrate.

use num_traits::One;

use crate::finding::{Finding, Kind, Test};
use crate::task::{
    Exact, Stop, Task, all_constrained, all_implicit, density, largest, no_jitter, ratio, shown, time, total,
    utilization, whole,
};
use crate::uni_edf::demand;

/// Most deadlines at which the demand is looked at.
const POINTS: usize = 20_000;

/// What every policy needs: no task asks for more than a CPU, all together for no more than `m`, and no interval
/// from a common release demands more than `m` CPUs can do in it. O(n) and some deadlines.
pub fn feasible(tasks: &[Task], m: u32, milder: bool) -> Finding {
    let u = utilization(tasks);
    // The deadline counts from behind the jitter, so jobs need not be closer than that.
    let tasks = &tasks.iter().map(|t| Task { jitter: 0, ..t.clone() }).collect::<Vec<_>>()[..];
    let make = |passed, remark| {
        Finding::new(
            Kind::Necessary,
            Test::Feasible,
            "Baruah et al. 1996; Baker and Cirinei 2006",
            passed,
            remark,
        )
    };
    if let Some(t) = tasks.iter().find(|t| t.wcet > t.deadline || t.wcet > t.period) {
        return make(
            false,
            format!("`{}` takes {}, longer than its deadline or period", t.name, time(t.wcet)),
        );
    }
    if u > whole(u64::from(m)) {
        return make(false, format!("U = {} of {m}", shown(&u)));
    }
    let mut due: Vec<u128> = Vec::new();
    for t in tasks {
        let share = (POINTS / tasks.len().max(1)).max(2) as u128;
        due.extend((0..share).map(|k| u128::from(t.deadline) + k * u128::from(t.period)));
    }
    due.sort_unstable();
    // Beyond the shortest of the last deadlines some are missing; the demand there is right all the same.
    if let Some(t) = due.into_iter().find(|t| demand(tasks, *t) > *t * u128::from(m)) {
        return make(false, format!("in {} there is work for {}", time(t), time(demand(tasks, t))))
            .unless(milder, "with these offsets it may be possible");
    }
    make(true, format!("necessary conditions hold: U = {} of {m}", shown(&u)))
}

/// Density <= m - (m - 1) * largest density: for global EDF. With implicit deadlines the densities are utilizations
/// (J. Goossens, S. Funk and S. Baruah 2003; for others M. Bertogna et al. 2005). O(n).
pub fn gfb(tasks: &[Task], m: u32) -> Finding {
    let (sum, most) = (density(tasks), largest(tasks.iter().map(Task::density)));
    let bound = whole(u64::from(m)) - whole(u64::from(m) - 1) * &most;
    let remark = format!("density {}, largest {}, bound {}", shown(&sum), shown(&most), shown(&bound));
    let found = Finding::new(
        Kind::Sufficient,
        Test::Gfb,
        "Goossens, Funk and Baruah 2003",
        sum <= bound && most <= whole(1),
        remark,
    );
    if no_jitter(tasks) { found } else { found.inapplicable("releases have jitter") }
}

/// U <= m: exact for policies that are optimal for implicit deadlines (PD2, LLREF, DP-WRAP, RUN, U-EDF …). O(n).
///
/// With a `quantum` all times must be whole quanta; a computing time that is not is rounded up.
pub fn optimal(tasks: &[Task], m: u32, quantum: u64) -> Finding {
    let rounded: Vec<Task> = tasks
        .iter()
        .map(|t| {
            if quantum > 0 { Task { wcet: t.wcet.next_multiple_of(quantum), ..t.clone() } } else { t.clone() }
        })
        .collect();
    let u = utilization(&rounded);
    let most = largest(rounded.iter().map(Task::utilization));
    let passed = u <= whole(u64::from(m)) && most <= whole(1);
    let remark = format!("U = {}, bound {m}", shown(&u));
    let found = Finding::new(
        Kind::Exact,
        Test::Optimal,
        "Baruah, Cohen, Plaxton and Varvel 1996; Anderson and Srinivasan 2001",
        passed,
        remark,
    );
    if !all_implicit(tasks) {
        return found.inapplicable("deadlines differ from periods");
    }
    if !no_jitter(tasks) {
        return found.inapplicable("releases have jitter");
    }
    let fits = |ns: u64| quantum == 0 || ns.is_multiple_of(quantum);
    if !tasks.iter().all(|t| fits(t.period) && fits(t.offset) && (quantum == 0 || !t.sporadic)) {
        return found.inapplicable("releases are not at multiples of the quantum");
    }
    let exact = tasks.iter().all(|t| fits(t.wcet));
    found.unless(!exact, "computing times are not whole quanta, so it may still do")
}

/// The same for RUN, whose servers are packed from all tasks, and spend their budgets whether or not jobs come: a task that joins later, or comes
/// late, may miss a deadline. (P. Regnier et al. 2011; E. Massa et al. 2014 for the limit.)
pub fn run(tasks: &[Task], m: u32) -> Finding {
    let found = optimal(tasks, m, 0);
    let together = tasks.iter().all(|t| t.offset == tasks[0].offset && !t.sporadic);
    if together { found } else { found.inapplicable("tasks do not begin together, or are sporadic") }
}

/// Heavy tasks have CPUs of their own, the others share what is left under a bound for global EDF.
///
/// A. Srinivasan and S. Baruah 2002: with the threshold `m / (2m - 1)` that is never less than `m^2 / (2m - 1)`;
/// T. Baker 2005: with 1/2 never less than `(m + 1) / 2`. Here the set at hand decides; which tasks are heavy follows from
/// the `declared` values, those that the scheduler knows. O(n).
pub fn edf_us(declared: &[Task], tasks: &[Task], m: u32, threshold: &Exact) -> Finding {
    let (heavy, light): (Vec<_>, Vec<_>) =
        declared.iter().zip(tasks).partition(|(declared, _)| declared.utilization() > *threshold);
    let of = |some: Vec<(&Task, &Task)>| some.into_iter().map(|(_, t)| t.clone()).collect::<Vec<_>>();
    let (heavy, light) = (of(heavy), of(light));
    let left = (m as usize).saturating_sub(heavy.len()) as u32;
    let rest = if left > 0 { gfb(&light, left) } else { gfb(&light, 1) };
    let passed = heavy.len() <= m as usize
        && heavy.iter().all(|t| t.utilization() <= whole(1))
        && (light.is_empty() || (left > 0 && rest.verdict == crate::Verdict::Schedulable));
    let remark = format!(
        "{}; for the others, on {}: {}",
        weir_text::plural(heavy.len(), "heavy task"),
        weir_text::plural(left, "CPU"),
        rest.remark
    );
    let found =
        Finding::new(Kind::Sufficient, Test::EdfUs, "Srinivasan and Baruah 2002; Baker 2005", passed, remark);
    fixed_shape(found, tasks)
}

/// U <= m^2 / (3m - 2): RM with priority for tasks above m / (3m - 2). O(n).
pub fn rm_us(tasks: &[Task], m: u32) -> Finding {
    let m = u64::from(m);
    let (u, bound) = (utilization(tasks), ratio(m * m, 3 * m - 2));
    let passed = u <= bound && tasks.iter().all(|t| t.utilization() <= whole(1));
    let remark = format!("U = {}, bound {}", shown(&u), shown(&bound));
    let found =
        Finding::new(Kind::Sufficient, Test::RmUs, "Andersson, Baruah and Jonsson 2001", passed, remark);
    fixed_shape(found, tasks)
}

/// U <= m / 2 (1 - u) + u with the largest utilization u: for global RM. O(n).
pub fn rm_global(tasks: &[Task], m: u32) -> Finding {
    let (u, most) = (utilization(tasks), largest(tasks.iter().map(Task::utilization)));
    let bound = ratio(u64::from(m), 2) * (whole(1) - &most) + &most;
    let remark = format!("U = {}, largest {}, bound {}", shown(&u), shown(&most), shown(&bound));
    let passed = u <= bound && most <= Exact::one();
    let found =
        Finding::new(Kind::Sufficient, Test::BclRm, "Bertogna, Cirinei and Lipari 2005", passed, remark);
    fixed_shape(found, tasks)
}

fn fixed_shape(found: Finding, tasks: &[Task]) -> Finding {
    match () {
        () if !all_implicit(tasks) => found.inapplicable("deadlines differ from periods"),
        () if !no_jitter(tasks) => found.inapplicable("releases have jitter"),
        () => found,
    }
}

/// Baker's test of global EDF: if a job of a task misses, all CPUs were busy in an interval before, and the load of
/// that interval can be bounded (T. Baker 2003). O(n^2), exact arithmetic.
pub fn bak(tasks: &[Task], m: u32, stop: Stop<'_>) -> Finding {
    let m = u64::from(m);
    let failed = tasks.iter().find(|k| {
        let own = ratio(k.wcet, k.deadline);
        if stop.is_set() {
            return true;
        }
        let load = tasks.iter().map(|i| {
            let u = i.utilization();
            let early = ratio(i.period.saturating_sub(i.deadline), k.deadline);
            let mut beta = &u * (whole(1) + early);
            if u > own {
                beta += (whole(i.wcet) - &own * whole(i.period)) / whole(k.deadline.max(1));
            }
            if beta < whole(1) { beta } else { whole(1) }
        });
        own > whole(1) || total(load.collect()) > whole(m) - whole(m - 1) * own
    });
    let remark = failed.map_or("all tasks pass".to_string(), |k| format!("fails for `{}`", k.name));
    let found = Finding::new(Kind::Sufficient, Test::Bak, "Baker 2003", failed.is_none(), remark);
    match () {
        () if !all_constrained(tasks) => found.inapplicable("a deadline is longer than its period"),
        () if !no_jitter(tasks) => found.inapplicable("releases have jitter"),
        () => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict::{Schedulable, Undecided, Unschedulable};

    #[test]
    fn bounds_by_hand() {
        // Three tasks of 2/3 on two CPUs: U = 2, bound 2 - 2/3.
        let dhall = vec![Task::implicit(2, 3); 3];
        assert_eq!(gfb(&dhall, 2).verdict, Undecided);
        assert_eq!(optimal(&dhall, 2, 0).verdict, Schedulable);
        assert_eq!(optimal(&dhall, 2, 2).verdict, Undecided, "3 is not a multiple of 2");
        assert_eq!(optimal(&vec![Task::implicit(2, 3); 4], 2, 1).verdict, Unschedulable);
        assert_eq!(feasible(&vec![Task::implicit(2, 3); 4], 2, true).verdict, Unschedulable);
        // Four tasks of 1/4 on two CPUs: 1 <= 2 - 1/4.
        assert_eq!(gfb(&vec![Task::implicit(1, 4); 4], 2).verdict, Schedulable);
        // One heavy task and two light ones: EDF-US at 1/2 gives it a CPU of its own.
        let mixed = [Task::implicit(9, 10), Task::implicit(1, 4), Task::implicit(1, 4)];
        assert_eq!(gfb(&mixed, 2).verdict, Undecided);
        assert_eq!(edf_us(&mixed, &mixed, 2, &ratio(1, 2)).verdict, Schedulable);
        assert_eq!(rm_us(&mixed, 2).verdict, Undecided);
        assert_eq!(rm_us(&vec![Task::implicit(1, 4); 4], 2).verdict, Schedulable);
    }

    #[test]
    fn demand_of_short_deadlines_is_seen() {
        let tasks = vec![Task::implicit(2, 10).with_deadline(3); 4];
        assert_eq!(feasible(&tasks, 2, false).verdict, Unschedulable);
        assert_eq!(feasible(&tasks, 3, false).verdict, Undecided);
    }

    /// For implicit deadlines and equal tasks Baker's bound is that of Goossens, Funk and Baruah.
    #[test]
    fn baker_equals_gfb_for_equal_tasks() {
        for n in 1..8 {
            let tasks = vec![Task::implicit(1, 3); n];
            assert_eq!(bak(&tasks, 2, Stop::default()).verdict, gfb(&tasks, 2).verdict, "{n}");
        }
    }
}
