// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `advise`: proposals from recordings, and a switch that is kept or taken back, against a socket that answers as `live` does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weir_linux::Snapshot;
use weir_linux::gauges::{Spread, TopologyWaits, WaitView, Waits};
use weir_linux::protocol::{Answer, Request, TextOrigin, TopologyText, parse};

use crate::{Ran, program, temp};

const RECORDING: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-trace/tests/recordings/hackbench.perf.data");
/// Long slices: wake-ups wait for them.
const SLOW: &str = "annotate affinity; entry -> round_robin(slice = 100ms) -> cpus;";

fn advise(dir: &Path, more: &[&str]) -> Ran {
    let few = ["--trials", "4", "--seeds", "1", "--held-out", "3", "--quiet"];
    program(dir).args(["advise", RECORDING]).args(few).args(more).output().expect("runs").into()
}

#[test]
fn a_recording_gives_a_proposal_with_its_gain_and_errors() {
    let dir = temp();
    std::fs::write(dir.path().join("slow.weir"), SLOW).expect("writable");
    let choices = ["--under", "slow.weir", "-t", "decentral", "-t", "linux", "-t", "accelerator"];
    let question = [&choices[..], &["--objective", "wakeup_latency_ns.p99", "--json"]].concat();
    let ran = advise(dir.path(), &[&question[..], &["--out", "o"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let page: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&page["topology"], &page["objective"]), (&json!("slow"), &json!("wakeup_latency_ns.p99")));
    assert!(page["model"]["recorded_ns"].as_u64() > Some(0) && page["model"]["error_pct"].is_number());
    let changes = page["proposal"]["others"].as_array().expect("a list");
    assert!(changes.iter().any(|c| c["metric"] == "response_ns.p99"), "{changes:?}");
    // Response times are what is asked for where nobody says, and no recording has them to compare with.
    let plain = advise(dir.path(), &["--under", "slow.weir", "-t", "linux", "--json"]);
    let plain: Value = serde_json::from_str(&plain.stdout).expect("JSON");
    assert!(plain["objective"] == "response_ns.p99" && plain["model"].is_null(), "{plain:#}");
    // One that this machine cannot have is named with the reason, and does not stop the others.
    assert_eq!(page["skipped"][0]["topology"], "accelerator");
    let proposal = &page["proposal"];
    assert!(proposal["gain_pct"]["mean"].as_f64() > Some(0.0), "{page:#}");
    // The proposal is a file that checks, and the same text.
    let file = std::fs::read_to_string(dir.path().join("o/proposal.weir")).expect("written");
    assert_eq!(proposal["weir"], json!(file));
    let check: Ran =
        program(dir.path()).args(["check", "o/proposal.weir", "-m", "smp-2"]).output().expect("runs").into();
    assert_eq!(check.status, 0, "{}", check.stderr);
    // Three parts judged, and seeds of fitted distributions instead, if asked for.
    assert_eq!((&page["by_parts"], &page["held_out"]), (&json!(true), &json!(3)));
    let fitted = advise(dir.path(), &["--under", "slow.weir", "-t", "decentral", "--fit", "--json"]);
    let fitted: Value = serde_json::from_str(&fitted.stdout).expect("JSON");
    assert_eq!(fitted["by_parts"], json!(false));
    // And the same question has the same answer.
    let again = advise(dir.path(), &question);
    assert_eq!(again.stdout, ran.stdout);
}

#[test]
fn what_cannot_be_is_refused() {
    let dir = temp();
    let refused = |more: &[&str], words: &str| {
        let ran = advise(dir.path(), more);
        assert!(ran.status == 2 && ran.stderr.contains(words), "{more:?}: {} {}", ran.status, ran.stderr);
    };
    refused(&["--switch", "--socket", "none.sock"], "not in charge");
    refused(&["--objective", "wakeup_latency_ns.p98"], "has no `p98`");
    refused(&["--under", "lniux"], "no topology called `lniux`");
    refused(&["--machine", "smp-1"], "2 CPUs");
    refused(&["-t", "none.weir"], "none.weir");
    refused(&["--objective", "groups.nobody.wakeup_latency_ns.p99"], "in part 1");
    let missing: Ran = program(dir.path()).args(["advise", "none.data"]).output().expect("runs").into();
    assert_eq!(missing.status, 2, "{}", missing.stderr);
}

/// Answers as the scheduler in charge; `better` says whether waits get shorter under another topology. Gives the switches that were asked for.
fn in_charge(socket: &Path, better: bool) -> Arc<Mutex<Vec<String>>> {
    let listener = UnixListener::bind(socket).expect("a socket");
    let switches = Arc::new(Mutex::new(Vec::new()));
    let kept = switches.clone();
    std::thread::spawn(move || {
        let mut now = String::from("slow");
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("a request");
            let answer = match parse(line.trim_end().as_bytes()).expect("a request of ours") {
                Request::Topology {} => Answer::result(&TopologyText {
                    topology: "slow".into(),
                    machine: "host".into(),
                    weir: SLOW.into(),
                    origin: TextOrigin::Written,
                }),
                Request::Status {} => {
                    let p99_ns = if now != "slow" && better { 1_000 } else { 9_000_000 };
                    let spread = Spread { count: 5_000, p99_ns, ..Spread::default() };
                    let woken = WaitView { last_10s: spread, ..WaitView::default() };
                    let waits = Waits { woken, ..Waits::default() };
                    Answer::result(&Snapshot {
                        topology: now.clone(),
                        waits: vec![TopologyWaits { topology: now.clone(), waits }],
                        components: weir_core::catalog().components.iter().map(|c| c.name.clone()).collect(),
                        ..Snapshot::default()
                    })
                }
                Request::Switch(wish) => {
                    now = wish.topology.trim_end_matches(".weir").into();
                    kept.lock().expect("not poisoned").push(format!("{} {}", wish.topology, wish.source));
                    Answer::result(&weir_linux::protocol::Switched::default())
                }
                other => panic!("nobody asks for {other:?}"),
            };
            // One that has left does not read.
            let _ = stream.write_all(&answer.line());
        }
    });
    switches
}

#[test]
fn a_switch_is_kept_if_the_gain_comes() {
    let dir = temp();
    let switches = in_charge(&dir.path().join("s.sock"), true);
    let ran =
        advise(dir.path(), &["--switch", "--check", "1s", "--socket", "s.sock", "-t", "decentral", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let page: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let switched = &page["switched"];
    assert_eq!(
        (&switched["kept"], &switched["from"], &switched["to"]),
        (&json!(true), &json!("slow"), &page["proposal"]["topology"])
    );
    assert_eq!((&switched["before_ns"], &switched["after_ns"]), (&json!(9_000_000), &json!(1_000)));
    let switches = switches.lock().expect("not poisoned");
    assert!(switches.len() == 1 && switches[0].contains(page["proposal"]["weir"].as_str().expect("a text")));
}

#[test]
fn a_switch_is_taken_back_if_it_does_not_help() {
    let dir = temp();
    let switches = in_charge(&dir.path().join("s.sock"), false);
    let ran =
        advise(dir.path(), &["--switch", "--check", "1s", "--socket", "s.sock", "-t", "decentral", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let page: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(page["switched"]["kept"], json!(false), "{page:#}");
    assert!(
        page["switched"]["why"].as_str().is_some_and(|w| w.contains("switched back to slow")),
        "{page:#}"
    );
    let switches = switches.lock().expect("not poisoned");
    assert_eq!(switches.len(), 2);
    assert_eq!(switches[1], format!("slow.weir {SLOW}"));
}
