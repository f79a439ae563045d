// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Reader of TOML machine files; `docs/machines.md` describes the format.

use std::collections::BTreeMap;
use std::ops::Range;

use weir_core::MAX_CPUS;

use super::assemble::{CpuFacts, DEFAULT_SMT_PCT, Facts, MAX_NUMBER};
use super::bitmap::parse_list;
use super::check::{self, Fault, Place};
use super::{Clocks, CpuKind, HwEngine, HwSelect, Machine, MachineEvent, OperatingPoint, Thermal, power};
use crate::document::{Source, Table, Value};
use crate::error::{ErrorKind, Result, did_you_mean};
use crate::units;

const TOP: &[&str] = &[
    "name",
    "isas",
    "smt_speed",
    "llc_level",
    "remote_distance",
    "distances",
    "battery",
    "thermal",
    "clocks",
    "scheduler",
    "engine",
    "kind",
    "cpus",
    "event",
];
const KIND: &[&str] = &["name", "capacity", "idle", "points"];
const POINT: &[&str] = &["clock", "power"];
const CPUS: &[&str] = &[
    "count",
    "kind",
    "smt",
    "first",
    "core",
    "l2",
    "cpus_per_l2",
    "cluster",
    "cpus_per_cluster",
    "llc",
    "cpus_per_llc",
    "llc_size",
    "node",
    "cpus_per_node",
    "package",
    "cpus_per_package",
    "domain",
    "cpus_per_domain",
    "isa",
    "host",
    "online",
];
const EVENT: &[&str] = &["at", "online", "offline", "cpus", "clock", "battery"];
const THERMAL: &[&str] = &["ambient", "rise", "settle", "sample", "throttle", "release"];

/// Labels in files are at most this; defaults lie above, so that they never meet.
const MAX_LABEL: u64 = MAX_NUMBER as u64 - 1;
const DEFAULT_LABEL: u64 = 1 << 32;

/// Read a machine from TOML text.
pub(super) fn read(name: &str, text: &str, stem: &str) -> Result<Machine> {
    let source = Source { name, text, kind: ErrorKind::Machine };
    // As a shell leaves it if there is no `lstopo`.
    if text.trim_start().is_empty() {
        return Err(source
            .error(0..0, "this machine file is empty")
            .help("export the machine with `lstopo --of xml FILE.xml`, or write a TOML file"));
    }
    let document = source.parse()?;
    let top = Table::new(source, document.get_ref(), 0..0, "a machine file", TOP)?;
    let mut facts = Facts::new(stem);
    if let Some(v) = top.get("name") {
        facts.name = v.str("\"my-machine\"")?.to_string();
    }
    facts.smt_pct = match top.get("smt_speed") {
        Some(v) => match v.quantity(units::PERCENT)? {
            pct @ 1..=100 => pct as u32,
            pct => {
                return Err(v
                    .error(format!("`smt_speed` is {pct}%, outside 1% to 100%"))
                    .help("62% is usual"));
            }
        },
        None => DEFAULT_SMT_PCT,
    };
    facts.llc_level = top.get("llc_level").map_or(Ok(3), |v| v.int((0, 9)))? as u8;
    if let Some(v) = top.get("remote_distance") {
        facts.remote = v.int((10, 100_000))? as u32;
    }
    if let Some(v) = top.get("isas") {
        facts.isas = isas(&v)?;
    }
    if let Some(v) = top.get("battery") {
        facts.on_battery = v.bool()?;
    }
    if let Some(v) = top.get("clocks") {
        facts.clocks = Some(clocks(source, &v.table("[clocks]", CLOCKS)?)?);
    }
    facts.engine = engine(source, &top)?;
    if let Some(v) = top.get("thermal") {
        facts.thermal = Some(thermal(source, &v.table("[thermal]", THERMAL)?)?);
    }
    let mut reader =
        Reader { source, facts, capacities: Vec::new(), next: Next::default(), groups: Vec::new() };
    for kind in top.tables("kind", "[[kind]]", KIND)? {
        reader.kind(&kind)?;
    }
    if reader.facts.kinds.is_empty() {
        let top_mw = power::default_top_mw(power::DEFAULT_HZ, 1024, 1);
        reader.facts.kinds.push(power::kind("uniform", &[power::DEFAULT_HZ], top_mw));
        reader.capacities.push(1024);
    }
    let groups = top.tables("cpus", "[[cpus]]", CPUS)?;
    if groups.is_empty() {
        return Err(source
            .error(0..0, "this machine file describes no CPUs")
            .help("add a `[[cpus]]` table with `count = 8`"));
    }
    for group in &groups {
        reader.group(group)?;
    }
    for (i, group) in groups.iter().enumerate() {
        reader.host(group, i)?;
    }
    if let Some(v) = top.get("distances") {
        reader.distances(&v)?;
    }
    let mut events = Vec::new();
    for event in top.tables("event", "[[event]]", EVENT)? {
        let span = event.span();
        events.extend(reader.event(&event)?.into_iter().map(|e| (e, span.clone())));
    }
    events.sort_by_key(|((t, _), _)| *t);
    let spans: Vec<Range<usize>> = events.iter().map(|(_, s)| s.clone()).collect();
    reader.facts.events = events.into_iter().map(|(e, _)| e).collect();

    let groups = reader.groups;
    let machine = reader.facts.assemble();
    match check::check(&machine) {
        Ok(()) => Ok(machine),
        Err(Fault { message, help, place }) => {
            let span = match place {
                Place::Event(i) => spans[i].clone(),
                Place::Cpu(cpu) => {
                    let os = machine.shape.cpus[cpu as usize].os_index;
                    groups.iter().find(|(cpus, _)| cpus.contains(&os)).map_or(0..0, |(_, s)| s.clone())
                }
                Place::Engine => top.get("scheduler").map_or(0..0, |v| v.span()),
                Place::Machine => groups.first().map_or(0..0, |(_, s)| s.clone()),
            };
            Err(source.error(span, message).help(help))
        }
    }
}

