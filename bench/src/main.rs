// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Benchmarks: ratios within one run, printed for the record (`bench/RESULTS.md`), never asserted.
//!
//! `weir-bench [stages|fair|sim]`; without an argument, all.

mod fair;
mod monolith;
mod sim;
mod stages;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            stages::run();
            println!();
            fair::run();
            println!();
            sim::run();
        }
        ["stages"] => stages::run(),
        ["fair"] => fair::run(),
        ["sim"] => sim::run(),
        ["sim-one", cpus, seconds, mode, subject] => sim::one(
            cpus.parse().expect("a number of CPUs"),
            seconds.parse().expect("a number of seconds"),
            mode,
            subject.parse().expect("the number of a subject"),
        ),
        _ => {
            eprintln!("usage: weir-bench [stages|fair|sim]");
            std::process::exit(2);
        }
    }
}
