// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Every command that help texts, man pages, the README and the pages show is run, as far as it can be without a kernel, a
//! recording or root. (`sudo runweir switch fair` stood in four texts, and there is no topology `fair`; the README's last line
//! named a file that nobody has.) The unit tests of the program see that all of them are understood.

use std::fs;
use std::path::Path;
use std::time::Instant;

#[path = "../../src/examples.rs"]
#[allow(dead_code)]
mod texts;

use super::{good_in, runweir_in, temp};
use texts::{Example, of, pages, root};

/// Commands that are run; the others need a kernel, another program, a terminal or a browser, or write into the place
/// where they are called.
const RUN: [&str; 22] = [
    "run",
    "compare",
    "check",
    "graph",
    "compile",
    "topologies",
    "components",
    "machines",
    "workloads",
    "scenarios",
    "packages",
    "explain",
    "analyze",
    "stubs",
    "fmt",
    "tour",
    "gantt",
    "sweep",
    "guard",
    "tune",
    "import",
    "completions",
];

/// What readers have themselves when they come to the examples.
fn own_files(dir: &Path) {
    let copy = |from: &str, to: &str| {
        fs::copy(root().join(from), dir.join(to)).expect("a file of the catalogue");
    };
    copy("topologies/decentral.weir", "my.weir");
    copy("workloads/video.json", "app.json");
    copy("machines/desktop.xml", "lstopo.xml");
    copy("machines/desktop.xml", "mine.xml");
    for folder in ["workloads", "machines", "topologies"] {
        fs::create_dir(dir.join(folder)).expect("a new folder");
    }
    copy("workloads/video.json", "workloads/video.json");
    copy("machines/desktop.xml", "machines/desktop.xml");
    let own = [
        (
            "app.toml",
            "name = \"app\"\n[[task]]\nname = \"web\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n\
             [[task]]\nname = \"high\"\nperiod = \"4ms\"\nwcet = \"1ms\"\npolicy = \"fifo\"\npriority = 9\n",
        ),
        (
            "inversion.toml",
            "mutexes = { m = \"none\" }\n\
             [[task]]\nname = \"low\"\nprogram = \"lock m; run 4ms; unlock m\"\n\
             [[task]]\nname = \"high\"\npolicy = \"fifo\"\nstart = \"1ms\"\nprogram = \"lock m; run 1ms; unlock m\"\n",
        ),
        ("switch.toml", "context_switch = \"2us\"\n"),
        (
            "grid.toml",
            "topology = [\"edf\", \"p-edf\"]\nmachine = \"smp-2\"\nworkload = \"periodic\"\ncosts = \"zero\"\nseeds = 2\n\
             duration = \"20ms\"\n[keys]\ntasks = 4\nutil = [\"150%\", \"190%\"]\n",
        ),
        (
            "guard.toml",
            "topology = \"decentral\"\nmachine = \"smp-2\"\nworkload = \"video\"\nduration = \"20ms\"\nseeds = 1\n\
             [[check]]\nname = \"misses\"\nmetric = \"totals.deadline_misses\"\nmax = 100000\n",
        ),
        (
            "tune.toml",
            "machine = \"smp-2\"\nworkload = \"app.toml\"\nduration = \"20ms\"\nseeds = 1\ntrials = 2\nheld_out = 2\n\
             topology = [\"decentral\", \"worksteal\"]\n",
        ),
        ("set.csv", "name,period (ms),wcet (us),deadline (ms)\ncamera,10,2500,8\nmotor,2,400,\n"),
    ];
    for (name, text) in own {
        fs::write(dir.join(name), text).expect("a new file");
    }
    copy("workloads/virtual.toml", "virtual.toml");
    copy("crates/weir-trace/tests/recordings/hackbench.perf.data", "perf.data");
    copy("crates/weir-trace/tests/recordings/hackbench-v7.dat", "trace.dat");
}

/// Short enough for a test: at most so much virtual time.
fn shortened(words: &[String]) -> Vec<String> {
    let mut words: Vec<String> = words.to_vec();
    let bounded = matches!(words[0].as_str(), "run" | "compare");
    let dry = words.iter().any(|w| w == "--dry-run" || w == "--scenario");
    if bounded && !dry {
        match words.iter().position(|w| w == "-d" || w == "--duration") {
            Some(at) => words[at + 1] = "20ms".into(),
            None => words.extend(["-d", "20ms"].map(String::from)),
        }
        if let Some(at) = words.iter().position(|w| w == "--seeds") {
            words[at + 1] = "2".into();
        }
    }
    words
}

/// Where the page itself says that the file is made in an earlier step, or elsewhere.
fn needs_more(dir: &Path, example: &Example) -> bool {
    let ends = [
        ".toml",
        ".xml",
        ".json",
        ".weir",
        ".data",
        ".dat",
        ".pftrace",
        ".c",
        ".so",
        ".manifest",
        ".csv",
        ".png",
    ];
    let mut after_output = false;
    example.words.iter().any(|w| {
        let made = std::mem::replace(&mut after_output, w == "-o" || w == "--out" || w == "--output");
        !made && ends.iter().any(|e| w.ends_with(e)) && !w.contains('*') && !dir.join(w).exists()
    })
}