/// How cores get warm: degrees Celsius, and degrees for each watt.
const CLOCKS: &[&str] = &["offset", "drift", "late", "watch"];

fn clocks(source: Source<'_>, t: &Table<'_, '_>) -> Result<Clocks> {
    let time = |key: &'static str, usual: u64| t.get(key).map_or(Ok(usual), |v| v.quantity(units::TIME));
    let clocks = Clocks {
        offset_ns: time("offset", 0)?,
        drift_ppm: t.get("drift").map_or(Ok(0), |v| v.int((0, 10_000)))? as u32,
        late_ns: time("late", 0)?,
        watch_ns: time("watch", 1_000_000_000)?,
    };
    let long = [("offset", clocks.offset_ns), ("late", clocks.late_ns), ("watch", clocks.watch_ns)];
    if let Some((key, _)) = long.iter().find(|(_, ns)| *ns > 3_600_000_000_000) {
        let span = t.get(key).map_or(t.span(), |v| v.span());
        return Err(source
            .error(span, format!("`{key}` is more than an hour"))
            .help("write at most `3600s`"));
    }
    if clocks.watch_ns < 1_000_000 {
        let span = t.get("watch").map_or(t.span(), |v| v.span());
        return Err(source
            .error(span, "clocks are compared more often than each millisecond")
            .help("write 1s"));
    }
    Ok(clocks)
}

const ENGINE: &[&str] = &["tasks", "clock", "select"];

/// The scheduler in hardware, if the machine has one.
fn engine(source: Source<'_>, top: &Table<'_, '_>) -> Result<Option<HwEngine>> {
    let there = match top.get("scheduler") {
        None => false,
        Some(v) => match v.str("\"engine\"")? {
            "engine" => true,
            "software" => false,
            other => {
                return Err(v
                    .error(format!("`{}` is no kind of scheduler", other.escape_debug()))
                    .help(did_you_mean(other, &["engine", "software"])));
            }
        },
    };
    let Some(v) = top.get("engine") else {
        return Ok(there.then(HwEngine::default));
    };
    let t = v.table("[engine]", ENGINE)?;
    if !there {
        return Err(source
            .error(t.span(), "this machine describes an engine and schedules in software")
            .help("write `scheduler = \"engine\"` at the top of the file, or leave [engine] out"));
    }
    let usual = HwEngine::default();
    let select = match t.get("select") {
        None => usual.select,
        Some(v) => {
            let name = v.str("\"serial\"")?;
            HwSelect::named(name).ok_or_else(|| {
                v.error(format!("`{}` is no selector of the engine", name.escape_debug()))
                    .help(did_you_mean(name, &HwSelect::ALL.map(HwSelect::name)))
            })?
        }
    };
    let hz = t.get("clock").map_or(Ok(usual.hz), |v| v.quantity(units::CLOCK))?;
    let tasks =
        t.get("tasks").map_or(Ok(u64::from(usual.tasks)), |v| v.int((2, HwEngine::MAX_TASKS.into())))?;
    Ok(Some(HwEngine { tasks: tasks as u32, hz, select }))
}

