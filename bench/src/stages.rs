// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What composition costs: a cycle of giving a CPU up and choosing the next task, against schedulers written by hand with the same
//! duties, in one run. Locks are taken on both sides.
//!
//! Times are the 10th percentile of rounds in turn, so that a disturbance hits all subjects. Where valgrind is installed, instructions are counted too:
//! they do not depend on what else the machine does.

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use weir_core::{Plan, PlanCpu, PlanInstance, PlanPipe, catalog};

use crate::hand::{Edf, Eevdf, Fused, turn_fused};
use crate::monolith::Monolith;
use crate::ours::{Ours, plan, turn};
use crate::row::Row;

/// Tasks that wait for each CPU.
const QUEUED: u32 = 16;
const CPUS: u32 = 4;
const CYCLES: u32 = 2_000;
const ROUNDS: usize = 300;
/// Stages of the longest chain.
const STAGES: u32 = 6;
/// Tasks that wait behind one CPU while instructions of `eevdf` are counted.
const WAITING: [u32; 4] = [4, 16, 64, 256];
/// Cycles of which instructions are counted.
const COUNTED: u32 = 4_000;

pub const DECENTRAL: &str = include_str!("../../topologies/decentral.weir");
pub const EDF: &str = include_str!("../../topologies/edf.weir");
pub const EEVDF: &str = "annotate affinity, weight, fair, latency;\nentry -> eevdf -> cpus;";

/// `entry -> head_queue … -> cpu 0` with `stages` instances of head_queue.
pub fn chain(stages: u32) -> Plan {
    let id = |name: &str| catalog().get(name).expect("a component of the catalogue").id;
    let pipe = |i: u32| PlanPipe {
        name: format!("p{i}"),
        keyed: false,
        postponed: false,
        from: i.checked_sub(1).map(|f| (f, 0)),
        to: (i, 0),
        label: 0,
        depth: i,
    };
    let stage = |i: u32| PlanInstance {
        name: format!("stage{i}"),
        class: id(if i == stages { "termination" } else { "head_queue" }),
        params: vec![],
        domain: 0,
        ins: vec![i],
        outs: if i == stages { vec![] } else { vec![i + 1] },
    };
    Plan {
        name: format!("chain-{stages}"),
        pipes: (0..=stages).map(pipe).collect(),
        instances: (0..=stages).map(stage).collect(),
        entries: vec![0],
        exits: vec![Some(stages)],
        cpus: vec![PlanCpu { capacity: 1024, ..PlanCpu::default() }],
    }
}

/// Periods of the jobs of so many tasks, ns: 10 to 100 ms.
pub fn periods_of(tasks: u32) -> Vec<u64> {
    (0..u64::from(tasks)).map(|i| 10_000_000 + i * 7_919 % 90 * 1_000_003).collect()
}

/// Of all tasks, no two alike.
fn periods() -> Vec<u64> {
    periods_of((QUEUED + 1) * CPUS)
}

/// 10th percentile: a short round that nothing interrupted, without trusting the luckiest one.
pub fn quiet(rounds: &mut [f64]) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 10]
}

/// What is measured.
enum Kind {
    Hand(Fused),
    Decentral(Ours),
    /// The same, whose tasks block and come back at once.
    HandBlock(Fused),
    Block(Ours),
    /// Neither has the duties of a whole topology: a list, and chains of stages that change nothing.
    Fifo(Monolith, u32),
    Chain(Ours),
    HandEdf(Edf, Vec<u64>),
    Edf(Ours, Vec<u64>),
    HandEevdf(Eevdf),
    Eevdf(Ours),
}

struct Subject {
    kind: Kind,
    rounds: Vec<f64>,
}

