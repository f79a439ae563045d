// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What must hold for every machine, whatever it was read from.

use std::collections::BTreeSet;

use weir_core::MAX_CPUS;

use super::{Machine, MachineEvent};
use crate::units;

/// A broken rule: what is wrong, how to mend it, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub message: String,
    pub help: String,
    pub place: Place,
}

/// The subject of a fault, so that a reader can find it in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Machine,
    /// Index of a CPU.
    Cpu(u32),
    /// Index of an event.
    Event(usize),
    /// Its scheduler in hardware.
    Engine,
}

fn fault(place: Place, message: impl Into<String>, help: impl Into<String>) -> Result<(), Fault> {
    Err(Fault { message: message.into(), help: help.into(), place })
}

/// Check a machine that a reader assembled.
pub(super) fn check(m: &Machine) -> Result<(), Fault> {
    if m.shape.cpus.is_empty() {
        return fault(Place::Machine, "the machine has no CPU", "describe at least one CPU");
    }
    if m.nr_cpus() > MAX_CPUS {
        return fault(
            Place::Machine,
            format!("the machine has {} CPUs, more than {MAX_CPUS}", m.nr_cpus()),
            "leave out CPUs, or simulate a part of the machine",
        );
    }
    let native = |c: &weir_core::CpuShape| c.host.is_none();
    if !m.shape.cpus.iter().any(|c| c.online && native(c)) {
        return fault(
            Place::Machine,
            "no CPU is online that can run the scheduler",
            "let at least one CPU without `host` be online at the start",
        );
    }
    if let Some((message, help)) = m.engine_misfit() {
        return fault(Place::Engine, message, help);
    }
    nested(m)?;
    for (i, c) in m.shape.cpus.iter().enumerate() {
        let Some(host) = c.host else { continue };
        let h = &m.shape.cpus[host as usize];
        if host as usize == i || !native(h) {
            return fault(
                Place::Cpu(i as u32),
                format!(
                    "CPU {} is hosted by CPU {}, which cannot run the scheduler itself",
                    c.os_index, h.os_index
                ),
                "name a host that has no host",
            );
        }
    }
    events(m)
}

/// CPUs that share a smaller part also share the larger parts around it.
fn nested(m: &Machine) -> Result<(), Fault> {
    type Label = fn(&Machine, usize) -> u32;
    let core: Label = |m, i| m.shape.cpus[i].core;
    let l2: Label = |m, i| m.l2_of[i];
    let cluster: Label = |m, i| m.shape.cpus[i].cluster;
    let llc: Label = |m, i| m.shape.cpus[i].llc;
    let node: Label = |m, i| m.shape.cpus[i].node;
    let package: Label = |m, i| m.shape.cpus[i].package;
    let domain: Label = |m, i| m.shape.cpus[i].coherence;
    let kind: Label = |m, i| u32::from(m.kind_of[i]);
    let rules: [(Label, &str, Label, &str); 10] = [
        (core, "core", l2, "L2 caches"),
        (core, "core", cluster, "clusters"),
        (core, "core", node, "NUMA nodes"),
        (core, "core", package, "packages"),
        (l2, "L2 cache", llc, "last-level caches"),
        (llc, "last-level cache", domain, "coherence domains"),
        (llc, "last-level cache", package, "packages"),
        (node, "NUMA node", domain, "coherence domains"),
        (package, "package", domain, "coherence domains"),
        (kind, "kind", |m, i| m.shape.cpus[i].capacity, "capacities"),
    ];
    for (inner, name, outer, outers) in rules {
        let remedy = format!("give both the same, or separate {name}s");
        let mut seen: Vec<Option<(u32, usize)>> = Vec::new();
        for i in 0..m.shape.cpus.len() {
            let label = inner(m, i) as usize;
            if seen.len() <= label {
                seen.resize(label + 1, None);
            }
            match seen[label] {
                None => seen[label] = Some((outer(m, i), i)),
                Some((o, _)) if o == outer(m, i) => {}
                Some((_, first)) => {
                    let (a, b) = (m.shape.cpus[first].os_index, m.shape.cpus[i].os_index);
                    let message = format!("CPUs {a} and {b} share a {name} but have different {outers}");
                    return fault(Place::Cpu(i as u32), message, remedy);
                }
            }
        }
    }
    Ok(())
}

/// Events switch existing CPUs, which are then in the other state, and set clocks that exist.
fn events(m: &Machine) -> Result<(), Fault> {
    let native = |c: u32| m.shape.cpus[c as usize].host.is_none();
    let mut online: BTreeSet<u32> = (0..m.nr_cpus()).filter(|&i| m.shape.cpus[i as usize].online).collect();
    for (i, (t, event)) in m.events.iter().enumerate() {
        let place = Place::Event(i);
        let at = units::show(*t, units::TIME);
        let os = |c: u32| m.shape.cpus[c as usize].os_index;
        match *event {
            MachineEvent::Online(c) => {
                if !online.insert(c) {
                    let message = format!("CPU {} is to go online at {at} but is online already", os(c));
                    return fault(
                        place,
                        message,
                        "begin with it `online = false`, or take it offline before",
                    );
                }
            }
            MachineEvent::Offline(c) => {
                if !online.remove(&c) {
                    let message = format!("CPU {} is to go offline at {at} but is offline already", os(c));
                    return fault(place, message, "drop this event, or bring the CPU online before");
                }
                if !online.iter().any(|&c| native(c)) {
                    let message = format!(
                        "with CPU {} the last one goes offline (at {at}) that can run the scheduler",
                        os(c)
                    );
                    return fault(place, message, "leave one of the CPUs without `host` online");
                }
            }
            MachineEvent::Battery(_) => {}
            MachineEvent::Frequency(c, hz) => {
                let kind = m.kind(c);
                if !kind.points.iter().any(|p| p.hz == hz) {
                    let clocks: Vec<String> =
                        kind.points.iter().map(|p| units::show(p.hz, units::CLOCK)).collect();
                    let message =
                        format!("CPU {} has no operating point at {}", os(c), units::show(hz, units::CLOCK));
                    return fault(
                        place,
                        message,
                        format!("its kind `{}` has {}", kind.name, clocks.join(", ")),
                    );
                }
            }
        }
    }
    Ok(())
}
