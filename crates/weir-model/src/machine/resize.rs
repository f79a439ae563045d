// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The same kind of machine with another number of CPUs.

use std::collections::BTreeMap;

use super::{Machine, REMOTE_DISTANCE};

impl Machine {
    /// This machine with `n` CPUs: its first ones, node by node and cache by cache, or copies of the whole beside each
    /// other, as far apart as its farthest nodes. A machine of one node grows within that node. Events are
    /// left out. `None` for machines whose CPUs are not all of one kind: part of them is another machine.
    pub fn resized(&self, n: u32) -> Option<Machine> {
        let own = self.nr_cpus();
        let shape = &self.shape;
        let mixed = shape.isas.len() > 1
            || shape
                .cpus
                .iter()
                .any(|c| c.host.is_some() || !c.online || c.coherence != shape.cpus[0].coherence)
            || self.kinds.len() > 1;
        if mixed || n == 0 || n > weir_core::MAX_CPUS {
            return None;
        }
        let mut order: Vec<u32> = (0..own).collect();
        order.sort_by_key(|c| {
            let cpu = &shape.cpus[*c as usize];
            (cpu.package, cpu.node, cpu.llc, self.l2_of[*c as usize], cpu.core, *c)
        });
        let nodes = self.distances.len() as u32;
        let one = nodes == 1 && self.llc_bytes.len() == 1;
        let count = |f: &dyn Fn(usize) -> u32| (0..own as usize).map(f).max().map_or(1, |m| m + 1);
        let cores = count(&|c| shape.cpus[c].core);
        let clusters = count(&|c| shape.cpus[c].cluster);
        let (l2s, llcs) = (count(&|c| self.l2_of[c]), count(&|c| shape.cpus[c].llc));
        let packages = count(&|c| shape.cpus[c].package);
        let mut sized = Machine { events: Vec::new(), ..self.clone() };
        sized.shape.name = format!("{}/{n}", shape.name);
        sized.shape.cpus.clear();
        sized.kind_of = vec![0; n as usize];
        sized.l2_of.clear();
        let mut taken = Taken::default();
        for i in 0..n {
            let (copy, from) = (i / own, order[(i % own) as usize] as usize);
            let old = &shape.cpus[from];
            // What all CPUs of a one-node machine share, its larger kin shares too.
            let shared = if one { 0 } else { copy };
            let mut cpu = old.clone();
            cpu.os_index = i;
            cpu.core = Taken::index(&mut taken.cores, copy * cores + old.core);
            cpu.cluster = Taken::index(&mut taken.clusters, copy * clusters + old.cluster);
            cpu.llc = Taken::index(&mut taken.llcs, shared * llcs + old.llc);
            cpu.node = Taken::index(&mut taken.nodes, shared * nodes + old.node);
            cpu.package = Taken::index(&mut taken.packages, shared * packages + old.package);
            sized.l2_of.push(Taken::index(&mut taken.l2s, copy * l2s + self.l2_of[from]));
            sized.shape.cpus.push(cpu);
        }
        let by_index = |labels: &BTreeMap<u32, u32>| {
            let mut list: Vec<(u32, u32)> = labels.iter().map(|(label, index)| (*index, *label)).collect();
            list.sort_unstable();
            list.into_iter().map(|p| p.1).collect::<Vec<u32>>()
        };
        sized.llc_bytes = by_index(&taken.llcs).iter().map(|l| self.llc_bytes[(l % llcs) as usize]).collect();
        let far = self.distances.iter().flatten().copied().max().unwrap_or(0);
        let far = if nodes == 1 { REMOTE_DISTANCE } else { far };
        let labels = by_index(&taken.nodes);
        let distance = |a: &u32, b: &u32| match (a / nodes == b / nodes, a % nodes, b % nodes) {
            (true, a, b) => self.distances[a as usize][b as usize],
            (false, ..) => far,
        };
        sized.distances = labels.iter().map(|a| labels.iter().map(|b| distance(a, b)).collect()).collect();
        Some(sized)
    }
}

/// Dense numbers for what is there, in order of appearance.
#[derive(Default)]
struct Taken {
    cores: BTreeMap<u32, u32>,
    clusters: BTreeMap<u32, u32>,
    l2s: BTreeMap<u32, u32>,
    llcs: BTreeMap<u32, u32>,
    nodes: BTreeMap<u32, u32>,
    packages: BTreeMap<u32, u32>,
}

impl Taken {
    fn index(labels: &mut BTreeMap<u32, u32>, label: u32) -> u32 {
        let next = labels.len() as u32;
        *labels.entry(label).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Distance, Machine};

    fn preset(name: &str) -> Machine {
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Machine::resolve(name, &none, &[]).expect("a preset")
    }

    #[test]
    fn a_part_fills_caches_and_nodes_first() {
        let m = preset("opteron-64").resized(12).expect("equal CPUs");
        let last = |f: fn(&weir_core::CpuShape) -> u32| m.shape.cpus.iter().map(f).max();
        assert_eq!(
            (m.nr_cpus(), last(|c| c.node), last(|c| c.llc), last(|c| c.package)),
            (12, Some(1), Some(1), Some(0))
        );
        assert_eq!(m.distances, [[10, 16], [16, 10]]);
        assert_eq!(
            (m.distance(0, 1), m.distance(0, 7), m.distance(0, 8)),
            (Distance::L2, Distance::Llc, Distance::Remote(16))
        );
        assert_eq!(m.llc_bytes.len(), 2);
    }

    #[test]
    fn a_larger_one_is_made_of_copies() {
        let m = preset("opteron-64").resized(128).expect("equal CPUs");
        assert_eq!((m.distances.len(), m.llc_bytes.len()), (16, 16));
        assert_eq!((m.distance(0, 64), m.distance(64, 65)), (Distance::Remote(22), Distance::L2));
        assert_eq!(
            preset("opteron-64").resized(64).expect("its own size").shape.cpus,
            preset("opteron-64").shape.cpus
        );
    }

    #[test]
    fn one_node_stays_one() {
        let m = preset("smp-8").resized(32).expect("equal CPUs");
        assert_eq!((m.distances.len(), m.distance(0, 31)), (1, Distance::Llc));
        let m = preset("i7-2600").resized(2).expect("equal CPUs");
        assert_eq!(m.distance(0, 1), Distance::Sibling);
        assert!(preset("hybrid-8p16e").resized(4).is_none() && preset("accel-4x2").resized(2).is_none());
    }
}
