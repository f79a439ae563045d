// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Ten causes planted in runs, each to be found by `explain`, with the task or component that is to blame.

use std::path::Path;

use weir::explain::Explanation;
use weir::{Explainer, OutDir, PreparedRun, RunOptions, Setting, Unwatched};
use weir_trace::causes::Kind;

/// A run whose topology, workload and costs are texts.
struct Plant<'a> {
    topology: &'a str,
    machine: &'a str,
    workload: &'a str,
    costs: &'a str,
}

impl Plant<'_> {
    fn grow(&self, dir: &Path) -> Explainer {
        let file = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::write(&path, text).expect("the folder is ours");
            path.to_string_lossy().into_owned()
        };
        let topology = if self.topology.contains("->") {
            file("planted.weir", self.topology)
        } else {
            self.topology.into()
        };
        let costs = if self.costs.contains('=') { file("costs.toml", self.costs) } else { self.costs.into() };
        let options = RunOptions {
            topology: Some(topology),
            setting: Setting {
                machine: Some(self.machine.into()),
                workload: Some(file("app.toml", self.workload)),
                costs: Some(costs),
                ..Setting::default()
            },
            ..RunOptions::default()
        };
        let run = PreparedRun::new(&options).expect("the plant is right");
        let out = OutDir::prepare(&dir.join("out"), false).expect("the folder is ours");
        run.run(Some(&out), &Unwatched).expect("it runs");
        out.commit().expect("there is room");
        Explainer::open(dir.join("out")).expect("it was written just now")
    }
}

/// What `explain` says of the plant.
fn why(plant: &Plant, task: &str, at_us: u64) -> Explanation {
    let dir = tempfile::tempdir().expect("there is room");
    plant.grow(dir.path()).at(task, at_us * 1000).expect("the task is there")
}

#[track_caller]
fn expect(why: &Explanation, kind: Kind, at_least: f64) {
    assert_eq!(why.cause, kind, "{}\n{:#?}", why.text, why.causes);
    assert!(why.causes[0].share >= at_least, "{:?}: {}", why.causes, why.text);
}

/// Whether a step of this kind blames this one.
fn blames(why: &Explanation, kind: Kind, name: &str) -> bool {
    why.steps.iter().any(|s| s.kind == kind && s.other.as_ref().is_some_and(|o| o.name == name))
}

/// Low has the lock that high wants, and mid keeps low from the CPU.
#[test]
fn priority_inversion() {
    let workload = r#"
[[task]]
name = "low"
policy = "fifo"
priority = 1
program = ["lock m; run 5ms; unlock m; run 1ms"]
[[task]]
name = "mid"
policy = "fifo"
priority = 5
start = "1ms"
program = "run 20ms"
[[task]]
name = "high"
policy = "fifo"
priority = 9
start = "2ms"
program = "run 100us; lock m; run 1ms; unlock m"
"#;
    let why =
        why(&Plant { topology: "priority", machine: "smp-1", workload, costs: "default" }, "high", 10_000);
    expect(&why, Kind::Inversion, 0.7);
    assert_eq!(why.state, "blocked");
    assert!(blames(&why, Kind::Lock, "low") && blames(&why, Kind::Inversion, "mid"), "{}", why.text);
    assert!(why.text.contains("mutex m"), "{}", why.text);
}

/// Both are bound to CPU 0, while CPU 1 is idle.
#[test]
fn affinity() {
    let workload = r#"
[[task]]
name = "hog"
cpus = "0"
program = "run 10ms"
[[task]]
name = "bound"
cpus = "0"
start = "1ms"
program = "run 1ms"
"#;
    let plant = Plant {
        topology: "annotate affinity; entry -> load_balancer -> each cpu { round_robin(slice = 100ms) -> cpu };",
        machine: "smp-2",
        workload,
        costs: "default",
    };
    let why = why(&plant, "bound", 5_000);
    expect(&why, Kind::Affinity, 0.9);
    assert!(blames(&why, Kind::Affinity, "hog"), "{}", why.text);
    assert_eq!(why.steps[0].idle_cpu, Some(1), "{}", why.text);
}

