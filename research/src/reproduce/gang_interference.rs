// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program with barriers beside CPU-bound threads, as Linux schedules them (E9) and as best effort on each CPU by itself does (E17).
//!
//! The source's figures survive as captions and prose: only the shape can be compared. The bounds of the verdicts were
//! written before the first run.

use std::collections::BTreeMap;

use weir_core::event::{Event, Observer};

use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table, short};
use weir::machine;

pub const LINUX: Experiment = Experiment {
    id: "multikernel-e9",
    aliases: &["gang-interference"],
    title: "barriers beside CPU-bound threads under linux: variance while they fit, collapse beyond",
    source: "Peter, 2012, 3.2 (E9)",
    run: linux,
};

pub const BEST_EFFORT: Experiment = Experiment {
    id: "multikernel-e17",
    aliases: &["gang-best-effort"],
    title: "the same under best effort on each CPU by itself: the same collapse",
    source: "Peter, 2012, chapter 4 (E17)",
    run: best_effort,
};

/// As in the source: eight CPU-bound threads on 16 CPUs.
const HOGS: u32 = 8;
const CPUS: u32 = 16;
/// A round is an increment of a word in an array and the barrier.
const ROUND: &str = "work=10ns,imbalance=10%";

/// CPU time of each hog.
#[derive(Default)]
struct Hogs(BTreeMap<u32, u64>);

impl Observer for Hogs {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { task, group: "hogs", .. } => _ = self.0.insert(task, 0),
            Event::Off { task, ran_ns, .. } => {
                if let Some(cpu_ns) = self.0.get_mut(&task) {
                    *cpu_ns += ran_ns;
                }
            }
            _ => {}
        }
    }
}

/// One run.
struct Got {
    rounds_per_s: f64,
    /// Mean CPU time of a hog, of a CPU.
    hog_share: f64,
}

/// Several runs of one setting.
struct Runs(Vec<Got>);

impl Runs {
    fn mean(&self, of: fn(&Got) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Standard deviation over the mean.
    fn spread(&self) -> f64 {
        let mean = self.mean(|g| g.rounds_per_s);
        let squares: f64 = self.0.iter().map(|g| (g.rounds_per_s - mean).powi(2)).sum();
        if mean > 0.0 { (squares / self.0.len().max(1) as f64).sqrt() / mean } else { 0.0 }
    }
}

/// Threads, hogs, and what more the generator gets.
#[derive(Clone, Copy, PartialEq)]
struct Point {
    threads: u32,
    hogs: u32,
    counter: &'static str,
}

fn sweep(lab: &Lab<'_>, topology: &str, more: &str, points: &[Point], seeds: u64) -> Done<Vec<Runs>> {
    let machine = machine::resolve("amd-4x4")?;
    let costs = lab::costs("amd-4x4")?;
    let plan = lab::plan(topology, &machine, &[])?;
    let duration_ns = lab.pick(200_000_000, 100_000_000);
    let all: Vec<(Point, u64)> = points.iter().flat_map(|p| (1..=seeds).map(move |s| (*p, s))).collect();
    let got = lab.points(&all, |(p, seed)| {
        let Point { threads, hogs, counter } = p;
        let spec = format!("team:threads={threads},{ROUND},hogs={hogs},counter={counter}{more}");
        let workload = lab::workload_with(&spec, *seed)?;
        let mut seen = Hogs::default();
        let run = Run {
            duration_ns: Some(duration_ns),
            seed: *seed,
            ..Run::new(&machine, &plan, &workload, &costs)
        };
        let outcome = lab.run(&run, &mut seen)?;
        let span = duration_ns as f64;
        Ok(Got {
            rounds_per_s: outcome.barriers.first().map_or(0, |b| b.1) as f64 * 1e9 / span,
            hog_share: seen.0.values().sum::<u64>() as f64 / span / f64::from((*hogs).max(1)),
        })
    })?;
    let mut runs: Vec<Runs> = points.iter().map(|_| Runs(Vec::new())).collect();
    for ((p, _), g) in all.iter().zip(got) {
        let i = points.iter().position(|q| q == p).expect("it is one of them");
        runs[i].0.push(g);
    }
    Ok(runs)
}

/// The sweep of both experiments: threads with hogs and without.
fn both(
    lab: &Lab<'_>,
    topology: &str,
    counter: &'static str,
    more: &str,
    seeds: u64,
) -> Done<(Vec<u32>, Vec<Point>, Vec<Runs>)> {
    let sizes: Vec<u32> = lab.pick((1..=8).map(|n| 2 * n).collect(), vec![2, 8, 16]);
    let mut points = Vec::new();
    for hogs in [HOGS, 0] {
        points.extend(sizes.iter().map(|&threads| Point { threads, hogs, counter }));
    }
    let got = sweep(lab, topology, more, &points, seeds)?;
    Ok((sizes, points, got))
}

/// Of the sweep, which comes before all other points.
fn at<'a>(points: &[Point], got: &'a [Runs], threads: u32, hogs: u32) -> &'a Runs {
    let is = |p: &Point| p.threads == threads && p.hogs == hogs;
    &got[points.iter().position(is).expect("it was made")]
}

