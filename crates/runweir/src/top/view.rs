// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The picture: a header, the graph, the CPUs, the tasks, the keys.
//!
//! Colours say again what characters say: bars, marks and words carry everything.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Widget};
use weir_linux::snapshot::{Snapshot, TaskState, TaskView};
use weir_report::{clip, duration, plural};

use super::graph::{self, Subject};
use super::keys::{Keys, Pane, Sort};
use super::rates::{Flow, Rates, TaskRate};
use super::text::{pad, per_second, percent, right};

/// Below this the panes stand one behind the other.
const NARROW: u16 = 64;
const SHORT: u16 = 16;
/// From here on CPUs stand outside the graph and tasks below both.
const WIDE: u16 = 110;

/// What is to be seen: two moments and the state of the keys.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The moment before; without one there are no rates.
    pub before: Option<&'a Snapshot>,
    pub now: &'a Snapshot,
    pub keys: &'a Keys,
    /// What the user should know: the connection is gone, for example.
    pub note: Option<&'a str>,
}

/// Where the parts of the picture are.
struct Places {
    header: Rect,
    panes: Vec<(Pane, Rect)>,
    footer: Rect,
}

fn places(area: Rect, keys: &Keys) -> Places {
    let [header, body, footer] =
        Layout::vertical([Constraint::Length(5), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    let [graph, cpus, tasks] = Pane::ALL;
    let panes = if area.width < NARROW || area.height < SHORT {
        vec![(keys.focus, body)]
    } else if area.width >= WIDE {
        let [upper, lower] = Layout::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(body);
        let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(40)]).areas(upper);
        vec![(graph, left), (cpus, right), (tasks, lower)]
    } else {
        let [upper, lower] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(body);
        let [left, right] = Layout::horizontal([Constraint::Length(28), Constraint::Fill(1)]).areas(lower);
        vec![(graph, upper), (cpus, left), (tasks, right)]
    };
    Places { header, panes, footer }
}

/// Lines on a page of the pane in front, and how many it has, on a screen of this size.
pub(crate) fn extent(area: Rect, now: &Snapshot, keys: &Keys) -> (usize, usize) {
    let place = places(area, keys).panes.into_iter().find(|p| p.0 == keys.focus);
    // A frame and the line of titles.
    let page = place.map_or(0, |(_, r)| usize::from(r.height.saturating_sub(3)));
    let lines = match keys.focus {
        Pane::Graph => graph::lines(now).len(),
        Pane::Cpus => now.cpus.len(),
        Pane::Tasks => now.tasks.len(),
    };
    (page, lines)
}

impl Widget for &Picture<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let rates = Rates::between(self.before, self.now);
        let places = places(area, self.keys);
        let header = header(self, &rates, usize::from(places.header.width));
        Paragraph::new(header).render(places.header, buf);
        for (pane, place) in places.panes {
            let width = usize::from(place.width.saturating_sub(2));
            let (title, head, lines) = match pane {
                Pane::Graph => graph_pane(self.now, &rates, width),
                Pane::Cpus => cpu_pane(self.now, &rates, width),
                Pane::Tasks => task_pane(self.now, &rates, self.keys.sort, width),
            };
            self.pane(pane, title, head, lines, place, buf);
        }
        Paragraph::new(footer(self.keys, usize::from(places.footer.width))).render(places.footer, buf);
    }
}

impl Picture<'_> {
    fn pane(
        &self,
        pane: Pane,
        title: String,
        head: String,
        all: Vec<Line<'_>>,
        place: Rect,
        buf: &mut Buffer,
    ) {
        let page = usize::from(place.height.saturating_sub(3));
        let front = pane == self.keys.focus;
        let from = self.keys.scroll[pane as usize].min(all.len().saturating_sub(page));
        let more = match (from, all.len()) {
            (0, n) if n <= page => String::new(),
            (_, n) => format!(" {}-{} of {n} ", from + 1, (from + page).min(n)),
        };
        let style = if front { Style::new().fg(Color::Cyan) } else { Style::new().fg(Color::DarkGray) };
        let mark = if front { "▸" } else { " " };
        let block = Block::bordered()
            .border_style(style)
            .title(Span::styled(format!("{mark}{title} "), style.add_modifier(Modifier::BOLD)))
            .title_bottom(Line::from(more).right_aligned());
        let inside = block.inner(place);
        block.render(place, buf);
        let mut lines = vec![Line::styled(head, Style::new().fg(Color::DarkGray))];
        lines.extend(all.into_iter().skip(from).take(page));
        Paragraph::new(lines).render(inside, buf);
    }
}

