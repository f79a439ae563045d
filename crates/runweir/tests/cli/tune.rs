// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir tune`.

use std::path::Path;

use super::{good_in, json, program, runweir_in, temp};

/// Long slices make wake-ups wait: the shortest is best.
const SPEC: &str = r#"
machine = "smp-1"
workload = "app.toml"
topology = ["slow.weir", "linux"]
duration = "300ms"
trials = 12
seeds = 1
held_out = 4
[[parameter]]
name = "round_robin.slice"
from = "500us"
to = "50ms"
scale = "log"
[[objective]]
metric = "groups.ui.wakeup_latency_ns.p99"
goal = "min"
[[constraint]]
metric = "totals.busy_ns"
min = "100ms"
"#;

fn prepare(dir: &Path, spec: &str) {
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("writable");
    write("tune.toml", spec);
    write("slow.weir", "annotate affinity; entry -> round_robin(slice = 50ms) -> cpus;");
    write(
        "app.toml",
        "[[task]]\nname = \"ui\"\nperiod = \"10ms\"\nrun = \"200us..400us\"\n\n[[task]]\nname = \"batch\"\ncount = 2\nloop = \"forever\"\nprogram = \"run 5ms..9ms\"\n",
    );
}

/// Equal runs have no interval, and confirm nothing: `± 0.0000` said that they did.
#[test]
fn a_workload_without_chance_has_no_interval() {
    let dir = temp();
    let spec = SPEC.replace("trials = 12", "trials = 3").replace("linux", "slow.weir");
    prepare(
        dir.path(),
        &spec.replace("topology = [\"slow.weir\", \"slow.weir\"]", "topology = \"slow.weir\""),
    );
    let fixed = "[[task]]\nname = \"ui\"\nperiod = \"10ms\"\nrun = \"300us\"\n\n[[task]]\nname = \"batch\"\ncount = 2\nloop = \"forever\"\nprogram = \"run 7ms\"\n";
    std::fs::write(dir.path().join("app.toml"), fixed).expect("writable");
    let text = good_in(dir.path(), &["tune", "tune.toml"]);
    assert!(text.contains("the workload does not depend on the seed"), "{text}");
    assert!(text.contains(" ms with every seed   gain ") && !text.contains('±'), "{text}");
    // Where chance has a part, the interval stands.
    prepare(dir.path(), &SPEC.replace("trials = 12", "trials = 2"));
    let text = good_in(dir.path(), &["tune", "tune.toml"]);
    assert!(text.contains(" ± ") && !text.contains("does not depend"), "{text}");
}

#[test]
fn a_better_configuration_is_found_and_judged_on_other_seeds() {
    let dir = temp();
    prepare(dir.path(), SPEC);
    let page = json(&good_in(dir.path(), &["tune", "tune.toml", "--out", "o", "--json", "--quiet"]));
    assert_eq!(page["trials"].as_array().expect("a list").len(), 12);
    let best = &page["front"][page["best"].as_u64().expect("a certain gain") as usize];
    let gain = &best["gains_pct"][0];
    assert!(gain["mean"].as_f64() > Some(30.0) && gain["ci95"].is_number(), "{best:#}");
    // The baseline beside itself gains nothing.
    assert_eq!(page["baseline"]["gains_pct"][0]["mean"], 0.0);
    let read = |name: &str| std::fs::read_to_string(dir.path().join("o").join(name)).expect("written");
    assert_eq!(json(&read("tune.json")), page);
    assert_eq!(read("trials.csv").lines().count(), 13);
    assert!(read("pareto.svg").starts_with("<svg"));
    // The same specification, the same answer, on one thread too.
    let again = good_in(dir.path(), &["tune", "tune.toml", "--jobs", "1", "--json", "--quiet"]);
    assert_eq!(json(&again), page);
}

#[test]
fn wrong_specifications_are_refused_before_the_first_run() {
    for (from, to, words) in [
        ("trials = 12", "trails = 12", "unknown field `trails`"),
        ("goal = \"min\"", "goal = \"less\"", "less"),
        ("groups.ui", "groups.iu", "did you mean"),
        ("round_robin.slice", "round_robin.slcie", "slice"),
        ("to = \"50ms\"", "to = \"100us\"", "not less than"),
        ("scale = \"log\"", "scale = \"cubic\"", "neither linear nor log"),
        ("min = \"100ms\"", "", "has no bound"),
        ("held_out = 4", "held_out = 1", "from 2 to"),
        ("app.toml", "none.toml", "none.toml"),
    ] {
        let dir = temp();
        prepare(dir.path(), &SPEC.replace(from, to));
        let ran = runweir_in(dir.path(), &["tune", "tune.toml", "--out", "o"]);
        assert!(ran.status == 2 && ran.stderr.contains(words), "{to}: {} {}", ran.status, ran.stderr);
        assert!(!dir.path().join("o/tune.json").exists());
    }
}

#[test]
fn an_interrupt_ends_with_what_was_found() {
    let dir = temp();
    prepare(dir.path(), &SPEC.replace("trials = 12", "trials = 100000").replace("\"300ms\"", "\"5s\""));
    let child = program(dir.path())
        .args(["tune", "tune.toml", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    std::thread::sleep(std::time::Duration::from_secs(3));
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill is there").success()
    );
    let ran: super::Ran = child.wait_with_output().expect("ends").into();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    if !ran.stdout.is_empty() {
        assert_eq!(json(&ran.stdout)["interrupted"], true);
    }
}
