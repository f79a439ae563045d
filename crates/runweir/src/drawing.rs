// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir graph`: a picture of a topology.

use std::path::Path;
use std::process::ExitCode;

use weir_lang::draw::SvgOptions;

use crate::args::{Drawing, GraphArgs, one};
use crate::fault::{Fault, Result};
use crate::outdir::replace_file;
use crate::{machine, output, topology};

/// Draw to a file or to stdout.
pub fn graph(args: &GraphArgs) -> Result<ExitCode> {
    let kind = notation(args)?;
    let source = topology::source(&one(args.topology.as_ref(), args.named.as_ref()))?;
    let machine = match &args.machine {
        Some(name) => machine::resolve(name)?,
        None => topology::default_machine(&source)?,
    };
    let sets = topology::parse_sets(&args.set)?;
    let compiled = topology::compile_with(&source, &machine.shape, &sets, &args.with)?;
    output::show(&compiled.warnings.iter().map(topology::diag).collect::<Vec<_>>());
    if let Some(other) = &args.diff {
        let other = topology::compile(&topology::source(other)?, &machine.shape, &sets)?;
        output::print(&weir_lang::diff(&compiled.graph, &other.graph).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match kind {
        Drawing::Svg => weir_lang::draw::svg(&compiled.graph, &SvgOptions::default()),
        Drawing::Dot => weir_lang::draw::dot(&compiled.graph),
        Drawing::Mmd => weir_lang::draw::mermaid(&compiled.graph),
    };
    match &args.output {
        Some(path) => replace_file(path, text.as_bytes())?,
        None => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The notation: `--format`, else the ending of the file, else DOT.
fn notation(args: &GraphArgs) -> Result<Drawing> {
    let Some(path) = &args.output else { return Ok(args.format.unwrap_or(Drawing::Dot)) };
    let by_name = by_ending(path);
    match (args.format, by_name) {
        (Some(format), _) | (None, Some(format)) => Ok(format),
        (None, None) => Err(Fault::user(
            format!("the ending of `{}` is none of .svg, .dot, .mmd", path.display()),
            "give the file one of these endings, or say --format svg, dot or mmd",
        )),
    }
}

fn by_ending(path: &Path) -> Option<Drawing> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "svg" => Some(Drawing::Svg),
        "dot" | "gv" => Some(Drawing::Dot),
        "mmd" | "mermaid" => Some(Drawing::Mmd),
        _ => None,
    }
}
