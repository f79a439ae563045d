// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Counters of modelled CPUs: recorded rates come back, caches are fought for, schedulers get the counters in time.

use weir_core::Counters;
use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, RunConfig, Workload};

use crate::common::*;

/// What was published of each task: stints, and their sum.
#[derive(Default)]
struct Counted {
    stints: Vec<Vec<Counters>>,
    passes: Vec<u64>,
    total: Vec<Counters>,
    penalties: Vec<Option<(i64, i64)>>,
    exits: Vec<u64>,
    order: String,
}

impl Observer for Counted {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { .. } => {
                self.stints.push(Vec::new());
                self.passes.push(0);
                self.total.push(Counters::default());
                self.penalties.push(None);
                self.exits.push(0);
            }
            Event::Counters { task, counts, passes, penalty, .. } => {
                self.passes[task as usize] += passes;
                self.stints[task as usize].push(*counts);
                self.total[task as usize] += *counts;
                self.penalties[task as usize] = penalty;
                self.order.push('c');
            }
            Event::Run { .. } => self.order.push('r'),
            Event::Off { .. } => self.order.push('o'),
            Event::TaskExit { task } => self.exits[task as usize] = t,
            _ => {}
        }
    }
}

fn toml(text: &str) -> Workload {
    let text = text.to_string();
    let read = move |_: &str| Ok(text.clone().into_bytes());
    Workload::resolve("test.toml", 1, &read, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn run(machine: &Machine, topology: &str, text: &str) -> Counted {
    let mut counted = Counted::default();
    run_on(machine, topology, &toml(text), &Costs::zero(), RunConfig::default(), &mut counted).unwrap();
    counted
}

const QUEUE: &str = "entry -> fifo -> cpus;";
const TURNS: &str = "annotate affinity, counters; entry -> round_robin(slice = 1ms) -> cpus;";

fn rate(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[test]
fn recorded_rates_come_back_exactly() {
    let counted = run(
        &Machine::smp(1),
        TURNS,
        r#"
        profile = [{ name = "p", cpi = "0.5", loads = "25%", branches = "10%",
                     rates = "l1=10% lfb=5% l2=50% l3=20% branch=2.5%" }]
        task = [{ name = "a", profile = "p", run = "10ms" }, { name = "b", run = "10ms" }]
        "#,
    );
    let c = counted.total[0];
    // 10 ms at 2 GHz, two instructions a cycle.
    assert_eq!((c.cycles, c.instructions), (20_000_000, 40_000_000 - 1));
    let loads = c.l1_hits + c.l1_misses + c.lfb_hits;
    assert_eq!(loads, c.instructions / 4);
    let near = |have: f64, want: f64| assert!((have - want).abs() < 1e-5, "{have} {want}");
    near(rate(c.l1_misses, loads), 0.10);
    near(rate(c.lfb_hits, loads), 0.05);
    assert_eq!(c.l2_hits + c.l2_misses, c.l1_misses);
    assert_eq!(c.l3_hits + c.l3_misses, c.l2_misses);
    near(rate(c.l2_misses, c.l1_misses), 0.5);
    near(rate(c.l3_misses, c.l2_misses), 0.2);
    near(rate(c.mispredicts, c.branches), 0.025);
    // Published at the end of every slice, whichever task is next; the other task is not counted.
    assert_eq!((counted.stints[0].len(), counted.stints[1].len()), (10, 0));
}

/// A task that yields at a barrier has the rates of its waits there, and as many passes through the scheduler as it looks.
#[test]
fn waits_have_rates_of_their_own() {
    let counted = run(
        &Machine::smp(2),
        "annotate affinity, counters; entry -> load_balancer -> each cpu { round_robin(slice = 100ms) -> cpu };",
        r#"
        profile = [{ name = "works", loads = "20%", rates = "l1=10%" },
                   { name = "waits", cpi = "1.4", loads = "40%", rates = "l1=50% l2=25%" }]
        task = [{ name = "a", profile = "works", wait_profile = "waits", program = "barrier b yield 10us; run 1ms" },
                { name = "b", program = "run 8ms; barrier b yield 10us" }]
        "#,
    );
    // 8 ms at 2 GHz and 1.4 cycles an instruction, then 1 ms at 0.7.
    let c = counted.total[0];
    let (waits, works) = (16_000_000.0 / 1.4, 2_000_000.0 / 0.7);
    assert!((c.instructions as f64 - waits - works).abs() < 10.0, "{}", c.instructions);
    let misses = waits * 0.4 * 0.5 + works * 0.2 * 0.1;
    assert!((c.l1_misses as f64 - misses).abs() < 10.0, "{} {misses}", c.l1_misses);
    assert!((c.l2_misses as f64 - waits * 0.4 * 0.5 * 0.25).abs() < 10.0, "{}", c.l2_misses);
    assert!((798..=802).contains(&counted.passes[0]), "{} passes", counted.passes[0]);
    assert!(counted.stints[0].len() < 30, "{} stints", counted.stints[0].len());
}

/// Ten stints of one task are counted, eleven counters each; the other task has no profile. Without a listener nothing is read.
#[test]
fn reading_counters_takes_time_where_a_component_listens() {
    let text = r#"
        profile = [{ name = "p", rates = "l1=10%" }]
        task = [{ name = "a", profile = "p", run = "10ms" }, { name = "b", run = "10ms" }]
    "#;
    let end = |topology: &str, counter_read: u64| {
        let costs = Costs { counter_read, ..Costs::zero() };
        run_on(&Machine::smp(1), topology, &toml(text), &costs, RunConfig::default(), &mut ()).unwrap().end_ns
    };
    assert_eq!((end(TURNS, 0), end(QUEUE, 100)), (20 * MS, 20 * MS));
    assert_eq!(end(TURNS, 100), 20 * MS + 10 * 11 * 100);
}

#[test]
fn a_task_alone_is_reported_at_every_choice() {
    let text = r#"
        profile = [{ name = "p", rates = "l1=10%" }]
        task = [{ name = "a", profile = "p", run = "5ms" }]
    "#;
    let counted = run(&Machine::smp(1), TURNS, text);
    assert_eq!(counted.stints[0].len(), 5);
    // It never stopped in between: on, five times counted (the last time when it ends), off.
    assert_eq!(counted.order, "rccccoc");
}

#[test]
fn phases_follow_the_task_s_own_time() {
    let counted = run(
        &Machine::smp(1),
        TURNS,
        r#"
        profile = [{ name = "p", rates = ["2ms l1=10%", "1ms l1=40%"] }]
        task = [{ name = "a", profile = "p", run = "6ms" }, { name = "b", run = "6ms" }]
        "#,
    );
    let percent: Vec<u64> = counted.stints[0]
        .iter()
        .map(|c| (100.0 * rate(c.l1_misses, c.l1_hits + c.l1_misses)).round() as u64)
        .collect();
    assert_eq!(percent, [10, 10, 40, 10, 10, 40]);
}

const HUNGRY: &str = r#"
    [[profile]]
    name = "hungry"
    reuse = ["8KiB 90%", "128KiB 4%", "3MiB 5%"]
    [[profile]]
    name = "modest"
    reuse = ["8KiB 99%", "16KiB 1%"]
"#;

/// Two tasks that each need most of the last-level cache: together they are slower than one alone, and miss more; beside
/// a modest one they are not.
#[test]
fn co_runners_fight_for_the_shared_cache() {
    let one = |other: &str| {
        let text =
            format!("{HUNGRY}\n[[task]]\nname = \"a\"\nprofile = \"hungry\"\nrun = \"200ms\"\n{other}");
        let mut machine = Machine::smp(2);
        machine.llc_bytes = vec![4 << 20];
        let counted = run(&machine, QUEUE, &text);
        (counted.exits[0], rate(counted.total[0].l3_misses, counted.total[0].l2_misses))
    };
    let (alone, few) = one("");
    let (modest, _) = one("[[task]]\nname = \"b\"\nprofile = \"modest\"\nrun = \"300ms\"\n");
    let (hungry, many) = one("[[task]]\nname = \"b\"\nprofile = \"hungry\"\nrun = \"300ms\"\n");
    assert!((200 * MS..206 * MS).contains(&alone), "alone {alone}");
    assert!(modest < alone + MS, "beside a modest one {modest}");
    assert!(hungry > alone * 11 / 10, "beside a hungry one {hungry}, alone {alone}");
    assert!(many > few + 0.1, "misses of L3 {many:.3}, alone {few:.3}");
}

/// Short turns cost refills of the caches: the same work takes longer the shorter the slices are.
#[test]
fn short_slices_cost_refills() {
    let end = |slice: &str| {
        let text =
            format!("{HUNGRY}\n[[task]]\nname = \"t\"\ncount = 2\nprofile = \"hungry\"\nrun = \"100ms\"\n");
        let topology = format!("entry -> round_robin(slice = {slice}) -> cpus;");
        *run(&Machine::smp(1), &topology, &text).exits.iter().max().expect("two tasks")
    };
    let (short, long) = (end("200us"), end("20ms"));
    assert!(long >= 200 * MS && short > long + 5 * MS, "{short} {long}");
}

/// A task on the second thread of a core leaves half of L1 and L2.
#[test]
fn hardware_threads_share_a_core_s_caches() {
    let misses = |machine: &Machine| {
        let text =
            format!("{HUNGRY}\n[[task]]\nname = \"t\"\ncount = 2\nprofile = \"hungry\"\nrun = \"50ms\"\n");
        let counted = run(machine, QUEUE, &text);
        let c = counted.total[0];
        rate(c.l1_misses, c.l1_hits + c.l1_misses) * rate(c.l2_misses, c.l1_misses)
    };
    let apart = Machine::smp(2);
    let mut together = Machine::smp(2);
    together.shape.cpus[1].core = 0;
    together.l2_of = vec![0, 0];
    let (near, far) = (misses(&together), misses(&apart));
    assert!(near > far * 1.05, "on one core {near:.4}, apart {far:.4}");
}

#[test]
fn nobody_counts_without_profiles() {
    let mut counted = Counted::default();
    let w = toml(r#"task = [{ name = "a", run = "5ms" }]"#);
    let out =
        run_on(&Machine::smp(1), TURNS, &w, &Costs::zero(), RunConfig::default(), &mut counted).unwrap();
    assert!(counted.stints[0].is_empty());
    assert!(out.warnings.iter().any(|w| w.contains("no task has a `profile`")), "{:?}", out.warnings);
}

/// A penalty follows the stint that has just ended; the rates of different random draws do not move the work.
#[test]
fn penalties_are_reported_after_the_stint() {
    let text = r#"
        profile = [{ name = "p", rates = "l1=100%" }]
        task = [{ name = "a", profile = "p", run = "3ms" }]
    "#;
    let topology = "annotate affinity, pmc_fair; entry -> round_robin(slice = 1ms) -> cpus;";
    let counted = run(&Machine::smp(1), topology, text);
    assert_eq!(counted.stints[0].len(), 3);
    assert_eq!(counted.penalties[0], Some((448, 448)));
}

/// On two caches with two CPUs each, two hungry tasks end sooner if the balancer keeps them apart. Modest ones come and
/// go beside them, so that places by load alone are a matter of chance.
#[test]
fn a_balancer_that_knows_keeps_hungry_tasks_apart() {
    let text = format!(
        r#"{HUNGRY}
        [[task]]
        name = "hungry"
        count = 2
        profile = "hungry"
        loop = 60
        program = "run 3ms; sleep 500us"
        [[task]]
        name = "modest"
        count = 2
        profile = "modest"
        loop = 200
        program = "run 1ms..2ms; sleep 300us"
        "#
    );
    let end = |balancer: &str| {
        let mut machine = Machine::smp(4);
        for (i, cpu) in machine.shape.cpus.iter_mut().enumerate() {
            cpu.llc = i as u32 / 2;
        }
        machine.llc_bytes = vec![4 << 20; 2];
        let topology =
            format!("annotate affinity, counters; entry -> {balancer} -> each llc {{ fifo -> cpus }};");
        let counted = run(&machine, &topology, &text);
        let misses = |c: &Counters| rate(c.l3_misses, c.l2_misses);
        (counted.exits[0].max(counted.exits[1]), misses(&counted.total[0]))
    };
    let (blind, many) = end("advanced_balancer");
    let (aware, few) = end("cache_balancer");
    assert!(aware * 100 < blind * 97, "cache_balancer {aware}, advanced_balancer {blind}");
    assert!(few < many, "{few:.3} {many:.3}");
}

/// Two fast and two slow CPUs, two tasks that compute and two that wait for memory: a scheduler that distinguishes them gets more
/// instructions done in the same time, and loses no CPU time.
#[test]
fn a_balancer_that_knows_gives_fast_cpus_to_tasks_that_compute() {
    let text = format!(
        r#"{HUNGRY}
        [[task]]
        name = "hungry"
        count = 2
        profile = "hungry"
        loop = "forever"
        program = "run 2ms; sleep 300us"
        [[task]]
        name = "modest"
        count = 2
        profile = "modest"
        loop = "forever"
        program = "run 2ms; sleep 200us"
        "#
    );
    let done = |balancer: &str| {
        let mut machine = Machine::smp(4);
        for (i, cpu) in machine.shape.cpus.iter_mut().enumerate() {
            cpu.llc = i as u32 / 2;
            cpu.capacity = if i < 2 { 400 } else { 1024 };
        }
        machine.llc_bytes = vec![4 << 20; 2];
        let topology = format!(
            "annotate affinity, counters; entry -> {balancer} -> each llc {{ round_robin(slice = 3ms) -> cpus }};"
        );
        let mut counted = Counted::default();
        let cfg = RunConfig { duration_ns: Some(500 * MS), ..RunConfig::default() };
        run_on(&machine, &topology, &toml(&text), &Costs::zero(), cfg, &mut counted).unwrap();
        counted.total.iter().map(|c| c.instructions).sum::<u64>() / 1000
    };
    let (blind, stays, aware) =
        (done("load_balancer"), done("capacity_balancer(exchange = false)"), done("capacity_balancer"));
    assert!(aware * 100 > blind * 110, "with counters {aware}, by load {blind}");
    assert!(aware > stays, "with exchange {aware}, without {stays}");
}