/// The lock goes from one waiter to the next, each on a CPU of its own.
#[test]
fn lock_hand_over() {
    let workload = r#"
[[task]]
name = "first"
program = "lock m; run 3ms; unlock m"
[[task]]
name = "second"
start = "500us"
program = "lock m; run 4ms; unlock m"
[[task]]
name = "third"
start = "1ms"
program = "lock m; run 1ms; unlock m"
"#;
    let why =
        why(&Plant { topology: "decentral", machine: "smp-4", workload, costs: "default" }, "third", 2_000);
    expect(&why, Kind::Lock, 0.9);
    assert!(blames(&why, Kind::Lock, "first") && blames(&why, Kind::Lock, "second"), "{}", why.text);
    let held = |name: &str| {
        why.steps
            .iter()
            .filter(|s| s.depth == 0 && s.other.as_ref().is_some_and(|o| o.name == name))
            .map(|s| s.ns)
            .sum::<u64>()
    };
    assert!((1_900_000..2_200_000).contains(&held("first")), "{}", why.text);
    assert!((3_900_000..4_200_000).contains(&held("second")), "{}", why.text);
}

/// A server withholds a task whose budget is used up, on an idle machine.
#[test]
fn budget() {
    let workload = r#"
duration = "60ms"
[[task]]
name = "server"
period = "20ms"
wcet = "2ms"
run = "2ms"
[[task]]
name = "greedy"
policy = "deadline"
period = "20ms"
deadline = "20ms"
wcet = "2ms"
program = "run 5ms"
"#;
    let topology = "annotate affinity, job, cbs(hard = true); entry -> throttle -> edf -> cpus;";
    let why = why(&Plant { topology, machine: "smp-2", workload, costs: "default" }, "greedy", 10_000);
    expect(&why, Kind::Budget, 0.9);
    assert!(why.steps.iter().any(|s| s.instance.as_deref() == Some("throttle")), "{}", why.text);
}

/// Waking on the other node costs more than the work itself.
#[test]
fn migration() {
    let workload = r#"
[[task]]
name = "mover"
program = ["run 1ms", "cpus 1", "run 300us"]
"#;
    let costs = "[migration]\nllc = \"2ms\"\n";
    let why = why(&Plant { topology: "decentral", machine: "smp-2", workload, costs }, "mover", 2_000);
    expect(&why, Kind::Migration, 0.7);
    assert_eq!(why.cpu, Some(1));
}

/// The only CPU that could run it sleeps, and the interrupt takes long.
#[test]
fn interrupt() {
    let workload = r#"
[[task]]
name = "waker"
cpus = "0"
program = "run 1ms; write c 1B; run 5ms"
[[task]]
name = "sleeper"
cpus = "1"
program = "read c 1B; run 1ms"
"#;
    let costs = "[wakeup_ipi]\nllc = \"800us\"\n";
    let why = why(&Plant { topology: "decentral", machine: "smp-2", workload, costs }, "sleeper", 1_400);
    expect(&why, Kind::Interrupt, 0.9);
    assert_eq!(why.woken_by.as_ref().map(|w| &*w.name), Some("waker"), "{}", why.text);
}

/// It runs on a slow core while a fast one is idle.
#[test]
fn capacity() {
    let workload = r#"
[[task]]
name = "slow"
cpus = "20"
program = "run 10ms"
"#;
    let why = why(
        &Plant { topology: "decentral", machine: "hybrid-8p16e", workload, costs: "default" },
        "slow",
        5_000,
    );
    expect(&why, Kind::Capacity, 0.3);
    assert!(why.steps.iter().any(|s| s.kind == Kind::Capacity && s.idle_cpu.is_some()), "{}", why.text);
}

/// The group may use 5 ms in 50.
#[test]
fn group_limit() {
    let workload = r#"
duration = "200ms"
[[group]]
name = "web"
quota = "5ms"
period = "50ms"
[[task]]
name = "worker"
group = "web"
program = "run 40ms"
"#;
    let why =
        why(&Plant { topology: "groups", machine: "smp-1", workload, costs: "default" }, "worker", 40_000);
    expect(&why, Kind::GroupLimit, 0.9);
}

