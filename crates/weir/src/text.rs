// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! JSON as results are printed.

use crate::fault::{Fault, Result};

/// Pretty JSON with a final newline.
pub fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map(|mut text| {
            text.push('\n');
            text
        })
        .map_err(|e| {
            Fault::system(format!("cannot write JSON: {e}"), "this is a bug in runweir; please report it")
        })
}
