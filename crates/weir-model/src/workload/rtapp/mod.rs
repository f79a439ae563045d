// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! rt-app JSON files, as people write them and as rt-app with workgen runs them.
//!
//! The semantics are those of rt-app's tutorial and of its parser; where they differ, the parser is
//! followed. Times in the file are microseconds. Settings without a counterpart in the simulation
//! (logging, memory locking, NUMA binding …) are read, checked and reported as a warning.

mod events;
mod filled;
mod global;
mod json;
mod lower;
mod sched;

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp};
use weir_core::cpuset::MAX_CPUS;
use weir_core::{Clamps, CpuSet};

use self::events::Event;
use self::filled::Filled;
use self::global::Global;
use self::json::{Source, find, span};
use self::sched::Sched;
pub(crate) use self::sched::{DEADLINE_PRIORITY, IDLE_PRIORITY};
use super::build::{Builder, Limits};
use super::{Protocol, Workload};
use crate::error::{Error, did_you_mean, nearest};

/// One phase of a thread; a thread without `phases` has one.
struct Phase {
    /// As in the file: how often, negative or 0 for ever.
    repeat: i64,
    events: Vec<Event>,
    cpus: Option<CpuSet>,
    sched: Option<Sched>,
}

/// One thread object of the file.
struct Thread {
    name: String,
    at: Range<usize>,
    instances: u64,
    delay_us: u64,
    /// As in the file: negative for ever, 0 not at all.
    repeat: i64,
    cpus: Option<CpuSet>,
    sched: Sched,
    /// Its task group, as the names on the path from the root; empty: none.
    group: Vec<String>,
    /// For how long it wants to run at a time, ns (Linux 6.12: the runtime of a fair thread).
    slice_ns: Option<u64>,
    clamps: Clamps,
    phases: Vec<Phase>,
}

/// Keys of the file's top level.
const TOP: &[&str] = &["tasks", "global", "resources"];

/// Keys of a thread that are no events.
const THREAD_KEYS: &[&str] = &[
    "instance",
    "delay",
    "loop",
    "phases",
    "policy",
    "priority",
    "cpus",
    "nodes_membind",
    "membind_nodes",
    "taskgroup",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "period",
    "deadline",
];

/// Keys of a phase that are no events.
const PHASE_KEYS: &[&str] = &[
    "loop",
    "policy",
    "priority",
    "cpus",
    "nodes_membind",
    "membind_nodes",
    "taskgroup",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
];

/// Read an rt-app file.
pub(crate) fn parse(name: &str, file: &str, text: &str, limits: Limits) -> Result<Workload, Error> {
    let filled = Filled::new(text);
    let source = Source { name: file, text, filled: &filled };
    let root = source.parse()?;
    let mut builder = Builder::new(name, limits);
    for p in &root.properties {
        let key = p.name.as_str();
        if !TOP.contains(&key) {
            unknown_key(&mut builder, "the file", key, TOP.iter().copied());
        }
    }
    let global = global::parse(source, &mut builder, find(&root, "global"))?;
    global::resources(source, &mut builder, find(&root, "resources"))?;
    let Some(tasks) = find(&root, "tasks") else {
        let (at, help) = match root.properties.iter().find(|p| nearest(p.name.as_str(), ["tasks"]).is_some())
        {
            Some(p) => (span(&p.name), "did you mean `tasks` here?"),
            None => (span(&root), "add `\"tasks\" : { \"thread0\" : { \"run\" : 1000, \"sleep\" : 9000 } }`"),
        };
        return Err(source.error(at, "the file has no `tasks`", help));
    };
    let tasks = source.object(&tasks.value, "tasks", "{ \"thread0\" : { … } }")?;
    if tasks.properties.is_empty() {
        return Err(source.error(span(tasks), "`tasks` describes no thread", "describe at least one"));
    }
    let mut threads = Vec::new();
    for p in &tasks.properties {
        threads.push(thread(source, &mut builder, &global, p)?);
    }
    sched::periods(&mut builder, &threads);
    let mut workload = lower::lower(source, builder, &global, &threads)?;
    if global.inherit {
        workload.protocols = vec![Protocol::Inherit; workload.mutexes.len()];
    }
    Ok(workload)
}

/// Keys that belong to a thread as a whole and are overlooked in a phase.
const THREAD_ONLY: &[&str] = &["instance", "delay", "phases"];

/// A key that is a remark of the file's author.
fn is_remark(key: &str) -> bool {
    key.starts_with(['_', '#', '/']) || key == "comment"
}

/// rt-app overlooks keys that it does not know; we say so, as most of them are slips.
fn unknown_key(builder: &mut Builder, place: &str, key: &str, known: impl Iterator<Item = &'static str>) {
    if is_remark(key) {
        return;
    }
    match nearest(key, known) {
        Some(near) => {
            builder.warn(format!("{place}: unknown key `{key}` is ignored; did you mean `{near}`?"))
        }
        None => builder.warn(format!("{place}: unknown key `{key}` is ignored")),
    }
}

