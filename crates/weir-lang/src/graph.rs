// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The compiled topology as a graph for display: the text's elements, with the indices of the plan.

use weir_core::{Catalog, Class, CpuSet, MachineShape, PortLabel};

use crate::emit::Emitted;
use crate::net::{Head, Inst, Net, Tail};
use crate::source::Span;
use crate::units;
use crate::wire::{From, To, Wired};

/// Where something stands in the texts of a compilation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// 0: the topology itself; others are files that it includes, and changes.
    pub source: u16,
    /// Bytes.
    pub start: u32,
    pub end: u32,
}

impl std::convert::From<Span> for Place {
    fn from(span: Span) -> Self {
        Place { source: span.src, start: span.start, end: span.end }
    }
}

/// A topology for a machine, as nodes and pipes.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Name of the topology.
    pub name: String,
    /// Name of the machine it was expanded for.
    pub machine: String,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

/// What a node represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeKind {
    /// Where CPUs admit tasks.
    Entry,
    /// An instance with pipes.
    Component,
    /// An instance without pipes: it answers and listens on topics.
    Annotator,
    /// CPUs that take their tasks here; one exit pipe.
    Cpus,
}

/// An entry, an instance, or the CPUs of an exit.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: NodeKind,
    /// `lb`, `round_robin@cpu3`, `entry`, `CPU 3`.
    pub name: String,
    /// Name as in the text, without the group it was repeated for.
    pub base: String,
    /// Component; empty for entries.
    pub component: String,
    /// Purpose of the component; `Service` for entries and CPUs.
    pub class: Class,
    /// Parameters that differ from their default, as `name = value`.
    pub params: Vec<String>,
    /// Topics it asks and answers.
    pub asks: Vec<String>,
    pub answers: Vec<String>,
    /// CPUs of the entry, the exit or the block in which it stands.
    pub cpus: CpuSet,
    /// Index into `Plan::instances`; `None` for entries. For CPUs it is their termination.
    pub instance: Option<u32>,
    /// A component that belongs to no home ([`weir_core::Plan::homes`]): several exits lie ahead, or changes wait.
    pub shared: bool,
    /// Nodes that repeat one place in the text share the site.
    pub site: u32,
    /// Where it is declared.
    pub place: Place,
}

/// A pipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Indices into [`Graph::nodes`].
    pub from: usize,
    pub to: usize,
    /// Index into `Plan::pipes`.
    pub pipe: u32,
    pub postponed: bool,
    pub keyed: bool,
    /// Instruction set of a demultiplexer's port, otherwise empty.
    pub label: String,
    /// The arrow.
    pub place: Place,
}

/// Build the graph of an emitted plan.
pub(crate) fn build(
    net: &Net,
    wired: &Wired,
    emitted: &Emitted,
    order: &[usize],
    catalog: &Catalog,
    shape: &MachineShape,
) -> Graph {
    let mut nodes: Vec<Node> = net.entries.iter().map(entry).collect();
    let mut node_of = vec![0; net.insts.len()];
    let homes = emitted.plan.homes();
    for &i in order {
        let made = emitted.instance[i];
        let outs = !emitted.plan.instances[made as usize].outs.is_empty();
        let node = Node {
            instance: Some(made),
            shared: outs && emitted.plan.home_of(made, &homes).is_none(),
            ..instance(&net.insts[i], catalog)
        };
        node_of[i] = nodes.len();
        // An annotator has a copy in each coherence domain.
        let copies = emitted.copies(i);
        if copies.len() == 1 {
            nodes.push(node);
        } else {
            nodes.extend(copies.map(|copy| Node {
                name: emitted.plan.instances[copy as usize].name.clone(),
                cpus: emitted.cpus_of(copy),
                instance: Some(copy),
                ..node.clone()
            }));
        }
    }
    let first_exit = nodes.len();
    let exits = net.exits.iter().zip(&emitted.termination);
    nodes.extend(exits.map(|(e, end)| Node { instance: Some(*end), ..exit(e) }));
    let mut edges: Vec<Edge> = wired
        .wires
        .iter()
        .enumerate()
        .map(|(w, wire)| {
            let by_isa = match wire.from {
                From::Inst(i, _) => {
                    net.insts[i].class.is_some_and(|c| catalog.components[c].out_label == PortLabel::Isa)
                }
                From::Entry(_) => false,
            };
            let pipe = &emitted.plan.pipes[emitted.pipe[w] as usize];
            Edge {
                from: match wire.from {
                    From::Entry(e) => e,
                    From::Inst(i, _) => node_of[i],
                },
                to: match wire.to {
                    To::Inst(i, _) => node_of[i],
                    To::Exit(e) => first_exit + e,
                },
                pipe: emitted.pipe[w],
                postponed: pipe.postponed,
                keyed: pipe.keyed,
                label: if by_isa { shape.isas[wire.label as usize].clone() } else { String::new() },
                place: wire.span.into(),
            }
        })
        .collect();
    edges.sort_by_key(|e| e.pipe);
    Graph { name: emitted.plan.name.clone(), machine: shape.name.clone(), nodes, edges }
}

