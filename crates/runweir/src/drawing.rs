// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir graph`: a picture of a topology.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use weir_lang::Graph;
use weir_lang::draw::{Inner, SvgOptions};
use weir_report::picture::Format;

use crate::args::{Drawing, GraphArgs, one};
use crate::fault::{Fault, Result};
use crate::outdir::replace_file;
use crate::paper::png;
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
    let paper = |format| weir::graph_picture::graph_picture(&compiled.graph).bytes(format);
    let bytes = match kind {
        Drawing::Dot if args.workload.is_some() => nested(args, &compiled.graph)?.into_bytes(),
        _ if args.workload.is_some() => {
            return Err(Fault::user(
                "guests are drawn inside their host in DOT only",
                "use --format dot, and let Graphviz make a picture of it: dot -Tsvg",
            ));
        }
        Drawing::Svg => weir_lang::draw::svg(&compiled.graph, &SvgOptions::default()).into_bytes(),
        Drawing::Dot => weir_lang::draw::dot(&compiled.graph).into_bytes(),
        Drawing::Mmd => weir_lang::draw::mermaid(&compiled.graph).into_bytes(),
        Drawing::Pdf => paper(Format::Pdf),
        Drawing::Tex => paper(Format::Tex),
        Drawing::Png => png(&paper(Format::Svg))?,
    };
    match &args.output {
        Some(path) => replace_file(path, &bytes)?,
        None if matches!(kind, Drawing::Pdf | Drawing::Png) && std::io::stdout().is_terminal() => {
            return Err(Fault::user("a PDF or PNG is not for a terminal", "name a file: -o figure.pdf"));
        }
        None => output::print_bytes(&bytes)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The topology with those of the workload's guests inside.
fn nested(args: &GraphArgs, host: &Graph) -> Result<String> {
    let spec = args.workload.as_deref().unwrap_or_default();
    let workload = machine::workload(spec, 1)?;
    let all = workload.all_guests();
    if all.is_empty() {
        return Err(Fault::user(
            format!("the workload `{spec}` has no guests to draw"),
            "leave --workload out, or name one with [[guest]], such as `virtual`",
        ));
    }
    let mut graphs = Vec::with_capacity(all.len());
    for (_, guest) in &all {
        let (_, graph, warnings) = weir::session::inside(guest, spec)?;
        output::show(&warnings);
        graphs.push(graph);
    }
    let runs_as: Vec<String> = all
        .iter()
        .map(|(_, g)| match g.vcpus.len() {
            1 => format!("{}/cpu0", g.name),
            n => format!("{}/cpu0 to cpu{}", g.name, n - 1),
        })
        .collect();
    let inner = |(((parent, guest), graph), runs_as)| {
        let (guest, parent): (&weir_model::workload::GuestSpec, Option<u32>) = (guest, parent);
        Inner { name: &guest.name, runs_as, inside: parent.map(|p| p as usize), graph }
    };
    let guests: Vec<Inner<'_>> =
        all.iter().copied().zip(&graphs).zip(runs_as.iter().map(String::as_str)).map(inner).collect();
    Ok(weir_lang::draw::dot_nested(host, &guests))
}

/// The notation: `--format`, else the ending of the file, else DOT.
fn notation(args: &GraphArgs) -> Result<Drawing> {
    let Some(path) = &args.output else { return Ok(args.format.unwrap_or(Drawing::Dot)) };
    let by_name = by_ending(path);
    match (args.format, by_name) {
        (Some(format), _) | (None, Some(format)) => Ok(format),
        (None, None) => Err(Fault::user(
            format!("the ending of `{}` is none of .svg, .pdf, .tex, .png, .dot, .mmd", path.display()),
            "give the file one of these endings, or use --format",
        )),
    }
}

fn by_ending(path: &Path) -> Option<Drawing> {
    match path.extension()?.to_str()?.to_lowercase().as_str() {
        "svg" => Some(Drawing::Svg),
        "dot" | "gv" => Some(Drawing::Dot),
        "mmd" | "mermaid" => Some(Drawing::Mmd),
        "pdf" => Some(Drawing::Pdf),
        "tex" | "tikz" => Some(Drawing::Tex),
        "png" => Some(Drawing::Png),
        _ => None,
    }
}