/// Read one thread object.
fn thread<'a>(
    source: Source<'a>,
    builder: &mut Builder,
    global: &Global,
    property: &ObjectProp<'a>,
) -> Result<Thread, Error> {
    let name = property.name.as_str().to_string();
    let at = span(&property.name);
    if name.is_empty() || name.len() > 256 {
        return Err(source.error(at, "a thread needs a name of 1 to 256 bytes", "name it"));
    }
    let object = source.object(&property.value, &name, "{ \"run\" : 1000 }")?;
    let place = format!("thread `{name}`");
    if let Some(old) = ["exec", "lock_order"].into_iter().find_map(|k| find(object, k)) {
        let key = old.name.as_str();
        return Err(source.error(
            span(&old.name),
            format!("{place}: `{key}` belongs to the format of rt-app before version 1.0"),
            "write `\"run\" : …` and a `timer` instead of `exec` and `period`, `lock` and `unlock` instead of `lock_order`",
        ));
    }
    let number = |key: &str, range, unit: &str, default: i64| match find(object, key) {
        Some(p) => source.integer(&p.value, key, range, unit),
        None => Ok(default),
    };
    let max = i64::from(i32::MAX);
    let instances = number("instance", 0..=max, "", 1)? as u64;
    let delay_us = number("delay", 0..=max, " of microseconds", 0)? as u64;
    let sched = sched::parse(source, object, global.policy, true)?.expect("a thread always has a policy");
    let mut group = taskgroup(source, object, Some(sched))?.unwrap_or_default();
    let mut slice_ns = slice(source, builder, &place, object, sched.policy)?;
    let mut clamped = clamps(source, &place, object, Clamps::default())?;
    ignored_keys(builder, &place, object, sched.policy);

    let phases_key = find(object, "phases");
    let mut phases = Vec::new();
    let repeat;
    if let Some(p) = phases_key {
        let list = source.object(&p.value, "phases", "{ \"phase0\" : { \"run\" : 1000 } }")?;
        if list.properties.is_empty() {
            return Err(source.error(
                span(list),
                format!("{place} has no phase"),
                "describe at least one phase",
            ));
        }
        for (k, p) in list.properties.iter().enumerate() {
            let phase_name = p.name.as_str();
            let body = source.object(&p.value, phase_name, "{ \"run\" : 1000 }")?;
            let place = format!("{place}, phase `{phase_name}`");
            for p in &body.properties {
                let key = p.name.as_str();
                if THREAD_ONLY.contains(&key) {
                    builder.warn(format!("{place}: `{key}` has no effect in a phase; it is a thread's"));
                } else if events::event_name(key).is_none() && !PHASE_KEYS.contains(&key) {
                    unknown_event(source, &place, &p.name, PHASE_KEYS)?;
                }
            }
            let policy = match find(body, "policy") {
                Some(p) => sched::policy_of(source, &p.value, "policy")?,
                None => sched.policy,
            };
            ignored_keys(builder, &place, body, policy);
            // What the first phase says holds for the thread; what changes later has no counterpart.
            if let Some(path) = taskgroup(source, body, None)?
                && path != group
            {
                if k == 0 && find(object, "taskgroup").is_none() {
                    group = path;
                } else {
                    builder.warn(format!(
                        "{place}: the change of task group is ignored; groups hold for whole threads"
                    ));
                }
            }
            if let Some(ns) = slice(source, builder, &place, body, policy)?
                && slice_ns != Some(ns)
            {
                if k == 0 && slice_ns.is_none() {
                    slice_ns = Some(ns);
                } else {
                    builder.warn(format!(
                        "{place}: the change of slice (`dl-runtime`) is ignored; slices hold for whole threads"
                    ));
                }
            }
            let within = clamps(source, &place, body, clamped)?;
            if within != clamped && k > 0 {
                builder.warn(format!(
                    "{place}: the change of `util_min` or `util_max` is ignored; clamps hold for whole threads"
                ));
            } else {
                clamped = within;
            }
            phases.push(phase(source, builder, &place, &name, body, Some(sched.policy))?);
        }
        for p in &object.properties {
            let key = p.name.as_str();
            let legacy = key == "runtime" && matches!(sched.policy, super::Policy::Deadline { .. });
            if events::event_name(key).is_some() && !legacy {
                builder.warn(format!(
                    "{place}: `{key}` beside `phases` is ignored, as in rt-app; move it into a phase"
                ));
            } else if !THREAD_KEYS.contains(&key) && !legacy {
                unknown_key(builder, &place, key, THREAD_KEYS.iter().copied());
            }
        }
        repeat = number("loop", -max..=max, "", -1)?;
    } else {
        for p in &object.properties {
            let key = p.name.as_str();
            if events::event_name(key).is_none() && !THREAD_KEYS.contains(&key) {
                unknown_event(source, &place, &p.name, THREAD_KEYS)?;
            }
        }
        // The loop of a thread without phases is that of its one phase.
        repeat = if find(object, "loop").is_some() { 1 } else { -1 };
        phases.push(phase(source, builder, &place, &name, object, None)?);
    }
    repeated_keys(builder, &place, object);
    let cpus = cpus(source, object)?;
    let bound = cpus.is_some() || phases.iter().any(|p| p.cpus.is_some());
    if bound && matches!(sched.policy, super::Policy::Deadline { .. }) {
        builder.warn(format!(
            "{place}: `cpus` with SCHED_DEADLINE, which Linux refuses (EPERM) outside of an exclusive cpuset, holds here"
        ));
    }
    Ok(Thread {
        name,
        at,
        instances,
        delay_us,
        repeat,
        cpus,
        sched,
        group,
        slice_ns,
        clamps: clamped,
        phases,
    })
}

