// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Area and clock on an ECP5, and switching activity. Synthesis takes hours, so it is not made here: `make hw-area` and
//! `make hw-activity` make the tables, which are kept beside the experiments and judged here.

use std::collections::BTreeMap;

use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};

/// What `hw/syn/area.sh` and `hw/syn/synth.sh` printed.
const ENGINE: &str = include_str!("../../../../experiments/llf-e7/synthesis.csv");
const ACTIVITY: &str = include_str!("../../../../experiments/llf-e8/activity.csv");
const UNIFIED: &str = include_str!("../../../../experiments/unified-area/synthesis.csv");

pub const E5: Experiment = Experiment {
    id: "llf-e5",
    aliases: &["e5"],
    title: "LUTs and flip-flops of the scheduling engine by tasks",
    source: "Mancuso et al., VI-C, figure 3",
    run: e5,
};
pub const E7: Experiment = Experiment {
    id: "llf-e7",
    aliases: &["e7"],
    title: "clock of the scheduling engine by tasks",
    source: "Mancuso et al., VI-D, figure 5",
    run: e7,
};
pub const E8: Experiment = Experiment {
    id: "llf-e8",
    aliases: &["e8"],
    title: "switching activity of the scheduling engine by tasks, an estimate of what its power depends on",
    source: "Mancuso et al., VI-E, figure 6",
    run: e8,
};
pub const SHARES: Experiment = Experiment {
    id: "unified-area",
    aliases: &["area"],
    title: "area of the unified controller against the full set",
    source: "Preston, 2011, chapter 5, tables 5.1 and 5.2",
    run: shares,
};

const JUDGED: &str = "Synthesised beforehand with Yosys and nextpnr for a Lattice LFE5U-85F (`make hw-area`); this command judges the \
                      recorded table and synthesises nothing.";

#[derive(Clone, Debug)]
struct Row {
    module: String,
    parameters: String,
    luts: f64,
    flops: f64,
    mhz: f64,
}

fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut cells = line.rsplitn(5, ',');
        let (mhz, flops, luts) =
            (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        let _seed = cells.next()?;
        let (module, parameters) = cells.next()?.split_once(',')?;
        Some(Row { module: module.into(), parameters: parameters.into(), luts, flops, mhz })
    };
    text.lines().filter_map(row).collect()
}

