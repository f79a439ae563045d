// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Figures that the C programs of experiments print: a name, a number and a time on each line. The programs need two CPUs.

use std::collections::BTreeMap;

use crate::reproduce::cc::{self, Bench};
use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::report::Table;

include!(concat!(env!("OUT_DIR"), "/lines.rs"));

/// Timed here, so it is another number each time.
pub const TIMED: &str =
    "Timed on the computer that it ran on, between its first two usable CPUs: not the same each time.";

/// Figures by name and number, ns.
pub struct Figures(BTreeMap<(String, u32), f64>);

impl Figures {
    /// What `program.c` prints, run once with each of these arguments; or why it cannot be measured here.
    ///
    /// # Errors
    /// It does not compile, fails, or Ctrl-C.
    pub fn measure(lab: &Lab<'_>, program: &str, runs: &[Vec<String>]) -> Done<Result<Self, String>> {
        if weir::latency::usable().len() < 2 {
            return Ok(Err("this process may not use two CPUs".into()));
        }
        let bench = match Bench::new(SOURCES)? {
            Ok(bench) => bench,
            Err(why) => return Ok(Err(why)),
        };
        let compiled = bench.compile(lab, program, &["-O2", &format!("{program}.c"), "port.c"])?;
        let one = |args: &Vec<String>| cc::printed(lab, &compiled, args);
        let printed = match lab.one_by_one(runs, one)?.into_iter().collect::<Result<Vec<String>, String>>() {
            Ok(printed) => printed,
            Err(why) => return Ok(Err(why)),
        };
        let mut all = BTreeMap::new();
        for line in printed.iter().flat_map(|p| p.lines()) {
            let words: Vec<&str> = line.split(' ').collect();
            let parsed = match words[..] {
                [name, nr, ns] => {
                    nr.parse().ok().zip(ns.parse().ok()).map(|(n, t)| ((name.to_string(), n), t))
                }
                _ => None,
            };
            let (key, ns) =
                parsed.ok_or_else(|| cc::failed(&format!("{program}.c prints what is no figure")))?;
            all.insert(key, ns);
        }
        Ok(Ok(Self(all)))
    }

    pub fn at(&self, name: &str, nr: u32) -> f64 {
        self.0.get(&(name.to_string(), nr)).copied().unwrap_or(f64::NAN)
    }

    /// The only figure of this name.
    pub fn of(&self, name: &str) -> f64 {
        self.0.iter().find(|((n, _), _)| n == name).map_or(f64::NAN, |(_, ns)| *ns)
    }

    /// All figures of a name by their number.
    pub fn series(&self, name: &str) -> Vec<(u32, f64)> {
        self.0.iter().filter(|((n, _), _)| n == name).map(|((_, nr), ns)| (*nr, *ns)).collect()
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new("data", &["what", "number", "ns"]);
        for ((name, nr), ns) in &self.0 {
            table.row([name.clone(), nr.to_string(), format!("{ns:.2}")]);
        }
        table
    }
}
