// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The events of a thread, read key by key in their order.
//!
//! A key is the name of an event, alone or with a suffix that keeps keys apart, as workgen and people write it: `run`, `run1`,
//! `run_b`, `runB` are all `run`. What begins like an event and goes on in small letters is another word (`memrun` is no `mem`).

use jsonc_parser::ast::{ObjectProp, Value};

use super::json::{Source, find, span};
use crate::error::{Error, did_you_mean};

/// Longest time and largest size that rt-app can hold (a C `int`).
const MAX_INT: i64 = i32::MAX as i64;

/// What an event does; names are resolved when all threads are known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Run {
        us: u64,
    },
    Runtime {
        us: u64,
    },
    Sleep {
        us: u64,
    },
    Memory {
        bytes: u64,
    },
    /// Loads that depend on each other, each of another line of the cache.
    Chase {
        loads: u64,
    },
    Io {
        bytes: u64,
    },
    Lock(String),
    Unlock(String),
    Wait {
        condition: String,
        mutex: String,
    },
    Sync {
        condition: String,
        mutex: String,
    },
    Signal(String),
    Broadcast(String),
    Barrier(String),
    Post(String),
    Take(String),
    Suspend(String),
    Resume(String),
    Timer {
        name: String,
        us: u64,
        absolute: bool,
    },
    Yield,
    Fork {
        thread: String,
        at: std::ops::Range<usize>,
    },
}

/// Names of events; a word that two names begin belongs to the longer one, by its suffix.
const NAMES: &[&str] = &[
    "lock",
    "unlock",
    "wait",
    "signal",
    "broad",
    "broadcast",
    "sync",
    "sem_post",
    "sem_wait",
    "sleep",
    "runtime",
    "run",
    "timer",
    "suspend",
    "resume",
    "mem",
    "memrun",
    "iorun",
    "yield",
    "barrier",
    "fork",
];

/// The event that a key names, if any.
pub(super) fn event_name(key: &str) -> Option<&'static str> {
    let suffixed = |name: &&str| {
        let rest = key.strip_prefix(*name)?;
        (!rest.starts_with(|c: char| c.is_lowercase())).then_some(())
    };
    NAMES.iter().copied().find(|n| suffixed(n).is_some())
}

/// Names for suggestions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// Read one event; `thread` is the name of its thread.
pub(super) fn parse<'a>(source: Source<'a>, property: &ObjectProp<'a>, thread: &str) -> Result<Event, Error> {
    let key = property.name.as_str();
    let value = &property.value;
    let name = event_name(key).expect("the caller asked before");
    let us = || source.integer(value, key, 0..=MAX_INT, " of microseconds").map(|v| v as u64);
    let bytes = || source.integer(value, key, 0..=MAX_INT, " of bytes").map(|v| v as u64);
    let object_name = |example: &str| -> Result<String, Error> {
        let text = source.string(value, key, example)?;
        if text.is_empty() {
            return Err(source.error(
                span(value),
                format!("`{key}` names nothing"),
                format!("write, for example, `\"{key}\" : {example}`"),
            ));
        }
        Ok(text.to_string())
    };
    Ok(match name {
        "run" => Event::Run { us: us()? },
        "runtime" => Event::Runtime { us: us()? },
        "sleep" => Event::Sleep { us: us()? },
        "mem" => Event::Memory { bytes: bytes()? },
        "memrun" => memrun(source, key, value)?,
        "iorun" => Event::Io { bytes: bytes()? },
        "lock" => Event::Lock(object_name("\"mutex\"")?),
        "unlock" => Event::Unlock(object_name("\"mutex\"")?),
        "signal" => Event::Signal(object_name("\"queue\"")?),
        "broad" | "broadcast" => Event::Broadcast(object_name("\"queue\"")?),
        "barrier" => Event::Barrier(object_name("\"meet\"")?),
        "sem_post" => Event::Post(object_name("\"frames\"")?),
        "sem_wait" => Event::Take(object_name("\"frames\"")?),
        "resume" => Event::Resume(object_name("\"thread1\"")?),
        "fork" => Event::Fork { thread: object_name("\"thread1\"")?, at: span(value) },
        // An empty name stands for the thread itself: workgen fills it in.
        "suspend" => match source.string(value, key, "\"thread0\"")? {
            "" => Event::Suspend(thread.to_string()),
            text => Event::Suspend(text.to_string()),
        },
        // rt-app does not look at the value.
        "yield" => Event::Yield,
        "wait" | "sync" => pair(source, key, name, value)?,
        "timer" => timer(source, key, value)?,
        other => unreachable!("{other} is in the list of events"),
    })
}

