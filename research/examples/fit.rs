// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Baseline of a workload file beside the thesis's: what its profiles and programs are calibrated with.
//!
//! `cargo run --release -p runweir-lab --example fit FILE.toml [RUNS]`

use std::process::ExitCode;

use runweir_lab::reproduce::pmc::average::{Metric, Numbers, Summary};
use runweir_lab::reproduce::pmc::matrix::{Config, LEVELS};
use runweir_lab::reproduce::pmc::penalty::Model;
use runweir_lab::reproduce::pmc::run::{PROGRAMS, Setting, run};
use runweir_lab::reproduce::pmc::tree::forest;
use runweir_lab::reproduce::pmc::{Error, published};

const MACHINE: &str = include_str!("../../experiments/pmc-tables/machine.toml");

fn main() -> ExitCode {
    match fit() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn fit() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or_else(|| Error("name a workload file".into()))?;
    let runs: u64 = args.next().map_or(Ok(3), |n| n.parse())?;
    let text = std::fs::read_to_string(&file)?;
    let name = file.rsplit('/').next().and_then(|f| f.strip_suffix(".toml")).unwrap_or(&file);
    let setting = Setting::read(MACHINE, name, &text)?;
    let rows = published::rows()?;
    for model in [Model::CacheOnly, Model::Equal] {
        for level in LEVELS {
            let config = Config::new(level, model, None);
            let plan = setting.plan(&config)?;
            let mut numbers = vec![Vec::new(); PROGRAMS.len()];
            let mut passes = vec![0u64; PROGRAMS.len()];
            let mut tasks = vec![0; PROGRAMS.len()];
            for seed in 1..=runs {
                let log = run(&setting, &plan, config, seed)?;
                for tree in forest(&log.lines, &log.roots.iter().map(|r| r.1).collect::<Vec<_>>()) {
                    let root = log.roots.iter().find(|r| r.1 == tree.nodes[0].pid);
                    let at = PROGRAMS.iter().position(|p| Some(*p) == root.map(|r| r.0)).unwrap_or(0);
                    numbers[at].extend(Numbers::of(&tree));
                    passes[at] += tree.total().schedules;
                    tasks[at] += tree.nodes.len();
                }
            }
            for (p, program) in PROGRAMS.into_iter().enumerate() {
                let mean =
                    |m| Summary::of(&numbers[p].iter().map(|n: &Numbers| n.get(m)).collect::<Vec<_>>()).mean;
                let theirs = |m| {
                    let row = rows.iter().find(|r| {
                        (r.workload.as_str(), r.program.as_str(), r.level, r.metric)
                            == (name, program, level, m)
                            && r.has_branches() == model.has_branches()
                    });
                    row.and_then(|r| r.original).unwrap_or(0.0)
                };
                println!(
                    "{level:?} {model:?} {program:7} cache {:6.2} ({:6.2}) branch {:6.2} ({:6.2}) vcsw {:8.0} ({:8.0}) nvcsw {:8.0} ({:8.0}) time {:.3} passes/task {:.1}",
                    mean(Metric::CacheRate),
                    theirs(Metric::CacheRate),
                    mean(Metric::BranchRate),
                    theirs(Metric::BranchRate),
                    mean(Metric::Voluntary),
                    theirs(Metric::Voluntary) / 20.0,
                    mean(Metric::Involuntary),
                    theirs(Metric::Involuntary) / 20.0,
                    mean(Metric::Time),
                    passes[p] as f64 / tasks[p].max(1) as f64,
                );
            }
        }
    }
    Ok(())
}
