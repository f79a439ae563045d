// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the machine does: speeds, SMT, CPUs that come and go, foreign instruction sets, energy.

use weir_core::{CpuSet, Topic};
use weir_sim::{Command, Costs, Machine, MachineEvent, Notice, Op, RunConfig, Workload};

use crate::common::*;

const FIFO: &str = "entry -> head_queue -> cpus;";
const SPREAD: &str = "annotate affinity; entry -> load_balancer -> each cpu { head_queue -> cpu };";

fn run(machine: &Machine, topology: &str, w: &Workload) -> (Gantt, weir_sim::Outcome) {
    let mut g = Gantt::default();
    let out = run_on(machine, topology, w, &Costs::zero(), RunConfig::default(), &mut g).unwrap();
    (g, out)
}

fn run_for(name: &str, ms: u64) -> weir_sim::TaskSpec {
    task(name, vec![Op::Run { ns: ms * MS }])
}

#[test]
fn smt_siblings_slow_each_other_down() {
    let mut machine = Machine::smp(2);
    machine.smt_pct = 60;
    machine.shape.cpus[1].core = machine.shape.cpus[0].core;
    // Together at 60 %: b is done at 5; then a has 3 of 6 left and runs alone.
    let (g, out) = run(&machine, FIFO, &workload(vec![run_for("a", 6), run_for("b", 3)]));
    assert_eq!(g.exits, [("b".to_string(), 5 * MS), ("a".into(), 8 * MS)]);
    assert_eq!(out.end_ns, 8 * MS);
}

#[test]
fn smt_slowdown_ends_and_begins_with_the_sibling_s_sleep() {
    let mut machine = Machine::smp(2);
    machine.smt_pct = 50;
    machine.shape.cpus[1].core = machine.shape.cpus[0].core;
    let b = task("b", vec![Op::Run { ns: MS }, Op::Sleep { ns: 2 * MS }, Op::Run { ns: MS }]);
    // a: 0-2 half, 2-4 full, 4-6 half: 4 ms of work by 6, then alone.
    let (g, _) = run(&machine, FIFO, &workload(vec![run_for("a", 10), b]));
    assert_eq!(g.exits, [("b".to_string(), 6 * MS), ("a".into(), 12 * MS)]);
}

#[test]
fn a_clock_change_counts_from_its_instant() {
    let mut machine = Machine::smp(1);
    let top = machine.top_hz(0);
    machine.events =
        vec![(4 * MS, MachineEvent::Frequency(0, top / 2)), (8 * MS, MachineEvent::Frequency(0, top))];
    // 4 at full speed, 4 at half, 4 left.
    let (g, _) = run(&machine, FIFO, &workload(vec![run_for("a", 10)]));
    assert_eq!(g.exits, [("a".to_string(), 12 * MS)]);
}

#[test]
fn energy_is_power_times_time() {
    let machine = Machine::smp(2);
    let (busy, idle) = (u64::from(machine.busy_mw(0, machine.top_hz(0))), u64::from(machine.kind(0).idle_mw));
    let (_, out) = run(&machine, FIFO, &workload(vec![run_for("a", 10)]));
    assert_eq!(out.energy_uj, (busy + idle) * 10);
}

#[test]
fn a_leaving_cpu_hands_its_task_on() {
    let mut machine = Machine::smp(2);
    machine.events = vec![(3 * MS, MachineEvent::Offline(1)), (6 * MS, MachineEvent::Online(1))];
    let w = workload(vec![run_for("a", 5), run_for("b", 5)]);
    for topology in [FIFO, SPREAD] {
        let (g, out) = run(&machine, topology, &w);
        // The default slice is 4 ms.
        assert_eq!(g.cpu(0).split(',').next(), Some("a 0-4"), "{topology}");
        assert!(g.bars.iter().all(|b| b.1 == 0 || b.3 <= 3 * MS || b.2 >= 6 * MS), "{topology}");
        assert_eq!(g.exits.len(), 2);
        assert_eq!(out.end_ns, 7 * MS, "{topology}");
    }
}

#[test]
fn a_bound_task_waits_for_its_cpu() {
    let mut machine = Machine::smp(2);
    machine.shape.cpus[1].online = false;
    machine.events = vec![(8 * MS, MachineEvent::Online(1))];
    let mut bound = run_for("bound", 2);
    bound.cpus = Some(CpuSet::from_iter([1]));
    let (g, out) = run(&machine, SPREAD, &workload(vec![bound, run_for("free", 1)]));
    assert_eq!(g.cpu(0), "free 0-1");
    assert_eq!(g.cpu(1), "bound 8-10");
    assert_eq!(out.end_ns, 10 * MS);
}

