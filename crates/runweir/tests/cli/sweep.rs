// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir sweep`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{good_in, json, program, runweir_in, temp};

const SPEC: &str = r#"
topology = ["edf", { name = "llf slow", topology = "llf", set = { "llf.tick" = "1ms" } }]
machine = "smp-2"
workload = "periodic"
costs = "zero"
seeds = 3
duration = "60ms"
[keys]
tasks = 4
util = { from = "120%", to = "200%", step = "80%" }
[plot]
y = ["success", "preemptions"]
"#;

fn spec(dir: &Path, text: &str) {
    fs::write(dir.join("grid.toml"), text).expect("writable");
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_same_bytes_whatever_the_number_of_jobs() {
    let dir = temp();
    spec(dir.path(), SPEC);
    for jobs in ["1", "3"] {
        good_in(dir.path(), &["sweep", "grid.toml", "--out", jobs, "--jobs", jobs, "-q"]);
    }
    for name in ["results.csv", "summary.csv", "sweep.json", "sweep.html", "success.svg", "preemptions.svg"] {
        assert_eq!(read(dir.path(), &format!("1/{name}")), read(dir.path(), &format!("3/{name}")), "{name}");
    }
    let rows = read(dir.path(), "1/results.csv");
    assert_eq!(rows.lines().count(), 1 + 2 * 2 * 3);
    assert!(rows.starts_with("topology,machine,workload,costs,keys.tasks,keys.util,seed,tasks,"), "{rows}");
}

/// A row is what `run` says of that point.
#[test]
fn a_row_is_the_run_alone() {
    let dir = temp();
    spec(dir.path(), SPEC);
    good_in(dir.path(), &["sweep", "grid.toml", "--out", "o", "-q"]);
    let rows = read(dir.path(), "o/results.csv");
    let heads: Vec<&str> = rows.lines().next().expect("a heading").split(',').collect();
    let row: Vec<&str> = rows.lines().nth(11).expect("the last but one").split(',').collect();
    let cell = |name: &str| row[heads.iter().position(|h| *h == name).expect(name)];
    assert_eq!((cell("topology"), cell("keys.util"), cell("seed")), ("llf slow", "200%", "2"));
    let workload = "periodic:tasks=4,util=200%";
    let alone =
        ["run", "-t", "llf", "--set", "llf.tick=1ms", "-m", "smp-2", "-w", workload, "--costs", "zero"];
    let alone = json(&good_in(dir.path(), &[&alone[..], &["-d", "60ms", "-s", "2", "--json"]].concat()));
    for name in ["jobs", "deadline_misses", "preemptions", "migrations", "context_switches", "busy_ns"] {
        assert_eq!(cell(name), alone["totals"][name].to_string(), "{name}");
    }
    assert_eq!(cell("response_max_ns"), alone["response_ns"]["max"].to_string());
    assert_eq!(cell("events"), alone["events"].to_string());
}

/// A topology with cases took those of the machine's start in a sweep, whatever happened in the run.
#[test]
fn a_topology_reshapes_itself_in_a_sweep_as_in_a_run() {
    let dir = temp();
    let text = "topology = [\"pipeline\", \"headq\"]\nmachine = \"smp-4\"\nworkload = \"pipeline:threads=8,work=4ms,spin=true,cpu=3\"\n\
                costs = \"zero\"\n";
    spec(dir.path(), text);
    good_in(dir.path(), &["sweep", "grid.toml", "--out", "o", "-q"]);
    let rows = read(dir.path(), "o/results.csv");
    let heads: Vec<&str> = rows.lines().next().expect("a heading").split(',').collect();
    // From the right: the workload's own commas are quoted.
    let at = heads.iter().rev().position(|h| *h == "busy_ns").expect("a column");
    let busy: Vec<u64> = rows
        .lines()
        .skip(1)
        .map(|r| r.rsplit(',').nth(at).expect("as many").parse().expect("a number"))
        .collect();
    let workload = "pipeline:threads=8,work=4ms,spin=true,cpu=3";
    let run = ["run", "-t", "pipeline", "-m", "smp-4", "-w", workload, "--costs", "zero", "--json"];
    let alone = json(&good_in(dir.path(), &run));
    // Forward, backward and the end, each by one instance; no stage spins in vain.
    let changes = alone["reconfigurations"].as_array().expect("a list");
    assert!(changes.len() == 3 && changes.iter().all(|c| c["kind"] == "instance"), "{changes:?}");
    assert_eq!(alone["totals"]["busy_ns"], 2 * 8 * 4_000_000);
    assert_eq!(busy[0], 2 * 8 * 4_000_000);
    assert!(busy[1] > 2 * busy[0], "{busy:?}");
}

#[test]
fn a_changed_sweep_is_refused_and_fresh_begins_anew() {
    let dir = temp();
    spec(dir.path(), SPEC);
    good_in(dir.path(), &["sweep", "grid.toml", "--out", "o", "-q"]);
    let again = runweir_in(dir.path(), &["sweep", "grid.toml", "--out", "o"]);
    assert!(again.status == 0 && again.stderr.contains("12 of 12 runs there already"), "{}", again.stderr);
    spec(dir.path(), &SPEC.replace("seeds = 3", "seeds = 2"));
    let refused = runweir_in(dir.path(), &["sweep", "grid.toml", "--out", "o"]);
    assert!(refused.status == 2 && refused.stderr.contains("seeds = 1..3"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--fresh"), "{}", refused.stderr);
    good_in(dir.path(), &["sweep", "grid.toml", "--out", "o", "--fresh", "-q"]);
    assert_eq!(read(dir.path(), "o/results.csv").lines().count(), 9);
}

/// Kill it in the middle; the next one makes the rest, and the result is that of one that was never killed.
#[test]
fn a_killed_sweep_goes_on() {
    let dir = temp();
    spec(dir.path(), &SPEC.replace("seeds = 3", "seeds = 40").replace("60ms", "300ms"));
    let mut child = program(dir.path())
        .args(["sweep", "grid.toml", "--out", "o", "--jobs", "1", "-q"])
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let journal = dir.path().join("o/.runweir-sweep/runs");
    let until = Instant::now() + Duration::from_secs(120);
    while fs::read_to_string(&journal).map_or(0, |t| t.lines().count()) < 5 {
        assert!(Instant::now() < until, "the sweep does not get on");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("ours");
    child.wait().expect("killed");
    assert!(!dir.path().join("o/results.csv").exists());
    // A line of which the end was never written.
    let mut torn = fs::read(&journal).expect("there");
    torn.extend(b"159,4,");
    fs::write(&journal, torn).expect("writable");
    let rest = runweir_in(dir.path(), &["sweep", "grid.toml", "--out", "o"]);
    assert!(rest.status == 0 && rest.stderr.contains("of 160 runs there already"), "{}", rest.stderr);
    good_in(dir.path(), &["sweep", "grid.toml", "--out", "whole", "-q"]);
    assert_eq!(read(dir.path(), "o/results.csv"), read(dir.path(), "whole/results.csv"));
    assert_eq!(read(dir.path(), "o/sweep.json"), read(dir.path(), "whole/sweep.json"));
}

#[test]
fn a_dry_run_lists_and_makes_nothing() {
    let dir = temp();
    spec(dir.path(), SPEC);
    let list = good_in(dir.path(), &["sweep", "grid.toml", "--dry-run", "--out", "o"]);
    assert_eq!(list.lines().count(), 13);
    assert!(list.contains("\n11,llf slow,smp-2,periodic,zero,4,200%,3\n"), "{list}");
    let runs = json(&good_in(dir.path(), &["sweep", "grid.toml", "--dry-run", "--json"]));
    assert_eq!(runs[11]["keys.util"], "200%");
    assert_eq!(fs::read_dir(dir.path()).expect("listable").count(), 1);
}

#[test]
fn without_a_folder_the_summary_is_printed() {
    let dir = temp();
    spec(dir.path(), SPEC);
    let table = good_in(dir.path(), &["sweep", "grid.toml"]);
    assert!(table.contains("no miss") && table.contains("llf slow"), "{table}");
    let summary = json(&good_in(dir.path(), &["sweep", "grid.toml", "--json"]));
    assert_eq!(summary["points"][0]["runs"], 3);
    assert_eq!(summary["points"][0]["mean"]["tasks"], 4.0);
    assert_eq!(fs::read_dir(dir.path()).expect("listable").count(), 1);
}

/// The run ends at the first miss, and counts as one without success.
#[test]
fn runs_may_end_at_their_first_miss() {
    let dir = temp();
    let short = SPEC
        .replace("seeds = 3", "seeds = 3\nstop_at_miss = true")
        .replace("tasks = 4", "tasks = 3\npmax = \"11ms\"");
    spec(dir.path(), &short.replace("120%", "199%").replace("step = \"80%\"", "step = \"1%\""));
    let summary = json(&good_in(dir.path(), &["sweep", "grid.toml", "--json"]));
    let points = summary["points"].as_array().expect("a list");
    for p in points {
        let (failed, duration) = (3 - p["success"].as_u64().expect("a count"), &p["mean"]["duration_ns"]);
        assert_eq!(failed > 0, duration.as_f64().expect("a number") < 60e6, "{p}");
    }
    assert!(points.iter().any(|p| p["success"] != 3), "one heavy set misses under EDF: {summary}");
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let dir = temp();
    for (from, to, says) in [
        ("machine", "mashine", "did you mean `machine`?"),
        ("\"smp-2\"", "\"smp2\"", "there is no machine `smp2`"),
        ("llf.tick", "llf.tik", "the grid point is topology = llf slow"),
        ("200%", "800%", "cannot reach a utilization"),
    ] {
        spec(dir.path(), &SPEC.replacen(from, to, 1));
        let ran = runweir_in(dir.path(), &["sweep", "grid.toml", "--out", "o"]);
        assert!(ran.status == 2 && ran.stderr.contains(says), "{to}: {}", ran.stderr);
        assert!(!dir.path().join("o").exists(), "{to}");
    }
    let ran = runweir_in(dir.path(), &["sweep", "missing.toml"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}

/// Three machines, one of them twice and one interrupted: the same bytes as one machine.
#[test]
fn shards_merged_are_the_sweep() {
    let dir = temp();
    let spec = "topology = [\"edf\", \"rm\"]\nmachine = \"smp-2\"\nworkload = \"periodic\"\ncosts = \"zero\"\nseeds = 4\nduration = \"50ms\"\n[keys]\ntasks = 4\nutil = [\"100%\", \"180%\"]\n";
    std::fs::write(dir.path().join("grid.toml"), spec).expect("writable");
    good_in(dir.path(), &["sweep", "grid.toml", "--out", "whole", "--quiet"]);
    for (shard, out) in [("1/3", "a"), ("2/3", "b"), ("2/3", "again")] {
        good_in(dir.path(), &["sweep", "grid.toml", "--shard", shard, "--out", out, "--quiet"]);
        assert!(!dir.path().join(out).join("results.csv").exists(), "a shard is not a result");
    }
    let merge = |dirs: &[&str]| {
        let args = [&["sweep", "grid.toml", "--merge"], dirs, &["--out", "merged", "--quiet"]].concat();
        runweir_in(dir.path(), &args)
    };
    let ran = merge(&["a", "b"]);
    assert!(
        ran.status == 1 && ran.stderr.contains("5 of 16 runs missing, the first is run 2"),
        "{}",
        ran.stderr
    );
    assert!(!dir.path().join("merged").exists());
    good_in(dir.path(), &["sweep", "grid.toml", "--shard", "3/3", "--out", "c", "--quiet"]);
    // A worker that died while it wrote a line, and one that has another's runs as well.
    let runs = |name: &str| dir.path().join(name).join(".runweir-sweep/runs");
    let mut torn = std::fs::read(runs("again")).expect("there");
    torn.extend(b"9,1,2");
    std::fs::write(runs("again"), torn).expect("writable");
    let ran = merge(&["a", "again", "c", "b"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for file in ["results.csv", "summary.csv", "sweep.json", "sweep.html", "success.svg"] {
        let read = |out: &str| std::fs::read(dir.path().join(out).join(file)).expect("written");
        assert!(read("whole") == read("merged"), "{file}");
    }
    // A machine that computes something else, another sweep, no sweep.
    let text = std::fs::read_to_string(runs("b")).expect("there");
    let (first, rest) = text.split_once('\n').expect("lines");
    let (values, _) = first.rsplit_once(',').expect("a checksum");
    let (head, last) = values.rsplit_once(',').expect("values");
    let other = format!("{head},{}", last.parse::<u64>().expect("a number") + 1);
    let sum = weir_core::planfile::checksum(other.as_bytes());
    std::fs::write(runs("b"), format!("{other},{sum:016x}\n{rest}")).expect("writable");
    let ran = merge(&["again", "b"]);
    assert!(ran.status == 2 && ran.stderr.contains("have different results of run"), "{}", ran.stderr);
    std::fs::write(dir.path().join("grid.toml"), spec.replace("50ms", "60ms")).expect("writable");
    let ran = merge(&["a"]);
    assert!(ran.status == 2 && ran.stderr.contains("another sweep"), "{}", ran.stderr);
    let ran = merge(&["nothing"]);
    assert!(ran.status == 2 && ran.stderr.contains("holds no runs"), "{}", ran.stderr);
    for shard in ["0/3", "4/3", "x", "1/"] {
        let ran = runweir_in(dir.path(), &["sweep", "grid.toml", "--shard", shard, "--out", "z"]);
        assert_eq!(ran.status, 2, "{shard}");
    }
}

/// A queue that makes each task at once, except one that is lost the first time. With Slurm's own programs: tools/test-slurm.sh.
#[test]
fn an_array_of_jobs_gives_the_bytes_of_one_machine() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = temp();
    let spec = "topology = \"edf\"\nmachine = \"smp-2\"\nworkload = \"periodic\"\ncosts = \"zero\"\nseeds = 9\nduration = \"50ms\"\n[keys]\ntasks = 4\nutil = [\"100%\", \"180%\"]\n";
    std::fs::write(dir.path().join("grid.toml"), spec).expect("writable");
    good_in(dir.path(), &["sweep", "grid.toml", "--out", "whole", "--quiet"]);
    let bin = dir.path().join("bin");
    std::fs::create_dir(&bin).expect("writable");
    let tool = |name: &str, text: &str| {
        let file = bin.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("writable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("ours");
    };
    tool(
        "sbatch",
        "for a; do case $a in --array=*) array=${a#--array=};; esac; script=$a; done\n\
         echo \"$array\" >>submitted\n\
         for k in $(echo $array | tr , ' '); do\n\
         [ $k = 2 ] && [ ! -e lost ] && { touch lost; continue; }\n\
         SLURM_ARRAY_TASK_ID=$k sh \"$script\" || exit 1\ndone\necho 77",
    );
    tool("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let sweep = || -> super::Ran {
        let mut command = super::program(dir.path());
        let args = ["sweep", "grid.toml", "--executor", "slurm", "--shards", "4", "--out", "away"];
        command.env("PATH", &path).args(args).output().expect("starts").into()
    };
    let ran = sweep();
    assert!(
        ran.status == 1 && ran.stderr.contains("1 of 4 shards are not complete, the first is 2/4"),
        "{}",
        ran.stderr
    );
    assert!(!dir.path().join("away/results.csv").exists(), "half a sweep is not a result");
    let ran = sweep();
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let submitted = std::fs::read_to_string(dir.path().join("submitted")).expect("written");
    assert_eq!(submitted, "1,2,3,4\n2\n", "what is done is not made again");
    for file in ["results.csv", "summary.csv", "sweep.json", "sweep.html", "success.svg"] {
        let read = |out: &str| std::fs::read(dir.path().join(out).join(file)).expect("written");
        assert!(read("whole") == read("away"), "{file}");
    }
}

#[test]
fn executors_that_are_not_there_are_named() {
    let dir = temp();
    let spec = "topology = \"edf\"\nmachine = \"smp-2\"\nworkload = \"periodic\"\nduration = \"10ms\"\n";
    std::fs::write(dir.path().join("grid.toml"), spec).expect("writable");
    for (executor, words) in [
        ("slurm", "cannot start sbatch"),
        ("dask", "cannot start /nonexistent/python"),
        ("ray", "write dask"),
    ] {
        let ran: super::Ran = super::program(dir.path())
            .env("PATH", "/nonexistent")
            .env("PYTHON", "/nonexistent/python")
            .args(["sweep", "grid.toml", "--executor", executor, "--out", "o"])
            .output()
            .expect("starts")
            .into();
        assert!(ran.status == 2 && ran.stderr.contains(words), "{executor}: {} {}", ran.status, ran.stderr);
        assert!(!dir.path().join("o").exists(), "{executor} leaves a folder");
    }
}
