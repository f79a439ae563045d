// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Graphviz.

use std::fmt::Write;

use super::FOLD_ABOVE;
use super::fold::fold;
use super::palette::style;
use crate::graph::{Graph, NodeKind};

/// The topology in the DOT language, left to right. Postponed pipes are dashed; dotted lines lead
/// from annotators to those who ask them.
pub fn dot(graph: &Graph) -> String {
    let picture = fold(graph, FOLD_ABOVE);
    let mut out = String::new();
    let quote = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"");
    let _ = writeln!(out, "digraph \"{}\" {{", quote(&graph.name));
    out.push_str("  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n");
    for (i, b) in picture.boxes.iter().enumerate() {
        let mut label = quote(&b.title);
        if b.count > 1 {
            let _ = write!(label, "  x{}", b.count);
        }
        if !b.detail.is_empty() {
            let _ = write!(label, "\\n{}", quote(&b.detail));
        }
        let s = style(b.kind, b.class);
        let _ =
            writeln!(out, "  n{i} [label=\"{label}\", color=\"{}\", fillcolor=\"{}\"];", s.border, s.light);
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
        let _ = writeln!(out, "  n{} -> n{}{list};", line.from, line.to);
    }
    for (a, annotator) in picture.boxes.iter().enumerate().filter(|(_, b)| b.kind == NodeKind::Annotator) {
        for topic in &annotator.topics {
            for (i, b) in picture.boxes.iter().enumerate() {
                if b.kind != NodeKind::Annotator && b.topics.contains(topic) {
                    let _ = writeln!(
                        out,
                        "  n{a} -> n{i} [label=\"{}\", style=dotted, constraint=false, arrowhead=none];",
                        quote(topic)
                    );
                }
            }
        }
    }
    out.push_str("}\n");
    out
}
