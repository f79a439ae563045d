// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The places of a text's elements: their chains and blocks.

use crate::ast::{Arrow, Chain, Each, Elem, Item, Use, When};
use crate::lex::{Tok, Token};

/// A block by where its head ends, which no other has.
pub(super) type Block = u32;

/// All chains of a text with the blocks around them, outermost first.
#[derive(Default)]
pub(super) struct Tree<'a> {
    chains: Vec<Placed<'a>>,
    /// The lists of the `annotate` statements.
    pub annotates: Vec<&'a [Use]>,
    /// Blocks of `each` that an arrow leaves.
    left: Vec<Block>,
}

struct Placed<'a> {
    chain: &'a Chain,
    scope: Vec<Block>,
    /// The first of an `each` block.
    begins_block: bool,
    /// The element of a statement that it is in.
    top: Option<&'a Elem>,
}

/// An element or the arrow before it, in its chain.
pub(super) struct Found<'a> {
    pub chain: &'a Chain,
    pub index: usize,
    pub scope: Vec<Block>,
    pub begins_block: bool,
    /// The last element of the statement around.
    pub top: &'a Elem,
}

impl Chain {
    /// The elements in order.
    pub(super) fn elem(&self, index: usize) -> &Elem {
        if index == 0 { &self.first } else { &self.rest[index - 1].1 }
    }

    /// The arrow before an element.
    pub(super) fn arrow(&self, index: usize) -> Option<Arrow> {
        if index == 0 { self.lead } else { self.rest.get(index - 1).map(|(arrow, _)| *arrow) }
    }

    fn len(&self) -> usize {
        self.rest.len() + 1
    }
}

impl<'a> Tree<'a> {
    pub fn of(items: &'a [Item]) -> Self {
        let mut tree = Tree::default();
        tree.items(items);
        tree
    }

    fn items(&mut self, items: &'a [Item]) {
        for item in items {
            match item {
                Item::Annotate(uses) => self.annotates.push(uses),
                Item::Chain(chain) => self.chain(chain, &[], false, None),
                Item::Topology(t) | Item::Package(t) => {
                    for chain in &t.body {
                        self.chain(chain, &[t.name.span.end], false, None);
                    }
                }
                Item::When(When { arms, .. }) => arms.iter().for_each(|arm| self.items(&arm.items)),
                Item::Include { .. }
                | Item::Claim(_)
                | Item::Needs { .. }
                | Item::Leave(_)
                | Item::Param(_) => {}
            }
        }
    }

    fn chain(&mut self, chain: &'a Chain, scope: &[Block], begins_block: bool, top: Option<&'a Elem>) {
        let top = top.unwrap_or_else(|| chain.elem(chain.len() - 1));
        self.chains.push(Placed { chain, scope: scope.to_vec(), begins_block, top: Some(top) });
        for i in 0..chain.len() {
            let Elem::Each(each) = chain.elem(i) else { continue };
            if i + 1 < chain.len() {
                self.left.push(each.span.end);
            }
            let inner: Vec<Block> = scope.iter().copied().chain([each.span.end]).collect();
            for (n, chain) in each.body.iter().enumerate() {
                self.chain(chain, &inner, n == 0, Some(top));
            }
        }
    }

    pub fn uses(&self) -> impl Iterator<Item = &'a Use> + '_ {
        let in_chains = self.chains.iter().flat_map(|p| (0..p.chain.len()).map(|i| p.chain.elem(i)));
        let in_chains = in_chains.filter_map(|e| match e {
            Elem::Use(used) => Some(used),
            _ => None,
        });
        in_chains.chain(self.annotates.iter().flat_map(|uses| uses.iter()))
    }

