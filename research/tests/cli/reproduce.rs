// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir reproduce`.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{good, good_in, json, program, runweir, runweir_in, temp};

/// All experiments of the list.
fn ids() -> Vec<String> {
    let list = json(&good(&["reproduce", "--json"]));
    let list = list.as_array().expect("a list");
    list.iter().map(|e| e["id"].as_str().expect("a word").to_string()).collect()
}

/// Those of which a full run is on record: what needs tools that are missing here has nothing else to give.
fn recorded() -> Vec<String> {
    let list = json(&good(&["reproduce", "--json"]));
    let with_claims = |e: &&serde_json::Value| e["claims"].as_array().is_some_and(|c| !c.is_empty());
    let list = list.as_array().expect("a list");
    list.iter().filter(with_claims).map(|e| e["id"].as_str().expect("a word").to_string()).collect()
}

#[test]
fn without_an_id_it_lists_the_experiments() {
    let text = good(&["reproduce"]);
    for id in ids() {
        assert!(text.contains(&id), "{text}");
    }
    assert!(text.contains("section 8.5") && text.contains("last verdicts"), "{text}");
    assert!(text.contains("a full run takes"), "{text}");
}

#[test]
fn an_unknown_experiment_is_the_users_error() {
    let ran = runweir(&["reproduce", "cobas-8.55", "--quick"]);
    assert!(ran.status == 2 && ran.stderr.contains("did you mean `cobas-8.5`"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    let ran = runweir(&["reproduce", "nonsense"]);
    assert!(ran.status == 2 && ran.stderr.contains("no experiment called `nonsense`"), "{}", ran.stderr);
    assert_eq!(runweir(&["reproduce", "--quick"]).status, 2);
}

/// The whole list in its reduced form: what continuous integration runs.
#[test]
fn all_experiments_run_quickly_and_leave_their_files() {
    let dir = temp();
    let text = good_in(dir.path(), &["reproduce", "--all", "--quick", "--out", "o"]);
    let page = fs::read_to_string(dir.path().join("o/RESULTS.md")).expect("written");
    assert!(page.contains("reduced sweeps"), "{page}");
    for id in recorded() {
        assert!(text.contains(&id) && page.contains(&format!("## {id}")), "{id}");
        let folder = dir.path().join("o").join(&id);
        let record = json(&fs::read_to_string(folder.join("result.json")).expect("written"));
        let claims = record["claims"].as_array().expect("a list");
        assert!(!claims.is_empty() && record["quick"] == true, "{record}");
        for claim in claims {
            let verdict = claim["verdict"].as_str().expect("a word");
            assert!(
                ["holds", "partly", "does not hold", "calibrated", "vacuous", "own", "not judged"]
                    .contains(&verdict),
                "{claim}"
            );
            assert!(!claim["here"].as_str().expect("text").contains("NaN"), "{claim}");
        }
        let files: Vec<&str> =
            record["files"].as_array().expect("a list").iter().filter_map(|f| f.as_str()).collect();
        // What was not measured now has no files; else there are data, and a picture where a curve says more.
        let recorded = record["notes"][0].as_str().is_some_and(|n| n.starts_with("Nothing was measured now"));
        let draws = !["heat", "llf", "unified"].iter().any(|source| id.starts_with(source));
        assert!(recorded || files.iter().any(|f| f.ends_with(".csv")), "{files:?}");
        assert!(recorded || !draws || files.iter().any(|f| f.ends_with(".svg")), "{files:?}");
        for file in files {
            let bytes = fs::read_to_string(folder.join(file)).expect("written");
            assert!(bytes.lines().count() > 1 && !bytes.contains("NaN"), "{id}/{file}");
        }
    }
}

#[test]
fn the_same_bytes_whatever_the_number_of_jobs() {
    let dir = temp();
    for jobs in ["1", "3"] {
        good_in(dir.path(), &["reproduce", "8.3", "--quick", "-q", "--jobs", jobs, "--out", jobs]);
    }
    for file in ["data.csv", "ways.csv", "makespan.svg", "result.json"] {
        let read = |jobs: &str| fs::read(dir.path().join(jobs).join(file)).expect("written");
        assert!(read("1") == read("3"), "{file}");
    }
}

#[test]
fn json_holds_claims_and_data() {
    let v = json(&good(&["reproduce", "cobas-8.3", "--quick", "--json"]));
    assert_eq!(v["id"], "cobas-8.3");
    assert_eq!(v["claims"][0]["verdict"], "holds");
    assert!(v["tables"]["data"][0]["makespan_ms"].is_number(), "{v}");
}

#[test]
fn an_interrupted_experiment_leaves_nothing() {
    let dir = temp();
    let child = program(dir.path())
        .args(["reproduce", "cobas-8.5", "--out", "o"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The scratch folder is made just before the handler is installed.
    let until = Instant::now() + Duration::from_secs(60);
    while fs::read_dir(dir.path()).expect("listable").count() == 0 {
        assert!(Instant::now() < until, "the experiment did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let status =
        Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(status.success());
    let output = child.wait_with_output().expect("ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("nothing is written"), "{stderr}");
    assert_eq!(fs::read_dir(dir.path()).expect("listable").count(), 0);
}

#[test]
fn a_folder_of_others_is_refused() {
    let dir = temp();
    fs::write(dir.path().join("mine.txt"), "x").expect("writable");
    let ran = runweir_in(dir.path(), &["reproduce", "cobas-8.3", "--quick", "--out", "."]);
    assert!(ran.status == 2 && ran.stderr.contains("mine.txt"), "{}", ran.stderr);
}
