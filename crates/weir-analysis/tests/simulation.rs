// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The tests against the simulator, which runs the real components without costs.
//!
//! What a sufficient test accepts never misses a deadline; an exact test says what a simulation over the
//! hyperperiod shows; a worst response time is the one at the critical instant, to the nanosecond.

use std::fmt::Write as _;
use std::path::Path;

use weir_analysis::policy::conclude;
use weir_analysis::uni_fixed::{Response, worst_response};
use weir_analysis::{Fit, Policy, Priorities, Task, Verdict, analyze};
use weir_core::event::{Event, Observer};
use weir_core::{MachineShape, Plan};
use weir_lang::{NoIncludes, Source};
use weir_sim::{Costs, Machine, RunConfig, Workload};

/// Unit of all parameters, ns: the quantum of `pd2`.
const UNIT: u64 = 1_000_000;

/// Sets of a kind; `WEIR_CASES` sets another number for long runs.
fn cases() -> u64 {
    std::env::var("WEIR_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(80)
}

/// Random numbers for the sets (xorshift; the seed is the case's number).
struct Dice(u64);

impl Dice {
    fn new(case: u64) -> Self {
        let mut dice = Self(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            dice.next(2);
        }
        dice
    }

    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

/// What a simulation showed.
#[derive(Default)]
struct Seen {
    misses: u64,
    done: u64,
    /// Longest response of each task, ns.
    worst: Vec<u64>,
}

impl Observer for Seen {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match event {
            Event::DeadlineMiss { .. } => self.misses += 1,
            Event::JobDone { task, response_ns, .. } => {
                self.done += 1;
                let at = *task as usize;
                self.worst.resize(self.worst.len().max(at + 1), 0);
                self.worst[at] = self.worst[at].max(*response_ns);
            }
            _ => {}
        }
    }
}

fn plan(topology: &str, cpus: u32) -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../topologies/{topology}.weir"));
    let text = std::fs::read_to_string(path).expect("a topology of the catalogue");
    let source = Source { name: format!("{topology}.weir"), text };
    let shape: &MachineShape = &Machine::smp(cpus).shape;
    weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), shape, &[]).expect("compiles").plan
}

/// Run the tasks on equal CPUs for a time, ns. `extra` is added at random between releases at most.
fn simulate(plan: &Plan, cpus: u32, tasks: &[Task], extra: u64, until: u64, seed: u64) -> Seen {
    let mut text = String::new();
    for (i, t) in tasks.iter().enumerate() {
        let _ = writeln!(
            text,
            "[[task]]\nname = \"t{i}\"\nrun = \"{}ns\"\nperiod = \"{}ns\"\ndeadline = \"{}ns\"\noffset = \"{}ns\"\nsporadic = \"{extra}ns\"",
            t.wcet, t.period, t.deadline, t.offset
        );
    }
    let read = |_: &str| Ok(text.clone().into_bytes());
    let workload = Workload::resolve("set.toml", seed, &read, &[]).expect("a workload");
    let config = RunConfig { seed, duration_ns: Some(until), ..RunConfig::default() };
    let mut seen = Seen::default();
    weir_sim::run(&Machine::smp(cpus), plan, &workload, &Costs::zero(), &config, &mut seen).expect("runs");
    seen
}

/// Tasks in whole units with periods that make short hyperperiods. `load_pct` of a CPU in the mean.
fn draw(dice: &mut Dice, n: u64, load_pct: u64, constrained: bool) -> Vec<Task> {
    const PERIODS: [u64; 8] = [4, 5, 6, 8, 10, 12, 15, 20];
    let one = |_| {
        let period = PERIODS[dice.next(8) as usize];
        // Most tasks are light, some are heavy.
        let share = 1 + dice.next(2 * load_pct / n).min(99);
        let wcet = (period * share).div_ceil(100).clamp(1, period);
        let deadline = if constrained { wcet + dice.next(period - wcet + 1) } else { period };
        Task { deadline: deadline * UNIT, ..Task::implicit(wcet * UNIT, period * UNIT) }
    };
    (0..n).map(one).collect()
}

fn hyperperiod(tasks: &[Task]) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    tasks.iter().fold(1, |h, t| h / gcd(h, t.period) * t.period)
}

fn global() -> Vec<(&'static str, Policy)> {
    let local =
        |bound_pct, policy| Policy::Partitioned { fit: Fit::First, bound_pct, local: Box::new(policy) };
    let (rate, deadline) = (Policy::Fixed(Priorities::Rate), Policy::Fixed(Priorities::Deadline));
    vec![
        ("rm", rate.clone()),
        ("dm", deadline.clone()),
        ("edf", Policy::Edf),
        ("edf-us", Policy::EdfUs { threshold_pct: 50 }),
        ("edzl", Policy::Edzl),
        ("pd2", Policy::Optimal { quantum_ns: UNIT }),
        ("p-edf", local(100, Policy::Edf)),
        ("p-rm", local(69, rate)),
        ("p-dm", local(69, deadline)),
    ]
}

