// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Changes of a text that keep everything else: comments, order, blanks, includes.
//!
//! An editor that shows a graph names a place in the text and its change; the answer is a list of replacements. The text
//! is not reformatted. The compiler decides whether the result is a topology.

mod tree;

use weir_core::Catalog;

use crate::ast::{Item, RESERVED, Use};
use crate::diag::Sink;
use crate::lex::{Tok, Token, lex};
use crate::parse::parse;
use crate::source::Source;
use tree::{Found, Tree, elem_end, elem_start};

/// Changes to a text. Places are bytes: those of the graph's nodes and edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// A parameter of a component; without a value it has its default again.
    Set { at: u32, param: String, value: Option<String> },
    /// The value of a `param` statement.
    SetOwn { param: String, value: String },
    /// Another component in the place of one; parameters that it has not are left out.
    Exchange { at: u32, component: String },
    /// Another name for an instance, wherever it is mentioned.
    Rename { at: u32, name: String },
    /// A component into the pipes of an arrow.
    Insert { arrow: u32, component: String },
    /// An instance goes; what led to it leads to what it led to.
    Remove { at: u32 },
    /// `~>` or `->`.
    Postpone { arrow: u32, postponed: bool },
    /// The pipes of an arrow go.
    Cut { arrow: u32 },
    /// A pipe from one instance to another.
    Join { from: u32, to: u32 },
    /// A component that nothing leads to yet; annotators answer from the start.
    Add { component: String },
}

/// Replace the bytes from `start` to `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

impl Change {
    fn new(start: u32, end: u32, text: impl Into<String>) -> Self {
        Change { start: start as usize, end: end as usize, text: text.into() }
    }
}

/// What changes in `text`, in order of place and without overlaps. The error is a sentence for the user.
pub fn rewrite(text: &str, what: &Rewrite, catalog: &Catalog) -> Result<Vec<Change>, String> {
    let mut sink = Sink::default();
    sink.add_source(Source { name: "text".into(), text: text.into() });
    let items = parse(0, &mut sink, &mut 0);
    let tokens = lex(text, 0, &mut Sink::default());
    let writer = Writer { text, tokens: &tokens, items: &items, tree: Tree::of(&items), catalog };
    let mut changes = match what {
        Rewrite::Set { at, param, value } => writer.set(*at, param, value.as_deref()),
        Rewrite::SetOwn { param, value } => writer.set_own(param, value),
        Rewrite::Exchange { at, component } => writer.exchange(*at, component),
        Rewrite::Rename { at, name } => writer.rename(*at, name),
        Rewrite::Insert { arrow, component } => writer.insert(*arrow, component),
        Rewrite::Remove { at } => writer.remove(*at),
        Rewrite::Postpone { arrow, postponed } => writer.postpone(*arrow, *postponed),
        Rewrite::Cut { arrow } => writer.cut(*arrow),
        Rewrite::Join { from, to } => writer.join(*from, *to),
        Rewrite::Add { component } => writer.add(component),
    }?;
    changes.sort_by_key(|c| (c.start, c.end));
    if changes.windows(2).any(|w| w[0].end > w[1].start) {
        return Err("it is mentioned twice in one chain; change the text".into());
    }
    Ok(changes)
}

/// The readable part of the text.
struct Writer<'a> {
    text: &'a str,
    tokens: &'a [Token],
    items: &'a [Item],
    tree: Tree<'a>,
    catalog: &'a Catalog,
}

const GONE: &str = "the text has no such place any more";

