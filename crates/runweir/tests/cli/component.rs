// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir component …`: from a skeleton to a component that is tested, and what is said of one that is wrong.

use std::path::Path;

use crate::{Ran, runweir_in, temp};

const KINDS: [&str; 6] = ["order", "filter", "distribute", "merge", "annotate", "service"];

fn new(dir: &Path, name: &str, kind: &str) -> String {
    let made = runweir_in(dir, &["component", "new", name, "--kind", kind]);
    assert_eq!((made.status, made.stdout.as_str()), (0, ""), "{}", made.stderr);
    std::fs::read_to_string(dir.join(format!("{name}.c"))).expect("written")
}

fn test(dir: &Path, file: &str) -> Ran {
    runweir_in(dir, &["component", "test", file, "--cpus", "4", "--cases", "12"])
}

#[test]
fn every_skeleton_builds_and_passes_its_tests() {
    let dir = temp();
    for kind in KINDS {
        let name = format!("my_{kind}");
        new(dir.path(), &name, kind);
        let tested = test(dir.path(), &format!("{name}.c"));
        assert_eq!((tested.status, tested.stderr.as_str()), (0, ""), "{kind}: {}", tested.stdout);
        assert!(tested.stdout.contains(&format!("{name}.wtest: passed\n")), "{}", tested.stdout);
        assert!(tested.stdout.contains("the law on 4 CPUs: holds"), "{}", tested.stdout);
        let built = runweir_in(dir.path(), &["component", "build", &format!("{name}.c")]);
        assert_eq!((built.status, built.stderr), (0, format!("written: {name}.so\n")));
    }
    let again = runweir_in(dir.path(), &["component", "new", "my_order", "--kind", "order"]);
    assert!(
        again.status == 2 && again.stderr.contains("there is a file my_order.c already"),
        "{}",
        again.stderr
    );
    for wrong in ["Mine", "9lives", "a-b", "edf"] {
        let made = runweir_in(dir.path(), &["component", "new", wrong, "--kind", "order"]);
        assert_eq!(made.status, 2, "{wrong}: {}", made.stderr);
    }
}

/// Each mistake is one diagnostic at the author's line, and nothing is written.
#[test]
fn a_wrong_component_is_refused_at_the_line_that_is_wrong() {
    let dir = temp();
    let text = new(dir.path(), "mine", "order");
    for (old, new, place, message) in [
        (
            "WEIR_COMPONENT(mine,",
            "WEIR_COMPONENT(yours,",
            "WEIR_COMPONENT(yours",
            "called `yours`, and its file `mine.c`",
        ),
        ("mine_step(struct", "mine_stp(struct", "mine_stp(struct", "there is no entry point `stp`"),
        ("u64 slice;", "u32 slice;", "WEIR_PARAM(mine, slice", "the parameter `slice` is not a u64"),
        (
            "struct weir_instance inst;\n\tu64 slice; /* (c) ns */",
            "u64 slice;\n\tstruct weir_instance inst;",
            "u64 slice;",
            "does not begin with its instance",
        ),
        (
            ".publishes = WEIR_TOPIC_BIT(PREEMPT),",
            "",
            "weir_place_urgent(",
            "does not say that it publishes PREEMPT",
        ),
        (
            ".listens = WEIR_TOPIC_BIT(PRIORITY),",
            "",
            ".reviews = WEIR_TOPIC_BIT(PRIORITY)",
            "reviews tasks on PRIORITY, to which it does not listen",
        ),
        ("weir_use(what);", "weir_priv(&self->inst, t);", "weir_priv(", "private memory of a task is used"),
        (
            "NS, 5000000, 100000,",
            "NS, 5000, 100000,",
            "NS, 5000,",
            "the default of `slice` is out of its range",
        ),
        ("weir_use(what);", "weir_use(nothing);", "weir_use(nothing);", "'nothing' undeclared"),
        (
            "mine_step(struct mine weir_mem *self, ",
            "mine_step(struct mine weir_mem *self, u32 more, ",
            "mine_step(",
            "is not declared as the framework calls it",
        ),
        (
            "u64 priority = weir_property(",
            "u64 priority = weir_prop(",
            "weir_prop(",
            "there is no function `weir_prop`",
        ),
        // What the descriptor then promises in vain only follows from the slip.
        ("weir_place_urgent(", "weir_plac_urgent(", "weir_plac_urgent(", "did you mean `weir_place_urgent`?"),
        // Of the interface before 1.0: told once, with what to write.
        ("u32 mine_step(", "int mine_update(", "mine_update(", "u32 mine_step(struct mine weir_mem *self"),
        (
            "weir_place_urgent(s, ",
            "weir_insert_urgent(s, ",
            "weir_insert_urgent(",
            "of the interface before 1.0; now: return weir_place_urgent(step, key)",
        ),
    ] {
        let broken = text.replacen(old, new, 1);
        assert_ne!(broken, text, "{old}");
        std::fs::write(dir.path().join("mine.c"), &broken).expect("writable");
        let built = runweir_in(dir.path(), &["component", "build", "mine.c"]);
        assert_eq!(built.status, 2, "{new}: {}", built.stderr);
        assert_eq!(built.stderr.matches("error:").count(), 1, "{new}: {}", built.stderr);
        assert!(built.stderr.contains(message), "{new}: {}", built.stderr);
        let at = broken.find(place).expect("it is there");
        let line = broken[..at].matches('\n').count() + 1;
        assert!(built.stderr.contains(&format!("mine.c:{line}:")), "{new}, line {line}: {}", built.stderr);
        assert!(!built.stderr.contains("plugin.c") && !built.stderr.contains("/tmp/"), "{}", built.stderr);
        assert!(!dir.path().join("mine.so").exists());
    }
    let nothing = runweir_in(dir.path(), &["component", "build", "none.c"]);
    assert!(nothing.status == 2 && nothing.stderr.contains("cannot read `none.c`"), "{}", nothing.stderr);
}

