// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Instructions over time (`bench/history/instructions.jsonl`): one record a line, and the gate that holds a tree against the newest.
//!
//! Instructions of one compiler are the same on every machine, so they can be asserted where times cannot. A record of another compiler says nothing.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::row::Row;
use crate::stages;

/// How far a count may be from the record, as a part of it.
const TOLERANCE: f64 = 0.03;
/// "Not tried" in the house's test scripts.
const SKIPPED: u8 = 77;
const COMPILER: &str = env!("WEIR_CC");

#[derive(Debug, Deserialize, Serialize)]
struct Record {
    commit: String,
    date: String,
    machine: String,
    compiler: String,
    /// What an uncontended lock costs on that machine, ns.
    lock_ns: f64,
    counts: Vec<Count>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Count {
    subject: String,
    /// CPUs, waiting tasks or stages, as the subject says.
    size: u32,
    unit: String,
    figure: f64,
    /// The figure divided by the yardstick's.
    ratio: f64,
}

impl From<Row> for Count {
    fn from(row: Row) -> Self {
        let short = |value: f64, digits: f64| (value * digits).round() / digits;
        Self {
            subject: row.subject,
            size: row.size,
            unit: row.unit.into(),
            figure: short(row.figure, 10.0),
            ratio: short(row.ratio, 1e4),
        }
    }
}

fn counts() -> Option<Vec<Count>> {
    let rows = stages::instructions();
    (!rows.is_empty()).then(|| rows.into_iter().map(Count::from).collect())
}

fn newest(text: &str) -> Result<Option<Record>, serde_json::Error> {
    text.lines().rfind(|line| !line.trim().is_empty()).map(serde_json::from_str).transpose()
}

/// What is not as recorded, a line each.
fn differences(then: &[Count], now: &[Count]) -> Vec<String> {
    let same = |a: &Count, b: &Count| (&a.subject, a.size) == (&b.subject, b.size);
    let mut lines = Vec::new();
    for new in now {
        match then.iter().find(|old| same(old, new)) {
            None => lines.push(format!("{} ({}): no record", new.subject, new.size)),
            Some(old) if (new.figure - old.figure).abs() > TOLERANCE * old.figure => lines.push(format!(
                "{} ({}): {:.0} {}, recorded {:.0}: {:+.1} %",
                new.subject,
                new.size,
                new.figure,
                new.unit,
                old.figure,
                100.0 * (new.figure / old.figure - 1.0)
            )),
            Some(_) => {}
        }
    }
    let gone = then.iter().filter(|old| !now.iter().any(|new| same(old, new)));
    lines.extend(
        gone.map(|old| format!("{} ({}): recorded, but not counted any more", old.subject, old.size)),
    );
    lines
}

/// Count, and hold the counts against the newest record: 0 if all are within 3 %, 1 if not, 77 if they cannot be compared here.
pub fn compare(file: &Path) -> ExitCode {
    let record = match std::fs::read_to_string(file).map(|text| newest(&text)) {
        Ok(Ok(Some(record))) => record,
        Ok(Ok(None)) => return unusable(file, "it has no record"),
        Ok(Err(e)) => return unusable(file, &e.to_string()),
        Err(e) => return unusable(file, &e.to_string()),
    };
    if record.compiler != COMPILER {
        eprintln!("counts: recorded with {}, built with {COMPILER}: not comparable", record.compiler);
        return ExitCode::from(SKIPPED);
    }
    let Some(now) = counts() else { return uncounted() };
    for count in &now {
        println!(
            "{:<18} {:>4} {:>10.1} {:<20} {:>7.2} times by hand",
            count.subject, count.size, count.figure, count.unit, count.ratio
        );
    }
    let lines = differences(&record.counts, &now);
    if lines.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "counts: not within {:.0} % of commit {} ({}):",
        100.0 * TOLERANCE,
        record.commit,
        file.display()
    );
    lines.iter().for_each(|line| eprintln!("  {line}"));
    eprintln!("counts: if that is meant, add a record: tools/bench.sh record");
    ExitCode::FAILURE
}

/// Count, and add a record to the history.
pub fn record(file: &Path, commit: &str, date: &str, machine: &str) -> ExitCode {
    let Some(counts) = counts() else { return uncounted() };
    let lock_ns = (stages::lock_ns() * 100.0).round() / 100.0;
    let [commit, date, machine] = [commit, date, machine].map(String::from);
    let record = Record { commit, date, machine, compiler: COMPILER.into(), lock_ns, counts };
    let line = serde_json::to_string(&record).expect("plain data");
    let written = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut out| writeln!(out, "{line}"));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => unusable(file, &e.to_string()),
    }
}

fn unusable(file: &Path, why: &str) -> ExitCode {
    eprintln!("counts: {}: {why}", file.display());
    ExitCode::FAILURE
}

fn uncounted() -> ExitCode {
    eprintln!("counts: no valgrind (apt-get install valgrind), which counts instructions");
    ExitCode::from(SKIPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(subject: &str, figure: f64) -> Count {
        Count { subject: subject.into(), size: 4, unit: "instructions/cycle".into(), figure, ratio: 1.0 }
    }

    #[test]
    fn three_per_cent_either_way_are_allowed() {
        let then = [count("a", 1000.0), count("b", 1000.0), count("c", 1000.0)];
        let now = [count("a", 1029.0), count("b", 971.0), count("c", 1000.0)];
        assert!(differences(&then, &now).is_empty());
        let now = [count("a", 1031.0), count("b", 969.0), count("d", 1.0)];
        assert_eq!(
            differences(&then, &now),
            [
                "a (4): 1031 instructions/cycle, recorded 1000: +3.1 %",
                "b (4): 969 instructions/cycle, recorded 1000: -3.1 %",
                "d (4): no record",
                "c (4): recorded, but not counted any more",
            ]
        );
    }

    #[test]
    fn the_last_line_is_the_record() {
        let line = |commit: &str| {
            format!(
                r#"{{"commit":"{commit}","date":"","machine":"","compiler":"","lock_ns":2.5,"counts":[]}}"#
            )
        };
        let text = format!("{}\n{}\n\n", line("a"), line("b"));
        assert_eq!(newest(&text).expect("it reads").expect("there is one").commit, "b");
        assert!(newest("").expect("nothing to read").is_none());
        assert!(newest("{}").is_err());
    }
}
