// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Pipes against a model: a `Vec` that does the same. And the change log: what a receiver makes of it
//! is what the pipe holds, and it says no more than it must.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use weir_tests::history::config;
use weir_tests::pipe_lab::{Change, Pipe, PipeLab};

#[derive(Clone, Debug)]
enum Op {
    Append(u8),
    Prepend(u8),
    After(u8, u8),
    Insert(u8, u8),
    Remove(u8),
    /// The receiver reads the log.
    Read,
}

const TASKS: u8 = 12;
/// WEIR_EINVAL, WEIR_ENOENT, WEIR_EEXIST
const EINVAL: i32 = 2;
const ENOENT: i32 = 5;
const EEXIST: i32 = 6;

fn list_op() -> impl Strategy<Value = Op> {
    let t = 0..TASKS;
    prop_oneof![
        6 => t.clone().prop_map(Op::Append),
        3 => t.clone().prop_map(Op::Prepend),
        4 => (t.clone(), t.clone()).prop_map(|(a, b)| Op::After(a, b)),
        1 => (t.clone(), 0..4u8).prop_map(|(t, k)| Op::Insert(t, k)),
        6 => t.prop_map(Op::Remove),
        3 => Just(Op::Read),
    ]
}

fn keyed_op() -> impl Strategy<Value = Op> {
    let t = 0..TASKS;
    prop_oneof![
        10 => (t.clone(), 0..5u8).prop_map(|(t, k)| Op::Insert(t, k)),
        1 => t.clone().prop_map(Op::Append),
        5 => t.prop_map(Op::Remove),
        3 => Just(Op::Read),
    ]
}

/// What the pipe must hold.
#[derive(Default)]
struct Model {
    order: Vec<u32>,
    keys: BTreeMap<u32, u64>,
}

impl Model {
    fn at(&self, t: u32) -> Option<usize> {
        self.order.iter().position(|x| *x == t)
    }

    fn take(&mut self, t: u32) -> bool {
        let at = self.at(t);
        at.map(|i| self.order.remove(i)).is_some()
    }

    /// Behind `after`, or first.
    fn put(&mut self, t: u32, after: Option<u32>) {
        self.take(t);
        let i = after.map_or(0, |a| self.at(a).expect("checked before") + 1);
        self.order.insert(i, t);
    }

    fn apply(&mut self, op: &Op, keyed: bool, ids: &[u32]) -> Result<(), i32> {
        let id = |t: u8| ids[t as usize];
        match *op {
            Op::Remove(t) => {
                self.take(id(t));
                Ok(())
            }
            Op::Insert(t, k) if keyed => {
                let (t, k) = (id(t), u64::from(k));
                if self.at(t).is_some() && self.keys[&t] == k {
                    return Ok(());
                }
                self.take(t);
                self.keys.insert(t, k);
                let i = self.order.iter().position(|x| self.keys[x] > k).unwrap_or(self.order.len());
                self.order.insert(i, t);
                Ok(())
            }
            Op::Append(_) | Op::Prepend(_) | Op::After(..) if keyed => Err(EINVAL),
            Op::Insert(..) => Err(EINVAL),
            Op::Append(t) if self.at(id(t)).is_some() => Err(EEXIST),
            Op::Append(t) => {
                self.order.push(id(t));
                Ok(())
            }
            Op::Prepend(t) => {
                self.put(id(t), None);
                Ok(())
            }
            Op::After(t, u) if t == u => Err(EINVAL),
            Op::After(_, u) if self.at(id(u)).is_none() => Err(ENOENT),
            Op::After(t, u) => {
                self.put(id(t), Some(id(u)));
                Ok(())
            }
            Op::Read => Ok(()),
        }
    }
}

fn call(lab: &mut PipeLab, op: &Op, ids: &[u32]) -> Result<(), i32> {
    let id = |t: u8| ids[t as usize];
    match *op {
        Op::Append(t) => lab.append(Pipe::Out, id(t)),
        Op::Prepend(t) => lab.prepend(Pipe::Out, id(t)),
        Op::After(t, u) => lab.insert_after(Pipe::Out, id(t), id(u)),
        Op::Insert(t, k) => lab.insert(Pipe::Out, id(t), k.into()),
        Op::Remove(t) => lab.remove(Pipe::Out, id(t)),
        Op::Read => Ok(()),
    }
}

/// A receiver that keeps a copy and knows nothing but the log and where a task stands when it gets
/// to the record about it.
fn replay(copy: &mut Vec<u32>, log: &[(u32, Change)], pipe: &[u32]) -> Result<(), String> {
    let mut open: BTreeSet<u32> =
        log.iter().filter(|(_, k)| *k != Change::Removed).map(|(t, _)| *t).collect();
    for (t, kind) in log {
        let had = copy.iter().position(|x| x == t);
        match kind {
            Change::Removed => {
                copy.remove(had.ok_or_else(|| format!("{t} was removed, but never there"))?);
                continue;
            }
            Change::Added if had.is_some() => return Err(format!("{t} was added, but there already")),
            Change::Moved if had.is_none() => return Err(format!("{t} was moved, but never there")),
            _ => {}
        }
        had.map(|i| copy.remove(i));
        open.remove(t);
        let stands = pipe.iter().position(|x| x == t).ok_or_else(|| format!("{t} changed, but is gone"))?;
        let before = pipe[..stands].iter().rev().find(|x| copy.contains(x) && !open.contains(x));
        let at = before.map_or(0, |b| copy.iter().position(|x| x == b).expect("it is in the copy") + 1);
        copy.insert(at, *t);
    }
    if copy == pipe { Ok(()) } else { Err(format!("the copy is {copy:?}, the pipe {pipe:?}")) }
}