/// A component that loses every third task, and a script that wants what is not so.
#[test]
fn a_component_that_breaks_the_law_is_shown_with_the_shortest_history() {
    let dir = temp();
    let text = new(dir.path(), "mine", "order");
    let loses = text.replace("weir_use(what);", "if (t->id % 3 == 2)\n\t\treturn WEIR_WITHHOLD;");
    std::fs::write(dir.path().join("mine.c"), loses).expect("writable");
    let script = dir.path().join("mine.wtest");
    let wanted = std::fs::read_to_string(&script).expect("written").replace("pick 0 = c", "pick 0 = a");
    std::fs::write(&script, wanted).expect("writable");
    let tested = test(dir.path(), "mine.c");
    assert_eq!(tested.status, 1, "{}", tested.stderr);
    assert!(
        tested.stderr.contains("mine.wtest fails: ") && tested.stderr.contains("mine.wtest:14"),
        "{}",
        tested.stderr
    );
    assert!(tested.stderr.contains("should hold [0, 1, 2], holds [0, 1]"), "{}", tested.stderr);
    // Three tasks are enough, and nothing less is.
    assert!(tested.stderr.contains("after 3 steps:") && tested.stderr.contains("Admit"), "{}", tested.stderr);
    assert!(tested.stderr.contains("`mine` breaks the law on 4 CPUs"), "{}", tested.stderr);
}

