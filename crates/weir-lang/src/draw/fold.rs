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
    /// Members, as indices into [`Graph::nodes`].
    pub members: Vec<usize>,
    pub count: usize,
    /// In no home: drawn with a dashed border.
    pub shared: bool,
}

/// A line to draw: one pipe or a bundle.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub from: usize,
    pub to: usize,
    pub pipes: Vec<u32>,
    /// Members, as indices into [`Graph::edges`].
    pub members: Vec<usize>,
    pub postponed: bool,
    pub label: String,
}

/// The drawn items: annotators separate, because they have no pipes.
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
    // By distance from the entries, so that what comes before a node has its group already.
    let depth = depths(&before);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| (depth[*i], *i));
    let mut group_of = vec![usize::MAX; n];
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in order {
        if group_of[i] != usize::MAX {
            continue;
        }
        let mut members = vec![i];
        if sites[&graph.nodes[i].site].len() > above {
            let same = |m: &&usize| group_of[**m] == usize::MAX && depth[**m] == depth[i];
            members = sites[&graph.nodes[i].site].iter().filter(same).copied().collect();
        }
        let key = |m: usize| {
            let mut k: Vec<usize> = before[m].iter().map(|b| group_of[*b]).collect();
            k.sort_unstable();
            k.dedup();
            k
        };
        let mut by_key: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        members.iter().for_each(|m| by_key.entry(key(*m)).or_default().push(*m));
        if by_key.len() > above {
            by_key = BTreeMap::from([(Vec::new(), members)]);
        }
        for members in by_key.into_values() {
            members.iter().for_each(|m| group_of[*m] = groups.len());
            groups.push(members);
        }
    }
    // Boxes in the order of their first nodes.
    let mut sequence: Vec<usize> = (0..groups.len()).collect();
    sequence.sort_by_key(|g| groups[*g][0]);
    let groups: Vec<Vec<usize>> = sequence.into_iter().map(|g| std::mem::take(&mut groups[g])).collect();
    for (g, members) in groups.iter().enumerate() {
        members.iter().for_each(|m| group_of[*m] = g);
    }
    let boxes = groups.iter().map(|members| boxed(graph, members)).collect();
    let mut lines: BTreeMap<(usize, usize, String, bool), Vec<usize>> = BTreeMap::new();
    for (i, e) in graph.edges.iter().enumerate() {
        let key = (group_of[e.from], group_of[e.to], e.label.clone(), e.postponed);
        lines.entry(key).or_default().push(i);
    }
    let mut lines: Vec<Line> = lines
        .into_iter()
        .map(|((from, to, label, postponed), members)| {
            let pipes = members.iter().map(|e| graph.edges[*e].pipe).collect();
            Line { from, to, pipes, members, postponed, label }
        })
        .collect();
    lines.sort_by_key(|l| l.pipes[0]);
    Picture { boxes, lines }
}

/// Longest distance of each node from one without predecessors. Edges lead from lower to higher
/// nodes, except into the CPUs, which come last.
fn depths(before: &[Vec<usize>]) -> Vec<usize> {
    let mut depth = vec![0; before.len()];
    for i in 0..before.len() {
        depth[i] = before[i].iter().map(|b| depth[*b] + 1).max().unwrap_or(0);
    }
    depth
}

/// The box for one or several nodes of a site.
fn boxed(graph: &Graph, members: &[usize]) -> Box {
    let first = &graph.nodes[members[0]];
    let count = members.len();
    let mut cpus = CpuSet::new();
    members.iter().for_each(|m| graph.nodes[*m].cpus.iter().for_each(|c| cpus.insert(c)));
    let (title, detail) = match first.kind {
        NodeKind::Entry => ("entry".to_string(), cpu_words(&cpus)),
        NodeKind::Cpus if count > 1 => (cpu_words(&cpus), "an exit each".to_string()),
        NodeKind::Cpus if cpus.len() > 1 => (cpu_words(&cpus), "one exit, shared".to_string()),
        NodeKind::Cpus => (cpu_words(&cpus), String::new()),
        NodeKind::Component | NodeKind::Annotator => {
            let local = first.name.rsplit('/').next().unwrap_or(&first.name);
            let title = if count == 1 { local.replace('@', " ") } else { first.base.clone() };
            let mut detail = Vec::new();
            if first.base != first.component {
                detail.push(first.component.clone());
            }
            detail.extend(first.params.iter().cloned());
            if let Some((around, _)) = first.name.rsplit_once('/') {
                let around = if count == 1 { around.replace('@', " ") } else { within(around) };
                detail.push(format!("in {around}"));
            }
            (title, detail.join(", "))
        }
    };
    // A question that nobody answers is not shown.
    let answered = |t: &&String| graph.nodes.iter().any(|n| n.answers.contains(t));
    let topics: Vec<String> = match first.kind {
        NodeKind::Annotator => first.answers.clone(),
        _ => first.asks.iter().filter(answered).cloned().collect(),
    };
    Box {
        kind: first.kind,
        class: first.class,
        title,
        detail,
        topics,
        instances: members.iter().filter_map(|m| graph.nodes[*m].instance).collect(),
        members: members.to_vec(),
        count,
        shared: first.shared,
    }
}

/// The sub-topologies around, without the groups they are repeated for.
fn within(around: &str) -> String {
    around.split('/').map(|part| part.split('@').next().unwrap_or(part)).collect::<Vec<_>>().join("/")
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
