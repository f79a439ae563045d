// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A message about a task reaches the instances that lead to its CPU, and no other, unless they say that they hear all
//! (docs/decisions/0037). Plugins are for the native port.

#![cfg(not(feature = "strict"))]

use weir_core::{HEADERS, MachineShape, TaskId, Topic, loaded};
use weir_glue::plugin;
use weir_tests::{Lab, root};

const CPUS: u32 = 70;
const TEXT: &str = "annotate affinity; entry -> load_balancer -> each cpu { NAME -> cpu };";

/// How often the instances of the task's CPU heard of it since it got `before`, and how often the others.
fn heard(lab: &mut Lab, t: TaskId, before: u64) -> (u64, u64) {
    let counted = lab.ask(Topic::Slice, t).expect("the framework answers").value - before;
    (counted % 1000, counted / 1000)
}

fn deliveries(name: &str, declaration: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(root().join("crates/weir-tests/native/loaded/hearer.c"))
        .expect("the component is there")
        .replace("hearer", name)
        .replace(".cls = WEIR_ORDER,", &format!(".cls = WEIR_ORDER, {declaration}"));
    let source = folder.path().join(format!("{name}.c"));
    std::fs::write(&source, text).expect("writable");
    let object = folder.path().join(format!("{name}.so"));
    let done = plugin::build(&source, HEADERS, &folder.path().join(name), &object, "cc", None)
        .expect("a C compiler");
    assert!(done.ok, "{}", done.said);
    loaded::load(&object).unwrap_or_else(|e| panic!("{e}"));
    let all = !declaration.is_empty();
    {
        let mut lab = Lab::from_text(&TEXT.replace("NAME", name), MachineShape::flat(CPUS)).expect("sound");
        for cpu in [0, 1, 63, 64, CPUS - 1] {
            let t = lab.create(0).expect("memory");
            lab.affinity(t, [cpu].into_iter().collect()).expect("possible");
            lab.notify_value(Topic::Deadline, t, 5).expect("possible");
            let before = lab.ask(Topic::Slice, t).expect("the framework answers").value;
            assert_eq!(heard(&mut lab, t, before), (0, 0));
            lab.admit(0, t).expect("new");
            let picked = lab.pick(cpu).expect("no error").expect("it waits there");
            assert_eq!(picked.task, t);
            let before = lab.ask(Topic::Slice, t).expect("the framework answers").value;
            lab.notify_value(Topic::Deadline, t, 7).expect("possible");
            lab.block(t).expect("it runs");
            let others = if all { u64::from(CPUS) - 1 } else { 0 };
            assert_eq!(heard(&mut lab, t, before), (2, others * 2), "CPU {cpu}");
        }
    }
    loaded::unload(name).unwrap_or_else(|e| panic!("nobody uses it: {e}"));
}

#[test]
fn a_message_reaches_those_that_lead_to_its_cpu() {
    deliveries("hearer", "");
}

#[test]
fn who_hears_all_says_so() {
    deliveries("eavesdropper", ".hears_all = WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(DEADLINE),");
}
