// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Folds the repetitions of one place in the text into stacks, so that 4,096 CPUs fit on a page.

use std::collections::BTreeMap;

use weir_core::{Class, CpuSet};

use crate::graph::{Graph, NodeKind};

/// A node to draw: one node of the graph or a stack of them.
#[derive(Clone, Debug)]
pub(crate) struct Box {
    pub kind: NodeKind,
    pub class: Class,
    /// First line.
    pub title: String,
    /// Second line; may be empty.
    pub detail: String,
    /// Topics asked (components) or answered (annotators).
    pub topics: Vec<String>,
    /// Members' plan instances.
    pub instances: Vec<u32>,
    pub count: usize,
}

/// A line to draw: one pipe or a bundle.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub from: usize,
    pub to: usize,
    pub pipes: Vec<u32>,
    pub postponed: bool,
    pub label: String,
}

/// What is drawn: annotators apart, as they have no pipes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    pub boxes: Vec<Box>,
    pub lines: Vec<Line>,
}

/// Fold what is repeated more than `above` times. Members of a stack follow the same stacks, so that
/// the queues of each LLC stay apart as long as there are few LLCs.
pub(crate) fn fold(graph: &Graph, above: usize) -> Picture {
    let n = graph.nodes.len();
    let mut sites: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, node) in graph.nodes.iter().enumerate() {
        sites.entry(node.site).or_default().push(i);
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); n];
    graph.edges.iter().for_each(|e| before[e.to].push(e.from));
    // Nodes are in topological order, so a group's members are placed before what follows them.
    let mut group_of = vec![usize::MAX; n];
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut by_key: BTreeMap<(u32, Vec<usize>), usize> = BTreeMap::new();
    for i in 0..n {
        if group_of[i] != usize::MAX {
            continue;
        }
        let members = &sites[&graph.nodes[i].site];
        let ready = |m: &usize| before[*m].iter().all(|b| group_of[*b] != usize::MAX);
        if members.len() <= above || !members.iter().all(ready) {
            group_of[i] = groups.len();
            groups.push(vec![i]);
            continue;
        }
        let key = |m: usize, group_of: &[usize]| {
            let mut k: Vec<usize> = before[m].iter().map(|b| group_of[*b]).collect();
            k.sort_unstable();
            k.dedup();
            (graph.nodes[m].site, k)
        };
        let mut keys: Vec<_> = members.iter().map(|m| key(*m, &group_of)).collect();
        keys.sort();
        keys.dedup();
        let one = keys.len() > above;
        for &m in members {
            let k = if one { (graph.nodes[m].site, Vec::new()) } else { key(m, &group_of) };
            let g = *by_key.entry(k).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[g].push(m);
            group_of[m] = g;
        }
    }
    let boxes = groups.iter().map(|members| boxed(graph, members)).collect();
    let mut lines: BTreeMap<(usize, usize, String, bool), Vec<u32>> = BTreeMap::new();
    for e in &graph.edges {
        let key = (group_of[e.from], group_of[e.to], e.label.clone(), e.postponed);
        lines.entry(key).or_default().push(e.pipe);
    }
    let mut lines: Vec<Line> = lines
        .into_iter()
        .map(|((from, to, label, postponed), pipes)| Line { from, to, pipes, postponed, label })
        .collect();
    lines.sort_by_key(|l| l.pipes[0]);
    Picture { boxes, lines }
}

/// The box for one or several nodes of a site.
fn boxed(graph: &Graph, members: &[usize]) -> Box {
    let first = &graph.nodes[members[0]];
    let count = members.len();
    let mut cpus = CpuSet::new();
    members.iter().for_each(|m| graph.nodes[*m].cpus.iter().for_each(|c| cpus.insert(c)));
    let (title, detail) = match first.kind {
        NodeKind::Entry if count == 1 => (first.name.replace('@', " "), cpu_words(&cpus)),
        NodeKind::Entry => ("entry".to_string(), cpu_words(&cpus)),
        NodeKind::Cpus if count > 1 => (cpu_words(&cpus), "an exit each".to_string()),
        NodeKind::Cpus if cpus.len() > 1 => (cpu_words(&cpus), "one exit, shared".to_string()),
        NodeKind::Cpus => (cpu_words(&cpus), String::new()),
        NodeKind::Component | NodeKind::Annotator => {
            let title = if count == 1 { first.name.replace('@', " ") } else { first.base.clone() };
            let mut detail = Vec::new();
            if first.base != first.component {
                detail.push(first.component.clone());
            }
            detail.extend(first.params.iter().cloned());
            (title, detail.join(", "))
        }
    };
    let topics = if first.kind == NodeKind::Annotator { &first.answers } else { &first.asks };
    Box {
        kind: first.kind,
        class: first.class,
        title,
        detail,
        topics: topics.clone(),
        instances: members.iter().filter_map(|m| graph.nodes[*m].instance).collect(),
        count,
    }
}

/// `CPU 3`, `CPUs 0-7`; long lists are counted.
fn cpu_words(cpus: &CpuSet) -> String {
    let list = cpus.to_string();
    match cpus.len() {
        1 => format!("CPU {list}"),
        n if list.len() > 16 => format!("{n} CPUs"),
        _ => format!("CPUs {list}"),
    }
}
