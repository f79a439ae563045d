// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Requests: what a service is asked for, followed across threads from its arrival to its end.
//!
//! By wake-ups: a request begins when something outside of the service wakes a thread that takes requests. It goes on in every thread of
//! the service that is woken on its behalf, and ends when the last of them waits again. By marks: it begins and ends where the program
//! says so. Of both, the way that decided when it ended is followed back: who ran, who waited for a CPU.

use std::collections::{BTreeMap, HashMap};

use crate::history::{History, State, Task};
use crate::marks::Phase;
use crate::recording::Waker;

/// Parts of a request's way, at most.
const LEGS: usize = 10_000;

/// How requests are told.
#[derive(Clone, Debug)]
pub enum By<'a> {
    /// Whether a task takes requests, or works on them further on.
    Wakeups { takes: &'a [bool], works: &'a [bool] },
    /// Names of marks. The same for both: what begins and ends under this name.
    Marks { begin: &'a str, end: &'a str },
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub from_ns: u64,
    pub to_ns: u64,
    /// The task in which it ended.
    pub last: u32,
    /// What decided when it ended, in order of time, without a gap.
    pub legs: Vec<Leg>,
}

/// A part of a request's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    pub task: u32,
    pub doing: Doing,
    pub from_ns: u64,
    pub to_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    Runs,
    /// It waits for a CPU.
    Ready,
    /// It waits for something else: a device, the network, a time.
    Waits,
    /// The trace does not say.
    Unknown,
}

/// All requests of a history.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// In order of their beginning.
    pub all: Vec<Request>,
    /// Begun and not over when the trace ended.
    pub open: u64,
    /// Times that threads of the service went on without a wake-up that was seen: what they did belongs to no request.
    pub unseen: u64,
    /// Times that a thread which works on requests woke those that take them more than once before it waited: it served several.
    pub shared: u64,
    /// Times that a thread which takes requests was woken by one that worked for no request at that time: some request is too short, because what
    /// was passed on came to a thread that was awake.
    pub stray: u64,
    /// Threads outside that were woken by a request, with how often.
    pub outside: BTreeMap<u32, u64>,
    /// Marks without their counterpart: ends, and beginnings that were repeated.
    pub unmatched: u64,
}

/// From a wake-up to the next wait.
struct Job {
    task: u32,
    from_ns: u64,
    to_ns: u64,
    /// It waits again, or has ended, as far as the trace says.
    over: bool,
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq)]
enum Origin {
    /// From outside, in a thread that takes requests.
    Begins,
    /// Woken by this thread of the service, at the beginning of the job.
    By(u32),
    /// Goes on after a device, in the same thread's job before.
    After,
    /// The service's own business, such as a timer of a thread that takes no requests.
    Own,
    Unseen,
}

/// Finds all requests.
pub fn requests(history: &History, by: &By<'_>) -> Requests {
    let mut out = match by {
        By::Wakeups { takes, works } => by_wakeups(history, takes, works),
        By::Marks { begin, end } => by_marks(history, begin, end),
    };
    out.all.sort_by_key(|r| (r.from_ns, r.to_ns, r.last));
    out
}

