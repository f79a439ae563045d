// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `--strict` in every command: what a topology does not obey is an error, and said before anything is done.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;

use weir_linux::protocol::{Finding, Switched};

use crate::{json, runweir, runweir_in, temp};

/// The scheduler in charge would only have warned, after it had changed.
#[test]
fn a_switch_that_ignores_something_is_not_made() {
    for strict in [true, false] {
        let dir = temp();
        let listener = UnixListener::bind(dir.path().join("s")).expect("a socket");
        let server = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for dry in [true, false].into_iter().skip(usize::from(!strict)) {
                let (mut client, _) = listener.accept().expect("a client");
                let mut question = String::new();
                BufReader::new(&client).read_line(&mut question).expect("a question");
                asked.push(question);
                let warning = Finding {
                    code: "nice-ignored".into(),
                    message: "`fifo` does not go by nice values".into(),
                    setting: Some("nice".into()),
                    ..Finding::default()
                };
                let done = Switched { dry_run: dry, warnings: vec![warning], ..Switched::default() };
                let done = serde_json::to_string(&done).expect("plain data");
                writeln!(client, "{{\"ok\":true,\"result\":{done}}}").expect("the client reads");
                if strict {
                    break;
                }
            }
            asked
        });
        let args = ["switch", "fifo", "--socket", "s"];
        let ran = match strict {
            true => runweir_in(dir.path(), &[&args[..], &["--strict"]].concat()),
            false => runweir_in(dir.path(), &args),
        };
        let asked = server.join().expect("it was asked");
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].contains("\"dry_run\":true"), strict, "{asked:?}");
        assert_eq!(ran.status, if strict { 2 } else { 0 }, "{}", ran.stderr);
        assert!(ran.stderr.contains("does not go by nice values"), "{}", ran.stderr);
        // Wherever the line is broken.
        let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.contains("or leave `--strict` out"), strict, "{}", ran.stderr);
    }
}

#[test]
fn a_program_does_not_begin_under_a_policy_that_ignores_it() {
    let args = ["threads", "decentral", "--priority", "50", "--cpus", "1", "--strict", "--", "true"];
    let ran = runweir(&args);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("`decentral` ignores fixed priorities"), "{}", ran.stderr);
}

/// A reservation that does not fit is found in the course of the run.
#[test]
fn a_refused_reservation_is_an_error() {
    let dir = temp();
    let task = "[[task]]\nname = \"a\"\ncount = 3\nperiod = \"10ms\"\nrun = \"4ms\"\npolicy = \"deadline\"\ndeadline = \"10ms\"\nwcet = \"4ms\"\n";
    std::fs::write(dir.path().join("w.toml"), task).expect("writable");
    let args = ["run", "sched-deadline", "-m", "smp-1", "-w", "w.toml", "-d", "100ms", "--json"];
    let ran = runweir_in(dir.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let refused = &json(&ran.stdout)["ignored"][0];
    assert_eq!((&refused["setting"], &refused["effect"]), (&"admission".into(), &"refused".into()));
    let ran = runweir_in(dir.path(), &[&args[..], &["--strict"]].concat());
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("refuses reservations"), "{}", ran.stderr);
    let compare = "compare -t sched-deadline -t classes -m smp-1 -w w.toml -d 100ms -q --strict"
        .split(' ')
        .collect::<Vec<_>>();
    assert_eq!(runweir_in(dir.path(), &compare).status, 1);
}

/// Only the first topology was asked.
#[test]
fn what_a_later_topology_ignores_is_said() {
    let dir = temp();
    let task = "[[task]]\nname = \"a\"\ncount = 2\nloop = \"forever\"\nrun = \"1ms\"\nnice = -5\n";
    let swap = "[[at]]\ntime = \"5ms\"\ndo = \"swap fifo\"\n";
    std::fs::write(dir.path().join("w.toml"), format!("{task}{swap}")).expect("writable");
    let args = ["run", "linux", "-m", "smp-1", "-w", "w.toml", "-d", "20ms", "--json"];
    let ran = runweir_in(dir.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let nice = &json(&ran.stdout)["ignored"][0];
    assert_eq!((&nice["topology"], &nice["setting"]), (&"fifo".into(), &"nice".into()));
    assert!(ran.stderr.contains("`fifo` ignores nice values"), "{}", ran.stderr);
    assert_eq!(runweir_in(dir.path(), &[&args[..], &["--strict"]].concat()).status, 2);
    // Without the swap there is nothing to say.
    std::fs::write(dir.path().join("w.toml"), task).expect("writable");
    assert_eq!(runweir_in(dir.path(), &[&args[..], &["--strict"]].concat()).status, 0);
}

/// A recording's priorities are asked of the replay's scheduler, too.
#[test]
fn an_import_names_what_its_replay_ignores() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-trace/tests/recordings/rt-app.ftrace.txt");
    let args = ["import", file, "--under", "fifo", "--json"];
    let ran = runweir(&args);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ignored = json(&ran.stdout)["fidelity"]["ignored"].clone();
    let ignored = ignored.as_array().expect("a list");
    assert!(!ignored.is_empty() && ignored.iter().all(|i| i["topology"] == "fifo"), "{ignored:?}");
    assert!(ran.stderr.contains("`fifo` ignores"), "{}", ran.stderr);
    let ran = runweir(&[&args[..], &["--strict"]].concat());
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
}
