// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Parallel programs that answer requests: a network monitor in bursts (E12), and a solver beside spinning threads under two ways to
//! gang (E20).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_core::event::{Event, Observer};
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

/// Response times, ns.
#[derive(Default)]
struct Times(Vec<u64>);

impl Times {
    fn mean_s(&self) -> f64 {
        self.0.iter().map(|ns| *ns as f64).sum::<f64>() / self.0.len().max(1) as f64 / 1e9
    }

    fn deviation_s(&self) -> f64 {
        let (n, mean) = (self.0.len().max(1) as f64, self.mean_s());
        (self.0.iter().map(|ns| (*ns as f64 / 1e9 - mean).powi(2)).sum::<f64>() / n).sqrt()
    }
}

/// Times from the last packet of a stream's 16,000 until its clusters are updated, or of a request until its answer: between two marks of
/// the thread that waits.
#[derive(Default)]
struct Updates {
    begun: BTreeMap<String, u64>,
    times: Times,
}

impl Observer for Updates {
    fn event(&mut self, now: u64, event: &Event<'_>) {
        let Event::Marker { text } = *event else { return };
        match text.split_once('.') {
            Some(("begun", stream)) => _ = self.begun.insert(stream.into(), now),
            Some(("done", stream)) => {
                self.times.0.extend(self.begun.remove(stream).map(|begun| now - begun));
            }
            _ => {}
        }
    }
}

/// How the streams' threads are scheduled.
const WAYS: [&str; 4] = ["gang", "linux", "partition", "daemon"];
const STREAMS: u32 = 4;
/// Rounds of an update for each second between bursts: with four updates of each stream in a burst, the machine has a load of 70 %.
const ROUNDS: u32 = 220;
/// While 16,000 packets of 64 bytes come at a gigabit a second, us, for each second between bursts (the source has 10 s and 19 ms): they have
/// 150 bytes on the wire. One after the other, the streams get them.
const COLLECT_US: u32 = 1_900;

