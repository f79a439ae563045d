// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Optional keys of a table, typed as workloads need them.

use std::ops::Range;

use crate::document::{self, Value};
use crate::error::Error;
use crate::units;
use crate::workload::units::{MAX_NS, cpu_list};

/// One table of the file; its unknown keys are refused already.
#[derive(Clone)]
pub(super) struct Table<'t> {
    pub source: document::Source<'t>,
    inner: document::Table<'t, 't>,
}

/// Longest name.
const MAX_NAME: usize = 256;

impl<'t> Table<'t> {
    pub fn new(source: document::Source<'t>, inner: document::Table<'t, 't>) -> Self {
        Self { source, inner }
    }

    pub fn get(&self, key: &'t str) -> Option<Value<'t, 't>> {
        self.inner.get(key)
    }

    pub fn has(&self, key: &'t str) -> bool {
        self.get(key).is_some()
    }

    /// Place of a key's value, or of the table.
    pub fn place(&self, key: &'t str) -> Range<usize> {
        self.get(key).map_or_else(|| self.inner.span(), |v| v.span())
    }

    /// An error at a key's value.
    pub fn wrong(&self, key: &'t str, message: impl Into<String>, help: impl Into<String>) -> Error {
        self.source.error(self.place(key), message).help(help)
    }

    /// An error at the table.
    pub fn error(&self, message: impl Into<String>, help: impl Into<String>) -> Error {
        self.source.error(self.inner.span(), message).help(help)
    }

    pub fn string(&self, key: &'t str, example: &str) -> Result<Option<&'t str>, Error> {
        let Some(text) = self.get(key).map(|v| v.str(example)).transpose()? else { return Ok(None) };
        if text.len() > MAX_NAME {
            return Err(self.wrong(
                key,
                format!("`{key}` is too long"),
                format!("use at most {MAX_NAME} bytes"),
            ));
        }
        Ok(Some(text))
    }

    pub fn boolean(&self, key: &'t str) -> Result<Option<bool>, Error> {
        self.get(key).map(|v| v.bool()).transpose()
    }

    /// A time in ns.
    pub fn ns(&self, key: &'t str) -> Result<Option<u64>, Error> {
        let Some(ns) = self.get(key).map(|v| v.quantity(units::TIME)).transpose()? else { return Ok(None) };
        if ns > MAX_NS {
            let help = format!("the limit is {}", units::show(MAX_NS, units::TIME));
            return Err(self.wrong(key, format!("`{key}` is too long"), help));
        }
        Ok(Some(ns))
    }

    /// A share in percent.
    pub fn percent(&self, key: &'t str) -> Result<Option<u64>, Error> {
        self.get(key).map(|v| v.quantity(units::PERCENT)).transpose()
    }

    /// A clock in Hz.
    pub fn hz(&self, key: &'t str) -> Result<Option<u64>, Error> {
        self.get(key).map(|v| v.quantity(units::CLOCK)).transpose()
    }

    /// A whole number in a range.
    pub fn count(&self, key: &'t str, min: u64, max: u64) -> Result<Option<u64>, Error> {
        self.get(key).map(|v| v.int((min, max))).transpose()
    }

    /// A whole number in a range, perhaps negative.
    pub fn signed(&self, key: &'t str, min: i64, max: i64) -> Result<Option<i64>, Error> {
        self.get(key).map(|v| v.signed((min, max))).transpose()
    }

    /// CPUs: a list such as `"0-3,8"`, or an array of numbers.
    pub fn cpus(&self, key: &'t str) -> Result<Option<weir_core::CpuSet>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        if !value.is_list() {
            let set = cpu_list(value.str("\"0-3\"")?);
            return set.map(Some).map_err(|r| self.wrong(key, format!("{key}: {}", r.message), r.help));
        }
        let max = u64::from(weir_core::cpuset::MAX_CPUS) - 1;
        let set: Result<weir_core::CpuSet, Error> =
            value.list("[0, 1]")?.iter().map(|v| v.int((0, max)).map(|c| c as u32)).collect();
        let set = set?;
        if set.is_empty() {
            return Err(self.wrong(
                key,
                format!("`{key}` is empty"),
                "name at least one CPU, or leave it out",
            ));
        }
        Ok(Some(set))
    }

    /// The tables of an array of tables.
    pub fn tables(&self, key: &'t str, what: &'t str, known: &[&str]) -> Result<Vec<Table<'t>>, Error> {
        let list = self.inner.tables(key, what, known)?;
        Ok(list.into_iter().map(|t| Table::new(self.source, t)).collect())
    }
}
