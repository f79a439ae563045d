// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What single elements of a chain expand to: entries, exits, instances with their ports, blocks.

use std::collections::BTreeMap;
use std::rc::Rc;

use weir_core::{CpuSet, PortLabel, Unit};

use super::{Ctx, Expander, Scope, Thing};
use crate::ast::*;
use crate::bundle::{In, Out, Side};
use crate::diag::Sink;
use crate::machine;
use crate::net::*;
use crate::settings;
use crate::source::Span;

impl<'a> Expander<'a> {
    pub(super) fn elem(&mut self, elem: &'a Elem, ctx: &Ctx) -> Side {
        match elem {
            Elem::Entry { id, sel, span } => self.entry(*id, sel, *span, ctx),
            Elem::Use(used) => self.used(used, ctx),
            Elem::Each(each) => self.each(each, ctx),
            Elem::Cpu { id, number, span } => self.exit_cpu(*id, *number, *span, ctx),
            Elem::Cpus { id, sel, span } => {
                let what = "`cpus`".to_string();
                match machine::select(self.shape, &ctx.cpus, sel, self.sink) {
                    Some(set) => {
                        let whole = *ctx.cpus == set;
                        let tag = if whole { ctx.tag.to_string() } else { format!("@cpus{set}") };
                        self.exit(*id, set, tag, what, *span, ctx)
                    }
                    None => Side::broken(what),
                }
            }
            Elem::In { port, span } | Elem::Out { port, span } => {
                let is_in = matches!(elem, Elem::In { .. });
                let word = if is_in { "`in`" } else { "`out`" };
                let Some((joint_in, joint_out)) = ctx.joints else {
                    self.sink
                        .error("outside-topology", *span, format!("{word} is allowed in a sub-topology only"))
                        .help("write `entry` where tasks enter and `cpu` or `cpus` where they leave");
                    return Side::broken(word.into());
                };
                let want = port.map_or(Want::Next, |n| Want::Number(n.value, n.span));
                let cpus = ctx.cpus.clone();
                let mut side = Side { what: word.into(), ..Side::default() };
                if is_in {
                    side.outs.push(Out { tail: Tail::Joint(joint_in, want), cpus });
                } else {
                    side.ins.push(In { head: Head::Joint(joint_out, want), cpus, postponed: false });
                }
                side
            }
        }
    }

    fn entry(&mut self, id: u32, sel: &'a EntrySel, span: Span, ctx: &Ctx) -> Side {
        let what = "`entry`".to_string();
        let sets: Option<Vec<(String, CpuSet)>> = match sel {
            EntrySel::Scope => Some(vec![(ctx.tag.to_string(), (*ctx.cpus).clone())]),
            EntrySel::Cpu(n) => {
                self.scoped_cpu(*n, ctx).map(|c| vec![(format!("@cpu{c}"), [c].into_iter().collect())])
            }
            EntrySel::Cpus(sel) => machine::select(self.shape, &ctx.cpus, sel, self.sink)
                .map(|set| vec![(format!("@cpus{set}"), set)]),
            EntrySel::Each(group, filters) => self
                .groups(group, filters, span, ctx)
                .map(|groups| groups.into_iter().map(|g| (g.tag, g.cpus)).collect()),
        };
        let Some(sets) = sets else { return Side::broken(what) };
        let site = self.site(ctx.site, id);
        let mut side = Side { what, ..Side::default() };
        for (tag, set) in sets {
            let cpus = Rc::new(set);
            let name = self.unique("entry", &Ctx { tag: tag.into(), ..ctx.clone() });
            self.net.entries.push(Entry { name, cpus: cpus.clone(), span, site });
            side.outs.push(Out { tail: Tail::Entry(self.net.entries.len() - 1), cpus });
        }
        side
    }

    /// A CPU by number, if it is in the scope.
    fn scoped_cpu(&mut self, n: Num, ctx: &Ctx) -> Option<u32> {
        if !machine::known_cpu(self.shape, n, self.sink) {
            return None;
        }
        if !ctx.cpus.contains(n.value) {
            let help = match self.net.left.contains(n.value) {
                true => "`leave` takes it out of the topology; remove one of the two".to_string(),
                false => format!("here are CPUs {}", machine::list_or_none(&ctx.cpus)),
            };
            let message = format!("CPU {} does not belong here", n.value);
            self.sink.error("cpu-out-of-scope", n.span, message).help(help);
            return None;
        }
        Some(n.value)
    }

