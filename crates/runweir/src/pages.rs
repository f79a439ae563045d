// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Completion scripts and man pages, made from the argument definitions.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Cli;
use crate::fault::{Fault, Result};
use crate::outdir::replace_file;
use crate::output::print;

/// `runweir completions SHELL`.
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "runweir", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// `runweir man DIR`: `runweir.1` and one page for each command.
pub fn man(dir: &Path) -> Result<ExitCode> {
    let fail = |e: std::io::Error| {
        Fault::user(format!("cannot write into {}: {e}", dir.display()), "name a folder that you may write to")
    };
    fs::create_dir_all(dir).map_err(fail)?;
    let mut top = Cli::command().disable_help_subcommand(true);
    top.build();
    page(dir, top.clone(), "runweir")?;
    for sub in top.get_subcommands().filter(|s| !s.is_hide_set()) {
        let name = format!("runweir-{}", sub.get_name());
        page(dir, sub.clone().version(env!("CARGO_PKG_VERSION")), &name)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(dir: &Path, command: clap::Command, name: &str) -> Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .title(name)
        .date("")
        .source(format!("runweir {}", env!("CARGO_PKG_VERSION")))
        .render(&mut text)
        .map_err(|e| Fault::system(format!("cannot make the page {name}.1: {e}"), "this is a bug in runweir; please report it"))?;
    replace_file(&dir.join(format!("{name}.1")), &text)
}
