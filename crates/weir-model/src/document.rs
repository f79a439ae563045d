// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Reading TOML with a diagnostic for every wrong value.
//!
//! A thin layer over `toml`'s spanned values: each accessor checks type, unit and range, and its
//! error points at the value. Unknown keys are errors, too, because an ignored misspelt key is the
//! hardest mistake to find.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::error::{Error, ErrorKind, Result, did_you_mean};
use crate::units::{self, Units};

/// The source text with its name, and the kind that its errors get.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
    pub kind: ErrorKind,
}

impl<'a> Source<'a> {
    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> Error {
        Error::new(self.kind, message).at(self.name, self.text, span)
    }

    /// Parse the whole text.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>> {
        DeTable::parse(self.text).map_err(|e| {
            let message = e.message().lines().collect::<Vec<_>>().join("; ");
            self.error(e.span().unwrap_or(0..0), format!("this is not TOML: {message}"))
                .help("TOML is `key = value` lines under `[table]` headers; texts stand in quotes")
        })
    }
}

/// A table whose keys are all known.
#[derive(Clone)]
pub struct Table<'d, 'a> {
    source: Source<'a>,
    table: &'d DeTable<'a>,
    /// Where to point when a key is missing.
    span: Range<usize>,
    /// What the table describes, for messages: `[[cpus]]`.
    what: &'d str,
}

impl<'d, 'a> Table<'d, 'a> {
    /// Wrap a table; a key that is not in `known` is an error.
    pub fn new(
        source: Source<'a>,
        table: &'d DeTable<'a>,
        span: Range<usize>,
        what: &'d str,
        known: &[&str],
    ) -> Result<Self> {
        // In order of the text, so that the first mistake is reported first.
        let mut keys: Vec<_> = table.keys().collect();
        keys.sort_by_key(|k| k.span().start);
        for key in keys {
            let word = key.get_ref();
            if !known.contains(&word.as_ref()) {
                return Err(source
                    .error(key.span(), format!("unknown key `{word}` in {what}"))
                    .help(did_you_mean(word, known)));
            }
        }
        Ok(Self { source, table, span, what })
    }

    /// The value of a key.
    pub fn get(&self, key: &'d str) -> Option<Value<'d, 'a>> {
        self.table.get(key).map(|v| Value { source: self.source, key, span: v.span(), value: v.get_ref() })
    }

    /// The value of a key that must be there; `example` completes the help text.
    pub fn require(&self, key: &'d str, example: &str) -> Result<Value<'d, 'a>> {
        self.get(key).ok_or_else(|| {
            self.source
                .error(self.span.clone(), format!("{} lacks `{key}`", self.what))
                .help(format!("add `{key} = {example}`"))
        })
    }

    /// The tables of an array of tables `[[key]]`, empty where there is none.
    pub fn tables(&self, key: &'d str, what: &'d str, known: &[&str]) -> Result<Vec<Table<'d, 'a>>> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = |v: &Value<'_, '_>| {
            v.error(format!("`{key}` is not a list of tables"))
                .help(format!("begin each with a line `[[{key}]]`"))
        };
        let DeValue::Array(array) = value.value else { return Err(wrong(&value)) };
        array
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::Table(t) => Table::new(self.source, t, item.span(), what, known),
                _ => Err(wrong(&value)),
            })
            .collect()
    }

    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// A value with its key and place.
#[derive(Clone)]
pub struct Value<'d, 'a> {
    source: Source<'a>,
    pub key: &'d str,
    span: Range<usize>,
    value: &'d DeValue<'a>,
}

impl<'d, 'a> Value<'d, 'a> {
    pub fn error(&self, message: impl Into<String>) -> Error {
        self.source.error(self.span.clone(), message)
    }

    fn wrong_type(&self, expected: &str, example: &str) -> Error {
        self.error(format!("`{}` is {}, not {expected}", self.key, article(self.value.type_str())))
            .help(format!("write `{} = {example}`", self.key))
    }

