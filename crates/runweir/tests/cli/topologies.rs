// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `check`, `graph` and `fmt`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::{Ran, good, good_in, json, program, runweir, runweir_in, temp};

const WEIR: &str =
    "// Two queues.\nannotate affinity;\nentry -> load_balancer -> each cpu { head_queue -> cpu };\n";

#[test]
fn check_takes_several_and_says_ok() {
    let text = good(&["check", "decentral", "central"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().all(|l| l.contains(": ok on smp-")), "{text}");
    let found = json(&good(&["check", "decentral", "--json"]));
    assert_eq!((&found[0]["ok"], &found[0]["topology"]), (&true.into(), &"decentral".into()));
}

#[test]
fn check_goes_on_after_a_wrong_file() {
    let dir = temp();
    fs::write(dir.path().join("bad.weir"), "entry -> nonsense -> cpus;\n").expect("writable");
    let ran = runweir_in(dir.path(), &["check", "bad.weir", "decentral"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stdout.contains("decentral: ok"), "{}", ran.stdout);
    assert!(ran.stderr.contains("bad.weir:1:"), "{}", ran.stderr);
}

#[test]
fn a_topology_may_come_from_stdin() {
    let feed = |args: &[&str], text: &str| -> Ran {
        let mut child = program(temp().path())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .current_dir("/")
            .spawn()
            .expect("the program starts");
        child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("read");
        child.wait_with_output().expect("ends").into()
    };
    let ran = feed(&["check", "-"], WEIR);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ran = feed(&["fmt", "-"], "entry->  head_queue->cpus ;");
    assert_eq!(ran.stdout, "entry -> head_queue -> cpus;\n");
}

#[test]
fn graph_writes_what_the_ending_says() {
    let dir = temp();
    for (file, begins) in [("g.svg", "<"), ("g.dot", "digraph"), ("g.mmd", "flowchart"), ("g.tex", "%")] {
        good_in(dir.path(), &["graph", "decentral", "-o", file]);
        let text = fs::read_to_string(dir.path().join(file)).expect("written");
        let body = text
            .lines()
            .find(|l| !l.starts_with("//") && !l.starts_with("%%") && !l.starts_with("<?"))
            .expect("text");
        assert!(body.trim_start().starts_with(begins), "{file}: {body}");
    }
    // In pixels where there is what makes them, else a word about it and no file.
    let png = runweir_in(dir.path(), &["graph", "decentral", "-o", "g.png"]);
    match fs::read(dir.path().join("g.png")) {
        Ok(bytes) => assert!(png.status == 0 && bytes.starts_with(b"\x89PNG"), "{}", png.stderr),
        Err(_) => {
            assert!(png.status == 2 && png.stderr.contains("apt-get install librsvg2-bin"), "{}", png.stderr)
        }
    }
    good_in(dir.path(), &["graph", "decentral", "-o", "g.pdf"]);
    assert!(fs::read(dir.path().join("g.pdf")).expect("written").starts_with(b"%PDF"));
    assert!(good(&["graph", "decentral"]).contains("digraph"), "DOT goes to stdout");
    assert!(good(&["graph", "decentral", "--format", "svg"]).contains("<svg"));
}

/// Guests stand inside their host, and those inside them in theirs.
#[test]
fn graph_draws_guests_inside() {
    let dir = temp();
    let text = "[[guest]]\nname = \"vm\"\ncpus = 2\ntopology = \"eevdf\"\n[[guest]]\nname = \"app\"\nguest = \"vm\"\n\
                topology = \"single\"\n[[task]]\nname = \"a\"\nguest = \"app\"\nrun = \"1ms\"\n";
    std::fs::write(dir.path().join("w.toml"), text).expect("writable");
    let dot = good_in(dir.path(), &["graph", "decentral", "-m", "smp-2", "-w", "w.toml"]);
    let at = |what: &str| dot.find(what).unwrap_or_else(|| panic!("{what}:\n{dot}"));
    let (vm, app) = (at("subgraph cluster_guest0"), at("subgraph cluster_guest1"));
    assert!(vm < app && dot[vm..app].matches("  }").count() == 0, "one in the other:\n{dot}");
    at("label=\"vm: eevdf\"");
    at("label=\"app: single\"");
    at("vm/cpu0 to cpu1");
    assert_eq!(dot.matches("subgraph").count(), dot.matches("\n  }").count(), "{dot}");
    let ran = runweir(&["graph", "decentral", "-w", "virtual", "--format", "svg"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let ran = runweir(&["graph", "decentral", "-w", "hackbench"]);
    assert!(ran.status == 2 && ran.stderr.contains("has no guests"), "{}", ran.stderr);
}

#[test]
fn graph_refuses_an_unknown_ending() {
    let ran = runweir(&["graph", "decentral", "-o", "g.gif"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains(".svg, .pdf, .tex, .png, .dot, .mmd"), "{}", ran.stderr);
}

#[test]
fn fmt_rewrites_checks_and_keeps_comments() {
    let dir = temp();
    let file = dir.path().join("x.weir");
    fs::write(&file, "// kept\nentry->head_queue   -> cpus;").expect("writable");
    let ran = runweir_in(dir.path(), &["fmt", "--check", "x.weir"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, "x.weir\n"), "{}", ran.stderr);
    good_in(dir.path(), &["fmt", "x.weir"]);
    assert_eq!(fs::read_to_string(&file).expect("there"), "// kept\nentry -> head_queue -> cpus;\n");
    good_in(dir.path(), &["fmt", "--check", "x.weir"]);
}

#[test]
fn fmt_leaves_a_wrong_file_alone_and_does_the_others() {
    let dir = temp();
    fs::write(dir.path().join("bad.weir"), "entry -> -> cpus").expect("writable");
    fs::write(dir.path().join("good.weir"), "entry->head_queue->cpus;").expect("writable");
    let ran = runweir_in(dir.path(), &["fmt", "bad.weir", "good.weir"]);
    assert_eq!(ran.status, 2);
    assert_eq!(fs::read_to_string(dir.path().join("bad.weir")).expect("there"), "entry -> -> cpus");
    assert_eq!(
        fs::read_to_string(dir.path().join("good.weir")).expect("there"),
        "entry -> head_queue -> cpus;\n"
    );
}

#[test]
fn includes_are_found_beside_the_file() {
    let dir = temp();
    fs::create_dir(dir.path().join("lib")).expect("writable");
    fs::write(dir.path().join("lib/notes.weir"), "annotate affinity;\n").expect("writable");
    fs::write(
        dir.path().join("main.weir"),
        "include \"lib/notes.weir\";\nentry -> load_balancer -> each cpu { head_queue -> cpu };\n",
    )
    .expect("writable");
    good_in(dir.path(), &["check", "main.weir"]);
    good_in(temp().path(), &["check", dir.path().join("main.weir").to_str().expect("UTF-8")]);
}

#[test]
fn the_whole_catalogue_is_formatted() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies");
    let mut files: Vec<String> = fs::read_dir(dir)
        .expect("listable")
        .map(|e| e.expect("listable").path().display().to_string())
        .filter(|p| p.ends_with(".weir"))
        .collect();
    files.sort();
    let args: Vec<&str> = ["fmt", "--check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    assert_eq!(good(&args), "");
}

#[test]
fn compile_writes_a_plan_that_says_what_it_is() {
    let dir = temp();
    good_in(dir.path(), &["compile", "priority", "-m", "smp-2", "-o", "p.plan"]);
    let plan = fs::read(dir.path().join("p.plan")).expect("written");
    assert_eq!(&plan[..8], b"WEIRPLAN");
    assert_eq!(u64::from_le_bytes(plan[16..24].try_into().expect("eight bytes")), plan.len() as u64);
    let text = String::from_utf8_lossy(&plan);
    assert!(text.contains("priority_order") && text.contains("load_balancer"));
    good_in(dir.path(), &["compile", "priority", "-m", "smp-2", "-o", "again.plan"]);
    assert_eq!(fs::read(dir.path().join("again.plan")).expect("written"), plan, "the same bytes each time");
}

#[test]
fn compile_refuses_what_c_runtimes_do_not_have() {
    let dir = temp();
    fs::write(dir.path().join("r.weir"), "entry -> rusty -> cpus;\n").expect("writable");
    let ran = runweir_in(dir.path(), &["compile", "r.weir", "-m", "smp-1", "-o", "r.plan"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("not written in C"), "{}", ran.stderr);
    assert!(!dir.path().join("r.plan").exists());
}
