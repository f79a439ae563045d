// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! When gang scheduling pays: a team's rounds as a gang relative to its rounds under `linux`, by how often its threads meet, how uneven
//! their work is, and the number of teams.

use std::fmt::Write as _;

use rayon::prelude::*;
use serde::Serialize;
use weir_model::workload::generators;
use weir_model::{Costs, Machine};
use weir_sim::RunConfig;
use weir_sim::engine;
use weir_text::quantity::{self, TIME};

use crate::Watch;
use crate::fault::{Fault, Result};
use crate::units::exact;
use crate::watch::pool;
use crate::{machine, topology};

/// The query.
#[derive(Clone, Debug, Default)]
pub struct MapOptions {
    pub machine: String,
    pub costs: String,
    /// A program to place on the map: what follows `team:` without slots, such as `work=1ms,imbalance=20%,hogs=8`.
    pub team: Option<String>,
    pub jobs: Option<u32>,
}

/// A team's rounds a second, both ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    pub grain_ns: u64,
    pub imbalance_pct: u32,
    /// Teams that compete; one has as many tasks that compute beside it as there are CPUs.
    pub teams: u32,
    pub linux_rounds_per_s: f64,
    pub gang_rounds_per_s: f64,
    /// The second over the first, all seeds together; none where the first made no round.
    pub gain: Option<f64>,
    /// The same of the seed with the least gain, and of the one with the most.
    pub least: Option<f64>,
    pub most: Option<f64>,
    pub verdict: Verdict,
}

/// How long is looked at a team.
#[derive(Clone, Copy)]
struct Length {
    seeds: &'static [u64],
    periods: u64,
}

/// What a cell claims of its program, whatever the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// With every seed a tenth more rounds, or more.
    Pays,
    /// With none as many as a tenth more or fewer.
    Equal,
    /// With every seed a tenth fewer, or fewer.
    Costs,
    /// Seeds differ in this.
    Unclear,
}

impl Verdict {
    /// Of gains, one a seed; none where only the gang made rounds.
    fn of(gains: &[Option<f64>]) -> Self {
        let all = |is: &dyn Fn(f64) -> bool| gains.iter().all(|g| is(g.unwrap_or(f64::INFINITY)));
        match () {
            () if all(&|g| g >= 1.0 + MARGIN) => Self::Pays,
            () if all(&|g| g <= 1.0 - MARGIN) => Self::Costs,
            () if all(&|g| (g - 1.0).abs() < MARGIN) => Self::Equal,
            () => Self::Unclear,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Pays => "a gang pays",
            Self::Equal => "it hardly matters",
            Self::Costs => "a gang costs more than it gives",
            Self::Unclear => "it depends on chance whether a gang pays",
        }
    }
}

/// The map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    pub machine: String,
    pub threads: u32,
    pub slot_ns: u64,
    pub period_ns: u64,
    pub cells: Vec<Cell>,
    /// The program that was to be placed.
    pub own: Option<Cell>,
}

/// How far from 1 a gain has to be to matter.
pub const MARGIN: f64 = 0.1;
/// With these a program is placed, for at least so many periods: runs of five periods show the beginning, where gangs are not ahead yet.
const OWN: Length = Length { seeds: &[1, 2, 3, 4, 5], periods: 50 };
/// The same of the map's cells.
const CELL: Length = Length { seeds: &[1], periods: 25 };
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const GRAINS: [u64; 5] = [10 * US, 100 * US, MS, 10 * MS, 100 * MS];
const IMBALANCES: [u32; 4] = [0, 10, 50, 100];
const TEAMS: [u32; 3] = [1, 2, 4];
const SLOT: u64 = 20 * MS;
const PERIOD: u64 = 40 * MS;
/// Parameters of a team that are not its user's here.
const FIXED: [&str; 7] = ["slot", "period", "way", "release", "outside", "every", "rounds"];
/// Largest team: larger machines show the same, more slowly.
const MOST_THREADS: u32 = 16;

