// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Strings in files of our own that programs write.

use std::fmt::Write;

/// A TOML string that stands for `text`.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