impl Subject {
    fn new(name: &str) -> Self {
        let all = (QUEUED + 1) * CPUS;
        let ours = |name, text, cpus| plan(name, text, cpus);
        let kind = match name {
            "hand-fused" => Kind::Hand(Fused::new(CPUS, all)),
            "decentral" => Kind::Decentral(Ours::new(&ours(name, DECENTRAL, CPUS), CPUS, all, &[], false)),
            "hand-fused-block" => Kind::HandBlock(Fused::new(CPUS, all)),
            "decentral-block" => Kind::Block(Ours::new(&ours(name, DECENTRAL, CPUS), CPUS, all, &[], false)),
            "fifo" => {
                let fifo = Monolith::new(QUEUED + 1);
                (0..QUEUED).for_each(|t| {
                    fifo.admit(t);
                });
                Kind::Fifo(fifo, QUEUED)
            }
            "hand-edf" => Kind::HandEdf(Edf::new(CPUS, &periods()), periods()),
            "edf" => {
                let first = periods();
                Kind::Edf(Ours::new(&ours(name, EDF, CPUS), CPUS, all, &first, false), first)
            }
            sized => {
                let (of, n) = sized.rsplit_once('-').unwrap_or_else(|| panic!("no subject `{name}`"));
                let n = n.parse().unwrap_or_else(|_| panic!("`{name}` ends in no number"));
                match of {
                    "hand-eevdf" => Kind::HandEevdf(Eevdf::new(n + 1)),
                    "eevdf" => Kind::Eevdf(Ours::new(&ours("eevdf", EEVDF, 1), 1, n + 1, &[], true)),
                    "chain" => Kind::Chain(Ours::new(&chain(n), 1, QUEUED + 1, &[], false)),
                    _ => panic!("no subject `{name}`"),
                }
            }
        };
        Self { kind, rounds: Vec::new() }
    }

    /// So many cycles, on all its CPUs in turn.
    fn cycles(&mut self, n: u32) {
        match &mut self.kind {
            Kind::Hand(s) => (0..n).for_each(|i| s.cycle(i % CPUS)),
            Kind::Decentral(s) => (0..n).for_each(|i| s.cycle(i % CPUS)),
            Kind::HandBlock(s) => (0..n).for_each(|i| s.sleep(i % CPUS)),
            Kind::Block(s) => (0..n).for_each(|i| s.sleep(i % CPUS)),
            Kind::Fifo(s, current) => {
                for _ in 0..n {
                    s.admit(*current);
                    *current = black_box(s.pick()).expect("never empty");
                }
            }
            Kind::Chain(s) => (0..n).for_each(|_| s.cycle(0)),
            Kind::HandEdf(s, periods) => (0..n).for_each(|i| s.cycle(i % CPUS, periods)),
            Kind::Edf(s, periods) => (0..n).for_each(|i| s.job(i % CPUS, periods)),
            Kind::HandEevdf(s) => (0..n).for_each(|_| s.cycle()),
            Kind::Eevdf(s) => (0..n).for_each(|_| s.timed(0)),
        }
        if let Kind::Decentral(s) | Kind::Block(s) | Kind::Chain(s) | Kind::Edf(s, _) | Kind::Eevdf(s) =
            &mut self.kind
        {
            s.forget_messages();
        }
    }

    fn round(&mut self) {
        let began = Instant::now();
        self.cycles(CYCLES);
        self.rounds.push(began.elapsed().as_nanos() as f64 / f64::from(CYCLES));
    }
}

/// What the counter of instructions is put around, by name.
#[inline(never)]
fn counted_cycles(subject: &mut Subject) {
    subject.cycles(COUNTED);
}

/// Run the subjects that instructions are counted of, in the order of `names`: first so many cycles that do not count, in which they settle.
pub fn counted(names: &str) {
    for name in names.split(',') {
        let mut subject = Subject::new(name);
        subject.cycles(COUNTED);
        counted_cycles(&mut subject);
    }
}

/// Instructions of a cycle of each subject, all in one run, for a start takes more than the cycles do; `None` without valgrind.
fn count(names: &[String]) -> Option<Vec<f64>> {
    let me = std::env::current_exe().ok()?;
    let folder = tempfile::tempdir().ok()?;
    // Valgrind writes a file when the function is called and one when it returns, and each time begins at zero. Of two options with the same
    // pattern it takes only one.
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-before=*::counted_cycles", "--dump-after=*counted_cycles"])
        .arg(format!("--callgrind-out-file={}", folder.path().join("out").display()))
        .arg(me)
        .args(["stages-counted", &names.join(",")])
        .output()
        .ok()?;
    if !out.status.success() {
        return None;
    }
    (1..=names.len())
        .map(|i| {
            let text = std::fs::read_to_string(folder.path().join(format!("out.{}", 2 * i))).ok()?;
            let total = text.lines().find_map(|l| l.strip_prefix("totals: "))?;
            Some(total.trim().parse::<f64>().ok()? / f64::from(COUNTED))
        })
        .collect()
}

