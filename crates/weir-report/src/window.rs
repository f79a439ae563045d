// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Parts of a run in the trace: from one time to another, or around a problem.
//!
//! At the start of a window, the trace gets the state at that time: which task runs where, which tasks are ready, which CPUs
//! are offline, how deep the pipes are. At its end, open slices are closed. Names, swaps and markers are in every trace, so
//! that everything shown has a name.

use std::collections::{BTreeSet, VecDeque};
use std::io;

use weir_core::event::{CpuNo, Event, Observer, TaskNo, Urgency};
use weir_core::{Plan, Topic};

use crate::trace::Trace;

/// How much of a run goes into the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Nothing: no file is written.
    None,
    #[default]
    Full,
    /// From one time to another, ns.
    Span(u64, u64),
    /// What came before and after each deadline miss, and before and after each wake-up that was by far the latest so far.
    Misses,
}

/// The extent of a window around a miss, ns: before it, and after it.
const BEFORE_NS: u64 = 5_000_000;
const AFTER_NS: u64 = 1_000_000;
/// Most events that are kept for a window that may come.
const KEPT: usize = 1 << 18;
/// A wake-up is worth a window if it took this much longer than each before, in percent, and so long at least, ns.
const WORSE_PCT: u64 = 125;
const LATE_NS: u64 = 10_000;

