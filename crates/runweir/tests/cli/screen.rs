// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a terminal shows: nothing is wider than it, no word is broken, colours are there only where they are wanted; and
//! what shells complete.

use std::path::Path;

use super::{Ran, program, runweir, temp};

/// What a terminal of this width shows of a command, with a pseudo-terminal of `script` (util-linux). `None`: there is none.
fn on_terminal(dir: &Path, width: usize, args: &str, colours: bool) -> Option<String> {
    let exe = assert_cmd::cargo::cargo_bin!("runweir");
    let command = format!("stty cols {width} rows 50; {} {args}", exe.display());
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(dir).env("TERM", "xterm-256color");
    script.env_remove("COLUMNS").env_remove("NO_COLOR").stdin(std::process::Stdio::null());
    if !colours {
        script.env("NO_COLOR", "1");
    }
    let output = script.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

/// Cells of a line without its colours.
fn cells(line: &str) -> usize {
    let mut count = 0;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => drop(chars.by_ref().find(char::is_ascii_alphabetic)),
            _ => count += 1,
        }
    }
    count
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let dir = temp();
    std::fs::write(
        dir.path().join("set.csv"),
        "name,period (ms),wcet (ms),deadline (ms)\na-task-with-a-rather-long-name,5,2,4\nb,7,4,6\nc,11,3,9\n",
    )
    .expect("writable");
    super::good_in(
        dir.path(),
        &["run", "--scenario", "rescue", "-d", "150ms", "--quiet", "--out", "results"],
    );
    let spec = "topology = [\"edf\", \"p-edf\"]\nmachine = \"smp-2\"\nworkload = \"periodic\"\ncosts = \"zero\"\nseeds = 2\nduration = \"50ms\"\n\
                [keys]\ntasks = 4\nutil = [\"150%\", \"190%\"]\n";
    std::fs::write(dir.path().join("grid.toml"), spec).expect("writable");
    let guard = "topology = \"decentral\"\nmachine = \"smp-2\"\nworkload = \"video\"\nduration = \"50ms\"\nseeds = 1\n\
                 [[check]]\nname = \"misses\"\nmetric = \"totals.deadline_misses\"\nmax = 1000\n";
    std::fs::write(dir.path().join("bounds.toml"), guard).expect("writable");
    let commands = [
        "run -t worksteal -m hybrid-8p16e -w web -d 20ms --quiet --seed 3",
        "run -t decentral -m smp-4 -w video -d 100ms",
        "run -t edf -m smp-1 -w set.csv -d 100ms --force --out a-folder-with-a-longer-name",
        "compare -t decentral -t priority -t linux -t worksteal -m smp-4 -w video -d 50ms",
        "compare -t decentral -t worksteal -m smp-4 -w hackbench:groups=1,loops=3 --seeds 3",
        "analyze --schedulability -w set.csv -m smp-1",
        "topologies",
        "components",
        "components load_balancer",
        "machines epyc-64 --near 0",
        "workloads hackbench",
        "help",
        "run --help",
        "record --help",
        "check nothing",
        "tour",
        "sweep grid.toml",
        "guard bounds.toml",
        "report results",
        "explain results --worst 2",
        "run --scenario rescue --dry-run",
        "graph decentral --diff worksteal -m smp-4",
        "check decentral priority linux -m smp-4",
        "machines",
        "machines desktop",
        "workloads",
        "scenarios",
        "packages",
        "reproduce",
        "live --help",
        "explain --help",
        "switch priority",
        "config check nothing.toml",
    ];
    for width in [80, 200] {
        for args in commands {
            let Some(shown) = on_terminal(dir.path(), width, args, true) else {
                println!("skipped: no program `script`");
                return;
            };
            assert!(!shown.is_empty() || args.contains("quiet"), "{args}");
            for line in shown.lines() {
                assert!(cells(line) <= width, "{width} columns, runweir {args}:\n{line}");
            }
        }
    }
    // What is broken once is not broken again: each word that begins a line of an entry had no room on the line before.
    let text = on_terminal(dir.path(), 80, "analyze --schedulability -w set.csv -m smp-1", false)
        .expect("there was one");
    let lines: Vec<&str> = text.lines().collect();
    let mut broken = 0;
    for pair in lines.windows(2).filter(|pair| pair[1].starts_with("          ")) {
        let word = pair[1].split_whitespace().next().expect("not empty");
        assert!(cells(pair[0]) + 1 + cells(word) > 80, "broken twice:\n{}\n{}", pair[0], pair[1]);
        broken += 1;
    }
    assert!(broken > 5, "{text}");
    // Wide terminals show more, narrow ones name what they leave out.
    let wide = on_terminal(dir.path(), 200, commands[1], true).expect("there was one");
    let narrow = on_terminal(dir.path(), 80, commands[1], true).expect("there was one");
    assert!(wide.contains("wake p50") && !wide.contains("no room here"), "{wide}");
    assert!(!narrow.contains("wake p50") && narrow.contains("(no room here for: "), "{narrow}");
    assert!(narrow.contains("\x1b[31m"), "misses are red: {narrow}");
}

