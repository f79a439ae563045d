// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedulers that change while they run: CPUs that come and go, transactions, rules.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use weir_core::event::{Event, Observer};
use weir_core::{CpuSet, Plan, Topic};
use weir_lang::{Edit, NoIncludes, Source};
use weir_model::scenario::{self, Composer, Proposal, Verb};
use weir_sim::engine::Control;
use weir_sim::{Command, Costs, Machine, Notice, Op, Outcome, RunConfig, TaskSpec, Workload, engine};

const MS: u64 = 1_000_000;

/// Knows topologies by name, and changes of one instance.
struct Names {
    texts: BTreeMap<&'static str, &'static str>,
    machine: Machine,
    now: RefCell<(String, Vec<Edit>)>,
    next: RefCell<Option<(String, Vec<Edit>)>>,
    before: RefCell<Option<(String, Vec<Edit>)>>,
}

impl Names {
    fn new(machine: &Machine, texts: &[(&'static str, &'static str)], first: &str) -> Self {
        Names {
            texts: texts.iter().copied().collect(),
            machine: machine.clone(),
            now: RefCell::new((first.into(), Vec::new())),
            next: RefCell::new(None),
            before: RefCell::new(None),
        }
    }

    fn plan(&self, recipe: &(String, Vec<Edit>)) -> Result<Plan, String> {
        let text = self.texts.get(recipe.0.as_str()).ok_or_else(|| format!("no topology `{}`", recipe.0))?;
        let source = Source { name: format!("{}.weir", recipe.0), text: text.to_string() };
        let catalog = weir_core::catalog();
        weir_lang::compile_with(&source, &NoIncludes, catalog, &self.machine.shape, &[], &recipe.1)
            .map(|c| c.plan)
            .map_err(|all| all[0].to_string())
    }

    fn first(&self) -> Plan {
        self.plan(&self.now.borrow()).expect("sound")
    }
}

impl Composer for Names {
    fn compose(&self, verbs: &[Verb], _: Option<usize>) -> Result<Proposal, String> {
        let mut next = self.now.borrow().clone();
        for verb in verbs {
            match verb {
                Verb::Swap { topology } => next = (topology.clone(), Vec::new()),
                Verb::Instance { name, with } => {
                    let with = Source { name: "change".into(), text: with.clone() };
                    next.1.push(Edit::Instance { name: name.clone(), with });
                }
                Verb::Undo => next = self.before.borrow().clone().ok_or("nothing to undo")?,
                _ => {}
            }
        }
        let plan = Rc::new(self.plan(&next)?);
        *self.next.borrow_mut() = Some(next);
        Ok(Proposal { plan, source: String::new(), diff: String::new() })
    }

    fn accept(&self) -> Vec<String> {
        if let Some(next) = self.next.borrow_mut().take() {
            *self.before.borrow_mut() = Some(self.now.replace(next));
        }
        Vec::new()
    }

    fn reject(&self) {
        *self.next.borrow_mut() = None;
    }
}

/// When each task ran, as (from, to, CPU).
#[derive(Default)]
struct Runs {
    names: Vec<String>,
    since: BTreeMap<u32, (u64, u32)>,
    runs: Vec<Vec<(u64, u64, u32)>>,
}

impl Observer for Runs {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { name, .. } => {
                self.names.push(name.into());
                self.runs.push(Vec::new());
            }
            Event::Run { task, cpu, .. } => {
                assert!(self.since.insert(task, (t, cpu)).is_none(), "task {task} runs twice at {t}");
            }
            Event::Off { task, .. } => {
                let (from, cpu) = self.since.remove(&task).expect("it ran");
                self.runs[task as usize].push((from, t, cpu));
            }
            _ => {}
        }
    }
}

impl Runs {
    /// Time that a task ran within `from..to`.
    fn within(&self, task: usize, from: u64, to: u64) -> u64 {
        self.runs[task].iter().map(|(a, b, _)| (*b).min(to).saturating_sub((*a).max(from))).sum()
    }
}