    fn exit_cpu(&mut self, id: u32, number: Option<Num>, span: Span, ctx: &Ctx) -> Side {
        let what = "`cpu`".to_string();
        let cpu = match number {
            Some(n) => self.scoped_cpu(n, ctx),
            None => ctx.cpu,
        };
        match (cpu, number) {
            (Some(c), _) => self.exit(id, [c].into_iter().collect(), format!("@cpu{c}"), what, span, ctx),
            (None, Some(_)) => Side::broken(what),
            (None, None) => {
                self.sink
                    .error(
                        "which-cpu",
                        span,
                        "which CPU? `cpu` alone stands for the CPU of an `each cpu` block",
                    )
                    .help("write `cpu 3` for a certain CPU or `cpus` for one exit that all CPUs here share");
                Side::broken(what)
            }
        }
    }

    fn exit(&mut self, id: u32, set: CpuSet, tag: String, what: String, span: Span, ctx: &Ctx) -> Side {
        let site = self.site(ctx.site, id);
        let cpus = Rc::new(set);
        self.net.exits.push(Exit { cpus: cpus.clone(), span, site, tag });
        let head = Head::Exit(self.net.exits.len() - 1);
        Side { ins: vec![In { head, cpus, postponed: false }], what, ..Side::default() }
    }

    fn used(&mut self, used: &'a Use, ctx: &Ctx) -> Side {
        let what = format!("`{}`", used.word.text);
        let thing = match self.find(&used.word.text, ctx) {
            Some((thing, declared)) => {
                if used.class.is_none() && !used.args.is_empty() {
                    let place = self.sink.place(declared);
                    self.sink
                        .error("late-parameter", used.span, format!("{what} already has its parameters"))
                        .help(format!("give them where it is declared, at {place}"));
                }
                thing
            }
            // A declaration that failed was reported.
            None if used.class.is_some() => return Side::broken(what),
            None => match self.create(used, &used.word, ctx) {
                Some(thing) => thing,
                None => return Side::broken(what),
            },
        };
        match thing {
            Thing::Inst(i) => {
                if self.net.insts[i].annotator {
                    self.sink
                        .error(
                            "no-pipes",
                            used.span,
                            format!("{what} has no pipes and cannot stand in a chain"),
                        )
                        .help("annotators are connected by topics alone");
                    return Side::broken(what);
                }
                let by_isa = self.net.insts[i]
                    .class
                    .is_some_and(|c| self.catalog.components[c].out_label == PortLabel::Isa);
                let known = self.net.insts[i].class.is_some();
                let in_want = self.want(used.in_port.as_ref(), false, known, &what);
                let out_want = self.want(used.out_port.as_ref(), by_isa, known, &what);
                let cpus = self.net.insts[i].cpus.clone();
                Side {
                    ins: vec![In { head: Head::Inst(i, in_want), cpus: cpus.clone(), postponed: false }],
                    outs: vec![Out { tail: Tail::Inst(i, out_want), cpus }],
                    what,
                    broken: false,
                }
            }
            Thing::Sub { joint_in, joint_out, has_in, has_out, label } => {
                let number = |port: Option<&Port>, sink: &mut Sink| match port {
                    None => Want::Next,
                    Some(Port { sel: PortSel::Number(n), span }) => Want::Number(*n, *span),
                    Some(Port { span, .. }) => {
                        sink.error(
                            "wrong-port",
                            *span,
                            format!("ports of sub-topology `{label}` have numbers only"),
                        )
                        .help("write a number, and select by CPU or instruction set inside the sub-topology");
                        Want::Next
                    }
                };
                let in_want = number(used.in_port.as_ref(), self.sink);
                let out_want = number(used.out_port.as_ref(), self.sink);
                let cpus = ctx.cpus.clone();
                let mut side = Side { what, ..Side::default() };
                if has_in {
                    let head = Head::Joint(joint_in, in_want);
                    side.ins.push(In { head, cpus: cpus.clone(), postponed: false });
                }
                if has_out {
                    side.outs.push(Out { tail: Tail::Joint(joint_out, out_want), cpus });
                }
                side
            }
        }
    }

