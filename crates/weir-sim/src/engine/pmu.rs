// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Counters of the modelled CPUs, and the effect of shared caches on the speed of tasks.
//!
//! Each CPU has counters that run freely and wrap. A stint begins when a task begins to run, or its CPU chooses it again,
//! and lasts until the task leaves or the CPU chooses again; then the difference is published as COUNTERS, even if the
//! same task continues (source 4, section 7). The counts of a stint follow from its work and from rates that hold until
//! another task starts or stops using a cache that the task shares.

use weir_core::event::{Call, CpuNo, Event, TaskNo};
use weir_core::{Counters, Msg, Plan, Topic};

use super::Result;
use super::cpu::FULL_SPEED;
use super::sim::{Sim, refused};
use super::task::NONE;
use weir_model::counters::table::{PARTS, Stint, Table, times};
use weir_model::counters::{Behaviour, Hierarchy, ONE, Phase, Rates};
use weir_model::rng::Rng;
use weir_model::{Machine, Workload};

/// Longest stint that is expected where a slice has no end, ns.
const LONG_NS: u64 = 10_000_000;

/// So many equal passes through the scheduler do to an average what any more would: its weights halve each time, of ten bits.
const SETTLED: u64 = 11;

/// Counters and caches of a CPU.
#[derive(Debug, Default)]
struct PmuCpu {
    /// Counts of all tasks that ran here, wrapping.
    free: Counters,
    /// As they were when the stint began.
    start: Counters,
    /// A counted task runs.
    counting: bool,
    /// Rates of its stint, and the speed that follows from them, of [`ONE`].
    rates: Rates,
    slow: u64,
    /// Pressure on the last-level cache by what runs here.
    pressure: u64,
}

/// Data about a task.
#[derive(Debug)]
struct PmuTask {
    /// Index of its tables; `NONE`: it is not counted.
    profile: u32,
    /// Likewise while it keeps a CPU and waits; `NONE`: nothing is counted then.
    waits: u32,
    /// Draws of its spread, which no decision of a scheduler shifts.
    rng: Rng,
    /// Fractions of events, of [`ONE`] each.
    carry: [u64; 8],
    /// Where it is in recorded phases, and work left there, ns.
    phase: usize,
    phase_left: u64,
    /// The stint's factor on miss rates, of [`ONE`].
    factor: u64,
    stint: Stint,
    /// Loads of the stint so far.
    loads: u64,
    /// CPU where it last ran, and what was brought into its caches until then.
    seen: [u64; 3],
    at: CpuNo,
    cold: [u64; 3],
}

/// All of it.
#[derive(Debug, Default)]
pub struct Pmu {
    /// Some task has a profile.
    pub on: bool,
    /// A component listens to COUNTERS, and one answers PENALTY.
    wanted: bool,
    penalties: bool,
    tables: Vec<Table>,
    phases: Vec<Option<std::sync::Arc<[Phase]>>>,
    /// Profiles of templates: working and waiting.
    of_template: Vec<[u32; 2]>,
    cpus: Vec<PmuCpu>,
    tasks: Vec<PmuTask>,
    /// Caches of each CPU by level, and lines brought into each so far.
    caches: Vec<[u32; 3]>,
    brought: [Vec<u64>; 3],
    /// CPUs of each last-level cache; the sum of their pressures.
    members: Vec<Vec<CpuNo>>,
    pressure: Vec<u64>,
    seed: u64,
    /// Instructions in 2^40 units of work, by profile.
    pace: Vec<u64>,
}

impl Pmu {
    pub fn new(machine: &Machine, plan: &Plan, workload: &Workload, seed: u64) -> Self {
        let mut pmu = Self { on: !workload.profiles.is_empty(), seed, ..Self::default() };
        pmu.rewired(plan);
        if !pmu.on {
            return pmu;
        }
        let l3 =
            if machine.llc_level == 3 { machine.llc_bytes.iter().copied().max().unwrap_or(0) } else { 0 };
        let top = (0..machine.nr_cpus()).map(|c| machine.top_hz(c)).max().unwrap_or(1);
        for profile in &workload.profiles {
            let table = Table::new(profile, Hierarchy::default(), l3);
            // Cycles in a unit of work on the fastest CPU, over cycles per instruction.
            let cycles = (u128::from(top) << 40) / (1_000_000_000 * u128::from(FULL_SPEED));
            pmu.pace.push(((cycles << 20) / u128::from(table.nominal_cpi.max(1))) as u64);
            pmu.phases.push(match &profile.behaviour {
                Behaviour::Recorded(phases) => Some(phases.clone()),
                Behaviour::Modelled(_) => None,
            });
            pmu.tables.push(table);
        }
        let profiles = [&workload.profile_of, &workload.wait_profile_of];
        pmu.of_template = (0..workload.tasks.len() as u32)
            .map(|t| profiles.map(|of| of.get(&t).copied().unwrap_or(NONE)))
            .collect();
        pmu.cpus = (0..machine.nr_cpus()).map(|_| PmuCpu { slow: ONE, ..PmuCpu::default() }).collect();
        let of = |c: u32| &machine.shape.cpus[c as usize];
        pmu.caches =
            (0..machine.nr_cpus()).map(|c| [of(c).core, machine.l2_of[c as usize], of(c).llc]).collect();
        let most = |level: usize| pmu.caches.iter().map(|c| c[level] as usize + 1).max().unwrap_or(0);
        pmu.brought = [0, 1, 2].map(|level| vec![0; most(level)]);
        pmu.members = vec![Vec::new(); most(2)];
        pmu.pressure = vec![0; most(2)];
        for (c, caches) in pmu.caches.iter().enumerate() {
            pmu.members[caches[2] as usize].push(c as CpuNo);
        }
        pmu
    }

