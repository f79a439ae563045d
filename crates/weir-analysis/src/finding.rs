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

macro_rules! tests {
    ($($variant:ident $id:literal $name:literal,)+) => {
        /// The tests; each has a column in the table of assumptions ([`crate::assume`]).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Test { $($variant,)+ }

        impl Test {
            pub const ALL: &[Test] = &[$(Test::$variant,)+];
            pub const COUNT: usize = Self::ALL.len();

            /// Short and stable, for scripts.
            pub fn id(self) -> &'static str {
                match self { $(Test::$variant => $id,)+ }
            }

            /// For people.
            pub fn name(self) -> &'static str {
                match self { $(Test::$variant => $name,)+ }
            }
        }
    };
}

tests! {
    Feasible "feasible" "what any policy needs",
    LlRm "ll-rm" "utilization bound of RM",
    Hyperbolic "hyperbolic" "hyperbolic bound of RM",
    Rta "rta" "response-time analysis",
    LlEdf "ll-edf" "utilization bound of EDF",
    Density "density" "density bound of EDF",
    Qpa "qpa" "quick processor-demand analysis",
    Demand "demand" "processor demand",
    EdfVd "edf-vd" "utilization bound of EDF-VD",
    Gfb "gfb" "density bound of global EDF",
    Bak "bak" "load of a problem window, global EDF",
    Bcl "bcl" "interference under global EDF",
    RtaEdf "rta-edf" "response times under global EDF",
    RtaFp "rta-fp" "response times under global fixed priorities",
    BclRm "bcl-rm" "utilization bound of global RM",
    EdfUs "edf-us" "bound of EDF-US",
    RmUs "rm-us" "bound of RM-US",
    Edzl "edzl" "tasks without laxity under EDZL",
    Optimal "optimal" "utilization bound of optimal policies",
    Partitioned "partitioned" "each CPU with the tasks that it gets",
}

/// What the response times of a finding are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bound {
    /// No job takes longer.
    #[default]
    Upper,
    /// The worst job takes at least so long: what the test leaves out comes on top.
    Lower,
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub test: Test,
    /// Authors and year.
    pub source: &'static str,
    pub kind: Kind,
    pub verdict: Verdict,
    /// The numbers behind the verdict, or why the test says nothing about this set.
    pub remark: String,
    /// Bound of each task's response time, ns; empty where the test has none, `None` where it found none.
    pub response: Vec<Option<u64>>,
    pub bound: Bound,
    /// Whether some run reaches all of them: only such times are lower bounds where the test leaves something out.
    pub reached: bool,
    /// Assumptions of the test that do not hold.
    pub broken: Vec<crate::assume::Feature>,
}

impl Finding {
    /// A test with its paper; what follows from `passed` is up to its kind.
    pub fn new(kind: Kind, test: Test, source: &'static str, passed: bool, remark: String) -> Self {
        let verdict = match (kind, passed) {
            (Kind::Exact | Kind::Sufficient, true) => Verdict::Schedulable,
            (Kind::Exact | Kind::Necessary, false) => Verdict::Unschedulable,
            (Kind::Sufficient, false) | (Kind::Necessary, true) => Verdict::Undecided,
        };
        let (response, bound, broken) = (Vec::new(), Bound::Upper, Vec::new());
        let reached = kind == Kind::Exact;
        Self { test, source, kind, verdict, remark, response, bound, reached, broken }
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
            if self.kind == Kind::Exact {
                self.kind = Kind::Sufficient;
            }
        }
        self
    }
}
