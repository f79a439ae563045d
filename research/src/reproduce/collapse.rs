// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Unixbench's pipe-based context switching on 128 CPUs in 8 nodes, where schedulers with a shared queue are known to
//! collapse; and whether the contention analysis foresees it from smaller runs.
//!
//! The figures beside ours were reported by users of sched_ext (scx issue 998): an index, higher is better. Ours are
//! switches a second of virtual time; only ratios compare.

use weir_lang::Source;
use weir_model::Costs;

use crate::reproduce::lab::{self, Done, Halt, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};
use weir::analyze::contention::{self, Field};
use weir::catalogue::{self, TOPOLOGIES};
use weir::{machine, topology};

pub const EXPERIMENT: Experiment = Experiment {
    id: "unixbench-pipe",
    aliases: &["collapse"],
    title: "pipe switching on 128 CPUs in 8 nodes: the collapse of shared queues, foreseen",
    source: "Unixbench, pipe-based context switching; scx issue 998",
    run,
};

/// The reported index of the kernel's own scheduler, and of schedulers with one queue, best and worst.
const PER_CPU_INDEX: f64 = 32_508.0;
const SHARED_INDEX: [f64; 2] = [596.0, 171.0];

/// Topologies with a queue for each CPU and a way in for each; with one way in; with one queue for all. Those that
/// the catalogue lacks are left out.
const PER_CPU: [&str; 3] = ["linux", "worksteal", "multipipe"];
const ONE_ENTRY: [&str; 4] = ["decentral", "postponed", "cfs", "eevdf"];
const SHARED: [&str; 3] = ["global_rr", "fifo", "rt-rr"];

/// The scheduler that the analysis is asked about.
const ASKED: &str = "global_rr";

