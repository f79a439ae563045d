// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a scenario may do, as text and as data: `cpu 3 offline`, `swap central`, `set rr.slice = 1ms` …

use std::fmt;

use weir_core::{OwnTopic, Parts, Topic, catalog};

use crate::error::did_you_mean;
use crate::units::{self, UnitError};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `cpu 3 online`, `cpu 3 offline`
    Cpu { cpu: u32, online: bool },
    /// `swap central`: another topology, by catalogue name or file.
    Swap { topology: String },
    /// `swap instance policy = fcfs`
    Instance { name: String, with: String },
    /// `replace a, b with { in -> c -> out }`
    Replace { names: Vec<String>, with: String },
    /// `set round_robin.slice = 1ms`
    Set { component: String, param: String, value: String },
    /// One part of the graph comes or goes.
    Part(Part),
    /// `merge npu at entry`: a package, by file or catalogue name.
    Merge { package: String, at: String },
    /// `unmerge npu`
    Unmerge { package: String },
    /// `load mine.so`: a component that the program does not have.
    Load { file: String },
    /// `unload mine`
    Unload { component: String },
    /// `publish POWER = 1`
    Publish(Publication),
    /// `undo`: the topology that was in force before the rule acted.
    Undo,
}

/// A change of one part of the graph. Several in one step make one change: only its result has to be sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// `annotate priority`, `annotate p :: priority`
    Annotate { with: String },
    /// `create q :: fifo`: an instance without pipes
    Create { with: String },
    /// `insert q :: fifo at lb.out3`: an instance in a pipe
    Insert { with: String, at: String },
    /// `remove q`: an annotator or an instance
    Remove { name: String },
    /// `connect lb -> q`, `connect q ~> cpu 3`: a pipe
    Connect { from: String, to: String, postponed: bool },
    /// `disconnect lb.out3`, `disconnect q.in`
    Disconnect { at: String },
}

impl Part {
    fn parse(word: &str, rest: &str) -> Result<Verb, UnitError> {
        let part = match word {
            "annotate" => Part::Annotate { with: said(rest, "annotate priority", "the annotator")? },
            "create" => Part::Create { with: said(rest, "create q :: fifo", "the component")? },
            "remove" => Part::Remove { name: said(rest, "remove q", "the name of an instance")? },
            "disconnect" => Part::Disconnect { at: said(rest, "disconnect lb.out3", "the name of a pipe")? },
            "insert" => match rest.rsplit_once(" at ").map(|(w, at)| (w.trim(), at.trim())) {
                Some((with, at)) if !with.is_empty() && !at.is_empty() => {
                    Part::Insert { with: with.into(), at: at.into() }
                }
                _ => {
                    return wrong(
                        "`insert` takes a component and the pipe that it goes to",
                        "write `insert q :: fifo at lb.out3`",
                    );
                }
            },
            _ => {
                let arrow = if rest.contains("~>") { "~>" } else { "->" };
                match rest.split_once(arrow).map(|(from, to)| (from.trim(), to.trim())) {
                    Some((from, to)) if !from.is_empty() && !to.is_empty() && !to.contains("->") => {
                        Part::Connect { from: from.into(), to: to.into(), postponed: arrow == "~>" }
                    }
                    _ => {
                        return wrong(
                            "`connect` takes what a pipe leads from and to",
                            "write `connect lb -> q`, or `connect q -> cpu 3`",
                        );
                    }
                }
            }
        };
        Ok(Verb::Part(part))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Annotate { with } => write!(f, "annotate {with}"),
            Part::Create { with } => write!(f, "create {with}"),
            Part::Insert { with, at } => write!(f, "insert {with} at {at}"),
            Part::Remove { name } => write!(f, "remove {name}"),
            Part::Connect { from, to, postponed } => {
                write!(f, "connect {from} {} {to}", if *postponed { "~>" } else { "->" })
            }
            Part::Disconnect { at } => write!(f, "disconnect {at}"),
        }
    }
}

/// A topic: one of the framework's, or one that components bring along.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    Standard(Topic),
    Own(&'static OwnTopic),
}

impl Subject {
    pub fn by_name(name: &str) -> Option<Subject> {
        let own = || catalog().own_topic(name).map(Subject::Own);
        Topic::by_name(name).map(Subject::Standard).or_else(own)
    }

    pub fn name(self) -> &'static str {
        match self {
            Subject::Standard(topic) => topic.name(),
            Subject::Own(topic) => &topic.name,
        }
    }
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Subject {}

impl PartialEq<Topic> for Subject {
    fn eq(&self, other: &Topic) -> bool {
        matches!(self, Subject::Standard(topic) if topic == other)
    }
}

