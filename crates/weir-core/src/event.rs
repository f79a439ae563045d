// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What happened in a run: one vocabulary for the simulator, the live kernel and every report.
//!
//! A runtime calls [`Observer::event`] in order of time. Metrics, traces and checkers are
//! observers; none of them may influence the run.

use crate::{Counters, Plan};

/// Task number, dense from 0 in order of creation.
pub type TaskNo = u32;
/// CPU number.
pub type CpuNo = u32;

/// Why a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// Displaced while still runnable: counts as a preemption.
    Preempted,
    /// Its slice ran out (it may be picked again at once; a preemption only if another task follows).
    SliceEnd,
    /// It yielded.
    Yield,
    /// It waits for time, a lock, a message …
    Block,
    /// It ended.
    Exit,
}

/// Core calls that a runtime makes, for accounting (`schedule.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Admit,
    Unblock,
    Relinquish,
    Block,
    Exit,
    Pick,
    Notify,
    Timer,
    Swap,
}

impl Call {
    /// All of them, by number.
    pub const ALL: [Self; 9] = [
        Self::Admit,
        Self::Unblock,
        Self::Relinquish,
        Self::Block,
        Self::Exit,
        Self::Pick,
        Self::Notify,
        Self::Timer,
        Self::Swap,
    ];

    /// As summaries and traces call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Unblock => "unblock",
            Self::Relinquish => "relinquish",
            Self::Block => "block",
            Self::Exit => "exit",
            Self::Pick => "pick",
            Self::Notify => "notify",
            Self::Timer => "timer",
            Self::Swap => "swap",
        }
    }
}

/// How urgent the kernel holds a task to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urgency {
    /// Its number for it: 100 to 139 for nice -20 to 19, below for real-time ones.
    pub prio: u8,
    /// `SCHED_` and so on as a number: 0 other, 3 batch, 5 idle.
    pub policy: u8,
}

/// One event. Names are borrowed: an observer copies what it keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A task is known from now on.
    TaskNew {
        task: TaskNo,
        name: &'a str,
        group: &'a str,
    },
    /// The task, or its thread in a live kernel, goes by another name and group from now on.
    TaskName {
        task: TaskNo,
        name: &'a str,
        group: &'a str,
    },
    TaskExit {
        task: TaskNo,
    },
    /// The task has this priority from now on. Reported where it is known: by the live kernel.
    Priority {
        task: TaskNo,
        urgency: Urgency,
    },
    /// A job is released (periodic release or wake-up). `due_ns`: when it was due, which lies before this event where its task begins it
    /// late; `deadline_ns` is absolute.
    JobRelease {
        task: TaskNo,
        job: u32,
        due_ns: u64,
        deadline_ns: Option<u64>,
    },
    /// The job's work is done; `response_ns` counts from its release.
    JobDone {
        task: TaskNo,
        job: u32,
        response_ns: u64,
        missed: bool,
    },
    /// The deadline passed with the job unfinished (once a job, at the deadline or at the job's end).
    DeadlineMiss {
        task: TaskNo,
        job: u32,
        deadline_ns: u64,
    },
    /// The job ends without its work done: aborted at its deadline, skipped, or shed by a change of mode.
    JobDropped {
        task: TaskNo,
        job: u32,
    },
    /// The task became schedulable. `wakeup` is false where it only went back after running.
    Ready {
        task: TaskNo,
        wakeup: bool,
    },
    /// The task runs on `cpu`; `migrated` if it last ran on another one. `waited_ns` counts from `Ready`.
    Run {
        task: TaskNo,
        cpu: CpuNo,
        migrated: bool,
        switched: bool,
        wakeup: bool,
        waited_ns: u64,
    },
    /// The task stops running.
    Off {
        task: TaskNo,
        cpu: CpuNo,
        why: Stop,
        ran_ns: u64,
    },
    /// `preempted` was confirmed: after `Stop::SliceEnd` or `Stop::Yield` another task was picked.
    Preempted {
        task: TaskNo,
        cpu: CpuNo,
    },
    /// The CPU has nothing to run / has work again.
    Idle {
        cpu: CpuNo,
        idle: bool,
    },
    /// `cpu` ran scheduler code for `ns` ending now, `lock_wait_ns` of it waiting for pipe locks.
    Sched {
        cpu: CpuNo,
        call: Call,
        ns: u64,
        lock_wait_ns: u64,
    },
    /// Share of a pipe's lock or of an instance's code in scheduler time, since the last such event.
    PipeLock {
        pipe: u32,
        held_ns: u64,
        wait_ns: u64,
    },
    InstanceTime {
        instance: u32,
        ns: u64,
        updates: u32,
    },
    /// Tasks in a pipe after a change.
    PipeDepth {
        pipe: u32,
        depth: u32,
    },
    /// The task is about to wait, its `Off` follows; or it waits already, and for something else from now on. `what` is a kind
    /// and a name, `mutex m`; `holder` has what it waits for. Reported where an observer asks for causes.
    WaitsFor {
        task: TaskNo,
        what: &'a str,
        holder: Option<TaskNo>,
    },
    /// The task is about to become schedulable, its `Ready` follows: woken by `by`, or by time or a device. Reported where an observer
    /// asks for causes, and by the live kernel.
    Woken {
        task: TaskNo,
        by: Option<TaskNo>,
    },
    /// The schedulable task has got as far as this pipe. Reported where an observer asks for causes.
    Stands {
        task: TaskNo,
        pipe: u32,
    },
    /// The task may run on these CPUs only, as a list: `0-3,8`. Reported where an observer asks for causes.
    Allowed {
        task: TaskNo,
        cpus: &'a str,
    },
    /// Cold caches make what the task does next take so much longer. Reported where an observer asks for causes.
    Refill {
        task: TaskNo,
        ns: u64,
    },
    /// A message passed the broker.
    Message {
        topic: &'a str,
        cpu: CpuNo,
        task: Option<TaskNo>,
        value: u64,
    },
    /// A program asked about its task, and the topic's responder answered.
    Reply {
        topic: &'a str,
        cpu: CpuNo,
        task: TaskNo,
        value: u64,
    },
    /// The task set up an inter-processor interrupt, woke another CPU …
    Kick {
        cpu: CpuNo,
    },
    /// A planner, or the way that gangs are run, sends a message to another CPU, which gets it as [`Event::MessageArrived`].
    MessageSent {
        from: CpuNo,
        to: CpuNo,
        number: u64,
        what: &'static str,
    },
    MessageArrived {
        to: CpuNo,
        number: u64,
        what: &'static str,
    },
    /// The slot of a gang begins or is over, by the plan.
    GangSlot {
        gang: u32,
        name: &'a str,
        begins: bool,
    },
    CpuOnline {
        cpu: CpuNo,
        online: bool,
    },
    /// New clock of a CPU.
    Frequency {
        cpu: CpuNo,
        hz: u64,
    },
    /// Energy used by the machine since the last such event.
    Energy {
        uj: u64,
    },
    /// The scheduler was reconfigured.
    Swap {
        from: &'a str,
        to: &'a str,
        pause_ns: u64,
        represented: u32,
    },
    /// What a task did since the last report; and, where a component answers PENALTY, by how much the
    /// task's virtual runtime is stretched and its slice shrinks from now on, 1/1024. `passes` is how many
    /// passes through the scheduler this one stands for: a task that yields alone is simulated by few.
    Counters {
        task: TaskNo,
        cpu: CpuNo,
        counts: &'a Counters,
        passes: u64,
        penalty: Option<(i64, i64)>,
    },
    /// A landmark set by user or component.
    Marker {
        text: &'a str,
    },
    /// The host of this virtual CPU gave it no time for the last `ns`, although it had work to do.
    Stolen {
        cpu: CpuNo,
        ns: u64,
    },
    /// An event inside a guest. Guests are numbered from 0 in the order of the workload, each before the guests inside it;
    /// tasks, CPUs, pipes and instances are those of the guest.
    Guest {
        guest: u32,
        event: &'a Event<'a>,
    },
}

