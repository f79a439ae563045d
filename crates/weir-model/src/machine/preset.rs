// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Built-in machines, by name. The number in a name counts logical CPUs, except where the makers
//! count cores (`epyc-64`, `hybrid-8p16e`).

use std::collections::BTreeMap;

use weir_core::MAX_CPUS;

use super::assemble::{CpuFacts, DEFAULT_SMT_PCT, Facts};
use super::{CpuKind, Machine, power};
use crate::error::{Error, Result, nearest};

const MHZ: u64 = 1_000_000;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Names (or name patterns) and descriptions of the presets, for listings.
pub fn presets() -> Vec<(&'static str, &'static str)> {
    vec![
        ("smp-N", "N equal CPUs, one package, one node, one shared cache; N from 1 to 4096"),
        ("i7-2600", "desktop of source 0, 8.7: 4 cores with 2 threads at 3.4 GHz, one 8 MiB L3"),
        (
            "opteron-64",
            "server of source 0, 8.5: 4 packages, 8 NUMA nodes, 64 CPUs in pairs that share an L2",
        ),
        ("intel-2x4", "server of source 1: 2 packages of 4 cores at 2.66 GHz, pairs share an L2 of 4 MiB"),
        ("amd-2x2", "server of source 1: 2 packages of 2 cores at 2.8 GHz, each with an L2"),
        ("amd-4x4", "server of source 1: 4 packages of 4 cores at 2.5 GHz that share an L3, in a square"),
        ("amd-8x4", "server of source 1: 8 packages of 4 cores at 2 GHz that share an L3"),
        ("scc-48", "chip of source 1: 24 tiles of 2 cores at 533 MHz, 6 by 4, 4 memory controllers"),
        (
            "epyc-64",
            "server: 64 cores with 2 threads (128 CPUs), 8 L3 caches of 8 cores, 4 NUMA nodes, 1 package",
        ),
        (
            "hybrid-8p16e",
            "desktop: 8 fast cores with 2 threads, 16 small ones in fours that share an L2; any NpMe",
        ),
        (
            "mesh-256",
            "many-core chip: 16 by 16 tiles in 16 blocks, distance by hops; any square of a multiple of 4",
        ),
        (
            "numa-1024",
            "NUMA server: packages of 2 nodes of 64 CPUs, 8 CPUs an L3; any multiple of 64 to 4096",
        ),
        ("numa-4096", "the largest machine: 32 packages, 64 NUMA nodes, 512 L3 caches"),
        ("accel-4x2", "4 native CPUs and 2 of instruction set `accel`, which CPU 0 schedules; any NxM"),
        (
            "fpga-4",
            "2 native CPUs and two soft cores of instruction sets `alpha` and `beta`, scheduled by CPU 0",
        ),
        ("cluster-4x8", "4 coherence domains of 8 CPUs that share no memory with each other; any KxM"),
    ]
}

/// Names that can be typed as they are, for suggestions.
const EXAMPLES: &[&str] = &[
    "smp-8",
    "i7-2600",
    "opteron-64",
    "intel-2x4",
    "amd-2x2",
    "amd-4x4",
    "amd-8x4",
    "scc-48",
    "epyc-64",
    "hybrid-8p16e",
    "mesh-256",
    "numa-1024",
    "numa-4096",
    "accel-4x2",
    "fpga-4",
    "cluster-4x8",
    "host",
];

/// The preset called `name`; `None` where the name has no preset's form.
pub(super) fn preset(name: &str) -> Option<Result<Machine>> {
    let machine = match name {
        "i7-2600" => Ok(i7_2600()),
        "opteron-64" => Ok(opteron_64()),
        "epyc-64" => Ok(epyc_64()),
        "intel-2x4" => Ok(intel_2x4()),
        "amd-2x2" => Ok(opteron_of_source_1(name, 2, 2, [1_000, 1_800, 2_800], 1)),
        "amd-4x4" => Ok(opteron_of_source_1(name, 4, 4, [800, 1_700, 2_500], 6)),
        "amd-8x4" => Ok(opteron_of_source_1(name, 8, 4, [1_000, 1_500, 2_000], 2)),
        "scc-48" => Ok(scc_48()),
        "fpga-4" => Ok(fpga_4()),
        _ => {
            let (family, size) = name.split_once('-')?;
            sized(name, family, size)?
        }
    };
    Some(machine)
}

