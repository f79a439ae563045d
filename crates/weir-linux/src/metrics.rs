// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A snapshot in Prometheus' text format 0.0.4.
//!
//! Names follow its conventions: base units (seconds, bytes) at the end, `_total` for counters.
//! Counters of pipes and components restart with each switch and carry the topology's name, so that
//! two topologies never share a series. There is no series per task: thousands of tasks start and
//! end, and a monitoring system keeps every series that it ever saw.

use std::fmt::Write;

use crate::gauges::{CallView, Spread};
use crate::snapshot::{CpuView, Snapshot};

/// Value of `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Value of a counter of one CPU.
type OfCpu = fn(&CpuView) -> u64;

/// Counters that each CPU has: name without prefix and suffix, meaning, value.
const CPU_COUNTERS: [(&str, &str, OfCpu); 25] = [
    ("context_switches", "Context switches to a task of this scheduler, by CPU.", |c| c.runs),
    ("migrations", "Context switches to a task that last ran on another CPU.", |c| c.migrations),
    ("enqueues", "Tasks that entered the graph, by the CPU that brought them.", |c| c.enqueues),
    ("dispatches", "Tasks that left the graph for a CPU, by that CPU.", |c| c.dispatches),
    ("dequeues", "Tasks that left the graph because the kernel took them back.", |c| c.dequeues),
    ("direct", "Tasks that could not wait (per-CPU kernel threads, pinned tasks), run at once.", |c| {
        c.direct
    }),
    ("given", "Of the dispatches, those without a choice: a waking task was given to an idle CPU.", |c| {
        c.given
    }),
    ("aside", "Tasks that no exit of the topology leads to, run outside the graph.", |c| c.aside),
    ("empty_picks", "Choices that found no task.", |c| c.empty),
    ("dropped_picks", "Choices whose task was gone or changed before it got to its CPU.", |c| c.dropped),
    ("kept", "Choices of the task that was running.", |c| c.kept),
    ("kicks", "Idle CPUs that were woken for work.", |c| c.kicks),
    ("preempts", "CPUs that had to give up their task.", |c| c.preempts),
    ("messages", "Messages of components that reached the runtime.", |c| c.messages),
    ("failures", "Calls of the scheduler's core that failed.", |c| c.failures),
    ("waits_given_up", "Calls that waited too long for another CPU.", |c| c.gave_up),
    ("given_up_retried", "Times that a CPU chose again because a call gave up waiting.", |c| c.retried),
    ("given_up_aside", "Tasks that ran outside the graph because a call gave up waiting.", |c| {
        c.aside_given_up
    }),
    ("given_up_inboxed", "Tasks left in the inbox of a pipe whose lock was taken.", |c| c.inboxed),
    ("rescues", "Times that a task was found that a sleeping CPU should have been running.", |c| c.rescues),
    (
        "overdue_kicks",
        "Times that a task was found whose CPU had been kicked and had not looked, or was about to be kicked.",
        |c| c.overdue,
    ),
    ("stints_counted", "Stints of tasks with hardware counters.", |c| c.stints),
    ("timers_expired", "Timers of components that expired.", |c| c.timers),
    ("instructions", "Instructions in stints with hardware counters.", |c| c.instructions),
    ("lost_events", "Events of a recording that found the ring full.", |c| c.lost_events),
];

