// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir run`: the summary's fields, exit status, streams, defaults.

use serde_json::Value;

use super::{good, good_in, json, program, runweir, temp, with};

const DIST: [&str; 6] = ["min", "mean", "p50", "p95", "p99", "max"];
const TOTALS: [&str; 12] = [
    "jobs",
    "jobs_completed",
    "deadline_misses",
    "context_switches",
    "preemptions",
    "migrations",
    "decisions",
    "scheduler_ns",
    "lock_wait_ns",
    "idle_ns",
    "busy_ns",
    "energy_uj",
];

fn is_count(v: &Value, what: &str) {
    assert!(v.is_u64(), "{what} is not a count: {v}");
}

/// The models of real-time scheduling leave tasks out that compute for their whole period. The remark was printed twice, and
/// promised those that compute for longer that a CPU for themselves would do.
#[test]
fn a_job_that_takes_its_whole_period_is_warned_of_once() {
    let dir = temp();
    let behind = "falls further behind with every job";
    for (wcet, words) in [(9, ""), (10, "needs a CPU for itself"), (12, behind)] {
        let file = dir.path().join("w.toml");
        let text = format!("[[task]]\nname = \"a\"\nwcet = \"{wcet}ms\"\nperiod = \"10ms\"\n");
        std::fs::write(&file, text).expect("written");
        let run =
            runweir(&["run", "-t", "edf", "-m", "smp-1", "-d", "50ms", "-w", file.to_str().expect("UTF-8")]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let said = run.stderr.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        let times = said.matches("of each period").count();
        assert!(times == usize::from(wcet >= 10) && said.contains(words), "{wcet} ms: {said}");
    }
}

/// Every field of the contract is there and has its type.
fn check_summary(s: &Value) {
    for key in ["runweir", "topology", "machine", "workload"] {
        assert!(s[key].is_string(), "{key}: {}", s[key]);
    }
    for key in ["seed", "duration_ns", "wall_ns", "events"] {
        is_count(&s[key], key);
    }
    for key in TOTALS {
        is_count(&s["totals"][key], key);
    }
    let tasks = s["tasks"].as_array().expect("tasks is a list");
    assert!(!tasks.is_empty());
    for task in tasks {
        assert!(task["name"].is_string() && task["group"].is_string(), "{task}");
        for key in ["id", "jobs", "deadline_misses", "preemptions", "migrations", "cpu_ns", "wait_ns"] {
            is_count(&task[key], key);
        }
        for dist in ["response_ns", "wakeup_latency_ns"] {
            for key in DIST {
                is_count(&task[dist][key], key);
            }
        }
    }
    for cpu in s["cpus"].as_array().expect("cpus is a list") {
        for key in ["cpu", "busy_ns", "idle_ns", "scheduler_ns", "switches"] {
            is_count(&cpu[key], key);
        }
    }
}

#[test]
fn json_has_every_field_of_the_contract() {
    let ran = runweir(&with(&["--json"]));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let s = json(&ran.stdout);
    check_summary(&s);
    assert_eq!(s["runweir"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&s["topology"], &s["machine"]), (&"decentral".into(), &"smp-2".into()));
    assert_eq!(s["seed"], 1);
    assert_eq!(s["cpus"].as_array().expect("a list").len(), 2);
    assert!(s["wall_ns"].as_u64() > Some(0) && s["duration_ns"].as_u64() > Some(0));
    assert_eq!(s["interrupted"], false);
}

#[test]
fn the_first_command_of_the_contract_works() {
    let args = ["run", "--topology", "decentral", "--machine", "smp-8", "--workload"];
    let s = json(&good(&[&args[..], &["hackbench:groups=10,loops=100", "--json"]].concat()));
    check_summary(&s);
    assert!(s["tasks"].as_array().expect("a list").len() >= 400, "10 groups of 20+20 tasks");
    assert!(s["totals"]["context_switches"].as_u64() > Some(1_000));
}

/// A guest has a summary, tracks and a page of its own, and its time adds up with what the host gave to others.
#[test]
fn guests_have_reports_of_their_own() {
    let dir = temp();
    let args = ["run", "-t", "decentral", "-m", "smp-4", "-w", "virtual", "--duration", "50ms"];
    let s = json(&good_in(dir.path(), &[&args[..], &["--json", "--out", "o"]].concat()));
    let guest = &s["guests"][0];
    assert_eq!((&guest["name"], &guest["vcpus"][3]), (&"vm".into(), &"vm/cpu3".into()));
    assert_eq!(guest["run"]["tasks"].as_array().expect("a list").len(), 4);
    let stolen = guest["run"]["totals"]["stolen_ns"].as_u64().expect("a time");
    assert!(stolen > 10_000_000, "batch tasks of the host want the CPUs, too: {stolen}");
    for cpu in guest["run"]["cpus"].as_array().expect("a list") {
        let parts = ["busy_ns", "idle_ns", "scheduler_ns", "offline_ns", "stolen_ns"];
        assert_eq!(parts.iter().map(|p| cpu[p].as_u64().unwrap_or(0)).sum::<u64>(), 50_000_000, "{cpu}");
    }
    let read = |name: &str| std::fs::read_to_string(dir.path().join("o").join(name)).expect(name);
    assert!(read("report.html").contains("href=\"guest-vm.html\""));
    assert!(read("guest-vm.html").contains("server-0"));
    // A name of the guest's group of tracks, and of its tasks, stand in the trace.
    let trace = std::fs::read(dir.path().join("o/trace.pftrace")).expect("a trace");
    let has = |text: &str| trace.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has("vm: virtual CPUs, decentral") && has("server-0 #0") && has("not running (stolen)"));
    // Whoever reads traces of ours is not confused by tracks of guests.
    let text = good_in(dir.path(), &["explain", "o", "batch-0@20ms"]);
    assert!(text.contains("batch-0"), "{text}");
}

