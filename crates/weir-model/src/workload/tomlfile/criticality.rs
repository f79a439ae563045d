// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The keys `criticality` and `wcet_hi` of a task.

use super::table::Table;
use crate::error::Error;
use crate::workload::{Criticality, Timing};

/// The level of a periodic task, if it has one.
pub(super) fn read(table: &Table<'_>, timing: Option<Timing>) -> Result<Option<Criticality>, Error> {
    let wcet_hi = table.ns("wcet_hi")?;
    let level = table.string("criticality", "\"hi\"")?;
    if wcet_hi.is_some() && level != Some("hi") {
        return Err(table.wrong(
            "wcet_hi",
            "`wcet_hi` is for tasks of high criticality",
            "add `criticality = \"hi\"`, or remove it",
        ));
    }
    let Some(timing) = timing else { return Ok(None) };
    match level {
        None => Ok(None),
        Some("lo") => Ok(Some(Criticality::Lo)),
        Some("hi") => {
            let wcet_ns = wcet_hi.unwrap_or(timing.wcet_ns);
            if wcet_ns < timing.wcet_ns {
                return Err(table.wrong(
                    "wcet_hi",
                    "`wcet_hi` is shorter than `wcet`, or than the longest `run`",
                    "raise it: at the high level the budget must be at least the expected one",
                ));
            }
            Ok(Some(Criticality::Hi { wcet_ns }))
        }
        Some(other) => Err(table.wrong(
            "criticality",
            format!("no level of criticality `{other}`"),
            "write \"lo\" or \"hi\"",
        )),
    }
}
