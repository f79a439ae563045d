// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! No forecast for another size of a machine, and nothing that the map of gangs says of a team, is refuted by a simulation (DESIGN D20).
//!
//! 2 queries that get forecasts and 6 teams, 60 and 400 with `WEIR_LONG=1`; `WEIR_QUERIES=FROM..TO` and `WEIR_TEAMS=FROM..TO` name others.

use std::collections::BTreeMap;
use std::ops::Range;

use weir_refute::forecast::{self, Query};
use weir_refute::gangs::{self, Team};
use weir_refute::planted;

fn seeds(name: &str, short: Range<u64>, long: Range<u64>) -> Range<u64> {
    let named = std::env::var(name).ok();
    let named = named
        .as_deref()
        .and_then(|s| s.split_once(".."))
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match named {
        Some((from, to)) => from..to,
        None if std::env::var_os("WEIR_LONG").is_some() => long,
        None => short,
    }
}

#[test]
fn no_forecast_is_refuted() {
    let seeds = seeds("WEIR_QUERIES", 9..11, 0..60);
    let (mut tally, mut wrong) = (forecast::Tally::default(), Vec::new());
    for seed in seeds.clone() {
        let query = Query::draw(seed);
        println!("  {seed} {}, after {tally:?}", query.command());
        if let Err(why) = forecast::refute(&query, forecast::honest, &mut tally) {
            println!("    {why}");
            wrong.push(format!("{seed} {}: {why}", query.command()));
        }
    }
    println!("queries {}..{}: {tally:?}, {} contradictions", seeds.start, seeds.end, wrong.len());
    assert!(wrong.is_empty(), "{tally:?}:\n{}", wrong.join("\n"));
    assert!(std::env::var_os("WEIR_QUERIES").is_some() || tally.forecasts > 0, "no forecast was attacked");
}

#[test]
fn nothing_said_of_gangs_is_refuted() {
    let seeds = seeds("WEIR_TEAMS", 0..6, 0..400);
    let (mut said, mut wrong): (BTreeMap<String, u32>, _) = (BTreeMap::new(), Vec::new());
    for seed in seeds.clone() {
        let team = Team::draw(seed);
        match gangs::refute(&team, gangs::honest) {
            Ok(verdict) => *said.entry(verdict).or_default() += 1,
            Err(why) => {
                println!("  {seed} {}: {why}", team.command());
                wrong.push(format!("{seed} {}: {why}", team.command()));
            }
        }
    }
    println!("teams {}..{}: {said:?}, {} contradictions", seeds.start, seeds.end, wrong.len());
    assert!(wrong.is_empty(), "{said:?}:\n{}", wrong.join("\n"));
}

/// Teams among which each error of the map is found.
const MOST: u64 = 60;

#[test]
fn errors_in_forecasts_and_maps_are_found() {
    let crafted = Query {
        topology: "decentral",
        load: forecast::Load::Messages { groups: 2, fds: 4, loops: 3 },
        cpus: 4,
        share: 0.02,
    };
    for (name, judge) in planted::FORECASTS {
        let tally = &mut forecast::Tally::default();
        let why =
            [crafted.clone(), Query::draw(1)].iter().find_map(|q| forecast::refute(q, *judge, tally).err());
        println!("{name}: {}", why.unwrap_or_else(|| panic!("the error `{name}` is not found: {tally:?}")));
    }
    for (name, judge) in planted::MAPS {
        let found = (0..MOST).find_map(|n| gangs::refute(&Team::draw(n), *judge).err().map(|why| (n, why)));
        let (n, why) = found.unwrap_or_else(|| panic!("the error `{name}` is not found"));
        println!("{name}: {n}: {why}");
    }
}
