// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The engine's record of a task. There may be millions, so it is kept small.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use weir_core::event::{CpuNo, Stop, TaskNo};
use weir_core::{CpuSet, TaskId};

use super::cpu::{FULL_SPEED, time_for, work_in};
use super::inherit::Urgency;
use super::program::{LoopFrame, Program};
use weir_model::rng::Rng;
use weir_model::workload::Flow;
use weir_model::workload::TaskSpec;

/// No CPU, no task.
pub const NONE: u32 = u32::MAX;
/// No time.
pub const NEVER: u64 = u64::MAX;

/// In [`Task::spins`]: the rest is the index of a mutex.
pub const SPIN_LOCK: u32 = 1 << 31;

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The scheduler may choose it.
    Ready,
    /// A CPU has it: it runs, or is about to.
    Running,
    /// It waits; see [`Wait`].
    Blocked,
    /// It ended.
    Gone,
}

/// What a blocked task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing (not blocked).
    No,
    /// A time; an event of kind `Wake` is queued.
    Time,
    /// Its next release.
    Release,
    /// Device input or output, which takes a time.
    Device,
    Mutex(u32),
    /// A condition and its mutex.
    Condition(u32, u32),
    Event(u32),
    Barrier(u32),
    Read(u32),
    Write(u32),
    /// The nodes before it in its graph.
    Join,
    /// Nothing any more: its wake-up is on the way to the CPU where it ran last.
    Sent,
    /// Work for its virtual CPU, of this guest.
    Vcpu(u32),
}

impl Wait {
    /// It ends by itself.
    pub fn is_timed(self) -> bool {
        matches!(self, Wait::Time | Wait::Release | Wait::Device | Wait::Sent)
    }
}

/// A job that was released while its predecessor was not done.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    pub job: u32,
    pub release_ns: u64,
    pub deadline_ns: u64,
    pub missed: bool,
}

/// The jobs of a task that wait for their predecessor, in order, and when each is due.
#[derive(Debug, Default)]
pub struct Waiting {
    jobs: VecDeque<Backlog>,
    /// Deadlines ahead, with the job's number; of jobs that have left in the meantime, too.
    due: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Waiting {
    pub fn push(&mut self, job: Backlog) {
        if job.deadline_ns != NEVER && !job.missed {
            self.due.push(Reverse((job.deadline_ns, job.job)));
        }
        self.jobs.push_back(job);
    }

    /// The job whose turn it is.
    pub fn pop(&mut self) -> Option<Backlog> {
        self.jobs.pop_front()
    }

    /// A job that misses its deadline now: its number. With `drop` it leaves. Jobs of earlier deadlines have been reported before.
    pub fn late(&mut self, now: u64, drop: bool) -> Option<u32> {
        while let Some(&Reverse((deadline, job))) = self.due.peek() {
            if deadline > now {
                return None;
            }
            self.due.pop();
            let Ok(at) = self.jobs.binary_search_by_key(&job, |b| b.job) else { continue };
            if deadline == now {
                self.jobs[at].missed = true;
                if drop {
                    self.jobs.remove(at);
                }
                return Some(job);
            }
        }
        None
    }
}

/// A task, from its creation to the end of the run. What every slice touches stands in the first two lines of a cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Task<'a> {
    /// Handle in the scheduler.
    pub id: TaskId,
    pub state: State,
    /// The work left is time on any CPU, however fast.
    pub by_time: bool,
    /// It was woken (and not displaced) before its next run.
    pub woken: bool,
    /// Its CPU has paid for entering the guest of which it is a CPU, and runs it.
    pub entered: bool,
    pub inside: bool,
    /// The scheduler has seen it before.
    pub admitted: bool,
    /// It waits for its first job, or no job is open.
    pub job_open: bool,
    pub job_missed: bool,
    /// Its CPU gave it back to the scheduler and has not chosen yet: that CPU, why, and whether it is a
    /// preemption if another task follows. If the CPU chooses it again, it has never stopped.
    pub parted: Option<(CpuNo, Stop, bool)>,
    /// CPU it runs on or last ran on; [`NONE`] before the first run.
    pub cpu: CpuNo,
    /// The barrier that it spins at, [`NONE`]: at none; the work left is how long it will.
    pub at_barrier: u32,
    /// It waits there by offering its CPU to others: for how many looks the work left stands. 0: it does not.
    pub looks: u32,
    /// It has offered its CPU, when, and looks again when it gets one; [`NEVER`]: it has not.
    pub offered: u64,
    /// It spins on a flag (index), or for a mutex ([`SPIN_LOCK`] and its index); the work left is meaningless.
    pub spins: Option<u32>,
    /// Work left in the current op, in fractions of a nanosecond (`FULL_SPEED` of them).
    pub left: u64,
    /// Since when it runs without interruption; time it ran since then.
    pub ran_ns: u64,
    /// Since when it is ready.
    pub ready_ns: u64,

    /// Time lost to cold caches, to be added to the next work, ns.
    pub penalty_ns: u64,
    pub isa: u16,
    /// The guest of which it is a CPU, [`NONE`]: none, and which one.
    pub guest: u32,
    pub vcpu: u32,
    /// The gang whose slots it may have, [`NONE`]: none.
    pub gang: u32,
    /// Index into the workload's templates, and of their program.
    pub spec: u32,
    pub program: u32,
    pub pc: u32,
    /// Loops under way, outermost first.
    pub level: u32,
    pub wait: Wait,
    pub priority: i32,

