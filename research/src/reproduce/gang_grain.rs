// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Phase-locked gangs against a coordinator that interrupts the others, by the length of slices (E21). The source's own null result is
//! what matters: at realistic slices there is no difference.

use weir_sim::Outcome;

use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table, short};
use weir::machine;

pub const EXPERIMENT: Experiment = Experiment {
    id: "multikernel-e21",
    aliases: &["gang-grain"],
    title: "phase-locked gangs against interrupts from a coordinator: equal at milliseconds, ahead below 200 us",
    source: "Peter, 2012, chapter 4 (E21)",
    run,
};

const WAYS: [&str; 2] = ["locked", "central"];
/// Lengths of slices, us; the period is twice as long.
const SLICES: [u64; 9] = [80_000, 20_000, 5_000, 1_000, 500, 200, 100, 50, 20];

struct Got {
    rounds_per_s: f64,
    outcome: Outcome,
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("amd-4x4")?;
    let costs = lab::costs("amd-4x4")?;
    let slices: Vec<u64> = lab.pick(SLICES.to_vec(), vec![5_000, 500, 200, 20]);
    let points: Vec<(&str, u64)> = WAYS.iter().flat_map(|w| slices.iter().map(move |s| (*w, *s))).collect();
    let got = lab.points(&points, |&(way, us)| {
        // As in the source: a barrier in each round and next to no work, on 16 CPUs, beside as many threads that compute.
        let spec = format!(
            "team:threads=16,work=1us,imbalance=10%,spin=1s,hogs=16,pin=16,outside=wait,way={way},slot={us}us,\
             period={}us",
            2 * us
        );
        let workload = lab::workload(&spec)?;
        let plan = lab::plan("gang", &machine, &[])?;
        let once = |duration_ns| {
            let run = Run { duration_ns: Some(duration_ns), ..Run::new(&machine, &plan, &workload, &costs) };
            lab.run(&run, &mut ())
        };
        // The time before the first slots is taken off; what is measured are whole periods.
        let period_ns = 2 * us * 1_000;
        let before_ns = period_ns.max(10_000_000).div_ceil(period_ns) * period_ns;
        let span_ns = (2 * period_ns).max(lab.pick(100_000_000, 20_000_000));
        let early = once(before_ns)?;
        let outcome = once(before_ns + span_ns)?;
        let rounds = |o: &Outcome| o.barriers.first().map_or(0, |b| b.1) as f64;
        Ok(Got { rounds_per_s: (rounds(&outcome) - rounds(&early)) * 1e9 / span_ns as f64, outcome })
    })?;
    let at = |way: &str, us: u64| {
        let i = points.iter().position(|p| *p == (way, us)).expect("it was made");
        &got[i]
    };
    let ahead = |us: u64| at("locked", us).rounds_per_s / at("central", us).rounds_per_s - 1.0;
    let mut report = Report::default();
    let worst = slices.iter().filter(|us| **us >= 1_000).map(|us| ahead(*us).abs()).fold(0.0, f64::max);
    report.claims.push(
        Claim::new(
            "slices of a millisecond and longer: no difference",
            "E21: identical",
            format!("at most {:.2} % apart", 100.0 * worst),
            Judged::of(worst <= 0.01, worst <= 0.05, "at most 1 %; partly at most 5 %"),
        )
        .remark("the source's null result: what gangs gain at realistic slices they gain from either way"),
    );
    report.claims.push(Claim::new(
        "slices of 500 us: hardly a difference",
        "E21: 1 ms to 500 us identical",
        format!("{:+.2} %", 100.0 * ahead(500)),
        Judged::of(ahead(500).abs() <= 0.02, ahead(500).abs() <= 0.05, "at most 2 %; partly at most 5 %"),
    ));
    report.claims.push(Claim::new(
        "from 200 us down, phase-locked is ahead",
        "E21: ahead from 200 us",
        format!("{:+.1} % ({} rounds/s)", 100.0 * ahead(200), short(at("locked", 200).rounds_per_s)),
        Judged::of(ahead(200) >= 0.02, ahead(200) > 0.0, "at least 2 %; partly anything"),
    ));
    report.claims.push(Claim::new(
        "slices of 20 us: by how much it is ahead",
        "E21: +36 %; 20 to 50 % expected",
        format!("{:+.1} % ({} rounds/s)", 100.0 * ahead(20), short(at("locked", 20).rounds_per_s)),
        Judged::of((0.2..=0.5).contains(&ahead(20)), ahead(20) >= 0.2, "20 to 50 %; partly more"),
    ));
    let heads =
        ["way", "slice_us", "rounds_per_s", "slots", "skew_mean_us", "skew_max_us", "wasted_ms", "signals"];
    let mut table = Table::new("data", &heads);
    for ((way, us), g) in points.iter().zip(&got) {
        let gang = g.outcome.gangs.first().cloned().unwrap_or_default();
        table.row([
            (*way).to_string(),
            us.to_string(),
            format!("{:.0}", g.rounds_per_s),
            gang.slots.to_string(),
            format!("{:.3}", gang.skew_mean_ns as f64 / 1e3),
            format!("{:.3}", gang.skew_max_ns as f64 / 1e3),
            format!("{:.3}", gang.wasted_ns as f64 / 1e6),
            gang.signals.to_string(),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = slices.iter().map(u64::to_string).collect();
    let lines = (0..).zip(WAYS).map(|(colour, way)| Line {
        name: way.into(),
        points: slices.iter().map(|us| (us.to_string(), at(way, *us).rounds_per_s)).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new(
        "rounds",
        ("slice, us", "rounds a second"),
        false,
        &xs,
        lines.collect(),
    ));
    Ok(report)
}
