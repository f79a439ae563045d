// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedulers within schedulers: virtual CPUs that a host schedules, with a scheduler of their own inside.

use proptest::prelude::*;
use weir_core::event::{Event, Nested, Observer};
use weir_sim::{Command, Costs, Inside, Machine, Outcome, Result, RunConfig, Workload};

use crate::common::*;

const RR: &str = "annotate affinity; entry -> load_balancer -> each cpu { round_robin(slice = 1ms) -> cpu };";
const FIFO: &str = "annotate affinity; entry -> load_balancer -> each cpu { fifo -> cpu };";

/// The topologies of the guests, compiled: each guest's `topology` is a name of the catalogue, or `rr` or `fifo`.
fn compiled(w: &Workload) -> Vec<Inside> {
    let text = |name: &str| match name {
        "rr" => RR.to_string(),
        "fifo" => FIFO.to_string(),
        name => catalogue(name),
    };
    let one = |g: &weir_sim::GuestSpec| {
        let machine = Inside::machine(g);
        let plan = plan(&text(&g.topology), &machine.shape);
        Inside { machine, plan }
    };
    w.all_guests().iter().map(|(_, g)| one(g)).collect()
}

/// What happened on the host and in each guest.
fn nested(
    n: u32,
    topology: &str,
    w: &Workload,
    costs: &Costs,
    cfg: RunConfig<'_>,
) -> Result<(Nested<Gantt>, Outcome)> {
    let inside = compiled(w);
    let guests = (0..inside.len()).map(|_| Gantt::default()).collect();
    let mut seen = Nested { host: Gantt::default(), guests };
    let out = run_on(&Machine::smp(n), topology, w, costs, RunConfig { inside: &inside, ..cfg }, &mut seen)?;
    adds_up(n, &out);
    Ok((seen, out))
}

fn until(n: u32, topology: &str, text: &str, end: u64) -> (Nested<Gantt>, Outcome) {
    let cfg = RunConfig { duration_ns: (end > 0).then_some(end), ..RunConfig::default() };
    nested(n, topology, &toml(text), &Costs::zero(), cfg).unwrap_or_else(|e| panic!("{e}"))
}

/// Each CPU's time is that of the run, and what virtual CPUs did, the host's tasks did.
fn adds_up(n: u32, out: &Outcome) {
    let end = out.end_ns;
    assert_eq!(out.busy_ns + out.idle_ns + out.kernel_ns, end * u64::from(n), "time of the host");
    for g in &out.guests {
        for (v, cpu) in g.outcome.cpus.iter().enumerate() {
            let sum = cpu.busy_ns + cpu.idle_ns + cpu.kernel_ns + g.stolen_ns[v];
            // A guest that is over stands still.
            assert!(sum <= end, "time of CPU {v} of {}: {sum} of {end}", g.name);
        }
        assert!(
            g.outcome.busy_ns + g.outcome.kernel_ns <= end * u64::from(n),
            "{} has no more than there is",
            g.name
        );
    }
}

const ALONE: &str = r#"
[[guest]]
name = "vm"
topology = "fifo"
[[task]]
name = "a"
guest = "vm"
program = "run 3ms; sleep 2ms; run 1ms"
[[task]]
name = "b"
guest = "vm"
run = "4ms"
"#;

/// On a CPU of its own a guest is a machine as any other; its CPU is asleep while it has nothing to do.
#[test]
fn a_guest_alone_is_a_machine() {
    let (seen, out) = until(1, FIFO, ALONE, 0);
    assert_eq!(seen.guests[0].cpu(0), "a 0-3, b 3-7, a 7-8");
    assert_eq!(seen.host.cpu(0), "vm/cpu0 0-8");
    assert_eq!((out.end_ns, out.guests[0].stolen_ns[0], out.guests[0].enters), (8 * MS, 0, 1));
    let idle = ALONE.replace("run = \"4ms\"", "run = \"1ms\"");
    let (seen, out) = until(1, FIFO, &idle, 0);
    assert_eq!(seen.guests[0].cpu(0), "a 0-3, b 3-4, a 5-6");
    assert_eq!(seen.host.cpu(0), "vm/cpu0 0-4, vm/cpu0 5-6");
    assert_eq!((out.idle_ns, out.guests[0].outcome.idle_ns), (MS, MS));
}

/// What the host gives to others, the guest does not have; it does not see that, and its tasks stand still.
#[test]
fn a_host_takes_time_away() {
    let text = r#"
[[guest]]
name = "vm"
topology = "fifo"
[[task]]
name = "inside"
guest = "vm"
run = "3ms"
[[task]]
name = "outside"
run = "2ms"
"#;
    let (seen, out) = until(1, RR, text, 0);
    assert_eq!(seen.host.cpu(0), "outside 0-1, vm/cpu0 1-2, outside 2-3, vm/cpu0 3-5");
    assert_eq!(seen.guests[0].cpu(0), "inside 1-5");
    assert_eq!(out.guests[0].stolen_ns, [2 * MS]);
    assert_eq!((out.guests[0].outcome.busy_ns, out.guests[0].outcome.end_ns), (3 * MS, 5 * MS));
}