fn thermal(source: Source<'_>, t: &Table<'_, '_>) -> Result<Thermal> {
    let degrees = |key: &'static str, usual: u64| t.get(key).map_or(Ok(usual), |v| v.int((1, 1000)));
    let time = |key: &'static str, usual: u64| t.get(key).map_or(Ok(usual), |v| v.quantity(units::TIME));
    let thermal = Thermal {
        ambient_c: degrees("ambient", 45)? as u32,
        rise_per_w: t.require("rise", "8")?.int((1, 10_000))? as u32,
        settle_ns: time("settle", 500_000_000)?,
        sample_ns: time("sample", 4_000_000)?,
        throttle_c: degrees("throttle", 95)? as u32,
        release_c: degrees("release", 85)? as u32,
    };
    let wrong = |key: &'static str, message: &str, help: &str| {
        let span = t.get(key).map_or(t.span(), |v| v.span());
        Err(source.error(span, message).help(help))
    };
    if thermal.sample_ns < 100_000 {
        return wrong("sample", "temperatures are sampled more often than each 100 us", "write 4ms");
    }
    if thermal.settle_ns < thermal.sample_ns {
        return wrong(
            "settle",
            "a core settles sooner than it is looked at",
            "let `settle` be longer than `sample`",
        );
    }
    if thermal.release_c >= thermal.throttle_c || thermal.ambient_c >= thermal.release_c {
        return wrong(
            "release",
            "a core that is throttled never recovers",
            "let `ambient` be below `release`, and that below `throttle`",
        );
    }
    Ok(thermal)
}

fn isas(v: &Value<'_, '_>) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for item in v.list("[\"native\", \"accel\"]")? {
        let name = item.str("[\"native\", \"accel\"]")?;
        if names.iter().any(|n| n == name) {
            return Err(item
                .error(format!("instruction set `{name}` is listed twice"))
                .help("list each once"));
        }
        names.push(name.to_string());
    }
    if names.is_empty() {
        return Err(v.error("`isas` is empty").help("the first of `isas` is the native instruction set"));
    }
    Ok(names)
}

/// Labels that no group has used yet.
#[derive(Default)]
struct Next {
    os: u64,
    core: u64,
    l2: u64,
    cluster: u64,
    llc: u64,
    node: u64,
    package: u64,
    domain: u64,
}

struct Reader<'a> {
    source: Source<'a>,
    facts: Facts,
    /// By kind.
    capacities: Vec<u32>,
    next: Next,
    /// Operating-system numbers of the groups read so far, with their places.
    groups: Vec<(Vec<u32>, Range<usize>)>,
}

