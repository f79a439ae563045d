// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir status`: what the scheduler in charge is doing.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueHint};
use weir_linux::{Snapshot, TaskState, client};

use crate::fault::Result;
use crate::output;
use crate::units::show_ns;

/// Rows of each table that are shown; `--json` has all.
const ROWS: usize = 16;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir status
  sudo runweir status --json | jq .totals

Reading disturbs nothing: the figures come from memory that the scheduler in the kernel shares.")]
pub struct StatusArgs {
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// Show all CPUs, pipes and tasks
    #[arg(short, long)]
    pub all: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

/// Ask and show.
pub fn status(args: &StatusArgs) -> Result<ExitCode> {
    let socket = client::socket_path(args.socket.as_deref());
    let snapshot = client::status(&socket).map_err(crate::live::fault)?;
    if args.json {
        output::print(&output::json(&snapshot)?)?;
    } else {
        output::print(&table(&snapshot, if args.all { usize::MAX } else { ROWS }))?;
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
    line(format!("topology   {}, in charge for {}", s.topology, show_ns(s.uptime_ns)));
    line(format!("machine    {online} of {} CPUs online", s.nr_cpus));
    line(format!("tasks      {}, {} of them waiting in the graph", t.tasks, t.in_graph));
    line(format!(
        "traffic    {} entered = {} to a CPU + {} taken back + {} waiting; {} direct, {} beside the graph",
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
        (t.gave_up, "waits given up"),
        (t.lost_messages, "lost messages"),
        (t.no_memory, "tasks without memory"),
        (t.lost_events, "lost events"),
    ];
    let told: Vec<String> =
        mishaps.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !told.is_empty() {
        line(format!("mishaps    {}", told.join(", ")));
    }
    if let Some(w) = &s.last_swap {
        let ago = s.t_ns.saturating_sub(w.t_ns);
        line(format!(
            "switched   {} ago, {} -> {}: pause {}, {} tasks moved, {} built, {} kept ({} switches so far)",
            show_ns(ago),
            w.from,
            w.to,
            show_ns(w.pause_ns),
            w.represented,
            w.built,
            w.kept,
            t.swaps
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
        let busy = show_ns(c.busy_ns);
        line(format!(
            "{:>5} {busy:>10} {:>10} {:>10} {:>10}  {running}",
            c.cpu, c.runs, c.migrations, c.enqueues
        ));
    }
    more(&mut line, s.cpus.len(), rows);
    line(String::new());
    line(format!("{:>6} {:>6} {:>12} {:>12}  pipe", "tasks", "most", "added", "removed"));
    for p in s.pipes.iter().take(rows) {
        line(format!(
            "{:>6} {:>6} {:>12} {:>12}  {}: {} -> {}",
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
        let (ran, waited) = (show_ns(task.run_ns), show_ns(task.wait_ns));
        line(format!(
            "{:>7} {ran:>10} {waited:>10} {:>9} {:>8} {state:<8} {}{}",
            task.pid,
            task.runs,
            task.migrations,
            task.comm,
            if task.aside { " (beside the graph)" } else { "" }
        ));
    }
    more(&mut line, s.tasks.len(), rows);
    out
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
    use weir_linux::{CpuView, PipeView, SwapReport, TaskView, Totals};

    #[test]
    fn reads_well() {
        let cpu = |cpu| CpuView { cpu, online: cpu < 19, busy_ns: 1_500_000_000, ..CpuView::default() };
        let s = Snapshot {
            t_ns: 9_000_000_000,
            topology: "decentral".into(),
            nr_cpus: 20,
            uptime_ns: 8_000_000_000,
            attached: true,
            cpus: (0..20)
                .map(|c| CpuView { curr: (c == 1).then_some(77), curr_comm: "hackbench".into(), ..cpu(c) })
                .collect(),
            pipes: vec![PipeView {
                name: "entry".into(),
                from: "entry".into(),
                to: "load_balancer".into(),
                depth: 3,
                max_depth: 40,
                added: 1000,
                removed: 997,
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
