// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The result of a run as text for a [`Screen`].

use crate::changes::changes;
use crate::screen::{Cell, Columns, Screen, Tone, facts};
use crate::stats::Dist;
use crate::summary::{CpuSummary, GangGroupSummary, GroupSummary, Summary, TaskSummary};
use crate::text::{clip, duration, energy_f, percent, significant};
use crate::{count, plural};
use std::cmp::Reverse;
use std::fmt::Write;

/// Tasks, groups or CPUs that get a line each; more are folded.
const LINES: usize = 16;
/// Cells of a utilisation bar, and what stands beside it.
const BAR: std::ops::RangeInclusive<usize> = 10..=100;
const BESIDE_BAR: usize = 42;

/// The run for a reader: what it was, totals, latencies, tasks and CPUs.
pub fn table(summary: &Summary, screen: &Screen) -> String {
    let mut out = String::new();
    heading(&mut out, summary, screen);
    totals(&mut out, summary, screen);
    latencies(&mut out, summary, screen);
    tasks(&mut out, summary, screen);
    cpus(&mut out, summary, screen);
    out.push_str(&changes(summary, screen));
    faults(&mut out, summary, screen);
    together(&mut out, summary, screen);
    contention(&mut out, summary);
    guests(&mut out, summary, screen);
    screen.fold(&out)
}

/// Machines within the machine: how much they had, and how their tasks did.
fn guests(out: &mut String, s: &Summary, screen: &Screen) {
    for g in s.guests.iter().take(LINES) {
        let t = &g.run.totals;
        let within = g.inside.as_ref().map_or(String::new(), |outer| format!(" (in {outer})"));
        line(out, "");
        let head = format!(
            "guest {}{within}: {} on {}",
            g.name,
            g.run.topology,
            plural(g.vcpus.len(), "virtual CPU")
        );
        line(out, &shown(&head));
        let wanted = t.busy_ns + t.scheduler_ns + t.stolen_ns;
        let had = format!(
            "{} of CPU time, {} for its scheduler, {} stolen ({} of its demand), entered {}",
            duration(t.busy_ns),
            duration(t.scheduler_ns),
            duration(t.stolen_ns),
            percent(t.stolen_ns, wanted),
            plural(g.enters, "time")
        );
        line(out, &format!("  {had}"));
        if t.spin_ns > 0 {
            let part = percent(t.spin_ns, t.busy_ns);
            line(out, &format!("  {} of it were spent spinning, {part}", duration(t.spin_ns)));
        }
        latencies(out, &g.run, screen);
        tasks(out, &g.run, screen);
    }
    if s.guests.len() > LINES {
        line(
            out,
            &format!("  … and {} (--json has all of them)", plural(s.guests.len() - LINES, "more guest")),
        );
    }
}

