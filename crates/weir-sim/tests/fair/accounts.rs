// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Shares of groups beside an independent model: nested queues in the limit of short slices.
//!
//! The model divides the CPUs among the runnable members of the root by weight, what a group gets among its own, and so on; a task
//! gets one CPU at most, and what a group cannot use its siblings have. It shares nothing with `group_weight`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_sim::Machine;

use crate::common::*;
use crate::draw::Draw;
use crate::groups::{run as run_groups, run_by};
use crate::weight;

/// A member of a group: it computes, sleeps, and again.
#[derive(Debug, Clone)]
struct Member {
    /// 0: the root.
    group: usize,
    nice: i32,
    start: u64,
    run: u64,
    /// 0: it always computes.
    sleep: u64,
}

#[derive(Debug, Clone, Default)]
struct Set {
    /// Weight and parent of group i + 1.
    groups: Vec<(u32, usize)>,
    members: Vec<Member>,
}

impl Set {
    fn toml(&self) -> String {
        let mut s = String::new();
        for (i, (weight, parent)) in self.groups.iter().enumerate() {
            writeln!(s, "[[group]]\nname = \"g{}\"\nweight = {weight}", i + 1).unwrap();
            if *parent > 0 {
                writeln!(s, "parent = \"g{parent}\"").unwrap();
            }
        }
        for (i, m) in self.members.iter().enumerate() {
            let steps = match m.sleep {
                0 => "\"run 10ms\"".into(),
                sleep => format!("\"run {}ns\", \"sleep {sleep}ns\"", m.run),
            };
            writeln!(
                s,
                "[[task]]\nname = \"t{i}\"\ngroup = \"g{}\"\nnice = {}\nstart = \"{}ns\"\nprogram = [{steps}]\nloop = \"forever\"",
                m.group, m.nice, m.start
            )
            .unwrap();
        }
        s
    }
}

struct Model<'a> {
    set: &'a Set,
    /// What is left of its computing, or when it goes on.
    left: Vec<f64>,
    wakes: Vec<f64>,
    ran: Vec<f64>,
}

impl Model<'_> {
    fn awake(&self, i: usize) -> bool {
        self.wakes[i].is_nan()
    }

    /// Runnable members below a group: what it can use at most.
    fn width(&self, g: usize) -> f64 {
        let own = (0..self.left.len()).filter(|i| self.set.members[*i].group == g && self.awake(*i)).count();
        let below = |s: &usize| self.set.groups[s - 1].1 == g;
        own as f64 + (1..=self.set.groups.len()).filter(below).map(|s| self.width(s)).sum::<f64>()
    }

    /// Divide `cpus` among the competitors in group `g`: each has its part by weight, at most what it can use.
    fn divide(&self, g: usize, cpus: f64, rate: &mut [f64]) {
        let tasks = (0..self.left.len()).filter(|i| self.set.members[*i].group == g && self.awake(*i));
        let mut all: Vec<(bool, usize, f64, f64)> =
            tasks.map(|i| (true, i, weight(self.set.members[i].nice) as f64, 1.0)).collect();
        for s in (1..=self.set.groups.len()).filter(|s| self.set.groups[s - 1].1 == g) {
            let width = self.width(s);
            if width > 0.0 {
                all.push((false, s, f64::from(self.set.groups[s - 1].0), width));
            }
        }
        let mut rest = cpus;
        while !all.is_empty() {
            let sum: f64 = all.iter().map(|a| a.2).sum();
            let full = all.iter().position(|a| rest * a.2 / sum >= a.3);
            let (of, part) = match full {
                Some(i) => (vec![all.remove(i)], None),
                None => (std::mem::take(&mut all), Some(rest / sum)),
            };
            for (task, i, w, most) in of {
                let has = part.map_or(most, |p| p * w);
                rest -= has;
                if task {
                    rate[i] = has;
                } else {
                    self.divide(i, has, rate);
                }
            }
        }
    }
}

