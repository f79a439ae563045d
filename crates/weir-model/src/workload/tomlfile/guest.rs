// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `[[guest]]`: machines within the machine, and the key `guest` of the items inside.

use super::table::Table;
use super::{Files, Limits, inside, policy_name, priority};
use crate::error::{Error, did_you_mean};
use crate::workload::build::{Builder, MAX_TASKS};
use crate::workload::{FairTask, GuestSpec, Inform, Op, TaskSpec};

/// Keys of a `[[guest]]`.
pub(super) const KEYS: &[&str] = &[
    "name",
    "guest",
    "cpus",
    "topology",
    "workload",
    "inform",
    "enter",
    "free",
    "group",
    "policy",
    "nice",
    "priority",
    "weight",
    "host_cpus",
    "pin",
];

/// Most virtual CPUs of a guest, and most guests.
const MAX_VCPUS: u64 = 1024;
const MAX_GUESTS: usize = 64;

/// The tables that belong to one guest, or to none.
pub(super) fn those<'t>(tables: Vec<Table<'t>>, scope: Option<&str>) -> Result<Vec<Table<'t>>, Error> {
    let mut all = Vec::with_capacity(tables.len());
    for table in tables {
        if table.string("guest", "\"web\"")? == scope {
            all.push(table);
        }
    }
    Ok(all)
}

/// Guests have names of their own, stand in front of the guests inside them, and are there for those who name them.
pub(super) fn check(root: &Table<'_>, guests: &[Table<'_>]) -> Result<(), Error> {
    let mut names: Vec<&str> = Vec::new();
    for table in guests {
        let Some(name) = table.string("name", "\"web\"")?.filter(|n| !n.is_empty()) else {
            return Err(table.error("a guest has no name", "add `name = \"web\"`"));
        };
        if names.contains(&name) {
            return Err(table.wrong("name", format!("two guests are called `{name}`"), "rename one of them"));
        }
        if names.len() == MAX_GUESTS {
            return Err(table.error(format!("more than {MAX_GUESTS} guests"), "remove some"));
        }
        if let Some(outer) = table.string("guest", "\"web\"")?.filter(|o| !names.contains(o)) {
            let help = match names.is_empty() {
                true => "write the guest that it is in before it".to_string(),
                false => did_you_mean(outer, &names),
            };
            return Err(table.wrong("guest", format!("no guest `{outer}` before this one"), help));
        }
        names.push(name);
    }
    for (key, what) in [("task", "[[task]]"), ("dag", "[[dag]]"), ("gang", "[[gang]]")] {
        let known = match key {
            "task" => super::TASK,
            "dag" => super::dag::KEYS,
            _ => super::gang::KEYS,
        };
        for table in root.tables(key, what, known)? {
            if let Some(guest) = table.string("guest", "\"web\"")?.filter(|g| !names.contains(g)) {
                let help = match names.is_empty() {
                    true => "add `[[guest]]` with `name`, `cpus` and `topology`".to_string(),
                    false => did_you_mean(guest, &names),
                };
                return Err(table.wrong("guest", format!("no guest is called `{guest}`"), help));
            }
        }
    }
    Ok(())
}

/// Read one guest with what is inside, and add its CPUs as tasks, which are called `guest/cpu0`.
pub(super) fn guest(
    builder: &mut Builder,
    root: &Table<'_>,
    guests: &[Table<'_>],
    table: &Table<'_>,
    limits: Limits,
    files: Files<'_>,
) -> Result<(), Error> {
    let name = table.string("name", "\"web\"")?.unwrap_or_default();
    let count = table.count("cpus", 1, MAX_VCPUS)?.unwrap_or(1);
    builder
        .room_for_tasks(count)
        .map_err(|e| e.at(root.source.name, root.source.text, table.place("cpus")))?;
    let Some(topology) = table.string("topology", "\"eevdf\"")?.filter(|t| !t.is_empty()) else {
        return Err(table.error(
            format!("nothing schedules inside the guest `{name}`"),
            "add `topology = \"eevdf\"`: a name of the catalogue, or a file",
        ));
    };
    let inform = match table.string("inform", "\"priority\"")? {
        None => Inform::None,
        Some(word) => Inform::by_name(word).ok_or_else(|| {
            let help = did_you_mean(word, &Inform::ALL.map(|a| a.0));
            table.wrong("inform", format!("`inform` cannot be `{word}`"), help)
        })?,
    };
    let from = table.string("workload", "\"hackbench:groups=2\"")?.map(str::to_string);
    let mut within = Builder::new(name, limits);
    let tables = those(root.tables("task", "[[task]]", super::TASK)?, Some(name))?;
    match (&from, tables.first()) {
        (Some(_), Some(task)) => {
            let message = format!("the guest `{name}` has a `workload`, and this task besides");
            return Err(task.wrong("guest", message, "remove one of the two"));
        }
        // Read when generators and the catalogue are at hand.
        (Some(_), None) => {}
        (None, _) => {
            let guests_inside =
                guests.iter().any(|g| matches!(g.string("guest", ""), Ok(Some(o)) if o == name));
            let graphs = those(root.tables("dag", "[[dag]]", super::dag::KEYS)?, Some(name))?;
            if tables.is_empty() && graphs.is_empty() && !guests_inside {
                let help =
                    format!("write `guest = \"{name}\"` into a `[[task]]`, or give the guest a `workload`");
                return Err(table.error(format!("nothing runs in the guest `{name}`"), help));
            }
            inside(&mut within, root, guests, Some(name), limits, files)?;
        }
    }
    let kind = policy_name(table)?;
    let (policy, priority) = priority(table, kind, None)?;
    let host_cpus = table.cpus("host_cpus")?;
    let pin = table.boolean("pin")?.unwrap_or(false);
    if pin && host_cpus.as_ref().is_none_or(|c| u64::from(c.len()) < count) {
        let help = format!("name {count} CPUs of the host, such as `host_cpus = \"0-{}\"`", count - 1);
        return Err(table.wrong("pin", "`pin` needs a CPU of the host for each virtual one", help));
    }
    let weight = table.count("weight", 1, 1 << 20)?.map(|w| w as u32);
    if weight.is_some() && table.has("nice") {
        return Err(table.wrong("weight", "`weight` beside `nice`", "remove one of them"));
    }
    let group = table.string("group", "\"web\"")?.unwrap_or(name);
    let number = builder.workload.guests.len() as u32;
    let mut vcpus = Vec::with_capacity(count as usize);
    for vcpu in 0..count as u32 {
        let program = builder.program(vec![Op::Vcpu { guest: number, vcpu }])?;
        let cpus = match (&host_cpus, pin) {
            (Some(all), true) => all.iter().nth(vcpu as usize).map(|c| [c].into_iter().collect()),
            (all, _) => all.clone(),
        };
        let spec =
            TaskSpec { policy, priority, cpus, ..TaskSpec::new(format!("{name}/cpu{vcpu}"), group, program) };
        let index = builder.task(spec)?;
        let of_group = super::fairness::number(&builder.workload.fairness, group);
        let fair = FairTask { weight, group: of_group, ..FairTask::default() };
        if fair != FairTask::default() {
            builder.workload.fairness.tasks.insert(index, fair);
        }
        vcpus.push(index);
    }
    builder.workload.guests.push(GuestSpec {
        name: name.to_string(),
        topology: topology.to_string(),
        vcpus,
        inform,
        enter_ns: table.ns("enter")?.unwrap_or(0),
        free: table.boolean("free")?.unwrap_or(false),
        from,
        workload: within.workload,
    });
    debug_assert!(u64::from(number) < MAX_TASKS);
    Ok(())
}
