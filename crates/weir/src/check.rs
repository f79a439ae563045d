// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Checks of topologies without a run.

use weir_lang::{Diagnostic, When};

use crate::fault::{Fault, Result};
use crate::{machine, topology};

/// The inputs of the check.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// Catalogue names, `.weir` files, or `-` for standard input.
    pub topologies: Vec<String>,
    /// `None`: the machine in the first comment of the file, else `smp-8`.
    pub machine: Option<String>,
    /// Parameters, each as `component.param=value`.
    pub set: Vec<String>,
    /// Packages to merge, each as `package@port`.
    pub with: Vec<String>,
}

/// A topology that has been checked.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// As the caller named it.
    pub asked: String,
    /// Its properties, or its errors.
    pub outcome: Result<Facts>,
}

/// A topology without errors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Facts {
    pub topology: String,
    /// The machine that it was checked for.
    pub machine: String,
    pub instances: usize,
    pub pipes: usize,
    /// Most pipes in a row.
    pub depth: u32,
    /// CPUs that it serves.
    pub cpus: usize,
    /// Its conditions, and the case that the other numbers describe.
    pub whens: Vec<When>,
    pub warnings: Vec<Diagnostic>,
}

/// Check every topology; each has its own outcome.
///
/// # Errors
/// The user's: the machine is unknown, or a parameter has the wrong form. Errors in a topology are in its outcome.
pub fn check(options: &CheckOptions) -> Result<Vec<Checked>> {
    let named = options.machine.as_deref().map(machine::resolve).transpose()?;
    let sets = topology::parse_sets(&options.set)?;
    let one = |asked: &String| {
        let outcome = topology::source(asked).and_then(|source| {
            let machine = match &named {
                Some(machine) => machine.clone(),
                None => topology::default_machine(&source)?,
            };
            let compiled = topology::compile_with(&source, &machine.shape, &sets, &options.with)?;
            let plan = &compiled.plan;
            Ok::<_, Fault>(Facts {
                topology: plan.name.clone(),
                machine: machine.shape.name.clone(),
                instances: plan.instances.len(),
                pipes: plan.pipes.len(),
                depth: plan.depth(),
                cpus: plan.exits.iter().flatten().count(),
                whens: compiled.whens,
                warnings: compiled.warnings,
            })
        });
        Checked { asked: asked.clone(), outcome }
    };
    Ok(options.topologies.iter().map(one).collect())
}
