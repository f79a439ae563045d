// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Groups of like threads as tasks with distributions.
//!
//! A *job* is what a thread does from a wake-up to the next wait; waits for devices are part of it. A group whose jobs are
//! started by signals of other groups, without a circle among the groups, keeps them: 64 bytes in its channel start a job, and a job
//! of the waker writes as many as the mean says. All other groups get arrivals.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use weir_text::toml::quoted;

use crate::import::{BATCH, GroupFit, IDLE, Imported, Labels, bound, class, time, write_head, write_program};
use crate::ks::{self, Shape};
use crate::pieces::{History, Step};
use crate::recording::Recording;

/// Bytes that start a job: the resolution of a mean number of signals.
const TOKEN: f64 = 64.0;

/// Share of the jobs that signals must start.
const BY_SIGNALS: f64 = 0.9;

/// As many samples have a distribution: jobs of a group, gaps of a thread.
const ENOUGH: usize = 8;

/// Groups that a note names.
const NAMED: usize = 4;

/// What started a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Start,
    Time,
    Signal,
}

struct Job {
    cause: Cause,
    began_ns: u64,
    run_ns: u64,
    device_ns: u64,
}

#[derive(Default)]
struct Group {
    threads: Vec<usize>,
    jobs: Vec<Job>,
    /// Gaps between timed arrivals within one thread.
    gaps: Vec<u64>,
    /// Signals sent to each group.
    sent: BTreeMap<String, u64>,
    /// Signals from each group.
    got: BTreeMap<String, u64>,
}

impl Group {
    /// Too few jobs for a distribution.
    fn few(&self) -> bool {
        !self.jobs.is_empty() && self.jobs.len() < ENOUGH
    }
}

pub(crate) fn fitted(
    recording: &Recording,
    histories: &[Option<History>],
    labels: &Labels,
    text: &mut String,
    out: &mut Imported,
) {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (i, history) in histories.iter().enumerate() {
        let Some(history) = history else { continue };
        // Threads of different classes, or bound to different CPUs, are not alike.
        collect(i, history, labels, &key(recording, labels, i, histories), &mut groups, recording, histories);
    }
    let driven = driven(&groups);
    if !driven.is_empty() {
        text.push_str("\n# 64 bytes start a job; fewer are a part of one, as the mean says.\n[channels]\n");
        for (i, name) in groups.keys().enumerate() {
            if driven.contains(name) {
                let _ = writeln!(text, "g{i} = \"1GiB\"");
            }
        }
    }
    let index: BTreeMap<&str, usize> = groups.keys().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    let duration = recording.duration_ns().max(1);
    for (name, group) in &groups {
        if group.few() {
            as_recorded(name, group, recording, histories, labels, &driven, &index, text, out);
            continue;
        }
        write_group(name, group, recording, histories, &driven, &index, duration, text, out);
    }
    let lost: u64 = groups
        .values()
        .map(|g| {
            let arrives = |to: &String| !driven.contains(to) && !groups[to].few();
            g.sent.iter().filter(|(to, _)| arrives(to)).map(|s| s.1).sum::<u64>()
        })
        .sum();
    let few: Vec<&str> = groups.iter().filter(|(_, g)| g.few()).map(|(n, _)| n.as_str()).collect();
    if !few.is_empty() {
        let some = few.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if few.len() > NAMED { ", …" } else { "" };
        out.notes.push(format!(
            "{} groups have fewer than {ENOUGH} jobs, too few for a distribution: their threads run and wait as recorded, whatever the seed ({some}{more})",
            few.len()
        ));
    }
    if lost > 0 {
        out.notes.push(format!(
            "{lost} signals between groups that wake one another in a circle, or that time wakes as well, became arrivals"
        ));
    }
}

/// The name of a thread's group, with what sets it apart from others of that name.
fn key(recording: &Recording, labels: &Labels, i: usize, histories: &[Option<History>]) -> String {
    let thread = &recording.threads[i];
    let mut key = labels.groups[i].clone();
    match thread.policy {
        BATCH => key += " batch",
        IDLE => key += " idle",
        _ => {}
    }
    if thread.prio != 120 && thread.policy != IDLE {
        let _ = match thread.prio {
            100..=139 => write!(key, " nice {}", thread.prio - 120),
            p => write!(key, " rt {}", 99 - p),
        };
    }
    if let Some(cpu) = histories[i].as_ref().and_then(|h| bound(thread, h)) {
        let _ = write!(key, " cpu {cpu}");
    }
    key
}

