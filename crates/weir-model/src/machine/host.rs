// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The machine that Runweir runs on, as Linux describes it below `/sys/devices/system`.
//!
//! Only files are read, never directories, through the caller's reader: a test can pass a made-up
//! system, and a captured one can be replayed. CPUs that are present but offline are omitted,
//! because Linux does not report their place.

use std::collections::BTreeMap;

use super::assemble::{CpuFacts, Facts, MAX_NUMBER, scale_capacities};
use super::bitmap::parse_list;
use super::check::{self, Fault};
use super::power;
use super::resolve::ReadFile;
use super::{Machine, REMOTE_DISTANCE};
use crate::error::{Error, Result};
use weir_core::MAX_CPUS;

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";
/// Caches of one CPU.
const MAX_CACHES: u32 = 12;
const KHZ: u64 = 1_000;

struct Sys<'a> {
    read: ReadFile<'a>,
}

impl Sys<'_> {
    /// First line of a file; `None` where it is missing or not text.
    fn text(&self, path: &str) -> Option<String> {
        let bytes = (self.read)(path).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.lines().next().unwrap_or("").trim().to_string())
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    fn list(&self, path: &str) -> Option<Vec<u32>> {
        parse_list(&self.text(path)?, MAX_NUMBER - 1).ok().filter(|l| !l.is_empty())
    }
}

/// What Linux says of one CPU before kinds are made.
struct Found {
    facts: CpuFacts,
    threads: u32,
    capacity: Option<u64>,
    min_hz: Option<u64>,
    max_hz: Option<u64>,
}

/// Read the host.
pub(super) fn read(read: ReadFile<'_>) -> Result<Machine> {
    let sys = Sys { read };
    let Some(cpus) = sys.list(&format!("{CPU}/online")) else {
        return Err(Error::machine(format!(
            "this system does not describe its CPUs: `{CPU}/online` cannot be read"
        ))
        .help("`host` needs Linux with /sys mounted; name a preset such as `smp-8`, or a machine file"));
    };
    if cpus.len() > MAX_CPUS as usize {
        return Err(Error::machine(format!("this machine has {} CPUs, more than {MAX_CPUS}", cpus.len()))
            .help("export a part of it: `lstopo --restrict 0x… --of xml FILE.xml`"));
    }
    let mut facts = Facts::new("host");
    let nodes = nodes(&sys, &mut facts);
    let found: Vec<Found> = cpus.iter().map(|&c| cpu(&sys, c, &nodes, &mut facts)).collect();
    kinds(&found, &mut facts);
    let machine = facts.assemble();
    match check::check(&machine) {
        Ok(()) => Ok(machine),
        Err(Fault { message, help, .. }) => Err(Error::machine(format!(
            "this system describes itself in a way that does not fit together: {message}"
        ))
        .help(format!("{help}; or describe the machine in a TOML file"))),
    }
}

/// Node of each CPU, and the distances between nodes that have CPUs.
fn nodes(sys: &Sys<'_>, facts: &mut Facts) -> BTreeMap<u32, u32> {
    let mut node_of = BTreeMap::new();
    let all = sys.list(&format!("{NODE}/online")).unwrap_or_default();
    for &n in &all {
        for c in sys.list(&format!("{NODE}/node{n}/cpulist")).unwrap_or_default() {
            node_of.insert(c, n);
        }
        let row = sys.text(&format!("{NODE}/node{n}/distance")).unwrap_or_default();
        let row: Vec<u32> = row.split_ascii_whitespace().filter_map(|d| d.parse().ok()).collect();
        for (&other, &d) in all.iter().zip(&row) {
            // The kernel's own table holds bytes; a zero would mean nothing.
            let d = if other == n { super::LOCAL_DISTANCE } else { d.clamp(1, 1_000_000) };
            facts.distances.insert((n.into(), other.into()), d);
        }
    }
    facts.remote = REMOTE_DISTANCE;
    node_of
}

