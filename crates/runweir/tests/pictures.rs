// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a user sees, at several sizes.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use runweir::top::{Keys, Pane, Picture, Sort, once};
use weir_linux::gauges::{CallView, Spread, TopologyWaits, WaitView, Waits};
use weir_linux::snapshot::{
    CpuView, InstanceView, PipeView, Snapshot, SwapReport, TaskState, TaskView, Totals,
};

const SECOND: u64 = 1_000_000_000;

/// Waits up to so many milliseconds and one.
fn waits(ms: u32) -> Waits {
    let max_ns = u64::from(ms + 1) * 1_000_000;
    let s = Spread { count: 9, mean_ns: 40_000, p50_ns: 30_000, p95_ns: 90_000, p99_ns: max_ns / 2, max_ns };
    let woken = WaitView { total: s.clone(), last_10s: s };
    Waits { woken, ..Waits::default() }
}

/// `decentral` on `nr_cpus` CPUs, `t_ns` after its attachment, with made-up figures that grow evenly.
fn decentral(nr_cpus: u32, t_ns: u64) -> Snapshot {
    let ms = t_ns / 1_000_000;
    let pipe = |idx, name: String, from: &str, to: String, depth, each: u64, cpus: String| PipeView {
        idx,
        name,
        from: from.into(),
        to,
        depth,
        max_depth: depth * 2 + 1,
        added: ms * each + u64::from(depth),
        removed: ms * each,
        cpus,
        lock_wait_ns: ms * each,
        longest_lock_wait_ns: 21_000,
        waits: from.starts_with("round_robin").then(|| waits(depth)),
        ..PipeView::default()
    };
    let all = format!("0-{}", nr_cpus - 1);
    let mut pipes = vec![pipe(0, "entry".into(), "entry", "load_balancer".into(), 6, 12, all)];
    let mut instances =
        vec![("affinity".to_owned(), "affinity", 0), ("load_balancer".to_owned(), "load_balancer", 24 * ms)];
    for cpu in 0..nr_cpus {
        let rr = format!("round_robin@cpu{cpu}");
        let depth = if cpu == 1 { 4 } else { cpu % 2 };
        let lb = format!("load_balancer.out{cpu}");
        pipes.push(pipe(0, lb, "load_balancer", rr.clone(), depth, 3, cpu.to_string()));
        pipes.push(pipe(0, format!("{rr}.out"), &rr, format!("cpu{cpu}"), depth, 3, cpu.to_string()));
        instances.push((rr, "round_robin", 6 * ms));
        instances.push((format!("cpu{cpu}"), "termination", 6 * ms));
    }
    let tasks = [
        (0, 1201, "hackbench", TaskState::Running, 700, 200),
        (1, 1202, "hackbench", TaskState::Waiting, 450, 400),
        (2, 77, "kworker/1:2-events", TaskState::Blocked, 1, 0),
        (3, 1300, "evil\u{1b}[2Jname", TaskState::Waiting, 20, 3),
        (4, 9, "ksoftirqd/0", TaskState::Running, 0, 0),
    ];
    let task = |&(id, pid, comm, state, run, wait): &(u32, u32, &str, TaskState, u64, u64)| TaskView {
        id,
        pid,
        tgid: pid,
        comm: comm.into(),
        cpu: Some(id % nr_cpus),
        run_ns: t_ns * run / 1000,
        wait_ns: t_ns * wait / 1000,
        waiting_since_ns: if state == TaskState::Waiting { t_ns - 2_500_000 } else { 0 },
        runs: (ms * u64::from(id + 1)) as u32,
        migrations: (ms / 100) as u32 * id,
        state,
        aside: id == 4,
    };
    let cpu = |cpu: u32| CpuView {
        cpu,
        online: cpu != 2,
        curr: (cpu < 2).then_some(1201 + cpu),
        curr_comm: if cpu < 2 { "hackbench".into() } else { String::new() },
        busy_ns: t_ns * u64::from(95 - 30 * (cpu % 4)) / 100,
        runs: ms * 3,
        migrations: ms / 10,
        empty: ms / 2,
        calls: vec![CallView {
            call: "pick".into(),
            calls: ms,
            longest_ns: 2_000_000,
            longest_10s_ns: 40_000 + u64::from(cpu),
            ..CallView::default()
        }],
        ..CpuView::default()
    };
    Snapshot {
        t_ns: t_ns + 5 * SECOND,
        topology: "decentral".into(),
        waits: vec![TopologyWaits { topology: "decentral".into(), waits: waits(7) }],
        source: String::new(),
        nr_cpus,
        uptime_ns: t_ns,
        attached: true,
        cpus: (0..nr_cpus).map(cpu).collect(),
        pipes: (0..).zip(pipes).map(|(idx, p)| PipeView { idx, ..p }).collect(),
        instances: (0..)
            .zip(instances)
            .map(|(idx, (name, component, updates))| InstanceView {
                idx,
                name,
                component: component.into(),
                updates,
                ..InstanceView::default()
            })
            .collect(),
        tasks: tasks
            .iter()
            .map(|t| {
                let view = task(t);
                TaskView {
                    waiting_since_ns: match view.waiting_since_ns {
                        0 => 0,
                        since => since + 5 * SECOND,
                    },
                    ..view
                }
            })
            .collect(),
        totals: Totals {
            enqueues: 12 * ms,
            dispatches: 12 * ms,
            in_graph: 6,
            runs: 12 * ms,
            migrations: ms / 10 * u64::from(nr_cpus),
            kicks: ms,
            gave_up: 3,
            preempts: ms / 50,
            messages: ms / 250,
            tasks: 5,
            swaps: 1,
            arena_used: 3 << 20,
            arena_bytes: 64 << 20,
            ..Totals::default()
        },
        components: Vec::new(),
        gangs: Vec::new(),
        program: None,
        last_swap: Some(SwapReport {
            t_ns: 6 * SECOND,
            from: "central".into(),
            to: "decentral".into(),
            pause_ns: 184_000,
            represented: 12,
            built: 9,
            kept: 1,
        }),
    }
}