#[allow(clippy::too_many_arguments)]
fn collect(
    i: usize,
    history: &History,
    labels: &Labels,
    name: &str,
    groups: &mut BTreeMap<String, Group>,
    recording: &Recording,
    histories: &[Option<History>],
) {
    let mut job = Job { cause: Cause::Start, began_ns: history.began_ns, run_ns: 0, device_ns: 0 };
    let (mut jobs, mut gaps, mut times) = (Vec::new(), Vec::new(), Vec::new());
    let mut sent = BTreeMap::new();
    let mut finish = |job: &mut Job, cause: Cause, began_ns: u64| {
        let done = std::mem::replace(job, Job { cause, began_ns, run_ns: 0, device_ns: 0 });
        // What was at the start of a thread that waited at once is not a job.
        if done.run_ns > 0 {
            jobs.push(done);
        }
    };
    for step in &history.steps {
        match *step {
            Step::Run(ns) => job.run_ns += ns,
            Step::Device(ns) => job.device_ns += ns,
            Step::Await(t) => finish(&mut job, Cause::Signal, t),
            Step::Until(t) => {
                finish(&mut job, Cause::Time, t);
                times.push(t);
            }
            Step::Signal(to) | Step::Fork(to) => {
                let signal = matches!(step, Step::Signal(_));
                if signal && histories[to as usize].is_some() {
                    *sent.entry(key(recording, labels, to as usize, histories)).or_insert(0u64) += 1;
                }
            }
        }
    }
    finish(&mut job, Cause::Start, 0);
    gaps.extend(times.windows(2).map(|w| w[1] - w[0]));
    for (to, n) in &sent {
        *groups.entry(to.clone()).or_default().got.entry(name.to_string()).or_insert(0) += n;
    }
    let group = groups.entry(name.to_string()).or_default();
    group.threads.push(i);
    group.jobs.append(&mut jobs);
    if times.len() >= ENOUGH {
        group.gaps.append(&mut gaps);
    }
    for (to, n) in sent {
        *group.sent.entry(to).or_insert(0) += n;
    }
}

/// Groups that signals start, and that no circle of signals leads back to.
fn driven(groups: &BTreeMap<String, Group>) -> BTreeSet<String> {
    let started = |g: &Group| {
        let by = g.jobs.iter().filter(|j| j.cause == Cause::Signal).count();
        g.jobs.len() >= ENOUGH && by as f64 >= BY_SIGNALS * g.jobs.len() as f64
    };
    let candidates: BTreeSet<&String> = groups.iter().filter(|(_, g)| started(g)).map(|(n, _)| n).collect();
    // A group reaches itself through candidates only: others have arrivals, where a chain begins.
    let reaches = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(name) = todo.pop() {
            for to in groups[name].sent.keys().filter(|to| candidates.contains(to)) {
                if to == from {
                    return true;
                }
                if seen.insert(to) {
                    todo.push(to);
                }
            }
        }
        false
    };
    candidates.iter().filter(|name| !reaches(name)).map(|n| n.to_string()).collect()
}

/// How jobs arrive: the keys for it, its name, the distance and its significance.
struct Pattern {
    keys: String,
    name: &'static str,
    distance: Option<f64>,
    p: Option<f64>,
}