    /// Another topology is in force.
    pub fn rewired(&mut self, plan: &Plan) {
        self.wanted = plan.listens_to(Topic::Counters);
        self.penalties = plan.answers_to(Topic::Penalty);
    }

    /// Components listen in vain.
    pub fn is_missed(&self) -> bool {
        self.wanted && !self.on
    }

    /// A task of this template was created; they are numbered in this order.
    pub fn add(&mut self, template: u32, no: TaskNo) {
        if !self.on {
            return;
        }
        let [profile, waits] = self.of_template[template as usize];
        let first = self.phases.get(profile as usize).and_then(|p| p.as_ref()).map_or(0, |p| p[0].ns);
        self.tasks.push(PmuTask {
            profile,
            waits,
            rng: Rng::new(self.seed ^ 0x636f_756e_7465_7273, u64::from(no)),
            carry: [0; 8],
            phase: 0,
            phase_left: first,
            factor: ONE,
            stint: Stint::default(),
            loads: 0,
            seen: [0; 3],
            at: NONE,
            cold: [ONE; 3],
        });
    }

    /// The task's migrations cost what its caches say.
    pub fn is_modelled(&self, no: TaskNo) -> bool {
        self.on
            && self.tables.get(self.tasks[no as usize].profile as usize).is_some_and(|t| t.model.is_some())
    }

    /// Speed of a CPU by what its caches do, of [`ONE`].
    pub fn slow(&self, c: CpuNo) -> u64 {
        self.cpus.get(c as usize).map_or(ONE, |cpu| cpu.slow)
    }

    /// How cold the caches of `c` are for a returning task: the lines loaded into them since.
    fn find_cold(&mut self, c: CpuNo, no: TaskNo) {
        let task = &mut self.tasks[no as usize];
        let Some(model) = &self.tables[task.profile as usize].model else { return };
        for level in 0..3 {
            let cache = self.caches[c as usize][level];
            let known = task.at != NONE && self.caches[task.at as usize][level] == cache;
            let since = self.brought[level][cache as usize].saturating_sub(task.seen[level]);
            let lost = if known { (since << 20) / model.room[level].max(1) } else { ONE };
            task.stint.cold[level] = (task.cold[level] + lost).min(ONE);
        }
    }

    /// Rates of the task on `c` from now on.
    fn set_rates(&mut self, c: CpuNo, no: TaskNo, beside: bool) {
        let task = &self.tasks[no as usize];
        let table = &self.tables[task.profile as usize];
        let mut rates = match (&table.model, &self.phases[task.profile as usize]) {
            (Some(model), _) => {
                let all = self.pressure[self.caches[c as usize][2] as usize].max(1);
                let parts = (PARTS * model.pressure).checked_div(all).unwrap_or(PARTS).clamp(1, PARTS);
                let parts = if model.pressure == 0 { PARTS } else { parts };
                model.cooled(model.rates(beside, parts), &task.stint)
            }
            (None, Some(phases)) => phases[task.phase].rates,
            (None, None) => Rates::default(),
        };
        for rate in [&mut rates.l1, &mut rates.l2, &mut rates.l3, &mut rates.branch] {
            *rate = times(*rate, task.factor).min(ONE);
        }
        rates.lfb = times(rates.lfb, task.factor).min(ONE - rates.l1);
        let cpu = &mut self.cpus[c as usize];
        cpu.rates = rates;
        cpu.slow = table.speed_at(&rates);
    }

