// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A machine model as QEMU can build it: sockets, dies, cores, threads, NUMA nodes.
//!
//! QEMU's machines are regular: every socket has as many dies, every die as many cores, every core as
//! many threads. With an Intel processor's description each die has its own last-level cache, so a
//! die represents one of the model's last-level caches. NUMA nodes are assigned core by core and are
//! always as in the model. If the model is irregular, the nearest layout is used, and a warning says
//! what differs; the properties most important to schedulers are kept longest: number of CPUs and
//! nodes, then last-level caches, then packages and threads of a core.

use weir_core::CpuShape;
use weir_model::Machine;
use weir_model::machine::{LOCAL_DISTANCE, MachineEvent};

use crate::error::{Error, ErrorKind, Result};

/// Most CPUs that a guest may have; more need devices that QEMU's machine does not have by default.
pub const MAX_CPUS: u32 = 255;

/// Largest distance that still means "reachable" (ACPI SLIT).
const FAR: u32 = 254;

/// A CPU that comes or goes while the job runs; the guest does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hotplug {
    /// Time since the job began, nanoseconds.
    pub at_ns: u64,
    /// The guest's number of the CPU; never 0, which cannot go.
    pub cpu: u32,
    pub online: bool,
}

/// The machine that QEMU builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub sockets: u32,
    /// Dies of a socket; each has one last-level cache.
    pub dies: u32,
    /// Cores of a die.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// NUMA node of each core, in the guest's order.
    pub node_of_core: Vec<u32>,
    /// Distances between nodes as in the model; a square.
    pub distances: Vec<Vec<u32>>,
    /// The guest's number for each CPU of the model.
    pub guest_cpu: Vec<u32>,
    /// What the guest does to its CPUs, by time; CPUs absent at the start come at time 0.
    pub hotplug: Vec<Hotplug>,
}

impl Layout {
    /// `n` cores around one last-level cache.
    pub fn flat(n: u32) -> Result<Self> {
        if !(1..=MAX_CPUS).contains(&n) {
            return Err(too_many(&format!("{n} CPUs"), n));
        }
        Ok(Self {
            sockets: 1,
            dies: 1,
            cores: n,
            threads: 1,
            node_of_core: vec![0; n as usize],
            distances: vec![vec![LOCAL_DISTANCE]],
            guest_cpu: (0..n).collect(),
            hotplug: Vec::new(),
        })
    }

    /// The nearest layout to a machine, with a sentence for each difference that matters.
    pub fn of(machine: &Machine) -> Result<(Self, Vec<String>)> {
        refuse(machine)?;
        let cpus = &machine.shape.cpus;
        let mut warnings = Vec::new();
        // The guest numbers its CPUs by place.
        let mut order: Vec<usize> = (0..cpus.len()).collect();
        order.sort_by_key(|&i| (cpus[i].package, cpus[i].llc, cpus[i].core, i));
        let sorted: Vec<&CpuShape> = order.iter().map(|&i| &cpus[i]).collect();
        let (sockets, dies, cores, threads) = grid(&sorted, &mut warnings);
        let nodes = sorted.chunks(threads as usize);
        let node_of_core: Vec<u32> = nodes.map(|threads| threads[0].node).collect();
        let mut guest_cpu = vec![0; cpus.len()];
        for (&index, place) in order.iter().zip(0..) {
            guest_cpu[index] = place;
        }
        let hotplug = hotplug(machine, &guest_cpu, &mut warnings);
        warn_of_the_rest(machine, &guest_cpu, &mut warnings);
        let distances = machine.distances.clone();
        Ok((Self { sockets, dies, cores, threads, node_of_core, distances, guest_cpu, hotplug }, warnings))
    }

    pub fn nr_cpus(&self) -> u32 {
        self.sockets * self.dies * self.cores * self.threads
    }

    pub fn nr_nodes(&self) -> u32 {
        self.distances.len() as u32
    }

    /// Memory that such a guest runs well with, MiB.
    pub fn default_memory(&self) -> u32 {
        1024.max(768 + 8 * self.nr_cpus()).max(256 * self.nr_nodes()).next_multiple_of(256)
    }

