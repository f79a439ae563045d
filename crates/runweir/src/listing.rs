// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir components | topologies | scenarios | packages`: what schedulers there are and what they are made of.

use std::process::ExitCode;

use serde::Serialize;
use weir_core::{Class, ComponentInfo, ParamInfo, Unit};
use weir_report::{Screen, wrap};

use crate::args::ListArgs;
use crate::catalogue::{self, Entry, unknown};
use crate::fault::Result;
use crate::output::{json, pairs, print, say, screen};

/// A line of a list.
#[derive(Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub summary: String,
}

impl Row {
    /// A line made of a catalogue file.
    pub fn of(entry: &Entry) -> Self {
        Row { name: entry.name.to_string(), summary: entry.summary() }
    }
}

/// Groups of lines under a heading each, or all of them as JSON.
pub fn print_rows(groups: &[(&str, Vec<Row>)], as_json: bool) -> Result<ExitCode> {
    let text = if as_json {
        json(&groups.iter().flat_map(|(_, rows)| rows).collect::<Vec<_>>())?
    } else {
        let groups = groups.iter().filter(|(_, rows)| !rows.is_empty());
        groups.map(|(heading, rows)| section(heading, rows)).collect::<Vec<_>>().join("\n")
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn section(heading: &str, rows: &[Row]) -> String {
    let rows: Vec<_> = rows.iter().map(|r| (r.name.clone(), r.summary.clone())).collect();
    let lines = pairs(&rows, &screen());
    if heading.is_empty() { lines } else { format!("{heading}:\n{lines}") }
}

/// A catalogue file in full.
#[derive(Debug, Serialize)]
struct Whole<'a> {
    name: &'a str,
    summary: String,
    file: &'a str,
    text: &'a str,
}

/// Print a catalogue file.
pub fn print_entry(entry: &Entry, as_json: bool) -> Result<ExitCode> {
    let Entry { name, file, text } = *entry;
    if as_json {
        print(&json(&Whole { name, summary: entry.summary(), file, text })?)?;
    } else {
        print(text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `runweir topologies [NAME]`, and the like for other files of the catalogue; `what` and `command` are the words for them.
pub fn files(args: &ListArgs, what: &str, command: &str, entries: &'static [Entry]) -> Result<ExitCode> {
    let Some(name) = &args.name else {
        return print_rows(&[("", entries.iter().map(Row::of).collect())], args.json);
    };
    match catalogue::find(entries, name) {
        Some(entry) => print_entry(entry, args.json),
        None => {
            let names: Vec<&str> = entries.iter().map(|e| e.name).collect();
            Err(unknown(what, command, name, &names))
        }
    }
}

/// Classes in the order in which a task meets them.
pub const CLASSES: [(Class, &str); 6] = [
    (Class::Annotate, "annotate: store facts about tasks and answer requests for them"),
    (Class::Filter, "filter: let some tasks pass and withhold others"),
    (Class::Order, "order: decide which task goes first"),
    (Class::Distribute, "distribute: choose one of several out-pipes for each task"),
    (Class::Merge, "merge: join several in-pipes"),
    (Class::Service, "service: end a path, count, or mark"),
];

/// `runweir components [NAME]`.
pub fn components(args: &ListArgs) -> Result<ExitCode> {
    let catalog = weir_core::catalog();
    if let Some(name) = &args.name {
        let Some(component) = catalog.get(name) else {
            let names: Vec<&str> = catalog.components.iter().map(|c| c.name.as_str()).collect();
            return Err(unknown("component", "components", name, &names));
        };
        if args.json {
            print(&json(component)?)?
        } else {
            say(&for_screen(&manual(component, &screen()), screen().width))?
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        print(&json(catalog)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = |class| {
        let mut rows: Vec<Row> = catalog
            .components
            .iter()
            .filter(|c| c.class == class)
            .map(|c| Row { name: c.name.clone(), summary: c.summary.clone() })
            .collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    };
    let groups: Vec<(&str, Vec<Row>)> =
        CLASSES.iter().map(|(class, heading)| (*heading, rows(*class))).collect();
    print_rows(&groups, false)
}

/// The header of the component's source, and its parameters as the language takes them.
pub fn manual(component: &ComponentInfo, screen: &Screen) -> String {
    let mut text = component.manual.trim_end().to_string() + "\n";
    if !component.params.is_empty() {
        text += "\nparameters:\n";
        let params: Vec<_> = component.params.iter().map(|p| (p.name.clone(), param(p))).collect();
        text += &pairs(&params, screen);
    }
    for r in &component.relations {
        text += &format!("{}: otherwise {}\n", r.rule, r.why);
    }
    format!("{text}\nfile: {}\n", component.source)
}

/// A manual's paragraphs, broken for the screen instead of as they stand in the source; tags, lists and examples keep their lines.
fn for_screen(text: &str, width: usize) -> String {
    let keeps = |line: &str| line.starts_with([' ', '-']) || line.contains("->");
    // A colon behind the first word makes a tag only where a block begins: a line of prose may begin with the end of a clause.
    let tag = |block: &str| block.split([' ', '\n']).next().unwrap_or_default().ends_with(':');
    let block = |block: &str| match tag(block) || block.lines().any(keeps) {
        true => block.to_string(),
        false => wrap(&block.replace('\n', " "), width).join("\n"),
    };
    text.trim_end().split("\n\n").map(block).collect::<Vec<_>>().join("\n\n")
        + if text.ends_with('\n') { "\n" } else { "" }
}

/// `run time before the task goes to the tail (3ms; 100us to 1s)`
fn param(p: &ParamInfo) -> String {
    let show = |v| weir_lang::show_value(v, p.unit);
    match p.unit {
        Unit::Flag => format!("{} ({})", p.help, show(p.default)),
        _ if p.max == u64::MAX => format!("{} ({}; from {})", p.help, show(p.default), show(p.min)),
        _ => format!("{} ({}; {} to {})", p.help, show(p.default), show(p.min), show(p.max)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A paragraph of `stride` has a line that begins with `together:`, and was printed as it stands in the source, broken twice.
    #[test]
    fn a_colon_within_a_paragraph_keeps_no_lines() {
        let text = "class:    order\npipes:    in 1\n\nThe task with the least progress runs next, so all stay\ntogether: the ratio is exact.\n";
        let want = "class:    order\npipes:    in 1\n\nThe task with the least progress\nruns next, so all stay together:\nthe ratio is exact.\n";
        assert_eq!(for_screen(text, 34), want);
    }
}
