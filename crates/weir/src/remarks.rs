// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the user has to know of many runs that are made for one answer: each remark once.

use std::collections::BTreeSet;

use weir_report::Ignored;

use crate::fault::Diag;
use crate::ignored::merge;
use crate::units::plural;

/// Most remarks; of more the number is said.
const MOST: usize = 30;

/// The remarks of many runs.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    said: BTreeSet<String>,
    diags: Vec<Diag>,
    ignored: Vec<Ignored>,
}

impl Remarks {
    /// Add those of a run.
    pub fn add(&mut self, diags: Vec<Diag>, ignored: &[Ignored]) {
        for diag in diags {
            if self.said.insert(diag.to_string()) && self.said.len() <= MOST {
                self.diags.push(diag);
            }
        }
        merge(&mut self.ignored, ignored.iter().cloned());
    }

    /// The remarks, and what the topologies do not obey.
    pub fn finish(mut self) -> (Vec<Diag>, Vec<Ignored>) {
        if self.said.len() > MOST {
            let more = plural((self.said.len() - MOST) as u64, "more remark");
            self.diags.push(Diag::warning(format!("{more}: `runweir run` says all of a run")));
        }
        (self.diags, self.ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_said_once_and_not_too_many() {
        let mut all = Remarks::default();
        for i in 0..40 {
            all.add(
                vec![Diag::warning(format!("at {} ms", i % 35)), Diag::warning("the machine is odd")],
                &[],
            );
        }
        let (said, ignored) = all.finish();
        assert_eq!((said.len(), ignored.len()), (MOST + 1, 0));
        assert!(said[MOST].to_string().starts_with("6 more remarks"), "{}", said[MOST]);
    }
}
