// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir explain`.

use super::{good_in, json, runweir_in, temp};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-trace/tests/recordings");

const INVERSION: &str = r#"
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

#[test]
fn a_run_is_explained_as_text_and_json() {
    let dir = temp();
    std::fs::write(dir.path().join("app.toml"), INVERSION).expect("writable");
    good_in(dir.path(), &["run", "priority", "-m", "smp-1", "-w", "app.toml", "--out", "results", "--quiet"]);
    let text = good_in(dir.path(), &["explain", "results", "high@10ms"]);
    for part in
        ["`high` waited for mutex m", "while `mid` ran on CPU 0", "priority inversion", "report.html#t="]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let why = json(&good_in(dir.path(), &["explain", "results", "high@10ms", "--json"]));
    assert_eq!((&why["cause"], &why["state"]), (&"inversion".into(), &"blocked".into()));
    let sum: u64 =
        why["causes"].as_array().expect("a list").iter().map(|c| c["ns"].as_u64().expect("a number")).sum();
    assert_eq!(Some(sum), why["ns"].as_u64());
    // A number is a name, too; the longest wait is this one.
    let same = json(&good_in(dir.path(), &["explain", "results/trace.pftrace", "#2@10ms", "--json"]));
    assert_eq!(same["steps"], why["steps"]);
    let worst = json(&good_in(dir.path(), &["explain", "results", "--worst", "2", "--json"]));
    assert_eq!(
        (worst[0]["from_ns"].clone(), worst[0]["task"].clone()),
        (why["from_ns"].clone(), why["task"].clone())
    );
    // The report understands the link.
    let page = std::fs::read_to_string(dir.path().join("results/report.html")).expect("it is there");
    assert!(page.contains("URLSearchParams(location.hash"));
}

/// Recordings of other tools are explained as far as they go.
#[test]
fn foreign_recordings() {
    let dir = temp();
    for file in ["hackbench.perf.data", "hackbench-v7.dat", "rt-app.ftrace.txt"] {
        let file = format!("{FOLDER}/{file}");
        let text = good_in(dir.path(), &["explain", &file, "--worst", "3"]);
        assert!(text.contains("  1. ") && text.contains("neither pipes nor locks"), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let dir = temp();
    good_in(
        dir.path(),
        &["run", "fifo", "-m", "smp-1", "-w", "hackbench:groups=1,fds=2,loops=2", "--out", "r", "--quiet"],
    );
    good_in(
        dir.path(),
        &[
            "run",
            "fifo",
            "-m",
            "smp-1",
            "-w",
            "hackbench:groups=1,fds=2,loops=2",
            "--out",
            "n",
            "--trace",
            "none",
            "--quiet",
        ],
    );
    for (args, part) in [
        (&["explain", "r", "web"][..], "names no time"),
        (&["explain", "r", "nobody@1ms"], "has no task `nobody`"),
        (&["explain", "r", "@1ms"], "names no task"),
        (&["explain", "r", "x@1parsec"], "in `x@1parsec`, `1parsec` behind the @ is not a time"),
        (&["explain", "r", "zzzzzzzzzz@1ms"], "--worst N lists those that waited longest"),
        (&["explain", "n", "x@1ms"], "has no trace.pftrace"),
        (&["explain", "gone", "x@1ms"], "cannot read `gone`"),
        (&["explain", "r", "#0@1h"], "is not a time"),
        (&["explain", "r", "#0@999s"], "not in the trace"),
    ] {
        let ran = runweir_in(dir.path(), args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(part) && ran.stderr.contains("help:"), "{args:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
}

/// Requests by wake-ups and by marks: a table, the same as JSON, and what is wrong with a name.
#[test]
fn requests() {
    let dir = temp();
    let recording = format!("{FOLDER}/rt-app.ftrace.txt");
    let text = good_in(dir.path(), &["explain", &recording, "--requests", "taker", "--worst", "2"]);
    for part in [" requests: p50 ", "taker runs", "longest:\n  1. ", "\n  2. ", "- by wake-ups: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("\n  3. "), "{text}");
    let found = json(&good_in(dir.path(), &["explain", &recording, "--requests", "taker", "--json"]));
    let sum: u64 = found["slowest"][0]["legs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|l| l["ns"].as_u64().expect("a number"))
        .sum();
    assert_eq!(Some(sum), found["latency_ns"]["max"].as_u64());
    let marked = "\
app-7 [000] d..2. 1.000000: sched_switch: prev_comm=x prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=app next_pid=7 next_prio=120
app-7 [000] d..3. 1.000100: tracing_mark_write: begin 1
app-7 [000] d..3. 1.000350: tracing_mark_write: end 1
app-7 [000] d..2. 1.000400: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=x next_pid=9 next_prio=120
";
    std::fs::write(dir.path().join("trace.txt"), marked).expect("writable");
    let text = good_in(dir.path(), &["explain", "trace.txt", "--marker", "begin..end"]);
    assert!(text.starts_with("1 request: p50 250 us"), "{text}");
    for (args, words) in [
        (["--requests", "takr"], "no task's name begins with `takr`"),
        (["--requests", "taker,"], "has an empty name"),
        (["--marker", "begin..end"], "the trace has no marks"),
        (["--marker", "begin.."], "does not name two marks"),
    ] {
        let run = runweir_in(dir.path(), &["explain", &recording, args[0], args[1]]);
        assert_eq!(run.status, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{args:?}: {}", run.stderr);
    }
}
