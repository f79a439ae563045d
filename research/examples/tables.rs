// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tables 5.4 to 5.12 from simulation: `cargo run --release -p runweir-lab --example tables [RUNS [DIRECTORY]]`.
//!
//! Prints the verdicts in Markdown; into DIRECTORY go `rows.csv`, `gains.svg` and `verdicts.md`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use runweir_lab::reproduce::pmc::experiment::{Plan, experiment};
use runweir_lab::reproduce::pmc::report;
use runweir_lab::reproduce::pmc::run::{Setting, WORKLOADS};

fn main() -> ExitCode {
    match tables() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn tables() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let runs = args.next().map_or(Ok(30), |n| n.parse())?;
    let progress = |done: usize, all: usize| {
        if done.is_multiple_of(10) || done == all {
            eprint!("\r{done} of {all} runs");
            let _ = std::io::stderr().flush();
        }
        true
    };
    let results = experiment(&Plan { runs, ..Plan::default() }, &Setting::all(&WORKLOADS)?, &progress)?;
    eprintln!();
    let text = report::verdicts(&results)?;
    print!("{text}");
    if let Some(dir) = args.next() {
        let dir = Path::new(&dir);
        std::fs::create_dir_all(dir)?;
        std::fs::write(dir.join("rows.csv"), report::csv(&report::deviations(&results)?))?;
        std::fs::write(dir.join("gains.svg"), report::figure(&results))?;
        std::fs::write(dir.join("verdicts.md"), text)?;
    }
    Ok(())
}
