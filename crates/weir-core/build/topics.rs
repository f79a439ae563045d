// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The standard topics and the queries of STATUS, from the enumerations of the C headers: `Topic` in Rust, and the names.

use std::fmt::Write as _;

/// Rust's side of both enumerations. A topic's comment in C is its comment in Rust.
pub fn lists(broker: &str, status: &str) -> String {
    let topics = enumerators(broker, "weir_topic_id", "WEIR_TOPIC_");
    let mut out = String::from(
        "/// Standard topics (`weir/broker.h`); the number is the array index.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[repr(u32)]\npub enum Topic {\n",
    );
    for (name, about) in &topics {
        let _ = writeln!(out, "    #[doc = {about:?}]\n    {},", camel(name));
    }
    out.push_str(
        "}\n\nimpl Topic {\n    /// In order of their number.\n    pub(crate) const ALL: &[Topic] = &[",
    );
    topics.iter().for_each(|(name, _)| out.push_str(&format!("Topic::{}, ", camel(name))));
    out.push_str("];\n\n    /// Name as in `weir/broker.h`, without the prefix.\n    pub fn name(self) -> &'static str {\n        match self {\n");
    for (name, _) in &topics {
        let _ = writeln!(out, "            Topic::{} => {name:?},", camel(name));
    }
    let queries = enumerators(status, "weir_status_query", "WEIR_STATUS_");
    let _ = write!(
        out,
        "        }}\n    }}\n}}\n\n\
         /// What STATUS may be asked, in the order of the numbers of `weir/status.h`; the object is a pipe or an instance.\n\
         pub const STATUS_QUERIES: [&str; {}] = {:?};\n",
        queries.len(),
        queries.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    out
}

/// The enumerators of `enum name` without their prefix, each with its comment, in order: before it on lines of its own, or behind it.
fn enumerators(header: &str, name: &str, prefix: &str) -> Vec<(String, String)> {
    let (_, body) = header.split_once(&format!("enum {name} {{")).unwrap_or_else(|| panic!("no enum {name}"));
    let (body, _) = body.split_once("};").expect("it ends");
    let mut found: Vec<(String, String)> = Vec::new();
    let mut before = String::new();
    // Whether the comment that comes next stands behind an enumerator, on its line.
    let mut behind = false;
    let mut rest = body;
    while let Some(at) = rest.find(prefix).into_iter().chain(rest.find("/*")).min() {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("/*") {
            let (text, after) = comment.split_once("*/").expect("a comment ends");
            let text = text.split_whitespace().filter(|w| *w != "*").collect::<Vec<_>>().join(" ");
            match found.last_mut() {
                Some((_, about)) if behind => *about = text,
                _ => before = text,
            }
            behind = false;
            rest = after;
        } else {
            let end = rest.find(',').expect("an enumerator ends with a comma");
            found.push((rest[prefix.len()..end].trim().into(), std::mem::take(&mut before)));
            rest = &rest[end + 1..];
            behind = rest.lines().next().is_some_and(|line| line.contains("/*"));
        }
    }
    found
}

/// `GANG_SLOT` as `GangSlot`.
fn camel(name: &str) -> String {
    name.split('_').map(|w| format!("{}{}", &w[..1], w[1..].to_ascii_lowercase())).collect()
}
