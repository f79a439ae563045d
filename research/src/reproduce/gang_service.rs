// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Parallel programs that answer requests: a network monitor in bursts (E12), and a solver beside spinning threads under two ways to
//! gang (E20).

use std::fmt::Write as _;

use weir_core::event::{Event, Observer};
use weir_model::Costs;
use weir_sim::Outcome;

use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table};
use weir::machine;

pub const BURSTS: Experiment = Experiment {
    id: "multikernel-e12",
    aliases: &["gang-bursts"],
    title: "a parallel network monitor in bursts: gang, linux, partition, daemon",
    source: "Peter, 2012, 3.3 (E12)",
    run: bursts,
};

pub const SOLVER: Experiment = Experiment {
    id: "multikernel-e20",
    aliases: &["gang-slurm"],
    title: "a solver as a service beside spinning threads: phase-locked against SLURM-like, by slice",
    source: "Peter, 2012, chapter 4 (E20)",
    run: solver,
};

/// Response times of jobs of a group.
struct Responses {
    group: &'static str,
    members: Vec<u32>,
    ns: Vec<u64>,
}

impl Responses {
    fn of(group: &'static str) -> Self {
        Self { group, members: Vec::new(), ns: Vec::new() }
    }

    fn mean_s(&self) -> f64 {
        let n = self.ns.len().max(1) as f64;
        self.ns.iter().map(|ns| *ns as f64).sum::<f64>() / n / 1e9
    }

    fn deviation_s(&self) -> f64 {
        let (n, mean) = (self.ns.len().max(1) as f64, self.mean_s());
        (self.ns.iter().map(|ns| (*ns as f64 / 1e9 - mean).powi(2)).sum::<f64>() / n).sqrt()
    }
}

impl Observer for Responses {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { task, group, .. } if group.starts_with(self.group) => self.members.push(task),
            Event::JobDone { task, response_ns, .. } if self.members.contains(&task) => {
                self.ns.push(response_ns);
            }
            _ => {}
        }
    }
}

/// How the streams' threads are scheduled.
const WAYS: [&str; 4] = ["gang", "linux", "partition", "daemon"];
const STREAMS: u32 = 4;
/// Rounds of a burst for each unit of the burst factor.
const ROUNDS: u32 = 220;

/// Four streams of eight threads on 16 CPUs; each burst is so many rounds of 403 us, as in streamcluster (E11). Bursts and times are a
/// tenth of the source's.
fn monitor(way: &str, rounds: u32, bursts: u64) -> String {
    let mut text = String::new();
    for s in 0..STREAMS {
        let cpus = match way {
            "partition" => format!("cpus = \"{}-{}\"\n", 4 * s, 4 * s + 3),
            _ => String::new(),
        };
        let _ = write!(
            text,
            "[[task]]\nname = \"stream{s}\"\ngroup = \"stream{s}\"\ncount = 8\n{cpus}period = \"1s\"\n\
             jobs = {bursts}\nprogram = [\"loop {rounds} {{ run 303us..502us; barrier b{s} spin 50us }}\"]\n"
        );
        if matches!(way, "gang" | "daemon") {
            let word = if way == "gang" { "locked" } else { "daemon" };
            // The daemon's slice is the mean one of Linux, 15 ms.
            let _ = write!(
                text,
                "[[gang]]\ngroup = \"stream{s}\"\nway = \"{word}\"\nmanifest = '''\nH 15 30\n'''\n"
            );
        }
    }
    text
}

