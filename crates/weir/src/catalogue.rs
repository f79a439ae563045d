// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The catalogue: topologies, machines and workloads that are part of the program.

use weir_text::suggest::nearest;

use crate::fault::{Diag, Fault};

/// A file of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name that the user types.
    pub name: &'static str,
    /// Shown in diagnostics: `catalogue:/topologies/decentral.weir`; never the path of a real file.
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
        let text = first_paragraph(self.text);
        let text = match text.split_once(": ") {
            Some((head, tail)) if head == self.name || head.starts_with(&format!("{}.", self.name)) => tail,
            _ => &text,
        };
        let sentence = text.split_once(". ").map_or(text, |(first, _)| first);
        sentence.trim().trim_end_matches('.').to_string()
    }
}

/// The machine that a topology's first comment says to run it on: `--machine M` in its example.
pub fn suggested_machine(text: &str) -> Option<&str> {
    let comments = text.lines().map(str::trim).take_while(|l| l.is_empty() || l.starts_with("//"));
    let mut words = comments.flat_map(str::split_whitespace);
    words.find(|w| matches!(*w, "--machine" | "-m"))?;
    words.next().map(|m| m.trim_matches(['`', '.', ',', ';', ')']))
}

/// First paragraph of prose in the file's comments; licence lines and decoration do not count.
fn first_paragraph(text: &str) -> String {
    let mut words = String::new();
    let mut in_block = false;
    for line in text.lines() {
        let line = line.trim();
        let opens = ["//", "#", "/*", "<!--"].iter().find(|m| line.starts_with(**m));
        if !in_block && opens.is_none() {
            // JSON and XML may have a line before their first comment.
            let early =
                line.is_empty() || line == "{" || line.starts_with("<?") || line.starts_with("<!DOCTYPE");
            if early && words.is_empty() {
                continue;
            }
            break;
        }
        in_block = in_block || matches!(opens, Some(&"/*" | &"<!--"));
        let end = ["*/", "-->"].iter().find_map(|m| line.find(m)).filter(|_| in_block);
        let closes = end.is_some();
        in_block &= !closes;
        let prose =
            line[..end.unwrap_or(line.len())].trim_start_matches(['/', '*', '#', '<', '!', '-', ' ']).trim();
        if prose.is_empty() && !words.is_empty() {
            break;
        }
        if !prose.is_empty() && !prose.contains("SPDX-License-Identifier") {
            words.push_str(if words.is_empty() { "" } else { " " });
            words.push_str(prose);
        }
        if closes && !words.is_empty() {
            break;
        }
    }
    words
}

/// The user named something that the catalogue does not have.
pub fn unknown(what: &str, command: &str, name: &str, candidates: &[&str]) -> Fault {
    let shown = name.escape_debug();
    let help = match nearest(name, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? `runweir {command}` lists them all"),
        None => {
            format!("`runweir {command}` lists them all; a file is written with its ending or as ./{shown}")
        }
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
            entry(
                "decentral",
                "// SPDX-License-Identifier: X\n// decentral.weir: one balancer.\nentry -> cpus;"
            )
            .summary(),
            "one balancer"
        );
        assert_eq!(
            entry("a", "/*\n * SPDX-License-Identifier: X\n *\n * What it is\n */ {").summary(),
            "What it is"
        );
        assert_eq!(
            entry("a", "<?xml version=\"1.0\"?>\n<!-- A server -->\n<topology/>").summary(),
            "A server"
        );
        assert_eq!(entry("a", "# A small machine\nname = 1").summary(), "A small machine");
        assert_eq!(entry("a", "{\n\t/* Two threads. */\n}").summary(), "Two threads");
        assert_eq!(entry("a", "{ \"tasks\": {} }").summary(), "");
        assert_eq!(entry("a", "// One\n// sentence. Another.\n//\n// More.").summary(), "One sentence");
        assert_eq!(entry("a", "/* One */\n/* Two */").summary(), "One");
    }

    #[test]
    fn the_example_names_a_machine() {
        let text = "// A test.\n//\n//   runweir run --topology x --machine accel-4x2 -w y\nentry -> cpus;";
        assert_eq!(suggested_machine(text), Some("accel-4x2"));
        assert_eq!(suggested_machine("entry -> cpus; // --machine smp-2"), None);
    }
}
