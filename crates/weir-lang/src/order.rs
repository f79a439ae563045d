// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Topological order of the instances, distances from the entries, and reachability.

use crate::diag::Sink;
use crate::net::Net;
use crate::wire::{From, To, Wired};

/// Instances in an order in which each comes after those that feed it, annotators first.
/// A cycle is reported and gives `None`.
pub(crate) fn topological(net: &Net, wired: &Wired, sink: &mut Sink) -> Option<Vec<usize>> {
    let n = net.insts.len();
    let mut waiting: Vec<usize> = (0..n).map(|i| feeders(wired, i).count()).collect();
    // By order of creation among those that are ready, so that plans read like their text.
    let mut ready: std::collections::BTreeSet<(bool, usize)> =
        (0..n).filter(|&i| waiting[i] == 0).map(|i| (!net.insts[i].annotator, i)).collect();
    let mut order = Vec::with_capacity(n);
    while let Some((_, i)) = ready.pop_first() {
        order.push(i);
        for w in &wired.outs[i] {
            if let To::Inst(t, _) = wired.wires[*w].to {
                waiting[t] -= 1;
                if waiting[t] == 0 {
                    ready.insert((!net.insts[t].annotator, t));
                }
            }
        }
    }
    if order.len() == n {
        return Some(order);
    }
    report_cycle(net, wired, &waiting, sink);
    None
}

/// Instances that feed `i`, once per pipe.
fn feeders(wired: &Wired, i: usize) -> impl Iterator<Item = usize> + '_ {
    wired.ins[i].iter().filter_map(|w| match wired.wires[*w].from {
        From::Inst(f, _) => Some(f),
        From::Entry(_) => None,
    })
}

/// Walk backwards among the instances that still wait until one repeats.
fn report_cycle(net: &Net, wired: &Wired, waiting: &[usize], sink: &mut Sink) {
    let Some(mut at) = waiting.iter().position(|&w| w > 0) else { return };
    let mut seen = vec![usize::MAX; net.insts.len()];
    let mut path = Vec::new();
    while seen[at] == usize::MAX {
        seen[at] = path.len();
        path.push(at);
        match feeders(wired, at).find(|&f| waiting[f] > 0) {
            Some(f) => at = f,
            None => return,
        }
    }
    let mut ring: Vec<usize> = path[seen[at]..].to_vec();
    ring.reverse();
    let first = ring.iter().enumerate().min_by_key(|(_, i)| **i).map_or(0, |(k, _)| k);
    ring.rotate_left(first);
    let mut names: Vec<&str> = ring.iter().take(8).map(|&i| net.insts[i].name.as_str()).collect();
    if ring.len() > 8 {
        names.push("...");
    }
    names.push(&net.insts[ring[0]].name);
    let span = net.insts[ring[0]].span;
    sink.error("cycle", span, format!("pipes form a cycle: {}", names.join(" -> ")))
        .help("a task comes back to the front by entering again after it ran; remove one of the pipes");
}

/// Longest distance of each wire from an entry, in wires.
pub(crate) fn depths(wired: &Wired, order: &[usize]) -> Vec<u32> {
    let mut depth = vec![0; wired.wires.len()];
    for &i in order {
        let d = wired.ins[i].iter().map(|w| depth[*w] + 1).max().unwrap_or(0);
        wired.outs[i].iter().for_each(|w| depth[*w] = d);
    }
    depth
}
