// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Changes of a topology as text, and how they are read.
//!
//! A changed topology is the first text plus a list of changes: it is expanded, changed and checked again each time, so an
//! undone change leaves no trace, and the rules of a topology also hold for a changed one (docs/decisions/0017).
//! `expand::patch` and `expand::merge` apply the changes to the network.

use crate::Source;
use crate::ast::{Chain, Item, Topology, Use};
use crate::diag::{Diagnostic, Sink};
use crate::parse;
use crate::source::Span;

/// A change of a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Another component in the place of an instance, or of all copies of it. The place keeps its name.
    Instance {
        /// `policy`, `round_robin@cpu3`, or `round_robin` for the copies of all CPUs.
        name: String,
        /// `fcfs` or `round_robin(slice = 1ms)`.
        with: Source,
    },
    /// Other components in the place of some, joined to what is around by `in` and `out`.
    Subgraph {
        /// Names as for an instance.
        names: Vec<String>,
        /// `{ in -> fifo -> out }`.
        with: Source,
    },
    /// A package in a pipe (docs/packages.md).
    Merge { package: Source, at: String },
    /// One more annotator: `priority`, `p :: priority`.
    Annotate { with: Source },
    /// An instance without pipes, `q :: fifo(…)`, for others to connect.
    Create { with: Source },
    /// An instance in a pipe, or in that of each block.
    Insert { with: Source, at: String },
    /// An annotator or an instance goes.
    Remove { name: String },
    /// A pipe comes: `lb`, `split[accel]`, `entry` to `q`, `cpu 3`.
    Connect { from: String, to: String, postponed: bool },
    /// A pipe goes: `lb.out3`, `q.in`.
    Disconnect { at: String },
}

impl Edit {
    /// Its name for people.
    pub fn describe(&self) -> String {
        match self {
            Edit::Instance { name, with } => format!("swap instance {name} = {}", with.text.trim()),
            Edit::Subgraph { names, with } => {
                format!("replace {} with {}", names.join(", "), with.text.trim())
            }
            Edit::Merge { package, at } => format!("merge {} at {at}", package.stem()),
            Edit::Annotate { with } => format!("annotate {}", with.text.trim()),
            Edit::Create { with } => format!("create {}", with.text.trim()),
            Edit::Insert { with, at } => format!("insert {} at {at}", with.text.trim()),
            Edit::Remove { name } => format!("remove {name}"),
            Edit::Connect { from, to, postponed } => {
                format!("connect {from} {} {to}", if *postponed { "~>" } else { "->" })
            }
            Edit::Disconnect { at } => format!("disconnect {at}"),
        }
    }
}

/// A component that a package needs and that a file beside it holds: `needs mine from "mine.so";`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub component: String,
    /// As written: relative to the package's file.
    pub file: String,
    source: Source,
    place: Span,
}

impl Need {
    /// Why it cannot be had, at its place in the package.
    pub fn refused(&self, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        let mut sink = Sink::default();
        let src = sink.add_source(self.source.clone());
        sink.error("needs", Span { src, ..self.place }, message).help(help.into());
        sink.finish().remove(0)
    }
}

/// What a package says it needs, in its own file; it is loaded before the merge. What is wrong with the text is reported
/// when it is compiled.
pub fn needs(package: &Source) -> Vec<Need> {
    let mut sink = Sink::default();
    let src = sink.add_source(package.clone());
    let items = parse::parse(src, &mut sink, &mut 0);
    let need = |item| match item {
        Item::Needs { component, file, span } => {
            let (component, place) = (component.text, component.span.to(span));
            Some(Need { component, file, source: package.clone(), place })
        }
        _ => None,
    };
    items.into_iter().filter_map(need).collect()
}

