// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A plan as text again. The running topology may differ from its text, because of settings, replaced instances and changes.
//!
//! The original text is kept if it still describes the running topology; else with the differing values and components inserted; else the
//! graph is written out, one word per instance. Each answer has been compiled again and compared with the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use weir_core::{Catalog, ComponentInfo, CpuSet, MachineShape, Plan, PlanInstance, PortLabel};

use crate::ast::{Item, RESERVED};
use crate::diag::Sink;
use crate::lex::{Tok, lex};
use crate::parse::parse;
use crate::rewrite::{Rewrite, rewrite};
use crate::source::{Loader, NoIncludes, Source};
use crate::{Compiled, Set, cases, compile, format, units};

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is the text that was written.
    Written,
    /// Some of its values or components were changed to the running ones.
    Changed,
    /// It was made from the graph.
    Graph,
}

/// A topology that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack {
    pub text: String,
    pub origin: Origin,
}

/// The text of `plan`, which runs on `shape`; `written` is what it was once compiled from, without includes ([`join`]).
///
/// # Errors
/// The graph cannot be written as text; the error is a sentence.
pub fn read_back(
    written: &str,
    plan: &Plan,
    catalog: &Catalog,
    shape: &MachineShape,
) -> Result<ReadBack, String> {
    let name = format!("{}.weir", plan.name);
    let again = |text: &str, sets: &[Set]| {
        compile(&Source { name: name.clone(), text: text.into() }, &NoIncludes, catalog, shape, sets).ok()
    };
    if let Some(first) = again(written, &[]) {
        // Which case of a `when` is in force is not part of the text.
        let cases = std::iter::once(Vec::new()).chain(cases::others(&first.whens));
        for sets in cases {
            if let Some((text, changes)) = adapt(written, plan, catalog, &|text| again(text, &sets)) {
                let origin = if changes { Origin::Changed } else { Origin::Written };
                return Ok(ReadBack { text, origin });
            }
        }
    }
    let writer = Writer::new(plan, catalog, shape);
    let text = writer.text();
    let text = format(&Source { name: name.clone(), text: text.clone() }).unwrap_or(text);
    match again(&text, &[]) {
        Some(c) if writer.is(&c.plan) => Ok(ReadBack { text, origin: Origin::Graph }),
        _ => Err(format!("the graph of `{}` cannot be written as a text", plan.name)),
    }
}

/// `text` with the values and components of `plan`, and whether that changed it; `None` where they differ in more.
fn adapt(
    text: &str,
    plan: &Plan,
    catalog: &Catalog,
    again: &dyn Fn(&str) -> Option<Compiled>,
) -> Option<(String, bool)> {
    let (mut text, mut seen) = (text.to_string(), BTreeSet::new());
    loop {
        let compiled = again(&text)?;
        if compiled.plan == *plan {
            let changes = !seen.is_empty();
            return Some((text, changes));
        }
        let other = first_difference(&compiled.plan, plan)?;
        let node = compiled.graph.nodes.iter().find(|n| n.instance == Some(other as u32))?;
        let (now, wanted) = (&compiled.plan.instances[other], &plan.instances[other]);
        let info = class_of(catalog, wanted.class)?;
        let at = node.place.start;
        let what = if now.class == wanted.class {
            let i = now.params.iter().zip(&wanted.params).position(|(a, b)| a != b)?;
            let value = units::show(wanted.params[i], info.params[i].unit);
            Rewrite::Set { at, param: info.params[i].name.clone(), value: Some(value) }
        } else {
            Rewrite::Exchange { at, component: info.name.clone() }
        };
        let subject = match &what {
            Rewrite::Set { param, .. } => param.clone(),
            _ => String::new(),
        };
        // Two instances that share a place in the text want different things of it.
        if node.place.source != 0 || !seen.insert((node.site, subject)) {
            return None;
        }
        for change in rewrite(&text, &what, catalog).ok()?.into_iter().rev() {
            text.replace_range(change.start..change.end, &change.text);
        }
    }
}

