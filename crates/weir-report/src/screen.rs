// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tables and texts that fit what they are shown on: columns that give way, lines that break between words, colours.

use crate::text::{cells, clip};

/// What a text is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns of characters.
    pub width: usize,
    /// It understands colours (the sequences of ECMA-48).
    pub colour: bool,
}

/// A file, a pipe, a page: 100 columns without colours.
impl Default for Screen {
    fn default() -> Self {
        Self { width: 100, colour: false }
    }
}

/// What a cell says beside its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    /// The best of its kind.
    Good,
    /// What the reader looks for: a miss, an error.
    Bad,
}

impl Screen {
    /// The text in the colour of its tone.
    pub fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good if self.colour => "32",
            Tone::Bad if self.colour => "31",
            _ => return text.to_string(),
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The lines of a text, those that are too wide broken between words; what follows is indented by two more. Lines
    /// without a place to break, and drawings, stay whole.
    pub fn fold(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let body = line.trim_end_matches('\n');
            if visible(body) <= self.width {
                out.push_str(line);
                continue;
            }
            let indent = body.len() - body.trim_start_matches(' ').len();
            let hang = hanging(body).unwrap_or(indent + 2).min(self.width / 2);
            let mut at = 0;
            // Alignment within a line is kept as far as it reaches.
            for (gap, word) in words(body) {
                let needs = visible(word);
                if at > 0 && at + gap + needs > self.width {
                    out.push('\n');
                    out.push_str(&" ".repeat(hang));
                    out.push_str(word);
                    at = hang + needs;
                } else {
                    out.push_str(&" ".repeat(gap));
                    out.push_str(word);
                    at += gap + needs;
                }
            }
            if line.ends_with('\n') {
                out.push('\n');
            }
        }
        out
    }
}

/// Where the text of an entry begins, in a line such as `  name   what it is`.
fn hanging(line: &str) -> Option<usize> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let gap = indent + line[indent..].find("  ")?;
    let text = gap + line[gap..].find(|c| c != ' ')?;
    let at = cells(&line[..text]);
    (at <= 32).then_some(at)
}

/// Words with the number of spaces before each.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let word = rest.trim_start_matches(' ');
        if word.is_empty() {
            return None;
        }
        let gap = rest.len() - word.len();
        let end = word.find(' ').unwrap_or(word.len());
        rest = &word[end..];
        Some((gap, &word[..end]))
    })
}

/// Cells of a text without its colours.
pub fn visible(text: &str) -> usize {
    let mut count = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            chars.by_ref().find(|c| *c == 'm');
        } else {
            count += 1;
        }
    }
    count
}

/// Lines of at most `room` characters, broken between words; one empty line for an empty text.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            line.push_str(word);
        } else if cells(line) + 1 + cells(word) <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// Names with a description each, descriptions aligned and broken between words.
pub fn pairs(rows: &[(String, String)], screen: &Screen) -> String {
    pairs_at(rows, 0, screen)
}

/// The same with room for names of `least` cells, so that several lists are alike.
pub fn pairs_at(rows: &[(String, String)], least: usize, screen: &Screen) -> String {
    let longest = rows.iter().map(|(name, _)| cells(name)).max().unwrap_or(0).max(least);
    // A name longer than a third of the screen has its description below it.
    let short = rows.iter().map(|(n, _)| cells(n)).filter(|n| *n <= screen.width / 3).max();
    let column = short.unwrap_or(0).max(least);
    let column = if longest <= screen.width * 2 / 5 { longest } else { column };
    let room = screen.width.saturating_sub(column + 4).max(12);
    let mut text = String::new();
    for (name, description) in rows {
        let mut first = name.as_str();
        let lines = wrap(description, room);
        if cells(first) > column && !description.is_empty() {
            text += &format!("  {first}\n");
            first = "";
        }
        for line in lines {
            let pad = " ".repeat(column.saturating_sub(cells(first)));
            text.push_str(format!("  {first}{pad}  {line}").trim_end());
            text.push('\n');
            first = "";
        }
    }
    text
}

