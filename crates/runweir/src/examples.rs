// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The commands that help texts and pages show, for the tests: one that readers copy has to be understood, and what it names
//! has to be there.

use std::fs;
use std::path::{Path, PathBuf};

/// A command as a page shows it.
#[derive(Clone, Debug)]
pub struct Example {
    /// `README.md:38`
    pub place: String,
    /// `run -t decentral …`, without the program's name, `sudo` and variables.
    pub words: Vec<String>,
    /// Behind `|` or `>` there was more; the tests that run examples look at it.
    #[allow(dead_code)]
    pub piped: bool,
}

/// The repository.
pub fn root() -> PathBuf {
    // The file is a part of two programs, whose folders are not equally deep.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.ancestors().find(|folder| folder.join("Cargo.lock").exists());
    root.expect("the workspace has a lock file").to_path_buf()
}

/// Made from the programs for the book, and perhaps here from an older one: tests make them anew.
const MADE: [&str; 4] = ["help.md", "lab.md", "python.md", "reference.md"];

/// Committed pages with examples.
pub fn pages() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md"), root().join("python/README.md")];
    let folders = [root().join("docs"), root().join("experiments")];
    for folder in folders {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&folder).expect("a folder").map(|e| e.expect("readable").path()).collect();
        entries.sort();
        for path in entries {
            match path.is_dir() {
                true => all.push(path.join("README.md")),
                false if path.extension().is_some_and(|e| e == "md") => all.push(path),
                false => {}
            }
        }
    }
    all.retain(|p| p.is_file() && !MADE.iter().any(|made| p.ends_with(made)));
    all
}

/// The commands in a page's blocks of code.
pub fn of(page: &Path) -> Vec<Example> {
    let text = fs::read_to_string(page).expect("readable");
    in_text(&page.strip_prefix(root()).unwrap_or(page).display().to_string(), &text)
}

/// The commands in the blocks of code of the page `name`.
pub fn in_text(name: &str, text: &str) -> Vec<Example> {
    let mut all = Vec::new();
    let mut inside = false;
    let mut pending = String::new();
    for (i, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside && !line.contains("mermaid") && !line.contains("yaml") && !line.contains("toml");
            continue;
        }
        if !inside {
            continue;
        }
        // A line that a shell would go on with.
        let line = format!("{pending}{}", line.trim());
        if let Some(begun) = line.strip_suffix('\\') {
            pending = begun.to_string();
            continue;
        }
        pending.clear();
        all.extend(example(&line).map(|(words, piped)| Example {
            place: format!("{name}:{}", i + 1),
            words,
            piped,
        }));
    }
    all
}

/// The call of the program in a line, if it has one at the place of a command.
fn example(line: &str) -> Option<(Vec<String>, bool)> {
    let mut words = split(line);
    // `lstopo … && runweir …`: the part that begins with the program.
    if let Some(at) = words.iter().rposition(|w| w == "&&") {
        words.drain(..=at);
    }
    let variable = |w: &String| w.contains('=') && w.chars().next().is_some_and(char::is_uppercase);
    let skipped = |w: &String| w == "sudo" || w == "$" || variable(w);
    while words.first().is_some_and(skipped) {
        words.remove(0);
    }
    if words.first().map(String::as_str) != Some("runweir") {
        return None;
    }
    words.remove(0);
    // A line of a USAGE, not an example.
    if words.iter().any(|w| w.starts_with('<') && w.ends_with('>')) {
        return None;
    }
    let end = words.iter().position(|w| matches!(w.as_str(), "|" | ">" | "<" | "&" | ":::"));
    if let Some(end) = end {
        words.truncate(end);
    }
    Some((words, end.is_some()))
}

/// The line with a number in place of each `$(command)`: a process, where our pages have one.
fn substituted(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("$(")
        && let Some((_, end)) = after.split_once(')')
    {
        text.push_str(before);
        text.push('1');
        rest = end;
    }
    text + rest
}

/// Words as a shell splits them; a remark begins with ` #`, or, in help texts, after two spaces.
fn split(line: &str) -> Vec<String> {
    let line = &substituted(line.trim());
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut started, mut spaces) = (None, false, 0);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => (quote, started) = (Some(c), true),
            (None, ' ') => {
                spaces += 1;
                if started || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                    started = false;
                }
                continue;
            }
            (None, '#') if spaces > 0 && word.is_empty() => {
                // `'#7@1ms'` is quoted; a bare # begins a remark.
                return words;
            }
            (None, c) => {
                if spaces >= 2 && word.is_empty() && !words.is_empty() {
                    return words;
                }
                word.push(c);
            }
        }
        spaces = 0;
    }
    if started || !word.is_empty() {
        words.push(word);
    }
    words
}
