// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The sources' tables and figures reproduced, with a verdict for each claim.
//!
//! An experiment is a function from a [`lab::Lab`] to a [`Report`]; [`EXPERIMENTS`] lists them. What the
//! last full runs found is kept in `experiments/` and is part of the program ([`recorded::all`]). Everything is a function
//! with a typed result; printing is left to the caller.

mod adaptation;
mod agility;
mod cc;
mod cobas;
mod collapse;
mod composition;
mod counter_grid;
mod counters;
mod figures;
mod foreign;
mod gang_change;
mod gang_clock;
mod gang_grain;
mod gang_interference;
mod gang_service;
mod gang_wait;
mod gangs;
mod hackbench;
mod heat;
mod heterogeneity;
mod hotpath;
mod hw;
pub mod lab;
mod least_laxity;
mod lines;
mod local_messages;
mod native;
mod nested;
mod network;
mod openmp;
mod pause;
pub mod pmc;
pub mod recorded;
mod registry;
mod report;
pub mod results;
mod scaling;

use std::time::Instant;

use lab::{Halt, Lab};
pub use registry::{EXPERIMENTS, Experiment, find};
pub use report::{Claim, Judged, Line, Picture, Record, Report, Table, Verdict, write};
use weir::{Fault, Result, Watch};
use weir_sim::Costs;

/// An experiment that was made.
#[non_exhaustive]
pub struct Finished {
    /// Claims, tables and pictures.
    pub report: Report,
    /// What is kept of it.
    pub record: Record,
    /// How long it took on this computer, s.
    pub seconds: f64,
}

/// Make an experiment, with parallel simulations in the current thread pool; `quick` is a reduced sweep. `None` where the
/// caller has ended it. With `code`, scheduler code costs what that table says instead of what the experiment's own does: which verdicts
/// depend on it?
///
/// # Errors
/// Of the system: a simulation failed, or what a measurement needs is missing.
pub fn reproduce(
    experiment: &Experiment,
    quick: bool,
    code: Option<Costs>,
    watch: &dyn Watch,
) -> Result<Option<Finished>> {
    let began = Instant::now();
    let lab = Lab::new(quick, code, watch);
    match (experiment.run)(&lab) {
        Ok(mut report) => {
            report.runs = lab.runs();
            let record = record(experiment, &report, quick);
            Ok(Some(Finished { report, record, seconds: began.elapsed().as_secs_f64() }))
        }
        Err(Halt::Interrupted) => Ok(None),
        Err(Halt::Fault(fault)) => Err(fault),
    }
}

/// Why an experiment can say nothing on this computer: what it needs is missing, and no full run is on record.
pub fn out_of_reach(experiment: &Experiment) -> Option<String> {
    hw::out_of_reach(experiment.id)
}

/// What is kept of a finished experiment.
fn record(experiment: &Experiment, report: &Report, quick: bool) -> Record {
    Record {
        runweir: env!("CARGO_PKG_VERSION").into(),
        id: experiment.id.into(),
        title: experiment.title.into(),
        source: experiment.source.into(),
        quick,
        claims: report.claims.clone(),
        notes: report.notes.clone(),
        runs: report.runs,
        files: report::files(report),
    }
}

/// The record with its data.
pub fn full(report: &Report, record: &Record) -> serde_json::Value {
    let mut value = serde_json::to_value(record).expect("strings and numbers only");
    let table = |t: &Table| {
        let row = |cells: &Vec<String>| -> serde_json::Map<String, serde_json::Value> {
            let number = |c: &String| match c.parse::<serde_json::Number>() {
                Ok(n) => serde_json::Value::from(n),
                Err(_) => serde_json::Value::from(c.as_str()),
            };
            t.heads.iter().zip(cells).map(|(h, c)| (h.clone(), number(c))).collect()
        };
        (t.name.clone(), t.rows.iter().map(row).collect::<Vec<_>>().into())
    };
    let tables: serde_json::Map<String, serde_json::Value> = report.tables.iter().map(table).collect();
    value["tables"] = tables.into();
    value
}

/// The experiment that the user names.
///
/// # Errors
/// The user's: there is none of this name.
pub fn named(name: &str) -> Result<&'static Experiment> {
    find(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Fault {
    let names: Vec<&str> = EXPERIMENTS.iter().map(|e| e.id).collect();
    let help = match weir_text::suggest::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? `runweir reproduce` lists them all"),
        None => format!("there are {}; `runweir reproduce` describes them", names.join(", ")),
    };
    Fault::user(format!("there is no experiment called `{}`", name.escape_debug()), help)
}
