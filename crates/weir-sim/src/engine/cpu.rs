// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! CPUs: present activity, speed, power, and distance from others.

use std::collections::VecDeque;

use weir_core::event::{Call, CpuNo, Event, Observer};

use super::task::{NEVER, NONE};
use weir_model::{Costs, Machine};

/// Speed of a CPU of capacity 1024 at its top clock: work is kept in this fraction of a nanosecond, of
/// which capacities and percentages are whole multiples.
pub const FULL_SPEED: u64 = 102_400;

/// A CPU's activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    Offline,
    /// Nothing to do, or (a CPU that is served by another) waiting for an answer.
    Idle,
    /// Scheduler code, interrupts, a context switch, until `busy_until`.
    Kernel,
    /// The task `cur`.
    Run,
}

/// How many modes there are.
const MODES: usize = Mode::Run as usize + 1;

/// A call of the scheduler that a CPU makes: which one, what it takes, and how much of that is waiting for locks, ns.
pub type Made = (Call, u64, u64);

/// The calls that a CPU has under way; hardly ever more than two.
#[derive(Debug)]
pub struct Calls {
    nr: u32,
    first: [Made; 2],
    more: Vec<Made>,
}

impl Calls {
    const NONE: Calls = Calls { nr: 0, first: [(Call::Pick, 0, 0); 2], more: Vec::new() };

    #[inline(always)]
    pub fn push(&mut self, made: Made) {
        match self.first.get_mut(self.nr as usize) {
            Some(place) => {
                *place = made;
                self.nr += 1;
            }
            None => self.more.push(made),
        }
    }

    /// All of them, each once, in their order; they are over.
    #[inline(always)]
    pub fn drain(&mut self, mut each: impl FnMut(Made)) {
        let nr = std::mem::take(&mut self.nr);
        if nr > 0 {
            each(self.first[0]);
        }
        if nr > 1 {
            each(self.first[1]);
            self.more.drain(..).for_each(each);
        }
    }
}

/// One CPU. What every event touches stands in the first two lines of a cache; there may be thousands of CPUs.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Cpu {
    pub mode: Mode,
    /// `cur` was chosen and has not begun to run.
    pub starting: bool,
    /// It is to choose at its next event.
    pub choosing: bool,
    /// When it last took a task that does not only look at a barrier, in runs with tasks that do.
    pub worked: u64,
    /// Its next event must be recomputed.
    pub changed: bool,
    /// It is virtual, and its host does not run it; whether it has something to do nevertheless.
    pub held: bool,
    pub wanting: bool,
    /// An interrupt that asks for its task came while it was held.
    pub preempt_due: bool,
    /// Observers know that it is idle.
    pub reported_idle: bool,
    /// Interrupts on their way to it.
    pub kick_sent: bool,
    pub preempt_sent: bool,
    pub isa: u16,
    /// The task it has, running or about to run.
    pub cur: u32,
    /// The task that it parted from and may choose again.
    pub prev: u32,
    /// The task that ran last: no switch if it comes again.
    pub last: u32,
    /// Which of the machine's CPUs runs the scheduler for it; itself as a rule.
    pub host: CpuNo,
    pub core: u32,
    /// Since when it is in `mode`; in `Run`, since when its task's work is accounted.
    pub since: u64,
    /// Kernel work ends then.
    pub busy_until: u64,
    /// The task must leave then.
    pub slice_end: u64,
    /// Speed now.
    pub speed: u64,

    /// Length of the slice granted, and since when it counts.
    pub slice_ns: u64,
    pub slice_since: u64,
    /// Next tick, where a component listens.
    pub tick_at: u64,
    /// Totals by mode, ns.
    spent_ns: [u64; MODES],

    /// Kernel work under way, reported to observers when it ends.
    pub calls: Calls,
    /// Number of hardware threads of its core.
    pub threads: u32,
    busy_mw: u32,
    idle_mw: u32,
    /// Decisions in a row that let a task run hardly at all, and the instance that published the last PREEMPT.
    pub fruitless: u32,
    pub preempted_by: u32,
    pub switches: u64,
    /// Tasks that its task has released all at once and that it wakes one after the other.
    pub to_wake: VecDeque<u32>,

    /// Its ticks are so much later than multiples of their period.
    pub tick_phase: u64,
    /// Kernel work that was left when the host took it away, and what came in the meantime, ns.
    pub left_ns: u64,
    pub hz: u64,
    /// Speed alone on its core, as a fraction of [`FULL_SPEED`].
    pub alone_speed: u64,
    /// The clock that components asked for, and the highest that events of the machine allow.
    pub wished_hz: u64,
    pub limit_hz: u64,
    /// Of a virtual CPU: time in which its host did not run it although it had something to do, and as much of it as
    /// observers know.
    pub stolen_ns: u64,
    pub stolen_reported: u64,
    /// Energy that the totals `at_mw` took, millijoule / 10^9 (mW times ns): up to the last change of the clock.
    energy_pj: u128,
    at_mw: [u64; MODES],
}

