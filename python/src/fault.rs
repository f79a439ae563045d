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

/// The words of the command line as those of Python: `--workload hackbench` is `workload="hackbench"`, `runweir topologies` is
/// `runweir.topologies()`.
fn python(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, option) = rest.split_at(at);
        out.push_str(before);
        let name: String = option[2..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        let name = name.trim_end_matches('-');
        let word_begins = before.chars().last().is_none_or(|c| !c.is_alphanumeric() && c != '-');
        if name.is_empty() || !word_begins {
            out.push_str("--");
            rest = &option[2..];
            continue;
        }
        rest = &option[2 + name.len()..];
        out.push_str(&name.replace('-', "_"));
        out.push('=');
        let value = rest.strip_prefix(' ').map_or("", |r| {
            let end = r.find(|c: char| c.is_whitespace() || matches!(c, '`' | ';' | ')')).unwrap_or(r.len());
            let word = r[..end].trim_end_matches([',', '.']);
            if word.contains(['=', ':', '.', '/']) || word.contains(|c: char| c.is_ascii_digit()) { word } else { "" }
        });
        if !value.is_empty() {
            out.push_str(&format!("\"{value}\""));
            rest = &rest[1 + value.len()..];
        }
    }
    out.push_str(rest);
    for list in ["topologies", "machines", "workloads"] {
        out = out.replace(&format!("`runweir {list}`"), &format!("`runweir.{list}()`"));
    }
    out
}

/// A fault as the exception that it is.
pub fn raised(fault: &Fault) -> PyErr {
    let text: Vec<String> = fault.diags.iter().map(|d| render(d, false, WIDTH)).collect();
    let text = python(text.join("").trim_end());
    match fault.blame {
        Blame::User => InputError::new_err(text),
        Blame::System => SystemFault::new_err(text),
    }
}

#[cfg(test)]
mod tests {
    use super::python;

    #[test]
    fn options_become_arguments() {
        for (from, to) in [
            ("add --workload, for example --workload hackbench:groups=10", "add workload=, for example workload=\"hackbench:groups=10\""),
            ("`runweir topologies` lists them all", "`runweir.topologies()` lists them all"),
            ("see --allow-faults", "see allow_faults="),
            ("a -- b, x--y", "a -- b, x--y"),
            ("for example --duration 1s", "for example duration=\"1s\""),
        ] {
            assert_eq!(python(from), to);
        }
    }
}