fn task(name: &str, cpus: Option<CpuSet>) -> TaskSpec {
    let program = [Op::Loop { count: None }, Op::Run { ns: 100 * MS }, Op::LoopEnd];
    TaskSpec { cpus, ..TaskSpec::new(name, "", program) }
}

fn run(machine: &Machine, workload: &Workload, text: &str, names: &Names, ms: u64) -> (Outcome, Runs) {
    let file = scenario::parse("test", "test.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let mut runs = Runs::default();
    let control = Some(Control { scenario: &file.scenario, composer: names });
    let cfg = RunConfig { duration_ns: Some(ms * MS), checks: true, control, ..RunConfig::default() };
    let plan = names.first();
    let outcome = engine::run(machine, &plan, workload, &Costs::default(), &cfg, &mut runs)
        .unwrap_or_else(|e| panic!("{e}"));
    (outcome, runs)
}

fn two_of_four() -> Machine {
    let mut machine = Machine::smp(4);
    machine.shape.cpus[2].online = false;
    machine.shape.cpus[3].online = false;
    machine
}

const CPUS: &str =
    "annotate affinity; entry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> cpu };";
const GLOBAL: &str = "annotate affinity; entry -> policy :: round_robin(slice = 3ms) -> cpus;";
const GROW: &str = "
[[at]]
time = \"200ms\"
do = [\"cpu 2 online\", \"cpu 3 online\"]
[[at]]
time = \"600ms\"
do = [\"cpu 1 offline\", \"cpu 2 offline\", \"cpu 3 offline\"]
";

/// 2 -> 4 -> 1 CPUs (source 0, 5.6.2): bound tasks are withheld while their CPU is away, nothing is lost, and shares are even
/// again at the latest 60 ms after a change.
fn follows(text: &'static str, slack: u64) {
    let machine = two_of_four();
    let names = Names::new(&machine, &[("t", text)], "t");
    let bound: CpuSet = [3].into_iter().collect();
    let mut tasks: Vec<TaskSpec> = (0..12).map(|i| task(&format!("equal-{i}"), None)).collect();
    tasks.extend((0..2).map(|i| task(&format!("bound-{i}"), Some(bound.clone()))));
    let workload = Workload { name: "grow".into(), tasks, ..Workload::default() };
    let (outcome, runs) = run(&machine, &workload, GROW, &names, 1_000);
    assert_eq!((outcome.alive, outcome.reconfigurations.len()), (14, 2));
    for bound in [12, 13] {
        assert_eq!(runs.within(bound, 0, 200 * MS), 0, "withheld before its CPU came");
        assert!(runs.within(bound, 200 * MS, 260 * MS) > 0, "it runs soon after");
        assert_eq!(runs.within(bound, 601 * MS, 1_000 * MS), 0, "withheld after its CPU has gone");
        assert!(runs.runs[bound].iter().all(|r| r.2 == 3), "on its CPU only");
    }
    // Windows of steady state: every one of the equal tasks gets its share of what the bound ones leave.
    for (from, to, cpus) in [(60, 200, 2), (260, 600, 4), (660, 1_000, 1)] {
        let (from, to) = (from * MS, to * MS);
        let taken: u64 = (12..14).map(|t| runs.within(t, from, to)).sum();
        let share = ((to - from) * cpus - taken) / 12;
        for t in 0..12 {
            let got = runs.within(t, from, to);
            assert!(
                got.abs_diff(share) <= slack,
                "{from}..{to}: {} got {got}, its share is {share}",
                runs.names[t]
            );
        }
        let busy: u64 = (0..14).map(|t| runs.within(t, from, to)).sum();
        assert!(busy * 100 >= (to - from) * cpus * 97, "{from}..{to}: {cpus} CPUs are busy, not {busy} ns");
    }
}

#[test]
fn one_queue_follows_the_machine() {
    // Within three slices.
    follows(GLOBAL, 9 * MS);
}

#[test]
fn queues_of_cpus_follow_the_machine() {
    // The balancer evens counts out, not times: with 14 tasks on 4 queues some hold three, some four.
    follows(CPUS, 40 * MS);
}

#[test]
fn a_transaction_is_all_or_nothing() {
    let machine = Machine::smp(2);
    let names = Names::new(&machine, &[("cpus", CPUS), ("global", GLOBAL)], "cpus");
    let workload =
        Workload { name: "w".into(), tasks: vec![task("a", None), task("b", None)], ..Workload::default() };
    let text = "
[[at]]
time = \"10ms\"
do = [\"cpu 1 offline\", \"swap nowhere\"]
[[at]]
time = \"20ms\"
do = [\"swap global\", \"cpu 7 offline\"]
[[at]]
time = \"30ms\"
do = [\"cpu 0 offline\", \"cpu 1 offline\", \"swap global\"]
[[at]]
time = \"40ms\"
do = [\"swap global\", \"publish PRIORITY = 3 task nobody\"]
[[at]]
time = \"50ms\"
do = [\"swap global\", \"cpu 1 offline\"]
[[at]]
time = \"60ms\"
do = \"swap instance policy = fifo\"
";
    let (outcome, runs) = run(&machine, &workload, text, &names, 100);
    let changes: Vec<(bool, &str, u32)> =
        outcome.reconfigurations.iter().map(|r| (r.refused.is_none(), r.kind, r.represented)).collect();
    let no = (false, "none", 0);
    assert_eq!(changes, [no, no, no, no, (true, "topology", 0), (true, "instance", 1)]);
    let why: Vec<&str> = outcome.reconfigurations.iter().filter_map(|r| r.refused.as_deref()).collect();
    for (why, part) in why.iter().zip([
        "no topology `nowhere`",
        "no CPU 7",
        "no CPU that can run",
        "no task called `nobody`",
    ]) {
        assert!(why.contains(part), "{why}");
    }
    // Both CPUs worked until the one that was accepted.
    assert!(runs.within(0, 0, 50 * MS) > 49 * MS && runs.within(1, 0, 50 * MS) > 49 * MS);
    let last = &outcome.reconfigurations[5];
    assert_eq!((last.running, last.drained), (1, 0));
    assert_eq!(outcome.warnings.len(), 4);
}

#[test]
fn a_rule_waits_acts_rests_and_goes_back() {
    let machine = Machine::smp(2);
    let names = Names::new(&machine, &[("cpus", CPUS), ("global", GLOBAL)], "cpus");
    let busy = |name: &str, start: u64, ms: u64| TaskSpec {
        start_ns: Some(start),
        ..TaskSpec::new(name, "", [Op::Run { ns: ms * MS }])
    };
    let sleeper = TaskSpec::new("s", "", [Op::Sleep { ns: 900 * MS }]);
    // Four tasks from 100 to 200 ms on two CPUs, a short spell at 300 ms, then nothing.
    let mut tasks = vec![sleeper];
    tasks.extend((0..4).map(|i| busy(&format!("a{i}"), 100 * MS, 50)));
    tasks.extend((0..4).map(|i| busy(&format!("b{i}"), 300 * MS, 4)));
    let workload = Workload { name: "w".into(), tasks, ..Workload::default() };
    let text = "
[[rule]]
name = \"crowd\"
when = \"ready > 1\"
for = \"20ms\"
do = \"swap global\"
back = \"utilization < 20%\"
back_for = \"10ms\"
window = \"20ms\"
cooldown = \"30ms\"
";
    let (outcome, _) = run(&machine, &workload, text, &names, 1_000);
    let changes: Vec<(u64, &str, &str)> =
        outcome.reconfigurations.iter().map(|r| (r.at_ns / MS, r.cause.as_str(), r.to.as_str())).collect();
    // 20 ms after the crowd came; back when 20 ms were mostly idle and 10 ms more; the short spell is too short.
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert_eq!((changes[0].1, changes[0].2), ("rule crowd", "global"));
    assert!((120..=122).contains(&changes[0].0), "{changes:?}");
    assert_eq!((changes[1].1, changes[1].2), ("rule crowd, back", "cpus"));
    assert!((225..=232).contains(&changes[1].0), "{changes:?}");
}

#[test]
fn a_rule_without_a_way_back_acts_once_for_each_time() {
    let machine = Machine::smp(1);
    let names = Names::new(&machine, &[("global", GLOBAL)], "global");
    let workload = Workload { name: "w".into(), tasks: vec![task("a", None)], ..Workload::default() };
    let text = "
[[at]]
time = \"10ms\"
do = \"publish POWER = 1\"
[[at]]
time = \"400ms\"
do = \"publish POWER = 0\"
[[at]]
time = \"600ms\"
do = \"publish POWER = 1\"
[[rule]]
when = \"battery\"
do = \"swap instance policy = fifo\"
";
    let (outcome, _) = run(&machine, &workload, text, &names, 900);
    let times: Vec<u64> =
        outcome.reconfigurations.iter().filter(|r| r.cause == "rule 1").map(|r| r.at_ns / MS).collect();
    assert_eq!(times, [10, 600]);
}

fn islands(name: &str) -> Machine {
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    Machine::resolve(name, &none, &[]).unwrap_or_else(|e| panic!("{e}"))
}

const ISLANDS: &str = "annotate affinity;
each cpu { entry -> balancer :: load_balancer }
    ~> all each cpu { inbox :: task_mux -> round_robin(slice = 3ms) -> cpu };";

/// A task of CPU 0 forks one that only CPU 1 may run; gives how long the child waits for its first turn.
fn crossing(machine: &Machine) -> u64 {
    let names = Names::new(machine, &[("t", ISLANDS)], "t");
    let only = |c: u32| Some([c].into_iter().collect::<CpuSet>());
    let parent = [Op::Run { ns: MS }, Op::Fork { template: 1 }, Op::Run { ns: 5 * MS }];
    let tasks = vec![
        TaskSpec { cpus: only(0), ..TaskSpec::new("parent", "", parent) },
        TaskSpec { cpus: only(1), start_ns: None, ..TaskSpec::new("child", "", [Op::Run { ns: MS }]) },
    ];
    let workload = Workload { name: "cross".into(), tasks, ..Workload::default() };
    let mut runs = Runs::default();
    let cfg = RunConfig { checks: true, ..RunConfig::default() };
    engine::run(machine, &names.first(), &workload, &Costs::default(), &cfg, &mut runs)
        .unwrap_or_else(|e| panic!("{e}"));
    let child = runs.runs[1][0];
    assert_eq!(child.2, 1);
    let forked = runs.runs[0][0].0 + MS;
    assert!(child.0 > forked && child.0 < forked + 2 * MS, "{child:?} after {forked}");
    child.0 - forked
}

/// Source 0, 6.2: between CPUs without common memory a task is left in a mailbox, and the notification of the other side takes the time
/// of a message.
#[test]
fn between_islands_messages_take_time() {
    let islands = islands("cluster-2x1");
    let message = Costs::default().wakeup_ipi.domain;
    let (far, near) = (crossing(&islands), crossing(&Machine::smp(2)));
    assert!(far >= message && near < message, "{far} and {near} ns, a message takes {message} ns");
}

/// How long after CPU 0 raised its priority a task of CPU 1 gets that CPU.
fn raised(machine: &Machine) -> u64 {
    let text = "annotate affinity, priority;
each cpu { entry -> balancer :: load_balancer }
    ~> all each cpu { inbox :: task_mux -> priority_order -> cpu };";
    let names = Names::new(machine, &[("t", text)], "t");
    let cpus = || Some([1].into_iter().collect::<CpuSet>());
    let workload = Workload {
        name: "raise".into(),
        tasks: vec![task("a", cpus()), task("b", cpus())],
        ..Workload::default()
    };
    let raise = Notice { topic: Topic::Priority, cpu: None, task: Some(1), value: 9, value2: 0, mask: None };
    let scripted = vec![(10 * MS, Command::Notify(raise))];
    let cfg = RunConfig { duration_ns: Some(20 * MS), checks: true, scripted, ..RunConfig::default() };
    let mut runs = Runs::default();
    engine::run(machine, &names.first(), &workload, &Costs::default(), &cfg, &mut runs)
        .unwrap_or_else(|e| panic!("{e}"));
    let first = runs.runs[0][0];
    assert!(first.2 == 1 && first.1 >= 10 * MS, "{first:?}");
    first.1 - 10 * MS
}

/// Source 0, 6.2: what is published on one side reaches subscribers on the other in a message. `b` waits behind `a` at CPU 1;
/// CPU 0 learns that it is more urgent now.
#[test]
fn what_is_reported_on_one_island_reaches_the_others_later() {
    let islands = islands("cluster-2x1");
    let message = Costs::default().wakeup_ipi.domain;
    let (far, near) = (raised(&islands), raised(&Machine::smp(2)));
    assert!(far >= message && far < 2 * message && near < message / 2, "{far} and {near} ns");
}

/// Each side has annotators of its own, and the balancers of both learn what they need from remote messages.
#[test]
fn islands_share_no_annotator() {
    let islands = islands("cluster-2x2");
    let plan = Names::new(&islands, &[("t", ISLANDS)], "t").first();
    let copies: Vec<(&str, u32)> =
        plan.instances.iter().filter(|i| i.ins.is_empty()).map(|i| (i.name.as_str(), i.domain)).collect();
    assert_eq!(copies, [("affinity@domain0", 0), ("affinity@domain1", 1)]);
    // No instance has pipes to one of another domain except through a postponed pipe.
    let domain = |i: u32| plan.instances[i as usize].domain;
    let crossing = plan.pipes.iter().filter(|p| p.from.is_some_and(|(f, _)| domain(f) != domain(p.to.0)));
    assert!(crossing.clone().count() == 8 && crossing.into_iter().all(|p| p.postponed));
}

/// Source 0, 6.1.4: one CPU computes the schedule of all others and runs no task.
#[test]
fn a_core_may_do_nothing_but_schedule() {
    let mut machine = Machine::smp(4);
    (1..4).for_each(|c| machine.shape.cpus[c].host = Some(0));
    let text = "annotate affinity; leave cpu 0; entry -> load_balancer -> each cpu { round_robin(slice = 1ms) -> cpu };";
    let names = Names::new(&machine, &[("t", text)], "t");
    let tasks = (0..6).map(|i| task(&format!("t{i}"), None)).collect();
    let workload = Workload { name: "w".into(), tasks, ..Workload::default() };
    let mut runs = Runs::default();
    let cfg = RunConfig { duration_ns: Some(100 * MS), checks: true, ..RunConfig::default() };
    let outcome = engine::run(&machine, &names.first(), &workload, &Costs::default(), &cfg, &mut runs)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.cpus[0].busy_ns, 0);
    assert!(outcome.cpus[0].kernel_ns > 0 && outcome.scheduler_ns > 0);
    assert!(outcome.cpus[1..].iter().all(|c| c.busy_ns > 95 * MS), "{:?}", outcome.cpus);
    assert!((0..6).all(|t| runs.within(t, 0, 100 * MS) > 40 * MS));
}

/// What a scenario may not publish is refused where it is read; what this machine does not have, when it is due.
#[test]
fn messages_are_checked_at_the_border() {
    let read = |verb: &str| {
        let text = format!("[[at]]\ntime = \"1ms\"\ndo = \"publish {verb}\"\n");
        scenario::parse("s", "s.toml", &text).map(|f| f.scenario)
    };
    for verb in
        ["KICK = 0", "KICK = 4", "DISPATCH", "BLOCK", "RELINQUISH = 1", "EXIT task t0", "PRIORITY = 1"]
    {
        let e = read(verb).expect_err(verb);
        assert!(e.position() == Some((3, 6)) && e.help.is_some(), "{e}");
    }
    let machine = Machine::smp(2);
    let names = Names::new(
        &machine,
        &[("central", "annotate affinity, isa, lamport; entry -> fcfs -> cpus;")],
        "central",
    );
    let scenario = read("ISA = 7 task t0").expect("a message");
    let control = Control { scenario: &scenario, composer: &names };
    let cfg = RunConfig { duration_ns: Some(5 * MS), control: Some(control), ..RunConfig::default() };
    let tasks = vec![TaskSpec::new("t0", "", vec![Op::Run { ns: 4 * MS }])];
    let w = Workload { tasks, ..Workload::default() };
    let out = engine::run(&machine, &names.first(), &w, &Costs::zero(), &cfg, &mut ()).expect("it goes on");
    let why = out.reconfigurations[0].refused.as_deref().expect("refused");
    assert!(why.contains("no instruction set 7"), "{why}");
}

fn text_workload(text: &str) -> Workload {
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    Workload::resolve("w", 1, &none, &[("w.toml", text)]).unwrap_or_else(|e| panic!("{e}"))
}

/// A program asks for what it said; whoever asks where nobody answers is told so.
#[test]
fn a_program_publishes_and_requests_a_topic_that_nobody_foresaw() {
    #[derive(Default)]
    struct Replies(Vec<(String, u64)>);
    impl weir_core::event::Observer for Replies {
        fn event(&mut self, _: u64, event: &weir_core::event::Event<'_>) {
            if let weir_core::event::Event::Reply { topic, value, .. } = *event {
                self.0.push((topic.into(), value));
            }
        }
    }
    let workload = text_workload(
        "[[task]]\nname = \"a\"\nnice = -3\nprogram = \"request TENANT; publish TENANT tenant = 7; run 1ms; request TENANT; request PRIORITY\"\n",
    );
    let run = |topology: &str| {
        let mut seen = Replies::default();
        let out = crate::common::run_on(
            &Machine::smp(1),
            topology,
            &workload,
            &Costs::default(),
            RunConfig::default(),
            &mut seen,
        );
        (seen.0, out.unwrap_or_else(|e| panic!("{e}")))
    };
    let (seen, out) = run("annotate tenant, priority; entry -> fifo -> cpus;");
    assert_eq!(seen, [("TENANT".into(), 0), ("TENANT".into(), 7), ("PRIORITY".into(), 3)]);
    assert_eq!((out.warnings, out.alive), (Vec::<String>::new(), 0));
    let (seen, out) = run("entry -> fifo -> cpus;");
    assert_eq!(seen, []);
    assert!(out.warnings.iter().any(|w| w.contains("answers TENANT")), "{:?}", out.warnings);
}

/// Who waits for a topic uses it: the rule hears what a program says before any component has the topic.
#[test]
fn a_rule_uses_the_topics_that_it_waits_for() {
    const TENANTS: &str = "annotate affinity, tenant; entry -> tenant_split -> each part of 2 { load_balancer -> each cpu { round_robin -> cpu } };";
    let machine = Machine::smp(4);
    let names = Names::new(&machine, &[("cpus", CPUS), ("tenants", TENANTS)], "cpus");
    let workload = text_workload(
        r#"
        [[task]]
        name = "service"
        program = "run 3ms; loop { publish TENANT tenant = 1; run 1ms; sleep 1ms }"
        [[task]]
        name = "batch"
        count = 6
        program = "loop { run 7ms }"
        "#,
    );
    let text = "
[[rule]]
name = \"heard\"
when = \"TENANT = 1\"
for = \"0ms\"
do = \"swap tenants\"
";
    let (outcome, runs) = run(&machine, &workload, text, &names, 100);
    assert_eq!(outcome.warnings, Vec::<String>::new());
    let first = outcome.reconfigurations.first().expect("it acts");
    assert!(first.cause.contains("heard") && first.refused.is_none(), "{first:?}");
    assert!(first.at_ns >= 3 * MS && first.at_ns < 30 * MS, "{first:?}");
    let service = runs.names.iter().position(|n| n == "service").expect("there");
    let late: Vec<u32> = runs.runs[service].iter().filter(|r| r.0 >= 40 * MS).map(|r| r.2).collect();
    assert!(late.len() > 10 && late.iter().all(|c| *c >= 2), "it runs in its half: {late:?}");
}

/// A property that the core does not know, added while the scheduler runs: a program says TENANT before anybody has the topic
/// (a warning), and again after the swap to a topology that brings it along; from then on it runs in its tenant's half.
#[test]
fn a_property_that_nobody_foresaw_is_added_to_a_running_scheduler() {
    const TENANTS: &str = "annotate affinity, tenant; entry -> tenant_split -> each part of 2 { load_balancer -> each cpu { round_robin -> cpu } };";
    let machine = Machine::smp(4);
    let names = Names::new(&machine, &[("cpus", CPUS), ("tenants", TENANTS)], "cpus");
    let workload = text_workload(
        r#"
        [[task]]
        name = "service"
        program = "loop { run 1ms; publish TENANT tenant = 1; sleep 1ms }"
        [[task]]
        name = "batch"
        count = 6
        program = "loop { run 7ms }"
        "#,
    );
    let text = "
[[at]]
time = \"100ms\"
do = \"swap tenants\"
[[at]]
time = \"200ms\"
do = \"publish TENANT tenant = 1 task batch-5\"
";
    let (outcome, runs) = run(&machine, &workload, text, &names, 300);
    assert!(
        outcome.warnings.iter().any(|w| w.contains("`cpus` has the topic TENANT")),
        "{:?}",
        outcome.warnings
    );
    let cpus = |task: usize, from: u64, to: u64| -> std::collections::BTreeSet<u32> {
        runs.runs[task].iter().filter(|(a, b, _)| *a >= from * MS && *b <= to * MS).map(|r| r.2).collect()
    };
    let find = |name: &str| runs.names.iter().position(|n| n == name).expect("there");
    let (service, moved) = (find("service"), find("batch-5"));
    assert!(runs.within(service, 110 * MS, 300 * MS) > 40 * MS, "it runs");
    assert!(cpus(service, 110, 300).iter().all(|c| *c >= 2), "in its half");
    assert!(cpus(moved, 110, 200).iter().all(|c| *c < 2) && cpus(moved, 220, 300).iter().all(|c| *c >= 2));
    for other in (0..5).map(|i| find(&format!("batch-{i}"))) {
        assert!(cpus(other, 110, 300).iter().all(|c| *c < 2), "the others have the other half");
    }
}

/// A program's MARKER reaches rules, which change one instance at that very time; a rule that waits for what nobody publishes
/// is refused.
#[test]
fn a_programs_mark_changes_an_instance() {
    let machine = Machine::smp(1);
    let names = Names::new(&machine, &[("global", GLOBAL)], "global");
    let program = "run 5ms; marker 1; run 5ms; marker back 2; run 5ms";
    let of = |program: &str| text_workload(&format!("[[task]]\nname = \"a\"\nprogram = \"{program}\"\n"));
    let text = "
[[rule]]
name = \"forward\"
when = \"MARKER = 1\"
do = \"swap instance policy = fifo\"
[[rule]]
name = \"backward\"
when = \"MARKER = 2\"
do = \"swap instance policy = round_robin\"
";
    let (outcome, _) = run(&machine, &of(program), text, &names, 100);
    let changes: Vec<(u64, &str)> = outcome.reconfigurations.iter().map(|r| (r.at_ns / MS, r.kind)).collect();
    assert_eq!(changes, [(5, "instance"), (10, "instance")]);

    let file = scenario::parse("test", "test.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let control = Some(Control { scenario: &file.scenario, composer: &names });
    let cfg = RunConfig { duration_ns: Some(MS), checks: true, control, ..RunConfig::default() };
    let refused =
        engine::run(&machine, &names.first(), &of("run 5ms"), &Costs::default(), &cfg, &mut Runs::default());
    let refused = refused.expect_err("no program marks anything");
    assert!(refused.to_string().contains("nobody publishes MARKER"), "{refused}");
    for (never, part) in [("SLICE", "components ask for it"), ("DISPATCH", "all the time")] {
        let text = format!("[[rule]]\nname = \"r\"\nwhen = \"{never}\"\ndo = \"swap cpus\"\n");
        let refused = scenario::parse("test", "test.toml", &text).expect_err(never);
        assert!(refused.to_string().contains(part), "{refused}");
    }
}
