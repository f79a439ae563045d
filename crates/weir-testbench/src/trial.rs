// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A component on trial: small graphs around it, made from its descriptor, and random histories on them. After each step the
//! law must hold (incremental equals batch, and what a fresh instance makes of the same in-pipes where that leaves no choice),
//! and no task may be lost or be there twice.

use std::fmt;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestError, TestRunner};
use weir_core::{Class, ComponentInfo, MachineShape, Plan, PortLabel, catalog, crash};

use crate::history::{Op, World, config, op};
use crate::lab::compile;
use crate::{Lab, machine};

/// Most CPUs of a trial: operations name them by a byte.
pub const MAX_CPUS: u32 = 256;

/// A graph to try a component in.
pub struct Graph {
    /// In the language, as it was compiled.
    pub text: String,
    pub plan: Plan,
    pub shape: MachineShape,
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub cpus: u32,
    /// Histories, each on every graph.
    pub cases: u32,
    /// Most steps of one.
    pub steps: usize,
    /// `None`: that of [`config`].
    pub seed: Option<u64>,
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    pub graphs: usize,
    pub histories: u32,
    pub steps: u64,
}

/// The shortest history found that breaks the law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub machine: String,
    pub topology: String,
    pub history: Vec<String>,
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        writeln!(f, "in the topology\n  {}\non {}", self.topology.replace('\n', "\n  "), self.machine)?;
        write!(f, "after {} step{}:", self.history.len(), if self.history.len() == 1 { "" } else { "s" })?;
        for (i, step) in self.history.iter().enumerate() {
            write!(f, "\n  {:>2}  {step}", i + 1)?;
        }
        Ok(())
    }
}

/// `annotate` with all that answers what the component may ask, and some more.
fn annotate(info: &ComponentInfo, more: &[&str]) -> String {
    let mut names: Vec<&str> = more.to_vec();
    for topic in info.asks.iter() {
        // Where several answer, the one that only stores the message: it has the name of the topic.
        let all = || catalog().components.iter().filter(|c| c.answers.contains(topic));
        let component = all().find(|c| c.name == topic.to_lowercase()).or(all().next());
        names.extend(component.map(|c| c.name.as_str()));
    }
    names.sort();
    names.dedup();
    if names.is_empty() { String::new() } else { format!("annotate {};\n", names.join(", ")) }
}

/// Small graphs around one component; the first must be a legal topology.
pub fn texts(info: &ComponentInfo) -> Vec<String> {
    let x = format!("x :: {}", info.name);
    let many_in = info.ins.1 > 1;
    let plain = annotate(info, &["affinity"]);
    let prio = annotate(info, &["affinity", "priority"]);
    let isas = annotate(info, &["affinity", "isa"]);
    match info.class {
        Class::Order | Class::Filter => vec![
            format!("{plain}entry -> {x} -> cpus;"),
            format!("{plain}entry ~> {x} -> cpus;"),
            format!("{plain}entry -> lb :: load_balancer -> each cpu {{ {x} -> cpu }};"),
            format!("{plain}entry -> {x} -> lb :: load_balancer -> each cpu {{ -> cpu }};"),
            format!("{prio}entry -> p :: priority_order -> {x} -> q :: head_queue -> cpus;"),
        ],
        Class::Distribute if info.out_label == PortLabel::Isa => {
            let outs = "x[native] -> cpus in native; x[accel] -> q :: head_queue -> cpus in accel; x[other] -> cpus in other;";
            let entry = if many_in { "entry each cpu" } else { "entry" };
            vec![
                format!("{isas}{entry} -> {x}; {outs}"),
                format!("{isas}annotate priority; entry -> p :: priority_order -> {x}; {outs}"),
                format!("{isas}entry ~> {x}; {outs}"),
            ]
        }
        Class::Distribute => vec![
            format!("{plain}entry -> {x} -> each cpu {{ -> cpu }};"),
            format!("{plain}entry each cpu -> {x} -> each cpu {{ q :: head_queue -> cpu }};"),
            format!("{plain}entry each cpu ~> {x} -> each cpu {{ -> cpu }};"),
            format!("{plain}entry -> {x} -> each llc {{ q :: head_queue -> cpus }};"),
            format!("{plain}entry -> {x} -> each llc {{ y :: {} -> each cpu {{ -> cpu }} }};", info.name),
            format!("{prio}entry -> p :: priority_order -> {x} -> each cpu {{ -> cpu }};"),
        ],
        Class::Merge => vec![
            format!("{plain}entry each cpu -> {x} -> cpus;"),
            format!("{plain}entry each cpu ~> {x} -> cpus;"),
            format!("{prio}each cpu {{ entry -> p :: priority_order }} -> {x} -> cpus;"),
            format!("{plain}entry -> lb :: load_balancer -> each cpu {{ q :: head_queue }} -> {x} -> cpus;"),
        ],
        Class::Annotate | Class::Service if info.ins.1 == 0 => {
            vec![format!("annotate {};\nentry -> q :: head_queue -> cpus;", info.name)]
        }
        Class::Annotate | Class::Service => vec!["entry -> q :: head_queue -> cpus;".into()],
    }
}