fn by_wakeups(history: &History, takes: &[bool], works: &[bool]) -> Requests {
    let mut out = Requests::default();
    let serves = |task: u32| takes[task as usize] || works[task as usize];
    // By task, in order of time.
    let mut jobs: Vec<Job> = Vec::new();
    let mut of_task = vec![0..0; history.tasks.len()];
    for (no, task) in (0u32..).zip(&history.tasks).filter(|(no, _)| serves(*no)) {
        let first = jobs.len();
        jobs_of(no, task, history.end_ns, takes[no as usize], &serves, &mut jobs);
        of_task[no as usize] = first..jobs.len();
    }
    let at = |task: u32, t: u64| -> Option<usize> {
        let range = of_task[task as usize].clone();
        let i = jobs[range.clone()].partition_point(|j| j.from_ns < t);
        let covers = |found: &usize| range.contains(found) && jobs[*found].to_ns >= t;
        // One that begins at that very time, where events have the same time.
        let begins = Some(range.start + i).filter(|b| range.contains(b) && jobs[*b].from_ns == t);
        (range.start + i).checked_sub(1).filter(covers).or(begins)
    };
    // The job in which each one's request began.
    let mut root: Vec<Option<Option<usize>>> = vec![None; jobs.len()];
    for i in 0..jobs.len() {
        let (mut chain, mut here) = (vec![i], i);
        let found = loop {
            if let Some(known) = root[here] {
                break known;
            }
            let before = match jobs[here].origin {
                Origin::Begins => break Some(here),
                Origin::By(by) => at(by, jobs[here].from_ns),
                Origin::After => here.checked_sub(1),
                Origin::Own | Origin::Unseen => None,
            };
            // Events at one time have no order: a circle has no beginning.
            let Some(before) = before.filter(|b| !chain.contains(b)) else { break None };
            chain.push(before);
            here = before;
        };
        chain.iter().for_each(|c| root[*c] = Some(found));
    }
    let root = |i: usize| root[i].flatten();
    out.unseen = jobs.iter().filter(|j| j.origin == Origin::Unseen).count() as u64;
    let mut ends: BTreeMap<usize, (usize, bool)> = BTreeMap::new();
    let mut returned: BTreeMap<usize, u64> = BTreeMap::new();
    for (i, job) in jobs.iter().enumerate() {
        if let Origin::By(by) = job.origin
            && takes[job.task as usize]
            && !takes[by as usize]
            && let Some(waker) = at(by, job.from_ns)
        {
            *returned.entry(waker).or_default() += 1;
        }
        let Some(root) = root(i) else {
            out.stray += u64::from(takes[job.task as usize] && matches!(job.origin, Origin::By(_)));
            continue;
        };
        let end = ends.entry(root).or_insert((i, true));
        end.1 &= job.over;
        if job.to_ns >= jobs[end.0].to_ns {
            end.0 = i;
        }
    }
    out.shared = returned.values().filter(|n| **n > 1).count() as u64;
    // Whom they woke besides.
    for (no, task) in (0u32..).zip(&history.tasks).filter(|(no, _)| !serves(*no)) {
        let n = task.woken.iter().filter(|(t, by)| match by {
            Waker::Thread(by) if serves(*by) => at(*by, *t).is_some_and(|job| root(job).is_some()),
            _ => false,
        });
        match n.count() as u64 {
            0 => {}
            n => _ = out.outside.insert(no, n),
        }
    }
    let works: Vec<bool> = (0..history.tasks.len() as u32).map(serves).collect();
    for (root, (last, over)) in ends {
        let (begin, end) = (&jobs[root], &jobs[last]);
        if !over {
            out.open += 1;
            continue;
        }
        let legs = way(history, end.task, begin.from_ns, end.to_ns, Some(&works));
        out.all.push(Request { from_ns: begin.from_ns, to_ns: end.to_ns, last: end.task, legs });
    }
    out
}

/// A thread's jobs.
fn jobs_of(no: u32, task: &Task, end_ns: u64, takes: bool, serves: &dyn Fn(u32) -> bool, out: &mut Vec<Job>) {
    let first = out.len();
    // Where the last span ended; whether a job is under way, and whether the thread waits for a device.
    let (mut before, mut open, mut device) = (None, false, false);
    for span in &task.spans {
        let follows = before == Some(span.from_ns);
        before = Some(span.to_ns);
        match &span.state {
            State::Blocked { on, .. } => {
                // A wait for a device that lasts until the end: the job is not over.
                device = &**on == "device";
                if open && let Some(job) = out.last_mut() {
                    job.over = !device || span.to_ns < end_ns;
                }
                open = false;
            }
            State::Running { .. } | State::Ready { .. } => {
                let woken = task.woken_at(span.from_ns);
                // Somebody may wake a thread that has not left its CPU yet: that is no other job.
                if open && follows {
                    let job = out.last_mut().expect("one is open");
                    job.to_ns = span.to_ns;
                    job.over = span.to_ns < end_ns;
                } else {
                    let more = out.len() > first && device && follows;
                    let origin = match woken {
                        None | Some(Waker::Unknown) => Origin::Unseen,
                        Some(Waker::Thread(by)) if serves(by) => Origin::By(by),
                        Some(_) if more => Origin::After,
                        Some(_) if takes => Origin::Begins,
                        Some(_) => Origin::Own,
                    };
                    let (from_ns, to_ns) = (span.from_ns, span.to_ns);
                    out.push(Job { task: no, from_ns, to_ns, over: to_ns < end_ns, origin });
                    open = true;
                }
                device = false;
            }
        }
    }
}

