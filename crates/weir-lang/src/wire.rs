// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Numbers the ports of every instance and checks their count.

use std::collections::BTreeMap;

use weir_core::{Catalog, CpuSet, MachineShape, PortLabel};

use crate::diag::Sink;
use crate::net::{Head, Net, Tail, Want};
use crate::source::Span;

/// Writer of a pipe, with port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum From {
    Entry(usize),
    Inst(usize, u32),
}

/// Reader of a pipe, with port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum To {
    Inst(usize, u32),
    Exit(usize),
}

/// A pipe with numbered ports.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub from: From,
    pub to: To,
    pub postponed: bool,
    pub span: Span,
    /// ISA index behind a `PortLabel::Isa` port, otherwise 0.
    pub label: u64,
    /// `x[cpu 3]`: the pipe must lead to this CPU.
    pub for_cpu: Option<u32>,
}

/// The network with all ports numbered: pipes by instance, in order of ports.
pub(crate) struct Wired {
    pub wires: Vec<Wire>,
    pub ins: Vec<Vec<usize>>,
    pub outs: Vec<Vec<usize>>,
    /// Wires of each entry and exit.
    pub entries: Vec<Vec<usize>>,
    pub exits: Vec<Vec<usize>>,
    /// Some port is wrong; that was reported.
    pub broken: bool,
}

/// Number ports. With `quiet`, counts are not checked, as pipes are missing for reported reasons.
pub(crate) fn wire(
    net: &Net,
    catalog: &Catalog,
    shape: &MachineShape,
    quiet: bool,
    sink: &mut Sink,
) -> Wired {
    let n = net.insts.len();
    let mut wired = Wired {
        wires: Vec::with_capacity(net.edges.len()),
        ins: vec![Vec::new(); n],
        outs: vec![Vec::new(); n],
        entries: vec![Vec::new(); net.entries.len()],
        exits: vec![Vec::new(); net.exits.len()],
        broken: false,
    };
    for (e, edge) in net.edges.iter().enumerate() {
        let from = match &edge.tail {
            Tail::Entry(i) => {
                wired.entries[*i].push(e);
                From::Entry(*i)
            }
            Tail::Inst(i, _) => {
                wired.outs[*i].push(e);
                From::Inst(*i, 0)
            }
            Tail::Joint(..) => unreachable!("joints are spliced before wiring"),
        };
        let to = match &edge.head {
            Head::Exit(i) => {
                wired.exits[*i].push(e);
                To::Exit(*i)
            }
            Head::Inst(i, _) => {
                wired.ins[*i].push(e);
                To::Inst(*i, 0)
            }
            Head::Joint(..) => unreachable!("joints are spliced before wiring"),
        };
        let (mut label, mut for_cpu) = (0, None);
        match &edge.tail {
            Tail::Inst(_, Want::Isa(isa, _)) => label = u64::from(*isa),
            Tail::Inst(_, Want::Cpu(cpu, _)) => for_cpu = Some(*cpu),
            _ => {}
        }
        wired.wires.push(Wire { from, to, postponed: edge.postponed, span: edge.span, label, for_cpu });
    }
    for i in 0..n {
        let mut ins = std::mem::take(&mut wired.ins[i]);
        let mut outs = std::mem::take(&mut wired.outs[i]);
        ins.sort_by(|a, b| net.edges[*a].head_key.cmp(&net.edges[*b].head_key));
        outs.sort_by(|a, b| net.edges[*a].tail_key.cmp(&net.edges[*b].tail_key));
        let in_wants: Vec<&Want> = ins
            .iter()
            .map(|e| match &net.edges[*e].head {
                Head::Inst(_, w) => w,
                _ => &Want::Next,
            })
            .collect();
        let out_wants: Vec<&Want> = outs
            .iter()
            .map(|e| match &net.edges[*e].tail {
                Tail::Inst(_, w) => w,
                _ => &Want::Next,
            })
            .collect();
        let name = &net.insts[i].name;
        for (wants, list, is_in) in [(&in_wants, &mut ins, true), (&out_wants, &mut outs, false)] {
            match number(wants, name, is_in, quiet, sink) {
                Some(ports) => {
                    let mut by_port: Vec<(u32, usize)> =
                        ports.iter().copied().zip(list.iter().copied()).collect();
                    by_port.sort_unstable();
                    *list = by_port.iter().map(|(_, e)| *e).collect();
                    for (port, (_, e)) in by_port.iter().enumerate() {
                        match is_in {
                            true => wired.wires[*e].to = To::Inst(i, port as u32),
                            false => wired.wires[*e].from = From::Inst(i, port as u32),
                        }
                    }
                }
                None => wired.broken = true,
            }
        }
        if let Some(info) = net.insts[i].class.map(|c| &catalog.components[c]) {
            if info.out_label == PortLabel::Isa {
                wired.broken |= !isa_ports(&out_wants, net, i, shape, sink);
            }
            if !quiet && !net.insts[i].annotator {
                let (class, span) = (info.name.as_str(), net.insts[i].span);
                wired.broken |= !count(name, class, span, ins.len(), info.ins, true, sink);
                wired.broken |= !count(name, class, span, outs.len(), info.outs, false, sink);
            }
        }
        wired.ins[i] = ins;
        wired.outs[i] = outs;
    }
    ends(net, &mut wired, quiet, sink);
    wired
}