/// Members wait between the slots of their gang.
#[test]
fn gang() {
    let workload = r#"
duration = "200ms"
[[gang]]
group = "solver"
manifest = """
outside wait
B 1
H 20 80 20 0
"""
[[task]]
name = "member"
count = 2
group = "solver"
program = ["run 1ms", "phase 1", "run 100ms"]
"#;
    let dir = tempfile::tempdir().expect("there is room");
    let run = Plant { topology: "gang", machine: "smp-2", workload, costs: "default" }.grow(dir.path());
    let worst = run.worst(4, None).expect("waits");
    let found = worst.iter().find(|w| w.cause == Kind::Gang);
    assert!(
        found.is_some_and(|w| w.task.name.starts_with("member") && w.causes[0].share > 0.9),
        "{worst:#?}"
    );
}

/// A filter passes one task only, which cannot run: the next waits behind it, though its CPU is idle.
#[test]
fn a_component_that_withholds() {
    let workload = r#"
[[task]]
name = "first"
cpus = "0"
program = "run 9ms"
[[task]]
name = "second"
cpus = "0"
start = "1ms"
program = "run 1ms"
[[task]]
name = "third"
start = "2ms"
program = "run 1ms"
"#;
    let topology = "annotate affinity; entry -> round_robin(slice = 100ms) -> top(limit = 1) -> cpus;";
    let why = why(&Plant { topology, machine: "smp-2", workload, costs: "default" }, "third", 5_000);
    expect(&why, Kind::Withheld, 0.9);
    assert!(why.steps.iter().any(|s| s.what.as_deref() == Some("top")), "{}", why.text);
}

/// A cause that is none of these: others run first, and nothing is wrong.
#[test]
fn others_first_and_an_idle_cpu() {
    let workload = r#"
[[task]]
name = "hog"
program = "run 10ms"
[[task]]
name = "late"
start = "1ms"
program = "run 1ms"
"#;
    let first = Plant {
        topology: "entry -> round_robin(slice = 100ms) -> cpus;",
        machine: "smp-1",
        workload,
        costs: "zero",
    };
    let queued = why(&first, "late", 5_000);
    expect(&queued, Kind::Queue, 0.99);
    assert!(blames(&queued, Kind::Queue, "hog"));
    // The time that it ran has the same wait before it.
    let run = why(&first, "late", 10_500);
    assert_eq!((run.state, run.ns), ("running", 10_000_000), "{}", run.text);
    expect(&run, Kind::Queue, 0.89);
    // An idle CPU that it may use: tasks stay where they came in.
    let workload = r#"
[[task]]
name = "hog"
program = "fork late; run 10ms"
[[task]]
name = "late"
template = true
program = "run 1ms"
"#;
    let second = Plant {
        topology: "each cpu { entry -> round_robin(slice = 100ms) -> cpu };",
        machine: "smp-2",
        workload,
        costs: "zero",
    };
    let left = why(&second, "late", 5_000);
    expect(&left, Kind::Placement, 0.99);
    assert_eq!(left.steps[0].idle_cpu, Some(1), "{}", left.text);
}

/// A wait is named after its longest piece, not after the instant before its end: `waiter` waits for the lock for 24 ms, then
/// some microseconds for its CPU.
#[test]
fn a_wait_is_explained_as_a_whole() {
    let dir = tempfile::tempdir().expect("there is room");
    let workload = r#"
[[task]]
name = "holder"
program = "lock m; run 25ms; unlock m; run 100us"
[[task]]
name = "waiter"
start = "1ms"
program = "run 100us; lock m; run 1ms; unlock m"
"#;
    let run = Plant { topology: "decentral", machine: "smp-2", workload, costs: "default" }.grow(dir.path());
    let worst = run.worst(1, None).expect("waits").remove(0);
    let last = run.at("waiter", worst.to_ns - 1).expect("it waits");
    assert_eq!(
        (last.state, worst.state, &*worst.task.name),
        ("ready", "blocked", "waiter"),
        "{}",
        worst.text
    );
    assert!(worst.text.contains("`waiter` waited for mutex m"), "{}", worst.text);
    assert_eq!((last.from_ns, last.to_ns, last.causes), (worst.from_ns, worst.to_ns, worst.causes.clone()));
    let until = run.until("waiter", worst.to_ns, worst.ns).expect("it waits");
    assert_eq!((until.state, until.text), ("blocked", worst.text));
}

