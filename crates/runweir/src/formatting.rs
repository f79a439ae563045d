// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir fmt`: one format for all topologies.

use std::path::Path;
use std::process::ExitCode;

use weir_lang::Source;

use crate::args::FmtArgs;
use crate::fault::{Blame, Fault, Result};
use crate::outdir::replace_file;
use crate::{input, output, topology};

/// Rewrite (or with `--check` only examine) every file; a wrong one does not keep the others from it.
pub fn fmt(args: &FmtArgs) -> Result<ExitCode> {
    let mut errors = Vec::new();
    let mut blame = Blame::User;
    let mut unformatted = 0;
    for path in &args.files {
        match one(path, args.check) {
            Ok(same) => unformatted += u32::from(!same),
            Err(fault) => {
                blame = fault.blame;
                errors.extend(fault.diags);
            }
        }
    }
    if !errors.is_empty() {
        return Err(Fault { blame, diags: errors });
    }
    Ok(if args.check && unformatted > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// True if the file is formatted already.
fn one(path: &Path, check: bool) -> Result<bool> {
    let stdin = path == Path::new("-");
    let source = if stdin {
        topology::source("-")?
    } else {
        Source { name: path.to_string_lossy().into_owned(), text: input::read_text(path)? }
    };
    let text = weir_lang::format(&source).map_err(topology::fault)?;
    let same = text == source.text;
    match (check, stdin) {
        (true, _) if !same => output::print(&format!("{}\n", source.name))?,
        (true, _) => {}
        (false, true) => output::print(&text)?,
        (false, false) if !same => replace_file(path, text.as_bytes())?,
        (false, false) => {}
    }
    Ok(same)
}
