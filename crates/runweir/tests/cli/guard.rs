// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir guard`.

use std::path::Path;
use std::process::Command;

use super::{json, runweir_in, temp};

const HEAD: &str = "machine = \"smp-2\"\nworkload = \"hackbench:groups=1,fds=2,loops=5\"\n";

fn spec(dir: &Path, checks: &str) {
    std::fs::write(dir.join("guard.toml"), format!("{HEAD}{checks}")).expect("writable");
}

#[test]
fn bounds_that_hold_and_bounds_that_do_not() {
    let dir = temp();
    spec(
        dir.path(),
        r#"
seeds = 2
topology = "decentral"
[[check]]
name = "few <switches>"
metric = "totals.context_switches"
max = 1
[[check]]
metric = "wakeup_latency_ns.p99"
max = "1s"
over = "max"
[[check]]
metric = "faults"
max = 0
"#,
    );
    let ran = runweir_in(dir.path(), &["guard", "guard.toml", "--junit", "out.xml"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.lines().any(|l| l.starts_with("few <switches>") && l.ends_with("FAILED"))
            && ran.stdout.contains("few <switches> failed: totals.context_switches, the mean of 2 seeds: ")
            && ran.stdout.contains("is more than 1"),
        "{}",
        ran.stdout
    );
    let again = runweir_in(dir.path(), &["guard", "guard.toml"]);
    assert_eq!(again.stdout, ran.stdout);
    let xml = std::fs::read_to_string(dir.path().join("out.xml")).expect("written");
    let document = roxmltree_like(&xml);
    assert_eq!(document, (3, 1), "{xml}");
    assert!(xml.contains("few &lt;switches&gt;"), "{xml}");
    let j = json(&runweir_in(dir.path(), &["guard", "guard.toml", "--json"]).stdout);
    assert_eq!((j["passed"].as_bool(), j["checks"][1]["passed"].as_bool()), (Some(false), Some(true)));
    assert_eq!(j["checks"][2]["value"].as_f64(), Some(0.0));
}

/// Test cases and failures.
fn roxmltree_like(xml: &str) -> (usize, usize) {
    (xml.matches("<testcase ").count(), xml.matches("<failure ").count())
}

#[test]
fn against_a_base() {
    let dir = temp();
    // A longer slice gives fewer preemptions: the shorter one exceeds it.
    let checks = |topology: &str, base: &str| {
        format!(
            "[[check]]\ntopology = \"{topology}\"\nbase = \"{base}\"\nmetric = \"totals.scheduler_ns\"\nmax_increase = \"0%\"\nmax_decrease = \"0%\"\n"
        )
    };
    spec(dir.path(), &checks("decentral", "decentral"));
    assert_eq!(runweir_in(dir.path(), &["guard", "guard.toml"]).status, 0);
    spec(dir.path(), &checks("decentral", "central"));
    let ran = runweir_in(dir.path(), &["guard", "guard.toml"]);
    assert!(ran.status == 1 && ran.stdout.contains("in the base, by"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn against_a_revision() {
    let dir = temp();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "commit.gpgsign=false",
        ]);
        let out = command.args(args).output().expect("git");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    };
    let topology = |slice: &str| {
        let text = format!("entry -> load_balancer -> each cpu {{ round_robin(slice = {slice}) -> cpu }};\n");
        std::fs::write(dir.path().join("my.weir"), format!("annotate affinity;\n{text}")).expect("writable");
    };
    git(&["init", "-q"]);
    topology("3ms");
    git(&["add", "my.weir"]);
    git(&["commit", "-qm", "one"]);
    let check = "[[check]]\ntopology = \"my.weir\"\nbase = \"git:HEAD\"\nmetric = \"totals.preemptions\"\nmax_increase = \"5%\"\n";
    std::fs::write(
        dir.path().join("guard.toml"),
        format!("machine = \"smp-1\"\nworkload = \"locks\"\nduration = \"200ms\"\n{check}"),
    )
    .expect("writable");
    let ran = runweir_in(dir.path(), &["guard", "guard.toml"]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    topology("100us");
    let ran = runweir_in(dir.path(), &["guard", "guard.toml"]);
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    let text =
        std::fs::read_to_string(dir.path().join("guard.toml")).expect("there").replace("HEAD", "nowhere");
    std::fs::write(dir.path().join("guard.toml"), text).expect("writable");
    let ran = runweir_in(dir.path(), &["guard", "guard.toml"]);
    assert!(ran.status == 2 && ran.stderr.contains("git:"), "{}", ran.stderr);
}

#[test]
fn wrong_specifications() {
    let dir = temp();
    for (checks, words) in [
        ("", "there is no [[check]]"),
        ("[[check]]\nmetric = \"totals.jobs\"\nmax = 1\n", "`topology` is missing"),
        ("[[check]]\ntopology = \"central\"\nmetric = \"totals.jobs\"\n", "it has no bound"),
        ("[[check]]\ntopology = \"central\"\nmetric = \"totals.jops\"\nmax = 1\n", "did you mean `jobs`"),
        ("[[check]]\ntopology = \"central\"\nmetric = \"totals.jobs\"\nmax = \"soon\"\n", "`soon`"),
        (
            "[[check]]\ntopology = \"central\"\nmetric = \"totals.jobs\"\nmax_increase = \"5%\"\n",
            "needs a `base`",
        ),
        (
            "[[check]]\ntopology = \"central\"\nmetric = \"totals.jobs\"\nmax = 1\nmost = 2\n",
            "unknown key `most`",
        ),
        ("[[check]]\ntopology = \"centrale\"\nmetric = \"totals.jobs\"\nmax = 1\n", "centrale"),
        (
            "seed = 3\n[[check]]\ntopology = \"central\"\nmetric = \"totals.jobs\"\nmax = 1\n",
            "unknown key `seed`",
        ),
        ("[[check]\n", "guard.toml"),
    ] {
        spec(dir.path(), checks);
        let ran = runweir_in(dir.path(), &["guard", "guard.toml", "--junit", "x.xml"]);
        assert!(ran.status == 2 && ran.stderr.contains(words), "{checks}: {} {}", ran.status, ran.stderr);
        assert!(!dir.path().join("x.xml").exists());
    }
}
