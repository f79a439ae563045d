// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The report of one run.

use super::data::{GanttData, GroupData, OverviewData, SpreadData, TaskRow, groups, tasks};
use super::page::{Tile, escape, page, tiles};
use crate::gantt::Gantt;
use crate::summary::{
    CallSummary, ComponentSummary, CpuSummary, MessageSummary, PipeSummary, Summary, SwapSummary,
};
use crate::text::{duration, energy_f, percent};
use crate::{count, plural};
use serde::Serialize;
use std::fmt::Write as _;

const SCRIPT: &str = include_str!("assets/run.js");

/// The content of a report besides the summary.
#[derive(Debug, Default)]
pub struct HtmlExtras {
    /// Drawing of the topology. Elements with the attributes `data-pipe` or `data-instance`, naming a
    /// pipe or instance (by name or index), are coloured and labelled with their numbers.
    pub graph_svg: Option<String>,
    /// Which task ran where; [`Gantt::finish`] was called.
    pub gantt: Option<Gantt>,
    /// Node and last-level cache of each CPU, by which many CPUs are grouped; empty: unknown.
    pub places: Vec<(u32, u32)>,
}

#[derive(Serialize)]
struct Data<'a> {
    duration: u64,
    capacity: u64,
    busy: u64,
    idle: u64,
    scheduler: u64,
    lock_wait: u64,
    nr_tasks: usize,
    nr_groups: usize,
    cpus: &'a [CpuSummary],
    pipes: &'a [PipeSummary],
    components: &'a [ComponentSummary],
    calls: &'a [CallSummary],
    messages: &'a [MessageSummary],
    swaps: &'a [SwapSummary],
    all: [SpreadData; 2],
    groups: Vec<GroupData>,
    tasks: Vec<TaskRow<'a>>,
    gantt: Option<GanttData>,
    overview: Option<OverviewData>,
    graph: Option<&'a str>,
}

/// Name of the file that has the report of a guest, beside the report of its host.
pub fn guest_page(guest: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    format!("guest-{}.html", guest.chars().map(plain).collect::<String>())
}

/// The report of a run as one HTML file.
pub fn html(summary: &Summary, extras: &HtmlExtras) -> String {
    let t = &summary.totals;
    let data = Data {
        duration: summary.duration_ns,
        capacity: summary.capacity_ns(),
        busy: t.busy_ns,
        idle: t.idle_ns,
        scheduler: t.scheduler_ns,
        lock_wait: t.lock_wait_ns,
        nr_tasks: summary.tasks.len(),
        nr_groups: summary.groups.len(),
        cpus: &summary.cpus,
        pipes: &summary.pipes,
        components: &summary.components,
        calls: &summary.calls,
        messages: &summary.messages,
        swaps: &summary.swaps,
        all: [
            SpreadData::new(&summary.response_ns, &summary.response_bins),
            SpreadData::new(&summary.wakeup_latency_ns, &summary.wakeup_bins),
        ],
        groups: groups(summary),
        tasks: tasks(summary),
        gantt: extras.gantt.as_ref().map(|g| GanttData::new(g, summary)),
        overview: extras.gantt.as_ref().map(|g| OverviewData::new(g, summary, &extras.places)),
        graph: extras.graph_svg.as_deref(),
    };
    let title = format!("{} on {}", escape(&summary.topology), escape(&summary.machine));
    let interrupted = if summary.interrupted {
        "<p class=\"banner\">Interrupted: the numbers cover what had happened by then.</p>"
    } else {
        ""
    };
    let mut inside = String::new();
    for g in &summary.guests {
        let _ = write!(
            inside,
            "<li><a href=\"{}\">{}</a>: {} on {} virtual CPUs, {} of CPU time, {} stolen</li>",
            escape(&guest_page(&g.name)),
            escape(&g.name),
            escape(&g.run.topology),
            g.vcpus.len(),
            duration(g.run.totals.busy_ns),
            duration(g.run.totals.stolen_ns),
        );
    }
    if !inside.is_empty() {
        inside = format!("<section><h2>Guests</h2><ul>{inside}</ul></section>");
    }
    let body = format!(
        "<header><div><h1>{} <span>on</span> {}</h1>\
         <p class=\"sub\"><b>{}</b> · seed {} · {} of virtual time · {}</p></div></header>\n{interrupted}\n\
         {}\n{inside}<main></main>\n<noscript><p class=\"banner\">Charts and tables need JavaScript; \
         summary.json and tasks.csv have the numbers.</p></noscript>\n\
         <footer>runweir {}</footer>",
        escape(&summary.topology),
        escape(&summary.machine),
        escape(&summary.workload),
        summary.seed,
        duration(summary.duration_ns),
        plural(summary.events, "event"),
        tiles(&headline(summary)),
        escape(&summary.runweir),
    );
    page(&title, &body, &data, SCRIPT)
}