/// Accepted sets of each policy, released at once, with offsets, and sporadically.
#[test]
fn what_is_accepted_meets_all_deadlines() {
    for (topology, policy) in global() {
        let plans: Vec<Plan> = (2..5).map(|m| plan(topology, m)).collect();
        let mut accepted = 0;
        for case in 0..cases() {
            let mut dice = Dice::new(case);
            let m = 2 + dice.next(3) as u32;
            let n = 2 + dice.next(8);
            let load = u64::from(m) * (30 + dice.next(71));
            let mut tasks = draw(&mut dice, n, load, case % 2 == 1 && topology != "pd2");
            let found = analyze(&tasks, m, &policy);
            if conclude(&found) != Verdict::Schedulable {
                continue;
            }
            accepted += 1;
            let plan = &plans[m as usize - 2];
            let check = |tasks: &[Task], extra, what: &str| {
                let seen = simulate(plan, m, tasks, extra, 250 * UNIT, case);
                assert_eq!(
                    seen.misses, 0,
                    "{topology} on {m} CPUs, case {case}, {what}: {tasks:#?}\n{found:#?}"
                );
                assert!(seen.done > 0);
                let bounds = found.iter().map(|f| &f.response).filter(|r| !r.is_empty());
                for (i, bound) in bounds.flat_map(|r| r.iter().enumerate()) {
                    let (Some(bound), Some(worst)) = (bound, seen.worst.get(i)) else { continue };
                    assert!(worst <= bound, "{topology}, case {case}, task {i}: {worst} > {bound}");
                }
            };
            check(&tasks, 0, "at once");
            // A partition depends on the order of arrival, and quanta on whole offsets and periods.
            if topology.starts_with("p-") || topology == "pd2" {
                continue;
            }
            check(&tasks, 3 * UNIT, "sporadic");
            for t in &mut tasks {
                t.offset = dice.next(t.period);
            }
            check(&tasks, 0, "with offsets");
        }
        assert!(accepted > cases() / 10, "{topology}: only {accepted} sets were accepted");
    }
}

/// One CPU: response-time analysis and processor demand against the synchronous schedule.
#[test]
fn exact_tests_say_what_the_hyperperiod_shows() {
    for (topology, policy) in [
        ("rm", Policy::Fixed(Priorities::Rate)),
        ("dm", Policy::Fixed(Priorities::Deadline)),
        ("edf", Policy::Edf),
        ("edzl", Policy::Edzl),
    ] {
        let plan = plan(topology, 1);
        let mut verdicts = [0u64; 2];
        for case in 0..cases() {
            let mut dice = Dice::new(case);
            let n = 2 + dice.next(4);
            let load = 60 + dice.next(60);
            let tasks = draw(&mut dice, n, load, case % 3 != 0);
            let level = |t: &Task| if topology == "dm" { t.deadline } else { t.period };
            let ties = (0..tasks.len()).any(|i| tasks[..i].iter().any(|t| level(t) == level(&tasks[i])));
            if ties && topology.ends_with('m') {
                continue;
            }
            let verdict = conclude(&analyze(&tasks, 1, &policy));
            let until = 2 * hyperperiod(&tasks) + 20 * UNIT;
            let missed = simulate(&plan, 1, &tasks, 0, until, case).misses > 0;
            let wanted = if missed { Verdict::Unschedulable } else { Verdict::Schedulable };
            // EDZL may do what EDF cannot only where a CPU is too few anyway.
            assert_eq!(verdict, wanted, "{topology}, case {case}: {tasks:#?}");
            verdicts[usize::from(missed)] += 1;
        }
        assert!(verdicts.iter().all(|v| *v > cases() / 30), "{topology}: {verdicts:?} is one-sided");
    }
}

/// Fixed priorities on one CPU, deadlines from short to longer than periods: the bound is the longest response
/// after a common release.
#[test]
fn worst_responses_are_those_of_the_critical_instant() {
    let plan = plan("rm", 1);
    let (mut compared, mut later) = (0, 0);
    for case in 0..cases() {
        let mut dice = Dice::new(case);
        let n = 2 + dice.next(4);
        let load = 70 + dice.next(50);
        let mut tasks = draw(&mut dice, n, load, false);
        tasks.sort_by_key(|t| t.period);
        tasks.dedup_by_key(|t| t.period);
        for t in &mut tasks {
            // No deadline is missed, so that nothing of the engine's treatment of late jobs matters.
            t.deadline = 1_000 * UNIT;
        }
        let until = 2 * hyperperiod(&tasks) + 20 * UNIT;
        let seen = simulate(&plan, 1, &tasks, 0, until, case);
        for i in 0..tasks.len() {
            if let Response::Worst(bound) = worst_response(&tasks[..=i]) {
                assert_eq!(seen.worst[i], bound, "case {case}, task {i}: {tasks:#?}");
                compared += 1;
                later += u64::from(bound > tasks[i].period);
            }
        }
    }
    assert!(compared > cases() && later > cases() / 50, "{compared} compared, {later} beyond the period");
}

/// Liu and Layland's and Dhall's examples, seen from both sides.
#[test]
fn textbook_sets() {
    let set = |raw: &[(u64, u64)]| -> Vec<Task> {
        raw.iter().map(|(c, t)| Task::implicit(c * UNIT, t * UNIT)).collect()
    };
    let misses =
        |topology, m, tasks: &[Task]| simulate(&plan(topology, m), m, tasks, 0, 300 * UNIT, 1).misses;
    // RM fails just below full load, EDF does not.
    let tight = set(&[(2, 5), (4, 7)]);
    assert!(misses("rm", 1, &tight) > 0);
    assert_eq!(conclude(&analyze(&tight, 1, &Policy::Fixed(Priorities::Rate))), Verdict::Unschedulable);
    assert_eq!(misses("edf", 1, &tight), 0);
    assert_eq!(conclude(&analyze(&tight, 1, &Policy::Edf)), Verdict::Schedulable);
    // Three tasks of 2/3 on two CPUs: only optimal policies do it.
    let dhall = set(&[(2, 3), (2, 3), (2, 3)]);
    assert!(misses("edf", 2, &dhall) > 0);
    assert_eq!(conclude(&analyze(&dhall, 2, &Policy::Edf)), Verdict::Undecided);
    assert_eq!(misses("pd2", 2, &dhall), 0);
    assert_eq!(conclude(&analyze(&dhall, 2, &Policy::Optimal { quantum_ns: UNIT })), Verdict::Schedulable);
}
