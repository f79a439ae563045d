// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Why did a task wait? The chain of causes, from the trace of a run.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_text::quantity::{self, TIME};
use weir_text::suggest;
use weir_trace::Waker;
use weir_trace::causes::{self, Account, Kind, Step};
use weir_trace::history::{Stage, State, Task};
use weir_trace::{Error, History};

use crate::fault::{Fault, Result};
use crate::input;
use crate::session::trace_in;
use crate::units::{duration, exact};

/// Largest trace that is read, bytes.
const MAX_FILE: u64 = 8 << 30;
/// Candidates that a diagnostic lists.
const LISTED: usize = 6;
/// Steps of each depth in the paragraph.
const MAX_STEPS: usize = 4;
/// A cause of less than this share of the time is left out of the paragraph, percent.
const WORTH_PCT: u64 = 3;

/// A run that can be asked, read once.
///
/// ```no_run
/// let run = weir::Explainer::open("results/decentral")?;
/// let why = run.at("web", 12_000_000)?;
/// println!("{}", why.text);
/// # Ok::<(), weir::Fault>(())
/// ```
#[derive(Debug)]
pub struct Explainer {
    history: History,
    /// The report beside the trace.
    report: Option<PathBuf>,
}

/// Why a task waited, or ran slowly.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    pub task: TaskRef,
    /// The time that was asked about, ns from the start of the run.
    pub at_ns: u64,
    /// `running`, `ready` or `blocked` at that time.
    pub state: &'static str,
    /// The wait (and the run that it led to, if the time lies in that).
    pub from_ns: u64,
    pub to_ns: u64,
    pub ns: u64,
    /// When it was woken in that time, and by which task; `null`: by time, by a device, or not known.
    pub woken_at_ns: Option<u64>,
    pub woken_by: Option<TaskRef>,
    /// The CPU on which it went on.
    pub cpu: Option<u32>,
    /// The cause of most of the time.
    pub cause: Kind,
    /// All that accounts for it, longest first.
    pub causes: Vec<Share>,
    /// The chain: a step of depth 1 was in the way of the step of depth 0 before it, and so on.
    pub steps: Vec<NamedStep>,
    /// The same as one paragraph.
    pub text: String,
    /// The report, at that time.
    pub link: Option<String>,
    /// Facts that the trace does not have.
    pub notes: Vec<String>,
}

/// A task of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskRef {
    pub id: u32,
    pub name: String,
}

/// Time that a cause accounts for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    pub kind: Kind,
    pub ns: u64,
    /// Of the time explained.
    pub share: f64,
}

/// A step with names.
#[derive(Clone, Debug, Serialize)]
pub struct NamedStep {
    pub depth: u32,
    pub kind: Kind,
    pub task: TaskRef,
    pub other: Option<TaskRef>,
    pub cpu: Option<u32>,
    pub idle_cpu: Option<u32>,
    pub pipe: Option<String>,
    pub instance: Option<String>,
    /// A lock (`mutex m`), what it waited for, a component, or a speed.
    pub what: Option<String>,
    pub from_ns: u64,
    pub to_ns: u64,
    pub ns: u64,
    pub lock_wait_ns: u64,
    pub text: String,
}

/// `web@12ms`: which task, and when.
///
/// # Errors
/// The user's: there is no `@`, or what follows is no time.
pub fn parse_place(text: &str) -> Result<(String, u64)> {
    let wrong = |what: String| Fault::user(what, "write TASK@TIME, for example web@12.5ms or '#7@300us'");
    let Some((task, time)) = text.rsplit_once('@') else {
        return Err(wrong(format!("`{}` names no time", text.escape_debug())));
    };
    if task.is_empty() {
        return Err(wrong(format!("`{}` names no task", text.escape_debug())));
    }
    let at = match time {
        "0" => 0,
        time => quantity::parse(time, TIME).map_err(|e| {
            let (place, time) = (text.escape_debug(), time.escape_debug());
            wrong(format!("in `{place}`, `{time}` behind the @ is not a time: {}", e.message))
        })?,
    };
    Ok((task.into(), at))
}