/// Rounds a second of the first barrier.
fn rounds(
    m: &Machine,
    costs: &Costs,
    way: &str,
    team: &str,
    grain_ns: u64,
    (seed, periods): (u64, u64),
    watch: &dyn Watch,
) -> Result<f64> {
    let spec = match way {
        // Between slots members wait: what they did there would be more CPU time, not a gain of running together.
        "gang" => format!("team:{team},slot={}ms,period={}ms,outside=wait", SLOT / MS, PERIOD / MS),
        _ => format!("team:{team}"),
    };
    let workload = machine::workload(&spec, seed)?;
    let plan = topology::compile(&topology::source(way)?, &m.shape, &[])?.plan;
    // Enough rounds, and enough periods; whole ones.
    let duration_ns = (40 * grain_ns).clamp(periods * PERIOD, 100 * PERIOD) / PERIOD * PERIOD;
    let config =
        RunConfig { seed, duration_ns: Some(duration_ns), stop: Some(watch.stop()), ..RunConfig::default() };
    let _running = watch.running();
    let out = engine::run(m, &plan, &workload, costs, &config, &mut ()).map_err(machine::fault)?;
    let all: u64 = out.barriers.iter().map(|b| b.1).sum();
    let teams = out.barriers.len().max(1) as f64;
    Ok(all as f64 / teams * 1e9 / duration_ns as f64)
}

/// The work of a round, as a call of `team` has it or by default.
fn grain_of(work: Option<&str>) -> u64 {
    let generators = generators();
    let params = generators.iter().filter(|g| g.name == "team").flat_map(|g| g.params);
    let work = work.or_else(|| params.into_iter().find(|p| p.name == "work").map(|p| p.default));
    // What is wrong with it the generator says.
    work.and_then(|w| quantity::parse(w, TIME).ok()).unwrap_or(MS)
}

fn cell(
    m: &Machine,
    costs: &Costs,
    team: &str,
    (grain_ns, imbalance_pct, teams): (u64, u32, u32),
    length: Length,
    watch: &dyn Watch,
) -> Result<Cell> {
    let (mut linux, mut gang, mut gains) = (0.0, 0.0, Vec::new());
    for seed in length.seeds {
        let under = rounds(m, costs, "linux", team, grain_ns, (*seed, length.periods), watch)?;
        let together = rounds(m, costs, "gang", team, grain_ns, (*seed, length.periods), watch)?;
        linux += under / length.seeds.len() as f64;
        gang += together / length.seeds.len() as f64;
        gains.push((under > 0.0).then(|| together / under));
    }
    watch.one();
    let known = || gains.iter().copied().collect::<Option<Vec<f64>>>().unwrap_or_default().into_iter();
    Ok(Cell {
        grain_ns,
        imbalance_pct,
        teams,
        linux_rounds_per_s: linux,
        gang_rounds_per_s: gang,
        gain: (linux > 0.0).then(|| gang / linux),
        least: known().min_by(f64::total_cmp),
        most: known().max_by(f64::total_cmp),
        verdict: Verdict::of(&gains),
    })
}

/// The cell of a program, `work=1ms,imbalance=20%,hogs=8`.
///
/// # Errors
/// What the map sets itself, or what is wrong with the team.
pub fn place(m: &Machine, costs: &Costs, team: &str, watch: &dyn Watch) -> Result<Cell> {
    let value = |key: &str| team.split(',').find_map(|p| p.strip_prefix(key)?.strip_prefix('='));
    if let Some(key) = FIXED.iter().find(|k| value(k).is_some()) {
        return Err(Fault::user(
            format!("-w team: the map sets `{key}` itself"),
            "leave it out: -w team:work=1ms,imbalance=20%,hogs=8",
        ));
    }
    let grain_ns = grain_of(value("work"));
    let spin = if value("spin").is_none() { ",spin=100ms" } else { "" };
    cell(m, costs, &format!("{team}{spin}"), (grain_ns, 0, 1), OWN, watch)
}

