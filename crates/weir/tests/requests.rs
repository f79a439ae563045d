// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Requests of runs, of recordings, as an objective, and beside a replay.

use std::path::Path;

use weir::import::Mode;
use weir::{Explainer, ImportOptions, Told, Unwatched};

/// Every 50 ms `web` asks `db`; a hog is in the way of both.
const WORKLOAD: &str = r#"
[[task]]
name = "web"
policy = "fifo"
priority = 9
start = "1ms"
period = "50ms"
program = "run 1ms; write ask 1B; read answer 1B; run 1ms"
[[task]]
name = "db"
policy = "fifo"
priority = 8
program = ["read ask 1B; run 2ms; write answer 1B"]
loop = "forever"
[[task]]
name = "hog"
program = "run 2s"
"#;

/// Three requests to a service of two threads, the second behind a hog.
const RECORDING: &str = "\
<idle>-0 [000] d..2. 0.000500: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=40 next_prio=120
hog-40 [000] d.h3. 0.001000: sched_waking: comm=web-1 pid=20 prio=120 target_cpu=000
hog-40 [000] d..2. 0.001100: sched_switch: prev_comm=hog prev_pid=40 prev_prio=120 prev_state=R ==> next_comm=web-1 next_pid=20 next_prio=120
web-1-20 [000] d..3. 0.001110: tracing_mark_write: S|20|get|1
web-1-20 [000] d..3. 0.001200: sched_waking: comm=db pid=30 prio=120 target_cpu=000
web-1-20 [000] d..2. 0.001300: sched_switch: prev_comm=web-1 prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=40 next_prio=120
hog-40 [000] d..2. 0.001800: sched_switch: prev_comm=hog prev_pid=40 prev_prio=120 prev_state=R ==> next_comm=db next_pid=30 next_prio=120
db-30 [000] d..3. 0.001900: tracing_mark_write: F|20|get|1
db-30 [000] d..3. 0.001950: sched_waking: comm=logger pid=50 prio=120 target_cpu=000
db-30 [000] d..2. 0.002000: sched_switch: prev_comm=db prev_pid=30 prev_prio=120 prev_state=S ==> next_comm=logger next_pid=50 next_prio=120
logger-50 [000] d..2. 0.002100: sched_switch: prev_comm=logger prev_pid=50 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=40 next_prio=120
hog-40 [000] d.h3. 0.003000: sched_waking: comm=web-2 pid=21 prio=120 target_cpu=000
hog-40 [000] d..2. 0.003000: sched_switch: prev_comm=hog prev_pid=40 prev_prio=120 prev_state=R ==> next_comm=web-2 next_pid=21 next_prio=120
web-2-21 [000] d..2. 0.003250: sched_switch: prev_comm=web-2 prev_pid=21 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=40 next_prio=120
hog-40 [000] d..2. 0.004000: sched_switch: prev_comm=hog prev_pid=40 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
";

/// What is wrong, and the remedy.
fn words(fault: &weir::Fault) -> String {
    let remedy = |d: &weir::Diag| d.remedy().unwrap_or("").to_string();
    format!("{fault} {}", fault.diags.iter().map(remedy).collect::<String>())
}

fn told(text: &str) -> Told {
    Told::wakeups(text).expect("names")
}

fn file(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("the folder is ours");
    path.to_string_lossy().into_owned()
}

fn run(topology: &str, workload: &str) -> Explainer {
    let options = weir::RunOptions {
        topology: Some(topology.into()),
        setting: weir::Setting {
            machine: Some("smp-1".into()),
            workload: Some(workload.into()),
            costs: Some("zero".into()),
            duration_ns: Some(500_000_000),
            ..weir::Setting::default()
        },
        ..weir::RunOptions::default()
    };
    let prepared = weir::PreparedRun::new(&options).expect("all is there");
    Explainer::of(&prepared.trace(&Unwatched).expect("it runs"), "the run").expect("our own")
}

#[test]
fn of_a_run() {
    let dir = tempfile::tempdir().expect("there is room");
    let workload = file(dir.path(), "app.toml", WORKLOAD);
    // The hog comes last: a request takes what its steps take.
    let quiet = run("priority", &workload).requests(&told("web,db"), 2);
    let found = quiet.expect("they are there");
    assert_eq!((found.count, found.open, found.unseen), (10, 0, 0), "{found:#?}");
    let l = found.latency_ns;
    assert_eq!((l.min, l.max), (4_000_000, 4_000_000));
    let part = |name: &str, doing: &str| {
        found.parts.iter().find(|p| p.name == name && p.doing == doing).map_or(0, |p| p.mean_ns)
    };
    assert_eq!((part("web", "runs"), part("db", "runs")), (2_000_000, 2_000_000));
    // Round robin with the hog: the same work, and the rest is waiting.
    let found = run("decentral", &workload).requests(&told("web,db"), 2).expect("they are there");
    let sum: u64 = found.parts.iter().map(|p| p.mean_ns).sum();
    assert!(
        found.latency_ns.p99 > 4_000_000 && sum.abs_diff(found.latency_ns.mean) <= found.parts.len() as u64
    );
    assert!(found.slowest[0].text.contains("waits for a CPU"), "{}", found.slowest[0].text);
    assert_eq!(found.slowest.len(), 2);
    // Where the second thread is awake already as the first passes a request on, nothing wakes it: that is said.
    let busy = WORKLOAD.replace("start = \"1ms\"\n", "");
    let found = run("priority", &file(dir.path(), "busy.toml", &busy)).requests(&told("web,db"), 2);
    let found = found.expect("they are there");
    assert_eq!((found.latency_ns.min, found.stray), (1_000_000, 1));
    assert!(found.notes.iter().any(|n| n.contains("too short here")), "{:?}", found.notes);
}

