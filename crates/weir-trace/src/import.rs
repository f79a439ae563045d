// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From a recording to a workload file.

use std::collections::BTreeMap;
use std::fmt::Write;

use weir_text::quantity;
use weir_text::toml::quoted;

use crate::error::{Error, Result};
use crate::fitted;
use crate::pieces::{self, History, Speeds, Start, Step, label};
use crate::recording::{Recording, Thread, Waker};

/// How a recording becomes a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every thread, with each of its pieces of work and waits.
    Verbatim,
    /// A task for each group of like threads, with distributions.
    Fit,
}

/// What is to be made.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    pub mode: Mode,
    /// Names of threads are replaced by numbers.
    pub anonymise: bool,
    /// For the comment at the top; empty: none.
    pub file: &'a str,
    pub speeds: Speeds,
}

/// A workload made of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The workload file (TOML).
    pub text: String,
    pub tasks: u64,
    pub steps: u64,
    /// What was fitted; empty where it is verbatim.
    pub groups: Vec<GroupFit>,
    /// Wake-ups by cause.
    pub wakeups: Wakeups,
    /// What the recording cannot say, or the workload leaves out.
    pub notes: Vec<String>,
}

/// How often threads were woken, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Wakeups {
    pub by_threads: u64,
    pub by_interrupts: u64,
    pub unknown: u64,
}

/// How a group of like threads was fitted.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GroupFit {
    pub name: String,
    /// Threads of the recording, and tasks made of them.
    pub threads: u64,
    pub tasks: u64,
    pub jobs: u64,
    /// What starts a job: `period`, `poisson`, `bursts`, `signals`, `times`, `once`.
    pub arrivals: String,
    pub arrivals_distance: Option<f64>,
    pub arrivals_p: Option<f64>,
    /// Its computing time, as in the file; `recorded` where the threads are in it one by one.
    pub run: String,
    pub run_distance: f64,
    pub run_p: f64,
}

/// Names for the workload.
pub(crate) struct Labels {
    /// Of each thread, and its group.
    pub names: Vec<String>,
    pub groups: Vec<String>,
}

/// Group of a thread, as reports and the workload have it.
pub(crate) fn labels(recording: &Recording, anonymise: bool) -> Labels {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let own: Vec<String> = recording.threads.iter().map(|t| label(&t.name)).collect();
    for group in &own {
        let next = seen.len();
        seen.entry(group.clone()).or_insert(next);
    }
    let groups: Vec<String> =
        own.into_iter().map(|g| if anonymise { format!("group-{}", seen[&g] + 1) } else { g }).collect();
    // The name is a word of a step: `fork NAME`.
    let apart = |c: char| c.is_whitespace() || c.is_control() || matches!(c, ';' | '{' | '}' | '"' | '\\');
    let mut used = BTreeMap::new();
    let mut names = Vec::with_capacity(groups.len());
    for (i, thread) in recording.threads.iter().enumerate() {
        let name = match anonymise {
            true => format!("task-{}", i + 1),
            false => format!("{}-{}", thread.name.replace(apart, "_"), thread.tid),
        };
        // A number that was used again.
        let times = used.entry(name.clone()).and_modify(|n| *n += 1).or_insert(1);
        names.push(if *times == 1 { name } else { format!("{name}.{times}") });
    }
    Labels { names, groups }
}

impl Recording {
    /// The name of each thread's group: what is alike in the names of its threads.
    pub fn groups(&self, anonymise: bool) -> Vec<String> {
        labels(self, anonymise).groups
    }
}

/// Makes a workload of a recording.
///
/// # Errors
/// Nothing ran in the recording, or it is too long for a workload file.
pub fn import(recording: &Recording, options: &Options<'_>) -> Result<Imported> {
    let histories = pieces::histories(recording, &options.speeds);
    let steps: u64 = histories.iter().flatten().map(|h| h.steps.len() as u64).sum();
    if histories.iter().all(Option::is_none) {
        return Err(Error::lacking("no thread ran in the recording", crate::tracedat::RECORD));
    }
    let labels = labels(recording, options.anonymise);
    let mut wakeups = Wakeups::default();
    for (_, event) in &recording.events {
        if let crate::Event::Ready { by: Some(by), .. } = event {
            match by {
                Waker::Thread(_) => wakeups.by_threads += 1,
                Waker::Interrupt => wakeups.by_interrupts += 1,
                Waker::Unknown => wakeups.unknown += 1,
            }
        }
    }
    let mut notes = recording.notes.clone();
    let mut reserved = recording.threads.iter().zip(&histories).filter(|(t, h)| t.prio < 0 && h.is_some());
    if let Some((first, _)) = reserved.next() {
        let others = match reserved.count() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let name = if options.anonymise { "a thread" } else { &first.name };
        notes.push(format!(
            "SCHED_DEADLINE (`{name}`{others}) became SCHED_FIFO of priority 99: no event has its runtime, deadline and period"
        ));
    }
    let mut text = head(recording, options);
    let mut out = Imported { text: String::new(), tasks: 0, steps: 0, groups: Vec::new(), wakeups, notes };
    match options.mode {
        Mode::Verbatim => {
            if steps > 9_000_000 {
                return Err(Error::unsupported(
                    format!("the recording has {steps} steps, more than the 10,000,000 of a workload file"),
                    "import a part of it with --span, or distributions with --fit",
                ));
            }
            verbatim(recording, &histories, &labels, &mut text, &mut out);
        }
        Mode::Fit => fitted::fitted(recording, &histories, &labels, &mut text, &mut out),
    }
    if text.len() > 64 << 20 {
        return Err(Error::unsupported(
            format!("the workload would be a file of {} MiB, more than 64 MiB", text.len() >> 20),
            "import a part of the recording with --span, or distributions with --fit",
        ));
    }
    out.text = text;
    Ok(out)
}