fn picture(size: (u16, u16), cpus: u32, keys: &Keys, note: Option<&str>) -> String {
    let (before, now) = (decentral(cpus, 60 * SECOND), decentral(cpus, 60 * SECOND + SECOND / 2));
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("no terminal needed");
    let picture = Picture { before: Some(&before), now: &now, keys, note };
    terminal.draw(|frame| frame.render_widget(&picture, frame.area())).expect("drawn into memory");
    terminal.backend().to_string()
}

#[test]
fn usual_terminal() {
    insta::assert_snapshot!(picture((80, 24), 4, &Keys::default(), None));
}

#[test]
fn large_terminal() {
    let keys = Keys { focus: Pane::Tasks, sort: Sort::Wait, ..Keys::default() };
    insta::assert_snapshot!(picture((120, 40), 4, &keys, None));
}

#[test]
fn narrow_terminal_shows_one_pane() {
    let keys = Keys { focus: Pane::Cpus, paused: true, ..Keys::default() };
    insta::assert_snapshot!(picture((40, 20), 4, &keys, None));
}

#[test]
fn many_cpus_are_scrolled() {
    let keys = Keys { scroll: [10, 1000, 0], ..Keys::default() };
    insta::assert_snapshot!(picture((100, 30), 64, &keys, None));
}

#[test]
fn a_lost_connection_is_reported() {
    let text = picture((80, 24), 2, &Keys::default(), Some("nobody answers at /run/runweir.sock"));
    assert!(text.contains("NOT CONNECTED"), "{text}");
    assert!(text.contains("nobody answers"), "{text}");
}

#[test]
fn without_a_terminal() {
    let (before, now) = (decentral(2, SECOND), decentral(2, 2 * SECOND));
    insta::assert_snapshot!(once(Some(&before), &now, 100, 30));
}

/// No size is too small, no text of a snapshot reaches the terminal as a command.
#[test]
fn any_size_can_be_drawn() {
    for width in [1, 2, 5, 19, 39, 63, 64, 80, 109, 110, 200] {
        for height in [1, 3, 4, 5, 8, 15, 16, 24, 60] {
            for focus in [Pane::Graph, Pane::Cpus, Pane::Tasks] {
                let keys = Keys { focus, scroll: [7; 3], ..Keys::default() };
                let text = picture((width, height), 3, &keys, Some("a\u{1b}[31mnote"));
                assert!(!text.contains('\u{1b}'));
            }
        }
    }
    assert!(!once(None, &decentral(2, SECOND), 0, 0).contains('\u{1b}'));
    let empty = Snapshot::default();
    assert!(once(None, &empty, 80, 24).contains("NOT IN CHARGE"));
}
