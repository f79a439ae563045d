// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Stage 1 of the evaluation: from a run's log to a tree of processes and threads for each program.

use std::collections::BTreeMap;

use super::log::{Entry, Line, Stats};

/// A process or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub pid: u32,
    pub tgid: u32,
    pub name: String,
    pub start_us: u64,
    /// `None`: the log does not say.
    pub end_us: Option<u64>,
    pub stats: Option<Stats>,
    /// Indices of its children in [`Tree::nodes`].
    pub children: Vec<usize>,
}

/// A program and everything that it forked; the first node is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

/// The trees of the programs whose first processes are `roots`. A number may be used again once its task has been
/// freed, or forked again where that line was lost. O(lines * log tasks).
pub fn forest(lines: &[Line], roots: &[u32]) -> Vec<Tree> {
    let mut trees: Vec<Tree> = Vec::new();
    // Where the live task of a number is: tree and node.
    let mut live: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for line in lines {
        match line.entry {
            Entry::Fork { pid, tgid } => {
                let node = Node {
                    pid,
                    tgid,
                    name: line.comm.clone(),
                    start_us: line.us,
                    end_us: None,
                    stats: None,
                    children: Vec::new(),
                };
                live.remove(&pid);
                if roots.contains(&pid) && !trees.iter().any(|t| t.nodes[0].pid == pid) {
                    live.insert(pid, (trees.len(), 0));
                    trees.push(Tree { nodes: vec![node] });
                } else if let Some(&(tree, parent)) = live.get(&line.pid) {
                    let nodes = &mut trees[tree].nodes;
                    nodes.push(node);
                    let at = nodes.len() - 1;
                    nodes[parent].children.push(at);
                    live.insert(pid, (tree, at));
                }
            }
            Entry::GroupExit | Entry::Exit => {
                if let Some(&(tree, at)) = live.get(&line.pid) {
                    let node = &mut trees[tree].nodes[at];
                    node.name.clone_from(&line.comm);
                    node.end_us = Some(line.us);
                }
            }
            Entry::Free { pid, stats, .. } => {
                if let Some((tree, at)) = live.remove(&pid) {
                    trees[tree].nodes[at].stats = Some(stats);
                }
            }
        }
    }
    trees
}

impl Tree {
    /// Everything that the program and its children accumulated.
    pub fn total(&self) -> Stats {
        let mut sum = Stats::default();
        self.nodes.iter().filter_map(|n| n.stats).for_each(|s| sum += s);
        sum
    }

    /// How long the program ran, its waiting included, us.
    pub fn time_us(&self) -> Option<u64> {
        let root = &self.nodes[0];
        root.end_us.map(|end| end - root.start_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(comm: &str, pid: u32, us: u64, entry: Entry) -> Line {
        Line { comm: comm.into(), pid, cpu: 0, us, entry }
    }

    fn fork(parent: u32, us: u64, pid: u32) -> Line {
        line("sh", parent, us, Entry::Fork { pid, tgid: pid })
    }

    fn free(pid: u32, us: u64, schedules: u64) -> Line {
        let stats = Stats { cache: 10 * schedules as i64, schedules, ..Stats::default() };
        line("swapper", 0, us, Entry::Free { pid, tgid: pid, stats })
    }

    #[test]
    fn children_of_children_belong_to_the_program() {
        let lines = [
            fork(1, 100, 10),
            fork(10, 110, 11),
            fork(11, 120, 12),
            fork(1, 130, 20), // nobody's
            fork(20, 135, 21),
            line("cc", 12, 200, Entry::Exit),
            free(12, 201, 3),
            free(11, 202, 4),
            line("make", 10, 300, Entry::GroupExit),
            free(10, 310, 5),
            free(21, 320, 1000),
        ];
        let trees = forest(&lines, &[10]);
        assert_eq!(trees.len(), 1);
        let t = &trees[0];
        assert_eq!(t.nodes.iter().map(|n| n.pid).collect::<Vec<_>>(), [10, 11, 12]);
        assert_eq!((t.nodes[0].children.clone(), t.nodes[1].children.clone()), (vec![1], vec![2]));
        assert_eq!((t.total().schedules, t.total().cache), (12, 120));
        assert_eq!(t.time_us(), Some(200));
        assert_eq!(t.nodes[2].name, "cc");
    }

    #[test]
    fn a_number_may_be_used_again() {
        let lines = [
            fork(1, 0, 10),
            fork(10, 1, 11),
            free(11, 5, 1),
            fork(10, 6, 11),
            free(11, 9, 2),
            // This one's end was lost: what follows is a new task.
            fork(10, 10, 12),
            fork(10, 20, 12),
            free(12, 30, 4),
        ];
        let t = &forest(&lines, &[10])[0];
        assert_eq!(t.nodes.len(), 5);
        assert_eq!(t.total().schedules, 7);
        assert_eq!(t.nodes[3].stats, None);
        assert_eq!(t.time_us(), None);
    }
}
