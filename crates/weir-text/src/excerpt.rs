// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The line at fault with carets below it, as the libraries' errors print themselves. (A command line draws its own, with
//! colours, from the same source and range.)

use std::fmt;
use std::ops::Range;

/// Most characters of a line that an excerpt shows.
pub const WIDTH: usize = 110;

/// Line and column (both from 1, the column in characters) of a byte offset.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// What was printed last: line, and the first character of it.
pub type Shown = (usize, usize);

/// Print the line of `range`, unless `before` shows it, with carets and the remark below it; gives what is shown now. Any
/// range is safe; of an empty line nothing is printed.
///
/// # Errors
/// The formatter's.
pub fn write(
    f: &mut impl fmt::Write,
    text: &str,
    range: &Range<usize>,
    remark: &str,
    before: Shown,
) -> Result<Shown, fmt::Error> {
    let (line, column) = line_column(text, range.start);
    let shown = text.split('\n').nth(line - 1).unwrap_or("").trim_end_matches('\r');
    let chars: Vec<char> = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.iter().all(|c| *c == ' ') && remark.is_empty() {
        return Ok(before);
    }
    let marked = text.get(range.clone()).map_or(1, |s| s.split('\n').next().unwrap_or("").chars().count());
    // Where the place is too far to the right, a window is shown that begins a third of its width before it.
    let from = match column - 1 + marked.min(WIDTH / 2) > WIDTH {
        true => (column - 1).saturating_sub(WIDTH / 3).min(chars.len().saturating_sub(WIDTH)),
        false => 0,
    };
    let pad = column - 1 - from;
    let window: String = chars.iter().skip(from).take(WIDTH).collect();
    let carets = marked.min(WIDTH.saturating_sub(pad)).max(1);
    if (line, from) != before {
        write!(f, "\n{line:>5} | {}", window.trim_end())?;
    }
    write!(f, "\n      | {:pad$}{}", "", "^".repeat(carets))?;
    if !remark.is_empty() {
        write!(f, " {remark}")?;
    }
    Ok((line, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, range: Range<usize>, remark: &str) -> String {
        let mut out = String::new();
        write(&mut out, text, &range, remark, (0, 0)).expect("to memory");
        out
    }

    #[test]
    fn the_place_is_marked() {
        assert_eq!(of("a = 1\nsmpt = 2\n", 6..10, ""), "\n    2 | smpt = 2\n      | ^^^^");
        assert_eq!(of("ä b", 3..4, "here"), "\n    1 | ä b\n      |   ^ here");
        assert_eq!(of("\n\n", 1..1, ""), "");
    }

    #[test]
    fn any_range_is_safe() {
        let text = "ä\nöü\r\n";
        for start in 0..12 {
            for end in 0..12 {
                of(text, Range { start, end }, "x");
            }
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}WRONG{}", "a".repeat(500), "b".repeat(500));
        let shown = of(&text, 500..505, "");
        assert!(shown.contains("WRONG") && shown.contains("^^^^^"), "{shown}");
        assert!(shown.lines().all(|l| l.chars().count() <= WIDTH + 8), "{shown}");
    }

    /// Two places of one line share it where one window shows both.
    #[test]
    fn a_line_is_printed_once() {
        let mut out = String::new();
        let shown = write(&mut out, "ab ab", &(0..2), "first", (0, 0)).expect("to memory");
        write(&mut out, "ab ab", &(3..5), "again", shown).expect("to memory");
        assert_eq!(out, "\n    1 | ab ab\n      | ^^ first\n      |    ^^ again");
    }
}
