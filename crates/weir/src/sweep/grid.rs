// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The grid with everything looked up: machines, workloads and compiled topologies.
//!
//! All of it is checked before the first run, with the first seed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

use weir_report::Ignored;

use super::spec::Spec;
use crate::fault::{Fault, Result};
use crate::ignored::merge;
use crate::session::{Brief, Candidate, Session, Setting};
use crate::watch::Watch;
use crate::{input, topology};

/// Axes of every sweep, by their place.
const TOPOLOGY: usize = 0;
const MACHINE: usize = 1;
const WORKLOAD: usize = 2;
const COSTS: usize = 3;

/// Sessions and plans of a sweep, found by what they depend on.
pub struct Grid {
    /// By all axes but the topology's.
    sessions: BTreeMap<Vec<usize>, Session>,
    /// By topology, machine and `--set` axes.
    plans: BTreeMap<Vec<usize>, Candidate>,
    set_axes: Vec<usize>,
    /// What topologies do not obey, each once.
    pub ignored: Vec<Ignored>,
}

impl Grid {
    /// Look everything up.
    ///
    /// # Errors
    /// Whatever `run` would say to one of the points with the first seed.
    pub fn build(spec: &Spec) -> Result<Self> {
        let set_axes = (COSTS + 1..spec.axes.len()).filter(|i| spec.axes[*i].column.starts_with("set."));
        let mut grid = Self {
            sessions: BTreeMap::new(),
            plans: BTreeMap::new(),
            set_axes: set_axes.collect(),
            ignored: Vec::new(),
        };
        for index in 0..spec.nr_points() {
            let at = spec.point(index);
            let fault_of = |fault: Fault| named(spec, index, fault);
            if !grid.sessions.contains_key(&at[1..]) {
                let session = Session::open(&setting(spec, &at), spec.seeds[0]).map_err(fault_of)?;
                grid.sessions.insert(at[1..].to_vec(), session);
            }
            let key = grid.plan_key(&at);
            if let Entry::Vacant(place) = grid.plans.entry(key.clone()) {
                let variant = &spec.variants[at[TOPOLOGY]];
                let source = topology::source(&variant.topology)?;
                let mut sets = topology::parse_sets(&variant.sets)?;
                sets.extend(topology::parse_sets(&setting(spec, &at).set)?);
                let shape = &grid.sessions[&at[1..]].machine.shape;
                let mut compiled = Candidate::compile(source, shape, &sets).map_err(fault_of)?;
                compiled.plan.name.clone_from(&variant.name);
                place.insert(compiled);
            }
            merge(&mut grid.ignored, grid.sessions[&at[1..]].ignored(&grid.plans[&key].plan));
        }
        Ok(grid)
    }

    fn plan_key(&self, at: &[usize]) -> Vec<usize> {
        [at[TOPOLOGY], at[MACHINE]].into_iter().chain(self.set_axes.iter().map(|i| at[*i])).collect()
    }

    /// One run; `None` where the user asked to end.
    pub fn run(&self, spec: &Spec, point: usize, seed: u64, watch: &dyn Watch) -> Result<Option<Brief>> {
        let at = spec.point(point);
        let session = &self.sessions[&at[1..]];
        session
            .brief(&self.plans[&self.plan_key(&at)], seed, spec.stop_at_miss, watch)
            .map_err(|fault| named(spec, point, fault).note(format!("it happened with seed {seed}")))
    }

    /// Everything that the results depend on, as text: another text is another sweep.
    pub fn identity(&self, spec: &Spec) -> Result<String> {
        let mut text = format!("runweir {}\n", env!("CARGO_PKG_VERSION"));
        for axis in &spec.axes {
            let _ = writeln!(text, "{} = {:?}", axis.column, axis.values);
        }
        let _ = writeln!(text, "seeds = {}", ranges(&spec.seeds));
        let _ = writeln!(text, "duration_ns = {:?}", spec.duration_ns);
        let _ = writeln!(text, "stop_at_miss = {}", spec.stop_at_miss);
        for v in &spec.variants {
            let _ = writeln!(text, "topology {:?} = {:?} {:?}", v.name, v.topology, v.sets);
            let source = topology::source(&v.topology)?;
            let _ = writeln!(text, "text of {}:\n{}", v.topology, source.text);
        }
        for axis in &spec.axes[MACHINE..=COSTS] {
            for file in axis.values.iter().filter(|v| input::is_path(v) && !v.contains(':')) {
                // What cannot be read now was refused before.
                if let Ok(content) = input::read_text(file) {
                    let _ = writeln!(text, "text of {file}:\n{content}");
                }
            }
        }
        Ok(text)
    }
}

/// Numbers with runs of consecutive ones drawn together.
fn ranges(seeds: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for s in seeds {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*s) => *last = *s,
            _ => parts.push((*s, *s)),
        }
    }
    parts.iter().map(|(a, b)| format!("{a}..{b}")).collect::<Vec<_>>().join(" ")
}

/// The setting of `run` at a point.
fn setting(spec: &Spec, at: &[usize]) -> Setting {
    let value = |axis: usize| spec.axes[axis].values[at[axis]].clone();
    let mut workload = value(WORKLOAD);
    let mut set = Vec::new();
    for (i, axis) in spec.axes.iter().enumerate().skip(COSTS + 1) {
        if let Some(key) = axis.column.strip_prefix("keys.") {
            workload.push(if workload.contains(':') { ',' } else { ':' });
            let _ = write!(workload, "{key}={}", axis.values[at[i]]);
        } else if let Some(param) = axis.column.strip_prefix("set.") {
            set.push(format!("{param}={}", axis.values[at[i]]));
        }
    }
    Setting {
        machine: Some(value(MACHINE)),
        workload: Some(workload),
        duration_ns: spec.duration_ns,
        set,
        costs: Some(value(COSTS)),
        strict: false,
    }
}

/// A fault with the point at which it happened.
fn named(spec: &Spec, point: usize, fault: Fault) -> Fault {
    let columns = spec.axes.iter().map(|a| a.column.as_str());
    let at: Vec<String> = columns.zip(spec.values(point)).map(|(c, v)| format!("{c} = {v}")).collect();
    fault.note(format!("the grid point is {}", at.join(", ")))
}