    /// Is there room for a spare CPU beside each?
    pub fn can_be_spaced(&self) -> bool {
        let bits: u32 =
            [self.dies, self.cores, self.threads].map(|n| n.next_power_of_two().ilog2()).iter().sum();
        self.nr_cpus() > 1 && (2 * self.sockets) << bits <= MAX_CPUS
    }

    /// QEMU's options for CPUs and memory. Memory is divided evenly among the nodes.
    ///
    /// With `spaced` a spare CPU, which the guest must not use, comes after each but the last where QEMU's emulator lets one
    /// CPU after the other compute. There are as many sockets more.
    pub fn args(&self, memory_mib: u32, spaced: bool) -> Vec<String> {
        let Self { sockets, dies, cores, threads, .. } = self;
        let (nodes, nr_cpus) = (self.nr_nodes(), self.nr_cpus());
        // Even shares; what is left over would otherwise be an error.
        let share = memory_mib / nodes;
        let (count, all_sockets) = match spaced {
            true => (format!("1,maxcpus={}", 2 * nr_cpus), 2 * sockets),
            false => (nr_cpus.to_string(), *sockets),
        };
        let smp = format!("{count},sockets={all_sockets},dies={dies},cores={cores},threads={threads}");
        let mut args = vec!["-smp".to_string(), smp, "-m".into(), format!("{}M", share * nodes)];
        if spaced {
            // The first is there already. The emulator's order is the one in which they are made.
            let spares = (0..nr_cpus - 1).map(|cpu| self.device(cpu, *sockets));
            let others = (1..nr_cpus).map(|cpu| self.device(cpu, 0));
            args.extend(spares.zip(others).flat_map(|(spare, other)| [spare, other]).flatten());
        }
        if nodes == 1 {
            return args;
        }
        for node in 0..nodes {
            args.push("-object".into());
            args.push(format!("memory-backend-ram,id=node{node},size={share}M"));
            args.push("-numa".into());
            args.push(format!("node,nodeid={node},memdev=node{node}"));
        }
        for first in (0..all_sockets).step_by(*sockets as usize) {
            for (node, place) in self.places(first) {
                args.extend(["-numa".into(), format!("cpu,node-id={node},{place}")]);
            }
        }
        for (src, row) in self.distances.iter().enumerate() {
            for (dst, distance) in row.iter().enumerate().filter(|(dst, _)| *dst != src) {
                // Linux takes a table for damaged whose remote nodes are as near as the local one.
                let val = (*distance).clamp(LOCAL_DISTANCE + 1, FAR);
                args.extend(["-numa".into(), format!("dist,src={src},dst={dst},val={val}")]);
            }
        }
        args
    }

    /// QEMU's options for a CPU by itself, `sockets` sockets further up.
    fn device(&self, cpu: u32, sockets: u32) -> [String; 2] {
        let (core, thread) = (cpu / self.threads, cpu % self.threads);
        let (die, core) = (core / self.cores, core % self.cores);
        let (socket, die) = (die / self.dies + sockets, die % self.dies);
        let place = format!("socket-id={socket},die-id={die},core-id={core},thread-id={thread}");
        ["-device".into(), format!("max-x86_64-cpu,{place}")]
    }

    /// Which part of the machine is in which node: whole sockets and dies where possible. The first socket is number `first`.
    fn places(&self, first: u32) -> Vec<(u32, String)> {
        let mut places = Vec::new();
        let per_socket = (self.dies * self.cores) as usize;
        let one_node = |cores: &[u32]| cores.iter().all(|n| *n == cores[0]);
        for (socket, in_socket) in (first..).zip(self.node_of_core.chunks(per_socket)) {
            if one_node(in_socket) {
                places.push((in_socket[0], format!("socket-id={socket}")));
                continue;
            }
            for (die, in_die) in in_socket.chunks(self.cores as usize).enumerate() {
                if one_node(in_die) {
                    places.push((in_die[0], format!("socket-id={socket},die-id={die}")));
                    continue;
                }
                let core = |(core, node): (usize, &u32)| {
                    (*node, format!("socket-id={socket},die-id={die},core-id={core}"))
                };
                places.extend(in_die.iter().enumerate().map(core));
            }
        }
        places
    }
}

