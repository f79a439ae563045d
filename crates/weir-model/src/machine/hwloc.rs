// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Reader of hwloc's XML (`lstopo --of xml`), versions 1, 2 and 3.
//!
//! Of the tree we use Package, Core, PU, the caches, NUMANode and groups of subtype Cluster; other groups and dies that divide the
//! CPUs in a way of their own are named in a warning; devices are passed over. From version 2 on, NUMA nodes are memory children beside the CPUs they serve; in
//! version 1 they contain them. CPUs outside the allowed set of the topology are absent from the
//! machine. See `docs/machines.md` for what is made of missing data, and
//! `docs/decisions/0003-own-hwloc-reader.md` for why this does not call libhwloc.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use roxmltree::{Document, Node, NodeId, ParsingOptions};
use weir_core::MAX_CPUS;

use super::assemble::{CpuFacts, Facts, MAX_NUMBER, scale_capacities};
use super::bitmap::Bitmap;
use super::check::{self, Fault, Place};
use super::{Machine, power};
use crate::error::{Error, Result};

mod extras;

/// Most XML nodes of a file: about 100 for each of 4,096 CPUs.
const MAX_NODES: u32 = 2_000_000;
/// Maximum number of PUs read, allowed or not, and of NUMA nodes.
const MAX_PUS: usize = 65_536;
const MAX_NUMAS: usize = 4_096;
/// Deepest nesting that is followed; real files stay below 30.
const MAX_DEPTH: usize = 200;

/// A text with its parsed tree, for diagnostics.
struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn error(&self, span: Range<usize>, message: impl Into<String>) -> Error {
        Error::machine(message).at(self.name, self.text, span)
    }

    /// Points at the opening tag of an element.
    fn at(&self, node: Node<'_, '_>, message: impl Into<String>) -> Error {
        let range = node.range();
        let end = self.text[range.clone()].find('>').map_or(range.end, |i| range.start + i + 1);
        self.error(range.start..end, message)
    }

    /// An attribute as a number.
    fn number<T: std::str::FromStr>(&self, node: Node<'_, '_>, attribute: &str) -> Result<Option<T>> {
        let Some(a) = node.attribute_node(attribute) else { return Ok(None) };
        a.value().trim().parse().map(Some).map_err(|_| {
            self.error(a.range_value(), format!("`{attribute}=\"{}\"` is not a number in range", a.value()))
                .help("the file is damaged here; export it again with `lstopo --of xml`")
        })
    }

    /// An attribute as a set.
    fn bitmap(&self, node: Node<'_, '_>, attribute: &str) -> Result<Option<Bitmap>> {
        let Some(a) = node.attribute_node(attribute) else { return Ok(None) };
        Bitmap::parse(a.value()).map(Some).map_err(|e| {
            self.error(a.range_value(), format!("`{attribute}`: {e}"))
                .help("sets are 32-bit hexadecimal words, highest first, as in `0x0000ffff,,0x000000ff`")
        })
    }
}

/// Read a machine from XML text.
pub(super) fn read(source: &str, text: &str, name: &str) -> Result<Machine> {
    let file = File { name: source, text };
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let doc = Document::parse_with_options(text, options).map_err(|e| broken_xml(&file, &e))?;
    let root = doc.root_element();
    if root.tag_name().name() != "topology" && root.tag_name().name() != "root" {
        return Err(file
            .at(root, format!("`<{}>` is not an hwloc topology", root.tag_name().name()))
            .help("export the machine with `lstopo --of xml FILE.xml`"));
    }
    if let Some(version) = root.attribute_node("version") {
        let major = version.value().split('.').next().and_then(|v| v.parse::<u32>().ok());
        if !matches!(major, Some(1..=3)) {
            return Err(file
                .error(version.range_value(), format!("hwloc XML version `{}` is not known here", version.value()))
                .help("versions 1, 2 and 3 are; export with `lstopo --of xml` of a release that writes one of them"));
        }
    }
    let mut tree = Tree::collect(&file, root)?;
    let facts = tree.facts(&file, root, name)?;
    let machine = facts.assemble();
    match check::check(&machine) {
        Ok(()) => Ok(machine),
        Err(Fault { message, help, place }) => {
            let node = match place {
                Place::Cpu(cpu) => tree.pus[cpu as usize].node,
                _ => root,
            };
            Err(file.at(node, message).help(help))
        }
    }
}

