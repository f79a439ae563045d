// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The `.weir` language: schedulers as graphs of components.
//!
//! [`compile`] turns a text into the tables that the core builds from, for a given machine and a
//! given catalogue of components, or reports all errors in it. [`draw`] makes pictures of the result
//! and [`format()`] formats a text. The library reads and writes no files.
//!
//! `docs/language.md` describes the language.

mod ast;
mod bundle;
mod cases;
mod check;
mod diag;
mod diff;
pub mod draw;
mod edit;
mod emit;
mod expand;
mod format;
mod graph;
mod lex;
mod machine;
mod net;
mod order;
mod parse;
mod readback;
mod refine;
mod rewrite;
mod settings;
mod source;
mod splice;
mod units;
mod wire;

#[cfg(test)]
mod testcat;

use std::collections::BTreeSet;

use weir_core::{Catalog, MAX_CPUS, MachineShape, Plan};

use ast::Item;
use check::Check;
use diag::Sink;
use source::{MAX_SOURCE_BYTES, Span};

pub use cases::When;
pub use diag::{Diagnostic, Severity};
pub use diff::{Diff, diff};
pub use edit::{Edit, Need, needs};
pub use format::format;
pub use graph::{Edge, Graph, Node, NodeKind, Place};
pub use readback::{Origin, ReadBack, join, read_back};
pub use rewrite::{Change, Rewrite, rewrite};
pub use source::{Loader, NoIncludes, Source};
pub use units::show as show_value;

/// A parameter from the command line: `--set round_robin.slice=1ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Component, instance (`lb`, `round_robin@cpu3`), sub-topology, or the topology itself by its
    /// name or as `topology`, for its `param` statements.
    pub component: String,
    pub param: String,
    /// As in a text, with unit.
    pub value: String,
}

/// A topology for a machine, ready to run.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub plan: Plan,
    pub warnings: Vec<Diagnostic>,
    /// The same as a graph, for [`draw`] and reports.
    pub graph: Graph,
    /// The topology's conditions, and the cases in force.
    pub whens: Vec<When>,
}

/// Most files that one topology includes, itself among them.
const MAX_SOURCES: usize = 64;

/// Compile `src` for a machine. On failure all errors (and warnings) in order of place.
///
/// `sets` take precedence over values in the text; the last one for a parameter counts.
pub fn compile(
    src: &Source,
    loader: &dyn Loader,
    catalog: &Catalog,
    shape: &MachineShape,
    sets: &[Set],
) -> Result<Compiled, Vec<Diagnostic>> {
    compile_with(src, loader, catalog, shape, sets, &[])
}

/// As [`compile`], with changes made to the topology one after the other. The result is checked as any topology is.
pub fn compile_with(
    src: &Source,
    loader: &dyn Loader,
    catalog: &Catalog,
    shape: &MachineShape,
    sets: &[Set],
    edits: &[Edit],
) -> Result<Compiled, Vec<Diagnostic>> {
    let seen = look(src, loader, catalog, shape, sets, edits, false);
    seen.compiled.ok_or(seen.found)
}

/// An editor's view of a text, whether it compiles or not.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The result, where there are no errors.
    pub compiled: Option<Compiled>,
    /// The part of the graph that is known despite mistakes; `None` if it is in `compiled`, or nothing is known.
    pub outline: Option<Graph>,
    /// All findings in order of place, warnings among them.
    pub found: Vec<Diagnostic>,
}

/// As [`compile`], but a text with mistakes has a graph, too: statements that cannot be read are missing from it.
pub fn survey(
    src: &Source,
    loader: &dyn Loader,
    catalog: &Catalog,
    shape: &MachineShape,
    sets: &[Set],
) -> Survey {
    look(src, loader, catalog, shape, sets, &[], true)
}