/// A cause of next to nothing is not the main one.
#[test]
fn a_long_run_has_no_main_cause() {
    let workload = "[[task]]\nname = \"alone\"\nprogram = \"run 50ms\"\n";
    let why = why(&Plant { topology: "fifo", machine: "smp-1", workload, costs: "default" }, "alone", 20_000);
    assert!(!why.text.contains("Main cause") && !why.text.contains("(0 %)"), "{}", why.text);
    assert!(why.text.contains("Nothing stood in its way"), "{}", why.text);
}

/// What the sums say: the causes of a wait account for its whole length, in a crowded run.
#[test]
fn causes_account_for_the_whole_wait() {
    let dir = tempfile::tempdir().expect("there is room");
    let workload = r#"
duration = "100ms"
[[task]]
name = "worker"
count = 12
loop = "forever"
program = ["run 200us..900us", "lock cache; run 100us..400us; unlock cache", "sleep 500us"]
"#;
    for topology in ["decentral", "priority", "central", "linux", "worksteal"] {
        let dir = dir.path().join(topology);
        std::fs::create_dir(&dir).expect("the folder is ours");
        let run = Plant { topology, machine: "smp-4", workload, costs: "default" }.grow(&dir);
        let worst = run.worst(50, None).expect("waits");
        assert_eq!(worst.len(), 50, "{topology}");
        for w in &worst {
            let sum: u64 = w.causes.iter().map(|c| c.ns).sum();
            assert_eq!(sum, w.ns, "{topology}: {:#?}", w);
            assert!(!w.text.is_empty() && w.steps.iter().all(|s| s.ns <= w.ns), "{topology}");
        }
        assert!(worst.windows(2).all(|p| p[0].ns >= p[1].ns), "{topology}: longest first");
        let unknown = worst.iter().filter(|w| w.cause == Kind::Unknown).count();
        assert_eq!(unknown, 0, "{topology}");
    }
}

/// `web` waits on CPU 0 behind a real-time thread while CPU 1 is idle; `moves` is what is recorded of its way there.
fn recorded(moves: &str) -> Explanation {
    let switch = |cpu: u32, at: &str, prev: &str, state: &str, next: &str| {
        let of = |t: &str| match t {
            "rt" => ("rt", 10, 49),
            "web" => ("web", 20, 120),
            "maker" => ("maker", 30, 115),
            _ => ("swapper", 0, 120),
        };
        let ((p, pid, prio), (n, next_pid, next_prio)) = (of(prev), of(next));
        format!(
            " {p}-{pid} [00{cpu}] d..2. 1.{at}: sched_switch: prev_comm={p} prev_pid={pid} prev_prio={prio} \
             prev_state={state} ==> next_comm={n} next_pid={next_pid} next_prio={next_prio}\n"
        )
    };
    let text = [
        "# tracer: nop\n".to_string(),
        switch(0, "000000", "idle", "R", "rt"),
        switch(1, "000000", "idle", "R", "maker"),
        " maker-30 [001] d..2. 1.001000: sched_waking: comm=web pid=20 prio=120 target_cpu=001\n".into(),
        moves.into(),
        switch(1, "001500", "maker", "S", "idle"),
        switch(0, "010000", "rt", "S", "web"),
        switch(0, "012000", "web", "S", "idle"),
    ];
    let dir = tempfile::tempdir().expect("there is room");
    let file = dir.path().join("trace.txt");
    std::fs::write(&file, text.concat()).expect("the folder is ours");
    let run = Explainer::open(&file).expect("it is a recording");
    run.at("web", 5_000_000).expect("the thread is there")
}