impl Explainer {
    /// Read a run: the folder of `run --out` or `live --record`, its trace, or a recording of another tool.
    ///
    /// # Errors
    /// The user's: there is no trace, or it is broken.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let folder = path.as_ref();
        let inside = trace_in(folder).unwrap_or_else(|| folder.join("trace.pftrace"));
        if folder.is_dir() && !inside.is_file() {
            return Err(Fault::user(
                format!("{}: the folder has no trace.pftrace", folder.to_string_lossy().escape_debug()),
                "name the folder of `run --out DIR` (without --trace none) or of `live --record DIR`; in that of `compare` \
                 each topology has a folder of its own",
            ));
        }
        let file = if folder.is_dir() { inside } else { folder.to_path_buf() };
        let report = file.with_file_name("report.html");
        let run = Self::of(&input::read_bytes(&file, MAX_FILE)?, &file.to_string_lossy())?;
        Ok(Self { report: report.is_file().then_some(report), ..run })
    }

    /// Of a trace in memory, which diagnostics call `name`.
    ///
    /// # Errors
    /// The user's: it is broken.
    pub fn of(trace: &[u8], name: &str) -> Result<Self> {
        let broken = |e: Error| Fault::user(format!("{}: {}", name.escape_debug(), e.message), e.help);
        Ok(Self { history: weir_trace::history(trace).map_err(broken)?, report: None })
    }

    /// Of what was read.
    pub(crate) fn of_history(history: History) -> Self {
        Self { history, report: None }
    }

    /// What the trace says.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Why the task, a name or `#` and a number, was where it was at a time (ns from the start).
    ///
    /// # Errors
    /// The user's: there is no such task, several are called so, or it was not there at that time.
    pub fn at(&self, task: &str, at_ns: u64) -> Result<Explanation> {
        self.asked(task, at_ns, causes::account)
    }

    fn asked(
        &self,
        task: &str,
        at_ns: u64,
        how: fn(&History, u32, u64) -> Option<Account>,
    ) -> Result<Explanation> {
        let (number, choice) = self.task(task, at_ns)?;
        let Some(account) = how(&self.history, number, at_ns) else {
            let t = &self.history.tasks[number as usize];
            let help = match (t.spans.first(), t.spans.last()) {
                (Some(first), Some(last)) => format!(
                    "it is seen from {} to {}; name a time between",
                    exact(first.from_ns),
                    exact(last.to_ns)
                ),
                _ => "it neither ran nor waited in the part that was traced".into(),
            };
            return Err(Fault::user(
                format!("task `{}` is not in the trace at {}", self.history.name(number), exact(at_ns)),
                help,
            ));
        };
        let mut why = self.explanation(account);
        why.notes.extend(choice);
        Ok(why)
    }

    /// The same of a wait of `ns` that was over at `at_ns`. 0: of what the task did at that time.
    ///
    /// # Errors
    /// As [`Explainer::at`].
    pub fn until(&self, task: &str, at_ns: u64, ns: u64) -> Result<Explanation> {
        if ns == 0 {
            return self.at(task, at_ns);
        }
        // At the end of the wait the next state has begun.
        self.asked(task, at_ns.saturating_sub(1), causes::whole)
    }

    /// The `n` longest waits that tasks did not choose: for a CPU, a lock, a budget; longest first. With a `group`, those of
    /// tasks whose names begin with it.
    ///
    /// # Errors
    /// The user's: no name begins so.
    pub fn worst(&self, n: usize, group: Option<&str>) -> Result<Vec<Explanation>> {
        let of = |t: &Task| group.is_none_or(|g| t.name.starts_with(g));
        if let Some(group) = group.filter(|_| !self.history.tasks.iter().any(of)) {
            return Err(self.unknown(group, "no task's name begins with"));
        }
        Ok(causes::worst(&self.history, n, &of)
            .into_iter()
            .filter_map(|w| causes::whole(&self.history, w.task, w.from_ns))
            .map(|a| self.explanation(a))
            .collect())
    }

    /// There is no such task.
    pub(crate) fn unknown(&self, name: &str, what: &str) -> Fault {
        let mut names: Vec<&str> =
            self.history.tasks.iter().map(|t| &*t.name).filter(|n| !n.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let help = match suggest::nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let some: Vec<&str> = names.iter().copied().take(LISTED).collect();
                let more = if names.len() > LISTED { ", …" } else { "" };
                format!(
                    "its tasks have {} names ({}{more}); --worst N lists those that waited longest",
                    names.len(),
                    some.join(", ")
                )
            }
        };
        Fault::user(format!("{what} `{}`", name.escape_debug()), help)
    }

    /// The task of that name; of several the one that waited longest around that time, with a word on the choice.
    fn task(&self, name: &str, at_ns: u64) -> Result<(u32, Option<String>)> {
        let tasks = &self.history.tasks;
        let mut found = self.history.find(name);
        if found.is_empty() {
            // `web` for `web-0`, `web-1`: a group of a workload.
            let member = |task: &str| {
                let number = task.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
                number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            };
            found = (0..).zip(tasks).filter(|(_, t)| member(&t.name)).map(|(n, _)| n).collect();
        }
        let here: Vec<u32> =
            found.iter().copied().filter(|n| tasks[*n as usize].at(at_ns).is_some()).collect();
        if let ([one], _) | (_, [one]) = (found.as_slice(), here.as_slice()) {
            return Ok((*one, None));
        }
        if found.is_empty() {
            return Err(self.unknown(name, "the run has no task"));
        }
        let wait = |n: u32| {
            let span = &tasks[n as usize].spans[tasks[n as usize].at(at_ns)?];
            matches!(span.state, State::Ready { .. }).then_some((span.to_ns - span.from_ns, n))
        };
        let waits: Vec<(u64, u32)> = here.iter().filter_map(|n| wait(*n)).collect();
        let Some(&(_, longest)) = waits.iter().max_by_key(|(ns, n)| (*ns, std::cmp::Reverse(*n))) else {
            let some: Vec<String> = here.iter().take(LISTED).map(|n| format!("#{n}")).collect();
            let one = if some.is_empty() {
                String::new()
            } else {
                format!("; there at that time: {}", some.join(", "))
            };
            return Err(Fault::user(
                format!(
                    "{} tasks are called `{}`, and none of them waited for a CPU at {}",
                    found.len(),
                    name.escape_debug(),
                    exact(at_ns)
                ),
                format!("--worst 10 --group '{name}' lists their longest waits{one}"),
            ));
        };
        let note = format!(
            "{} tasks are called `{name}`, {} of them waited at {}: this is the one that waited longest, #{longest}",
            found.len(),
            waits.len(),
            exact(at_ns)
        );
        Ok((longest, Some(note)))
    }

    fn reference(&self, id: u32) -> TaskRef {
        TaskRef { id, name: self.history.name(id) }
    }

    fn explanation(&self, a: Account) -> Explanation {
        let ns = a.to_ns - a.from_ns;
        let steps: Vec<NamedStep> = a.steps.iter().map(|s| self.named(s)).collect();
        let text = self.paragraph(&a, &steps);
        let link = self.report.as_ref().map(|page| {
            let cpu = a.cpu.map_or(String::new(), |c| format!("&cpu={c}"));
            format!("{}#t={}..{}&task={}{cpu}", page.display(), a.from_ns, a.to_ns, a.task)
        });
        let (woken_at_ns, woken_by) = match a.woken {
            Some((at, Waker::Thread(by))) => (Some(at), Some(self.reference(by))),
            Some((at, _)) => (Some(at), None),
            None => (None, None),
        };
        Explanation {
            task: self.reference(a.task),
            at_ns: a.at_ns,
            state: match a.state {
                State::Running { .. } => "running",
                State::Ready { .. } => "ready",
                State::Blocked { .. } => "blocked",
            },
            from_ns: a.from_ns,
            to_ns: a.to_ns,
            ns,
            woken_at_ns,
            woken_by,
            cpu: a.cpu,
            cause: a.main(),
            causes: a
                .causes
                .iter()
                .map(|&(kind, part)| Share { kind, ns: part, share: share(part, ns) })
                .collect(),
            steps,
            text,
            link,
            notes: self.history.notes.clone(),
        }
    }

    fn named(&self, s: &Step) -> NamedStep {
        let stage = s.stage.and_then(|i| self.history.stages.get(i as usize));
        let words = |text: &str| (!text.is_empty()).then(|| text.to_string());
        NamedStep {
            depth: s.depth,
            kind: s.kind,
            task: self.reference(s.task),
            other: s.other.map(|o| self.reference(o)),
            cpu: s.cpu,
            idle_cpu: s.idle_cpu,
            pipe: stage.and_then(|p| words(&p.pipe)),
            instance: stage.and_then(|p| words(&p.instance)),
            what: words(&s.what),
            from_ns: s.from_ns,
            to_ns: s.to_ns,
            ns: s.ns,
            lock_wait_ns: s.lock_ns,
            text: self.sentence(s, stage),
        }
    }

    /// The priority of the other one, where it is recorded and differs.
    fn rank(&self, task: u32, other: Option<u32>) -> String {
        let prio = |task: u32| self.history.tasks.get(task as usize).and_then(|t| t.prio);
        match (prio(task), other.and_then(prio)) {
            (Some(mine), Some(its)) if mine != its => match its {
                ..0 => " (of the deadline class)".into(),
                0..100 => format!(" (real-time priority {})", 99 - its),
                _ => format!(" (nice {})", its - 120),
            },
            _ => String::new(),
        }
    }

    /// One step in words.
    fn sentence(&self, s: &Step, stage: Option<&Stage>) -> String {
        let me = format!("`{}`", self.history.name(s.task));
        let other = s.other.map_or("nobody known".into(), |o| format!("`{}`", self.history.name(o)));
        let time = duration(s.ns);
        let cpu = s.cpu.map_or("its CPU".into(), |c| format!("CPU {c}"));
        let queue = match stage {
            Some(Stage { pipe, exit: Some(set), .. }) if pipe.is_empty() => {
                format!("in the queue of CPU {set}")
            }
            Some(stage) => match &stage.exit {
                Some(set) if set.iter().nth(1).is_some() => {
                    format!("in pipe `{}`, the exit of CPUs {set}", stage.pipe)
                }
                _ => format!("in pipe `{}`", stage.pipe),
            },
            None => "ready".into(),
        };
        let idle = |why: &str| s.idle_cpu.map_or(String::new(), |c| format!(" CPU {c} was idle, {why}."));
        match s.kind {
            Kind::Queue => {
                let unsure = idle(&format!("but whether {me} may run there is not recorded"));
                let rank = self.rank(s.task, s.other);
                format!("{me} waited {queue} for {time} while {other}{rank} ran on {cpu}.{unsure}")
            }
            Kind::Inversion => format!(
                "{me}, for which others wait, waited itself {queue} for {time} while {other} ran on {cpu}.{}",
                idle("but not tried")
            ),
            Kind::Affinity if s.other.is_some() => format!(
                "{me} waited {queue} for {time} while {other} ran on {cpu}.{}",
                idle(&format!("but {me} may not run there"))
            ),
            Kind::Affinity => format!("No CPU that {me} may use took it for {time}."),
            Kind::Placement => format!(
                "{me} waited {queue} for {time} while {other} ran on {cpu}.{}",
                idle(&format!("and {me} may run there"))
            ),
            Kind::Lock if s.other == Some(s.task) => format!("{me} had it and ran on {cpu} for {time}."),
            Kind::Lock => format!("{me} waited for {} for {time}, which {other} had.", s.what),
            Kind::Budget => {
                format!("{me} had no budget left: `{}` withheld it for {time}.", instance(stage))
            }
            Kind::GroupLimit => {
                format!(
                    "The group of {me} had reached its limit: `{}` withheld it for {time}.",
                    instance(stage)
                )
            }
            Kind::Gang => {
                format!("{me} waited for {time} for the next slot of its gang, at `{}`.", instance(stage))
            }
            Kind::Withheld => format!("`{}` ({}) withheld {me} for {time}.", instance(stage), s.what),
            Kind::Migration => {
                format!("{me} had changed to {cpu}: filling the caches there took {time}.")
            }
            Kind::Interrupt => format!(
                "{cpu} had no task for {time}: an interrupt was under way to it, it left idle, or it switched."
            ),
            Kind::Scheduler if s.lock_ns > 0 => format!(
                "{cpu} ran scheduler code for {time}, {} of it waiting for locks of pipes.",
                duration(s.lock_ns)
            ),
            Kind::Scheduler => format!("{cpu} ran scheduler code for {time}."),
            Kind::Capacity => format!(
                "{me} ran on {cpu}, whose speed is {}: that cost it {time}.{}",
                s.what,
                idle("and faster")
            ),
            Kind::Message if s.what.is_empty() => {
                format!("{me} waited for {time} until {other} woke it.")
            }
            Kind::Message => format!("{me} waited for {} for {time}, until {other} woke it.", s.what),
            Kind::Device => format!("{me} waited for a device for {time}."),
            Kind::Sleep if s.what == "release" => format!("{me} waited for its next release for {time}."),
            Kind::Sleep => format!("{me} slept for {time}."),
            Kind::Unknown => format!("What {me} did for {time} is not in the trace."),
        }
    }

    fn paragraph(&self, a: &Account, steps: &[NamedStep]) -> String {
        let ns = a.to_ns - a.from_ns;
        let me = format!("`{}`", self.history.name(a.task));
        let did = match &a.state {
            State::Running { cpu } => format!("ran on CPU {cpu}"),
            State::Ready { .. } => "was ready and did not run".into(),
            State::Blocked { on, .. } if on.is_empty() => "was blocked".into(),
            State::Blocked { on, .. } => format!("waited for {on}"),
        };
        let span = format!("from {} to {} ({})", exact(a.from_ns), exact(a.to_ns), duration(ns));
        // The time that was asked about, where it is another one than the begin.
        let mut text = match a.at_ns == a.from_ns {
            true => format!("{me} {did} {span}."),
            false => format!("At {} {me} {did}, {span}.", exact(a.at_ns)),
        };
        if let Some((at, by)) = a.woken {
            text += &match by {
                Waker::Thread(by) => format!(" `{}` woke it at {}.", self.history.name(by), exact(at)),
                _ => format!(" It was woken at {} by time or a device.", exact(at)),
            };
        }
        if steps.is_empty() {
            text += " Nothing stood in its way.";
        }
        // Per step of depth 0 its chain, the longest few of each level.
        let mut shown = 0;
        let mut hidden_below = u32::MAX;
        for step in steps {
            if step.depth > hidden_below {
                continue;
            }
            hidden_below = u32::MAX;
            if step.ns * 100 < ns * WORTH_PCT || (step.depth == 0 && shown == MAX_STEPS) {
                hidden_below = step.depth;
                continue;
            }
            shown += usize::from(step.depth == 0);
            text += " ";
            text += &step.text;
        }
        if shown == 0 && !steps.is_empty() {
            text += &format!(" Nothing stood in its way for {WORTH_PCT} % of that time.");
        }
        if let Some(&(kind, part)) = a.causes.first()
            && !steps.is_empty()
            && part * 100 >= ns * WORTH_PCT
        {
            text += &format!(" Main cause: {} ({:.0} %).", name(kind), 100.0 * share(part, ns));
        }
        text
    }
}

fn instance(stage: Option<&Stage>) -> &str {
    stage.map_or("a component", |s| &s.instance)
}

fn share(part: u64, of: u64) -> f64 {
    // Thousandths, the same on every machine.
    if of == 0 { 0.0 } else { (part as f64 / of as f64 * 1000.0).round() / 1000.0 }
}

/// The name of a cause in text.
pub fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Queue => "others ran first",
        Kind::Affinity => "affinity",
        Kind::Placement => "placement: an idle CPU was not used",
        Kind::Lock => "a lock",
        Kind::Inversion => "priority inversion: the holder of a lock waited for a CPU",
        Kind::Budget => "budget",
        Kind::GroupLimit => "the limit of its group",
        Kind::Gang => "the gang's slots",
        Kind::Withheld => "a component withheld it",
        Kind::Migration => "migration",
        Kind::Interrupt => "interrupts and waking of the CPU",
        Kind::Scheduler => "scheduler code",
        Kind::Capacity => "a slow CPU",
        Kind::Message => "it waited for another task",
        Kind::Device => "a device",
        Kind::Sleep => "it slept",
        Kind::Unknown => "not known",
    }
}
