// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir config check`: is the service's configuration right for this machine?

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueHint};
use weir::live_config::{LiveConfig, PLACE};

use crate::fault::Result;
use crate::{machine, output};

#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check the configuration of the service, for this machine, without changing anything
    Check(CheckConfigArgs),
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  runweir config check                     /etc/runweir/live.toml
  runweir config check mine.toml

The file, for example (docs/live.md has all keys):
  topology = \"worksteal\"
  with = [\"linux\", \"priority\"]
  metrics = \"127.0.0.1:9100\"

Exit status 2 where it is wrong: systemd then does not start the service.")]
pub struct CheckConfigArgs {
    /// The file; default: /etc/runweir/live.toml
    #[arg(value_name = "FILE.toml", default_value = PLACE, hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

/// Read it, compile what it names.
pub fn config(command: &ConfigCommand) -> Result<ExitCode> {
    let ConfigCommand::Check(args) = command;
    let config = LiveConfig::read(&args.file)?;
    let machine = machine::resolve("host")?;
    let warnings = config.check(&machine.shape)?;
    if !args.quiet {
        output::show(&warnings);
        let what = config.topology.or(config.scenario).unwrap_or_default();
        output::say(&format!("{}: ok: {what} on {}\n", args.file.display(), machine.describe()))?;
    }
    Ok(ExitCode::SUCCESS)
}
