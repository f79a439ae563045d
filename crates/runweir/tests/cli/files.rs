// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `--out DIR`: which files, the same bytes for the same seed, nothing of others touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{good_in, json, runweir_in, temp, with};

/// What a run leaves in its folder.
const FILES: [&str; 7] =
    ["calls.json", "jobs.csv", "report.html", "summary.json", "tasks.csv", "trace.pftrace", "wakeups.csv"];

/// Every file below `dir` with its bytes.
fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(&at).expect("listable") {
            let path = entry.expect("listable").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").display().to_string();
                found.insert(name, fs::read(&path).expect("readable"));
            }
        }
    }
    found
}

#[test]
fn run_writes_its_files() {
    let dir = temp();
    good_in(dir.path(), &with(&["--out", "a/b", "--quiet"]));
    let files = tree(dir.path());
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, FILES.map(|f| format!("a/b/{f}")));
    assert!(files.values().all(|f| !f.is_empty()));
    let html = String::from_utf8_lossy(&files["a/b/report.html"]).into_owned();
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http"), "the report needs no network");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let dir = temp();
    let args = [
        "run",
        "-t",
        "decentral",
        "-m",
        "hybrid-8p16e",
        "-w",
        "hackbench:groups=3,loops=10",
        "-s",
        "5",
        "-q",
        "-o",
    ];
    for out in ["one", "two"] {
        good_in(dir.path(), &[&args[..], &[out]].concat());
    }
    let (one, two) = (tree(&dir.path().join("one")), tree(&dir.path().join("two")));
    assert_eq!(one.len(), 7);
    for (name, bytes) in &one {
        assert!(bytes == &two[name], "{name} differs");
    }
}

#[test]
fn json_is_the_summary_but_for_the_time_it_took() {
    let dir = temp();
    let mut printed = json(&good_in(dir.path(), &with(&["--out", "o", "--json"])));
    let written = json(&fs::read_to_string(dir.path().join("o/summary.json")).expect("readable"));
    assert_eq!(written["wall_ns"], 0);
    printed["wall_ns"] = 0.into();
    assert_eq!(printed, written);
    // Nor does it matter whether files are written.
    let mut alone = json(&good_in(dir.path(), &with(&["--json"])));
    alone["wall_ns"] = 0.into();
    assert_eq!(alone, written);
}

#[test]
fn earlier_results_are_replaced_and_notes_beside_them_stay() {
    let dir = temp();
    good_in(dir.path(), &with(&["--out", "o", "-q", "-s", "1"]));
    let before = fs::read(dir.path().join("o/summary.json")).expect("readable");
    fs::write(dir.path().join("o/notes.txt"), "mine").expect("writable");
    good_in(dir.path(), &with(&["--out", "o", "-q", "-s", "2"]));
    assert_ne!(before, fs::read(dir.path().join("o/summary.json")).expect("readable"));
    assert_eq!(fs::read_to_string(dir.path().join("o/notes.txt")).expect("kept"), "mine");
    assert_eq!(tree(dir.path()).len(), 8, "no scratch files");
}

#[test]
fn a_folder_of_others_is_refused_without_force() {
    let dir = temp();
    fs::write(dir.path().join("thesis.tex"), "mine").expect("writable");
    let ran = runweir_in(dir.path(), &with(&["--out", "."]));
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("thesis.tex") && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(tree(dir.path()).len(), 1);
    good_in(dir.path(), &with(&["--out", ".", "--force", "-q"]));
    assert_eq!(tree(dir.path()).len(), 8);
}

/// A wrong input after the folder was named leaves no trace of it.
#[test]
fn nothing_is_written_where_the_input_is_wrong() {
    let dir = temp();
    fs::write(dir.path().join("w.json"), "{ \"tasks\": {} ").expect("writable");
    for args in [
        &["run", "-t", "decentral", "-m", "smp-2", "-w", "w.json", "-o", "out"][..],
        &["run", "-t", "decentral", "-m", "smp-2", "-w", "nothing", "-o", "out"],
        &["run", "-t", "decentral", "-m", "smp-2", "-w", "hackbench", "--set", "x.y=1", "-o", "out"],
        &["compare", "-t", "decentral", "-t", "centrall", "-m", "smp-2", "-w", "hackbench", "-o", "out"],
    ] {
        assert_eq!(runweir_in(dir.path(), args).status, 2, "{args:?}");
        assert_eq!(tree(dir.path()).len(), 1, "{args:?}");
        assert_eq!(fs::read_dir(dir.path()).expect("listable").count(), 1, "{args:?}");
    }
}

#[test]
fn compare_writes_a_folder_for_each_topology() {
    let dir = temp();
    let args =
        ["compare", "-t", "central", "-t", "decentral", "-m", "smp-2", "-w", "hackbench:groups=1,loops=5"];
    let more = ["--seeds", "2", "--out", "o", "-q"];
    for out in ["o", "p"] {
        let more = more.map(|m| if m == "o" { out } else { m });
        good_in(dir.path(), &[&args[..], &more].concat());
    }
    let files = tree(&dir.path().join("o"));
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let mut wanted = vec!["compare.csv".to_string(), "compare.html".into(), "compare.json".into()];
    for topology in ["central", "decentral"] {
        wanted.extend(FILES.map(|f| format!("{topology}/{f}")));
    }
    wanted.sort();
    assert_eq!(names, wanted);
    assert_eq!(files, tree(&dir.path().join("p")), "the same seeds give the same bytes");
}

