// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From per-CPU facts with arbitrary labels to a [`Machine`] with dense indices.
//!
//! Readers label shared parts with the numbers of their source; equal labels mean shared. Here
//! labels become indices 0, 1, 2 … in ascending order, so that node 0 of a file stays before its
//! node 1, and the same file always gives the same machine.

use std::collections::BTreeMap;

use weir_core::{CpuShape, MachineShape};

use super::{
    Clocks, CpuKind, DOMAIN_DISTANCE, HwEngine, LOCAL_DISTANCE, Machine, MachineEvent, REMOTE_DISTANCE,
    Thermal,
};

/// Numbers of CPUs and nodes stay below this in every source.
pub(super) const MAX_NUMBER: u32 = 1_000_000;

/// A reader's data about one CPU. Labels are compared only with labels of the same field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CpuFacts {
    pub os_index: u32,
    pub core: u64,
    pub l2: u64,
    /// Label of the cluster, where the source names clusters; else cores that share an L2 are one.
    pub cluster: Option<u64>,
    pub llc: u64,
    pub node: u64,
    pub package: u64,
    pub domain: u64,
    pub isa: u16,
    pub capacity: u32,
    pub kind: u16,
    /// Operating-system number of the host.
    pub host: Option<u32>,
    pub online: bool,
}

/// All that a reader knows of a machine.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub name: String,
    pub cpus: Vec<CpuFacts>,
    pub isas: Vec<String>,
    pub kinds: Vec<CpuKind>,
    /// Distances between node labels; what is missing gets the default.
    pub distances: BTreeMap<(u64, u64), u32>,
    /// Distance between nodes of one coherence domain that `distances` does not name.
    pub remote: u32,
    /// Cache sizes by LLC label, bytes.
    pub llc_bytes: BTreeMap<u64, u64>,
    pub llc_level: u8,
    pub smt_pct: u32,
    /// Events with operating-system CPU numbers.
    pub events: Vec<(u64, MachineEvent)>,
    pub thermal: Option<Thermal>,
    pub clocks: Option<Clocks>,
    pub engine: Option<HwEngine>,
    pub on_battery: bool,
    pub warnings: Vec<String>,
}

impl Facts {
    /// No CPUs yet, one native instruction set, one package-wide cache of unknown size.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            cpus: Vec::new(),
            isas: vec!["native".into()],
            kinds: Vec::new(),
            distances: BTreeMap::new(),
            remote: REMOTE_DISTANCE,
            llc_bytes: BTreeMap::new(),
            llc_level: 0,
            smt_pct: DEFAULT_SMT_PCT,
            events: Vec::new(),
            thermal: None,
            clocks: None,
            engine: None,
            on_battery: false,
            warnings: Vec::new(),
        }
    }

    /// CPU number of an operating-system number.
    fn index_of(order: &BTreeMap<u32, u32>, os: u32) -> u32 {
        *order.get(&os).expect("readers check that a CPU exists before they refer to it")
    }

    /// Number the CPUs by their operating-system number and everything else by its label.
    pub fn assemble(mut self) -> Machine {
        self.cpus.sort_by_key(|c| c.os_index);
        let order: BTreeMap<u32, u32> = self.cpus.iter().zip(0..).map(|(c, i)| (c.os_index, i)).collect();
        let dense = |f: fn(&CpuFacts) -> u64| -> BTreeMap<u64, u32> {
            let labels: std::collections::BTreeSet<u64> = self.cpus.iter().map(f).collect();
            labels.into_iter().zip(0..).collect()
        };
        let (cores, l2s, llcs) = (dense(|c| c.core), dense(|c| c.l2), dense(|c| c.llc));
        // Named clusters come before those of caches; no label is in both.
        let cluster = |c: &CpuFacts| (c.cluster.is_none(), c.cluster.unwrap_or(c.l2));
        let labels: std::collections::BTreeSet<(bool, u64)> = self.cpus.iter().map(cluster).collect();
        let clusters: BTreeMap<(bool, u64), u32> = labels.into_iter().zip(0..).collect();
        let (nodes, packages, domains) = (dense(|c| c.node), dense(|c| c.package), dense(|c| c.domain));
        let cpus: Vec<CpuShape> = self
            .cpus
            .iter()
            .map(|c| CpuShape {
                os_index: c.os_index,
                core: cores[&c.core],
                cluster: clusters[&cluster(c)],
                llc: llcs[&c.llc],
                node: nodes[&c.node],
                package: packages[&c.package],
                isa: c.isa,
                capacity: c.capacity,
                coherence: domains[&c.domain],
                host: c.host.map(|h| Self::index_of(&order, h)),
                online: c.online,
            })
            .collect();
        let domain_of: BTreeMap<u64, u64> = self.cpus.iter().map(|c| (c.node, c.domain)).collect();
        let distance = |a: u64, b: u64| match self.distances.get(&(a, b)) {
            Some(&d) => d,
            None if a == b => LOCAL_DISTANCE,
            None if domain_of[&a] != domain_of[&b] => DOMAIN_DISTANCE,
            None => self.remote,
        };
        let distances = nodes.keys().map(|&a| nodes.keys().map(|&b| distance(a, b)).collect()).collect();
        let mut events: Vec<(u64, MachineEvent)> = self
            .events
            .into_iter()
            .map(|(t, e)| {
                let cpu = |os| Self::index_of(&order, os);
                (
                    t,
                    match e {
                        MachineEvent::Online(c) => MachineEvent::Online(cpu(c)),
                        MachineEvent::Offline(c) => MachineEvent::Offline(cpu(c)),
                        MachineEvent::Frequency(c, hz) => MachineEvent::Frequency(cpu(c), hz),
                        MachineEvent::Battery(on) => MachineEvent::Battery(on),
                    },
                )
            })
            .collect();
        events.sort_by_key(|(t, _)| *t);
        let threaded = cores.len() < cpus.len();
        Machine {
            kind_of: self.cpus.iter().map(|c| c.kind).collect(),
            l2_of: self.cpus.iter().map(|c| l2s[&c.l2]).collect(),
            llc_bytes: llcs.keys().map(|l| self.llc_bytes.get(l).copied().unwrap_or(0)).collect(),
            shape: MachineShape { name: self.name, cpus, isas: self.isas },
            kinds: self.kinds,
            distances,
            smt_pct: if threaded { self.smt_pct } else { 100 },
            events,
            thermal: self.thermal,
            clocks: self.clocks,
            engine: self.engine,
            on_battery: self.on_battery,
            llc_level: self.llc_level,
            warnings: self.warnings,
        }
    }
}

/// Speed of a hardware thread beside a busy sibling where the source says nothing: two threads
/// together then do a quarter more than one alone, the usual gain of two-way SMT.
pub(super) const DEFAULT_SMT_PCT: u32 = 62;

/// Capacities scaled so that the largest is 1024, the kernel's convention; at least 1 each.
pub(super) fn scale_capacities(raw: &[u64]) -> Vec<u32> {
    let top = u128::from(raw.iter().copied().max().unwrap_or(1).max(1));
    raw.iter().map(|&c| ((u128::from(c) * 1024 / top) as u32).max(1)).collect()
}
