// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Faults as exceptions: their text has place, cause and remedy.

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use weir::fault::{Blame, Fault, render};

create_exception!(
    runweir,
    InputError,
    PyValueError,
    "What was asked for is wrong; the text says where, why, and how to mend it."
);
create_exception!(
    runweir,
    SystemFault,
    PyRuntimeError,
    "The system is in the way: a full disk, a component that crashed."
);

/// Columns of a diagnostic.
const WIDTH: usize = 100;

/// A fault as the exception that it is.
pub fn raised(fault: &Fault) -> PyErr {
    let text: Vec<String> = fault.diags.iter().map(|d| render(d, false, WIDTH)).collect();
    let text = text.join("").trim_end().to_string();
    match fault.blame {
        Blame::User => InputError::new_err(text),
        Blame::System => SystemFault::new_err(text),
    }
}
