// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The simulator's inputs by the names that users give them: machines, workloads and costs.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use weir_model::{Costs, ErrorKind, Machine, Workload};

use crate::catalogue::{Entry, MACHINES, WORKLOADS};
use crate::fault::{Blame, Diag, Fault, Result};
use crate::input::{self, ReadError};

/// The machine called `spec`.
pub fn resolve(spec: &str) -> Result<Machine> {
    let reader = Reader::default();
    reader.checked(Machine::resolve(spec, &|path| reader.read(path), &pairs(MACHINES)))
}

/// The workload called `spec`.
pub fn workload(spec: &str, seed: u64) -> Result<Workload> {
    known_format(spec)?;
    let reader = Reader::default();
    reader.checked(Workload::resolve(spec, seed, &|path| reader.read(path), &pairs(WORKLOADS)))
}

/// The cost table called `spec`.
pub fn costs(spec: &str) -> Result<Costs> {
    let reader = Reader::default();
    reader.checked(Costs::resolve(spec, &|path| reader.read(path)))
}

/// The catalogue as the simulator takes it.
fn pairs(entries: &[Entry]) -> Vec<(&'static str, &'static str)> {
    entries.iter().map(|e| (e.name, e.text)).collect()
}

/// A workload file says by its ending what it is; a path without a known one is not a generator call.
fn known_format(spec: &str) -> Result<()> {
    let name = spec.split(':').next().unwrap_or(spec);
    let ending = Path::new(name).extension().and_then(|e| e.to_str()).map(str::to_lowercase);
    if !input::is_path(name) || matches!(ending.as_deref(), Some("json" | "xml" | "toml" | "csv")) {
        return Ok(());
    }
    // A folder or a missing file is the nearer cause.
    input::read_text(spec)?;
    Err(Fault::user(
        format!("the ending of `{}` does not say what kind of workload it is", spec.escape_debug()),
        "name it .json (rt-app), .xml (SimSo), .csv (a task set) or .toml (ours: docs/workloads.md)",
    ))
}

/// Reads for the simulator, and keeps the better words that we have for a failure.
#[derive(Default)]
struct Reader {
    failed: RefCell<Option<ReadError>>,
}

impl Reader {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        input::read_text(path).map(String::into_bytes).map_err(|e| {
            let kind = if e.missing { io::ErrorKind::NotFound } else { io::ErrorKind::InvalidInput };
            let error = io::Error::new(kind, e.message.clone());
            *self.failed.borrow_mut() = Some(e);
            error
        })
    }

    /// The result with its error as a diagnostic.
    fn checked<T>(&self, result: weir_model::Result<T>) -> Result<T> {
        result.map_err(|e| match (e.kind, self.failed.take()) {
            (ErrorKind::Io, Some(read)) => read.into(),
            _ => fault(e),
        })
    }
}

/// An error of the simulator: about the user's inputs, or about what a policy did with them.
pub fn fault(e: weir_model::Error) -> Fault {
    let mut diag = Diag::error(&e.message);
    if let Some(help) = &e.help {
        diag = diag.help(help);
    }
    if let Some((name, text)) = &e.source {
        diag = diag.source(name, text);
        if let Some(span) = &e.span {
            diag = diag.label(span.clone(), None);
        }
    }
    let blame = if e.kind == weir_model::ErrorKind::Policy { Blame::System } else { Blame::User };
    Fault { blame, diags: vec![diag] }
}
