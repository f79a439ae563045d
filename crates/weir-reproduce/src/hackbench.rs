// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 8.7: hackbench with 1 to 256 groups under a balancer with plain queues, against a fair scheduler.
//!
//! Messages cost both schedulers the same here, and cache warmth is a fixed price of a migration, so the shape is what
//! can be compared: which is faster where, and how time grows with the groups.

use std::collections::BTreeMap;

use weir_model::Costs;

use crate::lab::{self, Done, Figures, Lab, Run};
use crate::registry::Experiment;
use crate::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};
use weir::catalogue::{self, TOPOLOGIES};
use weir::machine;

pub const EXPERIMENT: Experiment = Experiment {
    id: "cobas-8.7",
    aliases: &["8.7", "hackbench"],
    title: "hackbench with 1 to 256 groups against a fair scheduler",
    source: "source 0, section 8.7, figure 8.12, table B.22",
    run,
};

const SOURCE: &str = include_str!("../../../experiments/cobas-8.7/source.csv");

const GROUPS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The source's topology (figure 8.10), and what may stand for its CFS: the same graph with that policy.
const PLAIN: &str = "headq";
const FAIR: [&str; 2] = ["cfs", "eevdf"];

/// What a run was like.
struct Time {
    ns: u64,
    switches: u64,
    migrations: u64,
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("i7-2600")?;
    let costs = Costs::default();
    let fair = FAIR.into_iter().find(|f| catalogue::find(TOPOLOGIES, f).is_some());
    let groups: &[u32] = lab.pick(&GROUPS, &[1, 2, 8, 16]);
    let loops = lab.pick(20, 4);
    let mut plans = BTreeMap::new();
    for name in [Some(PLAIN), fair].into_iter().flatten() {
        plans.insert(name, lab::plan(name, &machine, &[])?);
    }
    let grid: Vec<(u32, &str)> = groups.iter().flat_map(|g| plans.keys().map(move |p| (*g, *p))).collect();
    let runs = lab.points(&grid, |(groups, policy)| {
        let workload = lab::workload(&format!("hackbench:groups={groups},loops={loops},create=1us"))?;
        let o = lab.run(&Run::new(&machine, &plans[policy], &workload, &costs), &mut ())?;
        Ok(Time { ns: o.end_ns, switches: o.context_switches, migrations: o.migrations })
    })?;
    let times: BTreeMap<(u32, &str), Time> = grid.iter().copied().zip(runs).collect();
    let there = Figures::parse(SOURCE);
    let source = |g: u32, column: &str| there.at(&[("groups", &g.to_string())], column).unwrap_or(f64::NAN);
    let ratio = |g: u32| {
        let fair = fair.and_then(|f| times.get(&(g, f)))?;
        Some(fair.ns as f64 / times[&(g, PLAIN)].ns as f64)
    };
    let there_ratio = |g: u32| source(g, "cfs_s") / source(g, "cobas_s");

