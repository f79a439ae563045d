// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Wrong command lines and files: exit status 2, nothing on stdout, and words that help.
//!
//! The snapshots are the diagnostics; read them when they change.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{runweir_in, temp};

/// Run each command line; all must end with status 2 and print nothing on stdout.
fn refused(dir: &Path, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let args: Vec<&str> = line.split_whitespace().map(|w| if w == "''" { "" } else { w }).collect();
        let ran = runweir_in(dir, &args);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "runweir {line}\n{}", ran.stderr);
        assert!(ran.stderr.len() > 20, "runweir {line}: no words");
        let _ = write!(text, "$ runweir {line}\n{}\n\n", ran.stderr.trim_end());
    }
    text
}

macro_rules! snapshot {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $text);
        });
    };
}

#[test]
fn options() {
    let dir = temp();
    let lines = [
        "frobnicate",
        "runn -t decentral",
        "run",
        "run -t decentral -w hackbench",
        "run -t decentral -m smp-2",
        "run -m smp-2 -w hackbench",
        "run -t decentral -m smp-2 -w hackbench --duration 2",
        "run -t decentral -m smp-2 -w hackbench --duration 2h",
        "run -t decentral -m smp-2 -w hackbench --duration -2s",
        "run -t decentral -m smp-2 -w hackbench --duration 0s",
        "run -t decentral -m smp-2 -w hackbench --seed x",
        "run -t decentral -m smp-2 -w hackbench --seed -1",
        "run -t decentral -m smp-2 -w hackbench --sed 1",
        "run -t decentral -m smp-2 -w hackbench --force",
        "run -t decentral -t central -m smp-2 -w hackbench",
        "compare -m smp-2 -w hackbench",
        "compare -t central -m smp-2 -w hackbench",
        "compare -t central -t decentral -m smp-2 -w hackbench --seeds 0",
        "compare -t central -t decentral -m smp-2 -w hackbench --seed 18446744073709551615 --seeds 2",
        "compare -t central -t decentral -m smp-2 -w hackbench --jobs 0",
        "check",
        "graph",
        "graph decentral -o x.gif",
        "graph decentral --format gif",
        "fmt",
        "completions csh",
    ];
    snapshot!("options", refused(dir.path(), &lines));
}

#[test]
fn names() {
    let dir = temp();
    let lines = [
        "run -t decentrl -m smp-2 -w hackbench",
        "run -t '' -m smp-2 -w hackbench",
        "run -t quux -m smp-2 -w hackbench",
        "run -t decentral -m smp -w hackbench",
        "run -t decentral -m smp-0 -w hackbench",
        "run -t decentral -m smp-5000 -w hackbench",
        "run -t decentral -m epcy-64 -w hackbench",
        "run -t decentral -m '' -w hackbench",
        "run -t decentral -m smp-2 -w hackbensh",
        "run -t decentral -m smp-2 -w hackbench:groups=0",
        "run -t decentral -m smp-2 -w hackbench:gruops=1",
        "run -t decentral -m smp-2 -w hackbench:groups",
        "run -t decentral -m smp-2 -w ''",
        "run -t decentral -m smp-2 -w hackbench --costs free",
        "check decentrl",
        "graph decentrl",
        "components rund_robin",
        "topologies decentrall",
        "machines epcy-64",
        "workloads hackbensh",
    ];
    snapshot!("names", refused(dir.path(), &lines));
}

#[test]
fn parameters() {
    let dir = temp();
    let lines = [
        "run -t decentral -m smp-2 -w hackbench --set slice=1ms",
        "run -t decentral -m smp-2 -w hackbench --set round_robin.slice",
        "run -t decentral -m smp-2 -w hackbench --set round_robin.slice=",
        "run -t decentral -m smp-2 -w hackbench --set =",
        "run -t decentral -m smp-2 -w hackbench --set round_robin.slice=5",
        "run -t decentral -m smp-2 -w hackbench --set round_robin.slice=1h",
        "run -t decentral -m smp-2 -w hackbench --set round_robin.slcie=1ms",
        "run -t decentral -m smp-2 -w hackbench --set rund_robin.slice=1ms",
        "run -t decentral -m smp-2 -w hackbench --set round_robin.slice=1ns",
        "check decentral --set fcfs.slice=1ms",
    ];
    snapshot!("parameters", refused(dir.path(), &lines));
}

#[test]
fn files() {
    let dir = temp();
    let write = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).expect("writable");
    fs::create_dir(dir.path().join("folder")).expect("writable");
    fs::create_dir(dir.path().join("folder.weir")).expect("writable");
    fs::create_dir(dir.path().join("folder.json")).expect("writable");
    write("latin1.weir", b"// caf\xe9\nentry -> cpus;\n");
    write("empty.weir", b"");
    write("empty.xml", b"");
    write("empty.json", b"");
    write("empty.toml", b"");
    write("broken.weir", b"entry -> load_balancer ->\n  each cpu { round_robin(slice = 3ms -> cpu };\n");
    write("broken.xml", b"<topology version=\"2.0\"><object type=\"Machine\"></topology>");
    write("broken.json", b"{ \"tasks\": { \"t\": { \"run\": \"soon\" } } }");
    write("broken.toml", b"[[task]\nname = 1\n");
    write("workload.yaml", b"tasks: []\n");
    write("plain", b"not a folder\n");
    // A hole needs no disk.
    fs::File::create(dir.path().join("huge.json")).and_then(|f| f.set_len(65 << 20)).expect("writable");
    let lines = [
        "check ./decentral",
        "check decentral.weir",
        "check no/such.weir",
        "check folder.weir",
        "check folder/",
        "check latin1.weir",
        "check empty.weir",
        "check broken.weir",
        "check -m empty.xml decentral",
        "check -m broken.xml decentral",
        "check -m empty.toml decentral",
        "check -m broken.toml decentral",
        "check -m missing.xml decentral",
        "run -t decentral -m smp-2 -w empty.json",
        "run -t decentral -m smp-2 -w broken.json",
        "run -t decentral -m smp-2 -w empty.xml",
        "run -t decentral -m smp-2 -w broken.toml",
        "run -t decentral -m smp-2 -w missing.json",
        "run -t decentral -m smp-2 -w folder.json",
        "run -t decentral -m smp-2 -w huge.json",
        "run -t decentral -m smp-2 -w workload.yaml",
        "run -t decentral -m smp-2 -w ./folder",
        "run -t decentral -m smp-2 -w hackbench --costs missing.toml",
        "run -t decentral -m smp-2 -w hackbench --costs broken.toml",
        "run -t decentral -m smp-2 -w hackbench --out plain",
        "run -t decentral -m smp-2 -w hackbench --out plain/below",
        "run -t decentral -m smp-2 -w hackbench --out .",
        "run -t decentral -m smp-2 -w hackbench --out ''",
        "graph decentral -o no/such/folder/x.svg",
        "graph decentral -o folder.svg/x.svg",
        "fmt missing.weir",
        "fmt broken.weir",
        "fmt folder.weir",
    ];
    snapshot!("files", refused(dir.path(), &lines));
}