/// Presets with numbers in their names.
fn sized(name: &str, family: &str, size: &str) -> Option<Result<Machine>> {
    let bad = |why: String, help: String| Err(Error::machine(format!("`{name}`: {why}")).help(help));
    let one = || number(size);
    let two = |by: char| size.split_once(by).map(|(a, b)| (number(a), number(b)));
    let machine = match family {
        "smp" => match one()? {
            n @ 1..=MAX_CPUS => Ok(smp(n)),
            n => bad(
                format!("{n} CPUs are not possible"),
                format!("give a number from 1 to {MAX_CPUS}, like `smp-8`"),
            ),
        },
        "mesh" => {
            let n = one()?;
            let side = n.isqrt();
            if n > MAX_CPUS || side * side != n || n == 0 || !side.is_multiple_of(4) {
                let sizes =
                    "16, 64, 144, 256, 400, 576, 784, 1024, 1296, 1600, 1936, 2304, 2704, 3136, 3600 or 4096";
                bad(
                    format!("{n} tiles do not make a square of blocks of 4 by 4"),
                    format!("give {sizes} tiles"),
                )
            } else {
                Ok(mesh(name, side))
            }
        }
        "numa" => {
            let n = one()?;
            if n == 0 || n > MAX_CPUS || !n.is_multiple_of(64) {
                bad(
                    format!("{n} CPUs do not fill NUMA nodes of 64"),
                    "give a multiple of 64 up to 4096".into(),
                )
            } else {
                Ok(numa(name, n))
            }
        }
        "hybrid" => {
            let (p, rest) = size.split_once('p')?;
            let (p, e) = (number(p)?, number(rest.strip_suffix('e')?)?);
            let cpus = u64::from(p) * 2 + u64::from(e);
            if p == 0 || cpus > u64::from(MAX_CPUS) {
                let help =
                    format!("give at least one P-core and at most {MAX_CPUS} CPUs, like `hybrid-8p16e`");
                bad(format!("{p} P-cores with 2 threads and {e} E-cores are {cpus} CPUs"), help)
            } else {
                Ok(hybrid(name, p, e))
            }
        }
        "accel" => {
            let (native, accel) = two('x')?;
            let (native, accel) = (native?, accel?);
            let cpus = u64::from(native) + u64::from(accel);
            if native == 0 || cpus > u64::from(MAX_CPUS) {
                let help =
                    format!("give at least one native CPU and at most {MAX_CPUS} in all, like `accel-4x2`");
                bad(format!("{native} native CPUs and {accel} accelerators are not possible"), help)
            } else {
                Ok(accelerated(name, native, &vec!["accel"; accel as usize]))
            }
        }
        "cluster" => {
            let (domains, each) = two('x')?;
            let (domains, each) = (domains?, each?);
            let cpus = u64::from(domains) * u64::from(each);
            if cpus == 0 || cpus > u64::from(MAX_CPUS) {
                let help = format!("give at most {MAX_CPUS} CPUs in all, like `cluster-4x8`");
                bad(format!("{domains} domains of {each} CPUs are {cpus} CPUs"), help)
            } else {
                Ok(cluster(name, domains, each))
            }
        }
        _ => return None,
    };
    Some(machine)
}

/// Digits only: a sign or a space makes it another word. Too many digits saturate.
fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().unwrap_or(u32::MAX))
}

/// What to suggest for an unknown name: the nearest preset or catalogue machine, else the list.
pub(super) fn suggestion(name: &str, catalogue: &[&str]) -> String {
    let family = |n: &str| n.split('-').next().unwrap_or(n).to_string();
    if let Some(near) = nearest(name, catalogue.iter().chain(EXAMPLES).copied()) {
        return format!("did you mean `{near}`?");
    }
    let wanted = family(name);
    let families: Vec<String> = EXAMPLES.iter().map(|e| family(e)).collect();
    if let Some(near) = nearest(&wanted, families.iter().map(String::as_str)) {
        let (form, what) =
            presets().into_iter().find(|(p, _)| family(p) == near).unwrap_or(("host", "this machine"));
        return format!("did you mean `{form}`: {what}?");
    }
    let mut known: Vec<&str> = presets().into_iter().map(|(p, _)| p).collect();
    known.push("host");
    known.extend(catalogue);
    format!("known machines: {}; or name an hwloc .xml file or a .toml file", known.join(", "))
}

