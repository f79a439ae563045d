// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The error type of this crate.

use std::fmt;

/// What went wrong, in words, with the system's number where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    pub message: String,
    /// `errno`'s value.
    pub number: Option<i32>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), number: None }
    }

    /// Of a call that returns 0 or a negated number.
    pub(crate) fn check(status: i32, what: &str) -> Result<(), Self> {
        if status >= 0 {
            return Ok(());
        }
        let error = std::io::Error::from_raw_os_error(-status);
        Err(Self { message: format!("{what}: {error}"), number: Some(-status) })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