/// A timer of a guest whose CPU others have comes when it has a CPU again, and its job counts from when it was due.
#[test]
fn timers_wait_for_the_host() {
    let text = r#"
[[guest]]
name = "vm"
topology = "fifo"
[[task]]
name = "inside"
guest = "vm"
program = "run 1ms; sleep 1ms; run 1ms"
[[task]]
name = "outside"
start = "500us"
run = "4ms"
"#;
    let (seen, _) = until(1, FIFO, text, 0);
    assert_eq!(seen.host.bars[1], ("outside".into(), 0, MS, 5 * MS));
    assert_eq!(seen.guests[0].bars[1], ("inside".into(), 0, 5 * MS, 6 * MS));
    assert_eq!(seen.guests[0].done, [("inside".into(), 0, MS), ("inside".into(), 1, 4 * MS)]);
}

/// Guests in guests: the innermost has what all around it leave it.
#[test]
fn guests_nest() {
    let text = r#"
[[guest]]
name = "vm"
topology = "rr"
[[guest]]
name = "app"
guest = "vm"
topology = "fifo"
[[task]]
name = "thread"
guest = "app"
count = 2
run = "1ms"
[[task]]
name = "daemon"
guest = "vm"
run = "2ms"
[[task]]
name = "outside"
run = "2ms"
"#;
    let (seen, out) = until(1, RR, text, 0);
    assert_eq!(
        out.guests.iter().map(|g| (&*g.name, g.parent)).collect::<Vec<_>>(),
        [("vm", None), ("app", Some(0))]
    );
    assert_eq!(seen.guests[1].exits.len(), 2);
    assert_eq!(out.guests[1].outcome.busy_ns, 2 * MS);
    assert_eq!(out.guests[0].outcome.busy_ns, 4 * MS);
    assert_eq!(out.end_ns, 6 * MS);
    let held = |g: usize| out.guests[g].stolen_ns[0];
    assert!(held(1) > held(0) && held(0) == 2 * MS, "{} {}", held(0), held(1));
}

/// Two virtual CPUs whose tasks take a spin lock in turn, beside a task that wants a CPU, too.
const LOCK: &str = r#"
mutexes = { big = "spin" }
[[guest]]
name = "vm"
cpus = 2
topology = "fifo"
host_cpus = "0-1"
pin = true
[[task]]
name = "worker"
guest = "vm"
count = 2
program = "loop 100 { lock big; run 47us; unlock big; run 60us }"
"#;

/// A holder that the host displaces makes all others spin for as long as it is away.
#[test]
fn lock_holders_are_preempted() {
    let (_, alone) = until(2, RR, LOCK, 0);
    let hog = "[[task]]\nname = \"hog\"\ncpus = \"0\"\nrun = \"20ms\"\n";
    let (_, beside) = until(2, RR, &format!("{LOCK}{hog}"), 0);
    let spun = |out: &Outcome| out.guests[0].outcome.spin_ns;
    // Alone, the two come to take turns without waiting. Beside the hog one spins for the hog's turns.
    assert!(spun(&alone) <= MS / 10, "{}", spun(&alone));
    assert!(spun(&beside) > 20 * spun(&alone), "{} {}", spun(&beside), spun(&alone));
}

/// The priority of what runs inside counts outside, if the guest says so.
#[test]
fn priorities_pass_the_boundary() {
    let text = |inform: &str| {
        format!(
            r#"
[[guest]]
name = "vm"
topology = "fp"
inform = "{inform}"
[[task]]
name = "urgent"
guest = "vm"
policy = "fifo"
priority = 50
program = "loop 3 {{ sleep 2ms; run 1ms }}"
[[task]]
name = "idle"
guest = "vm"
run = "2ms"
[[task]]
name = "outside"
policy = "fifo"
priority = 20
run = "10ms"
"#
        )
    };
    let fp = catalogue("fp");
    let (seen, _) = until(1, &fp, &text("none"), 0);
    assert_eq!(seen.host.exits[0], ("outside".into(), 10 * MS), "the guest has no priority outside");
    let (seen, _) = until(1, &fp, &text("priority"), 0);
    let urgent = seen.guests[0].exits.iter().find(|e| e.0 == "urgent").map(|e| e.1);
    assert_eq!(urgent, Some(9 * MS));
    assert_eq!(seen.host.exits[0], ("outside".into(), 13 * MS));
}