/// A key where events stand that is none: the thread would run without it, so the file is refused. rt-app overlooks it.
fn unknown_event(
    source: Source<'_>,
    place: &str,
    name: &jsonc_parser::ast::ObjectPropName<'_>,
    known: &'static [&'static str],
) -> Result<(), Error> {
    let key = name.as_str();
    if is_remark(key) {
        return Ok(());
    }
    let all: Vec<&str> = known.iter().copied().chain(events::names()).collect();
    let near = nearest(key, all.iter().copied());
    let help = match near {
        Some(near) => format!("did you mean `{near}`? A remark may be written as `_{key}`"),
        None => format!(
            "events are {}, each also with a suffix such as `run1` or `run_b`; a remark may be written as `_{key}`",
            events::names().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    Err(source.error(span(name), format!("{place}: `{key}` is neither an event nor a setting"), help))
}

/// Read a phase. `inherited` is the thread's policy; a thread that is its own phase (`None`) has its
/// scheduling keys read already.
fn phase<'a>(
    source: Source<'a>,
    builder: &mut Builder,
    place: &str,
    thread: &str,
    object: &Object<'a>,
    inherited: Option<super::Policy>,
) -> Result<Phase, Error> {
    let max = i64::from(i32::MAX);
    let repeat = match find(object, "loop") {
        Some(p) => source.integer(&p.value, "loop", -max..=max, "")?,
        None => 1,
    };
    if repeat == 0 {
        builder.warn(format!("{place}: `loop` 0 repeats for ever, as in rt-app"));
    }
    let mut list = Vec::new();
    for p in &object.properties {
        if events::event_name(p.name.as_str()).is_some() {
            list.push(events::parse(source, p, thread)?);
        }
    }
    if list.is_empty() {
        let help = match find(object, "delay") {
            Some(_) if inherited.is_some() => {
                "`delay` is a thread's: write `\"sleep\"` for a pause in a phase, or move `delay` to the thread"
            }
            _ => "add events, for example `\"run\" : 1000, \"sleep\" : 9000`",
        };
        return Err(source.error(span(object), format!("{place} has no event"), help));
    }
    let (cpus, sched) = match inherited {
        Some(policy) => {
            repeated_keys(builder, place, object);
            (cpus(source, object)?, sched::parse(source, object, policy, false)?)
        }
        None => (None, None),
    };
    Ok(Phase { repeat, events: list, cpus, sched })
}

fn cpus<'a>(source: Source<'a>, object: &Object<'a>) -> Result<Option<CpuSet>, Error> {
    match find(object, "cpus") {
        None => Ok(None),
        Some(p) => Ok(Some(source.indices(&p.value, "cpus", MAX_CPUS)?.into_iter().collect())),
    }
}

/// The task group, which must be a path; real-time threads cannot be in one. `None`: nothing is said; empty: none.
fn taskgroup<'a>(
    source: Source<'a>,
    object: &Object<'a>,
    sched: Option<Sched>,
) -> Result<Option<Vec<String>>, Error> {
    let Some(p) = find(object, "taskgroup") else { return Ok(None) };
    let path = source.string(&p.value, "taskgroup", "\"/group\"")?;
    if path.is_empty() {
        return Ok(Some(Vec::new()));
    }
    if !path.starts_with('/') {
        let help = format!("write `\"/{path}\"`");
        return Err(source.error(
            span(&p.value),
            format!("the task group `{path}` must begin with `/`"),
            help,
        ));
    }
    if let Some(s) = sched
        && !matches!(s.policy, super::Policy::Other | super::Policy::Batch | super::Policy::Idle)
    {
        return Err(source.error(
            span(&p.value),
            "a real-time thread cannot be in a task group",
            "remove `taskgroup`, or use SCHED_OTHER or SCHED_IDLE",
        ));
    }
    let names: Vec<String> = path.split('/').filter(|n| !n.is_empty()).map(str::to_string).collect();
    if let Some(odd) = names.iter().find(|n| n.as_str() == "." || n.as_str() == "..") {
        return Err(source.error(
            span(&p.value),
            format!("`{odd}` in a task group is no group of its own"),
            "write the path from the root, without `.` and `..`",
        ));
    }
    if names.len() > MAX_DEPTH {
        return Err(source.error(
            span(&p.value),
            format!("the task group is {} levels deep", names.len()),
            format!("nest groups at most {MAX_DEPTH} deep: components follow no more"),
        ));
    }
    Ok(Some(names))
}

