// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the last full runs found: the `result.json` files of `experiments/`, which are part of the program.

use crate::reproduce::lab::{Done, Halt};
use crate::reproduce::report::{Record, Report};
use weir::fault::Fault;

include!(concat!(env!("OUT_DIR"), "/recorded.rs"));

/// What a full run of each experiment takes, by `tools/experiment-times.sh`.
const TIMES: &str = include_str!("../../../experiments/times.csv");

/// Processor time of a full run, s; `None`: it was not timed.
pub fn took_s(id: &str) -> Option<f64> {
    let times = TIMES.lines().skip(1).filter_map(|line| line.split_once(','));
    times.filter(|(of, _)| *of == id).find_map(|(_, seconds)| seconds.parse().ok())
}

/// All records, by folder. One that cannot be read, which a test keeps from happening, is left out.
pub fn all() -> Vec<Record> {
    RECORDED.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
}

/// The claims of the last full run, for an experiment that cannot be made here.
///
/// # Errors
/// None is on record: why it cannot be made, and what would help.
pub fn instead(id: &str, why: &str, help: &str) -> Done<Report> {
    let Some(record) = all().into_iter().find(|r| r.id == id) else {
        return Err(Halt::Fault(Fault::system(why, help)));
    };
    let note = format!(
        "Nothing was measured now: {why}. These are the recorded figures of the last full run; {help}."
    );
    let notes = std::iter::once(note).chain(record.notes).collect();
    Ok(Report { claims: record.claims, notes, ..Report::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::registry::EXPERIMENTS;
    use crate::reproduce::report::Verdict;

    #[test]
    fn times_are_of_experiments() {
        for line in TIMES.lines().skip(1) {
            let id = line.split(',').next().unwrap_or_default();
            assert!(EXPERIMENTS.iter().any(|e| e.id == id), "{line}");
            assert!(took_s(id).is_some_and(|s| s > 0.0), "{line}");
        }
        assert_eq!(took_s("none"), None);
    }

    #[test]
    fn records_are_whole_and_of_full_runs() {
        let all = all();
        assert_eq!(all.len(), RECORDED.len(), "a result.json below experiments/ cannot be read");
        for r in &all {
            assert!(EXPERIMENTS.iter().any(|e| e.id == r.id), "{} is not an experiment", r.id);
            assert!(!r.quick && !r.claims.is_empty(), "{}", r.id);
            for claim in &r.claims {
                assert!(!claim.bound.is_empty(), "{}: no bound is recorded for: {}", r.id, claim.claim);
                assert!(claim.verdict != Verdict::Unjudged, "{}: measure it again: {}", r.id, claim.claim);
            }
        }
    }
}
