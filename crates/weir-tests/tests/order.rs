// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The order of a pipe (`core/src/order.c`) against a sorted list: lists by arrival, keyed pipes by key, tie and arrival, gated ones by
//! the least key whose gate is open.

use std::ffi::c_void;

use proptest::prelude::*;

// The crate's library links the C side.
use weir_tests as _;

unsafe extern "C" {
    fn order_new(keyed: u32, gated: u32) -> *mut c_void;
    fn order_free(lab: *mut c_void);
    fn order_link(lab: *mut c_void, id: u32, key: u64, tie: u64, gate: u64, seq: u32);
    fn order_unlink(lab: *mut c_void, id: u32);
    fn order_first(lab: *mut c_void, now: u64) -> u32;
    fn order_list(lab: *mut c_void, ids: *mut u32) -> u32;
}

#[derive(Clone, Copy, Debug)]
struct Step {
    task: u32,
    key: u64,
    tie: u64,
    gate: u64,
    now: u64,
    /// It gets its old place in the order of arrival, as one that is reviewed.
    again: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (0..64u32, 0..6u64, 0..3u64, 0..8u64, 0..9u64, any::<bool>())
        .prop_map(|(task, key, tie, gate, now, again)| Step { task, key, tie, gate, now, again })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    key: u64,
    tie: u64,
    seq: u32,
    gate: u64,
    id: u32,
}

fn check(keyed: bool, gated: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    // SAFETY: the handle is freed below; each task is linked once at a time.
    let lab = unsafe { order_new(keyed.into(), gated.into()) };
    let mut model: Vec<Member> = Vec::new();
    let mut arrivals = u32::MAX - 20;
    for s in steps {
        let mut seq = None;
        if let Some(at) = model.iter().position(|m| m.id == s.task) {
            seq = Some(model.remove(at).seq).filter(|_| s.again);
            // SAFETY: it is linked.
            unsafe { order_unlink(lab, s.task) };
        }
        if seq.is_some() || s.key < 5 {
            let seq = seq.unwrap_or_else(|| {
                arrivals = arrivals.wrapping_add(1);
                arrivals
            });
            let (key, tie) = if keyed { (s.key, s.tie) } else { (0, 0) };
            model.push(Member { key, tie, seq, gate: s.gate, id: s.task });
            // SAFETY: it is not linked.
            unsafe { order_link(lab, s.task, s.key, s.tie, s.gate, seq) };
        }
        let age = |m: &Member| arrivals.wrapping_sub(m.seq);
        model.sort_by(|a, b| (a.key, a.tie).cmp(&(b.key, b.tie)).then(age(b).cmp(&age(a))));
        let mut ids = [0; 64];
        // SAFETY: there is room for all tasks.
        let n = unsafe { order_list(lab, ids.as_mut_ptr()) } as usize;
        let want: Vec<u32> = model.iter().map(|m| m.id).collect();
        prop_assert!(n <= 64, "list and tree disagree");
        prop_assert_eq!(&want[..], &ids[..n]);
        let open = model.iter().find(|m| !gated || m.gate <= s.now);
        let least = model.iter().map(|m| m.gate).min();
        let first = open.or_else(|| model.iter().find(|m| Some(m.gate) == least));
        // SAFETY: the handle is valid.
        prop_assert_eq!(first.map_or(0, |m| m.id + 1), unsafe { order_first(lab, s.now) });
    }
    // SAFETY: it came from `order_new`.
    unsafe { order_free(lab) };
    Ok(())
}

proptest! {
    #![proptest_config(weir_testbench::history::config(200))]

    #[test]
    fn a_list_is_in_order_of_arrival(steps in prop::collection::vec(step(), 1..200)) {
        check(false, false, &steps)?;
    }

    #[test]
    fn a_keyed_pipe_is_sorted_and_stable(steps in prop::collection::vec(step(), 1..200)) {
        check(true, false, &steps)?;
    }

    #[test]
    fn the_first_of_a_gated_pipe_has_the_least_key_of_those_that_are_open(
        steps in prop::collection::vec(step(), 1..200)
    ) {
        check(true, true, &steps)?;
    }
}