/// `1 task`, `2 tasks`: no number disagrees with its noun, where there is one of everything.
#[test]
fn nouns_agree_with_their_numbers() {
    let dir = temp();
    std::fs::write(dir.path().join("one.csv"), "name,period (ms),wcet (ms)\nonly,10,2\n").expect("writable");
    std::fs::write(
        dir.path().join("one.toml"),
        "topology = \"fifo\"\nmachine = \"smp-1\"\nworkload = \"one.csv\"\nseeds = 1\nduration = \"10ms\"\n",
    )
    .expect("writable");
    super::good_in(
        dir.path(),
        &["run", "-t", "fifo", "-m", "smp-1", "-w", "one.csv", "-d", "10ms", "-q", "--out", "r"],
    );
    let commands = [
        "run -t fifo -m smp-1 -w one.csv -d 10ms",
        "compare -t fifo -t rm -m smp-1 -w one.csv -d 10ms",
        "sweep one.toml",
        "check fifo -m smp-1",
        "analyze fifo -m smp-1 -w one.csv -d 10ms",
        "analyze --schedulability -w one.csv -m smp-1",
        "machines smp-1",
        "workloads one.csv",
        "graph fifo --diff rm -m smp-1",
        "explain r --worst 1",
        "import r/trace.pftrace -o imported.toml",
        "report r",
        "components fifo",
        "topologies fifo",
    ];
    for args in commands {
        let words: Vec<&str> = args.split(' ').collect();
        let ran: Ran = program(dir.path()).args(&words).output().expect("the program starts").into();
        assert!(ran.status < 2, "{args}: {}", ran.stderr);
        let text = format!("{}\n{}", ran.stdout, ran.stderr);
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            for pair in words.windows(2) {
                let noun = pair[1].trim_end_matches(|c: char| !c.is_alphanumeric());
                let wrong = pair[0].trim_start_matches('(') == "1"
                    && noun.len() > 3
                    && noun.ends_with('s')
                    && noun.chars().all(char::is_alphabetic);
                assert!(!wrong || noun.ends_with("ss"), "runweir {args}: `1 {noun}` in {line}");
            }
        }
    }
}

#[test]
fn colours_are_where_they_are_wanted() {
    let dir = temp();
    let args = "run -t decentral -m smp-1 -w video -d 100ms";
    let plain = on_terminal(dir.path(), 100, args, false);
    assert!(plain.is_none_or(|t| !t.contains('\x1b')), "NO_COLOR");
    let words: Vec<&str> = args.split(' ').collect();
    // Pipes are plain, unless somebody says otherwise; JSON always is.
    assert!(!runweir(&words).stdout.contains('\x1b'));
    let with = |more: &[&str]| runweir(&[&words[..], more].concat()).stdout;
    assert!(with(&["--color", "always"]).contains("\x1b[31m"));
    assert!(!with(&["--color=always", "--json"]).contains('\x1b'));
    assert!(!with(&["--color", "never"]).contains('\x1b'));
    let wrong = runweir(&["check", "nothing", "--color", "always"]);
    assert!(wrong.status == 2 && wrong.stderr.contains('\x1b'), "{}", wrong.stderr);
    assert_eq!(runweir(&["check", "nothing", "--color", "sometimes"]).status, 2);
}

/// The words that bash offers behind these.
fn completed(dir: &Path, words: &[&str]) -> Vec<String> {
    let ran: Ran = program(dir)
        .args(["--", "runweir"])
        .args(words)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_IFS", "\n")
        .output()
        .expect("the program starts")
        .into();
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    ran.stdout.lines().map(str::to_string).collect()
}

#[test]
fn shells_complete_names_parameters_and_tasks() {
    let dir = temp();
    std::fs::write(dir.path().join("mine.weir"), "entry -> fifo -> cpus;").expect("writable");
    std::fs::create_dir(dir.path().join("results")).expect("a folder");
    let summary =
        runweir(&["run", "-t", "fifo", "-m", "smp-1", "-w", "video", "-d", "20ms", "--json"]).stdout;
    std::fs::write(dir.path().join("results/summary.json"), summary).expect("writable");
    for (words, offered) in [
        (&["run", "-t", "dece"][..], "decentral"),
        (&["live", "dece"], "decentral"),
        (&["threads", "-t", "wor"], "worksteal"),
        (&["switch", "mi"], "mine.weir"),
        (&["run", "-m", "ep"], "epyc-64"),
        (&["run", "-w", "hackb"], "hackbench"),
        (&["run", "-w", "hackbench:gr"], "hackbench:groups="),
        (&["components", "round"], "round_robin"),
        (&["topologies", "dece"], "decentral"),
        (&["run", "--set", "round_robin.sl"], "round_robin.slice="),
        (&["run", "--set", "round_robin.slice="], "round_robin.slice=3ms"),
        (&["run", "--costs", "z"], "zero"),
        (&["advise", "--objective", "totals.dead"], "totals.deadline_misses"),
        (&["shrink", "--fails", "totals.mig"], "totals.migrations"),
        (&["explain", "results", "mix"], "mixer"),
    ] {
        let all = completed(dir.path(), words);
        assert!(all.iter().any(|w| w.starts_with(offered)), "{words:?}: {all:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(runweir(&["completions", shell]).stdout.contains("COMPLETE"), "{shell}");
    }
}
