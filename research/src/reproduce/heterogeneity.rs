// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 8.3: tasks for a foreign processing element, alone and on a detour of native tasks.
//!
//! Topology `accelerator` on machines of the `accel-NxM` family. The source's results are functional; the pictures
//! add how long it all takes with more CPUs of either kind.

use std::collections::BTreeMap;

use weir_core::event::{CpuNo, Event, Observer, TaskNo};
use weir_model::{Machine, Workload};

use crate::reproduce::cobas;
use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table};
use weir::machine;

pub const EXPERIMENT: Experiment = Experiment {
    id: "cobas-8.3",
    aliases: &["8.3", "heterogeneity"],
    title: "a foreign processing element beside native ones, two experiments",
    source: "source 0, section 8.3, figure 8.1, listing 8.1",
    run,
};

/// First experiment: tasks that only the foreign element can run, from user space; native ones beside.
const STANDALONE: &str = "\
[[task]]\nname = \"standalone\"\ncount = 8\nstagger = \"1ms\"\nisa = \"accel\"\nprogram = \"run 3ms\"\n\
[[task]]\nname = \"plain\"\ncount = 8\nprogram = \"run 5ms\"\n";

/// Second: tasks that need it in the middle.
const DETOUR: &str = "\
[[task]]\nname = \"travel\"\ncount = 8\nprogram = \"\"\"\nrun 1ms\nisa accel\nrun 4ms\nisa native\nrun 500us\n\"\"\"\n\
[[task]]\nname = \"plain\"\ncount = 8\nprogram = \"run 5ms\"\n";

/// What one task did.
#[derive(Debug, Default)]
struct Life {
    name: String,
    /// Runs: when, where.
    runs: Vec<(u64, CpuNo)>,
    ended_ns: Option<u64>,
}

/// Observer of the tasks' ways.
#[derive(Debug, Default)]
struct Lives(BTreeMap<TaskNo, Life>);

impl Observer for Lives {
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { task, name, .. } => {
                self.0.insert(task, Life { name: name.into(), ..Life::default() });
            }
            Event::Run { task, cpu, .. } => self.0.entry(task).or_default().runs.push((t_ns, cpu)),
            Event::TaskExit { task } => self.0.entry(task).or_default().ended_ns = Some(t_ns),
            _ => {}
        }
    }
}

impl Lives {
    fn named(&self, name: &str) -> Vec<&Life> {
        self.0.values().filter(|l| l.name.starts_with(name)).collect()
    }
}

impl Life {
    /// Sides that it ran on, in turn: `n` native, `f` foreign.
    fn way(&self, machine: &Machine) -> String {
        let side = |cpu: CpuNo| if machine.shape.cpus[cpu as usize].isa == 0 { 'n' } else { 'f' };
        let mut way: Vec<char> = self.runs.iter().map(|r| side(r.1)).collect();
        way.dedup();
        way.into_iter().collect()
    }
}

/// What a run showed: the tasks, its end, contexts that the foreign elements fetched.
type Simulated = (Lives, (u64, u64), Machine);

