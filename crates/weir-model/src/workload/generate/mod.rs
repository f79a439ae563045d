// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Named generators: workloads made from a few numbers, `name:key=value,…`.

mod args;
mod hackbench;
mod lu;
mod periodic;
mod periods;
mod pipeline;
mod simple;
mod taskset;
mod team;

use self::args::Args;
use super::Workload;
use super::build::{Builder, Limits};
use crate::error::Error;

/// A generator, for help texts.
#[derive(Clone, Copy, Debug)]
pub struct GeneratorInfo {
    pub name: &'static str,
    pub summary: &'static str,
    pub params: &'static [ParamInfo],
}

/// A parameter of a generator.
#[derive(Clone, Copy, Debug)]
pub struct ParamInfo {
    pub name: &'static str,
    pub default: &'static str,
    pub help: &'static str,
}

/// Shorthand for the tables of parameters.
const fn param(name: &'static str, default: &'static str, help: &'static str) -> ParamInfo {
    ParamInfo { name, default, help }
}

type Make = fn(&Args<'_>, &mut Builder, u64) -> Result<(), Error>;

const GENERATORS: &[(GeneratorInfo, Make)] = &[
    (periodic::BENCH, periodic::bench),
    (simple::BARRIER, simple::barrier),
    (simple::COMPUTE, simple::compute),
    (simple::CYCLIC, simple::cyclic),
    (hackbench::HACKBENCH, hackbench::hackbench),
    (lu::LU, lu::lu),
    (periodic::PERIODIC, periodic::periodic),
    (pipeline::PIPELINE, pipeline::pipeline),
    (team::TEAM, team::team),
    (simple::TOKENS, simple::tokens),
];

/// All generators, by name.
pub fn generators() -> Vec<GeneratorInfo> {
    GENERATORS.iter().map(|g| g.0).collect()
}

/// Make the workload of a call such as `hackbench:groups=10`; `None` where the name before the colon
/// is not a generator.
pub(crate) fn generate(spec: &str, seed: u64, limits: Limits) -> Option<Result<Workload, Error>> {
    let (name, at) = match spec.find(':') {
        Some(i) => (&spec[..i], i + 1),
        None => (spec, spec.len()),
    };
    let (info, make) = GENERATORS.iter().find(|g| g.0.name == name)?;
    let run = || {
        let args = Args::parse(spec, at, info)?;
        let mut builder = Builder::new(spec, limits);
        make(&args, &mut builder, seed)
            .map_err(|e| if e.source.is_some() { e } else { e.in_source("workload", spec) })?;
        builder.finish()
    };
    Some(run())
}

#[cfg(test)]
mod tests;