/// `mine`, an order with more code in its step from 0.3 ms on, built, with a topology that uses it.
fn broken(dir: &Path, code: &str) {
    let text = new(dir, "mine", "order");
    let more = format!("if (weir_now(self->inst.sched) > 300000) {{\n{code}\n\t}}\n");
    std::fs::write(dir.join("mine.c"), text.replace("weir_use(what);", &more)).expect("writable");
    let built = runweir_in(dir, &["component", "build", "mine.c"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    std::fs::write(dir.join("t.weir"), "annotate priority;\nentry -> m :: mine -> cpus;\n")
        .expect("writable");
}

const RUN: [&str; 13] = [
    "run",
    "--load",
    "mine.so",
    "-t",
    "t.weir",
    "-m",
    "smp-2",
    "-w",
    "hackbench:groups=1,loops=100",
    "--json",
    "--quiet",
    "--out",
    "o",
];

/// A component that ends its process in the field ends a run here: with its name, and what had happened is kept.
#[test]
fn a_component_that_crashes_or_hangs_ends_the_run_with_its_name() {
    for (code, what) in [
        ("((volatile u64 *)(64 * self->slice))[t->id] = 1;", "it used memory that is not there (SIGSEGV"),
        ("weir_store(&self->slice, self->slice / (self->slice >> 50));", "it divided by zero (SIGFPE)"),
        ("__builtin_trap();", "it ran into an instruction that ends programs (SIGILL)"),
        ("while (self->slice)\n\t\t\t;", "an endless loop"),
        (
            "weir_spin_lock(&self->inst.lock);\n\t\t\tweir_spin_lock(&self->inst.lock);",
            "it waits for a lock that nobody will release",
        ),
        // A step is taken under that lock.
        ("weir_pipe_lock(weir_out(&self->inst, 0));", "it waits for a lock that nobody will release"),
    ] {
        let dir = temp();
        broken(dir.path(), code);
        let ran = runweir_in(dir.path(), &RUN);
        assert_eq!(ran.status, 1, "{code}: {}", ran.stderr);
        let said = ran.stderr.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("component `mine` ended the run: ") && said.contains(what), "{code}: {said}");
        assert!(said.contains("instance `m`, in `mine_step`, with task `"), "{code}: {said}");
        let s: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let crash = &s["crash"];
        assert!(
            crash["component"] == "mine" && crash["instance"] == "m" && crash["function"] == "mine_step",
            "{crash}"
        );
        let at = crash["at_ns"].as_u64().expect("a time");
        assert!(at > 300_000 && s["duration_ns"] == at && s["interrupted"] == true, "{crash}");
        assert!(s["totals"]["context_switches"].as_u64().is_some_and(|n| n > 10), "{}", s["totals"]);
        let trace = std::fs::metadata(dir.path().join("o/trace.pftrace")).expect("it is kept").len();
        assert!(trace > 3_000, "{trace}");
    }
}

#[test]
fn a_component_that_keeps_a_lock_ends_the_run_with_its_name() {
    let dir = temp();
    let text = new(dir.path(), "mine", "order");
    let text = text.replace(
        "BIT(PRIORITY),\n\t       .reviews",
        "BIT(PRIORITY) | WEIR_TOPIC_BIT(DISPATCH),\n\t       .reviews",
    );
    let on = "\nWEIR_ENTRY int mine_on_dispatch(struct mine weir_mem *self, const struct weir_msg *msg)\n\
              {\n\treturn weir_steps_lock(&self->inst);\n}\n";
    std::fs::write(dir.path().join("mine.c"), text + on).expect("writable");
    let built = runweir_in(dir.path(), &["component", "build", "mine.c"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    std::fs::write(dir.path().join("t.weir"), "annotate priority;\nentry -> m :: mine -> cpus;\n")
        .expect("writable");
    let ran = runweir_in(dir.path(), &RUN);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let said = ran.stderr.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("it came back with 1 pipe locked (instance `m`, in `mine_on_dispatch`"), "{said}");
}

#[test]
fn a_component_whose_steps_fail_is_named_and_fails_the_run_unless_that_is_allowed() {
    let dir = temp();
    broken(
        dir.path(),
        "if (!(self->slice++ & 7))\n\t\t\treturn weir_step_failed(&self->inst, t, -WEIR_EINVAL);",
    );
    let ran = runweir_in(dir.path(), &RUN);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let s: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let f = &s["faults"][0];
    assert!(f["component"] == "mine" && f["instance"] == "m" && f["error"] == "WEIR_EINVAL", "{f}");
    assert!(f["first_ns"].as_u64().is_some_and(|t| t > 300_000) && f["count"].as_u64() > Some(3), "{f}");
    assert!(ran.stderr.contains("component `mine` returned WEIR_EINVAL"), "{}", ran.stderr);
    let mut allowed = RUN.to_vec();
    allowed.retain(|a| *a != "--json" && *a != "--quiet");
    allowed.push("--allow-faults");
    let ran = runweir_in(dir.path(), &allowed);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let line = ran.stdout.lines().find(|l| l.contains("WEIR_EINVAL")).unwrap_or_default();
    assert!(line.contains("mine") && ran.stdout.contains("faults"), "{}", ran.stdout);
    let well =
        runweir_in(dir.path(), &["run", "-t", "central", "-m", "smp-2", "-w", "web", "-d", "5ms", "--json"]);
    let s: serde_json::Value = serde_json::from_str(&well.stdout).expect("JSON");
    assert!(s["faults"] == serde_json::json!([]) && s.get("crash").is_none());
}

/// The only task of a machine wakes, and the step cannot do its work: the task goes on as the stage before left it.
#[test]
fn a_task_does_not_wait_for_ever_after_a_fault() {
    let dir = temp();
    let text = new(dir.path(), "mine", "order");
    std::fs::write(dir.path().join("t.weir"), "annotate priority;\nentry -> m :: mine -> cpus;\n")
        .expect("writable");
    let load = "[[task]]\nname = \"a\"\nstart = \"1ms\"\nrun = \"1ms\"\n";
    std::fs::write(dir.path().join("w.toml"), load).expect("writable");
    let fails = "if (self->slice++ < 5000001)\n\t\treturn weir_step_failed(&self->inst, t, -WEIR_ENOMEM);";
    std::fs::write(dir.path().join("mine.c"), text.replace("weir_use(what);", fails)).expect("writable");
    let built = runweir_in(dir.path(), &["component", "build", "mine.c"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let words = "run --load mine.so t.weir -m smp-1 -w w.toml -d 1s --checks --json --quiet --allow-faults";
    let ran = runweir_in(dir.path(), &words.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let s: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(s["faults"][0]["count"], 1, "{}", s["faults"]);
    let t = &s["tasks"][0];
    assert!(t["cpu_ns"].as_u64().is_some_and(|ns| ns >= 1_000_000), "{t}");
}

/// The diagnostic for a component that nobody knows says what to do with the file of its name beside the topology.
#[test]
fn a_component_that_lies_beside_the_topology_is_pointed_at() {
    let dir = temp();
    std::fs::create_dir(dir.path().join("d")).expect("writable");
    new(&dir.path().join("d"), "mine", "order");
    let text = "annotate priority;\nentry -> mine -> cpus;\n";
    std::fs::write(dir.path().join("d/t.weir"), text).expect("writable");
    let said = runweir_in(dir.path(), &["check", "d/t.weir"]);
    assert_eq!(said.status, 2);
    let words = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = "d/mine.c is next to the topology: build it with `runweir component build d/mine.c`, and load it with `--load d/mine.so`";
    assert!(words.contains(help), "{words}");
    let built = runweir_in(dir.path(), &["component", "build", "d/mine.c"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let said = runweir_in(dir.path(), &["check", "d/t.weir", "--load", "d/mine.so"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    // For simulations only: the kernel's part is not there.
    let live = runweir_in(dir.path(), &["live", "d/t.weir", "--load", "d/mine.so", "--duration", "1s"]);
    assert_ne!(live.status, 0, "{}", live.stdout);
}

/// Every command takes the topology in its place and behind -t.
#[test]
fn the_topology_may_stand_in_its_place_or_behind_an_option() {
    let dir = temp();
    let rest: [(&str, &[&str]); 6] = [
        ("run", &["-m", "smp-2", "-w", "web", "-d", "2ms", "--json"]),
        ("compare", &["-m", "smp-2", "-w", "web", "-d", "2ms", "--seeds", "2", "--json"]),
        ("check", &[]),
        ("graph", &["-m", "smp-2"]),
        ("compile", &["-m", "smp-2", "-o", "plan"]),
        ("analyze", &["-m", "smp-2", "-w", "periodic:tasks=4,util=50%", "--schedulability", "--json"]),
    ];
    let timeless = |text: String| {
        text.lines().filter(|l| !l.contains("wall_ns")).map(|l| format!("{l}\n")).collect::<String>()
    };
    for (command, rest) in rest {
        let place = runweir_in(dir.path(), &[&[command, "edf"], rest].concat());
        let option = runweir_in(dir.path(), &[&[command, "-t", "edf"], rest].concat());
        let long = runweir_in(dir.path(), &[&[command, "--topology", "edf"], rest].concat());
        for ran in [&place, &option, &long] {
            assert_eq!(ran.status, 0, "{command}: {}", ran.stderr);
        }
        assert_eq!(timeless(place.stdout), timeless(option.stdout), "{command}");
    }
    for command in ["live", "switch", "vm"] {
        for spelled in [&[command, "no-such-policy"][..], &[command, "-t", "no-such-policy"]] {
            let mut args = spelled.to_vec();
            if command == "vm" {
                args.extend(["--", "true"]);
            }
            let ran = runweir_in(dir.path(), &args);
            assert!(ran.status == 2 && ran.stderr.contains("no-such-policy"), "{args:?}: {}", ran.stderr);
        }
    }
    let both = runweir_in(dir.path(), &["run", "edf", "-t", "edf", "-m", "smp-2", "-w", "web"]);
    assert!(both.status == 2 && both.stderr.contains("cannot be used with"), "{}", both.stderr);
}
