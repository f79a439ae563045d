// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Changes to an expanded network in small: one annotator, one instance, one pipe that comes or goes. Only the result of all changes of
//! a transaction is checked, so an instance may be without pipes in between.

use std::collections::BTreeMap;
use std::rc::Rc;

use weir_core::CpuSet;

use super::patch::{drop_parts, whereabouts};
use super::{Ctx, Expander};
use crate::ast::{Num, Use, Word};
use crate::diag::suggest;
use crate::machine;
use crate::net::*;
use crate::settings::Bound;
use crate::source::Span;

impl<'a> Expander<'a> {
    /// The surroundings of what a change creates: those of the topology itself, for these CPUs.
    fn outside(&mut self, cpus: CpuSet, tag: &str, prefix: &str) -> Ctx {
        Ctx {
            scope: 0,
            cpus: Rc::new(cpus),
            cpu: None,
            tag: tag.into(),
            prefix: prefix.into(),
            bound: Rc::new(Bound::new()),
            joints: None,
            site: self.sites.len() as u32 + 1,
        }
    }

    fn all_cpus(&self) -> CpuSet {
        (0..self.shape.nr_cpus()).filter(|c| !self.net.left.contains(*c)).collect()
    }

    /// The component that a change creates, unless it is unknown or the name is taken, which is reported.
    fn creatable(&mut self, used: &'a Use) -> Option<(&'a Word, bool)> {
        let class = used.class.as_ref().unwrap_or(&used.word);
        let Some(info) = self.catalog.get(&class.text).filter(|c| c.name != "termination") else {
            let names: Vec<&str> = self.catalog.components.iter().map(|c| c.name.as_str()).collect();
            let help = suggest(&class.text, &names, "components");
            let message = format!("unknown component `{}`", class.text);
            self.sink.error("unknown-component", class.span, message).help(help);
            return None;
        };
        Some((class, info.ins.1 == 0 && info.outs.1 == 0))
    }

    fn is_free(&mut self, used: &Use) -> bool {
        let taken = self.taken.contains_key(&used.word.text);
        if taken && used.class.is_some() {
            let message = format!("the topology has something called `{}` already", used.word.text);
            let help = "give it another name, or remove the other first";
            self.sink.error("name-clash", used.word.span, message).help(help);
        }
        !taken || used.class.is_none()
    }

    /// `annotate x`: one more annotator.
    pub(super) fn add_annotator(&mut self, used: &'a Use) {
        if self.is_free(used) {
            let ctx = self.outside(self.all_cpus(), "", "");
            self.annotate(used, &ctx);
        }
    }

    /// `create q :: fifo`: an instance without pipes, which other changes connect.
    pub(super) fn add_instance(&mut self, used: &'a Use) {
        let Some((class, annotator)) = self.creatable(used) else { return };
        if !self.is_free(used) {
            return;
        }
        let ctx = self.outside(self.all_cpus(), "", "");
        match annotator {
            true => self.annotate(used, &ctx),
            false => {
                self.instance(used, class, &ctx, false);
            }
        }
    }

    /// `insert q :: fifo at lb.out3`: an instance in a pipe; or one in the pipe of each block, `at round_robin.in`.
    pub(super) fn insert(&mut self, used: &'a Use, at: &str, port: Span) {
        let Some((class, annotator)) = self.creatable(used) else { return };
        if annotator {
            let message = format!("`{}` has no pipes and cannot stand in one", class.text);
            self.sink.error("no-pipes", used.span, message).help("write `annotate` instead of `insert`");
            return;
        }
        let Some(edges) = self.pipes_at(at, port) else { return };
        if edges.len() == 1 && !self.is_free(used) {
            return;
        }
        for edge in edges {
            // The block in which the pipe ends, else that in which it begins.
            let inst = match (&self.net.edges[edge].head, &self.net.edges[edge].tail) {
                (Head::Inst(i, _), _) | (_, Tail::Inst(i, _)) => Some(*i),
                _ => None,
            };
            let cpus = match (&self.net.edges[edge].head, inst) {
                (Head::Exit(e), _) => (*self.net.exits[*e].cpus).clone(),
                (_, Some(i)) => (*self.net.insts[i].cpus).clone(),
                _ => self.all_cpus(),
            };
            let (tag, prefix) = inst.map_or_else(Default::default, |i| whereabouts(&self.net.insts[i].name));
            let ctx = self.outside(cpus, &tag, &prefix);
            let new = self.instance(used, class, &ctx, false);
            let seq = vec![self.net.edges.len() as u32];
            let pipe = &mut self.net.edges[edge];
            let behind = Edge {
                tail: Tail::Inst(new, Want::Next),
                head: std::mem::replace(&mut pipe.head, Head::Inst(new, Want::Next)),
                postponed: false,
                span: pipe.span,
                tail_key: seq.clone(),
                head_key: std::mem::replace(&mut pipe.head_key, seq),
            };
            self.net.edges.push(behind);
        }
    }