/// A message from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    pub topic: Subject,
    /// 0 where it is not given.
    pub value: Option<u64>,
    /// Words of the payload by their names; only where the topic is a component's own.
    pub fields: Vec<(String, u64)>,
    pub cpu: Option<u32>,
    /// By name.
    pub task: Option<String>,
}

impl Publication {
    /// Whether such a message may come from outside at all.
    ///
    /// # Errors
    /// Message and remedy.
    pub fn admitted(&self) -> Result<(), UnitError> {
        self.admitted_about(self.task.is_some())
    }

    /// The same for a message that is about a task, or about none.
    pub(crate) fn admitted_about(&self, task: bool) -> Result<(), UnitError> {
        let topic = match self.topic {
            Subject::Own(own) if own.from_users => return self.payload().map(|_| ()),
            Subject::Own(own) => {
                let message = format!("{} comes only from components", own.name);
                return Err(UnitError { message, help: "rules may listen to it".into() });
            }
            Subject::Standard(topic) => topic,
        };
        let wrong = |message, help| Err(UnitError { message, help });
        if let Some((field, _)) = self.fields.first() {
            let help = format!("write `{} = 1`", topic.name());
            return wrong(format!("{} has no field `{field}`, only a value", topic.name()), help);
        }
        let parts = Parts { task, cpu: self.cpu.is_some(), value: self.value };
        topic.admits(&parts).map_err(|r| UnitError { message: r.message, help: r.help })
    }

    /// The words of its payload.
    ///
    /// # Errors
    /// The topic has no such field: message and remedy.
    pub fn payload(&self) -> Result<Vec<u64>, UnitError> {
        match self.topic {
            Subject::Standard(_) => Ok(Vec::new()),
            Subject::Own(own) => {
                own.payload(&self.fields).map_err(|(message, help)| UnitError { message, help })
            }
        }
    }

    /// What a task publishes about itself: `MARKER = 3`, `TENANT tenant = 2`. The topic decides whether it is about the task.
    pub(crate) fn of_a_task(text: &str) -> Result<Publication, UnitError> {
        let out = publication(text, "MARKER = 3")?;
        if out.task.is_some() {
            return wrong("a program publishes about itself", "leave `task` out");
        }
        if let Subject::Standard(topic @ (Topic::Priority | Topic::Isa)) = out.topic {
            let step = if topic == Topic::Isa { "isa accel" } else { "priority 50` or `nice 5" };
            return wrong(
                format!("a program changes its {} by a step of its own", topic.name()),
                format!("write `{step}`"),
            );
        }
        out.admitted_about(true).or_else(|e| out.admitted_about(false).map_err(|_| e))?;
        Ok(out)
    }

    /// Is a task's own message about the task?
    pub fn is_about_its_task(&self) -> bool {
        self.admitted_about(true).is_ok()
    }
}

/// Words that a verb begins with.
const VERBS: [&str; 16] = [
    "cpu",
    "swap",
    "replace",
    "set",
    "merge",
    "unmerge",
    "load",
    "unload",
    "publish",
    "undo",
    "annotate",
    "create",
    "insert",
    "remove",
    "connect",
    "disconnect",
];

fn wrong<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, UnitError> {
    Err(UnitError { message: message.into(), help: help.into() })
}

impl Verb {
    /// Read a verb.
    ///
    /// # Errors
    /// Message and remedy.
    pub fn parse(text: &str) -> Result<Verb, UnitError> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "cpu" => cpu(rest),
            "swap" => swap(rest),
            "replace" => replace(rest),
            "set" => set(rest),
            "merge" => merge(rest),
            "unmerge" => {
                one(rest, "unmerge npu", "the name of a package").map(|package| Verb::Unmerge { package })
            }
            "load" => one(rest, "load mine.so", "a file").map(|file| Verb::Load { file }),
            "unload" => one(rest, "unload mine", "the name of a component")
                .map(|component| Verb::Unload { component }),
            "publish" => publish(rest),
            "annotate" | "create" | "insert" | "remove" | "connect" | "disconnect" => Part::parse(word, rest),
            "undo" if rest.is_empty() => Ok(Verb::Undo),
            "undo" => wrong("`undo` stands alone", "write `undo`"),
            _ => wrong(format!("unknown verb `{word}`"), did_you_mean(word, &VERBS)),
        }
    }

    /// It asks for another topology.
    pub fn reshapes(&self) -> bool {
        !matches!(self, Verb::Cpu { .. } | Verb::Publish(_))
    }
}

fn said(rest: &str, example: &str, what: &str) -> Result<String, UnitError> {
    one(rest, example, what).map(|r| r.trim_end_matches(';').trim_end().to_string())
}

