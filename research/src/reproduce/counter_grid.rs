// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 4, the second workload: what its statements depend on that the thesis does not give.
//!
//! A grid of guesses: how Octave's threads wait for one another, and from how far back data come. The distance to the published rates of the
//! workload says which guesses are admissible, and the number of statements that come out is the result.

use crate::reproduce::counters::{fault, simulated};
use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::pmc::average::Metric;
use crate::reproduce::pmc::experiment::{Plan, Results};
use crate::reproduce::pmc::penalty::Level;
use crate::reproduce::pmc::report as pmc;
use crate::reproduce::pmc::run::{Guess, REUSES, Setting, WAITINGS, Wait};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table, short};

pub const EXPERIMENT: Experiment = Experiment {
    id: "pmc-grid",
    aliases: &["grid"],
    title: "the second workload of the counters' policies, by what the thesis leaves open",
    source: "source 4, chapter 5, tables 5.4 to 5.12",
    run,
};

/// A guess is admissible if it is at most so many times as far from the published rates as the nearest one.
const ADMITTED: f64 = 1.1;

/// What a guess comes to.
struct Outcome {
    guess: Guess,
    /// Mean distance to the published miss rates, points.
    distance: f64,
    yes: usize,
    no: usize,
    open: usize,
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let plan = Plan {
        runs: lab.pick(8, 1),
        only: lab.pick(None, Some(Level::L1)),
        ablations: false,
        ..Plan::default()
    };
    let waits: &[Wait] = lab.pick(&WAITINGS, &WAITINGS[3..]);
    let reuses: &[&'static str] = lab.pick(&REUSES, &REUSES[1..2]);
    let mut outcomes = Vec::new();
    for &wait in waits {
        for &reuse in reuses {
            outcomes.push(outcome(lab, &plan, Guess { wait, reuse })?);
        }
    }
    Ok(report(&outcomes))
}

fn outcome(lab: &Lab<'_>, plan: &Plan, guess: Guess) -> Done<Outcome> {
    let setting = Setting::guessed(guess).map_err(fault)?;
    let results = simulated(lab, plan, &[("wl2", setting)])?;
    let (yes, no, open) = pmc::tally(&results);
    Ok(Outcome { guess, distance: distance(&results).map_err(fault)?, yes, no, open })
}

/// How far the miss rates without a policy are from the published ones, in the mean.
fn distance(results: &Results) -> Result<f64, crate::reproduce::pmc::Error> {
    let rates = [Metric::CacheRate, Metric::BranchRate];
    let all = pmc::deviations(results)?;
    let rows = all.iter().filter(|d| rates.contains(&d.row.metric));
    let far: Vec<f64> = rows.filter_map(|d| d.original.map(|p| (p.theirs - p.ours).abs())).collect();
    Ok(far.iter().sum::<f64>() / far.len().max(1) as f64)
}

fn report(outcomes: &[Outcome]) -> Report {
    let mut report = Report::default();
    let least = outcomes.iter().map(|o| o.distance).fold(f64::MAX, f64::min);
    let admitted: Vec<&Outcome> = outcomes.iter().filter(|o| o.distance <= least * ADMITTED).collect();
    let (few, many) = admitted.iter().fold((usize::MAX, 0), |a, o| (a.0.min(o.yes), a.1.max(o.yes)));
    let stated = outcomes.first().map_or(0, |o| o.yes + o.no + o.open);
    let against = admitted.iter().map(|o| o.no).max().unwrap_or(0);
    report.claims.push(
        Claim::new(
            "policies make the second workload faster or slower as stated, under admissible guesses of what the thesis does not give",
            format!("{stated} statements"),
            format!(
                "{few} to {many} are reproduced and up to {against} are not, under {} of {} guesses",
                admitted.len(),
                outcomes.len()
            ),
            Judged::of(
                few == stated,
                admitted.iter().all(|o| o.yes > o.no),
                "all, under each guess whose miss rates are at most a tenth farther from the published ones than the nearest; partly more \
                 than are not",
            ),
        )
        .own()
        .remark(
            "no guess can reach all: on this workload the thesis finds slices at 0.52 to 0.60 of their length faster, and slices at 1.22 to \
             1.43 as well, and puts both down to slices",
        ),
    );
    let mut table = Table::new(
        "grid",
        &["wait", "reuse", "distance_points", "admitted", "reproduced", "not", "within_noise"],
    );
    for o in outcomes {
        table.row([
            format!("{:?}", o.guess.wait).to_lowercase(),
            o.guess.reuse.to_string(),
            format!("{:.3}", o.distance),
            (o.distance <= least * ADMITTED).to_string(),
            o.yes.to_string(),
            o.no.to_string(),
            o.open.to_string(),
        ]);
    }
    report.tables.push(table);
    report.pictures.push(picture(outcomes));
    report
        .notes
        .push(format!("The nearest guess is {} points from the published rates in the mean.", short(least)));
    report
}

/// Statements that come out, by distance, a line for each way of waiting.
fn picture(outcomes: &[Outcome]) -> Picture {
    let xs: Vec<String> = REUSES.iter().map(|r| (*r).to_string()).collect();
    let line = |(colour, wait): (usize, &Wait)| {
        let of = outcomes.iter().filter(|o| o.guess.wait == *wait);
        let points = of.map(|o| (o.guess.reuse.to_string(), o.yes as f64)).collect();
        Line { name: format!("{wait:?}").to_lowercase(), points, colour, dashed: false }
    };
    let lines = WAITINGS.iter().enumerate().map(line).collect();
    Picture::new("grid", ("from how far back data come", "statements reproduced"), false, &xs, lines)
}