/// Threads of one core are numbered side by side, or in a second round after all first threads.
#[derive(Clone, Copy, PartialEq)]
enum Numbering {
    Adjacent,
    SecondRound,
}

/// A regular machine: how many cores share each level.
struct Grid {
    cores: u32,
    threads: u32,
    numbering: Numbering,
    per_l2: u32,
    per_llc: u32,
    per_node: u32,
    per_package: u32,
}

impl Grid {
    /// CPUs of kind 0 and capacity 1024.
    fn cpus(&self) -> Vec<CpuFacts> {
        let mut cpus = Vec::with_capacity((self.cores * self.threads) as usize);
        for thread in 0..self.threads {
            for core in 0..self.cores {
                cpus.push(CpuFacts {
                    os_index: match self.numbering {
                        Numbering::Adjacent => core * self.threads + thread,
                        Numbering::SecondRound => thread * self.cores + core,
                    },
                    core: core.into(),
                    l2: (core / self.per_l2).into(),
                    cluster: None,
                    llc: (core / self.per_llc).into(),
                    node: (core / self.per_node).into(),
                    package: (core / self.per_package).into(),
                    domain: 0,
                    isa: 0,
                    capacity: 1024,
                    kind: 0,
                    host: None,
                    online: true,
                });
            }
        }
        cpus
    }
}

fn facts(name: &str, grid: &Grid, kind: CpuKind, llc_level: u8, llc_bytes: u64) -> Facts {
    let mut f = Facts::new(name);
    f.cpus = grid.cpus();
    f.kinds = vec![kind];
    f.llc_level = llc_level;
    f.llc_bytes = f.cpus.iter().map(|c| (c.llc, llc_bytes)).collect();
    f
}

/// Equal CPUs at 2 GHz, the clock of source 0's simulations (8.4), 4 W each; an L3 of 2 MiB a CPU.
pub(super) fn smp(n: u32) -> Machine {
    assert!((1..=MAX_CPUS).contains(&n), "smp-{n} is outside 1..={MAX_CPUS}");
    let grid = Grid {
        cores: n,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 1,
        per_llc: n,
        per_node: n,
        per_package: n,
    };
    let kind = power::kind("uniform", &[1_000 * MHZ, 2_000 * MHZ], 4_000);
    facts(&format!("smp-{n}"), &grid, kind, 3, u64::from(n) * 2 * MIB).assemble()
}

/// Source 0, 8.7, Table 8.6. 95 W over 8 threads; clocks of the data sheet, turbo left out.
fn i7_2600() -> Machine {
    let grid = Grid {
        cores: 4,
        threads: 2,
        numbering: Numbering::SecondRound,
        per_l2: 1,
        per_llc: 4,
        per_node: 4,
        per_package: 4,
    };
    let kind = power::kind("uniform", &[1_600 * MHZ, 2_500 * MHZ, 3_400 * MHZ], 11_900);
    facts("i7-2600", &grid, kind, 3, 8 * MIB).assemble()
}

/// Source 0, 8.5, Table 8.5: Opteron 6386 SE, two dies a package, each a NUMA node with a 6 MiB L3
/// (8 MiB of which 2 MiB serve the probe filter); CPUs in modules of two with a common 2 MiB L2.
/// 140 W over 16 CPUs. Distances as firmware of four-package boards gives them: 16 for one hop,
/// 22 for two; a die reaches its package mate and the like-placed dies in one.
fn opteron_64() -> Machine {
    let grid = Grid {
        cores: 64,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 2,
        per_llc: 8,
        per_node: 8,
        per_package: 16,
    };
    let kind = power::kind("uniform", &[1_400 * MHZ, 2_100 * MHZ, 2_800 * MHZ], 8_750);
    let mut f = facts("opteron-64", &grid, kind, 3, 6 * MIB);
    f.distances = distances(8, |a, b| if a / 2 == b / 2 || a % 2 == b % 2 { 16 } else { 22 });
    f.assemble()
}

/// Source 1, chapter 4: Xeon X5355. A package has two dies, a die two cores with a common L2; one front-side bus, so one node.
fn intel_2x4() -> Machine {
    let grid = Grid {
        cores: 8,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 2,
        per_llc: 2,
        per_node: 8,
        per_package: 4,
    };
    let kind = power::kind("uniform", &[2_000 * MHZ, 2_660 * MHZ], 15_000);
    facts("intel-2x4", &grid, kind, 2, 4 * MIB).assemble()
}

