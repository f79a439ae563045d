// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `ask`: the knowledge base by the command line. Its queries are tested in `weir::knowledge`.

use std::fs;

use serde_json::{Value, json};

use super::{good, good_in, json as parsed, runweir, runweir_in, temp};

fn answer(args: &[&str]) -> Value {
    parsed(&good(&[&["ask", "--json"], args].concat()))["answer"].clone()
}

/// The examples of source 1: layout, latencies, placement, multicast, devices.
#[test]
fn ten_questions_are_answered_by_name() {
    let dir = temp();
    fs::write(dir.path().join("solver.manifest"), "threads 4\nB 1\nH 40 80\n").expect("writable");
    fs::write(
        dir.path().join("facts.sql"),
        "INSERT INTO device VALUES ('npu0', 'accelerator', 1); INSERT INTO device_cpu VALUES ('npu0', 9);",
    )
    .expect("writable");
    let more = ["-m", "epyc-64", "--manifest", "solver.manifest", "--facts", "facts.sql", "--json"];
    let ask = |words: &[&str]| {
        let text = good_in(dir.path(), &[&["ask"], words, &more].concat());
        parsed(&text)["answer"].clone()
    };
    assert_eq!(ask(&["share", "5", "llc"]), json!([{ "unit": "llc", "count": 16, "cpus": "0-7,64-71" }]));
    assert_eq!(ask(&["near", "0", "1"])[0]["cpu"], 64);
    assert_eq!(ask(&["latency", "0", "127"])[0]["distance"], "remote");
    assert_eq!(ask(&["idle", "3"])[0]["cpu"], 3);
    // Four CPUs of the first cache have a gang: the next sixteen threads get a cache that nobody has.
    let layout = ask(&["layout", "16"]);
    let cpus: Vec<u64> =
        layout.as_array().expect("a list").iter().filter_map(|r| r["cpu"].as_u64()).collect();
    let mut sorted = cpus.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (8..16).chain(72..80).collect::<Vec<u64>>());
    assert_eq!(cpus[..4], [8, 72, 9, 73], "threads of a core are neighbours");
    let spread = ask(&["spread", "4"]);
    let nodes: std::collections::BTreeSet<u64> =
        spread.as_array().expect("a list").iter().filter_map(|r| r["node"].as_u64()).collect();
    assert_eq!(nodes.len(), 4);
    assert_eq!(ask(&["tree", "0"]).as_array().map(Vec::len), Some(127));
    assert_eq!(ask(&["where", "solver"]).as_array().map(Vec::len), Some(4));
    assert_eq!(ask(&["on", "2"])[0]["name"], "solver");
    assert_eq!(ask(&["room", "50"])[0]["count"], 124);
    assert_eq!(ask(&["gangs"])[1]["slot_ns"], 40_000_000);
    assert_eq!(ask(&["devices", "npu0"])[0]["cpus"], "9");
    assert_eq!(ask(&["SELECT count(*) AS n FROM cpu WHERE node = 3"]), json!([{ "n": 32 }]));
}

#[test]
fn the_list_and_the_page_name_all_queries_and_facts() {
    let all = parsed(&good(&["ask", "-m", "smp-1", "--json"]));
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/knowledge.md")).expect("there");
    let text = good(&["ask", "-m", "smp-1"]);
    for query in all["queries"].as_array().expect("a list") {
        let (name, usage) =
            (query["name"].as_str().expect("a name"), query["usage"].as_str().expect("a text"));
        assert!(text.contains(usage), "{usage}");
        assert!(
            page.contains(&format!("`{usage}`")) || page.contains(&format!("`{name}`")),
            "{usage} is not in the page"
        );
    }
    let facts = all["facts"].as_array().expect("a list");
    assert!(facts.len() > 20);
    for fact in facts {
        let name = fact["name"].as_str().expect("a name");
        assert!(page.contains(&format!("`{name}`")), "{name} is not in the page");
    }
}

#[test]
fn this_computer_is_known() {
    let cpus = answer(&["SELECT count(*) AS n, sum(usable) AS usable FROM cpu"]);
    let here = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    assert!(cpus[0]["usable"].as_u64().is_some_and(|n| n >= 1 && n >= here.min(n)), "{cpus}");
    let load = answer(&["load"]);
    assert!(load[0]["busy_percent"].as_f64().is_none_or(|p| (0.0..=100.0).contains(&p)), "{load}");
    assert_eq!(answer(&["layout", "1"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn a_base_is_saved_and_asked_again() {
    let dir = temp();
    assert_eq!(good_in(dir.path(), &["ask", "-m", "opteron-64", "--save", "o.db"]), "");
    let text = good_in(dir.path(), &["ask", "near", "0", "2", "--base", "o.db"]);
    assert!(text.starts_with("cpu  distance") && text.lines().count() == 3, "{text}");
    let empty = good_in(dir.path(), &["ask", "where", "nobody", "--base", "o.db"]);
    assert_eq!(empty, "nothing\n");
}

#[test]
fn what_is_wrong_is_said() {
    let dir = temp();
    fs::write(dir.path().join("bad.sql"), "DROP TABLE cpu").expect("writable");
    fs::write(dir.path().join("text"), "text").expect("writable");
    for (args, words) in [
        (&["ask", "neer", "-m", "smp-2"][..], "did you mean `near`"),
        (&["ask", "near", "-m", "smp-2"], "write: runweir ask near CPU [N]"),
        (&["ask", "near", "2", "-m", "smp-2"], "there is no CPU 2 here"),
        (&["ask", "layout", "3", "-m", "smp-2"], "3 CPUs cannot be chosen from 2"),
        (&["ask", "DELETE FROM cpu", "-m", "smp-2"], "it is not allowed to do that"),
        (&["ask", "SELECT nosuch", "-m", "smp-2"], "no such column"),
        (&["ask", "load", "-m", "smp-2", "--measure"], "it is a description"),
        (&["ask", "load", "-m", "smp-2", "--facts", "bad.sql"], "bad.sql: it is not allowed"),
        (&["ask", "load", "-m", "smp-2", "--facts", "missing.sql"], "missing.sql"),
        (&["ask", "load", "--base", "text"], "is not a knowledge base"),
        (&["ask", "load", "--base", "missing"], "there is no such file"),
        (&["ask", "load", "--base", "text", "-m", "smp-2"], "--base"),
        (&["ask", "-m", "smp-2", "--save", "no/folder/x.db"], "cannot be written"),
    ] {
        let ran = runweir_in(dir.path(), args);
        assert!(ran.status == 2 && ran.stderr.replace('\n', " ").contains(words), "{args:?}: {}", ran.stderr);
    }
    let ran = runweir(&["ask", "gangs", "-m", "smp-2", "--manifest", "/nowhere"]);
    assert!(ran.status == 2 && ran.stderr.contains("/nowhere"), "{}", ran.stderr);
}
