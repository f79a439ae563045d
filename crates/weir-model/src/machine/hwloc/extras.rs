// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! hwloc's data outside its tree: kinds of CPUs and NUMA distances.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::File;
use crate::error::{Error, Result};
use crate::machine::assemble::Facts;
use crate::machine::bitmap::Bitmap;
use crate::machine::{LOCAL_DISTANCE, power};
use crate::units;

/// Largest distance that makes sense; the ACPI table ends at 255, measured ones go beyond.
const MAX_DISTANCE: u64 = 1_000_000;
const MHZ: u64 = 1_000_000;

/// Name and clocks of a kind, ascending.
pub(super) struct KindFacts {
    pub name: String,
    pub clocks: Vec<u64>,
}

/// Kinds of the CPUs that are present.
pub(super) struct Kinds {
    pub kinds: Vec<KindFacts>,
    /// By position of the CPU.
    pub kind_of: Vec<u16>,
    /// Unscaled capacity by position of the CPU.
    pub raw_capacity: Vec<u64>,
}

/// One `<cpukind>`.
struct Entry {
    cpus: Bitmap,
    name: String,
    efficiency: Option<u64>,
    /// The kernel's capacity, 1024 at most.
    capacity: Option<u64>,
    base_hz: Option<u64>,
    max_hz: Option<u64>,
}

/// Read the kinds. Capacity comes from the kernel's own figure where every kind has it, else from
/// the maximum clock, else from the order of efficiency (spread from 512 to 1024).
pub(super) fn cpu_kinds(file: &File<'_>, root: Node<'_, '_>, cpus: &[u32]) -> Result<Kinds> {
    let mut entries = Vec::new();
    for node in root.children().filter(|c| c.has_tag_name("cpukind")) {
        let entry = entry(file, node, entries.len())?;
        if cpus.iter().any(|&c| entry.cpus.contains(c)) {
            entries.push(entry);
        }
        if entries.len() > 256 {
            return Err(file
                .at(node, "the machine has more than 256 kinds of CPUs")
                .help("the file is damaged; export it again with `lstopo --of xml`"));
        }
    }
    let found: Vec<Option<usize>> =
        cpus.iter().map(|&c| entries.iter().position(|e| e.cpus.contains(c))).collect();
    let ranks = ranks(&entries);
    let raw = |e: &Entry, rank: Option<u64>| {
        if entries.iter().all(|e| e.capacity.is_some()) {
            e.capacity.unwrap_or(1)
        } else if entries.iter().all(|e| e.max_hz.is_some()) {
            e.max_hz.unwrap_or(1)
        } else {
            rank.unwrap_or(1024)
        }
    };
    let raws: Vec<u64> = entries.iter().zip(&ranks).map(|(e, r)| raw(e, *r).max(1)).collect();
    let fastest = raws.iter().copied().max().unwrap_or(1024);
    let clock = clock_in_model_name(root);
    let mut kinds = Vec::new();
    // Numbers in order of the entries that have CPUs; CPUs in none come last.
    let mut number = BTreeMap::new();
    for (i, e) in entries.iter().enumerate().filter(|(i, _)| found.contains(&Some(*i))) {
        number.insert(Some(i), kinds.len() as u16);
        let mut clocks: Vec<u64> = e.base_hz.into_iter().chain(e.max_hz.or(clock)).collect();
        clocks.sort_unstable();
        clocks.dedup();
        if clocks.is_empty() {
            clocks.push(power::DEFAULT_HZ);
        }
        kinds.push(KindFacts { name: unique(&kinds, &e.name), clocks });
    }
    if found.contains(&None) {
        number.insert(None, kinds.len() as u16);
        let clocks = vec![clock.unwrap_or(power::DEFAULT_HZ)];
        kinds.push(KindFacts { name: unique(&kinds, "uniform"), clocks });
    }
    Ok(Kinds {
        kind_of: found.iter().map(|f| number[f]).collect(),
        raw_capacity: found.iter().map(|f| f.map_or(fastest, |i| raws[i])).collect(),
        kinds,
    })
}

