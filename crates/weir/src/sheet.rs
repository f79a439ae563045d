// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A topology as an editor shows it: the text's graph with places, its errors, and changes that keep the text.
//!
//! Places are counted in UTF-16 code units, as pages and language servers count.

use serde::{Deserialize, Serialize};
use weir_core::CpuSet;
use weir_lang::draw::Scene;
use weir_lang::{Diagnostic, Graph, NodeKind, Place, Rewrite, Severity, Source};
use weir_model::Machine;

use crate::fault::{Fault, Result};
use crate::topology::{self, Includes};

/// The displayed data of a text.
#[derive(Clone, Debug, Serialize)]
pub struct Sheet {
    pub topology: String,
    pub machine: String,
    pub nr_cpus: u32,
    /// Nothing is wrong: it can be run.
    pub complete: bool,
    /// Instances, pipes and the most pipes in a row, where it is complete.
    pub size: Option<[u64; 3]>,
    pub findings: Vec<Finding>,
    /// `None`: nothing of the text could be read.
    pub picture: Option<Picture>,
    /// The topology's conditions: for each `when` its parameter, its conditions and the displayed case.
    pub whens: Vec<(String, Vec<Option<String>>, usize)>,
}

/// A finding of the compiler.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub error: bool,
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
    /// The file, where it is not the text itself.
    pub file: Option<String>,
    /// Line and column, from 1.
    pub at: Option<(usize, usize)>,
    /// Start, end and a remark; the first is the place of the finding.
    pub labels: Vec<(usize, usize, String)>,
}

/// The graph with places, in pixels and in the text.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    pub width: f64,
    pub height: f64,
    pub rule: Option<f64>,
    pub boxes: Vec<PictureBox>,
    pub lines: Vec<PictureLine>,
}

/// A box.
#[derive(Clone, Debug, Serialize)]
pub struct PictureBox {
    /// `entry`, `cpus`, or the component's class.
    pub style: &'static str,
    /// `entry`, `component`, `annotator` or `cpus`.
    pub kind: &'static str,
    pub title: String,
    pub detail: String,
    pub topics: Vec<String>,
    /// Left, top, width, height.
    pub r#box: [f64; 4],
    /// Left, top, columns, size of a cell.
    pub strip: Option<[f64; 4]>,
    /// What its block repeats over: `cpu`, `llc` …; empty if it occurs once.
    pub each: String,
    /// Component; empty for entries, CPUs and what is unknown.
    pub component: String,
    /// Name of the instance, of several that of the text.
    pub name: String,
    /// Parameters that differ from their default.
    pub params: Vec<(String, String)>,
    /// CPUs of all members, as a list.
    pub cpus: String,
    /// First CPU of each member, where there are several.
    pub firsts: Vec<u32>,
    pub count: usize,
    /// Place in the text; `None`: it is in another file.
    pub at: Option<(usize, usize)>,
}

/// A line: the pipes of an arrow.
#[derive(Clone, Debug, Serialize)]
pub struct PictureLine {
    pub from: usize,
    pub to: usize,
    pub path: String,
    pub tip: (f64, f64),
    pub label_at: (f64, f64),
    pub postponed: bool,
    pub label: String,
    pub count: usize,
    pub at: Option<(usize, usize)>,
}

/// Look at a text for a machine.
///
/// # Errors
/// The user's: a `component.param=value` has the wrong form. Errors in the text are in the sheet.
pub fn sheet(source: &Source, machine: &Machine, set: &[String]) -> Result<Sheet> {
    let sets = topology::parse_sets(set)?;
    let seen = weir_lang::survey(source, &Includes, weir_core::catalog(), &machine.shape, &sets);
    let units = Units::new(&source.text);
    let findings = seen.found.iter().map(|d| finding(d, source, &units)).collect();
    let whens = seen.compiled.iter().flat_map(|c| &c.whens);
    let whens = whens.map(|w| (w.param.clone(), w.cases.clone(), w.case)).collect();
    let size = seen
        .compiled
        .as_ref()
        .map(|c| [c.plan.instances.len() as u64, c.plan.pipes.len() as u64, u64::from(c.plan.depth())]);
    let complete = seen.compiled.is_some();
    let graph = seen.compiled.map(|c| c.graph).or(seen.outline);
    let drawn = graph.filter(|g| !g.nodes.is_empty());
    let drawn = drawn.map(|g| picture(&g, &weir_lang::draw::scene(&g, false), Some(&source.text)));
    Ok(Sheet {
        topology: source.stem().to_string(),
        machine: machine.shape.name.clone(),
        nr_cpus: machine.nr_cpus(),
        complete,
        size,
        findings,
        picture: drawn,
        whens,
    })
}