fn broken_xml(file: &File<'_>, e: &roxmltree::Error) -> Error {
    let pos = e.pos();
    let line_start = file
        .text
        .split_inclusive('\n')
        .take(pos.row.saturating_sub(1) as usize)
        .map(str::len)
        .sum::<usize>()
        .min(file.text.len());
    let column: usize =
        file.text[line_start..].chars().take(pos.col.saturating_sub(1) as usize).map(char::len_utf8).sum();
    let at = match e {
        roxmltree::Error::UnclosedRootNode => file.text.trim_end().len(),
        _ => line_start + column,
    };
    let message = e.to_string();
    let message = message.split(" at ").next().unwrap_or(&message);
    let help = match e {
        roxmltree::Error::UnclosedRootNode => {
            "the file is cut off; export it again with `lstopo --of xml`".to_string()
        }
        roxmltree::Error::EntityReferenceLoop(_) => {
            "hwloc needs no entities; remove the <!ENTITY> declarations, or export the machine again"
                .to_string()
        }
        roxmltree::Error::NodesLimitReached => {
            format!(
                "a machine file has at most {MAX_NODES} XML nodes; export it with `lstopo --no-io --of xml`"
            )
        }
        _ => "the file is damaged; export it again with `lstopo --of xml`".to_string(),
    };
    file.error(at..at + 1, format!("this is not well-formed XML: {message}")).help(help)
}

/// A cache above a PU.
#[derive(Clone, Copy)]
struct Cache {
    id: NodeId,
    level: u8,
    bytes: u64,
}

/// A PU with the objects around it.
struct Pu<'a, 'i> {
    node: Node<'a, 'i>,
    os_index: u32,
    package: Option<NodeId>,
    core: Option<NodeId>,
    cluster: Option<NodeId>,
    /// From the root inwards.
    caches: Vec<Cache>,
    ancestors: Vec<NodeId>,
}

/// A NUMA node with the CPUs that it serves.
struct Numa<'a, 'i> {
    node: Node<'a, 'i>,
    os_index: u32,
    gp_index: Option<u64>,
    cpuset: Option<Bitmap>,
    /// The object that it is attached to.
    attached: NodeId,
}

struct Tree<'a, 'i> {
    pus: Vec<Pu<'a, 'i>>,
    numas: Vec<Numa<'a, 'i>>,
    /// Lowest CPU below each object that has one.
    first: HashMap<NodeId, u32>,
}

/// Level of a data or unified cache; `None` for other objects.
fn cache_level(node: Node<'_, '_>) -> Option<u8> {
    match node.attribute("type")? {
        "L1Cache" => Some(1),
        "L2Cache" => Some(2),
        "L3Cache" => Some(3),
        "L4Cache" => Some(4),
        "L5Cache" => Some(5),
        // Version 1: one type, the level in `depth`; type 2 is an instruction cache.
        "Cache" if node.attribute("cache_type") != Some("2") => {
            node.attribute("depth").and_then(|d| d.parse().ok()).filter(|d| (1..=9).contains(d))
        }
        _ => None,
    }
}

impl<'a, 'i> Tree<'a, 'i> {
    /// Walk the objects, without recursion: the nesting is the file's choice.
    fn collect(file: &File<'_>, root: Node<'a, 'i>) -> Result<Self> {
        let mut tree = Self { pus: Vec::new(), numas: Vec::new(), first: HashMap::new() };
        // A node with the path of objects above it.
        let mut path: Vec<Node<'a, 'i>> = Vec::new();
        let mut stack: Vec<(Node<'a, 'i>, usize)> =
            root.children().filter(|c| c.has_tag_name("object")).map(|c| (c, 0)).collect();
        stack.reverse();
        while let Some((node, depth)) = stack.pop() {
            path.truncate(depth);
            if depth > MAX_DEPTH {
                return Err(file
                    .at(node, format!("objects are nested deeper than {MAX_DEPTH} levels"))
                    .help("no real machine is; export it again with `lstopo --of xml`"));
            }
            match node.attribute("type") {
                None => {
                    return Err(file
                        .at(node, "this object has no `type`")
                        .help("add one, such as `type=\"Core\"`, or export the machine again"));
                }
                Some("PU") => tree.pu(file, node, &path)?,
                Some("NUMANode" | "Node") => tree.numa(file, node, &path)?,
                _ => {}
            }
            path.push(node);
            let before = stack.len();
            stack.extend(node.children().filter(|c| c.has_tag_name("object")).map(|c| (c, depth + 1)));
            stack[before..].reverse();
        }
        if tree.pus.is_empty() {
            return Err(file
                .at(root, "the topology has no CPU (object of type PU)")
                .help("export the whole machine: `lstopo --of xml FILE.xml`, without `--only` or filters"));
        }
        Ok(tree)
    }

