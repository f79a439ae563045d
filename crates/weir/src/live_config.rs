// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `/etc/runweir/live.toml`: what a machine's scheduler is, for the service that starts it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use weir_core::MachineShape;

use crate::fault::{Diag, Fault, Result};
use crate::input;
use crate::scenario;
use crate::topology;
use crate::units::parse_duration;

/// Where the service looks for it.
pub const PLACE: &str = "/etc/runweir/live.toml";
const HELP: &str = "keys: topology, scenario, set, with, only, socket, metrics, watchdog (docs/live.md)";

/// The file. What is left out is as on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveConfig {
    /// A name of the catalogue or a `.weir` file, which is relative to this file.
    pub topology: Option<String>,
    /// Changes by time and by rule.
    pub scenario: Option<String>,
    /// Parameters: `component.param=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Topologies to which `switch` can change.
    #[serde(default)]
    pub with: Vec<String>,
    /// Load only what these need.
    #[serde(default)]
    pub only: bool,
    /// Socket of `switch`, `status` and `top`.
    pub socket: Option<PathBuf>,
    /// Address of the metrics: `127.0.0.1:9100`.
    pub metrics: Option<SocketAddr>,
    /// Detach when a task has waited this long.
    #[serde(default, deserialize_with = "time")]
    pub watchdog: Option<u64>,
}

fn time<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

impl LiveConfig {
    /// Read a file.
    ///
    /// # Errors
    /// The user's: it cannot be read, a key is unknown, neither topology nor scenario is named.
    pub fn read(file: &Path) -> Result<Self> {
        let shown = file.to_string_lossy();
        let text = input::read_text(file)?;
        let mut config: Self = toml::from_str(&text).map_err(|e| {
            let diag = Diag::error(e.message().to_string()).help(HELP).source(&shown, &text);
            Fault::from(match e.span() {
                Some(span) => diag.label(span, None),
                None => diag,
            })
        })?;
        if config.topology.is_none() && config.scenario.is_none() {
            return Err(Fault::user(
                format!("{shown}: no scheduler is named"),
                "write topology = \"decentral\", or scenario = \"night.toml\"",
            ));
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let beside = |name: &mut String| {
            if input::is_path(name) && Path::new(name.as_str()).is_relative() {
                *name = folder.join(&*name).to_string_lossy().into_owned();
            }
        };
        config.topology.iter_mut().chain(&mut config.scenario).chain(&mut config.with).for_each(beside);
        Ok(config)
    }

    /// Compile all that it names for a machine, as `live` would; gives the warnings.
    ///
    /// # Errors
    /// The user's: a name is wrong, or a topology does not fit the machine.
    pub fn check(&self, machine: &MachineShape) -> Result<Vec<Diag>> {
        let sets = topology::parse_sets(&self.set)?;
        let found = self.scenario.as_deref().map(scenario::find).transpose()?;
        let suggested = || found.as_ref().and_then(|f| f.file.topology.as_ref().map(|t| f.beside(t)));
        let first = self.topology.clone().or_else(suggested).ok_or_else(|| {
            Fault::user(
                "the scenario names no topology",
                "write topology = \"decentral\" into this file or into the scenario",
            )
        })?;
        let compiled = topology::compile(&topology::source(&first)?, machine, &sets)?;
        let mut warnings: Vec<Diag> = compiled.warnings.iter().map(topology::diag).collect();
        for name in &self.with {
            let also = topology::compile(&topology::source(name)?, machine, &[])?;
            warnings.extend(also.warnings.iter().map(topology::diag));
        }
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LiveConfig> {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("live.toml");
        std::fs::write(&file, text).expect("writable");
        std::fs::write(dir.path().join("own.weir"), "entry -> fifo -> cpus;").expect("writable");
        let config = LiveConfig::read(&file)?;
        config.check(&MachineShape::flat(2)).map(|_| config)
    }

    #[test]
    fn a_file_is_checked_as_a_whole() {
        let config = read(
            "topology = \"own.weir\"\nwith = [\"decentral\"]\nwatchdog = \"3s\"\nmetrics = \"127.0.0.1:9100\"\n",
        );
        assert_eq!(config.expect("right").watchdog, Some(3_000_000_000));
        for (text, words) in [
            ("", "no scheduler is named"),
            ("topolgy = \"decentral\"", "unknown field `topolgy`"),
            ("topology = \"decentrall\"", "no topology called `decentrall`"),
            ("topology = \"decentral\"\nwith = [\"nothing\"]", "no topology called `nothing`"),
            ("topology = \"decentral\"\nwatchdog = \"soon\"", "not a time"),
            ("topology = \"decentral\"\nset = [\"round_robin.slce=1ms\"]", "slce"),
            ("topology = \"decentral\"\nmetrics = \"here\"", "metrics"),
        ] {
            let fault = read(text).expect_err(text);
            let shown: String = fault.diags.iter().map(|d| crate::fault::render(d, false, 100)).collect();
            assert!(shown.contains(words), "{text}: {shown}");
            assert!(fault.diags[0].remedy().is_some(), "{text}");
        }
    }
}
