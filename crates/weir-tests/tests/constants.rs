// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Numbers that Rust writes down once more are those of the C headers. (Layouts of structs are compared in `weir-core`.)

use weir_core::raw::{MAX_CHUNKS, MAX_DEPTH, TASK_CHUNK};
use weir_core::{Class, HEADERS, MAX_CPUS, OpKind, OpRecord, Topic, Unit, What};

/// A header without its comments.
fn header(name: &str) -> String {
    let (_, text) = HEADERS.iter().find(|h| h.0 == name).unwrap_or_else(|| panic!("no header {name}"));
    let mut plain = String::new();
    let mut rest = *text;
    while let Some(at) = rest.find("/*") {
        plain.push_str(&rest[..at]);
        rest = rest[at..].split_once("*/").map_or("", |(_, after)| after);
    }
    plain + rest
}

/// The enumerators of `enum name` without their prefix, in order; none may have a value of its own.
fn enumerators(file: &str, name: &str, prefix: &str) -> Vec<String> {
    let text = header(file);
    let (_, body) = text.split_once(&format!("enum {name} {{")).unwrap_or_else(|| panic!("no enum {name}"));
    let (body, _) = body.split_once('}').expect("it ends");
    let words = body.split(',').map(str::trim).filter(|w| !w.is_empty());
    words
        .inspect(|w| assert!(!w.contains('='), "{name}: {w}"))
        .filter_map(|w| w.strip_prefix(prefix))
        .map(str::to_owned)
        .collect()
}

/// The value of `#define name`, which may have a suffix.
fn define(file: &str, name: &str) -> u32 {
    let text = header(file);
    let value =
        text.lines().find_map(|l| l.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix([' ', '\t']));
    value.and_then(|v| v.trim().trim_end_matches('u').parse().ok()).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn topics_have_their_names_and_numbers() {
    let theirs = enumerators("broker.h", "weir_topic_id", "WEIR_TOPIC_");
    let ours: Vec<&str> = Topic::all().map(Topic::name).collect();
    assert_eq!(ours, theirs);
    assert!(Topic::all().enumerate().all(|(i, t)| t as usize == i));
    assert!(ours.len() <= define("broker.h", "WEIR_MAX_TOPICS") as usize);
}

#[test]
fn operations_have_their_numbers() {
    use OpKind::*;
    let ours = [
        (Lock, "LOCK"),
        (Unlock, "UNLOCK"),
        (Step, "STEP"),
        (StepEnd, "STEP_END"),
        (Link, "LINK"),
        (Unlink, "UNLINK"),
        (Request, "REQUEST"),
        (Notify, "NOTIFY"),
        (Scan, "SCAN"),
        (Burn, "BURN"),
        (Remote, "REMOTE"),
        (Post, "POST"),
    ];

    assert_eq!(ours.map(|o| o.1).to_vec(), enumerators("schedule.h", "weir_op_kind", "WEIR_OP_"));
    assert!(ours.iter().enumerate().all(|(i, o)| o.0 as usize == i));
    let what = enumerators("component.h", "weir_what", "WEIR_");
    let heard = [What::Arrived, What::Picked, What::Left, What::Review];
    for (i, (name, what)) in what.iter().zip(heard).enumerate() {
        let op = OpRecord { kind: Step, object: 0, n: i as u32 };
        assert_eq!((op.what(), name.as_str()), (what, format!("{what:?}").to_uppercase().as_str()));
    }
}

/// What a descriptor says is read as what it means, for one component of each kind and one parameter of each unit.
#[test]
fn kinds_and_units_mean_the_same() {
    let kinds = enumerators("component.h", "weir_class_kind", "WEIR_");
    assert_eq!(kinds, ["FILTER", "ORDER", "DISTRIBUTE", "MERGE", "ANNOTATE", "SERVICE"]);
    assert_eq!(enumerators("component.h", "weir_unit", "WEIR_"), ["NS", "COUNT", "PCT", "BYTES", "FLAG"]);
    let class = |name: &str| {
        let all = &weir_core::catalog().components;
        all.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no component {name}")).clone()
    };
    for (name, kind) in
        [("round_robin", Class::Order), ("load_balancer", Class::Distribute), ("affinity", Class::Annotate)]
    {
        assert_eq!(class(name).class, kind, "{name}");
    }
    let slice = class("round_robin").params.iter().find(|p| p.name == "slice").map(|p| p.unit);
    assert_eq!(slice, Some(Unit::Ns));
}

#[test]
fn sizes_are_the_same() {
    assert_eq!(MAX_CPUS, define("cpumask.h", "WEIR_MAX_CPUS"));
    assert_eq!(MAX_DEPTH, define("topology.h", "WEIR_MAX_DEPTH"));
    assert_eq!(TASK_CHUNK, define("component.h", "WEIR_TASK_CHUNK"));
    assert_eq!(MAX_CHUNKS, define("component.h", "WEIR_MAX_CHUNKS"));
}
