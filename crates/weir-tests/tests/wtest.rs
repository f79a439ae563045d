// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Runs every `.wtest` beside a component. `WTEST=name` runs only files whose path contains `name`.

use std::path::{Path, PathBuf};

use weir_tests::wtest::{self, Outcome};

fn find(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, found);
        } else if path.extension().is_some_and(|e| e == "wtest") {
            found.push(path);
        }
    }
}

#[test]
fn all_files_pass() {
    let root = weir_tests::root();
    let mut files = Vec::new();
    find(&root.join("components"), &mut files);
    files.sort();
    let only = std::env::var("WTEST").unwrap_or_default();
    let (mut passed, mut skipped, mut failed) = (0, 0, Vec::new());
    for path in files.iter().filter(|p| p.to_string_lossy().contains(&only)) {
        let shown = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        match wtest::run(&std::fs::read_to_string(path).expect("the file is readable")) {
            Ok(Outcome::Passed) => passed += 1,
            Ok(Outcome::Skipped) => {
                println!("skipped: {shown}");
                skipped += 1;
            }
            Err(e) => failed.push(format!("{shown}: {e}")),
        }
    }
    println!("{}: {passed} passed, {skipped} skipped, {} failed", weir_tests::TARGET, failed.len());
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
    assert!(passed > 0 || !only.is_empty(), "no test was found");
}

#[test]
fn every_component_has_one() {
    let missing = wtest::missing_tests(&weir_tests::root());
    assert!(missing.is_empty(), "components without a .wtest beside them: {}", missing.join(", "));
}

/// The runner must not take a wrong file for a right one.
#[test]
fn wrong_files_are_refused() {
    let file = |script: &str| {
        format!(
            "%info\nx\n%topology\nentry -> head_queue -> cpus;\n%targets native strict bpf\n%script\n{script}\n"
        )
    };
    assert_eq!(wtest::run(&file("admit a\nexpect pipe entry: a")), Ok(Outcome::Passed));
    for (script, says) in [
        ("admit a\nexpect pipe entry: b", "expected b, there is a"),
        ("admit a\nexpect pipe entry: -", "expected nothing"),
        ("expect pipe nowhere: -", "no pipe"),
        ("pick 0 = a", "it is none"),
        ("block a", "no task `a`"),
        ("admit a\nadmit a", "state"),
        ("expect no message\nadmit a\npick 0\npick 0", "runs task"),
        ("expect message KICK 0", "there is: none"),
        ("frobnicate", "unknown statement"),
        ("deadline a 5", "unit of time"),
        ("expect error new a", "went well"),
        ("new a\nexpect PRIORITY a = 0", "nobody answers"),
    ] {
        let failure = wtest::run(&file(script)).expect_err(script);
        assert!(failure.to_string().contains(says), "{script}: {failure}");
    }
    for (text, says) in [
        ("hello", "begins with"),
        ("%info\nx\n%what\n", "unknown part"),
        ("%info\nx\n%info\n", "twice"),
        ("%info\nx\n", "missing"),
        ("%info\nx\n%topology\nentry -> nothing -> cpus;\n%script\nx\n%targets native strict bpf", "nothing"),
        ("%info\nx\n%topology\nentry -> head_queue -> cpus;\n%script\nx\n%targets fpga", "unknown target"),
        (
            "%info\nx\n%topology\nentry -> head_queue -> cpus;\n%machine big\n%script\nx\n%targets native strict bpf",
            "smp-",
        ),
    ] {
        let failure = wtest::run(text).expect_err(text);
        assert!(failure.to_string().contains(says), "{text}: {failure}");
    }
}
