// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The model that the engine uses: rates and speed of a task, from tables made once per run.
//!
//! Caches: the rates of [`super::curve`] for the part of a cache that is the task's own. Predictor: a short run of the
//! structural one, alone and beside a neighbour that is as random as it gets.

use super::curve::misses;
use super::gshare::Gshare;
use super::stream::Branches;
use super::{Behaviour, Cache, Hierarchy, Model, ONE, Profile, Rates, share};

/// Steps in which the part of the last-level cache is distinguished.
pub const PARTS: u64 = 32;

/// Branches of a run of the predictor, after as many to warm it up.
const BRANCHES: usize = 20_000;

/// A product of shares.
pub fn times(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 20) as u64
}

/// Everything that the engine needs of a profile.
#[derive(Clone, Debug)]
pub struct Table {
    /// Of the profile, of [`ONE`].
    pub cpi: u64,
    pub loads: u64,
    pub branches: u64,
    pub spread: u64,
    /// Cycles per instruction at which the workload's times are meant: alone on the machine, with warm caches.
    pub nominal_cpi: u64,
    /// `None`: recorded.
    pub model: Option<Modelled>,
}

/// Rates by the other running tasks.
#[derive(Clone, Debug)]
pub struct Modelled {
    hierarchy: Hierarchy,
    overlap: u64,
    burst: u64,
    /// Alone on the core, and beside a busy hardware thread.
    l1: [u64; 2],
    l2: [u64; 2],
    branch: [u64; 2],
    /// Misses of L3 among the loads that reach it, by part.
    l3: [[u64; PARTS as usize + 1]; 2],
    /// Lines that the task keeps in each cache if it can.
    pub lines: [u64; 3],
    /// Lines that each cache holds.
    pub room: [u64; 3],
    /// Loads of L3 in [`ONE`] cycles: what decides about its part of a shared cache.
    pub pressure: u64,
}

/// What a stint finds: how cold each cache is for the task (of [`ONE`]), and how many loads it will probably make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stint {
    pub cold: [u64; 3],
    pub loads: u64,
}

impl Table {
    /// Make the tables of a profile; the last-level cache has `l3_bytes`, 0: as usual.
    pub fn new(profile: &Profile, hierarchy: Hierarchy, l3_bytes: u64) -> Self {
        let mut hierarchy = hierarchy;
        if l3_bytes > 0 {
            hierarchy.l3 = Cache { bytes: l3_bytes, ..hierarchy.l3 };
        }
        let mut table = Self {
            cpi: profile.cpi,
            loads: profile.loads,
            branches: profile.branches,
            spread: profile.spread,
            nominal_cpi: profile.cpi,
            model: None,
        };
        if let Behaviour::Modelled(model) = &profile.behaviour {
            let mut modelled = Modelled::new(model, hierarchy);
            let alone = modelled.rates(false, PARTS);
            table.nominal_cpi = table.with(&modelled, &alone);
            let loads = times(times(table.loads, alone.l1), alone.l2);
            modelled.pressure = (loads << 20) / table.nominal_cpi.max(1);
            table.model = Some(modelled);
        }
        table
    }

    fn with(&self, m: &Modelled, r: &Rates) -> u64 {
        let h = &m.hierarchy;
        let l3 = h.l3_cycles * ONE + r.l3 * h.memory_cycles;
        let l2 = h.l2_cycles * ONE + times(r.l2, l3);
        let stall = times(self.loads, times(r.l1, l2)) / m.overlap.max(1);
        self.cpi + stall + times(self.branches, r.branch * h.mispredict_cycles)
    }

    /// Cycles per instruction at these rates, of [`ONE`]; recorded rates cost nothing.
    pub fn cpi_at(&self, r: &Rates) -> u64 {
        self.model.as_ref().map_or(self.nominal_cpi, |m| self.with(m, r)).max(1)
    }

    /// Speed at these rates, of [`ONE`]: 1 is alone with warm caches.
    pub fn speed_at(&self, r: &Rates) -> u64 {
        match self.model {
            None => ONE,
            Some(_) => ((self.nominal_cpi << 20) / self.cpi_at(r)).max(1),
        }
    }
}

/// Mispredicted branches of the model, alone and beside a random neighbour, of [`ONE`].
fn mispredicts(model: &Model, bits: u32) -> [u64; 2] {
    let noise = Model { entropy: ONE, sites: 4096, ..model.clone() };
    [false, true].map(|beside| {
        let mut g = Gshare::new(bits, 2);
        let (mut mine, mut other) = (Branches::new(model, 1, 0), Branches::new(&noise, 1, 1));
        let mut wrong = 0;
        for i in 0..2 * BRANCHES {
            let (address, taken) = mine.next().expect("the stream has no end");
            let right = g.branch(0, address, taken);
            wrong += u64::from(!right && i >= BRANCHES);
            if beside {
                let (address, taken) = other.next().expect("the stream has no end");
                g.branch(1, address, taken);
            }
        }
        share(wrong as f64 / BRANCHES as f64)
    })
}

