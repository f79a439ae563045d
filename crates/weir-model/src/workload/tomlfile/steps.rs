// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The little step language of `program`: `run 2ms; loop 10 { lock m; run 1ms; unlock m }; sleep 8ms`.
//!
//! Steps are separated by semicolons, line ends or the ends of the strings of an array; braces close
//! loops. Words after a step's name are its arguments.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weir_core::gang::{Change, MAX_GROUPS, MAX_PHASES};

use super::times;
use crate::document::{Source, Value};
use crate::error::{Error, did_you_mean};
use crate::scenario::{Publication, Subject};
use crate::workload::build::{Builder, Kind};
use crate::workload::units::{self, Refusal};
use crate::workload::{BarrierCounter, BarrierWait, Op};

/// A step's name, its arguments and what it does; the table of `docs/workload-programs.md`.
const STEPS: &[&str] = &[
    "run",
    "runtime",
    "sleep",
    "until",
    "timer",
    "mem",
    "io",
    "lock",
    "unlock",
    "wait",
    "signal",
    "broadcast",
    "sync",
    "barrier",
    "phase",
    "group",
    "merge",
    "split",
    "suspend",
    "resume",
    "write",
    "read",
    "raise",
    "spin",
    "fork",
    "isa",
    "nice",
    "priority",
    "cpus",
    "yield",
    "marker",
    "publish",
    "request",
    "loop",
];

/// Deepest nesting of loops.
const MAX_DEPTH: usize = 32;

/// A word of a program and its place in the file.
#[derive(Clone, Debug)]
struct Word<'p> {
    text: &'p str,
    at: Range<usize>,
}

/// What programs may refer to beside objects.
pub(super) struct Scope<'s> {
    /// Index in the workload of the first instance of each task.
    pub tasks: &'s BTreeMap<&'s str, u32>,
    /// Whether the task may set real-time priorities.
    pub is_real_time: bool,
    /// The task's WCET, where it declares one: the longest time of distributions that name none.
    pub wcet: Option<u64>,
}

/// Read a `program`: a string or an array of strings.
pub(super) fn program<'t>(
    source: Source<'t>,
    builder: &mut Builder,
    scope: &Scope<'_>,
    value: &Value<'t, 't>,
) -> Result<Vec<Op>, Error> {
    let mut parser = Parser { source, builder, scope, ops: Vec::new(), open: Vec::new() };
    if value.is_str() {
        parser.text(value)?;
    } else {
        for item in value.list("[\"run 2ms\", \"sleep 8ms\"]")? {
            parser.text(&item)?;
        }
    }
    if let Some(at) = parser.open.pop() {
        return Err(source.error(at, "this loop is not closed").help("close it with `}`"));
    }
    if parser.ops.is_empty() {
        return Err(value.error("the program has no step").help("write, for example, `\"run 2ms\"`"));
    }
    Ok(parser.ops)
}

struct Parser<'p, 't> {
    source: Source<'t>,
    builder: &'p mut Builder,
    scope: &'p Scope<'p>,
    ops: Vec<Op>,
    /// Places of the loops that are open.
    open: Vec<Range<usize>>,
}