/// The component of a plan's class. (Its place in the catalogue need not be its number.)
fn class_of(catalog: &Catalog, id: u16) -> Option<&ComponentInfo> {
    catalog.components.iter().find(|c| c.id == id)
}

/// The first instance that has another component or other values, where all the rest is equal.
fn first_difference(a: &Plan, b: &Plan) -> Option<usize> {
    let place = |i: &PlanInstance| (i.name.clone(), i.domain, i.ins.clone(), i.outs.clone());
    let same_places = a.instances.len() == b.instances.len()
        && a.instances.iter().zip(&b.instances).all(|(x, y)| place(x) == place(y));
    let same_pipes = a.pipes.len() == b.pipes.len()
        && a.pipes.iter().zip(&b.pipes).all(|(x, y)| {
            (&x.name, x.postponed, x.from, x.to, x.label) == (&y.name, y.postponed, y.from, y.to, y.label)
        });
    let same_ends = a.entries == b.entries && a.exits == b.exits;
    if !(same_places && same_pipes && same_ends) {
        return None;
    }
    a.instances.iter().zip(&b.instances).position(|(x, y)| (x.class, &x.params) != (y.class, &y.params))
}

/// Writes the graph out.
struct Writer<'a> {
    plan: &'a Plan,
    catalog: &'a Catalog,
    shape: &'a MachineShape,
    /// What each instance is called in the text; nothing for terminations, which are not written.
    names: Vec<Option<String>>,
    /// CPUs that take no tasks.
    left: CpuSet,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a Plan, catalog: &'a Catalog, shape: &'a MachineShape) -> Self {
        let (mut taken, mut names) = (BTreeMap::<String, String>::new(), Vec::new());
        for i in &plan.instances {
            let class = class_of(catalog, i.class).map_or("", |c| c.name.as_str());
            if class == "termination" {
                names.push(None);
                continue;
            }
            // Copies of an annotator in several domains are one word.
            let whole = match i.ins.is_empty() && i.outs.is_empty() {
                true => i.name.split("@domain").next().unwrap_or(&i.name),
                false => &i.name,
            };
            let word: String =
                whole.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            // A component's name alone is a new instance at each mention.
            let mentioned_once = i.ins.len() <= 1 && i.outs.len() <= 1;
            let clash = |w: &str| {
                RESERVED.contains(&w)
                    || (catalog.get(w).is_some() && !(w == class && mentioned_once))
                    || taken.get(w).is_some_and(|owner| owner != whole)
            };
            let mut free = word.clone();
            let mut n = 0;
            while clash(&free) {
                n += 1;
                free = format!("{word}_{n}");
            }
            taken.insert(free.clone(), whole.into());
            names.push(Some(free));
        }
        let left = (0..).zip(&plan.exits).filter(|(_, e)| e.is_none()).map(|(c, _)| c).collect();
        Self { plan, catalog, shape, names, left }
    }

    fn class(&self, i: u32) -> Option<&'a ComponentInfo> {
        class_of(self.catalog, self.plan.instances[i as usize].class)
    }

    /// `name :: class(slice = 1ms)`
    fn declared(&self, i: u32) -> String {
        let (Some(name), Some(class)) = (&self.names[i as usize], self.class(i)) else {
            return String::new();
        };
        let changed = class.changed(&self.plan.instances[i as usize].params);
        let given: Vec<String> =
            changed.map(|(p, value)| format!("{} = {}", p.name, units::show(value, p.unit))).collect();
        let mut out = if *name == class.name { name.clone() } else { format!("{name} :: {}", class.name) };
        if !given.is_empty() {
            let _ = write!(out, "({})", given.join(", "));
        }
        out
    }

    fn text(&self) -> String {
        let plan = self.plan;
        let mut out = format!("// {}: as it ran on {}; made from its graph.\n\n", plan.name, self.shape.name);
        if !self.left.is_empty() {
            let _ = writeln!(out, "leave {};", cpus(&self.left));
        }
        let mut answered = BTreeSet::new();
        for (i, instance) in (0..).zip(&plan.instances) {
            if instance.ins.is_empty() && instance.outs.is_empty() && answered.insert(&self.names[i as usize])
            {
                let _ = writeln!(out, "annotate {};", self.declared(i));
            }
        }
        let mut seen = BTreeSet::new();
        let mut done = BTreeSet::new();
        let entries = (0..plan.pipes.len() as u32).filter(|p| plan.pipes[*p as usize].from.is_none());
        let rest = plan.instances.iter().flat_map(|i| i.outs.iter().copied());
        for pipe in entries.chain(rest) {
            if !done.contains(&pipe) {
                let _ = writeln!(out, "{};", self.chain(pipe, &mut seen, &mut done));
            }
        }
        out
    }

    /// From the writer of a pipe on, as far as it goes straight.
    fn chain(&self, first: u32, seen: &mut BTreeSet<u32>, done: &mut BTreeSet<u32>) -> String {
        let mut pipe = first;
        let mut out = match self.plan.pipes[pipe as usize].from {
            None => self.entry(pipe),
            Some((i, port)) => format!("{}{}", self.word(i, seen), self.out_port(i, port)),
        };
        loop {
            done.insert(pipe);
            let p = &self.plan.pipes[pipe as usize];
            out += if p.postponed { " ~> " } else { " -> " };
            let (to, port) = p.to;
            if self.names[to as usize].is_none() {
                return out + &self.exit(pipe);
            }
            let instance = &self.plan.instances[to as usize];
            if instance.ins.len() > 1 {
                let _ = write!(out, "[{port}]");
            }
            out += &self.word(to, seen);
            match instance.outs.as_slice() {
                [next] if !done.contains(next) => {
                    out += &self.out_port(to, 0);
                    pipe = *next;
                }
                _ => return out,
            }
        }
    }

    /// With its component where it is mentioned first.
    fn word(&self, i: u32, seen: &mut BTreeSet<u32>) -> String {
        match seen.insert(i) {
            true => self.declared(i),
            false => self.names[i as usize].clone().unwrap_or_default(),
        }
    }

    fn out_port(&self, i: u32, port: u32) -> String {
        let outs = &self.plan.instances[i as usize].outs;
        if self.class(i).is_some_and(|c| c.out_label == PortLabel::Isa) {
            let label = self.plan.pipes[outs[port as usize] as usize].label as usize;
            return self.shape.isas.get(label).map_or(String::new(), |isa| format!("[\"{isa}\"]"));
        }
        if outs.len() > 1 { format!("[{port}]") } else { String::new() }
    }

    fn all(&self) -> CpuSet {
        (0..self.plan.cpus.len() as u32).filter(|c| !self.left.contains(*c)).collect()
    }

    fn entry(&self, pipe: u32) -> String {
        let here = (0..).zip(&self.plan.entries).filter(|(c, e)| **e == pipe && !self.left.contains(*c));
        let here: CpuSet = here.map(|(c, _)| c).collect();
        if here == self.all() { "entry".into() } else { format!("entry {}", cpus(&here)) }
    }

    fn exit(&self, pipe: u32) -> String {
        let here: CpuSet =
            (0..).zip(&self.plan.exits).filter(|(_, e)| **e == Some(pipe)).map(|(c, _)| c).collect();
        if here == self.all() && here.len() > 1 { "cpus".into() } else { cpus(&here) }
    }

    /// `other` is the plan, but for names and numbers.
    fn is(&self, other: &Plan) -> bool {
        let plan = self.plan;
        let place = |name: &str| other.instances.iter().position(|i| i.name == name);
        // An annotator of several domains has as many copies again.
        let twin: Vec<Option<usize>> = (0..plan.instances.len())
            .map(|i| {
                let name = self.names[i].as_ref()?;
                let copy = plan.instances[i].name.rsplit_once("@domain").map(|(_, n)| n);
                let bound = !plan.instances[i].ins.is_empty();
                match copy.filter(|_| !bound) {
                    Some(n) => place(&format!("{name}@domain{n}")),
                    None => place(name),
                }
            })
            .collect();
        let end = |i: u32| {
            let class = class_of(self.catalog, other.instances[i as usize].class);
            class.is_some_and(|c| c.name == "termination")
        };
        let same_pipe = |a: u32, b: u32| {
            let (a, b) = (&plan.pipes[a as usize], &other.pipes[b as usize]);
            let to = match twin[a.to.0 as usize] {
                Some(i) => i as u32 == b.to.0 && a.to.1 == b.to.1,
                None => end(b.to.0),
            };
            let from = match (a.from, b.from) {
                (None, None) => true,
                (Some((i, port)), Some((j, other))) => twin[i as usize] == Some(j as usize) && port == other,
                _ => false,
            };
            to && from && (a.postponed, a.keyed, a.label, a.depth) == (b.postponed, b.keyed, b.label, b.depth)
        };
        let same_instance = |(i, a): (usize, &PlanInstance)| {
            if self.names[i].is_none() {
                return true;
            }
            let Some(b) = twin[i].map(|j| &other.instances[j]) else { return false };
            (a.class, &a.params, a.domain) == (b.class, &b.params, b.domain)
                && (a.ins.len(), a.outs.len()) == (b.ins.len(), b.outs.len())
                && a.outs.iter().zip(&b.outs).all(|(x, y)| same_pipe(*x, *y))
        };
        let same_exit = |(a, b): (&Option<u32>, &Option<u32>)| match (a, b) {
            (Some(a), Some(b)) => same_pipe(*a, *b),
            (None, None) => true,
            _ => false,
        };
        plan.pipes.len() == other.pipes.len()
            && plan.instances.len() == other.instances.len()
            && plan.cpus == other.cpus
            && plan.instances.iter().enumerate().all(same_instance)
            && plan.entries.iter().zip(&other.entries).all(|(a, b)| same_pipe(*a, *b))
            && plan.exits.iter().zip(&other.exits).all(same_exit)
    }
}

