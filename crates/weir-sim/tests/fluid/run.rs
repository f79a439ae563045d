// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Running a set under a topology of the catalogue.

use std::path::Path;

use weir_core::Plan;
use weir_core::event::{Event, Observer};
use weir_lang::{NoIncludes, Source};
use weir_sim::{Costs, Machine, Outcome, RunConfig, TaskSpec, Timing, Workload};

use crate::sets::{Set, Task};

/// A topology of the catalogue, compiled for `cpus` equal CPUs.
pub fn plan(name: &str, cpus: u32) -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies").join(format!("{name}.weir"));
    compile(name, &std::fs::read_to_string(&path).expect("the catalogue has it"), cpus)
}

/// A topology given as text, compiled for `cpus` equal CPUs.
pub fn compile(name: &str, text: &str, cpus: u32) -> Plan {
    let src = Source { name: format!("{name}.weir"), text: text.into() };
    match weir_lang::compile(&src, &NoIncludes, weir_core::catalog(), &Machine::smp(cpus).shape, &[]) {
        Ok(c) => c.plan,
        Err(all) => panic!("{name}: {}", all.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("\n")),
    }
}

/// The periodic tasks of a set; `unit` is the length of its unit of time, ns.
pub fn workload(tasks: &[Task], unit: u64) -> Workload {
    let spec = |(i, t): (usize, &Task)| {
        let period_ns = t.period * unit;
        let timing = Timing { period_ns, deadline_ns: period_ns, wcet_ns: t.wcet * unit };
        TaskSpec::periodic(format!("t{i}"), timing, t.offset * unit)
    };
    Workload {
        name: "set".into(),
        tasks: tasks.iter().enumerate().map(spec).collect(),
        ..Workload::default()
    }
}

/// Nobody looks.
pub struct Blind;

impl Observer for Blind {
    fn event(&mut self, _: u64, _: &Event<'_>) {}
}

/// Run without costs.
pub fn run<O: Observer>(plan: &Plan, cpus: u32, w: &Workload, end: u64, observer: &mut O) -> Outcome {
    let cfg = RunConfig { duration_ns: Some(end), ..RunConfig::default() };
    weir_sim::run(&Machine::smp(cpus), plan, w, &Costs::zero(), &cfg, observer).expect("it runs")
}

/// Run a fully loading set for some hyperperiods; what went wrong, if anything did.
pub fn meets_all(plan: &Plan, cpus: u32, set: &Set, unit: u64, periods: u64) -> Result<Outcome, String> {
    let w = workload(&set.tasks, unit);
    let begin = set.tasks.iter().map(|t| t.offset).max().unwrap_or(0);
    let end = (begin + periods * set.hyperperiod) * unit;
    let out = run(plan, cpus, &w, end, &mut Blind);
    if out.deadline_misses > 0 || (begin == 0 && out.idle_ns > 0) || !out.warnings.is_empty() {
        return Err(format!(
            "{} misses, {} ns idle, {:?} with {:?}",
            out.deadline_misses, out.idle_ns, out.warnings, set
        ));
    }
    Ok(out)
}
