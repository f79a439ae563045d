// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Real guests. They need QEMU, a kernel and some seconds each, so plain `cargo test` leaves them
//! out; `tools/test-vm.sh` runs them.
//!
//! A shell script stands in for the program in the guest: what is tested is the agreement between
//! the guest's first program and a scheduler, with all the ways in which schedulers misbehave.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_vm::cache::Cache;
use weir_vm::{ErrorKind, Files, Job, Layout, Outcome, Result, Sinks, Spec, kernel};

/// Collects what a channel brought.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("not poisoned")).into_owned()
    }
}

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Run `command` under a scheduler whose program is the shell script `live`.
fn run(live: &str, command: &str, layout: Layout) -> (Result<Outcome>, String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let program = dir.path().join("runweir");
    std::fs::write(&program, format!("#!/bin/sh\n{live}\n")).expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("executable");
    let cache = Cache::open().expect("a cache");
    let kernel = kernel::ensure(&cache, &|_| {}).expect("a kernel");
    let memory_mib = layout.default_memory();
    let spec = Spec { kernel, layout, memory_mib, kvm: false, icount: None };
    let job = Job {
        command: vec!["sh".into(), "-c".into(), command.into()],
        cwd: "/some/where".into(),
        topology: (!live.is_empty()).then(|| "some.weir".to_string()),
        only: true,
        record: true,
        runweir: Some(program),
        files: Files::default(),
        timeout: Duration::from_secs(60),
        ..Job::default()
    };
    let (out, log) = (Heard::default(), Heard::default());
    let sinks =
        Sinks { out: Box::new(out.clone()), err: Box::new(std::io::sink()), log: Box::new(log.clone()) };
    let outcome = weir_vm::run(&cache, &spec, &job, sinks, &AtomicBool::new(false));
    (outcome, out.text(), log.text())
}

fn flat(cpus: u32) -> Layout {
    Layout::flat(cpus).expect("possible")
}

/// A scheduler that behaves: says that it is attached, ends at a signal with a recording.
const GOOD: &str = r#"
[ "$*" = "live some.weir --only --record /rec" ] || { echo "called with $*" >&2; exit 2; }
trap 'echo "{}" >/rec/summary.json; echo detached >&2; exit 0' INT TERM
echo "attached some.weir to 2 CPUs" >&2
while :; do sleep 0.1; done"#;

#[test]
#[ignore = "boots a virtual machine; tools/test-vm.sh runs it"]
fn a_scheduler_frames_the_command() {
    let (outcome, out, log) = run(GOOD, "pwd; echo mine >$RUNWEIR_RECORD/mine; exit 3", flat(2));
    let outcome = outcome.expect("it ran");
    assert_eq!((outcome.status, outcome.live, outcome.left_early), (3, Some(0), false));
    assert_eq!(out, "/some/where\n");
    assert_eq!(log, "attached some.weir to 2 CPUs\ndetached\n");
    let names: Vec<&Path> = outcome.recordings.iter().map(|(p, _)| p.as_path()).collect();
    assert_eq!(names, [Path::new("mine"), Path::new("summary.json")]);
    assert!(
        outcome.dmesg.contains("Linux version") && outcome.complaints.is_empty(),
        "{:?}",
        outcome.complaints
    );
}

#[test]
#[ignore = "boots a virtual machine; tools/test-vm.sh runs it"]
fn a_scheduler_that_refuses_is_heard() {
    let (outcome, out, log) = run("echo 'error: no such pipe' >&2; exit 2", "echo never", flat(1));
    let outcome = outcome.expect("the guest itself is well");
    assert_eq!((outcome.live, outcome.left_early), (Some(2), true));
    assert_eq!((out.as_str(), log.as_str()), ("", "error: no such pipe\n"));
}

#[test]
#[ignore = "boots a virtual machine; tools/test-vm.sh runs it"]
fn a_scheduler_that_leaves_is_noticed() {
    let live = "echo attached >&2; sleep 1; echo 'watchdog: pipe q held a task' >&2; exit 1";
    let (outcome, out, log) = run(live, "echo one; sleep 3; echo two", flat(1));
    let outcome = outcome.expect("the guest itself is well");
    assert_eq!((outcome.status, outcome.live, outcome.left_early), (0, Some(1), true));
    assert_eq!(out, "one\ntwo\n");
    assert!(log.contains("watchdog: pipe q"), "{log}");
}

#[test]
#[ignore = "boots a virtual machine; tools/test-vm.sh runs it"]
fn much_output_and_large_recordings_arrive_whole() {
    let command = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 30000000 /dev/urandom >$RUNWEIR_RECORD/big; \
                   md5sum <$RUNWEIR_RECORD/big >$RUNWEIR_RECORD/sum";
    let (outcome, out, _) = run("", command, flat(1));
    let outcome = outcome.expect("it ran");
    assert!(out.len() == 3_000_000 && out.bytes().all(|b| b == b'x'), "{} bytes", out.len());
    let find = |name: &str| {
        let found = outcome.recordings.iter().find(|(p, _)| p == &PathBuf::from(name));
        found.map(|(_, bytes)| bytes.clone()).expect("recorded")
    };
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, find("big")).expect("written");
    let sum = std::process::Command::new("md5sum").stdin(file.reopen().expect("there")).output();
    assert_eq!(
        String::from_utf8_lossy(&sum.expect("md5sum runs").stdout),
        String::from_utf8_lossy(&find("sum"))
    );
}

#[test]
#[ignore = "boots a virtual machine; tools/test-vm.sh runs it"]
fn a_dead_guest_says_why() {
    let (outcome, ..) = run("", "echo c >/proc/sysrq-trigger; sleep 9", flat(1));
    let error = outcome.expect_err("it panicked");
    assert_eq!(error.kind, ErrorKind::Guest);
    assert!(error.message.contains("while the command was running; its kernel panicked: sysrq"), "{error}");
    assert!(error.log.is_some_and(|(name, text)| name == "console" && !text.is_empty()));
}
