// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `calls.json`, the sums by path of what scheduler code spends its time in, and the call graph made of them.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use weir_text::count;

use crate::picture::Ink;
use crate::screen::{Cell, Columns, Screen, Tone};
use crate::text::{duration, percent};

/// The sums of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSums {
    /// Version of the program that wrote it.
    pub runweir: String,
    pub topology: String,
    pub machine: String,
    pub workload: String,
    pub seed: u64,
    pub paths: Vec<CallPath>,
}

/// A part that is called along a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPath {
    /// A call of the runtime, and what is called in turn. Names of the framework's parts have spaces, those of instances have none.
    pub path: Vec<String>,
    pub calls: u64,
    /// Without what the last of them calls.
    pub ns: u64,
}

/// What a call graph shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallFilter {
    /// Parts whose names begin so are left out; their time is their callers'.
    pub hide: Vec<String>,
    /// So are those that take a smaller share of the whole, 0 to 1.
    pub least: f64,
    /// Each instance by itself, not all of the same name in the topology together.
    pub instances: bool,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallKind {
    /// A call of the runtime.
    Call,
    Component,
    Framework,
}

/// A node of a call graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallPart {
    pub name: String,
    pub kind: CallKind,
    pub calls: u64,
    /// With all that it calls.
    pub total_ns: u64,
    pub mean_ns: f64,
    /// Without that.
    pub own_ns: u64,
}

/// An edge: the caller and the part by their places among the parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallEdge {
    pub from: usize,
    pub to: usize,
    pub calls: u64,
    /// That the caller spends there.
    pub ns: u64,
    pub mean_ns: f64,
}

/// A call graph. Parts come by kind, and those that take longest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallGraph {
    pub topology: String,
    pub machine: String,
    pub workload: String,
    /// Of all calls of the runtime, shown or not.
    pub scheduler_ns: u64,
    /// Parts that the filter left out.
    pub hidden: usize,
    pub parts: Vec<CallPart>,
    pub edges: Vec<CallEdge>,
}

/// A part's identity, in the order of the graph.
type Key = (CallKind, String);

/// Sums of a part or an edge.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    calls: u64,
    total_ns: u64,
    own_ns: u64,
}

fn mean(ns: u64, calls: u64) -> f64 {
    ns as f64 / calls.max(1) as f64
}

/// The identity of the part at a place of a path.
fn key(path: &[String], at: usize, filter: &CallFilter) -> Key {
    let name = path[at].as_str();
    match at {
        0 => (CallKind::Call, name.into()),
        _ if name.contains(' ') => (CallKind::Framework, name.into()),
        _ if filter.instances => (CallKind::Component, name.into()),
        _ => (CallKind::Component, name.split('@').next().unwrap_or(name).into()),
    }
}

/// Sums of parts and edges, where some parts are left out. What is left out at the begin of a path takes all of it along.
fn sums(
    paths: &[CallPath],
    filter: &CallFilter,
    shown: impl Fn(&Key) -> bool,
) -> (BTreeMap<Key, Sum>, BTreeMap<(Key, Key), Sum>) {
    let (mut parts, mut edges) = (BTreeMap::<Key, Sum>::new(), BTreeMap::<(Key, Key), Sum>::new());
    for p in paths {
        let keys: Vec<Key> = (0..p.path.len()).map(|at| key(&p.path, at, filter)).collect();
        if !keys.first().is_some_and(&shown) {
            continue;
        }
        let ends_here = keys.last().is_some_and(&shown);
        let way: Vec<&Key> = keys.iter().filter(|k| shown(k)).collect();
        for (i, part) in way.iter().enumerate() {
            // Where a part calls itself the outermost one has all of the time.
            if !way[..i].contains(part) {
                parts.entry((*part).clone()).or_default().total_ns += p.ns;
            }
        }
        for (i, pair) in way.windows(2).enumerate() {
            if !way.windows(2).take(i).any(|before| before == pair) {
                edges.entry((pair[0].clone(), pair[1].clone())).or_default().total_ns += p.ns;
            }
        }
        if let Some(last) = way.last() {
            let sum = parts.entry((*last).clone()).or_default();
            sum.own_ns += p.ns;
            sum.calls += if ends_here { p.calls } else { 0 };
        }
        if let [.., from, to] = way[..]
            && ends_here
        {
            edges.entry((from.clone(), to.clone())).or_default().calls += p.calls;
        }
    }
    (parts, edges)
}

