// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the map of gangs says of a team, attacked by other seeds and longer runs.

use serde_json::{Value, json};
use weir::gang_map::{self, MARGIN};
use weir::{Unwatched, topology};
use weir_model::{Costs, Machine};
use weir_sim::{RunConfig, engine};

use crate::Dice;

/// A team on a machine.
#[derive(Clone, Debug)]
pub struct Team {
    pub cpus: u32,
    /// What stands behind `team:`.
    pub text: String,
    grain_us: u64,
}

impl Team {
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let cpus = dice.of(&[2, 4, 4, 6]);
        let threads = 2 + dice.next(u64::from(cpus) - 1);
        let grain_us = dice.of(&[20, 50, 200, 500, 1_000, 3_000, 8_000, 20_000]);
        let imbalance = dice.of(&[0, 5, 20, 50, 90]);
        let hogs = dice.next(2 * u64::from(cpus) + 1);
        let text = format!("threads={threads},work={grain_us}us,imbalance={imbalance}%,hogs={hogs}");
        Self { cpus, text, grain_us }
    }

    /// The command that asks of it.
    pub fn command(&self) -> String {
        format!("runweir analyze --gang -m smp-{} -w team:{}", self.cpus, self.text)
    }

    /// Rounds as a gang for each one under `linux`.
    ///
    /// # Panics
    /// It is no team.
    fn gain(&self, seed: u64) -> f64 {
        let machine = Machine::smp(self.cpus);
        let rounds = |way: &str, more: &str| {
            let spec = format!("team:{},spin=100ms{more}", self.text);
            let workload = weir::machine::workload(&spec, seed).expect("a team");
            let source = topology::source(way).expect("of the catalogue");
            let plan = topology::compile(&source, &machine.shape, &[]).expect("compiles").plan;
            // Twice as long as the map looks, and at least a second.
            let duration_ns = (80_000 * self.grain_us).clamp(1_000_000_000, 4_000_000_000);
            let config = RunConfig { seed, duration_ns: Some(duration_ns), ..RunConfig::default() };
            let out =
                engine::run(&machine, &plan, &workload, &Costs::default(), &config, &mut ()).expect("runs");
            out.barriers.iter().map(|b| b.1).sum::<u64>() as f64
        };
        rounds("gang", ",slot=20ms,period=40ms,outside=wait") / rounds("linux", "").max(1.0)
    }
}

/// Answers what a gang does for a team: a verdict of the map as JSON.
pub type Judge = fn(&Machine, &Costs, &str) -> weir::Result<Value>;

/// The map as it is.
///
/// # Errors
/// It is no team.
pub fn honest(machine: &Machine, costs: &Costs, team: &str) -> weir::Result<Value> {
    Ok(json!(gang_map::place(machine, costs, team, &Unwatched)?.verdict))
}

/// Ask of a team, and attack what is said with other seeds: whoever gains or loses a tenth must not do the opposite, and what hardly
/// matters must not make a difference of two tenths. Gives the verdict.
///
/// # Errors
/// What contradicts it.
///
/// # Panics
/// It is no team.
pub fn refute(team: &Team, judge: Judge) -> Result<String, String> {
    let said = judge(&Machine::smp(team.cpus), &Costs::default(), &team.text).expect("a team");
    let said = said.as_str().expect("a word").to_string();
    for seed in 11..14 {
        let gain = team.gain(seed);
        let wrong = match said.as_str() {
            "pays" => gain < 1.0,
            "costs" => gain > 1.0,
            "equal" => (gain - 1.0).abs() > 2.0 * MARGIN,
            _ => false,
        };
        if wrong {
            return Err(format!("`{said}`, and with seed {seed} the gain is {gain:.2}"));
        }
    }
    Ok(said)
}