/// A scene as pages take it; without a text nothing has a place in one.
pub fn picture(graph: &Graph, scene: &Scene, text: Option<&str>) -> Picture {
    let units = text.map(Units::new);
    let at = |place: Place| {
        let units = units.as_ref().filter(|_| place.source == 0)?;
        Some((units.of(place.start as usize), units.of(place.end as usize)))
    };
    let boxes = scene.boxes.iter().map(|b| {
        let first = &graph.nodes[b.members[0]];
        let mut cpus = CpuSet::new();
        b.members.iter().flat_map(|m| graph.nodes[*m].cpus.iter()).for_each(|c| cpus.insert(c));
        let several = b.members.len() > 1;
        let local = first.name.rsplit('/').next().unwrap_or(&first.name);
        let each = local.split('@').nth(1).filter(|_| several).unwrap_or_default();
        let params = first.params.iter().filter_map(|p| p.split_once(" = "));
        PictureBox {
            style: b.style,
            kind: match b.kind {
                NodeKind::Entry => "entry",
                NodeKind::Component => "component",
                NodeKind::Annotator => "annotator",
                NodeKind::Cpus => "cpus",
            },
            title: b.title.clone(),
            detail: b.detail.clone(),
            topics: b.topics.clone(),
            r#box: [b.x, b.y, b.width, b.height],
            strip: b.strip.map(|s| [s.x, s.y, s.columns as f64, s.cell]),
            each: each.trim_end_matches(|c: char| c.is_ascii_digit()).to_string(),
            component: if b.kind == NodeKind::Cpus { String::new() } else { first.component.clone() },
            name: if several { first.base.clone() } else { first.name.clone() },
            params: params.map(|(name, value)| (name.into(), value.into())).collect(),
            cpus: cpus.to_string(),
            firsts: match several {
                true => b.members.iter().filter_map(|m| graph.nodes[*m].cpus.iter().next()).collect(),
                false => Vec::new(),
            },
            count: b.members.len(),
            at: at(b.place),
        }
    });
    let lines = scene.lines.iter().map(|l| PictureLine {
        from: l.from,
        to: l.to,
        path: l.path.clone(),
        tip: l.tip,
        label_at: l.label_at,
        postponed: l.postponed,
        label: l.label.clone(),
        count: l.members.len(),
        at: at(l.place),
    });
    Picture {
        width: scene.width,
        height: scene.height,
        rule: scene.rule,
        boxes: boxes.collect(),
        lines: lines.collect(),
    }
}

fn finding(d: &Diagnostic, source: &Source, units: &Units<'_>) -> Finding {
    let own = d.source.as_ref().is_none_or(|(name, _)| *name == source.name);
    let labels = d.labels.iter().filter(|_| own && d.source.is_some());
    Finding {
        error: d.severity == Severity::Error,
        code: d.code,
        message: d.message.clone(),
        help: d.help.clone(),
        file: d.source.as_ref().filter(|_| !own).map(|(name, _)| name.clone()),
        at: d.position(),
        labels: labels.map(|(r, t)| (units.of(r.start), units.of(r.end), t.clone())).collect(),
    }
}

/// An action of a page on a graph; places are those of the sheet.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Action {
    Set { at: usize, param: String, value: Option<String> },
    SetOwn { param: String, value: String },
    Exchange { at: usize, component: String },
    Rename { at: usize, name: String },
    Insert { at: usize, component: String },
    Remove { at: usize },
    Postpone { at: usize, postponed: bool },
    Cut { at: usize },
    Join { at: usize, to: usize },
    Add { component: String },
}

/// Replace what stands from `from` to `to`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edited {
    pub from: usize,
    pub to: usize,
    pub insert: String,
}

/// An action's changes to a text.
///
/// # Errors
/// The user's: it cannot be done, for a reason that is given.
pub fn act(text: &str, action: &Action) -> Result<Vec<Edited>> {
    let units = Units::new(text);
    let byte = |at: usize| units.byte(at) as u32;
    let what = match action.clone() {
        Action::Set { at, param, value } => Rewrite::Set { at: byte(at), param, value },
        Action::SetOwn { param, value } => Rewrite::SetOwn { param, value },
        Action::Exchange { at, component } => Rewrite::Exchange { at: byte(at), component },
        Action::Rename { at, name } => Rewrite::Rename { at: byte(at), name },
        Action::Insert { at, component } => Rewrite::Insert { arrow: byte(at), component },
        Action::Remove { at } => Rewrite::Remove { at: byte(at) },
        Action::Postpone { at, postponed } => Rewrite::Postpone { arrow: byte(at), postponed },
        Action::Cut { at } => Rewrite::Cut { arrow: byte(at) },
        Action::Join { at, to } => Rewrite::Join { from: byte(at), to: byte(to) },
        Action::Add { component } => Rewrite::Add { component },
    };
    let changes = weir_lang::rewrite(text, &what, weir_core::catalog())
        .map_err(|why| Fault::user(why, "change the text itself; the graph follows it"))?;
    let edited = |c: &weir_lang::Change| Edited {
        from: units.of(c.start),
        to: units.of(c.end),
        insert: c.text.clone(),
    };
    Ok(changes.iter().map(edited).collect())
}

