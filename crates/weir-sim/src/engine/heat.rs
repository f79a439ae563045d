// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Heat, power and clocks: the machine's messages about them, and the clocks that components request.
//!
//! A core's temperature follows its mean power between two samples, exactly if the power is constant between them. A core that
//! is too hot runs at its lowest clock. Sums are integers, so that a run is the same on every computer.

use weir_core::event::{CpuNo, Event};
use weir_core::{Msg, Plan, Topic};

use super::Result;
use super::cpu::Mode;
use super::queue::{Key, Kind, Phase};
use super::sim::{Sim, refused};
use super::task::NONE;
use weir_model::machine::{Machine, Thermal};

/// Samples in a row with no other pending event, after which the run ends.
const PATIENCE: u32 = 1_000;

/// Temperatures of the cores.
#[derive(Debug)]
pub struct Heat {
    thermal: Option<Thermal>,
    /// What a core goes of its way to the settled temperature between two looks, of 2^32.
    share: i128,
    /// By core: millionths of a degree Celsius.
    temperature: Vec<i64>,
    /// By core: it is throttled.
    hot: Vec<bool>,
    /// By core: what was published last, thousandths of a degree.
    published: Vec<i64>,
    /// By CPU: energy at the last look, as [`super::cpu::Cpu::energy_pj`].
    energy: Vec<u128>,
    idle_looks: u32,
    /// The clock that the machine is announcing; the same message is not a request.
    pub announcing: Option<(CpuNo, u64)>,
    /// Whether there are listeners: of clocks, of batteries.
    frequency_wanted: bool,
    power_wanted: bool,
}

impl Heat {
    pub fn new(machine: &Machine, plan: &Plan) -> Self {
        let cores = machine.shape.cpus.iter().map(|c| c.core as usize + 1).max().unwrap_or(0);
        let ambient = machine.thermal.map_or(0, |t| i64::from(t.ambient_c) * 1_000_000);
        Self {
            thermal: machine.thermal,
            share: machine.thermal.map_or(0, |t| i128::from(t.share_q32())),
            temperature: vec![ambient; cores],
            hot: vec![false; cores],
            published: vec![i64::MIN / 2; cores],
            energy: vec![0; machine.shape.cpus.len()],
            idle_looks: 0,
            announcing: None,
            frequency_wanted: plan.listens_to(Topic::Frequency),
            power_wanted: plan.listens_to(Topic::Power),
        }
    }
}

/// Temperature, millionths of a degree, one look after `now` at a mean power of `mw`.
fn warmed(t: &Thermal, share: i128, now: i64, mw: u64) -> i64 {
    // A watt is a thousand milliwatts, a degree a million millionths.
    let settled = i64::from(t.ambient_c) * 1_000_000 + (mw * u64::from(t.rise_per_w) * 1_000) as i64;
    let way = (i128::from(settled - now) * share) >> 32;
    now + i64::try_from(way).expect("a part of a temperature")
}

