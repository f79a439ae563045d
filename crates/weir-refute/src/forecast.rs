// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the contention analysis says of other sizes of a machine, attacked by runs of these sizes.
//!
//! A [`Query`] is a topology, a load that grows with the machine, a size and a limit. The report's verdicts must agree with its own runs,
//! and a forecast must be within the stated bound of a run of that size, as long as the load lasts.

use serde_json::Value;
use weir::Unwatched;
use weir::analyze::contention::{self, BOUND, Field};
use weir_lang::Source;
use weir_model::{Costs, Machine, Workload};
use weir_sim::{RunConfig, engine};

use crate::Dice;

const TOPOLOGIES: &[&str] = &[
    "decentral",
    "global_rr",
    "linux",
    "central",
    "eevdf",
    "worksteal",
    "fifo",
    "stride",
    "priority",
    "scx-simple",
    "cfs",
    "edf",
    "multipipe",
    "rt-rr",
    "bvt",
    "lottery",
];

/// A load of so much for each CPU.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    Messages { groups: u64, fds: u64, loops: u64 },
    Tokens { loops: u64 },
    Compute { tasks: u64, chunks: u64 },
    Barrier { threads: u64, loops: u64 },
}

impl Load {
    /// For so many CPUs, as the command line has it.
    pub fn on(&self, cpus: u32) -> String {
        let n = u64::from(cpus);
        match self {
            Load::Messages { groups, fds, loops } => {
                format!("hackbench:groups={},fds={fds},loops={loops}", (groups * n).div_ceil(8))
            }
            Load::Tokens { loops } => format!("tokens:pairs={n},loops={loops}"),
            Load::Compute { tasks, chunks } => {
                format!("compute:tasks={},work=1ms,chunks={chunks}", tasks * n)
            }
            Load::Barrier { threads, loops } => format!("barrier:threads={},loops={loops}", threads * n),
        }
    }
}

/// A question to the analysis.
#[derive(Clone, Debug)]
pub struct Query {
    pub topology: &'static str,
    pub load: Load,
    pub cpus: u32,
    pub share: f64,
}

impl Query {
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let load = match dice.next(4) {
            0 => Load::Messages { groups: 1 + dice.next(4), fds: 2 + dice.next(4), loops: 3 + dice.next(8) },
            1 => Load::Tokens { loops: 20 + dice.next(60) },
            2 => Load::Compute { tasks: 1 + dice.next(5), chunks: 2 + dice.next(10) },
            _ => Load::Barrier { threads: 1 + dice.next(3), loops: 5 + dice.next(10) },
        };
        let share = dice.of(&[2, 5, 10, 20]) as f64 / 100.0;
        Self { topology: dice.of(TOPOLOGIES), load, cpus: dice.of(&[4, 8, 8]), share }
    }

    /// The command that asks the same.
    pub fn command(&self) -> String {
        let (t, n) = (self.topology, self.cpus);
        format!("runweir analyze {t} -m smp-{n} -w {} --share {:.0}%", self.load.on(n), 100.0 * self.share)
    }
}

/// A query with its inputs.
pub struct Asked {
    pub machine: Machine,
    pub workload: Workload,
    pub costs: Costs,
    pub source: Source,
    pub share: f64,
}

impl Asked {
    fn field(&self) -> Field<'_> {
        Field {
            machine: &self.machine,
            workload: &self.workload,
            costs: &self.costs,
            sets: &[],
            duration_ns: None,
            seed: 1,
            watch: &Unwatched,
        }
    }
}

/// Answers a query by the report as JSON.
pub type Judge = fn(&Asked) -> weir::Result<Value>;

/// The analysis as it is.
///
/// # Errors
/// The topology is not for this machine.
pub fn honest(asked: &Asked) -> weir::Result<Value> {
    Ok(contention::analyze(&asked.field(), &asked.source, asked.share)?.json())
}