    let mut report = Report::default();
    let (last, before) = (groups[groups.len() - 1], groups[groups.len() - 2]);
    let growth = |of: &dyn Fn(u32) -> f64| {
        (of(last) / of(before)).log2() / (f64::from(last) / f64::from(before)).log2()
    };
    let here = growth(&|g| times[&(g, PLAIN)].ns as f64);
    report.claims.push(Claim::new(
        "with many groups the time grows in proportion to them: exponent of the last step",
        format!("{:.2}", growth(&|g| source(g, "cobas_s"))),
        format!("{here:.2}"),
        Judged::of((here - 1.0).abs() <= 0.02, (here - 1.0).abs() <= 0.2, "1 within 0.02; partly within 0.2"),
    ));
    if let Some(fair) = fair {
        let list = |f: &dyn Fn(u32) -> f64| {
            groups.iter().map(|g| format!("{} ({g})", short(f(*g)))).collect::<Vec<_>>().join(", ")
        };
        let ratios: Vec<(u32, f64)> = groups.iter().filter_map(|g| Some((*g, ratio(*g)?))).collect();
        let of = |g: u32| ratios.iter().find(|r| r.0 == g).map_or(f64::NAN, |r| r.1);
        let many: Vec<f64> = ratios.iter().filter(|r| r.0 >= 2).map(|r| r.1).collect();
        let wins = many.iter().filter(|r| **r >= 1.0).count();
        report.claims.push(
            Claim::new(
                format!("from two groups on the plain queues are at least as fast as {fair}: its time over theirs (groups)"),
                list(&there_ratio),
                list(&of),
                Judged::of(
                    wins == many.len(),
                    wins * 2 >= many.len(),
                    "1 at least for every number from two on; partly for half of them",
                ),
            )
            .remark("ratios above 1 are wins of the plain queues"),
        );
        report.claims.push(Claim::new(
            "with one group they are slower, by 15 %",
            format!("{:.2}", there_ratio(1)),
            format!("{:.2}", of(1)),
            Judged::of(
                of(1) < 1.0 && (of(1) / there_ratio(1)).max(there_ratio(1) / of(1)) <= NEAR,
                of(1) < 1.0 && of(1) > there_ratio(1) / FAR,
                "within 10 % of the source; partly below 1",
            ),
        ));
        let inside = many.iter().filter(|r| (0.85..=1.8).contains(*r)).count();
        report.claims.push(Claim::new(
            "the difference stays within 0.85 and 1.8",
            "0.85 to 1.78",
            format!(
                "{:.2} to {:.2}",
                ratios.iter().map(|r| r.1).fold(f64::MAX, f64::min),
                ratios.iter().map(|r| r.1).fold(0.0, f64::max)
            ),
            Judged::of(
                inside == many.len(),
                inside * 2 >= many.len(),
                "all from two groups on; partly half of them",
            ),
        ));
        let peak = ratios.iter().fold((0, 0.0), |a, r| if r.1 > a.1 { *r } else { a });
        let end = of(last);
        report.claims.push(Claim::new(
            "the win is greatest at a moderate number of groups and fades with many",
            "greatest at 8 groups (1.78), 1.04 at 256",
            format!("greatest at {} ({:.2}), {end:.2} at {last}", peak.0, peak.1),
            Judged::of(
                (4..=32).contains(&peak.0) && end < peak.1 * 0.9,
                end < peak.1,
                "at 4 to 32 groups, and a tenth less at the end; partly less at the end",
            ),
        ));
    } else {
        report.notes.push("The catalogue has no fair scheduler: nothing is said about CFS.".into());
    }
    let heads = ["groups", "policy", "seconds", "switches", "migrations", "source_cobas_s", "source_cfs_s"];
    let mut table = Table::new("data", &heads);
    for ((g, policy), t) in &times {
        table.row([
            g.to_string(),
            (*policy).to_string(),
            format!("{:.6}", t.ns as f64 / 1e9),
            t.switches.to_string(),
            t.migrations.to_string(),
            source(*g, "cobas_s").to_string(),
            source(*g, "cfs_s").to_string(),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = groups.iter().map(u32::to_string).collect();
    let line = |name: &str, dashed: bool, of: &dyn Fn(u32) -> Option<f64>| Line {
        name: name.into(),
        points: groups.iter().filter_map(|g| Some((g.to_string(), of(*g)?))).collect(),
        colour: 0,
        dashed,
    };
    let lines = vec![line("here", false, &ratio), line("source", true, &|g| Some(there_ratio(g)))];
    report.pictures.push(Picture::new(
        "ratio",
        ("groups", "fair scheduler's time ÷ ours"),
        false,
        &xs,
        lines,
    ));
    let seconds = |name: &'static str, colour: usize| Line {
        name: name.into(),
        points: groups
            .iter()
            .filter_map(|g| Some((g.to_string(), times.get(&(*g, name))?.ns as f64 / 1e9)))
            .collect(),
        colour,
        dashed: false,
    };
    let lines = [Some(PLAIN), fair].into_iter().flatten().enumerate().map(|(i, n)| seconds(n, i)).collect();
    report.pictures.push(Picture::new("time", ("groups", "time, s"), true, &xs, lines));
    report.notes.push(format!(
        "{loops} loops here, 10,000 in the source; the suite of numerical benchmarks of that section is not modelled."
    ));
    Ok(report)
}
