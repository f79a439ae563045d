// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Writer of hwloc XML, version 2.0, which every hwloc since 2018 reads.
//!
//! hwloc knows shapes, kinds and distances of one native, coherent machine. Instruction sets, hosts,
//! coherence domains, power and events have no place in it; `to_toml` keeps them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Machine;
use super::bitmap::Bitmap;

/// An object of the tree, by the CPUs it has.
struct Object {
    kind: &'static str,
    /// Number of its kind, for os_index where hwloc wants one.
    number: u32,
    cpus: Vec<u32>,
    /// Attributes of its own.
    extra: String,
}

impl Machine {
    /// The machine as hwloc XML (`lstopo -i FILE.xml` shows it). CPUs that are offline at the start
    /// are left out, as hwloc does. What hwloc cannot say is lost; see `docs/machines.md`.
    pub fn to_hwloc_xml(&self) -> String {
        let mut out = String::new();
        self.write_xml(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write_xml(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(out, "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">")?;
        let objects = self.objects();
        let mut gp = 0u64;
        // Objects come depth first, each after what contains it.
        let mut open: Vec<&Object> = Vec::new();
        for object in &objects {
            while let Some(top) = open.last() {
                if contains(&top.cpus, &object.cpus) {
                    break;
                }
                open.pop();
                writeln!(out, "{}</object>", indent(open.len()))?;
            }
            gp += 1;
            self.open_object(out, object, open.len(), gp)?;
            if object.kind == "PU" || object.kind == "NUMANode" {
                writeln!(out, "/>")?;
            } else {
                writeln!(out, ">")?;
                open.push(object);
            }
        }
        while open.pop().is_some() {
            writeln!(out, "{}</object>", indent(open.len()))?;
        }
        self.write_distances(out)?;
        self.write_kinds(out)?;
        writeln!(out, "</topology>")
    }

    fn open_object(&self, out: &mut String, object: &Object, depth: usize, gp: u64) -> std::fmt::Result {
        let cpuset: Bitmap = object.cpus.iter().map(|&c| self.shape.cpus[c as usize].os_index).collect();
        let nodeset: Bitmap = match object.kind {
            "NUMANode" => [object.number].into_iter().collect(),
            _ => object.cpus.iter().map(|&c| self.shape.cpus[c as usize].node).collect(),
        };
        write!(out, "{}<object type=\"{}\"", indent(depth), object.kind)?;
        if matches!(object.kind, "Machine" | "Package" | "Core" | "PU" | "NUMANode") {
            write!(out, " os_index=\"{}\"", object.number)?;
        }
        write!(out, " cpuset=\"{cpuset}\" complete_cpuset=\"{cpuset}\"")?;
        if object.kind == "Machine" {
            write!(out, " allowed_cpuset=\"{cpuset}\"")?;
        }
        write!(out, " nodeset=\"{nodeset}\" complete_nodeset=\"{nodeset}\"")?;
        if object.kind == "Machine" {
            write!(out, " allowed_nodeset=\"{nodeset}\"")?;
        }
        write!(out, "{} gp_index=\"{gp}\"", object.extra)
    }

    /// All objects in the order of the file. hwloc attaches a NUMA node to the object with the very same
    /// CPUs; where there is none, a group is made.
    fn objects(&self) -> Vec<Object> {
        let present: Vec<u32> = (0..self.nr_cpus()).filter(|&c| self.shape.cpus[c as usize].online).collect();
        let mut all =
            vec![Object { kind: "Machine", number: 0, cpus: present.clone(), extra: String::new() }];
        let by = |label: &dyn Fn(u32) -> u32| {
            let mut sets: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            present.iter().for_each(|&c| sets.entry(label(c)).or_default().push(c));
            sets
        };
        let cpu = |c: u32| &self.shape.cpus[c as usize];
        let mut add = |kind: &'static str, sets: BTreeMap<u32, Vec<u32>>, extra: &dyn Fn(u32) -> String| {
            all.extend(sets.into_iter().map(|(n, cpus)| Object { kind, number: n, cpus, extra: extra(n) }));
        };
        let cache = |level: u8, bytes: u64| {
            format!(
                " cache_size=\"{bytes}\" depth=\"{level}\" cache_linesize=\"64\" cache_associativity=\"0\" cache_type=\"0\""
            )
        };
        let nodes = by(&|c| cpu(c).node);
        add("Package", by(&|c| cpu(c).package), &|_| String::new());
        add("Group", nodes.clone(), &|_| " kind=\"0\" subkind=\"0\"".into());
        add("NUMANode", nodes, &|_| " local_memory=\"0\"".into());
        let llc_kind = match self.llc_level {
            1 => Some("L1Cache"),
            2 => Some("L2Cache"),
            3 => Some("L3Cache"),
            4 => Some("L4Cache"),
            5 => Some("L5Cache"),
            _ => None,
        };
        if let Some(kind) = llc_kind {
            let sizes = |l: u32| cache(self.llc_level, self.llc_bytes[l as usize]);
            add(kind, by(&|c| cpu(c).llc), &sizes);
        }
        if self.has_clusters() {
            add("Group", by(&|c| cpu(c).cluster), &|_| {
                " subtype=\"Cluster\" kind=\"104\" subkind=\"0\"".into()
            });
        }
        if self.llc_level > 2 {
            add("L2Cache", by(&|c| self.l2_of[c as usize]), &|_| cache(2, 0));
        }
        add("Core", by(&|c| cpu(c).core), &|_| String::new());
        let pus = present.iter().map(|&c| Object {
            kind: "PU",
            number: cpu(c).os_index,
            cpus: vec![c],
            extra: String::new(),
        });
        all.extend(pus);
        // A package or machine with the very CPUs of a node needs no group to hold it.
        let held =
            |o: &Object| all.iter().any(|p| matches!(p.kind, "Machine" | "Package") && p.cpus == o.cpus);
        let spare: Vec<usize> = (0..all.len()).filter(|&i| all[i].kind == "Group" && held(&all[i])).collect();
        spare.into_iter().rev().for_each(|i| {
            all.remove(i);
        });
        // For equal sets, the order of addition above is that of nesting.
        order_nested(all)
    }

    fn write_distances(&self, out: &mut String) -> std::fmt::Result {
        let n = self.distances.len();
        if n < 2 {
            return Ok(());
        }
        writeln!(
            out,
            "  <distances2 type=\"NUMANode\" nbobjs=\"{n}\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">"
        )?;
        let mut list =
            |tag: &str, text: String| writeln!(out, "    <{tag} length=\"{}\">{text}</{tag}>", text.len());
        list("indexes", (0..n).map(|i| format!("{i} ")).collect())?;
        for row in &self.distances {
            list("u64values", row.iter().map(|d| format!("{d} ")).collect())?;
        }
        writeln!(out, "  </distances2>")
    }

    fn write_kinds(&self, out: &mut String) -> std::fmt::Result {
        for (k, kind) in self.kinds.iter().enumerate() {
            let members = || (0..self.nr_cpus()).filter(|&c| usize::from(self.kind_of[c as usize]) == k);
            let Some(first) = members().next() else { continue };
            let set: Bitmap = members().map(|c| self.shape.cpus[c as usize].os_index).collect();
            let mhz = |hz: u64| (hz / 1_000_000).max(1);
            writeln!(out, "  <cpukind cpuset=\"{set}\">")?;
            let mut info =
                |name: &str, value: &str| writeln!(out, "    <info name=\"{name}\" value=\"{value}\"/>");
            info("CoreType", &escape(&kind.name))?;
            info("FrequencyMaxMHz", &mhz(kind.top().hz).to_string())?;
            if let [slow, .., _] = kind.points.as_slice() {
                info("FrequencyBaseMHz", &mhz(slow.hz).to_string())?;
            }
            info("LinuxCapacity", &self.shape.cpus[first as usize].capacity.to_string())?;
            writeln!(out, "  </cpukind>")?;
        }
        Ok(())
    }
}

/// Sorted member lists: `outer` has all of `inner`.
fn contains(outer: &[u32], inner: &[u32]) -> bool {
    inner.iter().all(|c| outer.binary_search(c).is_ok())
}

/// Depth-first order of a family of nested sets. Each object becomes a child of the smallest earlier
/// one that contains it; a set that crosses others is left out (hwloc does not have such).
fn order_nested(mut all: Vec<Object>) -> Vec<Object> {
    all.sort_by_key(|o| std::cmp::Reverse(o.cpus.len()));
    let mut children: Vec<Vec<usize>> = (0..all.len()).map(|_| Vec::new()).collect();
    // Innermost object so far around each CPU.
    let mut around: BTreeMap<u32, usize> = BTreeMap::new();
    for (i, object) in all.iter().enumerate() {
        let parent = around.get(&object.cpus[0]).copied();
        let crosses = object.cpus.iter().any(|c| around.get(c).copied() != parent);
        if crosses {
            continue;
        }
        if let Some(p) = parent {
            children[p].push(i);
        }
        if object.kind != "NUMANode" {
            object.cpus.iter().for_each(|c| {
                around.insert(*c, i);
            });
        }
    }
    children.iter_mut().for_each(|c| c.sort_by_key(|&i| (all[i].kind != "NUMANode", all[i].cpus[0])));
    let mut order = Vec::with_capacity(all.len());
    let mut stack = vec![0];
    while let Some(i) = stack.pop() {
        order.push(i);
        stack.extend(children[i].iter().rev());
    }
    let mut slots: Vec<Option<Object>> = all.into_iter().map(Some).collect();
    order.into_iter().filter_map(|i| slots[i].take()).collect()
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 1)
}

fn escape(text: &str) -> String {
    let safe: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    safe.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