/// Give each pipe of one side of an instance its port.
fn number(wants: &[&Want], name: &str, is_in: bool, quiet: bool, sink: &mut Sink) -> Option<Vec<u32>> {
    let mut taken: BTreeMap<u32, Span> = BTreeMap::new();
    for want in wants {
        if let Want::Number(n, span) = want
            && let Some(first) = taken.insert(*n, *span)
        {
            let side = if is_in { "in" } else { "out" };
            sink.error("double-port", *span, format!("{side}-port {n} of `{name}` is connected twice"))
                .also(first, "first here")
                .help("a port has one pipe; use another number");
            return None;
        }
    }
    // Ports that were asked for by CPU are numbered in order of CPUs, among the places they hold.
    let mut cpus: Vec<(u32, usize)> = Vec::new();
    for (i, want) in wants.iter().enumerate() {
        if let Want::Cpu(c, span) = want {
            if cpus.iter().any(|(other, _)| other == c) {
                sink.error(
                    "double-port",
                    *span,
                    format!("the port for CPU {c} of `{name}` is connected twice"),
                )
                .help("a port has one pipe");
                return None;
            }
            cpus.push((*c, i));
        }
    }
    let mut order: Vec<usize> = (0..wants.len()).collect();
    let places: Vec<usize> = cpus.iter().map(|(_, i)| *i).collect();
    cpus.sort_unstable();
    for (place, (_, i)) in places.iter().zip(&cpus) {
        order[*place] = *i;
    }
    let mut ports = vec![0; wants.len()];
    let mut next = 0;
    for i in order {
        ports[i] = match wants[i] {
            Want::Number(n, _) => *n,
            _ => {
                while taken.contains_key(&next) {
                    next += 1;
                }
                next += 1;
                next - 1
            }
        };
    }
    if let Some((last, span)) = taken.last_key_value()
        && *last as usize >= wants.len()
    {
        if !quiet {
            let side = if is_in { "in" } else { "out" };
            let n = wants.len();
            sink.error(
                "port-gap",
                *span,
                format!("`{name}` has {n} {side}-pipes, so there is no port {last}"),
            )
            .help("ports are numbered from 0 without gaps");
        }
        return None;
    }
    Some(ports)
}

/// Every pipe that leaves a demultiplexer names its instruction set, each at most once.
fn isa_ports(wants: &[&Want], net: &Net, i: usize, shape: &MachineShape, sink: &mut Sink) -> bool {
    let name = &net.insts[i].name;
    let mut seen: BTreeMap<u16, Span> = BTreeMap::new();
    let mut ok = true;
    for want in wants {
        match want {
            Want::Isa(isa, span) => {
                if seen.insert(*isa, *span).is_some() {
                    let isa = &shape.isas[*isa as usize];
                    sink.error(
                        "double-port",
                        *span,
                        format!("port `{isa}` of `{name}` is connected more than once"),
                    )
                    .help("put a `load_balancer` between, or let the CPUs share one exit: `cpus in ...`");
                    ok = false;
                }
            }
            Want::Cpu(..) => ok = false,
            _ => {
                sink.error(
                    "unnamed-port",
                    net.insts[i].span,
                    format!("a pipe leaves `{name}` without an instruction set"),
                )
                .help(format!(
                    "write `{name}[native] -> ...` and the same for the others: {}",
                    shape.isas.join(", ")
                ));
                ok = false;
            }
        }
    }
    ok
}