impl Reader<'_> {
    fn kind(&mut self, t: &Table<'_, '_>) -> Result<()> {
        let name = t.require("name", "\"P-core\"")?;
        let text = name.str("\"P-core\"")?;
        if self.facts.kinds.iter().any(|k| k.name == text) {
            return Err(name
                .error(format!("kind `{text}` is described twice"))
                .help("give each kind a name of its own"));
        }
        if self.facts.kinds.len() > 255 {
            return Err(name.error("a machine has at most 256 kinds").help("merge kinds that are alike"));
        }
        let capacity = t.get("capacity").map_or(Ok(1024), |v| v.int((1, 1024)))? as u32;
        let mut points: Vec<(u64, Option<u32>)> = Vec::new();
        if let Some(v) = t.get("points") {
            let example = "[{ clock = \"2GHz\", power = \"4W\" }]";
            for item in v.list(example)? {
                let point = item.table("an operating point", POINT)?;
                let clock = point.require("clock", "\"2GHz\"")?;
                let hz = clock.quantity(units::CLOCK)?;
                if !(1_000..=1_000_000_000_000).contains(&hz) {
                    return Err(clock
                        .error("this clock is not between 1kHz and 1000GHz")
                        .help("write it like `2.8GHz`"));
                }
                if points.last().is_some_and(|(before, _)| *before >= hz) {
                    return Err(clock
                        .error("this clock is not above the one before it")
                        .help("list the operating points from the slowest to the fastest"));
                }
                points.push((hz, point.get("power").map(|p| milliwatt(&p)).transpose()?));
            }
            if points.is_empty() {
                return Err(v
                    .error("`points` is empty")
                    .help(format!("give at least one: `points = {example}`")));
            }
        } else {
            points.push((power::DEFAULT_HZ, None));
        }
        let (top_hz, top) = *points.last().expect("there is at least one point");
        let top_mw = top.unwrap_or_else(|| power::default_top_mw(top_hz, capacity, 1));
        let idle_mw = t.get("idle").map_or(Ok(power::idle_mw(top_mw)), |v| milliwatt(&v))?;
        self.facts.kinds.push(CpuKind {
            name: text.to_string(),
            points: points
                .into_iter()
                .map(|(hz, mw)| OperatingPoint {
                    hz,
                    busy_mw: mw.unwrap_or_else(|| power::busy_mw(hz, top_hz, top_mw)),
                })
                .collect(),
            idle_mw,
        });
        self.capacities.push(capacity);
        Ok(())
    }

    fn group(&mut self, t: &Table<'_, '_>) -> Result<()> {
        let count = t.require("count", "8")?.int((1, MAX_CPUS.into()))?;
        let room = u64::from(MAX_CPUS) - self.facts.cpus.len() as u64;
        if count > room {
            return Err(t
                .require("count", "8")?
                .error(format!("with these {count} the machine has more than {MAX_CPUS} CPUs"))
                .help(format!("there is room for {room} more")));
        }
        let kind = match t.get("kind") {
            None => 0,
            Some(v) => {
                let name = v.str("\"P-core\"")?;
                let names: Vec<&str> = self.facts.kinds.iter().map(|k| k.name.as_str()).collect();
                names.iter().position(|n| *n == name).ok_or_else(|| {
                    v.error(format!("there is no kind `{name}`")).help(did_you_mean(name, &names))
                })?
            }
        };
        let smt = match t.get("smt") {
            None => 1,
            Some(v) => match v.int((1, 64))? {
                n if count.is_multiple_of(n) => n,
                n => {
                    let help = format!("make `count` a multiple of {n}");
                    return Err(v
                        .error(format!("{count} CPUs do not make whole cores of {n} threads"))
                        .help(help));
                }
            },
        };
        let isa = match t.get("isa") {
            None => 0,
            Some(v) => self.isa(v.str("\"accel\"")?),
        };
        let n = &mut self.next;
        let os = labels(t, "first", None, count, &mut n.os, 1, |i| i)?;
        let core = labels(t, "core", None, count, &mut n.core, smt, |i| i)?;
        let package = labels(t, "package", Some("cpus_per_package"), count, &mut n.package, 0, |_| 0)?;
        let node = labels(t, "node", Some("cpus_per_node"), count, &mut n.node, 0, |_| 0)?;
        let domain = labels(t, "domain", Some("cpus_per_domain"), count, &mut n.domain, 0, |_| 0)?;
        let own = |i: usize| DEFAULT_LABEL + core[i];
        let l2 = labels(t, "l2", Some("cpus_per_l2"), count, &mut n.l2, 0, |i| own(i as usize))?;
        let cluster = match t.get("cluster").is_some() || t.get("cpus_per_cluster").is_some() {
            true => Some(labels(t, "cluster", Some("cpus_per_cluster"), count, &mut n.cluster, 0, |_| 0)?),
            false => None,
        };
        let around = |i: usize| DEFAULT_LABEL + package[i];
        let llc = labels(t, "llc", Some("cpus_per_llc"), count, &mut n.llc, 0, |i| around(i as usize))?;
        let online = t.get("online").map_or(Ok(true), |v| v.bool())?;
        if let Some(v) = t.get("llc_size") {
            let bytes = v.quantity(units::SIZE)?;
            for l in &llc {
                if *self.facts.llc_bytes.entry(*l).or_insert(bytes) != bytes {
                    return Err(v
                        .error("this last-level cache has another size in an earlier `[[cpus]]`")
                        .help(
                            "give the same size wherever the cache appears, or separate caches with `llc`",
                        ));
                }
            }
        }
        let numbers: Vec<u32> = os.iter().map(|o| *o as u32).collect();
        for (i, os_index) in numbers.iter().enumerate() {
            if *os_index >= MAX_NUMBER {
                return Err(self
                    .source
                    .error(
                        t.get("first").map_or(t.span(), |v| v.span()),
                        format!("CPU number {os_index} is not below {MAX_NUMBER}"),
                    )
                    .help("begin lower with `first`"));
            }
            let taken = self.facts.cpus.iter().any(|c| c.os_index == *os_index);
            if taken || numbers[..i].contains(os_index) {
                return Err(self
                    .source
                    .error(
                        t.get("first").map_or(t.span(), |v| v.span()),
                        format!("CPU {os_index} is described twice"),
                    )
                    .help("give each CPU a number of its own with `first`"));
            }
        }
        for i in 0..count as usize {
            self.facts.cpus.push(CpuFacts {
                os_index: numbers[i],
                core: core[i],
                l2: l2[i],
                cluster: cluster.as_ref().map(|c| c[i]),
                llc: llc[i],
                node: node[i],
                package: package[i],
                domain: domain[i],
                isa,
                capacity: self.capacities[kind],
                kind: kind as u16,
                host: None,
                online,
            });
        }
        self.groups.push((numbers, t.span()));
        Ok(())
    }

    fn isa(&mut self, name: &str) -> u16 {
        if name == "native" {
            return 0;
        }
        let isas = &mut self.facts.isas;
        let known = isas.iter().position(|n| n == name);
        known.unwrap_or_else(|| {
            isas.push(name.to_string());
            isas.len() - 1
        }) as u16
    }

    /// Hosts may be described after the CPUs that they serve, hence in a second round.
    fn host(&mut self, t: &Table<'_, '_>, group: usize) -> Result<()> {
        let Some(v) = t.get("host") else { return Ok(()) };
        let host = self.existing(&v, v.int((0, MAX_LABEL))?)?;
        let (numbers, _) = &self.groups[group];
        for cpu in self.facts.cpus.iter_mut().filter(|c| numbers.contains(&c.os_index)) {
            cpu.host = Some(host);
        }
        Ok(())
    }

    /// A number that must be a CPU's.
    fn existing(&self, v: &Value<'_, '_>, cpu: u64) -> Result<u32> {
        match self.facts.cpus.iter().find(|c| u64::from(c.os_index) == cpu) {
            Some(c) => Ok(c.os_index),
            None => {
                let last = self.facts.cpus.iter().map(|c| c.os_index).max().unwrap_or(0);
                Err(v
                    .error(format!("`{}` names CPU {cpu}, which the machine does not have", v.key))
                    .help(format!("the highest CPU number here is {last}")))
            }
        }
    }

    /// A number, a list of numbers, or a text like `"0-3,8"`.
    fn cpus(&self, v: &Value<'_, '_>) -> Result<Vec<u32>> {
        let numbers = if v.is_list() {
            v.list("[0, 1]")?.iter().map(|i| i.int((0, MAX_LABEL))).collect::<Result<Vec<u64>>>()?
        } else if v.is_str() {
            let text = v.str("\"0-3\"")?;
            let list = parse_list(text, MAX_NUMBER - 1).map_err(|e| {
                v.error(format!("`{}` is not a list of CPUs: {e}", v.key)).help("write it like `\"0-3,8\"`")
            })?;
            list.into_iter().map(u64::from).collect()
        } else {
            vec![v.int((0, MAX_LABEL))?]
        };
        if numbers.is_empty() {
            return Err(v
                .error(format!("`{}` names no CPU", v.key))
                .help("name at least one, like `3` or `\"0-3\"`"));
        }
        numbers.into_iter().map(|n| self.existing(v, n)).collect()
    }

    fn event(&self, t: &Table<'_, '_>) -> Result<Vec<(u64, MachineEvent)>> {
        let at = t.require("at", "\"1s\"")?.quantity(units::TIME)?;
        let kinds = ["online", "offline", "clock", "battery"];
        let present: Vec<Value<'_, '_>> = kinds.iter().filter_map(|k| t.get(k)).collect();
        let [what] = present.as_slice() else {
            let message =
                if present.is_empty() { "this event does nothing" } else { "this event does several things" };
            return Err(self.source.error(t.span(), message).help(
                "give one of `offline = 3`, `online = 3`, `battery = true`, or `clock = \"1GHz\"` with `cpus = \"0-3\"`",
            ));
        };
        if what.key == "clock" {
            let hz = what.quantity(units::CLOCK)?;
            let cpus = self.cpus(&t.require("cpus", "\"0-3\"")?)?;
            return Ok(cpus.into_iter().map(|c| (at, MachineEvent::Frequency(c, hz))).collect());
        }
        if let Some(v) = t.get("cpus") {
            return Err(v.error(format!("`cpus` does not belong to an event with `{}`", what.key)).help(
                if what.key == "battery" {
                    "leave it out: the supply is the whole machine's".to_string()
                } else {
                    format!("name the CPUs in `{}` itself", what.key)
                },
            ));
        }
        if what.key == "battery" {
            return Ok(vec![(at, MachineEvent::Battery(what.bool()?))]);
        }
        let event = if what.key == "online" { MachineEvent::Online } else { MachineEvent::Offline };
        Ok(self.cpus(what)?.into_iter().map(|c| (at, event(c))).collect())
    }

    fn distances(&mut self, v: &Value<'_, '_>) -> Result<()> {
        let nodes: Vec<u64> = self
            .facts
            .cpus
            .iter()
            .map(|c| c.node)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let rows = v.list("[[10, 20], [20, 10]]")?;
        let shape = format!("give {0} rows of {0} numbers, in order of node numbers", nodes.len());
        if rows.len() != nodes.len() {
            return Err(v
                .error(format!("{} rows of distances for {} NUMA nodes", rows.len(), nodes.len()))
                .help(shape));
        }
        let mut all = BTreeMap::new();
        for (row, a) in rows.iter().zip(&nodes) {
            let cells = row.list("[[10, 20], [20, 10]]")?;
            if cells.len() != nodes.len() {
                let message = format!("{} distances in this row for {} NUMA nodes", cells.len(), nodes.len());
                return Err(row.error(message).help(shape));
            }
            for (cell, b) in cells.iter().zip(&nodes) {
                let d = cell.int((1, 10_000_000))? as u32;
                if a == b && d != super::LOCAL_DISTANCE {
                    return Err(cell
                        .error(format!("the distance of node {a} to itself is {d}"))
                        .help("the diagonal is 10; other distances are in proportion to it"));
                }
                all.insert((*a, *b), d);
            }
        }
        self.facts.distances = all;
        Ok(())
    }
}

