// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `[[gang]]`: the tasks of a group, and their manifest.

use weir_core::gang::{Fault, MAX_CPUS, MAX_GANGS, Manifest};

use super::Files;
use super::table::Table;
use crate::error::{Error, did_you_mean};
use crate::workload::build::Builder;
use crate::workload::{GangSpec, Way};

/// Keys of a `[[gang]]`.
pub(super) const KEYS: &[&str] = &["group", "guest", "manifest", "file", "cut", "way"];

/// Read the gangs, behind all tasks.
pub(super) fn gangs(builder: &mut Builder, tables: &[Table<'_>], files: Files<'_>) -> Result<(), Error> {
    for table in tables {
        let gang = gang(builder, table, files)?;
        if builder.workload.gangs.len() == MAX_GANGS {
            return Err(table.error(format!("more than {MAX_GANGS} gangs"), "remove some"));
        }
        if builder.workload.gangs.iter().any(|g| g.members == gang.members) {
            return Err(table.wrong("group", "a second gang of the same group", "merge the two"));
        }
        if builder.workload.gangs.iter().any(|g| g.manifest.name() == gang.manifest.name()) {
            let message = format!("two gangs are called `{}`", gang.manifest.name());
            return Err(table.error(message, "give their manifests different names"));
        }
        builder.workload.gangs.push(gang);
    }
    Ok(())
}

fn gang(builder: &Builder, table: &Table<'_>, files: Files<'_>) -> Result<GangSpec, Error> {
    let Some(group) = table.string("group", "\"solver\"")? else {
        return Err(table.error(
            "a gang without a group",
            "add `group = \"solver\"`: the tasks of this group are its members",
        ));
    };
    let mut manifest = manifest(table, files)?;
    let all = &builder.workload.tasks;
    let members: Vec<u32> =
        (0u32..).zip(all).filter(|(_, t)| t.group == group && t.start_ns.is_some()).map(|(i, _)| i).collect();
    if members.is_empty() {
        let mut groups: Vec<&str> = all.iter().map(|t| t.group.as_str()).collect();
        groups.dedup();
        groups.truncate(50);
        return Err(table.wrong(
            "group",
            format!("no task has the group `{group}`"),
            did_you_mean(group, &groups),
        ));
    }
    if let Some(bound) = members.iter().find(|t| all[**t as usize].cpus.is_some()) {
        let message = format!("task `{}` has `cpus`, but its gang chooses them", all[*bound as usize].name);
        return Err(table.wrong("group", message, "write `cpus` into the manifest"));
    }
    let threads = match manifest.threads() {
        0 => members.len() as u32,
        n => n,
    };
    if members.len() > threads as usize || threads as usize > MAX_CPUS {
        let message = format!(
            "{} in the group `{group}`, and the manifest has {}",
            weir_text::plural(members.len(), "task"),
            weir_text::plural(threads, "thread")
        );
        return Err(table.wrong("group", message, "let both be the same, and at most 1024"));
    }
    manifest.set_threads(threads);
    if manifest.name().is_empty() {
        manifest.set_name(group);
    }
    let way = match table.string("way", "\"locked\"")? {
        None => Way::default(),
        Some(word) => Way::by_name(word).ok_or_else(|| {
            table.wrong(
                "way",
                format!("`{word}` is not a way to gang"),
                did_you_mean(word, &Way::ALL.map(Way::name)),
            )
        })?,
    };
    Ok(GangSpec { manifest, cut: table.boolean("cut")?.unwrap_or(true), way, members })
}

fn manifest(table: &Table<'_>, files: Files<'_>) -> Result<Manifest, Error> {
    let help = "write `manifest = \"H 40 80\"`, or `file = \"solver.manifest\"`";
    let (key, text) =
        match (table.string("manifest", "\"H 40 80\"")?, table.string("file", "\"solver.manifest\"")?) {
            (Some(_), Some(_)) => {
                return Err(table.wrong("file", "`file` beside `manifest`", "remove one of them"));
            }
            (None, None) => return Err(table.error("a gang without a manifest", help)),
            (Some(text), None) => ("manifest", text.to_string()),
            (None, Some(path)) => {
                let bytes = files(path).map_err(|e| {
                    table.wrong(
                        "file",
                        format!("`{path}` cannot be read: {e}"),
                        "paths are relative to the workload's file",
                    )
                })?;
                ("file", String::from_utf8_lossy(&bytes).into_owned())
            }
        };
    Manifest::parse(&text).map_err(|Fault { line, column, what, remedy, .. }| {
        table.wrong(key, format!("line {line}, column {column} of the manifest: {what}"), remedy)
    })
}
