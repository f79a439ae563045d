// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! SimSo configurations (XML): real-time task sets with their processors and scheduler.
//!
//! Task times are milliseconds, `duration` and overheads are cycles of `cycles_per_ms`, as SimSo's own
//! parser reads them. Settings without a counterpart here are reported as a warning, with the consequences.

mod known;
mod tasks;
mod xml;

use std::collections::BTreeMap;

use self::tasks::{Chain, SimsoTask};
use self::xml::Source;
use super::build::{Builder, Kind, Limits};
use super::{SimsoExtras, Workload};
use crate::error::Error;

/// How computing times are drawn (`etm`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeModel {
    Wcet,
    Acet,
    /// As `Wcet`, and migrations cost what the file says.
    FixedPenalty,
}

/// SimSo's own defaults where attributes are missing, in cycles.
const DURATION: f64 = 50_000.0;
const PENALTY: f64 = 100_000.0;

/// Read a SimSo configuration.
pub(crate) fn parse(name: &str, file: &str, text: &str, limits: Limits) -> Result<Workload, Error> {
    let source = Source { name: file, text };
    let document = source.parse()?;
    let root = document.root_element();
    if root.tag_name().name() != "simulation" {
        let help = "a SimSo file begins with `<simulation duration=\"…\" cycles_per_ms=\"…\">`; hwloc files describe machines";
        return Err(source.error(
            source.tag(&root),
            format!(
                "this is not a SimSo configuration: the outermost element is `{}`",
                root.tag_name().name()
            ),
            help,
        ));
    }
    let mut builder = Builder::new(name, limits);
    let cycles_per_ms = source.number(&root, "cycles_per_ms", 1e-3, 1e12)?.unwrap_or(1_000_000.0);
    let duration = source.number(&root, "duration", 0.0, 1e18)?;
    known::check(&mut builder, &root);
    let mut extras = SimsoExtras::default();
    let model = time_model(source, &mut builder, &mut extras, &root, cycles_per_ms)?;
    {
        let ns = duration.unwrap_or(DURATION) / cycles_per_ms * 1e6;
        if ns > super::units::MAX_NS as f64 {
            return Err(source.error(
                source.attribute(&root, "duration"),
                "the duration is longer than 10000 hours",
                "lower `duration` (cycles), or raise `cycles_per_ms`",
            ));
        }
        let ns = ns as u64;
        if ns > 0 {
            extras.duration_ns = Some(ns);
            builder.workload.duration_ns = Some(ns);
        }
    }
    processors(source, &mut builder, &mut extras, &root, cycles_per_ms)?;
    if model == TimeModel::FixedPenalty && extras.speeds.iter().any(|s| *s != 1.0) {
        builder.warn(
            "`speed` counts here under `fixedpenalty`, too; SimSo's jobs take as long as at speed 1 then",
        );
    }
    scheduler(source, &mut builder, &mut extras, &root)?;
    if xml::child(&root, "caches").is_some_and(|c| c.children().any(|n| n.has_tag_name("cache"))) {
        builder.warn(
            "`caches` have no effect: how fast a task computes does not depend on caches here, so sharing one slows nobody down",
        );
    }
    let list = read_tasks(source, &mut builder, &root)?;
    let cycle_ns = 1e6 / cycles_per_ms;
    if list.iter().flat_map(SimsoTask::times_ns).any(|ns| {
        let cycles = ns as f64 / cycle_ns;
        (cycles - cycles.round()).abs() > 1e-6 * cycles.max(1.0)
    }) {
        builder.warn(format!(
            "some times are not whole cycles (`cycles_per_ms` is {cycles_per_ms}): SimSo cuts off what is behind the point, here they count in full"
        ));
    }
    let chains = chain(source, &mut builder, &list)?;
    let mut fields: Vec<&str> = list.iter().flat_map(|t| t.ignored.iter().copied()).collect();
    fields.sort_unstable();
    fields.dedup();
    for field in fields {
        builder.warn(format!("`{field}` of tasks has no effect: {}", tasks::consequence(field)));
    }
    tasks::lower(source, &mut builder, &list, &chains, model)?;
    builder.workload.simso = Some(extras);
    builder.finish().map_err(|e| e.in_source(file, text))
}