/// At most one record says that a task left and one that it is there; nothing that came and went
/// between two readings, and nothing that was left alone, is reported.
fn reports_no_more_than_it_must(
    log: &[(u32, Change)],
    before: &[u32],
    after: &[u32],
    touched: &BTreeSet<u32>,
) -> Result<(), String> {
    for t in before.iter().chain(after).chain(touched) {
        let removed = log.iter().filter(|(x, k)| x == t && *k == Change::Removed).count();
        let there = log.iter().filter(|(x, k)| x == t && *k != Change::Removed).count();
        let (was, is) = (before.contains(t), after.contains(t));
        let fits = match (was, is) {
            (false, false) => removed == 0 && there == 0,
            (false, true) => removed == 0 && there == 1,
            (true, false) => removed == 1 && there == 0,
            (true, true) => removed <= 1 && there <= 1 && there >= removed,
        };
        if !fits {
            return Err(format!("{t}: {removed} times removed, {there} times there; was {was}, is {is}"));
        }
        if !touched.contains(t) && removed + there > 0 {
            return Err(format!("{t} was left alone"));
        }
    }
    Ok(())
}

fn check(keyed: bool, ops: &[Op]) -> Result<(), String> {
    let mut lab = PipeLab::new(if keyed { c"fcfs" } else { c"head_queue" });
    let ids: Vec<u32> = (0..TASKS).map(|_| lab.task()).collect();
    let mut model = Model::default();
    let (mut copy, mut read, mut touched) = (Vec::new(), Vec::new(), BTreeSet::new());
    for op in ops {
        let want = model.apply(op, keyed, &ids);
        let have = call(&mut lab, op, &ids);
        if want != have {
            return Err(format!("{op:?} gave {have:?}, should give {want:?}"));
        }
        let now = lab.tasks(Pipe::Out);
        if now != model.order {
            return Err(format!("after {op:?} the pipe is {now:?}, should be {:?}", model.order));
        }
        match op {
            Op::Append(t) | Op::Prepend(t) | Op::After(t, _) | Op::Insert(t, _) | Op::Remove(t) => {
                touched.insert(ids[*t as usize]);
            }
            Op::Read => {
                let log = lab.changes(Pipe::Out);
                reports_no_more_than_it_must(&log, &read, &now, &touched)?;
                replay(&mut copy, &log, &now)?;
                read = now;
                touched.clear();
            }
        }
    }
    Ok(())
}

/// The component mirrors its in-pipe, whatever batches of changes it gets.
fn mirrors(ops: &[Op]) -> Result<(), String> {
    let mut lab = PipeLab::new(c"head_queue");
    let ids: Vec<u32> = (0..TASKS).map(|_| lab.task()).collect();
    let id = |t: u8| ids[t as usize];
    for op in ops {
        // What is not possible now is refused and changes nothing; the model test covers that.
        let _ = match *op {
            Op::Append(t) | Op::Insert(t, _) => lab.append(Pipe::In, id(t)),
            Op::Prepend(t) => lab.prepend(Pipe::In, id(t)),
            Op::After(t, u) => lab.insert_after(Pipe::In, id(t), id(u)),
            Op::Remove(t) => lab.remove(Pipe::In, id(t)),
            Op::Read => {
                lab.drain();
                let (input, output) = (lab.tasks(Pipe::In), lab.tasks(Pipe::Out));
                if input != output {
                    return Err(format!("the in-pipe is {input:?}, the out-pipe {output:?}"));
                }
                Ok(())
            }
        };
        // A task leaves all deeper pipes with the one it leaves, at once.
        let input = lab.tasks(Pipe::In);
        if let Some(t) = lab.tasks(Pipe::Out).iter().find(|t| !input.contains(t)) {
            return Err(format!("{t} left the in-pipe, but not the out-pipe"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_list_is_a_vec(ops in prop::collection::vec(list_op(), 1..200)) {
        check(false, &ops).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_keyed_pipe_is_a_sorted_vec(ops in prop::collection::vec(keyed_op(), 1..200)) {
        check(true, &ops).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_batch_is_mirrored(ops in prop::collection::vec(list_op(), 1..200)) {
        mirrors(&ops).map_err(TestCaseError::fail)?;
    }
}

/// A keyed pipe of many members stays a pipe of O(log n): the treap is exercised beyond toy sizes.
#[test]
fn a_thousand_keys() {
    let mut lab = PipeLab::new(c"fcfs");
    let ids: Vec<u32> = (0..1000).map(|_| lab.task()).collect();
    let key = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    let mut want: Vec<(u64, u32)> = Vec::new();
    for (i, t) in ids.iter().enumerate() {
        lab.insert(Pipe::Out, *t, key(i as u64)).expect("it is new");
        want.push((key(i as u64), *t));
    }
    want.sort_by_key(|(k, _)| *k);
    assert_eq!(lab.tasks(Pipe::Out), want.iter().map(|(_, t)| *t).collect::<Vec<_>>());
    for t in ids.iter().step_by(3) {
        lab.remove(Pipe::Out, *t).expect("it is there");
        want.retain(|(_, x)| x != t);
    }
    assert_eq!(lab.tasks(Pipe::Out), want.iter().map(|(_, t)| *t).collect::<Vec<_>>());
}