/// A recording knows the queue, the waker and priorities; that the idle CPU could be used it does not know, and yet it was said.
#[test]
fn a_recording_says_what_it_knows() {
    let why = recorded(
        " maker-30 [001] d..2. 1.001001: sched_migrate_task: comm=web pid=20 prio=120 orig_cpu=1 dest_cpu=0\n \
         maker-30 [001] d..2. 1.001002: sched_wakeup: comm=web pid=20 prio=120 target_cpu=000\n",
    );
    expect(&why, Kind::Queue, 0.99);
    assert_eq!(why.woken_by.as_ref().map(|t| &*t.name), Some("maker"));
    assert!(
        why.text.contains(
            "`web` waited in the queue of CPU 0 for 9.00 ms while `rt` (real-time priority 50) ran on CPU 0. \
             CPU 1 was idle, but whether `web` may run there is not recorded."
        ),
        "{}",
        why.text
    );
    // It stood on CPU 1 and went on on CPU 0: when it moved nobody wrote down.
    let why =
        recorded(" maker-30 [001] d..2. 1.001002: sched_wakeup: comm=web pid=20 prio=120 target_cpu=001\n");
    expect(&why, Kind::Queue, 0.99);
    assert!(!why.text.contains("in the queue"), "{}", why.text);
    assert!(why.text.contains("while `rt` (real-time priority 50) ran on CPU 0"), "{}", why.text);
}

/// Three threads called `py`: one is first seen as it runs at 4 s, without a wake-up before; it led the list of the longest
/// waits with 4 s. The names in the answers (`py #1`) were refused, and a name that many have was a dead end.
#[test]
fn no_wait_without_a_wakeup_and_names_as_they_are_written() {
    let switch = |at: &str, (p, pid): (&str, u32), state: &str, (n, next): (&str, u32)| {
        format!(
            " {p}-{pid} [000] d..2. {at}: sched_switch: prev_comm={p} prev_pid={pid} prev_prio=120 prev_state={state} ==> \
             next_comm={n} next_pid={next} next_prio=120\n"
        )
    };
    let wakes = |at: &str, pid: u32| {
        format!(" hog-9 [000] d..2. {at}: sched_waking: comm=py pid={pid} prio=120 target_cpu=000\n")
    };
    let text = [
        "# tracer: nop\n".to_string(),
        switch("1.000000", ("swapper", 0), "R", ("hog", 9)),
        wakes("1.001000", 21),
        wakes("1.002000", 22),
        switch("1.011000", ("hog", 9), "R", ("py", 21)),
        switch("1.012000", ("py", 21), "S", ("py", 22)),
        switch("1.013000", ("py", 22), "S", ("hog", 9)),
        switch("5.000000", ("hog", 9), "S", ("py", 23)),
        switch("5.001000", ("py", 23), "S", ("swapper", 0)),
    ];
    let run = Explainer::of(text.concat().as_bytes(), "trace.txt").expect("it is a recording");
    let worst = run.worst(10, None).expect("waits");
    assert!(worst.iter().all(|w| w.ns <= 11_000_000), "{worst:#?}");
    assert!(
        worst[0].notes.iter().any(|n| n.contains("first seen running, without a wake-up")),
        "{:?}",
        worst[0].notes
    );
    // The name of an answer is a name for a question.
    let first = worst.iter().find(|w| w.task.name.starts_with("py #")).expect("it waited");
    let again = run.at(&first.task.name, first.from_ns + 1).expect("as it is written");
    assert_eq!((again.task.id, again.from_ns), (first.task.id, first.from_ns));
    // Two of three wait at 5 ms; the one that waits longer answers.
    let one = run.at("py", 5_000_000).expect("one of them");
    assert!(
        one.ns >= 10_000_000
            && one.notes.iter().any(|n| n.contains("3 tasks are called `py`, 2 of them waited")),
        "{:?}",
        one.notes
    );
    assert!(
        run.at("py", 2_000_000_000)
            .expect_err("none of them waits then")
            .to_string()
            .contains("none of them waited")
    );
    // Groups.
    let of = run.worst(10, Some("py")).expect("some");
    assert!(!of.is_empty() && of.iter().all(|w| w.task.name.starts_with("py")));
    assert!(
        run.worst(1, Some("pz")).expect_err("no such name").diags[0]
            .remedy()
            .is_some_and(|h| h.contains("py"))
    );
}
