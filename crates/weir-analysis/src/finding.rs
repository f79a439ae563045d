// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a test says.

use std::fmt;

/// What can be concluded from a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Both answers are final.
    Exact,
    /// A set that passes meets all deadlines.
    Sufficient,
    /// A set that fails misses some, whatever the policy.
    Necessary,
}

/// Whether all deadlines are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    Schedulable,
    Unschedulable,
    Undecided,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Exact => "exact",
            Kind::Sufficient => "sufficient",
            Kind::Necessary => "necessary",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Schedulable => "schedulable",
            Verdict::Unschedulable => "not schedulable",
            Verdict::Undecided => "undecided",
        })
    }
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Short and stable, for scripts: `rta`, `qpa`, `gfb`.
    pub id: &'static str,
    /// For people.
    pub test: &'static str,
    /// Authors and year.
    pub source: &'static str,
    pub kind: Kind,
    pub verdict: Verdict,
    /// The numbers behind the verdict, or why the test says nothing about this set.
    pub remark: String,
    /// Bound of each task's response time, ns; empty where the test has none, `None` where it found none.
    pub response: Vec<Option<u64>>,
}

impl Finding {
    /// A test with its short name, its name for people and its paper; what follows from `passed` is up to its kind.
    pub fn new(kind: Kind, [id, test, source]: [&'static str; 3], passed: bool, remark: String) -> Self {
        let verdict = match (kind, passed) {
            (Kind::Exact | Kind::Sufficient, true) => Verdict::Schedulable,
            (Kind::Exact | Kind::Necessary, false) => Verdict::Unschedulable,
            (Kind::Sufficient, false) | (Kind::Necessary, true) => Verdict::Undecided,
        };
        Self { id, test, source, kind, verdict, remark, response: Vec::new() }
    }

    /// A test that says nothing about sets of this kind.
    #[must_use]
    pub fn inapplicable(mut self, why: &str) -> Self {
        self.verdict = Verdict::Undecided;
        self.remark = format!("does not apply: {why}");
        self.response.clear();
        self
    }

    /// Add bounds of response times.
    #[must_use]
    pub fn with_response(mut self, response: Vec<Option<u64>>) -> Self {
        self.response = response;
        self
    }

    /// Take a refusal back where the worst case that the test assumes need not happen.
    #[must_use]
    pub fn unless(mut self, milder: bool, why: &str) -> Self {
        if milder && self.verdict == Verdict::Unschedulable {
            self.verdict = Verdict::Undecided;
            self.remark = format!("{}; {why}", self.remark);
        }
        self
    }
}
