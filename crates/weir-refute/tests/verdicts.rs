// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! No verdict of the analysis is refuted by a simulation (DESIGN D20).
//!
//! 1,000 sets, 100,000 with `WEIR_LONG=1`; `WEIR_SETS=FROM..TO` names others, `WEIR_UNDER=run,p-` takes only those of topologies whose names
//! begin so. A set that contradicts its claim is made small and
//! written to `target/refuted/SEED.toml`, with the two commands that show it.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_refute::{Judge, Set, Tally, honest, planted, refute, shrink};

fn seeds() -> std::ops::Range<u64> {
    let named = std::env::var("WEIR_SETS").ok();
    let named = named
        .as_deref()
        .and_then(|s| s.split_once(".."))
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let (from, to) =
        named.unwrap_or((0, if std::env::var_os("WEIR_LONG").is_some() { 100_000 } else { 1_000 }));
    from..to
}

/// The set is among those that are wanted.
fn wanted(set: &Set) -> bool {
    let under = std::env::var("WEIR_UNDER").unwrap_or_default();
    under.is_empty() || under.split(',').any(|name| set.topology.starts_with(name))
}

/// The first contradiction in a range of seeds, and what was tried.
fn search(seeds: std::ops::Range<u64>, judge: Judge) -> (Tally, Vec<(u64, String)>) {
    let next = AtomicU64::new(seeds.start);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get().min(8));
    let work = || {
        let (mut tally, mut wrong) = (Tally::default(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return (tally, wrong);
            }
            let set = Set::draw(seed);
            if !wanted(&set) {
                continue;
            }
            if let Err(why) = refute(&set, judge, seed, &mut tally) {
                wrong.push((seed, why));
            }
        }
    };
    std::thread::scope(|s| {
        let all: Vec<_> = (0..workers).map(|_| s.spawn(work)).collect();
        let (mut tally, mut wrong) = (Tally::default(), Vec::new());
        for one in all {
            let (t, w) = one.join().expect("no panic");
            tally += t;
            wrong.extend(w);
        }
        wrong.sort();
        (tally, wrong)
    })
}

#[test]
fn no_claim_is_refuted() {
    let seeds = seeds();
    let (tally, wrong) = search(seeds.clone(), honest);
    println!("sets {}..{}: {tally:?}, {} contradictions", seeds.start, seeds.end, wrong.len());
    for (seed, why) in wrong.iter().take(40) {
        let set = Set::draw(*seed);
        println!(
            "  {seed} {} on {}{}: {why}",
            set.topology,
            set.cpus,
            if set.costs { ", with costs" } else { "" }
        );
    }
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/refuted");
    let mut shown = Vec::new();
    for (seed, _) in wrong.iter().take(3) {
        let (small, why) = shrink(&Set::draw(*seed), honest, *seed);
        std::fs::create_dir_all(&dir).expect("writable");
        std::fs::write(dir.join(format!("{seed}.toml")), small.toml()).expect("writable");
        shown.push(format!("seed {seed}: {why}\n{}", small.toml()));
    }
    assert!(wrong.is_empty(), "{} claims are refuted, of {tally:?}:\n{}", wrong.len(), shown.join("\n"));
    // Attacks on nothing prove nothing.
    let n = if std::env::var_os("WEIR_UNDER").is_some() { 0 } else { tally.sets };
    assert!(n < 1_000 || tally.accepted > n / 5 && tally.bounds > n / 2, "{tally:?}");
}

/// Errors in the analysis are found among sets that they concern.
#[test]
fn planted_errors_are_found() {
    for (name, judge) in planted::ALL {
        let concerned =
            (0..100_000).map(|seed| (seed, Set::draw(seed))).filter(|(_, set)| planted::concerns(name, set));
        let found = concerned.take(1_000).enumerate().find_map(|(nth, (seed, set))| {
            refute(&set, *judge, seed, &mut Tally::default()).err().map(|why| (nth, seed, why))
        });
        let (nth, seed, why) = found.unwrap_or_else(|| panic!("the error `{name}` is not found"));
        println!("{name}: the {nth}th that it concerns, {seed}: {why}");
    }
}