    /// Count what `work` units of work and `cycles` of the task on `c` did. `waits`: it waits for others meanwhile.
    fn count(&mut self, c: CpuNo, no: TaskNo, work: u64, cycles: u64, waits: bool) {
        let task = &mut self.tasks[no as usize];
        let cpu = &mut self.cpus[c as usize];
        let (profile, rates) = match self.phases.get(task.waits as usize) {
            Some(Some(phases)) if waits => (task.waits as usize, phases[0].rates),
            _ if waits => (task.profile as usize, Rates::default()),
            _ => (task.profile as usize, cpu.rates),
        };
        let table = &self.tables[profile];
        let pace = u128::from(self.pace[profile]);
        let mut take = |slot: usize, n: u64, rate: u64| {
            let sum = u128::from(n) * u128::from(rate) + u128::from(task.carry[slot]);
            task.carry[slot] = (sum & u128::from(ONE - 1)) as u64;
            (sum >> 20) as u64
        };
        // Work times pace is instructions with 40 fraction bits; 20 of them are carried.
        let instructions = take(0, ((u128::from(work) * pace) >> 20) as u64, 1);
        let loads = take(1, instructions, table.loads);
        let l1 = take(2, loads, rates.l1);
        let lfb = take(3, loads, rates.lfb).min(loads - l1);
        let l2 = take(4, l1, rates.l2);
        let l3 = take(5, l2, rates.l3);
        let branches = take(6, instructions, table.branches);
        let mispredicts = take(7, branches, rates.branch);
        task.loads += if waits { 0 } else { loads };
        cpu.free = cpu.free.wrapping_add(Counters {
            instructions,
            cycles,
            l1_hits: loads - l1 - lfb,
            l1_misses: l1,
            lfb_hits: lfb,
            l2_hits: l1 - l2,
            l2_misses: l2,
            l3_hits: l2 - l3,
            l3_misses: l3,
            branches,
            mispredicts,
        });
        for (level, lines) in [l1, l2, l3].into_iter().enumerate() {
            self.brought[level][self.caches[c as usize][level] as usize] += lines;
        }
    }

    /// Recorded rates change with the task's own time.
    fn pass_phases(&mut self, no: TaskNo, mut ns: u64) -> bool {
        let task = &mut self.tasks[no as usize];
        let Some(phases) = &self.phases[task.profile as usize] else { return false };
        let before = task.phase;
        while phases[task.phase].ns > 0 && ns >= task.phase_left {
            ns -= task.phase_left;
            task.phase = (task.phase + 1) % phases.len();
            task.phase_left = phases[task.phase].ns;
        }
        task.phase_left = task.phase_left.saturating_sub(ns);
        task.phase != before
    }
}