/// Instructions of a cycle beside the yardsticks', and of a further stage: what does not depend on what else the machine does. Empty without
/// valgrind.
pub fn instructions() -> Vec<Row> {
    const UNIT: &str = "instructions/cycle";
    let mut pairs: Vec<(&str, u32, String, String)> =
        [("decentral", "hand-fused"), ("decentral-block", "hand-fused-block"), ("edf", "hand-edf")]
            .map(|(ours, hand)| (ours, CPUS, ours.into(), hand.into()))
            .into();
    pairs.extend(WAITING.map(|n| ("eevdf", n, format!("eevdf-{n}"), format!("hand-eevdf-{n}"))));
    let mut names: Vec<String> =
        pairs.iter().flat_map(|(_, _, ours, hand)| [ours.clone(), hand.clone()]).collect();
    names.extend(["chain-1".into(), format!("chain-{STAGES}")]);
    let Some(figures) = count(&names) else { return Vec::new() };
    let mut rows = Vec::new();
    for ((subject, size, _, hand), figures) in pairs.iter().zip(figures.chunks(2)) {
        let yardstick = if *subject == "eevdf" { "hand-eevdf" } else { hand };
        rows.push(Row::new(subject, *size, figures[0], UNIT, figures[0] / figures[1], yardstick));
    }
    let [.., one, long] = figures[..] else { return Vec::new() };
    let stage = (long - one) / f64::from(STAGES - 1);
    rows.push(Row::new(
        "a further stage",
        STAGES,
        stage,
        "instructions/stage",
        stage / figures[1],
        "hand-fused",
    ));
    rows
}

/// What an uncontended lock costs here, taken and given back, ns: ratios of times depend on it, as some machines' atomics cost five times those of others.
pub fn lock_ns() -> f64 {
    const TURNS: u32 = 10_000;
    let lock = AtomicU32::new(0);
    let mut rounds: Vec<f64> = (0..100)
        .map(|_| {
            let began = Instant::now();
            for _ in 0..TURNS {
                while black_box(&lock).swap(1, Ordering::Acquire) != 0 {
                    std::hint::spin_loop();
                }
                black_box(&lock).store(0, Ordering::Release);
            }
            began.elapsed().as_nanos() as f64 / f64::from(TURNS)
        })
        .collect();
    quiet(&mut rounds)
}

/// CPU time of the calling thread, ns.
fn thread_ns() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

/// Million cycles a second of CPU time of both threads, each of which is a CPU.
fn threaded(
    threads: u32,
    of: impl Fn(u32) -> (usize, usize),
    turn: impl Fn(usize, u32, usize) -> usize + Sync,
) -> f64 {
    const FOR: Duration = Duration::from_millis(150);
    let (stop, ready) = (AtomicBool::new(false), AtomicU32::new(0));
    let done: Vec<(f64, f64)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|cpu| {
                let (s, mut t) = of(cpu);
                let (stop, ready, turn) = (&stop, &ready, &turn);
                scope.spawn(move || {
                    ready.fetch_add(1, Ordering::AcqRel);
                    while ready.load(Ordering::Acquire) < threads {
                        std::hint::spin_loop();
                    }
                    let (began, mut n) = (thread_ns(), 0u32);
                    while !stop.load(Ordering::Relaxed) {
                        for _ in 0..64 {
                            t = turn(s, cpu, t);
                        }
                        n += 64;
                    }
                    (f64::from(n), thread_ns() - began)
                })
            })
            .collect();
        std::thread::sleep(FOR);
        stop.store(true, Ordering::Relaxed);
        all.into_iter().map(|h| h.join().expect("it does not fail")).collect()
    });
    done.iter().map(|(n, ns)| 1e3 * n / ns.max(1.0)).sum()
}

/// Two CPUs that cycle at the same time, by hand and composed; the median of pairs in turn.
fn two_threads() -> (f64, f64) {
    const PAIRS: usize = 7;
    let (mut hand, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let fused = Fused::new(2, (QUEUED + 1) * 2);
        hand.push(threaded(2, |cpu| fused.share(cpu), |s, cpu, t| turn_fused(s as _, cpu, t as _) as usize));
        let made = Ours::new(&plan("decentral", DECENTRAL, 2), 2, (QUEUED + 1) * 2, &[], false);
        let (s, running) = made.share();
        ours.push(threaded(
            2,
            |cpu| (s, running[cpu as usize]),
            |s, cpu, t| turn(s as _, cpu, t as _) as usize,
        ));
    }
    let median = |v: &mut Vec<f64>| {
        v.sort_by(f64::total_cmp);
        v[PAIRS / 2]
    };
    (median(&mut hand), median(&mut ours))
}