#[test]
fn the_same_seed_gives_the_same_summary() {
    let run = |seed: &str| {
        let mut s = json(&good(&[
            "run",
            "-t",
            "decentral",
            "-m",
            "smp-4",
            "-w",
            "hackbench:groups=2",
            "--json",
            "-s",
            seed,
        ]));
        s["wall_ns"] = 0.into();
        s.to_string()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"), "at least the seed is shown");
}

#[test]
fn the_table_goes_to_stdout_and_nothing_to_stderr() {
    let ran = runweir(&with(&[]));
    assert_eq!(ran.status, 0);
    assert!(ran.stdout.contains("decentral on smp-2"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
    assert!(!ran.stdout.contains('\u{1b}'), "no colours where no terminal is");
}

#[test]
fn quiet_prints_nothing() {
    let ran = runweir(&with(&["--quiet"]));
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let ran = runweir(&with(&["--quiet", "--json"]));
    check_summary(&json(&ran.stdout));
    assert_eq!(ran.stderr, "");
}

#[test]
fn duration_bounds_virtual_time() {
    let s = json(&good(&with(&["--duration", "100us", "--json"])));
    assert_eq!(s["duration_ns"], 100_000);
}

#[test]
fn zero_costs_are_free() {
    let s = json(&good(&with(&["--costs", "zero", "--json"])));
    assert_eq!((&s["totals"]["scheduler_ns"], &s["totals"]["lock_wait_ns"]), (&0.into(), &0.into()));
    let s = json(&good(&with(&["--json"])));
    assert!(s["totals"]["scheduler_ns"].as_u64() > Some(0));
}

#[test]
fn checks_do_not_change_the_result() {
    let totals = |more: &[&str]| json(&good(&with(&[more, &["--json"]].concat())))["totals"].to_string();
    assert_eq!(totals(&[]), totals(&["--checks"]));
}

#[test]
fn a_parameter_can_be_set() {
    let switches = |slice: &str| {
        let set = format!("round_robin.slice={slice}");
        let args =
            ["run", "-t", "decentral", "-m", "smp-1", "-w", "compute:tasks=4", "--json", "--set", &set];
        json(&good(&args))["totals"]["context_switches"].as_u64().expect("a count")
    };
    assert!(switches("200us") > switches("10ms"), "shorter slices switch more often");
}

/// rt-app's own duration counts where the command line has none, and the command line wins.
#[test]
fn a_file_may_bring_its_own_duration() {
    let dir = temp();
    let text = r#"{ "global": { "duration": 1 }, "tasks": { "t": { "run": 1000, "sleep": 9000 } } }"#;
    std::fs::write(dir.path().join("w.json"), text).expect("writable");
    let args = ["run", "-t", "decentral", "-m", "smp-1", "-w", "w.json", "--json"];
    assert_eq!(json(&good_in(dir.path(), &args))["duration_ns"], 1_000_000_000);
    let args = [&args[..], &["-d", "20ms"]].concat();
    assert_eq!(json(&good_in(dir.path(), &args))["duration_ns"], 20_000_000);
}

/// A SimSo file says how many processors it wants and how long it runs.
#[test]
fn a_simso_file_may_bring_its_machine() {
    let dir = temp();
    let text = r#"<?xml version="1.0"?>
<simulation duration="20000000" cycles_per_ms="1000000">
  <sched class="simso.schedulers.EDF" overhead="0" overhead_activate="0" overhead_terminate="0"/>
  <caches memory_access_time="100"/>
  <processors><processor name="A" id="1" cl_overhead="0" cs_overhead="0" speed="1.0"/>
    <processor name="B" id="2" cl_overhead="0" cs_overhead="0" speed="1.0"/></processors>
  <tasks><task name="t1" id="1" task_type="Periodic" abort_on_miss="no" period="5" activationDate="0"
    list_activation_dates="" deadline="5" base_cpi="1.0" instructions="0" mix="0.5" WCET="1" ACET="0"
    preemption_cost="0" et_stddev="0"/></tasks>
</simulation>"#;
    std::fs::write(dir.path().join("w.xml"), text).expect("writable");
    let s = json(&good_in(dir.path(), &["run", "-t", "decentral", "-w", "w.xml", "--json"]));
    assert_eq!(s["machine"], "smp-2");
    assert_eq!(s["duration_ns"], 20_000_000);
    assert_eq!(s["totals"]["jobs_completed"], 4);
}

#[test]
fn every_example_of_the_help_is_about_real_options() {
    let help = good(&["run", "--help"]);
    for option in [
        "--topology",
        "--machine",
        "--workload",
        "--duration",
        "--seed",
        "--set",
        "--costs",
        "--out",
        "--json",
        "--quiet",
    ] {
        assert!(help.contains(option), "{option}");
    }
    let top = good(&["--help"]);
    let commands: Vec<&str> =
        top.lines().filter_map(|l| l.strip_prefix("  ")?.split([' ', ',']).next()).collect();
    for present in ["run", "sweep", "reproduce", "analyze", "live", "vm"] {
        assert!(commands.contains(&present), "{present} is for users");
    }
    for absent in ["man", "docs"] {
        assert!(!commands.contains(&absent), "{absent} is not for users");
    }
}

/// A SimSo file's own processors and scheduler stand in for options that are left out.
#[test]
fn a_simso_file_brings_machine_and_scheduler() {
    let dir = temp();
    let file = |class: &str| {
        format!(
            r#"<simulation duration="100000000" cycles_per_ms="1000000"><sched class="{class}"/>
<processors><processor name="a" id="1"/><processor name="b" id="2"/></processors>
<tasks><task name="T" id="1" period="10" deadline="10" WCET="4"/></tasks></simulation>"#
        )
    };
    std::fs::write(dir.path().join("rm.xml"), file("simso.schedulers.RM")).expect("writable");
    let s = json(&good_in(dir.path(), &["run", "-w", "rm.xml", "--costs", "zero", "--json"]));
    assert_eq!((&s["topology"], &s["machine"]), (&"rm".into(), &"smp-2".into()));
    assert_eq!((&s["totals"]["jobs_completed"], &s["totals"]["deadline_misses"]), (&10.into(), &0.into()));
    std::fs::write(dir.path().join("odd.xml"), file("simso.schedulers.EKG")).expect("writable");
    let ran = super::runweir_in(dir.path(), &["run", "-w", "odd.xml"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("simso.schedulers.EKG") && ran.stderr.contains("--topology"),
        "{}",
        ran.stderr
    );
}

/// What docs/real-time.md says of its examples: a longer period makes a deadline be missed, and so do coarse slots.
#[test]
fn examples_of_real_time() {
    let misses = |args: &[&str]| {
        let all = [&["run", "--costs", "zero", "--json"], args].concat();
        json(&good(&all))["totals"]["deadline_misses"].as_u64().expect("a count")
    };
    assert_eq!(misses(&["rm", "-m", "smp-2", "-w", "anomaly"]), 0);
    assert_eq!(misses(&["rm", "-m", "smp-2", "-w", "anomaly-longer"]), 1);
    let slots = |tick: &str| {
        misses(&["edf-tick", "-m", "smp-1", "-w", "pogen", "--set", &format!("edf.tick={tick}")])
    };
    assert!(slots("1ms") > 0);
    assert_eq!(slots("100us"), 0);
}

/// The timer of `llf` with `defer` was due again before a task that was nearly done could run: its handler took longer than
/// the task had left, and the run ended with tasks that no CPU took.
#[test]
fn a_deferred_decision_leaves_time_to_choose() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = program(dir.path())
        .args(["run", "-t", "p-mllf", "-m", "smp-1", "--json", "-w"])
        .arg("periodic:tasks=200,util=60%,pmin=100ms,pmax=100ms,jobs=2")
        .output()
        .expect("starts");
    let totals = &json(&String::from_utf8_lossy(&out.stdout))["totals"];
    assert_eq!(totals["jobs_completed"], 400, "{}", String::from_utf8_lossy(&out.stderr));
}