impl Sim<'_> {
    /// The task of `c` has been chosen, first or again: its stint begins.
    #[inline(always)]
    pub fn begin_stint(&mut self, c: CpuNo) {
        if self.pmu.on {
            self.begin_counting(c);
        } else if self.far_memory {
            self.update_speed(c);
        }
    }

    fn begin_counting(&mut self, c: CpuNo) {
        let no = self.cpus[c as usize].cur;
        let profile = self.pmu.tasks[no as usize].profile;
        let pressure = match self.pmu.tables.get(profile as usize) {
            None => 0,
            Some(table) => {
                let task = &mut self.pmu.tasks[no as usize];
                task.loads = 0;
                if table.spread > 0 {
                    task.factor = task.rng.between(ONE - table.spread, ONE + table.spread);
                }
                table.model.as_ref().map_or(0, |m| m.pressure)
            }
        };
        let cpu = &mut self.pmu.cpus[c as usize];
        cpu.counting = profile != NONE;
        cpu.start = cpu.free;
        if profile != NONE {
            self.pmu.find_cold(c, no);
        }
        self.expect_loads(c);
        self.occupy(c, pressure);
        self.update_speed(c);
    }

    /// How many loads the stint on `c` will probably make: until its slice ends, or the work that is known of.
    fn expect_loads(&mut self, c: CpuNo) {
        let no = self.cpus[c as usize].cur;
        let profile = self.pmu.tasks[no as usize].profile;
        let Some(table) = self.pmu.tables.get(profile as usize) else { return };
        let left = self.tasks[no as usize].left / FULL_SPEED;
        let slice = self.cpus[c as usize].slice_ns;
        let ns = if left > 0 { left.min(slice) } else { slice.min(LONG_NS) };
        let pace = u128::from(self.pmu.pace[profile as usize]);
        let instructions = (u128::from(ns) * u128::from(FULL_SPEED) * pace) >> 40;
        let loads = times(instructions as u64, table.loads).max(1);
        let task = &mut self.pmu.tasks[no as usize];
        task.stint.loads = task.loads + loads;
    }

    /// The task on `c` begins work of a known length.
    #[inline(always)]
    pub fn expect_work(&mut self, c: CpuNo) {
        if self.pmu.on && self.pmu.cpus[c as usize].counting {
            self.progress(c);
            self.expect_loads(c);
            self.update_speed(c);
        }
    }

    /// `c` presses so much on its last-level cache from now on; its neighbours feel it.
    #[inline(always)]
    pub fn occupy(&mut self, c: CpuNo, pressure: u64) {
        if self.pmu.on && self.pmu.cpus[c as usize].pressure != pressure {
            self.press(c, pressure);
        }
    }

    fn press(&mut self, c: CpuNo, pressure: u64) {
        let llc = self.pmu.caches[c as usize][2] as usize;
        self.pmu.pressure[llc] += pressure;
        self.pmu.pressure[llc] -= self.pmu.cpus[c as usize].pressure;
        self.pmu.cpus[c as usize].pressure = pressure;
        for i in 0..self.pmu.members[llc].len() {
            let other = self.pmu.members[llc][i];
            if other != c && self.pmu.cpus[other as usize].counting {
                self.update_speed(other);
            }
        }
    }

    /// The speed of `c` is about to be worked out: settle what was counted at the old rates, and set new ones.
    pub fn refresh_rates(&mut self, c: CpuNo, beside: bool) {
        if !self.pmu.on {
            return;
        }
        let no = self.cpus[c as usize].cur;
        if !self.pmu.cpus[c as usize].counting || no == NONE {
            self.pmu.cpus[c as usize].slow = ONE;
            return;
        }
        self.progress(c);
        self.pmu.set_rates(c, no, beside);
    }

    /// The task on `c` has run for `ns`.
    pub fn count(&mut self, c: CpuNo, ns: u64) {
        if !self.pmu.on || !self.pmu.cpus[c as usize].counting {
            return;
        }
        let cpu = &self.cpus[c as usize];
        let (no, task) = (cpu.cur, &self.tasks[cpu.cur as usize]);
        let waits = task.spins.is_some() || task.at_barrier != NONE;
        let cycles = (u128::from(ns) * u128::from(cpu.hz) / 1_000_000_000) as u64;
        self.pmu.count(c, no, ns.saturating_mul(cpu.speed), cycles, waits);
        if self.pmu.pass_phases(no, ns) {
            self.pmu.set_rates(c, no, false);
        }
    }

    /// The stint of the task that was on `c` is over: what it counted, if it is counted at all.
    #[inline(always)]
    pub fn end_stint(&mut self, c: CpuNo, no: TaskNo) -> Option<Counters> {
        if self.pmu.on { self.end_counting(c, no) } else { None }
    }

    fn end_counting(&mut self, c: CpuNo, no: TaskNo) -> Option<Counters> {
        if !std::mem::take(&mut self.pmu.cpus[c as usize].counting) {
            return None;
        }
        let pmu = &mut self.pmu;
        let cpu = &pmu.cpus[c as usize];
        let task = &mut pmu.tasks[no as usize];
        if let Some(model) = &pmu.tables[task.profile as usize].model {
            task.cold = model.warmed(cpu.rates, &task.stint, task.loads);
            task.at = c;
            for level in 0..3 {
                task.seen[level] = pmu.brought[level][pmu.caches[c as usize][level] as usize];
            }
        }
        Some(cpu.free.since(cpu.start))
    }

    /// Report to scheduler and observers what was counted in a turn.
    #[inline(always)]
    pub fn publish_counters(&mut self, c: CpuNo, no: TaskNo, counts: Option<Counters>) -> Result<()> {
        match counts {
            Some(counts) if counts.cycles > 0 => self.publish_counts(c, no, counts),
            _ => Ok(()),
        }
    }

    fn publish_counts(&mut self, c: CpuNo, no: TaskNo, counts: Counters) -> Result<()> {
        let (h, id) = (self.caller(c), self.tasks[no as usize].id);
        let passes = self.passes(c, no, counts.cycles);
        let mut penalty = None;
        if self.pmu.wanted {
            self.notices += 1;
            self.charge_flat(h, self.costs.counter_read * Counters::NAMES.len() as u64);
            // An average over the passes has settled after a few.
            let mut rest = counts;
            for left in (1..=passes.min(SETTLED)).rev() {
                let part = rest.part(left);
                self.sched.publish_counters(h, c, id, &part).map_err(|e| refused("take a message", &e))?;
                rest = rest.since(part);
            }
            self.account(h, Call::Notify);
        }
        if self.pmu.penalties {
            let msg = Msg { task: Some(id), ..Msg::default() };
            let reply = self.sched.request(h, Topic::Penalty, &msg);
            penalty = reply.map(|m| (m.value as i64, m.value2 as i64));
            // Asked for the observer's sake: nobody pays for it.
            self.sched.clear_ops();
        }
        self.obs.event(self.now, &Event::Counters { task: no, cpu: c, counts: &counts, passes, penalty });
        Ok(())
    }
}
