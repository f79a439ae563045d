// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir check`: what the checker knows, without a run.

use std::process::ExitCode;

use serde_json::json;

use crate::args::CheckArgs;
use crate::fault::{Blame, Fault, Result};
use crate::{machine, output, topology};

/// Check every topology; all findings are shown before the command ends.
pub fn check(args: &CheckArgs) -> Result<ExitCode> {
    let named = args.machine.as_deref().map(machine::resolve).transpose()?;
    let sets = topology::parse_sets(&args.set)?;
    let mut errors = Vec::new();
    let mut blame = Blame::User;
    let mut rows = Vec::new();
    for name in args.topologies.iter().chain(&args.named) {
        let compiled = topology::source(name).and_then(|source| {
            let machine = match &named {
                Some(machine) => machine.clone(),
                None => topology::default_machine(&source)?,
            };
            Ok((topology::compile_with(&source, &machine.shape, &sets, &args.with)?, machine))
        });
        match compiled {
            Ok((compiled, machine)) => {
                let plan = &compiled.plan;
                let warnings: Vec<_> = compiled.warnings.iter().map(topology::diag).collect();
                if !args.quiet {
                    output::show(&warnings);
                }
                rows.push(json!({
                    "topology": plan.name, "machine": machine.shape.name, "ok": true,
                    "instances": plan.instances.len(), "pipes": plan.pipes.len(), "depth": plan.depth(),
                    "cpus": plan.exits.iter().flatten().count(),
                    "errors": [], "warnings": compiled.warnings.iter().map(finding).collect::<Vec<_>>(),
                }));
                if !args.json && !args.quiet {
                    output::print(&format!(
                        "{}: ok on {}: {} instances, {} pipes, at most {} in a row\n",
                        plan.name,
                        machine.shape.name,
                        plan.instances.len(),
                        plan.pipes.len(),
                        plan.depth()
                    ))?;
                }
            }
            Err(fault) => {
                blame = fault.blame;
                rows.push(json!({
                    "topology": name, "ok": false,
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

/// A warning for machines.
fn finding(found: &weir_lang::Diagnostic) -> serde_json::Value {
    let (line, column) = found.position().unzip();
    json!({ "code": found.code, "message": found.message, "help": found.help, "line": line, "column": column })
}