/// A machine of so many CPUs for a component: caches, and instruction sets where it distinguishes them.
fn machine_for(info: &ComponentInfo, cpus: u32) -> String {
    let llc = match cpus {
        0..=7 => 2,
        8..=63 => 4,
        _ => 16,
    };
    match info.out_label {
        PortLabel::Isa => {
            let cpus = cpus.max(3);
            let (accel, other) = ((cpus / 2).max(1), (cpus * 3 / 4).max(2));
            format!("smp-{cpus} llc={llc} accel={accel}-{} other={other}-{}", other - 1, cpus - 1)
        }
        PortLabel::None => format!("smp-{cpus} llc={llc}"),
    }
}

/// The legal ones of the component's graphs.
///
/// # Errors
/// The first is not legal; why.
pub fn graphs(info: &ComponentInfo, cpus: u32) -> Result<Vec<Graph>, String> {
    let shape = machine::parse(&machine_for(info, cpus))?;
    let mut all = Vec::new();
    for (i, text) in texts(info).into_iter().enumerate() {
        match compile("law", &text, &shape) {
            Ok(plan) => all.push(Graph { text, plan, shape: shape.clone() }),
            Err(e) if i == 0 => return Err(format!("{}: {text}\n{e}", info.name)),
            Err(_) => {}
        }
    }
    Ok(all)
}

/// One history on every graph.
///
/// # Errors
/// Number of the graph, steps up to the one that broke the law, and how.
pub fn holds(graphs: &[Graph], history: &[Op]) -> Result<(), (usize, usize, String)> {
    for (g, graph) in graphs.iter().enumerate() {
        let steps = std::cell::Cell::new(0);
        let run = || -> Result<(), String> {
            let mut world = World::new(Lab::new(graph.plan.clone(), graph.shape.clone())?, Vec::new());
            for (i, op) in history.iter().enumerate() {
                steps.set(i + 1);
                world.step(op).map_err(|e| format!("step {}, {op:?}: {e}", i + 1))?;
            }
            world.drain().map_err(|e| format!("at the end, when all tasks run to theirs: {e}"))
        };
        let name = |i: u32| graph.plan.instances.get(i as usize).map_or("?", |i| i.name.as_str());
        let done = crash::catch(run).unwrap_or_else(|c| Err(format!("{c}, instance `{}`", name(c.instance))));
        done.map_err(|e| (g, steps.get(), e))?;
    }
    Ok(())
}

/// Try a component of the catalogue, built in or loaded.
///
/// # Errors
/// The shortest history that breaks the law; what to do where no graph can be made.
pub fn law(info: &ComponentInfo, effort: Effort) -> Result<Tried, Broken> {
    let graphs = graphs(info, effort.cpus).map_err(|message| Broken {
        machine: machine_for(info, effort.cpus),
        topology: texts(info).into_iter().next().unwrap_or_default(),
        history: Vec::new(),
        message,
    })?;
    let mut config = config(effort.cases);
    if let Some(seed) = effort.seed {
        config.rng_seed = RngSeed::Fixed(seed);
    }
    let histories = config.cases;
    let steps = std::cell::Cell::new(0);
    let found =
        TestRunner::new(config).run(&prop::collection::vec(op(0), 1..effort.steps.max(2)), |history| {
            steps.set(steps.get() + (history.len() * graphs.len()) as u64);
            holds(&graphs, &history).map_err(|(_, _, e)| TestCaseError::fail(e))
        });
    match found {
        Ok(()) => Ok(Tried { graphs: graphs.len(), histories, steps: steps.get() }),
        Err(TestError::Fail(_, history)) => {
            let (g, steps, message) =
                holds(&graphs, &history).err().unwrap_or((0, history.len(), "it failed only once".into()));
            Err(Broken {
                machine: graphs[g].shape.name.clone(),
                topology: graphs[g].text.clone(),
                history: history[..steps.min(history.len())].iter().map(|op| format!("{op:?}")).collect(),
                message,
            })
        }
        Err(TestError::Abort(why)) => Err(Broken {
            machine: graphs[0].shape.name.clone(),
            topology: graphs[0].text.clone(),
            history: Vec::new(),
            message: format!("no histories could be made: {why}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_machines_have_graphs_too() {
        for name in ["edf", "load_balancer", "isa_demux", "merge", "priority", "marker", "top"] {
            let info = catalog().get(name).expect("built in");
            for cpus in [1, 3, 256] {
                let n = graphs(info, cpus).unwrap_or_else(|e| panic!("{e}")).len();
                assert!(n > 0, "{name} on {cpus}");
            }
        }
    }

    #[test]
    fn a_trial_counts_what_it_does() {
        let info = catalog().get("head_queue").expect("built in");
        let effort = Effort { cpus: 4, cases: 3, steps: 20, seed: Some(7) };
        let tried = law(info, effort).unwrap_or_else(|e| panic!("{e}"));
        assert!(tried.graphs >= 4 && tried.histories >= 3 && tried.steps > 10, "{tried:?}");
    }
}
