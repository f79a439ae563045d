// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Workloads through the public interface: wrong inputs and their diagnostics, the catalogue, and mutations.

// Errors carry the text at fault; they are rare and not on a hot path.
#![allow(clippy::result_large_err)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use weir_model::workload::generators;
use weir_model::{Error, Op, Workload};

/// Files of a directory below the crate, by name.
fn files(dir: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut list: Vec<PathBuf> =
        entries.map(|e| e.expect("readable").path()).filter(|p| p.is_file()).collect();
    list.sort();
    list
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

/// Resolve a file from text that is already in memory.
fn resolve_text(name: &str, text: &[u8]) -> Result<Workload, Error> {
    Workload::resolve(name, 1, &|_| Ok(text.to_vec()), &[])
}

/// All diagnostics of a directory of wrong files, each with its file's name.
fn diagnostics(dir: &str) -> String {
    let mut all = String::new();
    for path in files(dir) {
        let text = std::fs::read(&path).expect("readable");
        let error = match resolve_text(&file_name(&path), &text) {
            Err(e) => e,
            Ok(_) => panic!("{} is accepted", path.display()),
        };
        assert!(
            error.help.as_deref().is_some_and(|h| !h.is_empty()),
            "{}: no remedy: {error}",
            path.display()
        );
        assert!(error.position().is_some(), "{}: no place: {error}", path.display());
        writeln!(all, "{error}\n").expect("strings take everything");
    }
    all
}

#[test]
fn wrong_rt_app_files() {
    insta::assert_snapshot!(diagnostics("tests/bad/rt-app"));
}

#[test]
fn wrong_simso_files() {
    insta::assert_snapshot!(diagnostics("tests/bad/simso"));
}

#[test]
fn wrong_toml_files() {
    insta::assert_snapshot!(diagnostics("tests/bad/toml"));
}

#[test]
fn wrong_generator_calls() {
    let calls = [
        "hackbench:group=10",
        "hackbench:groups",
        "hackbench:groups=",
        "hackbench:groups=ten",
        "hackbench:groups=0",
        "hackbench:groups=10,,loops=5",
        "hackbench:groups=10,groups=20",
        "hackbench:mode=pip",
        "hackbench:bytes=4KB",
        "hackbench:bytes=2MiB",
        "hackbench:groups=1000000,fds=1000",
        "pipeline:work=5",
        "pipeline:direction=sideways",
        "pipeline:spin=yes",
        "pipeline:cpu=5000",
        "barrier:imbalance=lots",
        "compute:work=10ns,chunks=20",
        "compute:tasks=5000000",
        "periodic:tasks=4,util=5",
        "periodic:util=80",
        "periodic:pmin=20ms,pmax=10ms",
        "periodic:tasks=40,util=39.9",
        "periodic:tasks=3000,method=randfixedsum",
        "periodic:seed=-1",
        "cyclic:priority=100",
        "cyclic:work=5ms",
        "bench:load=120%",
        "bench:pmin=10mz",
        "hackbensh:groups=1",
        "video.jsn",
    ];
    let mut all = String::new();
    for call in calls {
        let error = match resolve_text(call, b"") {
            Err(e) => e,
            Ok(_) => panic!("{call} is accepted"),
        };
        assert!(error.help.is_some(), "{call}: no remedy");
        writeln!(all, "{error}\n").expect("strings take everything");
    }
    insta::assert_snapshot!(all);
}

/// Loops are balanced, and indices lie within their lists.
fn check(w: &Workload) {
    assert!(w.tasks.iter().any(|t| t.start_ns.is_some()), "{}: nothing starts", w.name);
    for task in &w.tasks {
        let mut depth = 0;
        for op in task.program.iter() {
            let (index, len) = match *op {
                Op::Loop { .. } => {
                    depth += 1;
                    continue;
                }
                Op::LoopEnd => {
                    depth -= 1;
                    assert!(depth >= 0, "{}: a loop ends before it begins", task.name);
                    continue;
                }
                Op::Lock { mutex } | Op::Unlock { mutex } => (mutex, w.mutexes.len()),
                Op::Wait { condition, .. } | Op::Sync { condition, .. } => (condition, w.conditions.len()),
                Op::Signal { condition } | Op::Broadcast { condition } => (condition, w.conditions.len()),
                Op::Barrier { barrier } => (barrier, w.barriers.len()),
                Op::Suspend { event } | Op::Resume { event } => (event, w.events.len()),
                Op::Write { channel, .. } | Op::Read { channel, .. } => (channel, w.channels.len()),
                Op::Raise { flag, .. } | Op::SpinUntil { flag, .. } => (flag, w.flags.len()),
                Op::Fork { template } => (template, w.tasks.len()),
                Op::Timer { timer, shared: true, .. } => (timer, w.timers.len()),
                _ => continue,
            };
            assert!((index as usize) < len, "{}: {op:?} is out of range", task.name);
        }
        assert_eq!(depth, 0, "{}: a loop is open", task.name);
    }
    assert!(w.barriers.iter().all(|b| b.1 > 0), "{}: a barrier for nobody", w.name);
    assert!(w.machine_events.is_sorted_by_key(|e| e.0));
}

#[test]
fn the_catalogue_is_right() {
    let list = files("../../workloads");
    assert!(list.len() >= 8);
    for path in list {
        let text = std::fs::read(&path).expect("readable");
        let w = resolve_text(&file_name(&path), &text).unwrap_or_else(|e| panic!("{e}"));
        check(&w);
        assert!(!w.is_endless(), "{}: a catalogue workload ends by itself", path.display());
        let allowed = |warning: &String| warning.contains("deadlines of tasks that follow others");
        assert!(w.warnings.iter().all(allowed), "{}: {:?}", path.display(), w.warnings);
    }
}

#[test]
fn a_million_tasks_fit() {
    let w = resolve_text("compute:tasks=1000000", b"").expect("allowed");
    assert_eq!(w.tasks.len(), 1_000_000);
    assert!(std::sync::Arc::ptr_eq(&w.tasks[0].program, &w.tasks[999_999].program));
}

/// Mutated texts: cut, doubled, with strange bytes, or with words exchanged.
fn mutate(text: &[u8], edits: &[(u8, prop::sample::Index, prop::sample::Index, Vec<u8>)]) -> Vec<u8> {
    let mut text = text.to_vec();
    for (kind, from, to, bytes) in edits {
        if text.is_empty() {
            break;
        }
        let (a, b) = (from.index(text.len()), to.index(text.len()));
        let range = a.min(b)..a.max(b).min(a.min(b) + 200);
        match kind % 4 {
            0 => {
                text.splice(range, bytes.iter().copied());
            }
            1 => {
                let copy = text[range.clone()].to_vec();
                text.splice(range.start..range.start, copy);
            }
            2 => text[a] = bytes.first().copied().unwrap_or(b'"'),
            _ => {
                text.splice(a..a, bytes.iter().copied());
            }
        }
    }
    text
}

/// Digits are kept few, so that mutations do not ask for gigabytes of tasks, which is allowed.
fn tame(text: Vec<u8>) -> Vec<u8> {
    let mut run = 0;
    let keep = text.into_iter().filter(move |b| {
        run = if b.is_ascii_digit() || *b == b'_' { run + 1 } else { 0 };
        run <= 4
    });
    keep.collect()
}

/// The texts that mutations begin with.
fn sources() -> &'static [(String, Vec<u8>)] {
    static SOURCES: std::sync::OnceLock<Vec<(String, Vec<u8>)>> = std::sync::OnceLock::new();
    SOURCES.get_or_init(|| {
        let dirs = ["../../workloads", "tests/bad/rt-app", "tests/bad/simso", "tests/bad/toml"];
        let all = dirs.iter().flat_map(|d| files(d));
        all.map(|p| (file_name(&p), std::fs::read(&p).expect("readable"))).collect()
    })
}

