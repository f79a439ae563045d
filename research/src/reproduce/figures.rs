// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Figures that the C programs of experiments print: a name, a number and a time on each line. The programs need two CPUs.

use std::collections::BTreeMap;

use crate::reproduce::cc::{self, Bench, Cannot, TRIES};
use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::report::{Report, Table};

include!(concat!(env!("OUT_DIR"), "/lines.rs"));

/// Timed here, so it is another number each time.
pub const TIMED: &str =
    "Timed on the computer that it ran on, between its first two usable CPUs: not the same each time.";

/// Figures by name and number, ns; none where other work was on the CPUs.
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
        let mut printed = Vec::new();
        for made in lab.one_by_one(runs, one)? {
            match made {
                Ok(text) => printed.push(text),
                Err(Cannot::Missing(why)) => return Ok(Err(why)),
                Err(Cannot::Busy) => return Ok(Ok(Self(BTreeMap::new()))),
            }
        }
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

    /// Where there are no figures, nothing made of them stays: no claim is judged, and there is no table or picture. To be called before
    /// anything else is reported.
    pub fn judge(&self, report: &mut Report) {
        if !self.0.is_empty() {
            return;
        }
        let claims = std::mem::take(&mut report.claims);
        let why = "not measured: other work on the CPUs";
        let note = format!(
            "Nothing was measured now: other work was on the CPUs, and {TRIES} tries took too long. Repeat it on a computer that does nothing else."
        );
        *report = Report {
            claims: claims.into_iter().map(|c| c.unjudged(why)).collect(),
            notes: vec![note],
            ..Report::default()
        };
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new("data", &["what", "number", "ns"]);
        for ((name, nr), ns) in &self.0 {
            table.row([name.clone(), nr.to_string(), format!("{ns:.2}")]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::report::{Claim, Judged, Verdict};

    /// Whatever the claims made of missing figures, none is judged, and nothing else is left.
    #[test]
    fn without_figures_nothing_is_judged() {
        let made = || {
            let judged = |all| Judged::of(all, false, "a bound");
            let claims =
                vec![Claim::new("a", "1", "NaN", judged(true)), Claim::new("b", "-", "NaN", judged(false))];
            Report { claims, tables: vec![Table::new("data", &[])], ..Report::default() }
        };
        let mut report = made();
        Figures(BTreeMap::new()).judge(&mut report);
        for claim in &report.claims {
            assert_eq!(
                (claim.verdict, claim.met, claim.bound.as_str()),
                (Verdict::Unjudged, None, "a bound")
            );
            assert!(claim.here.starts_with("not measured"), "{}", claim.here);
        }
        assert!(report.claims.len() == 2 && report.tables.is_empty() && report.notes.len() == 1);
        let mut report = made();
        Figures(BTreeMap::from([(("a".into(), 1), 2.0)])).judge(&mut report);
        assert_eq!(report, made());
    }
}