/// A text with the user's names in it, which can neither break the line nor talk to the terminal.
fn shown(text: &str) -> String {
    clip(text, usize::MAX)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn heading(out: &mut String, s: &Summary, screen: &Screen) {
    let mut what = format!("{} on {} · {}", s.topology, s.machine, s.workload);
    if !s.live {
        write!(what, " · seed {}", s.seed).expect("writing to a string");
    }
    line(out, &shown(&what));
    let time = if s.live { "real" } else { "virtual" };
    let mut ran = format!("{} of {time} time, {}", duration(s.duration_ns), plural(s.events, "event"));
    if s.wall_ns > 0 && !s.live {
        let pace = s.duration_ns as f64 / s.wall_ns as f64;
        let digits = if pace < 10.0 { 2 } else { 0 };
        write!(ran, ", computed in {} ({pace:.digits$}x real time)", duration(s.wall_ns))
            .expect("writing to a string");
    }
    line(out, &ran);
    if let Some(crash) = &s.crash {
        let what =
            format!("ENDED by component `{}` at {}: {}", crash.component, duration(crash.at_ns), crash.what);
        line(out, &screen.paint(&shown(&what), Tone::Bad));
    } else if s.interrupted {
        let what = "INTERRUPTED: the numbers cover what had happened by then";
        line(out, &screen.paint(what, Tone::Bad));
    }
    if s.lost_events > 0 {
        let what = format!("INCOMPLETE: {} lost, so counts are too low", plural(s.lost_events, "event"));
        line(out, &screen.paint(&what, Tone::Bad));
    }
    out.push('\n');
}

/// Components that returned errors: a line for each instance and error.
fn faults(out: &mut String, s: &Summary, screen: &Screen) {
    if s.faults.is_empty() {
        return;
    }
    let mut columns = Columns::new(["faults", "instance", "error", "first at", "count"]);
    for f in s.faults.iter().take(LINES) {
        let (component, instance) = (f.component.clone(), f.instance.clone());
        columns.row([component, instance, f.error.clone(), duration(f.first_ns), count(f.count)]);
    }
    out.push_str(&columns.render(2, screen));
    if s.faults.len() > LINES {
        line(out, &format!("  … and {} more (--json has all of them)", s.faults.len() - LINES));
    }
    out.push('\n');
}

/// Red where there is one.
fn bad_if_any(n: u64) -> Tone {
    if n > 0 { Tone::Bad } else { Tone::Plain }
}

fn totals(out: &mut String, s: &Summary, screen: &Screen) {
    let t = &s.totals;
    let rate = |n: u64| match s.duration_ns {
        0 => count(n),
        d => format!("{} ({}/s)", count(n), count((n as u128 * 1_000_000_000 / u128::from(d)) as u64)),
    };
    let each = |ns: u64, n: u64| {
        if n == 0 || ns == 0 { String::new() } else { format!(" ({} each)", duration(ns / n)) }
    };
    let capacity = s.capacity_ns();
    let share = |ns: u64| format!("{}, {}", percent(ns, capacity), duration(ns));
    let lock = match (t.scheduler_ns, t.lock_wait_ns) {
        (0, _) | (_, 0) => "none".into(),
        (all, wait) => format!("{} of that, {}", percent(wait, all), duration(wait)),
    };
    let energy = if t.energy_uj == 0 { "-".into() } else { energy_f(t.energy_uj as f64) };
    let swaps = match s.swaps.iter().map(|w| w.pause_ns).max() {
        None => "-".into(),
        Some(max) => format!("{}, longest pause {}", s.swaps.len(), duration(max)),
    };
    let decisions = format!("{}{}", count(t.decisions), each(t.scheduler_ns, t.decisions));
    let plain = |label, text| (label, text, Tone::Plain);
    let mut rows = vec![
        plain("jobs done", format!("{} of {}", count(t.jobs_completed), count(t.jobs))),
        ("deadline misses", count(t.deadline_misses), bad_if_any(t.deadline_misses)),
        plain("task switches", rate(t.context_switches)),
    ];
    // As `perf stat` and `vmstat` count; older results do not have it.
    if t.cpu_switches > 0 {
        rows.push(plain("  with idle", rate(t.cpu_switches)));
    }
    rows.extend([
        plain("preemptions", rate(t.preemptions)),
        plain("migrations", rate(t.migrations)),
        plain("decisions", decisions),
        plain("CPUs busy", share(t.busy_ns)),
        plain("idle", share(t.idle_ns)),
        plain("scheduler", share(t.scheduler_ns)),
        plain("lock waiting", lock),
        plain("energy", energy),
        plain("swaps", swaps),
    ]);
    out.push_str(&facts(&rows, 2, screen));
    out.push('\n');
}

fn latencies(out: &mut String, s: &Summary, screen: &Screen) {
    let mut columns =
        Columns::new(["", "min", "mean", "p50", "p95", "p99", "max"]).giving_way(&["min", "p95"]);
    for (name, dist) in [("response time", &s.response_ns), ("wakeup latency", &s.wakeup_latency_ns)] {
        if !dist.is_empty() {
            let Dist { min, mean, p50, p95, p99, max, .. } = *dist;
            let cells = [min, mean, p50, p95, p99, max].map(duration);
            columns.row([name.to_string()].into_iter().chain(cells));
        }
    }
    if !columns.is_empty() {
        out.push_str(&columns.render(2, screen));
        out.push('\n');
    }
}

/// One line of the table of tasks or groups.
struct Line<'a> {
    name: &'a str,
    tasks: u64,
    numbers: [u64; 4],
    cpu_ns: u64,
    wait_ns: u64,
    response: &'a Dist,
    wakeup: &'a Dist,
}

impl<'a> Line<'a> {
    fn of_task(t: &'a TaskSummary) -> Self {
        Self {
            name: &t.name,
            tasks: 1,
            numbers: [t.jobs, t.deadline_misses, t.preemptions, t.migrations],
            cpu_ns: t.cpu_ns,
            wait_ns: t.wait_ns,
            response: &t.response_ns,
            wakeup: &t.wakeup_latency_ns,
        }
    }

    fn of_group(g: &'a GroupSummary) -> Self {
        Self {
            name: &g.name,
            tasks: g.tasks,
            numbers: [g.jobs, g.deadline_misses, g.preemptions, g.migrations],
            cpu_ns: g.cpu_ns,
            wait_ns: g.wait_ns,
            response: &g.response_ns,
            wakeup: &g.wakeup_latency_ns,
        }
    }
}