impl CallSums {
    /// The text of `calls.json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names and numbers can be written") + "\n"
    }

    /// Read such a text.
    ///
    /// # Errors
    /// It is something else.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The call graph.
    pub fn graph(&self, filter: &CallFilter) -> CallGraph {
        let scheduler_ns = self.paths.iter().map(|p| p.ns).sum();
        let (all, _) = sums(&self.paths, filter, |_| true);
        let named = |k: &Key| !filter.hide.iter().any(|begin| k.1.starts_with(begin.as_str()));
        let (left, _) = sums(&self.paths, filter, named);
        let least = filter.least * scheduler_ns as f64;
        let large = |k: &Key| left.get(k).is_some_and(|s| s.total_ns as f64 >= least);
        let (parts, edges) = sums(&self.paths, filter, large);
        let mut order: Vec<(&Key, &Sum)> = parts.iter().collect();
        order.sort_by_key(|(key, sum)| (key.0, std::cmp::Reverse(sum.total_ns)));
        let at = |key: &Key| order.iter().position(|o| o.0 == key).expect("its ends are parts");
        let mut edges: Vec<CallEdge> = edges
            .iter()
            .map(|((from, to), s)| CallEdge {
                from: at(from),
                to: at(to),
                calls: s.calls,
                ns: s.total_ns,
                mean_ns: mean(s.total_ns, s.calls),
            })
            .collect();
        edges.sort_by_key(|e| (e.from, e.to));
        let part = |(key, s): &(&Key, &Sum)| CallPart {
            name: key.1.clone(),
            kind: key.0,
            calls: s.calls,
            total_ns: s.total_ns,
            mean_ns: mean(s.total_ns, s.calls),
            own_ns: s.own_ns,
        };
        CallGraph {
            topology: self.topology.clone(),
            machine: self.machine.clone(),
            workload: self.workload.clone(),
            scheduler_ns,
            hidden: all.len() - parts.len(),
            parts: order.iter().map(part).collect(),
            edges,
        }
    }
}

impl CallGraph {
    /// What it is of.
    pub fn title(&self) -> String {
        format!("calls of {} on {}, {}", self.topology, self.machine, self.workload)
    }

    /// What fills the box of a part in pictures: the larger its share of the whole, the darker.
    pub fn shade(&self, part: &CallPart) -> Ink {
        const SHADES: [Ink; 5] = ["#ffffff", "#fdeed9", "#fbd9ae", "#f6b873", "#ee8f3c"];
        let share = part.total_ns as f64 / self.scheduler_ns.max(1) as f64;
        SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
    }

    /// As text: the parts, then who calls them.
    pub fn table(&self, screen: &Screen) -> String {
        let calls: u64 = self.parts.iter().filter(|p| p.kind == CallKind::Call).map(|p| p.calls).sum();
        let mut out = format!(
            "{}\n  {} of scheduler code in {} calls\n\n",
            self.title(),
            duration(self.scheduler_ns),
            count(calls)
        );
        let cell = |text: String| Cell::new(text, Tone::Plain);
        let mut parts = Columns::new(vec!["part", "calls", "total", "mean", "own", "share"])
            .giving_way(&["share", "own"]);
        for p in &self.parts {
            parts.row(vec![
                cell(p.name.clone()),
                cell(count(p.calls)),
                cell(duration(p.total_ns)),
                cell(duration(p.mean_ns.round() as u64)),
                cell(duration(p.own_ns)),
                cell(percent(p.total_ns, self.scheduler_ns)),
            ]);
        }
        out += &parts.render(2, screen);
        out.push('\n');
        let mut edges = Columns::new(vec!["caller and part", "calls", "time", "mean"]);
        for e in &self.edges {
            edges.row(vec![
                cell(format!("{} > {}", self.parts[e.from].name, self.parts[e.to].name)),
                cell(count(e.calls)),
                cell(duration(e.ns)),
                cell(duration(e.mean_ns.round() as u64)),
            ]);
        }
        out += &edges.render(2, screen);
        if self.hidden > 0 {
            let _ = writeln!(
                out,
                "\n  hidden parts: {}; their time is their callers'",
                count(self.hidden as u64)
            );
        }
        out
    }

    /// In Graphviz's language.
    pub fn dot(&self) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut out = format!("digraph \"{}\" {{\n  rankdir=LR;\n", quoted(&self.title()));
        out.push_str("  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];\n");
        out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n");
        for (i, p) in self.parts.iter().enumerate() {
            let [first, second] = p.lines();
            let fill = self.shade(p);
            let name = quoted(&p.name);
            let _ = writeln!(out, "  p{i} [label=\"{name}\\n{first}\\n{second}\", fillcolor=\"{fill}\"];");
        }
        for e in &self.edges {
            let _ = writeln!(out, "  p{} -> p{} [label=\"{}\"];", e.from, e.to, e.label());
        }
        out.push_str("}\n");
        out
    }
}