#[test]
fn of_a_recording() {
    let run = Explainer::of(RECORDING.as_bytes(), "text").expect("a recording");
    let found = run.requests(&told("web,db"), 5).expect("they are there");
    assert_eq!((found.count, found.latency_ns.max, found.latency_ns.min), (2, 1_000_000, 250_000));
    assert_eq!(found.ends.iter().map(|e| (&*e.name, e.count)).collect::<Vec<_>>(), [("db", 1), ("web", 1)]);
    assert_eq!(
        found.slowest[0].text,
        "web-1 waits for a CPU (100 us), web-1 runs (100 us), db waits for a CPU (600 us), db runs (200 us)"
    );
    let note =
        |words: &str| assert!(found.notes.iter().any(|n| n.contains(words)), "{words}: {:#?}", found.notes);
    note("woken by requests and not followed: logger (1)");
    note("to be named, too: web,db,logger");
    note("the 99th percentile of 2 requests is the longest");
    let table = found.table(&weir_report::Screen::default());
    assert!(table.contains("2 requests: p50 250 us, p95 1 ms, p99 1 ms"), "{table}");
    // By the program's own word.
    let marks = run.requests(&Told::marks("get").expect("a name"), 1).expect("they are there");
    assert_eq!((marks.count, marks.latency_ns.max), (1, 790_000));
}

#[test]
fn what_is_not_there_is_said() {
    let run = Explainer::of(RECORDING.as_bytes(), "text").expect("a recording");
    let says = |told: &Told, part: &str| {
        let fault = words(&run.requests(told, 1).expect_err("there is none"));
        assert!(fault.contains(part), "{fault}");
    };
    says(&told("loger"), "did you mean `logger`?");
    says(&told("web,bd"), "begins with `bd`");
    says(&Told::marks("got").expect("a name"), "did you mean `get`?");
    says(&Told::marks("get..done").expect("names"), "no mark `done`");
    for text in ["", "web,", ",web"] {
        assert!(Told::wakeups(text).is_err(), "{text}");
    }
    for text in ["", "a..", "..b", "sdt:"] {
        assert!(Told::marks(text).is_err(), "{text}");
    }
    let probes = Told::marks("sdt_web:begin..sdt_web:end").expect("names");
    assert_eq!(probes, Told::Marks { begin: "begin".into(), end: "end".into() });
    let without: String =
        RECORDING.lines().filter(|l| !l.contains("mark_write")).fold(String::new(), |s, l| s + l + "\n");
    let run = Explainer::of(without.as_bytes(), "text").expect("a recording");
    let fault = words(&run.requests(&Told::marks("get").expect("a name"), 1).expect_err("none"));
    assert!(fault.contains("has no marks") && fault.contains("ftrace:print"), "{fault}");
}

#[test]
fn beside_the_replay_of_an_import() {
    let dir = tempfile::tempdir().expect("there is room");
    let recording = file(dir.path(), "trace.txt", RECORDING);
    for mode in [Mode::Verbatim, Mode::Fit] {
        let options = ImportOptions {
            file: recording.clone(),
            mode,
            requests: Some(told("web,db")),
            costs: "zero".into(),
            ..ImportOptions::default()
        };
        let done = weir::import(&options, &Unwatched).expect("a recording");
        assert_eq!(done.requests.as_ref().map(|r| r.count), Some(2));
        let again = done.fidelity.as_ref().and_then(|f| f.requests.as_ref()).expect("it was replayed");
        assert_eq!(again.count, 2, "{again:#?}");
        assert!(done.table(&weir_report::Screen::default()).contains("in the replay: 2, p50"));
    }
}

#[test]
fn as_an_objective() {
    let dir = tempfile::tempdir().expect("there is room");
    file(dir.path(), "app.toml", WORKLOAD);
    let spec = "machine = \"smp-1\"\nworkload = \"app.toml\"\ntopology = [\"decentral\", \"priority\"]\nduration = \"500ms\"\n\
                costs = \"zero\"\ntrials = 2\nseeds = 1\nheld_out = 2\n";
    let tune = |name: &str, more: &str| {
        weir::tune(&file(dir.path(), name, &format!("{spec}{more}")), false, Some(1), &Unwatched)
    };
    let found = tune("tune.toml", "requests = \"web,db\"\n").expect("it is right");
    assert_eq!(found.objectives[0].0, "requests.latency_ns.p99");
    assert_eq!(found.trials[1].objectives, [Some(4_000_000.0)]);
    let table = found.table(&weir_report::Screen::default());
    assert!(table.contains("2 trials on 1 seed each; judged on 2 other seeds, beside"), "{table}");
    assert!(found.trials[0].objectives[0] > Some(4_000_000.0), "{:?}", found.trials);
    let objective = "[[objective]]\nmetric = \"requests.latency_ns.p99\"\ngoal = \"min\"\n";
    let fault = words(&tune("lacks.toml", objective).expect_err("nobody said whose"));
    assert!(fault.contains("whose requests") && fault.contains("requests = \"web\""), "{fault}");
    let fault = words(&tune("wrong.toml", "requests = \"wep\"\n").expect_err("no such thread"));
    assert!(fault.contains("did you mean `web`"), "{fault}");
}
