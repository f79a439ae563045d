// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How long a service took for its requests, across its threads, from a trace: a recording of a machine or a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use weir_report::{Columns, Dist, Samples, Screen, count};
use weir_text::suggest;
use weir_trace::History;
use weir_trace::marks::Phase;
use weir_trace::requests::{self, By, Doing, Request};

use crate::explain::{Explainer, TaskRef};
use crate::fault::{Fault, Result};
use crate::units::{duration, exact, plural};

/// Fewer requests have no 99th percentile apart from the longest ones.
const ENOUGH: u64 = 1_000;
/// Threads outside that a note names.
const NAMED: usize = 4;
/// Parts of a request's way in its line.
const LEGS: usize = 8;

/// How requests are told from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// By wake-ups: how the names of the threads begin that take requests, then of those that work on them further on.
    Wakeups(Vec<String>),
    /// By marks that the program sets at its beginning and at its end.
    Marks { begin: String, end: String },
}

impl Told {
    /// `web`, or `web,db,cache`: the first takes requests.
    ///
    /// # Errors
    /// The user's: a name is empty.
    pub fn wakeups(text: &str) -> Result<Self> {
        let names: Vec<String> = text.split(',').map(|n| n.trim().to_string()).collect();
        match names.iter().any(String::is_empty) {
            true => Err(Fault::user(
                format!("`{}` has an empty name", text.escape_debug()),
                "name the threads that take requests, then those that work on them: web or web,db",
            )),
            false => Ok(Told::Wakeups(names)),
        }
    }

    /// `request`, or `request_begin..request_end`. Groups of probes (`sdt_app:`) are left out.
    ///
    /// # Errors
    /// The user's: a name is empty.
    pub fn marks(text: &str) -> Result<Self> {
        let (begin, end) = text.split_once("..").unwrap_or((text, text));
        let bare = |name: &str| name.trim().rsplit(':').next().unwrap_or("").to_string();
        let (begin, end) = (bare(begin), bare(end));
        match begin.is_empty() || end.is_empty() {
            true => Err(Fault::user(
                format!("`{}` does not name two marks", text.escape_debug()),
                "write BEGIN..END, for example request_begin..request_end, or one name of atrace's begin and end",
            )),
            false => Ok(Told::Marks { begin, end }),
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Requests {
    /// Requests that began and ended.
    pub count: u64,
    /// From beginning to end.
    pub latency_ns: Dist,
    /// Begun and not over when the trace ended.
    pub open: u64,
    /// Times that threads of the service went on without a wake-up that was seen.
    pub unseen: u64,
    /// Times that a thread served several before it waited.
    pub shared: u64,
    /// Times that a thread of the service which worked for no request woke one that takes them.
    pub stray: u64,
    /// Marks without their counterpart.
    pub unmatched: u64,
    /// What decided when requests ended.
    pub parts: Vec<Part>,
    /// In which threads they ended.
    pub ends: Vec<Ended>,
    /// The longest, longest first.
    pub slowest: Vec<Slow>,
    /// What was taken for granted, and what the trace does not show.
    pub notes: Vec<String>,
}

/// What threads of a name did on the way of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub name: String,
    /// `runs`, `ready` (it waits for a CPU), `waits` (for a device, the network, a time) or `unknown`.
    pub doing: &'static str,
    /// Of all requests, ns.
    pub mean_ns: u64,
    /// Of the longest hundredth, at least of one, ns.
    pub slowest_ns: u64,
}

/// Where requests ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    pub name: String,
    pub count: u64,
}

/// One of the longest.
#[derive(Clone, Debug, Serialize)]
pub struct Slow {
    pub from_ns: u64,
    pub to_ns: u64,
    pub ns: u64,
    /// Where it ended.
    pub task: TaskRef,
    pub legs: Vec<NamedLeg>,
    pub text: String,
}

/// A part of a request's way.
#[derive(Clone, Debug, Serialize)]
pub struct NamedLeg {
    pub task: TaskRef,
    pub doing: &'static str,
    pub from_ns: u64,
    pub to_ns: u64,
    pub ns: u64,
}

fn word(doing: Doing) -> &'static str {
    match doing {
        Doing::Runs => "runs",
        Doing::Ready => "ready",
        Doing::Waits => "waits",
        Doing::Unknown => "unknown",
    }
}

