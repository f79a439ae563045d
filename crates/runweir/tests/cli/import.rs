// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir import`.

use super::{good_in, json, runweir, runweir_in, temp};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-trace/tests/recordings");

#[test]
fn a_recording_becomes_a_workload_that_runs() {
    let dir = temp();
    for (file, mode) in
        [("hackbench-v7.dat", "--verbatim"), ("hackbench.perf.data", "--fit"), ("rt-app.ftrace.txt", "--fit")]
    {
        let file = format!("{FOLDER}/{file}");
        let table = good_in(dir.path(), &["import", &file, mode, "-o", "app.toml"]);
        assert!(table.contains("replayed under linux on smp-2") && table.contains("not seen:"), "{table}");
        let run =
            json(&good_in(dir.path(), &["run", "-t", "central", "-m", "smp-2", "-w", "app.toml", "--json"]));
        assert!(run["totals"]["busy_ns"].as_u64().expect("a number") > 0);
    }
}

#[test]
fn the_replay_has_the_work_of_the_recording() {
    let file = format!("{FOLDER}/hackbench-v6.dat");
    let dir = temp();
    let all = &json(&good_in(dir.path(), &["import", &file, "--json"]))["fidelity"]["all"];
    let of = |which: &str| all[which]["utilisation"].as_f64().expect("a number");
    let (recorded, replayed) = (of("recorded"), of("replayed"));
    assert!((recorded - 0.762).abs() < 0.001, "{recorded}");
    assert!((recorded - replayed).abs() < 0.06, "{recorded} {replayed}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("listable").count(), 0, "nothing is written without -o");
}

/// What runs here, recorded by ourselves, comes back with the same work.
#[test]
fn a_trace_of_our_own_comes_back() {
    let dir = temp();
    let args = [
        "run",
        "-t",
        "linux",
        "-m",
        "smp-2",
        "-w",
        "hackbench:groups=1,fds=2,loops=20",
        "--out",
        "out",
        "--json",
    ];
    let run = json(&good_in(dir.path(), &args));
    let imported = json(&good_in(dir.path(), &["import", "out", "-o", "back.toml", "--json"]));
    let again = &imported["fidelity"]["all"]["replayed"];
    let (want, is) = (run["totals"]["busy_ns"].as_f64(), again["cpu_ns"].as_f64());
    let (want, is) = (want.expect("a number"), is.expect("a number"));
    assert!((is / want - 1.0).abs() < 0.15, "{is} instead of {want}");
}

#[test]
fn a_span_and_pseudonyms() {
    let dir = temp();
    let file = format!("{FOLDER}/rt-app.ftrace.txt");
    good_in(
        dir.path(),
        &[
            "import",
            &file,
            "--anonymise",
            "--span",
            "100ms..600ms",
            "--no-fidelity",
            "-o",
            "a.toml",
            "--quiet",
        ],
    );
    let text = std::fs::read_to_string(dir.path().join("a.toml")).expect("written");
    assert!(
        text.contains("duration = \"500ms\"") && !text.contains("rt-app") && !text.contains("ticker"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_imported_is_refused() {
    let dir = temp();
    let v6 = std::fs::read(format!("{FOLDER}/hackbench-v6.dat")).expect("there");
    std::fs::write(dir.path().join("cut.dat"), &v6[..6000]).expect("writable");
    std::fs::write(dir.path().join("text.txt"), "hello\n").expect("writable");
    for (args, words) in [
        (vec!["import", "missing.dat"], "cannot read"),
        (vec!["import", "cut.dat", "-o", "x.toml"], "refers to byte 8192, but has only 6000"),
        (vec!["import", "text.txt", "-o", "x.toml"], "not a recording of a known format"),
        (vec!["import", "cut.dat", "--fit", "--verbatim"], "cannot be used with"),
        (vec!["import", "cut.dat", "--span", "5s..1s"], "ends before it begins"),
    ] {
        let ran = runweir_in(dir.path(), &args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
    assert!(!dir.path().join("x.toml").exists());
    let file = format!("{FOLDER}/hackbench-v6.dat");
    let ran = runweir(&["import", &file, "--machine", "smp-1"]);
    assert!(ran.status == 2 && ran.stderr.contains("has 2 CPUs"), "{}", ran.stderr);
}

/// What is not within its bound has a reason; a replay by other costs or another scheduler is another replay.
#[test]
fn the_table_says_what_is_true_and_why_the_rest_is_not() {
    let dir = temp();
    let file = format!("{FOLDER}/hackbench.perf.data");
    let import = |more: &[&str]| {
        let args = [&["import", file.as_str(), "--json"], more].concat();
        json(&good_in(dir.path(), &args))["fidelity"].clone()
    };
    let page = import(&[]);
    let verdicts = page["verdicts"].as_array().expect("a list");
    let names: Vec<&str> = verdicts.iter().filter_map(|v| v["figure"].as_str()).collect();
    assert_eq!(names, ["utilisation", "switches", "wakeup_p50", "wakeup_p99"]);
    for v in verdicts {
        let within = v["deviation_pct"].as_f64().expect("a number").abs()
            <= v["bound_pct"].as_f64().expect("a number");
        assert_eq!(v["within"], within, "{v}");
        assert_eq!(v["why"].as_array().expect("a list").is_empty(), within, "{v}");
    }
    assert_eq!(page["topology"], "linux");
    std::fs::write(dir.path().join("slow.toml"), "context_switch = \"50us\"\n").expect("writable");
    let slow = import(&["--costs", "slow.toml"]);
    let p50 = |page: &serde_json::Value| page["all"]["replayed"]["wakeup_p50_ns"].as_u64();
    assert!(p50(&slow) > p50(&page), "{slow}");
    let other = import(&["--under", "fifo"]);
    assert!(other["topology"] == "fifo" && other["all"]["replayed"] != page["all"]["replayed"], "{other}");
    let table = good_in(dir.path(), &["import", &file]);
    assert!(table.contains("within") && table.contains("utilisation"), "{table}");
}
