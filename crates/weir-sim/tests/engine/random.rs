// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random workloads on a machine that changes, under schedulers that are swapped: whatever happens, the
//! invariants hold, time adds up, and the same happens again.

use proptest::prelude::*;
use weir_core::CpuSet;
use weir_sim::{Command, Costs, Machine, MachineEvent, Op, Outcome, RunConfig, TaskSpec, Workload};

use crate::common::*;

const TOPOLOGIES: [&str; 6] = [
    "annotate affinity; entry -> head_queue -> cpus;",
    "annotate affinity; entry -> load_balancer -> each cpu { round_robin(slice = 1ms) -> cpu };",
    "annotate affinity, deadline; entry -> edf -> cpus;",
    "annotate affinity, priority; entry -> load_balancer -> each cpu { priority_order -> cpu };",
    "annotate affinity; entry each cpu -> work_stealing -> each cpu { fifo -> cpu };",
    "annotate affinity, lamport; entry -> lcfs -> cpus;",
];
/// For CPUs without common memory.
const DISTRIBUTED: [&str; 3] = [
    "annotate affinity; each cpu { entry -> load_balancer } ~> all each cpu { task_mux -> round_robin(slice = 1ms) -> cpu };",
    "annotate affinity, priority; each cpu { entry -> load_balancer } ~> all each cpu { task_mux -> priority_order -> cpu };",
    "annotate affinity, deadline; each cpu { entry -> load_balancer } ~> all each cpu { task_mux -> edf -> cpu };",
];
const CPUS: u32 = 4;

/// Pairs of CPUs that share memory.
fn islands(mut machine: Machine) -> Machine {
    machine.shape.cpus.iter_mut().enumerate().for_each(|(c, cpu)| cpu.coherence = c as u32 / 2);
    machine
}

fn op() -> impl Strategy<Value = Vec<Op>> {
    let set = prop::option::of(prop::collection::vec(0..CPUS, 1..3).prop_map(CpuSet::from_iter));
    prop_oneof![
        4 => (0..3 * MS).prop_map(|ns| vec![Op::Run { ns }]),
        2 => (0..2 * MS).prop_map(|ns| vec![Op::Sleep { ns }]),
        1 => (1..MS).prop_map(|ns| vec![Op::Runtime { ns }]),
        1 => (1..MS).prop_map(|max_ns| vec![Op::RunBetween { min_ns: 0, max_ns }]),
        2 => (0..2u32, 0..MS).prop_map(|(mutex, ns)| vec![Op::Lock { mutex }, Op::Run { ns }, Op::Unlock { mutex }]),
        1 => Just(vec![Op::Lock { mutex: 0 }, Op::Wait { condition: 0, mutex: 0 }, Op::Unlock { mutex: 0 }]),
        1 => Just(vec![Op::Lock { mutex: 1 }, Op::Sync { condition: 0, mutex: 1 }, Op::Unlock { mutex: 1 }]),
        2 => Just(vec![Op::Signal { condition: 0 }]),
        1 => Just(vec![Op::Broadcast { condition: 0 }]),
        1 => Just(vec![Op::Barrier { barrier: 0 }]),
        1 => Just(vec![Op::Suspend { event: 0 }]),
        2 => Just(vec![Op::Resume { event: 0 }]),
        1 => Just(vec![Op::Yield]),
        2 => (1..300u64).prop_map(|bytes| vec![Op::Write { channel: 0, bytes }]),
        2 => (1..300u64).prop_map(|bytes| vec![Op::Read { channel: 0, bytes }]),
        2 => Just(vec![Op::Raise { flag: 0, by: 1 }]),
        1 => (0..4u64).prop_map(|value| vec![Op::SpinUntil { flag: 0, value, per_iteration: false }]),
        1 => (0..5i32).prop_map(|priority| vec![Op::SetPriority { priority }]),
        1 => set.prop_map(|cpus| vec![Op::SetAffinity { cpus }]),
        1 => (MS / 2..4 * MS, any::<bool>(), any::<bool>())
            .prop_map(|(period_ns, relative, shared)| vec![Op::Timer { timer: 0, period_ns, relative, shared }]),
        1 => (0..100_000u64).prop_map(|bytes| vec![Op::Io { bytes }]),
        1 => Just(vec![Op::Fork { template: 0 }]),
    ]
}

fn program() -> impl Strategy<Value = Vec<Op>> {
    (prop::collection::vec(op(), 1..8), 1..5u64).prop_map(|(ops, n)| repeat(Some(n), ops.concat()))
}

fn jobs() -> impl Strategy<Value = TaskSpec> {
    (0..2 * MS, MS..6 * MS, 1..4 * MS, 0..MS).prop_map(|(offset_ns, period_ns, ns, extra)| {
        let release = Op::Release {
            offset_ns,
            period_ns,
            deadline_ns: period_ns,
            jitter_ns: extra / 2,
            extra_ns: extra,
        };
        task("job", repeat(None, vec![release, Op::Run { ns }]))
    })
}