fn milliwatt(v: &Value<'_, '_>) -> Result<u32> {
    let mw = v.quantity(units::POWER)?;
    u32::try_from(mw).ok().filter(|mw| *mw <= 1_000_000_000).ok_or_else(|| {
        v.error(format!("`{}` is more than a megawatt", v.key)).help("power is that of one CPU, like `4W`")
    })
}

/// The labels of one field of a group: the number of the first CPU, rising by one after every `per`
/// CPUs (0: never), or a list with one number for each CPU. Where neither the field nor its `cpus_per_`
/// key is given, `next` continues (if `per` is set) or the default decides.
fn labels(
    t: &Table<'_, '_>,
    key: &'static str,
    per_key: Option<&'static str>,
    count: u64,
    next: &mut u64,
    per: u64,
    default: impl Fn(u64) -> u64,
) -> Result<Vec<u64>> {
    let per_value = per_key.and_then(|k| t.get(k));
    let per = match &per_value {
        Some(v) => v.int((1, MAX_CPUS.into()))?,
        None => per,
    };
    let all: Vec<u64> = match t.get(key) {
        Some(v) if v.is_list() => {
            let items = v.list("[0, 1]")?;
            if items.len() as u64 != count {
                return Err(v
                    .error(format!("`{key}` lists {} numbers for {count} CPUs", items.len()))
                    .help("list one for each CPU, or give only the first"));
            }
            if let Some(p) = &per_value {
                return Err(p
                    .error(format!("`{}` has no meaning beside a list", p.key))
                    .help("drop one of the two"));
            }
            items.iter().map(|i| i.int((0, MAX_LABEL))).collect::<Result<_>>()?
        }
        given => {
            let first = match &given {
                Some(v) => Some(v.int((0, MAX_LABEL))?),
                None if per > 0 => Some(*next),
                None => None,
            };
            match first {
                Some(f) => (0..count).map(|i| f + i.checked_div(per).unwrap_or(0)).collect(),
                None => (0..count).map(default).collect(),
            }
        }
    };
    let highest = all.iter().filter(|l| **l < DEFAULT_LABEL).max().map_or(0, |l| l + 1);
    *next = (*next).max(highest);
    Ok(all)
}