    /// The ports that a port selector requests on an instance.
    fn want(&mut self, port: Option<&Port>, by_isa: bool, known: bool, what: &str) -> Want {
        let Some(port) = port else { return Want::Next };
        match &port.sel {
            PortSel::Number(n) => Want::Number(*n, port.span),
            PortSel::Cpu(c) => {
                let span = port.span;
                if !machine::known_cpu(self.shape, Num { value: *c, span }, self.sink) {
                    self.broken = true;
                }
                if by_isa {
                    self.sink
                        .error(
                            "wrong-port",
                            span,
                            format!("ports of {what} are distinguished by instruction set"),
                        )
                        .help("write `[native]` or the name of another instruction set");
                }
                Want::Cpu(*c, span)
            }
            PortSel::Isa(name) => {
                if !by_isa && known {
                    self.sink
                        .error(
                            "wrong-port",
                            port.span,
                            format!("{what} does not distinguish instruction sets"),
                        )
                        .help(
                            "write `[2]` or `[cpu 2]`; instruction sets belong to the ports of `isa_demux`",
                        );
                    return Want::Next;
                }
                match machine::isa(self.shape, &Word { text: name.clone(), span: port.span }, self.sink) {
                    Some(isa) => Want::Isa(isa, port.span),
                    None => {
                        self.broken = true;
                        Want::Next
                    }
                }
            }
        }
    }

    fn each(&mut self, each: &'a Each, ctx: &Ctx) -> Side {
        let what = "the block".to_string();
        let Some(groups) = self.groups(&each.group, &each.filters, each.span, ctx) else {
            return Side::broken(what);
        };
        let chains: Vec<&'a Chain> = each.body.iter().collect();
        for late in chains.iter().skip(1) {
            if let Some(arrow) = late.lead {
                self.sink
                    .error("nothing-enters", arrow.span, "nothing precedes this arrow")
                    .help("only the first chain of a block may begin with an arrow");
            }
        }
        let mut side = Side { what, ..Side::default() };
        for group in groups {
            if !self.step(each.span) {
                side.broken = true;
                break;
            }
            self.scopes.push(Scope { names: BTreeMap::new(), parent: Some(ctx.scope) });
            let inner = Ctx {
                scope: self.scopes.len() - 1,
                cpus: Rc::new(group.cpus),
                cpu: group.cpu,
                tag: group.tag.into(),
                ..ctx.clone()
            };
            self.declare(&chains, &inner);
            for (i, chain) in chains.iter().enumerate() {
                let (first, last) = self.chain(chain, &inner);
                side.broken |= first.broken || last.broken;
                if i == 0 {
                    side.ins.extend(first.ins);
                }
                if i + 1 == chains.len() {
                    side.outs.extend(last.outs);
                }
            }
        }
        side
    }

    /// The groups of an `each`; `None` after a report.
    fn groups(&mut self, group: &'a Group, filters: &'a [Where], span: Span, ctx: &Ctx) -> Option<Vec<Part>> {
        let set = machine::filter(self.shape, &ctx.cpus, filters, self.sink)?;
        if set.is_empty() {
            self.sink
                .error("empty-each", span, "no CPU of the machine matches, so the block would be empty")
                .help(format!("the CPUs to choose from here are {}", machine::list_or_none(&ctx.cpus)));
            return None;
        }
        let (numbered, word) = match group {
            Group::Level(level) => {
                let tag = |n| format!("@{}{n}", level.word());
                let cpu = |n| (*level == Level::Cpu).then_some(n);
                let groups = machine::split(self.shape, &set, *level);
                return Some(
                    groups.into_iter().map(|(n, cpus)| Part { tag: tag(n), cpus, cpu: cpu(n) }).collect(),
                );
            }
            Group::Parts(v) => (settings::value(v, Unit::Count, &ctx.bound, self.sink)?, v),
            Group::Chunk(v) => (settings::value(v, Unit::Count, &ctx.bound, self.sink)?, v),
        };
        let n = set.len() as u64;
        if numbered == 0 || numbered > n {
            let message =
                format!("{n} CPUs cannot be divided like this: {numbered} is not between 1 and {n}");
            self.sink
                .error("out-of-range", word.span, message)
                .help("give a number of CPUs that the machine has");
            return None;
        }
        let groups = match group {
            Group::Parts(_) => machine::parts(&set, numbered as usize),
            _ => machine::chunks(&set, numbered as usize),
        };
        let base = if ctx.tag.is_empty() { "@".to_string() } else { format!("{}.", ctx.tag) };
        Some(
            groups
                .into_iter()
                .map(|(n, cpus)| Part { tag: format!("{base}part{n}"), cpus, cpu: None })
                .collect(),
        )
    }
}

/// A group of CPUs that a block is repeated for.
struct Part {
    tag: String,
    cpus: CpuSet,
    cpu: Option<u32>,
}
