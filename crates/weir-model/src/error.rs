// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The one error type of this crate: what is wrong, where in which text, and how to fix it.
//!
//! A message names the fault; the remedy is in `help`. If the fault is in a text, the error keeps
//! that text and the byte range of the fault, so that [`Error`]'s `Display` can show the line, and
//! a command line can draw its own excerpt from [`Error::source`] and [`Error::span`].

use std::fmt;
use std::ops::Range;

use weir_text::excerpt;
pub use weir_text::suggest::{did_you_mean, nearest};

/// Which part of the input (or of the run) is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A machine file, preset or this host's description.
    Machine,
    /// A workload file or generator call.
    Workload,
    /// A cost table.
    Costs,
    /// The specification of a sweep.
    Sweep,
    /// A scenario.
    Scenario,
    /// An interface file.
    Interface,
    /// A file could not be read.
    Io,
    /// The inputs are fine one by one, but this run cannot be made of them, or it broke off.
    Run,
    /// The scheduling policy does something with which no machine could continue.
    Policy,
}

/// An error with its remedy and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// One sentence without a full stop: what is wrong.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
    /// Name and full text of the source at fault.
    pub source: Option<(String, String)>,
    /// Bytes of the source text that are at fault; may be empty, at a point.
    pub span: Option<Range<usize>>,
}

/// What fallible functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without help or place; add them with [`Error::help`] and [`Error::at`].
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: None, source: None, span: None }
    }

    /// Wrong machine.
    pub fn machine(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Machine, message)
    }

    /// Wrong workload.
    pub fn workload(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Workload, message)
    }

    /// Wrong cost table.
    pub fn costs(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Costs, message)
    }

    /// A run that cannot be made.
    pub fn run(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Run, message)
    }

    /// A policy with which a run cannot continue.
    pub fn policy(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Policy, message)
    }

    /// A file that could not be read.
    pub fn io(path: &str, what: &str, error: &std::io::Error) -> Self {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path; it is taken relative to the current directory",
            std::io::ErrorKind::PermissionDenied => "make the file readable for this user",
            _ => "check that this is a readable, regular file",
        };
        Self::new(ErrorKind::Io, format!("cannot read the {what} `{path}`: {error}")).help(help)
    }

    /// Add the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Add the remedy where there is one.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<impl Into<String>>) -> Self {
        if let Some(help) = help {
            self.help = Some(help.into());
        }
        self
    }

    /// Add the place: the source's name and text, and the bytes at fault. The range is cut to the
    /// text and widened to character boundaries, so that any range is safe to pass.
    #[must_use]
    pub fn at(mut self, name: &str, text: &str, span: Range<usize>) -> Self {
        let mut start = span.start.min(text.len());
        let mut end = span.end.clamp(start, text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        self.source = Some((name.to_string(), text.to_string()));
        self.span = Some(start..end);
        self
    }

    /// Add the source without a place in it.
    #[must_use]
    pub fn in_source(mut self, name: &str, text: &str) -> Self {
        self.source = Some((name.to_string(), text.to_string()));
        self
    }

    /// Line and column of the span's start, both from 1; the column counts characters.
    pub fn position(&self) -> Option<(usize, usize)> {
        let (_, text) = self.source.as_ref()?;
        Some(line_column(text, self.span.as_ref()?.start))
    }
}

pub use weir_text::excerpt::line_column;
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &self.span) {
            (Some((name, text)), Some(span)) => {
                let (line, column) = line_column(text, span.start);
                write!(f, "{name}:{line}:{column}: {}", self.message)?;
                excerpt::write(f, text, span, "", (0, 0))?;
            }
            (Some((name, _)), None) => write!(f, "{name}: {}", self.message)?,
            _ => f.write_str(&self.message)?,
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_place_excerpt_and_help() {
        let e = Error::machine("unknown key `smpt`").help("did you mean `smt`?").at(
            "m.toml",
            "a = 1\nsmpt = 2\n",
            6..10,
        );
        assert_eq!(
            e.to_string(),
            "m.toml:2:1: unknown key `smpt`\n    2 | smpt = 2\n      | ^^^^\n  help: did you mean `smt`?"
        );
        assert_eq!(e.position(), Some((2, 1)));
    }
}