/// Inputs that are fine one by one.
#[test]
fn combinations() {
    let dir = temp();
    let endless = "{ \"tasks\": { \"t\": { \"loop\": -1, \"run\": 1000, \"sleep\": 9000 } } }";
    fs::write(dir.path().join("endless.json"), endless).expect("writable");
    fs::write(dir.path().join("cpu9.weir"), "annotate affinity;\nentry -> head_queue -> cpu 9;\n")
        .expect("writable");
    let lines = [
        "run -t decentral -m smp-2 -w endless.json",
        "run -t cpu9.weir -m smp-2 -w hackbench",
        "check cpu9.weir",
    ];
    snapshot!("combinations", refused(dir.path(), &lines));
}

/// Root reads everything, so this says nothing there.
#[test]
fn unreadable_files_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let dir = temp();
    let file = dir.path().join("secret.weir");
    fs::write(&file, "entry -> cpus;").expect("writable");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("ours");
    if fs::read(&file).is_ok() {
        return;
    }
    let ran = runweir_in(dir.path(), &["check", "secret.weir"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("secret.weir") && ran.stderr.contains("chmod"), "{}", ran.stderr);
}

/// Machines whose scheduler is in hardware, in a program without its RTL.
#[test]
#[cfg(not(feature = "cosim"))]
fn engines() {
    let dir = temp();
    let tasks = "periodic:tasks=4,util=100%,unit=1ms -d 1s";
    let lines = [
        format!("run llf-tick -m engine-2 -w {tasks} --hw cosim"),
        format!("run llf-tick -m smp-2 -w {tasks} --hw cosim"),
        format!("run llf-tick -m engine-2 -w {tasks} --hw rtl"),
        format!("run llf -m engine-2 -w {tasks}"),
        format!("run cfs -m engine-2 -w {tasks}"),
        "run llf-tick -m engine-2 -w periodic:tasks=9,util=100%,unit=1ms -d 1s".into(),
        "run llf-tick -m engine-2 -w hackbench:groups=1,fds=2 -d 1s".into(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    snapshot!("wrong_engines", refused(dir.path(), &lines));
}

#[test]
fn virtual_machines() {
    let dir = temp();
    fs::write(dir.path().join("notes.txt"), "hello").expect("written");
    fs::write(dir.path().join("bad.weir"), "entry -> ;\n").expect("written");
    let lines = [
        "vm",
        "vm uname",
        "vm --cpus 0 -- true",
        "vm --cpus 256 -- true",
        "vm --cpus 4 --machine smp-4 -- true",
        "vm --machine mesh-256 -- true",
        "vm --machine cluster-4x8 -- true",
        "vm --machine accel-4x2 -- true",
        "vm --machine opteron -- true",
        "vm --topology decentrl -- true",
        "vm --topology bad.weir -- true",
        "vm --topology '' -- true",
        "vm --memory 512 -- true",
        "vm --memory 1MiB -- true",
        "vm --timeout 10 -- true",
        "vm --icount=x -- true",
        "vm --icount --accel kvm -- true",
        "vm --icount --turn 100ns -- true",
        "vm --turn 1ms -- true",
        "vm --accel fast -- true",
        "vm --kernel absent -- true",
        "vm --kernel notes.txt -- true",
        "vm --record notes.txt -- true",
        "vm --with absent -- true",
        "vm --with /proc/self -- true",
    ];
    snapshot!("virtual_machines", refused(dir.path(), &lines));
}

#[test]
fn live() {
    let dir = temp();
    fs::write(dir.path().join("bad.weir"), "entry -> fifoo -> cpus;\n").expect("writable");
    fs::write(dir.path().join("file.sock"), "").expect("writable");
    let lines = [
        "live",
        "live nonsense",
        "live fifo --memory 64",
        "live fifo --memory 1MiB",
        "live fifo --watchdog 2",
        "live fifo --duration 0s",
        "live fifo --max-tasks 1",
        "live fifo --metrics somewhere",
        "live fifo --set slice=1ms",
        "switch",
        "switch nonsense",
        "switch missing.weir",
        "switch fifo --set x",
        "switch fifo --socket none.sock",
        "switch fifo --socket file.sock",
        "switch bad.weir --socket none.sock",
        "status --socket none.sock",
        "status --socket none.sock --json",
        "status now",
    ];
    snapshot!("live", refused(dir.path(), &lines));
}