fn phrase(doing: &str) -> &'static str {
    match doing {
        "runs" => "runs",
        "ready" => "waits for a CPU",
        "waits" => "waits for a device, the network or a time",
        _ => "does what is not in the trace",
    }
}

impl Explainer {
    /// The requests of a service: how long they took, and where the time went. `slowest` of them are listed.
    ///
    /// # Errors
    /// The user's: no thread is called so, or there are no such marks.
    pub fn requests(&self, told: &Told, slowest: usize) -> Result<Requests> {
        let history = self.history();
        let found = match told {
            Told::Wakeups(names) => {
                for name in names {
                    if !history.tasks.iter().any(|t| t.name.starts_with(&**name)) {
                        return Err(self.unknown(name, "no task's name begins with"));
                    }
                }
                let role: Vec<Option<usize>> =
                    history.tasks.iter().map(|t| longest(names, &t.name)).collect();
                let takes: Vec<bool> = role.iter().map(|r| *r == Some(0)).collect();
                let works: Vec<bool> = role.iter().map(|r| r.is_some_and(|r| r > 0)).collect();
                requests::requests(history, &By::Wakeups { takes: &takes, works: &works })
            }
            Told::Marks { begin, end } => {
                known_mark(history, begin)?;
                known_mark(history, end)?;
                requests::requests(history, &By::Marks { begin, end })
            }
        };
        let group = |task: u32| {
            let name = &history.tasks[task as usize].name;
            match told {
                Told::Wakeups(names) => longest(names, name).map_or_else(|| stem(name), |i| names[i].clone()),
                Told::Marks { .. } => stem(name),
            }
        };
        let reference = |id: u32| TaskRef { id, name: history.name(id) };

        let mut samples = Samples::default();
        found.all.iter().for_each(|r| samples.add(r.to_ns - r.from_ns));
        let mut by_length: Vec<&Request> = found.all.iter().collect();
        by_length.sort_by_key(|r| (std::cmp::Reverse(r.to_ns - r.from_ns), r.from_ns));
        let tail = by_length.len().div_ceil(100);

        let mut sums: BTreeMap<(String, &'static str), (u64, u64)> = BTreeMap::new();
        for (i, request) in by_length.iter().enumerate() {
            for leg in &request.legs {
                let sum = sums.entry((group(leg.task), word(leg.doing))).or_default();
                sum.0 += leg.to_ns - leg.from_ns;
                sum.1 += if i < tail { leg.to_ns - leg.from_ns } else { 0 };
            }
        }
        let mean = |sum: u64, of: usize| sum / (of as u64).max(1);
        let mut parts: Vec<Part> = sums
            .into_iter()
            .map(|((name, doing), (all, slow))| Part {
                name,
                doing,
                mean_ns: mean(all, by_length.len()),
                slowest_ns: mean(slow, tail),
            })
            .collect();
        parts.sort_by_key(|p| std::cmp::Reverse(p.slowest_ns));
        let mut ends: BTreeMap<String, u64> = BTreeMap::new();
        found.all.iter().for_each(|r| *ends.entry(group(r.last)).or_default() += 1);
        let mut ends: Vec<Ended> = ends.into_iter().map(|(name, count)| Ended { name, count }).collect();
        ends.sort_by_key(|e| std::cmp::Reverse(e.count));
        let slow = |r: &&Request| {
            let legs: Vec<NamedLeg> = r
                .legs
                .iter()
                .map(|l| NamedLeg {
                    task: reference(l.task),
                    doing: word(l.doing),
                    from_ns: l.from_ns,
                    to_ns: l.to_ns,
                    ns: l.to_ns - l.from_ns,
                })
                .collect();
            let text = sentence(&legs);
            Slow {
                from_ns: r.from_ns,
                to_ns: r.to_ns,
                ns: r.to_ns - r.from_ns,
                task: reference(r.last),
                legs,
                text,
            }
        };
        let slowest: Vec<Slow> = by_length.iter().take(slowest).map(slow).collect();
        let mut out = Requests {
            count: found.all.len() as u64,
            latency_ns: samples.dist(),
            open: found.open,
            unseen: found.unseen,
            shared: found.shared,
            stray: found.stray,
            unmatched: found.unmatched,
            parts,
            ends,
            slowest,
            notes: Vec::new(),
        };
        out.notes = out.remarks(told);
        out.notes.extend(not_followed(history, told, &found.outside));
        out.notes.extend(history.notes.iter().cloned());
        Ok(out)
    }
}

/// Which of these names the task's name begins with; the longest where several do.
fn longest(names: &[String], task: &str) -> Option<usize> {
    (0..names.len()).filter(|i| task.starts_with(&*names[*i])).max_by_key(|i| names[*i].len())
}

/// A thread's name without the number that tells it from its like.
fn stem(name: &str) -> String {
    let stem =
        name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '#' | '/' | '_' | ' '));
    if stem.is_empty() { name.to_string() } else { stem.to_string() }
}

