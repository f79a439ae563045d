// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the last full runs found: the `result.json` files of `experiments/`, which are part of the program.

use crate::report::Record;

include!(concat!(env!("OUT_DIR"), "/recorded.rs"));

/// All records, by folder. One that cannot be read, which a test keeps from happening, is left out.
pub fn all() -> Vec<Record> {
    RECORDED.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::EXPERIMENTS;

    #[test]
    fn records_are_whole_and_of_full_runs() {
        let all = all();
        assert_eq!(all.len(), RECORDED.len(), "a result.json below experiments/ cannot be read");
        for r in &all {
            assert!(EXPERIMENTS.iter().any(|e| e.id == r.id), "{} is not an experiment", r.id);
            assert!(!r.quick && !r.claims.is_empty(), "{}", r.id);
            for claim in &r.claims {
                assert!(!claim.bound.is_empty(), "{}: no bound is recorded for: {}", r.id, claim.claim);
            }
        }
    }
}