impl Sim<'_> {
    /// Components hear what the machine is like before the first task comes.
    pub fn set_up_heat(&mut self) -> Result<()> {
        for c in 0..self.cpus.len() as CpuNo {
            if self.heat.frequency_wanted {
                let msg = Msg { cpu: Some(c), value: self.cpus[c as usize].hz, ..Msg::default() };
                self.sched
                    .notify(self.boot_cpu, Topic::Frequency, &msg)
                    .map_err(|e| refused("announce a clock", &e))?;
            }
        }
        if self.heat.power_wanted {
            let msg = Msg { value: u64::from(self.machine.on_battery), ..Msg::default() };
            self.sched
                .notify(self.boot_cpu, Topic::Power, &msg)
                .map_err(|e| refused("announce the power supply", &e))?;
        }
        if self.machine.has_battery() {
            // Rules know from the start on.
            let value = u64::from(self.machine.on_battery);
            self.obs.event(0, &Event::Message { topic: "POWER", cpu: self.boot_cpu, task: None, value });
        }
        if let Some(t) = self.heat.thermal {
            self.timers.push(Key::new(t.sample_ns, Phase::Timer, Kind::Heat, 0));
        }
        Ok(())
    }

    /// It runs on battery from now on, or on mains.
    pub fn publish_power(&mut self, battery: bool) -> Result<()> {
        let msg = Msg { value: u64::from(battery), ..Msg::default() };
        self.announce(self.boot_cpu, Topic::Power, &msg, NONE)
    }

    /// Work out the temperatures, publish those that changed by a degree, and throttle.
    pub fn look_at_heat(&mut self) -> Result<()> {
        let Some(thermal) = self.heat.thermal else { return Ok(()) };
        let mut used = vec![0u128; self.heat.temperature.len()];
        for c in 0..self.cpus.len() as CpuNo {
            self.progress(c);
            let now = self.now;
            let cpu = &mut self.cpus[c as usize];
            cpu.settle(now);
            let before = std::mem::replace(&mut self.heat.energy[c as usize], cpu.energy_pj());
            used[cpu.core as usize] += cpu.energy_pj() - before;
        }
        for (core, energy) in used.into_iter().enumerate() {
            let mw = u64::try_from(energy / u128::from(thermal.sample_ns)).unwrap_or(u64::MAX / 1_000_000);
            let at = warmed(&thermal, self.heat.share, self.heat.temperature[core], mw);
            self.heat.temperature[core] = at;
            self.throttle(core as u32, at, &thermal)?;
            let degrees = at / 1_000;
            if (degrees - self.heat.published[core]).abs() >= 1_000 {
                self.heat.published[core] = degrees;
                for c in self.cores.threads(core as u32).to_vec() {
                    let value = u64::try_from(degrees).unwrap_or(0);
                    let msg = Msg { cpu: Some(c), value, ..Msg::default() };
                    self.announce(c, Topic::Thermal, &msg, NONE)?;
                }
            }
        }
        let alone = self.timers.peek() == Key::NEVER && self.queue.peek() == Key::NEVER;
        self.heat.idle_looks = if alone { self.heat.idle_looks + 1 } else { 0 };
        if self.heat.idle_looks <= PATIENCE {
            self.timers.push(Key::new(self.now + thermal.sample_ns, Phase::Timer, Kind::Heat, 0));
        }
        Ok(())
    }

    /// The lowest clock while it is too hot.
    fn throttle(&mut self, core: u32, at: i64, thermal: &Thermal) -> Result<()> {
        let hot = &mut self.heat.hot[core as usize];
        let limit_c = if *hot { thermal.release_c } else { thermal.throttle_c };
        let beyond = at - i64::from(limit_c) * 1_000_000;
        if if *hot { beyond > 0 } else { beyond < 0 } {
            return Ok(());
        }
        *hot = !*hot;
        for c in self.cores.threads(core).to_vec() {
            self.set_clock(c)?;
        }
        Ok(())
    }

    /// A component asks for a clock; the call in which it did is over at `end`.
    pub fn wish(&mut self, c: CpuNo, hz: u64, end: u64) {
        let Some(cpu) = self.cpus.get_mut(c as usize) else { return };
        cpu.wished_hz = hz;
        if self.clock_for(c) != self.cpus[c as usize].hz {
            self.timers.push(Key::new(end, Phase::Timer, Kind::Clock, c));
        }
    }

    /// The operating point for what is wished and allowed: the lowest that reaches the wish.
    pub fn clock_for(&self, c: CpuNo) -> u64 {
        let cpu = &self.cpus[c as usize];
        let points = &self.machine.kind(c).points;
        let wished = points.iter().find(|p| p.hz >= cpu.wished_hz).unwrap_or(&points[points.len() - 1]).hz;
        let cool = if self.heat.hot[cpu.core as usize] { points[0].hz } else { u64::MAX };
        wished.min(cpu.limit_hz).min(cool)
    }

    /// Let the CPU have the clock that is due to it.
    pub fn set_clock(&mut self, c: CpuNo) -> Result<()> {
        let hz = self.clock_for(c);
        if hz == self.cpus[c as usize].hz || self.cpus[c as usize].mode == Mode::Offline {
            return Ok(());
        }
        self.frequency(c, hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Thermal = Thermal {
        ambient_c: 40,
        rise_per_w: 5,
        settle_ns: 100_000_000,
        sample_ns: 10_000_000,
        throttle_c: 90,
        release_c: 80,
    };

    /// The course that a book gives for one time constant: 40 + 40 (1 - exp(-t / 100 ms)) degrees at 8 W. The values were worked
    /// out by hand: exp(-0.1) = 0.904837, exp(-0.7) = 0.496585, exp(-1) = 0.367879, exp(-2) = 0.135335.
    #[test]
    fn cores_follow_the_exponential_course() {
        let share = i128::from(T.share_q32());
        let mut at = 40_000_000;
        for look in 1..=200 {
            at = warmed(&T, share, at, 8_000);
            let want = match look {
                1 => 43_806_520,
                7 => 60_136_600,
                10 => 65_284_840,
                20 => 74_586_600,
                200 => 80_000_000,
                _ => continue,
            };
            assert!((at - want).abs() < 60, "look {look}: {at}, not {want}");
        }
        for _ in 0..200 {
            at = warmed(&T, share, at, 0);
        }
        assert!((at - 40_000_000).abs() < 60, "{at}");
    }
}
