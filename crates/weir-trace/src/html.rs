// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Android's systrace: ftrace's text within an HTML page, behind the program that shows it.

use crate::error::{Error, ErrorKind, Result};

/// How an element with a part of the trace begins, up to the end of the attribute.
const OPEN: &str = "<script class=\"trace-data\"";
const CLOSE: &str = "</script>";

pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"]
        .iter()
        .any(|mark| start.get(..mark.len()).is_some_and(|s| s.eq_ignore_ascii_case(mark)))
}

/// The parts with the trace, one after the other.
pub(crate) fn trace(bytes: &[u8]) -> Result<String> {
    let page = String::from_utf8_lossy(bytes);
    let mut rest = &*page;
    let (mut text, mut parts) = (String::new(), 0);
    while let Some(at) = rest.find(OPEN) {
        rest = &rest[at + OPEN.len()..];
        let Some(begin) = rest.find('>') else { break };
        rest = &rest[begin + 1..];
        let end = rest.find(CLOSE).ok_or_else(|| Error::broken("the HTML page ends within its trace"))?;
        text.push_str(&rest[..end]);
        text.push('\n');
        rest = &rest[end..];
        parts += 1;
    }
    if parts > 0 {
        return Ok(text);
    }
    Err(Error::new(
        ErrorKind::Foreign,
        format!("the file is an HTML page without an element {OPEN}>, in which systrace keeps its events"),
        "save the recording itself: systrace --json, atrace, or a Perfetto trace",
    ))
}