fn known_mark(history: &History, name: &str) -> Result<()> {
    if history.marks.iter().any(|m| &*m.name == name) {
        return Ok(());
    }
    let mut names: Vec<&str> =
        history.marks.iter().filter(|m| m.phase != Phase::End).map(|m| &*m.name).collect();
    names.sort_unstable();
    names.dedup();
    let help = match suggest::nearest(name, names.iter().copied()) {
        _ if names.is_empty() => {
            "record them beside the scheduler's events: -e ftrace:print for what is written to \
             trace_marker, -e sdt_app:request_begin for a probe; docs/requests.md has the commands"
                .into()
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its marks are {}", names[..names.len().min(NAMED)].join(", ")),
    };
    let what =
        if names.is_empty() { "the trace has no marks, so none called" } else { "the trace has no mark" };
    Err(Fault::user(format!("{what} `{}`", name.escape_debug()), help))
}

/// Whom the service woke besides: some may belong to it.
fn not_followed(history: &History, told: &Told, outside: &BTreeMap<u32, u64>) -> Option<String> {
    let Told::Wakeups(names) = told else { return None };
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (task, n) in outside {
        *by_name.entry(stem(&history.tasks[*task as usize].name)).or_default() += n;
    }
    let mut order: Vec<(String, u64)> = by_name.into_iter().collect();
    order.sort_by_key(|o| std::cmp::Reverse(o.1));
    let (first, _) = order.first()?;
    let some: Vec<String> =
        order.iter().take(NAMED).map(|(n, times)| format!("{n} ({})", count(*times))).collect();
    Some(format!(
        "woken by requests and not followed: {}; whoever of them works on requests is to be named, too: {},{first}",
        some.join(", "),
        names.join(",")
    ))
}

/// What a request did, part by part.
fn sentence(legs: &[NamedLeg]) -> String {
    let mut shown: Vec<usize> = (0..legs.len()).collect();
    shown.sort_by_key(|i| std::cmp::Reverse(legs[*i].ns));
    shown.truncate(LEGS);
    shown.sort_unstable();
    let one = |i: &usize| {
        let l = &legs[*i];
        format!("{} {} ({})", l.task.name, phrase(l.doing), duration(l.ns))
    };
    let mut text = shown.iter().map(one).collect::<Vec<_>>().join(", ");
    let left: u64 = legs.iter().map(|l| l.ns).sum::<u64>() - shown.iter().map(|i| legs[*i].ns).sum::<u64>();
    if legs.len() > shown.len() {
        let _ = write!(text, "; {} shorter parts ({})", legs.len() - shown.len(), duration(left));
    }
    text
}

impl Requests {
    fn remarks(&self, told: &Told) -> Vec<String> {
        let mut out = Vec::new();
        match told {
            Told::Wakeups(names) => {
                let service = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
                let takes = &names[0];
                out.push(format!(
                    "by wake-ups: a request begins when something else than {service} wakes a thread of `{takes}`, timers among them, and \
                     ends when the last thread that was woken for it waits again: what a thread does after its answer counts"
                ));
                out.push(format!(
                    "what arrives while a thread of `{takes}` is not waiting belongs to the request that woke it: where one thread has \
                     several at once, these are times of batches; marks in the program tell them apart (--marker)"
                ));
            }
            Told::Marks { begin, end } if begin == end => {}
            Told::Marks { begin, end } => out.push(format!(
                "by marks: from `{begin}` to `{end}` of the same number, in whatever thread; without a number, of the same thread"
            )),
        }
        let mut say = |n: u64, one: &str, many: &str| {
            if n > 0 {
                out.push(format!("{} {}", count(n), if n == 1 { one } else { many }));
            }
        };
        say(
            self.open,
            "request was not over when the trace ended: left out",
            "requests were not over when the trace ended: left out",
        );
        say(
            self.unseen,
            "time a thread of the service went on without a wake-up that was seen: what it did belongs to no request",
            "times threads of the service went on without a wake-up that was seen: what they did belongs to no request",
        );
        say(
            self.shared,
            "time a thread woke those that take requests more than once before it waited: it served several, and their times are mixed",
            "times a thread woke those that take requests more than once before it waited: it served several, and their times are mixed",
        );
        say(
            self.stray,
            "time a thread of the service that was awake already passed something on: the request to which that belongs is too short here",
            "times threads of the service that were awake already passed something on: the requests to which that belongs are too short here",
        );
        say(self.unmatched, "mark has no counterpart: left out", "marks have no counterpart: left out");
        if self.count > 0 && self.count < ENOUGH {
            let n = self.count.div_ceil(100);
            out.push(match n {
                1 => format!("the 99th percentile of {} is the longest", requests_of(self.count)),
                n => format!("the 99th percentile rests on the {n} longest of {}", requests_of(self.count)),
            });
        }
        out
    }

    /// For the terminal.
    pub fn table(&self, screen: &Screen) -> String {
        let mut t = String::new();
        if self.count == 0 {
            t.push_str("no request was seen from its beginning to its end\n");
        } else {
            let l = &self.latency_ns;
            let _ = writeln!(
                t,
                "{}: p50 {}, p95 {}, p99 {}, max {}; mean {}",
                requests_of(self.count),
                duration(l.p50),
                duration(l.p95),
                duration(l.p99),
                duration(l.max),
                duration(l.mean)
            );
            let mut columns = Columns::new(["decided by", "mean", "slowest 1 %"]);
            for p in &self.parts {
                let what = format!("{} {}", p.name, phrase(p.doing));
                columns.row([what, duration(p.mean_ns), duration(p.slowest_ns)]);
            }
            t.push('\n');
            t += &columns.render(0, screen);
            if self.ends.len() > 1 {
                let ends: Vec<String> =
                    self.ends.iter().map(|e| format!("{} ({})", e.name, count(e.count))).collect();
                let _ = writeln!(t, "ended in: {}", ends.join(", "));
            }
        }
        if !self.slowest.is_empty() {
            t.push_str("\nlongest:\n");
        }
        for (i, s) in self.slowest.iter().enumerate() {
            let _ = writeln!(t, "{:>3}. {} from {}: {}", i + 1, duration(s.ns), exact(s.from_ns), s.text);
        }
        t.push('\n');
        for note in &self.notes {
            let _ = writeln!(t, "- {note}");
        }
        screen.fold(&t)
    }
}

fn requests_of(n: u64) -> String {
    plural(n, "request")
}
