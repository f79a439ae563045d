// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir machines | workloads`: what a run may be made of besides the scheduler.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use serde_json::{Value, json};
use weir::latency::Latencies;
use weir_model::workload::{GeneratorInfo, generators};
use weir_model::{Distance, Machine, Workload};

use crate::args::ListArgs;
use crate::catalogue::{self, MACHINES, WORKLOADS};
use crate::fault::{Fault, Result};
use crate::listing::{Row, print_rows};
use crate::output::{json as to_json, pairs, print, say, screen, warn};
use crate::progress::Counter;
use crate::units::{exact, plural};
use crate::{input, machine, stop};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir machines epyc-64                 CPUs, caches, nodes
  runweir machines host --measure          the latency of a message between each pair of CPUs
  runweir machines host --measure --pick 4  four CPUs that are near each other, by measurement
  runweir machines epyc-64 --near 0        CPUs by their distance from CPU 0, by the table of costs

Without --measure, --near and --pick go by the description and by `message` of the costs.
docs/machines.md describes machines, docs/costs.md the costs.")]
pub struct MachinesArgs {
    /// Show this one in full: a name, a file, or `host`
    #[arg(value_name = "M", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub name: Option<String>,
    /// Measure the latency of a message between each pair of CPUs; for `host` only, a millisecond per pair
    #[arg(long, requires = "name")]
    pub measure: bool,
    /// List the other CPUs by the latency of a message from this one
    #[arg(long, value_name = "CPU", requires = "name")]
    pub near: Option<u32>,
    /// Choose N CPUs that are near each other
    #[arg(long, value_name = "N", requires = "name", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub pick: Option<u32>,
    /// Table of costs without --measure: default, zero, or a file
    #[arg(long, value_name = "COSTS", value_parser = Text::new(), conflicts_with = "measure", value_hint = ValueHint::FilePath)]
    pub costs: Option<String>,
    /// Print as JSON; latencies in ns
    #[arg(long)]
    pub json: bool,
}

/// Measured or by the costs, where one of the options asks for it.
fn latencies(args: &MachinesArgs, m: &Machine) -> Result<Option<Latencies>> {
    if args.measure {
        if args.name.as_deref() != Some("host") {
            return Err(Fault::user(
                format!("`{}` cannot be measured: it is a description", m.shape.name),
                "measure `host`; without --measure, --near and --pick go by a description and a table of costs",
            ));
        }
        stop::install_saying("ending the measurement")?;
        let progress = Counter::new(0, 0, true);
        let all = Latencies::measure(m, &progress);
        progress.finish();
        return all.map(Some);
    }
    if args.near.is_none() && args.pick.is_none() {
        return Ok(None);
    }
    let costs = machine::costs(args.costs.as_deref().unwrap_or("default"))?;
    Ok(Some(Latencies::foreseen(m, &costs)))
}

fn latency_json(args: &MachinesArgs, m: &Machine, all: &Latencies) -> Result<Value> {
    let bands: Vec<Value> = all
        .bands(m)
        .iter()
        .map(|b| {
            json!({ "distance": distance_words(b.distance), "pairs": b.pairs, "min_ns": b.min_ns,
                    "median_ns": b.median_ns, "max_ns": b.max_ns })
        })
        .collect();
    let mut value = json!({ "measured": all.measured, "cpus": all.cpus, "distances": bands });
    if all.measured {
        value["one_way_ns"] = json!(all.one_way_ns);
    }
    if let Some(cpu) = args.near {
        let near: Vec<Value> =
            all.nearest(cpu)?.iter().map(|(c, ns)| json!({ "cpu": c, "one_way_ns": ns })).collect();
        value["near"] = json!({ "cpu": cpu, "others": near });
    }
    if let Some(n) = args.pick {
        let pick = all.pick(n as usize)?;
        value["pick"] = json!({ "cpus": pick.cpus, "worst_ns": pick.worst_ns, "mean_ns": pick.mean_ns });
    }
    Ok(value)
}

fn distance_words(distance: Distance) -> String {
    match distance {
        Distance::Same => "same CPU".into(),
        Distance::Sibling => "threads of a core".into(),
        Distance::L2 => "common L2".into(),
        Distance::Llc => "common last-level cache".into(),
        Distance::Node => "same node".into(),
        Distance::Remote(slit) => format!("other node, distance {slit}"),
        Distance::Domain(_) => "no common memory".into(),
    }
}

