// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir record`, with a stand-in for perf. Recording by the kernel's own tracing is tested in a guest (`tests/live/advise.sh`).

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Ran, program, runweir_in, temp};

/// A folder whose `trace-cmd` writes a recording, runs the command, and hands its status on.
fn tools(dir: &Path) -> std::path::PathBuf {
    let bin = dir.join("bin");
    std::fs::create_dir(&bin).expect("writable");
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-trace/tests/recordings/hackbench-v7.dat");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exit\nwhile [ $# -gt 0 ]; do\ncase $1 in\n-o) out=$2; shift 2;;\n-e|-b) shift 2;;\n-q|record) shift;;\n*) break;;\nesac\ndone\n[ \"$WRITES\" = no ] || cp '{recording}' \"$out\"\n\"$@\"\n"
    );
    let file = bin.join("trace-cmd");
    std::fs::write(&file, script).expect("writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("ours");
    bin
}

fn record(dir: &Path, bin: &Path, args: &[&str], writes: bool) -> Ran {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = program(dir);
    command.env("PATH", path).env("WRITES", if writes { "yes" } else { "no" });
    command.args(["record", "--with", "trace-cmd"]).args(args).output().expect("starts").into()
}

fn root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

#[test]
fn a_command_is_recorded_and_the_recording_can_be_imported() {
    let dir = temp();
    let bin = tools(dir.path());
    if !root() {
        let ran = record(dir.path(), &bin, &["--", "true"], true);
        assert!(ran.status == 2 && ran.stderr.contains("needs root"), "{}", ran.stderr);
        return;
    }
    let ran = record(dir.path(), &bin, &["-o", "a.dat", "--", "sh", "-c", "echo said"], true);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "said\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("next: runweir import a.dat"), "{}", ran.stderr);
    let import = runweir_in(dir.path(), &["import", "a.dat", "--no-fidelity", "-o", "a.toml", "--quiet"]);
    assert_eq!(import.status, 0, "{}", import.stderr);
    // An earlier recording stays unless it is to go.
    let ran = record(dir.path(), &bin, &["-o", "a.dat", "--", "true"], true);
    assert!(ran.status == 2 && ran.stderr.contains("--force"), "{}", ran.stderr);
    let ran = record(dir.path(), &bin, &["-o", "a.dat", "--force", "--duration", "10ms", "--quiet"], true);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    // The status of the command is reported; what it did is recorded all the same.
    let ran = record(dir.path(), &bin, &["-o", "b.dat", "--", "sh", "-c", "exit 3"], true);
    assert!(
        ran.status == 1 && ran.stderr.contains("status 3") && dir.path().join("b.dat").is_file(),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_tool_that_writes_nothing_leaves_nothing() {
    let dir = temp();
    let bin = tools(dir.path());
    if !root() {
        return;
    }
    let ran = record(dir.path(), &bin, &["-o", "a.dat", "--", "true"], false);
    assert!(ran.status == 1 && ran.stderr.contains("wrote no recording"), "{}", ran.stderr);
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).expect("listable").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["bin"]);
}

#[test]
fn without_a_tool_it_says_what_is_missing() {
    let dir = temp();
    let ran: Ran = program(dir.path())
        .env("PATH", "/nonexistent")
        .args(["record", "--with", "trace-cmd", "--", "true"])
        .output()
        .expect("starts")
        .into();
    assert!(ran.status == 2 && ran.stderr.contains("trace-cmd is not installed"), "{}", ran.stderr);
    let ran = runweir_in(dir.path(), &["record"]);
    assert!(
        ran.status == 2 && ran.stderr.contains("--duration") || ran.stderr.contains("COMMAND"),
        "{}",
        ran.stderr
    );
}