/// Four streams on 16 CPUs. A thread of each collects packets, has eight others update the clusters, in rounds of 403 us as in streamcluster
/// (E11), and waits for them before it goes on collecting. A burst is `factor` times 16,000 packets; one comes every `apart` seconds.
fn monitor(way: &str, factor: u32, bursts: u64, apart: u32) -> String {
    let mut text = String::new();
    let (rounds, collect_us) = (ROUNDS * apart, COLLECT_US * apart);
    for s in 0..STREAMS {
        let cpus = match way {
            "partition" => format!("cpus = \"{}-{}\"\n", 4 * s, 4 * s + 3),
            _ => String::new(),
        };
        let _ = write!(
            text,
            "[[task]]\nname = \"stream{s}\"\ngroup = \"stream{s}\"\ncount = 8\n{cpus}loop = \"forever\"\n\
             program = [\"barrier go{s}; loop {rounds} {{ run 303us..502us; barrier b{s} spin 50us }}; barrier done{s}\"]\n\
             [[task]]\nname = \"collect{s}\"\nstart = \"{}us\"\n{cpus}program = [\"loop {bursts} {{ timer {apart}s absolute; loop {factor} {{ \
             run {collect_us}us; marker begun.{s}; barrier go{s}; barrier done{s}; marker done.{s} }} }}\"]\n",
            s * collect_us,
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
    let costs = lab::costs("amd-4x4")?;
    let factors: Vec<u32> = lab.pick(vec![1, 2, 3, 4], vec![1, 4]);
    // As in the source: ten runs of five bursts, 10 s apart. (A slice has 15 ms, so that a tenth of all other times makes ten times as much of
    // where in it an update ends.)
    let (nr, seeds, apart): (u64, u64, u32) = lab.pick((5, 10, 10), (2, 2, 1));
    let points: Vec<(&str, u32)> = WAYS.iter().flat_map(|w| factors.iter().map(move |f| (*w, *f))).collect();
    let all: Vec<(&str, u32, u64)> =
        points.iter().flat_map(|(way, factor)| (1..=seeds).map(move |seed| (*way, *factor, seed))).collect();
    let runs = lab.points(&all, |&(way, factor, seed)| {
        let workload = lab::workload_of("monitor", &monitor(way, factor, nr, apart))?;
        let topology = if matches!(way, "gang" | "daemon") { "gang" } else { "linux" };
        let plan = lab::plan(topology, &machine, &[])?;
        let mut seen = Updates::default();
        let duration_ns = Some((nr + 2) * u64::from(apart) * 1_000_000_000);
        let run = Run { duration_ns, seed, ..Run::new(&machine, &plan, &workload, &costs) };
        let outcome = lab.run(&run, &mut seen)?;
        Ok((seen.times, outcome))
    })?;
    let got: Vec<(Times, Vec<Outcome>)> = runs
        .chunks(seeds as usize)
        .map(|runs| {
            let times = Times(runs.iter().flat_map(|run| run.0.0.iter().copied()).collect());
            (times, runs.iter().map(|run| run.1.clone()).collect())
        })
        .collect();
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
    let carried: u64 = daemon.iter().flat_map(|run| &run.gangs).map(|g| g.carry_ns).sum();
    let share = carried as f64 / daemon.iter().map(|run| run.end_ns).sum::<u64>().max(1) as f64;
    report.claims.push(Claim::new(
        "the daemon's own overhead",
        "3.9: below 1 %",
        format!("{:.3} % of a CPU", 100.0 * share),
        Judged::of(share < 0.01, share < 0.02, "below 1 %; partly below 2 %"),
    ));
    let mut table = Table::new("data", &["way", "burst_factor", "mean_s", "deviation_s", "updates"]);
    for ((way, factor), (seen, _)) in points.iter().zip(&got) {
        table.row([
            (*way).to_string(),
            factor.to_string(),
            format!("{:.4}", seen.mean_s()),
            format!("{:.4}", seen.deviation_s()),
            seen.0.len().to_string(),
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

/// LU-like: 16 threads that meet after each step; four threads that spin on the first CPUs. A client asks again 2 s after it asked, or at once if
/// the answer took longer. Members wait between their slots: the source says of long slices that a request is likely to come "when the LU
/// benchmark is not running". `start_ms` shifts the requests against the slots.
fn requests(way: &str, slice_ms: u64, requests: u64, start_ms: u64) -> String {
    format!(
        "[[task]]\nname = \"lu\"\ngroup = \"lu\"\ncount = 16\nloop = \"forever\"\n\
         program = [\"barrier go; loop 400 {{ run 240us..260us; barrier b spin 200us }}; barrier done\"]\n\
         [[task]]\nname = \"client\"\ncpus = \"16\"\nstart = \"{start_ms}ms\"\n\
         program = [\"loop {requests} {{ timer 2s; marker begun.lu; barrier go; barrier done; marker done.lu }}\"]\n\
         [[task]]\nname = \"spin\"\ncount = 4\ncpus = \"0-3\"\nprogram = [\"loop {{ run 10ms }}\"]\n\
         [[gang]]\ngroup = \"lu\"\nway = \"{way}\"\nmanifest = '''\ncpus 0-15\noutside wait\nH {slice_ms} {}\n'''\n",
        2 * slice_ms
    )
}

/// Runs of a setting, as in the source. A request each 2 s meets slots of 1 s always at the same point, so each run begins elsewhere: in the
/// middle of one of three equal parts of a period.
const RUNS: u64 = 3;

fn solver(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("scc-48")?;
    let costs = lab::costs("scc-48")?;
    let slices: Vec<u64> = lab.pick(vec![5_000, 1_000, 300, 100, 60], vec![1_000, 60]);
    let nr: u64 = lab.pick(10, 3);
    let ways = ["locked", "slurm"];
    let points: Vec<(&str, u64)> = ways.iter().flat_map(|w| slices.iter().map(move |s| (*w, *s))).collect();
    let all: Vec<(&str, u64, u64)> =
        points.iter().flat_map(|(way, slice)| (0..RUNS).map(move |run| (*way, *slice, run))).collect();
    let runs = lab.points(&all, |&(way, slice, run)| {
        let start_ms = (2 * run + 1) * 2 * slice / (2 * RUNS);
        let workload = lab::workload_of("solver", &requests(way, slice, nr, start_ms))?;
        let plan = lab::plan("gang", &machine, &[])?;
        let mut seen = Updates::default();
        // An answer takes a period at most, and a second of computing.
        let duration_ns = Some((start_ms + nr * (3_000 + 2 * slice)) * 1_000_000);
        let run = Run { duration_ns, ..Run::new(&machine, &plan, &workload, &costs) };
        let outcome = lab.run(&run, &mut seen)?;
        let skew_ns = outcome.gangs.first().map_or(0, |g| g.skew_mean_ns);
        Ok((seen.times, skew_ns))
    })?;
    let got: Vec<(Times, u64)> = runs
        .chunks(RUNS as usize)
        .map(|runs| {
            let times = Times(runs.iter().flat_map(|run| run.0.0.iter().copied()).collect());
            (times, runs.iter().map(|run| run.1).sum::<u64>() / RUNS)
        })
        .collect();
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
    let heads = ["way", "slice_ms", "mean_s", "deviation_s", "answers", "skew_mean_us"];
    let mut table = Table::new("data", &heads);
    for ((way, slice), (seen, skew_ns)) in points.iter().zip(&got) {
        table.row([
            (*way).to_string(),
            slice.to_string(),
            format!("{:.4}", seen.mean_s()),
            format!("{:.4}", seen.deviation_s()),
            seen.0.len().to_string(),
            format!("{:.3}", *skew_ns as f64 / 1e3),
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