/// CPU time of each task, in CPUs, over the time until `end`.
fn model(set: &Set, cpus: u32, end: u64) -> Vec<f64> {
    let n = set.members.len();
    let mut m = Model {
        set,
        left: set.members.iter().map(|m| m.run as f64).collect(),
        wakes: set.members.iter().map(|m| m.start as f64).collect(),
        ran: vec![0.0; n],
    };
    let (mut now, end) = (0.0, end as f64);
    while now < end {
        for i in 0..n {
            if m.wakes[i] <= now {
                m.wakes[i] = f64::NAN;
            }
        }
        let mut rate = vec![0.0; n];
        m.divide(0, f64::from(cpus), &mut rate);
        let mut next = end;
        for (i, rate) in rate.iter().enumerate() {
            if !m.awake(i) {
                next = next.min(m.wakes[i]);
            } else if set.members[i].sleep > 0 && *rate > 0.0 {
                next = next.min(now + m.left[i] / rate);
            }
        }
        let passed = (next - now).max(1.0);
        now += passed;
        for i in (0..n).filter(|i| rate[*i] > 0.0) {
            m.ran[i] += rate[i] * passed;
            if set.members[i].sleep == 0 {
                continue;
            }
            m.left[i] -= rate[i] * passed;
            if m.left[i] <= 0.5 {
                m.left[i] = set.members[i].run as f64;
                m.wakes[i] = now + set.members[i].sleep as f64;
            }
        }
    }
    m.ran.iter().map(|r| r / end).collect()
}

/// Largest difference of a group, in points of all CPUs, and for how many points of the time the model's CPUs are idle. Its members finish at the
/// same instant and sleep together; in a queue they run one after the other, so somebody has that time.
fn differs(topology: &str, set: &Set, cpus: u32, ms: u64) -> (f64, f64, String) {
    // CPUs look at each other at random times: with several, the mean of four runs counts.
    let seeds = if cpus > 1 { 4 } else { 1 };
    let load = toml(&set.toml());
    let seen: Vec<_> =
        (1..=seeds).map(|seed| run_by(topology, &Machine::smp(cpus), &load, ms, seed)).collect();
    let mut want: BTreeMap<String, f64> = BTreeMap::new();
    let mut idle = f64::from(cpus);
    for (m, r) in set.members.iter().zip(model(set, cpus, ms * MS)) {
        *want.entry(format!("g{}", m.group)).or_default() += r;
        idle -= r;
    }
    let mut most = 0.0f64;
    let mut text = String::new();
    for (g, w) in &want {
        let ran: u64 = seen.iter().filter_map(|run| run.ran.get(g)).sum();
        let has = ran as f64 / (ms * MS * seeds) as f64;
        let off = (has - w) / f64::from(cpus) * 100.0;
        write!(text, " {g} {:.2} ({:+.2})", has / f64::from(cpus) * 100.0, off).unwrap();
        most = most.max(off.abs());
    }
    (most, idle / f64::from(cpus) * 100.0, text)
}

const POLICIES: [&str; 4] = ["cfs", "eevdf", "stride", "bvt"];

fn topology(policy: &str, cpus: u32) -> String {
    // The model is the limit of short turns. In these two nobody is preempted during one, and each of up to 300 new tasks has one at first, whatever
    // its weight: turns of 3 ms, the default, are 11 points of the second on eight CPUs.
    let turns = match policy {
        "stride" => "stride(quantum = 300us)",
        "bvt" => "bvt(allowance = 300us)",
        _ => policy,
    };
    let tail = if cpus == 1 {
        format!("entry -> {turns} -> cpus;")
    } else {
        format!("entry each cpu -> fair_balancer -> each cpu {{ {turns} -> cpu }};")
    };
    format!("annotate affinity, group_weight, executed, fair, latency; {tail}")
}

fn hogs(group: usize, n: usize) -> Vec<Member> {
    vec![Member { group, nice: 0, start: 0, run: 1_000_000 * MS, sleep: 0 }; n]
}

fn naps(group: usize, n: usize, run: u64, sleep: u64) -> Vec<Member> {
    vec![Member { group, nice: 0, start: 0, run, sleep }; n]
}