impl Cpu {
    pub fn new(machine: &Machine, costs: &Costs, cpu: CpuNo) -> Self {
        let shape = &machine.shape.cpus[cpu as usize];
        let kind = &machine.kinds[machine.kind_of[cpu as usize] as usize];
        let mut c = Self {
            mode: Mode::Offline,
            cur: NONE,
            starting: false,
            choosing: false,
            changed: false,
            reported_idle: false,
            held: false,
            wanting: false,
            preempt_due: false,
            left_ns: 0,
            stolen_ns: 0,
            stolen_reported: 0,
            kick_sent: false,
            preempt_sent: false,
            worked: 0,
            prev: NONE,
            last: NONE,
            since: 0,
            busy_until: 0,
            slice_end: NEVER,
            slice_ns: NEVER,
            slice_since: 0,
            fruitless: 0,
            preempted_by: NONE,
            tick_at: NEVER,
            tick_phase: 0,
            to_wake: VecDeque::new(),
            calls: Calls::NONE,
            host: shape.host.unwrap_or(cpu),
            core: shape.core,
            threads: 1,
            isa: shape.isa,
            hz: machine.top_hz(cpu),
            alone_speed: 0,
            speed: 0,
            busy_mw: 0,
            idle_mw: kind.idle_mw,
            wished_hz: machine.top_hz(cpu),
            limit_hz: machine.top_hz(cpu),
            spent_ns: [0; MODES],
            switches: 0,
            energy_pj: 0,
            at_mw: [0; MODES],
        };
        c.set_clock(machine, costs, cpu, machine.top_hz(cpu));
        c
    }

    /// Change the clock; the caller has settled the account up to now.
    pub fn set_clock(&mut self, machine: &Machine, costs: &Costs, cpu: CpuNo, hz: u64) {
        self.energy_pj = self.energy_pj();
        self.at_mw = self.spent_ns;
        let top = machine.top_hz(cpu).max(1);
        self.hz = hz;
        let capacity = u128::from(machine.shape.cpus[cpu as usize].capacity);
        let mut speed = u128::from(FULL_SPEED) * capacity * u128::from(hz) / (1024 * u128::from(top));
        // The tick of a busy CPU is so regular that it is a loss of speed rather than an event.
        if costs.tick > 0 && costs.tick_period > costs.tick {
            speed = speed * u128::from(costs.tick_period - costs.tick) / u128::from(costs.tick_period);
        }
        self.alone_speed = u64::try_from(speed).unwrap_or(u64::MAX / 1024).max(1);
        self.speed = self.alone_speed;
        self.busy_mw = machine.busy_mw(cpu, hz);
    }

    /// Its next event, as CPU `c`, is to be computed again; `changed` has all those that are.
    #[inline(always)]
    pub fn rekey(&mut self, c: CpuNo, changed: &mut Vec<CpuNo>) {
        if !std::mem::replace(&mut self.changed, true) {
            changed.push(c);
        }
    }