fn run(lab: &Lab<'_>) -> Done<Report> {
    let whole = machine::resolve("eight-nodes")?;
    let machine = match lab.pick(128, 32) {
        128 => whole,
        n => whole.resized(n).expect("its CPUs are equal"),
    };
    let cpus = machine.nr_cpus();
    let costs = Costs::default();
    let workload = lab::workload(&format!("tokens:pairs={cpus},loops=0"))?;
    let duration_ns = lab.pick(20_000_000, 1_000_000);
    let has = |name: &&str| catalogue::find(TOPOLOGIES, name).is_some();
    let names: Vec<&str> = PER_CPU.into_iter().chain(ONE_ENTRY).chain(SHARED).filter(has).collect();
    let runs = lab.points(&names, |name| {
        let plan = lab::plan(name, &machine, &[])?;
        let run = Run { duration_ns: Some(duration_ns), ..Run::new(&machine, &plan, &workload, &costs) };
        lab.run(&run, &mut ())
    })?;
    let rate = |i: usize| runs[i].context_switches as f64 * 1e9 / runs[i].end_ns as f64;
    let best = |of: &[&str]| {
        let known = names.iter().enumerate().filter(|(_, n)| of.contains(n)).map(|(i, n)| (rate(i), *n));
        known.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, "none"))
    };
    let worst = |of: &[&str]| {
        let known = names.iter().enumerate().filter(|(_, n)| of.contains(n)).map(|(i, n)| (rate(i), *n));
        known.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, "none"))
    };
    let (per_cpu, high, low) = (best(&PER_CPU), best(&SHARED), worst(&SHARED));

    let source: Source = topology::source(ASKED)?;
    let field = Field {
        machine: &machine,
        workload: &workload,
        costs: &costs,
        sets: &[],
        duration_ns: Some(duration_ns),
        seed: 1,
        watch: lab.watch(),
    };
    let analysis = contention::analyze(&field, &source, SHARE).map_err(|fault| match lab.stopped() {
        true => Halt::Interrupted,
        false => Halt::Fault(fault),
    })?;

    let mut report = Report::default();
    let (ratio, there) = (per_cpu.0 / high.0, PER_CPU_INDEX / SHARED_INDEX[0]);
    report.claims.push(
        Claim::new(
            format!("{cpus} CPUs: queues of each CPU do more than the best shared queue by"),
            format!("{} × ({} to {})", short(there), short(PER_CPU_INDEX), short(SHARED_INDEX[0])),
            format!("{} × ({} {} to {} {} switches a second)", short(ratio), per_cpu.1, short(per_cpu.0), high.1, short(high.0)),
            Judged::near(ratio, there, NEAR, FAR),
        )
        .remark("locks here are handed over in order; real spin locks get slower the more CPUs wait, so the real collapse is deeper"),
    );
    let ratio = per_cpu.0 / low.0;
    report.claims.push(Claim::new(
        "and than the worst by",
        format!("{} ×", short(PER_CPU_INDEX / SHARED_INDEX[1])),
        format!("{} × ({})", short(ratio), low.1),
        Judged::near(ratio, PER_CPU_INDEX / SHARED_INDEX[1], NEAR, FAR),
    ));
    let lost = 1.0 - high.0 / per_cpu.0;
    report.claims.push(Claim::new(
        "a shared queue loses more than nine tenths",
        format!("{:.1} %", 100.0 * (1.0 - SHARED_INDEX[0] / PER_CPU_INDEX)),
        format!("{:.1} %", 100.0 * lost),
        Judged::of(lost >= 0.9, lost >= 0.5, "90 % at least; partly 50 %"),
    ));
    report.claims.extend(foresight(&analysis, cpus));
    report
        .notes
        .push(analysis.text().trim_end().lines().map(|l| format!("    {l}")).collect::<Vec<_>>().join("\n"));

    let heads = ["topology", "queues", "switches_per_s", "of_best_pct", "scheduler_pct", "lock_wait_pct"];
    let mut table = Table::new("data", &heads);
    for (i, name) in names.iter().enumerate() {
        let o = &runs[i];
        let kind = if PER_CPU.contains(name) {
            "per CPU"
        } else if ONE_ENTRY.contains(name) {
            "per CPU, one entry"
        } else {
            "shared"
        };
        let all = (o.end_ns * u64::from(cpus)).max(1) as f64;
        table.row([
            (*name).to_string(),
            kind.to_string(),
            format!("{:.0}", rate(i)),
            format!("{:.2}", 100.0 * rate(i) / per_cpu.0),
            format!("{:.2}", 100.0 * o.scheduler_ns as f64 / all),
            format!("{:.2}", 100.0 * o.lock_wait_ns as f64 / all),
        ]);
    }
    report.tables.push(table);
    report.tables.push(sizes(&analysis));
    report.pictures.push(picture(&analysis));
    Ok(report)
}

/// Share of the machine that is put to the analysis. The load is nothing but switching, so that even one CPU spends
/// more on its scheduler, and the limit is put to waiting.
const SHARE: f64 = 0.1;