/// Source 1, chapter 4: Opterons 2220 (no L3: its L2 is the last level, and each core's own), 8380 and 8350. A package is a node. Four are
/// a square of links; the source distinguishes one and two hops of eight, and does not name the pairs: here a ring of four pairs.
fn opteron_of_source_1(name: &str, packages: u32, cores: u32, mhz: [u64; 3], llc_mib: u64) -> Machine {
    let own = packages == 2;
    let grid = Grid {
        cores: packages * cores,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 1,
        per_llc: if own { 1 } else { cores },
        per_node: cores,
        per_package: cores,
    };
    let kind = power::kind("uniform", &mhz.map(|m| m * MHZ), 20_000);
    let mut f = facts(name, &grid, kind, if own { 2 } else { 3 }, llc_mib * MIB);
    f.distances = distances(packages, |a, b| match packages {
        2 => 20,
        4 if a.abs_diff(b) == 2 => 21,
        4 => 20,
        _ if a / 2 == b / 2 || (a / 2).abs_diff(b / 2) % 2 == 1 => 20,
        _ => 27,
    });
    f.assemble()
}

/// Source 1, 2.6: Intel's Single-chip Cloud Computer. Quarters of the mesh have a memory controller each. Its caches are not
/// coherent; here that is in the cost table of the same name, not in separate domains, since its cores do share memory.
fn scc_48() -> Machine {
    let grid = Grid {
        cores: 48,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 2,
        per_llc: 2,
        per_node: 12,
        per_package: 48,
    };
    let kind = power::kind("P54C", &[125 * MHZ, 533 * MHZ], 2_000);
    let mut f = facts("scc-48", &grid, kind, 2, 512 * KIB);
    f.distances = distances(4, |a, b| if (a ^ b) == 3 { 24 } else { 20 });
    f.assemble()
}

/// One 64-core server package with two threads a core, eight L3 caches of 16 MiB for eight cores
/// each, set up as four NUMA nodes. 200 W over 128 threads. Distance 12 between the nodes of one
/// package.
fn epyc_64() -> Machine {
    let grid = Grid {
        cores: 64,
        threads: 2,
        numbering: Numbering::SecondRound,
        per_l2: 1,
        per_llc: 8,
        per_node: 16,
        per_package: 64,
    };
    let kind = power::kind("uniform", &[1_500 * MHZ, 2_000 * MHZ, 3_350 * MHZ], 2_600);
    let mut f = facts("epyc-64", &grid, kind, 3, 16 * MIB);
    f.remote = 12;
    f.assemble()
}

/// Fast cores with two threads each, numbered first and side by side; then small cores in clusters
/// of four around one L2. All share the L3. A small core does at its top clock 60% of the work of
/// a fast one: three quarters of the clock, four fifths of the work a cycle.
fn hybrid(name: &str, p: u32, e: u32) -> Machine {
    let grid = Grid {
        cores: p,
        threads: 2,
        numbering: Numbering::Adjacent,
        per_l2: 1,
        per_llc: p,
        per_node: p,
        per_package: p,
    };
    let fast = power::kind("P-core", &[800 * MHZ, 3_000 * MHZ, 5_200 * MHZ], 10_000);
    let mut f = facts(name, &grid, fast, 3, 36 * MIB);
    f.kinds.push(power::kind("E-core", &[800 * MHZ, 2_200 * MHZ, 3_900 * MHZ], 3_500));
    f.cpus.extend((0..e).map(|i| CpuFacts {
        os_index: 2 * p + i,
        core: (p + i).into(),
        l2: (p + i / 4).into(),
        cluster: None,
        llc: 0,
        node: 0,
        package: 0,
        domain: 0,
        isa: 0,
        capacity: 614,
        kind: 1,
        host: None,
        online: true,
    }));
    if e == 0 {
        f.kinds.pop();
    }
    f.smt_pct = DEFAULT_SMT_PCT;
    f.assemble()
}

