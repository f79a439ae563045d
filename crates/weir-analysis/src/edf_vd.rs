// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Mixed criticality on one CPU: earliest virtual deadline first.
//!
//! S. Baruah, V. Bonifaci, G. D'Angelo, H. Li, A. Marchetti-Spaccamela, S. van der Ster and L. Stougie 2012, section 4. With the
//! load l of low tasks, the expected load h and the worst one H of high tasks: if l + H <= 1, all deadlines are met by EDF.
//! Else deadlines of high tasks are shortened by x = h / (1 - l), and if x l + H <= 1, all are met while no job exceeds its expected
//! time, and those of high tasks always.

use crate::finding::{Finding, Kind, Test};
use crate::task::{Level, Task, all_implicit, no_jitter};

/// A whole CPU; the component counts in millionths, rounded up.
const FULL: u128 = 1_000_000;

fn load(wcet: u64, period: u64) -> u128 {
    (u128::from(wcet) * FULL).div_ceil(u128::from(period))
}

/// The test of the paper, with the component's arithmetic; `x_pct` 0: x as in the paper. `declared` is what the
/// scheduler knows, `tasks` what jobs take.
pub fn edf_vd(declared: &[Task], tasks: &[Task], x_pct: u64) -> Finding {
    let (mut low, mut high, mut most) = (0u128, 0u128, 0u128);
    for t in declared {
        match t.level {
            Level::Low => low += load(t.wcet, t.period),
            Level::High { wcet } => {
                high += load(t.wcet, t.period);
                most += load(wcet.max(t.wcet), t.period);
            }
        }
    }
    let x = match x_pct {
        0 if low + most <= FULL => FULL,
        0 if low < FULL => (high * FULL).div_ceil(FULL - low),
        0 => FULL,
        pct => u128::from(pct) * (FULL / 100),
    };
    let plain = x_pct == 0 && low + most <= FULL;
    let passed = plain
        || (x > 0 && low + (high * FULL).div_ceil(x) <= FULL && (x * low).div_ceil(FULL) + most <= FULL);
    let shown = |v: u128| format!("{}.{:03}", v / FULL, v % FULL / 1_000);
    let exceeds = declared.iter().zip(tasks).any(|(d, t)| t.wcet > d.wcet);
    let loads = format!("l = {}, h = {}, H = {}", shown(low), shown(high), shown(most));
    let remark = match (passed, plain) {
        (true, true) => format!("{loads}: l + H is at most 1"),
        (true, false) => format!(
            "{loads}, x = {}: high tasks meet all deadlines, low ones while no high job exceeds its wcet",
            shown(x)
        ),
        (false, _) => format!("{loads}, x = {}: x l + H, or l + h / x, is more than 1", shown(x)),
    };
    let source = "Baruah, Bonifaci, D'Angelo, Li, Marchetti-Spaccamela, van der Ster and Stougie 2012";
    let mut found = Finding::new(Kind::Sufficient, Test::EdfVd, source, passed, remark);
    if passed && !plain && exceeds {
        found.verdict = crate::Verdict::Undecided;
        found.remark += ", which some may do here";
    }
    match () {
        () if !all_implicit(declared) => found.inapplicable("deadlines differ from periods"),
        () if !no_jitter(declared) => found.inapplicable("releases have jitter"),
        () => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    fn set(low: (u64, u64), high: (u64, u64, u64)) -> [Task; 2] {
        let level = Level::High { wcet: high.1 };
        [Task::implicit(low.0, low.1), Task { level, ..Task::implicit(high.0, high.2) }]
    }

    /// l = 0.5, h = 0.2, H = 0.6: x = 0.4, x l + H = 0.8. With H = 0.85 it is 1.05.
    #[test]
    fn the_bound_of_the_paper() {
        let judged = |tasks: &[Task]| edf_vd(tasks, tasks, 0);
        let good = set((5, 10), (4, 12, 20));
        assert_eq!(judged(&good).verdict, Verdict::Schedulable);
        assert!(judged(&good).remark.contains("x = 0.400"), "{}", judged(&good).remark);
        assert_eq!(judged(&set((5, 10), (4, 17, 20))).verdict, Verdict::Undecided);
        assert!(judged(&set((5, 10), (4, 10, 20))).remark.contains("l + H is at most 1"));
        // Low tasks are set aside when a high one takes more than expected: that is not all deadlines.
        let mut longer = good.clone();
        longer[1].wcet = 12;
        let found = edf_vd(&good, &longer, 0);
        assert!(
            found.verdict == Verdict::Undecided && found.remark.contains("high tasks meet all"),
            "{found:?}"
        );
        // A given x must fit both modes.
        assert_eq!(edf_vd(&good, &good, 50).verdict, Verdict::Schedulable);
        assert_eq!(edf_vd(&good, &good, 30).verdict, Verdict::Undecided);
        assert_eq!(edf_vd(&good, &good, 90).verdict, Verdict::Undecided);
    }
}