    /// The element around a byte; of nested ones the innermost.
    pub fn elem(&self, at: u32) -> Option<Found<'a>> {
        let around = |e: &Elem| {
            let (start, end) = match e {
                Elem::Use(u) => (u.span.start, u.span.end),
                Elem::Entry { span, .. } | Elem::Cpu { span, .. } | Elem::Cpus { span, .. } => {
                    (span.start, span.end)
                }
                Elem::In { .. } | Elem::Out { .. } | Elem::Each(_) => return false,
            };
            start <= at && at < end
        };
        self.find(|chain, i| around(chain.elem(i)))
    }

    /// The arrow at a byte.
    pub fn arrow(&self, at: u32) -> Option<Found<'a>> {
        self.find(|chain, i| chain.arrow(i).is_some_and(|a| a.span.start <= at && at < a.span.end))
    }

    fn find(&self, is_it: impl Fn(&Chain, usize) -> bool) -> Option<Found<'a>> {
        self.chains.iter().find_map(|p| {
            let index = (0..p.chain.len()).find(|i| is_it(p.chain, *i))?;
            let (chain, scope, begins_block) = (p.chain, p.scope.clone(), p.begins_block);
            Some(Found { chain, index, scope, begins_block, top: p.top? })
        })
    }

    fn scope_of(&self, used: &Use) -> &[Block] {
        let holds = |p: &&Placed<'_>| {
            (0..p.chain.len()).any(|i| matches!(p.chain.elem(i), Elem::Use(u) if std::ptr::eq(u, used)))
        };
        self.chains.iter().find(holds).map_or(&[], |p| &p.scope)
    }

    /// Another element declares the name that this one mentions.
    pub fn declared(&self, used: &Use) -> bool {
        let scope = self.scope_of(used);
        used.class.is_none()
            && self.uses().any(|u| {
                u.class.is_some() && u.word.text == used.word.text && scope.starts_with(self.scope_of(u))
            })
    }

    /// A declaration and where its name is used.
    pub fn mentions<'t>(&'t self, used: &'a Use) -> impl Iterator<Item = &'a Use> + 't {
        let scope = self.scope_of(used).to_vec();
        let named = used.class.is_some();
        self.uses().filter(move |u| {
            std::ptr::eq(*u, used)
                || (named
                    && u.class.is_none()
                    && u.word.text == used.word.text
                    && self.scope_of(u).starts_with(&scope))
        })
    }

    pub fn last_chain(&self, block: Block) -> Option<&'a Chain> {
        self.chains.iter().rev().find(|p| p.scope.last() == Some(&block)).map(|p| p.chain)
    }

    /// An arrow leaves the block.
    pub fn leads_on(&self, block: Block) -> bool {
        self.left.contains(&block)
    }
}

/// Where an element begins, its in-port included.
pub(super) fn elem_start(elem: &Elem) -> u32 {
    match elem {
        Elem::Use(u) => u.in_port.as_ref().map_or(u.span.start, |p| p.span.start),
        Elem::Each(e) => e.span.start,
        Elem::Entry { span, .. }
        | Elem::Cpu { span, .. }
        | Elem::Cpus { span, .. }
        | Elem::In { span, .. }
        | Elem::Out { span, .. } => span.start,
    }
}

/// Where an element ends, its out-port or its block included.
pub(super) fn elem_end(elem: &Elem, tokens: &[Token]) -> u32 {
    match elem {
        Elem::Use(u) => u.out_port.as_ref().map_or(u.span.end, |p| p.span.end),
        Elem::Each(e) => block_end(e.span.end, tokens),
        Elem::Entry { span, .. }
        | Elem::Cpu { span, .. }
        | Elem::Cpus { span, .. }
        | Elem::In { span, .. }
        | Elem::Out { span, .. } => span.end,
    }
}

/// Behind the closing brace of the block whose head ends at `head`.
pub(super) fn block_end(head: Block, tokens: &[Token]) -> u32 {
    let mut depth = 0;
    for t in tokens.iter().filter(|t| t.span.start >= head) {
        match t.tok {
            Tok::CurlyOpen => depth += 1,
            Tok::CurlyClose => {
                depth -= 1;
                if depth == 0 {
                    return t.span.end;
                }
            }
            _ => {}
        }
    }
    tokens.last().map_or(head, |t| t.span.end)
}

/// The element that an arrow into a block leads to.
pub(super) fn first_inside(elem: &Elem) -> Option<&Elem> {
    let Elem::Each(Each { body, .. }) = elem else { return None };
    let first = &body.first()?.first;
    first_inside(first).or(Some(first))
}

/// The element that an arrow out of a block begins at.
pub(super) fn last_inside(elem: &Elem) -> Option<&Elem> {
    let Elem::Each(Each { body, .. }) = elem else { return None };
    let chain = body.last()?;
    let last = chain.elem(chain.len() - 1);
    last_inside(last).or(Some(last))
}