/// An event that has been put off.
enum Kept {
    /// With a copy of its names.
    New {
        task: TaskNo,
        name: Box<str>,
        group: Box<str>,
        renamed: bool,
    },
    Marker(Box<str>),
    Swap {
        from: Box<str>,
        to: Box<str>,
        pause_ns: u64,
        represented: u32,
    },
    Rewired(Box<Plan>),
    WaitsFor {
        task: TaskNo,
        what: Box<str>,
        holder: Option<TaskNo>,
    },
    Priority {
        task: TaskNo,
        urgency: Urgency,
    },
    Allowed {
        task: TaskNo,
        cpus: Box<str>,
    },
    Message {
        topic: &'static str,
        cpu: CpuNo,
        task: Option<TaskNo>,
        value: u64,
    },
    Reply {
        topic: &'static str,
        cpu: u32,
        task: u32,
        value: u64,
    },
    GangSlot {
        gang: u32,
        name: Box<str>,
        begins: bool,
    },
    /// Without names.
    Plain(Event<'static>),
}

/// The state outside of windows.
#[derive(Default)]
struct Now {
    /// The task of each CPU.
    running: Vec<Option<TaskNo>>,
    offline: BTreeSet<CpuNo>,
    ready: BTreeSet<TaskNo>,
    depths: Vec<u32>,
}

impl Now {
    fn apply(&mut self, kept: &Kept) {
        let Kept::Plain(event) = kept else {
            if matches!(kept, Kept::Rewired(_)) {
                self.depths.clear();
            }
            return;
        };
        match *event {
            Event::Ready { task, .. } => {
                self.ready.insert(task);
            }
            Event::Run { task, cpu, .. } => {
                self.ready.remove(&task);
                *at(&mut self.running, cpu) = Some(task);
            }
            Event::Off { cpu, .. } => *at(&mut self.running, cpu) = None,
            Event::TaskExit { task } => {
                self.ready.remove(&task);
            }
            Event::CpuOnline { cpu, online: true } => {
                self.offline.remove(&cpu);
            }
            Event::CpuOnline { cpu, online: false } => {
                self.offline.insert(cpu);
            }
            Event::PipeDepth { pipe, depth } => *at(&mut self.depths, pipe) = depth,
            _ => {}
        }
    }
}

fn at<T: Default>(list: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if index >= list.len() {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

/// A trace of parts of a run.
pub struct Windowed {
    trace: Trace,
    part: Part,
    now: Now,
    /// Events that a window may begin with, oldest first.
    kept: VecDeque<(u64, Kept)>,
    /// A window is open, until then.
    open: Option<u64>,
    /// The last window was open until then, and nothing after it has been left out yet: the next one may join it.
    ended: Option<u64>,
    worst_ns: u64,
    windows: u64,
}

impl Windowed {
    /// `part` of a run into `trace`.
    pub fn new(trace: Trace, part: Part) -> Self {
        let now = Now::default();
        Self { trace, part, now, kept: VecDeque::new(), open: None, ended: None, worst_ns: 0, windows: 0 }
    }

    /// Stops tracing. Returns the first error in writing, or how many windows the trace has.
    pub fn finish(mut self, end_ns: u64) -> io::Result<u64> {
        if self.part == Part::Full {
            return self.trace.finish(end_ns).map(|()| 1);
        }
        let mut end = end_ns;
        if let Some(until) = self.open.or(self.ended) {
            end = end.min(until);
            self.forward_until(end);
        }
        self.trace.finish(end)?;
        Ok(self.windows)
    }

    /// Whether a window is to be open around this event, and until when.
    fn wanted(&mut self, t: u64, event: &Event<'_>) -> Option<u64> {
        match (self.part, event) {
            (Part::Span(from, to), _) => (from <= t && t <= to).then_some(to),
            (Part::Misses, Event::DeadlineMiss { .. }) => Some(t.saturating_add(AFTER_NS)),
            (Part::Misses, Event::Run { wakeup: true, waited_ns, .. }) => {
                let late = *waited_ns >= LATE_NS && *waited_ns >= self.worst_ns / 100 * WORSE_PCT;
                self.worst_ns = self.worst_ns.max(if late { *waited_ns } else { 0 });
                late.then(|| t.saturating_add(AFTER_NS))
            }
            _ => None,
        }
    }

    /// A window begins at `t`: the trace learns what is the case.
    fn begin(&mut self, t: u64) {
        self.windows += 1;
        for &cpu in &self.now.offline {
            self.trace.event(t, &Event::CpuOnline { cpu, online: false });
        }
        for &task in &self.now.ready {
            self.trace.event(t, &Event::Ready { task, wakeup: false });
        }
        for (cpu, task) in (0..).zip(&self.now.running) {
            if let Some(task) = *task {
                let event =
                    Event::Run { task, cpu, migrated: false, switched: true, wakeup: false, waited_ns: 0 };
                self.trace.event(t, &event);
            }
        }
        for (pipe, &depth) in (0..).zip(&self.now.depths) {
            if depth > 0 {
                self.trace.event(t, &Event::PipeDepth { pipe, depth });
            }
        }
    }

    fn forward(&mut self, t: u64, kept: &Kept) {
        self.now.apply(kept);
        show(&mut self.trace, t, kept);
    }

    /// Forwards deferred events that belong to the open window.
    fn forward_until(&mut self, until: u64) {
        while self.kept.front().is_some_and(|(t, _)| *t <= until) {
            let (t, kept) = self.kept.pop_front().expect("there is a first one");
            self.forward(t, &kept);
        }
    }

    /// Drops events too old for any window, and shows only those that every trace has.
    fn forget_until(&mut self, t: u64) {
        while let Some((at, _)) = self.kept.front() {
            if *at >= t && self.kept.len() <= KEPT {
                break;
            }
            let (at, kept) = self.kept.pop_front().expect("there is a first one");
            if let Some(until) = self.ended.take() {
                self.trace.pause(until);
            }
            self.now.apply(&kept);
            if !matches!(kept, Kept::Plain(_) | Kept::Message { .. } | Kept::WaitsFor { .. }) {
                show(&mut self.trace, at, &kept);
            }
        }
    }

    fn take(&mut self, t: u64, kept: Kept, wanted: Option<u64>) {
        if let Some(until) = self.open
            && t > until
            && wanted.is_none()
        {
            self.ended = self.open.take();
        }
        if let Some(until) = wanted {
            if self.open.is_none() {
                self.forget_until(self.lookback(t));
                if self.ended.take().is_none() {
                    let begin = match self.part {
                        Part::Span(from, _) => from,
                        _ => self.kept.front().map_or(t, |(first, _)| *first),
                    };
                    self.begin(begin);
                }
            }
            self.open = Some(self.open.map_or(until, |old| old.max(until)));
        }
        if self.open.is_some() {
            self.forward_until(t);
            self.forward(t, &kept);
        } else {
            self.kept.push_back((t, kept));
            self.forget_until(self.lookback(t));
        }
    }

    /// Events before this need not be kept at `t`.
    fn lookback(&self, t: u64) -> u64 {
        if self.part == Part::Misses { t.saturating_sub(BEFORE_NS) } else { t.saturating_add(1) }
    }
}

fn show(trace: &mut Trace, t: u64, kept: &Kept) {
    match kept {
        Kept::New { task, name, group, renamed: false } => {
            trace.event(t, &Event::TaskNew { task: *task, name, group });
        }
        Kept::New { task, name, group, renamed: true } => {
            trace.event(t, &Event::TaskName { task: *task, name, group });
        }
        Kept::Marker(text) => trace.event(t, &Event::Marker { text }),
        Kept::Swap { from, to, pause_ns, represented } => {
            let (pause_ns, represented) = (*pause_ns, *represented);
            trace.event(t, &Event::Swap { from, to, pause_ns, represented });
        }
        Kept::Rewired(plan) => trace.rewired(plan),
        Kept::WaitsFor { task, what, holder } => {
            trace.event(t, &Event::WaitsFor { task: *task, what, holder: *holder });
        }
        &Kept::Priority { task, urgency } => trace.event(t, &Event::Priority { task, urgency }),
        Kept::Allowed { task, cpus } => trace.event(t, &Event::Allowed { task: *task, cpus }),
        &Kept::Message { topic, cpu, task, value } => {
            trace.event(t, &Event::Message { topic, cpu, task, value });
        }
        &Kept::Reply { topic, cpu, task, value } => {
            trace.event(t, &Event::Reply { topic, cpu, task, value });
        }
        Kept::GangSlot { gang, name, begins } => {
            trace.event(t, &Event::GangSlot { gang: *gang, name, begins: *begins });
        }
        Kept::Plain(event) => trace.event(t, event),
    }
}

/// A copy of an event that can be put off; `None` for one that traces do not show.
fn keep(event: &Event<'_>) -> Option<Kept> {
    let plain = |e: Event<'static>| Some(Kept::Plain(e));
    match *event {
        Event::TaskNew { task, name, group } => {
            Some(Kept::New { task, name: name.into(), group: group.into(), renamed: false })
        }
        Event::TaskName { task, name, group } => {
            Some(Kept::New { task, name: name.into(), group: group.into(), renamed: true })
        }
        Event::Marker { text } => Some(Kept::Marker(text.into())),
        Event::Swap { from, to, pause_ns, represented } => {
            Some(Kept::Swap { from: from.into(), to: to.into(), pause_ns, represented })
        }
        Event::Message { topic, cpu, task, value } => {
            Some(Kept::Message { topic: known(topic)?, cpu, task, value })
        }
        Event::Reply { topic, cpu, task, value } => {
            Some(Kept::Reply { topic: known(topic)?, cpu, task, value })
        }
        Event::WaitsFor { task, what, holder } => Some(Kept::WaitsFor { task, what: what.into(), holder }),
        Event::Allowed { task, cpus } => Some(Kept::Allowed { task, cpus: cpus.into() }),
        Event::Woken { task, by } => plain(Event::Woken { task, by }),
        Event::Stands { task, pipe } => plain(Event::Stands { task, pipe }),
        Event::Refill { task, ns } => plain(Event::Refill { task, ns }),
        Event::Counters { .. } | Event::Guest { .. } => None,
        Event::Stolen { cpu, ns } => plain(Event::Stolen { cpu, ns }),
        Event::TaskExit { task } => plain(Event::TaskExit { task }),
        Event::Priority { task, urgency } => Some(Kept::Priority { task, urgency }),
        Event::JobRelease { task, job, due_ns, deadline_ns } => {
            plain(Event::JobRelease { task, job, due_ns, deadline_ns })
        }
        Event::JobDone { task, job, response_ns, missed } => {
            plain(Event::JobDone { task, job, response_ns, missed })
        }
        Event::DeadlineMiss { task, job, deadline_ns } => {
            plain(Event::DeadlineMiss { task, job, deadline_ns })
        }
        Event::JobDropped { task, job } => plain(Event::JobDropped { task, job }),
        Event::Ready { task, wakeup } => plain(Event::Ready { task, wakeup }),
        Event::Run { task, cpu, migrated, switched, wakeup, waited_ns } => {
            plain(Event::Run { task, cpu, migrated, switched, wakeup, waited_ns })
        }
        Event::Off { task, cpu, why, ran_ns } => plain(Event::Off { task, cpu, why, ran_ns }),
        Event::Preempted { task, cpu } => plain(Event::Preempted { task, cpu }),
        Event::Idle { cpu, idle } => plain(Event::Idle { cpu, idle }),
        Event::Sched { cpu, call, ns, lock_wait_ns } => plain(Event::Sched { cpu, call, ns, lock_wait_ns }),
        Event::PipeLock { pipe, held_ns, wait_ns } => plain(Event::PipeLock { pipe, held_ns, wait_ns }),
        Event::InstanceTime { instance, ns, updates } => plain(Event::InstanceTime { instance, ns, updates }),
        Event::PipeDepth { pipe, depth } => plain(Event::PipeDepth { pipe, depth }),
        Event::Kick { cpu } => plain(Event::Kick { cpu }),
        Event::MessageSent { from, to, number, what } => plain(Event::MessageSent { from, to, number, what }),
        Event::MessageArrived { to, number, what } => plain(Event::MessageArrived { to, number, what }),
        Event::GangSlot { gang, name, begins } => Some(Kept::GangSlot { gang, name: name.into(), begins }),
        Event::CpuOnline { cpu, online } => plain(Event::CpuOnline { cpu, online }),
        Event::Frequency { cpu, hz } => plain(Event::Frequency { cpu, hz }),
        Event::Energy { uj } => plain(Event::Energy { uj }),
    }
}

impl Observer for Windowed {
    fn rewired(&mut self, plan: &Plan) {
        if self.part == Part::Full {
            return self.trace.rewired(plan);
        }
        // It belongs to the swap that follows, in order.
        let t = self.kept.back().map_or(0, |(t, _)| *t);
        self.take(t, Kept::Rewired(Box::new(plan.clone())), None);
    }

    fn event(&mut self, t: u64, event: &Event<'_>) {
        if self.part == Part::Full {
            return self.trace.event(t, event);
        }
        if let Part::Span(_, to) = self.part
            && t > to
            && self.open.is_none()
        {
            return;
        }
        let wanted = self.wanted(t, event);
        if let Some(kept) = keep(event) {
            self.take(t, kept, wanted);
        }
    }
}

/// The name of a topic, which lives as long as the program.
fn known(topic: &str) -> Option<&'static str> {
    let own = || weir_core::catalog().own_topic(topic).map(|t| t.name.as_str());
    Topic::by_name(topic).map(Topic::name).or_else(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InMemory;
    use crate::meta::Meta;
    use weir_core::event::Stop;

    /// A task that runs 1 ms of every 10 ms for a second; it misses a deadline at 505 ms.
    fn traced(part: Part) -> (Vec<u8>, u64) {
        traced_every(part, 10_000_000, |job| job == 50)
    }

    /// The same with another period, ns; the jobs that miss their deadlines do so after half of it.
    fn traced_every(part: Part, period: u64, missed: fn(u64) -> bool) -> (Vec<u8>, u64) {
        let file = InMemory::default();
        let meta = Meta { nr_cpus: 2, ..Meta::default() };
        let mut w = Windowed::new(Trace::new(meta, Box::new(file.clone())), part);
        w.event(0, &Event::TaskNew { task: 0, name: "worker", group: "" });
        for i in 0..100u64 {
            let t = i * period;
            w.event(t, &Event::Ready { task: 0, wakeup: true });
            let (migrated, switched, wakeup) = (false, true, true);
            w.event(t, &Event::Run { task: 0, cpu: 1, migrated, switched, wakeup, waited_ns: 0 });
            w.event(t + 1_000_000, &Event::Off { task: 0, cpu: 1, why: Stop::Block, ran_ns: 1_000_000 });
            if missed(i) {
                let deadline_ns = t + period / 2;
                w.event(deadline_ns, &Event::DeadlineMiss { task: 0, job: i as u32, deadline_ns });
            }
        }
        let windows = w.finish(100 * period).expect("memory is never full");
        let bytes = file.take();
        (bytes, windows)
    }

    #[test]
    fn parts_are_smaller_than_the_whole() {
        let (full, _) = traced(Part::Full);
        let (span, windows) = traced(Part::Span(100_500_000, 200_000_000));
        assert_eq!(windows, 1);
        let (misses, windows) = traced(Part::Misses);
        assert_eq!(windows, 1);
        assert!(
            span.len() < full.len() / 4 && misses.len() < span.len(),
            "{} {} {}",
            full.len(),
            span.len(),
            misses.len()
        );
        let name = b"worker";
        for part in [&full, &span, &misses] {
            assert!(part.windows(name.len()).any(|w| w == name), "tasks have names in every part");
        }
    }

    /// Windows without a gap between them are one: the state is not repeated for each miss.
    #[test]
    fn windows_that_meet_are_one() {
        let all = |_| true;
        let (full, _) = traced_every(Part::Full, 4_000_000, all);
        let (misses, windows) = traced_every(Part::Misses, 4_000_000, all);
        assert_eq!(windows, 1);
        assert!(misses.len() <= full.len(), "{} of {}", misses.len(), full.len());
        let (_, windows) = traced_every(Part::Misses, 4_000_000, |job| job % 10 == 9);
        assert_eq!(windows, 10);
    }

    /// A window that nothing falls into is not a window.
    #[test]
    fn an_empty_span_has_names_only() {
        let (late, windows) = traced(Part::Span(5_000_000_000, 6_000_000_000));
        assert_eq!(windows, 0);
        assert!(late.len() < 1_000, "{}", late.len());
    }
}
