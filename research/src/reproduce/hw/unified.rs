// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 3, chapter 4: four systems on the same core, the same programs on all.

use crate::soc::System;

use super::{FOUR, Point, figure, runs, with_tools};
use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};

const BENCH: &str = "Preston, 2011, chapter 4";

pub const X1: Experiment = Experiment {
    id: "unified-x1",
    aliases: &["x1"],
    title: "basic operations on four systems: schedule, interrupt, add a thread",
    source: "Preston, 2011, 4.1.1, figure 4.1",
    run: |lab| with_tools(lab, "unified-x1", x1),
};
pub const X2: Experiment = Experiment {
    id: "unified-x2",
    aliases: &["x2"],
    title: "what less urgent interrupts take from a loop, by their rate",
    source: "Preston, 2011, 4.1.2, figure 4.2",
    run: |lab| with_tools(lab, "unified-x2", x2),
};
pub const X3: Experiment = Experiment {
    id: "unified-x3",
    aliases: &["x3"],
    title: "hackbench on four systems",
    source: "Preston, 2011, 4.1.3, figure 4.3",
    run: |lab| with_tools(lab, "unified-x3", x3),
};
pub const X4: Experiment = Experiment {
    id: "unified-x4",
    aliases: &["x4"],
    title: "one thread that only computes",
    source: "Preston, 2011, 4.1.4, figure 4.4",
    run: |lab| with_tools(lab, "unified-x4", x4),
};
pub const X5: Experiment = Experiment {
    id: "unified-x5",
    aliases: &["x5"],
    title: "replies of a server with a thread a connection",
    source: "Preston, 2011, 4.2.1, figure 4.5, table 4.3",
    run: |lab| with_tools(lab, "unified-x5", x5),
};
pub const X6: Experiment = Experiment {
    id: "unified-x6",
    aliases: &["x6"],
    title: "decoding frames beside timers and a network",
    source: "Preston, 2011, 4.2.2, figure 4.6, table 4.4",
    run: |lab| with_tools(lab, "unified-x6", x6),
};
pub const X7: Experiment = Experiment {
    id: "unified-x7",
    aliases: &["x7"],
    title: "a server with more requests than it can serve",
    source: "Preston, 2011, 4.2.3, figure 4.7",
    run: |lab| with_tools(lab, "unified-x7", x7),
};

/// Clocks of a second: the figures of programs are clocks, rates are given in Hz.
const HZ: f64 = 50e6;