fn cpu(sys: &Sys<'_>, c: u32, nodes: &BTreeMap<u32, u32>, facts: &mut Facts) -> Found {
    let dir = format!("{CPU}/cpu{c}");
    let lowest = |list: Option<Vec<u32>>| list.and_then(|l| l.first().copied()).unwrap_or(c);
    let siblings = sys
        .list(&format!("{dir}/topology/core_cpus_list"))
        .or_else(|| sys.list(&format!("{dir}/topology/thread_siblings_list")));
    let threads = siblings.as_ref().map_or(1, |s| s.len() as u32);
    let core = lowest(siblings);
    let package = lowest(
        sys.list(&format!("{dir}/topology/package_cpus_list"))
            .or_else(|| sys.list(&format!("{dir}/topology/core_siblings_list"))),
    );
    let (mut l2, mut llc) = (core, (package, 0u8, 0u64));
    for i in 0..MAX_CACHES {
        let cache = format!("{dir}/cache/index{i}");
        let Some(level) = sys.number(&format!("{cache}/level")) else { break };
        if sys.text(&format!("{cache}/type")).as_deref() == Some("Instruction") {
            continue;
        }
        let Some(shared) = sys.list(&format!("{cache}/shared_cpu_list")) else { continue };
        let level = level.min(9) as u8;
        let first = shared.first().copied().unwrap_or(c).min(core);
        if level == 2 {
            l2 = first;
        }
        if level > llc.1 {
            llc = (first, level, size(&sys.text(&format!("{cache}/size")).unwrap_or_default()));
        }
    }
    facts.llc_level = facts.llc_level.max(llc.1);
    facts.llc_bytes.insert(llc.0.into(), llc.2);
    let khz = |file: &str| {
        sys.number(&format!("{dir}/cpufreq/{file}"))
            .filter(|k| (1_000..=100_000_000).contains(k))
            .map(|k| k * KHZ)
    };
    Found {
        facts: CpuFacts {
            os_index: c,
            core: core.into(),
            l2: l2.into(),
            cluster: None,
            llc: llc.0.into(),
            node: nodes.get(&c).copied().unwrap_or(0).into(),
            package: package.into(),
            domain: 0,
            isa: 0,
            capacity: 1024,
            kind: 0,
            host: None,
            online: true,
        },
        threads,
        capacity: sys.number(&format!("{dir}/cpu_capacity")).filter(|c| (1..=65_536).contains(c)),
        min_hz: khz("cpuinfo_min_freq"),
        max_hz: khz("cpuinfo_max_freq"),
    }
}

/// `32K`, `16M`: bytes of a cache size as the kernel writes it; 0 is unknown.
fn size(text: &str) -> u64 {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text.strip_prefix(digits) {
        Some("K") => 10,
        Some("M") => 20,
        Some("G") => 30,
        _ => 0,
    };
    digits.parse::<u32>().map_or(0, |n| u64::from(n) << shift)
}

/// CPUs with equal clocks, capacity and threads are of one kind.
fn kinds(found: &[Found], facts: &mut Facts) {
    let raw: Vec<u64> = if found.iter().all(|f| f.capacity.is_some()) {
        found.iter().map(|f| f.capacity.unwrap_or(1)).collect()
    } else if found.iter().all(|f| f.max_hz.is_some()) {
        found.iter().map(|f| f.max_hz.unwrap_or(1)).collect()
    } else {
        vec![1; found.len()]
    };
    let capacities = scale_capacities(&raw);
    let mut known = Vec::new();
    for (f, &capacity) in found.iter().zip(&capacities) {
        let key = (capacity, f.max_hz, f.min_hz, f.threads);
        let kind = known.iter().position(|k| *k == key).unwrap_or_else(|| {
            known.push(key);
            known.len() - 1
        });
        facts.cpus.push(CpuFacts { capacity, kind: kind as u16, ..f.facts.clone() });
    }
    let single = known.len() == 1;
    for (i, (capacity, max, min, threads)) in known.into_iter().enumerate() {
        let top = max.unwrap_or(power::DEFAULT_HZ);
        let clocks: Vec<u64> = min.filter(|m| *m < top).into_iter().chain([top]).collect();
        let name = if single { "uniform".into() } else { format!("kind {i}") };
        facts.kinds.push(power::kind(&name, &clocks, power::default_top_mw(top, capacity, threads)));
    }
}