/// `{ "type" : "read" | "write" | "chase", "size" : bytes, "stride" : bytes, "pattern" : …, "count" : accesses }`
fn memrun<'a>(source: Source<'a>, key: &str, value: &Value<'a>) -> Result<Event, Error> {
    let example = "{ \"type\" : \"read\", \"size\" : 1048576, \"count\" : 1048576 }";
    let object = source.object(value, key, example)?;
    unknown_members(source, object, key, &["type", "size", "stride", "pattern", "count"])?;
    let lacks = |member: &str| {
        let help = format!("write, for example, `\"{key}\" : {example}`");
        source.error(span(value), format!("`{key}` lacks `{member}`"), help)
    };
    let Some(kind) = find(object, "type") else { return Err(lacks("type")) };
    for (member, least) in [("size", 1), ("stride", 1)] {
        if let Some(p) = find(object, member) {
            source.integer(&p.value, member, least..=MAX_INT, " of bytes")?;
        }
    }
    if let Some(p) = find(object, "pattern") {
        let word = source.string(&p.value, "pattern", "\"random\"")?;
        const PATTERNS: &[&str] = &["random", "sequential"];
        if !PATTERNS.contains(&word) {
            let message = format!("unknown pattern `{word}`");
            return Err(source.error(span(&p.value), message, did_you_mean(word, PATTERNS)));
        }
    }
    let Some(count) = find(object, "count") else { return Err(lacks("count")) };
    // More than a C `int`: a count is of single accesses.
    let count = source.integer(&count.value, "count", 0..=1 << 40, " of accesses")? as u64;
    const KINDS: &[&str] = &["read", "write", "chase"];
    match source.string(&kind.value, "type", "\"read\"")? {
        "read" | "write" => Ok(Event::Memory { bytes: count }),
        "chase" => Ok(Event::Chase { loads: count }),
        other => {
            let message = format!("unknown type `{other}` of `{key}`");
            Err(source.error(span(&kind.value), message, did_you_mean(other, KINDS)))
        }
    }
}

/// `{ "ref" : condition, "mutex" : mutex }`
fn pair<'a>(source: Source<'a>, key: &str, name: &str, value: &Value<'a>) -> Result<Event, Error> {
    let example = "{ \"ref\" : \"queue\", \"mutex\" : \"mutex\" }";
    let object = source.object(value, key, example)?;
    let member = |member: &str| -> Result<String, Error> {
        match find(object, member) {
            Some(p) => Ok(source.string(&p.value, member, "\"name\"")?.to_string()),
            None => {
                let help = format!("write, for example, `\"{key}\" : {example}`");
                Err(source.error(span(value), format!("`{key}` lacks `{member}`"), help))
            }
        }
    };
    unknown_members(source, object, key, &["ref", "mutex"])?;
    let (condition, mutex) = (member("ref")?, member("mutex")?);
    Ok(if name == "wait" { Event::Wait { condition, mutex } } else { Event::Sync { condition, mutex } })
}

/// `{ "ref" : name, "period" : µs, "mode" : "absolute" | "relative" }`
fn timer<'a>(source: Source<'a>, key: &str, value: &Value<'a>) -> Result<Event, Error> {
    let example = "{ \"ref\" : \"unique\", \"period\" : 10000 }";
    let object = source.object(value, key, example)?;
    unknown_members(source, object, key, &["ref", "period", "mode"])?;
    let name = match find(object, "ref") {
        Some(p) => source.string(&p.value, "ref", "\"unique\"")?.to_string(),
        None => "unknown".to_string(),
    };
    let Some(period) = find(object, "period") else {
        let help = format!("write, for example, `\"{key}\" : {example}`");
        return Err(source.error(span(value), format!("`{key}` lacks `period`"), help));
    };
    let us = source.integer(&period.value, "period", 0..=MAX_INT, " of microseconds")? as u64;
    let absolute = match find(object, "mode") {
        None => false,
        Some(p) => match source.string(&p.value, "mode", "\"absolute\"")? {
            m if m.starts_with("absolute") => true,
            m if m.starts_with("relative") => false,
            other => {
                let help = did_you_mean(other, &["relative", "absolute"]);
                return Err(source.error(span(&p.value), format!("unknown timer mode `{other}`"), help));
            }
        },
    };
    Ok(Event::Timer { name, us, absolute })
}

/// A member that the event does not have is a slip of the pen, not an extension.
fn unknown_members(
    source: Source<'_>,
    object: &jsonc_parser::ast::Object<'_>,
    key: &str,
    known: &[&str],
) -> Result<(), Error> {
    match object.properties.iter().find(|p| !known.contains(&p.name.as_str())) {
        None => Ok(()),
        Some(p) => {
            let name = p.name.as_str();
            Err(source.error(span(&p.name), format!("`{key}` has no `{name}`"), did_you_mean(name, known)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_with_suffixes() {
        let all = [
            ("run", Some("run")),
            ("run12", Some("run")),
            ("runB", Some("run")),
            ("run_time", Some("run")),
            ("runtime_a", Some("runtime")),
            ("broad1", Some("broad")),
            ("broadcast", Some("broadcast")),
            ("unlock3", Some("unlock")),
            ("memrun", Some("memrun")),
            ("mem-2", Some("mem")),
            ("sem_post7", Some("sem_post")),
            ("memory", None),
            ("running", None),
            ("sem", None),
            ("priority", None),
            ("membind_nodes", None),
        ];
        for (key, name) in all {
            assert_eq!(event_name(key), name, "{key}");
        }
    }
}