impl Modelled {
    fn new(model: &Model, hierarchy: Hierarchy) -> Self {
        let h = hierarchy;
        let part = [ONE, ONE / 2];
        let of = |cache, part| misses(model, cache, part);
        let local = |inner: f64, outer: f64| share(if inner > 0.0 { (outer / inner).min(1.0) } else { 0.0 });
        let l1 = part.map(|p| of(h.l1, p));
        let l2 = part.map(|p| of(h.l2, p));
        let l3 = l2.map(|l2| std::array::from_fn(|i| local(l2, of(h.l3, (i as u64).max(1) * ONE / PARTS))));
        let room = [h.l1, h.l2, h.l3].map(Cache::lines);
        Self {
            hierarchy,
            overlap: model.overlap,
            burst: model.burst,
            l1: l1.map(share),
            l2: [local(l1[0], l2[0]), local(l1[1], l2[1])],
            branch: mispredicts(model, h.history_bits),
            l3,
            lines: room.map(|lines| lines.min(model.working_set()).max(1)),
            room,
            pressure: 0,
        }
    }

    /// Rates with warm caches, beside a busy hardware thread or not, with so many [`PARTS`] of the last-level cache.
    pub fn rates(&self, beside: bool, parts: u64) -> Rates {
        let b = usize::from(beside);
        let l1 = self.l1[b];
        Rates {
            l1,
            lfb: times(l1, self.burst).min(ONE - l1),
            l2: self.l2[b],
            l3: self.l3[b][parts.min(PARTS) as usize],
            branch: self.branch[b],
        }
    }

    /// The same in a stint that begins with cold caches. Of the loads that a warm cache would serve, those of a line
    /// that is gone miss; as each brings its line back, the share of lines that are gone falls as 1 / (1 + x), x being
    /// the loads served by the cache so far over the lines that the task keeps there.
    pub fn cooled(&self, warm: Rates, stint: &Stint) -> Rates {
        let mut r = warm;
        let mut reach = stint.loads;
        for (level, rate) in [&mut r.l1, &mut r.l2, &mut r.l3].into_iter().enumerate() {
            let served = times(reach, ONE - *rate);
            reach = times(reach, *rate);
            *rate += times(ONE - *rate, gone(stint.cold[level], served, self.lines[level]));
        }
        r.lfb = r.lfb.min(ONE - r.l1);
        r
    }

    /// How cold the caches are after a stint of `loads` loads that began with `stint`.
    pub fn warmed(&self, warm: Rates, stint: &Stint, loads: u64) -> [u64; 3] {
        let mut reach = loads;
        let rates = [warm.l1, warm.l2, warm.l3];
        std::array::from_fn(|level| {
            let served = times(reach, ONE - rates[level]);
            reach = times(reach, rates[level]);
            gone(stint.cold[level], served, self.lines[level])
        })
    }
}

/// `cold / (1 + served / lines)`.
fn gone(cold: u64, served: u64, lines: u64) -> u64 {
    (u128::from(cold) * u128::from(lines) / u128::from(lines + served)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(reuse: &[(u64, f64)]) -> Profile {
        Profile {
            name: "p".into(),
            cpi: ONE / 2,
            loads: share(0.3),
            branches: share(0.2),
            spread: 0,
            behaviour: Behaviour::Modelled(Model {
                reuse: reuse.iter().map(|&(l, w)| (l, share(w))).collect(),
                burst: ONE / 2,
                entropy: share(0.1),
                sites: 64,
                overlap: 2,
            }),
        }
    }

    #[test]
    fn less_cache_more_misses_less_speed() {
        let t = Table::new(&profile(&[(200, 0.9), (3000, 0.05), (80_000, 0.05)]), Hierarchy::default(), 0);
        let m = t.model.as_ref().expect("it is modelled");
        let (whole, part) = (m.rates(false, 32), m.rates(false, 8));
        assert!(part.l3 > whole.l3 + ONE / 4, "{whole:?} {part:?}");
        assert_eq!(t.speed_at(&whole), ONE);
        assert!(t.speed_at(&part) < ONE * 9 / 10);
        let beside = m.rates(true, 32);
        // Of all loads: more of them miss L1 as well, so that of those a smaller part may miss L2.
        assert!(times(beside.l1, beside.l2) > times(whole.l1, whole.l2), "{whole:?} {beside:?}");
        assert!(beside.branch + ONE / 500 > whole.branch, "{whole:?} {beside:?}");
        // Half of the random tenth is guessed wrongly at least.
        assert!((0.05..0.12).contains(&(whole.branch as f64 / ONE as f64)), "{}", whole.branch);
    }

    #[test]
    fn short_stints_suffer_from_cold_caches() {
        let t = Table::new(&profile(&[(200, 0.9), (3000, 0.08)]), Hierarchy::default(), 0);
        let m = t.model.as_ref().expect("it is modelled");
        let warm = m.rates(false, 32);
        let rate = |loads| m.cooled(warm, &Stint { cold: [ONE; 3], loads });
        let (short, long) = (rate(10_000), rate(10_000_000));
        assert!(short.l2 > warm.l2 + ONE / 4 && long.l2 < warm.l2 + ONE / 100, "{short:?} {long:?} {warm:?}");
        assert!(t.speed_at(&short) < t.speed_at(&long) && t.speed_at(&long) <= ONE);
        assert_eq!(m.cooled(warm, &Stint { cold: [0; 3], loads: 1000 }), warm);
        let after = m.warmed(warm, &Stint { cold: [ONE; 3], loads: 0 }, 10_000_000);
        assert!(after[0] < ONE / 1000 && after[1] < ONE / 50, "{after:?}");
    }
}
