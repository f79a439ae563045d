// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! RBED: hard tasks meet every deadline whatever soft and best-effort ones do; best effort divides the
//! rest by weight.

use proptest::prelude::*;
use weir_sim::{Criticality, Op, TaskSpec, Workload};

use crate::common::*;

const ONE: &str = "annotate affinity, criticality, deadline, executed, job, priority;
    entry -> rbed -> urgent -> cpus;";

/// A hard task of 80 ms in 160 and best effort: one gets 40 ms in 80, two get 40 ms in 160 each.
#[test]
fn the_worked_example() {
    let hard = || real_time("h", 80 * MS, 80 * MS, 160 * MS, 160 * MS);
    let (g, out) = gantt(1, ONE, &workload(vec![hard(), hog("x")]), 480 * MS);
    assert_eq!(
        g.cpu(0),
        "x 0-40, h 40-120, x 120-200, h 200-280, x 280-360, h 360-440, x 440-480",
        "turns of 40 ms every 80"
    );
    assert_eq!((out.deadline_misses, g.ran("x")), (0, 240 * MS));
    let (g, out) = gantt(1, ONE, &workload(vec![hard(), hog("x"), hog("y")]), 1600 * MS);
    assert_eq!((out.deadline_misses, g.ran("x"), g.ran("y")), (0, 400 * MS, 400 * MS));
    let turns = g.bars.iter().filter(|b| b.0 != "h").all(|b| (b.3 - b.2) % (40 * MS) == 0);
    assert!(turns, "turns of 40 ms: {}", g.cpu(0));
}

/// Were a best-effort turn that is used up followed by one that is released at once, its deadlines would
/// always be 80 ms away, and the hard task would get the CPU at 720 ms.
#[test]
fn best_effort_does_not_keep_long_periods_waiting() {
    let hard = real_time("h", 400 * MS, 400 * MS, 800 * MS, 800 * MS);
    let (_, out) = gantt(1, ONE, &workload(vec![hard, hog("x")]), 8000 * MS);
    assert_eq!(out.deadline_misses, 0);
}

/// A hard task that overruns gets no idle time either: it waits for its next period.
#[test]
fn an_overrun_waits_for_its_next_period() {
    let hard = real_time("h", 2 * MS, 3 * MS, 10 * MS, 10 * MS);
    let (g, _) = gantt(1, ONE, &workload(vec![hard]), 40 * MS);
    assert_eq!(g.cpu(0), "h 0-2, h 10-12, h 20-22, h 30-32");
    let without = ONE.replace("-> urgent ", "");
    let hard = real_time("h", 2 * MS, 3 * MS, 10 * MS, 10 * MS);
    let (g, out) = gantt(1, &without, &workload(vec![hard]), 40 * MS);
    assert_eq!((out.deadline_misses, g.ran("h")), (0, 12 * MS), "without the filter it uses idle time");
}

/// Shares are (1 - hard) w / W, with the weight 21 + priority.
#[test]
fn best_effort_shares_are_as_the_formula() {
    let tasks = vec![
        real_time("h", 12 * MS, 12 * MS, 40 * MS, 40 * MS),
        TaskSpec { priority: 21, ..hog("two") },
        hog("one"),
        TaskSpec { priority: -14, ..hog("third") },
    ];
    let seconds = 40u64;
    let (g, out) = gantt(1, ONE, &workload(tasks), seconds * 1000 * MS);
    assert_eq!((out.deadline_misses, out.idle_ns), (0, 0));
    for (name, weight) in [("two", 42), ("one", 21), ("third", 7)] {
        let share = seconds as f64 * 0.7 * f64::from(weight) / 70.0;
        let have = g.ran(name) as f64 / 1e9;
        assert!((have - share).abs() < 0.25, "{name}: {have} s of {share} s");
    }
}

/// With hard tasks at 90 % best effort keeps its floor, and one more hard task is not admitted.
#[test]
fn the_floor_is_kept() {
    let tasks = vec![
        real_time("a", 5 * MS, 5 * MS, 10 * MS, 10 * MS),
        real_time("b", 8 * MS, 8 * MS, 20 * MS, 20 * MS),
        real_time("refused", MS, MS, 20 * MS, 20 * MS),
        hog("x"),
    ];
    let (g, _) = gantt(1, ONE, &workload(tasks), 4000 * MS);
    assert!(g.missed.iter().all(|m| m.0 == "refused"), "{:?}", g.missed);
    assert!(g.ran("x") + g.ran("refused") >= 395 * MS, "{}", g.ran("x"));
}

