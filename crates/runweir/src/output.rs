// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The two streams: results on stdout, everything else on stderr.
//!
//! A reader that closes the pipe early (`runweir components | head`) ends the output silently.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use weir_report::Screen;

pub use weir::text::json;
pub use weir_report::pairs;

use crate::fault::{Diag, Fault, Result, render};

/// When to use colours: what `--color` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Remember what the command line says.
pub fn set_colour(colour: Colour) {
    let _ = COLOUR.set(colour);
}

/// What the command line says, read before it is understood: its own errors have colours, too.
pub fn colour_asked(args: impl Iterator<Item = OsString>) -> Colour {
    let mut args = args.take_while(|a| a != "--");
    let mut found = Colour::Auto;
    while let Some(arg) = args.next() {
        let Some(arg) = arg.to_str() else { continue };
        let value = match arg.strip_prefix("--color") {
            Some("") => args.next().and_then(|v| v.into_string().ok()),
            Some(rest) => rest.strip_prefix('=').map(str::to_string),
            None => None,
        };
        found = match value.as_deref() {
            Some("always") => Colour::Always,
            Some("never") => Colour::Never,
            Some("auto") => Colour::Auto,
            _ => found,
        };
    }
    found
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|v| !v.is_empty())
}

/// True where colours help: the stream is a terminal and `NO_COLOR` is unset or empty, or the user wants them.
fn colours(terminal: bool) -> bool {
    match COLOUR.get().copied().unwrap_or_default() {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && !is_set("NO_COLOR"),
    }
}

/// Columns of the terminal that stdout is, else of `COLUMNS`, if it is exported.
pub fn terminal_width() -> Option<usize> {
    let exported = || std::env::var("COLUMNS").ok()?.parse().ok();
    width_of(&io::stdout()).or_else(exported).map(|w| w.max(NARROWEST))
}

/// Columns of a stream that is a terminal.
fn width_of(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = stream.is_terminal().then(|| terminal_size::terminal_size_of(stream)).flatten();
    size.map(|(width, _)| usize::from(width.0)).filter(|w| *w > 0)
}

/// Columns below which nothing is laid out.
const NARROWEST: usize = 40;

/// What results are printed on.
pub fn screen() -> Screen {
    let width = terminal_width().unwrap_or(Screen::default().width);
    Screen { width, colour: colours(io::stdout().is_terminal()) }
}

/// Print a text for people, lines broken between words where the terminal ends.
pub fn say(text: &str) -> Result<()> {
    print(&screen().fold(text))
}

/// Print results. A closed pipe is the reader's decision and no error.
pub fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// The same, of a file's bytes.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Fault::system(format!("cannot write the results to stdout: {e}"), "is the disk full?"))
        }
        _ => Ok(()),
    }
}

/// Print a line for the person at the terminal, broken between words where that ends; losing it is not an error.
pub fn note(text: &str) {
    let text = match width_of(&io::stderr()) {
        Some(width) => Screen { width: width.max(NARROWEST), colour: false }.fold(text),
        None => text.to_string(),
    };
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Show diagnostics.
pub fn show(diags: &[Diag]) {
    let width = terminal_width().unwrap_or(100).min(100);
    let colours = colours(io::stderr().is_terminal());
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
