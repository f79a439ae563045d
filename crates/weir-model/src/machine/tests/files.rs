// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Files: what is read from hwloc's three versions, from TOML and from a made-up host.

use std::collections::BTreeMap;

use super::super::{Distance, Machine, MachineEvent};

fn xml(text: &str) -> Machine {
    Machine::from_text("test.xml", text, "test").unwrap_or_else(|e| panic!("{e}"))
}

fn toml(text: &str) -> Machine {
    Machine::from_text("test.toml", text, "test").unwrap_or_else(|e| panic!("{e}"))
}

/// A field of every CPU.
fn each(m: &Machine, f: fn(&weir_core::CpuShape) -> u32) -> Vec<u32> {
    m.shape.cpus.iter().map(f).collect()
}

/// Two dies of two clusters of two cores each, in one package and under one cache.
fn clustered(group: &str, inner: &str) -> String {
    let set = |cpus: std::ops::Range<u32>| format!("0x{:08x}", cpus.map(|c| 1u32 << c).sum::<u32>());
    let core = |c: u32| {
        let s = set(c..c + 1);
        format!(
            r#"<object type="Core" os_index="{c}" cpuset="{s}"><object type="PU" os_index="{c}" cpuset="{s}"/></object>"#
        )
    };
    let pair =
        |c: u32| format!("<object {inner} cpuset=\"{}\">{}{}</object>", set(c..c + 2), core(c), core(c + 1));
    let four =
        |c: u32| format!("<object {group} cpuset=\"{}\">{}{}</object>", set(c..c + 4), pair(c), pair(c + 2));
    format!(
        r#"<topology version="2.0"><object type="Machine" cpuset="0x000000ff"><object type="Package" os_index="0" cpuset="0x000000ff">
        <object type="L3Cache" cpuset="0x000000ff" cache_size="4096" depth="3" cache_type="0">{}{}</object></object></object></topology>"#,
        four(0),
        four(4)
    )
}