fn one(rest: &str, example: &str, what: &str) -> Result<String, UnitError> {
    match rest {
        "" => wrong(format!("{what} is missing"), format!("write `{example}`")),
        _ => Ok(rest.to_string()),
    }
}

fn cpu(rest: &str) -> Result<Verb, UnitError> {
    let help = "write `cpu 3 online` or `cpu 3 offline`";
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [number, state] = words[..] else {
        return wrong("`cpu` takes a number and `online` or `offline`", help);
    };
    let Ok(cpu) = number.parse() else { return wrong(format!("`{number}` is not a CPU number"), help) };
    match state {
        "online" => Ok(Verb::Cpu { cpu, online: true }),
        "offline" => Ok(Verb::Cpu { cpu, online: false }),
        _ => wrong(format!("a CPU goes online or offline, not `{state}`"), help),
    }
}

fn swap(rest: &str) -> Result<Verb, UnitError> {
    let help = "write `swap central`, or `swap instance policy = fcfs`";
    let Some(instance) = rest.strip_prefix("instance").filter(|r| r.starts_with(char::is_whitespace)) else {
        return one(rest, "swap central", "the topology").map(|topology| Verb::Swap { topology });
    };
    match instance.split_once('=').map(|(a, b)| (a.trim(), b.trim())) {
        Some((name, with)) if !name.is_empty() && !with.is_empty() && !name.contains('(') => {
            Ok(Verb::Instance { name: name.into(), with: with.into() })
        }
        _ => wrong("an instance and its replacement are joined by `=`", help),
    }
}

fn replace(rest: &str) -> Result<Verb, UnitError> {
    let help = "write `replace policy, other with { in -> fifo -> out }`";
    let Some((names, with)) = rest.split_once(" with ") else {
        return wrong("`replace` lacks its `with`", help);
    };
    let names: Vec<String> = names.split(',').map(|n| n.trim().to_string()).collect();
    if names.iter().any(String::is_empty) || with.trim().is_empty() {
        return wrong("`replace` names instances and their replacements", help);
    }
    Ok(Verb::Replace { names, with: with.trim().into() })
}

fn set(rest: &str) -> Result<Verb, UnitError> {
    let parts = rest.split_once('=').and_then(|(left, value)| {
        let (component, param) = left.trim().rsplit_once('.')?;
        let parts = [component, param, value].map(|p| p.trim().to_string());
        parts.iter().all(|p| !p.is_empty()).then_some(parts)
    });
    match parts {
        Some([component, param, value]) => Ok(Verb::Set { component, param, value }),
        None => wrong("`set` takes component, parameter and value", "write `set round_robin.slice = 1ms`"),
    }
}

fn merge(rest: &str) -> Result<Verb, UnitError> {
    match rest.rsplit_once(" at ").map(|(p, at)| (p.trim(), at.trim())) {
        Some((package, at)) if !package.is_empty() && !at.is_empty() => {
            Ok(Verb::Merge { package: package.into(), at: at.into() })
        }
        _ => wrong("`merge` takes a package and the port that it goes to", "write `merge npu.weir at entry`"),
    }
}

fn publish(rest: &str) -> Result<Verb, UnitError> {
    let help = "POWER = 1`, `publish BURN`, `publish PRIORITY = 5 task worker-3`, `… cpu 2";
    let out = publication(rest, help)?;
    out.admitted()?;
    Ok(Verb::Publish(out))
}

/// `TOPIC [= VALUE] [FIELD = VALUE …] [cpu N] [task NAME]`
fn publication(rest: &str, examples: &str) -> Result<Publication, UnitError> {
    let help = &format!("write `publish {examples}`");
    let spaced = rest.replace('=', " = ");
    let mut words = spaced.split_whitespace();
    let Some(name) = words.next() else { return wrong("`publish` takes a topic", help.clone()) };
    let Some(topic) = Subject::by_name(name) else {
        return wrong(format!("unknown topic `{name}`"), did_you_mean(name, &catalog().topic_names()));
    };
    let mut out = Publication { topic, value: None, fields: Vec::new(), cpu: None, task: None };
    while let Some(word) = words.next() {
        let Some(what) = words.next() else {
            return wrong(format!("`{word}` of a message has no value"), help.clone());
        };
        let number_of = |what: &str| {
            value(what)
                .ok_or_else(|| UnitError { message: format!("`{what}` is not a number"), help: help.into() })
        };
        let number = || number_of(what);
        match word {
            "=" => out.value = Some(number()?),
            "cpu" => {
                let cpu = what.parse().map_err(|_| UnitError {
                    message: format!("`{what}` is not a CPU number"),
                    help: help.into(),
                })?;
                out.cpu = Some(cpu);
            }
            "task" => out.task = Some(what.to_string()),
            field if what == "=" => {
                let Some(what) = words.next() else {
                    return wrong(format!("`{field}` of a message has no value"), help.clone());
                };
                out.fields.push((field.to_string(), number_of(what)?));
            }
            _ => return wrong(format!("a message has no `{word}`"), help.clone()),
        }
    }
    Ok(out)
}

