// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Removes the sides of sub-topologies: each pipe that ends at a side is continued by the pipe that
//! begins there.

use crate::diag::Sink;
use crate::net::{Edge, Head, Net, Tail, Want};
use crate::source::Span;

/// Continue pipes through all joints. False if a joint is open, which is reported.
pub(crate) fn splice(net: &mut Net, sink: &mut Sink) -> bool {
    let mut ok = true;
    let mut ins: Vec<Vec<usize>> = vec![Vec::new(); net.joints.len()];
    let mut outs: Vec<Vec<usize>> = vec![Vec::new(); net.joints.len()];
    let mut edges: Vec<Option<Edge>> = std::mem::take(&mut net.edges).into_iter().map(Some).collect();
    for (i, edge) in edges.iter().enumerate() {
        let Some(edge) = edge else { continue };
        if let Head::Joint(j, _) = edge.head {
            ins[j].push(i);
        }
        if let Tail::Joint(j, _) = edge.tail {
            outs[j].push(i);
        }
    }
    for j in 0..net.joints.len() {
        let take = |ids: &[usize], edges: &mut Vec<Option<Edge>>| -> Vec<Edge> {
            ids.iter().filter_map(|&i| edges[i].take()).collect()
        };
        let (mut coming, mut going) = (take(&ins[j], &mut edges), take(&outs[j], &mut edges));
        coming.sort_by(|a, b| a.head_key.cmp(&b.head_key));
        going.sort_by(|a, b| a.tail_key.cmp(&b.tail_key));
        let Some(pairs) = numbered(net, j, &coming, &going, sink) else {
            ok = false;
            continue;
        };
        for (sub, (c, g)) in pairs.into_iter().enumerate() {
            let (c, g) = (&coming[c], &going[g]);
            // The bundle keeps its order within the place that each side has among its neighbours.
            let mut tail_key = c.tail_key.clone();
            let mut head_key = g.head_key.clone();
            tail_key.push(sub as u32);
            head_key.push(sub as u32);
            let edge = Edge {
                tail: c.tail.clone(),
                head: g.head.clone(),
                postponed: c.postponed || g.postponed,
                span: if net.joints[j].is_in { c.span } else { g.span },
                tail_key,
                head_key,
            };
            let index = edges.len();
            if let Head::Joint(k, _) = edge.head {
                ins[k].push(index);
            }
            if let Tail::Joint(k, _) = edge.tail {
                outs[k].push(index);
            }
            edges.push(Some(edge));
        }
    }
    net.edges = edges.into_iter().flatten().collect();
    // A chain of joints that leads in a circle has no end outside.
    net.edges.retain(|e| !matches!(e.head, Head::Joint(..)) && !matches!(e.tail, Tail::Joint(..)));
    ok
}

/// Which pipe continues which: by port number, or, where one side has a single pipe without a
/// number, that one for all of the other side.
fn numbered(
    net: &Net,
    j: usize,
    coming: &[Edge],
    going: &[Edge],
    sink: &mut Sink,
) -> Option<Vec<(usize, usize)>> {
    let joint = &net.joints[j];
    let side = if joint.is_in { "in" } else { "out" };
    if coming.is_empty() && going.is_empty() {
        return Some(Vec::new());
    }
    if coming.is_empty() || going.is_empty() {
        let (inside, outside) = if joint.is_in { (going, coming) } else { (coming, going) };
        let (message, help) = match (inside.is_empty(), outside.is_empty()) {
            (false, true) => (
                format!("`{side}` of `{}` is not connected", joint.name),
                "join it with an arrow where the sub-topology is used",
            ),
            _ => (
                format!("nothing inside `{}` is joined to its `{side}`", joint.name),
                "join `in` and `out` inside the sub-topology",
            ),
        };
        sink.error("open-port", joint.span, message).help(help);
        return None;
    }
    let head_want = |e: &Edge| match &e.head {
        Head::Joint(_, w) => w.clone(),
        _ => Want::Next,
    };
    let tail_want = |e: &Edge| match &e.tail {
        Tail::Joint(_, w) => w.clone(),
        _ => Want::Next,
    };
    let (c_want, g_want): (Vec<Want>, Vec<Want>) =
        (coming.iter().map(head_want).collect(), going.iter().map(tail_want).collect());
    if c_want == [Want::Next] {
        return Some((0..going.len()).map(|g| (0, g)).collect());
    }
    if g_want == [Want::Next] {
        return Some((0..coming.len()).map(|c| (c, 0)).collect());
    }
    let c_ports = ports(&c_want, coming, &joint.name, sink)?;
    let g_ports = ports(&g_want, going, &joint.name, sink)?;
    let mut pairs = Vec::new();
    let mut used = vec![false; going.len()];
    for (c, port) in c_ports.iter().enumerate() {
        let Some(g) = g_ports.iter().position(|p| p == port) else {
            sink.error(
                "open-port",
                coming[c].span,
                format!("`{side}[{port}]` of `{}` leads nowhere", joint.name),
            )
            .help("use the port on both sides, inside the sub-topology and where it is used");
            return None;
        };
        used[g] = true;
        pairs.push((c, g));
    }
    if let Some(g) = used.iter().position(|u| !u) {
        let port = g_ports[g];
        sink.error(
            "open-port",
            going[g].span,
            format!("nothing arrives at `{side}[{port}]` of `{}`", joint.name),
        )
        .help("use the port on both sides, inside the sub-topology and where it is used");
        return None;
    }
    Some(pairs)
}

/// A port number for each: numbers that were asked for first, the others fill the gaps.
fn ports(wants: &[Want], edges: &[Edge], name: &str, sink: &mut Sink) -> Option<Vec<u32>> {
    let mut taken: std::collections::BTreeMap<u32, Span> = std::collections::BTreeMap::new();
    for want in wants {
        if let Want::Number(n, span) = want
            && let Some(first) = taken.insert(*n, *span)
        {
            sink.error("double-port", *span, format!("port {n} of `{name}` is used twice"))
                .also(first, "first here")
                .help("a port has one pipe; use another number");
            return None;
        }
    }
    let mut next = 0;
    let mut numbers = Vec::with_capacity(edges.len());
    for want in wants {
        numbers.push(match want {
            Want::Number(n, _) => *n,
            _ => {
                while taken.contains_key(&next) {
                    next += 1;
                }
                next += 1;
                next - 1
            }
        });
    }
    Some(numbers)
}