    pub fn str(&self, example: &str) -> Result<&'d str> {
        self.value.as_str().ok_or_else(|| self.wrong_type("a text", example))
    }

    /// A single value as it is written: a text without its quotes, a number, true or false.
    pub fn word(&self, example: &str) -> Result<String> {
        match self.value {
            DeValue::String(s) => Ok(s.to_string()),
            DeValue::Integer(i) => Ok(i.as_str().to_string()),
            DeValue::Float(f) => Ok(f.as_str().to_string()),
            DeValue::Boolean(b) => Ok(b.to_string()),
            _ => Err(self.wrong_type("a single value", example)),
        }
    }

    pub fn bool(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong_type("true or false", "true"))
    }

    /// A whole number within `range` (inclusive).
    pub fn int(&self, range: (u64, u64)) -> Result<u64> {
        let Some(i) = self.value.as_integer() else {
            // A number in quotes is the usual mistake.
            let quoted = self.value.as_str().map(str::trim).filter(|t| t.parse::<u64>().is_ok());
            let example = quoted.map_or_else(|| range.0.max(1).to_string(), str::to_string);
            return Err(self.wrong_type("a whole number", &example));
        };
        match u64::from_str_radix(i.as_str(), i.radix()) {
            Ok(v) if (range.0..=range.1).contains(&v) => Ok(v),
            _ => Err(self
                .error(format!("`{}` is {i}, outside {}..{}", self.key, range.0, range.1))
                .help(format!("give a number from {} to {}", range.0, range.1))),
        }
    }

    /// A whole number within `range` (inclusive) that may be negative.
    pub fn signed(&self, range: (i64, i64)) -> Result<i64> {
        let Some(i) = self.value.as_integer() else {
            return Err(self.wrong_type("a whole number", &range.0.max(1).to_string()));
        };
        match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(v) if (range.0..=range.1).contains(&v) => Ok(v),
            _ => Err(self
                .error(format!("`{}` is {i}, outside {}..{}", self.key, range.0, range.1))
                .help(format!("give a number from {} to {}", range.0, range.1))),
        }
    }

    /// The entries of a table whose keys are free, in the order of the text.
    pub fn entries(&self, example: &str) -> Result<Vec<Value<'d, 'a>>> {
        let DeValue::Table(table) = self.value else { return Err(self.wrong_type("a table", example)) };
        let value = |(key, v): (&'d Spanned<DeString<'a>>, &'d Spanned<DeValue<'a>>)| Value {
            source: self.source,
            key: key.get_ref(),
            span: v.span(),
            value: v.get_ref(),
        };
        let mut all: Vec<_> = table.iter().map(value).collect();
        all.sort_by_key(|v| v.span.start);
        Ok(all)
    }

    /// A quantity: a text with a unit; a bare 0 needs none.
    pub fn quantity(&self, units: Units) -> Result<u64> {
        match self.value {
            DeValue::String(text) => units::parse(text, units)
                .map_err(|e| self.error(format!("`{}`: {}", self.key, e.message)).help(e.help)),
            DeValue::Integer(i) if i.as_str().bytes().all(|b| b == b'0') => Ok(0),
            DeValue::Integer(_) | DeValue::Float(_) => {
                Err(self.error(format!("`{}` has no unit", self.key)).help(format!(
                    "write {} in quotes, like `{} = \"{}\"`",
                    units.what, self.key, units.example
                )))
            }
            _ => Err(self.wrong_type(units.what, &format!("\"{}\"", units.example))),
        }
    }

    /// The items of a list.
    pub fn list(&self, example: &str) -> Result<Vec<Value<'d, 'a>>> {
        match self.value {
            DeValue::Array(a) => Ok(a
                .iter()
                .map(|v| Value { source: self.source, key: self.key, span: v.span(), value: v.get_ref() })
                .collect()),
            _ => Err(self.wrong_type("a list", example)),
        }
    }

    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub fn is_list(&self) -> bool {
        self.value.is_array()
    }

    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    pub fn is_int(&self) -> bool {
        self.value.is_integer()
    }

    pub fn is_str(&self) -> bool {
        self.value.is_str()
    }

    /// A table with known keys.
    pub fn table(&self, what: &'d str, known: &[&str]) -> Result<Table<'d, 'a>> {
        match self.value {
            DeValue::Table(t) => Table::new(self.source, t, self.span.clone(), what, known),
            _ => Err(self
                .error(format!("`{}` is {}, not a table", self.key, article(self.value.type_str())))
                .help(format!("known in it: {}", known.join(", ")))),
        }
    }
}

fn article(kind: &str) -> String {
    match kind {
        "integer" => "an integer".into(),
        "array" => "a list".into(),
        "string" => "a text".into(),
        "boolean" => "true or false".into(),
        other => format!("a {other}"),
    }
}
