// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedulers in hardware: source 2 (E2 to E8) and source 3 (X1 to X7) on simulated RISC-V cores.
//!
//! They need the tools of `make hw-setup`. Without them the recorded figures of the last full run are given, and a note says so.

pub mod area;
pub mod engine;
pub mod unified;

use crate::soc::measure::{SocOptions, SocResult, soc};
use crate::soc::{System, Tools};

use crate::reproduce::lab::{Done, Halt, Lab};
use crate::reproduce::recorded;
use crate::reproduce::report::Report;

/// A run of a program.
#[derive(Clone, Debug)]
struct Point {
    system: System,
    cpus: u32,
    tasks: u32,
    app: &'static str,
    defines: Vec<String>,
}

impl Point {
    fn new(system: System, app: &'static str, defines: &[(&str, u32)]) -> Self {
        let defines = defines.iter().map(|(n, v)| format!("{n}={v}")).collect();
        Self { system, cpus: 1, tasks: 16, app, defines }
    }
}

/// The four systems of source 3.
const FOUR: [System; 4] = [System::Software, System::Threaded, System::Unified, System::Hardware];

/// Run all points.
fn runs(lab: &Lab<'_>, points: &[Point]) -> Done<Vec<SocResult>> {
    lab.points(points, |p| {
        let options = SocOptions {
            cpus: p.cpus,
            tasks: p.tasks,
            defines: p.defines.clone(),
            ..SocOptions::new(p.system, p.app)
        };
        lab.ran();
        let done = soc(&options, None, lab.watch())?;
        if lab.stopped() {
            return Err(Halt::Interrupted);
        }
        if done.soc.status != Some(0) {
            let (app, status) = (p.app, done.soc.status);
            return Err(Halt::Fault(weir::Fault::system(
                format!("{app} {:?} on `{}` ended with {status:?}", p.defines, p.system),
                "run it with `runweir soc`",
            )));
        }
        Ok(done)
    })
}

/// Experiments that need the tools.
const NEEDS: [&str; 11] = [
    "llf-e2",
    "llf-e3",
    "llf-e4",
    "llf-pays",
    "unified-x1",
    "unified-x2",
    "unified-x3",
    "unified-x4",
    "unified-x5",
    "unified-x6",
    "unified-x7",
];

/// Why this experiment can say nothing here: its tools are missing, and no full run is on record.
pub fn out_of_reach(id: &str) -> Option<String> {
    let needs = NEEDS.contains(&id) && recorded::all().iter().all(|r| r.id != id);
    needs.then(|| Tools::find(System::Hardware))?.err().map(|e| e.to_string())
}

/// The experiment with the tools; without them what was recorded.
fn with_tools(lab: &Lab<'_>, id: &str, run: impl Fn(&Lab<'_>) -> Done<Report>) -> Done<Report> {
    match Tools::find(System::Hardware) {
        Ok(_) => run(lab),
        Err(e) => recorded::instead(id, &e.message, &e.help),
    }
}

/// What the program printed; 0 if it did not.
fn figure(done: &SocResult, name: &str) -> f64 {
    done.outcome.figure(name).unwrap_or(0) as f64
}
