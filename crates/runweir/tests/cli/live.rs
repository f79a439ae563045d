// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `top`, `status` and the options of `live` that can be tested without a kernel: somebody else listens at
//! the socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;

use weir_linux::{CpuView, InstanceView, PipeView, Snapshot, Totals};

use crate::{Ran, good_in, runweir_in, temp};

const SECOND: u64 = 1_000_000_000;

/// One CPU, half busy, a thousand tasks a second through a pipe that holds two.
fn snapshot(t_ns: u64) -> Snapshot {
    let ms = t_ns / 1_000_000;
    let pipe = |name: &str, from: &str, to: &str| PipeView {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        depth: 2,
        max_depth: 5,
        added: ms,
        removed: ms,
        cpus: "0".into(),
        ..PipeView::default()
    };
    let instance = |name: &str, component: &str| InstanceView {
        name: name.into(),
        component: component.into(),
        updates: ms,
        ..InstanceView::default()
    };
    Snapshot {
        t_ns: 5 * SECOND + t_ns,
        topology: "mine".into(),
        nr_cpus: 1,
        uptime_ns: t_ns,
        attached: true,
        cpus: vec![CpuView { online: true, busy_ns: t_ns / 2, runs: ms, ..CpuView::default() }],
        pipes: vec![pipe("entry", "entry", "fcfs"), pipe("fcfs.out0", "fcfs", "termination")],
        instances: vec![instance("fcfs", "fcfs"), instance("termination", "termination")],
        totals: Totals { dispatches: ms, runs: ms, arena_bytes: 8 << 20, ..Totals::default() },
        ..Snapshot::default()
    }
}

/// Answers each question with the next of `answers`, then goes away.
fn listen(socket: &Path, answers: Vec<String>) -> std::thread::JoinHandle<()> {
    let listener = UnixListener::bind(socket).expect("a socket in a folder of ours");
    std::thread::spawn(move || {
        for answer in answers {
            let (mut client, _) = listener.accept().expect("a client");
            let mut question = String::new();
            BufReader::new(&client).read_line(&mut question).expect("a question");
            assert_eq!(question, "{\"verb\":\"status\"}\n");
            writeln!(client, "{answer}").expect("the client reads");
        }
    })
}

fn answer(s: &Snapshot) -> String {
    format!("{{\"ok\":true,\"result\":{}}}", serde_json::to_string(s).expect("plain data"))
}

fn at_socket(args: &[&str], answers: Vec<String>) -> Ran {
    let dir = temp();
    let server = listen(&dir.path().join("s"), answers);
    let ran = runweir_in(dir.path(), &[args, &["--socket", "s"]].concat());
    server.join().expect("it was asked as often as expected");
    ran
}

#[test]
fn top_without_a_terminal_prints_one_picture() {
    let answers = vec![answer(&snapshot(60 * SECOND)), answer(&snapshot(61 * SECOND))];
    let ran = at_socket(&["top", "--interval", "50ms"], answers.clone());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    insta::assert_snapshot!("top_once", ran.stdout);
    assert!(ran.stderr.starts_with("this is not a terminal"), "{}", ran.stderr);
    let asked = at_socket(&["top", "--once", "--interval", "50ms"], answers);
    assert_eq!((asked.stdout, asked.stderr.as_str()), (ran.stdout, ""));
}

#[test]
fn answers_that_make_no_sense_are_reported() {
    for text in ["", "{}", "[1]", "{\"ok\":true,\"result\":{\"t_ns\":-1}}", "\u{1b}[31m"] {
        let ran = at_socket(&["top", "--once"], vec![text.into()]);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{text}");
        assert!(ran.stderr.starts_with("error:") && ran.stderr.contains("help:"), "{text}: {}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'));
    }
}

#[test]
fn nobody_in_charge() {
    let dir = temp();
    for command in ["top", "status"] {
        let ran = runweir_in(dir.path(), &[command, "--socket", "nothing"]);
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains("nobody listens at nothing"), "{}", ran.stderr);
        assert!(ran.stderr.contains("runweir live"), "{}", ran.stderr);
    }
}

#[test]
fn wrong_options_are_refused_before_anything_is_touched() {
    let dir = temp();
    std::fs::write(dir.path().join("file"), "mine").expect("writable");
    for (args, says) in [
        (&["live", "decentral", "--record", "file"][..], "--record file is a file"),
        (&["live", "decentral", "--record", "."], "--record . holds other files, for example file"),
        (&["live", "decentral", "--record", ""], "a value is required for '--record <DIR>'"),
        (&["live", "decentral", "--force"], "--record"),
        (&["live", "decentral", "--metrics", "example.org:1"], "write an address and a port"),
        (&["live", "decentral", "--metrics", "70000"], "write an address and a port"),
        (&["top", "--interval", "0s"], "longer than nothing"),
        (&["top", "--interval", "5"], "has no unit"),
        (&["top", "decentral"], "unexpected argument"),
    ] {
        let ran = runweir_in(dir.path(), args);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(good_in(dir.path(), &["check", "decentral", "--quiet"]), "");
    let left: Vec<_> = std::fs::read_dir(dir.path()).expect("listable").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
