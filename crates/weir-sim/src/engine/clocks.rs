// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! CPUs with their own clocks: their readings, and how they are made equal (source 1, 3.6).
//!
//! The simulation's time is the reference that all can read. A CPU's own clock has an offset and a drift; slots of gangs go by it. The
//! protocol is the C of `runtimes/multikernel/clocksync.c`. Before the first round has ended, and if phase locking is disabled,
//! gangs are best effort.

use weir_core::clocksync::{Answer, ClockSync, State};
use weir_core::event::CpuNo;
use weir_core::gang::Row;
use weir_core::{Plan, Topic};

use super::Result;
use super::gang::{GangMessage, scatter};
use super::sim::Sim;
use weir_model::Machine;
use weir_model::machine::Clocks;

/// A billionth, in which drift is reckoned.
const WHOLE: i128 = 1_000_000_000;

/// What became of the clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockOutcome {
    /// Rounds that were begun, and those of them that some CPU was too late for.
    pub rounds: u64,
    pub failed: u64,
    /// Rounds that were begun because a clock had drifted.
    pub drifted: u64,
    /// The last margin would have been too long: gangs are best effort.
    pub disabled: bool,
    /// The largest error of a clock when it was read.
    pub error_max_ns: u64,
    /// Time that CPUs spent waiting for targets.
    pub waited_ns: u64,
}

/// One CPU's clock.
#[derive(Clone, Copy, Debug)]
struct Own {
    offset_ns: u64,
    /// Too fast by so many billionths.
    drift: i128,
    /// The common time less its own, once clocks are equal.
    base_ns: i64,
}

/// The clocks of a run.
#[derive(Debug)]
pub struct CpuClocks {
    spec: Clocks,
    own: Vec<Own>,
    sync: ClockSync,
    /// By CPU: what it answered in this round; slots go by the last one until all have answered.
    pending: Vec<i64>,
    /// There was a round in which no CPU was late: `base_ns` is valid.
    equal: bool,
    pub outcome: ClockOutcome,
}

impl CpuClocks {
    /// Of a machine whose clocks are not one, if the topology has slots.
    pub fn new(machine: &Machine, plan: &Plan, seed: u64) -> Option<Self> {
        let spec = machine.clocks.filter(|_| plan.listens_to(Topic::GangSlot))?;
        let nr = machine.shape.nr_cpus();
        let drawn = |cpu: u32, what: u64, below: u64| scatter(seed, [what, u64::from(cpu), 0], below);
        let drift = u64::from(spec.drift_ppm) * 1_000;
        let own = (0..nr)
            .map(|c| Own {
                offset_ns: drawn(c, 1, spec.offset_ns + 1),
                drift: i128::from(drawn(c, 2, 2 * drift + 1)) - i128::from(drift),
                base_ns: 0,
            })
            .collect();
        let sync = ClockSync::new(nr)?;
        Some(Self {
            spec,
            own,
            sync,
            pending: vec![0; nr as usize],
            equal: false,
            outcome: ClockOutcome::default(),
        })
    }

    /// The reading of a CPU's clock.
    pub fn local(&self, c: CpuNo, now: u64) -> u64 {
        let own = &self.own[c as usize];
        let drifted = i128::from(now) * own.drift / WHOLE;
        (i128::from(now) + i128::from(own.offset_ns) + drifted) as u64
    }

    /// When the clock of a CPU says `local` or more for the first time.
    pub fn when(&self, c: CpuNo, local: u64) -> u64 {
        let own = &self.own[c as usize];
        let since = (i128::from(local) - i128::from(own.offset_ns)).max(0);
        let mut at = (since * WHOLE / (WHOLE + own.drift)) as u64;
        while self.local(c, at) < local {
            at += 1;
        }
        while at > 0 && self.local(c, at - 1) >= local {
            at -= 1;
        }
        at
    }

    /// A row of the common time by the clock of a CPU; none while clocks are not equal.
    pub fn row(&self, c: CpuNo, row: &Row, from: u64) -> (Row, u64) {
        if !self.equal {
            return (Row::default(), 0);
        }
        Self::by_base(i128::from(self.own[c as usize].base_ns), row, from)
    }