fn by_marks(history: &History, begin: &str, end: &str) -> Requests {
    let mut out = Requests::default();
    let mut named: HashMap<&str, u64> = HashMap::new();
    let mut stacks: HashMap<u32, Vec<(u64, bool)>> = HashMap::new();
    for mark in &history.marks {
        let phase = match mark.phase {
            Phase::Word if &*mark.name == begin && begin != end => Phase::Begin,
            Phase::Word if &*mark.name == end && begin != end => Phase::End,
            Phase::Word => continue,
            // A name by which something begins and ends.
            phase => phase,
        };
        let ours = &*mark.name == begin || &*mark.name == end;
        let from_ns = match (phase, &mark.id) {
            (Phase::Begin, Some(id)) => {
                if ours && named.insert(id, mark.t_ns).is_some() {
                    out.unmatched += 1;
                }
                continue;
            }
            (Phase::Begin, None) => {
                stacks.entry(mark.thread).or_default().push((mark.t_ns, ours));
                continue;
            }
            (_, Some(id)) if ours => named.remove(&**id),
            (_, Some(_)) => continue,
            (_, None) => match stacks.get_mut(&mark.thread).and_then(Vec::pop) {
                // An end without a name is that of what began last, whatever it was.
                Some((_, false)) => continue,
                Some((t, true)) => Some(t),
                None if ours => None,
                None => continue,
            },
        };
        let Some(from_ns) = from_ns else {
            out.unmatched += 1;
            continue;
        };
        let legs = way(history, mark.thread, from_ns, mark.t_ns, None);
        out.all.push(Request { from_ns, to_ns: mark.t_ns, last: mark.thread, legs });
    }
    out.open = (named.len() + stacks.values().flatten().filter(|s| s.1).count()) as u64;
    out
}

/// Follows what a task did at `to` back to `from`: what it did, before that what the task did that woke it, and so on. `within` has
/// the tasks that count; a wake-up by others is a wait for something else.
fn way(history: &History, task: u32, from: u64, to: u64, within: Option<&[bool]>) -> Vec<Leg> {
    let mut legs: Vec<Leg> = Vec::new();
    let (mut task, mut t) = (task, to);
    while t > from {
        let me = &history.tasks[task as usize];
        let here = me.spans.partition_point(|s| s.from_ns < t).checked_sub(1).map(|i| &me.spans[i]);
        let here = here.filter(|s| s.to_ns >= t && legs.len() < LEGS);
        let (begin, doing) = match here.map(|s| (s.from_ns.max(from), &s.state)) {
            Some((begin, State::Running { .. })) => (begin, Doing::Runs),
            Some((begin, State::Ready { .. })) => (begin, Doing::Ready),
            Some((begin, State::Blocked { .. })) => (begin, Doing::Waits),
            None => (from, Doing::Unknown),
        };
        match legs.last_mut() {
            Some(leg) if (leg.task, leg.doing) == (task, doing) => leg.from_ns = begin,
            _ => legs.push(Leg { task, doing, from_ns: begin, to_ns: t }),
        }
        t = begin;
        if matches!(doing, Doing::Runs | Doing::Ready)
            && let Some(Waker::Thread(by)) = me.woken_at(t)
            && within.is_none_or(|w| w[by as usize])
        {
            task = by;
        }
    }
    legs.reverse();
    legs
}
