// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir check`: what the checker knows, without a run.

use std::process::ExitCode;

use serde_json::json;
use weir::units::plural;
use weir::{CheckOptions, topology};

use crate::args::CheckArgs;
use crate::fault::{Blame, Fault, Result};
use crate::output;

/// Check every topology; all findings are shown before the command ends.
pub fn check(args: &CheckArgs) -> Result<ExitCode> {
    let checked = weir::check(&CheckOptions {
        topologies: args.topologies.iter().chain(&args.named).cloned().collect(),
        machine: args.machine.clone(),
        set: args.set.clone(),
        with: args.with.clone(),
    })?;
    let mut errors = Vec::new();
    let mut blame = Blame::User;
    let mut rows = Vec::new();
    for one in checked {
        match one.outcome {
            Ok(facts) => {
                if !args.quiet {
                    output::show(&facts.warnings.iter().map(topology::diag).collect::<Vec<_>>());
                }
                rows.push(json!({
                    "topology": facts.topology, "machine": facts.machine, "ok": true,
                    "instances": facts.instances, "pipes": facts.pipes, "depth": facts.depth,
                    "cpus": facts.cpus, "whens": facts.whens.iter().map(when).collect::<Vec<_>>(),
                    "errors": [], "warnings": facts.warnings.iter().map(finding).collect::<Vec<_>>(),
                }));
                if !args.json && !args.quiet {
                    output::print(&format!(
                        "{}: ok on {}: {}, {}, at most {} in a row\n",
                        facts.topology,
                        facts.machine,
                        plural(facts.instances as u64, "instance"),
                        plural(facts.pipes as u64, "pipe"),
                        facts.depth
                    ))?;
                    for w in &facts.whens {
                        let case = |(i, c): (usize, &Option<String>)| {
                            let shown = c.as_ref().map_or("otherwise".to_string(), |c| format!("when {c}"));
                            format!("{i} {shown}{}", if i == w.case { " (these numbers)" } else { "" })
                        };
                        let cases = w.cases.iter().enumerate().map(case).collect::<Vec<_>>().join(", ");
                        output::print(&format!("  {}: cases {cases}; each of them is sound\n", w.param))?;
                    }
                }
            }
            Err(fault) => {
                blame = fault.blame;
                rows.push(json!({
                    "topology": one.asked, "ok": false,
                    "errors": fault.diags.iter().map(ToString::to_string).collect::<Vec<_>>(),
                }));
                errors.extend(fault.diags);
            }
        }
    }
    if args.json {
        output::print(&output::json(&rows)?)?;
    }
    if errors.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Fault { blame, diags: errors }) }
}

/// What a topology depends on, for machines.
fn when(w: &weir_lang::When) -> serde_json::Value {
    json!({ "param": w.param, "cases": w.cases, "case": w.case })
}

/// A warning for machines.
fn finding(found: &weir_lang::Diagnostic) -> serde_json::Value {
    let (line, column) = found.position().unzip();
    json!({ "code": found.code, "message": found.message, "help": found.help, "line": line, "column": column })
}
