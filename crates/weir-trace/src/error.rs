// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What can be wrong with a recording, and how to mend it.

use std::fmt;

/// Why a recording cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The format is none that is known here.
    Foreign,
    /// The format is known, the contents contradict it or end early.
    Broken,
    /// The format is known, but this variant of it is not supported.
    Unsupported,
    /// All is well, but what is needed was not recorded.
    Lacking,
}

/// An error with its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// One sentence without a full stop: what is wrong, and where in the file.
    pub message: String,
    /// How to mend it.
    pub help: String,
}

/// What fallible functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into() }
    }

    /// The file ends early or contradicts itself.
    pub(crate) fn broken(message: impl Into<String>) -> Self {
        Self::new(
            ErrorKind::Broken,
            message,
            "the file is damaged or was not written to its end: record again, and copy it in binary mode",
        )
    }

    pub(crate) fn unsupported(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message, help)
    }

    pub(crate) fn lacking(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Lacking, message, help)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Error {}
