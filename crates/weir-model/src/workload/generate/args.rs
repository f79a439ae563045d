// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The `key=value,…` list of a generator call, checked against the generator's parameters.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{GeneratorInfo, ParamInfo};
use crate::error::{Error, did_you_mean};
use crate::workload::units::{self, Refusal};

/// Values of a call; what is not given has its default.
pub(super) struct Args<'a> {
    spec: &'a str,
    info: &'a GeneratorInfo,
    given: BTreeMap<&'a str, (&'a str, Range<usize>)>,
}

impl<'a> Args<'a> {
    /// Read `key=value,key=value`; `at` is where the list begins in `spec`.
    pub fn parse(spec: &'a str, at: usize, info: &'a GeneratorInfo) -> Result<Self, Error> {
        let mut args = Self { spec, info, given: BTreeMap::new() };
        let mut start = at;
        let list = &spec[at..];
        if list.trim().is_empty() {
            return Ok(args);
        }
        for part in list.split(',') {
            let span = start..start + part.len();
            start = span.end + 1;
            let known: Vec<&str> = info.params.iter().map(|p| p.name).collect();
            let example =
                info.params.first().map_or_else(String::new, |p| format!("{}={}", p.name, p.default));
            if part.trim().is_empty() {
                return Err(args.error(
                    span,
                    "an empty parameter",
                    format!("write `key=value`, for example `{example}`"),
                ));
            }
            let Some((key, value)) = part.split_once('=') else {
                let help = match known.iter().find(|k| **k == part.trim()) {
                    Some(k) => format!("give it a value: `{k}=…`"),
                    None => format!("write `key=value`, for example `{example}`"),
                };
                return Err(args.error(span, format!("`{}` has no value", part.trim()), help));
            };
            let value_at = span.start + key.len() + 1..span.end;
            let (key, value) = (key.trim(), value.trim());
            if !known.contains(&key) {
                let span = span.start..span.start + key.len().max(1);
                return Err(args.error(
                    span,
                    format!("`{}` has no parameter `{key}`", info.name),
                    did_you_mean(key, &known),
                ));
            }
            if args.given.insert(key, (value, value_at)).is_some() {
                return Err(args.error(span, format!("`{key}` is given twice"), "give it once"));
            }
        }
        Ok(args)
    }

    /// An error at a place of the call.
    pub fn error(&self, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Error {
        Error::workload(message).help(help).at("workload", self.spec, at)
    }

    /// An error about a parameter: at its value if it was given, else at the whole call.
    pub fn wrong(&self, key: &str, message: impl Into<String>, help: impl Into<String>) -> Error {
        let at = self.given.get(key).map_or(0..self.spec.len(), |g| g.1.clone());
        self.error(at, message, help)
    }

    /// The value as text.
    pub fn text(&self, key: &str) -> &'a str {
        match self.given.get(key) {
            Some((value, _)) => value,
            None => self.param(key).default,
        }
    }

    fn param(&self, key: &str) -> &'a ParamInfo {
        self.info.params.iter().find(|p| p.name == key).expect("generators ask for their own parameters")
    }

    fn value<T>(&self, key: &str, read: impl Fn(&str) -> Result<T, Refusal>) -> Result<T, Error> {
        read(self.text(key)).map_err(|r| {
            let help = format!(
                "{} ({}: {}; default {})",
                r.help,
                key,
                self.param(key).help,
                self.param(key).default
            );
            self.wrong(key, format!("{key}: {}", r.message), help)
        })
    }

    /// A time in ns, at least `min`.
    pub fn ns(&self, key: &str, min: u64) -> Result<u64, Error> {
        let ns = self.value(key, units::duration)?;
        if ns < min {
            return Err(self.wrong(
                key,
                format!("{key} is {ns} ns, too short"),
                format!("write at least {min}ns"),
            ));
        }
        Ok(ns)
    }

    /// A size in bytes from 1.
    pub fn bytes(&self, key: &str) -> Result<u64, Error> {
        let bytes = self.value(key, units::bytes)?;
        if bytes == 0 {
            return Err(self.wrong(key, format!("{key} is 0 bytes"), "write at least 1"));
        }
        Ok(bytes)
    }

    /// A count in a range.
    pub fn count(&self, key: &str, min: u64, max: u64) -> Result<u64, Error> {
        self.value(key, |t| units::count(t, min, max))
    }

    /// A share, as a ratio in a range.
    pub fn share(&self, key: &str, min: f64, max: f64) -> Result<f64, Error> {
        let ratio = self.value(key, units::share)?;
        if !(min..=max).contains(&ratio) {
            return Err(self.wrong(
                key,
                format!("{key} is {}, out of range", self.text(key)),
                format!("write a share from {:.0}% to {:.0}%", min * 100.0, max * 100.0),
            ));
        }
        Ok(ratio)
    }

    /// One of some words; the result is its place in the list.
    pub fn choice(&self, key: &str, words: &[&str]) -> Result<usize, Error> {
        let text = self.text(key);
        words.iter().position(|w| *w == text).ok_or_else(|| {
            let help = match crate::error::nearest(text, words.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write one of: {}", words.join(", ")),
            };
            self.wrong(key, format!("{key} cannot be `{text}`"), help)
        })
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        Ok(self.choice(key, &["false", "true"])? == 1)
    }

    /// A CPU number, or `None` for `any`.
    pub fn cpu(&self, key: &str) -> Result<Option<u32>, Error> {
        if self.text(key) == "any" {
            return Ok(None);
        }
        let max = u64::from(weir_core::cpuset::MAX_CPUS) - 1;
        self.count(key, 0, max).map(|c| Some(c as u32)).map_err(|e| {
            let help = format!("{}, or `any`", e.help.as_deref().unwrap_or_default());
            e.help(help)
        })
    }
}