    fn os_index(file: &File<'_>, node: Node<'_, '_>, what: &str) -> Result<u32> {
        file.number(node, "os_index")?.ok_or_else(|| {
            file.at(node, format!("this {what} has no `os_index`"))
                .help("add the number that the operating system gives it, or export the machine again")
        })
    }

    fn pu(&mut self, file: &File<'_>, node: Node<'a, 'i>, path: &[Node<'a, 'i>]) -> Result<()> {
        let os_index = Self::os_index(file, node, "PU")?;
        if os_index >= MAX_NUMBER {
            return Err(file
                .at(node, format!("CPU number {os_index} is not below {MAX_NUMBER}"))
                .help("the file is damaged; export it again with `lstopo --of xml`"));
        }
        if self.pus.len() == MAX_PUS {
            return Err(file
                .at(node, format!("the topology has more than {MAX_PUS} CPUs"))
                .help(format!("Runweir simulates machines of up to {MAX_CPUS} CPUs; export a part")));
        }
        let mut pu = Pu {
            node,
            os_index,
            package: None,
            core: None,
            cluster: None,
            caches: Vec::new(),
            ancestors: path.iter().map(Node::id).collect(),
        };
        for above in path {
            match above.attribute("type") {
                Some("Package" | "Socket") => pu.package = Some(above.id()),
                Some("Core") => pu.core = Some(above.id()),
                Some("Group") if above.attribute("subtype") == Some("Cluster") => {
                    pu.cluster = Some(above.id());
                }
                _ => {
                    if let Some(level) = cache_level(*above) {
                        let bytes = file.number(*above, "cache_size")?.unwrap_or(0);
                        pu.caches.push(Cache { id: above.id(), level, bytes });
                    }
                }
            }
        }
        self.pus.push(pu);
        Ok(())
    }

    fn numa(&mut self, file: &File<'_>, node: Node<'a, 'i>, path: &[Node<'a, 'i>]) -> Result<()> {
        if self.numas.len() == MAX_NUMAS {
            return Err(file
                .at(node, format!("the topology has more than {MAX_NUMAS} NUMA nodes"))
                .help("the file is damaged; export it again with `lstopo --of xml`"));
        }
        // Memory-side caches stand between a NUMA node and the object that it is attached to.
        let attached = path.iter().rev().find(|n| n.attribute("type") != Some("MemCache"));
        self.numas.push(Numa {
            node,
            os_index: Self::os_index(file, node, "NUMANode")?,
            gp_index: file.number(node, "gp_index")?,
            cpuset: file.bitmap(node, "cpuset")?,
            attached: attached.map_or(node.id(), Node::id),
        });
        Ok(())
    }