impl<'a> Writer<'a> {
    fn used(&self, at: u32) -> Result<&'a Use, String> {
        self.tree.uses().find(|u| u.span.start <= at && at < u.span.end).ok_or_else(|| GONE.into())
    }

    fn known(&self, component: &str) -> Result<&'a weir_core::ComponentInfo, String> {
        self.catalog.get(component).ok_or_else(|| format!("there is no component `{component}`"))
    }

    fn set(&self, at: u32, param: &str, value: Option<&str>) -> Result<Vec<Change>, String> {
        let used = self.used(at)?;
        let position = used.args.iter().position(|a| a.name.text == param);
        match (position, value) {
            (Some(i), Some(value)) => {
                let span = used.args[i].value.span;
                Ok(vec![Change::new(span.start, span.end, value)])
            }
            (None, None) => Ok(Vec::new()),
            (None, Some(value)) => {
                let text = format!("{param} = {value}");
                let name = used.class.as_ref().unwrap_or(&used.word);
                Ok(vec![match used.args.last() {
                    Some(last) => {
                        let end = last.value.span.end;
                        Change::new(end, end, format!(", {text}"))
                    }
                    // `x` or `x()`
                    None => Change::new(name.span.end, used.span.end, format!("({text})")),
                }])
            }
            (Some(_), None) if used.args.len() == 1 => {
                let name = used.class.as_ref().unwrap_or(&used.word);
                Ok(vec![Change::new(name.span.end, used.span.end, "")])
            }
            (Some(0), None) => {
                Ok(vec![Change::new(used.args[0].name.span.start, used.args[1].name.span.start, "")])
            }
            (Some(i), None) => {
                Ok(vec![Change::new(used.args[i - 1].value.span.end, used.args[i].value.span.end, "")])
            }
        }
    }

    fn set_own(&self, param: &str, value: &str) -> Result<Vec<Change>, String> {
        let formal = self.items.iter().find_map(|i| match i {
            Item::Param(f) if f.name.text == param => f.default.as_ref(),
            _ => None,
        });
        let span = formal.ok_or_else(|| format!("this file has no parameter `{param}`"))?.span;
        Ok(vec![Change::new(span.start, span.end, value)])
    }

    fn exchange(&self, at: u32, component: &str) -> Result<Vec<Change>, String> {
        let (used, info) = (self.used(at)?, self.known(component)?);
        let name = used.class.as_ref().unwrap_or(&used.word);
        let mut changes = vec![Change::new(name.span.start, name.span.end, component)];
        let keeps = |a: &&crate::ast::Arg| info.param(&a.name.text).is_some();
        if !used.args.iter().all(|a| keeps(&a)) {
            let kept: Vec<&str> = used
                .args
                .iter()
                .filter(keeps)
                .map(|a| &self.text[a.name.span.start as usize..a.value.span.end as usize])
                .collect();
            let text = if kept.is_empty() { String::new() } else { format!("({})", kept.join(", ")) };
            changes.push(Change::new(name.span.end, used.span.end, text));
        }
        Ok(changes)
    }

    /// A name that nothing has: `fifo_a`, `fifo_b` …
    fn fresh(&self, component: &str) -> String {
        let taken = |name: &str| {
            self.tokens
                .iter()
                .any(|t| t.tok == Tok::Word && &self.text[t.span.start as usize..t.span.end as usize] == name)
        };
        let letters = ('a'..='z').map(|c| format!("{component}_{c}"));
        let numbers = (1u32..).map(|n| format!("{component}_{n}"));
        letters.chain(numbers).find(|name| !taken(name)).expect("numbers do not end")
    }

    fn rename(&self, at: u32, name: &str) -> Result<Vec<Change>, String> {
        let used = self.used(at)?;
        let mut letters = name.chars();
        let begins = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        if !begins || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!(
                "`{}` is not a name: letters, digits and `_`, not a digit first",
                name.escape_debug()
            ));
        }
        if RESERVED.contains(&name) {
            return Err(format!("`{name}` is a word of the language"));
        }
        if used.class.is_none() {
            return Ok(vec![Change::new(used.word.span.start, used.word.span.start, format!("{name} :: "))]);
        }
        let mentions = self.tree.mentions(used);
        Ok(mentions.map(|u| Change::new(u.word.span.start, u.word.span.end, name)).collect())
    }

    fn insert(&self, arrow: u32, component: &str) -> Result<Vec<Change>, String> {
        let info = self.known(component)?;
        if info.ins.1 == 0 {
            return Err(format!("`{component}` has no pipes: add it as an annotator"));
        }
        let Found { chain, index, .. } = self.tree.arrow(arrow).ok_or(GONE)?;
        // One instance for each of the arrow's pipes: a block's own are inside of it.
        if let Some(inner) = index.checked_sub(1).and_then(|i| tree::last_inside(chain.elem(i))) {
            let end = elem_end(inner, self.tokens);
            return Ok(vec![Change::new(end, end, format!(" -> {component}"))]);
        }
        if index > 0
            && let Some(inner) = tree::first_inside(chain.elem(index))
        {
            let start = elem_start(inner);
            return Ok(vec![Change::new(start, start, format!("{component} -> "))]);
        }
        let arrow = chain.arrow(index).expect("it was found");
        if index == 0 {
            // The arrow that begins a block.
            let start = elem_start(chain.elem(0));
            return Ok(vec![Change::new(start, start, format!("{component} -> "))]);
        }
        Ok(vec![Change::new(arrow.span.start, arrow.span.start, format!("-> {component} "))])
    }

    fn postpone(&self, arrow: u32, postponed: bool) -> Result<Vec<Change>, String> {
        let Found { chain, index, .. } = self.tree.arrow(arrow).ok_or(GONE)?;
        let span = chain.arrow(index).expect("it was found").span;
        Ok(vec![Change::new(span.start, span.end, if postponed { "~>" } else { "->" })])
    }

    fn cut(&self, arrow: u32) -> Result<Vec<Change>, String> {
        let Found { chain, index, .. } = self.tree.arrow(arrow).ok_or(GONE)?;
        let arrow = chain.arrow(index).expect("it was found");
        if index == 0 {
            return Err("this pipe begins outside of the block: cut it there".into());
        }
        let start = self.blanks_before(arrow.span.start);
        Ok(vec![Change::new(start, elem_start(chain.elem(index)), "; ")])
    }

    fn remove(&self, at: u32) -> Result<Vec<Change>, String> {
        if let Some(change) = self.remove_annotator(at) {
            return Ok(vec![change]);
        }
        let used = self.used(at);
        let mut changes = Vec::new();
        match used {
            Ok(used) => {
                for mention in self.tree.mentions(used) {
                    let found = self.tree.elem(mention.span.start).ok_or(GONE)?;
                    changes.push(self.without(&found));
                }
            }
            // An entry or an exit.
            Err(_) => changes.push(self.without(&self.tree.elem(at).ok_or(GONE)?)),
        }
        Ok(changes)
    }

    /// The chain without one of its elements.
    fn without(&self, found: &Found<'a>) -> Change {
        let Found { chain, index, .. } = *found;
        let elem = chain.elem(index);
        let (start, end) = (elem_start(elem), elem_end(elem, self.tokens));
        if let Some(next) = chain.arrow(index + 1) {
            if chain.arrow(index).is_some() {
                // In the middle: the arrow before it leads on.
                return Change::new(start, self.blanks_after(next.span.end), "");
            }
            if found.begins_block {
                return Change::new(start, next.span.start, "");
            }
            return Change::new(start, self.blanks_after(next.span.end), "");
        }
        match chain.arrow(index) {
            Some(before) => Change::new(self.blanks_before(before.span.start), end, ""),
            None => self.statement(start, end),
        }
    }

    /// A whole statement, with its semicolon and, where it is alone there, its line.
    fn statement(&self, start: u32, end: u32) -> Change {
        let semi = self.tokens.iter().find(|t| t.span.start >= end);
        let mut end = semi.filter(|t| t.tok == Tok::Semi).map_or(end, |t| t.span.end);
        let start = self.blanks_before(start);
        let bytes = self.text.as_bytes();
        let begins = start == 0 || bytes[start as usize - 1] == b'\n';
        let after = self.blanks_after(end) as usize;
        if begins && bytes.get(after) == Some(&b'\n') {
            end = after as u32 + 1;
        }
        Change::new(start, end, "")
    }

    fn remove_annotator(&self, at: u32) -> Option<Change> {
        let uses = self
            .tree
            .annotates
            .iter()
            .find(|uses| uses.iter().any(|u| u.span.start <= at && at < u.span.end))?;
        let i = uses.iter().position(|u| u.span.start <= at && at < u.span.end)?;
        if uses.len() == 1 {
            let word =
                self.tokens.iter().rev().find(|t| t.span.end <= uses[0].span.start && t.tok == Tok::Word)?;
            return Some(self.statement(word.span.start, uses[0].span.end));
        }
        Some(match i {
            0 => Change::new(uses[0].span.start, uses[1].span.start, ""),
            _ => Change::new(uses[i - 1].span.end, uses[i].span.end, ""),
        })
    }

    /// A name for the instance at a place, and what gives it one.
    fn named(&self, used: &Use) -> (String, Option<Change>) {
        if used.class.is_some() || self.tree.declared(used) {
            return (used.word.text.clone(), None);
        }
        let name = self.fresh(&used.word.text);
        let at = used.word.span.start;
        (name.clone(), Some(Change::new(at, at, format!("{name} :: "))))
    }

    fn join(&self, from: u32, to: u32) -> Result<Vec<Change>, String> {
        let a = self.tree.elem(from).ok_or(GONE)?;
        let b = self.tree.elem(to).ok_or(GONE)?;
        let (Some(ua), Some(ub)) = (self.used(from).ok(), self.used(to).ok()) else {
            let entry = self.used(from).is_err();
            return Err(match entry {
                true => "an entry leads to one place: insert the component into its pipe",
                false => "an exit has one writer: insert the component into the pipe that leads to it",
            }
            .into());
        };
        if std::ptr::eq(ua, ub) {
            return Err("a pipe leads from one component to another".into());
        }
        let inner = match (b.scope.starts_with(&a.scope), a.scope.starts_with(&b.scope)) {
            (true, _) => &b.scope,
            (_, true) => &a.scope,
            _ => return Err("the two stand in different blocks, where neither sees the other's name".into()),
        };
        let ((from, first), (to, second)) = (self.named(ua), self.named(ub));
        let mut changes: Vec<Change> = first.into_iter().chain(second).collect();
        changes.push(match inner.last() {
            None => {
                let last = elem_end(a.top, self.tokens).max(elem_end(b.top, self.tokens));
                let at = self.end_of_statement(last);
                Change::new(at, at, format!("\n{from} -> {to};"))
            }
            Some(block) => {
                let close = tree::block_end(*block, self.tokens);
                // The last chain is where arrows behind the block begin: it stays last.
                let last = self.tree.last_chain(*block);
                match last.filter(|_| self.tree.leads_on(*block)) {
                    Some(chain) => {
                        let at = elem_start(chain.elem(0));
                        Change::new(at, at, format!("{from} -> {to}; "))
                    }
                    None => {
                        let at = self.blanks_before(close - 1);
                        let semi = if self.text[..at as usize].ends_with(';') { "" } else { ";" };
                        Change::new(at, at, format!("{semi} {from} -> {to}"))
                    }
                }
            }
        });
        Ok(changes)
    }

    fn add(&self, component: &str) -> Result<Vec<Change>, String> {
        let info = self.known(component)?;
        if info.name == "termination" {
            return Err("`termination` is at the end of every exit already".into());
        }
        if info.ins.1 == 0 && info.outs.1 == 0 {
            if let Some(last) = self.tree.annotates.first().and_then(|uses| uses.last()) {
                let end = last.span.end;
                return Ok(vec![Change::new(end, end, format!(", {component}"))]);
            }
            // Behind the comments that the file begins with.
            let first = self.tokens.iter().find(|t| !matches!(t.tok, Tok::LineComment | Tok::BlockComment));
            let at = first.map_or(self.text.len() as u32, |t| t.span.start);
            return Ok(vec![Change::new(at, at, format!("annotate {component};\n"))]);
        }
        let end = self.text.trim_end().len() as u32;
        let line = if end == 0 { "" } else { "\n" };
        let ending = if self.text.ends_with('\n') { "" } else { "\n" };
        Ok(vec![Change::new(end, end, format!("{line}{} :: {component};{ending}", self.fresh(component)))])
    }

    /// Behind the semicolon of the statement that ends at a place, and the comment in its line.
    fn end_of_statement(&self, end: u32) -> u32 {
        let mut rest = self.tokens.iter().skip_while(|t| t.span.start < end).peekable();
        let mut at = end;
        if let Some(t) = rest.next_if(|t| t.tok == Tok::Semi) {
            at = t.span.end;
        }
        if let Some(t) = rest.next_if(|t| t.tok == Tok::LineComment)
            && !self.text[at as usize..t.span.start as usize].contains('\n')
        {
            at = t.span.end;
        }
        at
    }

    fn blanks_before(&self, at: u32) -> u32 {
        self.text[..at as usize].trim_end_matches([' ', '\t']).len() as u32
    }

    fn blanks_after(&self, at: u32) -> u32 {
        let rest = &self.text[at as usize..];
        at + (rest.len() - rest.trim_start_matches([' ', '\t']).len()) as u32
    }
}

#[cfg(test)]
mod tests;