/// `side` by `side` tiles at 1.4 GHz; blocks of 4 by 4 tiles share a slice of cache (8 MiB) and a
/// memory controller. The distance of two blocks is 10 plus 2 per hop between them. CPUs are
/// numbered block by block.
fn mesh(name: &str, side: u32) -> Machine {
    let n = side * side;
    let grid = Grid {
        cores: n,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 1,
        per_llc: 16,
        per_node: 16,
        per_package: n,
    };
    let mut f = facts(name, &grid, power::kind("tile", &[700 * MHZ, 1_400 * MHZ], 850), 3, 8 * MIB);
    let blocks = side / 4;
    f.distances = distances(n / 16, |a, b| {
        let hops = (a % blocks).abs_diff(b % blocks) + (a / blocks).abs_diff(b / blocks);
        10 + 2 * hops
    });
    f.assemble()
}

/// Nodes of 64 CPUs with an L3 of 32 MiB for every eight; two nodes a package. 12 within a
/// package, 20 within a group of four packages, 32 beyond.
fn numa(name: &str, n: u32) -> Machine {
    let grid = Grid {
        cores: n,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 1,
        per_llc: 8,
        per_node: 64,
        per_package: 128,
    };
    let kind = power::kind("uniform", &[1_500 * MHZ, 2_250 * MHZ, 3_000 * MHZ], 3_000);
    let mut f = facts(name, &grid, kind, 3, 32 * MIB);
    f.distances = distances(n / 64, |a, b| match (a, b) {
        _ if a / 2 == b / 2 => 12,
        _ if a / 8 == b / 8 => 20,
        _ => 32,
    });
    f.assemble()
}

/// Native CPUs, then one CPU for each foreign instruction set named. The foreign ones cannot run
/// the scheduler: CPU 0 does it for them (source 0, 6.1.4). They sit beside the package, on the
/// same node, each with a local store in the place of caches.
fn accelerated(name: &str, native: u32, foreign: &[&str]) -> Machine {
    let grid = Grid {
        cores: native,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 1,
        per_llc: native,
        per_node: native,
        per_package: native,
    };
    let kind = power::kind("native", &[1_000 * MHZ, 2_000 * MHZ], 4_000);
    let mut f = facts(name, &grid, kind, 3, u64::from(native) * 2 * MIB);
    let mut kinds = BTreeMap::new();
    for (isa, i) in foreign.iter().zip(0u32..) {
        let number = *kinds.entry(*isa).or_insert_with(|| {
            f.kinds.push(power::kind(isa, &[1_000 * MHZ], 2_000));
            f.isas.push((*isa).to_string());
            (f.isas.len() - 1) as u16
        });
        f.cpus.push(CpuFacts {
            os_index: native + i,
            core: (native + i).into(),
            l2: (native + i).into(),
            cluster: None,
            llc: (1 + i).into(),
            node: 0,
            package: (1 + i).into(),
            domain: 0,
            isa: number,
            capacity: 1024,
            kind: number,
            host: Some(0),
            online: true,
        });
        f.llc_bytes.insert((1 + i).into(), 256 * KIB);
    }
    f.assemble()
}

/// Two native CPUs and two soft cores in an FPGA (source 0, 6.3).
fn fpga_4() -> Machine {
    let mut m = accelerated("fpga-4", 2, &["alpha", "beta"]);
    // Soft cores run at an FPGA's clock.
    for k in 1..3 {
        let name = m.kinds[k].name.clone();
        m.kinds[k] = power::kind(&name, &[200 * MHZ], 1_500);
    }
    m
}

/// Computers side by side that exchange messages only (source 0, 6.2).
fn cluster(name: &str, domains: u32, each: u32) -> Machine {
    let grid = Grid {
        cores: domains * each,
        threads: 1,
        numbering: Numbering::Adjacent,
        per_l2: 1,
        per_llc: each,
        per_node: each,
        per_package: each,
    };
    let kind = power::kind("uniform", &[1_000 * MHZ, 2_000 * MHZ], 4_000);
    let mut f = facts(name, &grid, kind, 3, u64::from(each) * 2 * MIB);
    f.cpus.iter_mut().for_each(|c| c.domain = c.node);
    f.assemble()
}

/// All distances of `n` nodes, local ones included, from those of unlike nodes.
fn distances(n: u32, between: impl Fn(u32, u32) -> u32) -> BTreeMap<(u64, u64), u32> {
    (0..n)
        .flat_map(|a| (0..n).map(move |b| (a, b)))
        .map(|(a, b)| ((a.into(), b.into()), if a == b { super::LOCAL_DISTANCE } else { between(a, b) }))
        .collect()
}
