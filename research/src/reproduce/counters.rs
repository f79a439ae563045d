// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 4, chapter 5: fair scheduling by performance counters, tables 5.4 to 5.12 and the conclusion.
//!
//! All of it is in the library `weir-pmc`; this is its experiment as claims with verdicts.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::reproduce::pmc::average::Metric;
use crate::reproduce::pmc::compare::change;
use crate::reproduce::pmc::experiment::{Plan, Results, baseline, experiment};
use crate::reproduce::pmc::matrix::{self, Config, Scale};
use crate::reproduce::pmc::penalty::{Level, Model, Policy};
use crate::reproduce::pmc::report::{self as pmc, Gain};
use crate::reproduce::pmc::run::{APART, Setting, WORKLOADS};

use crate::reproduce::lab::{Done, Halt, Lab};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, NEAR, Report, Table};
use weir::fault::Fault;

pub const EXPERIMENT: Experiment = Experiment {
    id: "pmc-tables",
    aliases: &[
        "pmc", "pmc-5.4", "pmc-5.5", "pmc-5.6", "pmc-5.7", "pmc-5.8", "pmc-5.9", "pmc-5.10", "pmc-5.11",
        "pmc-5.12",
    ],
    title: "fair scheduling by performance counters: 24 policies, their ablations, two workloads",
    source: "source 4, chapter 5, tables 5.4 to 5.12, figures 5.3 to 5.7",
    run,
};

fn run(lab: &Lab<'_>) -> Done<Report> {
    let plan = Plan { runs: lab.pick(30, 1), only: lab.pick(None, Some(Level::L1)), ..Plan::default() };
    let workloads = lab.pick(&WORKLOADS[..], &WORKLOADS[..1]);
    let results = simulated(lab, &plan, &Setting::all(workloads).map_err(fault)?)?;
    let apart = simulated(lab, &Plan { best: true, ..plan }, &Setting::all(&[APART]).map_err(fault)?)?;
    Ok(report(&results, &apart).map_err(fault)?)
}

/// Run a plan on workloads, with the laboratory's progress.
pub fn simulated(lab: &Lab<'_>, plan: &Plan, workloads: &[(&str, Setting)]) -> Done<Results> {
    let seen = AtomicBool::new(false);
    let progress = |_: usize, all: usize| {
        if !seen.swap(true, Ordering::Relaxed) {
            lab.watch().more(all as u64);
        }
        lab.ran();
        lab.watch().one();
        !lab.stopped()
    };
    match experiment(plan, workloads, &progress) {
        Ok(results) => Ok(results),
        Err(_) if lab.stopped() => Err(Halt::Interrupted),
        Err(e) => Err(fault(e).into()),
    }
}

/// Our own files are damaged, or a run of them fails.
#[allow(clippy::needless_pass_by_value)]
pub fn fault(e: crate::reproduce::pmc::Error) -> Fault {
    Fault::system(e.to_string(), "this is a fault of ours")
}

/// The thesis's best configuration.
fn best() -> Config {
    Config::new(Level::L1, Model::CacheOnly, Some(Policy::Reward))
}

fn show(gain: Option<Gain>) -> String {
    gain.map_or("not run".into(), |g| format!("{g} %"))
}

/// It is faster beyond the noise.
fn clear(gain: Option<Gain>) -> bool {
    gain.is_some_and(|g| g.percent > g.margin)
}

/// Its interval reaches within a tenth of `there`.
fn size(gain: Option<Gain>, there: f64) -> bool {
    gain.is_some_and(|g| g.percent - g.margin <= there * NEAR && g.percent + g.margin >= there / NEAR)
}

