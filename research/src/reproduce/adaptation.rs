// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 8.8: a pipeline worked through forward and backward on one CPU, under a scheduler that follows it.
//!
//! The program publishes markers at its phases, and the adaptive topology's own rules exchange one instance when they hear them.
//! The one thing fitted is the time in which a thread is created: to the adaptive run's growth from 32 to 64 threads, short stages.

use std::collections::BTreeMap;

use weir_core::Plan;
use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, Workload};

use crate::reproduce::cobas;
use crate::reproduce::lab::{self, Done, Figures, Lab, Reshaping, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};

pub const EXPERIMENT: Experiment = Experiment {
    id: "cobas-8.8",
    aliases: &["8.8", "adaptation"],
    title: "a scheduler that adapts to the program's phases, 1 to 128 threads",
    source: "source 0, section 8.8, figure 8.14, table B.23",
    run,
};

const SOURCE: &str = include_str!("../../../experiments/cobas-8.8/source.csv");

/// Threads of the pipeline.
const THREADS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Loads with the work of a stage in one phase, ns: from the source's adaptive runs, 2 N W at N = 128 for medium and
/// long; short is 10,000 times less work than medium there (100 loops against a million).
const LOADS: [(&str, u64); 3] = [("short", 54), ("medium", 540_000), ("long", 30_000_000)];

/// From one thread's creation to the next one's: (14.9 - 7.65) ms / 32.
const CREATE_NS: u64 = 226_562;

/// Pauses of the changes.
#[derive(Default)]
struct Pauses(Vec<u64>);

impl Observer for Pauses {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if let Event::Swap { pause_ns, .. } = *event {
            self.0.push(pause_ns);
        }
    }
}

/// One run: how long the program took, ns, and the pauses of the swaps.
struct Time {
    ns: u64,
    pauses: Vec<u64>,
}

/// What all runs share.
struct Bench {
    machine: Machine,
    costs: Costs,
    /// `headq`, and the fair one.
    plans: BTreeMap<&'static str, Plan>,
}

impl Bench {
    fn new() -> Done<Self> {
        // The source's i7-2600 with its second threads switched off.
        let machine = Machine::smp(4);
        let costs = cobas::on_hardware();
        let plans = BTreeMap::from([
            ("headq", lab::plan("headq", &machine, &[])?),
            (FAIR, cobas::linux_plan(&machine, &[])?),
        ]);
        Ok(Self { machine, costs, plans })
    }

    /// One policy all the time.
    fn fixed(&self, lab: &Lab<'_>, policy: &str, workload: &Workload) -> Done<Time> {
        // The source's CFS was that of an unchanged Linux.
        let costs = if policy == FAIR { cobas::linux() } else { self.costs };
        let run = Run::new(&self.machine, &self.plans[policy], workload, &costs);
        Ok(Time { ns: lab.run(&run, &mut ())?.end_ns, pauses: Vec::new() })
    }

    /// Head queue, FCFS when the program begins, LCFS when it turns, head queue at its end.
    fn adaptive(&self, lab: &Lab<'_>, workload: &Workload) -> Done<Time> {
        let topology = Reshaping::new("pipeline", &self.machine)?;
        let mut run = Run::new(&self.machine, topology.plan(), workload, &self.costs);
        run.control = topology.control();
        let mut pauses = Pauses::default();
        let out = lab.run(&run, &mut pauses)?;
        // Its markers come in this order, each once.
        debug_assert!(out.reconfigurations.iter().all(|r| r.refused.is_none() && r.kind == "instance"));
        Ok(Time { ns: out.end_ns, pauses: pauses.0 })
    }
}

/// Schedulers by the names of the source's table.
const ADAPTIVE: &str = "adaptive";
const ROUND_ROBIN: &str = "round robin";
const FAIR: &str = "cfs";

fn run(lab: &Lab<'_>) -> Done<Report> {
    let bench = Bench::new()?;
    let threads: &[u32] = lab.pick(&THREADS, &[1, 2, 8, 32]);
    let policies = [ROUND_ROBIN, ADAPTIVE, FAIR];
    let mut grid = Vec::new();
    for (load, _) in LOADS {
        grid.extend(threads.iter().flat_map(|n| policies.iter().map(move |p| (load, *n, *p))));
    }
    let runs = lab.points(&grid, |(load, n, policy)| {
        let work = LOADS.iter().find(|l| l.0 == *load).expect("one of them").1;
        let workload =
            lab::workload(&format!("pipeline:threads={n},work={work}ns,create={CREATE_NS}ns,cpu=3"))?;
        match *policy {
            ROUND_ROBIN => bench.fixed(lab, "headq", &workload),
            ADAPTIVE => bench.adaptive(lab, &workload),
            _ => bench.fixed(lab, FAIR, &workload),
        }
    })?;
    let study =
        Study { times: grid.iter().copied().zip(runs).collect(), there: Figures::parse(SOURCE), threads };
    let mut report = Report { claims: study.claims(), ..Report::default() };
    report.tables.push(study.table(&grid));
    for (load, _) in LOADS {
        report.pictures.push(study.picture(load, &policies));
    }
    Ok(report)
}

