// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The experiments of Izzi's thesis on fair scheduling by performance counters (source 4), as a library.
//!
//! [`fixed`] and [`penalty`] are the thesis's arithmetic, the reference for the component `pmc_fair`. [`run`] simulates
//! one run of a workload and writes the log that the thesis's kernel writes; [`log`], [`tree`], [`average`] and
//! [`compare`] are its chain of evaluation: lines, trees of processes, means over runs, changes against the baseline.
//! [`matrix`] lists the configurations that were thirty kernels there, [`published`] the tables 5.4 to 5.12,
//! [`reader`] and [`driver`] are the chain's first two parts on a real kernel, for the log of `runweir live --counter-log`.
//! [`experiment`] runs all of it and holds the results against the tables.

pub mod average;
pub mod compare;
pub mod driver;
pub mod experiment;
pub mod fixed;
pub mod log;
pub mod matrix;
pub mod penalty;
pub mod published;
pub mod reader;
pub mod report;
pub mod run;
pub mod tree;

/// Why something could not be done, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self(text)
    }
}
