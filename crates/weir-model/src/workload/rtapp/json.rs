// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Typed access to the JSON tree with places for diagnostics. Keys keep their order and may repeat.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::filled::Filled;
use crate::error::Error;
use crate::workload::units;

/// The file, for diagnostics, and its text with missing values filled in.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
    pub filled: &'a Filled,
}

/// Byte range of a node.
pub(super) fn span(node: &impl Ranged) -> Range<usize> {
    let r = node.range();
    r.start..r.end
}

/// The kind of a value, in words.
fn describe(value: &Value) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a truth value",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

impl<'a> Source<'a> {
    pub fn error(&self, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Error {
        self.locate(Error::workload(message).help(help), at)
    }

    /// Add a place, given as a range of the parsed text.
    pub fn locate(&self, error: Error, at: Range<usize>) -> Error {
        error.at(self.name, self.text, self.filled.place(at))
    }

    /// Parse the whole file: comments and trailing commas are allowed, as workgen allows them.
    pub fn parse(&self) -> Result<Object<'a>, Error> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let tree = parse_to_ast(&self.filled.text, &CollectOptions::default(), &options).map_err(|e| {
            let r = e.range();
            let help = "check quotes, commas and braces here; comments and trailing commas are fine";
            self.error(r.start..r.end, format!("not readable as JSON: {}", e.kind()), help)
        })?;
        match tree.value {
            Some(Value::Object(o)) => Ok(o),
            Some(other) => Err(self.error(
                span(&other),
                format!("an rt-app file is an object, but this is {}", describe(&other)),
                "begin with `{ \"tasks\" : { … } }`",
            )),
            None => Err(self.error(0..0, "the file is empty", "begin with `{ \"tasks\" : { … } }`")),
        }
    }

    fn mismatch(&self, value: &Value, key: &str, wanted: &str, example: &str) -> Error {
        let message = format!("`{key}` must be {wanted}, but this is {}", describe(value));
        self.error(span(value), message, format!("write, for example, `\"{key}\" : {example}`"))
    }

    pub fn object<'v>(
        &self,
        value: &'v Value<'a>,
        key: &str,
        example: &str,
    ) -> Result<&'v Object<'a>, Error> {
        value.as_object().ok_or_else(|| self.mismatch(value, key, "an object", example))
    }

    pub fn string<'v>(&self, value: &'v Value<'a>, key: &str, example: &str) -> Result<&'v str, Error> {
        let text = value.as_string_lit().map(|s| s.value.as_ref());
        let text = text.ok_or_else(|| self.mismatch(value, key, "a string", example))?;
        if text.len() > 4096 {
            let message = format!("the value of `{key}` is {} bytes long", text.len());
            return Err(self.error(span(value), message, "shorten it to 4096 bytes or less"));
        }
        Ok(text)
    }

    pub fn boolean(&self, value: &Value<'a>, key: &str) -> Result<bool, Error> {
        let b = value.as_boolean_lit().map(|b| b.value);
        b.ok_or_else(|| self.mismatch(value, key, "true or false", "false"))
    }

    /// A whole number in the given range; rt-app takes no fractions.
    pub fn integer(
        &self,
        value: &Value<'a>,
        key: &str,
        range: std::ops::RangeInclusive<i64>,
        unit: &str,
    ) -> Result<i64, Error> {
        let (low, high) = (range.start(), range.end());
        let help = format!("write a whole number{unit} from {low} to {high}");
        let Some(number) = value.as_number_lit() else {
            let message = format!("`{key}` must be a whole number, but this is {}", describe(value));
            // A time with a unit: say what it is in the file's unit.
            let time = value.as_string_lit().and_then(|s| units::duration(&s.value).ok());
            let help = match time {
                Some(ns) if unit.contains("microseconds") => format!("write {} (microseconds)", ns / 1_000),
                Some(ns) if unit.contains("of seconds") => format!("write {} (seconds)", ns / 1_000_000_000),
                _ => help,
            };
            return Err(self.error(span(value), message, help));
        };
        match number.value.parse::<i64>() {
            Ok(v) if range.contains(&v) => Ok(v),
            Ok(v) => Err(self.error(span(value), format!("`{key}` is {v}, out of range"), help)),
            Err(_) => {
                let message = format!("`{key}` must be a whole number, but this is {}", number.value);
                Err(self.error(span(value), message, help))
            }
        }
    }

    /// A list of small numbers, such as CPUs.
    pub fn indices(&self, value: &Value<'a>, key: &str, below: u32) -> Result<Vec<u32>, Error> {
        let Some(list) = value.as_array() else {
            return Err(self.mismatch(value, key, "a list of numbers", "[0, 1]"));
        };
        if list.elements.is_empty() {
            let help = format!("name at least one, or leave `{key}` out for no restriction");
            return Err(self.error(span(value), format!("`{key}` is an empty list"), help));
        }
        let max = i64::from(below) - 1;
        list.elements.iter().map(|e| self.integer(e, key, 0..=max, "").map(|v| v as u32)).collect()
    }
}

/// First property of this name: of repeated keys, workgen renames all but the first.
pub(super) fn find<'v, 'a>(object: &'v Object<'a>, key: &str) -> Option<&'v ObjectProp<'a>> {
    object.properties.iter().find(|p| p.name.as_str() == key)
}