/// Cases of each law; `PROPTEST_CASES` asks for more, as for a night of fuzzing.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_files_never_panic(
        file in any::<prop::sample::Index>(),
        edits in prop::collection::vec(
            (any::<u8>(), any::<prop::sample::Index>(), any::<prop::sample::Index>(),
             prop_oneof![
                "[-{}\\[\\]\",:;<>/=a-z0-9 \n]{0,6}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..4),
                prop::sample::select(vec!["-1", "{", "}", "loop 9 {", "null", "\"\"", "1e9", "[[task]]\n", "<task ", "&#0;", "//", "/*"])
                    .prop_map(|s| s.as_bytes().to_vec()),
             ]),
            1..6,
        ),
    ) {
        let sources = sources();
        let (name, text) = &sources[file.index(sources.len())];
        let text = tame(mutate(text, &edits));
        match resolve_text(name, &text) {
            Ok(w) => check(&w),
            Err(e) => prop_assert!(!e.to_string().is_empty()),
        }
    }

    #[test]
    fn generator_calls_never_panic(
        generator in any::<prop::sample::Index>(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), "[0-9]{1,2}(ms|us|s|%|KiB|)|[a-z,=:%-]{0,6}"), 0..4),
    ) {
        let all = generators();
        let info = &all[generator.index(all.len())];
        let list: Vec<String> =
            picks.iter().map(|(i, v)| format!("{}={v}", info.params[i.index(info.params.len())].name)).collect();
        let call = format!("{}:{}", info.name, list.join(","));
        if let Ok(w) = resolve_text(&call, b"") {
            check(&w);
        }
    }
}
