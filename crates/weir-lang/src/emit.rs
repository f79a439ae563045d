// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Writes the checked network as the tables that the core builds from.

use weir_core::{Catalog, CpuSet, MachineShape, Plan, PlanCpu, PlanInstance, PlanPipe};

use crate::net::Net;
use crate::wire::{From, To, Wired};

/// A plan, and where its parts come from.
pub(crate) struct Emitted {
    pub plan: Plan,
    /// Plan index of each instance of the network; of an annotator that has several copies, the first one.
    pub instance: Vec<u32>,
    /// How many copies of it follow one another there.
    nr_copies: Vec<u32>,
    /// Plan index of each wire.
    pub pipe: Vec<u32>,
    /// Plan index of the termination of each exit.
    pub termination: Vec<u32>,
}

impl Emitted {
    /// Plan indices of an instance of the network.
    pub fn copies(&self, i: usize) -> std::ops::Range<u32> {
        self.instance[i]..self.instance[i] + self.nr_copies[i]
    }

    /// CPUs of the coherence domain of an instance of the plan.
    pub fn cpus_of(&self, instance: u32) -> CpuSet {
        let domain = self.plan.instances[instance as usize].domain;
        let cpus = self.plan.cpus.iter().enumerate().filter(|(_, c)| c.domain == domain);
        cpus.map(|(c, _)| c as u32).collect()
    }
}

/// Data about the network.
pub(crate) struct Ordered<'a> {
    /// Those of [`crate::order`].
    pub order: &'a [usize],
    pub depths: &'a [u32],
    /// Coherence domain of each instance.
    pub domains: &'a [u32],
}

/// Write the plan. The network is free of errors, so every entry and exit has one pipe. Each coherence domain gets an
/// annotator of its own.
pub(crate) fn emit(
    name: &str,
    net: &Net,
    wired: &Wired,
    ordered: &Ordered<'_>,
    catalog: &Catalog,
    shape: &MachineShape,
) -> Emitted {
    let &Ordered { order, depths, domains } = ordered;
    let domain_of = shape.domains();
    let nr_domains = domain_of.iter().max().map_or(1, |d| d + 1);
    let nr_copies: Vec<u32> = net.insts.iter().map(|i| if i.annotator { nr_domains } else { 1 }).collect();
    let mut instance = vec![0; net.insts.len()];
    let mut nr_instances = 0;
    for &i in order {
        instance[i] = nr_instances;
        nr_instances += nr_copies[i];
    }
    let termination: Vec<u32> = (0..net.exits.len() as u32).map(|e| nr_instances + e).collect();

    // Entry pipes first, then by writer and port.
    let mut pipe = vec![0; wired.wires.len()];
    let mut sequence: Vec<usize> = wired.entries.iter().flatten().copied().collect();
    sequence.extend(order.iter().flat_map(|&i| wired.outs[i].iter().copied()));
    sequence.iter().enumerate().for_each(|(new, &old)| pipe[old] = new as u32);

    let class = |i: usize| net.insts[i].class.expect("unknown components are errors");
    let pipes = sequence.iter().map(|&w| {
        let wire = &wired.wires[w];
        let (name, from, keyed) = match wire.from {
            From::Entry(e) => (net.entries[e].name.clone(), None, false),
            From::Inst(i, port) => (
                format!("{}.out{port}", net.insts[i].name),
                Some((instance[i], port)),
                catalog.components[class(i)].keyed_out,
            ),
        };
        let (to, postponed) = match wire.to {
            To::Inst(i, port) => ((instance[i], port), wire.postponed),
            // Nothing follows that could wait.
            To::Exit(e) => ((termination[e], 0), false),
        };
        PlanPipe { name, keyed, postponed, from, to, label: wire.label, depth: depths[w] }
    });
    let pipes: Vec<PlanPipe> = pipes.collect();

    let mut instances: Vec<PlanInstance> = order
        .iter()
        .flat_map(|&i| (0..nr_copies[i]).map(move |copy| (i, copy)))
        .map(|(i, copy)| PlanInstance {
            name: match nr_copies[i] {
                1 => net.insts[i].name.clone(),
                _ => format!("{}@domain{copy}", net.insts[i].name),
            },
            domain: domains[i] + copy,
            class: catalog.components[class(i)].id,
            params: net.insts[i].params.clone(),
            ins: wired.ins[i].iter().map(|w| pipe[*w]).collect(),
            outs: wired.outs[i].iter().map(|w| pipe[*w]).collect(),
        })
        .collect();
    let end = catalog.get("termination").expect("checked before: every catalogue has `termination`");
    let mut taken: std::collections::BTreeSet<String> = instances.iter().map(|i| i.name.clone()).collect();
    for (exit, wires) in net.exits.iter().zip(&wired.exits) {
        let mut name = format!("termination{}", exit.tag);
        let mut n = 1;
        while !taken.insert(name.clone()) {
            n += 1;
            name = format!("termination_{n}{}", exit.tag);
        }
        instances.push(PlanInstance {
            name,
            class: end.id,
            domain: exit.cpus.iter().next().map_or(0, |c| domain_of[c as usize]),
            params: end.params.iter().map(|p| p.default).collect(),
            ins: wires.iter().map(|w| pipe[*w]).collect(),
            outs: Vec::new(),
        });
    }

    let nr = shape.cpus.len();
    let mut exits = vec![None; nr];
    for (exit, wires) in net.exits.iter().zip(&wired.exits) {
        exit.cpus.iter().for_each(|c| exits[c as usize] = wires.first().map(|w| pipe[*w]));
    }
    let mut own = vec![None; nr];
    for (entry, wires) in net.entries.iter().zip(&wired.entries) {
        entry.cpus.iter().for_each(|c| own[c as usize] = wires.first().map(|w| pipe[*w]));
    }
    // CPUs that are left out admit where their host or the first CPU does.
    let fallback = own.iter().flatten().copied().next().unwrap_or(0);
    let host = |c: usize| shape.cpus[c].host.and_then(|h| own.get(h as usize).copied().flatten());
    let entries = (0..nr).map(|c| own[c].or_else(|| host(c)).unwrap_or(fallback)).collect();
    let cpus = shape.cpus.iter().zip(domain_of).map(|(c, domain)| PlanCpu {
        core: c.core,
        llc: c.llc,
        node: c.node,
        isa: c.isa,
        capacity: c.capacity,
        domain,
    });
    let plan = Plan { name: name.to_string(), pipes, instances, entries, exits, cpus: cpus.collect() };
    Emitted { plan, instance, nr_copies, pipe, termination }
}