fn unique(kinds: &[KindFacts], name: &str) -> String {
    let taken = |n: &str| kinds.iter().any(|k| k.name == n);
    if !taken(name) {
        return name.into();
    }
    (2..).map(|i| format!("{name} {i}")).find(|n| !taken(n)).expect("numbers do not end")
}

fn entry(file: &File<'_>, node: Node<'_, '_>, position: usize) -> Result<Entry> {
    let cpus = file.bitmap(node, "cpuset")?.ok_or_else(|| {
        file.at(node, "this kind of CPU has no `cpuset`")
            .help("say which CPUs are of the kind, as in `cpuset=\"0x0000000f\"`")
    })?;
    let mut entry = Entry {
        cpus,
        name: format!("kind {position}"),
        // hwloc writes -1 for unknown.
        efficiency: node.attribute("forced_efficiency").and_then(|e| e.parse().ok()),
        capacity: None,
        base_hz: None,
        max_hz: None,
    };
    for info in node.children().filter(|c| c.has_tag_name("info")) {
        let (Some(name), Some(value)) = (info.attribute("name"), info.attribute_node("value")) else {
            continue;
        };
        let number = |max: u64| match value.value().trim().parse::<u64>() {
            Ok(n) if (1..=max).contains(&n) => Ok(Some(n)),
            _ => Err(file
                .error(
                    value.range_value(),
                    format!("`{name}` is `{}`, not a number from 1 to {max}", value.value()),
                )
                .help("correct the value, or drop the line")),
        };
        match name {
            "CoreType" if !value.value().trim().is_empty() => {
                entry.name = value.value().trim().chars().take(64).collect()
            }
            "LinuxCapacity" => entry.capacity = number(65_536)?,
            "FrequencyMaxMHz" => entry.max_hz = number(100_000)?.map(|m| m * MHZ),
            "FrequencyBaseMHz" => entry.base_hz = number(100_000)?.map(|m| m * MHZ),
            _ => {}
        }
    }
    if let (Some(base), Some(max)) = (entry.base_hz, entry.max_hz) {
        // Some firmware reports a base clock above the maximum; the maximum is what counts.
        entry.base_hz = Some(base.min(max));
    } else {
        entry.max_hz = entry.max_hz.or(entry.base_hz);
    }
    Ok(entry)
}

/// Capacity by order of efficiency, from 512 to 1024; `None` where efficiencies are unknown.
fn ranks(entries: &[Entry]) -> Vec<Option<u64>> {
    let mut order: Vec<u64> = entries.iter().filter_map(|e| e.efficiency).collect();
    order.sort_unstable();
    order.dedup();
    let rank = |e: u64| {
        let position = order.iter().position(|&o| o == e).expect("each is in the order") as u64;
        if order.len() < 2 { 1024 } else { 512 + 512 * position / (order.len() as u64 - 1) }
    };
    entries.iter().map(|e| e.efficiency.map(rank)).collect()
}

/// The clock in a name like `Xeon(R) CPU E5-4640 0 @ 2.40GHz`.
fn clock_in_model_name(root: Node<'_, '_>) -> Option<u64> {
    let info =
        root.descendants().find(|n| n.has_tag_name("info") && n.attribute("name") == Some("CPUModel"))?;
    let (_, clock) = info.attribute("value")?.rsplit_once('@')?;
    units::parse(clock, units::CLOCK).ok().filter(|hz| (100 * MHZ..=100_000 * MHZ).contains(hz))
}

/// NUMA distances: `<distances2 type="NUMANode">` of versions 2 and 3, `<distances>` of version 1.
pub(super) fn distances(
    file: &File<'_>,
    root: Node<'_, '_>,
    numas: &[(u32, Option<u64>)],
    facts: &mut Facts,
) -> Result<()> {
    for node in root.children().filter(|c| c.has_tag_name("distances2")) {
        // Kind: 4 is latency, as opposed to bandwidth (8).
        let kind: u32 = file.number(node, "kind")?.unwrap_or(4);
        if node.attribute("type") == Some("NUMANode") && kind & 4 != 0 {
            return version2(file, node, numas, facts);
        }
    }
    for node in root.descendants().filter(|c| c.has_tag_name("distances")) {
        let n: usize = file.number(node, "nbobjs")?.unwrap_or(0);
        // Version 1 does not say what it is between: a matrix as wide as there are nodes is theirs.
        if n > 1 && n == numas.len() {
            return version1(file, node, numas, facts);
        }
    }
    Ok(())
}

