// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Text formats shared by several results: aligned lists and JSON.

use crate::fault::{Fault, Result};

/// Pretty JSON with a final newline.
pub fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map(|mut text| {
            text.push('\n');
            text
        })
        .map_err(|e| {
            Fault::system(format!("cannot write JSON: {e}"), "this is a bug in runweir; please report it")
        })
}

/// Columns that a list fills at most.
const WIDTH: usize = 100;

/// Lines of `name  description`, descriptions aligned and wrapped; for lists.
pub fn columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let room = WIDTH.saturating_sub(width + 4).max(40);
    let mut text = String::new();
    for (name, description) in rows {
        let mut first = name.as_str();
        for line in wrap(description, room) {
            let pad = " ".repeat(width - first.chars().count());
            text.push_str(format!("  {first}{pad}  {line}").trim_end());
            text.push('\n');
            first = "";
        }
    }
    text
}

/// Lines of at most `room` characters, broken between words; one empty line for an empty text.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let rows = [("a".to_string(), "one".to_string()), ("bcd".to_string(), String::new())];
        assert_eq!(columns(&rows), "  a    one\n  bcd\n");
        let rows = [("a".to_string(), "word ".repeat(40))];
        let text = columns(&rows);
        assert!(text.lines().count() == 3 && text.lines().all(|l| l.len() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).is_some_and(|l| l.starts_with("     word")), "{text}");
    }
}