/// A guest that learns which CPUs it has moves its tasks to those.
#[test]
fn a_guest_may_know_its_cpus() {
    let text = |inform: &str| {
        format!(
            r#"
[[guest]]
name = "vm"
cpus = 2
topology = "rr"
host_cpus = "0-1"
pin = true
inform = "{inform}"
[[task]]
name = "inside"
guest = "vm"
count = 2
run = "4ms"
[[task]]
name = "outside"
policy = "fifo"
priority = 20
cpus = "0"
run = "20ms"
start = "1ms"
"#
        )
    };
    let fp = "annotate affinity, priority; entry -> load_balancer -> each cpu { priority_order -> cpu };";
    let end = |inform: &str| {
        let (seen, out) = until(2, fp, &text(inform), 0);
        (seen.guests[0].exits.last().expect("both end").1, out.guests[0].stolen_ns[0])
    };
    // Without the news one of the two tasks waits for the virtual CPU that outside has displaced.
    assert_eq!(end("none"), (24 * MS, 20 * MS));
    assert_eq!(end("cpus").0, 7 * MS);
}

/// What a guest says wrongly is refused at its place.
#[test]
fn wrong_guests_are_refused() {
    let refused = |text: &str| {
        let read = |_: &str| Ok(text.as_bytes().to_vec());
        let e = Workload::resolve("t.toml", 1, &read, &[]).expect_err(text);
        assert!(e.help.is_some(), "{e}");
        e.message
    };
    let task = "[[task]]\nname = \"a\"\nrun = \"1ms\"\n";
    assert_eq!(refused(&format!("{task}guest = \"vm\"\n")), "no guest is called `vm`");
    let guest = "[[guest]]\nname = \"vm\"\n";
    assert_eq!(refused(&format!("{guest}{task}")), "nothing schedules inside the guest `vm`");
    let guest = "[[guest]]\nname = \"vm\"\ntopology = \"rr\"\n";
    assert_eq!(refused(&format!("{guest}{task}")), "nothing runs in the guest `vm`");
    assert_eq!(
        refused(&format!("{guest}inform = \"all\"\n{task}guest = \"vm\"\n")),
        "`inform` cannot be `all`"
    );
    assert_eq!(
        refused(&format!("{guest}guest = \"out\"\n{task}guest = \"vm\"\n")),
        "no guest `out` before this one"
    );
    assert_eq!(
        refused(&format!("{guest}pin = true\n{task}guest = \"vm\"\n")),
        "`pin` needs a CPU of the host for each virtual one"
    );
    assert_eq!(refused(&format!("{guest}{guest}{task}guest = \"vm\"\n")), "two guests are called `vm`");
    assert_eq!(
        refused(&format!("{guest}workload = \"compute:tasks=1\"\n{task}guest = \"vm\"\n")),
        "the guest `vm` has a `workload`, and this task besides"
    );
}

/// A generator may describe what runs inside, and a deadlock there ends the guest, not the host.
#[test]
fn what_runs_inside_may_come_from_elsewhere_and_may_stand_still() {
    let text =
        "[[guest]]\nname = \"vm\"\ncpus = 2\ntopology = \"rr\"\nworkload = \"compute:tasks=4,work=1ms\"\n";
    let (_, out) = until(2, FIFO, text, 0);
    assert_eq!((out.guests[0].outcome.busy_ns, out.end_ns), (4 * MS, 2 * MS));
    let text = "[[guest]]\nname = \"vm\"\ntopology = \"rr\"\n[[task]]\nname = \"a\"\nguest = \"vm\"\n\
        program = \"run 1ms; suspend e\"\n[[task]]\nname = \"b\"\nrun = \"3ms\"\n";
    let (_, out) = until(1, FIFO, text, 0);
    assert_eq!(out.end_ns, 4 * MS);
    let expected = "guest `vm`: deadlock at 4000000 ns: `a` is suspended until someone resumes `e`";
    assert!(out.warnings.iter().any(|w| w == expected), "{:?}", out.warnings);
}

/// Random workloads on both sides, all that passes the boundary, both schedulers swapped in between: invariants hold after
/// every event, time adds up, and the same happens again.
#[derive(Clone, Debug)]
struct Case {
    text: String,
    swaps: Vec<(u64, Option<u32>, usize)>,
    costs: bool,
    host: usize,
}

const HOSTS: [&str; 4] = [
    RR,
    "annotate affinity; entry -> head_queue -> cpus;",
    "annotate affinity, priority; entry -> load_balancer -> each cpu { priority_order -> cpu };",
    "annotate affinity; entry each cpu -> work_stealing -> each cpu { fifo -> cpu };",
];

