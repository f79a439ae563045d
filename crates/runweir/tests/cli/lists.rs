// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `components`, `topologies`, `machines`, `workloads`: everything listed is usable as listed.

use super::{good, json, runweir};

fn names(command: &str) -> Vec<String> {
    let list = json(&good(&[command, "--json"]));
    let rows = list["components"].as_array().or(list.as_array()).expect("a list").clone();
    rows.iter().map(|r| r["name"].as_str().expect("a name").to_string()).collect()
}

#[test]
fn every_component_has_a_manual() {
    let table = good(&["components"]);
    for name in names("components") {
        assert!(table.contains(&name), "{name} is not listed");
        let manual = good(&["components", &name]);
        assert!(manual.starts_with(&name) && manual.contains("file: components/"), "{name}: {manual}");
        assert_eq!(json(&good(&["components", &name, "--json"]))["name"], name.as_str());
    }
}

#[test]
fn every_topology_is_described_and_shown_as_it_is() {
    let rows = json(&good(&["topologies", "--json"]));
    for row in rows.as_array().expect("a list") {
        let name = row["name"].as_str().expect("a name");
        assert!(!row["summary"].as_str().expect("a text").is_empty(), "{name} has no first comment line");
        let text = good(&["topologies", name]);
        let source =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../topologies/{name}.weir"));
        assert_eq!(text, std::fs::read_to_string(source).expect("readable"), "{name}");
    }
}

#[test]
fn machines_are_described() {
    for name in names("machines").iter().filter(|n| *n != "smp-N" && *n != "host") {
        let text = good(&["machines", name]);
        assert!(text.starts_with(&format!("{name}: ")) && text.contains("CPU"), "{name}: {text}");
        let m = json(&good(&["machines", name, "--json"]));
        assert!(m["cpus"].as_array().is_some_and(|c| !c.is_empty()), "{name}");
    }
    assert!(good(&["machines"]).contains("smp-N"));
    assert!(good(&["machines", "smp-3"]).contains("3 CPUs"));
}

#[test]
fn machines_answer_which_cpus_are_near() {
    let m = json(&good(&["machines", "epyc-64", "--near", "0", "--pick", "16", "--json"]));
    let all = &m["latencies"];
    assert_eq!(all["measured"], false);
    // The sibling first; sixteen CPUs are the threads of a last-level cache.
    assert_eq!(all["near"]["others"][0]["cpu"], 64);
    assert_eq!(all["near"]["others"].as_array().map(Vec::len), Some(127));
    let picked: Vec<u64> = (0..8).chain(64..72).collect();
    assert_eq!(all["pick"]["cpus"], serde_json::json!(picked));
    let text = good(&["machines", "epyc-64", "--near", "0"]);
    assert!(text.contains("CPU 1-7,65-71") && text.contains("common last-level cache"), "{text}");
    for (args, words) in [
        (&["machines", "epyc-64", "--measure"][..], "it is a description"),
        (&["machines", "smp-4", "--near", "4"], "there is no CPU 4"),
        (&["machines", "smp-4", "--pick", "5"], "5 CPUs cannot be chosen from 4"),
    ] {
        let ran = runweir(args);
        assert!(ran.status == 2 && ran.stderr.contains(words), "{}", ran.stderr);
    }
}

/// Two CPUs answer each other, wherever there are two.
#[test]
fn this_computer_is_measured() {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        return;
    }
    let ran = runweir(&["machines", "host", "--measure", "--pick", "2", "--json"]);
    if ran.status == 1 {
        // Where a computer has so much to do that its CPUs never met.
        assert!(ran.stderr.contains("no answer between CPU"), "{}", ran.stderr);
        return;
    }
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let all = json(&ran.stdout)["latencies"].clone();
    assert_eq!(all["measured"], true);
    let ns = all["one_way_ns"][0][1].as_f64().expect("a number");
    assert!(ns > 0.1 && all["one_way_ns"][1][0] == all["one_way_ns"][0][1], "{all}");
    assert_eq!(all["pick"]["cpus"].as_array().map(Vec::len), Some(2));
}

#[test]
fn workloads_and_generators_are_described() {
    for name in names("workloads") {
        let text = good(&["workloads", &name]);
        assert!(text.contains(name.trim_end_matches(":…")), "{name}: {text}");
        good(&["workloads", &name, "--json"]);
    }
    let hackbench = good(&["workloads", "hackbench"]);
    assert!(hackbench.contains("groups") && hackbench.contains("loops"), "{hackbench}");
}

#[test]
fn every_workload_of_the_catalogue_has_a_description() {
    for row in json(&good(&["workloads", "--json"])).as_array().expect("a list") {
        assert!(!row["summary"].as_str().expect("a text").is_empty(), "{row}");
    }
    for row in json(&good(&["machines", "--json"])).as_array().expect("a list") {
        assert!(!row["summary"].as_str().expect("a text").is_empty(), "{row}");
    }
}

#[test]
fn completions_and_man_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(good(&["completions", shell]).contains("runweir"), "{shell}");
    }
    let dir = super::temp();
    super::good_in(dir.path(), &["man", "pages"]);
    let page = std::fs::read_to_string(dir.path().join("pages/runweir-run.1")).expect("made");
    assert!(page.contains("topology"), "{page}");
    for heading in [".SH SYNOPSIS", ".SH EXAMPLES", ".SH NOTES"] {
        assert!(page.contains(heading), "{heading}");
    }
    let synopsis =
        page.split(".SH SYNOPSIS").nth(1).and_then(|t| t.split(".SH").next()).expect("there is one");
    for option in ["\\fB\\-\\-duration\\fR \\fITIME\\fR", "\\fB\\-\\-out\\fR \\fIDIR\\fR"] {
        assert!(synopsis.contains(option), "{option} in {synopsis}");
    }
    assert!(!page.contains(".SH EXTRA"), "no heading without a meaning");
}

#[test]
fn the_version_says_what_the_program_can_do() {
    let first = format!("runweir {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(good(&["-V"]), first);

    let long = good(&["--version"]);
    assert!(long.starts_with(&first), "{long}");
    for word in ["\ncommit ", "\nparts ", "\nkernels  Linux 6."] {
        assert!(long.contains(word), "{word} in {long}");
    }
}
