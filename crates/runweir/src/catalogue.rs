// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The catalogue: topologies, machines and workloads that are part of the program.

use crate::fault::{Diag, Fault};

/// A file of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// What the user types.
    pub name: &'static str,
    /// Path below the repository root, for diagnostics.
    pub file: &'static str,
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// The entry of this name.
pub fn find(entries: &'static [Entry], name: &str) -> Option<&'static Entry> {
    entries.iter().find(|e| e.name == name)
}

impl Entry {
    /// One line on what it is: the first sentence of the first comment, whatever the file's kind,
    /// without the name it may begin with.
    pub fn summary(&self) -> String {
        let text = first_comment(self.text);
        let stem = self.name;
        let text = match text.split_once(": ") {
            Some((head, tail)) if head == stem || head.rsplit('/').next().is_some_and(|f| f.starts_with(stem)) => tail,
            _ => &text,
        };
        text.trim().trim_end_matches('.').to_string()
    }
}

/// First line of prose in the file's comments; licence lines and decoration do not count.
fn first_comment(text: &str) -> String {
    let mut in_block = false;
    for line in text.lines() {
        let line = line.trim();
        let opens = ["//", "#", "/*", "<!--"].iter().find(|m| line.starts_with(**m));
        if !in_block && opens.is_none() {
            // JSON and XML may have a line before their first comment.
            if line.is_empty() || line == "{" || line.starts_with("<?") || line.starts_with("<!DOCTYPE") {
                continue;
            }
            break;
        }
        in_block = (in_block || matches!(opens, Some(&"/*" | &"<!--"))) && !line.ends_with("*/") && !line.ends_with("-->");
        let words = line
            .trim_start_matches(['/', '*', '#', '<', '!', '-', ' '])
            .trim_end_matches("*/")
            .trim_end_matches("-->")
            .trim();
        if !words.is_empty() && !words.contains("SPDX-License-Identifier") {
            return words.to_string();
        }
    }
    String::new()
}

/// Name of `candidates` that the user most likely meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&lower, &c.to_lowercase()), c))
        .filter(|(distance, c)| {
            *distance <= (c.chars().count().max(lower.chars().count()) / 3).max(1)
                || (lower.chars().count() >= 3 && c.to_lowercase().starts_with(&lower))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// The user named something that the catalogue does not have.
pub fn unknown(what: &str, command: &str, name: &str, candidates: &[&str]) -> Fault {
    let shown = name.escape_debug();
    let help = match nearest(name, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? `runweir {command}` lists them all"),
        None => format!("`runweir {command}` lists them all; a file is written with its ending or as ./{shown}"),
    };
    Diag::error(format!("there is no {what} called `{shown}`")).help(help).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_the_first_prose() {
        let entry = |name, text| Entry { name, file: "", text };
        assert_eq!(
            entry("decentral", "// SPDX-License-Identifier: X\n// decentral.weir: one balancer.\nentry -> cpus;").summary(),
            "one balancer"
        );
        assert_eq!(entry("a", "/*\n * SPDX-License-Identifier: X\n *\n * What it is\n */ {").summary(), "What it is");
        assert_eq!(entry("a", "<?xml version=\"1.0\"?>\n<!-- A server -->\n<topology/>").summary(), "A server");
        assert_eq!(entry("a", "# A small machine\nname = 1").summary(), "A small machine");
        assert_eq!(entry("a", "{\n\t/* Two threads. */\n}").summary(), "Two threads");
        assert_eq!(entry("a", "{ \"tasks\": {} }").summary(), "");
    }

    #[test]
    fn suggests_what_is_near_or_begins_alike() {
        assert_eq!(nearest("decentrl", ["central", "decentral"]), Some("decentral"));
        assert_eq!(nearest("work", ["central", "work_stealing"]), Some("work_stealing"));
        assert_eq!(nearest("zzzzzz", ["central", "decentral"]), None);
    }
}