fn workload_of() -> impl Strategy<Value = Workload> {
    let free = (program(), 0..5 * MS, 0..5i32).prop_map(|(p, start, priority)| TaskSpec {
        start_ns: Some(start),
        priority,
        ..task("free", p)
    });
    (prop::collection::vec(prop_oneof![3 => free, 1 => jobs()], 1..10), 0..2 * MS).prop_map(
        |(mut tasks, ns)| {
            // What is forked does not fork.
            tasks.insert(0, TaskSpec { start_ns: None, ..task("child", vec![Op::Run { ns }]) });
            Workload {
                mutexes: vec!["m0".into(), "m1".into()],
                conditions: vec!["c0".into()],
                events: vec!["e0".into()],
                barriers: vec![("b0".into(), 2)],
                channels: vec![("ch0".into(), 150)],
                flags: vec!["f0".into()],
                timers: vec!["t0".into()],
                ..workload(tasks)
            }
        },
    )
}

fn machine(events: Vec<(u64, u32, u8)>, hosted: bool) -> Machine {
    let mut machine = Machine::smp(CPUS);
    machine.smt_pct = 70;
    machine.shape.cpus[1].core = machine.shape.cpus[0].core;
    machine.shape.cpus[3].capacity = 400;
    machine.shape.cpus[2].host = hosted.then_some(0);
    let top = machine.top_hz(0);
    machine.events = events
        .into_iter()
        .map(|(t, c, what)| match what {
            0 => (t, MachineEvent::Offline(c)),
            1 => (t, MachineEvent::Online(c)),
            _ => (t, MachineEvent::Frequency(c, top * u64::from(what) / 8)),
        })
        .collect();
    machine.events.sort_by_key(|e| e.0);
    machine
}

/// The same cases in every run, so that a failure is a change's own; `PROPTEST_RNG_SEED` asks for others.
fn seed() -> proptest::test_runner::RngSeed {
    match std::env::var_os("PROPTEST_RNG_SEED") {
        Some(_) => ProptestConfig::default().rng_seed,
        None => proptest::test_runner::RngSeed::Fixed(1),
    }
}

/// `PROPTEST_CASES` asks for more than the few of a quick test.
fn cases() -> u32 {
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 64 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), ..ProptestConfig::default() })]
    #[test]
    fn anything_may_happen(
        w in workload_of(),
        events in prop::collection::vec((0..40 * MS, 0..CPUS, 0..8u8), 0..8),
        first in 0..TOPOLOGIES.len(),
        swaps in prop::collection::vec((0..40 * MS, 0..TOPOLOGIES.len()), 0..5),
        costs in prop::sample::select(vec![Costs::zero(), Costs::default(), Costs::native(), Costs::source()]),
        hosted in any::<bool>(),
        distributed in prop::bool::weighted(0.2),
        seed in 0..1000u64,
    ) {
        let machine = if distributed { islands(machine(events, false)) } else { machine(events, hosted) };
        let topology = |k: usize| if distributed { DISTRIBUTED[k % DISTRIBUTED.len()] } else { TOPOLOGIES[k] };
        let scripted: Vec<_> = swaps
            .iter()
            .map(|&(t, k)| (t, Command::Swap(Box::new(plan(topology(k), &machine.shape)))))
            .collect();
        let once = || -> (Outcome, String, Gantt) {
            let mut seen = (Transcript::default(), Gantt::default());
            let cfg = RunConfig {
                seed,
                duration_ns: Some(60 * MS),
                trace_pipes: seed % 2 == 0,
                scripted: scripted.clone(),
                ..RunConfig::default()
            };
            let out = run_on(&machine, topology(first), &w, &costs, cfg, &mut seen).unwrap();
            (out, seen.0.0, seen.1)
        };
        let (out, text, g) = once();
        let (again, text_again, _) = once();
        prop_assert_eq!(&out, &again);
        prop_assert!(text == text_again);
        prop_assert_eq!(g.preemptions as u64, out.preemptions);
        prop_assert_eq!(u64::from(g.migrations), out.migrations);
        prop_assert_eq!(g.missed.len() as u64, out.deadline_misses);
        prop_assert_eq!(g.done.len() as u64, out.jobs_completed);
        let ran: u64 = g.bars.iter().map(|b| b.3 - b.2).sum();
        // Bars contain the interrupts that their tasks suffered.
        prop_assert!(ran >= out.busy_ns && ran <= out.busy_ns + out.kernel_ns, "{ran} {out:?}");
        for c in &out.cpus {
            prop_assert!(c.busy_ns + c.idle_ns + c.kernel_ns <= out.end_ns);
        }
    }
}
