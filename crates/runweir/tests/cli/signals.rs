// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Ctrl-C, closed pipes, terminals.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{json, program, temp};

/// A run that takes minutes if nobody ends it.
const LONG: [&str; 9] = ["run", "-t", "decentral", "-m", "smp-64", "-w", "compute:tasks=2000", "-d", "100m"];

fn signal(child: &Child, name: &str) {
    let status =
        Command::new("kill").args(["-s", name, &child.id().to_string()]).status().expect("kill is there");
    assert!(status.success());
}

/// Wait until the run's trace file is open: inputs are read by then, and the handler is installed.
fn wait_for_run(dir: &std::path::Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let mut entries = std::fs::read_dir(dir).expect("listable").filter_map(Result::ok);
        if entries.any(|e| e.path().join("trace.pftrace").exists()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the run did not begin");
}

#[test]
fn an_interrupted_run_keeps_its_results() {
    let dir = temp();
    let mut command = program(dir.path());
    command.args(LONG).args(["--json", "--out", "o"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    wait_for_run(dir.path());
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "INT");
    let output = child.wait_with_output().expect("ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let s = json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(s["interrupted"], true);
    for file in ["summary.json", "tasks.csv", "jobs.csv", "trace.pftrace", "report.html"] {
        assert!(dir.path().join("o").join(file).exists(), "{file}");
    }
}

/// A pipe without a writer: Ctrl-C set a flag that nobody looked at, and only SIGKILL helped.
#[test]
fn an_input_that_never_comes_can_be_interrupted() {
    let dir = temp();
    assert!(Command::new("mkfifo").arg(dir.path().join("pipe")).status().expect("mkfifo is there").success());
    for args in [&["import", "pipe"][..], &["sweep", "pipe", "--out", "o"]] {
        let mut command = program(dir.path());
        let mut child = command.args(args).stderr(Stdio::null()).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_millis(500));
        signal(&child, "TERM");
        let until = Instant::now() + Duration::from_secs(20);
        while child.try_wait().expect("a child").is_none() {
            if Instant::now() > until {
                signal(&child, "KILL");
                panic!("{args:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_reader_that_closes_early_is_no_error() {
    let mut child = program(temp().path())
        .args(["machines", "numa-4096", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        .spawn()
        .expect("the program starts");
    let mut first = [0; 16];
    child.stdout.take().expect("piped").read_exact(&mut first).expect("it writes");
    // The pipe is closed here, long before the text ends.
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
