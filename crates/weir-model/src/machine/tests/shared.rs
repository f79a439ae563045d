// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Real machines' exports, which are not part of this repository: `WEIR_SHARED_DATA` names a
//! directory with them in `hwloc/`; without it these tests have nothing to do and say so.

use super::super::Machine;

fn read(name: &str) -> Option<Machine> {
    let Ok(dir) = std::env::var("WEIR_SHARED_DATA") else {
        eprintln!("skipped: WEIR_SHARED_DATA is not set");
        return None;
    };
    let path = format!("{dir}/hwloc/{name}.xml");
    Some(Machine::resolve(&path, &|p| std::fs::read(p), &[]).unwrap_or_else(|e| panic!("{e}")))
}

/// Number of different values of a field.
fn count(m: &Machine, f: fn(&weir_core::CpuShape) -> u32) -> usize {
    m.shape.cpus.iter().map(f).collect::<std::collections::BTreeSet<_>>().len()
}

/// Packages, nodes, last-level caches, cores, CPUs.
fn numbers(m: &Machine) -> [usize; 5] {
    [
        count(m, |c| c.package),
        count(m, |c| c.node),
        count(m, |c| c.llc),
        count(m, |c| c.core),
        m.shape.cpus.len(),
    ]
}

#[test]
fn opteron_with_cpus_and_memory_taken_away() {
    let Some(m) = read("16amd64-8n2c-cpusets") else { return };
    // Ten of sixteen CPUs are allowed; three of their six nodes have no memory left, and two nodes
    // have memory but no CPU.
    assert_eq!(numbers(&m), [6, 6, 10, 10, 10]);
    let os: Vec<u32> = m.shape.cpus.iter().map(|c| c.os_index).collect();
    assert_eq!(os, [0, 1, 2, 3, 5, 6, 12, 13, 14, 15]);
    assert_eq!((m.llc_level, m.llc_bytes[0]), (2, 1 << 20));
    assert_eq!(m.warnings.len(), 3, "{:?}", m.warnings);
    assert!(m.distances.iter().flatten().all(|d| *d == 10 || *d == 20));
}

#[test]
fn uv_with_384_cpus() {
    let Some(m) = read("192em64t-12gr2n8c2t") else { return };
    assert_eq!(numbers(&m), [24, 24, 24, 192, 384]);
    assert_eq!(m.llc_bytes, [20 << 20; 24]);
    assert_eq!((m.distances[0][1], m.distances[0][2], m.distances[0][23]), (50, 65, 79));
    assert_eq!(m.top_hz(0), 2_400_000_000);
    assert_eq!(m.smt_pct, 62);
    assert_eq!(m.shape.cpus[0].core, m.shape.cpus[192].core);
}

#[test]
fn two_packages_with_interleaved_numbers() {
    let Some(m) = read("24em64t-2n6c2t-pci") else { return };
    assert_eq!(numbers(&m), [2, 2, 2, 12, 24]);
    assert_eq!(m.shape.cpus[0].core, m.shape.cpus[12].core);
    assert!(m.shape.cpus.iter().all(|c| c.node == c.os_index % 2));
}

#[test]
fn two_packages_without_devices() {
    let Some(m) = read("32em64t-2n8c2t-pci-noio") else { return };
    assert_eq!(numbers(&m), [2, 2, 2, 16, 32]);
    assert_eq!(m.llc_bytes, [20 << 20; 2]);
}

#[test]
fn kinds_of_cpus() {
    let Some(m) = read("fakecpukinds") else { return };
    // Two cores with one small and one big thread each: odd, but that is what it says.
    assert_eq!(numbers(&m), [1, 1, 1, 2, 4]);
    let names: Vec<&str> = m.kinds.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["MySmallCore", "YouBigcore", "IntelCore"]);
    assert_eq!(m.kind_of, [0, 0, 1, 2]);
    let capacities: Vec<u32> = m.shape.cpus.iter().map(|c| c.capacity).collect();
    assert_eq!(capacities, [512, 512, 1024, 1024]);
    assert_eq!(m.llc_level, 0);
}

#[test]
fn all_survive_both_writers() {
    for name in [
        "16amd64-8n2c-cpusets",
        "192em64t-12gr2n8c2t",
        "24em64t-2n6c2t-pci",
        "32em64t-2n8c2t-pci-noio",
        "fakecpukinds",
    ] {
        let Some(mut m) = read(name) else { return };
        m.warnings.clear();
        let text = m.to_toml();
        let back = Machine::from_text("x.toml", &text, "x").unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(back, m, "{text}");
        let back = Machine::from_text("x.xml", &m.to_hwloc_xml(), name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(back.shape, m.shape);
        assert_eq!(back.distances, m.distances);
    }
}