#[test]
fn setting_the_affinity_moves_a_running_task_at_once() {
    let only = |c: u32| Op::SetAffinity { cpus: Some(CpuSet::from_iter([c])) };
    let w = workload(vec![task(
        "a",
        vec![only(0), Op::Run { ns: 2 * MS }, only(1), Op::Run { ns: 2 * MS }, only(0), Op::Run { ns: MS }],
    )]);
    let (g, out) = run(&Machine::smp(2), SPREAD, &w);
    let on: Vec<_> = g.bars.iter().filter(|b| b.3 > b.2).map(|b| (b.1, b.2 / MS, b.3 / MS)).collect();
    assert_eq!(on, [(0, 0, 2), (1, 2, 4), (0, 4, 5)]);
    assert_eq!((out.preemptions, g.preemptions), (0, 0));
    assert!(out.migrations >= 2);
}

fn with_accelerator(host: Option<u32>) -> Machine {
    let mut machine = Machine::smp(3);
    machine.shape.isas.push("accel".into());
    machine.shape.cpus[2].isa = 1;
    machine.shape.cpus[2].host = host;
    machine
}

const MIXED: &str = "annotate affinity, isa, lamport; entry -> split :: isa_demux;
split[native] -> load_balancer -> each cpu in native { head_queue -> cpu };
split[accel] -> fcfs -> each cpu in accel { -> cpu };";

#[test]
fn a_task_changes_its_instruction_set_and_returns() {
    let program = vec![
        Op::Run { ns: MS },
        Op::SetIsa { isa: Some("accel".into()) },
        Op::Run { ns: 4 * MS },
        Op::SetIsa { isa: None },
        Op::Run { ns: MS },
    ];
    let mut alone = run_for("standalone", 2);
    alone.isa = Some("accel".into());
    let w = workload(vec![task("a", program), alone]);
    for host in [None, Some(0)] {
        let (g, out) = run(&with_accelerator(host), MIXED, &w);
        assert_eq!(g.cpu(2), "standalone 0-2, a 2-6");
        assert_eq!((out.end_ns, out.alive), (7 * MS, 0));
    }
}

/// A topology that keeps the contexts of tasks.
fn with_contexts() -> String {
    MIXED.replace("lamport;", "lamport, tcb;")
}

/// The accelerator of listing 8.1 (source 0) does not know its task except by the answer to REQUEST(TCB).
#[test]
fn a_hosted_cpu_runs_what_the_answer_to_tcb_names() {
    let accel = |n: &str, ms| {
        let mut t = run_for(n, ms);
        t.isa = Some("accel".into());
        t
    };
    let w = workload(vec![accel("a", 3), run_for("plain", 2), accel("b", 4)]);
    let (machine, text) = (with_accelerator(Some(0)), with_contexts());
    let (g, out) = run(&machine, &text, &w);
    assert_eq!((g.cpu(2).as_str(), out.contexts_fetched), ("a 0-3, b 3-7", 2));
    // Neither a CPU that sees the kernel's records asks, nor one for which no component keeps them.
    assert_eq!(run(&with_accelerator(None), &text, &w).1.contexts_fetched, 0);
    assert_eq!(run(&machine, MIXED, &w).1.contexts_fetched, 0);

    // Whoever publishes another context changes what the CPU finds.
    let (b, missing, other) = (2, 0, 2);
    for (value, what) in [(missing, "got no context for task `b`"), (other, "the context of task `plain`")] {
        let tamper = Notice { topic: Topic::Tcb, cpu: None, task: Some(b), value, value2: 0, mask: None };
        let scripted = vec![(MS, Command::Notify(tamper))];
        let cfg = RunConfig { scripted, ..RunConfig::default() };
        let e = run_on(&machine, &text, &w, &Costs::zero(), cfg, &mut Gantt::default()).unwrap_err();
        assert!(e.message.contains("CPU 2") && e.message.contains(what), "{}", e.message);
    }
}

#[test]
fn a_request_for_a_context_costs_the_host_time() {
    let mut t = task("x", repeat(Some(200), vec![Op::Run { ns: 20 * US }, Op::Sleep { ns: 30 * US }]));
    t.isa = Some("accel".into());
    let w = workload(vec![t]);
    let kernel = |text: &str| {
        let machine = with_accelerator(Some(1));
        let out = run_on(&machine, text, &w, &Costs::default(), RunConfig::default(), &mut ()).unwrap();
        (out.contexts_fetched, out.cpus[1].kernel_ns)
    };
    let (without, with) = (kernel(MIXED), kernel(&with_contexts()));
    assert!(without.0 == 0 && with.0 >= 200 && with.1 > without.1, "{without:?} {with:?}");
}