fn look(
    src: &Source,
    loader: &dyn Loader,
    catalog: &Catalog,
    shape: &MachineShape,
    sets: &[Set],
    edits: &[Edit],
    want_outline: bool,
) -> Survey {
    let mut sink = Sink::default();
    let (mut next_id, mut seen) = (0, BTreeSet::new());
    let items = read(src, loader, &mut sink, &mut next_id, &mut seen);
    let cases::Chosen { items, whens, said } =
        cases::choose(items, src.stem(), sets, catalog, shape, &mut sink);
    let given = edits;
    let edits = edit::read(edits, &mut sink, &mut next_id, |package, sink, next_id| {
        read(package, loader, sink, next_id, &mut seen)
    });
    let failed = |found, outline| Survey { compiled: None, outline, found };
    let parse_failed = sink.has_errors();
    let start = Span::default();
    if let Some((message, help)) = unusable(catalog, shape) {
        sink.error("machine", start, message).help(help);
        return failed(sink.finish(), None);
    }
    let mut expander = expand::Expander::new(catalog, shape, sets, &mut sink);
    expander.settings.several_cases = !whens.is_empty();
    expander.run(&items, &edits, src.stem());
    if expander.halted {
        return failed(sink.finish(), None);
    }
    let (mut net, lost_annotator) = (std::mem::take(&mut expander.net), expander.lost_annotator);
    let mut quiet = expander.broken || parse_failed;
    quiet |= !splice::splice(&mut net, &mut sink);
    if !quiet {
        refine::coarse_last(&mut net, catalog);
    }
    let wired = wire::wire(&net, catalog, shape, quiet, &mut sink);
    let order = order::topological(&net, &wired, &mut sink);
    let mut check = Check { net: &net, wired: &wired, catalog, shape, sink: &mut sink, file: start };
    if !parse_failed {
        check.responders(lost_annotator);
        check.budgets();
        check.topics();
    }
    check.postponed_exits();
    let mut domains = vec![0; net.insts.len()];
    if let Some(order) = &order {
        check.orderings(order);
        check.depth(&order::depths(&wired, order));
        if !quiet {
            check.coverage();
            if !wired.broken {
                check.reach(order);
                domains = check.coherence(order);
                check.postponed_orders(order, &domains);
                check.lost_orders(order, &domains);
            }
        }
    }
    if quiet && !sink.has_errors() {
        // Not reachable by design; a silent failure would be worse than a vague one.
        sink.error("internal", start, "the topology could not be expanded")
            .help("please report this topology");
    }
    match order {
        Some(order) if !sink.has_errors() => {
            let depths = order::depths(&wired, &order);
            let ordered = emit::Ordered { order: &order, depths: &depths, domains: &domains };
            let emitted = emit::emit(src.stem(), &net, &wired, &ordered, catalog, shape);
            let graph = graph::build(&net, &wired, &emitted, &order, catalog, shape);
            let mut warnings = sink.finish();
            if !whens.is_empty() {
                // Another case may use it.
                warnings.retain(|w| w.code != "unused-topology");
            }
            for other in cases::others(&whens).into_iter().filter(|_| !said) {
                let name = cases::name(&other, &whens);
                let sets = [sets, other.as_slice()].concat();
                if let Err(found) = compile_with(src, loader, catalog, shape, &sets, given) {
                    return failed(in_case(found, &name), want_outline.then_some(graph));
                }
            }
            let found = warnings.clone();
            Survey {
                compiled: Some(Compiled { plan: emitted.plan, warnings, graph, whens }),
                outline: None,
                found,
            }
        }
        _ => {
            let outline = want_outline.then(|| graph::outline(src.stem(), &net, catalog, shape));
            failed(sink.finish(), outline)
        }
    }
}

/// Findings that are there in one case only say so.
fn in_case(mut found: Vec<Diagnostic>, case: &str) -> Vec<Diagnostic> {
    for d in &mut found {
        let help = d.help.take().map_or(String::new(), |h| format!("; {h}"));
        d.help = Some(format!("this is in the case `{case}`{help}"));
    }
    found
}

/// The value of a parameter as a text would write it (`3ms`, `7`), in base units; the error is a sentence.
pub fn param_value(param: &weir_core::ParamInfo, text: &str) -> Result<u64, String> {
    let value = units::parse(text, param.unit)?;
    if value < param.min || value > param.max {
        return Err(format!("`{text}` is not from {} to {}", param.min, param.max));
    }
    Ok(value)
}

/// Why nothing at all can be compiled with this catalogue for this machine, and the remedy.
fn unusable(catalog: &Catalog, shape: &MachineShape) -> Option<(String, String)> {
    let machine = &shape.name;
    let n = shape.cpus.len();
    if catalog.get("termination").is_none() {
        return Some((
            "this build has no component `termination`, at which every path ends".into(),
            "build with all of `components/`".into(),
        ));
    }
    if n == 0 || n > MAX_CPUS as usize {
        return Some((
            format!("machine `{machine}` has {}", weir_text::plural(n, "CPU")),
            format!("a scheduler needs 1 to {MAX_CPUS} CPUs"),
        ));
    }
    let lost = shape.cpus.iter().position(|c| usize::from(c.isa) >= shape.isas.len())?;
    Some((
        format!("machine `{machine}` does not say which instruction set CPU {lost} has"),
        "a machine names the instruction sets of all its CPUs, the native one first".into(),
    ))
}

/// Parse `src` and what it includes, each file once.
fn read(
    src: &Source,
    loader: &dyn Loader,
    sink: &mut Sink,
    next_id: &mut u32,
    seen: &mut BTreeSet<String>,
) -> Vec<Item> {
    // By file, the first one last, as what is included comes first.
    let mut items: Vec<Vec<Item>> = Vec::new();
    seen.insert(src.name.clone());
    let mut pending = vec![(sink.add_source(src.clone()), None::<Span>)];
    while let Some((index, from)) = pending.pop() {
        let source = &sink.sources[index as usize];
        if source.text.len() > MAX_SOURCE_BYTES {
            let at = from.unwrap_or_default();
            let message = format!("`{}` is larger than {} MiB", source.name, MAX_SOURCE_BYTES >> 20);
            sink.error("include", at, message).help("a topology is a short text; is this the right file?");
            continue;
        }
        let name = source.name.clone();
        let parsed = parse::parse(index, sink, next_id);
        for item in &parsed {
            let Item::Include { path, span } = item else { continue };
            match loader.load(&name, path) {
                Err(why) => {
                    sink.error("include", *span, format!("cannot include `{path}`: {why}"))
                        .help("the path is relative to the file that includes it");
                }
                Ok(loaded) if !seen.insert(loaded.name.clone()) => {}
                Ok(_) if sink.sources.len() == MAX_SOURCES => {
                    sink.error("include", *span, format!("more than {MAX_SOURCES} files are included"))
                        .help("include fewer files");
                }
                Ok(loaded) => pending.push((sink.add_source(loaded), Some(*span))),
            }
        }
        items.push(parsed);
    }
    items.into_iter().rev().flatten().collect()
}