#[allow(clippy::too_many_arguments)]
fn write_group(
    name: &str,
    group: &Group,
    recording: &Recording,
    histories: &[Option<History>],
    driven: &BTreeSet<String>,
    index: &BTreeMap<&str, usize>,
    duration: u64,
    text: &mut String,
    out: &mut Imported,
) {
    let mut runs: Vec<u64> = group.jobs.iter().map(|j| j.run_ns).collect();
    let Some(fit) = ks::fit(&mut runs) else { return };
    let run = words(&fit.shape, fit.max);
    let nr_jobs = group.jobs.len() as u64;
    let alive = |i: &usize| histories[*i].as_ref().map_or((0, 0), |h| (h.began_ns, h.ended_ns));
    let spans: Vec<(u64, u64)> = group.threads.iter().map(alive).collect();
    let timed = group.jobs.iter().filter(|j| j.cause != Cause::Start).count();
    let mut body = vec![format!("run {run}")];
    let device: u64 = group.jobs.iter().map(|j| j.device_ns).sum::<u64>() / nr_jobs.max(1);
    if device > 0 {
        body.push(format!("sleep {}", time(device)));
    }
    for (to, n) in group.sent.iter().filter(|(to, _)| driven.contains(*to)) {
        let bytes = (*n as f64 / nr_jobs as f64 * TOKEN).round() as u64;
        if bytes > 0 {
            body.push(format!("write g{} {bytes}B", index[to.as_str()]));
        }
    }
    let body = body.join("; ");
    let steps = quoted(&body);
    let (tasks, pattern) = if driven.contains(name) {
        let program = quoted(&format!("read g{} {TOKEN}B; {body}", index[name]));
        let keys = format!("loop = \"forever\"\nprogram = {program}\n");
        (most_at_once(&spans), Pattern { keys, name: "signals", distance: None, p: None })
    } else if timed == 0 {
        let begins = sorted(spans.iter().map(|s| s.0));
        let n = begins.len() as u64;
        let stagger = (begins[begins.len() - 1] - begins[0]) / (n - 1).max(1);
        let keys =
            format!("start = \"{}\"\nstagger = \"{}\"\nprogram = {steps}\n", time(begins[0]), time(stagger));
        (n, Pattern { keys, name: "once", distance: None, p: None })
    } else {
        let tasks = most_at_once(&spans);
        let mean = (u128::from(duration) * u128::from(tasks) / u128::from(nr_jobs)) as u64;
        let begin = spans.iter().map(|s| s.0).min().unwrap_or(0);
        let few = group.threads.len() == 1 && group.gaps.len() < ENOUGH;
        let mut pattern = match few {
            // Too few for a distribution: as they were.
            true => times(group, begin),
            false => arrivals(&group.gaps, mean.max(1)),
        };
        let _ = writeln!(pattern.keys, "program = {steps}");
        if few || begin > mean {
            let _ = writeln!(pattern.keys, "start = \"{}\"", time(begin));
        }
        (tasks, pattern)
    };
    let first = group.threads[0];
    let thread = &recording.threads[first];
    let _ = write!(text, "\n[[task]]\nname = {}\n", quoted(name));
    if tasks > 1 {
        let _ = writeln!(text, "count = {tasks}");
    }
    text.push_str(&class(thread));
    if let Some(cpu) = histories[first].as_ref().and_then(|h| bound(thread, h)) {
        let _ = writeln!(text, "cpus = \"{cpu}\"");
    }
    text.push_str(&pattern.keys);
    out.tasks += tasks;
    out.steps += 4;
    out.groups.push(GroupFit {
        name: name.to_string(),
        threads: group.threads.len() as u64,
        tasks,
        jobs: nr_jobs,
        arrivals: pattern.name.to_string(),
        arrivals_distance: pattern.distance,
        arrivals_p: pattern.p,
        run,
        run_distance: fit.distance,
        run_p: fit.p,
    });
}

/// The threads of a group one by one, each with its own steps; what woke them is a time.
#[allow(clippy::too_many_arguments)]
fn as_recorded(
    name: &str,
    group: &Group,
    recording: &Recording,
    histories: &[Option<History>],
    labels: &Labels,
    driven: &BTreeSet<String>,
    index: &BTreeMap<&str, usize>,
    text: &mut String,
    out: &mut Imported,
) {
    for &i in &group.threads {
        let Some(history) = &histories[i] else { continue };
        write_head(text, &labels.names[i], name, &recording.threads[i], history);
        if history.began_ns > 0 {
            let _ = writeln!(text, "start = \"{}\"", time(history.began_ns));
        }
        let word = |step: &Step| match *step {
            Step::Run(ns) => Some(format!("run {}", time(ns))),
            Step::Device(ns) => Some(format!("sleep {}", time(ns))),
            Step::Await(t) | Step::Until(t) => Some(format!("until {}", time(t))),
            Step::Signal(to) => {
                histories[to as usize].as_ref()?;
                let to = key(recording, labels, to as usize, histories);
                driven.contains(&to).then(|| format!("write g{} {TOKEN}B", index[to.as_str()]))
            }
            Step::Fork(_) => None,
        };
        out.steps += write_program(text, history.steps.iter().filter_map(word));
    }
    let threads = group.threads.len() as u64;
    out.tasks += threads;
    out.groups.push(GroupFit {
        name: name.to_string(),
        threads,
        tasks: threads,
        jobs: group.jobs.len() as u64,
        arrivals: "times".into(),
        arrivals_distance: None,
        arrivals_p: None,
        run: "recorded".into(),
        run_distance: 0.0,
        run_p: 1.0,
    });
}

fn sorted(times: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut all: Vec<u64> = times.collect();
    all.sort_unstable();
    all
}

/// Most of these spans at one time.
fn most_at_once(spans: &[(u64, u64)]) -> u64 {
    let mut ends: Vec<(u64, i64)> =
        spans.iter().flat_map(|s| [(s.0, 1), (s.1.saturating_add(1), -1)]).collect();
    ends.sort_unstable();
    let (mut now, mut most) = (0i64, 1);
    for (_, change) in ends {
        now += change;
        most = most.max(now);
    }
    most as u64
}