impl<'t> Parser<'_, 't> {
    /// Read the steps of one string.
    fn text(&mut self, value: &Value<'t, 't>) -> Result<(), Error> {
        let text = value.str("[\"run 2ms\"]")?;
        // Where the text stands in the file as it is, words have their own places.
        let raw = &self.source.text[value.span()];
        let base = raw.find(text).map(|i| value.span().start + i);
        let mut step: Vec<Word> = Vec::new();
        let mut rest = 0;
        let bytes = text.as_bytes();
        while rest < bytes.len() {
            let c = bytes[rest];
            match c {
                b';' | b'\n' => self.step(std::mem::take(&mut step))?,
                b'{' | b'}' => {
                    let at = base.map_or_else(|| value.span(), |b| b + rest..b + rest + 1);
                    if c == b'{' {
                        self.begin(std::mem::take(&mut step), at)?;
                    } else {
                        self.step(std::mem::take(&mut step))?;
                        if self.open.pop().is_none() {
                            return self.error(at, "`}` closes nothing", "remove it, or open a loop before");
                        }
                        self.ops.push(Op::LoopEnd);
                    }
                }
                c if c.is_ascii_whitespace() => {}
                _ => {
                    let tail = &text[rest..];
                    let length = tail
                        .find(|c: char| c.is_ascii_whitespace() || matches!(c, ';' | '{' | '}'))
                        .unwrap_or(tail.len());
                    let at = base.map_or_else(|| value.span(), |b| b + rest..b + rest + length);
                    step.push(Word { text: &text[rest..rest + length], at });
                    rest += length;
                    continue;
                }
            }
            rest += 1;
        }
        self.step(step)
    }

    fn error<T>(
        &self,
        at: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<T, Error> {
        Err(self.source.error(at, message).help(help))
    }

    /// `loop` or `loop N` before a brace.
    fn begin(&mut self, words: Vec<Word<'_>>, brace: Range<usize>) -> Result<(), Error> {
        let help = "write `loop 10 { … }`, or `loop { … }` for ever";
        let Some(first) = words.first() else { return self.error(brace, "a brace without `loop`", help) };
        if first.text != "loop" || words.len() > 2 {
            return self.error(first.at.clone(), "only `loop` may come before a brace", help);
        }
        if self.open.len() >= MAX_DEPTH {
            return self.error(
                brace,
                "loops are nested too deeply",
                format!("nest at most {MAX_DEPTH} loops"),
            );
        }
        let count = match words.get(1) {
            None => None,
            Some(w) => {
                let n = units::count(w.text, 1, 1_000_000_000_000);
                Some(n.map_err(|r| refused(self.source, w.at.clone(), "loop", r))?)
            }
        };
        self.open.push(first.at.start..brace.end);
        self.ops.push(Op::Loop { count });
        Ok(())
    }

    /// One step; no words are no step.
    fn step(&mut self, words: Vec<Word<'_>>) -> Result<(), Error> {
        let Some((name, args)) = words.split_first() else { return Ok(()) };
        let whole = name.at.start..words.last().expect("there is a first").at.end;
        let usage = |n: Range<usize>, text: &str| -> Result<(), Error> {
            if n.contains(&args.len()) {
                return Ok(());
            }
            let message = match args {
                [] => format!("`{}` needs an argument", name.text),
                list => {
                    let list: Vec<&str> = list.iter().map(|w| w.text).collect();
                    format!("`{}` cannot take `{}`", name.text, list.join(" "))
                }
            };
            Err(self.source.error(whole.clone(), message).help(format!("write `{text}`")))
        };
        let source = self.source;
        let ns =
            |w: &Word<'_>| units::duration(w.text).map_err(|r| refused(source, w.at.clone(), name.text, r));
        let bytes =
            |w: &Word<'_>| units::bytes(w.text).map_err(|r| refused(source, w.at.clone(), name.text, r));
        let op = match name.text {
            "run" => {
                usage(1..1000, times::USAGE)?;
                let words: Vec<&str> = args.iter().map(|w| w.text).collect();
                let at = args[0].at.start..whole.end;
                times::computing(&words, self.scope.wcet).map_err(|r| refused(source, at, "run", r))?
            }
            "runtime" => {
                usage(1..2, "runtime 2ms")?;
                Op::Runtime { ns: ns(&args[0])? }
            }
            "sleep" => {
                usage(1..2, "sleep 8ms")?;
                Op::Sleep { ns: ns(&args[0])? }
            }
            "until" => {
                usage(1..2, "until 12ms")?;
                Op::Until { ns: ns(&args[0])? }
            }
            "mem" => {
                usage(1..2, "mem 4MiB")?;
                Op::Memory { bytes: bytes(&args[0])? }
            }
            "io" => {
                usage(1..2, "io 64KiB")?;
                Op::Io { bytes: bytes(&args[0])? }
            }
            "yield" => {
                usage(0..1, "yield")?;
                Op::Yield
            }
            "timer" => {
                usage(1..4, "timer 10ms [absolute] [NAME]")?;
                return self.timer(args, ns(&args[0])?);
            }
            "lock" | "unlock" => {
                usage(1..2, "lock NAME")?;
                let mutex = self.object(Kind::Mutex, &args[0])?;
                if name.text == "lock" { Op::Lock { mutex } } else { Op::Unlock { mutex } }
            }
            "wait" | "sync" => {
                usage(2..3, &format!("{} CONDITION MUTEX", name.text))?;
                let condition = self.object(Kind::Condition, &args[0])?;
                let mutex = self.object(Kind::Mutex, &args[1])?;
                if name.text == "wait" {
                    Op::Wait { condition, mutex }
                } else {
                    Op::Sync { condition, mutex }
                }
            }
            "signal" | "broadcast" => {
                usage(1..2, &format!("{} CONDITION", name.text))?;
                let condition = self.object(Kind::Condition, &args[0])?;
                if name.text == "signal" { Op::Signal { condition } } else { Op::Broadcast { condition } }
            }
            "barrier" => {
                usage(1..5, "barrier NAME` or `barrier NAME spin 50us` or `barrier NAME spin 50us central")?;
                let barrier = self.object(Kind::Barrier, &args[0])?;
                if let Some(word) = args.get(1) {
                    let (how, limit) = self.barrier_wait(word, args.get(2))?;
                    let before = self.builder.workload.barrier_wait.insert(barrier, how);
                    if before.is_some_and(|b| b != how) {
                        let help = "write the same way and time at each place";
                        return self.error(
                            limit.at.clone(),
                            "tasks wait in different ways at this barrier",
                            help,
                        );
                    }
                    let counter = match args.get(3) {
                        None => None,
                        Some(word) => match BarrierCounter::ALL.into_iter().find(|c| c.name() == word.text) {
                            Some(counter) => Some(counter),
                            None => {
                                let help = "write `central`, one word that all use, or `tree`; nothing: counting takes no time";
                                return self.error(word.at.clone(), "not a way to count arrivals", help);
                            }
                        },
                    };
                    let known = &mut self.builder.workload.barrier_counter;
                    if before.is_some() && known.get(&barrier).copied() != counter {
                        let at = args.get(3).map_or(limit, |word| word).at.clone();
                        return self.error(
                            at,
                            "tasks count differently at this barrier",
                            "write the same at each place",
                        );
                    }
                    if let Some(counter) = counter {
                        known.insert(barrier, counter);
                    }
                }
                Op::Barrier { barrier }
            }
            "phase" => {
                usage(1..2, "phase 1")?;
                Op::Gang { change: Change::Phase(numbered(source, "phase", MAX_PHASES, &args[0])?) }
            }
            "group" | "split" => {
                usage(1..2, &format!("{} 1", name.text))?;
                let group = numbered(source, name.text, MAX_GROUPS, &args[0])?;
                match name.text {
                    "group" => Op::Group { group },
                    _ => Op::Gang { change: Change::Split(group) },
                }
            }
            "merge" => {
                usage(2..4, "merge 0,1 2")?;
                let groups = match args[0].text {
                    "all" => (1 << MAX_GROUPS) - 1,
                    list => {
                        let mut groups = 0;
                        for text in list.split(',') {
                            let word = Word { text, at: args[0].at.clone() };
                            groups |= 1 << numbered(source, "merge", MAX_GROUPS, &word)?;
                        }
                        groups
                    }
                };
                let into = numbered(source, "merge", MAX_GROUPS, &args[1])?;
                let phase =
                    args.get(2).map(|word| numbered(source, "merge", MAX_PHASES, word)).transpose()?;
                Op::Gang { change: Change::Merge { groups, into, phase } }
            }
            "suspend" | "resume" => {
                usage(1..2, &format!("{} EVENT", name.text))?;
                let event = self.object(Kind::Event, &args[0])?;
                if name.text == "suspend" { Op::Suspend { event } } else { Op::Resume { event } }
            }
            "write" | "read" => {
                usage(2..3, &format!("{} CHANNEL 100B", name.text))?;
                let channel = self.object(Kind::Channel, &args[0])?;
                let bytes = bytes(&args[1])?;
                if bytes == 0 {
                    return self.error(args[1].at.clone(), "0 bytes", "write at least 1");
                }
                if name.text == "write" { Op::Write { channel, bytes } } else { Op::Read { channel, bytes } }
            }
            "raise" => {
                usage(1..3, "raise FLAG [BY]")?;
                Op::Raise { flag: self.object(Kind::Flag, &args[0])?, by: self.number(args.get(1), "raise")? }
            }
            "spin" => {
                usage(1..3, "spin FLAG [VALUE|each]")?;
                let flag = self.object(Kind::Flag, &args[0])?;
                if args.get(1).is_some_and(|w| w.text == "each") {
                    Op::SpinUntil { flag, value: 1, per_iteration: true }
                } else {
                    Op::SpinUntil { flag, value: self.number(args.get(1), "spin")?, per_iteration: false }
                }
            }
            "fork" => {
                usage(1..2, "fork TASK")?;
                match self.scope.tasks.get(args[0].text) {
                    Some(&template) => Op::Fork { template },
                    None => {
                        let names: Vec<&str> = self.scope.tasks.keys().copied().take(50).collect();
                        let message = format!("no task is called `{}`", args[0].text);
                        return self.error(args[0].at.clone(), message, did_you_mean(args[0].text, &names));
                    }
                }
            }
            "isa" => {
                usage(1..2, "isa NAME` or `isa native")?;
                Op::SetIsa { isa: (args[0].text != "native").then(|| args[0].text.to_string()) }
            }
            "nice" => {
                usage(1..2, "nice -5")?;
                let nice = units::integer(args[0].text, -20, 19)
                    .map_err(|r| refused(source, args[0].at.clone(), "nice", r))?;
                Op::SetPriority { priority: -(nice as i32) }
            }
            "priority" => {
                usage(1..2, "priority 50")?;
                if !self.scope.is_real_time {
                    let help = "use `nice`, or give the task `policy = \"fifo\"`";
                    return self.error(whole, "`priority` is for tasks of policy fifo or rr", help);
                }
                let p = units::integer(args[0].text, 1, 99)
                    .map_err(|r| refused(source, args[0].at.clone(), "priority", r))?;
                Op::SetPriority { priority: 100 + p as i32 }
            }
            "cpus" => {
                usage(1..2, "cpus 0-3` or `cpus all")?;
                let cpus = match args[0].text {
                    "all" => None,
                    list => Some(
                        units::cpu_list(list).map_err(|r| refused(source, args[0].at.clone(), "cpus", r))?,
                    ),
                };
                Op::SetAffinity { cpus }
            }
            "marker" => {
                usage(1..20, "marker TEXT")?;
                let words: Vec<&str> = args.iter().map(|w| w.text).collect();
                // The first or the last word may be its number.
                let number = [words.first(), words.last()].into_iter().flatten().find_map(|w| w.parse().ok());
                Op::Marker { text: words.join(" "), number: number.unwrap_or(0) }
            }
            "publish" => {
                usage(1..40, "publish TOPIC [= NUMBER] [FIELD = NUMBER …]")?;
                let words: Vec<&str> = args.iter().map(|w| w.text).collect();
                match Publication::of_a_task(&words.join(" ")) {
                    Ok(what) => Op::Publish { what: Arc::new(what) },
                    Err(e) => return self.error(whole, e.message, e.help),
                }
            }
            "request" => {
                usage(1..2, "request TOPIC")?;
                let Some(topic) = Subject::by_name(args[0].text) else {
                    let message = format!("unknown topic `{}`", args[0].text);
                    let help = did_you_mean(args[0].text, &weir_core::catalog().topic_names());
                    return self.error(args[0].at.clone(), message, help);
                };
                Op::Request { topic }
            }
            "loop" => return self.error(whole, "`loop` without a block", "write `loop 10 { … }`"),
            other => {
                return self.error(
                    name.at.clone(),
                    format!("unknown step `{other}`"),
                    did_you_mean(other, STEPS),
                );
            }
        };
        self.ops.push(op);
        Ok(())
    }

    /// `timer 10ms [absolute] [NAME]`: private to the task without a name, shared by name.
    fn timer(&mut self, args: &[Word<'_>], period_ns: u64) -> Result<(), Error> {
        if period_ns == 0 {
            return self.error(
                args[0].at.clone(),
                "a timer with a period of 0",
                "write a period, such as `timer 10ms`",
            );
        }
        let absolute = args.get(1).is_some_and(|w| w.text == "absolute");
        let name = args.get(if absolute { 2 } else { 1 });
        if let Some(extra) = args.get(if absolute { 3 } else { 2 }) {
            return self.error(
                extra.at.clone(),
                "too many words for a timer",
                "write `timer 10ms [absolute] [NAME]`",
            );
        }
        let (timer, shared) = match name {
            Some(word) => (self.object(Kind::Timer, word)?, true),
            None => (0, false),
        };
        self.ops.push(Op::Timer { timer, period_ns, relative: !absolute, shared });
        Ok(())
    }

    /// `spin 50us` or `yield 2us` behind a barrier's name; and the place of the time.
    fn barrier_wait<'w, 'p>(
        &self,
        how: &Word<'p>,
        time: Option<&'w Word<'p>>,
    ) -> Result<(BarrierWait, &'w Word<'p>), Error> {
        let Some(time) = time.filter(|_| ["spin", "yield"].contains(&how.text)) else {
            let help = "write `barrier NAME`, `barrier NAME spin 50us`, or `barrier NAME yield 2us`";
            return self.error(how.at.clone(), "`spin` or `yield` and a time can follow the name", help);
        };
        let ns =
            units::duration(time.text).map_err(|r| refused(self.source, time.at.clone(), how.text, r))?;
        match how.text {
            "spin" => Ok((BarrierWait::Spin { ns }, time)),
            _ if ns == 0 => {
                let help = "write the time from one look at the barrier to the next, such as `yield 2us`";
                self.error(time.at.clone(), "a look takes time", help)
            }
            _ => Ok((BarrierWait::Yield { ns }, time)),
        }
    }

    /// A count of 1 unless given.
    fn number(&self, word: Option<&Word<'_>>, key: &str) -> Result<u64, Error> {
        let Some(word) = word else { return Ok(1) };
        units::count(word.text, 1, 1 << 40).map_err(|r| refused(self.source, word.at.clone(), key, r))
    }

    /// An object by name.
    fn object(&mut self, kind: Kind, word: &Word<'_>) -> Result<u32, Error> {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if word.text.len() > 64 || !word.text.chars().all(fits) {
            let help = "use up to 64 letters, digits, `_`, `-` and `.`";
            return self.error(word.at.clone(), format!("`{}` cannot be a name", word.text), help);
        }
        Ok(self.builder.object(kind, word.text))
    }
}

/// A number below `most`, in an argument of `step`.
fn numbered(source: Source<'_>, step: &str, most: usize, word: &Word<'_>) -> Result<u32, Error> {
    let number =
        units::count(word.text, 0, most as u64 - 1).map_err(|r| refused(source, word.at.clone(), step, r))?;
    Ok(number as u32)
}

/// A refused argument at its place.
fn refused(source: Source<'_>, at: Range<usize>, step: &str, refusal: Refusal) -> Error {
    source.error(at, format!("{step}: {}", refusal.message)).help(refusal.help)
}
