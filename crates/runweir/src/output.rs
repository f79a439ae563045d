// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The two streams: results on stdout, everything else on stderr.
//!
//! A reader that closes the pipe early (`runweir components | head`) ends the output silently.

use std::io::{self, ErrorKind, IsTerminal, Write};

pub use weir::text::{columns, json};

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

/// Print a line for the person at the terminal; losing it is not an error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// True where colours help: the stream is a terminal and `NO_COLOR` is unset or empty.
fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Columns of the terminal as the shell exports them; 100 if unknown.
fn width() -> usize {
    let of_terminal = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|c| *c >= 40);
    if io::stderr().is_terminal() { of_terminal().unwrap_or(100) } else { 100 }
}

/// Show diagnostics.
pub fn show(diags: &[Diag]) {
    let (colours, width) = (colours(), width());
    let mut err = io::stderr().lock();
    for (index, diag) in diags.iter().enumerate() {
        if index > 0 {
            let _ = writeln!(err);
        }
        let _ = writeln!(err, "{}", render(diag, colours, width).trim_end());
    }
}

/// Show sentences as warnings.
pub fn warn<'a>(sentences: impl Iterator<Item = &'a String>) {
    show(&sentences.map(Diag::warning).collect::<Vec<_>>());
}