/// Rows of the engine with this selector, by tasks.
fn engines(select: u32) -> BTreeMap<u32, Vec<Row>> {
    let mut by: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for row in rows(ENGINE) {
        let value = |name: &str| {
            row.parameters.split(' ').find_map(|p| p.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        };
        if let (Some(n), true) = (value("NumTasks"), value("Select") == Some(select)) {
            by.entry(n).or_default().push(row);
        }
    }
    by
}

fn mean(rows: &[Row], of: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(of).sum::<f64>() / rows.len() as f64
}

/// Slope, intercept and R² of the straight line through the points.
fn line(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sxy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
    let syy: f64 = points.iter().map(|p| (p.1 - my).powi(2)).sum();
    (sxy / sxx, my - sxy / sxx * mx, sxy * sxy / (sxx * syy))
}

const SELECTORS: [(u32, &str); 2] = [(0, "serial"), (2, "pipelined tree")];

fn e5(_: &Lab<'_>) -> Done<Report> {
    let mut report = Report::default();
    for (select, name) in SELECTORS {
        let by = engines(select);
        if by.len() < 4 {
            continue;
        }
        for (what, of) in
            [("LUTs", &(|r: &Row| r.luts) as &dyn Fn(&Row) -> f64), ("flip-flops", &|r: &Row| r.flops)]
        {
            let points: Vec<(f64, f64)> = by.iter().map(|(n, r)| (f64::from(*n), mean(r, of))).collect();
            let (slope, base, r2) = line(&points);
            report.claims.push(Claim::new(
                format!("{what} grow linearly with the number of tasks ({name} selection)"),
                "linear",
                format!("{} a task and {} besides, R² = {r2:.4}", short(slope), short(base)),
                Judged::of(r2 >= 0.99, r2 >= 0.95, "R² at least 0.99; partly 0.95"),
            ));
        }
    }
    report.tables.push(table());
    report.notes.push(JUDGED.into());
    report.notes.push("E6, the comparison with a Pfair scheduler in 90 nm, compares other technology; its figure is cited in docs/hardware-evidence.md and not reproduced.".into());
    Ok(report)
}

fn table() -> Table {
    let mut table = Table::new(
        "data",
        &["selector", "tasks", "seeds", "luts", "flip_flops", "mhz_min", "mhz_mean", "mhz_max"],
    );
    for (select, name) in SELECTORS {
        for (n, r) in engines(select) {
            let mhz = |f: fn(f64, f64) -> f64, from: f64| r.iter().map(|x| x.mhz).fold(from, f);
            table.row([
                name.to_string(),
                n.to_string(),
                r.len().to_string(),
                format!("{:.0}", mean(&r, |x| x.luts)),
                format!("{:.0}", mean(&r, |x| x.flops)),
                format!("{:.1}", mhz(f64::min, f64::MAX)),
                format!("{:.1}", mean(&r, |x| x.mhz)),
                format!("{:.1}", mhz(f64::max, 0.0)),
            ]);
        }
    }
    table
}

fn e7(_: &Lab<'_>) -> Done<Report> {
    let mut report = Report::default();
    let serial = engines(0);
    let mhz: BTreeMap<u32, f64> = serial.iter().map(|(n, r)| (*n, mean(r, |x| x.mhz))).collect();
    let at = |n: u32| mhz.get(&n).copied().unwrap_or(f64::NAN);
    let best50 =
        SELECTORS.iter().filter_map(|(s, name)| Some((mean(engines(*s).get(&50)?, |x| x.mhz), *name)));
    let best50 = best50.fold((0.0, ""), |a, b| if b.0 > a.0 { b } else { a });
    report.claims.push(
        Claim::new(
            "with 50 tasks and two CPUs the engine reaches the clock that 10 kHz ticks need many times over",
            "48 MHz",
            format!("{:.1} MHz ({})", best50.0, best50.1),
            Judged::of(best50.0 >= 48.0, best50.0 >= 24.0, "at least 48 MHz, as in the source; partly half of it"),
        )
        .remark("the source: Zynq-7020, vendor tools, all in one clock; here an ECP5 with open tools. Our own goal was 66 MHz"),
    );
    let (early, late) = ((at(8) - at(16)) / at(8) / 8.0, (at(32) - at(50)) / at(32) / 18.0);
    report.claims.push(Claim::new(
        "the clock falls sharply first and slowly later",
        "sharply from 10 to 20 tasks, then linearly",
        format!(
            "by {:.2} % a task from 8 to 16, by {:.2} % from 32 to 50 (serial)",
            100.0 * early,
            100.0 * late
        ),
        Judged::of(
            early > 1.5 * late,
            early > late,
            "a task costs 1.5 times as much from 8 to 16 as from 32 to 50; partly more",
        ),
    ));
    let xs: Vec<String> = mhz.keys().map(u32::to_string).collect();
    let lines = SELECTORS.iter().enumerate().map(|(colour, (s, name))| Line {
        name: (*name).into(),
        points: engines(*s).iter().map(|(n, r)| (n.to_string(), mean(r, |x| x.mhz))).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new("clock", ("tasks", "MHz"), false, &xs, lines.collect()));
    report.tables.push(table());
    report.notes.push(JUDGED.into());
    Ok(report)
}

/// What `hw/syn/activity.sh` printed of one size.
#[derive(Clone, Debug)]
struct Active {
    tasks: u32,
    /// Changes of outputs in a tick: of LUTs, of flip-flops, of both while only clocks are counted.
    luts: f64,
    flops: f64,
    idle: f64,
}

impl Active {
    fn all(&self) -> f64 {
        self.luts + self.flops
    }
}

fn activity(text: &str) -> Vec<Active> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [tasks, _, _, _, _, luts, flops, idle] = cells[..] else { return None };
        let figure = |cell: &str| cell.parse::<f64>().ok();
        Some(Active {
            tasks: tasks.parse().ok()?,
            luts: figure(luts)?,
            flops: figure(flops)?,
            idle: figure(idle)?,
        })
    };
    text.lines().filter_map(row).collect()
}

