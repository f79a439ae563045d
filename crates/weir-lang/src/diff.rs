// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The effect of a change of topology: instances and pipes that are removed, added and kept, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::edit::base;
use crate::graph::{Graph, Node, NodeKind};

/// The difference of two graphs for one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Instances that go, with their component.
    pub gone: Vec<(String, String)>,
    /// Instances that come.
    pub new: Vec<(String, String)>,
    /// Instances of the same name and component: they keep their state.
    pub kept: usize,
    /// Of these, the ones with other parameters: name, before, after.
    pub changed: Vec<(String, String, String)>,
    /// Pipes that go and come, as `a -> b`.
    pub pipes_gone: Vec<(String, String)>,
    pub pipes_new: Vec<(String, String)>,
}

impl Diff {
    /// Nothing is different.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty()
            && self.new.is_empty()
            && self.changed.is_empty()
            && self.pipes_gone.is_empty()
            && self.pipes_new.is_empty()
    }
}

/// Compare two graphs, O(n log n).
pub fn diff(before: &Graph, after: &Graph) -> Diff {
    let mut out = Diff::default();
    let (old, new) = (instances(before), instances(after));
    for (key, params) in &old {
        match new.get(key) {
            None => out.gone.push(key.clone()),
            Some(p) => {
                out.kept += 1;
                if p != params {
                    out.changed.push((key.0.clone(), params.clone(), p.clone()));
                }
            }
        }
    }
    out.new = new.keys().filter(|key| !old.contains_key(*key)).cloned().collect();
    let (old, new) = (pipes(before), pipes(after));
    out.pipes_gone = old.difference(&new).cloned().collect();
    out.pipes_new = new.difference(&old).cloned().collect();
    out
}

/// Parameters by name and component.
fn instances(graph: &Graph) -> BTreeMap<(String, String), String> {
    let with_code = |n: &&Node| matches!(n.kind, NodeKind::Component | NodeKind::Annotator);
    graph
        .nodes
        .iter()
        .filter(with_code)
        .map(|n| ((n.name.clone(), n.component.clone()), n.params.join(", ")))
        .collect()
}

fn pipes(graph: &Graph) -> BTreeSet<(String, String)> {
    graph.edges.iter().map(|e| (graph.nodes[e.from].name.clone(), graph.nodes[e.to].name.clone())).collect()
}

/// Copies of one place in one line, in the order of their first.
fn grouped(items: impl Iterator<Item = (String, String)>) -> Vec<(String, usize)> {
    let mut order: Vec<(String, String, usize)> = Vec::new();
    for (key, text) in items {
        match order.iter_mut().find(|(k, ..)| *k == key) {
            Some((.., n)) => *n += 1,
            None => order.push((key, text, 1)),
        }
    }
    order
        .into_iter()
        .map(|(key, text, n)| (if n == 1 { text } else { format!("{key} ({n} of them)") }, n))
        .collect()
}

/// A line each: `-` goes, `+` comes, `~` has other parameters; copies in all blocks share a line.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instance = |(name, component): &(String, String)| {
            let show =
                |name: &str| if name == component { name.into() } else { format!("{name} :: {component}") };
            (show(&base(name)), show(name))
        };
        for (mark, list) in [('-', &self.gone), ('+', &self.new)] {
            for (text, _) in grouped(list.iter().map(instance)) {
                writeln!(f, "{mark} {text}")?;
            }
        }
        let changed = self.changed.iter().map(|(name, from, to)| {
            let show = |p: &str| if p.is_empty() { "defaults".to_string() } else { p.to_string() };
            let what = format!(": {} -> {}", show(from), show(to));
            (format!("{}{what}", base(name)), format!("{name}{what}"))
        });
        for (text, _) in grouped(changed) {
            writeln!(f, "~ {text}")?;
        }
        let cpu = |name: &str| if name.starts_with("CPU") { "CPU".to_string() } else { base(name) };
        for (mark, list) in [('-', &self.pipes_gone), ('+', &self.pipes_new)] {
            let pipe =
                |(a, b): &(String, String)| (format!("{} -> {}", base(a), cpu(b)), format!("{a} -> {b}"));
            for (text, _) in grouped(list.iter().map(pipe)) {
                writeln!(f, "{mark} {text}")?;
            }
        }
        if self.is_empty() {
            writeln!(f, "  nothing changes")?;
        }
        writeln!(
            f,
            "  {} of the same name and component {}",
            weir_text::plural(self.kept, "instance"),
            if self.kept == 1 { "keeps its state" } else { "keep their state" }
        )
    }
}