/// Is the number of pipes within what the component takes?
fn count(
    name: &str,
    class: &str,
    span: Span,
    got: usize,
    (min, max): (u32, u32),
    is_in: bool,
    sink: &mut Sink,
) -> bool {
    let side = if is_in { "in" } else { "out" };
    if got < min as usize {
        let (message, help) = match (got, is_in) {
            (0, true) => (
                format!("nothing leads into `{name}`"),
                format!("join it: `... -> {name}`; tasks come from an `entry`"),
            ),
            (0, false) => (
                format!("nothing follows `{name}`"),
                format!("join it: `{name} -> ...`; a chain ends at `cpu` or `cpus`"),
            ),
            _ => (format!("`{name}` has {got} {side}-pipes"), format!("`{class}` needs at least {min}")),
        };
        sink.error("open-port", span, message).help(help);
        return false;
    }
    if got > max as usize {
        let help = match (is_in, max) {
            (_, 0) => format!("`{class}` has no {side}-pipes"),
            (false, _) => {
                format!(
                    "`{class}` has at most {max}; put a `load_balancer` behind it, or let CPUs share an exit with `cpus`"
                )
            }
            (true, _) => format!("`{class}` takes at most {max}; put a `merge` before it"),
        };
        sink.error("too-many-pipes", span, format!("`{name}` has {got} {side}-pipes")).help(help);
        return false;
    }
    true
}

/// Entries have one pipe, exits have one, and no CPU has two of either.
fn ends(net: &Net, wired: &mut Wired, quiet: bool, sink: &mut Sink) {
    for (entry, wires) in net.entries.iter().zip(&wired.entries) {
        match wires.len() {
            1 => {}
            0 if quiet => wired.broken = true,
            0 => {
                sink.error("open-port", entry.span, "this entry leads nowhere").help("write `entry -> ...`");
                wired.broken = true;
            }
            _ => {
                let message = "an entry is one pipe and cannot lead to several places";
                sink.error("entry-fan-out", entry.span, message).help(
                    "put a distributor between: `entry -> load_balancer -> ...`, or give each its own: `entry each cpu -> ...`",
                );
                wired.broken = true;
            }
        }
    }
    for (exit, wires) in net.exits.iter().zip(&wired.exits) {
        match wires.len() {
            1 => {}
            0 if quiet => wired.broken = true,
            0 => {
                sink.error("open-port", exit.span, "no tasks arrive at this exit").help("write `... -> cpu`");
                wired.broken = true;
            }
            n => {
                let message = format!("{n} pipes end at this exit, a CPU takes its tasks from one");
                sink.error("double-exit", exit.span, message).help("join them first: `... -> merge -> cpus`");
                wired.broken = true;
            }
        }
    }
    let nr = net.entries.iter().map(|e| &e.cpus).chain(net.exits.iter().map(|e| &e.cpus));
    let nr = nr.filter_map(|c| c.iter().last()).max().map_or(0, |c| c as usize + 1);
    /// CPU sets with their places, code, noun and rule.
    type Sets<'a> = (Vec<(&'a CpuSet, Span)>, &'static str, &'a str, &'a str);
    let sets: [Sets<'_>; 2] = [
        (
            net.entries.iter().map(|e| (&*e.cpus, e.span)).collect(),
            "double-entry",
            "entries",
            "a task enters at one place",
        ),
        (
            net.exits.iter().map(|e| (&*e.cpus, e.span)).collect(),
            "double-exit",
            "exits",
            "a CPU takes its tasks from one pipe",
        ),
    ];
    for (list, code, word, help) in sets {
        let mut owner: Vec<Option<usize>> = vec![None; nr];
        for (i, (set, span)) in list.iter().enumerate() {
            for cpu in set.iter() {
                match owner[cpu as usize] {
                    None => owner[cpu as usize] = Some(i),
                    Some(first) => {
                        let place = sink.place(list[first].1);
                        sink.error(code, *span, format!("CPU {cpu} has two {word}"))
                            .label("second here")
                            .also(list[first].1, "first here")
                            .help(format!("{help}; the first is at {place}"));
                        wired.broken = true;
                        break;
                    }
                }
            }
        }
    }
}