    /// `remove q`: an annotator or an instance goes. What came to an instance goes on where its one out-pipe led.
    pub(super) fn remove(&mut self, name: &str, at: Span) {
        let Some(found) = self.named(name, at) else { return };
        let mut gone = vec![false; self.net.insts.len()];
        let mut closed = vec![false; self.net.exits.len()];
        for i in found {
            let own = self.net.insts[i].name.clone();
            let to = |e: &Edge| matches!(e.head, Head::Inst(h, _) if h == i);
            let from = |e: &Edge| matches!(e.tail, Tail::Inst(t, _) if t == i);
            let (mut outs, mut rest): (Vec<Edge>, Vec<Edge>) =
                std::mem::take(&mut self.net.edges).into_iter().partition(from);
            let fed = rest.iter().any(to);
            match (outs.len(), fed) {
                (1, true) => {
                    let behind = outs.remove(0);
                    for (n, edge) in (0u32..).zip(rest.iter_mut().filter(|e| to(e))) {
                        edge.head = behind.head.clone();
                        edge.postponed |= behind.postponed;
                        edge.head_key = [behind.head_key.as_slice(), &[n]].concat();
                    }
                }
                (_, false) => outs.iter().for_each(|edge| {
                    if let Head::Exit(e) = edge.head {
                        closed[e] = !rest.iter().any(|r| matches!(r.head, Head::Exit(x) if x == e));
                    }
                }),
                (n, true) => {
                    let message = match n {
                        0 => format!("tasks go into `{own}`, and nothing leads on from it"),
                        _ => format!("`{own}` has {n} out-pipes: where are its tasks to go without it?"),
                    };
                    self.sink.error("ambiguous", at, message).help(format!(
                        "write `replace {own}, … with {{ in -> … }}`, or connect what feeds it to another instance first"
                    ));
                    // It stays as it is; nothing is built.
                    rest.extend(outs);
                    self.net.edges = rest;
                    return;
                }
            }
            self.net.edges = rest;
            self.taken.remove(&own);
            gone[i] = true;
        }
        drop_parts(&mut self.net, &gone, &closed);
        self.forget_things();
    }

    /// Instances have other numbers now; nothing in a change refers to names of the text.
    fn forget_things(&mut self) {
        self.scopes.iter_mut().for_each(|s| s.names = BTreeMap::new());
    }

    /// `connect lb -> q`, `connect q -> cpu 3`: one more pipe.
    pub(super) fn connect(&mut self, from: &str, to: &str, postponed: bool, at: Span) {
        let (Some(tail), Some(head)) = (self.tail(from, at), self.head(to, at)) else { return };
        let seq = vec![self.net.edges.len() as u32];
        let (tail_key, head_key) = (seq.clone(), seq);
        self.net.edges.push(Edge { tail, head, postponed, span: at, tail_key, head_key });
    }

    /// An entry, or an instance with perhaps a port in square brackets.
    fn tail(&mut self, from: &str, at: Span) -> Option<Tail> {
        if let Some(e) = self.net.entries.iter().position(|e| e.name == from) {
            return Some(Tail::Entry(e));
        }
        let (name, port) = match from.strip_suffix(']').and_then(|f| f.split_once('[')) {
            Some((name, port)) => (name.trim(), Some(port.trim())),
            None => (from, None),
        };
        let i = self.single(name, at)?;
        let Some(port) = port else { return Some(Tail::Inst(i, Want::Next)) };
        let by_isa = self.net.insts[i]
            .class
            .is_some_and(|c| self.catalog.components[c].out_label == weir_core::PortLabel::Isa);
        let want = match (port.parse(), port.strip_prefix("cpu ").map(|n| n.trim().parse())) {
            (Ok(n), _) => Want::Number(n, at),
            (_, Some(Ok(cpu))) => Want::Cpu(cpu, at),
            _ if by_isa => {
                Want::Isa(machine::isa(self.shape, &Word { text: port.into(), span: at }, self.sink)?, at)
            }
            _ => {
                self.sink
                    .error("wrong-port", at, format!("`[{port}]` is no port of `{name}`"))
                    .help("write `[2]` or `[cpu 2]`; instruction sets belong to the ports of `isa_demux`");
                return None;
            }
        };
        Some(Tail::Inst(i, want))
    }

    /// `cpu 3`, or an instance.
    fn head(&mut self, to: &str, at: Span) -> Option<Head> {
        let Some(number) = to.strip_prefix("cpu").filter(|n| n.starts_with(' ')) else {
            return self.single(to, at).map(|i| Head::Inst(i, Want::Next));
        };
        let value = number.trim().parse().unwrap_or(u32::MAX);
        if !machine::known_cpu(self.shape, Num { value, span: at }, self.sink) {
            return None;
        }
        let site = self.sites.len() as u32 + 1 + self.net.exits.len() as u32;
        let cpus = Rc::new([value].into_iter().collect::<CpuSet>());
        self.net.exits.push(Exit { cpus, span: at, site, tag: format!("@cpu{value}") });
        Some(Head::Exit(self.net.exits.len() - 1))
    }

    /// The one instance of this name.
    fn single(&mut self, name: &str, at: Span) -> Option<usize> {
        match self.named(name, at)?[..] {
            [i] if self.net.insts[i].annotator => {
                let message = format!("`{name}` has no pipes");
                self.sink.error("no-pipes", at, message).help("annotators are connected by topics alone");
                None
            }
            [i] => Some(i),
            [i, ..] => {
                let one = self.net.insts[i].name.clone();
                let message = format!("`{name}` stands for several instances, and a pipe leads to one");
                self.sink.error("ambiguous", at, message).help(format!("name one of them, such as `{one}`"));
                None
            }
            [] => None,
        }
    }

    /// `disconnect lb.out3`, `disconnect q.in`: a pipe goes.
    pub(super) fn disconnect(&mut self, at: &str, port: Span) {
        let Some(mut edges) = self.pipes_at(at, port) else { return };
        let mut closed = vec![false; self.net.exits.len()];
        edges.sort_unstable();
        for edge in edges.into_iter().rev() {
            if let Head::Exit(e) = self.net.edges.remove(edge).head {
                closed[e] = !self.net.edges.iter().any(|r| matches!(r.head, Head::Exit(x) if x == e));
            }
        }
        let gone = vec![false; self.net.insts.len()];
        drop_parts(&mut self.net, &gone, &closed);
    }
}
