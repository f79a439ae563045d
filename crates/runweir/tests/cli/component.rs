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
        ("mine_update(struct", "mine_upd(struct", "mine_upd(struct", "there is no entry point `upd`"),
        ("u64 slice;", "u32 slice;", "WEIR_PARAM(mine, slice", "the parameter `slice` is no u64"),
        (
            "struct weir_instance inst;\n\tu64 slice; /* (c) ns */",
            "u64 slice;\n\tstruct weir_instance inst;",
            "u64 slice;",
            "does not begin with its instance",
        ),
        (
            ".publishes = WEIR_TOPIC_BIT(PREEMPT),",
            "",
            "weir_insert_urgent(",
            "does not say that it publishes PREEMPT",
        ),
        (
            ".listens = WEIR_TOPIC_BIT(PRIORITY),",
            "",
            "mine_follow_priority(",
            "does not say that it listens to PRIORITY",
        ),
        (
            "int err;",
            "int err; weir_priv(&self->inst, in->head);",
            "weir_priv(",
            "private memory of a task is used",
        ),
        (
            "NS, 5000000, 100000,",
            "NS, 5000, 100000,",
            "NS, 5000,",
            "the default of `slice` is out of its range",
        ),
        ("return 0;\n}", "return nothing;\n}", "return nothing;", "'nothing' undeclared"),
        (
            "mine_update(struct mine weir_mem *self, ",
            "mine_update(struct mine weir_mem *self, u32 more, ",
            "mine_update(",
            "is not declared as the framework calls it",
        ),
        (
            "u64 priority = weir_property(",
            "u64 priority = weir_prop(",
            "weir_prop(",
            "there is no function `weir_prop`",
        ),
        ("weir_for_change(c, in)", "weir_for_change(d, in)", "weir_for_change(d", "'d' undeclared"),
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
    let loses =
        text.replace("u64 priority = ", "if (c->task->id % 3 == 2)\n\t\t\tcontinue;\n\t\tu64 priority = ");
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