fn tasks(out: &mut String, s: &Summary, screen: &Screen) {
    let single = s.tasks.len() <= LINES;
    let mut lines: Vec<Line<'_>> = if single {
        s.tasks.iter().map(Line::of_task).collect()
    } else {
        s.groups.iter().map(Line::of_group).collect()
    };
    if lines.is_empty() {
        return;
    }
    let folded = lines.len().saturating_sub(LINES);
    if folded > 0 {
        // The worst first: they are what a reader looks for.
        lines.sort_by_key(|l| Reverse((l.numbers[1], l.response.p99, l.wakeup.p99)));
        lines.truncate(LINES);
    }
    let mut header = vec![if single { "task" } else { "group" }];
    header.extend((!single).then_some("tasks"));
    header.extend([
        "jobs", "missed", "CPU time", "waiting", "resp p50", "resp p99", "resp max", "wake p50", "wake p99",
        "wake max", "preempt", "migr",
    ]);
    let mut columns = Columns::new(header)
        .extra(&["wake max", "wake p50", "resp max"])
        .giving_way(&["migr", "preempt", "waiting", "wake p99", "resp p50", "tasks", "CPU time"]);
    for l in &lines {
        let [jobs, missed, preempted, migrated] = l.numbers;
        let plain = |text: String| Cell::new(text, Tone::Plain);
        let (response, wakeup) = (l.response, l.wakeup);
        let mut row = vec![plain(l.name.to_string())];
        row.extend((!single).then(|| plain(count(l.tasks))));
        row.extend([plain(count(jobs)), Cell::new(count(missed), bad_if_any(missed))]);
        row.extend([l.cpu_ns, l.wait_ns].map(|ns| plain(duration(ns))));
        row.extend([response.p50, response.p99, response.max].map(|ns| plain(response.show(ns, duration))));
        row.extend([wakeup.p50, wakeup.p99, wakeup.max].map(|ns| plain(wakeup.show(ns, duration))));
        row.extend([preempted, migrated].map(|n| plain(count(n))));
        columns.row(row);
    }
    out.push_str(&columns.render(2, screen));
    if folded > 0 {
        line(
            out,
            &format!(
                "  … and {} more groups, none worse than these (tasks.csv has every task)",
                count(folded as u64)
            ),
        );
    }
    out.push('\n');
}

fn cpus(out: &mut String, s: &Summary, screen: &Screen) {
    if s.duration_ns == 0 || s.cpus.is_empty() {
        return;
    }
    if s.cpus.len() <= LINES {
        let name = s.cpus.iter().map(|c| crate::text::cells(&c.name)).max().unwrap_or(0).min(18);
        let bar = screen.width.saturating_sub(BESIDE_BAR + name).clamp(*BAR.start(), *BAR.end());
        let offline = s.cpus.iter().any(|c| c.offline_ns > 0);
        let legend = match (bar, offline) {
            (39.., true) => "█ busy  ▒ scheduler  · idle  x offline",
            (27.., false) => "█ busy  ▒ scheduler  · idle",
            _ => "",
        };
        let heading = "   busy    sched     idle  switches";
        line(out, &format!("  {:<name$}  {legend:<bar$}{heading}", "CPU"));
        for c in &s.cpus {
            let shares = [c.busy_ns, c.scheduler_ns, c.idle_ns].map(|ns| percent(ns, s.duration_ns));
            let [busy, sched, idle] = shares;
            let (cpu, switches) = (clip(&c.name, name), count(c.switches));
            let cells = cells_of(c, s.duration_ns, bar);
            line(out, &format!("  {cpu:<name$}  {cells} {busy:>7} {sched:>8} {idle:>8}  {switches:>8}"));
        }
    } else {
        strip(out, s, screen);
    }
}

fn cells_of(c: &CpuSummary, duration_ns: u64, bar: usize) -> String {
    let cells = |ns: u64| ((ns as f64 / duration_ns as f64) * bar as f64).round() as usize;
    let busy = cells(c.busy_ns).min(bar);
    let sched = cells(c.busy_ns + c.scheduler_ns).min(bar) - busy;
    let offline = cells(c.offline_ns).min(bar - busy - sched);
    let idle = bar - busy - sched - offline;
    format!("{}{}{}{}", "█".repeat(busy), "▒".repeat(sched), "·".repeat(idle), "x".repeat(offline))
}

