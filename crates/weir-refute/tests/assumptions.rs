// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What breaks an assumption is named, and leaves no positive verdict; what the workload says of waits is taken into account.

use std::io::Write as _;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use weir::Watch;
use weir::analyze::{Analysis, AnalyzeOptions, Question};
use weir_refute::Dice;

struct Nobody;
impl Watch for Nobody {}

fn options(topology: &str, machine: &str, workload: &str) -> AnalyzeOptions {
    AnalyzeOptions {
        strict: false,
        question: Question::Schedulability,
        topology: Some(topology.into()),
        machine: Some(machine.into()),
        workload: workload.into(),
        set: Vec::new(),
        costs: "zero".into(),
        seed: 1,
    }
}

fn analysis(topology: &str, machine: &str, workload: &str) -> Analysis {
    weir::analyze(&options(topology, machine, workload), &Nobody).expect("an analysis")
}

fn of_text(topology: &str, machine: &str, text: &str) -> Analysis {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("writable");
    analysis(topology, machine, &file.path().to_string_lossy())
}

fn test<'a>(json: &'a Value, id: &str) -> &'a Value {
    let tests = json["policies"][0]["tests"].as_array().expect("a list");
    tests.iter().find(|t| t["id"] == id).unwrap_or_else(|| panic!("no {id} in {json}"))
}

/// "At most 25 ms" stood beside a run of 51 ms.
#[test]
fn the_bus_of_pathfinder_is_bounded_with_its_mutex() {
    let found = analysis("fp", "smp-1", "pathfinder");
    let json = found.json();
    let rta = test(&json, "rta");
    assert_eq!(json["tasks"][0]["name"], "bus");
    assert_eq!((&rta["response_ns"][0], &rta["bound"]), (&65_000_000.into(), &"upper".into()));
    // Any number of messages may come before the weather task's deadline.
    assert_eq!(
        (&rta["response_ns"][1], &json["policies"][0]["verdict"]),
        (&Value::Null, &"not schedulable".into())
    );
    assert!(rta["remark"].as_str().is_some_and(|r| r.contains("`weather` grows without bound")), "{rta}");
    let text = found.text(&weir_report::Screen::default());
    assert!(text.contains("65.0 ms (125 ms)"), "{text}");
}

/// The set of the review: 6 ms of the less urgent task's section.
#[test]
fn a_section_makes_a_short_deadline_undecided() {
    let set = |protocol: &str| {
        format!(
            "mutexes = {{ m = \"{protocol}\" }}\n[[task]]\nname = \"high\"\nperiod = \"10ms\"\ndeadline = \"4ms\"\nprogram = \"lock m; run 1ms; unlock m\"\n\
             [[task]]\nname = \"low\"\nperiod = \"50ms\"\nprogram = \"lock m; run 6ms; unlock m\"\n"
        )
    };
    for topology in ["dm", "edf"] {
        for protocol in ["none", "inherit", "ceiling", "pcp"] {
            let found = of_text(topology, "smp-1", &set(protocol)).json();
            assert_eq!(found["policies"][0]["verdict"], "undecided", "{topology} {protocol}: {found}");
        }
    }
    let found = of_text("dm", "smp-1", &set("inherit")).json();
    assert_eq!(test(&found, "rta")["response_ns"][0], 7_000_000);
    let found = of_text("dm", "smp-1", &set("none")).json();
    assert_eq!(test(&found, "rta")["response_ns"][0], Value::Null);
    let found = of_text("dm", "smp-1", &set("ceiling").replace("6ms", "3ms")).json();
    assert_eq!(found["policies"][0]["verdict"], "schedulable", "{found}");
    // On two CPUs no test has locks.
    let found = of_text("dm", "smp-2", &set("ceiling").replace("6ms", "3ms")).json();
    assert_eq!(found["policies"][0]["verdict"], "undecided", "{found}");
}

