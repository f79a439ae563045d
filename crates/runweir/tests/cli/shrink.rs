// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir shrink`.

use super::{good_in, json, runweir_in, temp};

/// 400 tasks of which two cannot meet their deadlines together on the CPU that both are bound to.
#[test]
fn four_hundred_tasks_become_two() {
    let dir = temp();
    let mut text = String::from("duration = \"200ms\"\n");
    for i in 0..398 {
        text += &format!("[[task]]\nname = \"idle{i}\"\nperiod = \"100ms\"\nrun = \"10us\"\n");
    }
    for name in ["left", "right"] {
        text += &format!(
            "[[task]]\nname = \"{name}\"\ncpus = \"1\"\nperiod = \"10ms\"\nprogram = [\"run 3ms; sleep 100us; run 3ms\"]\n"
        );
    }
    std::fs::write(dir.path().join("big.toml"), text).expect("writable");
    let args = [
        "shrink",
        "-t",
        "p-edf",
        "-m",
        "smp-4",
        "-w",
        "big.toml",
        "--costs",
        "zero",
        "--fails",
        "tasks.left.deadline_misses > 0",
        "--out",
        "small",
        "--json",
    ];
    let done = json(&good_in(dir.path(), &args));
    let n = |side: &str, key: &str| done[side][key].as_u64().expect("a number");
    assert_eq!(n("before", "tasks"), 400);
    assert!((1..=9).contains(&n("after", "tasks")), "{done}");
    assert!(n("after", "duration_ns") < n("before", "duration_ns") && n("after", "cpus") == 2, "{done}");
    // The command says again what failed.
    let command: Vec<&str> =
        done["command"].as_str().expect("a text").split(' ').skip(1).chain(["--json"]).collect();
    let again = json(&good_in(&dir.path().join("small"), &command));
    let left =
        again["tasks"].as_array().expect("a list").iter().find(|t| t["name"] == "left").expect("the task");
    assert!(left["deadline_misses"].as_u64().expect("a number") > 0, "{again}");
}

#[test]
fn what_does_not_fail_is_not_shrunk() {
    let dir = temp();
    let base = [
        "shrink",
        "-t",
        "decentral",
        "-m",
        "smp-2",
        "-w",
        "hackbench:groups=1,fds=2,loops=5",
        "--out",
        "small",
        "--fails",
    ];
    for (fails, words) in [
        ("faults > 0", "the run does not fail"),
        ("faults", "has no comparison"),
        ("totals.jops > 0", "did you mean `jobs`"),
    ] {
        let ran = runweir_in(dir.path(), &[&base[..], &[fails]].concat());
        assert!(ran.status == 2 && ran.stderr.contains(words), "{fails}: {}", ran.stderr);
    }
    assert!(!dir.path().join("small").exists());
}

#[test]
fn programs_get_shorter() {
    let dir = temp();
    let args = [
        "shrink",
        "-t",
        "decentral",
        "-m",
        "smp-4",
        "-w",
        "hackbench:groups=2,fds=4,loops=20",
        "--out",
        "small",
        "--fails",
        "totals.context_switches > 20",
        "--json",
    ];
    let done = json(&good_in(dir.path(), &args));
    let n = |side: &str, key: &str| done[side][key].as_u64().expect("a number");
    assert!(n("after", "steps") < n("before", "steps") / 2 && n("after", "cpus") == 1, "{done}");
    assert!(done["value"].as_f64().expect("a number") > 20.0);
}
