// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `[[dag]]`: tasks with precedence. Each node becomes a task of its own.

use super::table::Table;
use super::times;
use super::{count_of_jobs, most_computing, on_miss, policy_name, priority};
use crate::error::{Error, did_you_mean};
use crate::workload::build::{Builder, repeat};
use crate::workload::{Dag, DagNode, OnMiss, Op, TaskSpec, Timing};

/// Keys of a `[[dag]]`.
pub(super) const KEYS: &[&str] = &[
    "name", "count", "group", "guest", "policy", "nice", "priority", "cpus", "period", "deadline", "offset",
    "jitter", "sporadic", "jobs", "on_miss", "nodes", "edges",
];

/// Most nodes of a graph.
const MAX_NODES: usize = 10_000;

/// Read one graph and add its tasks, which are called `graph.node`.
pub(super) fn dag(builder: &mut Builder, table: &Table<'_>) -> Result<(), Error> {
    let Some(name) = table.string("name", "\"vision\"")?.filter(|n| !n.is_empty()) else {
        return Err(table.error("a graph has no name", "add `name = \"vision\"`"));
    };
    let period_ns = match table.ns("period")? {
        Some(ns) if ns > 0 => ns,
        _ => return Err(table.error(format!("the graph `{name}` has no period"), "add `period = \"50ms\"`")),
    };
    let deadline_ns = table.ns("deadline")?.unwrap_or(period_ns);
    if deadline_ns == 0 {
        return Err(table.wrong(
            "deadline",
            "a deadline of 0",
            "write how long after its release all must end",
        ));
    }
    let late = on_miss(table)?;
    if late == OnMiss::Skip {
        let help = "choose `abort`, which throws all that is late away, or `continue`";
        return Err(table.wrong("on_miss", "a graph cannot skip jobs", help));
    }
    let nodes = nodes(table, name)?;
    let shape = edges(table, name, &nodes)?;
    let release = Op::Release {
        offset_ns: table.ns("offset")?.unwrap_or(0),
        period_ns,
        deadline_ns,
        jitter_ns: table.ns("jitter")?.unwrap_or(0),
        extra_ns: table.ns("sporadic")?.unwrap_or(0),
    };
    let jobs = count_of_jobs(table)?;
    let group = table.string("group", "\"vision\"")?.unwrap_or(name);
    let cpus = table.cpus("cpus")?;
    let count = table.count("count", 1, u64::from(u32::MAX))?.unwrap_or(1);
    builder
        .room_for_tasks(count.saturating_mul(nodes.len() as u64))
        .and_then(|()| builder.room_for_ops(count.saturating_mul(5 * nodes.len() as u64)))
        .map_err(|e| e.at(table.source.name, table.source.text, table.place("count")))?;
    let kind = policy_name(table)?;
    for i in 0..count {
        let name = if count == 1 { name.to_string() } else { format!("{name}-{i}") };
        let index = builder.workload.dags.len() as u32;
        for (k, (node, run)) in nodes.iter().enumerate() {
            let timing =
                Timing { period_ns, deadline_ns, wcet_ns: most_computing(std::slice::from_ref(run)) };
            let (policy, priority) = priority(table, kind, Some(timing))?;
            let join = Op::Join { dag: index, node: k as u32 };
            let program = builder.program(repeat(jobs, vec![release.clone(), join, run.clone()]))?;
            builder.task(TaskSpec {
                name: format!("{name}.{node}"),
                group: group.to_string(),
                start_ns: Some(0),
                policy,
                priority,
                cpus: cpus.clone(),
                isa: None,
                timing: Some(timing),
                on_miss: late,
                program,
            })?;
        }
        builder.workload.dags.push(Dag { name, nodes: shape.clone() });
    }
    Ok(())
}

/// `nodes = { grab = "2ms", left = "5ms..8ms" }`, by name.
fn nodes<'t>(table: &Table<'t>, name: &str) -> Result<Vec<(&'t str, Op)>, Error> {
    let example = "{ grab = \"2ms\", fuse = \"1ms..3ms\" }";
    let list = table.get("nodes").map(|v| v.entries(example)).transpose()?.unwrap_or_default();
    if list.is_empty() || list.len() > MAX_NODES {
        return Err(table.error(
            format!("the graph `{name}` has {}", weir_text::plural(list.len(), "node")),
            format!("add `nodes = {example}`; {MAX_NODES} are possible"),
        ));
    }
    list.iter()
        .map(|value| {
            let words: Vec<&str> = value.str("\"2ms\"")?.split_whitespace().collect();
            let run = times::computing(&words, None)
                .map_err(|r| value.error(format!("`{}`: {}", value.key, r.message)).help(r.help))?;
            Ok((value.key, run))
        })
        .collect()
}

/// `edges = ["grab -> left -> fuse", "grab -> right -> fuse"]`; refuses circles.
fn edges(table: &Table<'_>, name: &str, nodes: &[(&str, Op)]) -> Result<Vec<DagNode>, Error> {
    let mut shape = vec![DagNode::default(); nodes.len()];
    let names: Vec<&str> = nodes.iter().map(|n| n.0).collect();
    let example = "[\"grab -> left -> fuse\"]";
    for chain in table.get("edges").map(|v| v.list(example)).transpose()?.unwrap_or_default() {
        let mut last: Option<usize> = None;
        for word in chain.str(example)?.split("->").map(str::trim) {
            let Some(at) = names.iter().position(|n| *n == word) else {
                let help = did_you_mean(word, &names);
                return Err(chain.error(format!("no node of the graph is called `{word}`")).help(help));
            };
            if let Some(before) = last.filter(|b| !shape[at].before.contains(&(*b as u32))) {
                shape[at].before.push(before as u32);
                shape[before].after.push(at as u32);
            }
            last = Some(at);
        }
    }
    // Take nodes away that wait for nobody; what is left over waits for itself.
    let mut waits: Vec<usize> = shape.iter().map(|n| n.before.len()).collect();
    let mut free: Vec<usize> = (0..waits.len()).filter(|&i| waits[i] == 0).collect();
    while let Some(i) = free.pop() {
        for &after in &shape[i].after {
            waits[after as usize] -= 1;
            if waits[after as usize] == 0 {
                free.push(after as usize);
            }
        }
    }
    match waits.iter().position(|&w| w > 0) {
        None => Ok(shape),
        Some(i) => Err(table.wrong(
            "edges",
            format!("`{}` of the graph `{name}` would wait for itself", names[i]),
            "remove an edge of the circle",
        )),
    }
}