/// Levels of groups that components follow.
const MAX_DEPTH: usize = 8;

/// Slices that Linux grants, ns: what is beyond is cut.
const SLICES: std::ops::RangeInclusive<u64> = 100_000..=100_000_000;

/// `dl-runtime` of a fair thread: the slice that it requests.
fn slice<'a>(
    source: Source<'a>,
    builder: &mut Builder,
    place: &str,
    object: &Object<'a>,
    policy: super::Policy,
) -> Result<Option<u64>, Error> {
    if !matches!(policy, super::Policy::Other | super::Policy::Batch) {
        return Ok(None);
    }
    let Some(p) = find(object, "dl-runtime") else { return Ok(None) };
    let us = source.integer(&p.value, "dl-runtime", 0..=i64::from(i32::MAX), " of microseconds")? as u64;
    if us == 0 {
        // The kernel's default.
        return Ok(None);
    }
    let ns = (us * 1000).clamp(*SLICES.start(), *SLICES.end());
    if ns != us * 1000 {
        builder.warn(format!(
            "{place}: the slice (`dl-runtime`) of {us} us becomes {} us, as in Linux",
            ns / 1000
        ));
    }
    Ok(Some(ns))
}

/// `util_min` and `util_max` of a thread or phase, where those of before hold for what it leaves out; -1: none, as in rt-app.
fn clamps<'a>(source: Source<'a>, place: &str, object: &Object<'a>, before: Clamps) -> Result<Clamps, Error> {
    let whole = i64::from(Clamps::WHOLE);
    let key = |key: &str, before: u32, none: u32| match find(object, key) {
        None => Ok(before),
        Some(p) => match source.integer(&p.value, key, -1..=whole, " (-1: none)")? {
            -1 => Ok(none),
            n => Ok(n as u32),
        },
    };
    let none = Clamps::default();
    let least = key("util_min", before.least, none.least)?;
    let most = key("util_max", before.most, none.most)?;
    if least > most {
        return Err(source.error(
            span(object),
            format!("{place}: `util_min` {least} is above `util_max` {most}"),
            "write no more as `util_min`: Linux refuses it (EINVAL)",
        ));
    }
    Ok(Clamps { least, most })
}

/// What the simulation does not model about a thread or phase of this policy.
fn ignored_keys(builder: &mut Builder, place: &str, object: &Object<'_>, policy: super::Policy) {
    for key in ["nodes_membind", "membind_nodes"] {
        if find(object, key).is_some() {
            builder.warn(format!("{place}: `{key}` is ignored; rt-app's loops hardly use memory, so its node does not matter here"));
        }
    }
    let without_effect: &[&str] = match policy {
        super::Policy::Deadline { .. } => &[],
        super::Policy::Other | super::Policy::Batch => &["dl-period", "dl-deadline"],
        _ => &["dl-runtime", "dl-period", "dl-deadline"],
    };
    let old: &[&str] =
        if matches!(policy, super::Policy::Deadline { .. }) { &[] } else { &["period", "deadline"] };
    for key in without_effect.iter().chain(old).filter(|k| find(object, k).is_some()) {
        builder.warn(format!("{place}: `{key}` without SCHED_DEADLINE has no effect"));
    }
}

/// Keys other than events that appear twice: the first counts.
fn repeated_keys(builder: &mut Builder, place: &str, object: &Object<'_>) {
    let mut seen = std::collections::BTreeSet::new();
    for p in &object.properties {
        let key = p.name.as_str();
        if events::event_name(key).is_none() && !seen.insert(key) {
            builder.warn(format!("{place}: `{key}` is given twice; the first counts"));
        }
    }
}

/// A fork of a thread that does not exist.
fn unknown_thread(source: Source<'_>, name: &str, at: &Range<usize>, threads: &[Thread]) -> Error {
    let names: Vec<&str> = threads.iter().map(|t| t.name.as_str()).take(50).collect();
    source.error(at.clone(), format!("`fork` of the unknown thread `{name}`"), did_you_mean(name, &names))
}

#[cfg(test)]
mod tests;