/// Measure all subjects round by round.
pub fn run(json: bool) {
    if !json {
        println!(
            "a cycle of relinquish and pick; {QUEUED} tasks wait for each CPU; 10th percentile of {ROUNDS} rounds of {CYCLES}; locks taken\n\
             {:<26} {:>6} {:>12} {:<18} {:>8}",
            "subject", "size", "figure", "unit", "ratio"
        );
    }
    let mut names: Vec<String> = [
        "hand-fused",
        "decentral",
        "hand-fused-block",
        "decentral-block",
        "hand-edf",
        "edf",
        "hand-eevdf-16",
        "eevdf-16",
        "fifo",
    ]
    .map(String::from)
    .into();
    names.extend((1..=STAGES).map(|n| format!("chain-{n}")));
    let mut all: Vec<Subject> = names.iter().map(|n| Subject::new(n)).collect();
    all.iter_mut().for_each(Subject::round);
    all.iter_mut().for_each(|s| s.rounds.clear());
    for _ in 0..ROUNDS {
        all.iter_mut().for_each(Subject::round);
    }
    let ns: Vec<f64> = all.iter_mut().map(|s| quiet(&mut s.rounds)).collect();
    let of = |name: &str| ns[names.iter().position(|n| n == name).expect("a subject")];
    let pair = |subject: &str, ours: f64, hand: &str, theirs: f64, size: u32| {
        Row::new(subject, size, ours, "ns/cycle", ours / theirs, hand).print(json);
    };
    pair("decentral", of("decentral"), "hand-fused", of("hand-fused"), CPUS);
    let (hand, ours) = two_threads();
    Row::new("decentral, two threads", 2, ours, "M cycles/s", ours / hand, "hand-fused").print(json);
    let block = of("decentral-block");
    Row::new("decentral, blocking", CPUS, block, "ns/cycle", block / of("hand-fused-block"), "hand-fused")
        .print(json);
    pair("edf", of("edf"), "hand-edf", of("hand-edf"), CPUS);
    pair("eevdf", of("eevdf-16"), "hand-eevdf", of("hand-eevdf-16"), 1);
    let stage = (of("chain-6") - of("chain-1")) / f64::from(STAGES - 1);
    Row::new("a further stage", STAGES, stage, "ns/stage", stage / of("hand-fused"), "hand-fused")
        .print(json);
    for n in 1..=STAGES {
        let name = format!("chain-{n}");
        Row::new(&name, n, of(&name), "ns/cycle", of(&name) / of("fifo"), "fifo").print(json);
    }
    for (name, size) in [("hand-fused", CPUS), ("hand-edf", CPUS), ("hand-eevdf-16", 1), ("fifo", 1)] {
        let hand = name.trim_end_matches("-16");
        Row::new(hand, size, of(name), "ns/cycle", 1.0, hand).print(json);
    }
    instructions().iter().for_each(|row| row.print(json));
    Row::new("a lock", 1, lock_ns(), "ns", 1.0, "a lock").print(json);
    for s in &all {
        if let Kind::Decentral(s) = &s.kind {
            let bytes = s.bytes_per_task() as f64;
            Row::new("decentral", CPUS, bytes, "bytes/task", bytes / 64.0, "hand-fused").print(json);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The yardsticks have the duties: they choose the tasks that the topologies choose.
    #[test]
    fn by_hand_and_composed_choose_alike() {
        let all = (QUEUED + 1) * CPUS;
        let mut hand = Fused::new(CPUS, all);
        let mut ours = Ours::new(&plan("decentral", DECENTRAL, CPUS), CPUS, all, &[], false);
        for n in 0..20_000u32 {
            let cpu = (n * 7 + n / 13) % CPUS;
            if n % 11 == 0 {
                hand.sleep(cpu);
                ours.sleep(cpu);
            } else {
                hand.cycle(cpu);
                ours.cycle(cpu);
            }
            assert_eq!(hand.runs(cpu), ours.runs(cpu), "at {n}");
        }
        let periods = periods();
        let mut hand = Edf::new(CPUS, &periods);
        let mut ours = Ours::new(&plan("edf", EDF, CPUS), CPUS, all, &periods, false);
        for n in 0..20_000u32 {
            let cpu = (n * 5 + n / 17) % CPUS;
            hand.cycle(cpu, &periods);
            ours.job(cpu, &periods);
            assert_eq!(hand.runs(cpu), ours.runs(cpu), "at {n}");
        }
    }
}