/// The snapshot as a page that Prometheus reads. `version` is that of Runweir.
pub fn prometheus(s: &Snapshot, version: &str) -> String {
    let mut page = Page::default();
    let t = &s.totals;
    page.family("info", "gauge", "Version and topology, as labels of a constant 1.");
    page.sample("info", &[("version", version), ("topology", &s.topology)], "1");
    page.single("attached", "gauge", "1 while the kernel runs its tasks through this scheduler.", {
        u64::from(s.attached).to_string()
    });
    page.single("uptime_seconds", "gauge", "Time since the attachment.", seconds(s.uptime_ns));
    cpus(&mut page, s);
    calls(&mut page, s);
    pipes(&mut page, s);
    waits(&mut page, s);
    page.family("component_updates_total", "counter", "Tasks that came to a component instance.");
    for i in &s.instances {
        let labels = [("topology", &*s.topology), ("instance", &*i.name), ("component", &*i.component)];
        page.sample("component_updates_total", &labels, &i.updates.to_string());
    }
    page.single("tasks", "gauge", "Tasks of this scheduler.", t.tasks.to_string());
    page.single("tasks_in_graph", "gauge", "Tasks that wait in the graph.", t.in_graph.to_string());
    page.single("longest_wait_seconds", "gauge", "How long the task has waited that waits longest.", {
        seconds(longest_wait_ns(s))
    });
    let singles = [
        ("swaps", "Changes of topology.", t.swaps),
        ("requests", "Requests of the loader that the kernel side carried out.", t.requests),
        ("faults", "Broken invariants of the core, counted instead of fatal.", t.faults),
        ("lost_messages", "Messages of components lost because memory ran out.", t.lost_messages),
        ("no_memory_tasks", "Tasks that run outside the graph because the arena was full.", t.no_memory),
    ];
    for (name, help, value) in singles {
        page.single(&format!("{name}_total"), "counter", help, value.to_string());
    }
    if let Some(swap) = &s.last_swap {
        let labels = [("from", &*swap.from), ("to", &*swap.to)];
        page.family(
            "swap_pause_seconds",
            "gauge",
            "How long the last change of topology held scheduling up.",
        );
        page.sample("swap_pause_seconds", &labels, &seconds(swap.pause_ns));
        page.family("swap_represented_tasks", "gauge", "Waiting tasks presented to the last new graph.");
        page.sample("swap_represented_tasks", &labels, &swap.represented.to_string());
    }
    page.single("arena_used_bytes", "gauge", "Memory of the core in use.", t.arena_used.to_string());
    page.single("arena_size_bytes", "gauge", "Memory of the core.", t.arena_bytes.to_string());
    page.text
}

fn cpus(page: &mut Page, s: &Snapshot) {
    let numbers: Vec<String> = s.cpus.iter().map(|c| c.cpu.to_string()).collect();
    page.family("cpu_online", "gauge", "1 where the CPU is online.");
    for (c, cpu) in s.cpus.iter().zip(&numbers) {
        page.sample("cpu_online", &[("cpu", cpu)], if c.online { "1" } else { "0" });
    }
    page.family("cpu_busy_seconds_total", "counter", "Run time of tasks, up to the last context switch.");
    for (c, cpu) in s.cpus.iter().zip(&numbers) {
        page.sample("cpu_busy_seconds_total", &[("cpu", cpu)], &seconds(c.busy_ns));
    }
    for (name, help, value) in CPU_COUNTERS {
        let name = format!("{name}_total");
        page.family(&name, "counter", help);
        for (c, cpu) in s.cpus.iter().zip(&numbers) {
            page.sample(&name, &[("cpu", cpu)], &value(c).to_string());
        }
    }
}

fn calls(page: &mut Page, s: &Snapshot) {
    type Value = fn(&CallView) -> String;
    let families: [(&str, &str, &str, Value); 6] = [
        ("core_calls_total", "counter", "Calls of the scheduler's core.", |c| c.calls.to_string()),
        ("core_calls_timed_total", "counter", "Of these, calls that were timed.", |c| c.timed.to_string()),
        ("core_calls_long_total", "counter", "Of the timed calls, those of more than 1 ms.", |c| {
            c.long.to_string()
        }),
        ("core_call_seconds_total", "counter", "Time in all calls, by the mean of the timed ones.", |c| {
            seconds(c.total_ns)
        }),
        ("core_call_longest_seconds", "gauge", "The longest call since the attachment.", |c| {
            seconds(c.longest_ns)
        }),
        ("core_call_longest_recent_seconds", "gauge", "The longest call of the last ten seconds.", |c| {
            seconds(c.longest_10s_ns)
        }),
    ];
    for (name, kind, help, value) in families {
        page.family(name, kind, help);
        for (cpu, call) in s.cpus.iter().flat_map(|c| c.calls.iter().map(move |call| (c.cpu, call))) {
            page.sample(name, &[("cpu", &cpu.to_string()), ("call", &call.call)], &value(call));
        }
    }
}