fn per_second(n: u64, ns: u64) -> String {
    match ns {
        0 => String::new(),
        _ => format!("{} a second", count((u128::from(n) * 1_000_000_000 / u128::from(ns)) as u64)),
    }
}

fn headline(s: &Summary) -> Vec<Tile> {
    let t = &s.totals;
    let tile = |label, value: String, note: String| Tile { label, value, note, alert: false };
    let mut out = Vec::new();
    if t.jobs > 0 {
        let open = t.jobs.saturating_sub(t.jobs_completed);
        let note =
            if open == 0 { "all that were released".into() } else { format!("{} still open", count(open)) };
        out.push(tile("jobs done", count(t.jobs_completed), note));
        out.push(Tile {
            alert: t.deadline_misses > 0,
            ..tile(
                "deadline misses",
                count(t.deadline_misses),
                format!("{} of the jobs", percent(t.deadline_misses, t.jobs)),
            )
        });
    }
    for (label, d) in [("response p99", &s.response_ns), ("wakeup latency p99", &s.wakeup_latency_ns)] {
        if d.max > 0 {
            out.push(tile(
                label,
                duration(d.p99),
                format!("p50 {} · max {}", duration(d.p50), duration(d.max)),
            ));
        }
    }
    let capacity = s.capacity_ns();
    out.push(tile(
        "CPUs busy",
        percent(t.busy_ns, capacity),
        format!("{} idle", percent(t.idle_ns, capacity)),
    ));
    let each = match t.decisions {
        0 => String::new(),
        n => format!("{} a decision", duration(t.scheduler_ns / n)),
    };
    out.push(tile("scheduler", percent(t.scheduler_ns, capacity), each));
    out.push(Tile {
        alert: t.lock_wait_ns > 0 && t.lock_wait_ns >= t.scheduler_ns / 5,
        ..tile(
            "waiting for locks",
            duration(t.lock_wait_ns),
            match t.scheduler_ns {
                0 => String::new(),
                all => format!("{} of scheduler time", percent(t.lock_wait_ns, all)),
            },
        )
    });
    out.push(tile(
        "task switches",
        count(t.context_switches),
        match t.cpu_switches {
            0 => per_second(t.context_switches, s.duration_ns),
            all => format!("{} with those to idle and back", count(all)),
        },
    ));
    out.push(tile("preemptions", count(t.preemptions), per_second(t.preemptions, s.duration_ns)));
    out.push(tile("migrations", count(t.migrations), per_second(t.migrations, s.duration_ns)));
    if t.energy_uj > 0 {
        let watts = t.energy_uj as f64 * 1e3 / s.duration_ns.max(1) as f64;
        out.push(tile(
            "energy",
            energy_f(t.energy_uj as f64),
            format!("{} W on average", crate::text::significant(watts)),
        ));
    }
    if let Some(max) = s.swaps.iter().map(|w| w.pause_ns).max() {
        out.push(tile("swaps", count(s.swaps.len() as u64), format!("longest pause {}", duration(max))));
    }
    out
}