/// Machines of which no virtual machine is a likeness.
fn refuse(machine: &Machine) -> Result<()> {
    let name = &machine.shape.name;
    let no = |why: String, help: &str| {
        Err(Error::new(ErrorKind::Input, format!("a virtual machine cannot be like `{name}`: {why}"))
            .help(help))
    };
    let cpus = &machine.shape.cpus;
    if machine.nr_cpus() > MAX_CPUS {
        return Err(too_many(&format!("`{name}` has {} CPUs", machine.nr_cpus()), machine.nr_cpus()));
    }
    if cpus.iter().any(|c| c.coherence != cpus[0].coherence) {
        return no(
            "its CPUs do not share one memory".into(),
            "take one of its coherence domains, or simulate it with `runweir run`",
        );
    }
    if let Some(cpu) = cpus.iter().position(|c| c.isa != cpus[0].isa || c.host.is_some()) {
        let isa = &machine.shape.isas[usize::from(cpus[cpu].isa)];
        return no(
            format!("its CPU {} runs the instruction set `{isa}`", cpus[cpu].os_index),
            "take a machine with one instruction set, or simulate it with `runweir run`",
        );
    }
    Ok(())
}

fn too_many(what: &str, n: u32) -> Error {
    let help = if n == 0 {
        "give at least one CPU"
    } else {
        "take a smaller machine, or simulate it with `runweir run`"
    };
    Error::new(ErrorKind::Input, format!("{what}, and a virtual machine has 1 to {MAX_CPUS}")).help(help)
}