/// Times in steps of 100 us.
fn periodic_task() -> impl Strategy<Value = (u64, u64, u64)> {
    (20..400u64, 1..100u64, 50..=100u64).prop_map(|(period, share, deadline)| {
        let deadline = (period * deadline / 100).max(1);
        ((deadline * share / 100).max(1), period, deadline)
    })
}

/// What shares the CPU with them: hogs, sleepers, and those that give up the CPU all the time.
fn best_effort() -> impl Strategy<Value = (Vec<Op>, i32, u64)> {
    let program = prop_oneof![
        Just(vec![Op::Run { ns: 100 * MS }]),
        (1..30 * MS, 1..30 * MS).prop_map(|(run, ns)| vec![Op::Run { ns: run }, Op::Sleep { ns }]),
        (1..9 * MS).prop_map(|ns| vec![Op::Run { ns }, Op::Yield]),
    ];
    (program, -20..20i32, 0..300u64).prop_map(|(p, priority, start)| (p, priority, start * MS))
}

fn mixed() -> impl Strategy<Value = Workload> {
    let hard = prop::collection::vec((periodic_task(), 0..200u64), 1..6);
    let soft = prop::collection::vec((periodic_task(), 1..4u64), 0..3);
    let rest = prop::collection::vec(best_effort(), 0..4);
    (hard, soft, rest).prop_map(|(hard, soft, rest)| {
        let unit = MS / 10;
        let mut w = Workload::default();
        let mut load = 0;
        for (i, ((wcet, period, deadline), start)) in hard.into_iter().enumerate() {
            load += (wcet * 1_000_000).div_ceil(deadline);
            if load > 900_000 {
                break;
            }
            let t = real_time(&format!("hard{i}"), wcet * unit, wcet * unit, period * unit, deadline * unit);
            w.tasks.push(TaskSpec { start_ns: Some(start * MS), ..t });
        }
        for (i, ((wcet, period, deadline), times)) in soft.into_iter().enumerate() {
            w.criticality.insert(w.tasks.len() as u32, Criticality::Lo);
            let run = times * wcet * unit;
            w.tasks.push(real_time(&format!("soft{i}"), wcet * unit, run, period * unit, deadline * unit));
        }
        for (i, (program, priority, start)) in rest.into_iter().enumerate() {
            let t = task(&format!("rest{i}"), repeat(None, program));
            w.tasks.push(TaskSpec { priority, start_ns: Some(start), ..t });
        }
        w.name = "mixed".into();
        w
    })
}

proptest! {
    #![proptest_config(config(400))]

    /// No hard deadline is missed for any admitted set.
    #[test]
    fn admitted_hard_tasks_never_miss(w in mixed()) {
        let (g, out) = gantt(1, ONE, &w, 600 * MS);
        let missed: Vec<_> = g.missed.iter().filter(|m| m.0.starts_with("hard")).collect();
        prop_assert!(missed.is_empty(), "{:?}", missed);
        prop_assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    }

    /// The same under the catalogue's topology on two CPUs, twice as much of everything.
    #[test]
    fn nor_do_partitioned_ones(a in mixed(), b in mixed()) {
        let mut w = a.clone();
        let base = a.tasks.len() as u32;
        w.criticality.extend(b.criticality.iter().map(|(i, c)| (i + base, *c)));
        w.tasks.extend(b.tasks.iter().map(|t| TaskSpec { name: format!("{}b", t.name), ..t.clone() }));
        // Half of it on each, so that all of it fits wherever partitioning puts it.
        for t in w.tasks.iter_mut().filter(|t| t.name.starts_with("hard")) {
            let timing = t.timing.expect("they are periodic");
            *t = TaskSpec { start_ns: t.start_ns, ..real_time(&t.name, timing.wcet_ns / 2, timing.wcet_ns / 2, timing.period_ns, timing.deadline_ns) };
        }
        let (g, _) = gantt(2, &catalogue("rbed"), &w, 600 * MS);
        let missed: Vec<_> = g.missed.iter().filter(|m| m.0.starts_with("hard")).collect();
        prop_assert!(missed.is_empty(), "{:?}", missed);
    }
}