/// Facts as `label  value`, as many beside each other as fit, read downwards; labels and values are aligned.
pub fn facts(rows: &[(&str, String, Tone)], indent: usize, screen: &Screen) -> String {
    let table = |columns: usize| {
        let height = rows.len().div_ceil(columns);
        let chunks: Vec<&[(&str, String, Tone)]> = rows.chunks(height).collect();
        let widths: Vec<(usize, usize)> = chunks
            .iter()
            .map(|c| {
                let label = c.iter().map(|r| cells(r.0)).max().unwrap_or(0);
                (label, c.iter().map(|r| cells(&r.1)).max().unwrap_or(0))
            })
            .collect();
        let total = indent + widths.iter().map(|(l, v)| l + 2 + v).sum::<usize>() + 3 * (chunks.len() - 1);
        (height, chunks, widths, total)
    };
    let most = if screen.width >= 150 { 3 } else { 2 };
    let fitting = (1..=most.min(rows.len().max(1))).rev().find(|n| *n == 1 || table(*n).3 <= screen.width);
    let (height, chunks, widths, _) = table(fitting.unwrap_or(1));
    let mut out = String::new();
    for i in 0..height {
        let mut line = " ".repeat(indent);
        for (c, (chunk, (label, value))) in chunks.iter().zip(&widths).enumerate() {
            let Some((name, text, tone)) = chunk.get(i) else { continue };
            if c > 0 {
                line += "   ";
            }
            let pad = " ".repeat(value.saturating_sub(cells(text)));
            line += &format!("{name:<label$}  {}{pad}", screen.paint(text, *tone));
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
}

impl Cell {
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

/// Rows of cells under a header; the first column is aligned left, the others right. Where they do not fit, columns give
/// way in the order that is named, and where that is not enough, each row becomes a paragraph.
#[derive(Debug, Default)]
pub struct Columns {
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// Columns that are there only where there is room, the first to go first.
    extra: Vec<String>,
    /// Columns that go next, and are named then.
    dropped: Vec<String>,
}

/// Cells that the first column keeps.
const FIRST: usize = 12;

impl Columns {
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self { head: header.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Columns that only wide screens show; the first of them goes first.
    #[must_use]
    pub fn extra(mut self, titles: &[&str]) -> Self {
        self.extra = titles.iter().map(|t| t.to_string()).collect();
        self
    }

    /// Columns that narrow screens do not show; the first of them goes first. A line below the table names them.
    #[must_use]
    pub fn giving_way(mut self, titles: &[&str]) -> Self {
        self.dropped = titles.iter().map(|t| t.to_string()).collect();
        self
    }

    pub fn row<C: Into<Cell>>(&mut self, row: impl IntoIterator<Item = C>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }

    /// There is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn width(&self, column: usize) -> usize {
        let cells_of = self.rows.iter().filter_map(|r| r.get(column)).map(|c| cells(&c.text));
        cells_of.chain(self.head.get(column).map(|h| cells(h))).max().unwrap_or(0)
    }

    /// Two cells between columns. Names of the first column are cut before a column is left out.
    pub fn render(&self, indent: usize, screen: &Screen) -> String {
        let mut shown: Vec<usize> = (0..self.head.len()).collect();
        let widths: Vec<usize> = (0..self.head.len()).map(|c| self.width(c)).collect();
        let least = |shown: &[usize]| {
            let first = widths.first().copied().unwrap_or(0).min(FIRST);
            indent + first + shown.iter().skip(1).map(|c| widths[*c] + 2).sum::<usize>()
        };
        let full = |shown: &[usize]| indent + shown.iter().map(|c| widths[*c] + 2).sum::<usize>() - 2;
        let mut without = Vec::new();
        // Further columns come only where nothing has to be cut for them.
        for title in &self.extra {
            if shown.is_empty() || full(&shown) <= screen.width {
                break;
            }
            shown.retain(|c| self.head[*c] != *title);
        }
        for title in &self.dropped {
            if least(&shown) <= screen.width {
                break;
            }
            let before = shown.len();
            shown.retain(|c| self.head[*c] != *title);
            if shown.len() < before {
                without.push(title.as_str());
            }
        }
        if least(&shown) > screen.width {
            return self.stacked(indent, screen);
        }
        let room = screen.width.saturating_sub(least(&shown) - widths.first().map_or(0, |w| (*w).min(FIRST)));
        let fitted = |c: usize| if c == 0 { widths[0].min(room) } else { widths[c] };
        let head: Vec<Cell> = self.head.iter().map(Cell::from).collect();
        let mut out = String::new();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = " ".repeat(indent);
            for c in &shown {
                let Some(cell) = row.get(*c) else { break };
                let width = fitted(*c);
                let text = clip(&cell.text, width);
                let pad = " ".repeat(width - cells(&text));
                let text = screen.paint(&text, cell.tone);
                line += &if *c == 0 { text + &pad } else { format!("  {pad}{text}") };
            }
            out += line.trim_end();
            out.push('\n');
        }
        if !without.is_empty() {
            without.reverse();
            let note = format!("{}(no room here for: {})\n", " ".repeat(indent), without.join(", "));
            out += &screen.fold(&note);
        }
        out
    }

    /// Each row as its name and a list of what the columns say.
    fn stacked(&self, indent: usize, screen: &Screen) -> String {
        let mut out = String::new();
        for row in &self.rows {
            let name = row.first().map(|c| c.text.as_str()).unwrap_or_default();
            out += &format!("{}{}\n", " ".repeat(indent), clip(name, screen.width.saturating_sub(indent)));
            let mut line = String::new();
            for (title, cell) in self.head.iter().zip(row).skip(1).filter(|(_, c)| !c.text.trim().is_empty())
            {
                let text = screen.paint(cell.text.trim(), cell.tone);
                let entry = format!("{} {text}", title.trim());
                let joined = if line.is_empty() { 0 } else { visible(&line) + 2 };
                if joined > 0 && indent + 2 + joined + visible(&entry) > screen.width {
                    out += &format!("{}{line}\n", " ".repeat(indent + 2));
                    line.clear();
                } else if joined > 0 {
                    line += ", ";
                }
                line += &entry;
            }
            if !line.is_empty() {
                out += &format!("{}{line}\n", " ".repeat(indent + 2));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(width: usize) -> Screen {
        Screen { width, colour: false }
    }

    fn table() -> Columns {
        let mut c = Columns::new(["task", "jobs", "missed", "resp p99", "migr", "resp max"])
            .extra(&["resp max"])
            .giving_way(&["migr"]);
        c.row(["a-task-with-a-long-name", "1 234", "12", "12.3 ms", "5", "44.1 ms"]);
        c.row(["b", "1", "0", "1 ms", "0", "2 ms"]);
        c
    }

    #[test]
    fn columns_give_way_in_their_order() {
        let wide = table().render(2, &narrow(90));
        assert!(wide.contains("resp max") && wide.contains("migr") && !wide.contains("no room"), "{wide}");
        let middle = table().render(2, &narrow(58));
        assert!(!middle.contains("resp max") && middle.contains("migr"), "{middle}");
        let small = table().render(2, &narrow(42));
        assert!(
            small.contains("(no room here for: migr)")
                && small.contains("a-task-with")
                && small.contains('…'),
            "{small}"
        );
        let tiny = table().render(2, &narrow(34));
        assert!(tiny.contains("  a-task-with-a-long-name\n    jobs 1 234, missed 12\n"), "{tiny}");
    }

    /// Whatever the width, no line is wider, and all that is shown is there.
    #[test]
    fn no_line_is_wider_than_the_screen() {
        for width in 30..120 {
            for line in table().render(2, &narrow(width)).lines() {
                assert!(cells(line) <= width, "{width}: {line}");
            }
            let rows = [("name".to_string(), "words ".repeat(30)), ("n".repeat(25), "more words".into())];
            for line in pairs(&rows, &narrow(width)).lines() {
                assert!(cells(line) <= width, "{width}: {line}");
            }
            let facts_of =
                [("jobs done", "1 of 2".to_string(), Tone::Plain), ("idle", "3 %".into(), Tone::Bad)];
            for line in facts(&facts_of, 2, &narrow(width)).lines() {
                assert!(cells(line) <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn long_lines_break_between_words() {
        let text = "  name    a description that is longer than the screen\nshort\n";
        let shown = narrow(30).fold(text);
        assert_eq!(
            shown,
            "  name    a description that\n          is longer than the\n          screen\nshort\n"
        );
        assert_eq!(narrow(10).fold("a_word_that_has_no_place\n"), "a_word_that_has_no_place\n");
    }

    #[test]
    fn colours_take_no_room() {
        let screen = Screen { width: 40, colour: true };
        let mut c = Columns::new(["", "a", "b"]);
        c.row([Cell::from("x"), Cell::new("1", Tone::Bad), Cell::new("22", Tone::Good)]);
        let text = c.render(0, &screen);
        assert_eq!(text, "   a   b\nx  \x1b[31m1\x1b[0m  \x1b[32m22\x1b[0m\n");
        assert_eq!(text.lines().map(visible).max(), Some(8));
        assert_eq!(Screen::default().paint("x", Tone::Bad), "x");
    }
}
