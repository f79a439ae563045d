// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Figures of runs: what is drawn is what the run did.

use weir::gantt::{GanttOptions, gantt};
use weir::{OutDir, PreparedRun, RunOptions, Setting, Unwatched};
use weir_report::picture::{Format, Picture, RED, Shape};

const SET: &str = "name,period (ms),wcet (ms),deadline (ms)\nfast,10,4,10\nslow,25,16,20\n";

fn run(dir: &std::path::Path) -> String {
    let set = dir.join("set.csv");
    std::fs::write(&set, SET).expect("writable");
    let folder = dir.join("run");
    let options = RunOptions {
        setting: Setting {
            machine: Some("smp-1".into()),
            workload: Some(set.to_string_lossy().into_owned()),
            duration_ns: Some(100_000_000),
            costs: Some("zero".into()),
            ..Setting::default()
        },
        topology: Some("rm".into()),
        seed: 1,
        ..RunOptions::default()
    };
    let prepared = PreparedRun::new(&options).expect("a run");
    let out = OutDir::prepare(&folder, false).expect("a new folder");
    prepared.run(Some(&out), &Unwatched).expect("it runs");
    out.commit().expect("written");
    folder.to_string_lossy().into_owned()
}

fn texts(p: &Picture) -> Vec<&str> {
    p.shapes
        .iter()
        .filter_map(|s| if let Shape::Text { text, .. } = s { Some(text.as_str()) } else { None })
        .collect()
}

#[test]
fn a_figure_has_rows_releases_deadlines_and_misses() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = run(dir.path());
    let options = GanttOptions { dir: folder.clone().into(), ..GanttOptions::default() };
    let whole = gantt(&options).expect("a figure");
    let shown = texts(&whole);
    for word in ["fast", "slow", "release", "deadline", "missed", "waits", "20 ms"] {
        assert!(shown.contains(&word), "{word}: {shown:?}");
    }
    // `slow` gets 6 ms of each 10: at 20 ms it has 12 of its 16. That it misses is red.
    let red =
        |p: &Picture| p.shapes.iter().filter(|s| matches!(s, Shape::Path { line: Some(RED), .. })).count();
    assert!(red(&whole) > 3, "{}", red(&whole));
    let early =
        gantt(&GanttOptions { span_ns: Some((0, 15_000_000)), ..options.clone() }).expect("its beginning");
    assert_eq!(red(&early), 1, "only the legend's");
    // Bars add up to the time that ran: 4 of 10 ms, and `slow` the rest.
    let fast = gantt(&GanttOptions { groups: vec!["fast".into()], ..options.clone() }).expect("one row");
    assert!(!texts(&fast).contains(&"slow"));
    let (one, two) = (
        fast.bytes(Format::Pdf),
        gantt(&GanttOptions { groups: vec!["fast".into()], ..options.clone() })
            .expect("again")
            .bytes(Format::Pdf),
    );
    assert_eq!(one, two, "the same bytes");
    assert!(whole.bytes(Format::Tex).starts_with(b"% rm on smp-1"));
}

/// A change of the scheduler is a line with its pause; played, the bars are uncovered from left to right.
#[test]
fn a_switch_under_load_is_drawn_and_played() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("run");
    let options = RunOptions {
        scenario: Some("rescue".into()),
        setting: Setting { duration_ns: Some(150_000_000), ..Setting::default() },
        seed: 1,
        ..RunOptions::default()
    };
    let out = OutDir::prepare(&folder, false).expect("a new folder");
    PreparedRun::new(&options).expect("a run").run(Some(&out), &Unwatched).expect("it runs");
    out.commit().expect("written");
    let options = GanttOptions {
        dir: folder,
        span_ns: Some((100_000_000, 140_000_000)),
        groups: vec!["sound".into(), "compositor".into()],
        play: Some(8.0),
    };
    let picture = gantt(&options).expect("a figure");
    let words = texts(&picture);
    assert!(words.iter().any(|w| w.starts_with("decentral to priority: pause ")), "{words:?}");
    let place = |name: &str| words.iter().position(|w| w.starts_with(name));
    assert!(place("sound") < place("compositor"), "in the order of the groups: {words:?}");
    assert!(picture.svg().contains("@keyframes") && !picture.bytes(Format::Pdf).is_empty());
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = run(dir.path());
    let refused = |options: GanttOptions, words: &str| {
        let fault = gantt(&options).expect_err(words);
        assert!(fault.to_string().contains(words) && fault.diags[0].remedy().is_some(), "{fault}");
    };
    let options = GanttOptions { dir: folder.clone().into(), ..GanttOptions::default() };
    refused(
        GanttOptions { span_ns: Some((200_000_000, 300_000_000)), ..options.clone() },
        "the run lasts 100 ms",
    );
    refused(GanttOptions { groups: vec!["none".into()], ..options }, "no task whose name begins with `none`");
    std::fs::write(std::path::Path::new(&folder).join("jobs.csv"), "a,b\n1,2\n").expect("writable");
    refused(GanttOptions { dir: folder.into(), ..GanttOptions::default() }, "no column `task`");
}