type At = (&'static str, u32, &'static str);

struct Study<'a> {
    times: BTreeMap<At, Time>,
    there: Figures,
    threads: &'a [u32],
}

impl Study<'_> {
    fn s(&self, load: &'static str, n: u32, policy: &'static str) -> f64 {
        self.times.get(&(load, n, policy)).map_or(f64::NAN, |t| t.ns as f64 / 1e9)
    }

    fn source(&self, load: &str, n: u32, policy: &str) -> f64 {
        let column = format!("{load}_s");
        self.there.at(&[("policy", policy), ("threads", &n.to_string())], &column).unwrap_or(f64::NAN)
    }

    fn most(&self) -> u32 {
        self.threads[self.threads.len() - 1]
    }

    /// How many times longer than the adaptive one, here and there.
    fn gain(&self, load: &'static str, n: u32, policy: &'static str) -> (f64, f64) {
        (
            self.s(load, n, policy) / self.s(load, n, ADAPTIVE),
            self.source(load, n, policy) / self.source(load, n, ADAPTIVE),
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        let n = self.most();
        for (load, _) in LOADS {
            for policy in [ROUND_ROBIN, FAIR] {
                let (here, there) = self.gain(load, n, policy);
                let claim = Claim::new(
                    format!("{load} stages, {n} threads: adaptive is faster than {policy} by"),
                    format!("{} ×", short(there)),
                    format!(
                        "{} × ({} s to {} s)",
                        short(here),
                        short(self.s(load, n, policy)),
                        short(self.s(load, n, ADAPTIVE))
                    ),
                    Judged::near(here, there, NEAR, FAR),
                );
                claims.push(if load == "short" { claim.remark(self.of_short_stages(n)) } else { claim });
            }
        }
        claims.push(self.shape(ROUND_ROBIN, "round robin grows with the square of the threads", 2.0));
        claims.push(self.shape(FAIR, "the fair scheduler, too", 2.0));
        claims.push(self.shape(ADAPTIVE, "the adaptive one grows in proportion", 1.0));
        claims.push(self.law());
        claims.extend(self.break_even());
        claims.push(self.prevailing());
        claims.push(self.cost());
        claims
    }

    /// Why ratios of short stages are so far apart.
    fn of_short_stages(&self, n: u32) -> String {
        format!(
            "the source's adaptive run takes {} ms, nearly all of it to create the threads: the stages themselves take next to nothing",
            short(self.source("short", n, ADAPTIVE) * 1e3)
        )
    }

    /// Exponent of the growth over the last two doublings, long stages.
    fn shape(&self, policy: &'static str, words: &str, exponent: f64) -> Claim {
        let n = self.most();
        let of = |f: &dyn Fn(u32) -> f64| (f(n) / f(n / 4)).log2() / 2.0;
        let here = of(&|n| self.s("long", n, policy));
        let there = of(&|n| self.source("long", n, policy));
        Claim::new(
            format!("{words}, long stages: exponent"),
            format!("{there:.2}"),
            format!("{here:.2}"),
            Judged::of(
                (here - exponent).abs() <= 0.05,
                (here - exponent).abs() <= 0.4,
                format!("{exponent} within 0.05; partly within 0.4"),
            ),
        )
    }

    /// RR needs W N (N + 1), adaptive 2 N W: their ratio is (N + 1) / 2.
    fn law(&self) -> Claim {
        let n = self.most();
        let law = f64::from(n + 1) / 2.0;
        let (here, there) = self.gain("long", n, ROUND_ROBIN);
        Claim::new(
            format!("long stages: the gain over round robin is (N + 1) / 2, {} at N = {n}", short(law)),
            short(there),
            short(here),
            Judged::of(
                (here / law - 1.0).abs() <= 0.05,
                (here / law - 1.0).abs() <= 0.5,
                "within 5 % of the law; partly within 50 %",
            ),
        )
        .remark("the law is read off the source's data")
    }

    /// Where adapting begins to pay.
    fn break_even(&self) -> Vec<Claim> {
        let first = |f: &dyn Fn(u32) -> bool| self.threads.iter().copied().find(|n| f(*n));
        let word = |n: Option<u32>| n.map_or("never".to_string(), |n| format!("from {n}"));
        LOADS
            .iter()
            .map(|(load, _)| {
                let here = first(&|n| self.s(load, n, ROUND_ROBIN) > self.s(load, n, ADAPTIVE));
                let there = first(&|n| self.source(load, n, ROUND_ROBIN) > self.source(load, n, ADAPTIVE));
                let least = self.s(load, 1, ADAPTIVE) / self.s(load, 1, ROUND_ROBIN);
                Claim::new(
                    format!("{load} stages: adapting pays against round robin with how many threads"),
                    word(there),
                    format!("{} (one thread: {} × the time of round robin)", word(here), short(least)),
                    Judged::of(
                        here == there,
                        here.is_some() && here <= there,
                        "with as many; partly with fewer",
                    ),
                )
            })
            .collect()
    }

    /// Short stages, up to 32 threads.
    fn prevailing(&self) -> Claim {
        let few: Vec<u32> = self.threads.iter().copied().filter(|n| *n <= 32).collect();
        let spread = |f: &dyn Fn(u32) -> f64| {
            let (least, most) =
                few.iter().map(|n| f(*n)).fold((f64::MAX, 0.0_f64), |a, t| (a.0.min(t), a.1.max(t)));
            (most / least, least * 1e3, most * 1e3)
        };
        let (here, least, most) = spread(&|n| self.s("short", n, ADAPTIVE));
        let (there, source_least, source_most) = spread(&|n| self.source("short", n, ADAPTIVE));
        Claim::new(
            "short stages: up to 32 threads the changes prevail, so that the program's time is constant",
            format!("{} to {} ms, {} ×", short(source_least), short(source_most), short(there)),
            format!("{} to {} ms, {} ×", short(least), short(most), short(here)),
            Judged::of(
                here <= there * NEAR,
                here <= there * FAR,
                "at most 1.1 times the source's; partly twice",
            ),
        )
        .remark("a change takes microseconds here (see the last claim), so the creation of threads prevails")
    }

    fn cost(&self) -> Claim {
        let pauses: Vec<u64> = self.times.values().flat_map(|t| t.pauses.iter().copied()).collect();
        let mean = pauses.iter().sum::<u64>() as f64 / pauses.len().max(1) as f64 / 1e3;
        let most = pauses.iter().max().copied().unwrap_or(0) as f64 / 1e3;
        Claim::new(
            "a reconfiguration costs a fixed time of the order of milliseconds",
            "- (about 1.3 ms, if all that one thread takes longer is three changes)",
            format!("{} us each on average, {} us at most ({} swaps)", short(mean), short(most), pauses.len()),
            Judged::near(mean, 1_300.0, FAR, 10.0),
        )
        .own()
        .remark(
            "the source has no figure: ours is inferred, and its other rows contradict it. The simulator charges the scheduler's own work of a swap; the source's has a system call, user-space \
             threads and a stop of all messages in it. In a guest kernel (experiments/adaptation) it is 0.5 ms",
        )
    }

    fn table(&self, grid: &[At]) -> Table {
        let heads = ["load", "threads", "policy", "seconds", "source_seconds", "swaps", "mean_pause_us"];
        let mut table = Table::new("data", &heads);
        for at in grid {
            let t = &self.times[at];
            let pause = t.pauses.iter().sum::<u64>() as f64 / t.pauses.len().max(1) as f64 / 1e3;
            table.row([
                at.0.to_string(),
                at.1.to_string(),
                at.2.to_string(),
                format!("{:.6}", t.ns as f64 / 1e9),
                self.source(at.0, at.1, at.2).to_string(),
                t.pauses.len().to_string(),
                format!("{pause:.3}"),
            ]);
        }
        table
    }

    fn picture(&self, load: &'static str, policies: &[&'static str]) -> Picture {
        let xs: Vec<String> = self.threads.iter().map(u32::to_string).collect();
        let mut lines = Vec::new();
        for (colour, policy) in policies.iter().enumerate() {
            let line = |name: String, dashed: bool, of: &dyn Fn(u32) -> f64| Line {
                name,
                points: self.threads.iter().map(|n| (n.to_string(), of(*n))).collect(),
                colour,
                dashed,
            };
            lines.push(line((*policy).into(), false, &|n| self.s(load, n, policy)));
            lines.push(line(format!("{policy}, source"), true, &|n| self.source(load, n, policy)));
        }
        Picture::new(load, ("threads", "time of both phases, s"), true, &xs, lines)
    }
}
