// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A recorded live run: the kernel's events become the events from which reports are made.
//!
//! The kernel sends little (see `runtimes/linux/live.h`): which task woke up, runs or stopped. Further
//! facts for reports are derived here, as `docs/metrics.md` defines them: how long a task waited and ran,
//! whether it migrated, whether it was preempted. Three things differ from a simulation:
//!
//! - The kernel reuses a task's number after its end. Here every task has its own number, so tasks that
//!   ended stay in the results.
//! - A *job* is a task's work from one wake-up until it next blocks. Work before the first wake-up in the
//!   recording belongs to no job.
//! - `ran_ns` is the time on the CPU minus the scheduler's calls within it, so that each nanosecond of a
//!   CPU is counted once. `status` and the kernel count such calls as the task's.

mod order;
mod story;
#[cfg(test)]
mod tests;

use weir_core::event::{Observer, Urgency};

use crate::event::{EventSink, LiveEvent, LiveEventKind};
use crate::snapshot::TaskView;
use order::Window;
use story::Story;

/// How long events wait for older ones of other CPUs.
const WINDOW_NS: u64 = 100_000_000;

/// Likewise where they are to be reported soon.
const SOON_NS: u64 = 2_000_000;

/// How long a swap waits besides for the name of what took over.
const NAME_NS: u64 = 2_000_000_000;

/// How deep the pipes are at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// CLOCK_MONOTONIC.
    pub t_ns: u64,
    /// Topology in charge.
    pub topology: String,
    /// Tasks in each pipe.
    pub depths: Vec<u32>,
    /// Update calls of each instance so far.
    pub updates: Vec<u64>,
}

/// The identity of a task, in the kernel's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Number of the thread; 0: not known.
    pub pid: u32,
    /// Number of the process.
    pub tgid: u32,
    /// Name of the thread; empty: not known.
    pub comm: String,
    /// `None`: not known.
    pub urgency: Option<Urgency>,
}

/// Finds the identity of a task number that no event announced: the recording began later, or the event
/// was lost.
pub type Resolve = Box<dyn FnMut(u32) -> Option<Identity> + Send>;

/// A task of the recording; its index is its number there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub pid: u32,
    pub tgid: u32,
    /// The last name that it had.
    pub name: String,
    /// The last priority that it had; `None`: not known.
    pub urgency: Option<Urgency>,
    /// When the recording first saw it, ns from its start.
    pub began_ns: u64,
    /// When it ended or left this scheduler; `None`: it was there at the end.
    pub ended_ns: Option<u64>,
}

/// How sound a recording is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that came.
    pub events: u64,
    /// Events that came after the window, and were moved up in time.
    pub late: u64,
    /// Contradictions: places where events must be missing. Each gap was closed.
    pub mended: u64,
    /// Tasks whose name could not be found out.
    pub nameless: u64,
}

/// Waiting events.
enum Item {
    Event(LiveEvent),
    Sample(Sample),
    Marker(String),
}

/// Feeds observers with what happens in the kernel.
pub struct Recorder<O> {
    window: Window<Item>,
    story: Story<O>,
    /// CLOCK_MONOTONIC; not known before the first event.
    start_ns: Option<u64>,
    /// How long a swap waits besides for the name of what took over.
    name_ns: u64,
    events: u64,
}

/// A finished recording.
pub struct Recording<O> {
    pub observer: O,
    /// Length, ns.
    pub duration_ns: u64,
    pub threads: Vec<Thread>,
    pub counts: Counts,
}

impl<O: Observer> Recorder<O> {
    /// A recording that begins at `start_ns` (CLOCK_MONOTONIC), or else with the first event, under
    /// `topology`. `resolve` gives the identity of a task that was not announced.
    pub fn new(topology: &str, start_ns: Option<u64>, observer: O, resolve: Resolve) -> Self {
        let window = Window::new(WINDOW_NS);
        let story = Story::new(topology, observer, resolve);
        Self { window, story, start_ns, name_ns: NAME_NS, events: 0 }
    }

