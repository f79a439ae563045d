// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir component build`, and `--load`: components that the program did not come with (docs/components.md).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueHint};
use weir_core::{HEADERS, loaded};

use crate::fault::{Fault, Result};
use crate::outdir::replace_file;
use crate::output::{note, print};

/// What may be done with a component of one's own.
#[derive(Debug, Subcommand)]
pub enum ComponentCommand {
    /// Compile a component's C file to a shared object for --load and for the scenario verb `load`
    Build(BuildArgs),
    /// Say whether a shared object could be loaded, and what it holds
    Check {
        /// What `component build` made
        #[arg(value_name = "FILE.so", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir component build mine.c -o mine.so
  runweir --load mine.so run -t my.weir -m smp-8 -w hackbench:groups=10

The C compiler is `cc`, or what the environment variable CC says.")]
pub struct BuildArgs {
    /// The component's file; its name is the component's
    #[arg(value_name = "FILE.c", value_hint = ValueHint::FilePath)]
    pub source: PathBuf,
    /// Shared object to write; FILE.so if left out
    #[arg(short, long, value_name = "FILE.so", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// Load what the command line names, before anything else is done.
pub fn load_all(files: &[PathBuf]) -> Result<()> {
    files.iter().try_for_each(|file| load(file).map(|_| ()))
}

fn load(file: &Path) -> Result<weir_core::ComponentInfo> {
    loaded::load(file).map_err(|e| Fault::user(e.message, e.help))
}

/// `runweir component`.
pub fn component(command: &ComponentCommand) -> Result<ExitCode> {
    match command {
        ComponentCommand::Build(args) => build(args),
        ComponentCommand::Check { file } => {
            let info = load(file)?;
            print(&format!("{}: {}\n", info.name, info.summary))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Generate the unit, compile it, and look whether what came out can be loaded.
fn build(args: &BuildArgs) -> Result<ExitCode> {
    let shown = args.source.display();
    let io = |what: &str, e: std::io::Error| Fault::system(format!("cannot {what}: {e}"), "check the folder");
    let name = args.source.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let word = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !word
        || !name.starts_with(|c: char| c.is_ascii_lowercase())
        || args.source.extension().is_none_or(|e| e != "c")
    {
        return Err(Fault::user(
            format!("`{shown}` is no name of a component's file"),
            "call it like the component: a lower-case word, and .c",
        ));
    }
    std::fs::metadata(&args.source).map_err(|e| {
        Fault::user(format!("cannot read `{shown}`: {}", crate::input::reason(&e)), "check the path")
    })?;
    let folder = tempfile::tempdir().map_err(|e| io("make a temporary folder", e))?;
    let object = folder.path().join("plugin.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let done =
        weir_glue::plugin::build(&args.source, HEADERS, folder.path(), &object, &compiler).map_err(|e| {
            let help = "install gcc or clang, or set CC";
            Fault::system(format!("cannot compile with `{compiler}`: {}", crate::input::reason(&e)), help)
        })?;
    if !done.said.is_empty() {
        note(&done.said);
    }
    if !done.ok {
        return Err(Fault::user(format!("`{shown}` does not compile"), "see the compiler's words above"));
    }
    let bytes = std::fs::read(&object).map_err(|e| io("read the compiled object", e))?;
    let output = args.output.clone().unwrap_or_else(|| args.source.with_extension("so"));
    loaded::inspect(&bytes)
        .map_err(|e| Fault::user(format!("`{shown}` could not be loaded: {}", e.message), e.help))?;
    replace_file(&output, &bytes)?;
    note(&format!("written: {}", output.display()));
    Ok(ExitCode::SUCCESS)
}