/// Under the original ceiling tasks wait for each other although no mutex is taken by two of them: `pd2` was "schedulable", and missed a
/// deadline (set 5,735).
#[test]
fn ceilings_hold_up_tasks_with_mutexes_of_their_own() {
    let set = |protocol: &str| {
        format!(
            "mutexes = {{ m = \"{protocol}\", n = \"{protocol}\" }}\n[[task]]\nname = \"a\"\nperiod = \"4ms\"\noffset = \"1ms\"\nprogram = \"run 600us; lock m; run 500us; unlock m; run 900us\"\n\
             [[task]]\nname = \"b\"\nperiod = \"24ms\"\nprogram = \"run 2ms; lock n; run 1ms; unlock n; run 1ms\"\n"
        )
    };
    for topology in ["pd2", "llref", "u-edf"] {
        let found = of_text(topology, "smp-1", &set("pcp")).json();
        assert_eq!(found["policies"][0]["verdict"], "undecided", "{topology}: {found}");
        let found = of_text(topology, "smp-1", &set("inherit")).json();
        assert_eq!(found["policies"][0]["verdict"], "schedulable", "{topology}: {found}");
    }
    // Fixed priorities are the protocol's own order.
    let found = of_text("rm", "smp-1", &set("pcp")).json();
    assert_eq!(found["policies"][0]["verdict"], "schedulable", "{found}");
}

/// Lines of a task or a file, and the assumption that they break.
const BROKEN: &[(&str, &str, &str)] = &[
    ("waits", "program = \"run 1ms; io 4KiB\"", ""),
    ("waits", "program = \"run 500us; timer 3ms; run 1us\"", ""),
    ("waits", "program = \"run 1ms; barrier b\"", ""),
    ("waits", "program = \"run 1ms; read c 1\"", "[channels]\nc = \"4KiB\""),
    ("odd-locks", "program = \"lock m; sleep 1ms; unlock m; run 1ms\"", "[mutexes]\nm = \"inherit\""),
    ("odd-locks", "program = \"lock m; run 1ms\"", "[mutexes]\nm = \"ceiling\""),
    ("bare-locks", "program = \"lock m; run 1ms; unlock m\"", ""),
    ("affinity", "run = \"1ms\"\ncpus = [0]", ""),
    ("weights", "run = \"1ms\"\nweight = 4096", ""),
    ("yields", "program = \"run 500us; yield; run 500us\"", ""),
    ("memory", "program = \"run 1ms; mem 64KiB\"", ""),
    ("hotplug", "run = \"1ms\"", "[[machine_event]]\nat = \"1s\"\noffline = 0"),
    ("clocks", "run = \"1ms\"", "[[machine_event]]\nat = \"1s\"\ncpu = 0\nfrequency = \"1GHz\""),
    (
        "limits",
        "run = \"1ms\"\ngroup = \"g\"",
        "[[group]]\nname = \"g\"\nquota = \"1ms\"\nperiod = \"100ms\"",
    ),
];

#[test]
fn what_no_test_models_leaves_nothing_schedulable() {
    for (id, lines, more) in BROKEN {
        for (topology, machine) in
            [("edf", "smp-1"), ("dm", "smp-1"), ("edf", "smp-2"), ("p-edf", "smp-2"), ("llref", "smp-2")]
        {
            let text = format!("[[task]]\nname = \"a\"\ncount = 2\nperiod = \"50ms\"\n{lines}\n{more}\n");
            let found = of_text(topology, machine, &text);
            let json = found.json();
            assert_eq!(json["policies"][0]["verdict"], "undecided", "{id} under {topology}: {json}");
            let all = json["assumptions"].as_array().expect("a list");
            let broken = all.iter().find(|a| a["id"] == *id).unwrap_or_else(|| panic!("no {id}: {json}"));
            assert_eq!(broken["holds"], false, "{broken}");
            assert!(!broken["broken_by"].as_array().expect("a list").is_empty(), "{broken}");
            let Analysis::Schedulability(report) = &found else { panic!("another analysis") };
            // Elsewhere a test may have refused by itself.
            assert!(report.withheld() || topology != "edf" || id.ends_with("locks"), "{id} {topology}");
        }
    }
    // Without any of it the same set is fine.
    let plain =
        of_text("edf", "smp-1", "[[task]]\nname = \"a\"\ncount = 2\nperiod = \"50ms\"\nrun = \"1ms\"\n");
    assert_eq!(plain.json()["policies"][0]["verdict"], "schedulable");
    let Analysis::Schedulability(report) = plain else { panic!("another analysis") };
    assert!(!report.withheld());
}

