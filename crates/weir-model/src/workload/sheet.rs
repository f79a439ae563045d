// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Task sets from spreadsheets: one line a task, columns with their units in the header (`period (ms)`), or units in the cells.
//!
//! The lines become `[[task]]` tables of a workload file, so that every value means the same and is checked in the same
//! way; what is wrong there is shown at its cell. The cells are found by code of our own, because a message points at them:
//! the crate `csv` knows where a record begins, not where a cell does.

use std::ops::Range;

use weir_text::quantity;
use weir_text::toml::quoted;

use super::Workload;
use super::build::Limits;
use super::tomlfile;
use crate::error::{Error, did_you_mean};
use crate::units::TIME;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Text,
    Number,
}

/// Columns by the key of a workload file, with what tables in papers call them.
const COLUMNS: [(&str, &[&str], Kind); 11] = [
    ("name", &["task"], Kind::Text),
    ("period", &["t"], Kind::Time),
    ("wcet", &["c", "cost", "execution", "e"], Kind::Time),
    ("deadline", &["d"], Kind::Time),
    ("jitter", &["j"], Kind::Time),
    ("offset", &["o", "phase"], Kind::Time),
    ("blocking", &["b"], Kind::Time),
    ("priority", &["prio"], Kind::Number),
    ("count", &[], Kind::Number),
    ("group", &[], Kind::Text),
    ("cpus", &["cpu"], Kind::Text),
];

/// A column of the file.
struct Column {
    key: &'static str,
    kind: Kind,
    /// The unit of its numbers, from the header.
    unit: Option<&'static str>,
}

/// Read a task set.
///
/// # Errors
/// [`crate::error::ErrorKind::Workload`]: a column is unknown or lacks its unit, a cell is no value, or what a workload file refuses.
pub(crate) fn parse(name: &str, file: &str, text: &str, limits: Limits) -> Result<Workload, Error> {
    let wrong = |span: Range<usize>, message: String, help: String| {
        Err(Error::workload(message).help(help).at(file, text, span))
    };
    let mut lines = lines(text);
    let Some(header) = lines.next() else {
        let help = "the first line names the columns: name, period (ms), wcet (ms), deadline (ms)";
        return Err(Error::workload(format!("`{file}` has no line")).help(help).in_source(file, text));
    };
    // What separates the cells, in the order of what a header is least likely to have by chance.
    let separator = [b'\t', b';', b',']
        .into_iter()
        .find(|s| text[header.clone()].bytes().any(|b| b == *s))
        .unwrap_or(b',');
    let mut columns: Vec<Column> = Vec::new();
    for cell in cells(text, header.clone(), separator) {
        let title = value(text, &cell);
        match column(&title) {
            Ok(found) if columns.iter().any(|c| c.key == found.key) => {
                return wrong(cell, format!("two columns are called `{}`", found.key), "remove one".into());
            }
            Ok(found) => columns.push(found),
            Err((message, help)) => return wrong(cell, message, help),
        }
    }
    for needed in ["period", "wcet"] {
        if !columns.iter().any(|c| c.key == needed) {
            let help = "columns: name, period, wcet, deadline, jitter, offset, blocking, priority, count, group, cpus; times with a unit: period (ms)";
            return wrong(header, format!("there is no column `{needed}`"), help.into());
        }
    }
    let mut toml = String::new();
    // Where each line of the workload file comes from.
    let mut origins: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut count = 0;
    for line in lines {
        let row = cells(text, line.clone(), separator);
        if row.len() > columns.len() {
            let what = format!("the line has {} cells, the header {}", row.len(), columns.len());
            let help = match separator {
                b',' => "put a cell that has a comma between quotes; decimal commas need `;` between cells",
                _ => "remove what is too much, or name its column",
            };
            return wrong(row[columns.len()].clone(), what, help.into());
        }
        count += 1;
        let begin = toml.len();
        toml += "[[task]]\n";
        if !columns.iter().any(|c| c.key == "name") {
            toml += &format!("name = \"t{count}\"\n");
        }
        origins.push((begin..toml.len(), line.clone()));
        for (column, cell) in columns.iter().zip(&row) {
            let shown = value(text, cell);
            if shown.is_empty() {
                continue;
            }
            let begin = toml.len();
            let written = match column.kind {
                Kind::Text => quoted(&shown),
                Kind::Number => shown.clone(),
                Kind::Time => {
                    let number = if separator == b';' { shown.replace(',', ".") } else { shown.clone() };
                    // Spreadsheets may leave the 0 out.
                    let number = if number.starts_with('.') { format!("0{number}") } else { number };
                    let bare = number.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'_');
                    let time = match (bare, column.unit) {
                        (true, Some(unit)) => format!("{number}{unit}"),
                        (true, None) if number.trim_matches(['0', '.']).is_empty() => "0ns".into(),
                        (true, None) => {
                            let help = format!(
                                "write the unit into the header, `{} (ms)`, or into the cell, `{shown}ms`",
                                column.key
                            );
                            return wrong(cell.clone(), format!("`{shown}` has no unit"), help);
                        }
                        (false, _) => number,
                    };
                    if let Err(e) = quantity::parse(&time, TIME) {
                        return wrong(cell.clone(), e.message, e.help);
                    }
                    quoted(&time)
                }
            };
            toml += &format!("{} = {written}\n", column.key);
            origins.push((begin..toml.len(), cell.clone()));
        }
    }
    if count == 0 {
        return wrong(header, "there is no task below the header".into(), "add a line for each task".into());
    }
    let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    tomlfile::parse(name, file, &toml, limits, &none).map_err(|e| {
        let at = e.span.as_ref().and_then(|span| {
            origins.iter().find(|(made, _)| made.contains(&span.start)).map(|(_, cell)| cell.clone())
        });
        match at {
            Some(cell) => Error { source: None, span: None, ..e }.at(file, text, cell),
            None => Error { source: None, span: None, ..e }.in_source(file, text),
        }
    })
}