fn simulate(lab: &Lab<'_>, native: u32, foreign: u32, workload: &Workload) -> Done<Simulated> {
    let machine = machine::resolve(&format!("accel-{native}x{foreign}"))?;
    let costs = cobas::simulated();
    let plan = lab::plan("accelerator", &machine, &[])?;
    let mut lives = Lives::default();
    let outcome = lab.run(&Run::new(&machine, &plan, workload, &costs), &mut lives)?;
    Ok((lives, (outcome.end_ns, outcome.contexts_fetched), machine))
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let loads = [lab::workload_of("standalone", STANDALONE)?, lab::workload_of("detour", DETOUR)?];
    let natives: &[u32] = lab.pick(&[1, 2, 4, 8, 16], &[1, 4]);
    let foreign: &[u32] = lab.pick(&[1, 2, 4], &[1, 2]);
    let mut grid = Vec::new();
    for load in 0..loads.len() {
        for n in natives {
            grid.extend(foreign.iter().map(|f| (load, *n, *f)));
        }
    }
    let runs = lab.points(&grid, |(load, n, f)| simulate(lab, *n, *f, &loads[*load]))?;
    let all = |load: usize| grid.iter().zip(&runs).filter(move |(at, _)| at.0 == load).map(|(_, r)| r);

    let mut report = Report::default();
    let (mut done, mut tasks, mut home, mut in_turn) = (0, 0, 0, true);
    for (lives, _, machine) in all(0) {
        let own = lives.named("standalone");
        tasks += own.len();
        done += own.iter().filter(|l| l.ended_ns.is_some()).count();
        home += own.iter().filter(|l| l.way(machine) == "f").count();
        in_turn &= own.windows(2).all(|w| w[0].runs.first().map(|r| r.0) <= w[1].runs.first().map(|r| r.0));
    }
    report.claims.push(Claim::new(
        "standalone tasks that user space submits are run by the foreign element to their end",
        "verified by the kernel log",
        format!("{done} of {tasks} end, {home} of them ran nowhere else ({} machines)", all(0).count()),
        Judged::of(done == tasks && home == tasks, done > 0, "all of them; partly if any ends"),
    ));
    report.claims.push(Claim::new(
        "they are served first come, first served",
        "the topology has FCFS there",
        if in_turn { "begun in the order of creation on every machine" } else { "out of order" },
        Judged::of(in_turn, false, "all of them"),
    ));
    let (mut done, mut tasks, mut right) = (0, 0, 0);
    for (lives, _, machine) in all(1) {
        let own = lives.named("travel");
        tasks += own.len();
        done += own.iter().filter(|l| l.ended_ns.is_some()).count();
        right += own.iter().filter(|l| l.way(machine) == "nfn").count();
    }
    report.claims.push(Claim::new(
        "a task that changes its instruction set yields, is run by the foreign element, comes back and ends",
        "observed, one task",
        format!("{right} of {tasks} tasks went native, foreign, native; {done} ended"),
        Judged::of(right == tasks && done == tasks, right > 0, "all of them; partly if any does"),
    ));
    // A task that the element keeps at a new choice counts as one run, so requests may be more.
    let (mut fetched, mut runs_there, mut each) = (0, 0, true);
    for (lives, (_, contexts), machine) in all(0).chain(all(1)) {
        let there = lives.0.values().flat_map(|l| &l.runs);
        let there = there.filter(|r| machine.shape.cpus[r.1 as usize].isa != 0).count() as u64;
        fetched += contexts;
        runs_there += there;
        each &= *contexts >= there;
    }
    report.claims.push(
        Claim::new(
            "the foreign element takes a task's context from the TCB entry component, by a request",
            "listing 8.1, line 5",
            format!("{fetched} requests for {runs_there} runs there"),
            Judged::of(each && fetched > 0, fetched > 0, "at least one for each run"),
        )
        .own(),
    );
    let astray = all(0)
        .chain(all(1))
        .flat_map(|(lives, _, m)| lives.named("plain").into_iter().map(move |l| l.way(m)));
    let astray = astray.filter(|way| way != "n").count();
    report.claims.push(Claim::new(
        "native tasks are not touched by all this, however many native elements there are",
        "an arbitrary number of native elements",
        format!(
            "{astray} native tasks were ever on a foreign element; 1 to {} native ones",
            natives[natives.len() - 1]
        ),
        Judged::of(astray == 0, false, "none"),
    ));

    let mut table = Table::new("data", &["experiment", "native", "foreign", "makespan_ms"]);
    let name = |load: usize| ["standalone", "detour"][load];
    for ((load, n, f), (_, (end_ns, _), _)) in grid.iter().zip(&runs) {
        let ms = format!("{:.3}", *end_ns as f64 / 1e6);
        table.row([name(*load).to_string(), n.to_string(), f.to_string(), ms]);
    }
    report.tables.push(table);
    let mut table = Table::new("ways", &["experiment", "task", "at_us", "cpu", "side"]);
    for (load, run) in [(0, all(0).next()), (1, all(1).next())] {
        let Some((lives, _, machine)) = run else { continue };
        for life in lives.0.values() {
            for (at, cpu) in &life.runs {
                let side = if machine.shape.cpus[*cpu as usize].isa == 0 { "native" } else { "foreign" };
                let at_us = format!("{:.3}", *at as f64 / 1e3);
                table.row([name(load), &life.name, &at_us, &cpu.to_string(), side]);
            }
        }
    }
    report.tables.push(table);
    let xs: Vec<String> = natives.iter().map(u32::to_string).collect();
    let mut lines = Vec::new();
    for load in 0..loads.len() {
        for (colour, f) in foreign.iter().enumerate() {
            let point = |(at, run): (&(usize, u32, u32), &Simulated)| {
                (at.0 == load && at.2 == *f).then(|| (at.1.to_string(), run.1.0 as f64 / 1e6))
            };
            lines.push(Line {
                name: format!("{}, {f} foreign", name(load)),
                points: grid.iter().zip(&runs).filter_map(point).collect(),
                colour,
                dashed: load == 1,
            });
        }
    }
    let titles = ("native elements", "all tasks done after, ms");
    report.pictures.push(Picture::new("makespan", titles, false, &xs, lines));
    Ok(report)
}
