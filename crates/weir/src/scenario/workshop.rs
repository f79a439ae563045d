// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Makes the topologies that a scenario's verbs request: the text in force, its settings and its changes, recompiled.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use weir_core::{MachineShape, loaded};
use weir_lang::{Diagnostic, Edit, Graph, Set, Source};
use weir_model::scenario::Part;
use weir_model::{Composer, Proposal, Verb};

use super::needs::{bring, take_back};
use crate::catalogue::{self, PACKAGES, unknown};
use crate::code;
use crate::fault::Result;
use crate::input;
use crate::topology::{self, Includes};

/// The inputs of a topology.
#[derive(Clone, Debug)]
struct Recipe {
    source: Source,
    sets: Vec<Set>,
    edits: Vec<Edit>,
}

impl Recipe {
    fn packages(&self) -> impl Iterator<Item = &Source> {
        self.edits.iter().filter_map(|e| match e {
            Edit::Merge { package, .. } => Some(package),
            _ => None,
        })
    }
}

/// A recipe with what became of it.
#[derive(Clone, Debug)]
struct Made {
    recipe: Recipe,
    graph: Rc<Graph>,
}

#[derive(Clone, Debug)]
struct State {
    now: Made,
    proposed: Option<(Made, Option<usize>, bool)>,
    /// The state before a rule acted.
    before: BTreeMap<usize, Made>,
    /// Components that the proposal has loaded, and that it will unload.
    fresh: Vec<String>,
    leaving: Vec<String>,
    /// Components that packages brought with them; they go with the package.
    brought: BTreeSet<String>,
}

/// The composer of a run: knows the language and the user's files.
#[derive(Clone, Debug)]
pub struct Workshop {
    shape: MachineShape,
    /// Settings of the command line, which every topology gets.
    sets: Vec<Set>,
    folder: String,
    state: RefCell<State>,
}

impl Workshop {
    /// Begin with the topology that the run begins with, already compiled to `graph`.
    pub fn new(source: Source, sets: &[Set], shape: &MachineShape, graph: &Graph, folder: &str) -> Self {
        let recipe = Recipe { source, sets: sets.to_vec(), edits: Vec::new() };
        let now = Made { recipe, graph: Rc::new(graph.clone()) };
        let state = State {
            now,
            proposed: None,
            before: BTreeMap::new(),
            fresh: Vec::new(),
            leaving: Vec::new(),
            brought: BTreeSet::new(),
        };
        Self { shape: shape.clone(), sets: sets.to_vec(), folder: folder.into(), state: RefCell::new(state) }
    }

    /// A path of the scenario, as seen from the current folder.
    fn path(&self, name: &str) -> String {
        let relative = input::is_path(name) && !name.starts_with('/');
        if relative { format!("{}{name}", self.folder) } else { name.to_string() }
    }

