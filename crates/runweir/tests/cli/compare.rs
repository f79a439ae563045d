// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir compare`.

use super::{good, json, runweir};

const COMPARE: [&str; 9] =
    ["compare", "-t", "decentral", "-t", "central", "-m", "smp-2", "-w", "hackbench:groups=1,fds=4,loops=5"];

#[test]
fn runs_come_in_the_order_of_the_command_line() {
    let c = json(&good(&[&COMPARE[..], &["--seeds", "3", "--seed", "5", "--json"]].concat()));
    assert_eq!(c["topologies"], serde_json::json!(["decentral", "central"]));
    assert_eq!(c["seeds"], serde_json::json!([5, 6, 7]));
    let runs: Vec<(String, u64)> = c["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| (r["topology"].as_str().expect("a name").to_string(), r["seed"].as_u64().expect("a seed")))
        .collect();
    let wanted: Vec<(String, u64)> =
        ["decentral", "central"].iter().flat_map(|t| (5..8).map(move |s| (t.to_string(), s))).collect();
    assert_eq!(runs, wanted);
}

#[test]
fn a_run_in_a_comparison_is_the_run_alone() {
    let c = json(&good(&[&COMPARE[..], &["--json"]].concat()));
    let alone = ["run", "-t", "central", "-m", "smp-2", "-w", "hackbench:groups=1,fds=4,loops=5", "--json"];
    assert_eq!(c["runs"][1]["totals"], json(&good(&alone))["totals"]);
}

#[test]
fn the_table_names_every_topology() {
    let table = good(&COMPARE);
    assert!(table.contains("decentral") && table.contains("central"), "{table}");
}

#[test]
fn jobs_do_not_change_the_result() {
    let table = |jobs: &str| {
        let mut c = json(&good(&[&COMPARE[..], &["--seeds", "3", "--json", "--jobs", jobs]].concat()));
        for run in c["runs"].as_array_mut().expect("a list") {
            run["wall_ns"] = 0.into();
        }
        c
    };
    assert_eq!(table("1"), table("3"));
}

/// `hackbench` has nothing random, so no interval is an answer; work stealing's victims are random.
#[test]
fn seeds_that_change_nothing_are_named() {
    let alike = [&COMPARE[..], &["--seeds", "2"]].concat();
    let shown = good(&alike);
    assert!(shown.contains("every seed gave the same run"), "{shown}");
    let drawn = good(&[
        "compare",
        "-t",
        "central",
        "-t",
        "decentral",
        "-m",
        "smp-2",
        "-w",
        "periodic:tasks=3",
        "-d",
        "20ms",
        "--seeds",
        "2",
    ]);
    assert!(!drawn.contains("every seed gave the same run"), "{drawn}");
}

#[test]
fn one_name_twice_is_distinguished() {
    let c = json(&good(&[
        "compare",
        "-t",
        "central",
        "-t",
        "central",
        "-m",
        "smp-2",
        "-w",
        "compute:tasks=2",
        "--json",
    ]));
    assert_eq!(c["topologies"], serde_json::json!(["central", "central-2"]));
}

#[test]
fn one_topology_is_nothing_to_compare() {
    let ran = runweir(&["compare", "-t", "central", "-m", "smp-2", "-w", "compute:tasks=2"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("nothing to compare"), "{}", ran.stderr);
}
