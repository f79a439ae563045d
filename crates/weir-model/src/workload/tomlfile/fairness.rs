// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `[[group]]`, and the keys `weight`, `slice`, `util_min`, `util_max`, `memory` and
//! `memory_bound` of a task.

use weir_core::Clamps;

use super::table::Table;
use crate::error::{Error, did_you_mean};
use crate::workload::build::{Builder, MAX_GROUPS};
use crate::workload::{FairGroup, FairTask, Fairness, Memory};

/// Keys of a `[[group]]`.
pub(super) const KEYS: &[&str] =
    &["name", "parent", "weight", "idle", "quota", "burst", "period", "util_min", "util_max"];

/// Part of the time that a task with a node waits for its memory if it does not say, percent.
const MEMORY_BOUND: u64 = 30;

/// Most that a weight may be.
const MAX_WEIGHT: u64 = 1 << 20;

/// Read the groups, parents first.
pub(super) fn groups(builder: &mut Builder, tables: &[Table<'_>]) -> Result<(), Error> {
    for table in tables {
        let all = &builder.workload.fairness.groups;
        let Some(name) = table.string("name", "\"batch\"")?.filter(|n| !n.is_empty()) else {
            return Err(table.error("a group has no name", "add `name = \"batch\"`"));
        };
        if number(&builder.workload.fairness, name) != 0 {
            let message = format!("two groups are called `{name}`");
            return Err(table.wrong("name", message, "rename one of them"));
        }
        if all.len() == MAX_GROUPS {
            return Err(table.error(format!("more than {MAX_GROUPS} groups"), "remove some"));
        }
        let parent = match table.string("parent", "\"users\"")? {
            None => 0,
            Some(parent) => match number(&builder.workload.fairness, parent) {
                0 => {
                    let names: Vec<&str> = all.iter().map(|g| g.name.as_str()).collect();
                    let help = match names.is_empty() {
                        true => "write the group that it is in before it".to_string(),
                        false => did_you_mean(parent, &names),
                    };
                    return Err(table.wrong("parent", format!("no group `{parent}` before this one"), help));
                }
                number => number,
            },
        };
        let weight = match (table.count("weight", 1, MAX_WEIGHT)?, table.boolean("idle")?.unwrap_or(false)) {
            (Some(_), true) => {
                return Err(table.wrong("weight", "`weight` beside `idle`", "remove one of them"));
            }
            (None, true) => FairGroup::IDLE,
            (weight, false) => weight.map_or(FairGroup::WEIGHT, |w| w as u32),
        };
        let quota_ns = table.ns("quota")?.unwrap_or(0);
        let period_ns = table.ns("period")?.unwrap_or(FairGroup::PERIOD_NS);
        if !(1_000_000..=1_000_000_000).contains(&period_ns) {
            return Err(table.wrong("period", "a period of less than 1ms or more than 1s", "write `100ms`"));
        }
        if table.has("quota") && quota_ns < 1_000_000 {
            let help = "write at least `1ms`, or leave it out: then there is no limit";
            return Err(table.wrong("quota", "a quota of less than 1ms", help));
        }
        let burst_ns = table.ns("burst")?.unwrap_or(0);
        if burst_ns > quota_ns {
            let help = "write at most the quota";
            return Err(table.wrong("burst", "a burst of more than the quota", help));
        }
        builder.workload.fairness.groups.push(FairGroup {
            weight,
            parent,
            quota_ns,
            burst_ns,
            period_ns,
            clamps: clamps(table)?,
            ..FairGroup::new(name)
        });
    }
    Ok(())
}

/// `memory` and `memory_bound`.
fn memory(table: &Table<'_>) -> Result<Option<Memory>, Error> {
    let node = table.count("memory", 0, u64::from(u16::MAX))?;
    if node.is_none() && table.has("memory_bound") {
        let message = "`memory_bound` without `memory`";
        return Err(table.wrong("memory_bound", message, "add the NUMA node of the memory: `memory = 0`"));
    }
    let bound = table.percent("memory_bound")?.unwrap_or(MEMORY_BOUND);
    if bound > 100 {
        return Err(table.wrong("memory_bound", "more than the whole time", "write at most `100%`"));
    }
    Ok(node.map(|node| Memory { node: node as u32, bound_pct: bound as u32 }))
}

/// `util_min` and `util_max`.
fn clamps(table: &Table<'_>) -> Result<Clamps, Error> {
    let whole = u64::from(Clamps::WHOLE);
    let least = table.count("util_min", 0, whole)?.map_or(0, |n| n as u32);
    let most = table.count("util_max", 0, whole)?.map_or(Clamps::WHOLE, |n| n as u32);
    if least > most {
        let message = format!("a least utilisation of {least}, and at most {most}");
        return Err(table.wrong("util_min", message, "write no more than `util_max`"));
    }
    Ok(Clamps { least, most })
}

/// Number of a group by its name, 0: there is none.
pub(super) fn number(fairness: &Fairness, name: &str) -> u32 {
    fairness.groups.iter().position(|g| g.name == name).map_or(0, |i| i as u32 + 1)
}

/// A task's settings, and its group if it has one; `None`: no settings.
pub(super) fn read(table: &Table<'_>, builder: &Builder, group: &str) -> Result<Option<FairTask>, Error> {
    let weight = table.count("weight", 1, MAX_WEIGHT)?.map(|w| w as u32);
    if weight.is_some() && table.has("nice") {
        return Err(table.wrong("weight", "`weight` beside `nice`", "remove one of them"));
    }
    let slice_ns = table.ns("slice")?;
    if slice_ns.is_some_and(|s| !(100_000..=100_000_000).contains(&s)) {
        return Err(table.wrong("slice", "a slice of less than 100us or more than 100ms", "write `1ms`"));
    }
    let group = number(&builder.workload.fairness, group);
    let fair = FairTask { weight, slice_ns, group, clamps: clamps(table)?, memory: memory(table)? };
    Ok((fair != FairTask::default()).then_some(fair))
}