/// A best-effort task sleeps with most of a turn left while a hard one is admitted: what was promised to
/// it before does not count any more when it comes back.
#[test]
fn a_sleeper_does_not_bring_old_promises() {
    let hard = real_time("h", 8 * MS / 10, 8 * MS / 10, 2 * MS, 19 * MS / 10);
    let sleeper = task("x", repeat(None, vec![Op::Run { ns: 20_375_196 }, Op::Sleep { ns: 6_124_804 }]));
    let tasks =
        vec![TaskSpec { start_ns: Some(87 * MS), ..hard }, TaskSpec { start_ns: Some(34 * MS), ..sleeper }];
    let (_, out) = gantt(1, ONE, &workload(tasks), 1000 * MS);
    assert_eq!(out.deadline_misses, 0);
}

/// A member of a gang on a CPU: from `release` on a slot of all the time up to its deadline, in each period.
fn member(cpu: u32, slot: u64, period: u64, release: u64) -> TaskSpec {
    let t = real_time(&format!("m{cpu}"), slot, slot, period, slot);
    TaskSpec { start_ns: Some(release), cpus: Some([cpu].into_iter().collect()), ..t }
}

/// `H 80 160 80 480` on four CPUs, whose best effort is due before it as often as not: each slot begins on time, everywhere at once.
#[test]
fn the_gang_of_the_source_starts_on_time() {
    let mut tasks: Vec<TaskSpec> = (0..4).map(|c| member(c, 80 * MS, 160 * MS, 480 * MS)).collect();
    for i in 0..10 {
        tasks.push(TaskSpec { start_ns: Some(7 * i * MS), ..hog(&format!("x{i}")) });
    }
    let (g, out) = gantt(4, &catalogue("rbed"), &workload(tasks), 4000 * MS);
    assert_eq!(out.deadline_misses, 0);
    for c in 0..4 {
        let slots: Vec<(u64, u64)> =
            g.bars.iter().filter(|b| b.0 == format!("m{c}")).map(|b| (b.2, b.3)).collect();
        let wanted: Vec<(u64, u64)> =
            (0..22).map(|k| (480 + 160 * k, 560 + 160 * k)).map(|(a, b)| (a * MS, b * MS)).collect();
        assert_eq!(slots, wanted, "m{c}");
    }
}

/// A hard task that gives up its CPU does not run again in that period, even though nobody else wants the CPU.
#[test]
fn giving_up_ends_the_period() {
    let release =
        Op::Release { offset_ns: 0, period_ns: 10 * MS, deadline_ns: 10 * MS, jitter_ns: 0, extra_ns: 0 };
    let program = repeat(None, vec![release, Op::Run { ns: MS }, Op::Yield, Op::Run { ns: MS }]);
    let timing = weir_sim::Timing { period_ns: 10 * MS, deadline_ns: 10 * MS, wcet_ns: 4 * MS };
    let h = TaskSpec { timing: Some(timing), ..task("h", program) };
    let (g, _) = gantt(1, ONE, &workload(vec![h]), 25 * MS);
    // The second half of a job is in the next period, and leaves that one's budget to the next job.
    assert_eq!(g.cpu(0), "h 0-1, h 10-12, h 20-22");
    // Best effort may run again at once.
    let yielding = task("x", repeat(None, vec![Op::Run { ns: MS }, Op::Yield]));
    let (g, _) = gantt(1, ONE, &workload(vec![yielding]), 3 * MS);
    assert_eq!(g.ran("x"), 3 * MS);
}

/// Slots of 20 us in periods of 50 us, the shortest of the source.
#[test]
fn slots_of_20_us() {
    let slices = ONE.replace("rbed", "rbed(slice = 20us)");
    let tasks = vec![member(0, 20 * US, 50 * US, 100 * US), hog("x"), hog("y")];
    let (g, out) = gantt(1, &slices, &workload(tasks), 100 * MS);
    let slots: Vec<&(String, u32, u64, u64)> = g.bars.iter().filter(|b| b.0 == "m0").collect();
    assert_eq!((slots.len(), out.deadline_misses), (1998, 0));
    assert!(slots.iter().zip(2..).all(|(b, k)| (b.2, b.3) == (50 * US * k, 50 * US * k + 20 * US)));
    let (x, y) = (g.ran("x"), g.ran("y"));
    assert!(x.abs_diff(y) <= 40 * US, "{x} {y}");
}