/// Waits from becoming runnable to running: all of them, and by the pipe that the task was taken from.
fn waits(page: &mut Page, s: &Snapshot) {
    let Some(present) = s.waits.first() else { return };
    let pipes = s.pipes.iter().filter_map(|p| Some((p.name.as_str(), p.waits.as_ref()?)));
    let mut all = Vec::new();
    for (pipe, waits) in std::iter::once(("", &present.waits)).chain(pipes) {
        for (kind, wait) in [("woken", &waits.woken), ("returned", &waits.returned), ("aside", &waits.aside)]
        {
            if wait.total.count > 0 {
                all.push(([("topology", &*s.topology), ("pipe", pipe), ("began", kind)], wait));
            }
        }
    }
    let quantiles = |s: &Spread| [("0.5", s.p50_ns), ("0.95", s.p95_ns), ("0.99", s.p99_ns)];
    page.family(
        "wait_seconds",
        "summary",
        "Waits for a CPU, from becoming runnable to running, since the attachment.",
    );
    for (labels, wait) in &all {
        for (quantile, ns) in quantiles(&wait.total) {
            let labels = [labels[0], labels[1], labels[2], ("quantile", quantile)];
            page.sample("wait_seconds", &labels, &seconds(ns));
        }
        let sum = wait.total.mean_ns.saturating_mul(wait.total.count);
        page.sample("wait_seconds_sum", labels, &seconds(sum));
        page.sample("wait_seconds_count", labels, &wait.total.count.to_string());
    }
    page.family("wait_longest_seconds", "gauge", "The longest of these waits.");
    all.iter()
        .for_each(|(labels, wait)| page.sample("wait_longest_seconds", labels, &seconds(wait.total.max_ns)));
    page.family("wait_recent_seconds", "gauge", "Waits of the last ten seconds; quantile 1 is the longest.");
    for (labels, wait) in &all {
        for (quantile, ns) in quantiles(&wait.last_10s).into_iter().chain([("1", wait.last_10s.max_ns)]) {
            let labels = [labels[0], labels[1], labels[2], ("quantile", quantile)];
            page.sample("wait_recent_seconds", &labels, &seconds(ns));
        }
    }
}

fn pipes(page: &mut Page, s: &Snapshot) {
    let families = [
        ("pipe_depth", "gauge", "Tasks in the pipe."),
        ("pipe_max_depth", "gauge", "Most tasks in the pipe at a time."),
        ("pipe_added_total", "counter", "Tasks added to the pipe."),
        ("pipe_removed_total", "counter", "Tasks removed from the pipe."),
        ("pipe_lock_waits_total", "counter", "Times that a CPU found the pipe's lock taken."),
        ("pipe_lock_waits_given_up_total", "counter", "Of these, given up."),
        ("pipe_lock_wait_seconds_total", "counter", "Time that CPUs waited for the pipe's lock."),
        ("pipe_lock_wait_longest_seconds", "gauge", "The longest of these waits."),
    ];
    for (at, (name, kind, help)) in families.into_iter().enumerate() {
        page.family(name, kind, help);
        for p in &s.pipes {
            let labels = [("topology", &*s.topology), ("pipe", &*p.name), ("from", &*p.from), ("to", &*p.to)];
            let counts =
                [p.depth.into(), p.max_depth.into(), p.added, p.removed, p.lock_waits, p.lock_waits_given_up];
            let times = [p.lock_wait_ns, p.longest_lock_wait_ns];
            let value = match counts.get(at) {
                Some(n) => n.to_string(),
                None => seconds(times[at - counts.len()]),
            };
            page.sample(name, &labels, &value);
        }
    }
}

/// Time for which the task has waited that waits longest, ns.
pub fn longest_wait_ns(s: &Snapshot) -> u64 {
    let since = s.tasks.iter().map(|t| t.waiting_since_ns).filter(|since| *since > 0).min();
    since.map_or(0, |since| s.t_ns.saturating_sub(since))
}

/// Exact seconds.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.text.write_fmt(line).expect("writing to a string");
        self.text.push('\n');
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP runweir_{name} {}", help.replace('\\', "\\\\").replace('\n', "\\n")));
        self.line(format_args!("# TYPE runweir_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escape(value))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("runweir_{name} {value}")),
            false => self.line(format_args!("runweir_{name}{{{}}} {value}", labels.join(","))),
        }
    }

    /// A family of one sample without labels.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: String) {
        self.family(name, kind, help);
        self.sample(name, &[], &value);
    }
}