/// Sockets, dies, cores and threads for CPUs sorted by package, last-level cache and core.
fn grid(cpus: &[&CpuShape], warnings: &mut Vec<String>) -> (u32, u32, u32, u32) {
    let sizes = |of: fn(&CpuShape) -> u32| -> Vec<u32> {
        let groups = cpus.chunk_by(|a, b| of(a) == of(b)).map(|g| (of(g[0]), g.len() as u32));
        groups.map(|(_, size)| size).collect()
    };
    let number = |of: fn(&CpuShape) -> u32| {
        let mut all: Vec<u32> = cpus.iter().map(|c| of(c)).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    // Equal groups that the sorting did not tear apart.
    let even = |of: fn(&CpuShape) -> u32| {
        let sizes = sizes(of);
        (sizes.len() == number(of) && sizes.iter().all(|s| *s == sizes[0]))
            .then(|| (sizes.len() as u32, sizes[0]))
    };
    let total = cpus.len() as u32;
    let together = |core: &[&CpuShape]| {
        core.iter().all(|c| (c.package, c.llc, c.node) == (core[0].package, core[0].llc, core[0].node))
    };
    let threads = match even(|c| c.core) {
        Some((_, threads)) if cpus.chunks(threads as usize).all(together) => threads,
        Some(_) => {
            warnings
                .push("a core's threads are in different places; in the guest every CPU is a core".into());
            1
        }
        None => {
            warnings
                .push("its cores differ in their number of threads; in the guest every CPU is a core".into());
            1
        }
    };
    match (even(|c| c.package), even(|c| c.llc)) {
        (Some((packages, _)), Some((llcs, size))) if llcs % packages == 0 => {
            (packages, llcs / packages, size / threads, threads)
        }
        (_, Some((llcs, size))) => {
            warnings.push(format!(
                "its packages differ; in the guest each of its {llcs} last-level caches is a package"
            ));
            (llcs, 1, size / threads, threads)
        }
        (Some((packages, size)), None) => {
            warnings
                .push("its last-level caches differ; in the guest all CPUs of a package share one".into());
            (packages, 1, size / threads, threads)
        }
        (None, None) => {
            warnings.push(
                "its packages and last-level caches differ; in the guest all CPUs share one of each".into(),
            );
            (1, 1, total / threads, threads)
        }
    }
}

/// The model's CPUs that come and go.
fn hotplug(machine: &Machine, guest_cpu: &[u32], warnings: &mut Vec<String>) -> Vec<Hotplug> {
    let absent = machine.shape.cpus.iter().zip(guest_cpu).filter(|(c, _)| !c.online);
    let mut all: Vec<Hotplug> = absent.map(|(_, &cpu)| Hotplug { at_ns: 0, cpu, online: false }).collect();
    for &(at_ns, ref event) in &machine.events {
        let (cpu, online) = match *event {
            MachineEvent::Online(cpu) => (cpu, true),
            MachineEvent::Offline(cpu) => (cpu, false),
            MachineEvent::Frequency(..) => {
                warnings.push("its clocks change; in the guest they do not".into());
                continue;
            }
            MachineEvent::Battery(_) => continue,
        };
        all.push(Hotplug { at_ns, cpu: guest_cpu[cpu as usize], online });
    }
    let before = all.len();
    all.retain(|h| h.cpu != 0);
    if all.len() < before {
        warnings.push("its first CPU goes offline; in the guest it cannot".into());
    }
    warnings.dedup();
    all
}

/// Differences besides the grid.
fn warn_of_the_rest(machine: &Machine, guest_cpu: &[u32], warnings: &mut Vec<String>) {
    let cpus = &machine.shape.cpus;
    if cpus.iter().any(|c| c.capacity != cpus[0].capacity) {
        warnings.push("its CPUs differ in speed; in the guest all are equally fast".into());
    }
    let shares_l2 = |a: usize, b: usize| machine.l2_of[a] == machine.l2_of[b] && cpus[a].core != cpus[b].core;
    if (0..cpus.len()).any(|a| (0..a).any(|b| shares_l2(a, b))) {
        warnings.push("some of its cores share an L2 cache; in the guest each has its own".into());
    }
    if let Some((index, guest)) = guest_cpu.iter().enumerate().find(|(i, g)| *i as u32 != **g) {
        let cpu = cpus[index].os_index;
        warnings.push(format!(
            "the guest numbers CPUs core by core: CPU {cpu} of the model is CPU {guest} there"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn machine(name: &str) -> Machine {
        Machine::resolve(name, &|_| Err(std::io::ErrorKind::NotFound.into()), &[]).expect("a preset")
    }

    fn toml(text: &str) -> Machine {
        Machine::resolve("m.toml", &|_| Ok(text.as_bytes().to_vec()), &[]).expect("a machine")
    }

    fn shown(name: &str) -> String {
        let (layout, warnings) = Layout::of(&machine(name)).expect("a layout");
        let args = layout.args(layout.default_memory(), false).join(" ").replace(" -", "\n-");
        let warnings: String = warnings.iter().flat_map(|w| ["\n! ", w]).collect();
        format!("{args}{warnings}")
    }

    #[test]
    fn regular_machines_are_as_they_are() {
        insta::assert_snapshot!(shown("smp-8"), @"
        -smp 8,sockets=1,dies=1,cores=8,threads=1
        -m 1024M
        ");
        insta::assert_snapshot!(shown("i7-2600"), @"
        -smp 8,sockets=1,dies=1,cores=4,threads=2
        -m 1024M
        ! the guest numbers CPUs core by core: CPU 1 of the model is CPU 2 there
        ");
    }

    #[test]
    fn nodes_are_whole_sockets_dies_or_cores() {
        insta::assert_snapshot!(shown("epyc-64").replace("\n-numa dist", " dist"));
        insta::assert_snapshot!(shown("opteron-64").replace("\n-numa dist", " dist"));
    }

    #[test]
    fn hybrids_get_the_nearest_layout() {
        insta::assert_snapshot!(shown("hybrid-2p4e"), @"
        -smp 8,sockets=1,dies=1,cores=8,threads=1
        -m 1024M
        ! its cores differ in their number of threads; in the guest every CPU is a core
        ! its CPUs differ in speed; in the guest all are equally fast
        ! some of its cores share an L2 cache; in the guest each has its own
        ");
    }

    #[test]
    fn absurd_machines_are_refused() {
        for (name, why) in [
            ("mesh-256", "`mesh-256` has 256 CPUs, and a virtual machine has 1 to 255"),
            ("numa-4096", "`numa-4096` has 4096 CPUs"),
            ("cluster-4x8", "its CPUs do not share one memory"),
            ("accel-4x2", "its CPU 4 runs the instruction set `accel`"),
            ("fpga-4", "its CPU 2 runs the instruction set `alpha`"),
        ] {
            let error = Layout::of(&machine(name)).expect_err(name);
            assert!(error.message.contains(why) && error.help.is_some(), "{name}: {error}");
            assert_eq!(error.kind, ErrorKind::Input);
        }
        for n in [0, 256, u32::MAX] {
            assert_eq!(Layout::flat(n).expect_err("absurd").kind, ErrorKind::Input);
        }
    }

    /// CPUs by package, cache and core: irregular shapes.
    fn shape(places: &[(u32, u32, u32, u32)]) -> Machine {
        let mut machine = Machine::smp(places.len() as u32);
        for (cpu, &(package, llc, core, node)) in machine.shape.cpus.iter_mut().zip(places) {
            (cpu.package, cpu.llc, cpu.core, cpu.node) = (package, llc, core, node);
        }
        let nodes = places.iter().map(|p| p.3).max().unwrap_or(0) as usize + 1;
        machine.distances =
            (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { 20 }).collect()).collect();
        machine
    }

    #[test]
    fn irregular_machines_keep_what_matters_most() {
        let grid_of = |places: &[(u32, u32, u32, u32)]| {
            let (l, warnings) = Layout::of(&shape(places)).expect("a layout");
            assert_eq!(l.nr_cpus() as usize, places.len());
            ((l.sockets, l.dies, l.cores, l.threads), warnings)
        };
        // Three equal caches in two packages: the caches stay.
        let (grid, warnings) =
            grid_of(&[(0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 2, 0), (0, 1, 3, 0), (1, 2, 4, 0), (1, 2, 5, 0)]);
        assert_eq!((grid, warnings.len()), ((3, 1, 2, 1), 1));
        assert!(warnings[0].contains("each of its 3 last-level caches is a package"));
        // Unequal caches in equal packages: the packages stay.
        let (grid, warnings) =
            grid_of(&[(0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 2, 0), (1, 2, 3, 0), (1, 3, 4, 0), (1, 3, 5, 0)]);
        assert_eq!((grid, warnings.len()), ((2, 1, 3, 1), 1));
        // Nothing is even.
        let (grid, warnings) = grid_of(&[(0, 0, 0, 0), (0, 0, 0, 0), (1, 1, 1, 0)]);
        assert_eq!((grid, warnings.len()), ((1, 1, 3, 1), 2));
        // A core in two nodes.
        let (grid, warnings) = grid_of(&[(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (0, 0, 1, 1)]);
        assert_eq!((grid, warnings.len()), ((1, 1, 4, 1), 1));
    }

    #[test]
    fn cpus_come_and_go() {
        let machine = toml(include_str!("../../../machines/hotplug.toml"));
        let (layout, warnings) = Layout::of(&machine).expect("a layout");
        assert_eq!(warnings, Vec::<String>::new());
        assert!(
            !layout.hotplug.is_empty()
                && layout.hotplug.iter().all(|h| h.cpu > 0 && h.cpu < layout.nr_cpus())
        );
        let mut machine = machine;
        machine.events = vec![(5, MachineEvent::Offline(0)), (6, MachineEvent::Frequency(0, 1_000_000))];
        let (_, warnings) = Layout::of(&machine).expect("a layout");
        assert_eq!(
            warnings,
            [
                "its clocks change; in the guest they do not",
                "its first CPU goes offline; in the guest it cannot"
            ]
        );
    }

    proptest! {
        #[test]
        fn every_cpu_has_one_place(places in prop::collection::vec((0u32..3, 0u32..4, 0u32..9, 0u32..3), 1..40)) {
            let (layout, _) = Layout::of(&shape(&places)).expect("a layout");
            prop_assert_eq!(layout.nr_cpus() as usize, places.len());
            let mut guest = layout.guest_cpu.clone();
            guest.sort_unstable();
            prop_assert_eq!(guest, (0..places.len() as u32).collect::<Vec<_>>());
            prop_assert_eq!(layout.node_of_core.len() as u32, layout.nr_cpus() / layout.threads);
            // Nodes are always as in the model.
            for (index, place) in places.iter().enumerate() {
                let core = layout.guest_cpu[index] / layout.threads;
                prop_assert_eq!(layout.node_of_core[core as usize], place.3);
            }
            let _ = layout.args(1024, layout.can_be_spaced());
        }
    }
}