fn report_of(sizes: &[u32], points: &[Point], got: &[Runs]) -> Report {
    let mut report = Report::default();
    let heads = ["threads", "hogs", "counter", "rounds_per_s", "deviation", "hog_share"];
    let mut table = Table::new("data", &heads);
    for (p, runs) in points.iter().zip(got) {
        table.row([
            p.threads.to_string(),
            p.hogs.to_string(),
            p.counter.to_string(),
            format!("{:.0}", runs.mean(|g| g.rounds_per_s)),
            format!("{:.4}", runs.spread()),
            format!("{:.4}", runs.mean(|g| g.hog_share)),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let lines = [(0, "alone"), (HOGS, "beside 8 CPU-bound threads")];
    let lines = (0..).zip(lines).map(|(colour, (hogs, name))| Line {
        name: name.into(),
        points: sizes
            .iter()
            .map(|&n| (n.to_string(), at(points, got, n, hogs).mean(|g| g.rounds_per_s)))
            .collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new(
        "rounds",
        ("threads of the program", "rounds a second"),
        true,
        &xs,
        lines.collect(),
    ));
    report
}

fn collapse(points: &[Point], got: &[Runs], source: &str) -> Claim {
    let (alone, beside) = (at(points, got, CPUS, 0), at(points, got, CPUS, HOGS));
    let (alone, beside) = (alone.mean(|g| g.rounds_per_s), beside.mean(|g| g.rounds_per_s));
    let left = beside / alone;
    Claim::new(
        format!("{CPUS} threads beside {HOGS} CPU-bound ones: rounds that are lost"),
        source,
        format!("{:.1} % ({} of {} rounds/s are left)", 100.0 * (1.0 - left), short(beside), short(alone)),
        Judged::of(left <= 0.2, left <= 0.5, "at least 80 %; partly at least 50 %"),
    )
}

fn fits(points: &[Point], got: &[Runs]) -> f64 {
    let mean = |hogs| at(points, got, 8, hogs).mean(|g| g.rounds_per_s);
    mean(HOGS) / mean(0)
}

fn linux(lab: &Lab<'_>) -> Done<Report> {
    // The runtime library of the source spins for 200 ms before it blocks. The threads of the two programs come in an order that differs
    // from run to run, so that other CPUs are free for them.
    let more = ",spin=200ms,stagger=0,scatter=1ms";
    // Its barrier scales better than one with a single counter, says E17.
    let (sizes, points, got) = both(lab, "linux", "tree", more, lab.pick(10, 2))?;
    let mut report = report_of(&sizes, &points, &got);
    report.claims.push(collapse(&points, &got, "E9: BARRIER collapses; at least 80 % expected"));
    let kept = fits(&points, &got);
    report.claims.push(Claim::new(
        "8 threads, when each has a CPU of its own: rounds of those without CPU-bound threads",
        "E9: up to 8 threads only variance",
        format!("{:.1} %", 100.0 * kept),
        Judged::of(kept >= 0.8, kept >= 0.5, "at least 80 %; partly at least 50 %"),
    ));
    let small: Vec<u32> = sizes.iter().copied().filter(|n| *n <= 8).collect();
    let spread = small.iter().map(|n| at(&points, &got, *n, HOGS).spread()).fold(0.0, f64::max);
    report.claims.push(
        Claim::new(
            "up to 8 threads, runs differ, by where threads happen to be placed",
            "E9: high variance from random placement (75 cycles within a package, 160 across)",
            format!("relative deviation of up to {:.3} between runs", spread),
            Judged::of(spread >= 0.1, spread >= 0.02, "at least 0.1; partly at least 0.02"),
        )
        .remark("the order in which threads begin, within a millisecond, differs between runs"),
    );
    let share = |n: u32| at(&points, &got, n, HOGS).mean(|g| g.hog_share);
    let fair = |n: u32| (f64::from(CPUS) / f64::from(n + HOGS)).min(1.0);
    let off = sizes.iter().map(|&n| (share(n) / fair(n) - 1.0).abs()).fold(0.0, f64::max);
    report.claims.push(Claim::new(
        "a CPU-bound thread's share falls as threads are added, as an equal division says",
        "E9: CPU-bound degrades linearly",
        format!(
            "{:.2} of a CPU at 8 threads, {:.2} at {CPUS}; at most {:.0} % off",
            share(8),
            share(CPUS),
            100.0 * off
        ),
        Judged::of(off <= 0.15, off <= 0.3, "at most 15 % off; partly at most 30 %"),
    ));
    Ok(report)
}

fn best_effort(lab: &Lab<'_>) -> Done<Report> {
    let seeds = 1;
    let more = format!(",spin=200ms,pin={CPUS}");
    // The topology of the gang without a manifest: round robin on each CPU, and no thread leaves its own.
    let (sizes, mut points, mut got) = both(lab, "gang", "central", &more, seeds)?;
    let tree: Vec<Point> = [2, CPUS].map(|threads| Point { threads, hogs: 0, counter: "tree" }).into();
    got.extend(sweep(lab, "gang", &more, &tree, seeds)?);
    points.extend(tree);
    let mut report = report_of(&sizes, &points, &got);
    report.claims.push(collapse(&points, &got, "E17: the same collapse as E9; at least 80 % expected"));
    let kept = fits(&points, &got);
    report.claims.push(Claim::new(
        "8 threads, when each has a CPU of its own, lose nothing",
        "E17: the collapse is beyond 8 threads",
        format!("{:.1} % of the rounds without CPU-bound threads", 100.0 * kept),
        Judged::of(kept >= 0.9, kept >= 0.7, "at least 90 %; partly at least 70 %"),
    ));
    let rounds = |threads: u32, counter: &str| {
        let is = |p: &Point| p.threads == threads && p.hogs == 0 && p.counter == counter;
        got[points.iter().position(is).expect("it was made")].mean(|g| g.rounds_per_s)
    };
    let keeps = |counter| rounds(CPUS, counter) / rounds(2, counter);
    let (central, tree) = (keeps("central"), keeps("tree"));
    report.claims.push(
        Claim::new(
            "a barrier with one counter scales worse than one with a tree",
            "E17: BARRIER scales worse before the collapse (central counter)",
            format!(
                "{CPUS} threads make {:.0} % of the rounds of two with one counter, {:.0} % with a tree",
                100.0 * central,
                100.0 * tree
            ),
            Judged::of(central < 0.8 * tree, central < tree, "at most 80 % of the tree's; partly less"),
        )
        .remark("a line that another CPU has written costs what Peter, 2012, measured on this machine (E1)"),
    );
    Ok(report)
}
