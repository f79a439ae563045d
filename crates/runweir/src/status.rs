// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir status`: what the scheduler in charge is doing.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use weir_linux::gauges::{Spread, TopologyWaits};
use weir_linux::protocol::TextOrigin;
use weir_linux::{PipeView, Snapshot, TaskState, client};

use crate::fault::Result;
use crate::output;
use crate::units::{duration, plural};
use crate::watched::Watched;

/// Rows of each table that are shown; `--json` has all.
const ROWS: usize = 16;

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir status
  sudo runweir status --json | jq .totals
  runweir status --pid 4711                   the threads of a program under a policy
  sudo runweir status --weir > now.weir      the active topology, with its present values

The command does not affect the scheduler: it reads memory that the kernel side shares.")]
pub struct StatusArgs {
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the active topology as .weir text; with --json: text, name and where the text comes from
    #[arg(long, conflicts_with = "all")]
    pub weir: bool,
    /// Show all CPUs, pipes and tasks
    #[arg(short, long)]
    pub all: bool,
    #[command(flatten)]
    pub watched: Watched,
}

/// Ask and show.
pub fn status(args: &StatusArgs) -> Result<ExitCode> {
    let socket = args.watched.socket();
    if args.weir {
        let read = client::topology(&socket).map_err(crate::live::fault)?;
        output::print(&if args.json { output::json(&read)? } else { read.weir })?;
        if read.origin == TextOrigin::Graph && !args.json {
            output::note("what runs differs from the text that was loaded, so this was made from the graph");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let snapshot = client::status(&socket).map_err(crate::live::fault)?;
    if args.json {
        output::print(&output::json(&snapshot)?)?;
    } else {
        output::say(&table(&snapshot, if args.all { usize::MAX } else { ROWS }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// For people.
fn table(s: &Snapshot, rows: usize) -> String {
    let t = &s.totals;
    let mut out = String::new();
    // Writing to memory does not fail.
    let mut line = |text: String| writeln!(out, "{}", text.trim_end()).expect("to memory");
    let online = s.cpus.iter().filter(|c| c.online).count();
    line(format!("topology   {}, in charge for {}", s.topology, duration(s.uptime_ns)));
    if let Some(p) = &s.program {
        line(format!(
            "program    {} (process {}), {} made so far",
            weir_report::clip(&p.name, 64),
            p.pid,
            plural(p.created, "thread")
        ));
        line(format!(
            "gave up    the CPU: {} by waiting, {} by yielding, {} preempted ({} put off), {} handed over",
            p.blocks, p.yields, p.preemptions, p.deferred, p.handovers
        ));
        line(format!("idle       {}, {} of CPUs", duration(p.idle_ns), plural(p.sleeps, "sleep")));
        if p.deadline_misses > 0 {
            line(format!("deadlines  {} missed", p.deadline_misses));
        }
    }
    line(format!("machine    {online} of {} online", plural(s.nr_cpus, "CPU")));
    line(format!("tasks      {}, {} of them waiting in the graph", t.tasks, t.in_graph));
    line(format!(
        "traffic    {} entered = {} to a CPU + {} taken back + {} waiting; {} direct, {} outside the graph",
        t.enqueues,
        t.dispatches,
        t.dequeues,
        t.enqueues.saturating_sub(t.dispatches + t.dequeues),
        t.direct,
        t.aside
    ));
    line(format!(
        "switches   {} to a task, {} migrations, {} kicks, {} preemptions asked for, {} messages",
        t.runs, t.migrations, t.kicks, t.preempts, t.messages
    ));
    if t.stints > 0 {
        line(format!("counters   {} instructions in {} stints of tasks", t.instructions, t.stints));
    }
    if t.timers > 0 {
        line(format!("timers     {} of components expired", t.timers));
    }
    line(format!("memory     {} of {} KiB used", t.arena_used.div_ceil(1024), t.arena_bytes / 1024));
    let mishaps = [
        (t.faults, "faults"),
        (t.failures, "failed calls"),
        (t.rescues, "rescues of tasks that a sleeping CPU should have run"),
        (t.overdue, "tasks found waiting for CPUs that had no time"),
        (t.lost_messages, "lost messages"),
        (t.no_memory, "tasks without memory"),
        (t.lost_events, "lost events"),
    ];
    let mishaps: Vec<String> =
        mishaps.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !mishaps.is_empty() {
        line(format!("mishaps    {}", mishaps.join(", ")));
    }
    for c in &s.cpus {
        if let Some(what) = &c.last_failure {
            line(format!("           the last call that failed on CPU {}: {what}", c.cpu));
        }
    }
    for g in &s.gangs {
        line(format!("gang       {}", crate::gang::line(g).trim_end()));
    }
    waits(&mut line, s);
    calls(&mut line, s);
    if let Some(w) = &s.last_swap {
        let ago = s.t_ns.saturating_sub(w.t_ns);
        line(format!(
            "switched   {} ago, {} -> {}: pause {}, {} moved, {} built, {} kept ({} so far)",
            duration(ago),
            w.from,
            w.to,
            duration(w.pause_ns),
            plural(w.represented, "task"),
            w.built,
            w.kept,
            plural(t.swaps, "switch")
        ));
    }
    line(String::new());
    line(format!("{:>5} {:>10} {:>10} {:>10} {:>10}  running", "cpu", "busy", "runs", "migrated", "entered"));
    for c in s.cpus.iter().take(rows) {
        let running = match (c.online, c.curr) {
            (false, _) => "(offline)".into(),
            (true, Some(pid)) => format!("{} ({pid})", c.curr_comm),
            (true, None) => String::new(),
        };
        let busy = duration(c.busy_ns);
        line(format!(
            "{:>5} {busy:>10} {:>10} {:>10} {:>10}  {running}",
            c.cpu, c.runs, c.migrations, c.enqueues
        ));
    }
    more(&mut line, s.cpus.len(), rows);
    line(String::new());
    line(format!(
        "{:>6} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  pipe",
        "tasks", "most", "added", "removed", "lock", "longest", "woken p99", "max"
    ));
    for p in s.pipes.iter().take(rows) {
        let (p99, max) = match &p.waits {
            Some(w) => (duration(w.woken.total.p99_ns), duration(w.woken.total.max_ns)),
            None => (String::new(), String::new()),
        };
        let (lock, longest) = (duration(p.lock_wait_ns), duration(p.longest_lock_wait_ns));
        line(format!(
            "{:>6} {:>6} {:>10} {:>10} {lock:>10} {longest:>10} {p99:>10} {max:>10}  {}: {} -> {}",
            p.depth, p.max_depth, p.added, p.removed, p.name, p.from, p.to
        ));
    }
    more(&mut line, s.pipes.len(), rows);
    line(String::new());
    line(format!(
        "{:>7} {:>10} {:>10} {:>9} {:>8} {:<8} name",
        "thread", "ran", "waited", "runs", "migrated", "state"
    ));
    for task in s.busiest(rows.min(s.tasks.len())) {
        let state = match task.state {
            TaskState::Blocked => "blocked",
            TaskState::Waiting => "waiting",
            TaskState::Running => "running",
        };
        let (ran, waited) = (duration(task.run_ns), duration(task.wait_ns));
        line(format!(
            "{:>7} {ran:>10} {waited:>10} {:>9} {:>8} {state:<8} {}{}",
            task.pid,
            task.runs,
            task.migrations,
            task.comm,
            if task.aside { " (outside the graph)" } else { "" }
        ));
    }
    more(&mut line, s.tasks.len(), rows);
    out
}

/// For how long tasks waited for a CPU, from becoming runnable to running.
fn waits(line: &mut impl FnMut(String), s: &Snapshot) {
    let kinds = |w: &TopologyWaits| {
        [
            ("woken", w.waits.woken.clone()),
            ("returned", w.waits.returned.clone()),
            ("aside", w.waits.aside.clone()),
        ]
    };
    let row = |s: &Spread| {
        let [p50, p95, p99, max] = [s.p50_ns, s.p95_ns, s.p99_ns, s.max_ns].map(duration);
        format!("{:>10} {p50:>10} {p95:>10} {p99:>10} {max:>10}", s.count)
    };
    let Some(present) = s.waits.first() else { return };
    line(String::new());
    line(format!(
        "{:>10} {:>10} {:>10} {:>10} {:>10}  waited for a CPU",
        "times", "p50", "p95", "p99", "max"
    ));
    for (kind, w) in kinds(present).iter().filter(|(_, w)| w.last_10s.count > 0) {
        line(format!("{}  {kind}, last 10 s", row(&w.last_10s)));
    }
    for t in &s.waits {
        for (kind, w) in kinds(t).iter().filter(|(_, w)| w.total.count > 0) {
            line(format!("{}  {kind}, under {}", row(&w.total), t.topology));
        }
    }
}

/// How long the scheduler's own calls took, and for how long they waited for each other.
fn calls(line: &mut impl FnMut(String), s: &Snapshot) {
    let t = &s.totals;
    let longest = s.longest_calls();
    if !longest.is_empty() {
        line(String::new());
        line(format!(
            "{:>10} {:>10} {:>10} {:>10} {:>5}  call",
            "times", "mean", "longest", "last 10 s", "cpu"
        ));
    }
    for (cpu, call) in longest {
        let of_kind = || s.cpus.iter().flat_map(|c| &c.calls).filter(|c| c.call == call.call);
        let (nr, ns) = of_kind().fold((0, 0), |(nr, ns), c| (nr + c.calls, ns + c.total_ns));
        let recent = of_kind().map(|c| c.longest_10s_ns).max().unwrap_or(0);
        let mean = duration(ns / nr.max(1));
        line(format!(
            "{nr:>10} {mean:>10} {:>10} {:>10} {cpu:>5}  {}",
            duration(call.longest_ns),
            duration(recent),
            call.call
        ));
    }
    line(String::new());
    let sum = |of: fn(&PipeView) -> u64| s.pipes.iter().map(of).sum::<u64>();
    let worst = s.pipes.iter().max_by_key(|p| p.longest_lock_wait_ns).filter(|p| p.lock_waits > 0);
    let worst = worst
        .map_or(String::new(), |p| format!(", longest {} for {}", duration(p.longest_lock_wait_ns), p.name));
    line(format!(
        "locks      {}, {} in all{worst}; {} given up",
        plural(sum(|p| p.lock_waits), "wait"),
        duration(sum(|p| p.lock_wait_ns)),
        sum(|p| p.lock_waits_given_up)
    ));
    line(format!(
        "given up   {} for another CPU: {} tried again at once, {} left in inboxes, {} ran outside the graph",
        plural(t.gave_up, "wait"),
        t.retried,
        plural(t.inboxed, "task"),
        t.aside_given_up
    ));
}

/// How many rows are left out.
fn more(line: &mut impl FnMut(String), all: usize, rows: usize) {
    if all > rows {
        line(format!("      and {} more (--all)", all - rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_linux::gauges::{CallView, WaitView, Waits};
    use weir_linux::{CpuView, SwapReport, TaskView, Totals};

    #[test]
    fn reads_well() {
        let cpu = |cpu| CpuView { cpu, online: cpu < 19, busy_ns: 1_500_000_000, ..CpuView::default() };
        let spread = |max_ns| Spread {
            count: 1_000,
            mean_ns: 20_000,
            p50_ns: 9_000,
            p95_ns: 60_000,
            p99_ns: 700_000,
            max_ns,
        };
        let woken = WaitView { total: spread(5_000_000), last_10s: spread(1_000_000) };
        let waits = Waits { woken, ..Waits::default() };
        let call = |call: &str, longest_ns| CallView {
            call: call.into(),
            calls: 50,
            timed: 50,
            long: 1,
            total_ns: 100_000,
            longest_ns,
            longest_10s_ns: 2_000,
        };
        let s = Snapshot {
            waits: vec![TopologyWaits { topology: "decentral".into(), waits: waits.clone() }],
            t_ns: 9_000_000_000,
            topology: "decentral".into(),
            nr_cpus: 20,
            uptime_ns: 8_000_000_000,
            attached: true,
            cpus: (0..20)
                .map(|c| CpuView {
                    curr: (c == 1).then_some(77),
                    curr_comm: "hackbench".into(),
                    calls: if c < 2 {
                        vec![call("pick", 3_000 + u64::from(c)), call("unblock", 1_200_000)]
                    } else {
                        Vec::new()
                    },
                    ..cpu(c)
                })
                .collect(),
            pipes: vec![PipeView {
                name: "entry".into(),
                from: "entry".into(),
                to: "load_balancer".into(),
                depth: 3,
                max_depth: 40,
                added: 1000,
                removed: 997,
                lock_wait_ns: 90_000,
                longest_lock_wait_ns: 21_000,
                lock_waits: 7,
                lock_waits_given_up: 1,
                waits: Some(waits),
                ..PipeView::default()
            }],
            tasks: vec![
                TaskView {
                    pid: 77,
                    comm: "hackbench".into(),
                    run_ns: 5_000,
                    state: TaskState::Running,
                    ..TaskView::default()
                },
                TaskView {
                    pid: 78,
                    comm: "kworker".into(),
                    run_ns: 9_000,
                    aside: true,
                    ..TaskView::default()
                },
            ],
            totals: Totals {
                enqueues: 100,
                dispatches: 90,
                dequeues: 7,
                in_graph: 3,
                tasks: 2,
                failures: 1,
                ..Totals::default()
            },
            last_swap: Some(SwapReport {
                t_ns: 8_000_000_000,
                from: "fair".into(),
                to: "decentral".into(),
                pause_ns: 42_000,
                represented: 12,
                built: 9,
                kept: 1,
            }),
            ..Snapshot::default()
        };
        insta::assert_snapshot!(table(&s, ROWS));
    }
}
