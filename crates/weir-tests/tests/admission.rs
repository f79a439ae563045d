// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Admission of hard tasks by `rbed`, against the definition: a set fits exactly if in no interval the jobs that are released and due
//! in it need more than its length. All intervals are looked at here; the component draws the schedule instead.

use proptest::prelude::*;
use weir_core::{MachineShape, Msg, Topic};
use weir_testbench::Lab;

const MS: u64 = 1_000_000;
/// Nothing is under way before.
const START: u64 = 10_000 * MS;

/// A periodic task, ms.
#[derive(Clone, Copy, Debug)]
struct Hard {
    wcet: u64,
    deadline: u64,
    period: u64,
    phase: u64,
}

fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// No interval has more demand than time, and best effort keeps a tenth.
fn fits(set: &[Hard]) -> bool {
    let load: u64 = set.iter().map(|t| (t.wcet * 1_000_000).div_ceil(t.period)).sum();
    if load > 900_000 {
        return false;
    }
    let hyper = set.iter().fold(1, |h, t| h / common(h, t.period) * t.period);
    let end = set.iter().map(|t| t.phase).max().unwrap_or(0) + 2 * hyper;
    let mut jobs = Vec::new();
    for t in set {
        let releases = (0..).map(|k| t.phase + k * t.period).take_while(|r| r + t.deadline <= end);
        jobs.extend(releases.map(|r| (r, r + t.deadline, t.wcet)));
    }
    jobs.sort_by_key(|j| j.1);
    jobs.iter().all(|&(from, ..)| {
        let mut demand = 0;
        jobs.iter().filter(|j| j.0 >= from).all(|&(_, due, wcet)| {
            demand += wcet;
            demand <= due - from
        })
    })
}

/// The tasks that are admitted, one after the other, by number.
fn admitted(set: &[Hard]) -> Vec<usize> {
    let text = "annotate affinity, criticality, deadline, executed, job, priority;
        entry -> rbed -> urgent -> cpus;";
    let mut lab = Lab::from_text(text, MachineShape::flat(1)).expect("it is a topology");
    let mut kept = Vec::new();
    for (i, t) in set.iter().enumerate() {
        let id = lab.create(0).expect("there is room");
        let task = Some(id);
        let due = START + (t.phase + t.deadline) * MS;
        let job = Msg { task, value: t.wcet * MS, value2: t.deadline * MS, ..Msg::default() };
        lab.notify(Topic::Job, &job).expect("it has a listener");
        let deadline = Msg { task, value: due, value2: t.period * MS, ..Msg::default() };
        lab.notify(Topic::Deadline, &deadline).expect("it has a listener");
        lab.messages.clear();
        lab.admit(0, id).expect("it is new");
        if !lab.messages.iter().any(|m| m.topic == Topic::Overload) {
            kept.push(i);
        }
    }
    kept
}

fn hard() -> impl Strategy<Value = Hard> {
    let period = prop_oneof![Just(4u64), Just(6), Just(8), Just(12), Just(16), Just(20), Just(24), Just(30)];
    (period, 1..=1000u64, 0..=1000u64, 0..1000u64, 0..3u8).prop_map(|(period, wcet, more, phase, kind)| {
        let wcet = (wcet * period / 2000).max(1);
        // Slots, deadlines somewhere, deadlines at the ends of periods.
        let deadline = match kind {
            0 => wcet,
            1 => wcet + more * (period - wcet) / 1000,
            _ => period,
        };
        Hard { wcet, deadline, period, phase: phase % period }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// What is admitted fits, and what is refused does not.
    #[test]
    fn admission_is_exact(set in prop::collection::vec(hard(), 1..7)) {
        let mut kept: Vec<usize> = Vec::new();
        for i in 0..set.len() {
            let with: Vec<Hard> = kept.iter().chain([&i]).map(|k| set[*k]).collect();
            if fits(&with) {
                kept.push(i);
            }
        }
        prop_assert_eq!(admitted(&set), kept);
    }
}

/// `H 80 160 80`: the deadline is the execution time. The sum of what it needs of the time to its deadline would be all there is.
#[test]
fn the_gang_of_the_source_is_admitted() {
    let slot = |wcet, phase| Hard { wcet, deadline: wcet, period: 160, phase };
    assert_eq!(admitted(&[slot(80, 0)]), [0]);
    // Two gangs of half the time never both fit, as best effort keeps its floor; smaller ones do, one after the other.
    assert_eq!(admitted(&[slot(80, 0), slot(80, 80)]), [0]);
    assert_eq!(admitted(&[slot(70, 0), slot(70, 80)]), [0, 1]);
    assert_eq!(admitted(&[slot(70, 0), slot(70, 60)]), [0]);
}