fn place(system: System) -> usize {
    FOUR.iter().position(|s| *s == system).expect("one of the four")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn x1(lab: &Lab<'_>) -> Done<Report> {
    let n = lab.pick(1000, 50);
    let points: Vec<Point> = FOUR.iter().map(|s| Point::new(*s, "base", &[("N", n)])).collect();
    let done = runs(lab, &points)?;
    let mean = |s: System, what: &str| figure(&done[place(s)], &format!("{what}_mean"));
    let (sw, th, un, hw) = (System::Software, System::Threaded, System::Unified, System::Hardware);
    let mut report = Report::default();
    let ratio = mean(hw, "schedule") / mean(sw, "schedule");
    report.claims.push(Claim::new(
        "scheduling takes half as long with all in hardware as in software",
        "about 50 %",
        percent(ratio),
        Judged::near(ratio, 0.5, NEAR, FAR),
    ));
    let ratio = mean(un, "schedule") / mean(sw, "schedule");
    report.claims.push(
        Claim::new(
            "and with the unified controller",
            "about 50 %",
            percent(ratio),
            Judged::near(ratio, 0.5, NEAR, FAR),
        )
        .remark("its lists are kept by software here as there"),
    );
    let ratio = mean(th, "schedule") / mean(sw, "schedule");
    report.claims.push(Claim::new(
        "with threaded interrupts as long as in software",
        "equal",
        percent(ratio),
        Judged::near(ratio, 1.0, NEAR, FAR),
    ));
    let ratio = mean(hw, "interrupt") / mean(sw, "interrupt");
    report.claims.push(
        Claim::new(
            "from an interrupt to its service hardware takes 45 % of software's time",
            "45 %",
            percent(ratio),
            Judged::near(ratio, 0.45, NEAR, FAR),
        )
        .remark(
            "the service is the interrupt handler itself in our bare kernel, without Linux's layers: a thread cannot begin \
             sooner than that. Against threaded interrupts, which serve by a thread as well, see below",
        ),
    );
    let ratio = mean(hw, "interrupt") / mean(th, "interrupt");
    report.claims.push(Claim::new(
        "interrupts served by threads begin sooner where hardware wakes the thread",
        "hardware before PREEMPT_RT",
        format!("{} of threaded", percent(ratio)),
        Judged::of(ratio < 1.0, false, "less than 100 %"),
    ));
    let faster = mean(sw, "add") / mean(hw, "add");
    report.claims.push(
        Claim::new(
            "adding a thread is five times as fast in hardware as in software",
            "5",
            short(faster),
            Judged::of(faster >= 5.0 / NEAR, faster > 1.0, "at least 4.5; partly if it is faster"),
        )
        .remark("most of it here is software in all systems: the thread's first registers and its name for the trace"),
    );
    let faster = mean(un, "add") / mean(hw, "add");
    report.claims.push(Claim::new(
        "and three times as fast as with the unified controller",
        "3",
        short(faster),
        Judged::of(faster >= 3.0 / NEAR, faster > 1.0, "at least 2.7; partly if it is faster"),
    ));
    let mut table = Table::new("data", &["system", "operation", "count", "min", "mean", "max"]);
    for s in FOUR {
        for what in ["schedule", "interrupt", "add", "mutex"] {
            let f = |part: &str| short(figure(&done[place(s)], &format!("{what}_{part}"))).replace(',', "");
            table.row([s.name().to_string(), what.into(), f("count"), f("min"), f("mean"), f("max")]);
        }
    }
    report.tables.push(table);
    report.notes.push("All figures are clocks of the same simulated core and bus (PicoRV32, about five clocks an instruction).".into());
    Ok(report)
}

fn x2(lab: &Lab<'_>) -> Done<Report> {
    // Clocks between interrupts; 0: none.
    let periods: &[u32] = lab.pick(&[0, 50_000, 16_667, 5_000, 3_000], &[0, 50_000, 5_000]);
    let rounds = lab.pick(100_000, 20_000);
    let grid: Vec<(System, u32)> = FOUR.iter().flat_map(|s| periods.iter().map(move |p| (*s, *p))).collect();
    let load = |s: System, p: u32, edges: u32| {
        Point::new(s, "load", &[("PERIOD", p), ("ROUNDS", rounds), ("EDGES", edges)])
    };
    let mut points: Vec<Point> = grid.iter().map(|(s, p)| load(*s, *p, 1)).collect();
    // Last: a line that stays off until its thread has served.
    points.push(load(System::Threaded, *periods.last().expect("there are rates"), 0));
    let done = runs(lab, &points)?;
    let loops = |s: System, p: u32| {
        let i = grid.iter().position(|g| *g == (s, p)).expect("it is in the grid");
        figure(&done[i], "loop")
    };
    let slow = |s: System, p: u32| loops(s, p) / loops(s, 0) - 1.0;
    let rate = |p: u32| if p == 0 { "0".into() } else { format!("{:.1} kHz", HZ / f64::from(p) / 1e3) };
    let (sw, th, un, hw) = (System::Software, System::Threaded, System::Unified, System::Hardware);
    let mut report = Report::default();
    let base: Vec<f64> = FOUR.iter().map(|s| loops(*s, 0)).collect();
    let spread =
        base.iter().cloned().fold(0.0, f64::max) / base.iter().cloned().fold(f64::MAX, f64::min) - 1.0;
    report.claims.push(Claim::new(
        "without interrupts all systems are equal",
        "equal",
        format!("{:.3} % apart", 100.0 * spread),
        Judged::of(spread <= 0.001, spread <= 0.01, "within 0.1 %; partly 1 %"),
    ));
    let busy: Vec<u32> = periods.iter().copied().filter(|p| *p > 0).collect();
    let ordered = |p: &u32| slow(sw, *p) > slow(th, *p) && slow(th, *p) > slow(un, *p).max(slow(hw, *p));
    let shown: Vec<String> = busy
        .iter()
        .map(|p| {
            let all: Vec<String> = FOUR.iter().map(|s| format!("{:.2}", 100.0 * slow(*s, *p))).collect();
            format!("{}: {} %", rate(*p), all.join(" / "))
        })
        .collect();
    report.claims.push(
        Claim::new(
            "less urgent interrupts slow the loop most in software, less where threads serve them, and not in hardware",
            "7 / 1.5 / 0 / 0 % at the highest rate (software, PREEMPT_RT, both hardware systems)",
            shown.join("; "),
            Judged::of(
                busy.iter().all(ordered),
                busy.iter().any(ordered),
                "software > threaded > unified and hardware at all rates; partly at some",
            ),
        )
        .remark(format!(
            "a threaded system acknowledges each edge and wakes a thread that has no turn. Where it keeps the line off until \
             the thread has served (levels), the loop takes {:.2} % longer at {}",
            100.0 * (figure(done.last().expect("it was run"), "loop") / loops(th, 0) - 1.0),
            rate(periods[periods.len() - 1])
        )),
    );
    let worst = busy.iter().map(|p| slow(un, *p).max(slow(hw, *p))).fold(0.0, f64::max);
    report.claims.push(Claim::new(
        "in hardware the loop does not notice them",
        "at most 0.05 %",
        format!("at most {:.3} %", 100.0 * worst),
        Judged::of(worst <= 0.0005, worst <= 0.005, "at most 0.05 %, as in the source; partly 0.5 %"),
    ));
    let (first, last) = (slow(sw, busy[0]), slow(sw, busy[busy.len() - 1]));
    report.claims.push(Claim::new(
        "the loss in software grows with the rate",
        "3 % at 10 Hz, 7 % at 30 Hz",
        format!(
            "{:.2} % at {}, {:.1} % at {}",
            100.0 * first,
            rate(busy[0]),
            100.0 * last,
            rate(busy[busy.len() - 1])
        ),
        Judged::of(last > first, false, "more at the highest than at the lowest rate"),
    ));
    let mut table =
        Table::new("data", &["system", "period_clocks", "rate_hz", "loop_clocks", "slowdown_percent"]);
    for (s, p) in &grid {
        let hz = if *p == 0 { 0.0 } else { HZ / f64::from(*p) };
        table.row([
            s.name().to_string(),
            p.to_string(),
            format!("{hz:.0}"),
            format!("{:.0}", loops(*s, *p)),
            format!("{:.4}", 100.0 * slow(*s, *p)),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = busy.iter().map(|p| rate(*p)).collect();
    let lines = FOUR.iter().enumerate().map(|(colour, s)| Line {
        name: s.name().into(),
        points: busy.iter().map(|p| (rate(*p), 100.0 * slow(*s, *p))).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new(
        "slowdown",
        ("interrupts", "loop takes longer, %"),
        false,
        &xs,
        lines.collect(),
    ));
    report.notes.push(format!(
        "{BENCH}: its rates are 10 and 30 Hz and cost 3 ms an interrupt, which is not plausible for the work described; here they go to the kHz at {} MHz.",
        HZ / 1e6
    ));
    Ok(report)
}

fn x3(lab: &Lab<'_>) -> Done<Report> {
    let groups: &[u32] = lab.pick(&[1, 2, 4, 6, 8], &[1, 2]);
    let loops = lab.pick(2, 1);
    let grid: Vec<(System, u32)> = FOUR.iter().flat_map(|s| groups.iter().map(move |g| (*s, *g))).collect();
    let points: Vec<Point> =
        grid.iter().map(|(s, g)| Point::new(*s, "hackbench", &[("GROUPS", *g), ("LOOPS", loops)])).collect();
    let done = runs(lab, &points)?;
    let total = |s: System, g: u32| {
        let i = grid.iter().position(|x| *x == (s, g)).expect("it is in the grid");
        figure(&done[i], "total")
    };
    let share = |s: System, g: u32| total(s, g) / total(System::Software, g);
    let most = groups[groups.len() - 1];
    let mut report = Report::default();
    let hw = share(System::Hardware, most);
    report.claims.push(
        Claim::new(
            "hackbench takes 40 % less time in hardware than in software",
            "60 % of software's (48 % if the 40 % are against PREEMPT_RT: the source is ambiguous)",
            percent(hw),
            Judged::of((0.54..=0.66).contains(&hw), (0.3..1.0).contains(&hw), "54 to 66 %; partly 30 to 100 %"),
        )
        .remark("messages are copied by a few instructions here, so more of the time is scheduling than under Linux"),
    );
    let th = share(System::Threaded, most);
    report.claims.push(
        Claim::new(
            "with threaded interrupts 20 % less than in software",
            "80 %",
            percent(th),
            Judged::near(th, 0.8, NEAR, FAR),
        )
        .remark("the source credits other changes of that kernel; ours differs from software in interrupts only, and hackbench has none"),
    );
    let gain = |g: u32| 1.0 - share(System::Hardware, g);
    let (less, more) = (gain(groups[0]), gain(most));
    report.claims.push(Claim::new(
        "the gain grows slightly with the number of threads",
        "slightly",
        format!("{} at {} threads, {} at {}", percent(less), 20 * groups[0], percent(more), 20 * most),
        Judged::of(more > less, more > 0.95 * less, "more at the most threads; partly within 5 %"),
    ));
    let un = share(System::Unified, most);
    report.claims.push(Claim::new(
        "hardware and unified controller are faster than software at all sizes",
        "both",
        format!("unified {}, hardware {} of software's", percent(un), percent(hw)),
        Judged::of(
            groups.iter().all(|g| share(System::Unified, *g) < 1.0 && share(System::Hardware, *g) < 1.0),
            hw < 1.0,
            "both below 100 % at all sizes; partly hardware at the largest",
        ),
    ));
    let mut table = Table::new("data", &["system", "threads", "messages", "clocks", "of_software_percent"]);
    for (i, (s, g)) in grid.iter().enumerate() {
        let messages = figure(&done[i], "messages");
        table.row([
            s.name().to_string(),
            (20 * g).to_string(),
            format!("{messages:.0}"),
            format!("{:.0}", total(*s, *g)),
            format!("{:.1}", 100.0 * share(*s, *g)),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = groups.iter().map(|g| (20 * g).to_string()).collect();
    let lines = FOUR.iter().enumerate().map(|(colour, s)| Line {
        name: s.name().into(),
        points: groups.iter().map(|g| ((20 * g).to_string(), total(*s, *g) / HZ * 1e3)).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new(
        "time",
        ("threads", "time at 50 MHz, ms"),
        false,
        &xs,
        lines.collect(),
    ));
    Ok(report)
}

fn x4(lab: &Lab<'_>) -> Done<Report> {
    let n = lab.pick(100, 5);
    let points: Vec<Point> = FOUR.iter().map(|s| Point::new(*s, "compute", &[("N", n)])).collect();
    let done = runs(lab, &points)?;
    let totals: Vec<f64> = done.iter().map(|d| figure(d, "total")).collect();
    let apart =
        totals.iter().cloned().fold(0.0, f64::max) / totals.iter().cloned().fold(f64::MAX, f64::min) - 1.0;
    let mut report = Report::default();
    report.claims.push(Claim::new(
        "a single thread that computes does not notice the system",
        "466 MIPS ± 1 on all (0.2 %)",
        format!("{:.3} % apart", 100.0 * apart),
        Judged::of(apart <= 0.002, apart <= 0.02, "within 0.2 %, as in the source; partly 2 %"),
    ));
    let mut table = Table::new("data", &["system", "clocks"]);
    for (s, t) in FOUR.iter().zip(&totals) {
        table.row([s.name().to_string(), format!("{t:.0}")]);
    }
    report.tables.push(table);
    report.notes.push(
        "Sorting, strings, multiplication and division, not Dhrystone, whose licence is unclear.".into(),
    );
    Ok(report)
}

fn x5(lab: &Lab<'_>) -> Done<Report> {
    let requests = lab.pick(500, 100);
    // Three quarters of what the server can do: waits come from chance alone.
    let points: Vec<Point> =
        FOUR.iter().map(|s| Point::new(*s, "web", &[("PERIOD", 42_000), ("REQUESTS", requests)])).collect();
    let done = runs(lab, &points)?;
    let mean = |s: System| figure(&done[place(s)], "reply_mean");
    let max = |s: System| figure(&done[place(s)], "reply_max");
    let (sw, th, un, hw) = (System::Software, System::Threaded, System::Unified, System::Hardware);
    let hardware = max(un).max(max(hw));
    let mut report = Report::default();
    report.claims.push(Claim::new(
        "replies take longest in software, then with threaded interrupts, then in hardware, on average",
        "69.9 / 63.9 / 55.0 / 54.9 ms (table; the text has other figures)",
        FOUR.iter().map(|s| short(mean(*s))).collect::<Vec<_>>().join(" / ")
            + " clocks (software, threaded, unified, hardware)",
        Judged::of(
            mean(sw) > mean(th) && mean(th) > mean(un) && mean(th) > mean(hw),
            mean(sw) > mean(hw),
            "in this order; partly if software takes longer than hardware",
        ),
    ));
    let ratio = max(sw) / hardware;
    report.claims.push(Claim::new(
        "the slowest reply in software takes 2.5 times as long as the slowest in hardware",
        "2.5",
        short(ratio),
        Judged::near(ratio, 2.5, NEAR, FAR),
    ));
    let ratio = max(th) / hardware;
    report.claims.push(Claim::new(
        "with threaded interrupts 1.2 times as long",
        "1.2",
        short(ratio),
        Judged::near(ratio, 1.2, NEAR, FAR),
    ));
    let mut table = Table::new("data", &["system", "replies", "min", "mean", "max", "refused", "dropped"]);
    for s in FOUR {
        let f = |n: &str| format!("{:.0}", figure(&done[place(s)], n));
        table.row([
            s.name().into(),
            f("completed"),
            f("reply_min"),
            f("reply_mean"),
            f("reply_max"),
            f("refused"),
            f("dropped"),
        ]);
    }
    report.tables.push(table);
    report.notes.push("Times are clocks from the request at the device to the end of its thread. The server, its network driver and its requests are models; there is no network stack.".into());
    Ok(report)
}

fn x6(lab: &Lab<'_>) -> Done<Report> {
    let frames = lab.pick(100, 20);
    let points: Vec<Point> = FOUR.iter().map(|s| Point::new(*s, "decode", &[("FRAMES", frames)])).collect();
    let done = runs(lab, &points)?;
    let f = |s: System, n: &str| figure(&done[place(s)], &format!("frame_{n}"));
    let spread = |s: System| f(s, "max") - f(s, "min");
    let (sw, th, un, hw) = (System::Software, System::Threaded, System::Unified, System::Hardware);
    let mut report = Report::default();
    report.claims.push(Claim::new(
        "frames take longest in software, then with threaded interrupts, then in hardware",
        "12.92 / 11.76 / 11.69 / 11.68 ms",
        FOUR.iter().map(|s| short(f(*s, "mean"))).collect::<Vec<_>>().join(" / ")
            + " clocks (software, threaded, unified, hardware)",
        Judged::of(
            f(sw, "mean") > f(th, "mean") && f(th, "mean") > f(un, "mean").max(f(hw, "mean")),
            f(sw, "mean") > f(hw, "mean"),
            "in this order; partly if software takes longer than hardware",
        ),
    ));
    let apart = (f(un, "mean") / f(hw, "mean") - 1.0).abs();
    report.claims.push(Claim::new(
        "the two hardware systems coincide",
        "0.1 %",
        format!("{:.3} %", 100.0 * apart),
        Judged::of(apart <= 0.001, apart <= 0.01, "within 0.1 %, as in the source; partly 1 %"),
    ));
    report.claims.push(Claim::new(
        "frames are widely spread in software, slightly with threaded interrupts, not in hardware",
        "widely / a few slower ones / narrow",
        FOUR.iter().map(|s| short(spread(*s))).collect::<Vec<_>>().join(" / ")
            + " clocks from the fastest to the slowest",
        Judged::of(
            spread(sw) > spread(th) && spread(th) > spread(un).max(spread(hw)),
            spread(sw) > spread(hw),
            "in this order; partly if software's spread is greater than hardware's",
        ),
    ));
    let mut table = Table::new(
        "data",
        &["system", "frames", "min", "mean", "max", "start_min", "start_mean", "start_max"],
    );
    for s in FOUR {
        let g = |n: &str| format!("{:.0}", figure(&done[place(s)], n));
        table.row([
            s.name().into(),
            g("frame_count"),
            g("frame_min"),
            g("frame_mean"),
            g("frame_max"),
            g("start_min"),
            g("start_mean"),
            g("start_max"),
        ]);
    }
    report.tables.push(table);
    report.notes.push("A frame is fixed work at the highest priority; eight less urgent threads sleep for random times, and a device interrupts at 3.3 kHz. `start` is how late the decoder begins.".into());
    Ok(report)
}

fn x7(lab: &Lab<'_>) -> Done<Report> {
    let periods: &[u32] =
        lab.pick(&[100_000, 50_000, 33_000, 20_000, 10_000, 7_000, 5_000], &[100_000, 25_000, 5_000]);
    let requests = lab.pick(200, 100);
    let grid: Vec<(System, u32)> = FOUR.iter().flat_map(|s| periods.iter().map(move |p| (*s, *p))).collect();
    let points: Vec<Point> =
        grid.iter().map(|(s, p)| Point::new(*s, "web", &[("PERIOD", *p), ("REQUESTS", requests)])).collect();
    let done = runs(lab, &points)?;
    // Replies in a second while requests came.
    let served = |s: System, p: u32| {
        let i = grid.iter().position(|g| *g == (s, p)).expect("it is in the grid");
        figure(&done[i], "completed_in_time") / (f64::from(requests) * f64::from(p)) * HZ
    };
    let asked = |p: u32| HZ / f64::from(p);
    let best = |s: System| periods.iter().map(|p| served(s, *p)).fold(0.0, f64::max);
    let last = periods[periods.len() - 1];
    let kept = |s: System| served(s, last) / best(s);
    let (sw, th, un, hw) = (System::Software, System::Threaded, System::Unified, System::Hardware);
    let mut report = Report::default();
    report.claims.push(Claim::new(
        "far beyond its capacity a server on hardware stays near its maximum",
        "near maximum",
        format!(
            "unified {}, hardware {} of the most, at {} requests/s",
            percent(kept(un)),
            percent(kept(hw)),
            short(asked(last))
        ),
        Judged::of(
            kept(un).min(kept(hw)) >= 0.9,
            kept(un).max(kept(hw)) >= 0.8,
            "both at least 90 %; partly one at least 80 %",
        ),
    ));
    report.claims.push(
        Claim::new(
            "in software it collapses",
            "fails at twice its capacity",
            format!("{} of the most, at {} times it", percent(kept(sw)), short(asked(last) / best(sw))),
            Judged::of(kept(sw) <= 0.5, kept(sw) <= 0.9, "at most 50 % of the most; partly 90 %"),
        )
        .remark(
            "the source's server ran out of memory as well; ours has a limit of 64 connections and refuses",
        ),
    );
    report.claims.push(Claim::new(
        "with threaded interrupts it loses a little",
        "mildly",
        format!("{} of the most", percent(kept(th))),
        Judged::of(
            (0.7..0.999).contains(&kept(th)),
            kept(th) > kept(sw),
            "70 to 99.9 %; partly if more than software's",
        ),
    ));
    let mut table = Table::new(
        "data",
        &["system", "period_clocks", "requests_per_s", "replies_per_s", "completed", "refused", "dropped"],
    );
    for (i, (s, p)) in grid.iter().enumerate() {
        let f = |n: &str| format!("{:.0}", figure(&done[i], n));
        table.row([
            s.name().into(),
            p.to_string(),
            format!("{:.0}", asked(*p)),
            format!("{:.0}", served(*s, *p)),
            f("completed"),
            f("refused"),
            f("dropped"),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = periods.iter().map(|p| short(asked(*p))).collect();
    let lines = FOUR.iter().enumerate().map(|(colour, s)| Line {
        name: s.name().into(),
        points: periods.iter().map(|p| (short(asked(*p)), served(*s, *p))).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new(
        "replies",
        ("requests a second", "replies a second"),
        false,
        &xs,
        lines.collect(),
    ));
    Ok(report)
}
