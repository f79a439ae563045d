// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Changes to an expanded network: replace one component, or replace some components by others.
//!
//! The network has no joints when a change begins, and again after it is spliced.

use std::collections::BTreeMap;
use std::rc::Rc;

use weir_core::{CpuSet, PortLabel};

use super::{Ctx, Expander, Scope, sides};
use crate::ast::{Chain, Use};
use crate::diag::suggest;
use crate::edit::base;
use crate::net::*;
use crate::settings::{Bound, Slot, Target};
use crate::source::Span;

impl<'a> Expander<'a> {
    /// Instances that `name` stands for: the one of that name, or all copies of a place. Reports where there are none.
    pub(super) fn named(&mut self, name: &str, at: Span) -> Option<Vec<usize>> {
        let insts = &self.net.insts;
        let exact: Vec<usize> = (0..insts.len()).filter(|i| insts[*i].name == name).collect();
        if !exact.is_empty() {
            return Some(exact);
        }
        let copies: Vec<usize> = (0..insts.len()).filter(|i| base(&insts[*i].name) == name).collect();
        if !copies.is_empty() {
            return Some(copies);
        }
        let mut names: Vec<String> = insts.iter().flat_map(|i| [i.name.clone(), base(&i.name)]).collect();
        names.sort();
        names.dedup();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let help = suggest(name, &names, "instances");
        self.sink.error("unknown-instance", at, format!("the topology has no instance `{name}`")).help(help);
        None
    }

    /// Put component `used` in the place of the instances called `name`.
    pub(super) fn exchange(&mut self, name: &str, used: &'a Use) {
        let Some(found) = self.named(name, used.span) else { return };
        let class = used.class.as_ref().unwrap_or(&used.word);
        let Some(index) = self.catalog.components.iter().position(|c| c.name == class.text) else {
            let names: Vec<&str> = self.catalog.components.iter().map(|c| c.name.as_str()).collect();
            let help = suggest(&class.text, &names, "components");
            let message = format!("unknown component `{}`", class.text);
            self.sink.error("unknown-component", class.span, message).help(help);
            return;
        };
        let info = &self.catalog.components[index];
        let slots = Slot::of_component(&info.params);
        for i in found {
            let inst = &self.net.insts[i];
            let (own, place, annotator) = (inst.name.clone(), base(&inst.name), inst.annotator);
            if annotator != (info.ins.1 == 0 && info.outs.1 == 0) || info.name == "termination" {
                let message = format!("`{}` cannot stand in the place of `{own}`", info.name);
                let help =
                    "a component with pipes takes the place of one with pipes, an annotator that of one";
                self.sink.error("no-pipes", used.span, message).help(help);
                return;
            }
            let by_isa = |e: &Edge| matches!(e.tail, Tail::Inst(t, Want::Isa(..)) if t == i);
            if info.out_label != PortLabel::Isa && self.net.edges.iter().any(by_isa) {
                let message =
                    format!("`{}` does not distinguish instruction sets, as `{own}` does", info.name);
                self.sink
                    .error("wrong-port", used.span, message)
                    .help("replace the following stages as well: `replace`");
                return;
            }
            let names = [class.text.as_str(), place.as_str(), own.as_str()];
            let relations = &info.relations;
            let target = Target { what: &class.text, names: &names, slots: &slots, relations, at: used.span };
            let values = self.settings.values(target, &used.args, &Bound::new(), self.sink);
            self.remember(class.text.as_str());
            self.remember(&place);
            let inst = &mut self.net.insts[i];
            inst.params = values.into_iter().zip(&slots).map(|(v, s)| v.unwrap_or(s.info.default)).collect();
            inst.class = Some(index);
            inst.span = used.span;
        }
    }

