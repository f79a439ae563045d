// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Typed access to the XML tree with places for diagnostics.

use std::ops::Range;

use roxmltree::{Document, Node, ParsingOptions};

use crate::error::Error;

/// The text of the file, for diagnostics.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

/// Most XML nodes; a task is about one.
const MAX_NODES: u32 = 10_000_000;

/// Deepest nesting; SimSo needs four levels.
const MAX_DEPTH: usize = 256;

/// First child element of this name.
pub(super) fn child<'a, 'i>(node: &Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|n| n.has_tag_name(name))
}

impl<'a> Source<'a> {
    pub fn error(&self, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Error {
        Error::workload(message).help(help).at(self.name, self.text, at)
    }

    /// Parse the whole file.
    pub fn parse(&self) -> Result<Document<'a>, Error> {
        if let Some(at) = too_deep(self.text) {
            return Err(self.error(
                at..at + 1,
                "elements are nested too deeply",
                "close elements before opening more",
            ));
        }
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        Document::parse_with_options(self.text, options).map_err(|e| {
            let p = e.pos();
            let at = offset(self.text, p.row as usize, p.col as usize);
            let text = e.to_string();
            // The library's messages end with the place, which we show ourselves.
            let message = text.rsplit_once(" at ").map_or(text.as_str(), |m| m.0).to_string();
            let help = match e {
                roxmltree::Error::DtdDetected => "remove the `<!DOCTYPE …>`; SimSo files need none",
                _ => "check tags, quotes and `&` here",
            };
            self.error(at..at + 1, format!("not readable as XML: {message}"), help)
        })
    }

    /// Place of an element: its opening tag's name.
    pub fn tag(&self, node: &Node<'_, '_>) -> Range<usize> {
        let start = node.range().start;
        start..start + 1 + node.tag_name().name().len()
    }

    /// Place of an attribute's value, or of the element where it has none.
    pub fn attribute(&self, node: &Node<'_, '_>, key: &str) -> Range<usize> {
        node.attribute_node(key).map_or_else(|| self.tag(node), |a| a.range_value())
    }

    /// A finite number in a range; `None` where the attribute is missing or empty.
    pub fn number(&self, node: &Node<'_, '_>, key: &str, low: f64, high: f64) -> Result<Option<f64>, Error> {
        let Some(text) = node.attribute(key).map(str::trim).filter(|t| !t.is_empty()) else {
            return Ok(None);
        };
        let at = || self.attribute(node, key);
        match text.parse::<f64>() {
            Ok(v) if (low..=high).contains(&v) => Ok(Some(v)),
            Ok(_) => Err(self.error(
                at(),
                format!("`{key}` is {text}, out of range"),
                format!("write a number from {low} to {high}"),
            )),
            Err(_) => Err(self.error(
                at(),
                format!("`{key}` must be a number, but this is `{text}`"),
                format!("write a number, such as `{key}=\"10\"`"),
            )),
        }
    }
}

/// Where nesting exceeds the limit, counted roughly: comments and the like may count as well.
fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    for (i, pair) in bytes.windows(2).enumerate() {
        match pair {
            b"</" | b"/>" => depth = depth.saturating_sub(1),
            [b'<', c] if c.is_ascii_alphabetic() || *c == b'_' || *c >= 0x80 => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Byte offset of a row and column (in characters), both from 1.
fn offset(text: &str, row: usize, column: usize) -> usize {
    let line_start: usize = text.split_inclusive('\n').take(row.saturating_sub(1)).map(str::len).sum();
    let line = &text[line_start..];
    line_start + line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |c| c.0)
}