/// Receives events in order of time.
pub trait Observer {
    /// `t_ns` is virtual (or, live, monotonic) time since the start of the run.
    fn event(&mut self, t_ns: u64, event: &Event<'_>);

    /// Events of this CPU and this task will probably come soon: a hint for what has much memory.
    fn soon(&self, _cpu: CpuNo, _task: TaskNo) {}

    /// `plan` takes over with the next [`Event::Swap`]: pipes and instances of the events after it are numbered as there.
    fn rewired(&mut self, _plan: &Plan) {}

    /// The same of a guest's scheduler.
    fn guest_rewired(&mut self, _guest: u32, _plan: &Plan) {}
}

/// An observer of the host, and one of each guest, which sees its guest's events as if it were alone.
#[derive(Debug, Default)]
pub struct Nested<O> {
    pub host: O,
    pub guests: Vec<O>,
}

impl<O: Observer> Observer for Nested<O> {
    #[inline(always)]
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        match *event {
            Event::Guest { guest, event } => {
                if let Some(o) = self.guests.get_mut(guest as usize) {
                    o.event(t_ns, event);
                }
            }
            _ => self.host.event(t_ns, event),
        }
    }

    fn soon(&self, cpu: CpuNo, task: TaskNo) {
        self.host.soon(cpu, task);
    }

    fn rewired(&mut self, plan: &Plan) {
        self.host.rewired(plan);
    }

    fn guest_rewired(&mut self, guest: u32, plan: &Plan) {
        if let Some(o) = self.guests.get_mut(guest as usize) {
            o.rewired(plan);
        }
    }
}

/// Several observers at once.
impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline(always)]
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        self.0.event(t_ns, event);
        self.1.event(t_ns, event);
    }

    fn soon(&self, cpu: CpuNo, task: TaskNo) {
        self.0.soon(cpu, task);
    }

    fn rewired(&mut self, plan: &Plan) {
        self.0.rewired(plan);
        self.1.rewired(plan);
    }

    fn guest_rewired(&mut self, guest: u32, plan: &Plan) {
        self.0.guest_rewired(guest, plan);
        self.1.guest_rewired(guest, plan);
    }
}

impl<T: Observer> Observer for Option<T> {
    #[inline(always)]
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        if let Some(o) = self {
            o.event(t_ns, event);
        }
    }

    fn rewired(&mut self, plan: &Plan) {
        if let Some(o) = self {
            o.rewired(plan);
        }
    }

    fn guest_rewired(&mut self, guest: u32, plan: &Plan) {
        if let Some(o) = self {
            o.guest_rewired(guest, plan);
        }
    }
}

impl<T: Observer + ?Sized> Observer for &mut T {
    #[inline(always)]
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        (**self).event(t_ns, event);
    }

    fn soon(&self, cpu: CpuNo, task: TaskNo) {
        (**self).soon(cpu, task);
    }

    fn rewired(&mut self, plan: &Plan) {
        (**self).rewired(plan);
    }

    fn guest_rewired(&mut self, guest: u32, plan: &Plan) {
        (**self).guest_rewired(guest, plan);
    }
}

/// Observes nothing.
impl Observer for () {
    #[inline(always)]
    fn event(&mut self, _: u64, _: &Event<'_>) {}
}
