// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where the time of scheduler code goes: sums by path, from a call of the runtime down to what is done for it.
//!
//! A path has a node for each part that another one calls; the time of a node is its own. So totals, and what each caller spends in each
//! part, follow for any choice of parts that are shown.

use std::collections::HashMap;

use weir_core::event::Call;
use weir_core::{Plan, Topic};

/// A part of scheduler code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Instance(u32),
    /// Getting a lock, and waiting for others that have it.
    Lock,
    Wait,
    Link,
    Unlink,
    /// A topic's responder is asked, a topic's subscribers are notified.
    Request(u32),
    Notify(u32),
    /// A change is left in an inbox, a message in another domain's.
    Post,
    Remote,
    /// The last component of a chain.
    End,
}

/// Hears what a walk goes through.
pub trait Log {
    /// A part begins at `t`, called by the one that is under way.
    fn enter(&mut self, part: Part, t: u64);

    /// The part under way is over at `t`.
    fn leave(&mut self, t: u64);

    /// A part that calls none.
    #[inline(always)]
    fn spent(&mut self, part: Part, from: u64, to: u64) {
        self.enter(part, from);
        self.leave(to);
    }

    /// A lock that was wanted at `from` came free at `begin`, and the work under it begins at `to`.
    #[inline(always)]
    fn locked(&mut self, from: u64, begin: u64, to: u64) {
        self.enter(Part::Lock, from);
        if begin > from {
            self.spent(Part::Wait, from, begin);
        }
        self.leave(to);
    }
}

/// Nobody wants to know.
#[derive(Debug)]
pub struct Unseen;

impl Log for Unseen {
    #[inline(always)]
    fn enter(&mut self, _: Part, _: u64) {}

    #[inline(always)]
    fn leave(&mut self, _: u64) {}
}

/// Sums of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallPath {
    /// A call of the runtime, and what is called in turn. Names of the framework's parts have spaces, those of instances have none.
    pub path: Vec<String>,
    pub calls: u64,
    /// Without what the last of them calls.
    pub ns: u64,
}

#[derive(Debug)]
struct Node {
    name: u32,
    parent: u32,
    calls: u64,
    ns: u64,
    called: Vec<u32>,
}

/// The node above all calls of the runtime.
const ROOT: u32 = 0;
/// Names of the framework's parts; behind them come those of the runtime's calls.
const PARTS: [&str; 7] =
    ["take lock", "wait for lock", "link task", "unlink task", "leave change", "message domain", "end chain"];

/// The paths of a run.
#[derive(Debug)]
pub struct Paths {
    nodes: Vec<Node>,
    at: u32,
    /// Until when time is attributed.
    since: u64,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Names of the instances and topics of the topology in force, by number.
    instances: Vec<u32>,
    topics: Vec<[u32; 2]>,
}

impl Paths {
    /// `own` are the topics that the topology's components bring along, and their numbers.
    pub fn new(plan: &Plan, own: &[(u32, String)]) -> Self {
        let root = Node { name: 0, parent: ROOT, calls: 0, ns: 0, called: Vec::new() };
        let names = PARTS.into_iter().chain(Call::ALL.map(Call::name));
        let mut paths = Self {
            nodes: vec![root],
            at: ROOT,
            since: 0,
            names: names.map(String::from).collect(),
            numbers: HashMap::new(),
            instances: Vec::new(),
            topics: Vec::new(),
        };
        paths.reset(plan, own);
        paths
    }

    /// Another topology is in force. What has the same name continues.
    pub fn reset(&mut self, plan: &Plan, own: &[(u32, String)]) {
        self.instances = plan.instances.iter().map(|i| self.intern(&i.name)).collect();
        let standard = (0..).zip(Topic::all().map(|t| t.name().to_string()));
        let all: Vec<(u32, String)> = standard.chain(own.iter().cloned()).collect();
        self.topics.clear();
        for (number, topic) in all {
            let both = ["request", "notify"].map(|verb| self.intern(&format!("{verb} {topic}")));
            let at = number as usize;
            if self.topics.len() <= at {
                self.topics.resize(at + 1, both);
            }
            self.topics[at] = both;
        }
    }

    fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    fn name_of(&mut self, part: Part) -> u32 {
        let topic = |of: &Self, n: u32, verb: usize| of.topics.get(n as usize).map(|both| both[verb]);
        let known = match part {
            Part::Lock => Some(0),
            Part::Wait => Some(1),
            Part::Link => Some(2),
            Part::Unlink => Some(3),
            Part::Post => Some(4),
            Part::Remote => Some(5),
            Part::End => Some(6),
            Part::Instance(i) => self.instances.get(i as usize).copied(),
            Part::Request(n) => topic(self, n, 0),
            Part::Notify(n) => topic(self, n, 1),
        };
        known.unwrap_or_else(|| {
            self.intern(match part {
                Part::Request(_) => "request another topic",
                Part::Notify(_) => "notify another topic",
                _ => "component that is gone",
            })
        })
    }

    /// A call of the runtime begins.
    pub fn begin(&mut self, call: Call, t: u64) {
        self.since = t;
        self.call(PARTS.len() as u32 + call as u32);
    }

    /// It is over, and so is all that it left open.
    pub fn end(&mut self, t: u64) {
        while self.at != ROOT {
            self.leave(t);
        }
    }

    /// Time up to `t` belongs to the part under way.
    fn attribute(&mut self, t: u64) {
        self.nodes[self.at as usize].ns += t.saturating_sub(self.since);
        self.since = self.since.max(t);
    }

    fn call(&mut self, name: u32) {
        let called = &self.nodes[self.at as usize].called;
        let known = called.iter().copied().find(|c| self.nodes[*c as usize].name == name);
        let node = known.unwrap_or_else(|| {
            let new = self.nodes.len() as u32;
            self.nodes.push(Node { name, parent: self.at, calls: 0, ns: 0, called: Vec::new() });
            self.nodes[self.at as usize].called.push(new);
            new
        });
        self.nodes[node as usize].calls += 1;
        self.at = node;
    }

    /// The sums, each path after those that it continues.
    pub fn sums(&self) -> Vec<CallPath> {
        let mut sums: Vec<CallPath> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes[1..] {
            let above = (node.parent as usize).checked_sub(1).map(|p| sums[p].path.clone());
            let mut path = above.unwrap_or_default();
            path.push(self.names[node.name as usize].clone());
            sums.push(CallPath { path, calls: node.calls, ns: node.ns });
        }
        sums
    }
}

impl Log for Paths {
    fn enter(&mut self, part: Part, t: u64) {
        self.attribute(t);
        let name = self.name_of(part);
        self.call(name);
    }

    fn leave(&mut self, t: u64) {
        self.attribute(t);
        self.at = self.nodes[self.at as usize].parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_belongs_to_the_innermost_part() {
        let mut paths = Paths::new(&Plan::default(), &[(40, "MINE".into())]);
        paths.begin(Call::Pick, 100);
        paths.locked(110, 130, 140);
        paths.spent(Part::Request(40), 145, 150);
        // What a call leaves open ends with it.
        paths.enter(Part::Instance(7), 150);
        paths.end(170);
        paths.begin(Call::Pick, 500);
        paths.locked(500, 500, 520);
        paths.end(520);
        let sums: Vec<(String, u64, u64)> =
            paths.sums().into_iter().map(|p| (p.path.join(" > "), p.calls, p.ns)).collect();
        let want = [
            ("pick", 2, 15),
            ("pick > take lock", 2, 30),
            ("pick > take lock > wait for lock", 1, 20),
            ("pick > request MINE", 1, 5),
            ("pick > component that is gone", 1, 20),
        ];
        assert_eq!(sums, want.map(|(path, calls, ns)| (path.to_string(), calls, ns)));
    }
}