/// A soft task that waits for the CPU is reported when its deadline passes, not when somebody looks at it next.
#[test]
fn a_late_soft_task_is_reported_in_time() {
    let mut w = workload(vec![
        real_time("h", 60 * MS, 60 * MS, 100 * MS, 60 * MS),
        real_time("s", 10 * MS, 10 * MS, 50 * MS, 50 * MS),
    ]);
    w.criticality.insert(1, Criticality::Lo);
    let mut seen = Misses::default();
    let cfg = weir_sim::RunConfig { duration_ns: Some(100 * MS), ..weir_sim::RunConfig::default() };
    run_on(&weir_sim::Machine::smp(1), ONE, &w, &weir_sim::Costs::zero(), cfg, &mut seen).unwrap();
    assert_eq!(seen.0, [(1, 50 * MS)]);
}

/// Tasks that a component reported late, and when.
#[derive(Default)]
struct Misses(Vec<(u32, u64)>);

impl weir_core::event::Observer for Misses {
    fn event(&mut self, t: u64, event: &weir_core::event::Event<'_>) {
        if let weir_core::event::Event::Message { topic: "DEADLINE_MISS", task: Some(task), .. } = *event {
            self.0.push((task, t));
        }
    }
}

/// Slots of one period that do not meet, of what gangs there are on a CPU, ms; their CPU keeps a tenth.
fn slots() -> impl Strategy<Value = (u64, Vec<(u64, u64)>)> {
    (10..60u64, prop::collection::vec((0..10u64, 1..12u64), 1..5)).prop_map(|(period, parts)| {
        let (mut at, mut used, mut slots) = (0, 0, Vec::new());
        for (gap, length) in parts {
            let length = length.min(period / 2);
            if at + gap + length > period || 10 * (used + length) > 9 * period {
                break;
            }
            slots.push((at + gap, length));
            at += gap + length;
            used += length;
        }
        (period, slots)
    })
}

proptest! {
    #![proptest_config(config(300))]

    /// Whatever best effort does, slots are served to the nanosecond.
    #[test]
    fn slots_are_exact((period, slots) in slots(), rest in prop::collection::vec(best_effort(), 0..4), first in 0..100u64) {
        let mut w = workload(Vec::new());
        for (i, (at, length)) in slots.iter().enumerate() {
            let t = member(0, length * MS, period * MS, (first + at) * MS);
            w.tasks.push(TaskSpec { name: format!("slot{i}"), ..t });
        }
        for (i, (program, priority, start)) in rest.into_iter().enumerate() {
            let t = task(&format!("rest{i}"), repeat(None, program));
            w.tasks.push(TaskSpec { priority, start_ns: Some(start), ..t });
        }
        let end = 600;
        let (g, out) = gantt(1, ONE, &w, end * MS);
        prop_assert_eq!(out.deadline_misses, 0);
        for (i, (at, length)) in slots.iter().enumerate() {
            let name = format!("slot{i}");
            let had: Vec<(u64, u64)> = g.bars.iter().filter(|b| b.0 == name).map(|b| (b.2, b.3)).collect();
            let wanted: Vec<(u64, u64)> = (0..)
                .map(|k| first + at + k * period)
                .take_while(|from| from + length <= end)
                .map(|from| (from * MS, (from + length) * MS))
                .collect();
            prop_assert_eq!(&had[..wanted.len().min(had.len())], &wanted[..], "{}", name);
        }
    }
}

/// With the same seed, everything happens at the same nanosecond; with another one, it does not.
#[test]
fn a_schedule_repeats_to_the_nanosecond() {
    let once = |seed| {
        let between = |min_ns, max_ns| {
            repeat(None, vec![Op::RunBetween { min_ns, max_ns }, Op::Sleep { ns: 3_333_333 }])
        };
        let mut w = workload(vec![
            member(0, 7 * MS, 40 * MS, 20 * MS),
            real_time("h", 2 * MS, 2 * MS, 15 * MS, 15 * MS),
            task("x", between(1_000_000, 9_000_000)),
            task("y", between(100_000, 30_000_000)),
        ]);
        w.criticality.insert(1, Criticality::Lo);
        let mut seen = Transcript::default();
        let cfg =
            weir_sim::RunConfig { duration_ns: Some(1000 * MS), seed, ..weir_sim::RunConfig::default() };
        run_on(&weir_sim::Machine::smp(1), ONE, &w, &weir_sim::Costs::default(), cfg, &mut seen).unwrap();
        seen.0
    };
    let first = once(1);
    assert!(first.lines().count() > 500);
    assert_eq!(first, once(1));
    assert_ne!(first, once(2));
}