/// What becomes of SimSo's cache model.
const NO_CACHE_MODEL: &str = "the cache model of execution times is not there: jobs take their WCET, whatever \
    `instructions`, `mix`, `base_cpi`, `stack` and the caches say";

fn time_model(
    source: Source<'_>,
    builder: &mut Builder,
    extras: &mut SimsoExtras,
    root: &roxmltree::Node<'_, '_>,
    cycles_per_ms: f64,
) -> Result<TimeModel, Error> {
    let penalty = |key: &str| source.number(root, key, 0.0, 1e18);
    let (preemption, migration) = (penalty("penalty_preemption")?, penalty("penalty_migration")?);
    let Some(etm) = root.attribute("etm") else {
        if matches!(root.attribute("use_wcet"), Some(v) if v != "true" && v != "yes") {
            builder.warn(NO_CACHE_MODEL);
        }
        return Ok(TimeModel::Wcet);
    };
    match etm {
        "wcet" => Ok(TimeModel::Wcet),
        "acet" => Ok(TimeModel::Acet),
        "cache" => {
            builder.warn(NO_CACHE_MODEL);
            Ok(TimeModel::Wcet)
        }
        "fixedpenalty" => {
            extras.costs.migration_ns = (migration.unwrap_or(PENALTY) / cycles_per_ms * 1e6) as u64;
            if preemption.unwrap_or(PENALTY) > 0.0 {
                builder.warn(
                    "`penalty_preemption` has no counterpart: a preempted job resumes at no cost beyond its WCET",
                );
            }
            Ok(TimeModel::FixedPenalty)
        }
        other => Err(source.error(
            source.attribute(root, "etm"),
            format!("unknown execution time model `{other}`"),
            crate::error::did_you_mean(other, &["wcet", "acet", "cache", "fixedpenalty"]),
        )),
    }
}

fn processors(
    source: Source<'_>,
    builder: &mut Builder,
    extras: &mut SimsoExtras,
    root: &roxmltree::Node<'_, '_>,
    cycles_per_ms: f64,
) -> Result<(), Error> {
    let Some(list) = xml::child(root, "processors") else { return Ok(()) };
    if source.number(&list, "migration_overhead", 0.0, 1e18)?.is_some_and(|v| v > 0.0) {
        builder.warn("`migration_overhead` has no effect, as in SimSo, which reads it and does not use it");
    }
    let mut switches = Vec::new();
    for cpu in list.children().filter(|n| n.has_tag_name("processor")) {
        if extras.nr_cpus >= weir_core::cpuset::MAX_CPUS {
            let help = format!("describe at most {} processors", weir_core::cpuset::MAX_CPUS);
            return Err(source.error(source.tag(&cpu), "too many processors", help));
        }
        extras.nr_cpus += 1;
        let speed = source.number(&cpu, "speed", 0.01, 1000.0)?.unwrap_or(1.0);
        extras.speeds.push(speed);
        let mut switch = 0.0;
        for key in ["cs_overhead", "cl_overhead"] {
            switch += source.number(&cpu, key, 0.0, 1e18)?.unwrap_or(0.0);
        }
        switches.push((switch / cycles_per_ms * 1e6) as u64);
    }
    extras.costs.switch_ns = switches.iter().copied().max().unwrap_or(0);
    if extras.costs.switch_ns > 0 {
        let most = if switches.iter().all(|s| *s == extras.costs.switch_ns) {
            ""
        } else {
            ", the largest everywhere"
        };
        builder.warn(format!(
            "`cl_overhead` and `cs_overhead` are charged for each switch between tasks{most}; SimSo charges them whenever anything \
             happens on the processor"
        ));
    }
    if extras.speeds.iter().any(|s| *s > 1.0) {
        builder.warn(
            "`speed` above 1: jobs compute so much faster here; in SimSo only those that are interrupted do, the others take as long as at \
             speed 1",
        );
    }
    let fastest = extras.speeds.iter().copied().fold(1.0, f64::max);
    if extras.speeds.iter().any(|s| ((s / fastest * 1024.0).round() - s / fastest * 1024.0).abs() > 1e-9) {
        builder.warn("`speed` of processors is rounded to 1/1024 of the fastest one's");
    }
    Ok(())
}