    fn follow(
        &self,
        state: &mut State,
        verbs: &[Verb],
        rule: Option<usize>,
    ) -> std::result::Result<Recipe, String> {
        let mut next = state.now.recipe.clone();
        let fault_of = |fault: crate::fault::Fault| {
            fault.diags.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        let part =
            |text: &str, what: &str| Source { name: format!("scenario:{what}"), text: text.to_string() };
        for verb in verbs {
            match verb {
                Verb::Swap { topology } => {
                    let source = topology::source(&self.path(topology)).map_err(fault_of)?;
                    next = Recipe { source, sets: self.sets.clone(), edits: Vec::new() };
                }
                Verb::Instance { name, with } => {
                    let again = |e: &Edit| matches!(e, Edit::Instance { name: n, .. } if n == name);
                    next.edits.retain(|e| !again(e));
                    next.edits.push(Edit::Instance { name: name.clone(), with: part(with, "instance") });
                }
                Verb::Replace { names, with } => {
                    next.edits.push(Edit::Subgraph { names: names.clone(), with: part(with, "replace") });
                }
                Verb::Part(what) => next.edits.push(edit(what)),
                Verb::Set { component, param, value } => {
                    let (component, param) = (component.clone(), param.clone());
                    next.sets.retain(|s| (&s.component, &s.param) != (&component, &param));
                    next.sets.push(Set { component, param, value: value.clone() });
                }
                Verb::Merge { package: name, at } => {
                    let package = package(&self.path(name)).map_err(fault_of)?;
                    next.edits.push(Edit::Merge { package, at: at.clone() });
                }
                Verb::Unmerge { package } => {
                    let this = |e: &Edit| matches!(e, Edit::Merge { package: p, .. } if p.stem() == package);
                    let Some(at) = next.edits.iter().rposition(this) else {
                        return Err(format!("no package `{package}` is merged"));
                    };
                    next.edits.remove(at);
                    // What was set of it goes with it, unless the command line says it.
                    let inside = format!("{package}/");
                    let of_it = |s: &Set| s.component == *package || s.component.starts_with(&inside);
                    next.sets.retain(|s| !of_it(s) || self.sets.contains(s));
                }
                Verb::Undo => {
                    let before = rule.and_then(|r| state.before.get(&r));
                    next = before.ok_or("there is nothing to undo")?.recipe.clone();
                }
                Verb::Load { file } => {
                    let path = self.path(file);
                    let info =
                        code::load(Path::new(&path)).map_err(|(what, help)| format!("{what}; {help}"))?;
                    state.fresh.extend(info.map(|i| i.name));
                }
                Verb::Unload { component } => state.leaving.push(component.clone()),
                Verb::Cpu { .. } | Verb::Publish(_) => {}
            }
        }
        // What is undone or merged needs its components again.
        for package in next.packages() {
            let names = bring(package).map_err(fault_of)?;
            state.fresh.extend(names.iter().cloned());
            state.brought.extend(names);
        }
        Ok(next)
    }
}

/// A change of one part of a graph, as the language has it.
pub fn edit(part: &Part) -> Edit {
    let source = |text: &str| Source { name: "change".into(), text: text.to_string() };
    match part.clone() {
        Part::Annotate { with } => Edit::Annotate { with: source(&with) },
        Part::Create { with } => Edit::Create { with: source(&with) },
        Part::Insert { with, at } => Edit::Insert { with: source(&with), at },
        Part::Remove { name } => Edit::Remove { name },
        Part::Connect { from, to, postponed } => Edit::Connect { from, to, postponed },
        Part::Disconnect { at } => Edit::Disconnect { at },
    }
}

impl Workshop {
    fn propose(
        &self,
        state: &mut State,
        verbs: &[Verb],
        rule: Option<usize>,
    ) -> std::result::Result<Proposal, String> {
        let recipe = self.follow(state, verbs, rule)?;
        let catalog = weir_core::catalog();
        let mut made = weir_lang::compile_with(
            &recipe.source,
            &Includes,
            catalog,
            &self.shape,
            &recipe.sets,
            &recipe.edits,
        )
        .map_err(|found| sentence(&found))?;
        if !recipe.edits.is_empty() {
            // Readers of reports see that it is not the one of the catalogue.
            made.plan.name.push('*');
        }
        for component in &state.leaving {
            if let Some(user) = made.graph.nodes.iter().find(|n| n.component == *component) {
                return Err(format!("`{}` is a `{component}`, which cannot be unloaded then", user.name));
            }
        }
        let diff = weir_lang::diff(&state.now.graph, &made.graph).to_string();
        let undoes = verbs.contains(&Verb::Undo);
        let source = recipe.source.text.clone();
        state.proposed = Some((Made { recipe, graph: Rc::new(made.graph) }, rule, undoes));
        Ok(Proposal { plan: Rc::new(made.plan), source, diff })
    }
}

impl State {
    /// Take back what a proposal has loaded.
    fn forget(&mut self) {
        self.proposed = None;
        self.leaving.clear();
        // Nobody has them in a topology yet.
        take_back(&self.fresh);
        self.brought.retain(|name| !self.fresh.contains(name));
        self.fresh.clear();
    }
}

impl Composer for Workshop {
    fn compose(&self, verbs: &[Verb], rule: Option<usize>) -> std::result::Result<Proposal, String> {
        let mut state = self.state.borrow_mut();
        let proposal = self.propose(&mut state, verbs, rule);
        if proposal.is_err() {
            state.forget();
        }
        proposal
    }

    fn accept(&self) -> Vec<String> {
        let mut state = self.state.borrow_mut();
        state.fresh.clear();
        let mut warnings = Vec::new();
        for name in std::mem::take(&mut state.leaving) {
            if let Err(e) = loaded::unload(&name) {
                warnings.push(format!("`{name}` stays loaded: {e}"));
            }
        }
        let Some((made, rule, undoes)) = state.proposed.take() else { return warnings };
        let old = std::mem::replace(&mut state.now, made);
        let needed: BTreeSet<String> =
            state.now.recipe.packages().flat_map(weir_lang::needs).map(|n| n.component).collect();
        state.brought.retain(|name| needed.contains(name) || loaded::unload(name).is_err());
        match rule {
            Some(rule) if undoes => drop(state.before.remove(&rule)),
            Some(rule) => drop(state.before.insert(rule, old)),
            None => {}
        }
        warnings
    }

    fn reject(&self) {
        self.state.borrow_mut().forget();
    }
}

/// The text of a package: a file or a catalogue name.
pub fn package(name: &str) -> Result<Source> {
    if let Some(entry) = catalogue::find(PACKAGES, name) {
        return Ok(Source { name: entry.file.into(), text: entry.text.into() });
    }
    if !input::is_path(name) {
        let names: Vec<&str> = PACKAGES.iter().map(|e| e.name).collect();
        return Err(unknown("package", "packages", name, &names));
    }
    Ok(Source { name: name.into(), text: input::read_text(name)? })
}

/// The errors in one line.
fn sentence(found: &[Diagnostic]) -> String {
    let errors = found.iter().filter(|d| d.severity == weir_lang::Severity::Error);
    let one = |d: &Diagnostic| match &d.help {
        Some(help) => format!("{} ({help})", d.message),
        None => d.message.clone(),
    };
    errors.take(3).map(one).collect::<Vec<_>>().join("; ")
}