/// What the analysis said of the scheduler with one queue.
fn foresight(analysis: &contention::Report, cpus: u32) -> Vec<Claim> {
    let study = &analysis.study;
    let fitted = study.fitted.last().map_or(0, |s| s.cpus);
    let mut claims = Vec::new();
    if let Some(f) = study.forecasts.iter().find(|f| f.cpus == cpus) {
        let simulated = study.own.cycles as f64 * 1e9 / study.own.end_ns.max(1) as f64;
        claims.push(Claim::new(
            format!("the analysis foresees it: {ASKED} on {cpus} CPUs from runs with {fitted} and fewer"),
            "-",
            format!(
                "foreseen {:.0} % of the machine waiting and {} decisions a second, simulated {:.0} % and {}",
                100.0 * f.wait_share,
                short(f.cycles_per_s),
                100.0 * study.own.wait_share(),
                short(simulated)
            ),
            Judged::of(
                (f.wait_share - study.own.wait_share()).abs() <= 0.05
                    && f.cycles_per_s / simulated <= 1.25
                    && simulated / f.cycles_per_s <= 1.25,
                f.wait_share >= 0.5 && study.own.wait_share() >= 0.5,
                "waiting within 5 points and decisions within 25 % of the simulated figure; partly if both say that half is waited",
            ),
        ));
    }
    let size = |n: Option<u32>| n.map_or("none".to_string(), |n| n.to_string());
    let near = match (study.foreseen, study.found) {
        (Some(a), Some(b)) => f64::from(a.max(b)) / f64::from(a.min(b)),
        (None, None) => 1.0,
        _ => f64::MAX,
    };
    claims.push(Claim::new(
        "it foresees the largest machine on which a tenth of the time at most is waited",
        "-",
        format!("foreseen {} CPUs, simulated {}", size(study.foreseen), size(study.found)),
        Judged::of(
            near <= 1.25,
            near <= 3.0,
            "within 25 % of the simulated figure; partly within a factor of 3",
        ),
    ));
    if let Some(chosen) = analysis.chosen.map(|i| &analysis.tried[i]) {
        let gain = chosen.sample.switches_per_s() / study.own.switches_per_s().max(1e-9);
        claims.push(Claim::new(
            "and finds the small change that mends it, by running it",
            "-",
            format!(
                "{}: {} × as many switches, waiting {:.1} % instead of {:.1} %",
                chosen.change.what,
                short(gain),
                100.0 * chosen.sample.wait_share(),
                100.0 * study.own.wait_share()
            ),
            Judged::of(
                chosen.sample.wait_share() <= SHARE && gain >= 5.0,
                gain >= 2.0,
                "waiting 10 % at most, and 5 × as many switches; partly 2 × as many",
            ),
        ));
    } else {
        claims.push(Claim::new(
            "and finds the small change that mends it, by running it",
            "-",
            "no change was found",
            Judged::of(false, false, "a change is found"),
        ));
    }
    claims
}

fn sizes(analysis: &contention::Report) -> Table {
    let mut table = Table::new(
        "sizes",
        &[
            "topology",
            "cpus",
            "foreseen_wait_pct",
            "simulated_wait_pct",
            "foreseen_decisions_per_s",
            "simulated_decisions_per_s",
        ],
    );
    let studies = [(ASKED, Some(&analysis.study)), ("changed", analysis.after.as_ref())];
    for (name, study) in studies.into_iter().filter_map(|(n, s)| Some((n, s?))) {
        for f in &study.forecasts {
            let s = contention::simulated(study, f.cpus);
            let wait = s.map_or(String::new(), |s| format!("{:.2}", 100.0 * s.wait_share()));
            let rate =
                s.map_or(String::new(), |s| format!("{:.0}", s.cycles as f64 * 1e9 / s.end_ns.max(1) as f64));
            table.row([
                name.to_string(),
                f.cpus.to_string(),
                format!("{:.2}", 100.0 * f.wait_share),
                wait,
                format!("{:.0}", f.cycles_per_s),
                rate,
            ]);
        }
    }
    table
}

fn picture(analysis: &contention::Report) -> Picture {
    let most = analysis.cpus * 4;
    let xs: Vec<String> = analysis
        .study
        .forecasts
        .iter()
        .map(|f| f.cpus)
        .filter(|n| *n <= most)
        .map(|n| n.to_string())
        .collect();
    let mut lines = Vec::new();
    let studies = [(ASKED, Some(&analysis.study)), ("changed", analysis.after.as_ref())];
    for (colour, (name, study)) in studies.into_iter().filter_map(|(n, s)| Some((n, s?))).enumerate() {
        let line = |what: &str, dashed: bool, points: Vec<(String, f64)>| Line {
            name: format!("{name}, {what}"),
            points,
            colour,
            dashed,
        };
        let foreseen = study.forecasts.iter().map(|f| (f.cpus.to_string(), 100.0 * f.wait_share)).collect();
        let seen = study.forecasts.iter().filter_map(|f| {
            contention::simulated(study, f.cpus).map(|s| (f.cpus.to_string(), 100.0 * s.wait_share()))
        });
        lines.push(line("simulated", false, seen.collect()));
        lines.push(line("foreseen", true, foreseen));
    }
    Picture::new("foreseen", ("CPUs", "time waited for locks, % of the machine"), false, &xs, lines)
}
