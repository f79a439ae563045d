// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What can go wrong between the command line and the kernel.

use std::fmt;

use crate::protocol::Finding;

/// Whose fault, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Capabilities are missing.
    Permission,
    /// The kernel has no sched_ext, or one that does not fit.
    Kernel,
    /// Another scheduler runs, or we run already.
    InCharge,
    /// Not now: the same may succeed in a moment.
    Busy,
    /// The user's request makes no sense: a topology, a machine, a request.
    Input,
    /// No scheduler listens at the socket.
    NotAttached,
    /// The program's own object, or the kernel's answer to it: a bug here or there.
    Internal,
    /// Files, sockets, memory.
    Io,
}

/// One sentence and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// What is wrong, without a full stop.
    pub message: String,
    /// How to mend it.
    pub help: String,
    /// The compiler's findings in a topology, if that is the cause.
    pub findings: Vec<Finding>,
}

/// The result type of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into(), findings: Vec::new() }
    }

    /// A failed operation of the operating system.
    pub fn io(doing: &str, e: &std::io::Error, help: impl Into<String>) -> Self {
        let text = e.to_string();
        let reason = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
        Self::new(ErrorKind::Io, format!("cannot {doing}: {reason}"), help)
    }

    /// Our mistake.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message, "this is a bug in runweir; please report it")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  help: {}", self.message, self.help)
    }
}

impl std::error::Error for Error {}