/// An edit as a tree.
#[derive(Debug)]
pub(crate) enum Parsed {
    Instance { name: String, used: Use },
    Subgraph { names: Vec<String>, body: Vec<Chain>, span: Span },
    Merge(Package),
    Annotate { used: Use },
    Create { used: Use },
    Insert { used: Use, at: String, port: Span },
    Remove { name: String, at: Span },
    Connect { from: String, to: String, postponed: bool, at: Span },
    Disconnect { at: String, port: Span },
}

/// A package with where it goes.
#[derive(Debug)]
pub(crate) struct Package {
    pub items: Vec<Item>,
    pub at: String,
    /// The text of `at`, for messages.
    pub port: Span,
}

impl Package {
    /// The one `package` statement.
    pub fn topology(&self) -> Option<&Topology> {
        self.items.iter().find_map(|i| match i {
            Item::Package(t) => Some(t),
            _ => None,
        })
    }
}

/// Reads edits; `next_id` continues that of the topology. `files` reads a source and its includes.
pub(crate) fn read(
    edits: &[Edit],
    sink: &mut Sink,
    next_id: &mut u32,
    mut files: impl FnMut(&Source, &mut Sink, &mut u32) -> Vec<Item>,
) -> Vec<Parsed> {
    let mut out = Vec::new();
    for edit in edits {
        // The whole change as a text, for messages about names in it.
        let whole = |sink: &mut Sink| {
            let text = edit.describe();
            let end = text.len() as u32;
            Span { src: sink.add_source(Source { name: "change".into(), text }), start: 0, end }
        };
        let mut used = |with: &Source, sink: &mut Sink| {
            let src = sink.add_source(with.clone());
            parse::component(src, sink, next_id)
        };
        match edit {
            Edit::Annotate { with } => out.extend(used(with, sink).map(|used| Parsed::Annotate { used })),
            Edit::Create { with } => out.extend(used(with, sink).map(|used| Parsed::Create { used })),
            Edit::Insert { with, at } => {
                if let Some(used) = used(with, sink) {
                    out.push(Parsed::Insert { used, at: at.clone(), port: whole(sink) });
                }
            }
            Edit::Remove { name } => out.push(Parsed::Remove { name: name.clone(), at: whole(sink) }),
            Edit::Connect { from, to, postponed } => out.push(Parsed::Connect {
                from: from.clone(),
                to: to.clone(),
                postponed: *postponed,
                at: whole(sink),
            }),
            Edit::Disconnect { at } => out.push(Parsed::Disconnect { at: at.clone(), port: whole(sink) }),
            Edit::Instance { name, with } => {
                let src = sink.add_source(with.clone());
                if let Some(used) = parse::component(src, sink, next_id) {
                    out.push(Parsed::Instance { name: name.clone(), used });
                }
            }
            Edit::Subgraph { names, with } => {
                let mut with = with.clone();
                if !with.text.trim_start().starts_with('{') {
                    with.text = format!("{{ {} }}", with.text.trim_end().trim_end_matches(';'));
                }
                let end = with.text.len() as u32;
                let src = sink.add_source(with);
                if let Some(body) = parse::body(src, sink, next_id) {
                    let span = Span { src, start: 0, end };
                    out.push(Parsed::Subgraph { names: names.clone(), body, span });
                }
            }
            Edit::Merge { package, at } => {
                let items = files(package, sink, next_id);
                let src = sink
                    .add_source(Source { name: format!("merge {} at", package.stem()), text: at.clone() });
                let port = Span { src, start: 0, end: at.len() as u32 };
                out.push(Parsed::Merge(Package { items, at: at.clone(), port }));
            }
        }
    }
    out
}

/// The name that a place in the text has in all blocks: `round_robin` for `round_robin@cpu3`, `x/q` for `x@cpu3/q`.
pub(crate) fn base(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').map(|part| part.split('@').next().unwrap_or(part)).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_lose_the_groups() {
        assert_eq!(base("round_robin@cpu3"), "round_robin");
        assert_eq!(base("percpu@cpu3/rr@part1"), "percpu/rr");
        assert_eq!(base("lb"), "lb");
    }
}
