// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir components | topologies | machines | workloads`: what there is to choose from.

use std::process::ExitCode;

use serde::Serialize;

use crate::args::ListArgs;
use crate::catalogue::{self, TOPOLOGIES, unknown};
use crate::fault::Result;
use crate::output::{columns, json, print};

/// A line of a list.
#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    summary: String,
}

/// `runweir topologies [NAME]`.
pub fn topologies(args: &ListArgs) -> Result<ExitCode> {
    if let Some(name) = &args.name {
        let names: Vec<&str> = TOPOLOGIES.iter().map(|e| e.name).collect();
        let Some(entry) = catalogue::find(TOPOLOGIES, name) else {
            return Err(unknown("topology", "topologies", name, &names));
        };
        print(entry.text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Row> = TOPOLOGIES.iter().map(|e| Row { name: e.name, summary: e.summary() }).collect();
    if args.json {
        print(&json(&rows)?)?;
    } else {
        print(&columns(&rows.into_iter().map(|r| (r.name.to_string(), r.summary)).collect::<Vec<_>>()))?;
    }
    Ok(ExitCode::SUCCESS)
}