/// A report of 1,024 CPUs wrote a trace of hundreds of megabytes, wanted or not.
#[test]
fn the_trace_has_the_part_that_is_asked_for() {
    let dir = temp();
    let run = |part: &str| {
        let args =
            ["run", "-t", "edf", "-m", "smp-2", "-w", "avionics", "-d", "400ms", "-q", "--force", "-o", part];
        good_in(dir.path(), &[&args[..], &["--trace", part]].concat());
        fs::metadata(dir.path().join(part).join("trace.pftrace")).map(|m| m.len()).ok()
    };
    let size = |part: &str| run(part).expect("a trace");
    assert_eq!(run("none"), None);
    let (full, span, misses) = (size("full"), size("10ms..20ms"), size("misses"));
    assert!(span < full / 4, "{span} of {full}");
    assert!(misses < full, "{misses} of {full}");
    for wrong in ["20ms..10ms", "half", "10..20", "1ms.."] {
        let ran = runweir_in(dir.path(), &with(&["--out", "w", "--trace", wrong]));
        assert_eq!(ran.status, if wrong == "1ms.." { 0 } else { 2 }, "{wrong}: {}", ran.stderr);
    }
    let ran = runweir_in(dir.path(), &with(&["--trace", "none"]));
    assert_eq!(ran.status, 2, "without --out there is no trace to leave out");
}

/// A compressed trace is the same trace, and each run into a folder leaves its own trace there and no other.
#[test]
fn traces_are_compressed_on_request() {
    let dir = temp();
    let run = |more: &[&str]| {
        let args = ["run", "-t", "fifo", "-m", "smp-1", "-w", "robot", "-d", "50ms", "-q", "-o", "o"];
        good_in(dir.path(), &[&args[..], more].concat());
        let size = |name: &str| fs::metadata(dir.path().join("o").join(name)).map(|m| m.len()).ok();
        (size("trace.pftrace"), size("trace.pftrace.zst"))
    };
    let explained = || good_in(dir.path(), &["explain", "o", "--worst", "3", "--json"]);
    let (plain, none) = run(&[]);
    let words = explained();
    let (gone, packed) = run(&["--zstd"]);
    assert_eq!((none, gone), (None, None));
    assert!(packed < plain.map(|p| p / 2), "{packed:?} of {plain:?}");
    assert_eq!(explained(), words);
    good_in(dir.path(), &["import", "o/trace.pftrace.zst", "-o", "again.toml", "--quiet"]);
    assert_eq!(run(&["--trace", "none"]), (None, None));
    let ran = runweir_in(dir.path(), &with(&["--zstd"]));
    assert_eq!(ran.status, 2, "without --out there is no trace to compress");
}

/// `report` and `fmt` looked for a file of another name, and said that it was not there.
#[test]
fn paths_may_be_no_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let dir = temp();
    let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"b\xff"));
    std::fs::create_dir(&odd).expect("writable");
    let run = |args: &[&str], path: &std::path::Path| -> crate::Ran {
        crate::program(dir.path()).args(args).arg(path).output().expect("it starts").into()
    };
    let out = odd.join("out");
    let ran = run(&["run", "decentral", "-m", "smp-2", "-w", "hackbench:groups=1,loops=2", "-q", "-o"], &out);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ran = run(&["report"], &out);
    assert!(ran.status == 0 && ran.stdout.contains("decentral"), "{}", ran.stderr);
    let explain = |place: &str| {
        crate::program(dir.path()).arg("explain").arg(&out).arg(place).output().expect("it starts").into()
    };
    let ran: crate::Ran = explain("nobody@1ms");
    assert!(ran.status == 2 && ran.stderr.contains("no task"), "{}", ran.stderr);
    let ran = run(&["gantt", "--output", "g.svg"], &out);
    assert!(ran.status == 0 && dir.path().join("g.svg").exists(), "{}", ran.stderr);
    // Where a name is text, the argument is named.
    let ran = run(&["check", "-m", "smp-1"], &odd.join("t.weir"));
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: argument 4, `"), "{}", ran.stderr);
    assert!(ran.stderr.contains("is not UTF-8") && ran.stderr.contains("help: "), "{}", ran.stderr);
    let file = odd.join("t.weir");
    std::fs::write(&file, "annotate   affinity;\nentry->fifo->cpus;\n").expect("writable");
    let ran = run(&["fmt"], &file);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(&file).expect("there");
    assert!(text.contains("entry -> fifo -> cpus;"), "{text}");
}

/// The allocator's way is SIGABRT and no remedy.
#[test]
fn the_end_of_memory_is_an_error_like_others() {
    let dir = temp();
    let program = crate::program(dir.path()).get_program().to_owned();
    for kib in [120_000, 160_000, 200_000, 300_000, 600_000] {
        let command =
            format!("ulimit -v {kib}; exec \"$0\" run decentral -m smp-2 -w compute:tasks=2000000 -q");
        let mut sh = std::process::Command::new("sh");
        let ran: crate::Ran =
            sh.arg("-c").arg(command).arg(&program).current_dir(dir.path()).output().expect("sh").into();
        assert!(ran.status == 1 && ran.stderr.contains("help: "), "{kib}: {}: {}", ran.status, ran.stderr);
    }
}