    /// Put `body` in the place of the instances called `names`, once for each copy where all of them have the same copies.
    pub(super) fn replace(&mut self, names: &[String], body: &'a [Chain], at: Span) {
        let mut found = Vec::new();
        for name in names {
            match self.named(name, at) {
                Some(list) => found.push(list),
                None => return,
            }
        }
        if let Some(i) = found.iter().flatten().find(|i| self.net.insts[**i].annotator) {
            let message =
                format!("`{}` has no pipes, so nothing can be joined in its place", self.net.insts[*i].name);
            self.sink.error("no-pipes", at, message).help("use `swap instance` for annotators");
            return;
        }
        let cpus =
            |list: &[usize]| list.iter().map(|i| (*self.net.insts[*i].cpus).clone()).collect::<Vec<_>>();
        let copies = found.first().map_or(0, Vec::len);
        let alike = copies > 1 && found.iter().all(|list| cpus(list) == cpus(&found[0]));
        let groups: Vec<Vec<usize>> = match alike {
            true => (0..copies).map(|k| found.iter().map(|list| list[k]).collect()).collect(),
            false => vec![found.concat()],
        };
        let (mut has_in, mut has_out) = (false, false);
        sides(body, &mut has_in, &mut has_out);
        let mut gone = vec![false; self.net.insts.len()];
        let mut closed = vec![false; self.net.exits.len()];
        for group in &groups {
            group.iter().for_each(|i| gone[*i] = true);
        }
        // Names become free, so that what goes on under its name keeps its state.
        for (i, inst) in self.net.insts.iter().enumerate() {
            if gone[i] {
                self.taken.remove(&inst.name);
            }
        }
        for group in groups {
            let mut set = CpuSet::new();
            group.iter().for_each(|i| self.net.insts[*i].cpus.iter().for_each(|c| set.insert(c)));
            let (tag, prefix) = whereabouts(&self.net.insts[group[0]].name);
            let label = format!("{prefix}replacement{tag}");
            let (joint_in, joint_out) = self.open(&label, at);
            let mut edges = std::mem::take(&mut self.net.edges);
            edges.retain_mut(|edge| {
                let from = matches!(edge.tail, Tail::Inst(i, _) if group.contains(&i));
                let to = matches!(edge.head, Head::Inst(i, _) if group.contains(&i));
                match (from, to) {
                    (true, true) => return false,
                    (false, true) => edge.head = Head::Joint(joint_in, Want::Next),
                    (true, false) => {
                        if let (Head::Exit(e), false) = (&edge.head, has_out) {
                            closed[*e] = true;
                            return false;
                        }
                        edge.tail = Tail::Joint(joint_out, Want::Next);
                    }
                    (false, false) => {}
                }
                true
            });
            self.net.edges = edges;
            let single = (set.len() == 1).then(|| set.iter().next()).flatten();
            self.body(body, set, single, &tag, &prefix, (joint_in, joint_out));
        }
        gone.resize(self.net.insts.len(), false);
        closed.resize(self.net.exits.len(), false);
        drop_parts(&mut self.net, &gone, &closed);
    }

    /// Two sides to be spliced.
    pub(super) fn open(&mut self, label: &str, span: Span) -> (usize, usize) {
        let joint = |is_in| Joint { is_in, name: label.to_string(), span };
        self.net.joints.extend([joint(true), joint(false)]);
        (self.net.joints.len() - 2, self.net.joints.len() - 1)
    }

    /// Expand chains that know their own names only.
    fn body(
        &mut self,
        body: &'a [Chain],
        cpus: CpuSet,
        cpu: Option<u32>,
        tag: &str,
        prefix: &str,
        joints: (usize, usize),
    ) {
        self.scopes.push(Scope { names: BTreeMap::new(), parent: None });
        let first = body.first().map_or(0, |_| self.sites.len() as u32 + 1);
        let ctx = Ctx {
            scope: self.scopes.len() - 1,
            cpus: Rc::new(cpus),
            cpu,
            tag: tag.into(),
            prefix: prefix.into(),
            bound: Rc::new(Bound::new()),
            joints: Some(joints),
            site: first,
        };
        self.chains(body, &ctx);
    }

    /// All chains of a body.
    pub(super) fn chains(&mut self, body: &'a [Chain], ctx: &Ctx) {
        let chains: Vec<&'a Chain> = body.iter().collect();
        self.declare(&chains, ctx);
        for chain in &chains {
            if let Some(arrow) = chain.lead {
                self.sink
                    .error("nothing-enters", arrow.span, "nothing precedes this arrow")
                    .help("the incoming pipe is called `in`: `in -> ...`");
            }
            self.chain(chain, ctx);
        }
    }
}

/// Group and sub-topology around an instance, as parts of its name: `@cpu3` and `x/` of `x/q@cpu3`.
pub(super) fn whereabouts(name: &str) -> (String, String) {
    let (prefix, last) = match name.rfind('/') {
        Some(i) => name.split_at(i + 1),
        None => ("", name),
    };
    let tag = last.find('@').map_or("", |i| &last[i..]);
    (tag.to_string(), prefix.to_string())
}

/// Remove instances and exits; no pipe touches them any longer.
pub(super) fn drop_parts(net: &mut Net, gone: &[bool], closed: &[bool]) {
    let number = |out: &[bool]| {
        let mut next = 0;
        out.iter()
            .map(|g| {
                if *g {
                    usize::MAX
                } else {
                    next += 1;
                    next - 1
                }
            })
            .collect::<Vec<usize>>()
    };
    let (insts, exits) = (number(gone), number(closed));
    for edge in &mut net.edges {
        if let Tail::Inst(i, _) = &mut edge.tail {
            *i = insts[*i];
        }
        match &mut edge.head {
            Head::Inst(i, _) => *i = insts[*i],
            Head::Exit(e) => *e = exits[*e],
            Head::Joint(..) => {}
        }
    }
    let mut keep = gone.iter();
    net.insts.retain(|_| !keep.next().copied().unwrap_or(false));
    let mut keep = closed.iter();
    net.exits.retain(|_| !keep.next().copied().unwrap_or(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_where_an_instance_stands() {
        assert_eq!(whereabouts("x@cpu3/q@part1"), ("@part1".to_string(), "x@cpu3/".to_string()));
        assert_eq!(whereabouts("lb"), (String::new(), String::new()));
    }
}
