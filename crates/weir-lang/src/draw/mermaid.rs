// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Mermaid, which many forges draw inside Markdown.

use std::fmt::Write;

use super::FOLD_ABOVE;
use super::fold::fold;
use super::palette::{STYLES, style};
use crate::graph::{Graph, NodeKind};

/// The topology as a Mermaid flow chart, left to right. Postponed pipes are dotted arrows; thin
/// dotted lines lead from annotators to the components that ask them.
pub fn mermaid(graph: &Graph) -> String {
    let picture = fold(graph, FOLD_ABOVE);
    let mut out = String::from("flowchart LR\n");
    let quote = |s: &str| s.replace('"', "#quot;");
    for (i, b) in picture.boxes.iter().enumerate() {
        let mut label = quote(&b.title);
        if b.count > 1 {
            let _ = write!(label, " ×{}", b.count);
        }
        if !b.detail.is_empty() {
            let _ = write!(label, "<br/><small>{}</small>", quote(&b.detail));
        }
        let (open, close) = match b.kind {
            NodeKind::Entry => ("([", "])"),
            NodeKind::Cpus => ("[[", "]]"),
            NodeKind::Annotator => ("(", ")"),
            NodeKind::Component => ("[", "]"),
        };
        let _ = writeln!(out, "  n{i}{open}\"{label}\"{close}:::{}", style(b.kind, b.class).word);
    }
    for line in &picture.lines {
        let mut label = quote(&line.label);
        if line.pipes.len() > 1 {
            label = format!("{label} ×{}", line.pipes.len()).trim().to_string();
        }
        let arrow = if line.postponed { "-.->" } else { "-->" };
        let label = if label.is_empty() { String::new() } else { format!("|\"{label}\"|") };
        let _ = writeln!(out, "  n{} {arrow}{label} n{}", line.from, line.to);
    }
    for (a, annotator) in picture.boxes.iter().enumerate().filter(|(_, b)| b.kind == NodeKind::Annotator) {
        for (i, b) in picture.boxes.iter().enumerate() {
            let shared: Vec<&str> =
                annotator.topics.iter().filter(|t| b.topics.contains(t)).map(String::as_str).collect();
            if b.kind != NodeKind::Annotator && !shared.is_empty() {
                let _ = writeln!(out, "  n{a} -.-|\"{}\"| n{i}", shared.join(", "));
            }
        }
    }
    for s in &STYLES {
        let _ = writeln!(out, "  classDef {} stroke:{},fill:{},color:#1f2933", s.word, s.border, s.light);
    }
    out
}