/// A matrix with more columns would not fit on a terminal.
const MATRIX: usize = 16;

fn latency_text(args: &MachinesArgs, m: &Machine, all: &Latencies) -> Result<String> {
    let how = if all.measured { "measured here" } else { "by the table of costs" };
    let mut text = format!("\na message, one way, {how}:\n");
    let row = |b: &weir::latency::Band| {
        let range = match b.min_ns == b.max_ns {
            true => format!("{:.0} ns", b.median_ns),
            false => format!("{:.0} ns ({:.0} to {:.0})", b.median_ns, b.min_ns, b.max_ns),
        };
        (distance_words(b.distance), format!("{range}, {} pairs", b.pairs))
    };
    text += &pairs(&all.bands(m).iter().map(row).collect::<Vec<_>>(), &screen());
    if all.measured && all.cpus.len() <= MATRIX {
        text += "\nns from CPU (row) to CPU (column):\n      ";
        text += &all.cpus.iter().map(|c| format!("{c:>6}")).collect::<String>();
        for (cpu, row) in all.cpus.iter().zip(&all.one_way_ns) {
            text += &format!("\n{cpu:>6}");
            text += &row.iter().map(|ns| format!("{ns:>6.0}")).collect::<String>();
        }
        text += "\n";
    }
    if let Some(cpu) = args.near {
        text += &format!("\nfrom CPU {cpu} on:\n");
        // Those that are equally far, in a line.
        let mut rows: Vec<(weir_core::CpuSet, f32)> = Vec::new();
        for (cpu, ns) in all.nearest(cpu)? {
            match rows.last_mut() {
                Some((cpus, same)) if *same == ns => cpus.insert(cpu),
                _ => rows.push((std::iter::once(cpu).collect(), ns)),
            }
        }
        let rows: Vec<(String, String)> =
            rows.iter().map(|(cpus, ns)| (format!("CPU {cpus}"), format!("{ns:.0} ns"))).collect();
        text += &pairs(&rows, &screen());
    }
    if let Some(n) = args.pick {
        let pick = all.pick(n as usize)?;
        let cpus: weir_core::CpuSet = pick.cpus.iter().copied().collect();
        text += &format!(
            "\n{} near each other: {cpus} (at most {:.0} ns, {:.0} ns in the mean)\n",
            plural(n, "CPU"),
            pick.worst_ns,
            pick.mean_ns
        );
    }
    Ok(text)
}

/// `runweir machines [NAME]`.
pub fn machines(args: &MachinesArgs) -> Result<ExitCode> {
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
    warn(machine.warnings.iter());
    let latencies = latencies(args, &machine)?;
    if args.json {
        let mut value = machine_json(&machine);
        if let Some(all) = &latencies {
            value["latencies"] = latency_json(args, &machine, all)?;
        }
        print(&to_json(&value)?)?;
    } else {
        let more = latencies.as_ref().map(|all| latency_text(args, &machine, all)).transpose()?;
        say(&(machine_text(&machine) + more.as_deref().unwrap_or("")))?;
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
    format!("{}: {}\n{}", m.shape.name, m.describe(), pairs(&rows, &screen()))
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
        if args.json {
            print(&to_json(&generator_json(generator))?)?
        } else {
            say(&generator_text(generator))?
        }
        return Ok(ExitCode::SUCCESS);
    }
    let workload = machine::workload(name, 1)?;
    warn(workload.warnings.iter());
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
        pairs(&params, &screen())
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
        Some(ns) => format!("{} long", exact(ns)),
        None if w.is_endless() => "endless: needs --duration".into(),
        None => "runs to its end".into(),
    };
    let groups = groups(w);
    let mut rows: Vec<(String, String)> =
        groups.iter().take(LINES).map(|(name, n)| (name.clone(), plural(*n, "task"))).collect();
    if groups.len() > LINES {
        rows.push(("…".into(), plural(groups.len() - LINES, "more group")));
    }
    format!("{}: {}, {length}\n{}", w.name, plural(tasks, "task"), pairs(&rows, &screen()))
}