fn header<'a>(p: &Picture<'_>, r: &Rates, width: usize) -> Vec<Line<'a>> {
    let (s, t) = (p.now, &p.now.totals);
    let state = match (s.attached, p.keys.paused) {
        _ if p.note.is_some() => " · NOT CONNECTED",
        (false, _) => " · NOT IN CHARGE",
        (true, true) => " · paused",
        (true, false) => "",
    };
    let online = s.cpus.iter().filter(|c| c.online).count();
    let cpus =
        if online == s.cpus.len() { format!("{online}") } else { format!("{online} of {}", s.cpus.len()) };
    let program = s.program.as_ref().map_or(String::new(), |p| format!("{} {} · ", p.name, p.pid));
    let first = format!(
        "{program}{}{state} · {} in charge · {cpus} CPU{} · {}, {} waiting",
        s.topology,
        duration(s.uptime_ns / 1_000_000_000 * 1_000_000_000),
        if s.cpus.len() == 1 { "" } else { "s" },
        plural(t.tasks, "task"),
        t.in_graph
    );
    let wait = r.mean_wait_ns.map_or("-".into(), |ns| duration(ns as u64));
    let second = format!(
        "a second: {} enqueues · {} switches · {} migrations · {} messages · {} preempts · {} kicks",
        per_second(r.enqueues),
        per_second(r.switches),
        per_second(r.migrations),
        per_second(r.messages),
        per_second(r.preempts),
        per_second(r.kicks)
    );
    let longest = duration(weir_linux::metrics::longest_wait_ns(s));
    let mut third =
        format!("mean wait {wait} · longest now {longest} · core {}", memory(t.arena_used, t.arena_bytes));
    if let Some(swap) = &s.last_swap {
        let ago = duration(s.t_ns.saturating_sub(swap.t_ns) / 1_000_000_000 * 1_000_000_000);
        third += &format!(
            " · switched {} → {} {ago} ago, pause {}, {}",
            swap.from,
            swap.to,
            duration(swap.pause_ns),
            plural(swap.represented, "task")
        );
    }
    let fourth = waits(s);
    let alarm = p.note.map(str::to_owned).unwrap_or_else(|| trouble(s));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let red = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
    let plain = Style::new();
    [(first, bold), (second, plain), (third, plain), (fourth, plain), (alarm, red)]
        .map(|(text, style)| Line::styled(clip(&text, width), style))
        .into()
}

/// The last 10 s: for how long tasks waited for a CPU, the longest call of the core, and waiting for locks since the switch.
fn waits(s: &Snapshot) -> String {
    let mut parts = Vec::new();
    if let Some(w) = s.waits.first().map(|t| &t.waits) {
        for (kind, spread) in [("woken", &w.woken.last_10s), ("returned", &w.returned.last_10s)] {
            if spread.count > 0 {
                let [p50, p99, max] = [spread.p50_ns, spread.p99_ns, spread.max_ns].map(duration);
                parts.push(format!("{kind} p50 {p50} p99 {p99} max {max}"));
            }
        }
    }
    let calls = s.cpus.iter().flat_map(|c| c.calls.iter().map(|call| (c.cpu, call)));
    if let Some((cpu, call)) = calls.filter(|(_, c)| c.call != "swap").max_by_key(|(_, c)| c.longest_10s_ns) {
        parts.push(format!("longest call {} {} on CPU {cpu}", call.call, duration(call.longest_10s_ns)));
    }
    let locks: u64 = s.pipes.iter().map(|p| p.lock_wait_ns).sum();
    let longest = s.pipes.iter().map(|p| p.longest_lock_wait_ns).max().unwrap_or(0);
    if locks > 0 {
        parts.push(format!("locks {} longest {}", duration(locks), duration(longest)));
    }
    if s.totals.gave_up > 0 {
        parts.push(format!("{} given up", plural(s.totals.gave_up, "wait")));
    }
    if parts.is_empty() { String::new() } else { format!("10 s: {}", parts.join(" · ")) }
}

