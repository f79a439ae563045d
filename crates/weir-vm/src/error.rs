// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Errors on the way into the virtual machine and back.

use std::fmt;

/// Whose fault, and which part of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Programs are missing on this computer; the help lists the packages.
    Missing,
    /// The user's request is impossible: a file does not exist, or QEMU cannot have such a machine.
    Input,
    /// No usable kernel could be found or fetched.
    Kernel,
    /// QEMU did not start, or the guest died.
    Guest,
    /// The guest ran longer than allowed.
    Timeout,
    /// The user ended it.
    Interrupted,
    /// The host's file system or processes.
    Io,
}

/// One sentence, its remedy, and what the guest's console said last where that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// One sentence without a full stop: what is wrong.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
    /// Last lines of a log with the log's name, where they explain the failure.
    pub log: Option<(String, String)>,
}

/// What fallible functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error without help; add it with [`Error::help`].
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: None, log: None }
    }

    /// Add the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Add the end of a log.
    #[must_use]
    pub fn log(mut self, name: &str, text: &str) -> Self {
        self.log =
            Some((name.into(), text.trim_end().into())).filter(|(_, t): &(String, String)| !t.is_empty());
        self
    }

    /// A failed operation on a file of the host.
    pub fn io(what: &str, path: &std::path::Path, e: &std::io::Error) -> Self {
        let text = e.to_string();
        let reason = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
        let help = match e.kind() {
            std::io::ErrorKind::StorageFull => "free some space on that file system",
            std::io::ErrorKind::PermissionDenied => "check the permissions of the folder",
            std::io::ErrorKind::NotFound => "check the path",
            _ => "check the file system",
        };
        Self::new(ErrorKind::Io, format!("cannot {what} `{}`: {reason}", path.display())).help(help)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, "\nhelp: {help}")?;
        }
        if let Some((name, text)) = &self.log {
            write!(f, "\n{name}:")?;
            for line in text.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