    /// The same without equal clocks, for a row that begins now.
    pub fn row_now(&self, c: CpuNo, row: &Row, from: u64, now: u64) -> (Row, u64) {
        let base = i128::from(now) - i128::from(self.local(c, now));
        Self::by_base(base, row, from)
    }

    fn by_base(base: i128, row: &Row, from: u64) -> (Row, u64) {
        let period = i128::from(row.period_ns.max(1));
        let offset_ns = (i128::from(row.offset_ns) - base).rem_euclid(period) as u64;
        (Row { offset_ns, ..*row }, (i128::from(from) - base).max(0) as u64)
    }

    /// When the clock of a CPU says that the common time is `at`.
    pub fn begin(&self, c: CpuNo, at: u64) -> u64 {
        self.when(c, (i128::from(at) - i128::from(self.own[c as usize].base_ns)).max(0) as u64)
    }

    pub fn is_equal(&self) -> bool {
        self.equal
    }

    /// How far a clock is off.
    fn error(&self, c: CpuNo, now: u64) -> u64 {
        self.sync.time(c, self.local(c, now)).abs_diff(now)
    }
}

impl Sim<'_> {
    /// The first CPU announces a target to all.
    pub fn begin_round(&mut self) {
        let by = self.boot_cpu;
        let now = self.now;
        let Some(clocks) = &mut self.gangs.clocks else { return };
        let Some((target, sequence)) = clocks.sync.begin(now) else { return };
        clocks.outcome.rounds += 1;
        let late = clocks.spec.late_ns;
        for c in 0..self.cpus.len() as CpuNo {
            let way = if c == by { 0 } else { self.charger.message_ns(by, c) + late };
            self.post(now + way, GangMessage::Target { cpu: c, target, sequence });
        }
    }

    /// A CPU receives a target: it stops its work and waits for it, or reports that it has passed.
    pub fn target_heard(&mut self, c: CpuNo, target: u64, sequence: u32) {
        let (by, now) = (self.boot_cpu, self.now);
        let late = !ClockSync::in_time(target, now);
        let at = if late { now } else { target };
        self.charge_flat(c, at - now);
        let back = if c == by { 0 } else { self.charger.message_ns(c, by) };
        let Some(clocks) = &mut self.gangs.clocks else { return };
        clocks.outcome.waited_ns += at - now;
        let base_ns = at as i64 - clocks.local(c, at) as i64;
        let answer = Answer { cpu: c, sequence, late: late.into(), base_ns, ..Answer::default() };
        self.post(at + back, GangMessage::Base(answer));
    }

    /// The first CPU has an answer.
    pub fn base_heard(&mut self, answer: &Answer) -> Result<()> {
        let Some(clocks) = &mut self.gangs.clocks else { return Ok(()) };
        clocks.pending[answer.cpu as usize] = answer.base_ns;
        if !clocks.sync.answered(answer) {
            return Ok(());
        }
        match clocks.sync.state() {
            State::Equal => {
                for (own, base) in clocks.own.iter_mut().zip(&clocks.pending) {
                    own.base_ns = *base;
                }
                clocks.equal = true;
                let next = self.now + clocks.spec.watch_ns;
                self.post(next, GangMessage::Watch);
                self.publish_slots()
            }
            State::Disabled => {
                clocks.outcome.failed += 1;
                clocks.outcome.disabled = true;
                clocks.equal = false;
                self.warn("clocks could not be made equal within 1 s: gangs are best effort".into());
                self.publish_slots()
            }
            _ => {
                clocks.outcome.failed += 1;
                self.begin_round();
                Ok(())
            }
        }
    }

    /// Clocks are compared with the reference.
    pub fn watch_clocks(&mut self) {
        let now = self.now;
        let Some(clocks) = &mut self.gangs.clocks else { return };
        let mut drifted = false;
        for c in 0..clocks.own.len() as CpuNo {
            clocks.outcome.error_max_ns = clocks.outcome.error_max_ns.max(clocks.error(c, now));
            drifted |= clocks.sync.watch(c, clocks.local(c, now), now);
        }
        if drifted {
            clocks.outcome.drifted += 1;
            return self.begin_round();
        }
        let next = now + clocks.spec.watch_ns;
        self.post(next, GangMessage::Watch);
    }
}