    /// The tree's data about each CPU.
    fn facts(&mut self, file: &File<'_>, root: Node<'a, 'i>, name: &str) -> Result<Facts> {
        let mut facts = Facts::new(name);
        self.drop_disallowed(file, root, &mut facts)?;
        self.pus.sort_by_key(|p| p.os_index);
        for pair in self.pus.windows(2) {
            if pair[0].os_index == pair[1].os_index {
                return Err(file
                    .at(pair[1].node, format!("CPU {} appears twice", pair[1].os_index))
                    .help("each PU needs an `os_index` of its own"));
            }
        }
        if self.pus.len() > MAX_CPUS as usize {
            return Err(file
                .at(root, format!("the machine has {} CPUs, more than {MAX_CPUS}", self.pus.len()))
                .help("export a part of it: `lstopo --restrict 0x… --of xml FILE.xml`"));
        }
        for pu in &self.pus {
            for above in &pu.ancestors {
                self.first.entry(*above).or_insert(pu.os_index);
            }
        }
        let nodes = self.node_labels(file, &mut facts)?;
        self.name_unused(root, &nodes, &mut facts);
        let kinds = extras::cpu_kinds(file, root, &self.pus.iter().map(|p| p.os_index).collect::<Vec<_>>())?;
        let capacities = scale_capacities(&kinds.raw_capacity);
        let threads = self.threads_per_core();
        for (i, pu) in self.pus.iter().enumerate() {
            let own = pu.os_index;
            // Objects are labelled by the lowest CPU they have, which keeps the order of CPUs.
            let label = |id: Option<NodeId>, none: u64| id.map_or(none, |id| self.first_cpu(id));
            let package = label(pu.package, 0);
            let last = pu.caches.iter().max_by_key(|c| c.level);
            let core = label(pu.core, own.into());
            // A cache inside the last level that several cores may share; else the core itself.
            let mid = pu.caches.iter().find(|c| c.level == 2).or(last.filter(|c| c.level == 1));
            let llc = last.map_or(package, |c| self.first_cpu(c.id).min(core));
            if let Some(c) = last {
                facts.llc_level = facts.llc_level.max(c.level);
                facts.llc_bytes.insert(llc, c.bytes);
            }
            facts.cpus.push(CpuFacts {
                os_index: own,
                core,
                l2: mid.map_or(core, |c| self.first_cpu(c.id).min(core)),
                cluster: pu.cluster.map(|id| self.first_cpu(id).min(core)),
                llc,
                node: nodes[i],
                package,
                domain: 0,
                isa: 0,
                capacity: capacities[i],
                kind: kinds.kind_of[i],
                host: None,
                online: true,
            });
        }
        for (k, kind) in kinds.kinds.iter().enumerate() {
            let member = kinds.kind_of.iter().position(|&x| usize::from(x) == k).expect("a kind has a CPU");
            let smt = self.pus[member].core.map_or(1, |c| threads[&c]);
            let top = kind.clocks.last().copied().unwrap_or(power::DEFAULT_HZ);
            let mw = power::default_top_mw(top, capacities[member], smt);
            facts.kinds.push(power::kind(&kind.name, &kind.clocks, mw));
        }
        extras::distances(
            file,
            root,
            &self.numas.iter().map(|n| (n.os_index, n.gp_index)).collect::<Vec<_>>(),
            &mut facts,
        )?;
        Ok(facts)
    }

    /// Dies and groups that divide the CPUs in a way that nothing here does: named once, by their kinds.
    fn name_unused(&self, root: Node<'a, 'i>, nodes: &[u64], facts: &mut Facts) {
        let kind = |node: Node<'_, '_>| match (node.attribute("type")?, node.attribute("subtype")) {
            ("Group", Some("Cluster")) => None,
            ("Group", Some(subtype)) => Some(format!("Group of subtype {subtype}")),
            (kind @ ("Group" | "Die"), _) => Some(kind.to_string()),
            _ => None,
        };
        let mut cpus: HashMap<NodeId, Vec<u32>> = HashMap::new();
        for pu in &self.pus {
            for above in &pu.ancestors {
                cpus.entry(*above).or_default().push(pu.os_index);
            }
        }
        // Sets of CPUs that the machine has by another name.
        let mut known: BTreeSet<Vec<u32>> = BTreeSet::new();
        let mut of_nodes: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for (pu, node) in self.pus.iter().zip(nodes) {
            of_nodes.entry(*node).or_default().push(pu.os_index);
            let above = [pu.package, pu.core, pu.cluster].into_iter().flatten();
            known.extend(above.chain(pu.caches.iter().map(|c| c.id)).map(|id| cpus[&id].clone()));
        }
        known.extend(of_nodes.into_values());
        known.insert(self.pus.iter().map(|p| p.os_index).collect());
        let mut unused: BTreeMap<String, u32> = BTreeMap::new();
        for node in root.descendants().filter(|n| n.has_tag_name("object")) {
            if let (Some(kind), Some(set)) = (kind(node), cpus.get(&node.id()))
                && !known.contains(set)
            {
                *unused.entry(kind).or_insert(0) += 1;
            }
        }
        let all: Vec<String> = unused.into_iter().map(|(kind, n)| format!("{kind} ({n})")).collect();
        if !all.is_empty() {
            facts.warnings.push(format!(
                "objects that divide the CPUs and are not used here: {}; topologies group CPUs by core, cluster, llc, node and package",
                all.join(", ")
            ));
        }
    }