fn scheduler(
    source: Source<'_>,
    builder: &mut Builder,
    extras: &mut SimsoExtras,
    root: &roxmltree::Node<'_, '_>,
) -> Result<(), Error> {
    let Some(sched) = xml::child(root, "sched") else { return Ok(()) };
    let given = |key: &str| sched.attribute(key).filter(|v| !v.is_empty());
    extras.scheduler = given("class").or_else(|| given("className")).map(str::to_string);
    for key in ["overhead", "overhead_activate", "overhead_terminate"] {
        if source.number(&sched, key, 0.0, 1e18)?.is_some_and(|v| v > 0.0) {
            builder.warn(
                "overheads of the scheduler have no effect: `--costs default` charges what the topology really does (docs/costs.md)",
            );
        }
    }
    Ok(())
}

fn read_tasks(
    source: Source<'_>,
    builder: &mut Builder,
    root: &roxmltree::Node<'_, '_>,
) -> Result<Vec<SimsoTask>, Error> {
    let Some(tasks) = xml::child(root, "tasks") else {
        return Err(source.error(
            source.tag(root),
            "the file has no `tasks`",
            "add `<tasks>` with a `<task …/>`",
        ));
    };
    let mut list: Vec<SimsoTask> = Vec::new();
    let mut ids: BTreeMap<u64, ()> = BTreeMap::new();
    for node in tasks.children().filter(roxmltree::Node::is_element) {
        match node.tag_name().name() {
            "task" => {
                builder
                    .room_for_tasks(list.len() as u64 + 1)
                    .map_err(|e| e.at(source.name, source.text, source.tag(&node)))?;
                let task = SimsoTask::read(source, &node)?;
                if ids.insert(task.id, ()).is_some() {
                    return Err(source.error(
                        source.attribute(&node, "id"),
                        format!("two tasks have the id {}", task.id),
                        "give each task its own id",
                    ));
                }
                list.push(task);
            }
            "field" => {}
            other => builder.warn(format!("`tasks`: the element `{other}` is ignored")),
        }
    }
    if list.is_empty() {
        return Err(source.error(source.tag(&tasks), "`tasks` has no task", "add a `<task …/>`"));
    }
    Ok(list)
}

/// Give each follower an event by which its predecessors activate it.
fn chain(source: Source<'_>, builder: &mut Builder, list: &[SimsoTask]) -> Result<Vec<Chain>, Error> {
    let position: BTreeMap<u64, usize> = list.iter().enumerate().map(|(i, t)| (t.id, i)).collect();
    let mut chains: Vec<Chain> = list.iter().map(|_| Chain::default()).collect();
    for (i, task) in list.iter().enumerate() {
        let Some((id, at)) = &task.followed_by else { continue };
        let Some(&target) = position.get(id) else {
            let help = "name the id of another task in `followed_by`, or remove it";
            return Err(source.error(at.clone(), format!("no task has the id {id}"), help));
        };
        if list[target].activated_by_others() {
            if task.abort_on_miss && !task.activated_by_others() {
                builder.warn(format!(
                    "`followed_by` of `{}`: a job that is aborted at its deadline starts no follower here; in SimSo it does",
                    task.name
                ));
            }
            let event = builder.object(Kind::Event, &format!("{} activations", list[target].name));
            chains[i].starts = Some(event);
            chains[target].started_by = Some(event);
        } else {
            builder.warn(format!(
                "`followed_by` of `{}`: `{}` has its own activations, which alone count here",
                task.name, list[target].name
            ));
        }
    }
    Ok(chains)
}

#[cfg(test)]
mod tests;