/// Many CPUs: one character each, or one for several next to each other.
fn strip(out: &mut String, s: &Summary, screen: &Screen) {
    let line_of: usize = if screen.width >= 140 { 128 } else { 64 };
    const STEPS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let used = |c: &CpuSummary| (c.busy_ns + c.scheduler_ns) as f64 / s.duration_ns as f64;
    let per_cell = s.cpus.len().div_ceil(64 * 8);
    let mut shares: Vec<f64> = s.cpus.iter().map(used).collect();
    let cells: Vec<f64> = shares.chunks(per_cell).map(|c| c.iter().sum::<f64>() / c.len() as f64).collect();
    let what = if per_cell == 1 { "each CPU".to_string() } else { format!("{per_cell} CPUs a character") };
    line(out, &format!("  utilisation, {what}"));
    for (i, row) in cells.chunks(line_of).enumerate() {
        let marks: String = row.iter().map(|&u| STEPS[((u * 8.0).ceil() as usize).min(8)]).collect();
        line(out, &format!("  {:>5}  {marks}", i * line_of * per_cell));
    }
    shares.sort_by(f64::total_cmp);
    let [min, median, max] = [0, shares.len() / 2, shares.len() - 1].map(|i| 100.0 * shares[i]);
    line(
        out,
        &format!(
            "  {}: least {min:.1} %, median {median:.1} %, most {max:.1} %",
            plural(shares.len(), "CPU")
        ),
    );
}

/// Barriers and gangs.
fn together(out: &mut String, s: &Summary, screen: &Screen) {
    if !s.barriers.is_empty() {
        line(out, "");
        let mut columns = Columns::new(["barrier", "rounds", "rounds/s"]);
        for b in s.barriers.iter().take(LINES) {
            columns.row([b.name.clone(), count(b.rounds), significant(b.rounds_per_s)]);
        }
        out.push_str(&columns.render(0, screen));
        if s.totals.spin_ns > 0 {
            let spun = duration(s.totals.spin_ns);
            let part = percent(s.totals.spin_ns, s.totals.busy_ns);
            line(out, &format!("{spun} of CPU time were spent spinning, {part} of the time that tasks ran"));
        }
    }
    if let Some(c) = &s.clocks {
        line(out, "");
        let how = if c.disabled { ", and given up: gangs were best effort" } else { "" };
        line(
            out,
            &format!(
                "clocks of CPUs made equal in {} rounds ({} failed, {} because of drift){how}; off by at most {}",
                count(c.rounds),
                count(c.failed),
                count(c.drifted),
                duration(c.error_max_ns)
            ),
        );
    }
    if !s.gangs.is_empty() {
        line(out, "");
        let mut columns = Columns::new([
            "gang",
            "CPUs",
            "cut to",
            "slots",
            "incomplete",
            "skew",
            "worst",
            "late",
            "phases",
            "messages",
            "wasted",
        ])
        .giving_way(&["messages", "phases", "CPUs", "wasted"]);
        for g in s.gangs.iter().take(LINES) {
            columns.row([
                g.name.clone(),
                g.cpus.len().to_string(),
                format!("{:.1} %", f64::from(g.scale) / 10.0),
                count(g.slots),
                count(g.incomplete),
                duration(g.skew_mean_ns),
                duration(g.skew_max_ns),
                duration(g.late_max_ns),
                count(g.phase_changes),
                count(g.messages),
                duration(g.wasted_ns),
            ]);
        }
        out.push_str(&columns.render(0, screen));
        for g in s.gangs.iter().filter(|g| !g.groups.is_empty()).take(LINES) {
            let groups: Vec<String> = g.groups.iter().map(group_slots).collect();
            line(out, &format!("gang {}: {}", g.name, groups.join("; ")));
        }
        for g in s.gangs.iter().filter(|g| g.signals > 0).take(LINES) {
            let each = duration(g.carry_ns / (2 * g.slots.max(1)));
            line(
                out,
                &format!(
                    "gang {}: slots began and ended by {} signals, {each} of a CPU each time",
                    g.name,
                    count(g.signals)
                ),
            );
        }
    }
}

fn group_slots(g: &GangGroupSummary) -> String {
    format!(
        "group {}, up to {} members: {} slots, {} incomplete, skew up to {}",
        g.group,
        g.members,
        count(g.slots),
        count(g.incomplete),
        duration(g.skew_max_ns)
    )
}

/// Where scheduler time went, if there was any: the three costliest of each kind.
fn contention(out: &mut String, s: &Summary) {
    let top = |mut items: Vec<(&str, u64)>| {
        items.retain(|(_, ns)| *ns > 0);
        items.sort_by_key(|(_, ns)| Reverse(*ns));
        items.truncate(3);
        items
            .iter()
            .map(|(name, ns)| format!("{} {}", clip(name, 20), duration(*ns)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let code = top(s.components.iter().map(|c| (c.name.as_str(), c.ns)).collect());
    let waits = top(s.pipes.iter().map(|p| (p.name.as_str(), p.lock_wait_ns)).collect());
    if !(code.is_empty() && waits.is_empty()) {
        out.push('\n');
    }
    for (title, text) in [("most scheduler code", code), ("most lock waiting", waits)] {
        if !text.is_empty() {
            line(out, &format!("  {title:<20} {text}"));
        }
    }
}
