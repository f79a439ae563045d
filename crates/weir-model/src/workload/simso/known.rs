// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Attributes that both SimSo's parser and ours ignore, and data for schedulers.

use roxmltree::Node;

use super::xml;
use crate::workload::build::Builder;

const SIMULATION: &[&str] =
    &["duration", "cycles_per_ms", "etm", "use_wcet", "penalty_preemption", "penalty_migration"];
const SCHED: &[&str] = &["class", "className", "overhead", "overhead_activate", "overhead_terminate"];
const PROCESSORS: &[&str] = &["migration_overhead"];
const PROCESSOR: &[&str] = &["name", "id", "cl_overhead", "cs_overhead", "speed"];
const CACHES: &[&str] = &["memory_access_time"];
const TASK: &[&str] = &[
    "name",
    "id",
    "task_type",
    "periodic",
    "abort_on_miss",
    "period",
    "activationDate",
    "instructions",
    "mix",
    "stack",
    "WCET",
    "ACET",
    "et_stddev",
    "deadline",
    "base_cpi",
    "followed_by",
    "list_activation_dates",
    "preemption_cost",
    "priority",
];

/// Warn of what is written in the file and has no effect.
pub(super) fn check(builder: &mut Builder, root: &Node<'_, '_>) {
    attributes(builder, root, SIMULATION, &[]);
    if let Some(sched) = xml::child(root, "sched") {
        attributes(builder, &sched, SCHED, &[]);
        for name in fields(&sched) {
            builder.warn(format!(
                "parameter `{name}` of the scheduler has no effect: set those of the topology with --set"
            ));
        }
    }
    if let Some(caches) = xml::child(root, "caches") {
        attributes(builder, &caches, CACHES, &[]);
    }
    for (list, element, known) in [("processors", "processor", PROCESSOR), ("tasks", "task", TASK)] {
        let Some(list) = xml::child(root, list) else { continue };
        attributes(builder, &list, if element == "processor" { PROCESSORS } else { &[] }, &[]);
        let data = fields(&list);
        for name in data.iter().filter(|n| !known.contains(n)) {
            builder.warn(format!(
                "field `{name}` of {element}s has no effect: it is data for schedulers of SimSo's own"
            ));
        }
        for node in list.children().filter(|n| n.has_tag_name(element)) {
            attributes(builder, &node, known, &data);
        }
    }
}

fn fields<'a>(node: &Node<'a, '_>) -> Vec<&'a str> {
    node.children().filter(|n| n.has_tag_name("field")).filter_map(|n| n.attribute("name")).collect()
}

fn attributes(builder: &mut Builder, node: &Node<'_, '_>, known: &[&str], data: &[&str]) {
    for attribute in node.attributes() {
        let name = attribute.name();
        if !known.contains(&name) && !data.contains(&name) {
            builder.warn(format!(
                "`{}` has no attribute `{name}` that SimSo knows: it has no effect",
                node.tag_name().name()
            ));
        }
    }
}
