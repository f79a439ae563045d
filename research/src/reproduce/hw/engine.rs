// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 2, chapter VI: the scheduling engine on a system, and the same rules in software on the same core.

use crate::soc::System;
use crate::soc::Visit;
use crate::soc::measure::{Clocks, SocResult};

use super::{FOUR, Point, figure, runs, with_tools};
use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};

pub const E2: Experiment = Experiment {
    id: "llf-e2",
    aliases: &["e2"],
    title: "what a switch takes with the scheduling engine, and with schedulers in software, on the same core",
    source: "Mancuso et al., VI-B, table I",
    run: |lab| with_tools(lab, "llf-e2", e2),
};
pub const E3: Experiment = Experiment {
    id: "llf-e3",
    aliases: &["e3"],
    title: "how much 100,000 switches differ",
    source: "Mancuso et al., VI-B",
    run: |lab| with_tools(lab, "llf-e3", e3),
};
pub const E4: Experiment = Experiment {
    id: "llf-e4",
    aliases: &["e4"],
    title: "overhead by the distance of ticks, against the bound, and against ticks in software",
    source: "Mancuso et al., V-B2, VI-B, equations (1) and (2)",
    run: |lab| with_tools(lab, "llf-e4", e4),
};
pub const PAYS: Experiment = Experiment {
    id: "llf-pays",
    aliases: &["pays"],
    title: "from how many tasks on the engine pays: decisions in hardware and in software on the same core",
    source: "ours; neither source could show it",
    run: |lab| with_tools(lab, "llf-pays", pays),
};

/// A program of periodic tasks; the engine has room for 16, or 64 where there are more.
fn periodic(system: System, cpus: u32, tasks: u32, settings: &[(&str, u32)]) -> Point {
    let mut all = vec![("TASKS", tasks)];
    all.extend(settings);
    Point { cpus, tasks: if tasks > 16 { 64 } else { 16 }, ..Point::new(system, "periodic", &all) }
}

/// Stays in the kernel that an interrupt led to, from its rise on.
fn switches(done: &SocResult) -> Clocks {
    Clocks::of(done.outcome.visits.iter().filter_map(|v| Some(v.exit - v.rise?)))
}

/// Share of the CPUs' time from the rise of interrupts to the next instruction of a thread.
fn overhead(done: &SocResult, cpus: u32) -> f64 {
    let spent = |v: &Visit| v.exit - v.rise.unwrap_or(v.entry);
    let all: u64 = done.outcome.visits.iter().map(spent).sum();
    all as f64 / (done.outcome.clocks as f64 * f64::from(cpus))
}

