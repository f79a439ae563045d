// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The graph as lines: each pipe followed by the component that it leads to and what comes after.

use std::collections::BTreeMap;

use weir_linux::snapshot::Snapshot;

/// What a line is about: indices into the snapshot's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Pipe(usize),
    Instance(usize),
}

/// A line of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub subject: Subject,
    /// Branches before it: `│ ├ `.
    pub branch: String,
    pub name: String,
}

/// Component at the end of an exit pipe: it stands for the CPUs, which the pipe's line names.
const EXIT: &str = "termination";

/// Lines of the whole graph. Components without pipes (annotators, services) come last.
pub fn lines(s: &Snapshot) -> Vec<Line> {
    let mut outs: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, pipe) in s.pipes.iter().enumerate() {
        outs.entry(pipe.from.as_str()).or_default().push(i);
    }
    let number = s.instances.iter().enumerate().map(|(i, inst)| (inst.name.as_str(), i)).collect();
    let mut walk = Walk { s, outs, number, lines: Vec::new(), shown: vec![false; s.instances.len()] };
    // An instance cannot have this name: it is a word of the language.
    for pipe in walk.outs.get("entry").cloned().unwrap_or_default() {
        walk.pipe(pipe, "", "");
    }
    for (i, inst) in s.instances.iter().enumerate() {
        if !walk.shown[i] && inst.component != EXIT {
            let name = inst.name.clone();
            walk.lines.push(Line { subject: Subject::Instance(i), branch: String::new(), name });
        }
    }
    walk.lines
}

struct Walk<'a> {
    s: &'a Snapshot,
    /// Pipes by the name of their writer.
    outs: BTreeMap<&'a str, Vec<usize>>,
    number: BTreeMap<&'a str, usize>,
    lines: Vec<Line>,
    shown: Vec<bool>,
}

impl Walk<'_> {
    /// A pipe and what follows; `first` stands before its line, `rest` before those below.
    fn pipe(&mut self, at: usize, first: &str, rest: &str) {
        let pipe = &self.s.pipes[at];
        let to = self.number.get(pipe.to.as_str()).copied();
        let exit = to.is_some_and(|i| self.s.instances[i].component == EXIT);
        let again = to.is_some_and(|i| self.shown[i]);
        let name = match (exit, again) {
            (true, _) if pipe.cpus.is_empty() => pipe.name.clone(),
            (true, _) => format!("{} → CPU {}", pipe.name, pipe.cpus),
            // Where pipes meet, the component stands below the first of them.
            (false, true) => format!("{} → {}", pipe.name, pipe.to),
            (false, false) => pipe.name.clone(),
        };
        self.lines.push(Line { subject: Subject::Pipe(at), branch: first.into(), name });
        let Some(to) = to.filter(|_| !again && !exit) else { return };
        self.shown[to] = true;
        let name = self.s.instances[to].name.clone();
        let outs = self.outs.get(name.as_str()).cloned().unwrap_or_default();
        self.lines.push(Line { subject: Subject::Instance(to), branch: rest.into(), name });
        for (n, &out) in outs.iter().enumerate() {
            let last = n + 1 == outs.len();
            let first = format!("{rest}{}", if last { "└ " } else { "├ " });
            let below = format!("{rest}{}", if last { "  " } else { "│ " });
            self.pipe(out, &first, &below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_linux::snapshot::{InstanceView, PipeView};

    fn snapshot(instances: &[(&str, &str)], pipes: &[(&str, &str, &str)]) -> Snapshot {
        let instance = |&(name, component): &(&str, &str)| InstanceView {
            name: name.into(),
            component: component.into(),
            ..InstanceView::default()
        };
        let pipe = |&(name, from, to): &(&str, &str, &str)| PipeView {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            cpus: "0".into(),
            ..PipeView::default()
        };
        Snapshot {
            instances: instances.iter().map(instance).collect(),
            pipes: pipes.iter().map(pipe).collect(),
            ..Snapshot::default()
        }
    }

    fn shown(s: &Snapshot) -> Vec<String> {
        lines(s).iter().map(|l| format!("{}{}", l.branch, l.name)).collect()
    }

    #[test]
    fn branches_and_exits() {
        let s = snapshot(
            &[
                ("affinity", "affinity"),
                ("lb", "load_balancer"),
                ("rr", "round_robin"),
                ("x0", "termination"),
                ("x1", "termination"),
            ],
            &[("entry", "entry", "lb"), ("lb.0", "lb", "rr"), ("rr.0", "rr", "x0"), ("lb.1", "lb", "x1")],
        );
        assert_eq!(
            shown(&s),
            ["entry", "lb", "├ lb.0", "│ rr", "│ └ rr.0 → CPU 0", "└ lb.1 → CPU 0", "affinity"]
        );
    }

    #[test]
    fn where_pipes_meet_the_component_stands_once() {
        let s = snapshot(
            &[("split", "filter"), ("m", "merge"), ("x", "termination")],
            &[("entry", "entry", "split"), ("a", "split", "m"), ("b", "split", "m"), ("out", "m", "x")],
        );
        assert_eq!(shown(&s), ["entry", "split", "├ a", "│ m", "│ └ out → CPU 0", "└ b → m"]);
    }

    #[test]
    fn nonsense_ends() {
        let s = snapshot(&[("a", "a")], &[("p", "entry", "a"), ("q", "a", "a"), ("r", "nobody", "nowhere")]);
        assert_eq!(shown(&s), ["p", "a", "└ q → a"]);
        assert!(lines(&Snapshot::default()).is_empty());
    }
}