/// Two equal groups, a hog in one, the other never without work: half each, however its members block. (In the model those would
/// all sleep at the same time.)
#[test]
fn members_that_block_leave_their_group_its_half() {
    for (n, run, sleep) in [(20, 700 * US, 7 * MS), (30, 2 * MS, 20 * MS), (8, MS, 5 * MS)] {
        let set = Set {
            groups: vec![(1024, 0), (1024, 0)],
            members: [hogs(1, 1), naps(2, n, run, sleep)].concat(),
        };
        for policy in POLICIES {
            let seen = run_groups(&topology(policy, 1), &Machine::smp(1), &toml(&set.toml()), 1000);
            let hog = seen.ran["g1"] as f64 / (1000 * MS) as f64;
            println!("{policy} {n} x {run}/{sleep}: {hog}");
            assert!((hog - 0.5).abs() < 0.01, "{policy}, {n} x {run} / {sleep}: {hog}");
        }
    }
}

/// Groups in up to three levels. Each has work for all CPUs: tasks that always compute, ones that block, ones that come later.
fn random(seed: u64, cpus: u32) -> Set {
    let mut draw = Draw(seed);
    let mut set = Set::default();
    for _ in 0..draw.between(2, 3) {
        set.groups.push((draw.between(2, 16) as u32 * 256, 0));
    }
    for level in 1..=2 {
        let from = if level == 1 { 1 } else { set.groups.len() / 2 + 1 };
        for parent in from..=set.groups.len() {
            if draw.between(0, 2) == 0 {
                for _ in 0..2 {
                    set.groups.push((draw.between(2, 16) as u32 * 256, parent));
                }
            }
        }
    }
    for g in 1..=set.groups.len() {
        if set.groups.iter().any(|(_, parent)| *parent == g) {
            continue;
        }
        let late = |draw: &mut Draw| if draw.between(0, 3) == 0 { draw.between(0, 100 * MS) } else { 0 };
        if draw.between(0, 2) == 0 {
            for _ in 0..draw.between(1, 3) * u64::from(cpus) {
                let nice = draw.between(0, 6) as i32 - 3;
                set.members.push(Member { nice, start: late(&mut draw), ..hogs(g, 1)[0].clone() });
            }
            continue;
        }
        // Twice as much as all CPUs can serve.
        let (run, sleep) = (draw.between(300 * US, 4 * MS), draw.between(1, 8));
        let sleep = run * sleep / 2;
        for _ in 0..2 * u64::from(cpus) * (run + sleep) / run + 1 {
            let sleep = draw.between(sleep / 2, sleep);
            set.members.push(Member { start: late(&mut draw), ..naps(g, 1, run, sleep)[0].clone() });
        }
    }
    set
}

fn sets(cpus: u32) -> u64 {
    if std::env::var("WEIR_LONG").is_ok() { 100 } else { 12 / u64::from(cpus).min(4) }
}

fn all_sets_agree(cpus: u32) {
    let mut beyond = Vec::new();
    for policy in POLICIES {
        // `cfs` on several CPUs has slices of up to 24 ms, in which weights cannot follow.
        let near = if policy == "cfs" && cpus > 1 { 1.5 } else { 1.0 };
        let (mut bad, mut most) = (0, 0.0f64);
        for seed in 0..sets(cpus) {
            let set = random(seed, cpus);
            let (off, idle, text) = differs(&topology(policy, cpus), &set, cpus, 1000);
            if off > near + idle {
                println!("{policy}, set {seed}: {text}\n  {:?}", set.groups);
                bad += 1;
            }
            most = most.max(off);
        }
        println!("{policy}, {cpus} CPUs: {bad} of {} beyond {near}, at most {most:.2}", sets(cpus));
        if bad > 0 {
            beyond.push((policy, bad));
        }
    }
    assert!(beyond.is_empty(), "{beyond:?}");
}

#[test]
fn random_groups_agree_with_nested_queues_on_one_cpu() {
    all_sets_agree(1);
}

#[test]
fn random_groups_agree_with_nested_queues_on_eight_cpus() {
    all_sets_agree(8);
}
