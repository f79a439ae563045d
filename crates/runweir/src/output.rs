// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The two streams: results on stdout, everything else on stderr.
//!
//! A reader that closes the pipe early (`runweir components | head`) ends the output silently.

use std::io::{self, ErrorKind, Write};

use crate::fault::{Diag, Fault, Result, render};

/// Print results. A closed pipe is the reader's decision and no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Fault::system(format!("cannot write the results to stdout: {e}"), "is the disk full?"))
        }
        _ => Ok(()),
    }
}

/// Print a line for the person at the terminal; losing it is no error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Show diagnostics.
pub fn show(diags: &[Diag]) {
    let mut err = io::stderr().lock();
    for diag in diags {
        let _ = write!(err, "{}", render(diag));
    }
}

/// Pretty JSON with a final newline.
pub fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string_pretty(value).map(|mut text| {
        text.push('\n');
        text
    }).map_err(|e| Fault::system(format!("cannot write JSON: {e}"), "this is a bug in runweir; please report it"))
}

/// Lines of `name  description`, descriptions aligned; for lists.
pub fn columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, text)| {
            let pad = " ".repeat(width - name.chars().count());
            format!("  {name}{pad}  {text}").trim_end().to_string() + "\n"
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let rows = [("a".to_string(), "one".to_string()), ("bcd".to_string(), String::new())];
        assert_eq!(columns(&rows), "  a    one\n  bcd\n");
    }
}
