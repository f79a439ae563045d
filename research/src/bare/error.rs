// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What can go wrong, and how to mend it.

use std::fmt;

/// Why a machine did not run.
#[derive(Debug)]
pub struct Error {
    /// The input is wrong, and not the system.
    pub user: bool,
    pub message: String,
    pub help: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn user(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { user: true, message: message.into(), help: help.into() }
    }

    pub(crate) fn system(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { user: false, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

impl std::error::Error for Error {}
