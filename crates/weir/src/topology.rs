// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From the user's name of a topology to a checked plan for a machine.

use std::path::Path;

use weir_core::MachineShape;
use weir_lang::{Compiled, Diagnostic, Edit, Loader, Set, Source};
use weir_model::Machine;

use crate::catalogue::{self, TOPOLOGIES, unknown};
use crate::fault::{Blame, Diag, Fault, Result};
use crate::input::{self, ReadError};
use crate::{machine, scenario};

/// Name of stdin in diagnostics.
const STDIN: &str = "<stdin>";

/// Text of the topology that the user names: `-`, a file or a catalogue name.
pub fn source(name: &str) -> Result<Source> {
    if name == "-" {
        let text = input::read_stdin().map_err(Fault::from)?;
        return Ok(Source { name: STDIN.into(), text });
    }
    if let Some(entry) = catalogue::find(TOPOLOGIES, name) {
        return Ok(Source { name: entry.file.into(), text: entry.text.into() });
    }
    let names: Vec<&str> = TOPOLOGIES.iter().map(|e| e.name).collect();
    if !input::is_path(name) {
        return Err(unknown("topology", "topologies", name, &names));
    }
    match input::read_text(name) {
        Ok(text) => Ok(Source { name: name.into(), text }),
        Err(e) => {
            // `dual.weir` may be the catalogue's `dual`.
            let stem = Path::new(name).file_stem().and_then(|s| s.to_str()).unwrap_or_default();
            match names.iter().find(|n| **n == stem) {
                Some(n) if e.missing => {
                    let help =
                        format!("the catalogue has a topology `{n}`: write it without folder and ending");
                    Err(Fault::user(e.message, help))
                }
                _ => Err(e.into()),
            }
        }
    }
}

impl From<ReadError> for Fault {
    fn from(e: ReadError) -> Self {
        Fault::user(e.message, e.help)
    }
}

/// Finds included files beside the including one, then in the catalogue.
pub struct Includes;

impl Loader for Includes {
    fn load(&self, from: &str, include: &str) -> std::result::Result<Source, String> {
        let from_catalogue = from.starts_with("catalogue:/");
        let path = Path::new(from).parent().filter(|_| from != STDIN).unwrap_or(Path::new("")).join(include);
        let path = path.to_string_lossy();
        let missing = if from_catalogue {
            None
        } else {
            match input::read_text(&*path) {
                Ok(text) => return Ok(Source { name: path.into_owned(), text }),
                Err(e) if !e.missing => return Err(format!("{}; {}", e.message, e.help)),
                Err(e) => Some(e),
            }
        };
        let name = include.strip_suffix(".weir").unwrap_or(include);
        match (catalogue::find(TOPOLOGIES, name), missing) {
            (Some(entry), _) => Ok(Source { name: entry.file.into(), text: entry.text.into() }),
            (None, Some(e)) => Err(format!("{}, and the catalogue has no `{name}` either", e.message)),
            (None, None) => Err(format!("the catalogue has no topology `{name}`")),
        }
    }
}

/// Where no machine is named: the one that the topology's own example uses, else `smp-8`.
pub fn default_machine(source: &Source) -> Result<Machine> {
    let suggested = catalogue::suggested_machine(&source.text).and_then(|name| machine::resolve(name).ok());
    suggested.map_or_else(|| machine::resolve("smp-8"), Ok)
}

/// Compile for a machine.
pub fn compile(source: &Source, shape: &MachineShape, sets: &[Set]) -> Result<Compiled> {
    weir_lang::compile(source, &Includes, weir_core::catalog(), shape, sets).map_err(fault)
}

/// As [`compile`], with packages merged: `--with npu@entry`.
pub fn compile_with(
    source: &Source,
    shape: &MachineShape,
    sets: &[Set],
    with: &[String],
) -> Result<Compiled> {
    let edits = with.iter().map(|text| parse_with(text)).collect::<Result<Vec<_>>>()?;
    weir_lang::compile_with(source, &Includes, weir_core::catalog(), shape, sets, &edits).map_err(fault)
}

/// A `--with` option: `package@port`. Ports may contain an `@` as well (`round_robin@cpu3.in`), names of packages do not.
fn parse_with(text: &str) -> Result<Edit> {
    match text.split_once('@') {
        Some((package, at)) if !package.is_empty() && !at.is_empty() => {
            let package = scenario::package(package)?;
            scenario::bring(&package)?;
            Ok(Edit::Merge { package, at: at.into() })
        }
        _ => Err(Fault::user(
            format!("`--with {}` is not of the form package@port", text.escape_debug()),
            "for example --with npu@entry; `runweir packages` lists those of the catalogue",
        )),
    }
}

/// A `--set` option: `comp.param=V`. Instances may have dots in their names, parameters have none.
pub fn parse_set(text: &str) -> Result<Set> {
    let parts = text.split_once('=').and_then(|(left, value)| {
        let (component, param) = left.trim().rsplit_once('.')?;
        let parts = [component, param, value].map(str::trim);
        parts.iter().all(|p| !p.is_empty()).then_some(parts)
    });
    match parts {
        Some([component, param, value]) => {
            Ok(Set { component: component.into(), param: param.into(), value: value.into() })
        }
        None => Err(Fault::user(
            format!("`--set {}` is not of the form comp.param=value", text.escape_debug()),
            "for example --set round_robin.slice=1ms; `runweir components NAME` lists the parameters",
        )),
    }
}

/// All `--set` options.
pub fn parse_sets(texts: &[String]) -> Result<Vec<Set>> {
    texts.iter().map(|t| parse_set(t)).collect()
}

/// Errors of the language as a fault of the user.
pub fn fault(found: Vec<Diagnostic>) -> Fault {
    Fault { blame: Blame::User, diags: found.iter().map(diag).collect() }
}

/// A finding of the language as a diagnostic of the command line.
pub fn diag(found: &Diagnostic) -> Diag {
    let mut diag = match found.severity {
        weir_lang::Severity::Error => Diag::error(&found.message),
        weir_lang::Severity::Warning => Diag::warning(&found.message),
    };
    diag = diag.code(found.code);
    if let Some(help) = own_component(found).as_ref().or(found.help.as_ref()) {
        diag = diag.help(help);
    }
    if let Some((name, text)) = &found.source {
        diag = diag.source(name, text);
        for (range, remark) in &found.labels {
            diag = diag.label(range.clone(), Some(remark.clone()).filter(|r| !r.is_empty()));
        }
    }
    diag
}

/// A component that the program does not know, and a file of its name beside the topology: how to get it in.
fn own_component(found: &Diagnostic) -> Option<String> {
    if found.code != "unknown-component" {
        return None;
    }
    let name = found.message.split('`').nth(1)?;
    let (topology, _) = found.source.as_ref()?;
    let file = Path::new(topology).parent()?.join(format!("{name}.c"));
    let object = file.with_extension("so");
    file.is_file().then(|| {
        format!(
            "{0} is next to the topology: build it with `runweir component build {0}`, and load it with `--load {1}`",
            file.display(),
            object.display()
        )
    })
}