#[test]
fn examples_run_as_they_are_printed() {
    let (mut ran, mut left) = (0, Vec::new());
    let made = temp();
    good_in(made.path(), &["docs", "."]);
    let made = ["help.md", "reference.md"].map(|page| made.path().join(page));
    for page in pages().into_iter().chain(made) {
        // Of an experiment's own commands only the list is short.
        if page.components().any(|c| c.as_os_str() == "experiments") {
            continue;
        }
        let dir = temp();
        own_files(dir.path());
        for example in of(&page) {
            let Some(command) = example.words.first() else { continue };
            // Searches take minutes in a build for tests; they have tests of their own.
            let searches = command == "analyze" && !example.words.iter().any(|w| w == "--schedulability");
            let endless = searches
                || example.words.iter().any(|w| w.contains('*'))
                || example
                    .words
                    .iter()
                    .any(|w| matches!(w.as_str(), "--measure" | "--serve" | "--load" | "--executor" | "-"));
            if !RUN.contains(&command.as_str()) || endless || example.piped {
                continue;
            }
            // What is in the folder of the reader of this page.
            let of_a_run = matches!(command.as_str(), "explain" | "gantt" | "import");
            if of_a_run && example.words.iter().any(|w| w.starts_with("results")) {
                // An earlier command of the page made it, or will have in the reader's hands.
                good_in(
                    dir.path(),
                    &[
                        "run", "-t", "edf", "-m", "smp-2", "-w", "app.toml", "-d", "60ms", "-q", "--out",
                        "results",
                    ],
                );
            }
            // Services that no recording of ours has.
            let theirs = example
                .words
                .iter()
                .any(|w| w.contains("nginx") || w.contains("request_begin") || w.contains("cc1"));
            if theirs || needs_more(dir.path(), &example) {
                left.push(example.place.clone());
                continue;
            }
            let words = shortened(&example.words);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let began = Instant::now();
            let done = runweir_in(dir.path(), &words);
            let took = began.elapsed();
            assert_eq!(done.status, 0, "{}: runweir {}:\n{}", example.place, words.join(" "), done.stderr);
            ran += 1;
            if took.as_secs() >= 10 {
                println!("{}: {took:?}", example.place);
            }
        }
    }
    println!("{ran} ran; without a file that the page makes: {left:?}");
    assert!(ran > 40, "only {ran} examples were found");
    assert!(left.len() < 16, "too many name files that no test has: {left:?}");
}

/// The pages say on which kernels it runs in the same words as the program.
#[test]
fn kernels_are_named_in_the_same_words() {
    let code = fs::read_to_string(root().join("crates/weir-linux/src/diagnose.rs")).expect("our source");
    let words =
        code.split("macro_rules! kernels").nth(1).and_then(|t| t.split('"').nth(1)).expect("the words");
    for page in ["docs/live.md", "docs/gangs.md", "docs/tutorial.md"] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        assert!(text.contains(words), "{page} does not say: {words}");
    }
    let short = words.split(" (").next().expect("there is always one");
    assert!(
        fs::read_to_string(root().join("README.md")).expect("a page").contains(short),
        "README.md: {short}"
    );
}

/// The table in the README is what the demonstration prints, and the experiment that it names is one whose claims hold.
#[test]
fn the_readme_shows_what_happens() {
    let readme = fs::read_to_string(root().join("README.md")).expect("a page");
    let dir = temp();
    own_files(dir.path());
    let args = [
        "compare",
        "-t",
        "decentral",
        "-t",
        "priority",
        "-m",
        "machines/desktop.xml",
        "-w",
        "workloads/video.json",
    ];
    let shown = good_in(dir.path(), &args);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = shown.lines().map(words).collect();
    let table =
        readme.split("video on desktop\n").nth(1).and_then(|t| t.split("```").next()).expect("the table");
    for line in table.lines().map(words).filter(|l| !l.is_empty() && l != "…") {
        assert!(printed.contains(&line), "README.md has `{line}`, which is not in\n{shown}");
    }
    let page = fs::read_to_string(root().join("experiments/RESULTS.md")).expect("a page");
    for id in readme.split("runweir reproduce ").skip(1).filter_map(|t| t.split_whitespace().next()) {
        let Some(row) = page.lines().find(|l| l.starts_with(&format!("| [{id}]"))) else { continue };
        assert!(
            row.contains(" 0 partly, 0 do not") && !row.contains(" 0 hold,"),
            "README.md names {id}: {row}"
        );
    }
}

/// What `make install` puts somewhere, `make uninstall` takes away, and nothing else.
#[test]
fn uninstall_leaves_nothing() {
    let dir = temp();
    let prefix = dir.path().join("usr");
    let tool = root().join("tools/install.sh");
    let call = |args: &[&std::ffi::OsStr]| {
        let done = std::process::Command::new("bash")
            .arg(&tool)
            .args(args)
            .current_dir(root())
            .output()
            .expect("bash");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let program = assert_cmd::cargo::cargo_bin!("runweir");
    call(&[program.as_os_str(), prefix.as_os_str()]);
    for file in ["bin/runweir", "share/man/man1/runweir-run.1", "share/runweir/grafana/runweir.json"] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    let other = prefix.join("bin/another");
    fs::write(&other, "").expect("a file");
    call(&["--remove".as_ref(), prefix.as_os_str()]);
    assert!(other.is_file() && !prefix.join("share").exists(), "only what is not ours stays");
    fs::remove_file(&other).expect("it is there");
    good_in(dir.path(), &["topologies", "decentral"]);
}
