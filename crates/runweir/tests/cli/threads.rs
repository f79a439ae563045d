// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `threads` and `doctor`: what is refused. That they work is tested by tools/test-threads.sh, which builds the library.

use std::fs;

use super::{program, temp};

/// Run with a folder that holds an empty file of the library's name.
fn with_library(args: &[&str]) -> super::Ran {
    let dir = temp();
    fs::write(dir.path().join("libweir_preload.so"), "").expect("writable");
    program(dir.path())
        .env("RUNWEIR_LIB", dir.path())
        .args(args)
        .current_dir("/")
        .output()
        .expect("the program starts")
        .into()
}

#[test]
fn what_cannot_run_is_refused_before_it_starts() {
    for (args, says) in [
        (&["threads", "priority", "--", "no-such-program"][..], "no program `no-such-program`"),
        (&["threads", "nonsense", "--", "ls"], "nonsense"),
        (&["threads", "priority", "--cpus", "1024", "--", "ls"], "--cpus 1024"),
        (&["threads", "priority", "--set", "x", "--", "ls"], "comp.param=value"),
        (&["threads", "priority"], "COMMAND"),
        (&["threads", "--", "ls"], "<T>"),
        (&["threads", "priority", "--join", "desk", "--", "ls"], "--join"),
        (&["threads", "priority", "--serve", "desk", "--", "ls"], "--serve"),
        (&["threads", "priority", "--serve", "a b"], "letters, digits"),
        (&["threads", "priority", "--serve", "desk", "--priority", "3"], "--join desk"),
        (&["threads", "--join", "desk", "--cpus", "1", "--", "ls"], "--cpus"),
        (&["threads", "priority", "--tree", "--join", "desk", "--", "ls"], "--join"),
        (&["threads", "gang", "--manifest", "/nowhere", "--", "ls"], "/nowhere"),
    ] {
        let ran = with_library(args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
}

/// The diagnostic points into the manifest.
#[test]
fn a_wrong_manifest_is_shown() {
    let dir = temp();
    fs::write(dir.path().join("libweir_preload.so"), "").expect("writable");
    fs::write(dir.path().join("team.manifest"), "threads 2\nH 3 2\n").expect("writable");
    let ran: super::Ran = program(dir.path())
        .env("RUNWEIR_LIB", dir.path())
        .args(["threads", "gang", "--manifest", "team.manifest", "--", "ls"])
        .current_dir(dir.path())
        .output()
        .expect("the program starts")
        .into();
    assert!(ran.status == 2 && ran.stderr.contains("team.manifest:2:"), "{}", ran.stderr);
}

#[test]
fn without_the_library_it_says_how_to_build_it() {
    let dir = temp();
    for args in [&["doctor"][..], &["threads", "priority", "--", "ls"]] {
        let ran: super::Ran = program(dir.path())
            .env("RUNWEIR_LIB", dir.path())
            .args(args)
            .output()
            .expect("the program starts")
            .into();
        if ran.status != 0 {
            assert!(ran.status == 1 && ran.stderr.contains("make threads"), "{}", ran.stderr);
        }
    }
}