fn e8(_: &Lab<'_>) -> Done<Report> {
    let all = activity(ACTIVITY);
    let at = |n: u32| all.iter().find(|a| a.tasks == n).map_or(f64::NAN, Active::all);
    let (first, last) = (&all[0], &all[all.len() - 1]);
    let mut report = Report::default();
    report.claims.push(
        Claim::new(
            "more tasks switch more",
            "power grows with the number of tasks",
            format!(
                "{} changes a tick with {} tasks, {} with 16, {} with 32, {} with 50, {} with {}",
                short(first.all()),
                first.tasks,
                short(at(16)),
                short(at(32)),
                short(at(50)),
                short(last.all()),
                last.tasks
            ),
            Judged::of(
                all.windows(2).all(|w| w[1].all() > w[0].all()),
                last.all() > first.all(),
                "more at each size than at the one before; partly at the largest than at the smallest",
            ),
        )
        .remark("flip-flops alone switch more at each size; LUTs do not: how they are mapped differs from size to size"),
    );
    let (early, late) = ((at(40) - at(32)) / 8.0, (at(64) - at(40)) / 24.0);
    report.claims.push(
        Claim::new(
            "the rise is sharp between 30 and 40 tasks",
            "sharp between 30 and 40 tasks, linear from there",
            format!("{} changes a task from 32 to 40, {} from 40 to 64", short(early), short(late)),
            Judged::of(
                early > 1.5 * late && early > 0.0,
                early > late && early > 0.0,
                "a task adds 1.5 times as much from 32 to 40 as from 40 to 64; partly more",
            ),
        )
        .remark("the source gives speed-driven synthesis by the vendor's tools as the reason"),
    );
    let share = |a: &Active| a.idle / a.all();
    let (least, most) = all.iter().map(share).fold((f64::MAX, 0.0f64), |(l, m), s| (l.min(s), m.max(s)));
    report.claims.push(
        Claim::new(
            "at 10 kHz most of the activity is the count of clocks between ticks, not scheduling",
            "not in the source",
            format!("{:.0} to {:.0} %", 100.0 * least, 100.0 * most),
            Judged::of(least > 0.5, most > 0.5, "more than half at all sizes; partly at some"),
        )
        .own(),
    );
    let mut table = Table::new("data", &["tasks", "luts", "flip_flops", "counting"]);
    for a in &all {
        let figures = [a.luts, a.flops, a.idle].map(|f| format!("{f:.0}"));
        table.row([a.tasks.to_string()].into_iter().chain(figures));
    }
    report.tables.push(table);
    let xs: Vec<String> = all.iter().map(|a| a.tasks.to_string()).collect();
    let line = |name: &str, colour, of: &dyn Fn(&Active) -> f64| Line {
        name: name.into(),
        points: all.iter().map(|a| (a.tasks.to_string(), of(a))).collect(),
        colour,
        dashed: false,
    };
    let lines = vec![
        line("LUTs and flip-flops", 0, &Active::all),
        line("while only clocks are counted", 1, &|a| a.idle),
        line("flip-flops", 2, &|a| a.flops),
    ];
    report.pictures.push(Picture::new("activity", ("tasks", "changes a tick"), false, &xs, lines));
    report.notes.push(
        "An estimate, no power: netlists of four-input LUTs are simulated without delays, so there are no glitches, wires have no \
         length, and the clock tree, which switches at each clock and grows with the flip-flops, is not counted. Two CPUs at 90 %, \
         4,800 clocks a tick (10 kHz at 48 MHz), the same jobs a tick at all sizes, serial selection."
            .into(),
    );
    report.notes.push("Simulated beforehand (`make hw-activity`); this command judges the recorded table and simulates nothing.".into());
    Ok(report)
}

fn shares(_: &Lab<'_>) -> Done<Report> {
    let all = rows(UNIFIED);
    let luts = |module: &str| all.iter().find(|r| r.module == module).map_or(f64::NAN, |r| r.luts);
    let parts = [
        ("weir_mutexes", "Mutex", 344.0),
        ("weir_conditions", "Condition", 294.0),
        ("weir_threads", "Thread Manager", 500.0),
        ("weir_lists", "Scheduler", 1455.0),
        ("weir_timers", "Timer", 842.0),
        ("weir_interrupts", "CBIS", 667.0),
    ];
    let sum: f64 = parts.iter().map(|(m, _, _)| luts(m)).sum();
    let unified = luts("weir_unified");
    let mut report = Report::default();
    let share = unified / sum;
    report.claims.push(
        Claim::new(
            "the unified controller takes a fifth of the full set",
            "21.6 % (887 of 4,102 slices)",
            format!("{:.1} % ({} of {} LUTs)", 100.0 * share, short(unified), short(sum)),
            Judged::near(share, 0.216, NEAR, FAR),
        )
        .remark("ours is smaller: lines and timers share one memory, one search and one comparator, while our thread manager and timers are larger than the source's"),
    );
    let mut table =
        Table::new("data", &["module", "in_the_source", "slices_there", "luts", "flip_flops", "mhz"]);
    for (module, name, slices) in
        parts.into_iter().chain([("weir_unified", "Unified", 887.0), ("weir_kernel", "all six", 4102.0)])
    {
        if let Some(r) = all.iter().find(|r| r.module == module) {
            table.row([
                module.to_string(),
                name.into(),
                format!("{slices:.0}"),
                format!("{:.0}", r.luts),
                format!("{:.0}", r.flops),
                format!("{:.1}", r.mhz),
            ]);
        }
    }
    report.tables.push(table);
    report.notes.push(JUDGED.into());
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_tables_are_understood() {
        for text in [ENGINE, UNIFIED] {
            let lines = text.lines().filter(|l| l.starts_with("weir_")).count();
            assert!(lines > 0 && rows(text).len() == lines, "{text}");
        }
        let active = activity(ACTIVITY);
        assert_eq!(active.len(), ACTIVITY.lines().count() - 1, "{ACTIVITY}");
        let tasks: Vec<u32> = active.iter().map(|a| a.tasks).collect();
        assert!([16, 32, 40, 50, 64].iter().all(|n| tasks.contains(n)) && tasks.is_sorted(), "{tasks:?}");
    }

    #[test]
    fn a_straight_line_is_found() {
        let (slope, base, r2) = line(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]);
        assert!((slope - 2.0).abs() < 1e-9 && (base - 3.0).abs() < 1e-9 && (r2 - 1.0).abs() < 1e-9);
    }
}