/// Bytes of a text as UTF-16 code units, and back.
struct Units<'a> {
    text: &'a str,
    /// Nothing is to be counted.
    ascii: bool,
}

impl<'a> Units<'a> {
    fn new(text: &'a str) -> Self {
        Units { text, ascii: text.is_ascii() }
    }

    fn of(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        if self.ascii {
            return byte;
        }
        self.text.char_indices().take_while(|(i, _)| *i < byte).map(|(_, c)| c.len_utf16()).sum()
    }

    fn byte(&self, unit: usize) -> usize {
        if self.ascii {
            return unit.min(self.text.len());
        }
        let mut count = 0;
        for (i, c) in self.text.char_indices() {
            if count >= unit {
                return i;
            }
            count += c.len_utf16();
        }
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, machine: &str) -> Sheet {
        on(text, &crate::machine::resolve(machine).expect("a preset"))
    }

    fn on(text: &str, machine: &Machine) -> Sheet {
        let source = Source { name: "mine.weir".into(), text: text.into() };
        sheet(&source, machine, &[]).expect("a sheet")
    }

    /// The text after an action on what `word` begins.
    fn done(text: &str, action: &Action) -> String {
        let mut units: Vec<u16> = text.encode_utf16().collect();
        for c in act(text, action).expect("it can be done").iter().rev() {
            units.splice(c.from..c.to, c.insert.encode_utf16());
        }
        String::from_utf16(&units).expect("it was a text")
    }

    #[test]
    fn places_are_counted_as_pages_do() {
        let text = "// Größe 😀\nentry -> round_robin -> cpus;\n";
        let sheet = of(text, "smp-2");
        assert!(sheet.complete && sheet.size.is_some());
        let picture = sheet.picture.expect("a graph");
        let queue = picture.boxes.iter().find(|b| b.component == "round_robin").expect("it is there");
        let (start, end) = queue.at.expect("in the text");
        let units: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(String::from_utf16(&units[start..end]).unwrap(), "round_robin");
        let set = Action::Set { at: start, param: "slice".into(), value: Some("1ms".into()) };
        assert_eq!(done(text, &set), text.replace("robin", "robin(slice = 1ms)"));
    }

    #[test]
    fn mistakes_have_places_and_the_rest_a_picture() {
        let sheet = of("entry -> round_robbin -> cpus;", "smp-4");
        assert!(!sheet.complete);
        let finding = &sheet.findings[0];
        assert_eq!(
            (finding.code, finding.at, &finding.labels[0].0),
            ("unknown-component", Some((1, 10)), &9)
        );
        assert!(finding.help.as_ref().is_some_and(|h| h.contains("round_robin")));
        assert_eq!(sheet.picture.expect("a graph").boxes.len(), 3);
    }

    /// Every box of the catalogue's topologies that stands in the text itself can be given a parameter that it has,
    /// and the text is a topology afterwards.
    #[test]
    fn each_parameter_of_the_catalogue_can_be_set() {
        let mut count = 0;
        for entry in crate::catalogue::TOPOLOGIES {
            // No preset has its second instruction set: its machine is a file.
            if entry.name == "fpga_after" {
                continue;
            }
            let source = Source { name: entry.file.into(), text: entry.text.into() };
            let machine = topology::default_machine(&source).expect("its own, or a preset");
            let first = on(entry.text, &machine);
            assert!(first.complete, "{}", entry.name);
            for b in &first.picture.expect("a graph").boxes {
                let (Some((start, _)), Some(info)) = (b.at, weir_core::catalog().get(&b.component)) else {
                    continue;
                };
                for param in &info.params {
                    let value = weir_lang::show_value(param.default, param.unit);
                    let set = Action::Set { at: start, param: param.name.clone(), value: Some(value) };
                    let text = done(entry.text, &set);
                    let after = on(&text, &machine);
                    assert!(after.complete, "{}: {set:?}: {:?}", entry.name, after.findings);
                    count += 1;
                }
            }
        }
        assert!(count > 60, "{count}");
    }
}
