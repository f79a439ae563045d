// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 8.6: what does it cost to divide a policy among 1 to 6 stages? Simulated and native.
//!
//! Topologies `chain1` to `chain6` on one CPU under hackbench; the work of all stages together stays the same. The
//! cost table of source 0 was fitted to the source's stage (docs/costs.md), so the simulated slope is no finding
//! of its own; how it fades with work, and the native figures, are.

use std::collections::BTreeMap;

use weir_model::Machine;

use crate::reproduce::cobas;
use crate::reproduce::lab::{self, Calls, Done, Figures, Lab, Run};
use crate::reproduce::native;
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};

pub const EXPERIMENT: Experiment = Experiment {
    id: "cobas-8.6",
    aliases: &["8.6", "composition"],
    title: "the cost of composition, chains of 1 to 6 stages",
    source: "source 0, section 8.6, figure 8.9, table B.20",
    run,
};

const SOURCE: &str = include_str!("../../../experiments/cobas-8.6/source.csv");

/// Work of all stages together, clock cycles of 0.5 ns, as in the source.
const CYCLES: [u32; 21] = [
    0, 50, 100, 150, 300, 450, 600, 900, 1200, 2100, 3000, 4500, 6000, 7500, 9000, 10500, 12000, 13500,
    15000, 16500, 25000,
];
/// Cycles of an iteration of `depth`'s loop.
const CYCLES_PER_ITERATION: u32 = 5;
const STAGES: [u32; 6] = [1, 2, 3, 4, 5, 6];

/// The source's load: 25 groups, 100 loops as in its section 8.5. A message costs what its own run says: 1.222 s for a million of them,
/// which is 0.6 us a side.
const LOAD: &str = "hackbench:groups=25,loops=100,work=600ns";

/// One chain under load.
struct Point {
    /// Mean of all stages' updates for one change, us: the source's `depth_pipe_update_stage_0`, inclusive.
    update_us: f64,
    updates: u64,
    /// Mean of a whole wake-up call, us.
    unblock_us: f64,
    stages_ns: u64,
    end_ns: u64,
}

fn measure(lab: &Lab<'_>, cycles: u32, stages: u32) -> Done<Point> {
    let (machine, costs) = (Machine::smp(1), cobas::simulated());
    let each = CYCLES_PER_ITERATION * stages;
    let iterations = (cycles + each / 2) / each;
    let plan =
        lab::plan(&format!("chain{stages}"), &machine, &[("depth", "iterations", iterations.to_string())])?;
    let workload = lab::workload(lab.pick(LOAD, "hackbench:groups=4,loops=2"))?;
    let mut calls = Calls::new(&costs);
    let outcome = lab.run(&Run::new(&machine, &plan, &workload, &costs), &mut calls)?;
    let is_stage = |i: &usize| plan.instances[*i].name.starts_with("stage");
    let of: Vec<(u64, u64)> = (0..plan.instances.len())
        .filter(is_stage)
        .map(|i| calls.instances.get(i).copied().unwrap_or_default())
        .collect();
    let stages_ns = of.iter().map(|s| s.0).sum();
    let updates = of.iter().map(|s| s.1).max().unwrap_or(0);
    // The core takes a stage's in-pipe lock before its update; the source's update function takes it itself.
    let locks_ns = u64::from(stages) * costs.lock_uncontended;
    // Every chain of the source ends in the component Termination.
    let end_ns = costs.prices().ending();
    let update_us = (stages_ns as f64 / updates.max(1) as f64 + (locks_ns + end_ns) as f64) / 1e3;
    let unblock_us = calls.unblock.mean_us();
    Ok(Point { update_us, updates, unblock_us, stages_ns, end_ns: outcome.end_ns })
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let cycles: &[u32] = lab.pick(&CYCLES, &[0, 3000, 25000]);
    let stages: &[u32] = lab.pick(&STAGES, &[1, 2, 6]);
    let grid: Vec<(u32, u32)> = cycles.iter().flat_map(|c| stages.iter().map(move |s| (*c, *s))).collect();
    let measured = lab.points(&grid, |(c, s)| measure(lab, *c, *s))?;
    let points: BTreeMap<(u32, u32), Point> = grid.into_iter().zip(measured).collect();
    let native = native::chains("head_queue", lab.pick(300, 10))?;
    let there = Figures::parse(SOURCE);
    let source = |c: u32, s: u32| {
        there.at(&[("cycles", &c.to_string()), ("stages", &s.to_string())], "update_us").unwrap_or(f64::NAN)
    };
    let mut report = Report { claims: claims(&points, &source, &native), ..Report::default() };

    let mut table =
        Table::new("data", &["cycles", "stages", "update_us", "updates", "wakeup_us", "source_update_us"]);
    for ((c, s), p) in &points {
        let cells = [
            c.to_string(),
            s.to_string(),
            format!("{:.3}", p.update_us),
            p.updates.to_string(),
            format!("{:.3}", p.unblock_us),
        ];
        table.row(cells.into_iter().chain([format!("{:.3}", source(*c, *s))]));
    }
    report.tables.push(table);
    let mut table = Table::new("native", &["stages", "ns_a_pair", "added_ns"]);
    for (i, ns) in native.iter().enumerate() {
        let added = if i == 0 { String::new() } else { format!("{:.1}", ns - native[i - 1]) };
        table.row([(i + 1).to_string(), format!("{ns:.1}"), added]);
    }
    report.tables.push(table);

    let xs: Vec<String> = cycles.iter().filter(|c| **c > 0).map(u32::to_string).collect();
    let mut lines = Vec::new();
    for (colour, s) in stages.iter().filter(|s| **s > 1).enumerate() {
        let line = |dashed: bool, name: String, of: &dyn Fn(u32, u32) -> f64| Line {
            name,
            points: cycles.iter().map(|c| (c.to_string(), of(*c, *s) / of(*c, 1))).collect(),
            colour,
            dashed,
        };
        lines.push(line(false, format!("{s} stages"), &|c, s| points[&(c, s)].update_us));
        lines.push(line(true, format!("{s}, source"), &source));
    }
    let titles = ("work of all stages together, cycles", "time of the chain ÷ time of one stage");
    report.pictures.push(Picture::new("ratio", titles, false, &xs, lines));
    Ok(report)
}

