// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What an arrow joins: every end on its left with the ends on its right that belong to it.
//!
//! An end belongs to CPUs: those of the block in which it stands. Two ends are joined if the CPUs of
//! one contain those of the other. So one balancer reaches the queue of each CPU, each CPU's queue
//! its own exit, and the balancer of an LLC the queues of the CPUs below that LLC.

use std::rc::Rc;

use weir_core::CpuSet;

use crate::net::{Head, Tail};

/// An end that takes pipes.
#[derive(Clone, Debug)]
pub(crate) struct In {
    pub head: Head,
    pub cpus: Rc<CpuSet>,
    /// The block began with `~>`.
    pub postponed: bool,
}

/// An end that gives pipes.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    pub tail: Tail,
    pub cpus: Rc<CpuSet>,
}

/// Both sides of an element, and what to call it in a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub ins: Vec<In>,
    pub outs: Vec<Out>,
    pub what: String,
    /// Part of it is missing for a reason that was reported.
    pub broken: bool,
}

impl Side {
    pub fn broken(what: String) -> Self {
        Side { what, broken: true, ..Side::default() }
    }
}

/// Why ends could not be joined.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unpaired {
    Left(usize),
    Right(usize),
    TooMany,
}

/// Pairs of indices to be joined, ordered by left and then by right end; at most `room`.
pub(crate) fn pair(
    lefts: &[Out],
    rights: &[In],
    all: bool,
    room: usize,
) -> Result<Vec<(usize, usize)>, Unpaired> {
    if all {
        if lefts.len().saturating_mul(rights.len()) > room {
            return Err(Unpaired::TooMany);
        }
        return Ok((0..lefts.len()).flat_map(|l| (0..rights.len()).map(move |r| (l, r))).collect());
    }
    if let ([l], [r]) = (lefts, rights)
        && Rc::ptr_eq(&l.cpus, &r.cpus)
    {
        return Ok(vec![(0, 0)]);
    }
    // Left ends by CPU, so that large bundles are not compared each with each.
    let top = lefts.iter().flat_map(|l| l.cpus.iter().last()).max().map_or(0, |c| c as usize + 1);
    let mut by_cpu: Vec<Vec<usize>> = vec![Vec::new(); top];
    for (i, l) in lefts.iter().enumerate() {
        l.cpus.iter().for_each(|c| by_cpu[c as usize].push(i));
    }
    let mut pairs = Vec::new();
    let mut met = vec![false; lefts.len()];
    for (r, right) in rights.iter().enumerate() {
        let mut candidates: Vec<usize> =
            right.cpus.iter().filter_map(|c| by_cpu.get(c as usize)).flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        let before = pairs.len();
        for l in candidates {
            if within(&lefts[l].cpus, &right.cpus) || within(&right.cpus, &lefts[l].cpus) {
                pairs.push((l, r));
                met[l] = true;
            }
        }
        if pairs.len() == before {
            return Err(Unpaired::Right(r));
        }
        if pairs.len() > room {
            return Err(Unpaired::TooMany);
        }
    }
    if let Some(l) = met.iter().position(|m| !m) {
        return Err(Unpaired::Left(l));
    }
    pairs.sort_unstable();
    Ok(pairs)
}

/// Is `a` a subset of `b`?
pub(crate) fn within(a: &CpuSet, b: &CpuSet) -> bool {
    a.words().iter().zip(b.words().iter().chain(std::iter::repeat(&0))).all(|(x, y)| x & !y == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outs(sets: &[&[u32]]) -> Vec<Out> {
        sets.iter()
            .map(|s| Out { tail: Tail::Entry(0), cpus: Rc::new(s.iter().copied().collect()) })
            .collect()
    }

    fn ins(sets: &[&[u32]]) -> Vec<In> {
        let cpus = |s: &[u32]| Rc::new(s.iter().copied().collect());
        sets.iter().map(|s| In { head: Head::Exit(0), cpus: cpus(s), postponed: false }).collect()
    }

    #[test]
    fn joins_what_belongs_together() {
        let room = 100;
        assert_eq!(pair(&outs(&[&[0, 1]]), &ins(&[&[0], &[1]]), false, room), Ok(vec![(0, 0), (0, 1)]));
        assert_eq!(pair(&outs(&[&[0], &[1]]), &ins(&[&[0], &[1]]), false, room), Ok(vec![(0, 0), (1, 1)]));
        assert_eq!(
            pair(&outs(&[&[0, 1], &[2, 3]]), &ins(&[&[0], &[1], &[2], &[3]]), false, room),
            Ok(vec![(0, 0), (0, 1), (1, 2), (1, 3)])
        );
        assert_eq!(pair(&outs(&[&[0], &[1]]), &ins(&[&[0, 1]]), false, room), Ok(vec![(0, 0), (1, 0)]));
    }

    #[test]
    fn finds_the_lonely() {
        assert_eq!(pair(&outs(&[&[0]]), &ins(&[&[1]]), false, 9), Err(Unpaired::Right(0)));
        assert_eq!(pair(&outs(&[&[0], &[2]]), &ins(&[&[0]]), false, 9), Err(Unpaired::Left(1)));
        assert_eq!(pair(&outs(&[&[0, 1]]), &ins(&[&[1, 2]]), false, 9), Err(Unpaired::Right(0)));
    }

    #[test]
    fn all_joins_each_with_each_while_there_is_room() {
        assert_eq!(pair(&outs(&[&[0], &[1]]), &ins(&[&[0], &[1]]), true, 4).unwrap().len(), 4);
        assert_eq!(pair(&outs(&[&[0], &[1]]), &ins(&[&[0], &[1]]), true, 3), Err(Unpaired::TooMany));
    }
}