/// Make the map.
///
/// # Errors
/// An invalid machine, cost table or team.
pub fn gang_map(options: &MapOptions, watch: &dyn Watch) -> Result<Map> {
    let m = machine::resolve(&options.machine)?;
    let costs = machine::costs(&options.costs)?;
    let threads = m.shape.nr_cpus().min(MOST_THREADS);
    if threads < 2 {
        return Err(Fault::user("a gang of one thread", "name a machine with two CPUs or more: -m smp-16"));
    }
    let mut points: Vec<(u64, u32, u32)> =
        GRAINS.iter().flat_map(|g| IMBALANCES.iter().map(move |i| (*g, *i, 1))).collect();
    points.extend(GRAINS.iter().flat_map(|g| TEAMS[1..].iter().map(move |t| (*g, 10, *t))));
    watch.more(points.len() as u64 + u64::from(options.team.is_some()));
    let own = match &options.team {
        None => None,
        Some(team) => Some(place(&m, &costs, team, watch)?),
    };
    let one = |&(grain, imbalance, teams): &(u64, u32, u32)| {
        let hogs = if teams == 1 { m.shape.nr_cpus() } else { 0 };
        // Teams of all CPUs would stay in step in a simulation, as they do on no real machine.
        let threads = if teams == 1 { threads } else { (threads * 3 / 4).max(2) };
        let team = format!(
            "threads={threads},teams={teams},work={grain}ns,imbalance={imbalance}%,spin=100ms,hogs={hogs}"
        );
        cell(&m, &costs, &team, (grain, imbalance, teams), CELL, watch)
    };
    let cells = pool(options.jobs)?.install(|| points.par_iter().map(one).collect::<Result<Vec<_>>>())?;
    Ok(Map { machine: m.shape.name.clone(), threads, slot_ns: SLOT, period_ns: PERIOD, cells, own })
}

fn gain(c: &Cell) -> String {
    match c.gain {
        None => "only as gang".into(),
        Some(g) => format!("{g:.2}"),
    }
}

impl Map {
    /// For a reader.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{}: a team of {} threads that spin at barriers; rounds as a gang ({} in each {}) over rounds under `linux`.\n\
             Above 1 the gang is ahead.\n\nbeside a task that computes for each CPU, by imbalance:\n{:>22}",
            self.machine,
            self.threads,
            exact(self.slot_ns),
            exact(self.period_ns),
            "meets every"
        );
        for i in IMBALANCES {
            let _ = write!(out, "{:>14}", format!("{i} %"));
        }
        for g in GRAINS {
            let _ = write!(out, "\n{:>22}", exact(g));
            for i in IMBALANCES {
                self.show(&mut out, g, i, 1);
            }
        }
        let _ = write!(
            out,
            "\n\nteams of three quarters as many threads side by side, imbalance 10 %:\n{:>22}",
            "meets every"
        );
        for t in &TEAMS[1..] {
            let _ = write!(out, "{:>14}", format!("{t} teams"));
        }
        for g in GRAINS {
            let _ = write!(out, "\n{:>22}", exact(g));
            for t in &TEAMS[1..] {
                self.show(&mut out, g, 10, *t);
            }
        }
        out.push('\n');
        if let Some(c) = &self.own {
            let _ = writeln!(
                out,
                "\nyour team: {:.0} rounds/s as a gang, {:.0} under `linux`: {}",
                c.gang_rounds_per_s,
                c.linux_rounds_per_s,
                match (c.gain, c.least, c.most) {
                    (Some(g), Some(least), Some(most)) => format!(
                        "{g:.2} times ({least:.2} to {most:.2} with {} seeds), so {}",
                        OWN.seeds.len(),
                        c.verdict.text()
                    ),
                    _ => c.verdict.text().into(),
                }
            );
        }
        out
    }

    fn show(&self, out: &mut String, grain: u64, imbalance: u32, teams: u32) {
        let is = |c: &&Cell| (c.grain_ns, c.imbalance_pct, c.teams) == (grain, imbalance, teams);
        let text = self.cells.iter().find(is).map_or("-".into(), gain);
        let _ = write!(out, "{text:>14}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Watch for Silent {}

    /// A small team of a fine grain beside hogs gains; with a grain far beyond the slot it does not.
    #[test]
    fn a_fine_grain_gains_and_a_coarse_one_does_not() {
        let m = machine::resolve("smp-4").expect("a preset");
        let of = |grain: u64| {
            let team = format!("threads=4,work={grain}ns,imbalance=10%,spin=100ms,hogs=4");
            cell(&m, &Costs::default(), &team, (grain, 10, 1), Length { seeds: &[1], periods: 5 }, &Silent)
                .expect("it runs")
                .gain
                .expect("rounds")
        };
        let (fine, coarse) = (of(100 * US), of(100 * MS));
        assert!(fine > 2.0, "{fine}");
        assert!(coarse < 1.5 && coarse < fine, "{coarse}");
        let options =
            MapOptions { machine: "smp-1".into(), costs: "default".into(), ..MapOptions::default() };
        assert!(gang_map(&options, &Silent).is_err());
    }
}