/// What only the new topology keeps about tasks is published when it takes over.
#[test]
fn a_swap_publishes_instruction_sets_and_contexts() {
    let (offset_ns, period_ns) = (5 * MS, 20 * MS);
    let release = Op::Release { offset_ns, period_ns, deadline_ns: period_ns, jitter_ns: 0, extra_ns: 0 };
    let mut t = task("a", repeat(None, vec![release, Op::Run { ns: 2 * MS }]));
    t.isa = Some("accel".into());
    let machine = with_accelerator(Some(0));
    let scripted = vec![(MS, Command::Swap(Box::new(plan(&with_contexts(), &machine.shape))))];
    let cfg = RunConfig { duration_ns: Some(10 * MS), scripted, ..RunConfig::default() };
    let mut g = Gantt::default();
    let out = run_on(&machine, FIFO, &workload(vec![t]), &Costs::zero(), cfg, &mut g).unwrap();
    assert_eq!((g.cpu(2).as_str(), out.contexts_fetched), ("a 5-7", 1));
}

#[test]
fn the_host_pays_for_the_accelerator() {
    let accel = |n: &str| {
        let mut t = task(n, repeat(Some(200), vec![Op::Run { ns: 20 * US }, Op::Sleep { ns: 30 * US }]));
        t.isa = Some("accel".into());
        t
    };
    let w = workload(vec![accel("x"), accel("y")]);
    let kernel = |host| {
        let out =
            run_on(&with_accelerator(host), MIXED, &w, &Costs::default(), RunConfig::default(), &mut ())
                .unwrap();
        assert_eq!(out.alive, 0);
        out.cpus.iter().map(|c| c.kernel_ns).collect::<Vec<_>>()
    };
    let (own, hosted) = (kernel(None), kernel(Some(1)));
    assert!(own[2] > 100 * US && own[1] == 0, "{own:?}");
    assert!(hosted[1] > 100 * US && hosted[2] < own[2] + hosted[1], "{hosted:?}");
}

/// A task that gives its CPU back and gets it again has not left it; while the host decides, the CPU is not idle.
#[test]
fn a_hosted_cpu_waits_for_its_host_while_it_keeps_a_task() {
    let turns = "annotate affinity, isa, lamport; entry -> split :: isa_demux;
        split[native] -> load_balancer -> each cpu in native { head_queue -> cpu };
        split[accel] -> each cpu in accel { round_robin(slice = 1ms) -> cpu };";
    let mut t = run_for("a", 10);
    t.isa = Some("accel".into());
    let mut g = Gantt::default();
    let out = run_on(
        &with_accelerator(Some(0)),
        turns,
        &workload(vec![t]),
        &Costs::default(),
        RunConfig::default(),
        &mut g,
    )
    .unwrap();
    let ran: u64 = g.bars.iter().map(|b| b.3 - b.2).sum();
    assert_eq!((out.preemptions, g.bars.len()), (0, 1));
    assert!(ran > out.busy_ns && ran <= out.busy_ns + out.cpus[2].kernel_ns, "{ran} {out:?}");
}

#[test]
fn a_topology_without_isa_demux_is_found_out() {
    let mut t = run_for("a", 1);
    t.isa = Some("accel".into());
    let mut g = Gantt::default();
    let e = run_on(
        &with_accelerator(None),
        FIFO,
        &workload(vec![t]),
        &Costs::zero(),
        RunConfig::default(),
        &mut g,
    )
    .unwrap_err();
    assert!(e.message.contains("gave task `a`") && e.help.unwrap().contains("isa_demux"), "{}", e.message);
}

/// Source 0, 6.2, the first and straightforward way: foreign processing elements with memory of their own are scheduled by a CPU elsewhere,
/// which has all instances; what travels are requests, answers and contexts. The bug: such a machine was refused.
#[test]
fn foreign_cpus_with_memory_of_their_own_can_be_hosted() {
    let of = |domain: u32| {
        let text = format!(
            "[[cpus]]\ncount = 1\n[[cpus]]\ncount = 3\nisa = \"accel\"\nhost = 0\ndomain = {domain}\nnode = {domain}\npackage = {domain}\nllc = 1\n"
        );
        Machine::resolve("apart.toml", &|_| Ok(text.as_bytes().to_vec()), &[])
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let text = "[[task]]\nname = \"a\"\ncount = 6\nprogram = \"loop 20 { run 100us; isa accel; run 300us; isa native }\"\n";
    let w = toml(text);
    let run = |machine: &Machine| {
        let topology = catalogue("accelerator");
        let out = run_on(machine, &topology, &w, &Costs::default(), RunConfig::default(), &mut ());
        out.unwrap_or_else(|e| panic!("{e}"))
    };
    let (near, far) = (run(&of(0)), run(&of(1)));
    for out in [&near, &far] {
        assert_eq!((out.alive, out.warnings.len()), (0, 0), "{:?}", out.warnings);
        assert!(out.contexts_fetched >= 120, "{} contexts", out.contexts_fetched);
        assert!(out.cpus[1..].iter().all(|c| c.busy_ns > 0), "each of them works");
    }
    assert!(far.end_ns > near.end_ns, "what travels takes time: {} and {} ns", far.end_ns, near.end_ns);
}