fn steps() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        4 => (1..2000u64).prop_map(|us| format!("run {us}us")),
        2 => (1..1500u64).prop_map(|us| format!("sleep {us}us")),
        2 => (1..200u64).prop_map(|us| format!("lock m; run {us}us; unlock m")),
        2 => (1..200u64).prop_map(|us| format!("lock s; run {us}us; unlock s")),
        1 => Just("barrier b spin 100us".to_string()),
        1 => Just("write c 100; read c 100".to_string()),
        1 => Just("timer 1ms".to_string()),
        1 => Just("yield".to_string()),
        1 => (1..19i32).prop_map(|n| format!("nice {n}")),
    ];
    (prop::collection::vec(step, 1..6), 1..6u32).prop_map(|(s, n)| format!("loop {n} {{ {} }}", s.join("; ")))
}

fn case() -> impl Strategy<Value = Case> {
    let inform = prop::sample::select(vec!["none", "priority", "cpus", "both"]);
    let guest = (1..4u32, prop::sample::select(vec!["rr", "fifo", "fp", "eevdf"]), inform, 0..30u32);
    let tasks = prop::collection::vec((0..4usize, steps(), 0..4u32, any::<bool>()), 1..10);
    let swap = (0..20 * MS, prop::option::of(0..3u32), 0..HOSTS.len());
    let swaps = prop::collection::vec(swap, 0..4);
    (prop::collection::vec(guest, 3), tasks, swaps, any::<bool>(), 0..HOSTS.len()).prop_map(
        |(guests, tasks, swaps, costs, host)| {
            let mut text = String::from("mutexes = { s = \"spin\" }\n");
            for (i, (cpus, topology, inform, enter)) in guests.iter().enumerate() {
                // The third is inside the second.
                let outer = if i == 2 { "guest = \"g1\"\n" } else { "" };
                text += &format!(
                    "[[guest]]\nname = \"g{i}\"\n{outer}cpus = {cpus}\ntopology = \"{topology}\"\ninform = \"{inform}\"\nenter = \"{enter}us\"\n"
                );
            }
            for i in 0..3 {
                text += &format!("[[task]]\nname = \"fixed{i}\"\nguest = \"g{i}\"\nprogram = \"run 300us; sleep 200us; run 1ms\"\n");
            }
            for (i, (at, program, start, real)) in tasks.iter().enumerate() {
                let place = if *at < 3 { format!("guest = \"g{at}\"\n") } else { String::new() };
                let class = if *real { format!("policy = \"fifo\"\npriority = {}\n", 10 + i) } else { String::new() };
                let program = if *real { program.replace("nice", "priority") } else { program.clone() };
                text += &format!("[[task]]\nname = \"t{i}\"\n{place}{class}start = \"{start}ms\"\nprogram = \"{program}\"\n");
            }
            Case { text, swaps, costs, host }
        },
    )
}

/// Every event as text, those of guests among them, and whether time ever goes back.
#[derive(Default)]
struct All(String, u64);

impl Observer for All {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        assert!(t >= self.1, "{event:?} at {t} after {}", self.1);
        self.1 = t;
        self.0 += &format!("{t} {event:?}\n");
    }
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn nothing_is_lost_on_either_side(case in case()) {
        let w = toml(&case.text);
        let inside = compiled(&w);
        let machine = Machine::smp(2);
        let scripted = case.swaps.iter().map(|(at, guest, to)| match guest {
            None => (*at, Command::Swap(Box::new(plan(HOSTS[*to], &machine.shape)))),
            Some(g) => {
                let swap = Command::Swap(Box::new(plan(HOSTS[*to], &inside[*g as usize].machine.shape)));
                (*at, Command::Guest(*g, Box::new(swap)))
            }
        });
        let scripted: Vec<_> = scripted.collect();
        let costs = if case.costs { Costs::default() } else { Costs::zero() };
        let run = || {
            let mut all = All::default();
            let cfg = RunConfig {
                duration_ns: Some(200 * MS), scripted: scripted.clone(), inside: &inside, causes: true, trace_pipes: true,
                ..RunConfig::default()
            };
            let out = run_on(&machine, HOSTS[case.host], &w, &costs, cfg, &mut all);
            (out.map_err(|e| e.to_string()), all.0)
        };
        let (out, transcript) = run();
        prop_assert!(out.is_ok(), "{}\n{:?}", case.text, out);
        if let Ok(out) = &out {
            adds_up(2, out);
            // What virtual CPUs did, tasks of the host did, and entering besides.
            for g in out.guests.iter().filter(|g| g.parent.is_none()) {
                prop_assert!(g.outcome.busy_ns + g.outcome.kernel_ns <= out.busy_ns, "{}", case.text);
            }
        }
        prop_assert!(run() == (out, transcript), "the same happens again");
    }
}
