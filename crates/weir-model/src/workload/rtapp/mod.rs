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
use weir_core::CpuSet;
use weir_core::cpuset::MAX_CPUS;

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
    group: Option<String>,
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
    let mut workload = lower::lower(source, builder, &global, &threads)?;
    if global.inherit {
        workload.protocols = vec![Protocol::Inherit; workload.mutexes.len()];
    }
    Ok(workload)
}

/// rt-app overlooks keys that it does not know; we say so, as most of them are slips.
fn unknown_key(builder: &mut Builder, place: &str, key: &str, known: impl Iterator<Item = &'static str>) {
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
    let number = |key: &str, range, unit: &str, default: i64| match find(object, key) {
        Some(p) => source.integer(&p.value, key, range, unit),
        None => Ok(default),
    };
    let max = i64::from(i32::MAX);
    let instances = number("instance", 0..=max, "", 1)? as u64;
    let delay_us = number("delay", 0..=max, " of microseconds", 0)? as u64;
    let sched = sched::parse(source, object, global.policy, true)?.expect("a thread always has a policy");
    let group = taskgroup(source, object, Some(sched))?;
    let is_deadline = matches!(sched.policy, super::Policy::Deadline { .. });
    ignored_keys(builder, &place, object, is_deadline);

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
        for p in &list.properties {
            let phase_name = p.name.as_str();
            let body = source.object(&p.value, phase_name, "{ \"run\" : 1000 }")?;
            let place = format!("{place}, phase `{phase_name}`");
            for p in &body.properties {
                let key = p.name.as_str();
                if events::event_name(key).is_none() && !PHASE_KEYS.contains(&key) {
                    unknown_key(builder, &place, key, PHASE_KEYS.iter().copied().chain(events::names()));
                }
            }
            ignored_keys(builder, &place, body, is_deadline || find(body, "policy").is_some());
            if taskgroup(source, body, None)?.is_some() {
                builder.warn(format!(
                    "{place}: the change of task group is ignored; groups hold for whole threads"
                ));
            }
            phases.push(phase(source, builder, &place, &name, body, Some(sched.policy))?);
        }
        for p in &object.properties {
            let key = p.name.as_str();
            let legacy = key == "runtime" && is_deadline;
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
                unknown_key(builder, &place, key, THREAD_KEYS.iter().copied().chain(events::names()));
            }
        }
        // The loop of a thread without phases is that of its one phase.
        repeat = if find(object, "loop").is_some() { 1 } else { -1 };
        phases.push(phase(source, builder, &place, &name, object, None)?);
    }
    repeated_keys(builder, &place, object);
    let cpus = cpus(source, object)?;
    Ok(Thread { name, at, instances, delay_us, repeat, cpus, sched, group, phases })
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
        let old = find(object, "exec").is_some();
        let help = if old {
            "this is the format of rt-app before version 1.0; write `\"run\" : …` and a `timer` instead of `exec` and `period`"
        } else {
            "add events, for example `\"run\" : 1000, \"sleep\" : 9000`"
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

/// The task group, which must be a path; real-time threads cannot be in one.
fn taskgroup<'a>(
    source: Source<'a>,
    object: &Object<'a>,
    sched: Option<Sched>,
) -> Result<Option<String>, Error> {
    let Some(p) = find(object, "taskgroup") else { return Ok(None) };
    let path = source.string(&p.value, "taskgroup", "\"/group\"")?;
    if path.is_empty() {
        return Ok(None);
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
    Ok(Some(path.to_string()))
}

/// What the simulation does not model about a thread or phase.
fn ignored_keys(builder: &mut Builder, place: &str, object: &Object<'_>, is_deadline: bool) {
    for key in ["nodes_membind", "membind_nodes"] {
        if find(object, key).is_some() {
            builder.warn(format!("{place}: `{key}` is ignored; memory is not placed on nodes here"));
        }
    }
    let deadline = ["dl-runtime", "dl-period", "dl-deadline"].into_iter().find(|k| find(object, k).is_some());
    if let (Some(key), false) = (deadline, is_deadline) {
        builder
            .warn(format!("{place}: `{key}` without SCHED_DEADLINE is ignored; slices are the scheduler's"));
    }
    for key in ["util_min", "util_max"] {
        if find(object, key).is_some() {
            builder.warn(format!("{place}: `{key}` is ignored; utilization clamps are not modelled"));
        }
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