#[test]
fn clusters_are_used_and_what_is_not_is_named_once() {
    let cluster = r#"type="Group" subtype="Cluster""#;
    let m = xml(&clustered(r#"type="Die""#, cluster));
    assert_eq!(each(&m, |c| c.cluster), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(m.warnings.len(), 1, "{:?}", m.warnings);
    assert!(m.warnings[0].contains("Die (2);"), "{:?}", m.warnings);
    // Both forms keep the clusters.
    assert_eq!(each(&toml(&m.to_toml()), |c| c.cluster), [0, 0, 1, 1, 2, 2, 3, 3]);
    // Without any, the CPUs of an L2 are one; a group that is there under another name needs no word.
    let plain =
        xml(&clustered(r#"type="Group""#, r#"type="L2Cache" cache_size="64" depth="2" cache_type="0""#));
    assert_eq!(each(&plain, |c| c.cluster), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert!(plain.warnings[0].contains("Group (2);"), "{:?}", plain.warnings);
    let tiles = xml(&clustered(r#"type="Group" subtype="Tile""#, cluster));
    assert!(tiles.warnings[0].contains("Group of subtype Tile (2);"), "{:?}", tiles.warnings);
    let same = xml(&clustered(cluster, r#"type="Group""#));
    assert_eq!(each(&same, |c| c.cluster), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert!(same.warnings[0].contains("Group (4);"), "{:?}", same.warnings);
}

#[test]
fn hwloc_version_1() {
    // NUMA nodes contain their CPUs, packages are sockets, caches have one type, and distances hang
    // on the machine in units of a base; CPU 3 is offline.
    let m = xml(r#"<?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE topology SYSTEM "hwloc.dtd">
        <topology>
          <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f"
                  online_cpuset="0x00000007" allowed_cpuset="0x0000000f">
            <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
              <latency value="1.000000"/><latency value="2.100000"/>
              <latency value="2.100000"/><latency value="1.000000"/>
            </distances>
            <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1024">
              <object type="Socket" os_index="0" cpuset="0x00000003">
                <object type="Cache" cpuset="0x00000003" cache_size="4194304" depth="2" cache_type="0">
                  <object type="Cache" cpuset="0x00000001" cache_size="32768" depth="1" cache_type="1">
                    <object type="Core" os_index="0" cpuset="0x00000001">
                      <object type="PU" os_index="0" cpuset="0x00000001"/>
                    </object>
                  </object>
                  <object type="Cache" cpuset="0x00000002" cache_size="32768" depth="1" cache_type="1">
                    <object type="Core" os_index="1" cpuset="0x00000002">
                      <object type="PU" os_index="1" cpuset="0x00000002"/>
                    </object>
                  </object>
                </object>
              </object>
            </object>
            <object type="NUMANode" os_index="1" cpuset="0x0000000c" local_memory="1024">
              <object type="Socket" os_index="1" cpuset="0x0000000c">
                <object type="Cache" cpuset="0x0000000c" cache_size="4194304" depth="2" cache_type="0">
                  <object type="Core" os_index="0" cpuset="0x00000004">
                    <object type="PU" os_index="2" cpuset="0x00000004"/>
                  </object>
                  <object type="Core" os_index="1" cpuset="0x00000008">
                    <object type="PU" os_index="3" cpuset="0x00000008"/>
                  </object>
                </object>
              </object>
            </object>
          </object>
        </topology>"#);
    assert_eq!(each(&m, |c| c.os_index), [0, 1, 2]);
    assert_eq!((each(&m, |c| c.node), each(&m, |c| c.package)), (vec![0, 0, 1], vec![0, 0, 1]));
    assert_eq!((each(&m, |c| c.core), each(&m, |c| c.llc)), (vec![0, 1, 2], vec![0, 0, 1]));
    assert_eq!((m.llc_level, m.llc_bytes.as_slice()), (2, [4 << 20; 2].as_slice()));
    assert_eq!(m.distances, [[10, 21], [21, 10]]);
    assert_eq!(m.warnings, ["CPUs left out because they are offline or not allowed: 1"]);
}

#[test]
fn hwloc_without_caches_nodes_or_cores() {
    let m = xml(r#"<topology version="2.0">
          <object type="Machine" os_index="0">
            <object type="Package" os_index="0"><object type="PU" os_index="3"/><object type="PU" os_index="1"/></object>
            <object type="Package" os_index="1"><object type="PU" os_index="2"/></object>
          </object>
        </topology>"#);
    assert_eq!(each(&m, |c| c.os_index), [1, 2, 3]);
    // No cache is known, so packages stand in; no core is, so every CPU is one.
    assert_eq!((each(&m, |c| c.package), each(&m, |c| c.llc)), (vec![0, 1, 0], vec![0, 1, 0]));
    assert_eq!((each(&m, |c| c.core), each(&m, |c| c.node)), (vec![0, 1, 2], vec![0, 0, 0]));
    assert_eq!(m.describe(), "2 packages, 1 NUMA node, 3 cores, 3 CPUs");
}

#[test]
fn hwloc_memory_of_two_kinds_and_a_memory_side_cache() {
    // High-bandwidth memory beside ordinary memory: the ordinary node (lower number) is the home.
    let m = xml(r#"<topology version="3.0">
          <object type="Machine" os_index="0" cpuset="0x00000003">
            <object type="Package" os_index="0" cpuset="0x00000001">
              <object type="MemCache" cpuset="0x00000001"><object type="NUMANode" os_index="0"/></object>
              <object type="NUMANode" os_index="2" cpuset="0x00000001"/>
              <object type="Core" os_index="0" cpuset="0x00000001"><object type="PU" os_index="0"/></object>
            </object>
            <object type="Package" os_index="1" cpuset="0x00000002">
              <object type="NUMANode" os_index="1" cpuset="0x00000002"/>
              <object type="NUMANode" os_index="3" cpuset="0x00000002"/>
              <object type="Core" os_index="0" cpuset="0x00000002"><object type="PU" os_index="1"/></object>
            </object>
          </object>
        </topology>"#);
    assert_eq!(m.distances.len(), 2);
    assert_ne!(m.shape.cpus[0].node, m.shape.cpus[1].node);
    assert_eq!(m.warnings, ["NUMA nodes left out because they have no CPU of their own: 2"]);
}

#[test]
fn hwloc_kinds_give_capacity_and_clocks() {
    let kinds = |infos: [&str; 2]| {
        xml(&format!(
            r#"<topology version="2.4">
              <object type="Machine" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="1"/></object>
              <cpukind cpuset="0x00000001" forced_efficiency="3">{}</cpukind>
              <cpukind cpuset="0x00000002" forced_efficiency="7">{}</cpukind>
            </topology>"#,
            infos[0], infos[1]
        ))
    };
    let info = |name: &str, value: u32| format!(r#"<info name="{name}" value="{value}"/>"#);
    // The kernel's own figure counts first …
    let both = |mhz, capacity| info("FrequencyMaxMHz", mhz) + &info("LinuxCapacity", capacity);
    let m = kinds([&both(2_000, 400), &both(3_000, 1_024)]);
    assert_eq!(each(&m, |c| c.capacity), [400, 1024]);
    // … then the maximum clock …
    let m = kinds([
        &info("FrequencyMaxMHz", 1_500),
        &(info("FrequencyMaxMHz", 3_000) + &info("FrequencyBaseMHz", 1_000)),
    ]);
    assert_eq!(each(&m, |c| c.capacity), [512, 1024]);
    assert_eq!((m.kinds[0].points.len(), m.kinds[1].points.len()), (1, 2));
    assert_eq!((m.top_hz(0), m.top_hz(1)), (1_500_000_000, 3_000_000_000));
    // … and the order of efficiency last.
    assert_eq!(each(&kinds(["", ""]), |c| c.capacity), [512, 1024]);
}

#[test]
fn hwloc_groups_and_uneven_trees() {
    let m = xml(r#"<topology version="2.0">
          <object type="Machine" os_index="0">
            <object type="Group"><object type="Die" os_index="0">
              <object type="L3Cache" cache_size="1048576">
                <object type="Core" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="4"/></object>
                <object type="Core" os_index="1"><object type="PU" os_index="1"/></object>
              </object>
            </object></object>
            <object type="L2Cache" cache_size="524288">
              <object type="Core" os_index="2"><object type="PU" os_index="2"/></object>
              <object type="Core" os_index="3"><object type="PU" os_index="3"/></object>
            </object>
          </object>
        </topology>"#);
    assert_eq!(each(&m, |c| c.llc), [0, 0, 1, 1, 0]);
    assert_eq!(m.distance(0, 4), Distance::Sibling);
    assert_eq!(m.distance(2, 3), Distance::L2);
    assert_eq!(m.describe(), "1 package, 1 NUMA node, 4 cores, 5 CPUs, SMT 1 to 2, 2 x L3 512 KiB to 1 MiB");
}

#[test]
fn toml_with_everything() {
    let m = toml(
        r#"
        name = "lab"
        smt_speed = "70%"
        distances = [[10, 16], [16, 10]]

        [[kind]]
        name = "P"
        points = [{ clock = "1GHz" }, { clock = "4GHz", power = "8W" }]

        [[kind]]
        name = "E"
        capacity = 400
        idle = "20mW"

        [[cpus]]
        count = 8
        kind = "P"
        smt = 2
        cpus_per_node = 4
        cpus_per_llc = 4
        llc_size = "8MiB"

        [[cpus]]
        count = 4
        kind = "E"
        node = 1
        llc = 1
        cpus_per_l2 = 2
        online = false

        [[cpus]]
        count = 1
        isa = "dsp"
        host = 0
        llc = 7

        [[event]]
        at = "20ms"
        online = "8-11"

        [[event]]
        at = "10ms"
        cpus = [0, 1]
        clock = "1GHz"
        "#,
    );
    assert_eq!((m.shape.name.as_str(), m.smt_pct, m.nr_cpus()), ("lab", 70, 13));
    assert_eq!(each(&m, |c| c.core), [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8]);
    assert_eq!(each(&m, |c| c.node), [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(each(&m, |c| c.llc), [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert_eq!(m.distance(8, 9), Distance::L2);
    assert_eq!(m.distance(9, 10), Distance::Llc);
    assert_eq!(m.distance(3, 4), Distance::Remote(16));
    assert_eq!((m.kinds[0].top().busy_mw, m.kinds[1].idle_mw), (8_000, 20));
    assert_eq!(m.shape.isas, ["native", "dsp"]);
    assert_eq!(m.shape.cpus[12].host, Some(0));
    assert_eq!(m.events.len(), 6);
    assert_eq!(m.events[0], (10_000_000, MachineEvent::Frequency(0, 1_000_000_000)));
    assert_eq!(m.events[5], (20_000_000, MachineEvent::Online(11)));
    assert_eq!(Machine::from_text("x", &m.to_toml(), "x"), Ok(m));
}

#[test]
fn toml_of_one_line_is_a_machine() {
    let m = toml("cpus = [{ count = 4 }]");
    assert_eq!(m.describe(), "1 package, 1 NUMA node, 4 cores, 4 CPUs, L3");
}

/// A system with two packages of two cores with two threads, numbered as Linux does.
fn made_up_host() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut put =
        |path: String, text: &str| files.insert(format!("/sys/devices/system/{path}"), format!("{text}\n"));
    put("cpu/online".into(), "0-6");
    put("node/online".into(), "0-1");
    for (node, cpus, distance) in [(0, "0-1,4-5", "10 21"), (1, "2-3,6-7", "21 10")] {
        put(format!("node/node{node}/cpulist"), cpus);
        put(format!("node/node{node}/distance"), distance);
    }
    for cpu in 0..7 {
        let (core, package) = (cpu % 4, cpu % 4 / 2);
        let dir = format!("cpu/cpu{cpu}");
        // CPU 7 is offline, so that core 3 has one thread.
        let siblings = if core == 3 { "3".to_string() } else { format!("{core},{}", core + 4) };
        put(format!("{dir}/topology/core_cpus_list"), &siblings);
        let package_cpus = ["0-1,4-5", "2-3,6"][package];
        put(format!("{dir}/topology/package_cpus_list"), package_cpus);
        for (i, level, kind, size, shared) in [
            (0, 1, "Data", "32K", siblings.as_str()),
            (1, 1, "Instruction", "32K", siblings.as_str()),
            (2, 2, "Unified", "1024K", siblings.as_str()),
            (3, 3, "Unified", "24M", package_cpus),
        ] {
            put(format!("{dir}/cache/index{i}/level"), &level.to_string());
            put(format!("{dir}/cache/index{i}/type"), kind);
            put(format!("{dir}/cache/index{i}/size"), size);
            put(format!("{dir}/cache/index{i}/shared_cpu_list"), shared);
        }
        put(format!("{dir}/cpufreq/cpuinfo_max_freq"), "3000000");
        put(format!("{dir}/cpufreq/cpuinfo_min_freq"), "1000000");
        put(format!("{dir}/cpu_capacity"), if package == 0 { "1024" } else { "768" });
    }
    files
}

#[test]
fn host_from_a_made_up_system() {
    let files = made_up_host();
    let read = |path: &str| match files.get(path) {
        Some(text) => Ok(text.clone().into_bytes()),
        None => Err(std::io::ErrorKind::NotFound.into()),
    };
    let m = Machine::resolve("host", &read, &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(each(&m, |c| c.core), [0, 1, 2, 3, 0, 1, 2]);
    assert_eq!(each(&m, |c| c.package), [0, 0, 1, 1, 0, 0, 1]);
    assert_eq!(each(&m, |c| c.capacity), [1024, 1024, 768, 768, 1024, 1024, 768]);
    assert_eq!(m.distances, [[10, 21], [21, 10]]);
    assert_eq!((m.llc_level, m.llc_bytes.as_slice()), (3, [24 << 20; 2].as_slice()));
    assert_eq!(m.kind(0).points.iter().map(|p| p.hz).collect::<Vec<_>>(), [1_000_000_000, 3_000_000_000]);
    assert_eq!(Machine::from_text("x", &m.to_toml(), "x"), Ok(m));
}

#[test]
fn host_without_a_description_says_so() {
    let e = super::resolve("host").expect_err("there are no files");
    assert!(e.message.contains("does not describe its CPUs") && e.help.is_some(), "{e}");
}

#[test]
fn this_host_resolves_where_there_is_one() {
    let read = |path: &str| std::fs::read(path);
    if read("/sys/devices/system/cpu/online").is_err() {
        eprintln!("skipped: no /sys");
        return;
    }
    let m = Machine::resolve("host", &read, &[]).unwrap_or_else(|e| panic!("{e}"));
    assert!(m.nr_cpus() >= 1);
}

#[test]
fn catalogue_names_come_before_presets() {
    let catalogue = [("board", "cpus = [{ count = 2 }]"), ("big", "<topology/>")];
    let m = Machine::resolve("board", &|_| Err(std::io::ErrorKind::NotFound.into()), &catalogue)
        .expect("it is listed");
    assert_eq!((m.shape.name.as_str(), m.nr_cpus()), ("board", 2));
    let e = Machine::resolve("baord", &|_| Err(std::io::ErrorKind::NotFound.into()), &catalogue)
        .expect_err("misspelt");
    assert_eq!(e.help.as_deref(), Some("did you mean `board`?"));
}

#[test]
fn large_files_are_read_quickly() {
    let started = std::time::Instant::now();
    let m = super::resolve("numa-4096").expect("a preset");
    assert_eq!(xml(&m.to_hwloc_xml()).nr_cpus(), 4096);
    assert_eq!(toml(&m.to_toml()), m);
    // About one second unoptimised; a quadratic reader would take minutes.
    assert!(started.elapsed().as_secs() < 60);
}
