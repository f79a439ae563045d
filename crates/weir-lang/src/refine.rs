// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A coarse order, then a fine one (source 0, 5.8.1): `priority_order -> fcfs`. The fine one must not undo the coarse one, but order the
//! tasks that are equal to it. A coarse order keeps the order among equals, so the same comes out if the fine one goes first: the two
//! change places here, before the network is checked. That is possible where nothing else stands between them.

use weir_core::{Catalog, Class, Ordering};

use crate::net::{Head, Net, Tail};

/// Let orders of their own go before coarse ones that stand directly before them.
pub(crate) fn coarse_last(net: &mut Net, catalog: &Catalog) {
    let n = net.insts.len();
    let (mut ins, mut outs) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for (e, edge) in net.edges.iter().enumerate() {
        if let Head::Inst(i, _) = edge.head {
            ins[i].push(e);
        }
        if let Tail::Inst(i, _) = edge.tail {
            outs[i].push(e);
        }
    }
    let order = |i: usize, net: &Net| {
        let info = net.insts[i].class.map(|c| &catalog.components[c])?;
        (info.class == Class::Order).then_some(info.ordering)
    };
    for fine in 0..n {
        if order(fine, net) != Some(Ordering::Total) || ins[fine].len() != 1 || outs[fine].len() != 1 {
            continue;
        }
        // Orders before it that keep what they get, up to the first coarse one.
        let (mut before, mut coarse) = (Vec::new(), None);
        let mut at = fine;
        while let Tail::Inst(up, _) = net.edges[ins[at][0]].tail {
            let of = order(up, net);
            if !matches!(of, Some(Ordering::Keep | Ordering::Stable))
                || ins[up].len() != 1
                || outs[up].len() != 1
            {
                break;
            }
            before.push(up);
            if of == Some(Ordering::Stable) {
                coarse = Some(before.len() - 1);
            }
            at = up;
        }
        let Some(coarse) = coarse else { continue };
        let (first, last) = (before[coarse], before[0]);
        let (into, between, out) = (ins[first][0], ins[fine][0], outs[fine][0]);
        // x -> first … last -> fine -> y becomes x -> fine -> first … last -> y.
        let (to_first, to_fine) = (net.edges[into].head.clone(), net.edges[between].head.clone());
        let (from_last, from_fine) = (net.edges[between].tail.clone(), net.edges[out].tail.clone());
        net.edges[into].head = to_fine;
        net.edges[between].tail = from_fine;
        net.edges[between].head = to_first;
        net.edges[out].tail = from_last;
        ins[fine][0] = into;
        outs[fine][0] = between;
        ins[first][0] = between;
        outs[last][0] = out;
    }
}
