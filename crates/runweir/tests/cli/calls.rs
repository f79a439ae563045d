// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `report --calls`: the call graph of a run, and what is said where there is none.

use std::fs;
use std::path::Path;

use super::{good_in, json, runweir_in, temp, with};

/// The sum of a number over a list's elements.
fn sum(list: &serde_json::Value, key: &str, is: impl Fn(&serde_json::Value) -> bool) -> u64 {
    let all = list.as_array().expect("a list").iter();
    all.filter(|v| is(v)).map(|v| v[key].as_u64().expect("a number")).sum()
}

fn graph(dir: &Path, args: &[&str]) -> serde_json::Value {
    json(&good_in(dir, &[&["report", "out", "--calls", "--json"], args].concat()))
}

#[test]
fn the_graph_agrees_with_the_summary() {
    let dir = temp();
    good_in(dir.path(), &with(&["--out", "out", "--quiet"]));
    let summary = json(&fs::read_to_string(dir.path().join("out/summary.json")).expect("written"));
    let g = graph(dir.path(), &[]);
    let total = summary["totals"]["scheduler_ns"].as_u64().expect("a number");
    assert!(total > 0);
    assert_eq!(g["scheduler_ns"], total);
    let parts = &g["parts"];
    assert_eq!(sum(parts, "own_ns", |_| true), total);
    assert_eq!(sum(parts, "total_ns", |p| p["kind"] == "call"), total);
    for call in summary["calls"].as_array().expect("a list").iter().filter(|c| c["count"] != 0) {
        let of = |p: &serde_json::Value| p["kind"] == "call" && p["name"] == call["call"];
        // Tasks that are there from the start are admitted for nothing.
        let free = if call["call"] == "admit" { 1 } else { 0 };
        let numbers = (sum(parts, "calls", of) + free, sum(parts, "total_ns", of));
        assert_eq!(
            numbers,
            (call["count"].as_u64().unwrap_or(0), call["ns"].as_u64().unwrap_or(0)),
            "{call}"
        );
    }
    // What a part takes with all that it calls, its callers spend there.
    for (i, part) in parts.as_array().expect("a list").iter().enumerate().filter(|(_, p)| p["kind"] != "call")
    {
        let here = |e: &serde_json::Value| e["to"] == i;
        assert_eq!(sum(&g["edges"], "ns", here), part["total_ns"].as_u64().unwrap_or(0), "{part}");
        assert_eq!(sum(&g["edges"], "calls", here), part["calls"].as_u64().unwrap_or(0), "{part}");
    }
    let names = |g: &serde_json::Value| -> Vec<String> {
        let all = g["parts"].as_array().expect("a list").iter();
        all.map(|p| p["name"].as_str().unwrap_or_default().to_string()).collect()
    };
    assert!(names(&g).contains(&"round_robin".to_string()), "{g}");
    assert!(names(&graph(dir.path(), &["--instances"])).contains(&"round_robin@cpu1".to_string()));
    let filtered = graph(dir.path(), &["--hide", "link", "--hide", "unlink", "--least", "5%"]);
    assert!(!names(&filtered).iter().any(|n| n.ends_with("link task")), "{filtered}");
    assert!(filtered["hidden"].as_u64() >= Some(2));
    assert_eq!(
        sum(&filtered["parts"], "total_ns", |p| p["name"] == "pick"),
        sum(parts, "total_ns", |p| p["name"] == "pick")
    );
}

#[test]
fn it_is_printed_and_drawn() {
    let dir = temp();
    good_in(dir.path(), &with(&["--out", "out", "--quiet"]));
    let table = good_in(dir.path(), &["report", "out", "--calls"]);
    for wanted in ["caller and part", "load_balancer > request AFFINITY", "of scheduler code in"] {
        assert!(table.contains(wanted), "{table}");
    }
    for (file, begin) in [("g.svg", "<svg"), ("g.dot", "digraph"), ("g.pdf", "%PDF")] {
        let said = runweir_in(dir.path(), &["report", "out", "--calls", "-o", file]);
        assert!(
            said.status == 0 && said.stdout.is_empty() && said.stderr.contains("written: "),
            "{}",
            said.stderr
        );
        assert!(fs::read(dir.path().join(file)).expect("written").starts_with(begin.as_bytes()), "{file}");
    }
}

/// One diagnostic with a remedy, and exit status 2.
fn refused(dir: &Path, args: &[&str], words: &[&str]) {
    let ran = runweir_in(dir, &[&["report"], args].concat());
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn what_has_no_graph_says_why() {
    let dir = temp();
    let run = |more: &[&str]| good_in(dir.path(), &with(&[&["--out", "out", "--quiet"], more].concat()));
    run(&["--trace", "none"]);
    assert!(dir.path().join("out/calls.json").exists());
    refused(dir.path(), &["out", "--calls", "-o", "g.gif"], &["`g.gif`", ".dot", "help: "]);
    refused(dir.path(), &["out", "--calls", "--least", "5"], &["--least", "100%"]);
    refused(dir.path(), &["out", "--hide", "link"], &["--calls"]);
    refused(dir.path(), &["out", "--calls", "--serve"], &["--serve"]);
    // Those of an earlier run do not stay beside a run that has none.
    run(&["--costs", "zero"]);
    assert!(!dir.path().join("out/calls.json").exists());
    refused(dir.path(), &["out", "--calls"], &["took no time", "--costs default"]);
    run(&[]);
    fs::write(dir.path().join("out/calls.json"), "{}").expect("writable");
    refused(dir.path(), &["out", "--calls"], &["has no sums of calls", "run … --out"]);
    fs::remove_file(dir.path().join("out/calls.json")).expect("there");
    refused(dir.path(), &["out", "--calls"], &["has no `calls.json`", "simulate again"]);
}

#[test]
fn several_runs_have_several_tables_and_no_common_graph() {
    let dir = temp();
    let args =
        ["compare", "-t", "central", "-t", "decentral", "-m", "smp-2", "-w", "hackbench:groups=1,loops=5"];
    good_in(dir.path(), &[&args[..], &["--out", "out", "-q"]].concat());
    let tables = good_in(dir.path(), &["report", "out", "--calls"]);
    assert!(
        tables.contains("calls of central on smp-2") && tables.contains("calls of decentral on smp-2"),
        "{tables}"
    );
    refused(dir.path(), &["out", "--calls", "--json"], &["there are 2 runs", "out/decentral"]);
}
