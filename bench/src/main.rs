// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Benchmarks: ratios within one run, printed for the record (`bench/RESULTS.md`), never asserted.
//!
//! `weir-bench [--json] [stages|fair|sim|costs]`; without an argument, all but the last, which prints a cost file. `--json` prints one object a row.
//! `weir-bench counts HISTORY` compares instructions with the newest record of a history, `weir-bench record HISTORY COMMIT DATE MACHINE` adds one.

mod costs;
mod fair;
mod hand;
mod history;
mod memory;
mod monolith;
mod ours;
mod row;
mod sim;
mod stages;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.first().is_some_and(|a| a == "--json");
    if json {
        args.remove(0);
    }
    // All but the simulator is measured as several threads run it.
    if args.first().is_none_or(|a| a != "sim-one") {
        weir_core::Sched::for_threads();
    }
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] if !json => {
            stages::run(false);
            println!();
            fair::run();
            println!();
            sim::run(false);
        }
        ["stages"] => stages::run(json),
        ["fair"] if !json => fair::run(),
        ["costs"] if !json => costs::run(),
        ["sim"] => sim::run(json),
        ["counts", file] if !json => return history::compare(file.as_ref()),
        ["record", file, commit, date, machine] if !json => {
            return history::record(file.as_ref(), commit, date, machine);
        }
        // What the benchmarks start of themselves.
        ["stages-counted", subjects] => stages::counted(subjects),
        ["sim-one", cpus, seconds, mode, subject] => sim::one(
            cpus.parse().expect("a number of CPUs"),
            seconds.parse().expect("a number of seconds"),
            mode,
            subject.parse().expect("the number of a subject"),
        ),
        _ => {
            eprintln!("usage: weir-bench [stages|fair|sim|costs], or weir-bench --json stages|sim");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