/// How much was attacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub queries: u64,
    /// Runs of the reports that verdicts were compared with.
    pub rows: u64,
    /// Forecasts beyond what the analysis had simulated.
    pub forecasts: u64,
}

/// Ask, and attack the answer. `Err`: what contradicts it.
///
/// # Errors
/// The answer is wrong.
///
/// # Panics
/// The catalogue lacks a topology or a generator.
pub fn refute(query: &Query, judge: Judge, tally: &mut Tally) -> Result<(), String> {
    let asked = Asked {
        machine: Machine::smp(query.cpus),
        workload: weir::machine::workload(&query.load.on(query.cpus), 1).expect("a generator"),
        costs: Costs::default(),
        source: weir::topology::source(query.topology).expect("of the catalogue"),
        share: query.share,
    };
    tally.queries += 1;
    let report = judge(&asked).expect("it can be analyzed");
    let (now, measure) = (&report["now"], report["measure"].as_str().expect("a word"));
    let rows: Vec<(u64, &Value)> = now["sizes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| (r["cpus"].as_u64().expect("a number"), r))
        .collect();
    let run = |row: &Value| row["simulated"][measure].as_f64();
    let [least, most, foreseen] =
        ["smallest_simulated", "largest_simulated", "largest_foreseen"].map(|k| now[k].as_u64());
    for (n, row) in &rows {
        let Some(share) = run(row) else { continue };
        tally.rows += 1;
        let good = share <= query.share + 1e-9;
        let within = least.is_some_and(|l| *n >= l) && most.is_some_and(|m| *n <= m);
        if within && !good {
            return Err(format!("{least:?} to {most:?} CPUs are called good, and {n} have {share:.3}"));
        }
        if good && most.is_some() && least.is_some_and(|l| *n < l) {
            return Err(format!("fewer than {least:?} CPUs are called bad, and {n} have {share:.3}"));
        }
        let again = now["larger_within"].as_array().is_some_and(|l| l.iter().any(|o| o.as_u64() == Some(*n)));
        if most.is_none_or(|m| *n > m) && good != again {
            return Err(format!("at most {most:?} CPUs are called good, and {n} have {share:.3}"));
        }
        if foreseen.is_some_and(|f| *n <= f) && least.is_some_and(|l| *n >= l) && share > query.share + BOUND
        {
            return Err(format!("{foreseen:?} CPUs are foreseen as good, and {n} have {share:.3}"));
        }
    }
    let simulated = rows.iter().filter(|r| run(r.1).is_some()).map(|r| r.0).max().unwrap_or(0);
    let up_to = now["forecast_up_to"].as_u64().unwrap_or(0);
    for (n, row) in
        rows.iter().filter(|r| r.0 > simulated && r.0 <= up_to && r.0 % u64::from(query.cpus) == 0)
    {
        let Some(value) = row["foreseen"][measure].as_f64() else { continue };
        tally.forecasts += 1;
        let share = measured(&asked, u32::try_from(*n).expect("a size"), measure);
        if (value - share).abs() > BOUND {
            return Err(format!("{measure} of {value:.3} is foreseen on {n} CPUs, {share:.3} is simulated"));
        }
    }
    Ok(())
}

/// The share in a whole run of that size: the machine and its load so many times, as the analysis has them.
fn measured(asked: &Asked, cpus: u32, measure: &str) -> f64 {
    let field = asked.field();
    let machine = field.machine(cpus).expect("equal CPUs come in every number");
    let plan = field.plan(&asked.source, &machine).expect("it compiles");
    let config = RunConfig { seed: field.seed, ..RunConfig::default() };
    let done =
        engine::run(&machine, &plan, &field.workload(cpus), field.costs, &config, &mut ()).expect("it runs");
    let spent = match measure {
        "scheduler" => done.scheduler_ns,
        _ => done.lock_wait_ns,
    };
    spent as f64 / (done.end_ns * u64::from(cpus)).max(1) as f64
}