    /// Report to an observer the kernel work that it, CPU `c`, has done up to now.
    #[inline(always)]
    pub fn report_calls(&mut self, c: CpuNo, now: u64, obs: &mut dyn Observer) {
        self.calls.drain(|(call, ns, lock_wait_ns)| {
            obs.event(now, &Event::Sched { cpu: c, call, ns, lock_wait_ns });
        });
    }

    /// Some task or the kernel uses it.
    pub fn is_busy(&self) -> bool {
        matches!(self.mode, Mode::Kernel | Mode::Run)
    }

    /// Account for the time since `since` in the present mode. In `Run` the caller also accounts for
    /// the task.
    #[inline(always)]
    pub fn settle(&mut self, now: u64) {
        if self.held {
            return self.settle_held(now);
        }
        self.spent_ns[self.mode as usize] += now.saturating_sub(self.since);
        self.since = self.since.max(now);
    }

    fn settle_held(&mut self, now: u64) {
        let ns = now.saturating_sub(self.since);
        match self.mode {
            Mode::Offline => {}
            _ if self.wanting => self.stolen_ns += ns,
            _ => self.spent_ns[Mode::Idle as usize] += ns,
        }
        self.since = self.since.max(now);
    }

    /// How long it has been in a mode, ns.
    pub fn spent_ns(&self, mode: Mode) -> u64 {
        self.spent_ns[mode as usize]
    }

    /// Energy so far, millijoule / 10^9 (mW times ns).
    pub fn energy_pj(&self) -> u128 {
        let since = |mode: Mode| u128::from(self.spent_ns[mode as usize] - self.at_mw[mode as usize]);
        let (busy_ns, idle_ns) = (since(Mode::Kernel) + since(Mode::Run), since(Mode::Idle));
        self.energy_pj + u128::from(self.busy_mw) * busy_ns + u128::from(self.idle_mw) * idle_ns
    }
}

/// Time that `left` units of work take at this speed.
pub fn time_for(left: u64, speed: u64) -> u64 {
    if speed == FULL_SPEED {
        return left.div_ceil(FULL_SPEED);
    }
    left.div_ceil(speed)
}

/// Work done in a time; saturates where a time is "for ever".
pub fn work_in(ns: u64, speed: u64) -> u64 {
    ns.saturating_mul(speed)
}

/// Hardware threads of each core: for CPU `c` the other threads are
/// `list[start[core]..start[core + 1]]` without `c`.
#[derive(Debug)]
pub struct Cores {
    start: Vec<u32>,
    list: Vec<CpuNo>,
    /// Threads of each core that are busy.
    pub busy: Vec<u32>,
}

impl Cores {
    pub fn new(machine: &Machine) -> Self {
        let cpus = &machine.shape.cpus;
        let n = cpus.iter().map(|c| c.core as usize + 1).max().unwrap_or(0);
        let mut start = vec![0u32; n + 1];
        cpus.iter().for_each(|c| start[c.core as usize + 1] += 1);
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut list = vec![0; cpus.len()];
        for (i, c) in cpus.iter().enumerate() {
            list[next[c.core as usize] as usize] = i as CpuNo;
            next[c.core as usize] += 1;
        }
        Self { start, list, busy: vec![0; n] }
    }

    pub fn threads(&self, core: u32) -> &[CpuNo] {
        &self.list[self.start[core as usize] as usize..self.start[core as usize + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_work_are_inverse() {
        for speed in [FULL_SPEED, FULL_SPEED / 2, 12345, 1] {
            for ns in [0, 1, 7, 1_000_003] {
                assert_eq!(time_for(work_in(ns, speed), speed), ns);
            }
        }
        assert_eq!(time_for(FULL_SPEED + 1, FULL_SPEED), 2);
        assert_eq!(time_for(100 * FULL_SPEED, FULL_SPEED * 7 / 10), 143);
    }
}