fn report(results: &Results, apart: &Results) -> Result<Report, crate::reproduce::pmc::Error> {
    let rows = pmc::deviations(results)?;
    let mut report = Report::default();
    let mut claims = Vec::new();

    let p = pmc::agreement(&rows, Metric::Penalty, 0.0);
    claims.push(
        Claim::new(
            "the mean penalty is the rates' distance from one half",
            "144 values of tables 5.4 to 5.12",
            format!("{:.1} points off in the mean, {:.1} at most", p.mean_deviation, p.largest),
            Judged::of(
                p.mean_deviation <= 1.0 && p.largest <= 3.0,
                p.mean_deviation <= 1.0,
                "at most 1 point off in the mean and 3 in any row; partly in the mean alone",
            ),
        )
        .remark(
            "what is off is how policies change Octave's rates: those of its waits are the published ones without a policy here, and \
             the same under each. From the tables' own rates the component gets all 96 values of ffmpeg and octave within 0.2 \
             points (a test)",
        ),
    );

    let all = pmc::gain(results, "wl1", &best());
    let octave = pmc::gain_of(results, "wl1", &best(), "octave");
    claims.push(Claim::new(
        "L1, cache-only, Reward speeds the first workload up",
        "overall +5.75 %, octave +9.35 %",
        format!("overall {}, octave {}", show(all), show(octave)),
        Judged::of(
            clear(all) && clear(octave) && size(all, 5.75) && size(octave, 9.35),
            clear(all) && clear(octave),
            "both faster by more than the interval, and the interval reaches within 10 % of the thesis's; partly both faster",
        ),
    ));

    let switches = |program: &str| {
        let get = |c: &Config| results.get("wl1", c, program, Metric::Involuntary).copied();
        let (base, new) = (get(&baseline(&best())).unwrap_or_default(), get(&best()).unwrap_or_default());
        change(Metric::Involuntary, &base, &new)
    };
    let (ffmpeg, make, oct) = (switches("ffmpeg"), switches("make"), switches("octave"));
    claims.push(Claim::new(
        "it raises the involuntary switches of ffmpeg and make and lowers those of octave",
        "ffmpeg +13.1 %, make +29.3 %, octave -29.1 %",
        format!("ffmpeg {ffmpeg:+.1} %, make {make:+.1} %, octave {oct:+.1} %"),
        Judged::of(
            [(ffmpeg, 13.1), (make, 29.3), (oct, -29.1)].iter().all(|(here, there)| {
                let times = here / there;
                (1.0 / FAR..=FAR).contains(&times)
            }),
            ffmpeg > 0.0 && make > 0.0 && oct < 0.0,
            "each within a factor of 2 of the thesis, whose baselines differ by up to 20 %; partly all three signs",
        ),
    ));

    let (yes, no, open) = pmc::tally(results);
    let stated = yes + no + open;
    claims.push(Claim::new(
        "policies make the workloads faster or slower as stated",
        format!("{stated} statements"),
        format!("{yes} are reproduced, {no} are not, {open} are within the noise"),
        Judged::of(yes == stated, yes > 2 * no, "all beyond the noise; partly twice as many as do not"),
    ));

    let of = |scale| pmc::gain(results, "wl1", &Config { scale, ..best() });
    let (slices, runtimes) = (of(Scale::SliceOnly), of(Scale::RuntimeOnly));
    claims.push(
        Claim::new(
            "the gain comes from shorter slices, not from virtual runtimes",
            "concluded, not measured",
            format!("slices alone {}, virtual runtimes alone {}", show(slices), show(runtimes)),
            Judged::of(
                clear(slices) && !clear(runtimes),
                clear(slices),
                "slices alone faster by more than the interval, virtual runtimes not; partly slices",
            ),
        )
        .remark("the ablations that the thesis did not run"),
    );

    let gain = |r: &Results, workload: &str| pmc::gain(r, workload, &best());
    claims.push(
        Claim::new(
            "the source of the gain: threads that wait for one another and keep their CPUs. The same workload without that wait",
            "-",
            format!("overall {} instead of {}", show(gain(apart, APART)), show(all)),
            Judged::of(
                clear(all) && gain(apart, APART).is_some_and(|g| g.percent + g.margin < all.map_or(0.0, |g| g.percent - g.margin)),
                gain(apart, APART).map(|g| g.percent) < all.map(|g| g.percent),
                "a gain with it, less without it beyond both intervals; partly less",
            ),
        )
        .remark(
            "a thread whose partner waits behind another program's slice looks for it in vain; shorter slices of the others \
             end that sooner. Without the wait a shorter slice can only cost, as caches are refilled more often",
        ),
    );
    report.tables.push(gains(results));
    report.tables.push(published(&rows));
    report.drawings.push(("gains".into(), pmc::figure(results)));
    report.claims = claims;
    report.notes = vec![
        "Time is a twentieth of the thesis's: programs do less, but their phases, pauses and turns are not shorter. \
         Octave's threads yield as often as the thesis counts, by the scale; what a thread does alone is simulated together."
            .into(),
        "Gains are (T0 - T1) / T0 of the three programs' times together, which the thesis does not define, with 95 % \
         intervals."
            .into(),
    ];
    if results.plan.runs < 2 {
        report.notes.push("Of a single run there is no interval, and nothing is beyond the noise.".into());
    }
    Ok(report)
}

/// Gains of every configuration.
fn gains(results: &Results) -> Table {
    let heads = ["workload", "configuration", "all", "all_margin", "ffmpeg", "make", "octave"];
    let mut table = Table::new("gains", &heads);
    let configs = [matrix::policies(), matrix::ablations(), matrix::slice_rules()].concat();
    for workload in WORKLOADS {
        for config in &configs {
            let Some(all) = pmc::gain(results, workload, config) else { continue };
            let of = |p| {
                pmc::gain_of(results, workload, config, p)
                    .map_or(String::new(), |g| format!("{:.3}", g.percent))
            };
            let cells = [
                workload.to_string(),
                config.name(),
                format!("{:.3}", all.percent),
                if all.margin.is_finite() { format!("{:.3}", all.margin) } else { String::new() },
                of("ffmpeg"),
                of("make"),
                of("octave"),
            ];
            table.row(cells);
        }
    }
    table
}

/// The published rows beside ours, as `crate::reproduce::pmc` writes them.
fn published(rows: &[pmc::Deviation]) -> Table {
    let text = pmc::csv(rows);
    let mut lines = text.lines().map(|l| l.split(','));
    let heads: Vec<&str> = lines.next().map(Iterator::collect).unwrap_or_default();
    let mut table = Table::new("rows", &heads);
    lines.for_each(|cells| table.row(cells));
    table
}