/// The recorded times, counted from the start of the task.
fn times(group: &Group, start: u64) -> Pattern {
    let list: Vec<String> = sorted(group.jobs.iter().map(|j| j.began_ns.saturating_sub(start)))
        .into_iter()
        .map(|t| quoted(&time(t)))
        .collect();
    let keys = format!("arrivals = [{}]\n", list.join(", "));
    Pattern { keys, name: "times", distance: None, p: None }
}

/// The simplest pattern that fits the gaps; without enough of them, arrivals at random with the mean gap.
fn arrivals(gaps: &[u64], mean: u64) -> Pattern {
    let poisson = |mean: u64| format!("arrivals = \"poisson {}\"\n", time(mean));
    if gaps.len() < ENOUGH {
        return Pattern { keys: poisson(mean), name: "poisson", distance: None, p: None };
    }
    let gaps = sorted(gaps.iter().copied());
    let n = gaps.len();
    let own = (gaps.iter().map(|g| u128::from(*g)).sum::<u128>() / n as u128).max(1) as u64;
    let median = gaps[n / 2].max(1);
    // A period: nearly all gaps are within a twentieth of it.
    let near = gaps.iter().filter(|g| g.abs_diff(median) <= (median / 20).max(2000)).count();
    let rounded = |ns: u64| if ns > 100_000 { (ns + 500) / 1000 * 1000 } else { ns };
    if near as f64 >= 0.9 * n as f64 {
        let distance = 1.0 - near as f64 / n as f64;
        // Deadlines are not known; a job that is late delays the next.
        let keys = format!("period = \"{}\"\n", time(rounded(own)));
        let p = Some(ks::significance(distance, n));
        return Pattern { keys, name: "period", distance: Some(distance), p };
    }
    let exponential = |least: u64, mean: u64| {
        let scale = (mean - least).max(1) as f64;
        ks::distance(
            &gaps,
            |x| if x < least as f64 { 0.0 } else { 1.0 - libm::exp(-(x - least as f64) / scale) },
        )
    };
    let least = gaps[0].min(own - 1);
    let (plain, shifted) = (exponential(0, own), exponential(least, own));
    let mut best = Pattern { keys: poisson(own), name: "poisson", distance: Some(plain), p: None };
    if shifted + 0.01 < plain && least > 0 {
        best.keys = format!("arrivals = \"poisson {} {}\"\n", time(own), time(least));
        best.distance = Some(shifted);
    }
    if let Some((keys, distance)) = bursts(&gaps, own).filter(|b| b.1 + 0.01 < best.distance.unwrap_or(1.0)) {
        best = Pattern { keys, name: "bursts", distance: Some(distance), p: None };
    }
    best.p = best.distance.map(|d| ks::significance(d, n));
    best
}

/// Short gaps within bursts, long ones between them.
fn bursts(gaps: &[u64], mean: u64) -> Option<(String, f64)> {
    let short = gaps.partition_point(|g| *g < mean);
    let (within, between) = gaps.split_at(short);
    if within.is_empty() || between.is_empty() {
        return None;
    }
    let average =
        |g: &[u64]| (g.iter().map(|g| u128::from(*g)).sum::<u128>() / g.len() as u128).max(1) as u64;
    let count = (gaps.len() as f64 / between.len() as f64).round() as u64;
    let (gap, pause) = (average(within), average(between));
    if count < 2 {
        return None;
    }
    let share = (count - 1) as f64 / count as f64;
    let distance = ks::distance(gaps, |x| {
        share * f64::from(x >= gap as f64) + (1.0 - share) * (1.0 - libm::exp(-x.max(0.0) / pause as f64))
    });
    Some((format!("arrivals = \"bursts {count} {} {}\"\n", time(gap), time(pause)), distance))
}

/// A distribution in the words of a workload file.
fn words(shape: &Shape, max: u64) -> String {
    let whole = |x: f64| time((x.round() as u64).max(1));
    let max = time(max.max(1));
    match shape {
        Shape::Constant(ns) => time((*ns).max(1)),
        Shape::Uniform(a, b) => format!("{}..{}", time((*a).max(1)), time((*b).max(1))),
        Shape::Normal { mean, deviation } => format!("normal {} {} {max}", whole(*mean), whole(*deviation)),
        Shape::Exponential { mean } => format!("exponential {} {max}", whole(*mean)),
        Shape::Weibull { scale, shape } => format!("weibull {} {shape:.4} {max}", whole(*scale)),
        Shape::Histogram(parts) => {
            let mut out = String::from("histogram");
            for (a, b) in parts {
                let (a, b) = ((*a).max(1), (*b).max(1));
                let _ = match a == b {
                    true => write!(out, " {}:1", time(a)),
                    false => write!(out, " {}..{}:1", time(a), time(b)),
                };
            }
            out
        }
    }
}
