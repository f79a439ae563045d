// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The compiled topology as a graph to look at: what was written, with the indices of the plan.

use weir_core::{Catalog, Class, CpuSet, MachineShape, PortLabel};

use crate::emit::Emitted;
use crate::net::Net;
use crate::units;
use crate::wire::{From, To, Wired};

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

/// What a node stands for.
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
    /// Nodes that repeat one place in the text share the site.
    pub site: u32,
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
    let mut nodes = Vec::new();
    for entry in &net.entries {
        nodes.push(Node {
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
            site: entry.site,
        });
    }
    let mut node_of = vec![0; net.insts.len()];
    for &i in order {
        let inst = &net.insts[i];
        let info = &catalog.components[inst.class.expect("unknown components are errors")];
        let changed = info.params.iter().zip(&inst.params).filter(|(p, v)| p.default != **v);
        let base = inst.name.rsplit('/').next().unwrap_or(&inst.name);
        node_of[i] = nodes.len();
        let node = Node {
            kind: if inst.annotator { NodeKind::Annotator } else { NodeKind::Component },
            name: inst.name.clone(),
            base: base.split('@').next().unwrap_or(base).to_string(),
            component: info.name.clone(),
            class: info.class,
            params: changed.map(|(p, v)| format!("{} = {}", p.name, units::show(*v, p.unit))).collect(),
            asks: info.asks.clone(),
            answers: info.answers.clone(),
            cpus: (*inst.cpus).clone(),
            instance: Some(emitted.instance[i]),
            site: inst.site,
        };
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
    for (e, exit) in net.exits.iter().enumerate() {
        let list = &exit.cpus;
        let name = if list.len() == 1 { format!("CPU {list}") } else { format!("CPUs {list}") };
        nodes.push(Node {
            kind: NodeKind::Cpus,
            base: name.clone(),
            name,
            component: "termination".into(),
            class: Class::Service,
            params: Vec::new(),
            asks: Vec::new(),
            answers: Vec::new(),
            cpus: (**list).clone(),
            instance: Some(emitted.termination[e]),
            site: exit.site,
        });
    }
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
            }
        })
        .collect();
    edges.sort_by_key(|e| e.pipe);
    Graph { name: emitted.plan.name.clone(), machine: shape.name.clone(), nodes, edges }
}
