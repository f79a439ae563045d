// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Graphviz.

use std::fmt::Write;

use super::FOLD_ABOVE;
use super::fold::fold;
use super::palette::style;
use crate::graph::{Graph, NodeKind};

/// A machine within the machine, to be drawn inside its host.
#[derive(Clone, Copy, Debug)]
pub struct Inner<'a> {
    pub name: &'a str,
    /// The tasks of the host that are its CPUs, in short.
    pub runs_as: &'a str,
    /// The guest that it is in, by its place in the list.
    pub inside: Option<usize>,
    pub graph: &'a Graph,
}

/// The topology in the DOT language, left to right. Postponed pipes and components that belong to no home are dashed; dotted lines lead from
/// annotators to the components that ask them.
pub fn dot(graph: &Graph) -> String {
    dot_nested(graph, &[])
}

/// The same with guests: each is a box with its own topology, and bold lines lead there from the CPUs that run its virtual ones.
pub fn dot_nested(graph: &Graph, guests: &[Inner<'_>]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph \"{}\" {{", quote(&graph.name));
    out.push_str("  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n");
    if !guests.is_empty() {
        out.push_str("  compound=true;\n  fontname=\"Helvetica\";\n");
    }
    let ends = body(&mut out, graph, "n");
    within(&mut out, guests, None, &ends);
    out.push_str("}\n");
    out
}

fn quote(s: &str) -> String {
    s.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Where tasks come in, and where CPUs take them: names of nodes.
struct Ends {
    entry: Option<String>,
    cpus: Vec<String>,
}

/// The guests of one machine, and theirs.
fn within(out: &mut String, guests: &[Inner<'_>], host: Option<usize>, around: &Ends) {
    for (i, guest) in guests.iter().enumerate().filter(|(_, g)| g.inside == host) {
        let _ = writeln!(out, "  subgraph cluster_guest{i} {{");
        let label = format!("{}: {}", guest.name, guest.graph.name);
        let _ = writeln!(out, "  label=\"{}\"; style=rounded;", quote(&label));
        let ends = body(out, guest.graph, &format!("g{i}_"));
        within(out, guests, Some(i), &ends);
        out.push_str("  }\n");
        let Some(entry) = &ends.entry else { continue };
        for (k, cpu) in around.cpus.iter().enumerate() {
            // Once is enough.
            let label = if k == 0 { format!(", label=\"{}\"", quote(guest.runs_as)) } else { String::new() };
            let _ = writeln!(out, "  {cpu} -> {entry} [lhead=cluster_guest{i}, style=bold{label}];");
        }
    }
}

/// Nodes and lines of one topology; names begin with `prefix`.
fn body(out: &mut String, graph: &Graph, prefix: &str) -> Ends {
    let picture = fold(graph, FOLD_ABOVE);
    let mut ends = Ends { entry: None, cpus: Vec::new() };
    for (i, b) in picture.boxes.iter().enumerate() {
        let mut label = quote(&b.title);
        if b.count > 1 {
            let _ = write!(label, "  x{}", b.count);
        }
        if !b.detail.is_empty() {
            let _ = write!(label, "\\n{}", quote(&b.detail));
        }
        match b.kind {
            NodeKind::Entry if ends.entry.is_none() => ends.entry = Some(format!("{prefix}{i}")),
            NodeKind::Cpus => ends.cpus.push(format!("{prefix}{i}")),
            _ => {}
        }
        let s = style(b.kind, b.class);
        let shared = if b.shared { ", style=\"rounded,filled,dashed\"" } else { "" };
        let _ = writeln!(
            out,
            "  {prefix}{i} [label=\"{label}\", color=\"{}\", fillcolor=\"{}\"{shared}];",
            s.border, s.light
        );
    }
    for line in &picture.lines {
        let mut label = quote(&line.label);
        if line.pipes.len() > 1 {
            label = format!("{label} x{}", line.pipes.len()).trim().to_string();
        }
        let mut attributes = Vec::new();
        if !label.is_empty() {
            attributes.push(format!("label=\"{label}\""));
        }
        if line.postponed {
            attributes.push("style=dashed".to_string());
        }
        let list =
            if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let _ = writeln!(out, "  {prefix}{} -> {prefix}{}{list};", line.from, line.to);
    }
    for (a, annotator) in picture.boxes.iter().enumerate().filter(|(_, b)| b.kind == NodeKind::Annotator) {
        for topic in &annotator.topics {
            for (i, b) in picture.boxes.iter().enumerate() {
                if b.kind != NodeKind::Annotator && b.topics.contains(topic) {
                    let _ = writeln!(
                        out,
                        "  {prefix}{a} -> {prefix}{i} [label=\"{}\", style=dotted, constraint=false, arrowhead=none];",
                        quote(topic)
                    );
                }
            }
        }
    }
    ends
}