/// A label's value. Control characters besides the line feed are legal there, and shown as spaces.
fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::gauges::{TopologyWaits, WaitView, Waits};
    use crate::snapshot::{InstanceView, PipeView, SwapReport, TaskView, Totals};

    fn waits(max_ns: u64) -> Waits {
        let spread = Spread { count: 4, mean_ns: 1_000_000, p99_ns: max_ns, max_ns, ..Spread::default() };
        Waits { woken: WaitView { total: spread.clone(), last_10s: spread }, ..Waits::default() }
    }

    fn snapshot() -> Snapshot {
        Snapshot {
            waits: vec![TopologyWaits { topology: "my \"own\"".into(), waits: waits(8_000_000) }],
            t_ns: 9_000_000_000,
            topology: "my \"own\"".into(),
            nr_cpus: 2,
            uptime_ns: 1_500_000_000,
            attached: true,
            cpus: (0..2)
                .map(|cpu| CpuView {
                    cpu,
                    online: cpu == 0,
                    busy_ns: 1_000_000_001,
                    enqueues: 7,
                    calls: vec![CallView {
                        call: "pick".into(),
                        calls: 9,
                        longest_ns: 2_500_000,
                        ..CallView::default()
                    }],
                    ..CpuView::default()
                })
                .collect(),
            pipes: vec![
                PipeView {
                    name: "lb\\out0".into(),
                    from: "lb".into(),
                    depth: 3,
                    added: 9,
                    removed: 6,
                    longest_lock_wait_ns: 40_000,
                    waits: Some(waits(7_000_000)),
                    ..PipeView::default()
                },
                PipeView { name: "two\nlines".into(), ..PipeView::default() },
            ],
            instances: vec![InstanceView {
                name: "lb".into(),
                component: "load_balancer".into(),
                updates: 5,
                ..InstanceView::default()
            }],
            tasks: vec![
                TaskView { waiting_since_ns: 8_750_000_000, ..TaskView::default() },
                TaskView { waiting_since_ns: 0, ..TaskView::default() },
            ],
            totals: Totals { enqueues: 14, swaps: 2, tasks: 2, arena_bytes: 1 << 26, ..Totals::default() },
            last_swap: Some(SwapReport {
                from: "a".into(),
                to: "b".into(),
                pause_ns: 120_500,
                ..SwapReport::default()
            }),
            ..Snapshot::default()
        }
    }

    type Sample = (String, BTreeMap<String, String>, f64);

    /// A sample's line, read by the grammar of the format's specification and nothing more lenient.
    fn read(line: &str) -> Sample {
        let at = line.find(['{', ' ']).expect("a name and a value");
        let (name, mut rest) = line.split_at(at);
        let mut labels = BTreeMap::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            while let Some((label, value)) = rest.split_once("=\"") {
                let mut text = String::new();
                let mut chars = value.char_indices();
                let end = loop {
                    match chars.next().expect("a closing quote") {
                        (end, '"') => break end,
                        (_, '\\') => match chars.next().expect("an escaped character").1 {
                            'n' => text.push('\n'),
                            c @ ('\\' | '"') => text.push(c),
                            c => panic!("escaped {c}: {line}"),
                        },
                        (_, c) => text.push(c),
                    }
                };
                assert!(label.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "label {label}: {line}");
                assert!(labels.insert(label.to_owned(), text).is_none(), "{label} twice: {line}");
                rest = &value[end + 1..];
                match rest.strip_prefix(',') {
                    Some(more) => rest = more,
                    None => break,
                }
            }
            rest = rest.strip_prefix('}').unwrap_or_else(|| panic!("no closing brace: {line}"));
        }
        let value = rest.strip_prefix(' ').expect("one space").parse().expect("a number");
        (name.into(), labels, value)
    }

    fn samples(text: &str) -> Vec<Sample> {
        text.lines().filter(|l| !l.starts_with('#')).map(read).collect()
    }

    #[test]
    fn every_sample_can_be_read() {
        let samples = samples(&prometheus(&snapshot(), "0.1.0"));
        let value = |metric: &str, label: &str, is: &str| {
            let fits =
                |s: &&Sample| s.0 == metric && (label.is_empty() || s.1.get(label).is_some_and(|v| v == is));
            samples.iter().find(fits).unwrap_or_else(|| panic!("{metric} {label}")).2
        };
        assert_eq!(value("runweir_attached", "", ""), 1.0);
        assert_eq!(value("runweir_uptime_seconds", "", ""), 1.5);
        assert_eq!(value("runweir_cpu_busy_seconds_total", "cpu", "1"), 1.000000001);
        assert_eq!(value("runweir_cpu_online", "cpu", "1"), 0.0);
        assert_eq!(value("runweir_enqueues_total", "cpu", "0"), 7.0);
        assert_eq!(value("runweir_pipe_depth", "pipe", "lb\\out0"), 3.0);
        assert_eq!(value("runweir_pipe_depth", "pipe", "two\nlines"), 0.0);
        assert_eq!(value("runweir_longest_wait_seconds", "", ""), 0.25);
        assert_eq!(value("runweir_swap_pause_seconds", "to", "b"), 0.0001205);
        assert_eq!(value("runweir_core_call_longest_seconds", "call", "pick"), 0.0025);
        assert_eq!(value("runweir_pipe_lock_wait_longest_seconds", "pipe", "lb\\out0"), 0.00004);
        assert_eq!(value("runweir_wait_longest_seconds", "pipe", ""), 0.008);
        assert_eq!(value("runweir_wait_recent_seconds", "pipe", "lb\\out0"), 0.0);
        assert_eq!(value("runweir_wait_seconds_sum", "began", "woken"), 0.004);
        assert_eq!(value("runweir_info", "topology", "my \"own\""), 1.0);
    }

    /// The checks of `promtool check metrics`.
    #[test]
    fn the_page_keeps_the_conventions() {
        let text = prometheus(&snapshot(), "0.1.0");
        assert!(text.ends_with('\n') && !text.contains("\n\n"));
        let mut types = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut last = String::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').expect("a text");
                assert!(
                    help.ends_with('.') && help.chars().next().is_some_and(|c| !c.is_lowercase()),
                    "{line}"
                );
                last = name.into();
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a type");
                assert_eq!(name, last, "HELP comes right before TYPE");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
                for unit in ["_ns", "_ms", "_us", "_kib", "_seconds_count"] {
                    assert!(!name.ends_with(unit), "{name}: base units");
                }
                assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} twice");
            } else {
                let name = line.split(['{', ' ']).next().expect("a name");
                let of_family = name.strip_prefix(&last).expect("samples of a family stand together");
                let summary = types.get(&last).is_some_and(|kind| kind == "summary");
                assert!(of_family.is_empty() || summary && ["_sum", "_count"].contains(&of_family), "{name}");
                assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
                let series = line.rsplit_once(' ').expect("a value").0;
                assert!(seen.insert(series.to_owned()), "{series} twice");
            }
        }
        assert!(types.len() > 30);
    }

    /// The page has the names and labels that the dashboard requests.
    #[test]
    fn the_dashboard_asks_for_what_there_is() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/runweir.json");
        let dashboard: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("it is there")).expect("it is JSON");
        let mut queries = Vec::new();
        let mut left = vec![&dashboard];
        while let Some(value) = left.pop() {
            match value {
                serde_json::Value::Object(o) => {
                    queries.extend(o.get("expr").and_then(|e| e.as_str()));
                    left.extend(o.values());
                }
                serde_json::Value::Array(a) => left.extend(a),
                _ => {}
            }
        }
        assert!(queries.len() > 20, "{}", queries.len());
        let samples = samples(&prometheus(&snapshot(), "0.1.0"));
        for query in queries {
            for (at, _) in query.match_indices("runweir_") {
                let rest = &query[at..];
                let name = rest.split(|c: char| c != '_' && !c.is_ascii_lowercase()).next().expect("a name");
                let known: BTreeSet<&str> = samples
                    .iter()
                    .filter(|s| s.0 == name)
                    .flat_map(|s| s.1.keys().map(String::as_str))
                    .collect();
                assert!(samples.iter().any(|s| s.0 == name), "{name}: no such metric, in {query}");
                let selector = rest[name.len()..].strip_prefix('{').and_then(|r| r.split('}').next());
                for matcher in selector.into_iter().flat_map(|s| s.split(',')) {
                    let label = matcher.split(['=', '!']).next().expect("a label");
                    assert!(label == "instance" || known.contains(label), "{name} has no `{label}`: {query}");
                }
                let counts = name.ends_with("_total");
                let grows = query[..at].ends_with("rate(") || query[..at].ends_with("changes(");
                let summed = query[..at].ends_with("sum(");
                assert!(!counts || grows || summed, "{name} only grows: {query}");
            }
        }
    }

    #[test]
    fn hostile_names_stay_within_their_quotes() {
        let mut s = snapshot();
        for name in ["a\"} 7\nrunweir_fake 1", "\\", "\u{1b}[2J", "ß\u{2028}", ""] {
            s.pipes[0].name = name.into();
            let samples = samples(&prometheus(&s, "0.1.0"));
            let depths: Vec<_> = samples.iter().filter(|s| s.0 == "runweir_pipe_depth").collect();
            assert_eq!(depths.len(), 2);
            assert!(samples.iter().all(|s| s.0 != "runweir_fake"));
            let shown = name.replace('\u{1b}', " ");
            assert_eq!((&depths[0].1["pipe"], depths[0].2), (&shown, 3.0));
        }
    }

    #[test]
    fn seconds_are_exact() {
        let shown = [0, 1, 1_500_000_000, 60_000_000_000, u64::MAX].map(seconds);
        assert_eq!(shown, ["0", "0.000000001", "1.5", "60", "18446744073.709551615"]);
    }
}