    /// For observers that ask for no names and want to know soon: events are reported [`Self::lag_ns`] after they happened, at
    /// CLOCK_MONOTONIC time. More of them than in a recording come out of order, and count as a little later than they were.
    pub fn soon(observer: O) -> Self {
        let story = Story::new("", observer, Box::new(|_| None));
        Self { window: Window::new(SOON_NS), story, start_ns: Some(0), name_ns: 0, events: 0 }
    }

    /// How long events wait, ns.
    pub fn lag_ns(&self) -> u64 {
        self.window.span_ns()
    }

    /// The observers, to make names of pipes known to them.
    pub fn observer(&mut self) -> &mut O {
        &mut self.story.obs
    }

    /// Topology `name` took over at CLOCK_MONOTONIC `t_ns`. The kernel's own event of it has no name, and
    /// waits for this up to two seconds.
    pub fn changed(&mut self, t_ns: u64, name: &str) {
        self.story.changed(t_ns, name);
    }

    /// Sets a landmark at CLOCK_MONOTONIC `t_ns`.
    pub fn marker(&mut self, t_ns: u64, text: &str) {
        self.push(t_ns, Item::Marker(text.into()));
    }

    /// Takes in how deep the pipes are. The depths of a recording are such samples.
    pub fn sample(&mut self, s: Sample) {
        self.push(s.t_ns, Item::Sample(s));
    }

    /// Takes in the present names of tasks.
    pub fn names(&mut self, tasks: &[TaskView]) {
        for t in tasks {
            let identity = Identity { pid: t.pid, tgid: t.tgid, comm: t.comm.clone(), urgency: None };
            self.story.learn(t.id, identity);
        }
    }

    /// Asks `name` for the names of tasks that came lately, at some calls in a row: a new thread begins with its
    /// maker's name and gets its own sooner or later. `name` is given the thread's number.
    pub fn name_new_tasks(&mut self, name: impl Fn(u32) -> Option<String>) {
        self.story.name_new_tasks(name);
    }

    /// Ends the recording at CLOCK_MONOTONIC `end_ns`.
    pub fn finish(mut self, end_ns: u64) -> Recording<O> {
        while let Some((t_ns, item)) = self.window.pop_now() {
            self.emit(t_ns, item);
        }
        let start_ns = self.start_ns.unwrap_or(end_ns);
        let duration_ns = end_ns.saturating_sub(start_ns).max(self.story.now_ns);
        let counts = Counts { events: self.events, late: self.window.late, ..self.story.counts };
        Recording { observer: self.story.obs, duration_ns, threads: self.story.threads, counts }
    }

    fn push(&mut self, t_ns: u64, item: Item) {
        self.window.push(t_ns, item);
    }

    /// Reports to the observers what has waited long enough.
    fn pass_on(&mut self) {
        let name_ns = self.name_ns;
        loop {
            let story = &self.story;
            let next = self.window.pop(|t_ns, item| match item {
                // The loader's word of a switch may come late where the machine is busy.
                Item::Event(e) if matches!(e.kind, LiveEventKind::Swap { .. }) && !story.knows(t_ns) => {
                    name_ns
                }
                _ => 0,
            });
            let Some((t_ns, item)) = next else { break };
            self.emit(t_ns, item);
        }
    }

    fn emit(&mut self, at_ns: u64, item: Item) {
        // What was under way when the recording began is reported at its beginning.
        let t_ns = at_ns.saturating_sub(*self.start_ns.get_or_insert(at_ns));
        match item {
            Item::Event(event) => self.story.event(t_ns, at_ns, &event),
            Item::Marker(text) => self.story.marker(t_ns, &text),
            Item::Sample(s) => {
                self.story.depths(t_ns, &s.topology, &s.depths);
                self.story.updates(&s.topology, &s.updates);
            }
        }
    }
}

impl<O: Observer + Send> EventSink for Recorder<O> {
    fn event(&mut self, event: &LiveEvent) {
        self.events += 1;
        self.push(event.t_ns, Item::Event(event.clone()));
        self.window.advance(event.t_ns);
        self.pass_on();
    }
}