fn claims(
    points: &BTreeMap<(u32, u32), Point>,
    source: &dyn Fn(u32, u32) -> f64,
    native: &[f64],
) -> Vec<Claim> {
    let us = |c: u32, s: u32| points[&(c, s)].update_us;
    let slope = |of: &dyn Fn(u32, u32) -> f64| (of(0, 6) - of(0, 1)) / 5.0;
    let ratio = |of: &dyn Fn(u32, u32) -> f64, c: u32| of(c, 6) / of(c, 1);
    let mut claims = vec![
        Claim::new(
            "each further stage adds the same: no work, us a stage",
            format!("{:.3}", slope(source)),
            format!("{:.3}", slope(&us)),
            Judged::near(slope(&us), slope(source), 1.05, 1.5),
        )
        .fitted("the cost table was fitted to this figure"),
    ];
    claims.push(
        Claim::new(
            "six stages without work take less than six times as long as one, since the chain is not all of a call",
            format!("{} × (update of the first stage, inclusive)", short(ratio(source, 0))),
            format!("{} × (the same)", short(ratio(&us, 0))),
            Judged::of(
                ratio(&us, 0) < 6.0 && (ratio(&us, 0) / ratio(source, 0) - 1.0).abs() <= 0.1,
                ratio(&us, 0) < 6.0,
                "within 10 % of the source; partly below 6",
            ),
        )
        .remark(
            "every chain of the source ends in its Termination component, whose update is in the figure; it is charged as any update of \
             one change, which was fitted to another figure",
        ),
    );
    for c in [3000, 25000] {
        claims.push(
            Claim::new(
                format!("the more work, the less a division matters: {c} cycles, six stages over one"),
                format!("{} ×", short(ratio(source, c))),
                format!("{} ×", short(ratio(&us, c))),
                Judged::near(ratio(&us, c), ratio(source, c), 1.05, 1.3),
            )
            .fitted("it follows from the stage, which was fitted, and the source's own cost of a cycle"),
        );
    }
    // The source's text compares five stages with four: 20.62 and 16.80 ms of 1.222 s.
    let (few, many) = (STAGES[3], STAGES[4]);
    let (few, many) = if points.contains_key(&(0, few)) { (few, many) } else { (1, 2) };
    let (less, more) = (&points[&(0, few)], &points[&(0, many)]);
    let extra = more.stages_ns.saturating_sub(less.stages_ns) as f64 / f64::from(many - few);
    let share = extra / (more.end_ns as f64 - extra).max(1.0) * 1e3;
    claims.push(
        Claim::new(
            "seen from the whole system one stage more costs little: five stages instead of four",
            "3.1 ‰ (20.62 - 16.80 ms of 1.222 s; 1.66 ‰ is printed)",
            format!("{share:.2} ‰ ({many} stages instead of {few}; {} updates, there 17,850)", short(more.updates as f64)),
            Judged::near(share, 3.1, NEAR, FAR),
        )
        .remark(
            "the stage has the source's cost (it was fitted) and a message that of its run, so this is how often the first stage is \
             updated: once for a task that comes and once for one that is dispatched. The source's 17,850 times are 3.82 ms at \
             0.214 us",
        ),
    );
    let first = native[0];
    let added: Vec<f64> = native.windows(2).map(|w| w[1] - w[0]).collect();
    let mean = added.iter().sum::<f64>() / added.len() as f64;
    let even = added.iter().all(|a| (a - mean).abs() <= 0.25 * mean);
    claims.push(
        Claim::new(
            "native, this computer: a stage costs the same each time",
            "214 ns a stage and change (simulated 2 GHz)",
            format!(
                "{:.1} ns a stage for an admission and a pick (two changes); six stages {} × one",
                mean,
                short(native[5] / first)
            ),
            Judged::of(even, mean > 0.0, "each within 25 % of their mean; partly if they cost anything"),
        )
        .own()
        .remark("wall-clock time of this computer: not the same each time. The source's 214 ns are of a simulated 2 GHz core"),
    );
    claims
}
