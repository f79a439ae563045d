// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir machines | workloads`: what a run may be made of besides the scheduler.

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_model::workload::{GeneratorInfo, generators};
use weir_model::{Machine, Workload};

use crate::args::ListArgs;
use crate::catalogue::{self, MACHINES, WORKLOADS};
use crate::fault::Result;
use crate::listing::{Row, print_rows};
use crate::output::{columns, json as to_json, print};
use crate::units::show_ns;
use crate::{input, machine};

/// `runweir machines [NAME]`.
pub fn machines(args: &ListArgs) -> Result<ExitCode> {
    let Some(name) = &args.name else {
        let presets = weir_model::machine::presets();
        let preset =
            |(name, summary): &(&str, &str)| Row { name: name.to_string(), summary: summary.to_string() };
        let mut rows: Vec<Row> = presets.iter().map(preset).collect();
        rows.push(Row { name: "host".into(), summary: "the computer at hand".into() });
        let files = MACHINES.iter().map(Row::of).collect();
        return print_rows(&[("presets", rows), ("files of the catalogue", files)], args.json);
    };
    let machine = machine::resolve(name)?;
    if args.json {
        print(&to_json(&machine_json(&machine))?)?;
    } else {
        print(&machine_text(&machine))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn machine_json(m: &Machine) -> Value {
    let kinds: Vec<Value> = m
        .kinds
        .iter()
        .map(|k| {
            let points: Vec<Value> =
                k.points.iter().map(|p| json!({ "hz": p.hz, "busy_mw": p.busy_mw })).collect();
            json!({ "name": k.name, "idle_mw": k.idle_mw, "points": points })
        })
        .collect();
    json!({
        "name": m.shape.name, "description": m.describe(), "isas": m.shape.isas, "cpus": m.shape.cpus,
        "kinds": kinds, "kind_of": m.kind_of, "distances": m.distances, "smt_pct": m.smt_pct,
    })
}

fn machine_text(m: &Machine) -> String {
    let mut rows = Vec::new();
    for (index, kind) in m.kinds.iter().enumerate() {
        let cpus: weir_core::CpuSet =
            (0..m.nr_cpus()).filter(|c| usize::from(m.kind_of[*c as usize]) == index).collect();
        let first = cpus.iter().next().map_or(0, |c| m.shape.cpus[c as usize].capacity);
        let (low, top) = (kind.points[0], *kind.top());
        let clock =
            if low.hz == top.hz { ghz(top.hz) } else { format!("{} to {}", ghz(low.hz), ghz(top.hz)) };
        rows.push((
            format!("kind {}", kind.name),
            format!(
                "CPU {cpus}: {clock} GHz, capacity {first}, {} mW busy, {} mW idle",
                top.busy_mw, kind.idle_mw
            ),
        ));
    }
    let nodes: BTreeSet<u32> = m.shape.cpus.iter().map(|c| c.node).collect();
    if nodes.len() > 1 {
        for node in nodes {
            let cpus: weir_core::CpuSet =
                (0..m.nr_cpus()).filter(|c| m.shape.cpus[*c as usize].node == node).collect();
            let far: Vec<String> = m.distances[node as usize].iter().map(u32::to_string).collect();
            let far = if far.len() <= 16 { format!("; distances {}", far.join(" ")) } else { String::new() };
            rows.push((format!("node {node}"), format!("CPU {cpus}{far}")));
        }
    }
    format!("{}: {}\n{}", m.shape.name, m.describe(), columns(&rows))
}

fn ghz(hz: u64) -> String {
    format!("{:.2}", hz as f64 / 1e9)
}

/// `runweir workloads [NAME]`.
pub fn workloads(args: &ListArgs) -> Result<ExitCode> {
    let Some(name) = &args.name else {
        let generator =
            |g: &GeneratorInfo| Row { name: format!("{}:…", g.name), summary: g.summary.to_string() };
        let rows = generators().iter().map(generator).collect();
        let files = WORKLOADS.iter().map(Row::of).collect();
        let groups =
            [("files of the catalogue", files), ("generators (name them for their parameters)", rows)];
        return print_rows(&groups, args.json);
    };
    if let Some(generator) = generators().iter().find(|g| g.name == name.trim_end_matches([':', '…'])) {
        let text = if args.json { to_json(&generator_json(generator))? } else { generator_text(generator) };
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let workload = machine::workload(name, 1)?;
    if args.json {
        print(&to_json(&workload_json(&workload))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = workload_text(&workload);
    if let Some(entry) = catalogue::find(WORKLOADS, name).filter(|_| !input::is_path(name)) {
        text = format!("{text}\n{}", entry.text);
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn generator_json(g: &GeneratorInfo) -> Value {
    let params: Vec<Value> =
        g.params.iter().map(|p| json!({ "name": p.name, "default": p.default, "help": p.help })).collect();
    json!({ "name": g.name, "summary": g.summary, "params": params })
}

fn generator_text(g: &GeneratorInfo) -> String {
    let row = |p: &weir_model::workload::ParamInfo| {
        let default = if p.default.is_empty() { String::new() } else { format!(" [{}]", p.default) };
        (p.name.to_string(), format!("{}{default}", p.help))
    };
    let example: Vec<String> = g
        .params
        .iter()
        .filter(|p| !p.default.is_empty())
        .take(2)
        .map(|p| format!("{}={}", p.name, p.default))
        .collect();
    let params: Vec<(String, String)> = g.params.iter().map(row).collect();
    let call =
        if example.is_empty() { g.name.to_string() } else { format!("{}:{}", g.name, example.join(",")) };
    format!(
        "{}: {}\n\nparameters [default]:\n{}\nexample: --workload {call}\n",
        g.name,
        g.summary,
        columns(&params)
    )
}

fn workload_json(w: &Workload) -> Value {
    json!({
        "name": w.name, "tasks": w.tasks.len(), "groups": groups(w), "duration_ns": w.duration_ns,
        "endless": w.is_endless(), "warnings": w.warnings,
    })
}

/// Groups in order of appearance, with their number of tasks.
fn groups(w: &Workload) -> Vec<(String, usize)> {
    let mut groups: Vec<(String, usize)> = Vec::new();
    let mut index = std::collections::BTreeMap::new();
    for task in &w.tasks {
        let at = *index.entry(task.group.as_str()).or_insert_with(|| {
            groups.push((task.group.clone(), 0));
            groups.len() - 1
        });
        groups[at].1 += 1;
    }
    groups
}

/// Groups that get a line each.
const LINES: usize = 20;

fn workload_text(w: &Workload) -> String {
    let tasks = w.tasks.len();
    let length = match w.duration_ns {
        Some(ns) => format!("{} long", show_ns(ns)),
        None if w.is_endless() => "endless: needs --duration".into(),
        None => "runs to its end".into(),
    };
    let groups = groups(w);
    let mut rows: Vec<(String, String)> = groups
        .iter()
        .take(LINES)
        .map(|(name, n)| (name.clone(), format!("{n} task{}", if *n == 1 { "" } else { "s" })))
        .collect();
    if groups.len() > LINES {
        rows.push(("…".into(), format!("{} more groups", groups.len() - LINES)));
    }
    format!("{}: {tasks} task{}, {length}\n{}", w.name, if tasks == 1 { "" } else { "s" }, columns(&rows))
}