/// The graph of a network that may have mistakes: what is there, as far as it is joined. Its instances and pipes have
/// no place in any plan; pipes are numbered as they stand here.
pub(crate) fn outline(name: &str, net: &Net, catalog: &Catalog, shape: &MachineShape) -> Graph {
    let mut nodes: Vec<Node> = net.entries.iter().map(entry).collect();
    let mut node_of = vec![0; net.insts.len()];
    for i in flow(net) {
        node_of[i] = nodes.len();
        nodes.push(instance(&net.insts[i], catalog));
    }
    let first_exit = nodes.len();
    nodes.extend(net.exits.iter().map(exit));
    let mut edges = Vec::new();
    for edge in &net.edges {
        let from = match edge.tail {
            Tail::Entry(e) => e,
            Tail::Inst(i, _) => node_of[i],
            Tail::Joint(..) => continue,
        };
        let to = match edge.head {
            Head::Exit(e) => first_exit + e,
            Head::Inst(i, _) => node_of[i],
            Head::Joint(..) => continue,
        };
        let (postponed, place) = (edge.postponed, edge.span.into());
        let pipe = edges.len() as u32;
        edges.push(Edge { from, to, pipe, postponed, keyed: false, label: String::new(), place });
    }
    Graph { name: name.into(), machine: shape.name.clone(), nodes, edges }
}

/// Instances so that writers come before receivers, as far as there is no circle.
fn flow(net: &Net) -> Vec<usize> {
    let n = net.insts.len();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut waiting = vec![0u32; n];
    for edge in &net.edges {
        if let (Tail::Inst(a, _), Head::Inst(b, _)) = (&edge.tail, &edge.head) {
            after[*a].push(*b);
            waiting[*b] += 1;
        }
    }
    let mut order: Vec<usize> = (0..n).filter(|i| waiting[*i] == 0).collect();
    let mut next = 0;
    while let Some(&i) = order.get(next) {
        next += 1;
        for &b in &after[i] {
            waiting[b] -= 1;
            if waiting[b] == 0 {
                order.push(b);
            }
        }
    }
    order.extend((0..n).filter(|i| waiting[*i] > 0));
    order
}

fn entry(entry: &crate::net::Entry) -> Node {
    Node {
        kind: NodeKind::Entry,
        name: entry.name.clone(),
        base: "entry".into(),
        component: String::new(),
        class: Class::Service,
        params: Vec::new(),
        asks: Vec::new(),
        answers: Vec::new(),
        cpus: (*entry.cpus).clone(),
        instance: None,
        shared: false,
        site: entry.site,
        place: entry.span.into(),
    }
}

/// An instance; one of an unknown component is of none.
fn instance(inst: &Inst, catalog: &Catalog) -> Node {
    let info = inst.class.map(|c| &catalog.components[c]);
    let changed = info.into_iter().flat_map(|i| i.changed(&inst.params));
    let base = inst.name.rsplit('/').next().unwrap_or(&inst.name);
    Node {
        kind: if inst.annotator { NodeKind::Annotator } else { NodeKind::Component },
        name: inst.name.clone(),
        base: base.split('@').next().unwrap_or(base).to_string(),
        component: info.map_or_else(String::new, |i| i.name.clone()),
        class: info.map_or(Class::Service, |i| i.class),
        params: changed.map(|(p, v)| format!("{} = {}", p.name, units::show(v, p.unit))).collect(),
        asks: info.map_or_else(Vec::new, |i| i.asks.clone()),
        answers: info.map_or_else(Vec::new, |i| i.answers.clone()),
        cpus: (*inst.cpus).clone(),
        instance: None,
        shared: false,
        site: inst.site,
        place: inst.span.into(),
    }
}

fn exit(exit: &crate::net::Exit) -> Node {
    let list = &exit.cpus;
    let name = if list.len() == 1 { format!("CPU {list}") } else { format!("CPUs {list}") };
    Node {
        kind: NodeKind::Cpus,
        base: name.clone(),
        name,
        component: "termination".into(),
        class: Class::Service,
        params: Vec::new(),
        asks: Vec::new(),
        answers: Vec::new(),
        cpus: (**list).clone(),
        instance: None,
        shared: false,
        site: exit.site,
        place: exit.span.into(),
    }
}
