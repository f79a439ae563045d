// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A compiled topology.

use std::path::Path;

use weir_core::MachineShape;

use crate::{Error, Result};

/// A flat plan: a topology for a number of CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    bytes: Vec<u8>,
}

impl Plan {
    /// What `runweir compile` wrote. It is checked when a runtime takes it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|e| Error::new(format!("cannot read the plan `{}`: {e}", path.display())))?;
        Ok(Self { bytes })
    }

    /// The same, in memory.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into() }
    }

    /// Compile the text of a topology for `cpus` equal CPUs; `name` stands in errors.
    ///
    /// # Errors
    /// Its errors, with their places.
    pub fn compile(name: &str, text: &str, cpus: u32) -> Result<Self> {
        Self::for_shape(name, text, &MachineShape::flat(cpus))
    }

    /// The same, with `foreign` CPUs behind them, by the names of their instruction sets in the topology
    /// ([`foreign`](crate::foreign)): `[("accel", 2)]`.
    ///
    /// # Errors
    /// Likewise.
    pub fn compile_with(name: &str, text: &str, cpus: u32, foreign: &[(&str, u32)]) -> Result<Self> {
        let mut shape = MachineShape::flat(cpus + foreign.iter().map(|f| f.1).sum::<u32>());
        let mut first = cpus as usize;
        for (isa, n) in foreign {
            let at = shape.isas.iter().position(|i| i == isa).unwrap_or(shape.isas.len());
            if at == shape.isas.len() {
                shape.isas.push((*isa).into());
            }
            for cpu in &mut shape.cpus[first..first + *n as usize] {
                cpu.isa = at as u16;
            }
            first += *n as usize;
        }
        Self::for_shape(name, text, &shape)
    }

    fn for_shape(name: &str, text: &str, shape: &MachineShape) -> Result<Self> {
        let source = weir_lang::Source { name: name.into(), text: text.into() };
        let compiled = weir_lang::compile(&source, &weir_lang::NoIncludes, weir_core::catalog(), shape, &[])
            .map_err(|all| {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                Error::new(all.join("\n"))
            })?;
        let bytes = weir_core::planfile::flat(&compiled.plan, "")
            .map_err(|e| Error::new(format!("{name}: it cannot become a flat plan: {e}")))?;
        Ok(Self { bytes })
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
