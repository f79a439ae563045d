// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Typed access to TOML tables with places for diagnostics.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, did_you_mean};
use crate::workload::units::{self, Refusal};

/// The text of the file, for diagnostics.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl<'a> Source<'a> {
    pub fn error(&self, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Error {
        Error::workload(message).help(help).at(self.name, self.text, at)
    }

    /// A refused value at its place.
    pub fn refused(&self, at: Range<usize>, key: &str, refusal: Refusal) -> Error {
        self.error(at, format!("{key}: {}", refusal.message), refusal.help)
    }

    /// Parse the whole file.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|e| {
            let at = e.span().unwrap_or(0..0);
            let help =
                "see https://toml.io for the syntax; strings need quotes, and a table begins with `[[task]]`";
            self.error(at, format!("not readable as TOML: {}", e.message()), help)
        })
    }
}

/// One table of the file.
#[derive(Clone)]
pub(super) struct Table<'t> {
    pub source: Source<'t>,
    /// How diagnostics call it.
    pub what: String,
    /// Where it begins.
    pub at: Range<usize>,
    inner: &'t DeTable<'t>,
}

/// What a value is, in words.
pub(super) fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

impl<'t> Table<'t> {
    pub fn new(
        source: Source<'t>,
        what: impl Into<String>,
        at: Range<usize>,
        inner: &'t DeTable<'t>,
    ) -> Self {
        Self { source, what: what.into(), at, inner }
    }

    /// Refuse keys that are not in the list.
    pub fn only(&self, known: &[&str]) -> Result<(), Error> {
        // The table is sorted by key; the first in the file is reported.
        let unknown = self
            .inner
            .keys()
            .filter(|k| !known.contains(&k.get_ref().as_ref()))
            .min_by_key(|k| k.span().start);
        match unknown {
            None => Ok(()),
            Some(key) => {
                let name = key.get_ref().as_ref();
                Err(self.source.error(
                    key.span(),
                    format!("{} has no key `{name}`", self.what),
                    did_you_mean(name, known),
                ))
            }
        }
    }

    pub fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.inner.get(key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Place of a key's value, or of the table.
    pub fn place(&self, key: &str) -> Range<usize> {
        self.get(key).map_or_else(|| self.at.clone(), Spanned::span)
    }

    /// An error at a key's value.
    pub fn wrong(&self, key: &str, message: impl Into<String>, help: impl Into<String>) -> Error {
        self.source.error(self.place(key), message, help)
    }

    fn mismatch(&self, key: &str, value: &DeValue<'_>, wanted: &str, example: &str) -> Error {
        let message = format!("`{key}` must be {wanted}, but this is {}", describe(value));
        self.wrong(key, message, format!("write, for example, `{key} = {example}`"))
    }

    pub fn string(&self, key: &str, example: &str) -> Result<Option<&'t str>, Error> {
        match self.get(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::String(s)) if s.len() <= 256 => Ok(Some(s.as_ref())),
            Some(DeValue::String(_)) => {
                Err(self.wrong(key, format!("`{key}` is too long"), "use at most 256 bytes"))
            }
            Some(other) => Err(self.mismatch(key, other, "a string", example)),
        }
    }

    pub fn boolean(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.get(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::Boolean(b)) => Ok(Some(*b)),
            Some(other) => Err(self.mismatch(key, other, "true or false", "true")),
        }
    }

    /// A value with a unit in a string.
    fn united<T>(
        &self,
        key: &str,
        example: &str,
        read: impl Fn(&str) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Error> {
        match self.get(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::String(s)) => {
                read(s).map(Some).map_err(|r| self.source.refused(self.place(key), key, r))
            }
            Some(other) => Err(self.mismatch(key, other, "a string with a unit", example)),
        }
    }

    /// A time in ns.
    pub fn ns(&self, key: &str) -> Result<Option<u64>, Error> {
        self.united(key, "\"10ms\"", units::duration)
    }

    /// A clock in Hz.
    pub fn hz(&self, key: &str) -> Result<Option<u64>, Error> {
        self.united(key, "\"2.4GHz\"", units::frequency)
    }

    /// A size in bytes; a bare integer counts bytes.
    pub fn bytes(&self, key: &str) -> Result<Option<u64>, Error> {
        if let Some(DeValue::Integer(_)) = self.get(key).map(Spanned::get_ref) {
            return Ok(self.integer(key, 0, 1 << 50)?.map(|v| v as u64));
        }
        self.united(key, "\"64KiB\"", units::bytes)
    }

    /// A whole number in a range.
    pub fn integer(&self, key: &str, min: i64, max: i64) -> Result<Option<i64>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
                Ok(v) if (min..=max).contains(&v) => Ok(Some(v)),
                _ => Err(self.wrong(
                    key,
                    format!("`{key}` is {i}, out of range"),
                    format!("write a whole number from {min} to {max}"),
                )),
            },
            other => Err(self.mismatch(key, other, "a whole number", &min.max(1).to_string())),
        }
    }

    /// CPUs: a list such as `"0-3,8"`, or an array of numbers.
    pub fn cpus(&self, key: &str) -> Result<Option<weir_core::CpuSet>, Error> {
        match self.get(key).map(Spanned::get_ref) {
            Some(DeValue::Array(list)) => {
                let mut set = weir_core::CpuSet::new();
                for item in list.iter() {
                    let number = match item.get_ref() {
                        DeValue::Integer(i) => u32::from_str_radix(i.as_str(), i.radix()).ok(),
                        _ => None,
                    };
                    match number.filter(|&c| c < weir_core::cpuset::MAX_CPUS) {
                        Some(cpu) => set.insert(cpu),
                        None => {
                            let help = format!("write numbers below {}", weir_core::cpuset::MAX_CPUS);
                            return Err(self.source.error(item.span(), "this is no CPU number", help));
                        }
                    }
                }
                if set.is_empty() {
                    return Err(self.wrong(
                        key,
                        format!("`{key}` is empty"),
                        "name at least one CPU, or leave it out",
                    ));
                }
                Ok(Some(set))
            }
            _ => self.united(key, "\"0-3\"", units::cpu_list),
        }
    }

    /// The tables of an array of tables.
    pub fn tables(&self, key: &str, what: &str) -> Result<Vec<Table<'t>>, Error> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.source.error(
                value.span(),
                format!("`{key}` must be an array of tables, but this is {}", describe(value.get_ref())),
                format!("begin each one with `[[{key}]]`"),
            ));
        };
        let mut tables = Vec::with_capacity(list.len());
        for item in list.iter() {
            let DeValue::Table(inner) = item.get_ref() else {
                let message = format!("`{key}` must hold tables, but this is {}", describe(item.get_ref()));
                return Err(self.source.error(
                    item.span(),
                    message,
                    format!("begin each one with `[[{key}]]`"),
                ));
            };
            tables.push(Table::new(self.source, what, item.span(), inner));
        }
        Ok(tables)
    }

    /// A table of names and values.
    pub fn table(&self, key: &str) -> Result<Option<Table<'t>>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::Table(inner) => {
                    Ok(Some(Table::new(self.source, format!("`{key}`"), value.span(), inner)))
                }
                other => Err(self.mismatch(key, other, "a table", "{ … }")),
            },
        }
    }

    /// Keys in the order of the file.
    pub fn keys(&self) -> Vec<&'t str> {
        let mut keys: Vec<_> = self.inner.keys().collect();
        keys.sort_by_key(|k| k.span().start);
        keys.into_iter().map(|k| k.get_ref().as_ref()).collect()
    }
}