    /// CPUs outside the topology's allowed (version 1: also online) set are absent.
    fn drop_disallowed(&mut self, file: &File<'_>, root: Node<'a, 'i>, facts: &mut Facts) -> Result<()> {
        let Some(machine) = root.children().find(|c| c.has_tag_name("object")) else { return Ok(()) };
        let mut dropped = 0;
        for attribute in ["allowed_cpuset", "online_cpuset"] {
            let Some(allowed) = file.bitmap(machine, attribute)? else { continue };
            let before = self.pus.len();
            self.pus.retain(|p| allowed.contains(p.os_index));
            dropped += before - self.pus.len();
            if self.pus.is_empty() {
                return Err(file
                    .at(machine, format!("`{attribute}` allows none of the CPUs"))
                    .help("export the machine from outside the container or CPU set"));
            }
        }
        let known = self.pus.len() + dropped;
        let complete = file.bitmap(machine, "complete_cpuset")?.map_or(0, |c| c.count() as usize);
        let absent = dropped + complete.saturating_sub(known);
        if absent > 0 {
            facts.warnings.push(format!("CPUs left out because they are offline or not allowed: {absent}"));
        }
        Ok(())
    }

    /// NUMA node of each PU: the number of the node that serves it, the smallest if several do.
    fn node_labels(&self, file: &File<'_>, facts: &mut Facts) -> Result<Vec<u64>> {
        let mut seen = BTreeSet::new();
        for numa in &self.numas {
            if !seen.insert(numa.os_index) {
                return Err(file
                    .at(numa.node, format!("NUMA node {} appears twice", numa.os_index))
                    .help("each NUMANode needs an `os_index` of its own"));
            }
        }
        let mut with_set: Vec<(u32, &Bitmap, u32)> = Vec::new();
        // Nodes that say nothing of their CPUs: version 1 nodes contain them, later ones stand beside.
        let mut around: HashMap<NodeId, u32> = HashMap::new();
        for numa in &self.numas {
            if let Some(set) = &numa.cpuset {
                with_set.push((set.count(), set, numa.os_index));
                continue;
            }
            let own = numa.node.id();
            let object = if self.first.contains_key(&own) { own } else { numa.attached };
            around.entry(object).and_modify(|n| *n = numa.os_index.min(*n)).or_insert(numa.os_index);
        }
        with_set.sort_by_key(|(size, _, number)| (*size, *number));
        let home = |pu: &Pu<'_, '_>| {
            let by_set = with_set.iter().find(|(_, set, _)| set.contains(pu.os_index)).map(|(_, _, n)| *n);
            by_set.or_else(|| pu.ancestors.iter().rev().find_map(|a| around.get(a).copied()))
        };
        let mut used = BTreeSet::new();
        let mut labels = Vec::with_capacity(self.pus.len());
        let mut lost = 0u32;
        for pu in &self.pus {
            let label = match home(pu) {
                Some(n) => {
                    used.insert(n);
                    u64::from(n)
                }
                None => {
                    lost += u32::from(!self.numas.is_empty());
                    // A CPU of a node without memory: its node is named in the complete set only.
                    match file.bitmap(pu.node, "complete_nodeset")?.and_then(|s| s.first()) {
                        Some(n) => u64::from(n),
                        None if self.numas.is_empty() => 0,
                        None => u64::from(u32::MAX),
                    }
                }
            };
            labels.push(label);
        }
        if lost > 0 {
            facts.warnings.push(format!("CPUs whose NUMA node has no usable memory: {lost}"));
        }
        let idle = self.numas.iter().filter(|n| !used.contains(&n.os_index)).count();
        if idle > 0 {
            facts.warnings.push(format!("NUMA nodes left out because they have no CPU of their own: {idle}"));
        }
        Ok(labels)
    }

    fn threads_per_core(&self) -> HashMap<NodeId, u32> {
        let mut threads = HashMap::new();
        for core in self.pus.iter().filter_map(|p| p.core) {
            *threads.entry(core).or_insert(0) += 1;
        }
        threads
    }

    /// Lowest CPU below an object, its label.
    fn first_cpu(&self, id: NodeId) -> u64 {
        self.first.get(&id).copied().unwrap_or(0).into()
    }
}
