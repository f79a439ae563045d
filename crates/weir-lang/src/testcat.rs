// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The catalogue with a few components more, for tests, and some machines.

#![allow(dead_code)]

use weir_core::{Catalog, Class, ComponentInfo, MachineShape, Ordering, PortLabel};

const ANY: u32 = u32::MAX;

fn component(name: &str, class: Class, ins: (u32, u32), outs: (u32, u32)) -> ComponentInfo {
    ComponentInfo {
        name: name.into(),
        id: 0,
        class,
        ordering: Ordering::Keep,
        summary: format!("{name} for tests"),
        ins,
        outs,
        out_label: PortLabel::None,
        params: Vec::new(),
        relations: Vec::new(),
        listens: Vec::new(),
        publishes: Vec::new(),
        asks: Vec::new(),
        needs: Vec::new(),
        answers: Vec::new(),
        topics: Vec::new(),
        per_task: 0,
        keyed_out: false,
        kernel: weir_core::Kernel::Always,
        manual: String::new(),
        source: String::new(),
    }
}

/// The components there are, and four that break rules which no component of ours breaks.
pub fn catalog() -> Catalog {
    let mut all = weir_core::catalog().components.clone();
    // Two for the rules about filters.
    all.extend(["sieve", "winnow"].map(|name| component(name, Class::Filter, (1, 1), (1, 1))));
    // Swallows tasks.
    all.push(component("drain", Class::Service, (1, ANY), (0, 0)));
    // Asks without needing, for the rule about such topics.
    all.push(ComponentInfo {
        asks: vec!["AFFINITY".into()],
        ..component("scatter", Class::Distribute, (1, 1), (1, ANY))
    });
    for (id, c) in all.iter_mut().enumerate() {
        c.id = id as u16 + 1;
    }
    Catalog { components: all }
}

/// `llcs` last-level caches with `per` CPUs each; two LLCs make a NUMA node, a node is a package.
pub fn llcs(llcs: u32, per: u32) -> MachineShape {
    let mut shape = MachineShape::flat(llcs * per);
    shape.name = format!("llcs-{llcs}x{per}");
    for (i, cpu) in shape.cpus.iter_mut().enumerate() {
        cpu.llc = i as u32 / per;
        cpu.node = cpu.llc / 2;
        cpu.package = cpu.node;
    }
    shape
}

/// `native` CPUs, then CPUs of other instruction sets, hosted by CPU 0.
pub fn foreign(native: u32, others: &[(&str, u32)]) -> MachineShape {
    let mut shape = MachineShape::flat(native + others.iter().map(|o| o.1).sum::<u32>());
    shape.name = format!("smp-{native}+{}", others.iter().map(|o| o.0).collect::<Vec<_>>().join("+"));
    let mut at = native as usize;
    for (i, (name, n)) in others.iter().enumerate() {
        shape.isas.push(name.to_string());
        for cpu in &mut shape.cpus[at..at + *n as usize] {
            cpu.isa = i as u16 + 1;
            cpu.host = Some(0);
        }
        at += *n as usize;
    }
    shape
}

/// `n` CPUs with memory of their own each.
pub fn distributed(n: u32) -> MachineShape {
    let mut shape = MachineShape::flat(n);
    shape.name = format!("islands-{n}");
    for (i, cpu) in shape.cpus.iter_mut().enumerate() {
        cpu.coherence = i as u32;
    }
    shape
}