/// Lines with something in them, without remarks.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut begin = 0;
    let all = text.split_inclusive('\n').map(move |line| {
        let from = begin;
        begin += line.len();
        from..from + line.trim_end_matches(['\n', '\r']).len()
    });
    all.filter(|range| {
        let line = text[range.clone()].trim();
        !line.is_empty()
            && !line.starts_with('#')
            && line.bytes().any(|b| !matches!(b, b',' | b';' | b'\t' | b' '))
    })
}

/// Where the cells of a line are, quotes included.
fn cells(text: &str, line: Range<usize>, separator: u8) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut begin, mut quoted) = (line.start, false);
    for at in line.clone() {
        match text.as_bytes()[at] {
            b'"' => quoted = !quoted,
            b if b == separator && !quoted => {
                all.push(begin..at);
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.push(begin..line.end);
    // A spreadsheet writes the empty cells behind the last one, too.
    while all.len() > 1 && all.last().is_some_and(|c| text[c.clone()].trim().is_empty()) {
        all.pop();
    }
    all.into_iter()
        .map(|c| {
            let cell = &text[c.clone()];
            let from = c.start + (cell.len() - cell.trim_start().len());
            from..(from + cell.trim().len())
        })
        .collect()
}

/// A cell's text, without quotes.
fn value(text: &str, cell: &Range<usize>) -> String {
    let raw = text[cell.clone()].trim();
    match raw.strip_prefix('"').and_then(|r| r.strip_suffix('"')) {
        Some(inside) => inside.replace("\"\"", "\"").trim().to_string(),
        None => raw.to_string(),
    }
}

/// `period (ms)`, `Period [us]`, `wcet_ms`, `deadline/ms`, `T`.
fn column(title: &str) -> Result<Column, (String, String)> {
    let lower = title.to_lowercase();
    let at = lower.find(['(', '[', '_', '/', ' ']).unwrap_or(lower.len());
    let (word, rest) = (lower[..at].trim(), lower[at..].trim_matches(['(', ')', '[', ']', '_', '/', ' ']));
    let found = COLUMNS.iter().find(|(key, others, _)| *key == word || others.contains(&word));
    let Some((key, _, kind)) = found else {
        let keys: Vec<&str> = COLUMNS.iter().map(|c| c.0).collect();
        return Err((format!("unknown column `{title}`"), did_you_mean(word, &keys)));
    };
    let unit = match (kind, rest) {
        (_, "") => None,
        (Kind::Time, unit) => match TIME.suffixes.iter().find(|(s, _)| s.to_lowercase() == unit) {
            Some((unit, _)) => Some(*unit),
            None => {
                return Err((
                    format!("`{rest}` is not a unit of time"),
                    format!("write `{key} (ms)`; units: ns, us, ms, s, min"),
                ));
            }
        },
        (_, _) => return Err((format!("`{key}` has no unit"), format!("call the column `{key}`"))),
    };
    Ok(Column { key, kind: *kind, unit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Workload, Error> {
        parse("set", "set.csv", text, Limits::default())
    }

    #[test]
    fn units_stand_in_the_header_or_in_the_cells() {
        let sets = [
            "name,period (ms),wcet (us),deadline (ms)\ncamera,10,2500,8\nmotor,2,400,\n",
            "Task;T [ms];C [us];D [ms]\r\ncamera;10;2500;8\r\nmotor;2;400\r\n",
            "# my set\nname\tperiod\twcet\tdeadline\ncamera\t10ms\t2.5ms\t8ms\nmotor\t2ms\t0.4ms\n",
            "\"name\",\"period_ms\",\"wcet_ms\",\"deadline_ms\"\n\"camera\",\"10\",\"2.5\",\"8\"\nmotor,2,.4,,,\n",
            "name;period (ms);wcet (ms);deadline (ms)\ncamera;10;2,5;8\nmotor;2;0,4;\n",
        ];
        for text in sets {
            let w = read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(w.tasks.len(), 2, "{text}");
            let timing = |i: usize| w.tasks[i].timing.expect("periodic");
            assert_eq!((timing(0).wcet_ns, timing(1).wcet_ns), (2_500_000, 400_000), "{text}");
            assert_eq!((w.tasks[0].name.as_str(), w.tasks[1].name.as_str()), ("camera", "motor"));
        }
        let w = read("period (ms),wcet (ms)\n10,1\n20,2\n").expect("tasks get names");
        assert_eq!(w.tasks[1].name, "t2");
    }

    #[test]
    fn mistakes_are_shown_at_their_cells() {
        for (text, place, words) in [
            ("name,perod (ms),wcet (ms)\na,1,1\n", (1, 6), "unknown column `perod (ms)`"),
            ("name,period (h),wcet (ms)\na,1,1\n", (1, 6), "`h` is not a unit"),
            ("name,period,wcet (ms)\na,1,1\n", (2, 3), "`1` has no unit"),
            ("name,wcet (ms)\na,1\n", (1, 1), "no column `period`"),
            ("name,period (ms),wcet (ms)\na,10,x\n", (2, 6), "`x` is not a time"),
            ("name,period (ms),wcet (ms)\na,10,-1\n", (2, 6), "negative"),
            ("name,period (ms),wcet (ms)\na,10,1,9\n", (2, 8), "4 cells"),
            ("name,period (ms),wcet (ms),period (us)\na,10,1,9\n", (1, 28), "two columns"),
            ("name,period (ms),wcet (ms)\n", (1, 1), "no task"),
            ("name,period (ms),wcet (ms)\na,10,1\na,10,1\n", (3, 1), "a"),
            ("name,period (ms),wcet (ms),count\na,10,1,many\n", (2, 8), "many"),
        ] {
            let e = read(text).expect_err(text);
            assert_eq!(e.position(), Some(place), "{text}: {e}");
            assert!(e.to_string().contains(words), "{text}: {e}");
            assert!(e.help.is_some(), "{text}");
        }
        assert!(read("").expect_err("empty").to_string().contains("no line"));
    }

    /// Whatever the bytes, an error or a workload.
    #[test]
    fn any_text_is_safe() {
        let base = "name,period (ms),wcet (us)\n\"a,b\",10,2500\nmotor,2,400\n";
        for at in 0..base.len() {
            for with in ["\"", ",", ";", "\n", "ä", "(", ""] {
                let mut text = base.to_string();
                text.replace_range(at..=at, with);
                let _ = read(&text);
            }
        }
    }
}