/// `cpu 3`, `cpus 0-3,8`
fn cpus(set: &CpuSet) -> String {
    if set.len() == 1 { format!("cpu {set}") } else { format!("cpus {set}") }
}

/// A text that stands alone: the files that it includes come before it, in the order in which they are compiled.
///
/// # Errors
/// A file cannot be had; the error is a sentence.
pub fn join(src: &Source, loader: &dyn Loader) -> Result<String, String> {
    let mut seen = BTreeSet::from([src.name.clone()]);
    let (mut pending, mut parts) = (vec![src.clone()], Vec::new());
    while let Some(source) = pending.pop() {
        let mut sink = Sink::default();
        sink.add_source(source.clone());
        let items = parse(0, &mut sink, &mut 0);
        let tokens = lex(&source.text, 0, &mut Sink::default());
        let mut text = source.text.clone();
        for item in items.iter().rev() {
            let Item::Include { span, .. } = item else { continue };
            let at = tokens.iter().position(|t| t.span == *span).unwrap_or(0);
            let end = tokens[at..].iter().find(|t| t.tok == Tok::Semi).map_or(span.end, |t| t.span.end);
            let start = tokens[at.saturating_sub(1)].span.start;
            text.replace_range(start as usize..end as usize, "");
        }
        for item in &items {
            let Item::Include { path, .. } = item else { continue };
            let loaded = loader.load(&source.name, path)?;
            if seen.insert(loaded.name.clone()) {
                pending.push(loaded);
            }
        }
        parts.push(text);
    }
    parts.reverse();
    Ok(parts.join("\n"))
}