fn bursts(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("amd-4x4")?;
    let costs = Costs::default();
    let factors: Vec<u32> = lab.pick(vec![1, 2, 3, 4], vec![1, 4]);
    let nr: u64 = lab.pick(5, 2);
    let points: Vec<(&str, u32)> = WAYS.iter().flat_map(|w| factors.iter().map(move |f| (*w, *f))).collect();
    let got = lab.points(&points, |&(way, factor)| {
        let workload = lab::workload_of("monitor", &monitor(way, ROUNDS * factor, nr))?;
        let topology = if matches!(way, "gang" | "daemon") { "gang" } else { "linux" };
        let plan = lab::plan(topology, &machine, &[])?;
        let mut seen = Responses::of("stream");
        let duration_ns = Some((nr + 4) * 1_000_000_000);
        let run = Run { duration_ns, ..Run::new(&machine, &plan, &workload, &costs) };
        let outcome = lab.run(&run, &mut seen)?;
        Ok((seen, outcome))
    })?;
    let at = |way: &str, factor: u32| {
        let i = points.iter().position(|p| *p == (way, factor)).expect("it was made");
        &got[i]
    };
    let most = factors.last().copied().unwrap_or(1);
    let mean = |way: &str| at(way, most).0.mean_s();
    let mut report = Report::default();
    for (other, source) in [
        ("linux", "E12: mean and variance grow under Linux"),
        ("partition", "E12: partition worse than gang"),
    ] {
        let ratio = mean(other) / mean("gang");
        report.claims.push(Claim::new(
            format!("largest bursts: mean response under gang below {other}'s"),
            source,
            format!("{:.3} s, {other} {:.3} s", mean("gang"), mean(other)),
            Judged::of(ratio >= 1.05, ratio >= 1.0, "at least 5 % below; partly not above"),
        ));
    }
    let (calm, noisy) = (at("gang", most).0.deviation_s(), at("linux", most).0.deviation_s());
    report.claims.push(Claim::new(
        "largest bursts: response times deviate less under gang than under linux",
        "E12: small variance under gang",
        format!("standard deviation {calm:.4} s, linux {noisy:.4} s"),
        Judged::of(calm < noisy, calm < 1.5 * noisy, "less; partly up to half more"),
    ));
    let daemon = &at("daemon", most).1;
    let carried: u64 = daemon.gangs.iter().map(|g| g.carry_ns).sum();
    let share = carried as f64 / daemon.end_ns.max(1) as f64;
    report.claims.push(Claim::new(
        "the daemon's own overhead",
        "3.9: below 1 %",
        format!("{:.3} % of a CPU", 100.0 * share),
        Judged::of(share < 0.01, share < 0.02, "below 1 %; partly below 2 %"),
    ));
    let mut table = Table::new("data", &["way", "burst_factor", "mean_s", "deviation_s", "jobs"]);
    for ((way, factor), (seen, _)) in points.iter().zip(&got) {
        table.row([
            (*way).to_string(),
            factor.to_string(),
            format!("{:.4}", seen.mean_s()),
            format!("{:.4}", seen.deviation_s()),
            seen.ns.len().to_string(),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = factors.iter().map(u32::to_string).collect();
    let lines = (0..).zip(WAYS).map(|(colour, way)| Line {
        name: way.into(),
        points: factors.iter().map(|f| (f.to_string(), at(way, *f).0.mean_s())).collect(),
        colour,
        dashed: false,
    });
    let titles = ("burst factor", "mean response, s");
    report.pictures.push(Picture::new("response", titles, false, &xs, lines.collect()));
    Ok(report)
}

/// LU-like: 16 threads that meet after each step, a request every 2 s; four threads that spin on the first CPUs.
fn requests(way: &str, slice_ms: u64, requests: u64) -> String {
    format!(
        "[[task]]\nname = \"lu\"\ngroup = \"lu\"\ncount = 16\nperiod = \"2s\"\njobs = {requests}\n\
         program = [\"loop 400 {{ run 240us..260us; barrier b spin 200us }}\"]\n\
         [[task]]\nname = \"spin\"\ncount = 4\ncpus = \"0-3\"\nprogram = [\"loop {{ run 10ms }}\"]\n\
         [[gang]]\ngroup = \"lu\"\nway = \"{way}\"\nmanifest = '''\ncpus 0-15\nH {slice_ms} {}\n'''\n",
        2 * slice_ms
    )
}

fn solver(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("scc-48")?;
    let costs = lab::costs("scc-48")?;
    let slices: Vec<u64> = lab.pick(vec![5_000, 1_000, 300, 100, 60], vec![1_000, 60]);
    let nr: u64 = lab.pick(10, 3);
    let ways = ["locked", "slurm"];
    let points: Vec<(&str, u64)> = ways.iter().flat_map(|w| slices.iter().map(move |s| (*w, *s))).collect();
    let got: Vec<(Responses, Outcome)> = lab.points(&points, |&(way, slice)| {
        let workload = lab::workload_of("solver", &requests(way, slice, nr))?;
        let plan = lab::plan("gang", &machine, &[])?;
        let mut seen = Responses::of("lu");
        let duration_ns = Some((nr + 6) * 2_000_000_000);
        let run = Run { duration_ns, ..Run::new(&machine, &plan, &workload, &costs) };
        let outcome = lab.run(&run, &mut seen)?;
        Ok((seen, outcome))
    })?;
    let mean = |way: &str, slice: u64| {
        let i = points.iter().position(|p| *p == (way, slice)).expect("it was made");
        got[i].0.mean_s()
    };
    let mut report = Report::default();
    let shortest = slices.last().copied().unwrap_or(60);
    let ahead = mean("slurm", shortest) / mean("locked", shortest) - 1.0;
    report.claims.push(Claim::new(
        format!("slices of {shortest} ms: phase-locked responds faster"),
        "E20: phase-locked responds faster",
        format!("{:.4} s against {:.4} s", mean("locked", shortest), mean("slurm", shortest)),
        Judged::of(ahead >= 0.01, ahead > 0.0, "by at least 1 %; partly by anything"),
    ));
    let longest = slices.first().copied().unwrap_or(60);
    let shorter = mean("slurm", longest) / mean("slurm", shortest);
    report.claims.push(Claim::new(
        format!("shorter slices help: {longest} ms against {shortest} ms"),
        "E20: shorter slices help until overhead dominates",
        format!(
            "{:.4} s against {:.4} s under the SLURM-like way",
            mean("slurm", longest),
            mean("slurm", shortest)
        ),
        Judged::of(shorter >= 1.2, shorter > 1.0, "by a fifth; partly by anything"),
    ));
    let heads = ["way", "slice_ms", "mean_s", "deviation_s", "jobs", "skew_mean_us"];
    let mut table = Table::new("data", &heads);
    for ((way, slice), (seen, outcome)) in points.iter().zip(&got) {
        let skew = outcome.gangs.first().map_or(0, |g| g.skew_mean_ns);
        table.row([
            (*way).to_string(),
            slice.to_string(),
            format!("{:.4}", seen.mean_s()),
            format!("{:.4}", seen.deviation_s()),
            seen.ns.len().to_string(),
            format!("{:.3}", skew as f64 / 1e3),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = slices.iter().map(u64::to_string).collect();
    let lines = (0..).zip(ways).map(|(colour, way)| Line {
        name: way.into(),
        points: slices.iter().map(|s| (s.to_string(), mean(way, *s))).collect(),
        colour,
        dashed: false,
    });
    let titles = ("slice, ms", "mean response, s");
    report.pictures.push(Picture::new("response", titles, false, &xs, lines.collect()));
    Ok(report)
}
