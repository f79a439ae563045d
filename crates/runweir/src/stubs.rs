// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir stubs`: typed messages from an interface file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum, ValueHint};

use crate::fault::{Fault, Result};
use crate::outdir::replace_file;
use crate::{machine, output};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    C,
    Rust,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir stubs files.toml                      files.h, files.c and files.rs, here
  runweir stubs files.toml --lang c -o build    files.h and files.c in build/

An interface file lists messages and their arguments:
  interface = \"files\"
  version = 1
  [[call]]
  name = \"size_of\"
  args = [\"path: text[256]\"]
  returns = [\"bytes: u64\", \"found: bool\"]

Types: u8 to u64, i8 to i64, f32, f64, bool, records of these, lists `TYPE[MOST]`, `text[MOST]`.
The stubs stand on runtimes/multikernel/stub.h (C) or on the crate weir-stubs (Rust).
docs/messages.md describes both.")]
pub struct StubsArgs {
    /// Interface file (TOML)
    #[arg(value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Directory to write to; made if it does not exist
    #[arg(short, long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Language, C and Rust by default
    #[arg(long, value_name = "LANG")]
    pub lang: Option<Language>,
}

/// Read, make, write.
pub fn stubs(args: &StubsArgs) -> Result<ExitCode> {
    let path = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|e| machine::fault(weir_model::Error::io(&path, "interface file", &e)))?;
    let interface = weir_stubs::read(&path, &text).map_err(machine::fault)?;
    let mut files = Vec::new();
    if args.lang != Some(Language::Rust) {
        let (header, source) = weir_stubs::c::emit(&interface);
        files.push((format!("{}.h", interface.name), header));
        files.push((format!("{}.c", interface.name), source));
    }
    if args.lang != Some(Language::C) {
        files.push((format!("{}.rs", interface.name), weir_stubs::rust::emit(&interface)));
    }
    make(&args.output)?;
    for (name, text) in files {
        let to = args.output.join(name);
        replace_file(&to, text.as_bytes())?;
        output::note(&format!("wrote {}", to.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn make(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| {
        Fault::user(
            format!("cannot make the directory `{}`: {e}", dir.display()),
            "give a directory that you may write to",
        )
    })
}