impl CallPart {
    /// What pictures say below its name.
    pub fn lines(&self) -> [String; 2] {
        let mean = duration(self.mean_ns.round() as u64);
        [
            format!("{} calls, mean {mean}", count(self.calls)),
            format!("total {}, own {}", duration(self.total_ns), duration(self.own_ns)),
        ]
    }
}

impl CallEdge {
    /// What pictures say at it.
    pub fn label(&self) -> String {
        format!("{} × {}", count(self.calls), duration(self.mean_ns.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums_of(paths: &[(&str, u64, u64)]) -> CallSums {
        let path = |(path, calls, ns): &(&str, u64, u64)| CallPath {
            path: path.split(" > ").map(String::from).collect(),
            calls: *calls,
            ns: *ns,
        };
        CallSums { paths: paths.iter().map(path).collect(), ..CallSums::default() }
    }

    fn shown(g: &CallGraph) -> (Vec<String>, Vec<String>) {
        let part = |p: &CallPart| format!("{} {} {} {}", p.name, p.calls, p.total_ns, p.own_ns);
        let edge =
            |e: &CallEdge| format!("{} > {} {} {}", g.parts[e.from].name, g.parts[e.to].name, e.calls, e.ns);
        (g.parts.iter().map(part).collect(), g.edges.iter().map(edge).collect())
    }

    const PATHS: [(&str, u64, u64); 6] = [
        ("pick", 4, 100),
        ("pick > rr@cpu0", 2, 10),
        ("pick > rr@cpu1", 2, 30),
        ("pick > rr@cpu1 > take lock", 2, 6),
        ("pick > rr@cpu1 > take lock > wait for lock", 1, 4),
        ("exit", 1, 50),
    ];

    #[test]
    fn totals_contain_what_is_called_and_own_times_add_up() {
        let g = sums_of(&PATHS).graph(&CallFilter::default());
        let (parts, edges) = shown(&g);
        assert_eq!(
            parts,
            ["pick 4 150 100", "exit 1 50 50", "rr 4 50 40", "take lock 2 10 6", "wait for lock 1 4 4"]
        );
        assert_eq!(edges, ["pick > rr 4 50", "rr > take lock 2 10", "take lock > wait for lock 1 4"]);
        assert_eq!(g.scheduler_ns, 200);
        assert_eq!(g.parts.iter().map(|p| p.own_ns).sum::<u64>(), 200);
        let each = sums_of(&PATHS).graph(&CallFilter { instances: true, ..CallFilter::default() });
        assert_eq!(shown(&each).0[2..4], ["rr@cpu1 2 40 30", "rr@cpu0 2 10 10"]);
    }

    #[test]
    fn the_time_of_hidden_parts_is_their_callers() {
        let hide = |names: &[&str]| CallFilter {
            hide: names.iter().map(|n| (*n).into()).collect(),
            ..CallFilter::default()
        };
        let g = sums_of(&PATHS).graph(&hide(&["take"]));
        let (parts, edges) = shown(&g);
        assert_eq!(parts, ["pick 4 150 100", "exit 1 50 50", "rr 4 50 46", "wait for lock 1 4 4"]);
        assert_eq!(edges, ["pick > rr 4 50", "rr > wait for lock 1 4"]);
        assert_eq!(g.hidden, 1);
        // A call takes what it calls along.
        let g = sums_of(&PATHS).graph(&hide(&["pick"]));
        assert_eq!((shown(&g).0, g.hidden), (vec!["exit 1 50 50".to_string()], 4));
        // 5 % of 200 ns.
        let g = sums_of(&PATHS).graph(&CallFilter { least: 0.05, ..CallFilter::default() });
        assert_eq!(shown(&g).0, ["pick 4 150 100", "exit 1 50 50", "rr 4 50 40", "take lock 2 10 10"]);
    }

    #[test]
    fn a_part_that_calls_itself_has_its_time_once() {
        let g = sums_of(&[("pick", 1, 1), ("pick > a@1", 1, 10), ("pick > a@1 > a@2", 3, 5)])
            .graph(&CallFilter::default());
        assert_eq!(shown(&g).0, ["pick 1 16 1", "a 4 15 15"]);
        assert_eq!(shown(&g).1, ["pick > a 1 15", "a > a 3 5"]);
    }

    #[test]
    fn table_and_dot_have_every_part_and_edge() {
        let sums = CallSums { topology: "a \"b\"".into(), ..sums_of(&PATHS) };
        let g = sums.graph(&CallFilter { hide: vec!["wait".into()], ..CallFilter::default() });
        insta::assert_snapshot!("calls", format!("{}\n{}", g.table(&Screen::default()), g.dot()));
        assert_eq!(CallSums::from_json(&sums.to_json()).expect("it was just written"), sums);
    }
}