/// A refusal needs its worst case to happen: jitter counts from before the deadline's release, and a last job, or a short one, is no flood.
#[test]
fn refusals_are_sure() {
    let verdict = |lines: &str| {
        let text = format!("[[task]]\nname = \"a\"\nperiod = \"10ms\"\n{lines}\n");
        of_text("edf", "smp-1", &text).json()["policies"][0]["verdict"].clone()
    };
    assert_eq!(verdict("run = \"2ms\"\njitter = \"9ms\""), "undecided");
    assert_eq!(verdict("run = \"2ms\"\ndeadline = \"1ms\""), "not schedulable");
    assert_eq!(verdict("run = \"2ms\"\ndeadline = \"1ms\"\njobs = 3"), "undecided");
    assert_eq!(verdict("wcet = \"2ms\"\nacet = \"500us\"\ndeadline = \"1ms\""), "undecided");
    // A program may compute for longer than it declares.
    assert_eq!(verdict("program = \"run 11ms\"\nwcet = \"1ms\""), "not schedulable");
}

/// `blocking` and a least gap are words of the workload.
#[test]
fn declared_sections_and_gaps_count() {
    let set = |more: &str| {
        format!(
            "[[task]]\nname = \"a\"\nperiod = \"10ms\"\nrun = \"4ms\"\n{more}\n[[task]]\nname = \"b\"\nperiod = \"20ms\"\nrun = \"6ms\"\n"
        )
    };
    let bound =
        |more: &str| test(&of_text("rm", "smp-1", &set(more)).json(), "rta")["response_ns"][0].clone();
    assert_eq!(bound(""), 4_000_000);
    assert_eq!(bound("blocking = \"3ms\""), 7_000_000);
    let judged = |more: &str| of_text("edf", "smp-1", &set(more)).json()["policies"][0]["verdict"].clone();
    assert_eq!(judged("blocking = \"3ms\""), "schedulable");
    assert_eq!(judged("blocking = \"7ms\""), "undecided");
    let found = analysis("rm", "smp-1", "periodic:tasks=2,util=20%,blocking=1ms").json();
    assert!(
        found["tasks"][0]["blocking_ns"] == 1_000_000 && found["policies"][0]["verdict"] == "schedulable",
        "{found}"
    );
    let sporadic =
        "[[task]]\nname = \"a\"\narrivals = \"poisson 30ms 10ms\"\ndeadline = \"10ms\"\nrun = \"4ms\"\n";
    let found = of_text("edf", "smp-1", sporadic).json();
    assert!(
        found["tasks"][0]["period_ns"] == 10_000_000 && found["policies"][0]["verdict"] == "schedulable",
        "{found}"
    );
    let dense = sporadic.replace(" 10ms\"\nd", "\"\nd")
        + "[[task]]\nname = \"b\"\nperiod = \"20ms\"\nrun = \"1ms\"\n";
    let found = of_text("edf", "smp-1", &dense).json();
    assert_eq!(found["policies"][0]["verdict"], "undecided", "{found}");
}

/// The paper's test of EDF-VD, and what a run may do to it.
#[test]
fn mixed_criticality_is_judged() {
    let set = |hi: u64, more: &str| {
        format!(
            "[[task]]\nname = \"low\"\nperiod = \"10ms\"\nrun = \"5ms\"\ncriticality = \"lo\"\n\
             [[task]]\nname = \"high\"\nperiod = \"20ms\"\nwcet = \"4ms\"\nwcet_hi = \"{hi}ms\"\ncriticality = \"hi\"\n{more}\n"
        )
    };
    let verdict = |text: &str| of_text("edf-vd", "smp-1", text).json()["policies"][0]["verdict"].clone();
    assert_eq!(verdict(&set(12, "")), "schedulable");
    assert_eq!(verdict(&set(17, "")), "undecided");
    assert_eq!(verdict(&set(12, "run = \"2ms..12ms\"")), "undecided");
}

/// 2,000 tasks on 64 CPUs took minutes, whatever the caller's time limit.
#[test]
fn it_ends_when_the_caller_says_so() {
    struct Ends(AtomicBool);
    impl Watch for Ends {
        fn stop(&self) -> &AtomicBool {
            &self.0
        }
    }
    let watch = Ends(AtomicBool::new(false));
    let options =
        AnalyzeOptions { topology: None, ..options("", "smp-64", "periodic:tasks=2000,util=60,umax=100%") };
    std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            watch.0.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let began = std::time::Instant::now();
        let found = weir::analyze(&options, &watch);
        assert!(found.is_err(), "it was quick");
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    });
}

/// Every draw of the refuter is a workload that can be read back.
#[test]
fn sets_are_workload_files() {
    let mut dice = Dice::new(7);
    for _ in 0..200 {
        let seed = dice.next(1 << 40);
        let set = weir_refute::Set::draw(seed);
        assert!(!set.workload(seed).tasks.is_empty());
    }
}
