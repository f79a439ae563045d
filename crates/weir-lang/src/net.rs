// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The flat network that a topology expands to, before it is checked and written as a plan.

use std::rc::Rc;

use weir_core::CpuSet;

use crate::source::Span;

/// Most instances of a plan, and most pipes. They bound what a short text can ask for.
pub(crate) const MAX_INSTANCES: usize = 1 << 17;
pub(crate) const MAX_PIPES: usize = 1 << 19;

/// An instance of a component; with `class: None` its component is unknown and was reported.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    /// Unique: `lb`, `round_robin@cpu3`, `percpu@cpu3/round_robin`.
    pub name: String,
    /// Index into `Catalog::components`.
    pub class: Option<usize>,
    pub params: Vec<u64>,
    /// CPUs of the block in which it stands.
    pub cpus: Rc<CpuSet>,
    pub span: Span,
    /// Replicas of one place in the text share the site.
    pub site: u32,
    pub annotator: bool,
}

/// An entry: CPUs that admit their tasks here.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub cpus: Rc<CpuSet>,
    pub span: Span,
    pub site: u32,
}

/// An exit: CPUs that take their tasks here.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    pub cpus: Rc<CpuSet>,
    pub span: Span,
    pub site: u32,
    /// Part of the name after `termination`, such as `@cpu3`.
    pub tag: String,
}

/// The port that was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The next free one.
    Next,
    Number(u32, Span),
    Cpu(u32, Span),
    /// ISA index.
    Isa(u16, Span),
}

/// Where an edge begins.
#[derive(Clone, Debug)]
pub(crate) enum Tail {
    Entry(usize),
    Inst(usize, Want),
    /// A side of a sub-topology; gone after splicing.
    Joint(usize, Want),
}

/// Where an edge ends.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    Exit(usize),
    Inst(usize, Want),
    Joint(usize, Want),
}

/// A pipe to be.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub tail: Tail,
    pub head: Head,
    pub postponed: bool,
    pub span: Span,
    /// Order among the edges that leave the tail's instance or reach the head's: the number of
    /// the connection, then the number within a bundle that passed a sub-topology.
    pub tail_key: Vec<u32>,
    pub head_key: Vec<u32>,
}

/// The `in` or the `out` side of a use of a sub-topology.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub is_in: bool,
    /// The use, for messages.
    pub name: String,
    pub span: Span,
}

/// Everything that a topology asks for on a machine.
#[derive(Debug, Default)]
pub(crate) struct Net {
    pub insts: Vec<Inst>,
    pub entries: Vec<Entry>,
    pub exits: Vec<Exit>,
    pub edges: Vec<Edge>,
    pub joints: Vec<Joint>,
    /// CPUs that the topology leaves out.
    pub left: CpuSet,
    /// CPUs that packages serve. They admit tasks where others do.
    pub claimed: CpuSet,
}
