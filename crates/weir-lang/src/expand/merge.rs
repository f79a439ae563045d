// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Packages: a part of a topology that is inserted into one pipe of another (docs/packages.md has the rules).

use std::collections::BTreeMap;
use std::rc::Rc;

use weir_core::CpuSet;

use super::{Ctx, Expander, Scope, sides};
use crate::ast::{Item, Use};
use crate::diag::{Sink, suggest};
use crate::edit::{Package, base};
use crate::machine;
use crate::net::*;
use crate::settings::{Bound, Slot, Target};
use crate::source::Span;
use crate::wire::{self, From, To};

impl<'a> Expander<'a> {
    /// CPUs that packages claim: no part of the topology that they are merged into.
    pub(super) fn claims(&mut self, packages: &[&'a Package]) -> CpuSet {
        let all = CpuSet::first(self.shape.nr_cpus());
        let mut claimed = CpuSet::new();
        for package in packages {
            for item in &package.items {
                let Item::Claim(sel) = item else { continue };
                let Some(set) = machine::select(self.shape, &all, sel, self.sink) else {
                    self.broken = true;
                    continue;
                };
                for cpu in set.iter() {
                    if claimed.contains(cpu) {
                        let message = format!("another package serves CPU {cpu} already");
                        let help = "two packages cannot serve one CPU; unmerge the other first";
                        self.sink.error("double-claim", sel.span, message).help(help);
                        self.broken = true;
                    }
                    claimed.insert(cpu);
                }
            }
        }
        claimed
    }

    /// Put a package into the pipe that it was merged at.
    pub(super) fn merge(&mut self, package: &'a Package) {
        let Some(t) = package.topology() else {
            self.sink
                .error("not-a-package", package.port, "the file that is merged holds no package")
                .help("a package is written `package name { in -> ... -> out }`; docs/packages.md");
            return;
        };
        let (mut has_in, mut has_out) = (false, false);
        sides(&t.body, &mut has_in, &mut has_out);
        if !has_in || !has_out {
            let word = if has_in { "out" } else { "in" };
            self.sink
                .error("open-port", t.name.span, format!("package `{}` has no `{word}`", t.name.text))
                .help(
                    "a package is inserted into a pipe: tasks that it does not serve go from `in` to `out`",
                );
            return;
        }
        let name = t.name.text.as_str();
        if self.taken.contains_key(name) {
            self.sink
                .error(
                    "name-clash",
                    t.name.span,
                    format!("the topology has something called `{name}` already"),
                )
                .help("a package is merged once; unmerge the first, or rename one of the two");
            return;
        }
        let Some(edge) = self.port(&package.at, package) else { return };
        self.taken.insert(name.to_string(), 1);
        for item in &package.items {
            match item {
                Item::Annotate(uses) => uses.iter().for_each(|u| self.share(u)),
                Item::Chain(c) => {
                    self.sink
                        .error(
                            "not-a-package",
                            chain_span(c),
                            "a package has no chains outside of its braces",
                        )
                        .help("move it into `package ... { }`");
                }
                Item::Leave(sel) => {
                    self.sink
                        .error("not-a-package", sel.span, "a package takes no CPUs out of a topology")
                        .help("write `claim` for CPUs that the package serves itself");
                }
                Item::Needs { component, file, .. } if self.catalog.get(&component.text).is_none() => {
                    let message = format!("the component `{}` is not loaded", component.text);
                    let help =
                        format!("load it beside the package: --load {file}, or the verb `load {file}`");
                    self.sink.error("needs", component.span, message).help(help);
                }
                Item::Param(f) => {
                    self.sink
                        .error("not-a-package", f.name.span, "parameters of a package stand behind its name")
                        .help("write `package name(slice: ns = 3ms) { ... }`");
                }
                _ => {}
            }
        }
        let slots = Slot::of_formals(&t.formals, self.sink);
        self.remember(name);
        let target = Target { what: name, names: &[name], slots: &slots, relations: &[], at: t.name.span };
        let values = self.settings.values(target, &[], &Bound::new(), self.sink);
        let bound: Bound =
            t.formals.iter().zip(values).map(|(f, v)| (f.name.text.clone(), (v, f.unit))).collect();
        let mut own = CpuSet::new();
        for item in &package.items {
            if let Item::Claim(sel) = item
                && let Some(set) =
                    machine::select(self.shape, &CpuSet::first(self.shape.nr_cpus()), sel, self.sink)
            {
                set.iter().for_each(|c| own.insert(c));
            }
        }
        if own.is_empty() {
            own = (0..self.shape.nr_cpus()).filter(|c| !self.net.left.contains(*c)).collect();
        }
        let (joint_in, joint_out) = self.open(name, t.name.span);
        let pipe = &mut self.net.edges[edge];
        let behind = Edge {
            tail: Tail::Joint(joint_out, Want::Next),
            head: std::mem::replace(&mut pipe.head, Head::Joint(joint_in, Want::Next)),
            postponed: false,
            span: pipe.span,
            tail_key: pipe.tail_key.clone(),
            head_key: pipe.head_key.clone(),
        };
        self.net.edges.push(behind);
        self.scopes.push(Scope { names: BTreeMap::new(), parent: None });
        let site = self.sites.len() as u32 + 1;
        let ctx = Ctx {
            scope: self.scopes.len() - 1,
            cpus: Rc::new(own),
            cpu: None,
            tag: "".into(),
            prefix: format!("{name}/").into(),
            bound: Rc::new(bound),
            joints: Some((joint_in, joint_out)),
            site,
        };
        self.stack.push(name);
        self.chains(&t.body, &ctx);
        self.stack.pop();
    }

    /// An annotator that a package needs: that of the topology if it has one that is equal, else a new one.
    fn share(&mut self, used: &'a Use) {
        let class = used.class.as_ref().unwrap_or(&used.word);
        let index = self.catalog.components.iter().position(|c| c.name == class.text);
        let present = self.net.insts.iter().position(|i| i.annotator && i.class == index && index.is_some());
        let ctx = Ctx {
            scope: 0,
            cpus: Rc::new(CpuSet::first(self.shape.nr_cpus())),
            cpu: None,
            tag: "".into(),
            prefix: "".into(),
            bound: Rc::new(Bound::new()),
            joints: None,
            site: 0,
        };
        let (Some(at), Some(index)) = (present, index) else {
            self.annotate(used, &ctx);
            return;
        };
        if used.args.is_empty() {
            return;
        }
        let info = &self.catalog.components[index];
        let (slots, relations) = (Slot::of_component(&info.params), &info.relations);
        let target = Target { what: &class.text, names: &[], slots: &slots, relations, at: used.span };
        let values = self.settings.values(target, &used.args, &Bound::new(), self.sink);
        let wanted: Vec<u64> =
            values.into_iter().zip(&slots).map(|(v, s)| v.unwrap_or(s.info.default)).collect();
        if wanted != self.net.insts[at].params {
            let name = self.net.insts[at].name.clone();
            self.sink
                .error("ambiguous", used.span, format!("`{name}` is there already, with other parameters"))
                .help("leave the parameters out to share it as it is, or change those of the topology");
        }
    }

    /// The one pipe that `at` names: `entry`, a pipe by its name (`lb.out3`), or `x.in` and `x.out` where there is one.
    fn port(&mut self, at: &str, package: &Package) -> Option<usize> {
        match self.pipes_at(at, package.port)?[..] {
            [one] => Some(one),
            ref all => {
                let message = format!("`{at}` stands for {} pipes, and a package is put into one", all.len());
                let help = format!("name one of them: {}", self.copies_of(at).join(", "));
                self.sink.error("ambiguous", package.port, message).help(help);
                None
            }
        }
    }

    /// Names of all pipes, an edge each: `entry`, `lb.out3`, `x.in`.
    fn ports(&mut self) -> Vec<(String, usize)> {
        let wired = wire::wire(&self.net, self.catalog, self.shape, true, &mut Scratch::of(self.sink).0);
        let mut known: Vec<(String, usize)> = Vec::new();
        for (e, wire) in wired.wires.iter().enumerate() {
            match wire.from {
                From::Entry(i) => known.push((self.net.entries[i].name.clone(), e)),
                From::Inst(i, port) => {
                    known.push((format!("{}.out{port}", self.net.insts[i].name), e));
                    known.push((format!("{}.out", self.net.insts[i].name), e));
                }
            }
            if let To::Inst(i, port) = wire.to {
                known.push((format!("{}.in{port}", self.net.insts[i].name), e));
                known.push((format!("{}.in", self.net.insts[i].name), e));
            }
        }
        known
    }

    /// Some names of ports that are `at` in some block.
    fn copies_of(&mut self, at: &str) -> Vec<String> {
        let mut names: Vec<String> =
            self.ports().into_iter().map(|k| k.0).filter(|n| place(n) == at).collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(4);
        names
    }

    /// The pipe of this name, or those that have it in all blocks. Reports where there is none, or where the name says too little.
    pub(super) fn pipes_at(&mut self, at: &str, span: Span) -> Option<Vec<usize>> {
        let known = self.ports();
        let hits: Vec<usize> = known.iter().filter(|(n, _)| n == at).map(|(_, e)| *e).collect();
        if hits.len() > 1 {
            let message = format!("`{at}` stands for {} pipes", hits.len());
            let help = format!("name one of them, such as `{at}0`");
            self.sink.error("ambiguous", span, message).help(help);
            return None;
        }
        if hits.len() == 1 {
            return Some(hits);
        }
        let mut copies: Vec<usize> = known.iter().filter(|(n, _)| place(n) == at).map(|(_, e)| *e).collect();
        copies.sort_unstable();
        copies.dedup();
        if !copies.is_empty() {
            return Some(copies);
        }
        let mut names: Vec<&str> = known.iter().map(|(n, _)| n.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let help = suggest(at, &names, "ports");
        self.sink.error("unknown-port", span, format!("the topology has no port `{at}`")).help(help);
        None
    }
}

/// The name that a port has in all blocks: `round_robin.in` for `round_robin@cpu3.in`.
fn place(port: &str) -> String {
    match port.rsplit_once('.') {
        Some((name, side)) => format!("{}.{side}", base(name)),
        None => base(port),
    }
}

/// A sink for unwanted findings, over the same sources.
struct Scratch(Sink);

impl Scratch {
    fn of(sink: &Sink) -> Self {
        Scratch(Sink { sources: sink.sources.clone(), all: Vec::new() })
    }
}

fn chain_span(chain: &crate::ast::Chain) -> crate::source::Span {
    use crate::ast::Elem::*;
    match &chain.first {
        Entry { span, .. } | Cpu { span, .. } | Cpus { span, .. } | In { span, .. } | Out { span, .. } => {
            *span
        }
        Use(u) => u.span,
        Each(e) => e.span,
    }
}