fn head(recording: &Recording, options: &Options<'_>) -> String {
    let mut text = String::new();
    let how = if options.mode == Mode::Fit { "distributions fitted" } else { "verbatim" };
    if !options.file.is_empty() && !options.anonymise {
        let _ = writeln!(text, "# Imported from {}, {how}", options.file.escape_debug());
    } else {
        let _ = writeln!(text, "# Imported from a recording, {how}");
    }
    let _ = writeln!(
        text,
        "# {}: {}, {}, {}\n",
        recording.source.name(),
        weir_text::plural(recording.nr_cpus, "CPU"),
        weir_text::plural(recording.threads.len(), "thread"),
        time(recording.duration_ns())
    );
    let _ = writeln!(text, "duration = \"{}\"", time(recording.duration_ns().max(1)));
    text
}

/// A time with the largest unit that keeps it whole.
pub(crate) fn time(ns: u64) -> String {
    match ns {
        0 => "0".into(),
        n => quantity::show(n, quantity::TIME),
    }
}

/// Numbers of policies in the kernel (`linux/sched.h`).
pub(crate) const RR: u8 = 2;
pub(crate) const BATCH: u8 = 3;
pub(crate) const IDLE: u8 = 5;

/// The keys of a thread's scheduling class.
pub(crate) fn class(thread: &Thread) -> String {
    let policy = match thread.policy {
        BATCH => "policy = \"batch\"\n",
        IDLE => return "policy = \"idle\"\n".into(),
        _ => "",
    };
    match thread.prio {
        100..=139 if thread.prio == 120 => policy.into(),
        100..=139 => format!("{policy}nice = {}\n", thread.prio - 120),
        0..=98 => {
            let policy = if thread.policy == RR { "rr" } else { "fifo" };
            format!("policy = \"{policy}\"\npriority = {}\n", 99 - thread.prio)
        }
        // Deadlines, whose parameters no event has, and the kernel's stop tasks at -1 and 0.
        _ => "policy = \"fifo\"\npriority = 99\n".to_string(),
    }
}

/// Kernel threads whose name ends with the number of the only CPU that they ran on are bound to it.
pub(crate) fn bound(thread: &Thread, history: &History) -> Option<u32> {
    let number: String = thread.name.rsplit('/').next()?.chars().take_while(char::is_ascii_digit).collect();
    let cpu: u32 = number.parse().ok()?;
    (thread.name.contains('/') && history.only_cpu == Some(cpu)).then_some(cpu)
}

fn verbatim(
    recording: &Recording,
    histories: &[Option<History>],
    labels: &Labels,
    text: &mut String,
    out: &mut Imported,
) {
    // Signals add up until they are awaited: nothing is lost if the order becomes another one.
    let awaited: Vec<usize> = (0..histories.len())
        .filter(|i| {
            histories[*i].as_ref().is_some_and(|h| h.steps.iter().any(|s| matches!(s, Step::Await(_))))
        })
        .collect();
    if !awaited.is_empty() {
        text.push_str(
            "\n# One byte is one wake-up; the channels are large enough for all of them.\n[channels]\n",
        );
        for i in &awaited {
            let _ = writeln!(text, "t{i} = \"1GiB\"");
        }
    }
    for (i, history) in histories.iter().enumerate() {
        let Some(history) = history else { continue };
        let thread = &recording.threads[i];
        out.tasks += 1;
        write_head(text, &labels.names[i], &labels.groups[i], thread, history);
        match history.start {
            Start::At(0) => {}
            Start::At(t) => {
                let _ = writeln!(text, "start = \"{}\"", time(t));
            }
            Start::Forked => text.push_str("template = true\n"),
        }
        let word = |step: &Step| match *step {
            Step::Run(ns) => Some(format!("run {}", time(ns))),
            // A thread that is never seen to wait needs no signal.
            Step::Signal(to) => {
                awaited.binary_search(&(to as usize)).is_ok().then(|| format!("write t{to} 1B"))
            }
            Step::Fork(child) => {
                let forked = histories[child as usize].as_ref().is_some_and(|h| h.start == Start::Forked);
                forked.then(|| format!("fork {}", labels.names[child as usize]))
            }
            Step::Await(_) => Some(format!("read t{i} 1B")),
            Step::Until(t) => Some(format!("until {}", time(t))),
            Step::Device(ns) => Some(format!("sleep {}", time(ns))),
        };
        out.steps += write_program(text, history.steps.iter().filter_map(word));
    }
}

/// The keys of a thread, up to its start.
pub(crate) fn write_head(text: &mut String, name: &str, group: &str, thread: &Thread, history: &History) {
    let (name, group) = (quoted(name), quoted(group));
    let _ = write!(text, "\n[[task]]\nname = {name}\ngroup = {group}\n{}", class(thread));
    if let Some(cpu) = bound(thread, history) {
        let _ = writeln!(text, "cpus = \"{cpu}\"");
    }
}

/// The steps of a thread, several in a line; how many there are.
pub(crate) fn write_program(text: &mut String, words: impl Iterator<Item = String>) -> u64 {
    text.push_str("program = [\n");
    let mut line = String::new();
    let mut steps = 0;
    for word in words {
        steps += 1;
        if line.len() + word.len() > 100 {
            let _ = writeln!(text, "  {},", quoted(&line));
            line.clear();
        }
        if !line.is_empty() {
            line.push_str("; ");
        }
        line.push_str(&word);
    }
    if steps == 0 {
        line.push_str("run 1ns");
        steps = 1;
    }
    let _ = writeln!(text, "  {},\n]", quoted(&line));
    steps
}
