// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Scenarios, packages and components of one's own, from outside.

use std::path::Path;

use serde_json::Value;

use crate::{Ran, runweir, runweir_in, temp};

fn summary(args: &[&str]) -> Value {
    let ran = runweir(args);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// Source 0, 6.3: overload of beta and underload of alpha reshape the FPGA, and an alpha task leads back.
#[test]
fn the_fpga_follows_its_load() {
    let s = summary(&["run", "--scenario", "fpga", "--checks", "--json"]);
    let done = s["reconfigurations"].as_array().expect("a list");
    let causes: Vec<&str> = done.iter().map(|r| r["cause"].as_str().expect("a text")).collect();
    assert!(causes.len() >= 2 && causes[..2] == ["rule reshape", "rule reshape, back"], "{causes:?}");
    assert!(
        done.iter().all(|r| r["done"] == true && r["kind"] == "topology" && r["pause_ns"].as_u64() > Some(0))
    );
    let first = &done[0];
    assert_eq!((&first["from"], &first["to"]), (&"fpga_watched".into(), &"fpga_reshaped".into()));
    assert!(
        first["diff"].as_array().expect("lines").iter().any(|l| l == "+ split -> load_balancer_2"),
        "{first}"
    );
    assert!(s["cpus"][4]["busy_ns"].as_u64() > Some(100_000_000), "the second beta core works");
    assert!(s["swaps"].as_array().expect("a list").len() == done.len());
    // Without the scenario the beta tasks get less done in the same time.
    let alone = summary(&["run", "-t", "fpga_watched", "-m", "fpga-shell", "-w", "fpga", "--json"]);
    let beta = |s: &Value| -> u64 {
        let groups = s["groups"].as_array().expect("a list");
        groups
            .iter()
            .filter(|g| g["name"].as_str().is_some_and(|n| n.contains("beta")))
            .filter_map(|g| g["cpu_ns"].as_u64())
            .sum()
    };
    assert!(beta(&s) * 10 > beta(&alone) * 13, "{} against {}", beta(&s), beta(&alone));
}

/// The source's own load (figure 6.4a): alpha has no task from the start, and that alone is the other half of the condition. The bug:
/// UNDERLOAD was reported only after an OVERLOAD.
#[test]
fn the_fpga_follows_a_load_that_alpha_never_had() {
    let dir = temp();
    let text = "duration = \"1s\"\n[[task]]\nname = \"beta\"\ncount = 8\nisa = \"beta\"\nloop = \"forever\"\nprogram = \"run 4ms; sleep 2ms\"\n";
    std::fs::write(dir.path().join("beta.toml"), text).expect("writable");
    let ran = runweir_in(dir.path(), &["run", "--scenario", "fpga", "-w", "beta.toml", "--checks", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let s: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let done = s["reconfigurations"].as_array().expect("a list");
    assert!(
        done.len() == 1 && done[0]["cause"] == "rule reshape" && done[0]["to"] == "fpga_reshaped",
        "{done:?}"
    );
    assert!(
        s["cpus"][4]["busy_ns"].as_u64() > Some(900_000_000),
        "the second beta core works from the start"
    );
}

/// The bug: with `annotate tenant` inside the case that waits for TENANT, nobody had the topic, its messages were lost, and the case
/// never came into force although `check` said that each of them was sound. A topology uses the topics in its conditions.
#[test]
fn a_topology_hears_the_topics_in_its_conditions() {
    let dir = temp();
    let topology = "annotate affinity;\nwhen TENANT = 1 {\n annotate tenant;\n entry -> tenant_split -> each part of 2 { load_balancer -> each cpu { round_robin -> cpu } };\n} else {\n entry -> load_balancer -> each cpu { round_robin -> cpu };\n}\n";
    let workload = "[[task]]\nname = \"service\"\nprogram = \"run 3ms; loop { publish TENANT tenant = 1; run 1ms; sleep 1ms }\"\n[[task]]\nname = \"batch\"\ncount = 6\nprogram = \"loop { run 7ms }\"\n";
    std::fs::write(dir.path().join("t.weir"), topology).expect("writable");
    std::fs::write(dir.path().join("w.toml"), workload).expect("writable");
    let ran = runweir_in(
        dir.path(),
        &["run", "-t", "t.weir", "-m", "smp-4", "-w", "w.toml", "-d", "100ms", "--checks", "--json"],
    );
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("lost"), "{}", ran.stderr);
    let s: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let done = s["reconfigurations"].as_array().expect("a list");
    assert!(
        done.len() == 1 && done[0]["cause"] == "rule when1 case 0" && done[0]["done"] == true,
        "{done:?}"
    );
}

#[test]
fn every_scenario_of_the_catalogue_runs_and_nothing_is_refused() {
    let list = runweir(&["scenarios", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    for entry in list.as_array().expect("a list") {
        let name = entry["name"].as_str().expect("a name");
        let dry = runweir(&["run", "--scenario", name, "--dry-run", "--quiet"]);
        assert_eq!(dry.status, 0, "{name}: {}", dry.stderr);
        let s = summary(&["run", "--scenario", name, "--checks", "--json", "--quiet"]);
        let done = s["reconfigurations"].as_array().expect("a list");
        assert!(!done.is_empty() && done.iter().all(|r| r["done"] == true), "{name}: {done:?}");
    }
}

/// `run` of a topology with the scenario `text`, which is put into `dir`.
fn run_under(text: &str, dir: &Path, topology: &str, more: &[&str]) -> Ran {
    std::fs::write(dir.join("s.toml"), text).expect("writable");
    runweir_in(dir, &[&["run", "--scenario", "s.toml", "-t", topology], more].concat())
}

#[test]
fn a_dry_run_shows_what_would_change() {
    let dir = temp();
    let text = "[[at]]\ntime = \"1ms\"\ndo = \"swap instance round_robin = fifo\"\n\
                [[at]]\ntime = \"2ms\"\ndo = [\"set load_balancer.quick = true\", \"swap instance round_robin = fcfs\"]\n\
                [[at]]\ntime = \"3ms\"\ndo = \"replace load_balancer, round_robin with { in -> fifo -> cpus }\"\n\
                [[at]]\ntime = \"4ms\"\ndo = [\"merge overload-watch at entry\", \"cpu 9 offline\"]\n\
                [[at]]\ntime = \"5ms\"\ndo = [\"cpu 0 offline\", \"cpu 1 offline\", \"cpu 3 offline\"]\n\
                [[at]]\ntime = \"6ms\"\ndo = [\"swap decentral\", \"cpu 2 offline\"]\n";
    let ran =
        run_under(text, dir.path(), "decentral", &["-m", "smp-4", "-w", "compute:tasks=4", "--dry-run"]);
    assert_eq!(ran.status, 2);
    insta::assert_snapshot!(format!("{}\n---\n{}", ran.stdout, ran.stderr));
}

/// Parts of a changed topology were once called by numbers, and those of two changes alike.
#[test]
fn what_a_change_brings_is_reported_by_its_name() {
    let dir = temp();
    let text = "[[at]]\ntime = \"5ms\"\ndo = \"replace round_robin with { in -> fifo -> out }\"\n\
                [[at]]\ntime = \"10ms\"\ndo = \"replace fifo with { in -> last :: head_queue -> out }\"\n";
    let ran =
        run_under(text, dir.path(), "decentral", &["-m", "smp-2", "-w", "hackbench:groups=1", "--json"]);
    let s: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let names = |list: &str| -> Vec<String> {
        let list = s[list].as_array().expect("a list");
        list.iter().map(|p| p["name"].as_str().expect("a text").to_string()).collect()
    };
    let pipes = names("pipes");
    for name in ["round_robin@cpu0.out0", "fifo@cpu0.out0", "last@cpu1.out0"] {
        assert_eq!(pipes.iter().filter(|p| *p == name).count(), 1, "{name}: {pipes:?}");
    }
    assert!(names("components").contains(&"fifo@cpu0".to_string()), "{:?}", names("components"));
    assert!(!ran.stdout.contains("pipe 0") && !ran.stdout.contains("instance 0"));
}

#[test]
fn a_workload_may_have_a_scenario() {
    let dir = temp();
    let text = "duration = \"50ms\"\n[[task]]\nname = \"a\"\ncount = 3\nloop = \"forever\"\nprogram = \"run 5ms\"\n\
                [[at]]\ntime = \"20ms\"\ndo = \"swap instance round_robin = fifo\"\n";
    std::fs::write(dir.path().join("w.toml"), text).expect("writable");
    let ran = runweir_in(dir.path(), &["run", "-t", "global_rr", "-m", "smp-2", "-w", "w.toml", "--json"]);
    let s: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let r = &s["reconfigurations"][0];
    assert_eq!(
        (&r["cause"], &r["kind"], &r["to"]),
        (&"step 1".into(), &"instance".into(), &"global_rr*".into())
    );
}

#[test]
fn a_wrong_scenario_is_one_diagnostic() {
    let dir = temp();
    let text = "[[at]]\ntime = \"1ms\"\ndo = \"swp central\"\n";
    let ran = run_under(text, dir.path(), "central", &["-m", "smp-2", "-w", "web"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("unknown verb `swp`") && ran.stderr.contains("did you mean `swap`?"),
        "{}",
        ran.stderr
    );
    let ran = runweir(&["run", "--scenario", "fpgaa"]);
    assert!(ran.status == 2 && ran.stderr.contains("did you mean `fpga`?"), "{}", ran.stderr);
    let ran = runweir(&["run", "-t", "central", "-m", "smp-2", "-w", "web", "--dry-run"]);
    assert!(ran.status == 2 && ran.stderr.contains("no scenario to try"), "{}", ran.stderr);
    let ran = runweir(&["run", "-t", "central", "-m", "smp-2"]);
    assert!(ran.status == 2 && ran.stderr.contains("no workload is named"), "{}", ran.stderr);
}

#[test]
fn packages_are_checked_with_a_topology() {
    let ran = runweir(&["check", "decentral", "-m", "npu-board", "--with", "npu@entry"]);
    assert_eq!(
        (ran.status, ran.stderr.as_str()),
        (0, ""),
        "no CPU of the accelerator is left to the balancer"
    );
    assert!(ran.stdout.contains("decentral: ok on npu-board"), "{}", ran.stdout);
    let ran = runweir(&["check", "decentral", "-m", "npu-board", "--with", "npu@load_balancer.out"]);
    assert!(ran.status == 2 && ran.stderr.contains("stands for 4 pipes"), "{}", ran.stderr);
    let ran = runweir(&["check", "decentral", "--with", "npu"]);
    assert!(ran.status == 2 && ran.stderr.contains("package@port"), "{}", ran.stderr);
}

#[test]
fn graphs_are_compared_in_words() {
    let ran = runweir(&["graph", "decentral", "-m", "smp-4", "--diff", "central"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn a_component_of_ones_own_is_built_loaded_and_run() {
    let dir = temp();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-tests/native/loaded/newest_first.c");
    let built =
        runweir(&["component", "build", source, "-o", dir.path().join("n.so").to_str().expect("UTF-8")]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let said = runweir_in(dir.path(), &["component", "check", "n.so"]);
    assert_eq!(said.stdout, "newest_first: the newest task goes first\n");
    let manual = runweir_in(dir.path(), &["--load", "n.so", "components", "newest_first"]);
    assert!(manual.stdout.contains("newest_first - the newest task goes first"), "{}", manual.stdout);
    std::fs::write(dir.path().join("t.weir"), "annotate affinity;\nentry -> newest_first -> cpus;\n")
        .expect("writable");
    let args =
        ["run", "-t", "t.weir", "-m", "smp-2", "-w", "compute:tasks=4,work=2ms", "--json", "--load", "n.so"];
    let ran = runweir_in(dir.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let text = "[[at]]\ntime = \"1ms\"\ndo = [\"load n.so\", \"swap instance round_robin = newest_first\"]\n\
                [[at]]\ntime = \"2ms\"\ndo = \"unload newest_first\"\n\
                [[at]]\ntime = \"3ms\"\ndo = [\"swap instance round_robin = fifo\", \"unload newest_first\"]\n\
                [[at]]\ntime = \"4ms\"\ndo = \"swap instance round_robin = newest_first\"\n\
                [[at]]\ntime = \"5ms\"\ndo = \"load none.so\"\n";
    let ran = run_under(
        text,
        dir.path(),
        "global_rr",
        &["-m", "smp-2", "-w", "compute:tasks=6,work=5ms", "--json", "--allow-code"],
    );
    let s: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let done: Vec<bool> =
        s["reconfigurations"].as_array().expect("a list").iter().map(|r| r["done"] == true).collect();
    assert_eq!(done, [true, false, true, false, false], "{}", s["reconfigurations"]);
    assert!(s["reconfigurations"][1]["why"].as_str().is_some_and(|w| w.contains("cannot be unloaded")));
    let live = runweir_in(dir.path(), &["--load", "n.so", "live", "t.weir", "--duration", "1s"]);
    assert!(live.status != 0, "{}", live.stdout);
}

/// A workload is data, also where nothing is to run: `load` ran a stranger's code with all rights of the user.
#[test]
fn a_file_loads_no_code_unless_the_command_line_says_so() {
    let dir = temp();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-tests/native/loaded/newest_first.c");
    let object = dir.path().join("n.so");
    let built = runweir(&["component", "build", source, "-o", object.to_str().expect("UTF-8")]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let text = "duration = \"5ms\"\n[[task]]\nname = \"a\"\nrun = \"1ms\"\n\
                [[at]]\ntime = \"1ms\"\ndo = [\"load ./n.so\", \"swap instance round_robin = newest_first\"]\n";
    std::fs::write(dir.path().join("w.toml"), text).expect("writable");
    let run = |more: &[&str]| {
        runweir_in(
            dir.path(),
            &[&["run", "global_rr", "-m", "smp-2", "-w", "w.toml", "--json"], more].concat(),
        )
    };
    let tried = run(&["--dry-run"]);
    assert_eq!(tried.status, 2);
    assert!(
        tried.stderr.contains("native code") && tried.stderr.contains("--load ./n.so"),
        "{}",
        tried.stderr
    );
    for (how, done) in [(&[][..], false), (&["--load", "n.so"], true), (&["--allow-code"], true)] {
        let ran = run(how);
        let s: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr));
        assert_eq!(s["reconfigurations"][0]["done"], done, "{how:?}: {}", s["reconfigurations"]);
    }
}

/// A driver ships a folder: the package and the component that it needs. It comes with the package and goes with it.
#[test]
fn a_package_brings_its_components() {
    let dir = temp();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("writable");
    std::fs::create_dir(dir.path().join("npu")).expect("writable");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-tests/native/loaded/newest_first.c");
    let object = dir.path().join("npu/n.so");
    let built = runweir(&["component", "build", source, "-o", object.to_str().expect("UTF-8")]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let package = |needs: &str| format!("{needs}\npackage newest {{ in -> newest_first -> out }}\n");
    write("npu/good.weir", &package("needs newest_first from \"n.so\";"));
    let check_as = |how: &[&str], with: &str| {
        runweir_in(dir.path(), &[how, &["check", "global_rr", "-m", "smp-2", "--with", with]].concat())
    };
    let check = |with: &str| check_as(&["--allow-code"], with);
    // A package is data, unless the command line says that its code may run.
    let ran = check_as(&[], "npu/good.weir@entry");
    assert!(ran.status == 2 && ran.stderr.contains("--load npu/n.so"), "{}", ran.stderr);
    let ran = check_as(&["--load", "npu/n.so"], "npu/good.weir@entry");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ran = check("npu/good.weir@entry");
    assert_eq!(ran.status, 0, "{}", ran.stderr);

    for (name, needs, says) in [
        ("missing", "needs newest_first from \"m.so\";", "there is no `npu/m.so`"),
        (
            "other",
            "needs oldest_first from \"n.so\";",
            "holds the component `newest_first`, not `oldest_first`",
        ),
        ("taken", "needs fifo from \"n.so\";", "has a component `fifo` of its own"),
        ("text", "needs newest_first from \"good.weir\";", "is refused"),
        ("none", "", "newest_first"),
    ] {
        write(&format!("npu/{name}.weir"), &package(needs));
        let ran = check(&format!("npu/{name}.weir@entry"));
        assert!(ran.status == 2 && ran.stderr.contains(says), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("npu/{name}.weir:")), "{name}: {}", ran.stderr);
    }
    write("npu/oldest.weir", "needs newest_first from \"n.so\";\nentry -> newest_first -> cpus;\n");
    let ran = runweir_in(dir.path(), &["check", "npu/oldest.weir", "-m", "smp-2"]);
    assert!(ran.status == 2 && ran.stderr.contains("this is a package"), "{}", ran.stderr);

    // What is refused leaves nothing loaded; what was unmerged is gone, and is there again when it is merged again.
    write(
        "npu/s.toml",
        "[[at]]\ntime = \"1ms\"\ndo = \"merge good.weir at nowhere\"\n\
         [[at]]\ntime = \"2ms\"\ndo = \"swap instance round_robin = newest_first\"\n\
         [[at]]\ntime = \"3ms\"\ndo = \"merge good.weir at entry\"\n\
         [[at]]\ntime = \"4ms\"\ndo = \"unmerge good\"\n\
         [[at]]\ntime = \"5ms\"\ndo = \"swap instance round_robin = newest_first\"\n\
         [[at]]\ntime = \"6ms\"\ndo = \"merge good.weir at entry\"\n",
    );
    let s: Value = {
        let args = "run --scenario npu/s.toml -t global_rr -m smp-2 -w compute:tasks=6,work=5ms --json --checks --allow-code";
        let ran = runweir_in(dir.path(), &args.split(' ').collect::<Vec<_>>());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr))
    };
    let done: Vec<bool> =
        s["reconfigurations"].as_array().expect("a list").iter().map(|r| r["done"] == true).collect();
    assert_eq!(done, [false, false, true, true, false, true], "{}", s["reconfigurations"]);
}

/// Source 0, 5.6.2: the topology itself says on what it depends, and follows: CPUs that come and go, and POWER.
#[test]
fn a_topology_reshapes_itself() {
    let dir = temp();
    let text = "machine = \"two-of-four\"\nworkload = \"grow-and-shrink\"\n\
                [[at]]\ntime = \"200ms\"\ndo = [\"cpu 2 online\", \"cpu 3 online\"]\n\
                [[at]]\ntime = \"400ms\"\ndo = \"publish POWER = 1\"\n\
                [[at]]\ntime = \"500ms\"\ndo = \"publish POWER = 0\"\n\
                [[at]]\ntime = \"600ms\"\ndo = [\"cpu 1 offline\", \"cpu 2 offline\", \"cpu 3 offline\"]\n";
    let ran = run_under(text, dir.path(), "grows", &["--checks", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let s: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let done: Vec<&Value> = s["reconfigurations"].as_array().expect("a list").iter().collect();
    assert!(done.iter().all(|r| r["done"] == true), "{done:?}");
    let own = done.iter().filter(|r| r["kind"] != "none");
    let steps: Vec<(u64, &str)> = own
        .map(|r| (r["at_ns"].as_u64().expect("a time") / 1_000_000, r["verbs"][0].as_str().expect("a verb")))
        .collect();
    let set = |case: u32| format!("set topology.when1 = {case}");
    let (queues, battery, one) = (set(1), set(0), set(2));
    let times: Vec<&str> = steps.iter().map(|t| t.1).collect();
    assert_eq!(times, [queues.as_str(), &battery, &queues, &one], "{steps:?}");
    for ((at, _), expected) in steps.iter().zip([200, 400, 500, 600]) {
        assert!((expected..=expected + 1).contains(at), "{steps:?}");
    }

    // Each case by itself, and what `check` says of them.
    let ran = runweir(&["check", "grows", "-m", "smp-8"]);
    assert!(
        ran.stdout.contains("case") && ran.stdout.contains("1 when online > 3 (these numbers)"),
        "{}",
        ran.stdout
    );
    let alone = run_under(text, dir.path(), "grows", &["--set", "topology.when1=2", "--json"]);
    let alone: Value = serde_json::from_str(&alone.stdout).expect("JSON");
    assert!(alone["reconfigurations"].as_array().expect("a list").iter().all(|r| r["kind"] == "none"));
}
