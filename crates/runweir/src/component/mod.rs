// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir component …`, and `--load`: components that the program did not come with (docs/components.md).

mod build;
mod new;
#[cfg(feature = "testbench")]
mod test;
#[cfg(not(feature = "testbench"))]
mod test {
    pub use crate::left_out::{Args as TestArgs, run as test};
}

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Subcommand, ValueHint};
use weir_core::loaded;

use crate::fault::{Fault, Result};
use crate::output::print;

pub use build::BuildArgs;
pub use new::NewArgs;
pub use test::TestArgs;

/// What may be done with a component of one's own.
#[derive(Debug, Subcommand)]
pub enum ComponentCommand {
    /// Write a working component with comments and a test, as a starting point
    New(NewArgs),
    /// Compile a component's C file to a shared object for --load and for the scenario verb `load`
    Build(BuildArgs),
    /// Build a component and test it: its .wtest files, and the law for all components
    Test(TestArgs),
    /// Check whether a shared object can be loaded, and show its contents
    Check {
        /// Shared object from `component build`
        #[arg(value_name = "FILE.so", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// What --load names.
static NAMED: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Files may load what they name.
static ALL: OnceLock<()> = OnceLock::new();

/// The objects that --load names.
#[cfg(feature = "vm")]
pub fn named() -> &'static [PathBuf] {
    NAMED.get().map_or(&[], Vec::as_slice)
}

/// Load what the command line names, before anything else is done. One that goes into the kernel is first there.
/// Files that the user gives may load the same objects, and with `all` what they name.
pub fn load_all(files: &[PathBuf], all: bool) -> Result<()> {
    if all {
        weir::code::allow_all();
        ALL.get_or_init(|| ());
    }
    files.iter().for_each(|f| weir::code::allow(f));
    let (first, rest): (Vec<_>, Vec<_>) = files.iter().partition(|f| loaded::has_kernel_part(f));
    first.into_iter().chain(rest).try_for_each(|file| load(file).map(|_| ()))?;
    NAMED.get_or_init(|| files.to_vec());
    Ok(())
}

/// Options for another call of the program with the same components.
pub fn loaded() -> Vec<String> {
    let absolute = |f: &PathBuf| std::path::absolute(f).unwrap_or_else(|_| f.clone());
    let files = NAMED.get().map_or(&[][..], Vec::as_slice);
    let all = ALL.get().map(|()| "--allow-code".to_string());
    let named = files.iter().flat_map(|f| ["--load".into(), absolute(f).to_string_lossy().into_owned()]);
    all.into_iter().chain(named).collect()
}

fn load(file: &Path) -> Result<weir_core::ComponentInfo> {
    loaded::load(file).map_err(|e| Fault::user(e.message, e.help))
}

/// `runweir component`.
pub fn component(command: &ComponentCommand) -> Result<ExitCode> {
    match command {
        ComponentCommand::New(args) => new::new(args),
        ComponentCommand::Build(args) => build::build(args),
        ComponentCommand::Test(args) => test::test(args),
        ComponentCommand::Check { file } => {
            let info = load(file)?;
            print(&format!("{}: {}\n", info.name, info.summary))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A component's name: file, C prefix, word of the language.
fn is_name(name: &str) -> bool {
    name.len() < 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