/// Counters that should be 0.
fn trouble(s: &Snapshot) -> String {
    let t = &s.totals;
    let counts = [
        ("faults of the core", t.faults),
        ("failed calls", t.failures),
        ("rescues", t.rescues),
        ("tasks outside the graph because memory ran out", t.no_memory),
        ("messages lost", t.lost_messages),
        ("events lost", t.lost_events),
    ];
    let mishaps: Vec<String> =
        counts.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
    if mishaps.is_empty() { String::new() } else { format!("! {}", mishaps.join(", ")) }
}

fn memory(used: u64, all: u64) -> String {
    format!("{} of {} MiB", used.div_ceil(1 << 20), all >> 20)
}

fn footer<'a>(keys: &Keys, width: usize) -> Line<'a> {
    let pause = if keys.paused { "p go on" } else { "p pause" };
    let text = format!("q quit  tab pane  ↑↓ scroll  s sort: {}  {pause}", keys.sort.name());
    Line::styled(clip(&text, width), Style::new().fg(Color::DarkGray))
}

/// Columns of a pane besides the first, which takes what is left: title and width, the most important first.
struct Columns<'a> {
    shown: Vec<(&'a str, usize)>,
    /// Room for the first column.
    first: usize,
}

impl<'a> Columns<'a> {
    /// As many of `all` as fit beside a first column of at least `least`.
    fn fit(all: &[(&'a str, usize)], least: usize, width: usize) -> Self {
        let mut shown = Vec::new();
        let mut first = width;
        for &(title, room) in all {
            if first < least + room + 1 {
                break;
            }
            first -= room + 1;
            shown.push((title, room));
        }
        Self { shown, first }
    }

    fn head(&self, first: &str) -> String {
        let mut line = pad(first, self.first);
        for (title, room) in &self.shown {
            line += &format!(" {}", right(title, *room));
        }
        line
    }

    fn cells(&self, cells: &[String]) -> String {
        self.shown.iter().zip(cells).map(|((_, room), cell)| format!(" {}", right(cell, *room))).collect()
    }
}

type PaneText<'a> = (String, String, Vec<Line<'a>>);

fn graph_pane<'a>(s: &Snapshot, r: &Rates, width: usize) -> PaneText<'a> {
    let columns = Columns::fit(
        &[
            ("depth", 5),
            ("latency", 8),
            ("in/s", 6),
            ("out/s", 6),
            ("max", 5),
            ("updates", 7),
            ("wait p99", 8),
            ("lock", 8),
        ],
        16,
        width,
    );
    let lines = graph::lines(s).into_iter().map(|line| {
        let (mut wait, mut lock) = (String::new(), String::new());
        let (flow, out, updates, style) = match line.subject {
            Subject::Pipe(i) => {
                let pipe = &s.pipes[i];
                wait = pipe.waits.as_ref().map_or(String::new(), |w| duration(w.woken.last_10s.p99_ns));
                lock = duration(pipe.lock_wait_ns);
                (r.pipes[i], r.pipes[i].removed, String::new(), Style::new())
            }
            Subject::Instance(i) => {
                let rate = r.instances[i];
                let style = Style::new().fg(Color::Cyan);
                (rate.inflow, rate.passed, per_second(rate.updates), style)
            }
        };
        let mark = if let Subject::Instance(_) = line.subject { "◆ " } else { "" };
        let name = pad(&format!("{}{mark}{}", line.branch, line.name), columns.first);
        let cells = [
            flow.depth.to_string(),
            latency(&flow),
            per_second(flow.added),
            per_second(out),
            flow.max_depth.to_string(),
            updates,
            wait,
            lock,
        ];
        let busy = if flow.depth > 0 { Style::new().fg(Color::Yellow) } else { Style::new() };
        Line::from(vec![Span::styled(name, style), Span::styled(columns.cells(&cells), busy)])
    });
    (format!("Graph {}", s.topology), columns.head("pipe, ◆ component"), lines.collect())
}

/// Time in a pipe. Where tasks wait and none leaves it is longer than the time between the snapshots.
fn latency(flow: &Flow) -> String {
    match flow.latency_ns() {
        Some(ns) => duration(ns as u64),
        None if flow.depth > 0 => "stands".into(),
        None => "-".into(),
    }
}

fn cpu_pane<'a>(s: &Snapshot, r: &Rates, width: usize) -> PaneText<'a> {
    let digits = s.cpus.len().saturating_sub(1).to_string().len().max(3);
    let bar = if width >= 36 { 12 } else { 8 };
    let lines = s.cpus.iter().zip(&r.cpus).map(|(c, rate)| {
        let number = right(&c.cpu.to_string(), digits);
        if !c.online {
            return Line::styled(format!("{number} offline"), Style::new().fg(Color::DarkGray));
        }
        let cells = (rate.busy * bar as f64).round() as usize;
        let full = "█".repeat(cells.min(bar));
        let rest = "·".repeat(bar - cells.min(bar));
        let room = width.saturating_sub(digits + bar + 7);
        let task = match c.curr {
            Some(pid) => clip(&format!("{} {pid}", c.curr_comm), room),
            None => String::new(),
        };
        let colour = if rate.busy > 0.9 { Color::Red } else { Color::Green };
        Line::from(vec![
            Span::raw(format!("{number} ")),
            Span::styled(full, Style::new().fg(colour)),
            Span::styled(rest, Style::new().fg(Color::DarkGray)),
            Span::raw(format!(" {} {task}", right(&percent(rate.busy), 4))),
        ])
    });
    let head = format!("{} {} busy {}", right("CPU", digits), " ".repeat(bar), "task");
    ("CPUs".into(), clip(&head, width), lines.collect())
}

fn task_pane<'a>(s: &Snapshot, r: &Rates, sort: Sort, width: usize) -> PaneText<'a> {
    let columns = Columns::fit(
        &[
            ("CPU", 5),
            ("wait", 5),
            ("state", 7),
            ("switch/s", 8),
            ("on", 4),
            ("pid", 7),
            ("migr/s", 6),
            ("ran", 8),
        ],
        12,
        width,
    );
    let mut order: Vec<(&TaskView, &TaskRate)> = s.tasks.iter().zip(&r.tasks).collect();
    // Equal ones by what they did so far, then by number: the order does not flicker.
    order.sort_by(|(a, x), (b, y)| {
        let by = match sort {
            Sort::Cpu => y.run.total_cmp(&x.run),
            Sort::Wait => y.wait.total_cmp(&x.wait),
            Sort::Switches => y.runs.total_cmp(&x.runs),
            Sort::Migrations => y.migrations.total_cmp(&x.migrations),
            Sort::Name => a.comm.cmp(&b.comm),
        };
        by.then(b.run_ns.cmp(&a.run_ns)).then(a.pid.cmp(&b.pid))
    });
    let lines = order.into_iter().map(|(t, rate)| {
        let (state, style) = match (t.aside, t.state) {
            (_, TaskState::Blocked) => ("blocked", Style::new().fg(Color::DarkGray)),
            (true, _) => ("aside", Style::new().fg(Color::Magenta)),
            (_, TaskState::Waiting) => ("waits", Style::new().fg(Color::Yellow)),
            (_, TaskState::Running) => ("runs", Style::new().fg(Color::Green)),
        };
        let cells = [
            percent(rate.run),
            percent(rate.wait),
            state.to_owned(),
            per_second(rate.runs),
            t.cpu.map_or("-".into(), |c| c.to_string()),
            t.pid.to_string(),
            per_second(rate.migrations),
            duration(t.run_ns),
        ];
        Line::styled(pad(&t.comm, columns.first) + &columns.cells(&cells), style)
    });
    (format!("Tasks by {}", sort.name()), columns.head("task"), lines.collect())
}