    pub frames: Box<[LoopFrame]>,
    pub rng: Rng,
    /// Number of the present job, or of the last one; number of the next one to be released.
    pub job: u32,
    pub next_job: u32,
    pub job_release_ns: u64,
    /// Absolute, or [`NEVER`].
    pub job_deadline_ns: u64,
    /// Period published with a deadline, 0 if there is none, ns.
    pub period_ns: u64,

    /// The release that a timer is queued for: time of the timer ([`NEVER`]: none), release, deadline.
    pub upcoming: (u64, u64, u64),
    /// Releases so far, and what sporadic inter-arrival times added to them, ns.
    pub releases: u32,
    /// CPU that takes it in when its first release comes, if it waits for that.
    pub home: CpuNo,
    pub release_shift_ns: u64,
    /// When the time comes that it waits for; [`NEVER`] where it waits for no time, or not any more.
    pub wake_at: u64,
    pub start_ns: u64,
    /// What mutexes with a protocol have made of its urgency, if that differs from its own.
    pub boost: Option<Box<Urgency>>,
    /// The barrier at which it has counted itself and has still to arrive, [`NONE`]: none.
    pub counted: u32,

    pub cpus: Option<&'a CpuSet>,
    /// Next expiry of each private timer, [`NEVER`] before the first use.
    pub timers: Box<[u64]>,
    /// Mutexes that it holds, in the order in which it got them.
    pub held: Vec<u32>,
    /// Jobs that wait for the present one; boxed because most tasks never have any.
    pub backlog: Option<Box<Waiting>>,
    /// Where its arrivals stand, if they are drawn or listed.
    pub flow: Option<Box<Flow>>,
    /// The stream of its releases, where other tasks draw the same.
    pub release_rng: Option<Rng>,
}

impl<'a> Task<'a> {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        no: TaskNo,
        id: TaskId,
        spec_idx: u32,
        spec: &'a TaskSpec,
        program: u32,
        p: &Program<'_>,
        isa: u16,
        seed: u64,
        now: u64,
    ) -> Self {
        Self {
            id,
            spec: spec_idx,
            program,
            pc: 0,
            level: 0,
            frames: vec![LoopFrame::default(); p.depth as usize].into_boxed_slice(),
            timers: vec![NEVER; p.timers as usize].into_boxed_slice(),
            rng: Rng::new(seed, no as u64),
            state: State::Blocked,
            wait: Wait::No,
            by_time: false,
            spins: None,
            at_barrier: NONE,
            looks: 0,
            offered: NEVER,
            counted: NONE,
            gang: NONE,
            guest: NONE,
            vcpu: 0,
            entered: false,
            inside: false,
            parted: None,
            admitted: false,
            woken: false,
            job_open: false,
            job_missed: false,
            held: Vec::new(),
            wake_at: NEVER,
            left: 0,
            penalty_ns: 0,
            cpu: NONE,
            home: NONE,
            priority: spec.priority,
            isa,
            cpus: spec.cpus.as_ref(),
            ready_ns: now,
            ran_ns: 0,
            start_ns: now,
            job: 0,
            next_job: 0,
            job_release_ns: now,
            job_deadline_ns: NEVER,
            period_ns: 0,
            upcoming: (NEVER, 0, 0),
            backlog: None,
            boost: None,
            flow: None,
            release_rng: p.node.map(|(dag, _)| Rng::new(!seed, u64::from(dag))),
            releases: 0,
            release_shift_ns: 0,
        }
    }

    /// A job that waited for its predecessor is the task's job from now on.
    pub fn take(&mut self, next: Backlog) {
        self.job = next.job;
        self.job_release_ns = next.release_ns;
        self.job_deadline_ns = next.deadline_ns;
        self.job_missed = next.missed;
        self.job_open = true;
    }

    /// When the work that it does since a time, at this speed, is done; [`NEVER`] where it spins, or runs a guest.
    #[inline(always)]
    pub fn done_at(&self, since: u64, speed: u64) -> u64 {
        if self.spins.is_some() || self.inside {
            return NEVER;
        }
        let speed = if self.by_time { FULL_SPEED } else { speed };
        since.saturating_add(time_for(self.left, speed))
    }

    /// Add what cold caches cost to the work that it has before it, on a CPU of this speed.
    #[inline(always)]
    pub fn chill(&mut self, speed: u64) {
        if self.penalty_ns > 0 && self.left > 0 {
            let speed = if self.by_time { FULL_SPEED } else { speed };
            self.left = self.left.saturating_add(work_in(self.penalty_ns, speed));
            self.penalty_ns = 0;
        }
    }

    /// The first CPU that it is bound to: that of a member of a gang.
    pub fn home(&self) -> Option<CpuNo> {
        self.cpus.and_then(|cpus| cpus.iter().next())
    }

    /// It does not look at a barrier any more. Whether it did.
    pub fn stop_looking(&mut self) -> bool {
        self.offered = NEVER;
        std::mem::take(&mut self.looks) > 0
    }

    /// It is allowed to run there.
    pub fn may_run_on(&self, cpu: CpuNo) -> bool {
        self.cpus.is_none_or(|set| set.contains(cpu))
    }
}