/// A number, perhaps negative (two's complement), or a time.
fn value(text: &str) -> Option<u64> {
    let signed = text.parse::<i64>().ok().map(|v| v as u64);
    signed.or_else(|| text.parse().ok()).or_else(|| units::parse(text, units::TIME).ok())
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verb::Cpu { cpu, online } => {
                write!(f, "cpu {cpu} {}", if *online { "online" } else { "offline" })
            }
            Verb::Swap { topology } => write!(f, "swap {topology}"),
            Verb::Instance { name, with } => write!(f, "swap instance {name} = {with}"),
            Verb::Replace { names, with } => write!(f, "replace {} with {with}", names.join(", ")),
            Verb::Set { component, param, value } => write!(f, "set {component}.{param} = {value}"),
            Verb::Merge { package, at } => write!(f, "merge {package} at {at}"),
            Verb::Unmerge { package } => write!(f, "unmerge {package}"),
            Verb::Load { file } => write!(f, "load {file}"),
            Verb::Unload { component } => write!(f, "unload {component}"),
            Verb::Publish(p) => {
                write!(f, "publish {}", p.topic.name())?;
                if let Some(value) = p.value {
                    write!(f, " = {}", value as i64)?;
                }
                p.fields.iter().try_for_each(|(name, value)| write!(f, " {name} = {}", *value as i64))?;
                if let Some(cpu) = p.cpu {
                    write!(f, " cpu {cpu}")?;
                }
                p.task.iter().try_for_each(|t| write!(f, " task {t}"))
            }
            Verb::Part(part) => part.fmt(f),
            Verb::Undo => f.write_str("undo"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_alike() {
        for text in [
            "cpu 3 online",
            "cpu 3 offline",
            "swap central",
            "swap ./mine.weir",
            "swap instance policy = round_robin(slice = 1ms)",
            "replace a, b@cpu3 with { in -> fifo -> out }",
            "set round_robin.slice = 1ms",
            "merge npu.weir at lb.out3",
            "unmerge npu",
            "load ./mine.so",
            "unload mine",
            "publish POWER = 0",
            "publish BURN",
            "publish PRIORITY = -5 task worker-3",
            "publish FREQUENCY = 7 cpu 2",
            "publish TENANT tenant = 3 task worker-3",
            "annotate p :: priority",
            "create q :: round_robin(slice = 1ms)",
            "insert watermark at lb.out3",
            "remove q@cpu3",
            "connect split[accel] -> q",
            "connect q ~> cpu 3",
            "disconnect lb.out3",
            "undo",
        ] {
            let verb = Verb::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            assert_eq!(verb.to_string(), text);
            assert_eq!(Verb::parse(&format!("  {verb} ")), Ok(verb));
        }
    }

    #[test]
    fn mistakes_have_a_remedy() {
        for (text, part) in [
            ("", "unknown verb"),
            ("swp central", "unknown verb `swp`"),
            ("cpu three online", "not a CPU number"),
            ("cpu 3 gone", "online or offline"),
            ("cpu 3", "takes a number"),
            ("swap", "topology is missing"),
            ("swap instance x", "joined by `=`"),
            ("replace x { }", "lacks its `with`"),
            ("set slice = 1ms", "component, parameter"),
            ("merge npu", "port"),
            ("publish NOISE", "unknown topic"),
            ("publish BURN = x", "not a number"),
            ("publish BURN loudly", "has no value"),
            ("publish KICK = 0", "about a CPU, and none is named"),
            ("publish KICK = 0 cpu -1", "not a CPU number"),
            ("publish KICK cpu 4294967296", "not a CPU number"),
            ("publish DISPATCH = 1", "only from the runtime"),
            ("publish BLOCK task a", "only from the runtime"),
            ("publish AFFINITY = 3 task a", "only from the kernel"),
            ("publish PRIORITY = 5", "about a task, and none is named"),
            ("publish POWER = 2", "out of range"),
            ("publish SLICE = 2", "asked for"),
            ("undo it", "stands alone"),
            ("annotate", "annotator is missing"),
            ("insert fifo", "the pipe that it goes to"),
            ("connect a", "from and to"),
            ("connect a -> b -> c", "from and to"),
            ("disconnect", "pipe is missing"),
        ] {
            let error = Verb::parse(text).expect_err(text);
            assert!(error.message.contains(part) && !error.help.is_empty(), "{text}: {error:?}");
        }
    }
}
