// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What can go wrong.

use std::fmt;
use std::io;
use std::path::Path;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The user's program or options.
    Input,
    /// A tool is not installed.
    Missing,
    /// Anything else.
    System,
}

/// An error, with its remedy.
#[derive(Debug)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub help: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into() }
    }

    pub(crate) fn io(what: &str, path: &Path, e: &io::Error) -> Self {
        Self::new(
            ErrorKind::System,
            format!("cannot {what} {}: {e}", path.display()),
            "check space and permissions there",
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Error {}
