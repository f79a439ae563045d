// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 8.5: how many ways into a balancer do 16 to 254 CPUs need, and 1,024 and 4,096?
//!
//! Topology `scaling`: entry pipes, each with a `burn`, before one balancer. The cost table is that of all of source 0's
//! experiments, fitted once to the source's uncontended admission (docs/costs.md); nothing is fitted here.

mod claims;
mod pictures;
mod study;

use weir_model::Machine;

use crate::reproduce::cobas;
use crate::reproduce::lab::{self, Calls, Done, Figures, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::Report;
use study::Study;

pub const EXPERIMENT: Experiment = Experiment {
    id: "cobas-8.5",
    aliases: &["8.5", "scaling"],
    title: "entry pipes against contention, 16 to 4,096 CPUs",
    source: "source 0, section 8.5, figures 8.5 and B.1 to B.4, tables B.1 to B.19",
    run,
};

const SOURCE: &str = include_str!("../../../../experiments/cobas-8.5/source.csv");

/// Iterations of `burn`; one is 2.5 ns.
const BURNS: [u32; 4] = [0, 500, 1000, 2000];

/// CPUs with the numbers of entry pipes tried with no and the most work, and those tried with all. The source's fewest
/// come first: more than 32 CPUs a pipe made no progress there.
const SIZES: [(u32, &[u32], &[u32]); 7] = [
    (16, &[1, 2, 4, 8, 16], &[1, 4, 16]),
    (32, &[1, 2, 4, 8, 16, 32], &[1, 4, 32]),
    (64, &[1, 2, 4, 8, 16, 32, 64], &[2, 8, 64]),
    (128, &[4, 8, 16, 32, 64, 128], &[4, 16, 128]),
    (254, &[12, 16, 24, 32, 64, 128, 254], &[12, 32, 254]),
    (1024, &[32, 128, 512, 1024], &[32, 128, 1024]),
    (4096, &[128, 512, 4096], &[]),
];

/// The source's machine sizes.
const MEASURED: std::ops::RangeInclusive<u32> = 16..=254;

/// A point of the grid: CPUs, iterations, pipes.
type At = (u32, u32, u32);

/// What a point showed.
struct Point {
    at: At,
    calls: Calls,
    /// Of the CPU time that was not idle: scheduler code, and waiting for its locks.
    share: f64,
    wait_share: f64,
    end_ns: u64,
}

/// The load: the source's 100 groups of 40 tasks and 100 loops. Larger machines have as many tasks a CPU as 254, and
/// fewer loops, for the sake of time. The source gives back the running task at each tick of 1 ms; 16, 32 and 64 CPUs count 8,548 to
/// 8,796 of that without contention, so 8.5 s of CPU time for 4,000,000 messages: 1 us a side. Before a child is ready it computes for as long
/// as its creation took: `experiments/cobas-8.5/begin.c` has 0.7 of that time for a program without shared libraries, as the source's was, and
/// 1.2 with them. So it is others that run while the benchmark forks; nothing else does, as the source counts 3 admissions besides its 4,000
/// children.
fn load(cpus: u32, quick: bool) -> String {
    if quick {
        return "hackbench:groups=8,loops=20,work=1us,begin=20us".into();
    }
    let groups = 100.max(cpus * 100 / 254);
    let loops = if MEASURED.contains(&cpus) { 100 } else { 20 };
    format!("hackbench:groups={groups},loops={loops},work=1us,begin=20us")
}

fn measure(lab: &Lab<'_>, at: At) -> Done<Point> {
    let (cpus, iterations, pipes) = at;
    let (machine, costs) = (Machine::smp(cpus), cobas::simulated());
    // The source's balancer looks at every CPU: its wake-ups take as long as its admissions.
    let sets = [
        ("scaling", "pipes", pipes.to_string()),
        ("burn", "iterations", iterations.to_string()),
        ("load_balancer", "full", "true".into()),
    ];
    let plan = lab::plan("scaling", &machine, &sets)?;
    let workload = lab::workload(&load(cpus, lab.quick))?;
    let mut calls = Calls::new(&costs);
    let outcome = lab.run(&Run::new(&machine, &plan, &workload, &costs), &mut calls)?;
    let used = (outcome.busy_ns + outcome.kernel_ns).max(1) as f64;
    Ok(Point {
        at,
        calls,
        share: outcome.scheduler_ns as f64 / used,
        wait_share: outcome.lock_wait_ns as f64 / used,
        end_ns: outcome.end_ns,
    })
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let sizes = lab.pick(SIZES.to_vec(), vec![(16, &[1, 4, 8, 16], &[]), (32, &[1, 4, 16, 32], &[])]);
    let burns: &[u32] = lab.pick(&BURNS, &[0, 2000]);
    let mut grid: Vec<At> = Vec::new();
    for &(cpus, pipes, few) in &sizes {
        for burn in burns {
            let pipes = match burn {
                0 => pipes,
                // The largest machine costs most and adds least.
                2000 if cpus <= 1024 => pipes,
                _ => few,
            };
            grid.extend(pipes.iter().map(|p| (cpus, *burn, *p)));
        }
    }
    let points = lab.points(&grid, |at| measure(lab, *at))?;
    let study = Study { points: points.iter().map(|p| (p.at, p)).collect(), source: Figures::parse(SOURCE) };
    let mut report = Report { claims: study.claims(lab.quick), ..Report::default() };
    report.tables.push(study.table());
    for &burn in burns {
        report.pictures.push(study.picture(burn));
    }
    report.pictures.push(study.slope_picture());
    Ok(report)
}