fn numbers<T: std::str::FromStr>(file: &File<'_>, node: Node<'_, '_>, tag: &str) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for part in node.children().filter(|c| c.has_tag_name(tag)) {
        for word in part.text().unwrap_or("").split_ascii_whitespace() {
            all.push(word.parse().map_err(|_| {
                file.at(part, format!("`{word}` in <{tag}> is not a number in range"))
                    .help("the file is damaged here; export it again with `lstopo --of xml`")
            })?);
        }
    }
    Ok(all)
}

fn version2(
    file: &File<'_>,
    node: Node<'_, '_>,
    numas: &[(u32, Option<u64>)],
    facts: &mut Facts,
) -> Result<()> {
    let indexes: Vec<u64> = numbers(file, node, "indexes")?;
    let values: Vec<u64> = numbers(file, node, "u64values")?;
    let os = match node.attribute("indexing") {
        Some("gp") => indexes
            .iter()
            .map(|i| numas.iter().find(|(_, gp)| *gp == Some(*i)).map(|(os, _)| u64::from(*os)))
            .collect::<Option<Vec<u64>>>(),
        _ => Some(indexes.clone())
            .filter(|all| all.iter().all(|i| numas.iter().any(|(os, _)| u64::from(*os) == *i))),
    };
    let Some(os) = os else {
        return Err(file
            .at(node, "these distances name a NUMA node that the topology does not have")
            .help("drop the <distances2> element to use 10 and 20, or export the machine again"));
    };
    matrix(facts, &os, &values).map_err(|e| wrong(file, node, e, "distances2"))
}

fn version1(
    file: &File<'_>,
    node: Node<'_, '_>,
    numas: &[(u32, Option<u64>)],
    facts: &mut Facts,
) -> Result<()> {
    let base: f64 = file.number(node, "latency_base")?.unwrap_or(1.0);
    let mut values = Vec::new();
    for latency in node.children().filter(|c| c.has_tag_name("latency")) {
        let v: f64 = file.number(latency, "value")?.unwrap_or(0.0);
        let v = v * base;
        values.push(if v.is_finite() && (0.0..=MAX_DISTANCE as f64).contains(&v) {
            v.round() as u64
        } else {
            u64::MAX
        });
    }
    // The rows are in logical order, which is that of the file.
    let os: Vec<u64> = numas.iter().map(|(os, _)| u64::from(*os)).collect();
    matrix(facts, &os, &values).map_err(|e| wrong(file, node, e, "distances"))
}

fn wrong(file: &File<'_>, node: Node<'_, '_>, message: String, tag: &str) -> Error {
    file.at(node, message)
        .help(format!("drop the <{tag}> element to use 10 and 20, or export the machine again"))
}

/// Enter a matrix, row by row; scaled so that the smallest local distance is 10.
fn matrix(facts: &mut Facts, os: &[u64], values: &[u64]) -> std::result::Result<(), String> {
    let n = os.len();
    if values.len() != n * n {
        return Err(format!("{} distances for {n} NUMA nodes, where {} are due", values.len(), n * n));
    }
    if values.iter().any(|v| !(1..=MAX_DISTANCE).contains(v)) {
        return Err(format!("NUMA distances must be from 1 to {MAX_DISTANCE}"));
    }
    let local = (0..n).map(|i| values[i * n + i]).min().unwrap_or(u64::from(LOCAL_DISTANCE));
    for (i, a) in os.iter().enumerate() {
        for (j, b) in os.iter().enumerate() {
            let scaled = values[i * n + j] * u64::from(LOCAL_DISTANCE) / local;
            facts.distances.insert((*a, *b), (scaled as u32).max(1));
        }
    }
    Ok(())
}