/// How much the greatest differs from the least, of the mean.
fn spread(c: &Clocks) -> f64 {
    (c.max - c.min) as f64 / c.mean as f64
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn e2(lab: &Lab<'_>) -> Done<Report> {
    let ticks = lab.pick(2000, 300);
    let mut points = vec![
        periodic(System::Engine, 1, 8, &[("TICKS", ticks)]),
        periodic(System::Tick, 1, 8, &[("TICKS", ticks)]),
    ];
    points.extend(FOUR.iter().map(|s| Point::new(*s, "base", &[("N", lab.pick(1000, 50))])));
    let done = runs(lab, &points)?;
    let engine = switches(&done[0]);
    let tick = switches(&done[1]);
    let mut table = Table::new("data", &["system", "what", "count", "min", "mean", "max"]);
    let mut row = |system: System, what: &str, c: &Clocks| {
        let cells = [c.count, c.min, c.mean, c.max].map(|n| n.to_string());
        table.row([system.name().to_string(), what.into()].into_iter().chain(cells));
    };
    row(System::Engine, "interrupt to the next task", &engine);
    row(System::Tick, "tick to the next task, 8 tasks", &tick);
    let mut least = f64::MAX;
    for (system, one) in FOUR.iter().zip(&done[2..]) {
        row(*system, "in the kernel, each time", &one.soc.kernel);
        if matches!(system, System::Software | System::Threaded) {
            least = least.min(one.soc.kernel.mean as f64);
        }
    }
    let mean = engine.mean as f64;
    let mut report = Report::default();
    report.claims.push(
        Claim::new(
            "with the scheduler outside the CPU a switch takes less than with any in software",
            "0.98 us; 2 to 23 us for six others",
            format!("{} clocks; least laxity in software {}, lists in software {}", short(mean), short(tick.mean as f64), short(least)),
            Judged::of(mean < least && mean < tick.mean as f64, mean < tick.mean as f64, "less than both; partly than least laxity in software"),
        )
        .remark("the source compares systems on different machines; here all run on one core. Saving and loading 31 registers is most of the engine's figure"),
    );
    let ratio = tick.mean as f64 / mean;
    report.claims.push(Claim::new(
        "the next best takes twice as long",
        "2.0 (ThreadX, 2 us)",
        format!("{} (least laxity in software, 8 tasks), {} (lists)", short(ratio), short(least / mean)),
        Judged::near(least.min(tick.mean as f64) / mean, 2.0 / 0.98, NEAR, FAR),
    ));
    report.tables.push(table);
    Ok(report)
}

fn e3(lab: &Lab<'_>) -> Done<Report> {
    // Equal tasks, hardly any slack: a switch in more than a third of the ticks.
    let (ticks, tick) = (lab.pick(280_000, 1500), 1000);
    let point = periodic(System::Engine, 1, 8, &[("TICKS", ticks), ("TICK", tick), ("LOAD", 98)]);
    let done = runs(lab, &[point])?;
    // Between tasks: an idle CPU wakes up first, which takes the core some clocks.
    let all: Vec<u64> = done[0].outcome.visits.iter().filter_map(|v| Some(v.exit - v.rise?)).collect();
    let inside = Clocks::of(done[0].outcome.visits.iter().map(|v| v.exit - v.entry));
    let c = Clocks::of(all.iter().copied());
    let mut report = Report::default();
    let wanted: u32 = lab.pick(100_000, 500);
    report.claims.push(Claim::new(
        format!("{} switches or more were measured, and every task's sum is right", short(f64::from(wanted))),
        "100,000 samples",
        format!(
            "{} switches, {} jobs, {} wrong",
            short(c.count as f64),
            short(figure(&done[0], "jobs")),
            figure(&done[0], "wrong")
        ),
        Judged::of(
            c.count >= u64::from(wanted) && figure(&done[0], "wrong") == 0.0,
            false,
            "so many, none wrong",
        ),
    ));
    report.claims.push(
        Claim::new(
            "in the handler they hardly differ",
            "648 to 653 cycles around 651: 0.8 % from the least to the greatest",
            format!("{} to {} clocks around {}: {}", inside.min, inside.max, inside.mean, percent(spread(&inside))),
            Judged::of(spread(&inside) <= 0.008, spread(&inside) <= 0.08, "at most 0.8 %, as in the source; partly 8 %"),
        )
        .remark("from the handler's first instruction to a task's first one; the nearness of the two means is chance: other core, other bus"),
    );
    report.claims.push(
        Claim::new(
            "from the interrupt on by no more than the instruction that it comes in",
            "-",
            format!("{} to {} clocks, 99 % within {}", c.min, c.max, c.p99),
            Judged::of(
                c.max - c.min <= 60,
                c.max - c.min <= 150,
                "60 clocks, which the longest instruction (division) takes; partly 150",
            ),
        )
        .remark("the source's method begins to count in the handler"),
    );
    let mut table = Table::new("data", &["clocks", "switches"]);
    let mut sorted = all;
    sorted.sort_unstable();
    for group in sorted.chunk_by(|a, b| a == b) {
        table.row([group[0].to_string(), group.len().to_string()]);
    }
    report.tables.push(table);
    Ok(report)
}

fn e4(lab: &Lab<'_>) -> Done<Report> {
    let ticks: &[u32] = lab.pick(&[1_000, 2_000, 5_000, 10_000, 20_000, 66_700], &[2_000, 20_000]);
    let clocks = lab.pick(8_000_000, 2_000_000);
    let grid: Vec<(System, u32)> =
        [System::Engine, System::Tick].iter().flat_map(|s| ticks.iter().map(move |t| (*s, *t))).collect();
    let points: Vec<Point> = grid
        .iter()
        .map(|(s, t)| periodic(*s, 1, 8, &[("TICK", *t), ("TICKS", clocks / *t), ("LOAD", 60)]))
        .collect();
    let done = runs(lab, &points)?;
    let at = |s: System, t: u32| grid.iter().position(|g| *g == (s, t)).expect("it is in the grid");
    let share = |s: System, t: u32| overhead(&done[at(s, t)], 1);
    let bound = |t: u32| switches(&done[at(System::Engine, t)]).max as f64 / f64::from(t);
    let mut report = Report::default();
    let within = |t: &&u32| share(System::Engine, **t) <= bound(**t);
    let shown: Vec<String> = ticks
        .iter()
        .map(|t| {
            format!(
                "{}: {} of {}",
                short(f64::from(*t)),
                percent(share(System::Engine, *t)),
                percent(bound(*t))
            )
        })
        .collect();
    report.claims.push(Claim::new(
        "the overhead is at most a switch in each tick (equation 2): delta / T",
        "delta / T_sched",
        format!("by clocks of a tick: {}", shown.join("; ")),
        Judged::of(
            ticks.iter().filter(within).count() == ticks.len(),
            false,
            "within the bound at each distance",
        ),
    ));
    let slow = ticks[ticks.len() - 1];
    report.claims.push(
        Claim::new(
            "ticks of 66,700 cycles cost at most 1 %",
            "0.976 % (651 cycles in 66,700)",
            format!(
                "{} at {} clocks; bound {}",
                percent(share(System::Engine, slow)),
                short(f64::from(slow)),
                percent(bound(slow))
            ),
            Judged::of(
                share(System::Engine, slow) <= 0.01,
                share(System::Engine, slow) <= 0.02,
                "at most 1 %; partly 2 %",
            ),
        )
        .remark("10 kHz at the source's 667 MHz; 750 Hz at 50 MHz. The same share, since both count cycles"),
    );
    let ratio = |t: u32| share(System::Tick, t) / share(System::Engine, t);
    let all: Vec<String> =
        ticks.iter().map(|t| format!("{}: {}", short(f64::from(*t)), short(ratio(*t)))).collect();
    report.claims.push(Claim::new(
        "in software each tick costs as well (equation 1)",
        "U_t = sigma / T_intr more",
        format!("software's overhead over the engine's, by clocks of a tick: {}", all.join("; ")),
        Judged::of(ticks.iter().all(|t| ratio(*t) > 1.0), false, "more than the engine's at each distance"),
    ));
    let mut table = Table::new(
        "data",
        &["system", "tick_clocks", "overhead_percent", "bound_percent", "switches", "misses"],
    );
    for (s, t) in &grid {
        let one = &done[at(*s, *t)];
        table.row([
            s.name().to_string(),
            t.to_string(),
            format!("{:.4}", 100.0 * share(*s, *t)),
            format!("{:.4}", 100.0 * bound(*t)),
            one.outcome.visits.len().to_string(),
            format!("{:.0}", figure(one, "misses")),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = ticks.iter().map(|t| short(f64::from(*t))).collect();
    let line = |name: &str, colour, dashed, of: &dyn Fn(u32) -> f64| Line {
        name: name.into(),
        points: ticks.iter().map(|t| (short(f64::from(*t)), 100.0 * of(*t))).collect(),
        colour,
        dashed,
    };
    let lines = vec![
        line("engine", 0, false, &|t| share(System::Engine, t)),
        line("software", 1, false, &|t| share(System::Tick, t)),
        line("bound", 0, true, &bound),
    ];
    report.pictures.push(Picture::new(
        "overhead",
        ("clocks between ticks", "overhead, % of the CPU"),
        true,
        &xs,
        lines,
    ));
    report.notes.push("Eight tasks at 60 % of one CPU. A tick in software that takes longer than its distance is late, and ticks are lost: its overhead then has no room to grow.".into());
    Ok(report)
}

fn pays(lab: &Lab<'_>) -> Done<Report> {
    let sizes: &[u32] = lab.pick(&[4, 8, 16, 32, 64], &[4, 16]);
    let ticks = lab.pick(200, 60);
    let grid: Vec<(System, u32)> =
        [System::Engine, System::Tick].iter().flat_map(|s| sizes.iter().map(move |n| (*s, *n))).collect();
    let points: Vec<Point> = grid
        .iter()
        .map(|(s, n)| {
            // The same engine for all sizes, of 64 tasks in the full run.
            let point = periodic(*s, 1, *n, &[("TICK", 40_000), ("TICKS", ticks), ("LOAD", 60)]);
            Point { tasks: lab.pick(64, 16), ..point }
        })
        .collect();
    let done = runs(lab, &points)?;
    let at = |s: System, n: u32| &done[grid.iter().position(|g| *g == (s, n)).expect("it is in the grid")];
    // From the tick on: the engine's own clocks come before its interrupt, a clock after which it stands.
    let decision = f64::from(lab.pick(64u32, 16) + 7);
    let latency = |s: System, n: u32| {
        let c = switches(at(s, n));
        let own = if s == System::Engine { decision } else { 0.0 };
        (c.min as f64 + own, c.mean as f64 + own, c.max as f64 + own)
    };
    let mut report = Report::default();
    let from = sizes.iter().find(|n| latency(System::Engine, **n).1 < latency(System::Tick, **n).1);
    report.claims.push(Claim::new(
        "from some number of tasks on a decision in hardware is sooner than in software",
        "not in the sources",
        match from {
            Some(n) => format!("from {n} tasks on, the fewest that were tried: {}", {
                let (hw, sw) = (latency(System::Engine, *n).1, latency(System::Tick, *n).1);
                format!("{} to {} clocks from tick to task", short(hw), short(sw))
            }),
            None => "at none that was tried".into(),
        },
        Judged::of(from == Some(&sizes[0]), from.is_some(), "at the fewest tried; partly at some"),
    ));
    let (few, many) = (sizes[0], sizes[sizes.len() - 1]);
    let engine = |n: u32| Clocks::of(at(System::Engine, n).outcome.visits.iter().map(|v| v.exit - v.entry));
    let same = sizes.iter().all(|n| engine(*n).min == engine(few).min);
    report.claims.push(
        Claim::new(
            "in hardware the number of tasks has no effect on it",
            "not in the sources; \"independent of task count\" for the switch",
            format!(
                "in the handler {} to {} clocks with {few} tasks, {} to {} with {many}",
                engine(few).min,
                engine(few).max,
                engine(many).min,
                engine(many).max
            ),
            Judged::of(same, false, "the least is the same to the clock at all sizes"),
        )
        .remark(format!("the engine was built for {} tasks in all of these", lab.pick(64, 16))),
    );
    let grows = latency(System::Tick, many).1 / latency(System::Tick, few).1;
    report.claims.push(Claim::new(
        "in software it grows with the number of tasks",
        "not in the sources",
        format!("{} times as long with {many} tasks as with {few}", short(grows)),
        Judged::of(grows > 1.5, grows > 1.0, "more than 1.5 times; partly if it is longer"),
    ));
    let mut table = Table::new("data", &["system", "tasks", "min", "mean", "max", "overhead_percent"]);
    for (s, n) in &grid {
        let (min, mean, max) = latency(*s, *n);
        table.row([
            s.name().to_string(),
            n.to_string(),
            format!("{min:.0}"),
            format!("{mean:.0}"),
            format!("{max:.0}"),
            format!("{:.4}", 100.0 * overhead(at(*s, *n), 1)),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let lines = [(System::Engine, "hardware"), (System::Tick, "software")];
    let lines = lines.iter().enumerate().map(|(colour, (s, name))| Line {
        name: (*name).into(),
        points: sizes.iter().map(|n| (n.to_string(), latency(*s, *n).1)).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new(
        "latency",
        ("tasks", "clocks from tick to task"),
        true,
        &xs,
        lines.collect(),
    ));
    Ok(report)
}
